/*
** Listeners: told at the end of a call that chats have changed. What they know of a chat is
** held against what it is, so no edit needs to know of them:
**
**     ebb_chat_append .. ebb_step --> api_leave --> listen_tell: compares, and calls
*/
#include "api/api.h"

static ChatState state_of(const ebb_chat *chat) {
  const Conversation *conversation = chat_conversation(chat);
  const History *history = conversation_history(conversation);
  const ConversationHandle *handle = chat->handle;
  return (ChatState){.count = sequence_count(conversation_list(conversation)),
                     .window_edits = windows_edits(conversation_windows(conversation)),
                     .batch = history_current(history), .batch_count = history_count(history),
                     .over = handle->has_limit && bind_request_tokens(conversation) > handle->limit};
}

static unsigned changes_of(const ChatState *before, const ChatState *now) {
  unsigned changes = 0;
  bool batch = now->batch != before->batch || now->batch_count != before->batch_count;
  if (batch || now->count != before->count) changes |= EBB_CHANGED_MESSAGES;      /* batches grow, and nothing else */
  if (batch) changes |= EBB_CHANGED_BATCH;
  if (now->window_edits != before->window_edits) changes |= EBB_CHANGED_WINDOWS;
  if (now->over && !before->over) changes |= EBB_CHANGED_OVER_LIMIT;
  return changes;
}

/* Compares each chat that has a listener with what it was; runs at the end of a call. */
static void tell(ebb_runtime *runtime) {
  for (Ring *link = runtime->listening.behind; link != &runtime->listening; link = link->behind) {
    ebb_chat *chat = RING_OWNER(link, ebb_chat, listening);
    ChatState now = state_of(chat);
    unsigned changes = changes_of(&chat->listener_state, &now);
    chat->listener_state = now;
    if (changes != 0) chat->listener(chat->listener_user, chat, changes);
  }
}

ebb_status ebb_chat_listen(ebb_chat *chat, ebb_listener listener, void *user) {
  if (chat == NULL) return EBB_ARGUMENT;
  ebb_status status = api_enter(chat->runtime);
  if (status != EBB_OK) return status;
  ring_remove(&chat->listening);
  chat->listener = listener;
  chat->listener_user = user;
  chat->listener_state = state_of(chat);
  chat->runtime->tell = tell;
  if (listener != NULL) ring_add(&chat->runtime->listening, &chat->listening);
  return api_leave(chat->runtime, EBB_OK);
}
