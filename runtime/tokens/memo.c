#include "tokens/memo.h"

Memo *memo_new(const Memory *memory) {
  char *block = memory_new(memory, sizeof(Memo) + MEMO_ALIGN);
  if (block == NULL) return NULL;
  Memo *memo = (Memo *)(void *)(block + (MEMO_ALIGN - (uintptr_t)block % MEMO_ALIGN) % MEMO_ALIGN);
  memset(memo->lines, 0, sizeof memo->lines);
  for (int i = 0; i < MEMO_LARGES; i++) memo->larges[i].size = 0;
  memset(memo->shorts, 0, sizeof memo->shorts);
  memset(memo->short_counts, 0, sizeof memo->short_counts);
  memo->block = block;
  return memo;
}

void memo_free(const Memory *memory, Memo *memo) {
  if (memo != NULL) memory_free(memory, memo->block, sizeof *memo + MEMO_ALIGN);
}
