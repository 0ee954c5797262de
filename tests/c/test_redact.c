/*
** Forgetting: what is gone, what stays, and that the message has its size and is
** JSON still. Tables write ' for ".
*/
#include "check.h"

#include <string.h>

#include "document/redact.h"
#include "json/json.h"

static const struct Row {
  const char *shows, *raw, *wanted;
} rows[] = {
  {"a text longer than the words", "{'role':'user','content':'my key is sk-1'}",
   "{'role':'user','content':'[forgotten]   '}"},
  {"one as long as the words", "{'content':'hello world'}", "{'content':'[forgotten]'}"},
  {"a shorter one", "{'content':'abc'}", "{'content':'-  '}"},
  {"none at all", "{'role':'user','content':''}", "{'role':'user','content':''}"},
  {"escapes, by their bytes", "{'content':'\\u00e9\\ud83d\\ude00'}", "{'content':'[forgotten]       '}"},
  {"numbers keep their form", "{'a':-12.50e+07,'b':0,'c':9}", "{'a':-11.11e+11,'b':1,'c':1}"},
  {"true, false and null say nothing", "{'a':true,'b':[false,null]}", "{'a':true,'b':[false,null]}"},
  {"keys stay", "{'secret':'x'}", "{'secret':'-'}"},
  {"what places a message stays",
   "{'role':'tool','id':'m','name':'f','tool_call_id':'c','timestamp':5,'content':'x'}",
   "{'role':'tool','id':'m','name':'f','tool_call_id':'c','timestamp':5,'content':'-'}"},
  {"a call keeps its name, its arguments are JSON",
   "{'tool_calls':[{'id':'c','type':'function','function':{'name':'f','arguments':'{\\'a\\':1}'}}]}",
   "{'tool_calls':[{'id':'c','type':'function','function':{'name':'f','arguments':'{}       '}}]}"},
  {"arguments that are no string lose their keys", "{'arguments':{'key':'abc','n':[7]}}",
   "{'arguments':{                   }}"},
  {"metadata loses its keys, also those that parts keep", "{'metadata':{'name':'x','id':7}}",
   "{'metadata':{                 }}"},
  {"the name of an author", "{'role':'user','name':'Ada Example','content':'x'}",
   "{'role':'user','name':'forgotten__','content':'-'}"},
  {"a short name of an author, before its role", "{'name':'Ada','role':'user'}", "{'name':'___','role':'user'}"},
  {"parts keep their types", "{'content':[{'type':'text','text':'abcdefghijklm'},{'type':'tool_result','tool_use_id':'t'}]}",
   "{'content':[{'type':'text','text':'[forgotten]  '},{'type':'tool_result','tool_use_id':'t'}]}"},
  {"a key that is kept, spelled with escapes", "{'r\\u006fle':'user'}", "{'r\\u006fle':'user'}"},
  {"space around values", "{ 'a' :\n[ 'xy' , 42 ] }", "{ 'a' :\n[ '- ' , 11 ] }"},
  {"nothing", "{}", "{}"},
};

/* ' becomes ", and \' an escaped quote. */
static size_t unquoted(const char *text, char *out) {
  size_t size = strlen(text);
  for (size_t i = 0; i <= size; i++) out[i] = text[i] == '\'' ? '"' : text[i];
  return size;
}

static void what_is_said_goes_and_places_stay(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char raw[300], wanted[300];
    size_t size = unquoted(rows[i].raw, raw);
    Json json;
    JsonValue value;
    assert_int_equal(unquoted(rows[i].wanted, wanted), size);
    redact_message(raw, size);
    if (memcmp(raw, wanted, size) != 0) fail_msg("%s: %.*s", rows[i].shows, (int)size, raw);
    json_open(&json, raw, size);
    assert_true(json_value(&json, &value) && json_end(&json));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_said_goes_and_places_stay)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
