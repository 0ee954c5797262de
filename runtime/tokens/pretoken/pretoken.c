/*
** Chooses the way of cutting: 64 bytes at a time if the processor can (pretoken_wide.h),
** else pretoken by pretoken (pretoken_rules.h).
*/
#include "tokens/pretoken/pretoken.h"

#include <assert.h>

#include "base/names.h"
#include "tokens/pretoken/pretoken_rules.h"
#include "tokens/pretoken/pretoken_wide.h"
#include "tokens/pretoken/wide.h"

static const char *const names[] = {"cl100k", "o200k", "gpt2", "regex", "borders"};

const char *pretoken_pattern_name(PretokenPattern pattern) {
  assert(pattern <= PRETOKEN_BORDERS);
  return names[pattern];
}

bool pretoken_pattern_parse(const char *name, PretokenPattern *pattern) {
  size_t index = names_find(names, PRETOKEN_REGEX, text_of(name));
  if (index == PRETOKEN_REGEX) return false;
  *pattern = (PretokenPattern)index;
  return true;
}

PretokenScanner pretoken_start(PretokenPattern pattern, const char *bytes, size_t size) {
  assert(pattern != PRETOKEN_REGEX);
  return (PretokenScanner){.bytes = bytes, .size = size, .pattern = pattern};
}

uint32_t pretoken_next(PretokenScanner *scanner, size_t starts[PRETOKEN_BATCH], size_t ends[PRETOKEN_BATCH]) {
  assert(scanner->at <= scanner->size);
#ifdef WIDE_CODE
  if (!scanner->portable && wide_works()) return pretoken_next_wide(scanner, starts, ends);
#endif
  const char *end = scanner->bytes + scanner->size;
  uint32_t count = 0, singles = 0;
  while (count < PRETOKEN_BATCH && singles < PRETOKEN_BATCH && scanner->at < scanner->size) {
    size_t start = scanner->at;
    scanner->at = (size_t)(pretoken_end(scanner->pattern, scanner->bytes + start, end) - scanner->bytes);
    bool single = scanner->at - start == 1;
    assert(scanner->at > start && scanner->at <= scanner->size);
    starts[count] = start;
    ends[count] = scanner->at;
    singles += single;
    count += !single;
  }
  scanner->singles = singles;
  return count;
}
