/*
** Reading patterns into items, and remembering the last ones.
**
**      ^?(%a+)=%1$      OPEN 0 | SET %a + | CLOSE 0 | CHAR = | BACK 0 | TAIL | DONE
**
** The cache is keyed by the address of a Lua string, which a table holds as long
** as the entry stands: patterns are constants of a script, so the same one comes
** with the same address.
*/
#include <ctype.h>
#include <string.h>

#include "sandbox/sandbox_state.h"

typedef struct Reading {
  const char *at, *end;      /* of the pattern; a zero byte follows, as in all Lua strings */
  MatchItem *items;
  MatchSet *own_sets;
  uint32_t used, room, sets_used, sets_room;
  const MatchSets *sets;
  int captures;
  int open[MATCH_CAPTURES], open_count;
  uint32_t places, closed;
  bool full;                 /* it did not fit */
} Reading;

static void add_all(MatchSet *set, const MatchSet *other) {
  for (int i = 0; i < 4; i++) set->bits[i] |= other->bits[i];
}

static void add_byte(MatchSet *set, unsigned char byte) {
  set->bits[byte >> 6] |= UINT64_C(1) << (byte & 63);
}

static void invert(MatchSet *set) {
  for (int i = 0; i < 4; i++) set->bits[i] = ~set->bits[i];
}

static int is_zero(int byte) {
  return byte == 0;
}

void match_open(MatchSets *sets) {
  static const struct { char letter; int (*is)(int); } classes[] = {
    {'a', isalpha}, {'c', iscntrl}, {'d', isdigit}, {'g', isgraph}, {'l', islower},
    {'p', ispunct}, {'s', isspace}, {'u', isupper}, {'w', isalnum}, {'x', isxdigit},
    {'z', is_zero}};
  memset(sets, 0, sizeof *sets);
  for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
    int letter = classes[i].letter - 'a';
    for (int byte = 0; byte < 256; byte++) {
      if (classes[i].is(byte)) add_byte(&sets->of[0][letter], (unsigned char)byte);
    }
    sets->of[1][letter] = sets->of[0][letter];
    invert(&sets->of[1][letter]);
    sets->known[letter] = true;
  }
}

/* The class that %letter names, or NULL: then it is the letter itself. */
static const MatchSet *class_of(const Reading *r, char letter) {
  if (letter >= 'a' && letter <= 'z' && r->sets->known[letter - 'a']) return &r->sets->of[0][letter - 'a'];
  if (letter >= 'A' && letter <= 'Z' && r->sets->known[letter - 'A']) return &r->sets->of[1][letter - 'A'];
  return NULL;
}

static MatchItem *add(Reading *r, MatchKind kind) {
  if (r->used == r->room) {
    r->full = true;
    r->used = 0;             /* goes on somewhere; the result is not used */
  }
  MatchItem *item = &r->items[r->used++];
  *item = (MatchItem){.kind = (uint8_t)kind};
  return item;
}

static void wrong(Reading *r, const char *message, int number) {
  MatchItem *item = add(r, MATCH_WRONG);
  item->of.message = message;
  item->a = (unsigned char)number;
  r->at = r->end;
}

/* The end of the set that begins at `at`, behind its ], or NULL. A ] that comes
   first is a member. */
static const char *set_end(const Reading *r, const char *at) {
  at++;
  if (*at == '^') at++;
  do {
    if (at == r->end) return NULL;
    if (*at++ == '%' && at < r->end) at++;
  } while (*at != ']' || at == r->end);
  return at + 1;
}

/* The members between `at` and `last`, the closing ]. */
static void fill_set(const Reading *r, MatchSet *set, const char *at, const char *last) {
  bool inverted = *at == '^';
  if (inverted) at++;
  while (at < last) {
    if (*at == '%') {
      at++;
      const MatchSet *class = class_of(r, *at);
      if (class != NULL) add_all(set, class);
      else add_byte(set, (unsigned char)*at);
      at++;
    } else if (at[1] == '-' && at + 2 < last) {
      for (int byte = (unsigned char)*at; byte <= (unsigned char)at[2]; byte++) add_byte(set, (unsigned char)byte);
      at += 3;
    } else {
      add_byte(set, (unsigned char)*at++);
    }
  }
  if (inverted) invert(set);
}

/* Reads [set]; NULL, and the pattern is wrong from here, if it has no end. */
static const MatchSet *read_set(Reading *r) {
  const char *end = set_end(r, r->at);
  if (end == NULL) {
    wrong(r, "malformed pattern (missing ']')", 0);
    return NULL;
  }
  if (r->sets_used == r->sets_room) {
    r->full = true;
    r->sets_used = 0;
  }
  MatchSet *set = &r->own_sets[r->sets_used++];
  memset(set, 0, sizeof *set);
  fill_set(r, set, r->at + 1, end - 1);
  r->at = end;
  return set;
}

static void read_open(Reading *r) {
  bool place = r->at[1] == ')';
  if (r->captures == MATCH_CAPTURES) {
    wrong(r, "too many captures", 0);
    return;
  }
  int number = r->captures++;
  add(r, place ? MATCH_PLACE : MATCH_OPEN)->a = (unsigned char)number;
  if (place) r->places |= UINT32_C(1) << number;
  else r->open[r->open_count++] = number;
  if (place) r->closed |= UINT32_C(1) << number;
  r->at += place ? 2 : 1;
}

static void read_close(Reading *r) {
  if (r->open_count == 0) {
    wrong(r, "invalid pattern capture", 0);
    return;
  }
  int number = r->open[--r->open_count];
  add(r, MATCH_CLOSE)->a = (unsigned char)number;
  r->closed |= UINT32_C(1) << number;
  r->at++;
}

static void read_back(Reading *r) {
  int number = r->at[1] - '1';
  if (number < 0 || number >= r->captures || (r->closed >> number & 1) == 0) {
    wrong(r, "invalid capture index %%%d", number + 1);
    return;
  }
  add(r, MATCH_BACK)->a = (unsigned char)number;
  r->at += 2;
}

static void read_balance(Reading *r) {
  if (r->end - r->at < 4) {
    wrong(r, "malformed pattern (missing arguments to '%%b')", 0);
    return;
  }
  MatchItem *item = add(r, MATCH_BALANCE);
  item->a = (unsigned char)r->at[2];
  item->b = (unsigned char)r->at[3];
  r->at += 4;
}

static void read_frontier(Reading *r) {
  r->at += 2;
  if (*r->at != '[') {
    wrong(r, "missing '[' after '%%f' in pattern", 0);
    return;
  }
  const MatchSet *set = read_set(r);
  if (set != NULL) add(r, MATCH_FRONTIER)->of.set = set;
}

/* A single byte, class or set, and how often. */
static void read_single(Reading *r) {
  MatchItem one = {.kind = MATCH_CHAR};
  if (*r->at == '%') {
    if (r->end - r->at < 2) {
      wrong(r, "malformed pattern (ends with '%%')", 0);
      return;
    }
    one.of.set = class_of(r, r->at[1]);
    if (one.of.set != NULL) one.kind = MATCH_SET;
    else one.a = (unsigned char)r->at[1];
    r->at += 2;
  } else if (*r->at == '[') {
    one.kind = MATCH_SET;
    one.of.set = read_set(r);
    if (one.of.set == NULL) return;
  } else {
    if (*r->at == '.') one.kind = MATCH_ANY;
    else one.a = (unsigned char)*r->at;
    r->at++;
  }
  if (r->at < r->end && strchr("*+-?", *r->at) != NULL && *r->at != '\0') one.repeat = *r->at++;
  *add(r, MATCH_CHAR) = one;
}

/* Reads one item of a Lua pattern: a parenthesis, the anchor at the end, %b, %f, a back reference, or a single
   character with its repeat. */
static void read_item(Reading *r) {
  char next = r->end - r->at >= 2 ? r->at[1] : '\0';
  switch (*r->at) {
    case '(': read_open(r); return;
    case ')': read_close(r); return;
    case '$':
      if (r->at + 1 < r->end) break;
      add(r, MATCH_TAIL);
      r->at++;
      return;
    case '%':
      if (next == 'b') read_balance(r);
      else if (next == 'f') read_frontier(r);
      else if (next >= '0' && next <= '9') read_back(r);
      else break;
      return;
    default: break;
  }
  read_single(r);
}

/* false: it did not fit. */
static bool read_pattern(Reading *r, MatchProgram *program) {
  while (r->at < r->end && !r->full) read_item(r);
  add(r, MATCH_DONE);
  program->items = r->items;
  program->captures = r->captures;
  program->places = r->places;
  program->unfinished = 0;
  for (int i = 0; i < r->open_count; i++) program->unfinished |= UINT32_C(1) << r->open[i];
  return !r->full;
}

/* Items and sets of a pattern of any size, in a userdata that is left on the stack. */
static void read_apart(Matcher *m, lua_State *L, const MatchSets *sets, const char *pattern, size_t size) {
  size_t set_room = 0;
  for (size_t i = 0; i < size; i++) set_room += pattern[i] == '[';
  guard_charge(L, size + set_room * 8);
  char *block = lua_newuserdatauv(L, (size + 1) * sizeof(MatchItem) + set_room * sizeof(MatchSet), 1);
  Reading r = {.at = pattern, .end = pattern + size, .items = (MatchItem *)(void *)block, .room = (uint32_t)size + 1,
               .own_sets = (MatchSet *)(void *)(block + (size + 1) * sizeof(MatchItem)),
               .sets_room = (uint32_t)set_room, .sets = sets};
  read_pattern(&r, &m->program);
}

/* Makes the entries of the cache; false: no memory. */
static bool open_cache(Sandbox *sandbox) {
  MatchCache *cache = &sandbox->cache;
  if (cache->entries != NULL) return true;
  cache->entries = memory_new(&sandbox->memory, MATCH_CACHED * sizeof *cache->entries);
  if (cache->entries == NULL) return false;
  memset(cache->entries, 0, MATCH_CACHED * sizeof *cache->entries);
  return true;
}

/* Takes the program from the cache, or reads it into it; false: it does not fit, or there is no cache. Costs
   the script nothing, for addresses decide which patterns share an entry. */
static bool take(Matcher *m, Sandbox *sandbox, int index) {
  const char *pattern = m->pattern;
  if (!open_cache(sandbox)) return false;
  MatchEntry *entry = &sandbox->cache.entries[((uintptr_t)pattern >> 4) % MATCH_CACHED];
  m->entry = entry;
  if (entry->pattern != pattern) {
    Reading r = {.at = pattern, .end = pattern + m->pattern_size, .items = entry->items, .room = MATCH_ITEMS,
                 .own_sets = entry->sets, .sets_room = MATCH_OWN_SETS, .sets = &sandbox->sets};
    entry->pattern = NULL;
    if (!read_pattern(&r, &entry->program)) return false;
    lua_rawgeti(m->L, LUA_REGISTRYINDEX, sandbox->cache.table);
    lua_pushvalue(m->L, index);
    lua_rawseti(m->L, -2, (lua_Integer)(entry - sandbox->cache.entries) + 1);
    lua_pop(m->L, 1);
    entry->pattern = pattern;
  }
  m->program = entry->program;
  return true;
}

void match_prepare(Matcher *m, lua_State *L, int index, size_t from) {
  size_t size;
  Sandbox *sandbox = sandbox_of(L);
  m->pattern = lua_tolstring(L, index, &size) + from;
  m->pattern_size = size -= from;
  m->L = L;
  m->steps = m->granted = MATCH_STEPS;
  m->levels = NULL;
  m->waiting = 0;
  guard_charge(L, 4 + size / 8);
  if (size < 3 * MATCH_ITEMS && take(m, sandbox, index)) {   /* it seems to fit; reading tells */
    lua_pushnil(L);
  } else {
    m->entry = NULL;
    read_apart(m, L, &sandbox->sets, m->pattern, size);
  }
  m->slot = lua_gettop(L);
}

void match_restore(Matcher *m, int index) {
  if (m->entry != NULL && m->entry->pattern != m->pattern) take(m, sandbox_of(m->L), index);
}

void match_again(Matcher *m, int index) {
  if (m->entry == NULL) return;
  match_spend(m, m->pattern_size / 8);       /* whether it is still there or not */
  match_restore(m, index);
}
