/*
** A connection to a database of SQLite: statements, waiting for others, transactions, checkpoints.
*/
#include "storage/sqlite_data.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "os/os.h"

#define LOG_PAGES_MAX 1024         /* 4 MiB: what is checkpointed after a commit */
#define CHECKPOINT_WAIT_MS 250
#define TEXT_OF(x) NAME_OF(x)
#define NAME_OF(x) #x

#define FIGURE(member, number) #member ", "
#define NEW_FIGURE(member, number) #member " = ?" #number ", "
#define ANY_VALUE(member, column) "?, "

static const char *const SQL[SQL_STATEMENTS] = {
  [SQL_BEGIN] = "BEGIN IMMEDIATE",
  [SQL_BEGIN_READ] = "BEGIN",
  [SQL_COMMIT] = "COMMIT",
  [SQL_ROLLBACK] = "ROLLBACK",
  [SQL_SAVE] = "SAVEPOINT one",
  [SQL_RELEASE] = "RELEASE one",
  [SQL_ROLLBACK_TO] = "ROLLBACK TO one",
  /* Not by the index of names: rows have checksums, an index has none. What it says is a guess. */
  [SQL_LIST] = "SELECT " SQLITE_SESSION " FROM session NOT INDEXED ORDER BY name",
  [SQL_REGISTER] = "SELECT (SELECT count(*) FROM session NOT INDEXED), "
                   "ifnull((SELECT sessions FROM register WHERE id = 1), -1)",
  [SQL_FIND] = "SELECT " SQLITE_SESSION " FROM session NOT INDEXED WHERE name = ?1",
  [SQL_GUESS] = "SELECT id FROM session WHERE name = ?1",
  [SQL_SESSION] = "SELECT " SQLITE_SESSION " FROM session WHERE id = ?1",
  [SQL_CREATE] = "INSERT INTO session(name, created, changed) VALUES (?1, ?2, ?2)",
  [SQL_RENAME] = "UPDATE session SET name = ?1 WHERE id = ?2",
  [SQL_REMOVE] = "DELETE FROM session WHERE id = ?1",
  [SQL_BRANCH] = "INSERT INTO session(" SESSION_FIGURES(FIGURE) "name, version, created, changed, origin, shared) "
                 "SELECT " SESSION_FIGURES(FIGURE) "?1, 1, ?2, ?2, ?3, stored FROM session WHERE id = ?3",
  [SQL_CHILDREN] = "SELECT id, shared FROM session WHERE origin = ?1",
  /* SQLite has no exclusive or. */
  [SQL_COPY_ROWS] = "INSERT OR IGNORE INTO row(id, sum, body) SELECT id + ?3, (sum | ?4) - (sum & ?4), body "
                    "FROM row WHERE id BETWEEN ?1 AND ?2",
  [SQL_ERASE_ROWS] = "DELETE FROM row WHERE id BETWEEN ?1 AND ?2",
  [SQL_ERASE_OPERATIONS] = "DELETE FROM operation WHERE session = ?1",
  [SQL_UNSHARE] = "UPDATE session SET origin = ?2, shared = ?3, row_count = ?4, row_sum = ?5 WHERE id = ?1",
  [SQL_SEAL] = "UPDATE session SET sum = ?2 WHERE id = ?1",
  [SQL_TALLY] = "SELECT count(*), ifnull(sum(sum & " TEXT_OF(STORAGE_TALLY_BITS) "), 0) FROM row "
                "WHERE id BETWEEN ?1 AND ?2",
  [SQL_ADD_TALLY] = "UPDATE session SET row_count = row_count + ?2, row_sum = row_sum + ?3 WHERE id = ?1",
  [SQL_READ] = "SELECT id, sum, body FROM row WHERE id BETWEEN ?1 AND ?2 ORDER BY id",
  [SQL_OPERATION] = "SELECT version, sum FROM operation WHERE session = ?1 AND id = ?2",
  [SQL_ADVANCE] = "UPDATE session SET " SESSION_FIGURES(NEW_FIGURE) "version = version + 1, changed = ?3, "
                  "row_count = row_count + ?, row_sum = row_sum + ? WHERE id = ?1 AND version = ?2",
  [SQL_PUT] = "INSERT OR REPLACE INTO row(id, sum, body) VALUES (?1, ?2, ?3)",
  [SQL_NOTE] = "INSERT INTO operation(session, id, version, sum) VALUES (?1, ?2, ?3, ?4)",
  [SQL_FORGET_NOTES] = "DELETE FROM operation WHERE session = ?1 AND version < ?2",
  [SQL_SCHEMA] = "PRAGMA user_version",
  [SQL_APPLICATION] = "PRAGMA application_id",
  [SQL_TABLES] = "SELECT count(*) FROM sqlite_schema",
  [SQL_KEEP_ROW] = "INSERT OR IGNORE INTO row(id, sum, body) VALUES (?1, ?2, ?3)",
  [SQL_KEEP_SESSION] = "INSERT OR IGNORE INTO session(" SQLITE_SESSION ") "
                       "VALUES (?, ?, " SESSION_COLUMNS(ANY_VALUE) "?)",
  [SQL_NEXT_ROW] = "SELECT id FROM row WHERE id >= ?1 ORDER BY id LIMIT 1",
};

/* ---- failures ---- */

/* The system's reason why the file, or one beside it, could not be opened. */
static Status cannot_open(SqliteStorage *s, StorageError *error) {
  int why = s->db == NULL ? 0 : s->lib->system_errno(s->db);
  const char *words = why == ENOENT ? "its folder does not exist" : why != 0 ? strerror(why) : NULL;
  if (words == NULL) return storage_fail(error, STATUS_IO, "%s: it cannot be opened", s->path);
  return storage_fail(error, STATUS_IO, "%s: it cannot be opened: %s", s->path, words);
}

Status sqlite_fail(SqliteStorage *s, int code, StorageError *error) {
  int extended = s->db == NULL ? code : s->lib->extended_errcode(s->db);
  const char *words = s->db == NULL ? "" : s->lib->errmsg(s->db);
  switch (code & 0xff) {
    case SQLITE_NOMEM: return storage_fail(error, STATUS_MEMORY, "%s: not enough memory", s->path);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:      /* the log's index stayed locked */
      return storage_fail(error, STATUS_IO, "%s: another program has locked it for longer than %u ms", s->path,
                          s->wait_ms);
    case SQLITE_NOTADB: return storage_fail(error, STATUS_SHAPE, "%s: it is no database of sessions", s->path);
    case SQLITE_CORRUPT: return storage_fail(error, STATUS_SHAPE, "%s: it is damaged (%s)", s->path, words);
    case SQLITE_READONLY: return storage_fail(error, STATUS_FORBIDDEN, "%s: it may only be read", s->path);
    case SQLITE_TOOBIG: return storage_fail(error, STATUS_LIMIT, "%s: a row is larger than SQLite takes", s->path);
    case SQLITE_FULL: return storage_fail(error, STATUS_IO, "%s: the disk is full", s->path);
    case SQLITE_CANTOPEN: return cannot_open(s, error);
    default: return storage_fail(error, STATUS_IO, "%s: %s (SQLite %d)", s->path, words, extended);
  }
}

/* ---- statements ---- */

sqlite3_stmt *sqlite_prepare(SqliteStorage *s, SqliteStatement which, Status *status, StorageError *error) {
  sqlite3_stmt **statement = &s->statements[which];
  *status = STATUS_OK;
  if (*statement == NULL) {
    int code = s->lib->prepare_v3(s->db, SQL[which], -1, SQLITE_PREPARE_PERSISTENT, statement, NULL);
    if (code != SQLITE_OK) *status = sqlite_fail(s, code, error);
  }
  return *statement;
}

bool sqlite_next(SqliteStorage *s, sqlite3_stmt *statement, Status *status, StorageError *error) {
  int code = s->lib->step(statement);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) *status = sqlite_fail(s, code, error);
  return false;
}

Status sqlite_run(SqliteStorage *s, SqliteStatement which, int count, const int64_t *values, StorageError *error) {
  Status status;
  sqlite3_stmt *statement = sqlite_prepare(s, which, &status, error);
  if (statement == NULL) return status;
  for (int i = 0; i < count; i++) s->lib->bind_int64(statement, i + 1, values[i]);
  while (sqlite_next(s, statement, &status, error)) {}
  s->lib->reset(statement);
  return status;
}

Status sqlite_exec(SqliteStorage *s, const char *sql, StorageError *error) {
  int code = s->lib->exec(s->db, sql, NULL, NULL, NULL);
  return code == SQLITE_OK ? STATUS_OK : sqlite_fail(s, code, error);
}

Status sqlite_number(SqliteStorage *s, SqliteStatement which, int64_t *number, StorageError *error) {
  Status status;
  sqlite3_stmt *statement = sqlite_prepare(s, which, &status, error);
  if (statement == NULL) return status;
  *number = sqlite_next(s, statement, &status, error) ? s->lib->column_int64(statement, 0) : 0;
  s->lib->reset(statement);
  return status;
}

/* ---- waiting ---- */

/* Waits 0.2 to 1 ms, by chance: SQLite's own ladder of waits lets one of many wait for seconds. A checkpoint that
   gives up is interrupted, because SQLite would go on with a PASSIVE one. */
static int wait_for_lock(void *user, int tries) {
  SqliteStorage *s = user;
  int64_t now = clock_monotonic_ms();
  if (tries == 0) s->deadline = now + (s->checkpoints ? CHECKPOINT_WAIT_MS : (int64_t)s->wait_ms);
  if (now >= s->deadline) {
    if (s->checkpoints) s->lib->interrupt(s->db);
    return 0;
  }
  uint64_t chance = clock_monotonic_ns() * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)(uintptr_t)s;
  clock_sleep_us(200 + (int64_t)(chance >> 40) % 800);
  return 1;
}

/* Instead of SQLite's own checkpoint, which this hook switches off. */
static int note_log(void *user, sqlite3 *db, const char *name, int pages) {
  (void)db, (void)name;
  ((SqliteStorage *)user)->log_pages = (uint32_t)pages;
  return SQLITE_OK;
}

void sqlite_watch(SqliteStorage *s) {
  s->lib->busy_handler(s->db, wait_for_lock, s);
  s->lib->wal_hook(s->db, note_log, s);
}

/* ---- transactions ---- */

/* A file that was removed or replaced since it was opened is still there for SQLite, and nobody else would ever see
   what is written to it. */
static Status check_place(SqliteStorage *s, StorageError *error) {
  int moved = 0;
  s->lib->file_control(s->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);      /* stays 0 where it is not known */
  if (moved == 0) return STATUS_OK;
  return storage_fail(error, STATUS_ABSENT, "%s: it was removed, or replaced by another file, since it was opened",
                      s->path);
}

/* Begins a part of the group's transaction; reads need nothing of their own. */
static Status save(SqliteStorage *s, bool writes, StorageError *error) {
  Status status = STATUS_OK;
  assert(!s->saved);
  if (s->base.group == GROUP_READY) status = sqlite_run(s, SQL_BEGIN, 0, NULL, error);
  if (status != STATUS_OK) return status;
  s->base.group = GROUP_OPEN;
  if (writes) status = sqlite_run(s, SQL_SAVE, 0, NULL, error);
  s->saved = writes && status == STATUS_OK;
  return status;
}

Status sqlite_begin(SqliteStorage *s, bool writes, StorageError *error) {
  Status status = check_place(s, error);
  if (status != STATUS_OK) return status;
  if (writes && s->read_only) return storage_fail(error, STATUS_FORBIDDEN, "%s: it may only be read", s->path);
  status = storage_enter_group(&s->base, writes, error);
  bool grouped = s->base.group == GROUP_OPEN || (s->base.group == GROUP_READY && writes);
  if (status != STATUS_OK) return status;
  return grouped ? save(s, writes, error) : sqlite_run(s, writes ? SQL_BEGIN : SQL_BEGIN_READ, 0, NULL, error);
}

/* The same at the end: a write that failed leaves nothing in the group. */
static Status end_saved(SqliteStorage *s, Status status, StorageError *error) {
  StorageError ignored;
  if (s->saved && status == STATUS_OK) status = sqlite_run(s, SQL_RELEASE, 0, NULL, error);
  bool undone = true;
  if (s->saved && status != STATUS_OK) {
    undone = sqlite_run(s, SQL_ROLLBACK_TO, 0, NULL, &ignored) == STATUS_OK &&
             sqlite_run(s, SQL_RELEASE, 0, NULL, &ignored) == STATUS_OK;
  }
  s->saved = false;
  if (!undone && !s->lib->get_autocommit(s->db)) sqlite_run(s, SQL_ROLLBACK, 0, NULL, &ignored);
  if (s->lib->get_autocommit(s->db)) s->base.group = GROUP_LOST;      /* a full disk, too, ends the transaction */
  return status;
}

Status sqlite_end(SqliteStorage *s, Status status, StorageError *error) {
  if (s->base.group == GROUP_OPEN) return end_saved(s, status, error);
  if (status == STATUS_OK) status = sqlite_run(s, SQL_COMMIT, 0, NULL, error);
  StorageError ignored;
  if (!s->lib->get_autocommit(s->db)) sqlite_run(s, SQL_ROLLBACK, 0, NULL, &ignored);
  return status;
}

/* The transaction is the lock: SQLite has one writer. */
Status sqlite_claim(Storage *storage, StorageError *error) {
  SqliteStorage *s = sqlite_of(storage);
  Status status = sqlite_begin(s, true, error);
  return status == STATUS_OK ? sqlite_end(s, STATUS_OK, error) : status;
}

Status sqlite_end_group(Storage *storage, bool keeps, StorageError *error) {
  SqliteStorage *s = sqlite_of(storage);
  StorageError ignored;
  bool forgets = s->group_forgets;
  assert(!s->saved && !s->commits);
  s->group_forgets = false;
  if (!keeps) {
    sqlite_end(s, STATUS_HOST, &ignored);
    return STATUS_OK;
  }
  Status status = sqlite_end(s, STATUS_OK, error);
  if (status == STATUS_OK) sqlite_checkpoint(s, forgets, &ignored);      /* what was written stands without it, too */
  return status;
}

/* ---- checkpoints ---- */

/* Locks the file beside the database that says who checkpoints; -1: another one does, or it cannot be had. */
static int claim_checkpoint(const SqliteStorage *s) {
  char name[4096];
  int length = snprintf(name, sizeof name, "%s-checkpoint", s->path);
  return length < 0 || (size_t)length >= sizeof name ? -1 : file_lock_begin(name);
}

Status sqlite_checkpoint(SqliteStorage *s, bool always, StorageError *error) {
  int64_t version;
  if (s->base.group != GROUP_NONE) s->group_forgets |= always;
  if (s->base.group != GROUP_NONE) return STATUS_OK;
  if (s->read_only || (!always && s->log_pages < LOG_PAGES_MAX)) return STATUS_OK;
  Status status = sqlite_number(s, SQL_SCHEMA, &version, error);      /* a connection that read nothing does nothing */
  int claim = status == STATUS_OK ? claim_checkpoint(s) : -1;
  if (claim < 0) return status;
  int log = -1, done = -1;
  s->checkpoints = true;
  int code = s->lib->wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, &log, &done);
  s->checkpoints = false;
  file_lock_end(claim);
  if (code == SQLITE_OK) s->log_pages = 0;
  bool waits = code == SQLITE_BUSY || code == SQLITE_INTERRUPT || code == SQLITE_LOCKED;
  return code == SQLITE_OK || waits ? STATUS_OK : sqlite_fail(s, code, error);
}
