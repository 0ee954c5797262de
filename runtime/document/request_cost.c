#include "document/request_cost.h"

#include <assert.h>
#include <string.h>

#include "base/buffer.h"
#include "base/names.h"
#include "dialect/tool_text.h"
#include "json/json_fields.h"

enum { DEPTH_MAX = 16 };     /* of texts in parts */
enum { PER_SYSTEM = 4 };     /* fewer tokens for tools where the request has a system message */
enum { PER_CHOICE = 4, PER_NO_CHOICE = 1 };   /* a named tool; "none" */

typedef struct Recipe {
  Tally tally;
  const Text *system;
  Memory memory;
} Recipe;

static void add_value(Recipe *recipe, const JsonValue *value) {
  recipe->tally.guessed = true;
  tally_text(&recipe->tally, text_plain(value->bytes, value->size));
}

static void fail(Recipe *recipe, Status status) {
  if (recipe->tally.status == STATUS_OK) recipe->tally.status = status;
}

/* ---- tools ---- */

/* The tools of a system message's last line end: what "\n" adds to the tokens of its text. */
static uint64_t line_end_tokens(Recipe *recipe) {
  enum { TAIL = 256 };       /* bytes: the piece of text that a line end joins begins in it */
  Tally plain = tally_start(recipe->tally.counter), ended = plain;
  Cost without = {0}, with = {0};
  Buffer text;
  buffer_init(&text, recipe->memory);
  Status status = text_decode(*recipe->system, &text);
  size_t from = text.size > TAIL ? text.size - TAIL : 0;
  while (from < text.size && ((unsigned char)text.bytes[from] & 0xC0) == 0x80) from++;
  if (status == STATUS_OK) {
    tally_text(&plain, text_plain(text.bytes + from, text.size - from));
    status = buffer_add(&text, "\n", 1);
  }
  if (status == STATUS_OK) {
    tally_text(&ended, text_plain(text.bytes + from, text.size - from));
    status = tally_end(&plain, &without);
  }
  if (status == STATUS_OK) status = tally_end(&ended, &with);
  buffer_free(&text);
  fail(recipe, status);
  return status == STATUS_OK && with.tokens > without.tokens ? with.tokens - without.tokens : 0;
}

static void add_tools(Recipe *recipe, const JsonValue *tools) {
  ToolText text;
  uint32_t per_tools = recipe->tally.counter->per_tools;
  tool_text_init(&text, recipe->memory);
  fail(recipe, tool_text_read(&text, tools));
  if (text.any) {
    tally_text(&recipe->tally, text_plain(text.declarations.bytes, text.declarations.size));
    tally_text(&recipe->tally, text_plain(text.others.bytes, text.others.size));
    recipe->tally.guessed |= text.guessed;
    recipe->tally.tokens += per_tools;
    if (recipe->system != NULL && per_tools >= PER_SYSTEM) {
      recipe->tally.tokens += line_end_tokens(recipe);
      recipe->tally.tokens -= PER_SYSTEM;
    }
  }
  tool_text_free(&text);
}

/* Adds tool_choice or function_call: a named tool costs its name. */
static void add_choice(Recipe *recipe, const JsonValue *value) {
  JsonValue inner, name;
  Text raw = text_plain(value->bytes, value->size);
  if (value->kind == JSON_STRING) {
    if (text_is(json_text(value), "none")) recipe->tally.tokens += PER_NO_CHOICE;
    return;
  }
  if (value->kind != JSON_OBJECT) return;
  if (json_find(raw, "function", JSON_OBJECT, &inner)) raw = text_plain(inner.bytes, inner.size);
  if (!json_find(raw, "name", JSON_STRING, &name)) return;
  recipe->tally.tokens += PER_CHOICE;
  tally_text(&recipe->tally, json_text(&name));
}

/* ---- texts, and schemas of answers ---- */

/* Adds the texts of {"parts": [{"text": ..}]}, or of a part or a list of them; JSON text where there are none. */
static void add_system(Recipe *recipe, const JsonValue *value, unsigned depth) {
  Json json;
  JsonValue inner;
  Text raw = text_plain(value->bytes, value->size);
  recipe->tally.guessed = true;
  if (value->kind == JSON_STRING) {
    tally_text(&recipe->tally, json_text(value));
  } else if (value->kind == JSON_ARRAY && depth < DEPTH_MAX) {
    json_open_value(&json, value);
    if (!json_enter(&json)) return;
    while (json_next_element(&json) && json_value(&json, &inner)) add_system(recipe, &inner, depth + 1);
  } else if (value->kind != JSON_OBJECT || depth >= DEPTH_MAX) {
    add_value(recipe, value);
  } else if (json_find(raw, "parts", JSON_ARRAY, &inner) || json_find(raw, "parts", JSON_OBJECT, &inner) ||
             json_find(raw, "text", JSON_STRING, &inner)) {
    add_system(recipe, &inner, depth + 1);
  } else {
    add_value(recipe, value);
  }
}

/* Adds the first of these members that an object has; the other members are settings, which cost nothing. */
static void add_schema_of(Recipe *recipe, const JsonValue *object, const char *const names[], size_t count) {
  JsonValue schema;
  Text raw = text_plain(object->bytes, object->size);
  for (size_t i = 0; object->kind == JSON_OBJECT && i < count; i++) {
    if (!json_find(raw, names[i], JSON_OBJECT, &schema)) continue;
    add_value(recipe, &schema);
    return;
  }
}

/* ---- members of a body ---- */

bool request_member_of(Text key, RequestMember *member) {
  static const char *const names[REQUEST_MEMBERS] = {
    "tools", "functions", "system", "instructions", "response_format", "systemInstruction", "system_instruction",
    "text", "generationConfig", "tool_choice", "function_call"};
  *member = (RequestMember)NAMES_FIND(names, key);
  return *member < REQUEST_MEMBERS;
}

static void add_member(Recipe *recipe, RequestMember member, const JsonValue *value) {
  static const char *const schema[] = {"schema"};
  static const char *const schemas[] = {"responseSchema", "responseJsonSchema", "response_schema"};
  JsonValue format;
  switch (member) {
  case REQUEST_SYSTEM_INSTRUCTION:
  case REQUEST_SYSTEM_INSTRUCTION_SNAKE: add_system(recipe, value, 0); return;
  case REQUEST_TEXT:
    if (json_find(text_plain(value->bytes, value->size), "format", JSON_OBJECT, &format)) {
      add_schema_of(recipe, &format, schema, COUNT_OF(schema));
    }
    return;
  case REQUEST_GENERATION: add_schema_of(recipe, value, schemas, COUNT_OF(schemas)); return;
  case REQUEST_TOOL_CHOICE:
  case REQUEST_FUNCTION_CALL: add_choice(recipe, value); return;
  default: break;
  }
  bool functions = member == REQUEST_TOOLS || member == REQUEST_FUNCTIONS;
  if (functions && value->kind == JSON_ARRAY) add_tools(recipe, value);
  else if (value->kind == JSON_STRING) tally_text(&recipe->tally, json_text(value));
  else add_value(recipe, value);
}

Status request_member_cost(const Counter *counter, const Memory *memory, RequestMember member, const JsonValue *value,
                           const Text *system, Cost *cost) {
  assert((unsigned)member < REQUEST_MEMBERS && value->bytes != NULL);
  Recipe recipe = {.tally = tally_start(counter), .system = system, .memory = *memory};
  Cost cost_of_member = {0};
  if (value->kind == JSON_NULL || counter->custom != NULL) return STATUS_OK;
  add_member(&recipe, member, value);
  Status status = tally_end(&recipe.tally, &cost_of_member);
  if (status != STATUS_OK) return status;
  if (cost_of_member.tokens > UINT32_MAX - cost->tokens) return STATUS_LIMIT;
  cost->tokens += cost_of_member.tokens;
  cost->guessed |= cost_of_member.guessed;
  return STATUS_OK;
}
