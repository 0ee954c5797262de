/*
** Writes the batches of a state: each is a delta over the state of its parent.
*/
#include <assert.h>

#include "core/list/sequence_diff.h"
#include "state/state_writer.h"

static void open_bracket(StateWriter *w, char bracket) { json_out_open(&w->out, bracket); }
static void close_bracket(StateWriter *w, char bracket) { json_out_close(&w->out, bracket); }
static void number(StateWriter *w, int64_t value) { json_out_integer(&w->out, value); }
static void text(StateWriter *w, Text value) { json_out_text(&w->out, value); }
static void string(StateWriter *w, const char *value) { json_out_string(&w->out, value); }
static void name(StateWriter *w, const char *key) { json_out_name(&w->out, key); }

/* ---- lists ---- */

typedef struct PutRun {
  uint32_t position;
  MessageId first;
  uint32_t count;
} PutRun;

static void write_run(StateWriter *w, PutRun *run) {
  assert(run->count == 0 || run->first + run->count - 1 <= store_count(w->store));
  if (run->count > 0) {
    number(w, run->position);
    number(w, run->first);
    number(w, run->count);
  }
  run->count = 0;
}

/* Adds a message at position `at` to the run, which is written first if the message does not continue it. */
static void add_to_run(StateWriter *w, PutRun *run, uint32_t at, MessageId id) {
  bool continues = run->count > 0 && run->first + run->count == id && run->position + run->count == at;
  if (!continues) {
    write_run(w, run);
    *run = (PutRun){.position = at, .first = id};
  }
  run->count++;
}

/* True if the first `end` messages of a list have the message: a search in O(log n) as a rule. NULL has none. */
static bool is_in(const Sequence *list, uint32_t end, MessageId id) {
  return list != NULL && sequence_index_of(list, id, UINT32_MAX) < end;
}

/* Writes the messages [from, end) of the list that the first `length` messages of `parent` (NULL: none) lack. */
static void write_lacking(StateWriter *w, const Sequence *parent, uint32_t length, const Sequence *list, uint32_t from,
                          uint32_t end) {
  PutRun run = {0};
  SequenceWalk walk = sequence_walk(list, from, end);
  while (sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count; i++) {
      if (!is_in(parent, length, walk.ids[i])) add_to_run(w, &run, walk.index + i, walk.ids[i]);
    }
  }
  write_run(w, &run);
}

/* A batch's list, and the state of its parent. */
typedef struct StatePair {
  const Sequence *parent, *list;
  uint32_t length, end;      /* messages of them that count */
  uint32_t hidden;           /* messages of the parent's state that stand before its list, and are not kept */
} StatePair;

static void write_kept(StateWriter *w, const StatePair *pair, uint32_t start, uint32_t end) {
  if (end > start) number(w, (int64_t)start + pair->hidden), number(w, end - start);
}

static void open_list(StateWriter *w, BatchField which) {
  name(w, BATCH_NAMES[which]);
  open_bracket(w, '[');
}

/* Writes "keep" and "put" by looking for each message of one list in the other one. */
static void write_by_search(StateWriter *w, const StatePair *pair) {
  uint32_t start = 0;
  SequenceWalk walk = sequence_walk(pair->parent, 0, pair->length);
  open_list(w, BATCH_KEEP);
  while (sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count; i++) {
      if (is_in(pair->list, pair->end, walk.ids[i])) continue;
      write_kept(w, pair, start, walk.index + i);
      start = walk.index + i + 1;
    }
  }
  write_kept(w, pair, start, pair->length);
  close_bracket(w, ']');
  open_list(w, BATCH_PUT);
  write_lacking(w, pair->parent, pair->length, pair->list, 0, pair->end);
  close_bracket(w, ']');
}

/* Writes them by what differs. No operation moves one message past another, so what both have is in the same
   order. */
static void write_difference(StateWriter *w, const SequenceDiff *diff, const StatePair *pair) {
  uint32_t start = 0;
  PutRun run = {0};
  open_list(w, BATCH_KEEP);
  for (uint32_t i = 0; i < diff->removed_count; i++) {
    assert(diff->removed[i].index >= start);
    write_kept(w, pair, start, diff->removed[i].index);
    start = diff->removed[i].index + 1;
  }
  write_kept(w, pair, start, pair->length);
  close_bracket(w, ']');
  open_list(w, BATCH_PUT);
  for (uint32_t i = 0; i < diff->added_count; i++) add_to_run(w, &run, diff->added[i].index, diff->added[i].id);
  write_run(w, &run);
  close_bracket(w, ']');
}

static Status first_of(const Sequence *list, uint32_t end, Sequence **state) {
  Status status = sequence_share(list, state);
  return status == STATUS_OK ? sequence_slice(state, 0, end) : status;
}

/* Compares the two: costs what differs, so that a save does not cost batches times messages. STATUS_MEMORY. */
static Status compare(const StatePair *pair, SequenceDiff *diff) {
  Sequence *before = NULL, *after = NULL;
  Status status = first_of(pair->parent, pair->length, &before);
  if (status == STATUS_OK) status = first_of(pair->list, pair->end, &after);
  if (status == STATUS_OK) status = sequence_diff(before, after, diff);
  sequence_release(before);
  sequence_release(after);
  return status;
}

/* ---- ledgers ---- */

static void write_ledger_run(StateWriter *w, const Ledger *ledger, LedgerRun run) {
  open_bracket(w, '[');
  string(w, action_name(run.action));
  text(w, ledger_text(ledger, run.cause.author));
  text(w, ledger_text(ledger, run.cause.reason));
  number(w, run.first);
  number(w, run.count);
  number(w, run.replacement);
  string(w, role_name(run.role));
  number(w, run.freed);
  close_bracket(w, ']');
}

/* Writes a ledger, a member of its batch: runs, messages kept on purpose, notes. */
static void write_ledger(StateWriter *w, const Ledger *ledger) {
  name(w, BATCH_NAMES[BATCH_LEDGER]);
  open_bracket(w, '{');
  name(w, LEDGER_NAMES[LEDGER_RUNS]);
  open_bracket(w, '[');
  for (uint32_t i = 0; i < ledger_run_count(ledger); i++) write_ledger_run(w, ledger, ledger_run(ledger, i));
  close_bracket(w, ']');
  name(w, LEDGER_NAMES[LEDGER_KEEPS]);
  open_bracket(w, '[');
  for (uint32_t i = 0; i < ledger_keep_count(ledger); i++) {
    LedgerKeep keep = ledger_keep_at(ledger, i);
    text(w, ledger_text(ledger, keep.cause.author));
    text(w, ledger_text(ledger, keep.cause.reason));
    number(w, keep.id);
  }
  close_bracket(w, ']');
  name(w, LEDGER_NAMES[LEDGER_NOTES]);
  open_bracket(w, '[');
  for (uint32_t i = 0; i < ledger_note_count(ledger); i++) {
    Text author, note;
    ledger_note_at(ledger, i, &author, &note);
    text(w, author);
    text(w, note);
  }
  close_bracket(w, ']');
  close_bracket(w, '}');
}

/* ---- what policies remember ---- */

bool state_has_memory(const StateWriter *w, uint32_t index) {
  uint32_t parent = history_batch(w->history, index).parent;
  Text inherited = parent == BATCH_NONE ? text_of("") : history_policy_memory(w->history, parent);
  return !text_equal(history_policy_memory(w->history, index), inherited);
}

void state_write_memory(StateWriter *w, uint32_t index) {
  Text memory = history_policy_memory(w->history, index);
  name(w, BATCH_NAMES[BATCH_MEMORY]);
  json_out_raw(&w->out, memory.size == 0 ? text_of("{}") : memory);
}

/* ---- batches ---- */

static void batch_number(StateWriter *w, BatchField which, int64_t value) {
  json_out_member_integer(&w->out, BATCH_NAMES[which], value);
}

static void write_fields(StateWriter *w, const BatchInfo *info, bool counted) {
  bool is_first = info->parent == BATCH_NONE;
  batch_number(w, BATCH_PARENT, is_first ? -1 : (int64_t)state_batch_number(w, info->parent));
  batch_number(w, BATCH_PARENT_LENGTH, (int64_t)info->parent_length + state_batch_hidden(w, info->parent));
  json_out_member_string(&w->out, BATCH_NAMES[BATCH_OPERATION], batch_kind_name(info->kind));
  json_out_member_text(&w->out, BATCH_NAMES[BATCH_DESCRIPTION], info->description);
  batch_number(w, BATCH_TIMESTAMP, info->timestamp);
  batch_number(w, BATCH_BORN, info->born);
  if (counted) batch_number(w, BATCH_COUNT, info->count);
}

/* Writes "keep" and then "put", of the first `end` messages. A save must not fail for want of memory. */
static void write_list(StateWriter *w, const BatchInfo *info, const Sequence *list, uint32_t end) {
  StatePair pair = {.list = list, .end = end, .length = info->parent_length,
                    .hidden = state_batch_hidden(w, info->parent)};
  SequenceDiff diff = {.memory = *conversation_memory(w->conversation)};
  if (info->parent != BATCH_NONE) pair.parent = history_list(w->history, info->parent);
  if (pair.parent == NULL) {
    open_list(w, BATCH_PUT);
    write_lacking(w, NULL, 0, list, 0, end);
    close_bracket(w, ']');
    return;
  }
  if (compare(&pair, &diff) == STATUS_OK) write_difference(w, &diff, &pair);
  else write_by_search(w, &pair);
  sequence_diff_free(&diff);
}

void state_write_batch(StateWriter *w, uint32_t index, BatchScope scope) {
  BatchInfo info = history_batch(w->history, index);
  const Sequence *list = history_list(w->history, index);
  const Ledger *ledger = history_ledger(w->history, index);
  bool whole = scope == BATCH_WHOLE;
  open_bracket(w, '{');
  write_fields(w, &info, whole || list == NULL);
  if (list != NULL && whole) write_list(w, &info, list, info.count);
  if (ledger != NULL) write_ledger(w, ledger);
  if (list != NULL && whole && state_has_memory(w, index)) state_write_memory(w, index);
  if (list != NULL && !whole) write_list(w, &info, list, info.born);
  close_bracket(w, '}');
}

void state_write_growth(StateWriter *w, uint32_t index) {
  BatchInfo info = history_batch(w->history, index);
  assert(!info.pruned);
  const Sequence *list = history_list(w->history, index);
  uint32_t straight = history_straight(w->history, index);
  PutRun run = {.position = info.born, .count = straight};
  assert(info.born + straight <= info.count);
  if (straight > 0) run.first = sequence_at(list, info.born);
  write_run(w, &run);
  write_lacking(w, NULL, 0, list, info.born + straight, info.count);
}

void state_write_added(StateWriter *w, uint32_t index, uint32_t from, uint32_t end) {
  PutRun run = {0};
  uint32_t hidden = state_batch_hidden(w, index);
  SequenceWalk walk = sequence_walk(history_list(w->history, index), from, end);
  while (sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count; i++) add_to_run(w, &run, hidden + walk.index + i, walk.ids[i]);
  }
  write_run(w, &run);
}
