/*
** Merge queue: the pretokens of a text that are not tokens and not in the cache, during
** merging.
**
**     ring       a few pretokens, whose words between barriers are being prefetched (premerge.h)
**     groups     pretokens by width; a full group is merged at once (merge_lockstep.h)
**     recents    the place or the count of recent pretokens: new names in programs repeat
**                soon, and are not merged again
**
** It is empty between texts. The bytes of a text must stay until merge_queue_end.
*/
#ifndef EBB_TOKENS_MERGE_QUEUE_H
#define EBB_TOKENS_MERGE_QUEUE_H

#include "tokens/merge/bpe.h"
#include "tokens/merge/merge_lockstep.h"
#include "tokens/merge/count_cache.h"

enum {
  MERGE_QUEUE_PREMERGES = 4,           /* 8 gain nothing more */
  MERGE_QUEUE_RING = LOCKSTEP_WIDTHS,  /* as a width: the pretoken is in the ring, not in a group */
  MERGE_QUEUE_RECENT_BITS = 9,
  MERGE_QUEUE_RECENTS = 1 << MERGE_QUEUE_RECENT_BITS
};

typedef struct MergeQueueGroup {
  uint32_t used;                       /* rows */
  const char *at[LOCKSTEP_ROWS];
  uint8_t sizes[LOCKSTEP_ROWS];
  uint16_t recents[LOCKSTEP_ROWS];
  uint32_t times[LOCKSTEP_ROWS];       /* occurrences of each pretoken */
} MergeQueueGroup;

typedef struct MergeQueueRecent {
  const char *at;
  uint8_t size;                        /* 0: none */
  uint8_t tokens;                      /* 0: not merged yet */
  uint8_t width, row;                  /* its place until then */
} MergeQueueRecent;

typedef struct MergeQueuePremerge {
  const char *at;
  uint32_t recent;
  uint32_t times;                      /* occurrences */
  Premerge parts;
} MergeQueuePremerge;

typedef struct MergeQueue {
  uint32_t pushes, pops;               /* of the ring */
  uint64_t occurrences;                /* of all pretokens without a count */
  MergeQueueRecent recents[MERGE_QUEUE_RECENTS];
  MergeQueuePremerge ring[MERGE_QUEUE_PREMERGES];
  MergeQueueGroup groups[LOCKSTEP_WIDTHS];
  uint32_t rows[LOCKSTEP_ALL_WORDS];   /* LOCKSTEP_ROWS of each width */
} MergeQueue;

/* Borrowed for merging; the cache may be NULL. */
typedef struct MergeQueueTools {
  const Vocab *vocab;
  CountCache *cache;
  Bpe *bpe;
} MergeQueueTools;

void   merge_queue_init(MergeQueue *queue);
/* Adds the count of a pretoken that is not a token to *tokens, now or later. CACHE_READS bytes from its start can be
   read. STATUS_MEMORY. */
Status merge_queue_add(MergeQueue *queue, const MergeQueueTools *tools, const char *at, size_t size,
                       uint64_t *tokens);
/* Adds the remaining counts, and empties the queue. Required after a failure of merge_queue_add too; then *tokens is
   meaningless. */
void   merge_queue_end(MergeQueue *queue, const MergeQueueTools *tools, uint64_t *tokens);

#endif
