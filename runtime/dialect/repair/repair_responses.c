/*
** Repairs items one by one, as check_responses.c reads them. Each output stands behind its
** call (repair_move.c):
**
**     call a   call a   output a   output a   output b
**     0        1        of 0       of 1       of none: dropped
**              a new call_id, in its output too
**
** A call without output is dropped, or answered behind its reply. Reasoning whose reply is
** gone is dropped. An item's own id is left out where it is not valid, or another item's.
*/
#include <assert.h>
#include <string.h>

#include "json/json.h"
#include "json/json_fields.h"
#include "dialect/repair/repair_plan.h"

typedef struct ItemFate {
  uint32_t partner;          /* the output of a call, or the call of an output, from 1; 0: none */
  size_t name_at, name_size; /* of its new call_id in `names`; size 0: it keeps its id */
  const char *dropped;       /* why it goes, static; NULL: it stays */
  bool answered;             /* by an item that is inserted behind its reply */
  bool sheds_id;             /* its own id is left out */
} ItemFate;

typedef struct ItemPlan {
  Plan *plan;
  ItemFate *fates;           /* by item */
  Map open;                  /* hash of a call_id -> 1 while a call that stays waits for its output */
  Map ids;                   /* hashes of the items' own ids so far */
  Buffer names;
} ItemPlan;

static Text member(const Message *message, const char *name) {
  JsonValue value;
  return json_find(message_raw(message), name, JSON_STRING, &value) ? json_text(&value) : NO_TEXT;
}

static bool is_type(const Message *message, const char *type) { return text_is(member(message, "type"), type); }

static bool is_call(const Message *message) {
  return message_form(message) == FORM_ITEM && message_call_count(message) > 0;
}

static bool is_output(const Message *message) {
  return message_form(message) == FORM_ITEM && message_result_count(message) > 0;
}

/* The member that has the id of a call, in the call or in its output. */
static const char *key_of(const Message *message) {
  if (member(message, "call_id").size > 0) return "call_id";
  if (is_type(message, "mcp_approval_request")) return "id";
  return is_output(message) && member(message, "approval_request_id").size > 0 ? "approval_request_id" : "call_id";
}

static uint64_t hash_of(const ItemPlan *items, Text key) { return hash_text(key, &items->plan->calls.key); }

static uint64_t value_of(const Map *map, uint64_t hash) {
  const uint64_t *value = map_find(map, hash);
  return value == NULL ? 0 : *value;
}

/* ---- calls and their outputs ---- */

static void take_pairs(ItemPlan *items) {
  const Pairing *pairing = &items->plan->pairing;
  for (uint32_t i = 0; i < pairing->result_count; i++) {
    const PairedResult *result = &pairing->results[i];
    ItemFate *fate = &items->fates[result->message];
    if (result->call == UNPAIRED) {
      CheckCode code = result->is_again ? CHECK_DUPLICATE_RESULT : CHECK_ORPHAN_RESULT;
      if (!plan_is_repairing(items->plan, code)) continue;
      fate->dropped = orphan_reason(result);
      plan_lose_result(items->plan, i);
      continue;
    }
    uint32_t call = pairing->calls[result->call].message;
    fate->partner = call + 1;
    items->fates[call].partner = result->message + 1;
  }
}

static Status rename_call(ItemPlan *items, uint32_t index, Text key) {
  ItemFate *fate = &items->fates[index];
  Status status = plan_new_id(items->plan, index, key, &items->names, &fate->name_at, &fate->name_size);
  if (status != STATUS_OK || fate->partner == 0) return status;
  items->fates[fate->partner - 1].name_at = fate->name_at;
  items->fates[fate->partner - 1].name_size = fate->name_size;
  return STATUS_OK;
}

/* Decides on a call: dropped, answered, renamed. `seen`: another item has the id that is its call's, too. */
static Status decide_call(ItemPlan *items, uint32_t index, bool seen) {
  Plan *plan = items->plan;
  const Message *message = plan_message(plan, index);
  ItemFate *fate = &items->fates[index];
  if (fate->partner == 0 && plan_is_repairing(plan, CHECK_UNANSWERED_CALL)) {
    bool has_answer = is_type(message, "function_call") || is_type(message, "custom_tool_call");
    fate->answered = plan->options->synthesize && has_answer;
    if (!fate->answered) {
      fate->dropped = "unanswered call";
      plan_lose(plan, LOSS_CALL, index, message_call_key(message, 0));
      return STATUS_OK;
    }
  }
  Text key = message_call_key(message, 0);
  IdRule rule = target_call_id(&plan->options->target);
  bool own = text_is(text_of(key_of(message)), "id");        /* its call's id is the item's */
  bool fits = id_fits(&rule, key), again = value_of(&items->open, hash_of(items, key)) != 0;
  bool renames = (!fits && plan_is_repairing(plan, CHECK_CALL_ID)) ||
                 (again && plan_is_repairing(plan, CHECK_DUPLICATE_CALL)) ||
                 (own && seen && plan_is_repairing(plan, CHECK_DUPLICATE_ITEM)) ||
                 (own && !id_is_valid(key) && plan_is_repairing(plan, CHECK_ITEM_ID));
  return renames ? rename_call(items, index, key) : map_put(&items->open, hash_of(items, key), 1);
}

/* An output closes its call, unless both have a new id. */
static void close_call(ItemPlan *items, uint32_t index) {
  const Message *message = plan_message(items->plan, index);
  uint64_t *open = map_find(&items->open, hash_of(items, message_result_key(message, 0)));
  if (open != NULL && items->fates[index].partner != 0 && items->fates[index].name_size == 0) *open = 0;
}

/* ---- ids of items ---- */

/* True if the id begins as those of its kind of items do. */
static bool has_prefix(Text type, Text id) {
  const char *prefix = text_is(type, "reasoning") ? "rs_" : text_is(type, "message") ? "msg_"
                     : text_is(type, "function_call") ? "fc_" : "";
  return text_starts_with(id, text_of(prefix));
}

/* Decides on the item's own id; a reference is nothing without it. */
static void decide_id(ItemPlan *items, uint32_t index, Text id, bool seen) {
  const Message *message = plan_message(items->plan, index);
  Text type = member(message, "type");
  ItemFate *fate = &items->fates[index];
  bool fits = id_is_valid(id) && has_prefix(type, id);
  bool faulty = (seen && plan_is_repairing(items->plan, CHECK_DUPLICATE_ITEM)) ||
                (!fits && plan_is_repairing(items->plan, CHECK_ITEM_ID));
  if (!faulty) return;
  bool is_reference = text_is(type, "item_reference");
  if (is_reference) fate->dropped = "id of an item";
  if (is_reference) plan_lose(items->plan, LOSS_PART, index, type);
  else fate->sheds_id = true;
}

static Status decide_item(ItemPlan *items, uint32_t index) {
  const Message *message = plan_message(items->plan, index);
  JsonValue value;
  Status status = STATUS_OK;
  bool has_id = member(message, "type").size > 0 && json_find(message_raw(message), "id", JSON_STRING, &value);
  Text id = has_id ? json_text(&value) : NO_TEXT;
  bool seen = has_id && map_find(&items->ids, hash_of(items, id)) != NULL;
  ItemFate *fate = &items->fates[index];
  if (is_call(message)) status = decide_call(items, index, seen);
  if (is_output(message)) close_call(items, index);
  if (status != STATUS_OK || !has_id || fate->dropped != NULL) return status;
  bool own = is_call(message) && text_is(text_of(key_of(message)), "id");
  if (own) return fate->name_size > 0 ? STATUS_OK : map_put(&items->ids, hash_of(items, id), 1);
  decide_id(items, index, id, seen);
  bool keeps = fate->dropped == NULL && !fate->sheds_id;
  return keeps && !seen ? map_put(&items->ids, hash_of(items, id), 1) : STATUS_OK;
}

/* ---- reasoning ---- */

/* Drops reasoning without the item that followed it, from the end: one may have followed another. */
static void drop_alone(ItemPlan *items) {
  bool replies = false;      /* the next item that stays is the model's */
  if (!plan_is_repairing(items->plan, CHECK_REASONING_ALONE)) return;
  for (uint32_t i = items->plan->count; i-- > 0;) {
    const Message *message = plan_message(items->plan, i);
    if (items->fates[i].dropped != NULL) continue;
    bool is_alone = !replies && is_type(message, "reasoning");
    if (is_alone) items->fates[i].dropped = "reasoning without its item";
    if (is_alone) plan_lose(items->plan, LOSS_REASONING, i, NO_TEXT);
    else replies = message_role(message) == ROLE_ASSISTANT;
  }
}

/* Leaves out ids of first items of replies, which name a reasoning that is gone. */
static void shed_lost(ItemPlan *items) {
  bool begins = true;
  if (!plan_is_repairing(items->plan, CHECK_REASONING_LOST)) return;
  for (uint32_t i = 0; i < items->plan->count; i++) {
    const Message *message = plan_message(items->plan, i);
    if (items->fates[i].dropped != NULL) continue;
    bool replies = message_role(message) == ROLE_ASSISTANT;
    bool is_own = is_type(message, "reasoning") || is_type(message, "item_reference") ||
                  (is_call(message) && text_is(text_of(key_of(message)), "id"));
    bool has_id = member(message, "type").size > 0 && member(message, "id").size > 0;
    if (replies && begins && has_id && !is_own) items->fates[i].sheds_id = true;
    begins = !replies;
  }
}

/* ---- steps ---- */

static Status write_item(ItemPlan *items, uint32_t index) {
  Plan *plan = items->plan;
  const Message *message = plan_message(plan, index);
  const ItemFate *fate = &items->fates[index];
  MemberEdit edits[2];
  uint32_t count = 0;
  size_t at = plan->bytes.size;
  Status status = STATUS_OK;
  if (fate->dropped != NULL) return plan_step(plan, PLAN_DROP, index, at, fate->dropped);
  assert(fate->name_at + fate->name_size <= items->names.size);
  buffer_reset(&plan->scratch);
  if (fate->name_size > 0) {
    status = plan_put(&plan->scratch, "\"", text_plain(items->names.bytes + fate->name_at, fate->name_size), "\"");
    edits[count++] = (MemberEdit){.key = text_of(key_of(message)),
                                  .value = text_plain(plan->scratch.bytes, plan->scratch.size)};
  }
  if (fate->sheds_id) edits[count++] = (MemberEdit){.key = text_of("id")};
  if (status != STATUS_OK || count == 0) return status;
  status = json_edit_members(message_raw(message), edits, count, &plan->bytes);
  const char *reason = fate->name_size > 0 ? "id of a call" : "id of an item";
  return status == STATUS_OK ? plan_step(plan, PLAN_REWRITE, index, at, reason) : status;
}

/* Inserts the answers of calls from `from` on, before the item `index`. */
static Status put_answers(ItemPlan *items, uint32_t from, uint32_t index) {
  Plan *plan = items->plan;
  Status status = STATUS_OK;
  for (uint32_t i = from; i < index && status == STATUS_OK; i++) {
    const ItemFate *fate = &items->fates[i];
    const Message *message = plan_message(plan, i);
    if (!fate->answered) continue;
    size_t at = plan->bytes.size;
    bool custom = is_type(message, "custom_tool_call");
    Text key = fate->name_size > 0 ? text_plain(items->names.bytes + fate->name_at, fate->name_size)
                                   : message_call_key(message, 0);
    status = plan_put(&plan->bytes, custom ? "{\"type\":\"custom_tool_call_output\",\"call_id\":\""
                                           : "{\"type\":\"function_call_output\",\"call_id\":\"",
                      key, "\",\"output\":\"" REPAIR_NO_RESULT "\"}");
    if (status == STATUS_OK) status = plan_step(plan, PLAN_INSERT, index, at, "unanswered call");
  }
  return status;
}

static Status write_all(ItemPlan *items) {
  Status status = STATUS_OK;
  uint32_t from = 0;         /* answers of earlier calls are written */
  for (uint32_t i = 0; i < items->plan->count && status == STATUS_OK; i++) {
    bool ends = items->fates[i].dropped == NULL && message_role(plan_message(items->plan, i)) != ROLE_ASSISTANT;
    if (ends) {
      status = put_answers(items, from, i);
      from = i;
    }
    if (status == STATUS_OK) status = write_item(items, i);
  }
  return status == STATUS_OK ? put_answers(items, from, items->plan->count) : status;
}

Status plan_responses(Plan *plan) {
  ItemPlan items = {.plan = plan, .fates = memory_new_array(&plan->memory, plan->count, sizeof *items.fates)};
  if (items.fates == NULL) return STATUS_MEMORY;
  memset(items.fates, 0, plan->count * sizeof *items.fates);
  map_init(&items.open, plan->memory);
  map_init(&items.ids, plan->memory);
  buffer_init(&items.names, plan->memory);
  Status status = STATUS_OK;
  take_pairs(&items);
  for (uint32_t i = 0; i < plan->count && status == STATUS_OK; i++) {
    if (items.fates[i].dropped == NULL) status = decide_item(&items, i);
  }
  drop_alone(&items);
  shed_lost(&items);
  if (status == STATUS_OK) status = write_all(&items);
  buffer_free(&items.names);
  map_free(&items.ids);
  map_free(&items.open);
  memory_free(&plan->memory, items.fates, plan->count * sizeof *items.fates);
  return status;
}
