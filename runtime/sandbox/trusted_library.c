#include "sandbox/trusted_library.h"

#include <lauxlib.h>
#include <lualib.h>

#include "sandbox/sandbox_state.h"

/* Addresses are keys of the registry. */
static const char GLOBALS, MODULES;

void trusted_library_push_globals(lua_State *L) { lua_rawgetp(L, LUA_REGISTRYINDEX, &GLOBALS); }

void trusted_library_push_modules(lua_State *L) { lua_rawgetp(L, LUA_REGISTRYINDEX, &MODULES); }

/* require(name); its upvalue is find. */
static int l_require(lua_State *L) {
  luaL_checktype(L, 1, LUA_TSTRING);
  lua_settop(L, 1);
  trusted_library_push_modules(L);
  lua_pushvalue(L, 1);
  if (lua_rawget(L, 2) != LUA_TNIL) return 1;
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushvalue(L, 1);
  lua_call(L, 1, 1);                         /* name modules nil loader */
  if (!lua_iscfunction(L, -1)) {
    trusted_library_push_globals(L);
    lua_setupvalue(L, -2, 1);
  }
  lua_pushvalue(L, 1);
  lua_call(L, 1, 1);                         /* name modules nil module */
  lua_pushvalue(L, 1);
  lua_pushvalue(L, -2);
  lua_rawset(L, 2);
  return 1;
}

static int l_nothing(lua_State *L) {
  (void)L;
  return 0;
}

/* Sets globals[name] to {field = the function on top}, and pops that. */
static void set_table(lua_State *L, int globals, const char *name, const char *field) {
  lua_createtable(L, 0, 1);
  lua_insert(L, -2);
  lua_setfield(L, -2, field);
  lua_setfield(L, globals, name);
}

/* debug.getinfo tells in which line of a script something failed. */
static void push_getinfo(lua_State *L) {
  lua_pushcfunction(L, luaopen_debug);
  lua_call(L, 0, 1);
  lua_getfield(L, -1, "getinfo");
  lua_remove(L, -2);
}

void trusted_library_open(lua_State *L) {
  static const char *const of_scripts[] = {"_G", "load", NULL};
  sandbox_push_globals(L, 0);
  lua_insert(L, -2);
  int globals = lua_gettop(L) - 1;
  lua_pushcclosure(L, l_require, 1);
  lua_setfield(L, globals, "require");
  for (int i = 0; of_scripts[i] != NULL; i++) {
    lua_getglobal(L, of_scripts[i]);
    lua_setfield(L, globals, of_scripts[i]);
  }
  lua_pushcfunction(L, l_nothing);
  set_table(L, globals, "os", "getenv");
  push_getinfo(L);
  set_table(L, globals, "debug", "getinfo");
  library_setmetatable(L, true);
  library_printer(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &GLOBALS);
  lua_newtable(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &MODULES);
}

void trusted_library_require(lua_State *L, const char *name) {
  trusted_library_push_globals(L);
  lua_getfield(L, -1, "require");
  lua_remove(L, -2);
  lua_pushstring(L, name);
  lua_call(L, 1, 1);
}
