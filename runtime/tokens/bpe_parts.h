/*
** Parts: what merging a piece begins with. Not its single bytes, but all that is
** surely merged before anything at its borders could be.
**
** The image says of each two bytes which is the first token that is merged across
** their border. What is merged out of tokens that all come before those at both
** its borders cannot be kept from it, so it need not be merged step by step:
**
**     piece      g  e  t  E  l  e  m  e  n  t  B  y  I  d
**                        |                    |     |        walls: all that is merged across comes late
**     parts      get     | Element            | By  | Id
**
** These are pairs of bytes, characters of three bytes, and what stands between
** walls, if one look-up says that it is a token: the words within a name. It halves
** the merges that are left in programs.
**
** Cutting has two halves, so that other pieces can be begun while the words that
** were asked for come from memory.
*/
#ifndef EBB_TOKENS_BPE_PARTS_H
#define EBB_TOKENS_BPE_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "tokens/vocab.h"

/* Where all that is merged comes no earlier, there is a wall. Of 2000 to 16000 this leaves the least to merge. */
#ifndef PARTS_WALL
#define PARTS_WALL 4000
#endif

enum {
  PARTS_BYTES = 128,         /* of a piece */
  PARTS_BLOCK = 64,          /* bytes whose places make one set */
  PARTS_STEP = 4,            /* bytes that are looked at at once */
  PARTS_WORDS = 22           /* no more of 3 bytes fit a block */
};

typedef struct PartsWord {
  uint64_t key;
  uint32_t slot;
  uint8_t at, size;
} PartsWord;

/* What is kept by byte has room for as many more as are looked at at once. */
typedef struct Parts {
  size_t size;               /* of the piece */
  uint32_t words;            /* that were asked for */
  uint32_t count;            /* of the parts; 0 while words are to be seen */
  uint64_t starts[PARTS_BYTES / PARTS_BLOCK];   /* the bytes that a part begins with */
  uint64_t walls;            /* bytes of the first block that a wall stands behind */
  PartsWord word[PARTS_WORDS];
  uint32_t borders[PARTS_BYTES + 2 * PARTS_STEP];   /* by byte: the first token that is merged in front of it */
  uint32_t merged[PARTS_BYTES + PARTS_STEP];        /* by byte: what it and the next one are, NUMBER_NONE for nothing */
  uint32_t numbers[PARTS_BYTES + PARTS_STEP];       /* by byte: of the part that it begins; when ended: of the parts */
} Parts;

/* For a piece of 0 < `size` <= PARTS_BYTES bytes. */
void parts_begin(Parts *parts, const Vocab *vocab, const char *bytes, size_t size);
void parts_end(Parts *parts, const Vocab *vocab);

#endif
