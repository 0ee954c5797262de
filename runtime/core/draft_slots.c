/*
** The slots of a draft, and what guards hold among them.
*/
#include "core/draft_data.h"

#include <string.h>

void slots_free(const Memory *memory, Slots *slots) {
  memory_free(memory, slots->ids, slots->count * sizeof *slots->ids);
  memory_free(memory, slots->flags, slots->count);
  memory_free(memory, slots->turns_after, slots->count * sizeof *slots->turns_after);
  units_free(slots->units);
  *slots = (Slots){0};
}

/* The first reason stays, but what waits for results may be kept for good. */
static void hold_slot(Slots *slots, uint32_t slot, Hold hold) {
  Hold before = (Hold)(slots->flags[slot] & SLOT_HOLD);
  if (before != HOLD_NONE && !(before == HOLD_PENDING && hold == HOLD_KEPT)) return;
  slots->flags[slot] = (uint8_t)((slots->flags[slot] & ~SLOT_HOLD) | hold);
}

/* What one message of a unit is held by holds all of it. */
void slots_hold_unit(Slots *slots, uint32_t unit, Hold hold) {
  for (uint32_t slot = slots->units->units[unit].first; slot != UNIT_NONE; slot = slots->units->next[slot]) {
    hold_slot(slots, slot, hold);
  }
}

static void hold_pinned(const Conversation *conversation, Slots *slots) {
  const Marks *marks = conversation_marks(conversation);
  Text pinned = text_of(MARK_PINNED);
  if (marks_size(marks, pinned) == 0) return;
  for (uint32_t slot = 0; slot < slots->count; slot++) {
    MessageId origin = store_origin(conversation_store(conversation), slots->ids[slot]);
    if (marks_has(marks, pinned, origin)) slots_hold_unit(slots, slots->units->of[slot], HOLD_PINNED);
  }
}

static void hold_guarded(const Conversation *conversation, const Sequence *list, Slots *slots) {
  Sum sum = sequence_sum(list);
  for (uint32_t i = 0; i < sum.count[ROLE_SYSTEM]; i++) {
    uint32_t slot = sequence_find(list, MEASURE_ROLE_COUNT + ROLE_SYSTEM, i);
    slots_hold_unit(slots, slots->units->of[slot], HOLD_SYSTEM);
  }
  hold_pinned(conversation, slots);
  for (uint32_t unit = 0; unit < slots->units->count; unit++) {
    if (slots->units->units[unit].pending) slots_hold_unit(slots, unit, HOLD_PENDING);
  }
  if (sum.turns > 0) {
    uint32_t last = sequence_find(list, MEASURE_TURNS, sum.turns - 1);
    slots_hold_unit(slots, slots->units->of[last], HOLD_LAST_USER);
  }
}

Status slots_make(const Draft *draft, const Sequence *list, Slots *result) {
  const Memory *memory = &draft->memory;
  Slots slots = {.count = sequence_count(list)};
  Status status = units_new(memory, draft->store, list, &slots.units);
  if (status != STATUS_OK) return status;
  if (slots.count > 0) {
    slots.ids = memory_new_array(memory, slots.count, sizeof *slots.ids);
    slots.flags = memory_new_array(memory, slots.count, sizeof *slots.flags);
    if (slots.ids == NULL || slots.flags == NULL) {
      slots_free(memory, &slots);
      return STATUS_MEMORY;
    }
    memset(slots.flags, 0, slots.count);
  }
  SequenceWalk walk = sequence_walk(list, 0, slots.count);
  while (sequence_walk_next(&walk)) memcpy(slots.ids + walk.index, walk.ids, walk.count * sizeof *slots.ids);
  if (draft->guarded) hold_guarded(draft->conversation, list, &slots);
  if (draft->guarded) draft_windows_hold(draft, list, &slots);
  *result = slots;
  return STATUS_OK;
}

Status draft_reserve_ids(Draft *draft) {
  uint32_t room = store_count(draft->store) + 2;
  if (room <= draft->slot_of_room) return STATUS_OK;
  if (draft->slot_of_room > 0) room += room / 2;
  uint32_t *grown = memory_resize_array(&draft->memory, draft->slot_of, draft->slot_of_room, room, sizeof *grown);
  if (grown == NULL) return STATUS_MEMORY;
  memset(grown + draft->slot_of_room, 0, (room - draft->slot_of_room) * sizeof *grown);
  draft->slot_of = grown;
  draft->slot_of_room = room;
  return STATUS_OK;
}

Status draft_number(Draft *draft) {
  if (draft->numbered) return STATUS_OK;
  Slots slots;
  Status status = draft_reserve_ids(draft);
  if (status == STATUS_OK) status = slots_make(draft, draft->list, &slots);
  if (status != STATUS_OK) return status;
  for (uint32_t slot = 0; slot < slots.count; slot++) draft->slot_of[slots.ids[slot]] = slot + 1;
  draft->slots = slots;
  draft->numbered = true;
  return STATUS_OK;
}

/* ---- numbering anew ---- */

/* What was held stays held in the new numbering: a policy that adds a user
   message does not free the one that was the last, nor a call that was pending. */
static void carry_holds(Draft *draft, Slots *slots) {
  for (uint32_t slot = 0; slot < slots->count; slot++) {
    uint32_t old = draft_slot_of(draft, slots->ids[slot]);
    if (old == UNIT_NONE || draft_slot_hold(draft, old) == HOLD_NONE) continue;
    /* But a call that the policy itself inserted is free once it is answered. */
    if (draft_slot_hold(draft, old) == HOLD_PENDING && slots->ids[slot] > draft->began) continue;
    slots_hold_unit(slots, slots->units->of[slot], draft_slot_hold(draft, old));
  }
}

/* Leads every id, those of replaced messages too, from its old slot to the new
   one; ids of messages that are gone lead nowhere. Uses up the old slots' ids. */
static void renumber_ids(Draft *draft, const uint32_t *places, uint32_t count) {
  uint32_t index = 0, before = 0;      /* new messages before the slot */
  for (uint32_t slot = 0; slot < draft->slots.count; slot++) {
    bool gone = draft_slot_is_gone(draft, slot);
    while (before < count && places[before] <= index) before++;
    draft->slots.ids[slot] = gone ? 0 : index + before + 1;
    index += !gone;
  }
  for (uint32_t id = 0; id < draft->slot_of_room; id++) {
    if (draft->slot_of[id] > 0) draft->slot_of[id] = draft->slots.ids[draft->slot_of[id] - 1];
  }
}

void draft_renumber(Draft *draft, Sequence *list, Slots slots, const uint32_t *places, uint32_t count) {
  carry_holds(draft, &slots);
  renumber_ids(draft, places, count);
  for (uint32_t i = 0; i < count; i++) draft->slot_of[slots.ids[places[i] + i]] = places[i] + i + 1;
  slots_free(&draft->memory, &draft->slots);
  draft_take_list(draft, list);
  draft->slots = slots;
  draft->live = slots.count;
}

/* ---- looking ---- */

Status draft_turns_after(Draft *draft, const uint32_t **turns) {
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

uint32_t draft_slot_of(const Draft *draft, MessageId id) {
  return id < draft->slot_of_room && draft->slot_of[id] > 0 ? draft->slot_of[id] - 1 : UNIT_NONE;
}

MessageId draft_slot_message(const Draft *draft, uint32_t slot) { return draft->slots.ids[slot]; }
bool draft_slot_is_gone(const Draft *draft, uint32_t slot) { return draft->slots.flags[slot] & SLOT_GONE; }
Hold draft_slot_hold(const Draft *draft, uint32_t slot) { return (Hold)(draft->slots.flags[slot] & SLOT_HOLD); }

uint32_t draft_weight(const Draft *draft, MessageId id) {
  bool window = message_is_window(store_message(draft->store, id));
  return window ? draft_window_tokens(draft, id) : token_weights_get(draft->weights, draft->store, id);
}

uint32_t slot_tokens(const Draft *draft, uint32_t slot) {
  return draft_weight(draft, draft->slots.ids[slot]);
}
