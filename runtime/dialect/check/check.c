#include "dialect/check/check.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dialect/check/check_rules.h"

/* ---- names and severities ---- */

static const char *const CODE_NAMES[CHECK_CODE_COUNT] = {
#define NAME_OF(code, name) name,
  CHECK_CODES(NAME_OF)
#undef NAME_OF
};

const char *check_code_name(CheckCode code) {
  assert((unsigned)code < CHECK_CODE_COUNT);
  return CODE_NAMES[code];
}

bool check_code_parse(Text name, CheckCode *code) {
  for (unsigned i = 0; i < CHECK_CODE_COUNT; i++) {
    if (!text_equal(name, text_of(CODE_NAMES[i]))) continue;
    *code = (CheckCode)i;
    return true;
  }
  return false;
}

const char *severity_name(Severity severity) {
  static const char *const names[] = {"none", "changed", "strict", "refused"};
  return names[severity];
}

const char *model_trait_name(ModelTrait trait) {
  static const char *const names[MODEL_COUNT] = {
    "no_prefill", "system_role", "no_system", "bound_thinking", "no_forced_tool", "no_sampling", "no_manual_thinking",
    "no_adaptive_thinking", "no_disabled_thinking", "signed_calls", "no_mixed_tools", "control_tokens",
  };
  assert((unsigned)trait < MODEL_COUNT);
  return names[trait];
}

Severity target_severity(const CheckTarget *target, CheckCode code) {
  const CheckRule *rule = check_rule(code, target->dialect);
  const CheckProfile *profile = &target->profile;
  if (rule == NULL || codes_have(&profile->accepts, code)) return SEVERITY_NONE;
  if (codes_have(&profile->refuses, code)) return SEVERITY_REFUSED;
  if (rule->trait < 0 || (profile->traits >> rule->trait & 1) != 0) return rule->severity;
  if (profile->model_known) return SEVERITY_NONE;
  return rule->severity == SEVERITY_REFUSED ? SEVERITY_STRICT : rule->severity;
}

bool target_repairs(const CheckTarget *target, const CheckRule *rule) {
  bool stands_in = rule->code == CHECK_MISSING_SIGNATURE;
  return rule->can_repair && !(stands_in && target_severity(target, CHECK_SENTINEL_SIGNATURE) == SEVERITY_REFUSED);
}

/* ---- words ---- */

/* Adds `words` with its % replaced by a text. STATUS_MEMORY: *out is unchanged. */
static Status add_words(const char *words, Text text, Buffer *out) {
  const char *place = strchr(words, '%');
  if (place == NULL) return buffer_add_string(out, words);
  size_t before = out->size;
  Status status = buffer_add(out, words, (size_t)(place - words));
  if (status == STATUS_OK) status = text_decode(text, out);
  if (status == STATUS_OK) status = buffer_add_string(out, place + 1);
  if (status != STATUS_OK) out->size = before;
  return status;
}

Status check_describe(const Violation *violation, Buffer *out) {
  return add_words(violation->rule->says, violation->subject, out);
}

enum { LIMIT_SIZE = 160 };   /* of a limit in words */

/* "exactly 9 letters and digits", "1 to 64 letters, digits, _ or -", "1 or more characters". */
static void write_id_rule(const IdRule *rule, char words[LIMIT_SIZE]) {
  static const char *const characters[] = {"letters, digits, _ or -", "letters and digits", "characters"};
  const char *what = characters[rule->characters];
  if (rule->max == 0) snprintf(words, LIMIT_SIZE, "%" PRIu32 " or more %s", rule->min, what);
  else if (rule->min == rule->max) snprintf(words, LIMIT_SIZE, "exactly %" PRIu32 " %s", rule->max, what);
  else snprintf(words, LIMIT_SIZE, "%" PRIu32 " to %" PRIu32 " %s", rule->min, rule->max, what);
}

static void write_limit(uint64_t limit, const char *unit, char words[LIMIT_SIZE]) {
  if (limit == 0) snprintf(words, LIMIT_SIZE, "as many %s as its profile says", unit);
  else snprintf(words, LIMIT_SIZE, "%" PRIu64 " %s", limit, unit);
}

static void write_side_limit(const CheckProfile *profile, char words[LIMIT_SIZE]) {
  int used = 0;
  if (profile->image_side_max == 0 && profile->many_images == 0) {
    snprintf(words, LIMIT_SIZE, "a side has at most as many pixels as the profile says");
    return;
  }
  words[0] = '\0';
  if (profile->image_side_max > 0) {
    used = snprintf(words, LIMIT_SIZE, "a side has at most %" PRIu32 " pixels", profile->image_side_max);
  }
  if (profile->many_images == 0) return;
  snprintf(words + used, LIMIT_SIZE - (size_t)used,
           "%s at most %" PRIu32 " where there are more than %" PRIu32 " images", used > 0 ? "," : "a side has",
           profile->many_side_max, profile->many_images);
}

Status check_add_hint(const CheckTarget *target, const CheckRule *rule, Buffer *out) {
  const CheckProfile *profile = &target->profile;
  IdRule ids = target_call_id(target);
  char words[LIMIT_SIZE] = "";
  switch (rule->code) {
  case CHECK_CALL_ID: write_id_rule(&ids, words); break;
  case CHECK_CALL_NAME:
  case CHECK_TOOL_NAME:
  case CHECK_RESULT_NAME: snprintf(words, LIMIT_SIZE, "%" PRIu32, target_tool_name_max(target)); break;
  case CHECK_MESSAGE_COUNT: write_limit(profile->messages_max, "messages", words); break;
  case CHECK_IMAGE_COUNT: write_limit(profile->images_max, "images", words); break;
  case CHECK_BODY_SIZE: write_limit(profile->bytes_max, "bytes", words); break;
  case CHECK_IMAGE_SIZE: write_limit(profile->image_bytes_max, "bytes", words); break;
  case CHECK_IMAGE_SIDE: write_side_limit(profile, words); break;
  default: break;
  }
  assert((strchr(rule->hint, '%') != NULL) == (words[0] != '\0'));
  return add_words(rule->hint, text_of(words), out);
}

/* ---- the list ---- */

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
  buffer_init(&checker.scratch, report->memory);
  calls_init(&checker.calls, report->memory);
  map_init(&checker.seen, report->memory);
  check_media_begin(&checker);
  Status status = check_body_begin(&checker);
  if (status == STATUS_OK) status = dialect_form(target->dialect)->check(&checker);
  map_free(&checker.seen);             /* names of tools are no ids */
  if (status == STATUS_OK) status = check_body(&checker);
  assert(checker.count <= count);
  if (checker.count < count) find_places(report, list);
  map_free(&checker.seen);
  calls_free(&checker.calls);
  buffer_free(&checker.scratch);
  memory_free(&report->memory, ids, (count + 1) * sizeof *ids);
  return status;
}
