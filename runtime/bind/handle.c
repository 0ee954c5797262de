/*
** What functions of conversations, batches and drafts share: the conversation's
** handle, callbacks below the core, the limit.
*/
#include "bind/argument.h"
#include "bind/error.h"
#include "bind/handle.h"
#include "bind/type.h"
#include "sandbox/guard.h"

/* ---- types ---- */

static uint64_t messages_of(lua_State *L, int index) {
  const ConversationHandle *handle = lua_touserdata(L, index);
  return handle->conversation != NULL ? sequence_count(conversation_list(handle->conversation)) : 0;
}

/* Of the conversation of a batch or draft: its first user value. */
static uint64_t messages_of_owner(lua_State *L, int index) {
  lua_getiuservalue(L, index, 1);
  uint64_t count = messages_of(L, -1);
  lua_pop(L, 1);
  return count;
}

/* ---- ends ---- */

static void end_conversation(void *block) {
  ConversationHandle *handle = block;
  if (handle->borrowing != NULL) return;
  conversation_free(handle->conversation);
  envelope_release(handle->envelope);
  if (handle->warnings.list != NULL) {
    memory_free(&handle->warnings.memory, handle->warnings.list, handle->warnings.room * sizeof *handle->warnings.list);
  }
  *handle = (ConversationHandle){0};
}

static void end_batch(void *block) {
  BatchHandle *handle = block;
  units_free(handle->units);
  sequence_release(handle->list);
  *handle = (BatchHandle){0};
}

void bind_end_draft(void *block) {
  DraftHandle *handle = block;
  if (!handle->borrowed) draft_free(handle->draft);
  handle->draft = NULL;
}

const BindType BIND_CONVERSATION = {"Conversation", messages_of, end_conversation,
  "chat:replace(i, { ... }), chat:append and their like edit its messages; options are given where it is made"};
const BindType BIND_BATCH = {"Batch", messages_of_owner, end_batch, NULL};
const BindType BIND_DRAFT = {"Draft", messages_of_owner, bind_end_draft,
  "draft.memory is the one field that may be set"};

/* ---- callbacks ---- */

bool bind_call_back(lua_State *L, Callbacks *callbacks, lua_CFunction function, int arguments) {
  Callbacks outer = *callbacks;      /* the function may call methods of its own */
  lua_pushcfunction(L, function);
  lua_insert(L, -arguments - 1);
  callbacks->busy = true;
  bool done = guard_pcall(L, arguments, 1) == LUA_OK;
  *callbacks = outer;
  if (!done) callbacks->failed = lua_gettop(L);
  return done;
}

static int64_t now_by_caller(void *user) { return ((Callbacks *)user)->now; }

void bind_ask_clock(lua_State *L, int conversation, Callbacks *callbacks) {
  if (!callbacks->has_clock) return;
  lua_getiuservalue(L, conversation, BIND_FUNCTIONS);
  lua_getfield(L, -1, "clock");
  lua_call(L, 0, 1);
  callbacks->now = bind_integer(L, -1, "clock", INT64_MIN, INT64_MAX);
  lua_pop(L, 2);
}

Clock bind_clock(Callbacks *callbacks) {
  if (!callbacks->has_clock) return clock_system();
  return (Clock){.now_ms = now_by_caller, .user = callbacks};
}

int bind_raise_edit(lua_State *L, int conversation, Status status, const char *what) {
  if (status != STATUS_HOST) return bind_raise_status(L, status, what);
  ConversationHandle *handle = lua_touserdata(L, conversation);
  if (handle->borrowing != NULL) return handle->borrowing->raise(L, handle);
  lua_settop(L, handle->callbacks->failed);
  return lua_error(L);
}

/* ---- conversations ---- */

ConversationHandle *bind_check_conversation(lua_State *L, int index) {
  ConversationHandle *handle = bind_check(L, index, &BIND_CONVERSATION);
  if (handle->conversation == NULL) bind_raise(L, "closed", NULL, "the conversation is closed");
  return handle;
}

ConversationHandle *bind_enter(lua_State *L, int index) {
  ConversationHandle *handle = bind_check_conversation(L, index);
  index = lua_absindex(L, index);
  bind_refuse_finalizer(L, "edit a conversation");
  if (handle->callbacks->busy) {
    bind_raise(L, "busy", "edit after it has returned", "a conversation may not be edited inside its own callback");
  }
  if (handle->callbacks->sole != NULL && handle->callbacks->sole != handle->conversation) {
    bind_raise(L, "busy", "edit the copy", "only the copy may be edited while several edits are made as one");
  }
  if (handle->borrowing != NULL) return handle->borrowing->enter(L, handle);
  bind_ask_clock(L, index, handle->callbacks);
  handle->callbacks->L = L;
  handle->callbacks->self = index;
  return handle;
}

void bind_push_state(lua_State *L, int conversation) {
  if (lua_getiuservalue(L, conversation, BIND_STATE) != LUA_TNIL) return;
  lua_pop(L, 1);
  lua_newtable(L);
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, conversation, BIND_STATE);
}

/* ---- batches ---- */

uint32_t bind_batch_argument(lua_State *L, ConversationHandle *handle, int index, bool *has_length, uint32_t *length) {
  const History *history = conversation_history(handle->conversation);
  uint32_t batch = 0;
  *has_length = false;
  if (lua_type(L, index) == LUA_TSTRING) {
    if (!history_find(history, bind_text(L, index), &batch, length)) {
      bind_raise_argument(L, "unknown_name", "checkpoint(name) names the present state", "no checkpoint '%s'",
                 lua_tostring(L, index));
    }
    *has_length = true;
    return batch;
  }
  batch = (uint32_t)bind_integer(L, index, "batch", 0, (lua_Integer)history_count(history) - 1);
  if (history_batch(history, batch).pruned) {
    bind_raise_argument(L, "out_of_range", NULL, "batch %d was pruned", (int)batch);
  }
  return batch;
}

uint32_t bind_hidden(const ConversationHandle *handle) {
  return history_current(conversation_history(handle->conversation)) == 0 ? handle->hidden : 0;
}

int bind_push_batch(lua_State *L, const ConversationHandle *handle) {
  lua_pushinteger(L, history_current(conversation_history(handle->conversation)));
  return 1;
}

/* ---- limit ---- */

uint64_t bind_request_tokens(const Conversation *conversation) {
  return calibration_apply(conversation_calibration(conversation), conversation_tokens(conversation));
}

bool bind_is_over_limit(const ConversationHandle *handle) {
  return handle->has_limit && bind_request_tokens(handle->conversation) > handle->limit;
}

void bind_check_limit(lua_State *L, int conversation) {
  ConversationHandle *handle = bind_check_conversation(L, conversation);
  bool over = bind_is_over_limit(handle), first = over && !handle->limit_reported;
  handle->limit_reported = over;
  if (!first) return;
  lua_getiuservalue(L, conversation, BIND_FUNCTIONS);
  if (lua_getfield(L, -1, "on_limit") == LUA_TFUNCTION) {
    lua_pushvalue(L, conversation);
    lua_pushinteger(L, (lua_Integer)bind_request_tokens(handle->conversation));
    lua_pushinteger(L, (lua_Integer)handle->limit);
    lua_call(L, 3, 0);
  } else {
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

/* ---- messages and units ---- */

const BindType BIND_MESSAGE = {
  .name = "Message",
  .edits = "chat:replace, draft:replace or the table that a filter returns puts another in its place"};
const BindType BIND_UNIT = {.name = "Unit"};

void bind_push_message(lua_State *L, int owner, MessageId id, uint32_t hint) {
  owner = lua_absindex(L, owner);
  MessageHandle *handle = bind_new(L, &BIND_MESSAGE, sizeof *handle, 1);
  *handle = (MessageHandle){.id = id, .hint = hint};
  guard_place(L, -1, id);
  lua_pushvalue(L, owner);
  lua_setiuservalue(L, -2, 1);
}

void bind_set_message(lua_State *L, int index, MessageId id) {
  MessageHandle *handle = lua_touserdata(L, index);
  handle->id = id;
  guard_place(L, index, id);
}

MessageId bind_check_message(lua_State *L, int index) {
  MessageHandle *handle = bind_check(L, index, &BIND_MESSAGE);
  return handle->id;
}

void bind_push_unit(lua_State *L, int owner, MessageId first) {
  owner = lua_absindex(L, owner);
  UnitHandle *handle = bind_new(L, &BIND_UNIT, sizeof *handle, 1);
  handle->first = first;
  guard_place(L, -1, first);
  lua_pushvalue(L, owner);
  lua_setiuservalue(L, -2, 1);
}
