/*
** Writes the rows by which a conversation differs from an earlier state of itself.
*/
#include "state/state_rows.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "state/state_tail.h"
#include "state/state_writer.h"

typedef struct RowWriter {
  StateWriter writer;
  const Conversation *before;      /* NULL: all rows are written */
  const Conversation *after;
  Text growth;                     /* of the session's current batch, where `before` is its tail */
  StateRowSink sink;
  Buffer bytes;
  Status status;
} RowWriter;

/* ---- one row ---- */

static void put(RowWriter *r, StateRowKind kind, uint64_t number, Text bytes) {
  StateRow row = {.kind = kind, .number = number, .bytes = bytes};
  if (r->status == STATUS_OK) r->status = r->sink.put(r->sink.user, &row);
}

static JsonOut *start(RowWriter *r) {
  buffer_reset(&r->bytes);
  json_out_start(&r->writer.out, sink_to_buffer(&r->bytes));
  return &r->writer.out;
}

/* Ends the JSON of a row and puts it, without its first and last `brackets` bytes. */
static void finish(RowWriter *r, StateRowKind kind, uint64_t number, size_t brackets) {
  Status status = json_out_end(&r->writer.out);
  if (r->status == STATUS_OK) r->status = status;
  if (r->status != STATUS_OK) return;
  assert(r->bytes.size >= 2 * brackets);
  put(r, kind, number, text_plain(r->bytes.bytes + brackets, r->bytes.size - 2 * brackets));
}

static void put_number(RowWriter *r, StatePart part, uint64_t value) {
  json_out_integer(start(r), (int64_t)value);
  finish(r, STATE_ROW_PART, part, 0);
}

/* ---- messages ---- */

static void put_element(RowWriter *r, StateRowKind kind, MessageId id, bool (*write)(StateWriter *w, MessageId id)) {
  start(r);
  if (write(&r->writer, id)) finish(r, kind, id, 0);
}

static void put_message(RowWriter *r, MessageId id) {
  const Store *store = r->writer.store;
  if (!store_has(store, id)) return;
  put(r, STATE_ROW_MESSAGE, id, message_raw(store_message(store, id)));
}

static void put_messages(RowWriter *r) {
  const Store *store = r->writer.store;
  MessageId known = r->before == NULL ? 0 : store_count(conversation_store(r->before));
  for (MessageId id = store_next(store, known); id != 0 && r->status == STATUS_OK; id = store_next(store, id)) {
    put_message(r, id);
    put_element(r, STATE_ROW_ORIGIN, id, state_write_origin);
    put_element(r, STATE_ROW_MOVED, id, state_write_moved);
    put_element(r, STATE_ROW_ANSWERS, id, state_write_answers);
  }
  if (r->before == NULL) {
    put_number(r, STATE_PART_STORED, store_count(store));
    return;
  }
  const MessageId *redacted;
  uint32_t count = conversation_redacted(r->after, &redacted);
  for (uint32_t i = 0; i < count; i++) {
    if (redacted[i] <= known) put_message(r, redacted[i]);
  }
}

/* ---- batches ---- */

static uint64_t batch_row(const RowWriter *r, uint32_t batch, unsigned part) {
  return (uint64_t)state_batch_number(&r->writer, batch) * STATE_BATCH_ROWS + part;
}

/* Puts the batch as it was born: an object without brackets, and without the bracket that ends "put". */
static void put_birth(RowWriter *r, uint32_t batch) {
  bool pruned = history_list(r->writer.history, batch) == NULL;
  start(r);
  state_write_batch(&r->writer, batch, BATCH_AT_BIRTH);
  Status status = json_out_end(&r->writer.out);
  if (r->status == STATUS_OK) r->status = status;
  if (r->status != STATUS_OK) return;
  assert(pruned || r->bytes.bytes[r->bytes.size - 2] == ']');
  put(r, STATE_ROW_BATCH, batch_row(r, batch, 0), text_plain(r->bytes.bytes + 1, r->bytes.size - (pruned ? 2 : 3)));
}

/* Puts `,9,10,3],"count":12`: state_join leaves the first comma out behind an empty list. */
static void put_growth(RowWriter *r, uint32_t batch) {
  Buffer *bytes = &r->bytes;
  BatchInfo info = history_batch(r->writer.history, batch);
  if (info.pruned) return;
  JsonOut *out = start(r);
  json_out_open(out, '[');
  state_write_growth(&r->writer, batch);
  json_out_close(out, ']');
  Status status = json_out_end(out);
  if (r->status == STATUS_OK) r->status = status;
  if (r->status != STATUS_OK) return;
  char count[40];
  int length = snprintf(count, sizeof count, ",\"%s\":%u", BATCH_NAMES[BATCH_COUNT], info.count);
  assert(length > 0 && (size_t)length < sizeof count);
  r->status = buffer_add(bytes, count, (size_t)length);
  if (r->status != STATUS_OK) return;
  bytes->bytes[0] = ',';
  size_t skipped = bytes->bytes[1] == ']' ? 1 : 0;      /* no runs */
  put(r, STATE_ROW_BATCH, batch_row(r, batch, STATE_BATCH_GROWTH),
      text_plain(bytes->bytes + skipped, bytes->size - skipped));
}

/* A row of growth: its runs, of which the last one goes on where it can, and the number of messages. */
typedef struct Growth {
  Text runs;                 /* without the last one */
  uint64_t last[3];          /* position, seq, count; count 0: there is none */
  uint64_t count;
} Growth;

/* Takes a number off the end of a text, and the comma before it; false: there is none. */
static bool take_number(Text *text, uint64_t *number) {
  uint64_t factor = 1;
  size_t size = text->size;
  for (*number = 0; size > 0 && text->bytes[size - 1] >= '0' && text->bytes[size - 1] <= '9'; size--, factor *= 10) {
    if (factor > UINT32_MAX) return false;
    *number += factor * (uint64_t)(text->bytes[size - 1] - '0');
  }
  if (size == text->size) return false;
  if (size > 0 && text->bytes[size - 1] == ',') size--;
  text->size = size;
  return true;
}

static bool read_growth(Text row, Growth *growth) {
  char end[40];
  *growth = (Growth){.runs = row};
  if (!take_number(&growth->runs, &growth->count)) return false;
  int length = snprintf(end, sizeof end, "],\"%s\":", BATCH_NAMES[BATCH_COUNT]);
  if (growth->runs.size < (size_t)length) return false;
  growth->runs.size -= (size_t)length;
  if (memcmp(growth->runs.bytes + growth->runs.size, end, (size_t)length) != 0) return false;
  if (growth->runs.size == 0) return true;
  return take_number(&growth->runs, &growth->last[2]) && take_number(&growth->runs, &growth->last[1]) &&
         take_number(&growth->runs, &growth->last[0]);
}

static Status add_run(Buffer *bytes, const uint64_t run[3]) {
  char text[80];
  int length = snprintf(text, sizeof text, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, run[0], run[1], run[2]);
  return run[2] == 0 ? STATUS_OK : buffer_add(bytes, text, (size_t)length);
}

/* Adds the runs of a list to those of the growth. */
static Status add_runs(Growth *growth, Text list, Buffer *bytes) {
  Json json;
  JsonValue value;
  int64_t number;
  uint64_t run[3], *last = growth->last;
  unsigned at = 0;
  Status status = STATUS_OK;
  json_open(&json, list.bytes, list.size);
  for (json_enter(&json); status == STATUS_OK && json_next_element(&json) && json_value(&json, &value);) {
    bool good = json_integer(&value, &number);
    assert(good);
    (void)good;
    run[at++] = (uint64_t)number;
    if (at < 3) continue;
    at = 0;
    bool continues = last[2] > 0 && last[0] + last[2] == run[0] && last[1] + last[2] == run[1];
    if (continues) last[2] += run[2];
    else status = add_run(bytes, last);
    for (int i = 0; i < 3 && !continues; i++) last[i] = run[i];
  }
  return status == STATUS_OK ? add_run(bytes, last) : status;
}

/* The growth of the session's current batch, of which the tail shows the end. */
static void put_tail_growth(RowWriter *r, uint32_t old, uint32_t new) {
  Growth growth;
  Buffer row;
  char end[64];
  if (r->status == STATUS_OK && (!read_growth(r->growth, &growth) || growth.count != (uint64_t)old +
                                 state_batch_hidden(&r->writer, 0))) {
    r->status = STATUS_SHAPE;
  }
  if (r->status != STATUS_OK) return;
  JsonOut *out = start(r);
  json_out_open(out, '[');
  state_write_added(&r->writer, 0, old, new);
  json_out_close(out, ']');
  buffer_init(&row, r->bytes.memory);
  r->status = json_out_end(out);
  if (r->status == STATUS_OK) r->status = buffer_add(&row, growth.runs.bytes, growth.runs.size);
  if (r->status == STATUS_OK) r->status = add_runs(&growth, text_plain(r->bytes.bytes, r->bytes.size), &row);
  int length = snprintf(end, sizeof end, "],\"%s\":%" PRIu64, BATCH_NAMES[BATCH_COUNT], growth.count + (new - old));
  if (r->status == STATUS_OK) r->status = buffer_add(&row, end, (size_t)length);
  if (r->status == STATUS_OK) {
    put(r, STATE_ROW_BATCH, batch_row(r, 0, STATE_BATCH_GROWTH), text_plain(row.bytes, row.size));
  }
  buffer_free(&row);
}

static void put_memory(RowWriter *r, uint32_t batch) {
  start(r);
  json_out_open(&r->writer.out, '{');
  state_write_memory(&r->writer, batch);
  json_out_close(&r->writer.out, '}');
  finish(r, STATE_ROW_BATCH, batch_row(r, batch, STATE_BATCH_MEMORY), 1);
}

/* What policies remember at a batch of both; the row may say the same as the parent's. */
static bool memory_differs(const RowWriter *r, uint32_t batch) {
  Text old = history_policy_memory(conversation_history(r->before), batch);
  Text new = history_policy_memory(r->writer.history, batch);
  return old.bytes != new.bytes && !text_equal(old, new);
}

/* Messages were forgotten, and with them what batches quote of them. `before` may have lost it already, with another
   fork, so that no comparison tells what is still in the rows. */
static bool forgets(const RowWriter *r) {
  const MessageId *redacted;
  return conversation_redacted(r->after, &redacted) > 0;
}

static void put_changed_batch(RowWriter *r, uint32_t batch) {
  const History *before = conversation_history(r->before), *after = r->writer.history;
  if (forgets(r)) put_birth(r, batch);
  if (history_batch(after, batch).pruned) return;
  uint32_t old = history_batch(before, batch).count, new = history_batch(after, batch).count;
  if (old != new && r->writer.tail != NULL && batch == 0) put_tail_growth(r, old, new);
  else if (old != new) put_growth(r, batch);
  if (forgets(r) || memory_differs(r, batch)) put_memory(r, batch);
}

/* Batches of both. Only the current one changes, unless rollbacks made others current meanwhile, or a message was
   forgotten. */
static void put_changed_batches(RowWriter *r) {
  const History *before = conversation_history(r->before), *after = r->writer.history;
  if (history_counts(before).rollbacks == history_counts(after).rollbacks && !forgets(r)) {
    put_changed_batch(r, history_current(before));
    return;
  }
  for (uint32_t i = 0; i < history_count(before); i++) put_changed_batch(r, i);
}

static void put_batches(RowWriter *r) {
  const History *before = r->before == NULL ? NULL : conversation_history(r->before), *after = r->writer.history;
  uint32_t first = before == NULL ? 0 : history_count(before);
  if (before != NULL) put_changed_batches(r);
  for (uint32_t i = first; i < history_count(after) && r->status == STATUS_OK; i++) {
    put_birth(r, i);
    put_growth(r, i);
    if (history_list(after, i) != NULL && state_has_memory(&r->writer, i)) put_memory(r, i);
  }
  if (before == NULL || history_current(before) != history_current(after)) {
    put_number(r, STATE_PART_CURRENT, state_batch_number(&r->writer, history_current(after)));
  }
}

static void put_checkpoints(RowWriter *r) {
  const Checkpoint *checkpoint;
  uint64_t since = r->before == NULL ? UINT64_MAX : history_counts(conversation_history(r->before)).namings;
  if (history_counts(r->writer.history).namings == since) return;
  JsonOut *out = start(r);
  json_out_open(out, '[');
  for (uint32_t at = 0; (checkpoint = checkpoints_next(history_checkpoints(r->writer.history), &at)) != NULL;) {
    state_write_checkpoint(&r->writer, checkpoint);
  }
  json_out_close(out, ']');
  finish(r, STATE_ROW_PART, STATE_PART_CHECKPOINTS, 0);
}

/* ---- marks, windows, calibration ---- */

static void put_marks(RowWriter *r) {
  const Conversation *before = r->before;
  if (before != NULL && marks_edits(conversation_marks(before)) == marks_edits(conversation_marks(r->after))) return;
  start(r);
  state_write_marks(&r->writer);
  finish(r, STATE_ROW_PART, STATE_PART_MARKS, 0);
}

static void put_windows(RowWriter *r) {
  const Windows *before = r->before == NULL ? NULL : conversation_windows(r->before);
  const Windows *after = conversation_windows(r->after);
  if (after == NULL || windows_edits(before) == windows_edits(after)) return;
  for (uint32_t i = 0; i < windows_count(after); i++) {
    const Window *window = windows_at(after, i);
    if (i < windows_count(before) && windows_at(before, i) == window) continue;      /* immutable */
    state_write_window(window, start(r));
    finish(r, STATE_ROW_WINDOW, i, 0);
  }
}

static void put_calibration(RowWriter *r) {
  if (r->before != NULL) {
    Calibration old = conversation_calibration(r->before), new = conversation_calibration(r->after);
    if (old.reported == new.reported && old.counted == new.counted) return;
  }
  start(r);
  state_write_calibration(&r->writer);
  finish(r, STATE_ROW_PART, STATE_PART_CALIBRATION, 0);
}

/* ---- all ---- */

static Status write_rows(RowWriter *r, const StateTail *tail) {
  state_writer_init(&r->writer, r->after);
  r->writer.tail = tail;
  buffer_init(&r->bytes, *conversation_memory(r->after));
  put_messages(r);
  put_batches(r);
  put_checkpoints(r);
  put_marks(r);
  put_windows(r);
  put_calibration(r);
  buffer_free(&r->bytes);
  return r->status;
}

Status state_write_rows(const Conversation *before, const Conversation *after, StateRowSink sink) {
  if (conversation_is_compacted(after)) before = NULL;
  assert(before == NULL || store_count(conversation_store(before)) <= store_count(conversation_store(after)));
  RowWriter r = {.before = before, .after = after, .sink = sink};
  return write_rows(&r, NULL);
}

Status state_write_tail_rows(const StateTail *tail, Text growth, const Conversation *before, const Conversation *after,
                             StateRowSink sink) {
  assert(before != NULL && !conversation_is_compacted(after));
  RowWriter r = {.before = before, .after = after, .growth = growth, .sink = sink};
  return write_rows(&r, tail);
}
