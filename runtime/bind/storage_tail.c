#include "bind/storage_tail.h"

#include "bind/argument.h"
#include "bind/error.h"
#include "bind/state.h"
#include "bind/storage_read.h"

/* ---- in ---- */

typedef struct TailLook {
  uint32_t wanted;
  Buffer *text;
  SessionInfo info;
  StateTail tail;
  bool alone;
  StoragePast *past;
} TailLook;

static Status look_at_tail(void *user, const SessionInfo *info, StateRowSource rows) {
  TailLook *look = user;
  look->info = *info;
  Status status = state_read_tail(rows, info->stored, info->batches, look->wanted, look->text, &look->tail,
                                  &look->alone);
  if (status != STATUS_OK || !look->alone) return status;
  return storage_past_note(look->past, info, look->tail.batch, rows);
}

static void push_tail(lua_State *L, const StateTail *tail) {
  lua_createtable(L, 0, 4);
  bind_set_integer(L, "batch", tail->batch);
  bind_set_integer(L, "batches", tail->batches);
  bind_set_integer(L, "hidden", tail->hidden);
}

int bind_load_tail(lua_State *L) {
  enum { RESOLVE = 5 };
  Storage *storage = bind_check_storage(L, 1);
  uint64_t session = bind_session_argument(L, 2);
  bind_expect(L, RESOLVE, NULL, LUA_TFUNCTION);
  lua_settop(L, RESOLVE);
  TailLook look = {.wanted = (uint32_t)bind_integer(L, 3, NULL, 1, INT32_MAX / 64), .text = bind_buffer(L)};
  look.past = bind_push_past(L);
  int past = lua_gettop(L);
  StorageError error;
  Status status = storage_look(storage, session, (StorageLook){.run = look_at_tail, .user = &look}, &error);
  if (status == STATUS_SHAPE && error.text[0] == '\0') {
    storage_fail(&error, status, "the rows of the session's last messages are damaged");
  }
  if (status != STATUS_OK) return bind_storage_refuse(L, status, &error);
  if (!look.alone) {
    lua_pushboolean(L, false);
    return 1;
  }
  Text text = text_plain(look.text->bytes, look.text->size);
  int results = bind_load_state(L, "session", text, STATE_READ_JOINED, RESOLVE);
  if (results != 1) return results;
  ConversationHandle *handle = bind_check_conversation(L, -1);
  handle->is_tail = true;
  handle->hidden = look.tail.hidden;
  look.info.name = text_of("");
  bind_push_session_info(L, &look.info);
  push_tail(L, &look.tail);
  lua_pushvalue(L, past);
  return 4;
}

/* ---- out ---- */

static uint32_t number_field(lua_State *L, int index, const char *name) {
  bind_get_field(L, index, name);
  uint32_t number = (uint32_t)bind_integer(L, -1, name, 0, UINT32_MAX);
  lua_pop(L, 1);
  return number;
}

bool bind_tail_of_commit(lua_State *L, int index, const ConversationHandle *before, const ConversationHandle *after,
                         StorageCommit *commit, SessionTail *tail) {
  static const char *const names[] = {"batch", "batches", "hidden", "tokens", "past", NULL};
  bind_check_names(L, index, NULL, names);
  *tail = (SessionTail){.is_set = true, .tail = {.batch = number_field(L, index, "batch"),
                                                 .batches = number_field(L, index, "batches"),
                                                 .hidden = number_field(L, index, "hidden")}};
  bind_get_field(L, index, "tokens");
  int64_t tokens = bind_integer(L, -1, "tokens", 0, INT64_MAX);
  lua_pop(L, 1);
  if (commit->replaces) bind_raise_argument(L, "argument", NULL, "a tail does not replace its session");
  bind_get_field(L, index, "past");
  tail->past = &((PastHandle *)bind_check(L, -1, &BIND_PAST))->past;
  if (tail->past->info.id != commit->session || tail->past->info.version != commit->expected) {
    bind_raise_argument(L, "argument", NULL, "past: expected that of version `expected`");
  }
  tail->next = bind_push_past(L);
  if (storage_past_copy(tail->next, tail->past) != STATUS_OK) bind_raise_status(L, STATUS_MEMORY, "commit");
  const History *history = conversation_history(after->conversation);
  commit->batches = (uint64_t)tail->tail.batches + history_count(history) - 1;
  if (history_current(history) == 0) {
    int64_t added = (int64_t)commit->tokens - (int64_t)bind_request_tokens(before->conversation);
    commit->messages += tail->tail.hidden;
    if (tail->tail.hidden > 0) commit->tokens = tokens + added < 0 ? 0 : (uint64_t)(tokens + added);
  }
  return state_tail_answers(&tail->tail, before->conversation, after->conversation);
}

void bind_advance_tail(SessionTail *tail, const StorageCommit *commit) {
  StoragePast past = *tail->past;
  storage_past_advance(tail->next, commit);
  *tail->past = *tail->next;
  *tail->next = past;      /* to be freed */
}

static Status keep_row(void *user, const StateRow *row) {
  Buffer *bytes = user;
  buffer_reset(bytes);
  return buffer_add(bytes, row->bytes.bytes, row->bytes.size);
}

Status bind_read_tail_growth(Storage *storage, uint64_t session, SessionTail *tail, Buffer *growth,
                             StorageError *error) {
  uint64_t row = state_tail_growth_row(&tail->tail);
  Status status = storage_read_some(storage, session, STATE_ROW_BATCH, row, row,
                                    (StateRowSink){.put = keep_row, .user = growth}, error);
  tail->growth = text_plain(growth->bytes, growth->size);
  return status;
}
