#include "core/explain.h"

#include <assert.h>

static Status add(Explanation *explanation, Event event) {
  Event *grown =
    memory_grow(&explanation->memory, explanation->events, &explanation->room, explanation->count, sizeof *grown);
  if (grown == NULL) return STATUS_MEMORY;
  explanation->events = grown;
  grown[explanation->count++] = event;
  if (event.replacement != 0) explanation->id = event.replacement;
  return STATUS_OK;
}

/* Adds an event if a policy kept the message on purpose. */
static Status read_keeps(const Ledger *ledger, uint32_t batch, Explanation *explanation) {
  for (uint32_t i = 0; i < ledger_keep_count(ledger); i++) {
    LedgerKeep keep = ledger_keep_at(ledger, i);
    if (keep.id != explanation->id) continue;
    Event event = {.action = ACTION_KEPT, .batch = batch, .id = keep.id,
                   .author = ledger_text(ledger, keep.cause.author), .reason = ledger_text(ledger, keep.cause.reason)};
    return add(explanation, event);
  }
  return STATUS_OK;
}

/* Adds the events of the batch's ledger, for the message and its replacements. */
static Status read_ledger(const History *history, uint32_t batch, Explanation *explanation) {
  const Ledger *ledger = history_ledger(history, batch);
  uint32_t events_before = explanation->count;
  Status status = STATUS_OK;
  for (uint32_t i = 0; ledger != NULL && i < ledger_run_count(ledger) && status == STATUS_OK; i++) {
    LedgerRun run = ledger_run(ledger, i);
    if (explanation->id < run.first || explanation->id - run.first >= run.count) continue;
    Event event = {.action = run.action, .batch = batch, .id = explanation->id, .replacement = run.replacement,
                   .author = ledger_text(ledger, run.cause.author), .reason = ledger_text(ledger, run.cause.reason)};
    status = add(explanation, event);
  }
  if (ledger == NULL || status != STATUS_OK || explanation->count > events_before) return status;
  return read_keeps(ledger, batch, explanation);
}

static bool find(const Sequence *list, MessageId id, uint32_t *index) {
  *index = sequence_index_of(list, id, UINT32_MAX);
  return *index < sequence_count(list);
}

/* Adds the event of an operation without a ledger, found by comparing the lists. */
static Status compare(const Conversation *conversation, BatchInfo info, const Sequence *before, const Sequence *after,
                      Explanation *explanation) {
  const Store *store = conversation_store(conversation);
  MessageId id = explanation->id;
  uint32_t was, is;
  bool had = find(before, id, &was), has = find(after, id, &is);
  if (had == has) return STATUS_OK;
  Event event = {.action = has ? ACTION_INSERTED : ACTION_DROPPED, .batch = info.index, .id = id,
                 .author = text_of(batch_kind_name(info.kind)), .reason = info.description};
  if (had && was < sequence_count(after)) {      /* maybe a replacement at the same position */
    MessageId current = sequence_at(after, was);
    if (store_origin(store, current) == store_origin(store, id)) {
      event.action = ACTION_REPLACED;
      event.replacement = current;
    }
  }
  return add(explanation, event);
}

static Status read_batch(const Conversation *conversation, uint32_t batch, Explanation *explanation) {
  const History *history = conversation_history(conversation);
  BatchInfo info = history_batch(history, batch);
  uint32_t events_before = explanation->count;
  Status status = read_ledger(history, batch, explanation);
  if (status != STATUS_OK || explanation->count > events_before || info.parent == BATCH_NONE) return status;
  if (info.pruned || history_batch(history, info.parent).pruned) return STATUS_OK;
  Sequence *before = NULL, *after = NULL;
  status = history_state(history, info.parent, info.parent_length, &before);
  if (status == STATUS_OK) status = history_state(history, batch, info.born, &after);
  if (status == STATUS_OK) status = compare(conversation, info, before, after, explanation);
  sequence_release(after);
  sequence_release(before);
  return status;
}

/* Writes the batches from the first to the current one; returns their number. */
static uint32_t find_path(const History *history, uint32_t *path) {
  uint32_t count = 0;
  for (uint32_t batch = history_current(history); batch != BATCH_NONE; batch = history_batch(history, batch).parent) {
    path[count++] = batch;
  }
  assert(count > 0 && count <= history_count(history));
  for (uint32_t i = 0; i < count / 2; i++) {
    uint32_t other = path[i];
    path[i] = path[count - 1 - i];
    path[count - 1 - i] = other;
  }
  return count;
}

/* The messages from `first` to `last`, with a byte for each. */
typedef struct {
  MessageId first, last;
  uint8_t *marks;
} MessageRange;

static void set_mark(MessageRange *range, MessageId id, uint8_t mark) {
  if (id >= range->first && id <= range->last) range->marks[id - range->first] = mark;
}

/* Marks what a list got from place `from` on, up to `end`. */
static void mark_places(const Sequence *list, uint32_t from, uint32_t end, MessageRange *range) {
  assert(end <= sequence_count(list));
  for (uint32_t place = from; place < end; place++) set_mark(range, sequence_at(list, place), 1);
}

/* Takes the marks from what the edits of a ledger put into the list. */
static void unmark_edits(const Ledger *ledger, MessageRange *range) {
  for (uint32_t i = 0; ledger != NULL && i < ledger_run_count(ledger); i++) {
    LedgerRun run = ledger_run(ledger, i);
    if (run.replacement != 0) set_mark(range, run.replacement, 0);
    for (uint32_t k = 0; run.action == ACTION_INSERTED && k < run.count; k++) set_mark(range, run.first + k, 0);
  }
}

Status explain_appended(const Conversation *conversation, MessageId first, MessageId last, const Memory *memory,
                        uint8_t *appended) {
  const History *history = conversation_history(conversation);
  MessageRange range = {first, last, appended};
  size_t room = history_count(history);
  uint32_t *path = memory_new_array(memory, room, sizeof *path);
  if (path == NULL) return STATUS_MEMORY;
  uint32_t count = find_path(history, path);
  bool is_oldest = true;
  for (uint32_t i = 0; i < count; i++) {
    const Sequence *list = history_list(history, path[i]);
    if (list == NULL) continue;
    uint32_t end = i + 1 < count ? history_batch(history, path[i + 1]).parent_length : sequence_count(list);
    mark_places(list, is_oldest ? 0 : history_batch(history, path[i]).born, end, &range);
    is_oldest = false;
  }
  for (uint32_t i = 0; i < count; i++) unmark_edits(history_ledger(history, path[i]), &range);
  memory_free(memory, path, room * sizeof *path);
  return STATUS_OK;
}

Status explain_message(const Conversation *conversation, MessageId id, Explanation *explanation) {
  const History *history = conversation_history(conversation);
  size_t room = history_count(history);
  if (id == 0 || id > store_count(conversation_store(conversation))) return STATUS_RANGE;
  uint32_t *path = memory_new_array(&explanation->memory, room, sizeof *path), index;
  if (path == NULL) return STATUS_MEMORY;
  explanation->id = id;
  uint32_t count = find_path(history, path);
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < count && status == STATUS_OK; i++) status = read_batch(conversation, path[i], explanation);
  explanation->visible = find(conversation_list(conversation), explanation->id, &index);
  memory_free(&explanation->memory, path, room * sizeof *path);
  return status;
}

void explanation_free(Explanation *explanation) {
  memory_free(&explanation->memory, explanation->events, explanation->room * sizeof *explanation->events);
  explanation->events = NULL;
  explanation->count = explanation->room = 0;
}
