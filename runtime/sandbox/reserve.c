#include "sandbox/reserve.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

bool reserve_open(Reserve *reserve, const Memory *memory) {
  *reserve = (Reserve){.bytes = memory_new(memory, RESERVE_BYTES)};
  return reserve->bytes != NULL;
}

void reserve_close(Reserve *reserve, const Memory *memory) {
  assert(reserve->blocks == 0);
  memory_free(memory, reserve->bytes, RESERVE_BYTES);
  reserve->bytes = NULL;
}

void *reserve_take(Reserve *reserve, size_t size) {
  assert(reserve->used <= RESERVE_BYTES);
  if (size > RESERVE_BYTES) return NULL;
  size = (size + _Alignof(max_align_t) - 1) / _Alignof(max_align_t) * _Alignof(max_align_t);
  if (size > RESERVE_BYTES - reserve->used) return NULL;
  void *block = reserve->bytes + reserve->used;
  reserve->used += size;
  reserve->blocks++;
  return block;
}

bool reserve_owns(const Reserve *reserve, const void *block) {
  return (uintptr_t)block - (uintptr_t)reserve->bytes < RESERVE_BYTES;
}

void reserve_give_back(Reserve *reserve, const void *block) {
  assert(reserve_owns(reserve, block) && reserve->blocks > 0);
  (void)block;
  if (--reserve->blocks == 0) reserve->used = 0;
}
