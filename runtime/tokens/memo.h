/*
** Memo: the counts of pieces that were counted before, tokens or not, in four tables.
** All but the last are made of words, with zeros behind the piece, so that to compare
** is to compare words. What falls on a full place takes that of the oldest there.
**
**     shorts    up to 8 bytes, one to a slot. Small enough for the nearest caches,
**               where it answers for most of a text
**     sets      up to 15 bytes, four to a line of the cache, which is asked for long
**               before it is read
**     lines     16 to 30 bytes, two to a line
**     larges    up to 126 bytes: rules and bars in comments
*/
#ifndef EBB_TOKENS_MEMO_H
#define EBB_TOKENS_MEMO_H

#include "base/memory.h"
#include "tokens/vocab_image.h"

enum {
  MEMO_SHORT_BITS = 14,
  MEMO_SHORTS = 1 << MEMO_SHORT_BITS,
  MEMO_SET_BITS = 15,        /* 2 MB; twice as many gain nothing when a text is counted once */
  MEMO_SETS = 1 << MEMO_SET_BITS,
  MEMO_LINE_BITS = 14,       /* 1 MB; as above */
  MEMO_LINES = 1 << MEMO_LINE_BITS,
  MEMO_LARGES = 1 << 11,     /* a power of two */
  MEMO_SMALL_BYTES = 15,
  MEMO_LINE_BYTES = 30,
  MEMO_LARGE_BYTES = 126,
  MEMO_READS = 32,           /* bytes from a piece's start that are read */
  MEMO_ALIGN = 64
};

/* For the sets: in the last byte the size, and below it, in a slot, the count, four bits each. */
typedef struct MemoSmall { uint64_t words[2]; } MemoSmall;
typedef struct MemoSet { MemoSmall slots[4]; } MemoSet;
/* For the lines: in the last two bytes the size, and above it, in a slot, the count. */
typedef struct MemoKey { uint64_t words[4]; } MemoKey;
typedef struct MemoLine { MemoKey slots[2]; } MemoLine;
typedef struct MemoLarge { uint8_t size, tokens; char bytes[MEMO_LARGE_BYTES]; } MemoLarge;

typedef struct Memo {
  MemoSet sets[MEMO_SETS];
  MemoLine lines[MEMO_LINES];
  MemoLarge larges[MEMO_LARGES];
  uint64_t shorts[MEMO_SHORTS + 1];    /* one more, for what is written for nothing */
  uint8_t short_counts[MEMO_SHORTS + 1];
  void *block;                         /* what it is in: lines lie on those of the cache */
} Memo;

/* An empty memo; NULL when there is no memory. */
Memo *memo_new(const Memory *memory);
void  memo_free(const Memory *memory, Memo *memo);   /* NULL is allowed */

/* Keeps the count of a piece that may be there already, where pieces of its size are kept. For pieces of up to
   MEMO_LINE_BYTES, MEMO_READS bytes are read. */
void  memo_put(Memo *memo, const char *at, size_t size, uint32_t tokens);

/* The lowest bytes of a word. */
static inline uint64_t memo_bytes(uint64_t word, size_t bytes) {
  static const uint64_t masks[9] = {0, 0xFF, 0xFFFF, 0xFFFFFF, 0xFFFFFFFF, 0xFFFFFFFFFF, 0xFFFFFFFFFFFF,
                                    0xFFFFFFFFFFFFFF, UINT64_MAX};
  return word & masks[bytes];
}

/* Sums of words, multiplied by this: the highest bits are those that all others reach. */
static inline uint64_t memo_top(uint64_t sum, unsigned bits) { return sum * 0x9E3779B97F4A7C15u >> (64 - bits); }

/* ---- shorts ---- */

/* By size, 9 for what is more: the bytes of a word that are the piece's, what is above them, and a bit that tells eight
   bytes from fewer with what is above them. All without branches: sizes could not be foreseen. */
typedef struct MemoRow {
  uint64_t bytes, above, eight;
} MemoRow;

enum { MEMO_EIGHT = 0x80 };            /* above all counts */

static inline const MemoRow *memo_row(size_t size) {
  static const MemoRow rows[10] = {
    {0, UINT64_MAX, 0}, {UINT64_MAX >> 56, UINT64_C(0xF8) << 56, 0}, {UINT64_MAX >> 48, UINT64_C(0xF9) << 56, 0},
    {UINT64_MAX >> 40, UINT64_C(0xFA) << 56, 0}, {UINT64_MAX >> 32, UINT64_C(0xFB) << 56, 0},
    {UINT64_MAX >> 24, UINT64_C(0xFC) << 56, 0}, {UINT64_MAX >> 16, UINT64_C(0xFD) << 56, 0},
    {UINT64_MAX >> 8, UINT64_C(0xFE) << 56, 0}, {UINT64_MAX, 0, MEMO_EIGHT}, {0, UINT64_MAX, 0}};
  return &rows[size < 9 ? size : 9];
}

/* The count of a piece of any size; 0 if it is not there. With MEMO_EIGHT in it it is none: no UTF-8, which must be
   looked for elsewhere. */
static inline uint64_t memo_find_short(const Memo *memo, const char *at, size_t size) {
  const MemoRow *row = memo_row(size);
  uint64_t key = (load_word(at) & row->bytes) | row->above, slot = memo_top(key, MEMO_SHORT_BITS);
  return (memo->short_counts[slot] ^ row->eight) & (0 - (uint64_t)(memo->shorts[slot] == key));
}

/* `bytes` are those of the piece, and zeros. Nothing is kept of more than 8 bytes, or with 0 tokens. */
static inline void memo_put_short(Memo *memo, uint64_t bytes, size_t size, uint32_t tokens) {
  const MemoRow *row = memo_row(size);
  uint64_t key = bytes | row->above, none = (uint64_t)(size > 8) | (uint64_t)(tokens == 0);
  uint64_t slot = (memo_top(key, MEMO_SHORT_BITS) & (none - 1)) | none << MEMO_SHORT_BITS;
  memo->shorts[slot] = key;
  memo->short_counts[slot] = (uint8_t)(tokens | row->eight);
}

/* ---- sets ---- */

/* 0 < size <= 8; and more, up to MEMO_SMALL_BYTES */
static inline MemoSmall memo_near_key(const char *at, size_t size) {
  return (MemoSmall){{memo_bytes(load_word(at), size), (uint64_t)size << 60}};
}
static inline MemoSmall memo_far_key(const char *at, size_t size) {
  return (MemoSmall){{load_word(at), memo_bytes(load_word(at + 8), size - 8) | (uint64_t)size << 60}};
}
/* 0 < size <= MEMO_SMALL_BYTES */
static inline MemoSmall memo_small_key(const char *at, size_t size) {
  return size <= 8 ? memo_near_key(at, size) : memo_far_key(at, size);
}

static inline size_t memo_small_size(const MemoSmall *key) { return (size_t)(key->words[1] >> 60); }

static inline MemoSet *memo_set(Memo *memo, const MemoSmall *key) {
  return &memo->sets[memo_top(key->words[0] + key->words[1] * 0x9FB21C651E98DF25u, MEMO_SET_BITS)];
}

/* The count of a piece; 0 if it is not there. The first eight bytes say which slot it may be in; of those that begin
   alike, and fell on one set, only one is found. */
static inline uint32_t memo_find_small(const MemoSet *set, const MemoSmall *key) {
  uint32_t one = set->slots[1].words[0] == key->words[0], two = set->slots[2].words[0] == key->words[0];
  uint32_t three = set->slots[3].words[0] == key->words[0];
  const uint64_t *slot = set->slots[(one | three) + 2 * (two | three)].words;
  uint64_t differ = (slot[0] ^ key->words[0]) | ((slot[1] ^ key->words[1]) & ~(UINT64_C(15) << 56));
  return (uint32_t)(slot[1] >> 56) & 15 & (0 - (uint32_t)(differ == 0));
}

static inline void memo_put_small(MemoSet *set, const MemoSmall *key, uint32_t tokens) {
  if (memo_find_small(set, key) != 0) return;
  for (int i = 3; i > 0; i--) set->slots[i] = set->slots[i - 1];
  set->slots[0] = *key;
  set->slots[0].words[1] |= (uint64_t)tokens << 56;
}

/* ---- lines ---- */

/* MEMO_SMALL_BYTES < size <= MEMO_LINE_BYTES */
static inline MemoKey memo_line_key(const char *at, size_t size) {
  size_t third = size < 24 ? size - 16 : 8;
  return (MemoKey){{load_word(at), load_word(at + 8), memo_bytes(load_word(at + 16), third),
                    memo_bytes(load_word(at + 24), size - 16 - third) | (uint64_t)size << 48}};
}

static inline MemoLine *memo_line(Memo *memo, const MemoKey *key) {
  uint64_t first = key->words[0] + key->words[1] * 0x9FB21C651E98DF25u;
  uint64_t last = key->words[2] + key->words[3] * 0xD6E8FEB86659FD93u;
  return &memo->lines[memo_top(first ^ (last << 31 | last >> 33), MEMO_LINE_BITS)];
}

/* As memo_find_small, by the first two words. */
static inline uint32_t memo_find_line(const MemoLine *line, const MemoKey *key) {
  const uint64_t *slot = line->slots[1].words;
  uint64_t differ = (slot[0] ^ key->words[0]) | (slot[1] ^ key->words[1]);
  slot = line->slots[differ == 0].words;
  differ = (slot[0] ^ key->words[0]) | (slot[1] ^ key->words[1]) | (slot[2] ^ key->words[2]) |
           (slot[3] ^ key->words[3]) << 8;
  return (uint32_t)(slot[3] >> 56) & (0 - (uint32_t)(differ == 0));
}

static inline void memo_put_line(MemoLine *line, const MemoKey *key, uint32_t tokens) {
  if (memo_find_line(line, key) != 0) return;
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
