#include "core/list/call_links.h"

#include <assert.h>

CallLinks call_links_of(const Store *store, const Sequence *list) {
  return (CallLinks){.store = store, .list = list, .count = sequence_count(list),
                     .span = sequence_is_ranked(list) ? store_span(store) : UINT32_MAX};
}

bool call_links_answers(const CallLinks *links, MessageId id, uint32_t result, MessageId caller, uint32_t *call) {
  CallLink link = store_answers(links->store, id, result);
  if (link.message == 0 || store_origin(links->store, link.message) != store_origin(links->store, caller)) return false;
  return store_call(links->store, caller, link, id, result, call);
}

CallLink call_links_call(const Store *store, const Sequence *list, MessageId id, uint32_t result) {
  CallLink link = store_answers(store, id, result);
  if (link.message == 0 || store_has(store, link.message)) return link;
  uint32_t index = sequence_index_of_origin(list, link.message);
  if (index == sequence_count(list)) return (CallLink){0, 0};
  MessageId caller = sequence_at(list, index);
  CallLink found = {.message = caller};
  return store_call(store, caller, link, id, result, &found.call) ? found : (CallLink){0, 0};
}

uint32_t call_links_caller(const CallLinks *links, uint32_t position) {
  assert(links->count == sequence_count(links->list) && position < links->count);
  MessageId id = sequence_at(links->list, position);
  uint32_t results = message_result_count(store_message(links->store, id)), call;
  for (uint32_t i = 0; i < results; i++) {
    MessageId linked = store_answers(links->store, id, i).message;
    uint32_t caller = linked == 0 ? links->count : sequence_index_of_origin(links->list, linked);
    if (caller == links->count) continue;
    if (call_links_answers(links, id, i, sequence_at(links->list, caller), &call)) return caller;
  }
  return links->count;
}

static uint32_t anchor_at(const CallLinks *links, uint32_t position) {
  return sequence_rank(links->list, position).anchor;
}

uint32_t call_links_next_result(const CallLinks *links, uint32_t caller, uint32_t from) {
  assert(caller <= from && from < links->count);
  MessageId id = sequence_at(links->list, caller);
  uint32_t anchor = anchor_at(links, caller), call;
  for (uint32_t at = from + 1; at < links->count && anchor_at(links, at) - anchor <= links->span; at++) {
    MessageId there = sequence_at(links->list, at);
    uint32_t results = message_result_count(store_message(links->store, there));
    for (uint32_t i = 0; i < results; i++) {
      if (call_links_answers(links, there, i, id, &call)) return at;
    }
  }
  return links->count;
}

/* Removes from `open`, a bit per call of `caller`, the calls that the first `count` results of a message answer. */
static uint64_t without_answers(const Store *store, MessageId id, uint32_t count, MessageId caller, uint64_t open) {
  for (uint32_t i = 0; i < count; i++) {
    CallLink link = store_answers(store, id, i);
    uint32_t call;
    if (link.message == 0 || store_origin(store, link.message) != store_origin(store, caller)) continue;
    if (store_call(store, caller, link, id, i, &call)) open &= ~((uint64_t)1 << call);
  }
  return open;
}

CallLink call_links_named(const Store *store, const Sequence *list, uint32_t position, MessageId id, uint32_t result) {
  const CallLink none = {0, 0};
  const Message *message = store_message(store, id);
  uint32_t from = position, calls = 0;
  while (calls == 0) {
    if (from == 0 || position - from == CALLS_NAMED_MAX) return none;
    const Message *earlier = store_message(store, sequence_at(list, --from));
    calls = message_call_count(earlier);
    uint32_t results = message_result_count(earlier);
    if (calls > STORE_CALLS_MAX || results > STORE_CALLS_MAX || calls + results == 0) return none;
  }
  if (result >= STORE_CALLS_MAX) return none;
  MessageId caller = sequence_at(list, from);
  uint64_t open = UINT64_MAX;
  for (uint32_t at = from + 1; at < position; at++) {
    MessageId there = sequence_at(list, at);
    open = without_answers(store, there, message_result_count(store_message(store, there)), caller, open);
  }
  open = without_answers(store, id, result, caller, open);
  for (uint32_t i = 0; i < calls; i++) {
    bool fits = (open >> i & 1) && message_may_answer(message, result, store_message(store, caller), i);
    if (fits) return (CallLink){.message = caller, .call = i};
  }
  return none;
}

bool call_links_is_open(const CallLinks *links, uint32_t position) {
  assert(position < links->count);
  MessageId id = sequence_at(links->list, position);
  uint32_t calls = message_call_count(store_message(links->store, id)), call;
  uint64_t open = calls == 64 ? UINT64_MAX : ((uint64_t)1 << calls) - 1;      /* a bit per call */
  assert(calls <= STORE_CALLS_MAX);
  for (uint32_t at = position; open != 0 && (at = call_links_next_result(links, position, at)) < links->count;) {
    MessageId there = sequence_at(links->list, at);
    uint32_t results = message_result_count(store_message(links->store, there));
    for (uint32_t i = 0; i < results; i++) {
      if (call_links_answers(links, there, i, id, &call)) open &= ~((uint64_t)1 << call);
    }
  }
  return open != 0;
}
