/*
** Fuzzers of the Lua library: SCRIPT, defined before, returns a function that takes one
** input and raises if what must hold does not.
**
** libFuzzer itself measures only the coverage of C code. A hook counts lines of Lua:
** each has a counter, which libFuzzer reads as if the compiler had put it there.
*/
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bind/open.h"

#include <lauxlib.h>
#include <lualib.h>

#define COUNTERS 4096

__attribute__((section("__libfuzzer_extra_counters"))) static uint8_t counters[COUNTERS];

static lua_State *state;

/* Lines of one file have neighbouring counters; the name of the file decides where they begin. */
static void count_line(lua_State *L, lua_Debug *line) {
  lua_getinfo(L, "Sl", line);
  size_t file = 0;
  for (const char *at = line->source; *at != '\0'; at++) file = file * 31 + (unsigned char)*at;
  counters[(file + (size_t)line->currentline) % COUNTERS]++;
}

static void fail(void) {
  fprintf(stderr, "%s: %s\n", SCRIPT, luaL_tolstring(state, -1, NULL));
  abort();
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc;
  (void)argv;
  state = luaL_newstate();
  luaL_openlibs(state);
  luaL_requiref(state, "ebb.core", luaopen_ebb_core, 0);
  lua_settop(state, 0);
  if (luaL_dostring(state, "package.path = 'lua/?.lua;lua/?/init.lua'\n"
                           "return dofile '" SCRIPT "'") != LUA_OK) fail();
  lua_sethook(state, count_line, LUA_MASKLINE, 0);
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  lua_pushvalue(state, 1);
  lua_pushlstring(state, (const char *)data, size);
  if (lua_pcall(state, 1, 0, 0) != LUA_OK) fail();
  return 0;
}
