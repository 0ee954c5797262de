/*
** The forms of calls and results, and members that a server requires: what is wrong in one
** message by itself. What is there stays, in another form:
**
**     arguments {"a": 1}           "{\"a\": 1}"              where a text is wanted
**     arguments "{\"a\": hello"    {"input": "{\"a\": hello"}   no object; as a conversion writes it
**     output {"a": 1}, null        "{\"a\": 1}", ""
**     no reasoning_content         ""
**     content null beside calls    ""
**     tool_calls []                left out
*/
#include <assert.h>

#include "dialect/repair/repair_plan.h"
#include "json/json_fields.h"

typedef struct FormRepair {
  Plan *plan;
  Buffer value, list;        /* what is written instead of a member; a list of calls or of parts */
  Buffer inner;              /* a decoded text */
  const char *reason;        /* why the message changes, static; NULL: it does not */
} FormRepair;

static Dialect dialect_of(const FormRepair *repair) { return repair->plan->options->target.dialect; }

static Text text_in(const Buffer *buffer) { return text_plain(buffer->bytes, buffer->size); }

/* ---- arguments ---- */

/* Writes `before`, the JSON of a string or another value, and `after`. */
static Status put_value(Buffer *out, const char *before, Text value, bool is_string, const char *after) {
  Status status = buffer_add_string(out, before);
  if (status == STATUS_OK && is_string) status = plan_put(out, "\"", value, "\"");
  else if (status == STATUS_OK) status = buffer_add(out, value.bytes, value.size);
  return status == STATUS_OK ? buffer_add_string(out, after) : status;
}

/* Writes arguments as the JSON of an object: themselves if they are one. */
static Status put_object(Text arguments, bool is_string, bool is_object, Buffer *out) {
  if (is_object) return is_string ? text_decode(arguments, out) : buffer_add(out, arguments.bytes, arguments.size);
  if (text_is_blank(arguments)) return buffer_add_string(out, "{}");
  return put_value(out, "{\"input\":", arguments, is_string, "}");
}

/* Finds whether a call's arguments have a form that the target refuses; the right one is in `value` then. */
static Status mend_arguments(FormRepair *repair, const Message *message, Call call, bool is_custom, bool *mends) {
  const Plan *plan = repair->plan;
  bool wants_text = dialect_of(repair) == DIALECT_OPENAI || dialect_of(repair) == DIALECT_RESPONSES;
  bool is_string = arguments_are_string(message, call), is_object;
  Text arguments = call.arguments.at == 0 ? NO_TEXT : message_text(message, call.arguments);
  Status status = text_reads_object(arguments, &repair->inner, &is_object);
  bool absent = call.arguments.at == 0 && dialect_of(repair) == DIALECT_GEMINI;
  bool bad_form = wants_text && !is_string && plan_is_repairing(plan, CHECK_CALL_ARGUMENTS_FORM);
  bool bad_kind = wants_text ? !is_object && !is_custom : (is_string || !is_object) && !absent;
  bad_kind &= plan_is_repairing(plan, CHECK_CALL_ARGUMENTS);
  *mends = bad_form || bad_kind;
  if (status != STATUS_OK || !*mends) return status;
  buffer_reset(&repair->value);
  if (!wants_text) return put_object(arguments, is_string, is_object, &repair->value);
  buffer_reset(&repair->inner);
  if (bad_kind || arguments.size == 0) {
    status = is_custom ? STATUS_OK : put_object(arguments, is_string, is_object, &repair->inner);
  } else {
    status = buffer_add(&repair->inner, arguments.bytes, arguments.size);
  }
  return status == STATUS_OK ? plan_put(&repair->value, "\"", text_in(&repair->inner), "\"") : status;
}

/* ---- calls and results in lists ---- */

static Status begin_element(FormRepair *repair) {
  return repair->list.size > 1 ? buffer_add_byte(&repair->list, ',') : STATUS_OK;
}

static Status put_element(FormRepair *repair, Text raw) { return buffer_add(&repair->list, raw.bytes, raw.size); }

/* Writes tool_calls with the arguments that are wanted. */
static Status write_tool_calls(FormRepair *repair, const Message *message, const JsonValue *list) {
  Json json;
  JsonValue element, custom;
  uint32_t number = 0;
  json_open_value(&json, list);
  json.tolerant = true;
  json_enter(&json);
  buffer_reset(&repair->list);
  Status status = buffer_add_byte(&repair->list, '[');
  while (status == STATUS_OK && json_next_element(&json) && json_value(&json, &element)) {
    Text raw = text_plain(element.bytes, element.size);
    bool is_custom = json_find(raw, "custom", JSON_OBJECT, &custom), mends = false;
    while (number < message_call_count(message) && call_is_part(message, number)) number++;
    if (number == message_call_count(message)) break;
    status = mend_arguments(repair, message, message_call(message, number++), is_custom, &mends);
    if (status == STATUS_OK) status = begin_element(repair);
    if (status != STATUS_OK) break;
    if (!mends) status = put_element(repair, raw);
    else {
      status = plan_put_member(repair->plan, raw, is_custom ? "input" : "arguments", is_custom ? "custom" : "function",
                               text_in(&repair->value), &repair->list);
      repair->reason = "arguments of a call";
    }
  }
  return status == STATUS_OK ? buffer_add_byte(&repair->list, ']') : status;
}

/* Writes a call's part. */
static Status write_call_part(FormRepair *repair, const Message *message, Text raw, Call call) {
  bool is_gemini = dialect_of(repair) == DIALECT_GEMINI, mends;
  JsonValue found;
  Status status = mend_arguments(repair, message, call, false, &mends);
  if (status != STATUS_OK || !mends) return status == STATUS_OK ? put_element(repair, raw) : status;
  bool is_snake = is_gemini && !json_find(raw, "functionCall", JSON_OBJECT, &found);
  const char *nested = is_snake ? "function_call" : is_gemini ? "functionCall" : "tool_use";
  repair->reason = "arguments of a call";
  return plan_put_member(repair->plan, raw, is_gemini ? "args" : "input", nested, text_in(&repair->value),
                         &repair->list);
}

static bool find_value(Text raw, const char *key, JsonValue *value) {
  for (JsonKind kind = JSON_NULL; kind <= JSON_OBJECT; kind++) {
    if (json_find(raw, key, kind, value)) return true;
  }
  return false;
}

/* Writes a value that is neither a string nor a list as the text that it is; null as "". */
static Status text_of_value(FormRepair *repair, const JsonValue *value) {
  bool says_nothing = value == NULL || value->kind == JSON_NULL;
  buffer_reset(&repair->value);
  return plan_put(&repair->value, "\"", says_nothing ? NO_TEXT : text_plain(value->bytes, value->size), "\"");
}

/* Writes a result's part of Anthropic's. */
static Status write_result_part(FormRepair *repair, const Message *message, Part part, Text raw) {
  JsonValue content;
  bool has = part_find(message, part, "content", JSON_OBJECT, &content) ||
             part_find(message, part, "content", JSON_NUMBER, &content) ||
             part_find(message, part, "content", JSON_TRUE, &content) ||
             part_find(message, part, "content", JSON_FALSE, &content);
  bool mends = has && dialect_of(repair) == DIALECT_ANTHROPIC && plan_is_repairing(repair->plan, CHECK_RESULT_FORM);
  if (!mends) return put_element(repair, raw);
  Status status = text_of_value(repair, &content);
  repair->reason = "form of a result";
  if (status != STATUS_OK) return status;
  return plan_put_member(repair->plan, raw, "content", "tool_result", text_in(&repair->value), &repair->list);
}

static Status write_parts(FormRepair *repair, const Message *message) {
  uint32_t number = 0;
  buffer_reset(&repair->list);
  Status status = buffer_add_byte(&repair->list, '[');
  for (uint32_t i = 0; i < message_part_count(message) && status == STATUS_OK; i++) {
    Part part = message_part(message, i);
    Text raw = message_text(message, part.value);
    if (part.nested) continue;
    status = begin_element(repair);
    if (status != STATUS_OK) break;
    bool is_call = part.kind == PART_TOOL_USE && number < message_call_count(message);
    if (is_call) status = write_call_part(repair, message, raw, message_call(message, number++));
    else if (part.kind == PART_TOOL_RESULT) status = write_result_part(repair, message, part, raw);
    else status = put_element(repair, raw);
  }
  return status == STATUS_OK ? buffer_add_byte(&repair->list, ']') : status;
}

/* ---- messages ---- */

/* Edits an item of Responses: the arguments of a function, the output of one. */
static Status edit_item(FormRepair *repair, const Message *message, MemberEdit *edit, uint32_t *count) {
  JsonValue value;
  Text type = json_find(message_raw(message), "type", JSON_STRING, &value) ? json_text(&value) : NO_TEXT;
  bool is_custom = text_is(type, "custom_tool_call"), mends = false;
  Status status = STATUS_OK;
  if ((is_custom || text_is(type, "function_call")) && message_call_count(message) > 0) {
    status = mend_arguments(repair, message, message_call(message, 0), is_custom, &mends);
    *edit = (MemberEdit){.key = text_of(is_custom ? "input" : "arguments")};
    if (mends) repair->reason = "arguments of a call";
  } else if (text_is(type, "function_call_output") || text_is(type, "custom_tool_call_output")) {
    mends = message_content_kind(message) == CONTENT_NONE && plan_is_repairing(repair->plan, CHECK_RESULT_FORM);
    bool has = find_value(message_raw(message), "output", &value);
    if (mends) status = text_of_value(repair, has ? &value : NULL);
    *edit = (MemberEdit){.key = text_of("output")};
    if (mends) repair->reason = "form of a result";
  }
  edit->value = text_in(&repair->value);
  *count = mends;
  return status;
}

/* Adds an edit of a member; an empty value leaves it out. */
static void add_edit(FormRepair *repair, MemberEdit *edits, uint32_t *count, const char *key, const char *value,
                     const char *reason) {
  edits[(*count)++] = (MemberEdit){.key = text_of(key), .value = text_of(value)};
  if (repair->reason == NULL) repair->reason = reason;
}

/* Edits what says nothing: content that is null beside calls, and a list without calls. */
static void edit_nothing(FormRepair *repair, const Message *message, MemberEdit *edits, uint32_t *count) {
  JsonValue list;
  bool calls = message_call_count(message) > 0;
  bool is_null = calls && message_content_kind(message) == CONTENT_NONE;
  bool has_none = !calls && message_role(message) == ROLE_ASSISTANT &&
                  json_find(message_raw(message), "tool_calls", JSON_ARRAY, &list);
  if (is_null && plan_is_repairing(repair->plan, CHECK_NULL_CONTENT)) {
    add_edit(repair, edits, count, "content", "\"\"", "content beside calls");
  }
  if (has_none && plan_is_repairing(repair->plan, CHECK_EMPTY_CALLS)) {
    add_edit(repair, edits, count, "tool_calls", "", "list without calls");
  }
}

/* Edits a message with a role: its calls in OpenAI's form, or its parts; and its reasoning. */
static Status edit_message(FormRepair *repair, const Message *message, MemberEdit *edits, uint32_t *count) {
  Text raw = message_raw(message);
  JsonValue value;
  bool is_openai = dialect_of(repair) == DIALECT_OPENAI, mends = false;
  bool calls = message_role(message) == ROLE_ASSISTANT && message_call_count(message) > 0;
  Status status = STATUS_OK;
  if (!is_openai && message_content_kind(message) == CONTENT_PARTS) {
    status = write_parts(repair, message);
    edits[(*count)++] = (MemberEdit){.key = text_of(message_content_key(message)), .value = text_in(&repair->list)};
  } else if (is_openai && calls && json_find(raw, "tool_calls", JSON_ARRAY, &value)) {
    status = write_tool_calls(repair, message, &value);
    edits[(*count)++] = (MemberEdit){.key = text_of("tool_calls"), .value = text_in(&repair->list)};
  } else if (is_openai && calls && json_find(raw, "function_call", JSON_OBJECT, &value)) {
    status = mend_arguments(repair, message, message_call(message, 0), false, &mends);
    buffer_reset(&repair->list);
    if (status == STATUS_OK && mends) {
      status = plan_put_member(repair->plan, text_plain(value.bytes, value.size), "arguments", NULL,
                               text_in(&repair->value), &repair->list);
      edits[(*count)++] = (MemberEdit){.key = text_of("function_call"), .value = text_in(&repair->list)};
      repair->reason = "arguments of a call";
    }
  }
  if (repair->reason == NULL) *count = 0;
  if (is_openai) edit_nothing(repair, message, edits, count);
  bool lacks = is_openai && plan_is_repairing(repair->plan, CHECK_REASONING_CONTENT) &&
               message_lacks_reasoning(&repair->plan->options->target, message);
  if (!lacks) return status;
  add_edit(repair, edits, count, "reasoning_content", "\"\"", "reasoning_content");
  return status;
}

static Status plan_form(FormRepair *repair, uint32_t index) {
  Plan *plan = repair->plan;
  const Message *message = plan_message(plan, index);
  MemberEdit edits[3];       /* calls, content, reasoning */
  uint32_t count = 0;
  size_t at = plan->bytes.size;
  repair->reason = NULL;
  bool takes_items = dialect_of(repair) == DIALECT_RESPONSES || dialect_of(repair) == DIALECT_OPENAI;
  bool is_item = message_form(message) == FORM_ITEM;
  Status status = STATUS_OK;
  if (is_item && takes_items) status = edit_item(repair, message, edits, &count);
  else if (!is_item) status = edit_message(repair, message, edits, &count);
  if (status != STATUS_OK || count == 0) return status;
  status = json_edit_members(message_raw(message), edits, count, &plan->bytes);
  return status == STATUS_OK ? plan_step(plan, PLAN_REWRITE, index, at, repair->reason) : status;
}

Status plan_forms(Plan *plan) {
  FormRepair repair = {.plan = plan};
  bool mends = plan_is_repairing(plan, CHECK_CALL_ARGUMENTS) || plan_is_repairing(plan, CHECK_CALL_ARGUMENTS_FORM) ||
               plan_is_repairing(plan, CHECK_RESULT_FORM) || plan_is_repairing(plan, CHECK_REASONING_CONTENT) ||
               plan_is_repairing(plan, CHECK_NULL_CONTENT) || plan_is_repairing(plan, CHECK_EMPTY_CALLS);
  Status status = STATUS_OK;
  if (!mends) return status;
  buffer_init(&repair.value, plan->memory);
  buffer_init(&repair.list, plan->memory);
  buffer_init(&repair.inner, plan->memory);
  for (uint32_t i = 0; i < plan->count && status == STATUS_OK; i++) status = plan_form(&repair, i);
  buffer_free(&repair.inner);
  buffer_free(&repair.list);
  buffer_free(&repair.value);
  return status;
}
