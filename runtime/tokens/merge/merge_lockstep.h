/*
** Merge lockstep: merges many short pretokens side by side, pair after pair.
**
** A pretoken is a piece of text, mostly a word with its space, that tokens do not cross
** (pretoken.h). It starts as a list of parts, at first those of premerging (premerge.h);
** merging replaces two neighbouring parts by one token. Numbers are token numbers of the
** vocabulary's image, in the order of merging, not the ids that models use.
**
** Each merge depends on the previous look-up, for which the processor would wait. So
** several pretokens are merged in lockstep: each turn makes one merge in each of them and
** then looks up all new pairs:
**
**     pretokens  first turn      new pairs            second turn
**     l|o|w|e    l|ow|e          (l,ow) (ow,e)        low|e        ...
**     n|e|w      n|ew            (n,ew)               new: done
**
** A pretoken has a row of 8, 16, 32, 64 or 128 lanes, one per part. The next merge is the
** pair that merges into the token with the smallest number; of equal pairs it is the left
** one. It is the minimum of `merges` over all lanes, found without a branch:
**
**     merges     the number of the token that the part and the next one merge into, shifted
**                left by 7 bits, and the part's place in those bits
**     numbers    the number of the part
**     next,      places of the neighbours; a part that was merged into its left
**     before     neighbour is skipped and has no merge
**
** Sentinels before the first and after the last part are in no pair. Rows are packed: one
** of eight lanes takes two cache lines.
*/
#ifndef EBB_TOKENS_MERGE_LOCKSTEP_H
#define EBB_TOKENS_MERGE_LOCKSTEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tokens/merge/premerge.h"
#include "tokens/vocab/vocab.h"

enum {
  LOCKSTEP_MAX = PREMERGE_BYTES,   /* the most parts of a premerged pretoken */
  LOCKSTEP_WIDTHS = 5,             /* width classes 0 to 4: rows of 8 << class lanes */
  LOCKSTEP_ROWS = 32               /* merged at once; 8 rows take a tenth more time, 64 rows save none */
};

/* Words of a row: merges and numbers by lane as words, next and before as bytes, and the number of parts. */
#define LOCKSTEP_WORDS(lanes) (2 * ((lanes) + 1) + (2 * ((lanes) + 1) + 4) / 4)

enum {
  LOCKSTEP_ROW_WORDS = LOCKSTEP_WORDS(LOCKSTEP_MAX),      /* of one row of any width */
  LOCKSTEP_ALL_WORDS = LOCKSTEP_ROWS * (LOCKSTEP_WORDS(8) + LOCKSTEP_WORDS(16) + LOCKSTEP_WORDS(32) +
                                        LOCKSTEP_WORDS(64) + LOCKSTEP_WORDS(128))
};

/* The lowest width class with a lane for each part. parts->count <= LOCKSTEP_MAX. */
static inline unsigned lockstep_width(const Premerge *parts) {
  uint32_t count = parts->count;
  return (unsigned)(count > 8) + (unsigned)(count > 16) + (unsigned)(count > 32) + (unsigned)(count > 64);
}

/* Words of a row of a width class. */
static inline size_t lockstep_row_words(unsigned width) {
  static const uint16_t words[LOCKSTEP_WIDTHS] = {LOCKSTEP_WORDS(8), LOCKSTEP_WORDS(16), LOCKSTEP_WORDS(32),
                                                  LOCKSTEP_WORDS(64), LOCKSTEP_WORDS(128)};
  return words[width];
}

/* Writes a row of a width class with lanes enough. parts->count > 0. */
void lockstep_fill(uint32_t *row, const Vocab *vocab, const Premerge *parts, unsigned width);
/* Merges `count` <= LOCKSTEP_ROWS filled rows of one width class, which follow each other. */
void lockstep_merge(uint32_t *rows, uint32_t count, const Vocab *vocab, unsigned width);
/* The number of tokens of a merged row. */
uint32_t lockstep_count(const uint32_t *row, unsigned width);
/* Writes the token numbers of a merged row, lockstep_count of them. */
void     lockstep_tokens(const uint32_t *row, unsigned width, uint32_t *numbers);

#endif
