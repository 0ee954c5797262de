/*
** Words: patterns that are a short text and nothing else, maybe with \b at its ends. Most rewriting rules of
** people are such. They are found in one pass, so they need no machine code, no limit and no clock.
*/
#ifndef EBB_REGEX_WORD_H
#define EBB_REGEX_WORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REGEX_WORD_MAX = 32 };        /* bytes: a search takes at most so many steps for each byte of the text */

typedef struct RegexWord {
  uint8_t size;                      /* 0: the pattern is no word */
  bool start, end;                   /* a word must begin or end there: \b */
  char bytes[REGEX_WORD_MAX];
} RegexWord;

/* Reads a pattern that PCRE2 would read; a word of size 0 if it is anything else. */
RegexWord regex_word(const char *pattern, size_t size);

/* The offset of the first match at or behind `from`, or SIZE_MAX. from <= size; word->size > 0. */
size_t regex_word_find(const RegexWord *word, const char *text, size_t size, size_t from);

#endif
