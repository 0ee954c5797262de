/*
** Any bytes cut into pieces by all patterns: the pieces are some, and together
** the text; nothing beyond it is read; and the wide path cuts as the rules do.
*/
#undef NDEBUG
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tokens/piece.h"

static void check_pattern(PiecePattern pattern, const char *bytes, size_t size) {
  Pieces wide = pieces_start(pattern, bytes, size), rules = wide;
  rules.portable = true;
  size_t wide_ends[PIECE_BATCH], ends[PIECE_BATCH], at = 0;
  uint32_t count = 0, next = 0;   /* of `ends`; which of them comes next */
  for (uint32_t more; (more = pieces_next(&wide, wide_ends)) > 0;) {
    for (uint32_t i = 0; i < more; i++) {
      if (next == count) count = pieces_next(&rules, ends), next = 0;
      assert(next < count && wide_ends[i] == ends[next++]);
      assert(wide_ends[i] > at);
      at = wide_ends[i];
    }
  }
  assert(at == size && next == count && pieces_next(&rules, ends) == 0);
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
