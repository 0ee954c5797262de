/*
** Walks over a draft: draft:messages{}, draft:units{}, draft:turns{}.
**
** A walk notes at its start which messages it will pass (of units and turns the
** first), so that edits on the way do not disturb it; whether each passes the
** conditions is asked when its turn comes, so that a policy that stops early
** pays for no more than it saw.
*/
#include <string.h>

#include "bind/bind.h"

typedef enum WalkKind { WALK_MESSAGES, WALK_UNITS, WALK_TURNS } WalkKind;

typedef struct Walk {
  WalkKind kind;
  Conditions conditions;     /* its texts are held by the table of options */
  bool newest, droppable;
  uint32_t at, end;          /* numbers of ids still to pass: at .. end - 1 */
  MessageId ids[];
} Walk;

static const char *const WALK_NAMES[] = {"from", "role", "marked", "matches", "has", "calls", "droppable", "skip_last", NULL};

/* ---- what passes ---- */

static bool message_passes(lua_State *L, const View *view, const Walk *walk, uint32_t slot) {
  if (draft_slot_is_gone(view->draft, slot)) return false;
  if (walk->droppable && draft_slot_hold(view->draft, slot) != HOLD_NONE) return false;
  return bind_passes(L, view, &walk->conditions, draft_slot_message(view->draft, slot));
}

/* A unit or turn passes if one of its messages does. */
static bool unit_passes(lua_State *L, const View *view, const Walk *walk, uint32_t slot) {
  const Units *units = draft_units(view->draft);
  for (slot = units->units[units->of[slot]].first; slot != UNIT_NONE; slot = units->next[slot]) {
    if (message_passes(L, view, walk, slot)) return true;
  }
  return false;
}

static bool turn_passes(lua_State *L, const View *view, const Walk *walk, uint32_t slot) {
  if (draft_slot_is_gone(view->draft, slot)) return false;
  for (uint32_t at = slot; at < draft_slot_count(view->draft); at++) {
    const Message *message = conversation_message(view->conversation, draft_slot_message(view->draft, at));
    if (at > slot && message_starts_turn(message)) return false;
    if (message_passes(L, view, walk, at)) return true;
  }
  return false;
}

static bool passes(lua_State *L, const View *view, const Walk *walk, MessageId id) {
  uint32_t slot = draft_slot_of(view->draft, id);
  if (slot == UNIT_NONE) return false;
  switch (walk->kind) {
  case WALK_MESSAGES: return message_passes(L, view, walk, slot);
  case WALK_UNITS: return unit_passes(L, view, walk, slot);
  case WALK_TURNS: return turn_passes(L, view, walk, slot);
  }
  return false;
}

/* ---- the start ---- */

static void note_ids(const View *view, Walk *walk) {
  const Units *units = draft_units(view->draft);
  uint32_t slots = draft_slot_count(view->draft);
  for (uint32_t slot = 0; slot < slots; slot++) {
    MessageId id = draft_slot_message(view->draft, slot);
    if (walk->kind == WALK_UNITS && units->units[units->of[slot]].first != slot) continue;
    if (walk->kind == WALK_TURNS && !message_starts_turn(conversation_message(view->conversation, id))) continue;
    walk->ids[walk->end++] = id;
  }
}

/* Leaves out the newest n that pass. */
static void skip_last(lua_State *L, const View *view, Walk *walk, uint32_t n) {
  while (n > 0 && walk->end > 0) n -= passes(L, view, walk, walk->ids[--walk->end]);
}

/* Pushes the walk for the draft at 1 and the options at 2. */
static Walk *push_walk(lua_State *L, WalkKind kind) {
  static const char *const ends[] = {"oldest", "newest", NULL};
  bind_check(L, 1, &BIND_DRAFT);
  lua_settop(L, 2);
  if (lua_isnil(L, 2)) {
    lua_newtable(L);
    lua_replace(L, 2);
  }
  View view = bind_view(L, 1);
  bind_view_units(L, &view);                 /* numbers the slots */
  Conditions conditions = bind_conditions(L, 2, "walk", WALK_NAMES);
  uint32_t skip = 0;
  bind_count_field(L, 2, "skip_last", &skip);
  bind_get_field(L, 2, "from");
  bool newest = luaL_checkoption(L, -1, "oldest", ends) == 1;
  bool droppable = bind_flag_field(L, 2, "droppable", false);
  lua_settop(L, 2);
  Walk *walk = lua_newuserdatauv(L, sizeof *walk + draft_slot_count(view.draft) * sizeof *walk->ids, 0);
  *walk = (Walk){.kind = kind, .conditions = conditions, .newest = newest, .droppable = droppable};
  note_ids(&view, walk);
  if (skip > 0) skip_last(L, &view, walk, skip);
  return walk;
}

/* ---- the steps ---- */

static void push_one(lua_State *L, const View *view, const Walk *walk, MessageId id) {
  if (walk->kind == WALK_MESSAGES) {
    bind_push_message(L, view->owner, id, draft_slot_of(view->draft, id));
  } else if (walk->kind == WALK_UNITS) {
    bind_push_unit(L, view->owner, id);
  } else {
    View now = bind_view(L, view->owner);      /* turns are read from the list as it is */
    uint32_t index = sequence_index_of(now.list, id, draft_slot_of(view->draft, id));
    bind_push_turn(L, &now, (uint32_t)sequence_prefix(now.list, index).turns);
  }
}

/* A view that does not bring the list up to date: the slots are enough. */
static View look(lua_State *L, int index) {
  DraftHandle *handle = bind_check(L, index, &BIND_DRAFT);
  View view = {.owner = lua_absindex(L, index), .draft = handle->draft};
  if (handle->draft == NULL) bind_raise(L, "closed", NULL, "the draft has ended");
  lua_getiuservalue(L, index, 1);
  bind_check_conversation(L, -1);
  lua_pop(L, 1);
  view.conversation = draft_conversation(handle->draft);
  return view;
}

/* Pushes the next that passes, or nil. The draft, the options and the walk
   stand at 1, 2, 3. */
static int step(lua_State *L) {
  View view = look(L, 1);
  Walk *walk = lua_touserdata(L, 3);
  walk->conditions.table = 2;
  while (walk->at < walk->end) {
    MessageId id = walk->newest ? walk->ids[--walk->end] : walk->ids[walk->at++];
    if (!passes(L, &view, walk, id)) continue;
    push_one(L, &view, walk, id);
    return 1;
  }
  lua_pushnil(L);
  return 1;
}

static int l_next(lua_State *L) {
  lua_settop(L, 0);
  for (int i = 1; i <= 3; i++) lua_pushvalue(L, lua_upvalueindex(i));
  return step(L);
}

static int push_iterator(lua_State *L, WalkKind kind) {
  push_walk(L, kind);
  lua_pushcclosure(L, l_next, 3);
  return 1;
}

/* draft:messages(walk) -> iterator of Message */
static int l_messages(lua_State *L) { return push_iterator(L, WALK_MESSAGES); }

/* draft:units(walk) -> iterator of Unit */
static int l_units(lua_State *L) { return push_iterator(L, WALK_UNITS); }

/* draft:turns(walk) -> iterator of Turn */
static int l_turns(lua_State *L) { return push_iterator(L, WALK_TURNS); }

/* draft:last(walk) -> Message | nil */
static int l_last(lua_State *L) {
  Walk *walk = push_walk(L, WALK_MESSAGES);
  walk->newest = true;
  return step(L);
}

void bind_open_walk(lua_State *L) {
  static const BindMethod methods[] = {
    {"messages", l_messages, "walk"}, {"units", l_units, "walk"}, {"turns", l_turns, "walk"}, {"last", l_last, "walk"},
    {NULL, NULL, NULL},
  };
  bind_methods(L, &BIND_DRAFT, methods);
}
