/*
** Anthropic joins consecutive messages of one role into a turn, and requires that the calls
** of an assistant turn are answered at the beginning of the next user turn:
**
**     user  |  assistant  text, use a, use b  |  user  result b, result a  user  text
**
** So lists need not alternate. Strict servers join nothing; for them the rules alternation,
** user_first and results_apart hold. System messages belong into a field of their own, but
** for models that take them inside, and are part of no turn.
*/
#include "dialect/check/check_rules.h"

#include <assert.h>

#include "json/json_fields.h"

#define NOWHERE UINT32_MAX

typedef struct Walk {
  Checker *checker;
  uint32_t first, end;       /* the current turn: its first message, and that of the next turn */
  uint32_t previous;         /* first message of the turn before, or NOWHERE */
  uint32_t call;             /* of checker->calls: the first of the current message */
  bool has_others;           /* the turn has parts that are no results */
  bool has_results;          /* it has results in an earlier message */
  bool has_compaction;       /* the list has a signed compaction part */
  bool user_goes_on;         /* the next turn has more than results */
  Map served;                /* hash of an id -> first message of the turn that has its result */
  uint32_t next;             /* the next message that is no system message, as far as it was looked for */
  uint32_t loop;             /* first message behind the last text of the user: the open tool loop */
} Walk;

/* Index of the next message that is not a system message, or the count. */
static uint32_t next_of(const Checker *checker, uint32_t index) {
  assert(index < checker->count);
  do index++;
  while (index < checker->count && message_role(checker_message(checker, index)) == ROLE_SYSTEM);
  return index;
}

/* The role as which a message counts: tool messages count as the user's, where results belong. */
static Role side_of(const Checker *checker, uint32_t index) {
  return message_role(checker_message(checker, index)) == ROLE_ASSISTANT ? ROLE_ASSISTANT : ROLE_USER;
}

/* The first message behind the turn that begins at `index`. */
static uint32_t end_of_turn(const Checker *checker, uint32_t index) {
  Role side = side_of(checker, index);
  do index = next_of(checker, index);
  while (index < checker->count && side_of(checker, index) == side);
  return index;
}

static Status check_order(Walk *walk, uint32_t index) {
  Checker *checker = walk->checker;
  if (index != walk->first) {
    return checker_add(checker, CHECK_ALTERNATION, index, message_role_text(checker_message(checker, index)));
  }
  bool begins = walk->previous == NOWHERE && side_of(checker, index) == ROLE_ASSISTANT;
  return checker_add_if(checker, begins, CHECK_USER_FIRST, index, NO_TEXT);
}

/* ---- parts ---- */

static bool is_misplaced(const Message *message, Part part) {
  if (part.kind == PART_TOOL_USE) return message_role(message) != ROLE_ASSISTANT;
  return part.kind == PART_TOOL_RESULT && message_role(message) != ROLE_USER;
}

/* Checks a thinking part: its signature, and that it is not bound to messages that have changed. */
static Status check_thinking(Checker *checker, uint32_t index, Part part) {
  const Message *message = checker_message(checker, index);
  JsonValue signature;
  bool is_text = text_is(part_type(message, part), "thinking");
  bool is_signed = part_find(message, part, "signature", JSON_STRING, &signature) && signature.size > 2;
  Status status = checker_add_if(checker, is_text && !is_signed, CHECK_UNSIGNED_THINKING, index, NO_TEXT);
  bool is_bound = index >= checker->bound_first && index < checker->bound_end;
  return status == STATUS_OK ? checker_add_if(checker, is_bound, CHECK_BOUND_THINKING, index, NO_TEXT) : status;
}

/* Checks the form of a result's content, and that its parts are Anthropic's. */
static Status check_result_form(Checker *checker, uint32_t index, uint32_t at, Text key) {
  static const JsonKind wrong[] = {JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_OBJECT};
  const Message *message = checker_message(checker, index);
  JsonValue value;
  Text type;
  bool is_wrong = false;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    is_wrong |= part_find(message, message_part(message, at), "content", wrong[i], &value);
  }
  Status status = checker_add_if(checker, is_wrong, CHECK_RESULT_FORM, index, key);
  for (uint32_t i = at + 1; i < message_part_count(message) && message_part(message, i).nested; i++) {
    CheckCode code;
    bool is_foreign = result_part_is_foreign(DIALECT_ANTHROPIC, message, message_part(message, i), &code, &type);
    if (status == STATUS_OK && is_foreign) status = checker_add(checker, code, index, type);
  }
  return status;
}

/* Checks the content of an error result: text, and some of it; and that no content is an empty list. */
static Status check_result_content(Checker *checker, uint32_t index, uint32_t at) {
  const Message *message = checker_message(checker, index);
  Part part = message_part(message, at);
  JsonValue value, id;
  bool is_error = part_find(message, part, "is_error", JSON_TRUE, &value), has_media = false;
  bool has_list = part_find(message, part, "content", JSON_ARRAY, &value);
  bool has_parts = has_list && at + 1 < message_part_count(message) && message_part(message, at + 1).nested;
  bool has_text = part_find(message, part, "content", JSON_STRING, &value) && value.size > 2;
  Text key = part_find(message, part, "tool_use_id", JSON_STRING, &id) ? json_text(&id) : NO_TEXT;
  for (uint32_t i = at + 1; i < message_part_count(message) && message_part(message, i).nested; i++) {
    has_media |= message_part(message, i).kind != PART_TEXT;
  }
  Status status = check_result_form(checker, index, at, key);
  if (status == STATUS_OK) status = checker_add_if(checker, has_list && !has_parts, CHECK_RESULT_EMPTY, index, key);
  bool says_nothing = is_error && !has_text && !has_parts;
  if (status == STATUS_OK) status = checker_add_if(checker, says_nothing, CHECK_ERROR_EMPTY, index, key);
  return status == STATUS_OK ? checker_add_if(checker, is_error && has_media, CHECK_ERROR_MEDIA, index, key) : status;
}

/* Checks a part whose type only Anthropic has. */
static Status check_own_part(Walk *walk, uint32_t index, Part part) {
  Checker *checker = walk->checker;
  const Message *message = checker_message(checker, index);
  Text type = part_type(message, part);
  JsonValue value;
  if (text_is(type, "server_tool_use")) {
    Text id = part_find(message, part, "id", JSON_STRING, &value) ? json_text(&value) : NO_TEXT;
    bool fits = text_starts_with(id, text_of("srvtoolu_")) &&
                id_fits(&(IdRule){.min = 10, .characters = ID_WORD}, id);
    return checker_add_if(checker, !fits, CHECK_SERVER_CALL_ID, index, id);
  }
  if (!text_is(type, "compaction")) return STATUS_OK;
  bool is_empty = part_find(message, part, "content", JSON_STRING, &value) && value.size == 2;
  bool is_signed = part_has(message, part, "signature");
  bool misplaced = is_signed && (walk->has_compaction || walk->previous != NOWHERE || index != walk->first);
  walk->has_compaction |= is_signed;
  return checker_add_if(checker, is_empty || misplaced, CHECK_COMPACTION, index, NO_TEXT);
}

/* Checks the mark `cache_control` of a part. */
static Status check_mark(Checker *checker, uint32_t index, Part part) {
  const Message *message = checker_message(checker, index);
  bool is_late;
  if (!checker_see_mark(checker, message_text(message, part.value), &is_late)) return STATUS_OK;
  Text type = part_type(message, part);
  bool is_empty = part.kind == PART_TEXT && text_is_blank(message_text(message, part.text));
  bool takes_none = part.kind == PART_REASONING || is_empty || text_is(type, "fallback");
  Status status = checker_add_if(checker, takes_none, CHECK_CACHE_PLACE, index, type);
  if (status == STATUS_OK) status = checker_add_if(checker, is_late, CHECK_CACHE_ORDER, index, NO_TEXT);
  bool is_fifth = checker->cache_marks == 5;
  return status == STATUS_OK ? checker_add_if(checker, is_fifth, CHECK_CACHE_MARKS, index, NO_TEXT) : status;
}

static Status check_part(Walk *walk, uint32_t index, uint32_t at) {
  Checker *checker = walk->checker;
  const Message *message = checker_message(checker, index);
  Part part = message_part(message, at);
  CheckCode code;
  Text type;
  if (part_is_foreign(DIALECT_ANTHROPIC, message, part, &code, &type)) return checker_add(checker, code, index, type);
  if (is_misplaced(message, part)) {
    return checker_add(checker, CHECK_MISPLACED_PART, index, text_of(part_kind_name((PartKind)part.kind)));
  }
  Status status = check_mark(checker, index, part);
  if (status != STATUS_OK) return status;
  if (part.kind == PART_REASONING) return check_thinking(checker, index, part);
  if (part.kind == PART_TOOL_RESULT) return check_result_content(checker, index, at);
  if (part.kind == PART_OTHER) return check_own_part(walk, index, part);
  bool is_text = part.kind == PART_TEXT && part.text.at != 0;      /* else CHECK_PART_TEXT has told it */
  bool empty = is_text && text_is_blank(message_text(message, part.text));
  return checker_add_if(checker, empty, CHECK_EMPTY_TEXT, index, NO_TEXT);
}

/* Checks the order of a message's parts: results precede others in a user turn; no text follows a call. */
static Status check_part_order(Walk *walk, uint32_t index) {
  Checker *checker = walk->checker;
  const Message *message = checker_message(checker, index);
  bool late = false, apart = false, called = false, text_follows = false;
  for (uint32_t i = 0; i < message_part_count(message); i++) {
    Part part = message_part(message, i);
    if (part.nested) continue;
    bool is_result = part.kind == PART_TOOL_RESULT;
    late |= is_result && walk->has_others;
    apart |= is_result && walk->has_results;
    walk->has_others |= !is_result;
    text_follows |= part.kind == PART_TEXT && called;
    called = part.kind == PART_TOOL_USE || (called && part.kind == PART_TEXT);
  }
  walk->has_results |= message_result_count(message) > 0;
  bool is_user = message_role(message) == ROLE_USER;
  Status status = checker_add_if(checker, is_user && late, CHECK_RESULTS_LATE, index, NO_TEXT);
  if (status == STATUS_OK) status = checker_add_if(checker, is_user && apart, CHECK_RESULTS_APART, index, NO_TEXT);
  text_follows &= message_role(message) == ROLE_ASSISTANT;
  if (status != STATUS_OK) return status;
  return checker_add_if(checker, text_follows, CHECK_CALL_NOT_LAST, index, text_of("text"));
}

/* Checks the content of a message: that it has some, each part, and their order. */
static Status check_content(Walk *walk, uint32_t index) {
  Checker *checker = walk->checker;
  const Message *message = checker_message(checker, index);
  ContentKind kind = message_content_kind(message);
  bool has_calls = message_call_count(message) > 0;
  if (message_form(message) == FORM_ITEM && kind != CONTENT_PARTS) {     /* its calls and results are reported apart */
    bool has_part = message_part_count(message) > 0;
    Text type = has_part ? part_type(message, message_part(message, 0)) : NO_TEXT;
    walk->has_others = true;
    return checker_add_if(checker, has_part, CHECK_FOREIGN_PART, index, type);
  }
  if (kind != CONTENT_PARTS) {
    bool empty = kind == CONTENT_STRING ? text_is_blank(message_content(message)) : !has_calls;
    walk->has_others = true;
    return checker_add_if(checker, empty, CHECK_EMPTY_TEXT, index, NO_TEXT);
  }
  Status status = STATUS_OK;
  uint32_t count = message_part_count(message);
  if (count == 0) return checker_add(checker, CHECK_EMPTY_TEXT, index, NO_TEXT);
  for (uint32_t i = 0; i < count && status == STATUS_OK; i++) {
    if (!message_part(message, i).nested) status = check_part(walk, index, i);
  }
  return status == STATUS_OK ? check_part_order(walk, index) : status;
}

/* ---- the end ---- */

bool message_may_go_on(const Message *message) {
  uint32_t count = message_part_count(message);
  if (count == 0) return false;
  Part last = message_part(message, count - 1);
  return last.kind == PART_OTHER && dialect_has_part(DIALECT_ANTHROPIC, part_type(message, last));
}

/* Checks the last message: if it is an assistant's, the model continues its text, or refuses to. */
static Status check_end(Checker *checker, uint32_t index) {
  const Message *message = checker_message(checker, index);
  uint32_t count = message_part_count(message);
  Text text = NO_TEXT;
  if (message_role(message) != ROLE_ASSISTANT) return STATUS_OK;
  bool goes_on = message_call_count(message) > 0 || message_may_go_on(message);
  Status status = checker_add_if(checker, !goes_on, CHECK_ASSISTANT_LAST, index, NO_TEXT);
  if (message_content_kind(message) == CONTENT_STRING) text = message_content(message);
  else if (count > 0 && message_part(message, count - 1).kind == PART_TEXT) {
    text = message_text(message, message_part(message, count - 1).text);
  }
  bool ends_in_space = !text_is_blank(text) && text_ends_in_space(text);
  return status == STATUS_OK ? checker_add_if(checker, ends_in_space, CHECK_TRAILING_SPACE, index, NO_TEXT) : status;
}

/* ---- calls and results ---- */

/* Opens the calls of a message's tool_use parts behind those that are open. STATUS_MEMORY. */
static Status open_more(Calls *calls, const Message *message) {
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < message_call_count(message) && status == STATUS_OK; i++) {
    if (!call_is_part(message, i)) continue;
    Span id = message_call(message, i).id;
    status = calls_open(calls, id.at == 0 ? NO_TEXT : message_text(message, id));
  }
  return status;
}

/* Opens the calls of a turn [first, end), unless it is a user turn. */
static Status open_turn(Checker *checker, uint32_t first, uint32_t end) {
  Status status = STATUS_OK;
  calls_reset(&checker->calls);
  for (uint32_t i = first; i < end && status == STATUS_OK; i++) {
    const Message *message = checker_message(checker, i);
    if (message_role(message) == ROLE_ASSISTANT) status = open_more(&checker->calls, message);
  }
  return status;
}

/* Answers the open calls by the results of the user messages [first, end). */
static void answer_calls(Checker *checker, uint32_t first, uint32_t end) {
  uint32_t call;
  for (uint32_t k = first; k < end; k++) {
    const Message *message = checker_message(checker, k);
    if (message_role(message) != ROLE_USER) continue;
    for (uint32_t i = 0; i < message_result_count(message); i++) {
      if (!result_is_part(message, i)) continue;
      calls_answer(&checker->calls, message_text(message, message_result(message, i).id), &call);
    }
  }
}

/* Checks the id of a call: its form, and that no call before has it. */
static Status check_id(Checker *checker, uint32_t index, Text id) {
  IdRule rule = target_call_id(checker->target);
  bool again;
  if (!id_fits(&rule, id)) return checker_add(checker, CHECK_CALL_ID, index, id);
  Status status = checker_see(checker, id, &again);
  return status == STATUS_OK ? checker_add_if(checker, again, CHECK_DUPLICATE_CALL, index, id) : status;
}

/* Checks the name and the input of a call. */
static Status check_form(Checker *checker, uint32_t index, uint32_t call) {
  const Message *message = checker_message(checker, index);
  Call form = message_call(message, call);
  Text name = form.name.at == 0 ? NO_TEXT : message_text(message, form.name);
  Text input = form.arguments.at == 0 ? NO_TEXT : message_text(message, form.arguments);
  bool is_object = input.size > 0 && input.bytes[0] == '{' && !arguments_are_string(message, form);
  Status status = checker_add_if(checker, !tool_name_fits(checker->target, name), CHECK_CALL_NAME, index, name);
  if (status != STATUS_OK) return status;
  return checker_add_if(checker, !is_object, CHECK_CALL_ARGUMENTS, index, message_call_key(message, call));
}

/* Checks the calls of an assistant message, which are open and answered from walk->call on. */
static Status check_calls(Walk *walk, uint32_t index) {
  Checker *checker = walk->checker;
  const Message *message = checker_message(checker, index);
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < message_call_count(message) && status == STATUS_OK; i++) {
    if (!call_is_part(message, i)) {
      status = checker_add(checker, CHECK_FOREIGN_CALL, index, message_call_key(message, i));
      continue;
    }
    assert(walk->call < checker->calls.count);
    OpenCall open = checker->calls.list[walk->call++];
    status = check_id(checker, index, open.id);
    if (status == STATUS_OK) status = check_form(checker, index, i);
    if (status == STATUS_OK) status = checker_add_if(checker, !open.answered, CHECK_UNANSWERED_CALL, index, open.id);
  }
  return status;
}

static Status check_results(Checker *checker, uint32_t index) {
  const Message *message = checker_message(checker, index);
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < message_result_count(message) && status == STATUS_OK; i++) {
    uint32_t call;
    Text id = message_text(message, message_result(message, i).id);
    Answer answer = calls_answer(&checker->calls, id, &call);
    if (answer == ANSWER_FITS) continue;
    status = checker_add(checker, answer == ANSWER_DUPLICATE ? CHECK_DUPLICATE_RESULT : CHECK_ORPHAN_RESULT, index, id);
  }
  return status;
}

/* Notes the ids whose results stand in the turn [first, end) itself: those of the server's tools. */
static Status find_served(Walk *walk) {
  Checker *checker = walk->checker;
  Status status = STATUS_OK;
  for (uint32_t k = walk->first; k < walk->end; k++) {
    const Message *message = checker_message(checker, k);
    for (uint32_t i = 0; i < message_part_count(message) && status == STATUS_OK; i++) {
      Part part = message_part(message, i);
      JsonValue value;
      if (part.kind != PART_OTHER || !part_find(message, part, "tool_use_id", JSON_STRING, &value)) continue;
      status = map_put(&walk->served, hash_text(json_text(&value), &checker->calls.key), walk->first);
    }
  }
  return status;
}

static bool is_served(const Walk *walk, Text id) {
  const uint64_t *turn = map_find(&walk->served, hash_text(id, &walk->checker->calls.key));
  return turn != NULL && *turn == walk->first;
}

/* True if a message of the turn [first, end) has more than results. */
static bool has_more_than_results(const Checker *checker, uint32_t first, uint32_t end) {
  for (uint32_t k = first; k < end; k++) {
    if (message_starts_turn(checker_message(checker, k))) return true;
  }
  return false;
}

/* Checks that the server's tool calls of a message have results, unless the server goes on. */
static Status check_server_calls(Walk *walk, uint32_t index) {
  Checker *checker = walk->checker;
  const Message *message = checker_message(checker, index);
  Status status = STATUS_OK;
  if (!walk->user_goes_on) return status;
  for (uint32_t i = 0; i < message_part_count(message) && status == STATUS_OK; i++) {
    Part part = message_part(message, i);
    JsonValue value;
    if (part.kind != PART_OTHER || !text_is(part_type(message, part), "server_tool_use")) continue;
    if (!part_find(message, part, "id", JSON_STRING, &value)) continue;
    bool served = is_served(walk, json_text(&value));
    status = checker_add_if(checker, !served, CHECK_SERVER_RESULT, index, json_text(&value));
  }
  return status;
}

/* Checks that a message of the open tool loop that calls begins with thinking, if that was turned on by hand. */
static Status check_loop(Walk *walk, uint32_t index) {
  Checker *checker = walk->checker;
  const Message *message = checker_message(checker, index);
  if (!checker->thinks || index < walk->loop || index != walk->first || message_call_count(message) == 0) {
    return STATUS_OK;
  }
  bool thinks = message_part_count(message) > 0 && message_part(message, 0).kind == PART_REASONING;
  return checker_add_if(checker, !thinks, CHECK_THINKING_MISSING, index, NO_TEXT);
}

/* ---- the list ---- */

bool message_is_text(const Message *message) {
  for (uint32_t i = 0; i < message_part_count(message); i++) {
    PartKind kind = (PartKind)message_part(message, i).kind;
    if (kind != PART_TEXT && kind != PART_OTHER) return false;
  }
  return true;
}

/* Checks a system message inside the list: where models take one, it follows the user and precedes the assistant. */
static Status check_system(Walk *walk, uint32_t index) {
  Checker *checker = walk->checker;
  const Message *message = checker_message(checker, index);
  bool takes = (checker->target->profile.traits >> MODEL_SYSTEM_ROLE & 1) != 0;
  if (!takes) return checker_add(checker, CHECK_SYSTEM_INSIDE, index, message_role_text(message));
  if (walk->next <= index) walk->next = next_of(checker, index);
  bool follows = walk->first != NOWHERE &&
                 (side_of(checker, walk->first) == ROLE_USER || message_may_go_on(checker_message(checker, index - 1)));
  bool precedes = walk->next == checker->count || side_of(checker, walk->next) == ROLE_ASSISTANT;
  bool fits = follows && precedes && message_is_text(message);
  return checker_add_if(checker, !fits, CHECK_SYSTEM_PLACE, index, NO_TEXT);
}

/* Begins the turn at `index`: an assistant's has its calls open and answered, a user's has those of the turn before
   open. */
static Status begin_turn(Walk *walk, uint32_t index) {
  Checker *checker = walk->checker;
  Status status;
  walk->previous = walk->first;
  walk->first = index;
  walk->end = end_of_turn(checker, index);
  walk->call = 0;
  walk->has_others = walk->has_results = false;
  if (side_of(checker, index) == ROLE_ASSISTANT) {
    status = open_turn(checker, index, walk->end);
    uint32_t answers = walk->end < checker->count ? end_of_turn(checker, walk->end) : walk->end;
    if (status == STATUS_OK) answer_calls(checker, walk->end, answers);
    if (status == STATUS_OK) status = find_served(walk);
    walk->user_goes_on = has_more_than_results(checker, walk->end, answers);
  } else {
    status = open_turn(checker, walk->previous == NOWHERE ? index : walk->previous, index);
  }
  return status;
}

/* Checks one message that is no system message: its role, its place in the turn, its content, calls and results. */
static Status check_message(Walk *walk, uint32_t index) {
  Checker *checker = walk->checker;
  const Message *message = checker_message(checker, index);
  Role role = message_role(message);
  Status status = walk->first == NOWHERE || index >= walk->end ? begin_turn(walk, index) : STATUS_OK;
  assert(status != STATUS_OK || (walk->first <= index && index < walk->end));
  if (status == STATUS_OK) status = check_order(walk, index);
  if (status == STATUS_OK && role == ROLE_TOOL) {
    status = checker_add(checker, CHECK_FOREIGN_ROLE, index, message_role_text(message));
  } else if (status == STATUS_OK) {
    status = check_content(walk, index);
    if (status == STATUS_OK && role == ROLE_ASSISTANT) status = check_calls(walk, index);
    if (status == STATUS_OK && role == ROLE_ASSISTANT) status = check_server_calls(walk, index);
    if (status == STATUS_OK && role == ROLE_ASSISTANT) status = check_loop(walk, index);
    if (status == STATUS_OK && role == ROLE_USER) status = check_results(checker, index);
  }
  return status == STATUS_OK && next_of(checker, index) == checker->count ? check_end(checker, index) : status;
}

Status check_anthropic(Checker *checker) {
  Walk walk = {.checker = checker, .first = NOWHERE, .previous = NOWHERE};
  Status status = STATUS_OK;
  map_init(&walk.served, checker->report->memory);
  for (uint32_t i = 0; i < checker->count; i++) {
    if (message_starts_turn(checker_message(checker, i))) walk.loop = i + 1;
  }
  for (uint32_t i = 0; i < checker->count && status == STATUS_OK; i++) {
    status = check_common(checker, i);
    if (status != STATUS_OK) break;
    bool is_system = message_role(checker_message(checker, i)) == ROLE_SYSTEM;
    status = is_system ? check_system(&walk, i) : check_message(&walk, i);
  }
  map_free(&walk.served);
  return status;
}
