/*
** Repairs run by run, as check_openai.c reads them. The results of a head's calls stand behind
** it (repair_move.c):
**
**     head   calls a, a, b      tool a   tool a   tool c
**     call   0  1  2   result   0        1        none: dropped
**            |  |  unanswered: dropped, or answered by a new message
**            |  a new id, in its result too
*/
#include <assert.h>
#include <string.h>

#include "json/json.h"
#include "dialect/repair/repair_plan.h"

typedef struct CallFate {
  bool dropped, answered;    /* answered: by a message that will be inserted */
  size_t name_at, name_size; /* of its new id in `names`; size 0: it keeps its id */
} CallFate;

typedef struct ToolRun {
  Plan *plan;
  uint32_t index, end;       /* the head, and the position behind the last result */
  CallFate *fates;           /* by call of plan->calls */
  uint32_t room;
  Buffer names;
  bool by_name;              /* its call is a function_call, whose name is no id */
  const char *reason;        /* the first reason to rewrite the head; NULL: none */
} ToolRun;

static void because(ToolRun *run, const char *reason) {
  if (run->reason == NULL) run->reason = reason;
}

static Text new_id(const ToolRun *run, const CallFate *fate) {
  assert(fate->name_size > 0 && fate->name_at + fate->name_size <= run->names.size);
  return text_plain(run->names.bytes + fate->name_at, fate->name_size);
}

/* ---- fates of the calls ---- */

/* True if a result of the run answers the call. */
static bool is_answered(const ToolRun *run, uint32_t call) {
  const Pairing *pairing = &run->plan->pairing;
  uint32_t result = pairing->calls[pairing->first_call[run->index] + call].result;
  return result != UNPAIRED && pairing->results[result].message > run->index &&
         pairing->results[result].message < run->end;
}

static Status decide_call(ToolRun *run, uint32_t call) {
  Plan *plan = run->plan;
  OpenCall *open = &plan->calls.list[call];
  CallFate *fate = &run->fates[call];
  *fate = (CallFate){0};
  if (!is_answered(run, call) && plan_is_repairing(plan, CHECK_UNANSWERED_CALL)) {
    fate->answered = plan->options->synthesize;
    fate->dropped = !plan->options->synthesize;
    if (fate->dropped) because(run, "unanswered call");
    if (fate->dropped) plan_lose(plan, LOSS_CALL, run->index, open->id);
  }
  IdRule rule = target_call_id(&plan->options->target);
  bool fits = open->id.size > 0 && (run->by_name || id_fits(&rule, open->id));
  bool is_faulty = !fits || open->is_duplicate;
  bool renames = is_faulty && plan_is_repairing(plan, fits ? CHECK_DUPLICATE_CALL : CHECK_CALL_ID);
  if (fate->dropped || !renames) return STATUS_OK;
  because(run, "id of a call");
  return plan_new_id(plan, run->index, open->id, &run->names, &fate->name_at, &fate->name_size);
}

/* Finds duplicate ids among the calls that stay; dropped calls do not count. */
static Status decide_calls(ToolRun *run) {
  Plan *plan = run->plan;
  Calls *calls = &plan->calls;
  Status status = STATUS_OK;
  if (calls->count > run->room) {
    CallFate *grown = memory_resize_array(&plan->memory, run->fates, run->room, calls->count, sizeof *grown);
    if (grown == NULL) return STATUS_MEMORY;
    run->fates = grown;
    run->room = calls->count;
  }
  run->by_name = calls->count > 0 && message_is_legacy_call(plan_message(plan, run->index));
  for (uint32_t i = 0; i < calls->count && status == STATUS_OK; i++) status = decide_call(run, i);
  return status;
}

/* ---- writing the head ---- */

static Status put_call(ToolRun *run, const JsonValue *value, const CallFate *fate, Buffer *out, bool *any) {
  if (fate->dropped) return STATUS_OK;
  Text raw = text_plain(value->bytes, value->size);
  Status status = *any ? buffer_add_string(out, ",") : STATUS_OK;
  *any = true;
  if (status != STATUS_OK) return status;
  if (fate->name_size == 0) return buffer_add(out, raw.bytes, raw.size);
  return plan_put_renamed(run->plan, raw, "id", NULL, new_id(run, fate), out);
}

/* Writes the list under tool_calls without dropped calls; adds nothing if none stays. */
static Status put_tool_calls(ToolRun *run, Text list, uint32_t *call, Buffer *out) {
  Json json;
  JsonValue value;
  bool any = false;
  size_t before = out->size;
  json_open(&json, list.bytes, list.size);
  json_enter(&json);
  Status status = buffer_add_string(out, "[");
  while (status == STATUS_OK && json_next_element(&json) && json_value(&json, &value)) {
    assert(*call < run->plan->calls.count);
    status = put_call(run, &value, &run->fates[(*call)++], out, &any);
  }
  if (status == STATUS_OK) status = buffer_add_string(out, "]");
  if (!any) out->size = before;
  return status;
}

/* Writes the content's parts without foreign reasoning, or "" if no part stays; adds
   nothing if there is no foreign reasoning. */
static Status put_content(ToolRun *run, const Message *message, Buffer *out, bool *has_content) {
  size_t before = out->size;
  uint32_t removed = 0, remaining = 0;
  Status status = buffer_add_string(out, "[");
  for (uint32_t i = 0; i < message_part_count(message) && status == STATUS_OK; i++) {
    Part part = message_part(message, i);
    CheckCode code;
    Text type, raw = message_text(message, part.value);
    if (part.nested) continue;
    bool foreign = part_is_foreign(DIALECT_OPENAI, message, part, &code, &type);
    if (foreign && code == CHECK_FOREIGN_REASONING && plan_is_repairing(run->plan, code)) {
      removed++;
      plan_lose(run->plan, LOSS_REASONING, run->index, NO_TEXT);
      continue;
    }
    if (remaining++ > 0) status = buffer_add_string(out, ",");
    if (status == STATUS_OK) status = buffer_add(out, raw.bytes, raw.size);
  }
  if (status == STATUS_OK) status = buffer_add_string(out, "]");
  *has_content = remaining > 0;
  if (removed > 0) because(run, "foreign reasoning");
  if (status != STATUS_OK || removed == 0) out->size = before;
  if (status != STATUS_OK || removed == 0 || remaining > 0) return status;
  out->size = before;
  return buffer_add_string(out, "\"\"");
}

/* An item of Responses has its call's id under another name. */
static bool is_item(const Message *message) { return message_form(message) == FORM_ITEM; }

typedef struct HeadEdits {
  MemberEdit list[4];
  size_t at[4];
  uint32_t count;
} HeadEdits;

static void note_edit(HeadEdits *edits, const char *key, size_t at) {
  assert(edits->count < sizeof edits->list / sizeof *edits->list);
  edits->at[edits->count] = at;
  edits->list[edits->count++] = (MemberEdit){.key = text_of(key)};
}

/* Collects edits of members; an empty value removes one. */
static Status edit_head(ToolRun *run, HeadEdits *edits, Buffer *values, bool *has_content) {
  const Message *message = plan_message(run->plan, run->index);
  Text raw = message_raw(message), key;
  Json json;
  JsonValue value;
  uint32_t call = 0;
  size_t at;
  Status status = STATUS_OK;
  bool calls = message_role(message) == ROLE_ASSISTANT;      /* other roles have no calls there */
  *has_content = message_content_kind(message) == CONTENT_STRING && !text_is_blank(message_content(message));
  json_open(&json, raw.bytes, raw.size);
  json_enter(&json);
  while (status == STATUS_OK && json_next_member(&json, &key) && json_value(&json, &value)) {
    at = values->size;
    if (calls && value.kind == JSON_ARRAY && text_is(key, "tool_calls")) {
      status = put_tool_calls(run, text_plain(value.bytes, value.size), &call, values);
      note_edit(edits, "tool_calls", at);
    } else if (is_item(message) && text_is(key, "call_id") && run->plan->calls.count > 0 &&
               run->fates[0].name_size > 0) {
      status = plan_put(values, "\"", new_id(run, &run->fates[0]), "\"");
      note_edit(edits, "call_id", at);
    } else if (calls && value.kind == JSON_OBJECT && text_is(key, "function_call")) {
      if (run->fates[call++].dropped) note_edit(edits, "function_call", at);
    } else if (value.kind == JSON_ARRAY && text_is(key, "content")) {
      status = put_content(run, message, values, has_content);
      if (values->size > at) note_edit(edits, "content", at);
    } else if (text_is(key, "refusal") || text_is(key, "audio")) {
      *has_content |= value.kind != JSON_NULL;
    }
  }
  return status;
}

static bool keeps_calls(const ToolRun *run) {
  const Message *message = plan_message(run->plan, run->index);
  for (uint32_t i = 0; i < run->plan->calls.count; i++) {
    if (!run->fates[i].dropped) return true;
  }
  for (uint32_t i = 0; i < message_call_count(message); i++) {
    if (call_is_part(message, i)) return true;
  }
  return false;
}

/* Drops an assistant message that has neither content nor calls left. */
static Status write_head(ToolRun *run) {
  Plan *plan = run->plan;
  const Message *message = plan_message(plan, run->index);
  HeadEdits edits = {.count = 0};
  bool has_content;
  Buffer values;
  size_t at = plan->bytes.size;
  buffer_init(&values, plan->memory);
  Status status = edit_head(run, &edits, &values, &has_content);
  for (uint32_t i = 0; i < edits.count; i++) {
    size_t end = i + 1 < edits.count ? edits.at[i + 1] : values.size;
    if (end > edits.at[i]) edits.list[i].value = text_plain(values.bytes + edits.at[i], end - edits.at[i]);
  }
  if (status == STATUS_OK && run->reason != NULL) {
    bool is_dropped = message_role(message) == ROLE_ASSISTANT && !has_content && !keeps_calls(run);
    if (!is_dropped) status = json_edit_members(message_raw(message), edits.list, edits.count, &plan->bytes);
    PlanKind kind = is_dropped ? PLAN_DROP : PLAN_REWRITE;
    if (status == STATUS_OK) status = plan_step(plan, kind, run->index, at, run->reason);
  }
  buffer_free(&values);
  return status;
}

/* ---- the results ---- */

/* Plans the repair of a tool message: drops it if no call waits for it; else rewrites it if its content has foreign
   parts, or if its call has got a new id. The two edits are made one after the other, the second on the bytes of the
   first. STATUS_MEMORY. */
static Status write_result(ToolRun *run, uint32_t index) {
  Plan *plan = run->plan;
  const Message *message = plan_message(plan, index);
  const Pairing *pairing = &plan->pairing;
  bool is_result = pairing_has_results(pairing, index);
  const PairedResult *result = is_result ? &pairing->results[pairing->first_result[index]] : NULL;
  size_t at = plan->bytes.size;
  uint32_t first = pairing->first_call[run->index], call = result == NULL ? UNPAIRED : result->call - first;
  if (call >= plan->calls.count) {           /* the call of none, or of another message */
    bool duplicate = result != NULL && result->is_again;
    if (!plan_is_repairing(plan, duplicate ? CHECK_DUPLICATE_RESULT : CHECK_ORPHAN_RESULT)) return STATUS_OK;
    if (result == NULL) plan_lose(plan, LOSS_ORPHAN, index, NO_TEXT);
    else plan_lose_result(plan, pairing->first_result[index]);
    return plan_step(plan, PLAN_DROP, index, at, duplicate ? "duplicate result" : "orphan result");
  }
  ToolRun parts = {.plan = plan, .index = index};      /* its content is repaired like a head's */
  bool has_content, renamed = run->fates[call].name_size > 0;
  Buffer content, *raw = &plan->bytes;
  buffer_init(&content, plan->memory);
  Status status = put_content(&parts, message, &content, &has_content);
  bool rewrites = content.size > 0;
  if (status == STATUS_OK && rewrites) {
    MemberEdit edit = {.key = text_of("content"), .value = text_plain(content.bytes, content.size)};
    status = json_edit_members(message_raw(message), &edit, 1, raw);
  }
  if (status == STATUS_OK && renamed) {
    Text from = message_raw(message);
    if (rewrites) {          /* edits the result once more */
      buffer_reset(&content);
      status = buffer_add(&content, raw->bytes + at, raw->size - at);
      raw->size = at;
      from = text_plain(content.bytes, content.size);
    }
    if (status == STATUS_OK) {
      const char *key = is_item(message) ? "call_id" : "tool_call_id";
      status = plan_put_renamed(plan, from, key, NULL, new_id(run, &run->fates[call]), raw);
    }
  }
  buffer_free(&content);
  if (status != STATUS_OK || raw->size == at) return status;
  return plan_step(plan, PLAN_REWRITE, index, at, renamed ? "id of a call" : "foreign reasoning");
}

static Status put_answer(ToolRun *run, uint32_t call, bool legacy) {
  Plan *plan = run->plan;
  Text id = run->fates[call].name_size > 0 ? new_id(run, &run->fates[call]) : plan->calls.list[call].id;
  size_t at = plan->bytes.size;
  Status status =
    plan_put(&plan->bytes, legacy ? "{\"role\":\"function\",\"name\":\"" : "{\"role\":\"tool\",\"tool_call_id\":\"",
               id, "\",\"content\":\"" REPAIR_NO_RESULT "\"}");
  return status == STATUS_OK ? plan_step(plan, PLAN_INSERT, run->end, at, "unanswered call") : status;
}

/* ---- a run ---- */

/* Plans the repair of one run: an assistant message with calls and the tool messages that follow it, or tool messages
   without such a head. */
static Status plan_run(ToolRun *run) {
  Plan *plan = run->plan;
  const Message *head = plan_message(plan, run->index);
  bool headless = message_role(head) == ROLE_TOOL;
  Status status = STATUS_OK;
  assert(run->index < run->end && run->end <= plan->count);
  calls_reset(&plan->calls);
  run->reason = NULL;
  buffer_reset(&run->names);
  if (!headless) {
    status = openai_open_calls(&plan->calls, head);
    if (status == STATUS_OK) status = decide_calls(run);
    if (status == STATUS_OK) status = write_head(run);
  }
  for (uint32_t i = headless ? run->index : run->index + 1; i < run->end && status == STATUS_OK; i++) {
    status = write_result(run, i);
  }
  bool legacy = plan->calls.count > 0 && message_is_legacy_call(head);
  for (uint32_t i = 0; i < plan->calls.count && status == STATUS_OK; i++) {
    if (run->fates[i].answered) status = put_answer(run, i, legacy);
  }
  return status;
}

Status plan_openai(Plan *plan) {
  ToolRun run = {.plan = plan};
  Status status = STATUS_OK;
  buffer_init(&run.names, plan->memory);
  for (uint32_t end; run.index < plan->count && status == STATUS_OK; run.index = end) {
    end = run.index + 1;
    while (end < plan->count && message_role(plan_message(plan, end)) == ROLE_TOOL) end++;
    run.end = end;
    status = plan_run(&run);
  }
  buffer_free(&run.names);
  memory_free(&plan->memory, run.fates, run.room * sizeof *run.fates);
  return status;
}
