/*
** Batches: the states of a history, in a list that forks share.
**
** The list is a tree of nodes with owners, as a sequence is: a share costs O(1),
** and an edit first copies every node on its path that has another owner.
**
**     a history   ---> [ node ][ node ] ---> batches 0 .. 31, 32 .. 63
**     its fork    ---> [ node ][ own  ] ---> the same 0 .. 31; its own 32 .. 64
**
** Private to history.c.
*/
#ifndef EBB_CORE_BATCH_H
#define EBB_CORE_BATCH_H

#include "core/history/history.h"

/* The memory of policies at a batch: an immutable text, owned by the batch that set it and by
   all batches that inherited it. */
struct PolicyMemory {
  uint32_t owners;
  size_t size;
  char bytes[];
};

Status  policy_memory_new(const Memory *memory, Text text, PolicyMemory **result);     /* STATUS_MEMORY, STATUS_LIMIT */

typedef struct Batch {
  uint32_t owners;
  Sequence *list;            /* NULL: pruned */
  Ledger *ledger;
  PolicyMemory *policy_memory;   /* NULL: none */
  uint32_t parent, parent_length;
  uint32_t born;             /* messages when it was created */
  uint32_t count;            /* messages when it was pruned */
  uint32_t straight;         /* messages after its birth that are known to have consecutive seqs; a memo */
  BatchKind kind;
  int64_t timestamp;
  char *description;
  size_t description_size;
} Batch;

typedef struct Batches {
  Memory memory;
  struct BatchNode *root;    /* NULL: empty */
  uint32_t count, height;
} Batches;

Batches batches_share(const Batches *batches);
void    batches_free(Batches *batches);

const Batch *batches_at(const Batches *batches, uint32_t index);      /* index < count */
/* How many messages after the batch's birth have consecutive seqs, in order. O(1) for those of which it was known;
   a batch without a list has none. */
uint32_t batches_straight(const Batches *batches, uint32_t index);
/* Appends a batch with these fields, a share of the policy memory and a copy of the
   description; takes over list and ledger on success. STATUS_MEMORY. */
Status  batches_push(Batches *batches, const Batch *fields, Text description);
/* Gives the batch for writing: copies it first if it has another owner. index < count. STATUS_MEMORY. */
Status  batches_own(Batches *batches, uint32_t index, Batch **batch);

#endif
