/*
** Gemini wants a content that calls directly behind the user's, and behind it a content of
** the user with as many responses as there were calls:
**
**     user  |  model  call a, call b  |  user  response a, response b  |  model  text
*/
#include "dialect/check/check_rules.h"
#include "dialect/thought_signature.h"

#include <assert.h>
#include <string.h>

#include "json/json_fields.h"

static bool is_model(const Checker *checker, uint32_t index) {
  return message_role(checker_message(checker, index)) == ROLE_ASSISTANT;
}

Text part_signature(const Message *message, Part part) {
  JsonValue value;
  bool has = part_find(message, part, "thoughtSignature", JSON_STRING, &value) ||
             part_find(message, part, "thought_signature", JSON_STRING, &value);
  return has ? json_text(&value) : NO_TEXT;
}

bool signature_stands_in(Text signature) {
  return text_is(signature, NO_THOUGHT_SIGNATURE) || text_is(signature, "context_engineering_is_the_way_to_go");
}

/* ---- parts ---- */

/* True for the object {}. */
static bool is_empty_part(const Message *message, Part part) {
  Json json;
  Text raw = message_text(message, part.value), key;
  json_open_valid(&json, raw.bytes, raw.size);
  return raw.bytes[0] == '{' && json_enter(&json) && !json_next_member(&json, &key);
}

/* True if the JSON of a response has a key that the API reads itself. */
static bool has_reserved_key(Text response) {
  const char *end = response.bytes + response.size;
  for (const char *at = response.bytes; at < end; at++) {
    if (*at != '"') continue;
    Text string = {.bytes = at + 1};
    for (at++; at < end && *at != '"'; at++) {
      if (*at == '\\') string.escaped = true, at++;
    }
    string.size = (size_t)(at - string.bytes);
    const char *next = at + 1;
    while (next < end && strchr(" \t\r\n", *next)) next++;
    if (next < end && *next == ':' && text_is(string, "$ref")) return true;      /* else a string that spells the key */
  }
  return false;
}

/* The value of a member of a part's functionResponse; false if it has none of this kind. */
static bool find_in_response(const Message *message, Part part, const char *name, JsonKind kind, JsonValue *value) {
  JsonValue inner;
  bool has = part_find(message, part, "functionResponse", JSON_OBJECT, &inner) ||
             part_find(message, part, "function_response", JSON_OBJECT, &inner);
  return has && json_find(text_plain(inner.bytes, inner.size), name, kind, value);
}

bool response_is_refused(const Message *message, Part part, CheckCode *code, JsonValue *response) {
  static const JsonKind wrong[] = {JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY};
  *code = CHECK_RESERVED_KEY;
  if (find_in_response(message, part, "response", JSON_OBJECT, response)) {
    return has_reserved_key(text_plain(response->bytes, response->size));
  }
  *code = CHECK_RESULT_FORM;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    if (find_in_response(message, part, "response", wrong[i], response)) return true;
  }
  return false;
}

/* Checks the name of a response, and that it is an object without keys that the API reads itself. */
static Status check_response(Checker *checker, uint32_t index, Part part) {
  const Message *message = checker_message(checker, index);
  JsonValue value;
  CheckCode code;
  Text name = find_in_response(message, part, "name", JSON_STRING, &value) ? json_text(&value) : NO_TEXT;
  Status status = checker_add_if(checker, !tool_name_fits(checker->target, name), CHECK_RESULT_NAME, index, name);
  if (status != STATUS_OK || !response_is_refused(message, part, &code, &value)) return status;
  return checker_add(checker, code, index, name);
}

static Status check_part(Checker *checker, uint32_t index, Part part) {
  const Message *message = checker_message(checker, index);
  bool misplaced = (part.kind == PART_TOOL_USE && !is_model(checker, index)) ||
                   (part.kind == PART_TOOL_RESULT && is_model(checker, index));
  bool stands_in = signature_stands_in(part_signature(message, part));
  Status status = checker_add_if(checker, is_empty_part(message, part), CHECK_EMPTY_CONTENT, index, NO_TEXT);
  Text kind = text_of(part_kind_name((PartKind)part.kind));
  if (status == STATUS_OK) status = checker_add_if(checker, misplaced, CHECK_MISPLACED_PART, index, kind);
  if (status == STATUS_OK && part.kind == PART_TOOL_RESULT) status = check_response(checker, index, part);
  return status == STATUS_OK ? checker_add_if(checker, stands_in, CHECK_SENTINEL_SIGNATURE, index, NO_TEXT) : status;
}

/* Checks each part, and that responses precede all others. */
static Status check_parts(Checker *checker, uint32_t index) {
  const Message *message = checker_message(checker, index);
  uint32_t count = message_part_count(message);
  bool others = false, late = false;
  Status status = checker_add_if(checker, count == 0, CHECK_EMPTY_CONTENT, index, NO_TEXT);
  for (uint32_t i = 0; i < count && status == STATUS_OK; i++) {
    Part part = message_part(message, i);
    if (part.nested) continue;
    late |= part.kind == PART_TOOL_RESULT && others;
    others |= part.kind != PART_TOOL_RESULT;
    status = check_part(checker, index, part);
  }
  return status == STATUS_OK ? checker_add_if(checker, late, CHECK_RESULTS_LATE, index, NO_TEXT) : status;
}

/* ---- calls and responses ---- */

static Status check_forms(Checker *checker, uint32_t index) {
  const Message *message = checker_message(checker, index);
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < message_call_count(message) && status == STATUS_OK; i++) {
    Call call = message_call(message, i);
    Text name = call.name.at == 0 ? NO_TEXT : message_text(message, call.name);
    bool is_object = call.arguments.at == 0 || message_text(message, call.arguments).bytes[0] == '{';
    status = checker_add_if(checker, !tool_name_fits(checker->target, name), CHECK_CALL_NAME, index, name);
    if (status == STATUS_OK) status = checker_add_if(checker, !is_object, CHECK_CALL_ARGUMENTS, index, name);
  }
  return status;
}

/* Checks a content that calls: its place, and that the next one has responses. */
static Status check_calls(Checker *checker, uint32_t index) {
  const Message *message = checker_message(checker, index);
  bool behind_model = index > 0 && is_model(checker, index - 1);
  Status status = checker_add_if(checker, behind_model, CHECK_CALL_PLACE, index, NO_TEXT);
  if (status == STATUS_OK) status = check_forms(checker, index);
  bool answered = index + 1 < checker->count && message_result_count(checker_message(checker, index + 1)) > 0;
  for (uint32_t i = 0; i < message_call_count(message) && !answered && status == STATUS_OK; i++) {
    status = checker_add(checker, CHECK_UNANSWERED_CALL, index, message_call_key(message, i));
  }
  return status;
}

/* Checks a content with responses: the content before calls, and as often. */
static Status check_results(Checker *checker, uint32_t index) {
  const Message *message = checker_message(checker, index);
  uint32_t calls = index > 0 ? message_call_count(checker_message(checker, index - 1)) : 0;
  uint32_t results = message_result_count(message);
  Status status = checker_add_if(checker, calls > 0 && results != calls, CHECK_RESULT_COUNT, index, text_of("the"));
  for (uint32_t i = 0; i < results && calls == 0 && status == STATUS_OK; i++) {
    status = checker_add(checker, CHECK_ORPHAN_RESULT, index, message_result_key(message, i));
  }
  return status;
}

/* Checks that the first call of a step behind the last text of the user is signed. */
static Status check_signature(Checker *checker, uint32_t index) {
  const Message *message = checker_message(checker, index);
  const Message *before = index == 0 ? NULL : checker_message(checker, index - 1);
  if (before != NULL && is_model(checker, index - 1) && message_call_count(before) > 0) return STATUS_OK;
  for (uint32_t i = 0; i < message_part_count(message); i++) {
    Part part = message_part(message, i);
    if (part.kind != PART_TOOL_USE) continue;
    bool is_signed = part_signature(message, part).size > 0;
    return checker_add_if(checker, !is_signed, CHECK_MISSING_SIGNATURE, index, message_call_key(message, 0));
  }
  return STATUS_OK;
}

/* ---- the list ---- */

static Status check_content(Checker *checker, uint32_t index, uint32_t step) {
  const Message *message = checker_message(checker, index);
  Role role = message_role(message);
  Status status = check_common(checker, index);
  if (status != STATUS_OK) return status;
  if (role == ROLE_SYSTEM) return checker_add(checker, CHECK_SYSTEM_INSIDE, index, message_role_text(message));
  if (message_form(message) != FORM_PARTS) {
    return checker_add(checker, CHECK_FOREIGN_ROLE, index, message_role_text(message));
  }
  /* A text of the model may come first; its calls follow a user's turn or responses. */
  bool calls_first = index == 0 && role == ROLE_ASSISTANT && message_call_count(message) > 0;
  status = checker_add_if(checker, calls_first, CHECK_USER_FIRST, index, NO_TEXT);
  if (status == STATUS_OK) status = check_parts(checker, index);
  if (status == STATUS_OK && message_call_count(message) > 0) status = check_calls(checker, index);
  if (status == STATUS_OK && message_result_count(message) > 0) status = check_results(checker, index);
  if (status == STATUS_OK && index >= step) status = check_signature(checker, index);
  bool ends = index + 1 == checker->count && role == ROLE_ASSISTANT && message_call_count(message) == 0;
  return status == STATUS_OK ? checker_add_if(checker, ends, CHECK_ASSISTANT_LAST, index, NO_TEXT) : status;
}

Status check_gemini(Checker *checker) {
  Status status = STATUS_OK;
  uint32_t step = 0;
  for (uint32_t i = 0; i < checker->count; i++) {
    if (message_starts_turn(checker_message(checker, i))) step = i + 1;
  }
  for (uint32_t i = 0; i < checker->count && status == STATUS_OK; i++) status = check_content(checker, i, step);
  return status;
}
