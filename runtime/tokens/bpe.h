/*
** Merging: the tokens of a pretoken that is no token itself.
**
** Merging by rank, pair after pair, takes time that grows faster than the pretoken;
** it is done for short ones. In others the tokens are found from left to right.
** Only neighbours matter: if merging would leave the border of each two alone,
** the whole is what merging gives, and there is only one such whole. So at each
** place the longest token is tried first, then the shorter ones that it begins
** with; where none goes with its left neighbour, that neighbour was wrong:
**
**     abcab....    "abc" "ab"       do they stay apart? if so, go on
**                  "abc" "a"        else the next shorter one
**                  "ab"             none: "abc" was wrong, the place behind it is dead
**
** A dead place is never reached again, which bounds the time by the size and the
** longest token, whatever the text.
*/
#ifndef EBB_TOKENS_BPE_H
#define EBB_TOKENS_BPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"
#include "tokens/vocab.h"

#define BPE_INLINE 128    /* pretokens up to so many bytes need no allocation */

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
/* Gives back what large pretokens took. */
void   bpe_shrink(Bpe *bpe);

/* The tokens of `size` > 0 bytes, as the vocabulary's numbers, in bpe->tokens;
   they stay until the next call. STATUS_MEMORY. */
Status bpe_merge(Bpe *bpe, const Vocab *vocab, const char *bytes, size_t size, size_t *count);

/* The longest token that `size` > 0 bytes begin with: its number. */
uint32_t bpe_longest(const Vocab *vocab, const char *bytes, size_t size);

#endif
