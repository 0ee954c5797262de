/*
** Which way a text is cut: 64 bytes at a time where the machine can
** (piece_wide.h), else piece by piece (piece_rules.h).
*/
#include "tokens/piece.h"

#include <assert.h>
#include <string.h>

#include "tokens/piece_rules.h"
#include "tokens/piece_wide.h"
#include "tokens/wide.h"

static const char *const names[] = {"cl100k", "o200k", "gpt2", "regex"};

const char *piece_pattern_name(PiecePattern pattern) {
  return names[pattern];
}

bool piece_pattern_parse(const char *name, PiecePattern *pattern) {
  for (PiecePattern known = PIECES_CL100K; known < PIECES_REGEX; known++) {
    if (strcmp(name, names[known]) == 0) {
      *pattern = known;
      return true;
    }
  }
  return false;
}

Pieces pieces_start(PiecePattern pattern, const char *bytes, size_t size) {
  assert(pattern < PIECES_REGEX);
  return (Pieces){.bytes = bytes, .size = size, .pattern = pattern};
}

uint32_t pieces_next(Pieces *pieces, size_t starts[PIECE_BATCH], size_t ends[PIECE_BATCH]) {
#ifdef WIDE_CODE
  if (!pieces->portable && wide_works()) return pieces_wide(pieces, starts, ends);
#endif
  const char *end = pieces->bytes + pieces->size;
  uint32_t count = 0, singles = 0;
  while (count < PIECE_BATCH && singles < PIECE_BATCH && pieces->at < pieces->size) {
    size_t start = pieces->at;
    pieces->at = (size_t)(piece_end(pieces->pattern, pieces->bytes + start, end) - pieces->bytes);
    bool single = pieces->at - start == 1;
    starts[count] = start;
    ends[count] = pieces->at;
    singles += single;
    count += !single;
  }
  pieces->singles = singles;
  return count;
}
