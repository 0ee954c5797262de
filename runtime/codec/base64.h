/*
** Base64 (RFC 4648, section 4): the standard alphabet with padding and without line
** breaks. Decoding is strict: it refuses white space, missing padding, other alphabets and
** bits behind the last byte that are not zero, so that every byte string has one spelling.
*/
#ifndef EBB_CODEC_BASE64_H
#define EBB_CODEC_BASE64_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* The value of a digit, 0 to 63; -1 for other characters, the padding included. */
int base64_digit(unsigned char c);

/* The size of the encoded text for `size` bytes; SIZE_MAX if it does not fit in a size_t. */
size_t base64_encoded_size(size_t size);

/* Appends the encoded text. STATUS_MEMORY, also for a size that does not fit: *out is unchanged. */
Status base64_encode(const void *bytes, size_t size, Buffer *out);

/* The number of bytes that a text decodes to, judged by its length and padding alone. Digits
   behind the last group of four do not count: such a text is not valid. */
size_t base64_decoded_size(const char *text, size_t size);

/* Decodes `text` into `out`, which has room for base64_decoded_size bytes and does not
   overlap it. Returns NULL on success. On failure returns a static description of what was
   expected at *offset, in bytes from the start; then the contents of `out` are undefined. */
const char *base64_decode(const char *text, size_t size, char *out, size_t *offset);

#endif
