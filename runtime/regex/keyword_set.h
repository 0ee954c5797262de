/*
** Keyword set: which of many keywords stand in a text, in one pass over it (Aho and Corasick).
**
** Keywords and texts are UTF-8; invalid bytes match themselves. A keyword matches without case unless it says
** otherwise. A keyword of whole words needs an end of the text, or a byte besides A-Z a-z 0-9 _, on both sides:
** JavaScript's \W, for which all letters beyond ASCII separate words, so that Chinese keywords match.
**
** A set is immutable, but for what a search needs: one thread at a time searches in it.
*/
#ifndef EBB_REGEX_KEYWORD_SET_H
#define EBB_REGEX_KEYWORD_SET_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/text.h"

typedef enum KeywordFlag {
  KEYWORD_CASE  = 1,         /* letters must have the same case */
  KEYWORD_WHOLE = 2          /* whole words only */
} KeywordFlag;

typedef struct Keyword {
  Text text;                 /* plain, not empty */
  unsigned flags;
} Keyword;

typedef struct KeywordSet KeywordSet;

/* Copies the keywords. STATUS_MEMORY; STATUS_LIMIT if they have 2^31 bytes or more in all; STATUS_ARGUMENT for an
   empty one. */
Status   keyword_set_new(const Memory *memory, const Keyword *keywords, uint32_t count, KeywordSet **set);
void     keyword_set_free(KeywordSet *set);                  /* NULL is allowed */
uint32_t keyword_set_size(const KeywordSet *set);            /* keywords */

/* Searches a plain text that follows `prefix`, which may be empty, as if both were one text. Gives the numbers, from
   0, of the keywords in it: each once, in the order of their first ends. Borrowed until the next search.
   O(bytes + hits). STATUS_MEMORY. */
Status   keyword_set_find(KeywordSet *set, Text prefix, Text text, const uint32_t **hits, uint32_t *count);

#endif
