#include "format/repair.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "format/reader.h"
#include "format/repair_plan.h"

/* ---- carrying out ---- */

typedef struct Repairer {
  Conversation *conversation;
  Sequence *list;
  Ledger *ledger;
  Reader reader;
  CallIndex calls;
  int64_t shift;             /* of positions, by the steps so far */
} Repairer;

static Status store_message_of(Repairer *repairer, const Plan *plan, const PlanStep *step, uint32_t position,
                               MessageId replaced, MessageId *result) {
  Json json;
  Text raw;
  MessageShape shape;
  RoleAlias alias = {0};
  if (replaced != 0) {       /* keeps the role if an alias decided it */
    const Message *message = store_message(plan->store, replaced);
    alias = (RoleAlias){.spelling = message_role_text(message), .role = message_role(message)};
    repairer->reader.aliases = &alias;
  }
  repairer->reader.alias_count = replaced != 0;
  repairer->reader.message_bytes_max = SIZE_MAX;
  json_open(&json, plan->bytes.bytes + step->at, step->size);
  if (!reader_message(&repairer->reader, &json, &raw, &shape)) return json.status;
  Place place = {.list = repairer->list, .position = position, .replaced = replaced, .calls = &repairer->calls};
  return conversation_store_one(repairer->conversation, &place, raw, false, &shape, result);
}

static Status drop(Repairer *repairer, uint32_t position) {
  Status status = call_index_leave(&repairer->calls, repairer->list, position);
  return status == STATUS_OK ? sequence_remove(&repairer->list, position, position + 1) : status;
}

/* Makes one step of the plan in the list and records it in the ledger. On failure the caller releases both and
   rewinds the store. */
static Status carry_out(Repairer *repairer, const Plan *plan, const PlanStep *step) {
  uint32_t position = (uint32_t)(step->index + repairer->shift);
  MessageId old = step->kind == PLAN_INSERT ? 0 : plan->ids[step->index], result = 0;
  Cause cause;
  assert(step->index <= plan->count && position <= sequence_count(repairer->list));
  Status status = ledger_cause(repairer->ledger, text_of("repair"), text_of(step->reason), &cause);
  if (status == STATUS_OK) status = ledger_reserve(repairer->ledger);
  if (status == STATUS_OK && step->kind != PLAN_DROP) {
    status = store_message_of(repairer, plan, step, position, old, &result);
  }
  if (status != STATUS_OK) return status;
  if (step->kind == PLAN_DROP) status = drop(repairer, position);
  else if (step->kind == PLAN_REWRITE) status = sequence_replace(&repairer->list, position, result);
  else status = sequence_insert(&repairer->list, position, result);
  if (status != STATUS_OK) return status;
  repairer->shift += (step->kind == PLAN_INSERT) - (step->kind == PLAN_DROP);
  static const Action actions[] = {ACTION_DROPPED, ACTION_REPLACED, ACTION_INSERTED};
  int64_t before = old == 0 ? 0 : sequence_weight(repairer->list, old);
  int64_t after = result == 0 ? 0 : sequence_weight(repairer->list, result);
  MessageId first = old == 0 ? result : old;
  ledger_add(repairer->ledger, cause,
             (LedgerRun){.action = actions[step->kind], .first = first, .count = 1,
                         .replacement = old == 0 ? 0 : result,
                         .role = message_role(store_message(plan->store, first)), .freed = before - after});
  return STATUS_OK;
}

static Status carry_out_all(Repairer *repairer, const Plan *plan) {
  Status status = sequence_share(conversation_list(repairer->conversation), &repairer->list);
  if (status == STATUS_OK) status = ledger_new(&plan->memory, plan->calls.key, &repairer->ledger);
  if (status == STATUS_OK) ledger_set_token_weights(repairer->ledger, sequence_token_weights(repairer->list));
  for (uint32_t i = 0; i < plan->step_count && status == STATUS_OK; i++) {
    status = carry_out(repairer, plan, &plan->steps[i]);
  }
  return status;
}

/* Carries out a plan with steps and commits the list as a batch; *ledger is the caller's. On failure nothing has
   changed. */
static Status commit(Conversation *conversation, const Plan *plan, Ledger **ledger) {
  char description[64];
  StoreMark mark = store_mark(conversation_store(conversation));
  Repairer repairer = {.conversation = conversation};
  reader_init(&repairer.reader, plan->memory);
  repairer.reader.all_items = true;
  call_index_init(&repairer.calls, plan->memory);
  snprintf(description, sizeof description, "repair for %s", dialect_name(plan->options->target.dialect));
  Status status = carry_out_all(&repairer, plan);
  if (status == STATUS_OK) {
    status = conversation_commit(conversation, repairer.list, BATCH_REPAIR, text_of(description), repairer.ledger);
  }
  reader_free(&repairer.reader);
  call_index_free(&repairer.calls);
  if (status == STATUS_OK) {
    *ledger = ledger_share(repairer.ledger);
  } else {
    sequence_release(repairer.list);
    ledger_release(repairer.ledger);
    store_rewind(conversation_store(conversation), mark);
  }
  return status;
}

/* ---- the whole ---- */

/* Adds all ids of the list, which new ids must differ from. */
static Status take_ids(Plan *plan) {
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < plan->count; i++) {
    const Message *message = plan_message(plan, i);
    for (uint32_t k = 0; k < message_call_count(message) && status == STATUS_OK; k++) {
      status = map_put(&plan->taken, hash_text(message_call_key(message, k), &plan->calls.key), 1);
    }
    for (uint32_t k = 0; k < message_result_count(message) && status == STATUS_OK; k++) {
      status =
        map_put(&plan->taken, hash_text(message_result_key(message, k), &plan->calls.key), 1);
    }
  }
  return status;
}

static Status make_plan(Plan *plan) {
  Status status = take_ids(plan);
  return status == STATUS_OK ? dialect_form(plan->options->target.dialect)->repair(plan) : status;
}

/* Plans the repair of the current list, and commits it if there are steps. *ledger stays NULL without steps. */
static Status plan_and_commit(Conversation *conversation, Plan *plan, Ledger **ledger) {
  uint32_t count = plan->count;
  MessageId *ids = memory_new_array(&plan->memory, count, sizeof *ids);
  if (ids == NULL) return STATUS_MEMORY;
  SequenceWalk walk = sequence_walk(conversation_list(conversation), 0, count);
  while (sequence_walk_next(&walk)) memcpy(ids + walk.index, walk.ids, walk.count * sizeof *ids);
  plan->ids = ids;
  buffer_init(&plan->bytes, plan->memory);
  buffer_init(&plan->scratch, plan->memory);
  calls_init(&plan->calls, plan->memory);
  map_init(&plan->taken, plan->memory);
  Status status = make_plan(plan);
  if (status == STATUS_OK && plan->step_count > 0) status = commit(conversation, plan, ledger);
  map_free(&plan->taken);
  calls_free(&plan->calls);
  buffer_free(&plan->scratch);
  buffer_free(&plan->bytes);
  memory_free(&plan->memory, plan->steps, plan->step_room * sizeof *plan->steps);
  memory_free(&plan->memory, ids, count * sizeof *ids);
  return status;
}

/* Which of the codes the target refuses and a repair can mend. */
static CodeSet codes_to_repair(const RepairOptions *options) {
  CodeSet codes = {{0}};
  if (dialect_form(options->target.dialect)->repair == NULL) return codes;
  for (unsigned i = 0; i < CHECK_CODE_COUNT; i++) {
    CheckCode code = (CheckCode)i;
    const CheckRule *rule = check_rule(code, options->target.dialect);
    bool repairs = rule != NULL && rule->can_repair && codes_have(&options->codes, code);
    if (repairs && target_severity(&options->target, code) == SEVERITY_REFUSED) codes_add(&codes, code);
  }
  return codes;
}

static Status has_work(Conversation *conversation, const RepairOptions *options, const CodeSet *codes, bool *has_work) {
  CheckReport report = {.memory = *conversation_memory(conversation), .least = SEVERITY_REFUSED};
  Status status =
    check_list(&options->target, conversation_store(conversation), conversation_list(conversation), &report);
  *has_work = false;
  for (uint32_t i = 0; i < report.count; i++) *has_work |= codes_have(codes, report.list[i].code);
  check_report_free(&report);
  return status;
}

Status repair_conversation(Conversation *conversation, const RepairOptions *options, Ledger **ledger) {
  bool work;
  *ledger = NULL;
  if (sequence_sum(conversation_list(conversation)).windows > 0) return STATUS_ARGUMENT;
  CodeSet codes = codes_to_repair(options);
  Status status = has_work(conversation, options, &codes, &work);
  if (status != STATUS_OK || !work) return status;
  Plan plan = {.memory = *conversation_memory(conversation), .options = options, .codes = codes,
               .store = conversation_store(conversation), .count = sequence_count(conversation_list(conversation))};
  return plan_and_commit(conversation, &plan, ledger);
}
