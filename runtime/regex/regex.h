/*
** Regular expressions: PCRE2, with patterns in JavaScript's manner, and safe
** with those of strangers.
**
** Flags are JavaScript's g i m s u y; texts are always matched by code points.
** Beyond JavaScript all of PCRE2's own syntax is taken. What differs still: a
** group keeps what it captured in an earlier round of a repetition; lookbehinds
** have a fixed length per alternative.
**
** Time. A match limit does not bound time, since it counts anew from every start
** position. So a text is first searched fast, with so low a limit that even
** the worst pattern is done in milliseconds; what hits that limit is searched
** again by code that calls back at each item of the pattern and looks at a clock.
** All finds between two calls of regex_start have REGEX_TIME_MS together; the
** clock is the thread's own, so a busy machine makes no rule look slow.
**
** Memory is the engine's, PCRE2's own included, but for the machine code that it
** makes and the stack of that code, which the system gives. One thread at a time.
*/
#ifndef EBB_REGEX_REGEX_H
#define EBB_REGEX_REGEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"

enum {
  REGEX_PATTERN_MAX = 64 * 1024,     /* bytes of a pattern */
  REGEX_TIME_MS     = 50,            /* of one rule on one text */
  REGEX_MATCH_LIMIT = 100000         /* steps from one start position */
};

typedef enum RegexFlag {
  REGEX_GLOBAL     = 1,      /* g: for replacements, all matches */
  REGEX_CASELESS   = 2,      /* i */
  REGEX_MULTILINE  = 4,      /* m */
  REGEX_DOTALL     = 8,      /* s */
  REGEX_UNICODE    = 16,     /* u: says what holds anyway */
  REGEX_STICKY     = 32,     /* y: matches begin where the search does */
  REGEX_ONCE       = 64,     /* not worth machine code */
  REGEX_VOCABULARY = 128     /* of a vocabulary: PCRE2's plain syntax with Unicode's classes, texts
                                of any bytes; trusted, so no clock and a higher limit */
} RegexFlag;

typedef struct RegexEngine RegexEngine;    /* what many expressions share: stack, limits, matches */
typedef struct Regex Regex;

typedef struct RegexError {
  size_t offset;             /* in the pattern, bytes */
  char message[160];
} RegexError;

/* Why a search was given up: what STATUS_LIMIT was about. */
typedef enum RegexReason { REGEX_NO_REASON, REGEX_TIME, REGEX_STEPS, REGEX_DEPTH, REGEX_GROWTH } RegexReason;

const char *regex_reason_words(RegexReason reason);   /* "it took more than 50 ms"; static */

/* Nanoseconds; a test may give its own. */
typedef struct RegexTime {
  uint64_t (*wall)(void *user);      /* cheap to read */
  uint64_t (*spent)(void *user);     /* of this thread */
  void *user;
} RegexTime;

Status regex_engine_new(const Memory *memory, RegexEngine **engine);
/* After all of its expressions. NULL is allowed. */
void   regex_engine_free(RegexEngine *engine);
void   regex_engine_time(RegexEngine *engine, RegexTime time);
Memory regex_engine_memory(const RegexEngine *engine);
RegexReason regex_engine_reason(const RegexEngine *engine);   /* of the last STATUS_LIMIT */
/* What searching has cost since the engine was made: bytes searched and callbacks. */
uint64_t regex_engine_work(const RegexEngine *engine);
/* Records a limit that the caller found: STATUS_LIMIT. */
Status regex_engine_limit(RegexEngine *engine, RegexReason reason);
/* The caller handles `bytes` on behalf of a rule. STATUS_LIMIT: its time is over. */
Status regex_engine_spend(RegexEngine *engine, size_t bytes);

/* Letters of JavaScript's flags; false: one is unknown or stands twice, *bad is it. */
bool   regex_flags(const char *letters, size_t size, unsigned *flags, char *bad);

/* The engine outlives the expression. STATUS_ARGUMENT: *error says what is wrong;
   STATUS_ENCODING: not UTF-8; STATUS_LIMIT: too long (both say so in *error); STATUS_MEMORY. */
Status regex_new(RegexEngine *engine, const char *pattern, size_t size, unsigned flags, Regex **regex,
                 RegexError *error);
void   regex_free(Regex *regex);            /* NULL is allowed */
RegexEngine *regex_engine(const Regex *regex);
unsigned regex_flags_of(const Regex *regex);
unsigned regex_groups(const Regex *regex);
bool   regex_has_names(const Regex *regex);
/* The number of a named group, or 0. */
unsigned regex_group(const Regex *regex, const char *name, size_t size);

/* From here on time counts for the next rule or text. */
void   regex_start(RegexEngine *engine);

/* The next match at or behind `from`: *ends gets the start and end of the match and
   of each group (REGEX_UNSET where one did not take part), borrowed until the next
   search of the engine; NULL: no match. The text must be valid UTF-8, but for
   REGEX_VOCABULARY. STATUS_LIMIT: given up; STATUS_MEMORY. */
#define REGEX_UNSET SIZE_MAX
Status regex_find(Regex *regex, const char *text, size_t size, size_t from, const size_t **ends);

#endif
