/*
** Lanes: short pieces merged pair after pair, many pieces side by side.
**
** To merge one pair is little work, but the next one hangs on what the table says
** of it, and the processor waits. So pieces wait for one another in a group, and
** each turn makes one merge in each of them and then asks for all new pairs:
**
**     pieces     first turn      new pairs            second turn
**     l|o|w|e    l|ow|e          (l,ow) (ow,e)        low|e        ...
**     n|e|w      n|ew            (n,ew)               new: done
**
** A piece stands in a row of 8, 16, 32, 64 or 128 lanes, one for each part, all of
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
** A piece is cut into parts first (bpe_parts.h).
*/
#ifndef EBB_TOKENS_BPE_LANES_H
#define EBB_TOKENS_BPE_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tokens/bpe_parts.h"
#include "tokens/vocab.h"

enum {
  LANES_MAX = PARTS_BYTES,   /* parts of a piece: whatever can be cut has a row */
  LANES_WIDTHS = 5,
  LANES_ROWS = 32            /* with 8 it takes a tenth longer, with 64 no less */
};

/* Words of a row: merges and numbers by lane, next and before by lane in bytes, and how many parts are left. */
#define LANES_WORDS(lanes) (2 * ((lanes) + 1) + (2 * ((lanes) + 1) + 4) / 4)

enum {
  LANES_ROW_WORDS = LANES_WORDS(LANES_MAX),      /* of one row of any width */
  LANES_ALL_WORDS = LANES_ROWS * (LANES_WORDS(8) + LANES_WORDS(16) + LANES_WORDS(32) + LANES_WORDS(64) +
                                  LANES_WORDS(128))
};

/* 0 to 4: which rows have as many lanes. */
static inline unsigned lanes_width(const Parts *parts) {
  uint32_t count = parts->count;
  return (unsigned)(count > 8) + (unsigned)(count > 16) + (unsigned)(count > 32) + (unsigned)(count > 64);
}

static inline size_t lanes_row_words(unsigned width) {
  static const uint16_t words[LANES_WIDTHS] = {LANES_WORDS(8), LANES_WORDS(16), LANES_WORDS(32), LANES_WORDS(64),
                                               LANES_WORDS(128)};
  return words[width];
}

/* Writes a row of that width. */
void lanes_fill(uint32_t *row, const Vocab *vocab, const Parts *parts, unsigned width);
/* Merges `count` <= LANES_ROWS rows of one width, one behind the other. */
void lanes_merge(uint32_t *rows, uint32_t count, const Vocab *vocab, unsigned width);
/* How many tokens a merged row has, and which: writes as many numbers. */
uint32_t lanes_count(const uint32_t *row, unsigned width);
void     lanes_tokens(const uint32_t *row, unsigned width, uint32_t *numbers);

#endif
