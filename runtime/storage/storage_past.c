/*
** Reads an earlier version of a session (storage_past.h).
*/
#include "storage/storage_past.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* What stands before the bytes of a noted row. */
typedef struct RowHead {
  StateRowKind kind;
  uint64_t number;
  size_t size;
} RowHead;

void storage_past_init(StoragePast *past, Memory memory) {
  *past = (StoragePast){.info = {.version = 0}};
  buffer_init(&past->rows, memory);
}

void storage_past_free(StoragePast *past) { buffer_free(&past->rows); }

/* ---- noting ---- */

static Status note_row(void *user, const StateRow *row) {
  StoragePast *past = user;
  RowHead head = {.kind = row->kind, .number = row->number, .size = row->bytes.size};
  Status status = buffer_add(&past->rows, (const char *)&head, sizeof head);
  return status == STATUS_OK ? buffer_add(&past->rows, row->bytes.bytes, row->bytes.size) : status;
}

Status storage_past_note(StoragePast *past, const SessionInfo *info, uint32_t batch, StateRowSource rows) {
  StateRowSink sink = {.put = note_row, .user = past};
  uint64_t birth = (uint64_t)batch * STATE_BATCH_ROWS;
  past->info = *info;
  past->info.name = text_of("");
  past->first = birth + STATE_BATCH_GROWTH;
  past->last = birth + STATE_BATCH_ROWS - 1;
  buffer_reset(&past->rows);
  Status status = rows.read(rows.user, STATE_ROW_PART, 0, UINT32_MAX, sink);
  if (status == STATUS_OK) status = rows.read(rows.user, STATE_ROW_BATCH, past->first, past->last, sink);
  return status == STATUS_OK ? rows.read(rows.user, STATE_ROW_WINDOW, 0, UINT32_MAX, sink) : status;
}

/* ---- reading ---- */

typedef struct PastReading {
  const StoragePast *past;
  StateRowSink sink;
  size_t at;                 /* of the next noted row */
  RowTally tally;            /* of the session's own rows that were given */
  bool misfits;              /* a row did not fit to those before */
} PastReading;

static Status give(PastReading *reading, const StateRow *row) {
  const SessionInfo *info = &reading->past->info;
  bool is_own = info->origin == 0 || !storage_shares(row->kind) || row->number > info->shared;
  if (is_own) {
    reading->tally.count++;
    reading->tally.sum += (uint64_t)storage_checksum(info->id, row) & STORAGE_TALLY_BITS;
  }
  Status status = reading->sink.put(reading->sink.user, row);
  if (status == STATUS_SHAPE) reading->misfits = true;
  return status;
}

/* Gives the noted rows that stand before this place. */
static Status give_noted(PastReading *reading, StateRowKind kind, uint64_t number) {
  const Buffer *rows = &reading->past->rows;
  Status status = STATUS_OK;
  while (status == STATUS_OK && reading->at < rows->size) {
    RowHead head;
    memcpy(&head, rows->bytes + reading->at, sizeof head);
    if (head.kind > kind || (head.kind == kind && head.number >= number)) break;
    size_t start = reading->at + sizeof head;
    assert(head.size <= rows->size - start);
    StateRow row = {.kind = head.kind, .number = head.number, .bytes = text_plain(rows->bytes + start, head.size)};
    reading->at = start + head.size;
    status = give(reading, &row);
  }
  return status;
}

/* Whether the row is newer than the version, or has a noted one in its place. */
static bool is_later(const StoragePast *past, const StateRow *row) {
  switch (row->kind) {
    case STATE_ROW_PART:
    case STATE_ROW_WINDOW: return true;
    case STATE_ROW_BATCH:
      return row->number >= past->info.batches * STATE_BATCH_ROWS ||
             (row->number >= past->first && row->number <= past->last);
    default: return row->number > past->info.stored;
  }
}

static Status take_row(void *user, const StateRow *row) {
  PastReading *reading = user;
  Status status = give_noted(reading, row->kind, row->number);
  if (status != STATUS_OK || is_later(reading->past, row)) return status;
  return give(reading, row);
}

Status storage_past_read(Storage *storage, const StoragePast *past, StateRowSink sink, StorageError *error) {
  PastReading reading = {.past = past, .sink = sink};
  SessionInfo now = past->info;
  Status status = storage_read(storage, past->info.id, (StateRowSink){.put = take_row, .user = &reading}, &now, error);
  if (status == STATUS_OK) status = give_noted(&reading, STATE_ROW_KINDS, 0);
  RowTally right = past->info.tally;
  bool is_other = reading.tally.count != right.count || reading.tally.sum != right.sum;
  if (!reading.misfits && (status != STATUS_OK || !is_other)) return status;
  error->actual = now.version;
  return storage_fail(error, STATUS_CONFLICT, "the session is at version %" PRIu64 ", which has replaced rows of "
                      "version %" PRIu64 " that were not read", now.version, past->info.version);
}
