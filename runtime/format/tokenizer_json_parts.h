/*
** Shared by the files that read a tokenizer.json.
*/
#ifndef EBB_FORMAT_TOKENIZER_JSON_PARTS_H
#define EBB_FORMAT_TOKENIZER_JSON_PARTS_H

#include "format/tokenizer_json.h"
#include "json/json_fields.h"

typedef struct TokenizerReading {
  const char *start;         /* of the file */
  bool composed;
  bool byte_level;           /* there was a ByteLevel pre-tokenizer */
  TokenizerJson *read;
  TokenizerJsonError *error;
  Buffer scratch;
} TokenizerReading;

/* These set *error and return false. */
/* Reads the members of an object, called `expected` in errors. More than JSON_FIELDS_MAX
   and duplicates are refused: a member that is ignored could change a count. */
bool reading_fields(TokenizerReading *r, const JsonValue *object, const char *expected, JsonFields *fields);
bool reading_fail(TokenizerReading *r, Status status);
bool reading_refuse(TokenizerReading *r, const char *where, const char *expected, const char *name);
/* The error names the value of the member `key`, such as the object's type. */
bool reading_refuse_field(TokenizerReading *r, const JsonFields *fields, const char *expected, const char *key);

bool tokenizer_json_cuts(TokenizerReading *r, const JsonValue *value);
bool tokenizer_json_normalizer(TokenizerReading *r, const JsonValue *value);

/* The pattern of pretoken.h that is equal to an expression. */
bool tokenizer_json_known(const char *regex, PretokenPattern *pattern);

#endif
