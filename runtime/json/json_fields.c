#include "json/json_fields.h"

#include <assert.h>

#include "base/names.h"

static uint32_t find(const JsonFields *fields, Text name) {
  uint32_t i = 0;
  while (i < fields->count && !text_equal(fields->names[i], name)) i++;
  return i;
}

bool json_fields_read(Json *json, JsonFields *fields) {
  Text name;
  assert(json->fresh);
  fields->start = json->at - 1;
  fields->count = 0;
  while (json_next_member(json, &name)) {
    const char *start = name.bytes - 1;      /* the quote */
    if (find(fields, name) < fields->count) return json_fail(json, STATUS_SHAPE, start, "each member once");
    if (fields->count == JSON_FIELDS_MAX) return json_fail(json, STATUS_SHAPE, start, "no more than 24 members here");
    if (!json_value(json, &fields->values[fields->count])) return false;
    fields->names[fields->count++] = name;
  }
  assert(fields->count <= JSON_FIELDS_MAX);
  return json->status == STATUS_OK;
}

const JsonValue *json_field(const JsonFields *fields, const char *name) {
  uint32_t i = find(fields, text_of(name));
  return i < fields->count ? &fields->values[i] : NULL;
}

const JsonValue *json_field_of(const JsonFields *fields, const char *name, JsonKind kind) {
  const JsonValue *value = json_field(fields, name);
  return value != NULL && value->kind == kind ? value : NULL;
}

bool json_field_is(const JsonFields *fields, const char *name, const char *string) {
  const JsonValue *value = json_field_of(fields, name, JSON_STRING);
  return value != NULL && text_is(json_text(value), string);
}

bool json_fields_sort(Json *json, const JsonFields *fields, const char *const names[], uint32_t count,
                      uint32_t required, const char *expected, JsonValue values[]) {
  assert(required <= count);
  for (uint32_t i = 0; i < count; i++) values[i] = (JsonValue){0};
  for (uint32_t i = 0; i < fields->count; i++) {
    size_t number = names_find(names, count, fields->names[i]);
    if (number == count) return json_fail(json, STATUS_SHAPE, fields->names[i].bytes - 1, expected);
    values[number] = fields->values[i];
  }
  for (uint32_t i = 0; i < required; i++) {
    if (values[i].bytes == NULL) return json_fail(json, STATUS_SHAPE, json->at, expected);
  }
  return true;
}

bool json_may_be_deep(Text value, uint32_t levels) {
  uint32_t opened = 0;
  for (const char *bracket = "{["; *bracket != '\0'; bracket++) {
    const char *end = value.bytes + value.size, *at = value.bytes;
    while ((at = memchr(at, *bracket, (size_t)(end - at))) != NULL) {
      if (++opened > levels) return true;
      at++;
    }
  }
  return false;
}

bool json_find(Text object, const char *name, JsonKind kind, JsonValue *value) {
  Json json;
  Text key;
  JsonValue member;
  bool any = false;
  json_open_valid(&json, object.bytes, object.size);
  if (!json_enter(&json)) return false;
  while (json_next_member(&json, &key) && json_value(&json, &member)) {
    if (member.kind != kind || !text_is(key, name)) continue;
    *value = member;
    any = true;
  }
  assert(json.status == STATUS_OK);
  return any;
}
