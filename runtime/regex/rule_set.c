#include "regex/rule_set.h"

#include <assert.h>
#include <string.h>

#include "regex/pattern.h"
#include "base/utf8.h"

typedef struct Rule {
  Regex *regex;
  RegexTemplate *replacement;
  RegexLiteral literal;
  uint32_t kinds, depth_first, depth_last;
  RuleCounts counts;
} Rule;

struct RuleSet {
  RegexEngine *engine;
  Memory memory;
  Rule *rules;
  uint32_t size, room;
  Buffer text, next;         /* the result of the rules so far; of the current one */
  RuleFailure *failures;    /* of one text; has room for one per rule */
  uint32_t failure_count, failure_room;
  RegexPairs pairs;          /* of the text, and of what it was before; valid if pairs_known */
  bool pairs_known;
  RegexTimer timer;          /* of this run */
  size_t growth;             /* bytes that texts may still grow by in this run */
};

Status rule_set_new(RegexEngine *engine, RuleSet **output) {
  Memory memory = regex_engine_memory(engine);
  RuleSet *set = memory_new(&memory, sizeof *set);
  if (set == NULL) return STATUS_MEMORY;
  memset(set, 0, sizeof *set);
  set->engine = engine;
  set->memory = memory;
  set->growth = SIZE_MAX;
  buffer_init(&set->text, memory);
  buffer_init(&set->next, memory);
  *output = set;
  return STATUS_OK;
}

void rule_set_free(RuleSet *set) {
  if (set == NULL) return;
  Memory memory = set->memory;
  for (uint32_t i = 0; i < set->size; i++) {
    regex_template_free(set->rules[i].replacement);
    regex_free(set->rules[i].regex);
  }
  memory_free(&memory, set->rules, set->room * sizeof *set->rules);
  memory_free(&memory, set->failures, set->failure_room * sizeof *set->failures);
  buffer_free(&set->text);
  buffer_free(&set->next);
  memory_free(&memory, set, sizeof *set);
}

uint32_t rule_set_size(const RuleSet *set) { return set->size; }
size_t rule_set_bytes(const RuleSet *set, uint32_t rule) { return regex_bytes(set->rules[rule].regex); }
RuleCounts rule_set_counts(const RuleSet *set, uint32_t rule) { return set->rules[rule].counts; }

/* Makes room for one more rule, and for a failure of each. */
static Status make_room(RuleSet *set) {
  if (set->size == RULE_SET_MAX) return STATUS_LIMIT;
  Rule *rules = memory_grow(&set->memory, set->rules, &set->room, set->size, sizeof *rules);
  if (rules == NULL) return STATUS_MEMORY;
  set->rules = rules;
  RuleFailure *failures =
    memory_grow(&set->memory, set->failures, &set->failure_room, set->size, sizeof *failures);
  if (failures == NULL) return STATUS_MEMORY;
  set->failures = failures;
  return STATUS_OK;
}

Status rule_set_add(RuleSet *set, const RuleSource *source, RegexError *error) {
  *error = (RegexError){0};
  Rule rule = {.kinds = source->kinds, .depth_first = source->depth_first, .depth_last = source->depth_last};
  Status status = make_room(set);
  if (status == STATUS_OK) {
    status = regex_new(set->engine, source->pattern.bytes, source->pattern.size, source->flags, &rule.regex, error);
  }
  if (status == STATUS_OK) {
    status = regex_template_new(rule.regex, source->replacement, source->trims, source->trim_count, &rule.replacement);
  }
  if (status != STATUS_OK) {
    regex_free(rule.regex);
    return status;
  }
  rule.literal = regex_literal(source->pattern.bytes, source->pattern.size, (source->flags & REGEX_CASELESS) != 0);
  set->rules[set->size++] = rule;
  return STATUS_OK;
}

void rule_set_begin(RuleSet *set) {
  for (uint32_t i = 0; i < set->size; i++) set->rules[i].counts = (RuleCounts){0};
  rule_set_limit(set, 0, SIZE_MAX);
}

void rule_set_limit(RuleSet *set, uint64_t microseconds, size_t growth) {
  set->timer = microseconds == 0 ? (RegexTimer){0} : regex_timer(set->engine, microseconds * 1000);
  set->growth = growth;
}

/* True if the rule applies to such a text and has strikes left. */
static bool applies(const Rule *rule, uint32_t kinds, uint32_t depth) {
  return (rule->kinds & kinds) != 0 && depth >= rule->depth_first && depth <= rule->depth_last &&
         rule->counts.failures < RULE_STRIKES;
}

/* True if the text is known not to have the first pair of the rule's literal: so for most rules of a large set. */
static inline bool lacks_first_pair(const RuleSet *set, const Rule *rule) {
  return set->pairs_known && rule->literal.count > 0 && set->pairs.has[rule->literal.pairs[0]] != set->pairs.text;
}

/* True if the text has the pairs of the rule's literal. */
static bool may_match(RuleSet *set, const Rule *rule, Text text) {
  if (rule->literal.mark != '\0' && memchr(text.bytes, rule->literal.mark, text.size) == NULL) return false;
  if (rule->literal.count == 0) return true;
  if (!set->pairs_known) regex_pairs_of(&set->pairs, text.bytes, text.size);
  set->pairs_known = true;
  return regex_may_match(&set->pairs, &rule->literal);
}

static void note_failure(RuleSet *set, Rule *rule) {
  assert(set->failure_count < set->failure_room);
  rule->counts.failures++;
  set->failures[set->failure_count++] = (RuleFailure){
    .rule = (uint32_t)(rule - set->rules),
    .reason = regex_engine_reason(set->engine),
    .skipped_from_now = rule->counts.failures == RULE_STRIKES,
  };
}

/* Replaces *text by the result of the rule, which lies in set->text. A limit is noted, not returned. */
static Status apply_rule(RuleSet *set, Rule *rule, Text *text, bool *changed) {
  assert(rule->counts.failures < RULE_STRIKES);
  uint32_t count;
  regex_start(set->engine);
  RegexPairs *pairs = set->pairs_known ? &set->pairs : NULL;
  Status status = regex_replace(rule->regex, rule->replacement, *text, pairs, &set->next, &count);
  if (status == STATUS_LIMIT) {
    note_failure(set, rule);
    return STATUS_OK;
  }
  if (status != STATUS_OK || count == 0) return status;
  rule->counts.texts++;
  rule->counts.replacements += count;
  Buffer output = set->next;
  set->next = set->text;
  set->text = output;
  *text = text_plain(output.size > 0 ? output.bytes : "", output.size);
  *changed = true;
  return STATUS_OK;
}

static size_t growth_of(Text text, Text result) { return result.size > text.size ? result.size - text.size : 0; }

static Status stop(RuleResult *result, uint32_t rule, RegexReason reason) {
  result->stopped = rule;
  result->reason = reason;
  return STATUS_LIMIT;
}

Status rule_set_apply(RuleSet *set, Text text, uint32_t kinds, uint32_t depth, RuleResult *result) {
  *result = (RuleResult){.text = text};
  set->failure_count = 0;
  set->pairs_known = false;
  if (utf8_check(text.bytes, text.size) < text.size) return STATUS_ENCODING;
  for (uint32_t i = 0; i < set->size; i++) {
    Rule *rule = &set->rules[i];
    if (lacks_first_pair(set, rule) || !applies(rule, kinds, depth) || !may_match(set, rule, result->text)) continue;
    if (regex_timer_is_over(set->engine, &set->timer)) return stop(result, i, REGEX_TIME);
    Status status = apply_rule(set, rule, &result->text, &result->changed);
    if (status != STATUS_OK) return status;
    if (growth_of(text, result->text) > set->growth) return stop(result, i, REGEX_GROWTH);
  }
  if (set->growth != SIZE_MAX) set->growth -= growth_of(text, result->text);
  result->failures = set->failures;
  result->failure_count = set->failure_count;
  return STATUS_OK;
}
