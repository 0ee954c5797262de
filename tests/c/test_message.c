/*
** The texts of a message: which ones there are, and what is found in them.
** Tables write ' for ".
*/
#include "check.h"

#include <string.h>

#include "core/message/store.h"
#include "dialect/read/reader.h"

static const struct Row {
  const char *json, *texts;       /* with | between */
  const char *found, *absent;     /* found: needles with | between */
} rows[] = {
  {"{'role':'user','content':'abc'}", "abc", "|a|abc|bc", "abcd"},
  {"{'role':'user','content':''}", "", "", "a"},
  {"{'role':'user','content':'a\\nb\\u00e9'}", "a\nb\xc3\xa9", "\nb|\xc3\xa9|a\nb\xc3\xa9", "n"},
  {"{'role':'user','content':[{'type':'text','text':'one'},{'type':'image_url','image_url':{'url':'two'}},'three']}",
   "one|three", "one|hre", "two"},
  {"{'role':'assistant','content':[{'type':'thinking','thinking':'secret'},{'type':'text','text':'said'}]}", "said",
   "said", "secret"},
  {"{'role':'assistant','content':null,'tool_calls':[{'id':'c','function':{'name':'f','arguments':'{}'}}]}", "{}", "{}",
   "f"},
  {"{'role':'user','content':[{'type':'tool_result','tool_use_id':'t','content':'here'},"
   "{'type':'tool_result','tool_use_id':'u','content':[{'type':'text','text':'there'}]}]}", "here|there", "here|ther", "t|u"},
  {"{'role':'user','content':[]}", "", "", "a"},
};

static const struct BareRow {
  const char *json;
  bool is_bare;
} bare_rows[] = {
  {"{'role':'user','content':'abc'}", true},          {"{'role':'developer','content':'a\\n'}", true},
  {"{'role':'assistant','content':''}", true},        {"{'role':'tool','content':'abc'}", true},
  {"{'role': 'user','content':'abc'}", false},        {"{'content':'abc','role':'user'}", false},
  {"{'role':'user','content':'abc' }", false},        {"{'role':'us\\u0065r','content':'abc'}", false},
  {"{'role':'user','content':'abc','id':'m'}", false}, {"{'role':'user','content':[]}", false},
  {"{'role':'assistant','content':null,'tool_calls':[{'id':'c','function':{'name':'f','arguments':'{}'}}]}", false},
};

static size_t unquoted(const char *text, char *out) {
  size_t size = strlen(text);
  for (size_t i = 0; i <= size; i++) out[i] = text[i] == '\'' ? '"' : text[i];
  return size;
}

/* Reads a message into `text`, which the store borrows. */
static const Message *read_message(const char *quoted, char text[400], Store **store) {
  Memory memory = memory_system();
  Reader reader;
  Json json;
  Text raw;
  MessageShape shape;
  MessageId id;
  reader_init(&reader, memory);
  json_open(&json, text, unquoted(quoted, text));
  assert_int_equal(store_new(&memory, (HashKey){0}, store), STATUS_OK);
  assert_true(reader_message(&reader, &json, &raw, &shape));
  assert_int_equal(store_add(*store, raw, false, &shape, &id), STATUS_OK);
  reader_free(&reader);
  return store_message(*store, id);
}

static void check_texts(const Message *message, const char *expected) {
  Buffer out;
  Text text;
  buffer_init(&out, memory_system());
  for (uint32_t at = 0, n = 0; message_next_text(message, &at, &text); n++) {
    if (n > 0) assert_int_equal(buffer_add_string(&out, "|"), STATUS_OK);
    assert_int_equal(text_decode(text, &out), STATUS_OK);
  }
  assert_int_equal(out.size, strlen(expected));
  if (out.size > 0) assert_memory_equal(out.bytes, expected, out.size);
  buffer_free(&out);
}

static bool contains(const Message *message, const char *needle, size_t size) {
  Buffer scratch;
  bool found;
  buffer_init(&scratch, memory_system());
  assert_int_equal(message_contains(message, text_plain(needle, size), &scratch, &found), STATUS_OK);
  buffer_free(&scratch);
  return found;
}

static void texts_are_what_is_said(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[400];
    Store *store;
    const Message *message = read_message(rows[i].json, text, &store);
    check_texts(message, rows[i].texts);
    for (const char *at = rows[i].found; rows[i].texts[0] != '\0'; at += strcspn(at, "|") + 1) {
      assert_true(contains(message, at, strcspn(at, "|")));
      if (at[strcspn(at, "|")] == '\0') break;
    }
    assert_false(contains(message, rows[i].absent, strlen(rows[i].absent)));
    store_release(store);
  }
}

static void bare_messages_are_a_role_and_a_text(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof bare_rows / sizeof *bare_rows; i++) {
    char text[400];
    Store *store;
    assert_int_equal(message_is_bare(read_message(bare_rows[i].json, text, &store)), bare_rows[i].is_bare);
    store_release(store);
  }
}

/* Readers find no other bytes around such a text; a host may, which does not say where the role stands. */
static void each_byte_around_role_and_text_is_looked_at(void **state) {
  (void)state;
  static const char bare[] = "{\"role\":\"user\",\"content\":\"abc\"}";
  const MessageShape shape = {.role = ROLE_USER, .content_kind = CONTENT_STRING, .content = {.at = 26, .size = 3}};
  for (size_t at = 0; at < sizeof bare - 1; at++) {
    char text[sizeof bare];
    Memory memory = memory_system();
    Store *store;
    MessageId id;
    memcpy(text, bare, sizeof bare);
    text[at]++;
    assert_int_equal(store_new(&memory, (HashKey){0}, &store), STATUS_OK);
    assert_int_equal(store_add(store, text_plain(text, sizeof bare - 1), false, &shape, &id), STATUS_OK);
    const Message *message = store_message(store, id);
    assert_int_equal(message_is_bare(message), at >= 26);      /* whose length tells of the end */
    store_release(store);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(texts_are_what_is_said),
    cmocka_unit_test(bare_messages_are_a_role_and_a_text),
    cmocka_unit_test(each_byte_around_role_and_text_is_looked_at),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
