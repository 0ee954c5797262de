/*
** Shared by the repairs of all dialects. First results are moved behind their calls
** (repair_move.c); then the dialect plans edits in the order of the list that this makes.
** repair.c carries both plans out.
*/
#ifndef EBB_DIALECT_REPAIR_PLAN_H
#define EBB_DIALECT_REPAIR_PLAN_H

#include "dialect/check/check_rules.h"
#include "dialect/pairing.h"
#include "dialect/repair/repair.h"
#include "json/json_edit.h"

#define REPAIR_NO_RESULT "Error: this call has no result."
#define REPAIR_BEGINNING "(The beginning of this conversation was left out.)"

/* PLAN_PLACE inserts a message that stands elsewhere, where PLAN_LEAVE takes it away: it is replaced by one that stands
   at the new place. PLAN_LINK replaces a message by one of the same bytes, whose results answer the calls that the
   pairing tells. */
typedef enum PlanKind { PLAN_DROP, PLAN_REWRITE, PLAN_LINK, PLAN_LEAVE, PLAN_INSERT, PLAN_PLACE } PlanKind;

typedef struct PlanStep {
  PlanKind kind;
  uint32_t index;            /* in the list of the plan; what is inserted goes before it */
  uint32_t source, sources;  /* the first in the plan's, and how many. PLAN_PLACE: its own message is one */
  size_t at, size;           /* of the new message in `bytes` */
  const char *reason;        /* static */
} PlanStep;

typedef struct Plan {
  Memory memory;
  const RepairOptions *options;
  CodeSet codes;             /* of the options, those that the target refuses */
  const Store *store;
  MessageId stored;          /* the last message before the repair */
  MessageId *ids;            /* of the list */
  uint32_t count;
  size_t room;               /* of `ids` */
  PlanStep *steps;
  uint32_t step_count, step_room;
  uint32_t *sources;         /* indexes in the list of messages of which others are made; these get their marks */
  uint32_t source_count, source_room;
  Buffer bytes, scratch;
  Pairing pairing;           /* of the list */
  Calls calls;
  Map taken;                 /* hashes of all ids of the list and of new ones */
  ConvertReport *report;     /* what is left out; NULL: not wanted */
  const Sequence *first;     /* the list before the repair, which the report counts */
  Map formers;               /* message that stands elsewhere -> the one before the repair */
  Map kept;                  /* hashes of the results of the list that stay */
  bool has_kept;
  Status lost;               /* the first failure of plan_lose */
} Plan;

/* True if a repair writes the parts of the message array in the target's form: there are some, and all else, but system
   messages, has that form. */
bool   plan_writes_wrapped(const RepairOptions *options, const Store *store, const Sequence *list);
/* Plans to do so; first of all, so that the list is that of Plan.first. STATUS_MEMORY, STATUS_LIMIT. */
Status plan_wrapped(Plan *plan);
/* Plans to give calls and results the form that the target wants, and messages the reasoning. STATUS_MEMORY. */
Status plan_forms(Plan *plan);
/* Plans to write the types that images have, and names of files that have none. STATUS_MEMORY. */
Status plan_media(Plan *plan);
/* Plans to give system messages the place and the role that the target wants. STATUS_MEMORY. */
Status plan_system(Plan *plan);
/* Plans to give calls of Gemini's the signatures that are wanted. STATUS_MEMORY. */
Status plan_signatures(Plan *plan);
/* Plans to move results behind their calls, and to name these in them. STATUS_MEMORY. */
Status plan_moves(Plan *plan);
/* Plan the repair of a list in a dialect: add steps. STATUS_MEMORY. */
Status plan_openai(Plan *plan);
Status plan_anthropic(Plan *plan);
Status plan_responses(Plan *plan);
Status plan_gemini(Plan *plan);

/* True if the target refuses violations of this code, and the caller asked to repair them. */
static inline bool plan_is_repairing(const Plan *plan, CheckCode code) { return codes_have(&plan->codes, code); }
static inline const Message *plan_message(const Plan *plan, uint32_t index) {
  return store_message(plan->store, plan->ids[index]);
}

/* Why a result without a call is dropped; static. */
static inline const char *orphan_reason(const PairedResult *result) {
  return result->is_again ? "duplicate result" : "orphan result";
}

/* Adds a step; indexes must not decrease. The new message is `bytes` from `at` on.
   STATUS_MEMORY, as all below. */
Status plan_step(Plan *plan, PlanKind kind, uint32_t index, size_t at, const char *reason);

/* Notes that the message of the last step has what the one at `index` says. */
Status plan_source(Plan *plan, uint32_t index);

/* Reports something of the message at `index` that the plan leaves out for good. Failures stay in `lost`. */
void   plan_lose(Plan *plan, LossKind kind, uint32_t index, Text subject);
/* Reports a result of the pairing, unless one that stays says the same. */
void   plan_lose_result(Plan *plan, uint32_t number);

/* Adds a new id for a call of the message at `index` to `names`, at *at, of *size bytes,
   as the target wants it: letters, digits, _ and -. No other call has it. */
Status plan_new_id(Plan *plan, uint32_t index, Text old, Buffer *names, size_t *at, size_t *size);

/* Adds `before`, the text as the contents of a JSON string, and `after`. */
Status plan_put(Buffer *out, const char *before, Text text, const char *after);

/* Adds the object `raw` with its member `key` set to a JSON value; in the nested form, the `key` of its object member
   `nested` (NULL: there is no such form). */
Status plan_put_member(const Plan *plan, Text raw, const char *key, const char *nested, Text value, Buffer *out);

/* Adds the object `raw` with its string member `key` set to the plain `value`; in the
   nested form, the `key` of its object member `nested` (NULL: there is no such form). */
Status plan_put_renamed(Plan *plan, Text raw, const char *key, const char *nested, Text value, Buffer *out);

#endif
