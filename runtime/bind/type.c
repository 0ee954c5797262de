/*
** Types of userdata, tables of bound functions, and what these cost in a sandbox.
**
**     registry[&type]     = metatable; metatable[&type] = methods, metatable[&TYPE] = the type
**     registry[&FUNCTIONS] = { "Draft:", BindMethod[], "core.draft.", BindMethod[] ... }
**
** Outside of a sandbox nothing is charged and nothing stands between a caller and a
** function. The allocator charges for what is made; prices are for what is only read.
*/
#include <assert.h>
#include <string.h>

#include "bind/error.h"
#include "bind/type.h"
#include "sandbox/guard.h"
#include "sandbox/sandbox.h"

#define STEP_UNITS    20
#define PATH_UNITS    200
#define MESSAGE_UNITS 10     /* of a list, each */

/* Their addresses are keys: of a metatable, its type and the names of the type's fields;
   of the registry, the tables of functions, the names of parameters and the type of
   owned blocks. */
static const char TYPE, FIELDS, FUNCTIONS, PARAMETERS, DESCRIPTIONS, OWNED;

/* ---- prices ---- */

static const char *const CHARGE_NAMES[] = {NULL, "step", "path", "list", "text", "never"};

/* The messages that the arguments stand for; of a value of no bound type as many as it has elements. */
static uint64_t messages_of(lua_State *L) {
  int top = lua_gettop(L);
  uint64_t count = 0;
  for (int i = 1; i <= top && i <= 3; i++) {
    const BindType *type = bind_type_of(L, i);
    if (type != NULL && type->messages != NULL) count += type->messages(L, i);
    else if (lua_type(L, i) == LUA_TUSERDATA || lua_type(L, i) == LUA_TTABLE) count += lua_rawlen(L, i) / 8;
  }
  return count;
}

static uint64_t bytes_of(lua_State *L) {
  int top = lua_gettop(L);
  uint64_t bytes = 0;
  for (int i = 1; i <= top; i++) {
    if (lua_type(L, i) == LUA_TSTRING || lua_type(L, i) == LUA_TTABLE) bytes += lua_rawlen(L, i);
  }
  return bytes;
}

static int call_charged(lua_State *L);

/* ---- tables of functions ---- */

/* Notes the names of a function's parameters under its whole name, for prompts and
   tests; a sandbox is spared their 20 KB. */
static void note_parameters(lua_State *L, const char *owner, const BindMethod *method) {
  if (sandbox_of(L) != NULL) return;
  bind_push_parameters(L);
  lua_newtable(L);
  lua_Integer n = 0;
  for (const char *at = method->parameters; *at != '\0';) {
    size_t size = strcspn(at, " ");
    lua_pushlstring(L, at, size);
    lua_rawseti(L, -2, ++n);
    at += size;
    while (*at == ' ') at++;
  }
  lua_pushfstring(L, "%s%s", owner, method->name);
  lua_insert(L, -2);
  lua_rawset(L, -3);
  lua_pop(L, 1);
}

/* Pushes the table in the registry under the key; a new one if there is none. */
static void push_registered(lua_State *L, const void *key) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, key) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_newtable(L);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, key);
}

void bind_push_parameters(lua_State *L) { push_registered(L, &PARAMETERS); }

/* Adds functions to the table on top; `owner` is what stands before their names, with its separator. */
static void add_functions(lua_State *L, const char *owner, const BindMethod *functions) {
  bool charged = sandbox_of(L) != NULL;
  push_registered(L, &FUNCTIONS);
  lua_Integer count = (lua_Integer)lua_rawlen(L, -1);
  lua_pushstring(L, owner);
  lua_rawseti(L, -2, count + 1);
  lua_pushlightuserdata(L, (void *)functions);
  lua_rawseti(L, -2, count + 2);
  lua_pop(L, 1);
  for (const BindMethod *method = functions; method->name != NULL; method++) {
    assert(method->charge >= CHARGE_STEP && method->charge <= CHARGE_NEVER);
    if (charged) {
      lua_pushlightuserdata(L, (void *)method);
      lua_pushcclosure(L, call_charged, 1);
    } else {
      lua_pushcfunction(L, method->function);
    }
    lua_setfield(L, -2, method->name);
    note_parameters(L, owner, method);
  }
}

void bind_functions(lua_State *L, const char *owner, const BindMethod *functions) {
  lua_pushfstring(L, "%s.", owner);
  lua_pushvalue(L, -2);
  add_functions(L, lua_tostring(L, -2), functions);
  lua_pop(L, 2);
}

/* The bound function that `is_it` accepts, or NULL; *owner belongs to the registry. */
static const BindMethod *find_function(lua_State *L, bool (*is_it)(const BindMethod *, const char *, const void *),
                                       const void *key, const char **owner) {
  const BindMethod *result = NULL;
  int top = lua_gettop(L);
  bool any = lua_rawgetp(L, LUA_REGISTRYINDEX, &FUNCTIONS) == LUA_TTABLE;
  for (lua_Integer i = 1; any && result == NULL && lua_rawgeti(L, top + 1, i) == LUA_TSTRING; i += 2) {
    *owner = lua_tostring(L, -1);
    lua_rawgeti(L, top + 1, i + 1);
    const BindMethod *method = lua_touserdata(L, -1);
    while (method->name != NULL && !is_it(method, *owner, key)) method++;
    if (method->name != NULL) result = method;
    lua_settop(L, top + 1);
  }
  lua_settop(L, top);
  return result;
}

static bool has_function(const BindMethod *method, const char *owner, const void *key) {
  (void)owner;
  return method->function == *(const lua_CFunction *)key;
}

static bool has_name(const BindMethod *method, const char *owner, const void *key) {
  size_t size = strlen(owner);
  return strncmp(key, owner, size) == 0 && strcmp((const char *)key + size, method->name) == 0;
}

const char *bind_charge_name(lua_State *L, const char *name) {
  const char *owner;
  const BindMethod *method = find_function(L, has_name, name, &owner);
  return method != NULL ? CHARGE_NAMES[method->charge] : NULL;
}

static bool is_method(const BindMethod *method, const char *owner, const void *key) {
  (void)owner;
  return method == key;
}

/* A bound function in a sandbox. Upvalue: its BindMethod. */
static int call_charged(lua_State *L) {
  const BindMethod *method = lua_touserdata(L, lua_upvalueindex(1));
  const char *owner = "";
  switch (method->charge) {
    case CHARGE_STEP: guard_charge(L, STEP_UNITS); break;
    case CHARGE_PATH: guard_charge(L, PATH_UNITS); break;
    case CHARGE_LIST: guard_charge(L, PATH_UNITS + MESSAGE_UNITS * messages_of(L)); break;
    case CHARGE_TEXT: guard_charge(L, STEP_UNITS + bytes_of(L)); break;
    case CHARGE_NEVER:
      find_function(L, is_method, method, &owner);
      return bind_raise(L, "sandbox", NULL, "%s%s is not available to sandboxed scripts", owner, method->name);
  }
  return method->function(L);
}

const BindMethod *bind_running(lua_State *L, const char **owner) {
  lua_Debug frame;
  if (!lua_checkstack(L, 4) || !lua_getstack(L, 0, &frame)) return NULL;
  lua_getinfo(L, "f", &frame);
  lua_CFunction function = lua_tocfunction(L, -1);
  lua_pop(L, 1);
  if (function == call_charged) return find_function(L, is_method, lua_touserdata(L, lua_upvalueindex(1)), owner);
  return function == NULL ? NULL : find_function(L, has_function, &function, owner);
}

/* ---- types ---- */

void bind_push_descriptions(lua_State *L) { push_registered(L, &DESCRIPTIONS); }

/* __tostring: by the library's function for the type, else type and address, or in a sandbox label; upvalue 1: the
   type's name */
static int l_tostring(lua_State *L) {
  lua_settop(L, 1);
  bind_push_descriptions(L);
  lua_pushvalue(L, lua_upvalueindex(1));
  if (lua_rawget(L, -2) == LUA_TFUNCTION) {
    lua_pushvalue(L, 1);
    lua_call(L, 1, 1);
    if (lua_type(L, -1) == LUA_TSTRING) return 1;
  }
  const char *name = lua_tostring(L, lua_upvalueindex(1));
  if (sandbox_of(L) == NULL) lua_pushfstring(L, "%s: %p", name, lua_topointer(L, 1));
  else lua_pushfstring(L, "%s: %I", name, (LUAI_UACINT)guard_label(L, 1));
  return 1;
}

/* __gc of a type, in the upvalue, where the allocator does not end contents (guard_ends_owners). */
static int l_end(lua_State *L) {
  const BindType *type = lua_touserdata(L, lua_upvalueindex(1));
  type->end(lua_touserdata(L, 1));
  return 0;
}

int bind_refuse_field(lua_State *L) {
  const BindType *type = bind_type_of(L, 1);
  if (type == NULL) return bind_raise(L, "argument", NULL, "this value has no fields to set");
  if (lua_type(L, 2) != LUA_TSTRING)
    return bind_raise(L, "argument", type->edits, "what stands in a %s cannot be assigned", type->name);
  return bind_raise(L, "argument", type->edits, "the field '%s' of a %s cannot be assigned", lua_tostring(L, 2),
                    type->name);
}

/* __pairs: says what has a table, where a method gives one. */
static int l_pairs(lua_State *L) {
  const BindType *type = lua_touserdata(L, lua_upvalueindex(1));
  bind_push_methods(L, type);
  lua_getfield(L, -1, "totable");
  const char *hint = lua_isnil(L, -1) ? "for i = 1, #it do ... it[i] ... end walks what stands in it"
                                      : "pairs(it:totable()) walks its fields";
  return bind_raise(L, "argument", hint, "pairs walks tables, and this is a %s", type->name);
}

void bind_type(lua_State *L, const BindType *type, lua_CFunction index, lua_CFunction length) {
  lua_newtable(L);
  lua_newtable(L);
  lua_rawsetp(L, -2, type);
  lua_pushlightuserdata(L, (void *)type);
  lua_rawsetp(L, -2, &TYPE);
  if (index != NULL) {
    lua_pushcfunction(L, index);
    lua_setfield(L, -2, "__index");
  }
  if (length != NULL) {
    lua_pushcfunction(L, length);
    lua_setfield(L, -2, "__len");
  }
  lua_pushcfunction(L, bind_refuse_field);
  lua_setfield(L, -2, "__newindex");
  lua_pushlightuserdata(L, (void *)type);
  lua_pushcclosure(L, l_pairs, 1);
  lua_setfield(L, -2, "__pairs");
  if (type->end != NULL && !guard_ends_owners(L)) {
    lua_pushlightuserdata(L, (void *)type);
    lua_pushcclosure(L, l_end, 1);
    lua_setfield(L, -2, "__gc");
  }
  lua_pushstring(L, type->name);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "__name");
  lua_pushcclosure(L, l_tostring, 1);
  lua_setfield(L, -2, "__tostring");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  lua_rawsetp(L, LUA_REGISTRYINDEX, type);  /* last: an incomplete one must never be found */
}

void bind_push_methods(lua_State *L, const BindType *type) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, type);
  lua_rawgetp(L, -1, type);
  lua_remove(L, -2);
}

void bind_methods(lua_State *L, const BindType *type, const BindMethod *methods) {
  const char *owner = lua_pushfstring(L, "%s:", type->name);
  bind_push_methods(L, type);
  add_functions(L, owner, methods);
  lua_pop(L, 2);
}

void *bind_new(lua_State *L, const BindType *type, size_t size, int user_values) {
  void *block = type->end != NULL ? guard_owner(L, size, user_values, 0, type->end)
                                  : memset(guard_userdata(L, size, user_values), 0, size);
  lua_rawgetp(L, LUA_REGISTRYINDEX, type);
  lua_setmetatable(L, -2);
  return block;
}

void *bind_test(lua_State *L, int index, const BindType *type) {
  return bind_type_of(L, index) == type ? lua_touserdata(L, index) : NULL;
}

const BindType *bind_type_of(lua_State *L, int index) {
  if (lua_type(L, index) != LUA_TUSERDATA || !lua_getmetatable(L, index)) return NULL;
  const BindType *type = lua_rawgetp(L, -1, &TYPE) == LUA_TLIGHTUSERDATA ? lua_touserdata(L, -1) : NULL;
  lua_pop(L, 2);
  return type;
}

/* ---- blocks that the collector ends ---- */

typedef struct Owned {
  void (*end)(void *block);
  _Alignas(uint64_t) unsigned char block[];    /* Lua aligns userdata no further */
} Owned;

static int l_end_owned(lua_State *L) {
  Owned *owned = lua_touserdata(L, 1);
  owned->end(owned->block);
  return 0;
}

static void push_owned_metatable(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &OWNED) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_newtable(L);
  if (!guard_ends_owners(L)) {
    lua_pushcfunction(L, l_end_owned);
    lua_setfield(L, -2, "__gc");
  }
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &OWNED);
}

void *bind_own(lua_State *L, size_t size, void (*end)(void *block)) {
  push_owned_metatable(L);
  Owned *owned = guard_owner(L, sizeof *owned + size, 0, offsetof(Owned, block), end);
  owned->end = end;
  lua_insert(L, -2);
  lua_setmetatable(L, -2);
  return owned->block;
}

void *bind_test_owned(lua_State *L, int index, void (*end)(void *block)) {
  Owned *owned = lua_touserdata(L, index);
  if (owned == NULL || lua_islightuserdata(L, index) || !lua_getmetatable(L, index)) return NULL;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &OWNED);
  bool same = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return same && owned->end == end ? owned->block : NULL;
}

/* ---- fields ---- */

/* Raises that the type has no field or method `name`, with the nearest of up to 127 names as a hint. */
static void raise_unknown(lua_State *L, const BindType *type, const char *name) {
  const char *names[128];
  int count = 0;
  lua_rawgetp(L, LUA_REGISTRYINDEX, type);
  lua_rawgetp(L, -1, &FIELDS);
  const char *const *fields = lua_touserdata(L, -1);
  while (fields != NULL && fields[count] != NULL && count < 64) {
    names[count] = fields[count];
    count++;
  }
  bind_push_methods(L, type);
  lua_pushnil(L);
  while (lua_next(L, -2) != 0 && count < 127) {
    lua_pop(L, 1);
    if (lua_type(L, -1) == LUA_TSTRING) names[count++] = lua_tostring(L, -1);
  }
  names[count] = NULL;
  bind_raise(L, "unknown_name", bind_push_suggestion(L, name, names, NULL), "a %s has no field '%s'", type->name,
             name);
}

int bind_index_method(lua_State *L, const BindType *type) {
  bind_push_methods(L, type);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, -2) == LUA_TNIL && lua_type(L, 2) == LUA_TSTRING) raise_unknown(L, type, lua_tostring(L, 2));
  return 1;
}

void bind_open_fields(lua_State *L, const BindType *type, const char *const *names) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, type);
  lua_pushlightuserdata(L, (void *)names);
  lua_rawsetp(L, -2, &FIELDS);               /* for hints */
  lua_pop(L, 1);
  lua_newtable(L);
  for (int i = 0; names[i] != NULL; i++) {
    lua_pushinteger(L, i);
    lua_setfield(L, -2, names[i]);
  }
  lua_rawsetp(L, LUA_REGISTRYINDEX, names);
}

int bind_find_field(lua_State *L, const char *const *names) {
  lua_settop(L, 2);
  lua_rawgetp(L, LUA_REGISTRYINDEX, names);
  lua_pushvalue(L, 2);
  int field = lua_rawget(L, 3) == LUA_TNUMBER ? (int)lua_tointeger(L, -1) : -1;
  lua_settop(L, 2);
  return field;
}
