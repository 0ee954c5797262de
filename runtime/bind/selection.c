/*
** Selections: messages that a query chose, by seq and by where they stood.
**
** Most name their messages one by one. A rest, which leaves few out of a list that
** may be long, holds a share of that list and the gaps instead:
**
**     list        0 1 2 3 4 5 6
**     gaps          1     4           gap - number: 1 3, so many are selected before it
**     selection   0   2 3   5 6       the i-th stands at i + gaps with i or fewer before them
*/
#include "bind/argument.h"
#include "bind/error.h"
#include "bind/open.h"
#include "bind/handle.h"
#include "bind/selection.h"
#include "bind/type.h"
#include "bind/view.h"

static uint64_t messages_of(lua_State *L, int index) { return ((const Selection *)lua_touserdata(L, index))->count; }

static void end_selection(void *block) {
  Selection *selection = block;
  sequence_release(selection->list);
  selection->list = NULL;
  selection->count = 0;
}

const BindType BIND_SELECTION = {"Selection", messages_of, end_selection, NULL};

/* With `size` bytes behind it. */
static Selection *push_new(lua_State *L, int owner, size_t size) {
  owner = lua_absindex(L, owner);
  Selection *selection = bind_new(L, &BIND_SELECTION, sizeof *selection + size, 1);
  lua_pushvalue(L, owner);
  lua_setiuservalue(L, -2, 1);
  return selection;
}

Selection *bind_new_selection(lua_State *L, int owner, uint32_t room) {
  Selection *selection = push_new(L, owner, room * sizeof *selection->items);
  selection->items = (Selected *)(selection + 1);
  return selection;
}

Selection *bind_new_rest(lua_State *L, int owner, const Sequence *list, uint32_t room) {
  Selection *selection = push_new(L, owner, room * sizeof *selection->gaps);
  selection->gaps = (uint32_t *)(selection + 1);
  Status status = sequence_share(list, &selection->list);
  if (status != STATUS_OK) bind_raise_status(L, status, "selection");
  return selection;
}

/* Gaps before the i-th message of a rest. */
static uint32_t gaps_before(const Selection *selection, uint32_t i) {
  uint32_t low = 0, high = selection->gap_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (selection->gaps[middle] - middle <= i) low = middle + 1;
    else high = middle;
  }
  return low;
}

Selected bind_selected(Selection *selection, uint32_t i) {
  if (selection->items != NULL) return selection->items[i];
  uint32_t position = i + gaps_before(selection, i);
  SequenceWalk *run = &selection->run;
  if (position - run->index >= run->count) {      /* also where it lies before */
    *run = sequence_walk(selection->list, position, sequence_count(selection->list));
    sequence_walk_next(run);
  }
  return (Selected){.id = run->ids[position - run->index], .position = position};
}

/* Pushes items [first, end) of the selection at 1 as a new one. */
static int push_slice(lua_State *L, Selection *from, uint32_t first, uint32_t end) {
  lua_getiuservalue(L, 1, 1);
  Selection *slice = bind_new_selection(L, -1, end - first);
  for (uint32_t i = first; i < end; i++) slice->items[slice->count++] = bind_selected(from, i);
  return 1;
}

static uint32_t check_n(lua_State *L, const Selection *selection) {
  lua_Integer n = bind_integer(L, 2, "n", 0, UINT32_MAX);
  return n < selection->count ? (uint32_t)n : selection->count;
}

/* selection:first(n) -> Selection */
static int l_first(lua_State *L) {
  Selection *selection = bind_check(L, 1, &BIND_SELECTION);
  return push_slice(L, selection, 0, check_n(L, selection));
}

/* selection:last(n) -> Selection */
static int l_last(lua_State *L) {
  Selection *selection = bind_check(L, 1, &BIND_SELECTION);
  return push_slice(L, selection, selection->count - check_n(L, selection), selection->count);
}

/* selection:slice(i, j) -> Selection; what lies outside is left out */
static int l_slice(lua_State *L) {
  Selection *selection = bind_check(L, 1, &BIND_SELECTION);
  lua_Integer i = bind_integer(L, 2, "i", 1, UINT32_MAX), j = bind_integer(L, 3, "j", 0, UINT32_MAX);
  if (j > selection->count) j = selection->count;
  if (i > j) i = j + 1;
  return push_slice(L, selection, (uint32_t)(i - 1), (uint32_t)j);
}

/* selection:count() -> integer */
static int l_count(lua_State *L) {
  Selection *selection = bind_check(L, 1, &BIND_SELECTION);
  lua_pushinteger(L, selection->count);
  return 1;
}

/* selection:tokens() -> integer */
static int l_tokens(lua_State *L) {
  Selection *selection = bind_check(L, 1, &BIND_SELECTION);
  lua_Integer tokens = 0;
  lua_getiuservalue(L, 1, 1);
  View view = bind_look(L, -1);
  for (uint32_t i = 0; i < selection->count; i++) {
    MessageId id = bind_selected(selection, i).id;
    bind_check_there(L, &view, id);
    tokens += bind_view_message_tokens(&view, id);
  }
  lua_pushinteger(L, tokens);
  return 1;
}

/* selection:positions() -> list of positions at the time of the query */
static int l_positions(lua_State *L) {
  Selection *selection = bind_check(L, 1, &BIND_SELECTION);
  lua_createtable(L, (int)selection->count, 0);
  for (uint32_t i = 0; i < selection->count; i++) {
    lua_pushinteger(L, (lua_Integer)bind_selected(selection, i).position + 1);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* selection:seqs() -> list of seqs */
static int l_seqs(lua_State *L) {
  Selection *selection = bind_check(L, 1, &BIND_SELECTION);
  lua_createtable(L, (int)selection->count, 0);
  for (uint32_t i = 0; i < selection->count; i++) {
    lua_pushinteger(L, (lua_Integer)bind_selected(selection, i).id);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

static int l_index(lua_State *L) {
  if (lua_type(L, 2) != LUA_TNUMBER) return bind_index_method(L, &BIND_SELECTION);
  Selection *selection = bind_check(L, 1, &BIND_SELECTION);
  lua_Integer i = lua_tointeger(L, 2);
  if (i < 1 || i > selection->count) return 0;
  lua_getiuservalue(L, 1, 1);
  Selected selected = bind_selected(selection, (uint32_t)(i - 1));
  bind_push_message(L, -1, selected.id, selected.position);
  return 1;
}

void bind_open_selection(lua_State *L) {
  static const BindMethod methods[] = {
    {"first", l_first, "n", CHARGE_STEP},
    {"last", l_last, "n", CHARGE_STEP},
    {"slice", l_slice, "i j", CHARGE_LIST},
    {"count", l_count, "", CHARGE_STEP},
    {"tokens", l_tokens, "", CHARGE_LIST},
    {"positions", l_positions, "", CHARGE_LIST},
    {"seqs", l_seqs, "", CHARGE_LIST},
    BIND_END,
  };
  bind_type(L, &BIND_SELECTION, l_index, l_count);
  bind_methods(L, &BIND_SELECTION, methods);
}
