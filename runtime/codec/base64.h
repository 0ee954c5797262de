/*
** Base64 (RFC 4648, section 4): the standard alphabet, padded, without line
** breaks. Reading is strict, so that every byte string has one spelling.
*/
#ifndef EBB_CODEC_BASE64_H
#define EBB_CODEC_BASE64_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* 0 to 63, or -1 for what is no digit. */
int base64_digit(unsigned char c);

/* Bytes of the text that `size` bytes become; SIZE_MAX: more than there can be. */
size_t base64_encoded_size(size_t size);

/* Adds the text. STATUS_MEMORY: *out is as it was. */
Status base64_encode(const void *bytes, size_t size, Buffer *out);

/* Bytes that a text of `size` stands for, by its length and padding alone. */
size_t base64_decoded_size(const char *text, size_t size);

/* Writes what `text` stands for to `out`, which has room for base64_decoded_size
   bytes and does not overlap it. NULL when that is done; else what was expected
   at *offset (static words), and what is in `out` is no longer told. */
const char *base64_decode(const char *text, size_t size, char *out, size_t *offset);

#endif
