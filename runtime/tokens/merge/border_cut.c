#include "tokens/merge/border_cut.h"

#include <assert.h>

#include "tokens/vocab/vocab_image.h"

typedef const unsigned char *Bytes;

/* The size of the character at `at` if the vocabulary has it, else 0. */
static inline size_t character_at(const Vocab *v, Bytes at, Bytes end) {
  uint32_t unit;
  if (at[0] < 0x80) return 1;
  size_t size = unit_at(at, end, &unit);
  if (size > 1) return (v->roots[unit] & LINK_NODE) < v->merged_count ? size : 0;
  if (at[0] < 0xF0 || end - at < 4) return 0;
  return vocab_find(v, (const char *)at, 4) < v->merged_count ? 4 : 0;
}

static inline size_t atom_at(const Vocab *v, Bytes at, Bytes end) {
  uint32_t number;
  return vocab_starts_atom(v, at[0]) ? vocab_atom_at(v, (const char *)at, (const char *)end, &number) : 0;
}

/* The end of the pretoken at `at`, which starts with a character of the vocabulary. */
static Bytes end_of(const Vocab *v, Bytes at, Bytes end, bool atoms) {
  size_t size = character_at(v, at, end);
  assert(size > 0);
  for (at += size; at < end && !pair_set_has(v->cuts, at[-1], at[0]); at += size) {
    if (atoms && atom_at(v, at, end) > 0) break;
    size = character_at(v, at, end);
    if (size == 0) break;
  }
  return at;
}

uint32_t border_cut_next(const Vocab *v, PretokenScanner *scanner, bool atoms, size_t starts[PRETOKEN_BATCH],
                         size_t ends[PRETOKEN_BATCH]) {
  Bytes bytes = (Bytes)scanner->bytes, end = bytes + scanner->size, at = bytes + scanner->at;
  uint32_t count = 0, singles = 0;
  assert(scanner->at <= scanner->size && v->cuts != NULL);
  while (count < PRETOKEN_BATCH && singles < PRETOKEN_BATCH && at < end) {
    size_t size = atoms ? atom_at(v, at, end) : 0;
    if (size == 0 && character_at(v, at, end) == 0) size = 1;
    if (size > 0) {
      singles++;
      at += size;
      continue;
    }
    Bytes stop = end_of(v, at, end, atoms);
    bool single = stop - at == 1;
    starts[count] = (size_t)(at - bytes);
    ends[count] = (size_t)(stop - bytes);
    count += !single;
    singles += single;
    at = stop;
  }
  scanner->at = (size_t)(at - bytes);
  scanner->singles = singles;
  return count;
}
