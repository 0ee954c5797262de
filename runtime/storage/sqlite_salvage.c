/*
** Salvage: reads what is left of a damaged file of SQLite, and writes nothing to it.
**
** SQLite reads the file, each page as the root of a table that is in no schema (an "imposter"), so that a row is found
** although the pages that lead to it are lost. Rows whose checksums are right are copied to a temporary database, which
** the driver reads like any other one. Rows that only the log has are read, too, up to the first damaged frame.
**
** SQLite reads through file methods that know no lock and no write, and that give the file another first page, the
** one of a database without tables: that of a damaged file often cannot be used, and its schema is not to be trusted.
** A first page that the log has goes before it.
**
** Long rows continue on other pages, and a crafted row may name any of them, so that each of many would follow all
** pages. Undamaged files need each page a few times. After READS times the file long rows count as lost.
**
** A session whose own row is lost is called "session N", after its number.
*/
#include "storage/sqlite_data.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "os/os.h"

#define TABLES_MAX 128       /* imposters that SQLite has at a time */
#define READS 64             /* times the file that are read */
#define READ_LEAST (UINT64_C(64) << 20)
#define NAME_ROOM (STORAGE_NAME_MAX + 32)

typedef struct Damaged {
  SqliteStorage *s;          /* gets what is whole */
  sqlite3 *db;
  sqlite3_vfs vfs, *system;
  char vfs_name[40];
  uint64_t read, read_most;  /* bytes of files and of values */
} Damaged;

/* ---- reading the file ---- */

/* The start of page 1 of a database that has pages of STORE_PAGE bytes, as many as the file, UTF-8, and no table. */
static const unsigned char FIRST_PAGE[STORE_PAGE] = {
  'S', 'Q', 'L', 'i', 't', 'e', ' ', 'f', 'o', 'r', 'm', 'a', 't', ' ', '3', 0, STORE_PAGE >> 8, 0, 1, 1, 0, 64, 32, 32,
  [47] = 4, [59] = 1, [100] = 13, [105] = STORE_PAGE >> 8,
};

/* The methods of a file, in the same block after the file that SQLite opened. */
typedef struct DamagedFile {
  sqlite3_io_methods methods;      /* the first member: the file points to it */
  const sqlite3_io_methods *system;
  Damaged *damaged;
  bool is_log;
} DamagedFile;

static int read_file(sqlite3_file *file, void *to, int size, sqlite3_int64 at) {
  const DamagedFile *methods = (const DamagedFile *)file->pMethods;
  methods->damaged->read += (uint64_t)size;
  bool is_first = !methods->is_log && at + size <= STORE_PAGE;
  if (!is_first) return methods->system->xRead(file, to, size, at);
  memcpy(to, FIRST_PAGE + at, (size_t)size);
  return SQLITE_OK;
}

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *opened) {
  Damaged *d = vfs->pAppData;
  flags = (flags & ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)) | SQLITE_OPEN_READONLY;
  int code = d->system->xOpen(d->system, name, file, flags, opened);
  if (code != SQLITE_OK) return code;
  DamagedFile *methods = (DamagedFile *)((char *)file + d->system->szOsFile);
  *methods = (DamagedFile){.methods = *file->pMethods, .system = file->pMethods, .damaged = d,
                           .is_log = (flags & SQLITE_OPEN_MAIN_DB) == 0};
  methods->methods.iVersion = 1;      /* neither mapped nor shared memory */
  methods->methods.xRead = read_file;
  file->pMethods = &methods->methods;
  return SQLITE_OK;
}

/* Databases of Ebb have a log: a journal next to one is not its own, and SQLite would undo it before it reads. */
static int find_file(sqlite3_vfs *vfs, const char *name, int flags, int *exists) {
  const Damaged *d = vfs->pAppData;
  static const char journal[] = "-journal";
  size_t size = strlen(name), rest = sizeof journal - 1;
  *exists = 0;
  if (size > rest && memcmp(name + size - rest, journal, rest) == 0) return SQLITE_OK;
  return d->system->xAccess(d->system, name, flags, exists);
}

static int refuse_removal(sqlite3_vfs *vfs, const char *name, int syncs) {
  (void)vfs, (void)name, (void)syncs;
  return SQLITE_READONLY;
}

/* Damage is left out; a lack of memory is not. */
static Status status_of(int code) { return (code & 0xff) == SQLITE_NOMEM ? STATUS_MEMORY : STATUS_OK; }

static Status open_damaged(Damaged *d, StorageError *error) {
  SqliteStorage *s = d->s;
  const SqliteLibrary *lib = s->lib;
  d->system = lib->vfs_find("unix-none");      /* without locks */
  if (d->system == NULL) d->system = lib->vfs_find(NULL);
  snprintf(d->vfs_name, sizeof d->vfs_name, "ebb-salvage-%p", (void *)d);
  d->vfs = *d->system;
  d->vfs.zName = d->vfs_name;
  d->vfs.szOsFile += (int)sizeof(DamagedFile);
  d->vfs.pAppData = d;
  d->vfs.xOpen = open_file;
  d->vfs.xAccess = find_file;
  d->vfs.xDelete = refuse_removal;
  if (lib->vfs_register(&d->vfs, 0) != SQLITE_OK) return STATUS_MEMORY;
  int code = lib->open_v2(s->path, &d->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, d->vfs_name);
  if (d->db == NULL || status_of(code) != STATUS_OK) return STATUS_MEMORY;
  if (code != SQLITE_OK) {
    return storage_fail(error, STATUS_IO, "%s: it cannot be opened: %s", s->path, strerror(lib->system_errno(d->db)));
  }
  lib->db_config(d->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
  lib->db_config(d->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  lib->db_config(d->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
  code = lib->exec(d->db, "PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = 100; BEGIN", NULL, NULL, NULL);
  return status_of(code);
}

static void close_damaged(Damaged *d) {
  d->s->lib->close_v2(d->db);
  d->s->lib->vfs_unregister(&d->vfs);
}

/* ---- keeping what is whole ---- */

/* Keeps a row. The session in its id may be damaged: the checksum tells the right one. */
static Status keep_row(SqliteStorage *s, sqlite3_stmt *cell, StorageError *error) {
  const SqliteLibrary *lib = s->lib;
  bool is_row = lib->column_type(cell, 1) == SQLITE_INTEGER && lib->column_type(cell, 2) == SQLITE_BLOB;
  uint64_t id = (uint64_t)lib->column_int64(cell, 0), kind = id >> ROW_KIND_SHIFT & 7;
  if (!is_row || kind >= STATE_ROW_KINDS) return STATUS_OK;
  const char *bytes = lib->column_blob(cell, 2);
  StateRow row = {.kind = (StateRowKind)kind, .number = id & ROW_LAST_NUMBER,
                  .bytes = text_plain(bytes == NULL ? "" : bytes, (size_t)lib->column_bytes(cell, 2))};
  int64_t sum = lib->column_int64(cell, 1);
  uint64_t rest = (uint64_t)(sum ^ storage_checksum(0, &row)), session = rest >> STORAGE_SUM_SHIFT;
  if (rest << (64 - STORAGE_SUM_SHIFT) != 0 || session < 1 || session > STORAGE_SESSIONS_MAX) return STATUS_OK;
  return sqlite_put_row(s, SQL_KEEP_ROW, sqlite_row_id(session, row.kind, row.number), sum, row.bytes, error);
}

/* Reads the row of a session, if it was kept. */
static Status read_kept(SqliteStorage *s, uint64_t session, SessionInfo *info, bool *found, StorageError *error) {
  Status status;
  sqlite3_stmt *statement = sqlite_prepare(s, SQL_SESSION, &status, error);
  *found = false;
  if (statement == NULL) return status;
  s->lib->bind_int64(statement, 1, (int64_t)session);
  *found = sqlite_next(s, statement, &status, error);
  if (*found) *info = sqlite_info(s, statement);
  s->lib->reset(statement);
  return status;
}

/* Adds the row of a session. *added: no other one has its number or name. */
static Status add_session(SqliteStorage *s, const SessionInfo *info, bool *added, StorageError *error) {
  Status status;
  sqlite3_stmt *statement = sqlite_prepare(s, SQL_KEEP_SESSION, &status, error);
  if (statement == NULL) return status;
  sqlite_bind_info(s, statement, info);
  while (sqlite_next(s, statement, &status, error)) {}
  *added = s->lib->changes(s->db) > 0;
  s->lib->reset(statement);
  return status;
}

/* Keeps a session, with a number after its name if another one has it. Free room of a page may hold an older row of
   it, which the newest replaces. */
static Status keep_session(SqliteStorage *s, SessionInfo info, StorageError *error) {
  SessionInfo other;
  char name[NAME_ROOM];
  bool known, added = false;
  int64_t id = (int64_t)info.id;
  Text first = info.name;
  Status status = read_kept(s, info.id, &other, &known, error);
  if (status == STATUS_OK && known) {
    bool older = info.version != other.version ? info.version < other.version : info.changed <= other.changed;
    if (older) return STATUS_OK;
    status = sqlite_run(s, SQL_REMOVE, 1, &id, error);
  }
  for (int n = 2; status == STATUS_OK; n++) {
    status = add_session(s, &info, &added, error);
    if (added) break;
    int size = snprintf(name, sizeof name, "%.*s (%d)", (int)first.size, first.bytes, n);
    info.name = text_plain(name, (size_t)size);
  }
  return status;
}

/* Adds sessions whose rows are there without their own one. */
static Status name_others(SqliteStorage *s, StorageError *error) {
  Status status;
  sqlite3_stmt *statement = sqlite_prepare(s, SQL_NEXT_ROW, &status, error);
  uint64_t session = 0;
  while (status == STATUS_OK) {
    char name[NAME_ROOM];
    SessionInfo other;
    s->lib->bind_int64(statement, 1, (int64_t)sqlite_row_id(session + 1, 0, 0));
    bool any = sqlite_next(s, statement, &status, error);
    if (any) session = (uint64_t)s->lib->column_int64(statement, 0) >> ROW_SESSION_SHIFT;
    s->lib->reset(statement);
    if (!any) break;
    snprintf(name, sizeof name, "session %" PRIu64, session);
    SessionInfo info = {.id = session, .name = text_of(name), .version = 1};
    bool known = false;
    if (status == STATUS_OK) status = read_kept(s, session, &other, &known, error);
    if (status == STATUS_OK && !known) status = keep_session(s, info, error);
  }
  return status;
}

/* Keeps what a cell has, if it is whole. */
static Status keep_cell(SqliteStorage *s, sqlite3_stmt *cell, StorageError *error) {
  bool is_short = s->lib->column_type(cell, SQLITE_SUM_COLUMN) == SQLITE_NULL;
  if (is_short || s->lib->column_type(cell, 1) != SQLITE_TEXT) return keep_row(s, cell, error);
  SessionInfo info = sqlite_info(s, cell);
  bool is_whole = sqlite_session_checksum(&info) == s->lib->column_int64(cell, SQLITE_SUM_COLUMN);
  bool fits = info.name.size >= 1 && info.name.size <= STORAGE_NAME_MAX && info.id >= 1 &&
              info.id <= STORAGE_SESSIONS_MAX;
  return is_whole && fits ? keep_session(s, info, error) : STATUS_OK;
}

/* ---- scanning ---- */

/* Counts the bytes of a cell's values. */
static void count_values(Damaged *d, sqlite3_stmt *cell) {
  for (int i = 1; i <= SQLITE_SUM_COLUMN; i++) {
    int type = d->s->lib->column_type(cell, i);
    if (type == SQLITE_BLOB || type == SQLITE_TEXT) d->read += (uint64_t)d->s->lib->column_bytes(cell, i);
  }
}

/* Prepares a statement about a page; NULL: the page was not declared. */
static sqlite3_stmt *prepare_page(Damaged *d, const char *format, uint32_t page) {
  char sql[100];
  sqlite3_stmt *statement = NULL;
  snprintf(sql, sizeof sql, format, page);
  d->s->lib->prepare_v3(d->db, sql, -1, 0, &statement, NULL);
  return statement;
}

/* Reads one number; 0 where there is none. */
static Status read_number(const Damaged *d, sqlite3_stmt *statement, int64_t *number) {
  const SqliteLibrary *lib = d->s->lib;
  bool found = statement != NULL && lib->step(statement) == SQLITE_ROW;
  *number = found ? lib->column_int64(statement, 0) : 0;
  return statement == NULL ? status_of(lib->extended_errcode(d->db)) : status_of(lib->finalize(statement));
}

/* Makes the page the root of a table. *cells: how many SQLite finds there, of the 681 that fit at most; 0: it is no
   leaf of a table, or its head is damaged. */
static Status declare_page(Damaged *d, uint32_t page, int64_t *cells, StorageError *error) {
  const SqliteLibrary *lib = d->s->lib;
  static const char format[] =
    "CREATE TABLE page%" PRIu32 "(id INTEGER PRIMARY KEY, name, " SESSION_COLUMNS(SQLITE_COLUMN) "sum)";
  char sql[sizeof format + 10];
  if (page % TABLES_MAX == 0) lib->test_control(SQLITE_TESTCTRL_IMPOSTER, d->db, "main", 0, 1);      /* ends them */
  snprintf(sql, sizeof sql, format, page);
  lib->test_control(SQLITE_TESTCTRL_IMPOSTER, d->db, "main", 1, (int)page);
  int code = lib->exec(d->db, sql, NULL, NULL, NULL);
  lib->test_control(SQLITE_TESTCTRL_IMPOSTER, d->db, "main", 0, 0);
  if ((code & 0xff) == SQLITE_READONLY) {
    return storage_fail(error, STATUS_IO, "%s: this SQLite cannot salvage: it is built with SQLITE_UNTESTABLE",
                        d->s->path);
  }
  if (status_of(code) != STATUS_OK) return STATUS_MEMORY;
  return read_number(d, prepare_page(d, "SELECT count(*) FROM (SELECT 1 FROM page%" PRIu32 " LIMIT 681)", page), cells);
}

/* Takes the cells of a page, one after the other; one that cannot be read is left out. */
static Status scan_page(Damaged *d, uint32_t page, StorageError *error) {
  const SqliteLibrary *lib = d->s->lib;
  int64_t count;
  Status status = declare_page(d, page, &count, error);
  if (status != STATUS_OK || count == 0) return status;
  sqlite3_stmt *cells = prepare_page(d, "SELECT * FROM page%" PRIu32 " LIMIT -1 OFFSET ?1", page);
  if (cells == NULL) return status_of(lib->extended_errcode(d->db));
  for (int64_t at = 0; at < count && status == STATUS_OK; at++) {
    lib->bind_int64(cells, 1, at);
    for (; status == STATUS_OK && at < count && lib->step(cells) == SQLITE_ROW; at++) {
      count_values(d, cells);
      status = keep_cell(d->s, cells, error);
    }
    int code = lib->reset(cells);
    if (status == STATUS_OK) status = status_of(code);
    bool is_enough = d->read > d->read_most;
    if (is_enough) lib->limit(d->db, SQLITE_LIMIT_LENGTH, STORE_PAGE);      /* longer values are errors from here on */
  }
  lib->finalize(cells);
  return status;
}

static Status scan(Damaged *d, StorageError *error) {
  sqlite3_stmt *statement = NULL;
  int64_t pages;
  d->s->lib->prepare_v3(d->db, "PRAGMA page_count", -1, 0, &statement, NULL);
  Status status = read_number(d, statement, &pages);
  d->read_most = (uint64_t)pages * STORE_PAGE * READS + READ_LEAST;
  for (int64_t page = 2; page <= pages && status == STATUS_OK; page++) status = scan_page(d, (uint32_t)page, error);
  return status;
}

/* ---- opening ---- */

/* Makes the temporary database, and begins the transaction that fills it. */
static Status begin(SqliteStorage *s, StorageError *error) {
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  int code = s->lib->open_v2("", &s->db, flags, NULL);
  if (code != SQLITE_OK) return sqlite_fail(s, code, error);
  Status status = sqlite_exec(s, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF", error);
  if (status == STATUS_OK) status = sqlite_create_tables(s, error);
  return status == STATUS_OK ? sqlite_begin(s, true, error) : status;
}

static Status fill(SqliteStorage *s, StorageError *error) {
  Damaged d = {.s = s};
  FileLook file;
  if (file_look(s->path, &file) != STATUS_OK) {
    return storage_fail(error, STATUS_IO, "%s: %s", s->path, strerror(errno));
  }
  if (!file.exists) return storage_fail(error, STATUS_ABSENT, "%s: no such file", s->path);
  if (!file.regular || file.size == 0) {
    return storage_fail(error, STATUS_SHAPE, "%s: it is empty, or not a file", s->path);
  }
  Status status = begin(s, error);
  if (status != STATUS_OK) return status;
  status = open_damaged(&d, error);
  if (status == STATUS_OK) status = scan(&d, error);
  close_damaged(&d);
  if (status == STATUS_OK) status = name_others(s, error);
  return sqlite_end(s, status, error);
}

static Status open_salvage(const char *place, const StorageConfig *config, Storage **storage, StorageError *error) {
  SqliteStorage *s = NULL;
  Status status = sqlite_new(place, config, &STORAGE_SALVAGE, &s, error);
  if (status != STATUS_OK) return status;
  status = fill(s, error);
  s->read_only = s->salvaged = true;
  if (status == STATUS_OK) *storage = &s->base;
  else sqlite_release(s);
  return status;
}

static void close_salvage(Storage *storage) { sqlite_release(sqlite_of(storage)); }

static void describe(const Storage *storage, char what[64], char warning[200]) {
  (void)storage;
  snprintf(what, 64, "a file of SQLite that is salvaged");
  warning[0] = '\0';
}

const StorageDriver STORAGE_SALVAGE = {      /* without `begin`: it is only read */
  .open = open_salvage, .close = close_salvage, .describe = describe, .list = sqlite_list, .find = sqlite_find,
  .read = sqlite_read, .look = sqlite_look,
};
