/*
** Batches: the pieces of a text, some hundred at a time, with what is not yet known of them.
**
**     starts     0   3   8   13  ...     of the pieces; those of one byte are in no list (piece.h)
**     ends       3   8   12  15
**     unknown        1       3           those that are to be looked up, by place in the batch
**     missed                 3           those that turned out to be no tokens
**
** Each look-up goes over a list of pieces twice: once to ask for all the slots, and
** once to look at what has come. One look-up after the other would wait for memory.
*/
#ifndef EBB_TOKENS_BATCH_H
#define EBB_TOKENS_BATCH_H

#include "tokens/memo.h"
#include "tokens/piece.h"

enum { KEY_READS = MEMO_READS };       /* bytes from its start that a piece's keys may read */

/* A text that is gone through. */
typedef struct Run {
  const char *bytes;
  size_t size, safe;         /* pieces that start below `safe` are read in place */
  Pieces pieces;
  const size_t *ends;        /* PIECES_REGEX: of all pieces, of one byte too; `left` still to come */
  size_t left;
  char tail[2 * KEY_READS];  /* the text from `safe` on, and zeros */
} Run;

typedef struct Batch {
  size_t starts[PIECE_BATCH], ends[PIECE_BATCH];
  size_t from;                         /* of the text: up to pieces.at of the run all is in the batch */
  uint32_t count;
  uint32_t unknown, missed;
  uint16_t by_unknown[PIECE_BATCH];
  uint16_t by_miss[PIECE_BATCH];
  uint32_t numbers[PIECE_BATCH];       /* when encoding; NUMBER_NONE for the missed */
} Batch;

/* A piece of a batch; KEY_READS bytes may be read, whatever follows the text. */
typedef struct Piece {
  const char *at;
  size_t size;
} Piece;

static inline Piece piece_at(const Run *run, const Batch *batch, uint32_t place) {
  size_t start = batch->starts[place];
  const char *at = start < run->safe ? run->bytes + start : run->tail + (start - run->safe);
  return (Piece){at, batch->ends[place] - start};
}

static inline void batch_all_unknown(Batch *batch) {
  batch->unknown = batch->count;
  for (uint32_t i = 0; i < batch->count; i++) batch->by_unknown[i] = (uint16_t)i;
}

/* Adds the counts of pieces that the memo knows; the others are unknown. */
void batch_recall(Memo *memo, const Run *run, Batch *batch, uint64_t *tokens);

/* Looks up the unknown ones in the vocabulary. With `keep`, their numbers are kept; a memo, if there is one, learns of
   those that are tokens. */
void batch_probe(const Vocab *vocab, const Run *run, Batch *batch, Memo *memo, bool keep);

#endif
