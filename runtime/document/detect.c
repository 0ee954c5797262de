/*
** Detecting the format of a file, and the dialect of a document.
*/
#include "document/detect.h"

#include <assert.h>

#include "dialect/dialect.h"
#include "dialect/read/reader_parts.h"
#include "document/document.h"
#include "json/json_fields.h"

/* ---- formats ---- */

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

/* ---- dialects: that of the messages, and where these fit several, what surrounds them ---- */

/* The dialect in whose form a tool is: {"function": {..}}, {"custom": {..}}; {"name": ..} with a schema, or
   with the type of one that the provider runs. 0: another form. */
static unsigned dialect_of_tool(Text tool) {
  JsonValue member;
  if (json_find(tool, "function", JSON_OBJECT, &member) || json_find(tool, "custom", JSON_OBJECT, &member)) {
    return 1u << DIALECT_OPENAI;
  }
  if (json_find(tool, "input_schema", JSON_OBJECT, &member)) return 1u << DIALECT_ANTHROPIC;
  bool is_typed = json_find(tool, "type", JSON_STRING, &member) && !text_is(json_text(&member), "function");
  return is_typed && json_find(tool, "name", JSON_STRING, &member) ? 1u << DIALECT_ANTHROPIC : 0;
}

/* The dialect in whose form the first tool of a body is; 0 if it has none that tells. */
static unsigned with_tools(const JsonValue *tools) {
  Json json;
  JsonValue tool;
  if (tools->bytes == NULL || tools->kind != JSON_ARRAY) return 0;
  json_open_value(&json, tools);
  json.tolerant = true;
  bool has = json_enter(&json) && json_next_element(&json) && json_value(&json, &tool) && tool.kind == JSON_OBJECT;
  return has ? dialect_of_tool(text_plain(tool.bytes, tool.size)) : 0;
}

/* The dialects with the form of the tools and the place of the system text; where these tell nothing,
   those that have the other members. */
static unsigned with_members(const Document *document) {
  unsigned dialects = with_tools(&document->members[REQUEST_TOOLS]);
  for (unsigned i = 0; i < DIALECT_COUNT; i++) {
    const char *system = dialect_form((Dialect)i)->system;
    RequestMember member;
    bool has = system != NULL && request_member_of(text_of(system), &member) && document->members[member].bytes != NULL;
    if (has) dialects |= 1u << i;
  }
  dialects &= document->dialects;
  return dialects != 0 ? dialects : document->likely;
}

Dialect document_dialect(const Document *document, const Store *store, const Sequence *list) {
  assert((document->likely & ~document->dialects) == 0);
  if (document->shape != DOCUMENT_BODY || document->dialects == 0) return dialect_detect(store, list);
  DialectHints hints = {.possible = document->dialects, .likely = with_members(document),
                        .model = dialects_of_model(document->model) & document->dialects,
                        .first = document->first, .count = document->count};
  return dialect_detect_within(store, list, &hints);
}
