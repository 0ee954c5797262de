#include "dialect/tool_text.h"

#include <assert.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/names.h"
#include "json/json_fields.h"
#include "os/os.h"

enum { LEVEL_MAX = 16 };     /* of nested schemas; deeper ones are other text */

/* A writer stops at the first failure; later writes do nothing. */
typedef struct Writer {
  ToolText *text;
  Status status;
  unsigned level;            /* of schemas in schemas */
  HashKey key;               /* of names that are required */
} Writer;

static void put(Writer *w, const char *string) {
  if (w->status == STATUS_OK) w->status = buffer_add_string(&w->text->declarations, string);
}

static void put_text(Writer *w, Text text) {
  if (w->status == STATUS_OK) w->status = text_decode(text, &w->text->declarations);
}

static void put_indent(Writer *w, unsigned indent) {
  for (unsigned i = 0; i < indent; i++) put(w, " ");
}

static void put_other(Writer *w, Text raw) {
  Buffer *others = &w->text->others;
  w->text->guessed = true;
  if (w->status == STATUS_OK && others->size > 0) w->status = buffer_add(others, "\n", 1);
  if (w->status == STATUS_OK) w->status = buffer_add(others, raw.bytes, raw.size);
}

static void put_other_value(Writer *w, const JsonValue *value) { put_other(w, text_plain(value->bytes, value->size)); }

static bool is_string(const JsonValue *value) { return value->bytes != NULL && value->kind == JSON_STRING; }

/* ---- schemas ---- */

typedef struct Schema {
  JsonValue type, description, enumeration, properties, required, items, any_of;
} Schema;

/* Reads the keywords with a rule; the others are other text, but for those that are not shown. */
static void read_schema(Writer *w, const JsonValue *value, Schema *schema) {
  static const char *const shown[] = {"type", "description", "enum", "properties", "required", "items", "anyOf"};
  static const char *const hidden[] = {"const", "minimum", "maximum", "additionalProperties"};
  JsonValue *const fields[] = {&schema->type, &schema->description, &schema->enumeration, &schema->properties,
                               &schema->required, &schema->items, &schema->any_of};
  static_assert(COUNT_OF(shown) == COUNT_OF(fields), "a field for each keyword");
  Json json;
  Text key;
  JsonValue member;
  *schema = (Schema){0};
  json_open_value(&json, value);
  if (!json_enter(&json)) return;
  while (json_next_member(&json, &key) && json_value(&json, &member)) {
    size_t field = NAMES_FIND(shown, key);
    if (field < COUNT_OF(shown)) *fields[field] = member;
    else if (!NAMES_HAVE(hidden, key)) put_other(w, key), put_other_value(w, &member);
  }
}

static void put_type(Writer *w, const JsonValue *value, unsigned depth);

/* Puts the hashes of the names of a list into a map. Two names with one hash are not expected: the key is random. */
static void read_required(Writer *w, const JsonValue *list, Map *required) {
  Json json;
  JsonValue item;
  if (list->bytes == NULL || list->kind != JSON_ARRAY) return;
  json_open_value(&json, list);
  if (!json_enter(&json)) return;
  while (w->status == STATUS_OK && json_next_element(&json) && json_value(&json, &item)) {
    if (item.kind == JSON_STRING) w->status = map_put(required, hash_text(json_text(&item), &w->key), 1);
  }
}

/* The description of a property of the function itself, as a comment before it. */
static void put_description(Writer *w, const JsonValue *property) {
  JsonValue description;
  if (property->kind != JSON_OBJECT) return;
  if (!json_find(text_plain(property->bytes, property->size), "description", JSON_STRING, &description)) return;
  if (json_text(&description).size == 0) return;
  put(w, "// ");
  put_text(w, json_text(&description));
  put(w, "\n");
}

/* Writes "name?: type," for each property. `depth`: 0 for those of the function itself. */
static void put_property_lines(Writer *w, const JsonValue *properties, const Map *required, unsigned depth) {
  Json json;
  Text name;
  JsonValue property;
  bool first = true;
  json_open_value(&json, properties);
  if (!json_enter(&json)) return;
  while (w->status == STATUS_OK && json_next_member(&json, &name) && json_value(&json, &property)) {
    if (!first) put(w, "\n");
    first = false;
    if (depth == 0) put_description(w, &property);
    put_indent(w, 2 * depth);
    put_text(w, name);
    put(w, map_find(required, hash_text(name, &w->key)) != NULL ? ": " : "?: ");
    put_type(w, &property, depth);
    put(w, ",");
  }
}

static void put_properties(Writer *w, const Schema *schema, unsigned depth) {
  Map required;
  if (schema->properties.bytes == NULL) return;
  if (schema->properties.kind != JSON_OBJECT) {
    put_other_value(w, &schema->properties);
    return;
  }
  map_init(&required, w->text->declarations.memory);
  read_required(w, &schema->required, &required);
  put_property_lines(w, &schema->properties, &required, depth);
  map_free(&required);
}

/* The elements of a list, one by one, with " | " written between them. */
typedef struct Union {
  Json json;
  JsonValue item;            /* the element */
  bool any, open;
} Union;

static void open_union(Union *u, const JsonValue *list) {
  *u = (Union){0};
  json_open_value(&u->json, list);
  u->open = json_enter(&u->json);
}

static bool next_of_union(Writer *w, Union *u) {
  if (!u->open || !json_next_element(&u->json) || !json_value(&u->json, &u->item)) return false;
  if (u->any) put(w, " | ");
  u->any = true;
  return true;
}

static void put_enumeration(Writer *w, const JsonValue *list, bool quoted) {
  Union u;
  for (open_union(&u, list); next_of_union(w, &u);) {
    if (quoted) put(w, "\"");
    put_text(w, u.item.kind == JSON_STRING ? json_text(&u.item) : text_plain(u.item.bytes, u.item.size));
    if (quoted) put(w, "\"");
  }
}

static void put_alternatives(Writer *w, const JsonValue *list, unsigned depth) {
  Union u;
  for (open_union(&u, list); next_of_union(w, &u);) put_type(w, &u.item, depth);
}

/* Writes the type of a schema with one of JSON Schema's names in `type`. */
static void put_named_type(Writer *w, const Schema *schema, Text type, unsigned depth) {
  bool is_number = text_is(type, "number") || text_is(type, "integer"), is_text = text_is(type, "string");
  if ((is_number || is_text) && schema->enumeration.bytes != NULL && schema->enumeration.kind == JSON_ARRAY) {
    put_enumeration(w, &schema->enumeration, is_text);
  } else if (is_number) {
    put(w, "number");
  } else if (text_is(type, "object")) {
    put(w, "{\n");
    put_properties(w, schema, depth + 1);
    put(w, "\n}");
  } else if (text_is(type, "array")) {
    if (schema->items.bytes != NULL) put_type(w, &schema->items, depth);
    else put(w, "any");
    put(w, "[]");
  } else {
    put_text(w, type);
    w->text->guessed |= !is_text && !text_is(type, "boolean") && !text_is(type, "null");
  }
}

static void put_schema(Writer *w, const JsonValue *value, unsigned depth) {
  Schema schema;
  read_schema(w, value, &schema);
  if (schema.any_of.bytes != NULL && schema.any_of.kind == JSON_ARRAY) {
    put_alternatives(w, &schema.any_of, depth);
  } else if (is_string(&schema.type)) {
    put_named_type(w, &schema, json_text(&schema.type), depth);
  } else {                   /* several types, or none: no tool says how these are written */
    put(w, "any");
    w->text->guessed = true;
    if (schema.type.bytes != NULL) put_other_value(w, &schema.type);
    if (schema.enumeration.bytes != NULL) put_other_value(w, &schema.enumeration);
    if (schema.properties.bytes != NULL) put_other_value(w, &schema.properties);
  }
}

static void put_type(Writer *w, const JsonValue *value, unsigned depth) {
  if (value->kind == JSON_OBJECT && w->level < LEVEL_MAX) {
    w->level++;
    put_schema(w, value, depth);
    w->level--;
  } else {
    put(w, "any");
    put_other_value(w, value);
  }
}

/* ---- tools ---- */

typedef struct Function {
  JsonValue name, description, parameters, inner, list;
} Function;

static void read_function(const JsonValue *tool, Function *function) {
  Json json;
  Text key;
  JsonValue value;
  json_open_value(&json, tool);
  if (tool->kind != JSON_OBJECT || !json_enter(&json)) return;
  while (json_next_member(&json, &key) && json_value(&json, &value)) {
    if (text_is(key, "name")) function->name = value;
    else if (text_is(key, "description")) function->description = value;
    else if (text_is(key, "parameters") || text_is(key, "input_schema") || text_is(key, "parametersJsonSchema"))
      function->parameters = value;
    else if (text_is(key, "functionDeclarations") || text_is(key, "function_declarations")) function->list = value;
    else if (text_is(key, "function")) function->inner = value;
  }
}

static bool has_members(const JsonValue *value) {
  Json json;
  Text key;
  if (value->bytes == NULL || value->kind != JSON_OBJECT) return value->bytes != NULL;
  json_open_value(&json, value);
  return json_enter(&json) && json_next_member(&json, &key);
}

/* Writes "type name = (_: {..}) => any;". */
static void put_function(Writer *w, const Function *function) {
  Schema schema = {0};
  if (is_string(&function->description) && json_text(&function->description).size > 0) {
    put(w, "// ");
    put_text(w, json_text(&function->description));
    put(w, "\n");
  }
  put(w, "type ");
  put_text(w, json_text(&function->name));
  if (function->parameters.bytes != NULL && function->parameters.kind == JSON_OBJECT) {
    read_schema(w, &function->parameters, &schema);
  } else if (function->parameters.bytes != NULL && function->parameters.kind != JSON_NULL) {
    put_other_value(w, &function->parameters);
  }
  if (has_members(&schema.properties)) {
    put(w, " = (_: {\n");
    put_properties(w, &schema, 0);
    put(w, "\n}) => any;\n\n");
  } else {
    put(w, " = () => any;\n\n");
  }
}

static void put_tool(Writer *w, const JsonValue *tool) {
  Function function = {0};
  read_function(tool, &function);
  if (function.inner.bytes != NULL) {
    JsonValue inner = function.inner;
    read_function(&inner, &function);
  }
  w->text->any = true;
  if (is_string(&function.name)) put_function(w, &function);
  else put_other_value(w, tool);
}

static void put_tools(Writer *w, const JsonValue *tools, bool nested) {
  Json json;
  JsonValue tool;
  json_open_value(&json, tools);
  if (!json_enter(&json)) return;
  while (w->status == STATUS_OK && json_next_element(&json) && json_value(&json, &tool)) {
    Function function = {0};
    read_function(&tool, &function);
    bool is_list = !nested && function.list.bytes != NULL && function.list.kind == JSON_ARRAY;
    if (is_list) put_tools(w, &function.list, true);
    else put_tool(w, &tool);
  }
}

void tool_text_init(ToolText *text, Memory memory) {
  *text = (ToolText){0};
  buffer_init(&text->declarations, memory);
  buffer_init(&text->others, memory);
}

void tool_text_free(ToolText *text) {
  buffer_free(&text->declarations);
  buffer_free(&text->others);
}

Status tool_text_read(ToolText *text, const JsonValue *tools) {
  Writer w = {.text = text, .key = entropy_hash_key()};
  assert(tools->kind == JSON_ARRAY && !text->any);
  put(&w, "namespace functions {\n\n");
  put_tools(&w, tools, false);
  put(&w, "} // namespace functions");
  return w.status;
}
