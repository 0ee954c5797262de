/*
** Reads the parts of messages that have them under "parts". Such a part has no type: the
** member it has says what it is.
**
**     {"text": ".."}                                   text; with "thought": true reasoning
**     {"functionCall": {"name", "args", "id"}}         a call; it may lack the id
**     {"functionResponse": {"name", "response", "id", "parts"}}    a result
**     {"inlineData": {"mimeType", "data"}}, {"fileData": {"mimeType", "fileUri"}}
**
** Names may also be written with underscores, as in function_call. A part with a type is refused, but for one that
** refers to a file, which a pipeline resolves.
*/
#include "dialect/read/reader_parts.h"

typedef enum UntypedMember {
  UNTYPED_TEXT, UNTYPED_THOUGHT, UNTYPED_CALL, UNTYPED_RESPONSE, UNTYPED_DATA, UNTYPED_FILE, UNTYPED_CODE,
  UNTYPED_CODE_RESULT, UNTYPED_SERVER, UNTYPED_SIGNATURE, UNTYPED_TYPE, UNTYPED_MEMBERS
} UntypedMember;

static const struct {
  Text key;
  UntypedMember member;
} MEMBERS[] = {
  {WORD("text"), UNTYPED_TEXT},
  {WORD("thought"), UNTYPED_THOUGHT},
  {WORD("functionCall"), UNTYPED_CALL},
  {WORD("function_call"), UNTYPED_CALL},
  {WORD("functionResponse"), UNTYPED_RESPONSE},
  {WORD("function_response"), UNTYPED_RESPONSE},
  {WORD("thoughtSignature"), UNTYPED_SIGNATURE},
  {WORD("thought_signature"), UNTYPED_SIGNATURE},
  {WORD("inlineData"), UNTYPED_DATA},
  {WORD("inline_data"), UNTYPED_DATA},
  {WORD("fileData"), UNTYPED_FILE},
  {WORD("file_data"), UNTYPED_FILE},
  {WORD("executableCode"), UNTYPED_CODE},
  {WORD("executable_code"), UNTYPED_CODE},
  {WORD("codeExecutionResult"), UNTYPED_CODE_RESULT},
  {WORD("code_execution_result"), UNTYPED_CODE_RESULT},
  {WORD("toolCall"), UNTYPED_SERVER},
  {WORD("tool_call"), UNTYPED_SERVER},
  {WORD("toolResponse"), UNTYPED_SERVER},
  {WORD("tool_response"), UNTYPED_SERVER},
  {WORD("type"), UNTYPED_TYPE},
};

/* Finds members by their names in an object that was read; null counts as absent. */
typedef struct Wanted {
  Text name, other_name;     /* other_name.size 0: there is no other name */
  JsonValue value;           /* bytes NULL: absent */
} Wanted;

static bool find(ReaderContext *context, const JsonValue *object, Wanted wanted[], size_t count,
                 const char *expected) {
  Json json;
  Text key;
  if (object->kind != JSON_OBJECT) return json_fail(context->json, STATUS_SHAPE, object->bytes, expected);
  json_open_value(&json, object);
  json.tolerant = context->json->tolerant;
  if (!json_enter(&json)) return json_fail(context->json, json.status, json.error, json.expected);
  while (json_next_member(&json, &key)) {
    JsonValue value;
    if (!json_value(&json, &value)) break;
    for (size_t i = 0; i < count && value.kind != JSON_NULL; i++) {
      bool other = wanted[i].other_name.size > 0 && is_word(key, wanted[i].other_name);
      if (other || is_word(key, wanted[i].name)) wanted[i].value = value;
    }
  }
  return json.status == STATUS_OK || json_fail(context->json, json.status, json.error, json.expected);
}

static bool add_call(ReaderContext *context, const JsonValue *object) {
  Wanted wanted[] = {{.name = WORD("name")}, {.name = WORD("id")}, {.name = WORD("args")}};
  if (!find(context, object, wanted, 3, "a function call, an object")) return false;
  const JsonValue *arguments = &wanted[2].value;
  Call call = {.name = string_span(context, &wanted[0].value), .id = string_span(context, &wanted[1].value)};
  if (call.name.at == 0) return json_fail(context->json, STATUS_SHAPE, object->bytes, "a name in the function call");
  if (arguments->bytes != NULL) call.arguments = value_span(context, arguments);
  return reader_add_call(context, call);
}

/* ---- media ---- */

static bool starts_with(const JsonValue *value, const char *prefix) {
  Text text = {0};
  size_t size = strlen(prefix);
  if (value->bytes != NULL && value->kind == JSON_STRING) text = json_text(value);
  return text.size >= size && memcmp(text.bytes, prefix, size) == 0;
}

/* Reads inline data or a reference to a file: its media type says what it is. */
static bool read_media(ReaderContext *context, const JsonValue *object, Part *part) {
  Wanted wanted[] = {{.name = WORD("mimeType"), .other_name = WORD("mime_type")},
                     {.name = WORD("data")},
                     {.name = WORD("fileUri"), .other_name = WORD("file_uri")}};
  if (!find(context, object, wanted, 3, "inline data or file data, an object")) return false;
  const JsonValue *type = &wanted[0].value, *source = wanted[1].value.bytes != NULL ? &wanted[1].value
                                                                                     : &wanted[2].value;
  bool image = starts_with(type, "image/");
  part->kind = image ? PART_IMAGE : starts_with(type, "audio/") ? PART_AUDIO : PART_FILE;
  part->text = string_span(context, source);
  return true;
}

/* ---- results ---- */

static bool read_list(ReaderContext *context, const JsonValue *list, bool nested);

/* The text of a response: its "output" or its "error" if that is a string, else all of it. */
static bool response_text(ReaderContext *context, const JsonValue *response, Span *text) {
  Wanted wanted[] = {{.name = WORD("output")}, {.name = WORD("error")}};
  if (response->bytes == NULL) return true;
  if (response->kind == JSON_OBJECT && !find(context, response, wanted, 2, "a response")) return false;
  *text = string_span(context, &wanted[0].value);
  if (text->at == 0) *text = string_span(context, &wanted[1].value);
  if (text->at == 0) *text = response->kind == JSON_STRING ? contents_span(context, response)
                                                           : value_span(context, response);
  return true;
}

static bool add_response(ReaderContext *context, Part part, const JsonValue *object) {
  Wanted wanted[] = {{.name = WORD("name")}, {.name = WORD("id")}, {.name = WORD("response")}, {.name = WORD("parts")}};
  if (!find(context, object, wanted, 4, "a function response, an object")) return false;
  Result result = {.name = string_span(context, &wanted[0].value), .id = string_span(context, &wanted[1].value)};
  if (result.name.at == 0) {
    return json_fail(context->json, STATUS_SHAPE, object->bytes, "a name in the function response");
  }
  part.kind = PART_TOOL_RESULT;
  const JsonValue *media = &wanted[3].value;
  return response_text(context, &wanted[2].value, &part.text) && reader_add_result(context, result) &&
         reader_add_part(context, part) && (media->bytes == NULL || read_list(context, media, true));
}

/* ---- parts ---- */

/* Reads the code of a part that a provider ran, or its output. */
static bool read_code(ReaderContext *context, const JsonValue *object, Part *part) {
  Wanted wanted[] = {{.name = WORD("code"), .other_name = WORD("output")}};
  if (!find(context, object, wanted, 1, "code or its result, an object")) return false;
  part->text = string_span(context, &wanted[0].value);
  return true;
}

static bool add_part(ReaderContext *context, Part part, const JsonValue fields[UNTYPED_MEMBERS]) {
  const JsonValue *call = &fields[UNTYPED_CALL], *response = &fields[UNTYPED_RESPONSE], *text = &fields[UNTYPED_TEXT];
  if (call->bytes != NULL) {
    part.kind = PART_TOOL_USE;
    return (part.nested || add_call(context, call)) && reader_add_part(context, part);
  }
  if (response->bytes != NULL && !part.nested) return add_response(context, part, response);
  bool good = true;
  const JsonValue *media = fields[UNTYPED_DATA].bytes != NULL ? &fields[UNTYPED_DATA] : &fields[UNTYPED_FILE];
  const JsonValue *code = fields[UNTYPED_CODE].bytes != NULL ? &fields[UNTYPED_CODE] : &fields[UNTYPED_CODE_RESULT];
  if (media->bytes != NULL) good = read_media(context, media, &part);
  else if (code->bytes != NULL) good = read_code(context, code, &part);
  else if (text->bytes != NULL) {
    const JsonValue *thought = &fields[UNTYPED_THOUGHT];
    part.kind = thought->bytes != NULL && thought->kind == JSON_TRUE ? PART_REASONING : PART_TEXT;
    part.text = string_span(context, text);
  } else if (response->bytes != NULL) {
    part.kind = PART_TOOL_RESULT;
  } else {
    part.unknown = fields[UNTYPED_SERVER].bytes == NULL && fields[UNTYPED_SIGNATURE].bytes == NULL;
  }
  return good && reader_add_part(context, part);
}

static void note_member(JsonValue fields[UNTYPED_MEMBERS], Text key, const JsonValue *value) {
  if (value->kind == JSON_NULL) return;
  for (size_t i = 0; i < sizeof MEMBERS / sizeof *MEMBERS; i++) {
    if (!is_word(key, MEMBERS[i].key)) continue;
    fields[MEMBERS[i].member] = *value;
    return;
  }
}

/* Reads a part at the cursor of `json`, which may be one over a nested list. */
static bool read_part(ReaderContext *context, Json *json, bool nested) {
  JsonKind kind;
  Text key;
  JsonValue fields[UNTYPED_MEMBERS] = {{0}}, value;
  ReaderContext here = {.reader = context->reader, .json = json, .start = context->start};
  if (!json_peek(json, &kind)) return false;
  const char *start = json->at;
  if (kind != JSON_OBJECT) return json_fail(json, STATUS_SHAPE, start, "a part, an object");
  if (!json_enter(json)) return false;
  while (json_next_member(json, &key)) {
    if (!json_value(json, &value)) return false;
    note_member(fields, key, &value);
  }
  if (json->status != STATUS_OK) return false;
  const JsonValue *type = &fields[UNTYPED_TYPE];
  bool refers = type->bytes != NULL && type->kind == JSON_STRING && reader_type_refers(json_text(type));
  if (type->bytes != NULL && !refers) {
    return json_fail(json, STATUS_SHAPE, start, "a part without a type (parts with types belong into content)");
  }
  Part part = {.kind = PART_OTHER, .value = span_of(&here, start, (size_t)(json->at - start), false), .nested = nested};
  if (refers) part.kind = PART_ASSET;
  return refers ? reader_add_part(&here, part) : add_part(&here, part, fields);
}

static bool read_list(ReaderContext *context, const JsonValue *list, bool nested) {
  Json inner;
  json_open(&inner, list->bytes, list->size);
  inner.tolerant = context->json->tolerant;
  bool good = list->kind == JSON_ARRAY && json_enter(&inner);
  if (list->kind == JSON_ARRAY) {
    while (good && json_next_element(&inner)) good = read_part(context, &inner, nested);
  } else {
    good = read_part(context, &inner, nested);
  }
  return (good && inner.status == STATUS_OK) || json_fail(context->json, inner.status, inner.error, inner.expected);
}

bool reader_untyped_parts(ReaderContext *context, MessageShape *shape) {
  Json *json = context->json;
  JsonKind kind;
  if (!json_peek(json, &kind)) return false;
  const char *start = json->at;
  if (kind != JSON_ARRAY) {
    if (!read_part(context, json, false)) return false;
  } else {
    if (!json_enter(json)) return false;
    while (json_next_element(json)) {
      if (!read_part(context, json, false)) return false;
    }
    if (json->status != STATUS_OK) return false;
  }
  shape->form = FORM_PARTS;
  shape->content_kind = CONTENT_PARTS;
  shape->content = span_of(context, start, (size_t)(json->at - start), false);
  return true;
}
