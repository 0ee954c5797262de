/*
** Pretoken window: the next 64 bytes of a text as sets of characters.
**
**     text     I  f     t  h  e     é     !        each set is a number; bit n is set
**     bit n    0  1  2  3  4  5  6  7     8        if character n is a member
**
** Comparisons of 32 bytes give the sets by byte. In ASCII that is by character; else the
** other characters are looked up one by one, and the sets are squeezed, so that each
** character has one bit for all its bytes. Then shifts work for any text.
**
** Everything here is inlined into functions that are WIDE (wide.h).
*/
#ifndef EBB_TOKENS_PRETOKEN_WINDOW_H
#define EBB_TOKENS_PRETOKEN_WINDOW_H

#include <immintrin.h>
#include <string.h>

#include "tokens/pretoken/class.h"
#include "tokens/pretoken/pretoken.h"
#include "tokens/pretoken/wide.h"

#define WINDOW_BYTES 64
#define WINDOW_READS 72   /* bytes that can be read from its start */

typedef uint64_t Set;

typedef struct Window {
  const char *bytes;      /* WINDOW_READS bytes of the text, or a copy of its end and zeros */
  unsigned count;         /* characters */
  bool squeezed;          /* a character has several bytes */
  Set firsts;             /* of bytes: the first bytes of characters */
  Set upper, lower, letter, mark, number, space, newline, other;   /* the classes, disjoint */
  Set blank, quote, slash;   /* ' ' of `space`; apostrophe and '/' of `other` */
} Window;

WIDE_INLINE unsigned set_first(Set set) {
  return (unsigned)_tzcnt_u64(set);
}

/* The greatest member of a set that is not empty. */
WIDE_INLINE unsigned set_last(Set set) {
  return 63 - (unsigned)__builtin_clzll(set);
}

/* The numbers below n. n <= 64. */
WIDE_INLINE Set set_below(unsigned n) {
  return _bzhi_u64(~(Set)0, n);
}

/* The members of `set` that follow a seed without a gap, seeds included. No two
   seeds in one run of the set. Adding a seed carries to the end of its run. */
WIDE_INLINE Set set_flood(Set set, Set seeds) {
  return set & ~(set + seeds);
}

typedef struct Bytes { __m256i low, high; } Bytes;

WIDE_INLINE Set bits_of(__m256i low, __m256i high) {
  return (Set)(uint32_t)_mm256_movemask_epi8(high) << 32 | (uint32_t)_mm256_movemask_epi8(low);
}

WIDE_INLINE Set bytes_equal(Bytes bytes, char value) {
  __m256i all = _mm256_set1_epi8(value);
  return bits_of(_mm256_cmpeq_epi8(bytes.low, all), _mm256_cmpeq_epi8(bytes.high, all));
}

/* The bytes from `first` to `last`. */
WIDE_INLINE Set bytes_within(Bytes bytes, char first, char last) {
  __m256i base = _mm256_set1_epi8(first), most = _mm256_set1_epi8((char)(last - first));
  __m256i low = _mm256_sub_epi8(bytes.low, base), high = _mm256_sub_epi8(bytes.high, base);
  low = _mm256_cmpeq_epi8(_mm256_min_epu8(low, most), low);
  high = _mm256_cmpeq_epi8(_mm256_min_epu8(high, most), high);
  return bits_of(low, high);
}

/* Adds the other characters, whose bytes are `beyond` ASCII, and squeezes the sets. The window
   is at the text from `at` to `end`. */
WIDE_INLINE void window_widen(Window *window, Set beyond, const char *at, const char *end) {
  Set bit0 = 0, bit1 = 0, bit2 = 0;   /* of the class */
  for (Set left = beyond; left != 0;) {
    unsigned i = set_first(left);
    size_t size;
    Set class = (Set)class_at(at + i, end, &size);
    window->firsts |= (Set)1 << i;
    bit0 |= (class & 1) << i;
    bit1 |= (class >> 1 & 1) << i;
    bit2 |= (class >> 2) << i;
    left &= ~(set_below((unsigned)size) << i);
  }
  Set firsts = window->firsts;
  window->upper = _pext_u64(window->upper | (bit0 & ~bit1 & ~bit2), firsts);
  window->lower = _pext_u64(window->lower | (bit1 & ~bit0 & ~bit2), firsts);
  window->letter = _pext_u64(bit0 & bit1 & ~bit2, firsts);
  window->mark = _pext_u64(bit2 & ~bit0 & ~bit1, firsts);
  window->number = _pext_u64(window->number | (bit0 & bit2 & ~bit1), firsts);
  window->space = _pext_u64(window->space | (bit1 & bit2 & ~bit0), firsts);
  window->newline = _pext_u64(window->newline, firsts);
  window->blank = _pext_u64(window->blank, firsts);
  window->quote = _pext_u64(window->quote, firsts);
  window->slash = _pext_u64(window->slash, firsts);
  window->count = (unsigned)_mm_popcnt_u64(firsts);
  window->squeezed = true;
}

/* The window at `at`; of a copy in `room` if the text ends within WINDOW_READS bytes. at < end. */
WIDE_INLINE Window window_read(const char *at, const char *end, char room[WINDOW_READS]) {
  Window window = {.bytes = at, .count = WINDOW_BYTES};
  size_t left = (size_t)(end - at);
  if (left < WINDOW_READS) {
    memset(room, 0, WINDOW_READS);
    memcpy(room, at, left);
    window.bytes = room;
    if (left < WINDOW_BYTES) window.count = (unsigned)left;
  }
  const __m256i *halves = (const __m256i *)window.bytes;
  Bytes bytes = {_mm256_loadu_si256(halves), _mm256_loadu_si256(halves + 1)};
  Set all = set_below(window.count), beyond = bits_of(bytes.low, bytes.high) & all;
  window.firsts = all & ~beyond;
  window.upper = bytes_within(bytes, 'A', 'Z');
  window.lower = bytes_within(bytes, 'a', 'z');
  window.number = bytes_within(bytes, '0', '9');
  window.newline = bytes_equal(bytes, '\n') | bytes_equal(bytes, '\r');
  window.blank = bytes_equal(bytes, ' ');
  window.space = (bytes_within(bytes, '\t', '\r') & ~window.newline) | window.blank;
  window.quote = bytes_equal(bytes, '\'');
  window.slash = bytes_equal(bytes, '/');
  if (beyond != 0) window_widen(&window, beyond, at, end);
  window.other = set_below(window.count) & ~(window.upper | window.lower | window.letter | window.mark | window.number |
                                             window.space | window.newline);
  return window;
}

/* The first bytes of the characters of the set. Spreading is slow on some processors, so it is
   done only if necessary. */
WIDE_INLINE Set window_spread(const Window *window, Set set) {
  return window->squeezed ? _pdep_u64(set, window->firsts) : set;
}

#endif
