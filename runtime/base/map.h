/*
** Map: from 64-bit keys to 64-bit values, by open addressing without tombstones.
** Keys may be hashes or plain numbers: the map mixes their bits.
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

/* The value of a key; NULL if there is none. Valid until the next put or remove. */
uint64_t *map_find(const Map *map, uint64_t key);
Status map_put(Map *map, uint64_t key, uint64_t value);   /* adds or replaces; STATUS_MEMORY */
bool   map_remove(Map *map, uint64_t key);                /* true if the key existed */

/* Walks all entries in no particular order: start with *at = 0; false at the end. */
bool   map_next(const Map *map, size_t *at, uint64_t *key, uint64_t *value);

/* Counts the slots that searches in all maps visit; only in test builds (EBB_COUNT_PROBES). */
extern uint64_t map_probes;

#endif
