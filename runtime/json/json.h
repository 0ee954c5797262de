/*
** JSON in: a cursor over bytes that stay where they are.
**
** Everything that is passed over is validated (RFC 8259: grammar, escapes,
** paired surrogates, UTF-8, depth), nothing is allocated, and each value comes
** with its exact bytes. A typical reader:
**
**     json_open(&json, bytes, size);
**     json_enter(&json);                          the cursor stands before '{'
**     while (json_next_member(&json, &key))       false at '}' and on errors
**       json_value(&json, &value);                or enter a nested one
**     json_end(&json);                            nothing but white space is left
**
** The first error sticks: every later call answers false and changes nothing,
** so that a reader may check `status` once.
*/
#ifndef EBB_JSON_JSON_H
#define EBB_JSON_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"

/* Arrays and objects within each other, also when writing. */
#define JSON_DEPTH_MAX 256

typedef enum JsonKind {
  JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT
} JsonKind;

typedef struct JsonValue {
  JsonKind kind;
  bool escaped;          /* a string with escapes in it */
  const char *bytes;     /* the whole value, quotes and brackets included */
  size_t size;
} JsonValue;

typedef struct Json {
  const char *start, *at, *end;
  uint32_t depth;        /* brackets that are open */
  uint32_t depth_max;    /* JSON_DEPTH_MAX when opened; at most one more, for an envelope around messages */
  bool fresh;            /* just behind '[' or '{' */
  bool tolerant;         /* passes over invalid UTF-8 and lone surrogates; false when opened */
  Status status;         /* SYNTAX, ENCODING or LIMIT (depth) */
  const char *error;     /* where, between start and end */
  const char *expected;  /* what should have stood there; static text */
} Json;

void json_open(Json *json, const char *bytes, size_t size);

/* A cursor over one value. */
static inline void json_open_value(Json *json, const JsonValue *value) { json_open(json, value->bytes, value->size); }

/* Skips a byte order mark; the cursor is at the very start. */
void json_skip_mark(Json *json);

/* Skips white space; true if a newline was in it. */
bool json_skip_blank(Json *json);

/* The kind of the value that comes next, told by its first byte; skips white
   space only. */
bool json_peek(Json *json, JsonKind *kind);

/* Reads one whole value, nested ones included. */
bool json_value(Json *json, JsonValue *value);

/* Steps into the array or object that comes next. */
bool json_enter(Json *json);

/* Is there another element or member? If so the cursor stands before its value;
   if not, behind the closing bracket. */
bool json_next_element(Json *json);
bool json_next_member(Json *json, Text *key);

/* Only white space is left: else STATUS_SYNTAX. */
bool json_end(Json *json);

/* Notes an error of the caller's own at `where`; the first one sticks. Answers false. */
bool json_fail(Json *json, Status status, const char *where, const char *expected);

/* The inside of a string value. */
Text json_text(const JsonValue *value);

/* The value of a number without fraction or exponent within int64; else false. */
bool json_integer(const JsonValue *value, int64_t *integer);

#endif
