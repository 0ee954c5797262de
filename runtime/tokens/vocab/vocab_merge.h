/*
** Vocab merge: computes, for a vocabulary being built, the two halves of every token, and
** numbers in the order of merging.
**
** A token has many cuts in two, but merging its bytes alone ends in one of them. In any
** text the merges inside a token's bytes are the same as long as none crosses its ends, so
** merging never produces another cut.
**
** A token may be listed before its own halves: it is *late*. It is merged right after them,
** in their turn, because no pair that is listed earlier is left then. Numbers follow the turns:
**
**     listed    5 "aaa" = "aa" + "a"    7 "aa" = "a" + "a"    9 "ab" = "a" + "b"
**     turn      7, late                 7                     9
**     number    257                     256                   258
*/
#ifndef EBB_TOKENS_VOCAB_MERGE_H
#define EBB_TOKENS_VOCAB_MERGE_H

#include "base/map.h"
#include "tokens/vocab/vocab_build.h"

#define MERGE_NONE UINT32_MAX

/* The last merge that produces a token. Positions are indices of VocabSource.tokens. */
typedef struct Merged {
  uint32_t left, right;      /* positions of the halves; of a byte: its own; MERGE_NONE: merging does not produce it */
  uint32_t order;            /* of two pairs, the one with the lower order merges first; 0 for bytes */
  uint32_t turn;             /* the highest order among its own and those of its halves; above `order`: late */
  uint32_t number;           /* of the token in the order of turns (vocab_image.h) */
} Merged;

typedef struct Merges {
  Memory memory;
  const VocabSource *source; /* borrowed */
  uint32_t *index;           /* tokens by their bytes, open addressing; MERGE_NONE: free */
  uint32_t index_size;       /* slots, a power of two, at least twice the tokens */
  Map pairs;                 /* listed merges: left << 32 | right -> order */
  uint32_t bytes[256];       /* positions of the single bytes */
  Merged *halves;            /* by position */
  uint32_t *token_of_number; /* by number: positions */
  uint32_t reached;          /* numbers below it are tokens that merging produces */
  bool late;                 /* some are late */
} Merges;

/* Computes halves and numbers of all tokens of `source`, which must outlive *m and has at most
   VOCAB_TOKENS_MAX tokens. The caller calls merges_free, also after a failure. STATUS_LIMIT (a token is
   empty or too long), STATUS_DUPLICATE (two equal tokens), STATUS_SHAPE (no token for a byte, or a merge
   of other than tokens): *problem says which token or merge, and what was expected. STATUS_MEMORY:
   *problem is unchanged. */
Status merges_build(Merges *m, const Memory *memory, const VocabSource *source, VocabProblem *problem);
void   merges_free(Merges *m);

/* The position of the token with these bytes, or MERGE_NONE. */
uint32_t merges_find(const Merges *m, const char *bytes, size_t size);

#endif
