/*
** Finds what the end of a batch's list shows, from the batch and as few of its ancestors as it needs.
**
** Positions of the list are looked up in "put", where they are seqs, else in "keep", where they are positions of the
** parent's list, and so on:
**
**     batch 7   positions 90 .. 99   ->   90 .. 97 of batch 5, seqs 301, 302
**     batch 5   90 .. 97             ->   seqs 210 .. 217
*/
#include <assert.h>

#include "state/state_parts.h"
#include "state/state_tail.h"

/* A batch, open for reading. */
typedef struct BatchRows {
  Buffer text;               /* its rows as an object */
  JsonValue values[BATCH_FIELDS];
  bool any;
} BatchRows;

static Status take_row(void *user, const StateRow *row) {
  BatchRows *batch = user;
  Buffer *text = &batch->text;
  Text bytes = row->bytes;
  Status status = STATUS_OK;
  if (!batch->any) status = buffer_add_byte(text, '{');
  else if (text->bytes[text->size - 1] == '[' && bytes.size > 0 && bytes.bytes[0] == ',') bytes.bytes++, bytes.size--;
  batch->any = true;
  return status == STATUS_OK ? buffer_add(text, bytes.bytes, bytes.size) : status;
}

static Status read_batch(StateRowSource rows, uint32_t number, BatchRows *batch) {
  Json json;
  JsonFields fields;
  uint64_t first = (uint64_t)number * STATE_BATCH_ROWS;
  buffer_reset(&batch->text);
  batch->any = false;
  Status status = rows.read(rows.user, STATE_ROW_BATCH, first, first + STATE_BATCH_GROWTH,
                            (StateRowSink){.put = take_row, .user = batch});
  if (status == STATUS_OK) status = buffer_add_byte(&batch->text, '}');
  if (status != STATUS_OK) return status;
  json_open(&json, batch->text.bytes, batch->text.size);
  bool good = batch->any && json_enter(&json) && json_fields_read(&json, &fields) && json_end(&json) &&
              json_fields_sort(&json, &fields, BATCH_NAMES, BATCH_FIELDS, BATCH_KEEP, "a batch", batch->values);
  return good && batch->values[BATCH_PUT].bytes != NULL ? STATUS_OK : STATUS_SHAPE;
}

static bool read_number(const JsonValue *value, int64_t low, int64_t high, int64_t *number) {
  return json_integer(value, number) && *number >= low && *number <= high;
}

static bool next_number(Json *json, int64_t low, int64_t high, int64_t *number) {
  JsonValue value;
  return json_next_element(json) && json_value(json, &value) && read_number(&value, low, high, number);
}

/* ---- walks along "put" and "keep" ---- */

/* The current run: positions [at, end) of the list have the seqs or the parent's positions from `first` on. */
typedef struct RunWalk {
  Json json;
  int64_t at, end, first;
  int64_t put;               /* positions of runs before the current one */
  bool is_over, is_damaged;
} RunWalk;

static void open_runs(RunWalk *walk, const JsonValue *value) {
  *walk = (RunWalk){.is_over = value->bytes == NULL};
  if (walk->is_over) return;
  json_open_value(&walk->json, value);
  walk->is_damaged = value->kind != JSON_ARRAY || !json_enter(&walk->json);
}

/* Goes on to the run of "put" that ends behind `position`. */
static void seek_put(RunWalk *walk, int64_t position, int64_t stored) {
  while (!walk->is_over && !walk->is_damaged && walk->end <= position) {
    int64_t at, count;
    walk->put += walk->end - walk->at;
    walk->at = walk->end;
    if (!json_next_element(&walk->json)) {
      walk->is_over = true;
      walk->is_damaged = walk->json.status != STATUS_OK;
      return;
    }
    JsonValue value;
    walk->is_damaged = !json_value(&walk->json, &value) || !read_number(&value, walk->end, UINT32_MAX - 1, &at) ||
                       !next_number(&walk->json, 1, stored, &walk->first) ||
                       !next_number(&walk->json, 1, stored - walk->first + 1, &count);
    if (walk->is_damaged) return;
    walk->at = at;
    walk->end = at + count;
  }
}

/* Goes on to the run of "keep" that has the message number `rank` of those kept. */
static void seek_kept(RunWalk *walk, int64_t rank) {
  while (!walk->is_over && !walk->is_damaged && walk->end <= rank) {
    int64_t count;
    JsonValue value;
    if (!json_next_element(&walk->json)) {
      walk->is_over = true;
      return;
    }
    walk->is_damaged = !json_value(&walk->json, &value) || !read_number(&value, 0, UINT32_MAX - 1, &walk->first) ||
                       !next_number(&walk->json, 1, UINT32_MAX - walk->first, &count);
    if (walk->is_damaged) return;
    walk->at = walk->end;
    walk->end += count;
  }
}

/* ---- one batch ---- */

static Status add_piece(TailList *list, int64_t first, int64_t count, bool is_known) {
  TailPiece *last = list->count > 0 ? &list->pieces[list->count - 1] : NULL;
  assert(first >= 0 && first + count <= UINT32_MAX);
  if (last != NULL && last->is_known == is_known && (int64_t)last->first + last->count == first) {
    last->count += (uint32_t)count;
    return STATUS_OK;
  }
  void *grown = memory_grow(&list->memory, list->pieces, &list->room, list->count, sizeof *list->pieces);
  if (grown == NULL) return STATUS_MEMORY;
  list->pieces = grown;
  list->pieces[list->count++] = (TailPiece){(uint32_t)first, (uint32_t)count, is_known};
  return STATUS_OK;
}

typedef struct Lookup {
  RunWalk put, keep;
  int64_t stored;
} Lookup;

/* Adds what the positions of a piece are: seqs, and positions of the parent's list. */
static Status look_up(TailList *list, Lookup *lookup, TailPiece piece) {
  int64_t at = piece.first, end = at + piece.count;
  Status status = STATUS_OK;
  while (at < end && status == STATUS_OK) {
    RunWalk *run = &lookup->put;
    int64_t step = end - at;
    seek_put(run, at, lookup->stored);
    if (run->is_damaged) return STATUS_SHAPE;
    if (!run->is_over && run->at <= at) {
      if (run->end - at < step) step = run->end - at;
      status = add_piece(list, run->first + at - run->at, step, true);
      at += step;
      continue;
    }
    if (!run->is_over && run->at - at < step) step = run->at - at;
    int64_t rank = at - run->put;
    run = &lookup->keep;
    seek_kept(run, rank);
    if (run->is_damaged || run->is_over) return STATUS_SHAPE;
    if (run->end - rank < step) step = run->end - rank;
    status = add_piece(list, run->first + rank - run->at, step, false);
    at += step;
  }
  return status;
}

/* Replaces the positions of the batch's list by what they are. */
static Status step_up(TailList *list, const BatchRows *batch, uint64_t stored) {
  TailList next = {.memory = list->memory};
  Lookup lookup = {.stored = (int64_t)stored};
  Status status = STATUS_OK;
  open_runs(&lookup.put, &batch->values[BATCH_PUT]);
  open_runs(&lookup.keep, &batch->values[BATCH_KEEP]);
  for (uint32_t i = 0; i < list->count && status == STATUS_OK; i++) {
    TailPiece piece = list->pieces[i];
    if (piece.is_known) status = add_piece(&next, piece.first, piece.count, true);
    else status = look_up(&next, &lookup, piece);
  }
  memory_free(&list->memory, list->pieces, list->room * sizeof *list->pieces);
  *list = next;
  return status;
}

/* ---- all ---- */

static bool is_known(const TailList *list) {
  for (uint32_t i = 0; i < list->count; i++) {
    if (!list->pieces[i].is_known) return false;
  }
  return true;
}

static Status read_list(TailList *list, BatchRows *batch, StateRowSource rows, uint32_t number, uint64_t stored,
                        bool *found) {
  Status status = STATUS_OK;
  for (uint32_t left = TAIL_BATCHES_MAX; status == STATUS_OK && !is_known(list); left--) {
    int64_t parent;
    if (left == 0 || list->count > TAIL_PIECES_MAX) return STATUS_OK;
    status = step_up(list, batch, stored);
    if (status != STATUS_OK || is_known(list)) break;
    if (!read_number(&batch->values[BATCH_PARENT], 0, (int64_t)number - 1, &parent)) return STATUS_SHAPE;
    number = (uint32_t)parent;
    status = read_batch(rows, number, batch);
  }
  *found = status == STATUS_OK;
  return status;
}

Status tail_list_read(TailList *list, StateRowSource rows, uint32_t number, uint64_t stored, uint32_t wanted,
                      uint32_t *hidden, bool *found) {
  BatchRows batch;
  int64_t count = 0;
  *found = false;
  *hidden = 0;
  buffer_init(&batch.text, list->memory);
  Status status = read_batch(rows, number, &batch);
  bool counts = status == STATUS_OK && read_number(&batch.values[BATCH_COUNT], 0, (int64_t)stored, &count);
  if (status == STATUS_OK && !counts) status = STATUS_SHAPE;
  if (status == STATUS_OK) {
    *hidden = count > wanted ? (uint32_t)(count - wanted) : 0;
    if (count > 0) status = add_piece(list, *hidden, count - *hidden, false);
  }
  if (status == STATUS_OK) status = read_list(list, &batch, rows, number, stored, found);
  buffer_free(&batch.text);
  return status;
}
