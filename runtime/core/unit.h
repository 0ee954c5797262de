/*
** Units: groups of messages that belong together.
**
** An assistant message with calls and the visible results that answer them are one
** unit; any other message is a unit by itself. A message that answers calls of two
** others forms one unit with both. Units depend only on a sequence and the store's
** links:
**
**     position   0       1      2            3         4         5
**     message    system  user   calls a, b   result a  result b  user
**     unit       0       1      2            2         2         3
**
** Units are numbered in the order of their first message.
*/
#ifndef EBB_CORE_UNIT_H
#define EBB_CORE_UNIT_H

#include "core/sequence.h"

#define UNIT_NONE UINT32_MAX

typedef struct Unit {
  uint32_t first;      /* position of its first message; `next` gives the others */
  bool open;           /* one of its calls has no visible result */
  bool pending;        /* open, and no turn starts after its first message */
} Unit;

typedef struct Units {
  Memory memory;
  uint32_t messages;   /* number of messages of the sequence */
  uint32_t count, room;
  Unit *units;
  uint32_t *of;        /* per position: the number of its unit */
  uint32_t *next;      /* per position: the next position of the same unit, or UNIT_NONE */
} Units;

/* Computes the units of a sequence; the caller frees them. O(messages). STATUS_MEMORY. */
Status units_new(const Memory *memory, const Store *store, const Sequence *sequence, Units **units);
void   units_free(Units *units);    /* NULL is allowed */

/* Asserts every invariant, for tests: O(messages). */
void   units_check(const Units *units);

#endif
