/*
** Messages as arguments, and parts of them.
*/
#ifndef EBB_BIND_MESSAGE_H
#define EBB_BIND_MESSAGE_H

#include "bind/handle.h"
#include "bind/view.h"

/* The message at index: a Message of the view's owner, or a position of its list, from 1 to the
   count. Raises for positions outside, other values, messages of other conversations and messages that
   were pruned. A message that is no longer in the list is accepted. */
MessageId bind_message_argument(lua_State *L, View *view, int index);
/* The kind that the string at index names, such as "text"; raises for other values. */
PartKind bind_part_kind(lua_State *L, int index);
/* Pushes {id, name, arguments} for a call of the message, counted from 0; call < message_call_count. */
void  bind_push_call(lua_State *L, const Message *message, uint32_t call);

#endif
