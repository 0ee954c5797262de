/*
** Check: finds what a server would refuse in a list of messages.
**
** Each dialect has its own rules (check_openai.c, check_anthropic.c ...), which walk the
** list once and report violations in its order:
**
**     position   0     1             2           3     4
**     message    user  calls a, b    result a    user  result b
**     openai           unanswered b                    orphan
**
** check_table.c says of each rule what it means, where it is documented, and how severe a
** violation is. The profile of the target, a server, makes some more severe and some none.
**
** An empty list has no violations. Foreign forms (a tool message in an anthropic list)
** are reported, not interpreted: that would be a conversion.
*/
#ifndef EBB_DIALECT_CHECK_H
#define EBB_DIALECT_CHECK_H

#include "dialect/check/check_codes.h"
#include "dialect/dialect.h"

typedef enum Severity {
  SEVERITY_NONE,             /* the rule does not hold for the target */
  SEVERITY_CHANGED,          /* accepted, but the server takes something out or reads it otherwise */
  SEVERITY_STRICT,           /* refused by strict servers or some models; CheckRule.servers, .models */
  SEVERITY_REFUSED
} Severity;

const char *severity_name(Severity severity);   /* "none", "changed", "strict", "refused"; static */

/* ---- what holds ---- */

/* What models know or refuse; sets are bits, 1 << ModelTrait. */
typedef enum ModelTrait {
  MODEL_NO_PREFILL,          /* the last message may not be the assistant's */
  MODEL_SYSTEM_ROLE,         /* a Claude that takes system messages inside a conversation */
  MODEL_NO_SYSTEM,           /* takes no system message at all */
  MODEL_BOUND_THINKING,      /* thinking is bound to all that stands before it */
  MODEL_NO_FORCED_TOOL,
  MODEL_NO_SAMPLING,         /* no temperature, top_p, top_k */
  MODEL_NO_MANUAL_THINKING,
  MODEL_NO_ADAPTIVE_THINKING,
  MODEL_NO_DISABLED_THINKING,
  MODEL_SIGNED_CALLS,        /* the first call of a step has a thought signature */
  MODEL_NO_MIXED_TOOLS,      /* functions and built-in tools exclude each other */
  MODEL_CONTROL_TOKENS,      /* refuses the spellings of control tokens */
  MODEL_COUNT
} ModelTrait;

const char *model_trait_name(ModelTrait trait);      /* "no_prefill", ...; static */

typedef enum IdCharacters { ID_WORD, ID_ALPHANUMERIC, ID_ANY } IdCharacters;   /* ID_WORD: [a-zA-Z0-9_-] */

typedef struct IdRule {
  uint32_t min, max;         /* characters; max 0: no limit */
  IdCharacters characters;
} IdRule;

/* What becomes of reasoning text that has no place in the dialect. */
typedef enum ReasoningRule {
  REASONING_DIALECT,         /* as the dialect has it */
  REASONING_DROP, REASONING_KEEP,
  REASONING_REQUIRE,         /* each message of the assistant has some */
  REASONING_REQUIRE_WITH_CALLS
} ReasoningRule;

/* What a server demands beyond its dialect. All zero: the provider's own API, of a model that is not known. */
typedef struct CheckProfile {
  CodeSet refuses;           /* their violations are refused */
  CodeSet accepts;           /* these do not hold */
  bool has_call_id;
  IdRule call_id;            /* instead of the dialect's; only if has_call_id */
  uint32_t tool_name_max;    /* characters; 0: the dialect's */
  ReasoningRule reasoning;
  uint32_t images_max, messages_max;             /* 0: no limit, as all below */
  uint64_t bytes_max;
  uint32_t image_side_max;   /* pixels */
  uint32_t many_images, many_side_max;           /* with more images than that a side has at most so many pixels */
  uint64_t image_bytes_max;  /* of an image's base64 */
  const Text *members;       /* further members of messages; the caller's */
  uint32_t member_count;
  bool model_known;          /* `traits` are those of the model; else rules for some models are strict */
  uint32_t traits;           /* bit per ModelTrait */
} CheckProfile;

typedef struct CheckTarget {
  Dialect dialect;
  CheckProfile profile;
  Text body;                 /* the request's other members as a JSON object; size 0: not known */
  uint32_t bound_first, bound_end;   /* positions whose thinking is bound to other messages (bound_thinking.h) */
  bool skips_members;        /* the writer leaves out members that the dialect lacks: no extra_member */
} CheckTarget;

/* The rule for ids of calls; the most characters of a tool's name. */
IdRule   target_call_id(const CheckTarget *target);
uint32_t target_tool_name_max(const CheckTarget *target);

/* ---- rules ---- */

typedef struct CheckRule {
  CheckCode code;
  uint32_t dialects;         /* bit per Dialect */
  Severity severity;         /* SEVERITY_NONE: of the profiles that refuse it only */
  int trait;                 /* the models for which it holds; -1: all */
  bool can_repair;           /* repair.h can mend it, without converting the message */
  const char *says;          /* % is replaced by the subject */
  const char *hint;          /* what to do about it; % is replaced by the target's limit: check_add_hint */
  const char *servers;       /* who refuses it; "": all of the dialect */
  const char *models;        /* "": all */
  const char *source;        /* a document or an issue */
  const char *example;       /* what breaks it */
} CheckRule;

/* The rules in the order of codes; *count of them. Static. */
const CheckRule *check_rules(uint32_t *count);
/* The rule of a code for a dialect; NULL: the dialect has none. */
const CheckRule *check_rule(CheckCode code, Dialect dialect);
/* How severe a violation of the code is at the target. */
Severity         target_severity(const CheckTarget *target, CheckCode code);
/* True if repair.h can mend violations of the rule for this target: what stands in for a signature must be taken. */
bool             target_repairs(const CheckTarget *target, const CheckRule *rule);

/* ---- checking ---- */

#define CHECK_BODY UINT32_MAX     /* a violation in the request's other members */

typedef struct Violation {
  CheckCode code;
  const CheckRule *rule;
  Severity severity;
  uint32_t index;            /* position in the list, from 0, or CHECK_BODY */
  MessageId id;              /* 0 with CHECK_BODY */
  Text subject;              /* the call's id, the part's type or the role; borrowed from the message */
} Violation;

/* Adds a description to `out`. STATUS_MEMORY. */
Status      check_describe(const Violation *violation, Buffer *out);
/* Adds what to do about violations of a rule at a target, with the target's limits. STATUS_MEMORY. */
Status      check_add_hint(const CheckTarget *target, const CheckRule *rule, Buffer *out);

typedef struct CheckReport {
  Memory memory;
  Severity least;            /* less severe violations are left out; SEVERITY_NONE means SEVERITY_CHANGED */
  Violation *list;           /* sorted by index */
  uint32_t count, room;
} CheckReport;

void        check_report_free(CheckReport *report);

/* Fills `report`, whose `memory` and `least` must be set; free it also after a failure. The dialect has
   rules (DialectForm.check). Items of windows are skipped: check the messages that replace them.
   STATUS_MEMORY. O(messages and their parts). */
Status      check_list(const CheckTarget *target, const Store *store, const Sequence *list, CheckReport *report);

#endif
