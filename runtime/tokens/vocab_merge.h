/*
** Vocab merge: computes, for a vocabulary being built, the two halves of every token, and
** numbers in the order of merging.
**
** A token has many cuts in two, but merging its bytes alone ends in one of them. In any
** text the merges inside a token's bytes are the same as long as none crosses its ends, so
** merging never produces another cut.
*/
#ifndef EBB_TOKENS_VOCAB_MERGE_H
#define EBB_TOKENS_VOCAB_MERGE_H

#include "base/map.h"
#include "tokens/vocab_build.h"

#define MERGE_NONE UINT32_MAX

typedef struct Merged {
  uint32_t left, right;      /* positions of the halves; of a byte: its own; MERGE_NONE: merging does not produce it */
  uint32_t order;            /* rises in the order of merging; 0 for bytes */
  uint32_t number;           /* see vocab_image.h */
} Merged;

typedef struct Merges {
  Memory memory;
  const VocabSource *source;
  uint32_t *index;           /* tokens by their bytes, open addressing; MERGE_NONE: free */
  uint32_t index_size;
  Map pairs;                 /* listed merges: left << 32 | right -> order */
  uint32_t bytes[256];       /* positions of the single bytes */
  Merged *of;                /* by position */
  uint32_t *by_number;       /* positions */
  uint32_t reached;          /* numbers below it are tokens that merging produces */
} Merges;

/* STATUS_MEMORY; STATUS_LIMIT, STATUS_DUPLICATE, STATUS_SHAPE with *problem. */
Status merges_build(Merges *m, const Memory *memory, const VocabSource *source, VocabProblem *problem);
void   merges_free(Merges *m);     /* also after a failure */

/* The position of the token with these bytes, or MERGE_NONE. */
uint32_t merges_find(const Merges *m, const char *bytes, size_t size);

#endif
