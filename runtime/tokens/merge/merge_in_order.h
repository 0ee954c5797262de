/*
** Merge in order: the tokens of a pretoken that may have late tokens (vocab_merge.h).
**
** A late token merges as soon as its halves are there, before pairs elsewhere in the
** pretoken that were due. So numbers do not tell the order of merging, and no piece of the
** pretoken can be merged by itself: the pair with the lowest order is merged, again and
** again, from a heap. That is several times slower than other ways of merging, and rarely
** needed: real vocabularies have some dozen late tokens, mostly runs of one character.
*/
#ifndef EBB_TOKENS_MERGE_IN_ORDER_H
#define EBB_TOKENS_MERGE_IN_ORDER_H

#include "tokens/vocab/vocab_image.h"

/* True if a late token may be in these bytes. */
static inline bool merge_may_be_late(const Vocab *v, const char *bytes, size_t size) {
  const unsigned char *at = (const unsigned char *)bytes;
  if (v->orders == NULL) return false;
  for (size_t i = 1; i < size; i++) {
    if (pair_set_has(v->lates, at[i - 1], at[i])) return true;
  }
  return false;
}

/* Finds the tokens of `size` > 0 bytes by a vocabulary with late tokens: *count numbers in `tokens`, which has room
   for `size`. O(size * log size). STATUS_MEMORY. */
Status merge_in_order(const Memory *memory, const Vocab *vocab, const char *bytes, size_t size, uint32_t *tokens,
                      size_t *count);

#endif
