#include "core/join.h"

#include <assert.h>
#include <string.h>

#include "core/conversation_data.h"

/* ---- the beginning ---- */

Status conversation_begin_branch(Conversation *fork, const Conversation *conversation) {
  assert(fork->base == NULL && store_count(fork->store) == store_count(conversation->store));
  BranchBase *base = memory_new(&fork->memory, sizeof *base);
  if (base == NULL) return STATUS_MEMORY;
  const History *history = conversation->history;
  *base = (BranchBase){.batch = history_current(history),
                       .length = sequence_count(conversation_list(conversation)),
                       .batches = history_count(history), .stored = store_count(conversation->store),
                       .window_edits = windows_edits(conversation->windows),
                       .history = history_counts(history), .memory_edits = history_memory_edits(history),
                       .marks = marks_share(conversation->marks),
                       .calibration = conversation->calibration, .counter = conversation->counter};
  fork->base = base;
  fork->isolated = true;
  return STATUS_OK;
}

/* ---- what has changed since ---- */

static bool moved_on(const History *history, const BranchBase *base) {
  return history_count(history) != base->batches || history_current(history) != base->batch ||
         history_counts(history).prunings != base->history.prunings ||
         history_memory_edits(history) != base->memory_edits;
}

static uint32_t base_count(const History *history, const BranchBase *base) {
  return history_batch(history, base->batch).count;
}

static bool put_windows(const Conversation *conversation, const BranchBase *base) {
  return windows_edits(conversation->windows) != base->window_edits;
}

/* True if the branch has chosen another counter. */
static bool recounted(const Conversation *branch) { return !counter_equal(&branch->counter, &branch->base->counter); }

static bool branch_changed_lists(const Conversation *branch) {
  return moved_on(branch->history, branch->base) || branch->compacted ||
         base_count(branch->history, branch->base) != branch->base->length ||
         recounted(branch);
}

JoinConflict conversation_join_conflict(const Conversation *conversation, const Conversation *branch) {
  const BranchBase *base = branch->base;
  if (put_windows(branch, base) && put_windows(conversation, base)) return JOIN_WINDOWS;
  HistoryCounts ours = history_counts(conversation->history), theirs = history_counts(branch->history);
  /* One may have let go of the state that the other named. */
  if (theirs.prunings != base->history.prunings && ours.namings != base->history.namings) return JOIN_LISTS;
  if (ours.prunings != base->history.prunings && theirs.namings != base->history.namings) return JOIN_LISTS;
  if (!branch_changed_lists(branch)) return JOIN_NONE;
  bool only_grew = !moved_on(conversation->history, base) && base_count(conversation->history, base) >= base->length;
  return only_grew && store_count(conversation->store) >= base->stored ? JOIN_NONE : JOIN_LISTS;
}

/* ---- a join ---- */

/* What the conversation will have; NULL where it keeps what it has. */
typedef struct Join {
  Conversation *conversation, *branch;
  const BranchBase *base;
  uint32_t shift;            /* of seqs after base->stored, from the branch to the conversation */
  SharedStates shared;       /* those of the branch that the joined history has under their numbers */
  History *history;
  Marks *marks;
  Windows *windows;
  Store *store;
} Join;

static void join_free(Join *join) {
  history_free(join->history);
  marks_release(join->marks);
  windows_free(join->windows);
}

static Status merge_marks(Join *join) {
  if (marks_edits(join->branch->marks) == marks_edits(join->base->marks)) return STATUS_OK;
  join->marks = marks_share(join->conversation->marks);
  return marks_merge(&join->marks, join->base->marks, join->branch->marks, join->base->stored, join->shift);
}

static Status merge_windows(Join *join) {
  if (!put_windows(join->branch, join->base)) return STATUS_OK;
  if (join->shift > 0) {
    return windows_renumber(join->branch->windows, join->base->stored, join->shift, &join->windows);
  }
  join->windows = windows_share(join->branch->windows);
  return STATUS_OK;
}

/* Names of both; where both named a state alike, the branch's counts. Needs
   join->history, if lists are joined. */
static Status merge_names(Join *join) {
  const History *ours = join->conversation->history, *theirs = join->branch->history;
  uint64_t since = join->base->history.namings;
  const SharedStates all = {.batches = UINT32_MAX, .batch = UINT32_MAX};
  if (join->history == NULL && history_counts(theirs).namings == since) return STATUS_OK;
  Status status = join->history == NULL ? history_fork(ours, &join->history) : STATUS_OK;
  if (status == STATUS_OK) status = history_take_names(join->history, ours, since, &all);
  if (status == STATUS_OK) status = history_take_names(join->history, theirs, since, &join->shared);
  return status;
}

/* The last step: cannot fail. */
static void install(Join *join) {
  Conversation *conversation = join->conversation, *branch = join->branch;
  Calibration learnt = branch->calibration;
  bool calibrated = learnt.reported != join->base->calibration.reported ||
                    learnt.counted != join->base->calibration.counted;
  if (join->marks != NULL) conversation_take_marks(conversation, join->marks);
  if (join->windows != NULL) conversation_take_windows(conversation, join->windows);
  if (join->history != NULL) conversation_take_history(conversation, join->history);
  if (calibrated || recounted(branch)) conversation->calibration = learnt;
  join->marks = NULL;
  join->windows = NULL;
  join->history = NULL;
}

/* Is this message, which the branch redacted, in both? */
static bool is_redacted_in_both(const Join *join, MessageId id) {
  return id <= join->base->stored && store_has(join->conversation->store, id) && store_has(join->branch->store, id);
}

/* All of redacting that may fail: in a branch it is done to copies, and remembered. */
static Status prepare_redactions(const Join *join) {
  Conversation *conversation = join->conversation;
  for (uint32_t i = 0; conversation->isolated && i < join->branch->redacted_count; i++) {
    size_t size;
    char *bytes;
    MessageId id = join->branch->redacted[i];
    if (!is_redacted_in_both(join, id)) continue;
    Status status = conversation_redact(conversation, id, &bytes, &size);
    if (status != STATUS_OK) return status;      /* copies that say the same are not seen */
  }
  return STATUS_OK;
}

/* Redacts in the conversation what the branch redacted, which has copies of the same size. */
static void redact(const Join *join) {
  for (uint32_t i = 0; i < join->branch->redacted_count; i++) {
    size_t size;
    MessageId id = join->branch->redacted[i];
    if (!is_redacted_in_both(join, id)) continue;
    Text redacted = message_raw(store_message(join->branch->store, id));
    char *bytes = store_bytes(join->conversation->store, id, &size);
    assert(redacted.size == size);
    memcpy(bytes, redacted.bytes, size);
  }
}

/* ---- beside the lists ---- */

static Status join_beside(Join *join) {
  Status status = merge_marks(join);
  if (status == STATUS_OK) status = merge_windows(join);
  if (status == STATUS_OK) status = merge_names(join);
  if (status == STATUS_OK) status = prepare_redactions(join);
  if (status != STATUS_OK) return status;
  redact(join);
  install(join);
  return STATUS_OK;
}

/* ---- the conversation becomes the branch ---- */

/* A compacted branch has copies of all bytes; what was redacted in the conversation or in
   its forks since is not to come back with them. */
static void follow_redactions(const Join *join) {
  const Store *ours = join->conversation->store;
  for (MessageId id = 1; join->branch->compacted && id <= join->base->stored; id++) {
    size_t size;
    if (!store_has(ours, id) || !store_has(join->branch->store, id)) continue;
    Text raw = message_raw(store_message(ours, id));
    char *bytes = store_bytes(join->branch->store, id, &size);
    assert(size == raw.size);
    if (bytes != raw.bytes) memcpy(bytes, raw.bytes, size);
  }
}

static void take_store(Join *join) {
  Conversation *conversation = join->conversation, *branch = join->branch;
  Store *left = conversation->store;
  store_succeed(branch->store, left);
  conversation->store = branch->store;
  branch->store = NULL;
  conversation->counter = branch->counter;
  conversation->scale = branch->scale;
  conversation->overhead = branch->overhead;
  conversation->overhead_guessed = branch->overhead_guessed;
  conversation->compacted |= branch->compacted;
  store_close(left);
}

static Status become(Join *join) {
  Status status = history_fork(join->branch->history, &join->history);
  if (status == STATUS_OK) status = merge_marks(join);
  if (status == STATUS_OK) status = merge_windows(join);
  if (status == STATUS_OK) status = merge_names(join);
  if (status == STATUS_OK) status = prepare_redactions(join);
  if (status != STATUS_OK) return status;
  redact(join);
  follow_redactions(join);
  take_store(join);
  install(join);
  return STATUS_OK;
}

/* ---- the branch's messages come behind the conversation's ---- */

/* The conversation's scale in which a list of the branch weighs. */
static Status scale_here(const Join *join, const Scale *theirs, Scale **ours) {
  Store *store = join->conversation->store;
  *ours = NULL;
  if (theirs == NULL) return STATUS_OK;
  Status status = scale_of(store, &join->conversation->memory, scale_counter(theirs), ours);
  return status == STATUS_OK ? scale_fill_as(*ours, store, theirs, join->base->stored, join->shift) : status;
}

static Status take_messages(const Join *join) {
  Status status = STATUS_OK;
  const Store *store = join->branch->store;
  for (MessageId id = join->base->stored + 1; id <= store_count(store) && status == STATUS_OK; id++) {
    status = store_has(store, id) ? store_take(join->conversation->store, store, id, join->shift)
                                  : store_skip(join->conversation->store, 1);
  }
  return status;
}

static Status renumber(const Join *join, const Sequence *list, Sequence **renumbered) {
  Scale *scale;
  Status status = scale_here(join, sequence_scale(list), &scale);
  if (status != STATUS_OK) return status;
  return sequence_renumber(list, join->conversation->store, scale, join->base->stored, join->shift, renumbered);
}

/* What was appended to the conversation since, beneath a list. */
static Status add_tail(const Join *join, Sequence **list) {
  const Sequence *ours = history_list(join->conversation->history, join->base->batch);
  Status status = STATUS_OK;
  for (uint32_t i = join->base->length; i < sequence_count(ours) && status == STATUS_OK; i++) {
    status = sequence_append(list, sequence_at(ours, i));
  }
  return status;
}

/* Puts a batch of the branch, renumbered, in the place that it has in join->history. */
static Status put_renumbered(Join *join, uint32_t batch) {
  const Sequence *theirs = history_list(join->branch->history, batch);
  Ledger *ledger = history_ledger(join->branch->history, batch), *renumbered = NULL;
  Sequence *list;
  Status status = theirs == NULL ? STATUS_OK : renumber(join, theirs, &list);
  if (status != STATUS_OK || theirs == NULL) return status;
  if (batch == history_current(join->history)) status = add_tail(join, &list);
  if (status == STATUS_OK && ledger != NULL) {
    status = ledger_renumber(ledger, join->branch->store, join->shift, &renumbered);
  }
  if (status == STATUS_OK && renumbered != NULL) status = history_put_ledger(join->history, batch, renumbered);
  if (status == STATUS_OK) renumbered = NULL;
  if (status == STATUS_OK) status = history_replace(join->history, batch, list);
  if (status == STATUS_OK) return status;
  sequence_release(list);
  ledger_release(renumbered);
  return status;
}

/* Our state of the base's batch goes into the branch's history. */
static Status put_base(Join *join) {
  const Sequence *ours = history_list(join->conversation->history, join->base->batch);
  Sequence *list = NULL;
  if (history_list(join->history, join->base->batch) == NULL) return STATUS_OK;      /* the branch pruned it */
  Status status = sequence_share(ours, &list);
  if (status == STATUS_OK) status = history_replace(join->history, join->base->batch, list);
  if (status != STATUS_OK) sequence_release(list);
  return status;
}

/* Has the branch appended to a batch that both have, or made it current? The base's
   batch is ours: the branch did not append to it. */
static bool is_changed(const Join *join, uint32_t batch) {
  const History *ours = join->conversation->history, *theirs = join->branch->history;
  if (batch == join->base->batch) return false;
  return batch == history_current(theirs) || history_batch(theirs, batch).count != history_batch(ours, batch).count;
}

/* The branch's history, with the conversation's messages. Batches that both have are
   looked at only if the branch made one of them current. */
static Status join_all(Join *join) {
  Status status = history_fork(join->branch->history, &join->history);
  if (status == STATUS_OK) status = put_base(join);
  if (status != STATUS_OK) return status;
  uint32_t first = history_counts(join->history).rollbacks != join->base->history.rollbacks ? 0 : join->base->batches;
  for (uint32_t i = first; status == STATUS_OK && i < history_count(join->history); i++) {
    if (i >= join->base->batches || is_changed(join, i)) status = put_renumbered(join, i);
  }
  return status;
}

/* The conversation's history, and one batch that is the branch's list with our tail. */
static Status join_as_one(Join *join) {
  const History *theirs = join->branch->history;
  uint32_t current = history_current(theirs);
  BatchInfo info = history_batch(theirs, current);
  bool is_new = current >= join->base->batches;
  NewBatch batch = {.parent = join->base->batch, .parent_length = base_count(join->conversation->history, join->base),
                    .kind = is_new ? info.kind : BATCH_INSERT, .timestamp = conversation_now(join->conversation),
                    .description = is_new ? info.description : text_of("beside what was appended meanwhile")};
  Ledger *ledger = is_new ? history_ledger(theirs, current) : NULL;
  Text policy_memory = history_policy_memory(theirs, current);
  batch.policy_memory = &policy_memory;
  Status status = history_fork(join->conversation->history, &join->history);
  if (status == STATUS_OK) status = renumber(join, history_list(theirs, current), &batch.list);
  if (status == STATUS_OK) status = add_tail(join, &batch.list);
  if (status == STATUS_OK && ledger != NULL) {
    status = ledger_renumber(ledger, join->branch->store, join->shift, &batch.ledger);
  }
  if (status == STATUS_OK) status = history_add(join->history, &batch);
  if (status == STATUS_OK) return status;
  sequence_release(batch.list);
  ledger_release(batch.ledger);
  return status;
}

/* Messages that the branch let go of, with what only they were for, go here too. */
static Status compact(Join *join) {
  uint32_t removed;
  if (!join->branch->compacted) return STATUS_OK;
  if (join->marks == NULL) join->marks = marks_share(join->conversation->marks);
  return compact_lists(join->conversation->store, join->history, &join->marks, &join->store, &removed);
}

static Status join_lists(Join *join) {
  Scale *scale;
  bool both_grew = base_count(join->branch->history, join->base) > join->base->length;
  if (both_grew) {
    join->shared = (SharedStates){.batches = join->base->batches, .batch = join->base->batch,
                                  .length = join->base->length};
  }
  Status status = take_messages(join);
  if (status == STATUS_OK) status = scale_here(join, join->branch->scale, &scale);
  if (status == STATUS_OK) status = both_grew ? join_as_one(join) : join_all(join);
  if (status == STATUS_OK) status = merge_marks(join);
  if (status == STATUS_OK) status = merge_windows(join);
  if (status == STATUS_OK) status = merge_names(join);
  if (status == STATUS_OK) status = compact(join);
  if (status != STATUS_OK) return status;
  join->conversation->counter = join->branch->counter;
  join->conversation->scale = scale;
  join->conversation->overhead = join->branch->overhead;
  join->conversation->overhead_guessed = join->branch->overhead_guessed;
  return status;
}

static Status join_behind(Join *join) {
  Store *store = join->conversation->store;
  Status status = prepare_redactions(join);
  if (status != STATUS_OK) return status;
  StoreMark mark = store_mark(store);
  join->shift = store_count(store) - join->base->stored;
  status = join_lists(join);
  if (status != STATUS_OK) {
    history_free(join->history);      /* its lists name what is rewound */
    join->history = NULL;
    store_rewind(store, mark);
    return status;
  }
  redact(join);
  install(join);
  if (join->store == NULL) return STATUS_OK;
  conversation_take_store(join->conversation, join->store);
  redact(join);              /* its copies, too */
  return STATUS_OK;
}

/* ---- the whole ---- */

/* A counter that was chosen here since the branch began holds, unless the branch chose one. */
static Status follow_counter(const Conversation *conversation, Conversation *branch) {
  if (recounted(branch) || counter_equal(&branch->counter, &conversation->counter)) return STATUS_OK;
  Status status = conversation_recount(branch, &conversation->counter, (Cost){0});
  if (status != STATUS_OK) return status;
  branch->calibration = branch->base->calibration;      /* what it learnt was about other counts */
  branch->overhead = conversation->overhead;
  branch->overhead_guessed = conversation->overhead_guessed;
  branch->base->counter = branch->counter;
  return STATUS_OK;
}

Status conversation_join(Conversation *conversation, Conversation *branch, bool *changed) {
  Join join = {.conversation = conversation, .branch = branch, .base = branch->base,
               .shared = {.batches = UINT32_MAX, .batch = UINT32_MAX}};
  assert(branch->base != NULL);
  if (conversation_join_conflict(conversation, branch) != JOIN_NONE) return STATUS_ARGUMENT;
  Status status = follow_counter(conversation, branch);
  if (status != STATUS_OK) return status;
  bool lists = branch_changed_lists(branch);
  bool still = store_count(conversation->store) == join.base->stored && !moved_on(conversation->history, join.base);
  *changed = lists || put_windows(branch, join.base);
  status = !lists ? join_beside(&join) : still ? become(&join) : join_behind(&join);
  if (status != STATUS_OK) join_free(&join);
  else if (*changed) conversation_touch(conversation);
  return status;
}
