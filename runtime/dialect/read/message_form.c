#include "dialect/read/message_form.h"

#include <assert.h>

#include "json/json_fields.h"

static bool contains(Text outer, Text inner) {
  return inner.bytes >= outer.bytes && inner.bytes < outer.bytes + outer.size;
}

static bool is_part(const Message *message, Span span) {
  return message_content_kind(message) == CONTENT_PARTS &&
         contains(message_content(message), message_text(message, span));
}

bool call_is_part(const Message *message, uint32_t call) {
  assert(call < message_call_count(message));
  return is_part(message, message_call(message, call).name);
}

bool result_is_part(const Message *message, uint32_t result) {
  assert(result < message_result_count(message));
  return is_part(message, message_result(message, result).id);
}

Text part_type(const Message *message, Part part) {
  Text raw = message_text(message, part.value);
  JsonValue type;
  if (raw.bytes[0] != '{') return text_of("string");
  return json_find(raw, "type", JSON_STRING, &type) ? json_text(&type) : NO_TEXT;
}

bool message_member_value(const Message *message, Json *json, Text key, JsonValue *value) {
  Text content = message_content(message);
  bool is_content = message_content_kind(message) == CONTENT_STRING && content.size > 0;
  if (!is_content || !text_is(key, "content") || message_form(message) != FORM_CONTENT) return json_value(json, value);
  json_skip_blank(json);
  assert(json->at + 1 == content.bytes);
  *value = (JsonValue){.kind = JSON_STRING, .escaped = content.escaped, .bytes = json->at, .size = content.size + 2};
  json->at += value->size;
  return true;
}

const char *message_content_key(const Message *message) {
  switch (message_form(message)) {
  case FORM_CONTENT: return "content";
  case FORM_PARTS: return "parts";
  case FORM_ITEM: break;
  }
  return message_role(message) == ROLE_TOOL ? "output" : NULL;
}

/* Adds `name` and the string of a span as a member, and a comma; nothing for an absent span. */
static Status put_name(const Message *message, const char *name, Span span, Buffer *out) {
  if (span.at == 0) return STATUS_OK;
  Text inside = message_text(message, span);
  Status status = buffer_add_string(out, name);
  if (status == STATUS_OK) status = buffer_add(out, inside.bytes - 1, inside.size + 2);
  return status == STATUS_OK ? buffer_add_string(out, ",") : status;
}

static Status put_response(const Message *message, Result result, Text string, Buffer *out) {
  Status status = buffer_add_string(out, "{\"functionResponse\":{");
  if (status == STATUS_OK) status = put_name(message, "\"id\":", result.id, out);
  if (status == STATUS_OK) status = put_name(message, "\"name\":", result.name, out);
  if (status == STATUS_OK) status = buffer_add_string(out, "\"response\":{\"output\":");
  if (status == STATUS_OK) status = buffer_add(out, string.bytes, string.size);
  return status == STATUS_OK ? buffer_add_string(out, "}}}") : status;
}

Status message_put_parts(const Message *message, Text string, Buffer *out) {
  uint32_t count = message_result_count(message);
  assert(message_form(message) == FORM_PARTS && string.size >= 2 && string.bytes[0] == '"');
  Status status = buffer_add_string(out, count == 0 ? "[{\"text\":" : "[");
  if (status == STATUS_OK && count == 0) status = buffer_add(out, string.bytes, string.size);
  for (uint32_t i = 0; i < count && status == STATUS_OK; i++) {
    if (i > 0) status = buffer_add_string(out, ",");
    if (status == STATUS_OK) status = put_response(message, message_result(message, i), string, out);
  }
  return status == STATUS_OK ? buffer_add_string(out, count == 0 ? "}]" : "]") : status;
}
