/*
** Image headers: the media type of an image and its size in pixels, from the first bytes of its file.
**
** Knows the size of PNG, JPEG, GIF and WebP. Nothing is unpacked, and base64 is decoded only as
** far as needed: a few bytes, or, for a JPEG, the segments before its frame.
*/
#ifndef EBB_CODEC_IMAGE_HEADER_H
#define EBB_CODEC_IMAGE_HEADER_H

#include "base/text.h"

#define IMAGE_BYTES_MAX ((size_t)20 << 20)   /* decoded; larger files are refused */
#define IMAGE_SIDE_MAX  65535u               /* pixels, as in JPEG; providers refuse far smaller ones */

typedef struct ImageSize {
  uint32_t width, height;    /* pixels, 1 to IMAGE_SIDE_MAX */
} ImageSize;

/* The size of an image in a data URI in base64, or in plain base64; white space is
   skipped. False, and *size unchanged, for other texts such as http URLs, unknown
   formats, and files that are truncated, damaged or too large. */
bool image_size(Text source, ImageSize *size);

/* The media type that the bytes of an image tell, static: "image/png", "image/jpeg", "image/gif" or "image/webp", and
   of those that no provider takes "image/bmp", "image/tiff", "image/heic" or "image/avif". NULL: none of these. The
   source is as for image_size. */
const char *image_type(Text source);

/* As image_size, for the bytes of the file. */
bool image_size_of_bytes(const char *bytes, size_t size, ImageSize *pixels);

#endif
