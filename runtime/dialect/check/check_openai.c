/*
** OpenAI requires results directly after their calls: those of an assistant message
** follow it, each once, and occur nowhere else. The list is read as runs, each a message
** and the tool messages behind it:
**
**     [ user ] [ assistant calls a, b | tool b | tool a ] [ assistant ] [ user | tool c ]
**
** A run is read twice: first for calls without a result, which are reported at the
** message that calls, then for results without a call.
*/
#include "dialect/check/check_rules.h"

#include <assert.h>

#include "json/json_fields.h"

/* ---- content ---- */

static bool is_media(Part part) { return part.kind == PART_IMAGE || part.kind == PART_FILE || part.kind == PART_AUDIO; }

static Status check_part(Checker *checker, uint32_t index, Part part) {
  const Message *message = checker_message(checker, index);
  CheckCode code;
  Text type;
  if (part_is_foreign(DIALECT_OPENAI, message, part, &code, &type)) return checker_add(checker, code, index, type);
  bool is_result = message_role(message) == ROLE_TOOL && message_form(message) == FORM_CONTENT;
  if (is_result && part.kind == PART_OTHER) {
    return checker_add(checker, CHECK_FOREIGN_PART, index, part_type(message, part));
  }
  if (part.nested || !is_media(part)) return STATUS_OK;
  Text kind = text_of(part_kind_name((PartKind)part.kind));
  if (message_role(message) != ROLE_USER) return checker_add(checker, CHECK_MEDIA_PLACE, index, kind);
  return checker_add(checker, CHECK_MEDIA, index, kind);
}

/* True if a message of the assistant has no text but white space, and no calls. */
static bool is_blank(const Message *message) {
  if (message_role(message) != ROLE_ASSISTANT || message_call_count(message) > 0) return false;
  return message_content_kind(message) == CONTENT_STRING && text_is_blank(message_content(message));
}

static Status check_parts(Checker *checker, uint32_t index) {
  const Message *message = checker_message(checker, index);
  uint32_t count = message_part_count(message);
  ContentKind kind = message_content_kind(message);
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < count && status == STATUS_OK; i++) {
    status = check_part(checker, index, message_part(message, i));
  }
  bool is_list = kind == CONTENT_PARTS && count == 0 && message_role(message) == ROLE_USER;
  if (status == STATUS_OK) status = checker_add_if(checker, is_list, CHECK_EMPTY_CONTENT, index, NO_TEXT);
  bool is_null = kind == CONTENT_NONE && message_call_count(message) > 0;
  if (status == STATUS_OK) status = checker_add_if(checker, is_null, CHECK_NULL_CONTENT, index, NO_TEXT);
  return status == STATUS_OK ? checker_add_if(checker, is_blank(message), CHECK_EMPTY_TEXT, index, NO_TEXT) : status;
}

/* ---- roles ---- */

/* The role before `index` that templates see: of a message that is no system message; ROLE_NONE: there is none. */
static Role role_before(const Checker *checker, uint32_t index) {
  while (index-- > 0) {
    Role role = message_role(checker_message(checker, index));
    if (role != ROLE_SYSTEM) return role;
  }
  return ROLE_NONE;
}

static Status check_system(Checker *checker, uint32_t index) {
  Text role = message_role_text(checker_message(checker, index));
  bool is_developer = text_is(role, "developer");
  Status status = checker_add_if(checker, is_developer, CHECK_DEVELOPER_ROLE, index, role);
  bool takes_none = (checker->target->profile.traits >> MODEL_NO_SYSTEM & 1) != 0;      /* few and old models */
  if (status == STATUS_OK) status = checker_add_if(checker, takes_none, CHECK_SYSTEM_ROLE, index, role);
  return status == STATUS_OK ? checker_add_if(checker, index > 0, CHECK_SYSTEM_LATE, index, role) : status;
}

static Status check_role(Checker *checker, uint32_t index) {
  const Message *message = checker_message(checker, index);
  Role role = message_role(message), before = ROLE_NONE;
  if (role == ROLE_SYSTEM) return check_system(checker, index);
  if (checker_wants(checker, CHECK_ALTERNATION)) before = role_before(checker, index);
  else if (index > 0) before = message_role(checker_message(checker, index - 1));
  bool is_first = index == 0 || before == ROLE_NONE;
  bool repeats = before == role && role != ROLE_TOOL;
  Status status = checker_add_if(checker, is_first && role == ROLE_ASSISTANT, CHECK_USER_FIRST, index, NO_TEXT);
  if (status == STATUS_OK) {
    status = checker_add_if(checker, repeats, CHECK_ALTERNATION, index, message_role_text(message));
  }
  bool follows_tool = role == ROLE_USER && before == ROLE_TOOL;
  return status == STATUS_OK ? checker_add_if(checker, follows_tool, CHECK_USER_AFTER_TOOL, index, NO_TEXT) : status;
}

static Status check_reasoning(Checker *checker, uint32_t index) {
  bool lacks = message_lacks_reasoning(checker->target, checker_message(checker, index));
  return checker_add_if(checker, lacks, CHECK_REASONING_CONTENT, index, NO_TEXT);
}

/* Checks the end of the list: servers that continue a last text of the assistant say so by `prefix`. */
static Status check_end(Checker *checker, uint32_t index) {
  const Message *message = checker_message(checker, index);
  bool is_last = message_role(message) == ROLE_ASSISTANT && message_call_count(message) == 0;
  bool second = index > 0 && message_role(checker_message(checker, index - 1)) == ROLE_ASSISTANT;
  JsonValue prefix;
  bool continues = is_last && json_find(message_raw(message), "prefix", JSON_TRUE, &prefix);
  Status status = checker_add_if(checker, is_last && !continues, CHECK_ASSISTANT_LAST, index, NO_TEXT);
  if (status == STATUS_OK) status = checker_add_if(checker, is_last && second, CHECK_ASSISTANTS_LAST, index, NO_TEXT);
  if (status != STATUS_OK || !checker_wants(checker, CHECK_NO_USER)) return status;
  for (uint32_t i = 0; i < checker->count; i++) {
    if (message_role(checker_message(checker, i)) == ROLE_USER) return STATUS_OK;
  }
  return checker_add(checker, CHECK_NO_USER, index, NO_TEXT);
}

/* Checks all of a message but its calls and results. */
static Status check_alone(Checker *checker, uint32_t index) {
  Status status = check_common(checker, index);
  if (status == STATUS_OK) status = check_role(checker, index);
  if (status == STATUS_OK) status = check_parts(checker, index);
  if (status == STATUS_OK) status = check_reasoning(checker, index);
  return status == STATUS_OK && index + 1 == checker->count ? check_end(checker, index) : status;
}

/* ---- calls and results ---- */

/* True if a call has no id because it is a legacy function call, to whose name results refer. */
static bool calls_by_name(const Message *message) {
  for (uint32_t i = 0; i < message_call_count(message); i++) {
    if (message_call(message, i).id.at == 0) return message_is_legacy_call(message);
  }
  return false;
}

Status openai_open_calls(Calls *calls, const Message *message) {
  bool by_name = calls_by_name(message);
  Status status = STATUS_OK;
  calls_reset(calls);
  for (uint32_t i = 0; i < message_call_count(message) && status == STATUS_OK; i++) {
    Call call = message_call(message, i);
    if (call_is_part(message, i)) continue;
    Span id = call.id.at != 0 || !by_name ? call.id : call.name;
    status = calls_open(calls, id.at == 0 ? NO_TEXT : message_text(message, id));
  }
  return status;
}

/* The list tool_calls, read beside the message's calls. */
typedef struct CallWalk {
  Json json;
  JsonValue element;         /* bytes NULL: none yet */
} CallWalk;

static CallWalk walk_calls(const Message *message) {
  CallWalk walk = {0};
  JsonValue list;
  bool has_list = json_find(message_raw(message), "tool_calls", JSON_ARRAY, &list);
  if (!has_list) list = (JsonValue){.kind = JSON_ARRAY, .bytes = "[]", .size = 2};
  json_open_value(&walk.json, &list);
  walk.json.tolerant = true;
  json_enter(&walk.json);
  return walk;
}

/* True if a call is that of a custom tool, whose input is a text. Calls are asked for in their order. */
static bool is_custom(CallWalk *walk, Text name) {
  JsonValue custom;
  while (walk->element.bytes == NULL || walk->element.bytes + walk->element.size <= name.bytes) {
    if (!json_next_element(&walk->json) || !json_value(&walk->json, &walk->element)) return false;
  }
  bool holds = walk->element.bytes < name.bytes;
  return holds && json_find(text_plain(walk->element.bytes, walk->element.size), "custom", JSON_OBJECT, &custom);
}

/* Checks the arguments of a call: a string, with a JSON object in it where a function is called. */
static Status check_arguments(Checker *checker, uint32_t index, uint32_t number, CallWalk *walk) {
  const Message *message = checker_message(checker, index);
  Call call = message_call(message, number);
  Text key = message_call_key(message, number), name = call.name.at == 0 ? NO_TEXT : message_text(message, call.name);
  bool custom = call.name.at != 0 && is_custom(walk, name), is_object = true;
  if (!arguments_are_string(message, call)) return checker_add(checker, CHECK_CALL_ARGUMENTS_FORM, index, key);
  if (custom || !checker_wants(checker, CHECK_CALL_ARGUMENTS)) return STATUS_OK;
  Status status = checker_reads_object(checker, message_text(message, call.arguments), &is_object);
  return status == STATUS_OK ? checker_add_if(checker, !is_object, CHECK_CALL_ARGUMENTS, index, key) : status;
}

/* Checks the name and the arguments of each call. */
static Status check_forms(Checker *checker, uint32_t index) {
  const Message *message = checker_message(checker, index);
  JsonValue list;
  Status status = STATUS_OK;
  CallWalk walk = walk_calls(message);
  for (uint32_t i = 0; i < message_call_count(message) && status == STATUS_OK; i++) {
    Call call = message_call(message, i);
    if (call_is_part(message, i)) continue;            /* reported as a foreign part */
    Text name = call.name.at == 0 ? NO_TEXT : message_text(message, call.name);
    bool bad_name = !tool_name_fits(checker->target, name);
    status = checker_add_if(checker, bad_name, CHECK_CALL_NAME, index, name);
    if (status == STATUS_OK) status = check_arguments(checker, index, i, &walk);
  }
  if (status != STATUS_OK || message_call_count(message) > 0) return status;
  bool has_list = json_find(message_raw(message), "tool_calls", JSON_ARRAY, &list);
  bool empty = message_role(message) == ROLE_ASSISTANT && has_list;
  return checker_add_if(checker, empty, CHECK_EMPTY_CALLS, index, NO_TEXT);
}

/* Reports the open calls that the results [index + 1, end) do not answer. */
static Status check_calls(Checker *checker, uint32_t index, uint32_t end) {
  IdRule rule = target_call_id(checker->target);
  bool by_name = calls_by_name(checker_message(checker, index));
  uint32_t call;
  Text id;
  for (uint32_t i = index + 1; i < end; i++) {
    if (tool_answers(checker_message(checker, i), &id)) calls_answer(&checker->calls, id, &call);
  }
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < checker->calls.count && status == STATUS_OK; i++) {
    OpenCall *open = &checker->calls.list[i];
    bool fits = open->id.size > 0 && (by_name || id_fits(&rule, open->id));
    if (!fits) status = checker_add(checker, CHECK_CALL_ID, index, open->id);
    else if (open->is_duplicate) status = checker_add(checker, CHECK_DUPLICATE_CALL, index, open->id);
    if (!open->answered && status == STATUS_OK) status = checker_add(checker, CHECK_UNANSWERED_CALL, index, open->id);
  }
  return status;
}

static Status check_result(Checker *checker, uint32_t index) {
  uint32_t call;
  Text id;
  if (!tool_answers(checker_message(checker, index), &id)) {
    return checker_add(checker, CHECK_ORPHAN_RESULT, index, NO_TEXT);
  }
  Answer answer = calls_answer(&checker->calls, id, &call);
  if (answer == ANSWER_FITS) return STATUS_OK;
  return checker_add(checker, answer == ANSWER_DUPLICATE ? CHECK_DUPLICATE_RESULT : CHECK_ORPHAN_RESULT, index, id);
}

/* Checks one run [index, end): an assistant message with calls and the tool messages that follow it, or tool messages
   without such a head. Calls are opened twice, since check_calls uses up the answers. */
static Status check_run(Checker *checker, uint32_t index, uint32_t end) {
  assert(index < end && end <= checker->count);
  bool headless = message_role(checker_message(checker, index)) == ROLE_TOOL;
  uint32_t first = headless ? index : index + 1;
  Status status = STATUS_OK;
  calls_reset(&checker->calls);
  if (!headless) {
    status = openai_open_calls(&checker->calls, checker_message(checker, index));
    if (status == STATUS_OK) status = check_alone(checker, index);
    if (status == STATUS_OK) status = check_forms(checker, index);
    if (status == STATUS_OK && checker->calls.count > 0) status = check_calls(checker, index, end);
    if (status == STATUS_OK && first < end) {
      status = openai_open_calls(&checker->calls, checker_message(checker, index));
    }
  }
  for (uint32_t i = first; i < end && status == STATUS_OK; i++) {
    status = check_result(checker, i);
    if (status == STATUS_OK) status = check_alone(checker, i);
  }
  return status;
}

Status check_openai(Checker *checker) {
  Status status = STATUS_OK;
  for (uint32_t index = 0, end; index < checker->count && status == STATUS_OK; index = end) {
    end = index + 1;
    while (end < checker->count && message_role(checker_message(checker, end)) == ROLE_TOOL) end++;
    status = check_run(checker, index, end);
  }
  return status;
}
