/*
** Slices: forty shapes of work in steps of 1,000 us, and scripts that once outlived their end.
**
** The clock is the processor time of this thread, so a busy machine blames no script; what took
** too long is tried again. On a slow or sanitized machine a plain loop says what "long" is.
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

#include "os/os.h"
#include "sandbox/sandbox_state.h"
#include "slice_rows.h"

#define SLICE      1000     /* microseconds */
#define LONGEST    3000     /* of one step, on a machine of LOOP_US */
#define LONGEST_DEEP 6000   /* where a stack of megabytes is grown and collected: each at once */
#define USUAL      1500     /* of nearly all */
#define OVER_ONE_IN 100     /* quiet machines have one in 1,000 */
#define DEADLINE   100000
#define AFTER      5000     /* from the deadline, or from being cancelled, to the end */
#define LOOP_FUEL  2000000
#define LOOP_US    12000    /* that a plain loop of LOOP_FUEL lasts, at most, on a machine that is not slow */

#ifdef __SANITIZE_ADDRESS__
#define INSTRUMENTED 20    /* times that what C does takes longer; the loop does not */
#define FULL_MEMORY (8 << 20)
#else
#define INSTRUMENTED 1
#define FULL_MEMORY (64 << 20)
#endif

static int64_t processor_time(void *user) {
  (void)user;
  return (int64_t)(clock_thread_ns() / 1000);
}

static SandboxConfig full;   /* memory and its limit for sandboxes; zero-filled: as usual */

static Sandbox *new_sandbox(void) {
  SandboxConfig config = {.now = processor_time, .seed = 7, .memory = full.memory, .memory_limit = full.memory_limit};
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
  return INSTRUMENTED * (spent <= LOOP_US ? 100 : spent * 100 / LOOP_US);
}

#define TRIES 3            /* of what took too long */

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
    add_time(&times, (processor_time(NULL) - before) * 100 / slow, 100);
  } while (state == TASK_READY);
  *end = task_end(task);
  snprintf(message, size, "%s", *end != SANDBOX_OK ? sandbox_message(sandbox) : "");
  sandbox_free(sandbox);
  return times;
}

static bool check_shape(const Shape *shape, Times *all, int64_t most, int64_t longest, bool last) {
  SandboxEnd end;
  char message[200];
  Times times = run_slices(shape->script, most, &end, message, sizeof message);
  bool right = times.longest <= longest && (end == SANDBOX_OK || end == SANDBOX_DEADLINE_OVER);
  if (getenv("SHOW") != NULL || (!right && last))
    printf("%-45s %5d steps, longest %6.2f ms, %3d over %s\n", shape->name, (int)times.steps,
           (double)times.longest / 1000, (int)times.over, message);
  if (!right && !last) return false;
  all->steps += times.steps;
  all->over += times.over;
  return right;
}

static bool passes(const Shape *shape, Times *all, int64_t most, int64_t longest) {
  for (int i = 1; i <= TRIES; i++) {
    if (check_shape(shape, all, most, longest, i == TRIES)) return true;
  }
  return false;
}

static void slices_of_forty_shapes_end_in_time(void **state) {
  (void)state;
  int wrong = 0;
  Times all = {0};
  for (size_t i = 0; i < sizeof SHAPES / sizeof *SHAPES; i++) wrong += !passes(&SHAPES[i], &all, DEADLINE, LONGEST);
  if (getenv("SHOW") != NULL) printf("%d of %d steps over\n", (int)all.over, (int)all.steps);
  assert_int_equal(wrong, 0);
  assert_true(all.over * OVER_ONE_IN <= all.steps);
}

/* To grow takes the last table some milliseconds at once. */
static void walks_over_many_keys_end_in_time(void **state) {
  (void)state;
  int wrong = 0;
  Times all = {0};
  for (size_t i = 0; i < sizeof WALKS / sizeof *WALKS; i++) {
    wrong += !passes(&WALKS[i], &all, 100 * DEADLINE, LONGEST_DEEP);
  }
  if (getenv("SHOW") != NULL) printf("%d of %d steps over\n", (int)all.over, (int)all.steps);
  assert_int_equal(wrong, 0);
}

/* An allocator that does little for each small block: the system's merges a million of them at once, and gives back all
   memory at once, which takes 20 ms each. Cells of 16, 32 ... bytes go to lists, and stay there. */
#define CELL_MAX 1024

static void *cells[CELL_MAX / 16 + 1];
static char *slab;
static size_t slab_left;

static void *new_cell(size_t class) {
  void *cell = cells[class];
  if (cell != NULL) {
    memcpy(&cells[class], cell, sizeof(void *));
    return cell;
  }
  if (slab_left < CELL_MAX) {
    slab_left = 1 << 20;
    slab = malloc(slab_left);
    if (slab == NULL) return NULL;
  }
  slab_left -= 16 * class;
  return slab + slab_left;
}

static void *allocate_cell(void *user, void *block, size_t old_size, size_t new_size) {
  (void)user;
  size_t old_class = block != NULL ? (old_size + 15) / 16 : 0, new_class = (new_size + 15) / 16;
  bool old_big = old_size > CELL_MAX, new_big = new_size > CELL_MAX;
  if (block != NULL && old_big && new_big) return realloc(block, new_size);
  if (block != NULL && !old_big && old_class == new_class) return block;
  void *result = new_size == 0 ? NULL : new_big ? malloc(new_size) : new_cell(new_class);
  if (block == NULL || (result == NULL && new_size != 0)) return result;
  if (result != NULL) memcpy(result, block, old_size < new_size ? old_size : new_size);
  if (old_big) {
    free(block);
  } else {
    memcpy(block, &cells[old_class], sizeof(void *));
    cells[old_class] = block;
  }
  return result;
}

/* Where Lua collects all at once for a block that was refused, a step takes 40 to 120 ms. */
static void slices_end_where_memory_is_full(void **state) {
  (void)state;
  int wrong = 0;
  Times all = {0};
  full = (SandboxConfig){.memory = {.allocate = allocate_cell}, .memory_limit = FULL_MEMORY};
  for (size_t i = 0; i < sizeof FULL / sizeof *FULL; i++) wrong += !passes(&FULL[i], &all, 12 * DEADLINE, LONGEST);
  full = (SandboxConfig){0};
  if (getenv("SHOW") != NULL) printf("%d of %d steps over\n", (int)all.over, (int)all.steps);
  assert_int_equal(wrong, 0);
}

/* Lua's table of short strings is a block of 8 MiB then. Refused, Lua would collect for each new string. */
static void many_short_strings_cost_what_they_take(void **state) {
  (void)state;
  Sandbox *sandbox = new_sandbox();
  SandboxLimits limits = {.fuel = 100000000};
  load(sandbox, "local all, n = {}, 0 for i = 1, 12 do local t = {} all[i] = t for j = 1, 50000 do n = n + 1"
                " t[j] = 'k' .. n end end");
  if (sandbox_call(sandbox, 0, 0, &limits) != SANDBOX_OK) fail_msg("%s", sandbox_message(sandbox));
  sandbox_free(sandbox);
}

/* ---- from the deadline, or from being cancelled, to the end ---- */

typedef enum Way { BY_DEADLINE, BY_DEADLINE_IN_SLICES, BY_CANCEL, WAYS } Way;

static const char *const WAY_NAMES[WAYS] = {"deadline", "deadline in slices", "cancel"};

typedef struct Watch {
  Sandbox *sandbox;
  int64_t cancel_at;         /* 0: never */
} Watch;

/* The sandbox asks for the time when it looks at its limits: so it is cancelled within a slice. */
static int64_t cancelling_time(void *user) {
  Watch *watch = user;
  int64_t now = processor_time(NULL);
  if (watch->cancel_at != 0 && now >= watch->cancel_at) sandbox_cancel(watch->sandbox);
  return now;
}

static SandboxEnd run_in_slices(Sandbox *sandbox, const SandboxLimits *limits) {
  Task *task;
  assert_int_equal(task_start(sandbox, 0, limits, &task), SANDBOX_OK);
  while (task_step(task, SLICE, 0, NULL) == TASK_READY) continue;
  SandboxEnd end = task_end(task);
  task_free(task);
  return end;
}

static bool stops(const Shape *shape, Way way, bool last) {
  Watch watch = {0};
  SandboxConfig config = {.now = cancelling_time, .user = &watch, .seed = 7};
  Sandbox *sandbox = watch.sandbox = sandbox_new(&config);
  assert_non_null(sandbox);
  int64_t slow = slowness();
  SandboxLimits limits = {.microseconds = way == BY_CANCEL ? 20 * DEADLINE : DEADLINE};
  load(sandbox, shape->script);
  int64_t began = processor_time(NULL);
  if (way == BY_CANCEL) watch.cancel_at = began + DEADLINE;
  SandboxEnd end = way == BY_DEADLINE ? sandbox_call(sandbox, 0, 0, &limits) : run_in_slices(sandbox, &limits);
  int64_t after = (processor_time(NULL) - began - DEADLINE) * 100 / slow;
  watch.cancel_at = 0;
  sandbox_uncancel(sandbox);
  bool early = end == SANDBOX_DEADLINE_OVER && way != BY_DEADLINE;    /* for it cannot yield */
  bool right = (early || end == (way == BY_CANCEL ? SANDBOX_CANCELLED : SANDBOX_DEADLINE_OVER)) && after <= AFTER;
  if (right) {
    load(sandbox, "local t = {} for i = 1, 100 do t[i] = {} end assert(pcall(error) == false)");
    assert_int_equal(sandbox_call(sandbox, 0, 0, NULL), SANDBOX_OK);
  }
  if (getenv("SHOW") != NULL || (!right && last))
    printf("%-45s %-18s %6.2f ms after it, %s\n", shape->name, WAY_NAMES[way], (double)after / 1000,
           sandbox_message(sandbox));
  sandbox_free(sandbox);
  return right;
}

static void scripts_end_soon_after_their_deadline(void **state) {
  (void)state;
  int wrong = 0;
  for (size_t i = 0; i < sizeof STOPPED / sizeof *STOPPED; i++) {
    for (int way = 0; way < WAYS; way++) {
      bool right = false;
      for (int attempt = 1; attempt <= TRIES && !right; attempt++) right = stops(&STOPPED[i], way, attempt == TRIES);
      wrong += !right;
    }
  }
  assert_int_equal(wrong, 0);
}

/* ---- instructions that take a thousand times as long as others ---- */

static int steps_of_chain(unsigned off) {
  Task *task = NULL;
  SandboxConfig config = {.now = processor_time, .seed = 7};
#ifdef SANDBOX_SWITCHES
  config.off = off;
#else
  (void)off;
#endif
  Sandbox *sandbox = sandbox_new(&config);
  assert_non_null(sandbox);
  SandboxLimits limits = {.microseconds = 3 * DEADLINE};
  int steps = 0;
  load(sandbox, INDEX_CHAIN);
  assert_int_equal(task_start(sandbox, 0, &limits, &task), SANDBOX_OK);
  while (task_step(task, SLICE, 0, NULL) == TASK_READY) steps++;
  sandbox_free(sandbox);
  return steps;
}

static void dear_instructions_make_the_hook_come_sooner(void **state) {
  (void)state;
  int steps = steps_of_chain(0), without = steps_of_chain(GUARD_DEAR);
  if (getenv("SHOW") != NULL) printf("%d slices, %d without the guard\n", steps, without);
#ifdef SANDBOX_SWITCHES
  assert_true(steps >= 2 * without);
#endif
}

#define LOOK_US 400    /* that pass from one look at the clock to the next */

static int64_t time_by_looks(void *user) {
  int64_t *now = user;
  return *now += LOOK_US;
}

/* The longest of some steps while a text lives whose instructions may be dear, by a clock that each look moves on. */
static uint64_t longest_among_dear(unsigned off) {
  int64_t now = 1;
  Task *task = NULL;
  SandboxConfig config = {.now = time_by_looks, .user = &now, .seed = 7};
#ifdef SANDBOX_SWITCHES
  config.off = off;
#else
  (void)off;
#endif
  Sandbox *sandbox = sandbox_new(&config);
  assert_non_null(sandbox);
  SandboxLimits limits = {.microseconds = UINT64_C(1) << 40};
  uint64_t longest = 0;
  load(sandbox, "local s = ('x'):rep(2^20) while true do local _ = #s end");
  assert_int_equal(task_start(sandbox, 0, &limits, &task), SANDBOX_OK);
  for (int i = 0; i < 20; i++) {
    uint64_t before = task_used(task).microseconds;
    assert_int_equal(task_step(task, SLICE, 0, NULL), TASK_READY);
    uint64_t spent = task_used(task).microseconds - before - LOOK_US;   /* the last look is the step's end */
    if (i > 0 && spent > longest) longest = spent;   /* the text is made in the first */
  }
  sandbox_free(sandbox);
  return longest;
}

static void slices_end_before_what_would_end_after_them(void **state) {
  (void)state;
  assert_int_equal(longest_among_dear(0), SLICE / LOOK_US * LOOK_US);
#ifdef SANDBOX_SWITCHES
  assert_int_equal(longest_among_dear(GUARD_DEAR), (SLICE / LOOK_US + 1) * LOOK_US);
#endif
}

static void slices_of_those_end_in_time(void **state) {
  (void)state;
  int wrong = 0;
  Times all = {0};
  for (size_t i = 0; i < sizeof STOPPED / sizeof *STOPPED - UNSLICED; i++)
    wrong += !passes(&STOPPED[i], &all, DEADLINE, LONGEST_DEEP);
  assert_int_equal(wrong, 0);
}

static void what_cannot_yield_is_stopped(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof LATE / sizeof *LATE; i++) {
    SandboxEnd end;
    char message[200];
    Times times = run_slices(LATE[i].script, 10 * DEADLINE, &end, message, sizeof message);
    assert_int_equal(end, SANDBOX_DEADLINE_OVER);
    if (strstr(message, "cannot be interrupted, and went on for 10 ms after its slice") == NULL)
      fail_msg("%s", message);
    if (times.steps != 1 || times.longest > SLICE + 10000 + LONGEST)
      fail_msg("%s: %d steps, the longest of %d us", LATE[i].name, (int)times.steps, (int)times.longest);
    if (getenv("SHOW") != NULL) printf("%s: %d us, %s\n", LATE[i].name, (int)times.longest, message);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(slices_of_forty_shapes_end_in_time), cmocka_unit_test(walks_over_many_keys_end_in_time),
    cmocka_unit_test(slices_end_where_memory_is_full), cmocka_unit_test(many_short_strings_cost_what_they_take),
    cmocka_unit_test(scripts_end_soon_after_their_deadline),
    cmocka_unit_test(dear_instructions_make_the_hook_come_sooner),
    cmocka_unit_test(slices_end_before_what_would_end_after_them),
    cmocka_unit_test(slices_of_those_end_in_time), cmocka_unit_test(what_cannot_yield_is_stopped)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
