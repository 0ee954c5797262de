#include "core/batch.h"

#include <assert.h>
#include <string.h>

#include "base/names.h"

typedef struct String {
  char *bytes;
  size_t size;
} String;

typedef struct Checkpoint {
  String name;
  uint32_t batch, length;
  uint64_t naming;           /* number of its naming, from 1 */
} Checkpoint;

/* Forks share checkpoints until one names a state, so that the fork for a trim does not copy them. */
typedef struct Checkpoints {
  uint32_t owners, count, room;
  Checkpoint *list;          /* the newest last */
} Checkpoints;

struct History {
  Memory memory;
  Batches batches;
  uint32_t current;
  HistoryCounts counts;
  Checkpoints *checkpoints;  /* NULL: none */
  uint64_t memory_edits;
};

static const char *const KIND_NAMES[] = {"create", "insert", "replace", "truncate", "clear", "filter", "trim",
                                         "rollback", "repair"};

const char *batch_kind_name(BatchKind kind) { return KIND_NAMES[kind]; }

bool batch_kind_parse(const char *name, BatchKind *kind) {
  size_t index = NAMES_FIND(KIND_NAMES, text_of(name));
  if (index == COUNT_OF(KIND_NAMES)) return false;
  *kind = (BatchKind)index;
  return true;
}

static Status string_copy(const Memory *memory, Text text, String *copy) {
  copy->size = text.size;
  return text_copy(memory, text, &copy->bytes);
}

static Text string_text(String string) { return text_plain(string.bytes, string.size); }

/* ---- checkpoints ---- */

uint32_t history_checkpoint_count(const History *history) {
  return history->checkpoints == NULL ? 0 : history->checkpoints->count;
}

static void checkpoints_release(const Memory *memory, Checkpoints *checkpoints) {
  assert(checkpoints == NULL || checkpoints->owners > 0);
  if (checkpoints == NULL || --checkpoints->owners > 0) return;
  for (uint32_t i = 0; i < checkpoints->count; i++) {
    memory_free(memory, checkpoints->list[i].name.bytes, checkpoints->list[i].name.size);
  }
  memory_free(memory, checkpoints->list, checkpoints->room * sizeof *checkpoints->list);
  memory_free(memory, checkpoints, sizeof *checkpoints);
}

/* Adds a copy of the checkpoint. */
static Status checkpoints_push(const Memory *memory, Checkpoints *checkpoints, Checkpoint checkpoint) {
  void *grown = memory_grow(memory, checkpoints->list, &checkpoints->room, checkpoints->count,
                            sizeof *checkpoints->list);
  if (grown == NULL) return STATUS_MEMORY;
  checkpoints->list = grown;
  Status status = string_copy(memory, string_text(checkpoint.name), &checkpoint.name);
  if (status == STATUS_OK) checkpoints->list[checkpoints->count++] = checkpoint;
  return status;
}

/* Copies shared checkpoints, so that the history can change them. */
static Status checkpoints_own(History *history) {
  const Checkpoints *shared = history->checkpoints;
  if (shared != NULL && shared->owners == 1) return STATUS_OK;
  Checkpoints *copy = memory_new(&history->memory, sizeof *copy);
  if (copy == NULL) return STATUS_MEMORY;
  *copy = (Checkpoints){.owners = 1};
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < history_checkpoint_count(history) && status == STATUS_OK; i++) {
    status = checkpoints_push(&history->memory, copy, shared->list[i]);
  }
  if (status != STATUS_OK) {
    checkpoints_release(&history->memory, copy);
    return status;
  }
  assert(copy->count == history_checkpoint_count(history));
  checkpoints_release(&history->memory, history->checkpoints);
  history->checkpoints = copy;
  return STATUS_OK;
}

static Status push_checkpoint(History *history, Text name, uint32_t batch, uint32_t length) {
  Checkpoint checkpoint = {.name = {.bytes = (char *)name.bytes, .size = name.size}, .batch = batch, .length = length,
                           .naming = history->counts.namings + 1};
  Status status = checkpoints_own(history);
  if (status == STATUS_OK) status = checkpoints_push(&history->memory, history->checkpoints, checkpoint);
  if (status == STATUS_OK) history->counts.namings++;
  return status;
}

/* ---- lives ---- */

Status history_new_empty(const Memory *memory, History **result) {
  History *history = memory_new(memory, sizeof *history);
  if (history == NULL) return STATUS_MEMORY;
  *history = (History){.memory = *memory, .batches = {.memory = *memory}};
  *result = history;
  return STATUS_OK;
}

Status history_new(const Memory *memory, Sequence *list, int64_t timestamp, History **result) {
  History *history;
  Status status = history_new_empty(memory, &history);
  if (status != STATUS_OK) return status;
  Batch first = {.list = list, .parent = BATCH_NONE, .kind = BATCH_CREATE, .timestamp = timestamp};
  status = batches_push(&history->batches, &first, text_of(""));
  if (status == STATUS_OK) *result = history;
  else history_free(history);
  return status;
}

Status history_fork(const History *history, History **result) {
  History *fork;
  Status status = history_new_empty(&history->memory, &fork);
  if (status != STATUS_OK) return status;
  fork->batches = batches_share(&history->batches);
  fork->checkpoints = history->checkpoints;
  if (fork->checkpoints != NULL) fork->checkpoints->owners++;
  fork->counts = history->counts;
  fork->current = history->current;
  fork->memory_edits = history->memory_edits;
  *result = fork;
  return STATUS_OK;
}

void history_free(History *history) {
  if (history == NULL) return;
  Memory memory = history->memory;
  batches_free(&history->batches);
  checkpoints_release(&memory, history->checkpoints);
  memory_free(&memory, history, sizeof *history);
}

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
  assert(sequence_count(list) == sequence_count(at(history, batch)->list));
  return history_replace(history, batch, list);
}

Status history_replace(History *history, uint32_t batch, Sequence *list) {
  Batch *entry;
  assert(sequence_count(list) >= at(history, batch)->born);
  Status status = batches_own(&history->batches, batch, &entry);
  if (status != STATUS_OK) return status;
  assert(entry->list != list);
  sequence_release(entry->list);
  entry->list = list;
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

BatchInfo history_batch(const History *history, uint32_t batch) {
  const Batch *entry = at(history, batch);
  BatchInfo info = {.index = batch, .parent = entry->parent, .parent_length = entry->parent_length,
                    .kind = entry->kind, .born = entry->born, .pruned = entry->list == NULL,
                    .count = entry->list == NULL ? entry->count : sequence_count(entry->list),
                    .timestamp = entry->timestamp,
                    .description = text_plain(entry->description, entry->description_size)};
  for (uint32_t i = history_checkpoint_count(history); i-- > 0 && info.name.size == 0;) {
    const Checkpoint *checkpoint = &history->checkpoints->list[i];
    if (checkpoint->batch != batch) continue;
    info.name = string_text(checkpoint->name);
    info.name_length = checkpoint->length;
  }
  return info;
}

/* ---- memory of policies ---- */

static Text policy_memory_text(const PolicyMemory *policy_memory) {
  return policy_memory == NULL ? text_plain("", 0) : text_plain(policy_memory->bytes, policy_memory->size);
}

Text history_policy_memory(const History *history, uint32_t batch) {
  return policy_memory_text(at(history, batch)->policy_memory);
}

uint64_t history_memory_edits(const History *history) { return history->memory_edits; }

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

Status history_remember(History *history, uint32_t batch, Text text) {
  Batch *entry;
  PolicyMemory *policy_memory;
  if (text_equal(text, history_policy_memory(history, batch))) return STATUS_OK;
  Status status = batches_own(&history->batches, batch, &entry);
  if (status == STATUS_OK) status = policy_memory_of(history, text, NULL, &policy_memory);
  if (status != STATUS_OK) return status;
  policy_memory_release(&history->memory, entry->policy_memory);
  entry->policy_memory = policy_memory;
  history->memory_edits++;
  return STATUS_OK;
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
  status = batches_push(&history->batches, &batch, added->description);
  policy_memory_release(&history->memory, batch.policy_memory);
  if (status == STATUS_OK) history->current = history->batches.count - 1;
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
  history->current = batch;
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

static bool has_checkpoint(const History *history, uint32_t batch) {
  for (uint32_t i = 0; i < history_checkpoint_count(history); i++) {
    if (history->checkpoints->list[i].batch == batch) return true;
  }
  return false;
}

static void prune_batch(const Memory *memory, Batch *batch) {
  assert(batch->owners == 1 && sequence_count(batch->list) >= batch->born);
  batch->count = sequence_count(batch->list);
  sequence_release(batch->list);
  ledger_release(batch->ledger);
  policy_memory_release(memory, batch->policy_memory);
  batch->list = NULL;
  batch->ledger = NULL;
  batch->policy_memory = NULL;
}

static bool may_be_pruned(const History *history, uint32_t batch) {
  return at(history, batch)->list != NULL && batch != history->current && !has_checkpoint(history, batch);
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
    prune_batch(&history->memory, batch);
    history->counts.prunings++;
    ++*pruned;
  }
  return STATUS_OK;
}

static Checkpoint *find_checkpoint(const History *history, Text name) {
  for (uint32_t i = 0; i < history_checkpoint_count(history); i++) {
    if (text_equal(string_text(history->checkpoints->list[i].name), name)) return &history->checkpoints->list[i];
  }
  return NULL;
}

/* Names a state; a name in use moves. */
static Status name_state(History *history, Text name, uint32_t batch, uint32_t length) {
  if (find_checkpoint(history, name) == NULL) return push_checkpoint(history, name, batch, length);
  Status status = checkpoints_own(history);
  if (status != STATUS_OK) return status;
  Checkpoint *checkpoint = find_checkpoint(history, name);
  Checkpoint moved = {.name = checkpoint->name, .batch = batch, .length = length, .naming = ++history->counts.namings};
  Checkpoint *newest = &history->checkpoints->list[history->checkpoints->count - 1];
  assert(checkpoint <= newest);
  memmove(checkpoint, checkpoint + 1, (size_t)(newest - checkpoint) * sizeof *checkpoint);
  *newest = moved;
  return STATUS_OK;
}

Status history_name(History *history, Text name) {
  return name_state(history, name, history->current, sequence_count(at(history, history->current)->list));
}

HistoryCounts history_counts(const History *history) { return history->counts; }

/* True if both histories have the checkpoint's state. Only the other one may have grown an old batch to it. */
static bool is_shared(const History *history, const Checkpoint *checkpoint, const SharedStates *shared) {
  if (checkpoint->batch >= shared->batches || checkpoint->batch >= history->batches.count) return false;
  if (checkpoint->length > history_batch(history, checkpoint->batch).count) return false;
  return checkpoint->batch != shared->batch || checkpoint->length <= shared->length;
}

Status history_take_names(History *history, const History *other, uint64_t since, const SharedStates *shared) {
  Status status = STATUS_OK;
  if (other->counts.namings <= since) return STATUS_OK;
  for (uint32_t i = 0; i < history_checkpoint_count(other) && status == STATUS_OK; i++) {
    const Checkpoint *checkpoint = &other->checkpoints->list[i];
    if (checkpoint->naming <= since) continue;
    Text name = string_text(checkpoint->name);
    status = is_shared(history, checkpoint, shared) ? name_state(history, name, checkpoint->batch, checkpoint->length)
                                           : history_name(history, name);
  }
  return status;
}

bool history_find(const History *history, Text name, uint32_t *batch, uint32_t *length) {
  const Checkpoint *checkpoint = find_checkpoint(history, name);
  if (checkpoint == NULL) return false;
  *batch = checkpoint->batch;
  *length = checkpoint->length;
  return true;
}

Text history_checkpoint(const History *history, uint32_t index, uint32_t *batch, uint32_t *length) {
  assert(index < history_checkpoint_count(history));
  const Checkpoint *checkpoint = &history->checkpoints->list[index];
  *batch = checkpoint->batch;
  *length = checkpoint->length;
  return string_text(checkpoint->name);
}

Status history_add_checkpoint(History *history, Text name, uint32_t batch, uint32_t length) {
  assert(batch < history->batches.count);
  return push_checkpoint(history, name, batch, length);
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
  uint64_t naming = 0;
  assert(history->current < history->batches.count && at(history, history->current)->list != NULL);
  for (uint32_t i = 0; i < history->batches.count; i++) check_batch(history, i);
  for (uint32_t i = 0; i < history_checkpoint_count(history); i++) {
    const Checkpoint *checkpoint = &history->checkpoints->list[i];
    BatchInfo batch = history_batch(history, checkpoint->batch);
    assert(!batch.pruned && checkpoint->length >= batch.born && checkpoint->length <= batch.count);
    assert(checkpoint->naming > naming && checkpoint->naming <= history->counts.namings);
    naming = checkpoint->naming;
    (void)batch;
  }
  (void)naming;
}
