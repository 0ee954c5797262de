/*
** Buffer: a growing block of bytes. buffer_init before first use, buffer_free at the
** end; buffer_reset empties it for reuse.
*/
#ifndef EBB_BASE_BUFFER_H
#define EBB_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/memory.h"
#include "base/status.h"

typedef struct Buffer {
  Memory memory;
  char *bytes;       /* NULL before the first byte is added */
  size_t size;       /* used */
  size_t capacity;
} Buffer;

void buffer_init(Buffer *buffer, Memory memory);
void buffer_free(Buffer *buffer);
void buffer_reset(Buffer *buffer);   /* empties the buffer and keeps its block */

/* Makes room for `extra` more bytes. STATUS_MEMORY, here and below. */
Status buffer_reserve(Buffer *buffer, size_t extra);
/* Append bytes: a block, a C string without its NUL, one byte. */
Status buffer_add(Buffer *buffer, const void *bytes, size_t size);
Status buffer_add_string(Buffer *buffer, const char *string);
Status buffer_add_byte(Buffer *buffer, char byte);
/* Shrinks the block to the bytes in use, if there is memory for that. */
void   buffer_trim(Buffer *buffer);

#endif
