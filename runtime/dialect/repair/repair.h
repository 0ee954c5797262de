/*
** Repair: edits a list so that check.h finds no violations in it.
**
** Repair a copy that is about to be sent, not the original: fork the conversation, then
** repair and write the fork. The edits become one batch whose ledger has the reasons:
**
**     parts of the message array   their messages are written in the target's form
**     result elsewhere             moved behind its call, wherever it stands (pairing.h)
**     result without an id         gets that of its call
**     calls of a turn (gemini)     joined in one content
**     orphan, duplicate result     dropped: no call has it, or a nearer one answers its call
**     unanswered call              dropped, and its message with it if it says nothing else;
**                                  or answered by an error result ("synthesize")
**     duplicate id of a call       replaced by a new one, from the old and the message's seq
**     same role twice (strict)     the later message is merged into the earlier
**     no user first (strict)       a user message that says so is inserted
**     reasoning without its reply  dropped; unsigned thinking (anthropic), too
**     arguments, outputs           written as the text, or in the object, that is wanted
**     type of an image             that of its bytes
**     file without a name          gets one of its type
**     reasoning_content            added, as ""
**     system messages              moved to the next place, joined into the first, or a user's
**     role developer               system
**     content null, tool_calls []  "" beside calls; left out
**     id of an item                left out, if another item has it or it is not valid
**
** Only what the target refuses is repaired: what other servers refuse stays. Violations
** that need a conversion stay, too (CheckRule.can_repair). All other messages keep their
** bytes. A message that is moved, split or joined has the marks of those of which it is made;
** results answer the calls that the repaired list shows.
*/
#ifndef EBB_DIALECT_REPAIR_H
#define EBB_DIALECT_REPAIR_H

#include "core/conversation.h"
#include "dialect/check/check.h"
#include "dialect/convert/convert.h"

typedef struct RepairOptions {
  CheckTarget target;
  CodeSet codes;             /* to repair; CODES_ALL */
  bool synthesize;           /* answer unanswered calls; else they are dropped */
} RepairOptions;

/* Repairs the conversation. *ledger: a share of the batch's ledger, which the caller
   releases; NULL if nothing was edited. `losses` (NULL: not wanted) gets what was left out, results,
   calls and reasoning, by position in the list before. STATUS_ARGUMENT if the list has items of windows,
   which must be replaced by messages first. STATUS_MEMORY, STATUS_LIMIT, STATUS_HOST. */
Status repair_conversation(Conversation *conversation, const RepairOptions *options, Ledger **ledger,
                           ConvertReport *losses);

#endif
