/*
** What of a draft is sent, where thinking is bound to what stands before it.
*/
#include <assert.h>

#include "base/minmax.h"
#include "core/list/sequence_diff.h"
#include "core/draft/draft_data.h"

/* The first thought behind the first message in which the list differs from the draft's first one. */
static Status first_changed(Draft *draft, uint32_t *thought) {
  const Sequence *list, *before = conversation_list(draft->conversation);
  uint32_t equal;
  *thought = draft->thinking.count;
  Status status = draft_list(draft, &list);
  if (status == STATUS_OK) status = common_prefix_count(&draft->memory, draft->store, before, list, &equal);
  if (status != STATUS_OK || equal >= sequence_count(before)) return status;
  assert(draft->slots.numbered == draft->slots.count);
  if (equal < sequence_count(list)) {
    *thought = thinking_lower_bound(&draft->thinking, draft_slot_of(draft, sequence_at(list, equal)));
  }
  return STATUS_OK;
}

Status draft_settle_thinking(Draft *draft) {
  DraftThinking *thinking = &draft->thinking;
  uint32_t first;
  if (!thinking->is_listed || ledger_count(draft->ledger) == 0 || thinking->count == 0) return STATUS_OK;
  Status status = draft_number_slots(draft);
  if (status == STATUS_OK) status = first_changed(draft, &first);
  if (status != STATUS_OK) return status;
  thinking->from = thinking->count;
  thinking->left = 0;
  thinking_leave_from(draft, min_u32(first, thinking_first_of_start(thinking)));
  return STATUS_OK;
}

/* The first message that can go, so that thinking behind it is left out if all that can go is gone. */
static uint32_t first_free_slot(const Draft *draft) {
  uint32_t slot = 0, count = draft->slots.count;
  while (slot < count && (draft_slot_is_dropped(draft, slot) || draft_slot_hold(draft, slot) != HOLD_NONE)) slot++;
  return slot;
}

Status draft_guarded_sent(Draft *draft, GuardedSum *guarded) {
  DraftThinking *thinking = &draft->thinking;
  Status status = draft_guarded(draft, guarded);
  if (status == STATUS_OK && thinking->is_bound) status = draft_number_slots(draft);
  if (status == STATUS_OK) status = draft_list_thoughts(draft);
  if (status != STATUS_OK || !thinking->is_bound || (!draft->guarded && guarded->messages == 0)) return status;
  uint32_t slot = first_free_slot(draft);
  bool edited = ledger_count(draft->ledger) > 0 || slot < draft->slots.count;
  uint32_t from = min_u32(thinking->from, thinking_lower_bound(thinking, slot));
  for (uint32_t i = edited ? from : thinking_first_of_start(thinking); i < thinking->count; i++) {
    Thought thought = thinking->list[i];
    if (!edited && thought.slot >= thinking->end) break;
    bool held = draft_slot_hold(draft, thought.slot) != HOLD_NONE && !draft_slot_is_dropped(draft, thought.slot);
    if (held) guarded->tokens -= thought.tokens;
  }
  return STATUS_OK;
}
