/*
** The globals: Lua's own, each in a form that a stranger may call.
**
** pcall and xpcall charge what catching costs; tostring shows no address, but the
** number in which the value was first shown.
*/
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "sandbox/sandbox_state.h"

/* ---- protected calls ---- */

/* Fuel of what takes longer than an instruction: to raise an error, or hand it to a handler that may raise again; to
   find the place where one was raised, and write it; to catch one; to catch the last of some 200 that handlers
   raised, one within the other, until Lua had no more room for C calls. */
enum { RAISE_UNITS = 24, PLACE_UNITS = 50, CATCH_UNITS = 32, HANDLERS_UNITS = 200 * RAISE_UNITS };

/* Leaves false and the error in the place of what stood above `skip`. */
static int after_pcall(lua_State *L, int status, lua_KContext skip) {
  if (status == LUA_OK || status == LUA_YIELD) return lua_gettop(L) - (int)skip;
  guard_charge(L, status == LUA_ERRERR ? HANDLERS_UNITS : CATCH_UNITS);
  guard_charge_catch(L);
  lua_pushboolean(L, 0);
  lua_pushvalue(L, -2);
  return 2;
}

static int l_pcall(lua_State *L) {
  luaL_checkany(L, 1);
  lua_pushboolean(L, 1);
  lua_insert(L, 1);          /* true function arguments */
  guard_charge(L, 4);
  int status = lua_pcallk(L, lua_gettop(L) - 2, LUA_MULTRET, 0, 0, after_pcall);
  return after_pcall(L, status, 0);
}

static int l_xpcall(lua_State *L) {
  int arguments = lua_gettop(L) - 2;
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_pushboolean(L, 1);
  lua_pushvalue(L, 1);
  lua_rotate(L, 3, 2);       /* function handler true function arguments */
  guard_charge(L, 4);
  int status = lua_pcallk(L, arguments, LUA_MULTRET, 2, 2, after_pcall);
  return after_pcall(L, status, 2);
}

static int l_error(lua_State *L) {
  lua_Integer level = luaL_optinteger(L, 2, 1);
  lua_settop(L, 1);
  guard_charge(L, RAISE_UNITS);
  if (lua_type(L, 1) == LUA_TSTRING && level > 0 && level < 200) {
    guard_charge(L, PLACE_UNITS);
    luaL_where(L, (int)level);
    lua_insert(L, 1);
    lua_concat(L, 2);
  }
  return lua_error(L);
}

static int l_assert(lua_State *L) {
  if (lua_toboolean(L, 1)) return lua_gettop(L);
  luaL_checkany(L, 1);
  if (lua_gettop(L) == 1) return luaL_error(L, "assertion failed!");
  lua_settop(L, 2);
  return lua_error(L);
}

/* ---- tables ---- */

static int l_rawequal(lua_State *L) {
  luaL_checkany(L, 1);
  luaL_checkany(L, 2);
  if (lua_type(L, 1) == LUA_TSTRING) guard_charge(L, 1 + lua_rawlen(L, 1) / 32);
  lua_pushboolean(L, lua_rawequal(L, 1, 2));
  return 1;
}

static int l_rawlen(lua_State *L) {
  int kind = lua_type(L, 1);
  luaL_argexpected(L, kind == LUA_TTABLE || kind == LUA_TSTRING, 1, "table or string");
  lua_pushinteger(L, (lua_Integer)lua_rawlen(L, 1));
  return 1;
}

static int l_rawget(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_checkany(L, 2);
  lua_settop(L, 2);
  lua_rawget(L, 1);
  return 1;
}

static int l_rawset(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_checkany(L, 2);
  luaL_checkany(L, 3);
  lua_settop(L, 3);
  lua_rawset(L, 1);
  return 1;
}

static int next_index(lua_State *L) {
  lua_Integer i = (lua_Integer)((lua_Unsigned)luaL_checkinteger(L, 2) + 1);
  lua_pushinteger(L, i);
  return lua_geti(L, 1, i) == LUA_TNIL ? 1 : 2;
}

/* Upvalue: next_index. */
static int l_ipairs(lua_State *L) {
  luaL_checkany(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushvalue(L, 1);
  lua_pushinteger(L, 0);
  return 3;
}

#define ARGUMENTS_FEW 256

static int l_select(lua_State *L) {
  int top = lua_gettop(L);
  if (lua_type(L, 1) == LUA_TSTRING && *lua_tostring(L, 1) == '#') {
    if (top > ARGUMENTS_FEW) guard_charge(L, (uint64_t)top / 16);      /* `...` has copied them */
    lua_pushinteger(L, top - 1);
    return 1;
  }
  lua_Integer first = luaL_checkinteger(L, 1);
  if (first < 0) first += top;
  else if (first > top) first = top;
  luaL_argcheck(L, first >= 1, 1, "index out of range");
  guard_charge(L, 1 + (uint64_t)(top - first) / 8);
  return top - (int)first;
}

/* ---- conversions ---- */

static int l_type(lua_State *L) {
  int kind = lua_type(L, 1);
  luaL_argcheck(L, kind != LUA_TNONE, 1, "value expected");
  lua_pushstring(L, lua_typename(L, kind));
  return 1;
}

static int digit_of(int c) {
  return isdigit(c) ? c - '0' : isalpha(c) ? toupper(c) - 'A' + 10 : 99;
}

/* An integer in `base`, with spaces around it; false for other texts. */
static bool parse_integer(const char *s, const char *end, int base, lua_Unsigned *value) {
  while (s < end && isspace((unsigned char)*s)) s++;
  while (s < end && isspace((unsigned char)end[-1])) end--;
  bool negative = s < end && *s == '-';
  if (s < end && (*s == '-' || *s == '+')) s++;
  if (s == end) return false;
  for (*value = 0; s < end; s++) {
    int digit = digit_of((unsigned char)*s);
    if (digit >= base) return false;
    *value = *value * (lua_Unsigned)base + (lua_Unsigned)digit;
  }
  if (negative) *value = 0 - *value;
  return true;
}

/* tonumber, with a charge for the length of the text. */
static int l_tonumber(lua_State *L) {
  size_t size;
  if (lua_isnoneornil(L, 2)) {
    luaL_checkany(L, 1);
    if (lua_type(L, 1) == LUA_TNUMBER) return lua_settop(L, 1), 1;
    const char *s = lua_tolstring(L, 1, &size);
    if (s != NULL) guard_charge(L, 1 + size / 4);
    if (s == NULL || lua_stringtonumber(L, s) != size + 1) lua_pushnil(L);
    return 1;
  }
  lua_Integer base = luaL_checkinteger(L, 2);
  luaL_checktype(L, 1, LUA_TSTRING);
  luaL_argcheck(L, base >= 2 && base <= 36, 2, "base out of range");
  const char *s = lua_tolstring(L, 1, &size);
  guard_charge(L, 1 + size / 4);
  lua_Unsigned value;
  if (parse_integer(s, s + size, (int)base, &value)) lua_pushinteger(L, (lua_Integer)value);
  else lua_pushnil(L);
  return 1;
}

/* Key of the registry's table of labels, whose keys are weak. */
static const char LABELS = 0;

lua_Integer guard_label(lua_State *L, int index) {
  Sandbox *sandbox = sandbox_of(L);
  index = lua_absindex(L, index);
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &LABELS) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_createtable(L, 0, 1);
    mode_set(L, "k");
    lua_setmetatable(L, -2);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &LABELS);
  }
  lua_pushvalue(L, index);
  lua_Integer label = lua_rawget(L, -2) == LUA_TNUMBER ? lua_tointeger(L, -1) : 0;
  lua_pop(L, 1);
  if (label == 0) {
    label = ++sandbox->labels;
    lua_pushvalue(L, index);
    lua_pushinteger(L, label);
    lua_rawset(L, -3);
  }
  lua_pop(L, 1);
  return label;
}

const char *library_text(lua_State *L, int index, size_t *size) {
  int kind = lua_type(L, index);
  index = lua_absindex(L, index);
  guard_check_stack(L, 6, NULL);
  guard_charge(L, 2);
  if (kind == LUA_TSTRING || kind == LUA_TNUMBER) {      /* no script can set their metatables */
    lua_pushvalue(L, index);
    return lua_tolstring(L, -1, size);
  }
  if (luaL_callmeta(L, index, "__tostring")) {
    if (!lua_isstring(L, -1)) luaL_error(L, "'__tostring' must return a string");
    return lua_tolstring(L, -1, size);
  }
  if (kind == LUA_TNIL || kind == LUA_TBOOLEAN) return luaL_tolstring(L, index, size);
  bool named = luaL_getmetafield(L, index, "__name") == LUA_TSTRING;
  const char *name = named ? lua_tostring(L, -1) : luaL_typename(L, index);
  lua_Integer label = guard_label(L, index);
  lua_pushfstring(L, "%s: %I", name, (LUAI_UACINT)label);
  return lua_tolstring(L, -1, size);
}

static int check_text(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  if (!lua_isstring(L, -1)) return luaL_error(L, "'__tostring' must return a string");
  return 1;
}

static int l_tostring(lua_State *L) {
  luaL_checkany(L, 1);
  int kind = lua_type(L, 1);
  if ((kind == LUA_TTABLE || kind == LUA_TUSERDATA) && luaL_getmetafield(L, 1, "__tostring") != LUA_TNIL) {
    guard_charge(L, 2);
    lua_pushvalue(L, 1);
    lua_callk(L, 1, 1, 0, check_text);
    return check_text(L, LUA_OK, 0);
  }
  library_text(L, 1, NULL);
  return 1;
}

/* ---- the rest ---- */

/* Hands the line on top to `print`, in the upvalue, or to the host's. */
static void hand_out(lua_State *L, Sandbox *sandbox) {
  size_t size;
  const char *line = lua_tolstring(L, -1, &size);
  if (lua_isfunction(L, lua_upvalueindex(1))) {
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, -2);
    lua_call(L, 1, 0);
  } else if (sandbox->config.print != NULL) {
    sandbox->config.print(sandbox->config.user, line, size);
  }
}

/* print, up to PRINT_MAX bytes in one call or task; then a line says so, and the rest is dropped. */
static int l_print(lua_State *L) {
  Sandbox *sandbox = sandbox_of(L);
  int count = lua_gettop(L);
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (int i = 1; i <= count; i++) {
    if (i > 1) luaL_addchar(&b, '\t');
    library_text(L, i, NULL);
    luaL_addvalue(&b);
  }
  luaL_pushresult(&b);
  size_t size = lua_rawlen(L, -1);
  guard_charge(L, 100 + size / 8);
  if (sandbox->printed > PRINT_MAX) return 0;
  if (holds(sandbox, GUARD_PRINT)) sandbox->printed += size + 1;
  if (sandbox->printed > PRINT_MAX) lua_pushliteral(L, "print: more than 1 MiB; the rest is dropped");
  hand_out(L, sandbox);
  return 0;
}

/* printer(f) -> print, each line of which goes to f */
static int l_printer(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  lua_pushcclosure(L, l_print, 1);
  return 1;
}

void library_printer(lua_State *L) {
  library_push(L, l_printer);
  lua_setfield(L, -2, "printer");
}

static int l_collectgarbage(lua_State *L) {
  const char *what = luaL_optstring(L, 1, "collect");
  if (!holds(sandbox_of(L), GUARD_COLLECT)) return lua_gc(L, LUA_GCCOLLECT);
  if (strcmp(what, "count") != 0) return luaL_error(L, "collectgarbage(\"count\") alone is available");
  if (sandbox_of(L)->config.deterministic) {
    return luaL_error(L, "collectgarbage(\"count\") differs from run to run: a deterministic runtime has none");
  }
  lua_pushnumber(L, (lua_Number)sandbox_of(L)->memory_used / 1024);
  return 1;
}

void library_basic(lua_State *L) {
  static const LibraryFunction functions[] = {
    {"assert", l_assert}, {"collectgarbage", l_collectgarbage}, {"error", l_error},
    {"pcall", l_pcall}, {"print", l_print}, {"rawequal", l_rawequal}, {"rawget", l_rawget},
    {"rawlen", l_rawlen}, {"rawset", l_rawset}, {"request", library_request}, {"select", l_select},
    {"tonumber", l_tonumber}, {"tostring", l_tostring}, {"type", l_type}, {"xpcall", l_xpcall}, {NULL, NULL}};
  library_set(L, functions);
  library_push(L, next_index);
  lua_pushcclosure(L, l_ipairs, 1);
  lua_setfield(L, -2, "ipairs");
  lua_pushliteral(L, LUA_VERSION);
  lua_setfield(L, -2, "_VERSION");
}
