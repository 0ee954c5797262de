/*
** Runtimes have nothing in common but what they are given to share: sixteen of them
** in sixteen threads, each at all that a host does, and each ends with the same
** digest. One more thread cancels, from outside, what runs in a seventeenth. Eight
** share a vocabulary and a compiled policy. Built with ThreadSanitizer too
** (MODE=threads).
*/
#define _DEFAULT_SOURCE 1
#include "api_kit.h"
#include "include/ebb_lua.h"
#include "thread_jumps.h"
#include "vocab_kit.h"

#include <pthread.h>
#include <unistd.h>

enum { THREADS = 16 };

typedef struct Work {
  char digest[65];
  const char *failed;
} Work;

#define try(call) \
  do { \
    if (work->failed == NULL && (call) != EBB_OK) work->failed = #call; \
  } while (0)

static void converse(Work *work, ebb_runtime *runtime, ebb_chat *chat) {
  static const char script[] = "local chat = ... local answer = request { type = 'model', messages = #chat }\n"
                               "chat:append { role = 'assistant', content = answer }";
  ebb_task *task = NULL;
  ebb_event event = {.size = sizeof event};
  try(append(chat, "{\"role\":\"user\",\"content\":\"Is there room for us, and a stable for three horses?\"}"));
  try(ebb_task_script(chat, "talk", script, sizeof script - 1, NULL, 0, &task));
  while (work->failed == NULL) {
    while (ebb_step(runtime, 500, 10000) == EBB_MORE) continue;
    if (ebb_next_event(runtime, &event) != EBB_OK || event.kind != EBB_EVENT_REQUEST) break;
    try(ebb_answer(event.task, "\"Up the stairs.\"", 16));
  }
  if (work->failed == NULL) ebb_task_free(event.task);
}

/* Functions of the host's, in each of the runtimes. */
static ebb_status tell(void *user, const char *arguments, size_t size, ebb_sink *result) {
  (void)user;
  return ebb_sink_add(result, arguments, size);
}

static int add(const ebb_lua *lua, ebb_lua_state *L, void *user) {
  (void)user;
  lua->pushinteger(L, lua->checkinteger(L, 1) + 1);
  return 1;
}

static void live(Work *work, ebb_runtime *runtime) {
  ebb_chat *chat = NULL;
  ebb_text saved = {0};
  try(ebb_chat_new(runtime, NULL, 0, &chat));
  try(ebb_register(runtime, "tell", tell, NULL, 0));
  try(ebb_lua_register(runtime, "host.add", add, NULL, 0));
  for (int turn = 0; turn < 12 && work->failed == NULL; turn++) {
    converse(work, runtime, chat);
    try(load_policy(runtime, "mine",
                    "return function(draft, budget) draft.memory.n = host.add(tell(draft.memory.n or 0)[1]) draft:drop_oldest { to "
                    "= budget } end"));
    try(trim(chat, turn % 2 ? "mine" : "keep_turns", "{\"budget\":120}", NULL));
    try(ebb_chat_save(chat, &saved));
    char *copy = malloc(saved.size);
    memcpy(copy, saved.bytes, saved.size);
    try(ebb_chat_load(runtime, copy, saved.size, &chat));
    free(copy);
  }
  try(ebb_chat_digest(chat, work->digest));
}

static void *run(void *user) {
  Work *work = user;
  Host host = {.now = 1700000000000, .still = true};
  ebb_config config = host_config(&host);
  ebb_runtime *runtime = NULL;
  try(ebb_runtime_new(&config, &runtime));
  if (work->failed == NULL) live(work, runtime);
  ebb_runtime_free(runtime);
  if (host.heap.in_use != 0) work->failed = "memory left";
  return NULL;
}

static void sixteen_runtimes_in_sixteen_threads(void **state) {
  (void)state;
  pthread_t threads[THREADS];
  static Work works[THREADS];
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, run, &works[i]), 0);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; i++) {
    if (works[i].failed != NULL) fail_msg("thread %d: %s", i, works[i].failed);
    assert_string_equal(works[i].digest, works[0].digest);
  }
}

/* ---- one vocabulary, one policy ---- */

enum { COUNTERS = 8, LIVES = 4, WORDS = 700 };

typedef struct Counter {
  Work work;
  ebb_vocab *vocab;
  const ebb_policy *policy;
  uint64_t tokens;
} Counter;

/* So many words that the tokenizer has a memo of them; some come again. */
static void say_words(Work *work, ebb_chat *chat) {
  char json[WORDS * 12 + 64];
  size_t used = (size_t)snprintf(json, sizeof json, "{\"role\":\"user\",\"content\":\"");
  for (int i = 0; i < WORDS; i++) used += (size_t)snprintf(json + used, 16, "hell%do ", i % 500);
  memcpy(json + used, "\"}", 3);
  try(append(chat, json));
}

static void *count(void *user) {
  Counter *counter = user;
  Work *work = &counter->work;
  for (int life = 0; life < LIVES && work->failed == NULL; life++) {
    ebb_runtime *runtime = NULL;
    ebb_chat *chat = NULL;
    Host host = {.now = 1700000000000, .still = true};
    ebb_config config = host_config(&host);
    try(ebb_runtime_new(&config, &runtime));
    try(ebb_runtime_add_vocab(runtime, NULL, counter->vocab));
    try(ebb_chat_new(runtime, "{\"encoding\":\"tiny\"}", 19, &chat));
    if (work->failed == NULL) say_words(work, chat);
    counter->tokens = ebb_chat_tokens(chat);
    try(ebb_policy_add(runtime, counter->policy));
    try(append(chat, "{\"role\":\"user\",\"content\":\"hello\"}"));
    try(trim(chat, "mine", "{\"budget\":60}", NULL));
    try(ebb_chat_digest(chat, work->digest));
    ebb_runtime_free(runtime);
  }
  return NULL;
}

static int released;         /* by whichever thread is last */

static void note_release(void *user, const void *bytes, size_t size) {
  (void)user, (void)bytes, (void)size;
  released++;
}

static void *free_soon(void *vocab) {
  usleep(2000);
  ebb_vocab_free(vocab);
  return NULL;
}

/* Each of them makes runtimes, adds both, counts, trims and frees; the main thread's shares keep them. */
static void eight_threads_share_a_vocabulary_and_a_policy(void **state) {
  (void)state;
  static const char source[] = "return function(draft, budget) draft:drop_oldest { to = budget } end";
  ebb_runtime *runtime;
  ebb_policy *policy;
  pthread_t threads[COUNTERS];
  static Counter counters[COUNTERS];
  Buffer image;
  ebb_vocab *vocab;
  build_tiny(&image);
  assert_int_equal(ebb_vocab_new(NULL, image.bytes, image.size, note_release, &vocab), EBB_OK);
  assert_int_equal(ebb_runtime_new(NULL, &runtime), EBB_OK);
  must(ebb_policy_new(runtime, "mine", source, sizeof source - 1, &policy));
  ebb_runtime_free(runtime);
  for (int i = 0; i < COUNTERS; i++) {
    counters[i] = (Counter){.vocab = vocab, .policy = policy};
    assert_int_equal(pthread_create(&threads[i], NULL, count, &counters[i]), 0);
  }
  for (int i = 0; i < COUNTERS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < COUNTERS; i++) {
    if (counters[i].work.failed != NULL) fail_msg("thread %d: %s", i, counters[i].work.failed);
    assert_true(counters[i].tokens > 2 * WORDS && counters[i].tokens == counters[0].tokens);
    assert_string_equal(counters[i].work.digest, counters[0].work.digest);
  }
  ebb_policy_free(policy);
  assert_int_equal(released, 0);
  ebb_vocab_free(vocab);
  assert_int_equal(released, 1);
  buffer_free(&image);
}

/* The host's share and those of runtimes are given up at the same time. */
static void the_last_thread_gives_a_vocabulary_back(void **state) {
  (void)state;
  Buffer image;
  build_tiny(&image);
  for (int round = 1; round <= 20; round++) {
    pthread_t thread;
    ebb_runtime *runtime;
    ebb_vocab *vocab;
    assert_int_equal(ebb_vocab_new(NULL, image.bytes, image.size, note_release, &vocab), EBB_OK);
    assert_int_equal(ebb_runtime_new(NULL, &runtime), EBB_OK);
    must(ebb_runtime_add_vocab(runtime, NULL, vocab));
    released = 0;
    assert_int_equal(pthread_create(&thread, NULL, free_soon, vocab), 0);
    usleep((useconds_t)(round * 200));
    ebb_runtime_free(runtime);
    pthread_join(thread, NULL);
    assert_int_equal(released, 1);
  }
  buffer_free(&image);
}

/* ---- cancelling ---- */

static void *cancel_soon(void *runtime) {
  usleep(20000);
  ebb_cancel(runtime);
  return NULL;
}

static void another_thread_cancels(void **state) {
  (void)state;
  ebb_runtime *runtime;
  ebb_chat *chat;
  pthread_t thread;
  ebb_config config = {.size = sizeof config, .deadline_us = 60000000, .fuel = UINT64_MAX / 2};
  assert_int_equal(ebb_runtime_new(&config, &runtime), EBB_OK);
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  must(append(chat, "{\"role\":\"user\",\"content\":\"a\"}"));
  must(
      load_policy(runtime, "hangs", "return function() while true do pcall(function() while true do end end) end end"));
  assert_int_equal(pthread_create(&thread, NULL, cancel_soon, runtime), 0);
  refused(trim(chat, "hangs", "{\"budget\":100}", NULL), EBB_CANCELLED, "cancelled");
  pthread_join(thread, NULL);
  refused(trim(chat, NULL, "{\"budget\":100}", NULL), EBB_CANCELLED, "cancelled");
  ebb_uncancel(runtime);
  must(trim(chat, NULL, "{\"budget\":100}", NULL));
  ebb_task *task;                            /* the same in a step */
  ebb_event event = {.size = sizeof event};
  must(ebb_task_trim(chat, "hangs", "{\"budget\":100}", 14, &task));
  assert_int_equal(pthread_create(&thread, NULL, cancel_soon, runtime), 0);
  must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
  pthread_join(thread, NULL);
  must(ebb_next_event(runtime, &event));
  assert_int_equal(event.status, EBB_CANCELLED);
  ebb_runtime_free(runtime);
}

static void *stop_soon(void *task) {
  usleep(20000);
  ebb_task_stop(task);
  return NULL;
}

/* One task of several: what the others do is not touched. */
static void another_thread_stops_one_task(void **state) {
  (void)state;
  static const char hangs[] = "while true do pcall(function() while true do end end) end";
  static const char asks[] = "local chat = ... chat:append { role = 'user', content = request 'x' }";
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_task *tasks[3];
  pthread_t threads[2];
  ebb_config config = {.size = sizeof config, .deadline_us = 60000000, .fuel = UINT64_MAX / 2};
  ebb_event event = {.size = sizeof event};
  assert_int_equal(ebb_runtime_new(&config, &runtime), EBB_OK);
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  for (int i = 0; i < 2; i++) must(ebb_task_script(chat, "asks", asks, sizeof asks - 1, NULL, 0, &tasks[i]));
  must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
  for (int i = 0; i < 2; i++) must(ebb_next_event(runtime, &event));
  must(ebb_task_script(chat, "hangs", hangs, sizeof hangs - 1, NULL, 0, &tasks[2]));
  for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&threads[i], NULL, stop_soon, tasks[i + 1]), 0);
  must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));      /* until the one that runs is stopped */
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
  for (int i = 0; i < 2; i++) {
    must(ebb_next_event(runtime, &event));
    assert_int_equal(event.status, EBB_CANCELLED);
    assert_true(event.task != tasks[0]);
  }
  must(ebb_answer(tasks[0], "\"y\"", 3));
  must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
  must(ebb_next_event(runtime, &event));
  assert_int_equal(event.kind, EBB_EVENT_DONE);
  assert_int_equal(ebb_chat_count(chat), 1);
  ebb_runtime_free(runtime);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(sixteen_runtimes_in_sixteen_threads),
                                     cmocka_unit_test(eight_threads_share_a_vocabulary_and_a_policy),
                                     cmocka_unit_test(the_last_thread_gives_a_vocabulary_back),
                                     cmocka_unit_test(another_thread_cancels),
                                     cmocka_unit_test(another_thread_stops_one_task)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
