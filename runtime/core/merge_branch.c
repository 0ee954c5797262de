#include "core/merge_branch.h"

#include <assert.h>
#include <string.h>

#include "core/conversation_data.h"
#include "core/forget.h"
#include "core/merge_memory.h"

/* ---- the beginning ---- */

Status conversation_begin_branch(Conversation *fork, const Conversation *conversation, MergeMemories merge_memories) {
  assert(fork->base == NULL && store_count(fork->store) == store_count(conversation->store));
  BranchBase *base = memory_new(&fork->memory, sizeof *base);
  if (base == NULL) return STATUS_MEMORY;
  const History *history = conversation->history;
  *base = (BranchBase){.origin = conversation, .batch = history_current(history),
                       .length = sequence_count(conversation_list(conversation)),
                       .batches = history_count(history), .stored = store_count(conversation->store),
                       .window_edits = windows_edits(conversation->windows),
                       .history = history_counts(history), .memory_edits = history_memory_edits(history),
                       .marks = marks_share(conversation->marks),
                       .policy_memory = history_share_policy_memory(history, history_current(history)),
                       .merge_memories = merge_memories,
                       .calibration = conversation->calibration, .counter = conversation->counter};
  fork->base = base;
  fork->isolated = true;
  return STATUS_OK;
}

/* ---- changes after the start of the branch ---- */

static bool remembered(const History *history, const BranchBase *base) {
  return history_memory_edits(history) != base->memory_edits;
}

static bool rolled_back(const History *history, const BranchBase *base) {
  return history_counts(history).rollbacks != base->history.rollbacks;
}

/* True if the conversation changed by more than appending to the base's batch and remembering there. Where it rolled
   back and returned, it may have done either at another batch. */
static bool moved_on(const Conversation *conversation, const BranchBase *base) {
  const History *history = conversation->history;
  bool added = remembered(history, base) || store_count(conversation->store) != base->stored;
  return history_count(history) != base->batches || history_current(history) != base->batch ||
         history_counts(history).prunings != base->history.prunings || (added && rolled_back(history, base));
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
  return moved_on(branch, branch->base) || branch->compacted ||
         base_count(branch->history, branch->base) != branch->base->length ||
         recounted(branch);
}

bool conversation_is_branch(const Conversation *branch, const Conversation *conversation) {
  return branch->base != NULL && branch->base->origin == conversation;
}

/* Merges of the policy memory need the conversation at the base's batch, or at one that grew out of it. */
static MergeConflict memory_conflict(const Conversation *conversation, const Conversation *branch) {
  const History *ours = conversation->history;
  const BranchBase *base = branch->base;
  bool left = history_current(ours) != base->batch && rolled_back(ours, base);
  if (left && remembered(branch->history, base)) return MERGE_CONFLICT_LISTS;
  return merge_memory_conflict(ours, branch->history, base) ? MERGE_CONFLICT_MEMORY : MERGE_CONFLICT_NONE;
}

MergeConflict conversation_merge_conflict(const Conversation *conversation, const Conversation *branch) {
  const BranchBase *base = branch->base;
  if (put_windows(branch, base) && put_windows(conversation, base)) return MERGE_CONFLICT_WINDOWS;
  HistoryCounts ours = history_counts(conversation->history), theirs = history_counts(branch->history);
  /* One may have pruned a state that the other named. */
  if (theirs.prunings != base->history.prunings && ours.namings != base->history.namings) return MERGE_CONFLICT_LISTS;
  if (ours.prunings != base->history.prunings && theirs.namings != base->history.namings) return MERGE_CONFLICT_LISTS;
  if (!branch_changed_lists(branch)) return memory_conflict(conversation, branch);
  bool only_grew = !moved_on(conversation, base) && base_count(conversation->history, base) >= base->length;
  if (!only_grew || store_count(conversation->store) < base->stored) return MERGE_CONFLICT_LISTS;
  return memory_conflict(conversation, branch);
}

/* ---- a merge ---- */

/* The future parts of the conversation; NULL: it keeps its own. */
typedef struct Merge {
  Conversation *conversation, *branch;
  const BranchBase *base;
  uint32_t shift;            /* added to the branch's seqs after base->stored */
  SharedStates shared;       /* states of the branch that keep their numbers */
  History *history;
  Marks *marks;
  Windows *windows;
  Store *store;
  Forgotten *forgotten;      /* what forks lose with the branch; NULL: nothing */
} Merge;

static void merge_free(Merge *merge) {
  history_free(merge->history);
  marks_release(merge->marks);
  windows_free(merge->windows);
  forgotten_free(merge->forgotten);
}

static Status merge_marks(Merge *merge) {
  if (marks_edits(merge->branch->marks) == marks_edits(merge->base->marks)) return STATUS_OK;
  merge->marks = marks_share(merge->conversation->marks);
  return marks_merge(&merge->marks, merge->base->marks, merge->branch->marks, merge->base->stored, merge->shift);
}

static Status merge_windows(Merge *merge) {
  if (!put_windows(merge->branch, merge->base)) return STATUS_OK;
  if (merge->shift > 0) {
    return windows_renumber(merge->branch->windows, merge->base->stored, merge->shift, &merge->windows);
  }
  merge->windows = windows_share(merge->branch->windows);
  return STATUS_OK;
}

/* Copies the names of both; for an equal name the branch's state wins. Needs merge->history
   if lists are merged. */
static Status merge_names(Merge *merge) {
  const History *ours = merge->conversation->history, *theirs = merge->branch->history;
  uint64_t since = merge->base->history.namings;
  const SharedStates all = {.batches = UINT32_MAX, .batch = UINT32_MAX};
  if (merge->history == NULL && history_counts(theirs).namings == since) return STATUS_OK;
  Status status = merge->history == NULL ? history_fork(ours, &merge->history) : STATUS_OK;
  if (status == STATUS_OK) status = history_take_names(merge->history, ours, since, &all);
  if (status == STATUS_OK) status = history_take_names(merge->history, theirs, since, &merge->shared);
  return status;
}

/* Merges the policy memory without lists. */
static Status remember(Merge *merge) {
  const History *theirs = merge->branch->history;
  if (!remembered(theirs, merge->base)) return STATUS_OK;
  Status status = merge->history == NULL ? history_fork(merge->conversation->history, &merge->history) : STATUS_OK;
  return status == STATUS_OK ? merge_memory_beside(merge->history, theirs, merge->base) : status;
}

/* Batches that the conversation kept as its own may quote, in memories and texts, what the branch forgot. */
static Status forget_own(Merge *merge) {
  if (merge->forgotten == NULL) return STATUS_OK;
  Status status = merge->history == NULL ? history_fork(merge->conversation->history, &merge->history) : STATUS_OK;
  return status == STATUS_OK ? forgotten_from_history(merge->forgotten, merge->history) : status;
}

/* Installs the parts in the conversation; the last step. Cannot fail. */
static void install(Merge *merge) {
  Conversation *conversation = merge->conversation, *branch = merge->branch;
  conversation->removals += branch->removals;
  conversation->forgettings += merge->forgotten != NULL;
  if (merge->forgotten != NULL) forgotten_apply(merge->forgotten);
  forgotten_free(merge->forgotten);
  merge->forgotten = NULL;
  Calibration calibration = branch->calibration;
  bool calibrated = calibration.reported != merge->base->calibration.reported ||
                    calibration.counted != merge->base->calibration.counted;
  if (merge->marks != NULL) conversation_take_marks(conversation, merge->marks);
  if (merge->windows != NULL) conversation_take_windows(conversation, merge->windows);
  if (merge->history != NULL) conversation_take_history(conversation, merge->history);
  if (calibrated || recounted(branch)) conversation->calibration = calibration;
  merge->marks = NULL;
  merge->windows = NULL;
  merge->history = NULL;
}

/* True if both have the message, which the branch redacted. */
static bool is_redacted_in_both(const Merge *merge, MessageId id) {
  return id <= merge->base->stored && store_has(merge->conversation->store, id) && store_has(merge->branch->store, id);
}

/* Does the part of redacting that may fail: copies the bytes if the conversation is a branch. */
static Status prepare_redactions(const Merge *merge) {
  Conversation *conversation = merge->conversation;
  for (uint32_t i = 0; conversation->isolated && i < merge->branch->redacted_count; i++) {
    size_t size;
    char *bytes;
    MessageId id = merge->branch->redacted[i];
    if (!is_redacted_in_both(merge, id)) continue;
    Status status = conversation_redact(conversation, id, &bytes, &size);
    if (status != STATUS_OK) return status;      /* the end of the merge drops the copies */
  }
  return STATUS_OK;
}

/* Redacts in the conversation the messages that the branch redacted in its copies. */
static void redact(const Merge *merge) {
  for (uint32_t i = 0; i < merge->branch->redacted_count; i++) {
    size_t size;
    MessageId id = merge->branch->redacted[i];
    if (!is_redacted_in_both(merge, id)) continue;
    Text redacted = message_raw(store_message(merge->branch->store, id));
    char *bytes = store_bytes(merge->conversation->store, id, &size);
    assert(redacted.size == size);
    memcpy(bytes, redacted.bytes, size);
  }
}

/* ---- without lists ---- */

static Status merge_beside(Merge *merge) {
  Status status = merge_marks(merge);
  if (status == STATUS_OK) status = merge_windows(merge);
  if (status == STATUS_OK) status = merge_names(merge);
  if (status == STATUS_OK) status = remember(merge);
  if (status == STATUS_OK) status = forget_own(merge);
  if (status == STATUS_OK) status = prepare_redactions(merge);
  if (status != STATUS_OK) return status;
  redact(merge);
  install(merge);
  return STATUS_OK;
}

/* ---- without new messages: the conversation takes over the branch ---- */

/* Copies redactions of the conversation and its forks to a compacted branch, which has its
   own bytes. */
static void follow_redactions(const Merge *merge) {
  const Store *ours = merge->conversation->store;
  for (MessageId id = 1; merge->branch->compacted && id <= merge->base->stored; id++) {
    size_t size;
    if (!store_has(ours, id) || !store_has(merge->branch->store, id)) continue;
    Text raw = message_raw(store_message(ours, id));
    char *bytes = store_bytes(merge->branch->store, id, &size);
    assert(size == raw.size);
    if (bytes != raw.bytes) memcpy(bytes, raw.bytes, size);
  }
}

static void take_store(Merge *merge) {
  Conversation *conversation = merge->conversation, *branch = merge->branch;
  Store *left = conversation->store;
  store_succeed(branch->store, left);
  conversation->store = branch->store;
  branch->store = NULL;
  conversation->counter = branch->counter;
  conversation->weights = branch->weights;
  conversation->overhead = branch->overhead;
  conversation->overhead_guessed = branch->overhead_guessed;
  conversation->compacted |= branch->compacted;
  store_close(left);
}

static Status become(Merge *merge) {
  Status status = history_fork(merge->branch->history, &merge->history);
  if (status == STATUS_OK) status = merge_memory_behind(merge->history, merge->conversation->history, merge->base);
  if (status == STATUS_OK) status = merge_marks(merge);
  if (status == STATUS_OK) status = merge_windows(merge);
  if (status == STATUS_OK) status = merge_names(merge);
  if (status == STATUS_OK) status = forget_own(merge);
  if (status == STATUS_OK) status = prepare_redactions(merge);
  if (status != STATUS_OK) return status;
  redact(merge);
  follow_redactions(merge);
  take_store(merge);
  install(merge);
  return STATUS_OK;
}

/* ---- with new messages: the branch's messages follow the conversation's ---- */

/* The conversation's token weights for those of a list of the branch. */
static Status weights_here(const Merge *merge, const TokenWeights *theirs, TokenWeights **ours) {
  Store *store = merge->conversation->store;
  *ours = NULL;
  if (theirs == NULL) return STATUS_OK;
  Status status = token_weights_open(store, &merge->conversation->memory, token_weights_counter(theirs), ours);
  if (status != STATUS_OK) return status;
  return token_weights_fill_from(*ours, store, theirs, merge->base->stored, merge->shift);
}

static Status take_messages(const Merge *merge) {
  Status status = STATUS_OK;
  const Store *store = merge->branch->store;
  for (MessageId id = merge->base->stored + 1; id <= store_count(store) && status == STATUS_OK; id++) {
    status = store_has(store, id) ? store_take(merge->conversation->store, store, id, merge->shift)
                                  : store_skip(merge->conversation->store, 1);
  }
  return status;
}

static Status renumber(const Merge *merge, const Sequence *list, Sequence **renumbered) {
  TokenWeights *weights;
  Status status = weights_here(merge, sequence_token_weights(list), &weights);
  if (status != STATUS_OK) return status;
  return sequence_renumber(list, merge->conversation->store, weights, merge->base->stored, merge->shift, renumbered);
}

/* Appends the conversation's new messages to a list. */
static Status add_tail(const Merge *merge, Sequence **list) {
  const Sequence *ours = history_list(merge->conversation->history, merge->base->batch);
  Status status = STATUS_OK;
  for (uint32_t i = merge->base->length; i < sequence_count(ours) && status == STATUS_OK; i++) {
    status = sequence_append(list, sequence_at(ours, i));
  }
  return status;
}

/* Renumbers a batch of the branch in merge->history. */
static Status put_renumbered(Merge *merge, uint32_t batch) {
  const Sequence *theirs = history_list(merge->branch->history, batch);
  Ledger *ledger = history_ledger(merge->branch->history, batch), *renumbered = NULL;
  Sequence *list;
  Status status = theirs == NULL ? STATUS_OK : renumber(merge, theirs, &list);
  if (status != STATUS_OK || theirs == NULL) return status;
  if (batch == history_current(merge->history)) status = add_tail(merge, &list);
  if (status == STATUS_OK && ledger != NULL) {
    status = ledger_renumber(ledger, merge->branch->store, merge->shift, &renumbered);
  }
  if (status == STATUS_OK && renumbered != NULL) status = history_put_ledger(merge->history, batch, renumbered);
  if (status == STATUS_OK) renumbered = NULL;
  if (status == STATUS_OK) status = history_replace(merge->history, batch, list);
  if (status == STATUS_OK) return status;
  sequence_release(list);
  ledger_release(renumbered);
  return status;
}

/* Puts the conversation's list of the base's batch into the branch's history. */
static Status put_base(Merge *merge) {
  const Sequence *ours = history_list(merge->conversation->history, merge->base->batch);
  Sequence *list = NULL;
  if (history_list(merge->history, merge->base->batch) == NULL) return STATUS_OK;      /* the branch pruned it */
  Status status = sequence_share(ours, &list);
  if (status == STATUS_OK) status = history_replace(merge->history, merge->base->batch, list);
  if (status != STATUS_OK) sequence_release(list);
  return status;
}

/* True if the branch appended to a batch of both, or made it current. False for the base's
   batch, to which the branch did not append. */
static bool is_changed(const Merge *merge, uint32_t batch) {
  const History *ours = merge->conversation->history, *theirs = merge->branch->history;
  if (batch == merge->base->batch) return false;
  return batch == history_current(theirs) || history_batch(theirs, batch).count != history_batch(ours, batch).count;
}

/* Builds the branch's history with the conversation's new messages. Batches of both need a
   look only if the branch made one of them current. */
static Status merge_all(Merge *merge) {
  Status status = history_fork(merge->branch->history, &merge->history);
  if (status == STATUS_OK) status = put_base(merge);
  if (status != STATUS_OK) return status;
  uint32_t first = rolled_back(merge->history, merge->base) ? 0 : merge->base->batches;
  for (uint32_t i = first; status == STATUS_OK && i < history_count(merge->history); i++) {
    if (i >= merge->base->batches || is_changed(merge, i)) status = put_renumbered(merge, i);
  }
  if (status != STATUS_OK) return status;
  return merge_memory_behind(merge->history, merge->conversation->history, merge->base);
}

/* Adds a batch to merge->history: a list of the branch, the ledger of its batch, and the new messages. */
static Status add_batch(Merge *merge, uint32_t theirs, Ledger *ledger, NewBatch *batch) {
  const History *history = merge->branch->history;
  batch->parent = history_current(merge->history);
  batch->parent_length = history_batch(merge->history, batch->parent).count;
  batch->timestamp = conversation_now(merge->conversation);
  Status status = renumber(merge, history_list(history, theirs), &batch->list);
  if (status == STATUS_OK) status = add_tail(merge, &batch->list);
  if (status == STATUS_OK && ledger != NULL) {
    status = ledger_renumber(ledger, merge->branch->store, merge->shift, &batch->ledger);
  }
  if (status == STATUS_OK) status = history_add(merge->history, batch);
  if (status == STATUS_OK) return status;
  sequence_release(batch->list);
  ledger_release(batch->ledger);
  return status;
}

/* Adds a batch with what both appended, which the branch's edits may have removed: to undo them leads there. */
static Status add_grown(Merge *merge) {
  NewBatch batch = {.kind = BATCH_INSERT, .description = text_of("merged with messages appended meanwhile")};
  if (history_list(merge->branch->history, merge->base->batch) == NULL) return STATUS_OK;      /* it was pruned */
  return add_batch(merge, merge->base->batch, NULL, &batch);
}

/* Adds a batch with what the branch's edits led to. */
static Status add_edited(Merge *merge, Text policy_memory) {
  const History *theirs = merge->branch->history;
  uint32_t current = history_current(theirs);
  BatchInfo info = history_batch(theirs, current);
  bool is_new = current >= merge->base->batches;
  NewBatch batch = {.kind = is_new ? info.kind : BATCH_INSERT, .policy_memory = &policy_memory,
                    .description = is_new ? info.description : text_of("merged with messages appended meanwhile")};
  return add_batch(merge, current, is_new ? history_ledger(theirs, current) : NULL, &batch);
}

/* Builds the conversation's history with a batch more, or with two if the branch did more than append. */
static Status merge_as_one(Merge *merge) {
  const History *theirs = merge->branch->history;
  Buffer policy_memory;
  buffer_init(&policy_memory, merge->conversation->memory);
  Status status = history_fork(merge->conversation->history, &merge->history);
  if (status == STATUS_OK) {
    status = merge_memory_as_one(merge->conversation->history, theirs, merge->base, &policy_memory);
  }
  if (status == STATUS_OK && history_current(theirs) != merge->base->batch) status = add_grown(merge);
  if (status == STATUS_OK) status = add_edited(merge, text_plain(policy_memory.bytes, policy_memory.size));
  buffer_free(&policy_memory);
  return status;
}

/* Removes the messages that the branch removed by a compaction. */
static Status compact(Merge *merge) {
  uint32_t removed;
  if (!merge->branch->compacted) return STATUS_OK;
  if (merge->marks == NULL) merge->marks = marks_share(merge->conversation->marks);
  return compact_lists(merge->conversation->store, merge->history, &merge->marks, &merge->store, &removed);
}

/* Takes the branch's messages over and builds history, marks, windows and names of the merged conversation, all beside
   the present ones. */
static Status merge_lists(Merge *merge) {
  TokenWeights *weights;
  bool both_grew = base_count(merge->branch->history, merge->base) > merge->base->length;
  if (both_grew) {
    merge->shared = (SharedStates){.batches = merge->base->batches, .batch = merge->base->batch,
                                   .length = merge->base->length};
  }
  Status status = take_messages(merge);
  if (status == STATUS_OK) status = weights_here(merge, merge->branch->weights, &weights);
  if (status == STATUS_OK) status = both_grew ? merge_as_one(merge) : merge_all(merge);
  if (status == STATUS_OK) status = merge_marks(merge);
  if (status == STATUS_OK) status = merge_windows(merge);
  if (status == STATUS_OK) status = merge_names(merge);
  if (status == STATUS_OK) status = compact(merge);
  if (status == STATUS_OK) status = forget_own(merge);
  if (status != STATUS_OK) return status;
  merge->conversation->counter = merge->branch->counter;
  merge->conversation->weights = weights;
  merge->conversation->overhead = merge->branch->overhead;
  merge->conversation->overhead_guessed = merge->branch->overhead_guessed;
  return status;
}

/* Merges a branch whose conversation has grown since. All that may fail happens before the first change of the
   conversation; on failure the store is rewound. */
static Status merge_behind(Merge *merge) {
  Store *store = merge->conversation->store;
  Status status = prepare_redactions(merge);
  if (status != STATUS_OK) return status;
  StoreMark mark = store_mark(store);
  assert(store_count(store) >= merge->base->stored);
  merge->shift = store_count(store) - merge->base->stored;
  status = merge_lists(merge);
  if (status != STATUS_OK) {
    history_free(merge->history);      /* its lists have messages that are rewound */
    merge->history = NULL;
    store_rewind(store, mark);
    return status;
  }
  redact(merge);
  install(merge);
  if (merge->store == NULL) return STATUS_OK;
  conversation_take_store(merge->conversation, merge->store);
  redact(merge);              /* also in the copies of the new store */
  return STATUS_OK;
}

/* ---- merging ---- */

/* Recounts the branch if the conversation's counter changed, unless the branch changed its own. */
static Status follow_counter(const Conversation *conversation, Conversation *branch) {
  if (recounted(branch) || counter_equal(&branch->counter, &conversation->counter)) return STATUS_OK;
  Status status = conversation_recount(branch, &conversation->counter, (Cost){0});
  if (status != STATUS_OK) return status;
  branch->calibration = branch->base->calibration;      /* its reports were about other counts */
  branch->overhead = conversation->overhead;
  branch->overhead_guessed = conversation->overhead_guessed;
  branch->base->counter = branch->counter;
  return STATUS_OK;
}

Status conversation_merge_branch(Conversation *conversation, Conversation *branch, bool *changed) {
  Merge merge = {.conversation = conversation, .branch = branch, .base = branch->base,
                 .shared = {.batches = UINT32_MAX, .batch = UINT32_MAX}};
  assert(branch->base != NULL && branch->isolated && branch != conversation);
  if (conversation_merge_conflict(conversation, branch) != MERGE_CONFLICT_NONE) return STATUS_ARGUMENT;
  Status status = follow_counter(conversation, branch);
  if (status != STATUS_OK) return status;
  bool lists = branch_changed_lists(branch);
  bool still = store_count(conversation->store) == merge.base->stored && !moved_on(conversation, merge.base);
  *changed = lists || put_windows(branch, merge.base) || remembered(branch->history, merge.base);
  status = forgotten_prepare(conversation, branch, &merge.forgotten);
  bool forgets = merge.forgotten != NULL;      /* also in its batches, whose state is then taken over */
  if (status != STATUS_OK) return status;
  status = !lists && !(forgets && still) ? merge_beside(&merge) : still ? become(&merge) : merge_behind(&merge);
  conversation_settle_redactions(conversation, status == STATUS_OK);
  assert(status != STATUS_OK || (merge.marks == NULL && merge.windows == NULL && merge.history == NULL));
  if (status != STATUS_OK) merge_free(&merge);
  else if (*changed) conversation_touch(conversation);
  return status;
}
