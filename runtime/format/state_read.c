/*
** Reads a state. Nothing is trusted: every number is checked against the thing that it
** refers to, so that a damaged state is refused and never half read.
**
**     fields -> messages with their lists -> marks
**            -> batches, each from its parent's state -> checkpoints
*/

#include "base/bitset.h"

#include <assert.h>

#include "format/state_parts.h"

/* ---- fields ---- */

static bool find_fields(StateLoader *l, const char *bytes, size_t size) {
  Json json;
  JsonFields fields;
  json_open(&json, bytes, size);
  if (!state_enter(l, &json, JSON_OBJECT, "a saved conversation")) return false;
  json.depth_max++;          /* messages may be as deep as in a list of their own */
  if (!json_fields_read(&json, &fields) || !json_end(&json)) return state_fail_json(l, &json, "the end");
  const JsonValue *memory = json_field(&fields, "memory");      /* of a chat that an older version saved */
  if (memory != NULL) {
    return state_fail(l, STATUS_SHAPE, memory->bytes, "what policies remember with each batch, not beside them");
  }
  return json_fields_sort(&json, &fields, STATE_NAMES, STATE_FIELDS, STATE_WINDOWS,
                          "the fields of a saved conversation, all of them, once each", l->fields) ||
         state_fail_json(l, &json, "the fields");
}

static bool check_version(StateLoader *l) {
  int64_t version;
  const JsonValue *field = &l->fields[STATE_EBB];
  bool valid = json_integer(field, &version) && version >= 1;
  if (!valid) return state_fail(l, STATUS_SHAPE, field->bytes, "the version of the form");
  if (version > STATE_VERSION) return state_fail(l, STATUS_RANGE, field->bytes, "version 1");
  field = &l->fields[STATE_OPTIONS];
  return field->kind == JSON_OBJECT || state_fail(l, STATUS_SHAPE, field->bytes, "an object");
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

/* ---- marks ---- */

static bool read_mark(StateLoader *l, Json *json, Text label) {
  int64_t id, before = 0;
  if (!state_plain(l, &label) || !state_enter(l, json, JSON_ARRAY, "a list")) return false;
  while (json_next_element(json)) {
    if (!state_value_integer(l, json, before + 1, store_count(l->store), &id,
                             "the seq of a message, greater than the one before")) {
      return false;
    }
    if (store_origin(l->store, (MessageId)id) != id) return state_fail_json(l, json, "a message that replaced none");
    if (marks_add(l->marks, label, (MessageId)id) != STATUS_OK) return state_fail_memory(l);
    before = id;
  }
  return state_end(l, json, "a seq");
}

static bool read_marks(StateLoader *l) {
  Json json;
  Text label;
  if (marks_new(conversation_memory(l->conversation), &l->marks) != STATUS_OK) return state_fail_memory(l);
  if (!state_open_field(l, &json, STATE_MARKS, JSON_OBJECT)) return false;
  while (json_next_member(&json, &label)) {
    if (!read_mark(l, &json, label)) return false;
  }
  return state_end(l, &json, "a mark");
}

/* ---- calibration ---- */

static bool read_calibration(StateLoader *l, Calibration *calibration) {
  Json json;
  int64_t reported, counted;
  if (!state_open_field(l, &json, STATE_CALIBRATION, JSON_ARRAY) ||
      !state_integer(l, &json, 0, (int64_t)CALIBRATION_REPORT_MAX, &reported, "tokens") ||
      !state_integer(l, &json, reported == 0 ? 0 : 1, reported, &counted, "no more tokens than were reported") ||
      !state_end_list(l, &json)) {
    return false;
  }
  *calibration = (Calibration){.reported = (uint64_t)reported, .counted = (uint64_t)counted};
  return reported / CALIBRATION_RATIO_MAX <= counted || state_fail_json(l, &json, "a likely ratio");
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
  if (good) store_rewind(l.store, (StoreMark){0});     /* without a tool description; its history goes below */
  Calibration calibration;
  good = good && state_read_messages(&l) && read_marks(&l) && state_read_windows(&l) && state_read_history(&l) &&
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
  bitset_free(memory, l.seen, (size_t)store_count(l.store) + 1);
  buffer_free(&l.scratch);
  assert(good == (error->status == STATUS_OK));
  return error->status;
}
