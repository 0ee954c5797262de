/*
** Pretokens: the parts into which a byte-pair tokenizer cuts a text before merging.
**
**     "I'd say: 12345 \n"  ->  "I" "'d" " say" ":" " " "123" "45" " \n"
**
** A pattern is a regular expression of the vocabulary's makers. The common ones have
** hand-written scanners, which use the class of each character (class.h), and cut 64
** bytes at a time if the processor can (pretoken.c).
**
** One in five pretokens of code is a single byte. These are tokens of every vocabulary,
** so they are only counted, not listed.
**
** A byte that is not UTF-8 is a character of class "other", so that every text can be
** cut. No pretoken is empty, and together they are the text.
*/
#ifndef EBB_TOKENS_PRETOKEN_H
#define EBB_TOKENS_PRETOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* PRETOKEN_REGEX: by expressions of the vocabulary itself (regex_cut.h), not by a scanner. PRETOKEN_BORDERS: no
   expression; wherever no token of the vocabulary merges (border_cut.h). */
typedef enum PretokenPattern {
  PRETOKEN_CL100K, PRETOKEN_O200K, PRETOKEN_GPT2, PRETOKEN_REGEX, PRETOKEN_BORDERS
} PretokenPattern;

/* "cl100k", "o200k", "gpt2", "regex", "borders"; static. Only the first three are parsed. */
const char *pretoken_pattern_name(PretokenPattern pattern);
bool        pretoken_pattern_parse(const char *name, PretokenPattern *pattern);

#define PRETOKEN_BATCH 768   /* 512 take 2 % longer, 1024 no less */

/* A text during cutting. Nothing after its `size` bytes is read. */
typedef struct PretokenScanner {
  const char *bytes;
  size_t size;
  size_t at;             /* start of the next pretoken */
  uint32_t singles;      /* pretokens of one byte in the last batch */
  PretokenPattern pattern;
  bool portable;         /* for tests: never use the wide path */
} PretokenScanner;

PretokenScanner pretoken_start(PretokenPattern pattern, const char *bytes, size_t size);
/* Cuts the next pretokens and lists those of more than one byte: their starts and
   exclusive ends. Bytes between them, and from the last one to scanner->at, are pretokens
   of one byte. Returns the number of listed ones, which may be 0; the text ends when
   scanner->at is its size. */
uint32_t pretoken_next(PretokenScanner *scanner, size_t starts[PRETOKEN_BATCH], size_t ends[PRETOKEN_BATCH]);

#endif
