/*
** Parts of the message array, which no dialect has: before all other repairs their messages are written in the form of
** the target, so that their calls and results are those that it sees. A message may become several:
**
**     tool   {"type":"tool_result","tool_result":{"tool_use_id":"a",..}}, the same of b
**     openai {"role":"tool","tool_call_id":"a",..}   {"role":"tool","tool_call_id":"b",..}
**
** Members that no request has stay with the first of them.
*/
#include <assert.h>

#include "dialect/convert/convert.h"
#include "dialect/repair/repair_plan.h"

#define REASON "parts of the message array"

typedef struct WrappedRepair {
  Plan *plan;
  Convert convert;
  JsonOut out;
  Buffer written;            /* what the current message becomes: values in a row */
} WrappedRepair;

bool plan_writes_wrapped(const RepairOptions *options, const Store *store, const Sequence *list) {
  Dialect target = options->target.dialect;
  bool any = false;
  if (!codes_have(&options->codes, CHECK_FOREIGN_PART)) return false;
  SequenceWalk walk = sequence_walk(list, 0, sequence_count(list));
  while (sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count; i++) {
      const Message *message = store_message(store, walk.ids[i]);
      bool is_wrapped = message_is_wrapped(message);
      any |= is_wrapped;
      bool fits = (message_dialects(message) >> target & 1) != 0 || message_role(message) == ROLE_SYSTEM;
      if (!is_wrapped && !fits) return false;
    }
  }
  return any;
}

/* Plans what a message becomes: an element of `written` in its place, and the others behind it. */
static Status plan_elements(WrappedRepair *repair, uint32_t index) {
  Plan *plan = repair->plan;
  Json json;
  JsonValue value;
  uint32_t count = 0;
  Text raw = message_raw(plan_message(plan, index));
  Status status = STATUS_OK;
  json_open(&json, repair->written.bytes, repair->written.size);
  for (; status == STATUS_OK && json_value(&json, &value); count++) {
    size_t at = plan->bytes.size;
    Text element = text_plain(value.bytes, value.size);
    assert(value.kind == JSON_OBJECT && value.size > 2);
    status = buffer_add(&plan->bytes, element.bytes, element.size - 1);
    if (status == STATUS_OK && count == 0) status = convert_put_extra(&repair->convert, raw, &element, &plan->bytes);
    if (status == STATUS_OK) status = buffer_add_byte(&plan->bytes, '}');
    if (status != STATUS_OK) break;
    status = plan_step(plan, count == 0 ? PLAN_REWRITE : PLAN_INSERT, index + (count > 0), at, REASON);
    if (status == STATUS_OK && count > 0) status = plan_source(plan, index);
    json_skip_blank(&json);
    if (json.at == json.end) return status;
  }
  bool is_empty = status == STATUS_OK && repair->written.size == 0;
  return is_empty ? plan_step(plan, PLAN_DROP, index, plan->bytes.size, REASON) : status;
}

/* Writes a message anew, or notes the calls of one that stays. */
static Status write_message(WrappedRepair *repair, uint32_t index) {
  Convert *convert = &repair->convert;
  const Message *message = plan_message(repair->plan, index);
  Text raw = message_raw(message);
  convert->index = index;
  if (!message_is_wrapped(message)) {
    Status status = pieces_read(&convert->pieces, raw);
    if (status == STATUS_OK) convert_keep(convert);
    return status;
  }
  buffer_reset(&repair->written);
  json_out_start(&repair->out, sink_to_buffer(&repair->written));
  convert_message(convert, raw);
  convert_finish(convert);
  if (convert->status == STATUS_OK) convert_fail(convert, json_out_end(&repair->out));
  return convert->status == STATUS_OK ? plan_elements(repair, index) : convert->status;
}

Status plan_wrapped(Plan *plan) {
  const ConvertOptions options = {
    .target = plan->options->target.dialect, .keep_extra = true, .skips_extra = true, .keep_ids = true,
    .unsigned_thinking = true, .unbound_from = CONVERT_NEVER, .unbound_end = CONVERT_NEVER,
  };
  ConvertReport unread;
  WrappedRepair repair = {.plan = plan};
  if (!plan_writes_wrapped(plan->options, plan->store, plan->first)) return STATUS_OK;
  convert_report_init(&unread, plan->memory);
  buffer_init(&repair.written, plan->memory);
  convert_init(&repair.convert, &options, plan->memory, &repair.out, plan->report != NULL ? plan->report : &unread);
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < plan->count && status == STATUS_OK; i++) status = write_message(&repair, i);
  Status ended = convert_end(&repair.convert);
  buffer_free(&repair.written);
  convert_report_free(&unread);
  return status == STATUS_OK ? ended : status;
}
