#include <assert.h>

#include "bind/json_shape.h"

#include "lauxlib.h"
#include "sandbox/guard.h"

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
