/*
** Lenient readings: what they mend can be read strictly, they change nothing that
** needs no mending, and they fail like all others without memory.
*/
#include "documents.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"

static const RoleAlias BOT = {.spelling = {.bytes = "bot", .size = 3}, .role = ROLE_ASSISTANT};
static const DocumentLimits LENIENT = {.message_bytes_max = 2000, .file_bytes_max = 20000, .lenient = true,
                                       .aliases = &BOT, .alias_count = 1};
static const DocumentLimits STRICT = {.message_bytes_max = 2000, .file_bytes_max = 20000, .aliases = &BOT,
                                      .alias_count = 1};

static const char *const files[] = {
  "{'tools':[{}],'messages':[{'role':'user','content':[{'type':'odd'}],'id':'a'},5,{'role':'user'},"
  "{'role':'assistant','tool_calls':[{'id':'c','function':{'name':'f\xff'}}]},\n"
  "{'role':'tool','tool_call_id':'c','content':'','role':'tool','content':'\\udc00\\ud83d\\ude00'}],'b':'\xc3'}",
  "[5, {'role':'bot','content':'x','id':'a'} ,\n{'role':'user','content':[{'type':'tool_result','tool_use_id':'t',"
  "'content':[{'type':'text','text':'\xe4\xbd\xa0\xe4\xbd'}]}],'id':'a'}, [], {}]",
  U "\n\ngarbage\r\n{'role':'user','content':'\xed\xa0\x80'}\n{\n'role':\n'user',\n'content':'y'\n}\n5\n"
  "{'role':'user','id':'1','content':'z','id':'2'} x\n{'role':'user','content':'z','content':'y'}\n{'role':'user','cont",
};

static bool has(const Loaded *loaded, DocumentOddity what) {
  for (uint32_t i = 0; i < loaded->warnings.count; i++) {
    if (loaded->warnings.list[i].what == what) return true;
  }
  return false;
}

/* What a lenient reading leaves is valid UTF-8 and, but for ids, strictly readable: with as many messages. */
static void check_lenient(const char *text, size_t size, bool *loads) {
  Loaded loaded, again;
  Buffer out;
  bool strict = load_within(&again, STRICT, text, size, 0) == STATUS_OK;
  unload(&again);
  *loads = load_within(&loaded, LENIENT, text, size, 0) == STATUS_OK;
  if (strict) assert_true(*loads);
  if (!*loads) {
    assert_true(loaded.error.place.line >= 1 && loaded.error.place.byte >= 1);
    assert_true(loaded.error.place.line + loaded.error.place.byte <= size + 2);
    unload(&loaded);
    return;
  }
  buffer_init(&out, memory_system());
  write(&loaded, &out);
  assert_int_equal(utf8_check(out.bytes, out.size), out.size);
  if (strict) assert_true(out.size == size && (size == 0 || memcmp(out.bytes, text, size) == 0));
  if (!has(&loaded, ODD_ID)) {
    if (load_within(&again, STRICT, out.bytes, out.size, 0) != STATUS_OK) {
      fail_msg("%.*s\nbecame\n%.*s\nexpected %s", (int)size, text, (int)out.size, out.bytes, again.error.expected);
    }
    assert_int_equal(count_of(&again), count_of(&loaded));
    unload(&again);
  }
  buffer_free(&out);
  unload(&loaded);
}

/* Wherever it stands, keys are compared and texts hashed before it is mended. */
static void half_a_surrogate_pair_may_end_any_text(void **unused) {
  (void)unused;
  static const char *const texts[] = {
    "{'\\udfaa':0}", "{'\\ud800':0,'role':'user','content':''}", "[{'role':'\\ud83d'}]", "{'messages\\ud800':[" U "]}",
    "[{'role':'user','content':'','id':'\\ud800'}]", "[{'role':'tool','content':'','tool_call_id':'a\\udc00'}]",
    "[{'role':'user','content':[{'type':'\\ud83d'}]}]", "[{'role':'user','content':'','\\udbff':1,'content':'\\ud800'}]",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    bool loads;
    const char *text = quoted(texts[i]);
    check_lenient(text, strlen(text), &loads);
  }
}

static void escapes_are_mended_one_by_one(void **unused) {
  (void)unused;
  static const struct {
    const char *text, *mended;
  } cases[] = {
    {"\\ud800", "\\ufffd"},
    {"\\ue000\\ud800", "\\ue000\\ufffd"},               /* what stands around it stays as it is */
    {"\\ud800\\ue000", "\\ufffd\\ue000"},
    {"\\ud800\\u0041\\udc00", "\\ufffd\\u0041\\ufffd"},
    {"\\ud83d\\ude00\\ude00", "\\ud83d\\ude00\\ufffd"},
    {"\\\\ud800\\uDBFF", "\\\\ud800\\ufffd"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[200], mended[200];
    Loaded loaded;
    snprintf(text, sizeof text, "[{\"role\":\"user\",\"content\":\"%s\"}]", cases[i].text);
    snprintf(mended, sizeof mended, "[{\"role\":\"user\",\"content\":\"%s\"}]", cases[i].mended);
    assert_int_equal(load_within(&loaded, LENIENT, text, strlen(text), 0), STATUS_OK);
    assert_true(has(&loaded, ODD_TEXT));
    assert_written(&loaded, cases[i].text, mended, strlen(mended));
    unload(&loaded);
  }
}

static void caps_and_other_forms_are_refused_also_leniently(void **unused) {
  (void)unused;
  static const struct {
    const char *text;
    Status status;
    const char *path;
  } cases[] = {
    {"[5," U ",{'role':'user','content':'more than the cap allows'}]", STATUS_LIMIT, "[2]"},
    {"{'messages':[5," U ",{'role':'user','content':'more than the cap allows'}]}", STATUS_LIMIT, "messages[2]"},
    {"{'model':'m','contents':[{'role':'user','parts':[{'text':'longer than the cap'}]}],'a':'\xff'}", STATUS_LIMIT,
     "contents[0]"},
    {"{'model':'m','input':'a text that is longer than the cap, alone','a':'\xff'}", STATUS_LIMIT, "input"},
  };
  DocumentLimits limits = LENIENT;
  limits.message_bytes_max = 40;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Loaded loaded;
    const char *text = quoted(cases[i].text);
    assert_int_equal(load_within(&loaded, limits, text, strlen(text), 0), cases[i].status);
    assert_string_equal(loaded.error.path, cases[i].path);
    unload(&loaded);
  }
}

/* One change: a byte from those that mean something, a piece gone, or a piece twice. */
static size_t mutate(char *text, size_t size, size_t room) {
  static const char letters[] = "\"\\{}[],:5x \n\xff\xc3\xe4\xed\xa0u";
  size_t at = below((uint32_t)size), length = 1 + below(12);
  if (length > size - at) length = size - at;
  switch (below(3)) {
  case 0:
    text[at] = letters[below(sizeof letters - 1)];
    return size;
  case 1:
    memmove(text + at, text + at + length, size - at - length);
    return size - length;
  default:
    if (size + length > room) return size;
    memmove(text + at + length, text + at, size - at);
    return size + length;
  }
}

/* SEED=n repeats a run. */
static void what_is_mended_can_be_read_strictly(void **unused) {
  (void)unused;
  chance = test_seed();
  uint32_t loaded = 0;
  for (uint32_t run = 0; run < 20000; run++) {
    char text[1000];
    const char *from = quoted(files[run % 3]);
    size_t size = strlen(from);
    bool loads;
    memcpy(text, from, size);
    for (uint32_t changes = below(4); changes > 0 && size > 1; changes--) size = mutate(text, size, sizeof text);
    check_lenient(text, size, &loads);
    loaded += loads;
  }
  assert_true(loaded > 5000);
}

static void what_needs_no_mending_is_as_it_was(void **unused) {
  (void)unused;
  const char *text = quoted(" {'messages':[ " U " , " U "] }\n");
  Loaded loaded;
  assert_int_equal(load_within(&loaded, LENIENT, text, strlen(text), 0), STATUS_OK);
  assert_int_equal(loaded.warnings.count, 0);
  assert_written(&loaded, "clean", text, strlen(text));
  unload(&loaded);
}

static void places_are_those_of_the_file(void **unused) {
  (void)unused;
  static const struct { DocumentOddity what; uint64_t line, byte; } wanted[] = {
    {ODD_RECORD, 3, 1},  {ODD_TEXT, 4, 27},   {ODD_RECORD, 10, 1}, {ODD_RECORD, 11, 49},
    {ODD_KEY, 12, 16},   {ODD_RECORD, 13, 21},
  };
  Loaded loaded;
  const char *text = quoted(files[2]);
  assert_int_equal(load_within(&loaded, LENIENT, text, strlen(text), 0), STATUS_OK);
  assert_int_equal(loaded.warnings.count, sizeof wanted / sizeof *wanted);
  for (uint32_t i = 0; i < loaded.warnings.count; i++) {
    const DocumentWarning *warning = &loaded.warnings.list[i];
    if (warning->what != wanted[i].what || warning->place.line != wanted[i].line ||
        warning->place.byte != wanted[i].byte) {
      fail_msg("%u: %d at %d:%d", i, warning->what, (int)warning->place.line, (int)warning->place.byte);
    }
  }
  unload(&loaded);
  text = quoted("\xff [5]");
  assert_int_equal(load_within(&loaded, LENIENT, text, strlen(text), 0), STATUS_OK);
  unload(&loaded);
  text = quoted("[5,{'role':'user','content':'\xff'},\n{'role':'none'}]");
  assert_int_equal(load_within(&loaded, LENIENT, text, strlen(text), 0), STATUS_ROLE);
  assert_int_equal(loaded.error.place.line, 2);
  assert_int_equal(loaded.error.place.byte, 9);
  unload(&loaded);
}

static void without_memory_nothing_is_left(void **unused) {
  (void)unused;
  for (size_t file = 0; file < 3; file++) {
    for (size_t at = 1;; at++) {
      Loaded loaded;
      const char *text = quoted(files[file]);
      Status status = load_within(&loaded, LENIENT, text, strlen(text), at);
      if (status != STATUS_OK) assert_int_equal(status, STATUS_MEMORY);
      unload(&loaded);
      if (status != STATUS_OK) continue;
      assert_true(at > 5);
      break;
    }
  }
}

/* The first bytes tell how many there may be, or how many more must be seen to tell. */
static void caps_are_told_by_the_first_bytes(void **unused) {
  (void)unused;
  static const struct { const char *text; bool lenient, told; size_t cap; } cases[] = {
    {" \n[" U ",", false, true, 40},
    {"{'model':'m','messages':[", false, true, 40},
    {U "\n{", false, true, SIZE_MAX},
    {"\n \n", false, true, SIZE_MAX},
    {"x" U, false, true, 30},            /* no more is needed to refuse it */
    {"x" U, true, true, SIZE_MAX},
    {"{'content':'123456789", false, false, 0},
    {"{'role':'user','content':'0123456789012345678901234567890123456789", false, true, 66},
    {"{'content':'0123456789012345678901234567890123456789012345678901234", false, true, 40},
    {"{'role':'user','content' 0123456789012345678901234567890123456789", false, true, 65},
    {"{'role':'user','content' 0123456789012345678901234567890123456789", true, true, SIZE_MAX},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    DocumentLimits limits = {.message_bytes_max = 40, .file_bytes_max = 40, .lenient = cases[i].lenient};
    size_t cap = 0, wanted = 0, size = strlen(cases[i].text);
    bool told = document_cap(&limits, quoted(cases[i].text), size, &cap, &wanted);
    if (told != cases[i].told || (told && cap != cases[i].cap)) fail_msg("case %zu: %d %zu", i, told, cap);
    if (!told) assert_true(wanted > size && wanted <= 40 + 20);
  }
  DocumentLimits none = {.message_bytes_max = SIZE_MAX, .file_bytes_max = SIZE_MAX};
  size_t cap, wanted;
  assert_false(document_cap(&none, "{", 1, &cap, &wanted));
  assert_true(wanted == SIZE_MAX);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(half_a_surrogate_pair_may_end_any_text),
    cmocka_unit_test(escapes_are_mended_one_by_one),
    cmocka_unit_test(caps_and_other_forms_are_refused_also_leniently),
    cmocka_unit_test(what_is_mended_can_be_read_strictly),
    cmocka_unit_test(what_needs_no_mending_is_as_it_was),
    cmocka_unit_test(places_are_those_of_the_file),
    cmocka_unit_test(without_memory_nothing_is_left),
    cmocka_unit_test(caps_are_told_by_the_first_bytes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
