/*
** Slices: forty shapes of work in steps of 1,000 us, and scripts that once outlived their end.
**
** The clock is the processor time of this thread, so a busy machine blames no script; what took
** too long is tried once more. On a slow or sanitized machine a plain loop says what "long" is.
*/
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "os/clock.h"
#include "sandbox/sandbox_state.h"
#include "slice_rows.h"

#define SLICE      1000     /* microseconds */
#define LONGEST    3000     /* of one step, on a machine of LOOP_US */
#define USUAL      1500     /* of 999 in 1,000 */
#define DEADLINE   100000
#define AFTER      5000     /* from the deadline, or from being cancelled, to the end */
#define LOOP_FUEL  2000000
#define LOOP_US    12000    /* that a plain loop of LOOP_FUEL lasts, at most, on a machine that is not slow */

static int64_t processor_time(void *user) {
  (void)user;
  return (int64_t)(clock_thread_ns() / 1000);
}

static Sandbox *new_sandbox(void) {
  SandboxConfig config = {.now = processor_time, .seed = 7};
  Sandbox *sandbox = sandbox_new(&config);
  assert_non_null(sandbox);
  return sandbox;
}

static void load(Sandbox *sandbox, const char *script) {
  if (sandbox_load(sandbox, script, strlen(script), "=s") != SANDBOX_OK) fail_msg("%s", sandbox_message(sandbox));
}

/* How much slower than LOOP_US this machine is now, in percent; 100 at least. */
static int64_t slowness(void) {
  Sandbox *sandbox = new_sandbox();
  SandboxLimits limits = {.fuel = LOOP_FUEL};
  load(sandbox, "while true do end");
  int64_t before = processor_time(NULL);
  assert_int_equal(sandbox_call(sandbox, 0, 0, &limits), SANDBOX_FUEL_OUT);
  int64_t spent = processor_time(NULL) - before;
  sandbox_free(sandbox);
  return spent <= LOOP_US ? 100 : spent * 100 / LOOP_US;
}

/* ---- slices ---- */

typedef struct Times {
  int64_t longest, over;     /* over: steps beyond USUAL */
  int64_t steps;
} Times;

static void add_time(Times *times, int64_t spent, int64_t slow) {
  times->steps++;
  if (spent > times->longest) times->longest = spent;
  if (spent > USUAL * slow / 100) times->over++;
}

/* Steps the script to its end, or for `most` microseconds. */
static Times run_slices(const char *script, int64_t most, SandboxEnd *end, char *message, size_t size) {
  Times times = {0};
  Task *task = NULL;
  Sandbox *sandbox = new_sandbox();
  SandboxLimits limits = {.microseconds = (uint64_t)most};
  int64_t slow = slowness();
  load(sandbox, script);
  assert_int_equal(task_start(sandbox, 0, &limits, &task), SANDBOX_OK);
  TaskState state;
  do {
    int64_t before = processor_time(NULL);
    state = task_step(task, SLICE, 0, NULL);
    if (getenv("STEPS") != NULL) printf("%d ", (int)(processor_time(NULL) - before));
    add_time(&times, (processor_time(NULL) - before) * 100 / slow, 100);
  } while (state == TASK_READY);
  *end = task_end(task);
  snprintf(message, size, "%s", *end != SANDBOX_OK ? sandbox_message(sandbox) : "");
  sandbox_free(sandbox);
  return times;
}

static bool check_shape(const Shape *shape, Times *all, bool last) {
  SandboxEnd end;
  char message[200];
  Times times = run_slices(shape->script, DEADLINE, &end, message, sizeof message);
  bool right = times.longest <= LONGEST && (end == SANDBOX_OK || end == SANDBOX_DEADLINE_OVER);
  if (getenv("SHOW") != NULL || (!right && last))
    printf("%-45s %5d steps, longest %6.2f ms, %3d over %s\n", shape->name, (int)times.steps,
           (double)times.longest / 1000, (int)times.over, message);
  if (!right && !last) return false;
  all->steps += times.steps;
  all->over += times.over;
  return right;
}

static void slices_of_forty_shapes_end_in_time(void **state) {
  (void)state;
  int wrong = 0;
  Times all = {0};
  for (size_t i = 0; i < sizeof SHAPES / sizeof *SHAPES; i++) {
    if (getenv("ONLY") != NULL && strcmp(getenv("ONLY"), SHAPES[i].name) != 0) continue;
    wrong += !check_shape(&SHAPES[i], &all, false) && !check_shape(&SHAPES[i], &all, true);
  }
  if (getenv("SHOW") != NULL) printf("%d of %d steps over\n", (int)all.over, (int)all.steps);
  assert_int_equal(wrong, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(slices_of_forty_shapes_end_in_time)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
