/*
** Splits messages into blocks and forms turns: see repair_anthropic.c.
*/
#include "dialect/repair/repair_anthropic_turns.h"

#include <assert.h>

/* ---- splitting ---- */

/* Adds a block to the last piece. STATUS_MEMORY. */
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

/* The reason to remove a part whatever stands around it; NULL: it stays. A part is foreign if
   Anthropic's format does not have it. */
static const char *reason_to_remove(const Plan *plan, const Message *message, Part part) {
  CheckCode code;
  Text type;
  Role role = message_role(message);
  bool misplaced =
    (part.kind == PART_TOOL_USE && role != ROLE_ASSISTANT) || (part.kind == PART_TOOL_RESULT && role != ROLE_USER);
  if (part_is_foreign(DIALECT_ANTHROPIC, message, part, &code, &type)) {
    return code == CHECK_FOREIGN_REASONING && plan_is_repairing(plan, code) ? "foreign reasoning" : NULL;
  }
  JsonValue signature;
  bool is_unsigned = part.kind == PART_REASONING && text_is(part_type(message, part), "thinking") &&
                     !(part_find(message, part, "signature", JSON_STRING, &signature) && signature.size > 2);
  if (is_unsigned && plan_is_repairing(plan, CHECK_UNSIGNED_THINKING)) return "unsigned thinking";
  if (misplaced) return plan_is_repairing(plan, CHECK_MISPLACED_PART) ? "misplaced part" : NULL;
  bool blank = part.kind == PART_TEXT && text_is_blank(message_text(message, part.text));
  return blank && plan_is_repairing(plan, CHECK_EMPTY_TEXT) ? "empty text" : NULL;
}

/* Reports a part that is left out whatever stands around it. */
static void lose_part(Plan *plan, uint32_t index, PartKind kind, Text type) {
  if (kind == PART_REASONING) plan_lose(plan, LOSS_REASONING, index, NO_TEXT);
  else if (kind != PART_TEXT) plan_lose(plan, LOSS_PART, index, type);      /* a text is blank */
}

/* Adds a part as a block. Call parts and result parts stand in the order of the message's calls and
   results: *calls_seen and *results_seen count those of the parts before. STATUS_MEMORY. */
static Status add_part(TurnRepair *repair, TurnPiece *piece, const Message *message, uint32_t number,
                       uint32_t *calls_seen, uint32_t *results_seen) {
  Part part = message_part(message, number);
  const Pairing *pairing = &repair->plan->pairing;
  Block block = {.raw = message_text(message, part.value), .kind = (PartKind)part.kind, .call_block = NO_BLOCK,
                 .id = NO_TEXT, .result = UNPAIRED,
                 .text = part.text.at == 0 ? NO_TEXT : message_text(message, part.text)};
  const char *reason = reason_to_remove(repair->plan, message, part);
  if (part.kind == PART_TOOL_USE) {
    while (*calls_seen < message_call_count(message) && !call_is_part(message, *calls_seen)) ++*calls_seen;
    if (*calls_seen < message_call_count(message)) {
      Span id = message_call(message, (*calls_seen)++).id;
      if (id.at != 0) block.id = message_text(message, id);
    }
  } else if (part.kind == PART_TOOL_RESULT && *results_seen < message_result_count(message)) {
    uint32_t place = pairing->first_result[piece->index] + *results_seen;
    bool is_known = place < pairing->first_result[piece->index + 1] && pairing->results[place].part == number;
    block.id = message_text(message, message_result(message, (*results_seen)++).id);
    block.result = is_known ? place : UNPAIRED;
  }
  block.removed = reason != NULL;
  if (reason != NULL) set_reason(piece, reason);
  if (reason != NULL) lose_part(repair->plan, piece->index, (PartKind)part.kind, part_type(message, part));
  return add_block(repair, block);
}

/* True if the message has a call in OpenAI's form (tool_calls, function_call), which stands in no part. */
static bool has_calls_outside_parts(const Message *message) {
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

Status turn_repair_add_message(TurnRepair *repair, uint32_t index, TurnPiece *piece) {
  const Message *message = plan_message(repair->plan, index);
  uint32_t calls_seen = 0, results_seen = 0;
  Status status = STATUS_OK;
  *piece = (TurnPiece){.first = repair->block_count, .index = index, .role = message_role(message)};
  piece->untouched = piece->role == ROLE_SYSTEM || piece->role == ROLE_TOOL;
  if (!piece->untouched && message_content_kind(message) == CONTENT_STRING) {
    Block block = {.raw = NO_TEXT, .text = message_content(message), .kind = PART_TEXT, .call_block = NO_BLOCK};
    block.removed = text_is_blank(block.text) && plan_is_repairing(repair->plan, CHECK_EMPTY_TEXT);
    status = add_block(repair, block);
  }
  uint32_t part_count = piece->untouched ? 0 : message_part_count(message);
  for (uint32_t i = 0; i < part_count && status == STATUS_OK; i++) {
    Part part = message_part(message, i);
    if (!part.nested) status = add_part(repair, piece, message, i, &calls_seen, &results_seen);
  }
  piece->end = repair->block_count;
  assert(piece->first <= piece->end);
  if (status != STATUS_OK || piece->untouched || !piece_is_empty(repair, piece)) return status;
  piece->untouched = has_calls_outside_parts(message) || !plan_is_repairing(repair->plan, CHECK_EMPTY_TEXT);
  piece->removed = !piece->untouched;
  set_reason(piece, "empty text");
  return status;
}

/* ---- turns ---- */

void turn_repair_form_turns(TurnRepair *repair) {
  repair->turn_count = 0;
  for (uint32_t i = 0; i < repair->piece_count; i++) {
    TurnPiece *piece = &repair->pieces[i];
    if (piece->removed || piece_is_outside_turns(piece)) continue;
    Turn *last = repair->turn_count == 0 ? NULL : &repair->turns[repair->turn_count - 1];
    bool continues = last != NULL && !piece->untouched && turn_has_role(repair, repair->turn_count - 1, piece->role);
    if (continues) last->end = i + 1;
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
  if (!turn_has_role(repair, t, ROLE_ASSISTANT)) return false;
  EACH_BLOCK(repair, &repair->turns[t], piece, after) {
    if (repair->blocks[after - 1].synthesized) return true;
  }
  return false;
}
