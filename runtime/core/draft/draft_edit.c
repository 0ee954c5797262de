/*
** The edits of a draft: dropping, replacing, keeping; insertions are in draft_insert.c.
*/
#include "core/draft/draft_data.h"

#include <assert.h>

#include "base/bitset.h"
#include "base/minmax.h"
#include "core/draft/evict_oldest.h"

const char *hold_reason(Hold hold) {
  assert(hold <= HOLD_REQUESTED);
  static const char *const reasons[] = {"has no hold",                "is a system message",      "is pinned",
                                        "waits for its results", "is the last user message", "is kept by the policy"};
  return reasons[hold];
}

/* ---- dropping ---- */

static Status drop_one(Draft *draft, uint32_t slot, Cause cause, uint64_t *freed) {
  if (draft_slot_is_dropped(draft, slot)) return STATUS_OK;
  Status status = ledger_reserve(draft->ledger);
  if (status == STATUS_OK) status = draft_reserve_waiting(draft);
  if (status != STATUS_OK) return status;
  uint32_t tokens = slot_tokens(draft, slot);
  draft_leave_thoughts(draft, slot);
  draft_drop_thought(draft, slot);
  draft_record(draft, cause, (LedgerRun){.action = ACTION_DROPPED, .first = draft->slots.ids[slot], .freed = tokens});
  assert(draft->live > 0 && draft->tokens >= tokens);
  draft->slots.flags[slot] |= SLOT_DROPPED;
  draft->waiting[draft->waiting_count++] = slot;
  draft->live--;
  draft->unchanged -= draft->slots.ids[slot] <= draft->base;
  draft->tokens -= tokens;
  *freed += tokens;
  return STATUS_OK;
}

/* Drops a slot and, for a visible window item, the obsolete items of its window, one of
   which would become visible. Items that were dropped before an insertion have no slot. */
static Status drop_slot(Draft *draft, uint32_t slot, Cause cause, uint64_t *freed) {
  Status status = drop_one(draft, slot, cause, freed);
  const WindowItem *item = draft_window_item(draft, draft->slots.ids[slot]);
  if (item == NULL || item->obsolete) return status;
  while (status == STATUS_OK && (item = draft_window_older(draft, item)) != NULL) {
    uint32_t older = draft_slot_of(draft, item->id);
    if (older != UNIT_NONE) status = drop_one(draft, older, cause, freed);
  }
  return status;
}

static Status drop_unit(Draft *draft, uint32_t unit, Cause cause, uint64_t *freed) {
  const Units *units = draft->slots.units;
  Status status = STATUS_OK;
  for (uint32_t slot = units->units[unit].first; slot != UNIT_NONE && status == STATUS_OK; slot = units->next[slot]) {
    status = drop_slot(draft, slot, cause, freed);
  }
  return status;
}

/* The draft before an edit that may fail on its way. */
typedef struct DraftMark {
  LedgerMark ledger;
  ThinkingMark thinking;
} DraftMark;

static DraftMark mark_draft(const Draft *draft) {
  return (DraftMark){.ledger = ledger_mark(draft->ledger),
                     .thinking = {.from = draft->thinking.from, .left = draft->thinking.left}};
}

/* Restores the messages that were dropped after the mark. */
static void undo_drops(Draft *draft, DraftMark before, uint64_t *freed) {
  LedgerMark mark = before.ledger;
  assert(mark.entries <= ledger_count(draft->ledger));
  for (uint32_t entry = ledger_count(draft->ledger); entry-- > mark.entries;) {
    uint32_t place;
    LedgerRun run = ledger_run_of(draft->ledger, entry, &place);
    uint32_t slot = draft_slot_of(draft, run.first + place);
    assert(slot != UNIT_NONE && draft_slot_is_dropped(draft, slot));
    draft->slots.flags[slot] &= (uint8_t)~SLOT_DROPPED;
    draft->live++;
    draft->unchanged += draft->slots.ids[slot] <= draft->base;
    draft->tokens += slot_tokens(draft, slot);
  }
  ledger_rewind(draft->ledger, mark);
  draft->thinking.from = before.thinking.from;
  draft->thinking.left = before.thinking.left;
  *freed = 0;
}

Status draft_drop(Draft *draft, const MessageId *ids, uint32_t count, Text reason, uint64_t *freed, Hold *hold) {
  Cause cause;
  *freed = 0;
  uint64_t tokens = draft_tokens(draft);
  Status status = draft_prepare_slots(draft);
  if (status == STATUS_OK) status = draft_list_thoughts(draft);
  if (status != STATUS_OK) return status;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t slot = draft_slot_of(draft, ids[i]);
    if (slot == UNIT_NONE || draft_slot_is_dropped(draft, slot)) return STATUS_RANGE;
    *hold = draft_slot_hold(draft, slot);
    if (*hold != HOLD_NONE) return STATUS_GUARDED;
  }
  DraftMark mark = mark_draft(draft);
  status = draft_cause(draft, reason, &cause);
  for (uint32_t i = 0; i < count && status == STATUS_OK; i++) {
    uint32_t slot = draft_slot_of(draft, ids[i]);
    if (draft_slot_is_dropped(draft, slot)) continue;
    /* With guards the whole unit goes, without them the message alone. */
    status = draft->guarded ? drop_unit(draft, draft->slots.units->unit_of[slot], cause, freed)
                            : drop_slot(draft, slot, cause, freed);
  }
  if (status != STATUS_OK) undo_drops(draft, mark, freed);
  else *freed = tokens - draft_tokens(draft);
  return status;
}

static bool unit_is_present(const Draft *draft, uint32_t unit) {
  const Units *units = draft->slots.units;
  for (uint32_t slot = units->units[unit].first; slot != UNIT_NONE; slot = units->next[slot]) {
    if (!draft_slot_is_dropped(draft, slot)) return true;
  }
  return false;
}

/* The first of the newest `keep` present units. */
static uint32_t first_kept_unit(const Draft *draft, uint32_t keep) {
  uint32_t unit = draft->slots.units->count;
  while (unit > 0 && keep > 0) keep -= unit_is_present(draft, --unit);
  return unit;
}

/* Drops obsolete window items first: they are never rendered. */
static Status drop_obsolete(Draft *draft, uint32_t end, Cause cause, uint64_t *freed) {
  const WindowItems *items = &draft->windows.items;
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < items->count && status == STATUS_OK; i++) {
    uint32_t slot = draft_slot_of(draft, items->list[i].id);
    if (!items->list[i].obsolete || slot == UNIT_NONE || draft_slot_is_dropped(draft, slot)) continue;
    uint32_t unit = draft->slots.units->unit_of[slot];
    if (unit < end && draft_slot_hold(draft, slot) == HOLD_NONE) status = drop_unit(draft, unit, cause, freed);
  }
  return status;
}

static Status walk_oldest(Draft *draft, uint64_t target, uint32_t keep, Cause cause, uint64_t *freed) {
  Status status = draft_number_slots(draft);
  if (status != STATUS_OK) return status;
  const Units *units = draft->slots.units;
  uint32_t end = first_kept_unit(draft, keep);
  DraftMark mark = mark_draft(draft);
  if (draft_tokens(draft) > target) status = drop_obsolete(draft, end, cause, freed);
  for (uint32_t unit = 0; unit < end && draft_tokens(draft) > target && status == STATUS_OK; unit++) {
    if (draft_slot_hold(draft, units->units[unit].first) == HOLD_NONE) status = drop_unit(draft, unit, cause, freed);
  }
  if (status != STATUS_OK) undo_drops(draft, mark, freed);
  return status;
}

/* ---- the oldest, by searching ---- */

/* Records the messages [first, end) of the list: as one run if their seqs rise by one each,
   else half by half. Seqs rise unless messages were moved. */
static Status record_range(Draft *draft, Cause cause, uint32_t first, uint32_t end) {
  assert(first < end && end <= sequence_count(draft->list));
  MessageId low = sequence_at(draft->list, first), high = sequence_at(draft->list, end - 1);
  Sum before = sequence_prefix(draft->list, first), after = sequence_prefix(draft->list, end);
  bool run = high - low == end - 1 - first && after.moved == before.moved;
  if (!run && end - first > 1) {
    uint32_t middle = first + (end - first) / 2;
    Status status = record_range(draft, cause, first, middle);
    return status == STATUS_OK ? record_range(draft, cause, middle, end) : status;
  }
  Status status = ledger_reserve(draft->ledger);
  if (status != STATUS_OK) return status;
  uint64_t freed = sum_measure(&after, MEASURE_TOKENS) - sum_measure(&before, MEASURE_TOKENS);
  draft_record(draft, cause,
               (LedgerRun){.action = ACTION_DROPPED, .first = low, .count = end - first, .freed = (int64_t)freed});
  return STATUS_OK;
}

static Status record_dropped(Draft *draft, Cause cause, const uint64_t *dropped) {
  uint32_t count = sequence_count(draft->list);
  for (uint32_t first = bitset_next(dropped, 0, count, true); first < count;) {
    uint32_t end = bitset_next(dropped, first, count, false);
    Status status = record_range(draft, cause, first, end);
    if (status != STATUS_OK) return status;
    first = bitset_next(dropped, end, count, true);
  }
  return STATUS_OK;
}

/* Removes the messages with a bit in `dropped` from the list and records them; leaves no trace on
   failure. Inverts `dropped`. */
static Status drop_chosen(Draft *draft, Cause cause, uint64_t *dropped, size_t words, uint64_t *freed) {
  LedgerMark mark = ledger_mark(draft->ledger);
  Sequence *list;
  Status status = sequence_share(draft->list, &list);
  if (status != STATUS_OK) return status;
  status = record_dropped(draft, cause, dropped);
  for (size_t word = 0; word < words; word++) dropped[word] = ~dropped[word];
  if (status == STATUS_OK) status = sequence_keep(&list, dropped);
  if (status != STATUS_OK) {
    ledger_rewind(draft->ledger, mark);
    sequence_release(list);
    return status;
  }
  Sum before = sequence_sum(draft->list), now = sequence_sum(list);
  *freed = sum_measure(&before, MEASURE_TOKENS) - sum_measure(&now, MEASURE_TOKENS);
  assert(*freed <= draft->tokens && sequence_count(list) <= draft->live);
  draft->tokens -= *freed;
  draft->unchanged -= draft->live - sequence_count(list);      /* no edit other than drops came before */
  draft->live = sequence_count(list);
  draft_take_list(draft, list);
  return STATUS_OK;
}

static Status search_oldest(Draft *draft, uint64_t target, uint32_t keep, Cause cause, uint64_t *freed) {
  assert(draft->tokens > target);
  uint32_t count = sequence_count(draft->list);
  uint64_t *dropped = bitset_new(&draft->memory, count);
  if (dropped == NULL) return STATUS_MEMORY;
  Status status = evict_oldest_choose(draft->conversation, draft->list, draft->tokens - target, keep, dropped);
  if (status == STATUS_OK) status = drop_chosen(draft, cause, dropped, bitset_words(count), freed);
  bitset_free(&draft->memory, dropped, count);
  return status;
}

Status draft_drop_oldest(Draft *draft, uint64_t target, uint32_t keep, Text reason, uint32_t *dropped,
                         uint64_t *freed) {
  Cause cause;
  uint32_t before = draft->live;
  uint64_t tokens = draft_tokens(draft);
  *dropped = 0;
  *freed = 0;
  if (tokens <= target) return STATUS_OK;
  Status status = draft_cause(draft, reason, &cause);
  if (status == STATUS_OK) status = draft_list_thoughts(draft);
  if (status == STATUS_OK) {
    bool search = !draft->numbered && draft->guarded && draft->thinking.count == 0 &&
                  evict_oldest_can_search(draft->conversation, draft->list);
    status = search ? search_oldest(draft, target, keep, cause, freed) : walk_oldest(draft, target, keep, cause, freed);
  }
  *dropped = before - draft->live;
  if (status == STATUS_OK) *freed = tokens - draft_tokens(draft);
  return status;
}

/* ---- replacing ---- */

static bool same_key(const Message *a, const Message *b, uint32_t i) {
  return text_equal(message_call_key(a, i), message_call_key(b, i)) &&
         text_equal(message_text(a, message_call(a, i).name), message_text(b, message_call(b, i).name));
}

/* True if role, calls and results are equal, which a replacement in a draft may not change. */
static bool same_frame(const Message *a, const Message *b) {
  if (message_role(a) != message_role(b) || message_call_count(a) != message_call_count(b)) return false;
  if (message_result_count(a) != message_result_count(b)) return false;
  for (uint32_t i = 0; i < message_call_count(a); i++) {
    if (!same_key(a, b, i)) return false;
  }
  for (uint32_t i = 0; i < message_result_count(a); i++) {
    Text key = message_result_key(a, i);
    if (!text_equal(key, message_result_key(b, i))) return false;
  }
  return true;
}

/* Adds a replacement to the store, or leaves no trace; *thought gets the tokens of its thinking. A replacement with
   the same frame inherits the links, so its position does not matter; the list may not have it yet. */
static Status store_replacement(Draft *draft, Text raw, const MessageShape *shape, MessageId replaced,
                                MessageId *new_id, uint32_t *thought) {
  Store *store = draft->store;
  if (!draft_may_store(draft)) return STATUS_ARGUMENT;
  StoreMark mark = store_mark(store);
  if (draft->stored == 0) draft->mark = mark;      /* at the first addition: an older draft may rewind before it */
  Place place = {.list = draft->list, .replaced = replaced};
  Status status = conversation_store_one(draft->conversation, &place, raw, false, shape, new_id);
  if (status == STATUS_OK) status = draft_reserve_id(draft, *new_id);
  if (status == STATUS_OK && !same_frame(store_message(store, replaced), store_message(store, *new_id))) {
    status = STATUS_ARGUMENT;
  }
  if (status == STATUS_OK) status = draft_weigh_thought(draft, *new_id, thought);
  if (status != STATUS_OK) store_rewind(store, mark);
  return status;
}

/* Puts the replacement into the slot, whose drop or replacement waits from now on. */
static void put_replacement(Draft *draft, uint32_t slot, MessageId new_id, Cause cause, uint32_t thought) {
  MessageId before = draft->slots.ids[slot];
  uint32_t old = slot_tokens(draft, slot);
  draft_leave_thoughts(draft, slot);
  draft->stored++;
  draft->unchanged -= before <= draft->base;
  draft->slots.ids[slot] = new_id;
  draft->slots.flags[slot] |= SLOT_CHANGED;
  draft_set_slot(draft, new_id, slot);
  draft->waiting[draft->waiting_count++] = slot;
  uint32_t now = slot_tokens(draft, slot);
  draft->tokens = draft->tokens - old + now;
  draft_put_thought(draft, slot, thought);
  draft_record(draft, cause, (LedgerRun){.action = ACTION_REPLACED, .first = before, .replacement = new_id,
                                         .freed = (int64_t)old - (int64_t)now});
}

Status draft_replace(Draft *draft, MessageId id, Text raw, const MessageShape *shape, Text reason, MessageId *new_id,
                     int64_t *freed, Hold *hold) {
  Status status = draft_prepare_slots(draft);
  if (status != STATUS_OK) return status;
  uint32_t slot = draft_slot_of(draft, id);
  if (slot == UNIT_NONE || draft_slot_is_dropped(draft, slot)) return STATUS_RANGE;
  *hold = draft_slot_hold(draft, slot);
  if (*hold != HOLD_NONE) return STATUS_GUARDED;
  uint64_t tokens = draft_tokens(draft);
  if (message_is_window(store_message(draft->store, draft->slots.ids[slot]))) return STATUS_ARGUMENT;
  Cause cause;
  status = draft_cause(draft, reason, &cause);
  if (status == STATUS_OK) status = ledger_reserve(draft->ledger);
  if (status == STATUS_OK) status = draft_reserve_waiting(draft);
  if (status == STATUS_OK) status = draft_list_thoughts(draft);
  if (status != STATUS_OK) return status;
  uint32_t thought;
  status = store_replacement(draft, raw, shape, draft->slots.ids[slot], new_id, &thought);
  if (status != STATUS_OK) return status;
  put_replacement(draft, slot, *new_id, cause, thought);
  *freed = (int64_t)tokens - (int64_t)draft_tokens(draft);
  return STATUS_OK;
}

/* ---- keeping ---- */

/* Records the unit's messages without a hold; the others have a recorded reason. */
static Status record_kept(Draft *draft, uint32_t unit, Text reason) {
  const Units *units = draft->slots.units;
  LedgerMark mark = ledger_mark(draft->ledger);
  Cause cause;
  Status status = draft_cause(draft, reason, &cause);
  if (draft_slot_hold(draft, units->units[unit].first) != HOLD_NONE) return status;      /* all have the same */
  for (uint32_t slot = units->units[unit].first; slot != UNIT_NONE && status == STATUS_OK; slot = units->next[slot]) {
    if (draft_slot_is_dropped(draft, slot) || draft_slot_hold(draft, slot) != HOLD_NONE) continue;
    status = ledger_keep(draft->ledger, cause, draft->slots.ids[slot]);
  }
  if (status != STATUS_OK) ledger_rewind(draft->ledger, mark);
  return status;
}

Status draft_keep(Draft *draft, MessageId id, Text reason) {
  Status status = draft_prepare_slots(draft);
  if (status != STATUS_OK) return status;
  uint32_t slot = draft_slot_of(draft, id);
  if (slot == UNIT_NONE || draft_slot_is_dropped(draft, slot)) return STATUS_RANGE;
  uint32_t unit = draft->slots.units->unit_of[slot];
  status = record_kept(draft, unit, reason);
  if (status != STATUS_OK) return status;
  slots_hold_unit(&draft->slots, unit, HOLD_REQUESTED);
  const WindowItem *item = draft_window_item(draft, draft->slots.ids[slot]);
  if (item == NULL || !item->obsolete) return STATUS_OK;
  const WindowItem *newest = &draft->windows.items.list[item->newest];
  uint32_t newest_slot = draft_slot_of(draft, newest->id);
  if (!newest->obsolete && !draft_slot_is_dropped(draft, newest_slot)) {
    slots_hold_unit(&draft->slots, draft->slots.units->unit_of[newest_slot], HOLD_REQUESTED);
  }
  return STATUS_OK;
}

/* ---- counts of edits ----
**
** The ledger lists every edit, and a message may have had several:
**
**     replaced  seq 5 by 90            seq 5 counts once, as dropped
**     dropped   seq 90
**     inserted  seq 91                 seq 91 counts for nothing
**     dropped   seq 91
*/

static bool is_first(const Draft *draft, MessageId id) { return store_origin(draft->store, id) <= draft->base; }

/* Counts a run of drops. Looks up ids that the draft added one by one: they are few. */
static void count_dropped(const Draft *draft, const LedgerRun *run, EditCounts *counts) {
  uint32_t old = run->first > draft->base ? 0 : min_u32(draft->base - run->first + 1, run->count);
  counts->dropped += old;
  for (uint32_t i = old; i < run->count; i++) {
    if (is_first(draft, run->first + i)) {
      counts->dropped++;
      counts->replaced--;               /* counted there when it was replaced */
    } else {
      counts->inserted--;
    }
  }
}

EditCounts draft_edit_counts(const Draft *draft) {
  EditCounts counts = {.unchanged = draft->unchanged};
  for (uint32_t i = 0; i < ledger_run_count(draft->ledger); i++) {
    LedgerRun run = ledger_run(draft->ledger, i);
    if (run.action == ACTION_INSERTED) counts.inserted += run.count;
    else if (run.action == ACTION_REPLACED) counts.replaced += run.first <= draft->base;
    else count_dropped(draft, &run, &counts);
  }
  assert(counts.inserted + counts.unchanged + counts.replaced == draft->live);
  return counts;
}
