/*
** A script is stopped at each look at the clock while its memory, which is full, is collected in slices. What it held
** is garbage for the next one. What the allocator takes for granted of Lua's objects is measured.
*/
#include "check.h"

#include <string.h>

#include "sandbox/sandbox_state.h"

static const char FILL[] = "local t = {} for i = 1, 1e9 do t[i] = {} end";
static const char NEXT[] = "local t = {} for i = 1, 100 do t[i] = {} end";

static int64_t ticks;

static int64_t tick(void *user) {
  (void)user;
  return ticks++;
}

static Sandbox *small_sandbox(void) {
  SandboxConfig config = {.memory = memory_system(), .memory_limit = 1 << 20, .now = tick};
  ticks = 0;
  Sandbox *sandbox = sandbox_new(&config);
  assert_non_null(sandbox);
  return sandbox;
}

static void load(Sandbox *sandbox, const char *script) {
  assert_int_equal(sandbox_load(sandbox, script, strlen(script), "=script"), SANDBOX_OK);
}

static SandboxLimits limits_of(uint64_t microseconds) {
  return (SandboxLimits){.fuel = 100000000, .microseconds = microseconds};
}

static SandboxEnd call(Sandbox *sandbox, const char *script, uint64_t microseconds) {
  const SandboxLimits limits = limits_of(microseconds);
  load(sandbox, script);
  return sandbox_call(sandbox, 0, 0, &limits);
}

/* In slices of thirty looks. */
static SandboxEnd run_task(Sandbox *sandbox, const char *script, uint64_t microseconds) {
  const SandboxLimits limits = limits_of(microseconds);
  Task *task;
  load(sandbox, script);
  assert_int_equal(task_start(sandbox, 0, &limits, &task), SANDBOX_OK);
  while (task_step(task, 30, 0, NULL) == TASK_READY) continue;
  SandboxEnd end = task_end(task);
  task_free(task);
  return end;
}

typedef SandboxEnd Run(Sandbox *sandbox, const char *script, uint64_t microseconds);

static void stop_everywhere(Run *run) {
  uint32_t collecting = 0;
  for (uint64_t last = 20;; last++) {
    Sandbox *sandbox = small_sandbox();
    SandboxEnd end = run(sandbox, FILL, last);
    collecting += sandbox->cycles_due > 0;
    if (end != SANDBOX_MEMORY_OUT) {
      assert_int_equal(end, SANDBOX_DEADLINE_OVER);
      SandboxEnd next = run(sandbox, NEXT, 1000000);
      if (next != SANDBOX_OK) fail_msg("stopped at look %u: the next one ends with %d", (unsigned)last, next);
    }
    sandbox_free(sandbox);
    if (end == SANDBOX_MEMORY_OUT) break;
  }
  assert_true(collecting > 10);
}

static void what_a_call_held_is_free(void **state) {
  (void)state;
  stop_everywhere(call);
}

static void what_a_task_held_is_free(void **state) {
  (void)state;
  stop_everywhere(run_task);
}

static int measure(lua_State *L) {
  *(GuardLayout *)lua_touserdata(L, 1) = guard_measure_layout(L);
  return 0;
}

static void another_layout_is_not_known(void **state) {
  (void)state;
  Sandbox *sandbox = small_sandbox();
  lua_State *L = sandbox_state(sandbox);
  GuardLayout own = {0};
  lua_pushcfunction(L, measure);
  lua_pushlightuserdata(L, &own);
  assert_int_equal(lua_pcall(L, 1, 0, 0), LUA_OK);
  sandbox_free(sandbox);
  assert_true(guard_knows_layout(&own));

  const struct { const char *name; GuardLayout layout; } rows[] = {
    {"texts with a longer header", {own.string + 8, own.key, own.value}},
    {"texts without the byte that ends them", {own.string - 1, own.key, own.value}},
    {"larger keys", {own.string, own.key + 8, own.value}},
    {"smaller keys", {own.string, own.key - 8, own.value}},
    {"values of eight bytes", {own.string, own.key, own.value / 2}},
    {"nothing", {0, 0, 0}},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (guard_knows_layout(&rows[i].layout)) fail_msg("%s: known", rows[i].name);
  }
}

/* The system's memory, but for blocks that no test can have. */
static void *allocate_small(void *user, void *block, size_t old_size, size_t new_size) {
  const Memory memory = memory_system();
  (void)user;
  return new_size >> 30 != 0 ? NULL : memory.allocate(memory.user, block, old_size, new_size);
}

/* As a script's table that had half of it grows; true if the sandbox refuses it, false if the host's memory does. */
static bool refuses_growth(uint64_t keys, uint64_t microseconds) {
  const size_t room = (size_t)1 << 50;
  SandboxConfig config = {.memory = {.allocate = allocate_small}, .memory_limit = room, .block_limit = room};
  Sandbox *sandbox = sandbox_new(&config);
  assert_non_null(sandbox);
  int class = 0;
  while (keys >> (class + 1) != 0) class++;
  sandbox->current = sandbox_state(sandbox);
  sandbox->limits.microseconds = microseconds;
  sandbox->hashes[class - 1] = 1;
  assert_null(guard_allocate(sandbox, NULL, 0, keys * 24));
  bool refused = sandbox->refused_growth;
  sandbox->current = NULL;
  sandbox_free(sandbox);
  return refused;
}

/* The square of 2^32 keys and more is 0 in 64 bits. */
static void growth_takes_the_square_of_all_keys(void **state) {
  (void)state;
  for (int class = 27; class < 43; class++) {
    uint64_t keys = UINT64_C(1) << class;
    if (!refuses_growth(keys, 2000000)) fail_msg("2^%d keys may be rehashed in two seconds", class);
  }
  assert_false(refuses_growth(UINT64_C(1) << 27, UINT64_C(1) << 53));
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(what_a_call_held_is_free),
    cmocka_unit_test(what_a_task_held_is_free),
    cmocka_unit_test(another_layout_is_not_known),
    cmocka_unit_test(growth_takes_the_square_of_all_keys),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
