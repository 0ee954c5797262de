/*
** Bound thinking: which reasoning of a list can no longer be sent.
**
** The newest models bind a message's thinking to everything that stood before it when they
** wrote it. Any edit therefore ends the validity of all thinking behind the first changed
** message; thinking that was written since is bound to the edited list:
**
**     batch 0   s u a* u a* u a*
**     batch 1   s     U a* u a* | u a*        * thinking, | its length when it was born
**                     ^first      ^end
**
** A request leaves out the reasoning parts of the messages in [first, end), all of them:
** servers refuse some of a run.
*/
#ifndef EBB_DIALECT_BOUND_THINKING_H
#define EBB_DIALECT_BOUND_THINKING_H

#include "core/conversation.h"

/* Positions in a list; empty if first >= end. */
typedef struct BoundRange {
  uint32_t first, end;
} BoundRange;

/* The range in the current list of a conversation, by all edits that led to it. A pruned batch counts as changed
   from its beginning. STATUS_MEMORY. O(log n) for each batch on the path. */
Status bound_thinking_of(const Conversation *conversation, BoundRange *range);

/* True if the part is reasoning that is bound; false for nested parts. */
static inline bool part_is_bound(const BoundRange *range, uint32_t position, Part part) {
  return position >= range->first && position < range->end && part.kind == PART_REASONING && !part.nested;
}

#endif
