/*
** Batches: the pretokens of a text, some hundred at a time, with what is not yet known of them.
**
**     starts     0   3   8   13  ...     of the pretokens; those of one byte are in no list (pretoken.h)
**     ends       3   8   12  15
**     unknown        1       3           those that are to be looked up, by place in the batch
**     missed                 3           those that turned out to be no tokens
**
** Each look-up goes over a list of pretokens twice: once to ask for all the slots, and
** once to look at what has come. One look-up after the other would wait for memory.
*/
#ifndef EBB_TOKENS_PRETOKEN_BATCH_H
#define EBB_TOKENS_PRETOKEN_BATCH_H

#include "tokens/count_cache.h"
#include "tokens/pretoken.h"

enum { KEY_READS = CACHE_READS };       /* bytes from its start that a pretoken's keys may read */

/* A text that is gone through. */
typedef struct TextRun {
  const char *bytes;
  size_t size, safe;         /* pretokens that start below `safe` are read in place */
  PretokenScanner scanner;
  const size_t *ends;        /* PRETOKEN_REGEX: of all pretokens, of one byte too; `left` still to come */
  size_t left;
  char tail[2 * KEY_READS];  /* the text from `safe` on, and zeros */
} TextRun;

typedef struct PretokenBatch {
  size_t starts[PRETOKEN_BATCH], ends[PRETOKEN_BATCH];
  size_t from;                         /* of the text: up to scanner.at of the run all is in the batch */
  uint32_t count;
  uint32_t unknown, missed;
  uint16_t by_unknown[PRETOKEN_BATCH];
  uint16_t by_miss[PRETOKEN_BATCH];
  uint32_t numbers[PRETOKEN_BATCH];       /* when encoding; NUMBER_NONE for the missed */
} PretokenBatch;

/* A pretoken of a batch; KEY_READS bytes may be read, whatever follows the text. */
typedef struct Pretoken {
  const char *at;
  size_t size;
} Pretoken;

static inline Pretoken pretoken_at(const TextRun *run, const PretokenBatch *batch, uint32_t place) {
  size_t start = batch->starts[place];
  const char *at = start < run->safe ? run->bytes + start : run->tail + (start - run->safe);
  return (Pretoken){at, batch->ends[place] - start};
}

static inline void pretoken_batch_all_unknown(PretokenBatch *batch) {
  batch->unknown = batch->count;
  for (uint32_t i = 0; i < batch->count; i++) batch->by_unknown[i] = (uint16_t)i;
}

/* Adds the counts of pretokens that the cache knows; the others are unknown. */
void count_cache_probe(CountCache *cache, const TextRun *run, PretokenBatch *batch, uint64_t *tokens);

/* Looks up the unknown ones in the vocabulary. With `keep`, their numbers are kept; a cache, if there is one, learns of
   those that are tokens. */
void vocab_probe(const Vocab *vocab, const TextRun *run, PretokenBatch *batch, CountCache *cache, bool keep);

#endif
