/*
** Reads items: messages without a role, whose type says what they are.
**
**     {"type": "function_call", "call_id", "name", "arguments"}     an assistant's call
**     {"type": "function_call_output", "call_id", "output"}         a tool's result
**     {"type": "reasoning", "summary", "content", "encrypted_content"}
**
** Items of other types are one part of their own, kept whole; those of a provider's tools
** with a call_id are calls or results too. A reference to a file, which a pipeline resolves, is a
** user's.
*/
#include "dialect/read/reader_parts.h"

/* ITEM_CALL and ITEM_RESULT are those of functions; ITEM_SERVER_* of a provider's own tools. */
typedef enum ItemKind {
  ITEM_CALL, ITEM_RESULT, ITEM_SERVER_CALL, ITEM_SERVER_RESULT, ITEM_REASONING, ITEM_IMAGE, ITEM_REFERENCE,
  ITEM_SETTING, ITEM_OTHER
} ItemKind;

static const struct {
  Text type;
  ItemKind kind;
} TYPES[] = {
  {WORD("function_call"), ITEM_CALL},
  {WORD("function_call_output"), ITEM_RESULT},
  {WORD("reasoning"), ITEM_REASONING},
  {WORD("custom_tool_call"), ITEM_CALL},
  {WORD("custom_tool_call_output"), ITEM_RESULT},
  {WORD("item_reference"), ITEM_REFERENCE},
  {WORD("compaction"), ITEM_OTHER},
  {WORD("web_search_call"), ITEM_OTHER},
  {WORD("file_search_call"), ITEM_OTHER},
  {WORD("code_interpreter_call"), ITEM_OTHER},
  {WORD("image_generation_call"), ITEM_IMAGE},
  {WORD("mcp_list_tools"), ITEM_OTHER},
  {WORD("mcp_call"), ITEM_OTHER},
  {WORD("mcp_approval_request"), ITEM_SERVER_CALL},
  {WORD("mcp_approval_response"), ITEM_SERVER_RESULT},
  {WORD("computer_call"), ITEM_SERVER_CALL},
  {WORD("computer_call_output"), ITEM_SERVER_RESULT},
  {WORD("local_shell_call"), ITEM_SERVER_CALL},
  {WORD("local_shell_call_output"), ITEM_SERVER_RESULT},
  {WORD("shell_call"), ITEM_SERVER_CALL},
  {WORD("shell_call_output"), ITEM_SERVER_RESULT},
  {WORD("apply_patch_call"), ITEM_SERVER_CALL},
  {WORD("apply_patch_call_output"), ITEM_SERVER_RESULT},
  {WORD("tool_search_call"), ITEM_SERVER_CALL},
  {WORD("tool_search_output"), ITEM_SERVER_RESULT},
  {WORD("program"), ITEM_SERVER_CALL},
  {WORD("program_output"), ITEM_SERVER_RESULT},
  {WORD("compaction_trigger"), ITEM_SETTING},
  {WORD("configuration_update"), ITEM_SETTING},
  {WORD("additional_tools"), ITEM_SETTING},
};

static bool find_kind(Text type, ItemKind *kind) {
  for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++) {
    if (!is_word(type, TYPES[i].type)) continue;
    *kind = TYPES[i].kind;
    return true;
  }
  *kind = ITEM_OTHER;
  return false;
}

bool reader_is_item(Text type, bool *has_role) {
  ItemKind kind;
  bool is_item = find_kind(type, &kind);
  *has_role = kind == ITEM_SETTING;
  return is_item;
}

/* The members of items that are read here; bytes NULL: absent. */
typedef struct ItemFields {
  JsonValue type, id, call_id, approval_request_id, name, arguments, input, output, summary, content, result,
    encrypted_content;
} ItemFields;

static JsonValue *field_of(ItemFields *fields, Text key) {
  if (text_is(key, "type")) return &fields->type;
  if (text_is(key, "id")) return &fields->id;
  if (text_is(key, "call_id")) return &fields->call_id;
  if (text_is(key, "approval_request_id")) return &fields->approval_request_id;
  if (text_is(key, "name")) return &fields->name;
  if (text_is(key, "arguments")) return &fields->arguments;
  if (text_is(key, "input")) return &fields->input;
  if (text_is(key, "output")) return &fields->output;
  if (text_is(key, "summary")) return &fields->summary;
  if (text_is(key, "content")) return &fields->content;
  if (text_is(key, "result")) return &fields->result;
  if (text_is(key, "encrypted_content")) return &fields->encrypted_content;
  return NULL;
}

typedef struct Item {
  ReaderContext *context;
  MessageShape *shape;
  ItemFields fields;
  Span whole;
  const char *start;
} Item;

static bool fail(const Item *item, const char *expected) {
  return json_fail(item->context->json, STATUS_SHAPE, item->start, expected);
}

static bool read_fields(Item *item, size_t size) {
  Json json;
  Text key;
  json_open(&json, item->start, size);
  json.tolerant = item->context->json->tolerant;
  if (!json_enter(&json)) return json_fail(item->context->json, json.status, json.error, json.expected);
  while (json_next_member(&json, &key)) {
    JsonValue value;
    if (!json_value(&json, &value)) break;
    JsonValue *field = field_of(&item->fields, key);
    if (field != NULL && value.kind != JSON_NULL) *field = value;
  }
  return json.status == STATUS_OK || json_fail(item->context->json, json.status, json.error, json.expected);
}

static bool add_whole(Item *item, bool unknown) {
  return reader_add_part(item->context, (Part){.kind = PART_OTHER, .value = item->whole, .unknown = unknown});
}

/* ---- calls and results ---- */

static bool read_call(Item *item) {
  const ReaderContext *context = item->context;
  const ItemFields *fields = &item->fields;
  const JsonValue *arguments = fields->arguments.bytes != NULL ? &fields->arguments : &fields->input;
  Call call = {.id = string_span(context, &fields->call_id), .name = string_span(context, &fields->name)};
  item->shape->role = ROLE_ASSISTANT;
  if (call.id.at == 0) return fail(item, "a call_id in the call");
  if (call.name.at == 0) return fail(item, "a name in the call");
  if (arguments->bytes != NULL) {
    bool string = arguments->kind == JSON_STRING;
    call.arguments = string ? contents_span(context, arguments) : value_span(context, arguments);
  }
  return reader_add_call(context, call);
}

/* A call of a provider's tool is named by its type, if it has no name. One that the provider answered itself may
   lack a call_id. */
static bool read_server_call(Item *item) {
  const ReaderContext *context = item->context;
  const ItemFields *fields = &item->fields;
  Call call = {.id = string_span(context, &fields->call_id), .name = string_span(context, &fields->name)};
  item->shape->role = ROLE_ASSISTANT;
  if (call.id.at == 0 && text_is(json_text(&fields->type), "mcp_approval_request")) {
    call.id = string_span(context, &fields->id);
  }
  if (call.name.at == 0) call.name = string_span(context, &fields->type);
  return add_whole(item, false) && (call.id.at == 0 || reader_add_call(context, call));
}

/* Reads the output of a result: a string, parts, or one part; another one is a part whole. */
static bool read_output(Item *item, bool server) {
  ReaderContext *context = item->context;
  const JsonValue *output = &item->fields.output;
  MessageShape *shape = item->shape;
  if (output->bytes != NULL && output->kind == JSON_STRING) {
    shape->content_kind = CONTENT_STRING;
    shape->content = contents_span(context, output);
    return true;
  }
  if (output->bytes != NULL && output->kind == JSON_OBJECT) return reader_parts_of(context, output, false);
  if (!json_is_list(output)) return add_whole(item, false);
  if (!reader_parts_of(context, output, false)) return false;
  for (uint32_t i = 0; i < context->reader->part_count && server; i++) context->reader->parts[i].unknown = false;
  shape->content_kind = CONTENT_PARTS;
  shape->content = value_span(context, output);
  return true;
}

static bool read_result(Item *item, bool server) {
  const ItemFields *fields = &item->fields;
  Result result = {.id = string_span(item->context, &fields->call_id)};
  item->shape->role = ROLE_TOOL;
  if (result.id.at == 0) result.id = string_span(item->context, &fields->approval_request_id);
  if (result.id.at == 0 && !server) return fail(item, "a call_id in the result");
  return read_output(item, server) && (result.id.at == 0 || reader_add_result(item->context, result));
}

/* ---- reasoning ---- */

/* Adds the item as one part with its first text; further texts are nested parts. */
static bool read_reasoning(Item *item) {
  Reader *reader = item->context->reader;
  const ItemFields *fields = &item->fields;
  uint32_t at = reader->part_count;
  item->shape->role = ROLE_ASSISTANT;
  Part part = {.kind = PART_REASONING, .value = item->whole,
               .sealed = fields->encrypted_content.bytes != NULL};
  if (!reader_add_part(item->context, part)) return false;
  if (json_is_list(&fields->summary) && !reader_parts_of(item->context, &fields->summary, true)) return false;
  if (json_is_list(&fields->content) && !reader_parts_of(item->context, &fields->content, true)) return false;
  if (reader->part_count == at + 1) return true;
  reader->parts[at].text = reader->parts[at + 1].text;
  memmove(reader->parts + at + 1, reader->parts + at + 2, (reader->part_count - at - 2) * sizeof *reader->parts);
  reader->part_count--;
  return true;
}

/* ---- all of it ---- */

/* Forgets what the message's plain members mean in a message with a role. */
static void forget_plain(Item *item, ItemKind kind) {
  static const MessageField plain[] = {FIELD_NAME, FIELD_REASONING, FIELD_REFUSAL};
  MessageShape *shape = item->shape;
  Reader *reader = item->context->reader;
  reader->part_count = reader->call_count = reader->result_count = 0;
  for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) shape->fields[plain[i]] = (Span){0};
  if (kind == ITEM_REFERENCE) shape->fields[FIELD_ID] = (Span){0};     /* it names another item */
  shape->form = FORM_ITEM;
  shape->content_kind = CONTENT_NONE;
  shape->content = (Span){0};
}

bool reader_item(ReaderContext *context, size_t size, MessageShape *shape) {
  Item item = {.context = context, .shape = shape, .start = context->start,
               .whole = {.at = 0, .size = (uint32_t)size & 0x7fffffffu}};
  ItemKind kind;
  if (!read_fields(&item, size)) return false;
  assert(item.fields.type.bytes != NULL && item.fields.type.kind == JSON_STRING);
  bool known = find_kind(json_text(&item.fields.type), &kind);
  forget_plain(&item, kind);
  switch (kind) {
  case ITEM_CALL: return read_call(&item);
  case ITEM_RESULT: return read_result(&item, false);
  case ITEM_SERVER_CALL: return read_server_call(&item);
  case ITEM_SERVER_RESULT: return read_result(&item, true);
  case ITEM_REASONING: return read_reasoning(&item);
  case ITEM_SETTING:
    shape->role = ROLE_SYSTEM;
    return add_whole(&item, false);
  case ITEM_IMAGE:
    shape->role = ROLE_ASSISTANT;
    return reader_add_part(context, (Part){.kind = PART_IMAGE, .value = item.whole,
                                           .text = string_span(context, &item.fields.result)});
  case ITEM_REFERENCE:
  case ITEM_OTHER: break;
  }
  bool refers = reader_type_refers(json_text(&item.fields.type));
  shape->role = refers ? ROLE_USER : ROLE_ASSISTANT;
  if (refers) return reader_add_part(context, (Part){.kind = PART_ASSET, .value = item.whole});
  return add_whole(&item, !known);
}
