/*
** What a conversation is made of: for conversation.c and recount.c only.
*/
#ifndef EBB_CORE_CONVERSATION_DATA_H
#define EBB_CORE_CONVERSATION_DATA_H

#include "core/conversation.h"

typedef struct ToolDescription {
  char *bytes;               /* heading, then the message's JSON; NULL: none */
  size_t heading_size, size;
  MessageShape shape;        /* of a message without lists */
} ToolDescription;

/* Where a conversation stood when a branch left it. */
typedef struct BranchBase {
  uint32_t batch, length;    /* the current batch, and its messages */
  uint32_t batches, stored;  /* counts: of batches, of messages in the store */
  uint64_t window_edits, memory_edits;
  HistoryCounts history;
  Marks *marks;              /* as they were */
  Calibration calibration;
  Counter counter;
} BranchBase;

struct Conversation {
  Memory memory;
  Clock clock;
  Counter counter;           /* the active counter */
  TokenWeights *weights; /* token weights under it; NULL: messages' own tokens */
  Counter first;             /* the counter of messages' own tokens, which forks share */
  Calibration calibration;
  Store *store;
  History *history;
  Marks *marks;
  Windows *windows;          /* NULL until there is one */
  ToolDescription tools;
  uint64_t overhead;
  bool overhead_guessed;
  bool compacted;            /* messages were removed since it was made */
  bool isolated;             /* a branch or a fork of one: changes nothing that others share */
  BranchBase *base;          /* of a branch; NULL: not one */
  MessageId *redacted;       /* in a branch: messages to be redacted where it left, too */
  uint32_t redacted_count, redacted_room;
  uint64_t version;
  Units *units;              /* of the list at `units_version`; NULL: not made */
};

/* Makes the lists of a history, all of them of `store`, those of a new store that has
   only the messages that they show, with the marks of these; *compacted NULL, and
   nothing has changed: they show all. On failure the lists may be of either store;
   *marks is as it was. STATUS_MEMORY. */
Status compact_lists(const Store *store, History *history, Marks **marks, Store **compacted, uint32_t *removed);
/* Takes over a store with the same weights in the place of its own. Cannot fail. */
void   conversation_take_store(Conversation *conversation, Store *store);

#endif
