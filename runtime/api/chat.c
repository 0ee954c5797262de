/*
** Chats: made, forked, freed; their memory and their branches; and asking the Lua library about them.
**
** The conversation is a userdata of the Lua library, so that policies find in it what they know; the registry
** holds it under the address of its chat.
*/
#include <stdint.h>
#include <string.h>

#include "api/api.h"
#include "state/policy_memory.h"

/* ---- memory ----
**
** A quota counts what one chat and its forks hold of the runtime's memory, up to a limit. It also counts how often
** bytes that all of them may show were overwritten.
**
** Batches, drafts and ledgers may outlive their chat in the hands of a script,
** and their blocks come back here: so a quota lives until its last holder and its
** last block are gone. */

#define QUOTA_EXCESS_PART 8      /* the part of the limit that such an edit may take beyond it */

struct MemoryQuota {
  Memory memory;
  size_t used, limit;
  bool allows_excess;              /* an edit that may give memory back may take a little more first */
  uint32_t holders;
  uint64_t redactions;
};

static void end_if_empty(MemoryQuota *quota) {
  Memory memory = quota->memory;
  if (quota->holders == 0 && quota->used == 0) memory_free(&memory, quota, sizeof *quota);
}

static void *allocate(void *user, void *block, size_t old_size, size_t new_size) {
  MemoryQuota *quota = user;
  if (block == NULL) old_size = 0;
  size_t limit = quota->allows_excess ? quota->limit + quota->limit / QUOTA_EXCESS_PART : quota->limit;
  bool grows = new_size > old_size && limit > 0;
  if (grows && (quota->used > limit || new_size - old_size > limit - quota->used)) return NULL;
  void *answer = quota->memory.allocate(quota->memory.user, block, old_size, new_size);
  if (answer == NULL && new_size > 0) return NULL;
  quota->used = quota->used - old_size + new_size;
  if (new_size == 0) end_if_empty(quota);
  return answer;
}

/* Counts the memory of one chat and its forks. It is freed with the last of its blocks and
   owners; `memory` is the runtime's, `limit` in bytes, 0: no limit. NULL if memory runs out. */
static MemoryQuota *quota_new(const Memory *memory, size_t limit) {
  MemoryQuota *quota = memory_new(memory, sizeof *quota);
  if (quota != NULL) *quota = (MemoryQuota){.memory = *memory, .limit = limit, .holders = 1};
  return quota;
}

static MemoryQuota *quota_share(MemoryQuota *quota) {
  quota->holders++;
  return quota;
}

static void quota_release(MemoryQuota *quota) {
  quota->holders--;
  end_if_empty(quota);
}

void quota_allow_excess(MemoryQuota *quota, bool allows_excess) { quota->allows_excess = allows_excess; }

void quota_note_redaction(MemoryQuota *quota) { quota->redactions++; }

uint64_t quota_redactions(const MemoryQuota *quota) { return quota->redactions; }

size_t quota_used(const MemoryQuota *quota) { return quota->used; }

Memory quota_memory(MemoryQuota *quota) { return (Memory){.allocate = allocate, .user = quota}; }

/* ---- the registry's values of chats, branches and pipelines, under their addresses ----
**
**     registry    { shelf 0 = { [chat] = conversation, [branch] = fork, .. }, .., shelf 255 = { .. } }
**
** The collector walks a table in one stretch. One table of all chats would make steps late by its length; of 256
** each is short, where a runtime has tens of thousands. */

enum { SHELF_BITS = 8 };

static const char SHELVES[1 << SHELF_BITS];   /* their addresses are the keys */

/* Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4): the low bits of addresses are those of their
   alignment. */
static const void *shelf_of(const void *holder) {
  return SHELVES + ((uint64_t)(uintptr_t)holder * 0x9E3779B97F4A7C15u >> (64 - SHELF_BITS));
}

void holder_push(lua_State *L, const void *holder) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, shelf_of(holder)) != LUA_TTABLE) return;
  lua_rawgetp(L, -1, holder);
  lua_replace(L, -2);
}

void holder_set(lua_State *L, const void *holder) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, shelf_of(holder)) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, shelf_of(holder));
  }
  lua_insert(L, -2);
  lua_rawsetp(L, -2, holder);
  lua_pop(L, 1);
}

void holder_clear(lua_State *L, const void *holder) {
  if (!lua_checkstack(L, 2)) return;         /* the collector does it with the runtime */
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, shelf_of(holder)) == LUA_TTABLE) {
    lua_pushnil(L);
    lua_rawsetp(L, -2, holder);
  }
  lua_pop(L, 1);
}

/* ---- chats ---- */

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

/* Ends a conversation at once, not when the collector comes by. */
static void chat_drop(ebb_runtime *runtime, const void *holder) {
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

/* ---- branches ----
**
** A branch is work on a copy of a chat that comes back as the last step, so that
** nothing can fail after it (core/merge_branch.h). A branch that does not come back leaves
** no trace. */

Branch branch_of(ebb_chat *chat) { return (Branch){.chat = chat}; }

void branch_push_fork(lua_State *L, Branch *branch) {
  holder_push(L, branch->chat);
  lua_getfield(L, -1, "fork");
  lua_insert(L, -2);
  lua_call(L, 1, 1);
  ConversationHandle *fork = bind_check_conversation(L, -1);
  const Conversation *conversation = chat_conversation(branch->chat);
  Status status = conversation_begin_branch(fork->conversation, conversation, merge_memories_by_name);
  if (status != STATUS_OK) bind_raise_status(L, status, "branch");
  lua_pushvalue(L, -1);
  holder_set(L, branch);
  branch->fork = fork;
}

ebb_status branch_commit(Branch *branch) {
  ebb_runtime *runtime = branch->chat->runtime;
  Conversation *conversation = chat_conversation(branch->chat), *fork = branch->fork->conversation;
  const MessageId *redacted;
  bool changed, redacts = conversation_redacted(fork, &redacted) > 0;
  switch (conversation_merge_conflict(conversation, fork)) {
  case MERGE_CONFLICT_NONE: break;
  case MERGE_CONFLICT_WINDOWS:
    return api_fail(runtime, EBB_CONFLICT, NULL, "windows were changed here and by the task since it began");
  case MERGE_CONFLICT_MEMORY:
    return api_fail(runtime, EBB_CONFLICT, NULL,
                    "what one policy or pipeline remembers was changed here and by the task since it began");
  case MERGE_CONFLICT_LISTS:
    return api_fail(runtime, EBB_CONFLICT, NULL,
                    "the chat was changed since the task began, otherwise than by appending");
  }
  chat_tick(branch->chat);
  Status merged = conversation_merge_branch(conversation, fork, &changed);
  if (merged != STATUS_OK) return api_fail_status(runtime, merged, "commit");
  if (redacts) quota_note_redaction(branch->chat->quota);
  return api_note(branch->chat);
}

void branch_end(Branch *branch) {
  chat_drop(branch->chat->runtime, branch);
  branch->fork = NULL;
}

/* ---- asking ----
**
** The way of most calls that need Lua. A function of lua/ebb/libebb checks the
** arguments and gives back a function, which runs within the runtime's limits and
** returns a result (api_write_result), or writes one with the writers of window.c and
** document.c.
**
**     ebb_* --> api_ask --> api_run    [ api.NAME(chat or fork, texts ..) -> run ]
**                      \--> sandbox_call [ run() ] -> a sink, or the first answer */

/* Leaves the function that is to run within limits. */
static int l_prepare(lua_State *L) {
  const Asking *asking = lua_touserdata(L, 1);
  api_push_function(L, asking->function);
  if (asking->branch != NULL) branch_push_fork(L, asking->branch);
  else if (asking->chat != NULL) holder_push(L, asking->chat);
  for (int i = 0; i < asking->text_count; i++) {
    if (asking->texts[i].bytes != NULL) lua_pushlstring(L, asking->texts[i].bytes, asking->texts[i].size);
    else lua_pushnil(L);
  }
  if (asking->held != NULL) holder_push(L, asking->held);
  if (asking->target != NULL) lua_pushlightuserdata(L, asking->target);
  lua_call(L, lua_gettop(L) - 2, 1);
  api_hold(L);
  return 0;
}

ebb_status api_ask(ebb_runtime *runtime, const Asking *asking, const Sink *out) {
  ebb_status status = api_run(runtime, l_prepare, (void *)(uintptr_t)asking);
  return status == EBB_OK ? api_call_held(runtime, UINT64_MAX, out) : status;
}

ebb_status api_ask_text(ebb_runtime *runtime, const Asking *asking, ebb_text *answer) {
  api_answer_buffer(runtime, 0);
  ebb_status status = api_ask(runtime, asking, NULL);
  return status == EBB_OK ? api_answer(runtime, 0, answer) : status;
}

ebb_status api_list(ebb_runtime *runtime, const char *function, ebb_text *json) {
  if (json == NULL) return api_missing(runtime);
  Asking asking = {.function = function};
  ebb_status status = api_enter(runtime);
  return status == EBB_OK ? api_leave(runtime, api_ask_text(runtime, &asking, json)) : status;
}

Text api_text(const char *string) { return string == NULL ? (Text){0} : text_of(string); }

Text api_options(const char *options, size_t size) { return text_plain(options == NULL ? "" : options, size); }
