/*
** Sequence diff: the messages that only one of two sequences has. Skips nodes of both, so
** that a comparison of a batch with its parent costs only the changed part.
*/
#ifndef EBB_CORE_SEQUENCE_DIFF_H
#define EBB_CORE_SEQUENCE_DIFF_H

#include "core/list/sequence.h"

typedef struct DiffEntry {
  MessageId id;
  uint32_t index;            /* its position in the sequence that has it */
} DiffEntry;

typedef struct SequenceDiff {
  Memory memory;
  DiffEntry *removed;        /* only in the first, in order */
  DiffEntry *added;          /* only in the second, in order */
  uint32_t removed_count, removed_room, added_count, added_room;
} SequenceDiff;

/* Fills *diff. Both sequences share one store, or a fork's, and neither has a message twice. The caller
   frees *diff with sequence_diff_free, also after STATUS_MEMORY. */
Status sequence_diff(const Sequence *before, const Sequence *after, SequenceDiff *diff);
void   sequence_diff_free(SequenceDiff *diff);

/* ---- equal messages at the start of two lists: a provider's prompt cache that holds the first serves them ---- */

/* Counts the messages at the start that are equal in both lists, byte by byte. Skips
   nodes that both lists share: O(log n) for each difference; O(n) for equal messages
   with different ids. STATUS_MEMORY. */
Status common_prefix_count(const Memory *memory, const Store *store, const Sequence *a, const Sequence *b,
                           uint32_t *messages);

#endif
