/*
** The store keeps messages in segments that double, so that addresses are
** stable and an id is found by one shift:
**
**     segment 0:  64 messages    segment 1:  128    segment 2:  256   ...
**
** Copied bytes and details are cut from blocks, the newest first; an adopted
** block stands in the same list and is full from the start:
**
**     blocks -> [ details | raw | raw |  free  ] -> [ adopted file ] -> [ ... ]
**
** Invariants: a call whose `answered` is false is reachable from its stack's
** head in `waiting`; heads are never answered. Ids fall along a stack.
*/
#include "core/message_data.h"

#include <assert.h>
#include <string.h>

#include "base/map.h"
#include "core/scale.h"

#define FIRST_SEGMENT_BITS 6
#define SEGMENT_COUNT (32 - FIRST_SEGMENT_BITS)
#define BLOCK_MIN 1024
#define BLOCK_MAX (256 * 1024)

/* The first step at an anchor lies in the middle, further ones so far before it or
   behind it: two million insertions at one place, each beside the last. */
#define STEP_FIRST ((uint64_t)1 << 63)
#define STEP ((uint64_t)1 << 42)

typedef struct StoreBlock {
  struct StoreBlock *older;
  char *bytes;
  size_t used, capacity;
} StoreBlock;

/* An inserted message and its rank. */
typedef struct Inserted {
  MessageId id;
  Rank rank;
} Inserted;

struct Store {
  Memory memory;
  HashKey key;
  uint32_t owners;
  uint32_t count;
  uint32_t span;             /* see store_span */
  Message *segments[SEGMENT_COUNT];
  int64_t *times[SEGMENT_COUNT];      /* as long as the segment; NULL: none of it has a timestamp */
  StoreBlock *blocks;
  uint32_t guesses;          /* messages that are noted as such */
  Scale *scales;
  Map waiting;               /* hash of a call's id -> newest waiting call */
  Inserted *inserted;        /* by id */
  uint32_t inserted_count, inserted_room;
};

/* ---- blocks ---- */

static Status add_block(Store *store, char *bytes, size_t used, size_t capacity) {
  StoreBlock *block = memory_new(&store->memory, sizeof *block);
  if (block == NULL) return STATUS_MEMORY;
  *block = (StoreBlock){.older = store->blocks, .bytes = bytes, .used = used, .capacity = capacity};
  store->blocks = block;
  return STATUS_OK;
}

static void drop_block(Store *store) {
  StoreBlock *block = store->blocks;
  store->blocks = block->older;
  memory_free(&store->memory, block->bytes, block->capacity);
  memory_free(&store->memory, block, sizeof *block);
}

/* `size` bytes, aligned for anything; NULL when there are none. */
static void *cut(Store *store, size_t size) {
  size = (size + 7) & ~(size_t)7;
  StoreBlock *block = store->blocks;
  if (block == NULL || block->capacity - block->used < size) {
    size_t capacity = block == NULL ? BLOCK_MIN : block->capacity * 2;
    if (capacity > BLOCK_MAX) capacity = BLOCK_MAX;
    if (capacity < size) capacity = size;
    char *bytes = memory_new(&store->memory, capacity);
    if (bytes == NULL) return NULL;
    if (add_block(store, bytes, 0, capacity) != STATUS_OK) {
      memory_free(&store->memory, bytes, capacity);
      return NULL;
    }
    block = store->blocks;
  }
  void *piece = block->bytes + block->used;
  block->used += size;
  return piece;
}

Status store_adopt(Store *store, char *bytes, size_t size, size_t capacity) {
  (void)size;
  return add_block(store, bytes, capacity, capacity);
}

/* ---- life ---- */

Status store_new(const Memory *memory, HashKey key, Store **store) {
  Store *made = memory_new(memory, sizeof *made);
  if (made == NULL) return STATUS_MEMORY;
  *made = (Store){.memory = *memory, .key = key, .owners = 1};
  map_init(&made->waiting, *memory);
  *store = made;
  return STATUS_OK;
}

Store *store_share(Store *store) {
  store->owners++;
  return store;
}

static size_t segment_size(unsigned segment) { return sizeof(Message) << (FIRST_SEGMENT_BITS + segment); }
static size_t times_size(unsigned segment) { return sizeof(int64_t) << (FIRST_SEGMENT_BITS + segment); }

void store_release(Store *store) {
  if (store == NULL || --store->owners > 0) return;
  Memory memory = store->memory;
  while (store->blocks != NULL) drop_block(store);
  for (unsigned i = 0; i < SEGMENT_COUNT; i++) {
    memory_free(&memory, store->segments[i], segment_size(i));
    memory_free(&memory, store->times[i], times_size(i));
  }
  map_free(&store->waiting);
  scales_free(store->scales);
  memory_free(&memory, store->inserted, store->inserted_room * sizeof *store->inserted);
  memory_free(&memory, store, sizeof *store);
}

/* ---- messages ---- */

uint32_t store_count(const Store *store) { return store->count; }

const HashKey *store_hash_key(const Store *store) { return &store->key; }

/* Where message number `index` (from 0) lies: its segment and its place there. */
static unsigned segment_of(uint32_t index, uint32_t *place) {
  uint64_t shifted = (uint64_t)index + (1u << FIRST_SEGMENT_BITS);
  unsigned segment = 63u - (unsigned)__builtin_clzll(shifted) - FIRST_SEGMENT_BITS;
  *place = (uint32_t)(shifted - ((uint64_t)1 << (segment + FIRST_SEGMENT_BITS)));
  return segment;
}

static Message *message_at(const Store *store, MessageId id) {
  assert(id >= 1 && id <= store->count);
  uint32_t place;
  unsigned segment = segment_of(id - 1, &place);
  return &store->segments[segment][place];
}

int64_t store_time(const Store *store, MessageId id) {
  assert(id >= 1 && id <= store->count);
  uint32_t place;
  unsigned segment = segment_of(id - 1, &place);
  return store->times[segment][place];
}

char *store_bytes(Store *store, MessageId id, size_t *size) {
  const Message *message = message_at(store, id);
  *size = message->raw_size;
  return (char *)(uintptr_t)message->raw;      /* all blocks are the store's own, and not const there */
}

const Message *store_message(const Store *store, MessageId id) { return message_at(store, id); }

static CallData *call_at(const Store *store, Link link) {
  Details *details = message_at(store, link.message)->details;
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

/* The details of a shape, or NULL where it needs none; STATUS_MEMORY. */
static Status make_details(Store *store, const MessageShape *shape, Details **made) {
  uint8_t bits = field_bits(shape);
  *made = NULL;
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
  if (shape->has_timestamp) memcpy(details_timestamp(details), &shape->timestamp, sizeof shape->timestamp);
  *made = details;
  return STATUS_OK;
}

/* ---- calls that wait ---- */

static uint64_t pack(Link link) { return (uint64_t)link.message << 32 | link.call; }
static Link unpack(uint64_t packed) { return (Link){.message = (MessageId)(packed >> 32), .call = (uint32_t)packed}; }

static uint64_t id_hash(const Store *store, Text id) { return hash_text(id, &store->key); }

static Text key_of(const Store *store, Link link) {
  return message_call_key(message_at(store, link.message), link.call);
}

/* Sets or, for message 0, removes the top of a stack. May fail only where the
   map has to grow; putting back what was removed never does. */
static Status set_top(Store *store, uint64_t hash, Link top) {
  if (top.message != 0) return map_put(&store->waiting, hash, pack(top));
  map_remove(&store->waiting, hash);
  return STATUS_OK;
}

static Link top_of(const Store *store, uint64_t hash) {
  const uint64_t *found = map_find(&store->waiting, hash);
  return found == NULL ? (Link){0, 0} : unpack(*found);
}

static Link below(const Store *store, Link link) {
  const CallData *call = call_at(store, link);
  return (Link){.message = call->below, .call = call->below_call};
}

static Link first_waiting(const Store *store, Link link) {
  while (link.message != 0 && call_at(store, link)->answered) link = below(store, link);
  return link;
}

static Status push_call(Store *store, Link link) {
  uint64_t hash = id_hash(store, key_of(store, link));
  Link top = top_of(store, hash);
  call_at(store, link)->below = top.message;
  call_at(store, link)->below_call = top.call & 0x7fffffffu;
  return set_top(store, hash, link);
}

/* Did it wait until now? */
static bool pop_call(Store *store, Link link) {
  CallData *call = call_at(store, link);
  if (call->answered) return false;
  call->answered = true;
  uint64_t hash = id_hash(store, key_of(store, link));
  Link top = top_of(store, hash);
  if (pack(top) == pack(link)) (void)set_top(store, hash, first_waiting(store, link));
  return true;
}

static void wait_again(Store *store, Link link) {
  call_at(store, link)->answered = false;
  uint64_t hash = id_hash(store, key_of(store, link));
  if (pack(top_of(store, hash)) < pack(link)) {
    Status status = set_top(store, hash, link);
    assert(status == STATUS_OK);
    (void)status;
  }
}

Link store_waiting(const Store *store, Text id, MessageId before) {
  Link link = top_of(store, id_hash(store, id));
  while (link.message != 0) {
    const CallData *call = call_at(store, link);
    if (!call->answered && link.message < before && text_equal(key_of(store, link), id)) break;
    link = below(store, link);
  }
  return link;
}

static void note_span(Store *store, Details *details, MessageId id, uint32_t result, MessageId caller) {
  uint32_t distance = store_rank(store, id).anchor - store_rank(store, caller).anchor;
  if (distance > store->span) store->span = distance;
  for (uint32_t i = 0; i < result; i++) {
    if (details_results(details)[i].answers != caller) store->span = UINT32_MAX;
  }
}

bool store_call(const Store *store, MessageId caller, Link link, Text key, uint32_t *call) {
  uint32_t count = message_call_count(message_at(store, caller));
  for (uint32_t i = 0; i < count; i++) {
    *call = (link.call + i) % count;
    if (text_equal(key_of(store, (Link){.message = caller, .call = *call}), key)) return true;
  }
  return false;
}

uint32_t store_span(const Store *store) { return store->span; }

void store_link(Store *store, MessageId id, uint32_t result, Link link) {
  Details *details = message_at(store, id)->details;
  assert(details != NULL && result < details->result_count);
  ResultData *data = &details_results(details)[result];
  data->answers = link.message;
  data->call = link.call & 0x7fffffffu;
  data->ended_wait = link.message != 0 && pop_call(store, link);
  if (link.message != 0) note_span(store, details, id, result, link.message);
}

Link store_answers(const Store *store, MessageId id, uint32_t result) {
  Details *details = message_at(store, id)->details;
  assert(details != NULL && result < details->result_count);
  const ResultData *data = &details_results(details)[result];
  return (Link){.message = data->answers, .call = data->call};
}

/* ---- adding and taking back ---- */

/* Room for the next message in its segment. */
static Status reserve_message(Store *store, unsigned segment, bool timed) {
  if (store->segments[segment] == NULL) store->segments[segment] = memory_new(&store->memory, segment_size(segment));
  if (store->segments[segment] == NULL) return STATUS_MEMORY;
  if (!timed || store->times[segment] != NULL) return STATUS_OK;
  store->times[segment] = memory_new(&store->memory, times_size(segment));
  return store->times[segment] == NULL ? STATUS_MEMORY : STATUS_OK;
}

Status store_add(Store *store, Text raw, bool adopted, const MessageShape *shape, MessageId *id) {
  if (store->count == UINT32_MAX - 1 || raw.size >= (size_t)1 << 31) return STATUS_LIMIT;
  StoreMark mark = store_mark(store);
  uint32_t place;
  unsigned segment = segment_of(store->count, &place);
  if (reserve_message(store, segment, shape->has_timestamp) != STATUS_OK) return STATUS_MEMORY;
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
  store->segments[segment][place] = (Message){
    .raw = bytes, .details = details, .raw_size = (uint32_t)raw.size & 0x7fffffffu, .starts_turn = starts_turn(shape),
    .role = shape->role & 3u, .other_spelling = has_other_spelling(raw, shape),
    .content_kind = shape->content_kind & 3u, .content_at = shape->content.at & 0x7fffffffu,
    .content_size = shape->content.size, .content_escaped = shape->content.escaped};
  if (shape->has_timestamp) store->times[segment][place] = shape->timestamp;
  *id = ++store->count;
  for (uint32_t i = 0; i < shape->call_count && status == STATUS_OK; i++) {
    status = push_call(store, (Link){.message = *id, .call = i});
    if (status != STATUS_OK) {   /* those behind were never pushed, and results come later */
      details->call_count = i;
      details->result_count = 0;
    }
  }
  if (status != STATUS_OK) store_rewind(store, mark);
  return status;
}

void store_weigh(Store *store, MessageId id, uint32_t tokens) {
  assert(tokens <= MESSAGE_TOKENS_MAX);
  message_at(store, id)->tokens = tokens & MESSAGE_TOKENS_MAX;
}

void store_note_guess(Store *store, MessageId id) {
  Details *details = message_at(store, id)->details;
  assert(details != NULL);   /* only parts are guessed at */
  store->guesses += !details->guessed;
  details->guessed = true;
}

bool store_is_guess(const Store *store, MessageId id) {
  const Details *details = message_at(store, id)->details;
  return details != NULL && details->guessed;
}

uint32_t store_guesses(const Store *store) { return store->guesses; }
Scale **store_scales(Store *store) { return &store->scales; }

StoreMark store_mark(const Store *store) {
  return (StoreMark){.count = store->count, .span = store->span, .inserted = store->inserted_count,
                     .block = store->blocks,
                     .used = store->blocks ? store->blocks->used : 0};
}

static void take_back(Store *store, MessageId id) {
  Details *details = message_at(store, id)->details;
  if (details == NULL) return;
  store->guesses -= details->guessed;
  for (uint32_t i = details->result_count; i-- > 0;) {
    const ResultData *data = &details_results(details)[i];
    if (data->ended_wait) wait_again(store, (Link){.message = data->answers, .call = data->call});
  }
  for (uint32_t i = details->call_count; i-- > 0;) pop_call(store, (Link){.message = id, .call = i});
}

void store_rewind(Store *store, StoreMark mark) {
  assert(mark.count <= store->count);
  for (; store->count > mark.count; store->count--) take_back(store, store->count);
  scales_rewind(store->scales, store->count);
  store->span = mark.span;
  store->inserted_count = mark.inserted;
  while (store->blocks != mark.block) drop_block(store);
  if (store->blocks != NULL) store->blocks->used = mark.used;
}

/* ---- replacing and inserting ---- */

MessageId store_origin(const Store *store, MessageId id) {
  const Details *details = message_at(store, id)->details;
  return details == NULL || details->origin == 0 ? id : details->origin;
}

Status store_replace(Store *store, MessageId id, MessageId replaced) {
  Message *message = message_at(store, id);
  if (message->details == NULL) {
    message->details = cut(store, sizeof(Details));
    if (message->details == NULL) return STATUS_MEMORY;
    *message->details = (Details){0};
  }
  message->details->origin = store_origin(store, replaced);
  return STATUS_OK;
}

/* NULL: it was appended. */
static const Inserted *find_inserted(const Store *store, MessageId id) {
  uint32_t low = 0, high = store->inserted_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (store->inserted[middle].id == id) return &store->inserted[middle];
    if (store->inserted[middle].id < id) low = middle + 1;
    else high = middle;
  }
  return NULL;
}

bool store_is_moved(const Store *store, MessageId id) {
  return store_origin(store, id) != id || find_inserted(store, id) != NULL;
}

Rank store_rank(const Store *store, MessageId id) {
  id = store_origin(store, id);
  const Inserted *inserted = find_inserted(store, id);
  return inserted == NULL ? (Rank){.anchor = id, .step = 0} : inserted->rank;
}

/* A step between two, next to the one that is an inserted message's: so that the
   next one beside it finds room too. 0: there is none. */
static uint64_t step_between(uint64_t low, uint64_t high) {
  uint64_t half = (high - low) / 2;
  if (low == 0 && high == UINT64_MAX) return STEP_FIRST;
  if (half == 0) return 0;
  uint64_t step = half < STEP ? half : STEP;
  return high == UINT64_MAX ? low + step : low == 0 ? high - step : low + half;
}

Status store_place(Store *store, MessageId id, Rank rank) {
  assert(id == store->count);
  Inserted *grown = memory_grow(&store->memory, store->inserted, &store->inserted_room, store->inserted_count,
                                sizeof *grown);
  if (grown == NULL) return STATUS_MEMORY;
  store->inserted = grown;
  grown[store->inserted_count++] = (Inserted){.id = id, .rank = rank};
  return STATUS_OK;
}

Status store_insert(Store *store, MessageId id, Rank before, Rank behind) {
  assert(id == store->count && rank_below(before, behind));
  uint64_t high = behind.anchor == before.anchor ? behind.step : UINT64_MAX, step = step_between(before.step, high);
  return step == 0 ? STATUS_OK : store_place(store, id, (Rank){.anchor = before.anchor, .step = step});
}
