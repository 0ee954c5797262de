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
** and stay where they are. Where the target joins messages of one role itself, a turn is
** joined only if results must move, or be added; else each of its messages is written alone.
*/
#include <assert.h>

#include "dialect/repair/repair_anthropic_turns.h"

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
    assert(block->result != UNPAIRED);      /* all results of a user's message are in the pairing */
    plan_lose_result(plan, block->result);
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
    if (!block->removed) continue;
    set_reason(&repair->pieces[block->piece], "unanswered call");
    plan_lose(repair->plan, LOSS_CALL, repair->pieces[block->piece].index, block->id);
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
      if (!repair->blocks[block].removed) plan_lose(repair->plan, LOSS_REASONING, repair->pieces[i].index, NO_TEXT);
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
  IdRule rule = target_call_id(&plan->options->target);
  bool valid = id_fits(&rule, block->id);
  bool renames = plan_is_repairing(plan, valid ? CHECK_DUPLICATE_CALL : CHECK_CALL_ID) && (duplicate || !valid);
  if (!renames) return STATUS_OK;
  set_reason(piece, "id of a call");
  return plan_new_id(plan, piece->index, block->id, &repair->names, &block->name_at, &block->name_size);
}

/* Notes the id of a call; *again: an earlier call has it. */
static Status see_call(TurnRepair *repair, Text id, bool *again) {
  uint64_t hash = hash_text(id, &repair->plan->calls.key);
  *again = map_find(&repair->seen, hash) != NULL;
  return *again ? STATUS_OK : map_put(&repair->seen, hash, 1);
}

/* Names the remaining calls whose ids are invalid, or those of earlier calls. */
static Status name_calls(TurnRepair *repair) {
  Status status = STATUS_OK;
  for (uint32_t t = 0; t < repair->turn_count && status == STATUS_OK; t++) {
    if (turn_head(repair, &repair->turns[t])->untouched) continue;
    EACH_BLOCK(repair, &repair->turns[t], piece, after) {
      if (status != STATUS_OK) break;
      Block *block = &repair->blocks[after - 1];
      bool again = false;
      if (block->kind == PART_TOOL_USE) {
        status = see_call(repair, block->id, &again);
        if (status == STATUS_OK) status = name_call(repair, &repair->pieces[piece], block, again);
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

/* True if results of the turn stand in several messages. */
static bool has_results_apart(const TurnRepair *repair, const Turn *turn) {
  uint32_t first = UINT32_MAX;
  EACH_BLOCK(repair, turn, piece, after) {
    if (repair->blocks[after - 1].kind != PART_TOOL_RESULT) continue;
    if (first != UINT32_MAX && first != piece) return true;
    first = piece;
  }
  return false;
}

/* True if a text follows a call in the turn, with nothing but calls and texts between them. */
static bool has_text_behind_call(const TurnRepair *repair, const Turn *turn) {
  bool called = false;
  EACH_BLOCK(repair, turn, piece, after) {
    PartKind kind = repair->blocks[after - 1].kind;
    if (kind == PART_TEXT && called) return true;
    called = kind == PART_TOOL_USE || (called && kind == PART_TEXT);
  }
  return false;
}

/* Gives the messages of an assistant turn in which calls must move a reason to change. */
static void note_calls(TurnRepair *repair, const Turn *turn) {
  if (!plan_is_repairing(repair->plan, CHECK_CALL_NOT_LAST)) return;
  if (turn->joins && has_text_behind_call(repair, turn)) set_reason(turn_head(repair, turn), "calls last");
  for (uint32_t i = turn->first; i < turn->end && !turn->joins; i++) {
    const Turn alone = {.first = i, .end = i + 1};
    if (!repair->pieces[i].removed && has_text_behind_call(repair, &alone)) {
      set_reason(&repair->pieces[i], "calls last");
    }
  }
}

/* Decides whether a turn is written as one message, and why. */
static void note_changes(TurnRepair *repair, uint32_t t) {
  Plan *plan = repair->plan;
  Turn *turn = &repair->turns[t];
  TurnPiece *head = turn_head(repair, turn);
  bool is_user = head->role == ROLE_USER, several = false;
  for (uint32_t i = turn->first + 1; i < turn->end; i++) {
    several |= !repair->pieces[i].removed && !piece_is_outside_turns(&repair->pieces[i]);
  }
  bool apart = is_user && has_results_apart(repair, turn) && plan_is_repairing(plan, CHECK_RESULTS_APART);
  bool twice = several && (apart || plan_is_repairing(plan, CHECK_ALTERNATION));
  bool late = is_user && has_late_results(repair, turn) && plan_is_repairing(plan, CHECK_RESULTS_LATE);
  bool waits = is_user && t > 0 && turn_is_waiting(repair, t - 1);
  turn->joins = !several || twice || late || waits;
  if (twice) set_reason(head, "role twice in a row");
  if (late) set_reason(head, "results first");
  if (waits) set_reason(head, "unanswered call");
  if (head->role == ROLE_ASSISTANT) note_calls(repair, turn);
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
  set_reason(piece, "trailing space");
  return STATUS_OK;
}

/* ---- the plan ---- */

/* Plans the messages of a turn one by one: drops those that are removed, rewrites those that changed. */
static Status plan_pieces(TurnRepair *repair, const Turn *turn) {
  Status status = STATUS_OK;
  for (uint32_t i = turn->first; i < turn->end && status == STATUS_OK; i++) {
    const TurnPiece *piece = &repair->pieces[i];
    if (piece_is_outside_turns(piece) || piece->reason == NULL) continue;
    if (piece->removed) status = plan_step(repair->plan, PLAN_DROP, piece->index, 0, piece->reason);
    else status = turn_repair_write_piece(repair, i);
  }
  return status;
}

static Status plan_turn(TurnRepair *repair, uint32_t t) {
  const Turn *turn = &repair->turns[t];
  const TurnPiece *head = turn_head(repair, turn);
  Status status = STATUS_OK;
  if (t > 0 && turn_is_waiting(repair, t - 1) && !turn_has_role(repair, t, ROLE_USER)) {
    status = turn_repair_insert_user(repair, t - 1, head->index, "unanswered call");
  }
  if (status != STATUS_OK || head->untouched) return status;
  if (!turn->joins) return plan_pieces(repair, turn);
  if (head->reason != NULL) status = turn_repair_write_turn(repair, t);
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
  map_init(&repair.seen, *memory);
  repair.pieces = memory_new_array(memory, plan->count, sizeof *repair.pieces);
  repair.turns = memory_new_array(memory, plan->count, sizeof *repair.turns);
  Status status = repair.pieces == NULL || repair.turns == NULL ? STATUS_MEMORY : plan_turns(&repair);
  memory_free(memory, repair.pieces, plan->count * sizeof *repair.pieces);
  memory_free(memory, repair.turns, plan->count * sizeof *repair.turns);
  memory_free(memory, repair.blocks, repair.block_room * sizeof *repair.blocks);
  memory_free(memory, repair.call_blocks, repair.call_room * sizeof *repair.call_blocks);
  map_free(&repair.seen);
  buffer_free(&repair.names);
  return status;
}
