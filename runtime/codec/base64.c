/*
** Four digits of six bits encode three bytes; padding fills up the last group:
**
**     bytes     M        a        n            M        a
**     bits      01001101 01100001 01101110     01001101 01100001 00
**     digits    010011 010110 000101 101110    010011 010110 000100
**     text      T      W      F      u         T      W      E      =
**
** The bits behind the "a" on the right must be zero: others would be a second spelling
** of the same bytes, and are refused.
*/
#include "codec/base64.h"

#include <assert.h>
#include <stdint.h>

static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int base64_digit(unsigned char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* ---- writing ---- */

size_t base64_encoded_size(size_t size) {
  size_t groups = size / 3 + (size % 3 != 0);
  return groups > SIZE_MAX / 4 ? SIZE_MAX : groups * 4;
}

static void put_group(uint32_t bits, char *to) {
  for (int i = 0; i < 4; i++) to[i] = DIGITS[bits >> (18 - 6 * i) & 63];
}

Status base64_encode(const void *bytes, size_t size, Buffer *out) {
  assert(bytes != NULL || size == 0);
  size_t written = base64_encoded_size(size);
  if (written == 0) return STATUS_OK;
  Status status = buffer_reserve(out, written);
  if (status != STATUS_OK) return status;
  const unsigned char *at = bytes, *end = at + size;
  char *to = out->bytes + out->size;
  for (; end - at >= 3; at += 3, to += 4) put_group((uint32_t)at[0] << 16 | (uint32_t)at[1] << 8 | at[2], to);
  if (at < end) {
    bool two = end - at == 2;
    put_group((uint32_t)at[0] << 16 | (two ? (uint32_t)at[1] << 8 : 0), to);
    if (!two) to[2] = '=';
    to[3] = '=';
  }
  out->size += written;
  return STATUS_OK;
}

/* ---- reading ---- */

static size_t padding_of(const char *text, size_t size) {
  if (size == 0 || size % 4 != 0 || text[size - 1] != '=') return 0;
  return text[size - 2] == '=' ? 2 : 1;
}

size_t base64_decoded_size(const char *text, size_t size) {
  return size / 4 * 3 - padding_of(text, size);
}

/* Reads a digit, six more bits; false if there is none. */
static bool take(const char *text, size_t at, uint32_t *bits) {
  int digit = base64_digit((unsigned char)text[at]);
  *bits = *bits << 6 | (uint32_t)digit;
  return digit >= 0;
}

/* Reads the last group, which has 2 or 3 digits and padding. */
static const char *decode_last(const char *text, size_t at, size_t digits, char *out, size_t *offset) {
  uint32_t bits = 0;
  for (size_t i = 0; i < digits; i++) {
    *offset = at + i;
    if (!take(text, at + i, &bits)) return "a digit of base64";
  }
  unsigned unused = digits == 2 ? 4 : 2;
  if ((bits & ((1u << unused) - 1)) != 0) return "a last digit whose unused bits are zero";
  bits >>= unused;
  if (digits == 3) *out++ = (char)(bits >> 8 & 0xFF);
  *out = (char)(bits & 0xFF);
  return NULL;
}

const char *base64_decode(const char *text, size_t size, char *out, size_t *offset) {
  assert(out != NULL && (text != NULL || size == 0));
  size_t padding = padding_of(text, size), whole = padding > 0 ? size - 4 : size / 4 * 4;
  for (size_t i = 0; i < whole; i += 4) {
    uint32_t bits = 0;
    for (size_t k = 0; k < 4; k++) {
      if (take(text, i + k, &bits)) continue;
      *offset = i + k;
      return "a digit of base64";
    }
    *out++ = (char)(bits >> 16 & 0xFF);
    *out++ = (char)(bits >> 8 & 0xFF);
    *out++ = (char)(bits & 0xFF);
  }
  if (padding > 0) return decode_last(text, whole, 4 - padding, out, offset);
  for (*offset = whole; *offset < size; ++*offset) {
    if (base64_digit((unsigned char)text[*offset]) < 0) return "a digit of base64";
  }
  return *offset == whole ? NULL : "as many digits as make groups of four, or padding";
}
