/*
** Anthropic requires that user and assistant messages alternate, and that the calls of an
** assistant message are answered at the beginning of the next user message:
**
**     user  |  assistant  text, use a, use b  |  user  result b, result a, text
**
** System messages are skipped: they belong into a field of their own.
*/
#include "format/check_rules.h"

#include <assert.h>

#define NOWHERE UINT32_MAX

typedef struct Walk {
  Checker *checker;
  uint32_t before;           /* index of the previous message that is not a system message, or NOWHERE */
} Walk;

/* Index of the next message that is not a system message, or the count. */
static uint32_t next_of(const Checker *checker, uint32_t index) {
  assert(index < checker->count);
  do index++;
  while (index < checker->count && message_role(checker_message(checker, index)) == ROLE_SYSTEM);
  return index;
}

/* The role as which a message counts: tool messages count as the user's, where results belong. */
static Role side_of(const Message *message) {
  return message_role(message) == ROLE_ASSISTANT ? ROLE_ASSISTANT : ROLE_USER;
}

static Status check_order(Walk *walk, uint32_t index) {
  const Message *message = checker_message(walk->checker, index);
  if (walk->before == NOWHERE) {
    if (side_of(message) == ROLE_USER) return STATUS_OK;
    return checker_add(walk->checker, CHECK_USER_FIRST, index, NO_TEXT);
  }
  if (side_of(message) != side_of(checker_message(walk->checker, walk->before))) return STATUS_OK;
  return checker_add(walk->checker, CHECK_ALTERNATION, index, message_role_text(message));
}

/* ---- parts ---- */

static bool is_misplaced(const Message *message, Part part) {
  if (part.kind == PART_TOOL_USE) return message_role(message) != ROLE_ASSISTANT;
  return part.kind == PART_TOOL_RESULT && message_role(message) != ROLE_USER;
}

static Status check_part(Checker *checker, uint32_t index, Part part) {
  const Message *message = checker_message(checker, index);
  CheckCode code;
  Text type;
  if (part_is_foreign(DIALECT_ANTHROPIC, message, part, &code, &type)) return checker_add(checker, code, index, type);
  if (is_misplaced(message, part)) {
    return checker_add(checker, CHECK_MISPLACED_PART, index, text_of(part_kind_name((PartKind)part.kind)));
  }
  bool empty = part.kind == PART_TEXT && text_is_blank(message_text(message, part.text));
  return empty ? checker_add(checker, CHECK_EMPTY_TEXT, index, NO_TEXT) : STATUS_OK;
}

/* Checks the content of a message: that it has some, each part, and that results precede other parts. */
static Status check_content(Checker *checker, uint32_t index) {
  const Message *message = checker_message(checker, index);
  ContentKind kind = message_content_kind(message);
  bool has_calls = message_call_count(message) > 0;
  if (kind != CONTENT_PARTS) {
    bool empty = kind == CONTENT_STRING ? text_is_blank(message_content(message)) : !has_calls;
    return empty ? checker_add(checker, CHECK_EMPTY_TEXT, index, NO_TEXT) : STATUS_OK;
  }
  Status status = STATUS_OK;
  uint32_t count = message_part_count(message);
  bool others = false, late = false;
  if (count == 0) return checker_add(checker, CHECK_EMPTY_TEXT, index, NO_TEXT);
  for (uint32_t i = 0; i < count && status == STATUS_OK; i++) {
    Part part = message_part(message, i);
    if (part.nested) continue;
    status = check_part(checker, index, part);
    if (part.kind == PART_TOOL_RESULT) late |= others;
    else others = true;
  }
  late &= message_role(message) == ROLE_USER;
  if (status == STATUS_OK && late) status = checker_add(checker, CHECK_RESULTS_LATE, index, NO_TEXT);
  return status;
}

/* Checks the last message: if it is an assistant's, the model continues its text. */
static Status check_end(Checker *checker, uint32_t index) {
  const Message *message = checker_message(checker, index);
  uint32_t count = message_part_count(message);
  Text text = NO_TEXT;
  if (message_role(message) != ROLE_ASSISTANT) return STATUS_OK;
  if (message_content_kind(message) == CONTENT_STRING) text = message_content(message);
  else if (count > 0 && message_part(message, count - 1).kind == PART_TEXT) {
    text = message_text(message, message_part(message, count - 1).text);
  }
  bool ends_in_space = !text_is_blank(text) && text_ends_in_space(text);
  return ends_in_space ? checker_add(checker, CHECK_TRAILING_SPACE, index, NO_TEXT) : STATUS_OK;
}

/* ---- calls and results ---- */

Status anthropic_open_calls(Calls *calls, const Message *message) {
  Status status = STATUS_OK;
  calls_reset(calls);
  for (uint32_t i = 0; i < message_call_count(message) && status == STATUS_OK; i++) {
    if (!call_is_part(message, i)) continue;
    Span id = message_call(message, i).id;
    status = calls_open(calls, id.at == 0 ? NO_TEXT : message_text(message, id));
  }
  return status;
}

/* Answers the open calls by the results of a user message. */
static void answer_calls(Calls *calls, const Message *message) {
  uint32_t call;
  for (uint32_t i = 0; i < message_result_count(message); i++) {
    if (result_is_part(message, i)) calls_answer(calls, message_text(message, message_result(message, i).id), &call);
  }
}

static Status check_id(Checker *checker, uint32_t index, const OpenCall *open) {
  if (!id_is_valid(open->id)) return checker_add(checker, CHECK_CALL_ID, index, open->id);
  return open->is_duplicate ? checker_add(checker, CHECK_DUPLICATE_CALL, index, open->id) : STATUS_OK;
}

static Status check_calls(Checker *checker, uint32_t index) {
  const Message *message = checker_message(checker, index);
  Status status = anthropic_open_calls(&checker->calls, message);
  uint32_t next = next_of(checker, index);
  bool answered = next < checker->count && message_role(checker_message(checker, next)) == ROLE_USER;
  if (status == STATUS_OK && answered) answer_calls(&checker->calls, checker_message(checker, next));
  for (uint32_t i = 0; i < checker->calls.count && status == STATUS_OK; i++) {
    OpenCall *open = &checker->calls.list[i];
    status = check_id(checker, index, open);
    if (status == STATUS_OK && !open->answered) status = checker_add(checker, CHECK_UNANSWERED_CALL, index, open->id);
  }
  for (uint32_t i = 0; i < message_call_count(message) && status == STATUS_OK; i++) {
    if (!call_is_part(message, i)) {
      status = checker_add(checker, CHECK_FOREIGN_CALL, index, message_call_key(message, i));
    }
  }
  return status;
}

static Status check_results(Walk *walk, uint32_t index) {
  Checker *checker = walk->checker;
  const Message *message = checker_message(checker, index);
  if (message_result_count(message) == 0) return STATUS_OK;
  Status status = STATUS_OK;
  calls_reset(&checker->calls);
  if (walk->before != NOWHERE) status = anthropic_open_calls(&checker->calls, checker_message(checker, walk->before));
  for (uint32_t i = 0; i < message_result_count(message) && status == STATUS_OK; i++) {
    uint32_t call;
    Text id = message_text(message, message_result(message, i).id);
    Answer answer = calls_answer(&checker->calls, id, &call);
    if (answer == ANSWER_FITS) continue;
    status = checker_add(checker, answer == ANSWER_DUPLICATE ? CHECK_DUPLICATE_RESULT : CHECK_ORPHAN_RESULT, index, id);
  }
  return status;
}

/* ---- the list ---- */

/* Checks one message: its role, its place after the one before, its content, calls and results. */
static Status check_message(Walk *walk, uint32_t index) {
  assert(walk->before == NOWHERE || walk->before < index);
  Checker *checker = walk->checker;
  const Message *message = checker_message(checker, index);
  Role role = message_role(message);
  if (role == ROLE_SYSTEM) return checker_add(checker, CHECK_SYSTEM_INSIDE, index, message_role_text(message));
  Status status = check_order(walk, index);
  if (status == STATUS_OK && role == ROLE_TOOL) {
    status = checker_add(checker, CHECK_FOREIGN_ROLE, index, message_role_text(message));
  } else if (status == STATUS_OK) {
    status = check_content(checker, index);
    if (status == STATUS_OK && role == ROLE_ASSISTANT && message_call_count(message) > 0) {
      status = check_calls(checker, index);
    }
    if (status == STATUS_OK && role == ROLE_USER) status = check_results(walk, index);
  }
  if (status == STATUS_OK && next_of(checker, index) == checker->count) status = check_end(checker, index);
  walk->before = index;
  return status;
}

Status check_anthropic(Checker *checker) {
  Walk walk = {.checker = checker, .before = NOWHERE};
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < checker->count && status == STATUS_OK; i++) status = check_message(&walk, i);
  return status;
}
