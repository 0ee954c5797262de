/*
** Vocab build: builds the image of a vocabulary (vocab.h) from its tokens and merges.
**
** Vocabularies are of two kinds: in `.tiktoken` files a pair of tokens merges if their
** bytes are a token, the lowest rank first; in tokenizer.json the merges are listed, the
** first one first. Encoding is exact for both. Vocabularies without a token for one of the
** 256 single bytes are refused.
**
** Vocabularies whose merging starts with characters (SentencePiece's) become vocabularies of
** bytes: their first merges build each character of the vocabulary. What is between the
** bytes and the character is a hollow token, which no text ends with.
*/
#ifndef EBB_TOKENS_VOCAB_BUILD_H
#define EBB_TOKENS_VOCAB_BUILD_H

#include "base/buffer.h"
#include "tokens/vocab/vocab.h"

#define VOCAB_TOKENS_MAX 1000000    /* and ids are below four times that */
#define VOCAB_TOKEN_BYTES_MAX 2047

typedef struct VocabToken {
  const char *bytes;         /* borrowed during vocab_build */
  uint32_t size;
  uint32_t id;
  bool special;              /* only for decoding, never matched in a text */
  bool hollow;               /* the first bytes of a character, without an id */
} VocabToken;

/* A text that is one token wherever it occurs, whatever is around it. */
typedef struct VocabAtom {
  const char *bytes;
  uint32_t size;             /* 1 to VOCAB_TOKEN_BYTES_MAX */
  uint32_t id;               /* of a token */
} VocabAtom;

typedef struct VocabMerge {
  const char *bytes;         /* of the left token, followed by those of the right one */
  uint32_t left_size, right_size;
} VocabMerge;

typedef struct VocabSource {
  const char *name;
  PretokenPattern pattern;
  const char *regex;         /* PRETOKEN_REGEX: see vocab_regex */
  size_t regex_size;         /* including all NULs */
  const VocabToken *tokens;  /* without merges: in the order of ranks */
  uint32_t count;
  const VocabMerge *merges;  /* in their order; NULL: ranks decide */
  uint32_t merge_count;
  const VocabAtom *atoms;    /* no two with equal bytes */
  uint32_t atom_count;
  unsigned forms;            /* of texts, before cutting (text_form.h) */
  bool wholes;               /* a pretoken that equals a token is that token, even if no merges produce it */
  uint8_t sha256[32];        /* of the source file */
} VocabSource;

/* The defect of a source. */
typedef struct VocabProblem {
  const char *expected;      /* static */
  uint32_t token, merge;     /* position in its list, or UINT32_MAX */
} VocabProblem;

/* Writes the image to the empty buffer `image`. STATUS_MEMORY; STATUS_LIMIT, STATUS_DUPLICATE,
   STATUS_SHAPE with *problem. */
Status vocab_build(const Memory *memory, const VocabSource *source, Buffer *image, VocabProblem *problem);

#endif
