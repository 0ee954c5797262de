/*
** Merging: the tokens of a piece that is no token itself.
**
** Merging by rank, pair after pair, takes time that grows faster than the piece.
** Instead the tokens are found from left to right. Only neighbours matter: if
** each pair of neighbours is one that merging leaves alone, the whole is what
** merging gives, and there is only one such whole. So the longest token that
** fits is tried first, then the shorter ones that it begins with; where none
** goes with its left neighbour, that neighbour was wrong:
**
**     b a n d a n n a     "ban" "dann"?   no token            place 3: "dan"
**     ban|dan|na          does "ban","dan" stay apart when merged? yes
**
** A place from which all tries failed is marked dead and never reached again,
** which bounds the time by size * longest token, whatever the text.
*/
#ifndef EBB_TOKENS_BPE_H
#define EBB_TOKENS_BPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"
#include "tokens/vocab.h"

#define BPE_INLINE 64     /* pieces up to so many bytes need no allocation */

typedef struct Bpe {
  Memory memory;
  uint32_t *tokens;       /* `fixed`, or a block */
  size_t room;
  uint64_t *dead;         /* a bit per place; `fixed_dead`, or a block */
  size_t dead_words;
  uint32_t fixed[BPE_INLINE];
  uint64_t fixed_dead[BPE_INLINE / 64 + 1];
} Bpe;

void   bpe_init(Bpe *bpe, const Memory *memory);
void   bpe_free(Bpe *bpe);
/* Gives back what large pieces took. */
void   bpe_shrink(Bpe *bpe);

/* The tokens of `size` > 0 bytes, as the vocabulary's numbers, in bpe->tokens;
   they stay until the next call. STATUS_MEMORY. */
Status bpe_merge(Bpe *bpe, const Vocab *vocab, const char *bytes, size_t size, size_t *count);

#endif
