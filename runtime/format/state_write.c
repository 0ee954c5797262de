/*
** State out. Each part writes its own field; the first failure sticks.
*/
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/json_out.h"
#include "format/state.h"
#include "format/state_windows.h"

typedef struct Writer {
  const Conversation *conversation;
  const Store *store;
  const History *history;
  JsonOut out;
  bool fresh;                /* just behind an opening bracket */
  const Sequence *compared;  /* the list that another is compared with, */
  uint32_t compared_end;     /* so far */
  uint64_t *shown;           /* a bit per message: is it there; between batches all are 0. NULL: no memory */
  size_t words;
} Writer;

/* ---- pieces ---- */

static void put(Writer *w, const char *bytes, size_t size) { json_out_bytes(&w->out, bytes, size); }

static void word(Writer *w, const char *text) { json_out_word(&w->out, text); }

static void open_bracket(Writer *w, const char *bracket) {
  word(w, bracket);
  w->fresh = true;
}

static void close_bracket(Writer *w, const char *bracket) {
  word(w, bracket);
  w->fresh = false;
}

static void next(Writer *w) {
  if (!w->fresh) word(w, ",");
  w->fresh = false;
}

static void number(Writer *w, int64_t value) {
  next(w);
  json_out_integer(&w->out, value);
}

static void text(Writer *w, Text value) {
  next(w);
  json_out_text(&w->out, value);
}

/* A member's name, so that a value may follow. */
static void name(Writer *w, const char *key) {
  text(w, text_of(key));
  word(w, ":");
  w->fresh = true;
}

static void open_field(Writer *w, const char *key, const char *bracket) {
  next(w);
  w->fresh = true;
  word(w, "\n");
  name(w, key);
  open_bracket(w, bracket);
}

static void write_options(Writer *w, Text value) {
  open_field(w, "options", "");
  if (value.size == 0) word(w, "{}");
  else put(w, value.bytes, value.size);
  w->fresh = false;
}

/* ---- messages ---- */

static void write_messages(Writer *w) {
  open_field(w, "messages", "[");
  for (MessageId id = 1; id <= store_count(w->store); id++) {
    if (!store_has(w->store, id)) continue;
    Text raw = message_raw(store_message(w->store, id));
    next(w);
    word(w, "\n");
    put(w, raw.bytes, raw.size);
  }
  close_bracket(w, "]");
}

/* Runs of seqs whose messages were removed; nothing if there are none. */
static void write_removed(Writer *w) {
  MessageId count = store_count(w->store), first = 1;
  bool any = false;
  while (first <= count) {
    MessageId end = first;
    while (end <= count && !store_has(w->store, end)) end++;
    if (end > first) {
      if (!any) open_field(w, "removed", "[");
      any = true;
      number(w, first);
      number(w, end - first);
    }
    first = end + 1;
  }
  if (any) close_bracket(w, "]");
}

static void write_origins(Writer *w) {
  open_field(w, "origins", "[");
  for (MessageId id = 1; id <= store_count(w->store); id++) {
    MessageId origin = store_origin(w->store, id);
    if (origin == id) continue;
    next(w);
    open_bracket(w, "[");
    number(w, id);
    number(w, origin);
    close_bracket(w, "]");
  }
  close_bracket(w, "]");
}

static void write_moved(Writer *w) {
  open_field(w, "moved", "[");
  for (MessageId id = 1; id <= store_count(w->store); id++) {
    MessageId origin = store_origin(w->store, id);
    if (!store_has(w->store, id) || !store_is_moved(w->store, id)) continue;
    if (origin != id && store_has(w->store, origin)) continue;      /* it has the rank of its origin */
    Rank rank = store_rank(w->store, id);
    if (rank.step == 0) continue;              /* an appended one's: its replacement stands for it */
    next(w);
    open_bracket(w, "[");
    number(w, id);
    number(w, rank.anchor);
    number(w, (int64_t)(rank.step >> 32));
    number(w, (int64_t)(rank.step & UINT32_MAX));
    close_bracket(w, "]");
  }
  close_bracket(w, "]");
}

static void write_answers(Writer *w) {
  open_field(w, "answers", "[");
  for (MessageId id = 1; id <= store_count(w->store); id++) {
    uint32_t count = store_has(w->store, id) ? message_result_count(store_message(w->store, id)) : 0;
    if (count == 0) continue;
    next(w);
    open_bracket(w, "[");
    number(w, id);
    for (uint32_t i = 0; i < count; i++) {
      CallLink link = store_answers(w->store, id, i);
      number(w, link.message);
      number(w, link.call);
    }
    close_bracket(w, "]");
  }
  close_bracket(w, "]");
}

/* ---- batches ---- */

/* Notes the messages [0, end) of a list, and forgets them again: a save must not cost batches times
   messages. */
static void set_shown(Writer *w, const Sequence *list, uint32_t end) {
  w->compared = list;
  w->compared_end = end;
  if (w->shown == NULL) return;
  SequenceWalk walk = sequence_walk(list, 0, end);
  while (sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count; i++) w->shown[walk.ids[i] / 64] |= (uint64_t)1 << (walk.ids[i] % 64);
  }
}

static void clear_shown(Writer *w, const Sequence *list, uint32_t end) {
  w->compared = NULL;
  if (w->shown == NULL) return;
  SequenceWalk walk = sequence_walk(list, 0, end);
  while (sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count; i++) w->shown[walk.ids[i] / 64] = 0;
  }
}

/* Without bits it is looked for, in O(log n) as a rule. */
static bool is_shown(const Writer *w, MessageId id) {
  if (w->compared == NULL) return false;
  if (w->shown != NULL) return w->shown[id / 64] >> (id % 64) & 1;
  uint32_t index = sequence_index_of(w->compared, id, 0);
  return index < sequence_count(w->compared) && index < w->compared_end;
}

/* Runs of the parent's positions that the list has too. */
static void write_keep(Writer *w, const Sequence *parent, uint32_t length, const Sequence *list) {
  uint32_t start = 0, run = 0, at = 0;
  name(w, "keep");
  open_bracket(w, "[");
  set_shown(w, list, sequence_count(list));
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
  clear_shown(w, list, sequence_count(list));
  close_bracket(w, "]");
}

typedef struct PutRun {
  uint32_t position;
  MessageId first;
  uint32_t count;
} PutRun;

static void write_run(Writer *w, PutRun *run) {
  if (run->count > 0) {
    number(w, run->position);
    number(w, run->first);
    number(w, run->count);
  }
  run->count = 0;
}

/* What it has besides. No operation moves one message past another: what both
   have stands in one order. */
static void write_put(Writer *w, const Sequence *parent, uint32_t length, const Sequence *list) {
  PutRun run = {0};
  uint32_t at = 0;
  name(w, "put");
  open_bracket(w, "[");
  if (parent != NULL) set_shown(w, parent, length);
  SequenceWalk walk = sequence_walk(list, 0, sequence_count(list));
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
  if (parent != NULL) clear_shown(w, parent, length);
  close_bracket(w, "]");
}

static void write_ledger_run(Writer *w, const Ledger *ledger, LedgerRun run) {
  next(w);
  open_bracket(w, "[");
  text(w, text_of(action_name(run.action)));
  text(w, ledger_text(ledger, run.cause.by));
  text(w, ledger_text(ledger, run.cause.reason));
  number(w, run.first);
  number(w, run.count);
  number(w, run.replacement);
  text(w, text_of(role_name(run.role)));
  number(w, run.freed);
  close_bracket(w, "]");
}

static void write_ledger(Writer *w, const Ledger *ledger) {
  name(w, "ledger");
  open_bracket(w, "{");
  name(w, "runs");
  open_bracket(w, "[");
  for (uint32_t i = 0; i < ledger_run_count(ledger); i++) write_ledger_run(w, ledger, ledger_run(ledger, i));
  close_bracket(w, "]");
  name(w, "keeps");
  open_bracket(w, "[");
  for (uint32_t i = 0; i < ledger_keep_count(ledger); i++) {
    LedgerKeep keep = ledger_keep_at(ledger, i);
    text(w, ledger_text(ledger, keep.cause.by));
    text(w, ledger_text(ledger, keep.cause.reason));
    number(w, keep.id);
  }
  close_bracket(w, "]");
  name(w, "notes");
  open_bracket(w, "[");
  for (uint32_t i = 0; i < ledger_note_count(ledger); i++) {
    Text by, note;
    ledger_note_at(ledger, i, &by, &note);
    text(w, by);
    text(w, note);
  }
  close_bracket(w, "]");
  close_bracket(w, "}");
}

/* Where it is not the parent's, byte for byte; {} for nothing where the parent has something. */
static void write_memory(Writer *w, uint32_t index, uint32_t parent) {
  Text memory = history_policy_memory(w->history, index);
  Text inherited = parent == BATCH_NONE ? text_of("") : history_policy_memory(w->history, parent);
  if (text_equal(memory, inherited)) return;
  name(w, "memory");
  if (memory.size == 0) word(w, "{}");
  else put(w, memory.bytes, memory.size);
  w->fresh = false;
}

static void write_batch(Writer *w, uint32_t index) {
  BatchInfo info = history_batch(w->history, index);
  const Sequence *list = history_list(w->history, index);
  const Sequence *parent = info.parent == BATCH_NONE ? NULL : history_list(w->history, info.parent);
  next(w);
  word(w, "\n");
  open_bracket(w, "{");
  name(w, "parent"), number(w, info.parent == BATCH_NONE ? -1 : (int64_t)info.parent);
  name(w, "parentLength"), number(w, info.parent_length);
  name(w, "operation"), text(w, text_of(batch_kind_name(info.kind)));
  name(w, "description"), text(w, info.description);
  name(w, "timestamp"), number(w, info.timestamp);
  name(w, "born"), number(w, info.born);
  name(w, "count"), number(w, info.count);
  if (list != NULL) {
    if (parent != NULL) write_keep(w, parent, info.parent_length, list);
    write_put(w, parent, info.parent_length, list);
  }
  if (history_ledger(w->history, index) != NULL) write_ledger(w, history_ledger(w->history, index));
  if (list != NULL) write_memory(w, index, info.parent);
  close_bracket(w, "}");
}

static void write_history(Writer *w) {
  open_field(w, "batches", "[");
  for (uint32_t i = 0; i < history_count(w->history) && w->out.status == STATUS_OK; i++) write_batch(w, i);
  close_bracket(w, "]");
  open_field(w, "current", "");
  number(w, history_current(w->history));
  open_field(w, "checkpoints", "[");
  for (uint32_t i = 0; i < history_checkpoint_count(w->history); i++) {
    uint32_t batch, length;
    Text label = history_checkpoint(w->history, i, &batch, &length);
    next(w);
    open_bracket(w, "[");
    text(w, label);
    number(w, batch);
    number(w, length);
    close_bracket(w, "]");
  }
  close_bracket(w, "]");
}

/* ---- marks: by name, whatever order they were made in ---- */

static int compare(Text a, Text b) {
  size_t shorter = a.size < b.size ? a.size : b.size;
  int order = shorter == 0 ? 0 : memcmp(a.bytes, b.bytes, shorter);
  return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

/* The first name behind `last` (NULL: of all), or false. There are few. */
static bool name_behind(const Marks *marks, const Text *last, Text *found) {
  bool any = false;
  for (uint32_t i = 0; i < marks_name_count(marks); i++) {
    Text candidate = marks_name(marks, i);
    if (last != NULL && compare(candidate, *last) <= 0) continue;
    if (any && compare(candidate, *found) > 0) continue;
    *found = candidate;
    any = true;
  }
  return any;
}

static void write_marks(Writer *w) {
  const Marks *marks = conversation_marks(w->conversation);
  Text label, last, *before = NULL;
  open_field(w, "marks", "{");
  for (; name_behind(marks, before, &label); last = label, before = &last) {
    if (marks_size(marks, label) == 0) continue;
    text(w, label);
    word(w, ":");
    open_bracket(w, "[");
    for (MessageId id = 1; id <= store_count(w->store); id++) {
      if (marks_has(marks, label, id)) number(w, id);
    }
    close_bracket(w, "]");
  }
  close_bracket(w, "}");
}

static void write_windows(Writer *w) {
  const Windows *windows = conversation_windows(w->conversation);
  if (windows_count(windows) == 0) return;
  open_field(w, "windows", "");
  state_write_windows(windows, &w->out);
  w->fresh = false;
}

static void write_calibration(Writer *w) {
  Calibration calibration = conversation_calibration(w->conversation);
  open_field(w, "calibration", "[");
  number(w, (int64_t)calibration.reported);
  number(w, (int64_t)calibration.counted);
  close_bracket(w, "]");
}

Status state_write(const Conversation *conversation, Text options, Sink sink) {
  Writer w = {.conversation = conversation, .store = conversation_store(conversation),
              .history = conversation_history(conversation)};
  const Memory *memory = conversation_memory(conversation);
  w.words = (size_t)store_count(w.store) / 64 + 1;
  w.shown = memory_new_array(memory, w.words, sizeof *w.shown);
  if (w.shown != NULL) memset(w.shown, 0, w.words * sizeof *w.shown);
  json_out_start(&w.out, sink);
  open_bracket(&w, "{");
  name(&w, "ebb"), number(&w, STATE_VERSION);
  write_options(&w, options);
  write_messages(&w);
  write_removed(&w);
  write_origins(&w);
  write_moved(&w);
  write_answers(&w);
  write_history(&w);
  write_marks(&w);
  write_windows(&w);
  write_calibration(&w);
  word(&w, "}\n");
  if (w.shown != NULL) memory_free(memory, w.shown, w.words * sizeof *w.shown);
  return json_out_end(&w.out);
}
