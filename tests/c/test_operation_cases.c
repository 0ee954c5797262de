/*
** Operations case by case: links where the list is not the store's order, what
** batches say of themselves, the tool description, and every operation with each
** of its allocations failing in turn.
*/
#define _GNU_SOURCE /* open_memstream */
#include "conversation_kit.h"

#include "document/document.h"

static void a_second_result_after_a_rollback_answers_the_same_call(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "u a(x) a(x)");
  assert_int_equal(operation_truncate(chat, &(Truncate){.has_keep_last = true, .keep_last = 9}), STATUS_OK);
  assert_int_equal(put(chat, WORDS_APPEND, 0, "t(x)"), STATUS_OK);
  assert_int_equal(operation_rollback(chat, 0, false, 0), STATUS_OK);
  assert_int_equal(put(chat, WORDS_APPEND, 0, "t5(x) t6(x) t7(x)"), STATUS_OK);
  assert_link(chat, 4, 0, 3, 0);
  assert_link(chat, 5, 0, 3, 0);
  assert_link(chat, 6, 0, 2, 0);
  assert_link(chat, 7, 0, 0, 0);
  conversation_check(chat);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
}

static void an_inserted_call_is_nearest_where_it_stands(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "u a(x)");
  assert_int_equal(put(chat, WORDS_INSERT, 0, "a(x)"), STATUS_OK);        /* the list: 3 1 2 */
  assert_int_equal(put(chat, WORDS_APPEND, 0, "t(x)"), STATUS_OK);
  assert_link(chat, 4, 0, 2, 0);
  assert_int_equal(put(chat, WORDS_INSERT, 3, "U(xx)"), STATUS_OK);       /* 2 is answered behind it */
  assert_link(chat, 5, 0, 3, 0);
  assert_link(chat, 5, 1, 0, 0);
  conversation_check(chat);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
}

/* Each inserted between the last two, until no rank is left between them: all
   goes on as before, only by walking. */
static void a_list_without_ranks_still_works(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "a(x) u t(x)");
  for (uint32_t i = 0; sequence_is_ranked(conversation_list(chat)); i++) {
    assert_true(i < 100);
    assert_int_equal(put(chat, WORDS_INSERT, 1 + (i + 1) / 2, "u"), STATUS_OK);
  }
  const Sequence *list = conversation_list(chat);
  uint32_t count = sequence_count(list);
  for (uint32_t i = 0; i < count; i++) assert_int_equal(sequence_index_of(list, sequence_at(list, i), UINT32_MAX), i);
  assert_int_equal(sequence_index_of_origin(list, 3), count - 1);
  assert_int_equal(put(chat, WORDS_APPEND, 0, "t(x)"), STATUS_OK);
  assert_link(chat, store_count(conversation_store(chat)), 0, 0, 0);     /* 1 is answered, far behind */
  conversation_check(chat);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
}

/* A hundred million tokens a letter; refuses what is empty. */
static Status count_much(void *user, MessageId id, uint32_t *tokens) {
  Conversation **chat = user;
  size_t size = message_content(conversation_message(*chat, id)).size;
  *tokens = (uint32_t)size * 100000000u;
  return size == 0 ? STATUS_HOST : STATUS_OK;
}

static void what_cannot_be_counted_leaves_no_trace(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat;
  ConversationConfig config = {.memory = fail_memory(&fail), .clock = {.now_ms = no_time},
                               .counter = {.custom = count_much, .user = &chat, .per_request = 3}};
  assert_int_equal(conversation_new(&config, &chat), STATUS_OK);
  for (int i = 0; i < 21; i++) assert_int_equal(put(chat, WORDS_APPEND, 0, "u2"), STATUS_OK);
  assert_int_equal(put(chat, WORDS_APPEND, 0, "a1(x)"), STATUS_OK);
  assert_true(conversation_tokens(chat) == UINT64_C(4300000000));         /* a rule of one's own has no framing */
  char *before = snapshot(chat, true);
  assert_int_equal(put(chat, WORDS_APPEND, 0, "a1 u1"), STATUS_LIMIT);
  assert_int_equal(put(chat, WORDS_INSERT, 0, "s1 u1 t1(x)"), STATUS_LIMIT);
  assert_int_equal(put(chat, WORDS_REPLACE, 21, "u1"), STATUS_LIMIT);
  assert_int_equal(put(chat, WORDS_REPLACE, 21, "a3(x)"), STATUS_LIMIT);
  assert_int_equal(put(chat, WORDS_APPEND, 0, "t1(x) u"), STATUS_HOST);
  assert_int_equal(put(chat, WORDS_INSERT, 2, "t1(x) u"), STATUS_HOST);
  assert_int_equal(put(chat, WORDS_REPLACE, 1, "a(x)"), STATUS_HOST);
  assert_snapshot(chat, true, before);
  free(before);
  conversation_check(chat);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
}

static void describe(Conversation *chat, const char *expected) {
  BatchInfo info = history_batch(conversation_history(chat), history_current(conversation_history(chat)));
  assert_true(text_equal(info.description, text_of(expected)));
  assert_int_equal(info.timestamp, 1000);
}

static void batches_say_what_was_asked(void **state) {
  (void)state;
  Fail fail = {0};
  uint32_t batch, length;
  Conversation *chat = chat_of(&fail, "s u a u a");
  describe(chat, "");
  assert_int_equal(history_name(conversation_history(chat), text_of("start")), STATUS_OK);
  put(chat, WORDS_INSERT, 1, "u a");
  describe(chat, "insert 2 at 1");
  put(chat, WORDS_REPLACE, 6, "a9");
  describe(chat, "replace 6");
  Truncate all = {.has_keep_first = true, .has_keep_last = true, .has_remove_first = true, .has_remove_last = true,
                  .has_range = true, .has_role = true, .keep_others = true, .role = ROLE_ASSISTANT,
                  .keep_first = UINT32_MAX, .keep_last = UINT32_MAX, .remove_first = UINT32_MAX,
                  .remove_last = UINT32_MAX, .start = UINT32_MAX, .end = UINT32_MAX};
  assert_int_equal(operation_truncate(chat, &all), STATUS_OK);
  describe(chat, "truncate within assistant keepFirst 4294967295 keepLast 4294967295 removeFirst 4294967295 "
                 "removeLast 4294967295 range 4294967295 to 4294967295");
  assert_int_equal(visible_count(chat), 4);
  assert_int_equal(operation_clear(chat, true, (Text){0}), STATUS_OK);
  describe(chat, "clear");
  assert_int_equal(operation_clear(chat, false, (Text){0}), STATUS_OK);
  describe(chat, "clear all");
  operation_filter(chat, &(Filter){.roles = 1});
  describe(chat, "filter");
  assert_true(history_find(conversation_history(chat), text_of("start"), &batch, &length) && batch == 0 && length == 5);
  assert_int_equal(operation_rollback(chat, 0, true, 3), STATUS_OK);
  describe(chat, "rollback to batch 0 at 3");
  conversation_check(chat);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
}

#define HEADING "xxx"
#define TOOLS "{\"role\":\"system\",\"content\":\"xxx tools\"}"

static Conversation *chat_with_tools(Fail *fail) {
  static const char raw[] = TOOLS;
  const MessageShape shape = {.role = ROLE_SYSTEM, .role_text = {.at = 9, .size = 6}, .content_kind = CONTENT_STRING,
                              .content = {.at = 28, .size = 9}};
  Conversation *chat = chat_of(fail, "s2 u4 a(xy) t3(x) t3(y) s2 a4 u4 a4(z)");
  assert_int_equal(conversation_set_tools(chat, text_of(HEADING), text_of(raw), &shape), STATUS_OK);
  return chat;
}

static void clear_tells_of_the_tools_unless_they_are_told_of(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_with_tools(&fail);
  assert_int_equal(operation_clear(chat, true, (Text){0}), STATUS_OK);
  assert_int_equal(visible_count(chat), 3);
  assert_true(text_equal(message_raw(conversation_message(chat, visible(chat, 2))), text_of(TOOLS)));
  assert_int_equal(operation_clear(chat, true, (Text){0}), STATUS_OK);      /* it is there */
  assert_int_equal(visible_count(chat), 3);
  assert_int_equal(put(chat, WORDS_REPLACE, 2, "s2"), STATUS_OK);
  assert_int_equal(operation_clear(chat, true, (Text){0}), STATUS_OK);      /* too short for the heading */
  assert_int_equal(visible_count(chat), 4);
  assert_int_equal(operation_clear(chat, false, (Text){0}), STATUS_OK);
  assert_int_equal(visible_count(chat), 1);
  put(chat, WORDS_REPLACE, 0, "u4");
  put(chat, WORDS_APPEND, 0, "s4");                              /* "xxxx" starts with the heading */
  assert_int_equal(operation_clear(chat, true, (Text){0}), STATUS_OK);
  assert_int_equal(visible_count(chat), 1);
  assert_int_equal(operation_filter(chat, &(Filter){.roles = 2}), STATUS_OK);      /* only clear tells */
  assert_int_equal(visible_count(chat), 0);
  conversation_check(chat);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
}

/* ---- without memory ---- */

static Status call_append(Conversation *chat) { return put(chat, WORDS_APPEND, 0, "a300(xyz) t400(x) U9(zyx) u500"); }
static Status call_insert(Conversation *chat) { return put(chat, WORDS_INSERT, 3, "a300(xyz) t400(x) U9(zyx) u500"); }
static Status call_replace(Conversation *chat) { return put(chat, WORDS_REPLACE, 4, "t500(x)"); }
static Status call_replace_plain(Conversation *chat) { return put(chat, WORDS_REPLACE, 1, "u5"); }

static Status call_slice(Conversation *chat) {
  return operation_truncate(chat, &(Truncate){.has_range = true, .start = 2, .end = 7});
}

static Status call_truncate(Conversation *chat) {
  return operation_truncate(chat, &(Truncate){.has_keep_last = true, .keep_last = 1, .has_role = true,
                                              .role = ROLE_TOOL, .keep_others = true, .whole_units = true});
}

static Status call_clear(Conversation *chat) { return operation_clear(chat, true, (Text){0}); }
static Status call_rollback(Conversation *chat) { return operation_rollback(chat, 0, true, 4); }

static Status call_filter(Conversation *chat) {
  const Text needle = text_of("x");
  return operation_filter(chat, &(Filter){.contains = {&needle, 1}, .roles = 6, .whole_units = true});
}

static Status call_mark(Conversation *chat) { return conversation_mark(chat, text_of("new"), 3); }
static Status call_name(Conversation *chat) { return history_name(conversation_history(chat), text_of("here")); }

static Status call_fork(Conversation *chat) {
  Conversation *fork;
  Status status = conversation_fork(chat, &fork);
  if (status != STATUS_OK) return status;
  const Store *store = conversation_store(chat), *forked = conversation_store(fork);
  char *here = snapshot(chat, false);
  assert_snapshot(fork, false, here);
  free(here);
  assert_int_equal(store_count(forked), store_count(store));
  for (MessageId id = 1; id <= store_count(store); id++) {
    assert_ptr_equal(store_message(forked, id), store_message(store, id));
  }
  conversation_check(fork);
  conversation_free(fork);
  return status;
}

static Conversation *chat_with_past(Fail *fail) {
  Conversation *chat = chat_with_tools(fail);
  put(chat, WORDS_INSERT, 2, "a(y)");
  put(chat, WORDS_APPEND, 0, "U(zy) u a(x)");
  put(chat, WORDS_REPLACE, 0, "s6");
  conversation_mark(chat, text_of(MARK_PINNED), 1);
  history_name(conversation_history(chat), text_of("there"));
  return chat;
}

static void without_memory_an_operation_leaves_no_trace(void **state) {
  (void)state;
  static const Sweep sweeps[] = {
    {"append", chat_with_past, call_append},      {"insert", chat_with_past, call_insert},
    {"replace", chat_with_past, call_replace},    {"replace a plain one", chat_with_past, call_replace_plain},
    {"slice", chat_with_past, call_slice},        {"truncate", chat_with_past, call_truncate},
    {"clear", chat_with_past, call_clear},        {"filter", chat_with_past, call_filter},
    {"rollback", chat_with_past, call_rollback},  {"fork", chat_with_past, call_fork},
    {"mark", chat_with_past, call_mark},          {"checkpoint", chat_with_past, call_name},
  };
  for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++) sweep_run(&sweeps[i]);
}

static Status load(Fail *fail, const char *json, size_t *allocations) {
  static const DocumentLimits limits = {.message_bytes_max = MESSAGE_BYTES_MAX, .file_bytes_max = FILE_BYTES_MAX};
  Memory memory = fail_memory(fail);
  DocumentWarnings warnings = {.memory = memory};
  DocumentError error;
  Document document;
  size_t size = strlen(json);
  Conversation *chat = chat_of(fail, "");
  size_t calls = fail->calls, fail_at = *allocations;
  fail->fail_at = 0;
  char *bytes = memory_new(&memory, size);
  memcpy(bytes, json, size);
  fail->fail_at = fail_at == 0 ? 0 : fail->calls + fail_at;
  Status status = document_load(chat, &limits, bytes, size, size, &document, &warnings, &error);
  *allocations = fail->calls - calls;
  fail->fail_at = 0;
  conversation_check(chat);
  conversation_free(chat);
  if (status != STATUS_OK) memory_free(&memory, bytes, size);
  memory_free(&memory, warnings.list, warnings.room * sizeof *warnings.list);
  return status;
}

static void without_memory_a_file_is_not_loaded(void **state) {
  (void)state;
  static const char json[] =
    "{\"model\":\"m\",\"tools\":[{}],\"messages\":[{\"role\":\"user\",\"id\":\"i\",\"content\":[{\"type\":\"odd\"}]},"
    "{\"role\":\"assistant\",\"id\":\"j\",\"content\":\"\",\"tool_calls\":[{\"id\":\"c\",\"type\":\"function\","
    "\"function\":{\"name\":\"n\",\"arguments\":\"{}\"}}]},"
    "{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"r\"}]}";
  size_t k = 0;
  for (int once = 0; once < 2; once++) {
    Status status = STATUS_MEMORY;
    for (k = 1; status != STATUS_OK; k++) {
      Fail fail = {.once = once == 1};
      size_t allocations = k;
      status = load(&fail, json, &allocations);
      if (status != STATUS_OK) assert_int_equal(status, STATUS_MEMORY);
      assert_int_equal(fail.in_use, 0);
    }
  }
  printf("load: %zu allocations failed in turn\n", k - 2);
  assert_true(k > 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_second_result_after_a_rollback_answers_the_same_call),
    cmocka_unit_test(a_list_without_ranks_still_works),
    cmocka_unit_test(an_inserted_call_is_nearest_where_it_stands),
    cmocka_unit_test(what_cannot_be_counted_leaves_no_trace),
    cmocka_unit_test(batches_say_what_was_asked),
    cmocka_unit_test(clear_tells_of_the_tools_unless_they_are_told_of),
    cmocka_unit_test(without_memory_an_operation_leaves_no_trace),
    cmocka_unit_test(without_memory_a_file_is_not_loaded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
