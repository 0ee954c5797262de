/*
** Selections: messages that a query chose.
*/
#ifndef EBB_BIND_SELECTION_H
#define EBB_BIND_SELECTION_H

#include "bind/type.h"
#include "core/list/sequence.h"

extern const BindType BIND_SELECTION;

typedef struct Selected {
  MessageId id;
  uint32_t position;         /* when it was selected, from 0 */
} Selected;

/* Either an array of messages, or a list without some of its messages, the gaps. */
typedef struct Selection {
  uint32_t count;            /* of the selected messages */
  Selected *items;           /* the array; NULL: a list with gaps */
  Sequence *list;            /* a share of its own */
  uint32_t *gaps;            /* positions of the list that are not selected, ascending */
  uint32_t gap_count;
  SequenceWalk run;          /* the part of the list that was read last */
} Selection;

/* Pushes an empty selection with room for `room` items, which the caller adds. */
Selection *bind_new_selection(lua_State *L, int owner, uint32_t room);
/* Pushes a selection of a whole list, of which it takes a share; the caller adds up to `room` gaps. */
Selection *bind_new_rest(lua_State *L, int owner, const Sequence *list, uint32_t room);
/* Message number i, from 0; i < count. O(1) for an array; for a list with gaps O(log n), or O(log gaps) for the next
   one. */
Selected bind_selected(Selection *selection, uint32_t i);

#endif
