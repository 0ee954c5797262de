/*
** Bit sets: sets of small numbers, one bit each in an array of 64-bit words.
** Bit i is bit i % 64 of word i / 64. A set for numbers below `count` has
** bitset_words(count) words, at least one.
*/
#ifndef EBB_BASE_BITSET_H
#define EBB_BASE_BITSET_H

#include <stdbool.h>
#include <string.h>

#include "base/memory.h"

static inline size_t bitset_words(size_t count) { return count / 64 + 1; }

/* An empty set for numbers below `count`; NULL if there is no memory. */
static inline uint64_t *bitset_new(const Memory *memory, size_t count) {
  uint64_t *bits = memory_new_array(memory, bitset_words(count), sizeof *bits);
  if (bits != NULL) memset(bits, 0, bitset_words(count) * sizeof *bits);
  return bits;
}

/* `count` is what the set was made with; NULL is allowed. */
static inline void bitset_free(const Memory *memory, uint64_t *bits, size_t count) {
  memory_free(memory, bits, bitset_words(count) * sizeof *bits);
}

static inline bool bitset_has(const uint64_t *bits, size_t i) { return bits[i / 64] >> (i % 64) & 1; }
static inline void bitset_add(uint64_t *bits, size_t i) { bits[i / 64] |= UINT64_C(1) << (i % 64); }
static inline void bitset_remove(uint64_t *bits, size_t i) { bits[i / 64] &= ~(UINT64_C(1) << (i % 64)); }

/* The first number from `from` on that is (`member`) or is not in the set, or `count`. */
static inline uint32_t bitset_next(const uint64_t *bits, uint32_t from, uint32_t count, bool member) {
  uint64_t mask = UINT64_MAX << from % 64;
  for (uint64_t start = from - from % 64; start < count; start += 64, mask = UINT64_MAX) {
    uint64_t word = (member ? bits[start / 64] : ~bits[start / 64]) & mask;
    if (word == 0) continue;
    uint64_t position = start + (uint64_t)__builtin_ctzll(word);
    return position < count ? (uint32_t)position : count;
  }
  return count;
}

#endif
