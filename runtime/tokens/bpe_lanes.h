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
** A piece stands in a row of 8, 16, 32 or 64 lanes, one for each part, all of them
** looked at, so that the least pair is found without a branch:
**
**     merges     what the part merges into with the next one, and its own place
**                below, so that of equal pairs the left one is the least
**     next,      places of the neighbours; a part that went into the left one is
**     before     passed over and merges no more
**
** Behind the last part, and in front of the first, is one that no pair has.
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
  LANES_MAX = 64,            /* parts of a piece */
  LANES_WIDTHS = 4,
  LANES_ROWS = 32            /* with 8 it takes a tenth longer, with 64 no less */
};

typedef struct LanesRow {
  int32_t merges[LANES_MAX + 1];
  uint32_t numbers[LANES_MAX + 1];
  uint8_t next[LANES_MAX + 1], before[LANES_MAX + 1];
  uint8_t tokens;                      /* parts that are left */
} LanesRow;

/* Rows of one width. */
typedef struct LanesGroup {
  uint32_t used;
  LanesRow rows[LANES_ROWS];
} LanesGroup;

/* Cuts a piece of `size` > 0 bytes; false if it is too large for a row. */
static inline bool lanes_cut(const Vocab *vocab, const char *bytes, size_t size, Parts *parts) {
  if (size > PARTS_BYTES) return false;
  parts_begin(parts, vocab, bytes, size);
  parts_end(parts, vocab);
  return parts->count <= LANES_MAX;
}

/* 0 to 3: which rows have as many lanes. */
static inline unsigned lanes_width(const Parts *parts) {
  return (unsigned)(parts->count > 8) + (unsigned)(parts->count > 16) + (unsigned)(parts->count > 32);
}

void lanes_fill(LanesRow *row, const Vocab *vocab, const Parts *parts, unsigned width);
/* Merges `count` <= LANES_ROWS rows of that width. */
void lanes_merge(LanesRow *rows, uint32_t count, const Vocab *vocab, unsigned width);
/* The tokens of a merged row: writes row->tokens numbers. */
void lanes_tokens(const LanesRow *row, uint32_t *numbers);

#endif
