/*
** The fields of a conversation, for conversation.c, recount.c, compact.c, forget.c, merge_branch.c
** and merge_memory.c only.
*/
#ifndef EBB_CORE_CONVERSATION_DATA_H
#define EBB_CORE_CONVERSATION_DATA_H

#include "base/ring.h"
#include "core/merge_branch.h"

typedef struct ToolDescription {
  char *bytes;               /* heading, then the message's JSON; NULL: none */
  size_t heading_size, size;
  MessageShape shape;        /* has no parts, calls or results */
} ToolDescription;

/* The state of a conversation when a branch left it. */
typedef struct BranchBase {
  const Conversation *origin;      /* the conversation; never followed, only compared */
  uint32_t batch, length;    /* the current batch, and how many messages it had */
  uint32_t batches, stored;  /* numbers of batches, and of messages in the store */
  uint64_t window_edits, memory_edits;
  HistoryCounts history;
  Marks *marks;              /* shares of the marks and of the policy memory at that time */
  PolicyMemory *policy_memory;
  MergeMemories merge_memories;
  Calibration calibration;
  Counter counter;
} BranchBase;

/* A message whose bytes were copied for overwriting, and the bytes that it had. */
typedef struct Lent {
  MessageId id;
  char *bytes;
} Lent;

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
  Windows *windows;          /* NULL until the first window */
  ToolDescription tools;
  uint64_t overhead;
  bool overhead_guessed;
  bool compacted;            /* messages were removed since its creation */
  uint64_t removals;         /* redactions and compactions since then */
  uint64_t forgettings;      /* here and in kin that shares the bytes: a draft of before may quote them */
  bool isolated;             /* a branch, a fork of one, or a borrower: never changes shared bytes */
  BranchBase *base;          /* NULL unless it is a branch */
  MessageId *redacted;       /* in a branch: messages that the merge redacts in the conversation */
  uint32_t redacted_count, redacted_room;
  Lent *lent;                /* those of them that conversation_settle_redactions may drop */
  uint32_t lent_count, lent_room;
  Redact redact;             /* the function of the last conversation_forget; NULL: none */
  Ring kin;                  /* its forks, and the conversation that it was forked from, with all of their forks */
  uint64_t version;
  Units *units;              /* of the current list; NULL: not computed */
};

/* Moves the lists of a history from `store` to a new store with only the messages that some
   list shows, and keeps only the marks of these. *compacted gets the new store; NULL, and
   nothing has changed, if the lists show every message. On failure the lists may belong to
   either store; *marks is unchanged. STATUS_MEMORY. */
Status compact_lists(const Store *store, History *history, Marks **marks, Store **compacted, uint32_t *removed);
/* Replaces the store by another one with the same token weights, and takes it over. Cannot fail. */
void   conversation_take_store(Conversation *conversation, Store *store);

#endif
