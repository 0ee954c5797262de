/*
** Reads a message's content. The type of a part may be its last member, so fields are
** collected first and interpreted at the end of the part. Calls and results in parts are
** added to the reader's lists too, in the order of the parts.
*/
#include "dialect/dialect.h"
#include "dialect/read/reader_parts.h"

/* ---- a part's fields ---- */

/* The members of a part that any type uses. */
typedef struct PartFields {
  /* bytes NULL: absent */
  JsonValue type, text, id, tool_use_id, name, input, content, tool_use, tool_result, image, image_url,
    detail;
} PartFields;

static const struct {
  Text type;
  PartKind kind;
} PART_TYPES[] = {
  {WORD("text"), PART_TEXT},                {WORD("input_text"), PART_TEXT},
  {WORD("output_text"), PART_TEXT},         {WORD("refusal"), PART_TEXT},
  {WORD("image_url"), PART_IMAGE},          {WORD("image"), PART_IMAGE},
  {WORD("input_image"), PART_IMAGE},        {WORD("file"), PART_FILE},
  {WORD("document"), PART_FILE},            {WORD("input_file"), PART_FILE},
  {WORD("input_audio"), PART_AUDIO},        {WORD("audio"), PART_AUDIO},
  {WORD("asset"), PART_ASSET},              {WORD("asset_reference"), PART_ASSET},
  {WORD("tool_use"), PART_TOOL_USE},        {WORD("tool_result"), PART_TOOL_RESULT},
  {WORD("thinking"), PART_REASONING},       {WORD("redacted_thinking"), PART_REASONING},
  {WORD("reasoning"), PART_REASONING},      {WORD("reasoning_text"), PART_REASONING},
  {WORD("summary_text"), PART_REASONING},
  {WORD("computer_screenshot"), PART_IMAGE},
};

static PartKind kind_of(const PartFields *fields) {
  if (fields->type.bytes == NULL) return fields->text.bytes != NULL ? PART_TEXT : PART_OTHER;
  Text type = json_text(&fields->type);
  for (size_t i = 0; i < sizeof PART_TYPES / sizeof *PART_TYPES; i++) {
    if (is_word(type, PART_TYPES[i].type)) return PART_TYPES[i].kind;
  }
  return PART_OTHER;
}

/* True for the types of parts that some dialect has, or the Model Context Protocol, though they are not read here. */
static bool is_documented(const PartFields *fields) {
  if (fields->type.bytes == NULL) return false;
  Text type = json_text(&fields->type);
  for (unsigned i = 0; i < DIALECT_COUNT; i++) {
    if (dialect_has_part((Dialect)i, type)) return true;
  }
  return text_is(type, "resource_link") || text_is(type, "resource");
}

static JsonValue *field_of(PartFields *fields, Text key) {
  if (text_is(key, "type")) return &fields->type;
  bool says = text_is(key, "text") || text_is(key, "thinking") || text_is(key, "reasoning") || text_is(key, "refusal");
  if (says) return &fields->text;
  if (text_is(key, "id")) return &fields->id;
  if (text_is(key, "tool_use_id")) return &fields->tool_use_id;
  if (text_is(key, "name")) return &fields->name;
  if (text_is(key, "input")) return &fields->input;
  if (text_is(key, "content")) return &fields->content;
  if (text_is(key, "image_url")) return &fields->image_url;
  if (text_is(key, "source") || text_is(key, "image") || text_is(key, "data") ||
      text_is(key, "imageBase64")) return &fields->image;
  if (text_is(key, "detail")) return &fields->detail;
  if (text_is(key, "tool_use")) return &fields->tool_use;
  if (text_is(key, "tool_result")) return &fields->tool_result;
  return NULL;
}

/* Reads the members of a part that readers use; null counts as absent. False with an error in `json`. */
static bool read_fields(Json *json, PartFields *fields) {
  Text key;
  if (!json_enter(json)) return false;
  while (json_next_member(json, &key)) {
    JsonValue value;
    if (!json_value(json, &value)) return false;
    JsonValue *field = field_of(fields, key);
    if (field != NULL && value.kind != JSON_NULL) *field = value;
  }
  if (json->status != STATUS_OK) return false;
  if (fields->type.bytes != NULL && fields->type.kind != JSON_STRING) {
    return json_fail(json, STATUS_SHAPE, fields->type.bytes, "the part's type, a string");
  }
  return true;
}

/* Reads a nested form, {"type": "tool_use", "tool_use": {..}}, as the flat one. */
static bool unnest(ReaderContext *context, const JsonValue *nested, PartFields *fields) {
  if (nested->bytes == NULL) return true;
  if (nested->kind != JSON_OBJECT) return json_fail(context->json, STATUS_SHAPE, nested->bytes, "an object");
  Json inner;
  json_open_value(&inner, nested);
  inner.tolerant = context->json->tolerant;
  return read_fields(&inner, fields) || json_fail(context->json, inner.status, inner.error, inner.expected);
}

static bool add_use(ReaderContext *context, const JsonValue *part, PartFields *fields) {
  if (!unnest(context, &fields->tool_use, fields)) return false;
  Call call = {.id = string_span(context, &fields->id), .name = string_span(context, &fields->name)};
  if (call.name.at == 0) return json_fail(context->json, STATUS_SHAPE, part->bytes, "a name in the tool use");
  const JsonValue *input = &fields->input;
  if (input->bytes != NULL) {
    call.arguments = input->kind == JSON_STRING ? contents_span(context, input) : value_span(context, input);
  }
  return reader_add_call(context, call);
}

/* Finds the source of an image: a string (Responses, AI SDK), or in an object: {"url",
   "detail"} (Chat Completions), {"type": "base64", "data"} or {"type": "url", "url"}
   (Anthropic). A part without a source is an image too. The message array has image_url in a
   part of type image. */
static bool find_image(ReaderContext *context, PartFields *fields, Part *part) {
  bool has_url = fields->image_url.bytes != NULL && (fields->image.bytes == NULL || fields->image.kind != JSON_OBJECT);
  const JsonValue *image = has_url ? &fields->image_url : &fields->image;
  part->wrapped = has_url && text_is(json_text(&fields->type), "image");
  part->text = string_span(context, image);
  if (image->bytes != NULL && image->kind == JSON_OBJECT) {
    Json inner;
    Text key;
    json_open_value(&inner, image);
    inner.tolerant = context->json->tolerant;
    if (!json_enter(&inner)) return json_fail(context->json, inner.status, inner.error, inner.expected);
    while (json_next_member(&inner, &key)) {
      JsonValue value;
      if (!json_value(&inner, &value)) break;
      if (text_is(key, "url") || text_is(key, "data")) part->text = string_span(context, &value);
      else if (text_is(key, "detail")) fields->detail = value;
    }
    if (inner.status != STATUS_OK) return json_fail(context->json, inner.status, inner.error, inner.expected);
  }
  const JsonValue *detail = &fields->detail;
  part->low = detail->bytes != NULL && detail->kind == JSON_STRING && text_is(json_text(detail), "low");
  return true;
}

static bool read_part(ReaderContext *context, Json *json, bool nested);

bool reader_parts_of(ReaderContext *context, const JsonValue *value, bool nested) {
  Json inner;
  json_open_value(&inner, value);
  inner.tolerant = context->json->tolerant;
  bool list = value->kind == JSON_ARRAY, good = list ? json_enter(&inner) : read_part(context, &inner, nested);
  while (good && list && json_next_element(&inner)) good = read_part(context, &inner, nested);
  return good || json_fail(context->json, inner.status, inner.error, inner.expected);
}

static bool add_tool_result(ReaderContext *context, Part part, const JsonValue *value, PartFields *fields) {
  part.wrapped = fields->tool_result.bytes != NULL;
  if (!unnest(context, &fields->tool_result, fields)) return false;
  Result result = {.id = string_span(context, &fields->tool_use_id)};
  if (result.id.at == 0) {
    return json_fail(context->json, STATUS_SHAPE, value->bytes, "a tool_use_id in the tool result");
  }
  part.text = string_span(context, &fields->content);
  return reader_add_result(context, result) && reader_add_part(context, part) &&
         (!json_is_list(&fields->content) || reader_parts_of(context, &fields->content, true));
}

/* Reads a part: an object with a type, or a bare string. */
static bool read_part(ReaderContext *context, Json *json, bool nested) {
  JsonKind kind;
  if (!json_peek(json, &kind)) return false;
  if (kind != JSON_OBJECT && kind != JSON_STRING) {
    return json_fail(json, STATUS_SHAPE, json->at, "a content part, an object with a type");
  }
  JsonValue value;
  ReaderContext here = {.reader = context->reader, .json = json, .start = context->start};
  if (kind == JSON_STRING) {
    if (!json_value(json, &value)) return false;
    Part text = {.kind = PART_TEXT, .value = value_span(&here, &value), .text = contents_span(&here, &value),
                 .nested = nested};
    return reader_add_part(&here, text);
  }
  PartFields fields = {0};
  value.bytes = json->at;
  if (!read_fields(json, &fields)) return false;
  value.size = (size_t)(json->at - value.bytes);
  Part part = {.kind = (uint8_t)kind_of(&fields), .value = value_span(&here, &value), .nested = nested};
  part.wrapped = part.kind == PART_TOOL_USE && fields.tool_use.bytes != NULL;
  if (part.kind == PART_TOOL_RESULT && !nested) return add_tool_result(&here, part, &value, &fields);
  if (part.kind == PART_TOOL_USE && !nested && !add_use(&here, &value, &fields)) return false;
  if (part.kind == PART_IMAGE && !find_image(&here, &fields, &part)) return false;
  if (part.kind == PART_TEXT || part.kind == PART_REASONING) part.text = string_span(&here, &fields.text);
  part.unknown = part.kind == PART_OTHER && !is_documented(&fields);
  return reader_add_part(&here, part);
}

/* ---- all of it ---- */

bool reader_content(ReaderContext *context, MessageShape *shape) {
  Json *json = context->json;
  JsonKind kind;
  JsonValue value;
  if (!json_peek(json, &kind)) return false;
  if (kind != JSON_ARRAY) {
    if (!json_value(json, &value)) return false;
    if (kind == JSON_NULL) return true;
    if (kind != JSON_STRING) {
      return json_fail(json, STATUS_SHAPE, value.bytes, "content: a string, a list of parts, or null");
    }
    shape->content_kind = CONTENT_STRING;
    shape->content = contents_span(context, &value);
    return true;
  }
  value.bytes = json->at;
  if (!json_enter(json)) return false;
  while (json_next_element(json)) {
    if (!read_part(context, json, false)) return false;
  }
  if (json->status != STATUS_OK) return false;
  value.size = (size_t)(json->at - value.bytes);
  shape->content_kind = CONTENT_PARTS;
  shape->content = value_span(context, &value);
  return true;
}
