/*
** Functions of the host's for scripts: with JSON as arguments and result, or with the table of ebb_lua.h over the Lua
** inside. A call is charged; what belongs to a function is in an upvalue of its closure.
**
**     script   f(1, "a")                                    {gold = 3}
**     lua/ebb/libebb      "[1,\"a\"]"                  "{\"gold\":3}"
**     here                      call_json -> function
*/
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "include/ebb_lua.h"
#include "sandbox/guard.h"

/* A function of the host: with JSON as arguments and result, or with Lua values. */
typedef struct HostFunction {
  union {
    ebb_function json;
    ebb_lua_function lua;
  };
  void *user;
  uint64_t cost;             /* fuel of a call */
} HostFunction;

static int raise_host(lua_State *L, ebb_status status, const ebb_sink *result) {
  if (status == EBB_MEMORY) return bind_raise_status(L, STATUS_MEMORY, "the host's function");
  const Buffer *said = result->buffer;
  return bind_raise(L, ebb_status_name(status), NULL, "%s",
                    said->size > 0 ? said->bytes : "the host's function failed");
}

/* (arguments) -> result, both JSON; "" is no result */
static int call_json(lua_State *L) {
  const HostFunction *host = lua_touserdata(L, lua_upvalueindex(1));
  size_t size;
  const char *arguments = luaL_checklstring(L, 1, &size);
  Buffer *out = bind_buffer(L);
  ebb_sink result = {.buffer = out, .cap = SANDBOX_BLOCK - 1};
  guard_charge(L, api_cost(host->cost) + size / 8);
  Locale inside = sandbox_begin_callback(L);
  ebb_status status = host->json(host->user, arguments, size, &result);
  sandbox_end_callback(inside);
  if (result.over) status = EBB_LIMIT;
  guard_charge(L, out->size / 8);
  if (buffer_add_byte(out, '\0') != STATUS_OK) return bind_raise_status(L, STATUS_MEMORY, "the host's function");
  out->size--;
  if (status != EBB_OK) return raise_host(L, status, &result);
  lua_pushlstring(L, out->bytes, out->size);
  return 1;
}

/* ---- registering ---- */

/* Of what is given as 0. */
enum { COST_MIN = 20 };

uint64_t api_cost(uint64_t cost) { return cost == 0 ? COST_MIN : cost; }

/* Pushes a closure of `call`, whose upvalue is a copy of the host's function. */
static void push_host(lua_State *L, const HostFunction *host, lua_CFunction call) {
  HostFunction *copy = lua_newuserdatauv(L, sizeof *copy, 0);
  *copy = *host;
  lua_pushcclosure(L, call, 1);
}

typedef struct Registration {
  const char *function, *name;
  const HostFunction *host;
  lua_CFunction call;
} Registration;

static int l_register(lua_State *L) {
  const Registration *registration = lua_touserdata(L, 1);
  api_push_function(L, registration->function);
  lua_pushstring(L, registration->name);
  push_host(L, registration->host, registration->call);
  lua_call(L, 2, 0);
  return 0;
}

/* A whole public call: `function` of lua/ebb/libebb registers the host's function under a name. */
static ebb_status register_function(ebb_runtime *runtime, const char *function, const char *name,
                                    const HostFunction *host, lua_CFunction call) {
  Registration registration = {.function = function, .name = name, .host = host, .call = call};
  ebb_status status = api_enter(runtime);
  return status == EBB_OK ? api_leave(runtime, api_run(runtime, l_register, &registration)) : status;
}

ebb_status ebb_register(ebb_runtime *runtime, const char *name, ebb_function function, void *user, uint64_t cost) {
  if (name == NULL || function == NULL) return api_missing(runtime);
  HostFunction host = {.json = function, .user = user, .cost = cost};
  return register_function(runtime, "register_json", name, &host, call_json);
}

/* ---- functions that use Lua ---- */

static const ebb_lua LUA;

static lua_State *state_of(ebb_lua_state *L) { return (lua_State *)L; }
static ebb_lua_state *to(lua_State *L) { return (ebb_lua_state *)L; }

/* ---- Lua's own ---- */

static int gettop(ebb_lua_state *L) { return lua_gettop(state_of(L)); }
static void settop(ebb_lua_state *L, int index) { lua_settop(state_of(L), index); }
static void pushvalue(ebb_lua_state *L, int index) { lua_pushvalue(state_of(L), index); }
static void rotate(ebb_lua_state *L, int index, int count) { lua_rotate(state_of(L), index, count); }
static void checkstack(ebb_lua_state *L, int room, const char *what) { guard_check_stack(state_of(L), room, what); }

static int type(ebb_lua_state *L, int index) { return lua_type(state_of(L), index); }
static int toboolean(ebb_lua_state *L, int index) { return lua_toboolean(state_of(L), index); }
static int64_t tointegerx(ebb_lua_state *L, int index, int *good) { return lua_tointegerx(state_of(L), index, good); }
static double tonumberx(ebb_lua_state *L, int index, int *good) { return lua_tonumberx(state_of(L), index, good); }
static const char *tolstring(ebb_lua_state *L, int index, size_t *size) {
  return lua_tolstring(state_of(L), index, size);
}
static uint64_t rawlen(ebb_lua_state *L, int index) { return lua_rawlen(state_of(L), index); }

static int64_t checkinteger(ebb_lua_state *L, int index) { return luaL_checkinteger(state_of(L), index); }
static double checknumber(ebb_lua_state *L, int index) { return luaL_checknumber(state_of(L), index); }
static const char *checklstring(ebb_lua_state *L, int index, size_t *size) {
  return luaL_checklstring(state_of(L), index, size);
}
static int64_t optinteger(ebb_lua_state *L, int index, int64_t otherwise) {
  return luaL_optinteger(state_of(L), index, otherwise);
}
static void checktype(ebb_lua_state *L, int index, int type) { luaL_checktype(state_of(L), index, type); }

static void pushnil(ebb_lua_state *L) { lua_pushnil(state_of(L)); }
static void pushboolean(ebb_lua_state *L, int value) { lua_pushboolean(state_of(L), value); }
static void pushinteger(ebb_lua_state *L, int64_t value) { lua_pushinteger(state_of(L), value); }
static void pushnumber(ebb_lua_state *L, double value) { lua_pushnumber(state_of(L), value); }
static void pushlstring(ebb_lua_state *L, const char *bytes, size_t size) { lua_pushlstring(state_of(L), bytes, size); }
static void createtable(ebb_lua_state *L, int elements, int fields) { lua_createtable(state_of(L), elements, fields); }

static int getfield(ebb_lua_state *L, int index, const char *name) { return lua_getfield(state_of(L), index, name); }
static void setfield(ebb_lua_state *L, int index, const char *name) { lua_setfield(state_of(L), index, name); }
static int geti(ebb_lua_state *L, int index, int64_t element) { return lua_geti(state_of(L), index, element); }
static void seti(ebb_lua_state *L, int index, int64_t element) { lua_seti(state_of(L), index, element); }
static int next(ebb_lua_state *L, int index) { return lua_next(state_of(L), index); }
static int getglobal(ebb_lua_state *L, const char *name) { return lua_getglobal(state_of(L), name); }

static void call(ebb_lua_state *L, int arguments, int results) { lua_call(state_of(L), arguments, results); }

static int raise(ebb_lua_state *L, const char *code, const char *format, ...) {
  char message[400];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  return bind_raise(state_of(L), code, NULL, "%s", message);
}

/* ---- values that the host keeps ---- */

static const char KEPT;      /* the registry's table of them */

/* Pushes the table of them. */
static void push_kept(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &KEPT) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_newtable(L);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &KEPT);
}

static int ref(ebb_lua_state *L) {
  push_kept(state_of(L));
  lua_insert(state_of(L), -2);
  int number = luaL_ref(state_of(L), -2);
  lua_pop(state_of(L), 1);
  return number;
}

static int pushref(ebb_lua_state *L, int number) {
  push_kept(state_of(L));
  int kind = lua_rawgeti(state_of(L), -1, number);
  lua_remove(state_of(L), -2);
  return kind;
}

static void unref(ebb_lua_state *L, int number) {
  push_kept(state_of(L));
  luaL_unref(state_of(L), -1, number);
  lua_pop(state_of(L), 1);
}

/* ---- functions of the host's ---- */

static int call_lua(lua_State *L) {
  const HostFunction *host = lua_touserdata(L, lua_upvalueindex(1));
  guard_charge(L, api_cost(host->cost));
  return host->lua(&LUA, to(L), host->user);
}

ebb_status ebb_lua_register(ebb_runtime *runtime, const char *name, ebb_lua_function function, void *user,
                            uint64_t cost) {
  if (name == NULL || function == NULL) return api_missing(runtime);
  HostFunction host = {.lua = function, .user = user, .cost = cost};
  return register_function(runtime, "register", name, &host, call_lua);
}

/* Leaves what is to run within limits. */
static int l_prepare(lua_State *L) {
  api_need_library(L);                       /* what functions of the host's raise is its */
  push_host(L, lua_touserdata(L, 1), call_lua);
  api_hold(L);
  return 0;
}

ebb_status ebb_lua_run(ebb_runtime *runtime, ebb_lua_function function, void *user) {
  if (function == NULL) return api_missing(runtime);
  HostFunction host = {.lua = function, .user = user};
  ebb_status status = api_enter(runtime);
  if (status != EBB_OK) return status;
  status = api_run(runtime, l_prepare, &host);
  if (status == EBB_OK) status = api_call_held(runtime, UINT64_MAX, NULL);
  return api_leave(runtime, status);
}

/* ---- objects ----
**
** The registry has the metatable of a type under its address; the metatable has
** the type in its first element. An object stands behind its type, aligned.
*/

enum { BEFORE = 16 };        /* bytes before an object, with its type */

static int l_finish(lua_State *L) {
  char *block = lua_touserdata(L, 1);
  const ebb_lua_type *kind;
  memcpy(&kind, block, sizeof kind);
  if (kind != NULL && kind->finish != NULL) kind->finish(block + BEFORE, kind->user);
  memset(block, 0, sizeof kind);
  return 0;
}

static void push_methods(lua_State *L, const ebb_lua_type *kind) {
  lua_newtable(L);
  for (const ebb_lua_method *method = kind->methods; method != NULL && method->name != NULL; method++) {
    HostFunction host = {.lua = method->function, .user = kind->user, .cost = method->cost};
    push_host(L, &host, call_lua);
    lua_setfield(L, -2, method->name);
  }
}

static void push_type(lua_State *L, const ebb_lua_type *kind) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, kind) != LUA_TNIL) return;
  lua_pop(L, 1);
  lua_createtable(L, 0, 4);
  push_methods(L, kind);
  lua_setfield(L, -2, "__index");
  lua_pushstring(L, kind->name);
  lua_setfield(L, -2, "__name");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  lua_pushcfunction(L, l_finish);
  lua_setfield(L, -2, "__gc");
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, kind);
}

static void *newobject(ebb_lua_state *state, size_t size, const ebb_lua_type *kind) {
  lua_State *L = state_of(state);
  guard_check_stack(L, 4, NULL);
  if (size > SANDBOX_BLOCK) bind_raise_status(L, STATUS_LIMIT, kind->name);
  char *block = guard_userdata(L, BEFORE + size, 0);
  memset(block, 0, BEFORE + size);
  push_type(L, kind);
  lua_setmetatable(L, -2);
  memcpy(block, &kind, sizeof kind);
  return block + BEFORE;
}

static void *checkobject(ebb_lua_state *state, int index, const ebb_lua_type *kind) {
  lua_State *L = state_of(state);
  char *block = lua_touserdata(L, index);
  guard_check_stack(L, 2, NULL);
  bool has = block != NULL && lua_getmetatable(L, index);
  bool same = has && lua_rawgetp(L, LUA_REGISTRYINDEX, kind) != LUA_TNIL && lua_rawequal(L, -1, -2);
  if (!same) luaL_typeerror(L, index, kind->name);
  lua_pop(L, 2);
  return block + BEFORE;
}

static const ebb_lua LUA = {
  .size = sizeof(ebb_lua),
  .gettop = gettop, .settop = settop, .pushvalue = pushvalue, .rotate = rotate, .checkstack = checkstack,
  .type = type, .toboolean = toboolean, .tointegerx = tointegerx, .tonumberx = tonumberx, .tolstring = tolstring,
  .rawlen = rawlen, .checkinteger = checkinteger, .checknumber = checknumber, .checklstring = checklstring,
  .optinteger = optinteger, .checktype = checktype, .pushnil = pushnil, .pushboolean = pushboolean,
  .pushinteger = pushinteger, .pushnumber = pushnumber, .pushlstring = pushlstring, .createtable = createtable,
  .getfield = getfield, .setfield = setfield, .geti = geti, .seti = seti, .next = next, .getglobal = getglobal,
  .call = call, .raise = raise, .ref = ref, .pushref = pushref, .unref = unref,
  .newobject = newobject, .checkobject = checkobject};
