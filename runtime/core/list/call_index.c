#include "core/list/call_index.h"

#include <assert.h>

#define NONE UINT32_MAX
#define WINDOW_FIRST 16u     /* messages of the first window */

typedef struct IndexedCall {
  CallLink link;
  int64_t order;             /* rises along the list */
  uint32_t answers;          /* visible results that answer it */
  uint32_t left, right;      /* in its heap; NONE: no such call */
  bool in_heap;              /* answered calls leave the heap when they become its root */
} IndexedCall;

typedef struct IndexedResult {
  MessageId id;              /* 0: the message left the list */
  uint32_t result;
  uint32_t next;             /* an older entry with a link to the same message, or NONE */
  uint32_t sibling;          /* an older entry of the same message, or NONE */
  uint32_t call;             /* the call of the window that it answers, or NONE */
} IndexedResult;

void call_index_init(CallIndex *index, Memory memory) {
  *index = (CallIndex){.memory = memory};
  map_init(&index->first_call, memory);
  map_init(&index->results_of, memory);
  map_init(&index->answers, memory);
  map_init(&index->open, memory);
}

void call_index_free(CallIndex *index) {
  memory_free(&index->memory, index->calls, index->call_room * sizeof *index->calls);
  memory_free(&index->memory, index->results, index->result_room * sizeof *index->results);
  map_free(&index->first_call);
  map_free(&index->results_of);
  map_free(&index->answers);
  map_free(&index->open);
}

/* ---- heaps of open calls: skew heaps, the last call of the list on top ---- */

static uint32_t merge(IndexedCall *calls, uint32_t a, uint32_t b) {
  uint32_t root = NONE, *place = &root;
  while (a != NONE && b != NONE) {
    if (calls[a].order < calls[b].order) {
      uint32_t lower = a;
      a = b;
      b = lower;
    }
    *place = a;
    place = &calls[a].left;
    uint32_t rest = calls[a].right;
    calls[a].right = calls[a].left;
    a = rest;
  }
  *place = a != NONE ? a : b;
  return root;
}

static uint64_t hash_of(const Store *store, CallLink link) {
  return hash_text(message_call_key(store_message(store, link.message), link.call), store_hash_key(store));
}

static Status push(CallIndex *index, const Store *store, uint32_t call) {
  IndexedCall *open = &index->calls[call];
  assert(!open->in_heap && open->answers == 0);
  uint64_t hash = hash_of(store, open->link), *root = map_find(&index->open, hash);
  open->left = open->right = NONE;
  open->in_heap = true;
  if (root == NULL) return map_put(&index->open, hash, call);
  *root = merge(index->calls, (uint32_t)*root, call);
  return STATUS_OK;
}

/* The last open call of the window with an id of this hash, or NONE. */
static uint32_t top(CallIndex *index, uint64_t hash) {
  uint64_t *root = map_find(&index->open, hash);
  while (root != NULL && *root != NONE && index->calls[*root].answers > 0) {
    IndexedCall *answered = &index->calls[*root];
    answered->in_heap = false;
    *root = merge(index->calls, answered->left, answered->right);
  }
  return root == NULL ? NONE : (uint32_t)*root;
}

/* ---- results ---- */

/* Finds the call of a result among those of a message of the window. */
static void resolve(CallIndex *index, const Store *store, IndexedResult *result, uint32_t first_call) {
  CallLink link = store_answers(store, result->id, result->result);
  uint32_t call;
  assert(result->call == NONE);
  MessageId caller = index->calls[first_call].link.message;
  if (!store_call(store, caller, link, result->id, result->result, &call)) return;
  assert(first_call + call < index->call_count);
  result->call = first_call + call;
  index->calls[result->call].answers++;
}

/* The newest entry under a key, or NONE. */
static uint32_t newest(const Map *map, uint64_t key) {
  const uint64_t *entry = map_find(map, key);
  return entry == NULL ? NONE : (uint32_t)*entry;
}

Status call_index_add(CallIndex *index, const Sequence *list, MessageId id, uint32_t number) {
  const Store *store = sequence_store(list);
  MessageId caller = index->started ? store_answers(store, id, number).message : 0;
  if (caller == 0) return STATUS_OK;
  MessageId origin = store_origin(store, caller);
  IndexedResult *grown =
    memory_grow(&index->memory, index->results, &index->result_room, index->result_count, sizeof *grown);
  if (grown == NULL) return STATUS_MEMORY;
  index->results = grown;
  uint32_t entry = index->result_count++, first_call = newest(&index->first_call, origin);
  grown[entry] = (IndexedResult){.id = id, .result = number, .next = newest(&index->answers, origin),
                                 .sibling = newest(&index->results_of, id), .call = NONE};
  if (first_call != NONE) resolve(index, store, &grown[entry], first_call);
  Status status = map_put(&index->answers, origin, entry);
  return status == STATUS_OK ? map_put(&index->results_of, id, entry) : status;
}

static Status add_results(CallIndex *index, const Sequence *list, MessageId id, uint32_t count) {
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < count && status == STATUS_OK; i++) status = call_index_add(index, list, id, i);
  return status;
}

/* Adds the results that may answer calls before `position`. */
static Status look_ahead(CallIndex *index, const Sequence *list, uint32_t position) {
  const Store *store = sequence_store(list);
  uint32_t count = sequence_count(list), span = sequence_is_ranked(list) ? store_span(store) : UINT32_MAX;
  MessageId anchor = position == 0 ? 0 : sequence_rank(list, position - 1).anchor;
  Status status = STATUS_OK;
  assert(index->rest <= count);
  for (; index->rest > 0 && status == STATUS_OK; index->rest--) {
    uint32_t at = count - index->rest;
    if (at >= position && span < UINT32_MAX && sequence_rank(list, at).anchor - anchor > span) break;
    MessageId id = sequence_at(list, at);
    status = add_results(index, list, id, message_result_count(store_message(store, id)));
  }
  return status;
}

/* ---- calls ---- */

/* Takes the calls of a message into the window. */
static Status add_calls(CallIndex *index, const Store *store, MessageId id, int64_t order) {
  MessageId origin = store_origin(store, id);
  uint32_t count = message_call_count(store_message(store, id)), first = index->call_count;
  if (count == 0) return STATUS_OK;
  for (uint32_t i = 0; i < count; i++) {
    IndexedCall *grown =
      memory_grow(&index->memory, index->calls, &index->call_room, index->call_count, sizeof *grown);
    if (grown == NULL) return STATUS_MEMORY;
    index->calls = grown;
    grown[index->call_count++] = (IndexedCall){.link = {.message = id, .call = i}, .order = order + count - i};
  }
  Status status = map_put(&index->first_call, origin, first);
  for (uint32_t at = newest(&index->answers, origin); at != NONE; at = index->results[at].next) {
    if (index->results[at].id != 0) resolve(index, store, &index->results[at], first);
  }
  for (uint32_t i = 0; i < count && status == STATUS_OK; i++) {
    if (index->calls[first + i].answers == 0) status = push(index, store, first + i);
  }
  return status;
}

/* Orders leave room for the calls of a message, which has fewer than 2^31 bytes. */
#define ORDER_STEP ((int64_t)1 << 31)

/* Moves the end of the window to `position`. */
static Status advance(CallIndex *index, const Sequence *list, uint32_t position) {
  Status status = STATUS_OK;
  for (; index->end < position && status == STATUS_OK; index->end++) {
    status = add_calls(index, sequence_store(list), sequence_at(list, index->end), index->next_order);
    index->next_order += ORDER_STEP;
  }
  return status;
}

/* Doubles the window towards the front of the list. */
static Status look_back(CallIndex *index, const Sequence *list) {
  const Store *store = sequence_store(list);
  uint32_t size = index->end - index->from;
  if (size < WINDOW_FIRST) size = WINDOW_FIRST;
  uint32_t first = index->from > size ? index->from - size : 0;
  Status status = STATUS_OK;
  for (; index->from > first && status == STATUS_OK; index->from--) {
    MessageId id = sequence_at(list, index->from - 1);
    status = add_calls(index, store, id, (index->from - 1) * ORDER_STEP);
    if (status == STATUS_OK) status = add_results(index, list, id, message_result_count(store_message(store, id)));
  }
  return status;
}

/* ---- the search ---- */

static Status start(CallIndex *index, const Sequence *list, uint32_t position, bool replaces, MessageId id,
                    uint32_t results) {
  assert(position + replaces <= sequence_count(list));
  index->started = true;
  index->from = index->end = position;
  index->next_order = position * ORDER_STEP;
  index->rest = sequence_count(list) - position - replaces;
  return add_results(index, list, id, results);
}

Status call_index_find(CallIndex *index, const Sequence *list, uint32_t position, bool replaces, MessageId id,
                       uint32_t result, Text key, CallLink *link) {
  uint64_t hash = hash_text(key, store_hash_key(sequence_store(list)));
  Status status = index->started ? STATUS_OK : start(index, list, position, replaces, id, result);
  assert(index->end <= position);
  if (status == STATUS_OK) status = look_ahead(index, list, position);
  if (status == STATUS_OK) status = advance(index, list, position);
  uint32_t call = NONE;
  while (status == STATUS_OK && (call = top(index, hash)) == NONE && index->from > 0) status = look_back(index, list);
  *link = call == NONE ? (CallLink){0, 0} : index->calls[call].link;
  return status;
}

Status call_index_enter(CallIndex *index, const Sequence *list, uint32_t position) {
  assert(index->end <= position || !index->started);
  return index->started ? look_ahead(index, list, position) : STATUS_OK;
}

Status call_index_leave(CallIndex *index, const Sequence *list, uint32_t position) {
  const Store *store = sequence_store(list);
  assert((index->end <= position || !index->started) && position < sequence_count(list));
  if (!index->started) return STATUS_OK;
  MessageId id = sequence_at(list, position);
  Status status = look_ahead(index, list, position + 1);
  for (uint32_t at = newest(&index->results_of, id); at != NONE && status == STATUS_OK;) {
    IndexedResult *result = &index->results[at];
    IndexedCall *call = result->call == NONE ? NULL : &index->calls[result->call];
    result->id = 0;
    if (call != NULL && --call->answers == 0) status = push(index, store, result->call);
    at = result->sibling;
  }
  map_remove(&index->results_of, id);
  return status;
}
