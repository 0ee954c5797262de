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

/* A table without a metatable: nothing is called for its elements. */
static bool is_plain(lua_State *L, int index) {
  if (lua_type(L, index) != LUA_TTABLE) return false;
  if (!lua_getmetatable(L, index)) return true;
  lua_pop(L, 1);
  return false;
}

static lua_Integer length_of(lua_State *L, int index) {
  if (is_plain(L, index)) return (lua_Integer)lua_rawlen(L, index);
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
   `left`. True: the slice is over. */
static bool steps(lua_State *L, lua_Integer done, lua_Integer left) {
  if (done % 16 != 0 || !holds(sandbox_of(L), GUARD_RANGE)) return false;
  return left > 0 && guard_pause(L, STEP_UNITS * (uint64_t)(left < 16 ? left : 16));
}

static int go_on_insert(lua_State *L, int status, lua_KContext i);

/* (list, position, value): moves up the elements from `position` to i - 1, the last first, and puts in the value. */
static int insert_from(lua_State *L, lua_Integer i) {
  lua_Integer position = lua_tointeger(L, 2);
  while (i > position) {
    lua_geti(L, 1, i - 1);
    lua_seti(L, 1, i--);
    if (steps(L, i - position, i - position)) return guard_yield(L, i, go_on_insert);
  }
  lua_seti(L, 1, position);
  return 0;
}

static int go_on_insert(lua_State *L, int status, lua_KContext i) {
  (void)status;
  return insert_from(L, (lua_Integer)i);
}

/* table.insert, with charges for the elements that move up. */
static int l_insert(lua_State *L) {
  lua_Integer position, end = (lua_Integer)((lua_Unsigned)length_of(L, 1) + 1);
  step(L);
  switch (lua_gettop(L)) {
    case 2:
      lua_seti(L, 1, end);
      return 0;
    case 3:
      position = luaL_checkinteger(L, 2);
      luaL_argcheck(L, (lua_Unsigned)position - 1 < (lua_Unsigned)end, 2, "position out of bounds");
      check_range(L, position, end);
      lua_pushinteger(L, position);          /* the argument may be a text */
      lua_replace(L, 2);
      if (end > position) steps(L, 0, end - position);   /* not behind the greatest length */
      return insert_from(L, end);
    default: return luaL_error(L, "wrong number of arguments to 'insert'");
  }
}

static int go_on_remove(lua_State *L, int status, lua_KContext position);

/* (list, size, value): moves down the elements behind `position`; the value is the result. */
static int remove_from(lua_State *L, lua_Integer position, lua_Integer size) {
  while (position < size) {
    lua_geti(L, 1, position + 1);
    lua_seti(L, 1, position++);
    if (steps(L, size - position, size - position)) return guard_yield(L, position, go_on_remove);
  }
  lua_pushnil(L);
  lua_seti(L, 1, position);
  return 1;
}

static int go_on_remove(lua_State *L, int status, lua_KContext position) {
  (void)status;
  return remove_from(L, (lua_Integer)position, lua_tointeger(L, 2));
}

/* table.remove, with charges for the elements that move down. */
static int l_remove(lua_State *L) {
  lua_Integer size = length_of(L, 1);
  lua_Integer position = lua_gettop(L) > 1 ? library_integer_or(L, 2, size) : size;
  if (position != size) {
    luaL_argcheck(L, (lua_Unsigned)position - 1 <= (lua_Unsigned)size, 2, "position out of bounds");
  }
  check_range(L, position, size);
  step(L);
  if (position < size) {
    lua_settop(L, 1);
    lua_pushinteger(L, size);
    steps(L, 0, size - position);
  }
  lua_geti(L, 1, position);
  return remove_from(L, position, size);
}

static int go_on_move(lua_State *L, int status, lua_KContext i);

/* (list, from, end, to, target): moves the elements from the i-th on, in the order in which none is lost. */
static int move_from(lua_State *L, lua_Integer i) {
  lua_Integer from = lua_tointeger(L, 2), end = lua_tointeger(L, 3), to = lua_tointeger(L, 4);
  lua_Integer count = (lua_Integer)((lua_Unsigned)end - (lua_Unsigned)from + 1);
  bool upward = to > end || to <= from || !lua_rawequal(L, 1, 5);
  while (i < count) {
    lua_Integer at = upward ? i : count - 1 - i;
    lua_geti(L, 1, from + at);
    lua_seti(L, 5, to + at);
    i++;
    if (steps(L, i, count - i)) return guard_yield(L, i, go_on_move);
  }
  lua_settop(L, 5);
  return 1;
}

static int go_on_move(lua_State *L, int status, lua_KContext i) {
  (void)status;
  return move_from(L, (lua_Integer)i);
}

/* table.move, with charges for elements and a cap on the range. */
static int l_move(lua_State *L) {
  lua_Integer from = luaL_checkinteger(L, 2), end = luaL_checkinteger(L, 3), to = luaL_checkinteger(L, 4);
  if (lua_isnoneornil(L, 5)) {
    lua_settop(L, 4);
    lua_pushvalue(L, 1);
  }
  lua_settop(L, 5);
  check_list(L, 1);
  check_list(L, 5);
  if (end < from) return 1;
  luaL_argcheck(L, from > 0 || end < LUA_MAXINTEGER + from, 3, "too many elements to move");
  check_range(L, from, end);
  luaL_argcheck(L, to <= LUA_MAXINTEGER - (end - from + 1) + 1, 4, "destination wrap around");
  steps(L, 0, end - from + 1);
  return move_from(L, 0);
}

/* The state of a concatenation: on the C stack, or in a userdata where it may be interrupted. */
typedef struct Concat {
  luaL_Buffer b;
  lua_Integer next;          /* element */
  lua_Integer left, all;     /* how many */
  const char *gap;           /* at 2, or "" */
  size_t gap_size;
  bool plain;                /* the list has no metatable */
  bool asked;                /* __index has yielded: the next element is on top */
  int place;                 /* stack index of the userdata; 0: none */
} Concat;

static int go_on_concat(lua_State *L, int status, lua_KContext place);

/* Pushes element `next`. A function of __index may yield; then the concatenation goes on from here. */
static void push_element(lua_State *L, Concat *c, lua_Integer next, lua_Integer left) {
  if (c->asked) return;      /* it has come */
  c->next = next;
  c->left = left;
  c->asked = true;
  lua_pushinteger(L, next);
  library_index(L, 1, c->place, c->place != 0 ? go_on_concat : NULL);
}

/* (list, gap, ...) */
static int concat_on(lua_State *L, Concat *c) {
  lua_Integer next = c->next, left = c->left;
  for (; left > 0; left--, next++) {
    if (c->plain) lua_geti(L, 1, next);
    else push_element(L, c, next, left);
    c->asked = false;
    if (!lua_isstring(L, -1)) {
      luaL_error(L, "invalid value (%s) at index %I in table for 'concat'", luaL_typename(L, -1), (LUAI_UACINT)next);
    }
    luaL_addvalue(&c->b);
    if (left > 1) luaL_addlstring(&c->b, c->gap, c->gap_size);
    if (steps(L, c->all - left, left) && c->place != 0) {
      c->left = left - 1;
      c->next = next + 1;
      return guard_yield(L, c->place, go_on_concat);
    }
  }
  luaL_pushresult(&c->b);
  return 1;
}

static int go_on_concat(lua_State *L, int status, lua_KContext place) {
  (void)status;
  return concat_on(L, lua_touserdata(L, (int)place));
}

#define CONCAT_FEW 64   /* plain elements that are worth no userdata */

/* table.concat, with charges for elements and a cap on the range. */
static int l_concat(lua_State *L) {
  size_t gap_size;
  Concat here, *c = &here;
  int top = lua_gettop(L);
  bool plain = is_plain(L, 1);
  lua_Integer first = 1, last = plain ? (lua_Integer)lua_rawlen(L, 1) : length_of(L, 1);
  const char *gap = luaL_optlstring(L, 2, "", &gap_size);
  if (top > 2) {
    first = luaL_optinteger(L, 3, 1);
    last = luaL_optinteger(L, 4, last);
  }
  check_range(L, first, last);
  if (top != 2) lua_settop(L, 2);
  lua_Integer all = last >= first ? last - first + 1 : 0;
  if ((all > CONCAT_FEW || !plain) && guard_can_yield(L)) c = lua_newuserdatauv(L, sizeof *c, 0);
  c->next = first;
  c->gap = gap;
  c->gap_size = gap_size;
  c->left = c->all = all;
  c->plain = plain;
  c->asked = false;
  c->place = c == &here ? 0 : 3;
  luaL_buffinit(L, &c->b);
  return concat_on(L, c);
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
  lua_Integer to = !lua_isnoneornil(L, 3) ? luaL_checkinteger(L, 3)
                   : is_plain(L, 1) ? (lua_Integer)lua_rawlen(L, 1) : luaL_len(L, 1);
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
