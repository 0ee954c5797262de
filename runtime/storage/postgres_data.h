/*
** A database of PostgreSQL.
**
**     ebb_schema      one row: the version of the tables. It is also the lock of what changes who shares rows with whom
**     ebb_session     a row per session, as in SQLite; names are bytes, in their order
**     ebb_row         all rows of all sessions, by session, kind and number
**     ebb_operation   ids of the last commits of each session
**
** Locks, in this order: the row of ebb_schema, then sessions from origins to branches.
**
**     an append            its session
**     a commit of a branch, which may rewrite rows of its origins: ebb_schema shared, its session, and its origins
**                          from the last to the first one
**     a new branch         ebb_schema shared, its origin
**     a removal, and a commit that replaces all rows, which give branches rows of their own: ebb_schema alone,
**                          its session, its branches
**     a claim of a group, which forgets in all sessions that share a message: ebb_schema alone, any sessions
**
** Each lock is taken by a statement of its own at READ COMMITTED: the next statement sees what others committed until
** the lock was had. Reads see one snapshot, REPEATABLE READ.
**
** Statements go in pipelines: a commit has two round trips, one for storage_begin and one for rows, version, operation
** id and COMMIT. Numbers and bytes are sent and read in binary.
**
** A message that is forgotten stays in old row versions until VACUUM, and in archives of the server's log.
**
** Shared by the files of the driver:
**
**     storage_postgres.c      opens and closes
**     postgres_connect.c      connects
**     postgres_connection.c   statements, waits for the server, transactions
**     postgres_sessions.c     sessions, branches
**     postgres_rows.c         reads and commits rows
**     postgres_notice.c       tells of commits, waits for them
**     postgres_lease.c        leases for writers
**     postgres_upkeep.c       checks, free room
*/
#ifndef EBB_STORAGE_POSTGRES_DATA_H
#define EBB_STORAGE_POSTGRES_DATA_H

#include "storage/storage_segments.h"

/* Without the library's header at build time EBB_POSTGRES is not defined, and the driver says so when it is used. */
#ifdef __has_include
#if __has_include(<libpq-fe.h>)
#define EBB_POSTGRES
#endif
#endif

#ifdef EBB_POSTGRES

#include <libpq-fe.h>

/* ---- the library ---- */

/* The functions that Ebb calls. The library is loaded on first use, so that Ebb runs where it is not installed. */
#define POSTGRES_FUNCTIONS(X)                                                                                     \
  X(connectdbParams) X(finish) X(status) X(errorMessage) X(parameterStatus) X(socket) X(sendQueryParams)          \
  X(setSingleRowMode) X(getResult) X(isBusy) X(consumeInput) X(flush) X(setnonblocking) X(resultStatus)           \
  X(resultErrorField) X(ntuples) X(getvalue) X(getlength) X(clear) X(cmdTuples) X(enterPipelineMode)              \
  X(pipelineSync) X(notifies) X(freemem) X(transactionStatus) X(setNoticeProcessor)

#define POSTGRES_FIELD(name) __typeof__(&PQ##name) name;
typedef struct PostgresLibrary {
  POSTGRES_FUNCTIONS(POSTGRES_FIELD)
} PostgresLibrary;
#undef POSTGRES_FIELD

/* The library; NULL if it is not installed or older than version 14, and then *why says what the loader said. */
const PostgresLibrary *postgres_library(const char **why);

/* ---- the database ---- */

#define POSTGRES_SCHEMA 1
#define POSTGRES_VALUES_MAX 12

/* The values of a statement, $1 and on. */
typedef struct PostgresValues {
  int count;
  Oid types[POSTGRES_VALUES_MAX];
  const char *bytes[POSTGRES_VALUES_MAX];
  int sizes[POSTGRES_VALUES_MAX], formats[POSTGRES_VALUES_MAX];
  char numbers[POSTGRES_VALUES_MAX][8];
} PostgresValues;

/* A statement of a pipeline. */
typedef struct PostgresQuery {
  const char *sql;
  PostgresValues values;
  PGresult *result;          /* after postgres_run; owned by the query until postgres_clear */
} PostgresQuery;

#define POSTGRES_COLUMNS 5   /* of a row: session, kind, number, sum, body */

typedef struct PostgresStorage {
  Storage base;
  Memory memory;
  const PostgresLibrary *lib;
  PGconn *connection;        /* NULL: lost; the next call connects anew */
  char *place;               /* the URL */
  bool hides_words;          /* of libpq while it connects: they may quote the password */
  char *name;                /* the URL without user, password and options, for errors */
  bool relaxed;
  bool listens;              /* this connection does */
  bool has_leases;           /* their table is known to be there */
  bool posted;               /* the result of postgres_post was not taken yet */
  uint32_t wait_ms;
  StorageCommit commit;      /* the one that runs */
  bool commits;
  uint64_t stored_before;    /* seqs of its session so far */
  bool forgets;              /* rows that were not sent yet belong to origins */
  StorageSegments segments; /* of its session, if that is a branch */
  Buffer rows[POSTGRES_COLUMNS];      /* its rows that were not sent yet, as arrays in binary */
  uint32_t row_count;
  Buffer changed;            /* within a group: the sessions that were committed, as numbers between commas */
} PostgresStorage;

static inline PostgresStorage *postgres_of(Storage *storage) { return (PostgresStorage *)storage; }

/* ---- postgres_connect.c ---- */

/* Connects anew if the connection was lost. Each call of the storage begins with it. */
Status postgres_ready(PostgresStorage *p, StorageError *error);
/* The same, and makes *begin the statement that begins a transaction: in a group, whose own transaction the first
   write begins, a savepoint of it; else it stays. */
Status postgres_begin(PostgresStorage *p, bool writes, PostgresQuery *begin, StorageError *error);

/* ---- postgres_connection.c ---- */

void postgres_add_number(PostgresValues *values, int64_t number);
void postgres_add_bytes(PostgresValues *values, Text bytes);      /* bytea; borrowed until the statement has run */
void postgres_add_text(PostgresValues *values, Text text);        /* borrowed, too */
void postgres_add_array(PostgresValues *values, bool of_numbers, const Buffer *array);      /* borrowed, too */
/* A query whose values are `count` numbers. */
PostgresQuery postgres_query(const char *sql, int count, const int64_t *numbers);

/* The status of a result that failed, or of the connection (NULL), and the server's words. */
Status postgres_fail(PostgresStorage *p, const PGresult *result, StorageError *error);
/* Runs statements in one round trip, and takes their results. After a failure the others did not run, and no
   results are there. */
Status postgres_run(PostgresStorage *p, PostgresQuery *queries, int count, StorageError *error);
void   postgres_clear(PostgresStorage *p, PostgresQuery *queries, int count);
/* The same for statements whose results do not matter. */
Status postgres_do(PostgresStorage *p, PostgresQuery *queries, int count, StorageError *error);
/* Runs a statement whose rows are given one by one, so that they need not fit into memory. */
Status postgres_each(PostgresStorage *p, const PostgresQuery *query,
                     Status (*take)(void *user, const PGresult *row), void *user, StorageError *error);
/* Sends a statement outside of transactions and groups, and lets the next exchange take its result. What fails is
   ignored. */
void   postgres_post(PostgresStorage *p, const PostgresQuery *query);
/* Takes what the server sends within so many milliseconds, and while no statement runs. */
Status postgres_listen(PostgresStorage *p, int64_t ms, StorageError *error);
/* The statement that ends what postgres_begin began. */
PostgresQuery postgres_commit_query(const PostgresStorage *p);
/* The end of a transaction; of a failed one it is a rollback. In a group the same of the savepoint. */
Status postgres_end(PostgresStorage *p, Status status, StorageError *error);
/* Ends a connection that failed or hangs. */
void   postgres_drop(PostgresStorage *p);

int  postgres_rows_of(const PostgresStorage *p, const PostgresQuery *query);
int64_t postgres_number(const PostgresStorage *p, const PGresult *result, int row, int column);
Text postgres_bytes(const PostgresStorage *p, const PGresult *result, int row, int column);      /* of the result */

/* ---- postgres_sessions.c ---- */

/* The checksum of a session's row, which the server writes with it and a read compares. */
#define POSTGRES_SUMMAND(member, column) "int8send(" #column ") || "
#define POSTGRES_SESSION_SUM "md5(int8send(id) || " SESSION_COLUMNS(POSTGRES_SUMMAND) "name)"
#define POSTGRES_COLUMN(member, column) #column ", "
#define POSTGRES_FIELDS "id, name, " SESSION_COLUMNS(POSTGRES_COLUMN) "(sum = " POSTGRES_SESSION_SUM ")::int4::int8"
/* The tally of a query's rows, as count and total. */
#define POSTGRES_TALLY_OF(row) "count(" row ".sum) AS count, coalesce(sum(" row ".sum & 1073741823), 0)::int8 AS total"
_Static_assert(STORAGE_TALLY_BITS == 1073741823, "the bits of POSTGRES_TALLY_OF");
#define POSTGRES_LOCK "SELECT version FROM ebb_schema FOR UPDATE"
#define POSTGRES_LOCK_SHARED "SELECT version FROM ebb_schema FOR SHARE"
#define POSTGRES_LOCK_SESSION "SELECT " POSTGRES_FIELDS " FROM ebb_session WHERE id = $1 FOR UPDATE"

/* SHAPE: the row differs from its checksum. */
Status postgres_info(const PostgresStorage *p, const PGresult *result, int row, SessionInfo *info,
                     StorageError *error);
/* The session and its origins; its rows give the segments. Its value is the session. */
extern const char POSTGRES_CHAIN[];
/* ABSENT; SHAPE if an origin is missing. */
Status postgres_segments(const PostgresStorage *p, const PostgresQuery *chain, SessionInfo *info,
                         StorageSegments *segments, StorageError *error);
/* The statements that give a session's branches rows of their own; their value is the session. */
#define POSTGRES_UNSHARE_STEPS 2
extern const char *const POSTGRES_UNSHARE[POSTGRES_UNSHARE_STEPS];

Status postgres_list(Storage *storage, SessionSink sink, StorageError *error);
Status postgres_find(Storage *storage, Text name, SessionInfo *info, StorageError *error);
Status postgres_create(Storage *storage, Text name, int64_t now, SessionInfo *info, StorageError *error);
Status postgres_rename(Storage *storage, uint64_t session, Text name, StorageError *error);
Status postgres_remove(Storage *storage, uint64_t session, StorageError *error);
Status postgres_branch(Storage *storage, uint64_t session, Text name, int64_t now, SessionInfo *info,
                       StorageError *error);

/* ---- postgres_rows.c ---- */

Status postgres_read(Storage *storage, uint64_t session, StateRowSink sink, SessionInfo *info, StorageError *error);
Status postgres_look(Storage *storage, uint64_t session, StorageLook look, StorageError *error);
Status postgres_begin_commit(Storage *storage, const StorageCommit *commit, bool *done, StorageError *error);
Status postgres_put(Storage *storage, const StateRow *row, StorageError *error);
Status postgres_commit(Storage *storage, StorageError *error);
void   postgres_abandon(Storage *storage);
Status postgres_claim(Storage *storage, StorageError *error);
Status postgres_end_group(Storage *storage, bool keeps, StorageError *error);

/* ---- postgres_notice.c ---- */

/* Tells those who wait for the session; in a group at its end. */
void   postgres_notify(PostgresStorage *p, uint64_t session);
void   postgres_notify_group(PostgresStorage *p);
Status postgres_wait(Storage *storage, uint64_t session, uint64_t version, int64_t ms, uint64_t *actual,
                     StorageError *error);

/* ---- postgres_lease.c ---- */

Status postgres_lease(Storage *storage, uint64_t session, Text owner, int64_t ms, int64_t *left, StorageError *error);
Status postgres_release(Storage *storage, uint64_t session, Text owner, StorageError *error);

/* ---- postgres_upkeep.c ---- */

Status postgres_check(Storage *storage, void (*tell)(void *user, const char *fault), void *user, StorageError *error);
Status postgres_settle(Storage *storage, bool vacuums, StorageError *error);

#endif
#endif
