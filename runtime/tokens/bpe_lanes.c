#include "tokens/bpe_lanes.h"

#include <string.h>

#include "tokens/vocab_image.h"

/* For functions that are made once for each number of lanes. */
#define INLINE static inline __attribute__((always_inline))

#define LANE_STAYS INT32_MAX           /* merges with no next part */
#define NUMBER_END UINT32_MAX          /* of what no part is: has too many bits for the right half of a pair */
enum { PLACE_BITS = 6 };

static inline int32_t lane(uint32_t merged, uint32_t place) {
  return merged >= NUMBER_NONE ? LANE_STAYS : (int32_t)(merged << PLACE_BITS | place);
}

/* ---- turns ---- */

typedef struct Question {
  uint64_t halves, hash;
  int32_t *merges;                     /* where the answer goes */
  uint32_t place, slot;
} Question;

typedef int32_t Four __attribute__((vector_size(16)));

INLINE Four lesser(Four a, Four b) {
  Four less = a < b;
  return (a & less) | (b & ~less);
}

INLINE int32_t least(const int32_t *merges, uint32_t lanes) {
  Four best, some;
  memcpy(&best, merges, sizeof best);
  for (uint32_t i = 4; i < lanes; i += 4) {
    memcpy(&some, merges + i, sizeof some);
    best = lesser(best, some);
  }
  int32_t first = best[0] < best[1] ? best[0] : best[1], last = best[2] < best[3] ? best[2] : best[3];
  return first < last ? first : last;
}

/* Most new pairs are none, and known by their bit: such questions are written over by the next one. */
INLINE uint32_t ask(Question *question, const Vocab *v, LanesRow *row, uint32_t place, uint32_t left, uint32_t right) {
  uint64_t halves = pack_halves(left, right), hash = pair_hash(halves);
  *question = (Question){.halves = halves, .hash = hash, .merges = &row->merges[place], .place = place};
  return (v->pair_marks[mark_word(hash) & v->mark_mask] & mark_bit(hash)) != 0;
}

/* Makes the merge `best` and asks for the two pairs that are new. */
INLINE uint32_t merge(Question *questions, const Vocab *v, LanesRow *row, int32_t best, uint32_t lanes) {
  uint32_t at = (uint32_t)best & (lanes - 1), number = (uint32_t)best >> PLACE_BITS;
  uint32_t gone = row->next[at], after = row->next[gone], before = row->before[at], count;
  row->numbers[at] = number;
  row->next[at] = (uint8_t)after;
  row->before[after] = (uint8_t)at;
  row->merges[gone] = row->merges[at] = row->merges[before] = LANE_STAYS;
  row->tokens--;
  count = ask(questions, v, row, at, number, row->numbers[after]);
  return count + ask(questions + count, v, row, before, row->numbers[before], number);
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

/* Asks for the first pairs: until a row is merged, its lanes hold their slots. */
INLINE void fill(LanesRow *row, const Vocab *v, const Parts *parts, uint32_t lanes) {
  uint32_t count = parts->count;
  for (uint32_t i = 0; i < lanes; i++) {
    row->merges[i] = LANE_STAYS;
    row->next[i] = (uint8_t)(i + 1);
    row->before[i + 1] = (uint8_t)i;
  }
  row->before[0] = row->next[lanes] = (uint8_t)lanes;
  row->numbers[lanes] = NUMBER_END;
  for (uint32_t i = 0; i < count; i++) row->numbers[i] = parts->numbers[i];
  row->numbers[count] = NUMBER_END;
  row->tokens = (uint8_t)count;
  for (uint32_t i = 0; i + 1 < count; i++) {
    uint32_t slot = place_of(&v->pairs, pair_hash(pack_halves(parts->numbers[i], parts->numbers[i + 1])));
    __builtin_prefetch(&v->pair_slots[slot]);
    row->merges[i] = (int32_t)slot;
  }
}

INLINE void merge_rows(LanesRow *rows, uint32_t count, const Vocab *v, uint32_t lanes) {
  Question questions[2 * LANES_ROWS];
  LanesRow *alive[LANES_ROWS];
  int32_t best[LANES_ROWS];
  for (uint32_t i = 0; i < count; i++) {
    LanesRow *row = alive[i] = &rows[i];
    for (uint32_t k = 0; k + 1 < row->tokens; k++) {
      row->merges[k] = pair_in_slot(v, (uint32_t)row->merges[k], pack_halves(row->numbers[k], row->numbers[k + 1]), k);
    }
  }
  while (count > 0) {
    uint32_t kept = 0, asked = 0;
    for (uint32_t i = 0; i < count; i++) {   /* which go on could not be foreseen */
      alive[kept] = alive[i];
      best[kept] = least(alive[i]->merges, lanes);
      kept += best[kept] != LANE_STAYS;
    }
    count = kept;
    for (uint32_t i = 0; i < count; i++) asked += merge(questions + asked, v, alive[i], best[i], lanes);
    answer(questions, asked, v);
  }
}

void lanes_fill(LanesRow *row, const Vocab *vocab, const Parts *parts, unsigned width) {
  if (width == 0) fill(row, vocab, parts, 8);
  else if (width == 1) fill(row, vocab, parts, 16);
  else if (width == 2) fill(row, vocab, parts, 32);
  else fill(row, vocab, parts, 64);
}

void lanes_merge(LanesRow *rows, uint32_t count, const Vocab *vocab, unsigned width) {
  if (width == 0) merge_rows(rows, count, vocab, 8);
  else if (width == 1) merge_rows(rows, count, vocab, 16);
  else if (width == 2) merge_rows(rows, count, vocab, 32);
  else merge_rows(rows, count, vocab, 64);
}

void lanes_tokens(const LanesRow *row, uint32_t *numbers) {
  for (uint32_t i = 0, at = 0; i < row->tokens; i++, at = row->next[at]) numbers[i] = row->numbers[at];
}
