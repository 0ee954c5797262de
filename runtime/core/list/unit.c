/*
** Two passes: the first records the position of each message with calls, the second
** joins the position of each result with that of its call; between them fragments of
** replies are joined, if there are any. Joined positions form trees
** with the unit's first position as root; during the passes `unit_of` holds the parents.
**
** Messages without calls and results are skipped by the marks of the leaves. Calls and
** results are close together in real logs, so an array by seq is read nearly in order,
** where each look-up in a map would miss the cache. A list that has few of the many
** messages of a long life has a map, which costs nothing for the others.
*/
#include "core/list/unit.h"

#include <assert.h>
#include <string.h>

#include "base/map.h"

typedef struct Builder {
  const Store *store;
  const Sequence *sequence;
  Units *units;
  uint32_t *places;    /* per seq: position + 1 of the message with calls that has this origin, or 0; NULL: sparse */
  Map sparse;          /* the same places by seq, without 0 */
  Map answered;        /* position and call -> 1 if the call has a visible result */
} Builder;

static uint32_t root_of(uint32_t *parent, uint32_t position) {
  while (parent[position] != position) {
    parent[position] = parent[parent[position]];
    position = parent[position];
  }
  return position;
}

static void join(uint32_t *parent, uint32_t a, uint32_t b) {
  a = root_of(parent, a);
  b = root_of(parent, b);
  if (a < b) parent[b] = a;
  else parent[a] = b;
}

static uint64_t key_of(uint32_t position, uint32_t call) { return (uint64_t)position << 32 | call; }

static Status note_caller(Builder *builder, MessageId origin, uint32_t position) {
  if (builder->places == NULL) return map_put(&builder->sparse, origin, position + 1);
  builder->places[origin] = position + 1;
  return STATUS_OK;
}

static uint32_t place_of(const Builder *builder, MessageId origin) {
  if (builder->places != NULL) return builder->places[origin];
  const uint64_t *place = map_find(&builder->sparse, origin);
  return place == NULL ? 0 : (uint32_t)*place;
}

static Status note_callers(Builder *builder, bool *any) {
  Status status = STATUS_OK;
  SequenceWalk walk = sequence_walk(builder->sequence, 0, builder->units->message_count);
  *any = false;
  while (sequence_walk_next(&walk) && status == STATUS_OK) {
    for (uint32_t i = 0; i < walk.count && status == STATUS_OK; i++) {
      uint32_t position = walk.index + i;
      builder->units->unit_of[position] = position;
      if (!(walk.marks[i] & MARK_CALLS)) continue;
      status = note_caller(builder, store_origin(builder->store, walk.ids[i]), position);
      *any = true;
    }
  }
  return status;
}

/* Records that a call is answered. During the passes next[position] = 1 records it for messages
   with one call, the usual case. */
static Status note_answer(Builder *builder, uint32_t position, uint32_t call, uint32_t calls) {
  if (calls > 1) return map_put(&builder->answered, key_of(position, call), 1);
  builder->units->next[position] = 1;
  return STATUS_OK;
}

/* Joins the fragments of each reply: assistant messages that stand side by side, one of them a fragment. */
static void join_replies(Builder *builder) {
  uint32_t *unit_of = builder->units->unit_of;
  bool assistant = false, fragment = false;    /* the message before */
  SequenceWalk walk = sequence_walk(builder->sequence, 0, builder->units->message_count);
  while (sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count; i++) {
      bool beside = assistant, last = fragment;
      assistant = mark_role(walk.marks[i]) == ROLE_ASSISTANT;
      fragment = assistant && message_is_fragment(store_message(builder->store, walk.ids[i]));
      if (assistant && beside && (fragment || last)) join(unit_of, walk.index + i - 1, walk.index + i);
    }
  }
}

static Status join_results(Builder *builder, uint32_t position, MessageId id) {
  const Message *message = store_message(builder->store, id);
  for (uint32_t i = 0; i < message_result_count(message); i++) {
    CallLink link = store_answers(builder->store, id, i);
    uint32_t place = link.message == 0 ? 0 : place_of(builder, store_origin(builder->store, link.message)), call;
    if (place == 0) continue;
    MessageId caller = sequence_at(builder->sequence, place - 1);
    if (!store_call(builder->store, caller, link, id, i, &call)) continue;
    join(builder->units->unit_of, place - 1, position);
    Status status = note_answer(builder, place - 1, call, message_call_count(store_message(builder->store, caller)));
    if (status != STATUS_OK) return status;
  }
  return STATUS_OK;
}

static Status join_all_results(Builder *builder) {
  Status status = STATUS_OK;
  SequenceWalk walk = sequence_walk(builder->sequence, 0, builder->units->message_count);
  while (status == STATUS_OK && sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count && status == STATUS_OK; i++) {
      if (walk.marks[i] & MARK_RESULTS) status = join_results(builder, walk.index + i, walk.ids[i]);
    }
  }
  return status;
}

static bool has_open_call(const Builder *builder, const Message *message, uint32_t position) {
  uint32_t calls = message_call_count(message);
  if (calls <= 1) return calls == 1 && builder->units->next[position] == 0;
  for (uint32_t call = 0; call < calls; call++) {
    if (map_find(&builder->answered, key_of(position, call)) == NULL) return true;
  }
  return false;
}

/* Numbers the unit of a message. A root comes before the others of its tree. */
static void number_message(Builder *builder, uint32_t position, MessageId id, uint8_t marks) {
  Units *units = builder->units;
  uint32_t root = units->unit_of[position];
  assert(root <= position && (root < position || units->count < units->room));
  uint32_t number = root == position ? units->count++ : units->unit_of[root];
  units->unit_of[position] = number;
  if (root == position) units->units[number] = (Unit){0};
  if (!(marks & MARK_CALLS)) return;
  units->units[number].open |= has_open_call(builder, store_message(builder->store, id), position);
}

static void number_units(Builder *builder) {
  SequenceWalk walk = sequence_walk(builder->sequence, 0, builder->units->message_count);
  while (sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count; i++) number_message(builder, walk.index + i, walk.ids[i], walk.marks[i]);
  }
}

/* Chains the messages of each unit, from the end to the front: `first` is always the head of a chain. */
static void chain_units(Units *units) {
  for (uint32_t i = 0; i < units->count; i++) units->units[i].first = UNIT_NONE;
  for (uint32_t position = units->message_count; position-- > 0;) {
    Unit *unit = &units->units[units->unit_of[position]];
    units->next[position] = unit->first;
    unit->first = position;
  }
}

/* Points every position at its root; returns the number of roots. */
static uint32_t flatten(Units *units) {
  uint32_t roots = 0;
  for (uint32_t i = 0; i < units->message_count; i++) {
    units->unit_of[i] = root_of(units->unit_of, i);
    roots += units->unit_of[i] == i;
  }
  return roots;
}

static void find_pending(Builder *builder) {
  uint32_t turns = (uint32_t)sequence_sum(builder->sequence).turns;
  uint32_t newest = turns == 0 ? 0 : sequence_find(builder->sequence, MEASURE_TURNS, turns - 1);
  for (uint32_t i = 0; i < builder->units->count; i++) {
    Unit *unit = &builder->units->units[i];
    unit->pending = unit->open && (turns == 0 || unit->first > newest);
    builder->units->pending += unit->pending;
  }
}

/* Seqs for each message of the list from which on it is sparse: the array would be mostly empty, its cost that of the
   conversation's life. */
enum { SPARSE_SEQS = 64 };

static Status open_places(Builder *builder, size_t seqs) {
  if (seqs / SPARSE_SEQS > builder->units->message_count) return STATUS_OK;
  builder->places = memory_new_array(&builder->units->memory, seqs, sizeof *builder->places);
  if (builder->places == NULL) return STATUS_MEMORY;
  memset(builder->places, 0, seqs * sizeof *builder->places);
  return STATUS_OK;
}

static Status join_units(Builder *builder) {
  const Memory *memory = &builder->units->memory;
  size_t seqs = (size_t)store_count(builder->store) + 1;
  bool any;
  map_init(&builder->sparse, *memory);
  Status status = open_places(builder, seqs);
  if (status != STATUS_OK) return status;
  memset(builder->units->next, 0, builder->units->message_count * sizeof *builder->units->next);
  status = note_callers(builder, &any);
  if (status == STATUS_OK && store_fragments(builder->store) > 0) join_replies(builder);
  if (status == STATUS_OK && any) status = join_all_results(builder);
  memory_free(memory, builder->places, seqs * sizeof *builder->places);
  map_free(&builder->sparse);
  return status;
}

static Status build(Builder *builder) {
  Units *units = builder->units;
  units->unit_of = memory_new_array(&units->memory, units->message_count, sizeof *units->unit_of);
  units->next = memory_new_array(&units->memory, units->message_count, sizeof *units->next);
  if (units->unit_of != NULL) units->unit_of_room = units->message_count;
  if (units->next != NULL) units->next_room = units->message_count;
  if (units->unit_of == NULL || units->next == NULL) return STATUS_MEMORY;
  Status status = join_units(builder);
  if (status != STATUS_OK) return status;
  units->room = flatten(units);
  units->units = memory_new_array(&units->memory, units->room, sizeof *units->units);
  if (units->units == NULL) return STATUS_MEMORY;
  number_units(builder);
  assert(units->count == units->room);
  chain_units(units);
  find_pending(builder);
  return STATUS_OK;
}

Status units_new(const Memory *memory, const Store *store, const Sequence *sequence, Units **result) {
  Units *units = memory_new(memory, sizeof *units);
  if (units == NULL) return STATUS_MEMORY;
  *units = (Units){.memory = *memory, .message_count = sequence_count(sequence)};
  Status status = STATUS_OK;
  if (units->message_count > 0) {
    Builder builder = {.store = store, .sequence = sequence, .units = units};
    map_init(&builder.answered, *memory);
    status = build(&builder);
    map_free(&builder.answered);
  }
  if (status == STATUS_OK) *result = units;
  else units_free(units);
  return status;
}

void units_free(Units *units) {
  if (units == NULL) return;
  Memory memory = units->memory;
  memory_free(&memory, units->units, units->room * sizeof *units->units);
  memory_free(&memory, units->unit_of, units->unit_of_room * sizeof *units->unit_of);
  memory_free(&memory, units->next, units->next_room * sizeof *units->next);
  memory_free(&memory, units, sizeof *units);
}

Status units_reserve(Units *units) {
  const Memory *memory = &units->memory;
  void *grown = memory_grow(memory, units->units, &units->room, units->count, sizeof *units->units);
  if (grown == NULL) return STATUS_MEMORY;
  units->units = grown;
  grown = memory_grow(memory, units->unit_of, &units->unit_of_room, units->message_count, sizeof *units->unit_of);
  if (grown == NULL) return STATUS_MEMORY;
  units->unit_of = grown;
  grown = memory_grow(memory, units->next, &units->next_room, units->message_count, sizeof *units->next);
  if (grown == NULL) return STATUS_MEMORY;
  units->next = grown;
  return STATUS_OK;
}

void units_add(Units *units) {
  uint32_t position = units->message_count++;
  assert(units->count < units->room && position < units->unit_of_room && position < units->next_room);
  units->unit_of[position] = units->count;
  units->next[position] = UNIT_NONE;
  units->units[units->count++] = (Unit){.first = position};
}

void units_check(const Units *units) {
  uint32_t messages = 0, previous = 0;
  for (uint32_t i = 0; i < units->count; i++) {
    const Unit *unit = &units->units[i];
    assert(i == 0 || unit->first > previous);
    assert(!unit->pending || unit->open);
    previous = unit->first;
    for (uint32_t at = unit->first; at != UNIT_NONE; at = units->next[at]) {
      assert(at < units->message_count && units->unit_of[at] == i && units->next[at] > at);
      messages++;
    }
  }
  assert(messages == units->message_count);
  (void)messages, (void)previous;
}
