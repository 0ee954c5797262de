/*
** Class: the class of a character, on which the patterns of the vocabularies depend.
**
** A table in two stages covers Unicode 16.0, the version of the oracle that the counts
** are tested against. A page has 128 code points, and equal pages are stored once:
**
**     point ---> class_page[point / 128] ---> class_of_page[page][point % 128]
**
** Above U+3FFFF only one block of plane 14 has marks, so the first stage ends there and
** continues with that block. class_generate.mjs generates class_table.c from the Unicode
** database and checks this.
*/
#ifndef EBB_TOKENS_CLASS_H
#define EBB_TOKENS_CLASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/utf8.h"

typedef enum Class {
  CLASS_OTHER,     /* punctuation, symbols, controls, unassigned, bytes that are not UTF-8 */
  CLASS_UPPER,     /* Lu, Lt */
  CLASS_LOWER,     /* Ll */
  CLASS_LETTER,    /* Lm, Lo: neither upper nor lower */
  CLASS_MARK,      /* Mn, Mc, Me */
  CLASS_NUMBER,    /* Nd, Nl, No */
  CLASS_SPACE,     /* White_Space but CR and LF */
  CLASS_NEWLINE    /* CR, LF */
} Class;

#define CLASS_DENSE_END  0x40000u   /* the first stage has an entry for each 128 code points below, */
#define CLASS_TAGS       0xE0000u   /* and for the CLASS_TAGS_COUNT ones from here on */
#define CLASS_TAGS_COUNT 0x1000u
#define CLASS_PAGES      ((CLASS_DENSE_END + CLASS_TAGS_COUNT) / 128)

extern const unsigned char class_page[CLASS_PAGES];
extern const char class_of_page[][129];   /* digits, one per code point, and the NUL of the literal */

/* The class of a code point up to 0x10FFFF. */
static inline Class class_of(uint32_t point) {
  if (point >= CLASS_DENSE_END) {
    if (point - CLASS_TAGS >= CLASS_TAGS_COUNT) return CLASS_OTHER;
    point -= CLASS_TAGS - CLASS_DENSE_END;
  }
  return (Class)(class_of_page[class_page[point / 128]][point % 128] & 7);
}

/* Class and size of the character at `at`; a byte that does not start a character is a character
   of class "other". at < end. */
static inline Class class_at(const char *at, const char *end, size_t *size) {
  const unsigned char *bytes = (const unsigned char *)at;
  uint32_t point;
  if (bytes[0] < 0x80) {
    *size = 1;
    return (Class)(class_of_page[0][bytes[0]] & 7);   /* page 0 is the page of ASCII */
  }
  /* Sequences without special bounds of the second byte, the most frequent ones. */
  bool follows = end - at >= 2 && (bytes[1] & 0xC0) == 0x80;
  if (follows && bytes[0] >= 0xC2 && bytes[0] < 0xE0) {
    *size = 2;
    return class_of((uint32_t)(bytes[0] & 0x1F) << 6 | (bytes[1] & 0x3Fu));
  }
  if (follows && bytes[0] > 0xE0 && bytes[0] < 0xF0 && bytes[0] != 0xED && end - at >= 3 && (bytes[2] & 0xC0) == 0x80) {
    *size = 3;
    return class_of((uint32_t)(bytes[0] & 0x0F) << 12 | (uint32_t)(bytes[1] & 0x3F) << 6 | (bytes[2] & 0x3Fu));
  }
  *size = utf8_decode(at, end, &point);
  if (*size > 0) return class_of(point);
  *size = 1;
  return CLASS_OTHER;
}

#endif
