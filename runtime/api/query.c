/*
** Queries: what Lua answers by methods of conversations, batches and selections, by one
** call that takes JSON and answers JSON (lua/ebb/libebb/queries.lua has all of them).
*/
#include "api/api.h"
#include "sandbox/guard.h"

/* Adds the bytes of the message on top. */
static Status add_message(lua_State *L, Buffer *out) {
  MessageId id = bind_check_message(L, -1);
  lua_getiuservalue(L, -1, 1);               /* its owner */
  View view = bind_look(L, -1);
  Text raw = message_raw(conversation_message(view.conversation, id));
  guard_charge_bytes(L, raw.size);
  return buffer_add(out, raw.bytes, raw.size);
}

int api_write_message(lua_State *L) {
  ebb_runtime *runtime = lua_touserdata(L, lua_upvalueindex(1));
  lua_settop(L, 1);
  Status status = add_message(L, &runtime->answers[0]);
  return status == STATUS_OK ? 0 : bind_raise_status(L, status, "query");
}

int api_write_list(lua_State *L) {
  ebb_runtime *runtime = lua_touserdata(L, lua_upvalueindex(1));
  Buffer *out = &runtime->answers[0];
  lua_settop(L, 1);
  lua_Integer count = luaL_len(L, 1);
  Status status = buffer_add_byte(out, '[');
  for (lua_Integer i = 1; i <= count && status == STATUS_OK; i++) {
    if (i > 1) status = buffer_add_byte(out, ',');
    lua_geti(L, 1, i);
    if (status == STATUS_OK) status = add_message(L, out);
    lua_settop(L, 1);
  }
  if (status == STATUS_OK) status = buffer_add_byte(out, ']');
  return status == STATUS_OK ? 0 : bind_raise_status(L, status, "query");
}

ebb_status ebb_chat_query(ebb_chat *chat, const char *query, size_t size, ebb_text *json) {
  if (chat == NULL || (query == NULL && size > 0) || json == NULL) return api_missing(chat_runtime(chat));
  ebb_status status = api_enter(chat->runtime);
  if (status != EBB_OK) return status;
  Asking asking = {.function = "querier", .chat = chat, .texts = {api_options(query, size)}, .text_count = 1};
  return api_leave(chat->runtime, api_ask_text(chat->runtime, &asking, json));
}
