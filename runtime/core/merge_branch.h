/*
** Merge branch: brings the edits of a branch into the conversation that it left.
**
**     conversation   batch 0   1 2 3 . . .  4 5     the branch left after 3; 4 and 5 are newer
**     branch         batch 0   1 2 3
**                      batch 1   1 3 4'             an edit of the branch; 4' is its own message
**     merged         batch 0   1 2 3 4 5
**                      batch 1   1 3 6 4 5          <- current; 4' became 6
**
** Additions of a branch stay in the branch until the merge. If the conversation has no
** new messages, it takes over the branch's state. Else its store takes the branch's
** messages with new seqs, the branch's batches follow its own, and its new messages are
** appended to the branch's current list. If both appended to the same batch, a new batch
** has what both appended, and all edits of the branch become a single batch behind it:
**
**     conversation   batch 0   1 2 3 4         the branch left after 3
**     branch         batch 0   1 2 3 4'
**                      batch 1   3 4'          truncate
**     merged         batch 0   1 2 3 4
**                      batch 1   1 2 3 5 4     4' became 5
**                        batch 2   3 5 4       <- current
**
** Marks, checkpoints, calibration and redactions are not part of lists; they are merged
** whatever the conversation did. So is the policy memory, name by name: a branch changes
** only the names that it set (merge_memory.h).
*/
#ifndef EBB_CORE_MERGE_BRANCH_H
#define EBB_CORE_MERGE_BRANCH_H

#include "base/buffer.h"
#include "core/conversation.h"

/* Merges two policy memories that were edited apart, JSON objects or empty, name by name: adds what
   `ours` becomes with the names that `theirs` changed since `base`. *conflict tells if both changed a
   name, to different values; `theirs` wins. `merged` NULL: only finds conflicts; cannot fail then.
   STATUS_MEMORY. (state/policy_memory.h has one) */
typedef Status (*MergeMemories)(Text base, Text ours, Text theirs, Buffer *merged, bool *conflict);

/* Makes an unedited fork a branch: stores the state of the conversation, and isolates the
   fork, so that its redactions are invisible outside. STATUS_MEMORY. */
Status conversation_begin_branch(Conversation *fork, const Conversation *conversation, MergeMemories merge_memories);

/* True if it is a branch of that conversation, and not merged yet. */
bool   conversation_is_branch(const Conversation *branch, const Conversation *conversation);

/* The reason why a branch cannot be merged. */
typedef enum MergeConflict {
  MERGE_CONFLICT_NONE,
  MERGE_CONFLICT_LISTS,      /* both changed lists, and the conversation did more than append */
  MERGE_CONFLICT_WINDOWS,    /* both changed windows */
  MERGE_CONFLICT_MEMORY      /* both changed the policy memory under the same name */
} MergeConflict;

MergeConflict conversation_merge_conflict(const Conversation *conversation, const Conversation *branch);

/* Merges batches, checkpoints, policy memory, marks, windows, the counter and redactions of a branch;
   afterwards only conversation_free may follow for the branch. *changed tells if lists,
   windows or the policy memory changed. STATUS_ARGUMENT for a conflict; STATUS_MEMORY, STATUS_LIMIT,
   STATUS_HOST (a custom counter). On failure nothing has changed. */
Status conversation_merge_branch(Conversation *conversation, Conversation *branch, bool *changed);

#endif
