/*
** Signatures of Gemini's calls: the first call of a content has one, or what stands in for it, behind the last text of
** the user and in contents that the repair has written: there a call comes first, too, where the one before it was
** dropped. Where contents were joined, calls behind the first need none:
**
**     call a (signed, dropped) | call b             ->   call b (stands in)
**     call a (stands in) | call b (stands in)       ->   call a (stands in), call b      in one content
*/
#include "dialect/repair/repair_plan.h"
#include "dialect/thought_signature.h"

typedef struct SignatureRepair {
  Plan *plan;
  const Message *message;
  uint32_t index;
  bool signs;                /* the first call is signed */
  bool sheds;                /* no other has what stands in for a signature */
  bool changed;
  Buffer *out;
} SignatureRepair;

/* Writes a part: the first call with a signature, another one without what stands in for it. */
static Status put_part(SignatureRepair *repair, Part part, bool is_first) {
  Text raw = message_text(repair->message, part.value), signature = part_signature(repair->message, part);
  bool is_call = part.kind == PART_TOOL_USE;
  MemberEdit edits[] = {{.key = text_of("thoughtSignature")}, {.key = text_of("thought_signature")}};
  if (is_call && is_first && repair->signs && signature.size == 0) {
    edits[0].value = text_of("\"" NO_THOUGHT_SIGNATURE "\"");
    repair->changed = true;
    return json_edit_members(raw, edits, 1, repair->out);
  }
  bool sheds = is_call && !is_first && repair->sheds && signature_stands_in(signature);
  repair->changed |= sheds;
  return sheds ? json_edit_members(raw, edits, 2, repair->out) : buffer_add(repair->out, raw.bytes, raw.size);
}

static Status put_parts(SignatureRepair *repair) {
  bool is_first = true;
  size_t start = repair->out->size;
  Status status = buffer_add_byte(repair->out, '[');
  for (uint32_t i = 0; i < message_part_count(repair->message) && status == STATUS_OK; i++) {
    Part part = message_part(repair->message, i);
    if (part.nested) continue;
    if (repair->out->size > start + 1) status = buffer_add_byte(repair->out, ',');
    if (status == STATUS_OK) status = put_part(repair, part, is_first);
    is_first &= part.kind != PART_TOOL_USE;
  }
  return status == STATUS_OK ? buffer_add_byte(repair->out, ']') : status;
}

static Status plan_content(SignatureRepair *repair) {
  Plan *plan = repair->plan;
  size_t at = plan->bytes.size;
  repair->message = plan_message(plan, repair->index);
  repair->changed = false;
  buffer_reset(repair->out);
  Status status = put_parts(repair);
  if (status != STATUS_OK || !repair->changed) return status;
  MemberEdit edit = {.key = text_of("parts"), .value = text_plain(repair->out->bytes, repair->out->size)};
  status = json_edit_members(message_raw(repair->message), &edit, 1, &plan->bytes);
  return status == STATUS_OK ? plan_step(plan, PLAN_REWRITE, repair->index, at, "signature of a call") : status;
}

Status plan_signatures(Plan *plan) {
  SignatureRepair repair = {.plan = plan, .out = &plan->scratch};
  uint32_t step = 0;
  Status status = STATUS_OK;
  if (plan->options->target.dialect != DIALECT_GEMINI) return status;
  for (uint32_t i = 0; i < plan->count; i++) {
    if (message_starts_turn(plan_message(plan, i))) step = i + 1;
  }
  for (uint32_t i = 0; i < plan->count && status == STATUS_OK; i++) {
    const Message *message = plan_message(plan, i);
    bool calls = message_form(message) == FORM_PARTS && message_call_count(message) > 0;
    const Message *before = i == 0 ? NULL : plan_message(plan, i - 1);
    bool follows = before != NULL && message_role(before) == ROLE_ASSISTANT && message_call_count(before) > 0;
    repair.index = i;
    repair.sheds = plan->ids[i] > plan->stored;
    repair.signs = (i >= step || repair.sheds) && !follows && plan_is_repairing(plan, CHECK_MISSING_SIGNATURE);
    if (calls && (repair.signs || repair.sheds)) status = plan_content(&repair);
  }
  return status;
}
