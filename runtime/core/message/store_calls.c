/*
** Links, and the stacks of calls that wait for results (store.h). The invariants are in
** store_data.h.
*/
#include "core/message/store_data.h"

#include <assert.h>
#include <stdlib.h>

CallData *store_call_at(const Store *store, CallLink link) {
  Details *details = store_message(store, link.message)->details;
  assert(details != NULL && link.call < details->call_count);
  return &details_calls(details)[link.call];
}

static uint64_t pack(CallLink link) { return (uint64_t)link.message << 32 | link.call; }
/* Falls along a stack: of two calls the upper one is in the newer message, or before the other. */
static uint64_t height_of(CallLink link) { return (uint64_t)link.message << 32 | (UINT32_MAX - link.call); }
static CallLink unpack(uint64_t packed) {
  return (CallLink){.message = (MessageId)(packed >> 32), .call = (uint32_t)packed};
}

static uint64_t id_hash(const Store *store, Text id) { return hash_text(id, &store->key); }

static Text key_of(const Store *store, CallLink link) {
  return message_call_key(store_message(store, link.message), link.call);
}

/* ---- the calls of a message by id ---- */

static int by_hash(const void *a, const void *b) {
  const CallKey *x = a, *y = b;
  if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
  return x->call < y->call ? -1 : x->call > y->call;
}

void store_sort_calls(const Store *store, Text raw, Details *details) {
  CallKey *keys = details_keys(details);
  for (uint32_t i = 0; i < details->call_count; i++) {
    Call call = details_calls(details)[i].call;
    Span span = call.id.at != 0 ? call.id : call.name;
    Text id = {.bytes = raw.bytes + span.at, .size = span.size, .escaped = span.escaped};
    keys[i] = (CallKey){.hash = (uint32_t)id_hash(store, id), .call = i};
  }
  qsort(keys, details->call_count, sizeof *keys, by_hash);
}

/* Index of the first of the sorted keys that is not below `key`, or `count`. */
static uint32_t first_key(const CallKey *keys, uint32_t count, CallKey key) {
  uint32_t low = 0, high = count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (by_hash(&keys[middle], &key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* Finds the first call with this key from index `first` on, then before it. */
static bool find_sorted(const Store *store, MessageId caller, uint32_t first, Text key, uint32_t *call) {
  Details *details = store_message(store, caller)->details;
  const CallKey *keys = details_keys(details);
  uint32_t count = details_key_count(details), hash = (uint32_t)id_hash(store, key);
  uint32_t start = first_key(keys, count, (CallKey){.hash = hash, .call = first});
  for (int round = 0; round < 2; round++, start = first_key(keys, count, (CallKey){.hash = hash})) {
    for (uint32_t at = start; at < count && keys[at].hash == hash; at++) {
      *call = keys[at].call;
      if (text_equal(key_of(store, (CallLink){.message = caller, .call = *call}), key)) return true;
    }
  }
  return false;
}

static bool find_one_by_one(const Message *caller, uint32_t first, const Message *message, uint32_t result,
                            uint32_t *call) {
  uint32_t count = message_call_count(caller);
  for (uint32_t i = 0; i < count; i++) {
    *call = (uint32_t)(((uint64_t)first + i) % count);
    if (message_may_answer(message, result, caller, *call)) return true;
  }
  return false;
}

bool store_call(const Store *store, MessageId caller, CallLink link, MessageId id, uint32_t result, uint32_t *call) {
  const Message *message = store_message(store, id), *calling = store_message(store, caller);
  uint32_t count = message_call_count(calling);
  *call = link.call;
  if (link.call < count && message_may_answer(message, result, calling, link.call)) return true;
  if (count <= CALLS_FEW) return find_one_by_one(calling, link.call, message, result, call);
  if (find_sorted(store, caller, link.call % count, message_result_key(message, result), call)) return true;
  Span name = message_result(message, result).name;
  if (name.at == 0) return false;
  if (find_sorted(store, caller, link.call % count, message_text(message, name), call)) return true;
  return count <= STORE_CALLS_MAX && find_one_by_one(calling, link.call, message, result, call);
}

/* The last call of a message that has the key of its call `call`. */
static uint32_t last_equal(const Store *store, CallLink link) {
  const Message *message = store_message(store, link.message);
  Text key = key_of(store, link);
  const CallKey *keys = details_keys(message->details);
  uint32_t count = details_key_count(message->details), hash = (uint32_t)id_hash(store, key);
  uint32_t at = count == 0 ? message_call_count(message)
                           : first_key(keys, count, (CallKey){.hash = hash, .call = UINT32_MAX});
  uint32_t call;
  do {
    assert(at > 0);      /* that call itself has its key */
    at--;
    call = count == 0 ? at : keys[at].call;
  } while (!text_equal(message_call_key(message, call), key));
  return call;
}

/* ---- stacks of waiting calls ---- */

/* Sets the top of a stack, or removes the stack for message 0. Fails only if the map must
   grow; restoring a removed stack never does. STATUS_MEMORY. */
static Status set_top(Store *store, uint64_t hash, CallLink top) {
  if (top.message != 0) return map_put(&store->waiting, hash, pack(top));
  map_remove(&store->waiting, hash);
  return STATUS_OK;
}

static CallLink top_of(const Store *store, uint64_t hash) {
  const uint64_t *packed = map_find(&store->waiting, hash);
  return packed == NULL ? (CallLink){0, 0} : unpack(*packed);
}

static CallLink below(const Store *store, CallLink link) {
  const CallData *call = store_call_at(store, link);
  return (CallLink){.message = call->below, .call = call->below_call};
}

static CallLink first_waiting(const Store *store, CallLink link) {
  while (link.message != 0 && store_call_at(store, link)->answered) link = below(store, link);
  return link;
}

Status store_push_call(Store *store, CallLink link) {
  uint64_t hash = id_hash(store, key_of(store, link));
  CallLink top = top_of(store, hash);
  assert(height_of(top) < height_of(link));
  store_call_at(store, link)->below = top.message;
  store_call_at(store, link)->below_call = top.call & 0x7fffffffu;
  return set_top(store, hash, link);
}

/* Ends the wait of a call; false if it was not waiting, as those of removed messages do not. */
bool store_pop_call(Store *store, CallLink link) {
  if (link.message <= store->indexed || !store_has(store, link.message)) return false;
  CallData *call = store_call_at(store, link);
  if (call->answered) return false;
  call->answered = true;
  uint64_t hash = id_hash(store, key_of(store, link));
  CallLink top = top_of(store, hash);
  if (pack(top) == pack(link)) (void)set_top(store, hash, first_waiting(store, link));
  return true;
}

void store_wait_again(Store *store, CallLink link) {
  assert(store_call_at(store, link)->answered);
  store_call_at(store, link)->answered = false;
  uint64_t hash = id_hash(store, key_of(store, link));
  if (height_of(top_of(store, hash)) < height_of(link)) {
    Status status = set_top(store, hash, link);
    assert(status == STATUS_OK);
    (void)status;
  }
}

/* The link below all calls of the link's message that have its key. */
static CallLink below_message(const Store *store, CallLink link) {
  link.call = last_equal(store, link);
  return below(store, link);
}

CallLink store_waiting(const Store *store, Text id, MessageId before) {
  CallLink link = top_of(store, id_hash(store, id));
  while (link.message != 0) {
    if (link.message >= before) {
      link = below_message(store, link);
      continue;
    }
    if (!store_call_at(store, link)->answered && text_equal(key_of(store, link), id)) break;
    link = below(store, link);
  }
  return link;
}

static void note_span(Store *store, Details *details, MessageId id, uint32_t result, MessageId caller) {
  uint32_t distance = store_rank(store, id).anchor - store_rank(store, caller).anchor;
  assert(caller < id);
  if (distance > store->span) store->span = distance;
  /* A change of callers shows between two neighbours. */
  if (result > 0 && details_results(details)[result - 1].answers != caller) store->span = UINT32_MAX;
}

void store_link(Store *store, MessageId id, uint32_t result, CallLink link) {
  Details *details = store_message(store, id)->details;
  assert(details != NULL && result < details->result_count);
  ResultData *data = &details_results(details)[result];
  data->answers = link.message;
  data->call = link.call & 0x7fffffffu;
  data->ended_wait = link.message != 0 && store_pop_call(store, link);
  if (link.message != 0) note_span(store, details, id, result, link.message);
}

void store_link_removed(Store *store) {
  for (MessageId id = store_next(store, 0); id != 0; id = store_next(store, id)) {
    uint32_t results = message_result_count(store_message(store, id));
    for (uint32_t i = 0; i < results; i++) {
      CallLink link = store_answers(store, id, i);
      if (link.message != 0 && !store_has(store, link.message)) store_link(store, id, i, link);
    }
  }
}

/* ---- invariants ---- */

static bool is_reachable(const Store *store, CallLink call) {
  CallLink link = top_of(store, id_hash(store, key_of(store, call)));
  while (link.message != 0 && pack(link) != pack(call)) link = below(store, link);
  return link.message != 0;
}

static void check_stacks(const Store *store) {
  uint64_t hash, head;
  for (size_t at = 0; map_next(&store->waiting, &at, &hash, &head);) {
    CallLink link = unpack(head), next;
    assert(link.message > store->indexed && !store_call_at(store, link)->answered);
    assert(id_hash(store, key_of(store, link)) == hash);
    for (; link.message != 0; link = next) {
      next = below(store, link);
      assert(height_of(next) < height_of(link));
    }
  }
}

static void check_message(const Store *store, MessageId id) {
  const Message *message = store_message(store, id);
  Details *details = message->details;
  assert(message->tokens <= MESSAGE_TOKENS_MAX && store_origin(store, id) <= id);
  if (details == NULL) return;
  assert(details->rank <= store->rank_count);
  for (uint32_t i = 0; i < details->result_count; i++) {
    CallLink link = store_answers(store, id, i);
    assert(link.message < id);
    assert(!store_has(store, link.message) || link.call < message_call_count(store_message(store, link.message)));
    (void)link;
  }
  for (uint32_t i = 0; i < details->call_count && id > store->indexed; i++) {
    assert(details_calls(details)[i].answered || is_reachable(store, (CallLink){.message = id, .call = i}));
  }
}

void store_check(const Store *store) {
  uint32_t guesses = 0, fragments = 0;
  assert(store->owners > 0 && !store->closed);
  assert(store->base <= store->count && store->indexed <= store->count);
  for (MessageId id = store_next(store, 0); id != 0; id = store_next(store, id)) {
    check_message(store, id);
    guesses += store_is_guess(store, id);
    fragments += message_is_fragment(store_message(store, id));
  }
  assert(guesses == store->guesses && fragments == store->fragments);
  (void)guesses, (void)fragments, (void)is_reachable;
  check_stacks(store);
}
