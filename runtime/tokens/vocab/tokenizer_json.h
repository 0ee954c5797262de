/*
** tokenizer.json: reads vocabularies of Hugging Face's tokenizers.
**
** Supports BPE models with listed merges, of two kinds: byte-level ones, whose merging
** starts with bytes, and those with byte_fallback, which come from SentencePiece: they write
** a space as U+2581, start with characters, and take bytes for characters that they lack.
** Everything else that would change the count of a text is refused by its name: other
** models, normalizers, pre-tokenizers.
**
** Added tokens that are special can be decoded, but are never recognized in texts; the
** others are atoms (vocab_build.h).
*/
#ifndef EBB_TOKENS_TOKENIZER_JSON_H
#define EBB_TOKENS_TOKENIZER_JSON_H

#include "base/buffer.h"
#include "json/json.h"
#include "tokens/vocab/vocab_build.h"

typedef struct TokenizerJson {
  Memory memory;
  VocabToken *tokens;
  uint32_t count, token_room;
  VocabMerge *merges;
  uint32_t merge_count, merge_room;
  Buffer bytes;              /* of tokens and merges */
  VocabAtom *atoms;
  uint32_t atom_count, atom_room;
  Buffer atom_bytes;
  unsigned forms;            /* text_form.h */
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
   normalizer of that name is left out. Call tokenizer_json_free in any case. On failure
   *error has the status: STATUS_SYNTAX, STATUS_ENCODING, STATUS_LIMIT (of JSON); STATUS_SHAPE (an
   unsupported or invalid file); STATUS_MEMORY. */
Status tokenizer_json_read(const Memory *memory, const char *bytes, size_t size, bool composed, TokenizerJson *read,
                           TokenizerJsonError *error);
void   tokenizer_json_free(TokenizerJson *read);

#endif
