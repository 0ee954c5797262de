#include "format/message_form.h"

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
