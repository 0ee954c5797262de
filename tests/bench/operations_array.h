/*
** The peer in C: the list is an array of ids, and where the version before is kept it is copied whole. Roles and tokens
** are looked up in arrays by id.
*/
#ifndef EBB_BENCH_OPERATIONS_ARRAY_H
#define EBB_BENCH_OPERATIONS_ARRAY_H

#include "operations_kit.h"

static Array array_new(uint32_t room) {
  return (Array){.ids = must_have(malloc((size_t)room * sizeof(MessageId))), .count = 0};
}

static void array_add(Array *array, const MessageId *ids, uint32_t count) {
  if (count > 0) memcpy(array->ids + array->count, ids, count * sizeof *ids);
  array->count += count;
}

static Array array_copy(const Array *from, uint32_t first, uint32_t room) {
  Array copy = array_new(room);
  array_add(&copy, from->ids + first, from->count - first);
  return copy;
}

static void array_start(Bench *b) { b->current = array_copy(&b->array, 0, b->n + OPS_MAX); }

static void array_end(Bench *b) {
  free(b->current.ids);
  b->current = (Array){0};
  for (uint32_t i = 0; i < b->ops; i++) {
    free(b->copies[i].ids);
    b->copies[i] = (Array){0};
  }
}

/* There is room, as nearly always. */
static void array_append(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) ((volatile MessageId *)b->current.ids)[b->current.count++] = b->n;
}

static void array_append_first(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) {
    b->copies[i] = array_copy(&b->array, 0, b->n + 1);
    b->copies[i].ids[b->copies[i].count++] = b->n;
  }
}

static void array_insert(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) {
    const Array *old = &b->array;
    Array new = array_new(old->count + 1);
    array_add(&new, old->ids, b->at[i]);
    array_add(&new, &b->n, 1);
    array_add(&new, old->ids + b->at[i], old->count - b->at[i]);
    b->copies[i] = new;
  }
}

static void array_replace(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) {
    b->copies[i] = array_copy(&b->array, 0, b->n);
    b->copies[i].ids[b->at[i]] = b->n;
  }
}

static void array_truncate(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) b->copies[i] = array_copy(&b->array, b->n - b->n / 2, b->n / 2);
}

/* What was kept stays as it is, while the current array is appended to: so it is copied. */
static void array_rollback(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) b->copies[i] = array_copy(&b->array, 0, b->n);
}

static void array_recent(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) {
    uint32_t found = 0;
    for (uint32_t at = b->n; at-- > 0 && found < 3;) {
      if (b->roles[b->array.ids[at]] != ROLE_USER) continue;
      sink += b->array.ids[at];
      found++;
    }
  }
}

static uint32_t array_suffix_start(const Bench *b) {
  uint64_t sum = 0;
  uint32_t at = b->n;
  while (at > 0 && (sum += b->tokens[b->array.ids[at - 1]]) <= b->half) at--;
  return at;
}

static void array_suffix(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) sink += array_suffix_start(b);
}

static void array_trim(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) {
    uint32_t start = array_suffix_start(b);
    b->copies[i] = array_copy(&b->array, start, b->n - start);
  }
}

/* The oldest units go, system messages aside; a call and the results behind it are a unit. */
static void array_keep_recent(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) {
    Array new = array_new(b->n);
    uint64_t left = b->total;
    uint32_t at = 0;
    while (at < b->n && left > b->half) {
      MessageId id = b->array.ids[at++];
      if (b->roles[id] == ROLE_SYSTEM) {
        new.ids[new.count++] = id;
        continue;
      }
      left -= b->tokens[id];
      for (; at < b->n && b->roles[b->array.ids[at]] == ROLE_TOOL; at++) left -= b->tokens[b->array.ids[at]];
    }
    array_add(&new, b->array.ids + at, b->n - at);
    b->copies[i] = new;
  }
}

static void array_filter(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) {
    Array new = array_new(b->n);
    for (uint32_t at = 0; at < b->n; at++) {
      uint8_t role = b->roles[b->array.ids[at]];
      new.ids[new.count] = b->array.ids[at];
      new.count += role == ROLE_USER || role == ROLE_ASSISTANT;
    }
    b->copies[i] = new;
  }
}

static void array_list(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) {
    uint64_t sum = 0;
    for (uint32_t at = 0; at < b->n; at++) sum += touch(b, b->array.ids[at]);
    sink += sum;
  }
}

#endif
