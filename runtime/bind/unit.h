/*
** Units and turns.
*/
#ifndef EBB_BIND_UNIT_H
#define EBB_BIND_UNIT_H

#include "bind/handle.h"
#include "bind/view.h"

extern const BindType BIND_TURN;

/* The messages of the unit at index that are not dropped; returns their number. *ids points into a block left on the
   stack. Raises if the unit is no longer in the list. */
uint32_t bind_unit_messages(lua_State *L, int index, MessageId **ids);

typedef struct Turn {
  uint32_t count, age;       /* number of its messages; number of turns after it */
  MessageId ids[];
} Turn;

/* Pushes a turn without messages yet: the caller adds up to `room` of them. */
Turn *bind_push_turn(lua_State *L, int owner, uint32_t room, uint32_t age);

#endif
