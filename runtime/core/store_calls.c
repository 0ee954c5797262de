/*
** Links, and the stacks of calls that wait for results (store.h). The invariants are in
** store_data.h.
*/
#include "core/store_data.h"

#include <assert.h>

CallData *store_call_at(const Store *store, CallLink link) {
  Details *details = store_message(store, link.message)->details;
  assert(details != NULL && link.call < details->call_count);
  return &details_calls(details)[link.call];
}

static uint64_t pack(CallLink link) { return (uint64_t)link.message << 32 | link.call; }
static CallLink unpack(uint64_t packed) {
  return (CallLink){.message = (MessageId)(packed >> 32), .call = (uint32_t)packed};
}

static uint64_t id_hash(const Store *store, Text id) { return hash_text(id, &store->key); }

static Text key_of(const Store *store, CallLink link) {
  return message_call_key(store_message(store, link.message), link.call);
}

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
  assert(pack(top) < pack(link));
  store_call_at(store, link)->below = top.message;
  store_call_at(store, link)->below_call = top.call & 0x7fffffffu;
  return set_top(store, hash, link);
}

/* Ends the wait of a call; false if it was not waiting. */
bool store_pop_call(Store *store, CallLink link) {
  if (link.message <= store->indexed) return false;
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
  if (pack(top_of(store, hash)) < pack(link)) {
    Status status = set_top(store, hash, link);
    assert(status == STATUS_OK);
    (void)status;
  }
}

CallLink store_waiting(const Store *store, Text id, MessageId before) {
  CallLink link = top_of(store, id_hash(store, id));
  while (link.message != 0) {
    const CallData *call = store_call_at(store, link);
    if (!call->answered && link.message < before && text_equal(key_of(store, link), id)) break;
    link = below(store, link);
  }
  return link;
}

static void note_span(Store *store, Details *details, MessageId id, uint32_t result, MessageId caller) {
  uint32_t distance = store_rank(store, id).anchor - store_rank(store, caller).anchor;
  assert(caller < id);
  if (distance > store->span) store->span = distance;
  for (uint32_t i = 0; i < result; i++) {
    if (details_results(details)[i].answers != caller) store->span = UINT32_MAX;
  }
}

bool store_call(const Store *store, MessageId caller, CallLink link, Text key, uint32_t *call) {
  uint32_t count = message_call_count(store_message(store, caller));
  for (uint32_t i = 0; i < count; i++) {
    *call = (link.call + i) % count;
    if (text_equal(key_of(store, (CallLink){.message = caller, .call = *call}), key)) return true;
  }
  return false;
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
      assert(pack(next) < pack(link));
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
    assert(link.message == 0 || link.call < message_call_count(store_message(store, link.message)));
    (void)link;
  }
  for (uint32_t i = 0; i < details->call_count && id > store->indexed; i++) {
    assert(details_calls(details)[i].answered || is_reachable(store, (CallLink){.message = id, .call = i}));
  }
}

void store_check(const Store *store) {
  uint32_t guesses = 0;
  assert(store->owners > 0 && store->base <= store->count && store->indexed <= store->count);
  for (MessageId id = 1; id <= store->count; id++) {
    if (!store_has(store, id)) continue;
    check_message(store, id);
    guesses += store_is_guess(store, id);
  }
  assert(guesses == store->guesses);
  (void)guesses, (void)is_reachable;
  if (!store->closed) check_stacks(store);
}
