/*
** Batches: read-only snapshots of a conversation, and differences between two of them.
*/
#include <string.h>

#include "base/map.h"
#include "bind/argument.h"
#include "bind/error.h"
#include "bind/handle.h"
#include "bind/json.h"
#include "bind/list.h"
#include "bind/open.h"
#include "bind/selection.h"
#include "bind/type.h"
#include "core/list/sequence_diff.h"

const Sequence *bind_push_batch_list(lua_State *L, int index, bool has_length, uint32_t length) {
  ConversationHandle *handle = bind_check_conversation(L, 1);
  const History *history = conversation_history(handle->conversation);
  bool named;
  uint32_t named_length = 0, batch = bind_batch_argument(L, handle, index, &named, &named_length);
  BatchInfo info = history_batch(history, batch);
  if (!has_length) length = named ? named_length : info.count;
  if (length < info.born || length > info.count) {
    const char *hint = lua_pushfstring(L, "it had %d to %d messages", (int)info.born, (int)info.count);
    bind_raise_argument(L, "out_of_range", hint, "batch %d never had %d messages", (int)batch, (int)length);
  }
  BatchHandle *batch_handle = bind_new(L, &BIND_BATCH, sizeof *batch_handle, 1);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  batch_handle->removals = conversation_removals(handle->conversation);
  Status status = conversation_reweigh(handle->conversation, batch);
  if (status == STATUS_OK) status = history_state(history, batch, length, &batch_handle->list);
  if (status != STATUS_OK) bind_raise_status(L, status, "batch");
  return batch_handle->list;
}

/* conversation:batch(batch, length) -> Batch */
static int l_batch(lua_State *L) {
  bool has_length = !lua_isnoneornil(L, 3);
  uint32_t length = has_length ? (uint32_t)bind_integer(L, 3, "length", 0, UINT32_MAX) : 0;
  bind_push_batch_list(L, 2, has_length, length);
  return 1;
}

/* conversation:all() -> Selection of every message that is stored, by seq */
static int l_all(lua_State *L) {
  ConversationHandle *handle = bind_check_conversation(L, 1);
  const Store *store = conversation_store(handle->conversation);
  uint32_t count = 0;
  for (MessageId id = store_next(store, 0); id != 0; id = store_next(store, id)) count++;
  Selection *selection = bind_new_selection(L, 1, count);
  for (MessageId id = store_next(store, 0); id != 0; id = store_next(store, id)) {
    selection->items[selection->count] = (Selected){.id = id, .position = selection->count};
    selection->count++;
  }
  return 1;
}

/* ---- diff ---- */

/* A comparison under way; the collector frees it whatever is raised. */
typedef struct DiffHandle {
  Memory memory;             /* of origins and replaced; the diff has that of its sequences */
  SequenceDiff diff;
  Map origins;               /* of removed messages -> their place in diff.removed */
  uint64_t *replaced;        /* bit per removed message */
  size_t replaced_size;
} DiffHandle;

static void end_diff(void *block) {
  DiffHandle *handle = block;
  if (handle->memory.allocate == NULL) return;
  memory_free(&handle->memory, handle->replaced, handle->replaced_size);
  map_free(&handle->origins);
  sequence_diff_free(&handle->diff);
}

/* Pushes the differences of two lists, with a map from origins to removed messages, by which replacements are found.
   Raises for want of memory. */
static DiffHandle *push_diff(lua_State *L, const Store *store, const Sequence *before, const Sequence *after) {
  DiffHandle *handle = bind_own(L, sizeof *handle, end_diff);
  Memory memory = bind_memory(L);
  handle->memory = handle->diff.memory = memory;
  map_init(&handle->origins, memory);
  Status status = sequence_diff(before, after, &handle->diff);
  for (uint32_t i = 0; i < handle->diff.removed_count && status == STATUS_OK; i++) {
    status = map_put(&handle->origins, store_origin(store, handle->diff.removed[i].id), i);
  }
  if (status == STATUS_OK) {
    size_t size = ((size_t)handle->diff.removed_count / 64 + 1) * sizeof *handle->replaced;
    handle->replaced = memory_new(&memory, size);
    if (handle->replaced == NULL) status = STATUS_MEMORY;
    else {
      handle->replaced_size = size;
      memset(handle->replaced, 0, size);
    }
  }
  if (status != STATUS_OK) bind_raise_status(L, status, "diff");
  return handle;
}

/* A list in JSON too when it is empty. */
static void push_list(lua_State *L) {
  lua_newtable(L);
  bind_set_json_mark(L, JSON_MARK_LIST);
}

/* Pushes added and replaced; the batches stand at 4 and 5. A removed and an
   added message of one origin are one that was replaced. */
static void push_added(lua_State *L, const Store *store, DiffHandle *handle) {
  lua_Integer added = 0, replaced = 0;
  push_list(L);
  push_list(L);
  for (uint32_t i = 0; i < handle->diff.added_count; i++) {
    DiffEntry entry = handle->diff.added[i];
    const uint64_t *old = map_find(&handle->origins, store_origin(store, entry.id));
    if (old == NULL) {
      bind_push_message(L, 5, entry.id, entry.index);
      lua_rawseti(L, -3, ++added);
      continue;
    }
    DiffEntry before = handle->diff.removed[*old];
    handle->replaced[*old / 64] |= (uint64_t)1 << (*old % 64);
    lua_createtable(L, 0, 2);
    bind_push_message(L, 4, before.id, before.index);
    lua_setfield(L, -2, "before");
    bind_push_message(L, 5, entry.id, entry.index);
    lua_setfield(L, -2, "after");
    lua_rawseti(L, -2, ++replaced);
  }
}

static void push_removed(lua_State *L, const DiffHandle *handle) {
  lua_Integer removed = 0;
  push_list(L);
  for (uint32_t i = 0; i < handle->diff.removed_count; i++) {
    if (handle->replaced[i / 64] >> (i % 64) & 1) continue;
    bind_push_message(L, 4, handle->diff.removed[i].id, handle->diff.removed[i].index);
    lua_rawseti(L, -2, ++removed);
  }
}

/* conversation:diff(a, b) -> {added, removed, replaced} */
static int l_diff(lua_State *L) {
  ConversationHandle *conversation = bind_check_conversation(L, 1);
  const Store *store = conversation_store(conversation->conversation);
  lua_settop(L, 3);
  const Sequence *before = bind_push_batch_list(L, 2, false, 0);      /* 4 */
  const Sequence *after = bind_push_batch_list(L, 3, false, 0);       /* 5 */
  DiffHandle *handle = push_diff(L, store, before, after);
  lua_createtable(L, 0, 3);
  int result = lua_gettop(L);
  push_added(L, store, handle);
  lua_setfield(L, result, "replaced");
  lua_setfield(L, result, "added");
  push_removed(L, handle);
  lua_setfield(L, result, "removed");
  return 1;
}

static int l_index(lua_State *L) {
  return lua_type(L, 2) == LUA_TNUMBER ? bind_view_get(L) : bind_index_method(L, &BIND_BATCH);
}

void bind_open_batch(lua_State *L) {
  static const BindMethod methods[] = {
    {"batch", l_batch, "batch length", CHARGE_STEP},
    {"all", l_all, "", CHARGE_LIST},
    {"diff", l_diff, "a b", CHARGE_LIST},
    BIND_END,
  };
  bind_methods(L, &BIND_CONVERSATION, methods);
  bind_type(L, &BIND_BATCH, l_index, bind_view_length);
  bind_open_list(L, &BIND_BATCH);
}
