/*
** What a sandbox writes out itself, beside Lua's own: random calls in both, answers
** and errors compared; then pairs, whose order is the sandbox's own; then what it all
** costs. SEED=n repeats a run, ROUNDS says how many.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <lualib.h>

#include "sandbox/sandbox_state.h"

/* seed, rounds -> what the calls answered; the same numbers in every state */
static const char CALLS[] =
  "local state, rounds = ...\n"
  "local function roll(n) state = state * 6364136223846793005 + 1442695040888963407 return (state >> 33) % n end\n"
  "local function of(list) return list[roll(list.n or #list) + 1] end\n"
  "local texts = { '', 'a', 'Some Text', 'na\\xc3\\xafve\\0x', ('nay '):rep(12) .. 'needle', '12', ' 0x10 ', 12, 1.5,\n"
  "  ('ab'):rep(9) .. 'abc', 'abca abcb abcc', ('ab'):rep(9) .. 'ac' .. ('ab'):rep(10) .. 'c' }\n"
  "local needles = { '', 'a', 'needle', 'ab', 'abc', 'e', '\\0x', 'ababababababababababc', 'abcb', 'abcc', 'x', '%a', '2', 'T' }\n"
  "local numbers = { n = 22, 0, 1, -1, 2, 3, -3, 5, 7, 100, -100, math.maxinteger, math.mininteger, 2.0, 2.5, 1e300,\n"
  "  '3', '2.0', 'x', true, nil, nil, {} }\n"
  "local places = { n = 7, 1, -1, 2, 3, nil, nil, 9 }\n"
  "local function bytes() local t = {} for i = 1, roll(20) do t[i] = string.char(roll(256)) end return table.concat(t) end\n"
  "local shapes = { n = 8, [3] = { __len = function() return 3 end }, [5] = { __index = function(_, i) return i end } }\n"
  "local function list()\n"
  "  local t = {}\n"
  "  for i = 1, roll(30) do t[i] = of { 'a', 'b', 1, 2, 2.5, 'cd' } end\n"
  "  return setmetatable(t, of(shapes))\n"
  "end\n"
  "local function each(s, p)\n"
  "  local out = {}\n"
  "  for a, b in s:gmatch(p) do\n"
  "    for i = 1, roll(20) do out[#out + 1] = (s:find(('%a'):rep(i) .. '-')) or 0 end\n"
  "    out[#out + 1] = a .. (b or '')\n"
  "  end\n"
  "  return table.concat(out, ' ')\n"
  "end\n"
  "local function other(s) return function(a) for i = 1, roll(20) do local _ = s:find(('.'):rep(i)) end return a end end\n"
  "local function sorted(less)\n"
  "  local t = {}\n"
  "  for i = 1, roll(70) do t[i] = less == nil and of(needles) or roll(50) end\n"
  "  table.sort(t, less)\n"
  "  return table.concat(t, ' ')\n"
  "end\n"
  "local calls = {\n"
  "  function() return string.sub(of(texts), of(numbers), of(numbers)) end,\n"
  "  function() return string.sub(of(texts), of(places), of(places)) end,\n"
  "  function() return string.byte(of(texts), of(numbers), of(numbers)) end,\n"
  "  function() return string.byte(of(texts), of(places), of(places)) end,\n"
  "  function() return string.len(of(texts)), string.upper(of(texts)), string.lower(of(texts)) end,\n"
  "  function() return string.upper(bytes()), string.lower(bytes()) end,\n"
  "  function() return of { string.len, string.upper, string.lower, string.sub, string.byte, string.find }(of(numbers))"
  " end,\n"
  "  function() return string.find(of(texts), of(needles), of(places), true) end,\n"
  "  function() return string.find(of(texts), of(needles), of(numbers), of(numbers)) end,\n"
  "  function() return string.rep(of(texts), roll(5), of(needles)) end,\n"
  "  function() return string.format(of { '%s', '%5.2s|', '%d', '%q', '%%', '%5d', '%-5s', '%x', '%.3f', '% 5d', '%' },\n"
  "    of(numbers) or 1) end,\n"
  "  function() return tostring(of(texts)), tostring(of { 1, 2.0, -0.0, 1e100, true }), tostring(nil) end,\n"
  "  function() return table.concat(list(), of(needles), of(places), of(places)) end,\n"
  "  function() return table.unpack(list(), of(places), of(places)) end,\n"
  "  function() return table.concat(table.move(list(), roll(9), roll(30), roll(30) + 1, { 'x' }), ' ') end,\n"
  "  function() local t = list() table.insert(t, of(places), 'new') return table.concat(t, ' ') end,\n"
  "  function() local t = list() return pcall(table.remove, t, of(places)) and table.concat(t, ' ') end,\n"
  "  function() return sorted(nil) end,\n"
  "  function() return sorted(function(a, b) return a > b end) end,\n"
  "  function() return each(of(texts) .. '', of { '%a+', '(%a)(%a)', '%S+', '', '.-e' }) end,\n"
  "  function() return string.gsub(of(texts), of { '%a+', '(%a)()', '', 'e' }, of { '', 'x', '%0%0', '%1', 7 }) end,\n"
  "  function() return string.gsub(of(texts), of { '%a+', '(%a)()', '', 'e' }, other(of(texts) .. ''), of(places)) end,\n"
  "}\n"
  "local out = {}\n"
  "local function add(...)\n"
  "  for i = 1, select('#', ...) do\n"
  "    local value = select(i, ...)\n"
  "    out[#out + 1] = math.type(value) or type(value)\n"
  "    if type(value) ~= 'table' then out[#out + 1] = tostring(value):gsub('table: %w+', 'table') end\n"
  "  end\n"
  "end\n"
  "for _ = 1, rounds do\n"
  "  local which = roll(#calls) + 1\n"
  "  out[#out + 1] = '\\n' .. which\n"
  "  add(pcall(calls[which]))\n"
  "end\n"
  "return table.concat(out, '|')\n";

#define AT_A_TIME 100

/* The chunk is at 1 of L. */
static const char *answers(lua_State *L, uint64_t seed) {
  lua_settop(L, 1);
  lua_pushvalue(L, 1);
  lua_pushinteger(L, (lua_Integer)seed);
  lua_pushinteger(L, AT_A_TIME);
  if (lua_pcall(L, 2, 1, 0) != LUA_OK) fail_msg("%s", lua_tostring(L, -1));
  return lua_tostring(L, -1);
}

/* Shows the first lines that differ. */
static void compare(const char *own, const char *stock, uint64_t seed) {
  if (strcmp(own, stock) == 0) return;
  size_t same = 0, line = 0;
  for (; own[same] == stock[same]; same++) {
    if (own[same] == '\n') line = same + 1;
  }
  fail_msg("seed %llu: %.200s\nstock Lua: %.200s", (unsigned long long)seed, own + line, stock + line);
}

static void agrees_on_random_calls(void **state) {
  (void)state;
  const char *seed = getenv("SEED"), *wanted = getenv("ROUNDS");
  unsigned long rounds = wanted != NULL ? strtoul(wanted, NULL, 10) : 100000;
  uint64_t start = seed != NULL ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL);
  printf("SEED=%llu\n", (unsigned long long)start);
  lua_State *stock = luaL_newstate();
  luaL_openlibs(stock);
  SandboxConfig config = {.memory_limit = 0};
  Sandbox *sandbox = sandbox_new(&config);
  lua_State *own = sandbox_state(sandbox);
  assert_int_equal(luaL_loadbuffer(stock, CALLS, sizeof CALLS - 1, "=calls"), LUA_OK);
  assert_int_equal(luaL_loadbuffer(own, CALLS, sizeof CALLS - 1, "=calls"), LUA_OK);
  for (unsigned long round = 0; round < rounds; round += AT_A_TIME) {
    compare(answers(own, start + round), answers(stock, start + round), start + round);
  }
  lua_close(stock);
  sandbox_free(sandbox);
}

/* ---- pairs ---- */

static SandboxEnd run(Sandbox *sandbox, const char *script) {
  SandboxEnd end = sandbox_load(sandbox, script, strlen(script), "=script");
  return end != SANDBOX_OK ? end : sandbox_call(sandbox, 0, 0, NULL);
}

static const char PAIRS[] =
  "local rank = { boolean = 1, number = 2, string = 3 }\n"
  "local function before(a, b)\n"
  "  local x, y = rank[type(a)], rank[type(b)]\n"
  "  if x ~= y then return x < y end\n"
  "  if x == 1 then return not a and b end\n"
  "  return a < b\n"
  "end\n"
  "local function check(t, count)\n"
  "  local last, seen = nil, 0\n"
  "  for k, v in pairs(t) do\n"
  "    assert(t[k] == v and (last == nil or before(last, k)), k)\n"
  "    last, seen = k, seen + 1\n"
  "  end\n"
  "  assert(seen == count, seen)\n"
  "end\n"
  "for count = 0, 70 do\n"
  "  local list, fields, mixed, holes = {}, {}, { [false] = 0, [0.5] = 0 }, {}\n"
  "  for i = 1, count do\n"
  "    list[i], fields['k' .. i * 7 % 71], mixed[i % 2 == 0 and i or 's' .. i], holes[i * 2] = i, i, i, i\n"
  "  end\n"
  "  check(list, count) check(fields, count) check(mixed, count + 2) check(holes, count)\n"
  "  local seen = 0\n"
  "  for k in pairs(list) do list[k], list[count + k], seen = nil, 1, seen + 1 end\n"      /* new ones are not seen */
  "  assert(seen == count)\n"
  "  seen = 0\n"
  "  for k in pairs(fields) do fields['k' .. (k:sub(2) + 1) % 71], seen = nil, seen + 1 end\n"
  "  assert(count < 2 or seen <= count)\n"
  "end\n"
  "local t, out = { 1, 2, 3, 4, 5 }, {}\n"
  "for k in pairs(t) do out[#out + 1] = k t[k + 1] = nil end\n"                       /* nor those that went */
  "assert(table.concat(out, ' ') == '1 3 5')\n"
  "local f, list, start = pairs { 'a', 'b' }\n"
  "assert(start == nil and select('#', f(list, 2)) == 1 and f(list, 2) == nil and f(list, 1) == 2)\n";

static void pairs_in_order(void **state) {
  (void)state;
  SandboxConfig config = {.memory_limit = 0};
  Sandbox *sandbox = sandbox_new(&config);
  if (run(sandbox, PAIRS) != SANDBOX_OK) fail_msg("%s", sandbox_message(sandbox));
  sandbox_free(sandbox);
}

/* The same keys lie otherwise in a table when they came in another order. */
static void pairs_cost_the_same_in_any_order(void **state) {
  (void)state;
  SandboxConfig config = {.memory_limit = 0};
  Sandbox *sandbox = sandbox_new(&config);
  assert_int_equal(run(sandbox,
    "function make(n, from, to, step)\n"
    "  local t = {}\n"
    "  for i = from, to, step do t[i % 3 == 0 and i * 1000 or ('k'):rep(i * 9) .. i] = i end\n"
    "  return t\n"
    "end\n"
    "up, down = {}, {}\n"
    "for _ in pairs(make(70, 1, 70, 1)) do end\n"                 /* so long is the stack from here on */
    "for n = 1, 70 do up[n], down[n] = make(n, 1, n, 1), make(n, n, 1, -1) end\n"), SANDBOX_OK);
  lua_gc(sandbox_state(sandbox), LUA_GCSTOP);
  for (int n = 1; n <= 70; n++) {
    uint64_t fuel[2];
    for (int i = 0; i < 2; i++) {
      char script[64];
      snprintf(script, sizeof script, "for _ in pairs(%s[%d]) do end", i == 0 ? "up" : "down", n);
      assert_int_equal(run(sandbox, script), SANDBOX_OK);
      fuel[i] = sandbox_used(sandbox).fuel;
    }
    assert_int_equal(fuel[0], fuel[1]);
  }
  sandbox_free(sandbox);
}

/* ---- what it costs ---- */

/* Units at the least, by what is read or written: what is not in time can be told by
   the clock, but what is not in fuel only so. */
static const struct { uint64_t fuel; const char *script; } COSTS[] = {
  {100 * 32768, "local t = ('a'):rep(2^20) for i = 1, 100 do local _ = ('x'):find(t) end"},
  {100 * 32768, "local s = ('a'):rep(2^20) for i = 1, 100 do local _ = s:find('b', 1, true) end"},
  {100 * 2000, "local s = ('ab'):rep(1000) for i = 1, 100 do local _ = s:find('aa', 1, true) end"},
  {1000 * 100, "local _ = ('a'):rep(1000):gsub('a', ('x'):rep(1600))"},
  {100 * 125, "local s = ('a'):rep(1000) for i = 1, 100 do local _ = s:upper() end"},
  {10000 * 4, "local t = {} for i = 1, 10000 do t[i] = i end local function no() end no(table.unpack(t))"},
  {100000 * 4, "local t = {} for i = 1, 10000 do t[i] = i end for i = 1, 10 do table.move(t, 1, 10000, 2, {}) end"},
  {100 * 1000 * 6, "local t = {} for i = 1, 1000 do t[i] = i end for i = 1, 100 do pairs(t) end"},
  {100 * 1000 * 6, "local t = {} for i = 1, 1000 do t['k' .. i] = i end for i = 1, 100 do pairs(t) end"},
  {8192 * 13 * 4, "local t = {} for i = 1, 8192 do t[i] = i * 7 % 8191 end table.sort(t)"},
};

static void work_is_paid(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof COSTS / sizeof *COSTS; i++) {
    SandboxConfig config = {.memory_limit = 0};
    Sandbox *sandbox = sandbox_new(&config);
    assert_int_equal(run(sandbox, COSTS[i].script), SANDBOX_OK);
    uint64_t fuel = sandbox_used(sandbox).fuel;
    if (fuel < COSTS[i].fuel) fail_msg("%s: %llu", COSTS[i].script, (unsigned long long)fuel);
    sandbox_free(sandbox);
  }
}

typedef struct Bytes {
  char bytes[1000];
  size_t size;
} Bytes;

static int keep_bytes(lua_State *L, const void *bytes, size_t size, void *user) {
  Bytes *out = user;
  (void)L;
  assert_true(size <= sizeof out->bytes - out->size);
  memcpy(out->bytes + out->size, bytes, size);
  out->size += size;
  return 0;
}

/* Sets a global function that fails, without debug information. */
static int set_stripped(lua_State *L) {
  Bytes code = {.size = 0};
  luaL_loadstring(L, "local t t = t.field");
  lua_dump(L, keep_bytes, &code, 1);
  luaL_loadbufferx(L, code.bytes, code.size, "=stripped", "b");
  lua_setglobal(L, "stripped");
  return 0;
}

/* Lua's "?:-1:" says nothing, and is not said. */
static void code_without_places_names_none(void **state) {
  (void)state;
  SandboxConfig config = {0};
  Sandbox *sandbox = sandbox_new(&config);
  assert_non_null(sandbox);
  assert_int_equal(sandbox_run(sandbox, set_stripped, NULL), SANDBOX_OK);
  lua_getglobal(sandbox_state(sandbox), "stripped");
  assert_int_equal(sandbox_call(sandbox, 0, 0, NULL), SANDBOX_ERROR);
  assert_string_equal(sandbox_message(sandbox), "attempt to index a nil value");
  sandbox_free(sandbox);
}

/* The same script with the collector in sight, and without. */
static void deterministic_scripts_see_no_collector(void **state) {
  (void)state;
  static const char script[] =
    "local t = setmetatable({}, {__mode = 'v'}) t[1] = {} for i = 1, 40000 do local _ = {} end"
    " local ok, why = pcall(collectgarbage, 'count') return t[1] ~= nil, ok, tostring(why)";
  for (int deterministic = 0; deterministic < 2; deterministic++) {
    SandboxConfig config = {.deterministic = deterministic != 0};
    Sandbox *sandbox = sandbox_new(&config);
    assert_non_null(sandbox);
    assert_int_equal(sandbox_load(sandbox, script, sizeof script - 1, "=script"), SANDBOX_OK);
    assert_int_equal(sandbox_call(sandbox, 0, 3, NULL), SANDBOX_OK);
    lua_State *L = sandbox_state(sandbox);
    assert_int_equal(lua_toboolean(L, 1), deterministic);
    assert_int_equal(lua_toboolean(L, 2), !deterministic);
    if (deterministic) assert_non_null(strstr(lua_tostring(L, 3), "differs from run to run"));
    sandbox_free(sandbox);
  }
}

typedef struct Printed {
  size_t lines, bytes;
  char last[100];
} Printed;

static void count_line(void *user, const char *line, size_t size) {
  Printed *printed = user;
  printed->lines++;
  printed->bytes += size + 1;
  snprintf(printed->last, sizeof printed->last, "%s", line);
}

/* In a call, and in a task, whose slices share the bound. */
static void print_is_bounded(void **state) {
  (void)state;
  static const char script[] = "for i = 1, 30000 do print(('x'):rep(50), 1) end";
  Printed printed = {0};
  SandboxConfig config = {.user = &printed, .print = count_line};
  Sandbox *sandbox = sandbox_new(&config);
  assert_non_null(sandbox);
  for (int sliced = 0; sliced < 2; sliced++) {
    Task *task;
    printed = (Printed){0};
    assert_int_equal(sandbox_load(sandbox, script, sizeof script - 1, "=script"), SANDBOX_OK);
    if (sliced) {
      assert_int_equal(task_start(sandbox, 0, NULL, &task), SANDBOX_OK);
      while (task_step(task, 0, 10000, NULL) == TASK_READY) continue;
      task_free(task);
    } else {
      assert_int_equal(sandbox_call(sandbox, 0, 0, NULL), SANDBOX_OK);
    }
    assert_int_equal(printed.lines, PRINT_MAX / 53 + 1);
    assert_string_equal(printed.last, "print: more than 1 MiB; the rest is dropped");
  }
  sandbox_free(sandbox);
#ifdef SANDBOX_SWITCHES
  printed = (Printed){0};
  config.off = GUARD_PRINT;
  sandbox = sandbox_new(&config);
  assert_non_null(sandbox);
  assert_int_equal(sandbox_load(sandbox, script, sizeof script - 1, "=script"), SANDBOX_OK);
  assert_int_equal(sandbox_call(sandbox, 0, 0, NULL), SANDBOX_OK);
  assert_int_equal(printed.lines, 30000);
  sandbox_free(sandbox);
#endif
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(agrees_on_random_calls), cmocka_unit_test(pairs_in_order),
    cmocka_unit_test(pairs_cost_the_same_in_any_order), cmocka_unit_test(work_is_paid),
    cmocka_unit_test(code_without_places_names_none), cmocka_unit_test(deterministic_scripts_see_no_collector),
    cmocka_unit_test(print_is_bounded)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
