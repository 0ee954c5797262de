/*
** Sink: a destination for bytes. Writers stop at the first status other than STATUS_OK
** and return it.
*/
#ifndef EBB_BASE_SINK_H
#define EBB_BASE_SINK_H

#include "base/buffer.h"

/* The bytes are borrowed during the call. */
typedef struct Sink {
  Status (*write)(void *user, const char *bytes, size_t size);
  void *user;
} Sink;

/* The function of sink_to_buffer. STATUS_MEMORY. */
static inline Status sink_add_to_buffer(void *user, const char *bytes, size_t size) {
  return buffer_add(user, bytes, size);
}

/* A sink that appends to a buffer, which must outlive it. */
static inline Sink sink_to_buffer(Buffer *buffer) { return (Sink){.write = sink_add_to_buffer, .user = buffer}; }

#endif
