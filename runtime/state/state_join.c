/*
** Joins rows to the text of a state: every row is a piece of it already.
*/
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "state/state_parts.h"
#include "state/state_rows.h"

/* The members that rows of a kind are elements of; in the order of kinds. */
static const StateField LISTS[STATE_ROW_KINDS] = {
  [STATE_ROW_MESSAGE] = STATE_MESSAGES, [STATE_ROW_ORIGIN] = STATE_ORIGINS, [STATE_ROW_MOVED] = STATE_MOVED,
  [STATE_ROW_ANSWERS] = STATE_ANSWERS,  [STATE_ROW_BATCH] = STATE_BATCHES,  [STATE_ROW_WINDOW] = STATE_WINDOWS,
};

static const StateField PARTS[STATE_PARTS] = {
  [STATE_PART_OPTIONS] = STATE_OPTIONS,         [STATE_PART_CURRENT] = STATE_CURRENT,
  [STATE_PART_CHECKPOINTS] = STATE_CHECKPOINTS, [STATE_PART_MARKS] = STATE_MARKS,
  [STATE_PART_CALIBRATION] = STATE_CALIBRATION,
};

static Status add_string(StateJoin *join, const char *string) { return buffer_add_string(join->out, string); }
static Status add_text(StateJoin *join, Text text) { return buffer_add(join->out, text.bytes, text.size); }

/* Begins a member of the state. */
static Status open_member(StateJoin *join, StateField field, const char *bracket) {
  Status status = add_string(join, ",\n\"");
  if (status == STATUS_OK) status = add_string(join, STATE_NAMES[field]);
  if (status == STATUS_OK) status = add_string(join, "\":");
  return status == STATUS_OK ? add_string(join, bracket) : status;
}

/* Ends the list of the kind before, and writes the lists of kinds without rows up to `kind`. */
static Status move_to(StateJoin *join, unsigned kind) {
  Status status = STATUS_OK;
  while (status == STATUS_OK && join->kind < kind) {
    if (join->kind == STATE_ROW_BATCH && join->any) status = add_string(join, "}");
    if (status == STATUS_OK && join->kind != STATE_ROW_PART) status = add_string(join, "]");
    join->kind++;
    join->any = false;
    if (status == STATUS_OK && join->kind < STATE_ROW_KINDS) status = open_member(join, LISTS[join->kind], "[");
  }
  return status;
}

/* ---- rows ---- */

static Status add_part(StateJoin *join, const StateRow *row) {
  if (row->number >= STATE_PARTS) return STATUS_SHAPE;
  if (row->number != STATE_PART_STORED) {
    Status status = open_member(join, PARTS[row->number], "");
    return status == STATUS_OK ? add_text(join, row->bytes) : status;
  }
  for (size_t i = 0; i < row->bytes.size; i++) {
    unsigned digit = (unsigned)(row->bytes.bytes[i] - '0');
    join->stored = join->stored * 10 + digit;
    if (digit > 9 || join->stored > UINT32_MAX) return STATUS_SHAPE;
  }
  return STATUS_OK;
}

/* Notes that the seqs up to `end` have no message. */
static Status remove_to(StateJoin *join, uint64_t end) {
  char run[48];
  if (end <= join->seqs) return STATUS_OK;
  int length = snprintf(run, sizeof run, "%s%" PRIu64 ",%" PRIu64, join->removed.size == 0 ? "" : ",", join->seqs + 1,
                        end - join->seqs);
  assert(length > 0 && (size_t)length < sizeof run);
  join->seqs = end;
  return buffer_add(&join->removed, run, (size_t)length);
}

/* The first row of a batch opens its object; the later ones go on in it. */
static Status add_batch_row(StateJoin *join, const StateRow *row, bool continues) {
  Text bytes = row->bytes;
  if (!continues) {
    Status status = add_string(join, join->any ? "},\n{" : "\n{");
    return status == STATUS_OK ? add_text(join, bytes) : status;
  }
  bool empty = join->out->bytes[join->out->size - 1] == '[';
  if (bytes.size == 0) return STATUS_SHAPE;
  if (row->number % STATE_BATCH_ROWS == STATE_BATCH_MEMORY) {
    Status status = add_string(join, ",");
    return status == STATUS_OK ? add_text(join, bytes) : status;
  }
  if (empty && bytes.bytes[0] == ',') bytes = text_plain(bytes.bytes + 1, bytes.size - 1);
  return add_text(join, bytes);
}

static Status add_element(StateJoin *join, const StateRow *row) {
  Status status = add_string(join, join->any ? ",\n" : "\n");
  return status == STATUS_OK ? add_text(join, row->bytes) : status;
}

Status state_join_row(StateJoin *join, const StateRow *row) {
  uint64_t last = join->number;
  bool same = row->kind == join->kind && join->any;
  if (row->kind >= STATE_ROW_KINDS || row->kind < join->kind || (same && row->number <= last)) return STATUS_SHAPE;
  Status status = move_to(join, row->kind);
  if (status != STATUS_OK) return status;
  bool is_batch = row->kind == STATE_ROW_BATCH;
  bool continues = is_batch && row->number % STATE_BATCH_ROWS != 0;
  if (continues && (!same || row->number / STATE_BATCH_ROWS != last / STATE_BATCH_ROWS)) return STATUS_SHAPE;
  if (row->kind == STATE_ROW_PART) status = add_part(join, row);
  else if (is_batch) status = add_batch_row(join, row, continues);
  else status = add_element(join, row);
  if (status == STATUS_OK && row->kind == STATE_ROW_MESSAGE) {
    if (row->number == 0 || row->number > UINT32_MAX) return STATUS_SHAPE;
    status = remove_to(join, row->number - 1);
    join->seqs = row->number;
  }
  join->number = row->number;
  join->any = true;
  return status;
}

/* ---- all ---- */

Status state_join_start(StateJoin *join, Buffer *out) {
  char head[32];
  *join = (StateJoin){.out = out};
  buffer_init(&join->removed, out->memory);
  int length = snprintf(head, sizeof head, "{\"%s\":%d", STATE_NAMES[STATE_EBB], STATE_VERSION);
  return buffer_add(out, head, (size_t)length);
}

Status state_join_end(StateJoin *join) {
  Status status = move_to(join, STATE_ROW_KINDS);
  if (status == STATUS_OK) status = remove_to(join, join->stored);
  if (status == STATUS_OK && join->removed.size > 0) {
    status = open_member(join, STATE_REMOVED, "[");
    if (status == STATUS_OK) status = add_text(join, text_plain(join->removed.bytes, join->removed.size));
    if (status == STATUS_OK) status = add_string(join, "]");
  }
  buffer_free(&join->removed);
  return status == STATUS_OK ? add_string(join, "}\n") : status;
}
