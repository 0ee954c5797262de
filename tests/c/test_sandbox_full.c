/*
** A script is stopped at each look at the clock while its memory, which is full, is collected in slices. What it held
** is garbage for the next one.
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

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(what_a_call_held_is_free),
    cmocka_unit_test(what_a_task_held_is_free),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
