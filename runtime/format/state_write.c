/*
** Writes a state, field by field. The first failure of the sink sticks.
*/
#include <assert.h>

#include "base/bitset.h"
#include "codec/xxh64.h"
#include "format/state_parts.h"

/* A sink that sums up what it passes on. */
typedef struct DigestSink {
  Sink sink;
  Xxh64 hash;
} DigestSink;

typedef struct StateWriter {
  const Conversation *conversation;
  const Store *store;
  const History *history;
  DigestSink digest;
  JsonOut out;
  const Sequence *compared;  /* the list that another one is compared with, up to */
  uint32_t compared_end;     /* this position */
  uint64_t *visible;           /* set of the messages of `compared`, else empty; NULL: no memory */
} StateWriter;

/* ---- pieces ---- */

static void open_bracket(StateWriter *w, char bracket) { json_out_open(&w->out, bracket); }
static void close_bracket(StateWriter *w, char bracket) { json_out_close(&w->out, bracket); }
static void number(StateWriter *w, int64_t value) { json_out_integer(&w->out, value); }
static void text(StateWriter *w, Text value) { json_out_text(&w->out, value); }
static void string(StateWriter *w, const char *value) { json_out_string(&w->out, value); }
static void name(StateWriter *w, const char *key) { json_out_name(&w->out, key); }

/* Writes a JSON object as it is; {} for an empty text. */
static void object(StateWriter *w, Text value) { json_out_raw(&w->out, value.size == 0 ? text_of("{}") : value); }

/* Begins a field of the state on a line of its own. */
static void field(StateWriter *w, StateField which) {
  json_out_line(&w->out);
  name(w, STATE_NAMES[which]);
}

static void open_field(StateWriter *w, StateField which, char bracket) {
  field(w, which);
  open_bracket(w, bracket);
}

/* ---- messages ---- */

static void write_messages(StateWriter *w) {
  open_field(w, STATE_MESSAGES, '[');
  for (MessageId id = 1; id <= store_count(w->store); id++) {
    if (!store_has(w->store, id)) continue;
    Text raw = message_raw(store_message(w->store, id));
    json_out_line(&w->out);
    json_out_raw(&w->out, raw);
  }
  close_bracket(w, ']');
}

/* Writes the runs of seqs whose messages were removed; no field if there are none. */
static void write_removed(StateWriter *w) {
  MessageId count = store_count(w->store), first = 1;
  bool any = false;
  while (first <= count) {
    MessageId end = first;
    while (end <= count && !store_has(w->store, end)) end++;
    if (end > first) {
      if (!any) open_field(w, STATE_REMOVED, '[');
      any = true;
      number(w, first);
      number(w, end - first);
    }
    first = end + 1;
  }
  if (any) close_bracket(w, ']');
}

static void write_origins(StateWriter *w) {
  open_field(w, STATE_ORIGINS, '[');
  for (MessageId id = 1; id <= store_count(w->store); id++) {
    MessageId origin = store_origin(w->store, id);
    if (origin == id) continue;
    open_bracket(w, '[');
    number(w, id);
    number(w, origin);
    close_bracket(w, ']');
  }
  close_bracket(w, ']');
}

static void write_moved(StateWriter *w) {
  open_field(w, STATE_MOVED, '[');
  for (MessageId id = 1; id <= store_count(w->store); id++) {
    MessageId origin = store_origin(w->store, id);
    if (!store_has(w->store, id) || !store_is_moved(w->store, id)) continue;
    if (origin != id && store_has(w->store, origin)) continue;      /* it has the rank of its origin */
    Rank rank = store_rank(w->store, id);
    if (rank.step == 0) continue;              /* of an appended message, whose replacement has its rank */
    open_bracket(w, '[');
    number(w, id);
    number(w, rank.anchor);
    number(w, (int64_t)(rank.step >> 32));
    number(w, (int64_t)(rank.step & UINT32_MAX));
    close_bracket(w, ']');
  }
  close_bracket(w, ']');
}

static void write_answers(StateWriter *w) {
  open_field(w, STATE_ANSWERS, '[');
  for (MessageId id = 1; id <= store_count(w->store); id++) {
    uint32_t count = store_has(w->store, id) ? message_result_count(store_message(w->store, id)) : 0;
    if (count == 0) continue;
    open_bracket(w, '[');
    number(w, id);
    for (uint32_t i = 0; i < count; i++) {
      CallLink link = store_answers(w->store, id, i);
      number(w, link.message);
      number(w, link.call);
    }
    close_bracket(w, ']');
  }
  close_bracket(w, ']');
}

/* ---- batches ---- */

/* Compares with the messages [0, end) of a list. The set is emptied message by message
   (clear_compared): a save must not cost batches times messages. */
static void set_compared(StateWriter *w, const Sequence *list, uint32_t end) {
  assert(w->compared == NULL);
  w->compared = list;
  w->compared_end = end;
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

/* Writes the runs of the parent's positions whose messages the list has too. */
static void write_keep(StateWriter *w, const Sequence *parent, uint32_t length, const Sequence *list) {
  assert(length <= sequence_count(parent));
  uint32_t start = 0, run = 0, at = 0;
  name(w, BATCH_NAMES[BATCH_KEEP]);
  open_bracket(w, '[');
  set_compared(w, list, sequence_count(list));
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

/* Writes the messages that only the list has. No operation moves one message past
   another, so what both have is in the same order. */
static void write_put(StateWriter *w, const Sequence *parent, uint32_t length, const Sequence *list) {
  PutRun run = {0};
  uint32_t at = 0;
  name(w, BATCH_NAMES[BATCH_PUT]);
  open_bracket(w, '[');
  if (parent != NULL) set_compared(w, parent, length);
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
  clear_compared(w);
  close_bracket(w, ']');
}

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

/* Writes the policies' memory where it differs from the parent's, byte for byte. */
static void write_memory(StateWriter *w, uint32_t index, uint32_t parent) {
  Text memory = history_policy_memory(w->history, index);
  Text inherited = parent == BATCH_NONE ? text_of("") : history_policy_memory(w->history, parent);
  if (text_equal(memory, inherited)) return;
  name(w, BATCH_NAMES[BATCH_MEMORY]);
  object(w, memory);
}

static void batch_number(StateWriter *w, BatchField which, int64_t value) {
  json_out_member_integer(&w->out, BATCH_NAMES[which], value);
}

/* Writes a batch as a delta over the state of its parent (state.h). A pruned batch has no list to write. */
static void write_batch(StateWriter *w, uint32_t index) {
  BatchInfo info = history_batch(w->history, index);
  const Sequence *list = history_list(w->history, index);
  const Sequence *parent = info.parent == BATCH_NONE ? NULL : history_list(w->history, info.parent);
  json_out_line(&w->out);
  open_bracket(w, '{');
  batch_number(w, BATCH_PARENT, info.parent == BATCH_NONE ? -1 : (int64_t)info.parent);
  batch_number(w, BATCH_PARENT_LENGTH, info.parent_length);
  json_out_member_string(&w->out, BATCH_NAMES[BATCH_OPERATION], batch_kind_name(info.kind));
  json_out_member_text(&w->out, BATCH_NAMES[BATCH_DESCRIPTION], info.description);
  batch_number(w, BATCH_TIMESTAMP, info.timestamp);
  batch_number(w, BATCH_BORN, info.born);
  batch_number(w, BATCH_COUNT, info.count);
  if (list != NULL) {
    if (parent != NULL) write_keep(w, parent, info.parent_length, list);
    write_put(w, parent, info.parent_length, list);
  }
  if (history_ledger(w->history, index) != NULL) write_ledger(w, history_ledger(w->history, index));
  if (list != NULL) write_memory(w, index, info.parent);
  close_bracket(w, '}');
}

static void write_history(StateWriter *w) {
  open_field(w, STATE_BATCHES, '[');
  for (uint32_t i = 0; i < history_count(w->history) && w->out.status == STATUS_OK; i++) write_batch(w, i);
  close_bracket(w, ']');
  field(w, STATE_CURRENT);
  number(w, history_current(w->history));
  open_field(w, STATE_CHECKPOINTS, '[');
  const Checkpoint *checkpoint;
  for (uint32_t at = 0; (checkpoint = checkpoints_next(history_checkpoints(w->history), &at)) != NULL;) {
    open_bracket(w, '[');
    text(w, checkpoint->name);
    number(w, checkpoint->batch);
    number(w, checkpoint->length);
    close_bracket(w, ']');
  }
  close_bracket(w, ']');
}

/* ---- marks: sorted by name, so that equal states have equal bytes ---- */

/* The first name behind `last` (NULL: of all); false if there is none. There are few. */
static bool next_name(const Marks *marks, const Text *last, Text *next) {
  bool any = false;
  for (uint32_t i = 0; i < marks_name_count(marks); i++) {
    Text candidate = marks_name(marks, i);
    if (last != NULL && text_compare(candidate, *last) <= 0) continue;
    if (any && text_compare(candidate, *next) > 0) continue;
    *next = candidate;
    any = true;
  }
  return any;
}

static void write_marks(StateWriter *w) {
  const Marks *marks = conversation_marks(w->conversation);
  Text label, last, *before = NULL;
  open_field(w, STATE_MARKS, '{');
  for (; next_name(marks, before, &label); last = label, before = &last) {
    if (marks_size(marks, label) == 0) continue;
    json_out_name_text(&w->out, label);
    open_bracket(w, '[');
    for (MessageId id = 1; id <= store_count(w->store); id++) {
      if (marks_has(marks, label, id)) number(w, id);
    }
    close_bracket(w, ']');
  }
  close_bracket(w, '}');
}

static void write_windows(StateWriter *w) {
  const Windows *windows = conversation_windows(w->conversation);
  if (windows_count(windows) == 0) return;
  field(w, STATE_WINDOWS);
  state_write_windows(windows, &w->out);
}

static void write_calibration(StateWriter *w) {
  Calibration calibration = conversation_calibration(w->conversation);
  open_field(w, STATE_CALIBRATION, '[');
  number(w, (int64_t)calibration.reported);
  number(w, (int64_t)calibration.counted);
  close_bracket(w, ']');
}

/* ---- the digest ---- */

static Status add_to_digest(void *user, const char *bytes, size_t size) {
  DigestSink *digest = user;
  xxh64_add(&digest->hash, bytes, size);
  return digest->sink.write(digest->sink.user, bytes, size);
}

static void write_digest(StateWriter *w) {
  char digest[STATE_DIGEST_SIZE];
  field(w, STATE_DIGEST);
  json_out_flush(&w->out);
  text(w, state_digest_text(xxh64_end(&w->digest.hash), digest));
}

Status state_write(const Conversation *conversation, Text options, Sink sink) {
  StateWriter w = {.conversation = conversation, .store = conversation_store(conversation),
                   .history = conversation_history(conversation), .digest = {.sink = sink}};
  const Memory *memory = conversation_memory(conversation);
  size_t count = (size_t)store_count(w.store) + 1;
  w.visible = bitset_new(memory, count);
  xxh64_start(&w.digest.hash);
  json_out_start(&w.out, (Sink){.write = add_to_digest, .user = &w.digest});
  open_bracket(&w, '{');
  json_out_member_integer(&w.out, STATE_NAMES[STATE_EBB], STATE_VERSION);
  field(&w, STATE_OPTIONS);
  object(&w, options);
  write_messages(&w);
  write_removed(&w);
  write_origins(&w);
  write_moved(&w);
  write_answers(&w);
  write_history(&w);
  write_marks(&w);
  write_windows(&w);
  write_calibration(&w);
  write_digest(&w);
  close_bracket(&w, '}');
  json_out_line(&w.out);
  bitset_free(memory, w.visible, count);
  return json_out_end(&w.out);
}
