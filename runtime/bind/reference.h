/*
** Userdata that name a message or unit: a seq, and as first user value the owner, a
** conversation, batch or draft, in whose list it stands.
*/
#ifndef EBB_BIND_REFERENCE_H
#define EBB_BIND_REFERENCE_H

#include "bind/type.h"
#include "core/message.h"

extern const BindType BIND_MESSAGE, BIND_UNIT;

typedef struct MessageHandle {
  MessageId id;
  uint32_t hint;             /* where it stood when the handle was made */
} MessageHandle;

typedef struct UnitHandle {
  MessageId first;
} UnitHandle;

void  bind_push_message(lua_State *L, int owner, MessageId id, uint32_t hint);
void  bind_set_message(lua_State *L, int index, MessageId id);   /* gives a pushed message its id */
MessageId bind_check_message(lua_State *L, int index);
void  bind_push_unit(lua_State *L, int owner, MessageId first);

#endif
