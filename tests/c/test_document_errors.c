/*
** Files of messages that are refused: where, in whose terms, and with which
** words; and those that are only warned about.
*/
#include "documents.h"

static const struct Bad {
  const char *text;
  Status status;
  uint64_t line, byte;
  const char *path, *expected;   /* the whole path; a piece of what was expected */
} bad[] = {
  /* cut off */
  {"[" U, STATUS_SYNTAX, 1, 31, "", "',' or ']'"},
  {"[", STATUS_SYNTAX, 1, 2, "", "a value or ']'"},
  {"[" U ",", STATUS_SYNTAX, 1, 32, "[1]", "a value"},
  {"[\n{'role':'user',\n'conte", STATUS_SYNTAX, 3, 7, "[0]", "to end the string"},
  {"[{'role':'user','content':'x", STATUS_SYNTAX, 1, 29, "[0].content", "to end the string"},
  {"{'model':'m','messages':[" U, STATUS_SYNTAX, 1, 55, "messages", "',' or ']'"},
  {"{'messages':[" U "]", STATUS_SYNTAX, 1, 44, "", "',' or '}'"},
  {"{'messages':[" U "],'a':", STATUS_SYNTAX, 1, 49, "a", "a value"},
  {U "\n{'role':'user','content':'x'", STATUS_SYNTAX, 2, 29, "", "',' or '}'"},
  {U "\n{'role'", STATUS_SYNTAX, 2, 8, "", "':' after a key"},
  /* garbage, comments, trailing commas and data */
  {"hello", STATUS_SYNTAX, 1, 1, "", "a value"},
  {"// hello\n[]", STATUS_SYNTAX, 1, 1, "", "a value"},
  {"\xff\xfe[\0]\0", STATUS_SYNTAX, 1, 1, "", "a value"},
  {"\xef\xbb\xbf\xef\xbb\xbf[]", STATUS_SYNTAX, 1, 4, "", "a value"},
  {"'x'", STATUS_SHAPE, 1, 1, "", "a message, an object"},
  {"[" U " /* no */]", STATUS_SYNTAX, 1, 32, "", "',' or ']'"},
  {"[" U ",\n]", STATUS_SYNTAX, 2, 1, "[1]", "a value"},
  {"[" U "]\n[]", STATUS_SYNTAX, 2, 1, "", "end of input"},
  {"[" U "]x", STATUS_SYNTAX, 1, 32, "", "end of input"},
  {"\xef\xbb\xbf[" U ",\n{'role':1}]", STATUS_ROLE, 2, 9, "[1].role", "a role: system"},
  {"[[" U "]]", STATUS_SHAPE, 1, 2, "[0]", "a message, an object"},
  {"{'messages':[" U "]} {}", STATUS_SHAPE, 1, 46, "", "one request body"},
  {"{'messages':[" U "]}\n{'messages':[]}", STATUS_SHAPE, 2, 1, "", "one request body"},
  {U "\r\n\r\n" U " " U, STATUS_SYNTAX, 3, 31, "", "a new line"},
  {U "," U, STATUS_SYNTAX, 1, 30, "", "a new line"},
  {U "\n[" U "]", STATUS_SHAPE, 2, 1, "", "a message, an object"},
  {U "\n\n" U "\ngarbage", STATUS_SYNTAX, 4, 1, "", "a value"},
  /* encoding */
  {"[{'role':'user','content':'a\xff'}]", STATUS_ENCODING, 1, 29, "[0].content", "UTF-8"},
  {"[{'role':'user','content':'\xc0\xaf'}]", STATUS_ENCODING, 1, 28, "[0].content", "UTF-8"},
  {"[{'role':'user','content':'\xed\xa0\x80'}]", STATUS_ENCODING, 1, 28, "[0].content", "UTF-8"},
  {"[{'role':'user','content':'\\ud800'}]", STATUS_ENCODING, 1, 28, "[0].content", "surrogate"},
  {U "\n{'role':'user','\xf5':0,'content':''}", STATUS_ENCODING, 2, 17, "", "UTF-8"},
  /* messages that are none */
  {"[" U ",{'role':'bot','content':'x'}]", STATUS_ROLE, 1, 40, "[1].role", "a role: system"},
  {U "\n{'content':'x'}", STATUS_SHAPE, 2, 1, "", "a role in the message"},
  {"{'messages':[\n" U ",\n{'role':'user'}]}", STATUS_SHAPE, 3, 1, "messages[1]", "content"},
  {"[{'role':'user','content':[{'type':'text'},\n{'type':2}]}]", STATUS_SHAPE, 2, 9, "[0].content[1].type", "a string"},
  {"[{'role':'user','content':'x','role':'user'}]", STATUS_DUPLICATE, 1, 31, "[0].role", "each key once"},
  {"[{'role':'user','content':'x','timestamp':1e400}]", STATUS_SHAPE, 1, 43, "[0].timestamp", "whole milliseconds"},
  {"[{'id':'a','role':'user','content':''},{'id':'\\u0061','role':'user','content':''}]",
   STATUS_DUPLICATE, 1, 46, "[1].id", "no other message"},
  {"{'id':'a','role':'user','content':''}\n" U "\n{'id':'a','role':'user','content':''}",
   STATUS_DUPLICATE, 3, 7, "id", "no other message"},
  /* bodies */
  {"{'messages':[],'messages':[]}", STATUS_DUPLICATE, 1, 16, "messages", "the messages once"},
  {"{'input':'x','input':[]}", STATUS_DUPLICATE, 1, 14, "input", "the messages once"},
  {"{'messages':{},'messages':[]}", STATUS_SHAPE, 1, 13, "messages", "a list of messages"},
  {"{'messages':5}", STATUS_SHAPE, 1, 13, "messages", "a list of messages"},
  {"{'n':0,'messages':null}", STATUS_SHAPE, 1, 19, "messages", "a list of messages"},
  {"{'model':'m','contents':[{'role':'user','parts':[7]}]}", STATUS_SHAPE, 1, 50, "contents[0].parts[0]", "a part, an"},
  {"{'contents':{'role':'user',\n'parts':[7]},'a':1}", STATUS_SHAPE, 2, 10, "contents.parts[0]", "a part, an object"},
  {"{'contents':{'parts':[{}]},\n'a':1,}", STATUS_SYNTAX, 2, 7, "", "a key"},
  {"{'contents':{'role':'model'}}", STATUS_ROLE, 1, 21, "contents.role", "parts beside the role model"},
  {"{'contents':[{'role':'bot','parts':[]}]}", STATUS_ROLE, 1, 22, "contents[0].role", "a role: system"},
  {"{'model':'m',\n'input':[{'role':'user'}]}", STATUS_SHAPE, 2, 10, "input[0]", "content"},
  {"{'input':[{'type':'function_call','name':'f'}]}", STATUS_SHAPE, 1, 11, "input[0]", "a call_id"},
  {"{'input':'hello','n':[1,]}", STATUS_SYNTAX, 1, 25, "n[1]", "a value"},
  {"{'input':5}", STATUS_SHAPE, 1, 1, "", "a role"},
  {"[{'type':'function_cal','call_id':'c'}]", STATUS_SHAPE, 1, 2, "[0]", "a role"},
  {"{'model':'m'}", STATUS_SHAPE, 1, 1, "", "a role"},
};

static bool is_as_told(const struct Bad *row, const DocumentError *error) {
  return error->status == row->status && error->place.line == row->line && error->place.byte == row->byte &&
         strcmp(error->path, row->path) == 0 && strstr(error->expected, row->expected) != NULL;
}

static void bad_files_are_refused_with_place_and_path(void **state) {
  (void)state;
  int wrong = 0;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    Loaded loaded;
    Status status = load(&loaded, quoted(bad[i].text), strlen(bad[i].text));
    const DocumentError *error = &loaded.error;
    if (status == STATUS_OK) fail_msg("accepted: %s", bad[i].text);
    if (status != bad[i].status || !is_as_told(&bad[i], error)) {
      print_error("%s\n  %s %d:%d [%s] expected %s\n", bad[i].text, status_code(status), (int)error->place.line,
                  (int)error->place.byte, error->path, error->expected);
      wrong++;
    }
    unload(&loaded);
  }
  assert_int_equal(wrong, 0);
}

static void nul_is_text_only_when_escaped(void **state) {
  (void)state;
  static const char raw[] = "[{\"role\":\"user\",\"content\":\"a\0b\"}]";
  static const char escaped[] = "[{\"role\":\"user\",\"content\":\"\\u0000\"}]";
  Loaded loaded;
  assert_int_equal(load(&loaded, raw, sizeof raw - 1), STATUS_SYNTAX);
  assert_int_equal(loaded.error.place.byte, 29);
  unload(&loaded);
  assert_int_equal(load(&loaded, "[]\0", 3), STATUS_SYNTAX);
  assert_string_equal(loaded.error.expected, "end of input");
  unload(&loaded);
  assert_int_equal(load(&loaded, quoted(U "\n"), strlen(U) + 2), STATUS_SYNTAX);
  assert_int_equal(loaded.error.place.line, 2);
  unload(&loaded);
  must_load(&loaded, "escaped", escaped, sizeof escaped - 1);
  assert_written(&loaded, "escaped", escaped, sizeof escaped - 1);
  unload(&loaded);
}

static void caps_are_for_messages_arrays_and_bodies(void **state) {
  (void)state;
  static const struct { const char *text; size_t message, file; Status status; uint64_t line, byte; } cases[] = {
    {"[" U "]", 29, 31, STATUS_OK, 0, 0},
    {"[" U "]", 29, 30, STATUS_LIMIT, 1, 1},
    {"\xef\xbb\xbf\n[" U "]", 29, 34, STATUS_LIMIT, 1, 1},
    {"[\n" U "]", 28, 99, STATUS_LIMIT, 2, 1},
    {"{'messages':[" U "]}", 29, 43, STATUS_LIMIT, 1, 1},
    {"{'messages':[" U "]}", 29, 44, STATUS_OK, 0, 0},
    {U "\n" U, 29, 10, STATUS_OK, 0, 0},   /* lines have no cap */
    {U "\n " U, 28, 10, STATUS_LIMIT, 1, 1},
    {U "\n{'role':'user','content':'xy'}", 29, 10, STATUS_LIMIT, 2, 1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Loaded loaded;
    DocumentLimits limits = {.message_bytes_max = cases[i].message, .file_bytes_max = cases[i].file};
    Status status = load_within(&loaded, limits, quoted(cases[i].text), strlen(cases[i].text), 0);
    if (status != cases[i].status) fail_msg("case %zu: %s", i, status_code(status));
    if (status != STATUS_OK) {
      assert_int_equal(loaded.error.place.line, cases[i].line);
      assert_int_equal(loaded.error.place.byte, cases[i].byte);
      assert_non_null(strstr(loaded.error.expected, "within the cap"));
    }
    unload(&loaded);
  }
}

/* Array, message and metadata are the first three of the levels. */
static void nesting_ends_at_256_levels(void **state) {
  (void)state;
  for (size_t inner = 253; inner <= 254; inner++) {
    char text[2000] = "[{\"role\":\"user\",\"content\":\"x\",\"metadata\":{\"a\":";
    for (size_t i = 0; i < inner; i++) strcat(text, "[");
    for (size_t i = 0; i < inner; i++) strcat(text, "]");
    strcat(text, "}}]");
    Loaded loaded;
    assert_int_equal(load(&loaded, text, strlen(text)), inner == 253 ? STATUS_OK : STATUS_LIMIT);
    if (inner == 254) {
      assert_string_equal(loaded.error.expected, "at most 256 levels");
      assert_memory_equal(loaded.error.path, "[0].metadata.a[0][0]", 20);
      assert_true(strlen(loaded.error.path) < sizeof loaded.error.path);
    }
    unload(&loaded);
  }
}

static void unknown_parts_are_warned_about_once_each(void **state) {
  (void)state;
  const char *text = quoted(
    "\n{'role':'user','content':[{'type':'odd'},{'type':'text','text':'x'},{'type':'even'}]}\n"
    "{'role':'user','content':[{'type':'even'},{'type':'\\u006fdd'},\n"
    "  {'type':'tool_result','tool_use_id':'t','content':[{'type':'deep'}]}]}\n");
  static const struct { const char *kind; uint64_t line, byte; } wanted[] = {
    {"odd", 2, 27}, {"even", 2, 69}, {"deep", 4, 54},
  };
  Loaded loaded;
  must_load(&loaded, "unknown parts", text, strlen(text));
  assert_int_equal(loaded.warnings.count, 3);
  for (uint32_t i = 0; i < 3; i++) {
    const DocumentWarning *warning = &loaded.warnings.list[i];
    assert_true(text_equal(warning->kind, text_of(wanted[i].kind)));
    assert_int_equal(warning->place.line, wanted[i].line);
    assert_int_equal(warning->place.byte, wanted[i].byte);
  }
  assert_written(&loaded, "unknown parts", text, strlen(text));
  unload(&loaded);
}

static void a_path_ends_before_what_has_no_room(void **state) {
  (void)state;
  char out[12];
  const char *text = "{\"a\":{\"a long key that has no room\":{\"b\":[0, 1]}}}";
  source_path(text, strlen(text), (size_t)(strchr(text, '1') - text), false, out, sizeof out);
  assert_string_equal(out, "a");
  text = "{\"a\":[[], {\"b\":[0, 1]}]}";
  source_path(text, strlen(text), (size_t)(strchr(text, '1') - text), false, out, sizeof out);
  assert_string_equal(out, "a[1].b[1]");
  text = "{\"a\":[1, 2 ]}";
  source_path(text, strlen(text), (size_t)(strchr(text, ']') - text), false, out, sizeof out);
  assert_string_equal(out, "a");
}

static void a_path_ends_where_the_file_cannot_be_read(void **state) {
  (void)state;
  char out[40];
  const char *text = "{\"a\":[1,{\"b\":[tru]},3]}";
  source_path(text, strlen(text), (size_t)(strchr(text, '3') - text), false, out, sizeof out);
  assert_string_equal(out, "a[1].b[0]");
  text = "{\"a\":[\"\xff\",{\"\xff\":{\"c\":3}}]}";
  source_path(text, strlen(text), (size_t)(strchr(text, '3') - text), false, out, sizeof out);
  assert_string_equal(out, "a[0]");
  source_path(text, strlen(text), (size_t)(strchr(text, '3') - text), true, out, sizeof out);
  assert_string_equal(out, "a[1]");      /* an invalid key is not a step */
  char deep[300];
  memset(deep, '[', sizeof deep);
  source_path(deep, sizeof deep, 299, false, out, 10);
  assert_string_equal(out, "[0][0][0]");
}

static void what_is_over_the_file_cap_says_so(void **state) {
  (void)state;
  DocumentError error = document_over_cap();
  assert_int_equal(error.status, STATUS_LIMIT);
  assert_true(error.place.line == 1 && error.place.byte == 1 && error.path[0] == '\0');
  assert_non_null(strstr(error.expected, "a file within the cap"));
}

static void fail_in_turn(const char *text) {
  for (size_t at = 1;; at++) {
    Loaded loaded;
    Status status = load_within(&loaded, USUAL, text, strlen(text), at);
    if (status != STATUS_OK) {
      assert_int_equal(status, STATUS_MEMORY);
      assert_int_equal(loaded.error.status, STATUS_MEMORY);
      assert_true(loaded.error.place.line == 1 && loaded.error.place.byte <= strlen(text) + 1);      /* in the file */
    }
    unload(&loaded);
    if (status != STATUS_OK) continue;
    assert_true(at > 5);
    break;
  }
}

static void without_memory_nothing_is_left(void **state) {
  (void)state;
  fail_in_turn(quoted(
    "{'tools':[{}],'messages':[{'role':'user','content':[{'type':'odd'}],'id':'a'},"
    "{'role':'assistant','tool_calls':[{'id':'c','function':{'name':'f'}}]},"
    "{'role':'tool','tool_call_id':'c','content':''}]}"));
  fail_in_turn(quoted("{'model':'m','input':'a text in place of a list'}"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(bad_files_are_refused_with_place_and_path),
    cmocka_unit_test(nul_is_text_only_when_escaped),
    cmocka_unit_test(caps_are_for_messages_arrays_and_bodies),
    cmocka_unit_test(nesting_ends_at_256_levels),
    cmocka_unit_test(unknown_parts_are_warned_about_once_each),
    cmocka_unit_test(a_path_ends_before_what_has_no_room),
    cmocka_unit_test(a_path_ends_where_the_file_cannot_be_read),
    cmocka_unit_test(what_is_over_the_file_cap_says_so),
    cmocka_unit_test(without_memory_nothing_is_left),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
