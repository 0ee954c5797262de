/*
** Shared by the files of states: names of members, errors, steps of a cursor.
*/
#include "state/state_parts.h"

#include <assert.h>
#include <string.h>

#include "base/hex.h"
#include "base/names.h"

const char *const STATE_NAMES[STATE_FIELDS] = {"ebb", "options", "messages", "origins", "moved", "answers",
                                               "batches", "current", "checkpoints", "marks", "calibration",
                                               "windows", "removed", "digest"};

const char *const BATCH_NAMES[BATCH_FIELDS] = {"parent", "parentLength", "operation", "description", "timestamp",
                                               "born", "count", "keep", "put", "ledger", "memory"};

const char *const LEDGER_NAMES[LEDGER_FIELDS] = {"runs", "keeps", "notes"};

Text state_digest_text(uint64_t digest, char text[STATE_DIGEST_SIZE]) {
  static const char name[] = "xxh64:";
  uint8_t bytes[8];
  for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)(digest >> (56 - 8 * i));
  memcpy(text, name, sizeof name - 1);
  hex_write(text + sizeof name - 1, bytes, sizeof bytes);
  return text_plain(text, STATE_DIGEST_SIZE);
}

bool state_fail(StateLoader *l, Status status, const char *at, const char *expected) {
  assert(status != STATUS_OK && at >= l->bytes);
  *l->error = (StateError){.status = status, .offset = (size_t)(at - l->bytes), .expected = expected};
  return false;
}

bool state_fail_json(StateLoader *l, const Json *json, const char *expected) {
  if (json->status != STATUS_OK) return state_fail(l, json->status, json->error, json->expected);
  return state_fail(l, STATUS_SHAPE, json->at, expected);
}

bool state_fail_memory(StateLoader *l) { return state_fail(l, STATUS_MEMORY, l->bytes, "memory"); }

/* ---- cursors ---- */

bool state_enter(StateLoader *l, Json *json, JsonKind kind, const char *expected) {
  JsonKind next;
  assert(kind == JSON_ARRAY || kind == JSON_OBJECT);
  return (json_peek(json, &next) && next == kind && json_enter(json)) || state_fail_json(l, json, expected);
}

bool state_open_field(StateLoader *l, Json *json, StateField field, JsonKind kind) {
  json_open_value(json, &l->fields[field]);
  return state_enter(l, json, kind, kind == JSON_ARRAY ? "a list" : "an object");
}

bool state_fields(StateLoader *l, Json *json, const char *const names[], uint32_t count, uint32_t required,
                  const char *expected, JsonValue values[]) {
  JsonFields fields;
  if (!state_enter(l, json, JSON_OBJECT, expected)) return false;
  return (json_fields_read(json, &fields) &&
          json_fields_sort(json, &fields, names, count, required, expected, values)) ||
         state_fail_json(l, json, expected);
}

bool state_value_integer(StateLoader *l, Json *json, int64_t low, int64_t high, int64_t *value, const char *expected) {
  JsonValue read;
  if (!json_value(json, &read)) return state_fail_json(l, json, expected);
  bool fits = json_integer(&read, value) && *value >= low && *value <= high;
  return fits || state_fail(l, STATUS_SHAPE, read.bytes, expected);
}

bool state_integer(StateLoader *l, Json *json, int64_t low, int64_t high, int64_t *value, const char *expected) {
  if (!json_next_element(json)) return state_fail_json(l, json, expected);
  return state_value_integer(l, json, low, high, value, expected);
}

bool state_value_text(StateLoader *l, Json *json, Text *value) {
  JsonValue read;
  if (!json_value(json, &read)) return state_fail_json(l, json, "a string");
  if (read.kind != JSON_STRING) return state_fail(l, STATUS_SHAPE, read.bytes, "a string");
  *value = json_text(&read);
  return true;
}

bool state_text(StateLoader *l, Json *json, Text *value) {
  if (!json_next_element(json)) return state_fail_json(l, json, "a string");
  return state_value_text(l, json, value);
}

bool state_value_name(StateLoader *l, Json *json, const char *const names[], uint32_t count, uint32_t *number) {
  Text name;
  if (!state_value_text(l, json, &name)) return false;
  *number = (uint32_t)names_find(names, count, name);
  return *number < count || state_fail(l, STATUS_SHAPE, name.bytes - 1, "one of the names that belong here");
}

bool state_end_list(StateLoader *l, Json *json) {
  return (!json_next_element(json) && json->status == STATUS_OK) || state_fail_json(l, json, "the end of the list");
}

bool state_plain(StateLoader *l, Text *value) {
  if (!value->escaped) return true;
  buffer_reset(&l->scratch);
  if (text_decode(*value, &l->scratch) != STATUS_OK) return state_fail_memory(l);
  assert(l->scratch.size <= value->size);
  *value = text_plain(l->scratch.bytes, l->scratch.size);
  return true;
}
