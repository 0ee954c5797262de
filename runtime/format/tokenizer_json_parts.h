/*
** What the two files that read a tokenizer.json share.
*/
#ifndef EBB_FORMAT_TOKENIZER_JSON_PARTS_H
#define EBB_FORMAT_TOKENIZER_JSON_PARTS_H

#include "format/tokenizer_json.h"

typedef struct Reading {
  const char *start;         /* of the file */
  bool composed;
  bool byte_level;           /* a ByteLevel pre-tokenizer was there */
  TokenizerJson *read;
  TokenizerJsonError *error;
  Buffer scratch;
} Reading;

/* The members of one object. More than FIELDS_MAX, or one twice, are refused: what is
   not looked at could change a count. */
enum { FIELDS_MAX = 24 };

typedef struct Fields {
  const char *start;         /* of the object */
  uint32_t count;
  Text names[FIELDS_MAX];
  JsonValue values[FIELDS_MAX];
} Fields;

/* These answer false once *error says why. */
bool fields_read(Reading *r, const JsonValue *object, Fields *fields);
bool reading_fail(Reading *r, Status status);
bool reading_refuse(Reading *r, const char *where, const char *expected, const char *name);
/* Names what the object has as `key`, such as its type. */
bool reading_refuse_field(Reading *r, Fields *fields, const char *expected, const char *key);

JsonValue *field(Fields *fields, const char *name);     /* NULL: there is none */
bool field_is(Fields *fields, const char *name, const char *string);

bool tokenizer_json_cuts(Reading *r, JsonValue *value);
bool tokenizer_json_normalizer(Reading *r, JsonValue *value);

/* The pattern of pretoken.h that is the same as an expression. */
bool tokenizer_json_known(const char *regex, PretokenPattern *pattern);

#endif
