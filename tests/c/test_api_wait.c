/*
** What tasks wait for and how they are ended: timers, limits of their own, the stop
** from another thread; and what hosts ask of chats and tasks.
*/
#include "api_kit.h"

static ebb_runtime *open_fixture(Fixture *fixture) {
  host_open(&fixture->host, &fixture->runtime);
  ebb_runtime *runtime = fixture->runtime;
  fixture->host.still = true;
  fixture->host.now = 1000;
  must(ebb_chat_new(runtime, NULL, 0, &fixture->chat));
  return runtime;
}

static ebb_task *start(ebb_runtime *runtime, ebb_chat *chat, const char *source) {
  ebb_task *task;
  must(ebb_task_script(chat, "script", source, strlen(source), NULL, 0, &task));
  return task;
}

static void step(ebb_runtime *runtime) { must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT)); }

static ebb_event next_event(ebb_runtime *runtime, ebb_event_kind kind) {
  ebb_event event = {.size = sizeof event};
  must(ebb_next_event(runtime, &event));
  if (event.kind != kind) fail_msg("an event of kind %d: %s", (int)event.kind, event.json.bytes);
  return event;
}

static void nothing_happened(ebb_runtime *runtime) {
  ebb_event event = {.size = sizeof event};
  assert_int_equal(ebb_next_event(runtime, &event), EBB_NONE);
}

/* ---- timers ---- */

static void timers_wake_by_the_hosts_clock(void **state) {
  (void)state;
  Fixture fixture;
  ebb_runtime *runtime = open_fixture(&fixture);
  int64_t at = 77;
  assert_int_equal(ebb_next_timer(runtime, &at), EBB_NONE);
  assert_int_equal(at, 77);
  ebb_task *late = start(runtime, fixture.chat, "return request { timer = 500 }");
  ebb_task *early = start(runtime, fixture.chat, "return request { timer = 200 }");
  ebb_task *second = start(runtime, fixture.chat, "return request { timer = 200 } + 1");
  step(runtime);
  nothing_happened(runtime);
  assert_int_equal(ebb_task_state(late), EBB_TASK_SLEEPING);
  must(ebb_next_timer(runtime, &at));
  assert_int_equal(at, 1200);
  refused(ebb_answer(late, "1", 1), EBB_ARGUMENT, "waits for no answer");
  fixture.host.now = 1199;
  step(runtime);
  nothing_happened(runtime);
  fixture.host.now = 1204;
  step(runtime);
  ebb_event event = next_event(runtime, EBB_EVENT_DONE);
  assert_true(event.task == early);
  assert_string_equal(event.json.bytes, "1204");
  event = next_event(runtime, EBB_EVENT_DONE);
  assert_true(event.task == second);                /* in the order in which they asked */
  assert_string_equal(event.json.bytes, "1205");
  nothing_happened(runtime);
  fixture.host.now = 90000;
  step(runtime);
  assert_true(next_event(runtime, EBB_EVENT_DONE).task == late);
  assert_int_equal(ebb_next_timer(runtime, &at), EBB_NONE);
  host_close(&fixture.host, runtime);
}

static void sleepers_can_be_ended(void **state) {
  (void)state;
  Fixture fixture;
  ebb_runtime *runtime = open_fixture(&fixture);
  const char *sleeps = "return request { timer = 100 }";
  ebb_task *freed = start(runtime, fixture.chat, sleeps), *cancelled = start(runtime, fixture.chat, sleeps);
  ebb_task *stopped = start(runtime, fixture.chat, sleeps);
  ebb_task *zero = start(runtime, fixture.chat, "return request { timer = 0 }");
  ebb_chat *other;
  must(ebb_chat_new(runtime, NULL, 0, &other));
  start(runtime, other, sleeps);
  step(runtime);
  ebb_task_free(freed);
  must(ebb_task_cancel(cancelled));
  ebb_task_stop(stopped);
  ebb_chat_free(other);
  assert_int_equal(next_event(runtime, EBB_EVENT_FAILED).status, EBB_CANCELLED);
  step(runtime);
  ebb_event event = next_event(runtime, EBB_EVENT_FAILED);
  assert_true(event.task == stopped && event.status == EBB_CANCELLED);
  assert_true(next_event(runtime, EBB_EVENT_DONE).task == zero);
  fixture.host.now = 5000;
  step(runtime);
  nothing_happened(runtime);
  host_close(&fixture.host, runtime);
}

static void other_requests_are_the_hosts(void **state) {
  (void)state;
  static const struct {
    const char *source, *says;
  } cases[] = {
    {"return request { timer = -1 }", "expected milliseconds"}, {"return request { timer = 0.5 }", "milliseconds"},
    {"return request { timer = '5' }", "milliseconds"},         {"return request { timer = 1e300 }", "milliseconds"},
    {"return request { timer = math.maxinteger }", "milliseconds"}};
  Fixture fixture;
  ebb_runtime *runtime = open_fixture(&fixture);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    start(runtime, fixture.chat, cases[i].source);
    step(runtime);
    ebb_event event = next_event(runtime, EBB_EVENT_FAILED);
    if (event.status != EBB_ARGUMENT || strstr(event.json.bytes, cases[i].says) == NULL)
      fail_msg("%s: %s", cases[i].source, event.json.bytes);
  }
  start(runtime, fixture.chat, "return request { timer = 5, of = 'eggs' }");
  start(runtime, fixture.chat, "return request 'timer 5'");
  step(runtime);
  assert_string_equal(next_event(runtime, EBB_EVENT_REQUEST).json.bytes, "{\"of\":\"eggs\",\"timer\":5}");
  assert_string_equal(next_event(runtime, EBB_EVENT_REQUEST).json.bytes, "\"timer 5\"");
  host_close(&fixture.host, runtime);
}

/* ---- limits, and being stopped ---- */

static const char LOOP[] = "local n = 0 for i = 1, 1e6 do n = n + i end return n";

static void tasks_have_limits_of_their_own(void **state) {
  (void)state;
  Fixture fixture;
  ebb_runtime *runtime = open_fixture(&fixture);
  ebb_task *task = start(runtime, fixture.chat, LOOP);
  must(ebb_task_limit(task, 10000, 0));
  step(runtime);
  assert_int_equal(next_event(runtime, EBB_EVENT_FAILED).status, EBB_FUEL);
  refused(ebb_task_limit(task, 0, 0), EBB_ARGUMENT, "ended");
  task = start(runtime, fixture.chat, LOOP);
  must(ebb_task_limit(task, 10000, 1));              /* deterministic: no deadline */
  must(ebb_task_limit(task, EBB_NO_LIMIT, EBB_NO_LIMIT));
  step(runtime);
  next_event(runtime, EBB_EVENT_DONE);
  task = start(runtime, fixture.chat, "request 'x' for i = 1, 1e6 do end");
  step(runtime);
  next_event(runtime, EBB_EVENT_REQUEST);
  must(ebb_task_limit(task, 10000, 0));              /* in the middle */
  must(ebb_answer(task, "1", 1));
  step(runtime);
  assert_int_equal(next_event(runtime, EBB_EVENT_FAILED).status, EBB_FUEL);
  host_close(&fixture.host, runtime);

  assert_int_equal(ebb_runtime_new(NULL, &runtime), EBB_OK);
  must(ebb_chat_new(runtime, NULL, 0, &fixture.chat));
  task = start(runtime, fixture.chat, "while true do end");
  must(ebb_task_limit(task, EBB_NO_LIMIT, 2000));
  step(runtime);
  assert_int_equal(next_event(runtime, EBB_EVENT_FAILED).status, EBB_DEADLINE);
  ebb_runtime_free(runtime);
}

static void stopped_tasks_end_with_the_next_step(void **state) {
  (void)state;
  Fixture fixture;
  ebb_runtime *runtime = open_fixture(&fixture);
  ebb_task *ready = start(runtime, fixture.chat, "local chat = ... chat:append { role = 'user', content = 'x' }");
  ebb_task *waiting = start(runtime, fixture.chat, "return request 'x'"), *other;
  must(ebb_task_limit(ready, EBB_NO_LIMIT, 0));
  ebb_task_stop(ready);
  ebb_task_stop(NULL);
  assert_int_equal(ebb_task_state(ready), EBB_TASK_READY);
  assert_int_equal(ebb_step(runtime, 0, 0), EBB_MORE);     /* also without time to run any */
  ebb_event event = next_event(runtime, EBB_EVENT_FAILED);
  assert_true(event.task == ready && event.status == EBB_CANCELLED);
  assert_string_equal(event.json.bytes, "{\"code\":\"cancelled\",\"message\":\"the task was cancelled\"}");
  assert_int_equal(ebb_chat_count(fixture.chat), 0);
  step(runtime);
  next_event(runtime, EBB_EVENT_REQUEST);
  ebb_task_stop(waiting);
  ebb_task_stop(ready);                              /* it has ended: nothing */
  other = start(runtime, fixture.chat, "return 1");
  step(runtime);
  assert_true(next_event(runtime, EBB_EVENT_FAILED).task == waiting);
  assert_true(next_event(runtime, EBB_EVENT_DONE).task == other);
  nothing_happened(runtime);
  host_close(&fixture.host, runtime);
}

/* ---- what hosts ask ---- */

static void states_of_tasks_are_told(void **state) {
  (void)state;
  Fixture fixture;
  ebb_runtime *runtime = open_fixture(&fixture);
  assert_int_equal(ebb_task_state(NULL), EBB_TASK_NONE);
  assert_null(ebb_task_chat(NULL));
  ebb_task *task = start(runtime, fixture.chat, "return request 'x'");
  ebb_task *bad = start(runtime, fixture.chat, "error 'no'");
  assert_int_equal(ebb_task_state(task), EBB_TASK_READY);
  step(runtime);
  assert_int_equal(ebb_task_state(task), EBB_TASK_ASKS);
  assert_int_equal(ebb_task_state(bad), EBB_TASK_FAILED);
  next_event(runtime, EBB_EVENT_REQUEST);
  assert_int_equal(ebb_task_state(task), EBB_TASK_WAITING);
  must(ebb_answer(task, "1", 1));
  assert_int_equal(ebb_task_state(task), EBB_TASK_READY);
  step(runtime);
  assert_int_equal(ebb_task_state(task), EBB_TASK_DONE);
  assert_ptr_equal(ebb_task_chat(task), fixture.chat);
  host_close(&fixture.host, runtime);
}

static void chats_and_tasks_are_listed(void **state) {
  (void)state;
  Fixture fixture;
  ebb_runtime *runtime = open_fixture(&fixture);
  ebb_chat *chats[3] = {fixture.chat};
  int n = 0;
  assert_null(ebb_next_chat(NULL, NULL));
  assert_null(ebb_next_task(NULL, NULL));
  assert_null(ebb_next_task(fixture.chat, NULL));
  must(ebb_chat_new(runtime, NULL, 0, &chats[1]));
  must(ebb_chat_fork(chats[0], &chats[2]));
  for (ebb_chat *chat = NULL; (chat = ebb_next_chat(runtime, chat)) != NULL; n++) assert_ptr_equal(chat, chats[n]);
  assert_int_equal(n, 3);
  ebb_chat_free(chats[1]);
  assert_ptr_equal(ebb_next_chat(runtime, chats[0]), chats[2]);
  ebb_task *one = start(runtime, fixture.chat, "return 1"), *two = start(runtime, fixture.chat, "return 2");
  step(runtime);
  assert_ptr_equal(ebb_next_task(fixture.chat, NULL), one);
  assert_ptr_equal(ebb_next_task(fixture.chat, one), two);
  assert_null(ebb_next_task(fixture.chat, two));
  ebb_task_free(one);
  assert_ptr_equal(ebb_next_task(fixture.chat, NULL), two);

  int mine;
  assert_null(ebb_chat_user(chats[0]));
  assert_null(ebb_chat_user(NULL));
  ebb_chat_set_user(chats[0], &mine);
  ebb_chat_set_user(NULL, &mine);
  assert_ptr_equal(ebb_chat_user(chats[0]), &mine);
  must(ebb_chat_fork(chats[0], &chats[1]));
  assert_null(ebb_chat_user(chats[1]));
  host_close(&fixture.host, runtime);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(timers_wake_by_the_hosts_clock), cmocka_unit_test(sleepers_can_be_ended),
    cmocka_unit_test(other_requests_are_the_hosts), cmocka_unit_test(tasks_have_limits_of_their_own),
    cmocka_unit_test(stopped_tasks_end_with_the_next_step), cmocka_unit_test(states_of_tasks_are_told),
    cmocka_unit_test(chats_and_tasks_are_listed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
