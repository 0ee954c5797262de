/*
** Tasks: slices, requests, and how what they did comes back to a chat that has
** gone on meanwhile.
*/

#include "api_kit.h"

static ebb_task *start_script(ebb_runtime *runtime, ebb_chat *chat, const char *source) {
  ebb_task *task;
  must(ebb_task_script(chat, "script", source, strlen(source), "{\"n\":3}", 7, &task));
  return task;
}

static ebb_task *start_trim(ebb_runtime *runtime, ebb_chat *chat, const char *policy, const char *options) {
  ebb_task *task;
  must(ebb_task_trim(chat, policy, options, strlen(options), &task));
  return task;
}

static ebb_event next_event(ebb_runtime *runtime, ebb_event_kind kind) {
  ebb_event event = {.size = sizeof event};
  must(ebb_next_event(runtime, &event));
  if (event.kind != kind) fail_msg("an event of kind %d: %s", (int)event.kind, event.json.bytes);
  return event;
}

static ebb_event must_fail(ebb_runtime *runtime, ebb_status status, const char *says) {
  ebb_event event = next_event(runtime, EBB_EVENT_FAILED);
  if (event.status != status || strstr(event.json.bytes, says) == NULL) {
    fail_msg("%s: %s", ebb_status_name(event.status), event.json.bytes);
  }
  ebb_task_free(event.task);
  return event;
}

static char *text_of_chat(ebb_runtime *runtime, ebb_chat *chat) {
  static char all[8000];
  ebb_message message = {.size = sizeof message};
  all[0] = '\0';
  for (uint32_t i = 0; i < ebb_chat_count(chat); i++) {
    must(ebb_chat_message(chat, i, &message));
    snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i == 0 ? "" : " ", message.text.bytes);
  }
  return all;
}

static void say(ebb_runtime *runtime, ebb_chat *chat, const char *word) {
  char json[100];
  snprintf(json, sizeof json, "{\"role\":\"user\",\"content\":\"%s\"}", word);
  must(append(chat, json));
}

static void a_task_trims_in_slices(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  int slices = 1;
  open_talk(&host, &runtime, &chat, 30);
  must(load_policy(runtime, "slow", "return function(draft, budget) for i = 1, 300000 do local _ = i * i end\n"
                                    "draft:drop_oldest { to = budget } end"));
  ebb_task *task = start_trim(runtime, chat, "slow", "{\"budget\":200}");
  ebb_task_set_user(task, &host);
  while (ebb_step(runtime, EBB_NO_LIMIT, 20000) == EBB_MORE) {
    slices++;
    assert_int_equal(ebb_chat_batch_count(chat), 1);
  }
  assert_true(slices > 20);
  ebb_event event = next_event(runtime, EBB_EVENT_DONE);
  assert_ptr_equal(event.task, task);
  assert_ptr_equal(event.chat, chat);
  assert_ptr_equal(ebb_task_user(event.task), &host);
  assert_non_null(strstr(event.json.bytes, "\"by\":\"slow\""));
  assert_int_equal(ebb_chat_batch(chat), 1);
  assert_true(ebb_chat_tokens(chat) <= 200);
  assert_int_equal(ebb_next_event(runtime, &event), EBB_NONE);
  host_close(&host, runtime);
}

static void what_was_appended_stays_on_top(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  host_open(&host, &runtime);
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  for (char word[2] = "a"; word[0] <= 'f'; word[0]++) say(runtime, chat, word);
  start_script(runtime, chat,
               "local chat, arguments = ... local answer = request { what = 'word' }\n"
               "chat:truncate { keep_last = arguments.n } chat:insert(1, { role = 'user', content = answer })\n"
               "return { count = #chat }");
  assert_int_equal(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT), EBB_OK);
  say(runtime, chat, "g");
  ebb_event event = next_event(runtime, EBB_EVENT_REQUEST);
  assert_string_equal(event.json.bytes, "{\"what\":\"word\"}");
  refused(ebb_answer(event.task, "{", 1), EBB_SYNTAX, "answer");
  must(ebb_answer(event.task, "\"W\"", 3));
  refused(ebb_answer(event.task, "\"W\"", 3), EBB_ARGUMENT, "waits for no answer");
  say(runtime, chat, "h");
  assert_int_equal(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT), EBB_OK);
  event = next_event(runtime, EBB_EVENT_DONE);
  assert_string_equal(event.json.bytes, "{\"count\":4}");
  ebb_task_free(event.task);
  assert_string_equal(text_of_chat(runtime, chat), "W d e f g h");
  assert_int_equal(ebb_chat_batch(chat), 2);
  must(ebb_chat_rollback(chat, 0));
  assert_string_equal(text_of_chat(runtime, chat), "a b c d e f g h");
  host_close(&host, runtime);
}

static void limits_of_a_call_are_left_out_with_a_word(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  open_talk(&host, &runtime, &chat, 30);
  start_script(runtime, chat,
               "local chat = ... chat:trim { budget = 200, limits = {} } chat:trim { budget = 200 }");
  assert_int_equal(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT), EBB_OK);
  ebb_task_free(next_event(runtime, EBB_EVENT_DONE).task);
  assert_string_equal(host.log, "");
  start_script(runtime, chat,
               "local chat = ... for _ = 1, 2 do assert(chat:trim { budget = 150, limits = { fuel = 1 } }) end\n"
               "chat:filter { function() end, limits = { deadline = 1 } }");
  assert_int_equal(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT), EBB_OK);
  ebb_task_free(next_event(runtime, EBB_EVENT_DONE).task);
  assert_string_equal(host.log, "chat:trim: limits: the host's hold here, for all of a script; these are left out\n");
  host_close(&host, runtime);
}

/* Both appended: what the task made of the batch is one batch of its own. */
static void two_that_append_do_not_mix(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  host_open(&host, &runtime);
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  say(runtime, chat, "a");
  start_script(runtime, chat, "local chat = ... chat:append { role = 'assistant', content = 'T' }");
  ebb_task_free(start_script(runtime, chat, "while true do end"));
  say(runtime, chat, "b");
  assert_int_equal(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT), EBB_OK);
  ebb_task_free(next_event(runtime, EBB_EVENT_DONE).task);
  assert_string_equal(text_of_chat(runtime, chat), "a T b");
  must(ebb_chat_rollback(chat, 0));
  assert_string_equal(text_of_chat(runtime, chat), "a b");
  start_script(runtime, chat,
               "local chat = ... chat:append { role = 'assistant', content = 'U' } chat:mark(1, 'seen')");
  assert_int_equal(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT), EBB_OK);
  ebb_task_free(next_event(runtime, EBB_EVENT_DONE).task);
  assert_string_equal(text_of_chat(runtime, chat), "a b U");
  assert_int_equal(ebb_chat_batch(chat), 0);
  ebb_text saved;
  must(ebb_chat_save(chat, &saved));
  assert_non_null(strstr(saved.bytes, "\"seen\":[1]"));
  host_close(&host, runtime);
}

static void any_other_change_is_a_conflict(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  char before[65], after[65];
  open_talk(&host, &runtime, &chat, 9);
  for (int i = 0; i < 3; i++) {
    must(apply(chat, "{\"operation\":\"truncate\",\"removeFirst\":1}"));
    start_trim(runtime, chat, NULL, "{\"budget\":150}");
    if (i == 0) must(apply(chat, "{\"operation\":\"truncate\",\"removeFirst\":1}"));
    if (i == 1) must(ebb_chat_rollback(chat, 0));
    if (i == 2) must(ebb_chat_compact(chat, 1, NULL));
    must(ebb_chat_digest(chat, before));
    assert_int_equal(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT), EBB_OK);
    must_fail(runtime, EBB_CONFLICT, "changed since the task began");
    must(ebb_chat_digest(chat, after));
    assert_string_equal(before, after);
  }
  start_trim(runtime, chat, NULL, "{\"budget\":150}");
  start_trim(runtime, chat, NULL, "{\"budget\":200}");
  assert_int_equal(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT), EBB_OK);
  ebb_task_free(next_event(runtime, EBB_EVENT_DONE).task);
  must_fail(runtime, EBB_CONFLICT, "changed");
  host_close(&host, runtime);
}

static void models_are_asked_and_may_refuse(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  open_talk(&host, &runtime, &chat, 20);
  ebb_task *task = start_trim(runtime, chat, "summarize", "{\"budget\":300}");
  assert_int_equal(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT), EBB_OK);
  ebb_event event = next_event(runtime, EBB_EVENT_REQUEST);
  assert_non_null(strstr(event.json.bytes, "\"type\":\"model\""));
  must(ebb_answer(task, "\"Guests asked for rooms.\"", 25));
  assert_int_equal(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT), EBB_OK);
  ebb_task_free(next_event(runtime, EBB_EVENT_DONE).task);
  assert_non_null(strstr(text_of_chat(runtime, chat), "Guests asked for rooms."));
  must(ebb_chat_rollback(chat, 0));
  task = start_trim(runtime, chat, "[\"summarize\"]", "{\"budget\":300}");
  assert_int_equal(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT), EBB_OK);
  event = next_event(runtime, EBB_EVENT_REQUEST);
  must(ebb_refuse(task, "the line is dead"));
  assert_int_equal(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT), EBB_OK);
  event = (ebb_event){.size = sizeof event};
  must(ebb_next_event(runtime, &event));
  assert_true(event.kind == EBB_EVENT_DONE || strstr(event.json.bytes, "the line is dead") != NULL);
  host_close(&host, runtime);
}

static void a_refusal_has_words(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_event event = {.size = sizeof event};
  host_open(&host, &runtime);
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  const char *source = "local ok, e = pcall(request, 1) return { tostring(e), e.code, e.message }";
  ebb_task *task = start_script(runtime, chat, source);
  must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
  next_event(runtime, EBB_EVENT_REQUEST);
  must(ebb_refuse(task, "not today"));
  must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
  must(ebb_next_event(runtime, &event));
  assert_string_equal(event.json.bytes, "[\"not today\",\"refused\",\"not today\"]");
  host_close(&host, runtime);
}

static void tasks_fail_one_by_one(void **state) {
  (void)state;
  Host host = {.now = 1};
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_config config = host_config(&host);
  config.fuel = 2000000;
  assert_int_equal(ebb_runtime_new(&config, &runtime), EBB_OK);
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  talk(runtime, chat, 3);
  start_script(runtime, chat, "while true do end");
  start_script(runtime, chat, "local chat = ... error { code = 'mine', message = 'so it is' }");
  start_script(runtime, chat, "local chat = ... chat:nothing()");
  start_script(runtime, chat, "local chat = ... chat:save('stolen.json') return chat:save('stolen.json') == nil");
  ebb_task *task = start_script(runtime, chat, "while true do end");
  must(ebb_task_cancel(task));
  assert_int_equal(ebb_task_cancel(task), EBB_ARGUMENT);
  while (ebb_step(runtime, EBB_NO_LIMIT, 100000) == EBB_MORE) continue;
  must_fail(runtime, EBB_CANCELLED, "cancelled");
  must_fail(runtime, EBB_SCRIPT, "\"code\":\"mine\",\"message\":\"so it is\"");
  must_fail(runtime, EBB_UNKNOWN_NAME, "script:1: a Conversation has no field 'nothing'");
  ebb_event event = next_event(runtime, EBB_EVENT_DONE);
  assert_string_equal(event.json.bytes, "true");
  ebb_task_free(event.task);
  must_fail(runtime, EBB_FUEL, "fuel");
  assert_int_equal(ebb_chat_batch_count(chat), 1);
  assert_int_equal(ebb_task_script(chat, "bad", "return (", 8, NULL, 0, &task), EBB_SYNTAX);
  start_script(runtime, chat, "while true do end");
  ebb_chat_free(chat);
  assert_int_equal(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT), EBB_OK);
  host_close(&host, runtime);
}

static void weak_keys_are_refused_in_scripts_and_contents(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  open_talk(&host, &runtime, &chat, 3);
  start_script(runtime, chat, "setmetatable({}, { __mode = 'k' })");
  while (ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT) == EBB_MORE) continue;
  must_fail(runtime, EBB_SCRIPT, "script:1: weak keys (__mode \\\"k\\\") are not available");
  start_script(runtime, chat,
               "local chat = ... local window = chat.windows:open { id = 'w', content = function()"
               " return tostring(setmetatable({}, { __mode = 'k' })) end } return window:markup()");
  while (ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT) == EBB_MORE) continue;
  ebb_event event = next_event(runtime, EBB_EVENT_DONE);
  if (strstr(event.json.bytes, "content failed: script:1: weak keys") == NULL) fail_msg("%s", event.json.bytes);
  ebb_task_free(event.task);
  ebb_chat_free(chat);
  host_close(&host, runtime);
}

static ebb_status tick(void *user, const char *arguments, size_t size, ebb_sink *result) {
  (void)arguments, (void)size, (void)result;
  ++*(int *)user;
  return EBB_OK;
}

/* Three that never end, and talk that comes and goes: each step gives each the same,
   and a short task all that it needs. */
static void tasks_get_equal_shares(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  char text[60];
  int counts[3] = {0};
  host_open(&host, &runtime);
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  for (int i = 0; i < 3; i++) {
    snprintf(text, sizeof text, "tick%d", i);
    must(ebb_register(runtime, text, tick, &counts[i], 100));
    snprintf(text, sizeof text, "while true do tick%d() end", i);
    start_script(runtime, chat, text);
  }
  for (int step = 1; step <= 40; step++) {
    if (step % 4 == 0) start_script(runtime, chat, "for i = 1, 500 do local _ = i end");
    int before[3] = {counts[0], counts[1], counts[2]};
    assert_int_equal(ebb_step(runtime, EBB_NO_LIMIT, 60000), EBB_MORE);
    for (int i = 0; i < 3; i++) assert_in_range(counts[i] - before[i], 60, 170);
    if (step % 4 == 0) ebb_task_free(next_event(runtime, EBB_EVENT_DONE).task);
  }
  for (int i = 1; i < 3; i++) assert_in_range(counts[i], counts[0] - counts[0] / 20, counts[0] + counts[0] / 20);
  host_close(&host, runtime);
}

/* Fifty tasks share a step's time; one that never ends does not keep the others from theirs. */
static void a_step_keeps_its_time(void **state) {
  (void)state;
  ebb_runtime *runtime;
  ebb_chat *chats[50];
  ebb_config config = {.size = sizeof config, .deadline_us = 600000000};   /* none ends by it */
  assert_int_equal(ebb_runtime_new(&config, &runtime), EBB_OK);
  for (int i = 0; i < 50; i++) {
    must(ebb_chat_new(runtime, NULL, 0, &chats[i]));
    talk(runtime, chats[i], 5);
    if (i == 0) start_script(runtime, chats[i], "while true do end");
    else start_trim(runtime, chats[i], NULL, "{\"budget\":120}");
  }
  int done = 0;
  for (int frame = 0; frame < 100000 && done < 49; frame++) {
    ebb_event event = {.size = sizeof event};
    assert_int_equal(ebb_step(runtime, 1000, EBB_NO_LIMIT), EBB_MORE);
    while (ebb_next_event(runtime, &event) == EBB_OK) {
      assert_int_equal(event.kind, EBB_EVENT_DONE);
      ebb_task_free(event.task);
      done++;
    }
  }
  assert_int_equal(done, 49);
  ebb_runtime_free(runtime);
}

/* What each policy would have sent; the chat is not changed, nor do its edits conflict. */
static void a_recording_is_played_under_policies(void **state) {
  (void)state;
  static const char options[] = "{\"budget\":120,\"policies\":[\"keep_recent\",{\"name\":\"mine\",\"keep\":2},"
                                "[\"clear_tool_uses\",\"mine\"]]}";
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_task *task;
  char before[65], after[65];
  int slices = 1;
  open_talk(&host, &runtime, &chat, 5);
  must(load_policy(runtime, "mine", "return { options = { keep = { type = 'integer', default = 1 } },\n"
                                    "trim = function(draft, budget) draft:drop_oldest { to = budget } end }"));
  must(ebb_chat_digest(chat, before));
  must(ebb_task_replay(chat, options, sizeof options - 1, &task));
  while (ebb_step(runtime, EBB_NO_LIMIT, 5000) == EBB_MORE) slices++;
  assert_true(slices > 3);
  ebb_event event = next_event(runtime, EBB_EVENT_DONE);
  static const char *const says[] = {"\"policy\":\"keep_recent\"", "\"policy\":\"mine", "\"requests\":10",
                                     "\"refusals\":0", "\"unitsDropped\":", "\"messagesDropped\":", "\"share\":0.",
                                     "\"policy\":\"none\"", "\"arguments\":{\"labelled\":0,\"present\":0,\"total\":0}"};
  for (size_t i = 0; i < sizeof says / sizeof *says; i++) {
    if (strstr(event.json.bytes, says[i]) == NULL) fail_msg("%s: %s", says[i], event.json.bytes);
  }
  assert_int_equal(event.json.bytes[0], '[');
  must(ebb_chat_digest(chat, after));
  assert_string_equal(before, after);
  ebb_task_free(task);

  must(ebb_task_replay(chat, "{\"budget\":10}", 13, &task));
  must(apply(chat, "{\"operation\":\"truncate\",\"keepLast\":3}"));
  must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
  event = next_event(runtime, EBB_EVENT_DONE);
  assert_non_null(strstr(event.json.bytes, "\"firstRefusal\":\""));
  ebb_task_free(task);
  must(ebb_task_replay(chat, NULL, 0, &task));
  must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
  must_fail(runtime, EBB_ARGUMENT, "replay needs a budget");
  refused(ebb_task_replay(chat, "{\"policies\":[]}", 15, &task), EBB_ARGUMENT, "list of policies");
  refused(ebb_task_replay(chat, "{\"policies\":[\"min\"]}", 20, &task), EBB_UNKNOWN_NAME, "min");
  refused(ebb_task_replay(chat, "{\"limits\":1}", 12, &task), EBB_UNKNOWN_NAME, "limits");
  refused(ebb_task_replay(chat, "x", 1, &task), EBB_SYNTAX, "options");
  assert_int_equal(ebb_task_replay(NULL, NULL, 0, &task), EBB_ARGUMENT);
  host_close(&host, runtime);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_recording_is_played_under_policies),
    cmocka_unit_test(a_task_trims_in_slices),
    cmocka_unit_test(limits_of_a_call_are_left_out_with_a_word), cmocka_unit_test(what_was_appended_stays_on_top),
    cmocka_unit_test(two_that_append_do_not_mix), cmocka_unit_test(any_other_change_is_a_conflict),
    cmocka_unit_test(models_are_asked_and_may_refuse), cmocka_unit_test(a_refusal_has_words),
    cmocka_unit_test(tasks_fail_one_by_one),
    cmocka_unit_test(weak_keys_are_refused_in_scripts_and_contents),
    cmocka_unit_test(tasks_get_equal_shares), cmocka_unit_test(a_step_keeps_its_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
