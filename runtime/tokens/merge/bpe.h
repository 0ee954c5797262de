/*
** Bpe: the tokens of a pretoken that is not a token itself.
**
** Merging pair after pair by rank takes time that grows faster than the pretoken, so it
** is used only for short ones. For others the tokens are found from left to right. Only
** neighbours matter: if merging would keep the border between each two tokens, they are
** the result of merging, and only one such list of tokens exists. So at each place the
** longest token is tried first, then its prefixes; if none fits its left neighbour, that
** neighbour was wrong:
**
**     abcab....    "abc" "ab"       if they stay apart, continue
**                  "abc" "a"        else try the next prefix
**                  "ab"             if none fits, "abc" was wrong, and the place after it is dead
**
** A dead place is never tried again, so the time is bounded by the size times the longest
** token, for every text.
*/
#ifndef EBB_TOKENS_BPE_H
#define EBB_TOKENS_BPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"
#include "tokens/vocab/vocab.h"

#define BPE_INLINE 128    /* the largest pretoken, in bytes, without an allocation */

typedef struct Bpe {
  Memory memory;
  uint32_t *tokens;       /* `inline_tokens`, or a block */
  size_t room;
  uint64_t *dead;         /* a bit per place; `fixed_dead`, or a block */
  size_t dead_words;
  uint32_t inline_tokens[BPE_INLINE];
  uint64_t fixed_dead[BPE_INLINE / 64 + 1];
} Bpe;

void   bpe_init(Bpe *bpe, const Memory *memory);
void   bpe_free(Bpe *bpe);
/* Frees the blocks that large pretokens needed. */
void   bpe_shrink(Bpe *bpe);

/* Finds the tokens of `size` > 0 bytes: *count numbers of the vocabulary in bpe->tokens, valid
   until the next call. STATUS_MEMORY. */
Status bpe_merge(Bpe *bpe, const Vocab *vocab, const char *bytes, size_t size, size_t *count);

/* Number of the longest token that is a prefix of `size` > 0 bytes. */
uint32_t bpe_longest(const Vocab *vocab, const char *bytes, size_t size);

#endif
