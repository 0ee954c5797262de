/*
** Merge memory: the part of a merge (merge_branch.h) that is about what policies remember.
**
**     base      {"keep":1}
**     ours      {"keep":1,"lorebook":7}     the conversation's batch
**     theirs    {"keep":2}                  the branch's
**     merged    {"keep":2,"lorebook":7}
**
** Private to merge_branch.c.
*/
#ifndef EBB_CORE_MERGE_MEMORY_H
#define EBB_CORE_MERGE_MEMORY_H

#include "core/conversation_data.h"

/* True if both histories changed one name since the base, to different values. */
bool   merge_memory_conflict(const History *ours, const History *theirs, const BranchBase *base);
/* Merges what the branch remembered into the current batch of `history`, a fork of the conversation's.
   STATUS_MEMORY, STATUS_LIMIT, all three. */
Status merge_memory_beside(History *history, const History *theirs, const BranchBase *base);
/* Merges what the conversation remembered into the base's batch of `history`, a fork of the branch's,
   and into the branch's batches that grew out of it. */
Status merge_memory_behind(History *history, const History *ours, const BranchBase *base);
/* Adds to `merged` the policy memory of a batch with the edits of both. */
Status merge_memory_as_one(const History *ours, const History *theirs, const BranchBase *base, Buffer *merged);

#endif
