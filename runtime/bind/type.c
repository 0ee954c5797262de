#include <string.h>

#include "bind/bind.h"
#include "sandbox/guard.h"
#include "sandbox/sandbox.h"

const BindType BIND_CONVERSATION = {"Conversation"}, BIND_BATCH = {"Batch"}, BIND_DRAFT = {"Draft"},
               BIND_MESSAGE = {"Message"}, BIND_SELECTION = {"Selection"}, BIND_UNIT = {"Unit"}, BIND_TURN = {"Turn"},
               BIND_LEDGER = {"Ledger"}, BIND_BUFFER = {"Buffer"}, BIND_TOKENIZER = {"Tokenizer"},
               BIND_SANDBOX = {"Sandbox"}, BIND_WINDOWS = {"Windows"};

/* Parameters of C functions: registry[&PARAMETERS]["Type:name"] = {"a", "b"}. For prompts
   and tests; a sandbox is spared their 20 KB. */
static const char PARAMETERS;

static void push_parameters(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &PARAMETERS) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_newtable(L);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &PARAMETERS);
}

static void note_parameters(lua_State *L, const char *owner, const char *separator, const BindMethod *method) {
  if (sandbox_of(L) != NULL) return;
  push_parameters(L);
  lua_newtable(L);
  lua_Integer n = 0;
  for (const char *at = method->parameters; *at != '\0';) {
    size_t size = strcspn(at, " ");
    lua_pushlstring(L, at, size);
    lua_rawseti(L, -2, ++n);
    at += size;
    while (*at == ' ') at++;
  }
  lua_pushfstring(L, "%s%s%s", owner, separator, method->name);
  lua_insert(L, -2);
  lua_rawset(L, -3);
  lua_pop(L, 1);
}

void bind_functions(lua_State *L, const char *owner, const BindMethod *functions) {
  for (; functions->name != NULL; functions++) {
    bind_push_charged(L, owner, ".", functions);
    lua_setfield(L, -2, functions->name);
    note_parameters(L, owner, ".", functions);
  }
}

void bind_push_parameters(lua_State *L) { push_parameters(L); }

void bind_type(lua_State *L, const BindType *type, lua_CFunction index, lua_CFunction length, lua_CFunction gc) {
  lua_newtable(L);
  lua_newtable(L);
  lua_rawsetp(L, -2, type);                 /* metatable[type] = methods */
  if (index != NULL) {
    lua_pushcfunction(L, index);
    lua_setfield(L, -2, "__index");
  }
  if (length != NULL) {
    lua_pushcfunction(L, length);
    lua_setfield(L, -2, "__len");
  }
  if (gc != NULL) {
    lua_pushcfunction(L, gc);
    lua_setfield(L, -2, "__gc");
  }
  lua_pushstring(L, type->name);
  lua_setfield(L, -2, "__name");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  lua_rawsetp(L, LUA_REGISTRYINDEX, type);  /* last: one without __gc must never be found */
}

void bind_push_methods(lua_State *L, const BindType *type) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, type);
  lua_rawgetp(L, -1, type);
  lua_remove(L, -2);
}

void bind_methods(lua_State *L, const BindType *type, const BindMethod *methods) {
  bind_push_methods(L, type);
  for (; methods->name != NULL; methods++) {
    bind_push_charged(L, type->name, ":", methods);
    lua_setfield(L, -2, methods->name);
    note_parameters(L, type->name, ":", methods);
  }
  lua_pop(L, 1);
}

void *bind_new(lua_State *L, const BindType *type, size_t size, int user_values) {
  void *made = guard_userdata(L, size, user_values);
  memset(made, 0, size);
  lua_rawgetp(L, LUA_REGISTRYINDEX, type);
  lua_setmetatable(L, -2);
  return made;
}

void *bind_test(lua_State *L, int index, const BindType *type) {
  void *found = lua_touserdata(L, index);
  if (found == NULL || lua_islightuserdata(L, index) || !lua_getmetatable(L, index)) return NULL;
  lua_rawgetp(L, LUA_REGISTRYINDEX, type);
  bool same = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return same ? found : NULL;
}

const BindType *bind_type_of(lua_State *L, int index) {
  static const BindType *const types[] = {&BIND_CONVERSATION, &BIND_BATCH, &BIND_DRAFT, &BIND_MESSAGE,
                                          &BIND_SELECTION,    &BIND_UNIT,  &BIND_TURN,  &BIND_LEDGER,
                                          &BIND_TOKENIZER,    &BIND_WINDOWS};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    if (bind_test(L, index, types[i]) != NULL) return types[i];
  }
  return NULL;
}

void *bind_check(lua_State *L, int index, const BindType *type) {
  void *found = bind_test(L, index, type);
  if (found == NULL) {
    bind_raise(L, "argument", "call methods with a colon: object:method()", "a %s is expected, not %s", type->name,
               luaL_typename(L, index));
  }
  return found;
}

static const char FIELDS = 0;                /* its address is the key of a type's field names */

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
  const char *meant = bind_suggest(name, names);
  const char *hint = meant == NULL ? NULL : lua_pushfstring(L, "did you mean '%s'?", meant);
  bind_raise(L, "unknown_name", hint, "a %s has no field '%s'", type->name, name);
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
