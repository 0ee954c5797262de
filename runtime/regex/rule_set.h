/*
** A set of rules that rewrite texts, in order: each sees what the one before has
** made. The bulk of a pipeline's work, so one call does all rules for a text.
**
** A rule that hits a limit leaves the text as it was before it; the others go on.
** One that has done so REGEX_STRIKES times in a run is left out of the rest of
** it: otherwise it would cost its 50 ms for each of 10,000 texts.
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
  uint32_t kinds;                    /* bits: the kinds of text that it is for */
  uint32_t depth_first, depth_last;  /* inclusive */
} RegexRule;

typedef struct RegexFailure {
  uint32_t rule;                     /* from 0 */
  RegexReason reason;
  bool given_up;                     /* that was its last try in this run */
} RegexFailure;

typedef struct RegexResult {
  Text text;                    /* as it is now; borrowed until the next call, or the one given */
  bool changed;                      /* some rule has replaced something */
  const RegexFailure *failures;
  uint32_t failure_count;
} RegexResult;

/* Of one rule, since rule_set_begin. */
typedef struct RegexCount {
  uint32_t texts, replacements, failures;
} RegexCount;

/* The engine outlives the set. */
Status   rule_set_new(RegexEngine *engine, RuleSet **made);
void     rule_set_free(RuleSet *set);     /* NULL is allowed */

/* Adds a rule behind the others; its texts are copied. Errors are those of regex_new
   and regex_template_new; then the set is as before. */
Status   rule_set_add(RuleSet *set, const RegexRule *rule, RegexError *error);
uint32_t rule_set_size(const RuleSet *set);

/* A new run: counts and failures from 0. */
void     rule_set_begin(RuleSet *set);
/* Applies the rules whose kinds have one of the bits `kind` and whose depths include
   `depth`. STATUS_ENCODING: not UTF-8; STATUS_MEMORY. */
Status   rule_set_apply(RuleSet *set, Text text, uint32_t kind, uint32_t depth, RegexResult *result);
RegexCount rule_set_count(const RuleSet *set, uint32_t rule);     /* rule < size */

#endif
