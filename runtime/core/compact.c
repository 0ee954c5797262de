/*
** Compaction: frees the messages that only pruned batches showed.
**
**     batches   0 1 2 3 [4]     keep 1:   [4]
**     lists     all of 1..9     of batch 4:  1 7 8 9
**     store     1 2 3 4 5 6 7 8 9   ->    1 . . . . . 7 8 9
**
** A new store gets the messages that some list shows, and replaces the old one at the
** end: a failure changes nothing. Forks keep their shares of the old store.
*/
#include <assert.h>

#include "base/bitset.h"
#include "core/conversation_data.h"

typedef struct Compaction {
  Memory memory;
  const Store *from;
  Store *store;              /* the new store; NULL: every message is visible */
  History *history;          /* its lists decide which messages stay */
  uint32_t count;            /* messages of the old store; sets are for seqs up to it */
  uint64_t *visible;         /* a bit per seq: some list has the message */
  uint64_t *origins;         /* a bit per seq: the origin of a message that some list has */
  uint32_t removed;
} Compaction;

static void compaction_free(Compaction *compaction) {
  bitset_free(&compaction->memory, compaction->visible, compaction->count + (size_t)1);
  bitset_free(&compaction->memory, compaction->origins, compaction->count + (size_t)1);
}

static Status collect(Compaction *compaction) {
  Map seen;
  Status status = STATUS_OK;
  map_init(&seen, compaction->memory);
  for (uint32_t i = 0; i < history_count(compaction->history) && status == STATUS_OK; i++) {
    const Sequence *list = history_list(compaction->history, i);
    if (list != NULL) status = sequence_collect(list, &seen, compaction->visible);
  }
  map_free(&seen);
  return status;
}

static bool is_visible(const Compaction *compaction, MessageId id) {
  return bitset_has(compaction->visible, id);
}

static void note_origins(Compaction *compaction) {
  const Store *store = compaction->from;
  for (MessageId id = store_next(store, 0); id != 0; id = store_next(store, id)) {
    if (!is_visible(compaction, id)) {
      compaction->removed++;
      continue;
    }
    MessageId origin = store_origin(store, id);
    bitset_add(compaction->origins, origin);
  }
}

static Status mark_visible(Compaction *compaction) {
  compaction->visible = bitset_new(&compaction->memory, compaction->count + (size_t)1);
  compaction->origins = bitset_new(&compaction->memory, compaction->count + (size_t)1);
  if (compaction->visible == NULL || compaction->origins == NULL) return STATUS_MEMORY;
  Status status = collect(compaction);
  if (status == STATUS_OK) note_origins(compaction);
  return status;
}

static TokenWeights *weights_in(Store *store, const TokenWeights *weights) {
  return weights == NULL ? NULL : token_weights_find(store, token_weights_counter(weights));
}

/* Replaces every list by one of the new store. */
static Status move_lists(Compaction *compaction) {
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < history_count(compaction->history) && status == STATUS_OK; i++) {
    const Sequence *list = history_list(compaction->history, i);
    Sequence *moved;
    if (list == NULL) continue;
    status = sequence_move(list, compaction->store, weights_in(compaction->store, sequence_token_weights(list)),
                           &moved);
    if (status != STATUS_OK) return status;
    status = history_replace(compaction->history, i, moved);
    if (status != STATUS_OK) sequence_release(moved);
  }
  return status;
}

static Status rebuild(Compaction *compaction, Marks **marks) {
  Status status = store_compact(compaction->from, compaction->visible, &compaction->store);
  if (status == STATUS_OK) status = move_lists(compaction);
  return status == STATUS_OK ? marks_retain(marks, compaction->origins) : status;
}

Status compact_lists(const Store *store, History *history, Marks **marks, Store **compacted, uint32_t *removed) {
  Compaction compaction = {.memory = *store_memory(store), .from = store, .history = history,
                           .count = store_count(store)};
  Status status = mark_visible(&compaction);
  if (status == STATUS_OK && compaction.removed > 0) status = rebuild(&compaction, marks);
  if (status != STATUS_OK) store_release(compaction.store);
  *compacted = status == STATUS_OK ? compaction.store : NULL;
  *removed = compaction.removed;
  assert(*compacted == NULL || store_count(*compacted) == store_count(store));
  compaction_free(&compaction);
  return status;
}

void conversation_take_store(Conversation *conversation, Store *store) {
  assert(store != NULL && store != conversation->store);
  conversation->weights = weights_in(store, conversation->weights);
  store_close(conversation->store);
  conversation->store = store;
}

bool conversation_is_compacted(const Conversation *conversation) { return conversation->compacted; }
uint64_t conversation_removals(const Conversation *conversation) { return conversation->removals; }

Status conversation_compact(Conversation *conversation, uint32_t keep, uint32_t *pruned, uint32_t *removed) {
  History *history;
  Store *store = NULL;
  Marks *marks = marks_share(conversation->marks);
  Status status = history_fork(conversation->history, &history);
  if (status == STATUS_OK) {
    status = history_prune(history, keep, pruned);
    if (status == STATUS_OK) status = compact_lists(conversation->store, history, &marks, &store, removed);
    if (status != STATUS_OK) history_free(history);
  }
  if (status != STATUS_OK) {
    marks_release(marks);
    return status;
  }
  conversation->compacted |= *pruned > 0 || *removed > 0;
  conversation->removals++;
  conversation_take_history(conversation, history);
  conversation_take_marks(conversation, marks);
  if (store != NULL) conversation_take_store(conversation, store);
  return STATUS_OK;
}
