/*
** Transactions: several edits as one. They are made on a branch of the conversation, which
** replaces it if all of them succeed and is dropped otherwise. Forks and drafts that were
** made from the branch are independent of it.
*/
#include "bind/argument.h"
#include "bind/conversation.h"
#include "bind/error.h"
#include "bind/handle.h"
#include "bind/type.h"
#include "core/merge_branch.h"
#include "state/policy_memory.h"
#include "sandbox/guard.h"

ConversationHandle *bind_push_fork(lua_State *L) { return bind_push_quiet_fork(L, bind_enter(L, 1)); }

ConversationHandle *bind_push_quiet_fork(lua_State *L, ConversationHandle *handle) {
  ConversationHandle *fork = bind_new(L, &BIND_CONVERSATION, sizeof *fork, 3);
  fork->document = handle->document;
  fork->envelope = envelope_share(handle->envelope);
  fork->limit = handle->limit;
  fork->has_limit = handle->has_limit;
  fork->saved = handle->saved;
  fork->limit_reported = handle->limit_reported;
  fork->warnings.memory = handle->warnings.memory;
  fork->callbacks = handle->callbacks;
  for (int value = BIND_FUNCTIONS; value <= BIND_CALLBACKS; value++) {
    lua_getiuservalue(L, 1, value);
    lua_setiuservalue(L, -2, value);
  }
  Status status = conversation_fork(handle->conversation, &fork->conversation);
  if (status != STATUS_OK) bind_raise_status(L, status, "fork");
  return fork;
}

static void drop_branch(ConversationHandle *branch) {
  conversation_free(branch->conversation);
  branch->conversation = NULL;
}

/* Merges the branch; drops it before anything is raised. */
static void join(lua_State *L, ConversationHandle *handle, ConversationHandle *branch) {
  bool changed;
  Status status = conversation_merge_branch(handle->conversation, branch->conversation, &changed);
  drop_branch(branch);
  if (status != STATUS_OK) bind_raise_status(L, status, "transaction");
  handle->limit_reported = branch->limit_reported;
}

/* transaction(conversation, run) -> what run(branch) returns. The conversation
   becomes the branch if run returns; if it raises, no trace of it is left. */
int bind_transaction(lua_State *L) {
  ConversationHandle *handle = bind_check_conversation(L, 1);
  bind_expect(L, 2, NULL, LUA_TFUNCTION);
  lua_settop(L, 2);
  ConversationHandle *branch = bind_push_fork(L);
  Status status = conversation_begin_branch(branch->conversation, handle->conversation, merge_memories_by_name);
  if (status != STATUS_OK) return bind_raise_status(L, status, "transaction");
  Callbacks *callbacks = handle->callbacks;
  Conversation *outer = callbacks->sole;
  callbacks->sole = branch->conversation;
  int first = lua_gettop(L);
  lua_pushvalue(L, 2);
  lua_pushvalue(L, 3);
  bool done = guard_pcall(L, 1, LUA_MULTRET) == LUA_OK;
  callbacks->sole = outer;
  if (!done) {
    drop_branch(branch);
    return lua_error(L);
  }
  join(L, handle, branch);
  return lua_gettop(L) - first;
}

int bind_begin_branch(lua_State *L) {
  ConversationHandle *handle = bind_check_conversation(L, 1);
  lua_settop(L, 1);
  ConversationHandle *branch = bind_push_fork(L);
  Status status = conversation_begin_branch(branch->conversation, handle->conversation, merge_memories_by_name);
  return status == STATUS_OK ? 1 : bind_raise_status(L, status, "branch");
}

int bind_merge_branch(lua_State *L) {
  ConversationHandle *handle = bind_enter(L, 1), *branch = bind_check_conversation(L, 2);
  if (!conversation_is_branch(branch->conversation, handle->conversation)) {
    return bind_raise_argument(L, "argument", NULL, "expected a branch of the conversation");
  }
  join(L, handle, branch);
  return 0;
}
