/*
** The merges of a vocabulary that is being built: for every token the two halves
** that it comes from, and numbers in the order of merging.
**
** A token has many cuts into two, but merging its bytes alone ends in one of
** them. Within any text the merges inside of a token's bytes go the same way,
** as long as none crosses its ends; so no other cut of it ever comes up.
*/
#ifndef EBB_TOKENS_VOCAB_MERGE_H
#define EBB_TOKENS_VOCAB_MERGE_H

#include "base/map.h"
#include "tokens/vocab_build.h"

#define MERGE_NONE UINT32_MAX

typedef struct Merged {
  uint32_t left, right;      /* positions of the halves; a byte: itself; MERGE_NONE: no merging makes it */
  uint32_t order;            /* the earlier merged, the smaller; bytes 0 */
  uint32_t number;           /* vocab_image.h */
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
  uint32_t reached;          /* how many numbers merging can make; the others follow */
} Merges;

Status merges_build(Merges *m, const Memory *memory, const VocabSource *source, VocabProblem *problem);
void   merges_free(Merges *m);     /* also after a failure */

/* The position of the token with these bytes, or MERGE_NONE. */
uint32_t merges_find(const Merges *m, const char *bytes, size_t size);

#endif
