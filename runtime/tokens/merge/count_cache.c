#include "tokens/merge/count_cache.h"

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
