#include "tokens/merge/merge_lockstep.h"

#include <assert.h>
#include <string.h>

#include "tokens/vocab/vocab_image.h"
#include "tokens/pretoken/wide.h"

/* For functions that are compiled for each number of lanes. */
#define INLINE static inline __attribute__((always_inline))

#define LANE_STAYS INT32_MAX           /* a lane without a merge */
#define NUMBER_END UINT32_MAX          /* a sentinel: too many bits for the right half of a pair */
enum { PLACE_BITS = 7 };

static inline int32_t lane(uint32_t merged, uint32_t place) {
  return merged >= NUMBER_NONE ? LANE_STAYS : (int32_t)(merged << PLACE_BITS | place);
}

/* ---- rows ---- */

INLINE int32_t *merges_of(uint32_t *row) { return (int32_t *)row; }
INLINE uint32_t *numbers_of(uint32_t *row, uint32_t lanes) { return row + lanes + 1; }
INLINE uint8_t *next_of(uint32_t *row, uint32_t lanes) { return (uint8_t *)(row + 2 * (lanes + 1)); }
INLINE uint8_t *before_of(uint32_t *row, uint32_t lanes) { return next_of(row, lanes) + lanes + 1; }
INLINE uint8_t *count_of(uint32_t *row, uint32_t lanes) { return before_of(row, lanes) + lanes + 1; }

/* ---- turns ---- */

typedef struct Question {
  uint64_t halves, hash;
  int32_t *merges;                     /* the lane for the answer */
  uint32_t place, slot;
} Question;

typedef int32_t Four __attribute__((vector_size(16)));
typedef int32_t Eight __attribute__((vector_size(32)));

/* The minimum of the lanes: the next merge and its place, or LANE_STAYS. */
INLINE int32_t minimum(const int32_t *merges, uint32_t lanes) {
  Eight best, some;
  memcpy(&best, merges, sizeof best);
  for (uint32_t i = 8; i < lanes; i += 8) {
    memcpy(&some, merges + i, sizeof some);
    Eight less = best < some;
    best = (best & less) | (some & ~less);
  }
  Four half[2];
  memcpy(half, &best, sizeof half);
  Four less = half[0] < half[1], four = (half[0] & less) | (half[1] & ~less);
  int32_t first = four[0] < four[1] ? four[0] : four[1], last = four[2] < four[3] ? four[2] : four[3];
  return first < last ? first : last;
}

/* Writes a question. Returns 0, so that the next one overwrites it, if the pair's bit tells that it does not merge, as
   most do not; else 1. */
INLINE uint32_t ask(Question *question, const Vocab *v, int32_t *merges, uint32_t place, uint32_t left,
                    uint32_t right) {
  uint64_t halves = pack_halves(left, right), hash = pair_hash(halves);
  *question = (Question){.halves = halves, .hash = hash, .merges = &merges[place], .place = place};
  return (v->pair_marks[mark_word(hash) & v->mark_mask] & mark_bit(hash)) != 0;
}

/* Makes the merge `best` and writes questions for the two new pairs. */
INLINE uint32_t merge(Question *questions, const Vocab *v, uint32_t *row, int32_t best, uint32_t lanes) {
  int32_t *merges = merges_of(row);
  uint32_t *numbers = numbers_of(row, lanes);
  uint8_t *nexts = next_of(row, lanes), *befores = before_of(row, lanes);
  uint32_t at = (uint32_t)best & (lanes - 1), number = (uint32_t)best >> PLACE_BITS;
  uint32_t right = nexts[at], after = nexts[right], before = befores[at], count;
  numbers[at] = number;
  nexts[at] = (uint8_t)after;
  befores[after] = (uint8_t)at;
  merges[right] = merges[at] = merges[before] = LANE_STAYS;
  --*count_of(row, lanes);
  count = ask(questions, v, merges, at, number, numbers[after]);
  return count + ask(questions + count, v, merges, before, numbers[before], number);
}

INLINE int32_t pair_in_slot(const Vocab *v, uint32_t slot, uint64_t halves, uint32_t place) {
  uint64_t pair = v->pair_slots[slot];
  uint32_t merged = (pair & PAIR_KEY) == halves ? (uint32_t)(pair >> 2 * NUMBER_BITS) & NUMBER_NONE : NUMBER_NONE;
  return lane(merged, place);
}

INLINE void answer(Question *questions, uint32_t count, const Vocab *v) {
  for (uint32_t i = 0; i < count; i++) {
    questions[i].slot = place_of(&v->pairs, questions[i].hash);
    __builtin_prefetch(&v->pair_slots[questions[i].slot]);
  }
  for (uint32_t i = 0; i < count; i++) {
    *questions[i].merges = pair_in_slot(v, questions[i].slot, questions[i].halves, questions[i].place);
  }
}

/* Fills a row and prefetches the first pairs; until answer_first its lanes hold their slots. */
INLINE void fill(uint32_t *row, const Vocab *v, const Premerge *parts, uint32_t lanes) {
  int32_t *merges = merges_of(row);
  uint32_t *numbers = numbers_of(row, lanes), count = parts->count;
  uint8_t *nexts = next_of(row, lanes), *befores = before_of(row, lanes);
  for (uint32_t i = 0; i < lanes; i++) {
    merges[i] = LANE_STAYS;
    nexts[i] = (uint8_t)(i + 1);
    befores[i + 1] = (uint8_t)i;
  }
  befores[0] = nexts[lanes] = (uint8_t)lanes;
  numbers[lanes] = NUMBER_END;
  for (uint32_t i = 0; i < count; i++) numbers[i] = parts->numbers[i];
  numbers[count] = NUMBER_END;
  *count_of(row, lanes) = (uint8_t)count;
  for (uint32_t i = 0; i + 1 < count; i++) {
    uint32_t slot = place_of(&v->pairs, pair_hash(pack_halves(parts->numbers[i], parts->numbers[i + 1])));
    __builtin_prefetch(&v->pair_slots[slot]);
    merges[i] = (int32_t)slot;
  }
}

INLINE void answer_first(uint32_t *row, const Vocab *v, uint32_t lanes) {
  int32_t *merges = merges_of(row);
  const uint32_t *numbers = numbers_of(row, lanes);
  uint32_t count = *count_of(row, lanes);
  for (uint32_t i = 0; i + 1 < count; i++) {
    merges[i] = pair_in_slot(v, (uint32_t)merges[i], pack_halves(numbers[i], numbers[i + 1]), i);
  }
}

/* Merges rows until no pair in any of them merges. Each turn takes the rows without merges out of `active`. */
INLINE void merge_rows(uint32_t *rows, uint32_t count, const Vocab *v, uint32_t lanes) {
  Question questions[2 * LOCKSTEP_ROWS];
  uint32_t *active[LOCKSTEP_ROWS];
  int32_t best[LOCKSTEP_ROWS];
  for (uint32_t i = 0; i < count; i++) {
    active[i] = rows + i * LOCKSTEP_WORDS(lanes);
    answer_first(active[i], v, lanes);
  }
  while (count > 0) {
    uint32_t unfinished = 0, question_count = 0;
    for (uint32_t i = 0; i < count; i++) {   /* without branches: the end of a row cannot be predicted */
      active[unfinished] = active[i];
      best[unfinished] = minimum(merges_of(active[i]), lanes);
      unfinished += best[unfinished] != LANE_STAYS;
    }
    count = unfinished;
    for (uint32_t i = 0; i < count; i++) {
      question_count += merge(questions + question_count, v, active[i], best[i], lanes);
    }
    answer(questions, question_count, v);
  }
}

/* ---- by width ---- */

void lockstep_fill(uint32_t *row, const Vocab *vocab, const Premerge *parts, unsigned width) {
  assert(parts->count > 0 && parts->count <= 8u << width && width < LOCKSTEP_WIDTHS);
  if (width == 0) fill(row, vocab, parts, 8);
  else if (width == 1) fill(row, vocab, parts, 16);
  else if (width == 2) fill(row, vocab, parts, 32);
  else if (width == 3) fill(row, vocab, parts, 64);
  else fill(row, vocab, parts, 128);
}

INLINE void merge_any(uint32_t *rows, uint32_t count, const Vocab *vocab, unsigned width) {
  if (width == 0) merge_rows(rows, count, vocab, 8);
  else if (width == 1) merge_rows(rows, count, vocab, 16);
  else if (width == 2) merge_rows(rows, count, vocab, 32);
  else if (width == 3) merge_rows(rows, count, vocab, 64);
  else merge_rows(rows, count, vocab, 128);
}

#ifdef WIDE_CODE
WIDE static void merge_wide(uint32_t *rows, uint32_t count, const Vocab *vocab, unsigned width) {
  merge_any(rows, count, vocab, width);
}
#endif

void lockstep_merge(uint32_t *rows, uint32_t count, const Vocab *vocab, unsigned width) {
  assert(count <= LOCKSTEP_ROWS && width < LOCKSTEP_WIDTHS);
#ifdef WIDE_CODE
  if (wide_works()) {
    merge_wide(rows, count, vocab, width);
    return;
  }
#endif
  merge_any(rows, count, vocab, width);
}

uint32_t lockstep_count(const uint32_t *row, unsigned width) {
  assert(width < LOCKSTEP_WIDTHS);
  return *count_of((uint32_t *)(uintptr_t)row, 8u << width);
}

void lockstep_tokens(const uint32_t *row, unsigned width, uint32_t *numbers) {
  uint32_t lanes = 8u << width, *merged = (uint32_t *)(uintptr_t)row, count = lockstep_count(row, width);
  const uint8_t *nexts = next_of(merged, lanes);
  assert(count > 0 && count <= lanes);
  for (uint32_t i = 0, at = 0; i < count; i++, at = nexts[at]) numbers[i] = numbers_of(merged, lanes)[at];
}
