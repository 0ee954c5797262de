#include "tokens/merge/premerge.h"

#include <assert.h>
#include <stdbool.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

#include "tokens/vocab/vocab_image.h"

typedef const unsigned char *Bytes;

enum {
  WORD_MIN = 3,              /* bytes of words to look up */
  WORD_MAX = 8,
  WORDY = 8                  /* bytes of the shortest pretoken with look-ups, which read 8 bytes */
};

static const BytePair none = {NUMBER_NONE, NUMBER_NONE};

/* The pair of bytes i and i + 1 of a pretoken; none at its end. */
static inline BytePair meet(const Vocab *v, Bytes bytes, size_t size, size_t i) {
  return i + 1 < size ? vocab_byte_pair(v, bytes[i], bytes[i + 1]) : none;
}

/* ---- pairs of bytes ---- */

typedef int32_t Step __attribute__((vector_size(4 * PREMERGE_STEP)));

static inline Step load_step(const uint32_t *at) {
  Step step;
  memcpy(&step, at, sizeof step);
  return step;
}

/* A bit for each lane of a comparison. */
static inline uint64_t step_bits(Step mask) {
#if defined(__SSE2__) && !defined(EBB_PORTABLE)   /* the tests build with that too */
  return (uint64_t)_mm_movemask_ps((__m128)mask);
#else
  return (mask[0] & 1) | (mask[1] & 2) | (mask[2] & 4) | (mask[3] & 8);
#endif
}

static inline void read_pairs(Premerge *parts, const Vocab *v, Bytes bytes, size_t size) {
  parts->borders[0] = NUMBER_NONE;
  for (size_t i = 0; i + 1 < size; i++) {
    BytePair pair = vocab_byte_pair(v, bytes[i], bytes[i + 1]);
    parts->numbers[i] = bytes[i];
    parts->merged[i] = pair.merged;
    parts->borders[i + 1] = pair.border;
  }
  parts->numbers[size - 1] = bytes[size - 1];
  for (size_t i = 0; i < PREMERGE_STEP; i++) parts->merged[size - 1 + i] = NUMBER_NONE;
  for (size_t i = 0; i <= PREMERGE_STEP; i++) parts->borders[size + i] = NUMBER_NONE;
}

/* Two bytes are one part if they merge before any merge across their borders. Such pairs are disjoint: the second byte
   starts no part. */
static void cut_pairs(Premerge *parts, const Vocab *v, Bytes bytes, size_t size) {
  const Step barrier = {PREMERGE_BARRIER - 1, PREMERGE_BARRIER - 1, PREMERGE_BARRIER - 1, PREMERGE_BARRIER - 1};
  uint64_t pairs[PREMERGE_BYTES / PREMERGE_BLOCK] = {0, 0}, barriers[PREMERGE_BYTES / PREMERGE_BLOCK] = {0, 0};
  read_pairs(parts, v, bytes, size);
  for (size_t i = 0; i < size; i += PREMERGE_STEP) {
    Step merged = load_step(parts->merged + i), numbers = load_step(parts->numbers + i);
    Step before = load_step(parts->borders + i), between = load_step(parts->borders + i + 1);
    Step pair = (merged < before) & (merged < load_step(parts->borders + i + 2));
    numbers ^= (numbers ^ merged) & pair;
    memcpy(parts->numbers + i, &numbers, sizeof numbers);
    pairs[i / PREMERGE_BLOCK] |= step_bits(pair) << i % PREMERGE_BLOCK;
    barriers[i / PREMERGE_BLOCK] |= step_bits(between > barrier) << i % PREMERGE_BLOCK;
  }
  parts->barriers = barriers[0];
  parts->starts[0] = ~(pairs[0] << 1);
  parts->starts[1] = ~(pairs[1] << 1 | pairs[0] >> (PREMERGE_BLOCK - 1));
  if (size % PREMERGE_BLOCK > 0) parts->starts[size / PREMERGE_BLOCK] &= (UINT64_C(1) << size % PREMERGE_BLOCK) - 1;
}

/* ---- words ---- */

/* Makes `size` bytes at place i of the first block one part if their token precedes all merges across its borders. */
static inline void join(Premerge *parts, const Vocab *v, size_t i, size_t size, uint32_t number) {
  if (number >= parts->borders[i] || number >= parts->borders[i + size] || number >= v->merged_count) return;
  parts->numbers[i] = number;
  parts->starts[0] &= ~(((UINT64_C(1) << (size - 1)) - 1) << (i + 1));
}

/* The key of `size` bytes at place i of a pretoken of at least 8; no byte outside the pretoken is read. */
static inline uint64_t key_within(Bytes bytes, size_t i, size_t size) {
  size_t from = i + size > 8 ? i + size - 8 : 0;
  return short_key_of(load_word((const char *)bytes + from) >> (i - from) * 8, size);
}

/* Prefetches the look-ups of the words between barriers. */
static void ask_words(Premerge *parts, const Vocab *v, Bytes bytes) {
  size_t start = 0, end = parts->size < PREMERGE_BLOCK ? parts->size : PREMERGE_BLOCK, next, size;
  uint64_t last = UINT64_C(1) << (end - 1), barriers = (parts->barriers & (last - 1)) | last;
  for (; barriers != 0; barriers &= barriers - 1) {
    next = (size_t)__builtin_ctzll(barriers) + 1;
    size = next - start;
    if (size >= WORD_MIN && size <= WORD_MAX) {
      assert(parts->words < PREMERGE_WORDS);
      PremergeWord *word = &parts->word[parts->words++];
      word->key = key_within(bytes, start, size);
      word->slot = vocab_short_slot(v, word->key);
      word->at = (uint8_t)start;
      word->size = (uint8_t)size;
      __builtin_prefetch(&v->short_keys[word->slot]);
      __builtin_prefetch(&v->short_numbers[word->slot]);
    }
    start = next;
  }
}

/* ---- characters of three bytes ---- */

static inline uint64_t load_half(Bytes at) {
  uint32_t half;
  memcpy(&half, at, sizeof half);
  return half;
}

static inline bool is_ascii(Bytes bytes, size_t size) {
  uint64_t all = 0;
  if (size < 4) {
    for (size_t i = 0; i < size; i++) all |= bytes[i];
  } else if (size < 8) {
    all = load_half(bytes) | load_half(bytes + size - 4);
  } else {
    for (size_t i = 0; i + 8 < size; i += 8) all |= load_word((const char *)bytes + i);
    all |= load_word((const char *)bytes + size - 8);
  }
  return (all & 0x8080808080808080u) == 0;
}

/* Cuts from left to right, one part at a time, without the borders inside characters. */
static void cut_characters(Premerge *parts, const Vocab *v, Bytes bytes, size_t size) {
  uint32_t before = NUMBER_NONE, count = 0;
  for (size_t i = 0; i < size;) {
    uint32_t unit;
    if (unit_at(bytes + i, bytes + size, &unit) == 3) {
      uint32_t number = v->roots[unit] & LINK_NODE, after = meet(v, bytes, size, i + 2).border;
      if (number < before && number < after && number < v->merged_count) {
        parts->numbers[count++] = number;
        before = after;
        i += 3;
        continue;
      }
    }
    BytePair here = meet(v, bytes, size, i);
    uint32_t after = meet(v, bytes, size, i + 1).border;
    bool pair = here.merged < before && here.merged < after;
    parts->numbers[count++] = pair ? here.merged : bytes[i];
    before = pair ? after : here.border;
    i += pair ? 2 : 1;
  }
  assert(count > 0 && count <= size);
  parts->count = count;
}

void premerge_begin(Premerge *parts, const Vocab *v, const char *bytes, size_t size) {
  assert(size > 0 && size <= PREMERGE_BYTES);
  parts->size = size;
  parts->words = 0;
  parts->count = 0;
  if (is_ascii((Bytes)bytes, size)) {
    cut_pairs(parts, v, (Bytes)bytes, size);
    if (size >= WORDY) ask_words(parts, v, (Bytes)bytes);
  } else {
    cut_characters(parts, v, (Bytes)bytes, size);
  }
}

void premerge_end(Premerge *parts, const Vocab *v) {
  if (parts->count > 0) return;
  for (uint32_t i = 0; i < parts->words; i++) {
    const PremergeWord *word = &parts->word[i];
    if (v->short_keys[word->slot] != word->key || short_key_unfit(word->key, word->size)) continue;
    join(parts, v, word->at, word->size, v->short_numbers[word->slot]);
  }
  uint32_t count = 0;
  for (size_t from = 0; from < parts->size; from += PREMERGE_BLOCK) {
    for (uint64_t starts = parts->starts[from / PREMERGE_BLOCK]; starts != 0; starts &= starts - 1) {
      parts->numbers[count++] = parts->numbers[from + (size_t)__builtin_ctzll(starts)];
    }
  }
  assert(count > 0 && count <= parts->size);
  parts->count = count;
}
