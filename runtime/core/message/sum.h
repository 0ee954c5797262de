/*
** Sum: the figures that every edge of a sequence holds about the messages below it.
**
** Sums are a monoid: `sum_add` is associative, SUM_ZERO is its neutral element. So the
** sum of any prefix is computed along one path, and a search by any measure that grows
** along the sequence follows one path.
*/
#ifndef EBB_CORE_SUM_H
#define EBB_CORE_SUM_H

#include <assert.h>

#include "core/message/message.h"

/* Measures for searches. Measures per role come ROLE_COUNT in a row, in the order of Role:
   MEASURE_ROLE_COUNT + ROLE_USER counts user messages. */
typedef enum Measure {
  MEASURE_COUNT,                                        /* messages */
  MEASURE_TOKENS,
  MEASURE_TURNS,                                        /* messages that start a turn */
  MEASURE_WINDOWS,                                      /* items that name a window */
  MEASURE_ROLE_COUNT,                                   /* + role */
  MEASURE_ROLE_TOKENS = MEASURE_ROLE_COUNT + ROLE_COUNT /* + role */
} Measure;

typedef struct Sum {
  uint32_t count[ROLE_COUNT];
  uint32_t tokens[ROLE_COUNT];
  uint32_t windows;           /* window items, which have no tokens here */
  uint32_t turns;
  uint32_t moved;             /* replacements and inserted messages: those whose rank is not their seq (store.h) */
  int64_t earliest, latest;   /* timestamps; earliest > latest if no message has one */
} Sum;

extern const Sum SUM_ZERO;

/* Adds `part` to `sum`. No figure may exceed 2^32 - 1: sequence_insert refuses such messages. */
static inline void sum_add(Sum *sum, const Sum *part) {
  for (int role = 0; role < ROLE_COUNT; role++) {
    assert(sum->count[role] <= UINT32_MAX - part->count[role]);
    assert(sum->tokens[role] <= UINT32_MAX - part->tokens[role]);
  }
  for (int role = 0; role < ROLE_COUNT; role++) sum->count[role] += part->count[role];
  for (int role = 0; role < ROLE_COUNT; role++) sum->tokens[role] += part->tokens[role];
  sum->windows += part->windows;
  sum->turns += part->turns;
  sum->moved += part->moved;
  if (part->earliest < sum->earliest) sum->earliest = part->earliest;
  if (part->latest > sum->latest) sum->latest = part->latest;
}

/* The figure of one measure. */
uint64_t sum_measure(const Sum *sum, Measure measure);

#endif
