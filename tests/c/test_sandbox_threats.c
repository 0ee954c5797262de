/*
** Threats against a sandbox: each in the main chunk, in a coroutine, in a
** metamethod and behind pcall; it stops soon after its deadline, and the next
** script runs. Those of them that are made of C functions stop by their fuel as
** well. Then each guard is switched off, and its threat gets through.
**
** The sandbox's clock is the processor time of this process, and what "soon" is
** says a plain loop of Lua that is timed in the same run: a busy, slow or sanitized
** machine does not fail the test. What took too long is tried once more.
*/
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "sandbox/sandbox_state.h"
#include "sandbox_rows.h"

#define DEADLINE 100000   /* microseconds */
#define SOONER   25000    /* for the places that repeat a row; as late as with DEADLINE they may be */
#define PLENTY   (100 * DEADLINE)   /* where a deadline is not what is tested */
#define FUEL     2000000  /* about 10 ms of a plain loop */
#define LATE     8        /* plain loops of FUEL that may go by between a deadline and the end of its script */
#ifdef __SANITIZE_ADDRESS__
#define FUEL_LATE 100     /* and before a script has used up FUEL: what C does is slow here, and the loop is not */
#else
#define FUEL_LATE 50
#endif
#define SCRIPT_MAX 4096

static int64_t processor_time(void *user) {
  (void)user;
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static Status module(void *user, const char *name, const char **text, size_t *size) {
  (void)user;
  static const char *const modules[][2] = {
    {"answer", "local name = ... assert(name == 'answer') return 42"},
    {"circle", "return require 'circle'"},
    {"bytecode", "\033Lua"}};
  for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
    if (strcmp(name, modules[i][0]) != 0) continue;
    *text = modules[i][1];
    *size = strlen(*text);
    return STATUS_OK;
  }
  return STATUS_ABSENT;
}

static size_t held;      /* bytes that the sandboxes hold */

static void *allocate(void *user, void *block, size_t old_size, size_t new_size) {
  (void)user;
  void *result = new_size != 0 ? realloc(block, new_size) : NULL;
  if (new_size == 0) free(block);
  if (new_size == 0 || result != NULL) held += new_size - old_size;
  return result;
}

static SandboxConfig config_for(uint64_t deadline) {
  return (SandboxConfig){.memory = {.allocate = allocate}, .now = processor_time, .module = module,
                         .limits = {UINT64_C(1) << 60, deadline}};
}

static SandboxEnd run(Sandbox *sandbox, const char *script, const SandboxLimits *limits) {
  SandboxEnd end = sandbox_load(sandbox, script, strlen(script), "=script");
  return end != SANDBOX_OK ? end : sandbox_call(sandbox, 0, 0, limits);
}

/* OLD: a coroutine that was made before any hook was set, and loops. */
static int make_old(lua_State *L) {
  lua_State *old = lua_newthread(L);
  THREAD_FLAGS(old) = 0;
  luaL_loadstring(old, "while true do pcall(function() while true do end end) end");
  lua_setglobal(L, "OLD");
  return 0;
}

static Sandbox *new_sandbox(uint64_t deadline) {
  SandboxConfig config = config_for(deadline);
  Sandbox *sandbox = sandbox_new(&config);
  assert_non_null(sandbox);
  return sandbox;
}

/* Microseconds that FUEL lasts for a plain loop, at this moment. */
static int64_t time_of_loop(void) {
  Sandbox *sandbox = new_sandbox(0);
  SandboxLimits limits = {.fuel = FUEL};
  int64_t before = processor_time(NULL);
  SandboxEnd end = run(sandbox, "while true do end", &limits);
  int64_t spent = processor_time(NULL) - before;
  assert_int_equal(end, SANDBOX_FUEL_OUT);
  sandbox_free(sandbox);
  return spent;
}

static int64_t loop;   /* as it was timed last */

/* Times the loop anew: before the first row, and when one took too long. */
static int set_up_loop(void **state) {
  (void)state;
  int64_t first = time_of_loop(), second = time_of_loop();
  loop = first > second ? first : second;
  return 0;
}

/* ---- the rows ---- */

static const char *const PLACES[] = {"main chunk", "coroutine", "metamethod", "pcall"};

static void put(char *out, int place, const Row *row) {
  const char *format = "%s";
  if (place == 1) format = "coroutine.wrap(function() %s end)()";
  if (place == 2) format = "local _ = setmetatable({}, {__index = function() %s end}).x";
  if (place == 3 && row->expected == STOPS) {
    format = "local function f() %s end pcall(f) while true do pcall(f) end";
  } else if (place == 3) {
    format = "local ok, e = pcall(function() %s end) if not ok then error(e, 0) end";
  }
  assert_true(snprintf(out, SCRIPT_MAX, format, row->script) < SCRIPT_MAX);
}

/* False if it went otherwise; the last try says so. */
static bool check_row(const Row *row, int place, bool last) {
  char script[SCRIPT_MAX];
  put(script, place, row);
  int64_t deadline = place == 0 ? DEADLINE : SOONER;
  /* What ends by itself shows what it does; its time is held against the loop below, as a busy machine may be slow. */
  Sandbox *sandbox = new_sandbox((uint64_t)(row->expected == ENDS ? PLENTY : deadline));
  assert_int_equal(sandbox_run(sandbox, make_old, NULL), SANDBOX_OK);
  int64_t before = processor_time(NULL);
  SandboxEnd end = run(sandbox, script, NULL);
  int64_t spent = processor_time(NULL) - before;
  bool stopped = end == SANDBOX_DEADLINE_OVER;
  bool right = row->expected == STOPS ? stopped : row->expected == ENDS ? end == SANDBOX_OK : end != SANDBOX_SYNTAX;
  SandboxLimits plenty = {.microseconds = PLENTY};     /* it may have to collect what the row left */
  right = right && spent <= deadline + LATE * loop &&
          run(sandbox, "assert(('x'):rep(3) == 'xxx' and pcall(error) == false)", &plenty) == SANDBOX_OK;
  if ((!right && last) || getenv("SHOW") != NULL) {
    printf("%-45s %-11s %6.1f ms %s: %s\n", row->threat, PLACES[place], (double)spent / 1000,
           end == SANDBOX_OK ? "ok" : sandbox_end_code(end), end == SANDBOX_OK ? "" : sandbox_message(sandbox));
  }
  sandbox_free(sandbox);
  if (held != 0) fail_msg("%s: %zu bytes were never freed", row->threat, held);
  return right;
}

static bool passes(const Row *row, int place) {
  if (check_row(row, place, false)) return true;
  set_up_loop(NULL);
  return check_row(row, place, true);
}

/* With SAMPLE a row is tried in the main chunk and in one of the other places, which SEED decides. */
static void threats_stop_in_time(void **state) {
  (void)state;
  int wrong = 0, tried = 0;
  bool samples = test_sample() > 1;
  uint64_t seed = test_seed();
  for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
    int other = 1 + (int)(test_random(&seed) % 3);
    for (int place = 0; place < 4; place++) {
      if (samples && place != 0 && place != other) continue;
      tried++;
      wrong += !passes(&ROWS[i], place);
    }
  }
  printf("swept: %zu threats, %d places of them\n", sizeof ROWS / sizeof *ROWS, tried);
  assert_int_equal(wrong, 0);
}

/* ---- by fuel alone ---- */

/* Their work is in Lua's own instructions, or in finding the first field of an
   emptied table, whose size Lua does not show: only a deadline sees it. */
static const char *const UNSEEN[] = {
  "varargs in a loop", "== on equal long strings", "< on equal long strings", "< on long strings of zeros",
  "< on long strings with as many zeros as may be",
  "< on many strings of zeros of middle length", "a walk along a chain of keys", "a chain of __index",
  "next over an emptied table"};

static bool is_seen(const Row *row) {
  for (size_t i = 0; i < sizeof UNSEEN / sizeof *UNSEEN; i++) {
    if (strcmp(row->threat, UNSEEN[i]) == 0) return false;
  }
  return row->expected == STOPS;
}

static bool fuel_stops(const Row *row, bool last) {
  Sandbox *sandbox = new_sandbox(0);
  assert_int_equal(sandbox_run(sandbox, make_old, NULL), SANDBOX_OK);
  SandboxLimits limits = {.fuel = FUEL, .microseconds = (uint64_t)(4 * FUEL_LATE * loop)};   /* lest the test hangs */
  int64_t before = processor_time(NULL);
  SandboxEnd end = run(sandbox, row->script, &limits);
  int64_t spent = processor_time(NULL) - before;
  bool right = end == SANDBOX_FUEL_OUT && spent <= FUEL_LATE * loop;
  if ((!right && last) || getenv("SHOW") != NULL) {
    printf("%-45s %6.1f ms, %5.1f loops %s\n", row->threat, (double)spent / 1000, (double)spent / (double)loop,
           sandbox_message(sandbox));
  }
  sandbox_free(sandbox);
  return right;
}

static void fuel_alone_stops_functions(void **state) {
  (void)state;
  int wrong = 0;
  for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
    if (!is_seen(&ROWS[i]) || fuel_stops(&ROWS[i], false)) continue;
    set_up_loop(NULL);
    wrong += !fuel_stops(&ROWS[i], true);
  }
  assert_int_equal(wrong, 0);
}

/* ---- what a call held that ran out of memory ---- */

/* Little is left by chance, so there are some limits. */
static void its_memory_is_there_for_the_next_call(void **state) {
  (void)state;
  for (size_t more = 0; more < 64; more += 8) {
    SandboxConfig config = config_for(PLENTY);
    config.memory_limit = (1 << 20) + more;
    Sandbox *sandbox = sandbox_new(&config);
    assert_non_null(sandbox);
    const char *fills = "local f = print while true do local g = f f = function() return g end end";
    assert_int_equal(run(sandbox, fills, NULL), SANDBOX_MEMORY_OUT);
    if (run(sandbox, "local s = ('x'):rep(400000) assert(#(s .. 'y') > 0)", NULL) != SANDBOX_OK)
      fail_msg("%zu bytes: %s", config.memory_limit, sandbox_message(sandbox));
    sandbox_free(sandbox);
  }
}

/* ---- each guard switched off ---- */

/* With the guard it ends well: in time, by its fuel if some is given, and not by an
   error of its own. Without it it does not. */
typedef struct Off {
  Guard guard;
  uint64_t fuel;
  const char *script;
} Off;

static const Off OFFS[] = {
  {GUARD_MATCH, 0, "local _ = ('a'):rep(300):find('.-.-.-.-b')"},
  {GUARD_RANGE, 0, "pcall(function() ('').rep('', 1 << 60) end)"},
  {GUARD_RANGE, 0, "local s, t = ('a'):rep(2^19), ('a'):rep(2^18) .. 'b' local _ = s:find(t, 1, true)"},
  {GUARD_RANGE, 0, "pcall(table.move, {}, 1, 2^53 | 0, 2)"},
  {GUARD_THREAD, 0, "coroutine.resume(OLD)"},
  {GUARD_LANDING, 0, "while true do pcall(function() while true do end end) end"},
  {GUARD_LANDING, 0, "xpcall(function() while true do end end, function() while true do end end)"},
  {GUARD_CATCH, 3000000,
   "local function f(n) if n > 0 then return 1 + f(n - 1) end for _ = 1, 60 do pcall(error) end end f(10000)"},
  {GUARD_FINALIZER, 0,
   "pcall(setmetatable, {}, {__gc = function() while true do end end}) for i = 1, 99999 do local _ = {} end"},
  {GUARD_LANDING, 0,
   "coroutine.wrap(function() local x <close> = setmetatable({}, {__close = function() while true do end end})"
   " while true do end end)()"},
  {GUARD_FAILURE, 3000000,
   "local list local function f() list = {list} end pcall(function() while true do f() end end) while true do"
   " pcall(f) end"},
  {GUARD_BYTES, 20000, "local s = ('x'):rep(7000) for i = 1, 3000 do local _ = s .. 'y' end"},
  {GUARD_LONG, 0, "local a, b = ('\\0'):rep(2^19), ('\\0'):rep(2^19) while not (a < b) do end"},
  {GUARD_DENSE, 0, "assert(not pcall(function() return #('\\0'):rep(2^19 + 1) end))"},
  {GUARD_BLOCK, 0, "local s = ('x'):rep(3 * 10^6) assert(not pcall(function() return s .. s end))"},
  {GUARD_COLLECT, 0, "assert(not pcall(collectgarbage))"},
  {GUARD_TEXT, 0,
   "assert(not pcall(require, 'bytecode')) local _, why = load('\\27Lua') assert(why:find 'attempt to load')"},
  {GUARD_META, 0, "assert(type(getmetatable('')) ~= 'table')"},
  {GUARD_DEPTH, 0,
   "local t = {} for i = 1, 4000 do t[i] = coroutine.create(function() local x <close> = setmetatable({}, {__close ="
   " function() if t[i - 1] then coroutine.close(t[i - 1]) end end}) coroutine.yield() end) coroutine.resume(t[i]) end"
   " pcall(coroutine.close, t[#t])"},
  {GUARD_PARSE, 5000000, "local s = 'return ' .. ('x and '):rep(4900) .. 'x' for _ = 1, 5 do load(s) end"},
  {GUARD_PARSE, 5000000,
   "local names = 'local a' for i = 1, 180 do names = names .. ',a' .. i end"
   " local s = ('local function f() ' .. names .. ' '):rep(20) .. ('x = x '):rep(1000) .. ('end '):rep(20)"
   " for _ = 1, 5 do load(s) end"},
  {GUARD_GROWTH, 0, "local t, m = {}, (1 << 16) - 1 for i = 1, 33000 do t[i * m] = true end"},
  {GUARD_EXTRA, 3000000,
   "local function f(...) while true do local _ = type(...) end end f(('x'):rep(10000):byte(1, -1))"},
  {GUARD_WEAK, 0,
   "local m, all, weak, n = {}, {}, {}, 12000 for i = 1, n do all[i] = {} end"
   " for i = n, 2, -1 do local j = math.random(i) all[i], all[j] = all[j], all[i] end"
   " for i = 1, 3 do weak[i] = setmetatable({}, m) end for i = 2, n do weak[i % 3 + 1][all[i - 1]] = all[i] end"
   " local first = all[1] all = nil m.__mode = 'k' for i = 1, 9 do local _ = ('x'):rep(1000000) end"},
  {GUARD_LATE, 0, "xpcall(error, function() while true do end end)"},
  {GUARD_CONVERT, 0, "error(setmetatable({}, {__tostring = function() while true do end end}))"},
  {GUARD_ORDER, 0,
   "for round = 1, 99 do local t, last = {}, '' for i = 1, 99 do t['k' .. i] = i end"
   " for k in pairs(t) do assert(k > last) last = k end end"},
};

#define WELL 7   /* exit status of a child in which the guard held */
#define SLICE   1000  /* microseconds */
#define SLICED  20    /* deadlines that a script in slices has */

/* A busy machine may take long until memory is full, the coroutines are made or the script comes to its assertion; a
   deadline before that would hide whether the guard is needed. */
static int64_t deadline_of(const Off *off) {
  if (off->guard == GUARD_DEPTH || strstr(off->script, "assert") != NULL) return PLENTY;
  return off->guard == GUARD_FAILURE ? 5 * DEADLINE : DEADLINE;
}

static SandboxEnd run_in_slices(Sandbox *sandbox, const Off *off) {
  Task *task;
  SandboxLimits limits = {.microseconds = SLICED * DEADLINE};
  SandboxEnd end = sandbox_load(sandbox, off->script, strlen(off->script), "=script");
  if (end == SANDBOX_OK) end = task_start(sandbox, 0, &limits, &task);
  if (end != SANDBOX_OK) return end;
  while (task_step(task, SLICE, 0, NULL) == TASK_READY) continue;
  return task_end(task);
}

static bool ends_well(const Off *off, bool switched_off) {
  SandboxConfig config = config_for((uint64_t)deadline_of(off));
#ifdef SANDBOX_SWITCHES
  if (switched_off) config.off = off->guard;
#else
  (void)switched_off;
#endif
  if (off->guard == GUARD_FAILURE) config.memory_limit = 8 << 20;   /* full long before the deadline */
  if (off->fuel != 0) config.limits.fuel = off->fuel;
  Sandbox *sandbox = sandbox_new(&config);
  sandbox_run(sandbox, make_old, NULL);
  int64_t before = processor_time(NULL);
  SandboxEnd end = off->guard == GUARD_LATE ? run_in_slices(sandbox, off) : run(sandbox, off->script, NULL);
  bool in_time = processor_time(NULL) - before <= deadline_of(off) + LATE * loop;
  bool raised = end == SANDBOX_ERROR && off->guard != GUARD_CONVERT;
  bool by_fuel = off->fuel == 0 || end == SANDBOX_FUEL_OUT;
  return in_time && !raised && by_fuel && end != SANDBOX_SYNTAX;
}

/* In a child, with a small stack, for what gets through may loop or crash. */
static bool holds_in_child(const Off *off, bool switched_off) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    int64_t most = 2 * (deadline_of(off) + LATE * loop);
    struct itimerval timer = {.it_value = {most / 1000000, most % 1000000}};
    struct rlimit stack = {1 << 20, 1 << 20}, none = {0, 0};
    setitimer(ITIMER_PROF, &timer, NULL);    /* of processor time; its signal ends the child */
    setrlimit(RLIMIT_STACK, &stack);
    setrlimit(RLIMIT_CORE, &none);
    if (freopen("/dev/null", "w", stderr) == NULL) _exit(2);
    _exit(ends_well(off, switched_off) ? WELL : 1);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFEXITED(status) && WEXITSTATUS(status) == WELL;
}

static void each_guard_is_needed(void **state) {
  (void)state;
#ifndef SANDBOX_SWITCHES
  skip();
#endif
  int wrong = 0;
  for (size_t i = 0; i < sizeof OFFS / sizeof *OFFS; i++) {
    bool with = holds_in_child(&OFFS[i], false) || (set_up_loop(NULL) == 0 && holds_in_child(&OFFS[i], false));
    bool without = true;      /* a deadline may end a script before it comes to what is guarded */
    for (int tries = 0; tries < 4 && without; tries++)
      without = set_up_loop(NULL) == 0 && holds_in_child(&OFFS[i], true);
    if (with && !without) continue;
    printf("%s: %s, %s without\n", OFFS[i].script, with ? "held" : "broke", without ? "held" : "broke");
    wrong++;
  }
  assert_int_equal(wrong, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(threats_stop_in_time), cmocka_unit_test(fuel_alone_stops_functions),
    cmocka_unit_test(its_memory_is_there_for_the_next_call),
    cmocka_unit_test(each_guard_is_needed)};
  return cmocka_run_group_tests(tests, set_up_loop, NULL);
}
