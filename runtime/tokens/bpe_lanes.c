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

/* ---- parts ---- */

/* The token of the character of three bytes at `at`, if its bytes merge before
   either border does. */
static inline uint32_t whole_character(const Vocab *v, const unsigned char *at, const unsigned char *start,
                                       const unsigned char *end, uint32_t unit) {
  uint32_t number = v->roots[unit] & LINK_NODE;
  if (number >= v->token_count) return NUMBER_NONE;
  bool left = at == start || number < vocab_border(v, at[-1], at[0]);
  bool right = at + 3 == end || number < vocab_border(v, at[2], at[3]);
  return left && right ? number : NUMBER_NONE;
}

bool lanes_cut(const Vocab *v, const char *bytes, size_t size, LanesParts *parts) {
  const unsigned char *start = (const unsigned char *)bytes, *at = start, *end = start + size;
  uint32_t count = 0, unit;
  if (size > LANES_BYTES) return false;
  while (at < end && count < LANES_MAX) {
    uint32_t number = NUMBER_NONE;
    if (*at >= 0xE0 && unit_at(at, end, &unit) == 3) number = whole_character(v, at, start, end, unit);
    parts->numbers[count++] = number != NUMBER_NONE ? number : *at;
    at += number != NUMBER_NONE ? 3 : 1;
  }
  parts->count = count;
  return at == end;
}

INLINE void fill(LanesRow *row, const Vocab *v, const LanesParts *parts, uint32_t lanes) {
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
  for (uint32_t i = 0; i + 1 < count; i++) {
    uint32_t left = row->numbers[i], right = row->numbers[i + 1];
    bool bytes = (left | right) < 256;
    row->merges[i] = lane(bytes ? v->byte_pairs[left << 8 | right] : vocab_pair(v, left, right), i);
  }
  row->tokens = (uint8_t)count;
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

INLINE void answer(Question *questions, uint32_t count, const Vocab *v) {
  for (uint32_t i = 0; i < count; i++) {
    questions[i].slot = place_of(&v->pairs, questions[i].hash);
    __builtin_prefetch(&v->pair_slots[questions[i].slot]);
  }
  for (uint32_t i = 0; i < count; i++) {
    uint64_t slot = v->pair_slots[questions[i].slot];
    uint32_t merged = (uint32_t)(slot >> 2 * NUMBER_BITS) & NUMBER_NONE;
    bool same = (slot & PAIR_KEY) == questions[i].halves;
    *questions[i].merges = lane(same ? merged : NUMBER_NONE, questions[i].place);
  }
}

INLINE void merge_rows(LanesRow *rows, uint32_t count, const Vocab *v, uint32_t lanes) {
  Question questions[2 * LANES_ROWS];
  LanesRow *alive[LANES_ROWS];
  for (uint32_t i = 0; i < count; i++) alive[i] = &rows[i];
  while (count > 0) {
    uint32_t kept = 0, asked = 0;
    for (uint32_t i = 0; i < count; i++) {
      int32_t best = least(alive[i]->merges, lanes);
      if (best == LANE_STAYS) continue;
      alive[kept++] = alive[i];
      asked += merge(questions + asked, v, alive[i], best, lanes);
    }
    count = kept;
    answer(questions, asked, v);
  }
}

void lanes_fill(LanesRow *row, const Vocab *vocab, const LanesParts *parts, unsigned width) {
  if (width == 0) fill(row, vocab, parts, 16);
  else if (width == 1) fill(row, vocab, parts, 32);
  else fill(row, vocab, parts, 64);
}

void lanes_merge(LanesRow *rows, uint32_t count, const Vocab *vocab, unsigned width) {
  if (width == 0) merge_rows(rows, count, vocab, 16);
  else if (width == 1) merge_rows(rows, count, vocab, 32);
  else merge_rows(rows, count, vocab, 64);
}

void lanes_tokens(const LanesRow *row, uint32_t *numbers) {
  for (uint32_t i = 0, at = 0; i < row->tokens; i++, at = row->next[at]) numbers[i] = row->numbers[at];
}
