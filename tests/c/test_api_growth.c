/*
** What calls cost as a host grows: none pays for what it does not touch. Figures are
** CPU time, the least of several windows, of many over few; a figure that fails is
** measured again, for the machine has others to serve.
*/
#define _DEFAULT_SOURCE
#include <time.h>

#include "api_kit.h"

enum { ATTEMPTS = 5, WINDOWS = 8 };

static double cpu(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double least(double a, double b) { return a < b ? a : b; }

/* `cost` is what one call takes beside `count` of whatever grows. */
static void check_flat(const char *what, double (*cost)(uint32_t count), uint32_t few, uint32_t many, double most) {
  double ratio = 0;
  for (int i = 0; i < ATTEMPTS; i++) {
    ratio = cost(many) / cost(few);
    if (ratio <= most) return;
  }
  fail_msg("%s: beside %u it takes %.1f times what it takes beside %u", what, (unsigned)many, ratio, (unsigned)few);
}

static void chats_of(ebb_runtime *runtime, ebb_chat **chats, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) must(ebb_chat_new(runtime, NULL, 0, &chats[i]));
}

/* ---- a turn of a long chat ---- */

static void turn(ebb_runtime *runtime, ebb_chat *chat, int i) {
  char text[160];
  snprintf(text, sizeof text,
           "[{\"role\":\"user\",\"content\":\"question %d\"},{\"role\":\"assistant\",\"content\":\"answer\"}]", i % 10);
  must(append(chat, text));
  snprintf(text, sizeof text, "turn %u", (unsigned)ebb_chat_batch_count(chat));
  must(ebb_chat_checkpoint(chat, text));
  must(trim(chat, "counts", "{\"budget\":100}", NULL));
}

/* CPU of a turn, the least of several windows. */
static double turn_cost(ebb_runtime *runtime, ebb_chat *chat, uint32_t *turns) {
  double cost = 1e12;
  for (int window = 0; window < WINDOWS; window++) {
    double start = cpu();
    for (int i = 0; i < 125; i++) turn(runtime, chat, (int)i);
    cost = least(cost, (cpu() - start) / 125);
    *turns += 125;
  }
  return cost;
}

/* The chat as it is saved and loaded; its digest stays. *cost: CPU of a save, two digests and a load. */
static ebb_chat *reload(ebb_runtime *runtime, ebb_chat *chat, double *cost) {
  char before[65], after[65];
  ebb_text saved;
  ebb_chat *loaded;
  double start = cpu();
  must(ebb_chat_digest(chat, before));
  must(ebb_chat_save(chat, &saved));
  must(ebb_chat_load(runtime, saved.bytes, saved.size, &loaded));
  must(ebb_chat_digest(loaded, after));
  *cost = cpu() - start;
  assert_string_equal(before, after);
  ebb_chat_free(chat);
  return loaded;
}

/* The same for a batch, the least of several. */
static double reload_cost(ebb_runtime *runtime, ebb_chat **chat) {
  double best = 1e12, cost;
  for (int i = 0; i < 3; i++) {
    *chat = reload(runtime, *chat, &cost);
    best = least(best, cost);
  }
  return best / ebb_chat_batch_count(*chat);
}

/* Both costs of a chat, divided by those of a new one. */
static void compare_to_new(ebb_runtime *runtime, ebb_chat **chat, uint32_t *turns, double *turn_ratio,
                           double *reload_ratio) {
  ebb_chat *new;
  uint32_t new_turns = 0;
  must(ebb_chat_new(runtime, NULL, 0, &new));
  double new_turn = turn_cost(runtime, new, &new_turns), new_reload = reload_cost(runtime, &new);
  ebb_chat_free(new);
  *turn_ratio = turn_cost(runtime, *chat, turns) / new_turn;
  *reload_ratio = reload_cost(runtime, chat) / new_reload;
}

/* The length of a life. Sanitizers take twenty times the time: with SAMPLE they see a part of it. */
static uint32_t turns_of_a_life(void) {
#ifdef __SANITIZE_ADDRESS__
  return (uint32_t)(test_setting("TURNS", 10000) / test_sample());
#else
  return (uint32_t)test_setting("TURNS", 10000);
#endif
}

/* Names a state and trims in each of TURNS turns, and goes on with what was saved, twenty times. */
static void a_turn_costs_the_same_for_ever(void **state) {
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  uint32_t all = turns_of_a_life(), turns = 0;
  double turn_ratio = 1e12, reload_ratio = 1e12, cost;
  (void)state;
  host_open(&host, &runtime);
  must(load_policy(runtime, "counts", "return function(draft, budget) draft.memory.n = (draft.memory.n or 0) + 1\n"
                                      "draft:drop_oldest { to = budget } end"));
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  while (turns < all) {
    turn(runtime, chat, (int)turns);
    if (++turns % (all / 20 + 1) == 0) chat = reload(runtime, chat, &cost);
  }
  for (int i = 0; i < ATTEMPTS && (turn_ratio > 1.5 || reload_ratio > 2); i++) {
    compare_to_new(runtime, &chat, &turns, &turn_ratio, &reload_ratio);
  }
  print_message("swept: %u turns: a turn costs %.2f times what it costs a new chat, a save and a load %.2f per batch\n",
                (unsigned)turns, turn_ratio, reload_ratio);
  assert_true(ebb_chat_batch_count(chat) > turns - 10);      /* the first turns needed no trim */
  assert_true(turn_ratio <= 1.5);
  assert_true(reload_ratio <= 2);
  host_close(&host, runtime);
}

/* ---- journals ---- */

static ebb_status count_bytes(void *user, const void *record, size_t size) {
  (void)record;
  *(size_t *)user += size;
  return EBB_OK;
}

/* CPU of an append to a chat with a journal. */
static double journal_cost(uint32_t count) {
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  size_t bytes = 0;
  double cost = 1e12;
  host_open(&host, &runtime);
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  for (uint32_t i = 0; i < count; i++) must(append(chat, "{\"role\":\"user\",\"content\":\"before\"}"));
  must(ebb_chat_journal(chat, count_bytes, &bytes, 0));
  for (int window = 0; window < WINDOWS; window++) {
    double start = cpu();
    for (int i = 0; i < 100; i++) must(append(chat, "{\"role\":\"user\",\"content\":\"one\"}"));
    cost = least(cost, cpu() - start);
  }
  host_close(&host, runtime);
  return cost;
}

static void a_record_costs_the_same_in_a_long_chat(void **state) {
  (void)state;
  check_flat("an append with a journal", journal_cost, 1000, 50000, 3);
}

/* ---- freeing ---- */

static int order;            /* 0: the oldest first, 1: the newest first, 2: this way and that */

static double free_cost(uint32_t count) {
  Host host;
  ebb_runtime *runtime;
  host_open(&host, &runtime);
  ebb_chat **chats = calloc(count, sizeof *chats);
  chats_of(runtime, chats, count);
  double start = cpu();
  for (uint32_t i = 0; i < count; i++) {
    uint32_t at = order == 0 ? i : order == 1 ? count - 1 - i : (i * 7919u) % count;
    ebb_chat_free(chats[at]);
    chats[at] = NULL;
  }
  double cost = (cpu() - start) / count;
  free(chats);
  host_close(&host, runtime);
  return cost;
}

static void chats_are_freed_in_any_order(void **state) {
  (void)state;
  /* 500 chats stay in the processor's caches, where a call takes a quarter: 8,000 do not. */
  for (order = 0; order < 3; order++) check_flat("ebb_chat_free", free_cost, 8000, 32000, 2);
}

/* ---- tasks that wait, and their events ---- */

static void ask_all(ebb_runtime *runtime, ebb_chat *chat, ebb_task **tasks, uint32_t count) {
  static const char source[] = "request {}";
  for (uint32_t i = 0; i < count; i++)
    must(ebb_task_script(chat, "asks", source, sizeof source - 1, NULL, 0, &tasks[i]));
  must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
}

/* With one event for each of `count` tasks, and then with all of them waiting. */
static double event_cost(uint32_t count) {
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_event event = {.size = sizeof event};
  host_open(&host, &runtime);
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  ebb_task **tasks = calloc(count, sizeof *tasks);
  ask_all(runtime, chat, tasks, count);
  double start = cpu();
  for (uint32_t i = 0; i < count; i++) {
    must(ebb_next_event(runtime, &event));
    assert_ptr_equal(event.task, tasks[i]);            /* in the order in which they asked */
  }
  assert_int_equal(ebb_next_event(runtime, &event), EBB_NONE);
  double cost = (cpu() - start) / count;
  free(tasks);
  host_close(&host, runtime);
  return cost;
}

static double step_cost(uint32_t count) {
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_event event = {.size = sizeof event};
  double cost = 1e12;
  host_open(&host, &runtime);
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  ebb_task **tasks = calloc(count, sizeof *tasks);
  ask_all(runtime, chat, tasks, count);
  for (uint32_t i = 0; i < count; i++) must(ebb_next_event(runtime, &event));
  for (int window = 0; window < WINDOWS; window++) {
    double start = cpu();
    for (int i = 0; i < 1000; i++) must(ebb_step(runtime, 1000, EBB_NO_LIMIT));
    cost = least(cost, cpu() - start);
  }
  free(tasks);
  host_close(&host, runtime);
  return cost;
}

static void waiting_tasks_cost_nothing(void **state) {
  (void)state;
  check_flat("ebb_next_event", event_cost, 50, 1500, 3);
  check_flat("ebb_step", step_cost, 10, 500, 3);
}

/* ---- lists ---- */

static double batches_cost(uint32_t messages) {
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_text json;
  double cost = 1e12;
  host_open(&host, &runtime);
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  for (uint32_t i = 0; i < messages; i++) must(append(chat, "{\"role\":\"user\",\"content\":\"a word or two\"}"));
  must(ebb_chat_checkpoint(chat, "h\"ere"));
  for (int window = 0; window < WINDOWS; window++) {
    double start = cpu();
    for (int i = 0; i < 20; i++) must(ebb_chat_batches(chat, &json));
    cost = least(cost, cpu() - start);
  }
  char wanted[300];
  snprintf(wanted, sizeof wanted,
           "[{\"description\":\"\",\"index\":0,\"messageCount\":%u,\"name\":\"h\\\"ere\",\"nameLength\":%u,\"operation\":\"create\",\"parent\":null,"
           "\"parentLength\":null,\"timestamp\":", (unsigned)messages, (unsigned)messages);
  if (strncmp(json.bytes, wanted, strlen(wanted)) != 0) fail_msg("%s", json.bytes);
  host_close(&host, runtime);
  return cost;
}

static void a_list_of_batches_reads_no_messages(void **state) {
  (void)state;
  check_flat("ebb_chat_batches", batches_cost, 10, 2000, 2);
}

/* ---- nothing left of a frame ---- */

static void nothing_left_is_nothing_done(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_task *task;
  ebb_event event = {.size = sizeof event};
  int done = 1;
  static const char source[] = "while true do end";
  host_open(&host, &runtime);
  assert_int_equal(ebb_step(runtime, 0, 0), EBB_OK);
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  must(ebb_task_script(chat, "loops", source, sizeof source - 1, NULL, 0, &task));
  assert_int_equal(ebb_step(runtime, EBB_NO_LIMIT, 0), EBB_MORE);
  assert_int_equal(ebb_next_event(runtime, &event), EBB_NONE);
  assert_int_equal(ebb_step(runtime, 0, 1000), EBB_MORE);       /* deterministic: microseconds are ignored */
  must(ebb_collect(runtime, 0, &done));
  assert_int_equal(done, 0);
  must(ebb_collect(runtime, EBB_NO_LIMIT, &done));
  assert_int_equal(done, 1);
  ebb_runtime_free(runtime);

  must(ebb_runtime_new(NULL, &runtime));
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  must(ebb_task_script(chat, "loops", source, sizeof source - 1, NULL, 0, &task));
  assert_int_equal(ebb_step(runtime, 0, EBB_NO_LIMIT), EBB_MORE);
  assert_int_equal(ebb_step(runtime, 0, 0), EBB_MORE);
  assert_int_equal(ebb_next_event(runtime, &event), EBB_NONE);
  ebb_runtime_free(runtime);
}

/* Who comes last in a step of a short budget is first in the next, so all end. */
static void each_step_begins_with_another_task(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chats[5];
  ebb_task *task;
  ebb_event event = {.size = sizeof event};
  static const char source[] = "for i = 1, 20000 do end";
  host_open(&host, &runtime);
  chats_of(runtime, chats, 5);
  for (int i = 0; i < 5; i++) must(ebb_task_script(chats[i], "works", source, sizeof source - 1, NULL, 0, &task));
  int ended = 0;
  for (int steps = 0; ended < 5; steps++) {
    assert_true(steps < 1000);
    ebb_step(runtime, EBB_NO_LIMIT, 5000);
    while (ebb_next_event(runtime, &event) == EBB_OK) {
      assert_int_equal(event.kind, EBB_EVENT_DONE);
      ebb_task_free(event.task);
      ended++;
    }
  }
  host_close(&host, runtime);
}

/* ---- texts that were handed out ---- */

static void long_answers_give_their_memory_back(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat, *small;
  ebb_text json;
  ebb_message message = {.size = sizeof message};
  host_open(&host, &runtime);
  must(ebb_chat_new(runtime, NULL, 0, &small));
  must(append(small, "{\"role\":\"user\",\"content\":\"x\"}"));
  must(ebb_chat_json(small, &json));
  must(ebb_collect(runtime, EBB_NO_LIMIT, NULL));
  size_t before = ebb_runtime_memory(runtime), big = 2 << 20;
  char *text = malloc(big + 64);
  int head = snprintf(text, 64, "{\"role\":\"user\",\"content\":\"");
  memset(text + head, 'x', big);
  memcpy(text + head + big, "\"}", 3);
  for (int way = 0; way < 2; way++) {
    must(ebb_chat_new(runtime, NULL, 0, &chat));
    must(append(chat, text));
    must(ebb_chat_message(chat, 0, &message));
    assert_int_equal(message.text.size, big);
    must(ebb_chat_json(chat, &json));
    ebb_chat_free(chat);
    assert_true(ebb_runtime_memory(runtime) > before + 2 * big);
    if (way == 0) must(ebb_chat_json(small, &json));
    else must(ebb_collect(runtime, EBB_NO_LIMIT, NULL));
    assert_true(ebb_runtime_memory(runtime) < before + 300000);
  }
  free(text);
  host_close(&host, runtime);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_turn_costs_the_same_for_ever), cmocka_unit_test(chats_are_freed_in_any_order),
    cmocka_unit_test(waiting_tasks_cost_nothing), cmocka_unit_test(a_list_of_batches_reads_no_messages),
    cmocka_unit_test(nothing_left_is_nothing_done), cmocka_unit_test(each_step_begins_with_another_task),
    cmocka_unit_test(long_answers_give_their_memory_back),
    cmocka_unit_test(a_record_costs_the_same_in_a_long_chat),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
