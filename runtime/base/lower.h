/*
** Small letters, for searches without case: as JavaScript's toLowerCase, so that keywords of other programs match
** the same texts. One difference: the Greek final sigma becomes the common one, in keywords and texts alike.
*/
#ifndef EBB_BASE_LOWER_H
#define EBB_BASE_LOWER_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/text.h"

/* The small letter of a code point; the code point itself if it has none. */
uint32_t lower_point(uint32_t point);

/* Adds a plain text in small letters to `out`. Invalid bytes are added as they are. STATUS_MEMORY: *out is
   unchanged. */
Status   lower_text(Text text, Buffer *out);

#endif
