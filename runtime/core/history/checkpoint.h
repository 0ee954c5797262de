/*
** Checkpoints: names of states, each a batch and a length. Forks share them; a change of
** shared ones copies them first.
**
**     slots       a  b  -  c  b  d         in the order of their naming; `b` was named anew
**     by name     a:0  b:4  c:3  d:5
**     by batch    the newest slot, and each slot knows those before and after it in its batch
**
** So a name or a batch is found, and a name moves, at a cost that does not depend on their number.
*/
#ifndef EBB_CORE_CHECKPOINT_H
#define EBB_CORE_CHECKPOINT_H

#include "base/hash.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/text.h"

typedef struct Checkpoint {
  Text name;                 /* plain; belongs to the checkpoints */
  uint32_t batch, length;
  uint64_t naming;           /* number of its naming, from 1, ascending; 0 in a slot whose name has moved */
  uint32_t older, newer;     /* private: slots of the same batch */
} Checkpoint;

typedef struct Checkpoints Checkpoints;

/* NULL stands for no checkpoints, in all functions. */
Checkpoints *checkpoints_share(Checkpoints *checkpoints);      /* the same, with one more owner */
void     checkpoints_release(Checkpoints *checkpoints);
uint32_t checkpoints_count(const Checkpoints *checkpoints);

/* Adds a checkpoint, with a copy of its name, or moves the name; its naming is later than all others.
   *checkpoints is NULL at first, and a copy afterwards if it was shared. `key` is the same for all calls.
   STATUS_MEMORY: *checkpoints is unchanged. */
Status   checkpoints_put(const Memory *memory, const HashKey *key, Checkpoints **checkpoints,
                         const Checkpoint *checkpoint);

/* Finds a checkpoint by its name, or the newest one of a batch. NULL without such a checkpoint; valid until the
   next change. */
const Checkpoint *checkpoints_find(const Checkpoints *checkpoints, Text name);
const Checkpoint *checkpoints_newest(const Checkpoints *checkpoints, uint32_t batch);
/* All of them, by their naming: start with *at = 0; NULL at the end. */
const Checkpoint *checkpoints_next(const Checkpoints *checkpoints, uint32_t *at);

/* Asserts every invariant, for tests: O(n). */
void     checkpoints_check(const Checkpoints *checkpoints);

#endif
