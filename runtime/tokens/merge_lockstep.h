/*
** Lanes: short pretokens merged pair after pair, many pretokens side by side.
**
** To merge one pair is little work, but the next one hangs on what the table says
** of it, and the processor waits. So pretokens wait for one another in a group, and
** each turn makes one merge in each of them and then asks for all new pairs:
**
**     pretokens     first turn      new pairs            second turn
**     l|o|w|e    l|ow|e          (l,ow) (ow,e)        low|e        ...
**     n|e|w      n|ew            (n,ew)               new: done
**
** A pretoken stands in a row of 8, 16, 32, 64 or 128 lanes, one for each part, all of
** them looked at, so that the least pair is found without a branch:
**
**     merges     what the part merges into with the next one, and its own place
**                below, so that of equal pairs the left one is the least
**     next,      places of the neighbours; a part that went into the left one is
**     before     passed over and merges no more
**
** Behind the last part, and in front of the first, is one that no pair has. A row
** is no larger than its lanes need: one of eight takes two lines of the cache.
**
** A pretoken is cut into parts first (premerge.h).
*/
#ifndef EBB_TOKENS_MERGE_LOCKSTEP_H
#define EBB_TOKENS_MERGE_LOCKSTEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tokens/premerge.h"
#include "tokens/vocab.h"

enum {
  LOCKSTEP_MAX = PREMERGE_BYTES,   /* parts of a pretoken: whatever can be cut has a row */
  LOCKSTEP_WIDTHS = 5,
  LOCKSTEP_ROWS = 32            /* with 8 it takes a tenth longer, with 64 no less */
};

/* Words of a row: merges and numbers by lane, next and before by lane in bytes, and how many parts are left. */
#define LOCKSTEP_WORDS(lanes) (2 * ((lanes) + 1) + (2 * ((lanes) + 1) + 4) / 4)

enum {
  LOCKSTEP_ROW_WORDS = LOCKSTEP_WORDS(LOCKSTEP_MAX),      /* of one row of any width */
  LOCKSTEP_ALL_WORDS = LOCKSTEP_ROWS * (LOCKSTEP_WORDS(8) + LOCKSTEP_WORDS(16) + LOCKSTEP_WORDS(32) +
                                        LOCKSTEP_WORDS(64) + LOCKSTEP_WORDS(128))
};

/* 0 to 4: which rows have as many lanes. */
static inline unsigned lockstep_width(const Premerge *parts) {
  uint32_t count = parts->count;
  return (unsigned)(count > 8) + (unsigned)(count > 16) + (unsigned)(count > 32) + (unsigned)(count > 64);
}

static inline size_t lockstep_row_words(unsigned width) {
  static const uint16_t words[LOCKSTEP_WIDTHS] = {LOCKSTEP_WORDS(8), LOCKSTEP_WORDS(16), LOCKSTEP_WORDS(32),
                                                  LOCKSTEP_WORDS(64), LOCKSTEP_WORDS(128)};
  return words[width];
}

/* Writes a row of that width. */
void lockstep_fill(uint32_t *row, const Vocab *vocab, const Premerge *parts, unsigned width);
/* Merges `count` <= LOCKSTEP_ROWS rows of one width, one behind the other. */
void lockstep_merge(uint32_t *rows, uint32_t count, const Vocab *vocab, unsigned width);
/* How many tokens a merged row has, and which: writes as many numbers. */
uint32_t lockstep_count(const uint32_t *row, unsigned width);
void     lockstep_tokens(const uint32_t *row, unsigned width, uint32_t *numbers);

#endif
