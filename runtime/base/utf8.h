/*
** UTF-8, strictly: no overlong forms, no surrogates, nothing beyond U+10FFFF.
*/
#ifndef EBB_BASE_UTF8_H
#define EBB_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decodes the code point at `at` into *point (may be NULL) and returns its bytes, 1 to
   4; 0 if there is no valid one before `end`. at < end. */
size_t utf8_decode(const char *at, const char *end, uint32_t *point);

/* The number of invalid bytes at `at` where utf8_decode returns 0: the longest start of
   a sequence, or one byte. One U+FFFD replaces all of them. */
size_t utf8_bad(const char *at, const char *end);

/* True if the bytes are the start of a code point that lacks at least one byte. at < end. */
bool utf8_is_start(const char *at, const char *end);

#define UTF8_REPLACEMENT "\xEF\xBF\xBD"   /* U+FFFD */

/* True if a terminal should not get the code point: a control, what turns the direction of a line, and what no terminal
   draws, such as the tags that can hide a text inside another. */
bool utf8_is_hidden(uint32_t point);

/* Copies a text into `out`, which has `room` bytes, with U+FFFD for invalid UTF-8, cut
   at a code point if it does not fit, and a NUL behind it. Returns the bytes before
   the NUL. room > 0. */
size_t utf8_copy(char *out, size_t room, const char *bytes, size_t size);

/* Encodes a code point (a scalar value) and returns its bytes, 1 to 4. */
size_t utf8_encode(uint32_t point, char out[4]);

/* Passes all valid code points beyond ASCII from `at` on: the first byte that is ASCII or invalid, or the end. */
const char *utf8_skip(const char *at, const char *end);

/* The offset of the first byte that is not part of valid UTF-8, or `size`. */
size_t utf8_check(const char *bytes, size_t size);

#endif
