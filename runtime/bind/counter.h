/*
** Counters of tokens that options ask for.
*/
#ifndef EBB_BIND_COUNTER_H
#define EBB_BIND_COUNTER_H

#include "bind/handle.h"

/* The counter that a table of options asks for (counter.c). What it borrows is
   kept alive by the conversation at `conversation` and its forks. */
Counter bind_counter(lua_State *L, int conversation, int options);
/* What the request of a loaded body carries besides its messages; raises. */
Cost  bind_overhead(lua_State *L, const ConversationHandle *handle, const Counter *counter);
Status bind_count_by_caller(void *user, MessageId id, uint32_t *tokens);      /* user: the Callbacks */
/* Tokens of a plain text. STATUS_LIMIT: the vocabulary's expression takes too long; STATUS_MEMORY. */
Status bind_count_text(const Counter *counter, Text text, uint64_t *tokens);

#endif
