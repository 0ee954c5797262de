/*
** Patterns in a sandbox, charged step by step, and the calls that policies make most,
** beside Lua's own: nanoseconds per turn of a loop, best of 15, in turns.
**
** The last column is stock Lua with a hook that does nothing: what it costs that the
** VM counts instructions. Our functions cannot reduce that, so it is most of
** the ratio of what does little; a loop of nothing takes twice as long.
*/
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <lualib.h>

#include "sandbox/sandbox_state.h"

#define SORTED "local t = {} for k = 1, 20 do t[k] = k * 7 % 23 end "
#define EACH(what) "(function() for _ in " what " do end end)()"

/* What is setup may set s and f; what is called may use i. */
static const struct { const char *name, *setup, *call; } CASES[] = {
  {"trim a line", "s = '   hello world, this is a line of text   '", "s:match '^%s*(.-)%s*$'"},
  {"key = value", "s = 'key = value'", "s:match '^(%w+)%s*=%s*(%w+)$'"},
  {"a date", "s = '2024-11-22T03:04:05'", "s:match '^(%d%d%d%d)-(%d%d)-(%d%d)'"},
  {"a file's name", "s = '/usr/share/some/path/file.lua'", "s:match '([^/]+)$'"},
  {"a fenced block", "s = ('text '):rep(50) .. '```lua\\nprint(1)\\n```'", "s:match '```(.-)```'"},
  {"brackets", "s = 'function (a, b, (c)) end'", "s:match '%b()'"},
  {"a heading", "s = '## a heading'", "s:find '^#+%s'"},
  {"a plain text", "s = ('hay '):rep(300) .. 'needle'", "s:find('needle', 1, true)"},
  {"  among few bytes", "s = 'hay hay hay needle'", "s:find('needle', 1, true)"},
  {"  among near misses", "s = ('nay '):rep(30) .. 'needle'", "s:find('needle', 1, true)"},
  {"spaces to one", "s = ('some  text   with spaces '):rep(20)", "s:gsub('%s+', ' ')"},
  {"a short gsub", "s = 'a-b-c-d'", "s:gsub('-', '_')"},
  {"gsub by a template", "s = 'key=val, k2=v2'", "s:gsub('(%w+)=(%w+)', '%2=%1')"},
  {"gsub by a table", "s, f = 'hello $name from $place', {name = 'x', place = 'y'}", "s:gsub('%$(%w+)', f)"},
  {"words by a function", "s = ('some text '):rep(40) local function id(w) return w end f = id", "s:gsub('%w+', f)"},
  {"words of a text", "s = ('the quick brown fox '):rep(40)", EACH("s:gmatch '%a+'")},
  {"words of three", "s = 'a b c'", EACH("s:gmatch '%a+'")},
  {"sub", "s = 'some text here'", "s:sub(3, 7)"},
  {"byte", "s = 'some text here'", "s:byte(3)"},
  {"lower", "s = 'some text here'", "s:lower()"},
  {"rep", "s = 'ab'", "s:rep(10)"},
  {"format '%d %s'", "s = 'text'", "('%d %s'):format(i, s)"},
  {"tostring of a number", "", "tostring(i)"},
  {"table.insert", "local t = {} f = table.insert", "f(t, i)"},
  {"table.remove", "local t = {} f = function() t[1] = i table.remove(t) end", "f()"},
  {"insert in front of 10", "local t = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10} f = function() table.insert(t, 1, i)"
                            " table.remove(t, 1) end", "f()"},
  {"table.concat of 3", "local t = {'a', 'bc', 'd'}", "table.concat(t, ' ')"},
  {"table.concat", "local t = {'a', 'bc', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k'}", "table.concat(t, ' ')"},
  {"table.unpack", "local t = {1, 2, 3, 4, 5}", "table.unpack(t)"},
  {"table.sort of 20", SORTED "f = function() table.sort({table.unpack(t)}) end", "f()"},
  {"  by a function", SORTED "local function more(a, b) return a > b end "
                      "f = function() table.sort({table.unpack(t)}, more) end", "f()"},
  {"ipairs of 10", "local t = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}", EACH("ipairs(t)")},
  {"pairs of 10, in order", "local t = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}", EACH("pairs(t)")},
  {"pairs of 5 fields", "local t = {role = 1, text = 2, tokens = 3, id = 4, index = 5}", EACH("pairs(t)")},
  {"next of fields", "local t = {role = 1, text = 2, tokens = 3}", "next(t)"},
  {"pcall", "local function id(x) return x end f = id", "pcall(f, 1)"},
  {"select '#'", "f = function(...) return select('#', ...) end", "f(1, 2, 3)"},
  {"setmetatable", "local meta = {__index = {}}", "setmetatable({}, meta)"},
  {"a table", "", "{role = i, text = 's'}"},
  {"a call", "local function id(x) return x end f = id", "f(i)"},
  {"nothing", "", "nil"},
};

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

#define CALLS  10000
#define ROUNDS 15

static void count(lua_State *L, lua_Debug *ar) {
  (void)L, (void)ar;
}

/* The chunk that repeats the call is on top of L; nanoseconds per call. */
static double once(lua_State *L) {
  lua_pushvalue(L, -1);
  double start = seconds();
  Sandbox *sandbox = sandbox_of(L);
  int failed = sandbox != NULL ? (int)sandbox_call(sandbox, 0, 0, NULL) : lua_pcall(L, 0, 0, 0);
  return failed ? -1 : (seconds() - start) / CALLS * 1e9;
}

static void least(double *best, double now) {
  if (*best == 0 || now < *best) *best = now;
}

int main(void) {
  SandboxConfig config = {.limits = {UINT64_C(1) << 60, UINT64_C(1) << 50}};
  Sandbox *sandbox = sandbox_new(&config);
  lua_State *stock = luaL_newstate();
  if (sandbox == NULL || stock == NULL) return 1;
  luaL_openlibs(stock);
  printf("%-24s %10s %10s %7s %9s\n", "call", "sandbox ns", "Lua ns", "ratio", "hook only");
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    char script[512];
    double own = 0, lua = 0, hooked = 0;
    snprintf(script, sizeof script, "local s, f %s for i = 1, %d do local _ = %s end", CASES[i].setup, CALLS,
             CASES[i].call);
    if (sandbox_load(sandbox, script, strlen(script), "=bench") != SANDBOX_OK) return 1;
    if (luaL_loadstring(stock, script) != LUA_OK) return 1;
    for (int round = 0; round < ROUNDS; round++) {
      least(&own, once(sandbox_state(sandbox)));
      least(&lua, once(stock));
      lua_sethook(stock, count, LUA_MASKCOUNT, HOOK_INSTRUCTIONS);
      least(&hooked, once(stock));
      lua_sethook(stock, NULL, 0, 0);
    }
    printf("%-24s %10.0f %10.0f %7.2f %9.2f\n", CASES[i].name, own, lua, own / lua, hooked / lua);
    lua_settop(sandbox_state(sandbox), 0);
    lua_settop(stock, 0);
  }
  lua_close(stock);
  sandbox_free(sandbox);
  return 0;
}
