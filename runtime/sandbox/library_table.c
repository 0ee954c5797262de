/*
** table: loops in C over what a script says is there.
**
** A __len may claim 2^53 elements and an __index may be a C function, so no hook
** comes between: each step is charged and each range is capped.
*/
#include <limits.h>

#include "sandbox/sandbox_state.h"

#define STEP_UNITS 4     /* reading and writing an element */

/* A table, or what behaves as one. */
static void check_list(lua_State *L, int index) {
  if (lua_type(L, index) == LUA_TTABLE) return;
  if (luaL_getmetafield(L, index, "__index") == LUA_TNIL) luaL_checktype(L, index, LUA_TTABLE);
  lua_pop(L, 1);
}

static lua_Integer length_of(lua_State *L, int index) {
  check_list(L, index);
  return luaL_len(L, index);
}

/* Refuses to walk from `from` to `to`. */
static void check_range(lua_State *L, lua_Integer from, lua_Integer to) {
  if (!holds(sandbox_of(L), GUARD_RANGE)) return;
  if (to >= from && (lua_Unsigned)to - (lua_Unsigned)from >= RANGE_MAX) luaL_error(L, "too many elements");
}

static void step(lua_State *L) {
  if (holds(sandbox_of(L), GUARD_RANGE)) guard_charge(L, STEP_UNITS);
}

/* The same for a loop over elements: at each sixteenth, for as many as follow of
   `left`. */
static void steps(lua_State *L, lua_Integer done, lua_Integer left) {
  if (done % 16 != 0 || !holds(sandbox_of(L), GUARD_RANGE)) return;
  guard_charge(L, STEP_UNITS * (uint64_t)(left < 16 ? left : 16));
}

/* table.insert, with charges for the elements that move up. */
static int l_insert(lua_State *L) {
  lua_Integer end = (lua_Integer)((lua_Unsigned)length_of(L, 1) + 1);
  lua_Integer position = end;
  switch (lua_gettop(L)) {
    case 2: break;
    case 3:
      position = luaL_checkinteger(L, 2);
      luaL_argcheck(L, (lua_Unsigned)position - 1 < (lua_Unsigned)end, 2, "position out of bounds");
      check_range(L, position, end);
      for (lua_Integer i = end; i > position; i--) {
        steps(L, end - i, i - position);
        lua_geti(L, 1, i - 1);
        lua_seti(L, 1, i);
      }
      break;
    default: return luaL_error(L, "wrong number of arguments to 'insert'");
  }
  step(L);
  lua_seti(L, 1, position);
  return 0;
}

static int l_remove(lua_State *L) {
  lua_Integer size = length_of(L, 1);
  lua_Integer position = luaL_optinteger(L, 2, size);
  if (position != size) {
    luaL_argcheck(L, (lua_Unsigned)position - 1 <= (lua_Unsigned)size, 2, "position out of bounds");
  }
  check_range(L, position, size);
  step(L);
  lua_geti(L, 1, position);
  for (lua_Integer first = position; position < size; position++) {
    steps(L, position - first, size - position);
    lua_geti(L, 1, position + 1);
    lua_seti(L, 1, position);
  }
  lua_pushnil(L);
  lua_seti(L, 1, position);
  return 1;
}

/* table.move, with charges for elements and a cap on the range. */
static int l_move(lua_State *L) {
  lua_Integer from = luaL_checkinteger(L, 2), end = luaL_checkinteger(L, 3), to = luaL_checkinteger(L, 4);
  int target = lua_isnoneornil(L, 5) ? 1 : 5;
  check_list(L, 1);
  check_list(L, target);
  if (end >= from) {
    luaL_argcheck(L, from > 0 || end < LUA_MAXINTEGER + from, 3, "too many elements to move");
    check_range(L, from, end);
    lua_Integer count = (lua_Integer)((lua_Unsigned)end - (lua_Unsigned)from + 1);
    luaL_argcheck(L, to <= LUA_MAXINTEGER - count + 1, 4, "destination wrap around");
    bool upward = to > end || to <= from || (target != 1 && !lua_rawequal(L, 1, target));
    for (lua_Integer i = 0; i < count; i++) {
      lua_Integer at = upward ? i : count - 1 - i;
      steps(L, i, count - i);
      lua_geti(L, 1, from + at);
      lua_seti(L, target, to + at);
    }
  }
  lua_pushvalue(L, target);
  return 1;
}

/* table.concat, with charges for elements and a cap on the range. */
static int l_concat(lua_State *L) {
  size_t gap_size;
  lua_Integer last = length_of(L, 1);
  const char *gap = luaL_optlstring(L, 2, "", &gap_size);
  lua_Integer i = luaL_optinteger(L, 3, 1);
  last = luaL_optinteger(L, 4, last);
  check_range(L, i, last);
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  lua_Integer all = last >= i ? last - i + 1 : 0;
  for (lua_Integer count = all; count > 0; count--, i++) {
    steps(L, all - count, count);
    lua_geti(L, 1, i);
    if (!lua_isstring(L, -1)) {
      luaL_error(L, "invalid value (%s) at index %I in table for 'concat'", luaL_typename(L, -1), (LUAI_UACINT)i);
    }
    luaL_addvalue(&b);
    if (count > 1) luaL_addlstring(&b, gap, gap_size);
  }
  luaL_pushresult(&b);
  return 1;
}

static int l_pack(lua_State *L) {
  int count = lua_gettop(L);
  guard_charge(L, 2 + (uint64_t)count / 4);
  lua_createtable(L, count, 1);
  lua_insert(L, 1);
  for (int i = count; i >= 1; i--) lua_rawseti(L, 1, i);
  lua_pushinteger(L, count);
  lua_setfield(L, 1, "n");
  return 1;
}

static int l_unpack(lua_State *L) {
  lua_Integer from = luaL_optinteger(L, 2, 1);
  lua_Integer to = lua_isnoneornil(L, 3) ? luaL_len(L, 1) : luaL_checkinteger(L, 3);
  if (from > to) return 0;
  lua_Unsigned count = (lua_Unsigned)to - (lua_Unsigned)from;
  lua_Unsigned most = holds(sandbox_of(L), GUARD_RANGE) ? VALUES_MAX : INT_MAX - 1;
  if (count >= most || !lua_checkstack(L, (int)count + 1)) return luaL_error(L, "too many results to unpack");
  for (lua_Unsigned i = 0; i <= count; i++) {
    steps(L, (lua_Integer)i, (lua_Integer)(count - i) + 1);
    lua_geti(L, 1, (lua_Integer)((lua_Unsigned)from + i));
  }
  return (int)count + 1;
}

void library_table(lua_State *L) {
  static const LibraryFunction functions[] = {
    {"concat", l_concat}, {"insert", l_insert}, {"move", l_move}, {"pack", l_pack},
    {"remove", l_remove}, {"unpack", l_unpack}, {NULL, NULL}};
  library_set(L, functions);
  library_sort(L);
}
