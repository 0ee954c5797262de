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
*/
#include <string.h>

#include "sandbox/sandbox_state.h"

#define STEPS     MATCH_STEPS

/* Steps are paid when they are used up, and what is left of them at the end. */
static void refill(Matcher *m) {
  int used = m->granted - m->steps;
  m->granted = m->steps = STEPS;
  if (holds(sandbox_of(m->L), GUARD_MATCH)) guard_charge(m->L, (uint64_t)used);
}

void match_spend(Matcher *m, size_t steps) {
  while (steps > STEPS) {
    m->steps -= STEPS;
    if (m->steps < 0) refill(m);
    steps -= STEPS;
  }
  m->steps -= (int)steps;
  if (m->steps < 0) refill(m);
}

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

/* Behind the longest run of bytes that fit. */
static const char *run_of(Matcher *m, const MatchItem *item, const char *s) {
  const char *at = s, *end = m->end;
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
  if (at - s >= 8) match_spend(m, (size_t)(at - s) / 8);
  return at;
}

/* The byte that must come next for the items from here on to match, or -1. */
static inline int next_byte(const MatchItem *item) {
  return item->kind == MATCH_CHAR && (item->repeat == 0 || item->repeat == '+') ? item->a : -1;
}

/* Matches the items from `item` on at `s`: the end of the match, or NULL. `depth` counts nested calls and open
   captures, which are limited. Raises for a malformed item, and at the sandbox's limits. */
static const char *go(Matcher *m, const MatchItem *item, const char *s, int depth);

/* As many as there are, then fewer and fewer. */
static const char *most(Matcher *m, const MatchItem *item, const char *s, const char *shortest, int depth) {
  const char *at = run_of(m, item, s);
  int byte = next_byte(item + 1);
  if (depth >= MATCH_DEPTH_MAX) byte = -1;         /* go complains */
  for (; at >= shortest; at--) {
    if (byte >= 0 && (at == m->end || (unsigned char)*at != byte)) {
      if (((uintptr_t)at & 7) == 0 && --m->steps < 0) refill(m);
      continue;
    }
    const char *end = go(m, item + 1, at, depth + 1);
    if (end != NULL) return end;
  }
  return NULL;
}

/* None, then more and more. */
static const char *fewest(Matcher *m, const MatchItem *item, const char *s, int depth) {
  int byte = next_byte(item + 1);
  if (depth >= MATCH_DEPTH_MAX) byte = -1;
  for (;; s++) {
    if (byte < 0 || (s < m->end && (unsigned char)*s == byte)) {
      const char *end = go(m, item + 1, s, depth + 1);
      if (end != NULL) return end;
    } else if (((uintptr_t)s & 7) == 0 && --m->steps < 0) {
      refill(m);
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

static const char *balance(Matcher *m, const MatchItem *item, const char *s) {
  if (s >= m->end || (unsigned char)*s != item->a) return NULL;
  int64_t open = 1;
  const char *at = s + 1;
  for (; at < m->end; at++) {
    unsigned char byte = (unsigned char)*at;
    if (byte == item->b) {
      if (--open == 0) break;
    } else if (byte == item->a) {
      open++;
    }
  }
  match_spend(m, (size_t)(at - s) / 4);
  return at < m->end ? at + 1 : NULL;
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
    if (--m->steps < 0) refill(m);
    switch ((MatchKind)item->kind) {
      case MATCH_DONE: return s;
      case MATCH_WRONG: luaL_error(m->L, item->of.message, item->a); return NULL;
      case MATCH_OPEN: m->captures[item->a].start = s; deeper(m, ++depth); continue;
      case MATCH_CLOSE: m->captures[item->a].end = s; deeper(m, ++depth); continue;
      case MATCH_PLACE: m->captures[item->a] = (MatchCapture){s, s}; deeper(m, ++depth); continue;
      case MATCH_TAIL: if (s != m->end) return NULL; continue;
      case MATCH_FRONTIER: if (!is_frontier(m, item, s)) return NULL; continue;
      case MATCH_BACK: if ((s = back(m, item, s)) == NULL) return NULL; continue;
      case MATCH_BALANCE: if ((s = balance(m, item, s)) == NULL) return NULL; continue;
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
        if (end != NULL) return end;
      }
    }
  }
}

const char *match_at(Matcher *m, const char *at) {
  return go(m, m->program.items, at, 1);
}

const char *match_candidate(Matcher *m, const char *at) {
  const MatchItem *item = m->program.items;
  while (item->kind == MATCH_OPEN) item++;
  if (item->repeat != 0 && item->repeat != '+') return at;
  const char *next = at;
  if (item->kind == MATCH_CHAR || item->kind == MATCH_BALANCE) {
    next = at < m->end ? memchr(at, item->a, (size_t)(m->end - at)) : NULL;
  } else if (item->kind == MATCH_SET) {
    while (next < m->end && !has(item->of.set, (unsigned char)*next)) next++;
    if (next == m->end) next = NULL;
  }
  size_t passed = (size_t)((next != NULL ? next : m->end) - at);
  if (passed >= 8) match_spend(m, passed / 8);
  return next;
}

