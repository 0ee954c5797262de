#include "format/check.h"

#include <assert.h>
#include <string.h>

#include "format/check_rules.h"

void check_report_free(CheckReport *report) {
  memory_free(&report->memory, report->list, report->room * sizeof *report->list);
  report->list = NULL;
  report->count = report->room = 0;
}

/* Replaces indexes among the messages by positions in the list, which has items of windows too. */
static void find_places(CheckReport *report, const Sequence *list) {
  for (uint32_t i = 0; i < report->count; i++) {
    Violation *violation = &report->list[i];
    if (violation->index == CHECK_BODY) continue;
    violation->index = sequence_index_of(list, violation->id, violation->index);
  }
}

/* Sets how severe each code is for the target. */
static void find_severities(Checker *checker) {
  uint32_t count;
  const CheckRule *rules = check_rules(&count);
  for (uint32_t i = 0; i < count; i++) {
    if ((rules[i].dialects >> checker->target->dialect & 1) == 0) continue;
    checker->severities[rules[i].code] = (uint8_t)target_severity(checker->target, rules[i].code);
  }
  if (checker->target->skips_members) checker->severities[CHECK_EXTRA_MEMBER] = SEVERITY_NONE;
}

/* Collects the messages of the list without items of windows, and the range of them with bound thinking. */
static void find_messages(Checker *checker, const Sequence *list, MessageId *ids) {
  const CheckTarget *target = checker->target;
  SequenceWalk walk = sequence_walk(list, 0, sequence_count(list));
  while (sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count; i++) {
      if (walk.marks[i] & MARK_WINDOW) continue;
      if (walk.index + i < target->bound_first) checker->bound_first = checker->count + 1;
      if (walk.index + i < target->bound_end) checker->bound_end = checker->count + 1;
      ids[checker->count++] = walk.ids[i];
    }
  }
}

Status check_list(const CheckTarget *target, const Store *store, const Sequence *list, CheckReport *report) {
  uint32_t count = sequence_count(list);
  assert(dialect_form(target->dialect)->check != NULL);
  MessageId *ids = memory_new_array(&report->memory, count + 1, sizeof *ids);
  if (ids == NULL) return STATUS_MEMORY;
  Checker checker = {.target = target, .store = store, .ids = ids, .is_empty = count == 0, .report = report};
  find_messages(&checker, list, ids);
  find_severities(&checker);
  calls_init(&checker.calls, report->memory);
  map_init(&checker.seen, report->memory);
  Status status = check_body_begin(&checker);
  if (status == STATUS_OK) status = dialect_form(target->dialect)->check(&checker);
  map_free(&checker.seen);             /* names of tools are no ids */
  if (status == STATUS_OK) status = check_body(&checker);
  assert(checker.count <= count);
  if (checker.count < count) find_places(report, list);
  map_free(&checker.seen);
  calls_free(&checker.calls);
  memory_free(&report->memory, ids, (count + 1) * sizeof *ids);
  return status;
}
