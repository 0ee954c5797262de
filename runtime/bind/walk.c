/*
** Walks over a draft: draft:messages{}, draft:units{}, draft:turns{}.
**
** A walk notes at its start which messages it will pass (of units and turns the
** first), so that edits on the way do not disturb it; whether each passes the
** conditions is asked when its turn comes, so that a policy that stops early
** pays for no more than it saw.
**
** A step answers all that most policies want to know, so that they need not come
** back and ask:
**
**     for message, tokens in draft:messages{}
**     for unit, tokens, age in draft:units{}
**     for turn, tokens, age in draft:turns{}
*/
#include <string.h>

#include "bind/argument.h"
#include "bind/error.h"
#include "bind/handle.h"
#include "bind/list.h"
#include "bind/open.h"
#include "bind/type.h"
#include "bind/unit.h"
#include "bind/view.h"
#include "sandbox/guard.h"

typedef enum WalkKind { WALK_MESSAGES, WALK_UNITS, WALK_TURNS } WalkKind;

typedef struct Walk {
  WalkKind kind;
  Conditions conditions;     /* its texts are held by a private copy of the options */
  bool newest, droppable, all;       /* all: without conditions */
  uint32_t at, end;          /* numbers of ids still to pass: at .. end - 1 */
  uint32_t total;            /* of ids, skipped ones too */
  MessageId ids[];
} Walk;

static const char *const WALK_NAMES[] = {"from",      "role",   "marked",   "matches",   "has", "calls", "droppable",
                                         "skip_last", "window", "obsolete", "important", "empty", NULL};

/* ---- what passes ---- */

static bool message_passes(lua_State *L, const View *view, const Walk *walk, uint32_t slot) {
  if (draft_slot_is_dropped(view->draft, slot)) return false;
  if (walk->droppable && draft_slot_hold(view->draft, slot) != HOLD_NONE) return false;
  return walk->all || bind_passes(L, view, &walk->conditions, draft_slot_message(view->draft, slot));
}

/* A unit or turn passes if one of its messages does. */
static bool unit_passes(lua_State *L, const View *view, const Walk *walk, uint32_t slot) {
  const Units *units = draft_units(view->draft);
  for (slot = units->units[units->unit_of[slot]].first; slot != UNIT_NONE; slot = units->next[slot]) {
    if (message_passes(L, view, walk, slot)) return true;
  }
  return false;
}

static bool turn_passes(lua_State *L, const View *view, const Walk *walk, uint32_t slot) {
  if (draft_slot_is_dropped(view->draft, slot)) return false;
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
    if (walk->kind == WALK_UNITS && units->units[units->unit_of[slot]].first != slot) continue;
    if (walk->kind == WALK_TURNS && !message_starts_turn(conversation_message(view->conversation, id))) continue;
    walk->ids[walk->end++] = id;
  }
  walk->total = walk->end;
}

/* Leaves out the newest n that pass. */
static void skip_last(lua_State *L, const View *view, Walk *walk, uint32_t n) {
  while (n > 0 && walk->end > 0) n -= passes(L, view, walk, walk->ids[--walk->end]);
}

/* In place of the options at 2, which the caller may change while the walk lasts. */
static void copy_options(lua_State *L) {
  lua_newtable(L);
  if (lua_istable(L, 2)) {
    for (lua_pushnil(L); lua_next(L, 2) != 0;) {       /* copy key value */
      lua_pushvalue(L, -2);
      lua_insert(L, -2);
      lua_rawset(L, -4);
    }
  }
  lua_replace(L, 2);
}

/* Pushes the walk for the draft at 1 and the options at 2. */
static Walk *push_walk(lua_State *L, WalkKind kind) {
  static const char *const ends[] = {"oldest", "newest", NULL};
  bind_check(L, 1, &BIND_DRAFT);
  lua_settop(L, 2);
  if (!lua_isnil(L, 2)) bind_expect(L, 2, NULL, LUA_TTABLE);
  copy_options(L);
  View view = bind_look(L, 1);
  bind_view_units(L, &view);                 /* numbers the slots */
  Conditions conditions = bind_conditions(L, 2, WALK_NAMES);
  uint32_t skip = 0;
  bind_count_field(L, 2, "skip_last", &skip);
  bind_get_field(L, 2, "from");
  bool newest = bind_choice(L, -1, "from", 0, ends) == 1;
  bool droppable = bind_flag_field(L, 2, "droppable", false);
  lua_settop(L, 2);
  Walk *walk = guard_userdata(L, sizeof *walk + draft_slot_count(view.draft) * sizeof *walk->ids, 0);
  *walk = (Walk){.kind = kind, .conditions = conditions, .newest = newest, .droppable = droppable};
  walk->all = conditions.roles == ROLES_ALL && !conditions.has_marked && !conditions.has_matches &&
              conditions.kinds == 0 && !conditions.has_calls && !conditions.empty;
  note_ids(&view, walk);
  if (skip > 0) skip_last(L, &view, walk, skip);
  return walk;
}

/* ---- the steps ---- */

static lua_Integer tokens_of(const View *view, uint32_t slot) {
  return bind_view_message_tokens(view, draft_slot_message(view->draft, slot));
}

/* Messages that are gone belong to no turn: the one before them reaches on. */
static lua_Integer push_turn(lua_State *L, const View *view, uint32_t first, uint32_t age) {
  uint32_t end = first + 1, slots = draft_slot_count(view->draft);
  for (; end < slots; end++) {
    const Message *message = conversation_message(view->conversation, draft_slot_message(view->draft, end));
    if (!draft_slot_is_dropped(view->draft, end) && message_starts_turn(message)) break;
  }
  Turn *turn = bind_push_turn(L, view->owner, end - first, age);
  lua_Integer tokens = 0;
  for (uint32_t slot = first; slot < end; slot++) {
    if (draft_slot_is_dropped(view->draft, slot)) continue;
    turn->ids[turn->count++] = draft_slot_message(view->draft, slot);
    tokens += tokens_of(view, slot);
  }
  return tokens;
}

static lua_Integer unit_tokens(const View *view, uint32_t slot) {
  const Units *units = draft_units(view->draft);
  lua_Integer tokens = 0;
  for (; slot != UNIT_NONE; slot = units->next[slot]) {
    if (!draft_slot_is_dropped(view->draft, slot)) tokens += tokens_of(view, slot);
  }
  return tokens;
}

/* Pushes what the loop gets; `number` is that of the id. */
static int push_one(lua_State *L, const View *view, const Walk *walk, uint32_t number) {
  MessageId id = walk->ids[number];
  uint32_t slot = draft_slot_of(view->draft, id), age = walk->total - 1 - number;
  lua_Integer tokens;
  if (walk->kind == WALK_MESSAGES) {
    bind_push_message(L, view->owner, id, slot);
    lua_pushinteger(L, tokens_of(view, slot));
    return 2;
  }
  if (walk->kind == WALK_UNITS) {
    const Units *units = draft_units(view->draft);
    bind_push_unit(L, view->owner, id);
    tokens = unit_tokens(view, units->units[units->unit_of[slot]].first);
  } else {
    tokens = push_turn(L, view, slot, age);
  }
  lua_pushinteger(L, tokens);
  lua_pushinteger(L, age);
  return 3;
}

/* As bind_look, for what is known to be a draft. */
static View look(lua_State *L, int index) {
  DraftHandle *handle = lua_touserdata(L, index);
  View view = {.owner = index, .draft = handle->draft};
  if (handle->draft == NULL) bind_raise(L, "closed", NULL, "the draft has ended");
  lua_getiuservalue(L, index, 1);
  view.handle = lua_touserdata(L, -1);
  if (view.handle->conversation == NULL) bind_check_conversation(L, -1);
  lua_pop(L, 1);
  bind_check_draft_lasts(L, view.draft);
  view.conversation = view.handle->conversation;
  return view;
}

/* Pushes the next that passes, or nil. The draft and the options stand at these
   indices, which may be those of upvalues. */
static int step(lua_State *L, int draft, int options, Walk *walk) {
  View view = look(L, draft);
  if (walk->kind == WALK_TURNS) bind_view_units(L, &view);     /* turns are stretches of slots in order */
  walk->conditions.table = options;
  while (walk->at < walk->end) {
    uint32_t number = walk->newest ? --walk->end : walk->at++;
    if (passes(L, &view, walk, walk->ids[number])) return push_one(L, &view, walk, number);
  }
  lua_pushnil(L);
  return 1;
}

static int l_next(lua_State *L) {
  return step(L, lua_upvalueindex(1), lua_upvalueindex(2), lua_touserdata(L, lua_upvalueindex(3)));
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
  step(L, 1, 2, walk);
  lua_settop(L, 4);          /* the message alone */
  return 1;
}

void bind_open_walk(lua_State *L) {
  static const BindMethod methods[] = {
    {"messages", l_messages, "walk", CHARGE_LIST},
    {"units", l_units, "walk", CHARGE_LIST},
    {"turns", l_turns, "walk", CHARGE_LIST},
    {"last", l_last, "walk", CHARGE_STEP},
    BIND_END,
  };
  bind_methods(L, &BIND_DRAFT, methods);
}
