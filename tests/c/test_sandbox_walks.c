/*
** pairs and next over many keys pause where a slice ends. Here another task changes the table meanwhile: each key that
** was there all the time is met once.
*/
#include <string.h>

#include "check.h"
#include "sandbox/sandbox_state.h"

static void load(Sandbox *sandbox, const char *script) {
  if (sandbox_load(sandbox, script, strlen(script), "=s") != SANDBOX_OK) fail_msg("%s", sandbox_message(sandbox));
}

static void run_beside(const char *walker, const char *changer) {
  Sandbox *sandbox = sandbox_new(&(SandboxConfig){.seed = 7});
  SandboxLimits limits = {.fuel = UINT64_C(1) << 40};
  load(sandbox, "T, L = {}, {} for i = 1, 1500 do T['k' .. i] = i L[i] = i end");
  assert_int_equal(sandbox_call(sandbox, 0, 0, &limits), SANDBOX_OK);
  Task *walks, *changes;
  load(sandbox, walker);
  assert_int_equal(task_start(sandbox, 0, &limits, &walks), SANDBOX_OK);
  load(sandbox, changer);
  assert_int_equal(task_start(sandbox, 0, &limits, &changes), SANDBOX_OK);
  int steps = 0;
  for (; task_step(walks, 0, 3000, NULL) == TASK_READY; steps++) task_step(changes, 0, 3000, NULL);
  if (task_end(walks) != SANDBOX_OK) fail_msg("%s beside %s: %s", walker, changer, sandbox_message(sandbox));
  assert_true(steps > 10);
  sandbox_free(sandbox);
}

static void walks_bear_changes_by_other_tasks(void **state) {
  (void)state;
  static const char *const walkers[] = {
    "for _ = 1, 3 do local n, seen = 0, {} for k, v in pairs(T) do assert(not seen[k]) seen[k] = true"
    " if k:find '^k' then n = n + 1 end end assert(n == 1500, n) end",
    "for _ = 1, 3 do local n = 0 for k, v in pairs(L) do"
    " if math.type(k) == 'integer' then n = n + 1 assert(k == n and k == v) end end"
    " assert(n == 1500, n) end",
    "for _ = 1, 30 do assert(next(T, 'k10') == 'k100') end"};
  static const char *const changers[] = {
    "for i = 1, math.huge do T['x' .. i] = i L['x' .. i] = i end",
    "for i = 1, math.huge do for j = 1, 500 do T['x' .. i .. j] = i L['y' .. j + 0.5] = 1 end"
    " for k in pairs(T) do if k:find '^x' then T[k] = nil end end end"};
  for (size_t i = 0; i < sizeof walkers / sizeof *walkers; i++) {
    for (size_t j = 0; j < sizeof changers / sizeof *changers; j++) run_beside(walkers[i], changers[j]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(walks_bear_changes_by_other_tasks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
