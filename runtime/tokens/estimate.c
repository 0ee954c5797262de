#include "tokens/estimate.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

static const char *const NAMES[] = {"bytes4", "cjk", "utf16_2_5"};

const char *estimator_name(Estimator estimator) { return NAMES[estimator]; }

bool estimator_parse(const char *name, Estimator *estimator) {
  for (unsigned i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
    if (strcmp(name, NAMES[i]) == 0) {
      *estimator = (Estimator)i;
      return true;
    }
  }
  return false;
}

Estimate estimate_start(Estimator estimator) { return (Estimate){.estimator = estimator}; }

static void add_leads(Estimate *estimate, const unsigned char *at, const unsigned char *end) {
  for (; at < end; at++) {
    if (*at < 0xC0) continue;
    if (*at < 0xE0) estimate->two++;
    else if (*at < 0xF0) estimate->three++;
    else estimate->four++;
  }
}

/* Counts lead bytes; runs of ASCII, the common case, go 16 bytes at a time. */
static void add_run(Estimate *estimate, const char *bytes, size_t size) {
  const unsigned char *at = (const unsigned char *)bytes, *end = at + size;
  estimate->bytes += size;
  if (estimate->estimator == ESTIMATE_BYTES4) return;
#ifdef __SSE2__
  for (; end - at >= 16; at += 16) {
    __m128i block = _mm_loadu_si128((const __m128i *)(const void *)at);
    if (_mm_movemask_epi8(block) != 0) add_leads(estimate, at, at + 16);
  }
#endif
  add_leads(estimate, at, end);
}

void estimate_add(Estimate *estimate, Text text) {
  if (!text.escaped) {
    add_run(estimate, text.bytes, text.size);
    return;
  }
  char scratch[4];
  Text run;
  while (text_run(&text, scratch, &run)) add_run(estimate, run.bytes, run.size);
}

/* The weights of cjk, in twentieths of a token per character: ASCII 5 (four
   characters a token), characters of two bytes (Latin with accents, Greek,
   Cyrillic, Arabic) 9, of three (CJK, Indic) 16, of four (emoji) 40. These err
   towards too many tokens rather than too few. */
static uint64_t cjk_tokens(const Estimate *estimate) {
  uint64_t ascii = estimate->bytes - 2 * estimate->two - 3 * estimate->three - 4 * estimate->four;
  uint64_t twentieths = ascii * 5 + estimate->two * 9 + estimate->three * 16 + estimate->four * 40;
  return (twentieths + 19) / 20;
}

uint64_t estimate_tokens(const Estimate *estimate) {
  switch (estimate->estimator) {
  case ESTIMATE_BYTES4: return (estimate->bytes + 3) / 4;
  case ESTIMATE_CJK: return cjk_tokens(estimate);
  case ESTIMATE_UTF16_2_5: break;
  }
  /* Every character is one unit but those of four bytes, which are two. */
  uint64_t units = estimate->bytes - estimate->two - 2 * estimate->three - 2 * estimate->four;
  return (units * 2 + 4) / 5;
}
