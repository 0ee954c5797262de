/*
** Members that no request has, of messages that are written anew: kept or reported.
**
** A member inside is reported with its path:
**
**     {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"..","x":1}]}    content[0].x
**     {"type":"tool_use","tool_use":{"id":"t1","name":"f","input":{},"x":1}}         content[0].tool_use.x
*/
#include <stdio.h>

#include "dialect/convert/convert.h"
#include "dialect/dialect_members.h"
#include "json/json_fields.h"

/* ---- of messages ---- */

static bool has_member(unsigned dialects, Text type, Text key) {
  for (unsigned i = 0; i < DIALECT_COUNT; i++) {
    if ((dialects >> i & 1) != 0 && dialect_member((Dialect)i, MEMBER_OF_MESSAGE, type, key)) return true;
  }
  return false;
}

bool convert_next_extra(unsigned dialects, Text type, Json *json, Text *key, JsonValue *value) {
  unsigned own = dialects != 0 ? dialects : DIALECTS_ALL;
  while (json_next_member(json, key) && json_value(json, value)) {
    /* a piece or its signature, which are reported as such */
    bool is_piece = text_is(*key, "reasoning_content") || thought_signature_is_all(*key, value);
    if (!is_piece && !has_member(own, type, *key)) return true;
  }
  return false;
}

Status convert_put_extra(Convert *convert, Text raw, const Text *element, Buffer *out) {
  Json json;
  Text key, type = element == NULL ? text_plain(NULL, 0) : dialect_type(MEMBER_OF_MESSAGE, *element);
  JsonValue value;
  Status status = STATUS_OK;
  json_open_valid(&json, raw.bytes, raw.size);
  json_enter(&json);
  Text own_type = dialect_type(MEMBER_OF_MESSAGE, raw);
  while (status == STATUS_OK && convert_next_extra(convert->pieces.dialects, own_type, &json, &key, &value)) {
    if (element == NULL || dialect_member(convert->options->target, MEMBER_OF_MESSAGE, type, key)) {
      convert_lose(convert, LOSS_MEMBER, key);
      continue;
    }
    status = buffer_add_string(out, ",\"");
    if (status == STATUS_OK) status = buffer_add(out, key.bytes, key.size);
    if (status == STATUS_OK) status = buffer_add_string(out, "\":");
    if (status == STATUS_OK) status = buffer_add(out, value.bytes, value.size);
  }
  return status;
}

/* Reports the members of a message that no request in its own form has. keep_extra does not keep them: several
   messages of one role become one, a message becomes several items, and then no message of the output is the one that
   they describe. */
static void lose_outer(Convert *convert, Text raw) {
  Json json;
  Text key;
  JsonValue value;
  Text type = dialect_type(MEMBER_OF_MESSAGE, raw);
  json_open_valid(&json, raw.bytes, raw.size);
  json_enter(&json);
  while (convert_next_extra(convert->pieces.dialects, type, &json, &key, &value)) {
    convert_lose(convert, LOSS_MEMBER, key);
  }
}

/* ---- inside of them ---- */

/* Members of parts that are read though their dialect does not have them, or reported as something else. */
static const struct {
  const char *type, *name;   /* type NULL: any */
} READ[] = {
  {NULL, "type"}, {NULL, "citations"}, {NULL, "annotations"}, {NULL, "cache_control"},
  {NULL, "prompt_cache_breakpoint"},
  {"tool_use", "tool_use"}, {"tool_result", "tool_result"}, {"image_url", "detail"}, {"image", "detail"},
  {"image", "image_url"}, {"image", "data"}, {"image", "mimeType"},
};

static bool is_read(Text type, Text key) {
  for (size_t i = 0; i < sizeof READ / sizeof *READ; i++) {
    if (text_is(key, READ[i].name) && (READ[i].type == NULL || text_is(type, READ[i].type))) return true;
  }
  return false;
}

/* True for a member that a part of this type has in some dialect. Parts that no dialect has may have any. */
static bool is_known_part(Text type, Text key) {
  bool any = false;
  if (is_read(type, key)) return true;
  for (unsigned i = 0; i < DIALECT_COUNT; i++) {
    if (!dialect_has_part((Dialect)i, type)) continue;
    if (dialect_member((Dialect)i, MEMBER_OF_PART, type, key)) return true;
    any = true;
  }
  return !any;
}

typedef enum InnerKind {
  INNER_MESSAGE,
  INNER_PART,
  INNER_UNTYPED,             /* a part of Gemini's */
  INNER_CALL,                /* of tool_calls */
  INNER_FUNCTION,            /* of such a call */
  INNER_CALL_UNTYPED         /* functionCall, functionResponse */
} InnerKind;

/* Where objects stand in others. */
static const struct {
  InnerKind outer;
  const char *type, *name;   /* type NULL: of any type */
  bool is_list;              /* of objects, or the object itself */
  InnerKind inner;
} PLACES[] = {
  {INNER_MESSAGE, NULL, "content", true, INNER_PART}, {INNER_MESSAGE, NULL, "output", true, INNER_PART},
  {INNER_MESSAGE, NULL, "summary", true, INNER_PART}, {INNER_MESSAGE, NULL, "tool_calls", true, INNER_CALL},
  {INNER_MESSAGE, NULL, "parts", true, INNER_UNTYPED}, {INNER_MESSAGE, NULL, "parts", false, INNER_UNTYPED},
  {INNER_MESSAGE, NULL, "function_call", false, INNER_FUNCTION},
  {INNER_PART, "tool_use", "tool_use", false, INNER_PART},
  {INNER_PART, "tool_result", "tool_result", false, INNER_PART},
  {INNER_PART, "tool_result", "content", true, INNER_PART},
  {INNER_CALL, NULL, "function", false, INNER_FUNCTION}, {INNER_CALL, NULL, "custom", false, INNER_FUNCTION},
  {INNER_UNTYPED, NULL, "functionCall", false, INNER_CALL_UNTYPED},
  {INNER_UNTYPED, NULL, "function_call", false, INNER_CALL_UNTYPED},
  {INNER_UNTYPED, NULL, "functionResponse", false, INNER_CALL_UNTYPED},
  {INNER_UNTYPED, NULL, "function_response", false, INNER_CALL_UNTYPED},
  {INNER_CALL_UNTYPED, NULL, "parts", true, INNER_UNTYPED},
};

/* An object that is looked into, the value of a member of another one or an element of it. */
typedef struct Inner {
  InnerKind kind;
  Text type;                 /* of a part; a nested call or result has that of the part around it */
  Text object;
} Inner;

static bool is_known(const Inner *inner, Text key, const JsonValue *value) {
  Text none = text_plain("", 0);
  switch (inner->kind) {
  case INNER_PART: return is_known_part(inner->type, key);
  case INNER_UNTYPED:
    return piece_type_refers(inner->type) || dialect_member(DIALECT_GEMINI, MEMBER_OF_PART, none, key);
  case INNER_CALL:           /* its index is its place; the others have signatures, which are told as such */
    return dialect_member(DIALECT_OPENAI, MEMBER_OF_CALL, none, key) || text_is(key, "index") ||
           text_is(key, "provider_specific_fields") || thought_signature_is_all(key, value);
  case INNER_FUNCTION: return dialect_member(DIALECT_OPENAI, MEMBER_OF_FUNCTION, none, key);
  case INNER_CALL_UNTYPED: return dialect_member(DIALECT_GEMINI, MEMBER_OF_CALL, none, key);
  case INNER_MESSAGE: break;
  }
  return true;
}

/* Adds a member to the path, or the index of an element where `key` has no bytes. Returns the size before. */
static size_t add_step(Convert *convert, Buffer *path, Text key, uint32_t index) {
  char digits[16];
  size_t before = path->size;
  snprintf(digits, sizeof digits, "[%u]", (unsigned)index);
  Status status = key.bytes != NULL && before > 0 ? buffer_add_byte(path, '.') : STATUS_OK;
  if (status == STATUS_OK) status = key.bytes != NULL ? text_decode(key, path) : buffer_add_string(path, digits);
  convert_fail(convert, status);
  return before;
}

/* Reports a member behind the path, which stays as it was. */
static void lose_step(Convert *convert, Buffer *path, Text key) {
  size_t before = add_step(convert, path, key, 0);
  if (convert->status == STATUS_OK) convert_lose(convert, LOSS_MEMBER, text_plain(path->bytes, path->size));
  path->size = before;
}

static void lose_inner(Convert *convert, Buffer *path, const Inner *outer);

/* Looks into an object, or into the objects of a list. */
static void lose_value(Convert *convert, Buffer *path, Inner inner, Text key, const JsonValue *value) {
  Json json;
  JsonValue element;
  size_t before = add_step(convert, path, key, 0);
  inner.object = text_plain(value->bytes, value->size);
  if (value->kind == JSON_OBJECT) lose_inner(convert, path, &inner);
  else {
    json_open_valid(&json, value->bytes, value->size);
    json_enter(&json);
    for (uint32_t i = 0; json_next_element(&json) && json_value(&json, &element); i++) {
      if (element.kind != JSON_OBJECT) continue;
      inner.object = text_plain(element.bytes, element.size);
      inner.type = dialect_type(MEMBER_OF_PART, inner.object);
      size_t at = add_step(convert, path, text_plain(NULL, 0), i);
      lose_inner(convert, path, &inner);
      path->size = at;
    }
  }
  path->size = before;
}

/* Reports the members of an object that no dialect has there, and looks into the others. */
static void lose_inner(Convert *convert, Buffer *path, const Inner *outer) {
  Json json;
  Text key;
  JsonValue value;
  json_open_valid(&json, outer->object.bytes, outer->object.size);
  json_enter(&json);
  while (convert->status == STATUS_OK && json_next_member(&json, &key) && json_value(&json, &value)) {
    if (value.kind != JSON_NULL && !is_known(outer, key, &value)) lose_step(convert, path, key);
    for (size_t i = 0; i < sizeof PLACES / sizeof *PLACES; i++) {
      bool fits = PLACES[i].outer == outer->kind && value.kind == (PLACES[i].is_list ? JSON_ARRAY : JSON_OBJECT);
      bool typed = PLACES[i].type == NULL || text_is(outer->type, PLACES[i].type);
      if (!fits || !typed || !text_is(key, PLACES[i].name)) continue;
      lose_value(convert, path, (Inner){.kind = PLACES[i].inner, .type = outer->type}, key, &value);
    }
  }
}

void convert_lose_members(Convert *convert, Text raw) {
  Buffer path;
  if (!convert->options->skips_extra) lose_outer(convert, raw);
  buffer_init(&path, convert->pieces.memory);
  lose_inner(convert, &path, &(Inner){.kind = INNER_MESSAGE, .object = raw});
  buffer_free(&path);
}

void convert_lose_at(Convert *convert, Text list, uint32_t index, Text key) {
  Buffer path;
  buffer_init(&path, convert->pieces.memory);
  add_step(convert, &path, list, 0);
  add_step(convert, &path, text_plain(NULL, 0), index);
  lose_step(convert, &path, key);
  buffer_free(&path);
}
