/*
** Handles of databases, what they refuse, and what is told of sessions.
*/
#include "bind/storage_handle.h"

#include "bind/argument.h"
#include "bind/conversation.h"
#include "bind/error.h"
#include "core/forget.h"
#include "document/redact.h"

void bind_end_storage(void *block) {
  StorageHandle *handle = block;
  Storage *storage = handle->storage;
  handle->storage = NULL;
  storage_close(storage);
}

const BindType BIND_STORAGE = {.name = "Storage", .end = bind_end_storage};

/* ---- errors ---- */

static const char *code_of(Status status) {
  switch (status) {
    case STATUS_SHAPE: return "damaged";
    case STATUS_RANGE: return "unknown_version";
    case STATUS_FORBIDDEN: return "read_only";
    default: return status_code(status);
  }
}

int bind_storage_refuse(lua_State *L, Status status, const StorageError *error) {
  const char *text = error->text[0] != '\0' ? error->text : "sessions: not enough memory";
  lua_pushnil(L);
  bind_push_error(L, code_of(status), text, NULL);
  if (status == STATUS_CONFLICT) bind_set_integer(L, "actual", (lua_Integer)error->actual);
  return 2;
}

Storage *bind_check_storage(lua_State *L, int index) {
  StorageHandle *handle = bind_check(L, index, &BIND_STORAGE);
  if (handle->storage == NULL) bind_raise(L, "closed", NULL, "the database is closed");
  return handle->storage;
}

uint64_t bind_session_argument(lua_State *L, int index) {
  return (uint64_t)bind_integer(L, index, NULL, 1, INT64_MAX);
}

void bind_set_session_numbers(lua_State *L, const SessionInfo *info) {
  bind_set_integer(L, "id", (lua_Integer)info->id);
  bind_set_integer(L, "version", (lua_Integer)info->version);
#define SET_FIGURE(member, number) bind_set_integer(L, #member, (lua_Integer)info->member);
  SESSION_FIGURES(SET_FIGURE)
  bind_set_integer(L, "created", info->created);
  bind_set_integer(L, "changed", info->changed);
  if (info->origin == 0) return;
  bind_set_integer(L, "origin", (lua_Integer)info->origin);
  bind_set_integer(L, "shared", (lua_Integer)info->shared);
}

void bind_push_session_info(lua_State *L, const SessionInfo *info) {
  lua_createtable(L, 0, 11);
  bind_set_text(L, "name", info->name);
  bind_set_session_numbers(L, info);
}

/* ---- what an edit forgot ----
**
** For other sessions of the database that share the messages: their batches are
** their own, with what policies remembered there. lua/ebb/session/siblings.lua goes from one to the next. */

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
