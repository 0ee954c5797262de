#include "document/detect.h"

#include <assert.h>

#include "dialect/dialect.h"
#include "dialect/read/reader_parts.h"

/* How sure a member makes it that an object is a body: other data may have an "input", too. */
typedef enum Sureness { SURE_NOT, SURE_UNLESS_TYPED, SURE } Sureness;

static Sureness sureness_of(Text key, JsonKind kind) {
  unsigned dialects = dialects_of_member(key), traits = dialects_traits(dialects);
  if (dialects == 0) return SURE_NOT;
  if (traits == 0) return SURE;
  bool fits = kind == JSON_ARRAY || (kind == JSON_STRING && (traits & TRAIT_STRING)) ||
              (kind == JSON_OBJECT && (traits & TRAIT_OBJECT));
  return fits ? SURE_UNLESS_TYPED : SURE_NOT;
}

/* True if a member with this key and value makes an object a message. */
static bool is_of_message(Text key, const JsonValue *value) {
  bool has_role;
  if (text_is(key, "parts")) return value->kind == JSON_ARRAY || value->kind == JSON_OBJECT;
  return text_is(key, "type") && value->kind == JSON_STRING && reader_is_item(json_text(value), &has_role);
}

static FileFormat detect_object(Json *json, Text *evidence) {
  Text key;
  JsonKind kind;
  JsonValue value;
  Sureness most = SURE_NOT;
  bool typed = false;      /* items have a type, and no role */
  json_enter(json);
  while (json_next_member(json, &key) && json_peek(json, &kind)) {
    if (text_is(key, "role")) {
      *evidence = key;
      return FORMAT_LINES;
    }
    typed |= text_is(key, "type") && kind == JSON_STRING;
    Sureness here = sureness_of(key, kind);
    if (here > most) {
      most = here;
      *evidence = key;
    }
    if (!json_value(json, &value)) break;
    if (is_of_message(key, &value)) {
      *evidence = key;
      return FORMAT_LINES;
    }
  }
  if (most == SURE || (most == SURE_UNLESS_TYPED && !typed)) return FORMAT_BODY;
  *evidence = (Text){0};
  return FORMAT_LINES;
}

FileFormat detect_format(Json json, Text *evidence) {
  *evidence = (Text){0};
  json_skip_blank(&json);
  if (json.at == json.end) return FORMAT_LINES;
  if (*json.at == '[') return FORMAT_ARRAY;
  FileFormat format = *json.at == '{' ? detect_object(&json, evidence) : FORMAT_LINES;
  assert(format != FORMAT_BODY || evidence->bytes != NULL);
  return format;
}
