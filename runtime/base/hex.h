/*
** Hexadecimal digits, read in either case and written in lower case.
*/
#ifndef EBB_BASE_HEX_H
#define EBB_BASE_HEX_H

#include <stddef.h>
#include <stdint.h>

/* The value of a digit, or -1. */
static inline int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  char letter = (char)(c | 0x20);
  return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

/* The value of `count` digits (at most 7) from `at`; -1 if one is missing before `end`. */
static inline int32_t hex_read(const char *at, const char *end, int count) {
  int32_t value = 0;
  if (end - at < count) return -1;
  for (int i = 0; i < count; i++) {
    int digit = hex_digit(at[i]);
    if (digit < 0) return -1;
    value = value << 4 | digit;
  }
  return value;
}

/* Writes two digits for each byte; no NUL follows. */
static inline void hex_write(char *out, const void *bytes, size_t size) {
  const unsigned char *from = bytes;
  for (size_t i = 0; i < size; i++) {
    *out++ = "0123456789abcdef"[from[i] >> 4];
    *out++ = "0123456789abcdef"[from[i] & 15];
  }
}

#endif
