/*
** Premerge: cuts a pretoken into the parts that merging starts with: not single bytes, but
** larger tokens that are surely merged before any merge across their borders.
**
** For each two bytes the image has the first token that merges across their border. A
** token whose merges all come before those across both its borders is always merged, so
** its merges need no single steps:
**
**     pretoken      g  e  t  E  l  e  m  e  n  t  B  y  I  d
**                        |                    |     |        barriers: merges across come late
**     parts      get     | Element            | By  | Id
**
** Parts are pairs of bytes, characters of three bytes, and words of a name: the bytes
** between two barriers if they are a token. That halves the merges of programs.
**
** Premerging has two halves, so that other pretokens can start while the look-ups of
** words are prefetched.
*/
#ifndef EBB_TOKENS_PREMERGE_H
#define EBB_TOKENS_PREMERGE_H

#include <stddef.h>
#include <stdint.h>

#include "tokens/vocab/vocab.h"

/* The least number of the first token that merges across a barrier. Of 2000 to 16000 it leaves the fewest merges. */
#ifndef PREMERGE_BARRIER
#define PREMERGE_BARRIER 4000
#endif

enum {
  PREMERGE_BYTES = 128,      /* the longest pretoken */
  PREMERGE_BLOCK = 64,       /* bytes per bit set */
  PREMERGE_STEP = 4,         /* bytes per vector */
  PREMERGE_WORDS = 22        /* the most words, of 3 bytes, in a block */
};

typedef struct PremergeWord {
  uint64_t key;
  uint32_t slot;
  uint8_t at, size;
} PremergeWord;

/* A pretoken during premerging. Arrays by byte have room for the overhang of a vector. */
typedef struct Premerge {
  size_t size;               /* of the pretoken */
  uint32_t words;            /* look-ups of words */
  uint32_t count;            /* number of parts; 0 until premerge_end for ASCII pretokens */
  uint64_t starts[PREMERGE_BYTES / PREMERGE_BLOCK];   /* a bit per byte that starts a part */
  uint64_t barriers;         /* a bit per byte of the first block with a barrier after it */
  PremergeWord word[PREMERGE_WORDS];
  uint32_t borders[PREMERGE_BYTES + 2 * PREMERGE_STEP];   /* by byte: the first token that merges across its front */
  uint32_t merged[PREMERGE_BYTES + PREMERGE_STEP];  /* by byte: the token it forms with the next, or NUMBER_NONE */
  uint32_t numbers[PREMERGE_BYTES + PREMERGE_STEP];  /* by byte: of the part that starts there; at the end: by part */
} Premerge;

/* Starts a pretoken of 0 < `size` <= PREMERGE_BYTES bytes; premerge_end finishes it. */
void premerge_begin(Premerge *parts, const Vocab *vocab, const char *bytes, size_t size);
void premerge_end(Premerge *parts, const Vocab *vocab);

#endif
