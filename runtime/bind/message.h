/*
** Messages as arguments, and parts of them.
*/
#ifndef EBB_BIND_MESSAGE_H
#define EBB_BIND_MESSAGE_H

#include "bind/reference.h"
#include "bind/view.h"

/* The message at index as a handle or a position of the owner's list; raises. */
MessageId bind_message_argument(lua_State *L, View *view, int index);
PartKind bind_part_kind(lua_State *L, int index);           /* by name; raises */
void  bind_push_call(lua_State *L, const Message *message, uint32_t call);

#endif
