/*
** Common prefix: the number of equal messages at the start of two lists. A provider's
** prompt cache that holds the first list can serve so much of the second.
*/
#ifndef EBB_CORE_COMMON_PREFIX_H
#define EBB_CORE_COMMON_PREFIX_H

#include "core/list/sequence.h"

/* Counts the messages at the start that are equal in both lists, byte by byte. Skips
   nodes that both lists share: O(log n) for each difference; O(n) for equal messages
   with different ids. STATUS_MEMORY. */
Status common_prefix_count(const Memory *memory, const Store *store, const Sequence *a, const Sequence *b,
                           uint32_t *messages);

#endif
