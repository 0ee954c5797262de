/*
** Fuel hangs on no clock: scripts run under clocks that find their instructions dear, always, never
** or at random, and pay the same, and end at the same instruction. SEED=n repeats a failed run.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "os/os.h"
#include "sandbox/sandbox_state.h"

enum { RUNS = 4, WORK_NS = 300000, DEAR_LOOKS = 100 };

/* A clock whose time passes as the test says: `dear` of 16 looks take 600 microseconds, and half as much of the
   processor, so that the guard takes what ran for dear instructions; but only DEAR_LOOKS of a run. */
typedef struct TestClock {
  int64_t now;
  uint32_t dear;
  uint32_t random;
  long looks, late;
} TestClock;

static int64_t tell_time(void *user) {
  TestClock *clock = user;
  clock->looks++;
  clock->random = clock->random * 1664525 + 1013904223;
  if (clock->random >> 28 >= clock->dear || clock->late == DEAR_LOOKS) return ++clock->now;
  clock->late++;
  uint64_t end = clock_thread_ns() + WORK_NS;
  while (clock_thread_ns() < end) continue;
  return clock->now += 600;
}

typedef struct Result {
  uint64_t fuel;
  long steps, looks;
  char answer[200];
} Result;

/* Runs a script to its end under a clock, in slices of `slice` units of fuel (0: in one). `limit`: its fuel. The answer
   is the error with which it ends. */
static Result run(const char *script, uint32_t dear, uint32_t seed, uint64_t slice, uint64_t limit) {
  TestClock clock = {.dear = dear, .random = seed};
  SandboxConfig config = {.seed = 7, .now = tell_time, .user = &clock};
  SandboxLimits limits = {.fuel = limit};
  Sandbox *sandbox = sandbox_new(&config);
  assert_non_null(sandbox);
  Task *task;
  Result result = {.steps = 1};
  if (sandbox_load(sandbox, script, strlen(script), "=s") != SANDBOX_OK) fail_msg("%s", sandbox_message(sandbox));
  assert_int_equal(task_start(sandbox, 0, &limits, &task), SANDBOX_OK);
  while (task_step(task, 0, slice, NULL) == TASK_READY) result.steps++;
  result.fuel = task_used(task).fuel;
  result.looks = clock.looks;
  snprintf(result.answer, sizeof result.answer, "%s", sandbox_message(sandbox));
  task_free(task);
  sandbox_free(sandbox);
  return result;
}

static const struct {
  const char *name, *script;
} SCRIPTS[] = {
  {"a loop", "local n = 0 for i = 1, 20000 do n = n + i end error('n ' .. n, 0)"},
  {"tables and texts",
   "local t = {} for i = 1, 200 do t['k' .. i] = {} t[i] = i end local s = '' for k in pairs(t) do s = s .. tostring(k) end\n"
   "for w in ('a b c d '):rep(50):gmatch '%a' do s = s .. w end table.sort(t) error('n ' .. #s, 0)"},
  {"coroutines that are made while others wait",
   "local waiting, n = {}, 0\n"
   "for i = 1, 60 do\n"
   "  waiting[i] = coroutine.wrap(function() while true do for j = 1, 7 * i do n = n + j end coroutine.yield() end end)\n"
   "  for j = 1, i, 3 do waiting[j]() end\n"
   "end error('n ' .. n, 0)"},
  {"a long text that comes and goes",
   "local n, s = 0 for i = 1, 6 do s = ('x'):rep(200000 * i) for j = 1, 900 do n = n + #s end s = nil collectgarbage 'count' end"
   " error('n ' .. n, 0)"},
  {"many arguments", "local n = 0 local function f(...) for i = 1, 40 do n = n + select('#', ...) end end\n"
   "for i = 1, 5 do f(table.unpack({}, 1, 900 * i)) end error('n ' .. n, 0)"},
  {"deep calls", "local function f(n) if n > 0 then return 1 + f(n - 1) end return 0 end local n = 0\n"
   "for i = 1, 40 do n = n + f(i * 7) end error('n ' .. n, 0)"},
};

static uint32_t read_seed(void) {
  const char *text = getenv("SEED");
  uint32_t seed = text != NULL ? (uint32_t)strtoul(text, NULL, 10) : 1;
  printf("SEED=%u\n", seed);
  return seed;
}

/* Every script, in one call and in slices, whole and with a fuel that ends it halfway. */
static void no_clock_decides_what_a_script_pays(void **state) {
  (void)state;
  uint32_t seed = read_seed();
  for (size_t i = 0; i < sizeof SCRIPTS / sizeof *SCRIPTS; i++) {
    for (int half = 0; half < 2; half++) {
      const char *script = SCRIPTS[i].script;
      uint64_t slice = (uint64_t[]){0, 700}[i % 2];
      uint64_t limit = half ? run(script, 0, 0, slice, SANDBOX_FUEL).fuel / 2 : SANDBOX_FUEL;
      Result calm = run(script, 0, 0, slice, limit);
      for (int k = 0; k < RUNS; k++) {
        Result other = run(script, k == 0 ? 16 : 1 + seed % 9, seed + (uint32_t)k, slice, limit);
        if (other.fuel != calm.fuel || other.steps != calm.steps || strcmp(other.answer, calm.answer) != 0)
          fail_msg("%s, run %d: %llu units in %ld steps, '%s'; else %llu in %ld, '%s'", SCRIPTS[i].name, k,
                   (unsigned long long)other.fuel, other.steps, other.answer, (unsigned long long)calm.fuel, calm.steps,
                   calm.answer);
        if (k == 0 && i == 0 && !half) assert_true(other.looks > 4 * calm.looks);   /* they were taken for dear */
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(no_clock_decides_what_a_script_pays)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
