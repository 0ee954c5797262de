#include "tokens/estimate.h"

#include <assert.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/names.h"

static const char *const NAMES[] = {"bytes4", "cjk", "utf16_2_5", "claude", "claude_4_7"};

const char *estimator_name(Estimator estimator) { return NAMES[estimator]; }

bool estimator_parse(const char *name, Estimator *estimator) {
  size_t index = NAMES_FIND(NAMES, text_of(name));
  if (index == COUNT_OF(NAMES)) return false;
  *estimator = (Estimator)index;
  return true;
}

Estimate estimate_start(Estimator estimator) { return (Estimate){.estimator = estimator}; }

/* ---- dense text ---- */

/* Bytes of a text that are read at once. A stretch of few spaces and nearly only letters and digits may be dense:
   base64, hex, random identifiers, whose letters vocabularies have no words for. Nearly no other text is looked at
   twice. */
#define STRETCH ((size_t)1024)

enum { WINDOW = 32, OTHERS_MAX = 6, CHANGES_MIN = 14, CAPITALS_MIN = 10 };

/* The kinds of characters whose changes tell dense text. */
enum { OTHER, LOWER, UPPER, DIGIT };

static unsigned kind_of(unsigned char byte) {
  if (byte >= 'a' && byte <= 'z') return LOWER;
  if (byte >= 'A' && byte <= 'Z') return UPPER;
  return byte >= '0' && byte <= '9' ? DIGIT : OTHER;
}

/* The letters of a window if it is dense: nearly all letters and digits, which take turns. A change between the two
   tells more than one of case: names in CamelCase have those, though not as many capital letters.
   \u4f60 in a string as it is spelled is no dense text. */
static unsigned dense_letters(const char *at) {
  unsigned counts[4] = {0}, changes = 0, cases = 0, before = OTHER;
  for (size_t i = 0; i < WINDOW; i++) {
    unsigned kind = kind_of((unsigned char)at[i]);
    bool differs = kind != before && kind != OTHER && before != OTHER;
    counts[kind]++;
    if (differs && (kind == DIGIT || before == DIGIT)) changes++;
    else if (differs) cases++;
    if (at[i] == '\\' && i + 1 < WINDOW && at[i + 1] == 'u') return 0;
    before = kind;
  }
  bool takes_turns = 2 * changes + cases >= CHANGES_MIN && (changes >= 2 || counts[UPPER] >= CAPITALS_MIN);
  return counts[OTHER] <= OTHERS_MAX && takes_turns ? counts[LOWER] + counts[UPPER] : 0;
}

/* Counts the letters in the dense windows of a stretch. A few windows tell first whether it has any: compact JSON and
   code have none. */
static uint64_t count_dense(const char *at, size_t size) {
  enum { SAMPLES = 4 };
  uint64_t letters = 0;
  size_t windows = size / WINDOW, step = windows > SAMPLES ? windows / SAMPLES : 1;
  for (size_t i = 0; i < windows && letters == 0; i += step) letters = dense_letters(at + i * WINDOW);
  if (letters == 0) return 0;
  letters = 0;
  for (size_t i = 0; i < windows; i++) letters += dense_letters(at + i * WINDOW);
  return letters;
}

/* ---- kinds of characters ---- */

/* Adds bytes one by one; with a `weight` of -1 subtracts bytes that were added before. */
static void add_bytes(Estimate *estimate, const char *bytes, size_t size, int weight) {
  assert(weight == 1 || (weight == -1 && estimate->bytes >= size));
  uint64_t once = (uint64_t)(int64_t)weight;
  for (size_t i = 0; i < size; i++) {
    unsigned char byte = (unsigned char)bytes[i], lower = byte | 0x20;
    estimate->bytes += once;
    if (lower >= 'a' && lower <= 'z') estimate->letters += once;
    else if (byte == ' ') estimate->spaces += once;
    else if (byte >= '0' && byte <= '9') estimate->digits += once;
    else if (byte >= 0xF0) estimate->four += once;
    else if (byte >= 0xE0) estimate->three += once;
    else if (byte >= 0xC0) estimate->two += once;
  }
}

#ifdef __SSE2__
/* Counters of 16 columns, one byte each: a true comparison is -1 and is subtracted. They are
   added up before one can overflow. */
enum { LETTERS, SPACES, DIGITS, TWO, THREE, FOUR, KINDS };
_Static_assert(STRETCH / 16 <= 255, "a counter of one byte");

static __m128i is_among(__m128i bytes, char first, char last) {
  __m128i distance = _mm_sub_epi8(bytes, _mm_set1_epi8(first));
  return _mm_cmpeq_epi8(_mm_min_epu8(distance, _mm_set1_epi8((char)(last - first))), distance);
}

static __m128i starts_with(__m128i bytes, unsigned char mask, unsigned char bits) {
  return _mm_cmpeq_epi8(_mm_and_si128(bytes, _mm_set1_epi8((char)mask)), _mm_set1_epi8((char)bits));
}

/* Adds the 16 bytes to the counters of their kinds: each counter has 16 lanes of one byte, and a comparison gives -1 in
   the lanes where it holds. Characters of several bytes are counted at their first byte. */
static void count_block(__m128i counters[KINDS], __m128i bytes) {
  __m128i lower = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
  counters[LETTERS] = _mm_sub_epi8(counters[LETTERS], is_among(lower, 'a', 'z'));
  counters[SPACES] = _mm_sub_epi8(counters[SPACES], _mm_cmpeq_epi8(bytes, _mm_set1_epi8(' ')));
  counters[DIGITS] = _mm_sub_epi8(counters[DIGITS], is_among(bytes, '0', '9'));
  if (_mm_movemask_epi8(bytes) == 0) return;
  counters[TWO] = _mm_sub_epi8(counters[TWO], starts_with(bytes, 0xE0, 0xC0));
  counters[THREE] = _mm_sub_epi8(counters[THREE], starts_with(bytes, 0xF0, 0xE0));
  counters[FOUR] = _mm_sub_epi8(counters[FOUR], starts_with(bytes, 0xF0, 0xF0));
}

static uint64_t column_sum(__m128i counter) {
  __m128i halves = _mm_sad_epu8(counter, _mm_setzero_si128());
  return (uint64_t)_mm_cvtsi128_si64(halves) + (uint64_t)_mm_cvtsi128_si64(_mm_srli_si128(halves, 8));
}

/* Adds at most STRETCH bytes. The zeros that fill the last block belong to no counter. */
static void add_stretch(Estimate *estimate, const char *at, size_t size) {
  assert(size <= STRETCH);
  estimate->bytes += size;
  __m128i counters[KINDS] = {0};
  for (; size >= 16; at += 16, size -= 16) count_block(counters, _mm_loadu_si128((const __m128i *)(const void *)at));
  if (size > 0) {
    char rest[16] = {0};
    memcpy(rest, at, size);
    count_block(counters, _mm_loadu_si128((const __m128i *)(const void *)rest));
  }
  estimate->letters += column_sum(counters[LETTERS]);
  estimate->spaces += column_sum(counters[SPACES]);
  estimate->digits += column_sum(counters[DIGITS]);
  estimate->two += column_sum(counters[TWO]);
  estimate->three += column_sum(counters[THREE]);
  estimate->four += column_sum(counters[FOUR]);
}

#else
static void add_stretch(Estimate *estimate, const char *at, size_t size) { add_bytes(estimate, at, size, 1); }
#endif

static void add_run(Estimate *estimate, const char *bytes, size_t size) {
  while (size > 0) {
    size_t stretch = size < STRETCH ? size : STRETCH;
    uint64_t spaces = estimate->spaces, signs = estimate->letters + estimate->digits;
    add_stretch(estimate, bytes, stretch);
    spaces = estimate->spaces - spaces;
    signs = estimate->letters + estimate->digits - signs;
    if (spaces * 8 < stretch && signs * 5 >= stretch * 3) estimate->dense += count_dense(bytes, stretch);
    bytes += stretch;
    size -= stretch;
  }
}

/* Subtracts the escapes as they are spelled, and adds their characters: mostly a line break or
   a quote, which belong to no counter. */
static void undo_escapes(Estimate *estimate, Text text) {
  const char *end = text.bytes + text.size;
  for (const char *at = text.bytes; (at = memchr(at, '\\', (size_t)(end - at))) != NULL;) {
    if (at[1] != 'u') {
      estimate->bytes--;
      estimate->letters -= at[1] >= 'a';
      at += 2;
      continue;
    }
    char scratch[4];
    Text rest = {.bytes = at, .size = (size_t)(end - at), .escaped = true}, run;
    text_run(&rest, scratch, &run);
    assert(rest.bytes > at && rest.bytes <= end);
    add_bytes(estimate, at, (size_t)(rest.bytes - at), -1);
    add_bytes(estimate, run.bytes, run.size, 1);
    at = rest.bytes;
  }
}

void estimate_add(Estimate *estimate, Text text) {
  if (estimate->estimator == ESTIMATE_BYTES4) {
    estimate->bytes += text_plain_size(text);
    return;
  }
  add_run(estimate, text.bytes, text.size);
  if (text.escaped) undo_escapes(estimate, text);
}

/* Weights per character, in four-hundredths of a token: ASCII letters, spaces, digits, other ASCII (punctuation,
   line breaks); characters of two bytes (accents, Greek, Cyrillic), of three (Chinese, Japanese, Korean), of four
   (emoji); and what a letter of dense text weighs more. */
typedef struct Weights {
  uint32_t letters, spaces, digits, other, two, three, four, dense;
} Weights;

/* A least squares fit to the o200k_base counts of conversations with tools, code, English and Chinese prose, rounded
   up a little: the estimates of those texts are 0.97 to 1.14 times their counts. Those of base64, hex and random
   identifiers, whose letters weigh 280, are 0.90 to 1.07 times. */
static const Weights CJK = {70, 110, 210, 260, 170, 340, 700, 210};

/* Claude publishes no vocabulary; others published what Anthropic's count_tokens endpoint answers.
   To 4.6: 1.18 times o200k_base (sammcj/ingest, pull request 65), 4.33 characters a token of English prose and 3.66 of
   TypeScript (claudecodecamp.com, "I measured Claude 4.7's new tokenizer"), about one token a Chinese character.
   From 4.7 on, against that: English 1.20 to 1.46, code 1.13 to 1.39, a space between words mostly a token of its own,
   digits 1.07, Chinese, Japanese, Korean, Cyrillic 1.00 (there; sol.ava.dev, 2026-04-17; 1.30 says ingest). Of a data
   URL of 1,046,118 characters it counted about 0.93 a character (github code-yeongyu/senpi pull 233). What texts differ
   by beyond that is for the margin of the model (lua/ebb/models). */
static const Weights CLAUDE = {77, 121, 231, 286, 200, 400, 770, 240};
static const Weights CLAUDE_4_7 = {100, 170, 247, 330, 240, 400, 770, 300};

static uint64_t weighted_tokens(const Estimate *estimate, const Weights *w) {
  uint64_t ascii = estimate->bytes - 2 * estimate->two - 3 * estimate->three - 4 * estimate->four;
  uint64_t other = ascii - estimate->letters - estimate->spaces - estimate->digits;
  uint64_t sum = estimate->letters * w->letters + estimate->spaces * w->spaces + estimate->digits * w->digits +
                 other * w->other + estimate->two * w->two + estimate->three * w->three + estimate->four * w->four +
                 estimate->dense * w->dense;
  return (sum + 399) / 400;
}

uint64_t estimate_tokens(const Estimate *estimate) {
  switch (estimate->estimator) {
  case ESTIMATE_BYTES4: return (estimate->bytes + 3) / 4;
  case ESTIMATE_CJK: return weighted_tokens(estimate, &CJK);
  case ESTIMATE_CLAUDE: return weighted_tokens(estimate, &CLAUDE);
  case ESTIMATE_CLAUDE_4_7: return weighted_tokens(estimate, &CLAUDE_4_7);
  case ESTIMATE_UTF16_2_5: break;
  }
  /* A character has one unit, or two units if it has four bytes. */
  uint64_t units = estimate->bytes - estimate->two - 2 * estimate->three - 2 * estimate->four;
  return (units * 2 + 4) / 5;
}
