/*
** Tasks: slices through everything that a script can nest, requests, cancelling,
** fuel that repeats, memory that fails.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sandbox/sandbox_state.h"

static Sandbox *new_sandbox(void) {
  SandboxConfig config = {.seed = 7};
  Sandbox *sandbox = sandbox_new(&config);
  assert_non_null(sandbox);
  return sandbox;
}

static Task *start_task(Sandbox *sandbox, const char *script, const SandboxLimits *limits) {
  Task *task = NULL;
  if (sandbox_load(sandbox, script, strlen(script), "=task") != SANDBOX_OK) fail_msg("%s", sandbox_message(sandbox));
  assert_int_equal(task_start(sandbox, 0, limits, &task), SANDBOX_OK);
  return task;
}

/* Steps of `fuel` until the task ends; requests are answered by themselves. */
static TaskState run_task(Task *task, uint64_t fuel, int *steps, int *results) {
  TaskState state;
  for (*steps = 1; (state = task_step(task, 0, fuel, results)) == TASK_READY || state == TASK_REQUEST; ++*steps) {
    if (state == TASK_READY) continue;
    assert_int_equal(task_request(task), SANDBOX_OK);
    assert_int_equal(task_answer(task), SANDBOX_OK);
  }
  return state;
}

static const char NESTED[] =
  "local log = {}\n"
  "local function work(n) local x = 0 for i = 1, n do x = x + i end return x end\n"
  "local three = coroutine.wrap(function() while true do work(5000) coroutine.yield(3) end end)\n"
  "local two = coroutine.wrap(function() while true do work(5000) coroutine.yield(2 + three()) end end)\n"
  "for i = 1, 5 do log[#log + 1] = two() end\n"
  "local t = setmetatable({}, { __index = function(t, k) work(5000) return k end,\n"
  "  __add = function() work(5000) return 7 end, __lt = function() return work(5000) > 0 end })\n"
  "log[#log + 1] = t.five .. tostring(t + t) .. tostring(t < t)\n"
  "log[#log + 1] = select(2, pcall(function() work(5000) error('e', 0) end))\n"
  "log[#log + 1] = select(2, xpcall(function() return work(5000) end, print))\n"
  "for k in pairs(setmetatable({}, { __pairs = function() work(5000) return next, { a = 1 } end })) do log[#log + 1]"
  " = k end\n"
  "do local c <close> = setmetatable({}, { __close = function() work(5000) log[#log + 1] = 'closed' end }) end\n"
  "log[#log + 1] = ('x'):gsub('x', function() return work(5000) end)\n"
  "local s = { 3, 1, 2 } table.sort(s, function(a, b) work(500) return a < b end) log[#log + 1] = table.concat(s)\n"
  "local co = coroutine.create(function(...) work(5000) return ... end)\n"
  "log[#log + 1] = tostring(select('#', coroutine.resume(co, 1, nil, 3))) .. coroutine.status(co)\n"
  "return table.concat(log, ' ')\n";

static const char NESTED_ANSWER[] = "5 5 5 5 5 five7true e 12502500 a closed 12502500 123 4dead";

static void slices_pass_through_all_that_nests(void **state) {
  (void)state;
  int steps, results;
  const uint64_t fuels[] = {0, 100000, 3000, 700};
  for (size_t i = 0; i < sizeof fuels / sizeof *fuels; i++) {
    Sandbox *sandbox = new_sandbox();
    Task *task = start_task(sandbox, NESTED, NULL);
    if (run_task(task, fuels[i], &steps, &results) != TASK_DONE) fail_msg("%s", sandbox_message(sandbox));
    assert_int_equal(results, 1);
    assert_string_equal(lua_tostring(sandbox_state(sandbox), -1), NESTED_ANSWER);
    if (i == 0) assert_int_equal(steps, 1);
    if (i == 2) assert_in_range(steps, 40, 400);
    task_free(task);
    sandbox_free(sandbox);
  }
}

static int64_t read_same(void *user) { return *(int64_t *)user; }

/* A clock that goes on by 50 microseconds whenever it is read. */
static int64_t read_ticks(void *user) { return *(int64_t *)user += 50; }

static void a_slice_of_time_ends(void **state) {
  (void)state;
  int64_t ticks = 0;
  SandboxConfig config = {.seed = 7, .now = read_ticks, .user = &ticks};
  Sandbox *sandbox = sandbox_new(&config);
  assert_non_null(sandbox);
  SandboxLimits limits = {0, 300000};
  Task *task = start_task(sandbox, "coroutine.wrap(function() while true do pcall(string.rep, 'x', 10) end end)()",
    &limits);
  int steps = 0;
  while (task_step(task, 2000, 0, NULL) == TASK_READY) steps++;
  assert_in_range(steps, 30, 160);
  assert_int_equal(task_end(task), SANDBOX_DEADLINE_OVER);
  assert_string_equal(sandbox_code(sandbox), "deadline");
  assert_non_null(strstr(sandbox_message(sandbox), "task:1: stopped"));
  assert_int_equal(task_step(task, 0, 0, NULL), TASK_FAILED);
  sandbox_free(sandbox);     /* ends the task too */
}

static void requests_are_answered(void **state) {
  (void)state;
  Sandbox *sandbox = new_sandbox();
  lua_State *L = sandbox_state(sandbox);
  static const char script[] =
    "local ask = coroutine.wrap(function(a) while true do a = coroutine.yield((request { say = a })) end end)\n"
    "local one = ask 'x'\n"
    "local two = select(2, pcall(request, 'y'))\n"
    "local ok, e = pcall(request, 'z')\n"
    "local function refused(f) return setmetatable({}, { __newindex = f }) end\n"
    "local no = select(2, pcall(table.insert, refused(function() request 'n' end), 1))\n"
    "local nested = select(2, pcall(table.insert, refused(coroutine.wrap(function() request 'n' end)), 1))\n"
    "return one, two, ok, e.code, no, nested\n";
  Task *task = start_task(sandbox, script, NULL), *other = start_task(sandbox, "return (request 'other')", NULL);
  assert_int_equal(task_step(other, 0, 0, NULL), TASK_REQUEST);
  assert_int_equal(task_step(task, 0, 0, NULL), TASK_REQUEST);
  assert_int_equal(task_step(task, 0, 0, NULL), TASK_REQUEST);      /* not answered: it waits */
  assert_int_equal(task_request(task), SANDBOX_OK);
  lua_getfield(L, -1, "say");
  assert_string_equal(lua_tostring(L, -1), "x");
  lua_settop(L, 0);
  lua_pushinteger(L, 1);
  assert_int_equal(task_answer(task), SANDBOX_OK);
  assert_int_equal(task_step(task, 0, 0, NULL), TASK_REQUEST);
  lua_pushinteger(L, 2);
  assert_int_equal(task_answer(task), SANDBOX_OK);
  assert_int_equal(task_step(task, 0, 0, NULL), TASK_REQUEST);
  assert_int_equal(task_refuse(task, "offline", "no model"), SANDBOX_OK);
  int results;
  assert_int_equal(task_step(task, 0, 0, &results), TASK_DONE);
  assert_int_equal(results, 6);
  assert_int_equal(lua_tointeger(L, 1), 1);
  assert_int_equal(lua_tointeger(L, 2), 2);
  assert_string_equal(lua_tostring(L, 4), "offline");
  assert_non_null(strstr(lua_tostring(L, 5), "cannot be made"));
  assert_non_null(strstr(lua_tostring(L, 6), "cannot be made"));
  lua_settop(L, 0);
  lua_pushliteral(L, "late");
  assert_int_equal(task_answer(other), SANDBOX_OK);
  assert_int_equal(task_step(other, 0, 0, &results), TASK_DONE);
  assert_string_equal(lua_tostring(L, 1), "late");
  lua_pushnil(L);
  assert_int_equal(task_answer(other), SANDBOX_ERROR);
  sandbox_free(sandbox);
}

/* Functions that C functions call may ask, too. */
static void requests_pass_through_functions(void **state) {
  (void)state;
  Sandbox *sandbox = new_sandbox();
  static const char script[] =
    "local list = { 3, 1, 2 }\n"
    "local o = setmetatable({}, { __tostring = request, __index = function(_, k) return request(k) end,\n"
    "  __add = function(a) return request(a) end, __len = function() return 2 end })\n"
    "local n, out = 0, {}\n"
    "out[1] = ('abc'):gsub('%a', function(c) return request(c .. '!') end)\n"
    "out[2] = ('abc'):gsub('%a', o)\n"
    "table.sort(list, function(a, b) return request(a < b and 1 or 0) == 1 end)\n"
    "out[3] = table.concat(list)\n"
    "o = setmetatable(o, { __index = function(_, k) return request(k) end, __len = function() return 3 end,\n"
    "  __tostring = function() return request 's' end, __add = function() return request(7) end })\n"
    "out[4] = table.concat(o, ',')\n"
    "out[5] = tostring(o) .. ('%s-%s-%d'):format(o, o, 1)\n"
    "out[6] = 'x' + o\n"
    "out[7] = load(function() n = n + 1 return request(({ 'return ', '40', '+2', '' })[n]) end)()\n"
    "return table.concat(out, ' ')\n";
  Task *task = start_task(sandbox, script, NULL);
  int steps, results;
  if (run_task(task, 0, &steps, &results) != TASK_DONE) fail_msg("%s", sandbox_message(sandbox));
  assert_string_equal(lua_tostring(sandbox_state(sandbox), -1), "a!b!c! abc 123 1,2,3 ss-s-1 7 42");
  sandbox_free(sandbox);
}

static void fuel_repeats(void **state) {
  (void)state;
  static const char script[] =
    "local t = {} for i = 1, 200 do t['k' .. i] = {} t[{}] = i end local s = 0\n"
    "for k, v in pairs(t) do s = s + #tostring(k) end\n"
    "for w in ('a b c d '):rep(50):gmatch '%a' do s = s .. w end table.sort({ 3, 2, 1 }) return s .."
    " math.random(1000000)\n";
  uint64_t fuel[3];
  char answers[3][512];
  for (int i = 0; i < 3; i++) {
    Sandbox *sandbox = new_sandbox();
    assert_int_equal(sandbox_load(sandbox, script, sizeof script - 1, "=s"), SANDBOX_OK);
    assert_int_equal(sandbox_call(sandbox, 0, 1, NULL), SANDBOX_OK);
    snprintf(answers[i], sizeof answers[i], "%s", lua_tostring(sandbox_state(sandbox), -1));
    fuel[i] = sandbox_used(sandbox).fuel;
    sandbox_free(sandbox);
  }
  for (int i = 1; i < 3; i++) {
    assert_int_equal(fuel[i], fuel[0]);
    assert_string_equal(answers[i], answers[0]);
  }
}

static void fuel_ends_a_script_at_its_unit(void **state) {
  (void)state;
  Sandbox *sandbox = new_sandbox();
  SandboxLimits limits = {50000, 0};
  static const char script[] = "local n = 0 while true do n = n + 1 end";
  assert_int_equal(sandbox_load(sandbox, script, sizeof script - 1, "=s"), SANDBOX_OK);
  assert_int_equal(sandbox_call(sandbox, 0, 0, &limits), SANDBOX_FUEL_OUT);
  assert_in_range(sandbox_used(sandbox).fuel, 50000, 50000 + HOOK_INSTRUCTIONS);
  assert_string_equal(sandbox_message(sandbox), "s:1: stopped: it used up its fuel of 50000");
  sandbox_free(sandbox);
}

static void cancelling_stops_what_runs_next_too(void **state) {
  (void)state;
  Sandbox *sandbox = new_sandbox();
  sandbox_cancel(sandbox);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(sandbox_load(sandbox, "return pcall(error)", 19, "=s"), SANDBOX_OK);
    assert_int_equal(sandbox_call(sandbox, 0, 0, NULL), i == 0 ? SANDBOX_CANCELLED : SANDBOX_OK);
    sandbox_uncancel(sandbox);
  }
  Task *task = start_task(sandbox, "while true do end", NULL);
  assert_int_equal(task_step(task, 0, 5000, NULL), TASK_READY);
  sandbox_cancel(sandbox);
  assert_int_equal(task_step(task, 0, 5000, NULL), TASK_FAILED);
  assert_int_equal(task_end(task), SANDBOX_CANCELLED);
  sandbox_free(sandbox);
}

static void a_task_in_mid_run_is_dropped(void **state) {
  (void)state;
  Sandbox *sandbox = new_sandbox();
  static const char script[] =
    "THREAD = coroutine.create(function() local x <close> = setmetatable({}, { __close = function() BAD = true end })"
    " while true do end end) coroutine.resume(THREAD)";
  Task *task = start_task(sandbox, script, NULL);
  assert_int_equal(task_step(task, 0, 5000, NULL), TASK_READY);
  task_free(task);
  static const char after[] =
    "assert(coroutine.status(THREAD) == 'normal' and not coroutine.resume(THREAD) and not pcall(coroutine.close,"
    " THREAD))"
    " THREAD = nil for i = 1, 10000 do local _ = {} end assert(not BAD)";
  assert_int_equal(sandbox_load(sandbox, after, sizeof after - 1, "=s"), SANDBOX_OK);
  if (sandbox_call(sandbox, 0, 0, NULL) != SANDBOX_OK) fail_msg("%s", sandbox_message(sandbox));
  sandbox_free(sandbox);
}

static void errors_keep_their_words(void **state) {
  (void)state;
  static const struct { const char *script, *code, *message; SandboxEnd end; } cases[] = {
    {"error 'x'", "error", "s:1: x", SANDBOX_ERROR},
    {"error { code = 'guarded', message = 'pinned' }", "guarded", "pinned", SANDBOX_ERROR},
    {"error(setmetatable({}, { __index = error, __tostring = error }))", "error", "(error object is a table value)",
      SANDBOX_ERROR},
    {"error()", "error", "(error object is a nil value)", SANDBOX_ERROR},
    {"x = = 1", "syntax", "s:1: unexpected symbol near '='", SANDBOX_SYNTAX},
    {"\033Lua", "syntax", "attempt to load a binary chunk (mode is 't')", SANDBOX_SYNTAX},
    {"#!/usr/bin/env ebb\nerror 'x'", "error", "s:2: x", SANDBOX_ERROR}};
  Sandbox *sandbox = new_sandbox();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    SandboxEnd end = sandbox_load(sandbox, cases[i].script, strlen(cases[i].script), "=s");
    if (end == SANDBOX_OK) end = sandbox_call(sandbox, 0, 0, NULL);
    assert_int_equal(end, cases[i].end);
    assert_string_equal(sandbox_code(sandbox), cases[i].code);
    assert_string_equal(sandbox_message(sandbox), cases[i].message);
    assert_int_equal(lua_gettop(sandbox_state(sandbox)), 0);
  }
  sandbox_free(sandbox);
}

/* A table that would take too long to grow is refused for that, and not for want of memory. */
static void what_refuses_a_table_is_named(void **state) {
  (void)state;
  static const struct { SandboxLimits limits; size_t memory; const char *script, *message; SandboxEnd end; } cases[] = {
    {{.fuel = 1000000}, 0, "", "a table needs more keys than its fuel allows", SANDBOX_FUEL_OUT},
    {{.fuel = 1000000}, 0, "pcall(error) ", "a table needs more keys than its fuel allows", SANDBOX_FUEL_OUT},
    {{.microseconds = 20000}, 0, "", "a table needs more keys than its deadline allows", SANDBOX_DEADLINE_OVER},
    {{0}, 1 << 20, "", "it needs more memory than the 1024 KiB that are allowed", SANDBOX_MEMORY_OUT}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int64_t ticks = 0;                       /* the clock stands: only growing may end it */
    SandboxConfig config = {.now = read_same, .user = &ticks, .memory_limit = cases[i].memory};
    Sandbox *sandbox = sandbox_new(&config);
    char script[200];
    int size = snprintf(script, sizeof script, "%slocal t = {} for i = 1, 20000 do t['k' .. i %% 20000] = true end",
                        cases[i].script);
    assert_int_equal(sandbox_load(sandbox, script, (size_t)size, "=s"), SANDBOX_OK);
    SandboxEnd end = sandbox_call(sandbox, 0, 0, &cases[i].limits);
    assert_string_equal(sandbox_message(sandbox), cases[i].message);
    assert_int_equal(end, cases[i].end);
    assert_string_equal(sandbox_code(sandbox), sandbox_end_code(end));
    sandbox_free(sandbox);
  }
}

/* ---- memory that fails ---- */

typedef struct Failing {
  long left;                 /* allocations until it fails, from then on */
  long blocks, freed;
} Failing;

static void *failing_allocate(void *user, void *block, size_t old_size, size_t new_size) {
  Failing *failing = user;
  (void)old_size;
  if (new_size == 0) {
    failing->blocks -= block != NULL;
    failing->freed += block != NULL;
    free(block);
    return NULL;
  }
  if (new_size > old_size && failing->left-- <= 0) return NULL;
  failing->blocks += block == NULL;
  return realloc(block, new_size);
}

static bool whole_life(Failing *failing) {
  SandboxConfig config = {.memory = {failing_allocate, failing}};
  Sandbox *sandbox = sandbox_new(&config);
  if (sandbox == NULL) return false;
  static const char script[] = "local t = {} for i = 1, 30 do t['k' .. i] = ('x%s'):format(i):gsub('x', '%0y') end\n"
                               "for k in pairs(t) do coroutine.wrap(function() request(k) end)() end return"
                               " ('x'):rep(9000)";
  Task *task = NULL;
  int results = 0;
  bool done = sandbox_load(sandbox, script, sizeof script - 1, "=s") == SANDBOX_OK &&
              task_start(sandbox, 0, NULL, &task) == SANDBOX_OK;
  while (done && task != NULL) {
    TaskState now = task_step(task, 0, 500, &results);
    if (now == TASK_REQUEST) done = task_refuse(task, "a", "b") != SANDBOX_MEMORY_OUT;
    if (now == TASK_REQUEST && done) continue;
    if (now == TASK_READY) continue;
    done = now == TASK_DONE;
    if (now == TASK_FAILED && task_end(task) == SANDBOX_ERROR) done = true;   /* the refusal was raised */
    break;
  }
  task_free(task);
  sandbox_free(sandbox);
  return done;
}

static void memory_may_fail_anywhere(void **state) {
  (void)state;
  for (long k = 0;; k++) {
    Failing failing = {.left = k};
    bool done = whole_life(&failing);
    assert_int_equal(failing.blocks, 0);
    if (done) {
      assert_true(k > 100);
      break;
    }
  }
}

/* ---- garbage ---- */

/* Steps of 700 to the end, with or without a whole collection between two; answers the fuel. */
static uint64_t fuel_of_rounds(bool collecting, int *steps) {
  Sandbox *sandbox = new_sandbox();
  Task *task = start_task(sandbox,
                          "local function deep(n) if n > 0 then return 1 + deep(n - 1) end return 0 end\n"
                          "for round = 1, 40 do\n"
                          "  deep(round * 7)\n"
                          "  local t = {}\n"
                          "  for i = 1, 50 do t['key' .. i] = { i } end\n"
                          "  coroutine.wrap(function() deep(20) end)()\n"
                          "  for k, v in pairs(t) do t[k] = ('%s.'):format(k) end\n"
                          "end",
                          NULL);
  for (*steps = 1; task_step(task, 0, 700, NULL) == TASK_READY; ++*steps) {
    if (collecting) lua_gc(sandbox_state(sandbox), LUA_GCCOLLECT);
  }
  if (task_end(task) != SANDBOX_OK) fail_msg("%s", sandbox_message(sandbox));
  uint64_t fuel = task_used(task).fuel;
  sandbox_free(sandbox);
  return fuel;
}

static void fuel_does_not_depend_on_collections(void **state) {
  (void)state;
  int steps[2];
  uint64_t fuel = fuel_of_rounds(false, &steps[0]);
  assert_int_equal(fuel_of_rounds(true, &steps[1]), fuel);
  assert_int_equal(steps[1], steps[0]);
  assert_true(steps[0] > 40);
}

/* 60,000 dead tables are freed bit by bit by the next allocations, and in no slice
   many more than it deserves: Lua's own pace frees them all in one. */
static void no_slice_pays_for_all_garbage(void **state) {
  (void)state;
  Failing counting = {.left = INT32_MAX};
  SandboxConfig config = {.memory = {failing_allocate, &counting}};
  Sandbox *sandbox = sandbox_new(&config);
  assert_non_null(sandbox);
  Task *task = start_task(sandbox, "local t = {} for i = 1, 60000 do t[i] = {} end", NULL);
  int steps, results;
  assert_int_equal(run_task(task, 0, &steps, &results), TASK_DONE);
  task_free(task);
  const SandboxLimits limits = {.fuel = SANDBOX_FUEL};       /* sanitizers take longer than a deadline */
  task = start_task(sandbox, "for i = 1, 100000 do local _ = {} end", &limits);
  long most = 0, all = 0;
  TaskState now;
  do {
    counting.freed = 0;
    now = task_step(task, 0, 1000, &results);
    if (counting.freed > most) most = counting.freed;
    all += counting.freed;
  } while (now == TASK_READY);
  if (now != TASK_DONE) fail_msg("%s", sandbox_message(sandbox));
  assert_true(all > 100000);
  if (most > 8000) fail_msg("one slice freed %ld of %ld blocks", most, all);
  task_free(task);
  sandbox_free(sandbox);
  assert_int_equal(counting.blocks, 0);
}

/* Which must not mean that garbage piles up, however much a script throws away. */
static void garbage_does_not_pile_up(void **state) {
  (void)state;
  Sandbox *sandbox = new_sandbox();
  const SandboxLimits limits = {.fuel = SANDBOX_FUEL};
  Task *task = start_task(sandbox,
                          "local kept = {}\n"
                          "for i = 1, 20000 do kept[i] = { i, tostring(i), n = i } end\n"
                          "for i = 1, 600000 do kept[i % 20000 + 1] = { i, tostring(i), n = i } end",
                          &limits);
  size_t live = 0, most = 0;
  for (int steps = 0; task_step(task, 0, 50000, NULL) == TASK_READY; steps++) {
    size_t used = sandbox_memory_used(sandbox);
    if (used > most) most = used;
    if (steps != 40) continue;
    lua_gc(sandbox_state(sandbox), LUA_GCCOLLECT);
    live = sandbox_memory_used(sandbox);
  }
  assert_int_equal(task_end(task), SANDBOX_OK);
  assert_true(live > 2000000);
  if (most > 2 * live + live / 4) fail_msg("%zu bytes in use, where %zu live", most, live);
  sandbox_free(sandbox);
}

/* Loops in the library beside a script, and in its own code that the library calls. */
static void kills_name_the_line_of_the_script(void **state) {
  (void)state;
  static const char library[] = "function spin(f) while true do if f then f() end end end";
  static const char *const cases[][2] = {
    {"local x\nspin()", "s:2: stopped: "},
    {"local x\ncoroutine.wrap(function()\nspin()\nend)()", "s:3: stopped: "},
    {"local function f()\nwhile true do end\nend\nspin(f)", "s:2: stopped: "}};
  Sandbox *sandbox = new_sandbox();
  SandboxLimits limits = {.fuel = 50000};
  assert_int_equal(sandbox_load(sandbox, library, sizeof library - 1, "@ebb/library.lua"), SANDBOX_OK);
  assert_int_equal(sandbox_call(sandbox, 0, 0, NULL), SANDBOX_OK);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(sandbox_load(sandbox, cases[i][0], strlen(cases[i][0]), "=s"), SANDBOX_OK);
    assert_int_equal(sandbox_call(sandbox, 0, 0, &limits), SANDBOX_FUEL_OUT);
    if (strncmp(sandbox_message(sandbox), cases[i][1], strlen(cases[i][1])) != 0)
      fail_msg("%s: %s", cases[i][0], sandbox_message(sandbox));
  }
  sandbox_free(sandbox);
}

/* The most fuel that one of the script's steps uses; each slice has `slice`. */
static uint64_t longest_step(const char *script, uint64_t slice) {
  Sandbox *sandbox = new_sandbox();
  SandboxLimits limits = {.fuel = UINT64_C(1) << 40};
  Task *task = start_task(sandbox, script, &limits);
  uint64_t longest = 0, before = 0;
  while (task_step(task, 0, slice, NULL) == TASK_READY) {
    uint64_t used = task_used(task).fuel;
    if (used - before > longest) longest = used - before;
    before = used;
  }
  if (task_end(task) != SANDBOX_OK) fail_msg("%s: %s", script, sandbox_message(sandbox));
  sandbox_free(sandbox);
  return longest;
}

/* Fuel that work takes in one piece, whatever the slice is. */
static void slices_end_within_long_functions(void **state) {
  (void)state;
  static const struct { const char *script; uint64_t piece; } cases[] = {
    {"local t = {} for i = 1, 20000 do t[i] = i * 7919 % 10007 end table.sort(t)"
     " for i = 2, 20000 do assert(t[i - 1] <= t[i]) end", 20000 / 2 + 3000},
    {"local t, n = {}, 0 for i = 1, 8000 do t['k' .. i] = i end local last = ''"
     " for k in pairs(t) do n = n + 1 assert(last < k) last = k end assert(n == 8000)", 8000 * 2 + 4000},
    {"local t, n = {}, 0 for i = 1, 20000 do t[i] = i end for k in pairs(t) do n = n + 1 assert(k == n) end",
     9000}, {"local t = {} for i = 1, 8000 do t['k' .. i] = i end assert(next(t, 'k10') == 'k100')", 3000}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint64_t longest = longest_step(cases[i].script, 5000);
    if (longest > 5000 + cases[i].piece) fail_msg("%s: a step of %llu", cases[i].script, (unsigned long long)longest);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(slices_pass_through_all_that_nests), cmocka_unit_test(a_slice_of_time_ends),
    cmocka_unit_test(requests_are_answered),
    cmocka_unit_test(requests_pass_through_functions), cmocka_unit_test(fuel_repeats),
    cmocka_unit_test(fuel_ends_a_script_at_its_unit), cmocka_unit_test(cancelling_stops_what_runs_next_too),
    cmocka_unit_test(a_task_in_mid_run_is_dropped), cmocka_unit_test(errors_keep_their_words),
    cmocka_unit_test(what_refuses_a_table_is_named),
    cmocka_unit_test(memory_may_fail_anywhere), cmocka_unit_test(no_slice_pays_for_all_garbage),
    cmocka_unit_test(garbage_does_not_pile_up), cmocka_unit_test(fuel_does_not_depend_on_collections),
    cmocka_unit_test(slices_end_within_long_functions), cmocka_unit_test(kills_name_the_line_of_the_script)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
