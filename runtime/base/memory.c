/*
** Memory: checked sizes over the host's allocator; and the codes of statuses, such as its failure.
*/
#include "base/memory.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

static void *system_allocate(void *user, void *block, size_t old_size, size_t new_size) {
  (void)user;
  (void)old_size;
  if (new_size > 0) return realloc(block, new_size);
  free(block);
  return NULL;
}

Memory memory_system(void) {
  return (Memory){.allocate = system_allocate, .user = NULL};
}

void *memory_new(const Memory *memory, size_t size) {
  assert(size > 0);
  return memory->allocate(memory->user, NULL, 0, size);
}

void *memory_new_array(const Memory *memory, size_t count, size_t size) {
  return memory_resize_array(memory, NULL, 0, count, size);
}

void *memory_resize_array(const Memory *memory, void *block, size_t old_count, size_t new_count, size_t size) {
  assert(size > 0 && new_count > 0);   /* 0 would free the block, and NULL would look like a failure */
  assert((block == NULL) == (old_count == 0));
  if (new_count > SIZE_MAX / size) return NULL;
  return memory->allocate(memory->user, block, old_count * size, new_count * size);
}

void *memory_grow(const Memory *memory, void *list, uint32_t *room, uint32_t used, size_t size) {
  if (used < *room) return list;
  uint32_t doubled = *room == 0 ? 8 : *room * 2;
  if (doubled <= *room) return NULL;
  void *grown = memory_resize_array(memory, list, *room, doubled, size);
  if (grown != NULL) *room = doubled;
  return grown;
}

char *memory_copy_string(const Memory *memory, const char *string) {
  size_t size = strlen(string) + 1;
  char *copy = memory_new(memory, size);
  return copy != NULL ? memcpy(copy, string, size) : NULL;
}

void memory_free_string(const Memory *memory, char *string) {
  if (string != NULL) memory_free(memory, string, strlen(string) + 1);
}

void memory_free(const Memory *memory, void *block, size_t size) {
  if (block != NULL) memory->allocate(memory->user, block, size, 0);
}

/* ---- statuses: the codes that users see ---- */

const char *status_code(Status status) {
  switch (status) {
    case STATUS_OK: return "ok";
    case STATUS_MEMORY: return "memory";
    case STATUS_RANGE: return "out_of_range";
    case STATUS_ARGUMENT: return "argument";
    case STATUS_LIMIT: return "limit";
    case STATUS_SYNTAX: return "syntax";
    case STATUS_ENCODING: return "encoding";
    case STATUS_SHAPE: return "shape";
    case STATUS_ROLE: return "role";
    case STATUS_DUPLICATE: return "duplicate";
    case STATUS_GUARDED: return "guarded";
    case STATUS_ABSENT: return "absent";
    case STATUS_IO: return "io";
    case STATUS_FORBIDDEN: return "forbidden";
    case STATUS_CONFLICT: return "conflict";
    case STATUS_HOST: return "host";
  }
  return "unknown";   /* not a Status; no default above, so that compilers report a missing case */
}
