/*
** JSON in: a cursor over bytes.
**
** Everything that the cursor skips is validated (RFC 8259: grammar, escapes, paired
** surrogates, UTF-8, depth), nothing is allocated, and each value has its exact bytes.
** A typical reader:
**
**     json_open(&json, bytes, size);
**     json_enter(&json);                          the cursor is before '{'
**     while (json_next_member(&json, &key))       false at '}' and on errors
**       json_value(&json, &value);                or enter a nested one
**     json_end(&json);                            fails unless only white space is left
**
** The first error sticks: every later call returns false and changes nothing, so that
** a reader may check `status` once.
*/
#ifndef EBB_JSON_JSON_H
#define EBB_JSON_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"

/* Nested arrays and objects, also for writers. */
#define JSON_DEPTH_MAX 256
/* Levels of a saved conversation around its messages, which may have JSON_DEPTH_MAX levels of their own. */
#define JSON_ENVELOPE 2

typedef enum JsonKind {
  JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT
} JsonKind;

typedef struct JsonValue {
  JsonKind kind;
  bool escaped;          /* a string that has escapes */
  const char *bytes;     /* the whole value, quotes and brackets included */
  size_t size;
} JsonValue;

typedef struct Json {
  const char *start, *at, *end;
  uint32_t depth;        /* brackets that are open */
  uint32_t depth_max;    /* JSON_DEPTH_MAX when opened; at most JSON_ENVELOPE more */
  bool fresh;            /* just behind '[' or '{' */
  bool tolerant;         /* accepts invalid UTF-8 and lone surrogates; false when opened */
  bool valid;            /* the bytes are known to be JSON: strings are passed without a look at what is in them */
  Status status;         /* SYNTAX, ENCODING or LIMIT (depth) */
  const char *error;     /* where, between start and end */
  const char *expected;  /* what was expected there; static text */
} Json;

void json_open(Json *json, const char *bytes, size_t size);

/* The same over bytes that a tolerant cursor has passed before. */
void json_open_valid(Json *json, const char *bytes, size_t size);

/* A cursor over one value. */
static inline void json_open_value(Json *json, const JsonValue *value) { json_open(json, value->bytes, value->size); }

/* Skips a byte order mark, if one is at the cursor. */
void json_skip_mark(Json *json);

/* Skips white space; true if a newline was in it. */
bool json_skip_blank(Json *json);

/* The kind of the next value, by its first byte. Skips only white space. */
bool json_peek(Json *json, JsonKind *kind);

/* Reads the next value with all its contents. */
bool json_value(Json *json, JsonValue *value);

/* Enters the next value, an array or object. */
bool json_enter(Json *json);

/* Moves to the value of the next element or member; false at the end, and the cursor is
   behind the closing bracket then. */
bool json_next_element(Json *json);
bool json_next_member(Json *json, Text *key);

/* Fails with STATUS_SYNTAX unless only white space is left. */
bool json_end(Json *json);

/* Records an error of the caller at `where`, unless there is one already. Returns false. */
bool json_fail(Json *json, Status status, const char *where, const char *expected);

/* The contents of a string value. */
Text json_text(const JsonValue *value);

/* The value of a whole number, written without fraction and exponent; false for other
   values and beyond int64. */
bool json_integer(const JsonValue *value, int64_t *integer);

#endif
