/*
** next and pairs in an order that repeats: false, true, numbers, then strings
** by their bytes; then messages by seq and units by the seq of their first message;
** then other references (tables, functions ...) in the order in which they were
** created (number.h).
**
** Lua's own order depends on addresses and on a seed that differs per process.
** pairs takes the keys when it starts (of an array, how many there are); a field that
** was set to nil meanwhile is left out, a new one is not seen.
*/
#include <assert.h>
#include <string.h>

#include "sandbox/sandbox_state.h"

typedef struct Key {
  uint8_t rank;              /* false 0, true 1, number 2, string 3, reference 4 */
  bool is_integer;
  uint32_t index;            /* in the list of keys */
  union {
    lua_Integer integer;
    lua_Number number;
    const char *bytes;
    uint64_t created;
  } of;
  uint32_t size;             /* of a string: below the biggest block; 0 */
  uint32_t place;            /* of a reference; 0 */
} Key;

/* The sort key of the table key at stack index `at`, the `index`th of its table. */
static Key key_at(lua_State *L, int at, lua_Integer index) {
  size_t size;
  Number number;
  Key key = {.rank = 4, .index = (uint32_t)index};
  switch (lua_type(L, at)) {
    case LUA_TBOOLEAN: key.rank = lua_toboolean(L, at) ? 1 : 0; break;
    case LUA_TNUMBER:
      key.rank = 2;
      key.is_integer = lua_isinteger(L, at);
      if (key.is_integer) key.of.integer = lua_tointeger(L, at);
      else key.of.number = lua_tonumber(L, at);
      break;
    case LUA_TSTRING:
      key.rank = 3;
      key.of.bytes = lua_tolstring(L, at, &size);
      key.size = (uint32_t)size;
      break;
    default:
      number = number_of(L, at);
      key.of.created = number.number;
      key.place = number.place;
  }
  return key;
}

static int compare_strings(const Key *a, const Key *b) {
  uint32_t size = a->size < b->size ? a->size : b->size;
  int order = memcmp(a->of.bytes, b->of.bytes, size);
  return order != 0 ? order : (a->size > b->size) - (a->size < b->size);
}

static int compare_numbers(const Key *a, const Key *b) {
  if (a->is_integer && b->is_integer) return (a->of.integer > b->of.integer) - (a->of.integer < b->of.integer);
  lua_Number x = a->is_integer ? (lua_Number)a->of.integer : a->of.number;
  lua_Number y = b->is_integer ? (lua_Number)b->of.integer : b->of.number;
  if (x != y) return x > y ? 1 : -1;
  return a->is_integer - b->is_integer;      /* two that differ only beyond a float's bits */
}

static int compare_references(const Key *a, const Key *b) {
  if (a->place != b->place) return a->place < b->place ? -1 : 1;
  return (a->of.created > b->of.created) - (a->of.created < b->of.created);
}

/* As lua_next(L, 1), without the collector's word for modes (library_kit.c). */
static bool next_field(lua_State *L, const Sandbox *sandbox) {
  if (!lua_next(L, 1)) return false;
  if (!sandbox->has_modes || lua_type(L, -2) != LUA_TSTRING || lua_tostring(L, -2) != sandbox->mode_word) return true;
  lua_pop(L, 1);
  return lua_next(L, 1);
}

/* < 0: a comes first; 0: they are the same key. */
static int compare(const Key *a, const Key *b) {
  if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
  if (a->rank == 4) return compare_references(a, b);
  if (a->rank == 3) return compare_strings(a, b);
  return a->rank == 2 ? compare_numbers(a, b) : 0;
}

/* ---- sorting: a merge that may be interrupted ---- */

/* Runs of `run` keys become runs of twice as many. */
typedef struct Merge {
  size_t count, bytes;       /* keys; of strings, together */
  size_t run;                /* 0: the keys are not read yet */
  size_t first, a, b, out;   /* the two runs that are merged: where they begin, next keys, next place */
  Key *from, *to;
} Merge;

static void begin_pass(Merge *m, size_t run) {
  m->run = run;
  m->first = m->a = m->out = 0;
  m->b = run;
}

/* Merges `most` keys; true when the pass is over, and `from` has what it made. */
static bool merge_some(Merge *m, size_t most) {
  while (m->first < m->count) {
    size_t middle = m->first + m->run < m->count ? m->first + m->run : m->count;
    size_t end = middle + m->run < m->count ? middle + m->run : m->count;
    for (; m->out < end; m->out++) {
      if (most-- == 0) return false;
      bool second = m->a == middle || (m->b < end && compare(&m->from[m->b], &m->from[m->a]) < 0);
      m->to[m->out] = m->from[second ? m->b++ : m->a++];
    }
    m->first = m->a = end;
    m->b = end + m->run;
  }
  Key *other = m->from;
  m->from = m->to;
  m->to = other;
  begin_pass(m, 2 * m->run);
  return true;
}

/* What a pass costs. What the keys are long is paid in one sum: paid one by one, in Lua's order, it would move the next
   look at the limits from run to run. */
static uint64_t cost_of_pass(size_t count, size_t bytes) {
  return count * 2 + bytes / 32;
}

/* Sorts a few keys in place, and charges as a merge of them. */
static void sort_few(lua_State *L, Key *keys, size_t count, size_t bytes) {
  uint64_t units = bytes / 32;
  for (size_t run = 1; run < count; run *= 2) units += cost_of_pass(count, bytes);
  guard_charge(L, units);
  for (size_t i = 1; i < count; i++) {
    Key key = keys[i];
    size_t place = i;
    for (; place > 0 && compare(&key, &keys[place - 1]) < 0; place--) keys[place] = keys[place - 1];
    keys[place] = key;
  }
}

/* ---- walks by lua_next over the table at 1 ----
**
** A walk may pause where a slice ends, with its last key on top of the stack. If then anything but its own task runs,
** it begins anew, and does not pause again: for the table may have changed. A key is paid when it is met first, so
** that how often a walk begins anew, and in which order Lua has the keys, costs nothing. */

typedef struct Walk {
  lua_Integer count, paid;   /* keys that were met, and paid */
  bool whole;                /* it does not pause */
} Walk;

static int pause_walk(lua_State *L, const Walk *walk, lua_KFunction go_on) {
  assert(!walk->whole);
  lua_pushinteger(L, walk->count);
  lua_pushinteger(L, walk->paid);
  lua_pushinteger(L, (lua_Integer)sandbox_of(L)->turns);
  return guard_yield(L, 0, go_on);
}

static Walk resume_walk(lua_State *L) {
  bool alone = (uint64_t)lua_tointeger(L, -1) + 1 == sandbox_of(L)->turns;
  Walk walk = {.count = lua_tointeger(L, -3), .paid = lua_tointeger(L, -2), .whole = !alone};
  lua_pop(L, alone ? 3 : 4);
  if (alone) return walk;
  lua_pushnil(L);
  walk.count = 0;
  return walk;
}

/* Counts a key that was met, and pays for it. True: the walk should pause. */
static inline bool meet(lua_State *L, Walk *walk, uint64_t units) {
  if (++walk->count <= walk->paid) return false;
  walk->paid = walk->count;
  return guard_pause(L, units) && !walk->whole;
}

/* ---- pairs: the keys of the table at 1 ---- */

#define FEW       12   /* keys that are sorted in place: they lie on the stack, where a C function has room for them */
#define KEY_UNITS 6
#define PORTION   64   /* keys of an array that are paid at once */
#define STRETCH   512  /* short keys that are read, merged or written between two looks at the clock */
#define SLOT      16   /* bytes of an element in a list */

/* Pushes the list of a few keys in order; false, and nothing, if there are more. */
static bool push_few(lua_State *L, Walk *walk) {
  Key keys[FEW];
  const Sandbox *sandbox = sandbox_of(L);
  size_t count = 0, bytes = 0;
  walk->count = 0;
  for (lua_pushnil(L); next_field(L, sandbox);) {
    lua_pop(L, 1);
    if (count == FEW) {
      lua_settop(L, 1);
      return false;
    }
    meet(L, walk, KEY_UNITS);
    keys[count] = key_at(L, -1, (lua_Integer)count + 1);
    bytes += keys[count++].size;
    lua_pushvalue(L, -1);    /* lua_next takes one */
  }
  if (holds(sandbox, GUARD_ORDER)) sort_few(L, keys, count, bytes);
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    lua_pushvalue(L, 1 + (int)keys[i].index);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_insert(L, 2);
  lua_settop(L, 2);
  return true;
}

/* Upvalue: the length that the array had. */
static int next_element(lua_State *L) {
  lua_Integer length = lua_tointeger(L, lua_upvalueindex(1)), i = lua_tointeger(L, 2);
  if (lua_type(L, 1) != LUA_TTABLE) luaL_checktype(L, 1, LUA_TTABLE);
  while (i < length) {
    guard_charge(L, 2);
    lua_pushinteger(L, ++i);
    if (lua_rawgeti(L, 1, i) != LUA_TNIL) return 2;
    lua_pop(L, 2);
  }
  lua_pushnil(L);
  return 1;
}

/* Upvalues: keys, how many were handed out. */
static int next_key(lua_State *L) {
  lua_Integer i = lua_tointeger(L, lua_upvalueindex(2));
  luaL_checktype(L, 1, LUA_TTABLE);
  for (;;) {
    guard_charge(L, 2);
    lua_settop(L, 1);
    if (lua_rawgeti(L, lua_upvalueindex(1), ++i) == LUA_TNIL) return 1;
    lua_pushvalue(L, -1);
    if (lua_rawget(L, 1) != LUA_TNIL) break;
  }
  lua_pushinteger(L, i);
  lua_replace(L, lua_upvalueindex(2));
  return 2;
}

/* pairs(t) -> iterator, t, nil, with the list of keys at 2. */
static int push_walk(lua_State *L) {
  lua_settop(L, 2);
  lua_pushinteger(L, 0);
  lua_pushcclosure(L, next_key, 2);
  lua_pushvalue(L, 1);
  lua_pushnil(L);
  return 3;
}

/* Many keys that are sorted, in a userdata at 3; at 2 is the list of them, in Lua's order, and at 4 at last the list
   in their own. */
typedef struct Sorting {
  Merge merge;
  size_t read, written;
  Key keys[];                /* 2 * count */
} Sorting;

/* Is the slice over now? */
static bool is_over(lua_State *L) {
  guard_look_now(L);
  return guard_pause(L, 0);
}

/* Lets the collector take `bytes` for each of `count` keys as freed, before they are allocated at once: else the
   collector would run through a whole cycle then. Each stretch gives half of its part back, which is a cycle, too. */
static void borrow(lua_State *L, size_t count, size_t bytes) {
  lua_gc(L, LUA_GCSTEP, -(int)(count * bytes >> 10));
}

static void give_back(lua_State *L, size_t count, size_t bytes) {
  size_t kilobytes = count * bytes / 2 >> 10;
  if (kilobytes > 0) lua_gc(L, LUA_GCSTEP, (int)kilobytes);
}

/* The end of the next stretch of keys, behind `done` of them. */
static size_t stretch_end(const Sorting *s, size_t done) {
  return s->merge.count - done > STRETCH ? done + STRETCH : s->merge.count;
}

/* Reads the keys of the list, which holds the bytes of strings. Here and below: false when the slice is over. */
static bool read_keys(lua_State *L, Sorting *s) {
  while (s->read < s->merge.count) {
    size_t end = stretch_end(s, s->read);
    give_back(L, end - s->read, 2 * sizeof(Key) + SLOT);
    for (; s->read < end; s->read++) {
      lua_rawgeti(L, 2, (lua_Integer)s->read + 1);
      s->keys[s->read] = key_at(L, -1, (lua_Integer)s->read + 1);
      s->merge.bytes += s->keys[s->read].size;
      lua_pop(L, 1);
    }
    if (is_over(L)) return false;
  }
  begin_pass(&s->merge, 1);
  guard_charge(L, s->merge.bytes / 32);
  return true;
}

static bool merge_pass(lua_State *L, Sorting *s) {
  Merge *m = &s->merge;
  if (m->out == 0) guard_charge(L, cost_of_pass(m->count, m->bytes));
  size_t most = 1 + STRETCH / (1 + m->bytes / m->count / 256);     /* fewer keys if they are long */
  while (!merge_some(m, most)) {
    if (is_over(L)) return false;
  }
  return true;
}

static bool write_keys(lua_State *L, Sorting *s) {
  if (s->written == 0) {
    borrow(L, s->merge.count, SLOT);
    lua_createtable(L, (int)s->merge.count, 0);
  }
  while (s->written < s->merge.count) {
    size_t end = stretch_end(s, s->written);
    give_back(L, end - s->written, SLOT);
    while (s->written < end) {
      lua_rawgeti(L, 2, s->merge.from[s->written].index);
      lua_rawseti(L, 4, (lua_Integer)++s->written);
    }
    if (is_over(L)) return false;
  }
  return true;
}

static int go_on_sorting(lua_State *L, int status, lua_KContext context);

/* (table, list, sorting) -> as pairs */
static int sort_many(lua_State *L, Sorting *s) {
  bool over = s->merge.run == 0 && !read_keys(L, s);
  while (!over && s->merge.run < s->merge.count) over = !merge_pass(L, s);
  if (over || !write_keys(L, s)) return guard_yield(L, 0, go_on_sorting);
  lua_replace(L, 2);
  return push_walk(L);
}

static int go_on_sorting(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  return sort_many(L, lua_touserdata(L, 3));
}

/* Takes what a walk before this one has written behind the end of the list. */
static void cut_list(lua_State *L, lua_Integer count) {
  while (lua_rawgeti(L, 2, ++count) != LUA_TNIL) {
    lua_pushnil(L);
    lua_rawseti(L, 2, count);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

static int go_on_list(lua_State *L, int status, lua_KContext context);
/* (table, list, key): lists the other keys as Lua has them, and sorts them, even when they come in order: so that fuel
   repeats. */
static int list_many(lua_State *L, Walk *walk) {
  const Sandbox *sandbox = sandbox_of(L);
  while (next_field(L, sandbox)) {
    lua_pop(L, 1);
    bool pauses = meet(L, walk, KEY_UNITS);
    lua_pushvalue(L, -1);
    lua_rawseti(L, 2, walk->count);
    if (pauses) return pause_walk(L, walk, go_on_list);
  }
  if (walk->whole) cut_list(L, walk->count);
  if (!holds(sandbox, GUARD_ORDER)) return push_walk(L);
  size_t count = (size_t)walk->count;
  borrow(L, count, 2 * sizeof(Key) + SLOT);  /* the list has grown meanwhile */
  Sorting *s = guard_scratch(L, sizeof *s + 2 * count * sizeof *s->keys);
  *s = (Sorting){.merge = {.count = count, .from = s->keys, .to = s->keys + count}};
  return guard_pause(L, 0) ? guard_yield(L, 0, go_on_sorting) : sort_many(L, s);
}

static int go_on_list(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  Walk walk = resume_walk(L);
  return list_many(L, &walk);
}

/* pairs of a table that is no array. */
static int walk_keys(lua_State *L, Walk *walk) {
  if (push_few(L, walk)) return push_walk(L);
  guard_look_now(L);
  lua_createtable(L, (int)lua_rawlen(L, 1), 0);
  lua_pushnil(L);
  walk->count = 0;
  return list_many(L, walk);
}

static int go_on_array(lua_State *L, int status, lua_KContext context);

/* (table, key): are its keys 1, 2, 3 ... in Lua's order too? If not, the last portion is left to the walk over all. */
static int walk_array(lua_State *L, Walk *walk) {
  while (lua_next(L, 1)) {
    lua_pop(L, 1);
    if (!lua_isinteger(L, -1) || lua_tointeger(L, -1) != walk->count + 1) {
      lua_settop(L, 1);
      return walk_keys(L, walk);
    }
    if (++walk->count - walk->paid < PORTION) continue;
    walk->paid = walk->count;
    if (guard_pause(L, PORTION * KEY_UNITS) && !walk->whole) return pause_walk(L, walk, go_on_array);
  }
  if (walk->count > walk->paid) guard_charge(L, (uint64_t)(walk->count - walk->paid) * KEY_UNITS);
  lua_pushinteger(L, walk->count);
  lua_pushcclosure(L, next_element, 1);
  lua_pushvalue(L, 1);
  lua_pushnil(L);
  return 3;
}

static int go_on_array(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  Walk walk = resume_walk(L);
  return walk_array(L, &walk);
}

/* pairs of a table without __pairs, at 1. */
static int walk(lua_State *L) {
  Walk all = {.count = 0};
  guard_look_now(L);         /* a table that was big and is empty takes its time */
  if (lua_rawlen(L, 1) == 0) return walk_keys(L, &all);
  lua_pushnil(L);
  return walk_array(L, &all);
}

static int pairs_answered(lua_State *L, int status, lua_KContext context) {
  (void)L, (void)status, (void)context;
  return 3;
}

static int l_pairs(lua_State *L) {
  luaL_checkany(L, 1);
  if (luaL_getmetafield(L, 1, "__pairs") != LUA_TNIL) {
    lua_pushvalue(L, 1);
    lua_callk(L, 1, 3, 0, pairs_answered);
    return pairs_answered(L, LUA_OK, 0);
  }
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  return walk(L);
}

/* ---- next(t, key): the least key above it. Costs a walk over the table: pairs does not ---- */

static int go_on_next(lua_State *L, int status, lua_KContext context);

/* (table, key, best, last): seeks one that is better than `best`, the least key above `key` so far, behind `last`. */
static int seek_next(lua_State *L, Walk *walk) {
  const Sandbox *sandbox = sandbox_of(L);
  bool from_start = lua_isnil(L, 2);
  Key after = {.rank = 0}, best = {.rank = 5};
  if (!from_start) after = key_at(L, 2, 0);
  if (walk->count > 0 && !lua_isnil(L, 3)) best = key_at(L, 3, 0);
  while (next_field(L, sandbox)) {
    lua_pop(L, 1);
    Key key = key_at(L, -1, 0);
    bool pauses = meet(L, walk, 4 + key.size / 32);
    if ((from_start || compare(&key, &after) > 0) && compare(&key, &best) < 0) {
      best = key;
      lua_copy(L, -1, 3);
    }
    if (pauses) return pause_walk(L, walk, go_on_next);
  }
  if (best.rank == 5) return 1;
  lua_pushvalue(L, 3);
  lua_rawget(L, 1);
  return 2;
}

static int go_on_next(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  Walk walk = resume_walk(L);
  if (walk.whole) {
    lua_pushnil(L);
    lua_replace(L, 3);
  }
  return seek_next(L, &walk);
}

static int l_next(lua_State *L) {
  Walk all = {.count = 0};
  if (lua_type(L, 1) != LUA_TTABLE) luaL_checktype(L, 1, LUA_TTABLE);
  if (lua_gettop(L) > 2) lua_settop(L, 2);
  lua_settop(L, 4);          /* no best, no last */
  guard_look_now(L);
  return seek_next(L, &all);
}

void library_order(lua_State *L) {
  static const LibraryFunction functions[] = {{"next", l_next}, {"pairs", l_pairs}, {NULL, NULL}};
  library_set(L, functions);
}
