/*
** Units and turns of a list, as Lua values.
**
** A unit handle has the seq of the unit's first message and its owner, the conversation,
** batch or draft; each access looks the unit up again. A turn has the seqs of its messages.
** Messages that a draft has dropped are in no result.
*/
#include "bind/argument.h"
#include "bind/open.h"
#include "bind/handle.h"
#include "bind/type.h"
#include "bind/unit.h"
#include "bind/view.h"

const BindType BIND_TURN = {.name = "Turn"};

/* Where the unit of a handle stands in its owner; valid until the owner is edited. */
typedef struct UnitPlace {
  View view;                 /* of the owner, which place_of leaves on the stack */
  const Units *units;        /* of the owner; borrowed */
  uint32_t number;           /* of the unit among them */
  Unit unit;
} UnitPlace;

/* Looks up the unit at `index` and pushes its owner. Raises if the list has lost its first message. */
static UnitPlace place_of(lua_State *L, int index) {
  UnitHandle *handle = bind_check(L, index, &BIND_UNIT);
  UnitPlace place;
  lua_getiuservalue(L, index, 1);
  place.view = bind_look(L, -1);
  place.units = bind_view_groups(L, &place.view);
  uint32_t slot = bind_view_slot(L, &place.view, handle->first, 0);
  if (slot == UNIT_NONE) bind_raise_argument(L, "out_of_range", NULL, "the unit is no longer in the list");
  place.number = place.units->unit_of[slot];
  place.unit = place.units->units[place.number];
  return place;
}

static void push_messages(lua_State *L, UnitPlace *place) {
  lua_Integer n = 0;
  lua_newtable(L);
  for (uint32_t slot = place->unit.first; slot != UNIT_NONE; slot = place->units->next[slot]) {
    if (bind_view_slot_is_dropped(&place->view, slot)) continue;
    bind_push_message(L, place->view.owner, bind_view_slot_message(&place->view, slot), slot);
    lua_rawseti(L, -2, ++n);
  }
}

static void push_first(lua_State *L, UnitPlace *place) {
  bind_view_list(L, &place->view);
  for (uint32_t slot = place->unit.first; slot != UNIT_NONE; slot = place->units->next[slot]) {
    if (bind_view_slot_is_dropped(&place->view, slot)) continue;
    uint32_t index = sequence_index_of(place->view.list, bind_view_slot_message(&place->view, slot), slot);
    lua_pushinteger(L, (lua_Integer)index + 1);
    return;
  }
  lua_pushnil(L);
}

/* Number of the unit's messages that are not dropped; *tokens gets their sum, which fits because a
   list's sums do (core/list/sequence.h). */
static uint32_t remaining_messages(const UnitPlace *place, uint32_t *tokens) {
  uint32_t count = 0;
  *tokens = 0;
  for (uint32_t slot = place->unit.first; slot != UNIT_NONE; slot = place->units->next[slot]) {
    if (bind_view_slot_is_dropped(&place->view, slot)) continue;
    *tokens += bind_view_message_tokens(&place->view, bind_view_slot_message(&place->view, slot));
    count++;
  }
  return count;
}

uint32_t bind_unit_messages(lua_State *L, int index, MessageId **ids) {
  UnitPlace place = place_of(L, index);
  uint32_t count = 0, tokens;
  lua_pop(L, 1);
  *ids = lua_newuserdatauv(L, remaining_messages(&place, &tokens) * sizeof **ids + 1, 0);
  for (uint32_t slot = place.unit.first; slot != UNIT_NONE; slot = place.units->next[slot]) {
    if (!bind_view_slot_is_dropped(&place.view, slot)) (*ids)[count++] = bind_view_slot_message(&place.view, slot);
  }
  return count;
}

static bool is_guarded(const UnitPlace *place) {
  return place->view.draft != NULL && draft_slot_hold(place->view.draft, place->unit.first) != HOLD_NONE;
}

static void push_role(lua_State *L, const UnitPlace *place) {
  MessageId first = bind_view_slot_message(&place->view, place->unit.first);
  const Message *message = conversation_message(place->view.conversation, first);
  if (message_is_window(message)) lua_pushnil(L);
  else lua_pushstring(L, role_name(message_role(message)));
}

typedef enum UnitField {
  UNIT_OF_MESSAGES, UNIT_OF_FIRST, UNIT_OF_COUNT, UNIT_OF_TOKENS, UNIT_OF_ROLE, UNIT_OF_OPEN, UNIT_OF_PENDING,
  UNIT_OF_GUARDED, UNIT_OF_AGE
} UnitField;

static const char *const UNIT_FIELDS[] = {"messages", "first",   "count",   "tokens", "role",
                                          "open",     "pending", "guarded", "age",    NULL};

static int l_unit_index(lua_State *L) {
  int field = bind_find_field(L, UNIT_FIELDS);
  if (field < 0) return bind_index_method(L, &BIND_UNIT);
  UnitPlace place = place_of(L, 1);
  uint32_t tokens;
  switch ((UnitField)field) {
  case UNIT_OF_MESSAGES: push_messages(L, &place); break;
  case UNIT_OF_FIRST: push_first(L, &place); break;
  case UNIT_OF_COUNT: lua_pushinteger(L, remaining_messages(&place, &tokens)); break;
  case UNIT_OF_TOKENS: {
    remaining_messages(&place, &tokens);
    lua_pushinteger(L, tokens);
    break;
  }
  case UNIT_OF_ROLE: push_role(L, &place); break;
  case UNIT_OF_OPEN: lua_pushboolean(L, place.unit.open); break;
  case UNIT_OF_PENDING: lua_pushboolean(L, place.unit.pending); break;
  case UNIT_OF_GUARDED: lua_pushboolean(L, is_guarded(&place)); break;
  case UNIT_OF_AGE:
    bind_view_units(L, &place.view);         /* in order; the place is another one then */
    place = place_of(L, 1);
    lua_pushinteger(L, (lua_Integer)place.units->count - 1 - place.number);
    break;
  }
  return 1;
}

/* ---- turns ---- */

Turn *bind_push_turn(lua_State *L, int owner, uint32_t room, uint32_t age) {
  owner = lua_absindex(L, owner);
  Turn *turn = bind_new(L, &BIND_TURN, sizeof *turn + room * sizeof *turn->ids, 1);
  lua_pushvalue(L, owner);
  lua_setiuservalue(L, -2, 1);
  turn->age = age;
  return turn;
}

typedef enum TurnField { TURN_OF_MESSAGES, TURN_OF_FIRST, TURN_OF_COUNT, TURN_OF_TOKENS, TURN_OF_AGE } TurnField;

static const char *const TURN_FIELDS[] = {"messages", "first", "count", "tokens", "age", NULL};

static void push_turn_messages(lua_State *L, const View *view, const Turn *turn) {
  lua_createtable(L, (int)turn->count, 0);
  for (uint32_t i = 0; i < turn->count; i++) {
    bind_push_message(L, view->owner, turn->ids[i], 0);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static lua_Integer turn_tokens(lua_State *L, const View *view, const Turn *turn) {
  lua_Integer tokens = 0;
  for (uint32_t i = 0; i < turn->count; i++) {
    bind_check_there(L, view, turn->ids[i]);
    tokens += bind_view_message_tokens(view, turn->ids[i]);
  }
  return tokens;
}

static int l_turn_index(lua_State *L) {
  int field = bind_find_field(L, TURN_FIELDS);
  if (field < 0) return bind_index_method(L, &BIND_TURN);
  Turn *turn = bind_check(L, 1, &BIND_TURN);
  lua_getiuservalue(L, 1, 1);
  View view = bind_look(L, -1);
  switch ((TurnField)field) {
  case TURN_OF_MESSAGES: push_turn_messages(L, &view, turn); break;
  case TURN_OF_FIRST: {
    bind_view_list(L, &view);
    uint32_t index = sequence_index_of(view.list, turn->ids[0], 0);
    if (index < sequence_count(view.list)) lua_pushinteger(L, (lua_Integer)index + 1);
    else lua_pushnil(L);
    break;
  }
  case TURN_OF_COUNT: lua_pushinteger(L, turn->count); break;
  case TURN_OF_TOKENS: lua_pushinteger(L, turn_tokens(L, &view, turn)); break;
  case TURN_OF_AGE: lua_pushinteger(L, turn->age); break;
  }
  return 1;
}

void bind_open_unit(lua_State *L) {
  bind_type(L, &BIND_UNIT, l_unit_index, NULL);
  bind_type(L, &BIND_TURN, l_turn_index, NULL);
  bind_open_fields(L, &BIND_UNIT, UNIT_FIELDS);
  bind_open_fields(L, &BIND_TURN, TURN_FIELDS);
}
