/*
** A database of SQLite: opening, waiting for others, checkpoints.
*/
#include "storage/sqlite_data.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "os/clock.h"
#include "os/file.h"
#include "os/file_lock.h"

#define LOG_PAGES_MAX 1024         /* 4 MiB: what is checkpointed after a commit */
#define CHECKPOINT_WAIT_MS 250

static const char *const SQL[SQL_STATEMENTS] = {
  [SQL_BEGIN] = "BEGIN IMMEDIATE",
  [SQL_BEGIN_READ] = "BEGIN",
  [SQL_COMMIT] = "COMMIT",
  [SQL_ROLLBACK] = "ROLLBACK",
#define SESSION_FIELDS "id, name, version, messages, tokens, stored, batches, created, changed, origin, shared"
  [SQL_LIST] = "SELECT " SESSION_FIELDS " FROM session ORDER BY name",
  [SQL_FIND] = "SELECT " SESSION_FIELDS " FROM session WHERE name = ?1",
  [SQL_SESSION] = "SELECT " SESSION_FIELDS " FROM session WHERE id = ?1",
  [SQL_CREATE] = "INSERT INTO session(name, created, changed) VALUES (?1, ?2, ?2)",
  [SQL_RENAME] = "UPDATE session SET name = ?1 WHERE id = ?2",
  [SQL_REMOVE] = "DELETE FROM session WHERE id = ?1",
  [SQL_BRANCH] = "INSERT INTO session(name, version, messages, tokens, stored, batches, created, changed, origin, "
                 "shared) SELECT ?1, 1, messages, tokens, stored, batches, ?2, ?2, ?3, stored FROM session "
                 "WHERE id = ?3",
  [SQL_CHILDREN] = "SELECT id, shared FROM session WHERE origin = ?1",
  [SQL_COPY_ROWS] = "INSERT OR IGNORE INTO row(id, sum, body) SELECT id + ?3, sum, body FROM row "
                    "WHERE id BETWEEN ?1 AND ?2",
  [SQL_ERASE_ROWS] = "DELETE FROM row WHERE id BETWEEN ?1 AND ?2",
  [SQL_ERASE_OPERATIONS] = "DELETE FROM operation WHERE session = ?1",
  [SQL_UNSHARE] = "UPDATE session SET origin = ?2, shared = ?3 WHERE id = ?1",
  [SQL_READ] = "SELECT id, sum, body FROM row WHERE id BETWEEN ?1 AND ?2 ORDER BY id",
  [SQL_OPERATION] = "SELECT version FROM operation WHERE session = ?1 AND id = ?2",
  [SQL_ADVANCE] = "UPDATE session SET version = version + 1, messages = ?3, tokens = ?4, stored = ?5, batches = ?6, "
                  "changed = ?7 WHERE id = ?1 AND version = ?2",
  [SQL_PUT] = "INSERT OR REPLACE INTO row(id, sum, body) VALUES (?1, ?2, ?3)",
  [SQL_NOTE] = "INSERT INTO operation(session, id, version) VALUES (?1, ?2, ?3)",
  [SQL_FORGET_NOTES] = "DELETE FROM operation WHERE session = ?1 AND version <= ?2",
  [SQL_SCHEMA] = "PRAGMA user_version",
  [SQL_APPLICATION] = "PRAGMA application_id",
  [SQL_TABLES] = "SELECT count(*) FROM sqlite_schema",
};

#define TEXT_OF(x) #x
#define NUMBER_OF(x) TEXT_OF(x)

static const char CREATE_SCHEMA[] =
  "CREATE TABLE session(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, version INTEGER NOT NULL DEFAULT 0, "
  "messages INTEGER NOT NULL DEFAULT 0, tokens INTEGER NOT NULL DEFAULT 0, stored INTEGER NOT NULL DEFAULT 0, "
  "batches INTEGER NOT NULL DEFAULT 0, created INTEGER NOT NULL, changed INTEGER NOT NULL, "
  "origin INTEGER NOT NULL DEFAULT 0, shared INTEGER NOT NULL DEFAULT 0) STRICT;"
  "CREATE TABLE row(id INTEGER PRIMARY KEY, sum INTEGER NOT NULL, body BLOB NOT NULL) STRICT;"
  "CREATE TABLE operation(session INTEGER NOT NULL, id BLOB NOT NULL, version INTEGER NOT NULL, "
  "PRIMARY KEY(session, id)) STRICT, WITHOUT ROWID;"
  "CREATE INDEX operation_version ON operation(session, version);"
  "CREATE INDEX session_origin ON session(origin) WHERE origin > 0;"
  "PRAGMA application_id = " NUMBER_OF(STORE_APPLICATION) ";"
  "PRAGMA user_version = " NUMBER_OF(STORE_SCHEMA) ";";

/* ---- failures ---- */

Status sqlite_fail(SqliteStorage *s, int code, StorageError *error) {
  int extended = s->db == NULL ? code : s->lib->extended_errcode(s->db);
  const char *words = s->db == NULL ? "" : s->lib->errmsg(s->db);
  switch (code & 0xff) {
    case SQLITE_NOMEM: return storage_fail(error, STATUS_MEMORY, "%s: not enough memory", s->path);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return storage_fail(error, STATUS_IO, "%s: another program has locked it for longer than %u ms", s->path,
                          s->wait_ms);
    case SQLITE_NOTADB: return storage_fail(error, STATUS_SHAPE, "%s: it is no database of sessions", s->path);
    case SQLITE_CORRUPT: return storage_fail(error, STATUS_SHAPE, "%s: it is damaged (%s)", s->path, words);
    case SQLITE_READONLY: return storage_fail(error, STATUS_FORBIDDEN, "%s: it may only be read", s->path);
    case SQLITE_TOOBIG: return storage_fail(error, STATUS_LIMIT, "%s: a row is larger than SQLite takes", s->path);
    case SQLITE_FULL: return storage_fail(error, STATUS_IO, "%s: the disk is full", s->path);
    case SQLITE_CANTOPEN: return storage_fail(error, STATUS_IO, "%s: it cannot be opened", s->path);
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

static Status run_text(SqliteStorage *s, const char *sql, StorageError *error) {
  int code = s->lib->exec(s->db, sql, NULL, NULL, NULL);
  return code == SQLITE_OK ? STATUS_OK : sqlite_fail(s, code, error);
}

/* The first number of a statement without values. */
static Status number_of(SqliteStorage *s, SqliteStatement which, int64_t *number, StorageError *error) {
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

/* ---- transactions ---- */

Status sqlite_begin(SqliteStorage *s, bool writes, StorageError *error) {
  if (writes && s->read_only) return storage_fail(error, STATUS_FORBIDDEN, "%s: it may only be read", s->path);
  return sqlite_run(s, writes ? SQL_BEGIN : SQL_BEGIN_READ, 0, NULL, error);
}

Status sqlite_end(SqliteStorage *s, Status status, StorageError *error) {
  if (status == STATUS_OK) status = sqlite_run(s, SQL_COMMIT, 0, NULL, error);
  StorageError ignored;
  if (!s->lib->get_autocommit(s->db)) sqlite_run(s, SQL_ROLLBACK, 0, NULL, &ignored);
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
  if (s->read_only || (!always && s->log_pages < LOG_PAGES_MAX)) return STATUS_OK;
  Status status = number_of(s, SQL_SCHEMA, &version, error);      /* a connection that read nothing does nothing */
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

/* ---- opening ---- */

static Status refuse_schema(const SqliteStorage *s, int64_t version, StorageError *error) {
  return storage_fail(error, STATUS_RANGE, "%s: a newer version of Ebb wrote it (schema %lld, this one knows %d)",
                      s->path, (long long)version, STORE_SCHEMA);
}

/* Reads what the database is, without a lock for writing; *empty: there is nothing in it. */
static Status read_schema(SqliteStorage *s, bool *empty, StorageError *error) {
  int64_t application = 0, version = 0;
  Status status = number_of(s, SQL_APPLICATION, &application, error);
  if (status == STATUS_OK) status = number_of(s, SQL_SCHEMA, &version, error);
  if (status != STATUS_OK) return status;
  int64_t tables = 0;
  if (application == 0 && version == 0) status = number_of(s, SQL_TABLES, &tables, error);
  if (status != STATUS_OK) return status;
  *empty = application == 0 && version == 0 && tables == 0;
  if (*empty) return STATUS_OK;
  if (application != STORE_APPLICATION) {
    return storage_fail(error, STATUS_SHAPE, "%s: it is a database of another program", s->path);
  }
  return version > STORE_SCHEMA ? refuse_schema(s, version, error) : STATUS_OK;
}

/* Makes the tables, unless another process did so meanwhile. */
static Status create_schema(SqliteStorage *s, StorageError *error) {
  bool empty;
  Status status = sqlite_begin(s, true, error);
  if (status != STATUS_OK) return status;
  status = read_schema(s, &empty, error);
  if (status == STATUS_OK && empty) status = run_text(s, CREATE_SCHEMA, error);
  return sqlite_end(s, status, error);
}

/* The change of the journal's mode may answer busy at once, whatever the handler says: tried again until the wait
   is over. */
static Status use_log(SqliteStorage *s, StorageError *error) {
  int64_t end = clock_monotonic_ms() + (int64_t)s->wait_ms;
  for (;;) {
    int code = s->lib->exec(s->db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
    if (code == SQLITE_OK) return STATUS_OK;
    if ((code & 0xff) != SQLITE_BUSY || clock_monotonic_ms() >= end) return sqlite_fail(s, code, error);
    clock_sleep_us(1000);
  }
}

/* What is not stored in the file, and so is set for each connection. */
static Status configure(SqliteStorage *s, bool relaxed, StorageError *error) {
  s->lib->busy_handler(s->db, wait_for_lock, s);
  s->lib->wal_hook(s->db, note_log, s);
  s->lib->db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
  Status status = run_text(s, relaxed ? "PRAGMA synchronous = NORMAL" : "PRAGMA synchronous = FULL", error);
  return status == STATUS_OK ? run_text(s, "PRAGMA secure_delete = ON; PRAGMA cell_size_check = ON", error) : status;
}

static Status prepare_database(SqliteStorage *s, const StorageConfig *config, StorageError *error) {
  bool empty = false;
  Status status = configure(s, config->relaxed, error);
  if (status == STATUS_OK) status = read_schema(s, &empty, error);
  if (status != STATUS_OK || s->read_only) return status;
  if (empty && !config->creates) return storage_fail(error, STATUS_ABSENT, "%s: it has no sessions yet", s->path);
  status = use_log(s, error);
  return status == STATUS_OK && empty ? create_schema(s, error) : status;
}

/* Opens the file for reading alone: SQLite reads a database in a folder that cannot be written only if nobody else
   can, either. Its log must be empty, for it is not read. */
static int open_read_only(SqliteStorage *s) {
  FileLook log;
  char name[8192];
  size_t used = 5;
  if (snprintf(name, sizeof name, "%s-wal", s->path) >= (int)sizeof name) return SQLITE_CANTOPEN;
  if (file_look(name, &log) != STATUS_OK || log.size > 0) return SQLITE_READONLY;
  memcpy(name, "file:", used);
  for (const char *at = s->path; *at != '\0'; at++) {      /* as a URI */
    bool plain = strchr("?#%", *at) == NULL;
    if (used + 24 > sizeof name) return SQLITE_CANTOPEN;
    used += (size_t)snprintf(name + used, 4, plain ? "%c" : "%%%02X", (unsigned char)*at);
  }
  memcpy(name + used, "?immutable=1", 13);
  s->read_only = true;
  return s->lib->open_v2(name, &s->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
}

static Status open_file(SqliteStorage *s, const StorageConfig *config, StorageError *error) {
  FileLook file;
  Status status = file_look(s->path, &file);
  if (status != STATUS_OK) return storage_fail(error, status, "%s: %s", s->path, strerror(errno));
  if (!file.exists && !config->creates) return storage_fail(error, STATUS_ABSENT, "%s: no such file", s->path);
  if (file.exists && !file.regular) return storage_fail(error, STATUS_SHAPE, "%s: it is not a file", s->path);
  bool writable = !file.exists || file.writable;
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (config->creates ? SQLITE_OPEN_CREATE : 0);
  int code = writable ? s->lib->open_v2(s->path, &s->db, flags, NULL) : open_read_only(s);
  if (code == SQLITE_OK) return prepare_database(s, config, error);
  return sqlite_fail(s, code, error);
}

/* A file that may be written in a folder that may not: read as one that may not, either. */
static Status open_in_closed_folder(SqliteStorage *s, const StorageConfig *config, StorageError *error) {
  s->lib->close_v2(s->db);
  s->db = NULL;
  memset(s->statements, 0, sizeof s->statements);
  int code = open_read_only(s);
  return code == SQLITE_OK ? prepare_database(s, config, error) : sqlite_fail(s, code, error);
}

static void release(SqliteStorage *s) {
  Memory memory = s->memory;
  for (int i = 0; i < SQL_STATEMENTS; i++) s->lib->finalize(s->statements[i]);
  s->lib->close_v2(s->db);
  memory_free(&memory, s->path, s->path_size);
  memory_free(&memory, s, sizeof *s);
}

static Status open_sqlite(const char *place, const StorageConfig *config, Storage **storage, StorageError *error) {
  const char *why;
  const SqliteLibrary *lib = sqlite_library(&why);
  if (lib == NULL) return storage_fail(error, STATUS_ABSENT, "SQLite is not installed: %s", why);
  SqliteStorage *s = memory_new(&config->memory, sizeof *s);
  if (s == NULL) return STATUS_MEMORY;
  *s = (SqliteStorage){.base = {.driver = &STORAGE_SQLITE}, .memory = config->memory, .lib = lib,
                       .wait_ms = config->wait_ms, .path_size = strlen(place) + 1};
  s->path = memory_new(&s->memory, s->path_size);
  if (s->path == NULL) {
    release(s);
    return STATUS_MEMORY;
  }
  memcpy(s->path, place, s->path_size);
  Status status = open_file(s, config, error);
  bool closed = status == STATUS_FORBIDDEN && !s->read_only && s->db != NULL;
  if (closed) status = open_in_closed_folder(s, config, error);
  if (status == STATUS_OK) *storage = &s->base;
  else release(s);
  return status;
}

static void close_sqlite(Storage *storage) {
  SqliteStorage *s = sqlite_of(storage);
  StorageError ignored;
  sqlite_abandon(storage);
  if (s->log_pages > 0) sqlite_checkpoint(s, true, &ignored);
  release(s);
}

/* ---- the version ---- */

/* 3.7.0 to 3.51.2 have the bug of resetting a log, but for 3.50.7 and 3.44.6 and later ones of these lines. */
static bool has_log_bug(int version) {
  bool mended = (version >= 3050007 && version < 3051000) || (version >= 3044006 && version < 3045000);
  return version < 3051003 && !mended;
}

static void describe(const Storage *storage, char what[64], char warning[200]) {
  const SqliteLibrary *lib = ((const SqliteStorage *)storage)->lib;
  snprintf(what, 64, "SQLite %s", lib->libversion());
  warning[0] = '\0';
  if (!has_log_bug(lib->libversion_number())) return;
  snprintf(warning, 200, "it has the WAL-reset bug of SQLite before 3.51.3: Ebb avoids it; other programs that write "
           "to this database may damage it");
}

const StorageDriver STORAGE_SQLITE = {
  .open = open_sqlite, .close = close_sqlite, .describe = describe, .list = sqlite_list, .find = sqlite_find,
  .create = sqlite_create, .rename = sqlite_rename, .remove = sqlite_remove, .branch = sqlite_branch,
  .read = sqlite_read, .read_some = sqlite_read_some, .begin = sqlite_begin_commit, .put = sqlite_put,
  .commit = sqlite_commit, .abandon = sqlite_abandon, .check = sqlite_check, .settle = sqlite_settle,
  .backup = sqlite_backup,
};
