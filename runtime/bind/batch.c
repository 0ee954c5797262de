/*
** Batches: read-only snapshots, and what lies between two of them.
*/
#include <string.h>

#include "bind/bind.h"

static int l_free(lua_State *L) {
  BatchHandle *handle = lua_touserdata(L, 1);
  units_free(handle->units);
  sequence_release(handle->list);
  *handle = (BatchHandle){0};
  return 0;
}

/* Pushes the state of a batch; the conversation stands at 1. */
static const Sequence *push_state(lua_State *L, int index, bool has_length, uint32_t length) {
  ConversationHandle *handle = bind_check_conversation(L, 1);
  const History *history = conversation_history(handle->conversation);
  bool named;
  uint32_t named_length = 0, batch = bind_batch_argument(L, handle, index, &named, &named_length);
  BatchInfo info = history_batch(history, batch);
  if (!has_length) length = named ? named_length : info.count;
  if (length < info.born || length > info.count) {
    const char *hint = lua_pushfstring(L, "it had %d to %d messages", (int)info.born, (int)info.count);
    bind_raise(L, "out_of_range", hint, "batch %d never had %d messages", (int)batch, (int)length);
  }
  BatchHandle *made = bind_new(L, &BIND_BATCH, sizeof *made, 1);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  Status status = history_state(history, batch, length, &made->list);
  if (status != STATUS_OK) bind_raise_status(L, status, "batch");
  return made->list;
}

/* conversation:batch(batch, length) -> Batch */
static int l_batch(lua_State *L) {
  bool has_length = !lua_isnoneornil(L, 3);
  uint32_t length = has_length ? (uint32_t)bind_integer(L, 3, "length", 0, UINT32_MAX) : 0;
  push_state(L, 2, has_length, length);
  return 1;
}

/* conversation:all() -> Selection of every message ever stored, by seq */
static int l_all(lua_State *L) {
  ConversationHandle *handle = bind_check_conversation(L, 1);
  uint32_t count = store_count(conversation_store(handle->conversation));
  Selection *selection = bind_new_selection(L, 1, count);
  for (uint32_t i = 0; i < count; i++) selection->items[i] = (Selected){.id = i + 1, .position = i};
  selection->count = count;
  return 1;
}

/* ---- diff ---- */

/* Where each message of a list stands, by seq: position + 1, or 0. */
static uint32_t *push_places(lua_State *L, const Sequence *list, uint32_t store_size) {
  size_t size = ((size_t)store_size + 1) * sizeof(uint32_t);
  uint32_t *places = lua_newuserdatauv(L, size, 0);
  memset(places, 0, size);
  SequenceWalk walk = sequence_walk(list, 0, sequence_count(list));
  while (sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count; i++) places[walk.ids[i]] = walk.index + i + 1;
  }
  return places;
}

typedef struct Difference {
  Conversation *conversation;
  const Sequence *before, *after;
  uint32_t *in_before, *in_after, *by_origin;    /* by_origin: seq in `before`, by origin */
} Difference;

static MessageId origin_of(const Difference *difference, MessageId id) {
  return store_origin(conversation_store(difference->conversation), id);
}

/* The message of `before` that `id`, which is only in `after`, replaced; or 0. */
static MessageId replaced_by(const Difference *difference, MessageId id) {
  MessageId old = difference->by_origin[origin_of(difference, id)];
  return old != 0 && difference->in_after[old] == 0 ? old : 0;
}

static void push_added(lua_State *L, const Difference *difference, int batch) {
  lua_Integer added = 0, replaced = 0;
  lua_newtable(L);           /* added */
  lua_newtable(L);           /* added replaced */
  SequenceWalk walk = sequence_walk(difference->after, 0, sequence_count(difference->after));
  while (sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count; i++) {
      MessageId id = walk.ids[i], old;
      if (difference->in_before[id] != 0) continue;
      old = replaced_by(difference, id);
      if (old == 0) {
        bind_push_message(L, batch + 1, id, walk.index + i);
        lua_rawseti(L, -3, ++added);
        continue;
      }
      difference->in_after[old] = walk.index + i + 1;    /* not removed, but replaced */
      lua_createtable(L, 0, 2);
      bind_push_message(L, batch, old, difference->in_before[old] - 1);
      lua_setfield(L, -2, "before");
      bind_push_message(L, batch + 1, id, walk.index + i);
      lua_setfield(L, -2, "after");
      lua_rawseti(L, -2, ++replaced);
    }
  }
}

static void push_removed(lua_State *L, const Difference *difference, int batch) {
  lua_Integer removed = 0;
  lua_newtable(L);
  SequenceWalk walk = sequence_walk(difference->before, 0, sequence_count(difference->before));
  while (sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count; i++) {
      if (difference->in_after[walk.ids[i]] != 0) continue;
      bind_push_message(L, batch, walk.ids[i], walk.index + i);
      lua_rawseti(L, -2, ++removed);
    }
  }
}

/* conversation:diff(a, b) -> {added, removed, replaced} */
static int l_diff(lua_State *L) {
  ConversationHandle *handle = bind_check_conversation(L, 1);
  lua_settop(L, 3);
  uint32_t size = store_count(conversation_store(handle->conversation));
  Difference difference = {.conversation = handle->conversation};
  difference.before = push_state(L, 2, false, 0);        /* 4 */
  difference.after = push_state(L, 3, false, 0);         /* 5 */
  difference.in_before = push_places(L, difference.before, size);
  difference.in_after = push_places(L, difference.after, size);
  difference.by_origin = push_places(L, difference.before, size);
  memset(difference.by_origin, 0, ((size_t)size + 1) * sizeof *difference.by_origin);
  SequenceWalk walk = sequence_walk(difference.before, 0, sequence_count(difference.before));
  while (sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count; i++) difference.by_origin[origin_of(&difference, walk.ids[i])] = walk.ids[i];
  }
  lua_createtable(L, 0, 3);
  int result = lua_gettop(L);
  push_added(L, &difference, 4);
  lua_setfield(L, result, "replaced");
  lua_setfield(L, result, "added");
  push_removed(L, &difference, 4);
  lua_setfield(L, result, "removed");
  return 1;
}

static int l_index(lua_State *L) {
  if (lua_type(L, 2) != LUA_TNUMBER) return bind_index_method(L, &BIND_BATCH);
  View view = bind_view(L, 1);
  lua_Integer i = lua_tointeger(L, 2);
  if (i < 1 || i > sequence_count(view.list)) return 0;
  bind_push_message(L, 1, sequence_at(view.list, (uint32_t)(i - 1)), (uint32_t)(i - 1));
  return 1;
}

static int l_length(lua_State *L) {
  lua_pushinteger(L, sequence_count(bind_view(L, 1).list));
  return 1;
}

void bind_open_batch(lua_State *L) {
  static const BindMethod methods[] = {
    {"batch", l_batch, "batch length"}, {"all", l_all, ""}, {"diff", l_diff, "a b"}, {NULL, NULL, NULL}};
  bind_methods(L, &BIND_CONVERSATION, methods);
  bind_type(L, &BIND_BATCH, l_index, l_length, l_free);
  bind_open_list(L, &BIND_BATCH);
}
