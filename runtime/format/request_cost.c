#include "format/request_cost.h"

#include <assert.h>
#include <string.h>

#include "base/names.h"
#include "json/json_fields.h"

/* Tokens of the recipe (request_cost.h). */
enum { PER_PROPERTIES = 3, PER_PROPERTY = 3, PER_ENUM = -3, PER_ENUM_ITEM = 3, PER_END = 12 };

enum { DEPTH_MAX = 16 };     /* of nested schemas; deeper ones count as text */

typedef struct Recipe {
  Tally tally;
  Buffer line;
} Recipe;

static void add_constant(Recipe *recipe, int tokens) { recipe->tally.tokens += (uint64_t)(int64_t)tokens; }

static void add_value(Recipe *recipe, const JsonValue *value) {
  recipe->tally.guessed = true;
  tally_text(&recipe->tally, text_plain(value->bytes, value->size));
}

static void fail(Recipe *recipe, Status status) {
  if (recipe->tally.status == STATUS_OK) recipe->tally.status = status;
}

/* ---- lines: texts joined by colons, counted as one ---- */

static void line_add(Recipe *recipe, Text text) {
  Status status = recipe->line.size > 0 ? buffer_add(&recipe->line, ":", 1) : STATUS_OK;
  if (status == STATUS_OK) status = text_decode(text, &recipe->line);
  fail(recipe, status);
}

/* Adds a description; the dot at its end does not count. */
static void line_add_description(Recipe *recipe, const JsonValue *value) {
  line_add(recipe, value->bytes != NULL && value->kind == JSON_STRING ? json_text(value) : text_of(""));
  if (recipe->line.size > 0 && recipe->line.bytes[recipe->line.size - 1] == '.') recipe->line.size--;
}

static void line_end(Recipe *recipe) {
  tally_text(&recipe->tally, text_plain(recipe->line.bytes, recipe->line.size));
  buffer_reset(&recipe->line);
}

/* ---- schemas ---- */

static void add_properties(Recipe *recipe, const JsonValue *properties, unsigned depth);

static void add_enum(Recipe *recipe, const JsonValue *list) {
  Json json;
  if (list->kind != JSON_ARRAY) {
    add_value(recipe, list);
    return;
  }
  add_constant(recipe, PER_ENUM);
  json_open_value(&json, list);
  if (!json_enter(&json)) return;
  while (json_next_element(&json)) {
    JsonValue item;
    if (!json_value(&json, &item)) return;
    add_constant(recipe, PER_ENUM_ITEM);
    tally_text(&recipe->tally, item.kind == JSON_STRING ? json_text(&item) : text_plain(item.bytes, item.size));
  }
}

/* Adds the members of a property's schema other than type and description, which are in
   its line. */
static void add_keyword(Recipe *recipe, Text key, const JsonValue *value, unsigned depth) {
  if (text_is(key, "enum")) add_enum(recipe, value);
  else if (text_is(key, "properties") && value->kind == JSON_OBJECT && depth < DEPTH_MAX) {
    recipe->tally.guessed = true;
    add_properties(recipe, value, depth + 1);
  } else if (!text_is(key, "required") && !text_is(key, "additionalProperties")) {
    tally_text(&recipe->tally, key);
    add_value(recipe, value);
  }
}

/* Adds a property of a schema: its line "name:type:description", and its other keywords. `depth`: of
   nested schemas. */
static void add_property(Recipe *recipe, Text name, const JsonValue *schema, unsigned depth) {
  Json json;
  Text key;
  JsonValue type = {0}, description = {0};
  add_constant(recipe, PER_PROPERTY);
  if (schema->kind != JSON_OBJECT) {
    tally_text(&recipe->tally, name);
    add_value(recipe, schema);
    return;
  }
  json_open(&json, schema->bytes, schema->size);
  if (!json_enter(&json)) return;
  while (json_next_member(&json, &key)) {
    JsonValue value;
    if (!json_value(&json, &value)) return;
    if (text_is(key, "type")) type = value;
    else if (text_is(key, "description")) description = value;
    else add_keyword(recipe, key, &value, depth);
  }
  line_add(recipe, name);
  if (type.bytes != NULL)
    line_add(recipe, type.kind == JSON_STRING ? json_text(&type) : text_plain(type.bytes, type.size));
  line_add_description(recipe, &description);
  line_end(recipe);
  recipe->tally.guessed |= type.bytes == NULL || type.kind != JSON_STRING;
}

static void add_properties(Recipe *recipe, const JsonValue *properties, unsigned depth) {
  Json json;
  Text name;
  bool first = true;
  json_open_value(&json, properties);
  if (!json_enter(&json)) return;
  while (json_next_member(&json, &name)) {
    JsonValue schema;
    if (!json_value(&json, &schema)) return;
    if (first) add_constant(recipe, PER_PROPERTIES);
    first = false;
    add_property(recipe, name, &schema, depth);
  }
}

static void add_parameters(Recipe *recipe, const JsonValue *parameters) {
  Json json;
  Text key;
  if (parameters->bytes == NULL) return;
  if (parameters->kind != JSON_OBJECT) {
    add_value(recipe, parameters);
    return;
  }
  json_open(&json, parameters->bytes, parameters->size);
  if (!json_enter(&json)) return;
  while (json_next_member(&json, &key)) {
    JsonValue value;
    if (!json_value(&json, &value)) return;
    if (text_is(key, "properties") && value.kind == JSON_OBJECT) add_properties(recipe, &value, 0);
    else if (!text_is(key, "type")) add_keyword(recipe, key, &value, 0);
  }
}

/* ---- tools ---- */

typedef struct Function {
  JsonValue name, description, parameters, inner, list;
} Function;

static void read_function(const JsonValue *tool, Function *function) {
  Json json;
  Text key;
  json_open_value(&json, tool);
  if (tool->kind != JSON_OBJECT || !json_enter(&json)) return;
  while (json_next_member(&json, &key)) {
    JsonValue value;
    if (!json_value(&json, &value)) return;
    if (text_is(key, "name")) function->name = value;
    else if (text_is(key, "description")) function->description = value;
    else if (text_is(key, "parameters") || text_is(key, "input_schema") || text_is(key, "parametersJsonSchema"))
      function->parameters = value;
    else if (text_is(key, "functionDeclarations") || text_is(key, "function_declarations")) function->list = value;
    else if (text_is(key, "function")) function->inner = value;
  }
}

/* Adds a tool: {"type": "function", "function": {..}} (Chat Completions), or the function
   itself (`functions`, Responses, Anthropic). Other tools count as text. */
static void add_tool(Recipe *recipe, const JsonValue *tool) {
  Function function = {0};
  read_function(tool, &function);
  if (function.inner.bytes != NULL) {
    JsonValue inner = function.inner;
    read_function(&inner, &function);
  }
  if (function.name.bytes == NULL || function.name.kind != JSON_STRING) {
    add_value(recipe, tool);
    return;
  }
  add_constant(recipe, (int)recipe->tally.counter->per_function);
  line_add(recipe, json_text(&function.name));
  line_add_description(recipe, &function.description);
  line_end(recipe);
  add_parameters(recipe, &function.parameters);
}

/* Adds the tools of a list, or of the lists that some of them hold; true if there were any. */
static bool add_tool_list(Recipe *recipe, const JsonValue *tools, bool nested) {
  Json json;
  bool any = false;
  json_open_value(&json, tools);
  if (!json_enter(&json)) return false;
  while (json_next_element(&json)) {
    JsonValue tool;
    Function function = {0};
    if (!json_value(&json, &tool)) return any;
    read_function(&tool, &function);
    bool list = !nested && function.list.bytes != NULL && function.list.kind == JSON_ARRAY;
    any |= list ? add_tool_list(recipe, &function.list, true) : true;
    if (!list) add_tool(recipe, &tool);
  }
  return any;
}

static void add_tools(Recipe *recipe, const JsonValue *tools) {
  if (add_tool_list(recipe, tools, false)) add_constant(recipe, PER_END);
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
    "text", "generationConfig"};
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
  default: break;
  }
  bool functions = member == REQUEST_TOOLS || member == REQUEST_FUNCTIONS;
  if (functions && value->kind == JSON_ARRAY) add_tools(recipe, value);
  else if (value->kind == JSON_STRING) tally_text(&recipe->tally, json_text(value));
  else add_value(recipe, value);
}

Status request_member_cost(const Counter *counter, const Memory *memory, RequestMember member, const JsonValue *value,
                         Cost *cost) {
  assert((unsigned)member < REQUEST_MEMBERS && value->bytes != NULL);
  Recipe recipe = {.tally = tally_start(counter)};
  Cost cost_of_member = {0};
  if (value->kind == JSON_NULL || counter->custom != NULL) return STATUS_OK;
  buffer_init(&recipe.line, *memory);
  add_member(&recipe, member, value);
  buffer_free(&recipe.line);
  Status status = tally_end(&recipe.tally, &cost_of_member);
  if (status != STATUS_OK) return status;
  if (cost_of_member.tokens > UINT32_MAX - cost->tokens) return STATUS_LIMIT;
  cost->tokens += cost_of_member.tokens;
  cost->guessed |= cost_of_member.guessed;
  return STATUS_OK;
}
