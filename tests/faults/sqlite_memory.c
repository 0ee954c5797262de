/*
** Memory of SQLite that runs out, as a Lua module; it is loaded before anything opens a database.
**
**     memory.fail(k, sticky)     the k-th allocation from here on fails, once or for ever; nil: none
**     memory.struck()            how many did
*/
#include <dlfcn.h>
#include <lauxlib.h>
#include <lua.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static sqlite3_mem_methods below;     /* SQLite's own */

static struct {
  long at, calls, struck;      /* at 0: none */
  bool sticky;
} fault;

static bool fails(void) {
  if (fault.at == 0) return false;
  long number = ++fault.calls;
  if (fault.sticky ? number < fault.at : number != fault.at) return false;
  fault.struck++;
  return true;
}

static void *allocate(int size) { return fails() ? NULL : below.xMalloc(size); }
static void *resize(void *block, int size) { return fails() ? NULL : below.xRealloc(block, size); }

static int l_fail(lua_State *L) {
  memset(&fault, 0, sizeof fault);
  fault.at = (long)luaL_optinteger(L, 1, 0);
  fault.sticky = lua_toboolean(L, 2);
  return 0;
}

static int l_struck(lua_State *L) {
  lua_pushinteger(L, fault.struck);
  return 1;
}

int luaopen_sqlite_memory(lua_State *L);

int luaopen_sqlite_memory(lua_State *L) {
  static const luaL_Reg functions[] = {{"fail", l_fail}, {"struck", l_struck}, {NULL, NULL}};
  int (*config)(int, ...);
  void *library = dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return luaL_error(L, "%s", dlerror());
  void *symbol = dlsym(library, "sqlite3_config");
  if (symbol == NULL) return luaL_error(L, "SQLite has no sqlite3_config");
  memcpy(&config, &symbol, sizeof symbol);
  if (config(SQLITE_CONFIG_GETMALLOC, &below) != SQLITE_OK) return luaL_error(L, "SQLite is in use already");
  sqlite3_mem_methods methods = below;
  methods.xMalloc = allocate;
  methods.xRealloc = resize;
  if (config(SQLITE_CONFIG_MALLOC, &methods) != SQLITE_OK) return luaL_error(L, "SQLite is in use already");
  luaL_newlib(L, functions);
  return 1;
}
