/*
** Writes turns for anthropic: the remaining blocks of a turn, results first, become the
** content of its first message. Unchanged blocks keep their bytes.
*/
#include "format/repair_anthropic_turns.h"

#include <assert.h>

static Status put_block(TurnRepair *repair, const Block *block, Buffer *out) {
  if (block->raw.size == 0) return plan_put(out, "{\"type\":\"text\",\"text\":\"", block->text, "\"}");
  if (block->cut) return plan_put_renamed(repair->plan, block->raw, "text", NULL, block->text, out);
  if (block->kind == PART_TOOL_USE && block->name_size > 0) {
    return plan_put_renamed(repair->plan, block->raw, "id", "tool_use", block_name(repair, block), out);
  }
  const Block *call = block->call_block == NO_BLOCK ? NULL : &repair->blocks[block->call_block];
  if (call != NULL && call->name_size > 0) {
    return plan_put_renamed(repair->plan, block->raw, "tool_use_id", "tool_result", block_name(repair, call), out);
  }
  return buffer_add(out, block->raw.bytes, block->raw.size);
}

static Status comma(Buffer *out, size_t start) { return out->size > start + 1 ? buffer_add_byte(out, ',') : STATUS_OK; }

/* Writes results for the unanswered calls of the turn before. */
static Status put_synthesized(TurnRepair *repair, uint32_t before, Buffer *out, size_t start) {
  if (!turn_has_role(repair, before, ROLE_ASSISTANT)) return STATUS_OK;
  EACH_BLOCK(repair, &repair->turns[before], piece, after) {
    const Block *block = &repair->blocks[after - 1];
    if (!block->synthesized) continue;
    Status status = comma(out, start);
    Text id = block->name_size > 0 ? block_name(repair, block) : block->id;
    if (status == STATUS_OK) {
      status = plan_put(out, "{\"type\":\"tool_result\",\"tool_use_id\":\"", id,
                        "\",\"is_error\":true,\"content\":\"" REPAIR_NO_RESULT "\"}");
    }
    if (status != STATUS_OK) return status;
  }
  return STATUS_OK;
}

/* Writes the blocks of a turn: its results or its others, or all. */
static Status put_blocks(TurnRepair *repair, const Turn *turn, bool results, bool all, Buffer *out, size_t start) {
  EACH_BLOCK(repair, turn, piece, after) {
    const Block *block = &repair->blocks[after - 1];
    if (!all && (block->kind == PART_TOOL_RESULT) != results) continue;
    Status status = comma(out, start);
    if (status == STATUS_OK) status = put_block(repair, block, out);
    if (status != STATUS_OK) return status;
  }
  return STATUS_OK;
}

static Status put_content(TurnRepair *repair, uint32_t t, Buffer *out) {
  const Turn *turn = &repair->turns[t];
  bool sorts = turn_has_role(repair, t, ROLE_USER) && plan_is_repairing(repair->plan, CHECK_RESULTS_LATE);
  size_t start = out->size;
  Status status = buffer_add_byte(out, '[');
  bool answers = t > 0 && turn_has_role(repair, t, ROLE_USER);
  if (status == STATUS_OK && answers) status = put_synthesized(repair, t - 1, out, start);
  if (status == STATUS_OK && sorts) status = put_blocks(repair, turn, true, false, out, start);
  if (status == STATUS_OK) status = put_blocks(repair, turn, false, !sorts, out, start);
  return status == STATUS_OK ? buffer_add_byte(out, ']') : status;
}

Status turn_repair_write_turn(TurnRepair *repair, uint32_t t) {
  assert(t < repair->turn_count);
  Plan *plan = repair->plan;
  const TurnPiece *head = turn_head(repair, &repair->turns[t]);
  Buffer content;
  size_t at = plan->bytes.size;
  buffer_init(&content, plan->memory);
  Status status = put_content(repair, t, &content);
  if (status == STATUS_OK) {
    MemberEdit edit = {.key = text_of("content"), .value = text_plain(content.bytes, content.size)};
    status = json_edit_members(message_raw(plan_message(plan, head->index)), &edit, 1, &plan->bytes);
  }
  buffer_free(&content);
  return status == STATUS_OK ? plan_step(plan, PLAN_REWRITE, head->index, at, head->reason) : status;
}

Status turn_repair_insert_user(TurnRepair *repair, uint32_t before, uint32_t index, const char *reason) {
  Buffer *out = &repair->plan->bytes;
  size_t at = out->size;
  Status status = buffer_add_string(out, "{\"role\":\"user\",\"content\":[");
  if (status != STATUS_OK) return status;
  if (before == NO_BLOCK) status = buffer_add_string(out, "{\"type\":\"text\",\"text\":\"" REPAIR_BEGINNING "\"}");
  else status = put_synthesized(repair, before, out, out->size - 1);
  if (status == STATUS_OK) status = buffer_add_string(out, "]}");
  return status == STATUS_OK ? plan_step(repair->plan, PLAN_INSERT, index, at, reason) : status;
}
