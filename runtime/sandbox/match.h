/*
** Match: Lua's patterns, with fuel.
**
** A pattern is read once into items; every capture, its number and its end are
** known by then, so that matching keeps no state but the captures' places. What
** is wrong in a pattern becomes an item too: it raises when matching comes to
** it, and not before, as in stock Lua.
*/
#ifndef EBB_SANDBOX_MATCH_H
#define EBB_SANDBOX_MATCH_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MATCH_CAPTURES 32
#define MATCH_DEPTH_MAX 200    /* nested parts of a pattern, as in Lua */
#define MATCH_CACHED   16      /* patterns that a sandbox remembers; a power of 2 */
#define MATCH_STEPS    1000    /* paid at a time */
#define MATCH_ITEMS    32      /* of one that is remembered */
#define MATCH_OWN_SETS 4

/* The bytes of a class. */
typedef struct MatchSet {
  uint64_t bits[4];
} MatchSet;

/* %a %c %d %g %l %p %s %u %w %x %z, and each in capital letters: all other bytes. */
typedef struct MatchSets {
  MatchSet of[2][26];        /* by letter - 'a'; empty where there is no class */
  bool known[26];
} MatchSets;

void match_open(MatchSets *sets);

typedef enum MatchKind {
  MATCH_DONE, MATCH_CHAR, MATCH_ANY, MATCH_SET, MATCH_OPEN, MATCH_PLACE, MATCH_CLOSE, MATCH_BACK, MATCH_BALANCE,
  MATCH_FRONTIER, MATCH_TAIL, MATCH_WRONG
} MatchKind;

typedef struct MatchItem {
  uint8_t kind;
  char repeat;               /* '*', '+', '-', '?' or 0 */
  unsigned char a, b;        /* CHAR: the byte; BALANCE: both; captures: the number */
  union {
    const MatchSet *set;     /* SET, FRONTIER */
    const char *message;     /* WRONG: as luaL_error wants it, with %d for `a` */
  } of;
} MatchItem;

typedef struct MatchProgram {
  const MatchItem *items;
  int captures;
  uint32_t unfinished;       /* bits: captures without an end */
  uint32_t places;           /* bits: () */
} MatchProgram;

typedef struct MatchEntry {
  const char *pattern;       /* the bytes of a Lua string that the cache's table holds */
  MatchProgram program;
  MatchItem items[MATCH_ITEMS];
  MatchSet sets[MATCH_OWN_SETS];
} MatchEntry;

typedef struct MatchCache {
  int table;                 /* reference: the strings */
  MatchEntry *entries;       /* MATCH_CACHED; NULL until a script matches */
} MatchCache;

typedef struct MatchCapture {
  const char *start, *end;   /* of (): both the place */
} MatchCapture;

/* A choice that waits while a match is interrupted: where to go on when all that was tried behind it has failed. */
typedef struct MatchLevel {
  uint8_t kind;
  const MatchItem *item;
  const char *at, *shortest;
  int depth, open;
} MatchLevel;

#define MATCH_LEVELS (MATCH_DEPTH_MAX + 8)

typedef struct Matcher {
  lua_State *L;
  int slot;                  /* stack index, or an upvalue's: of what holds a program outside the cache, `levels` */
  MatchLevel *levels;        /* room for MATCH_LEVELS; NULL until the first interruption */
  int waiting;               /* levels in use, the innermost last */
  const char *start, *end;   /* of the subject */
  MatchProgram program;
  const MatchEntry *entry;   /* of the cache, where the program lies; NULL: on the stack */
  const char *pattern;
  size_t pattern_size;
  int steps, granted;        /* left of what may be used before it is paid */
  MatchCapture captures[MATCH_CAPTURES];
} Matcher;

/* Reads the pattern, without its ^: the Lua string at `index` from its byte `from`.
   Leaves a value on the stack, at `slot`, which must stay as long as the matcher is used. Most
   programs lie in the cache, where the script's next pattern may take their place: after any code
   of the script has run, match_again brings it back. */
void match_prepare(Matcher *matcher, lua_State *L, int index, size_t from);
/* `index`: the same string. Costs two comparisons when the program is still there. */
void match_again(Matcher *matcher, int index);

/* The same after an interruption, without a charge. */
void match_restore(Matcher *matcher, int index);

extern const char MATCH_PAUSE;
#define MATCH_PAUSED (&MATCH_PAUSE)

/* Where the match ends that begins at `at`, or NULL. MATCH_PAUSED: the slice is over; the caller yields, and then
   match_resume goes on, with the matcher or a copy of it. Raises. */
const char *match_at(Matcher *matcher, const char *at);
const char *match_resume(Matcher *matcher);

/* The first place from `at` on where a match may begin, or NULL; of far ones, a place on the way. */
const char *match_candidate(Matcher *matcher, const char *at);

/* For what a caller does at a match: paid with its steps. */
void match_spend(Matcher *matcher, size_t steps);

/* Pays for what was used. */
void match_finish(Matcher *matcher);

#endif
