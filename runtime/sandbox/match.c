/*
** Matching: items against bytes, by backtracking.
**
** Only a repeated item has a choice, so only there does matching call itself;
** what follows a choice writes its captures anew each time, and what precedes it
** is not touched, so captures need no undoing:
**
**      (  %s*  )  =  (  .-  )          "  key = value"
**      0  2 or  ...                     each way back passes every later ( and ) again
**         1 or 0
**
** Depth is counted as stock Lua counts it (captures too), so that the same
** patterns are "too complex". Each step costs a unit, single bytes in runs a part
** of one.
**
** Where a slice ends, all calls return MATCH_PAUSED, and each notes on its way what it would
** have done next if the call within had failed. A match that succeeds returns through all of
** them; so to resume is to run the notes, the innermost first, until one succeeds.
*/
#include <assert.h>
#include <string.h>

#include "sandbox/sandbox_state.h"

#define STEPS     MATCH_STEPS
#define PORTION   ((size_t)1 << 15)   /* bytes of a run between two steps that may pause */

const char MATCH_PAUSE = 0;

/* Steps are paid when they are used up, and what is left of them at the end. True: the slice is over. */
static COLD bool refill(Matcher *m) {
  int used = m->granted - m->steps;
  m->granted = m->steps = STEPS;
  return holds(sandbox_of(m->L), GUARD_MATCH) && guard_pause(m->L, (uint64_t)used);
}

static inline bool spend(Matcher *m, size_t steps) {
  m->steps -= (int)steps;
  return m->steps < 0 && refill(m);
}

void match_spend(Matcher *m, size_t steps) { spend(m, steps); }

void match_finish(Matcher *m) {
  int used = m->granted - m->steps;
  m->granted = m->steps = STEPS;
  guard_charge(m->L, (uint64_t)used);
}

static inline bool has(const MatchSet *set, unsigned char byte) {
  return (set->bits[byte >> 6] >> (byte & 63)) & 1;
}

static inline bool fits(const MatchItem *item, unsigned char byte) {
  switch (item->kind) {
    case MATCH_CHAR: return item->a == byte;
    case MATCH_ANY: return true;
    default: return has(item->of.set, byte);
  }
}

/* Behind the longest run of bytes that fit, up to `end`. */
static const char *run_of(const MatchItem *item, const char *s, const char *end) {
  const char *at = s;
  switch (item->kind) {
    case MATCH_ANY: at = end; break;
    case MATCH_CHAR: {
      unsigned char byte = item->a;
      while (at < end && (unsigned char)*at == byte) at++;
      break;
    }
    default: {
      const MatchSet *set = item->of.set;
      while (at < end && has(set, (unsigned char)*at)) at++;
    }
  }
  return at;
}

/* ---- waiting ---- */

typedef enum LevelKind { LEVEL_GO, LEVEL_RUN, LEVEL_MOST, LEVEL_FEWEST, LEVEL_BALANCE } LevelKind;

static COLD const char *hold_level(Matcher *m, MatchLevel level) {
  if (m->levels == NULL) {
    guard_check_stack(m->L, 1, NULL);
    m->levels = lua_newuserdatauv(m->L, MATCH_LEVELS * sizeof *m->levels, 0);
    if (m->entry != NULL) lua_replace(m->L, m->slot);
    else lua_setiuservalue(m->L, m->slot, 1);
  }
  assert(m->waiting < MATCH_LEVELS);
  m->levels[m->waiting++] = level;
  return MATCH_PAUSED;
}

static COLD const char *hold(Matcher *m, LevelKind kind, const MatchItem *item, const char *at, const char *shortest,
                             int depth) {
  return hold_level(m, (MatchLevel){.kind = (uint8_t)kind, .item = item, .at = at, .shortest = shortest,
                                    .depth = depth});
}

/* The same where a step was counted that is repeated. */
static COLD const char *hold_step(Matcher *m, LevelKind kind, const MatchItem *item, const char *at,
                                  const char *shortest, int depth) {
  m->steps++;
  return hold(m, kind, item, at, shortest, depth);
}

/* ---- matching ---- */

/* The byte that must come next for the items from here on to match, or -1. */
static inline int next_byte(const MatchItem *item) {
  return item->kind == MATCH_CHAR && (item->repeat == 0 || item->repeat == '+') ? item->a : -1;
}

/* Matches the items from `item` on at `s`: the end of the match, or NULL. `depth` counts nested calls and open
   captures, which are limited. Raises for a malformed item, and at the sandbox's limits. */
static const char *go(Matcher *m, const MatchItem *item, const char *s, int depth);

/* Then fewer and fewer, from `at` on. */
static inline const char *most_from(Matcher *m, const MatchItem *item, const char *at, const char *shortest,
                                    int depth) {
  int byte = next_byte(item + 1);
  if (depth >= MATCH_DEPTH_MAX) byte = -1;         /* go complains */
  for (; at >= shortest; at--) {
    if (byte >= 0 && (at == m->end || (unsigned char)*at != byte)) {
      if (((uintptr_t)at & 7) == 0 && --m->steps < 0 && refill(m))
        return hold_step(m, LEVEL_MOST, item, at, shortest, depth);
      continue;
    }
    const char *end = go(m, item + 1, at, depth + 1);
    if (end != NULL) return end == MATCH_PAUSED ? hold(m, LEVEL_MOST, item, at - 1, shortest, depth) : end;
  }
  return NULL;
}

/* As many as there are from `s` on. */
static const char *most(Matcher *m, const MatchItem *item, const char *s, const char *shortest, int depth) {
  for (;;) {
    const char *limit = (size_t)(m->end - s) > PORTION ? s + PORTION : m->end;
    const char *next = item->kind == MATCH_ANY ? m->end : run_of(item, s, limit);
    size_t passed = (size_t)(next - s);
    s = next;
    if (passed >= 8 && spend(m, passed / 8)) return hold(m, LEVEL_RUN, item, s, shortest, depth);
    if (next != limit || limit == m->end) return most_from(m, item, s, shortest, depth);
  }
}

/* None, then more and more. */
static const char *fewest(Matcher *m, const MatchItem *item, const char *s, int depth) {
  int byte = next_byte(item + 1);
  if (depth >= MATCH_DEPTH_MAX) byte = -1;
  for (;; s++) {
    if (byte < 0 || (s < m->end && (unsigned char)*s == byte)) {
      const char *end = go(m, item + 1, s, depth + 1);
      if (end == MATCH_PAUSED && s < m->end && fits(item, (unsigned char)*s))
        return hold(m, LEVEL_FEWEST, item, s + 1, NULL, depth);
      if (end != NULL) return end;
    } else if (((uintptr_t)s & 7) == 0 && --m->steps < 0 && refill(m)) {
      return hold_step(m, LEVEL_FEWEST, item, s, NULL, depth);
    }
    if (s >= m->end || !fits(item, (unsigned char)*s)) return NULL;
  }
}

static const char *back(Matcher *m, const MatchItem *item, const char *s) {
  if (m->program.places >> item->a & 1) return NULL;   /* a place has no text to come again */
  const MatchCapture *capture = &m->captures[item->a];
  size_t size = (size_t)(capture->end - capture->start);
  if ((size_t)(m->end - s) < size) return NULL;
  match_spend(m, size / 16);
  return memcmp(capture->start, s, size) == 0 ? s + size : NULL;
}

/* Behind the end of the balance that is `open` levels deep at `at`, or NULL. */
static const char *balance_from(Matcher *m, const MatchItem *item, const char *at, int open, int depth) {
  while (at < m->end) {
    const char *from = at, *limit = (size_t)(m->end - at) > PORTION ? at + PORTION : m->end;
    for (; at < limit && open > 0; at++) {
      unsigned char byte = (unsigned char)*at;
      if (byte == item->b) open--;
      else if (byte == item->a) open++;
    }
    bool paused = spend(m, (size_t)(at - from) / 4);
    if (open == 0) return at;
    if (paused)
      return hold_level(m, (MatchLevel){.kind = LEVEL_BALANCE, .item = item, .at = at, .depth = depth, .open = open});
  }
  return NULL;
}

static const char *balance(Matcher *m, const MatchItem *item, const char *s, int depth) {
  if (s >= m->end || (unsigned char)*s != item->a) return NULL;
  return balance_from(m, item, s + 1, 1, depth);
}

static bool is_frontier(const Matcher *m, const MatchItem *item, const char *s) {
  unsigned char before = s == m->start ? 0 : (unsigned char)s[-1];
  unsigned char after = s == m->end ? 0 : (unsigned char)*s;
  return !has(item->of.set, before) && has(item->of.set, after);
}

static void deeper(Matcher *m, int depth) {
  if (depth > MATCH_DEPTH_MAX) luaL_error(m->L, "pattern too complex");
}

static const char *go(Matcher *m, const MatchItem *item, const char *s, int depth) {
  deeper(m, depth);
  for (;; item++) {
    if (--m->steps < 0 && refill(m))
      return hold_step(m, LEVEL_GO, item, s, NULL, depth);
    switch ((MatchKind)item->kind) {
      case MATCH_DONE: return s;
      case MATCH_WRONG: luaL_error(m->L, item->of.message, item->a); return NULL;
      case MATCH_OPEN: m->captures[item->a].start = s; deeper(m, ++depth); continue;
      case MATCH_CLOSE: m->captures[item->a].end = s; deeper(m, ++depth); continue;
      case MATCH_PLACE: m->captures[item->a] = (MatchCapture){s, s}; deeper(m, ++depth); continue;
      case MATCH_TAIL: if (s != m->end) return NULL; continue;
      case MATCH_FRONTIER: if (!is_frontier(m, item, s)) return NULL; continue;
      case MATCH_BACK: if ((s = back(m, item, s)) == NULL) return NULL; continue;
      case MATCH_BALANCE: if ((s = balance(m, item, s, depth)) == NULL || s == MATCH_PAUSED) return s; continue;
      case MATCH_CHAR: case MATCH_ANY: case MATCH_SET: break;
    }
    bool one = s < m->end && fits(item, (unsigned char)*s);
    if (!one) {
      if (item->repeat == 0 || item->repeat == '+') return NULL;
      continue;
    }
    switch (item->repeat) {
      case 0: s++; continue;
      case '+': return most(m, item, s, s + 1, depth);
      case '*': return most(m, item, s, s, depth);
      case '-': return fewest(m, item, s, depth);
      default: {
        const char *end = go(m, item + 1, s + 1, depth + 1);
        if (end != NULL) return end == MATCH_PAUSED ? hold(m, LEVEL_GO, item + 1, s, NULL, depth) : end;
      }
    }
  }
}

/* The levels from `first` on were noted from within outward. */
static const char *turn(Matcher *m, int first) {
  for (int last = m->waiting - 1; first < last; first++, last--) {
    MatchLevel level = m->levels[first];
    m->levels[first] = m->levels[last];
    m->levels[last] = level;
  }
  return MATCH_PAUSED;
}

const char *match_at(Matcher *m, const char *at) {
  assert(m->waiting == 0);
  const char *end = go(m, m->program.items, at, 1);
  return end == MATCH_PAUSED ? turn(m, 0) : end;
}

static const char *go_on(Matcher *m, const MatchLevel *level) {
  switch ((LevelKind)level->kind) {
    case LEVEL_GO: return go(m, level->item, level->at, level->depth);
    case LEVEL_RUN: return most(m, level->item, level->at, level->shortest, level->depth);
    case LEVEL_MOST: return most_from(m, level->item, level->at, level->shortest, level->depth);
    case LEVEL_FEWEST: return fewest(m, level->item, level->at, level->depth);
    case LEVEL_BALANCE: break;
  }
  const char *end = balance_from(m, level->item, level->at, level->open, level->depth);
  return end == NULL || end == MATCH_PAUSED ? end : go(m, level->item + 1, end, level->depth);
}

const char *match_resume(Matcher *m) {
  while (m->waiting > 0) {
    MatchLevel level = m->levels[--m->waiting];
    int outer = m->waiting;
    const char *end = go_on(m, &level);
    if (end == MATCH_PAUSED) return turn(m, outer);
    if (end == NULL) continue;
    m->waiting = 0;
    return end;
  }
  return NULL;
}

const char *match_candidate(Matcher *m, const char *at) {
  const MatchItem *item = m->program.items;
  while (item->kind == MATCH_OPEN) item++;
  if (item->repeat != 0 && item->repeat != '+') return at;
  const char *next = at;
  if (item->kind == MATCH_CHAR || item->kind == MATCH_BALANCE) {
    next = at < m->end ? memchr(at, item->a, (size_t)(m->end - at)) : NULL;
  } else if (item->kind == MATCH_SET) {
    const char *limit = (size_t)(m->end - at) > PORTION ? at + PORTION : m->end;
    while (next < limit && !has(item->of.set, (unsigned char)*next)) next++;
    if (next == m->end) next = NULL;
  }
  size_t passed = (size_t)((next != NULL ? next : m->end) - at);
  if (passed >= 8) match_spend(m, passed / 8);
  return next;
}
