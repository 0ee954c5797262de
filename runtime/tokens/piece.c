#include "tokens/piece.h"

#include <string.h>

#include "tokens/piece_rules.h"
#include "tokens/piece_wide.h"

static const char *const names[] = {"cl100k", "o200k", "gpt2"};

const char *piece_pattern_name(PiecePattern pattern) {
  return names[pattern];
}

bool piece_pattern_parse(const char *name, PiecePattern *pattern) {
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcmp(name, names[i]) == 0) {
      *pattern = (PiecePattern)i;
      return true;
    }
  }
  return false;
}

Pieces pieces_start(PiecePattern pattern, const char *bytes, size_t size) {
  return (Pieces){.bytes = bytes, .size = size, .pattern = pattern};
}

uint32_t pieces_next(Pieces *pieces, size_t ends[PIECE_BATCH]) {
  if (!pieces->portable && pieces_wide_works()) return pieces_wide(pieces, ends);
  const char *end = pieces->bytes + pieces->size;
  uint32_t count = 0;
  while (count < PIECE_BATCH && pieces->at < pieces->size) {
    pieces->at = (size_t)(piece_end(pieces->pattern, pieces->bytes + pieces->at, end) - pieces->bytes);
    ends[count++] = pieces->at;
  }
  return count;
}
