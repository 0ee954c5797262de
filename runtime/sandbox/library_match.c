/*
** string.find, match, gmatch and gsub over the matcher.
*/
#include <string.h>

#include "sandbox/sandbox_state.h"

/* A start position as Lua counts, from 0: negative ones from the end. */
static size_t start_of(lua_Integer position, size_t size) {
  if (position > 0) return (size_t)position - 1;
  if (position == 0 || position < -(lua_Integer)size) return 0;
  return size - (size_t)-position;
}

static void attach(Matcher *m, lua_State *L, const char *subject, size_t size) {
  m->L = L;
  m->start = subject;
  m->end = subject + size;
}

/* Pushes capture `number`; without captures number 0 is the whole match, from `s`
   to `e`. */
static void push_capture(Matcher *m, int number, const char *s, const char *e) {
  lua_State *L = m->L;
  const MatchProgram *program = &m->program;
  if (number >= program->captures) {
    if (number != 0) luaL_error(L, "invalid capture index %%%d", number + 1);
    lua_pushlstring(L, s, (size_t)(e - s));
    return;
  }
  const MatchCapture *capture = &m->captures[number];
  if (program->unfinished >> number & 1) luaL_error(L, "unfinished capture");
  if (program->places >> number & 1) lua_pushinteger(L, capture->start - m->start + 1);
  else lua_pushlstring(L, capture->start, (size_t)(capture->end - capture->start));
}

/* All captures; if there are none and s is given, the whole match. */
static int push_captures(Matcher *m, const char *s, const char *e) {
  int count = m->program.captures == 0 && s != NULL ? 1 : m->program.captures;
  luaL_checkstack(m->L, count, "too many captures");
  for (int i = 0; i < count; i++) push_capture(m, i, s, e);
  return count;
}

/* ---- find and match ---- */

static bool is_plain(const char *pattern, size_t size) {
  for (size_t i = 0; i < size; i++) {
    switch (pattern[i]) {
      case '^': case '$': case '*': case '+': case '?': case '.': case '(': case '[': case '%': case '-':
        return false;
      default: break;
    }
  }
  return true;
}

#define PORTION 1000   /* units that may be owed */

static void pay(lua_State *L, uint64_t *owed) {
  if (holds(sandbox_of(L), GUARD_RANGE)) guard_charge(L, *owed);
  *owed = 0;
}

/* `size` > 0 bytes; the first is known to be the same. Most candidates differ in the
   second, and to call memcmp for a few bytes takes longer than to compare them. */
static inline bool is_same(const char *a, const char *b, size_t size) {
  if (size > 16) return a[1] == b[1] && memcmp(a, b, size) == 0;
  for (size_t i = 1; i < size; i++) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

/* Candidates by memchr; each costs, and what is compared at each as well. It is
   paid in portions: a short search pays once. */
static const char *find_plain(lua_State *L, const char *s, size_t size, const char *what, size_t what_size) {
  if (what_size == 0) return s;
  const char *at = NULL;
  uint64_t owed = what_size / 32;            /* it was read for special characters */
  while (size >= what_size) {
    at = memchr(s, what[0], size - what_size + 1);
    size_t passed = at != NULL ? (size_t)(at - s) : size;
    owed += 2 + passed / 32 + (at != NULL ? what_size / 64 : 0);
    if (at == NULL) break;
    if (owed > PORTION) pay(L, &owed);
    if (is_same(at, what, what_size)) break;
    size -= passed + 1;
    s = at + 1;
    at = NULL;
  }
  pay(L, &owed);
  return at;
}

/* The first match from byte `init` on; *end is where it ends. */
static const char *search(Matcher *m, size_t init, bool anchored, const char **end) {
  const char *at = m->start + init;
  for (;; at++) {
    if (!anchored) at = match_candidate(m, at);
    if (at == NULL) return NULL;
    *end = match_at(m, at);
    if (*end != NULL) return at;
    if (anchored || at >= m->end) return NULL;
  }
}

static int find_pattern(lua_State *L, const char *s, size_t size, size_t init, bool anchored, bool positions) {
  Matcher m;
  attach(&m, L, s, size);
  match_prepare(&m, L, 2, anchored);
  const char *end = NULL;
  const char *at = search(&m, init, anchored, &end);
  match_finish(&m);
  if (at == NULL) {
    lua_pushnil(L);
    return 1;
  }
  if (!positions) return push_captures(&m, at, end);
  lua_pushinteger(L, at - s + 1);
  lua_pushinteger(L, end - s);
  return push_captures(&m, NULL, NULL) + 2;
}

/* string.find (`positions`) and string.match: positions and captures, or captures alone; nil without a match. */
static int find(lua_State *L, bool positions) {
  size_t size, pattern_size;
  const char *s = library_string_at(L, 1, &size);
  const char *pattern = library_string_at(L, 2, &pattern_size);
  bool plain = positions && lua_toboolean(L, 4);
  size_t init = plain || lua_gettop(L) > 2 ? start_of(library_integer_or(L, 3, 1), size) : 0;
  if (init > size) {
    lua_pushnil(L);
    return 1;
  }
  if (plain || (positions && is_plain(pattern, pattern_size))) {
    const char *at = find_plain(L, s + init, size - init, pattern, pattern_size);
    if (at == NULL) {
      lua_pushnil(L);
      return 1;
    }
    lua_pushinteger(L, at - s + 1);
    lua_pushinteger(L, at - s + (lua_Integer)pattern_size);
    return 2;
  }
  return find_pattern(L, s, size, init, pattern[0] == '^', positions);
}

static int l_find(lua_State *L) {
  return find(L, true);
}

static int l_match(lua_State *L) {
  return find(L, false);
}

/* ---- gmatch ---- */

/* Lives in the first upvalue of the iterator; subject, pattern and program in
   the others. */
typedef struct Walk {
  Matcher m;
  const char *at, *last;     /* where to go on; where the last match ended */
} Walk;

static int next_match(lua_State *L) {
  Walk *walk = lua_touserdata(L, lua_upvalueindex(1));
  Matcher *m = &walk->m;
  m->L = L;
  guard_charge(L, 2);
  match_again(m, lua_upvalueindex(3));
  for (const char *at = walk->at; at != NULL && at <= m->end; at++) {
    at = match_candidate(m, at);
    if (at == NULL) break;
    const char *end = match_at(m, at);
    if (end == NULL || end == walk->last) continue;
    walk->at = walk->last = end;
    match_finish(m);
    return push_captures(m, at, end);
  }
  walk->at = NULL;
  match_finish(m);
  return 0;
}

static int l_gmatch(lua_State *L) {
  size_t size;
  const char *s = library_string_at(L, 1, &size);
  luaL_checkstring(L, 2);
  size_t init = lua_gettop(L) > 2 ? start_of(library_integer_or(L, 3, 1), size) : 0;
  lua_settop(L, 2);
  Walk *walk = lua_newuserdatauv(L, sizeof *walk, 0);
  lua_insert(L, 1);          /* walk subject pattern */
  match_prepare(&walk->m, L, 3, 0);
  attach(&walk->m, L, s, size);
  walk->at = init > size ? NULL : s + init;
  walk->last = NULL;
  lua_pushcclosure(L, next_match, 4);
  return 1;
}

/* ---- gsub ---- */

typedef struct Replacing {
  Matcher m;
  luaL_Buffer b;
  int kind;                  /* of the replacement, at 3 */
  const char *text;          /* when it is one */
  size_t size;
  bool verbatim;             /* there is no % in it */
} Replacing;

/* Appends the replacement text for the match [s, e): %0 to %9 are captures, %% is a percent sign. Raises for other
   escapes. */
static void add_template(Replacing *r, const char *s, const char *e) {
  lua_State *L = r->m.L;
  luaL_Buffer *b = &r->b;
  const char *text = r->text, *end = text + r->size;
  match_spend(&r->m, 1 + r->size / 16);
  if (r->verbatim) {
    luaL_addlstring(b, text, r->size);
    return;
  }
  for (;;) {
    const char *escape = memchr(text, '%', (size_t)(end - text));
    luaL_addlstring(b, text, (size_t)((escape != NULL ? escape : end) - text));
    if (escape == NULL) return;
    char what = escape[1];
    text = escape + 2;
    if (what == '%') {
      luaL_addchar(b, '%');
    } else if (what == '0') {
      luaL_addlstring(b, s, (size_t)(e - s));
    } else if (what >= '1' && what <= '9') {
      push_capture(&r->m, what - '1', s, e);
      if (lua_type(L, -1) != LUA_TSTRING) lua_tolstring(L, -1, NULL);      /* a place is a number */
      luaL_addvalue(b);
    } else {
      luaL_error(L, "invalid use of '%%' in replacement string");
    }
  }
}

/* Adds what replaces the match from s to e; false if it stays as it was. */
static bool add_replacement(Replacing *r, const char *s, const char *e) {
  lua_State *L = r->m.L;
  if (r->text != NULL) {
    add_template(r, s, e);
    return true;
  }
  match_finish(&r->m);
  if (r->kind == LUA_TFUNCTION) {
    lua_pushvalue(L, 3);
    lua_call(L, push_captures(&r->m, s, e), 1);
  } else {
    push_capture(&r->m, 0, s, e);
    lua_gettable(L, 3);
  }
  match_again(&r->m, 2);
  if (!lua_toboolean(L, -1)) {
    lua_pop(L, 1);
    luaL_addlstring(&r->b, s, (size_t)(e - s));
    return false;
  }
  if (!lua_isstring(L, -1)) luaL_error(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
  luaL_addvalue(&r->b);
  return true;
}

/* Replaces up to `most` matches from the subject's start on; how many. */
static lua_Integer replace(Replacing *r, bool anchored, lua_Integer most, bool *changed) {
  Matcher *m = &r->m;
  const char *at = m->start, *last = NULL;
  lua_Integer count = 0;
  while (count < most) {
    if (!anchored) {
      const char *next = match_candidate(m, at);
      if (next == NULL) break;
      luaL_addlstring(&r->b, at, (size_t)(next - at));
      at = next;
    }
    const char *end = match_at(m, at);
    if (end != NULL && end != last) {
      count++;
      if (add_replacement(r, at, end)) *changed = true;
      at = last = end;
    } else if (at < m->end) {
      luaL_addchar(&r->b, *at++);
    } else {
      break;
    }
    if (anchored) break;
  }
  match_finish(m);
  luaL_addlstring(&r->b, at, (size_t)(m->end - at));
  return count;
}

/* string.gsub(s, pattern, replacement, count) -> text, replacements */
static int l_gsub(lua_State *L) {
  size_t size;
  Replacing r;
  const char *s = library_string_at(L, 1, &size);
  const char *pattern = library_string_at(L, 2, NULL);
  r.kind = lua_type(L, 3);
  luaL_argexpected(L, r.kind == LUA_TNUMBER || r.kind == LUA_TSTRING || r.kind == LUA_TFUNCTION ||
                   r.kind == LUA_TTABLE, 3, "string/function/table");
  lua_Integer most = lua_gettop(L) > 3 ? library_integer_or(L, 4, (lua_Integer)size + 1) : (lua_Integer)size + 1;
  bool anchored = pattern[0] == '^', changed = false;
  lua_settop(L, 3);
  r.text = lua_tolstring(L, 3, &r.size);     /* NULL: a function or a table */
  r.verbatim = r.text != NULL && memchr(r.text, '%', r.size) == NULL;
  match_prepare(&r.m, L, 2, anchored);
  attach(&r.m, L, s, size);
  luaL_buffinit(L, &r.b);
  lua_Integer count = replace(&r, anchored, most, &changed);
  luaL_pushresult(&r.b);
  if (!changed) lua_pushvalue(L, 1);
  lua_pushinteger(L, count);
  return 2;
}

void library_match(lua_State *L) {
  static const LibraryFunction functions[] = {
    {"find", l_find}, {"match", l_match}, {"gmatch", l_gmatch}, {"gsub", l_gsub}, {NULL, NULL}};
  library_set(L, functions);
}
