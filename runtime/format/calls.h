/*
** Calls: those of one assistant message while its results are read, and which
** of them each result answers: the first of its id that is open still.
*/
#ifndef EBB_FORMAT_CALLS_H
#define EBB_FORMAT_CALLS_H

#include "base/hash.h"
#include "base/map.h"
#include "base/text.h"

typedef struct OpenCall {
  Text id;                   /* borrowed; for a legacy function call its name; size 0: it has none */
  bool answered, again;      /* again: an earlier one of these has the same id */
  uint32_t next;             /* the next one of this hash of id, or UINT32_MAX */
} OpenCall;

typedef struct Calls {
  Memory memory;
  OpenCall *list;
  uint32_t count, room;
  HashKey key;               /* also for the other tables of whoever has these calls */
  Map places;                /* hash of an id -> first and last of its chain; only where there are many */
} Calls;

typedef enum Answer { ANSWER_FITS, ANSWER_AGAIN, ANSWER_ORPHAN } Answer;

void   calls_init(Calls *calls, Memory memory);
void   calls_free(Calls *calls);
void   calls_reset(Calls *calls);
Status calls_open(Calls *calls, Text id);     /* STATUS_MEMORY */

/* Is there a call for a result of this id? *call gets which, if it fits. */
Answer calls_answer(Calls *calls, Text id, uint32_t *call);

#endif
