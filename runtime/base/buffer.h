/*
** Buffer: bytes that grow. The owner makes it with buffer_init and ends it with
** buffer_free; in between it may be reset and used again.
*/
#ifndef EBB_BASE_BUFFER_H
#define EBB_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/memory.h"
#include "base/status.h"

typedef struct Buffer {
  Memory memory;
  char *bytes;       /* NULL while nothing was ever added */
  size_t size;       /* used */
  size_t capacity;
} Buffer;

void buffer_init(Buffer *buffer, Memory memory);
void buffer_free(Buffer *buffer);
void buffer_reset(Buffer *buffer);   /* empty again, its room kept */

/* Room for `extra` more bytes. STATUS_MEMORY: the buffer is as it was. */
Status buffer_reserve(Buffer *buffer, size_t extra);
Status buffer_add(Buffer *buffer, const void *bytes, size_t size);
Status buffer_add_string(Buffer *buffer, const char *string);
Status buffer_add_byte(Buffer *buffer, char byte);
/* Gives back the room that is not used. */
void   buffer_trim(Buffer *buffer);

#endif
