/*
** State in. Nothing is trusted: every number is held against what it names, so
** that a damaged state is refused and never half read.
**
**     find the fields -> messages, with what is said of each -> marks
**                     -> batches, each from its parent's state -> checkpoints
*/
#include "format/state_read.h"
#include "format/state_windows.h"

static const char *const FIELDS[] = {"ebb", "options", "messages", "origins", "moved", "answers",
                                     "batches", "current", "checkpoints", "marks", "calibration", "windows",
                                     "removed"};

bool state_fail(StateError *error, Status status, size_t offset, const char *expected) {
  *error = (StateError){.status = status, .offset = offset, .expected = expected};
  return false;
}

bool state_fail_json(StateLoader *l, const Json *json, const char *expected) {
  if (json->status != STATUS_OK)
    return state_fail(l->error, json->status, (size_t)(json->error - l->bytes), json->expected);
  return state_fail(l->error, STATUS_SHAPE, (size_t)(json->at - l->bytes), expected);
}

bool state_fail_memory(StateLoader *l) { return state_fail(l->error, STATUS_MEMORY, 0, "memory"); }

/* ---- fields ---- */

static int field_number(Text key) {
  for (int i = 0; i < STATE_FIELDS; i++) {
    if (text_equal(key, text_of(FIELDS[i]))) return i;
  }
  return -1;
}

static bool find_fields(StateLoader *l, const char *bytes, size_t size) {
  Json json;
  Text key;
  JsonKind kind;
  json_open(&json, bytes, size);
  if (!json_peek(&json, &kind) || kind != JSON_OBJECT || !json_enter(&json))
    return state_fail_json(l, &json, "a saved conversation");
  while (json_next_member(&json, &key)) {
    int i = field_number(key);
    if (text_is(key, "memory"))      /* so were chats saved before memory was the batches' */
      return state_fail_json(l, &json, "what policies remember with each batch, not beside them");
    if (i < 0 || l->fields[i].bytes != NULL)
      return state_fail_json(l, &json, "the fields of a saved conversation, once each");
    json.depth--;            /* messages stand no deeper here than in a list of their own */
    bool read = json_value(&json, &l->fields[i]);
    json.depth++;
    if (!read) break;
  }
  if (!json_end(&json)) return state_fail_json(l, &json, "the end");
  for (int i = 0; i < STATE_WINDOWS; i++) {
    if (l->fields[i].bytes == NULL)
      return state_fail(l->error, STATUS_SHAPE, size, "all fields of a saved conversation");
  }
  return true;
}

static bool check_version(StateLoader *l) {
  int64_t version;
  const JsonValue *field = &l->fields[STATE_EBB];
  bool known = field->kind == JSON_NUMBER && json_integer(field, &version) && version >= 1;
  if (!known) return state_fail(l->error, STATUS_SHAPE, (size_t)(field->bytes - l->bytes), "the version of the form");
  if (version > STATE_VERSION)
    return state_fail(l->error, STATUS_RANGE, (size_t)(field->bytes - l->bytes), "version 1");
  field = &l->fields[STATE_OPTIONS];
  if (field->kind == JSON_OBJECT) return true;
  return state_fail(l->error, STATUS_SHAPE, (size_t)(field->bytes - l->bytes), "an object");
}

static bool open_fields(StateLoader *l, const char *bytes, size_t size) {
  l->bytes = bytes;
  return find_fields(l, bytes, size) && check_version(l);
}

Status state_peek(const char *bytes, size_t size, Text *options, StateError *error) {
  StateLoader l = {.error = error};
  *error = (StateError){0};
  if (!open_fields(&l, bytes, size)) return error->status;
  *options = text_plain(l.fields[STATE_OPTIONS].bytes, l.fields[STATE_OPTIONS].size);
  return STATUS_OK;
}

/* ---- cursors ---- */

bool state_enter(StateLoader *l, Json *json, JsonKind wanted, const char *expected) {
  JsonKind kind;
  if (!json_peek(json, &kind) || kind != wanted) return state_fail_json(l, json, expected);
  return json_enter(json) ? true : state_fail_json(l, json, expected);
}

bool state_open_field(StateLoader *l, Json *json, int field, JsonKind wanted) {
  json_open(json, l->fields[field].bytes, l->fields[field].size);
  return state_enter(l, json, wanted, wanted == JSON_ARRAY ? "a list" : "an object");
}

bool state_value_integer(StateLoader *l, Json *json, int64_t low, int64_t high, int64_t *value, const char *expected) {
  JsonValue read;
  if (!json_value(json, &read)) return state_fail_json(l, json, expected);
  bool fits = read.kind == JSON_NUMBER && json_integer(&read, value) && *value >= low && *value <= high;
  return fits ? true : state_fail(l->error, STATUS_SHAPE, (size_t)(read.bytes - l->bytes), expected);
}

bool state_integer(StateLoader *l, Json *json, int64_t low, int64_t high, int64_t *value, const char *expected) {
  if (!json_next_element(json)) return state_fail_json(l, json, expected);
  return state_value_integer(l, json, low, high, value, expected);
}

bool state_value_text(StateLoader *l, Json *json, Text *value) {
  JsonValue read;
  if (!json_value(json, &read)) return state_fail_json(l, json, "a string");
  if (read.kind != JSON_STRING) return state_fail(l->error, STATUS_SHAPE, (size_t)(read.bytes - l->bytes), "a string");
  *value = json_text(&read);
  return true;
}

bool state_text(StateLoader *l, Json *json, Text *value) {
  if (!json_next_element(json)) return state_fail_json(l, json, "a string");
  return state_value_text(l, json, value);
}

bool state_end_list(StateLoader *l, Json *json) {
  return json_next_element(json) || json->status != STATUS_OK ? state_fail_json(l, json, "the end of the list") : true;
}

bool state_plain(StateLoader *l, Text *value) {
  if (!value->escaped) return true;
  buffer_reset(&l->scratch);
  if (text_decode(*value, &l->scratch) != STATUS_OK) return state_fail_memory(l);
  *value = text_plain(l->scratch.bytes, l->scratch.size);
  return true;
}

/* ---- marks ---- */

static bool read_mark(StateLoader *l, Json *json, Text label) {
  int64_t id, before = 0;
  if (!state_plain(l, &label) || !state_enter(l, json, JSON_ARRAY, "a list")) return false;
  while (json_next_element(json)) {
    if (!state_value_integer(l, json, before + 1, store_count(l->store), &id,
                       "the seq of a message, greater than the one before"))
      return false;
    if (store_origin(l->store, (MessageId)id) != id) return state_fail_json(l, json, "a message that replaced none");
    if (marks_add(l->marks, label, (MessageId)id) != STATUS_OK) return state_fail_memory(l);
    before = id;
  }
  return json->status == STATUS_OK ? true : state_fail_json(l, json, "a seq");
}

static bool read_marks(StateLoader *l) {
  Json json;
  Text label;
  if (marks_new(conversation_memory(l->conversation), &l->marks) != STATUS_OK) return state_fail_memory(l);
  if (!state_open_field(l, &json, STATE_MARKS, JSON_OBJECT)) return false;
  while (json_next_member(&json, &label)) {
    if (!read_mark(l, &json, label)) return false;
  }
  return json.status == STATUS_OK ? true : state_fail_json(l, &json, "a mark");
}

/* ---- windows ---- */

static bool read_windows(StateLoader *l) {
  Json json;
  const char *at, *expected;
  const JsonValue *field = &l->fields[STATE_WINDOWS];
  if (field->bytes == NULL) return true;
  Status status = windows_new(conversation_memory(l->conversation), *store_hash_key(l->store), &l->windows);
  if (status != STATUS_OK) return state_fail_memory(l);
  json_open(&json, field->bytes, field->size);
  status = state_read_windows(&json, store_count(l->store), &l->windows, &at, &expected);
  return status == STATUS_OK ? true : state_fail(l->error, status, (size_t)(at - l->bytes), expected);
}

/* ---- calibration ---- */

static bool read_calibration(StateLoader *l, Calibration *calibration) {
  Json json;
  int64_t reported, counted;
  if (!state_open_field(l, &json, STATE_CALIBRATION, JSON_ARRAY) ||
      !state_integer(l, &json, 0, (int64_t)CALIBRATION_REPORT_MAX, &reported, "tokens") ||
      !state_integer(l, &json, reported == 0 ? 0 : 1, reported, &counted, "no more tokens than were reported") ||
      !state_end_list(l, &json))
    return false;
  *calibration = (Calibration){.reported = (uint64_t)reported, .counted = (uint64_t)counted};
  return reported / CALIBRATION_RATIO_MAX <= counted ? true : state_fail_json(l, &json, "a likely ratio");
}

/* ---- all ---- */

Status state_read(Conversation *conversation, const char *bytes, size_t size, StateError *error) {
  return state_read_roles(conversation, NULL, 0, bytes, size, error);
}

Status state_read_roles(Conversation *conversation, const RoleAlias *aliases, uint32_t alias_count, const char *bytes,
                        size_t size, StateError *error) {
  const Memory *memory = conversation_memory(conversation);
  StateLoader l = {.conversation = conversation, .store = conversation_store(conversation), .aliases = aliases,
                   .alias_count = alias_count, .error = error};
  *error = (StateError){0};
  buffer_init(&l.scratch, *memory);
  bool good = open_fields(&l, bytes, size);
  if (good) store_rewind(l.store, (StoreMark){0});     /* a tool description; its history goes below */
  Calibration calibration;
  good = good && state_read_messages(&l) && read_marks(&l) && read_windows(&l) && state_read_history(&l) &&
         read_calibration(&l, &calibration);
  if (good) {
    conversation_take_calibration(conversation, calibration);
    conversation_take_marks(conversation, l.marks);
    conversation_take_windows(conversation, l.windows);
    conversation_take_history(conversation, l.history);
  } else {
    marks_release(l.marks);
    windows_free(l.windows);
    history_free(l.history);
  }
  if (l.seen != NULL) memory_free(memory, l.seen, l.words * sizeof *l.seen);
  buffer_free(&l.scratch);
  return error->status;
}
