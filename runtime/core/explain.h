/*
** Explain: what became of one message on the way to the current batch.
**
** The way is the row of batches from the first to the current one. Where a batch
** has a ledger, that says by whom and why; else the operation itself is the
** cause. A message that was replaced is followed on as its replacement:
**
**     batch 1  trim      seq 5 replaced by seq 90     shrink_tools: old result
**     batch 3  truncate  seq 90 dropped               truncate: keepLast 10
*/
#ifndef EBB_CORE_EXPLAIN_H
#define EBB_CORE_EXPLAIN_H

#include "core/conversation.h"

typedef struct Event {
  Action action;
  uint32_t batch;
  MessageId id;              /* that it happened to: the message, or what replaced it */
  MessageId replacement;     /* 0: none */
  Text by, reason;           /* borrowed until the batch goes */
} Event;

typedef struct Explanation {
  Memory memory;
  Event *events;             /* in the order in which they happened */
  uint32_t count, room;
  MessageId id;              /* as what it went last */
  bool visible;              /* that one is, now */
} Explanation;

/* Fills `explanation`, which needs only its memory. STATUS_RANGE if there never
   was such a message; STATUS_MEMORY. What it then holds is the caller's to free,
   in any case. Looks through the ledgers on the way, and through each batch. */
Status explain_message(const Conversation *conversation, MessageId id, Explanation *explanation);
void   explanation_free(Explanation *explanation);

#endif
