/*
** OpenAI's Responses pairs calls and outputs by call_id, anywhere behind the call; and ties
** a reasoning item to the item that followed it in the reply:
**
**     message  |  reasoning  function_call a  |  function_call_output a  |  message
*/
#include "dialect/check/check_rules.h"

#include <assert.h>
#include <string.h>

#include "json/json_fields.h"

/* Characters that the API takes. */
#define MOST_TEXT  10485760
#define MOST_IMAGE 20971520
#define MOST_FILE  73400320

typedef struct Items {
  Checker *checker;
  uint8_t *answered;         /* by call, in the order of the list */
  uint32_t call_count, call;
  Map open;                  /* hash of a call_id -> its open call */
  uint32_t reply;            /* first item of the current reply */
  bool is_stateless;         /* nothing is stored: items cannot be named */
  Buffer scratch;
} Items;

static Text member(const Message *message, const char *name) {
  JsonValue value;
  return json_find(message_raw(message), name, JSON_STRING, &value) ? json_text(&value) : NO_TEXT;
}

/* ---- calls and outputs ---- */

/* What is known of a call_id: 0: its last call is answered; else the number of that call, from 1. */
static Status open_call(Items *items, Text key, uint32_t call, bool *again) {
  uint64_t hash = hash_text(key, &items->checker->calls.key);
  const uint64_t *open = map_find(&items->open, hash);
  *again = open != NULL && *open > 0;
  return map_put(&items->open, hash, (uint64_t)call + 1);
}

/* Answers the last call of this id, number *call. */
static Answer answer_call(Items *items, Text key, uint32_t *call) {
  uint64_t *open = map_find(&items->open, hash_text(key, &items->checker->calls.key));
  if (open == NULL) return ANSWER_ORPHAN;
  if (*open == 0) return ANSWER_DUPLICATE;
  *call = (uint32_t)*open - 1;
  *open = 0;
  return ANSWER_FITS;
}

/* Finds the calls that an output behind them answers. */
static Status find_answers(Items *items) {
  Checker *checker = items->checker;
  const Memory *memory = &checker->report->memory;
  Status status = STATUS_OK;
  uint32_t number = 0, call;
  bool again;
  for (uint32_t i = 0; i < checker->count; i++) items->call_count += message_call_count(checker_message(checker, i));
  items->answered = memory_new_array(memory, items->call_count + 1, 1);
  if (items->answered == NULL) return STATUS_MEMORY;
  memset(items->answered, 0, items->call_count + 1);
  for (uint32_t i = 0; i < checker->count && status == STATUS_OK; i++) {
    const Message *message = checker_message(checker, i);
    for (uint32_t k = 0; k < message_call_count(message) && status == STATUS_OK; k++) {
      status = open_call(items, message_call_key(message, k), number++, &again);
    }
    for (uint32_t k = 0; k < message_result_count(message); k++) {
      if (answer_call(items, message_result_key(message, k), &call) == ANSWER_FITS) items->answered[call] = 1;
    }
  }
  map_free(&items->open);
  return status;
}

static Status check_call(Items *items, uint32_t index, uint32_t number) {
  Checker *checker = items->checker;
  const Message *message = checker_message(checker, index);
  IdRule rule = target_call_id(checker->target);
  Call form = message_call(message, number);
  Text key = message_call_key(message, number), name = form.name.at == 0 ? NO_TEXT : message_text(message, form.name);
  bool is_item = message_form(message) == FORM_ITEM, again;      /* other messages have many calls: no walk for each */
  bool is_function = is_item && text_is(member(message, "type"), "function_call"), is_object = true;
  bool is_custom = is_item && text_is(member(message, "type"), "custom_tool_call");
  bool is_string = arguments_are_string(message, form), waits = items->answered[items->call] == 0;
  Status status = open_call(items, key, items->call, &again);
  if (status == STATUS_OK) status = checker_add_if(checker, !id_fits(&rule, key), CHECK_CALL_ID, index, key);
  if (status == STATUS_OK) status = checker_add_if(checker, again, CHECK_DUPLICATE_CALL, index, key);
  bool bad_name = is_function && !tool_name_fits(checker->target, name);
  if (status == STATUS_OK) status = checker_add_if(checker, bad_name, CHECK_CALL_NAME, index, name);
  bool bad_form = (is_function || is_custom) && !is_string;
  if (status == STATUS_OK) status = checker_add_if(checker, bad_form, CHECK_CALL_ARGUMENTS_FORM, index, key);
  bool reads = is_function && is_string && checker_wants(checker, CHECK_CALL_ARGUMENTS);
  if (status == STATUS_OK && reads) {
    status = checker_reads_object(checker, message_text(message, form.arguments), &is_object);
  }
  if (status == STATUS_OK) status = checker_add_if(checker, !is_object, CHECK_CALL_ARGUMENTS, index, key);
  return status == STATUS_OK ? checker_add_if(checker, waits, CHECK_UNANSWERED_CALL, index, key) : status;
}

static Status check_calls(Items *items, uint32_t index) {
  const Message *message = checker_message(items->checker, index);
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < message_call_count(message) && status == STATUS_OK; i++, items->call++) {
    assert(items->call < items->call_count);
    status = check_call(items, index, i);
  }
  return status;
}

/* Checks the output of a function or a custom tool: a string, or a list of parts that the dialect has. */
static Status check_output(Checker *checker, uint32_t index, Text type) {
  const Message *message = checker_message(checker, index);
  bool is_output = text_is(type, "function_call_output") || text_is(type, "custom_tool_call_output");
  if (!is_output || message_form(message) != FORM_ITEM) return STATUS_OK;
  ContentKind kind = message_content_kind(message);
  Text key = message_result_count(message) > 0 ? message_result_key(message, 0) : NO_TEXT, found;
  Status status = checker_add_if(checker, kind == CONTENT_NONE, CHECK_RESULT_FORM, index, key);
  for (uint32_t i = 0; i < message_part_count(message) && kind == CONTENT_PARTS && status == STATUS_OK; i++) {
    CheckCode code;
    bool foreign = result_part_is_foreign(DIALECT_RESPONSES, message, message_part(message, i), &code, &found);
    if (foreign) status = checker_add(checker, code, index, found);
  }
  return status;
}

static Status check_outputs(Items *items, uint32_t index) {
  const Message *message = checker_message(items->checker, index);
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < message_result_count(message) && status == STATUS_OK; i++) {
    uint32_t call;
    Text key = message_result_key(message, i);
    Answer answer = answer_call(items, key, &call);
    if (answer == ANSWER_FITS) continue;
    CheckCode code = answer == ANSWER_DUPLICATE ? CHECK_DUPLICATE_RESULT : CHECK_ORPHAN_RESULT;
    status = checker_add(items->checker, code, index, key);
  }
  return status;
}

/* ---- ids ---- */

/* The beginning of the ids of a type of items; NULL: any. */
static const char *prefix_of(Text type) {
  if (text_is(type, "reasoning")) return "rs_";
  if (text_is(type, "message")) return "msg_";
  return text_is(type, "function_call") ? "fc_" : NULL;
}

static Status check_id(Items *items, uint32_t index, Text type) {
  Checker *checker = items->checker;
  const Message *message = checker_message(checker, index);
  JsonValue value;
  bool again = false;
  if (type.size == 0 || !json_find(message_raw(message), "id", JSON_STRING, &value)) return STATUS_OK;
  Text id = json_text(&value);
  const char *prefix = prefix_of(type);
  bool fits = id_is_valid(id) && (prefix == NULL || text_starts_with(id, text_of(prefix)));
  bool is_reference = text_is(type, "item_reference");
  Status status = checker_add_if(checker, !fits, CHECK_ITEM_ID, index, id);
  if (status == STATUS_OK) status = checker_see(checker, id, &again);
  if (status == STATUS_OK) status = checker_add_if(checker, again, CHECK_DUPLICATE_ITEM, index, id);
  bool is_bare = text_is(type, "reasoning") && member(message, "encrypted_content").size == 0;
  bool is_missing = items->is_stateless && (is_reference || is_bare);
  return status == STATUS_OK ? checker_add_if(checker, is_missing, CHECK_STORED_ITEMS, index, id) : status;
}

/* ---- reasoning ---- */

static bool is_reply(const Checker *checker, uint32_t index) {
  return index < checker->count && message_role(checker_message(checker, index)) == ROLE_ASSISTANT;
}

static Status check_reasoning(Items *items, uint32_t index, Text type) {
  Checker *checker = items->checker;
  Text id = member(checker_message(checker, index), "id");
  bool is_bound = index >= checker->bound_first && index < checker->bound_end;
  if (text_is(type, "reasoning")) {
    Status status = checker_add_if(checker, !is_reply(checker, index + 1), CHECK_REASONING_ALONE, index, id);
    return status == STATUS_OK ? checker_add_if(checker, is_bound, CHECK_BOUND_THINKING, index, NO_TEXT) : status;
  }
  bool is_first = index == items->reply && is_reply(checker, index);
  return checker_add_if(checker, is_first && id.size > 0 && type.size > 0, CHECK_REASONING_LOST, index, id);
}

/* ---- content ---- */

static Status check_text(Items *items, uint32_t index) {
  static const char *const tokens[] = {"<|channel|>", "<|start|>", "<|end|>", "<|message|>", "<|return|>", "<|call|>"};
  Checker *checker = items->checker;
  const Message *message = checker_message(checker, index);
  bool contains = false;
  if (!checker_wants(checker, CHECK_CONTROL_TOKEN)) return STATUS_OK;
  for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
    Status status = message_contains(message, text_of(tokens[i]), &items->scratch, &contains);
    if (status != STATUS_OK) return status;
    if (contains) return checker_add(checker, CHECK_CONTROL_TOKEN, index, text_of(tokens[i]));
  }
  return STATUS_OK;
}

static Status check_parts(Checker *checker, uint32_t index) {
  const Message *message = checker_message(checker, index);
  Status status = STATUS_OK;
  bool is_long = message_content_kind(message) == CONTENT_STRING && message_content(message).size > MOST_TEXT;
  status = checker_add_if(checker, is_long, CHECK_TEXT_SIZE, index, text_of("the text"));
  for (uint32_t i = 0; i < message_part_count(message) && status == STATUS_OK; i++) {
    Part part = message_part(message, i);
    CheckCode code;
    Text type;
    uint32_t most = part.kind == PART_IMAGE ? MOST_IMAGE : part.kind == PART_FILE ? MOST_FILE : MOST_TEXT;
    status = checker_add_if(checker, part.text.size > most, CHECK_TEXT_SIZE, index,
                            text_of(part_kind_name((PartKind)part.kind)));
    bool is_message = message_form(message) == FORM_CONTENT;
    bool foreign = is_message && part_is_foreign(DIALECT_RESPONSES, message, part, &code, &type);
    if (foreign && status == STATUS_OK) status = checker_add(checker, code, index, type);
  }
  return status;
}

/* ---- the list ---- */

/* Checks a message of another dialect's form; *foreign: it is one. */
static Status check_form(Checker *checker, uint32_t index, bool *foreign) {
  const Message *message = checker_message(checker, index);
  MessageForm form = message_form(message);
  bool is_tool = form == FORM_CONTENT && message_role(message) == ROLE_TOOL;
  bool calls = form == FORM_CONTENT && message_call_count(message) > 0;
  *foreign = form == FORM_PARTS || is_tool;
  if (form == FORM_PARTS) return checker_add(checker, CHECK_FOREIGN_PART, index, text_of("parts"));
  if (is_tool) return checker_add(checker, CHECK_FOREIGN_ROLE, index, message_role_text(message));
  return checker_add_if(checker, calls, CHECK_FOREIGN_CALL, index, calls ? message_call_key(message, 0) : NO_TEXT);
}

static Status check_item(Items *items, uint32_t index) {
  Checker *checker = items->checker;
  bool foreign;
  Text type = member(checker_message(checker, index), "type");
  Status status = check_common(checker, index);
  if (index == 0 || !is_reply(checker, index - 1)) items->reply = index;
  if (status == STATUS_OK) status = check_form(checker, index, &foreign);
  if (status == STATUS_OK) status = check_parts(checker, index);
  if (status == STATUS_OK) status = check_text(items, index);
  if (status == STATUS_OK) status = check_calls(items, index);
  if (status == STATUS_OK && !foreign) status = check_output(checker, index, type);
  if (status == STATUS_OK && !foreign) status = check_outputs(items, index);
  if (status != STATUS_OK || foreign) return status;
  bool triggers = text_is(type, "compaction_trigger") && index + 1 < checker->count;
  status = checker_add_if(checker, triggers, CHECK_TRIGGER_LAST, index, NO_TEXT);
  if (status == STATUS_OK) status = check_id(items, index, type);
  return status == STATUS_OK ? check_reasoning(items, index, type) : status;
}

Status check_responses(Checker *checker) {
  Items items = {.checker = checker};
  const CheckTarget *target = checker->target;
  JsonValue store;
  items.is_stateless = codes_have(&target->profile.refuses, CHECK_STORED_ITEMS) ||
                       (target->body.size > 0 && json_find(target->body, "store", JSON_FALSE, &store));
  buffer_init(&items.scratch, checker->report->memory);
  map_init(&items.open, checker->report->memory);
  Status status = find_answers(&items);
  for (uint32_t i = 0; i < checker->count && status == STATUS_OK; i++) status = check_item(&items, i);
  memory_free(&checker->report->memory, items.answered, items.answered == NULL ? 0 : items.call_count + 1);
  map_free(&items.open);
  buffer_free(&items.scratch);
  return status;
}
