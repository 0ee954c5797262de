/*
** A database of SQLite.
**
**     session     a row per session: name, version, figures, and the session that it branched from
**     row         all rows of all sessions, by id: session << 38 | kind << 35 | number, so that the rows of a kind lie
**                 together and a session's last messages are one range
**     operation   ids of the last commits of each session
**     register    one row: the number of sessions, which triggers count
**
** Every row of the three has a checksum. A session's row has the tally of its rows, too: a row whose id changed has a
** right checksum, but is missed. Where no session of a name or number is found, and in lists, the register is asked
** whether one is missing.
**
** Rules that keep the file whole (SQLite before 3.51.3 may corrupt a database whose log two connections checkpoint
** and restart at the same moment, https://sqlite.org/wal.html#the_wal_reset_bug): no connection checkpoints by
** itself; sqlite_checkpoint alone does, under a lock of its own, as TRUNCATE, and rather interrupts itself than fall
** back to PASSIVE.
**
** Shared by the files of the driver:
**
**     storage_sqlite.c     opens and closes
**     sqlite_connection.c  statements, waits for others, transactions, checkpoints
**     sqlite_sessions.c    sessions
**     sqlite_rows.c        reads and commits rows
**     sqlite_upkeep.c      checks, vacuums, copies
**     sqlite_salvage.c     reads what is left of a damaged file
*/
#ifndef EBB_STORAGE_SQLITE_DATA_H
#define EBB_STORAGE_SQLITE_DATA_H

#include <sqlite3.h>

#include "storage/storage_segments.h"

/* ---- the library ---- */

/* The functions that Ebb calls. The library is loaded on first use, so that a command without sessions does not pay for
   it; with EBB_SQLITE_INSIDE it is linked in. */
#define SQLITE_FUNCTIONS(X)                                                                                     \
  X(open_v2) X(close_v2) X(errmsg) X(extended_errcode) X(exec) X(prepare_v3) X(step) X(reset) X(finalize)       \
  X(bind_int64) X(bind_blob64) X(bind_text64) X(bind_null) X(clear_bindings) X(column_int64) X(column_blob)     \
  X(column_text) X(column_bytes) X(column_type) X(changes) X(last_insert_rowid) X(busy_handler)                 \
  X(wal_hook) X(wal_checkpoint_v2) X(interrupt) X(libversion) X(libversion_number) X(get_autocommit)            \
  X(db_config) X(file_control) X(system_errno) X(limit) X(test_control) X(vfs_find) X(vfs_register) X(vfs_unregister)

#define SQLITE_FIELD(name) __typeof__(&sqlite3_##name) name;
typedef struct SqliteLibrary {
  SQLITE_FUNCTIONS(SQLITE_FIELD)
} SqliteLibrary;
#undef SQLITE_FIELD

/* The library; NULL if it is not installed, and then *why says what the loader said. */
const SqliteLibrary *sqlite_library(const char **why);

/* ---- the database ---- */

#define STORE_APPLICATION 0x45626221        /* "Ebb!" */
#define STORE_SCHEMA 1
#define STORE_PAGE 4096             /* bytes of a page of the file */
#define ROW_SESSION_SHIFT 38

typedef enum SqliteStatement {
  SQL_BEGIN, SQL_BEGIN_READ, SQL_COMMIT, SQL_ROLLBACK, SQL_SAVE, SQL_RELEASE, SQL_ROLLBACK_TO,
  SQL_LIST, SQL_REGISTER, SQL_GUESS, SQL_FIND, SQL_SESSION, SQL_CREATE, SQL_RENAME, SQL_REMOVE, SQL_BRANCH,
  SQL_CHILDREN,
  SQL_COPY_ROWS, SQL_ERASE_ROWS, SQL_ERASE_OPERATIONS, SQL_UNSHARE, SQL_SEAL, SQL_TALLY, SQL_ADD_TALLY,
  SQL_READ, SQL_OPERATION, SQL_ADVANCE, SQL_PUT, SQL_NOTE, SQL_FORGET_NOTES, SQL_SCHEMA, SQL_APPLICATION, SQL_TABLES,
  SQL_KEEP_ROW, SQL_KEEP_SESSION, SQL_NEXT_ROW, SQL_STATEMENTS
} SqliteStatement;

typedef struct SqliteStorage {
  Storage base;
  Memory memory;
  const SqliteLibrary *lib;
  sqlite3 *db;
  char *path;
  sqlite3_stmt *statements[SQL_STATEMENTS];     /* prepared on first use */
  uint32_t wait_ms;
  int64_t deadline;          /* ms of clock_monotonic, for the busy handler; 0: none runs */
  bool checkpoints;          /* the handler serves a checkpoint: it interrupts at the deadline */
  bool read_only;
  bool salvaged;             /* what is left of a damaged file: origins may be missing */
  uint32_t log_pages;        /* in the log after the last commit */
  StorageCommit commit;      /* the one that runs */
  bool commits;
  uint64_t stored_before;    /* seqs of its session so far */
  RowTally added;            /* by its rows, modulo 2^64 */
  bool forgets;              /* it rewrites a message */
  bool saved;                /* within a group: the savepoint of one write is open */
  bool group_forgets;        /* what a group wrote empties the log at its end */
} SqliteStorage;

static inline SqliteStorage *sqlite_of(Storage *storage) { return (SqliteStorage *)storage; }

static inline uint64_t sqlite_row_id(uint64_t session, StateRowKind kind, uint64_t number) {
  return session << ROW_SESSION_SHIFT | (uint64_t)kind << ROW_KIND_SHIFT | number;
}

/* ---- storage_sqlite.c ---- */

/* Makes a storage without a connection. */
Status sqlite_new(const char *place, const StorageConfig *config, const StorageDriver *driver, SqliteStorage **storage,
                  StorageError *error);
/* Ends the connection, if there is one, and frees the storage. */
void   sqlite_release(SqliteStorage *s);
/* Makes the tables of an empty database. */
Status sqlite_create_tables(SqliteStorage *s, StorageError *error);

/* ---- sqlite_connection.c ---- */

/* Ends with the status of SQLite's code and its words. */
Status sqlite_fail(SqliteStorage *s, int code, StorageError *error);
/* A statement that is prepared and has no values; NULL: *status, and *error. */
sqlite3_stmt *sqlite_prepare(SqliteStorage *s, SqliteStatement which, Status *status, StorageError *error);
/* Runs a statement without rows, with `count` integers. */
Status sqlite_run(SqliteStorage *s, SqliteStatement which, int count, const int64_t *values, StorageError *error);
/* Steps: true for a row; false at the end or after a failure. The caller resets the statement. */
bool   sqlite_next(SqliteStorage *s, sqlite3_stmt *statement, Status *status, StorageError *error);

/* Runs the statements of a text. */
Status sqlite_exec(SqliteStorage *s, const char *sql, StorageError *error);
/* The first number of a statement without values. */
Status sqlite_number(SqliteStorage *s, SqliteStatement which, int64_t *number, StorageError *error);
/* Sets what a new connection does about locks of others, and about its log. */
void   sqlite_watch(SqliteStorage *s);

/* Begin and end of a transaction; reading ones see one snapshot. The end of a failed one is a rollback. In a group
   these are savepoints of its transaction, which the first write begins. */
Status sqlite_begin(SqliteStorage *s, bool writes, StorageError *error);
Status sqlite_end(SqliteStorage *s, Status status, StorageError *error);

Status sqlite_claim(Storage *storage, StorageError *error);
Status sqlite_end_group(Storage *storage, bool keeps, StorageError *error);

/* Empties the log if it is large, or `always`. Does nothing while others read it; in a group at its end. */
Status sqlite_checkpoint(SqliteStorage *s, bool always, StorageError *error);

/* ---- sqlite_sessions.c ---- */

/* Selects a session: its number, name, SESSION_COLUMNS, and its checksum. */
#define SQLITE_COLUMN(member, column) #column ", "
#define SQLITE_SESSION "id, name, " SESSION_COLUMNS(SQLITE_COLUMN) "sum"
#define SQLITE_COUNT_COLUMN(member, column) +1
/* A row in the order of SQLITE_SESSION; *name is the statement's. */
SessionInfo sqlite_info(const SqliteStorage *s, sqlite3_stmt *statement);
enum { SQLITE_SUM_COLUMN = 2 SESSION_COLUMNS(SQLITE_COUNT_COLUMN) };
/* Binds the values of a row in this order, with its checksum; the name is borrowed. */
void   sqlite_bind_info(const SqliteStorage *s, sqlite3_stmt *statement, const SessionInfo *info);
/* The checksum of a session's row. */
int64_t sqlite_session_checksum(const SessionInfo *info);

Status sqlite_list(Storage *storage, SessionSink sink, StorageError *error);
Status sqlite_find(Storage *storage, Text name, SessionInfo *info, StorageError *error);
Status sqlite_session(SqliteStorage *s, uint64_t session, SessionInfo *info, StorageError *error);     /* ABSENT */
Status sqlite_create(Storage *storage, Text name, int64_t now, SessionInfo *info, StorageError *error);
Status sqlite_rename(Storage *storage, uint64_t session, Text name, StorageError *error);
Status sqlite_remove(Storage *storage, uint64_t session, StorageError *error);
Status sqlite_branch(Storage *storage, uint64_t session, Text name, int64_t now, SessionInfo *info,
                     StorageError *error);
/* Writes the checksum of a session's row, after each change of it. Within a transaction. */
Status sqlite_seal(SqliteStorage *s, uint64_t session, StorageError *error);
/* Adds up the rows of a range of ids. */
Status sqlite_tally(SqliteStorage *s, uint64_t first, uint64_t last, RowTally *tally, StorageError *error);
/* Adds to a session's tally, modulo 2^64. Within a transaction. */
Status sqlite_add_tally(SqliteStorage *s, uint64_t session, RowTally added, StorageError *error);
/* Gives the branches of a session copies of the rows that they share with it. Within a transaction. */
Status sqlite_unshare(SqliteStorage *s, uint64_t session, StorageError *error);

/* ---- sqlite_rows.c ---- */

Status sqlite_read(Storage *storage, uint64_t session, StateRowSink sink, SessionInfo *info, StorageError *error);
Status sqlite_look(Storage *storage, uint64_t session, StorageLook look, StorageError *error);
Status sqlite_begin_commit(Storage *storage, const StorageCommit *commit, bool *done, StorageError *error);
Status sqlite_put(Storage *storage, const StateRow *row, StorageError *error);
/* Puts a row with SQL_PUT or SQL_KEEP_ROW. */
Status sqlite_put_row(SqliteStorage *s, SqliteStatement which, uint64_t id, int64_t sum, Text bytes,
                      StorageError *error);
Status sqlite_commit(Storage *storage, StorageError *error);
void   sqlite_abandon(Storage *storage);

/* ---- sqlite_upkeep.c ---- */

Status sqlite_wait(Storage *storage, uint64_t session, uint64_t version, int64_t ms, uint64_t *actual,
                   StorageError *error);
Status sqlite_check(Storage *storage, void (*tell)(void *user, const char *fault), void *user, StorageError *error);
Status sqlite_settle(Storage *storage, bool vacuums, StorageError *error);
Status sqlite_backup(Storage *storage, const char *path, StorageError *error);

#endif
