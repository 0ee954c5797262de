/*
** The cache of counts: making it, and looking up the pretokens of a batch.
*/
#include "tokens/merge/count_cache.h"
#include "tokens/merge/pretoken_batch.h"

CountCache *count_cache_new(const Memory *memory) {
  char *block = memory_new(memory, sizeof(CountCache) + CACHE_ALIGN);
  if (block == NULL) return NULL;
  CountCache *cache = (CountCache *)(void *)(block + (CACHE_ALIGN - (uintptr_t)block % CACHE_ALIGN) % CACHE_ALIGN);
  memset(cache->sets, 0, sizeof cache->sets);
  memset(cache->lines, 0, sizeof cache->lines);
  for (int i = 0; i < CACHE_LARGES; i++) cache->larges[i].size = 0;
  memset(cache->shorts, 0, sizeof cache->shorts);
  memset(cache->short_counts, CACHE_EIGHT, sizeof cache->short_counts);   /* a key of 0 is that of eight zeros */
  cache->block = block;
  assert((uintptr_t)cache % CACHE_ALIGN == 0);
  return cache;
}

void count_cache_free(const Memory *memory, CountCache *cache) {
  if (cache != NULL) memory_free(memory, cache->block, sizeof *cache + CACHE_ALIGN);
}

void count_cache_put(CountCache *cache, const char *at, size_t size, uint32_t tokens) {
  assert(size > 0 && tokens <= size);
  if (size <= CACHE_SMALL_BYTES) {
    CacheSmall key = count_cache_small_key(at, size);
    count_cache_put_short(cache, key.words[0], size, tokens);
    count_cache_put_small(count_cache_set(cache, &key), &key, tokens);
  } else if (size <= CACHE_LINE_BYTES) {
    CacheKey key = count_cache_line_key(at, size);
    count_cache_put_line(count_cache_line(cache, &key), &key, tokens);
  } else if (size <= CACHE_LARGE_BYTES) {
    count_cache_put_large(count_cache_large(cache, at, size), at, size, tokens);
  }
}

/* ---- looking up a batch ---- */

/* Unknown pretokens, by the table of the cache that may have them. */
typedef enum Table { OF_NEAR, OF_FAR, OF_LINE, OF_NONE, TABLE_COUNT } Table;
typedef struct Lists {
  uint32_t counts[TABLE_COUNT];
  uint16_t places[TABLE_COUNT][PRETOKEN_BATCH];
} Lists;

/* Looks up short pretokens, which most are, without branches: hits cannot be predicted. Pretokens near the end of
   the text, which are not read in place, go to the other tables. */
static void recall_shorts(const CountCache *cache, const TextRun *run, PretokenBatch *batch, uint64_t *tokens) {
  uint64_t sum = 0, all = 0;
  size_t unknown = 0, in_place = batch->count;
  while (in_place > 0 && batch->starts[in_place - 1] >= run->safe) in_place--;
  for (size_t i = 0; i < in_place; i++) {
    size_t start = batch->starts[i];
    uint64_t count = count_cache_find_short(cache, run->bytes + start, batch->ends[i] - start);
    sum += count;
    all |= count;
    batch->by_unknown[unknown] = (uint16_t)i;
    unknown += count == 0;
  }
  for (size_t i = in_place; i < batch->count; i++) batch->by_unknown[unknown++] = (uint16_t)i;
  assert(unknown <= batch->count);
  batch->unknown = (uint32_t)unknown;
  if ((all & CACHE_EIGHT) != 0) pretoken_batch_all_unknown(batch);
  else *tokens += sum;
}

/* Distributes the unknown pretokens over the tables; those too long for any stay in the batch's list. */
static void sort_by_table(PretokenBatch *batch, Lists *lists) {
  static const uint8_t tables[CACHE_LINE_BYTES + 2] = {
    OF_NEAR, OF_NEAR, OF_NEAR, OF_NEAR, OF_NEAR, OF_NEAR, OF_NEAR, OF_NEAR, OF_NEAR,
    OF_FAR, OF_FAR, OF_FAR, OF_FAR, OF_FAR, OF_FAR, OF_FAR,
    OF_LINE, OF_LINE, OF_LINE, OF_LINE, OF_LINE, OF_LINE, OF_LINE, OF_LINE, OF_LINE, OF_LINE, OF_LINE, OF_LINE,
    OF_LINE, OF_LINE, OF_LINE, OF_NONE};
  memset(lists->counts, 0, sizeof lists->counts);
  for (uint32_t i = 0; i < batch->unknown; i++) {
    uint16_t place = batch->by_unknown[i];
    size_t size = batch->ends[place] - batch->starts[place];
    uint32_t table = tables[size <= CACHE_LINE_BYTES ? size : CACHE_LINE_BYTES + 1];
    lists->places[table][lists->counts[table]++] = place;
  }
  batch->unknown = lists->counts[OF_NONE];
  memcpy(batch->by_unknown, lists->places[OF_NONE], batch->unknown * sizeof *batch->by_unknown);
}

/* Looks up pretokens in the sets; compiled twice: for up to eight bytes, whose counts go to the shorts again, and for
   more. */
static inline __attribute__((always_inline)) uint64_t recall_smalls(CountCache *cache, const TextRun *run,
                                                                    PretokenBatch *batch,
                                                                    const Lists *lists, Table table) {
  CacheSmall keys[PRETOKEN_BATCH];
  CacheSet *sets[PRETOKEN_BATCH];
  const uint16_t *places = lists->places[table];
  uint64_t sum = 0;
  for (uint32_t i = 0; i < lists->counts[table]; i++) {
    Pretoken pretoken = pretoken_at(run, batch, places[i]);
    keys[i] = table == OF_NEAR ? count_cache_near_key(pretoken.at, pretoken.size)
                               : count_cache_far_key(pretoken.at, pretoken.size);
    sets[i] = count_cache_set(cache, &keys[i]);
    __builtin_prefetch(sets[i]);
  }
  for (uint32_t i = 0; i < lists->counts[table]; i++) {
    uint32_t count = count_cache_find_small(sets[i], &keys[i]);
    sum += count;
    if (table == OF_NEAR) count_cache_put_short(cache, keys[i].words[0], count_cache_small_size(&keys[i]), count);
    batch->by_unknown[batch->unknown] = places[i];
    batch->unknown += count == 0;
  }
  return sum;
}

static uint64_t recall_lines(CountCache *cache, const TextRun *run, PretokenBatch *batch, const Lists *lists) {
  CacheKey keys[PRETOKEN_BATCH];
  CacheLine *lines[PRETOKEN_BATCH];
  uint64_t sum = 0;
  for (uint32_t i = 0; i < lists->counts[OF_LINE]; i++) {
    Pretoken pretoken = pretoken_at(run, batch, lists->places[OF_LINE][i]);
    keys[i] = count_cache_line_key(pretoken.at, pretoken.size);
    lines[i] = count_cache_line(cache, &keys[i]);
    __builtin_prefetch(lines[i]);
  }
  for (uint32_t i = 0; i < lists->counts[OF_LINE]; i++) {
    uint32_t count = count_cache_find_line(lines[i], &keys[i]);
    sum += count;
    batch->by_unknown[batch->unknown] = lists->places[OF_LINE][i];
    batch->unknown += count == 0;
  }
  return sum;
}

void count_cache_probe(CountCache *cache, const TextRun *run, PretokenBatch *batch, uint64_t *tokens) {
  Lists lists;
  assert(batch->count <= PRETOKEN_BATCH);
  recall_shorts(cache, run, batch, tokens);
  sort_by_table(batch, &lists);
  *tokens += recall_smalls(cache, run, batch, &lists, OF_NEAR);
  *tokens += recall_smalls(cache, run, batch, &lists, OF_FAR);
  *tokens += recall_lines(cache, run, batch, &lists);
  assert(batch->unknown <= batch->count);
}
