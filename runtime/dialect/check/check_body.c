/*
** The rules for a request's members other than its messages: tools, choices, parameters.
** They stand in one table by dialect; each rule looks at the members that it needs.
*/
#include <assert.h>

#include "base/names.h"
#include "dialect/check/check_rules.h"
#include "dialect/dialect_members.h"
#include "json/json_fields.h"

typedef enum BodyMember {
  BODY_TOOLS, BODY_TOOL_CHOICE, BODY_PARALLEL, BODY_SYSTEM, BODY_THINKING, BODY_CACHE_CONTROL, BODY_MAX_TOKENS,
  BODY_TEMPERATURE, BODY_TOP_P, BODY_TOP_K, BODY_EFFORT, BODY_METADATA, BODY_MAX_OUTPUT, BODY_PREVIOUS,
  BODY_CONVERSATION, BODY_CACHED_CONTENT, BODY_SYSTEM_INSTRUCTION, BODY_TOOL_CONFIG, BODY_MODEL, BODY_FUNCTIONS,
  BODY_MEMBERS
} BodyMember;

static const char *const NAMES[BODY_MEMBERS] = {
  "tools", "tool_choice", "parallel_tool_calls", "system", "thinking", "cache_control", "max_tokens",
  "temperature", "top_p", "top_k", "reasoning_effort", "metadata", "max_output_tokens", "previous_response_id",
  "conversation", "cachedContent", "systemInstruction", "toolConfig", "model",
  "functions",
};

typedef struct Body {
  Checker *checker;
  JsonValue values[BODY_MEMBERS];    /* bytes NULL: absent, or null */
} Body;

static bool has(const Body *body, BodyMember member) { return body->values[member].bytes != NULL; }
static Text text_of_value(const JsonValue *value) { return text_plain(value->bytes, value->size); }

/* The member of an object that is a string; size 0: it has none. */
static Text string_in(const JsonValue *object, const char *name) {
  JsonValue value;
  bool found = object->bytes != NULL && object->kind == JSON_OBJECT &&
               json_find(text_of_value(object), name, JSON_STRING, &value);
  return found ? json_text(&value) : NO_TEXT;
}

static Status add_if(const Body *body, bool broken, CheckCode code, Text subject) {
  return checker_add_if(body->checker, broken, code, CHECK_BODY, subject);
}

/* Reads the members; false if the text is not an object. */
static bool read_body(Checker *checker, Body *body) {
  Json json;
  Text key;
  JsonValue value;
  *body = (Body){.checker = checker};
  Text text = checker->target->body;
  if (text.size == 0 || text.bytes[0] != '{') return false;
  json_open(&json, text.bytes, text.size);
  json.tolerant = true;
  json_enter(&json);
  while (json_next_member(&json, &key) && json_value(&json, &value)) {
    for (size_t i = 0; i < BODY_MEMBERS; i++) {
      if (value.kind != JSON_NULL && text_is(key, NAMES[i])) body->values[i] = value;
    }
  }
  return json.status == STATUS_OK;
}

/* ---- cache marks and thinking: before the messages ---- */

static void see_marks(Checker *checker, const JsonValue *list, bool *is_late) {
  Json json;
  JsonValue value;
  bool late;
  if (list->bytes == NULL || list->kind != JSON_ARRAY) return;
  json_open_value(&json, list);
  json_enter(&json);
  while (json_next_element(&json) && json_value(&json, &value)) {
    if (value.kind == JSON_OBJECT && checker_see_mark(checker, text_of_value(&value), &late)) *is_late |= late;
  }
}

Status check_body_begin(Checker *checker) {
  Body body;
  bool late = false;
  if (checker->target->dialect != DIALECT_ANTHROPIC || !read_body(checker, &body)) return STATUS_OK;
  checker->thinks = text_is(string_in(&body.values[BODY_THINKING], "type"), "enabled");
  see_marks(checker, &body.values[BODY_TOOLS], &late);
  see_marks(checker, &body.values[BODY_SYSTEM], &late);
  checker->cache_marks += has(&body, BODY_CACHE_CONTROL);
  checker->has_late_body_mark = late;
  checker->body_marks = checker->cache_marks;
  return STATUS_OK;
}

/* ---- lists of objects ---- */

typedef Status (*ObjectRule)(const Body *body, const JsonValue *object);

static Status each_object(const Body *body, const JsonValue *list, ObjectRule rule) {
  Json json;
  JsonValue object;
  Status status = STATUS_OK;
  if (list->bytes == NULL || list->kind != JSON_ARRAY) return status;
  json_open_value(&json, list);
  json_enter(&json);
  while (status == STATUS_OK && json_next_element(&json) && json_value(&json, &object)) {
    if (object.kind == JSON_OBJECT) status = rule(body, &object);
  }
  return status;
}

/* ---- system texts beside the messages ---- */

static Status check_system_part(const Body *body, const JsonValue *part) {
  JsonValue text;
  bool is_text = text_is(string_in(part, "type"), "text"), is_string = false;
  for (JsonKind kind = JSON_FALSE; kind <= JSON_OBJECT && !is_string; kind++) {
    bool has_text = json_find(text_of_value(part), "text", kind, &text);
    is_text |= has_text;                     /* Gemini's parts have no type */
    is_string = has_text && kind == JSON_STRING;
  }
  return add_if(body, is_text && !is_string, CHECK_PART_TEXT, NO_TEXT);
}

/* ---- tools ---- */

static Status check_name(const Body *body, Text name) {
  return add_if(body, !tool_name_fits(body->checker->target, name), CHECK_TOOL_NAME, name);
}

/* True for more than `most` characters. */
static bool is_longer(Text text, uint32_t most) { return !id_fits(&(IdRule){.max = most, .characters = ID_ANY}, text); }

/* True if an object has a member, of whatever kind. */
static bool has_member(const JsonValue *object, const char *name) {
  JsonValue value;
  for (JsonKind kind = JSON_NULL; kind <= JSON_OBJECT; kind++) {
    if (json_find(text_of_value(object), name, kind, &value)) return true;
  }
  return false;
}

/* Checks the schema of a tool's arguments, its member `name`: that of an object, without alternatives at its top, of
   which `count` are refused. One that is `required` may not be left out. */
static Status check_schema(const Body *body, const JsonValue *tool, const char *name, size_t count, bool required) {
  static const char *const refused[] = {"oneOf", "anyOf", "allOf", "enum", "not"};
  JsonValue schema;
  Text subject = string_in(tool, "name");
  assert(count <= COUNT_OF(refused));
  if (!has_member(tool, name)) return add_if(body, required, CHECK_TOOL_SCHEMA, subject);
  bool is_object = json_find(text_of_value(tool), name, JSON_OBJECT, &schema);
  bool fits = is_object && text_is(string_in(&schema, "type"), "object");
  for (size_t i = 0; i < count && fits; i++) fits = !has_member(&schema, refused[i]);
  return add_if(body, !fits, CHECK_TOOL_SCHEMA, subject);
}

enum { ANTHROPIC_REFUSES = 3, OPENAI_REFUSES = 5 };     /* of the alternatives at a schema's top */

/* Checks a function as OpenAI has it: in a tool, or in the older list `functions`. */
static Status openai_function(const Body *body, const JsonValue *function) {
  Text name = string_in(function, "name");
  Status status = check_name(body, name);
  bool is_long = is_longer(string_in(function, "description"), 1024);
  if (status == STATUS_OK) status = add_if(body, is_long, CHECK_TOOL_DESCRIPTION, name);
  return status == STATUS_OK ? check_schema(body, function, "parameters", OPENAI_REFUSES, false) : status;
}

static Status openai_tool(const Body *body, const JsonValue *tool) {
  JsonValue inner;
  if (json_find(text_of_value(tool), "function", JSON_OBJECT, &inner)) return openai_function(body, &inner);
  bool is_custom = json_find(text_of_value(tool), "custom", JSON_OBJECT, &inner);
  return is_custom ? check_name(body, string_in(&inner, "name")) : STATUS_OK;
}

static Status responses_tool(const Body *body, const JsonValue *tool) {
  Text type = string_in(tool, "type");
  JsonValue list;
  if (text_is(type, "custom")) return check_name(body, string_in(tool, "name"));
  if (text_is(type, "namespace") && json_find(text_of_value(tool), "tools", JSON_ARRAY, &list)) {
    return each_object(body, &list, responses_tool);
  }
  if (!text_is(type, "function")) return STATUS_OK;
  Status status = check_name(body, string_in(tool, "name"));
  return status == STATUS_OK ? check_schema(body, tool, "parameters", OPENAI_REFUSES, false) : status;
}

static Status anthropic_tool(const Body *body, const JsonValue *tool) {
  Text type = string_in(tool, "type"), name = string_in(tool, "name");
  bool again = false, is_own = type.size == 0 || text_is(type, "custom");
  if (name.size == 0 && !is_own) return STATUS_OK;      /* a set of tools */
  Status status = check_name(body, name);
  if (status == STATUS_OK) status = checker_see(body->checker, name, &again);
  if (status == STATUS_OK) status = add_if(body, again, CHECK_DUPLICATE_TOOL, name);
  return status == STATUS_OK && is_own ? check_schema(body, tool, "input_schema", ANTHROPIC_REFUSES, true) : status;
}

static Status gemini_function(const Body *body, const JsonValue *function) {
  return check_name(body, string_in(function, "name"));
}

static Status gemini_tool(const Body *body, const JsonValue *tool) {
  JsonValue list;
  bool has_list = json_find(text_of_value(tool), "functionDeclarations", JSON_ARRAY, &list) ||
                  json_find(text_of_value(tool), "function_declarations", JSON_ARRAY, &list);
  return has_list ? each_object(body, &list, gemini_function) : STATUS_OK;
}

static bool is_empty_list(const JsonValue *list) {
  Json json;
  if (list->bytes == NULL || list->kind != JSON_ARRAY) return false;
  json_open_value(&json, list);
  return json_enter(&json) && !json_next_element(&json);
}

static bool list_calls(const Checker *checker) {
  for (uint32_t i = 0; i < checker->count; i++) {
    const Message *message = checker_message(checker, i);
    if (message_call_count(message) > 0 || message_result_count(message) > 0) return true;
  }
  return false;
}

/* ---- rules by dialect ---- */

static Status check_sampling(const Body *body) {
  Status status = STATUS_OK;
  for (BodyMember i = BODY_TEMPERATURE; i <= BODY_TOP_K && status == STATUS_OK; i++) {
    bool is_default = has(body, i) && text_is(text_of_value(&body->values[i]), "1");
    status = add_if(body, has(body, i) && !is_default, CHECK_SAMPLING, text_of(NAMES[i]));
  }
  return status;
}

static Status check_metadata(const Body *body) {
  Json json;
  Text key;
  JsonValue value;
  uint32_t count = 0;
  bool is_long = false;
  if (!has(body, BODY_METADATA) || body->values[BODY_METADATA].kind != JSON_OBJECT) return STATUS_OK;
  json_open_value(&json, &body->values[BODY_METADATA]);
  json_enter(&json);
  while (json_next_member(&json, &key) && json_value(&json, &value)) {
    count++;
    is_long |= is_longer(key, 64) || (value.kind == JSON_STRING && is_longer(json_text(&value), 512));
  }
  Status status = add_if(body, count > 16, CHECK_METADATA_SIZE, text_of("more than 16 pairs"));
  return status == STATUS_OK ? add_if(body, is_long, CHECK_METADATA_SIZE, text_of("a text is too long")) : status;
}

static Status check_openai_body(const Body *body) {
  const JsonValue *tools = &body->values[BODY_TOOLS], *choice = &body->values[BODY_TOOL_CHOICE];
  bool has_tools = has(body, BODY_TOOLS), named = has(body, BODY_TOOL_CHOICE) && choice->kind == JSON_OBJECT;
  bool required = has(body, BODY_TOOL_CHOICE) && choice->kind == JSON_STRING && text_is(json_text(choice), "required");
  bool thinks = has(body, BODY_EFFORT) && !text_is(json_text(&body->values[BODY_EFFORT]), "none");
  Status status = each_object(body, tools, openai_tool);
  if (status == STATUS_OK) status = each_object(body, &body->values[BODY_FUNCTIONS], openai_function);
  if (status == STATUS_OK) status = add_if(body, is_empty_list(tools), CHECK_EMPTY_TOOLS, NO_TEXT);
  if (status == STATUS_OK) status = add_if(body, has_tools && thinks, CHECK_TOOLS_WITH_EFFORT, NO_TEXT);
  for (BodyMember i = BODY_TOOL_CHOICE; i <= BODY_PARALLEL && status == STATUS_OK; i++) {
    status = add_if(body, has(body, i) && !has_tools, CHECK_TOOL_CHOICE, text_of(NAMES[i]));
  }
  if (status == STATUS_OK) status = add_if(body, named, CHECK_NAMED_TOOL_CHOICE, NO_TEXT);
  if (status == STATUS_OK) status = add_if(body, named || required, CHECK_FORCED_TOOL, NO_TEXT);
  if (status == STATUS_OK) status = check_sampling(body);
  return status == STATUS_OK ? check_metadata(body) : status;
}

static Status check_responses_body(const Body *body) {
  int64_t most = 16;
  bool both = has(body, BODY_PREVIOUS) && has(body, BODY_CONVERSATION);
  bool few = has(body, BODY_MAX_OUTPUT) && json_integer(&body->values[BODY_MAX_OUTPUT], &most) && most < 16;
  Status status = each_object(body, &body->values[BODY_TOOLS], responses_tool);
  if (status == STATUS_OK) status = add_if(body, both, CHECK_EXCLUSIVE_MEMBERS, text_of("both members"));
  if (status == STATUS_OK) status = add_if(body, few, CHECK_OUTPUT_LIMIT, NO_TEXT);
  if (status == STATUS_OK) status = check_sampling(body);
  return status == STATUS_OK ? check_metadata(body) : status;
}

static bool model_has(const Body *body, ModelTrait trait) {
  return (body->checker->target->profile.traits >> trait & 1) != 0;
}

static Status check_thinking_mode(const Body *body) {
  Text type = string_in(&body->values[BODY_THINKING], "type");
  bool broken = (text_is(type, "enabled") && model_has(body, MODEL_NO_MANUAL_THINKING)) ||
                (text_is(type, "adaptive") && model_has(body, MODEL_NO_ADAPTIVE_THINKING)) ||
                (text_is(type, "disabled") && model_has(body, MODEL_NO_DISABLED_THINKING));
  return add_if(body, broken, CHECK_THINKING_MODE, type);
}

static Status check_body_members(const Body *body) {
  Json json;
  Text key, text = body->checker->target->body;
  JsonValue value;
  Status status = STATUS_OK;
  if (!checker_wants(body->checker, CHECK_EXTRA_MEMBER)) return status;
  json_open(&json, text.bytes, text.size);
  json.tolerant = true;
  json_enter(&json);
  while (status == STATUS_OK && json_next_member(&json, &key) && json_value(&json, &value)) {
    bool extra = !dialect_member(body->checker->target->dialect, MEMBER_OF_BODY, NO_TEXT, key);
    status = add_if(body, extra, CHECK_EXTRA_MEMBER, key);
  }
  return status;
}

static Status check_anthropic_body(const Body *body) {
  Checker *checker = body->checker;
  Text choice = string_in(&body->values[BODY_TOOL_CHOICE], "type");
  bool forced = text_is(choice, "any") || text_is(choice, "tool");
  bool lacks_tools = !has(body, BODY_TOOLS) && list_calls(checker);
  Status status = each_object(body, &body->values[BODY_TOOLS], anthropic_tool);
  if (status == STATUS_OK) status = each_object(body, &body->values[BODY_SYSTEM], check_system_part);
  if (status == STATUS_OK) {
    bool lacks = has(body, BODY_MODEL) && !has(body, BODY_MAX_TOKENS);      /* without a model it is no request yet */
    status = add_if(body, lacks, CHECK_MISSING_MEMBER, text_of("max_tokens"));
  }
  if (status == STATUS_OK) status = add_if(body, forced, CHECK_FORCED_TOOL, NO_TEXT);
  if (status == STATUS_OK) status = add_if(body, lacks_tools, CHECK_TOOLS_MISSING, NO_TEXT);
  if (status == STATUS_OK) status = add_if(body, checker->body_marks > 4, CHECK_CACHE_MARKS, NO_TEXT);
  if (status == STATUS_OK) status = add_if(body, checker->has_late_body_mark, CHECK_CACHE_ORDER, NO_TEXT);
  if (status == STATUS_OK) status = check_thinking_mode(body);
  if (status == STATUS_OK) status = check_sampling(body);
  return status == STATUS_OK ? check_body_members(body) : status;
}

/* True if some tools are functions (or: built in). */
static bool has_tools_of(const Body *body, bool functions) {
  Json json;
  JsonValue tool, list;
  bool any = false;
  if (!has(body, BODY_TOOLS) || body->values[BODY_TOOLS].kind != JSON_ARRAY) return false;
  json_open_value(&json, &body->values[BODY_TOOLS]);
  json_enter(&json);
  while (json_next_element(&json) && json_value(&json, &tool)) {
    bool is_function = tool.kind == JSON_OBJECT &&
                       (json_find(text_of_value(&tool), "functionDeclarations", JSON_ARRAY, &list) ||
                        json_find(text_of_value(&tool), "function_declarations", JSON_ARRAY, &list));
    any |= is_function == functions;
  }
  return any;
}

static Status check_gemini_body(const Body *body) {
  static const BodyMember cached[] = {BODY_SYSTEM_INSTRUCTION, BODY_TOOLS, BODY_TOOL_CONFIG};
  Status status = each_object(body, &body->values[BODY_TOOLS], gemini_tool);
  const JsonValue *system = &body->values[BODY_SYSTEM_INSTRUCTION];
  JsonValue parts;
  bool has_parts = has(body, BODY_SYSTEM_INSTRUCTION) && system->kind == JSON_OBJECT &&
                   json_find(text_of_value(system), "parts", JSON_ARRAY, &parts);
  if (status == STATUS_OK && has_parts) status = each_object(body, &parts, check_system_part);
  for (size_t i = 0; i < 3 && status == STATUS_OK; i++) {
    bool both = has(body, BODY_CACHED_CONTENT) && has(body, cached[i]);
    status = add_if(body, both, CHECK_EXCLUSIVE_MEMBERS, text_of(NAMES[cached[i]]));
  }
  bool mixed = has_tools_of(body, true) && has_tools_of(body, false);
  return status == STATUS_OK ? add_if(body, mixed, CHECK_MIXED_TOOLS, NO_TEXT) : status;
}

Status check_body(Checker *checker) {
  static Status (*const rules[DIALECT_COUNT])(const Body *) = {
    [DIALECT_OPENAI] = check_openai_body, [DIALECT_RESPONSES] = check_responses_body,
    [DIALECT_ANTHROPIC] = check_anthropic_body, [DIALECT_GEMINI] = check_gemini_body,
  };
  Body body;
  assert(rules[checker->target->dialect] != NULL);
  if (!read_body(checker, &body)) return STATUS_OK;
  Status status = add_if(&body, checker->is_empty, CHECK_NO_MESSAGES, NO_TEXT);
  return status == STATUS_OK ? rules[checker->target->dialect](&body) : status;
}
