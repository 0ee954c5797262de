/*
** Parts: what merging a pretoken begins with. Not its single bytes, but all that is
** surely merged before anything at its borders could be.
**
** The image says of each two bytes which is the first token that is merged across
** their border. What is merged out of tokens that all come before those at both
** its borders cannot be kept from it, so it need not be merged step by step:
**
**     pretoken      g  e  t  E  l  e  m  e  n  t  B  y  I  d
**                        |                    |     |        barriers: all that is merged across comes late
**     parts      get     | Element            | By  | Id
**
** These are pairs of bytes, characters of three bytes, and what stands between
** barriers, if one look-up says that it is a token: the words within a name. It halves
** the merges that are left in programs.
**
** Cutting has two halves, so that other pretokens can be begun while the words that
** were asked for come from memory.
*/
#ifndef EBB_TOKENS_PREMERGE_H
#define EBB_TOKENS_PREMERGE_H

#include <stddef.h>
#include <stdint.h>

#include "tokens/vocab.h"

/* Where all that is merged comes no earlier, there is a barrier. Of 2000 to 16000 this leaves the least to merge. */
#ifndef PREMERGE_BARRIER
#define PREMERGE_BARRIER 4000
#endif

enum {
  PREMERGE_BYTES = 128,         /* of a pretoken */
  PREMERGE_BLOCK = 64,          /* bytes whose places make one set */
  PREMERGE_STEP = 4,            /* bytes that are looked at at once */
  PREMERGE_WORDS = 22           /* no more of 3 bytes fit a block */
};

typedef struct PremergeWord {
  uint64_t key;
  uint32_t slot;
  uint8_t at, size;
} PremergeWord;

/* What is kept by byte has room for as many more as are looked at at once. */
typedef struct Premerge {
  size_t size;               /* of the pretoken */
  uint32_t words;            /* that were asked for */
  uint32_t count;            /* of the parts; 0 while words are to be seen */
  uint64_t starts[PREMERGE_BYTES / PREMERGE_BLOCK];   /* the bytes that a part begins with */
  uint64_t barriers;            /* bytes of the first block that a barrier stands behind */
  PremergeWord word[PREMERGE_WORDS];
  uint32_t borders[PREMERGE_BYTES + 2 * PREMERGE_STEP];   /* by byte: the first token that is merged in front of it */
  uint32_t merged[PREMERGE_BYTES + PREMERGE_STEP];  /* by byte: the token it forms with the next, or NUMBER_NONE */
  uint32_t numbers[PREMERGE_BYTES + PREMERGE_STEP];  /* by byte: of the part that starts there; at the end: by part */
} Premerge;

/* For a pretoken of 0 < `size` <= PREMERGE_BYTES bytes. */
void premerge_begin(Premerge *parts, const Vocab *vocab, const char *bytes, size_t size);
void premerge_end(Premerge *parts, const Vocab *vocab);

#endif
