/*
** How JSON sees a table: by its mark, or as one of many rows with the same keys.
*/
#include <assert.h>
#include <stddef.h>

#include "bind/json.h"
#include "bind/json_shape.h"
#include "sandbox/guard.h"

#include "lauxlib.h"

/* ---- marks: the metatables by which JSON writes a table as a list, or as the raw JSON that it holds ---- */

/* Their addresses are the keys of the metatables in the registry. */
static const char LIST_MARK, RAW_MARK;

static bool is_marked(lua_State *L, int index, const char *metatable) {
  if (!lua_istable(L, index) || !lua_getmetatable(L, index)) return false;
  lua_rawgetp(L, LUA_REGISTRYINDEX, metatable);
  bool same = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return same;
}

JsonMark bind_json_mark(lua_State *L, int index) {
  if (is_marked(L, index, &LIST_MARK)) return JSON_MARK_LIST;
  return is_marked(L, index, &RAW_MARK) ? JSON_MARK_RAW : JSON_MARK_NONE;
}

void bind_set_json_mark(lua_State *L, JsonMark mark) {
  assert(lua_istable(L, -1));
  if (mark == JSON_MARK_NONE) return;
  lua_rawgetp(L, LUA_REGISTRYINDEX, mark == JSON_MARK_LIST ? &LIST_MARK : &RAW_MARK);
  lua_setmetatable(L, -2);
}

void bind_push_raw_json(lua_State *L, const char *bytes, size_t size) {
  lua_createtable(L, 1, 0);
  lua_pushlstring(L, bytes, size);
  lua_rawseti(L, -2, 1);
  bind_set_json_mark(L, JSON_MARK_RAW);
}

/* tostring(raw) -> its JSON */
static int l_raw_tostring(lua_State *L) {
  lua_rawgeti(L, 1, 1);
  return 1;
}

/* All scripts of a state share the mark: getmetatable returns its name, and scripts cannot change it. */
static void push_mark(lua_State *L, const char *name) {
  lua_createtable(L, 0, 3);
  lua_pushstring(L, name);
  lua_setfield(L, -2, "__name");
  lua_pushstring(L, name);
  lua_setfield(L, -2, "__metatable");
}

void bind_open_json_marks(lua_State *L) {
  push_mark(L, "json.array");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &LIST_MARK);
  push_mark(L, "json.raw");
  lua_pushcfunction(L, l_raw_tostring);
  lua_setfield(L, -2, "__tostring");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &RAW_MARK);
}

/* ---- shapes ---- */

/* Few keys, and nearly sorted ones in many tables: by insertion. */
static void sort_keys(Shape *shape) {
  for (uint32_t i = 0; i < shape->count; i++) {
    uint32_t at = i;
    for (; at > 0 && text_compare(shape->keys[shape->order[at - 1]], shape->keys[i]) > 0; at--) {
      shape->order[at] = shape->order[at - 1];
    }
    shape->order[at] = (uint8_t)i;
  }
}

bool shape_learn(lua_State *L, int index, Shape *shape) {
  int top = lua_gettop(L);
  uint32_t count = 0;
  shape->count = 0;
  for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1)) {
    if (count == SHAPE_KEYS || lua_type(L, -2) != LUA_TSTRING) {
      lua_settop(L, top);
      return false;
    }
    size_t size;
    const char *bytes = lua_tolstring(L, -2, &size);
    shape->keys[count++] = text_plain(bytes, size);
  }
  shape->count = count;
  sort_keys(shape);
  return count > 0;
}

/* Equal short strings are one string in Lua, which the address of its bytes tells; a long key only costs time. */
bool shape_push_values(lua_State *L, int index, const Shape *shape) {
  int top = lua_gettop(L);
  uint32_t at = 0;
  if (shape->count == 0) return false;
  guard_check_stack(L, SHAPE_KEYS + 2, "JSON is nested too deeply");
  for (lua_pushnil(L); lua_next(L, index) != 0; at++) {
    if (at == shape->count || lua_type(L, -2) != LUA_TSTRING || lua_tostring(L, -2) != shape->keys[at].bytes) {
      lua_settop(L, top);
      return false;
    }
    lua_insert(L, -2);             /* ... value key */
  }
  assert(lua_gettop(L) == top + (int)at);
  if (at == shape->count) return true;
  lua_settop(L, top);
  return false;
}
