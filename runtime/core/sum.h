/*
** Sum: what every node of a sequence knows of the messages below it.
**
** Sums are a monoid: `sum_add` is associative, SUM_ZERO is its neutral element.
** So any prefix is summed along one path, and any measure that grows along the
** sequence can be searched for.
*/
#ifndef EBB_CORE_SUM_H
#define EBB_CORE_SUM_H

#include "core/message.h"

/* What can be searched by. Those per role stand ROLE_COUNT in a row, in the
   order of Role: MEASURE_ROLE_COUNT + ROLE_USER counts user messages. */
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
  uint32_t windows;           /* items that name a window, which weigh nothing here */
  uint32_t turns;
  uint32_t moved;             /* replacements and inserted messages: those whose seq is not their rank (store.h) */
  int64_t earliest, latest;   /* of the messages with a timestamp; earliest > latest: none */
} Sum;

extern const Sum SUM_ZERO;

/* STATUS_LIMIT, and *sum as it was, if a part would pass 2^32 - 1. */
Status   sum_add(Sum *sum, const Sum *other);
Sum      sum_of_message(const Message *message);
uint64_t sum_measure(const Sum *sum, Measure measure);

#endif
