/*
** Two passes: the first notes where each message with calls stands, the second
** joins each result's position with its call's. Joined positions form trees
** whose root is the unit's first position; `of` holds the parents meanwhile.
*/
#include "core/unit.h"

#include <assert.h>
#include <string.h>

#include "base/map.h"

typedef struct Builder {
  const Store *store;
  const Sequence *sequence;
  Units *units;
  Map callers;         /* origin of a message with calls -> its position */
  Map answered;        /* origin and call -> 1: it has a visible result */
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

static uint64_t key_of(MessageId origin, uint32_t call) { return (uint64_t)origin << 32 | call; }

static Status note_callers(Builder *builder) {
  Status status = STATUS_OK;
  SequenceWalk walk = sequence_walk(builder->sequence, 0, builder->units->messages);
  while (status == STATUS_OK && sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count && status == STATUS_OK; i++) {
      uint32_t position = walk.index + i;
      builder->units->of[position] = position;
      if (message_call_count(store_message(builder->store, walk.ids[i])) == 0) continue;
      status = map_put(&builder->callers, store_origin(builder->store, walk.ids[i]), position);
    }
  }
  return status;
}

/* Does the message at `position` still have a call of this id? A replacement
   may have lost it. */
static bool has_call(const Builder *builder, uint32_t position, Link link, Text id, uint32_t *call) {
  const Message *caller = store_message(builder->store, sequence_at(builder->sequence, position));
  uint32_t count = message_call_count(caller);
  for (uint32_t i = 0; i < count; i++) {
    *call = (link.call + i) % count;   /* its own place first */
    if (text_equal(message_call_key(caller, *call), id)) return true;
  }
  return false;
}

static Status join_results(Builder *builder, uint32_t position, MessageId id) {
  const Message *message = store_message(builder->store, id);
  for (uint32_t i = 0; i < message_result_count(message); i++) {
    Link link = store_answers(builder->store, id, i);
    MessageId origin = link.message == 0 ? 0 : store_origin(builder->store, link.message);
    uint64_t *caller = origin == 0 ? NULL : map_find(&builder->callers, origin);
    uint32_t call;
    if (caller == NULL) continue;
    Text text = message_text(message, message_result(message, i).id);
    if (!has_call(builder, (uint32_t)*caller, link, text, &call)) continue;
    join(builder->units->of, (uint32_t)*caller, position);
    Status status = map_put(&builder->answered, key_of(origin, call), 1);
    if (status != STATUS_OK) return status;
  }
  return STATUS_OK;
}

static Status join_all_results(Builder *builder) {
  if (builder->callers.count == 0) return STATUS_OK;
  Status status = STATUS_OK;
  SequenceWalk walk = sequence_walk(builder->sequence, 0, builder->units->messages);
  while (status == STATUS_OK && sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count && status == STATUS_OK; i++) {
      status = join_results(builder, walk.index + i, walk.ids[i]);
    }
  }
  return status;
}

static bool has_open_call(const Builder *builder, const Message *message, MessageId id) {
  uint32_t calls = message_call_count(message);
  for (uint32_t call = 0; call < calls; call++) {
    if (map_find(&builder->answered, key_of(store_origin(builder->store, id), call)) == NULL) return true;
  }
  return false;
}

/* Puts the message at `position` into its unit, whose root is already numbered
   unless it is the message itself. `last` finds the end of each unit's chain. */
static void number_message(Builder *builder, uint32_t position, MessageId id, uint32_t *last) {
  Units *units = builder->units;
  const Message *message = store_message(builder->store, id);
  uint32_t root = units->of[position], number;
  units->next[position] = UNIT_NONE;
  if (root == position) {
    number = units->count++;
    units->units[number] = (Unit){.first = position};
  } else {
    number = units->of[root];
    units->next[last[number]] = position;
  }
  units->of[position] = number;
  last[number] = position;
  Unit *unit = &units->units[number];
  unit->count++;
  unit->tokens += message_tokens(message);
  unit->open |= has_open_call(builder, message, id);
}

static void number_units(Builder *builder, uint32_t *last) {
  SequenceWalk walk = sequence_walk(builder->sequence, 0, builder->units->messages);
  while (sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count; i++) number_message(builder, walk.index + i, walk.ids[i], last);
  }
}

static void flatten(Units *units) {
  for (uint32_t i = 0; i < units->messages; i++) units->of[i] = root_of(units->of, i);
}

static void find_pending(Builder *builder) {
  uint32_t turns = (uint32_t)sequence_sum(builder->sequence).turns;
  uint32_t newest = turns == 0 ? 0 : sequence_find(builder->sequence, MEASURE_TURNS, turns - 1);
  for (uint32_t i = 0; i < builder->units->count; i++) {
    Unit *unit = &builder->units->units[i];
    unit->pending = unit->open && (turns == 0 || unit->first > newest);
  }
}

static Status build(Builder *builder) {
  Units *units = builder->units;
  uint32_t *last = memory_new_array(&units->memory, units->messages, sizeof *last);
  if (last == NULL) return STATUS_MEMORY;
  Status status = note_callers(builder);
  if (status == STATUS_OK) status = join_all_results(builder);
  if (status == STATUS_OK) {
    flatten(units);
    number_units(builder, last);
    find_pending(builder);
  }
  memory_free(&units->memory, last, units->messages * sizeof *last);
  return status;
}

Status units_new(const Memory *memory, const Store *store, const Sequence *sequence, Units **made) {
  Units *units = memory_new(memory, sizeof *units);
  if (units == NULL) return STATUS_MEMORY;
  uint32_t count = sequence_count(sequence);
  *units = (Units){.memory = *memory, .messages = count};
  Status status = STATUS_OK;
  if (count > 0) {
    units->units = memory_new_array(memory, count, sizeof *units->units);
    units->of = memory_new_array(memory, count, sizeof *units->of);
    units->next = memory_new_array(memory, count, sizeof *units->next);
    if (units->units == NULL || units->of == NULL || units->next == NULL) status = STATUS_MEMORY;
  }
  if (status == STATUS_OK && count > 0) {
    Builder builder = {.store = store, .sequence = sequence, .units = units};
    map_init(&builder.callers, *memory);
    map_init(&builder.answered, *memory);
    status = build(&builder);
    map_free(&builder.callers);
    map_free(&builder.answered);
  }
  if (status != STATUS_OK) {
    units_free(units);
    return status;
  }
  *made = units;
  return STATUS_OK;
}

void units_free(Units *units) {
  if (units == NULL) return;
  Memory memory = units->memory;
  memory_free(&memory, units->units, units->messages * sizeof *units->units);
  memory_free(&memory, units->of, units->messages * sizeof *units->of);
  memory_free(&memory, units->next, units->messages * sizeof *units->next);
  memory_free(&memory, units, sizeof *units);
}
