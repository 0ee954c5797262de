/*
** tokenizer.json: reads vocabularies of Hugging Face's tokenizers.
**
** Supports byte-level BPE models with listed merges. Everything else that would change
** the count of a text is refused by its name: other models, normalizers, pre-tokenizers.
** Added tokens can be decoded, but are never recognized in texts.
*/
#ifndef EBB_FORMAT_TOKENIZER_JSON_H
#define EBB_FORMAT_TOKENIZER_JSON_H

#include "base/buffer.h"
#include "json/json.h"
#include "tokens/vocab_build.h"

typedef struct TokenizerJson {
  Memory memory;
  VocabToken *tokens;
  uint32_t count, token_room;
  VocabMerge *merges;
  uint32_t merge_count, merge_room;
  Buffer bytes;              /* of tokens and merges */
  Buffer regex;              /* as in VocabSource */
  PretokenPattern pattern;
  bool wholes;               /* as in VocabSource */
} TokenizerJson;

typedef struct TokenizerJsonError {
  Status status;
  size_t offset;             /* in the file */
  const char *expected;      /* static text */
  char name[64];             /* of the refused member or type; "" if it has none */
} TokenizerJsonError;

/* Reads a file. `composed`: all texts are assumed to be in Unicode's form NFC, so that a
   normalizer of that name has no effect. Call tokenizer_json_free in any case. On failure
   *error has the status: STATUS_SYNTAX, STATUS_ENCODING, STATUS_LIMIT (of JSON); STATUS_SHAPE (an
   unsupported or invalid file); STATUS_MEMORY. */
Status tokenizer_json_read(const Memory *memory, const char *bytes, size_t size, bool composed, TokenizerJson *read,
                           TokenizerJsonError *error);
void   tokenizer_json_free(TokenizerJson *read);

#endif
