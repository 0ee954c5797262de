/*
** UTF-8, strictly: no overlong forms, no surrogates, nothing beyond U+10FFFF.
*/
#ifndef EBB_BASE_UTF8_H
#define EBB_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes (1 to 4) of the code point that starts at `at`, or 0 if no valid one
   does before `end`. at < end. `*point` gets the code point; NULL: not wanted. */
size_t utf8_decode(const char *at, const char *end, uint32_t *point);

/* Bytes of what stands at `at` where utf8_decode answers 0: the longest start of
   a sequence, or one byte. One U+FFFD stands for all of them. */
size_t utf8_bad(const char *at, const char *end);

/* True if the bytes are the start of a code point that lacks at least one byte. at < end. */
bool utf8_is_start(const char *at, const char *end);

#define UTF8_REPLACEMENT "\xEF\xBF\xBD"   /* U+FFFD */

/* Copies a text into `out`, which has `room` bytes: U+FFFD stands for what is no UTF-8,
   what does not fit is cut off at a code point, and a NUL follows. Answers the bytes
   before that. room > 0. */
size_t utf8_copy(char *out, size_t room, const char *bytes, size_t size);

/* Writes a code point (a scalar value) and answers its bytes, 1 to 4. */
size_t utf8_encode(uint32_t point, char out[4]);

/* Offset of the first byte that is not part of valid UTF-8, or `size`. */
size_t utf8_check(const char *bytes, size_t size);

#endif
