/*
** Pieces: the cuts that a byte-pair tokenizer makes before it merges.
**
**     "I'd say: 12345 \n"  ->  "I" "'d" " say" ":" " " "123" "45" " \n"
**
** A pattern is a regular expression of the vocabulary's makers. The ones that
** matter are cut by hand-written scanners, which go by the class of each
** character (class.h); where the machine can, 64 bytes at a time.
**
** Of the pieces of code, one in five is a single byte. Those are tokens of every
** vocabulary, so they are only counted, not listed.
**
** Bytes that are not UTF-8 count as characters of class "other", one each, so
** that every text can be cut; no piece is empty and together they are the text.
*/
#ifndef EBB_TOKENS_PIECE_H
#define EBB_TOKENS_PIECE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* PIECES_REGEX: by expressions of the vocabulary itself, which are not cut here (regex_cut.h). */
typedef enum PiecePattern { PIECES_CL100K, PIECES_O200K, PIECES_GPT2, PIECES_REGEX } PiecePattern;

/* "cl100k", "o200k", "gpt2", "regex"; static. Only the first three are parsed. */
const char *piece_pattern_name(PiecePattern pattern);
bool        piece_pattern_parse(const char *name, PiecePattern *pattern);

#define PIECE_BATCH 768   /* 512 take 2 % longer, 1024 no less */

/* A text being cut. `size` may be anything; nothing beyond it is read. */
typedef struct Pieces {
  const char *bytes;
  size_t size;
  size_t at;             /* where the next piece starts */
  uint32_t singles;      /* pieces of one byte that the last call left out */
  PiecePattern pattern;
  bool portable;         /* never the wide path: for tests */
} Pieces;

Pieces   pieces_start(PiecePattern pattern, const char *bytes, size_t size);
/* Cuts the next pieces and lists those of more than one byte: where they start
   and (exclusive) end. All between them, and from the last one to pieces->at, are
   pieces of one byte. Answers how many are listed, which may be none: the text has
   ended when pieces->at is its size. */
uint32_t pieces_next(Pieces *pieces, size_t starts[PIECE_BATCH], size_t ends[PIECE_BATCH]);

#endif
