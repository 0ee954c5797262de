/*
** Reads an assistant's calls: the list under tool_calls, and the one call of the legacy
** form under function_call.
*/
#include "dialect/read/reader_parts.h"

bool reader_add_call(const ReaderContext *context, Call call) {
  Reader *reader = context->reader;
  Call *grown = reader_grow(context, reader->calls, &reader->call_room, reader->call_count, sizeof *grown);
  if (grown == NULL) return false;
  reader->calls = grown;
  grown[reader->call_count++] = call;
  return true;
}

/* Reads arguments: the contents of a string, or any other value as a whole. */
static bool read_arguments(ReaderContext *context, Span *span) {
  JsonValue value;
  if (!json_value(context->json, &value)) return false;
  if (value.kind == JSON_STRING) *span = contents_span(context, &value);
  else if (value.kind != JSON_NULL) *span = value_span(context, &value);
  return true;
}

/* Reads {"name": .., "arguments": ..}, or a custom tool's {"name": .., "input": ..}. */
static bool read_function(ReaderContext *context, Call *call) {
  Text key;
  JsonKind kind;
  const char *at;
  if (!json_peek(context->json, &kind)) return false;
  at = context->json->at;
  if (kind != JSON_OBJECT) return json_fail(context->json, STATUS_SHAPE, at, "an object with name and arguments");
  if (!json_enter(context->json)) return false;
  while (json_next_member(context->json, &key)) {
    JsonValue value;
    if (text_is(key, "name")) {
      if (!reader_string(context, &call->name, "the function's name, a string")) return false;
    } else if (text_is(key, "arguments") || text_is(key, "input")) {
      if (!read_arguments(context, &call->arguments)) return false;
    } else if (!json_value(context->json, &value)) {
      return false;
    }
  }
  if (context->json->status != STATUS_OK) return false;
  return call->name.at != 0 || json_fail(context->json, STATUS_SHAPE, at, "a name in the function");
}

/* Reads an element of tool_calls and adds its call; false with an error in context->json. */
static bool read_tool_call(ReaderContext *context) {
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
    if (text_is(key, "id")) {
      if (!reader_string(context, &call.id, "the call's id, a string")) return false;
    } else if (text_is(key, "function") || text_is(key, "custom")) {
      if (!read_function(context, &call)) return false;
      has_function = true;
    } else if (!json_value(context->json, &value)) {
      return false;
    }
  }
  if (context->json->status != STATUS_OK) return false;
  if (!has_function) return json_fail(context->json, STATUS_SHAPE, at, "a function in the tool call");
  return reader_add_call(context, call);
}

bool reader_tool_calls(ReaderContext *context) {
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

bool reader_function_call(ReaderContext *context) {
  JsonKind kind;
  JsonValue value;
  Call call = {0};
  if (!json_peek(context->json, &kind)) return false;
  if (kind == JSON_NULL) return json_value(context->json, &value);
  return read_function(context, &call) && reader_add_call(context, call);
}
