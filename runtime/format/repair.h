/*
** Repair: a list mended so that check.h finds nothing in it.
**
** Mended is a copy that is about to be sent, never what is kept: the caller
** forks the conversation, and repairs and writes the fork. What was done becomes
** one batch of it, its ledger saying why:
**
**     orphan, duplicate result     dropped
**     unanswered call              dropped, and its message with it if it says nothing else;
**                                  or answered by an error result ("synthesize")
**     id that another call has     a new one, made of the old and the message's seq
**     same role twice (anthropic)  the later message becomes part of the earlier
**     no user first                a user message that says so is put before
**
** What would need a conversion (check_can_mend) stays. All other messages keep
** their bytes.
*/
#ifndef EBB_FORMAT_REPAIR_H
#define EBB_FORMAT_REPAIR_H

#include "core/conversation.h"
#include "format/check.h"

typedef struct RepairOptions {
  Dialect dialect;
  unsigned codes;            /* bit per CheckCode to mend; CHECK_ALL */
  bool synthesize;           /* else unanswered calls are dropped */
} RepairOptions;

/* Edits the conversation. *ledger gets a share of what was done, the caller's to
   release, or NULL if there was nothing to mend and no batch was made. STATUS_ARGUMENT if
   the list has items of windows: what is sent has messages in their place.
   STATUS_MEMORY, STATUS_LIMIT, STATUS_HOST. */
Status repair_conversation(Conversation *conversation, const RepairOptions *options, Ledger **ledger);

#endif
