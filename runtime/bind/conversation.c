/*
** Conversations: making, looking at batches, marks, limits. Options are in
** options.c, counters in counter.c, edits in edit.c, queries in list.c, files in
** load.c.
**
** User values: 1 the caller's functions {counter, clock, on_limit}, 2 the Callbacks,
** both shared by forks; 3 the library's state of this conversation (core.state), or nil.
*/
#include <string.h>

#include "bind/argument.h"
#include "bind/conversation.h"
#include "bind/error.h"
#include "bind/handle.h"
#include "bind/list.h"
#include "bind/message.h"
#include "bind/open.h"
#include "bind/type.h"
#include "bind/view.h"
#include "bind/window.h"
#include "core/forget.h"
#include "document/redact.h"

/* ---- handles ---- */

ConversationHandle *bind_new_conversation(lua_State *L) {
  ConversationHandle *handle = bind_new(L, &BIND_CONVERSATION, sizeof *handle, 3);
  handle->warnings.memory = bind_memory(L);
  handle->document = document_new(DOCUMENT_ARRAY);
  lua_newtable(L);
  lua_setiuservalue(L, -2, BIND_FUNCTIONS);
  handle->callbacks = lua_newuserdatauv(L, sizeof *handle->callbacks, 0);
  *handle->callbacks = (Callbacks){.L = L};
  lua_setiuservalue(L, -2, BIND_CALLBACKS);
  handle->callbacks->self = lua_gettop(L);
  return handle;
}

/* conversation(options, described) -> Conversation. `described`: messages that are appended next describe the tools, so
   that no message with them is added */
static int l_new(lua_State *L) {
  bool described = lua_toboolean(L, 2);
  lua_settop(L, 1);
  ConversationHandle *handle = bind_new_conversation(L);
  bind_configure(L, 2, 1);
  handle->callbacks->self = 2;
  Status status = described ? STATUS_OK : conversation_describe_tools(handle->conversation);
  if (status != STATUS_OK) return bind_raise_edit(L, 2, status, "tools");
  return 1;
}

/* ---- batches ---- */

static void push_batch_info(lua_State *L, BatchInfo info) {
  lua_createtable(L, 0, 8);
  bind_set_integer(L, "index", info.index);
  if (info.parent != BATCH_NONE) {
    bind_set_integer(L, "parent", info.parent);
    bind_set_integer(L, "parent_length", info.parent_length);
  }
  bind_set_text(L, "operation", text_of(batch_kind_name(info.kind)));
  bind_set_text(L, "description", info.description);
  bind_set_integer(L, "timestamp", info.timestamp);
  bind_set_integer(L, "message_count", info.count);
  if (info.name.size == 0) return;
  bind_set_text(L, "name", info.name);
  bind_set_integer(L, "name_length", info.name_length);
}

/* conversation:batches() -> list of {index, parent, parent_length, ...}, without the pruned */
static int l_batches(lua_State *L) {
  ConversationHandle *handle = bind_check_conversation(L, 1);
  const History *history = conversation_history(handle->conversation);
  uint32_t count = history_count(history);
  lua_createtable(L, (int)(count > INT32_MAX ? INT32_MAX : count), 0);
  lua_Integer listed = 0;
  for (uint32_t i = 0; i < count; i++) {
    BatchInfo info = history_batch(history, i);
    if (info.pruned) continue;
    push_batch_info(L, info);
    lua_rawseti(L, -2, ++listed);
  }
  return 1;
}

/* conversation:stats() -> {total_messages, current_batch_messages, total_batches, current_batch_index} */
static int l_stats(lua_State *L) {
  ConversationHandle *handle = bind_check_conversation(L, 1);
  const History *history = conversation_history(handle->conversation);
  lua_createtable(L, 0, 4);
  bind_set_integer(L, "total_messages", store_count(conversation_store(handle->conversation)));
  bind_set_integer(L, "current_batch_messages", sequence_count(conversation_list(handle->conversation)));
  bind_set_integer(L, "total_batches", history_count(history));
  bind_set_integer(L, "current_batch_index", history_current(history));
  return 1;
}

/* conversation:prune({keep = n}) -> batches that went */
static int l_prune(lua_State *L) {
  static const char *const names[] = {"keep", NULL};
  ConversationHandle *handle = bind_enter(L, 1);
  uint32_t keep = 1;
  lua_settop(L, 2);
  if (!lua_isnil(L, 2)) {
    bind_check_names(L, 2, NULL, names);
    bind_count_field(L, 2, "keep", &keep);
  }
  uint32_t pruned, removed;
  Status status = conversation_compact(handle->conversation, keep, &pruned, &removed);
  if (status != STATUS_OK) return bind_raise_status(L, status, "prune");
  lua_pushinteger(L, pruned);
  return 1;
}

/* conversation:forget(message) -> the current batch */
static int l_forget(lua_State *L) {
  ConversationHandle *handle = bind_enter(L, 1);
  View view = bind_view(L, 1);
  MessageId id = bind_message_argument(L, &view, 2);
  Status status = conversation_forget(view.conversation, id, text_plain("", 0), redact_message, NULL);
  if (status != STATUS_OK) return bind_raise_status(L, status, "forget");
  return bind_push_batch(L, handle);
}

/* conversation:fork() -> Conversation */
static int l_fork(lua_State *L) {
  bind_push_fork(L);
  return 1;
}

/* ---- marks ---- */

/* A message that a draft has added and not committed: its seq may yet be another's. */
static bool is_provisional(lua_State *L, const Conversation *conversation, MessageId id) {
  if (bind_test(L, 2, &BIND_MESSAGE) == NULL) return false;
  lua_getiuservalue(L, 2, 1);
  bool of_draft = bind_test(L, -1, &BIND_DRAFT) != NULL;
  lua_pop(L, 1);
  const Sequence *list = conversation_list(conversation);
  return of_draft && store_origin(conversation_store(conversation), id) == id &&
         sequence_index_of(list, id, UINT32_MAX) == sequence_count(list);
}

static MessageId mark_arguments(lua_State *L, ConversationHandle **handle) {
  *handle = bind_enter(L, 1);
  View view = bind_view(L, 1);
  bind_expect(L, 3, NULL, LUA_TSTRING);
  MessageId id = bind_message_argument(L, &view, 2);
  if (is_provisional(L, view.conversation, id)) {
    bind_raise_argument(L, "out_of_range", "mark it once the draft is committed",
                        "the message is not in the conversation yet");
  }
  return store_origin(conversation_store(view.conversation), id);
}

/* conversation:mark(message, name) -> the current batch */
static int l_mark(lua_State *L) {
  ConversationHandle *handle;
  MessageId origin = mark_arguments(L, &handle);
  Status status = conversation_mark(handle->conversation, bind_name(L, 3, "mark"), origin);
  return status == STATUS_OK ? bind_push_batch(L, handle) : bind_raise_status(L, status, "mark");
}

/* conversation:unmark(message, name) -> the current batch */
static int l_unmark(lua_State *L) {
  ConversationHandle *handle;
  MessageId origin = mark_arguments(L, &handle);
  Status status = conversation_unmark(handle->conversation, bind_text(L, 3), origin);
  return status == STATUS_OK ? bind_push_batch(L, handle) : bind_raise_status(L, status, "unmark");
}

/* ---- limit ---- */

/* conversation:over_limit() -> boolean */
static int l_over_limit(lua_State *L) {
  lua_pushboolean(L, bind_is_over_limit(bind_check_conversation(L, 1)));
  return 1;
}

/* ---- the type ---- */

/* owner(list) -> the conversation of a batch or draft; a conversation is its own */
static int l_owner(lua_State *L) {
  lua_settop(L, 1);
  (void)bind_look(L, 1);                            /* raises for other values */
  if (bind_test(L, 1, &BIND_CONVERSATION) == NULL) lua_getiuservalue(L, 1, 1);
  return 1;
}

/* state(conversation) -> the table of what the library keeps beside this conversation; forks have their own */
static int l_state(lua_State *L) {
  bind_check(L, 1, &BIND_CONVERSATION);
  bind_push_state(L, 1);
  return 1;
}

/* has_tools(conversation) -> true if a message describes its tools */
static int l_has_tools(lua_State *L) {
  lua_pushboolean(L, conversation_has_tools(bind_check_conversation(L, 1)->conversation));
  return 1;
}

/* body_model(conversation) -> the model that a loaded body names | nil */
static int l_body_model(lua_State *L) {
  ConversationHandle *handle = bind_check_conversation(L, 1);
  if (handle->document.model.size > 0) bind_push_text(L, handle->document.model);
  else lua_pushnil(L);
  return 1;
}

static const char *const FIELDS[] = {"limit", "shape", "windows", "saved", NULL};

/* What is set when a conversation is made, and its windows. */
static int push_field(lua_State *L, int field) {
  ConversationHandle *handle = bind_check_conversation(L, 1);
  if (field == 2) return bind_push_windows(L);
  if (field == 3) {
    lua_pushboolean(L, handle->saved);
    return 1;
  }
  if (field == 0 && handle->has_limit) lua_pushinteger(L, (lua_Integer)handle->limit);
  else if (field == 1 && handle->document.loaded) lua_pushstring(L, document_shape_name(handle->document.shape));
  else lua_pushnil(L);
  return 1;
}

static int l_index(lua_State *L) {
  if (lua_type(L, 2) == LUA_TNUMBER) return bind_view_get(L);
  int field = bind_find_field(L, FIELDS);
  return field >= 0 ? push_field(L, field) : bind_index_method(L, &BIND_CONVERSATION);
}

void bind_open_conversation(lua_State *L) {
  static const BindMethod functions[] = {
    {"conversation", l_new, "options described", CHARGE_STEP},
    {"transaction", bind_transaction, "conversation run", CHARGE_LIST},
    {"owner", l_owner, "list", CHARGE_STEP},
    {"state", l_state, "conversation", CHARGE_STEP},
    {"body_model", l_body_model, "conversation", CHARGE_STEP},
    {"has_tools", l_has_tools, "conversation", CHARGE_LIST},
    BIND_END,
  };
  static const BindMethod methods[] = {
    {"batches", l_batches, "", CHARGE_LIST},
    {"stats", l_stats, "", CHARGE_STEP},
    {"fork", l_fork, "", CHARGE_PATH},
    {"prune", l_prune, "options", CHARGE_LIST},
    {"forget", l_forget, "message", CHARGE_LIST},
    {"mark", l_mark, "message name", CHARGE_PATH},
    {"unmark", l_unmark, "message name", CHARGE_PATH},
    {"over_limit", l_over_limit, "", CHARGE_STEP},
    BIND_END,
  };
  bind_type(L, &BIND_CONVERSATION, l_index, bind_view_length);
  bind_open_fields(L, &BIND_CONVERSATION, FIELDS);
  bind_methods(L, &BIND_CONVERSATION, methods);
  bind_open_list(L, &BIND_CONVERSATION);
  bind_functions(L, "ebb", functions);
}
