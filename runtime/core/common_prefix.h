/*
** Prefix: how far two lists begin alike, which is what a provider's prompt cache
** can serve of the second after the first.
*/
#ifndef EBB_CORE_COMMON_PREFIX_H
#define EBB_CORE_COMMON_PREFIX_H

#include "core/sequence.h"

/* Messages from the beginning that are equal in both, byte by byte. Skips what
   both lists share: O(log n) for each difference, and O(n) only along messages
   that are equal but not the same. STATUS_MEMORY. */
Status common_prefix_count(const Memory *memory, const Store *store, const Sequence *a, const Sequence *b,
                           uint32_t *messages);

#endif
