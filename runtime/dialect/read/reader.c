/*
** Reads a message: its members in any order, each at most once. Rules that concern several
** members (the role of calls, a missing content) are checked at the end.
*/
#include "dialect/read/reader_parts.h"

#include <assert.h>

static const char *const OVER_CAP = "a message within the cap (16 MiB by default)";

void reader_init(Reader *reader, Memory memory) {
  *reader = (Reader){.memory = memory, .message_bytes_max = MESSAGE_BYTES_MAX};
}

void reader_free(Reader *reader) {
  memory_free(&reader->memory, reader->parts, reader->part_room * sizeof *reader->parts);
  memory_free(&reader->memory, reader->calls, reader->call_room * sizeof *reader->calls);
  memory_free(&reader->memory, reader->results, reader->result_room * sizeof *reader->results);
}

/* ---- the message ---- */

/* Known keys; each may occur once. */
enum {
  SEEN_ROLE = 1, SEEN_CONTENT = 2, SEEN_ID = 4, SEEN_NAME = 8, SEEN_TIMESTAMP = 16, SEEN_METADATA = 32,
  SEEN_TOOL_CALLS = 64, SEEN_FUNCTION_CALL = 128, SEEN_TOOL_CALL_ID = 256, SEEN_REASONING = 512,
  SEEN_REFUSAL = 1024, SEEN_AUDIO = 2048, SEEN_WINDOW = 4096, SEEN_PARTS = 8192, SEEN_TYPE = 16384
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
  {WORD("window"), SEEN_WINDOW},                  {WORD("parts"), SEEN_PARTS},
  {WORD("type"), SEEN_TYPE},
};

typedef struct MessageProgress {
  ReaderContext context;
  MessageShape *shape;
  unsigned seen;
  bool has_audio;
  Span tool_call_id;
  Span window;               /* the value of "window" if it is a string; messages with a role may have that too */
  JsonValue type;            /* bytes NULL: no type that is a string */
  const char *model;         /* the value of the role "model", which only messages with parts may have; or NULL */
  Json parts_error;          /* of parts that cannot be read, which a message with content may have */
} MessageProgress;

bool reader_key(Text key, uint32_t *number, Text *name) {
  static_assert(sizeof KEYS / sizeof *KEYS == READER_KEYS, "as the header says");
  for (uint32_t i = 0; i < READER_KEYS; i++) {
    if (!is_word(key, KEYS[i].name)) continue;
    *number = i;
    *name = KEYS[i].name;
    return true;
  }
  return false;
}

static unsigned key_of(Text key) {
  uint32_t number;
  Text name;
  return reader_key(key, &number, &name) ? KEYS[number].seen : 0;
}

static bool find_alias(const Reader *reader, Text spelling, Role *role) {
  for (uint32_t i = 0; i < reader->alias_count; i++) {
    if (!text_equal(reader->aliases[i].spelling, spelling)) continue;
    *role = reader->aliases[i].role;
    return true;
  }
  return false;
}

static bool fail_role(Json *json, const char *where) {
  return json_fail(json, STATUS_ROLE, where, "a role: system, developer, user, assistant, tool or function");
}

static bool read_role(MessageProgress *progress) {
  JsonValue value;
  Json *json = progress->context.json;
  if (!json_value(json, &value)) return false;
  MessageShape *shape = progress->shape;
  bool mapped = value.kind == JSON_STRING && find_alias(progress->context.reader, json_text(&value), &shape->role);
  if (value.kind != JSON_STRING || (!mapped && !role_parse(json_text(&value), &shape->role))) {
    if (value.kind != JSON_STRING || !text_is(json_text(&value), "model")) return fail_role(json, value.bytes);
    progress->model = value.bytes;
    shape->role = ROLE_ASSISTANT;
  }
  shape->role_text = contents_span(&progress->context, &value);
  Role usual;
  bool same = mapped && role_parse(json_text(&value), &usual) && usual == shape->role;
  if ((mapped && !same) || progress->model != NULL) shape->fields[FIELD_SPELLING] = shape->role_text;
  return true;
}

/* Reads whole milliseconds. A string (other systems write dates) is an unknown field. */
static bool read_timestamp(MessageProgress *progress) {
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

static bool read_metadata(MessageProgress *progress) {
  Json *json = progress->context.json;
  JsonValue value;
  if (!json_value(json, &value)) return false;
  if (value.kind == JSON_NULL) return true;
  if (value.kind != JSON_OBJECT) return json_fail(json, STATUS_SHAPE, value.bytes, "metadata, an object");
  progress->shape->fields[FIELD_METADATA] = value_span(&progress->context, &value);
  return true;
}

static bool read_audio(MessageProgress *progress) {
  JsonValue value;
  if (!json_value(progress->context.json, &value)) return false;
  progress->has_audio = value.kind == JSON_OBJECT;
  return true;
}

/* Reads the name of a window. It is an unknown field of a message with a role. */
static bool read_window(MessageProgress *progress) {
  JsonValue value;
  if (!json_value(progress->context.json, &value)) return false;
  if (value.kind == JSON_STRING) progress->window = contents_span(&progress->context, &value);
  return true;
}

static void forget_parts(MessageProgress *progress) {
  Reader *reader = progress->context.reader;
  MessageShape *shape = progress->shape;
  if (shape->form != FORM_PARTS) return;
  reader->part_count = reader->call_count = reader->result_count = 0;
  shape->form = FORM_CONTENT;
  shape->content_kind = CONTENT_NONE;
}

/* Reads content or calls. They make "parts" an unknown member, as some programs write both. */
static bool read_instead(MessageProgress *progress, unsigned key) {
  JsonKind kind;
  ReaderContext *context = &progress->context;
  if (!json_peek(context->json, &kind)) return false;
  if (kind != JSON_NULL) forget_parts(progress);
  if (key == SEEN_CONTENT) return reader_content(context, progress->shape);
  return key == SEEN_TOOL_CALLS ? reader_tool_calls(context) : reader_function_call(context);
}

static bool read_parts(MessageProgress *progress) {
  JsonValue value;
  Json *json = progress->context.json, before = *json;
  bool instead = progress->shape->content_kind != CONTENT_NONE || progress->context.reader->call_count > 0;
  if (instead) return json_value(json, &value);
  if (reader_untyped_parts(&progress->context, progress->shape)) return true;
  if (json->status != STATUS_SHAPE) return false;
  progress->parts_error = *json;
  *json = before;
  progress->shape->form = FORM_PARTS;
  forget_parts(progress);
  return json_value(json, &value);
}

static bool read_type(MessageProgress *progress) {
  JsonValue value;
  if (!json_value(progress->context.json, &value)) return false;
  if (value.kind == JSON_STRING) progress->type = value;
  return true;
}

/* Reads the value of a member of a message by its key; members of unknown keys are passed. */
static bool read_member(MessageProgress *progress, unsigned key) {
  ReaderContext *context = &progress->context;
  Span *fields = progress->shape->fields;
  JsonValue value;
  switch (key) {
  case SEEN_ROLE: return read_role(progress);
  case SEEN_CONTENT:
  case SEEN_TOOL_CALLS:
  case SEEN_FUNCTION_CALL: return read_instead(progress, key);
  case SEEN_TOOL_CALL_ID: return reader_string(context, &progress->tool_call_id, "tool_call_id, a string");
  case SEEN_ID: return reader_string(context, &fields[FIELD_ID], "an id, a string");
  case SEEN_NAME: return reader_string(context, &fields[FIELD_NAME], "a name, a string");
  case SEEN_REASONING: return reader_string(context, &fields[FIELD_REASONING], "reasoning_content, a string");
  case SEEN_REFUSAL: return reader_string(context, &fields[FIELD_REFUSAL], "a refusal, a string");
  case SEEN_TIMESTAMP: return read_timestamp(progress);
  case SEEN_METADATA: return read_metadata(progress);
  case SEEN_AUDIO: return read_audio(progress);
  case SEEN_WINDOW: return read_window(progress);
  case SEEN_PARTS: return read_parts(progress);
  case SEEN_TYPE: return read_type(progress);
  default: return json_value(context->json, &value);
  }
}

static bool read_members(MessageProgress *progress) {
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

/* Reads the members up to a little behind the cap, so that a message far over it costs no
   more than one at the cap. Errors behind the cap become STATUS_LIMIT. */
static bool read_within_cap(MessageProgress *progress, const char *start) {
  Json *json = progress->context.json;
  const char *end = json->end;
  size_t max = progress->context.reader->message_bytes_max;
  bool far = (size_t)(end - start) > max && (size_t)(end - start) - max > READER_BEHIND_CAP;
  if (far) json->end = start + max + READER_BEHIND_CAP;
  bool read = read_members(progress);
  assert(json->at <= json->end);
  json->end = end;
  if (far && !read && (size_t)(json->error - start) > max) {
    json->status = STATUS_LIMIT;
    json->error = start;
    json->expected = OVER_CAP;
  }
  return read;
}

/* True if the role is spelled as the legacy "function". */
static bool is_function(const MessageProgress *progress) {
  Span role = progress->shape->role_text;
  Text spelling = {.bytes = progress->context.start + role.at, .size = role.size, .escaped = role.escaped};
  return text_is(spelling, "function");
}

/* Keeps calls only of assistants, and results only of tools and of users' parts. A legacy
   function message answers by its name. */
static bool finish_links(MessageProgress *progress) {
  Reader *reader = progress->context.reader;
  MessageShape *shape = progress->shape;
  Span key = progress->tool_call_id;
  if (shape->role == ROLE_NONE) reader->part_count = 0;
  if (shape->role != ROLE_ASSISTANT) reader->call_count = 0;
  if (shape->role != ROLE_USER && shape->role != ROLE_TOOL) reader->result_count = 0;
  if (shape->role != ROLE_TOOL) return true;
  if (key.at == 0 && is_function(progress)) key = shape->fields[FIELD_NAME];
  return key.at == 0 || reader_add_result(&progress->context, (Result){.id = key});
}

/* Completes an item of a window, which has no role: {"type":"window","window":"todo"}. Items of other types may have
   an unknown field of that name. */
static bool finish_window(MessageProgress *progress, const char *start) {
  MessageShape *shape = progress->shape;
  bool is_other = progress->type.bytes != NULL && !text_is(json_text(&progress->type), "window");
  if (progress->seen & SEEN_ROLE || progress->window.at == 0 || is_other) return true;
  const unsigned foreign = SEEN_CONTENT | SEEN_TOOL_CALLS | SEEN_FUNCTION_CALL | SEEN_TOOL_CALL_ID | SEEN_REASONING;
  if (progress->seen & foreign) {
    return json_fail(progress->context.json, STATUS_SHAPE, start, "a window's name alone, or a role");
  }
  if (progress->window.size == 0) {
    return json_fail(progress->context.json, STATUS_SHAPE, start, "the id of a window, which is not empty");
  }
  shape->role = ROLE_NONE;
  shape->content_kind = CONTENT_WINDOW;
  shape->content = progress->window;
  return true;
}

static bool check_content(MessageProgress *progress, const char *start) {
  Json *json = progress->context.json;
  const MessageShape *shape = progress->shape;
  if (shape->content_kind == CONTENT_WINDOW) return true;
  if (shape->form == FORM_PARTS) return true;
  if (!(progress->seen & SEEN_ROLE)) return json_fail(json, STATUS_SHAPE, start, "a role in the message");
  bool excused =
    progress->context.reader->call_count > 0 || shape->fields[FIELD_REFUSAL].at != 0 || progress->has_audio;
  const Json *parts = &progress->parts_error;
  if (shape->content_kind == CONTENT_NONE && !excused && parts->status != STATUS_OK) {
    return json_fail(json, parts->status, parts->error, parts->expected);
  }
  if (progress->model != NULL) return json_fail(json, STATUS_ROLE, progress->model, "parts beside the role model");
  if (shape->content_kind == CONTENT_NONE && !excused) {
    return json_fail(json, STATUS_SHAPE, start,
                     "content (it may be missing only beside tool calls, a refusal or audio)");
  }
  return true;
}

/* True if the message is an item. */
static bool is_item(const MessageProgress *progress) {
  bool has_role;
  if (progress->type.bytes == NULL || progress->shape->content_kind == CONTENT_WINDOW) return false;
  bool known = reader_is_item(json_text(&progress->type), &has_role);
  if (progress->seen & SEEN_ROLE) return known && has_role;
  return (known || progress->context.reader->all_items) && progress->shape->form != FORM_PARTS;
}

static bool finish(MessageProgress *progress, const char *start, size_t size) {
  if (!finish_window(progress, start)) return false;
  if (is_item(progress)) return reader_item(&progress->context, size, progress->shape);
  if (!(progress->seen & SEEN_ROLE) && progress->shape->form == FORM_PARTS) progress->shape->role = ROLE_USER;
  return finish_links(progress) && check_content(progress, start);
}

bool reader_message(Reader *reader, Json *json, Text *raw, MessageShape *shape) {
  JsonKind kind;
  if (!json_peek(json, &kind)) return false;
  const char *start = json->at;
  if (kind != JSON_OBJECT) return json_fail(json, STATUS_SHAPE, start, "a message, an object with role and content");
  reader->part_count = reader->call_count = reader->result_count = 0;
  *shape = (MessageShape){0};
  MessageProgress progress = {.context = {.reader = reader, .json = json, .start = start}, .shape = shape};
  if (!read_within_cap(&progress, start)) return false;
  size_t size = (size_t)(json->at - start);
  if (size > reader->message_bytes_max || size >= (size_t)1 << 31) {
    return json_fail(json, STATUS_LIMIT, start, OVER_CAP);
  }
  if (!finish(&progress, start, size)) return false;
  shape->parts = reader->parts;
  shape->part_count = reader->part_count;
  shape->calls = reader->calls;
  shape->call_count = reader->call_count;
  shape->results = reader->results;
  shape->result_count = reader->result_count;
  assert(shape->content_kind != CONTENT_PARTS || shape->content.size >= 2);
  *raw = text_plain(start, size);
  return true;
}

MessageShape reader_bare_shape(Role role, size_t role_size, size_t content_size, bool escaped) {
  static const char head[] = "{\"role\":\"", middle[] = "\",\"content\":\"";
  size_t content = sizeof head - 1 + role_size + sizeof middle - 1;
  assert(role < ROLE_TOOL && content + content_size <= MESSAGE_BYTES_MAX);
  return (MessageShape){
    .role = role, .form = FORM_CONTENT, .content_kind = CONTENT_STRING,
    .role_text = {.at = sizeof head - 1, .size = (uint32_t)role_size & 0x7fffffffu},
    .content = {.at = (uint32_t)content, .size = (uint32_t)content_size & 0x7fffffffu, .escaped = escaped},
  };
}
