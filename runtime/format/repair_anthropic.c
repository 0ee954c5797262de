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
#include <string.h>

#include "format/repair_plan.h"

#define NO_BLOCK UINT32_MAX

typedef struct Block {
  Text raw;                  /* the part as JSON; size 0: the message's string content */
  Text text, id;             /* of a text; of a call or result */
  PartKind kind;
  bool gone, synthesized;    /* synthesized: a call for which a result is to be written */
  bool cut;                  /* `text` is less than what stands in `raw` */
  uint32_t piece;
  uint32_t call;             /* of a result: the block that it answers, or NO_BLOCK */
  size_t name_at, name_size; /* of a call's new id in `names`; 0: it keeps its own */
} Block;

typedef struct Piece {
  uint32_t first, end;       /* blocks */
  uint32_t index;
  Role role;
  bool fixed, gone;
  const char *reason;        /* the first for which it is changed; NULL: it is not */
} Piece;

typedef struct Turn {
  uint32_t first, end;       /* pieces, gone ones among them */
} Turn;

typedef struct Mender {
  Plan *plan;
  Block *blocks;       uint32_t block_count, block_room;
  Piece *pieces;       uint32_t piece_count;
  Turn *turns;         uint32_t turn_count;
  uint32_t *call_blocks, call_room;      /* block of each call of plan->calls */
  Buffer names;
} Mender;

static void because(Piece *piece, const char *reason) {
  if (piece->reason == NULL) piece->reason = reason;
}

/* ---- taking apart ---- */

static Status add_block(Mender *mender, Block block) {
  Block *grown =
    memory_grow(&mender->plan->memory, mender->blocks, &mender->block_room, mender->block_count, sizeof *grown);
  if (grown == NULL) return STATUS_MEMORY;
  mender->blocks = grown;
  block.piece = mender->piece_count - 1;
  grown[mender->block_count++] = block;
  return STATUS_OK;
}

/* Why a part cannot stay whatever stands around it; NULL: it can. */
static const char *why_gone(const Plan *plan, const Message *message, Part part) {
  CheckCode code;
  Text type;
  Role role = message_role(message);
  bool misplaced =
    (part.kind == PART_TOOL_USE && role != ROLE_ASSISTANT) || (part.kind == PART_TOOL_RESULT && role != ROLE_USER);
  if (part_is_foreign(DIALECT_ANTHROPIC, message, part, &code, &type)) {
    return code == CHECK_FOREIGN_REASONING && plan_mends(plan, code) ? "foreign reasoning" : NULL;
  }
  if (misplaced) return plan_mends(plan, CHECK_MISPLACED_PART) ? "misplaced part" : NULL;
  bool blank = part.kind == PART_TEXT && text_is_blank(message_text(message, part.text));
  return blank && plan_mends(plan, CHECK_EMPTY_TEXT) ? "empty text" : NULL;
}

/* Calls and results are matched with their parts in the order in which both stand. */
static Status take_part(Mender *mender, Piece *piece, const Message *message, Part part, uint32_t *call,
                        uint32_t *result) {
  Block block = {.raw = message_text(message, part.value), .kind = (PartKind)part.kind, .call = NO_BLOCK, .id = NO_TEXT,
                 .text = part.text.at == 0 ? NO_TEXT : message_text(message, part.text)};
  const char *why = why_gone(mender->plan, message, part);
  if (part.kind == PART_TOOL_USE) {
    while (*call < message_call_count(message) && !call_is_part(message, *call)) ++*call;
    if (*call < message_call_count(message)) {
      Span id = message_call(message, (*call)++).id;
      if (id.at != 0) block.id = message_text(message, id);
    }
  } else if (part.kind == PART_TOOL_RESULT && *result < message_result_count(message)) {
    block.id = message_text(message, message_result(message, (*result)++).id);
  }
  block.gone = why != NULL;
  if (why != NULL) because(piece, why);
  return add_block(mender, block);
}

static bool has_foreign_calls(const Message *message) {
  for (uint32_t i = 0; i < message_call_count(message); i++) {
    if (!call_is_part(message, i)) return true;
  }
  return false;
}

static bool is_empty(const Mender *mender, const Piece *piece) {
  for (uint32_t i = piece->first; i < piece->end; i++) {
    if (!mender->blocks[i].gone) return false;
  }
  return true;
}

static Status take_message(Mender *mender, uint32_t index, Piece *piece) {
  const Message *message = plan_message(mender->plan, index);
  uint32_t call = 0, result = 0;
  Status status = STATUS_OK;
  *piece = (Piece){.first = mender->block_count, .index = index, .role = message_role(message)};
  piece->fixed = piece->role == ROLE_SYSTEM || piece->role == ROLE_TOOL;
  if (!piece->fixed && message_content_kind(message) == CONTENT_STRING) {
    Block block = {.raw = NO_TEXT, .text = message_content(message), .kind = PART_TEXT, .call = NO_BLOCK};
    block.gone = text_is_blank(block.text) && plan_mends(mender->plan, CHECK_EMPTY_TEXT);
    status = add_block(mender, block);
  }
  for (uint32_t i = 0; i < message_part_count(message) && status == STATUS_OK && !piece->fixed; i++) {
    Part part = message_part(message, i);
    if (!part.nested) status = take_part(mender, piece, message, part, &call, &result);
  }
  piece->end = mender->block_count;
  if (status != STATUS_OK || piece->fixed || !is_empty(mender, piece)) return status;
  piece->fixed = has_foreign_calls(message) || !plan_mends(mender->plan, CHECK_EMPTY_TEXT);
  piece->gone = !piece->fixed;
  because(piece, "empty text");
  return status;
}

/* ---- turns ---- */

static Piece *head_of(const Mender *mender, const Turn *turn) { return &mender->pieces[turn->first]; }

static bool is_own(const Mender *mender, uint32_t turn, Role role) {
  return turn < mender->turn_count && !head_of(mender, &mender->turns[turn])->fixed &&
         head_of(mender, &mender->turns[turn])->role == role;
}

static bool is_outside(const Piece *piece) { return piece->role == ROLE_SYSTEM; }

static void form_turns(Mender *mender) {
  mender->turn_count = 0;
  for (uint32_t i = 0; i < mender->piece_count; i++) {
    Piece *piece = &mender->pieces[i];
    if (piece->gone || is_outside(piece)) continue;
    Turn *last = mender->turn_count == 0 ? NULL : &mender->turns[mender->turn_count - 1];
    bool joins = last != NULL && !piece->fixed && is_own(mender, mender->turn_count - 1, piece->role) &&
                 plan_mends(mender->plan, CHECK_ALTERNATION);
    if (joins) last->end = i + 1;
    else mender->turns[mender->turn_count++] = (Turn){.first = i, .end = i + 1};
  }
}

/* Walks the blocks of a turn that are there: start with *piece = turn->first and
   *block = 0. */
static bool next_block(const Mender *mender, const Turn *turn, uint32_t *piece, uint32_t *block) {
  for (; *piece < turn->end; ++*piece) {
    const Piece *here = &mender->pieces[*piece];
    if (*block < here->first) *block = here->first;
    for (; !here->gone && *block < here->end; ++*block) {
      if (mender->blocks[*block].gone) continue;
      ++*block;
      return true;
    }
  }
  return false;
}

#define EACH_BLOCK(mender, turn, piece, block) \
  for (uint32_t piece = (turn)->first, block = 0; next_block(mender, turn, &piece, &block);)

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
    because(&mender->pieces[piece], again ? "duplicate result" : "orphan result");
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
    if (block->gone) because(&mender->pieces[block->piece], "unanswered call");
  }
}

static Status resolve(Mender *mender) {
  Status status = STATUS_OK;
  for (uint32_t t = 0; t < mender->turn_count && status == STATUS_OK; t++) {
    const Turn *turn = &mender->turns[t];
    if (is_own(mender, t, ROLE_ASSISTANT)) {
      calls_reset(&mender->plan->calls);
      status = open_turn(mender, turn);
      if (status == STATUS_OK && is_own(mender, t + 1, ROLE_USER)) answer_turn(mender, turn + 1);
      if (status == STATUS_OK) settle_calls(mender);
    } else if (is_own(mender, t, ROLE_USER) && (t == 0 || !is_own(mender, t - 1, ROLE_ASSISTANT))) {
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
      because(&mender->pieces[i], "reasoning without words");
    }
  }
}

static void drop_empty(Mender *mender) {
  for (uint32_t t = 0; t < mender->turn_count; t++) {
    if (is_own(mender, t, ROLE_ASSISTANT)) drop_bare_reasoning(mender, &mender->turns[t]);
  }
  for (uint32_t i = 0; i < mender->piece_count; i++) {
    Piece *piece = &mender->pieces[i];
    if (!piece->fixed && is_empty(mender, piece)) piece->gone = true;
  }
}

/* ---- ids ---- */

static Status name_call(Mender *mender, Piece *piece, Block *block, bool again) {
  Plan *plan = mender->plan;
  bool valid = id_is_valid(block->id);
  bool renames = valid ? again && plan_mends(plan, CHECK_DUPLICATE_CALL) : plan_mends(plan, CHECK_CALL_ID);
  if (!renames) return STATUS_OK;
  because(piece, "id of a call");
  return plan_new_id(plan, piece->index, block->id, &mender->names, &block->name_at, &block->name_size);
}

/* The turn's calls are opened once more: of those that are left, which is again? */
static Status name_calls(Mender *mender) {
  Status status = STATUS_OK;
  for (uint32_t t = 0; t < mender->turn_count && status == STATUS_OK; t++) {
    uint32_t call = 0;
    if (head_of(mender, &mender->turns[t])->fixed) continue;
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
      if (renamed) because(&mender->pieces[piece], "id of a call");
    }
  }
  return status;
}

/* ---- writing ---- */

static Text name_of(const Mender *mender, const Block *call) {
  return text_plain(mender->names.bytes + call->name_at, call->name_size);
}

static Status put_block(Mender *mender, const Block *block, Buffer *out) {
  if (block->raw.size == 0) return plan_put(out, "{\"type\":\"text\",\"text\":\"", block->text, "\"}");
  if (block->cut) return plan_put_renamed(mender->plan, block->raw, "text", NULL, block->text, out);
  if (block->kind == PART_TOOL_USE && block->name_size > 0) {
    return plan_put_renamed(mender->plan, block->raw, "id", "tool_use", name_of(mender, block), out);
  }
  const Block *call = block->call == NO_BLOCK ? NULL : &mender->blocks[block->call];
  if (call != NULL && call->name_size > 0) {
    return plan_put_renamed(mender->plan, block->raw, "tool_use_id", "tool_result", name_of(mender, call), out);
  }
  return buffer_add(out, block->raw.bytes, block->raw.size);
}

static Status comma(Buffer *out, size_t start) { return out->size > start + 1 ? buffer_add_byte(out, ',') : STATUS_OK; }

/* Results for the calls of the turn before that got none. */
static Status put_synthesized(Mender *mender, uint32_t before, Buffer *out, size_t start) {
  if (!is_own(mender, before, ROLE_ASSISTANT)) return STATUS_OK;
  EACH_BLOCK(mender, &mender->turns[before], piece, after) {
    const Block *block = &mender->blocks[after - 1];
    if (!block->synthesized) continue;
    Status status = comma(out, start);
    Text id = block->name_size > 0 ? name_of(mender, block) : block->id;
    if (status == STATUS_OK) {
      status = plan_put(out, "{\"type\":\"tool_result\",\"tool_use_id\":\"", id,
                        "\",\"is_error\":true,\"content\":\"" REPAIR_NO_RESULT "\"}");
    }
    if (status != STATUS_OK) return status;
  }
  return STATUS_OK;
}

/* The blocks of a turn, its results or its others. */
static Status put_blocks(Mender *mender, const Turn *turn, bool results, bool all, Buffer *out, size_t start) {
  EACH_BLOCK(mender, turn, piece, after) {
    const Block *block = &mender->blocks[after - 1];
    if (!all && (block->kind == PART_TOOL_RESULT) != results) continue;
    Status status = comma(out, start);
    if (status == STATUS_OK) status = put_block(mender, block, out);
    if (status != STATUS_OK) return status;
  }
  return STATUS_OK;
}

static Status put_content(Mender *mender, uint32_t t, Buffer *out) {
  const Turn *turn = &mender->turns[t];
  bool sorts = is_own(mender, t, ROLE_USER) && plan_mends(mender->plan, CHECK_RESULTS_LATE);
  size_t start = out->size;
  Status status = buffer_add_byte(out, '[');
  if (status == STATUS_OK && t > 0 && is_own(mender, t, ROLE_USER)) status = put_synthesized(mender, t - 1, out, start);
  if (status == STATUS_OK && sorts) status = put_blocks(mender, turn, true, false, out, start);
  if (status == STATUS_OK) status = put_blocks(mender, turn, false, !sorts, out, start);
  return status == STATUS_OK ? buffer_add_byte(out, ']') : status;
}

static Status write_turn(Mender *mender, uint32_t t) {
  Plan *plan = mender->plan;
  const Piece *head = head_of(mender, &mender->turns[t]);
  Buffer content;
  size_t at = plan->bytes.size;
  buffer_init(&content, plan->memory);
  Status status = put_content(mender, t, &content);
  if (status == STATUS_OK) {
    MemberEdit edit = {.key = text_of("content"), .value = text_plain(content.bytes, content.size)};
    status = edit_members(message_raw(plan_message(plan, head->index)), &edit, 1, &plan->bytes);
  }
  buffer_free(&content);
  return status == STATUS_OK ? plan_step(plan, PLAN_REWRITE, head->index, at, head->reason) : status;
}

/* A user message of its own for what nobody else can say. */
static Status insert_user(Mender *mender, uint32_t before, uint32_t index, const char *reason) {
  Buffer *out = &mender->plan->bytes;
  size_t at = out->size;
  Status status = buffer_add_string(out, "{\"role\":\"user\",\"content\":[");
  if (status != STATUS_OK) return status;
  if (before == NO_BLOCK) status = buffer_add_string(out, "{\"type\":\"text\",\"text\":\"" REPAIR_BEGINNING "\"}");
  else status = put_synthesized(mender, before, out, out->size - 1);
  if (status == STATUS_OK) status = buffer_add_string(out, "]}");
  return status == STATUS_OK ? plan_step(mender->plan, PLAN_INSERT, index, at, reason) : status;
}

static bool is_waiting(const Mender *mender, uint32_t t) {
  if (!is_own(mender, t, ROLE_ASSISTANT)) return false;
  EACH_BLOCK(mender, &mender->turns[t], piece, after) {
    if (mender->blocks[after - 1].synthesized) return true;
  }
  return false;
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
  Piece *head = head_of(mender, turn);
  for (uint32_t i = turn->first + 1; i < turn->end; i++) {
    if (!mender->pieces[i].gone && !is_outside(&mender->pieces[i])) because(head, "role twice in a row");
  }
  bool late = head->role == ROLE_USER && has_late_results(mender, turn);
  if (late && plan_mends(mender->plan, CHECK_RESULTS_LATE)) because(head, "results first");
  if (head->role == ROLE_USER && t > 0 && is_waiting(mender, t - 1)) because(head, "unanswered call");
}

/* The text on which the model goes on, its end cut; the cut text lives in `names`. */
static Status cut_end(Mender *mender) {
  uint32_t t = mender->turn_count - 1;
  Block *last = NULL;
  if (mender->turn_count == 0 || !is_own(mender, t, ROLE_ASSISTANT) || is_waiting(mender, t)) return STATUS_OK;
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
  because(head_of(mender, &mender->turns[t]), "trailing space");
  because(piece, "trailing space");
  return STATUS_OK;
}

/* ---- the plan ---- */

static Status plan_turn(Mender *mender, uint32_t t) {
  const Turn *turn = &mender->turns[t];
  const Piece *head = head_of(mender, turn);
  Status status = STATUS_OK;
  if (t > 0 && is_waiting(mender, t - 1) && !is_own(mender, t, ROLE_USER)) {
    status = insert_user(mender, t - 1, head->index, "unanswered call");
  }
  if (status == STATUS_OK && !head->fixed && head->reason != NULL) status = write_turn(mender, t);
  for (uint32_t i = turn->first + 1; i < turn->end && status == STATUS_OK; i++) {
    const Piece *piece = &mender->pieces[i];
    if (is_outside(piece)) continue;
    status = plan_step(mender->plan, PLAN_DROP, piece->index, 0,
                       piece->gone ? piece->reason : "joined to the message before");
  }
  return status;
}

/* The first turn must be a user's. */
static Status begin_with_user(Mender *mender, uint32_t t, bool *begun) {
  const Piece *head = head_of(mender, &mender->turns[t]);
  if (*begun) return STATUS_OK;
  *begun = true;
  bool lacks = head->role == ROLE_ASSISTANT && plan_mends(mender->plan, CHECK_USER_FIRST);
  return lacks ? insert_user(mender, NO_BLOCK, head->index, "no user first") : STATUS_OK;
}

static Status plan_steps(Mender *mender) {
  Status status = STATUS_OK;
  bool begun = false;
  uint32_t piece = 0;
  for (uint32_t t = 0; t <= mender->turn_count && status == STATUS_OK; t++) {
    uint32_t first = t < mender->turn_count ? mender->turns[t].first : mender->piece_count;
    for (; piece < first && status == STATUS_OK; piece++) {      /* gone, between turns */
      if (is_outside(&mender->pieces[piece])) continue;
      status = plan_step(mender->plan, PLAN_DROP, mender->pieces[piece].index, 0, mender->pieces[piece].reason);
    }
    if (status != STATUS_OK || t == mender->turn_count) break;
    status = begin_with_user(mender, t, &begun);
    if (status == STATUS_OK) status = plan_turn(mender, t);
    piece = mender->turns[t].end;
  }
  if (status == STATUS_OK && mender->turn_count > 0 && is_waiting(mender, mender->turn_count - 1)) {
    status = insert_user(mender, mender->turn_count - 1, mender->plan->count, "unanswered call");
  }
  return status;
}

static Status mend(Mender *mender) {
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < mender->plan->count && status == STATUS_OK; i++) {
    status = take_message(mender, i, &mender->pieces[mender->piece_count++]);
  }
  if (status != STATUS_OK) return status;
  form_turns(mender);
  status = resolve(mender);
  if (status != STATUS_OK) return status;
  drop_empty(mender);
  form_turns(mender);
  status = name_calls(mender);
  for (uint32_t t = 0; t < mender->turn_count && status == STATUS_OK; t++) {
    if (!head_of(mender, &mender->turns[t])->fixed) note_changes(mender, t);
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
