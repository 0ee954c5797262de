#include "core/history/checkpoint.h"

#include <assert.h>

#include "base/map.h"

#define SLOT_NONE UINT32_MAX

struct Checkpoints {
  uint32_t owners, count;    /* count: slots with a name */
  uint32_t used, room;       /* slots */
  Checkpoint *slots;
  Map by_name, by_batch;     /* hash of a name -> its slot; batch -> its newest slot */
  HashKey key;
  Memory memory;
};

/* ---- lives ---- */

static Checkpoints *checkpoints_new(const Memory *memory, const HashKey *key) {
  Checkpoints *checkpoints = memory_new(memory, sizeof *checkpoints);
  if (checkpoints == NULL) return NULL;
  *checkpoints = (Checkpoints){.owners = 1, .key = *key, .memory = *memory};
  map_init(&checkpoints->by_name, *memory);
  map_init(&checkpoints->by_batch, *memory);
  return checkpoints;
}

Checkpoints *checkpoints_share(Checkpoints *checkpoints) {
  if (checkpoints != NULL) checkpoints->owners++;
  return checkpoints;
}

void checkpoints_release(Checkpoints *checkpoints) {
  assert(checkpoints == NULL || checkpoints->owners > 0);
  if (checkpoints == NULL || --checkpoints->owners > 0) return;
  Memory memory = checkpoints->memory;
  for (uint32_t i = 0; i < checkpoints->used; i++) {
    memory_free(&memory, (char *)checkpoints->slots[i].name.bytes, checkpoints->slots[i].name.size);
  }
  memory_free(&memory, checkpoints->slots, checkpoints->room * sizeof *checkpoints->slots);
  map_free(&checkpoints->by_name);
  map_free(&checkpoints->by_batch);
  memory_free(&memory, checkpoints, sizeof *checkpoints);
}

/* ---- look-ups ---- */

uint32_t checkpoints_count(const Checkpoints *checkpoints) { return checkpoints == NULL ? 0 : checkpoints->count; }

/* The key of a name among the hashes: where another name has its hash, the next one. Names stay as long as
   the checkpoints, so that no gap hides a name. */
static uint64_t name_key(const Checkpoints *c, Text name) {
  uint64_t key = hash_text(name, &c->key);
  for (const uint64_t *slot; (slot = map_find(&c->by_name, key)) != NULL; key++) {
    if (text_equal(c->slots[*slot].name, name)) break;
  }
  return key;
}

const Checkpoint *checkpoints_find(const Checkpoints *checkpoints, Text name) {
  if (checkpoints == NULL) return NULL;
  const uint64_t *slot = map_find(&checkpoints->by_name, name_key(checkpoints, name));
  return slot == NULL ? NULL : &checkpoints->slots[*slot];
}

const Checkpoint *checkpoints_newest(const Checkpoints *checkpoints, uint32_t batch) {
  const uint64_t *slot = checkpoints == NULL ? NULL : map_find(&checkpoints->by_batch, batch);
  return slot == NULL ? NULL : &checkpoints->slots[*slot];
}

const Checkpoint *checkpoints_next(const Checkpoints *checkpoints, uint32_t *at) {
  while (checkpoints != NULL && *at < checkpoints->used) {
    const Checkpoint *checkpoint = &checkpoints->slots[(*at)++];
    if (checkpoint->naming > 0) return checkpoint;
  }
  return NULL;
}

/* ---- changes ---- */

/* Takes the slot out of the list of its batch, which keeps its place in the map. */
static void unlink_slot(Checkpoints *c, uint32_t slot) {
  const Checkpoint *old = &c->slots[slot];
  if (old->older != SLOT_NONE) c->slots[old->older].newer = old->newer;
  if (old->newer != SLOT_NONE) c->slots[old->newer].older = old->older;
  if (old->newer == SLOT_NONE && old->older != SLOT_NONE) *map_find(&c->by_batch, old->batch) = old->older;
  if (old->newer == SLOT_NONE && old->older == SLOT_NONE) map_remove(&c->by_batch, old->batch);
}

/* Puts a checkpoint into the next slot, for which there is room in the list and in both maps. */
static void link_slot(Checkpoints *c, const Checkpoint *checkpoint, uint64_t key) {
  uint32_t slot = c->used++;
  const uint64_t *newest = map_find(&c->by_batch, checkpoint->batch);
  c->slots[slot] = *checkpoint;
  c->slots[slot].newer = SLOT_NONE;
  c->slots[slot].older = newest == NULL ? SLOT_NONE : (uint32_t)*newest;
  if (newest != NULL) c->slots[*newest].newer = slot;
  Status named = map_put(&c->by_name, key, slot), batched = map_put(&c->by_batch, checkpoint->batch, slot);
  assert(named == STATUS_OK && batched == STATUS_OK);
  (void)named, (void)batched;
}

/* Makes room for a name and its batch in the maps. */
static Status reserve_keys(Checkpoints *c, uint64_t key, uint32_t batch) {
  bool is_name_new = map_find(&c->by_name, key) == NULL, is_batch_new = map_find(&c->by_batch, batch) == NULL;
  Status status = is_name_new ? map_put(&c->by_name, key, 0) : STATUS_OK;
  if (status == STATUS_OK && is_batch_new) status = map_put(&c->by_batch, batch, 0);
  if (is_name_new) map_remove(&c->by_name, key);
  if (status == STATUS_OK && is_batch_new) map_remove(&c->by_batch, batch);
  return status;
}

/* Gives a name that is in use to the checkpoint, and empties its slot. */
static void move_name(Checkpoints *c, uint32_t slot, Checkpoint *moved) {
  moved->name = c->slots[slot].name;
  unlink_slot(c, slot);
  c->slots[slot] = (Checkpoint){0};
  c->count--;
}

/* Adds a checkpoint to ones that have one owner. */
static Status put(Checkpoints *c, const Checkpoint *checkpoint) {
  char *name = NULL;
  Checkpoint added = *checkpoint;
  uint64_t key = name_key(c, checkpoint->name);
  bool is_new = map_find(&c->by_name, key) == NULL;
  Checkpoint *grown = memory_grow(&c->memory, c->slots, &c->room, c->used, sizeof *grown);
  if (grown == NULL) return STATUS_MEMORY;
  c->slots = grown;
  Status status = reserve_keys(c, key, checkpoint->batch);
  if (status == STATUS_OK && is_new) status = text_copy(&c->memory, checkpoint->name, &name);
  if (status != STATUS_OK) return status;
  if (is_new) added.name = text_plain(name, checkpoint->name.size);
  else move_name(c, (uint32_t)*map_find(&c->by_name, key), &added);
  link_slot(c, &added, key);
  c->count++;
  return STATUS_OK;
}

/* Copies all checkpoints without the slots that have no name. */
static Status copy(const Memory *memory, const HashKey *key, const Checkpoints *from, Checkpoints **result) {
  Checkpoints *own = checkpoints_new(memory, key);
  Status status = own == NULL ? STATUS_MEMORY : STATUS_OK;
  const Checkpoint *each;
  for (uint32_t at = 0; status == STATUS_OK && (each = checkpoints_next(from, &at)) != NULL;) status = put(own, each);
  if (status == STATUS_OK) *result = own;
  else checkpoints_release(own);
  return status;
}

Status checkpoints_put(const Memory *memory, const HashKey *key, Checkpoints **checkpoints,
                       const Checkpoint *checkpoint) {
  Checkpoints *own = *checkpoints;
  bool is_sparse = own != NULL && own->used / 2 > own->count;
  if (own != NULL && own->owners == 1 && !is_sparse) return put(own, checkpoint);
  Status status = copy(memory, key, *checkpoints, &own);
  if (status != STATUS_OK) return status;
  status = put(own, checkpoint);
  if (status != STATUS_OK) {
    checkpoints_release(own);
    return status;
  }
  checkpoints_release(*checkpoints);
  *checkpoints = own;
  return STATUS_OK;
}

void checkpoints_check(const Checkpoints *c) {
  uint32_t count = 0;
  uint64_t naming = 0;
  const Checkpoint *each;
  for (uint32_t at = 0; (each = checkpoints_next(c, &at)) != NULL; count++) {
    assert(each->naming > naming && checkpoints_find(c, each->name) == each);
    assert(each->older == SLOT_NONE || c->slots[each->older].batch == each->batch);
    assert((each->newer == SLOT_NONE) == (checkpoints_newest(c, each->batch) == each));
    naming = each->naming;
  }
  assert(count == checkpoints_count(c));
  assert(c == NULL || (c->owners > 0 && c->count <= c->used && c->by_name.count == c->count));
  (void)naming, (void)count;
}
