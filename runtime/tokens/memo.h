/*
** Memo: the counts of pieces that are no tokens, as they were merged before.
**
** A piece of up to MEMO_BYTES bytes is four words, with zeros behind it and its
** size on top, so that to compare two is to compare words:
**
**     "getElementById"     getEleme | ntById.. | ........ | ......S T
**
** T, the count, is set in a slot only. Two slots make up a line of the cache,
** which is asked for long before it is read. A new piece takes the first, what
** was there the second.
*/
#ifndef EBB_TOKENS_MEMO_H
#define EBB_TOKENS_MEMO_H

#include <string.h>

#include "base/memory.h"
#include "tokens/vocab_image.h"

enum {
  MEMO_LINES = 1 << 15,      /* 2 MB; see tests/bench/tokens.sh */
  MEMO_BYTES = 30,
  MEMO_READS = 32            /* bytes from a piece's start that are read */
};

typedef struct MemoKey { uint64_t words[4]; } MemoKey;
typedef struct MemoLine { MemoKey slots[2]; } MemoLine;

/* MEMO_LINES of them in a block that the caller frees with memo_free; NULL when there is no memory. */
static inline MemoLine *memo_new(const Memory *memory) {
  MemoLine *memo = memory_new_array(memory, MEMO_LINES, sizeof *memo);
  if (memo != NULL) memset(memo, 0, MEMO_LINES * sizeof *memo);
  return memo;
}

static inline void memo_free(const Memory *memory, MemoLine *memo) {
  if (memo != NULL) memory_free(memory, memo, MEMO_LINES * sizeof *memo);
}

/* 0 < size <= MEMO_BYTES; MEMO_READS bytes are read. */
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

static inline uint32_t memo_line(const MemoKey *key) {
  uint64_t first = key->words[0] ^ (key->words[2] << 31 | key->words[2] >> 33) * 0x9FB21C651E98DF25u;
  uint64_t last = key->words[1] ^ (key->words[3] << 17 | key->words[3] >> 47) * 0xD6E8FEB86659FD93u;
  return (uint32_t)(middle_hash(first, last) >> 40) & (MEMO_LINES - 1);
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

#endif
