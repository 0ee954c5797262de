/*
** table.sort: a merge of runs, of places in the stack.
**
**      runs of 1   4 | 1 | 3 | 2        equal elements keep their order, so that
**      runs of 2   1 4 | 2 3            results repeat; any function is a valid
**      runs of 4   1 2 3 4              order, it can only give a strange result
**
** Stack: 1 the list, 2 the function or nil, 3 the places, from 4 the elements. They
** stay where they are until all is sorted; what moves is their places.
*/
#include "sandbox/sandbox_state.h"

#define FIRST 4   /* place of the first element */

/* Comparing strings, in the locale's order, costs by the bytes that are equal. */
static void charge_comparison(lua_State *L, int a, int b) {
  uint64_t units = 4;
  if (lua_type(L, a) == LUA_TSTRING && lua_type(L, b) == LUA_TSTRING) {
    size_t a_size = lua_rawlen(L, a), b_size = lua_rawlen(L, b);
    units += (a_size < b_size ? a_size : b_size) / 8;
  }
  if (holds(sandbox_of(L), GUARD_RANGE)) guard_charge(L, units);
}

/* Does the element at place `b` come before the one at `a`? */
static bool comes_before(lua_State *L, bool has_function, int b, int a) {
  charge_comparison(L, a, b);
  if (!has_function) return lua_compare(L, b, a, LUA_OPLT);
  lua_pushvalue(L, 2);
  lua_pushvalue(L, b);
  lua_pushvalue(L, a);
  lua_call(L, 2, 1);
  bool before = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return before;
}

/* The runs [first, middle) and [middle, end) of `from` become one in `to`. */
static void merge(lua_State *L, const int *from, int *to, size_t first, size_t middle, size_t end) {
  size_t a = first, b = middle;
  bool has_function = !lua_isnil(L, 2);
  for (size_t out = first; out < end; out++) {
    bool second = a == middle || (b < end && comes_before(L, has_function, from[b], from[a]));
    to[out] = from[second ? b++ : a++];
  }
  guard_charge(L, (uint64_t)(end - first) / 2);
}

/* `places` has room for 2 * count; where the sorted ones stand. */
static const int *sort_runs(lua_State *L, int *places, size_t count) {
  int *from = places, *to = places + count;
  for (size_t run = 1; run < count; run *= 2) {
    for (size_t first = 0; first < count; first += 2 * run) {
      size_t middle = first + run < count ? first + run : count;
      size_t end = first + 2 * run < count ? first + 2 * run : count;
      merge(L, from, to, first, middle, end);
    }
    int *other = from;
    from = to;
    to = other;
  }
  return from;
}

/* table.sort by merging runs, on copies of the elements on the stack: the list changes only after the last comparison,
   so an error of the comparison leaves it as it was. */
static int l_sort(lua_State *L) {
  lua_Integer count = luaL_len(L, 1);
  if (count < 2) return 0;
  luaL_argcheck(L, count <= SORT_MAX, 1, "array too big");
  if (!lua_isnoneornil(L, 2)) luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  int *places = guard_scratch(L, 2 * (size_t)count * sizeof *places);
  luaL_checkstack(L, (int)count + LUA_MINSTACK, "array too big");
  for (int i = 0; i < (int)count; i++) {
    guard_charge(L, 4);
    lua_geti(L, 1, i + 1);
    places[i] = FIRST + i;
  }
  const int *sorted = sort_runs(L, places, (size_t)count);
  for (int i = 0; i < (int)count; i++) {
    guard_charge(L, 4);
    lua_pushvalue(L, sorted[i]);
    lua_seti(L, 1, i + 1);
  }
  return 0;
}

void library_sort(lua_State *L) {
  static const LibraryFunction functions[] = {{"sort", l_sort}, {NULL, NULL}};
  library_set(L, functions);
}
