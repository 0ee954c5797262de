/*
** Text: a piece of somebody else's bytes, UTF-8.
**
** Messages keep their original JSON, so most texts are the inside of a JSON
** string, escapes and all: `escaped` says so. Whoever made the Text has checked
** that its escapes and its UTF-8 are valid, but for half a surrogate pair, which
** a lenient reading meets before it is mended: it reads as U+FFFD.
**
** `text_run` reads either kind as plain bytes, without a copy where there is
** nothing to undo:
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

Text text_of(const char *string);                      /* a C string, plain */
Text text_plain(const char *bytes, size_t size);

/* Copies the bytes as they stand into a new block of text.size bytes; NULL for an
   empty text. STATUS_MEMORY. */
Status text_copy(const Memory *memory, Text text, char **copy);

/* Order of two plain texts by their bytes: below, equal to or above 0. */
int text_compare(Text a, Text b);

/* Takes the next run of plain bytes off `rest`; false at the end. The run
   points into `rest`, or into `scratch` for what an escape stood for. */
bool text_run(Text *rest, char scratch[4], Text *run);

/* Plain bytes in all. O(size). */
size_t text_plain_size(Text text);

/* Adds the plain bytes. */
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

/* Adds `text` as the inside of a JSON string, escaping what must be, with U+FFFD for
   what is no UTF-8: names and errors may come from anywhere. Texts that are escaped
   already go out as they are. */
Status text_escape(Text text, Buffer *out);

#endif
