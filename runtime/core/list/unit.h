/*
** Units: groups of messages that belong together.
**
** An assistant message with calls and the results that answer them are one unit; any
** other message is a unit by itself. A message that answers calls of two others forms
** one unit with both. A reply that came in fragments (message_is_fragment: reasoning, two
** calls) is one unit with the results of its calls: assistant messages that stand side by
** side belong together if one of them is a fragment. Only messages of the sequence count, and which call a result
** answers is what the store recorded when the result was added (its links, core/message/store.h):
**
**     position   0       1      2            3         4         5
**     message    system  user   calls a, b   result a  result b  user
**     unit       0       1      2            2         2         3
**
** Units are numbered in the order of their first message. They are computed once and
** never change; an edit of the sequence needs new ones. Only a draft adds to its own
** (core/draft/draft_data.h), whose positions are not those of a list then.
**
** A unit is open while one of its calls has no result in the sequence. It is pending
** while the result may still come: no turn (a user message that is more than results)
** starts after its first message. Pending units are guarded in a draft, because a
** result that arrives later would answer a dropped call.
*/
#ifndef EBB_CORE_UNIT_H
#define EBB_CORE_UNIT_H

#include "core/list/sequence.h"

#define UNIT_NONE UINT32_MAX    /* no position; of functions that return a position or a slot */

typedef struct Unit {
  uint32_t first;          /* position of its first message; `next` gives the others */
  bool open, pending;
} Unit;

/* Read-only for callers. */
typedef struct Units {
  Memory memory;
  uint32_t message_count;  /* messages of the sequence: length of `unit_of` and `next` */
  uint32_t count, room;    /* units, and how many fit into `units` */
  uint32_t pending;        /* units that are pending */
  Unit *units;
  uint32_t *unit_of;       /* per position: the number of its unit */
  uint32_t *next;          /* per position: the next position of the same unit, or UNIT_NONE */
  uint32_t unit_of_room, next_room;
} Units;

/* Computes the units of a sequence; the caller frees them with units_free. `store` is the
   sequence's. O(messages). STATUS_MEMORY. */
Status units_new(const Memory *memory, const Store *store, const Sequence *sequence, Units **units);
void   units_free(Units *units);    /* NULL is allowed */
/* Makes room for units_add, which adds a message that is a unit by itself under the next position. STATUS_MEMORY. */
Status units_reserve(Units *units);
void   units_add(Units *units);

/* Asserts every invariant, for tests: O(messages). */
void   units_check(const Units *units);

#endif
