/*
** Writes a state, field by field. The first failure of the sink sticks.
*/
#include "codec/xxh64.h"
#include "state/state_writer.h"

void state_writer_init(StateWriter *w, const Conversation *conversation) {
  *w = (StateWriter){.conversation = conversation, .store = conversation_store(conversation),
                     .history = conversation_history(conversation)};
}

/* ---- pieces ---- */

static void open_bracket(StateWriter *w, char bracket) { json_out_open(&w->out, bracket); }
static void close_bracket(StateWriter *w, char bracket) { json_out_close(&w->out, bracket); }
static void number(StateWriter *w, int64_t value) { json_out_integer(&w->out, value); }
static void text(StateWriter *w, Text value) { json_out_text(&w->out, value); }
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
  for (MessageId id = store_next(w->store, 0); id != 0; id = store_next(w->store, id)) {
    Text raw = message_raw(store_message(w->store, id));
    json_out_line(&w->out);
    json_out_raw(&w->out, raw);
  }
  close_bracket(w, ']');
}

/* Writes the runs of seqs whose messages were removed; no field if there are none. */
static void write_removed(StateWriter *w) {
  MessageId last = 0, id;      /* the message before a run, and behind it */
  bool any = false;
  do {
    id = store_next(w->store, last);
    MessageId end = id == 0 ? store_count(w->store) + 1 : id;
    if (end > last + 1) {
      if (!any) open_field(w, STATE_REMOVED, '[');
      any = true;
      number(w, last + 1);
      number(w, end - last - 1);
    }
    last = id;
  } while (id != 0);
  if (any) close_bracket(w, ']');
}

bool state_write_origin(StateWriter *w, MessageId id) {
  MessageId origin = store_origin(w->store, id);
  if (origin == id) return false;
  open_bracket(w, '[');
  number(w, id);
  number(w, origin);
  close_bracket(w, ']');
  return true;
}

bool state_write_moved(StateWriter *w, MessageId id) {
  MessageId origin = store_origin(w->store, id);
  if (!store_is_moved(w->store, id)) return false;
  if (origin != id && store_has(w->store, origin)) return false;      /* it has the rank of its origin */
  Rank rank = store_rank(w->store, id);
  if (rank.step == 0) return false;            /* of an appended message, whose replacement has its rank */
  open_bracket(w, '[');
  number(w, id);
  number(w, rank.anchor);
  number(w, (int64_t)(rank.step >> 32));
  number(w, (int64_t)(rank.step & UINT32_MAX));
  close_bracket(w, ']');
  return true;
}

bool state_write_answers(StateWriter *w, MessageId id) {
  uint32_t count = message_result_count(store_message(w->store, id));
  if (count == 0) return false;
  open_bracket(w, '[');
  number(w, id);
  for (uint32_t i = 0; i < count; i++) {
    CallLink link = store_answers(w->store, id, i);
    number(w, link.message);
    number(w, link.call);
  }
  close_bracket(w, ']');
  return true;
}

/* Writes an element for each message that has one. */
static void write_elements(StateWriter *w, StateField which, bool (*write)(StateWriter *w, MessageId id)) {
  open_field(w, which, '[');
  for (MessageId id = store_next(w->store, 0); id != 0; id = store_next(w->store, id)) write(w, id);
  close_bracket(w, ']');
}

/* ---- history ---- */

void state_write_checkpoint(StateWriter *w, const Checkpoint *checkpoint) {
  open_bracket(w, '[');
  text(w, checkpoint->name);
  number(w, checkpoint->batch);
  number(w, checkpoint->length);
  close_bracket(w, ']');
}

static void write_history(StateWriter *w) {
  open_field(w, STATE_BATCHES, '[');
  for (uint32_t i = 0; i < history_count(w->history) && w->out.status == STATUS_OK; i++) {
    json_out_line(&w->out);
    state_write_batch(w, i, BATCH_WHOLE);
  }
  close_bracket(w, ']');
  field(w, STATE_CURRENT);
  number(w, history_current(w->history));
  open_field(w, STATE_CHECKPOINTS, '[');
  const Checkpoint *checkpoint;
  for (uint32_t at = 0; (checkpoint = checkpoints_next(history_checkpoints(w->history), &at)) != NULL;) {
    state_write_checkpoint(w, checkpoint);
  }
  close_bracket(w, ']');
}

static void write_windows(StateWriter *w) {
  const Windows *windows = conversation_windows(w->conversation);
  if (windows_count(windows) == 0) return;
  field(w, STATE_WINDOWS);
  state_write_windows(windows, &w->out);
}

void state_write_calibration(StateWriter *w) {
  Calibration calibration = conversation_calibration(w->conversation);
  open_bracket(w, '[');
  number(w, (int64_t)calibration.reported);
  number(w, (int64_t)calibration.counted);
  close_bracket(w, ']');
}

/* ---- the digest ---- */

/* A sink that sums up what it passes on. */
typedef struct DigestSink {
  Sink sink;
  Xxh64 hash;
} DigestSink;

static Status add_to_digest(void *user, const char *bytes, size_t size) {
  DigestSink *digest = user;
  xxh64_add(&digest->hash, bytes, size);
  return digest->sink.write(digest->sink.user, bytes, size);
}

static void write_digest(StateWriter *w, const DigestSink *digest) {
  char copy[STATE_DIGEST_SIZE];
  field(w, STATE_DIGEST);
  json_out_flush(&w->out);
  text(w, state_digest_text(xxh64_end(&digest->hash), copy));
}

Status state_write(const Conversation *conversation, Text options, Sink sink) {
  StateWriter w;
  DigestSink digest = {.sink = sink};
  state_writer_init(&w, conversation);
  xxh64_start(&digest.hash);
  json_out_start(&w.out, (Sink){.write = add_to_digest, .user = &digest});
  open_bracket(&w, '{');
  json_out_member_integer(&w.out, STATE_NAMES[STATE_EBB], STATE_VERSION);
  field(&w, STATE_OPTIONS);
  object(&w, options);
  write_messages(&w);
  write_removed(&w);
  write_elements(&w, STATE_ORIGINS, state_write_origin);
  write_elements(&w, STATE_MOVED, state_write_moved);
  write_elements(&w, STATE_ANSWERS, state_write_answers);
  write_history(&w);
  field(&w, STATE_MARKS);
  state_write_marks(&w);
  write_windows(&w);
  field(&w, STATE_CALIBRATION);
  state_write_calibration(&w);
  write_digest(&w, &digest);
  close_bracket(&w, '}');
  json_out_line(&w.out);
  return json_out_end(&w.out);
}
