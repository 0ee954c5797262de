/*
** Shared by the files of the repair for anthropic: repair_anthropic.c plans,
** repair_anthropic_turns.c splits messages and forms turns, repair_anthropic_write.c
** writes them.
*/
#ifndef EBB_DIALECT_REPAIR_ANTHROPIC_TURNS_H
#define EBB_DIALECT_REPAIR_ANTHROPIC_TURNS_H

#include "dialect/repair/repair_plan.h"

#define NO_BLOCK UINT32_MAX

typedef struct Block {
  Text raw;                  /* the part as JSON; size 0: the message's string content */
  Text text, id;             /* of a text; of a call or result */
  PartKind kind;
  bool removed, synthesized;    /* synthesized: a call that needs a synthesized result */
  bool cut;                  /* `text` is shorter than that in `raw` */
  uint32_t piece;
  uint32_t result;           /* of a result: its number in the pairing, or UNPAIRED */
  uint32_t call_block;       /* of a result: the block that it answers, or NO_BLOCK */
  size_t name_at, name_size; /* of a call's new id in `names`; size 0: it keeps its id */
} Block;

/* One message of the list, split into blocks; adjacent pieces of one role form a turn. */
typedef struct TurnPiece {
  uint32_t first, end;       /* blocks */
  uint32_t index;            /* of the message in the list */
  Role role;
  bool untouched;            /* it stays as it is, a turn by itself: a tool message, or one that no repair may empty */
  bool removed;
  const char *reason;        /* the first reason to change it; NULL: none */
} TurnPiece;

typedef struct Turn {
  uint32_t first, end;       /* pieces, including removed ones */
  bool joins;                /* it is written as one message; else each of its messages by itself */
} Turn;

typedef struct TurnRepair {
  Plan *plan;
  Block *blocks;       uint32_t block_count, block_room;
  TurnPiece *pieces;       uint32_t piece_count;
  Turn *turns;         uint32_t turn_count;
  uint32_t *call_blocks, call_room;      /* block of each call of plan->calls */
  Map seen;                  /* hashes of the ids of calls so far */
  Buffer names;
} TurnRepair;

/* ---- pieces ---- */

/* Sets the reason to change the piece; the first one stays. */
static inline void set_reason(TurnPiece *piece, const char *reason) {
  if (piece->reason == NULL) piece->reason = reason;
}

/* True for system messages, which are part of no turn. */
static inline bool piece_is_outside_turns(const TurnPiece *piece) { return piece->role == ROLE_SYSTEM; }

/* True if all of its blocks are removed. */
bool piece_is_empty(const TurnRepair *repair, const TurnPiece *piece);

/* Splits the message at `index`: fills *piece, which the caller has counted, and adds its blocks.
   STATUS_MEMORY: some blocks may be added; the caller gives up the repair. */
Status turn_repair_add_message(TurnRepair *repair, uint32_t index, TurnPiece *piece);

/* ---- turns ---- */

/* Forms turns of the pieces that are not removed. */
void turn_repair_form_turns(TurnRepair *repair);

static inline TurnPiece *turn_head(const TurnRepair *repair, const Turn *turn) { return &repair->pieces[turn->first]; }

/* True if the turn exists, has that role and may be changed. */
static inline bool turn_has_role(const TurnRepair *repair, uint32_t turn, Role role) {
  return turn < repair->turn_count && !turn_head(repair, &repair->turns[turn])->untouched &&
         turn_head(repair, &repair->turns[turn])->role == role;
}

/* True if it has a call that needs a synthesized result. */
bool turn_is_waiting(const TurnRepair *repair, uint32_t turn);

/* Moves *block behind the next block of a turn that is not removed; false at the end.
   Start with *piece = turn->first and *block = 0. */
bool turn_next_block(const TurnRepair *repair, const Turn *turn, uint32_t *piece, uint32_t *block);

#define EACH_BLOCK(repair, turn, piece, block) \
  for (uint32_t piece = (turn)->first, block = 0; turn_next_block(repair, turn, &piece, &block);)

/* ---- writing ---- */

/* The new id of a call. */
static inline Text block_name(const TurnRepair *repair, const Block *call) {
  return text_plain(repair->names.bytes + call->name_at, call->name_size);
}

/* Plans to rewrite the turn's first message with all blocks of the turn. */
Status turn_repair_write_turn(TurnRepair *repair, uint32_t turn);
/* Plans to rewrite one message of a turn with its own blocks. */
Status turn_repair_write_piece(TurnRepair *repair, uint32_t piece);

/* Plans to insert a user message before that at `index`: with results for the calls of the
   turn `before`, or, for NO_BLOCK, with a note about the missing beginning. */
Status turn_repair_insert_user(TurnRepair *repair, uint32_t before, uint32_t index, const char *reason);

#endif
