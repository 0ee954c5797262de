/*
** Chats: made, forked, freed. The conversation is a userdata of the Lua library,
** so that policies find in it what they know; the registry holds it under the
** address of its chat.
*/
#include <string.h>

#include "api/api.h"

Conversation *chat_conversation(const ebb_chat *chat) { return chat->handle->conversation; }

void chat_tick(ebb_chat *chat) { chat->handle->callbacks->now = api_now(chat->runtime); }

/* ---- making ---- */

ebb_status chat_new(ebb_runtime *runtime, MemoryQuota *quota, const char *options, size_t size, ebb_chat **result) {
  ebb_chat *chat = memory_new(&runtime->memory, sizeof *chat);
  char *copy = size == 0 ? NULL : memory_new(&runtime->memory, size);
  bool good = chat != NULL && (size == 0 || copy != NULL);
  if (good && quota == NULL) quota = quota_new(&runtime->memory, runtime->config.chat_memory);
  else if (good) quota_share(quota);
  if (!good || quota == NULL) {
    memory_free(&runtime->memory, copy, size);
    memory_free(&runtime->memory, chat, sizeof *chat);
    return api_fail_status(runtime, STATUS_MEMORY, "a chat");
  }
  if (size > 0) memcpy(copy, options, size);
  *chat = (ebb_chat){.runtime = runtime, .quota = quota, .options = copy, .options_size = size};
  ring_init(&chat->link);
  ring_init(&chat->tasks);
  ring_init(&chat->listening);
  *result = chat;
  return EBB_OK;
}

void chat_enlist(ebb_chat *chat) { ring_add(&chat->runtime->chats, &chat->link); }

void chat_hold(lua_State *L, ebb_chat *chat) {
  ConversationHandle *handle = bind_check_conversation(L, -1);
  holder_set(L, chat);
  chat->handle = handle;
}

int chat_keep(lua_State *L) {
  ebb_chat *chat = lua_touserdata(L, 2);
  lua_settop(L, 1);
  chat_hold(L, chat);
  return 0;
}

/* Without what document.c has put before them. */
void chat_push_options(lua_State *L, const ebb_chat *chat) {
  if (chat->options_document > 0) lua_pushliteral(L, "{");
  lua_pushlstring(L, chat->options == NULL ? "" : chat->options + chat->options_document,
                  chat->options_size - chat->options_document);
  if (chat->options_document > 0) lua_concat(L, 2);
}

/* Creates the conversation of the chat at 1, by its options and, if it was read from a file, their document part. */
static int l_create_conversation(lua_State *L) {
  ebb_chat *chat = lua_touserdata(L, 1);
  api_push_function(L, "conversation");
  chat_push_options(L, chat);
  lua_pushboolean(L, chat->options_document > 0);
  lua_call(L, 2, 1);
  chat_hold(L, chat);
  return 0;
}

static int l_own_memory(lua_State *L) {
  static const Memory none = {0};
  bind_set_conversation_memory(L, &none);
  return 0;
}

typedef struct Making {
  ebb_chat *chat;
  lua_CFunction run;
  void *data;
} Making;

static int l_with_memory(lua_State *L) {
  const Making *making = lua_touserdata(L, 1);
  Memory memory = quota_memory(making->chat->quota);
  api_need_library(L);                       /* its memory is the runtime's, not the first chat's */
  bind_set_conversation_memory(L, &memory);
  lua_pushcfunction(L, making->run);
  lua_pushlightuserdata(L, making->data);
  lua_call(L, 1, 0);
  return 0;
}

ebb_status chat_make_by(ebb_chat *chat, lua_CFunction run, void *data) {
  ebb_runtime *runtime = chat->runtime;
  Making making = {.chat = chat, .run = run, .data = data};
  ebb_status status = api_run(runtime, l_with_memory, &making);
  SandboxEnd end = sandbox_run(runtime->sandbox, l_own_memory, NULL);
  if (status == EBB_OK && end != SANDBOX_OK) status = api_fail_end(runtime, end);
  /* What was half made holds memory of the quota until it is collected. */
  if (status != EBB_OK) api_collect_all(runtime);
  return status;
}

ebb_status chat_make(ebb_chat *chat) { return chat_make_by(chat, l_create_conversation, chat); }

static ebb_status make_chat(ebb_runtime *runtime, const char *options, size_t size, ebb_chat **result) {
  ebb_chat *chat;
  ebb_status status = chat_new(runtime, NULL, options, size, &chat);
  if (status != EBB_OK) return status;
  status = chat_make(chat);
  if (status != EBB_OK) {
    chat_discard(chat);
    return status;
  }
  chat_enlist(chat);
  *result = chat;
  return EBB_OK;
}

ebb_status ebb_chat_new(ebb_runtime *runtime, const char *options, size_t size, ebb_chat **chat) {
  if (chat == NULL || (options == NULL && size > 0)) return api_missing(runtime);
  ebb_status status = api_enter(runtime);
  return status == EBB_OK ? api_leave(runtime, make_chat(runtime, options, size, chat)) : status;
}

/* ---- forking ---- */

typedef struct Forking {
  ebb_chat *from, *to;
} Forking;

static int l_fork(lua_State *L) {
  Forking *forking = lua_touserdata(L, 1);
  holder_push(L, forking->from);
  lua_getfield(L, -1, "fork");
  lua_insert(L, -2);
  lua_call(L, 1, 1);
  chat_hold(L, forking->to);
  return 0;
}

ebb_status chat_new_like(ebb_chat *chat, ebb_chat **result) {
  ebb_status status = chat_new(chat->runtime, chat->quota, chat->options, chat->options_size, result);
  if (status == EBB_OK) (*result)->options_document = chat->options_document;
  return status;
}

static ebb_status fork_chat(ebb_chat *chat, ebb_chat **result) {
  Forking forking = {.from = chat};
  ebb_status status = chat_new_like(chat, &forking.to);
  if (status != EBB_OK) return status;
  status = api_run(chat->runtime, l_fork, &forking);
  if (status != EBB_OK) {
    chat_discard(forking.to);
    return status;
  }
  chat_enlist(forking.to);
  *result = forking.to;
  return EBB_OK;
}

ebb_status ebb_chat_fork(ebb_chat *chat, ebb_chat **fork) {
  if (chat == NULL || fork == NULL) return api_missing(chat_runtime(chat));
  ebb_status status = api_enter(chat->runtime);
  return status == EBB_OK ? api_leave(chat->runtime, fork_chat(chat, fork)) : status;
}

/* ---- ending ---- */

void chat_drop(ebb_runtime *runtime, const void *holder) {
  lua_State *L = runtime->L;
  if (!lua_checkstack(L, 2)) return;         /* the collector does it with the runtime */
  holder_push(L, holder);
  ConversationHandle *handle = lua_touserdata(L, -1);
  if (handle != NULL) {
    conversation_free(handle->conversation);
    handle->conversation = NULL;
    holder_clear(L, holder);
  }
  lua_pop(L, 1);
}

void chat_discard(ebb_chat *chat) {
  ebb_runtime *runtime = chat->runtime;
  chat_drop(runtime, chat);
  if (chat->journal != NULL) runtime->journal_hooks->free(chat);
  if (chat->end_stream != NULL) chat->end_stream(chat);
  quota_release(chat->quota);
  memory_free(&runtime->memory, chat->options, chat->options_size);
  memory_free(&runtime->memory, chat, sizeof *chat);
}

/* Drafts of a policy that was stopped point to its conversation until they are
   collected; that is why a conversation's own end does not need it. */
void ebb_chat_free(ebb_chat *chat) {
  if (chat == NULL) return;
  ebb_runtime *runtime = chat->runtime;
  if (runtime->busy) return;
  while (!ring_is_alone(&chat->tasks)) chat->end_task(RING_OWNER(chat->tasks.behind, ebb_task, chat_tasks));
  ring_remove(&chat->link);
  ring_remove(&chat->listening);
  chat_discard(chat);
}

/* ---- the host's ---- */

ebb_chat *ebb_next_chat(const ebb_runtime *runtime, const ebb_chat *after) {
  if (runtime == NULL) return NULL;
  Ring *next = after == NULL ? runtime->chats.behind : after->link.behind;
  return next == &runtime->chats ? NULL : RING_OWNER(next, ebb_chat, link);
}

void *ebb_chat_user(const ebb_chat *chat) { return chat == NULL ? NULL : chat->user; }

void ebb_chat_set_user(ebb_chat *chat, void *user) {
  if (chat != NULL) chat->user = user;
}
