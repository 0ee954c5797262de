/*
** Writes turns for anthropic: the remaining blocks of a turn, results first, become the
** content of its first message. Unchanged blocks keep their bytes.
*/
#include "dialect/repair/repair_anthropic_turns.h"

#include <assert.h>

#include "json/json_fields.h"

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

/* Writes the calls among the blocks from *piece, *block on, as far as the block before `end`. */
static Status put_calls(TurnRepair *repair, const Turn *turn, uint32_t piece, uint32_t block, uint32_t end,
                        Buffer *out, size_t start) {
  Status status = STATUS_OK;
  while (status == STATUS_OK && turn_next_block(repair, turn, &piece, &block) && block <= end) {
    if (repair->blocks[block - 1].kind != PART_TOOL_USE) continue;
    status = comma(out, start);
    if (status == STATUS_OK) status = put_block(repair, &repair->blocks[block - 1], out);
  }
  return status;
}

/* Writes the blocks of an assistant turn, calls behind the texts that follow them. Nothing moves past reasoning or
   parts of other kinds, whose signatures may cover what stands before them. */
static Status put_calls_last(TurnRepair *repair, const Turn *turn, Buffer *out, size_t start) {
  uint32_t first_piece = 0, first_block = 0, piece = turn->first, block = 0, before_piece = piece, before_block = 0;
  bool waits = false;        /* calls from first_block on are not written yet */
  Status status = STATUS_OK;
  while (status == STATUS_OK && turn_next_block(repair, turn, &piece, &block)) {
    const Block *current = &repair->blocks[block - 1];
    bool is_call = current->kind == PART_TOOL_USE;
    if (is_call && !waits) {
      first_piece = before_piece;
      first_block = before_block;
      waits = true;
    } else if (!is_call && current->kind != PART_TEXT && waits) {
      status = put_calls(repair, turn, first_piece, first_block, block - 1, out, start);
      waits = false;
    }
    if (status == STATUS_OK && !is_call) status = comma(out, start);
    if (status == STATUS_OK && !is_call) status = put_block(repair, current, out);
    before_piece = piece;
    before_block = block;
  }
  if (status == STATUS_OK && waits) status = put_calls(repair, turn, first_piece, first_block, UINT32_MAX, out, start);
  return status;
}

/* Writes the blocks of a turn in their order, or calls last where that is repaired, or messages are joined. */
static Status put_all(TurnRepair *repair, const Turn *turn, Buffer *out, size_t start) {
  bool joins = turn->joins && turn->end - turn->first > 1;
  bool moves = turn_head(repair, turn)->role == ROLE_ASSISTANT &&
               (joins || plan_is_repairing(repair->plan, CHECK_CALL_NOT_LAST));
  return moves ? put_calls_last(repair, turn, out, start) : put_blocks(repair, turn, false, true, out, start);
}

static Status put_content(TurnRepair *repair, uint32_t t, Buffer *out) {
  const Turn *turn = &repair->turns[t];
  bool sorts = turn_has_role(repair, t, ROLE_USER) && plan_is_repairing(repair->plan, CHECK_RESULTS_LATE);
  size_t start = out->size;
  Status status = buffer_add_byte(out, '[');
  bool answers = t > 0 && turn_has_role(repair, t, ROLE_USER);
  if (status == STATUS_OK && answers) status = put_synthesized(repair, t - 1, out, start);
  if (status == STATUS_OK && sorts) status = put_blocks(repair, turn, true, false, out, start);
  if (status == STATUS_OK) {
    status = sorts ? put_blocks(repair, turn, false, false, out, start) : put_all(repair, turn, out, start);
  }
  return status == STATUS_OK ? buffer_add_byte(out, ']') : status;
}

/* Writes a message with other content. One of Gemini's may lack the role, which no message with content does. */
static Status put_message(TurnRepair *repair, const TurnPiece *piece, const Buffer *content) {
  Text raw = message_raw(plan_message(repair->plan, piece->index));
  Text role = text_of(piece->role == ROLE_ASSISTANT ? "\"assistant\"" : "\"user\"");
  MemberEdit edits[] = {{.key = text_of("content"), .value = text_plain(content->bytes, content->size)},
                        {.key = text_of("role"), .value = role}};
  JsonValue found;
  uint32_t count = json_find(raw, "role", JSON_STRING, &found) ? 1 : 2;
  return json_edit_members(raw, edits, count, &repair->plan->bytes);
}

Status turn_repair_write_turn(TurnRepair *repair, uint32_t t) {
  assert(t < repair->turn_count);
  Plan *plan = repair->plan;
  const Turn *turn = &repair->turns[t];
  const TurnPiece *head = turn_head(repair, turn);
  Buffer content;
  size_t at = plan->bytes.size;
  buffer_init(&content, plan->memory);
  Status status = put_content(repair, t, &content);
  if (status == STATUS_OK) status = put_message(repair, head, &content);
  buffer_free(&content);
  if (status == STATUS_OK) status = plan_step(plan, PLAN_REWRITE, head->index, at, head->reason);
  for (uint32_t i = turn->first + 1; i < turn->end && status == STATUS_OK; i++) {
    const TurnPiece *piece = &repair->pieces[i];
    if (!piece->removed && !piece_is_outside_turns(piece)) status = plan_source(plan, piece->index);
  }
  return status;
}

Status turn_repair_write_piece(TurnRepair *repair, uint32_t piece) {
  assert(piece < repair->piece_count);
  Plan *plan = repair->plan;
  const TurnPiece *source = &repair->pieces[piece];
  const Turn alone = {.first = piece, .end = piece + 1};
  Buffer content;
  size_t at = plan->bytes.size;
  buffer_init(&content, plan->memory);
  Status status = buffer_add_byte(&content, '[');
  if (status == STATUS_OK) status = put_all(repair, &alone, &content, 0);
  if (status == STATUS_OK) status = buffer_add_byte(&content, ']');
  if (status == STATUS_OK) status = put_message(repair, source, &content);
  buffer_free(&content);
  return status == STATUS_OK ? plan_step(plan, PLAN_REWRITE, source->index, at, source->reason) : status;
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
