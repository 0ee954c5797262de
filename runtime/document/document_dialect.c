/*
** The dialect of a document: that of its messages, and where these fit several, what stands around them.
*/
#include <assert.h>

#include "document/document.h"
#include "json/json_fields.h"

/* The dialect in whose form a tool is: {"function": {..}}, {"custom": {..}}; {"name": ..} with a schema, or
   with the type of one that the provider runs. 0: another form. */
static unsigned dialect_of_tool(Text tool) {
  JsonValue member;
  if (json_find(tool, "function", JSON_OBJECT, &member) || json_find(tool, "custom", JSON_OBJECT, &member)) {
    return 1u << DIALECT_OPENAI;
  }
  if (json_find(tool, "input_schema", JSON_OBJECT, &member)) return 1u << DIALECT_ANTHROPIC;
  bool is_typed = json_find(tool, "type", JSON_STRING, &member) && !text_is(json_text(&member), "function");
  return is_typed && json_find(tool, "name", JSON_STRING, &member) ? 1u << DIALECT_ANTHROPIC : 0;
}

/* The dialect in whose form the first tool of a body is; 0 if it has none that tells. */
static unsigned with_tools(const JsonValue *tools) {
  Json json;
  JsonValue tool;
  if (tools->bytes == NULL || tools->kind != JSON_ARRAY) return 0;
  json_open_value(&json, tools);
  json.tolerant = true;
  bool has = json_enter(&json) && json_next_element(&json) && json_value(&json, &tool) && tool.kind == JSON_OBJECT;
  return has ? dialect_of_tool(text_plain(tool.bytes, tool.size)) : 0;
}

/* The dialects with the form of the tools and the place of the system text; where these tell nothing,
   those that have the other members. */
static unsigned with_members(const Document *document) {
  unsigned dialects = with_tools(&document->members[REQUEST_TOOLS]);
  for (unsigned i = 0; i < DIALECT_COUNT; i++) {
    const char *system = dialect_form((Dialect)i)->system;
    RequestMember member;
    bool has = system != NULL && request_member_of(text_of(system), &member) && document->members[member].bytes != NULL;
    if (has) dialects |= 1u << i;
  }
  dialects &= document->dialects;
  return dialects != 0 ? dialects : document->likely;
}

Dialect document_dialect(const Document *document, const Store *store, const Sequence *list) {
  assert((document->likely & ~document->dialects) == 0);
  if (document->shape != DOCUMENT_BODY || document->dialects == 0) return dialect_detect(store, list);
  DialectHints hints = {.possible = document->dialects, .likely = with_members(document),
                        .model = dialects_of_model(document->model) & document->dialects,
                        .first = document->first, .count = document->count};
  return dialect_detect_within(store, list, &hints);
}
