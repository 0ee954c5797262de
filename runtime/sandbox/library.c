/*
** The allow-list: what a script finds in its globals, and nothing else.
**
** io, os, debug and package are never opened. Of Lua's own libraries string,
** math and utf8 are opened aside; only what is named here is taken from them.
*/
#include <lualib.h>

#include "sandbox/sandbox_state.h"

/* ---- utf8 ---- */

static int l_utf8_len(lua_State *L) {
  size_t size;
  luaL_checklstring(L, 1, &size);
  guard_charge(L, 2 + size / 8);
  return library_stock(L);
}

/* utf8.codepoint, with a cap on the number of results and a charge for them. */
static int l_utf8_codepoint(lua_State *L) {
  lua_Integer from = luaL_optinteger(L, 2, 1), to = luaL_optinteger(L, 3, from);
  size_t size;
  luaL_checklstring(L, 1, &size);
  if (from < 0) from += (lua_Integer)size + 1;
  if (to < 0) to += (lua_Integer)size + 1;
  if (to > (lua_Integer)size) to = (lua_Integer)size;
  if (from >= 1 && to >= from && to - from >= VALUES_MAX) return luaL_error(L, "string slice too long");
  guard_charge(L, 2 + (uint64_t)(from >= 1 && to >= from ? to - from : 0) / 4);
  return library_stock(L);
}

static int l_utf8_offset(lua_State *L) {
  size_t size;
  luaL_checklstring(L, 1, &size);
  lua_Integer n = luaL_checkinteger(L, 2);
  uint64_t steps = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
  guard_charge(L, 2 + (steps < size ? steps : size) / 4);
  return library_stock(L);
}

static int l_utf8_char(lua_State *L) {
  guard_charge(L, 2 + (uint64_t)lua_gettop(L));
  return library_stock(L);
}

/* The iterator of codes, which skips as many continuation bytes as there are. */
static int next_code(lua_State *L) {
  size_t size;
  const char *s = luaL_checklstring(L, 1, &size);
  lua_Unsigned from = (lua_Unsigned)lua_tointeger(L, 2), at = from;
  while (at < size && ((unsigned char)s[at] & 0xC0) == 0x80) at++;
  guard_charge(L, 2 + (at - from) / 4);
  return library_stock(L);
}

static int l_utf8_codes(lua_State *L) {
  guard_charge(L, 2);
  int count = library_stock(L);              /* iterator text 0 */
  lua_pushvalue(L, -count);
  lua_pushcclosure(L, next_code, 1);
  lua_replace(L, -count - 1);
  return count;
}

static void open_utf8(lua_State *L, int stock) {
  static const LibraryFunction functions[] = {
    {"char", l_utf8_char}, {"codepoint", l_utf8_codepoint}, {"codes", l_utf8_codes}, {"len", l_utf8_len},
    {"offset", l_utf8_offset}, {NULL, NULL}};
  library_wrap(L, stock, functions);
  lua_getfield(L, stock, "charpattern");
  lua_setfield(L, -2, "charpattern");
}

/* ---- math ---- */

/* Without an argument Lua would take the time and an address. Its function has
   an upvalue of its own, so it is called. */
static int l_randomseed(lua_State *L) {
  luaL_checknumber(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

static void open_math(lua_State *L, int stock) {
  static const char *const names[] = {
    "abs", "acos", "asin", "atan", "ceil", "cos", "deg", "exp", "floor", "fmod", "huge", "log", "max", "maxinteger",
    "min", "mininteger", "modf", "pi", "rad", "random", "sin", "sqrt", "tan", "tointeger", "type", "ult"};
  static const LibraryFunction functions[] = {{"randomseed", l_randomseed}, {NULL, NULL}};
  lua_getfield(L, stock, "randomseed");
  lua_pushinteger(L, (lua_Integer)sandbox_of(L)->config.seed);
  lua_pushinteger(L, 0);
  lua_call(L, 2, 0);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    lua_getfield(L, stock, names[i]);
    if (number_is_absent(L, -1)) number_function(sandbox_of(L), lua_tocfunction(L, -1));
    lua_setfield(L, stock + 1, names[i]);
    lua_settop(L, stock + 1);
  }
  library_wrap(L, stock, functions);
}

/* ---- all ---- */

/* Pushes a library of Lua's, as it is. */
static int push_stock(lua_State *L, lua_CFunction open, const char *name) {
  lua_pushcfunction(L, open);
  lua_pushstring(L, name);
  lua_call(L, 1, 1);
  return lua_gettop(L);
}

#define STRING_ROOM 32   /* twice its names: each s:find() is a look-up, which few of the same hash should delay */

/* The guarded library takes the place of the one that Lua put into the
   metatable of strings; scripts get a copy of it. Globals are on top. */
static void open_string(lua_State *L) {
  int globals = lua_gettop(L), stock = push_stock(L, luaopen_string, LUA_STRLIBNAME);
  for (int i = 0; i < 2; i++) {
    lua_createtable(L, 0, STRING_ROOM);
    library_string(L, stock);
  }                          /* ... stock, for the metatable, for scripts */
  lua_setfield(L, globals, "string");
  lua_pushliteral(L, "");
  lua_insert(L, -2);         /* stock "" library */
  library_string_meta(L);
  lua_remove(L, -2);
  lua_setmetatable(L, -2);
  lua_settop(L, globals);
}

static void open_from(lua_State *L, lua_CFunction open, const char *name, void (*fill)(lua_State *, int)) {
  int globals = lua_gettop(L), stock = push_stock(L, open, name);
  lua_createtable(L, 0, 30);
  fill(L, stock);
  lua_setfield(L, globals, name);
  lua_settop(L, globals);
}

static void open_own(lua_State *L, const char *name, void (*fill)(lua_State *)) {
  lua_createtable(L, 0, 8);
  fill(L);
  lua_setfield(L, -2, name);
}

void library_open(lua_State *L) {
  lua_pushboolean(L, 1);     /* nothing is read from the environment, also by libraries opened later */
  lua_setfield(L, LUA_REGISTRYINDEX, "LUA_NOENV");
  lua_pushglobaltable(L);
  library_basic(L);
  library_metatable(L);
  library_order(L);
  open_string(L);
  open_from(L, luaopen_math, LUA_MATHLIBNAME, open_math);
  open_from(L, luaopen_utf8, LUA_UTF8LIBNAME, open_utf8);
  open_own(L, "table", library_table);
  open_own(L, "coroutine", library_coroutine);
  library_load(L, 0);
  library_loaded(L);
  lua_pushvalue(L, -1);
  lua_setfield(L, -2, "_G");
  lua_pop(L, 1);
}

/* Pushes a copy of the table at index. */
static void push_copy(lua_State *L, int index) {
  index = lua_absindex(L, index);
  lua_newtable(L);
  for (lua_pushnil(L); lua_next(L, index) != 0;) {
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, -4);
  }
}

void sandbox_push_globals(lua_State *L, int modules) {
  if (modules != 0) modules = lua_absindex(L, modules);
  lua_pushglobaltable(L);
  push_copy(L, -1);
  lua_replace(L, -2);                          /* globals */
  lua_pushnil(L);
  lua_setfield(L, -2, "_G");
  for (lua_pushnil(L); lua_next(L, -2) != 0;) {      /* fields that are there already may be set */
    if (lua_istable(L, -1)) {
      push_copy(L, -1);
      lua_replace(L, -2);
      lua_pushvalue(L, -2);
      lua_insert(L, -2);
      lua_rawset(L, -4);
    } else {
      lua_pop(L, 1);
    }
  }
  lua_pushvalue(L, -1);
  lua_setfield(L, -2, "_G");
  library_load(L, modules);
}
