/*
** The list of a draft, and how edits that wait reach it.
*/
#include "core/draft/draft_data.h"

#include <assert.h>

#include "base/bitset.h"

#define APPLY_ALL 64        /* messages of a list that are built anew in the time of one edit of it */

void draft_take_list(Draft *draft, Sequence *list) {
  sequence_release(draft->list);
  draft->list = list;
}

Status draft_reserve_waiting(Draft *draft) {
  void *grown = memory_grow(&draft->memory, draft->waiting, &draft->waiting_room, draft->waiting_count,
                            sizeof *draft->waiting);
  if (grown == NULL) return STATUS_MEMORY;
  draft->waiting = grown;
  return STATUS_OK;
}

static void mark_applied(Draft *draft, uint32_t slot) {
  uint8_t *flags = &draft->slots.flags[slot];
  if (*flags & SLOT_DROPPED) *flags |= SLOT_REMOVED;
  *flags &= (uint8_t)~SLOT_CHANGED;
}

/* Applies the mark of one slot to the list. */
static Status apply_one(Draft *draft, uint32_t slot) {
  uint8_t flags = draft->slots.flags[slot];
  bool drops = (flags & SLOT_DROPPED) && !(flags & SLOT_REMOVED), changes = flags & SLOT_CHANGED;
  if (!drops && !changes) return STATUS_OK;
  uint32_t index = sequence_index_of_origin(draft->list, draft->slots.ids[slot]);
  assert(index < sequence_count(draft->list));
  Status status = drops ? sequence_remove(&draft->list, index, index + 1)
                        : sequence_replace(&draft->list, index, draft->slots.ids[slot]);
  if (status == STATUS_OK) mark_applied(draft, slot);
  return status;
}

/* Applies the marks of all slots to `list`, a share of the draft's. */
static Status apply_slots(Draft *draft, Sequence **list, uint64_t *keep) {
  SequenceWalk walk = sequence_walk(draft->list, 0, sequence_count(draft->list));
  while (sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count; i++) {
      uint32_t slot = slot_of_id(draft, walk.ids[i]);
      uint8_t flags = draft->slots.flags[slot];
      if (flags & SLOT_DROPPED) continue;
      bitset_add(keep, walk.index + i);
      Status status = STATUS_OK;
      if (flags & SLOT_CHANGED) status = sequence_replace(list, walk.index + i, draft->slots.ids[slot]);
      if (status != STATUS_OK) return status;
    }
  }
  return sequence_keep(list, keep);
}

static Status apply_all(Draft *draft) {
  uint32_t count = sequence_count(draft->list);
  Sequence *list = NULL;
  uint64_t *keep = bitset_new(&draft->memory, count);
  if (keep == NULL) return STATUS_MEMORY;
  Status status = sequence_share(draft->list, &list);
  if (status == STATUS_OK) status = apply_slots(draft, &list, keep);
  bitset_free(&draft->memory, keep, count);
  if (status != STATUS_OK) {
    sequence_release(list);
    return status;
  }
  draft_take_list(draft, list);
  for (uint32_t i = 0; i < draft->waiting_count; i++) mark_applied(draft, draft->waiting[i]);
  draft->waiting_count = 0;
  return STATUS_OK;
}

Status draft_apply_edits(Draft *draft) {
  bool few = draft->waiting_count < sequence_count(draft->list) / APPLY_ALL && sequence_is_ranked(draft->list);
  Status status = STATUS_OK;
  if (draft->waiting_count > 0 && !few) status = apply_all(draft);
  while (draft->waiting_count > 0 && status == STATUS_OK) {
    status = apply_one(draft, draft->waiting[draft->waiting_count - 1]);
    if (status == STATUS_OK) draft->waiting_count--;
  }
  assert(status != STATUS_OK || sequence_count(draft->list) == draft->live);
  return status;
}

Status draft_list(Draft *draft, const Sequence **list) {
  Status status = draft_apply_edits(draft);
  *list = draft->list;
  return status;
}

uint32_t draft_waiting(const Draft *draft) { return draft->waiting_count; }
