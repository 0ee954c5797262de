/*
** What an edit of a session forgot, for other sessions of the database that share the messages: their batches are
** their own, with what policies remembered there. lua/ebb/session/siblings.lua goes from one to the next.
*/
#include "bind/storage_handle.h"

#include "bind/argument.h"
#include "bind/conversation.h"
#include "bind/error.h"
#include "core/forget.h"
#include "document/redact.h"

/* forgotten(before, branch) -> {{seq =, raw =} ...}: the messages that a branch overwrites, as they are in `before` */
int bind_forgotten(lua_State *L) {
  const Conversation *before = bind_check_conversation(L, 1)->conversation;
  const Conversation *branch = bind_check_conversation(L, 2)->conversation;
  const Store *store = conversation_store(before);
  const MessageId *ids;
  uint32_t count = conversation_redacted(branch, &ids);
  lua_Integer found = 0;
  lua_newtable(L);
  for (uint32_t i = 0; i < count; i++) {
    if (ids[i] > store_count(store) || !store_has(store, ids[i])) continue;
    lua_createtable(L, 0, 2);
    bind_set_integer(L, "seq", ids[i]);
    Text raw = message_raw(store_message(store, ids[i]));
    lua_pushlstring(L, raw.bytes, raw.size);
    lua_setfield(L, -2, "raw");
    lua_rawseti(L, -2, ++found);
  }
  return 1;
}

/* forget(chat, seq, raw): forgets a message, and texts that quote what it was. Nothing where the chat lacks it, or has
   another one of this number. */
int bind_forget_again(lua_State *L) {
  ConversationHandle *handle = bind_enter(L, 1);
  Conversation *conversation = handle->conversation;
  uint64_t seq = (uint64_t)bind_integer(L, 2, NULL, 1, INT64_MAX);
  Text raw = bind_text(L, 3);
  const Store *store = conversation_store(conversation);
  if (seq > store_count(store) || !store_has(store, (MessageId)seq)) return 0;
  if (message_raw(store_message(store, (MessageId)seq)).size != raw.size) return 0;
  Status status = conversation_forget(conversation, (MessageId)seq, raw, redact_message, NULL);
  return status == STATUS_OK ? 0 : bind_raise_status(L, status, "forget");
}
