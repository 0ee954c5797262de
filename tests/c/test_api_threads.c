/*
** Runtimes have nothing in common: sixteen of them in sixteen threads, each at
** all that a host does, and each ends with the same digest. One more thread
** cancels, from outside, what runs in a seventeenth. Built with ThreadSanitizer
** too (MODE=threads).
*/
#define _DEFAULT_SOURCE 1
#include "api_kit.h"
#include "include/ebb_lua.h"

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
  if (host.in_use != 0) work->failed = "memory left";
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
  must(ebb_step(runtime, 0, 0));
  pthread_join(thread, NULL);
  must(ebb_next_event(runtime, &event));
  assert_int_equal(event.status, EBB_CANCELLED);
  ebb_runtime_free(runtime);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(sixteen_runtimes_in_sixteen_threads),
                                     cmocka_unit_test(another_thread_cancels)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
