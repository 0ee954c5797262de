/*
** Splits messages into blocks, and joins adjacent messages of one role into turns. Since
** removals make more messages adjacent, turns are formed twice:
**
**     messages   user "hi" | user ""  | assistant use a | user result b | assistant "so"
**     cleaned    hi        | (gone)   | use a           | result b      | so
**     turns      hi                   | use a           | result b      | so
**     resolved                          (unanswered)      (orphan)
**     turns      hi                                                     | so
**
** Then each turn is written into its first message, and its others are dropped. Tool
** messages are untouched: turns that stay as they are. System messages are part of no turn
** and stay where they are.
*/
#include "format/repair_anthropic_turns.h"

/* ---- calls and results ---- */

static Status open_turn(TurnRepair *repair, const Turn *turn) {
  Calls *calls = &repair->plan->calls;
  EACH_BLOCK(repair, turn, piece, after) {
    const Block *block = &repair->blocks[after - 1];
    if (block->kind != PART_TOOL_USE) continue;
    uint32_t *grown =
      memory_grow(&repair->plan->memory, repair->call_blocks, &repair->call_room, calls->count, sizeof *grown);
    if (grown == NULL) return STATUS_MEMORY;
    repair->call_blocks = grown;
    grown[calls->count] = after - 1;
    Status status = calls_open(calls, block->id);
    if (status != STATUS_OK) return status;
  }
  return STATUS_OK;
}

static void answer_turn(TurnRepair *repair, const Turn *turn) {
  Plan *plan = repair->plan;
  EACH_BLOCK(repair, turn, piece, after) {
    Block *block = &repair->blocks[after - 1];
    uint32_t call;
    if (block->kind != PART_TOOL_RESULT) continue;
    Answer answer = calls_answer(&plan->calls, block->id, &call);
    if (answer == ANSWER_FITS) {
      block->call_block = repair->call_blocks[call];
      continue;
    }
    bool duplicate = answer == ANSWER_DUPLICATE;
    if (!plan_is_repairing(plan, duplicate ? CHECK_DUPLICATE_RESULT : CHECK_ORPHAN_RESULT)) continue;
    block->removed = true;
    set_reason(&repair->pieces[piece], duplicate ? "duplicate result" : "orphan result");
  }
}

static void settle_calls(TurnRepair *repair) {
  const Calls *calls = &repair->plan->calls;
  if (!plan_is_repairing(repair->plan, CHECK_UNANSWERED_CALL)) return;
  for (uint32_t i = 0; i < calls->count; i++) {
    if (calls->list[i].answered) continue;
    Block *block = &repair->blocks[repair->call_blocks[i]];
    block->synthesized = repair->plan->options->synthesize;
    block->removed = !block->synthesized;
    if (block->removed) set_reason(&repair->pieces[block->piece], "unanswered call");
  }
}

static Status resolve(TurnRepair *repair) {
  Status status = STATUS_OK;
  for (uint32_t t = 0; t < repair->turn_count && status == STATUS_OK; t++) {
    const Turn *turn = &repair->turns[t];
    if (turn_has_role(repair, t, ROLE_ASSISTANT)) {
      calls_reset(&repair->plan->calls);
      status = open_turn(repair, turn);
      if (status == STATUS_OK && turn_has_role(repair, t + 1, ROLE_USER)) answer_turn(repair, turn + 1);
      if (status == STATUS_OK) settle_calls(repair);
    } else if (turn_has_role(repair, t, ROLE_USER) && (t == 0 || !turn_has_role(repair, t - 1, ROLE_ASSISTANT))) {
      calls_reset(&repair->plan->calls);
      answer_turn(repair, turn);
    }
  }
  return status;
}

/* Removes reasoning whose results were all removed. */
static void drop_bare_reasoning(TurnRepair *repair, const Turn *turn) {
  bool changed = false;
  for (uint32_t i = turn->first; i < turn->end; i++) {
    changed |= repair->pieces[i].reason != NULL && !repair->pieces[i].removed;
  }
  if (!changed) return;
  EACH_BLOCK(repair, turn, piece, after) {
    if (repair->blocks[after - 1].kind != PART_REASONING) return;
  }
  for (uint32_t i = turn->first; i < turn->end; i++) {
    for (uint32_t block = repair->pieces[i].first; block < repair->pieces[i].end; block++) {
      repair->blocks[block].removed = true;
      set_reason(&repair->pieces[i], "reasoning without words");
    }
  }
}

static void drop_empty(TurnRepair *repair) {
  for (uint32_t t = 0; t < repair->turn_count; t++) {
    if (turn_has_role(repair, t, ROLE_ASSISTANT)) drop_bare_reasoning(repair, &repair->turns[t]);
  }
  for (uint32_t i = 0; i < repair->piece_count; i++) {
    TurnPiece *piece = &repair->pieces[i];
    if (!piece->untouched && piece_is_empty(repair, piece)) piece->removed = true;
  }
}

/* ---- ids ---- */

static Status name_call(TurnRepair *repair, TurnPiece *piece, Block *block, bool duplicate) {
  Plan *plan = repair->plan;
  bool valid = id_is_valid(block->id);
  bool renames = plan_is_repairing(plan, valid ? CHECK_DUPLICATE_CALL : CHECK_CALL_ID) && (duplicate || !valid);
  if (!renames) return STATUS_OK;
  set_reason(piece, "id of a call");
  return plan_new_id(plan, piece->index, block->id, &repair->names, &block->name_at, &block->name_size);
}

/* Opens the remaining calls of the turn once more, to find those with duplicate ids. */
static Status name_calls(TurnRepair *repair) {
  Status status = STATUS_OK;
  for (uint32_t t = 0; t < repair->turn_count && status == STATUS_OK; t++) {
    uint32_t call = 0;
    if (turn_head(repair, &repair->turns[t])->untouched) continue;
    calls_reset(&repair->plan->calls);
    status = open_turn(repair, &repair->turns[t]);
    EACH_BLOCK(repair, &repair->turns[t], piece, after) {
      if (status != STATUS_OK) break;
      Block *block = &repair->blocks[after - 1];
      if (block->kind == PART_TOOL_USE) {
        status = name_call(repair, &repair->pieces[piece], block, repair->plan->calls.list[call++].is_duplicate);
      }
      bool answers = block->kind == PART_TOOL_RESULT && block->call_block != NO_BLOCK;
      bool renamed = answers && repair->blocks[block->call_block].name_size > 0;
      if (renamed) set_reason(&repair->pieces[piece], "id of a call");
    }
  }
  return status;
}

/* ---- reasons to write a turn ---- */

static bool has_late_results(const TurnRepair *repair, const Turn *turn) {
  bool others = false;
  EACH_BLOCK(repair, turn, piece, after) {
    bool result = repair->blocks[after - 1].kind == PART_TOOL_RESULT;
    if (result && others) return true;
    others |= !result;
  }
  return false;
}

static void note_changes(TurnRepair *repair, uint32_t t) {
  const Turn *turn = &repair->turns[t];
  TurnPiece *head = turn_head(repair, turn);
  for (uint32_t i = turn->first + 1; i < turn->end; i++) {
    const TurnPiece *piece = &repair->pieces[i];
    if (!piece->removed && !piece_is_outside_turns(piece)) set_reason(head, "role twice in a row");
  }
  bool late = head->role == ROLE_USER && has_late_results(repair, turn);
  if (late && plan_is_repairing(repair->plan, CHECK_RESULTS_LATE)) set_reason(head, "results first");
  if (head->role == ROLE_USER && t > 0 && turn_is_waiting(repair, t - 1)) set_reason(head, "unanswered call");
}

/* Cuts white space off the text that the model continues; the result is in `names`. */
static Status cut_end(TurnRepair *repair) {
  uint32_t t = repair->turn_count - 1;
  Block *last = NULL;
  bool goes_on = repair->turn_count > 0 && turn_has_role(repair, t, ROLE_ASSISTANT) && !turn_is_waiting(repair, t);
  if (!goes_on) return STATUS_OK;
  TurnPiece *piece = NULL;
  EACH_BLOCK(repair, &repair->turns[t], at, after) {
    last = &repair->blocks[after - 1];
    piece = &repair->pieces[at];
  }
  bool cuts = last != NULL && last->kind == PART_TEXT && plan_is_repairing(repair->plan, CHECK_TRAILING_SPACE) &&
              text_ends_in_space(last->text) && !text_is_blank(last->text);
  if (!cuts) return STATUS_OK;
  Buffer *scratch = &repair->names;            /* `names` does not grow any more */
  size_t start = scratch->size;
  Status status = text_decode(last->text, scratch);
  if (status != STATUS_OK) return status;
  while (text_ends_in_space(text_plain(scratch->bytes + start, scratch->size - start))) scratch->size--;
  last->text = text_plain(scratch->bytes + start, scratch->size - start);
  last->cut = true;
  set_reason(turn_head(repair, &repair->turns[t]), "trailing space");
  set_reason(piece, "trailing space");
  return STATUS_OK;
}

/* ---- the plan ---- */

static Status plan_turn(TurnRepair *repair, uint32_t t) {
  const Turn *turn = &repair->turns[t];
  const TurnPiece *head = turn_head(repair, turn);
  Status status = STATUS_OK;
  if (t > 0 && turn_is_waiting(repair, t - 1) && !turn_has_role(repair, t, ROLE_USER)) {
    status = turn_repair_insert_user(repair, t - 1, head->index, "unanswered call");
  }
  if (status == STATUS_OK && !head->untouched && head->reason != NULL) status = turn_repair_write_turn(repair, t);
  for (uint32_t i = turn->first + 1; i < turn->end && status == STATUS_OK; i++) {
    const TurnPiece *piece = &repair->pieces[i];
    if (piece_is_outside_turns(piece)) continue;
    status = plan_step(repair->plan, PLAN_DROP, piece->index, 0,
                       piece->removed ? piece->reason : "joined to the message before");
  }
  return status;
}

/* Inserts a user message if the first turn is not a user's. */
static Status begin_with_user(TurnRepair *repair, uint32_t t, bool *begun) {
  const TurnPiece *head = turn_head(repair, &repair->turns[t]);
  if (*begun) return STATUS_OK;
  *begun = true;
  bool lacks = head->role == ROLE_ASSISTANT && plan_is_repairing(repair->plan, CHECK_USER_FIRST);
  return lacks ? turn_repair_insert_user(repair, NO_BLOCK, head->index, "no user first") : STATUS_OK;
}

/* Plans all steps in the order of the list: drops of removed pieces, each turn, and results behind the last one. */
static Status plan_steps(TurnRepair *repair) {
  Status status = STATUS_OK;
  bool begun = false;
  uint32_t piece = 0;
  for (uint32_t t = 0; status == STATUS_OK; t++) {
    uint32_t first = t < repair->turn_count ? repair->turns[t].first : repair->piece_count;
    for (; piece < first && status == STATUS_OK; piece++) {      /* removed, between turns */
      if (piece_is_outside_turns(&repair->pieces[piece])) continue;
      status = plan_step(repair->plan, PLAN_DROP, repair->pieces[piece].index, 0, repair->pieces[piece].reason);
    }
    if (status != STATUS_OK || t == repair->turn_count) break;
    status = begin_with_user(repair, t, &begun);
    if (status == STATUS_OK) status = plan_turn(repair, t);
    piece = repair->turns[t].end;
  }
  if (status == STATUS_OK && repair->turn_count > 0 && turn_is_waiting(repair, repair->turn_count - 1)) {
    status = turn_repair_insert_user(repair, repair->turn_count - 1, repair->plan->count, "unanswered call");
  }
  return status;
}

static Status plan_turns(TurnRepair *repair) {
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < repair->plan->count && status == STATUS_OK; i++) {
    status = turn_repair_add_message(repair, i, &repair->pieces[repair->piece_count++]);
  }
  if (status != STATUS_OK) return status;
  turn_repair_form_turns(repair);
  status = resolve(repair);
  if (status != STATUS_OK) return status;
  drop_empty(repair);
  turn_repair_form_turns(repair);
  status = name_calls(repair);
  for (uint32_t t = 0; t < repair->turn_count && status == STATUS_OK; t++) {
    if (!turn_head(repair, &repair->turns[t])->untouched) note_changes(repair, t);
  }
  if (status == STATUS_OK) status = cut_end(repair);
  return status == STATUS_OK ? plan_steps(repair) : status;
}

Status plan_anthropic(Plan *plan) {
  const Memory *memory = &plan->memory;
  TurnRepair repair = {.plan = plan};
  buffer_init(&repair.names, *memory);
  repair.pieces = memory_new_array(memory, plan->count, sizeof *repair.pieces);
  repair.turns = memory_new_array(memory, plan->count, sizeof *repair.turns);
  Status status = repair.pieces == NULL || repair.turns == NULL ? STATUS_MEMORY : plan_turns(&repair);
  memory_free(memory, repair.pieces, plan->count * sizeof *repair.pieces);
  memory_free(memory, repair.turns, plan->count * sizeof *repair.turns);
  memory_free(memory, repair.blocks, repair.block_room * sizeof *repair.blocks);
  memory_free(memory, repair.call_blocks, repair.call_room * sizeof *repair.call_blocks);
  buffer_free(&repair.names);
  return status;
}
