#include "core/message/token_weights.h"

#include <assert.h>

#include "core/message/pages.h"

#define GUESSED ((uint32_t)1 << 31)      /* flag of a weight, whose tokens take 28 bits */

struct TokenWeights {
  Memory memory;
  TokenWeights *next;        /* the next table of the same store */
  Counter counter;
  Pages weights;             /* of message 1, 2 ... */
  uint32_t count;            /* messages with a weight */
  uint32_t guesses;          /* weights with GUESSED */
};

static Status table_new(const Memory *memory, const Counter *counter, TokenWeights *next, TokenWeights **result) {
  TokenWeights *weights = memory_new(memory, sizeof *weights);
  if (weights == NULL) return STATUS_MEMORY;
  *weights = (TokenWeights){.memory = *memory, .next = next, .counter = *counter};
  pages_init(&weights->weights, *memory, sizeof(uint32_t));
  *result = weights;
  return STATUS_OK;
}

static uint32_t weight_at(const TokenWeights *weights, MessageId id) {
  assert(id >= 1 && id <= weights->count);
  const uint32_t *weight = pages_at(&weights->weights, id - 1);
  return weight == NULL ? 0 : *weight;
}

/* ---- the tables of a store, which are its attachment ---- */

static void tables_free(void *tables) {
  for (TokenWeights *weights = tables; weights != NULL;) {
    TokenWeights *next = weights->next;
    Memory memory = weights->memory;
    pages_free(&weights->weights);
    memory_free(&memory, weights, sizeof *weights);
    weights = next;
  }
}

static Status tables_fork(const void *tables, void **fork) {
  TokenWeights *copies = NULL;
  Status status = STATUS_OK;
  for (const TokenWeights *weights = tables; weights != NULL && status == STATUS_OK; weights = weights->next) {
    status = table_new(&weights->memory, &weights->counter, copies, &copies);
    if (status == STATUS_OK) status = pages_share(&weights->weights, &copies->weights);
    if (status != STATUS_OK) continue;
    copies->count = weights->count;
    copies->guesses = weights->guesses;
  }
  if (status == STATUS_OK) *fork = copies;
  else tables_free(copies);
  return status;
}

static void tables_rewind(void *tables, uint32_t count) {
  for (TokenWeights *weights = tables; weights != NULL; weights = weights->next) {
    for (; weights->count > count; weights->count--) {
      weights->guesses -= (weight_at(weights, weights->count) & GUESSED) != 0;
    }
    assert(weights->guesses <= weights->count);
    pages_cut(&weights->weights, weights->count);
  }
}

TokenWeights *token_weights_find(Store *store, const Counter *counter) {
  TokenWeights *weights = store_attachment(store)->data;
  while (weights != NULL && !counter_equal(&weights->counter, counter)) weights = weights->next;
  return weights;
}

Status token_weights_open(Store *store, const Memory *memory, const Counter *counter, TokenWeights **weights) {
  StoreAttachment *tables = store_attachment(store);
  *weights = token_weights_find(store, counter);
  if (*weights != NULL) return STATUS_OK;
  Status status = table_new(memory, counter, tables->data, weights);
  if (status != STATUS_OK) return status;
  *tables = (StoreAttachment){.data = *weights, .fork = tables_fork, .rewind = tables_rewind, .free = tables_free};
  return STATUS_OK;
}

/* ---- one table ---- */

const Counter *token_weights_counter(const TokenWeights *weights) { return &weights->counter; }

bool token_weights_equal(const TokenWeights *a, const TokenWeights *b) {
  return a == b || (a != NULL && b != NULL && counter_equal(&a->counter, &b->counter));
}

Status token_weights_count(const Store *store, const Counter *counter, MessageId id, Cost *cost) {
  Status status = cost_of_message(counter, store_message(store, id), id, cost);
  if (status != STATUS_OK) return status;
  return cost->tokens > MESSAGE_TOKENS_MAX ? STATUS_LIMIT : STATUS_OK;
}

static Status add_weight(TokenWeights *weights, uint32_t weight) {
  void *element;
  assert((weight & ~GUESSED) <= MESSAGE_TOKENS_MAX);
  Status status = pages_own(&weights->weights, weights->count, &element);
  if (status != STATUS_OK) return status;
  *(uint32_t *)element = weight;
  weights->count++;
  weights->guesses += (weight & GUESSED) != 0;
  return STATUS_OK;
}

/* Counts the next message; removed messages before it have no weight. */
static Status count_next(TokenWeights *weights, const Store *store) {
  MessageId id = store_next(store, weights->count);
  Cost cost;
  uint32_t end = id == 0 ? store_count(store) : id - 1;
  if (end > weights->count) {
    Status status = pages_clear(&weights->weights, weights->count, end);
    if (status == STATUS_OK) weights->count = end;
    return status;
  }
  Status status = token_weights_count(store, &weights->counter, id, &cost);
  return status == STATUS_OK ? add_weight(weights, cost.tokens | (cost.guessed ? GUESSED : 0)) : status;
}

Status token_weights_fill(TokenWeights *weights, Store *store) {
  Status status = STATUS_OK;
  while (status == STATUS_OK && weights->count < store_count(store)) status = count_next(weights, store);
  assert(status != STATUS_OK || weights->count >= store_count(store));
  return status;
}

Status token_weights_fill_from(TokenWeights *weights, Store *store, const TokenWeights *other, MessageId base,
                               uint32_t shift) {
  Status status = STATUS_OK;
  assert(token_weights_equal(weights, other));
  while (status == STATUS_OK && weights->count < store_count(store)) {
    MessageId id = weights->count + 1, other_id = id <= base ? id : id > base + shift ? id - shift : 0;
    bool counted = other_id != 0 && other_id <= other->count;
    status = counted ? add_weight(weights, weight_at(other, other_id)) : count_next(weights, store);
  }
  return status;
}

uint32_t token_weights_get(const TokenWeights *weights, const Store *store, MessageId id) {
  if (weights == NULL || id > weights->count) return message_tokens(store_message(store, id));
  return weight_at(weights, id) & ~GUESSED;
}

bool token_weights_is_guess(const TokenWeights *weights, const Store *store, MessageId id) {
  if (weights == NULL || id > weights->count) return store_is_guess(store, id);
  return (weight_at(weights, id) & GUESSED) != 0;
}

uint32_t token_weights_guesses(const TokenWeights *weights, const Store *store) {
  return weights == NULL ? store_guesses(store) : weights->guesses;
}
