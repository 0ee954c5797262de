/*
** Counters of tokens that options ask for.
*/
#ifndef EBB_BIND_COUNTER_H
#define EBB_BIND_COUNTER_H

#include "bind/handle.h"

/* The counter that a table of options names (counter.c); raises. Its tokenizer lives as long as the conversation at
   stack index `conversation` and its forks. */
Counter bind_counter(lua_State *L, int conversation, int options);
/* The tokens of a loaded body besides its messages (document_overhead); raises. */
Cost  bind_overhead(lua_State *L, const ConversationHandle *handle, const Counter *counter);
/* The Counter.custom of a conversation with a Lua counter; `user` is its Callbacks. STATUS_HOST if that raised. */
Status bind_count_by_caller(void *user, MessageId id, uint32_t *tokens);
/* Tokens of a plain text. STATUS_LIMIT: the vocabulary's expression takes too long; STATUS_MEMORY. */
Status bind_count_text(const Counter *counter, Text text, uint64_t *tokens);

#endif
