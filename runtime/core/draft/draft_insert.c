/*
** Inserts into a draft: one message, or many at once at different places, because each
** renumbering of the slots costs O(slots). All or none.
**
** Places are positions of the list before the insertion, ascending; messages at the same
** place keep their order.
**
**     list     0 1 2 3 4         places 1 1 4, messages a b c
**     becomes  0 a b 1 2 3 c 4
*/
#include "core/draft/draft_data.h"

#include <assert.h>

/* The slot after the last present message of the unit whose first present message is at
   `slot`; 0 if that unit starts at another slot. */
static uint32_t reach_of(const Draft *draft, uint32_t slot) {
  const Units *units = draft->slots.units;
  uint32_t first = units->units[units->unit_of[slot]].first, reach = 0;
  while (draft_slot_is_dropped(draft, first)) first = units->next[first];
  for (uint32_t at = first; first == slot && at != UNIT_NONE; at = units->next[at]) {
    if (!draft_slot_is_dropped(draft, at)) reach = at + 1;
  }
  return reach;
}

/* True if a message at one of the places would stand between messages of a unit. */
static bool tears_unit(const Draft *draft, const uint32_t *places, uint32_t count) {
  uint32_t reach = 0;        /* the end of earlier units */
  for (uint32_t slot = 0, live = 0, next = 0; slot < draft->slots.count; slot++) {
    if (draft_slot_is_dropped(draft, slot)) continue;
    for (; next < count && places[next] == live; next++) {
      if (reach > slot) return true;
    }
    uint32_t end = reach_of(draft, slot);
    if (end > reach) reach = end;
    live++;
  }
  return false;
}

/* Stores, inserts and records the messages one after the other; undoes nothing on failure. */
static Status put_all(Draft *draft, const Insertion *insertion, Cause cause, CallIndex *calls, Sequence **list,
                      uint64_t *tokens) {
  for (uint32_t i = 0; i < insertion->count; i++) {
    bool more;
    Text raw;
    MessageShape shape;
    MessageId *id = &insertion->ids[i];
    uint32_t at = insertion->places[i] + i;
    assert(i == 0 || insertion->places[i - 1] <= insertion->places[i]);
    MessageSource *source = insertion->source;
    Status status = source->next(source->user, &more, &raw, &shape);
    if (status == STATUS_OK && !more) status = STATUS_ARGUMENT;
    if (status == STATUS_OK && shape.role == ROLE_NONE) status = STATUS_GUARDED;
    Place place = {.list = *list, .position = at, .calls = calls};
    if (status == STATUS_OK) {
      status = conversation_store_one(draft->conversation, &place, raw, source->adopted, &shape, id);
    }
    if (status == STATUS_OK) status = sequence_insert(list, at, *id);
    if (status == STATUS_OK) status = ledger_reserve(draft->ledger);
    if (status != STATUS_OK) return status;
    uint32_t weight = draft_message_weight(draft, *id);
    *tokens += weight;
    draft_record(draft, cause, (LedgerRun){.action = ACTION_INSERTED, .first = *id, .freed = -(int64_t)weight});
  }
  return STATUS_OK;
}

/* What stands behind an insertion at a position of the list is left without its thinking. */
static void leave_behind(Draft *draft, uint32_t position) {
  if (position >= sequence_count(draft->list)) return;
  draft_leave_thoughts(draft, draft_slot_of(draft, sequence_at(draft->list, position)));
}

Status draft_insert_all(Draft *draft, const Insertion *insertion, Text reason) {
  Status status = draft_number_slots(draft);
  if (status == STATUS_OK) status = draft_apply_edits(draft);
  if (status == STATUS_OK) status = draft_list_thoughts(draft);
  if (status != STATUS_OK) return status;
  if (!draft_may_store(draft)) return STATUS_ARGUMENT;
  assert(insertion->count == 0 || insertion->places[insertion->count - 1] <= sequence_count(draft->list));
  if (draft->guarded && tears_unit(draft, insertion->places, insertion->count)) return STATUS_GUARDED;
  Store *store = draft->store;
  StoreMark mark = store_mark(store);
  LedgerMark entries = ledger_mark(draft->ledger);
  uint64_t tokens = 0;
  Sequence *list;
  Slots slots;
  Cause cause;
  status = sequence_share(draft->list, &list);
  if (status != STATUS_OK) return status;
  status = draft_cause(draft, reason, &cause);
  CallIndex calls;
  call_index_init(&calls, draft->memory);
  if (status == STATUS_OK) status = put_all(draft, insertion, cause, &calls, &list, &tokens);
  call_index_free(&calls);
  if (status == STATUS_OK) status = slots_make(draft, list, &slots);
  if (status != STATUS_OK) {
    ledger_rewind(draft->ledger, entries);
    sequence_release(list);
    store_rewind(store, mark);
    return status;
  }
  if (draft->stored == 0) draft->mark = mark;      /* at the first addition: an older draft may rewind before it */
  draft->stored += insertion->count;
  draft->tokens += tokens;
  leave_behind(draft, insertion->count > 0 ? insertion->places[0] : UINT32_MAX);
  draft_renumber(draft, list, slots);
  return STATUS_OK;
}

/* ---- one message ---- */

typedef struct One {
  Text raw;
  const MessageShape *shape;
} One;

static Status next_one(void *user, bool *more, Text *raw, MessageShape *shape) {
  const One *one = user;
  *more = true;
  *raw = one->raw;
  *shape = *one->shape;
  return STATUS_OK;
}

/* ---- one plain message: O(log n) ---- */

bool draft_inserts_fast(const Draft *draft, const MessageShape *shape) {
  if (!draft->numbered || shape->call_count > 0 || shape->result_count > 0) return false;
  return shape->role != ROLE_USER || draft->slots.units->pending == 0;
}

/* As tears_unit for one place. No unit has grown since the slots were numbered, so added ones lie in no unit. */
static Status tears_one(Draft *draft, uint32_t position, bool *tears) {
  *tears = false;
  if (position == sequence_count(draft->list)) return STATUS_OK;
  Status status = draft_cover_slots(draft);
  uint32_t place = draft_slot_of(draft, sequence_at(draft->list, position));
  const Slots *slots = &draft->slots;
  if (status != STATUS_OK || place >= slots->numbered) return status;
  for (uint32_t slot = place; slot > 0 && slots->cover[slot] > 0 && !*tears; slot--) {
    if (draft_slot_is_dropped(draft, slot - 1)) continue;
    for (uint32_t at = slots->units->next[slot - 1]; at != UNIT_NONE && !*tears; at = slots->units->next[at]) {
      *tears = at >= place && !draft_slot_is_dropped(draft, at);
    }
  }
  return STATUS_OK;
}

/* The hold of a message that was inserted at the position. */
static Hold hold_at(const Draft *draft, const Sequence *list, uint32_t position, Role role) {
  if (!draft->guarded) return HOLD_NONE;
  if (role == ROLE_SYSTEM) return HOLD_SYSTEM;
  uint32_t turns = sequence_sum(list).turns;
  bool starts_last_turn = turns > 0 && sequence_find(list, MEASURE_TURNS, turns - 1) == position;
  return starts_last_turn ? HOLD_LAST_USER : HOLD_NONE;
}

/* Stores the message and inserts it into *list; leaves what it stored on failure. */
static Status store_plain(Draft *draft, const Place *place, Text raw, const MessageShape *shape, Sequence **list,
                          MessageId *id) {
  Status status = conversation_store_one(draft->conversation, place, raw, false, shape, id);
  if (status == STATUS_OK) status = sequence_insert(list, place->position, *id);
  if (status == STATUS_OK) status = ledger_reserve(draft->ledger);
  if (status == STATUS_OK) status = draft_reserve_id(draft, *id);
  return status == STATUS_OK ? draft_reserve_slot(draft) : status;
}

static Status insert_plain(Draft *draft, uint32_t position, Text raw, const MessageShape *shape, Text reason,
                           MessageId *new_id) {
  bool tears = false;
  Sequence *list;
  Cause cause;
  Status status = draft_apply_edits(draft);
  if (status == STATUS_OK) status = draft_list_thoughts(draft);
  if (status == STATUS_OK && !draft_may_store(draft)) status = STATUS_ARGUMENT;
  if (status == STATUS_OK && draft->guarded) status = tears_one(draft, position, &tears);
  if (status == STATUS_OK && tears) status = STATUS_GUARDED;
  if (status == STATUS_OK) status = draft_cause(draft, reason, &cause);
  if (status == STATUS_OK) status = sequence_share(draft->list, &list);
  if (status != STATUS_OK) return status;
  StoreMark mark = store_mark(draft->store);
  Place place = {.list = draft->list, .position = position};
  status = store_plain(draft, &place, raw, shape, &list, new_id);
  if (status != STATUS_OK) {
    sequence_release(list);
    store_rewind(draft->store, mark);
    return status;
  }
  uint32_t weight = draft_message_weight(draft, *new_id);
  if (draft->stored++ == 0) draft->mark = mark;      /* at the first addition: an older draft may rewind before it */
  leave_behind(draft, position);
  draft_add_slot(draft, *new_id, hold_at(draft, list, position, shape->role));
  draft_take_list(draft, list);
  draft->tokens += weight;
  draft->live++;
  draft_record(draft, cause, (LedgerRun){.action = ACTION_INSERTED, .first = *new_id, .freed = -(int64_t)weight});
  return STATUS_OK;
}

Status draft_insert(Draft *draft, uint32_t position, Text raw, const MessageShape *shape, Text reason,
                    MessageId *new_id) {
  One one = {.raw = raw, .shape = shape};
  MessageSource source = {.next = next_one, .user = &one};
  if (position > draft->live) return STATUS_RANGE;
  if (shape->role == ROLE_NONE) return STATUS_GUARDED;
  Status status = draft_prepare_slots(draft);
  if (status != STATUS_OK) return status;
  if (draft_inserts_fast(draft, shape)) return insert_plain(draft, position, raw, shape, reason, new_id);
  return draft_insert_all(draft, &(Insertion){.count = 1, .places = &position, .source = &source, .ids = new_id},
                          reason);
}

/* ---- measuring ---- */

/* Adds the message to the store, counts it, and rewinds: a custom counter needs a message of the store. */
Status draft_measure(Draft *draft, Text raw, const MessageShape *shape, uint32_t *tokens) {
  Store *store = draft->store;
  StoreMark mark = store_mark(store);
  MessageId id;
  if (!draft_may_store(draft)) return STATUS_ARGUMENT;
  Status status = conversation_weigh_one(draft->conversation, draft->list, raw, false, shape, &id);
  if (status == STATUS_OK) *tokens = draft_message_tokens(draft, id);
  store_rewind(store, mark);
  return status;
}
