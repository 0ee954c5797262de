/*
** Rule set: rules that rewrite texts one after the other, each on the result of those
** before. This is the bulk of a pipeline's work, so one call applies all rules.
**
** A rule that hits a limit leaves the text unchanged, and the others continue. After
** REGEX_STRIKES failures in a run a rule is skipped for the rest of the run: otherwise
** it would cost 50 ms for each of 10,000 texts.
*/
#ifndef EBB_REGEX_RULE_SET_H
#define EBB_REGEX_RULE_SET_H

#include "regex/replace.h"

enum { REGEX_STRIKES = 3, REGEX_RULES_MAX = 10000 };

typedef struct RuleSet RuleSet;

typedef struct RegexRule {
  Text pattern, replacement;
  unsigned flags;
  const Text *trims;
  unsigned trim_count;
  uint32_t kinds;                    /* bits: the kinds of text that it applies to */
  uint32_t depth_first, depth_last;  /* inclusive */
} RegexRule;

typedef struct RegexFailure {
  uint32_t rule;                     /* from 0 */
  RegexReason reason;
  bool given_up;                     /* the rule is skipped for the rest of the run */
} RegexFailure;

typedef struct RegexResult {
  Text text;                    /* the result, borrowed until the next call; the argument if nothing changed */
  bool changed;                      /* a rule has replaced something */
  const RegexFailure *failures;
  uint32_t failure_count;
} RegexResult;

/* Counts of one rule since rule_set_begin. */
typedef struct RegexCount {
  uint32_t texts, replacements, failures;
} RegexCount;

/* The engine must outlive the set. STATUS_MEMORY. */
Status   rule_set_new(RegexEngine *engine, RuleSet **set);
void     rule_set_free(RuleSet *set);     /* NULL is allowed */

/* Adds a rule at the end; its texts are copied. Errors are those of regex_new and
   regex_template_new; the set is unchanged then. */
Status   rule_set_add(RuleSet *set, const RegexRule *rule, RegexError *error);
uint32_t rule_set_size(const RuleSet *set);

/* Starts a run: resets counts and failures. */
void     rule_set_begin(RuleSet *set);
/* Applies the rules whose kinds have one of the bits `kind` and whose depths include
   `depth`. STATUS_ENCODING: not UTF-8; STATUS_MEMORY. */
Status   rule_set_apply(RuleSet *set, Text text, uint32_t kind, uint32_t depth, RegexResult *result);
RegexCount rule_set_count(const RuleSet *set, uint32_t rule);     /* rule < size */

#endif
