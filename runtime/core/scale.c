#include "core/scale.h"

#include <assert.h>

#include "core/pages.h"

#define GUESSED ((uint32_t)1 << 31)      /* of a weight, whose tokens take 28 bits */

struct Scale {
  Memory memory;
  Scale *next;               /* of the same store */
  Counter counter;
  Pages weights;             /* of message 1, 2 ... */
  uint32_t count;            /* messages that have one */
  uint32_t guesses;          /* of them, weights that were guessed in part */
};

/* Of the same store: the one of a counter, or NULL. */
static Scale *find(Scale *scales, const Counter *counter) {
  while (scales != NULL && !counter_equal(&scales->counter, counter)) scales = scales->next;
  return scales;
}

static Status scale_new(const Memory *memory, const Counter *counter, Scale *next, Scale **made) {
  Scale *scale = memory_new(memory, sizeof *scale);
  if (scale == NULL) return STATUS_MEMORY;
  *scale = (Scale){.memory = *memory, .next = next, .counter = *counter};
  pages_init(&scale->weights, *memory, sizeof(uint32_t));
  *made = scale;
  return STATUS_OK;
}

Status scale_of(Store *store, const Memory *memory, const Counter *counter, Scale **found) {
  Scale **scales = store_scales(store);
  *found = find(*scales, counter);
  if (*found != NULL) return STATUS_OK;
  Status status = scale_new(memory, counter, *scales, found);
  if (status == STATUS_OK) *scales = *found;
  return status;
}

const Counter *scale_counter(const Scale *scale) { return &scale->counter; }

bool scale_equal(const Scale *a, const Scale *b) {
  return a == b || (a != NULL && b != NULL && counter_equal(&a->counter, &b->counter));
}

Scale *scale_find(Store *store, const Counter *counter) { return find(*store_scales(store), counter); }

Status scale_count(const Store *store, const Counter *counter, MessageId id, Cost *cost) {
  Status status = cost_of_message(counter, store_message(store, id), id, cost);
  if (status != STATUS_OK) return status;
  return cost->tokens > MESSAGE_TOKENS_MAX ? STATUS_LIMIT : STATUS_OK;
}

static Status add_weight(Scale *scale, uint32_t weight) {
  void *element;
  Status status = pages_own(&scale->weights, scale->count, &element);
  if (status != STATUS_OK) return status;
  *(uint32_t *)element = weight;
  scale->count++;
  scale->guesses += (weight & GUESSED) != 0;
  return STATUS_OK;
}

static uint32_t weight_at(const Scale *scale, MessageId id) {
  return *(const uint32_t *)pages_at(&scale->weights, id - 1);
}

static Status count_next(Scale *scale, const Store *store) {
  MessageId id = scale->count + 1;
  Cost cost = {0};
  Status status = store_has(store, id) ? scale_count(store, &scale->counter, id, &cost) : STATUS_OK;
  return status == STATUS_OK ? add_weight(scale, cost.tokens | (cost.guessed ? GUESSED : 0)) : status;
}

Status scale_fill(Scale *scale, Store *store) {
  Status status = STATUS_OK;
  while (status == STATUS_OK && scale->count < store_count(store)) status = count_next(scale, store);
  return status;
}

Status scale_fill_as(Scale *scale, Store *store, const Scale *other, MessageId base, uint32_t shift) {
  Status status = STATUS_OK;
  while (status == STATUS_OK && scale->count < store_count(store)) {
    MessageId id = scale->count + 1, there = id <= base ? id : id > base + shift ? id - shift : 0;
    bool counted = there != 0 && there <= other->count;
    status = counted ? add_weight(scale, weight_at(other, there)) : count_next(scale, store);
  }
  return status;
}

uint32_t scale_weight(const Scale *scale, const Store *store, MessageId id) {
  if (scale == NULL || id > scale->count) return message_tokens(store_message(store, id));
  return weight_at(scale, id) & ~GUESSED;
}

bool scale_is_guess(const Scale *scale, const Store *store, MessageId id) {
  if (scale == NULL || id > scale->count) return store_is_guess(store, id);
  return (weight_at(scale, id) & GUESSED) != 0;
}

uint32_t scale_guesses(const Scale *scale, const Store *store) {
  return scale == NULL ? store_guesses(store) : scale->guesses;
}

Status scales_fork(const Scale *scales, Scale **fork) {
  *fork = NULL;
  for (; scales != NULL; scales = scales->next) {
    Scale *copy;
    Status status = scale_new(&scales->memory, &scales->counter, *fork, &copy);
    if (status != STATUS_OK) return status;
    *fork = copy;
    status = pages_share(&scales->weights, &copy->weights);
    if (status != STATUS_OK) return status;
    copy->count = scales->count;
    copy->guesses = scales->guesses;
  }
  return STATUS_OK;
}

void scales_rewind(Scale *scales, uint32_t count) {
  for (; scales != NULL; scales = scales->next) {
    for (; scales->count > count; scales->count--) scales->guesses -= (weight_at(scales, scales->count) & GUESSED) != 0;
    pages_cut(&scales->weights, scales->count);
  }
}

void scales_free(Scale *scales) {
  while (scales != NULL) {
    Scale *next = scales->next;
    Memory memory = scales->memory;
    pages_free(&scales->weights);
    memory_free(&memory, scales, sizeof *scales);
    scales = next;
  }
}
