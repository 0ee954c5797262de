#include "dialect/repair/repair.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/list/call_links.h"
#include "dialect/read/reader.h"
#include "dialect/repair/repair_plan.h"

/* ---- carrying out ---- */

typedef struct Repairer {
  Conversation *conversation;
  Sequence *list;
  Ledger *ledger;
  Reader reader;
  CallIndex calls;
  CallLink *links;           /* of the results of a message */
  uint32_t link_room;
  Marks *marks;              /* with those that new messages get; NULL: they get none */
  int64_t shift;             /* of positions, by the steps so far */
} Repairer;

static bool may_answer(const Plan *plan, uint32_t index, uint32_t result, const PairedCall *call) {
  return message_may_answer(plan_message(plan, index), result, plan_message(plan, call->message), call->number);
}

/* Reads what the results of a message answer from the pairing of the list. */
static Status read_links(Repairer *repairer, const Plan *plan, uint32_t index) {
  const Pairing *pairing = &plan->pairing;
  uint32_t first = pairing->first_result[index], count = pairing->first_result[index + 1] - first;
  if (count > repairer->link_room) {
    CallLink *grown = memory_resize_array(&plan->memory, repairer->links, repairer->link_room, count, sizeof *grown);
    if (grown == NULL) return STATUS_MEMORY;
    repairer->links = grown;
    repairer->link_room = count;
  }
  for (uint32_t i = 0; i < count; i++) {
    uint32_t number = pairing->results[first + i].call;
    repairer->links[i] = (CallLink){0, 0};
    if (number == UNPAIRED) continue;
    const PairedCall *call = &pairing->calls[number];
    if (may_answer(plan, index, i, call)) repairer->links[i] = (CallLink){plan->ids[call->message], call->number};
  }
  return STATUS_OK;
}

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
  bool moves = step->kind == PLAN_PLACE;      /* it is linked and ranked by its new place */
  Place place = {.list = repairer->list, .position = position, .replaced = moves ? 0 : replaced,
                 .calls = &repairer->calls};
  if (step->kind == PLAN_LINK) {
    Status status = read_links(repairer, plan, step->index);
    if (status != STATUS_OK) return status;
    place.links = repairer->links;
  }
  return conversation_store_one(repairer->conversation, &place, raw, false, &shape, result);
}

static Status drop(Repairer *repairer, uint32_t position) {
  Status status = call_index_leave(&repairer->calls, repairer->list, position);
  return status == STATUS_OK ? sequence_remove(&repairer->list, position, position + 1) : status;
}

static bool is_removal(PlanKind kind) { return kind == PLAN_DROP || kind == PLAN_LEAVE; }
static bool is_insertion(PlanKind kind) { return kind == PLAN_INSERT || kind == PLAN_PLACE; }

static void record(Repairer *repairer, const Plan *plan, PlanKind kind, Cause cause, MessageId old, MessageId result) {
  static const Action actions[] = {[PLAN_DROP] = ACTION_DROPPED, [PLAN_REWRITE] = ACTION_REPLACED,
                                   [PLAN_LINK] = ACTION_REPLACED, [PLAN_INSERT] = ACTION_INSERTED,
                                   [PLAN_PLACE] = ACTION_REPLACED};
  int64_t before = old == 0 ? 0 : sequence_weight(repairer->list, old);
  int64_t after = result == 0 ? 0 : sequence_weight(repairer->list, result);
  MessageId first = old == 0 ? result : old;
  ledger_add(repairer->ledger, cause,
             (LedgerRun){.action = actions[kind], .first = first, .count = 1,
                         .replacement = old == 0 ? 0 : result,
                         .role = message_role(store_message(plan->store, first)), .freed = before - after});
}

/* Gives a message the marks of those of which it is made, and notes which it was where it stands elsewhere. */
static Status inherit_marks(Repairer *repairer, Plan *plan, const PlanStep *step, MessageId result) {
  Status status = STATUS_OK;
  if (step->sources > 0 && is_insertion(step->kind)) {
    MessageId moved = plan->ids[plan->sources[step->source]];
    const uint64_t *former = map_find(&plan->formers, moved);
    status = map_put(&plan->formers, result, former == NULL ? moved : *former);
  }
  assert(step->sources == 0 || (result != 0 && step->source + step->sources <= plan->source_count));
  for (uint32_t i = 0; i < step->sources && status == STATUS_OK; i++) {
    MessageId from = plan->ids[plan->sources[step->source + i]];
    status = conversation_copy_marks(repairer->conversation, &repairer->marks, from, result);
  }
  return status;
}

/* Makes one step of the plan in the list and records it in the ledger, where a message that leaves its place is
   recorded at its new one. On failure the caller releases both and rewinds the store. */
static Status carry_out(Repairer *repairer, Plan *plan, const PlanStep *step) {
  uint32_t position = (uint32_t)(step->index + repairer->shift);
  PlanKind kind = step->kind;
  uint32_t from = kind == PLAN_PLACE ? plan->sources[step->source] : step->index;
  MessageId old = kind == PLAN_INSERT ? 0 : plan->ids[from];
  MessageId result = 0;
  Cause cause;
  assert(step->index <= plan->count && position <= sequence_count(repairer->list));
  Status status = ledger_cause(repairer->ledger, text_of("repair"), text_of(step->reason), &cause);
  if (status == STATUS_OK) status = ledger_reserve(repairer->ledger);
  if (status == STATUS_OK && !is_removal(kind)) {
    status = store_message_of(repairer, plan, step, position, old, &result);
  }
  if (status == STATUS_OK) status = inherit_marks(repairer, plan, step, result);
  if (status != STATUS_OK) return status;
  if (is_removal(kind)) status = drop(repairer, position);
  else if (is_insertion(kind)) status = sequence_insert(&repairer->list, position, result);
  else status = sequence_replace(&repairer->list, position, result);
  if (status != STATUS_OK) return status;
  repairer->shift += is_insertion(kind) - is_removal(kind);
  if (kind != PLAN_LEAVE) record(repairer, plan, kind, cause, old, result);
  return STATUS_OK;
}

/* Carries out the steps of a plan, or those that insert messages after all others: then no message that leaves its
   place still answers the call of the one that comes. */
static Status carry_out_all(Repairer *repairer, Plan *plan, bool apart) {
  Status status = STATUS_OK;
  for (int inserts = 0; inserts <= apart && status == STATUS_OK; inserts++) {
    call_index_free(&repairer->calls);
    call_index_init(&repairer->calls, plan->memory);
    repairer->shift = 0;
    for (uint32_t i = 0; i < plan->step_count && status == STATUS_OK; i++) {
      const PlanStep *step = &plan->steps[i];
      if (!apart || is_insertion(step->kind) == (inserts == 1)) status = carry_out(repairer, plan, step);
      else if (inserts == 1) repairer->shift -= is_removal(step->kind);
    }
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

/* Begins a plan for the list as it is. STATUS_MEMORY. */
static Status begin_plan(Plan *plan, const Sequence *list) {
  plan->count = sequence_count(list);
  plan->step_count = plan->source_count = 0;
  buffer_reset(&plan->bytes);
  MessageId *ids = memory_resize_array(&plan->memory, plan->ids, plan->room, (size_t)plan->count + 1, sizeof *ids);
  if (ids == NULL) return STATUS_MEMORY;
  plan->ids = ids;
  plan->room = (size_t)plan->count + 1;
  SequenceWalk walk = sequence_walk(list, 0, plan->count);
  while (sequence_walk_next(&walk)) memcpy(ids + walk.index, walk.ids, walk.count * sizeof *ids);
  plan->has_kept = false;
  map_free(&plan->kept);
  map_init(&plan->kept, plan->memory);
  pairing_free(&plan->pairing);
  return pairing_of(plan->store, ids, plan->count, plan->options->target.dialect, &plan->calls.key, &plan->memory,
                    &plan->pairing);
}

/* True if the results of a message are linked to the calls that they answer. */
static bool is_linked(const Repairer *repairer, const Plan *plan, uint32_t index) {
  CallLinks links = call_links_of(plan->store, repairer->list);
  const Pairing *pairing = &plan->pairing;
  uint32_t first = pairing->first_result[index], count = pairing->first_result[index + 1] - first, answered;
  if (count != message_result_count(plan_message(plan, index))) return true;     /* some are of another dialect */
  for (uint32_t i = 0; i < count; i++) {
    if (pairing->results[first + i].call == UNPAIRED) continue;
    const PairedCall *call = &pairing->calls[pairing->results[first + i].call];
    if (!may_answer(plan, index, i, call)) continue;
    if (!call_links_answers(&links, plan->ids[index], i, plan->ids[call->message], &answered)) return false;
    if (answered != call->number) return false;
  }
  return true;
}

/* Links results again whose calls were joined to others, or that took the call of another result while messages were
   written one by one. */
static Status link_again(Repairer *repairer, Plan *plan) {
  Status status = begin_plan(plan, repairer->list);
  for (uint32_t i = 0; i < plan->count && status == STATUS_OK; i++) {
    if (is_linked(repairer, plan, i)) continue;
    Text raw = message_raw(plan_message(plan, i));
    size_t at = plan->bytes.size;
    status = buffer_add(&plan->bytes, raw.bytes, raw.size);
    if (status == STATUS_OK) status = plan_step(plan, PLAN_LINK, i, at, "place of a call");
  }
  return status == STATUS_OK ? carry_out_all(repairer, plan, false) : status;
}

/* Makes a plan for the list as it is, and carries it out. */
static Status carry_out_stage(Repairer *repairer, Plan *plan, Status (*stage)(Plan *), bool apart) {
  Status status = begin_plan(plan, repairer->list);
  if (status == STATUS_OK) status = stage(plan);
  if (status == STATUS_OK) status = plan->lost;
  return status == STATUS_OK ? carry_out_all(repairer, plan, apart) : status;
}

/* Moves results behind their calls; *any: something was done. Results move once more where ids that they got in the
   first move are those of several calls, so that other results belong to some of these. */
static Status carry_out_moves(Repairer *repairer, Plan *plan, bool *any) {
  enum { MOVES_MOST = 4 };
  Status status = STATUS_OK;
  for (int i = 0; i < MOVES_MOST && status == STATUS_OK && (i == 0 || plan->step_count > 0); i++) {
    status = carry_out_stage(repairer, plan, plan_moves, true);
    *any |= plan->step_count > 0;
  }
  return status;
}

/* Carries out the stages of a repair; *any: something was done. */
static Status plan_and_carry_out(Repairer *repairer, Plan *plan, bool *any) {
  Status status = begin_plan(plan, repairer->list);
  if (status == STATUS_OK) status = take_ids(plan);
  if (status == STATUS_OK) status = carry_out_stage(repairer, plan, plan_wrapped, true);
  *any = plan->step_count > 0;
  if (status == STATUS_OK) status = carry_out_stage(repairer, plan, plan_forms, true);
  *any |= plan->step_count > 0;
  if (status == STATUS_OK) status = carry_out_stage(repairer, plan, plan_media, true);
  *any |= plan->step_count > 0;
  if (status == STATUS_OK) status = carry_out_moves(repairer, plan, any);
  if (status == STATUS_OK) status = carry_out_stage(repairer, plan, plan_system, true);
  bool meets = plan->step_count > 0;      /* a result may stand directly behind its call now */
  *any |= meets;
  if (status == STATUS_OK && meets) status = carry_out_moves(repairer, plan, any);
  if (status != STATUS_OK) return status;
  status = carry_out_stage(repairer, plan, dialect_form(plan->options->target.dialect)->repair, false);
  *any |= plan->step_count > 0;
  if (status == STATUS_OK) status = carry_out_stage(repairer, plan, plan_system, true);    /* neighbours may be gone */
  *any |= plan->step_count > 0;
  if (status == STATUS_OK) status = carry_out_stage(repairer, plan, plan_signatures, true);
  *any |= plan->step_count > 0;
  return status == STATUS_OK && *any ? link_again(repairer, plan) : status;
}

static Status plan_repair(Repairer *repairer, Plan *plan, bool *any) {
  buffer_init(&plan->bytes, plan->memory);
  buffer_init(&plan->scratch, plan->memory);
  calls_init(&plan->calls, plan->memory);
  plan->pairing = (Pairing){.memory = plan->memory};
  map_init(&plan->taken, plan->memory);
  map_init(&plan->formers, plan->memory);
  map_init(&plan->kept, plan->memory);
  Status status = sequence_share(conversation_list(repairer->conversation), &repairer->list);
  if (status == STATUS_OK) status = ledger_new(&plan->memory, plan->calls.key, &repairer->ledger);
  if (status == STATUS_OK) {
    ledger_set_token_weights(repairer->ledger, sequence_token_weights(repairer->list));
    status = plan_and_carry_out(repairer, plan, any);
  }
  memory_free(&plan->memory, repairer->links, repairer->link_room * sizeof *repairer->links);
  pairing_free(&plan->pairing);
  map_free(&plan->taken);
  map_free(&plan->formers);
  map_free(&plan->kept);
  calls_free(&plan->calls);
  buffer_free(&plan->scratch);
  buffer_free(&plan->bytes);
  memory_free(&plan->memory, plan->sources, plan->source_room * sizeof *plan->sources);
  memory_free(&plan->memory, plan->steps, plan->step_room * sizeof *plan->steps);
  memory_free(&plan->memory, plan->ids, plan->room * sizeof *plan->ids);
  return status;
}

/* Repairs the current list, and commits it if something was done; *ledger is the caller's then, else it stays NULL. On
   failure nothing has changed. */
static Status repair_and_commit(Conversation *conversation, Plan *plan, Ledger **ledger) {
  char description[64];
  bool any = false;
  StoreMark mark = store_mark(conversation_store(conversation));
  Repairer repairer = {.conversation = conversation};
  reader_init(&repairer.reader, plan->memory);
  repairer.reader.all_items = true;
  call_index_init(&repairer.calls, plan->memory);
  snprintf(description, sizeof description, "repair for %s", dialect_name(plan->options->target.dialect));
  Status status = plan_repair(&repairer, plan, &any);
  if (status == STATUS_OK && any) {
    status = conversation_commit(conversation, repairer.list, BATCH_REPAIR, text_of(description), repairer.ledger);
  }
  reader_free(&repairer.reader);
  call_index_free(&repairer.calls);
  if (status == STATUS_OK && any) {
    if (repairer.marks != NULL) conversation_take_marks(conversation, repairer.marks);
    *ledger = ledger_share(repairer.ledger);
    return status;
  }
  marks_release(repairer.marks);
  sequence_release(repairer.list);
  ledger_release(repairer.ledger);
  store_rewind(conversation_store(conversation), mark);
  return status;
}

/* Which of the codes the target refuses and a repair can mend. */
static CodeSet codes_to_repair(const RepairOptions *options) {
  CodeSet codes = {{0}};
  if (dialect_form(options->target.dialect)->repair == NULL) return codes;
  for (unsigned i = 0; i < CHECK_CODE_COUNT; i++) {
    CheckCode code = (CheckCode)i;
    const CheckRule *rule = check_rule(code, options->target.dialect);
    bool repairs = rule != NULL && target_repairs(&options->target, rule) && codes_have(&options->codes, code);
    if (repairs && target_severity(&options->target, code) == SEVERITY_REFUSED) codes_add(&codes, code);
  }
  return codes;
}

static Status has_work(Conversation *conversation, const RepairOptions *options, const CodeSet *codes, bool *has_work) {
  CheckReport report = {.memory = *conversation_memory(conversation), .least = SEVERITY_REFUSED};
  Status status =
    check_list(&options->target, conversation_store(conversation), conversation_list(conversation), &report);
  *has_work = plan_writes_wrapped(options, conversation_store(conversation), conversation_list(conversation));
  for (uint32_t i = 0; i < report.count; i++) *has_work |= codes_have(codes, report.list[i].code);
  check_report_free(&report);
  return status;
}

Status repair_conversation(Conversation *conversation, const RepairOptions *options, Ledger **ledger,
                           ConvertReport *losses) {
  bool work;
  *ledger = NULL;
  if (sequence_sum(conversation_list(conversation)).windows > 0) return STATUS_ARGUMENT;
  CodeSet codes = codes_to_repair(options);
  Status status = has_work(conversation, options, &codes, &work);
  if (status != STATUS_OK || !work) return status;
  Plan plan = {.memory = *conversation_memory(conversation), .options = options, .codes = codes,
               .store = conversation_store(conversation), .report = losses,
               .first = conversation_list(conversation), .stored = store_count(conversation_store(conversation))};
  return repair_and_commit(conversation, &plan, ledger);
}
