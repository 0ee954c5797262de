/*
** Scripts that once outlived their limits (tests/lua/sandbox_survivors.lua), through the C API: as a policy, a
** filter, the content of a window and a task in steps. Each is stopped soon after a deadline of 100 ms, takes no more
** memory than its own and 16 MiB, leaves the chat as it was, and the next script runs.
*/
#define _POSIX_C_SOURCE 200809L
#include <lauxlib.h>
#include <lua.h>
#include <time.h>

#include "api_kit.h"

#define DEADLINE 100000              /* microseconds */
#define AFTER    20000               /* to the end, with what surrounds the call and 1 MiB of log */
#define MEMORY   ((size_t)80 << 20)
#define LOGGED   ((size_t)4 << 20)   /* 1 MiB of bytes that are no UTF-8 */
#define TRIES    3
#define LOOP_US  9000                /* of the loop below on a machine that is not slow */

#ifdef __SANITIZE_ADDRESS__
#define INSTRUMENTED 20              /* times that what C does takes longer */
#else
#define INSTRUMENTED 1
#endif

typedef struct Meter {
  size_t in_use, most;
  size_t logged;
} Meter;

static void *meter_allocate(void *user, void *block, size_t old_size, size_t new_size) {
  Meter *meter = user;
  meter->in_use = meter->in_use - old_size + new_size;
  if (meter->in_use > meter->most) meter->most = meter->in_use;
  if (new_size != 0) return realloc(block, new_size);
  free(block);
  return NULL;
}

static void meter_log(void *user, ebb_log_level level, const char *line, size_t size) {
  (void)level, (void)line;
  ((Meter *)user)->logged += size;
}

static int64_t processor_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* How much slower than LOOP_US this machine is now, in percent; 100 at least. */
static int64_t slowness(void) {
  lua_State *L = luaL_newstate();
  int64_t before = processor_us();
  assert_int_equal(luaL_dostring(L, "for _ = 1, 2000000 do end"), LUA_OK);
  int64_t spent = processor_us() - before;
  lua_close(L);
  return INSTRUMENTED * (spent <= LOOP_US ? 100 : spent * 100 / LOOP_US);
}

/* ---- places: EBB_OK if the script came to an end by itself ---- */

typedef ebb_status (*Place)(ebb_runtime *runtime, ebb_chat *chat, const char *body);

#define SOURCE_MAX 4096

static ebb_status in_policy(ebb_runtime *runtime, ebb_chat *chat, const char *body) {
  char source[SOURCE_MAX];
  snprintf(source, sizeof source,
           "return function(draft, budget)\n%s\ndraft.memory.r = r draft:drop_oldest { to = budget } end", body);
  must(load_policy(runtime, "mine", source));
  return trim(chat, "mine", "{\"budget\":100}", NULL);
}

static ebb_status in_filter(ebb_runtime *runtime, ebb_chat *chat, const char *body) {
  char source[SOURCE_MAX];
  snprintf(source, sizeof source, "return function()\n%s\nreturn r and { role = 'user', content = r } end", body);
  must(ebb_filter_load(runtime, "mine", source, strlen(source)));
  return ebb_chat_filter(chat, "mine", NULL, 0);
}

static ebb_status run_task(ebb_runtime *runtime, ebb_chat *chat, const char *source) {
  ebb_task *task;
  ebb_event event = {.size = sizeof event};
  must(ebb_task_script(chat, "s", source, strlen(source), NULL, 0, &task));
  while (ebb_step(runtime, 1000, EBB_NO_LIMIT) == EBB_MORE) continue;
  must(ebb_next_event(runtime, &event));
  return event.kind == EBB_EVENT_DONE ? EBB_OK : EBB_DEADLINE;
}

static ebb_status in_task(ebb_runtime *runtime, ebb_chat *chat, const char *body) {
  char source[SOURCE_MAX];
  snprintf(source, sizeof source, "%s\nreturn r", body);
  return run_task(runtime, chat, source);
}

/* On a fork: the window is one of the task's changes. */
static ebb_status in_window(ebb_runtime *runtime, ebb_chat *chat, const char *body) {
  char source[SOURCE_MAX];
  ebb_chat *fork;
  ebb_text json;
  snprintf(source, sizeof source,
           "local chat = ... chat.windows:open { id = 'w', content = function()\n%s\nreturn r or 'x' end }", body);
  must(ebb_chat_fork(chat, &fork));
  must(run_task(runtime, fork, source));
  ebb_status status = ebb_chat_render(fork, NULL, 0, &json);
  if (status == EBB_OK && strstr(json.bytes, "content failed") != NULL) status = EBB_SCRIPT;   /* a line in its place */
  ebb_chat_free(fork);
  return status;
}

static const struct { const char *name; Place run; } PLACES[] = {
  {"policy", in_policy}, {"filter", in_filter}, {"window", in_window}, {"task", in_task}};

/* ---- rows ---- */

static ebb_runtime *open_metered(Meter *meter, ebb_chat **chat) {
  ebb_runtime *runtime;
  ebb_config config = {.size = sizeof config, .allocate = meter_allocate, .log = meter_log, .user = meter,
                       .deadline_us = DEADLINE, .fuel = UINT64_C(1) << 60};
  *meter = (Meter){0};
  assert_int_equal(ebb_runtime_new(&config, &runtime), EBB_OK);
  must(ebb_chat_new(runtime, NULL, 0, chat));
  talk(runtime, *chat, 4);
  return runtime;
}

static bool is_stopped(const char *name, const char *body, int place, bool last) {
  Meter meter;
  ebb_chat *chat;
  char before[65], after[65];
  ebb_runtime *runtime = open_metered(&meter, &chat);
  must(ebb_chat_digest(chat, before));
  int64_t slow = slowness(), began = processor_us();
  meter.most = meter.in_use;
  size_t held = meter.in_use;
  ebb_status status = PLACES[place].run(runtime, chat, body);
  int64_t spent = processor_us() - began - DEADLINE;
  size_t most = meter.most - held;
  must(ebb_chat_digest(chat, after));
  bool ended = status == EBB_OK && PLACES[place].run != in_window;    /* what no markup can be made of is not shown */
  bool right = !ended && spent * 100 / slow <= AFTER && most <= MEMORY && strcmp(before, after) == 0 &&
               meter.logged <= LOGGED;
  if ((!right && last) || getenv("SHOW") != NULL) {
    printf("%-50s %-7s %7.2f ms after, %3zu MiB, %s, %s\n", name, PLACES[place].name, (double)spent / 1000, most >> 20,
           ebb_status_name(status), strcmp(before, after) == 0 ? "unchanged" : "CHANGED");
  }
  if (right && PLACES[place].run(runtime, chat, "local _ = 1") != EBB_OK) fail_msg("%s: no next script", name);
  ebb_runtime_free(runtime);
  assert_int_equal(meter.in_use, 0);
  return right;
}

/* With SAMPLE a row is tried in one place, which SEED decides; ROW=TEXT tries those with TEXT in their names. */
static void survivors_are_stopped(void **state) {
  (void)state;
  lua_State *L = luaL_newstate();
  uint64_t seed = test_seed();
  const char *row = getenv("ROW");
  int wrong = 0, tried = 0;
  if (luaL_dofile(L, "tests/lua/sandbox_survivors.lua") != LUA_OK) fail_msg("%s", lua_tostring(L, -1));
  for (lua_Integer i = 1; lua_rawgeti(L, 1, i) == LUA_TTABLE; i++) {
    lua_rawgeti(L, 2, 1);
    lua_rawgeti(L, 2, 2);    /* rows row name body */
    int only = test_sample() > 1 ? (int)(test_random(&seed) % 4) : -1;
    for (int place = 0; place < 4; place++) {
      if (only >= 0 && place != only) continue;
      if (row != NULL && strstr(lua_tostring(L, 3), row) == NULL) continue;
      bool right = false;
      for (int n = 1; n <= TRIES && !right; n++) {
        right = is_stopped(lua_tostring(L, 3), lua_tostring(L, 4), place, n == TRIES);
      }
      wrong += !right;
      tried++;
    }
    lua_settop(L, 1);
  }
  lua_close(L);
  printf("swept: %d places of survivors\n", tried);
  assert_true(tried >= 20 || row != NULL);
  assert_int_equal(wrong, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(survivors_are_stopped)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
