/*
** Any bytes cut into pieces by all patterns: the pieces are some, and together
** the text; nothing beyond it is read; and the wide path cuts as the rules do.
*/
#undef NDEBUG
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tokens/piece.h"

/* The ends of pieces, one after the other; those of one byte are not listed. */
typedef struct Ends {
  Pieces pieces;
  size_t starts[PIECE_BATCH], ends[PIECE_BATCH], at;
  uint32_t count, next;
} Ends;

static size_t next_end(Ends *e) {
  if (e->at == e->pieces.at) {
    e->count = pieces_next(&e->pieces, e->starts, e->ends), e->next = 0;
    assert(e->pieces.at > e->at && e->pieces.at <= e->pieces.size);
  }
  bool listed = e->next < e->count && e->starts[e->next] == e->at;
  assert(!listed || e->ends[e->next] > e->at + 1);
  e->at = listed ? e->ends[e->next++] : e->at + 1;
  assert(e->at <= e->pieces.at && (e->next == e->count || e->starts[e->next] >= e->at));
  return e->at;
}

static void check_pattern(PiecePattern pattern, const char *bytes, size_t size) {
  Ends wide = {.pieces = pieces_start(pattern, bytes, size)}, rules = wide;
  rules.pieces.portable = true;
  while (wide.at < size) {
    size_t end = next_end(&wide);
    assert(end == next_end(&rules));
  }
  assert(wide.at == size && rules.at == size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *bytes = malloc(size + (size == 0));   /* its end is watched */
  assert(bytes != NULL);
  if (size > 0) memcpy(bytes, data, size);
  for (PiecePattern pattern = PIECES_CL100K; pattern <= PIECES_GPT2; pattern++) check_pattern(pattern, bytes, size);
  free(bytes);
  return 0;
}
