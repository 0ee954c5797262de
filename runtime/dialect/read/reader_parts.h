/*
** Shared by the files of the reader: reader.c reads a message and its plain members,
** reader_calls.c its calls, reader_content.c its content, reader_untyped.c the parts under
** "parts", reader_item.c items.
**
** All functions read the next value at the context's cursor; false on failure, and the
** cursor has the error.
*/
#ifndef EBB_DIALECT_READER_PARTS_H
#define EBB_DIALECT_READER_PARTS_H

#include <assert.h>
#include <string.h>

#include "dialect/read/reader.h"

typedef struct ReaderContext {
  Reader *reader;
  Json *json;
  const char *start;         /* of the message; spans are relative to it */
} ReaderContext;

/* ---- words and spans ---- */

/* A word with its size, in which most words differ already. */
#define WORD(letters) {.bytes = letters, .size = sizeof letters - 1}

static inline bool is_word(Text text, Text word) {
  if (!text.escaped) return text.size == word.size && memcmp(text.bytes, word.bytes, word.size) == 0;
  return text_equal(text, word);
}

static inline Span span_of(const ReaderContext *context, const char *bytes, size_t size, bool escaped) {
  assert(bytes > context->start && bytes + size <= context->json->end);
  return (Span){.at = (uint32_t)(bytes - context->start), .size = (uint32_t)size & 0x7fffffffu, .escaped = escaped};
}

static inline Span contents_span(const ReaderContext *context, const JsonValue *value) {
  return span_of(context, value->bytes + 1, value->size - 2, value->escaped);
}

static inline Span value_span(const ReaderContext *context, const JsonValue *value) {
  return span_of(context, value->bytes, value->size, false);
}

static inline bool json_is_list(const JsonValue *value) { return value->bytes != NULL && value->kind == JSON_ARRAY; }

/* The inside of a string; absent for other values and without a value. */
static inline Span string_span(const ReaderContext *context, const JsonValue *value) {
  bool is_string = value->bytes != NULL && value->kind == JSON_STRING;
  return is_string ? contents_span(context, value) : (Span){0};
}

/* True for the types of parts that refer to files, in the form of no provider. */
static inline bool reader_type_refers(Text type) {
  return is_word(type, (Text)WORD("asset_reference")) || is_word(type, (Text)WORD("asset"));
}

/* ---- reading ---- */

/* Makes room in a list for one more element. NULL on failure; the cursor has the error. */
void *reader_grow(const ReaderContext *context, void *list, uint32_t *room, uint32_t used, size_t size);
bool reader_add_call(const ReaderContext *context, Call call);
bool reader_add_result(const ReaderContext *context, Result result);
bool reader_add_part(const ReaderContext *context, Part part);

/* Reads a string; null leaves *span unchanged. */
bool reader_string(ReaderContext *context, Span *span, const char *expected);

/* Reads a list of calls, or null; the one call of the legacy form, or null. */
bool reader_tool_calls(ReaderContext *context);
bool reader_function_call(ReaderContext *context);

/* Reads a message's content: a string, parts, or null. */
bool reader_content(ReaderContext *context, MessageShape *shape);
/* Adds the parts of a list that was read, or the one part that another value is. */
bool reader_parts_of(ReaderContext *context, const JsonValue *value, bool nested);

/* Reads a message's parts that have no type: a list, or the only one. */
bool reader_untyped_parts(ReaderContext *context, MessageShape *shape);

/* True if `type` is that of an item; *has_role: one that has a role. */
bool reader_is_item(Text type, bool *has_role);
/* Reads the item at context->start, whose `size` bytes are valid, into a shape whose plain members are
   read. Its type need not be known. */
bool reader_item(ReaderContext *context, size_t size, MessageShape *shape);

#endif
