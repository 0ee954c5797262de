/*
** UTF-8, by the table of well-formed sequences in the Unicode standard: only the
** second byte has special bounds, and those depend on the first.
**
**     first     second    further
**     00..7F
**     C2..DF    80..BF                 C0, C1 would be overlong
**     E0        A0..BF    80..BF       below A0: overlong
**     ED        80..9F    80..BF       above 9F: surrogates
**     E1..EF    80..BF    80..BF
**     F0        90..BF    80..BF x 2   below 90: overlong
**     F4        80..8F    80..BF x 2   above 8F: beyond U+10FFFF
**     F1..F3    80..BF    80..BF x 2
*/
#include "base/utf8.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

static size_t sequence_size(unsigned char first) {
  if (first < 0x80) return 1;
  if (first < 0xC2) return 0;
  if (first < 0xE0) return 2;
  if (first < 0xF0) return 3;
  return first <= 0xF4 ? 4 : 0;
}

static bool second_fits(unsigned char first, unsigned char second) {
  switch (first) {
    case 0xE0: return second >= 0xA0 && second <= 0xBF;
    case 0xED: return second >= 0x80 && second <= 0x9F;
    case 0xF0: return second >= 0x90 && second <= 0xBF;
    case 0xF4: return second >= 0x80 && second <= 0x8F;
    default: return second >= 0x80 && second <= 0xBF;
  }
}

size_t utf8_decode(const char *at, const char *end, uint32_t *point) {
  assert(at < end);
  const unsigned char *bytes = (const unsigned char *)at;
  size_t size = sequence_size(bytes[0]);
  if (size == 0 || size > (size_t)(end - at)) return 0;
  if (size > 1 && !second_fits(bytes[0], bytes[1])) return 0;
  uint32_t value = size == 1 ? bytes[0] : bytes[0] & (0x7Fu >> size);
  for (size_t i = 1; i < size; i++) {
    if ((bytes[i] & 0xC0) != 0x80) return 0;
    value = value << 6 | (bytes[i] & 0x3Fu);
  }
  if (point != NULL) *point = value;
  return size;
}

size_t utf8_bad(const char *at, const char *end) {
  const unsigned char *bytes = (const unsigned char *)at;
  size_t whole = sequence_size(bytes[0]), room = (size_t)(end - at), size = 1;
  if (whole < 3 || room < 2 || !second_fits(bytes[0], bytes[1])) return 1;
  for (size = 2; size + 1 < whole && size < room && (bytes[size] & 0xC0) == 0x80;) size++;
  return size;
}

bool utf8_is_start(const char *at, const char *end) {
  assert(at < end);
  const unsigned char *bytes = (const unsigned char *)at;
  size_t room = (size_t)(end - at);
  if (room >= sequence_size(bytes[0])) return false;
  return (room < 2 || second_fits(bytes[0], bytes[1])) && (room < 3 || (bytes[2] & 0xC0) == 0x80);
}

size_t utf8_encode(uint32_t point, char out[4]) {
  assert(point <= 0x10FFFF && (point < 0xD800 || point > 0xDFFF));
  if (point < 0x80) {
    out[0] = (char)point;
    return 1;
  }
  size_t size = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  for (size_t i = size - 1; i > 0; i--) {
    out[i] = (char)(0x80 | (point & 0x3F));
    point >>= 6;
  }
  out[0] = (char)((0xF00u >> size & 0xFF) | point);   /* size 2: C0, 3: E0, 4: F0 */
  return size;
}

/* Ranges of code points, sorted: controls, what turns the direction of a line, and what
   no terminal draws, such as the tags that can hide a text inside another. */
static const struct {
  uint32_t first, last;
} HIDDEN[] = {
    {0x00, 0x1F},     {0x7F, 0x9F},     {0x061C, 0x061C}, {0x180E, 0x180E}, {0x200B, 0x200B},   {0x200E, 0x200F},
    {0x2028, 0x202E}, {0x2060, 0x206F}, {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE007F},
};

bool utf8_is_hidden(uint32_t point) {
  for (size_t i = 0; i < sizeof HIDDEN / sizeof *HIDDEN && HIDDEN[i].first <= point; i++) {
    if (point <= HIDDEN[i].last) return true;
  }
  return false;
}

size_t utf8_copy(char *out, size_t room, const char *bytes, size_t size) {
  assert(room > 0);
  const char *at = bytes, *end = bytes + size;
  size_t used = 0;
  while (at < end) {
    size_t step = utf8_decode(at, end, NULL);
    bool valid = step > 0;
    const char *from = valid ? at : UTF8_REPLACEMENT;
    size_t bytes_out = valid ? step : sizeof UTF8_REPLACEMENT - 1;
    if (bytes_out >= room - used) break;
    memcpy(out + used, from, bytes_out);
    used += bytes_out;
    at += valid ? step : utf8_bad(at, end);
  }
  out[used] = '\0';
  assert(used < room && utf8_check(out, used) == used);
  return used;
}

static bool is_tail(char c) { return ((unsigned char)c & 0xC0) == 0x80; }

/* Three bytes (Chinese, Japanese, Korean) and two (most other scripts) are handled here, the rest by utf8_decode. */
const char *utf8_skip(const char *at, const char *end) {
  while (at < end && (signed char)*at < 0) {
    unsigned char first = (unsigned char)*at;
    if (end - at >= 3 && first > 0xE0 && first < 0xF0 && first != 0xED && is_tail(at[1]) && is_tail(at[2])) {
      at += 3;
    } else if (end - at >= 2 && first >= 0xC2 && first < 0xE0 && is_tail(at[1])) {
      at += 2;
    } else {
      size_t size = utf8_decode(at, end, NULL);
      if (size == 0) break;
      at += size;
    }
  }
  return at;
}

size_t utf8_check(const char *bytes, size_t size) {
  if (size == 0) return 0;   /* its pointer may be NULL */
  const char *at = bytes, *end = bytes + size;
  while (at < end) {
    uint64_t eight;
    if (end - at >= 8 && (memcpy(&eight, at, 8), (eight & 0x8080808080808080u) == 0)) {
      at += 8;   /* all ASCII */
    } else if ((signed char)*at >= 0) {
      at++;
    } else {
      const char *next = utf8_skip(at, end);
      if (next == at) break;
      at = next;
    }
  }
  return (size_t)(at - bytes);
}
