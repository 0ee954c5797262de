/*
** Selections: messages that a query chose.
*/
#ifndef EBB_BIND_SELECTION_H
#define EBB_BIND_SELECTION_H

#include "bind/type.h"
#include "core/sequence.h"

extern const BindType BIND_SELECTION;

typedef struct Selected {
  MessageId id;
  uint32_t position;         /* when it was selected, from 0 */
} Selected;

/* Names its messages one by one, or holds a list and says which are left out. */
typedef struct Selection {
  uint32_t count;
  Selected *items;           /* NULL: of the list all but the gaps */
  Sequence *list;
  uint32_t *gaps;            /* positions, which rise */
  uint32_t gap_count;
  SequenceWalk run;          /* of the list, where it was looked at last */
} Selection;

/* Pushes an empty selection with room for items; the caller fills it. */
Selection *bind_new_selection(lua_State *L, int owner, uint32_t room);
/* Pushes a selection of a whole list; the caller puts up to `room` gaps. */
Selection *bind_new_rest(lua_State *L, int owner, const Sequence *list, uint32_t room);
/* i < count; O(1), of a rest O(log n) or, one after another, O(log gaps). */
Selected bind_selected(Selection *selection, uint32_t i);

#endif
