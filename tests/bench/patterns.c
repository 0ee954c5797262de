/*
** Patterns in a sandbox, charged step by step, beside Lua's own: nanoseconds per
** call, best of 9, in turns.
*/
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <lualib.h>

#include "sandbox/inside.h"

static const struct { const char *name, *setup, *call; } CASES[] = {
  {"trim a line", "s = '   hello world, this is a line of text   '", "s:match '^%s*(.-)%s*$'"},
  {"key = value", "s = 'key = value'", "s:match '^(%w+)%s*=%s*(%w+)$'"},
  {"a date", "s = '2024-11-22T03:04:05'", "s:match '^(%d%d%d%d)-(%d%d)-(%d%d)'"},
  {"a file's name", "s = '/usr/share/some/path/file.lua'", "s:match '([^/]+)$'"},
  {"a fenced block", "s = ('text '):rep(50) .. '```lua\\nprint(1)\\n```'", "s:match '```(.-)```'"},
  {"brackets", "s = 'function (a, b, (c)) end'", "s:match '%b()'"},
  {"a plain text", "s = ('hay '):rep(300) .. 'needle'", "s:find('needle', 1, true)"},
  {"spaces to one", "s = ('some  text   with spaces '):rep(20)", "s:gsub('%s+', ' ')"},
  {"words by a function", "s = ('some text '):rep(40) local function id(w) return w end f = id", "s:gsub('%w+', f)"},
  {"words of a text", "s = ('the quick brown fox '):rep(40)", "(function() for _ in s:gmatch '%a+' do end end)()"},
};

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

#define CALLS 10000

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
  printf("%-24s %10s %10s %7s\n", "pattern", "sandbox ns", "Lua ns", "ratio");
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    char script[512];
    double own = 0, lua = 0;
    snprintf(script, sizeof script, "local s, f %s for i = 1, %d do local _ = %s end", CASES[i].setup, CALLS,
             CASES[i].call);
    if (sandbox_load(sandbox, script, strlen(script), "=bench") != SANDBOX_OK) return 1;
    if (luaL_loadstring(stock, script) != LUA_OK) return 1;
    for (int round = 0; round < 9; round++) {
      least(&own, once(sandbox_state(sandbox)));
      least(&lua, once(stock));
    }
    printf("%-24s %10.0f %10.0f %7.2f\n", CASES[i].name, own, lua, own / lua);
  }
  lua_close(stock);
  sandbox_free(sandbox);
  return 0;
}
