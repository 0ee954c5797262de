#include "json/json_sorted.h"

#include <string.h>

enum { MEMBERS_MOST = 16, LEVELS_MOST = 16 };

typedef struct Writer {
  Buffer *out, scratch;      /* scratch: a text without its escapes */
  Status status;
} Writer;

typedef struct Member {
  Text key;
  JsonValue value;
} Member;

static bool put(Writer *w, const char *bytes, size_t size) {
  w->status = buffer_add(w->out, bytes, size);
  return w->status == STATUS_OK;
}

/* True if all escapes of a string are those that it would be written with: JSON within JSON has hardly any others. */
static bool is_written_so(const JsonValue *value) {
  const char *end = value->bytes + value->size, *at = memchr(value->bytes, '\\', value->size);
  for (; at != NULL; at = memchr(at, '\\', (size_t)(end - at))) {
    if (at[1] == '\0' || strchr("\"\\bfnrt", at[1]) == NULL) return false;
    at += 2;
  }
  return true;
}

static bool put_text(Writer *w, const JsonValue *value) {
  if (!value->escaped || is_written_so(value)) return put(w, value->bytes, value->size);
  buffer_reset(&w->scratch);
  w->status = text_decode(json_text(value), &w->scratch);
  if (w->status != STATUS_OK || !put(w, "\"", 1)) return false;
  w->status = text_escape(text_plain(w->scratch.bytes, w->scratch.size), w->out);
  return w->status == STATUS_OK && put(w, "\"", 1);
}

/* True if the number is written as Lua writes the integer that it is. */
static bool is_short_integer(const JsonValue *value) {
  size_t digits = value->size - (value->bytes[0] == '-');
  if (digits > 15 || (value->bytes[0] == '-' && value->bytes[1] == '0')) return false;
  for (size_t i = value->size - digits; i < value->size; i++) {
    if (value->bytes[i] < '0' || value->bytes[i] > '9') return false;
  }
  return true;
}

/* Adds a member at its place by the key. False for a key that is there. */
static bool insert(Member *members, size_t count, Text key, JsonValue value) {
  size_t at = count;
  for (; at > 0; at--) {
    int order = text_compare(members[at - 1].key, key);
    if (order == 0) return false;
    if (order < 0) break;
    members[at] = members[at - 1];
  }
  members[at] = (Member){key, value};
  return true;
}

static bool put_value(Writer *w, const JsonValue *value, unsigned levels);

static bool put_object(Writer *w, const JsonValue *value, unsigned levels) {
  Member members[MEMBERS_MOST];
  size_t count = 0;
  Json json;
  Text key;
  JsonValue item;
  json_open_value(&json, value);
  for (json_enter(&json); json_next_member(&json, &key) && json_value(&json, &item); count++) {
    if (key.escaped || count == MEMBERS_MOST || !insert(members, count, key, item)) return false;
  }
  if (!put(w, "{", 1)) return false;
  for (size_t i = 0; i < count; i++) {
    Text name = members[i].key;
    if (!put(w, i > 0 ? ",\"" : "\"", i > 0 ? 2 : 1)) return false;
    if (!put(w, name.bytes, name.size) || !put(w, "\":", 2)) return false;
    if (!put_value(w, &members[i].value, levels)) return false;
  }
  return put(w, "}", 1);
}

static bool put_array(Writer *w, const JsonValue *value, unsigned levels) {
  Json json;
  JsonValue item;
  bool follows = false;
  if (!put(w, "[", 1)) return false;
  json_open_value(&json, value);
  for (json_enter(&json); json_next_element(&json) && json_value(&json, &item); follows = true) {
    if (follows && !put(w, ",", 1)) return false;
    if (!put_value(w, &item, levels)) return false;
  }
  return put(w, "]", 1);
}

static bool put_value(Writer *w, const JsonValue *value, unsigned levels) {
  switch (value->kind) {
  case JSON_STRING: return put_text(w, value);
  case JSON_NUMBER: return is_short_integer(value) && put(w, value->bytes, value->size);
  case JSON_ARRAY: return levels > 0 && put_array(w, value, levels - 1);
  case JSON_OBJECT: return levels > 0 && put_object(w, value, levels - 1);
  case JSON_NULL: case JSON_FALSE: case JSON_TRUE: break;
  }
  return put(w, value->bytes, value->size);
}

Status json_sorted(const JsonValue *value, Buffer *out, bool *written) {
  Writer writer = {.out = out};
  size_t before = out->size;
  buffer_init(&writer.scratch, out->memory);
  *written = put_value(&writer, value, LEVELS_MOST);
  if (!*written) out->size = before;
  buffer_free(&writer.scratch);
  return writer.status;
}
