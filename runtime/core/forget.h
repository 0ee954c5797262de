/*
** Forget: overwrites a message for good, and what came of it.
**
**     the message            and every version of it: what it replaced, and what replaced it
**     its versions' bytes    in every fork and branch that shares them
**     notes and summaries    that trims and filters inserted after it was stored, for they may quote it
**     policy memories        of all batches
**     descriptions, reasons  and notes of ledgers that have a word of four bytes and more of what is overwritten
**
** In a branch all of this is the branch's alone until it is merged. What a caller inserted or appended itself stays,
** whatever it quotes.
*/
#ifndef EBB_CORE_FORGET_H
#define EBB_CORE_FORGET_H

#include "core/conversation.h"

/* The texts that were overwritten, for an undo. */
typedef struct Forgotten Forgotten;

/* `former`: what the message was, if its bytes were overwritten before; size 0: its bytes tell. *forgotten (NULL: not
   wanted) gets what conversation_unforget needs; the caller frees it. STATUS_MEMORY: nothing has
   changed. O(messages and batches of the conversation and its forks). */
Status conversation_forget(Conversation *conversation, MessageId id, Text former, Redact redact,
                           Forgotten **forgotten);
/* Undoes it: nothing but the undo of other edits may have happened since. Cannot fail. */
void   conversation_unforget(Forgotten *forgotten);
void   forgotten_free(Forgotten *forgotten);       /* wipes its copies; NULL is allowed */

/* For merging a branch that forgot: prepares the same in the forks and branches that share bytes with the conversation,
   but for these two; forgotten_apply does it. *forgotten NULL: it forgot nothing. STATUS_MEMORY: nothing has
   changed. */
Status forgotten_prepare(Conversation *conversation, const Conversation *branch, Forgotten **forgotten);
void   forgotten_apply(Forgotten *forgotten);       /* cannot fail */
/* Does it in the history of the merged conversation, which is not in use yet. STATUS_MEMORY. */
Status forgotten_from_history(const Forgotten *forgotten, History *history);

#endif
