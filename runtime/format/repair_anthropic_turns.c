/*
** Splits messages into blocks and forms turns: see repair_anthropic.c.
*/
#include "format/repair_anthropic_turns.h"

#include <assert.h>

/* ---- taking apart ---- */

static Status add_block(TurnRepair *repair, Block block) {
  assert(repair->piece_count > 0);
  Block *grown =
    memory_grow(&repair->plan->memory, repair->blocks, &repair->block_room, repair->block_count, sizeof *grown);
  if (grown == NULL) return STATUS_MEMORY;
  repair->blocks = grown;
  block.piece = repair->piece_count - 1;
  grown[repair->block_count++] = block;
  return STATUS_OK;
}

/* The reason to remove a part, apart from its context; NULL: none. */
static const char *reason_to_remove(const Plan *plan, const Message *message, Part part) {
  CheckCode code;
  Text type;
  Role role = message_role(message);
  bool misplaced =
    (part.kind == PART_TOOL_USE && role != ROLE_ASSISTANT) || (part.kind == PART_TOOL_RESULT && role != ROLE_USER);
  if (part_is_foreign(DIALECT_ANTHROPIC, message, part, &code, &type)) {
    return code == CHECK_FOREIGN_REASONING && plan_repairs(plan, code) ? "foreign reasoning" : NULL;
  }
  if (misplaced) return plan_repairs(plan, CHECK_MISPLACED_PART) ? "misplaced part" : NULL;
  bool blank = part.kind == PART_TEXT && text_is_blank(message_text(message, part.text));
  return blank && plan_repairs(plan, CHECK_EMPTY_TEXT) ? "empty text" : NULL;
}

/* Matches calls and results with their parts, which are in the same order. */
static Status take_part(TurnRepair *repair, TurnPiece *piece, const Message *message, Part part, uint32_t *call,
                        uint32_t *result) {
  Block block = {.raw = message_text(message, part.value), .kind = (PartKind)part.kind, .call = NO_BLOCK, .id = NO_TEXT,
                 .text = part.text.at == 0 ? NO_TEXT : message_text(message, part.text)};
  const char *reason = reason_to_remove(repair->plan, message, part);
  if (part.kind == PART_TOOL_USE) {
    while (*call < message_call_count(message) && !call_is_part(message, *call)) ++*call;
    if (*call < message_call_count(message)) {
      Span id = message_call(message, (*call)++).id;
      if (id.at != 0) block.id = message_text(message, id);
    }
  } else if (part.kind == PART_TOOL_RESULT && *result < message_result_count(message)) {
    block.id = message_text(message, message_result(message, (*result)++).id);
  }
  block.removed = reason != NULL;
  if (reason != NULL) piece_reason(piece, reason);
  return add_block(repair, block);
}

static bool has_foreign_calls(const Message *message) {
  for (uint32_t i = 0; i < message_call_count(message); i++) {
    if (!call_is_part(message, i)) return true;
  }
  return false;
}

bool piece_is_empty(const TurnRepair *repair, const TurnPiece *piece) {
  for (uint32_t i = piece->first; i < piece->end; i++) {
    if (!repair->blocks[i].removed) return false;
  }
  return true;
}

Status turn_repair_take_message(TurnRepair *repair, uint32_t index, TurnPiece *piece) {
  const Message *message = plan_message(repair->plan, index);
  uint32_t call = 0, result = 0;
  Status status = STATUS_OK;
  *piece = (TurnPiece){.first = repair->block_count, .index = index, .role = message_role(message)};
  piece->fixed = piece->role == ROLE_SYSTEM || piece->role == ROLE_TOOL;
  if (!piece->fixed && message_content_kind(message) == CONTENT_STRING) {
    Block block = {.raw = NO_TEXT, .text = message_content(message), .kind = PART_TEXT, .call = NO_BLOCK};
    block.removed = text_is_blank(block.text) && plan_repairs(repair->plan, CHECK_EMPTY_TEXT);
    status = add_block(repair, block);
  }
  for (uint32_t i = 0; i < message_part_count(message) && status == STATUS_OK && !piece->fixed; i++) {
    Part part = message_part(message, i);
    if (!part.nested) status = take_part(repair, piece, message, part, &call, &result);
  }
  piece->end = repair->block_count;
  assert(piece->first <= piece->end);
  if (status != STATUS_OK || piece->fixed || !piece_is_empty(repair, piece)) return status;
  piece->fixed = has_foreign_calls(message) || !plan_repairs(repair->plan, CHECK_EMPTY_TEXT);
  piece->removed = !piece->fixed;
  piece_reason(piece, "empty text");
  return status;
}

/* ---- turns ---- */

void turn_repair_form_turns(TurnRepair *repair) {
  repair->turn_count = 0;
  for (uint32_t i = 0; i < repair->piece_count; i++) {
    TurnPiece *piece = &repair->pieces[i];
    if (piece->removed || piece_is_outside(piece)) continue;
    Turn *last = repair->turn_count == 0 ? NULL : &repair->turns[repair->turn_count - 1];
    bool joins = last != NULL && !piece->fixed && turn_is_own(repair, repair->turn_count - 1, piece->role) &&
                 plan_repairs(repair->plan, CHECK_ALTERNATION);
    if (joins) last->end = i + 1;
    else repair->turns[repair->turn_count++] = (Turn){.first = i, .end = i + 1};
  }
}

bool turn_next_block(const TurnRepair *repair, const Turn *turn, uint32_t *piece, uint32_t *block) {
  assert(turn->first < turn->end && turn->end <= repair->piece_count);
  for (; *piece < turn->end; ++*piece) {
    const TurnPiece *piece_of_block = &repair->pieces[*piece];
    if (*block < piece_of_block->first) *block = piece_of_block->first;
    for (; !piece_of_block->removed && *block < piece_of_block->end; ++*block) {
      if (repair->blocks[*block].removed) continue;
      ++*block;
      return true;
    }
  }
  return false;
}

bool turn_is_waiting(const TurnRepair *repair, uint32_t t) {
  if (!turn_is_own(repair, t, ROLE_ASSISTANT)) return false;
  EACH_BLOCK(repair, &repair->turns[t], piece, after) {
    if (repair->blocks[after - 1].synthesized) return true;
  }
  return false;
}
