/*
** Windows: opened, changed and closed at once, beside the batches; rendered, and
** acted on, as scripts are run, for contents and actions may be scripts.
**
**     ebb_chat_render   limits[ renderer -> contents: Lua, or the host's -> write_messages ]
**     ebb_chat_act      limits[ actor on a fork -> actions ] -> commit
*/
#include <string.h>

#include "api/api.h"
#include "core/list/request_order.h"
#include "sandbox/guard.h"

#define CONTENT_MAX ((size_t)256 * 1024)     /* of one content: more markup no window may have */

/* ---- lives ---- */

/* A call of lua/ebb/libebb/windows.lua: (chat, texts ..) */
typedef struct Change {
  ebb_chat *chat;
  const char *function;
  Text texts[2];             /* bytes NULL: nil */
  const struct Content *content;
} Change;

typedef struct Content {
  ebb_content function;
  void *user;
} Content;

static void push_texts(lua_State *L, const Change *change) {
  for (int i = 0; i < 2; i++) {
    if (change->texts[i].bytes != NULL) lua_pushlstring(L, change->texts[i].bytes, change->texts[i].size);
    else lua_pushnil(L);
  }
}

static int l_change(lua_State *L) {
  const Change *change = lua_touserdata(L, 1);
  api_push_function(L, change->function);
  holder_push(L, change->chat);
  push_texts(L, change);
  lua_call(L, 3, 0);
  return 0;
}

/* Tasks do not conflict with it, unless they change windows too (core/merge_branch.h). */
static ebb_status change_window(ebb_chat *chat, const char *function, const char *id, Text fields) {
  Change change = {.chat = chat, .function = function, .texts = {text_of(id), fields}};
  ebb_status status = api_enter(chat->runtime);
  if (status != EBB_OK) return status;
  chat_tick(chat);
  return api_leave(chat->runtime, api_run(chat->runtime, l_change, &change));
}

ebb_status ebb_window_open(ebb_chat *chat, const char *id, const char *options, size_t size) {
  if (chat == NULL || id == NULL || (options == NULL && size > 0)) return api_missing(chat_runtime(chat));
  return change_window(chat, "window_open", id, text_plain(options == NULL ? "" : options, size));
}

ebb_status ebb_window_update(ebb_chat *chat, const char *id, const char *fields, size_t size) {
  if (chat == NULL || id == NULL || (fields == NULL && size > 0)) return api_missing(chat_runtime(chat));
  return change_window(chat, "window_update", id, text_plain(fields == NULL ? "" : fields, size));
}

ebb_status ebb_window_close(ebb_chat *chat, const char *id, const char *summary) {
  if (chat == NULL || id == NULL) return api_missing(chat_runtime(chat));
  return change_window(chat, "window_close", id, api_text(summary));
}

/* ---- contents ---- */

/* (id) -> text */
static int call_content(lua_State *L) {
  const Content *content = lua_touserdata(L, lua_upvalueindex(1));
  const char *id = luaL_checkstring(L, 1);
  Buffer *out = bind_buffer(L);
  ebb_sink sink = {.buffer = out, .cap = CONTENT_MAX};
  guard_charge(L, api_cost(0));
  Locale inside = sandbox_begin_callback(L);
  ebb_status status = content->function(content->user, id, &sink);
  sandbox_end_callback(inside);
  guard_charge_bytes(L, out->size);
  if (status == EBB_MEMORY) return bind_raise_status(L, STATUS_MEMORY, "a content");
  if (sink.over)
    return bind_raise(L, status_code(STATUS_LIMIT), NULL, "more than %d bytes", (int)CONTENT_MAX);
  if (buffer_add_byte(out, '\0') != STATUS_OK) return bind_raise_status(L, STATUS_MEMORY, "a content");
  if (status != EBB_OK) {
    return bind_raise(L, ebb_status_name(status), NULL, "%s",
                      out->size > 1 ? out->bytes : ebb_status_name(status));
  }
  lua_pushlstring(L, out->bytes, out->size - 1);
  return 1;
}

static int l_content(lua_State *L) {
  const Change *change = lua_touserdata(L, 1);
  api_push_function(L, "window_content");
  holder_push(L, change->chat);
  lua_pushlstring(L, change->texts[0].bytes, change->texts[0].size);
  Content *content = lua_newuserdatauv(L, sizeof *content, 0);
  *content = *change->content;
  lua_pushcclosure(L, call_content, 1);
  lua_call(L, 3, 0);
  return 0;
}

ebb_status ebb_window_content(ebb_chat *chat, const char *id, ebb_content function, void *user) {
  if (chat == NULL || id == NULL || function == NULL) return api_missing(chat_runtime(chat));
  Content content = {.function = function, .user = user};
  Change change = {.chat = chat, .texts = {text_of(id)}, .content = &content};
  ebb_status status = api_enter(chat->runtime);
  if (status != EBB_OK) return status;
  chat_tick(chat);
  return api_leave(chat->runtime, api_run(chat->runtime, l_content, &change));
}

/* ---- looking ---- */

ebb_status ebb_chat_windows(ebb_chat *chat, ebb_text *json) { return chat_list(chat, "windows", json); }

/* ---- rendering ---- */

/* What an item becomes, by the table of texts at 2; false where that has none. */
static bool put_item(lua_State *L, const Message *message, Buffer *out, Status *status) {
  bind_push_text(L, message_content(message));
  bool has_text = lua_rawget(L, 2) == LUA_TSTRING;
  if (has_text) {
    *status = buffer_add_string(out, "{\"role\":\"user\",\"content\":\"");
    if (*status == STATUS_OK) *status = text_escape(bind_text(L, -1), out);
    if (*status == STATUS_OK) *status = buffer_add_string(out, "\"}");
  }
  lua_pop(L, 1);
  return has_text;
}

static Status put_message(const Message *message, Buffer *out) {
  Text raw = message_raw(message);
  return buffer_add(out, raw.bytes, raw.size);
}

/* write_messages(list, texts, include_system, include_obsolete, items) -> true; as
   core.window.messages, but into the answer: no list is too long for the Lua state. */
int api_write_messages(lua_State *L) {
  ebb_runtime *runtime = lua_touserdata(L, lua_upvalueindex(1));
  lua_settop(L, 5);
  luaL_checktype(L, 2, LUA_TTABLE);
  View view = bind_view(L, 1);
  const RequestOrder *order = bind_push_request_order(L, &view, lua_toboolean(L, 4), 5);
  Buffer *out = api_answer_buffer(runtime, 0);
  Status status = buffer_add_byte(out, '[');
  for (uint32_t i = 0; i < order->count && status == STATUS_OK; i++) {
    const Message *message = conversation_message(view.conversation, order->ids[i]);
    size_t before = out->size;
    bool hidden = !lua_toboolean(L, 3) && message_role(message) == ROLE_SYSTEM;
    if (hidden) continue;
    if (before > 1) status = buffer_add_byte(out, ',');
    if (status != STATUS_OK) break;
    if (!message_is_window(message)) status = put_message(message, out);
    else if (!put_item(L, message, out, &status)) out->size = before;
    guard_charge_bytes(L, out->size - before);
  }
  if (status == STATUS_OK) status = buffer_add_byte(out, ']');
  if (status != STATUS_OK) return bind_raise_status(L, status, "render");
  lua_pushboolean(L, 1);
  return 1;
}

/* write(text): more of the answer */
int api_write_text(lua_State *L) {
  ebb_runtime *runtime = lua_touserdata(L, lua_upvalueindex(1));
  Text text = bind_text(L, 1);
  guard_charge_bytes(L, text.size);
  Status status = buffer_add(&runtime->answers[0], text.bytes, text.size);
  return status == STATUS_OK ? 0 : bind_raise_status(L, status, "the answer");
}

static ebb_status render(ebb_chat *chat, Text options, ebb_text *json) {
  Asking asking = {.function = "renderer", .chat = chat, .texts = {options}, .text_count = 1};
  chat_tick(chat);
  return api_ask_text(chat->runtime, &asking, json);
}

ebb_status ebb_chat_render(ebb_chat *chat, const char *options, size_t size, ebb_text *json) {
  if (chat == NULL || json == NULL || (options == NULL && size > 0)) return api_missing(chat_runtime(chat));
  ebb_status status = api_enter(chat->runtime);
  if (status != EBB_OK) return status;
  return api_leave(chat->runtime, render(chat, text_plain(options == NULL ? "" : options, size), json));
}

/* ---- acting ---- */

static ebb_status act(ebb_chat *chat, Text text, ebb_text *results) {
  Branch branch = branch_of(chat);
  Asking asking = {.function = "actor", .branch = &branch, .texts = {text}, .text_count = 1};
  ebb_text answer;
  chat_tick(chat);
  ebb_status status = api_ask_text(chat->runtime, &asking, &answer);
  if (status == EBB_OK) status = branch_commit(&branch);
  if (status == EBB_OK) *results = answer;
  branch_end(&branch);
  return status;
}

ebb_status ebb_chat_act(ebb_chat *chat, const char *text, size_t size, ebb_text *results) {
  if (chat == NULL || (text == NULL && size > 0) || results == NULL) return api_missing(chat_runtime(chat));
  ebb_status status = api_enter(chat->runtime);
  return status == EBB_OK ? api_leave(chat->runtime, act(chat, api_options(text, size), results)) : status;
}
