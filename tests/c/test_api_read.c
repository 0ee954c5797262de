/*
** Reading: many messages in one call, their fields, and reading from callbacks.
*/
#include "api_kit.h"

static const char RICH[] =
    "[{\"role\":\"user\",\"id\":\"m\\u0031\",\"name\":\"Ann \\\"A\\\"\",\"content\":\"a\\nb\",\"timestamp\":1700000000123},"
    "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c\\\"1\",\"type\":\"function\",\"function\":"
    "{\"name\":\"look\",\"arguments\":\"{\\\"at\\\":\\\"sky\\\"}\"}},{\"id\":\"c2\",\"type\":\"function\",\"function\":"
    "{\"name\":\"wait\",\"arguments\":\"\"}}]},"
    "{\"role\":\"tool\",\"tool_call_id\":\"c\\\"1\",\"content\":\"blue\"},"
    "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"one\"},{\"type\":\"tool_use\",\"id\":\"u\","
    "\"name\":\"go\",\"input\":{\"far\":true}}]}]";

static void fields_of_messages_are_read(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_message read[8] = {{.size = sizeof *read}};
  uint32_t count = 0;
  host_open(&host, &runtime);
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  must(append(chat, RICH));
  must(ebb_chat_mark(chat, 0, "pinned"));
  must(ebb_chat_mark(chat, 2, "other"));
  must(ebb_chat_mark(chat, 0, "a \"b\""));
  must(ebb_chat_messages(chat, 0, 8, read, &count));
  assert_int_equal(count, 4);
  assert_string_equal(read[0].id.bytes, "m1");
  assert_string_equal(read[0].name.bytes, "Ann \"A\"");
  assert_string_equal(read[0].text.bytes, "a\nb");
  assert_string_equal(read[0].marks.bytes, "[\"pinned\",\"a \\\"b\\\"\"]");
  assert_string_equal(read[0].calls.bytes, "[]");
  assert_true(read[0].has_timestamp && read[0].timestamp == 1700000000123);
  assert_string_equal(read[1].calls.bytes,
                      "[{\"id\":\"c\\\"1\",\"name\":\"look\",\"arguments\":\"{\\\"at\\\":\\\"sky\\\"}\"},"
                      "{\"id\":\"c2\",\"name\":\"wait\",\"arguments\":\"\"}]");
  assert_true(read[1].id.size == 0 && read[1].id.bytes[0] == '\0' && read[1].name.size == 0);
  assert_string_equal(read[2].marks.bytes, "[\"other\"]");
  assert_string_equal(read[2].role, "tool");
  assert_string_equal(read[3].calls.bytes, "[{\"id\":\"u\",\"name\":\"go\",\"arguments\":\"{\\\"far\\\":true}\"}]");
  for (uint32_t i = 0; i < count; i++) {
    ebb_message one = {.size = sizeof one};
    char json[600];
    assert_int_equal(read[i].seq, i + 1);
    assert_int_equal(read[i].origin, i + 1);
    snprintf(json, sizeof json, "%s", read[i].json.bytes);
    must(ebb_chat_message(chat, i, &one));         /* takes the texts of all */
    assert_string_equal(one.json.bytes, json);
    must(ebb_chat_messages(chat, 0, 8, read, &count));
  }
  static const char source[] = "local chat = ... chat:replace(1, { role = 'user', content = 'new' })";
  ebb_task *task;
  must(ebb_task_script(chat, "s", source, sizeof source - 1, NULL, 0, &task));
  must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
  must(ebb_chat_message(chat, 0, read));
  assert_true(read[0].seq == 5 && read[0].origin == 1);
  assert_string_equal(read[0].marks.bytes, "[\"pinned\",\"a \\\"b\\\"\"]");
  host_close(&host, runtime);
}

static void ranges_are_held(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_message read[3] = {{.size = sizeof *read}};
  uint32_t count = 77;
  host_open(&host, &runtime);
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  must(ebb_chat_messages(chat, 0, 3, read, &count));
  assert_int_equal(count, 0);
  must(append(chat, RICH));
  must(ebb_chat_messages(chat, 3, 3, read, &count));
  assert_int_equal(count, 1);
  assert_int_equal(read[0].seq, 4);
  must(ebb_chat_messages(chat, 1, 2, read, &count));
  assert_int_equal(count, 2);
  assert_int_equal(read[1].seq, 3);
  must(ebb_chat_messages(chat, 4, 3, read, &count));
  assert_int_equal(count, 0);
  must(ebb_chat_messages(chat, 0, 0, NULL, &count));
  count = 77;
  refused(ebb_chat_messages(chat, 5, 3, read, &count), EBB_OUT_OF_RANGE, "message 5: the chat has 4");
  read[0].size = 0;
  refused(ebb_chat_messages(chat, 0, 3, read, &count), EBB_UNKNOWN_VERSION, "ebb_message.size");
  assert_int_equal(count, 77);
  assert_int_equal(ebb_chat_messages(chat, 0, 1, NULL, &count), EBB_ARGUMENT);
  assert_int_equal(ebb_chat_messages(NULL, 0, 1, read, &count), EBB_ARGUMENT);

  _Alignas(ebb_message) char small[3 * 72];  /* of a host with the first header: they lie as far apart as it says */
  size_t first_size = 72;
  memcpy(small, &first_size, sizeof first_size);
  must(ebb_chat_messages(chat, 0, 3, (ebb_message *)(void *)small, &count));
  for (int i = 0; i < 3; i++) {
    uint32_t seq;
    size_t size;
    memcpy(&size, small + 72 * i, sizeof size);
    memcpy(&seq, small + 72 * i + sizeof size, sizeof seq);
    assert_true(size == 72 && seq == (uint32_t)i + 1);
  }
  host_close(&host, runtime);
}

/* ---- from callbacks ---- */

typedef struct Callbacks {
  ebb_chat *chat, *other;
  ebb_runtime *runtime;
  char seen[400];
  ebb_status write;
  bool in_allocate;
  ebb_status in_allocate_status;
} Callbacks;

/* What each of the chats said last. */
static ebb_status last_words(void *user, const char *arguments, size_t size, ebb_sink *result) {
  Callbacks *callbacks = user;
  ebb_message message = {.size = sizeof message};
  ebb_text json;
  (void)arguments, (void)size;
  ebb_status status = ebb_chat_message(callbacks->other, ebb_chat_count(callbacks->other) - 1, &message);
  if (status != EBB_OK) return status;
  snprintf(callbacks->seen, sizeof callbacks->seen, "%s|", message.text.bytes);
  if (ebb_chat_json(callbacks->chat, &json) != EBB_OK) return EBB_IO;
  strncat(callbacks->seen, json.bytes, 200);
  if (ebb_chat_batches(callbacks->other, &json) != EBB_OK || json.size == 0) return EBB_IO;
  callbacks->write = append(callbacks->other, "{\"role\":\"user\",\"content\":\"no\"}");
  if (ebb_chat_message(callbacks->other, 99, &message) != EBB_OUT_OF_RANGE) return EBB_IO;
  return ebb_sink_add(result, "\"heard\"", 7);
}

static void callbacks_read_chats(void **state) {
  (void)state;
  Host host;
  Callbacks callbacks = {0};
  ebb_text report;
  host_open(&host, &callbacks.runtime);
  ebb_runtime *runtime = callbacks.runtime;
  must(ebb_chat_new(runtime, NULL, 0, &callbacks.chat));
  must(ebb_chat_new(runtime, NULL, 0, &callbacks.other));
  must(append(callbacks.chat, "{\"role\":\"user\",\"content\":\"a\"}"));
  must(append(callbacks.other, "{\"role\":\"user\",\"content\":\"the mill burns\"}"));
  must(ebb_register(runtime, "callbacks.last", last_words, &callbacks, 0));
  must(load_policy(runtime, "asks",
                   "return function(draft) draft:insert(1, { role = 'user', content = callbacks.last() }) end"));
  must(trim(callbacks.chat, "asks", "{\"budget\":100}", &report));
  assert_string_equal(callbacks.seen, "the mill burns|[\n{\"role\":\"user\",\"content\":\"a\"}\n]\n");
  assert_int_equal(callbacks.write, EBB_BUSY);
  assert_non_null(strstr(report.bytes, "\"inserted\":1"));    /* what was read meanwhile has not touched it */
  assert_int_equal(ebb_chat_count(callbacks.chat), 2);
  assert_int_equal(ebb_chat_count(callbacks.other), 1);
  must(append(callbacks.other, "{\"role\":\"user\",\"content\":\"yes\"}"));     /* the runtime is free again */
  host_close(&host, runtime);
}

static Callbacks *watched;

static void *allocate_that_reads(void *user, void *block, size_t old_size, size_t new_size) {
  (void)user, (void)old_size;
  if (watched != NULL && watched->in_allocate) {
    ebb_message message = {.size = sizeof message};
    watched->in_allocate_status = ebb_chat_message(watched->chat, 0, &message);
  }
  if (new_size > 0) return realloc(block, new_size);
  free(block);
  return NULL;
}

/* In the middle of an edit a chat may be half changed. */
static void the_allocator_reads_nothing(void **state) {
  (void)state;
  Callbacks callbacks = {0};
  ebb_config config = {.size = sizeof config, .allocate = allocate_that_reads};
  assert_int_equal(ebb_runtime_new(&config, &callbacks.runtime), EBB_OK);
  ebb_runtime *runtime = callbacks.runtime;
  must(ebb_chat_new(runtime, NULL, 0, &callbacks.chat));
  watched = &callbacks;
  callbacks.in_allocate = true;
  must(append(callbacks.chat, "{\"role\":\"user\",\"content\":\"a\"}"));
  callbacks.in_allocate = false;
  assert_int_equal(callbacks.in_allocate_status, EBB_BUSY);
  watched = NULL;
  ebb_runtime_free(runtime);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(fields_of_messages_are_read), cmocka_unit_test(ranges_are_held),
    cmocka_unit_test(callbacks_read_chats), cmocka_unit_test(the_allocator_reads_nothing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
