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

static Status add_row(Buffer *rows, const StateRow *row) {
  RowHead head = {.kind = row->kind, .number = row->number, .size = row->bytes.size};
  Status status = buffer_add(rows, (const char *)&head, sizeof head);
  return status == STATUS_OK ? buffer_add(rows, row->bytes.bytes, row->bytes.size) : status;
}

static Status note_row(void *user, const StateRow *row) { return add_row(&((StoragePast *)user)->rows, row); }

Status storage_past_note(StoragePast *past, const SessionInfo *info, uint32_t batch, StateRowSource rows) {
  StateRowSink sink = {.put = note_row, .user = past};
  uint64_t birth = (uint64_t)batch * STATE_BATCH_ROWS;
  past->info = *info;
  past->info.name = text_of("");
  past->first = birth + STATE_BATCH_GROWTH;
  past->last = birth + STATE_BATCH_ROWS - 1;
  past->own = info->batches * STATE_BATCH_ROWS;
  buffer_reset(&past->rows);
  Status status = rows.read(rows.user, STATE_ROW_PART, 0, UINT32_MAX, sink);
  if (status == STATUS_OK) status = rows.read(rows.user, STATE_ROW_BATCH, past->first, past->last, sink);
  return status == STATUS_OK ? rows.read(rows.user, STATE_ROW_WINDOW, 0, UINT32_MAX, sink) : status;
}

/* Reads the noted row at *at, and moves *at behind it; false: there are no more. */
static bool next_noted(const StoragePast *past, size_t *at, StateRow *row) {
  RowHead head;
  if (*at >= past->rows.size) return false;
  memcpy(&head, past->rows.bytes + *at, sizeof head);
  *at += sizeof head;
  assert(head.size <= past->rows.size - *at);
  *row = (StateRow){.kind = head.kind, .number = head.number, .bytes = text_plain(past->rows.bytes + *at, head.size)};
  *at += head.size;
  return true;
}

static bool is_before(const StateRow *row, StateRowKind kind, uint64_t number) {
  return row->kind < kind || (row->kind == kind && row->number < number);
}

/* Whether rows of this place are noted: later commits may replace them. */
static bool is_noted(const StoragePast *past, const StateRow *row) {
  if (row->kind == STATE_ROW_PART || row->kind == STATE_ROW_WINDOW) return true;
  if (row->kind != STATE_ROW_BATCH) return false;
  bool is_current = row->number >= past->first && row->number <= past->last;
  return is_current || (row->number >= past->own && row->number % STATE_BATCH_ROWS != 0);
}

static uint64_t sum_of(const StoragePast *past, const StateRow *row) {
  return (uint64_t)storage_checksum(past->info.id, row) & STORAGE_TALLY_BITS;
}

/* ---- commits of the reader ---- */

Status storage_past_copy(StoragePast *to, const StoragePast *from) {
  assert(to->rows.size == 0);
  Buffer rows = to->rows;
  *to = *from;
  to->rows = rows;
  return buffer_add(&to->rows, from->rows.bytes, from->rows.size);
}

/* Puts the row in its place; *old: the one that was there, if *had. */
static Status put_noted(StoragePast *past, const StateRow *row, bool *had) {
  Buffer rows;
  StateRow old;
  size_t at = 0, next = 0;
  while (next_noted(past, &next, &old) && is_before(&old, row->kind, row->number)) at = next;
  *had = at < past->rows.size && old.kind == row->kind && old.number == row->number;
  if (*had) past->info.tally.sum -= sum_of(past, &old);
  size_t rest = *had ? next : at;
  buffer_init(&rows, past->rows.memory);
  Status status = buffer_add(&rows, past->rows.bytes, at);
  if (status == STATUS_OK) status = add_row(&rows, row);
  if (status == STATUS_OK) status = buffer_add(&rows, past->rows.bytes + rest, past->rows.size - rest);
  if (status != STATUS_OK) {
    buffer_free(&rows);
    return status;
  }
  buffer_free(&past->rows);
  past->rows = rows;
  return STATUS_OK;
}

Status storage_past_put(StoragePast *past, const StateRow *row) {
  bool had = false;
  if (is_noted(past, row)) {
    Status status = put_noted(past, row, &had);
    if (status != STATUS_OK) return status;
  } else {
    assert(row->kind == STATE_ROW_BATCH ? row->number >= past->own : row->number > past->info.stored);
  }
  past->info.tally.count += !had;
  past->info.tally.sum += sum_of(past, row);
  return STATUS_OK;
}

void storage_past_advance(StoragePast *past, const StorageCommit *commit) {
  SessionInfo *info = &past->info;
  assert(info->id == commit->session && info->version == commit->expected && !commit->replaces);
  info->version++;
#define TAKE_FIGURE(member, number) info->member = commit->member;
  SESSION_FIGURES(TAKE_FIGURE)
  info->changed = commit->now;
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
    reading->tally.sum += sum_of(reading->past, row);
  }
  Status status = reading->sink.put(reading->sink.user, row);
  if (status == STATUS_SHAPE) reading->misfits = true;
  return status;
}

/* Gives the noted rows that stand before this place. */
static Status give_noted(PastReading *reading, StateRowKind kind, uint64_t number) {
  StateRow row;
  Status status = STATUS_OK;
  size_t next = reading->at;
  while (status == STATUS_OK && next_noted(reading->past, &next, &row) && is_before(&row, kind, number)) {
    reading->at = next;
    status = give(reading, &row);
  }
  return status;
}

/* Whether the row is newer than the version, or has a noted one in its place. */
static bool is_later(const StoragePast *past, const StateRow *row) {
  if (is_noted(past, row)) return true;
  if (row->kind == STATE_ROW_BATCH) return row->number >= past->info.batches * STATE_BATCH_ROWS;
  return row->number > past->info.stored;
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
  /* A branch may have forgotten a message that it shares: that is no new version. */
  if (now.version == past->info.version) return status;
  RowTally right = past->info.tally;
  bool is_other = reading.tally.count != right.count || reading.tally.sum != right.sum;
  if (!reading.misfits && (status != STATUS_OK || !is_other)) return status;
  error->actual = now.version;
  return storage_fail(error, STATUS_CONFLICT, "the session is at version %" PRIu64 ", not at %" PRIu64
                      ", and what was not read has been replaced", now.version, past->info.version);
}
