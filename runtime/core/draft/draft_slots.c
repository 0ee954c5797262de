/*
** The slots of a draft: their holds, how they are numbered, and what is asked of them.
*/
#include "core/draft/draft_data.h"

#include <assert.h>
#include <string.h>

/* ---- the holds of guards ---- */

/* Sets the hold of every message of a unit. The first one stays, except that HOLD_REQUESTED replaces
   HOLD_PENDING. All messages of a unit have the same hold. */
void slots_hold_unit(Slots *slots, uint32_t unit, Hold hold) {
  assert(unit < slots->units->count && hold <= HOLD_REQUESTED);
  uint32_t slot = slots->units->units[unit].first;
  Hold before = (Hold)(slots->flags[slot] & SLOT_HOLD);
  if (before != HOLD_NONE && !(before == HOLD_PENDING && hold == HOLD_REQUESTED)) return;
  for (; slot != UNIT_NONE; slot = slots->units->next[slot]) {
    assert((slots->flags[slot] & SLOT_HOLD) == before);
    slots->flags[slot] = (uint8_t)((slots->flags[slot] & ~SLOT_HOLD) | hold);
  }
}

static void hold_pinned(const Conversation *conversation, Slots *slots) {
  const Marks *marks = conversation_marks(conversation);
  Text pinned = text_of(MARK_PINNED);
  if (marks_size(marks, pinned) == 0) return;
  for (uint32_t slot = 0; slot < slots->count; slot++) {
    MessageId origin = store_origin(conversation_store(conversation), slots->ids[slot]);
    if (marks_has(marks, pinned, origin)) slots_hold_unit(slots, slots->units->unit_of[slot], HOLD_PINNED);
  }
}

static void hold_guarded(const Conversation *conversation, const Sequence *list, Slots *slots) {
  Sum sum = sequence_sum(list);
  for (uint32_t i = 0; i < sum.count[ROLE_SYSTEM]; i++) {
    uint32_t slot = sequence_find(list, MEASURE_ROLE_COUNT + ROLE_SYSTEM, i);
    slots_hold_unit(slots, slots->units->unit_of[slot], HOLD_SYSTEM);
  }
  hold_pinned(conversation, slots);
  for (uint32_t unit = 0; unit < slots->units->count; unit++) {
    if (slots->units->units[unit].pending) slots_hold_unit(slots, unit, HOLD_PENDING);
  }
  if (sum.turns > 0) {
    uint32_t last = sequence_find(list, MEASURE_TURNS, sum.turns - 1);
    slots_hold_unit(slots, slots->units->unit_of[last], HOLD_LAST_USER);
  }
}

/* Holds the items of pinned windows; and the visible item of a window if an older item has a
   hold, because dropping the visible item drops the older ones. `list` may have lost items,
   the others keep their order. */
static void hold_windows(const Draft *draft, const Sequence *list, Slots *slots) {
  const WindowItem *items = draft->windows.items.list;
  uint32_t windows = sequence_sum(list).windows;
  for (uint32_t i = windows; i-- > 0;) {
    uint32_t slot = sequence_find(list, MEASURE_WINDOWS, i);
    const WindowItem *item = draft_window_item(draft, slots->ids[slot]);
    assert(item != NULL);
    if (draft_window_is_pinned(draft, item)) slots_hold_unit(slots, slots->units->unit_of[slot], HOLD_PINNED);
    bool has_hold = slots->flags[slot] & SLOT_HOLD;
    if (!has_hold || !item->obsolete || items[item->newest].obsolete) continue;
    uint32_t newest = sequence_index_of(list, items[item->newest].id, slot);
    assert(newest < slots->count);      /* who drops the visible item drops the older ones */
    slots_hold_unit(slots, slots->units->unit_of[newest], HOLD_PINNED);
  }
}

/* ---- numbering ---- */

void slots_free(const Memory *memory, Slots *slots) {
  memory_free(memory, slots->ids, slots->ids_room * sizeof *slots->ids);
  memory_free(memory, slots->flags, slots->flags_room);
  memory_free(memory, slots->turns_after, slots->numbered * sizeof *slots->turns_after);
  memory_free(memory, slots->cover, slots->numbered * sizeof *slots->cover);
  units_free(slots->units);
  *slots = (Slots){0};
}

Status draft_reserve_id(Draft *draft, MessageId id) {
  void *element;
  return pages_own(&draft->slot_of, id, &element);
}

void draft_set_slot(Draft *draft, MessageId id, uint32_t slot) {
  uint32_t *element = pages_at(&draft->slot_of, id);
  assert(element != NULL && slot < UNIT_NONE);
  *element = slot + 1;
}

/* Copies the ids of the list, and makes room in slot_of for them. */
static Status slots_copy_ids(Draft *draft, const Sequence *list, Slots *slots) {
  Status status = STATUS_OK;
  SequenceWalk walk = sequence_walk(list, 0, slots->count);
  while (sequence_walk_next(&walk)) memcpy(slots->ids + walk.index, walk.ids, walk.count * sizeof *slots->ids);
  for (uint32_t i = 0; i < slots->count && status == STATUS_OK; i++) status = draft_reserve_id(draft, slots->ids[i]);
  return status;
}

Status slots_make(Draft *draft, const Sequence *list, Slots *result) {
  const Memory *memory = &draft->memory;
  uint32_t count = sequence_count(list);
  Slots slots = {.count = count, .numbered = count};
  Status status = units_new(memory, draft->store, list, &slots.units);
  if (status != STATUS_OK) return status;
  if (slots.count > 0) {
    slots.ids = memory_new_array(memory, slots.count, sizeof *slots.ids);
    slots.flags = memory_new_array(memory, slots.count, sizeof *slots.flags);
    if (slots.ids != NULL) slots.ids_room = count;
    if (slots.flags != NULL) slots.flags_room = count;
    if (slots.ids == NULL || slots.flags == NULL || slots_copy_ids(draft, list, &slots) != STATUS_OK) {
      slots_free(memory, &slots);
      return STATUS_MEMORY;
    }
    memset(slots.flags, 0, slots.count);
  }
  if (draft->guarded) hold_guarded(draft->conversation, list, &slots);
  if (draft->guarded) hold_windows(draft, list, &slots);
  assert(slots.units->message_count == slots.count);
  *result = slots;
  return STATUS_OK;
}

static void set_slots(Draft *draft, const Slots *slots) {
  for (uint32_t slot = 0; slot < slots->count; slot++) draft_set_slot(draft, slots->ids[slot], slot);
}

static Status number_first(Draft *draft) {
  Slots slots;
  Status status = slots_make(draft, draft->list, &slots);
  if (status != STATUS_OK) return status;
  set_slots(draft, &slots);
  draft->slots = slots;
  draft->numbered = true;
  return STATUS_OK;
}

Status draft_prepare_slots(Draft *draft) { return draft->numbered ? STATUS_OK : number_first(draft); }

Status draft_number_slots(Draft *draft) {
  Slots slots;
  Sequence *list;
  if (!draft->numbered) return number_first(draft);
  if (draft->slots.numbered == draft->slots.count) return STATUS_OK;
  Status status = draft_apply_edits(draft);
  if (status == STATUS_OK) status = sequence_share(draft->list, &list);
  if (status != STATUS_OK) return status;
  status = slots_make(draft, list, &slots);
  if (status == STATUS_OK) draft_renumber(draft, list, slots);
  else sequence_release(list);
  return status;
}

/* ---- renumbering ---- */

/* Copies holds to the new slots: a policy that adds a user message frees neither the former
   last user message nor a call that was pending. */
static void carry_holds(Draft *draft, Slots *slots) {
  for (uint32_t slot = 0; slot < slots->count; slot++) {
    uint32_t old = draft_slot_of(draft, slots->ids[slot]);
    if (old == UNIT_NONE || draft_slot_hold(draft, old) == HOLD_NONE) continue;
    /* A call that the policy inserted is free once it is answered. */
    if (draft_slot_hold(draft, old) == HOLD_PENDING && slots->ids[slot] > draft->base) continue;
    slots_hold_unit(slots, slots->units->unit_of[slot], draft_slot_hold(draft, old));
  }
}

/* Moves slot_of of every id, replaced messages too, from the old slot to the new one; ids of
   dropped messages get none. Overwrites the ids of the old slots. */
static void renumber_ids(Draft *draft, const Slots *slots) {
  uint32_t *numbers = draft->slots.ids;
  memset(numbers, 0, draft->slots.count * sizeof *numbers);
  for (uint32_t slot = 0; slot < slots->count; slot++) {
    uint32_t old = draft_slot_of(draft, slots->ids[slot]);
    if (old != UNIT_NONE) numbers[old] = slot + 1;
  }
  for (uint32_t id = pages_next(&draft->slot_of, 0); id != UINT32_MAX; id = pages_next(&draft->slot_of, id + 1)) {
    uint32_t *number = pages_at(&draft->slot_of, id);
    if (*number > 0) *number = numbers[*number - 1];
  }
  set_slots(draft, slots);
}

void draft_renumber(Draft *draft, Sequence *list, Slots slots) {
  assert(slots.count == sequence_count(list) && draft->waiting_count == 0);
  carry_holds(draft, &slots);
  draft_unplace_thoughts(draft);
  if (draft->slots.count > 0) renumber_ids(draft, &slots);
  else set_slots(draft, &slots);
  slots_free(&draft->memory, &draft->slots);
  draft_take_list(draft, list);
  draft->slots = slots;
  draft->live = slots.count;
  draft_place_thoughts(draft);
}

/* ---- single slots ---- */

Status draft_reserve_slot(Draft *draft) {
  Slots *slots = &draft->slots;
  void *grown = memory_grow(&draft->memory, slots->ids, &slots->ids_room, slots->count, sizeof *slots->ids);
  if (grown == NULL) return STATUS_MEMORY;
  slots->ids = grown;
  grown = memory_grow(&draft->memory, slots->flags, &slots->flags_room, slots->count, sizeof *slots->flags);
  if (grown == NULL) return STATUS_MEMORY;
  slots->flags = grown;
  return units_reserve(slots->units);
}

void draft_add_slot(Draft *draft, MessageId id, Hold hold) {
  Slots *slots = &draft->slots;
  assert(slots->count < slots->ids_room && slots->count < slots->flags_room);
  slots->ids[slots->count] = id;
  slots->flags[slots->count] = (uint8_t)hold;
  units_add(slots->units);
  draft_set_slot(draft, id, slots->count++);
}

Status draft_cover_slots(Draft *draft) {
  Slots *slots = &draft->slots;
  const Units *units = slots->units;
  if (slots->cover != NULL || slots->numbered == 0) return STATUS_OK;
  uint32_t *cover = memory_new_array(&draft->memory, slots->numbered, sizeof *cover), open = 0;
  if (cover == NULL) return STATUS_MEMORY;
  memset(cover, 0, slots->numbered * sizeof *cover);
  for (uint32_t slot = 0; slot < slots->numbered; slot++) {
    bool first = units->units[units->unit_of[slot]].first == slot, last = units->next[slot] == UNIT_NONE;
    cover[slot] = open;
    if (first && !last) open++;
    if (last && !first) open--;
  }
  assert(open == 0);
  slots->cover = cover;
  return STATUS_OK;
}

/* ---- queries ---- */

Status draft_turns_after(Draft *draft, const uint32_t **turns) {
  Status status = draft_number_slots(draft);
  if (status != STATUS_OK) return status;
  Slots *slots = &draft->slots;
  if (slots->turns_after == NULL && slots->count > 0) {
    uint32_t *result = memory_new_array(&draft->memory, slots->count, sizeof *result), after = 0;
    if (result == NULL) return STATUS_MEMORY;
    for (uint32_t slot = slots->count; slot-- > 0;) {
      result[slot] = after;
      after += message_starts_turn(store_message(draft->store, slots->ids[slot]));
    }
    slots->turns_after = result;
  }
  *turns = slots->turns_after;
  return STATUS_OK;
}

uint32_t draft_slot_count(const Draft *draft) { return draft->slots.count; }
const Units *draft_units(const Draft *draft) { return draft->slots.units; }

uint32_t draft_slot_of(const Draft *draft, MessageId id) { return slot_of_id(draft, id); }

MessageId draft_slot_message(const Draft *draft, uint32_t slot) {
  assert(slot < draft->slots.count);
  return draft->slots.ids[slot];
}

bool draft_slot_is_dropped(const Draft *draft, uint32_t slot) {
  assert(slot < draft->slots.count);
  return draft->slots.flags[slot] & SLOT_DROPPED;
}

Hold draft_slot_hold(const Draft *draft, uint32_t slot) {
  assert(slot < draft->slots.count);
  return (Hold)(draft->slots.flags[slot] & SLOT_HOLD);
}

uint32_t draft_message_weight(const Draft *draft, MessageId id) {
  bool window = message_is_window(store_message(draft->store, id));
  return window ? draft_window_tokens(draft, id) : token_weights_get(draft->weights, draft->store, id);
}

uint32_t draft_message_tokens(const Draft *draft, MessageId id) {
  return draft_message_weight(draft, id) - draft_thought_left(draft, id);
}

uint32_t slot_tokens(const Draft *draft, uint32_t slot) { return draft_message_weight(draft, draft->slots.ids[slot]); }
