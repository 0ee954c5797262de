/*
** Places: a perfect hash table, for a set of keys that never changes.
**
** One part of the hash puts keys into small groups. Each group has a shift, chosen at
** building such that no two keys of all groups have the same slot:
**
**     hash ---high half---> group ---shift---+
**       |                                    v
**       +------low half------------------> slot
**
** So a look-up reads one shift (all of them fit the nearest caches) and one slot, and
** never loops. The slot must be compared with the key, because absent keys have a slot
** too.
*/
#ifndef EBB_TOKENS_VOCAB_PLACE_H
#define EBB_TOKENS_VOCAB_PLACE_H

#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"

typedef struct Places {
  const uint16_t *shifts;
  uint32_t groups, slots;    /* numbers of them, at least 1 */
} Places;

static inline uint64_t place_mix(uint64_t key) {
  key *= 0x9E3779B97F4A7C15u;
  key ^= key >> 32;
  return key * 0xD6E8FEB86659FD93u;
}

static inline uint32_t place_group(uint64_t hash, uint32_t groups) { return (uint32_t)((hash >> 32) * groups >> 32); }

static inline uint32_t place_slot(uint64_t hash, uint16_t shift, uint32_t slots) {
  uint32_t mixed = ((uint32_t)hash ^ shift * 0x9E3779B1u) * 0x85EBCA6Bu;
  return (uint32_t)((uint64_t)mixed * slots >> 32);
}

/* The slot of a hash, below `slots` for any shifts. */
static inline uint32_t place_of(const Places *places, uint64_t hash) {
  return place_slot(hash, places->shifts[place_group(hash, places->groups)], places->slots);
}

/* Numbers of groups and slots for `count` keys. */
uint32_t place_groups(uint32_t count);
uint32_t place_slots(uint32_t count);

/* Finds place_groups(count) shifts for `count` different hashes, and the slot of each hash.
   STATUS_LIMIT if no shift works: two hashes are equal or nearly equal; STATUS_MEMORY. */
Status places_build(const Memory *memory, const uint64_t *hashes, uint32_t count, uint16_t *shifts, uint32_t *slots);

#endif
