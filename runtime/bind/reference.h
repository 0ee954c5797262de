/*
** Userdata that name a message or unit: a seq, and as first user value the owner, a
** conversation, batch or draft, in whose list it stands.
*/
#ifndef EBB_BIND_REFERENCE_H
#define EBB_BIND_REFERENCE_H

#include "bind/type.h"
#include "core/message/message.h"

extern const BindType BIND_MESSAGE, BIND_UNIT;

typedef struct MessageHandle {
  MessageId id;
  uint32_t hint;             /* its position when the handle was pushed */
} MessageHandle;

typedef struct UnitHandle {
  MessageId first;
} UnitHandle;

/* Pushes a message of the owner at stack index `owner`; `hint`: its position, if known. */
void  bind_push_message(lua_State *L, int owner, MessageId id, uint32_t hint);
void  bind_set_message(lua_State *L, int index, MessageId id);   /* sets the id of a pushed message */
MessageId bind_check_message(lua_State *L, int index);           /* the id of the message at index; raises */
/* Pushes the unit of the owner at `owner` whose first message is `first`. */
void  bind_push_unit(lua_State *L, int owner, MessageId first);

#endif
