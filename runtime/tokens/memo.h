/*
** Memo: the counts of pieces that were counted before, in three tables, by size.
** All are made of words, with zeros behind the piece, so that to compare is to
** compare words; a slot holds what fell on it last.
**
**     shorts    up to 8 bytes, tokens or not. Small enough for the nearest caches,
**               where it answers for most of a text
**     lines     up to 30 bytes that are no token; two slots to a line of the cache,
**               which is asked for long before it is read. A new piece takes the
**               first, what was there the second
**     larges    up to 126 bytes: rules and bars in comments
*/
#ifndef EBB_TOKENS_MEMO_H
#define EBB_TOKENS_MEMO_H

#include "base/memory.h"
#include "tokens/vocab_image.h"

enum {
  MEMO_SHORT_BITS = 13,
  MEMO_SHORTS = 1 << MEMO_SHORT_BITS,
  MEMO_LINES = 1 << 15,      /* a power of two; 2 MB; twice as many gain nothing when a text is counted once */
  MEMO_LARGES = 1 << 9,      /* a power of two */
  MEMO_LINE_BYTES = 30,
  MEMO_LARGE_BYTES = 126,
  MEMO_READS = 32,           /* bytes from a piece's start that are read */
  MEMO_ALIGN = 64
};

/* A piece for the lines: its size in the seventh byte of the last word; in a slot its count in the eighth. */
typedef struct MemoKey { uint64_t words[4]; } MemoKey;
typedef struct MemoLine { MemoKey slots[2]; } MemoLine;
typedef struct MemoLarge { uint8_t size, tokens; char bytes[MEMO_LARGE_BYTES]; } MemoLarge;

typedef struct Memo {
  MemoLine lines[MEMO_LINES];
  MemoLarge larges[MEMO_LARGES];
  uint64_t shorts[MEMO_SHORTS];
  uint8_t short_counts[MEMO_SHORTS];   /* tokens, and above them the bytes of the piece, four bits each */
  void *block;                         /* what it is in: lines lie on those of the cache */
} Memo;

/* An empty memo; NULL when there is no memory. */
Memo *memo_new(const Memory *memory);
void  memo_free(const Memory *memory, Memo *memo);   /* NULL is allowed */

/* ---- shorts ---- */

static inline uint32_t memo_short_slot(uint64_t key) {
  return (uint32_t)(key * 0x9E3779B97F4A7C15u >> (64 - MEMO_SHORT_BITS));   /* the only bits that all of a key reach */
}

/* The first eight bytes of a piece of any size, or all of them; its size is compared, too. */
static inline uint64_t memo_short_key(const char *at, size_t size) {
  return load_word(at) << (size < 8 ? 8 - size : 0) * 8;
}

/* size <= 8, and tokens <= size */
static inline void memo_put_short(Memo *memo, uint64_t key, size_t size, uint32_t tokens) {
  uint32_t slot = memo_short_slot(key);
  memo->shorts[slot] = key;
  memo->short_counts[slot] = (uint8_t)(size << 4 | tokens);
}

/* The count of a piece of any size, by its key; 0 if it is not there. */
static inline uint32_t memo_find_short(const Memo *memo, uint64_t key, size_t size) {
  uint32_t slot = memo_short_slot(key), count = memo->short_counts[slot];
  uint32_t known = (uint32_t)(memo->shorts[slot] == key) & (uint32_t)(count >> 4 == size);
  return count & 15 & (0 - known);     /* no branch: it could not be foreseen */
}

/* ---- lines ---- */

/* 0 < size <= MEMO_LINE_BYTES; MEMO_READS bytes are read. */
static inline MemoKey memo_key(const char *at, size_t size) {
  MemoKey key;
  for (size_t i = 0; i < 4; i++) {
    size_t left = size > 8 * i ? size - 8 * i : 0;
    uint64_t mask = left >= 8 ? UINT64_MAX : (UINT64_C(1) << left * 8) - 1;
    key.words[i] = load_word(at + 8 * i) & mask;
  }
  key.words[3] |= (uint64_t)size << 48;
  return key;
}

static inline MemoLine *memo_line(Memo *memo, const MemoKey *key) {
  uint64_t first = key->words[0] ^ (key->words[2] << 31 | key->words[2] >> 33) * 0x9FB21C651E98DF25u;
  uint64_t last = key->words[1] ^ (key->words[3] << 17 | key->words[3] >> 47) * 0xD6E8FEB86659FD93u;
  return &memo->lines[middle_hash(first, last) >> 40 & (MEMO_LINES - 1)];
}

/* The count of a piece; 0 if it is not there. */
static inline uint32_t memo_find(const MemoLine *line, const MemoKey *key) {
  for (int i = 0; i < 2; i++) {
    const uint64_t *slot = line->slots[i].words;
    uint64_t differ = (slot[0] ^ key->words[0]) | (slot[1] ^ key->words[1]) | (slot[2] ^ key->words[2]) |
                      (slot[3] ^ key->words[3]) << 8;
    if (differ == 0) return (uint32_t)(slot[3] >> 56);
  }
  return 0;
}

/* Keeps a piece that may be there already. */
static inline void memo_put(MemoLine *line, const MemoKey *key, uint32_t tokens) {
  if (memo_find(line, key) != 0) return;
  line->slots[1] = line->slots[0];
  line->slots[0] = *key;
  line->slots[0].words[3] |= (uint64_t)tokens << 56;
}

/* ---- larges ---- */

/* size <= MEMO_LARGE_BYTES: the piece's slot, with its count or for it. */
static inline MemoLarge *memo_large(Memo *memo, const char *bytes, size_t size) {
  return &memo->larges[long_hash(bytes, size) >> 32 & (MEMO_LARGES - 1)];
}

static inline bool memo_is_large(const MemoLarge *slot, const char *bytes, size_t size) {
  return slot->size == size && memcmp(slot->bytes, bytes, size) == 0;
}

static inline void memo_put_large(MemoLarge *slot, const char *bytes, size_t size, uint32_t tokens) {
  slot->size = (uint8_t)size;
  slot->tokens = (uint8_t)tokens;
  memcpy(slot->bytes, bytes, size);
}

#endif
