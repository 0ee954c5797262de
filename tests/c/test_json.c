/*
** JSON in: accepted and refused texts with their positions, the cursor, and
** random mutations that a plain, slow validator must judge alike.
**
** Every text is given to the scanner as a block of its very size, so that a
** sanitizer sees each read beyond the end.
*/
#define _DEFAULT_SOURCE 1
#include "check.h"

#include <dirent.h>
#include <string.h>

#include "base/utf8.h"
#include "json/json.h"

/* Scans one whole text. *offset: of the error. */
static Status scan(const char *text, size_t size, size_t *offset, const char **expected) {
  char *block = malloc(size > 0 ? size : 1);
  assert_non_null(block);
  memcpy(block, text, size);
  Json json;
  JsonValue value;
  json_open(&json, block, size);
  if (json_value(&json, &value)) json_end(&json);
  *offset = json.status != STATUS_OK ? (size_t)(json.error - json.start) : 0;
  *expected = json.expected;
  free(block);
  return json.status;
}

static const char *const accepted[] = {
  "{}", "[]", " [ ] ", "\t{\r\n}\n", "null", "true", "false", "0", "-0", "-0.0e-0", "12", "1.5", "1e400", "1E+2",
  "\"\"", "[1,2,[3,{}],{\"a\":[]}]", "{\"a\":1,\"a\":2}",
  "123456789012345678901234567890123456789012345678901234567890",
  "\"\\u0000\"", "\"\\ud83d\\ude00\"", "\"\\uDBFF\\uDFFF\"", "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\x7f\"",
  "\"\xc2\x80\xdf\xbf\"",
  "\"\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\"", "\"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\"",
  "\"fifteen bytes..\"", "\"sixteen bytes...\"", "\"seventeen bytes..\"",
  "\"\xe4\xb8\xad\xe6\x96\x87 and 0123456789abcdef\"",
  "\"0123456789abcdef0123456789abcde\\n0123456789abcdef\"",
};

static void good_texts_are_accepted(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++) {
    size_t offset;
    const char *expected;
    Status status = scan(accepted[i], strlen(accepted[i]), &offset, &expected);
    if (status != STATUS_OK) fail_msg("%s: expected %s at %zu", accepted[i], expected, offset);
  }
}

static const struct Refused {
  const char *text;
  Status status;
  size_t offset;
  const char *expected;   /* NULL: any */
} refused[] = {
  {"", STATUS_SYNTAX, 0, "a value"},
  {"  ", STATUS_SYNTAX, 2, "a value"},
  {"\xef\xbb\xbf{}", STATUS_SYNTAX, 0, "a value"},
  {"[1,2", STATUS_SYNTAX, 4, "',' or ']'"},
  {"[", STATUS_SYNTAX, 1, "a value or ']'"},
  {"[1,", STATUS_SYNTAX, 3, "a value"},
  {"[1,]", STATUS_SYNTAX, 3, "a value"},
  {"[,1]", STATUS_SYNTAX, 1, "a value"},
  {"[1 2]", STATUS_SYNTAX, 3, "',' or ']'"},
  {"[1}", STATUS_SYNTAX, 2, "',' or ']'"},
  {"{", STATUS_SYNTAX, 1, "a key or '}'"},
  {"{\"a\"", STATUS_SYNTAX, 4, "':' after a key"},
  {"{\"a\" 1}", STATUS_SYNTAX, 5, "':' after a key"},
  {"{\"a\":", STATUS_SYNTAX, 5, "a value"},
  {"{\"a\":}", STATUS_SYNTAX, 5, "a value"},
  {"{\"a\":1", STATUS_SYNTAX, 6, "',' or '}'"},
  {"{\"a\":1,}", STATUS_SYNTAX, 7, "a key"},
  {"{\"a\":1]", STATUS_SYNTAX, 6, "',' or '}'"},
  {"{a:1}", STATUS_SYNTAX, 1, "a key or '}'"},
  {"{1:1}", STATUS_SYNTAX, 1, "a key or '}'"},
  {"{} {}", STATUS_SYNTAX, 3, "end of input"},
  {"[]]", STATUS_SYNTAX, 2, "end of input"},
  {"// no\n1", STATUS_SYNTAX, 0, "a value"},
  {"[1]/*x*/", STATUS_SYNTAX, 3, "end of input"},
  {"nul", STATUS_SYNTAX, 0, "null"},
  {"[tru]", STATUS_SYNTAX, 1, "true"},
  {"nulll", STATUS_SYNTAX, 4, "end of input"},
  {"NaN", STATUS_SYNTAX, 0, "a value"},
  {"01", STATUS_SYNTAX, 1, "end of input"},
  {"+1", STATUS_SYNTAX, 0, "a value"},
  {".5", STATUS_SYNTAX, 0, "a value"},
  {"-", STATUS_SYNTAX, 1, "a digit"},
  {"-a", STATUS_SYNTAX, 1, "a digit"},
  {"1.", STATUS_SYNTAX, 2, "a digit"},
  {"1.e1", STATUS_SYNTAX, 2, "a digit"},
  {"[1e]", STATUS_SYNTAX, 3, "a digit"},
  {"1e+", STATUS_SYNTAX, 3, "a digit"},
  {"'a'", STATUS_SYNTAX, 0, "a value"},
  {"\"abc", STATUS_SYNTAX, 4, "'\"' to end the string"},
  {"\"a longer one, over 16 bytes", STATUS_SYNTAX, 28, "'\"' to end the string"},
  {"\"a\nb\"", STATUS_SYNTAX, 2, NULL},
  {"\"0123456789abcdefgh\tb\"", STATUS_SYNTAX, 19, NULL},
  {"\"\x1f\"", STATUS_SYNTAX, 1, NULL},
  {"\"a\\x\"", STATUS_SYNTAX, 2, NULL},
  {"\"\\", STATUS_SYNTAX, 2, NULL},
  {"\"\\u12\"", STATUS_SYNTAX, 1, NULL},
  {"\"\\u12g4\"", STATUS_SYNTAX, 1, NULL},
  {"\"\\U1234\"", STATUS_SYNTAX, 1, NULL},
  {"\"\\ud800\"", STATUS_ENCODING, 1, NULL},
  {"\"\\udc00\"", STATUS_ENCODING, 1, NULL},
  {"\"\\ud800\\ud800\"", STATUS_ENCODING, 1, NULL},
  {"\"\\udc00\\ud800\"", STATUS_ENCODING, 1, NULL},
  {"\"\\udc00\\udc00\"", STATUS_ENCODING, 1, NULL},
  {"\"\\ud800\\n\"", STATUS_ENCODING, 1, NULL},
  {"\"\\ud800\\u00\"", STATUS_ENCODING, 1, NULL},
  {"\"\x80\"", STATUS_ENCODING, 1, "valid UTF-8"},
  {"\"\xc0\xaf\"", STATUS_ENCODING, 1, "valid UTF-8"},
  {"\"\xc1\xbf\"", STATUS_ENCODING, 1, "valid UTF-8"},
  {"\"\xc3\"", STATUS_ENCODING, 1, "valid UTF-8"},
  {"\"\xe0\x9f\xbf\"", STATUS_ENCODING, 1, "valid UTF-8"},
  {"\"\xed\xa0\x80\"", STATUS_ENCODING, 1, "valid UTF-8"},
  {"\"\xf0\x8f\xbf\xbf\"", STATUS_ENCODING, 1, "valid UTF-8"},
  {"\"\xf4\x90\x80\x80\"", STATUS_ENCODING, 1, "valid UTF-8"},
  {"\"\xf5\x80\x80\x80\"", STATUS_ENCODING, 1, "valid UTF-8"},
  {"\"\xff\"", STATUS_ENCODING, 1, "valid UTF-8"},
  {"\"\xe4\xb8\xad\xe6\x96", STATUS_ENCODING, 4, "valid UTF-8"},
  {"{\"\xff\":1}", STATUS_ENCODING, 2, "valid UTF-8"},
  {"[\xe4\xb8\xad]", STATUS_SYNTAX, 1, "a value"},
  {"[\xc2\xa0]", STATUS_SYNTAX, 1, "a value"},
  {"[\f]", STATUS_SYNTAX, 1, "a value"},
};

static void bad_texts_are_refused_where_they_are_bad(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    const struct Refused *r = &refused[i];
    size_t offset;
    const char *expected;
    Status status = scan(r->text, strlen(r->text), &offset, &expected);
    if (status == r->status && offset == r->offset && (!r->expected || strcmp(expected, r->expected) == 0)) continue;
    fail_msg("%s: %s at %zu, expected %s", r->text, status_code(status), offset, expected);
  }
}

static void raw_nul_is_refused_everywhere(void **state) {
  (void)state;
  size_t offset;
  const char *expected;
  assert_int_equal(scan("\"a\0\"", 4, &offset, &expected), STATUS_SYNTAX);
  assert_int_equal(offset, 2);
  assert_int_equal(scan("\"\\\0\"", 4, &offset, &expected), STATUS_SYNTAX);
  assert_int_equal(scan("[1]\0", 4, &offset, &expected), STATUS_SYNTAX);
  assert_int_equal(offset, 3);
}

static void depth_256_is_the_deepest(void **state) {
  (void)state;
  static const char *const pairs[] = {"[", "]", "{\"a\":", "}"};
  for (size_t deep = 256; deep <= 257; deep++) {
    for (size_t kind = 0; kind < 2; kind++) {
      char text[2048] = "";
      for (size_t i = 0; i < deep; i++) strcat(text, pairs[2 * kind]);
      strcat(text, "1");
      for (size_t i = 0; i < deep; i++) strcat(text, pairs[2 * kind + 1]);
      size_t offset;
      const char *expected;
      assert_int_equal(scan(text, strlen(text), &offset, &expected), deep == 256 ? STATUS_OK : STATUS_LIMIT);
      if (deep == 256) continue;
      assert_int_equal(offset, 256 * strlen(pairs[2 * kind]));
      assert_string_equal(expected, "at most 256 levels");
    }
  }
}

static void levels_entered_count_for_values_within(void **state) {
  (void)state;
  char text[600] = "";
  for (int i = 0; i < 257; i++) strcat(text, "[");
  for (int i = 0; i < 257; i++) strcat(text, "]");
  Json json;
  JsonValue value;
  json_open(&json, text, strlen(text));
  for (int i = 0; i < 256; i++) {
    assert_true(json_enter(&json));
    assert_true(json_next_element(&json));
  }
  Json again = json;
  assert_false(json_enter(&json));
  assert_int_equal(json.status, STATUS_LIMIT);
  assert_false(json_value(&again, &value));
  assert_int_equal(again.status, STATUS_LIMIT);
}

static void assert_bytes(const char *bytes, size_t size, const char *wanted) {
  assert_int_equal(size, strlen(wanted));
  assert_memory_equal(bytes, wanted, size);
}

static void members_come_with_their_exact_bytes(void **state) {
  (void)state;
  static const struct { const char *key; JsonKind kind; const char *bytes; bool escaped; } members[] = {
    {"role", JSON_STRING, "\"user\"", false},
    {"content", JSON_STRING, "\"a\\nb\"", true},
    {"x", JSON_ARRAY, "[1, {\"y\" : [ ]} ]", false},
    {"n", JSON_NUMBER, "-1.50e3", false},
    {"t", JSON_TRUE, "true", false},
    {"o", JSON_OBJECT, "{}", false},
  };
  const char *text = " { \"role\" : \"user\",\"content\":\"a\\nb\" ,\"x\":[1, {\"y\" : [ ]} ],"
                     "\"n\": -1.50e3 , \"t\":true,\"o\":{}}\n";
  Json json;
  JsonValue value;
  Text key;
  JsonKind kind;
  json_open(&json, text, strlen(text));
  assert_true(json_enter(&json));
  for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
    assert_true(json_next_member(&json, &key));
    assert_bytes(key.bytes, key.size, members[i].key);
    assert_true(json_peek(&json, &kind));
    assert_int_equal(kind, members[i].kind);
    assert_true(json_value(&json, &value));
    assert_int_equal(value.kind, members[i].kind);
    assert_bytes(value.bytes, value.size, members[i].bytes);
    assert_int_equal(value.escaped, members[i].escaped);
    if (kind != JSON_STRING) continue;
    assert_ptr_equal(json_text(&value).bytes, value.bytes + 1);
    assert_int_equal(json_text(&value).size, value.size - 2);
    assert_int_equal(json_text(&value).escaped, members[i].escaped);
  }
  assert_false(json_next_member(&json, &key));
  assert_int_equal(json.status, STATUS_OK);
  assert_true(json_end(&json));
}

static void nested_values_can_be_entered_or_passed(void **state) {
  (void)state;
  const char *text = "[[], [1,[2,3]] ,{\"k\\u0041\":[true]},4]";
  Json json;
  JsonValue value;
  Text key;
  json_open(&json, text, strlen(text));
  assert_true(json_enter(&json) && json_next_element(&json) && json_enter(&json));
  assert_false(json_next_element(&json));
  assert_true(json_next_element(&json) && json_enter(&json) && json_next_element(&json) && json_value(&json, &value));
  assert_bytes(value.bytes, value.size, "1");
  assert_true(json_next_element(&json) && json_value(&json, &value));
  assert_bytes(value.bytes, value.size, "[2,3]");
  assert_false(json_next_element(&json));
  assert_true(json_next_element(&json) && json_enter(&json) && json_next_member(&json, &key));
  assert_true(key.escaped);
  assert_true(text_equal(key, text_of("kA")));
  assert_true(json_enter(&json) && json_next_element(&json) && json_value(&json, &value));
  assert_false(json_next_element(&json) || json_next_member(&json, &key));
  assert_int_equal(json.depth, 1);
  assert_true(json_next_element(&json) && json_value(&json, &value));
  assert_false(json_next_element(&json));
  assert_true(json_end(&json));
}

static void the_first_error_sticks(void **state) {
  (void)state;
  Json json;
  JsonValue value = {.size = 77};
  JsonKind kind;
  Text key;
  json_open(&json, "[1 x", 4);
  assert_true(json_enter(&json) && json_next_element(&json) && json_value(&json, &value));
  assert_false(json_next_element(&json));
  Json before = json;
  assert_false(json_next_element(&json) || json_next_member(&json, &key) || json_enter(&json) || json_end(&json) ||
               json_peek(&json, &kind) || json_value(&json, &value) || json_fail(&json, STATUS_ROLE, json.at, "no"));
  assert_int_equal(json.status, STATUS_SYNTAX);
  assert_ptr_equal(json.at, before.at);
  assert_ptr_equal(json.error, json.start + 3);
  assert_string_equal(json.expected, "',' or ']'");
  assert_int_equal(value.size, 1);
}

static void misuse_of_the_cursor_is_an_error(void **state) {
  (void)state;
  Json json;
  json_open(&json, "12", 2);
  assert_false(json_enter(&json));
  assert_int_equal(json.status, STATUS_SHAPE);
  json_open(&json, "[", 1);
  assert_true(json_enter(&json));
  assert_false(json_end(&json));
  json_open(&json, NULL, 0);
  assert_false(json_enter(&json));
  assert_int_equal(json.status, STATUS_SYNTAX);
  json_open(&json, "1", 1);
  assert_false(json_fail(&json, STATUS_ROLE, json.at, "a role"));
  assert_int_equal(json.status, STATUS_ROLE);
}

static void integers_keep_within_int64(void **state) {
  (void)state;
  static const struct { const char *text; bool good; int64_t value; } cases[] = {
    {"0", true, 0}, {"-0", true, 0}, {"42", true, 42}, {"-42", true, -42},
    {"9223372036854775807", true, INT64_MAX}, {"-9223372036854775808", true, INT64_MIN},
    {"9223372036854775808", false, 0}, {"-9223372036854775809", false, 0}, {"99999999999999999999", false, 0},
    {"1.0", false, 0}, {"1e2", false, 0}, {"true", false, 0}, {"\"1\"", false, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Json json;
    JsonValue value;
    int64_t integer = 0;
    json_open(&json, cases[i].text, strlen(cases[i].text));
    assert_true(json_value(&json, &value));
    assert_int_equal(json_integer(&value, &integer), cases[i].good);
    assert_true(integer == cases[i].value);
  }
}

/*
** The reference: byte by byte, recursive, and nothing shared with the scanner
** but utf8_decode, which test_base checks for all code points.
*/
typedef struct Plain { const char *at, *end; int depth; } Plain;

static bool plain_value(Plain *p);

static bool plain_take(Plain *p, char c) {
  if (p->at == p->end || *p->at != c) return false;
  p->at++;
  return true;
}

static void plain_space(Plain *p) {
  while (plain_take(p, ' ') || plain_take(p, '\t') || plain_take(p, '\n') || plain_take(p, '\r')) continue;
}

static long plain_hex(Plain *p) {
  if (p->end - p->at < 4) return -1;
  char digits[5] = {0};
  for (int i = 0; i < 4; i++) digits[i] = *p->at++;
  return strspn(digits, "0123456789abcdefABCDEF") == 4 ? strtol(digits, NULL, 16) : -1;
}

static bool plain_escape(Plain *p) {
  if (!plain_take(p, 'u')) return p->at < p->end && *p->at != 0 && strchr("\"\\/bfnrt", *p->at++) != NULL;
  long high = plain_hex(p);
  if (high < 0xD800 || high > 0xDFFF) return high >= 0;
  if (high > 0xDBFF || !plain_take(p, '\\') || !plain_take(p, 'u')) return false;
  long low = plain_hex(p);
  return low >= 0xDC00 && low <= 0xDFFF;
}

static bool plain_string(Plain *p) {
  if (!plain_take(p, '"')) return false;
  while (p->at < p->end) {
    if (plain_take(p, '"')) return true;
    if (plain_take(p, '\\')) {
      if (!plain_escape(p)) return false;
      continue;
    }
    size_t size = utf8_decode(p->at, p->end, NULL);
    if (size == 0 || (unsigned char)*p->at < 0x20) return false;
    p->at += size;
  }
  return false;
}

static bool plain_digits(Plain *p) {
  const char *from = p->at;
  while (p->at < p->end && *p->at >= '0' && *p->at <= '9') p->at++;
  return p->at > from;
}

static bool plain_number(Plain *p) {
  plain_take(p, '-');
  if (!plain_take(p, '0') && !plain_digits(p)) return false;
  if (plain_take(p, '.') && !plain_digits(p)) return false;
  if (!plain_take(p, 'e') && !plain_take(p, 'E')) return true;
  if (!plain_take(p, '+')) plain_take(p, '-');
  return plain_digits(p);
}

static bool plain_word(Plain *p, const char *word) {
  const char *from = p->at;
  while (*word != '\0' && plain_take(p, *word)) word++;
  if (*word == '\0') return true;
  p->at = from;
  return false;
}

static bool plain_list(Plain *p, char close, bool keys) {
  if (++p->depth > JSON_DEPTH_MAX) return false;
  plain_space(p);
  bool done = plain_take(p, close);
  while (!done) {
    plain_space(p);
    if (keys) {
      if (!plain_string(p)) return false;
      plain_space(p);
      if (!plain_take(p, ':')) return false;
    }
    if (!plain_value(p)) return false;
    done = plain_take(p, close);
    if (!done && !plain_take(p, ',')) return false;
  }
  p->depth--;
  return true;
}

/* White space around it included. */
static bool plain_value(Plain *p) {
  plain_space(p);
  if (p->at == p->end) return false;
  bool good = false;
  if (plain_take(p, '[')) good = plain_list(p, ']', false);
  else if (plain_take(p, '{')) good = plain_list(p, '}', true);
  else if (*p->at == '"') good = plain_string(p);
  else if (plain_word(p, "null") || plain_word(p, "true") || plain_word(p, "false")) good = true;
  else good = plain_number(p);
  plain_space(p);
  return good;
}

static const char model[] =
  "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"He said \\\"no\\\"\\n\\u00e9\\ud83d\\ude00 "
  "caf\xc3\xa9 \xe4\xb8\xad\xe6\x96\x87\xe5\xad\x97 \xf0\x9f\x98\x80 and then a plain piece\"},null,true,false],"
  "\"n\":[0,-1.5e+10,12E3, 7 ],\"metadata\":{\"a\":{},\"b\":[[]],\"\":\"\"},"
  "\"id\":\"0123456789abcdef0123456789abcdef\"}";

/* One to three bytes of `text` are replaced, removed, doubled or cut off. */
static size_t mutate(char *text, size_t size, uint64_t *random) {
  static const char likely[] = "\"\\{}[],:0159eE+-.utn \n\x1f\x7f\x80\xbf\xc3\xe4\xed\xf0\xf4\xff";
  for (uint64_t times = 1 + test_random(random) % 3; times > 0 && size > 0; times--) {
    size_t at = test_random(random) % size;
    switch (test_random(random) % 8) {
      case 0: memmove(text + at, text + at + 1, size - at - 1); size--; break;
      case 1: memmove(text + at + 1, text + at, size - at); size++; break;
      case 2: if (test_random(random) % 4 == 0) size = at; break;
      case 3: text[at] = (char)test_random(random); break;
      default: text[at] = likely[test_random(random) % (sizeof likely - 1)]; break;
    }
  }
  return size;
}

/* A cursor that trusts the bytes finds the same values as one that checks them. */
static void assert_values_alike(Json *checking, Json *trusting) {
  JsonKind kind, other = JSON_NULL;
  Json nested[2];
  JsonValue value, same;
  Text key, same_key;
  assert_true(json_peek(checking, &kind));
  assert_true(json_peek(trusting, &other));
  assert_int_equal(kind, other);
  nested[0] = *checking, nested[1] = *trusting;
  assert_true(json_value(checking, &value));
  assert_true(json_value(trusting, &same));
  assert_true(value.bytes == same.bytes && value.size == same.size && value.escaped == same.escaped);
  if (kind == JSON_ARRAY && json_enter(&nested[0]) && json_enter(&nested[1])) {
    while (json_next_element(&nested[0])) {
      assert_true(json_next_element(&nested[1]));
      assert_values_alike(&nested[0], &nested[1]);
    }
  } else if (kind == JSON_OBJECT && json_enter(&nested[0]) && json_enter(&nested[1])) {
    while (json_next_member(&nested[0], &key)) {
      assert_true(json_next_member(&nested[1], &same_key));
      assert_true(key.bytes == same_key.bytes && key.size == same_key.size);
      assert_values_alike(&nested[0], &nested[1]);
    }
  }
}

static void assert_trusted_alike(const char *text, size_t size) {
  Json checking, trusting;
  json_open(&checking, text, size);
  json_open_valid(&trusting, text, size);
  assert_values_alike(&checking, &trusting);
  assert_true(json_end(&checking) && json_end(&trusting));
}

static void mutations_agree_with_the_reference(void **state) {
  (void)state;
  uint64_t random = test_seed();
  size_t good = 0;
  enum { ROUNDS = 200000 };
  for (int i = 0; i < ROUNDS; i++) {
    char text[sizeof model + 8];
    memcpy(text, model, sizeof model);
    size_t size = mutate(text, sizeof model - 1, &random);
    Plain plain = {.at = text, .end = text + size};
    bool wanted = plain_value(&plain) && plain.at == plain.end;
    size_t offset;
    const char *expected = NULL;
    bool got = scan(text, size, &offset, &expected) == STATUS_OK;
    if (got != wanted) fail_msg("round %d: %.*s: %s", i, (int)size, text, got ? "accepted" : expected);
    good += got;
    if (got) assert_trusted_alike(text, size);
  }
  printf("%zu of %d mutations are JSON\n", good, (int)ROUNDS);
  assert_true(good > ROUNDS / 20 && good < ROUNDS);
}

/*
** JSONTestSuite, where it is at hand: $EBB_SHARED/data/json_test_suite.
*/
static Status scan_file(const char *folder, const char *name) {
  char path[4096];
  static char bytes[1 << 20];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  size_t size = fread(bytes, 1, sizeof bytes, file), offset;
  fclose(file);
  assert_true(size < sizeof bytes);
  const char *expected;
  return scan(bytes, size, &offset, &expected);
}

static void the_json_test_suite_agrees(void **state) {
  (void)state;
  const char *shared = getenv("EBB_SHARED");
  char folder[2048];
  snprintf(folder, sizeof folder, "%s/data/json_test_suite", shared != NULL ? shared : "");
  DIR *listing = shared != NULL ? opendir(folder) : NULL;
  if (listing == NULL) {
    printf("SKIPPED: JSONTestSuite (EBB_SHARED %s)\n", shared != NULL ? "has no data/json_test_suite" : "is not set");
    skip();
  }
  int passed = 0, either[2] = {0, 0}, wrong = 0;
  for (struct dirent *entry; (entry = readdir(listing)) != NULL;) {
    const char *name = entry->d_name;
    if (name[1] != '_' || strchr("yni", name[0]) == NULL) continue;
    bool good = scan_file(folder, name) == STATUS_OK;
    if (name[0] == 'i') {
      either[good]++;
      printf("  %s %s\n", good ? "accepted" : "refused ", name);
    } else if (good == (name[0] == 'y')) {
      passed++;
    } else {
      wrong++;
      printf("  WRONG: %s\n", name);
    }
  }
  closedir(listing);
  printf("JSONTestSuite: %d right, %d wrong; either way: %d accepted, %d refused\n",
         passed, wrong, either[1], either[0]);
  assert_int_equal(wrong, 0);
  assert_true(passed > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(good_texts_are_accepted),
    cmocka_unit_test(bad_texts_are_refused_where_they_are_bad),
    cmocka_unit_test(raw_nul_is_refused_everywhere),
    cmocka_unit_test(depth_256_is_the_deepest),
    cmocka_unit_test(levels_entered_count_for_values_within),
    cmocka_unit_test(members_come_with_their_exact_bytes),
    cmocka_unit_test(nested_values_can_be_entered_or_passed),
    cmocka_unit_test(the_first_error_sticks),
    cmocka_unit_test(misuse_of_the_cursor_is_an_error),
    cmocka_unit_test(integers_keep_within_int64),
    cmocka_unit_test(mutations_agree_with_the_reference),
    cmocka_unit_test(the_json_test_suite_agrees),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
