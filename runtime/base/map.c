/*
** Map: linear probing in one table.
**
** A key's home is its mixed value modulo the table's size. The key is in its home slot
** or in the run of used slots behind it, which may wrap around the end of the table:
**
**     home:    2  2  3        6
**     slots: [ a  b  c  .  .  d  . ]     a, b, c are one run: b has displaced c
**
** Removing `a` moves entries back that come closer to their home (b, then c), so a
** search may stop at the first empty slot, and there are no tombstones.
**
** Key 0 marks an empty slot. The entry of key 0 itself therefore has an extra slot
** behind the table, whose `key` is 1 if it exists.
**
** Invariants: capacity is 0 (no slots) or a power of two; the block holds
** capacity + 1 slots; count, key 0 included, is at most 3/4 of capacity.
*/
#include "base/map.h"

#include <assert.h>
#include <string.h>

enum { MAP_FIRST = 8 };   /* capacity of the first table */

#ifdef EBB_COUNT_PROBES
uint64_t map_probes;
#define PROBED() ((void)map_probes++)
#else
#define PROBED() ((void)0)
#endif

struct MapSlot {
  uint64_t key, value;
};

void map_init(Map *map, Memory memory) {
  *map = (Map){.memory = memory};
}

void map_free(Map *map) {
  if (map->slots != NULL) memory_free(&map->memory, map->slots, (map->capacity + 1) * sizeof *map->slots);
  map_init(map, map->memory);
}

static size_t home_of(uint64_t key, size_t capacity) {
  key = (key ^ key >> 32) * 0x9E3779B97F4A7C15u;
  key = (key ^ key >> 29) * 0xBF58476D1CE4E5B9u;
  return (size_t)(key ^ key >> 32) & (capacity - 1);
}

/* The slot of `key`, or the empty slot where it would go. capacity > 0 */
static struct MapSlot *slot_of(struct MapSlot *slots, size_t capacity, uint64_t key) {
  if (key == 0) return &slots[capacity];
  size_t i = home_of(key, capacity);
  PROBED();
  while (slots[i].key != key && slots[i].key != 0) {
    PROBED();
    i = (i + 1) & (capacity - 1);
  }
  return &slots[i];
}

uint64_t *map_find(const Map *map, uint64_t key) {
  if (map->capacity == 0) return NULL;
  struct MapSlot *slot = slot_of(map->slots, map->capacity, key);
  return slot->key != 0 ? &slot->value : NULL;
}

static Status map_grow(Map *map) {
  size_t capacity = map->capacity == 0 ? MAP_FIRST : map->capacity * 2;
  struct MapSlot *slots = memory_new_array(&map->memory, capacity + 1, sizeof *slots);
  if (slots == NULL) return STATUS_MEMORY;
  memset(slots, 0, (capacity + 1) * sizeof *slots);
  for (size_t i = 0; i < map->capacity; i++) {
    if (map->slots[i].key != 0) *slot_of(slots, capacity, map->slots[i].key) = map->slots[i];
  }
  if (map->slots != NULL) {
    slots[capacity] = map->slots[map->capacity];
    memory_free(&map->memory, map->slots, (map->capacity + 1) * sizeof *slots);
  }
  map->slots = slots;
  map->capacity = capacity;
  return STATUS_OK;
}

Status map_put(Map *map, uint64_t key, uint64_t value) {
  uint64_t *value_slot = map_find(map, key);
  if (value_slot != NULL) {
    *value_slot = value;
    return STATUS_OK;
  }
  if (map->count >= map->capacity / 4 * 3) {
    Status status = map_grow(map);
    if (status != STATUS_OK) return status;
  }
  *slot_of(map->slots, map->capacity, key) = (struct MapSlot){.key = key != 0 ? key : 1, .value = value};
  map->count++;
  return STATUS_OK;
}

/* Empties slot `hole` and closes the gap that this leaves in its run. */
static void close_gap(Map *map, size_t hole) {
  size_t mask = map->capacity - 1;
  for (size_t i = (hole + 1) & mask; map->slots[i].key != 0; i = (i + 1) & mask) {
    size_t way = (i - home_of(map->slots[i].key, map->capacity)) & mask;   /* distance from its home */
    if (way < ((i - hole) & mask)) continue;                               /* the hole lies before its home */
    map->slots[hole] = map->slots[i];
    hole = i;
  }
  map->slots[hole].key = 0;
}

bool map_remove(Map *map, uint64_t key) {
  if (map->capacity == 0) return false;
  struct MapSlot *slot = slot_of(map->slots, map->capacity, key);
  if (slot->key == 0) return false;
  assert(map->count > 0);
  if (key == 0) slot->key = 0;
  else close_gap(map, (size_t)(slot - map->slots));
  map->count--;
  return true;
}

bool map_next(const Map *map, size_t *at, uint64_t *key, uint64_t *value) {
  if (map->capacity == 0) return false;
  for (; *at <= map->capacity; ++*at) {
    const struct MapSlot *slot = &map->slots[*at];
    if (slot->key == 0) continue;
    *key = *at < map->capacity ? slot->key : 0;
    *value = slot->value;
    ++*at;
    return true;
  }
  return false;
}
