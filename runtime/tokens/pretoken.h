/*
** Pretokens: the cuts that a byte-pair tokenizer makes before it merges.
**
**     "I'd say: 12345 \n"  ->  "I" "'d" " say" ":" " " "123" "45" " \n"
**
** A pattern is a regular expression of the vocabulary's makers. The ones that
** matter are cut by hand-written scanners, which go by the class of each
** character (class.h); where the machine can, 64 bytes at a time.
**
** Of the pretokens of code, one in five is a single byte. Those are tokens of every
** vocabulary, so they are only counted, not listed.
**
** Bytes that are not UTF-8 count as characters of class "other", one each, so
** that every text can be cut; no pretoken is empty and together they are the text.
*/
#ifndef EBB_TOKENS_PRETOKEN_H
#define EBB_TOKENS_PRETOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* PRETOKEN_REGEX: by expressions of the vocabulary itself, which are not cut here (regex_cut.h). */
typedef enum PretokenPattern { PRETOKEN_CL100K, PRETOKEN_O200K, PRETOKEN_GPT2, PRETOKEN_REGEX } PretokenPattern;

/* "cl100k", "o200k", "gpt2", "regex"; static. Only the first three are parsed. */
const char *pretoken_pattern_name(PretokenPattern pattern);
bool        pretoken_pattern_parse(const char *name, PretokenPattern *pattern);

#define PRETOKEN_BATCH 768   /* 512 take 2 % longer, 1024 no less */

/* A text being cut. `size` may be anything; nothing beyond it is read. */
typedef struct PretokenScanner {
  const char *bytes;
  size_t size;
  size_t at;             /* where the next pretoken starts */
  uint32_t singles;      /* pretokens of one byte that the last call left out */
  PretokenPattern pattern;
  bool portable;         /* never the wide path: for tests */
} PretokenScanner;

PretokenScanner pretoken_start(PretokenPattern pattern, const char *bytes, size_t size);
/* Cuts the next pretokens and lists those of more than one byte: where they start
   and (exclusive) end. All between them, and from the last one to scanner->at, are
   pretokens of one byte. Answers how many are listed, which may be none: the text has
   ended when scanner->at is its size. */
uint32_t pretoken_next(PretokenScanner *scanner, size_t starts[PRETOKEN_BATCH], size_t ends[PRETOKEN_BATCH]);

#endif
