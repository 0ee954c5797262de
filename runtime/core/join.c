#include "core/join.h"

typedef struct Join {
  const History *ours, *theirs;
  Store *store;
  JoinBase base;
  History *made;
} Join;

JoinBase conversation_join_base(const Conversation *conversation) {
  const History *history = conversation_history(conversation);
  return (JoinBase){.batch = history_current(history), .length = sequence_count(conversation_list(conversation)),
                    .batches = history_count(history), .memory_edits = history_memory_edits(history),
                    .window_edits = windows_edits(conversation_windows(conversation))};
}

static bool has_tail(const Join *join) { return history_batch(join->ours, join->base.batch).count > join->base.length; }

/* Did both append to the batch? Then their states of it cannot both be in one list. */
static bool both_grew(const Join *join) {
  return has_tail(join) && history_batch(join->theirs, join->base.batch).count > join->base.length;
}

static bool fork_did_nothing(const Join *join) {
  return history_count(join->theirs) == join->base.batches && history_current(join->theirs) == join->base.batch &&
         history_memory_edits(join->theirs) == join->base.memory_edits &&
         history_batch(join->theirs, join->base.batch).count == join->base.length;
}

static Status add_tail(const Join *join, Sequence **list) {
  const Sequence *ours = history_list(join->ours, join->base.batch);
  Scale *scale = sequence_scale(*list);
  Status status = scale == NULL ? STATUS_OK : scale_fill(scale, join->store); /* the fork's may not know our tail */
  for (uint32_t i = join->base.length; i < sequence_count(ours) && status == STATUS_OK; i++) {
    status = sequence_append(list, sequence_at(ours, i));
  }
  return status;
}

/* Our state of the base's batch goes into the history that is made. */
static Status put_base(Join *join) {
  Sequence **list, *ours;
  uint32_t current = history_current(join->made);
  Status status = history_rollback(join->made, join->base.batch);
  if (status == STATUS_OK) status = history_grow(join->made, &list);
  if (status == STATUS_OK) status = sequence_share(history_list(join->ours, join->base.batch), &ours);
  if (status != STATUS_OK) return status;
  sequence_release(*list);
  *list = ours;
  return history_rollback(join->made, current);
}

/* Their history, and what was appended since beneath their current batch. */
static Status join_all(Join *join) {
  Sequence **list;
  Status status = history_fork(join->theirs, &join->made);
  if (status != STATUS_OK || !has_tail(join)) return status;
  status = put_base(join);
  if (status != STATUS_OK || history_current(join->made) == join->base.batch) return status;
  status = history_grow(join->made, &list);
  return status == STATUS_OK ? add_tail(join, list) : status;
}

/* Our history, and one batch that is their list with our tail. */
static Status join_as_one(Join *join, int64_t now) {
  uint32_t current = history_current(join->theirs);
  BatchInfo info = history_batch(join->theirs, current);
  bool is_new = current >= join->base.batches;
  Ledger *ledger = is_new ? history_ledger(join->theirs, current) : NULL;
  Text policy_memory = history_policy_memory(join->theirs, current);
  NewBatch batch = {.parent = join->base.batch, .parent_length = history_batch(join->ours, join->base.batch).count,
                    .kind = is_new ? info.kind : BATCH_INSERT, .timestamp = now, .policy_memory = &policy_memory,
                    .description = is_new ? info.description : text_of("beside what was appended meanwhile")};
  Status status = history_fork(join->ours, &join->made);
  if (status == STATUS_OK) status = sequence_share(history_list(join->theirs, current), &batch.list);
  if (status == STATUS_OK) status = add_tail(join, &batch.list);
  if (status == STATUS_OK && ledger != NULL) batch.ledger = ledger_share(ledger);
  if (status == STATUS_OK) status = history_add(join->made, &batch);
  if (status != STATUS_OK) {
    sequence_release(batch.list);
    ledger_release(batch.ledger);
  }
  return status;
}

static bool may_join(const Join *join) {
  return history_count(join->ours) == join->base.batches && history_current(join->ours) == join->base.batch &&
         history_memory_edits(join->ours) == join->base.memory_edits &&
         history_batch(join->ours, join->base.batch).count >= join->base.length;
}

static Join join_of(const Conversation *conversation, const Conversation *fork, JoinBase base) {
  return (Join){.ours = conversation_history(conversation), .theirs = conversation_history(fork), .base = base,
                .store = conversation_store(conversation)};
}

Status conversation_join(Conversation *conversation, const Conversation *fork, JoinBase base, uint32_t *batch) {
  Join join = join_of(conversation, fork, base);
  Marks *marks;
  bool put = windows_edits(conversation_windows(fork)) != base.window_edits;
  bool both_put = put && windows_edits(conversation_windows(conversation)) != base.window_edits;
  if (!may_join(&join) || both_put) return STATUS_ARGUMENT;
  Status status = marks_copy(conversation_marks(fork), &marks);
  if (status != STATUS_OK) return status;
  if (!fork_did_nothing(&join))
    status = both_grew(&join) ? join_as_one(&join, conversation_now(conversation)) : join_all(&join);
  if (status != STATUS_OK) {
    history_free(join.made);
    marks_free(marks);
    return status;
  }
  conversation_take_marks(conversation, marks);
  conversation_take_counter(conversation, fork);
  if (put) conversation_share_windows(conversation, fork);
  if (join.made != NULL) conversation_take_history(conversation, join.made);
  *batch = history_current(conversation_history(conversation));
  return STATUS_OK;
}
