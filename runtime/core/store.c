/*
** Messages, and further arrays by seq, are in pages that forks share (pages.h); bytes and
** details in an arena (arena.h):
**
**     messages   seq -> Message -> raw bytes, Details
**     times      seq -> timestamp, for messages that have one
**     ranks      number -> Rank, for messages that were inserted
**
** Waiting calls are in the map `waiting`, except calls of messages up to `indexed`: those
** are in the map of the store that this one was forked from.
**
** Invariants (asserted by store_check):
**   1. A call of a message after `indexed` whose `answered` is false can be reached from
**      the head of its stack in `waiting`.
**   2. A head is never answered.
**   3. Ids fall along a stack.
**   4. `answered`, `below` and `ended_wait` of a message are read and written only by the
**      store with its calls in `waiting`.
**   5. Links, origins and ranks are in range.
*/
#include "core/message_data.h"

#include <assert.h>
#include <string.h>

#include "base/bitset.h"
#include "base/map.h"
#include "core/pages.h"

/* The first step at an anchor is in the middle, further ones STEP before or after it:
   enough for two million insertions at one place, each beside the last. */
#define STEP_FIRST ((uint64_t)1 << 63)
#define STEP ((uint64_t)1 << 42)

struct Store {
  Memory memory;
  HashKey key;
  uint32_t owners;
  bool closed;               /* see store_close */
  uint32_t count;
  uint32_t base;             /* see store_base */
  uint32_t indexed;          /* calls of later messages are in `waiting` */
  uint32_t span;             /* see store_span */
  uint32_t rank_count;
  uint32_t guesses;          /* see store_guesses */
  uint32_t moved;            /* see store_moved */
  Pages messages, times, ranks;
  Arena *arena;              /* NULL until the first addition */
  Arena *inherited;          /* a share of the forked store's arena, until `arena` takes it as its base; or NULL */
  StoreAttachment attachment;
  Map waiting;               /* hash of a call's id -> newest waiting call */
  StoreMark forked;          /* the state at the last fork */
};

/* ---- bytes ---- */

static Status need_arena(Store *store) {
  if (store->arena != NULL) return STATUS_OK;
  Status status = arena_new(&store->memory, store->inherited, &store->arena);
  if (status == STATUS_OK) store->inherited = NULL;      /* the arena took it over */
  return status;
}

/* Allocates `size` bytes, aligned to 8; NULL if memory runs out. */
static void *cut(Store *store, size_t size) {
  return need_arena(store) == STATUS_OK ? arena_cut(store->arena, size) : NULL;
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

static Status fork_attachment(const StoreAttachment *attachment, StoreAttachment *fork) {
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
  if (status == STATUS_OK) status = fork_attachment(&store->attachment, &fork->attachment);
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
  if (store->owners > 1 && !store->closed) {
    if (store->forked.count > 0 && store->forked.count >= store->base) store_rewind(store, store->forked);
    map_free(&store->waiting);
    store->closed = true;
  }
  store_release(store);
}

/* ---- messages ---- */

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

int64_t store_time(const Store *store, MessageId id) {
  assert(store_has(store, id));
  const int64_t *time = pages_at(&store->times, id - 1);
  assert(time != NULL);
  return *time;
}

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
  char *copy = cut(store, message->raw_size);
  if (copy == NULL) return STATUS_MEMORY;
  memcpy(copy, message->raw, message->raw_size);
  message->raw = copy;
  arena_keep(store->arena);          /* the message is older than any mark for a rewind */
  *bytes = copy;
  *size = message->raw_size;
  return STATUS_OK;
}

const Message *store_message(const Store *store, MessageId id) {
  const Message *message = message_at(store, id);
  assert(message != NULL && message->raw != NULL);
  return message;
}

static CallData *call_at(const Store *store, CallLink link) {
  Details *details = store_message(store, link.message)->details;
  assert(details != NULL && link.call < details->call_count);
  return &details_calls(details)[link.call];
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
static Status make_details(Store *store, const MessageShape *shape, Details **result) {
  uint8_t bits = field_bits(shape);
  *result = NULL;
  if (bits == 0 && !shape->has_timestamp && shape->call_count + shape->result_count + shape->part_count == 0) {
    return STATUS_OK;
  }
  Details *details = cut(store, sizeof *details + shape->call_count * sizeof(CallData) +
                                  shape->result_count * sizeof(ResultData) + shape->part_count * sizeof(Part) +
                                  (size_t)__builtin_popcount(bits) * sizeof(Span) +
                                  (shape->has_timestamp ? sizeof shape->timestamp : 0));
  if (details == NULL) return STATUS_MEMORY;
  *details = (Details){.has_timestamp = shape->has_timestamp, .fields = bits, .call_count = shape->call_count,
                       .result_count = shape->result_count,
                       .part_count = shape->part_count};
  for (uint32_t i = 0; i < shape->call_count; i++) details_calls(details)[i] = (CallData){.call = shape->calls[i]};
  for (uint32_t i = 0; i < shape->result_count; i++) {
    details_results(details)[i] = (ResultData){.result = shape->results[i]};
  }
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

/* ---- waiting calls ---- */

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
  const CallData *call = call_at(store, link);
  return (CallLink){.message = call->below, .call = call->below_call};
}

static CallLink first_waiting(const Store *store, CallLink link) {
  while (link.message != 0 && call_at(store, link)->answered) link = below(store, link);
  return link;
}

static Status push_call(Store *store, CallLink link) {
  uint64_t hash = id_hash(store, key_of(store, link));
  CallLink top = top_of(store, hash);
  assert(pack(top) < pack(link));
  call_at(store, link)->below = top.message;
  call_at(store, link)->below_call = top.call & 0x7fffffffu;
  return set_top(store, hash, link);
}

/* Ends the wait of a call; false if it was not waiting. */
static bool pop_call(Store *store, CallLink link) {
  if (link.message <= store->indexed) return false;
  CallData *call = call_at(store, link);
  if (call->answered) return false;
  call->answered = true;
  uint64_t hash = id_hash(store, key_of(store, link));
  CallLink top = top_of(store, hash);
  if (pack(top) == pack(link)) (void)set_top(store, hash, first_waiting(store, link));
  return true;
}

static void wait_again(Store *store, CallLink link) {
  assert(call_at(store, link)->answered);
  call_at(store, link)->answered = false;
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
    const CallData *call = call_at(store, link);
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

uint32_t store_span(const Store *store) { return store->span; }

void store_link(Store *store, MessageId id, uint32_t result, CallLink link) {
  Details *details = store_message(store, id)->details;
  assert(details != NULL && result < details->result_count);
  ResultData *data = &details_results(details)[result];
  data->answers = link.message;
  data->call = link.call & 0x7fffffffu;
  data->ended_wait = link.message != 0 && pop_call(store, link);
  if (link.message != 0) note_span(store, details, id, result, link.message);
}

CallLink store_answers(const Store *store, MessageId id, uint32_t result) {
  Details *details = store_message(store, id)->details;
  assert(details != NULL && result < details->result_count);
  const ResultData *data = &details_results(details)[result];
  return (CallLink){.message = data->answers, .call = data->call};
}

/* ---- adding and rewinding ---- */

/* Reserves the elements of the next message and of its timestamp. */
static Status reserve_message(Store *store, bool timed, void **message, void **time) {
  Status status = pages_own(&store->messages, store->count, message);
  return status == STATUS_OK && timed ? pages_own(&store->times, store->count, time) : status;
}

/* Makes the calls of the newest message wait. After a failure the details list only the calls
   that wait, and no results, so that store_rewind undoes the rest. */
static Status push_calls(Store *store, Details *details) {
  uint32_t count = details == NULL ? 0 : details->call_count;
  for (uint32_t i = 0; i < count; i++) {
    Status status = push_call(store, (CallLink){.message = store->count, .call = i});
    if (status == STATUS_OK) continue;
    details->call_count = i;
    details->result_count = 0;
    return status;
  }
  return STATUS_OK;
}

static bool can_add(const Store *store, size_t bytes) {
  assert(!store->closed);
  return store->count < UINT32_MAX - 1 && bytes < (size_t)1 << 31;
}

Status store_add(Store *store, Text raw, bool adopted, const MessageShape *shape, MessageId *id) {
  if (!can_add(store, raw.size)) return STATUS_LIMIT;
  StoreMark mark = store_mark(store);
  void *message, *time;
  if (reserve_message(store, shape->has_timestamp, &message, &time) != STATUS_OK) return STATUS_MEMORY;
  Details *details;
  Status status = make_details(store, shape, &details);
  const char *bytes = raw.bytes;
  if (status == STATUS_OK && !adopted) {
    char *copy = cut(store, raw.size);
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
  status = push_calls(store, details);
  if (status != STATUS_OK) store_rewind(store, mark);
  return status;
}

void store_weigh(Store *store, MessageId id, uint32_t tokens) {
  Message *message = NULL;
  assert(tokens <= MESSAGE_TOKENS_MAX && id > store->base);
  Status status = own_message(store, id, &message);      /* just added, so its page is not shared */
  assert(status == STATUS_OK);
  if (status == STATUS_OK) message->tokens = tokens & MESSAGE_TOKENS_MAX;
}

void store_note_guess(Store *store, MessageId id) {
  Details *details = store_message(store, id)->details;
  assert(details != NULL);   /* only parts have guesses */
  store->guesses += !details->guessed;
  details->guessed = true;
}

bool store_is_guess(const Store *store, MessageId id) {
  const Details *details = store_message(store, id)->details;
  return details != NULL && details->guessed;
}

uint32_t store_guesses(const Store *store) { return store->guesses; }
StoreAttachment *store_attachment(Store *store) { return &store->attachment; }

StoreMark store_mark(const Store *store) {
  return (StoreMark){.count = store->count, .span = store->span, .ranks = store->rank_count,
                     .bytes = store->arena == NULL ? (ArenaMark){0} : arena_mark(store->arena)};
}

static void remove_message(Store *store, MessageId id) {
  if (!store_has(store, id)) return;
  Details *details = store_message(store, id)->details;
  if (details == NULL) return;
  assert(store->guesses >= details->guessed);
  store->guesses -= details->guessed;
  for (uint32_t i = details->result_count; i-- > 0;) {
    const ResultData *data = &details_results(details)[i];
    if (data->ended_wait) wait_again(store, (CallLink){.message = data->answers, .call = data->call});
  }
  for (uint32_t i = details->call_count; i-- > 0;) pop_call(store, (CallLink){.message = id, .call = i});
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
}

/* ---- replacing and inserting ---- */

MessageId store_origin(const Store *store, MessageId id) {
  if (!store_has(store, id)) return id;
  const Details *details = store_message(store, id)->details;
  return details == NULL || details->origin == 0 ? id : details->origin;
}

/* Gives the details of a message that only this store has; creates them if it has none. */
static Status need_details(Store *store, MessageId id, Details **details) {
  Message *message;
  assert(id > store->base);
  Status status = own_message(store, id, &message);
  if (status != STATUS_OK) return status;
  if (message->details == NULL) {
    message->details = cut(store, sizeof(Details));
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

/* The rank of an inserted message; NULL for an appended one. */
static const Rank *find_rank(const Store *store, MessageId id) {
  if (!store_has(store, id)) return NULL;
  const Details *details = store_message(store, id)->details;
  return details == NULL || details->rank == 0 ? NULL : pages_at(&store->ranks, details->rank - 1);
}

bool store_is_moved(const Store *store, MessageId id) {
  return store_origin(store, id) != id || find_rank(store, id) != NULL;
}

/* A replacement has the rank of its origin even if that was removed, because both hold the
   same rank number. */
Rank store_rank(const Store *store, MessageId id) {
  const Rank *rank = find_rank(store, id);
  return rank == NULL ? (Rank){.anchor = store_origin(store, id), .step = 0} : *rank;
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

Status store_insert(Store *store, MessageId id, Rank before, Rank after) {
  assert(id == store->count && rank_below(before, after));
  uint64_t high = after.anchor == before.anchor ? after.step : UINT64_MAX, step = step_between(before.step, high);
  return step == 0 ? STATUS_OK : store_place(store, id, (Rank){.anchor = before.anchor, .step = step});
}

/* ---- messages of other stores ---- */

static size_t details_size(const Details *details) {
  return sizeof *details + details->call_count * sizeof(CallData) + details->result_count * sizeof(ResultData) +
         details->part_count * sizeof(Part) + (size_t)__builtin_popcount(details->fields) * sizeof(Span) +
         (details->has_timestamp ? sizeof(int64_t) : 0);
}

/* Copies a message with its bytes and details into this store's arena. Its calls do not wait yet. */
static Status copy_message(Store *store, const Message *message, Message *copy) {
  *copy = *message;
  char *raw = cut(store, message->raw_size);
  if (raw == NULL) return STATUS_MEMORY;
  copy->raw = memcpy(raw, message->raw, message->raw_size);
  if (message->details == NULL) return STATUS_OK;
  size_t size = details_size(message->details);
  copy->details = cut(store, size);
  if (copy->details == NULL) return STATUS_MEMORY;
  memcpy(copy->details, message->details, size);
  copy->details->rank = 0;
  for (uint32_t i = 0; i < copy->details->call_count; i++) details_calls(copy->details)[i].answered = 0;
  return STATUS_OK;
}

/* Adds a copy of another store's message, with the rank of an appended one. */
static Status add_copy(Store *store, const Store *from, MessageId id) {
  Message copy;
  void *message, *time = NULL;
  const Message *original = store_message(from, id);
  bool timed = original->details != NULL && original->details->has_timestamp;
  Status status = reserve_message(store, timed, &message, &time);
  if (status == STATUS_OK) status = copy_message(store, original, &copy);
  if (status != STATUS_OK) return status;
  *(Message *)message = copy;
  if (timed) *(int64_t *)time = store_time(from, id);
  store->count++;
  store->guesses += copy.details != NULL && copy.details->guessed;
  return push_calls(store, copy.details);
}

static MessageId shifted(MessageId id, uint32_t base, uint32_t shift) { return id > base ? id + shift : id; }

/* Copies origin and rank from the original of the newest message. */
static Status take_place(Store *store, const Store *fork, MessageId id, uint32_t shift) {
  Details *details = store_message(store, store->count)->details;
  const Rank *rank = find_rank(fork, id);
  if (details == NULL) return STATUS_OK;
  if (details->origin != 0) details->origin = shifted(details->origin, fork->base, shift);
  if (rank == NULL) return STATUS_OK;
  return store_place(store, store->count,
                     (Rank){.anchor = shifted(rank->anchor, fork->base, shift), .step = rank->step});
}

Status store_take(Store *store, const Store *fork, MessageId id, uint32_t shift) {
  assert(id > fork->base && id + shift == store->count + 1);
  const Message *original = store_message(fork, id);
  if (!can_add(store, original->raw_size)) return STATUS_LIMIT;
  StoreMark mark = store_mark(store);
  Status status = add_copy(store, fork, id);
  if (status == STATUS_OK) status = take_place(store, fork, id, shift);
  if (status != STATUS_OK) {
    store_rewind(store, mark);
    return status;
  }
  for (uint32_t i = 0; i < message_result_count(original); i++) {
    CallLink link = store_answers(fork, id, i);
    link.message = shifted(link.message, fork->base, shift);
    store_link(store, store->count, i, link);
  }
  return STATUS_OK;
}

Status store_skip(Store *store, uint32_t count) {
  assert(!store->closed);
  if (count > UINT32_MAX - 1 - store->count) return STATUS_LIMIT;
  for (uint32_t i = store->count; i < store->count + count; i++) {
    void *stale = pages_at(&store->messages, i);
    if (stale == NULL) continue;
    if (pages_own(&store->messages, i, &stale) != STATUS_OK) return STATUS_MEMORY;
    memset(stale, 0, sizeof(Message));
  }
  store->count += count;
  return STATUS_OK;
}

/* ---- compaction ---- */

typedef struct Compaction {
  const Store *from;
  Store *to;
  const uint64_t *keep;
  Map replacements;          /* origin -> its newest kept replacement */
} Compaction;

static Status note_replacements(Compaction *compaction) {
  const Store *from = compaction->from;
  for (MessageId id = 1; id <= from->count; id++) {
    if (!bitset_has(compaction->keep, id) || store_origin(from, id) == id) continue;
    Status status = map_put(&compaction->replacements, store_origin(from, id), id);
    if (status != STATUS_OK) return status;
  }
  return STATUS_OK;
}

/* The new link of a result; message 0 if no kept message has its call. */
static CallLink kept_link(const Compaction *compaction, MessageId id, uint32_t result) {
  const Store *from = compaction->from;
  const Message *message = store_message(from, id);
  CallLink link = store_answers(from, id, result);
  if (link.message == 0 || bitset_has(compaction->keep, link.message)) return link;
  MessageId origin = store_origin(from, link.message);
  const uint64_t *replacement = map_find(&compaction->replacements, origin);
  MessageId kept = replacement != NULL ? (MessageId)*replacement : bitset_has(compaction->keep, origin) ? origin : 0;
  CallLink moved = {.message = kept};
  Text key = message_text(message, message_result(message, result).id);
  bool has = kept != 0 && kept < id && store_call(from, kept, link, key, &moved.call);
  return has ? moved : (CallLink){0, 0};
}

static Status keep_message(Compaction *compaction, MessageId id) {
  const Rank *rank = find_rank(compaction->from, id);
  Status status = add_copy(compaction->to, compaction->from, id);
  if (status == STATUS_OK && rank != NULL) status = store_place(compaction->to, id, *rank);
  if (status != STATUS_OK) return status;
  uint32_t results = message_result_count(store_message(compaction->to, id));
  for (uint32_t i = 0; i < results; i++) store_link(compaction->to, id, i, kept_link(compaction, id, i));
  return STATUS_OK;
}

static Status keep_messages(Compaction *compaction) {
  Status status = note_replacements(compaction);
  for (MessageId id = 1; id <= compaction->from->count && status == STATUS_OK; id++) {
    bool kept = bitset_has(compaction->keep, id) && store_has(compaction->from, id);
    status = kept ? keep_message(compaction, id) : store_skip(compaction->to, 1);
  }
  return status;
}

Status store_compact(const Store *store, const uint64_t *keep, Store **compacted) {
  Compaction compaction = {.from = store, .keep = keep};
  Status status = store_new(&store->memory, store->key, &compaction.to);
  if (status != STATUS_OK) return status;
  map_init(&compaction.replacements, store->memory);
  status = keep_messages(&compaction);
  if (status == STATUS_OK) status = fork_attachment(&store->attachment, &compaction.to->attachment);
  map_free(&compaction.replacements);
  assert(status != STATUS_OK || compaction.to->count == store->count);
  compaction.to->base = store->base;
  compaction.to->moved = store->count;
  if (status == STATUS_OK) *compacted = compaction.to;
  else store_release(compaction.to);
  return status;
}

/* ---- succession ---- */

void store_succeed(Store *store, Store *from) {
  uint32_t base = store->base;
  assert(from->count == base && from->base <= base);
  store->base = from->base;
  if (store->indexed < base) return;           /* a compaction put all calls into its map */
  map_free(&store->waiting);
  store->waiting = from->waiting;
  map_init(&from->waiting, from->memory);
  store->indexed = from->indexed;
  for (MessageId id = base + 1; id <= store->count; id++) {
    const Message *message = store_message(store, id);
    for (uint32_t i = 0; i < message_result_count(message); i++) {
      CallLink link = store_answers(store, id, i);
      if (link.message != 0 && link.message <= base) pop_call(store, link);
    }
    for (uint32_t i = 0; i < message_call_count(message); i++) {
      CallLink link = {.message = id, .call = i};
      if (call_at(store, link)->answered || push_call(store, link) == STATUS_OK) continue;
      map_free(&store->waiting);               /* now all calls are found by searching lists */
      store->indexed = store->count;
      return;
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
    assert(link.message > store->indexed && !call_at(store, link)->answered);
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
