/*
** Base64 and data URIs: the vectors of RFC 4648, random round trips, every
** one-byte change of a text, and memory that runs out.
*/
#include <string.h>

#include "check.h"

#include "codec/base64.h"
#include "codec/data_uri.h"

/* ---- base64 ---- */

static const struct { const char *bytes, *text; } VECTORS[] = {
  {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="},
  {"foobar", "Zm9vYmFy"}, {"\xff\xef\xbf", "/++/"}, {"\xfb\xff", "+/8="},
};

static char *copy_of(const char *bytes, size_t size) {   /* exactly, so that the sanitizer sees a byte too many */
  char *copy = malloc(size + (size == 0));
  return memcpy(copy, bytes, size);
}

/* Decodes; NULL and *size bytes in `out`, or what was expected. */
static const char *decode(const char *text, size_t text_size, char **out, size_t *size, size_t *offset) {
  char *exact = copy_of(text, text_size);
  *size = base64_decoded_size(exact, text_size);
  *out = malloc(*size + (*size == 0));
  const char *expected = base64_decode(exact, text_size, *out, offset);
  free(exact);
  if (expected != NULL) free(*out);
  return expected;
}

static void assert_round_trip(const char *bytes, size_t size, const char *text) {
  Fail fail = {0};
  Buffer encoded;
  buffer_init(&encoded, fail_memory(&fail));
  char *exact = copy_of(bytes, size), *back;
  size_t back_size, offset;
  assert_int_equal(base64_encode(exact, size, &encoded), STATUS_OK);
  assert_int_equal(encoded.size, base64_encoded_size(size));
  if (text != NULL) assert_memory_equal(encoded.bytes == NULL ? "" : encoded.bytes, text, strlen(text) + (size == 0));
  assert_null(decode(encoded.bytes == NULL ? "" : encoded.bytes, encoded.size, &back, &back_size, &offset));
  assert_int_equal(back_size, size);
  assert_memory_equal(back, exact, size);
  free(back);
  free(exact);
  buffer_free(&encoded);
  assert_int_equal(fail.in_use, 0);
}

static void vectors_and_random_bytes_come_back(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof VECTORS / sizeof *VECTORS; i++) {
    assert_round_trip(VECTORS[i].bytes, strlen(VECTORS[i].bytes), VECTORS[i].text);
  }
  uint64_t random = test_seed();
  for (int i = 0; i < 3000; i++) {
    char bytes[200];
    size_t size = test_random(&random) % sizeof bytes;
    for (size_t k = 0; k < size; k++) bytes[k] = (char)test_random(&random);
    assert_round_trip(bytes, size, NULL);
  }
  assert_true(base64_encoded_size(SIZE_MAX) == SIZE_MAX);
  assert_true(base64_encoded_size(SIZE_MAX / 4 * 3 + 3) == SIZE_MAX);
}

static void what_is_no_base64_says_where(void **state) {
  (void)state;
  static const struct { const char *text; size_t offset; const char *expected; } cases[] = {
    {"Zm9v!m8=", 4, "a digit"},      {"Zm8", 3, "groups of four"},    {"Zm9vYg", 6, "groups of four"},
    {"Z", 1, "groups of four"},      {"=", 0, "a digit"},             {"====", 0, "a digit"},
    {"Z===", 1, "a digit"},          {"Zg=a", 2, "a digit"},          {"Zm=v", 2, "a digit"},
    {"Zg==Zg==", 2, "a digit"},      {"Zm8=Zm8=", 3, "a digit"},      {"Zh==", 1, "unused bits"},
    {"Zm9=", 2, "unused bits"},      {"Zm 9v", 2, "a digit"},         {"Zm9v\n", 4, "a digit"},
    {"Zm-_", 2, "a digit"},          {"Zm9vY=", 5, "a digit"},        {"Zm9vYg=", 6, "a digit"},
    {"Z\xc3\xa9v", 1, "a digit"},    {"*m9v", 0, "a digit"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *out;
    size_t size, offset = 99;
    const char *expected = decode(cases[i].text, strlen(cases[i].text), &out, &size, &offset);
    if (expected == NULL || offset != cases[i].offset || strstr(expected, cases[i].expected) == NULL) {
      fail_msg("%s: %s at %zu", cases[i].text, expected == NULL ? "accepted" : expected, offset);
    }
  }
}

/* No two texts stand for the same bytes: whatever byte of one changes, it is refused or stands for others. */
static void bytes_have_one_spelling(void **state) {
  (void)state;
  static const char *const texts[] = {"Zm9vYmFy", "Zm9vYmE=", "Zm9vYg=="};
  for (size_t t = 0; t < 3; t++) {
    for (size_t at = 0; at < 8; at++) {
      for (int c = 0; c < 256; c++) {
        char text[8], *out;
        memcpy(text, texts[t], 8);
        if (text[at] == (char)c) continue;
        text[at] = (char)c;
        size_t size, offset;
        if (decode(text, 8, &out, &size, &offset) != NULL) continue;
        if (size == 6 - t) assert_memory_not_equal(out, "foobar", size);
        free(out);
      }
    }
  }
}

/* ---- data URIs ---- */

static const struct { const char *uri, *media, *parameters, *bytes; } URIS[] = {
  {"data:image/png;base64,Zm9v", "image/png", "", "foo"},
  {"DATA:Image/PNG;BASE64,Zm9v", "Image/PNG", "", "foo"},
  {"data:,a%20b", "", "", "a b"},
  {"data:;base64,Zg==", "", "", "f"},
  {"data:text/plain;charset=utf-8;base64,Zg==", "text/plain", ";charset=utf-8", "f"},
  {"data:;charset=utf-8,%C3%a9,%25", "", ";charset=utf-8", "\xc3\xa9,%"},
  {"data:application/vnd.x+json;a=\"b c\";d=,{}", "application/vnd.x+json", ";a=\"b c\";d=", "{}"},
  {"data:image/svg+xml;base64,", "image/svg+xml", "", ""},
  {"data:,", "", "", ""},
  {"data:text/plain;x=base64,Zg==", "text/plain", ";x=base64", "Zg=="},
};

static Text exact_text(const char *string) { return text_plain(copy_of(string, strlen(string)), strlen(string)); }

static Status decode_uri(Text uri, size_t cap, Buffer *out, DataUriError *error) {
  DataUri parts;
  Status status = data_uri_read(uri, &parts, error);
  return status == STATUS_OK ? data_uri_decode(&parts, cap, out, error) : status;
}

static void data_uris_are_taken_apart(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof URIS / sizeof *URIS; i++) {
    Fail fail = {0};
    Buffer out;
    buffer_init(&out, fail_memory(&fail));
    Text uri = exact_text(URIS[i].uri);
    DataUri parts;
    DataUriError error;
    assert_int_equal(data_uri_read(uri, &parts, &error), STATUS_OK);
    assert_true(text_equal(parts.media, text_of(URIS[i].media)));
    assert_true(text_equal(parts.parameters, text_of(URIS[i].parameters)));
    assert_int_equal(data_uri_decode(&parts, strlen(URIS[i].bytes), &out, &error), STATUS_OK);
    assert_int_equal(out.size, strlen(URIS[i].bytes));
    if (out.size > 0) {
      assert_memory_equal(out.bytes, URIS[i].bytes, out.size);
      size_t size = out.size;
      assert_int_equal(data_uri_decode(&parts, size - 1, &out, &error), STATUS_LIMIT);
      assert_int_equal(out.size, size);
    }
    free((void *)(uintptr_t)uri.bytes);
    buffer_free(&out);
    assert_int_equal(fail.in_use, 0);
  }
}

static void what_is_no_data_uri_says_where(void **state) {
  (void)state;
  static const struct { const char *uri; size_t offset; const char *expected; } cases[] = {
    {"", 0, "data:"},                      {"data", 0, "data:"},              {"http://a/b.png", 0, "data:"},
    {"data:image/png;base64", 21, "comma"}, {"data:", 5, "comma"},             {"data:image,x", 10, "media type"},
    {"data:/png,x", 5, "media type"},      {"data:image/,x", 11, "media type"}, {"data:im age/png,x", 7, "media type"},
    {"data:image/png base64,x", 14, "';'"}, {"data:image/png;,x", 15, "parameter"},
    {"data:image/png;base64;a=b,x", 21, "parameter"}, {"data:image/png;=b,x", 15, "parameter"},
    {"data:image/png;base64,Zm9!", 25, "digit"}, {"data:image/png;base64,Zm9", 25, "groups of four"},
    {"data:image/png;base64,Zm9v\n", 26, "digit"}, {"data:,a%2", 7, "hexadecimal"}, {"data:,%zz", 6, "hexadecimal"},
    {"data:,a b", 7, "printable"},         {"data:,\xc3\xa9", 6, "printable"}, {"data:,%", 6, "hexadecimal"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Buffer out;
    buffer_init(&out, memory_system());
    DataUriError error = {99, ""};
    Text uri = exact_text(cases[i].uri);
    Status status = decode_uri(uri, 1000, &out, &error);
    bool said = error.offset == cases[i].offset && strstr(error.expected, cases[i].expected) != NULL;
    if (status != STATUS_SYNTAX || !said) {
      fail_msg("%s: %s, %s at %zu", cases[i].uri, status_code(status), error.expected, error.offset);
    }
    assert_int_equal(out.size, 0);
    free((void *)(uintptr_t)uri.bytes);
    buffer_free(&out);
  }
}

/* Too long is refused by the length: here all is wrong as well, and nothing is asked for. */
static void the_length_is_looked_at_first(void **state) {
  (void)state;
  Fail fail = {.fail_at = 1};
  Buffer out;
  buffer_init(&out, fail_memory(&fail));
  size_t size = 40000;
  char *uri = malloc(size);
  DataUriError error;
  memset(uri, '!', size);
  memcpy(uri, "data:image/png;base64,", 22);
  assert_int_equal(decode_uri(text_plain(uri, size), 20000, &out, &error), STATUS_LIMIT);
  memset(uri, '%', size);
  memcpy(uri, "data:,", 6);
  assert_int_equal(decode_uri(text_plain(uri, size), 10000, &out, &error), STATUS_LIMIT);
  memset(uri, 'a', size);
  memcpy(uri, "data:", 5);                   /* and a comma that comes too late is not looked for */
  uri[2000] = ',';
  assert_int_equal(decode_uri(text_plain(uri, size), size, &out, &error), STATUS_SYNTAX);
  assert_int_equal(error.offset, 5 + 1024);
  assert_int_equal(fail.calls, 0);
  free(uri);
  buffer_free(&out);
}

static void out_of_memory_leaves_the_buffer_as_it_was(void **state) {
  (void)state;
  Fail fail = {0};
  Buffer out;
  buffer_init(&out, fail_memory(&fail));
  assert_int_equal(buffer_add_string(&out, "before"), STATUS_OK);
  char bytes[300] = {0}, *uri = malloc(500);
  DataUriError error;
  fail.fail_at = fail.calls + 1;
  assert_int_equal(base64_encode(bytes, sizeof bytes, &out), STATUS_MEMORY);
  memset(uri, 'A', 400);
  memcpy(uri, "data:a/b;base64,", 16);
  assert_int_equal(decode_uri(text_plain(uri, 400), 1000, &out, &error), STATUS_MEMORY);
  memcpy(uri, "data:,", 6);
  assert_int_equal(decode_uri(text_plain(uri, 400), 1000, &out, &error), STATUS_MEMORY);
  assert_int_equal(out.size, 6);
  fail.fail_at = 0;
  assert_int_equal(base64_encode(bytes, sizeof bytes, &out), STATUS_OK);
  assert_int_equal(out.size, 6 + 400);
  assert_memory_equal(out.bytes, "beforeAAAA", 10);
  free(uri);
  buffer_free(&out);
  assert_int_equal(fail.in_use, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(vectors_and_random_bytes_come_back),
    cmocka_unit_test(what_is_no_base64_says_where),
    cmocka_unit_test(bytes_have_one_spelling),
    cmocka_unit_test(data_uris_are_taken_apart),
    cmocka_unit_test(what_is_no_data_uri_says_where),
    cmocka_unit_test(the_length_is_looked_at_first),
    cmocka_unit_test(out_of_memory_leaves_the_buffer_as_it_was),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
