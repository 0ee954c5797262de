/*
** Images: how many pixels one has, read from the first bytes of its file.
**
** PNG, JPEG, GIF and WebP are known. Nothing is unpacked; base64 is decoded as
** it is read, and no further than the size stands: a few bytes, or, in a JPEG,
** behind whatever its camera wrote before the picture.
*/
#ifndef EBB_CODEC_IMAGE_HEADER_H
#define EBB_CODEC_IMAGE_HEADER_H

#include "base/text.h"

#define IMAGE_BYTES_MAX ((size_t)20 << 20)   /* decoded; a larger file has no size here */
#define IMAGE_SIDE_MAX  65535u               /* pixels, as in JPEG; providers refuse far smaller ones */

typedef struct ImageSize {
  uint32_t width, height;    /* pixels, 1 to IMAGE_SIDE_MAX */
} ImageSize;

/* Of a data URI in base64, or of base64 alone; white space in it is skipped.
   False, and *size as it was: anything else, such as an http URL; a format that
   is not known; cut off, damaged or too large. */
bool image_size(Text source, ImageSize *size);

/* The same of the file itself. */
bool image_size_of_bytes(const char *bytes, size_t size, ImageSize *pixels);

#endif
