#include "dialect/bound_thinking.h"

#include "base/minmax.h"
#include "core/list/sequence_diff.h"

/* The first position of `now` that differs from `sent`, of whose messages `length` count; UINT32_MAX if `now` only
   goes on. */
static Status first_change(const Memory *memory, const Store *store, const Sequence *sent, uint32_t length,
                           const Sequence *now, uint32_t *first) {
  uint32_t equal;
  Status status = common_prefix_count(memory, store, sent, now, &equal);
  if (status == STATUS_OK) *first = equal >= length ? UINT32_MAX : equal;
  return status;
}

Status bound_thinking_of(const Conversation *conversation, BoundRange *range) {
  const History *history = conversation_history(conversation);
  BatchInfo batch = history_batch(history, history_current(history));
  Status status = STATUS_OK;
  *range = (BoundRange){.first = UINT32_MAX, .end = batch.born};
  while (batch.parent != BATCH_NONE && range->first > 0 && status == STATUS_OK) {
    uint32_t first = 0;
    const Sequence *before = history_list(history, batch.parent), *after = history_list(history, batch.index);
    if (before != NULL && after != NULL) {
      status = first_change(conversation_memory(conversation), conversation_store(conversation), before,
                            batch.parent_length, after, &first);
    }
    if (status != STATUS_OK) break;
    range->first = min_u32(first, range->first);
    batch = history_batch(history, batch.parent);
  }
  return status;
}
