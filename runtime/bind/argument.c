#include <string.h>

#include "bind/bind.h"

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

static int l_free_buffer(lua_State *L) {
  Buffer *buffer = lua_touserdata(L, 1);
  if (buffer->memory.allocate != NULL) buffer_free(buffer);
  return 0;
}

Buffer *bind_buffer(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &BIND_BUFFER) == LUA_TNIL) {
    bind_type(L, &BIND_BUFFER, NULL, NULL, l_free_buffer);
  }
  lua_pop(L, 1);
  Buffer *buffer = bind_new(L, &BIND_BUFFER, sizeof *buffer, 0);
  buffer_init(buffer, bind_memory(L));
  return buffer;
}

Text bind_text(lua_State *L, int index) {
  size_t size;
  const char *bytes = luaL_checklstring(L, index, &size);
  return text_plain(bytes, size);
}

void bind_push_mended(lua_State *L, Text text) {
  const char *at = text.bytes, *end = text.bytes + text.size;
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (;;) {
    size_t valid = utf8_check(at, (size_t)(end - at));
    luaL_addlstring(&b, at, valid);
    at += valid;
    if (at == end) break;
    luaL_addstring(&b, UTF8_REPLACEMENT);
    at += utf8_bad(at, end);
  }
  luaL_pushresult(&b);
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
  if (!is_integer || lua_type(L, index) != LUA_TNUMBER) {
    bind_raise(L, "argument", NULL, "%s: a whole number is expected, not %s", name, luaL_tolstring(L, index, NULL));
  }
  if (value < low || value > high) {
    const char *hint = low > high ? "the list is empty" : lua_pushfstring(L, "it may be %I to %I", low, high);
    bind_raise(L, "out_of_range", hint, "%s: %I is out of range", name, value);
  }
  return value;
}

void bind_check_names(lua_State *L, int index, const char *what, const char *const *names) {
  index = lua_absindex(L, index);
  if (!lua_istable(L, index)) {
    bind_raise(L, "argument", NULL, "%s: a table is expected, not %s", what, luaL_typename(L, index));
  }
  lua_pushnil(L);
  while (lua_next(L, index) != 0) {
    lua_pop(L, 1);
    const char *key = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
    bool known = false;
    for (const char *const *name = names; key != NULL && *name != NULL && !known; name++)
      known = strcmp(key, *name) == 0;
    if (known) continue;
    if (key == NULL) bind_raise(L, "argument", NULL, "%s: options are named, such as {%s = ...}", what, names[0]);
    const char *meant = bind_suggest(key, names);
    const char *hint = meant == NULL ? NULL : lua_pushfstring(L, "did you mean '%s'?", meant);
    bind_raise(L, "unknown_name", hint, "%s: unknown option '%s'", what, key);
  }
}

int bind_get_field(lua_State *L, int index, const char *name) {
  index = lua_absindex(L, index);
  if (!lua_istable(L, index)) {
    bind_raise(L, "argument", NULL, "a table of options is expected, not %s", luaL_typename(L, index));
  }
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
  if (!lua_isboolean(L, -1)) {
    bind_raise(L, "argument", NULL, "%s: true or false is expected, not %s", name, luaL_typename(L, -1));
  }
  bool value = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return value;
}

Role bind_role(lua_State *L, int index) {
  static const char *const names[] = {"system", "user", "assistant", "tool", "developer", "function", NULL};
  Role role;
  if (lua_type(L, index) != LUA_TSTRING) {
    bind_raise(L, "argument", NULL, "a role is expected, not %s", luaL_typename(L, index));
  }
  if (!role_parse(bind_text(L, index), &role)) {
    const char *meant = bind_suggest(lua_tostring(L, index), names);
    const char *hint =
        meant == NULL ? "roles are system, user, assistant and tool" : lua_pushfstring(L, "did you mean '%s'?", meant);
    bind_raise(L, "role", hint, "unknown role '%s'", lua_tostring(L, index));
  }
  return role;
}

unsigned bind_roles(lua_State *L, int index) {
  index = lua_absindex(L, index);
  if (!lua_istable(L, index)) return 1u << bind_role(L, index);
  unsigned roles = 0;
  lua_Integer count = (lua_Integer)lua_rawlen(L, index);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, index, i);
    roles |= 1u << bind_role(L, -1);
    lua_pop(L, 1);
  }
  return roles;
}

TextList bind_text_list(lua_State *L, int index, const char *name) {
  index = lua_absindex(L, index);
  if (!bind_field(L, index, name)) {
    lua_pushnil(L);
    return (TextList){0};
  }
  bool one = lua_type(L, -1) == LUA_TSTRING;
  if (!one && !lua_istable(L, -1)) {
    bind_raise(L, "argument", NULL, "%s: a list of strings is expected, not %s", name, luaL_typename(L, -1));
  }
  lua_Integer count = one ? 1 : (lua_Integer)lua_rawlen(L, -1);
  Text *texts = lua_newuserdatauv(L, (size_t)count * sizeof *texts + 1, 1);
  lua_pushvalue(L, -2);
  lua_setiuservalue(L, -2, 1);             /* the strings live as long as the texts */
  for (lua_Integer i = 0; i < count; i++) {
    if (one) lua_pushvalue(L, -2);
    else lua_rawgeti(L, -2, i + 1);
    if (lua_type(L, -1) != LUA_TSTRING) {
      bind_raise(L, "argument", NULL, "%s[%I]: a string is expected, not %s", name, i + 1, luaL_typename(L, -1));
    }
    texts[i] = bind_text(L, -1);
    lua_pop(L, 1);
  }
  lua_remove(L, -2);
  return (TextList){.texts = texts, .count = (uint32_t)count};
}

void bind_set_integer(lua_State *L, const char *name, lua_Integer value) {
  lua_pushinteger(L, value);
  lua_setfield(L, -2, name);
}

void bind_set_text(lua_State *L, const char *name, Text text) {
  bind_push_text(L, text);
  lua_setfield(L, -2, name);
}
