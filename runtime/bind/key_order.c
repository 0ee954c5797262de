#include "bind/key_order.h"

#include <string.h>

static bool is_reference(lua_State *L, int index) {
  int kind = lua_type(L, index);
  return kind == LUA_TTABLE || kind == LUA_TFUNCTION;
}

/* Positive integers come first: those of a list are not sorted, as Lua has them in their order. */
static int rank_of(lua_State *L, int index) {
  switch (lua_type(L, index)) {
    case LUA_TNUMBER: return lua_isinteger(L, index) && lua_tointeger(L, index) > 0 ? 0 : 1;
    case LUA_TBOOLEAN: return lua_toboolean(L, index) ? 3 : 2;
    case LUA_TSTRING: return 4;
    default: return 5;                       /* equal: a sandbox has no such keys from outside */
  }
}

static bool string_is_before(lua_State *L, int a, int b) {
  size_t a_size, b_size;
  const char *a_bytes = lua_tolstring(L, a, &a_size), *b_bytes = lua_tolstring(L, b, &b_size);
  int order = memcmp(a_bytes, b_bytes, a_size < b_size ? a_size : b_size);
  return order != 0 ? order < 0 : a_size < b_size;
}

/* Does the key at stack index `a` come before the one at `b`? */
static bool is_before(lua_State *L, int a, int b) {
  int a_rank = rank_of(L, a), b_rank = rank_of(L, b);
  if (a_rank != b_rank || a_rank > 4) return a_rank < b_rank;
  if (a_rank == 4) return string_is_before(L, a, b);
  return a_rank < 2 && lua_compare(L, a, b, LUA_OPLT);      /* numbers, which have no metamethods */
}

static void swap(lua_State *L, int a, int b) {
  lua_pushvalue(L, a);
  lua_copy(L, b, a);
  lua_replace(L, b);
}

/* Moves the key at `at` down the heap of `count` keys from `first` on, the last of the order on top of it. */
static void sift(lua_State *L, int first, int at, int count) {
  for (int child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && is_before(L, first + child, first + child + 1)) child++;
    if (!is_before(L, first + at, first + child)) return;
    swap(L, first + at, first + child);
  }
}

/* Sorts the `count` keys on top: a heap needs no memory. */
static void sort(lua_State *L, int count) {
  int first = lua_gettop(L) - count + 1;
  for (int at = count / 2 - 1; at >= 0; at--) sift(L, first, at, count);
  for (int last = count - 1; last > 0; last--) {
    swap(L, first, first + last);
    sift(L, first, 0, last);
  }
}

bool key_order_walk(lua_State *L, int index, KeyOrderEntry *entry, void *user) {
  lua_Integer listed = 0;    /* 1, 2, 3 ..., which come in their order */
  int base = lua_gettop(L);
  if (!lua_checkstack(L, 6)) return false;
  lua_pushnil(L);
  while (lua_next(L, index) != 0) {          /* later keys ... key value */
    bool is_next = lua_isinteger(L, -2) && lua_tointeger(L, -2) == listed + 1;
    listed += is_next;
    bool is_later = !is_next && is_reference(L, -1);
    if (!is_later) entry(L, user);
    lua_pop(L, 1);
    if (!is_later) continue;
    if (!lua_checkstack(L, 6)) return false;
    lua_pushvalue(L, -1);
  }
  int later = lua_gettop(L) - base;
  sort(L, later);
  for (int i = 1; i <= later; i++) {
    lua_pushvalue(L, base + i);
    lua_pushvalue(L, -1);
    lua_rawget(L, index);
    entry(L, user);
    lua_pop(L, 2);
  }
  lua_settop(L, base);
  return true;
}
