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

/* As lua_next(L, 1), without the collector's word for modes (metatable.c). */
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

/* ---- sorting: a merge ---- */

static void merge(const Key *from, Key *to, size_t first, size_t middle, size_t end) {
  size_t a = first, b = middle;
  for (size_t out = first; out < end; out++) {
    bool second = a == middle || (b < end && compare(&from[b], &from[a]) < 0);
    to[out] = from[second ? b++ : a++];
  }
}

/* Runs of `run` keys become runs of twice as many. */
static void merge_all(const Key *from, Key *to, size_t count, size_t run) {
  for (size_t first = 0; first < count; first += 2 * run) {
    size_t middle = first + run < count ? first + run : count;
    size_t end = first + 2 * run < count ? first + 2 * run : count;
    merge(from, to, first, middle, end);
  }
}

/* What merge_all costs. What the keys are long, `bytes` together, is paid in one sum: paid one by one, in Lua's
   order, it would move the next look at the limits from run to run. */
static uint64_t cost_of_merge(size_t count, size_t bytes) {
  return count * 2 + bytes / 32;
}

/* `keys` has room for 2 * count; where the sorted ones stand. */
static Key *sort_keys(lua_State *L, Key *keys, size_t count, size_t bytes) {
  Key *from = keys, *to = keys + count;
  guard_charge(L, bytes / 32);
  for (size_t run = 1; run < count; run *= 2) {
    guard_charge(L, cost_of_merge(count, bytes));
    merge_all(from, to, count, run);
    Key *other = from;
    from = to;
    to = other;
  }
  return from;
}

/* ---- pairs: the keys of the table at 1 ---- */

#define FEW       12   /* keys that are sorted in place: they lie on the stack, where a C function has room for them */
#define KEY_UNITS 6
#define PORTION   64   /* keys of an array that are paid at once */

/* The key on top, the `index`-th of the walk. It is paid when it is met first, so that
   how often a walk begins anew, which depends on Lua's order, costs nothing. */
static Key meet(lua_State *L, lua_Integer index, lua_Integer *paid) {
  if (index > *paid) guard_charge(L, KEY_UNITS);
  if (index > *paid) *paid = index;
  return key_at(L, -1, index);
}

/* Are they 1, 2, 3 ... in Lua's order too? If not, the last portion is left to `meet`. */
static bool is_array(lua_State *L, lua_Integer *paid) {
  lua_Integer index = 0;
  if (lua_rawlen(L, 1) == 0) return false;
  for (lua_pushnil(L); lua_next(L, 1);) {
    lua_pop(L, 1);
    if (!lua_isinteger(L, -1) || lua_tointeger(L, -1) != index + 1) {
      lua_pop(L, 1);
      return false;
    }
    if (++index - *paid < PORTION) continue;
    guard_charge(L, PORTION * KEY_UNITS);
    *paid = index;
  }
  guard_charge(L, (uint64_t)(index - *paid) * KEY_UNITS);
  *paid = index;
  return true;
}

/* Pushes the list of a few keys in order; false, and nothing, if there are more. */
static bool push_few(lua_State *L, lua_Integer *paid) {
  Key keys[2 * FEW];
  const Sandbox *sandbox = sandbox_of(L);
  size_t count = 0, bytes = 0;
  for (lua_pushnil(L); next_field(L, sandbox);) {
    lua_pop(L, 1);
    if (count == FEW) {
      lua_settop(L, 1);
      return false;
    }
    keys[count] = meet(L, (lua_Integer)count + 1, paid);
    bytes += keys[count++].size;
    lua_pushvalue(L, -1);    /* lua_next takes one */
  }
  const Key *sorted = holds(sandbox, GUARD_ORDER) ? sort_keys(L, keys, count, bytes) : keys;
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    lua_pushvalue(L, 1 + (int)sorted[i].index);
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

/* Many keys that are sorted, in a userdata: a slice may end before they are read, between two rounds, and before they
   are written. */
typedef struct Sorting {
  size_t count, bytes, run;  /* run 0: they are not read yet */
  Key *from, *to;
  Key keys[];                /* 2 * count */
} Sorting;

static int go_on_pairs(lua_State *L, int status, lua_KContext context);

/* Reads the keys of the list at 2, which holds the bytes of strings. */
static void read_keys(lua_State *L, Sorting *s) {
  for (size_t i = 0; i < s->count; i++) {
    lua_rawgeti(L, 2, (lua_Integer)i + 1);
    s->keys[i] = key_at(L, -1, (lua_Integer)i + 1);
    s->bytes += s->keys[i].size;
    lua_pop(L, 1);
  }
  s->run = 1;
  guard_charge(L, s->bytes / 32);
}

/* (table, list, sorting) -> as pairs; the list gets the order of the keys. */
static int sort_many(lua_State *L, Sorting *s) {
  if (s->run == 0) read_keys(L, s);
  while (s->run < s->count) {
    bool paused = guard_pause(L, cost_of_merge(s->count, s->bytes));
    merge_all(s->from, s->to, s->count, s->run);
    Key *other = s->from;
    s->from = s->to;
    s->to = other;
    s->run *= 2;
    if (paused) return guard_yield(L, 0, go_on_pairs);
  }
  lua_createtable(L, (int)s->count, 0);
  for (size_t i = 0; i < s->count; i++) {
    lua_rawgeti(L, 2, s->from[i].index);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_replace(L, 2);
  return push_walk(L);
}

static int go_on_pairs(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  return sort_many(L, lua_touserdata(L, 3));
}

/* Pushes the list of all keys as Lua has them; how many. */
static size_t push_list(lua_State *L, lua_Integer *paid) {
  const Sandbox *sandbox = sandbox_of(L);
  lua_Integer count = 0;
  guard_look_now(L);
  lua_createtable(L, (int)lua_rawlen(L, 1), 0);
  for (lua_pushnil(L); next_field(L, sandbox);) {
    lua_pop(L, 1);
    meet(L, ++count, paid);
    lua_pushvalue(L, -1);
    lua_rawseti(L, -3, count);
  }
  return (size_t)count;
}

/* pairs of a table of any size. The keys are sorted even when they happen to come in order, for that would cost less
   in one run than in the next. */
static int walk_many(lua_State *L, lua_Integer *paid) {
  size_t count = push_list(L, paid);
  if (!holds(sandbox_of(L), GUARD_ORDER)) return push_walk(L);
  Sorting *s = guard_scratch(L, sizeof *s + 2 * count * sizeof *s->keys);
  *s = (Sorting){.count = count, .from = s->keys, .to = s->keys + count};
  return guard_pause(L, 0) ? guard_yield(L, 0, go_on_pairs) : sort_many(L, s);
}

/* pairs of a table without __pairs, at 1. */
static int walk(lua_State *L) {
  lua_Integer paid = 0;
  guard_look_now(L);         /* a table that was big and is empty takes its time */
  if (!is_array(L, &paid)) return push_few(L, &paid) ? push_walk(L) : walk_many(L, &paid);
  lua_pushinteger(L, paid);
  lua_pushcclosure(L, next_element, 1);
  lua_pushvalue(L, 1);
  lua_pushnil(L);
  return 3;
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

/* next(t, key): the least key above it. Costs a walk over the table: pairs does
   not. */
static int l_next(lua_State *L) {
  const Sandbox *sandbox = sandbox_of(L);
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 2);
  guard_look_now(L);
  bool from_start = lua_isnil(L, 2), is_key = false;
  Key after = {.rank = 0}, best = {.rank = 5};
  if (!from_start) after = key_at(L, 2, 0);
  lua_settop(L, 3);          /* table key best */
  lua_pushnil(L);
  while (next_field(L, sandbox)) {
    lua_pop(L, 1);
    Key key = key_at(L, -1, 0);
    guard_charge(L, 4 + key.size / 32);
    if ((from_start || compare(&key, &after) > 0) && compare(&key, &best) < 0) {
      best = key;
      is_key = true;
      lua_copy(L, -1, 3);
    }
  }
  if (!is_key) {
    lua_pushnil(L);
    return 1;
  }
  lua_pushvalue(L, 3);
  lua_pushvalue(L, 3);
  lua_rawget(L, 1);
  return 2;
}

void library_order(lua_State *L) {
  static const LibraryFunction functions[] = {{"next", l_next}, {"pairs", l_pairs}, {NULL, NULL}};
  library_set(L, functions);
}
