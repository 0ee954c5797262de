/*
** Making the image of a vocabulary (vocab.h) from its tokens and merges.
**
** Two kinds are known: in the one a pair of tokens merges if their bytes make up
** a token, the one of the lowest rank first (`.tiktoken`); in the other the
** merges are listed, first come first merged (tokenizer.json). Encoding by the
** image is exact for both, because what cannot be encoded exactly is refused:
** a vocabulary without one of the 256 single bytes, and one in which a token is
** merged before its own halves are (no training makes such a one).
*/
#ifndef EBB_TOKENS_VOCAB_BUILD_H
#define EBB_TOKENS_VOCAB_BUILD_H

#include "base/buffer.h"
#include "tokens/vocab.h"

#define VOCAB_TOKENS_MAX 1000000    /* ids, too, are below four times that */
#define VOCAB_TOKEN_BYTES_MAX 2047

typedef struct VocabToken {
  const char *bytes;         /* the caller's, until the image is made */
  uint32_t size;
  uint32_t id;
  bool special;              /* only decoded, never found in a text */
} VocabToken;

typedef struct VocabMerge {
  const char *bytes;         /* of the left token, and behind them those of the right one */
  uint32_t left_size, right_size;
} VocabMerge;

typedef struct VocabSource {
  const char *name;
  PretokenPattern pattern;
  const char *regex;         /* PRETOKEN_REGEX: see vocab_regex */
  size_t regex_size;         /* with all the NULs */
  const VocabToken *tokens;  /* where ranks decide: in their order */
  uint32_t count;
  const VocabMerge *merges;  /* in their order; NULL: ranks decide */
  uint32_t merge_count;
  bool wholes;               /* a pretoken that is a token is one, whether merges lead there or not */
  uint8_t sha256[32];        /* of what the tokens were read from */
} VocabSource;

/* What is wrong with a source; the words are static. */
typedef struct VocabProblem {
  const char *expected;
  uint32_t token, merge;     /* position in its list, or UINT32_MAX */
} VocabProblem;

/* Adds the image to the empty `image`. STATUS_MEMORY, STATUS_LIMIT, STATUS_DUPLICATE,
   STATUS_SHAPE; *problem is set for all but the first. */
Status vocab_build(const Memory *memory, const VocabSource *source, Buffer *image, VocabProblem *problem);

#endif
