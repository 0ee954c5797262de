#include "core/history/batch.h"

#include <assert.h>

#include "base/minmax.h"
#include "base/names.h"
#include "core/message/store.h"

struct History {
  Memory memory;
  HashKey key;
  Batches batches;
  uint32_t current;
  HistoryCounts counts;
  Checkpoints *checkpoints;  /* NULL: none */
  uint64_t memory_edits;
  size_t remembered;         /* bytes of policy memories; neighbours that share one count once */
  uint32_t forgotten;        /* batches before it have no policy memory, but for the current one */
};

static const char *const KIND_NAMES[] = {"create", "insert", "replace", "truncate", "clear", "filter", "trim",
                                         "rollback", "repair", "variables"};

const char *batch_kind_name(BatchKind kind) { return KIND_NAMES[kind]; }

bool batch_kind_parse(const char *name, BatchKind *kind) {
  size_t index = NAMES_FIND(KIND_NAMES, text_of(name));
  if (index == COUNT_OF(KIND_NAMES)) return false;
  *kind = (BatchKind)index;
  return true;
}

/* ---- lives ---- */

Status history_new_empty(const Memory *memory, const HashKey *key, History **result) {
  History *history = memory_new(memory, sizeof *history);
  if (history == NULL) return STATUS_MEMORY;
  *history = (History){.memory = *memory, .key = *key, .batches = {.memory = *memory}};
  *result = history;
  return STATUS_OK;
}

Status history_new(const Memory *memory, Sequence *list, int64_t timestamp, History **result) {
  History *history;
  Status status = history_new_empty(memory, store_hash_key(sequence_store(list)), &history);
  if (status != STATUS_OK) return status;
  Batch first = {.list = list, .parent = BATCH_NONE, .kind = BATCH_CREATE, .timestamp = timestamp};
  status = batches_push(&history->batches, &first, text_of(""));
  if (status == STATUS_OK) *result = history;
  else history_free(history);
  return status;
}

Status history_fork(const History *history, History **result) {
  History *fork;
  Status status = history_new_empty(&history->memory, &history->key, &fork);
  if (status != STATUS_OK) return status;
  fork->batches = batches_share(&history->batches);
  fork->checkpoints = checkpoints_share(history->checkpoints);
  fork->counts = history->counts;
  fork->current = history->current;
  fork->memory_edits = history->memory_edits;
  fork->remembered = history->remembered;
  fork->forgotten = history->forgotten;
  *result = fork;
  return STATUS_OK;
}

void history_free(History *history) {
  if (history == NULL) return;
  Memory memory = history->memory;
  batches_free(&history->batches);
  checkpoints_release(history->checkpoints);
  memory_free(&memory, history, sizeof *history);
}

const Memory *history_memory(const History *history) { return &history->memory; }
uint32_t history_count(const History *history) { return history->batches.count; }
uint32_t history_current(const History *history) { return history->current; }

static const Batch *at(const History *history, uint32_t batch) { return batches_at(&history->batches, batch); }

Ledger *history_ledger(const History *history, uint32_t batch) { return at(history, batch)->ledger; }
const Sequence *history_list(const History *history, uint32_t batch) { return at(history, batch)->list; }

Status history_grow(History *history, Sequence ***list) {
  Batch *current;
  Status status = batches_own(&history->batches, history->current, &current);
  if (status == STATUS_OK) *list = &current->list;
  return status;
}

Status history_put(History *history, uint32_t batch, Sequence *list) {
  uint32_t straight = at(history, batch)->straight;
  Batch *entry;
  assert(sequence_count(list) == sequence_count(at(history, batch)->list));
  Status status = history_replace(history, batch, list);
  if (status != STATUS_OK) return status;
  status = batches_own(&history->batches, batch, &entry);
  assert(status == STATUS_OK && entry->list == list);      /* it is its own by now */
  entry->straight = straight;
  return STATUS_OK;
}

Status history_replace(History *history, uint32_t batch, Sequence *list) {
  Batch *entry;
  assert(sequence_count(list) >= at(history, batch)->born);
  Status status = batches_own(&history->batches, batch, &entry);
  if (status != STATUS_OK) return status;
  assert(entry->list != list);
  sequence_release(entry->list);
  entry->list = list;
  entry->straight = 0;
  return STATUS_OK;
}

Status history_put_ledger(History *history, uint32_t batch, Ledger *ledger) {
  Batch *entry;
  Status status = batches_own(&history->batches, batch, &entry);
  if (status != STATUS_OK) return status;
  ledger_release(entry->ledger);
  entry->ledger = ledger;
  return STATUS_OK;
}

uint32_t history_straight(const History *history, uint32_t batch) {
  return batches_straight(&history->batches, batch);
}

BatchInfo history_batch(const History *history, uint32_t batch) {
  const Batch *entry = at(history, batch);
  BatchInfo info = {.index = batch, .parent = entry->parent, .parent_length = entry->parent_length,
                    .kind = entry->kind, .born = entry->born, .pruned = entry->list == NULL,
                    .count = entry->list == NULL ? entry->count : sequence_count(entry->list),
                    .timestamp = entry->timestamp,
                    .description = text_plain(entry->description, entry->description_size)};
  const Checkpoint *newest = checkpoints_newest(history->checkpoints, batch);
  if (newest != NULL) {
    info.name = newest->name;
    info.name_length = newest->length;
  }
  return info;
}

/* ---- memory of policies ---- */

Text policy_memory_text(const PolicyMemory *policy_memory) {
  return policy_memory == NULL ? text_plain("", 0) : text_plain(policy_memory->bytes, policy_memory->size);
}

Text history_policy_memory(const History *history, uint32_t batch) {
  return policy_memory_text(at(history, batch)->policy_memory);
}

PolicyMemory *history_share_policy_memory(const History *history, uint32_t batch) {
  PolicyMemory *policy_memory = at(history, batch)->policy_memory;
  if (policy_memory != NULL) policy_memory->owners++;
  return policy_memory;
}

uint64_t history_memory_edits(const History *history) { return history->memory_edits; }

void history_count_edits(History *history, uint64_t memory_edits, uint64_t rollbacks) {
  history->memory_edits += memory_edits;
  history->counts.rollbacks += rollbacks;
}

/* A share of `inherited` if its text is equal, else a copy of the text; NULL for an empty text. */
static Status policy_memory_of(const History *history, Text text, PolicyMemory *inherited, PolicyMemory **result) {
  if (text_equal(text, policy_memory_text(inherited))) {
    if (inherited != NULL) inherited->owners++;
    *result = inherited;
    return STATUS_OK;
  }
  *result = NULL;
  return text.size == 0 ? STATUS_OK : policy_memory_new(&history->memory, text, result);
}

/* Bytes that the batch counts for: 0 if the next one has the same policy memory. */
static size_t remembered_at(const History *history, uint32_t batch) {
  const PolicyMemory *policy_memory = at(history, batch)->policy_memory;
  bool shared = batch + 1 < history->batches.count && at(history, batch + 1)->policy_memory == policy_memory;
  return policy_memory == NULL || shared ? 0 : policy_memory->size;
}

/* Gives a batch, already this history's own, a policy memory, which it takes over. */
static void set_policy_memory(History *history, uint32_t batch, Batch *entry, PolicyMemory *policy_memory) {
  uint32_t before = batch == 0 ? 0 : batch - 1;
  for (uint32_t i = before; i <= batch; i++) history->remembered -= remembered_at(history, i);
  policy_memory_release(&history->memory, entry->policy_memory);
  entry->policy_memory = policy_memory;
  for (uint32_t i = before; i <= batch; i++) history->remembered += remembered_at(history, i);
}

/* Takes policy memories from the oldest batches until the rest fits. Without memory for the copies that forks
   need it ends early: the next addition goes on. */
static void forget_oldest(History *history) {
  Batch *entry;
  static_assert(POLICY_MEMORY_MAX <= POLICY_MEMORY_KEPT, "the memory of the current batch fits alone");
  while (history->remembered > POLICY_MEMORY_KEPT) {
    assert(history->forgotten < history->batches.count);
    uint32_t batch = history->forgotten;
    if (batch != history->current && at(history, batch)->policy_memory != NULL) {
      if (batches_own(&history->batches, batch, &entry) != STATUS_OK) return;
      set_policy_memory(history, batch, entry, NULL);
    }
    history->forgotten++;
  }
}

/* A batch that was spared as the current one may be forgotten from now on. */
static void set_current(History *history, uint32_t batch) {
  history->forgotten = min_u32(history->forgotten, history->current);
  history->current = batch;
}

Status history_remember(History *history, uint32_t batch, Text text) {
  Batch *entry;
  PolicyMemory *policy_memory;
  uint32_t parent = at(history, batch)->parent;
  if (text_equal(text, history_policy_memory(history, batch))) return STATUS_OK;
  Status status = batches_own(&history->batches, batch, &entry);
  PolicyMemory *inherited = parent == BATCH_NONE ? NULL : at(history, parent)->policy_memory;
  if (status == STATUS_OK) status = policy_memory_of(history, text, inherited, &policy_memory);
  if (status != STATUS_OK) return status;
  set_policy_memory(history, batch, entry, policy_memory);
  history->forgotten = min_u32(history->forgotten, batch);
  history->memory_edits++;
  forget_oldest(history);
  return STATUS_OK;
}

static Status forget_texts(History *history, uint32_t batch, TextFilter filter) {
  const Batch *now = at(history, batch);
  Ledger *ledger = NULL;
  Batch *entry;
  bool describes = filter.matches(filter.user, text_plain(now->description, now->description_size));
  Status status = now->ledger == NULL ? STATUS_OK : ledger_forget(now->ledger, filter, &ledger);
  if (status == STATUS_OK && ledger != NULL) status = history_put_ledger(history, batch, ledger);
  if (status != STATUS_OK && ledger != NULL) ledger_release(ledger);
  if (status != STATUS_OK || !describes) return status;
  status = batches_own(&history->batches, batch, &entry);
  char *copy = NULL;
  if (status == STATUS_OK) status = text_copy(&history->memory, FORGOTTEN_TEXT, &copy);
  if (status != STATUS_OK) return status;
  memory_free(&history->memory, entry->description, entry->description_size);
  entry->description = copy;
  entry->description_size = FORGOTTEN_TEXT.size;
  return STATUS_OK;
}

Status history_forget(History *history, TextFilter filter) {
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < history->batches.count && status == STATUS_OK; i++) {
    if (at(history, i)->policy_memory != NULL) status = history_remember(history, i, text_plain("", 0));
    if (status == STATUS_OK) status = forget_texts(history, i, filter);
  }
  return status;
}

Status history_add(History *history, const NewBatch *added) {
  if (history->batches.count == BATCH_NONE) return STATUS_LIMIT;
  assert(added->parent == BATCH_NONE ? history->batches.count == 0 : added->parent < history->batches.count);
  Batch batch = {.list = added->list, .ledger = added->ledger, .kind = added->kind, .timestamp = added->timestamp,
                 .parent = added->parent, .parent_length = added->parent_length, .born = sequence_count(added->list)};
  PolicyMemory *inherited = added->parent == BATCH_NONE ? NULL : at(history, added->parent)->policy_memory;
  Text text = added->policy_memory == NULL ? policy_memory_text(inherited) : *added->policy_memory;
  Status status = policy_memory_of(history, text, inherited, &batch.policy_memory);
  if (status != STATUS_OK) return status;
  uint32_t count = history->batches.count;
  size_t before = count == 0 ? 0 : remembered_at(history, count - 1);
  status = batches_push(&history->batches, &batch, added->description);
  policy_memory_release(&history->memory, batch.policy_memory);
  if (status == STATUS_OK) {
    set_current(history, count);
    if (count > 0) history->remembered = history->remembered - before + remembered_at(history, count - 1);
    history->remembered += remembered_at(history, count);
    forget_oldest(history);
  }
  assert(status != STATUS_OK || at(history, history->current)->list == added->list);
  return status;
}

Status history_add_pruned(History *history, const NewBatch *added, uint32_t born, uint32_t count) {
  assert(added->list == NULL && added->ledger == NULL && born <= count);
  if (history->batches.count == BATCH_NONE) return STATUS_LIMIT;
  Batch batch = {.kind = added->kind, .timestamp = added->timestamp, .parent = added->parent,
                 .parent_length = added->parent_length, .born = born, .count = count};
  return batches_push(&history->batches, &batch, added->description);
}

Status history_rollback(History *history, uint32_t batch) {
  if (batch >= history->batches.count || at(history, batch)->list == NULL) return STATUS_RANGE;
  history->counts.rollbacks += batch != history->current;
  set_current(history, batch);
  return STATUS_OK;
}

Status history_state(const History *history, uint32_t batch, uint32_t length, Sequence **list) {
  if (batch >= history->batches.count) return STATUS_RANGE;
  const Batch *entry = at(history, batch);
  if (entry->list == NULL || length < entry->born || length > sequence_count(entry->list)) return STATUS_RANGE;
  Sequence *state;
  Status status = sequence_share(entry->list, &state);
  if (status != STATUS_OK) return status;
  status = sequence_slice(&state, 0, length);
  if (status == STATUS_OK) *list = state;
  else sequence_release(state);
  return status;
}

static void prune_batch(History *history, uint32_t index, Batch *batch) {
  assert(batch->owners == 1 && sequence_count(batch->list) >= batch->born);
  batch->count = sequence_count(batch->list);
  sequence_release(batch->list);
  ledger_release(batch->ledger);
  set_policy_memory(history, index, batch, NULL);
  batch->list = NULL;
  batch->ledger = NULL;
}

static bool may_be_pruned(const History *history, uint32_t batch) {
  bool is_named = checkpoints_newest(history->checkpoints, batch) != NULL;
  return at(history, batch)->list != NULL && batch != history->current && !is_named;
}

Status history_prune(History *history, uint32_t keep, uint32_t *pruned) {
  uint32_t count = history->batches.count, end = count > keep ? count - keep : 0;
  Batch *batch;
  *pruned = 0;
  for (uint32_t i = 0; i < end; i++) {      /* copies first: they may fail, and change nothing visible */
    if (may_be_pruned(history, i) && batches_own(&history->batches, i, &batch) != STATUS_OK) return STATUS_MEMORY;
  }
  for (uint32_t i = 0; i < end; i++) {
    if (!may_be_pruned(history, i)) continue;
    Status status = batches_own(&history->batches, i, &batch);
    assert(status == STATUS_OK);
    (void)status;
    prune_batch(history, i, batch);
    history->counts.prunings++;
    ++*pruned;
  }
  return STATUS_OK;
}

const Checkpoints *history_checkpoints(const History *history) { return history->checkpoints; }

/* Names a state; a name in use moves. */
static Status name_state(History *history, Text name, uint32_t batch, uint32_t length) {
  Checkpoint checkpoint = {.name = name, .batch = batch, .length = length, .naming = history->counts.namings + 1};
  Status status = checkpoints_put(&history->memory, &history->key, &history->checkpoints, &checkpoint);
  if (status == STATUS_OK) history->counts.namings++;
  return status;
}

Status history_name(History *history, Text name) {
  return name_state(history, name, history->current, sequence_count(at(history, history->current)->list));
}

HistoryCounts history_counts(const History *history) { return history->counts; }

/* True if both histories have the checkpoint's state. Only the other one may have grown an old batch to it. */
static bool is_shared(const History *history, const Checkpoint *checkpoint, const SharedStates *shared) {
  if (checkpoint->batch >= shared->batches) return false;
  assert(checkpoint->batch < history->batches.count);
  if (checkpoint->length > history_batch(history, checkpoint->batch).count) return false;
  return checkpoint->batch != shared->batch || checkpoint->length <= shared->length;
}

Status history_take_names(History *history, const History *other, uint64_t since, const SharedStates *shared) {
  Status status = STATUS_OK;
  if (other->counts.namings <= since) return STATUS_OK;
  const Checkpoint *checkpoint;
  for (uint32_t at = 0; status == STATUS_OK && (checkpoint = checkpoints_next(other->checkpoints, &at)) != NULL;) {
    if (checkpoint->naming <= since) continue;
    status = is_shared(history, checkpoint, shared)
                 ? name_state(history, checkpoint->name, checkpoint->batch, checkpoint->length)
                 : history_name(history, checkpoint->name);
  }
  return status;
}

bool history_find(const History *history, Text name, uint32_t *batch, uint32_t *length) {
  const Checkpoint *checkpoint = checkpoints_find(history->checkpoints, name);
  if (checkpoint == NULL) return false;
  *batch = checkpoint->batch;
  *length = checkpoint->length;
  return true;
}

Status history_add_checkpoint(History *history, Text name, uint32_t batch, uint32_t length) {
  assert(batch < history->batches.count);
  return name_state(history, name, batch, length);
}

/* ---- invariants ---- */

static void check_batch(const History *history, uint32_t index) {
  const Batch *batch = at(history, index);
  assert(batch->owners > 0 && (index == 0 ? batch->parent == BATCH_NONE : batch->parent < index));
  if (batch->parent != BATCH_NONE) {
    BatchInfo parent = history_batch(history, batch->parent);
    assert(batch->parent_length >= parent.born && batch->parent_length <= parent.count);
    (void)parent;
  }
  if (batch->list == NULL) {
    assert(batch->ledger == NULL && batch->policy_memory == NULL && batch->born <= batch->count);
    return;
  }
  assert(batch->born <= sequence_count(batch->list));
  sequence_check(batch->list);
  if (batch->ledger != NULL) ledger_check(batch->ledger);
}

void history_check(const History *history) {
  const Checkpoint *checkpoint;
  assert(history->current < history->batches.count && at(history, history->current)->list != NULL);
  size_t remembered = 0;
  for (uint32_t i = 0; i < history->batches.count; i++) {
    check_batch(history, i);
    remembered += remembered_at(history, i);
    assert(i >= history->forgotten || i == history->current || at(history, i)->policy_memory == NULL);
  }
  assert(remembered == history->remembered && history->forgotten <= history->batches.count);
  (void)remembered;
  checkpoints_check(history->checkpoints);
  for (uint32_t next = 0; (checkpoint = checkpoints_next(history->checkpoints, &next)) != NULL;) {
    BatchInfo batch = history_batch(history, checkpoint->batch);
    assert(!batch.pruned && checkpoint->length >= batch.born && checkpoint->length <= batch.count);
    assert(checkpoint->naming <= history->counts.namings);
    (void)batch;
  }
}
