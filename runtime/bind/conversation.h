/*
** Conversations in Lua: creating, configuring, forking, transactions.
**
** A transaction is several edits as one: a function edits a branch of the conversation,
** and the conversation becomes that branch when the function returns.
*/
#ifndef EBB_BIND_CONVERSATION_H
#define EBB_BIND_CONVERSATION_H

#include "bind/handle.h"

/* Sets the allocator for conversations that are created from now on; it outlives them. `memory` with
   allocate NULL: the Lua state's allocator again, which cannot raise. The first call of a state may
   raise, for want of memory. */
void  bind_set_conversation_memory(lua_State *L, const Memory *memory);
Memory bind_conversation_memory(lua_State *L);      /* the allocator for new conversations */
/* Pushes a handle without a conversation, which bind_configure creates. */
ConversationHandle *bind_new_conversation(lua_State *L);
/* Creates the conversation of the handle at `conversation_index` with the options at `options_index`, a
   table, nil or none. Raises for invalid options and for want of memory; the handle stays empty then.
   (options.c) */
void  bind_configure(lua_State *L, int conversation_index, int options_index);
/* Reads role_map = { spelling = role } of the options into the limits; the list lies in a block left on the stack.
   Raises. (options.c) */
void  bind_read_aliases(lua_State *L, int options, DocumentLimits *limits);
/* Pushes a fork of the conversation at stack index 1. Raises during callbacks and for want of memory. */
ConversationHandle *bind_push_fork(lua_State *L);
/* The same of `handle`, which stands there, without asking the caller's clock or raising during callbacks: for a fork
   that no script sees. */
ConversationHandle *bind_push_quiet_fork(lua_State *L, ConversationHandle *handle);
/* The beginning and the end of a branch, for those who write its changes before they are merged (transaction.c):
   begin(conversation) -> branch; merge(conversation, branch) merges and ends it. */
int   bind_begin_branch(lua_State *L);
int   bind_merge_branch(lua_State *L);
/* transaction(conversation, run) for Lua: calls run(branch), and answers what it returns. If run raises,
   no trace of its edits is left. (transaction.c) */
int   bind_transaction(lua_State *L);

#endif
