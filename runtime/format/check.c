#include "format/check.h"

#include <assert.h>
#include <string.h>

#include "format/check_rules.h"

/* ---- names ---- */

/* By CheckCode. % in `says` is replaced by the subject. */
static const struct {
  const char *name, *says, *hint;
  bool can_repair;
} CODES[CHECK_CODE_COUNT] = {
  {"orphan_result", "result '%' answers no call of the previous assistant message",
   "drop it, or put it directly behind its call", true},
  {"duplicate_result", "call '%' has a result already", "drop one of the results", true},
  {"unanswered_call", "call '%' has no result directly behind its message", "add the result there, or drop the call",
   true},
  {"duplicate_call", "another call of the message has the id '%'",
   "give each call its own id, and its result the same", true},
  {"call_id", "'%' is not a valid call id", "an id has 1 to 64 letters, digits, _ or -", true},
  {"results_late", "tool results come after other parts", "put the results first", true},
  {"misplaced_part", "a % part is not allowed in a message of this role",
   "move calls to an assistant message, results to a user message", true},
  {"empty_text", "the message or part has no text", "drop the empty part or the message", true},
  {"trailing_space", "the last assistant text ends in white space", "remove the white space", true},
  {"user_first", "the first message is not a user's", "start with a user message", true},
  {"alternation", "the previous message has the role %, too", "merge the two messages", true},
  {"foreign_reasoning", "a % part is another provider's reasoning", "drop it", true},
  {"foreign_part", "a part of type '%' does not exist in this dialect", "convert the conversation to this dialect",
   false},
  {"foreign_call", "call '%' is not a tool_use part", "convert the conversation to this dialect", false},
  {"foreign_role", "the role % does not exist in this dialect",
   "convert the conversation: results belong to user messages", false},
  {"system_inside", "a message of role % inside the conversation", "move it to the top-level `system` field", false},
};

const char *check_code_name(CheckCode code) { return CODES[code].name; }
const char *check_hint(CheckCode code) { return CODES[code].hint; }
bool check_can_repair(CheckCode code) { return CODES[code].can_repair; }

bool check_code_parse(Text name, CheckCode *code) {
  for (unsigned i = 0; i < CHECK_CODE_COUNT; i++) {
    if (!text_equal(name, text_of(CODES[i].name))) continue;
    *code = (CheckCode)i;
    return true;
  }
  return false;
}

Status check_describe(const Violation *violation, Buffer *out) {
  assert((unsigned)violation->code < CHECK_CODE_COUNT);
  const char *says = CODES[violation->code].says, *subject = strchr(says, '%');
  if (subject == NULL) return buffer_add_string(out, says);
  size_t before = out->size;
  Status status = buffer_add(out, says, (size_t)(subject - says));
  if (status == STATUS_OK) status = text_decode(violation->subject, out);
  if (status == STATUS_OK) status = buffer_add_string(out, subject + 1);
  if (status != STATUS_OK) out->size = before;
  return status;
}

/* ---- checking ---- */

void check_report_free(CheckReport *report) {
  memory_free(&report->memory, report->list, report->room * sizeof *report->list);
  report->list = NULL;
  report->count = report->room = 0;
}

/* Replaces indexes among the messages by positions in the list, which has items of windows too. */
static void find_places(CheckReport *report, const Sequence *list) {
  for (uint32_t i = 0; i < report->count; i++) {
    report->list[i].index = sequence_index_of(list, report->list[i].id, report->list[i].index);
  }
}

Status check_list(Dialect dialect, const Store *store, const Sequence *list, CheckReport *report) {
  uint32_t count = sequence_count(list);
  assert(dialect_form(dialect)->check != NULL);
  if (count == 0) return STATUS_OK;
  MessageId *ids = memory_new_array(&report->memory, count, sizeof *ids);
  if (ids == NULL) return STATUS_MEMORY;
  Checker checker = {.store = store, .ids = ids, .report = report};
  SequenceWalk walk = sequence_walk(list, 0, count);
  while (sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count; i++) {
      if (!(walk.marks[i] & MARK_WINDOW)) ids[checker.count++] = walk.ids[i];
    }
  }
  calls_init(&checker.calls, report->memory);
  Status status = dialect_form(dialect)->check(&checker);
  assert(checker.count <= count);
  if (checker.count < count) find_places(report, list);
  calls_free(&checker.calls);
  memory_free(&report->memory, ids, count * sizeof *ids);
  return status;
}
