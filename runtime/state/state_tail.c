/*
** Reads the tail of a saved conversation as a state (state_tail.h), and says what may be written without the rest.
*/
#include "state/state_tail.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "state/state_parts.h"

/* ---- the parts ---- */

typedef struct TailReader {
  StateRowSource rows;
  StateJoin join;
  uint64_t stored;
  int64_t current;           /* batch; -1: not read yet */
  bool has_stored;
  TailList list;
  MessageId *ids;            /* of the tail, ascending */
  uint32_t id_count;
  MessageId *origins;        /* of its messages that replaced others */
  uint32_t origin_count, origin_room;
  bool alone;
} TailReader;

static Status join_part(TailReader *reader, StatePart part, Text bytes) {
  StateRow row = {.kind = STATE_ROW_PART, .number = part, .bytes = bytes};
  return state_join_row(&reader->join, &row);
}

/* All seqs but those of the tail count as removed. */
static Status join_stored(TailReader *reader) {
  char digits[24];
  if (reader->has_stored) return STATUS_OK;
  reader->has_stored = true;
  int length = snprintf(digits, sizeof digits, "%" PRIu64, reader->stored);
  return join_part(reader, STATE_PART_STORED, text_plain(digits, (size_t)length));
}

static Status take_part(void *user, const StateRow *row) {
  TailReader *reader = user;
  Status status = row->number >= STATE_PART_STORED ? join_stored(reader) : STATUS_OK;
  if (status != STATUS_OK || row->number == STATE_PART_STORED) return status;
  if (row->number == STATE_PART_CHECKPOINTS) return join_part(reader, STATE_PART_CHECKPOINTS, text_of("[]"));
  if (row->number != STATE_PART_CURRENT) return state_join_row(&reader->join, row);
  JsonValue value = {.kind = JSON_NUMBER, .bytes = row->bytes.bytes, .size = row->bytes.size};
  if (!json_integer(&value, &reader->current)) return STATUS_SHAPE;
  return join_part(reader, STATE_PART_CURRENT, text_of("0"));
}

/* ---- seqs ---- */

static int compare_ids(const void *a, const void *b) {
  MessageId left = *(const MessageId *)a, right = *(const MessageId *)b;
  return (left > right) - (left < right);
}

static Status sort_ids(TailReader *reader) {
  uint32_t count = 0, at = 0;
  for (uint32_t i = 0; i < reader->list.count; i++) count += reader->list.pieces[i].count;
  if (count == 0) return STATUS_OK;
  reader->ids = memory_new_array(&reader->list.memory, count, sizeof *reader->ids);
  if (reader->ids == NULL) return STATUS_MEMORY;
  reader->id_count = count;
  for (uint32_t i = 0; i < reader->list.count; i++) {
    for (uint32_t j = 0; j < reader->list.pieces[i].count; j++) reader->ids[at++] = reader->list.pieces[i].first + j;
  }
  qsort(reader->ids, count, sizeof *reader->ids, compare_ids);
  return STATUS_OK;
}

static bool has_id(const TailReader *reader, int64_t id) {
  MessageId key = (MessageId)id;
  return reader->id_count > 0 && id > 0 && id <= UINT32_MAX &&
         bsearch(&key, reader->ids, reader->id_count, sizeof key, compare_ids) != NULL;
}

/* Reads the rows of a kind that the tail's messages have. */
static Status read_rows(TailReader *reader, StateRowKind kind, StateRowSink sink) {
  Status status = STATUS_OK;
  for (uint32_t i = 0, end; i < reader->id_count && status == STATUS_OK; i = end) {
    for (end = i + 1; end < reader->id_count && reader->ids[end] - reader->ids[i] == end - i; end++) {}
    status = reader->rows.read(reader->rows.user, kind, reader->ids[i], reader->ids[end - 1], sink);
  }
  return status;
}

static Status take_row(void *user, const StateRow *row) { return state_join_row(&((TailReader *)user)->join, row); }

/* ---- what belongs to messages ---- */

static bool open_list(Json *json, Text bytes) {
  json_open(json, bytes.bytes, bytes.size);
  return json_enter(json);
}

static bool next_number(Json *json, int64_t *number) {
  JsonValue value;
  return json_next_element(json) && json_value(json, &value) && json_integer(&value, number);
}

/* [seq, caller, call, ...]: the calls must be in the tail, too. */
static Status take_answers(void *user, const StateRow *row) {
  TailReader *reader = user;
  Json json;
  int64_t number, call;
  if (!open_list(&json, row->bytes) || !next_number(&json, &number)) return STATUS_SHAPE;
  while (next_number(&json, &number)) {
    if (!next_number(&json, &call)) return STATUS_SHAPE;
    if (number != 0 && !has_id(reader, number)) reader->alone = false;
  }
  return json.status == STATUS_OK ? state_join_row(&reader->join, row) : STATUS_SHAPE;
}

/* [seq, origin] */
static Status take_origin(void *user, const StateRow *row) {
  TailReader *reader = user;
  Json json;
  int64_t id, origin;
  if (!open_list(&json, row->bytes) || !next_number(&json, &id) || !next_number(&json, &origin)) return STATUS_SHAPE;
  if (origin < 1 || origin > UINT32_MAX) return STATUS_SHAPE;
  void *grown = memory_grow(&reader->list.memory, reader->origins, &reader->origin_room, reader->origin_count,
                            sizeof *reader->origins);
  if (grown == NULL) return STATUS_MEMORY;
  reader->origins = grown;
  reader->origins[reader->origin_count++] = (MessageId)origin;
  return state_join_row(&reader->join, row);
}

static Status note_moved(void *user, const StateRow *row) {
  (void)row;
  ((TailReader *)user)->alone = false;
  return STATUS_OK;
}

/* A replacement has the rank of its origin: that of an inserted one is elsewhere. */
static Status check_origins(TailReader *reader) {
  StateRowSink sink = {.put = note_moved, .user = reader};
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < reader->origin_count && status == STATUS_OK; i++) {
    status = reader->rows.read(reader->rows.user, STATE_ROW_MOVED, reader->origins[i], reader->origins[i], sink);
  }
  return status;
}

/* ---- the batch ---- */

static Status join_batch(TailReader *reader) {
  Buffer text;
  char run[64];
  uint32_t at = 0;
  buffer_init(&text, reader->list.memory);
  Status status = buffer_add_string(&text, "\"parent\":-1,\"parentLength\":0,\"operation\":\"create\","
                                           "\"description\":\"\",\"timestamp\":0,\"born\":0,\"put\":[");
  for (uint32_t i = 0; i < reader->list.count && status == STATUS_OK; i++) {
    TailPiece piece = reader->list.pieces[i];
    int length = snprintf(run, sizeof run, "%s%" PRIu32 ",%" PRIu32 ",%" PRIu32, i == 0 ? "" : ",", at, piece.first,
                          piece.count);
    at += piece.count;
    status = buffer_add(&text, run, (size_t)length);
  }
  int length = snprintf(run, sizeof run, "],\"count\":%" PRIu32, at);
  if (status == STATUS_OK) status = buffer_add(&text, run, (size_t)length);
  if (status == STATUS_OK) {
    StateRow row = {.kind = STATE_ROW_BATCH, .number = 0, .bytes = text_plain(text.bytes, text.size)};
    status = state_join_row(&reader->join, &row);
  }
  buffer_free(&text);
  return status;
}

/* ---- all ---- */

static Status read_tail(TailReader *reader, uint64_t batches, uint32_t wanted, StateTail *tail) {
  StateRowSink parts = {.put = take_part, .user = reader}, others = {.put = take_row, .user = reader};
  Status status = reader->rows.read(reader->rows.user, STATE_ROW_PART, 0, STATE_PARTS - 1, parts);
  if (status != STATUS_OK) return status;
  if (reader->current < 0 || (uint64_t)reader->current >= batches || batches > UINT32_MAX) return STATUS_SHAPE;
  *tail = (StateTail){.batch = (uint32_t)reader->current, .batches = (uint32_t)batches};
  status = tail_list_read(&reader->list, reader->rows, tail->batch, reader->stored, wanted, &tail->hidden,
                          &reader->alone);
  if (status != STATUS_OK || !reader->alone) return status;
  status = sort_ids(reader);
  if (status == STATUS_OK) status = read_rows(reader, STATE_ROW_MESSAGE, others);
  if (status == STATUS_OK) {
    status = read_rows(reader, STATE_ROW_ORIGIN, (StateRowSink){.put = take_origin, .user = reader});
  }
  if (status == STATUS_OK) status = check_origins(reader);
  if (status == STATUS_OK) status = read_rows(reader, STATE_ROW_MOVED, others);
  if (status == STATUS_OK) {
    status = read_rows(reader, STATE_ROW_ANSWERS, (StateRowSink){.put = take_answers, .user = reader});
  }
  if (status == STATUS_OK) status = join_batch(reader);
  if (status == STATUS_OK) status = reader->rows.read(reader->rows.user, STATE_ROW_WINDOW, 0, UINT32_MAX, others);
  return status;
}

static Status try_tail(StateRowSource rows, uint64_t stored, uint64_t batches, uint32_t wanted, Buffer *out,
                       StateTail *tail, bool *alone) {
  Memory memory = out->memory;
  TailReader reader = {.rows = rows, .stored = stored, .current = -1, .list = {.memory = memory}, .alone = true};
  buffer_reset(out);
  Status status = state_join_start(&reader.join, out);
  if (status == STATUS_OK) status = read_tail(&reader, batches, wanted, tail);
  Status end = state_join_end(&reader.join);
  memory_free(&memory, reader.ids, reader.id_count * sizeof *reader.ids);
  memory_free(&memory, reader.origins, reader.origin_room * sizeof *reader.origins);
  memory_free(&memory, reader.list.pieces, reader.list.room * sizeof *reader.list.pieces);
  *alone = reader.alone;
  return status == STATUS_OK ? end : status;
}

Status state_read_tail(StateRowSource rows, uint64_t stored, uint64_t batches, uint32_t wanted, Buffer *out,
                       StateTail *tail, bool *alone) {
  Status status = STATUS_OK;
  *alone = false;
  for (int tries = 0; tries < 3 && status == STATUS_OK && !*alone; tries++, wanted *= 4) {
    status = try_tail(rows, stored, batches, wanted, out, tail, alone);
    if (tail->hidden == 0) break;      /* more messages are not to be had */
  }
  return status;
}

/* ---- what is written ---- */

uint64_t state_tail_growth_row(const StateTail *tail) {
  return (uint64_t)tail->batch * STATE_BATCH_ROWS + STATE_BATCH_GROWTH;
}

/* A call that is found by its id is the nearest one. One that was not found may be hidden, and so may one of the id
   where a name had to do. */
static bool answers_for_sure(const Store *store, MessageId id) {
  const Message *message = store_message(store, id);
  for (uint32_t i = 0; i < message_result_count(message); i++) {
    CallLink link = store_answers(store, id, i);
    if (link.message == 0 || message_result(message, i).id.at == 0) return false;
    const Message *caller = store_message(store, link.message);
    bool has_id = message_call(caller, link.call).id.at != 0;
    if (!has_id || !text_equal(message_call_key(caller, link.call), message_result_key(message, i))) return false;
  }
  return true;
}

bool state_tail_answers(const StateTail *tail, const Conversation *before, const Conversation *after) {
  const Store *store = conversation_store(after);
  bool hides = tail->hidden > 0 && history_current(conversation_history(before)) == 0;
  if (!hides) return true;
  MessageId known = store_count(conversation_store(before));
  for (MessageId id = store_next(store, known); id != 0; id = store_next(store, id)) {
    if (!answers_for_sure(store, id)) return false;
  }
  return true;
}
