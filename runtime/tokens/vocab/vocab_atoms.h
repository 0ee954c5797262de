/*
** Vocab atoms: texts that are one token wherever they occur (vocab_build.h), such as
** "<think>", found in a text before it is cut.
**
** They are sorted by their bytes. Those that start as the text does are a range of them,
** which every further byte makes smaller; the longest that fits is taken.
*/
#ifndef EBB_TOKENS_VOCAB_ATOMS_H
#define EBB_TOKENS_VOCAB_ATOMS_H

#include "tokens/vocab/vocab_image.h"

/* True if an atom may start with this byte. */
static inline bool vocab_starts_atom(const Vocab *v, unsigned char byte) {
  return v->atom_starts != NULL && v->atom_starts[byte] < v->atom_starts[byte + 1];
}

/* The size of the longest atom at `at` < end, and the number of its token; 0: none. */
size_t vocab_atom_at(const Vocab *v, const char *at, const char *end, uint32_t *number);

/* The start of the first atom from `at` on, or `end`. */
const char *vocab_atom_next(const Vocab *v, const char *at, const char *end);

#endif
