/*
** Evict oldest: chooses the messages to drop, oldest units first, by a search in the tree.
**
** In most conversations results closely follow their calls. Then the sums of the tree
** give the place of the cut up to the longest distance of a result from its call, and
** only the units around that place are visited:
**
**     0 . . . . . . . . . . . . | . . . . cut . . . | . . . . . . . n
**     all without a hold go      unit by unit         stays
**
** Other lists (no user message, thousands of pins, replies in fragments) are cut by units and slots, in
** draft_edit.c. Both ways choose the same messages.
*/
#ifndef EBB_CORE_EVICT_OLDEST_H
#define EBB_CORE_EVICT_OLDEST_H

#include "core/conversation.h"

/* True if the search works for the list. O(log n). */
bool evict_oldest_can_search(const Conversation *conversation, const Sequence *list);

/* Sets in `dropped` (zeros; a bit per position) the messages of the oldest units without a
   guard, until they free `need` tokens; never those of the newest `keep` units. Chooses
   no more units than needed, and fewer only if none are left. STATUS_MEMORY. */
Status evict_oldest_choose(const Conversation *conversation, const Sequence *list, uint64_t need, uint32_t keep,
                           uint64_t *dropped);

/* Number and tokens of the guarded messages. */
typedef struct GuardedSum {
  uint32_t messages;
  uint64_t tokens;
  uint64_t lasting;          /* of these, tokens that the next requests have, too: not of the last user message, nor of
                                a pending unit */
} GuardedSum;

/* Adds up the guarded messages. O(guarded log n + n / 64). STATUS_MEMORY. */
Status evict_oldest_guarded(const Conversation *conversation, const Sequence *list, GuardedSum *guarded);

#endif
