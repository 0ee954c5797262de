/*
** What the two files that read a tokenizer.json share.
*/
#ifndef EBB_FORMAT_TOKENIZER_JSON_PARTS_H
#define EBB_FORMAT_TOKENIZER_JSON_PARTS_H

#include "format/tokenizer_json.h"
#include "json/json_fields.h"

typedef struct Reading {
  const char *start;         /* of the file */
  bool composed;
  bool byte_level;           /* a ByteLevel pre-tokenizer was there */
  TokenizerJson *read;
  TokenizerJsonError *error;
  Buffer scratch;
} Reading;

/* These answer false once *error says why. */
/* The members of an object. More than JSON_FIELDS_MAX, or one twice, are refused: a
   member that is ignored could change a count. `expected`: the object. */
bool reading_fields(Reading *r, const JsonValue *object, const char *expected, JsonFields *fields);
bool reading_fail(Reading *r, Status status);
bool reading_refuse(Reading *r, const char *where, const char *expected, const char *name);
/* Names what the object has as `key`, such as its type. */
bool reading_refuse_field(Reading *r, const JsonFields *fields, const char *expected, const char *key);

bool tokenizer_json_cuts(Reading *r, const JsonValue *value);
bool tokenizer_json_normalizer(Reading *r, const JsonValue *value);

/* The pattern of pretoken.h that is the same as an expression. */
bool tokenizer_json_known(const char *regex, PretokenPattern *pattern);

#endif
