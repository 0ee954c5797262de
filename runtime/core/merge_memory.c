#include "core/merge_memory.h"

#include <assert.h>

static Text base_text(const BranchBase *base) { return policy_memory_text(base->policy_memory); }

/* The batch of both that a batch of the branch grew out of. */
static uint32_t root_of(const History *theirs, uint32_t batch, const BranchBase *base) {
  while (batch >= base->batches) batch = history_batch(theirs, batch).parent;
  return batch;
}

/* What the branch remembers at its current batch; at the base's one if it rolled back beyond that. */
static Text text_of_branch(const History *theirs, const BranchBase *base) {
  uint32_t current = history_current(theirs);
  return history_policy_memory(theirs, root_of(theirs, current, base) == base->batch ? current : base->batch);
}

bool merge_memory_conflict(const History *ours, const History *theirs, const BranchBase *base) {
  bool conflict = false;
  Text text = history_policy_memory(ours, history_current(ours));
  Status status = base->merge_memories(base_text(base), text, text_of_branch(theirs, base), NULL, &conflict);
  assert(status == STATUS_OK);
  (void)status;
  return conflict;
}

/* Gives a batch the merged policy memory. */
static Status put_merged(History *history, uint32_t batch, const BranchBase *base, Text ours, Text theirs,
                         Buffer *merged) {
  bool conflict;
  buffer_reset(merged);
  Status status = base->merge_memories(base_text(base), ours, theirs, merged, &conflict);
  return status == STATUS_OK ? history_remember(history, batch, text_plain(merged->bytes, merged->size)) : status;
}

Status merge_memory_beside(History *history, const History *theirs, const BranchBase *base) {
  Buffer merged;
  uint32_t current = history_current(history);
  buffer_init(&merged, *history_memory(history));
  Status status = put_merged(history, current, base, history_policy_memory(history, current),
                             history_policy_memory(theirs, base->batch), &merged);
  buffer_free(&merged);
  return status;
}

/* Merges the conversation's text into the branch's batches that grew out of the base's. `grew`: room for a flag
   per batch of the branch. */
static Status put_descendants(History *history, const BranchBase *base, Text ours, bool *grew, Buffer *merged) {
  Status status = STATUS_OK;
  for (uint32_t i = base->batches; i < history_count(history) && status == STATUS_OK; i++) {
    BatchInfo info = history_batch(history, i);
    assert(info.parent < i);                   /* only the first batch has none, and both have that */
    bool from_branch = info.parent >= base->batches;
    bool *flag = &grew[i - base->batches];
    *flag = from_branch ? grew[info.parent - base->batches] : info.parent == base->batch;
    if (*flag && !info.pruned) status = put_merged(history, i, base, ours, history_policy_memory(history, i), merged);
  }
  return status;
}

Status merge_memory_behind(History *history, const History *ours, const BranchBase *base) {
  uint64_t edits = history_memory_edits(ours) - base->memory_edits;
  history_count_edits(history, edits, history_counts(ours).rollbacks - base->history.rollbacks);
  if (edits == 0) return STATUS_OK;
  const Memory *memory = history_memory(history);
  uint32_t added = history_count(history) - base->batches;
  Text text = history_policy_memory(ours, base->batch);
  bool *grew = memory_new(memory, added + 1);
  Buffer merged;
  if (grew == NULL) return STATUS_MEMORY;
  buffer_init(&merged, *memory);
  Status status = put_descendants(history, base, text, grew, &merged);
  if (status == STATUS_OK && !history_batch(history, base->batch).pruned) {
    status = put_merged(history, base->batch, base, text, history_policy_memory(history, base->batch), &merged);
  }
  buffer_free(&merged);
  memory_free(memory, grew, added + 1);
  return status;
}

Status merge_memory_as_one(const History *ours, const History *theirs, const BranchBase *base, Buffer *merged) {
  uint32_t current = history_current(theirs);
  Text text = history_policy_memory(theirs, current);
  bool conflict;
  if (root_of(theirs, current, base) != base->batch) return buffer_add(merged, text.bytes, text.size);
  return base->merge_memories(base_text(base), history_policy_memory(ours, base->batch), text, merged, &conflict);
}
