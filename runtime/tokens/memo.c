#include "tokens/memo.h"

Memo *memo_new(const Memory *memory) {
  char *block = memory_new(memory, sizeof(Memo) + MEMO_ALIGN);
  if (block == NULL) return NULL;
  Memo *memo = (Memo *)(void *)(block + (MEMO_ALIGN - (uintptr_t)block % MEMO_ALIGN) % MEMO_ALIGN);
  memset(memo->sets, 0, sizeof memo->sets);
  memset(memo->lines, 0, sizeof memo->lines);
  for (int i = 0; i < MEMO_LARGES; i++) memo->larges[i].size = 0;
  memset(memo->shorts, 0, sizeof memo->shorts);
  memset(memo->short_counts, MEMO_EIGHT, sizeof memo->short_counts);   /* their keys are those of eight zeros */
  memo->block = block;
  return memo;
}

void memo_free(const Memory *memory, Memo *memo) {
  if (memo != NULL) memory_free(memory, memo->block, sizeof *memo + MEMO_ALIGN);
}

void memo_put(Memo *memo, const char *at, size_t size, uint32_t tokens) {
  if (size <= MEMO_SMALL_BYTES) {
    MemoSmall key = memo_small_key(at, size);
    memo_put_short(memo, key.words[0], size, tokens);
    memo_put_small(memo_set(memo, &key), &key, tokens);
  } else if (size <= MEMO_LINE_BYTES) {
    MemoKey key = memo_line_key(at, size);
    memo_put_line(memo_line(memo, &key), &key, tokens);
  } else if (size <= MEMO_LARGE_BYTES) {
    memo_put_large(memo_large(memo, at, size), at, size, tokens);
  }
}
