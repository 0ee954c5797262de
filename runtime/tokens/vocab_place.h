/*
** Places: a table without collisions, for keys that are all known beforehand.
**
** Keys fall into small groups by one part of their hash. Each group has a shift,
** chosen when the table was made such that no two keys of all groups take the
** same slot:
**
**     hash ---high half---> group ---shift---+
**       |                                    v
**       +------low half------------------> slot
**
** So a look-up reads one shift (all of them fit the nearest caches) and one slot,
** and never loops. What stands in the slot must still be compared with the key:
** a key that is not there falls on some slot, too.
*/
#ifndef EBB_TOKENS_VOCAB_PLACE_H
#define EBB_TOKENS_VOCAB_PLACE_H

#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"

typedef struct Places {
  const uint16_t *shifts;
  uint32_t groups, slots;    /* how many; both at least 1 */
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

/* The slot of a hash: below `slots`, whatever the shifts are. */
static inline uint32_t place_of(const Places *places, uint64_t hash) {
  return place_slot(hash, places->shifts[place_group(hash, places->groups)], places->slots);
}

/* How many groups and slots `count` keys get. */
uint32_t place_groups(uint32_t count);
uint32_t place_slots(uint32_t count);

/* Finds the shifts (place_groups(count) of them) for hashes that are all
   different, and the slot of each. STATUS_LIMIT if there are none: two hashes
   that are equal, or nearly so. */
Status places_build(const Memory *memory, const uint64_t *hashes, uint32_t count, uint16_t *shifts, uint32_t *slots);

#endif
