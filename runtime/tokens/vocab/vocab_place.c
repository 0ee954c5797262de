/*
** Places large groups first, while most slots are free; the last groups have a single key,
** which needs only one free slot.
*/
#include "tokens/vocab/vocab_place.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

enum {
  GROUP_KEYS = 5,            /* on average */
  GROUP_KEYS_MAX = 64,       /* only equal hashes give larger groups */
  SHIFTS = 1 << 16
};

uint32_t place_groups(uint32_t count) { return count / GROUP_KEYS + 1; }

/* Leaves a tenth of the slots free: with less, the last groups need many tries. */
uint32_t place_slots(uint32_t count) { return count + count / 9 + 1; }

typedef struct Placing {
  const uint64_t *hashes;
  uint32_t count, groups, slots;
  uint32_t *starts;          /* groups + 1: start of each group's keys in `members` */
  uint32_t *members;         /* keys by group */
  uint32_t *order;           /* groups, the largest first */
  uint8_t *used;             /* by slot */
} Placing;

/* Sorts the keys by group, then the groups by size: counting sorts. False for a too large group. */
static bool sort_groups(Placing *p) {
  uint32_t of_size[GROUP_KEYS_MAX + 2] = {0};
  memset(p->starts, 0, (p->groups + 1) * sizeof *p->starts);
  for (uint32_t i = 0; i < p->count; i++) p->starts[place_group(p->hashes[i], p->groups) + 1]++;
  for (uint32_t g = 0; g < p->groups; g++) {
    uint32_t size = p->starts[g + 1];
    if (size > GROUP_KEYS_MAX) return false;
    of_size[GROUP_KEYS_MAX - size + 1]++;
    p->starts[g + 1] += p->starts[g];
  }
  for (uint32_t i = 0; i <= GROUP_KEYS_MAX; i++) of_size[i + 1] += of_size[i];
  for (uint32_t g = 0; g < p->groups; g++) p->order[of_size[GROUP_KEYS_MAX - (p->starts[g + 1] - p->starts[g])]++] = g;
  for (uint32_t i = p->count; i-- > 0;) p->members[--p->starts[place_group(p->hashes[i], p->groups) + 1]] = i;
  /* The sort has moved the starts down by one group. */
  memmove(p->starts, p->starts + 1, p->groups * sizeof *p->starts);
  p->starts[p->groups] = p->count;
  assert(p->starts[0] == 0);
  return true;
}

/* Takes the slots of a group under `shift`, all or none; false if one is in use. */
static bool take(Placing *p, uint32_t group, uint16_t shift, uint32_t *slots) {
  uint32_t first = p->starts[group], end = p->starts[group + 1], i = first;
  for (; i < end; i++) {
    uint32_t key = p->members[i], slot = place_slot(p->hashes[key], shift, p->slots);
    if (p->used[slot]) break;
    p->used[slot] = 1;
    slots[key] = slot;
  }
  if (i == end) return true;
  while (i-- > first) p->used[slots[p->members[i]]] = 0;
  return false;
}

static bool place_all(Placing *p, uint16_t *shifts, uint32_t *slots) {
  if (!sort_groups(p)) return false;
  memset(p->used, 0, p->slots);
  for (uint32_t i = 0; i < p->groups; i++) {
    uint32_t group = p->order[i], shift = 0;
    while (shift < SHIFTS && !take(p, group, (uint16_t)shift, slots)) shift++;
    if (shift == SHIFTS) return false;
    shifts[group] = (uint16_t)shift;
  }
  return true;
}

Status places_build(const Memory *memory, const uint64_t *hashes, uint32_t count, uint16_t *shifts, uint32_t *slots) {
  Placing p = {.hashes = hashes, .count = count, .groups = place_groups(count), .slots = place_slots(count)};
  Status status = STATUS_MEMORY;
  p.starts = memory_new_array(memory, p.groups + 1, sizeof *p.starts);
  p.members = memory_new_array(memory, count + 1, sizeof *p.members);
  p.order = memory_new_array(memory, p.groups, sizeof *p.order);
  p.used = memory_new(memory, p.slots);
  if (p.starts != NULL && p.members != NULL && p.order != NULL && p.used != NULL) {
    status = place_all(&p, shifts, slots) ? STATUS_OK : STATUS_LIMIT;
  }
  memory_free(memory, p.starts, (p.groups + 1) * sizeof *p.starts);
  memory_free(memory, p.members, (count + 1) * sizeof *p.members);
  memory_free(memory, p.order, p.groups * sizeof *p.order);
  memory_free(memory, p.used, p.slots);
  return status;
}
