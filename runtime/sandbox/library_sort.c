/*
** table.sort: a merge of runs, from one work table into another and back.
**
**      runs of 1   4 | 1 | 3 | 2        equal elements keep their order, so that
**      runs of 2   1 4 | 2 3            results repeat; any function is a valid
**      runs of 4   1 2 3 4              order, it can only give a strange result
**
** Stack: 1 the list, 2 the function or nil, 3 and 4 the work tables.
*/
#include "sandbox/inside.h"

/* Comparing strings, in the locale's order, costs by the bytes that are equal. */
static void charge_comparison(lua_State *L) {
  uint64_t units = 4;
  if (lua_type(L, -1) == LUA_TSTRING && lua_type(L, -2) == LUA_TSTRING) {
    size_t a = lua_rawlen(L, -1), b = lua_rawlen(L, -2);
    units += (a < b ? a : b) / 8;
  }
  if (holds(sandbox_of(L), GUARD_RANGE)) guard_charge(L, units);
}

/* Does element `b` of the table at `work` come before element `a`? */
static bool comes_before(lua_State *L, int work, lua_Integer b, lua_Integer a) {
  bool before;
  bool has_function = !lua_isnil(L, 2);
  if (has_function) lua_pushvalue(L, 2);
  lua_rawgeti(L, work, b);
  lua_rawgeti(L, work, a);
  charge_comparison(L);
  if (has_function) {
    lua_call(L, 2, 1);
    before = lua_toboolean(L, -1);
    lua_pop(L, 1);
  } else {
    before = lua_compare(L, -2, -1, LUA_OPLT);
    lua_pop(L, 2);
  }
  return before;
}

static void copy(lua_State *L, int from, lua_Integer source, int to, lua_Integer target) {
  lua_rawgeti(L, from, source);
  lua_rawseti(L, to, target);
}

/* The runs [first, middle) and [middle, end) of `from` become one in `to`. */
static void merge(lua_State *L, int from, int to, lua_Integer first, lua_Integer middle, lua_Integer end) {
  lua_Integer a = first, b = middle;
  for (lua_Integer out = first; out < end; out++) {
    bool second = a == middle || (b < end && comes_before(L, from, b, a));
    copy(L, from, second ? b++ : a++, to, out);
  }
  guard_charge(L, 2 * (uint64_t)(end - first));
}

static int sort_runs(lua_State *L, lua_Integer count) {
  int from = 3, to = 4;
  for (lua_Integer run = 1; run < count; run *= 2) {
    for (lua_Integer first = 1; first <= count; first += 2 * run) {
      lua_Integer middle = first + run, end = first + 2 * run;
      if (middle > count + 1) middle = count + 1;
      if (end > count + 1) end = count + 1;
      merge(L, from, to, first, middle, end);
    }
    int other = from;
    from = to;
    to = other;
  }
  return from;
}

static int l_sort(lua_State *L) {
  lua_Integer count = luaL_len(L, 1);
  if (count < 2) return 0;
  luaL_argcheck(L, count <= SORT_MAX, 1, "array too big");
  if (!lua_isnoneornil(L, 2)) luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  lua_createtable(L, (int)count, 0);
  lua_createtable(L, (int)count, 0);
  for (lua_Integer i = 1; i <= count; i++) {
    guard_charge(L, 4);
    lua_geti(L, 1, i);
    lua_rawseti(L, 3, i);
  }
  int sorted = sort_runs(L, count);
  for (lua_Integer i = 1; i <= count; i++) {
    guard_charge(L, 4);
    lua_rawgeti(L, sorted, i);
    lua_seti(L, 1, i);
  }
  return 0;
}

void library_sort(lua_State *L) {
  static const Guarded functions[] = {{"sort", l_sort}, {NULL, NULL}};
  library_set(L, functions);
}
