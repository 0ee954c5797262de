/*
** Batches: what a history is made of, in a list that forks share.
**
** The list is a tree of nodes with owners, as a sequence is: a share costs O(1),
** and an edit copies the path to what it changes if that has another owner.
**
**     a history   ---> [ node ][ node ] ---> batches 0 .. 31, 32 .. 63
**     its fork    ---> [ node ][ own  ] ---> .. and of its own, 32 .. 63 with a 64th
**
** Private to history.c.
*/
#ifndef EBB_CORE_BATCH_H
#define EBB_CORE_BATCH_H

#include "core/history.h"

/* What policies remember: a text that never changes, owned by the batch that set it and by
   all that have it from there. */
typedef struct PolicyMemory {
  uint32_t owners;
  size_t size;
  char bytes[];
} PolicyMemory;

Status  policy_memory_new(const Memory *memory, Text text, PolicyMemory **result);     /* STATUS_MEMORY, STATUS_LIMIT */
void    policy_memory_release(const Memory *memory, PolicyMemory *policy_memory);    /* NULL is allowed */

typedef struct Batch {
  uint32_t owners;
  Sequence *list;            /* NULL: pruned */
  Ledger *ledger;
  PolicyMemory *policy_memory;   /* NULL: none */
  uint32_t parent, parent_length, born;
  uint32_t count;            /* when it was pruned */
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
/* Adds a batch with these fields, a share of the policy memory and a copy of the
   description; its list and ledger are taken over on success. STATUS_MEMORY. */
Status  batches_push(Batches *batches, const Batch *fields, Text description);
/* The batch, to be changed: nobody else owns it from now on. STATUS_MEMORY. */
Status  batches_own(Batches *batches, uint32_t index, Batch **batch);

#endif
