#include "tokens/bpe_parts.h"

#include <stdbool.h>

#include "tokens/vocab_image.h"

typedef const unsigned char *Bytes;

enum {
  WORD_MIN = 3,              /* bytes between walls that are looked up */
  WORD_MAX = 8,
  WORDY = 8                  /* bytes of a piece; shorter ones have few merges to save, and no whole word to read */
};

static const BytePair none = {NUMBER_NONE, NUMBER_NONE};

/* Of bytes i and i + 1 of a piece. */
static inline BytePair meet(const Vocab *v, Bytes bytes, size_t size, size_t i) {
  return i + 1 < size ? vocab_byte_pair(v, bytes[i], bytes[i + 1]) : none;
}

/* Sets of the bytes of a block have the first one on top. */
static inline uint64_t set_byte(size_t i) { return (UINT64_C(1) << 63) >> i; }

/* ---- pairs of bytes ---- */

/* Bytes of a block that are one with the next, and that a wall stands behind. The last one looked at is lowest. */
typedef struct Sets {
  uint64_t pairs, walls;
} Sets;

/* Looks at byte i: is it one with the next one? `here` is of the two, `after` the border behind both. */
static inline void look(Parts *parts, Sets *sets, unsigned char byte, BytePair here, uint32_t after, size_t i) {
  uint32_t pair = (uint32_t)(here.merged < parts->borders[i]) & (uint32_t)(here.merged < after);
  parts->numbers[i] = byte ^ ((byte ^ here.merged) & (0 - pair));   /* a branch could not be foreseen */
  parts->borders[i + 1] = here.border;
  sets->pairs = sets->pairs * 2 + pair;
  sets->walls = sets->walls * 2 + (here.border >= PARTS_WALL);
}

/* All bytes of a block before i have been looked at. Pairs are disjoint: what follows the first byte of one begins no
   part. */
static void end_block(Parts *parts, Sets *sets, size_t i, size_t size) {
  size_t block = (i - 1) / PARTS_BLOCK, unused = (block + 1) * PARTS_BLOCK - i;
  uint64_t pairs = sets->pairs << unused;
  if (block == 0) parts->walls = sets->walls << unused;
  uint64_t carry = block > 0 ? parts->pair_at_end << 63 : 0;
  parts->starts[block] = ~(pairs >> 1 | carry);
  if (i == size) parts->starts[block] &= UINT64_MAX << unused;
  parts->pair_at_end = pairs & 1;
  *sets = (Sets){0, 0};
}

static void cut_pairs(Parts *parts, const Vocab *v, Bytes bytes, size_t size) {
  BytePair here = meet(v, bytes, size, 0);
  Sets sets = {0, 0};
  size_t i = 0;
  parts->borders[0] = NUMBER_NONE;
  while (i + 2 < size) {
    size_t stop = i + PARTS_BLOCK < size - 2 ? i + PARTS_BLOCK : size - 2;
    for (; i < stop; i++) {
      BytePair next = vocab_byte_pair(v, bytes[i + 1], bytes[i + 2]);
      look(parts, &sets, bytes[i], here, next.border, i);
      here = next;
    }
    if (i % PARTS_BLOCK == 0) end_block(parts, &sets, i, size);
  }
  if (size > 1) {
    look(parts, &sets, bytes[i], here, NUMBER_NONE, i);
    if (++i % PARTS_BLOCK == 0) end_block(parts, &sets, i, size);
  }
  look(parts, &sets, bytes[i], none, NUMBER_NONE, i);
  end_block(parts, &sets, size, size);
}

/* ---- larger ones ---- */

/* Makes `size` bytes at place i one part, if their token comes before all that is merged at its borders. */
static inline void join(Parts *parts, const Vocab *v, size_t i, size_t size, uint32_t number) {
  if (number >= parts->borders[i] || number >= parts->borders[i + size] || number >= v->merged_count) return;
  size_t block = (i + 1) / PARTS_BLOCK, place = (i + 1) % PARTS_BLOCK;
  uint64_t rest = ~(UINT64_MAX >> (size - 1));
  parts->numbers[i] = number;
  parts->starts[block] &= ~(rest >> place);
  if (place + size - 1 > PARTS_BLOCK) parts->starts[block + 1] &= ~(rest << (PARTS_BLOCK - place));
}

/* The key of `size` bytes at place i of a piece of at least 8; no byte outside the piece is read. */
static inline uint64_t key_within(Bytes bytes, size_t i, size_t size) {
  size_t from = i + size > 8 ? i + size - 8 : 0;
  return short_key_of(load_word((const char *)bytes + from) >> (i - from) * 8, size);
}

/* Asks for what stands between walls. */
static void ask_words(Parts *parts, const Vocab *v, Bytes bytes) {
  size_t start = 0, end = parts->size < PARTS_BLOCK ? parts->size : PARTS_BLOCK, next, size;
  uint64_t walls = parts->walls | set_byte(end - 1);
  for (; walls != 0; walls &= ~set_byte(next - 1)) {
    next = (size_t)__builtin_clzll(walls) + 1;
    size = next - start;
    if (size >= WORD_MIN && size <= WORD_MAX) {
      PartsWord *word = &parts->word[parts->words++];
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

static bool is_ascii(Bytes bytes, size_t size) {
  uint64_t all = 0;
  if (size < 8) {
    for (size_t i = 0; i < size; i++) all |= bytes[i];
  } else {
    for (size_t i = 0; i + 8 < size; i += 8) all |= load_word((const char *)bytes + i);
    all |= load_word((const char *)bytes + size - 8);
  }
  return (all & 0x8080808080808080u) == 0;
}

/* From left to right, a part at a time: borders within characters need not be known. */
static void cut_characters(Parts *parts, const Vocab *v, Bytes bytes, size_t size) {
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
  parts->count = count;
}

void parts_begin(Parts *parts, const Vocab *v, const char *bytes, size_t size) {
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

void parts_end(Parts *parts, const Vocab *v) {
  if (parts->count > 0) return;
  for (uint32_t i = 0; i < parts->words; i++) {
    const PartsWord *word = &parts->word[i];
    if (v->short_keys[word->slot] != word->key || short_key_unfit(word->key, word->size)) continue;
    join(parts, v, word->at, word->size, v->short_numbers[word->slot]);
  }
  uint32_t count = 0;
  for (size_t from = 0; from < parts->size; from += PARTS_BLOCK) {
    uint64_t starts = parts->starts[from / PARTS_BLOCK];
    for (size_t i; starts != 0; starts &= ~set_byte(i)) {
      i = (size_t)__builtin_clzll(starts);
      parts->numbers[count++] = parts->numbers[from + i];
    }
  }
  parts->count = count;
}
