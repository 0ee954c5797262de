/*
** Explain: the edits of one message on the path to the current batch.
**
** The path is the chain of batches from the first to the current one. The ledger of a
** batch tells who made the edit and why; without one, the operation itself is the cause.
** After a replacement the trace continues with the new message:
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
  MessageId id;              /* the message of the edit: the original or its replacement */
  MessageId replacement;     /* 0: none */
  Text author, reason;       /* borrowed until the batch is freed */
} Event;

typedef struct Explanation {
  Memory memory;
  Event *events;             /* oldest first */
  uint32_t count, room;
  MessageId id;              /* the message or its latest replacement */
  bool visible;              /* true if `id` is in the current list */
} Explanation;

/* Fills `explanation`, of which the caller has set `memory`. The caller frees it, also after
   a failure. O(ledgers of the path + changes of its batches). STATUS_RANGE if no message
   ever had the id; STATUS_MEMORY. */
Status explain_message(const Conversation *conversation, MessageId id, Explanation *explanation);
void   explanation_free(Explanation *explanation);

/* Marks those of the messages from `first` to `last` that were appended on the path, not put there by an edit:
   `appended` has a byte for each of them, which becomes 1, and is all 0 before. Of what was appended before pruned
   batches, what the oldest list shows. O(path + ledgers of the path + log n for each message appended).
   STATUS_MEMORY. */
Status explain_appended(const Conversation *conversation, MessageId first, MessageId last, const Memory *memory,
                        uint8_t *appended);

#endif
