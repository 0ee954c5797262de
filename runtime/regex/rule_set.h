/*
** Rule set: rules that rewrite texts one after the other, each on the result of those
** before. This is the bulk of a pipeline's work, so one call applies all rules to a text.
**
** A rule may be restricted to kinds of texts (bits, whose meaning is the caller's: user
** messages, answers ...) and to depths (a number of the caller's: 0 for the newest text).
**
** A rule that hits a limit of regex.h leaves the text unchanged, and the others continue.
** A run is everything from rule_set_begin on. After RULE_STRIKES failures of a rule within
** one run it is skipped for the rest of the run: otherwise a bad pattern would take
** REGEX_TIME_MS (50 ms) for each of 10,000 texts.
*/
#ifndef EBB_REGEX_RULE_SET_H
#define EBB_REGEX_RULE_SET_H

#include "regex/replace.h"

enum { RULE_STRIKES = 3, RULE_SET_MAX = 10000 };

typedef struct RuleSet RuleSet;

/* A rule to add; the texts are borrowed. */
typedef struct RuleSource {
  Text pattern, replacement;         /* regex_new, regex_template_new */
  unsigned flags;                    /* of RegexFlag */
  const Text *trims;                 /* texts to remove from captures (replace.h) */
  unsigned trim_count;               /* at most REGEX_TRIMS_MAX */
  uint32_t kinds;                    /* bits: the kinds of text that it applies to */
  uint32_t depth_first, depth_last;  /* inclusive */
} RuleSource;

typedef struct RuleFailure {
  uint32_t rule;                     /* from 0 */
  RegexReason reason;
  bool skipped_from_now;             /* it was the last strike: the rule is skipped for the rest of the run */
} RuleFailure;

/* Its pointers are borrowed until the next rule_set_apply, rule_set_add or rule_set_free of the set. */
typedef struct RuleResult {
  Text text;                         /* the result; the argument itself if nothing changed */
  bool changed;                      /* a rule has replaced something */
  const RuleFailure *failures;       /* of this text, in the order of the rules */
  uint32_t failure_count;
  uint32_t stopped;                  /* after STATUS_LIMIT the rule at which the run's limit was reached ... */
  RegexReason reason;                /* ... which is that of its time or of its growth */
} RuleResult;

/* What one rule has done in this run: texts that it changed, replacements in them, failures. */
typedef struct RuleCounts {
  uint32_t texts, replacements, failures;
} RuleCounts;

/* Creates an empty set. The engine must outlive it. STATUS_MEMORY. */
Status   rule_set_new(RegexEngine *engine, RuleSet **set);
void     rule_set_free(RuleSet *set);     /* NULL is allowed */

/* Adds a rule at the end; its texts are copied. STATUS_LIMIT at RULE_SET_MAX rules, with an empty
   *error; else the statuses of regex_new, which fills *error, and of regex_template_new. The
   set is unchanged then. */
Status   rule_set_add(RuleSet *set, const RuleSource *rule, RegexError *error);
uint32_t rule_set_size(const RuleSet *set);       /* number of rules */
size_t   rule_set_bytes(const RuleSet *set, uint32_t rule);        /* of its expression; rule < rule_set_size */

/* Starts a run: sets all counts to 0, without limits. */
void     rule_set_begin(RuleSet *set);
/* Limits all texts of the run from now on: CPU time in microseconds, and bytes that texts grow by; 0 and
   SIZE_MAX: no limit. */
void     rule_set_limit(RuleSet *set, uint64_t microseconds, size_t growth);
/* Applies the rules that have one of the bits `kinds` and whose depths include `depth`.
   STATUS_ENCODING: not UTF-8; STATUS_LIMIT: a limit of the run; STATUS_MEMORY. Counts of rules
   that were applied stay then. */
Status   rule_set_apply(RuleSet *set, Text text, uint32_t kinds, uint32_t depth, RuleResult *result);
RuleCounts rule_set_counts(const RuleSet *set, uint32_t rule);     /* rule < rule_set_size */

#endif
