/*
** JSON fields: the members of an object, read at once and then looked up by name.
**
**     JsonFields fields;
**     if (!json_enter(&json) || !json_fields_read(&json, &fields)) return false;   the cursor holds the error
**     const JsonValue *model = json_field(&fields, "model");
**
** For objects of few members without duplicates. Names and values point into the bytes
** of the cursor.
*/
#ifndef EBB_JSON_JSON_FIELDS_H
#define EBB_JSON_JSON_FIELDS_H

#include "json/json.h"

#define JSON_FIELDS_MAX 24

typedef struct JsonFields {
  const char *start;         /* the opening bracket */
  uint32_t count;
  Text names[JSON_FIELDS_MAX];
  JsonValue values[JSON_FIELDS_MAX];
} JsonFields;

/* Reads all members; the cursor is behind '{' and moves behind '}'. STATUS_SHAPE at a
   duplicate name, and at the first member too many. */
bool json_fields_read(Json *json, JsonFields *fields);

/* The value of a member; NULL if there is none. */
const JsonValue *json_field(const JsonFields *fields, const char *name);
/* The same, NULL also if it is not of this kind. */
const JsonValue *json_field_of(const JsonFields *fields, const char *name, JsonKind kind);
/* True if the member is this string. */
bool json_field_is(const JsonFields *fields, const char *name, const char *string);

/* Puts the values in the order of `names`; bytes NULL: absent. STATUS_SHAPE with
   `expected` at a name that is not among them, or behind the object where one of the
   first `required` is missing. */
bool json_fields_sort(Json *json, const JsonFields *fields, const char *const names[], uint32_t count,
                      uint32_t required, const char *expected, JsonValue values[]);

/* Looks for a member of a valid object (lone surrogates allowed), the last one of this
   name and kind, as readers of messages do. */
bool json_find(Text object, const char *name, JsonKind kind, JsonValue *value);

/* False if a value has at most so many levels for sure: it has no more brackets that open. */
bool json_may_be_deep(Text value, uint32_t levels);

#endif
