#include "bind/storage_read.h"

#include <string.h>

#include "bind/argument.h"
#include "bind/error.h"
#include "bind/state.h"

/* ---- earlier versions ---- */

static void end_past(void *block) { storage_past_free(&((PastHandle *)block)->past); }

const BindType BIND_PAST = {.name = "Past", .end = end_past};

StoragePast *bind_push_past(lua_State *L) {
  PastHandle *handle = bind_new(L, &BIND_PAST, sizeof *handle, 0);
  storage_past_init(&handle->past, bind_memory(L));
  return &handle->past;
}

/* ---- all of a session ---- */

typedef struct Joining {
  StateJoin join;
  StateRow bad;              /* the row that did not fit */
} Joining;

static Status join_row(void *user, const StateRow *row) {
  Joining *joining = user;
  Status status = state_join_row(&joining->join, row);
  if (status == STATUS_SHAPE) joining->bad = *row;
  return status;
}

/* Reads all rows as the text of a state; `past`: those of that version. */
static Status read_state(Storage *storage, uint64_t session, const StoragePast *past, Buffer *text, SessionInfo *info,
                         StorageError *error) {
  Joining joining = {.bad.kind = STATE_ROW_KINDS};
  Status status = state_join_start(&joining.join, text);
  StateRowSink sink = {.put = join_row, .user = &joining};
  if (status == STATUS_OK && past != NULL) {
    *info = past->info;
    status = storage_past_read(storage, past, sink, error);
  } else if (status == STATUS_OK) {
    status = storage_read(storage, session, sink, info, error);
  }
  if (status == STATUS_SHAPE && joining.bad.kind < STATE_ROW_KINDS) {
    storage_fail(error, status, "the rows of the session do not fit together, from kind %u, number %llu on",
                 (unsigned)joining.bad.kind, (unsigned long long)joining.bad.number);
  }
  Status end = state_join_end(&joining.join);
  return status == STATUS_OK ? end : status;
}

int bind_load_session(lua_State *L) {
  enum { RESOLVE = 4, PAST };
  Storage *storage = bind_check_storage(L, 1);
  uint64_t session = bind_session_argument(L, 2);
  bind_expect(L, RESOLVE, NULL, LUA_TFUNCTION);
  lua_settop(L, PAST);
  const PastHandle *past = lua_toboolean(L, PAST) ? bind_check(L, PAST, &BIND_PAST) : NULL;
  if (past != NULL && past->past.info.id != session) {
    return bind_raise_argument(L, "argument", NULL, "past: expected one of this session");
  }
  StorageError error;
  SessionInfo info;
  Buffer *text = bind_buffer(L);
  Status status = read_state(storage, session, past == NULL ? NULL : &past->past, text, &info, &error);
  if (status != STATUS_OK) return bind_storage_refuse(L, status, &error);
  info.name = text_of("");
  int results = bind_load_state(L, "session", text_plain(text->bytes, text->size), STATE_READ_JOINED, RESOLVE);
  if (results != 1) return results;
  bind_push_session_info(L, &info);
  return 2;
}

/* ---- its messages ---- */

typedef struct Texts {
  Buffer *text;              /* "[message,\nmessage" */
  uint64_t count;
  uint64_t windows;          /* places of windows */
} Texts;

static Status add_message(void *user, const StateRow *row) {
  Texts *texts = user;
  static const char window[] = "{\"type\":\"window\"";      /* where a window stands, not a message */
  if (row->bytes.size >= sizeof window && memcmp(row->bytes.bytes, window, sizeof window - 1) == 0) {
    texts->windows++;
    return STATUS_OK;
  }
  Status status = buffer_add_string(texts->text, texts->count++ == 0 ? "[" : ",\n");
  return status == STATUS_OK ? buffer_add(texts->text, row->bytes.bytes, row->bytes.size) : status;
}

int bind_session_messages(lua_State *L) {
  Storage *storage = bind_check_storage(L, 1);
  uint64_t session = bind_session_argument(L, 2);
  StorageError error;
  Texts texts = {.text = bind_buffer(L)};
  Status status = storage_read_some(storage, session, STATE_ROW_MESSAGE, 1, UINT32_MAX,
                                    (StateRowSink){.put = add_message, .user = &texts}, &error);
  if (status == STATUS_OK) status = buffer_add_string(texts.text, texts.count == 0 ? "[]" : "]");
  if (status != STATUS_OK) return bind_storage_refuse(L, status, &error);
  lua_pushlstring(L, texts.text->bytes, texts.text->size);
  lua_pushinteger(L, (lua_Integer)texts.count);
  lua_pushinteger(L, (lua_Integer)(texts.count + texts.windows));
  return 3;
}

/* ---- its rows ---- */

typedef struct RowCount {
  uint64_t found, written;
} RowCount;

static Status add_row(void *user, const StateRow *row) {
  RowCount *count = user;
  (void)row;
  count->found++;
  return STATUS_OK;
}

static Status count_rows(void *user, const SessionInfo *info, StateRowSource rows) {
  RowCount *count = user;
  Status status = STATUS_OK;
  count->written = info->tally.count;
  for (StateRowKind kind = 0; kind < STATE_ROW_KINDS && status == STATUS_OK; kind++) {
    uint64_t first = info->origin != 0 && storage_shares(kind) ? info->shared + 1 : 0;      /* before: its origin's */
    status = rows.read(rows.user, kind, first, UINT64_MAX, (StateRowSink){.put = add_row, .user = count});
  }
  return status;
}

int bind_session_rows(lua_State *L) {
  Storage *storage = bind_check_storage(L, 1);
  StorageError error;
  RowCount count = {0};
  Status status = storage_look(storage, bind_session_argument(L, 2), (StorageLook){.run = count_rows, .user = &count},
                               &error);
  if (status != STATUS_OK) return bind_storage_refuse(L, status, &error);
  lua_pushinteger(L, (lua_Integer)count.found);
  lua_pushinteger(L, (lua_Integer)count.written);
  return 2;
}
