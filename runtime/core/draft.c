/*
** Drops and replacements only mark their slots; the list is brought up to date
** when somebody looks at it (`settle`). So a policy that drops ten thousand
** units one by one costs ten thousand marks and one edit of the tree.
**
** Invariants: `tokens` and `live` are those of the slots that are not gone.
** A slot that is SETTLED_GONE is not in `list` any more; one that is CHANGED is
** there with its old message.
*/
#include "core/draft.h"

#include <assert.h>
#include <string.h>

#define HOLD_MASK 0x07u
#define GONE 0x08u
#define SETTLED_GONE 0x10u
#define CHANGED 0x20u

typedef struct Slots {
  uint32_t count;
  MessageId *ids;
  uint8_t *flags;
  Units *units;
} Slots;

struct Draft {
  Memory memory;
  Conversation *conversation;
  bool guarded, settled, done;
  uint64_t version;          /* of the conversation when the draft began */
  uint32_t began;            /* messages that the store had when the draft began */
  StoreMark mark;            /* before the first that the draft added */
  uint32_t stored;           /* messages that the draft added to the store */
  Sequence *list;
  Slots slots;
  uint32_t *slot_of;         /* per id: slot + 1, or 0 */
  uint32_t slot_of_room;
  uint32_t live, untouched;
  uint64_t tokens, before;
  Ledger *ledger;
  char *by;
  size_t by_size;
};

const char *hold_reason(Hold hold) {
  static const char *const reasons[] = {"nothing",         "a system message",      "pinned",
                                        "the pending unit", "the last user message", "kept by the policy"};
  return reasons[hold];
}

/* ---- slots ---- */

static void slots_free(const Memory *memory, Slots *slots) {
  memory_free(memory, slots->ids, slots->count * sizeof *slots->ids);
  memory_free(memory, slots->flags, slots->count);
  units_free(slots->units);
  *slots = (Slots){0};
}

static void hold_slot(Slots *slots, uint32_t slot, Hold hold) {
  if (!(slots->flags[slot] & HOLD_MASK)) slots->flags[slot] |= (uint8_t)hold;
}

/* What one message of a unit is held by holds all of it. */
static void hold_unit(Slots *slots, uint32_t unit, Hold hold) {
  for (uint32_t slot = slots->units->units[unit].first; slot != UNIT_NONE; slot = slots->units->next[slot]) {
    hold_slot(slots, slot, hold);
  }
}

static void hold_guarded(const Conversation *conversation, const Sequence *list, Slots *slots) {
  const Marks *marks = conversation_marks(conversation);
  const Store *store = conversation_store(conversation);
  Text pinned = text_of(MARK_PINNED);
  bool any_pinned = marks_size(marks, pinned) > 0;
  Sum sum = sequence_sum(list);
  for (uint32_t slot = 0; slot < slots->count; slot++) {
    bool system = message_role(store_message(store, slots->ids[slot])) == ROLE_SYSTEM;
    if (system) hold_unit(slots, slots->units->of[slot], HOLD_SYSTEM);
    else if (any_pinned && marks_has(marks, pinned, store_origin(store, slots->ids[slot]))) {
      hold_unit(slots, slots->units->of[slot], HOLD_PINNED);
    }
  }
  for (uint32_t unit = 0; unit < slots->units->count; unit++) {
    if (slots->units->units[unit].pending) hold_unit(slots, unit, HOLD_PENDING);
  }
  if (sum.turns > 0) {
    uint32_t last = sequence_find(list, MEASURE_TURNS, sum.turns - 1);
    hold_unit(slots, slots->units->of[last], HOLD_LAST_USER);
  }
}

static Status slots_make(Draft *draft, const Sequence *list, Slots *made) {
  const Memory *memory = &draft->memory;
  Slots slots = {.count = sequence_count(list)};
  Status status = units_new(memory, conversation_store(draft->conversation), list, &slots.units);
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
  *made = slots;
  return STATUS_OK;
}

/* Room in slot_of for every id that the store has, and one more. */
static Status reserve_ids(Draft *draft) {
  uint32_t wanted = store_count(conversation_store(draft->conversation)) + 2;
  if (wanted <= draft->slot_of_room) return STATUS_OK;
  if (draft->slot_of_room > 0) wanted += wanted / 2;
  uint32_t *grown = memory_resize_array(&draft->memory, draft->slot_of, draft->slot_of_room, wanted, sizeof *grown);
  if (grown == NULL) return STATUS_MEMORY;
  memset(grown + draft->slot_of_room, 0, (wanted - draft->slot_of_room) * sizeof *grown);
  draft->slot_of = grown;
  draft->slot_of_room = wanted;
  return STATUS_OK;
}

static void number_slots(Draft *draft, const Slots *slots) {
  for (uint32_t slot = 0; slot < slots->count; slot++) draft->slot_of[slots->ids[slot]] = slot + 1;
}

uint32_t draft_slot_count(const Draft *draft) { return draft->slots.count; }
const Units *draft_units(const Draft *draft) { return draft->slots.units; }

uint32_t draft_slot_of(const Draft *draft, MessageId id) {
  return id < draft->slot_of_room && draft->slot_of[id] > 0 ? draft->slot_of[id] - 1 : UNIT_NONE;
}

MessageId draft_slot_message(const Draft *draft, uint32_t slot) { return draft->slots.ids[slot]; }
bool draft_slot_is_gone(const Draft *draft, uint32_t slot) { return draft->slots.flags[slot] & GONE; }
Hold draft_slot_hold(const Draft *draft, uint32_t slot) { return (Hold)(draft->slots.flags[slot] & HOLD_MASK); }

static uint32_t slot_tokens(const Draft *draft, uint32_t slot) {
  return message_tokens(conversation_message(draft->conversation, draft->slots.ids[slot]));
}

/* ---- life ---- */

Status draft_new(Conversation *conversation, bool guarded, Draft **made) {
  const Memory *memory = conversation_memory(conversation);
  Draft *draft = memory_new(memory, sizeof *draft);
  if (draft == NULL) return STATUS_MEMORY;
  *draft = (Draft){.memory = *memory, .conversation = conversation, .guarded = guarded, .settled = true,
                   .version = conversation_version(conversation), .before = conversation_tokens(conversation),
                   .began = store_count(conversation_store(conversation))};
  draft->tokens = draft->before;
  Status status = sequence_share(conversation_list(conversation), &draft->list);
  if (status == STATUS_OK) status = ledger_new(memory, &draft->ledger);
  if (status == STATUS_OK) status = reserve_ids(draft);
  if (status == STATUS_OK) status = slots_make(draft, draft->list, &draft->slots);
  if (status == STATUS_OK) {
    number_slots(draft, &draft->slots);
    draft->live = draft->untouched = draft->slots.count;
    *made = draft;
  } else {
    draft_free(draft);
  }
  return status;
}

/* What the draft stored goes again, unless others have stored since. */
static void rewind_store(Draft *draft) {
  Store *store = conversation_store(draft->conversation);
  if (!draft->done && draft->stored > 0 && store_count(store) == draft->mark.count + draft->stored) {
    store_rewind(store, draft->mark);
  }
}

void draft_free(Draft *draft) {
  if (draft == NULL) return;
  Memory memory = draft->memory;
  sequence_release(draft->list);
  slots_free(&memory, &draft->slots);
  memory_free(&memory, draft->slot_of, draft->slot_of_room * sizeof *draft->slot_of);
  ledger_release(draft->ledger);
  rewind_store(draft);
  memory_free(&memory, draft->by, draft->by_size);
  memory_free(&memory, draft, sizeof *draft);
}

Conversation *draft_conversation(const Draft *draft) { return draft->conversation; }
Ledger *draft_ledger(const Draft *draft) { return draft->ledger; }
uint32_t draft_count(const Draft *draft) { return draft->live; }
uint32_t draft_untouched(const Draft *draft) { return draft->untouched; }
uint64_t draft_tokens(const Draft *draft) { return draft->tokens; }
uint64_t draft_tokens_before(const Draft *draft) { return draft->before; }
Text draft_by(const Draft *draft) { return text_plain(draft->by, draft->by_size); }

Status draft_set_by(Draft *draft, Text by) {
  char *copy = by.size == 0 ? NULL : memory_new(&draft->memory, by.size);
  if (by.size > 0 && copy == NULL) return STATUS_MEMORY;
  if (by.size > 0) memcpy(copy, by.bytes, by.size);
  memory_free(&draft->memory, draft->by, draft->by_size);
  draft->by = copy;
  draft->by_size = by.size;
  return STATUS_OK;
}

uint64_t draft_guarded_tokens(const Draft *draft) {
  uint64_t tokens = conversation_overhead(draft->conversation);
  for (uint32_t slot = 0; slot < draft->slots.count; slot++) {
    if (!draft_slot_is_gone(draft, slot) && draft_slot_hold(draft, slot) != HOLD_NONE) tokens += slot_tokens(draft, slot);
  }
  return tokens;
}

/* ---- the list ---- */

/* Brings `list`, a share of the draft's, up to date with the slots. */
static Status apply_slots(Draft *draft, Sequence **list, uint64_t *keep) {
  uint32_t index = 0;
  for (uint32_t slot = 0; slot < draft->slots.count; slot++) {
    uint8_t flags = draft->slots.flags[slot];
    if (flags & SETTLED_GONE) continue;
    if (!(flags & GONE)) keep[index / 64] |= (uint64_t)1 << (index % 64);
    if ((flags & CHANGED) && !(flags & GONE)) {
      Status status = sequence_replace(list, index, draft->slots.ids[slot]);
      if (status != STATUS_OK) return status;
    }
    index++;
  }
  return sequence_keep(list, keep);
}

static Status settle(Draft *draft) {
  if (draft->settled) return STATUS_OK;
  size_t words = (size_t)sequence_count(draft->list) / 64 + 1;
  uint64_t *keep = memory_new_array(&draft->memory, words, sizeof *keep);
  if (keep == NULL) return STATUS_MEMORY;
  memset(keep, 0, words * sizeof *keep);
  Sequence *list;
  Status status = sequence_share(draft->list, &list);
  if (status == STATUS_OK) {
    status = apply_slots(draft, &list, keep);
    if (status == STATUS_OK) {
      sequence_release(draft->list);
      draft->list = list;
      draft->settled = true;
      for (uint32_t slot = 0; slot < draft->slots.count; slot++) {
        if (draft->slots.flags[slot] & GONE) draft->slots.flags[slot] |= SETTLED_GONE;
        draft->slots.flags[slot] &= (uint8_t)~CHANGED;
      }
    } else {
      sequence_release(list);
    }
  }
  memory_free(&draft->memory, keep, words * sizeof *keep);
  return status;
}

Status draft_list(Draft *draft, const Sequence **list) {
  Status status = settle(draft);
  *list = draft->list;
  return status;
}

/* ---- dropping ---- */

static void record(Draft *draft, Cause cause, LedgerRun entry) {
  entry.role = message_role(conversation_message(draft->conversation, entry.first));
  ledger_add(draft->ledger, cause, entry);
}

static Status cause_of(Draft *draft, Text reason, Cause *cause) {
  return ledger_cause(draft->ledger, draft_by(draft), reason, cause);
}

static Status drop_slot(Draft *draft, uint32_t slot, Cause cause, uint64_t *freed) {
  if (draft_slot_is_gone(draft, slot)) return STATUS_OK;
  Status status = ledger_reserve(draft->ledger);
  if (status != STATUS_OK) return status;
  uint32_t tokens = slot_tokens(draft, slot);
  record(draft, cause, (LedgerRun){.action = ACTION_DROPPED, .first = draft->slots.ids[slot], .freed = tokens});
  draft->slots.flags[slot] |= GONE;
  draft->settled = false;
  draft->live--;
  draft->untouched -= draft->slots.ids[slot] <= draft->began;
  draft->tokens -= tokens;
  *freed += tokens;
  return STATUS_OK;
}

static Status drop_unit(Draft *draft, uint32_t unit, Cause cause, uint64_t *freed) {
  const Units *units = draft->slots.units;
  Status status = STATUS_OK;
  for (uint32_t slot = units->units[unit].first; slot != UNIT_NONE && status == STATUS_OK; slot = units->next[slot]) {
    status = drop_slot(draft, slot, cause, freed);
  }
  return status;
}

/* Puts back what was dropped since the mark. */
static void undo_drops(Draft *draft, LedgerMark mark, uint64_t *freed) {
  for (uint32_t entry = ledger_count(draft->ledger); entry-- > mark.entries;) {
    uint32_t place;
    LedgerRun run = ledger_run_of(draft->ledger, entry, &place);
    uint32_t slot = draft_slot_of(draft, run.first + place);
    draft->slots.flags[slot] &= (uint8_t)~GONE;
    draft->live++;
    draft->untouched += draft->slots.ids[slot] <= draft->began;
    draft->tokens += slot_tokens(draft, slot);
  }
  ledger_rewind(draft->ledger, mark);
  *freed = 0;
}

Status draft_drop(Draft *draft, const MessageId *ids, uint32_t count, Text reason, uint64_t *freed, Hold *why) {
  Cause cause;
  *freed = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t slot = draft_slot_of(draft, ids[i]);
    if (slot == UNIT_NONE || draft_slot_is_gone(draft, slot)) return STATUS_RANGE;
    *why = draft_slot_hold(draft, slot);
    if (*why != HOLD_NONE) return STATUS_GUARDED;
  }
  LedgerMark mark = ledger_mark(draft->ledger);
  Status status = cause_of(draft, reason, &cause);
  for (uint32_t i = 0; i < count && status == STATUS_OK; i++) {
    uint32_t slot = draft_slot_of(draft, ids[i]);
    /* With guards the message's whole unit, without them the message alone. */
    status = draft->guarded ? drop_unit(draft, draft->slots.units->of[slot], cause, freed)
                            : drop_slot(draft, slot, cause, freed);
  }
  if (status != STATUS_OK) undo_drops(draft, mark, freed);
  return status;
}

static bool unit_is_there(const Draft *draft, uint32_t unit) {
  const Units *units = draft->slots.units;
  for (uint32_t slot = units->units[unit].first; slot != UNIT_NONE; slot = units->next[slot]) {
    if (!draft_slot_is_gone(draft, slot)) return true;
  }
  return false;
}

/* The first of the newest `keep` units that are there. */
static uint32_t first_kept_unit(const Draft *draft, uint32_t keep) {
  uint32_t unit = draft->slots.units->count;
  while (unit > 0 && keep > 0) keep -= unit_is_there(draft, --unit);
  return unit;
}

Status draft_drop_oldest(Draft *draft, uint64_t to, uint32_t keep, Text reason, uint32_t *messages, uint64_t *freed) {
  const Units *units = draft->slots.units;
  uint32_t before = draft->live, end = first_kept_unit(draft, keep);
  Cause cause;
  LedgerMark mark = ledger_mark(draft->ledger);
  Status status = cause_of(draft, reason, &cause);
  *freed = 0;
  for (uint32_t unit = 0; unit < end && draft->tokens > to && status == STATUS_OK; unit++) {
    if (draft_slot_hold(draft, units->units[unit].first) == HOLD_NONE) status = drop_unit(draft, unit, cause, freed);
  }
  if (status != STATUS_OK) undo_drops(draft, mark, freed);
  *messages = before - draft->live;
  return status;
}

/* ---- replacing and inserting ---- */

static bool same_key(const Message *a, const Message *b, uint32_t i) {
  return text_equal(message_call_key(a, i), message_call_key(b, i)) &&
         text_equal(message_text(a, message_call(a, i).name), message_text(b, message_call(b, i).name));
}

/* Same role, calls and results: what a replacement in a draft may not change. */
static bool same_frame(const Message *a, const Message *b) {
  if (message_role(a) != message_role(b) || message_call_count(a) != message_call_count(b)) return false;
  if (message_result_count(a) != message_result_count(b)) return false;
  for (uint32_t i = 0; i < message_call_count(a); i++) {
    if (!same_key(a, b, i)) return false;
  }
  for (uint32_t i = 0; i < message_result_count(a); i++) {
    Text key = message_text(a, message_result(a, i).id);
    if (!text_equal(key, message_text(b, message_result(b, i).id))) return false;
  }
  return true;
}

/* Adds to the store for the draft, or leaves no trace. */
static Status store_one(Draft *draft, uint32_t position, Text raw, const MessageShape *shape, MessageId replaced,
                        MessageId *made) {
  Store *store = conversation_store(draft->conversation);
  StoreMark mark = store_mark(store);
  if (draft->stored == 0) draft->mark = mark;      /* not before: another draft may end meanwhile */
  Status status = reserve_ids(draft);
  if (status != STATUS_OK) return status;
  status = conversation_store_one(draft->conversation, draft->list, position, raw, false, shape, replaced, made);
  if (status == STATUS_OK && replaced != 0 &&
      !same_frame(store_message(store, replaced), store_message(store, *made))) {
    status = STATUS_ARGUMENT;
  }
  if (status != STATUS_OK) store_rewind(store, mark);
  return status;
}

Status draft_replace(Draft *draft, MessageId id, Text raw, const MessageShape *shape, Text reason, MessageId *made,
                     int64_t *freed, Hold *why) {
  uint32_t slot = draft_slot_of(draft, id);
  if (slot == UNIT_NONE || draft_slot_is_gone(draft, slot)) return STATUS_RANGE;
  *why = draft_slot_hold(draft, slot);
  if (*why != HOLD_NONE) return STATUS_GUARDED;
  Cause cause;
  Status status = cause_of(draft, reason, &cause);
  if (status == STATUS_OK) status = ledger_reserve(draft->ledger);
  if (status != STATUS_OK) return status;
  MessageId before = draft->slots.ids[slot];
  /* Of the same frame it takes over the links, so that its place (which the
     list need not have yet) does not matter. */
  status = store_one(draft, 0, raw, shape, before, made);
  if (status != STATUS_OK) return status;
  uint32_t old = slot_tokens(draft, slot);
  draft->stored++;
  draft->untouched -= before <= draft->began;
  draft->slots.ids[slot] = *made;
  draft->slots.flags[slot] |= CHANGED;
  draft->slot_of[*made] = slot + 1;
  draft->settled = false;
  uint32_t now = slot_tokens(draft, slot);
  draft->tokens = draft->tokens - old + now;
  *freed = (int64_t)old - (int64_t)now;
  record(draft, cause, (LedgerRun){.action = ACTION_REPLACED, .first = before, .replacement = *made, .freed = *freed});
  return STATUS_OK;
}

/* What was held stays held in the new numbering: a policy that adds a user
   message does not free the one that was the last, nor a call that was pending. */
static void carry_holds(Draft *draft, Slots *slots) {
  for (uint32_t slot = 0; slot < slots->count; slot++) {
    uint32_t old = draft_slot_of(draft, slots->ids[slot]);
    if (old == UNIT_NONE || draft_slot_hold(draft, old) == HOLD_NONE) continue;
    hold_unit(slots, slots->units->of[slot], draft_slot_hold(draft, old));
  }
}

/* Leads every id, those of replaced messages too, from its old slot to the new
   one; ids of messages that are gone lead nowhere. Uses up the old slots' ids. */
static void renumber_ids(Draft *draft, uint32_t position) {
  uint32_t index = 0;
  for (uint32_t slot = 0; slot < draft->slots.count; slot++) {
    bool gone = draft_slot_is_gone(draft, slot);
    draft->slots.ids[slot] = gone ? 0 : index + (index >= position) + 1;
    index += !gone;
  }
  for (uint32_t id = 0; id < draft->slot_of_room; id++) {
    if (draft->slot_of[id] > 0) draft->slot_of[id] = draft->slots.ids[draft->slot_of[id] - 1];
  }
}

static void adopt_slots(Draft *draft, Sequence *list, Slots slots, uint32_t position) {
  carry_holds(draft, &slots);
  renumber_ids(draft, position);
  draft->slot_of[slots.ids[position]] = position + 1;
  slots_free(&draft->memory, &draft->slots);
  sequence_release(draft->list);
  draft->list = list;
  draft->slots = slots;
  draft->live = slots.count;
}

Status draft_insert(Draft *draft, uint32_t position, Text raw, const MessageShape *shape, Text reason, MessageId *made) {
  Status status = settle(draft);
  if (status != STATUS_OK) return status;
  if (position > sequence_count(draft->list)) return STATUS_RANGE;
  StoreMark mark = store_mark(conversation_store(draft->conversation));
  Sequence *list;
  Cause cause;
  status = cause_of(draft, reason, &cause);
  if (status == STATUS_OK) status = ledger_reserve(draft->ledger);
  if (status == STATUS_OK) status = store_one(draft, position, raw, shape, 0, made);
  if (status != STATUS_OK) return status;
  status = sequence_share(draft->list, &list);
  if (status == STATUS_OK) {
    Slots slots;
    status = sequence_insert(&list, position, *made);
    if (status == STATUS_OK) status = slots_make(draft, list, &slots);
    if (status == STATUS_OK) adopt_slots(draft, list, slots, position);
    else sequence_release(list);
  }
  if (status != STATUS_OK) {
    store_rewind(conversation_store(draft->conversation), mark);
    return status;
  }
  uint32_t tokens = message_tokens(conversation_message(draft->conversation, *made));
  draft->stored++;
  draft->tokens += tokens;
  record(draft, cause, (LedgerRun){.action = ACTION_INSERTED, .first = *made, .freed = -(int64_t)tokens});
  return STATUS_OK;
}

Status draft_keep(Draft *draft, MessageId id) {
  uint32_t slot = draft_slot_of(draft, id);
  if (slot == UNIT_NONE || draft_slot_is_gone(draft, slot)) return STATUS_RANGE;
  hold_unit(&draft->slots, draft->slots.units->of[slot], HOLD_KEPT);
  return STATUS_OK;
}

/* ---- the end ---- */

Status draft_commit(Draft *draft, BatchKind kind, Text description, uint32_t *batch) {
  Conversation *conversation = draft->conversation;
  assert(!draft->done);
  if (conversation_version(conversation) != draft->version) return STATUS_ARGUMENT;
  if (ledger_count(draft->ledger) > 0) {
    Status status = settle(draft);
    if (status != STATUS_OK) return status;
    status = conversation_commit(conversation, draft->list, kind, description, draft->ledger);
    if (status != STATUS_OK) return status;
    draft->list = NULL;
    ledger_share(draft->ledger);      /* the history took the share that was the draft's */
  }
  draft->done = true;
  *batch = history_current(conversation_history(conversation));
  return STATUS_OK;
}
