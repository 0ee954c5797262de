/*
** tokenizer.json: a vocabulary as Hugging Face's tokenizers write it.
**
** Read are byte-level BPE models with listed merges. What else such a file may
** ask for and would change the count of a text is refused by its name: other
** models, normalizers, ways to cut. Added tokens are decoded and never found:
** text that spells one is plain text.
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
  bool wholes;
} TokenizerJson;

typedef struct TokenizerJsonError {
  Status status;
  size_t offset;             /* in the file */
  const char *expected;      /* static text */
  char name[64];             /* what was refused; "" if it has none */
} TokenizerJsonError;

/* `composed`: texts are taken to be in Unicode's form NFC, so that a normalizer
   of that name has nothing to do. STATUS_MEMORY, or what *error says. Ended by
   tokenizer_json_free, also after a failure. */
Status tokenizer_json_read(const Memory *memory, const char *bytes, size_t size, bool composed, TokenizerJson *read,
                           TokenizerJsonError *error);
void   tokenizer_json_free(TokenizerJson *read);

#endif
