/*
** Buffer: bytes that grow by doubling, so that adding costs O(1) on average.
*/
#include "base/buffer.h"

#include <stdint.h>
#include <string.h>

enum { BUFFER_FIRST = 64 };   /* bytes of the first block */

void buffer_init(Buffer *buffer, Memory memory) {
  *buffer = (Buffer){.memory = memory};
}

void buffer_free(Buffer *buffer) {
  memory_free(&buffer->memory, buffer->bytes, buffer->capacity);
  buffer_init(buffer, buffer->memory);
}

void buffer_reset(Buffer *buffer) {
  buffer->size = 0;
}

Status buffer_reserve(Buffer *buffer, size_t extra) {
  if (extra <= buffer->capacity - buffer->size) return STATUS_OK;
  if (extra > SIZE_MAX - buffer->size) return STATUS_MEMORY;
  size_t needed = buffer->size + extra;
  size_t capacity = buffer->capacity > SIZE_MAX / 2 ? needed : buffer->capacity * 2;
  if (capacity < BUFFER_FIRST) capacity = BUFFER_FIRST;
  if (capacity < needed) capacity = needed;
  char *bytes = memory_resize_array(&buffer->memory, buffer->bytes, buffer->capacity, capacity, 1);
  if (bytes == NULL) return STATUS_MEMORY;
  buffer->bytes = bytes;
  buffer->capacity = capacity;
  return STATUS_OK;
}

Status buffer_add(Buffer *buffer, const void *bytes, size_t size) {
  if (size == 0) return STATUS_OK;   /* memcpy takes no NULL, whatever the size */
  Status status = buffer_reserve(buffer, size);
  if (status != STATUS_OK) return status;
  memcpy(buffer->bytes + buffer->size, bytes, size);
  buffer->size += size;
  return STATUS_OK;
}

Status buffer_add_string(Buffer *buffer, const char *string) {
  return buffer_add(buffer, string, strlen(string));
}

Status buffer_add_byte(Buffer *buffer, char byte) {
  return buffer_add(buffer, &byte, 1);
}

void buffer_trim(Buffer *buffer) {
  if (buffer->size == buffer->capacity) return;
  if (buffer->size == 0) {
    buffer_free(buffer);
    return;
  }
  char *bytes = memory_resize_array(&buffer->memory, buffer->bytes, buffer->capacity, buffer->size, 1);
  if (bytes == NULL) return;
  buffer->bytes = bytes;
  buffer->capacity = buffer->size;
}
