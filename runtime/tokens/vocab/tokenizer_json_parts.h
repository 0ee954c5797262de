/*
** Shared by the files that read a tokenizer.json.
*/
#ifndef EBB_TOKENS_TOKENIZER_JSON_PARTS_H
#define EBB_TOKENS_TOKENIZER_JSON_PARTS_H

#include "tokens/vocab/tokenizer_json.h"
#include "base/map.h"
#include "json/json_fields.h"
#include "tokens/pretoken/text_form.h"

typedef struct TokenizerReading {
  const char *start;         /* of the file */
  bool composed;
  bool byte_level;           /* there was a ByteLevel pre-tokenizer */
  bool characters;           /* a model with byte_fallback */
  Map added;                 /* ids of added tokens -> their atoms, as below */
  TokenizerJson *read;
  TokenizerJsonError *error;
  Buffer scratch;
} TokenizerReading;

/* An atom whose token is still to be added: its position, and its bytes in atom_bytes. */
#define ADDED_DONE UINT64_MAX    /* of special tokens, and of atoms whose token is in the vocabulary */
static inline uint64_t added_value(uint32_t atom, size_t offset) { return (uint64_t)offset << 32 | atom; }
static inline uint32_t added_atom(uint64_t value) { return (uint32_t)value; }
static inline size_t   added_offset(uint64_t value) { return (size_t)(value >> 32); }

/* These set *error and return false. */
/* Reads the members of an object, called `expected` in errors. More than JSON_FIELDS_MAX
   and duplicates are refused: a member that is ignored could change a count. */
bool reading_fields(TokenizerReading *r, const JsonValue *object, const char *expected, JsonFields *fields);
bool reading_fail(TokenizerReading *r, Status status);
bool reading_refuse(TokenizerReading *r, const char *where, const char *expected, const char *name);
/* The error names the value of the member `key`, such as the object's type. */
bool reading_refuse_field(TokenizerReading *r, const JsonFields *fields, const char *expected, const char *key);

/* Decodes the contents of a JSON string; valid until the next call. */
bool reading_plain(TokenizerReading *r, Text text, Text *plain);
bool reading_id(TokenizerReading *r, const JsonValue *value, uint32_t *id);
/* Adds a token whose bytes are those of read->bytes from `start` on. */
bool reading_add_token(TokenizerReading *r, size_t start, VocabToken token);

/* Reads the list of added tokens. */
bool tokenizer_json_added(TokenizerReading *r, const JsonValue *value);
/* Adds tokens for atoms that the model's vocabulary lacks. */
bool tokenizer_json_add_atoms(TokenizerReading *r);

/* ---- models with byte_fallback ---- */

/* The byte of a token "<0x0A>", or -1. */
int  tokenizer_json_byte(Text name);
/* Appends the text of a token or of half a merge. STATUS_MEMORY. */
Status tokenizer_json_characters(const TokenizerReading *r, Text name, Buffer *out);
/* Completes a vocabulary that was read: adds the tokens of bytes, by their ids, and those with which its characters
   are made of bytes, then the merges that make them. `where` is the vocabulary, for errors. */
bool tokenizer_json_complete(TokenizerReading *r, const char *where, const uint32_t byte_ids[256]);

bool tokenizer_json_cuts(TokenizerReading *r, const JsonValue *value);
bool tokenizer_json_normalizer(TokenizerReading *r, const JsonValue *value);

/* The pattern of pretoken.h that is equal to an expression. */
bool tokenizer_json_known(const char *regex, PretokenPattern *pattern);

#endif
