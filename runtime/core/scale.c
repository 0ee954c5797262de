#include "core/scale.h"

struct Scale {
  Memory memory;
  Scale *next;               /* of the same store */
  Counter counter;
  uint32_t *weights;         /* of message 1, 2 ... */
  uint32_t count, room;
};

Status scale_of(Store *store, const Memory *memory, const Counter *counter, Scale **found) {
  Scale **scales = store_scales(store);
  for (Scale *scale = *scales; scale != NULL; scale = scale->next) {
    if (!counter_equal(&scale->counter, counter)) continue;
    *found = scale;
    return STATUS_OK;
  }
  Scale *scale = memory_new(memory, sizeof *scale);
  if (scale == NULL) return STATUS_MEMORY;
  *scale = (Scale){.memory = *memory, .next = *scales, .counter = *counter};
  *found = *scales = scale;
  return STATUS_OK;
}

Status scale_count(Store *store, const Counter *counter, MessageId id, uint32_t *tokens) {
  Cost cost;
  Status status = cost_of_message(counter, store_message(store, id), id, &cost);
  if (status != STATUS_OK) return status;
  if (cost.tokens > MESSAGE_TOKENS_MAX) return STATUS_LIMIT;
  if (cost.guessed) store_note_guess(store, id);
  *tokens = cost.tokens;
  return STATUS_OK;
}

Status scale_fill(Scale *scale, Store *store) {
  while (scale->count < store_count(store)) {
    uint32_t *grown = memory_grow(&scale->memory, scale->weights, &scale->room, scale->count, sizeof *grown);
    if (grown == NULL) return STATUS_MEMORY;
    scale->weights = grown;
    Status status = scale_count(store, &scale->counter, scale->count + 1, &grown[scale->count]);
    if (status != STATUS_OK) return status;
    scale->count++;
  }
  return STATUS_OK;
}

uint32_t scale_weight(const Scale *scale, const Store *store, MessageId id) {
  if (scale == NULL || id > scale->count) return message_tokens(store_message(store, id));
  return scale->weights[id - 1];
}

void scales_rewind(Scale *scales, uint32_t count) {
  for (; scales != NULL; scales = scales->next) {
    if (scales->count > count) scales->count = count;
  }
}

void scales_free(Scale *scales) {
  while (scales != NULL) {
    Scale *next = scales->next;
    Memory memory = scales->memory;
    memory_free(&memory, scales->weights, scales->room * sizeof *scales->weights);
    memory_free(&memory, scales, sizeof *scales);
    scales = next;
  }
}
