/*
** Oldest: which messages go when the oldest units go first, by searching.
**
** In most conversations results stand close behind their calls. There the tree
** says at once where the cut must be, give or take the longest distance of a
** result from its call; only what lies about that place is walked:
**
**     0 . . . . . . . . . . . . | . . . . cut . . . | . . . . . . . n
**     all but held ones go       unit by unit         stays
**
** Everything else (no user message, thousands of pins) takes the long way: units
** and slots, in draft.c. Both ways choose the same messages.
*/
#ifndef EBB_CORE_EVICT_OLDEST_H
#define EBB_CORE_EVICT_OLDEST_H

#include "core/conversation.h"

/* May the list be searched so? */
bool evict_oldest_can_search(const Conversation *conversation, const Sequence *list);

/* Sets in `gone` (cleared; a bit per position) the messages of the oldest units
   that nothing guards, until they free `need` tokens; never those of the newest
   `keep` units. No more than needed, less only if there are no more. May answer
   STATUS_MEMORY. */
Status evict_oldest_choose(const Conversation *conversation, const Sequence *list, uint64_t need, uint32_t keep,
                           uint64_t *gone);

/* Tokens of the messages that are guarded. STATUS_MEMORY. */
Status evict_oldest_guarded(const Conversation *conversation, const Sequence *list, uint64_t *tokens);

#endif
