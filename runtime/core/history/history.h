/*
** History: the batches of a conversation, a tree. Ids of visible messages, by
** batch:
**
**     batch 0   0 1 2 3 4 5      grew by appending
**       batch 1   0 4 5          truncate, when batch 0 had 6
**         batch 2   0 4 6 5      insert          <- current
**
** Only the current batch grows, and only by appending. Any other edit starts a
** new batch, which stores its parent and the parent's length. So a rollback only
** chooses a batch, and (batch, length) names every state that was ever visible.
**
** A checkpoint is a name for such a state. Pruning frees the lists of old batches. The
** policy memory is a JSON object that policies keep at each batch; it has nothing to do
** with `Memory`, the allocator.
**
** Batches are numbered from 0; functions require batch < history_count unless they
** return STATUS_RANGE for others. On failure nothing has changed.
*/
#ifndef EBB_CORE_HISTORY_H
#define EBB_CORE_HISTORY_H

#include "core/history/checkpoint.h"
#include "core/history/ledger.h"
#include "core/list/sequence.h"

#define BATCH_NONE UINT32_MAX
#define BATCH_DESCRIPTION_MAX 4096            /* bytes of a caller's own description */
#define POLICY_MEMORY_MAX  ((size_t)1 << 20)  /* bytes of the policy memory of one batch */
#ifndef POLICY_MEMORY_KEPT
#define POLICY_MEMORY_KEPT ((size_t)16 << 20) /* and of all batches: beyond it the oldest ones forget */
#endif

typedef enum BatchKind {
  BATCH_CREATE, BATCH_INSERT, BATCH_REPLACE, BATCH_TRUNCATE, BATCH_CLEAR, BATCH_FILTER, BATCH_TRIM, BATCH_ROLLBACK,
  BATCH_REPAIR, BATCH_VARIABLES
} BatchKind;

const char *batch_kind_name(BatchKind kind);   /* "create", "insert", ...; static */
bool        batch_kind_parse(const char *name, BatchKind *kind);     /* false for other names */

typedef struct BatchInfo {
  uint32_t index, parent, parent_length;   /* parent: BATCH_NONE for batch 0 */
  BatchKind kind;
  uint32_t born;             /* messages at its creation, never more than `count` */
  uint32_t count;            /* messages now */
  int64_t timestamp;         /* of its creation; ms since 1970 */
  Text description;          /* borrowed, as the name, until the next change of the history */
  Text name;                 /* of the newest checkpoint in it; size 0: none */
  uint32_t name_length;      /* messages of the named state */
  bool pruned;               /* it has no list any more */
} BatchInfo;

typedef struct History History;

/* Creates a history with one batch of `list`, which it takes over on success. STATUS_MEMORY. */
Status   history_new(const Memory *memory, Sequence *list, int64_t timestamp, History **history);
/* Creates an independent history that shares all batches and checkpoints. O(1); the next naming in
   either copies the checkpoints. STATUS_MEMORY. */
Status   history_fork(const History *history, History **fork);
void     history_free(History *history);   /* NULL is allowed */
const Memory *history_memory(const History *history);

uint32_t history_count(const History *history);
uint32_t history_current(const History *history);
BatchInfo history_batch(const History *history, uint32_t batch);      /* batch < count */
Ledger  *history_ledger(const History *history, uint32_t batch);      /* NULL: none; borrowed */
const Sequence *history_list(const History *history, uint32_t batch); /* borrowed; NULL: pruned */

/* The policy memory of a batch, a JSON object; size 0: empty. A new batch inherits its
   parent's. Beyond POLICY_MEMORY_KEPT bytes the oldest batches but the current one lose
   theirs. Borrowed until a batch gets another one or is pruned. */
Text     history_policy_memory(const History *history, uint32_t batch);
/* Sets the policy memory of a batch to a copy of `text`; no change if it is equal. Descendants
   of the batch stay as they are. STATUS_MEMORY; STATUS_LIMIT beyond POLICY_MEMORY_MAX. */
Status   history_remember(History *history, uint32_t batch, Text text);
/* Number of changes by history_remember, including those before a fork. */
uint64_t history_memory_edits(const History *history);
/* Empties the policy memory of all batches, and puts "[forgotten]" in the place of descriptions, reasons and notes that
   a filter finds. STATUS_MEMORY: some of it may be done. */
Status   history_forget(History *history, TextFilter filter);
/* Adds memory edits and rollbacks of another history, which is merged into this one. */
void     history_count_edits(History *history, uint64_t memory_edits, uint64_t rollbacks);

/* A policy memory with several owners. */
typedef struct PolicyMemory PolicyMemory;
PolicyMemory *history_share_policy_memory(const History *history, uint32_t batch);     /* NULL: empty */
Text     policy_memory_text(const PolicyMemory *policy_memory);      /* NULL is allowed, here and below */
void     policy_memory_release(const Memory *memory, PolicyMemory *policy_memory);

/* How many messages of a batch's list after its birth have consecutive seqs, in order: mostly all. O(1) but for
   messages added since the last call. */
uint32_t history_straight(const History *history, uint32_t batch);
/* Replaces the list of a batch by another list of the same messages; takes it over on
   success. STATUS_MEMORY. */
Status   history_put(History *history, uint32_t batch, Sequence *list);
/* Replaces the list of a batch by one with at least `born` messages; takes it over on
   success. STATUS_MEMORY. */
Status   history_replace(History *history, uint32_t batch, Sequence *list);
/* Replaces the ledger of a batch; takes it over on success. STATUS_MEMORY. */
Status   history_put_ledger(History *history, uint32_t batch, Ledger *ledger);

/* Gives the current list for appending only; valid until the history is changed or forked. Copies
   a batch that is shared with a fork. STATUS_MEMORY. */
Status   history_grow(History *history, Sequence ***list);

/* A batch to add: a child of `parent` when that had `parent_length` messages. */
typedef struct NewBatch {
  Sequence *list;
  uint32_t parent, parent_length;
  BatchKind kind;
  Text description;
  Ledger *ledger;
  int64_t timestamp;
  const Text *policy_memory; /* NULL: inherited from its parent */
} NewBatch;

/* Adds a batch and makes it current. Takes over `list` and `ledger` (NULL: none) on success; copies
   the texts. STATUS_MEMORY; STATUS_LIMIT beyond 2^32 - 1 batches or POLICY_MEMORY_MAX. */
Status   history_add(History *history, const NewBatch *batch);

/* Makes a batch current. STATUS_RANGE, and nothing changes, if it does not exist or was pruned. */
Status   history_rollback(History *history, uint32_t batch);

/* Gives the list of a batch when it had `length` messages; the caller owns it. STATUS_RANGE
   unless born <= length <= count, and if the batch was pruned; STATUS_MEMORY. */
Status   history_state(const History *history, uint32_t batch, uint32_t length, Sequence **list);

/* Prunes all batches but the newest `keep`, the current one and those with a checkpoint:
   frees their lists, so that they cannot become current. Their numbers are not reused.
   *pruned gets their number. STATUS_MEMORY. */
Status   history_prune(History *history, uint32_t keep, uint32_t *pruned);

/* Makes the current state a checkpoint; a name in use moves to it. Copies the name. STATUS_MEMORY. */
Status   history_name(History *history, Text name);
/* Numbers of namings, rollbacks and prunings, including those before a fork. */
typedef struct HistoryCounts {
  uint64_t namings, rollbacks, prunings;
} HistoryCounts;
HistoryCounts history_counts(const History *history);

/* The states that two histories share: of the first `batches` batches, and of `batch` only
   the first `length` messages. */
typedef struct SharedStates {
  uint32_t batches, batch, length;
} SharedStates;
/* Copies the names that another history gave after its first `since` namings. The name of a
   state that is not shared names the current state. STATUS_MEMORY: some names may be copied. */
Status   history_take_names(History *history, const History *other, uint64_t since, const SharedStates *shared);
/* Finds a checkpoint by its name; false for other names. */
bool     history_find(const History *history, Text name, uint32_t *batch, uint32_t *length);

/* The checkpoints; NULL: none. Borrowed until the next naming. */
const Checkpoints *history_checkpoints(const History *history);

/* ---- reading saved state: batch by batch, then the checkpoints ---- */

/* Creates an empty history; call history_add for batch 0 before any other function. `key` is for its
   table of names. STATUS_MEMORY. */
Status   history_new_empty(const Memory *memory, const HashKey *key, History **history);
/* Adds a pruned batch that had grown from `born` to `count` messages; batch->list and
   batch->ledger are NULL. The caller makes another batch current afterwards. STATUS_MEMORY,
   STATUS_LIMIT. */
Status   history_add_pruned(History *history, const NewBatch *batch, uint32_t born, uint32_t count);
/* Adds a checkpoint whose name is new. STATUS_MEMORY. */
Status   history_add_checkpoint(History *history, Text name, uint32_t batch, uint32_t length);

/* Asserts every invariant, lists and ledgers included, for tests: O(all messages of all batches). */
void     history_check(const History *history);

#endif
