/*
** Adds messages to a store, removes them again, forks it. The fields are in store_data.h.
*/
#include "core/message/store_data.h"

#include <assert.h>
#include <string.h>

#include "base/minmax.h"

/* The first step at an anchor is in the middle, further ones STEP before or after it:
   enough for two million insertions at one place, each beside the last. */
#define STEP_FIRST ((uint64_t)1 << 63)
#define STEP ((uint64_t)1 << 42)

/* ---- bytes ---- */

static Status need_arena(Store *store) {
  if (store->arena != NULL) return STATUS_OK;
  Status status = arena_new(&store->memory, store->inherited, &store->arena);
  if (status == STATUS_OK) store->inherited = NULL;      /* the arena took it over */
  return status;
}

/* Allocates `size` bytes, aligned to 8; NULL if memory runs out. */
void *store_allocate(Store *store, size_t size) {
  return need_arena(store) == STATUS_OK ? arena_allocate(store->arena, size) : NULL;
}

Status store_adopt(Store *store, char *bytes, size_t size, size_t capacity) {
  assert(size <= capacity);
  (void)size;
  Status status = need_arena(store);
  return status == STATUS_OK ? arena_adopt(store->arena, bytes, capacity) : status;
}

Arena *store_share_bytes(Store *store) { return store->arena == NULL ? NULL : arena_share(store->arena); }

/* ---- life ---- */

Status store_new(const Memory *memory, HashKey key, Store **result) {
  Store *store = memory_new(memory, sizeof *store);
  if (store == NULL) return STATUS_MEMORY;
  *store = (Store){.memory = *memory, .key = key, .owners = 1};
  pages_init(&store->messages, *memory, sizeof(Message));
  pages_init(&store->times, *memory, sizeof(int64_t));
  pages_init(&store->ranks, *memory, sizeof(Rank));
  map_init(&store->waiting, *memory);
  *result = store;
  return STATUS_OK;
}

Status store_fork_attachment(const StoreAttachment *attachment, StoreAttachment *fork) {
  void *data;
  if (attachment->data == NULL) return STATUS_OK;
  Status status = attachment->fork(attachment->data, &data);
  if (status != STATUS_OK) return status;
  *fork = *attachment;
  fork->data = data;
  return STATUS_OK;
}

Status store_fork(Store *store, Store **result) {
  Store *fork;
  assert(!store->closed);
  Status status = store_new(&store->memory, store->key, &fork);
  if (status != STATUS_OK) return status;
  status = pages_share(&store->messages, &fork->messages);
  if (status == STATUS_OK) status = pages_share(&store->times, &fork->times);
  if (status == STATUS_OK) status = pages_share(&store->ranks, &fork->ranks);
  if (status == STATUS_OK) status = store_fork_attachment(&store->attachment, &fork->attachment);
  if (status != STATUS_OK) {
    store_release(fork);
    return status;
  }
  Arena *bytes = store->arena != NULL ? store->arena : store->inherited;
  fork->inherited = bytes == NULL ? NULL : arena_share(bytes);
  fork->count = fork->base = fork->indexed = store->count;
  fork->span = store->span;
  fork->rank_count = store->rank_count;
  fork->guesses = store->guesses;
  fork->fragments = store->fragments;
  fork->moved = store->moved;
  store->forked = store_mark(store);
  *result = fork;
  return STATUS_OK;
}

Store *store_share(Store *store) {
  store->owners++;
  return store;
}

void store_release(Store *store) {
  assert(store == NULL || store->owners > 0);
  if (store == NULL || --store->owners > 0) return;
  Memory memory = store->memory;
  pages_free(&store->messages);
  pages_free(&store->times);
  pages_free(&store->ranks);
  arena_release(store->arena);
  arena_release(store->inherited);
  map_free(&store->waiting);
  if (store->attachment.data != NULL) store->attachment.free(store->attachment.data);
  memory_free(&memory, store, sizeof *store);
}

void store_close(Store *store) {
  if (store == NULL) return;
  assert(!store->closed);
  if (store->owners > 1) {
    if (store->forked.count > 0) store_rewind(store, store->forked);
    map_free(&store->waiting);
    store->closed = true;
  }
  store_release(store);
}

/* ---- messages ---- */

char *store_bytes(Store *store, MessageId id, size_t *size) {
  const Message *message = store_message(store, id);
  *size = message->raw_size;
  return (char *)(uintptr_t)message->raw;      /* all bytes are in arenas, which own them */
}

/* Gives the message for writing in this store only. */
static Status own_message(Store *store, MessageId id, Message **message) {
  void *element;
  Status status = pages_own(&store->messages, id - 1, &element);
  if (status == STATUS_OK) *message = element;
  return status;
}

Status store_own_bytes(Store *store, MessageId id, char **bytes, size_t *size) {
  Message *message;
  Status status = own_message(store, id, &message);
  if (status != STATUS_OK) return status;
  char *copy = store_allocate(store, message->raw_size);
  if (copy == NULL) return STATUS_MEMORY;
  memcpy(copy, message->raw, message->raw_size);
  message->raw = copy;
  arena_keep(store->arena);          /* the message is older than any mark for a rewind */
  *bytes = copy;
  *size = message->raw_size;
  return STATUS_OK;
}

void store_return_bytes(Store *store, MessageId id, char *bytes) {
  Message *message;
  Status status = own_message(store, id, &message);      /* it is this store's own already */
  assert(status == STATUS_OK);
  if (status == STATUS_OK) message->raw = bytes;
}

static bool starts_turn(const MessageShape *shape) {
  if (shape->role != ROLE_USER) return false;
  if (shape->result_count == 0) return true;
  for (uint32_t i = 0; i < shape->part_count; i++) {
    if (shape->parts[i].kind != PART_TOOL_RESULT && !shape->parts[i].nested) return true;
  }
  return false;
}

static bool has_other_spelling(Text raw, const MessageShape *shape) {
  Span span = shape->role_text;
  Text spelling = {.bytes = raw.bytes + span.at, .size = span.size, .escaped = span.escaped};
  return span.at != 0 && !text_equal(spelling, text_of(role_name(shape->role)));
}

static uint8_t field_bits(const MessageShape *shape) {
  unsigned bits = 0;
  for (unsigned field = 0; field < FIELD_COUNT; field++) {
    if (shape->fields[field].at != 0) bits |= 1u << field;
  }
  return (uint8_t)bits;
}

/* Creates the details of a shape; NULL if it needs none. STATUS_MEMORY. */
static Status make_details(Store *store, Text raw, const MessageShape *shape, Details **result) {
  uint8_t bits = field_bits(shape);
  *result = NULL;
  bool plain = bits == 0 && !shape->has_timestamp && shape->form == FORM_CONTENT;
  if (plain && shape->call_count + shape->result_count + shape->part_count == 0) return STATUS_OK;
  Details head = {.has_timestamp = shape->has_timestamp, .form = (uint8_t)shape->form, .fields = bits,
                  .call_count = shape->call_count, .result_count = shape->result_count,
                  .part_count = shape->part_count};
  Details *details = store_allocate(store, details_size(&head));
  if (details == NULL) return STATUS_MEMORY;
  *details = head;
  for (uint32_t i = 0; i < shape->call_count; i++) details_calls(details)[i] = (CallData){.call = shape->calls[i]};
  for (uint32_t i = 0; i < shape->result_count; i++) {
    details_results(details)[i] = (ResultData){.result = shape->results[i]};
  }
  if (details_key_count(details) > 0) store_sort_calls(store, raw, details);
  if (shape->part_count > 0) memcpy(details_parts(details), shape->parts, shape->part_count * sizeof(Part));
  Span *field = details_fields(details);
  for (unsigned i = 0; i < FIELD_COUNT; i++) {
    if (shape->fields[i].at != 0) *field++ = shape->fields[i];
  }
  assert((unsigned char *)field == details_timestamp(details));
  if (shape->has_timestamp) memcpy(details_timestamp(details), &shape->timestamp, sizeof shape->timestamp);
  *result = details;
  return STATUS_OK;
}

/* ---- adding and rewinding ---- */

/* Reserves the elements of the next message and of its timestamp. */
Status store_reserve(Store *store, bool timed, void **message, void **time) {
  Status status = pages_own(&store->messages, store->count, message);
  return status == STATUS_OK && timed ? pages_own(&store->times, store->count, time) : status;
}

/* Makes the calls of the newest message wait, the first one on top of its stack. After a failure none
   waits, and the details list no calls and no results, so that store_rewind undoes the rest. */
Status store_push_calls(Store *store, Details *details) {
  uint32_t count = details == NULL ? 0 : details->call_count;
  if (details != NULL && max_u32(count, details->result_count) > STORE_CALLS_MAX) store->span = UINT32_MAX;
  for (uint32_t i = count; i-- > 0;) {
    Status status = store_push_call(store, (CallLink){.message = store->count, .call = i});
    if (status == STATUS_OK) continue;
    while (++i < count) store_pop_call(store, (CallLink){.message = store->count, .call = i});
    details->call_count = details->result_count = 0;
    return status;
  }
  return STATUS_OK;
}

bool store_can_add(const Store *store, size_t bytes) {
  assert(!store->closed);
  return store->count < STORE_MESSAGES_MAX && bytes < (size_t)1 << 31;
}

Status store_add(Store *store, Text raw, bool adopted, const MessageShape *shape, MessageId *id) {
  if (!store_can_add(store, raw.size)) return STATUS_LIMIT;
  StoreMark mark = store_mark(store);
  void *message, *time;
  if (store_reserve(store, shape->has_timestamp, &message, &time) != STATUS_OK) return STATUS_MEMORY;
  Details *details;
  Status status = make_details(store, raw, shape, &details);
  const char *bytes = raw.bytes;
  if (status == STATUS_OK && !adopted) {
    char *copy = store_allocate(store, raw.size);
    if (copy == NULL) status = STATUS_MEMORY;
    else bytes = memcpy(copy, raw.bytes, raw.size);
  }
  if (status != STATUS_OK) {
    store_rewind(store, mark);
    return status;
  }
  *(Message *)message = (Message){
    .raw = bytes, .details = details, .raw_size = (uint32_t)raw.size & 0x7fffffffu, .starts_turn = starts_turn(shape),
    .role = shape->role & 3u, .other_spelling = has_other_spelling(raw, shape),
    .content_kind = shape->content_kind & 3u, .content_at = shape->content.at & 0x7fffffffu,
    .content_size = shape->content.size, .content_escaped = shape->content.escaped};
  if (shape->has_timestamp) *(int64_t *)time = shape->timestamp;
  *id = ++store->count;
  store->fragments += message_is_fragment(message);
  status = store_push_calls(store, details);
  if (status != STATUS_OK) store_rewind(store, mark);
  return status;
}

Status store_weigh(Store *store, MessageId id, uint32_t tokens) {
  Message *message;
  assert(tokens <= MESSAGE_TOKENS_MAX && id > store->base);
  Status status = own_message(store, id, &message);
  if (status == STATUS_OK) message->tokens = tokens & MESSAGE_TOKENS_MAX;
  return status;
}

void store_note_guess(Store *store, MessageId id) {
  Details *details = store_message(store, id)->details;
  assert(details != NULL);   /* only parts have guesses */
  store->guesses += !details->guessed;
  details->guessed = true;
}

StoreMark store_mark(const Store *store) {
  return (StoreMark){.count = store->count, .span = store->span, .ranks = store->rank_count,
                     .bytes = store->arena == NULL ? (ArenaMark){0} : arena_mark(store->arena)};
}

static void remove_message(Store *store, MessageId id) {
  if (!store_has(store, id)) return;
  Details *details = store_message(store, id)->details;
  if (details == NULL) return;
  assert(store->guesses >= details->guessed);
  assert(store->fragments >= message_is_fragment(store_message(store, id)));
  store->guesses -= details->guessed;
  store->fragments -= message_is_fragment(store_message(store, id));
  for (uint32_t i = details->result_count; i-- > 0;) {
    const ResultData *data = &details_results(details)[i];
    if (data->ended_wait) store_wait_again(store, (CallLink){.message = data->answers, .call = data->call});
  }
  for (uint32_t i = 0; i < details->call_count; i++) store_pop_call(store, (CallLink){.message = id, .call = i});
}

void store_rewind(Store *store, StoreMark mark) {
  assert(mark.count <= store->count && mark.count >= store->base);
  if (store->closed) return;
  for (; store->count > mark.count; store->count--) remove_message(store, store->count);
  if (store->attachment.data != NULL) store->attachment.rewind(store->attachment.data, store->count);
  store->span = mark.span;
  store->rank_count = mark.ranks;
  pages_cut(&store->messages, store->count);
  pages_cut(&store->times, store->count);
  pages_cut(&store->ranks, store->rank_count);
  if (store->arena != NULL) arena_rewind(store->arena, mark.bytes);
  /* A fork may have been made of what is removed now: while a host counted a message, or between a draft's edits. */
  if (store->forked.count > store->count) store->forked = store_mark(store);
}

/* ---- replacing and inserting ---- */

/* Gives the details of a message that only this store has; creates them if it has none. */
static Status need_details(Store *store, MessageId id, Details **details) {
  Message *message;
  assert(id > store->base);
  Status status = own_message(store, id, &message);
  if (status != STATUS_OK) return status;
  if (message->details == NULL) {
    message->details = store_allocate(store, sizeof(Details));
    if (message->details == NULL) return STATUS_MEMORY;
    *message->details = (Details){0};
  }
  *details = message->details;
  return STATUS_OK;
}

Status store_replace(Store *store, MessageId id, MessageId replaced) {
  Details *details;
  Status status = need_details(store, id, &details);
  if (status != STATUS_OK) return status;
  const Details *old = store_has(store, replaced) ? store_message(store, replaced)->details : NULL;
  details->origin = store_origin(store, replaced);
  details->rank = old == NULL ? 0 : old->rank;
  return STATUS_OK;
}

/* A step between two steps, STEP away from the one that belongs to an inserted message, so
   that the next insertion beside it finds room too. 0: no step is left. */
static uint64_t step_between(uint64_t low, uint64_t high) {
  assert(low < high);
  uint64_t half = (high - low) / 2;
  if (low == 0 && high == UINT64_MAX) return STEP_FIRST;
  if (half == 0) return 0;
  uint64_t step = half < STEP ? half : STEP;
  return high == UINT64_MAX ? low + step : low == 0 ? high - step : low + half;
}

Status store_place(Store *store, MessageId id, Rank rank) {
  Details *details;
  void *element;
  Status status = need_details(store, id, &details);
  if (status == STATUS_OK) status = pages_own(&store->ranks, store->rank_count, &element);
  if (status != STATUS_OK) return status;
  *(Rank *)element = rank;
  details->rank = ++store->rank_count;
  return STATUS_OK;
}

Status store_place_origin(Store *store, MessageId id) {
  MessageId origin = store_origin(store, id);
  const Details *details = store_message(store, id)->details;
  Details *removed;
  if (store_has(store, origin) || details->rank == 0) return STATUS_OK;   /* a replacement has details */
  Status status = need_details(store, origin, &removed);
  if (status == STATUS_OK) removed->rank = details->rank;
  return status;
}

Status store_insert(Store *store, MessageId id, Rank before, Rank after) {
  assert(id == store->count && rank_below(before, after));
  uint64_t high = after.anchor == before.anchor ? after.step : UINT64_MAX, step = step_between(before.step, high);
  return step == 0 ? STATUS_OK : store_place(store, id, (Rank){.anchor = before.anchor, .step = step});
}
