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

#define FEW_CAPTURES 8   /* for which the stack of a C function has room */

/* The text of capture `number`; false: it is a place, at *text. Without captures number 0 is the whole match, from `s`
   to `e`. */
static bool find_capture(const Matcher *m, int number, const char *s, const char *e, const char **text, size_t *size) {
  const MatchProgram *program = &m->program;
  if (number >= program->captures) {
    if (number != 0) luaL_error(m->L, "invalid capture index %%%d", number + 1);
    *text = s;
    *size = (size_t)(e - s);
    return true;
  }
  const MatchCapture *capture = &m->captures[number];
  if (program->unfinished >> number & 1) luaL_error(m->L, "unfinished capture");
  *text = capture->start;
  *size = (size_t)(capture->end - capture->start);
  return (program->places >> number & 1) == 0;
}

static void push_capture(const Matcher *m, int number, const char *s, const char *e) {
  const char *text;
  size_t size;
  if (find_capture(m, number, s, e, &text, &size)) lua_pushlstring(m->L, text, size);
  else lua_pushinteger(m->L, text - m->start + 1);
}

/* All captures; if there are none and s is given, the whole match. */
static int push_captures(Matcher *m, const char *s, const char *e) {
  int count = m->program.captures == 0 && s != NULL ? 1 : m->program.captures;
  if (count > FEW_CAPTURES) guard_check_stack(m->L, count, "too many captures");
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

/* True: the slice is over. */
static bool pay(lua_State *L, uint64_t *owed) {
  uint64_t units = *owed;
  *owed = 0;
  return holds(sandbox_of(L), GUARD_RANGE) && guard_pause(L, units);
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

static int go_on_plain(lua_State *L, int status, lua_KContext at);

/* Finds `what`, at 2, in the text at 1 from byte `from` on: candidates by memchr; each costs, and what is
   compared at each as well. It is paid in portions: a short search pays once. */
static int find_plain(lua_State *L, const char *start, size_t size, const char *what, size_t what_size, size_t from) {
  const char *at = start + from, *end = start + size;
  uint64_t owed = what_size / 32;            /* it was read for special characters */
  while (what_size > 0) {
    const char *next = (size_t)(end - at) < what_size ? NULL : memchr(at, what[0], (size_t)(end - at) - what_size + 1);
    owed += 2 + (size_t)((next != NULL ? next : end) - at) / 32 + (next != NULL ? what_size / 64 : 0);
    at = next;
    if (next == NULL) break;
    if (is_same(at, what, what_size)) break;
    at++;
    if (owed > PORTION && pay(L, &owed)) return guard_yield(L, at - start, go_on_plain);
  }
  pay(L, &owed);
  if (at == NULL) {
    lua_pushnil(L);
    return 1;
  }
  lua_pushinteger(L, at - start + 1);
  lua_pushinteger(L, at - start + (lua_Integer)what_size);
  return 2;
}

static int go_on_plain(lua_State *L, int status, lua_KContext at) {
  size_t size, what_size;
  const char *start = lua_tolstring(L, 1, &size), *what = lua_tolstring(L, 2, &what_size);
  (void)status;
  return find_plain(L, start, size, what, what_size, (size_t)at);
}

/* A search for the pattern at 2. */
typedef struct Search {
  Matcher m;
  const char *at;            /* where to go on */
  bool anchored, positions;
} Search;

/* The first match from search->at on, where it then stands: the end of the match, NULL or MATCH_PAUSED. */
static const char *search_on(Search *search) {
  Matcher *m = &search->m;
  for (;; search->at++) {
    bool resumed = m->waiting > 0;
    if (!resumed && !search->anchored) search->at = match_candidate(m, search->at);
    if (search->at == NULL) return NULL;
    const char *end = resumed ? match_resume(m) : match_at(m, search->at);
    if (end != NULL || search->anchored || search->at >= m->end) return end;
  }
}

static int go_on_find(lua_State *L, int status, lua_KContext place);

/* `place`: of the userdata with the search; 0: it lies on the C stack. */
static int find_pattern(lua_State *L, Search *search, lua_KContext place) {
  Matcher *m = &search->m;
  const char *end = search_on(search);
  if (end == MATCH_PAUSED) {
    if (place == 0) {
      *(Search *)lua_newuserdatauv(L, sizeof *search, 0) = *search;
      place = lua_gettop(L);
    }
    return guard_yield(L, place, go_on_find);
  }
  match_finish(m);
  if (end == NULL) {
    lua_pushnil(L);
    return 1;
  }
  if (!search->positions) return push_captures(m, search->at, end);
  lua_pushinteger(L, search->at - m->start + 1);
  lua_pushinteger(L, end - m->start);
  return push_captures(m, NULL, NULL) + 2;
}

static int go_on_find(lua_State *L, int status, lua_KContext place) {
  Search *search = lua_touserdata(L, (int)place);
  (void)status;
  match_restore(&search->m, 2);
  return find_pattern(L, search, place);
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
  plain = plain || (positions && is_plain(pattern, pattern_size));
  if (plain) return find_plain(L, s, size, pattern, pattern_size, init);
  Search search;
  search.at = s + init;
  search.anchored = pattern[0] == '^';
  search.positions = positions;
  attach(&search.m, L, s, size);
  match_prepare(&search.m, L, 2, search.anchored);
  return find_pattern(L, &search, 0);
}

static int l_find(lua_State *L) {
  return find(L, true);
}

static int l_match(lua_State *L) {
  return find(L, false);
}

/* ---- gmatch ---- */

/* Lives in the first upvalue of the iterator; subject, pattern and the matcher's slot in the others. */
typedef struct Walk {
  Matcher m;
  const char *at, *last;     /* where to go on, NULL at the end; where the last match ended */
} Walk;

static int go_on_walk(lua_State *L, int status, lua_KContext context);

static int walk_on(lua_State *L, Walk *walk) {
  Matcher *m = &walk->m;
  for (; walk->at != NULL && walk->at <= m->end; walk->at++) {
    bool resumed = m->waiting > 0;
    if (!resumed) walk->at = match_candidate(m, walk->at);
    if (walk->at == NULL) break;
    const char *at = walk->at, *end = resumed ? match_resume(m) : match_at(m, at);
    if (end == MATCH_PAUSED) return guard_yield(L, 0, go_on_walk);
    if (end == NULL || end == walk->last) continue;
    walk->at = walk->last = end;
    match_finish(m);
    return push_captures(m, at, end);
  }
  walk->at = NULL;
  match_finish(m);
  return 0;
}

static int go_on_walk(lua_State *L, int status, lua_KContext context) {
  Walk *walk = lua_touserdata(L, lua_upvalueindex(1));
  (void)status, (void)context;
  walk->m.L = L;
  match_restore(&walk->m, lua_upvalueindex(3));
  return walk_on(L, walk);
}

static int next_match(lua_State *L) {
  Walk *walk = lua_touserdata(L, lua_upvalueindex(1));
  walk->m.L = L;
  guard_charge(L, 2);
  match_again(&walk->m, lua_upvalueindex(3));
  return walk_on(L, walk);
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
  walk->m.slot = lua_upvalueindex(4);
  attach(&walk->m, L, s, size);
  walk->at = init > size ? NULL : s + init;
  walk->last = NULL;
  lua_pushcclosure(L, next_match, 4);
  return 1;
}

/* ---- gsub ---- */

/* The state of one call: on the C stack, or in a userdata where the call may be interrupted. */
typedef struct Replacing {
  Matcher m;
  luaL_Buffer b;
  int kind;                  /* of the replacement, at 3 */
  int place;                 /* stack index of the userdata; 0: on the C stack */
  bool busy;                 /* a call uses the userdata */
  bool anchored, changed;
  bool verbatim;             /* there is no % in the text */
  bool plain;                /* the replacement is a table of which nothing can yield */
  bool pauses;               /* it is asked for by what has no instruction that could yield: a table, a function in C */
  const char *text;          /* of a replacement that is one */
  size_t size;
  const char *at, *last;     /* where to go on; where the last match ended */
  const char *end;           /* of the match at `at`, while its replacement is asked for */
  lua_Integer count, most;   /* replacements so far, and at most */
} Replacing;

static void add_capture(Replacing *r, int number, const char *s, const char *e) {
  const char *text;
  size_t size;
  if (find_capture(&r->m, number, s, e, &text, &size)) {
    luaL_addlstring(&r->b, text, size);
  } else {
    lua_pushinteger(r->m.L, text - r->m.start + 1);
    luaL_addvalue(&r->b);
  }
}

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
  for (unsigned escapes = 1;; escapes++) {
    if (escapes % 256 == 0) match_spend(&r->m, 256);
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
      add_capture(r, what - '1', s, e);
    } else {
      luaL_error(L, "invalid use of '%%' in replacement string");
    }
  }
}

/* Adds the value on top, the replacement of the match, and pops it. */
static void add_answer(lua_State *L, Replacing *r) {
  int kind = lua_type(L, -1);
  match_again(&r->m, 2);
  if (kind != LUA_TSTRING && !lua_toboolean(L, -1)) {
    lua_pop(L, 1);
    luaL_addlstring(&r->b, r->at, (size_t)(r->end - r->at));
  } else {
    bool is_text = kind == LUA_TSTRING || kind == LUA_TNUMBER;
    if (!is_text) luaL_error(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
    luaL_addvalue(&r->b);
    r->changed = true;
  }
  r->at = r->last = r->end;
}

static int go_on_gsub(lua_State *L, int status, lua_KContext place);

/* Asks the function or table at 3 for the replacement. It may yield; then go_on_gsub adds the answer. */
static void ask(lua_State *L, Replacing *r) {
  match_finish(&r->m);
  lua_KFunction go_on = r->place != 0 ? go_on_gsub : NULL;
  if (r->kind == LUA_TFUNCTION) {
    lua_pushvalue(L, 3);
    lua_callk(L, push_captures(&r->m, r->at, r->end), 1, r->place, go_on);
  } else {
    push_capture(&r->m, 0, r->at, r->end);
    if (r->plain) lua_gettable(L, 3);
    else library_index(L, 3, r->place, go_on);
  }
}

/* Where the next match can begin, after the bytes before it are copied; NULL: nowhere. */
static const char *skip(Replacing *r, const char *at) {
  if (r->anchored) return at;
  const char *next = match_candidate(&r->m, at);
  if (next != NULL) luaL_addlstring(&r->b, at, (size_t)(next - at));
  return next;
}

/* Adds the replacement of the match [at, end). A function or table is asked, and may yield. */
static void add_replacement(lua_State *L, Replacing *r, const char *at, const char *end) {
  r->count++;
  r->at = at;
  r->end = end;
  if (r->text != NULL) {
    add_template(r, at, end);
    r->changed = true;
    r->at = r->last = end;
  } else {
    ask(L, r);
    add_answer(L, r);
  }
}

/* Replaces what is left to be replaced; true when done, false when the slice is over. */
static bool replace(lua_State *L, Replacing *r) {
  Matcher *m = &r->m;
  while (r->count < r->most) {
    bool resumed = m->waiting > 0;
    const char *at = resumed ? r->at : skip(r, r->at);
    if (at == NULL) break;
    const char *end = resumed ? match_resume(m) : match_at(m, at);
    r->at = at;
    if (end == MATCH_PAUSED) return false;
    if (end != NULL && end != r->last) add_replacement(L, r, at, end);
    else if (at == m->end) break;
    else luaL_addchar(&r->b, *r->at++);
    if (r->anchored) break;
    if (r->pauses && guard_pause(L, 0)) return false;      /* the slice is over */
  }
  return true;
}

static int finish_gsub(lua_State *L, Replacing *r) {
  if (!replace(L, r)) {
    r->end = NULL;           /* no answer is due */
    return guard_yield(L, r->place, go_on_gsub);
  }
  match_finish(&r->m);
  luaL_addlstring(&r->b, r->at, (size_t)(r->m.end - r->at));
  luaL_pushresult(&r->b);
  if (!r->changed) lua_pushvalue(L, 1);
  lua_pushinteger(L, r->count);
  r->busy = false;
  return 2;
}

static int go_on_gsub(lua_State *L, int status, lua_KContext place) {
  Replacing *r = lua_touserdata(L, (int)place);
  (void)status;
  if (r->end != NULL) add_answer(L, r);
  else match_restore(&r->m, 2);
  if (r->anchored && r->count > 0) r->most = r->count;
  return finish_gsub(L, r);
}

/* Pushes a userdata for the state: the sandbox's own, or a new one where that is in use, which takes its place. */
static Replacing *push_state(lua_State *L) {
  Sandbox *sandbox = sandbox_of(L);
  Replacing *r = sandbox->gsub;
  if (r != NULL && !r->busy) {
    lua_rawgetp(L, LUA_REGISTRYINDEX, &sandbox->gsub);
  } else {
    r = lua_newuserdatauv(L, sizeof *r, 0);
    r->busy = false;
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &sandbox->gsub);
    sandbox->gsub = r;
  }
  return r;
}

/* string.gsub(s, pattern, replacement, count) -> text, replacements */
static int l_gsub(lua_State *L) {
  size_t size;
  Replacing here, *r = &here;
  const char *s = library_string_at(L, 1, &size);
  const char *pattern = library_string_at(L, 2, NULL);
  int kind = lua_type(L, 3);
  luaL_argexpected(L, kind == LUA_TNUMBER || kind == LUA_TSTRING || kind == LUA_TFUNCTION || kind == LUA_TTABLE, 3,
                   "string/function/table");
  lua_Integer most = lua_gettop(L) > 3 ? library_integer_or(L, 4, (lua_Integer)size + 1) : (lua_Integer)size + 1;
  lua_settop(L, 3);
  if (guard_can_yield(L)) r = push_state(L);
  r->place = r == &here ? 0 : 4;
  r->kind = kind;
  r->plain = r->place == 0 || !lua_getmetatable(L, 3);
  if (!r->plain) lua_pop(L, 1);
  r->text = lua_tolstring(L, 3, &r->size);   /* NULL: a function or a table */
  r->pauses = r->place != 0 && (kind == LUA_TTABLE || lua_iscfunction(L, 3));
  r->verbatim = r->text != NULL && memchr(r->text, '%', r->size) == NULL;
  r->anchored = pattern[0] == '^';
  r->changed = false;
  r->at = s;
  r->last = r->end = NULL;
  r->count = 0;
  r->most = most;
  match_prepare(&r->m, L, 2, r->anchored);
  attach(&r->m, L, s, size);
  luaL_buffinit(L, &r->b);
  r->busy = true;
  return finish_gsub(L, r);
}

void library_match(lua_State *L) {
  static const LibraryFunction functions[] = {
    {"find", l_find}, {"match", l_match}, {"gmatch", l_gmatch}, {"gsub", l_gsub}, {NULL, NULL}};
  library_set(L, functions);
}
