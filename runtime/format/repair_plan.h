/*
** Shared by the repairs of all dialects, which read the list and plan edits in its order;
** repair.c then carries the plan out.
*/
#ifndef EBB_FORMAT_REPAIR_PLAN_H
#define EBB_FORMAT_REPAIR_PLAN_H

#include "format/check_rules.h"
#include "json/json_edit.h"
#include "format/repair.h"

#define REPAIR_NO_RESULT "Error: this call has no result."
#define REPAIR_BEGINNING "(The beginning of this conversation was left out.)"

typedef enum PlanKind { PLAN_DROP, PLAN_REWRITE, PLAN_INSERT } PlanKind;

typedef struct PlanStep {
  PlanKind kind;
  uint32_t index;            /* in the original list; inserts go before it */
  size_t at, size;           /* of the new message in `bytes` */
  const char *reason;        /* static */
} PlanStep;

typedef struct Plan {
  Memory memory;
  const RepairOptions *options;
  CodeSet codes;             /* of the options, those that the target refuses */
  const Store *store;
  const MessageId *ids;
  uint32_t count;
  PlanStep *steps;
  uint32_t step_count, step_room;
  Buffer bytes, scratch;
  Calls calls;
  Map taken;                 /* hashes of all ids of the list and of new ones */
} Plan;

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

/* Adds a step; indexes must not decrease. The new message is `bytes` from `at` on.
   STATUS_MEMORY, as all below. */
Status plan_step(Plan *plan, PlanKind kind, uint32_t index, size_t at, const char *reason);

/* Adds a new id for a call of the message at `index` to `names`, at *at, of *size bytes,
   as the target wants it: letters, digits, _ and -. No other call has it. */
Status plan_new_id(Plan *plan, uint32_t index, Text old, Buffer *names, size_t *at, size_t *size);

/* Adds `before`, the text as the contents of a JSON string, and `after`. */
Status plan_put(Buffer *out, const char *before, Text text, const char *after);

/* Adds the object `raw` with its string member `key` set to the plain `value`; in the
   nested form, the `key` of its object member `nested` (NULL: there is no such form). */
Status plan_put_renamed(Plan *plan, Text raw, const char *key, const char *nested, Text value, Buffer *out);

#endif
