#include "format/reader.h"

#include <assert.h>
#include <string.h>

static const char *const OVER_CAP = "a message within the cap (--max-message raises it)";

void reader_init(Reader *reader, Memory memory) {
  *reader = (Reader){.memory = memory, .message_bytes_max = MESSAGE_BYTES_MAX};
}

void reader_free(Reader *reader) {
  memory_free(&reader->memory, reader->parts, reader->part_room * sizeof *reader->parts);
  memory_free(&reader->memory, reader->calls, reader->call_room * sizeof *reader->calls);
  memory_free(&reader->memory, reader->results, reader->result_room * sizeof *reader->results);
}

typedef struct Context {
  Reader *reader;
  Json *json;
  const char *start;         /* of the message: spans count from here */
} Context;

/* ---- lists ---- */

/* The list with room for one more. */
static void *grow(const Context *context, void *list, uint32_t *room, uint32_t used, size_t size) {
  void *grown = memory_grow(&context->reader->memory, list, room, used, size);
  if (grown == NULL) json_fail(context->json, STATUS_MEMORY, context->json->at, "memory");
  return grown;
}

static bool add_part(const Context *context, Part part) {
  Reader *reader = context->reader;
  Part *grown = grow(context, reader->parts, &reader->part_room, reader->part_count, sizeof *grown);
  if (grown == NULL) return false;
  reader->parts = grown;
  grown[reader->part_count++] = part;
  return true;
}

static bool add_call(const Context *context, Call call) {
  Reader *reader = context->reader;
  Call *grown = grow(context, reader->calls, &reader->call_room, reader->call_count, sizeof *grown);
  if (grown == NULL) return false;
  reader->calls = grown;
  grown[reader->call_count++] = call;
  return true;
}

static bool add_result(const Context *context, Result result) {
  Reader *reader = context->reader;
  Result *grown = grow(context, reader->results, &reader->result_room, reader->result_count, sizeof *grown);
  if (grown == NULL) return false;
  reader->results = grown;
  grown[reader->result_count++] = result;
  return true;
}

/* ---- values ---- */

/* A word to compare with, its size at hand: most words differ in that already. */
#define WORD(letters) {.bytes = letters, .size = sizeof letters - 1}

static inline bool text_is(Text text, Text word) {
  if (!text.escaped) return text.size == word.size && memcmp(text.bytes, word.bytes, word.size) == 0;
  return text_equal(text, word);
}

static inline bool key_is(Text key, const char *name) { return text_is(key, text_plain(name, strlen(name))); }

static Span span_of(const Context *context, const char *bytes, size_t size, bool escaped) {
  return (Span){.at = (uint32_t)(bytes - context->start), .size = (uint32_t)size & 0x7fffffffu, .escaped = escaped};
}

static Span inside(const Context *context, const JsonValue *value) {
  return span_of(context, value->bytes + 1, value->size - 2, value->escaped);
}

static Span whole(const Context *context, const JsonValue *value) {
  return span_of(context, value->bytes, value->size, false);
}

/* A string, or null for none. */
static bool read_string(Context *context, Span *span, const char *expected) {
  JsonValue value;
  if (!json_value(context->json, &value)) return false;
  if (value.kind == JSON_NULL) return true;
  if (value.kind != JSON_STRING) return json_fail(context->json, STATUS_SHAPE, value.bytes, expected);
  *span = inside(context, &value);
  return true;
}

/* A string's inside, or any other value whole: how arguments come. */
static bool read_arguments(Context *context, Span *span) {
  JsonValue value;
  if (!json_value(context->json, &value)) return false;
  if (value.kind != JSON_NULL) *span = value.kind == JSON_STRING ? inside(context, &value) : whole(context, &value);
  return true;
}

/* ---- calls ---- */

/* {"name": .., "arguments": ..}, or a custom tool's {"name": .., "input": ..}. */
static bool read_function(Context *context, Call *call) {
  Text key;
  JsonKind kind;
  const char *at;
  if (!json_peek(context->json, &kind)) return false;
  at = context->json->at;
  if (kind != JSON_OBJECT) return json_fail(context->json, STATUS_SHAPE, at, "an object with name and arguments");
  if (!json_enter(context->json)) return false;
  while (json_next_member(context->json, &key)) {
    JsonValue value;
    if (key_is(key, "name")) {
      if (!read_string(context, &call->name, "the function's name, a string")) return false;
    } else if (key_is(key, "arguments") || key_is(key, "input")) {
      if (!read_arguments(context, &call->arguments)) return false;
    } else if (!json_value(context->json, &value)) {
      return false;
    }
  }
  if (context->json->status != STATUS_OK) return false;
  return call->name.at != 0 || json_fail(context->json, STATUS_SHAPE, at, "a name in the function");
}

static bool read_tool_call(Context *context) {
  Call call = {0};
  Text key;
  JsonKind kind;
  bool has_function = false;
  if (!json_peek(context->json, &kind)) return false;
  const char *at = context->json->at;
  if (kind != JSON_OBJECT) return json_fail(context->json, STATUS_SHAPE, at, "a tool call, an object");
  if (!json_enter(context->json)) return false;
  while (json_next_member(context->json, &key)) {
    JsonValue value;
    if (key_is(key, "id")) {
      if (!read_string(context, &call.id, "the call's id, a string")) return false;
    } else if (key_is(key, "function") || key_is(key, "custom")) {
      if (!read_function(context, &call)) return false;
      has_function = true;
    } else if (!json_value(context->json, &value)) {
      return false;
    }
  }
  if (context->json->status != STATUS_OK) return false;
  if (!has_function) return json_fail(context->json, STATUS_SHAPE, at, "a function in the tool call");
  return add_call(context, call);
}

/* A list of calls, or null. */
static bool read_tool_calls(Context *context) {
  JsonKind kind;
  JsonValue value;
  if (!json_peek(context->json, &kind)) return false;
  if (kind == JSON_NULL) return json_value(context->json, &value);
  if (kind != JSON_ARRAY) return json_fail(context->json, STATUS_SHAPE, context->json->at, "a list of tool calls");
  if (!json_enter(context->json)) return false;
  while (json_next_element(context->json)) {
    if (!read_tool_call(context)) return false;
  }
  return context->json->status == STATUS_OK;
}

static bool read_function_call(Context *context) {
  JsonKind kind;
  JsonValue value;
  Call call = {0};
  if (!json_peek(context->json, &kind)) return false;
  if (kind == JSON_NULL) return json_value(context->json, &value);
  return read_function(context, &call) && add_call(context, call);
}

/* ---- parts ---- */

/* What a part has, whatever its type turns out to be: `type` may come last. */
typedef struct PartFields {
  JsonValue type, text, id, tool_use_id, name, input, content, tool_use, tool_result, image, detail;   /* bytes NULL: absent */
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
  {WORD("asset"), PART_ASSET},              {WORD("tool_use"), PART_TOOL_USE},
  {WORD("tool_result"), PART_TOOL_RESULT},  {WORD("thinking"), PART_REASONING},
  {WORD("reasoning"), PART_REASONING},      {WORD("redacted_thinking"), PART_REASONING},
};

static PartKind kind_of(const PartFields *fields) {
  if (fields->type.bytes == NULL) return fields->text.bytes != NULL ? PART_TEXT : PART_OTHER;
  Text type = json_text(&fields->type);
  for (size_t i = 0; i < sizeof PART_TYPES / sizeof *PART_TYPES; i++) {
    if (text_is(type, PART_TYPES[i].type)) return PART_TYPES[i].kind;
  }
  return PART_OTHER;
}

static JsonValue *field_of(PartFields *fields, Text key) {
  if (key_is(key, "type")) return &fields->type;
  if (key_is(key, "text") || key_is(key, "thinking") || key_is(key, "reasoning") || key_is(key, "refusal")) return &fields->text;
  if (key_is(key, "id")) return &fields->id;
  if (key_is(key, "tool_use_id")) return &fields->tool_use_id;
  if (key_is(key, "name")) return &fields->name;
  if (key_is(key, "input")) return &fields->input;
  if (key_is(key, "content")) return &fields->content;
  if (key_is(key, "image_url") || key_is(key, "source") || key_is(key, "image") || key_is(key, "data") ||
      key_is(key, "imageBase64")) return &fields->image;
  if (key_is(key, "detail")) return &fields->detail;
  if (key_is(key, "tool_use")) return &fields->tool_use;
  if (key_is(key, "tool_result")) return &fields->tool_result;
  return NULL;
}

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

/* The seed's form nests what others keep flat: {"type": "tool_use", "tool_use": {..}}. */
static bool unnest(Context *context, const JsonValue *nested, PartFields *fields) {
  if (nested->bytes == NULL) return true;
  if (nested->kind != JSON_OBJECT) return json_fail(context->json, STATUS_SHAPE, nested->bytes, "an object");
  Json inner;
  json_open(&inner, nested->bytes, nested->size);
  inner.tolerant = context->json->tolerant;
  return read_fields(&inner, fields) || json_fail(context->json, inner.status, inner.error, inner.expected);
}

static Span string_span(const Context *context, const JsonValue *value) {
  bool is_string = value->bytes != NULL && value->kind == JSON_STRING;
  return is_string ? inside(context, value) : (Span){0};
}

static bool add_use(Context *context, const JsonValue *part, PartFields *fields) {
  if (!unnest(context, &fields->tool_use, fields)) return false;
  Call call = {.id = string_span(context, &fields->id), .name = string_span(context, &fields->name)};
  if (call.name.at == 0) return json_fail(context->json, STATUS_SHAPE, part->bytes, "a name in the tool use");
  if (fields->input.bytes != NULL) {
    call.arguments = fields->input.kind == JSON_STRING ? inside(context, &fields->input) : whole(context, &fields->input);
  }
  return add_call(context, call);
}

/* An image stands as a string (Responses, AI SDK), or in an object: {"url", "detail"}
   (Chat Completions), {"type": "base64", "data"} or {"type": "url", "url"} (Anthropic).
   One that stands nowhere is none the less an image. */
static bool find_image(Context *context, PartFields *fields, Part *part) {
  const JsonValue *image = &fields->image;
  part->text = string_span(context, image);
  if (image->bytes != NULL && image->kind == JSON_OBJECT) {
    Json inner;
    Text key;
    json_open(&inner, image->bytes, image->size);
    inner.tolerant = context->json->tolerant;
    if (!json_enter(&inner)) return json_fail(context->json, inner.status, inner.error, inner.expected);
    while (json_next_member(&inner, &key)) {
      JsonValue value;
      if (!json_value(&inner, &value)) break;
      if (key_is(key, "url") || key_is(key, "data")) part->text = string_span(context, &value);
      else if (key_is(key, "detail")) fields->detail = value;
    }
    if (inner.status != STATUS_OK) return json_fail(context->json, inner.status, inner.error, inner.expected);
  }
  part->low = fields->detail.bytes != NULL && fields->detail.kind == JSON_STRING && key_is(json_text(&fields->detail), "low");
  return true;
}

static bool read_part(Context *context, Json *json, bool nested);

/* The parts of a tool result's own list come behind it, marked nested. */
static bool add_nested(Context *context, const JsonValue *content) {
  if (content->bytes == NULL || content->kind != JSON_ARRAY) return true;
  Json inner;
  json_open(&inner, content->bytes, content->size);
  inner.tolerant = context->json->tolerant;
  if (!json_enter(&inner)) return json_fail(context->json, inner.status, inner.error, inner.expected);
  while (json_next_element(&inner)) {
    if (!read_part(context, &inner, true)) return json_fail(context->json, inner.status, inner.error, inner.expected);
  }
  return true;
}

static bool add_tool_result(Context *context, Part part, const JsonValue *value, PartFields *fields) {
  if (!unnest(context, &fields->tool_result, fields)) return false;
  Result result = {.id = string_span(context, &fields->tool_use_id)};
  if (result.id.at == 0) return json_fail(context->json, STATUS_SHAPE, value->bytes, "a tool_use_id in the tool result");
  part.text = string_span(context, &fields->content);
  return add_result(context, result) && add_part(context, part) &&
         add_nested(context, &fields->content);
}

/* An object with a type, or a bare string. */
static bool read_part(Context *context, Json *json, bool nested) {
  JsonKind kind;
  if (!json_peek(json, &kind)) return false;
  if (kind != JSON_OBJECT && kind != JSON_STRING) {
    return json_fail(json, STATUS_SHAPE, json->at, "a content part, an object with a type");
  }
  JsonValue value;
  Context here = {.reader = context->reader, .json = json, .start = context->start};
  if (kind == JSON_STRING) {
    if (!json_value(json, &value)) return false;
    Part text = {.kind = PART_TEXT, .value = whole(&here, &value), .text = inside(&here, &value), .nested = nested};
    return add_part(&here, text);
  }
  PartFields fields = {0};
  value.bytes = json->at;
  if (!read_fields(json, &fields)) return false;
  value.size = (size_t)(json->at - value.bytes);
  Part part = {.kind = (uint8_t)kind_of(&fields), .value = whole(&here, &value), .nested = nested};
  if (part.kind == PART_TOOL_RESULT && !nested) return add_tool_result(&here, part, &value, &fields);
  if (part.kind == PART_TOOL_USE && !nested && !add_use(&here, &value, &fields)) return false;
  if (part.kind == PART_IMAGE && !find_image(&here, &fields, &part)) return false;
  if (part.kind == PART_TEXT || part.kind == PART_REASONING) part.text = string_span(&here, &fields.text);
  return add_part(&here, part);
}

/* ---- the message ---- */

/* Keys of ours; each may stand once. */
enum {
  SEEN_ROLE = 1, SEEN_CONTENT = 2, SEEN_ID = 4, SEEN_NAME = 8, SEEN_TIMESTAMP = 16, SEEN_METADATA = 32,
  SEEN_TOOL_CALLS = 64, SEEN_FUNCTION_CALL = 128, SEEN_TOOL_CALL_ID = 256, SEEN_REASONING = 512,
  SEEN_REFUSAL = 1024, SEEN_AUDIO = 2048
};

static const struct {
  Text name;
  unsigned seen;
} KEYS[] = {
  {WORD("role"), SEEN_ROLE},                      {WORD("content"), SEEN_CONTENT},
  {WORD("tool_calls"), SEEN_TOOL_CALLS},          {WORD("tool_call_id"), SEEN_TOOL_CALL_ID},
  {WORD("name"), SEEN_NAME},                      {WORD("id"), SEEN_ID},
  {WORD("timestamp"), SEEN_TIMESTAMP},            {WORD("metadata"), SEEN_METADATA},
  {WORD("reasoning_content"), SEEN_REASONING},    {WORD("function_call"), SEEN_FUNCTION_CALL},
  {WORD("refusal"), SEEN_REFUSAL},                {WORD("audio"), SEEN_AUDIO},
};

typedef struct Progress {
  Context context;
  MessageShape *shape;
  unsigned seen;
  bool has_audio;
  Span tool_call_id;
} Progress;

static unsigned key_of(Text key) {
  for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) {
    if (text_is(key, KEYS[i].name)) return KEYS[i].seen;
  }
  return 0;
}

bool reader_key(Text key, uint32_t *number, Text *name) {
  static_assert(sizeof KEYS / sizeof *KEYS == READER_KEYS, "as the header says");
  for (uint32_t i = 0; i < READER_KEYS; i++) {
    if (!text_is(key, KEYS[i].name)) continue;
    *number = i;
    *name = KEYS[i].name;
    return true;
  }
  return false;
}

static bool find_alias(const Reader *reader, Text spelling, Role *role) {
  for (uint32_t i = 0; i < reader->alias_count; i++) {
    if (!text_equal(reader->aliases[i].spelling, spelling)) continue;
    *role = reader->aliases[i].role;
    return true;
  }
  return false;
}

static bool read_role(Progress *progress) {
  JsonValue value;
  Json *json = progress->context.json;
  if (!json_value(json, &value)) return false;
  MessageShape *shape = progress->shape;
  bool mapped = value.kind == JSON_STRING && find_alias(progress->context.reader, json_text(&value), &shape->role);
  if (value.kind != JSON_STRING || (!mapped && !role_parse(json_text(&value), &shape->role))) {
    return json_fail(json, STATUS_ROLE, value.bytes, "a role: system, developer, user, assistant, tool or function");
  }
  shape->role_text = inside(&progress->context, &value);
  Role usual;
  bool same = mapped && role_parse(json_text(&value), &usual) && usual == shape->role;
  if (mapped && !same) shape->fields[FIELD_SPELLING] = shape->role_text;
  return true;
}

static bool read_content(Progress *progress) {
  Json *json = progress->context.json;
  MessageShape *shape = progress->shape;
  JsonKind kind;
  JsonValue value;
  if (!json_peek(json, &kind)) return false;
  if (kind != JSON_ARRAY) {
    if (!json_value(json, &value)) return false;
    if (kind == JSON_NULL) return true;
    if (kind != JSON_STRING) return json_fail(json, STATUS_SHAPE, value.bytes, "content: a string, a list of parts, or null");
    shape->content_kind = CONTENT_STRING;
    shape->content = inside(&progress->context, &value);
    return true;
  }
  value.bytes = json->at;
  if (!json_enter(json)) return false;
  while (json_next_element(json)) {
    if (!read_part(&progress->context, json, false)) return false;
  }
  if (json->status != STATUS_OK) return false;
  value.size = (size_t)(json->at - value.bytes);
  shape->content_kind = CONTENT_PARTS;
  shape->content = whole(&progress->context, &value);
  return true;
}

/* Whole milliseconds; a text (other systems write dates) stays an unknown field. */
static bool read_timestamp(Progress *progress) {
  Json *json = progress->context.json;
  JsonValue value;
  if (!json_value(json, &value)) return false;
  if (value.kind == JSON_NULL || value.kind == JSON_STRING) return true;
  if (value.kind != JSON_NUMBER || !json_integer(&value, &progress->shape->timestamp)) {
    return json_fail(json, STATUS_SHAPE, value.bytes, "a timestamp in whole milliseconds");
  }
  progress->shape->has_timestamp = true;
  return true;
}

static bool read_metadata(Progress *progress) {
  Json *json = progress->context.json;
  JsonValue value;
  if (!json_value(json, &value)) return false;
  if (value.kind == JSON_NULL) return true;
  if (value.kind != JSON_OBJECT) return json_fail(json, STATUS_SHAPE, value.bytes, "metadata, an object");
  progress->shape->fields[FIELD_METADATA] = whole(&progress->context, &value);
  return true;
}

static bool read_audio(Progress *progress) {
  JsonValue value;
  if (!json_value(progress->context.json, &value)) return false;
  progress->has_audio = value.kind == JSON_OBJECT;
  return true;
}

static bool read_member(Progress *progress, unsigned key) {
  Context *context = &progress->context;
  Span *fields = progress->shape->fields;
  JsonValue value;
  switch (key) {
  case SEEN_ROLE: return read_role(progress);
  case SEEN_CONTENT: return read_content(progress);
  case SEEN_TOOL_CALLS: return read_tool_calls(context);
  case SEEN_FUNCTION_CALL: return read_function_call(context);
  case SEEN_TOOL_CALL_ID: return read_string(context, &progress->tool_call_id, "tool_call_id, a string");
  case SEEN_ID: return read_string(context, &fields[FIELD_ID], "an id, a string");
  case SEEN_NAME: return read_string(context, &fields[FIELD_NAME], "a name, a string");
  case SEEN_REASONING: return read_string(context, &fields[FIELD_REASONING], "reasoning_content, a string");
  case SEEN_REFUSAL: return read_string(context, &fields[FIELD_REFUSAL], "a refusal, a string");
  case SEEN_TIMESTAMP: return read_timestamp(progress);
  case SEEN_METADATA: return read_metadata(progress);
  case SEEN_AUDIO: return read_audio(progress);
  default: return json_value(context->json, &value);
  }
}

static bool read_members(Progress *progress) {
  Json *json = progress->context.json;
  Text key;
  if (!json_enter(json)) return false;
  while (json_next_member(json, &key)) {
    unsigned which = key_of(key);
    if (progress->seen & which) return json_fail(json, STATUS_DUPLICATE, key.bytes - 1, "each key once");
    progress->seen |= which;
    if (!read_member(progress, which)) return false;
  }
  return json->status == STATUS_OK;
}

/* Looks no further than the cap and a little more, so that a message far over it
   costs no more than one at the cap, its parts included. What goes wrong behind the cap is the cap's. */
static bool read_within_cap(Progress *progress, const char *start) {
  Json *json = progress->context.json;
  const char *end = json->end;
  size_t max = progress->context.reader->message_bytes_max;
  bool far = (size_t)(end - start) > max && (size_t)(end - start) - max > READER_BEHIND_CAP;
  if (far) json->end = start + max + READER_BEHIND_CAP;
  bool read = read_members(progress);
  json->end = end;
  if (far && !read && (size_t)(json->error - start) > max) {
    json->status = STATUS_LIMIT;
    json->error = start;
    json->expected = OVER_CAP;
  }
  return read;
}

/* Does the role stand there as the legacy "function"? */
static bool is_function(const Progress *progress) {
  Span role = progress->shape->role_text;
  Text spelling = {.bytes = progress->context.start + role.at, .size = role.size, .escaped = role.escaped};
  return key_is(spelling, "function");
}

/* Calls are an assistant's; results are a tool's or stand in a user's parts. A
   legacy function message answers by its name. */
static bool settle_links(Progress *progress) {
  Reader *reader = progress->context.reader;
  MessageShape *shape = progress->shape;
  Span key = progress->tool_call_id;
  if (shape->role != ROLE_ASSISTANT) reader->call_count = 0;
  if (shape->role == ROLE_SYSTEM || shape->role == ROLE_ASSISTANT) reader->result_count = 0;
  if (shape->role != ROLE_TOOL) return true;
  if (key.at == 0 && is_function(progress)) key = shape->fields[FIELD_NAME];
  return key.at == 0 || add_result(&progress->context, (Result){.id = key});
}

static bool check_content(Progress *progress, const char *start) {
  Json *json = progress->context.json;
  const MessageShape *shape = progress->shape;
  if (!(progress->seen & SEEN_ROLE)) return json_fail(json, STATUS_SHAPE, start, "a role in the message");
  bool excused = progress->context.reader->call_count > 0 || shape->fields[FIELD_REFUSAL].at != 0 || progress->has_audio;
  if (shape->content_kind == CONTENT_NONE && !excused) {
    return json_fail(json, STATUS_SHAPE, start, "content (it may be missing only beside tool calls, a refusal or audio)");
  }
  return true;
}

bool reader_message(Reader *reader, Json *json, Text *raw, MessageShape *shape) {
  JsonKind kind;
  if (!json_peek(json, &kind)) return false;
  const char *start = json->at;
  if (kind != JSON_OBJECT) return json_fail(json, STATUS_SHAPE, start, "a message, an object with role and content");
  reader->part_count = reader->call_count = reader->result_count = 0;
  *shape = (MessageShape){0};
  Progress progress = {.context = {.reader = reader, .json = json, .start = start}, .shape = shape};
  if (!read_within_cap(&progress, start)) return false;
  size_t size = (size_t)(json->at - start);
  if (size > reader->message_bytes_max || size >= (size_t)1 << 31) {
    return json_fail(json, STATUS_LIMIT, start, OVER_CAP);
  }
  if (!settle_links(&progress) || !check_content(&progress, start)) return false;
  shape->parts = reader->parts;
  shape->part_count = reader->part_count;
  shape->calls = reader->calls;
  shape->call_count = reader->call_count;
  shape->results = reader->results;
  shape->result_count = reader->result_count;
  *raw = text_plain(start, size);
  return true;
}
