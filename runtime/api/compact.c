/*
** What a chat lets go of for good: the text of a message, old batches with the
** messages that only they showed.
*/
#include <string.h>

#include "api/api.h"
#include "core/forget.h"
#include "document/redact.h"

/* Forgets a message. Where memory for the records of journals is missing, all becomes again what it was. */
static ebb_status overwrite(ebb_chat *chat, MessageId id) {
  ebb_runtime *runtime = chat->runtime;
  Forgotten *forgotten;
  Status done = conversation_forget(chat_conversation(chat), id, text_plain("", 0), redact_message, &forgotten);
  if (done != STATUS_OK) return api_fail_status(runtime, done, "forget");
  quota_note_redaction(chat->quota);
  ebb_status status = runtime->journal_hooks == NULL ? EBB_OK : runtime->journal_hooks->ready(runtime);
  if (status != EBB_OK) conversation_unforget(forgotten);
  forgotten_free(forgotten);
  return status;
}

static ebb_status forget(ebb_chat *chat, uint32_t index) {
  Conversation *conversation = chat_conversation(chat);
  uint32_t count = ebb_chat_count(chat);
  if (index >= count) {
    return api_fail(chat->runtime, EBB_OUT_OF_RANGE, NULL, "forget: message %u: the chat has %u", (unsigned)index,
                    (unsigned)count);
  }
  MessageId id = sequence_at(conversation_list(conversation), index);
  return overwrite(chat, id);
}

ebb_status ebb_chat_forget(ebb_chat *chat, uint32_t index) {
  if (chat == NULL) return EBB_ARGUMENT;
  ebb_status status = api_enter(chat->runtime);
  return status == EBB_OK ? api_leave(chat->runtime, forget(chat, index)) : status;
}

static ebb_status compact(ebb_chat *chat, uint32_t keep, uint32_t *removed) {
  uint32_t pruned, message_count = 0;
  quota_allow_excess(chat->quota, true);
  Status status = conversation_compact(chat_conversation(chat), keep, &pruned, &message_count);
  if (status == STATUS_MEMORY) {               /* garbage of scripts may hold what was let go of before */
    api_collect_all(chat->runtime);
    status = conversation_compact(chat_conversation(chat), keep, &pruned, &message_count);
  }
  quota_allow_excess(chat->quota, false);
  if (status == STATUS_OK && removed != NULL) *removed = message_count;
  return api_fail_status(chat->runtime, status, "compact");
}

ebb_status ebb_chat_compact(ebb_chat *chat, uint32_t keep, uint32_t *removed) {
  if (chat == NULL) return EBB_ARGUMENT;
  ebb_status status = api_enter(chat->runtime);
  return status == EBB_OK ? api_leave(chat->runtime, compact(chat, keep, removed)) : status;
}

size_t ebb_chat_memory(const ebb_chat *chat) { return chat == NULL ? 0 : quota_used(chat->quota); }

