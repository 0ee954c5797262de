#include "base/lower.h"

#include <assert.h>

#include "base/utf8.h"

typedef struct LowerRun {
  uint32_t first, last;      /* code points with small letters */
  uint16_t step;             /* 1: all of them; 2: every other one */
  int32_t  shift;            /* from a code point to its small letter */
} LowerRun;

static const LowerRun RUNS[] = {
#include "base/lower_table.h"
};

enum {
  RUN_COUNT        = sizeof RUNS / sizeof *RUNS,
  CASELESS_FIRST   = 0x2CF3,       /* no letter from here to CASELESS_END has case: above all Chinese */
  CASELESS_END     = 0xA640,
  SIGMA            = 0x3C3,
  FINAL_SIGMA      = 0x3C2,
  DOTTED_CAPITAL_I = 0x130,
  GROWTH_MAX       = 2             /* a text grows at most so many times: U+0130, U+023A */
};

#define DOTTED_SMALL_I "i\xCC\x87"

uint32_t lower_point(uint32_t point) {
  if (point < 0x80) return point >= 'A' && point <= 'Z' ? point + 32 : point;
  if (point >= CASELESS_FIRST && point < CASELESS_END) return point;
  if (point == FINAL_SIGMA) return SIGMA;
  uint32_t low = 0, high = RUN_COUNT;          /* the first run that does not end before the point */
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (RUNS[middle].last < point) low = middle + 1;
    else high = middle;
  }
  if (low == RUN_COUNT || point < RUNS[low].first || (point - RUNS[low].first) % RUNS[low].step != 0) return point;
  return (uint32_t)((int32_t)point + RUNS[low].shift);
}

/* Writes the code point at `at`, which is not ASCII, in small letters to `to`; moves both on. */
static void lower_wide(const char **at, const char *end, char **to) {
  uint32_t point;
  size_t size = utf8_decode(*at, end, &point);
  if (size == 0) {
    *(*to)++ = *(*at)++;
    return;
  }
  *at += size;
  if (point == DOTTED_CAPITAL_I) {
    memcpy(*to, DOTTED_SMALL_I, 3);
    *to += 3;
    return;
  }
  *to += utf8_encode(lower_point(point), *to);
}

Status lower_text(Text text, Buffer *out) {
  assert(!text.escaped);
  Status status = text.size > SIZE_MAX / GROWTH_MAX - 4 ? STATUS_MEMORY
                                                        : buffer_reserve(out, text.size * GROWTH_MAX + 4);
  if (status != STATUS_OK) return status;
  const char *at = text.bytes, *end = at + text.size;
  char *to = out->bytes + out->size;
  while (at < end) {
    unsigned char byte = (unsigned char)*at;
    if (byte >= 0x80) {
      lower_wide(&at, end, &to);
    } else {
      *to++ = (char)(byte + (byte >= 'A' && byte <= 'Z' ? 32 : 0));
      at++;
    }
  }
  out->size = (size_t)(to - out->bytes);
  assert(out->size <= out->capacity);
  return STATUS_OK;
}
