/*
** Branches: work on a fork of a chat that comes back as the last step, so that
** nothing can fail after it.
*/
#include "api/api.h"

Branch branch_of(ebb_chat *chat) {
  return (Branch){.chat = chat, .changes = chat->changes, .base = conversation_join_base(chat_conversation(chat)),
                  .mark = store_mark(conversation_store(chat_conversation(chat)))};
}

void branch_push_fork(lua_State *L, Branch *branch) {
  chat_push(L, branch->chat);
  lua_getfield(L, -1, "fork");
  lua_insert(L, -2);
  lua_call(L, 1, 1);
  ConversationHandle *fork = bind_check_conversation(L, -1);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, branch);
  branch->fork = fork;
}

/* Have both changed windows since? */
static bool both_put(const Branch *branch) {
  return windows_edits(conversation_windows(chat_conversation(branch->chat))) != branch->base.window_edits &&
         windows_edits(conversation_windows(branch->fork->conversation)) != branch->base.window_edits;
}

ebb_status branch_commit(Branch *branch) {
  ebb_chat *chat = branch->chat;
  ebb_runtime *runtime = chat->runtime;
  if (both_put(branch)) {
    return api_fail(runtime, EBB_CONFLICT, NULL, "windows were changed here and by the task since it began");
  }
  if (chat->changes != branch->changes) {
    return api_fail(runtime, EBB_CONFLICT, NULL, "the chat was changed since the task began; it had %u messages then",
                    (unsigned)branch->base.length);
  }
  chat_tick(chat);
  uint64_t version = conversation_version(chat_conversation(chat));
  uint32_t batch;
  Status joined = conversation_join(chat_conversation(chat), branch->fork->conversation, branch->base, &batch);
  ebb_status status = api_fail_status(runtime, joined, "commit");
  if (status == EBB_OK && conversation_version(chat_conversation(chat)) != version) chat->changes++;
  return status;
}

void branch_end(Branch *branch) {
  chat_drop(branch->chat->runtime, branch);
  branch->fork = NULL;
}

static int64_t stored_in_all(const Branch *branch) {
  return store_count(conversation_store(chat_conversation(branch->chat)));
}

void branch_work(Branch *branch) { branch->stored -= stored_in_all(branch); }
void branch_rest(Branch *branch) { branch->stored += stored_in_all(branch); }

/* Drafts and batches that the script held may name those messages: they go first. */
void branch_abandon(Branch *branch) {
  Store *store = conversation_store(chat_conversation(branch->chat));
  branch_end(branch);
  if (branch->stored <= 0 || store_count(store) != branch->mark.count + (uint64_t)branch->stored) return;
  api_collect_all(branch->chat->runtime);
  if (store_count(store) > branch->mark.count) store_rewind(store, branch->mark);
}
