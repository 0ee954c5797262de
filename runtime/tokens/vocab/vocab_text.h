/*
** Vocab text: reads `.tiktoken` files: a line per token with its bytes in base64, a space,
** and its rank.
**
**     IQ== 0
**     Ig== 1
**
** Ranks ascend; they are the ids.
*/
#ifndef EBB_TOKENS_VOCAB_TEXT_H
#define EBB_TOKENS_VOCAB_TEXT_H

#include "base/buffer.h"
#include "tokens/vocab/vocab_build.h"

typedef struct VocabText {
  Memory memory;
  VocabToken *tokens;        /* their bytes are in `bytes` */
  uint32_t count, room;
  Buffer bytes;
} VocabText;

/* The defect of a file. */
typedef struct VocabTextError {
  const char *expected;      /* static */
  uint32_t line;             /* from 1 */
} VocabTextError;

/* Reads a file; the caller frees *text, also after a failure. STATUS_MEMORY; STATUS_SYNTAX,
   STATUS_LIMIT with *error. */
Status vocab_text_read(const Memory *memory, const char *bytes, size_t size, VocabText *text, VocabTextError *error);
void   vocab_text_free(VocabText *text);

#endif
