/*
** Waiting: the pretokens of a text that are no tokens and that no cache knows, on their
** way through merging.
**
**     begun      a few, while the words between their barriers come from memory (premerge.h)
**     groups     by width, until one is full and merged at once (merge_lockstep.h)
**     recents    where each was put, and what came of it: in programs new names come
**                again at once, and are merged no second time
**
** It is empty between texts; pretokens are those of one text, which stays until merge_queue_end.
*/
#ifndef EBB_TOKENS_MERGE_QUEUE_H
#define EBB_TOKENS_MERGE_QUEUE_H

#include "tokens/bpe.h"
#include "tokens/merge_lockstep.h"
#include "tokens/count_cache.h"

enum {
  MERGE_QUEUE_PREMERGES = 4,         /* 8 gain nothing more */
  MERGE_QUEUE_RING = LOCKSTEP_WIDTHS,         /* stands for the ring where a width does for a group */
  MERGE_QUEUE_RECENT_BITS = 9,
  MERGE_QUEUE_RECENTS = 1 << MERGE_QUEUE_RECENT_BITS
};

typedef struct MergeQueueGroup {
  uint32_t used;                       /* rows */
  const char *at[LOCKSTEP_ROWS];
  uint8_t sizes[LOCKSTEP_ROWS];
  uint16_t recents[LOCKSTEP_ROWS];
  uint32_t times[LOCKSTEP_ROWS];          /* that the pretoken came up */
} MergeQueueGroup;

typedef struct MergeQueueRecent {
  const char *at;
  uint8_t size;                        /* 0: none */
  uint8_t tokens;                      /* 0: waits in */
  uint8_t width, row;                  /* where it waits */
} MergeQueueRecent;

typedef struct MergeQueuePremerge {
  const char *at;
  uint32_t recent;
  uint32_t times;                      /* that the pretoken came up */
  Premerge parts;
} MergeQueuePremerge;

typedef struct MergeQueue {
  uint32_t begun, ended;               /* how many pretokens were */
  uint64_t pretokens;                     /* that are still to be counted, each as often as it came up */
  MergeQueueRecent recents[MERGE_QUEUE_RECENTS];
  MergeQueuePremerge ring[MERGE_QUEUE_PREMERGES];
  MergeQueueGroup groups[LOCKSTEP_WIDTHS];
  uint32_t rows[LOCKSTEP_ALL_WORDS];      /* LOCKSTEP_ROWS of each width */
} MergeQueue;

/* What merging goes by: the cache may be NULL. */
typedef struct MergeQueueTools {
  const Vocab *vocab;
  CountCache *cache;
  Bpe *bpe;
} MergeQueueTools;

void   merge_queue_init(MergeQueue *waiting);
/* Counts a pretoken that is no token, at once or later. CACHE_READS bytes from its start can be read. STATUS_MEMORY. */
Status merge_queue_add(MergeQueue *waiting, const MergeQueueTools *tools, const char *at, size_t size,
                       uint64_t *tokens);
/* Counts what is left. After a failure of merge_queue_add too, whose counts then mean nothing. */
void   merge_queue_end(MergeQueue *waiting, const MergeQueueTools *tools, uint64_t *tokens);

#endif
