/*
** The sessions of a database: their names and figures, and branches.
*/
#include "storage/sqlite_data.h"

#include <assert.h>
#include <inttypes.h>

#include "codec/xxh64.h"

/* ---- rows of the table ---- */

static uint64_t column(const SqliteStorage *s, sqlite3_stmt *statement, int index) {
  return (uint64_t)s->lib->column_int64(statement, index);
}

SessionInfo sqlite_info(const SqliteStorage *s, sqlite3_stmt *statement) {
  const char *name = (const char *)s->lib->column_text(statement, 1);
  SessionInfo info = {.id = column(s, statement, 0),
                      .name = text_plain(name == NULL ? "" : name, (size_t)s->lib->column_bytes(statement, 1))};
  int at = 2;
#define READ_COLUMN(member, column) info.member = s->lib->column_int64(statement, at++);
  SESSION_COLUMNS(READ_COLUMN)
  return info;
}

#define COLUMN_VALUE(member, column) (uint64_t)info->member,

int64_t sqlite_session_checksum(const SessionInfo *info) {
  uint64_t fields[] = {info->id, SESSION_COLUMNS(COLUMN_VALUE)};
  Xxh64 hash;
  xxh64_start(&hash);
  xxh64_add(&hash, fields, sizeof fields);
  xxh64_add(&hash, info->name.bytes, info->name.size);
  return (int64_t)xxh64_end(&hash);
}

void sqlite_bind_info(const SqliteStorage *s, sqlite3_stmt *statement, const SessionInfo *info) {
  uint64_t numbers[] = {SESSION_COLUMNS(COLUMN_VALUE) (uint64_t)sqlite_session_checksum(info)};
  s->lib->bind_int64(statement, 1, (int64_t)info->id);
  s->lib->bind_text64(statement, 2, info->name.bytes, info->name.size, SQLITE_STATIC, SQLITE_UTF8);
  for (int i = 2; i <= SQLITE_SUM_COLUMN; i++) s->lib->bind_int64(statement, i + 1, (int64_t)numbers[i - 2]);
}

/* Takes the row of a statement. SHAPE: it differs from its checksum. */
static Status take_info(const SqliteStorage *s, sqlite3_stmt *statement, SessionInfo *info, StorageError *error) {
  *info = sqlite_info(s, statement);
  if (sqlite_session_checksum(info) == s->lib->column_int64(statement, SQLITE_SUM_COLUMN)) return STATUS_OK;
  return storage_fail(error, STATUS_SHAPE, "%s: the row of session %" PRIu64 " is damaged", s->path, info->id);
}

Status sqlite_seal(SqliteStorage *s, uint64_t session, StorageError *error) {
  Status status;
  sqlite3_stmt *statement = sqlite_prepare(s, SQL_SESSION, &status, error);
  if (statement == NULL) return status;
  s->lib->bind_int64(statement, 1, (int64_t)session);
  bool found = sqlite_next(s, statement, &status, error);
  SessionInfo info = found ? sqlite_info(s, statement) : (SessionInfo){0};
  int64_t values[] = {(int64_t)session, found ? sqlite_session_checksum(&info) : 0};
  s->lib->reset(statement);
  return found ? sqlite_run(s, SQL_SEAL, 2, values, error) : status;
}

Status sqlite_tally(SqliteStorage *s, uint64_t first, uint64_t last, RowTally *tally, StorageError *error) {
  Status status;
  *tally = (RowTally){0};
  sqlite3_stmt *statement = sqlite_prepare(s, SQL_TALLY, &status, error);
  if (statement == NULL) return status;
  s->lib->bind_int64(statement, 1, (int64_t)first);
  s->lib->bind_int64(statement, 2, (int64_t)last);
  if (sqlite_next(s, statement, &status, error)) {
    *tally = (RowTally){column(s, statement, 0), column(s, statement, 1)};
  }
  s->lib->reset(statement);
  return status;
}

Status sqlite_add_tally(SqliteStorage *s, uint64_t session, RowTally added, StorageError *error) {
  int64_t values[] = {(int64_t)session, (int64_t)added.count, (int64_t)added.sum};
  Status status = sqlite_run(s, SQL_ADD_TALLY, 3, values, error);
  return status == STATUS_OK ? sqlite_seal(s, session, error) : status;
}

/* SHAPE: not all sessions can be read. One that is hidden would be taken for one that never was. */
static Status check_register(SqliteStorage *s, StorageError *error) {
  Status status;
  sqlite3_stmt *statement = sqlite_prepare(s, SQL_REGISTER, &status, error);
  if (statement == NULL) return status;
  if (sqlite_next(s, statement, &status, error)) {
    int64_t readable = s->lib->column_int64(statement, 0), sessions = s->lib->column_int64(statement, 1);
    if (readable != sessions) {
      status = storage_fail(error, STATUS_SHAPE, "%s: it is damaged: of %" PRId64 " sessions %" PRId64 " can be read",
                            s->path, sessions, readable);
    }
  }
  s->lib->reset(statement);
  return status;
}

Status sqlite_list(Storage *storage, SessionSink sink, StorageError *error) {
  SqliteStorage *s = sqlite_of(storage);
  Status status;
  sqlite3_stmt *statement = sqlite_prepare(s, SQL_LIST, &status, error);
  if (statement == NULL) return status;
  while (status == STATUS_OK && sqlite_next(s, statement, &status, error)) {
    SessionInfo info;
    status = take_info(s, statement, &info, error);
    if (status == STATUS_OK) status = sink.add(sink.user, &info);
  }
  s->lib->reset(statement);
  return status == STATUS_OK ? check_register(s, error) : status;
}

/* The one row of a statement whose values are bound; *info's name is not valid then. */
static Status one(SqliteStorage *s, sqlite3_stmt *statement, SessionInfo *info, StorageError *error) {
  Status status = STATUS_OK;
  bool found = sqlite_next(s, statement, &status, error);
  if (found) status = take_info(s, statement, info, error);
  info->name = text_plain("", 0);
  s->lib->reset(statement);
  if (status != STATUS_OK || found) return status;
  status = check_register(s, error);
  return status == STATUS_OK ? storage_fail(error, STATUS_ABSENT, "%s: no such session", s->path) : status;
}

/* The number that the index of names has for a name; 0: none, or the index is damaged. */
static Status guess(SqliteStorage *s, Text name, uint64_t *session, StorageError *error) {
  Status status;
  *session = 0;
  sqlite3_stmt *statement = sqlite_prepare(s, SQL_GUESS, &status, error);
  if (statement == NULL) return status;
  s->lib->bind_text64(statement, 1, name.bytes, name.size, SQLITE_STATIC, SQLITE_UTF8);
  if (sqlite_next(s, statement, &status, error)) *session = column(s, statement, 0);
  s->lib->reset(statement);
  s->lib->clear_bindings(statement);
  return status == STATUS_SHAPE ? STATUS_OK : status;
}

/* Takes the row of a number if it is whole and has the name, so that its place in an index proves nothing. */
static bool is_named(SqliteStorage *s, uint64_t session, Text name, SessionInfo *info) {
  Status status;
  StorageError ignored;
  sqlite3_stmt *statement = sqlite_prepare(s, SQL_SESSION, &status, &ignored);
  if (statement == NULL) return false;
  s->lib->bind_int64(statement, 1, (int64_t)session);
  bool is_whole = sqlite_next(s, statement, &status, &ignored) && take_info(s, statement, info, &ignored) == STATUS_OK;
  bool is_same = is_whole && text_equal(info->name, name);
  s->lib->reset(statement);
  return is_same;
}

/* By the index first. Only where that does not lead to the session are all names read, so that a damaged index
   neither hides one nor gives another. */
Status sqlite_find(Storage *storage, Text name, SessionInfo *info, StorageError *error) {
  SqliteStorage *s = sqlite_of(storage);
  uint64_t session;
  Status status = guess(s, name, &session, error);
  if (status != STATUS_OK) return status;
  if (session != 0 && is_named(s, session, name, info)) {
    info->name = text_plain("", 0);
    return STATUS_OK;
  }
  sqlite3_stmt *statement = sqlite_prepare(s, SQL_FIND, &status, error);
  if (statement == NULL) return status;
  s->lib->bind_text64(statement, 1, name.bytes, name.size, SQLITE_STATIC, SQLITE_UTF8);
  status = one(s, statement, info, error);
  s->lib->clear_bindings(statement);
  return status;
}

Status sqlite_session(SqliteStorage *s, uint64_t session, SessionInfo *info, StorageError *error) {
  Status status;
  sqlite3_stmt *statement = sqlite_prepare(s, SQL_SESSION, &status, error);
  if (statement == NULL) return status;
  s->lib->bind_int64(statement, 1, (int64_t)session);
  return one(s, statement, info, error);
}

/* ---- new ones, new names ---- */

/* Runs a statement whose first value is a name that must be new. */
static Status run_named(SqliteStorage *s, SqliteStatement which, Text name, int count, const int64_t *values,
                        StorageError *error) {
  Status status;
  sqlite3_stmt *statement = sqlite_prepare(s, which, &status, error);
  if (statement == NULL) return status;
  s->lib->bind_text64(statement, 1, name.bytes, name.size, SQLITE_STATIC, SQLITE_UTF8);
  for (int i = 0; i < count; i++) s->lib->bind_int64(statement, i + 2, values[i]);
  int code = s->lib->step(statement);
  if (code != SQLITE_DONE) {
    bool taken = s->lib->extended_errcode(s->db) == SQLITE_CONSTRAINT_UNIQUE;
    status = taken ? storage_fail(error, STATUS_DUPLICATE, "%s: a session of that name exists", s->path)
                   : sqlite_fail(s, code, error);
  }
  s->lib->reset(statement);
  s->lib->clear_bindings(statement);
  return status;
}

static Status check_room(const SqliteStorage *s, uint64_t session, StorageError *error) {
  if (session <= STORAGE_SESSIONS_MAX) return STATUS_OK;
  return storage_fail(error, STATUS_LIMIT, "%s: no number is left for another session", s->path);
}

Status sqlite_create(Storage *storage, Text name, int64_t now, SessionInfo *info, StorageError *error) {
  SqliteStorage *s = sqlite_of(storage);
  Status status = sqlite_begin(s, true, error);
  if (status != STATUS_OK) return status;
  status = run_named(s, SQL_CREATE, name, 1, &now, error);
  *info = (SessionInfo){.id = (uint64_t)s->lib->last_insert_rowid(s->db), .created = now, .changed = now};
  if (status == STATUS_OK) status = check_room(s, info->id, error);
  if (status == STATUS_OK) status = sqlite_seal(s, info->id, error);
  return sqlite_end(s, status, error);
}

Status sqlite_rename(Storage *storage, uint64_t session, Text name, StorageError *error) {
  SqliteStorage *s = sqlite_of(storage);
  SessionInfo info;
  Status status = sqlite_begin(s, true, error);
  if (status != STATUS_OK) return status;
  status = sqlite_session(s, session, &info, error);
  if (status == STATUS_OK) status = run_named(s, SQL_RENAME, name, 1, (int64_t[]){(int64_t)session}, error);
  if (status == STATUS_OK) status = sqlite_seal(s, session, error);
  return sqlite_end(s, status, error);
}

/* ---- branches ---- */

/* Copies rows that the target has not, and adds them to *copied. */
static Status copy_rows(SqliteStorage *s, uint64_t from, uint64_t to, StateRowKind kind, uint64_t last,
                        RowTally *copied, StorageError *error) {
  RowTally before, after;
  uint64_t first = sqlite_row_id(to, kind, 0), end = sqlite_row_id(to, kind, last);
  int64_t shift = (int64_t)(to - from) * (INT64_C(1) << ROW_SESSION_SHIFT);
  int64_t other = (int64_t)((from ^ to) << STORAGE_SUM_SHIFT);
  int64_t values[] = {(int64_t)sqlite_row_id(from, kind, 0), (int64_t)sqlite_row_id(from, kind, last), shift, other};
  Status status = sqlite_tally(s, first, end, &before, error);
  if (status == STATUS_OK) status = sqlite_run(s, SQL_COPY_ROWS, 4, values, error);
  if (status == STATUS_OK) status = sqlite_tally(s, first, end, &after, error);
  if (status != STATUS_OK) return status;
  copied->count += after.count - before.count;
  copied->sum += after.sum - before.sum;
  return STATUS_OK;
}

/* Gives a branch the rows that it shares with a session, and that session's origin. */
static Status adopt_rows(SqliteStorage *s, const SessionInfo *session, uint64_t child, uint64_t shared,
                         StorageError *error) {
  SessionInfo info;
  Status status = sqlite_session(s, child, &info, error);
  for (StateRowKind kind = STATE_ROW_MESSAGE; kind <= STATE_ROW_ANSWERS && status == STATUS_OK; kind++) {
    status = copy_rows(s, session->id, child, kind, shared, &info.tally, error);
  }
  uint64_t rest = session->origin == 0 ? 0 : session->shared < shared ? session->shared : shared;
  int64_t values[] = {(int64_t)child, (int64_t)session->origin, (int64_t)rest, (int64_t)info.tally.count,
                      (int64_t)info.tally.sum};
  if (status == STATUS_OK) status = sqlite_run(s, SQL_UNSHARE, 5, values, error);
  return status == STATUS_OK ? sqlite_seal(s, child, error) : status;
}

Status sqlite_unshare(SqliteStorage *s, uint64_t session, StorageError *error) {
  SessionInfo info;
  Status status = sqlite_session(s, session, &info, error);
  while (status == STATUS_OK) {      /* each branch leaves the list of branches */
    sqlite3_stmt *statement = sqlite_prepare(s, SQL_CHILDREN, &status, error);
    if (statement == NULL) return status;
    s->lib->bind_int64(statement, 1, (int64_t)session);
    bool any = sqlite_next(s, statement, &status, error);
    uint64_t child = any ? column(s, statement, 0) : 0, shared = any ? column(s, statement, 1) : 0;
    s->lib->reset(statement);
    if (!any) break;
    if (status == STATUS_OK) status = adopt_rows(s, &info, child, shared, error);
  }
  return status;
}

/* Counts the sessions from which this one shares messages. */
static Status check_depth(SqliteStorage *s, SessionInfo info, StorageError *error) {
  Status status = STATUS_OK;
  for (int depth = 1; info.origin != 0 && status == STATUS_OK; depth++) {
    if (depth == STORAGE_ORIGINS_MAX - 1) {
      return storage_fail(error, STATUS_LIMIT, "%s: a branch of more than %d branches", s->path, depth - 1);
    }
    status = sqlite_session(s, info.origin, &info, error);
  }
  return status;
}

Status sqlite_branch(Storage *storage, uint64_t session, Text name, int64_t now, SessionInfo *info,
                     StorageError *error) {
  SqliteStorage *s = sqlite_of(storage);
  Status status = sqlite_begin(s, true, error);
  if (status != STATUS_OK) return status;
  status = sqlite_session(s, session, info, error);
  if (status == STATUS_OK) status = check_depth(s, *info, error);
  if (status == STATUS_OK) status = run_named(s, SQL_BRANCH, name, 2, (int64_t[]){now, (int64_t)session}, error);
  uint64_t branch = (uint64_t)s->lib->last_insert_rowid(s->db);
  if (status == STATUS_OK) status = check_room(s, branch, error);
  RowTally copied = {0};
  static const StateRowKind own[] = {STATE_ROW_PART, STATE_ROW_BATCH, STATE_ROW_WINDOW};
  uint64_t last = (UINT64_C(1) << ROW_KIND_SHIFT) - 1;
  for (size_t i = 0; i < sizeof own / sizeof *own && status == STATUS_OK; i++) {
    status = copy_rows(s, session, branch, own[i], last, &copied, error);
  }
  if (status == STATUS_OK) status = sqlite_add_tally(s, branch, copied, error);
  if (status == STATUS_OK) status = sqlite_session(s, branch, info, error);
  return sqlite_end(s, status, error);
}

Status sqlite_remove(Storage *storage, uint64_t session, StorageError *error) {
  SqliteStorage *s = sqlite_of(storage);
  int64_t id = (int64_t)session;
  Status status = sqlite_begin(s, true, error);
  if (status != STATUS_OK) return status;
  status = sqlite_unshare(s, session, error);
  int64_t rows[] = {(int64_t)sqlite_row_id(session, 0, 0), (int64_t)(sqlite_row_id(session + 1, 0, 0) - 1)};
  if (status == STATUS_OK) status = sqlite_run(s, SQL_ERASE_ROWS, 2, rows, error);
  if (status == STATUS_OK) status = sqlite_run(s, SQL_ERASE_OPERATIONS, 1, &id, error);
  if (status == STATUS_OK) status = sqlite_run(s, SQL_REMOVE, 1, &id, error);
  status = sqlite_end(s, status, error);
  return status == STATUS_OK ? sqlite_checkpoint(s, true, error) : status;
}
