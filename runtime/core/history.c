#include "core/history.h"

#include <assert.h>
#include <string.h>

typedef struct String {
  char *bytes;
  size_t size;
} String;

typedef struct Batch {
  Sequence *list;            /* NULL: pruned */
  Ledger *ledger;
  uint32_t parent, parent_length, born;
  uint32_t count;            /* when it was pruned */
  BatchKind kind;
  int64_t timestamp;
  String description;
} Batch;

typedef struct Checkpoint {
  String name;
  uint32_t batch, length;
} Checkpoint;

struct History {
  Memory memory;
  Batch *batches;
  uint32_t count, room, current;
  Checkpoint *checkpoints;   /* the newest last */
  uint32_t checkpoint_count, checkpoint_room;
};

static const char *const KIND_NAMES[] = {"create", "insert", "replace", "truncate", "clear", "filter", "trim", "rollback", "repair"};

const char *batch_kind_name(BatchKind kind) { return KIND_NAMES[kind]; }

bool batch_kind_parse(const char *name, BatchKind *kind) {
  for (unsigned i = 0; i < sizeof KIND_NAMES / sizeof *KIND_NAMES; i++) {
    if (strcmp(name, KIND_NAMES[i]) == 0) {
      *kind = (BatchKind)i;
      return true;
    }
  }
  return false;
}

static Status string_copy(const Memory *memory, Text text, String *copy) {
  *copy = (String){0};
  if (text.size == 0) return STATUS_OK;
  copy->bytes = memory_new(memory, text.size);
  if (copy->bytes == NULL) return STATUS_MEMORY;
  memcpy(copy->bytes, text.bytes, text.size);
  copy->size = text.size;
  return STATUS_OK;
}

static Text string_text(String string) { return text_plain(string.bytes, string.size); }

static Status push(History *history, Batch batch, Text description) {
  void *grown = memory_grow(&history->memory, history->batches, &history->room, history->count, sizeof *history->batches);
  if (grown == NULL) return STATUS_MEMORY;
  history->batches = grown;
  Status status = string_copy(&history->memory, description, &batch.description);
  if (status == STATUS_OK) history->batches[history->count++] = batch;
  return status;
}

static Status push_checkpoint(History *history, Text name, uint32_t batch, uint32_t length) {
  void *grown = memory_grow(&history->memory, history->checkpoints, &history->checkpoint_room, history->checkpoint_count, sizeof *history->checkpoints);
  if (grown == NULL) return STATUS_MEMORY;
  history->checkpoints = grown;
  Checkpoint checkpoint = {.batch = batch, .length = length};
  Status status = string_copy(&history->memory, name, &checkpoint.name);
  if (status == STATUS_OK) history->checkpoints[history->checkpoint_count++] = checkpoint;
  return status;
}

static Status make_empty(const Memory *memory, History **made) {
  History *history = memory_new(memory, sizeof *history);
  if (history == NULL) return STATUS_MEMORY;
  *history = (History){.memory = *memory};
  *made = history;
  return STATUS_OK;
}

Status history_new(const Memory *memory, Sequence *list, int64_t timestamp, History **made) {
  History *history;
  Status status = make_empty(memory, &history);
  if (status != STATUS_OK) return status;
  Batch first = {.list = list, .parent = BATCH_NONE, .kind = BATCH_CREATE, .timestamp = timestamp};
  status = push(history, first, text_of(""));
  if (status == STATUS_OK) *made = history;
  else history_free(history);
  return status;
}

static Status fork_batch(History *fork, const Batch *batch) {
  Batch copy = *batch;
  Status status = batch->list == NULL ? STATUS_OK : sequence_share(batch->list, &copy.list);
  if (status != STATUS_OK) return status;
  status = push(fork, copy, string_text(batch->description));
  if (status != STATUS_OK) sequence_release(copy.list);
  else if (copy.ledger != NULL) ledger_share(copy.ledger);
  return status;
}

Status history_fork(const History *history, History **made) {
  History *fork;
  Status status = make_empty(&history->memory, &fork);
  if (status != STATUS_OK) return status;
  for (uint32_t i = 0; i < history->count && status == STATUS_OK; i++) {
    status = fork_batch(fork, &history->batches[i]);
  }
  for (uint32_t i = 0; i < history->checkpoint_count && status == STATUS_OK; i++) {
    const Checkpoint *checkpoint = &history->checkpoints[i];
    status = push_checkpoint(fork, string_text(checkpoint->name), checkpoint->batch, checkpoint->length);
  }
  fork->current = history->current;
  if (status == STATUS_OK) *made = fork;
  else history_free(fork);
  return status;
}

void history_free(History *history) {
  if (history == NULL) return;
  Memory memory = history->memory;
  for (uint32_t i = 0; i < history->count; i++) {
    sequence_release(history->batches[i].list);
    ledger_release(history->batches[i].ledger);
    memory_free(&memory, history->batches[i].description.bytes, history->batches[i].description.size);
  }
  for (uint32_t i = 0; i < history->checkpoint_count; i++) {
    memory_free(&memory, history->checkpoints[i].name.bytes, history->checkpoints[i].name.size);
  }
  memory_free(&memory, history->batches, history->room * sizeof *history->batches);
  memory_free(&memory, history->checkpoints, history->checkpoint_room * sizeof *history->checkpoints);
  memory_free(&memory, history, sizeof *history);
}

uint32_t history_count(const History *history) { return history->count; }
uint32_t history_current(const History *history) { return history->current; }

static const Batch *at(const History *history, uint32_t batch) {
  assert(batch < history->count);
  return &history->batches[batch];
}

Ledger *history_ledger(const History *history, uint32_t batch) { return at(history, batch)->ledger; }
const Sequence *history_list(const History *history, uint32_t batch) { return at(history, batch)->list; }
Sequence **history_grow(History *history) { return &history->batches[history->current].list; }

BatchInfo history_batch(const History *history, uint32_t batch) {
  const Batch *found = at(history, batch);
  BatchInfo info = {.index = batch, .parent = found->parent, .parent_length = found->parent_length,
                    .kind = found->kind, .born = found->born, .pruned = found->list == NULL,
                    .count = found->list == NULL ? found->count : sequence_count(found->list),
                    .timestamp = found->timestamp, .description = string_text(found->description)};
  for (uint32_t i = history->checkpoint_count; i-- > 0 && info.name.size == 0;) {
    if (history->checkpoints[i].batch == batch) info.name = string_text(history->checkpoints[i].name);
  }
  return info;
}

Status history_add(History *history, const NewBatch *added) {
  if (history->count == BATCH_NONE) return STATUS_LIMIT;
  Batch batch = {.list = added->list, .ledger = added->ledger, .kind = added->kind, .timestamp = added->timestamp,
                 .parent = added->parent, .parent_length = added->parent_length, .born = sequence_count(added->list)};
  Status status = push(history, batch, added->description);
  if (status == STATUS_OK) history->current = history->count - 1;
  return status;
}

Status history_rollback(History *history, uint32_t batch) {
  if (batch >= history->count || at(history, batch)->list == NULL) return STATUS_RANGE;
  history->current = batch;
  return STATUS_OK;
}

Status history_state(const History *history, uint32_t batch, uint32_t length, Sequence **list) {
  if (batch >= history->count) return STATUS_RANGE;
  const Batch *found = at(history, batch);
  if (found->list == NULL || length < found->born || length > sequence_count(found->list)) return STATUS_RANGE;
  Sequence *state;
  Status status = sequence_share(found->list, &state);
  if (status != STATUS_OK) return status;
  status = sequence_slice(&state, 0, length);
  if (status == STATUS_OK) *list = state;
  else sequence_release(state);
  return status;
}

static bool has_checkpoint(const History *history, uint32_t batch) {
  for (uint32_t i = 0; i < history->checkpoint_count; i++) {
    if (history->checkpoints[i].batch == batch) return true;
  }
  return false;
}

uint32_t history_prune(History *history, uint32_t keep) {
  uint32_t end = history->count > keep ? history->count - keep : 0, pruned = 0;
  for (uint32_t i = 0; i < end; i++) {
    Batch *batch = &history->batches[i];
    if (batch->list == NULL || i == history->current || has_checkpoint(history, i)) continue;
    batch->count = sequence_count(batch->list);
    sequence_release(batch->list);
    ledger_release(batch->ledger);
    batch->list = NULL;
    batch->ledger = NULL;
    pruned++;
  }
  return pruned;
}

static Checkpoint *find_checkpoint(const History *history, Text name) {
  for (uint32_t i = 0; i < history->checkpoint_count; i++) {
    if (text_equal(string_text(history->checkpoints[i].name), name)) return &history->checkpoints[i];
  }
  return NULL;
}

Status history_name(History *history, Text name) {
  uint32_t length = sequence_count(at(history, history->current)->list);
  Checkpoint *known = find_checkpoint(history, name);
  if (known == NULL) return push_checkpoint(history, name, history->current, length);
  Checkpoint moved = {.name = known->name, .batch = history->current, .length = length};
  Checkpoint *newest = &history->checkpoints[history->checkpoint_count - 1];
  memmove(known, known + 1, (size_t)(newest - known) * sizeof *known);
  *newest = moved;
  return STATUS_OK;
}

bool history_find(const History *history, Text name, uint32_t *batch, uint32_t *length) {
  const Checkpoint *found = find_checkpoint(history, name);
  if (found == NULL) return false;
  *batch = found->batch;
  *length = found->length;
  return true;
}
