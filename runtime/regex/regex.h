/*
** Regular expressions: JavaScript's patterns by PCRE2, safe with untrusted patterns.
**
** Flags are JavaScript's g i m s u y; texts are always matched by code points. All of
** PCRE2's own syntax is accepted too. Differences to JavaScript: a group keeps its
** capture from an earlier round of a repetition; lookbehinds have a fixed length per
** alternative.
**
** Time. PCRE2's match limit does not bound time, since it starts anew at every start
** position. A text is therefore first searched with so low a limit that even the worst
** pattern takes milliseconds. If that limit is hit, it is searched again by code that
** calls back at each item of the pattern to read a clock. All searches between two
** calls of regex_start have REGEX_TIME_MS together, in CPU time of the thread, so that
** a busy machine makes no rule look slow.
**
** Memory comes from the engine's allocator, PCRE2's own included, except for machine
** code and its stack. An engine is used by one thread at a time.
*/
#ifndef EBB_REGEX_REGEX_H
#define EBB_REGEX_REGEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"

enum {
  REGEX_PATTERN_MAX = 64 * 1024,     /* bytes of a pattern */
  REGEX_TIME_MS     = 50,            /* for one rule on one text */
  REGEX_MATCH_LIMIT = 100000         /* steps from one start position */
};

typedef enum RegexFlag {
  REGEX_GLOBAL     = 1,      /* g: for replacements, all matches */
  REGEX_CASELESS   = 2,      /* i */
  REGEX_MULTILINE  = 4,      /* m */
  REGEX_DOTALL     = 8,      /* s */
  REGEX_UNICODE    = 16,     /* u: no effect, texts are always Unicode */
  REGEX_STICKY     = 32,     /* y: matches must begin at the start of the search */
  REGEX_ONCE       = 64,     /* used only once: without machine code */
  REGEX_VOCABULARY = 128     /* for vocabularies: PCRE2's own syntax with Unicode's classes, texts of any
                                bytes; trusted, so without a clock and with a higher limit */
} RegexFlag;

typedef struct RegexEngine RegexEngine;    /* stack, limits and matches, shared by many expressions */
typedef struct Regex Regex;

typedef struct RegexError {
  size_t offset;             /* bytes, in the pattern */
  char message[160];
} RegexError;

/* Why a search was abandoned: the cause of STATUS_LIMIT. */
typedef enum RegexReason { REGEX_NO_REASON, REGEX_TIME, REGEX_STEPS, REGEX_DEPTH, REGEX_GROWTH } RegexReason;

const char *regex_reason_words(RegexReason reason);   /* "it took more than 50 ms"; static */

/* Clocks in nanoseconds; tests replace them. */
typedef struct RegexTime {
  uint64_t (*wall)(void *user);      /* elapsed time, cheap to read */
  uint64_t (*spent)(void *user);     /* CPU time of this thread */
  void *user;
} RegexTime;

/* Creates an engine. STATUS_MEMORY. */
Status regex_engine_new(const Memory *memory, RegexEngine **engine);
/* Frees an engine, whose expressions must be free already. NULL is allowed. */
void   regex_engine_free(RegexEngine *engine);
void   regex_engine_time(RegexEngine *engine, RegexTime time);       /* replaces its clocks */
Memory regex_engine_memory(const RegexEngine *engine);               /* its allocator */
RegexReason regex_engine_reason(const RegexEngine *engine);   /* of the last STATUS_LIMIT */
/* The cost of all searches of the engine so far: bytes searched plus callbacks. */
uint64_t regex_engine_work(const RegexEngine *engine);
/* Records a limit that the caller detected; returns STATUS_LIMIT. */
Status regex_engine_limit(RegexEngine *engine, RegexReason reason);
/* Counts `bytes` that the caller handles for a rule. STATUS_LIMIT: its time is used up. */
Status regex_engine_spend(RegexEngine *engine, size_t bytes);

/* Parses JavaScript's flags into bits of RegexFlag; false if a letter is unknown or repeated, which *bad gets. */
bool   regex_flags(const char *letters, size_t size, unsigned *flags, char *bad);

/* Compiles a pattern. The engine must outlive the expression. STATUS_ARGUMENT (invalid),
   STATUS_ENCODING (not UTF-8), STATUS_LIMIT (too long or too wide): see *error;
   STATUS_MEMORY. */
Status regex_new(RegexEngine *engine, const char *pattern, size_t size, unsigned flags, Regex **regex,
                 RegexError *error);
void   regex_free(Regex *regex);            /* NULL is allowed */
RegexEngine *regex_engine(const Regex *regex);
unsigned regex_flags_of(const Regex *regex);         /* those of regex_new */
size_t regex_bytes(const Regex *regex);              /* that it takes so far, machine code included */
unsigned regex_groups(const Regex *regex);           /* number of groups, without the match itself */
bool   regex_has_names(const Regex *regex);          /* true if it has named groups */
/* The number of a named group, from 1; 0 for other names. */
unsigned regex_group(const Regex *regex, const char *name, size_t size);

/* Restarts the time limit, for the next rule or text. */
void   regex_start(RegexEngine *engine);
/* The end of a piece of work, in CPU time of the thread. The clock of elapsed time is cheap to read and says
   when to read the thread's, which decides. Zeros: it has no end. */
typedef struct RegexTimer {
  uint64_t wall_end, spent_end;
} RegexTimer;
RegexTimer regex_timer(const RegexEngine *engine, uint64_t ns);              /* ends so much later */
bool   regex_timer_is_over(const RegexEngine *engine, RegexTimer *timer);

/* Finds the next match at or behind `from`. *ends: start and end of the match and of
   each group (REGEX_UNSET for an unset group), borrowed until the engine's next search;
   NULL: no match. The text must be valid UTF-8, except with REGEX_VOCABULARY.
   STATUS_LIMIT: the search was abandoned, see regex_engine_reason; STATUS_MEMORY. */
#define REGEX_UNSET SIZE_MAX
Status regex_find(Regex *regex, const char *text, size_t size, size_t from, const size_t **ends);

#endif
