/*
** Pretoken batch: some hundred pretokens of a text, and the lists of those without a count.
**
**     starts     0   3   8   13  ...     of the pretokens, except those of one byte (pretoken.h)
**     ends       3   8   12  15
**     unknown        1       3           places in the batch of pretokens to look up
**     missed                 3           places of pretokens that are not tokens
**
** Each look-up passes twice over a list of pretokens: first it prefetches all slots, then
** it reads them. Single look-ups would each wait for memory.
*/
#ifndef EBB_TOKENS_PRETOKEN_BATCH_H
#define EBB_TOKENS_PRETOKEN_BATCH_H

#include "tokens/merge/count_cache.h"
#include "tokens/pretoken/pretoken.h"

enum { KEY_READS = CACHE_READS };       /* bytes that the keys of a pretoken may read from its start */

/* A text during counting or encoding. */
typedef struct TextRun {
  const char *bytes;
  bool atoms;                /* PRETOKEN_BORDERS: recognize them */
  size_t size, safe;         /* pretokens that start below `safe` are read in place, others in `tail` */
  PretokenScanner scanner;
  const size_t *ends;        /* PRETOKEN_REGEX: the next `left` ends, including pretokens of one byte; else NULL */
  size_t left;
  char tail[2 * KEY_READS];  /* the text from `safe` on, and zeros */
} TextRun;

typedef struct PretokenBatch {
  size_t starts[PRETOKEN_BATCH], ends[PRETOKEN_BATCH];
  size_t from;                         /* start of the batch in the text; it reaches to the run's scanner.at */
  uint32_t count;
  uint32_t unknown, missed;
  uint16_t by_unknown[PRETOKEN_BATCH];
  uint16_t by_miss[PRETOKEN_BATCH];
  uint32_t numbers[PRETOKEN_BATCH];       /* when encoding: of tokens; NUMBER_NONE for missed ones */
} PretokenBatch;

/* A pretoken of a batch; KEY_READS bytes from `at` can be read, even at the end of the text. */
typedef struct Pretoken {
  const char *at;
  size_t size;
} Pretoken;

static inline Pretoken pretoken_at(const TextRun *run, const PretokenBatch *batch, uint32_t place) {
  size_t start = batch->starts[place];
  assert(place < batch->count && start < batch->ends[place] && batch->ends[place] <= run->size);
  const char *at = start < run->safe ? run->bytes + start : run->tail + (start - run->safe);
  return (Pretoken){at, batch->ends[place] - start};
}

static inline void pretoken_batch_all_unknown(PretokenBatch *batch) {
  batch->unknown = batch->count;
  for (uint32_t i = 0; i < batch->count; i++) batch->by_unknown[i] = (uint16_t)i;
}

/* Adds the counts of the pretokens in the cache to *tokens; lists the others as unknown. */
void count_cache_probe(CountCache *cache, const TextRun *run, PretokenBatch *batch, uint64_t *tokens);

/* Looks up the unknown pretokens in the vocabulary and lists those that are not tokens as missed. `keep`: stores the
   numbers in the batch. Enters tokens in the cache unless that is NULL. */
void vocab_probe(const Vocab *vocab, const TextRun *run, PretokenBatch *batch, CountCache *cache, bool keep);

#endif
