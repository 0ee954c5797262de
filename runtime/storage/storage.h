/*
** Storage: sessions that outlive the process, in a database.
**
** A session is a conversation's rows (state/state_rows.h) under a name, with a version that each commit increases
** by one. A commit names the version that it follows; if another process was faster, it is refused and nothing has
** changed. An operation id, which the caller makes once for an intention and keeps for its retries, makes a commit
** whose answer was lost safe to repeat: the second one changes nothing.
**
**     storage_begin(storage, &commit, &error)      compares version and operation
**     storage_put(storage, &row, &error) ...       what changed
**     storage_commit(storage, &error)              on disk when it returns
**
** A branch shares the messages of its origin up to the branch, row by row; only what may change is copied.
**
** Drivers: SQLite (one file; storage_sqlite.c) and PostgreSQL (a URL; storage_postgres.c), whose libraries are loaded
** on first use, and one that reads damaged files of SQLite (sqlite_salvage.c). One thread at a time uses a storage;
** it must not be used in a child after fork().
*/
#ifndef EBB_STORAGE_STORAGE_H
#define EBB_STORAGE_STORAGE_H

#include "state/state_rows.h"

typedef struct Storage Storage;

/* Why a call failed; the status is what the function returned:
     ABSENT     no such database or session             CONFLICT   another version; `actual` says which
     RANGE      a newer schema                          SHAPE      not a store of Ebb, or damaged
     FORBIDDEN  it may only be read                     DUPLICATE  a session of that name exists
     IO         the system, a lock, a full disk         MEMORY, ARGUMENT, LIMIT */
typedef struct StorageError {
  uint64_t actual;
  char text[240];            /* a sentence without its end; "" : the status says it */
} StorageError;

typedef struct StorageConfig {
  Memory memory;
  bool creates;              /* makes the database where there is none */
  bool salvages;             /* reads what is left of a damaged file of SQLite; writes nothing */
  bool relaxed;              /* a commit survives the process, and a power cut only after the next checkpoint */
  uint32_t wait_ms;          /* for locks of others */
} StorageConfig;

#define STORAGE_WAIT_MS 10000
#define STORAGE_NAME_MAX 255           /* bytes of a session's name */
#define STORAGE_SESSIONS_MAX ((UINT64_C(1) << 25) - 1)      /* ever begun in one database */
#define STORAGE_ORIGINS_MAX 64         /* a branch of a branch of ...; a deeper one is refused */
#define STORAGE_OPERATIONS_KEPT 1000   /* operation ids of a session at least; an older retry is a conflict */
#define STORAGE_OPERATIONS_STEP 100    /* older ones go every so many commits */

/* Opens a database: a path, or postgres://... for PostgreSQL. */
Status storage_open(const char *place, const StorageConfig *config, Storage **storage, StorageError *error);
void   storage_close(Storage *storage);      /* NULL is allowed */

/* What the storage is: "SQLite 3.40.1", and what its users should know about that version, or "". */
void   storage_describe(const Storage *storage, char what[64], char warning[200]);

/* ---- sessions ---- */

/* What a session's own rows add up to, in any order: without one of them, or with one more, it is another tally. */
typedef struct RowTally {
  uint64_t count;
  uint64_t sum;              /* of the low bits of the rows' checksums */
} RowTally;

#define STORAGE_TALLY_BITS 0x3fffffff      /* 2^33 rows add up to less than 2^63 */

typedef struct SessionInfo {
  uint64_t id;
  Text name;                 /* borrowed during a callback, else until the next call */
  uint64_t version;          /* 0: nothing was committed yet */
  uint64_t messages, tokens; /* visible ones, at the last commit */
  uint64_t stored, batches;
  int64_t created, changed;  /* ms since 1970 */
  uint64_t origin;           /* the session it branched from; 0: none */
  uint64_t shared;           /* seqs up to this one are the origin's */
  RowTally tally;
} SessionInfo;

/* The figures that a commit sets, and a branch takes over: the member here and in StorageCommit, which is the column's
   name, and the number of the value in statements. */
#define SESSION_FIGURES(X) X(messages, 4) X(tokens, 5) X(stored, 6) X(batches, 7)
/* The columns of a session's row between its name and its checksum: the member of SessionInfo, and the column's name.
   What is selected, checked, created and read comes in this order. */
#define SESSION_COLUMNS(X)                                                                                      \
  X(version, version) X(messages, messages) X(tokens, tokens) X(stored, stored) X(batches, batches)             \
  X(created, created) X(changed, changed) X(origin, origin) X(shared, shared)                                   \
  X(tally.count, row_count) X(tally.sum, row_sum)

typedef struct SessionSink {
  Status (*add)(void *user, const SessionInfo *info);
  void *user;
} SessionSink;

/* All sessions, by name. */
Status storage_list(Storage *storage, SessionSink sink, StorageError *error);
Status storage_find(Storage *storage, Text name, SessionInfo *info, StorageError *error);     /* ABSENT */
Status storage_create(Storage *storage, Text name, int64_t now, SessionInfo *info, StorageError *error);
Status storage_rename(Storage *storage, uint64_t session, Text name, StorageError *error);
/* Branches that share its messages get rows of their own first. */
Status storage_remove(Storage *storage, uint64_t session, StorageError *error);
/* Creates a session with the rows of another one, as of now. */
Status storage_branch(Storage *storage, uint64_t session, Text name, int64_t now, SessionInfo *info,
                      StorageError *error);

/* ---- rows ---- */

/* Gives all rows of a session in order, from one snapshot, and what was true of it then. SHAPE: a row differs from
   its checksum, or the rows of the session or of an origin from their tally; *error names it. */
Status storage_read(Storage *storage, uint64_t session, StateRowSink sink, SessionInfo *info, StorageError *error);
/* What looks at some rows of a session. */
typedef struct StorageLook {
  Status (*run)(void *user, const SessionInfo *info, StateRowSource rows);
  void *user;
} StorageLook;

/* Calls `look` with a source of rows, all from one snapshot. Each row that it reads is compared with its checksum, and
   none with the session's tally: a missing row is not noticed. The status of `look`, or SHAPE, ABSENT, IO. */
Status storage_look(Storage *storage, uint64_t session, StorageLook look, StorageError *error);
/* Gives the rows of one kind with the numbers first .. last, as storage_look. */
Status storage_read_some(Storage *storage, uint64_t session, StateRowKind kind, uint64_t first, uint64_t last,
                         StateRowSink sink, StorageError *error);

typedef struct StorageCommit {
  uint64_t session, expected;      /* version */
  Text operation;            /* id; size 0: none */
  bool replaces;             /* the rows replace all that the session has */
  uint64_t messages, tokens, stored, batches;
  int64_t now;
} StorageCommit;

/* Begins a commit. *done: this operation was committed before, as `error->actual`, and nothing is to be put. */
Status storage_begin(Storage *storage, const StorageCommit *commit, bool *done, StorageError *error);
/* A row is put once in a commit. */
Status storage_put(Storage *storage, const StateRow *row, StorageError *error);
/* After a failure of any of these three nothing of the commit is there, unless the failure is IO in storage_commit:
   then it may be there, and a retry with the same operation finds out. */
Status storage_commit(Storage *storage, StorageError *error);
void   storage_abandon(Storage *storage);    /* ends a commit without a trace */

/* ---- groups: several commits with one sync ---- */

/* What is written from here to the end of the group is one transaction, which begins with the first write: commits
   of any sessions, new sessions, branches, names. Each call is refused or done as ever, and seen by the next ones;
   nothing is on disk, and other programs see nothing, before the end. Others that write wait meanwhile: SQLite's all,
   PostgreSQL's those of the same sessions. Leases, waits and upkeep are refused: ARGUMENT, as is a group in a group. */
Status storage_begin_group(Storage *storage, StorageError *error);
/* Locks, to the end of the group, which sessions share rows, and the rows of branches: no other program branches,
   removes or prunes a session meanwhile, nor commits to a branch. ARGUMENT without a group. */
Status storage_claim(Storage *storage, StorageError *error);
/* Ends the group: all is on disk when it returns, or nothing of it is kept. After a failure nothing is there, unless
   it is IO: then all of it may be. */
Status storage_end_group(Storage *storage, bool keeps, StorageError *error);

/* Waits until the session has another version than `version`, for at most so many milliseconds; *actual: the version
   then. */
Status storage_wait(Storage *storage, uint64_t session, uint64_t version, int64_t ms, uint64_t *actual,
                    StorageError *error);

/* ---- leases, of PostgreSQL only: ARGUMENT elsewhere ---- */

/* Takes the session for an owner, or has it for longer: until so many milliseconds from now. *left: 0, or for how long
   another owner has it still; then nothing has changed. The version grows when the lease of another owner has run out,
   so that what that one commits is a conflict. Those who do not ask for leases are not hindered. */
Status storage_lease(Storage *storage, uint64_t session, Text owner, int64_t ms, int64_t *left, StorageError *error);
/* Gives up the lease, if the owner has it. */
Status storage_release(Storage *storage, uint64_t session, Text owner, StorageError *error);

/* ---- upkeep ---- */

/* Checks the database's structure, every row's checksum, and that each session has all of its rows. Each fault is
   given to `tell`. */
Status storage_check(Storage *storage, void (*tell)(void *user, const char *fault), void *user, StorageError *error);
/* Writes what is in the log into the main file; gives free pages back to the system if `vacuums`. */
Status storage_settle(Storage *storage, bool vacuums, StorageError *error);
/* Writes a consistent copy to a new file while others go on. SQLite only: ARGUMENT. */
Status storage_backup(Storage *storage, const char *path, StorageError *error);

/* ---- for drivers ---- */

typedef enum StorageGroup {
  GROUP_NONE,
  GROUP_READY,               /* nothing was written yet */
  GROUP_OPEN,                /* its transaction is open */
  GROUP_LOST                 /* a failure ended the transaction, and nothing of it is there */
} StorageGroup;

typedef struct StorageDriver {
  Status (*open)(const char *place, const StorageConfig *config, Storage **storage, StorageError *error);
  void (*close)(Storage *storage);
  void (*describe)(const Storage *storage, char what[64], char warning[200]);
  Status (*list)(Storage *storage, SessionSink sink, StorageError *error);
  Status (*find)(Storage *storage, Text name, SessionInfo *info, StorageError *error);
  Status (*create)(Storage *storage, Text name, int64_t now, SessionInfo *info, StorageError *error);
  Status (*rename)(Storage *storage, uint64_t session, Text name, StorageError *error);
  Status (*remove)(Storage *storage, uint64_t session, StorageError *error);
  Status (*branch)(Storage *storage, uint64_t session, Text name, int64_t now, SessionInfo *info,
                   StorageError *error);
  Status (*read)(Storage *storage, uint64_t session, StateRowSink sink, SessionInfo *info, StorageError *error);
  Status (*look)(Storage *storage, uint64_t session, StorageLook look, StorageError *error);
  Status (*begin)(Storage *storage, const StorageCommit *commit, bool *done, StorageError *error);
  Status (*put)(Storage *storage, const StateRow *row, StorageError *error);
  Status (*commit)(Storage *storage, StorageError *error);
  void (*abandon)(Storage *storage);
  Status (*claim)(Storage *storage, StorageError *error);
  Status (*end_group)(Storage *storage, bool keeps, StorageError *error);
  Status (*wait)(Storage *storage, uint64_t session, uint64_t version, int64_t ms, uint64_t *actual,
                 StorageError *error);
  Status (*lease)(Storage *storage, uint64_t session, Text owner, int64_t ms, int64_t *left,
                  StorageError *error);      /* NULL: there are none */
  Status (*release)(Storage *storage, uint64_t session, Text owner, StorageError *error);
  Status (*check)(Storage *storage, void (*tell)(void *user, const char *fault), void *user, StorageError *error);
  Status (*settle)(Storage *storage, bool vacuums, StorageError *error);
  Status (*backup)(Storage *storage, const char *path, StorageError *error);
} StorageDriver;

/* The first member of a driver's own struct. */
struct Storage {
  const StorageDriver *driver;
  int64_t process;           /* that opened it */
  StorageGroup group;
};

extern const StorageDriver STORAGE_SQLITE, STORAGE_POSTGRES, STORAGE_SALVAGE;

/* Whether a branch shares rows of this kind with its origin. */
static inline bool storage_shares(StateRowKind kind) { return kind >= STATE_ROW_MESSAGE && kind <= STATE_ROW_ANSWERS; }

/* IO for a write in a group whose transaction was lost. */
Status storage_enter_group(Storage *storage, bool writes, StorageError *error);
/* Sets the text of an error, and returns the status. */
Status storage_fail(StorageError *error, Status status, const char *format, ...)
  __attribute__((format(printf, 3, 4)));
/* The checksum of a session's row: of its kind, number and bytes, with the session in the high bits: a copy for
   another session changes these alone, and no tally. */
int64_t storage_checksum(uint64_t session, const StateRow *row);
#define STORAGE_SUM_SHIFT 38
/* The checksum of an operation: of its session, version and id. */
int64_t storage_operation_checksum(uint64_t session, uint64_t version, Text id);
/* Compares what rows add up to with what their session's row says. SHAPE. */
Status storage_compare_tally(const char *place, const SessionInfo *info, RowTally actual, StorageError *error);
/* The oldest version whose operation stays after a commit; 0: none goes now. */
uint64_t storage_first_operation(const StorageCommit *commit);

#endif
