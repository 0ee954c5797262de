/*
** Conversations: making, forking, several edits as one.
*/
#ifndef EBB_BIND_CONVERSATION_H
#define EBB_BIND_CONVERSATION_H

#include "bind/handle.h"
#include "tokens/tokenizer.h"

/* A host's memory for the conversations that are made from now on; it outlives
   them. allocate NULL: the state's own again. May raise, but not to go back. */
void  bind_set_conversation_memory(lua_State *L, const Memory *memory);
Memory bind_conversation_memory(lua_State *L);
ConversationHandle *bind_new_conversation(lua_State *L);                /* pushed, empty */
/* Options at index (may be none): fills in a pushed conversation; raises. */
void  bind_configure(lua_State *L, int conversation, int options);     /* options.c */
ConversationHandle *bind_push_fork(lua_State *L);          /* of the conversation at 1 */
int   bind_transaction(lua_State *L);      /* (conversation, run): transaction.c */

#endif
