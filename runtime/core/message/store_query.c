#include "core/message/store_data.h"

#include <assert.h>

uint32_t store_count(const Store *store) { return store->count; }
uint32_t store_base(const Store *store) { return store->base; }
uint32_t store_indexed(const Store *store) { return store->indexed; }
uint32_t store_moved(const Store *store) { return store->moved; }
const HashKey *store_hash_key(const Store *store) { return &store->key; }
const Memory *store_memory(const Store *store) { return &store->memory; }

static const Message *message_at(const Store *store, MessageId id) {
  assert(id >= 1 && id <= store->count);
  return pages_at(&store->messages, id - 1);
}

bool store_has(const Store *store, MessageId id) {
  if (id == 0 || id > store->count) return false;
  const Message *message = message_at(store, id);
  return message != NULL && message->raw != NULL;
}

MessageId store_next(const Store *store, MessageId id) {
  for (uint32_t i = pages_next(&store->messages, id); i < store->count; i = pages_next(&store->messages, i + 1)) {
    if (store_has(store, i + 1)) return i + 1;
  }
  return 0;
}

int64_t store_time(const Store *store, MessageId id) {
  assert(store_has(store, id));
  const int64_t *time = pages_at(&store->times, id - 1);
  assert(time != NULL);
  return *time;
}

const Message *store_message(const Store *store, MessageId id) {
  const Message *message = message_at(store, id);
  assert(message != NULL && message->raw != NULL);
  return message;
}

uint32_t store_insertions(const Store *store) { return store->rank_count; }
uint32_t store_span(const Store *store) { return store->span; }

CallLink store_answers(const Store *store, MessageId id, uint32_t result) {
  Details *details = store_message(store, id)->details;
  assert(details != NULL && result < details->result_count);
  const ResultData *data = &details_results(details)[result];
  return (CallLink){.message = data->answers, .call = data->call};
}

bool store_is_guess(const Store *store, MessageId id) {
  const Details *details = store_message(store, id)->details;
  return details != NULL && details->guessed;
}

uint32_t store_guesses(const Store *store) { return store->guesses; }
uint32_t store_fragments(const Store *store) { return store->fragments; }
StoreAttachment *store_attachment(Store *store) { return &store->attachment; }

MessageId store_origin(const Store *store, MessageId id) {
  if (!store_has(store, id)) return id;
  const Details *details = store_message(store, id)->details;
  return details == NULL || details->origin == 0 ? id : details->origin;
}

/* The rank of an inserted message; NULL for an appended one. */
const Rank *store_find_rank(const Store *store, MessageId id) {
  const Message *message = id == 0 || id > store->count ? NULL : message_at(store, id);
  const Details *details = message == NULL ? NULL : message->details;   /* a removed origin has some, too */
  return details == NULL || details->rank == 0 ? NULL : pages_at(&store->ranks, details->rank - 1);
}

bool store_is_moved(const Store *store, MessageId id) {
  return store_origin(store, id) != id || store_find_rank(store, id) != NULL;
}

/* A replacement has the rank of its origin even if that was removed, because both hold the
   same rank number. */
Rank store_rank(const Store *store, MessageId id) {
  const Rank *rank = store_find_rank(store, id);
  return rank == NULL ? (Rank){.anchor = store_origin(store, id), .step = 0} : *rank;
}
