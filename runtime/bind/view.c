/*
** A view is what conversations, batches and drafts have in common: a list of
** messages. Slots are how its units are numbered: positions of the list, or for
** a draft the slots that it began with.
*/
#include "base/minmax.h"
#include "bind/argument.h"
#include "bind/error.h"
#include "bind/handle.h"
#include "bind/type.h"
#include "bind/view.h"
#include "sandbox/guard.h"

#define WAITING_UNITS 200    /* fuel of an edit that is applied to the list */

bool bind_is_view(lua_State *L, int index) {
  const BindType *type = bind_type_of(L, index);
  return type == &BIND_CONVERSATION || type == &BIND_BATCH || type == &BIND_DRAFT;
}

/* The conversation handle behind a batch or draft: its first user value. */
static ConversationHandle *owner_of(lua_State *L, int index) {
  lua_getiuservalue(L, index, 1);
  ConversationHandle *handle = bind_check_conversation(L, -1);
  lua_pop(L, 1);
  return handle;
}

/* Refuses a batch of which messages were pruned since it was taken. */
static void check_batch(lua_State *L, const Conversation *conversation, BatchHandle *batch) {
  uint64_t removals = conversation_removals(conversation);
  if (batch->removals == removals) return;
  SequenceWalk walk = sequence_walk(batch->list, 0, sequence_count(batch->list));
  guard_charge(L, 1 + sequence_count(batch->list) / 16);
  while (sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count; i++) {
      if (store_has(conversation_store(conversation), walk.ids[i])) continue;
      bind_raise_argument(L, "out_of_range", "keep it with prune, or take a batch after it",
                          "message %d of the batch was pruned", (int)walk.ids[i]);
    }
  }
  batch->removals = removals;
}

void bind_check_there(lua_State *L, const View *view, MessageId id) {
  const Store *store = conversation_store(view->conversation);
  if (id > store_count(store)) bind_raise(L, "closed", NULL, "the message is gone with its draft");
  if (!store_has(store, id)) bind_raise_argument(L, "out_of_range", NULL, "message %d was pruned", (int)id);
}

void bind_check_draft_lasts(lua_State *L, const Draft *draft) {
  if (draft_lost_messages(draft)) bind_raise(L, "closed", NULL, "the draft has ended: its conversation was pruned");
}

View bind_look(lua_State *L, int index) {
  View view = {.owner = lua_absindex(L, index)};
  const BindType *type = bind_type_of(L, index);
  if (type == &BIND_BATCH) {
    view.batch = lua_touserdata(L, index);
    view.handle = owner_of(L, index);
    view.conversation = view.handle->conversation;
    view.list = view.batch->list;
  } else if (type == &BIND_DRAFT) {
    const DraftHandle *draft = lua_touserdata(L, index);
    if (draft->draft == NULL) bind_raise(L, "closed", NULL, "the draft has ended");
    view.handle = owner_of(L, index);
    bind_check_draft_lasts(L, draft->draft);
    view.conversation = view.handle->conversation;
    view.draft = draft->draft;
  } else {
    view.handle = bind_check_conversation(L, index);
    view.conversation = view.handle->conversation;
    view.list = conversation_list(view.conversation);
  }
  return view;
}

void bind_view_list(lua_State *L, View *view) {
  if (view->list != NULL) return;
  uint32_t messages = sequence_count(conversation_list(view->conversation));
  guard_charge(L, 1 + min_u32(20 + messages / 16, WAITING_UNITS * min_u32(draft_waiting(view->draft), messages)));
  Status status = draft_list(view->draft, &view->list);
  if (status != STATUS_OK) bind_raise_status(L, status, "draft");
}

View bind_view(lua_State *L, int index) {
  View view = bind_look(L, index);
  if (view.batch != NULL) check_batch(L, view.conversation, view.batch);
  bind_view_list(L, &view);
  return view;
}

const Units *bind_view_units(lua_State *L, View *view) {
  const Units *units = NULL;
  Status status = STATUS_OK;
  if (view->draft != NULL) {
    status = draft_number_slots(view->draft);
    if (status != STATUS_OK) bind_raise_status(L, status, "units");
    return draft_units(view->draft);
  }
  if (view->batch == NULL) {
    status = conversation_units(view->conversation, &units);
  } else {
    check_batch(L, view->conversation, view->batch);
    if (view->batch->units == NULL) {
      status = units_new(conversation_memory(view->conversation), conversation_store(view->conversation), view->list,
                         &view->batch->units);
    }
    units = view->batch->units;
  }
  if (status != STATUS_OK) bind_raise_status(L, status, "units");
  return units;
}

const Units *bind_view_groups(lua_State *L, View *view) {
  if (view->draft == NULL) return bind_view_units(L, view);
  Status status = draft_prepare_slots(view->draft);
  if (status != STATUS_OK) bind_raise_status(L, status, "units");
  return draft_units(view->draft);
}

uint32_t bind_view_message_tokens(const View *view, MessageId id) {
  return view->draft != NULL ? draft_message_tokens(view->draft, id) : sequence_weight(view->list, id);
}

uint32_t bind_view_slot(lua_State *L, View *view, MessageId id, uint32_t hint) {
  if (view->draft != NULL) {
    Status status = draft_prepare_slots(view->draft);
    if (status != STATUS_OK) bind_raise_status(L, status, "draft");
    return draft_slot_of(view->draft, id);
  }
  uint32_t index = sequence_index_of(view->list, id, hint);
  return index < sequence_count(view->list) ? index : UNIT_NONE;
}

MessageId bind_view_slot_message(const View *view, uint32_t slot) {
  return view->draft != NULL ? draft_slot_message(view->draft, slot) : sequence_at(view->list, slot);
}

bool bind_view_slot_is_dropped(const View *view, uint32_t slot) {
  return view->draft != NULL && draft_slot_is_dropped(view->draft, slot);
}

uint64_t bind_view_tokens(const View *view) {
  Sum sum = sequence_sum(view->list);
  return sum_measure(&sum, MEASURE_TOKENS) + conversation_overhead(view->conversation);
}

