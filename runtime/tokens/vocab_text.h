/*
** `.tiktoken` files: a line per token, its bytes in base64, a space, its rank.
**
**     IQ== 0
**     Ig== 1
**
** Ranks ascend; they are the ids.
*/
#ifndef EBB_TOKENS_VOCAB_TEXT_H
#define EBB_TOKENS_VOCAB_TEXT_H

#include "base/buffer.h"
#include "tokens/vocab_build.h"

typedef struct VocabText {
  Memory memory;
  VocabToken *tokens;        /* bytes lie in `bytes` */
  uint32_t count, room;
  Buffer bytes;
} VocabText;

/* What was wrong, and in which line (from 1); the words are static. */
typedef struct VocabTextError {
  const char *expected;
  uint32_t line;
} VocabTextError;

/* STATUS_MEMORY, STATUS_SYNTAX, STATUS_LIMIT. Ended by vocab_text_free, also after a failure. */
Status vocab_text_read(const Memory *memory, const char *bytes, size_t size, VocabText *text, VocabTextError *error);
void   vocab_text_free(VocabText *text);

#endif
