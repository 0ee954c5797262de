/*
** What stands in only one of two sequences. Nodes that both own are skipped, so
** that comparing a batch with its parent costs what the edit changed.
*/
#ifndef EBB_CORE_SEQUENCE_DIFF_H
#define EBB_CORE_SEQUENCE_DIFF_H

#include "core/sequence.h"

typedef struct DiffEntry {
  MessageId id;
  uint32_t index;            /* where it stands, in the sequence that has it */
} DiffEntry;

typedef struct SequenceDiff {
  Memory memory;
  DiffEntry *removed;        /* only in the first, in order */
  DiffEntry *added;          /* only in the second, in order */
  uint32_t removed_count, removed_room, added_count, added_room;
} SequenceDiff;

/* Both share one store, and no message stands twice in either. The caller ends
   *diff with sequence_diff_free, also after STATUS_MEMORY. */
Status sequence_diff(const Sequence *before, const Sequence *after, SequenceDiff *diff);
void   sequence_diff_free(SequenceDiff *diff);

#endif
