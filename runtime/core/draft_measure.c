/*
** What a message would cost, before anybody decides to add it. It is stored,
** weighed, and forgotten: the caller's own counter wants a message that is there.
*/
#include "core/draft_data.h"

Status draft_measure(Draft *draft, Text raw, const MessageShape *shape, uint32_t *tokens) {
  Store *store = draft->store;
  StoreMark mark = store_mark(store);
  MessageId id;
  if (!draft_may_store(draft)) return STATUS_ARGUMENT;
  uint32_t end = sequence_count(draft->list);
  Status status = conversation_store_one(draft->conversation, draft->list, end, raw, false, shape, 0, &id);
  if (status == STATUS_OK) *tokens = draft_weight(draft, id);
  store_rewind(store, mark);
  return status;
}
