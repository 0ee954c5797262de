/*
** table.sort: a merge of runs, of places in the stack.
**
**      runs of 1   4 | 1 | 3 | 2        equal elements keep their order, so that
**      runs of 2   1 4 | 2 3            results repeat; any function is a valid
**      runs of 4   1 2 3 4              order, it can only give a strange result
**
** Stack: 1 the list, 2 the function or nil, 3 the state with the places, from 4 the
** elements. They stay where they are until all is sorted; what moves is their places.
** A comparison may yield: all that is known then is in the state. So may the loops that read the
** list and write it.
*/
#include "sandbox/sandbox_state.h"

#define FIRST      4   /* place of the first element */
#define COMPARISON 4   /* fuel */
#define ELEMENT    4   /* fuel, to read or to write one */
#define PORTION    250 /* elements that are paid at once */
#define OWED       200 /* fuel that is paid at once */

typedef struct Sorting {
  size_t count, run;         /* elements; of a sorted run */
  size_t read, written;      /* elements so far */
  size_t first, a, b, out;   /* the runs that are merged: where they begin, next elements, next place */
  int *from, *to;            /* places in `room` */
  bool before;               /* the answer of the comparison that yielded */
  bool answered, has_function;
  uint64_t owed;             /* fuel */
  int room[];                /* 2 * count */
} Sorting;

/* What a comparison of strings costs, in the locale's order: by the bytes that are equal. */
static uint64_t cost_of_strings(lua_State *L, int a, int b) {
  size_t a_size = lua_rawlen(L, a), b_size = lua_rawlen(L, b);
  return (a_size < b_size ? a_size : b_size) / 8;
}

/* Pushes the function that decides whether the element at place `b` comes before the one at `a`. False: Lua does. */
static bool push_comparison(lua_State *L, Sorting *s, int b, int a) {
  if (s->has_function) {
    lua_pushvalue(L, 2);
    return true;
  }
  int kind = lua_type(L, b);
  if (kind == lua_type(L, a) && (kind == LUA_TNUMBER || kind == LUA_TSTRING)) {
    if (kind == LUA_TSTRING) s->owed += cost_of_strings(L, a, b);
    return false;
  }
  return luaL_getmetafield(L, b, "__lt") != LUA_TNIL || luaL_getmetafield(L, a, "__lt") != LUA_TNIL;
}

/* Pays what comparisons have cost. True: the slice is over. */
static bool pay(lua_State *L, Sorting *s) {
  uint64_t units = s->owed;
  s->owed = 0;
  return holds(sandbox_of(L), GUARD_RANGE) && guard_pause(L, units);
}

static bool take_answer(lua_State *L) {
  bool before = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return before;
}

static int go_on_sort(lua_State *L, int status, lua_KContext compared);

/* Does the element at place `b` come before the one at `a`? */
static bool comes_before(lua_State *L, Sorting *s, int b, int a) {
  if (!push_comparison(L, s, b, a)) return lua_compare(L, b, a, LUA_OPLT);
  lua_pushvalue(L, b);
  lua_pushvalue(L, a);
  lua_callk(L, 2, 1, true, go_on_sort);
  return take_answer(L);
}

static size_t end_of(const Sorting *s, size_t start) {
  return start + s->run < s->count ? start + s->run : s->count;
}

/* Begins with the runs from `first` on. */
static void begin_merge(Sorting *s, size_t first) {
  s->first = s->a = s->out = first;
  s->b = end_of(s, first);
}

/* The runs from s->first on become one; true when the slice is over, before that or with the last element. */
static bool merge(lua_State *L, Sorting *s) {
  size_t middle = end_of(s, s->first), end = end_of(s, middle);
  while (s->out < end) {
    bool paused = false, second = s->a == middle;
    if (!second && s->b < end) {
      second = s->answered ? s->before : comes_before(L, s, s->from[s->b], s->from[s->a]);
      s->answered = false;
      s->owed += COMPARISON;
      paused = s->owed > OWED && pay(L, s);
    }
    s->to[s->out++] = s->from[second ? s->b++ : s->a++];
    if (paused) return true;
  }
  s->owed += (end - s->first) / 2;
  return s->owed > OWED && pay(L, s);
}

/* False when the slice is over. */
static bool merge_all(lua_State *L, Sorting *s) {
  while (s->run < s->count) {
    while (s->first < s->count) {
      bool paused = merge(L, s);
      if (s->out == end_of(s, end_of(s, s->first))) begin_merge(s, s->out);
      if (paused) return false;
    }
    int *other = s->from;
    s->from = s->to;
    s->to = other;
    s->run *= 2;
    begin_merge(s, 0);
  }
  return true;
}

/* Pays for the next elements of a loop that has come to `done`. True: the slice is over. */
static bool pay_portion(lua_State *L, const Sorting *s, size_t done) {
  if (done % PORTION != 0) return false;
  return guard_pause(L, ELEMENT * (s->count - done < PORTION ? s->count - done : PORTION));
}

/* Pushes the elements of the list. False when the slice is over. */
static bool read_all(lua_State *L, Sorting *s) {
  while (s->read < s->count) {
    bool paused = pay_portion(L, s, s->read);
    lua_geti(L, 1, (lua_Integer)s->read + 1);
    s->from[s->read] = FIRST + (int)s->read;
    s->read++;
    if (paused) return false;
  }
  return true;
}

/* Writes them in their order. False when the slice is over. */
static bool write_all(lua_State *L, Sorting *s) {
  while (s->written < s->count) {
    bool paused = pay_portion(L, s, s->written);
    lua_pushvalue(L, s->from[s->written++]);
    lua_seti(L, 1, (lua_Integer)s->written);
    if (paused) return false;
  }
  return true;
}

static int finish_sort(lua_State *L, Sorting *s) {
  if (!read_all(L, s) || !merge_all(L, s)) return guard_yield(L, false, go_on_sort);
  pay(L, s);
  return write_all(L, s) ? 0 : guard_yield(L, false, go_on_sort);
}

static int go_on_sort(lua_State *L, int status, lua_KContext compared) {
  Sorting *s = lua_touserdata(L, 3);
  (void)status;
  s->answered = compared != 0;
  if (s->answered) s->before = take_answer(L);
  return finish_sort(L, s);
}

/* table.sort by merging runs, on copies of the elements on the stack: the list changes only after the last comparison,
   so an error of the comparison leaves it as it was. */
static int l_sort(lua_State *L) {
  lua_Integer count = luaL_len(L, 1);
  if (count < 2) return 0;
  luaL_argcheck(L, count <= SORT_MAX, 1, "array too big");
  if (!lua_isnoneornil(L, 2)) luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  Sorting *s = guard_scratch(L, sizeof *s + 2 * (size_t)count * sizeof *s->room);
  *s = (Sorting){.count = (size_t)count, .run = 1, .from = s->room, .to = s->room + count,
                 .has_function = lua_type(L, 2) == LUA_TFUNCTION};
  begin_merge(s, 0);
  guard_check_stack(L, (int)count + LUA_MINSTACK, "array too big");
  return finish_sort(L, s);
}

void library_sort(lua_State *L) {
  static const LibraryFunction functions[] = {{"sort", l_sort}, {NULL, NULL}};
  library_set(L, functions);
}
