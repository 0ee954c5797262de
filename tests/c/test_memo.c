/*
** Memo: whatever a slot holds, a piece that differs in one byte or in its size is
** not found there. Slots are handed over by hand, for two pieces of one slot come
** up too seldom in texts.
*/
#include <string.h>

#include "check.h"

#include "tokens/memo.h"

static void fill(char *bytes, size_t size) {
  for (size_t i = 0; i < size; i++) bytes[i] = (char)('a' + i % 26);
}

static void lines_tell_pieces_apart(void **state) {
  (void)state;
  char bytes[MEMO_READS];
  fill(bytes, sizeof bytes);
  for (size_t size = 1; size <= MEMO_LINE_BYTES; size++) {
    MemoLine line = {0};
    MemoKey key = memo_key(bytes, size), other;
    assert_int_equal(memo_find(&line, &key), 0);
    memo_put(&line, &key, (uint32_t)size);
    assert_int_equal(memo_find(&line, &key), size);
    for (size_t i = 0; i < sizeof bytes; i++) {
      bytes[i] = (char)(bytes[i] ^ 0x80);
      other = memo_key(bytes, size);
      assert_int_equal(memo_find(&line, &other), i < size ? 0 : size);   /* what follows the piece is none of it */
      bytes[i] = (char)(bytes[i] ^ 0x80);
    }
    for (size_t less = 1; less < size; less++) {
      char cut[MEMO_READS] = {0};      /* zeros that belong to a piece, and zeros behind one */
      memcpy(cut, bytes, less);
      MemoLine zeros = {0};
      key = memo_key(cut, less), other = memo_key(cut, size);
      memo_put(&zeros, &key, 1);
      assert_int_equal(memo_find(&zeros, &other), 0);
    }
  }
}

static void lines_keep_the_last_two(void **state) {
  (void)state;
  char bytes[MEMO_READS] = {0};
  MemoKey keys[3];
  MemoLine line = {0};
  for (uint32_t i = 0; i < 3; i++) {
    bytes[0] = (char)('x' + i);
    keys[i] = memo_key(bytes, 5);
    memo_put(&line, &keys[i], i + 2);
    memo_put(&line, &keys[i], 9);      /* is there already */
  }
  assert_int_equal(memo_find(&line, &keys[0]), 0);
  assert_int_equal(memo_find(&line, &keys[1]), 3);
  assert_int_equal(memo_find(&line, &keys[2]), 4);
}

static void shorts_tell_pieces_apart(void **state) {
  (void)state;
  Memory memory = memory_system();
  Memo *memo = memo_new(&memory);
  char bytes[8] = {0};
  assert_int_equal((uintptr_t)memo->lines % MEMO_ALIGN, 0);
  for (size_t size = 1; size <= 40; size++) {
    assert_int_equal(memo_find_short(memo, memo_short_key(bytes, size), size), 0);
  }
  for (size_t size = 1; size <= 8; size++) {   /* of zeros: all have one key */
    memo_put_short(memo, memo_short_key(bytes, size), size, (uint32_t)size);
    for (size_t other = 1; other <= 40; other++) {
      uint32_t count = memo_find_short(memo, memo_short_key(bytes, other), other);
      assert_int_equal(count, other == size ? size : 0);
    }
    for (size_t i = 0; i < 8; i++) {
      bytes[i] = 1;
      assert_int_equal(memo_find_short(memo, memo_short_key(bytes, size), size), i < size ? 0 : size);
      bytes[i] = 0;
    }
  }
  memo_free(&memory, memo);
}

static void larges_tell_pieces_apart(void **state) {
  (void)state;
  Memory memory = memory_system();
  Memo *memo = memo_new(&memory);
  char bytes[MEMO_LARGE_BYTES];
  fill(bytes, sizeof bytes);
  for (size_t size = 1; size <= sizeof bytes; size++) {
    MemoLarge *slot = memo_large(memo, bytes, size);
    assert_false(memo_is_large(slot, bytes, size));
    memo_put_large(slot, bytes, size, 7);
    assert_true(memo_is_large(memo_large(memo, bytes, size), bytes, size));
    assert_false(memo_is_large(slot, bytes, size - 1));
    for (size_t i = 0; i < size; i++) {
      bytes[i] = (char)(bytes[i] ^ 0x80);
      assert_false(memo_is_large(slot, bytes, size));
      bytes[i] = (char)(bytes[i] ^ 0x80);
    }
  }
  memo_free(&memory, memo);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(lines_tell_pieces_apart),
    cmocka_unit_test(lines_keep_the_last_two),
    cmocka_unit_test(shorts_tell_pieces_apart),
    cmocka_unit_test(larges_tell_pieces_apart),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
