/*
** Text: a borrowed slice of UTF-8; its owner keeps the bytes alive.
**
** Messages keep their original JSON, so most texts are the inside of a JSON string.
** `escaped` is true if it has escapes. Escapes and UTF-8 are valid, except for half
** a surrogate pair, which lenient readings pass on: it reads as U+FFFD.
**
** `text_run` yields both kinds as plain bytes, copying only decoded escapes:
**
**     escaped bytes   one\ntwo\u00e9
**     runs            "one"  "\n"  "two"  "é"
*/
#ifndef EBB_BASE_TEXT_H
#define EBB_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buffer.h"

typedef struct Text {
  const char *bytes;
  size_t size;
  bool escaped;      /* the inside of a JSON string that has escapes */
} Text;

Text text_of(const char *string);                      /* of a C string */
Text text_plain(const char *bytes, size_t size);

/* Copies the bytes as they stand into a new block of text.size bytes; NULL for an
   empty text. STATUS_MEMORY. */
Status text_copy(const Memory *memory, Text text, char **copy);

/* Order of two plain texts by their bytes: below, equal to or above 0. */
int text_compare(Text a, Text b);

/* Removes the next run of plain bytes from the front of `rest`; false at the end. The
   run points into `rest`, or into `scratch` for a decoded escape. */
bool text_run(Text *rest, char scratch[4], Text *run);

/* The number of plain bytes. O(size). */
size_t text_plain_size(Text text);

/* Adds the plain bytes to `out`. STATUS_MEMORY. */
Status text_decode(Text text, Buffer *out);

/* True if both have the same characters, escaped or not. */
bool text_equal(Text a, Text b);

/* True if the text is this C string. For literals faster than text_equal. */
static inline bool text_is(Text text, const char *string) {
  size_t size = strlen(string);
  if (text.escaped) return text_equal(text, (Text){.bytes = string, .size = size});
  return text.size == size && (size == 0 || memcmp(text.bytes, string, size) == 0);
}

/* True if `text` begins with the plain `prefix`. */
bool text_starts_with(Text text, Text prefix);

/* Adds `text` as the inside of a JSON string, with escapes where JSON needs them and
   U+FFFD for invalid UTF-8, which names and errors may have. Escaped texts are added
   as they are. STATUS_MEMORY: *out is unchanged. */
Status text_escape(Text text, Buffer *out);

#endif
