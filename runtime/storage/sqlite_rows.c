/*
** The rows of a session: reading them in one snapshot, and commits.
*/
#include "storage/sqlite_data.h"

#include <assert.h>
#include <inttypes.h>

/* ---- reading ---- */

/* Follows the origins of a session. */
static Status find_segments(SqliteStorage *s, SessionInfo info, StorageSegments *segments, StorageError *error) {
  segments->count = 0;
  Status status = storage_add_segment(segments, s->path, &info, error);
  while (status == STATUS_OK && info.origin != 0) {
    status = sqlite_session(s, info.origin, &info, error);
    if (status == STATUS_ABSENT) status = storage_lack_origin(s->path, error);
    if (status == STATUS_OK) status = storage_add_segment(segments, s->path, &info, error);
  }
  return status;
}

static Status read_range(StorageReading *reading, StorageSegment *part, StateRowKind kind, uint64_t first,
                         uint64_t last, StateRowSink sink) {
  SqliteStorage *s = sqlite_of(reading->storage);
  Status status;
  sqlite3_stmt *statement = sqlite_prepare(s, SQL_READ, &status, reading->error);
  if (statement == NULL) return status;
  uint64_t low = sqlite_row_id(part->session, kind, first), high = sqlite_row_id(part->session, kind, last);
  s->lib->bind_int64(statement, 1, (int64_t)low);
  s->lib->bind_int64(statement, 2, (int64_t)high);
  while (status == STATUS_OK && sqlite_next(s, statement, &status, reading->error)) {
    uint64_t id = (uint64_t)s->lib->column_int64(statement, 0);
    const void *bytes = s->lib->column_blob(statement, 2);
    StateRow row = {.kind = kind, .number = id & ROW_LAST_NUMBER,
                    .bytes = text_plain(bytes == NULL ? "" : bytes, (size_t)s->lib->column_bytes(statement, 2))};
    int64_t sum = storage_checksum(part->session, &row);
    part->actual.count++;
    part->actual.sum += (uint64_t)sum & STORAGE_TALLY_BITS;
    bool strays = id < low || id > high;      /* a damaged key among the others */
    bool is_damaged = strays || sum != s->lib->column_int64(statement, 1);
    status = is_damaged ? storage_fail_row(s->path, &row, reading->error) : sink.put(sink.user, &row);
  }
  s->lib->reset(statement);
  return status;
}

/* Adds the rows first .. last of an origin, which were not read. */
static Status add_unread(SqliteStorage *s, StorageSegment *part, StateRowKind kind, uint64_t first, uint64_t last,
                         StorageError *error) {
  RowTally tally;
  if (first > last) return STATUS_OK;
  Status status = sqlite_tally(s, sqlite_row_id(part->session, kind, first), sqlite_row_id(part->session, kind, last),
                               &tally, error);
  part->actual.count += tally.count;
  part->actual.sum += tally.sum;
  return status;
}

/* Compares the tallies of a session and its origins, after all was read. What was read is what counts: by a damaged
   key, one search may miss a row that another one meets. */
static Status compare_tallies(SqliteStorage *s, StorageSegments *segments, StorageError *error) {
  Status status = STATUS_OK;
  for (int i = 0; i < segments->count && status == STATUS_OK; i++) {
    StorageSegment *part = &segments->list[i];
    for (StateRowKind kind = 0; i > 0 && kind < STATE_ROW_KINDS && status == STATUS_OK; kind++) {
      bool shares = storage_shares(kind);
      if (shares && part->first > 0) status = add_unread(s, part, kind, 0, part->first - 1, error);
      uint64_t first = shares ? part->last + 1 : 0;
      if (status == STATUS_OK) status = add_unread(s, part, kind, first, ROW_LAST_NUMBER, error);
    }
    SessionInfo info = {.id = part->session, .tally = part->right};
    if (status == STATUS_OK) status = storage_compare_tally(s->path, &info, part->actual, error);
  }
  return status;
}

/* Finds where the rows of a session lie; within a transaction. */
static Status find_rows(StorageReading *reading, uint64_t session, SessionInfo *info) {
  SqliteStorage *s = sqlite_of(reading->storage);
  Status status = sqlite_session(s, session, info, reading->error);
  return status == STATUS_OK ? find_segments(s, *info, &reading->segments, reading->error) : status;
}

Status sqlite_read(Storage *storage, uint64_t session, StateRowSink sink, SessionInfo *info, StorageError *error) {
  SqliteStorage *s = sqlite_of(storage);
  StorageReading reading = {.storage = storage, .error = error, .read = read_range};
  Status status = sqlite_begin(s, false, error);
  if (status != STATUS_OK) return status;
  status = find_rows(&reading, session, info);
  if (status == STATUS_OK) status = storage_read_kinds(&reading, sink);
  if (status == STATUS_OK) status = compare_tallies(s, &reading.segments, error);
  return sqlite_end(s, status, error);
}

Status sqlite_look(Storage *storage, uint64_t session, StorageLook look, StorageError *error) {
  SqliteStorage *s = sqlite_of(storage);
  StorageReading reading = {.storage = storage, .error = error, .read = read_range};
  SessionInfo info;
  Status status = sqlite_begin(s, false, error);
  if (status != STATUS_OK) return status;
  status = find_rows(&reading, session, &info);
  bool is_part = status == STATUS_SHAPE && s->salvaged && reading.segments.count > 0;      /* of its origins */
  if (status == STATUS_OK || is_part) status = look.run(look.user, &info, storage_row_source(&reading));
  return sqlite_end(s, status, error);
}

/* ---- commits ---- */

/* The version that an operation led to, if it was committed before. */
static Status find_operation(SqliteStorage *s, const StorageCommit *commit, bool *done, StorageError *error) {
  Status status;
  sqlite3_stmt *statement = sqlite_prepare(s, SQL_OPERATION, &status, error);
  if (statement == NULL || commit->operation.size == 0) return status;
  s->lib->bind_int64(statement, 1, (int64_t)commit->session);
  s->lib->bind_blob64(statement, 2, commit->operation.bytes, commit->operation.size, SQLITE_STATIC);
  *done = sqlite_next(s, statement, &status, error);
  if (*done) {
    status = storage_take_operation(s->path, commit, (uint64_t)s->lib->column_int64(statement, 0),
                                    s->lib->column_int64(statement, 1), error);
  }
  s->lib->reset(statement);
  s->lib->clear_bindings(statement);
  return status;
}

static Status note_operation(SqliteStorage *s, const StorageCommit *commit, StorageError *error) {
  Status status;
  sqlite3_stmt *statement = sqlite_prepare(s, SQL_NOTE, &status, error);
  if (statement == NULL || commit->operation.size == 0) return status;
  s->lib->bind_int64(statement, 1, (int64_t)commit->session);
  s->lib->bind_blob64(statement, 2, commit->operation.bytes, commit->operation.size, SQLITE_STATIC);
  uint64_t version = commit->expected + 1;
  s->lib->bind_int64(statement, 3, (int64_t)version);
  s->lib->bind_int64(statement, 4, storage_operation_checksum(commit->session, version, commit->operation));
  while (sqlite_next(s, statement, &status, error)) {}
  s->lib->reset(statement);
  s->lib->clear_bindings(statement);
  int64_t old[] = {(int64_t)commit->session, (int64_t)storage_first_operation(commit)};
  return status == STATUS_OK && old[1] > 0 ? sqlite_run(s, SQL_FORGET_NOTES, 2, old, error) : status;
}

/* Compares the version with the expected one: the transaction writes, so that it stays until its end. */
static Status compare(SqliteStorage *s, const StorageCommit *commit, StorageError *error) {
  SessionInfo info;
  Status known = sqlite_session(s, commit->session, &info, error);
  if (known != STATUS_OK) return known;
  s->stored_before = info.stored;
  s->forgets = false;
  s->added = (RowTally){0};
  return storage_compare_version(commit, info.version, error);
}

/* Writes the new version, figures and tally. */
static Status advance(SqliteStorage *s, StorageError *error) {
  const StorageCommit *commit = &s->commit;
#define FIGURE_VALUE(member, number) (int64_t)commit->member,
  int64_t values[] = {(int64_t)commit->session, (int64_t)commit->expected, commit->now, SESSION_FIGURES(FIGURE_VALUE)
                      (int64_t)s->added.count, (int64_t)s->added.sum};
  Status status = sqlite_run(s, SQL_ADVANCE, (int)(sizeof values / sizeof *values), values, error);
  return status == STATUS_OK ? sqlite_seal(s, commit->session, error) : status;
}

/* Removes what the session has, and gives its branches what they share with it. */
static Status erase(SqliteStorage *s, uint64_t session, StorageError *error) {
  Status status = sqlite_unshare(s, session, error);
  int64_t rows[] = {(int64_t)sqlite_row_id(session, 0, 0), (int64_t)(sqlite_row_id(session + 1, 0, 0) - 1)};
  if (status == STATUS_OK) status = sqlite_run(s, SQL_ERASE_ROWS, 2, rows, error);
  int64_t alone[] = {(int64_t)session, 0, 0, 0, 0};
  if (status == STATUS_OK) status = sqlite_run(s, SQL_UNSHARE, 5, alone, error);
  return status == STATUS_OK ? sqlite_seal(s, session, error) : status;
}

Status sqlite_begin_commit(Storage *storage, const StorageCommit *commit, bool *done, StorageError *error) {
  SqliteStorage *s = sqlite_of(storage);
  assert(!s->commits);
  Status status = sqlite_begin(s, true, error);
  if (status != STATUS_OK) return status;
  s->commit = *commit;
  s->commits = true;
  status = find_operation(s, commit, done, error);
  if (status == STATUS_OK && !*done) status = compare(s, commit, error);
  if (status == STATUS_OK && !*done) status = note_operation(s, commit, error);
  if (status == STATUS_OK && !*done && commit->replaces) status = erase(s, commit->session, error);
  if (status != STATUS_OK || *done) sqlite_abandon(storage);
  return status;
}

/* The session that has the row: an origin, for a message that is shared and forgotten. */
static Status owner_of(SqliteStorage *s, const StateRow *row, uint64_t *owner, StorageError *error) {
  SessionInfo info;
  StorageSegments segments;
  *owner = s->commit.session;
  if (!storage_shares(row->kind) || s->commit.replaces || row->number > s->stored_before) return STATUS_OK;
  s->forgets = true;
  Status status = sqlite_session(s, s->commit.session, &info, error);
  if (status == STATUS_OK) status = find_segments(s, info, &segments, error);
  if (status == STATUS_OK) *owner = storage_row_owner(&segments, &s->commit, s->stored_before, row);
  return status;
}

/* Adds what the row changes in the tally of the session that has it. */
static Status add_row(SqliteStorage *s, uint64_t owner, uint64_t id, int64_t sum, StorageError *error) {
  RowTally before;
  Status status = sqlite_tally(s, id, id, &before, error);
  RowTally added = {1 - before.count, ((uint64_t)sum & STORAGE_TALLY_BITS) - before.sum};
  if (status != STATUS_OK) return status;
  if (owner != s->commit.session) return sqlite_add_tally(s, owner, added, error);
  s->added.count += added.count;
  s->added.sum += added.sum;
  return STATUS_OK;
}

Status sqlite_put_row(SqliteStorage *s, SqliteStatement which, uint64_t id, int64_t sum, Text bytes,
                      StorageError *error) {
  Status status;
  sqlite3_stmt *statement = sqlite_prepare(s, which, &status, error);
  if (statement == NULL) return status;
  s->lib->bind_int64(statement, 1, (int64_t)id);
  s->lib->bind_int64(statement, 2, sum);
  s->lib->bind_blob64(statement, 3, bytes.size == 0 ? "" : bytes.bytes, bytes.size, SQLITE_STATIC);
  while (sqlite_next(s, statement, &status, error)) {}
  s->lib->reset(statement);
  return status;
}

Status sqlite_put(Storage *storage, const StateRow *row, StorageError *error) {
  SqliteStorage *s = sqlite_of(storage);
  uint64_t owner;
  assert(s->commits && row->number <= ROW_LAST_NUMBER);
  Status status = owner_of(s, row, &owner, error);
  if (status != STATUS_OK) return status;
  uint64_t id = sqlite_row_id(owner, row->kind, row->number);
  int64_t sum = storage_checksum(owner, row);
  status = add_row(s, owner, id, sum, error);
  return status == STATUS_OK ? sqlite_put_row(s, SQL_PUT, id, sum, row->bytes, error) : status;
}

Status sqlite_commit(Storage *storage, StorageError *error) {
  SqliteStorage *s = sqlite_of(storage);
  StorageError ignored;
  assert(s->commits);
  bool erased = s->commit.replaces && s->commit.expected > 0;      /* a new session had no rows */
  bool forgets = erased || s->forgets;
  Status status = sqlite_end(s, advance(s, error), error);
  s->commits = false;
  if (status == STATUS_OK) sqlite_checkpoint(s, forgets, &ignored);      /* the commit stands without it, too */
  return status;
}

void sqlite_abandon(Storage *storage) {
  SqliteStorage *s = sqlite_of(storage);
  StorageError ignored;
  if (s->commits) sqlite_end(s, STATUS_IO, &ignored);
  s->commits = false;
}
