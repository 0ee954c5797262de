/*
** Vocab builder: an image during its building. Shared by the files that fill it.
*/
#ifndef EBB_TOKENS_VOCAB_BUILDER_H
#define EBB_TOKENS_VOCAB_BUILDER_H

#include <assert.h>

#include "tokens/vocab/vocab_image.h"
#include "tokens/vocab/vocab_trie.h"

typedef struct Builder {
  Memory memory;
  const VocabSource *source;
  Merges merges;
  Trie trie;
  VocabHeader header;
  uint32_t shorts, middles, longs;     /* tokens in the tables of pretokens */
  char *image;                         /* NULL before lay_out */
  uint64_t *hashes;                    /* scratch for one table: hashes of its keys, and their slots */
  uint32_t *slots;
} Builder;

static inline void *builder_section(const Builder *b, VocabSection which) {
  assert(b->image != NULL && which < SECTION_COUNT);
  return b->image + b->header.sections[which].offset;
}

/* Fills the tables of late tokens, of cuts and of atoms; the tables by number and of bytes are complete. STATUS_SHAPE
   for an atom that is not a token, with *problem. */
Status vocab_fill_rest(Builder *b, VocabProblem *problem);

#endif
