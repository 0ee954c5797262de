/*
** Base64 (RFC 4648, section 4): the standard alphabet with padding and without line
** breaks. Decoding is strict, so that every byte string has one spelling.
*/
#ifndef EBB_CODEC_BASE64_H
#define EBB_CODEC_BASE64_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* The value of a digit, 0 to 63, or -1. */
int base64_digit(unsigned char c);

/* The size of the encoded text for `size` bytes; SIZE_MAX if it does not fit in a size_t. */
size_t base64_encoded_size(size_t size);

/* Adds the encoded text. STATUS_MEMORY: *out is unchanged. */
Status base64_encode(const void *bytes, size_t size, Buffer *out);

/* The number of bytes that a text decodes to, judged by its length and padding alone. */
size_t base64_decoded_size(const char *text, size_t size);

/* Decodes `text` into `out`, which has room for base64_decoded_size bytes and does not
   overlap it. Returns NULL, or on failure a static description of what was expected
   at *offset; the contents of `out` are undefined then. */
const char *base64_decode(const char *text, size_t size, char *out, size_t *offset);

#endif
