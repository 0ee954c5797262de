/*
** Messages are taken to pieces, and those of one role that stand next to each
** other make a turn. What is left out leaves holes, so turns are formed twice:
**
**     messages   user "hi" | user ""  | assistant use a | user result b | assistant "so"
**     cleaned    hi        | (gone)   | use a           | result b      | so
**     turns      hi                   | use a           | result b      | so
**     resolved                          (unanswered)      (orphan)
**     turns      hi                                                     | so
**
** Then each turn is written into its first message, and the others go. Messages of
** tools are fixed: turns that nobody touches. Those of the system are no part of
** any turn, and stay where they are.
*/
#include "format/repair_anthropic_turns.h"

/* ---- calls and results ---- */

static Status open_turn(Mender *mender, const Turn *turn) {
  Calls *calls = &mender->plan->calls;
  EACH_BLOCK(mender, turn, piece, after) {
    const Block *block = &mender->blocks[after - 1];
    if (block->kind != PART_TOOL_USE) continue;
    uint32_t *grown =
      memory_grow(&mender->plan->memory, mender->call_blocks, &mender->call_room, calls->count, sizeof *grown);
    if (grown == NULL) return STATUS_MEMORY;
    mender->call_blocks = grown;
    grown[calls->count] = after - 1;
    Status status = calls_open(calls, block->id);
    if (status != STATUS_OK) return status;
  }
  return STATUS_OK;
}

static void answer_turn(Mender *mender, const Turn *turn) {
  Plan *plan = mender->plan;
  EACH_BLOCK(mender, turn, piece, after) {
    Block *block = &mender->blocks[after - 1];
    uint32_t call;
    if (block->kind != PART_TOOL_RESULT) continue;
    Answer answer = calls_answer(&plan->calls, block->id, &call);
    if (answer == ANSWER_FITS) {
      block->call = mender->call_blocks[call];
      continue;
    }
    bool again = answer == ANSWER_AGAIN;
    if (!plan_mends(plan, again ? CHECK_DUPLICATE_RESULT : CHECK_ORPHAN_RESULT)) continue;
    block->gone = true;
    piece_because(&mender->pieces[piece], again ? "duplicate result" : "orphan result");
  }
}

static void settle_calls(Mender *mender) {
  const Calls *calls = &mender->plan->calls;
  if (!plan_mends(mender->plan, CHECK_UNANSWERED_CALL)) return;
  for (uint32_t i = 0; i < calls->count; i++) {
    if (calls->list[i].answered) continue;
    Block *block = &mender->blocks[mender->call_blocks[i]];
    block->synthesized = mender->plan->options->synthesize;
    block->gone = !block->synthesized;
    if (block->gone) piece_because(&mender->pieces[block->piece], "unanswered call");
  }
}

static Status resolve(Mender *mender) {
  Status status = STATUS_OK;
  for (uint32_t t = 0; t < mender->turn_count && status == STATUS_OK; t++) {
    const Turn *turn = &mender->turns[t];
    if (turn_is_own(mender, t, ROLE_ASSISTANT)) {
      calls_reset(&mender->plan->calls);
      status = open_turn(mender, turn);
      if (status == STATUS_OK && turn_is_own(mender, t + 1, ROLE_USER)) answer_turn(mender, turn + 1);
      if (status == STATUS_OK) settle_calls(mender);
    } else if (turn_is_own(mender, t, ROLE_USER) && (t == 0 || !turn_is_own(mender, t - 1, ROLE_ASSISTANT))) {
      calls_reset(&mender->plan->calls);
      answer_turn(mender, turn);
    }
  }
  return status;
}

/* Reasoning that led to nothing that is left says nothing to anyone. */
static void drop_bare_reasoning(Mender *mender, const Turn *turn) {
  bool changed = false;
  for (uint32_t i = turn->first; i < turn->end; i++) {
    changed |= mender->pieces[i].reason != NULL && !mender->pieces[i].gone;
  }
  if (!changed) return;
  EACH_BLOCK(mender, turn, piece, after) {
    if (mender->blocks[after - 1].kind != PART_REASONING) return;
  }
  for (uint32_t i = turn->first; i < turn->end; i++) {
    for (uint32_t block = mender->pieces[i].first; block < mender->pieces[i].end; block++) {
      mender->blocks[block].gone = true;
      piece_because(&mender->pieces[i], "reasoning without words");
    }
  }
}

static void drop_empty(Mender *mender) {
  for (uint32_t t = 0; t < mender->turn_count; t++) {
    if (turn_is_own(mender, t, ROLE_ASSISTANT)) drop_bare_reasoning(mender, &mender->turns[t]);
  }
  for (uint32_t i = 0; i < mender->piece_count; i++) {
    Piece *piece = &mender->pieces[i];
    if (!piece->fixed && piece_is_empty(mender, piece)) piece->gone = true;
  }
}

/* ---- ids ---- */

static Status name_call(Mender *mender, Piece *piece, Block *block, bool again) {
  Plan *plan = mender->plan;
  bool valid = id_is_valid(block->id);
  bool renames = valid ? again && plan_mends(plan, CHECK_DUPLICATE_CALL) : plan_mends(plan, CHECK_CALL_ID);
  if (!renames) return STATUS_OK;
  piece_because(piece, "id of a call");
  return plan_new_id(plan, piece->index, block->id, &mender->names, &block->name_at, &block->name_size);
}

/* The turn's calls are opened once more: of those that are left, which is again? */
static Status name_calls(Mender *mender) {
  Status status = STATUS_OK;
  for (uint32_t t = 0; t < mender->turn_count && status == STATUS_OK; t++) {
    uint32_t call = 0;
    if (turn_head(mender, &mender->turns[t])->fixed) continue;
    calls_reset(&mender->plan->calls);
    status = open_turn(mender, &mender->turns[t]);
    EACH_BLOCK(mender, &mender->turns[t], piece, after) {
      if (status != STATUS_OK) break;
      Block *block = &mender->blocks[after - 1];
      if (block->kind == PART_TOOL_USE) {
        status = name_call(mender, &mender->pieces[piece], block, mender->plan->calls.list[call++].again);
      }
      bool renamed =
        block->kind == PART_TOOL_RESULT && block->call != NO_BLOCK && mender->blocks[block->call].name_size > 0;
      if (renamed) piece_because(&mender->pieces[piece], "id of a call");
    }
  }
  return status;
}

/* ---- why a turn has to be written ---- */

static bool has_late_results(const Mender *mender, const Turn *turn) {
  bool others = false;
  EACH_BLOCK(mender, turn, piece, after) {
    bool result = mender->blocks[after - 1].kind == PART_TOOL_RESULT;
    if (result && others) return true;
    others |= !result;
  }
  return false;
}

static void note_changes(Mender *mender, uint32_t t) {
  const Turn *turn = &mender->turns[t];
  Piece *head = turn_head(mender, turn);
  for (uint32_t i = turn->first + 1; i < turn->end; i++) {
    if (!mender->pieces[i].gone && !piece_is_outside(&mender->pieces[i])) piece_because(head, "role twice in a row");
  }
  bool late = head->role == ROLE_USER && has_late_results(mender, turn);
  if (late && plan_mends(mender->plan, CHECK_RESULTS_LATE)) piece_because(head, "results first");
  if (head->role == ROLE_USER && t > 0 && turn_is_waiting(mender, t - 1)) piece_because(head, "unanswered call");
}

/* The text on which the model goes on, its end cut; the cut text lives in `names`. */
static Status cut_end(Mender *mender) {
  uint32_t t = mender->turn_count - 1;
  Block *last = NULL;
  bool goes_on = mender->turn_count > 0 && turn_is_own(mender, t, ROLE_ASSISTANT) && !turn_is_waiting(mender, t);
  if (!goes_on) return STATUS_OK;
  Piece *piece = NULL;
  EACH_BLOCK(mender, &mender->turns[t], at, after) {
    last = &mender->blocks[after - 1];
    piece = &mender->pieces[at];
  }
  bool cuts = last != NULL && last->kind == PART_TEXT && plan_mends(mender->plan, CHECK_TRAILING_SPACE) &&
              text_ends_in_space(last->text) && !text_is_blank(last->text);
  if (!cuts) return STATUS_OK;
  Buffer *scratch = &mender->names;            /* nothing is added to it after this */
  size_t start = scratch->size;
  Status status = text_decode(last->text, scratch);
  if (status != STATUS_OK) return status;
  while (text_ends_in_space(text_plain(scratch->bytes + start, scratch->size - start))) scratch->size--;
  last->text = text_plain(scratch->bytes + start, scratch->size - start);
  last->cut = true;
  piece_because(turn_head(mender, &mender->turns[t]), "trailing space");
  piece_because(piece, "trailing space");
  return STATUS_OK;
}

/* ---- the plan ---- */

static Status plan_turn(Mender *mender, uint32_t t) {
  const Turn *turn = &mender->turns[t];
  const Piece *head = turn_head(mender, turn);
  Status status = STATUS_OK;
  if (t > 0 && turn_is_waiting(mender, t - 1) && !turn_is_own(mender, t, ROLE_USER)) {
    status = mender_insert_user(mender, t - 1, head->index, "unanswered call");
  }
  if (status == STATUS_OK && !head->fixed && head->reason != NULL) status = mender_write_turn(mender, t);
  for (uint32_t i = turn->first + 1; i < turn->end && status == STATUS_OK; i++) {
    const Piece *piece = &mender->pieces[i];
    if (piece_is_outside(piece)) continue;
    status = plan_step(mender->plan, PLAN_DROP, piece->index, 0,
                       piece->gone ? piece->reason : "joined to the message before");
  }
  return status;
}

/* The first turn must be a user's. */
static Status begin_with_user(Mender *mender, uint32_t t, bool *begun) {
  const Piece *head = turn_head(mender, &mender->turns[t]);
  if (*begun) return STATUS_OK;
  *begun = true;
  bool lacks = head->role == ROLE_ASSISTANT && plan_mends(mender->plan, CHECK_USER_FIRST);
  return lacks ? mender_insert_user(mender, NO_BLOCK, head->index, "no user first") : STATUS_OK;
}

static Status plan_steps(Mender *mender) {
  Status status = STATUS_OK;
  bool begun = false;
  uint32_t piece = 0;
  for (uint32_t t = 0; status == STATUS_OK; t++) {
    uint32_t first = t < mender->turn_count ? mender->turns[t].first : mender->piece_count;
    for (; piece < first && status == STATUS_OK; piece++) {      /* gone, between turns */
      if (piece_is_outside(&mender->pieces[piece])) continue;
      status = plan_step(mender->plan, PLAN_DROP, mender->pieces[piece].index, 0, mender->pieces[piece].reason);
    }
    if (status != STATUS_OK || t == mender->turn_count) break;
    status = begin_with_user(mender, t, &begun);
    if (status == STATUS_OK) status = plan_turn(mender, t);
    piece = mender->turns[t].end;
  }
  if (status == STATUS_OK && mender->turn_count > 0 && turn_is_waiting(mender, mender->turn_count - 1)) {
    status = mender_insert_user(mender, mender->turn_count - 1, mender->plan->count, "unanswered call");
  }
  return status;
}

static Status mend(Mender *mender) {
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < mender->plan->count && status == STATUS_OK; i++) {
    status = mender_take_message(mender, i, &mender->pieces[mender->piece_count++]);
  }
  if (status != STATUS_OK) return status;
  mender_form_turns(mender);
  status = resolve(mender);
  if (status != STATUS_OK) return status;
  drop_empty(mender);
  mender_form_turns(mender);
  status = name_calls(mender);
  for (uint32_t t = 0; t < mender->turn_count && status == STATUS_OK; t++) {
    if (!turn_head(mender, &mender->turns[t])->fixed) note_changes(mender, t);
  }
  if (status == STATUS_OK) status = cut_end(mender);
  return status == STATUS_OK ? plan_steps(mender) : status;
}

Status plan_anthropic(Plan *plan) {
  const Memory *memory = &plan->memory;
  Mender mender = {.plan = plan};
  buffer_init(&mender.names, *memory);
  mender.pieces = memory_new_array(memory, plan->count, sizeof *mender.pieces);
  mender.turns = memory_new_array(memory, plan->count, sizeof *mender.turns);
  Status status = mender.pieces == NULL || mender.turns == NULL ? STATUS_MEMORY : mend(&mender);
  memory_free(memory, mender.pieces, plan->count * sizeof *mender.pieces);
  memory_free(memory, mender.turns, plan->count * sizeof *mender.turns);
  memory_free(memory, mender.blocks, mender.block_room * sizeof *mender.blocks);
  memory_free(memory, mender.call_blocks, mender.call_room * sizeof *mender.call_blocks);
  buffer_free(&mender.names);
  return status;
}
