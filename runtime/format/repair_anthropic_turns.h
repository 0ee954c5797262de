/*
** What the files of the repair for anthropic share: repair_anthropic.c plans,
** repair_anthropic_turns.c takes messages apart and forms turns, repair_anthropic_write.c writes them.
*/
#ifndef EBB_FORMAT_REPAIR_ANTHROPIC_TURNS_H
#define EBB_FORMAT_REPAIR_ANTHROPIC_TURNS_H

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

typedef struct TurnRepair {
  Plan *plan;
  Block *blocks;       uint32_t block_count, block_room;
  Piece *pieces;       uint32_t piece_count;
  Turn *turns;         uint32_t turn_count;
  uint32_t *call_blocks, call_room;      /* block of each call of plan->calls */
  Buffer names;
} TurnRepair;

/* ---- pieces ---- */

static inline void piece_because(Piece *piece, const char *reason) {
  if (piece->reason == NULL) piece->reason = reason;
}

static inline bool piece_is_outside(const Piece *piece) { return piece->role == ROLE_SYSTEM; }

/* Has it no block that stays? */
bool piece_is_empty(const TurnRepair *repair, const Piece *piece);

/* Adds the piece of the message at `index`, with its blocks. */
Status turn_repair_take_message(TurnRepair *repair, uint32_t index, Piece *piece);

/* ---- turns ---- */

/* From the pieces that are there now. */
void turn_repair_form_turns(TurnRepair *repair);

static inline Piece *turn_head(const TurnRepair *repair, const Turn *turn) { return &repair->pieces[turn->first]; }

/* Is there such a turn, of that role, and may it be touched? */
static inline bool turn_is_own(const TurnRepair *repair, uint32_t turn, Role role) {
  return turn < repair->turn_count && !turn_head(repair, &repair->turns[turn])->fixed &&
         turn_head(repair, &repair->turns[turn])->role == role;
}

/* Has it a call for which a result is to be written? */
bool turn_is_waiting(const TurnRepair *repair, uint32_t turn);

/* Walks the blocks of a turn that are there: start with *piece = turn->first and
   *block = 0. */
bool turn_next_block(const TurnRepair *repair, const Turn *turn, uint32_t *piece, uint32_t *block);

#define EACH_BLOCK(repair, turn, piece, block) \
  for (uint32_t piece = (turn)->first, block = 0; turn_next_block(repair, turn, &piece, &block);)

/* ---- writing ---- */

/* A call's new id. */
static inline Text block_name(const TurnRepair *repair, const Block *call) {
  return text_plain(repair->names.bytes + call->name_at, call->name_size);
}

/* Plans that the turn's first message is written anew, with all that is in the turn. */
Status turn_repair_write_turn(TurnRepair *repair, uint32_t turn);

/* Plans a user message of its own before that at `index`, for what nobody else can
   say: results for the calls of the turn `before`, or, for NO_BLOCK, a beginning. */
Status turn_repair_insert_user(TurnRepair *repair, uint32_t before, uint32_t index, const char *reason);

#endif
