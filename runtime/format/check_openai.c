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
#include "format/check_rules.h"

#include <assert.h>

static Status check_parts(Checker *checker, uint32_t index) {
  const Message *message = checker_message(checker, index);
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < message_part_count(message) && status == STATUS_OK; i++) {
    CheckCode code;
    Text type;
    bool foreign = part_is_foreign(DIALECT_OPENAI, message, message_part(message, i), &code, &type);
    if (foreign) status = checker_add(checker, code, index, type);
  }
  return status;
}

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

/* Reports the open calls that the results [index + 1, end) do not answer. */
static Status check_calls(Checker *checker, uint32_t index, uint32_t end) {
  uint32_t call;
  Text id;
  for (uint32_t i = index + 1; i < end; i++) {
    if (tool_answers(checker_message(checker, i), &id)) calls_answer(&checker->calls, id, &call);
  }
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < checker->calls.count && status == STATUS_OK; i++) {
    OpenCall *open = &checker->calls.list[i];
    if (open->id.size == 0) status = checker_add(checker, CHECK_CALL_ID, index, open->id);
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
    if (status == STATUS_OK) status = check_parts(checker, index);
    if (status == STATUS_OK && checker->calls.count > 0) status = check_calls(checker, index, end);
    if (status == STATUS_OK && first < end) {
      status = openai_open_calls(&checker->calls, checker_message(checker, index));
    }
  }
  for (uint32_t i = first; i < end && status == STATUS_OK; i++) {
    status = check_result(checker, i);
    if (status == STATUS_OK) status = check_parts(checker, i);
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
