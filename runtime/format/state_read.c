/*
** State in. Nothing is trusted: every number is held against what it names, so
** that a damaged state is refused and never half read.
**
**     find the fields -> messages, with what is said of each -> marks
**                     -> batches, each from its parent's state -> checkpoints
*/
#include <string.h>

#include "format/reader.h"
#include "format/state.h"

static const char *const FIELDS[] = {"ebb", "options", "messages", "origins", "moved", "answers",
                                     "batches", "current", "checkpoints", "marks", "calibration", "memory"};
enum {
  EBB,
  OPTIONS,
  MESSAGES,
  ORIGINS,
  MOVED,
  ANSWERS,
  BATCHES,
  CURRENT,
  CHECKPOINTS,
  MARKS,
  CALIBRATION,
  MEMORY_FIELD,
  FIELD_TOTAL
};

typedef struct Loader {
  Conversation *conversation;
  Store *store;
  JsonValue fields[FIELD_TOTAL];
  const char *bytes;
  StateError *error;
  History *history;          /* being made */
  Marks *marks;
  uint64_t *seen;            /* a bit per message */
  size_t words;
  Buffer scratch;            /* decoded texts */
} Loader;

static bool fail(StateError *error, Status status, size_t offset, const char *expected) {
  *error = (StateError){.status = status, .offset = offset, .expected = expected};
  return false;
}

/* What a cursor met, or that the value was not what it should be. */
static bool fail_json(Loader *l, const Json *json, const char *expected) {
  if (json->status != STATUS_OK) return fail(l->error, json->status, (size_t)(json->error - l->bytes), json->expected);
  return fail(l->error, STATUS_SHAPE, (size_t)(json->at - l->bytes), expected);
}

static bool fail_memory(Loader *l) { return fail(l->error, STATUS_MEMORY, 0, "memory"); }

/* ---- fields ---- */

static int field_number(Text key) {
  for (int i = 0; i < FIELD_TOTAL; i++) {
    if (text_equal(key, text_of(FIELDS[i]))) return i;
  }
  return -1;
}

static bool find_fields(Loader *l, const char *bytes, size_t size) {
  Json json;
  Text key;
  JsonKind kind;
  json_open(&json, bytes, size);
  if (!json_peek(&json, &kind) || kind != JSON_OBJECT || !json_enter(&json))
    return fail_json(l, &json, "a saved conversation");
  while (json_next_member(&json, &key)) {
    int i = field_number(key);
    if (i < 0 || l->fields[i].bytes != NULL)
      return fail_json(l, &json, "the fields of a saved conversation, once each");
    json.depth--;            /* messages stand no deeper here than in a list of their own */
    bool read = json_value(&json, &l->fields[i]);
    json.depth++;
    if (!read) break;
  }
  if (!json_end(&json)) return fail_json(l, &json, "the end");
  for (int i = 0; i < FIELD_TOTAL; i++) {
    if (l->fields[i].bytes == NULL) return fail(l->error, STATUS_SHAPE, size, "all fields of a saved conversation");
  }
  return true;
}

static bool check_version(Loader *l) {
  int64_t version;
  const JsonValue *field = &l->fields[EBB];
  bool known = field->kind == JSON_NUMBER && json_integer(field, &version) && version >= 1;
  if (!known) return fail(l->error, STATUS_SHAPE, (size_t)(field->bytes - l->bytes), "the version of the form");
  if (version > STATE_VERSION) return fail(l->error, STATUS_RANGE, (size_t)(field->bytes - l->bytes), "version 1");
  for (int i = OPTIONS; i <= MEMORY_FIELD; i += MEMORY_FIELD - OPTIONS) {
    if (l->fields[i].kind != JSON_OBJECT)
      return fail(l->error, STATUS_SHAPE, (size_t)(l->fields[i].bytes - l->bytes), "an object");
  }
  return true;
}

static bool open_fields(Loader *l, const char *bytes, size_t size) {
  l->bytes = bytes;
  return find_fields(l, bytes, size) && check_version(l);
}

Status state_peek(const char *bytes, size_t size, StateExtra *extra, StateError *error) {
  Loader l = {.error = error};
  *error = (StateError){0};
  if (!open_fields(&l, bytes, size)) return error->status;
  extra->options = text_plain(l.fields[OPTIONS].bytes, l.fields[OPTIONS].size);
  extra->memory = text_plain(l.fields[MEMORY_FIELD].bytes, l.fields[MEMORY_FIELD].size);
  return STATUS_OK;
}

/* ---- cursors ---- */

/* Into the array that comes next. */
static bool enter(Loader *l, Json *json, JsonKind wanted, const char *expected) {
  JsonKind kind;
  if (!json_peek(json, &kind) || kind != wanted) return fail_json(l, json, expected);
  return json_enter(json) ? true : fail_json(l, json, expected);
}

static bool open_field(Loader *l, Json *json, int field, JsonKind wanted) {
  json_open(json, l->fields[field].bytes, l->fields[field].size);
  return enter(l, json, wanted, wanted == JSON_ARRAY ? "a list" : "an object");
}

static bool value_integer(Loader *l, Json *json, int64_t low, int64_t high, int64_t *value, const char *expected) {
  JsonValue read;
  if (!json_value(json, &read)) return fail_json(l, json, expected);
  bool fits = read.kind == JSON_NUMBER && json_integer(&read, value) && *value >= low && *value <= high;
  return fits ? true : fail(l->error, STATUS_SHAPE, (size_t)(read.bytes - l->bytes), expected);
}

/* The next element, a whole number within [low, high]. */
static bool integer(Loader *l, Json *json, int64_t low, int64_t high, int64_t *value, const char *expected) {
  if (!json_next_element(json)) return fail_json(l, json, expected);
  return value_integer(l, json, low, high, value, expected);
}

static bool value_text(Loader *l, Json *json, Text *value) {
  JsonValue read;
  if (!json_value(json, &read)) return fail_json(l, json, "a string");
  if (read.kind != JSON_STRING) return fail(l->error, STATUS_SHAPE, (size_t)(read.bytes - l->bytes), "a string");
  *value = json_text(&read);
  return true;
}

/* The next element, a string; decoded behind what the scratch has. */
static bool element_text(Loader *l, Json *json, Text *value) {
  if (!json_next_element(json)) return fail_json(l, json, "a string");
  return value_text(l, json, value);
}

static bool end_list(Loader *l, Json *json) {
  return json_next_element(json) || json->status != STATUS_OK ? fail_json(l, json, "the end of the list") : true;
}

/* The same text in plain bytes, which live until the next call. */
static bool plain(Loader *l, Text *value) {
  if (!value->escaped) return true;
  buffer_reset(&l->scratch);
  if (text_decode(*value, &l->scratch) != STATUS_OK) return fail_memory(l);
  *value = text_plain(l->scratch.bytes, l->scratch.size);
  return true;
}

/* ---- what is said of messages: three lists that rise by seq ---- */

typedef struct Said {
  Json json;
  int64_t id;                /* of the entry that comes next, whose list is entered; INT64_MAX: none */
} Said;

static bool said_next(Loader *l, Said *said) {
  int64_t before = said->id;
  if (!json_next_element(&said->json)) {
    said->id = INT64_MAX;
    return said->json.status == STATUS_OK ? true : fail_json(l, &said->json, "a list");
  }
  if (!enter(l, &said->json, JSON_ARRAY, "a list")) return false;
  return integer(l, &said->json, before + 1, UINT32_MAX - 1, &said->id, "a seq, greater than the one before");
}

static bool said_open(Loader *l, Said *said, int field) {
  said->id = 0;
  return open_field(l, &said->json, field, JSON_ARRAY) && said_next(l, said);
}

static bool said_end(Loader *l, const Said *said) {
  return said->id == INT64_MAX ? true : fail_json(l, &said->json, "the seq of a message");
}

/* ---- messages ---- */

typedef struct MessageLists {
  Said origins, moved, answers;
} MessageLists;

static bool read_origin(Loader *l, MessageLists *lists, MessageId id, MessageId *origin) {
  int64_t value;
  *origin = id;
  if (lists->origins.id != id) return true;
  if (!integer(l, &lists->origins.json, 1, (int64_t)id - 1, &value, "the seq of an older message")) return false;
  *origin = (MessageId)value;
  if (store_origin(l->store, *origin) != *origin)
    return fail_json(l, &lists->origins.json, "a message that replaced none");
  return end_list(l, &lists->origins.json) && said_next(l, &lists->origins);
}

static bool read_rank(Loader *l, MessageLists *lists, MessageId id, Rank *rank, bool *moved) {
  int64_t anchor, high, low;
  Json *json = &lists->moved.json;
  *moved = lists->moved.id == id;
  if (!*moved) return true;
  if (!integer(l, json, 0, (int64_t)id - 1, &anchor, "the seq of an older message") ||
      !integer(l, json, 0, UINT32_MAX, &high, "half a step") || !integer(l, json, 0, UINT32_MAX, &low, "half a step"))
    return false;
  *rank = (Rank){.anchor = (MessageId)anchor, .step = (uint64_t)high << 32 | (uint64_t)low};
  if (rank->step == 0) return fail_json(l, json, "a step");
  return end_list(l, json) && said_next(l, &lists->moved);
}

/* A link names a call of the result's own id in an older message, or nothing. */
static bool read_link(Loader *l, Json *json, MessageId id, uint32_t result) {
  int64_t caller, call;
  const Message *message = store_message(l->store, id);
  if (!integer(l, json, 0, (int64_t)id - 1, &caller, "the seq of an older message") ||
      !integer(l, json, 0, UINT32_MAX, &call, "the number of a call")) return false;
  if (caller != 0) {
    const Message *other = store_message(l->store, (MessageId)caller);
    bool named =
        call < message_call_count(other) &&
        text_equal(message_call_key(other, (uint32_t)call), message_text(message, message_result(message, result).id));
    if (!named) return fail_json(l, json, "a call of the result's id");
  }
  store_link(l->store, id, result, (Link){.message = (MessageId)caller, .call = (uint32_t)call});
  return true;
}

static bool read_answers(Loader *l, MessageLists *lists, MessageId id) {
  uint32_t count = message_result_count(store_message(l->store, id));
  if ((lists->answers.id == id) != (count > 0)) return fail_json(l, &lists->answers.json, "what each result answers");
  if (count == 0) return true;
  for (uint32_t i = 0; i < count; i++) {
    if (!read_link(l, &lists->answers.json, id, i)) return false;
  }
  return end_list(l, &lists->answers.json) && said_next(l, &lists->answers);
}

static bool read_message(Loader *l, Json *json, Reader *reader, MessageLists *lists) {
  Text raw;
  MessageShape shape;
  MessageId id = store_count(l->store) + 1, origin;
  Rank rank;
  bool moved;
  if (!reader_message(reader, json, &raw, &shape)) return fail_json(l, json, "a message");
  if (!read_origin(l, lists, id, &origin) || !read_rank(l, lists, id, &rank, &moved)) return false;
  if (origin != id && moved) return fail_json(l, json, "a message that is a replacement or inserted, not both");
  Status status = conversation_restore_one(l->conversation, raw, &shape, origin, moved ? &rank : NULL, &id);
  if (status != STATUS_OK)
    return fail(l->error, status, (size_t)(raw.bytes - l->bytes), "a message that can be stored");
  return read_answers(l, lists, id);
}

static bool read_messages(Loader *l) {
  Json json;
  MessageLists lists;
  if (!open_field(l, &json, MESSAGES, JSON_ARRAY) || !said_open(l, &lists.origins, ORIGINS) ||
      !said_open(l, &lists.moved, MOVED) || !said_open(l, &lists.answers, ANSWERS)) return false;
  Reader reader;
  reader_init(&reader, *conversation_memory(l->conversation));
  reader.message_bytes_max = SIZE_MAX;       /* caps are for what comes from outside */
  bool good = true;
  while (good && json_next_element(&json)) good = read_message(l, &json, &reader, &lists);
  reader_free(&reader);
  if (good && json.status != STATUS_OK) good = fail_json(l, &json, "a message");
  return good && said_end(l, &lists.origins) && said_end(l, &lists.moved) && said_end(l, &lists.answers);
}

/* ---- marks ---- */

static bool read_mark(Loader *l, Json *json, Text label) {
  int64_t id, before = 0;
  if (!plain(l, &label) || !enter(l, json, JSON_ARRAY, "a list")) return false;
  while (json_next_element(json)) {
    if (!value_integer(l, json, before + 1, store_count(l->store), &id,
                       "the seq of a message, greater than the one before"))
      return false;
    if (store_origin(l->store, (MessageId)id) != id) return fail_json(l, json, "a message that replaced none");
    if (marks_add(l->marks, label, (MessageId)id) != STATUS_OK) return fail_memory(l);
    before = id;
  }
  return json->status == STATUS_OK ? true : fail_json(l, json, "a seq");
}

static bool read_marks(Loader *l) {
  Json json;
  Text label;
  if (marks_new(conversation_memory(l->conversation), &l->marks) != STATUS_OK) return fail_memory(l);
  if (!open_field(l, &json, MARKS, JSON_OBJECT)) return false;
  while (json_next_member(&json, &label)) {
    if (!read_mark(l, &json, label)) return false;
  }
  return json.status == STATUS_OK ? true : fail_json(l, &json, "a mark");
}

/* ---- ledgers ---- */

static bool read_role(Loader *l, Json *json, Role *role) {
  Text label;
  if (!element_text(l, json, &label)) return false;
  for (int i = 0; i < ROLE_COUNT; i++) {
    *role = (Role)i;
    if (text_equal(label, text_of(role_name(*role)))) return true;
  }
  return fail_json(l, json, "a role");
}

static bool read_action(Loader *l, Json *json, Action *action) {
  Text label;
  if (!element_text(l, json, &label)) return false;
  for (*action = ACTION_DROPPED; *action <= ACTION_INSERTED; ++*action) {
    if (text_equal(label, text_of(action_name(*action)))) return true;
  }
  return fail_json(l, json, "an action");
}

/* Asks for the numbers of both texts, the second of which comes next; the ledger
   copies them decoded. */
static bool read_cause_by(Loader *l, Json *json, Ledger *ledger, Text by, Cause *cause) {
  Text reason;
  if (!element_text(l, json, &reason)) return false;
  buffer_reset(&l->scratch);
  Status status = text_decode(by, &l->scratch);
  size_t middle = l->scratch.size;
  if (status == STATUS_OK) status = text_decode(reason, &l->scratch);
  if (status == STATUS_OK) status = buffer_add_byte(&l->scratch, '\0');
  if (status != STATUS_OK) return fail_memory(l);
  Text plain_by = text_plain(l->scratch.bytes, middle);
  Text plain_reason = text_plain(l->scratch.bytes + middle, l->scratch.size - 1 - middle);
  return ledger_cause(ledger, plain_by, plain_reason, cause) == STATUS_OK ? true : fail_memory(l);
}

static bool read_cause(Loader *l, Json *json, Ledger *ledger, Cause *cause) {
  Text by;
  return element_text(l, json, &by) && read_cause_by(l, json, ledger, by, cause);
}

static bool read_run(Loader *l, Json *json, Ledger *ledger) {
  LedgerRun run;
  Cause cause;
  int64_t first, count, replacement, last = store_count(l->store);
  if (!enter(l, json, JSON_ARRAY, "a list") || !read_action(l, json, &run.action) ||
      !read_cause(l, json, ledger, &cause) || !integer(l, json, 1, last, &first, "a seq") ||
      !integer(l, json, 1, last - first + 1, &count, "a count") || !integer(l, json, 0, last, &replacement, "a seq") ||
      !read_role(l, json, &run.role) || !integer(l, json, INT64_MIN, INT64_MAX, &run.freed, "tokens") ||
      !end_list(l, json))
    return false;
  run.first = (MessageId)first;
  run.count = (uint32_t)count;
  run.replacement = (MessageId)replacement;
  bool fits = (run.action == ACTION_DROPPED || count == 1) && (run.action == ACTION_REPLACED) == (replacement != 0);
  if (!fits || ledger_count(ledger) > UINT32_MAX - run.count) return fail_json(l, json, "what an edit may have done");
  if (ledger_reserve(ledger) != STATUS_OK) return fail_memory(l);
  ledger_add(ledger, cause, run);
  return true;
}

static bool read_runs(Loader *l, Json *json, Ledger *ledger) {
  if (!enter(l, json, JSON_ARRAY, "a list")) return false;
  while (json_next_element(json)) {
    if (!read_run(l, json, ledger)) return false;
  }
  return json->status == STATUS_OK ? true : fail_json(l, json, "an entry");
}

static bool read_keeps(Loader *l, Json *json, Ledger *ledger) {
  if (!enter(l, json, JSON_ARRAY, "a list")) return false;
  while (json_next_element(json)) {
    Cause cause;
    Text by;
    int64_t id;
    if (!value_text(l, json, &by) || !read_cause_by(l, json, ledger, by, &cause) ||
        !integer(l, json, 1, store_count(l->store), &id, "a seq")) return false;
    if (ledger_keep(ledger, cause, (MessageId)id) != STATUS_OK) return fail_memory(l);
  }
  return json->status == STATUS_OK ? true : fail_json(l, json, "what was kept");
}

static bool add_note(Loader *l, Ledger *ledger, Text by, Text note) {
  Buffer copy;
  buffer_init(&copy, l->scratch.memory);
  Status status = text_decode(by, &copy);
  if (status == STATUS_OK && plain(l, &note)) {
    status = ledger_note(ledger, text_plain(copy.bytes == NULL ? "" : copy.bytes, copy.size), note);
  }
  buffer_free(&copy);
  return status == STATUS_OK && l->error->status == STATUS_OK ? true : fail_memory(l);
}

static bool read_notes(Loader *l, Json *json, Ledger *ledger) {
  Text by, note;
  if (!enter(l, json, JSON_ARRAY, "a list")) return false;
  while (json_next_element(json)) {
    if (!value_text(l, json, &by) || !element_text(l, json, &note) || !add_note(l, ledger, by, note)) return false;
  }
  return json->status == STATUS_OK ? true : fail_json(l, json, "a note");
}

/* ---- batches ---- */

typedef enum BatchField {
  PARENT,
  PARENT_LENGTH,
  OPERATION,
  DESCRIPTION,
  TIMESTAMP,
  BORN,
  COUNT,
  KEEP,
  PUT,
  LEDGER,
  BATCH_FIELDS
} BatchField;

static const char *const BATCH_NAMES[] = {"parent", "parentLength", "operation", "description", "timestamp",
                                          "born", "count", "keep", "put", "ledger"};

typedef struct BatchRead {
  JsonValue values[BATCH_FIELDS];
  NewBatch batch;
  int64_t parent, parent_length, born, count;
} BatchRead;

static bool split_batch(Loader *l, Json *json, BatchRead *read) {
  Text key;
  if (!enter(l, json, JSON_OBJECT, "a batch")) return false;
  while (json_next_member(json, &key)) {
    int i = 0;
    while (i < BATCH_FIELDS && !text_equal(key, text_of(BATCH_NAMES[i]))) i++;
    if (i == BATCH_FIELDS || read->values[i].bytes != NULL)
      return fail_json(l, json, "the fields of a batch, once each");
    if (!json_value(json, &read->values[i])) break;
  }
  if (json->status != STATUS_OK) return fail_json(l, json, "a batch");
  for (int i = PARENT; i <= COUNT; i++) {
    if (read->values[i].bytes == NULL) return fail_json(l, json, "all fields of a batch");
  }
  return true;
}

static bool batch_integer(Loader *l, const BatchRead *read, int field, int64_t low, int64_t high, int64_t *value) {
  Json json;
  json_open(&json, read->values[field].bytes, read->values[field].size);
  return value_integer(l, &json, low, high, value, BATCH_NAMES[field]);
}

static bool batch_kind(Loader *l, const BatchRead *read, BatchKind *kind) {
  Json json;
  Text label;
  char copy[16];
  json_open(&json, read->values[OPERATION].bytes, read->values[OPERATION].size);
  if (!value_text(l, &json, &label)) return false;
  if (label.escaped || label.size >= sizeof copy) return fail_json(l, &json, "an operation");
  memcpy(copy, label.bytes, label.size);
  copy[label.size] = '\0';
  return batch_kind_parse(copy, kind) ? true : fail_json(l, &json, "an operation");
}

static bool read_batch_fields(Loader *l, BatchRead *read) {
  uint32_t index = history_count(l->history);
  int64_t most = store_count(l->store);
  if (!batch_integer(l, read, PARENT, index == 0 ? -1 : 0, (int64_t)index - 1, &read->parent)) return false;
  int64_t longest = index == 0 ? 0 : history_batch(l->history, (uint32_t)read->parent).count;
  int64_t shortest = index == 0 ? 0 : history_batch(l->history, (uint32_t)read->parent).born;
  if (!batch_integer(l, read, PARENT_LENGTH, shortest, longest, &read->parent_length) ||
      !batch_integer(l, read, COUNT, 0, most, &read->count) ||
      !batch_integer(l, read, BORN, 0, read->count, &read->born) ||
      !batch_integer(l, read, TIMESTAMP, INT64_MIN, INT64_MAX, &read->batch.timestamp) ||
      !batch_kind(l, read, &read->batch.kind))
    return false;
  read->batch.parent = index == 0 ? BATCH_NONE : (uint32_t)read->parent;
  read->batch.parent_length = (uint32_t)read->parent_length;
  return true;
}

/* Bits of the positions that are kept; *total gets how many. */
static bool read_keep(Loader *l, const JsonValue *value, int64_t length, uint64_t *keep, int64_t *total) {
  Json json;
  int64_t start, count, end = 0;
  *total = 0;
  json_open(&json, value->bytes, value->size);
  if (!enter(l, &json, JSON_ARRAY, "a list")) return false;
  while (json_next_element(&json)) {
    if (!value_integer(l, &json, end, length - 1, &start, "a position behind the ones before") ||
        !integer(l, &json, 1, length - start, &count, "a count")) return false;
    for (int64_t i = start; i < start + count; i++) keep[i / 64] |= (uint64_t)1 << (i % 64);
    end = start + count;
    *total += count;
  }
  return json.status == STATUS_OK ? true : fail_json(l, &json, "a position");
}

/* The parent's state, cut down to what is kept. */
static bool keep_of_parent(Loader *l, const BatchRead *read, Sequence **list) {
  const Memory *memory = conversation_memory(l->conversation);
  size_t words = (size_t)read->parent_length / 64 + 1;
  int64_t total;
  uint64_t *keep = memory_new_array(memory, words, sizeof *keep);
  if (keep == NULL) return fail_memory(l);
  memset(keep, 0, words * sizeof *keep);
  bool good = read_keep(l, &read->values[KEEP], read->parent_length, keep, &total);
  if (good) {
    Status status = history_state(l->history, read->batch.parent, (uint32_t)read->parent_length, list);
    if (status == STATUS_OK) status = sequence_keep(list, keep);
    if (status != STATUS_OK) good = fail_memory(l);
  }
  memory_free(memory, keep, words * sizeof *keep);
  return good;
}

/* What the parent's state has may be kept, not put. */
static void note_seen(Loader *l, const BatchRead *read) {
  memset(l->seen, 0, l->words * sizeof *l->seen);
  if (read->values[KEEP].bytes == NULL) return;
  SequenceWalk walk = sequence_walk(history_list(l->history, read->batch.parent), 0, (uint32_t)read->parent_length);
  while (sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count; i++) l->seen[walk.ids[i] / 64] |= (uint64_t)1 << (walk.ids[i] % 64);
  }
}

/* Puts one message at `position` of the list; none may stand in it twice. */
static bool put_one(Loader *l, Sequence **list, const Json *json, uint32_t position, MessageId id) {
  uint64_t bit = (uint64_t)1 << (id % 64);
  if (l->seen[id / 64] & bit) return fail_json(l, json, "a message that is not in the list");
  l->seen[id / 64] |= bit;
  bool end = position == sequence_count(*list);
  Status status = end ? sequence_append(list, id) : sequence_insert(list, position, id);
  if (status == STATUS_LIMIT) return fail(l->error, status, 0, "a list with fewer tokens");
  return status == STATUS_OK ? true : fail_memory(l);
}

/* Where a walk over the runs of `put` stands. */
typedef struct PutWalk {
  Json json;
  int64_t position, first, left;
  bool end, growing;         /* growing: at the end of the list only */
} PutWalk;

static bool put_next(Loader *l, PutWalk *walk, int64_t high) {
  int64_t least = walk->position;
  if (walk->left > 0 || walk->end) return true;
  walk->end = !json_next_element(&walk->json);
  if (walk->end) return walk->json.status == STATUS_OK ? true : fail_json(l, &walk->json, "a position");
  int64_t most = store_count(l->store);
  return value_integer(l, &walk->json, least, high, &walk->position, "a position of the list") &&
         integer(l, &walk->json, 1, most, &walk->first, "a seq") &&
         integer(l, &walk->json, 1, most - walk->first + 1, &walk->left, "a count");
}

/* Puts until the list has `length` messages, which it must come to have. */
static bool put_until(Loader *l, PutWalk *walk, Sequence **list, int64_t length) {
  for (;;) {
    if (!put_next(l, walk, sequence_count(*list))) return false;
    if (walk->end || sequence_count(*list) == length) break;
    bool behind = walk->position == sequence_count(*list);
    if (walk->growing && !behind) return fail_json(l, &walk->json, "a position behind the list");
    if (!put_one(l, list, &walk->json, (uint32_t)walk->position, (MessageId)walk->first)) return false;
    walk->position++, walk->first++, walk->left--;
  }
  return sequence_count(*list) == length ? true : fail_json(l, &walk->json, "as many messages as the batch has");
}

static bool read_ledger(Loader *l, BatchRead *read) {
  Json json;
  Text key;
  const Memory *memory = conversation_memory(l->conversation);
  if (read->values[LEDGER].bytes == NULL) return true;
  if (ledger_new(memory, *store_hash_key(l->store), &read->batch.ledger) != STATUS_OK) return fail_memory(l);
  json_open(&json, read->values[LEDGER].bytes, read->values[LEDGER].size);
  if (!enter(l, &json, JSON_OBJECT, "a ledger")) return false;
  static bool (*const parts[])(Loader *, Json *, Ledger *) = {read_runs, read_keeps, read_notes};
  static const char *const names[] = {"runs", "keeps", "notes"};
  for (int i = 0; i < 3; i++) {
    if (!json_next_member(&json, &key) || !text_equal(key, text_of(names[i])))
      return fail_json(l, &json, "runs, keeps, notes");
    if (!parts[i](l, &json, read->batch.ledger)) return false;
  }
  return !json_next_member(&json, &key) && json.status == STATUS_OK ? true
                                                                    : fail_json(l, &json, "the end of the ledger");
}

static bool read_description(Loader *l, BatchRead *read) {
  Json json;
  json_open(&json, read->values[DESCRIPTION].bytes, read->values[DESCRIPTION].size);
  return value_text(l, &json, &read->batch.description) && plain(l, &read->batch.description);
}

/* A batch whose parent can be seen says what it keeps; the list as it was born. */
static bool start_list(Loader *l, const BatchRead *read, Sequence **list) {
  uint32_t index = history_count(l->history);
  bool of_parent = index > 0 && history_list(l->history, (uint32_t)read->parent) != NULL;
  if (of_parent != (read->values[KEEP].bytes != NULL))
    return fail(l->error, STATUS_SHAPE, (size_t)(read->values[PARENT].bytes - l->bytes), "what is kept of the parent");
  if (of_parent) return keep_of_parent(l, read, list);
  return sequence_new(conversation_memory(l->conversation), l->store, list) == STATUS_OK ? true : fail_memory(l);
}

/* Adds the batch as it was born; what was appended since goes into its list. */
static bool add_batch(Loader *l, BatchRead *read) {
  PutWalk walk = {0};
  Sequence **grown;
  json_open(&walk.json, read->values[PUT].bytes, read->values[PUT].size);
  if (!enter(l, &walk.json, JSON_ARRAY, "a list") || !start_list(l, read, &read->batch.list)) return false;
  note_seen(l, read);
  if (sequence_count(read->batch.list) > read->born)
    return fail_json(l, &walk.json, "a batch that keeps no more than it was born with");
  if (!put_until(l, &walk, &read->batch.list, read->born) || !read_ledger(l, read) || !read_description(l, read))
    return false;
  Status status = history_add(l->history, &read->batch);
  if (status != STATUS_OK) return fail_memory(l);
  read->batch.list = NULL;
  read->batch.ledger = NULL;
  if (history_grow(l->history, &grown) != STATUS_OK) return fail_memory(l);
  walk.growing = true;
  if (!put_until(l, &walk, grown, read->count)) return false;
  return walk.end ? true : fail_json(l, &walk.json, "no more messages than the batch has");
}

static bool add_pruned(Loader *l, BatchRead *read) {
  if (read->values[KEEP].bytes != NULL || read->values[LEDGER].bytes != NULL)
    return fail(l->error, STATUS_SHAPE, (size_t)(read->values[PARENT].bytes - l->bytes),
                "a pruned batch without messages");
  if (!read_description(l, read)) return false;
  Status status = history_add_pruned(l->history, &read->batch, (uint32_t)read->born, (uint32_t)read->count);
  return status == STATUS_OK ? true : fail_memory(l);
}

static bool read_batch(Loader *l, Json *json) {
  BatchRead read = {0};
  bool good = split_batch(l, json, &read) && read_batch_fields(l, &read) &&
              (read.values[PUT].bytes != NULL ? add_batch(l, &read) : add_pruned(l, &read));
  sequence_release(read.batch.list);
  ledger_release(read.batch.ledger);
  return good;
}

static bool read_batches(Loader *l) {
  Json json;
  int64_t current;
  if (history_new_empty(conversation_memory(l->conversation), &l->history) != STATUS_OK) return fail_memory(l);
  if (!open_field(l, &json, BATCHES, JSON_ARRAY)) return false;
  while (json_next_element(&json)) {
    if (!read_batch(l, &json)) return false;
  }
  if (json.status != STATUS_OK) return fail_json(l, &json, "a batch");
  json_open(&json, l->fields[CURRENT].bytes, l->fields[CURRENT].size);
  if (!value_integer(l, &json, 0, (int64_t)history_count(l->history) - 1, &current, "the number of a batch"))
    return false;
  bool visible = history_rollback(l->history, (uint32_t)current) == STATUS_OK;
  return visible ? true : fail_json(l, &json, "a batch that was not pruned");
}

static bool read_checkpoint(Loader *l, Json *json) {
  Text label;
  int64_t batch, length;
  uint32_t known_batch, known_length;
  if (!enter(l, json, JSON_ARRAY, "a list") || !element_text(l, json, &label) || !plain(l, &label) ||
      !integer(l, json, 0, (int64_t)history_count(l->history) - 1, &batch, "the number of a batch")) return false;
  BatchInfo info = history_batch(l->history, (uint32_t)batch);
  if (!integer(l, json, info.born, info.count, &length, "a length that the batch had") || !end_list(l, json))
    return false;
  bool twice = history_find(l->history, label, &known_batch, &known_length);
  if (info.pruned || twice) return fail_json(l, json, "a checkpoint of its own name, in a batch that was not pruned");
  Status status = history_add_checkpoint(l->history, label, (uint32_t)batch, (uint32_t)length);
  return status == STATUS_OK ? true : fail_memory(l);
}

static bool read_checkpoints(Loader *l) {
  Json json;
  if (!open_field(l, &json, CHECKPOINTS, JSON_ARRAY)) return false;
  while (json_next_element(&json)) {
    if (!read_checkpoint(l, &json)) return false;
  }
  return json.status == STATUS_OK ? true : fail_json(l, &json, "a checkpoint");
}

/* ---- calibration ---- */

static bool read_calibration(Loader *l, Calibration *calibration) {
  Json json;
  int64_t reported, counted;
  if (!open_field(l, &json, CALIBRATION, JSON_ARRAY) ||
      !integer(l, &json, 0, (int64_t)CALIBRATION_REPORT_MAX, &reported, "tokens") ||
      !integer(l, &json, reported == 0 ? 0 : 1, reported, &counted, "no more tokens than were reported") ||
      !end_list(l, &json))
    return false;
  *calibration = (Calibration){.reported = (uint64_t)reported, .counted = (uint64_t)counted};
  return reported / CALIBRATION_RATIO_MAX <= counted ? true : fail_json(l, &json, "a likely ratio");
}

/* ---- all ---- */

static bool read_history(Loader *l) {
  const Memory *memory = conversation_memory(l->conversation);
  l->words = (size_t)store_count(l->store) / 64 + 1;
  l->seen = memory_new_array(memory, l->words, sizeof *l->seen);
  return l->seen != NULL ? read_batches(l) && read_checkpoints(l) : fail_memory(l);
}

Status state_read(Conversation *conversation, const char *bytes, size_t size, StateError *error) {
  const Memory *memory = conversation_memory(conversation);
  Loader l = {.conversation = conversation, .store = conversation_store(conversation), .error = error};
  *error = (StateError){0};
  buffer_init(&l.scratch, *memory);
  bool good = open_fields(&l, bytes, size);
  if (good) store_rewind(l.store, (StoreMark){0});     /* a tool description; its history goes below */
  Calibration calibration;
  good = good && read_messages(&l) && read_marks(&l) && read_history(&l) && read_calibration(&l, &calibration);
  if (good) {
    conversation_take_calibration(conversation, calibration);
    conversation_take_marks(conversation, l.marks);
    conversation_take_history(conversation, l.history);
  } else {
    marks_free(l.marks);
    history_free(l.history);
  }
  if (l.seen != NULL) memory_free(memory, l.seen, l.words * sizeof *l.seen);
  buffer_free(&l.scratch);
  return error->status;
}
