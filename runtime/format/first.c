#include "format/first.h"

#include <string.h>

void first_skip_mark(Json *json) {
  if (json->end - json->at >= 3 && memcmp(json->at, "\xEF\xBB\xBF", 3) == 0) json->at += 3;
}

bool first_skip_blank(Json *json) {
  bool newline = false;
  for (; json->at < json->end; json->at++) {
    if (*json->at == '\n') newline = true;
    else if (*json->at != ' ' && *json->at != '\r' && *json->at != '\t') break;
  }
  return newline;
}

static First first_of_key(Text key, JsonKind kind) {
  if (text_equal(key, text_of("messages"))) return FIRST_BODY;
  if (kind == JSON_ARRAY && text_equal(key, text_of("contents"))) return FIRST_GEMINI;
  if ((kind == JSON_ARRAY || kind == JSON_STRING) && text_equal(key, text_of("input"))) return FIRST_RESPONSES;
  return FIRST_LINES;
}

static First first_of_object(Json *json, Text *told) {
  Text key;
  JsonKind kind;
  JsonValue value;
  First first = FIRST_LINES;
  json_enter(json);
  while (json_next_member(json, &key) && json_peek(json, &kind)) {
    bool role = text_equal(key, text_of("role"));
    First here = first_of_key(key, kind);
    if (role || (here != FIRST_LINES && first != FIRST_BODY)) {
      first = here;
      *told = key;
    }
    if (role || !json_value(json, &value)) break;
  }
  return first;
}

First first_of(Json json, Text *told) {
  *told = (Text){0};
  first_skip_blank(&json);
  if (json.at == json.end) return FIRST_LINES;
  if (*json.at == '[') return FIRST_ARRAY;
  return *json.at == '{' ? first_of_object(&json, told) : FIRST_LINES;
}
