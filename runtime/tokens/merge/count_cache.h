/*
** Count cache: the token counts of earlier pretokens, in four tables by size. All but the
** last hold words, with zeros after the pretoken, so that comparisons are comparisons of
** words. Full sets evict their oldest entry.
**
**     shorts    up to 8 bytes, one per slot. Small enough for the nearest caches, where it
**               has the counts of most of a text
**     sets      up to 15 bytes, four per cache line, which is prefetched long before it is
**               read
**     lines     16 to 30 bytes, two per cache line
**     larges    up to 126 bytes: rules and bars in comments
*/
#ifndef EBB_TOKENS_COUNT_CACHE_H
#define EBB_TOKENS_COUNT_CACHE_H

#include <assert.h>

#include "base/memory.h"
#include "tokens/vocab/vocab_image.h"

enum {
  CACHE_SHORT_BITS = 14,
  CACHE_SHORTS = 1 << CACHE_SHORT_BITS,
  CACHE_SET_BITS = 15,        /* 2 MB; twice as many gain nothing when a text is counted once */
  CACHE_SETS = 1 << CACHE_SET_BITS,
  CACHE_LINE_BITS = 14,       /* 1 MB; as above */
  CACHE_LINES = 1 << CACHE_LINE_BITS,
  CACHE_LARGES = 1 << 11,     /* a power of two */
  CACHE_SMALL_BYTES = 15,
  CACHE_LINE_BYTES = 30,
  CACHE_LARGE_BYTES = 126,
  CACHE_READS = 32,          /* bytes that look-ups read from a pretoken's start */
  CACHE_ALIGN = 64
};

/* An entry of a set: the last byte has the size and, in a slot, below it the count, 4 bits each. */
typedef struct CacheSmall { uint64_t words[2]; } CacheSmall;
typedef struct CacheSet { CacheSmall slots[4]; } CacheSet;
/* An entry of a line: the last two bytes have the size and, in a slot, above it the count. */
typedef struct CacheKey { uint64_t words[4]; } CacheKey;
typedef struct CacheLine { CacheKey slots[2]; } CacheLine;
typedef struct CacheLarge { uint8_t size, tokens; char bytes[CACHE_LARGE_BYTES]; } CacheLarge;

typedef struct CountCache {
  CacheSet sets[CACHE_SETS];
  CacheLine lines[CACHE_LINES];
  CacheLarge larges[CACHE_LARGES];
  uint64_t shorts[CACHE_SHORTS + 1];    /* one more for writes without effect */
  uint8_t short_counts[CACHE_SHORTS + 1];
  void *block;                         /* the allocation: entries are aligned to cache lines */
} CountCache;

/* Creates an empty cache; NULL if memory runs out. */
CountCache *count_cache_new(const Memory *memory);
void  count_cache_free(const Memory *memory, CountCache *cache);   /* NULL is allowed */

/* Stores the count of a pretoken, which may be in the cache; ignores pretokens above CACHE_LARGE_BYTES. Reads
   CACHE_READS bytes of pretokens up to CACHE_LINE_BYTES. */
void  count_cache_put(CountCache *cache, const char *at, size_t size, uint32_t tokens);

/* The lowest bytes of a word. */
static inline uint64_t count_cache_bytes(uint64_t word, size_t bytes) {
  static const uint64_t masks[9] = {0, 0xFF, 0xFFFF, 0xFFFFFF, 0xFFFFFFFF, 0xFFFFFFFFFF, 0xFFFFFFFFFFFF,
                                    0xFFFFFFFFFFFFFF, UINT64_MAX};
  return word & masks[bytes];
}

/* A hash of a sum of words: the highest bits of the product, which depend on all others. */
static inline uint64_t count_cache_top(uint64_t sum, unsigned bits) { return sum * 0x9E3779B97F4A7C15u >> (64 - bits); }

/* ---- shorts ---- */

/* Masks for a size, 9 for all larger ones: the bytes of a word that are the pretoken's, the bits set above them, and
   a bit that tells eight bytes from fewer bytes with those bits. A table, for sizes cannot be predicted. */
typedef struct CacheRow {
  uint64_t bytes, above, eight;
} CacheRow;

enum { CACHE_EIGHT = 0x80 };            /* above all counts */

static inline const CacheRow *count_cache_row(size_t size) {
  static const CacheRow rows[10] = {
    {0, UINT64_MAX, 0}, {UINT64_MAX >> 56, UINT64_C(0xF8) << 56, 0}, {UINT64_MAX >> 48, UINT64_C(0xF9) << 56, 0},
    {UINT64_MAX >> 40, UINT64_C(0xFA) << 56, 0}, {UINT64_MAX >> 32, UINT64_C(0xFB) << 56, 0},
    {UINT64_MAX >> 24, UINT64_C(0xFC) << 56, 0}, {UINT64_MAX >> 16, UINT64_C(0xFD) << 56, 0},
    {UINT64_MAX >> 8, UINT64_C(0xFE) << 56, 0}, {UINT64_MAX, 0, CACHE_EIGHT}, {0, UINT64_MAX, 0}};
  return &rows[size < 9 ? size : 9];
}

/* The count of a pretoken of any size; 0 if absent. A result with the bit CACHE_EIGHT is not a count: the bytes are not
   UTF-8 and must be looked up in the other tables. */
static inline uint64_t count_cache_find_short(const CountCache *cache, const char *at, size_t size) {
  const CacheRow *row = count_cache_row(size);
  uint64_t key = (load_word(at) & row->bytes) | row->above, slot = count_cache_top(key, CACHE_SHORT_BITS);
  return (cache->short_counts[slot] ^ row->eight) & (0 - (uint64_t)(cache->shorts[slot] == key));
}

/* Stores a count; `bytes`: the pretoken and zeros. Ignores pretokens of more than 8 bytes and counts of 0. */
static inline void count_cache_put_short(CountCache *cache, uint64_t bytes, size_t size, uint32_t tokens) {
  const CacheRow *row = count_cache_row(size);
  uint64_t key = bytes | row->above, none = (uint64_t)(size > 8) | (uint64_t)(tokens == 0);
  uint64_t slot = (count_cache_top(key, CACHE_SHORT_BITS) & (none - 1)) | none << CACHE_SHORT_BITS;
  cache->shorts[slot] = key;
  cache->short_counts[slot] = (uint8_t)(tokens | row->eight);
}

/* ---- sets ---- */

/* Keys of pretokens with 0 < size <= 8, and with 8 < size <= CACHE_SMALL_BYTES. */
static inline CacheSmall count_cache_near_key(const char *at, size_t size) {
  assert(size > 0 && size <= 8);
  return (CacheSmall){{count_cache_bytes(load_word(at), size), (uint64_t)size << 60}};
}
static inline CacheSmall count_cache_far_key(const char *at, size_t size) {
  assert(size > 8 && size <= CACHE_SMALL_BYTES);
  return (CacheSmall){{load_word(at), count_cache_bytes(load_word(at + 8), size - 8) | (uint64_t)size << 60}};
}
/* 0 < size <= CACHE_SMALL_BYTES */
static inline CacheSmall count_cache_small_key(const char *at, size_t size) {
  return size <= 8 ? count_cache_near_key(at, size) : count_cache_far_key(at, size);
}

static inline size_t count_cache_small_size(const CacheSmall *key) { return (size_t)(key->words[1] >> 60); }

static inline CacheSet *count_cache_set(CountCache *cache, const CacheSmall *key) {
  return &cache->sets[count_cache_top(key->words[0] + key->words[1] * 0x9FB21C651E98DF25u, CACHE_SET_BITS)];
}

/* The count of a pretoken; 0 if absent. The first eight bytes choose the slot: of entries in one set that start alike,
   only one is found. */
static inline uint32_t count_cache_find_small(const CacheSet *set, const CacheSmall *key) {
  uint32_t one = set->slots[1].words[0] == key->words[0], two = set->slots[2].words[0] == key->words[0];
  uint32_t three = set->slots[3].words[0] == key->words[0];
  const uint64_t *slot = set->slots[(one | three) + 2 * (two | three)].words;
  uint64_t differ = (slot[0] ^ key->words[0]) | ((slot[1] ^ key->words[1]) & ~(UINT64_C(15) << 56));
  return (uint32_t)(slot[1] >> 56) & 15 & (0 - (uint32_t)(differ == 0));
}

static inline void count_cache_put_small(CacheSet *set, const CacheSmall *key, uint32_t tokens) {
  assert(tokens > 0 && tokens < 16);
  if (count_cache_find_small(set, key) != 0) return;
  for (int i = 3; i > 0; i--) set->slots[i] = set->slots[i - 1];
  set->slots[0] = *key;
  set->slots[0].words[1] |= (uint64_t)tokens << 56;
}

/* ---- lines ---- */

/* CACHE_SMALL_BYTES < size <= CACHE_LINE_BYTES */
static inline CacheKey count_cache_line_key(const char *at, size_t size) {
  assert(size > CACHE_SMALL_BYTES && size <= CACHE_LINE_BYTES);
  size_t third = size < 24 ? size - 16 : 8;
  return (CacheKey){{load_word(at), load_word(at + 8), count_cache_bytes(load_word(at + 16), third),
                     count_cache_bytes(load_word(at + 24), size - 16 - third) | (uint64_t)size << 48}};
}

static inline CacheLine *count_cache_line(CountCache *cache, const CacheKey *key) {
  uint64_t first = key->words[0] + key->words[1] * 0x9FB21C651E98DF25u;
  uint64_t last = key->words[2] + key->words[3] * 0xD6E8FEB86659FD93u;
  return &cache->lines[count_cache_top(first ^ (last << 31 | last >> 33), CACHE_LINE_BITS)];
}

/* As count_cache_find_small; the first two words choose the slot. */
static inline uint32_t count_cache_find_line(const CacheLine *line, const CacheKey *key) {
  const uint64_t *slot = line->slots[1].words;
  uint64_t differ = (slot[0] ^ key->words[0]) | (slot[1] ^ key->words[1]);
  slot = line->slots[differ == 0].words;
  differ = (slot[0] ^ key->words[0]) | (slot[1] ^ key->words[1]) | (slot[2] ^ key->words[2]) |
           (slot[3] ^ key->words[3]) << 8;
  return (uint32_t)(slot[3] >> 56) & (0 - (uint32_t)(differ == 0));
}

static inline void count_cache_put_line(CacheLine *line, const CacheKey *key, uint32_t tokens) {
  assert(tokens > 0 && tokens < 256);
  if (count_cache_find_line(line, key) != 0) return;
  line->slots[1] = line->slots[0];
  line->slots[0] = *key;
  line->slots[0].words[3] |= (uint64_t)tokens << 56;
}

/* ---- larges ---- */

/* The slot for a pretoken with size <= CACHE_LARGE_BYTES; it may hold another one. */
static inline CacheLarge *count_cache_large(CountCache *cache, const char *bytes, size_t size) {
  return &cache->larges[long_hash(bytes, size) >> 32 & (CACHE_LARGES - 1)];
}

static inline bool count_cache_is_large(const CacheLarge *slot, const char *bytes, size_t size) {
  return slot->size == size && memcmp(slot->bytes, bytes, size) == 0;
}

static inline void count_cache_put_large(CacheLarge *slot, const char *bytes, size_t size, uint32_t tokens) {
  assert(size <= CACHE_LARGE_BYTES && tokens <= UINT8_MAX);
  slot->size = (uint8_t)size;
  slot->tokens = (uint8_t)tokens;
  memcpy(slot->bytes, bytes, size);
}

#endif
