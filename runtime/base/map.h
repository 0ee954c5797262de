/*
** Map: from 64-bit keys to 64-bit values; open addressing, no tombstones.
** Keys are hashes or numbers that the caller made; they are mixed again here.
*/
#ifndef EBB_BASE_MAP_H
#define EBB_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"

typedef struct Map {
  Memory memory;
  struct MapSlot *slots;
  size_t capacity;     /* 0 or a power of two */
  size_t count;
} Map;

void   map_init(Map *map, Memory memory);
void   map_free(Map *map);

/* NULL if the key is not there. Valid until the next put or remove. */
uint64_t *map_find(const Map *map, uint64_t key);
Status map_put(Map *map, uint64_t key, uint64_t value);   /* replaces */
bool   map_remove(Map *map, uint64_t key);                /* was it there? */

/* Walks all entries in no order: start with *at = 0; false at the end. */
bool   map_next(const Map *map, size_t *at, uint64_t *key, uint64_t *value);

/* Slots that searches in all maps have looked at. Only builds for tests have it (EBB_COUNT_PROBES). */
extern uint64_t map_probes;

#endif
