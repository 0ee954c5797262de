/*
** Branches: work on a copy of a chat that comes back as the last step, so that
** nothing can fail after it (core/merge_branch.h). A branch that does not come back leaves
** no trace.
*/
#include "api/api.h"
#include "state/policy_memory.h"

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
