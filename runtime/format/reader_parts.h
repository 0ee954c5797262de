/*
** What the files of the reader share: reader.c reads a message and its plain
** members, reader_calls.c its calls, reader_content.c its content.
**
** All of these read what comes next at the cursor of the context; false: the
** cursor then holds the error.
*/
#ifndef EBB_FORMAT_READER_PARTS_H
#define EBB_FORMAT_READER_PARTS_H

#include <string.h>

#include "format/reader.h"

typedef struct Context {
  Reader *reader;
  Json *json;
  const char *start;         /* of the message: spans count from here */
} Context;

/* ---- words and spans ---- */

/* A word to compare with, its size at hand: most words differ in that already. */
#define WORD(letters) {.bytes = letters, .size = sizeof letters - 1}

static inline bool is_word(Text text, Text word) {
  if (!text.escaped) return text.size == word.size && memcmp(text.bytes, word.bytes, word.size) == 0;
  return text_equal(text, word);
}

static inline Span span_of(const Context *context, const char *bytes, size_t size, bool escaped) {
  return (Span){.at = (uint32_t)(bytes - context->start), .size = (uint32_t)size & 0x7fffffffu, .escaped = escaped};
}

static inline Span inside(const Context *context, const JsonValue *value) {
  return span_of(context, value->bytes + 1, value->size - 2, value->escaped);
}

static inline Span whole(const Context *context, const JsonValue *value) {
  return span_of(context, value->bytes, value->size, false);
}

/* ---- reading ---- */

/* The list with room for one more; NULL after it failed the cursor. */
void *reader_grow(const Context *context, void *list, uint32_t *room, uint32_t used, size_t size);
bool reader_add_call(const Context *context, Call call);
bool reader_add_result(const Context *context, Result result);

/* A string, or null for none, which leaves *span. */
bool reader_string(Context *context, Span *span, const char *expected);

/* A list of calls, or null; the one call of the legacy form, or null. */
bool reader_tool_calls(Context *context);
bool reader_function_call(Context *context);

/* A message's content: a string, parts, or null. */
bool reader_content(Context *context, MessageShape *shape);

#endif
