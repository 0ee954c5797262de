#include "format/detect.h"

#include <assert.h>

static FileFormat format_of_key(Text key, JsonKind kind) {
  if (text_is(key, "messages")) return FORMAT_BODY;
  if (kind == JSON_ARRAY && text_is(key, "contents")) return FORMAT_GEMINI;
  if ((kind == JSON_ARRAY || kind == JSON_STRING) && text_is(key, "input")) return FORMAT_RESPONSES;
  return FORMAT_LINES;
}

static FileFormat detect_object(Json *json, Text *evidence) {
  Text key;
  JsonKind kind;
  JsonValue value;
  FileFormat format = FORMAT_LINES;
  json_enter(json);
  while (json_next_member(json, &key) && json_peek(json, &kind)) {
    bool role = text_is(key, "role");
    FileFormat of_key = format_of_key(key, kind);
    if (role || (of_key != FORMAT_LINES && format != FORMAT_BODY)) {
      format = of_key;
      *evidence = key;
    }
    if (role || !json_value(json, &value)) break;
  }
  assert((evidence->bytes != NULL) || format == FORMAT_LINES);
  return format;
}

FileFormat detect_format(Json json, Text *evidence) {
  *evidence = (Text){0};
  json_skip_blank(&json);
  if (json.at == json.end) return FORMAT_LINES;
  if (*json.at == '[') return FORMAT_ARRAY;
  return *json.at == '{' ? detect_object(&json, evidence) : FORMAT_LINES;
}
