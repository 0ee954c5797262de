/*
** Writes the batches of a state: each is a delta over the state of its parent.
*/
#include <assert.h>

#include "base/bitset.h"
#include "format/state_writer.h"

static void open_bracket(StateWriter *w, char bracket) { json_out_open(&w->out, bracket); }
static void close_bracket(StateWriter *w, char bracket) { json_out_close(&w->out, bracket); }
static void number(StateWriter *w, int64_t value) { json_out_integer(&w->out, value); }
static void text(StateWriter *w, Text value) { json_out_text(&w->out, value); }
static void string(StateWriter *w, const char *value) { json_out_string(&w->out, value); }
static void name(StateWriter *w, const char *key) { json_out_name(&w->out, key); }

/* ---- comparing ---- */

/* Compares with the messages [0, end) of a list. The set is emptied message by message
   (clear_compared): a save must not cost batches times messages. */
static void set_compared(StateWriter *w, const Sequence *list, uint32_t end) {
  assert(w->compared == NULL);
  w->compared = list;
  w->compared_end = end;
  if (w->visible == NULL && !w->searches) {
    w->visible = bitset_new(conversation_memory(w->conversation), (size_t)store_count(w->store) + 1);
    w->searches = w->visible == NULL;
  }
  if (w->visible == NULL) return;
  SequenceWalk walk = sequence_walk(list, 0, end);
  while (sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count; i++) bitset_add(w->visible, walk.ids[i]);
  }
}

static void clear_compared(StateWriter *w) {
  if (w->compared != NULL && w->visible != NULL) {
    SequenceWalk walk = sequence_walk(w->compared, 0, w->compared_end);
    while (sequence_walk_next(&walk)) {
      for (uint32_t i = 0; i < walk.count; i++) bitset_remove(w->visible, walk.ids[i]);
    }
  }
  w->compared = NULL;
}

/* True if the list compared with has the message. Without the set it is searched, in
   O(log n) as a rule. */
static bool is_shown(const StateWriter *w, MessageId id) {
  if (w->compared == NULL) return false;
  if (w->visible != NULL) return bitset_has(w->visible, id);
  uint32_t index = sequence_index_of(w->compared, id, 0);
  return index < sequence_count(w->compared) && index < w->compared_end;
}

/* ---- runs ---- */

/* Writes the runs of the parent's positions whose messages the list has too, up to `end`. */
static void write_keep(StateWriter *w, const Sequence *parent, uint32_t length, const Sequence *list, uint32_t end) {
  assert(length <= sequence_count(parent) && end <= sequence_count(list));
  uint32_t start = 0, run = 0, at = 0;
  name(w, BATCH_NAMES[BATCH_KEEP]);
  open_bracket(w, '[');
  set_compared(w, list, end);
  SequenceWalk walk = sequence_walk(parent, 0, length);
  while (sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count; i++, at++) {
      if (is_shown(w, walk.ids[i])) {
        if (run++ == 0) start = at;
        continue;
      }
      if (run > 0) number(w, start), number(w, run);
      run = 0;
    }
  }
  if (run > 0) number(w, start), number(w, run);
  clear_compared(w);
  close_bracket(w, ']');
}

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

/* Writes the messages [from, end) of the list that the list compared with lacks. No operation moves one message
   past another, so what both have is in the same order. */
static void write_put(StateWriter *w, const Sequence *list, uint32_t from, uint32_t end) {
  PutRun run = {0};
  uint32_t at = from;
  SequenceWalk walk = sequence_walk(list, from, end);
  while (sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count; i++, at++) {
      MessageId id = walk.ids[i];
      bool continues = run.count > 0 && run.first + run.count == id && run.position + run.count == at;
      if (is_shown(w, id) || !continues) write_run(w, &run);
      if (is_shown(w, id)) continue;
      if (run.count == 0) run = (PutRun){.position = at, .first = id};
      run.count++;
    }
  }
  write_run(w, &run);
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
  batch_number(w, BATCH_PARENT, info->parent == BATCH_NONE ? -1 : (int64_t)info->parent);
  batch_number(w, BATCH_PARENT_LENGTH, info->parent_length);
  json_out_member_string(&w->out, BATCH_NAMES[BATCH_OPERATION], batch_kind_name(info->kind));
  json_out_member_text(&w->out, BATCH_NAMES[BATCH_DESCRIPTION], info->description);
  batch_number(w, BATCH_TIMESTAMP, info->timestamp);
  batch_number(w, BATCH_BORN, info->born);
  if (counted) batch_number(w, BATCH_COUNT, info->count);
}

/* Writes "keep" and then "put", of the first `end` messages. */
static void write_list(StateWriter *w, const BatchInfo *info, const Sequence *list, uint32_t end) {
  const Sequence *parent = info->parent == BATCH_NONE ? NULL : history_list(w->history, info->parent);
  if (parent != NULL) write_keep(w, parent, info->parent_length, list, end);
  name(w, BATCH_NAMES[BATCH_PUT]);
  open_bracket(w, '[');
  if (parent != NULL) set_compared(w, parent, info->parent_length);
  write_put(w, list, 0, end);
  clear_compared(w);
  close_bracket(w, ']');
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
  assert(w->compared == NULL && !info.pruned);
  const Sequence *list = history_list(w->history, index);
  uint32_t straight = history_straight(w->history, index);
  PutRun run = {.position = info.born, .count = straight};
  assert(info.born + straight <= info.count);
  if (straight > 0) run.first = sequence_at(list, info.born);
  write_run(w, &run);
  write_put(w, list, info.born + straight, info.count);
}
