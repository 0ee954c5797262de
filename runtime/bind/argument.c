#include <assert.h>
#include <string.h>

#include "base/utf8.h"
#include "bind/argument.h"

/* ---- raising ---- */

/* Pushes "name: " of the bound function that runs, or "". Those of ebb.json are called "json.decode". */
static const char *push_running(lua_State *L) {
  const char *owner;
  const BindMethod *method = bind_running(L, &owner);
  if (method == NULL) return lua_pushliteral(L, "");
  const char *prefix = strncmp(owner, "ebb.", 4) == 0 ? owner + 4 : "";
  return lua_pushfstring(L, "%s%s: ", prefix, method->name);
}

int bind_raise_argument(lua_State *L, const char *code, const char *hint, const char *format, ...) {
  va_list list;
  push_running(L);
  va_start(list, format);
  lua_pushvfstring(L, format, list);
  va_end(list);
  lua_concat(L, 2);
  bind_push_error(L, code, lua_tostring(L, -1), hint);
  return lua_error(L);
}

/* Pushes the name of the running function's parameter at a stack index; NULL, and nothing pushed: it has none there. */
static const char *push_parameter(lua_State *L, int index) {
  const char *owner;
  const BindMethod *method = bind_running(L, &owner);
  if (method == NULL || index < 1) return NULL;
  if (owner[strlen(owner) - 1] == ':') index--;
  const char *at = method->parameters;
  for (int i = 1; i < index && *at != '\0'; i++) {
    at += strcspn(at, " ");
    at += strspn(at, " ");
  }
  if (index < 1 || *at == '\0') return NULL;
  return lua_pushlstring(L, at, strcspn(at, " "));
}

/* The type of a value as users call it: a light userdata is JSON's null. */
static const char *type_name(lua_State *L, int index) {
  if (lua_isnone(L, index)) return "nil";
  return lua_islightuserdata(L, index) ? "null" : luaL_typename(L, index);
}

int bind_raise_type(lua_State *L, int index, const char *name, const char *expected) {
  const char *type = type_name(L, index);
  if (name == NULL) name = push_parameter(L, index);
  return bind_raise_argument(L, "argument", NULL, "%s%s%s is expected, not %s", name != NULL ? name : "",
                             name != NULL ? ": " : "", expected, type);
}

/* ---- memory ---- */

static void *lua_allocate(void *user, void *block, size_t old_size, size_t new_size) {
  lua_State *L = user;
  void *data;
  lua_Alloc allocate = lua_getallocf(L, &data);
  return allocate(data, block, block == NULL ? 0 : old_size, new_size);
}

/* The allocator of the state: the main thread lives as long as the state. */
Memory bind_memory(lua_State *L) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  lua_State *main_thread = lua_tothread(L, -1);
  lua_pop(L, 1);
  return (Memory){.allocate = lua_allocate, .user = main_thread};
}

static void end_buffer(void *block) {
  Buffer *buffer = block;
  if (buffer->memory.allocate != NULL) buffer_free(buffer);
}

Buffer *bind_buffer(lua_State *L) {
  Buffer *buffer = bind_own(L, sizeof *buffer, end_buffer);
  buffer_init(buffer, bind_memory(L));
  return buffer;
}

/* ---- values ---- */

void *bind_check(lua_State *L, int index, const BindType *type) {
  void *block = bind_test(L, index, type);
  if (block == NULL) {
    const char *value = lua_isnone(L, index) ? "nil" : luaL_typename(L, index);
    bind_raise_argument(L, "argument", "call methods with a colon: object:method()", "a %s is expected, not %s",
                        type->name, value);
  }
  return block;
}

void bind_expect(lua_State *L, int index, const char *name, int type) {
  if (lua_type(L, index) == type) return;
  const char *expected = type == LUA_TSTRING ? "a string" : type == LUA_TTABLE ? "a table" : "a function";
  assert(type == LUA_TSTRING || type == LUA_TTABLE || type == LUA_TFUNCTION);
  bind_raise_type(L, index, name, expected);
}

void bind_expect_any(lua_State *L, int index) {
  if (lua_isnone(L, index)) bind_raise_type(L, index, NULL, "a value");
}

static const char *string_at(lua_State *L, int index, const char *name, size_t *size) {
  const char *bytes = lua_tolstring(L, index, size);
  if (bytes == NULL) bind_raise_type(L, index, name, "a string");
  return bytes;
}

Text bind_text(lua_State *L, int index) {
  size_t size;
  const char *bytes = string_at(L, index, NULL, &size);
  return text_plain(bytes, size);
}

const char *bind_string(lua_State *L, int index, const char *name) { return string_at(L, index, name, NULL); }

const char *bind_path(lua_State *L, int index) {
  size_t size;
  if (lua_type(L, index) != LUA_TSTRING) bind_raise_type(L, index, NULL, "a path");
  const char *path = lua_tolstring(L, index, &size);
  if (strlen(path) != size) bind_raise_type(L, index, NULL, "a path without zero bytes");
  return path;
}

Text bind_mended(lua_State *L, int index) {
  Text text = bind_text(L, index);
  if (utf8_check(text.bytes, text.size) == text.size) return text;
  index = lua_absindex(L, index);
  bind_push_mended(L, text);
  lua_replace(L, index);
  return bind_text(L, index);
}

Text bind_name(lua_State *L, int index, const char *what) {
  Text name = bind_text(L, index);
  size_t valid = utf8_check(name.bytes, name.size);
  if (valid == name.size) return name;
  bind_raise(L, "encoding", NULL, "%s: byte %I: expected UTF-8", what, (lua_Integer)valid + 1);
  return name;
}

lua_Integer bind_integer(lua_State *L, int index, const char *name, lua_Integer low, lua_Integer high) {
  int is_integer;
  lua_Integer value = lua_tointegerx(L, index, &is_integer);
  if (lua_type(L, index) != LUA_TNUMBER) bind_raise_type(L, index, name, "a whole number");
  if (!is_integer) {
    const char *text = luaL_tolstring(L, index, NULL);
    bind_raise_argument(L, "argument", NULL, "%s: a whole number is expected, not %s", name, text);
  }
  if (value < low || value > high) {
    const char *hint = low > high ? "the list is empty" : lua_pushfstring(L, "it may be %I to %I", low, high);
    bind_raise_argument(L, "out_of_range", hint, "%s: %I is out of range", name, value);
  }
  return value;
}

/* Pushes "it may be a, b or c". */
static const char *push_choices(lua_State *L, const char *const *names) {
  lua_pushfstring(L, "it may be %s", names[0]);
  for (int i = 1; names[i] != NULL; i++) {
    lua_pushfstring(L, "%s%s", names[i + 1] == NULL ? " or " : ", ", names[i]);
    lua_concat(L, 2);
  }
  return lua_tostring(L, -1);
}

int bind_choice(lua_State *L, int index, const char *name, int otherwise, const char *const *names) {
  if (otherwise >= 0 && lua_isnoneornil(L, index)) return otherwise;
  const char *word = string_at(L, index, name, NULL);
  for (int i = 0; names[i] != NULL; i++) {
    if (strcmp(names[i], word) == 0) return i;
  }
  const char *hint = bind_push_suggestion(L, word, names, NULL);
  if (hint == NULL) hint = push_choices(L, names);
  return bind_raise_argument(L, "unknown_name", hint, "%s: unknown value '%s'", name, word);
}

Role bind_role(lua_State *L, int index) {
  static const char *const names[] = {"system", "user", "assistant", "tool", "developer", "function", NULL};
  Role role;
  if (lua_type(L, index) != LUA_TSTRING) bind_raise_type(L, index, index > 0 ? NULL : "role", "a role");
  if (!role_parse(bind_text(L, index), &role)) {
    const char *word = lua_tostring(L, index);
    bind_raise_argument(L, "role", bind_push_suggestion(L, word, names, "roles are system, user, assistant and tool"),
                        "unknown role '%s'", word);
  }
  return role;
}

unsigned bind_bits(lua_State *L, int index, unsigned (*number)(lua_State *L, int index)) {
  index = lua_absindex(L, index);
  if (!lua_istable(L, index)) return 1u << number(L, index);
  unsigned bits = 0;
  lua_Integer count = (lua_Integer)lua_rawlen(L, index);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, index, i);
    bits |= 1u << number(L, -1);
    lua_pop(L, 1);
  }
  return bits;
}

static unsigned role_number(lua_State *L, int index) { return bind_role(L, index); }

unsigned bind_roles(lua_State *L, int index) { return bind_bits(L, index, role_number); }

/* ---- fields ---- */

void bind_check_names(lua_State *L, int index, const char *what, const char *const *names) {
  const char *before = what != NULL ? what : "", *colon = what != NULL ? ": " : "", *unknown = NULL;
  index = lua_absindex(L, index);
  bind_expect(L, index, what, LUA_TTABLE);
  for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING) {
      bind_raise_argument(L, "argument", NULL, "%s%soptions are named, such as {%s = ...}", before, colon, names[0]);
    }
    const char *key = lua_tostring(L, -2);
    const char *const *name = names;
    while (*name != NULL && strcmp(key, *name) != 0) name++;
    if (*name == NULL && (unknown == NULL || strcmp(key, unknown) < 0)) unknown = key;
  }
  if (unknown == NULL) return;
  bind_raise_argument(L, "unknown_name", bind_push_suggestion(L, unknown, names, NULL), "%s%sunknown option '%s'",
                      before, colon, unknown);
}

int bind_get_field(lua_State *L, int index, const char *name) {
  index = lua_absindex(L, index);
  if (!lua_istable(L, index)) bind_raise_type(L, index, NULL, "a table of options");
  lua_pushstring(L, name);
  return lua_rawget(L, index);
}

bool bind_field(lua_State *L, int index, const char *name) {
  if (bind_get_field(L, index, name) != LUA_TNIL) return true;
  lua_pop(L, 1);
  return false;
}

bool bind_count_field(lua_State *L, int index, const char *name, uint32_t *value) {
  if (!bind_field(L, index, name)) return false;
  *value = (uint32_t)bind_integer(L, -1, name, 0, UINT32_MAX);
  lua_pop(L, 1);
  return true;
}

bool bind_flag_field(lua_State *L, int index, const char *name, bool absent) {
  if (!bind_field(L, index, name)) return absent;
  if (!lua_isboolean(L, -1)) bind_raise_type(L, -1, name, "true or false");
  bool value = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return value;
}

TextList bind_text_list(lua_State *L, int index, const char *name) {
  index = lua_absindex(L, index);
  if (!bind_field(L, index, name)) {
    lua_pushnil(L);
    return (TextList){0};
  }
  bool one = lua_type(L, -1) == LUA_TSTRING;
  if (!one && !lua_istable(L, -1)) bind_raise_type(L, -1, name, "a list of strings");
  lua_Integer count = one ? 1 : (lua_Integer)lua_rawlen(L, -1);
  Text *texts = lua_newuserdatauv(L, (size_t)count * sizeof *texts + 1, 1);
  lua_pushvalue(L, -2);
  lua_setiuservalue(L, -2, 1);             /* the strings live as long as the texts */
  for (lua_Integer i = 0; i < count; i++) {
    if (one) lua_pushvalue(L, -2);
    else lua_rawgeti(L, -2, i + 1);
    if (lua_type(L, -1) != LUA_TSTRING) {
      bind_raise_type(L, -1, lua_pushfstring(L, "%s[%I]", name, i + 1), "a string");
    }
    texts[i] = bind_text(L, -1);
    lua_pop(L, 1);
  }
  lua_remove(L, -2);
  return (TextList){.texts = texts, .count = (uint32_t)count};
}

/* ---- pushing ---- */

void bind_push_text(lua_State *L, Text text) {
  if (!text.escaped) {
    lua_pushlstring(L, text.bytes, text.size);
    return;
  }
  luaL_Buffer buffer;
  char scratch[4];
  Text run;
  luaL_buffinit(L, &buffer);
  while (text_run(&text, scratch, &run)) luaL_addlstring(&buffer, run.bytes, run.size);
  luaL_pushresult(&buffer);
}

void bind_set_integer(lua_State *L, const char *name, lua_Integer value) {
  lua_pushinteger(L, value);
  lua_setfield(L, -2, name);
}

void bind_set_text(lua_State *L, const char *name, Text text) {
  bind_push_text(L, text);
  lua_setfield(L, -2, name);
}
