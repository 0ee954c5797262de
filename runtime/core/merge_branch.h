/*
** Join: what was done on a branch comes back to the conversation that it left.
**
**     conversation   batch 0   1 2 3 . . .  4 5     the branch left behind 3; 4 and 5 came since
**     branch         batch 0   1 2 3
**                      batch 1   1 3 4'             what was done there; 4' is its own message
**     joined         batch 0   1 2 3 4 5
**                      batch 1   1 3 6 4 5          <- current; 4' became 6
**
** A branch keeps what it adds to itself. If the conversation has got no messages
** since, it becomes what the branch is. Else the branch's messages are taken into
** its store with new seqs, the branch's batches come behind its own, and what was
** appended meanwhile stands beneath the branch's current list. Where both have
** appended to one batch, what the branch made of it becomes a single new batch.
**
** Marks, checkpoints, calibration and redactions stand beside the lists and are
** merged whatever the conversation did since.
*/
#ifndef EBB_CORE_MERGE_BRANCH_H
#define EBB_CORE_MERGE_BRANCH_H

#include "core/conversation.h"

/* Makes a fork, to which nothing happened yet, a branch: notes where it leaves, and
   isolates it, so that nothing it does is seen elsewhere. STATUS_MEMORY. */
Status conversation_begin_branch(Conversation *fork, const Conversation *conversation);

/* Why a branch cannot come back. */
typedef enum MergeConflict {
  MERGE_CONFLICT_NONE,
  MERGE_CONFLICT_LISTS,        /* both changed lists, the conversation otherwise than by appending */
  MERGE_CONFLICT_WINDOWS       /* both changed windows */
} MergeConflict;

MergeConflict conversation_merge_conflict(const Conversation *conversation, const Conversation *branch);

/* Brings back batches, checkpoints, marks, windows, the counter and redactions of a
   branch, of which nothing but conversation_free is allowed afterwards. *changed
   tells whether lists or windows did. STATUS_ARGUMENT for a conflict; STATUS_MEMORY,
   STATUS_LIMIT, STATUS_HOST (the caller's own counter): nothing has changed. */
Status conversation_merge_branch(Conversation *conversation, Conversation *branch, bool *changed);

#endif
