/*
** Join: what was done on a fork comes back, beneath what was appended meanwhile.
**
**     conversation   batch 0   1 2 3 . . .  4 5     the fork was made behind 3; 4 and 5 came since
**     fork           batch 0   1 2 3
**                      batch 1   1 3                what was done there
**     joined         batch 0   1 2 3 4 5
**                      batch 1   1 3 4 5            <- current
**
** The batches of the fork keep their numbers, since the conversation may have
** made none of its own. Where both have appended to one batch, what the fork made
** of it becomes a single new batch.
*/
#ifndef EBB_CORE_JOIN_H
#define EBB_CORE_JOIN_H

#include "core/conversation.h"

/* Where a conversation stood when it was forked. */
typedef struct JoinBase {
  uint32_t batch, length, batches;
  uint64_t window_edits, memory_edits;
} JoinBase;

JoinBase conversation_join_base(const Conversation *conversation);

/* Takes over batches with what policies remember there, checkpoints, marks, windows and the
   counter of the fork. STATUS_ARGUMENT, and nothing changes, if the conversation was edited
   otherwise than by appending to the batch of the base, or if windows of both have changed;
   STATUS_MEMORY, STATUS_LIMIT.
   *batch gets the current one. */
Status conversation_join(Conversation *conversation, const Conversation *fork, JoinBase base, uint32_t *batch);

#endif
