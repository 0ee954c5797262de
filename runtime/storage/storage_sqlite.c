/*
** The driver of SQLite: it opens and closes databases.
*/
#include "storage/sqlite_data.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "os/os.h"

#define TEXT_OF(x) #x
#define NUMBER_OF(x) TEXT_OF(x)

/* ---- the library ---- */

#ifdef EBB_SQLITE_INSIDE

#define SQLITE_FIELD(name) .name = sqlite3_##name,
const SqliteLibrary *sqlite_library(const char **why) {
  static const SqliteLibrary library = {SQLITE_FUNCTIONS(SQLITE_FIELD)};
  *why = NULL;
  return &library;
}

#else

#define SQLITE_NAME(name) "sqlite3_" #name,
const SqliteLibrary *sqlite_library(const char **why) {
  static SqliteLibrary table;
  static const char *const names[] = {"libsqlite3.so.0", NULL};
  static const char *const functions[] = {SQLITE_FUNCTIONS(SQLITE_NAME) NULL};
  static SharedLibrary library = {.names = names, .functions = functions, .table = &table};
  return shared_library_load(&library, why) ? &table : NULL;
}

#endif

/* ---- the tables ---- */

#define NEW_COLUMN(member, column) #column " INTEGER NOT NULL DEFAULT 0, "

static const char CREATE_SCHEMA[] =
  "CREATE TABLE session(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, " SESSION_COLUMNS(NEW_COLUMN)
  "sum INTEGER NOT NULL DEFAULT 0) STRICT;"
  "CREATE TABLE register(id INTEGER PRIMARY KEY, sessions INTEGER NOT NULL) STRICT;"
  "INSERT INTO register(id, sessions) VALUES (1, 0);"
  "CREATE TRIGGER session_added AFTER INSERT ON session BEGIN UPDATE register SET sessions = sessions + 1; END;"
  "CREATE TRIGGER session_removed AFTER DELETE ON session BEGIN UPDATE register SET sessions = sessions - 1; END;"
  "CREATE TABLE row(id INTEGER PRIMARY KEY, sum INTEGER NOT NULL, body BLOB NOT NULL) STRICT;"
  "CREATE TABLE operation(session INTEGER NOT NULL, id BLOB NOT NULL, version INTEGER NOT NULL, "
  "sum INTEGER NOT NULL, PRIMARY KEY(session, id)) STRICT, WITHOUT ROWID;"
  "CREATE INDEX session_origin ON session(origin) WHERE origin > 0;"
  "PRAGMA application_id = " NUMBER_OF(STORE_APPLICATION) ";"
  "PRAGMA user_version = " NUMBER_OF(STORE_SCHEMA) ";";

/* ---- opening ---- */

static Status refuse_schema(const SqliteStorage *s, int64_t version, StorageError *error) {
  return storage_fail(error, STATUS_RANGE, "%s: a newer version of Ebb wrote it (schema %lld, this one knows %d)",
                      s->path, (long long)version, STORE_SCHEMA);
}

/* Reads what the database is, without a lock for writing; *empty: there is nothing in it. */
static Status read_schema(SqliteStorage *s, bool *empty, StorageError *error) {
  int64_t application = 0, version = 0;
  Status status = sqlite_number(s, SQL_APPLICATION, &application, error);
  if (status == STATUS_OK) status = sqlite_number(s, SQL_SCHEMA, &version, error);
  if (status != STATUS_OK) return status;
  int64_t tables = 0;
  if (application == 0 && version == 0) status = sqlite_number(s, SQL_TABLES, &tables, error);
  if (status != STATUS_OK) return status;
  *empty = application == 0 && version == 0 && tables == 0;
  if (*empty) return STATUS_OK;
  if (application != STORE_APPLICATION) {
    return storage_fail(error, STATUS_SHAPE, "%s: it is a database of another program", s->path);
  }
  return version > STORE_SCHEMA ? refuse_schema(s, version, error) : STATUS_OK;
}

Status sqlite_create_tables(SqliteStorage *s, StorageError *error) { return sqlite_exec(s, CREATE_SCHEMA, error); }

/* Makes the tables, unless another process did so meanwhile. */
static Status create_schema(SqliteStorage *s, StorageError *error) {
  bool empty;
  Status status = sqlite_begin(s, true, error);
  if (status != STATUS_OK) return status;
  status = read_schema(s, &empty, error);
  if (status == STATUS_OK && empty) status = sqlite_create_tables(s, error);
  return sqlite_end(s, status, error);
}

/* The change of the journal's mode may answer busy at once, whatever the handler says: tried again until the wait
   is over. */
static Status use_log(SqliteStorage *s, StorageError *error) {
  int64_t end = clock_monotonic_ms() + (int64_t)s->wait_ms;
  for (;;) {
    static const char sql[] = "PRAGMA page_size = " NUMBER_OF(STORE_PAGE) "; PRAGMA journal_mode = WAL";
    int code = s->lib->exec(s->db, sql, NULL, NULL, NULL);
    if (code == SQLITE_OK) return STATUS_OK;
    if ((code & 0xff) != SQLITE_BUSY || clock_monotonic_ms() >= end) return sqlite_fail(s, code, error);
    clock_sleep_us(1000);
  }
}

/* What is not stored in the file, and so is set for each connection. */
static Status configure(SqliteStorage *s, bool relaxed, StorageError *error) {
  sqlite_watch(s);
  s->lib->db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
  Status status = sqlite_exec(s, relaxed ? "PRAGMA synchronous = NORMAL" : "PRAGMA synchronous = FULL", error);
  return status == STATUS_OK ? sqlite_exec(s, "PRAGMA secure_delete = ON; PRAGMA cell_size_check = ON", error) : status;
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

/* Opens the file for reading alone. In a folder that is not writable SQLite reads a database only as an immutable
   one; then it does not read the log, which must be empty. */
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

void sqlite_release(SqliteStorage *s) {
  Memory memory = s->memory;
  for (int i = 0; i < SQL_STATEMENTS; i++) s->lib->finalize(s->statements[i]);
  s->lib->close_v2(s->db);
  memory_free_string(&memory, s->path);
  memory_free(&memory, s, sizeof *s);
}

Status sqlite_new(const char *place, const StorageConfig *config, const StorageDriver *driver, SqliteStorage **storage,
                  StorageError *error) {
  const char *why;
  const SqliteLibrary *lib = sqlite_library(&why);
  if (lib == NULL) return storage_fail(error, STATUS_ABSENT, "SQLite is not installed: %s", why);
  SqliteStorage *s = memory_new(&config->memory, sizeof *s);
  if (s == NULL) return STATUS_MEMORY;
  *s = (SqliteStorage){.base = {.driver = driver}, .memory = config->memory, .lib = lib, .wait_ms = config->wait_ms};
  s->path = memory_copy_string(&s->memory, place);
  if (s->path == NULL) {
    sqlite_release(s);
    return STATUS_MEMORY;
  }
  *storage = s;
  return STATUS_OK;
}

static Status open_sqlite(const char *place, const StorageConfig *config, Storage **storage, StorageError *error) {
  SqliteStorage *s = NULL;
  Status status = sqlite_new(place, config, &STORAGE_SQLITE, &s, error);
  if (status != STATUS_OK) return status;
  status = open_file(s, config, error);
  bool closed = status == STATUS_FORBIDDEN && !s->read_only && s->db != NULL;
  if (closed) status = open_in_closed_folder(s, config, error);
  if (status == STATUS_OK) *storage = &s->base;
  else sqlite_release(s);
  return status;
}

static void close_sqlite(Storage *storage) {
  SqliteStorage *s = sqlite_of(storage);
  StorageError ignored;
  sqlite_abandon(storage);
  if (s->log_pages > 0) sqlite_checkpoint(s, true, &ignored);
  sqlite_release(s);
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
  .read = sqlite_read, .look = sqlite_look, .begin = sqlite_begin_commit, .put = sqlite_put,
  .commit = sqlite_commit, .abandon = sqlite_abandon, .claim = sqlite_claim,
  .end_group = sqlite_end_group, .wait = sqlite_wait,
  .check = sqlite_check, .settle = sqlite_settle, .backup = sqlite_backup,
};
