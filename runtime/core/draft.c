/*
** The windows, slots and list of a draft; its life, and how it ends.
*/
#include "core/draft_data.h"

#include <assert.h>
#include <string.h>

#include "base/bitset.h"
#include "core/evict_oldest.h"

#define APPLY_ALL 64        /* messages of a list that are built anew in the time of one edit of it */

/* ---- windows ---- */

static Status windows_start(Draft *draft) {
  DraftWindows *windows = &draft->windows;
  map_init(&windows->numbers, draft->memory);
  Status status = window_items(&draft->memory, conversation_windows(draft->conversation), draft->store, draft->list,
                               &windows->items);
  for (uint32_t i = 0; i < windows->items.count && status == STATUS_OK; i++) {
    status = map_put(&windows->numbers, windows->items.list[i].id, i);
  }
  return status;
}

static void draft_windows_free(Draft *draft) {
  DraftWindows *windows = &draft->windows;
  memory_free(&draft->memory, windows->tokens, windows->items.count * sizeof *windows->tokens);
  if (windows->items.list != NULL) window_items_free(&windows->items);
  map_free(&windows->numbers);
}

const WindowItem *draft_window_item(const Draft *draft, MessageId id) {
  const uint64_t *number = map_find(&draft->windows.numbers, id);
  return number == NULL ? NULL : &draft->windows.items.list[*number];
}

const WindowItem *draft_window_older(const Draft *draft, const WindowItem *item) {
  return item->older == WINDOW_NONE ? NULL : &draft->windows.items.list[item->older];
}

bool draft_is_obsolete(const Draft *draft, MessageId id) {
  const WindowItem *item = draft_window_item(draft, id);
  return item != NULL && item->obsolete;
}

static uint32_t window_tokens(const Draft *draft, MessageId id) {
  const uint64_t *number = draft->windows.tokens == NULL ? NULL : map_find(&draft->windows.numbers, id);
  return number == NULL ? 0 : draft->windows.tokens[*number];
}

/* True if the item is rendered. */
static bool is_rendered(const Draft *draft, const WindowItem *item) {
  if (item->obsolete || item->window == WINDOW_NONE) return false;
  return !(windows_at(conversation_windows(draft->conversation), item->window)->flags & WINDOW_HIDDEN);
}

Status draft_set_window_tokens(Draft *draft, const uint32_t *tokens) {
  DraftWindows *windows = &draft->windows;
  uint32_t count = windows->items.count;
  assert(ledger_count(draft->ledger) == 0);
  if (count == 0) return STATUS_OK;
  if (windows->tokens == NULL) {
    windows->tokens = memory_new_array(&draft->memory, count, sizeof *windows->tokens);
    if (windows->tokens == NULL) return STATUS_MEMORY;
    memset(windows->tokens, 0, count * sizeof *windows->tokens);
  }
  for (uint32_t i = 0; i < count; i++) {
    const WindowItem *item = &windows->items.list[i];
    assert(draft->tokens >= windows->tokens[i]);
    draft->tokens -= windows->tokens[i];
    windows->tokens[i] = is_rendered(draft, item) ? tokens[item->window] : 0;
    draft->tokens += windows->tokens[i];
  }
  draft->before = draft->tokens;
  return STATUS_OK;
}

static bool is_pinned(const Draft *draft, const WindowItem *item) {
  return is_rendered(draft, item) &&
         windows_at(conversation_windows(draft->conversation), item->window)->flags & WINDOW_PINNED;
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
    if (is_pinned(draft, item)) slots_hold_unit(slots, slots->units->unit_of[slot], HOLD_PINNED);
    bool has_hold = slots->flags[slot] & SLOT_HOLD;
    if (!has_hold || !item->obsolete || items[item->newest].obsolete) continue;
    uint32_t newest = sequence_index_of(list, items[item->newest].id, slot);
    assert(newest < slots->count);      /* who drops the visible item drops the older ones */
    slots_hold_unit(slots, slots->units->unit_of[newest], HOLD_PINNED);
  }
}

/* ---- slots, and the holds of guards ---- */

static void slots_free(const Memory *memory, Slots *slots) {
  memory_free(memory, slots->ids, slots->ids_room * sizeof *slots->ids);
  memory_free(memory, slots->flags, slots->flags_room);
  memory_free(memory, slots->turns_after, slots->numbered * sizeof *slots->turns_after);
  memory_free(memory, slots->cover, slots->numbered * sizeof *slots->cover);
  units_free(slots->units);
  *slots = (Slots){0};
}

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
  return window ? window_tokens(draft, id) : token_weights_get(draft->weights, draft->store, id);
}

uint32_t draft_message_tokens(const Draft *draft, MessageId id) {
  return draft_message_weight(draft, id) - draft_thought_left(draft, id);
}

uint32_t slot_tokens(const Draft *draft, uint32_t slot) { return draft_message_weight(draft, draft->slots.ids[slot]); }

/* ---- life ---- */

Status draft_new(Conversation *conversation, bool guarded, Draft **result) {
  const Memory *memory = conversation_memory(conversation);
  Draft *draft = memory_new(memory, sizeof *draft);
  if (draft == NULL) return STATUS_MEMORY;
  *draft = (Draft){.memory = *memory, .conversation = conversation,
                   .store = store_share(conversation_store(conversation)), .guarded = guarded,
                   .version = conversation_version(conversation), .before = conversation_tokens(conversation),
                   .base = store_count(conversation_store(conversation))};
  draft->tokens = draft->before;
  pages_init(&draft->slot_of, *memory, sizeof(uint32_t));
  Status status = sequence_share(conversation_list(conversation), &draft->list);
  if (status == STATUS_OK) status = windows_start(draft);
  if (status == STATUS_OK) status = ledger_new(memory, *store_hash_key(draft->store), &draft->ledger);
  if (status == STATUS_OK) {
    draft->weights = sequence_token_weights(draft->list);
    ledger_set_token_weights(draft->ledger, draft->weights);
    draft->overhead = conversation_overhead(conversation);
    draft->trust = conversation_trust(conversation, draft->list);
    draft->live = draft->unchanged = sequence_count(draft->list);
    *result = draft;
  } else {
    draft_free(draft);
  }
  return status;
}

Status draft_recount(Draft *draft, const Counter *counter, Cost overhead) {
  Sequence *list;
  assert(!draft->numbered && ledger_count(draft->ledger) == 0);
  TokenWeights *weights;
  Status status = conversation_token_weights(draft->conversation, counter, &weights);
  if (status == STATUS_OK) status = sequence_move(draft->list, draft->store, weights, &list);
  if (status != STATUS_OK) return status;
  draft->weights = weights;
  draft_take_list(draft, list);
  ledger_set_token_weights(draft->ledger, draft->weights);
  Sum sum = sequence_sum(list);
  draft->overhead = overhead.tokens + (counter->custom ? 0 : counter->per_request);
  draft->before = draft->tokens = sum_measure(&sum, MEASURE_TOKENS) + draft->overhead;
  draft->trust = conversation_trust_by(draft->conversation, list, counter, overhead.guessed);
  return STATUS_OK;
}

/* Removes the draft's additions from the store, unless others were added behind them. */
static void rewind_store(Draft *draft) {
  if (!draft->done && draft->stored > 0 && store_count(draft->store) == draft->mark.count + draft->stored) {
    store_rewind(draft->store, draft->mark);
  }
}

void draft_free(Draft *draft) {
  if (draft == NULL) return;
  Memory memory = draft->memory;
  sequence_release(draft->list);
  slots_free(&memory, &draft->slots);
  draft_windows_free(draft);
  draft_free_thoughts(draft);
  memory_free(&memory, draft->waiting, draft->waiting_room * sizeof *draft->waiting);
  pages_free(&draft->slot_of);
  ledger_release(draft->ledger);
  rewind_store(draft);
  store_release(draft->store);
  memory_free(&memory, draft->author, draft->author_size);
  memory_free(&memory, draft, sizeof *draft);
}

Ledger *draft_ledger(const Draft *draft) { return draft->ledger; }
uint32_t draft_count(const Draft *draft) { return draft->live; }
uint32_t draft_unchanged_count(const Draft *draft) { return draft->unchanged; }
uint64_t draft_overhead(const Draft *draft) { return draft->overhead; }
Trust draft_trust(const Draft *draft) { return draft->trust; }
uint64_t draft_tokens(const Draft *draft) { return draft->tokens - draft_thinking_left(draft); }
uint64_t draft_tokens_before(const Draft *draft) { return draft->before - draft->thinking.at_start; }
Text draft_author(const Draft *draft) { return text_plain(draft->author, draft->author_size); }

Status draft_set_author(Draft *draft, Text author) {
  char *copy;
  Status status = text_copy(&draft->memory, author, &copy);
  if (status != STATUS_OK) return status;
  memory_free(&draft->memory, draft->author, draft->author_size);
  draft->author = copy;
  draft->author_size = author.size;
  return STATUS_OK;
}

Status draft_guarded(Draft *draft, GuardedSum *guarded) {
  *guarded = (GuardedSum){0};
  if (!draft->numbered && !draft->guarded) return STATUS_OK;
  if (!draft->numbered && evict_oldest_can_search(draft->conversation, draft->list)) {
    return evict_oldest_guarded(draft->conversation, draft->list, guarded);
  }
  Status status = draft_number_slots(draft);
  for (uint32_t slot = 0; slot < draft->slots.count; slot++) {
    if (draft_slot_is_dropped(draft, slot) || draft_slot_hold(draft, slot) == HOLD_NONE) continue;
    guarded->tokens += slot_tokens(draft, slot);
    guarded->messages++;
  }
  return status;
}

bool draft_may_store(const Draft *draft) { return conversation_store(draft->conversation) == draft->store; }

/* ---- the list ---- */

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
      uint32_t slot = draft_slot_of(draft, walk.ids[i]);
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

/* ---- the ledger ---- */

Status draft_cause(Draft *draft, Text reason, Cause *cause) {
  return ledger_cause(draft->ledger, draft_author(draft), reason, cause);
}

void draft_record(Draft *draft, Cause cause, LedgerRun entry) {
  entry.role = message_role(store_message(draft->store, entry.first));
  if (entry.count == 0) entry.count = 1;
  ledger_add(draft->ledger, cause, entry);
}

/* ---- the end ---- */

void draft_check(const Draft *draft) {
  uint64_t tokens = draft->overhead;
  uint32_t live = 0, listed = 0;
  if (draft->done) return;
  ledger_check(draft->ledger);
  for (uint32_t slot = 0; slot < draft->slots.count; slot++) {
    bool dropped = draft_slot_is_dropped(draft, slot), removed = draft->slots.flags[slot] & SLOT_REMOVED;
    assert(dropped || draft_slot_of(draft, draft->slots.ids[slot]) == slot);
    assert(dropped || !removed);
    listed += !removed;
    live += !dropped;
    tokens += dropped ? 0 : slot_tokens(draft, slot);
  }
  if (!draft->numbered) listed = live = sequence_count(draft->list);
  else units_check(draft->slots.units);
  assert(live == draft->live && draft->unchanged <= live && listed == sequence_count(draft->list));
  assert(!draft->numbered || tokens == draft->tokens);
  draft_check_thoughts(draft);
  (void)tokens, (void)live, (void)listed;
}

void draft_always_commits(Draft *draft) { draft->always = true; }

Status draft_commit(Draft *draft, BatchKind kind, Text description, const Text *policy_memory, uint32_t *batch) {
  Conversation *conversation = draft->conversation;
  assert(!draft->done);
  if (conversation_version(conversation) != draft->version) return STATUS_ARGUMENT;
  Ledger *ledger = ledger_count(draft->ledger) > 0 ? draft->ledger : NULL;
  if (ledger != NULL || draft->always) {
    Status status = draft_apply_edits(draft);
    if (status != STATUS_OK) return status;
    status = conversation_commit_with(conversation, draft->list, kind, description, ledger, policy_memory);
    if (status != STATUS_OK) return status;
    draft->list = NULL;
    if (ledger != NULL) ledger_share(ledger);      /* the history took over the draft's share */
  } else if (policy_memory != NULL) {
    Status status = conversation_remember(conversation, *policy_memory);
    if (status != STATUS_OK) return status;
  }
  draft->done = true;
  *batch = history_current(conversation_history(conversation));
  return STATUS_OK;
}
