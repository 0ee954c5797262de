/*
** Segments: in which sessions the rows of one session lie, and readings of them. For the drivers.
**
** A branch has rows of its own, and up to a seq those of its origin, which may be a branch, too:
**
**     session 7   branch of 4 at 20        segments   7: 21 .. end    4: 11 .. 20    1: 0 .. 10
**     session 4   branch of 1 at 10
*/
#ifndef EBB_STORAGE_STORAGE_SEGMENTS_H
#define EBB_STORAGE_STORAGE_SEGMENTS_H

#include "storage/storage.h"

#define ROW_KIND_SHIFT 35    /* bits of a row's number in SQLite's ids */
#define ROW_LAST_NUMBER ((UINT64_C(1) << ROW_KIND_SHIFT) - 1)

/* Messages with the seqs first .. last are rows of this session. */
typedef struct StorageSegment {
  uint64_t session, first, last;
  RowTally right, actual;    /* of the session's rows, and of those that were read; the driver's */
} StorageSegment;

typedef struct StorageSegments {
  StorageSegment list[STORAGE_ORIGINS_MAX];      /* the newest first */
  int count;
} StorageSegments;

/* Adds a session: the first one, then each time the origin of the one before. SHAPE: there are too many. */
Status storage_add_segment(StorageSegments *segments, const char *place, const SessionInfo *info, StorageError *error);
/* Fails, because the origin of the last one is not there. SHAPE. */
Status storage_lack_origin(const char *place, StorageError *error);
/* The session that has the row of a commit: an origin, for a message that is shared and forgotten. `stored`: the seqs
   of the session before the commit. */
uint64_t storage_row_owner(const StorageSegments *segments, const StorageCommit *commit, uint64_t stored,
                           const StateRow *row);

/* A reading of a session's rows. */
typedef struct StorageReading StorageReading;
struct StorageReading {
  Storage *storage;
  StorageError *error;
  StorageSegments segments;
  /* Gives rows of one session. */
  Status (*read)(StorageReading *reading, StorageSegment *segment, StateRowKind kind, uint64_t first, uint64_t last,
                 StateRowSink sink);
};

/* Reads the rows of a kind, those of the first origin first. */
Status storage_read_kind(StorageReading *reading, StateRowKind kind, uint64_t first, uint64_t last, StateRowSink sink);
/* Reads the rows of all kinds. */
Status storage_read_kinds(StorageReading *reading, StateRowSink sink);
/* The reading as a source of rows; borrowed. */
StateRowSource storage_row_source(StorageReading *reading);

/* Fails, because the row differs from its checksum. SHAPE. */
Status storage_fail_row(const char *place, const StateRow *row, StorageError *error);
/* Compares a session's version with the one that a commit expects. CONFLICT, with the version as `error->actual`. */
Status storage_compare_version(const StorageCommit *commit, uint64_t version, StorageError *error);
/* Takes the version to which the commit's operation led before as `error->actual`. SHAPE: it differs from its
   checksum. */
Status storage_take_operation(const char *place, const StorageCommit *commit, uint64_t version, int64_t sum,
                              StorageError *error);

#endif
