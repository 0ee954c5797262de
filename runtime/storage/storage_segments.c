/*
** Segments of a session, and readings of their rows (storage_segments.h).
*/
#include "storage/storage_segments.h"

#include <inttypes.h>

Status storage_add_segment(StorageSegments *segments, const char *place, const SessionInfo *info, StorageError *error) {
  bool shares = info->origin != 0;
  uint64_t last = UINT32_MAX;
  if (segments->count == STORAGE_ORIGINS_MAX) {
    return storage_fail(error, STATUS_SHAPE, "%s: a branch of too many branches", place);
  }
  if (segments->count > 0) {      /* what the one before shares of it, and that one's branch of that */
    const StorageSegment *branch = &segments->list[segments->count - 1];
    last = branch->first - 1 < branch->last ? branch->first - 1 : branch->last;
  }
  segments->list[segments->count++] = (StorageSegment){.session = info->id, .first = shares ? info->shared + 1 : 0,
                                                       .last = last, .right = info->tally};
  return STATUS_OK;
}

Status storage_lack_origin(const char *place, StorageError *error) {
  return storage_fail(error, STATUS_SHAPE, "%s: a branch lacks its origin", place);
}

uint64_t storage_row_owner(const StorageSegments *segments, const StorageCommit *commit, uint64_t stored,
                           const StateRow *row) {
  uint64_t owner = commit->session;
  if (!storage_shares(row->kind) || row->number > stored) return owner;
  for (int i = 0; i < segments->count; i++) {
    const StorageSegment *part = &segments->list[i];
    if (row->number >= part->first && row->number <= part->last) owner = part->session;
  }
  return owner;
}

/* ---- readings ---- */

Status storage_read_kind(StorageReading *reading, StateRowKind kind, uint64_t first, uint64_t last, StateRowSink sink) {
  StorageSegments *segments = &reading->segments;
  Status status = STATUS_OK;
  if (last > ROW_LAST_NUMBER) last = ROW_LAST_NUMBER;
  if (!storage_shares(kind)) return reading->read(reading, &segments->list[0], kind, first, last, sink);
  for (int i = segments->count - 1; i >= 0 && status == STATUS_OK; i--) {
    StorageSegment *part = &segments->list[i];
    uint64_t from = part->first > first ? part->first : first, to = part->last < last ? part->last : last;
    if (from <= to) status = reading->read(reading, part, kind, from, to, sink);
  }
  return status;
}

Status storage_read_kinds(StorageReading *reading, StateRowSink sink) {
  Status status = STATUS_OK;
  for (StateRowKind kind = 0; kind < STATE_ROW_KINDS && status == STATUS_OK; kind++) {
    status = storage_read_kind(reading, kind, 0, ROW_LAST_NUMBER, sink);
  }
  return status;
}

static Status read_rows(void *user, StateRowKind kind, uint64_t first, uint64_t last, StateRowSink sink) {
  return storage_read_kind(user, kind, first, last, sink);
}

StateRowSource storage_row_source(StorageReading *reading) {
  return (StateRowSource){.read = read_rows, .user = reading};
}

/* ---- comparing ---- */

Status storage_fail_row(const char *place, const StateRow *row, StorageError *error) {
  static const char *const kinds[STATE_ROW_KINDS] = {"part", "message", "origin", "moved", "answers", "batch",
                                                     "window"};
  return storage_fail(error, STATUS_SHAPE, "%s: the row of %s %" PRIu64 " is damaged", place, kinds[row->kind],
                      row->number);
}

Status storage_compare_version(const StorageCommit *commit, uint64_t version, StorageError *error) {
  if (version == commit->expected) return STATUS_OK;
  error->actual = version;
  return storage_fail(error, STATUS_CONFLICT, "the session is at version %" PRIu64 ", not at %" PRIu64, version,
                      commit->expected);
}

Status storage_take_operation(const char *place, const StorageCommit *commit, uint64_t version, int64_t sum,
                              StorageError *error) {
  error->actual = version;
  if (sum == storage_operation_checksum(commit->session, version, commit->operation)) return STATUS_OK;
  return storage_fail(error, STATUS_SHAPE, "%s: the row of an operation is damaged", place);
}
