/*
** What a model reads of its tools, keyword by keyword. Tables write ' for ".
*/
#include "documents.h"

#include "dialect/tool_text.h"

#define FUNCTION(parameters) "[{'type':'function','function':{'name':'f','parameters':" parameters "}}]"
#define PROPERTIES(list) FUNCTION("{'type':'object','properties':{" list "}}")
#define PROPERTY(schema) PROPERTIES("'a':" schema)
#define TYPE(text) "type f = (_: {\na?: " text ",\n}) => any;\n\n"

static const struct Row {
  const char *shows, *tools, *declarations, *others;
  bool guessed;
} rows[] = {
  {"a function without parameters", "[{'name':'f'}]", "type f = () => any;\n\n", "", false},
  {"its description before it", "[{'name':'f','description':'Does\\nit.'}]", "// Does\nit.\ntype f = () => any;\n\n", "", false},
  {"an empty description is left out", "[{'name':'f','description':''}]", "type f = () => any;\n\n", "", false},
  {"no properties", PROPERTIES(""), "type f = () => any;\n\n", "", false},
  {"two functions", "[{'name':'f'},{'type':'function','function':{'name':'g'}}]",
   "type f = () => any;\n\ntype g = () => any;\n\n", "", false},
  {"functions of Gemini", "[{'functionDeclarations':[{'name':'f'}]},{'name':'g'}]",
   "type f = () => any;\n\ntype g = () => any;\n\n", "", false},
  {"strings, numbers, integers", PROPERTIES("'a':{'type':'string'},'b':{'type':'number'},'c':{'type':'integer'}"),
   "type f = (_: {\na?: string,\nb?: number,\nc?: number,\n}) => any;\n\n", "", false},
  {"booleans and null", PROPERTIES("'a':{'type':'boolean'},'b':{'type':'null'}"),
   "type f = (_: {\na?: boolean,\nb?: null,\n}) => any;\n\n", "", false},
  {"what is required, however it is written",
   FUNCTION("{'required':['\\u0061'],'properties':{'a':{'type':'null'},'b':{'type':'null'}}}"),
   "type f = (_: {\na: null,\nb?: null,\n}) => any;\n\n", "", false},
  {"a property's description", PROPERTY("{'description':'One.','type':'null'}"),
   "type f = (_: {\n// One.\na?: null,\n}) => any;\n\n", "", false},
  {"not one further down, and not that of all parameters",
   FUNCTION("{'description':'All','properties':{'a':{'type':'object','properties':"
            "{'b':{'type':'null','description':'x'}}}}}"),
   TYPE("{\n  b?: null,\n}"), "", false},
  {"an enum of texts", PROPERTY("{'type':'string','enum':['x','y']}"), TYPE("\"x\" | \"y\""), "", false},
  {"an enum of numbers", PROPERTY("{'type':'integer','enum':[1,2]}"), TYPE("1 | 2"), "", false},
  {"an array", PROPERTY("{'type':'array'}"), TYPE("any[]"), "", false},
  {"an array of objects", PROPERTY("{'type':'array','items':{'type':'object','required':['b'],'properties':"
   "{'b':{'type':'array','items':{'type':'string'}}}}}"), TYPE("{\n  b: string[],\n}[]"), "", false},
  {"objects in objects", PROPERTY("{'type':'object','properties':{'b':{'type':'object','properties':{'c':{'type':'null'}}}}}"),
   TYPE("{\n  b?: {\n    c?: null,\n},\n}"), "", false},
  {"an object without properties", PROPERTY("{'type':'object'}"), TYPE("{\n\n}"), "", false},
  {"anyOf", PROPERTY("{'anyOf':[{'type':'string'},{'type':'object','properties':{'b':{'type':'null'}}}]}"),
   TYPE("string | {\n  b?: null,\n}"), "", false},
  {"what is not shown", PROPERTY("{'type':'number','const':1,'minimum':1,'maximum':2,'additionalProperties':false}"),
   TYPE("number"), "", false},
  {"a keyword without a rule", PROPERTY("{'type':'string','pattern':'^x$'}"), TYPE("string"), "pattern\n\"^x$\"", true},
  {"one of all parameters", FUNCTION("{'title':'T','properties':{}}"), "type f = () => any;\n\n", "title\n\"T\"", true},
  {"several types", PROPERTY("{'type':['string','null']}"), TYPE("any"), "[\"string\",\"null\"]", true},
  {"no type", PROPERTY("{'enum':['x']}"), TYPE("any"), "[\"x\"]", true},
  {"an unknown type", PROPERTY("{'type':'date'}"), TYPE("date"), "", true},
  {"a schema that is not an object", PROPERTY("true"), TYPE("any"), "true", true},
  {"properties that are not an object", FUNCTION("{'properties':5}"), "type f = (_: {\n\n}) => any;\n\n", "5", true},
  {"parameters that are not an object", FUNCTION("5"), "type f = () => any;\n\n", "5", true},
  {"no parameters, said", FUNCTION("null"), "type f = () => any;\n\n", "", false},
  {"other tools", "[{'type':'web_search'},{'name':5},'x']", "", "{\"type\":\"web_search\"}\n{\"name\":5}\n\"x\"", true},
};

static void read(const char *json, size_t size, Memory memory, ToolText *text, Status *status) {
  JsonValue value = {.kind = JSON_ARRAY, .bytes = json, .size = size};
  tool_text_init(text, memory);
  *status = tool_text_read(text, &value);
}

static bool buffer_is(const Buffer *buffer, const char *before, const char *text, const char *after) {
  char expected[600];
  int size = snprintf(expected, sizeof expected, "%s%s%s", before, text, after);
  return buffer->size == (size_t)size && memcmp(buffer->bytes, expected, (size_t)size) == 0;
}

static void schemas_are_written_as_types(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *json = quoted(rows[i].tools);
    ToolText text;
    Status status;
    read(json, strlen(json), memory_system(), &text, &status);
    assert_int_equal(status, STATUS_OK);
    bool same = buffer_is(&text.declarations, "namespace functions {\n\n", rows[i].declarations,
                          "} // namespace functions") &&
                (text.others.size == 0 ? rows[i].others[0] == '\0' : buffer_is(&text.others, "", rows[i].others, ""));
    if (!same || text.guessed != rows[i].guessed || !text.any) {
      fail_msg("%s: %.*s; %.*s", rows[i].shows, (int)text.declarations.size, text.declarations.bytes,
               (int)text.others.size, text.others.bytes);
    }
    tool_text_free(&text);
  }
}

/* A schema of 200 arrays in arrays ends as text, and what is written does not grow with the depth. */
static void deep_schemas_end_as_text(void **state) {
  (void)state;
  char json[10000] = "[{\"name\":\"f\",\"parameters\":{\"properties\":{\"a\":";
  for (int i = 0; i < 200; i++) strcat(json, "{\"type\":\"array\",\"items\":");
  strcat(json, "{}");
  for (int i = 0; i < 200; i++) strcat(json, "}");
  strcat(json, "}}}]");
  ToolText text;
  Status status;
  read(json, strlen(json), memory_system(), &text, &status);
  assert_int_equal(status, STATUS_OK);
  assert_true(text.guessed && text.declarations.size + text.others.size < strlen(json) + 200);
  tool_text_free(&text);
}

static void without_memory_nothing_is_left(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *json = quoted(rows[i].tools);
    Status status = STATUS_MEMORY;
    for (size_t k = 1; status != STATUS_OK; k++) {
      Fail fail = {.fail_at = k};
      ToolText text;
      read(json, strlen(json), fail_memory(&fail), &text, &status);
      assert_true(status == STATUS_OK || status == STATUS_MEMORY);
      tool_text_free(&text);
      assert_int_equal(fail.in_use, 0);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(schemas_are_written_as_types),
    cmocka_unit_test(deep_schemas_end_as_text),
    cmocka_unit_test(without_memory_nothing_is_left),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
