/*
** History: the batches of a conversation, a tree. Ids of visible messages, by
** batch:
**
**     batch 0   0 1 2 3 4 5      grew by appending
**       batch 1   0 4 5          truncate, when batch 0 had 6
**         batch 2   0 4 6 5      insert          <- current
**
** Only the current batch grows, and only by appending. Any other edit starts a
** new batch, which remembers its parent and how long that was: so to roll back
** is to choose a batch, and every state ever visible is (batch, length).
*/
#ifndef EBB_CORE_HISTORY_H
#define EBB_CORE_HISTORY_H

#include "core/ledger.h"
#include "core/sequence.h"

#define BATCH_NONE UINT32_MAX
#define POLICY_MEMORY_MAX ((size_t)1 << 20)   /* bytes of what policies remember at one batch */

typedef enum BatchKind {
  BATCH_CREATE, BATCH_INSERT, BATCH_REPLACE, BATCH_TRUNCATE, BATCH_CLEAR, BATCH_FILTER, BATCH_TRIM, BATCH_ROLLBACK,
  BATCH_REPAIR
} BatchKind;

const char *batch_kind_name(BatchKind kind);   /* "create", "insert", ...; static */
bool        batch_kind_parse(const char *name, BatchKind *kind);

typedef struct BatchInfo {
  uint32_t index, parent, parent_length;   /* parent: BATCH_NONE for batch 0 */
  BatchKind kind;
  uint32_t born;             /* messages when it was made; it never has fewer */
  uint32_t count;            /* messages now */
  int64_t timestamp;         /* ms */
  Text description;
  Text name;                 /* of the newest checkpoint in it; size 0: none */
  uint32_t name_length;      /* messages of the state that it names */
  bool pruned;               /* its messages can no longer be seen */
} BatchInfo;

typedef struct History History;

/* Takes over `list` on success. */
Status   history_new(const Memory *memory, Sequence *list, int64_t timestamp, History **history);
/* An independent history that shares all batches and checkpoints. O(1); who names a state next copies
   the checkpoints. */
Status   history_fork(const History *history, History **fork);
void     history_free(History *history);   /* NULL is allowed */

uint32_t history_count(const History *history);
uint32_t history_current(const History *history);
BatchInfo history_batch(const History *history, uint32_t batch);      /* batch < count */
Ledger  *history_ledger(const History *history, uint32_t batch);      /* NULL: none; borrowed */
const Sequence *history_list(const History *history, uint32_t batch); /* borrowed; NULL: pruned */

/* What policies remember at a batch, as the JSON object that the caller gave; size 0: nothing.
   A batch has what its parent had when it was added, until it is given its own. Borrowed until the
   batch is given another, or pruned. */
Text     history_policy_memory(const History *history, uint32_t batch);
/* Gives a batch a copy of `text`; nothing changes if it has that already. Batches that were added
   below it stay as they are. STATUS_MEMORY; STATUS_LIMIT beyond POLICY_MEMORY_MAX. */
Status   history_remember(History *history, uint32_t batch, Text text);
/* Grows whenever history_remember changes something, and goes with forks. */
uint64_t history_memory_edits(const History *history);

/* Puts another list of the same messages in the place of a batch's; takes it over
   on success. STATUS_MEMORY, as below. */
Status   history_put(History *history, uint32_t batch, Sequence *list);
/* Puts any list that has as many messages as the batch was born with, or more, in the
   place of a batch's; takes it over on success. STATUS_MEMORY. */
Status   history_replace(History *history, uint32_t batch, Sequence *list);
/* The same for its ledger. */
Status   history_put_ledger(History *history, uint32_t batch, Ledger *ledger);

/* The current list, for appending only; valid until the history is changed or
   forked. STATUS_MEMORY: forks share what must be copied. */
Status   history_grow(History *history, Sequence ***list);

/* Starts a batch as the child of `parent` when that had `parent_length` messages,
   and makes it current. Takes over `list` and `ledger` (NULL: none) on success.
   STATUS_MEMORY, STATUS_LIMIT. */
typedef struct NewBatch {
  Sequence *list;
  uint32_t parent, parent_length;
  BatchKind kind;
  Text description;
  Ledger *ledger;
  int64_t timestamp;
  const Text *policy_memory; /* NULL: its parent's */
} NewBatch;

Status   history_add(History *history, const NewBatch *batch);

/* Makes a batch current. STATUS_RANGE, and nothing changes, if there is none or it was pruned. */
Status   history_rollback(History *history, uint32_t batch);

/* The state of a batch when it had `length` messages, as a new owner's list.
   STATUS_RANGE unless born <= length <= count, or if it was pruned. */
Status   history_state(const History *history, uint32_t batch, uint32_t length, Sequence **list);

/* Lets go of all batches but the newest `keep`, the current one and those with a
   checkpoint. Their numbers are not used again, and they cannot be rolled back
   to. *pruned gets how many went. STATUS_MEMORY. */
Status   history_prune(History *history, uint32_t keep, uint32_t *pruned);

/* Checkpoints: names for states. A name used again moves. */
Status   history_name(History *history, Text name);
/* How often states were named, batches made current again, and pruned: what a fork
   had from the start included. */
typedef struct HistoryCounts {
  uint64_t namings, rollbacks, prunings;
} HistoryCounts;
HistoryCounts history_counts(const History *history);

/* Names here what another history named after its first `since` namings. A state that
   is not in the first `batches` batches, or not within the first `length` messages of
   `batch`, becomes the present one. STATUS_MEMORY: some may be named already. */
typedef struct SharedStates {
  uint32_t batches, batch, length;
} SharedStates;
Status   history_take_names(History *history, const History *other, uint64_t since, const SharedStates *shared);
bool     history_find(const History *history, Text name, uint32_t *batch, uint32_t *length);

/* The checkpoints there are, in the order in which they were named. index < count */
uint32_t history_checkpoint_count(const History *history);
Text     history_checkpoint(const History *history, uint32_t index, uint32_t *batch, uint32_t *length);

/* ---- reading a history back: batch by batch, then its checkpoints ---- */

/* One without batches, which is good for nothing until history_add made batch 0. */
Status   history_new_empty(const Memory *memory, History **history);
/* Adds a batch that was pruned when it had grown from `born` to `count` messages;
   batch->list and its ledger are NULL. Another one must become current. */
Status   history_add_pruned(History *history, const NewBatch *batch, uint32_t born, uint32_t count);
Status   history_add_checkpoint(History *history, Text name, uint32_t batch, uint32_t length);

#endif
