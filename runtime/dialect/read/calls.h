/*
** Calls: matches the calls of an assistant message with their results. A result answers
** the first call of its id that is still open.
*/
#ifndef EBB_DIALECT_CALLS_H
#define EBB_DIALECT_CALLS_H

#include "base/hash.h"
#include "base/map.h"
#include "base/text.h"

typedef struct OpenCall {
  Text id;                   /* borrowed; the name of a legacy function call; size 0: none */
  bool answered;
  bool is_duplicate;         /* an earlier call has the same id */
  uint32_t next;             /* the next call whose id has the same hash, or UINT32_MAX */
} OpenCall;

typedef struct Calls {
  Memory memory;
  OpenCall *list;
  uint32_t count, room;
  HashKey key;               /* also for other tables of the owner */
  Map places;                /* hash of an id -> first and last call of its chain; used above FEW calls */
} Calls;

typedef enum Answer { ANSWER_FITS, ANSWER_DUPLICATE, ANSWER_ORPHAN } Answer;

void   calls_init(Calls *calls, Memory memory);
void   calls_free(Calls *calls);
void   calls_reset(Calls *calls);
Status calls_open(Calls *calls, Text id);     /* adds an open call; STATUS_MEMORY */

/* Answers a call by a result of this id; *call: its index, for ANSWER_FITS. */
Answer calls_answer(Calls *calls, Text id, uint32_t *call);

#endif
