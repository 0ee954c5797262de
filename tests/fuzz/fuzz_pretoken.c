/*
** Any bytes cut into pretokens by all patterns: the pretokens are some, and together
** the text; nothing beyond it is read; and the wide path cuts as the rules do.
*/
#undef NDEBUG
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tokens/pretoken/pretoken.h"

/* The ends of pretokens, one after the other; those of one byte are not listed. */
typedef struct Ends {
  PretokenScanner scanner;
  size_t starts[PRETOKEN_BATCH], ends[PRETOKEN_BATCH], at;
  uint32_t count, next;
} Ends;

static size_t next_end(Ends *e) {
  if (e->at == e->scanner.at) {
    e->count = pretoken_next(&e->scanner, e->starts, e->ends), e->next = 0;
    assert(e->scanner.at > e->at && e->scanner.at <= e->scanner.size);
  }
  bool listed = e->next < e->count && e->starts[e->next] == e->at;
  assert(!listed || e->ends[e->next] > e->at + 1);
  e->at = listed ? e->ends[e->next++] : e->at + 1;
  assert(e->at <= e->scanner.at && (e->next == e->count || e->starts[e->next] >= e->at));
  return e->at;
}

static void check_pattern(PretokenPattern pattern, const char *bytes, size_t size) {
  Ends wide = {.scanner = pretoken_start(pattern, bytes, size)}, rules = wide;
  rules.scanner.portable = true;
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
  for (PretokenPattern pattern = PRETOKEN_CL100K; pattern <= PRETOKEN_GPT2; pattern++) {
    check_pattern(pattern, bytes, size);
  }
  free(bytes);
  return 0;
}
