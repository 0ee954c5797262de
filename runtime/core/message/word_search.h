/*
** Word search: which of many words stand in texts, each by itself.
**
** A word is any plain text that is not empty. It stands in a text where its bytes do, with neither an ASCII letter
** nor an ASCII digit right before or behind them: "4821" stands in "(4821)", not in "14821". In scripts without
** spaces every place counts.
**
** Cost: O(bytes of the texts), plus a comparison for each place of a word's longest run of letters and digits.
**
** Ownership: the words are borrowed until word_search_free.
*/
#ifndef EBB_CORE_WORD_SEARCH_H
#define EBB_CORE_WORD_SEARCH_H

#include "base/hash.h"
#include "base/map.h"
#include "core/message/message.h"

/* The part of a word by which it is found: its longest run, or else its first character. */
typedef struct WordHead {
  size_t at, size;           /* within the word */
  uint32_t next;             /* number + 1 of the next word with an equal hash; 0: none */
  bool found;
} WordHead;

typedef struct WordSearch {
  Memory memory;
  HashKey key;
  const Text *words;
  uint32_t count, missing;   /* words; of them, those that were not found yet */
  bool has_marks;            /* some heads are no runs of letters and digits */
  WordHead *heads;
  Map by_head;               /* hash -> number + 1 of the first word */
  Buffer scratch;            /* of a text with escapes */
} WordSearch;

/* Begins a search for `count` plain texts; an empty one is never found. STATUS_MEMORY, then nothing is owned. */
Status word_search_init(WordSearch *search, Memory memory, HashKey key, const Text *words, uint32_t count);
void   word_search_free(WordSearch *search);

/* Searches one text; all readable texts of a message. STATUS_MEMORY: some may have been searched. */
Status word_search_text(WordSearch *search, Text text);
Status word_search_message(WordSearch *search, const Message *message);

bool   word_search_found(const WordSearch *search, uint32_t index);   /* index < count */

#endif
