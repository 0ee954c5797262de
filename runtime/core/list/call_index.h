/*
** Call index: finds the calls that results of new messages answer, in a list under edit.
**
** A result answers the nearest call of its id before it that no visible result answers
** yet, of calls in one message the first. The index holds the calls of a window of the
** list, one heap of open calls per id:
**
**     list     0 1 2 3 4 5 6 7 8 9        results up to here may answer
**                    |     |   |          calls of the window
**                  from  end   ahead
**
** The window ends at the position of the last search and starts as near as the answers
** allow: a search that finds no open call in it doubles it towards the front. So a search
** costs the distance to its call, and all searches of one edit together O(n log n),
** whatever the ids.
**
** Positions of searches must not fall, and the list may change only at the position of
** the last search and behind it, after call_index_enter or call_index_leave.
*/
#ifndef EBB_CORE_CALL_INDEX_H
#define EBB_CORE_CALL_INDEX_H

#include "core/list/sequence.h"

typedef struct CallIndex {
  Memory memory;
  bool started;              /* by the first search */
  uint32_t from, end;        /* the window of calls */
  uint32_t rest;             /* last messages of the list whose results are not in `results` */
  int64_t next_order;
  struct IndexedCall *calls;
  uint32_t call_count, call_room;
  struct IndexedResult *results;
  uint32_t result_count, result_room;
  Map first_call;            /* origin of a message of the window -> its first call */
  Map results_of;            /* message -> the newest of its results */
  Map answers;               /* origin of a caller -> the newest of its results */
  Map open;                  /* hash of an id -> root of the heap of its open calls */
} CallIndex;

void   call_index_init(CallIndex *index, Memory memory);
void   call_index_free(CallIndex *index);

/* Finds the call with this key for result `result` of message `id`, which will stand at
   `position`; link->message 0: none. `replaces`: it replaces the message there. The earlier
   results of the message must have their links. STATUS_MEMORY, as all below. */
Status call_index_find(CallIndex *index, const Sequence *list, uint32_t position, bool replaces, MessageId id,
                       uint32_t result, Text key, CallLink *link);

/* The edits of the list; without effect before the first search. */

/* A message will be inserted at `position`. */
Status call_index_enter(CallIndex *index, const Sequence *list, uint32_t position);
/* The message at `position` will be removed or replaced. */
Status call_index_leave(CallIndex *index, const Sequence *list, uint32_t position);
/* Result `result` of the new message `id` has its link. */
Status call_index_add(CallIndex *index, const Sequence *list, MessageId id, uint32_t result);

#endif
