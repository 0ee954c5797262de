/*
** Count cache: whatever a slot holds, a pretoken that differs in one byte or in its size is
** not found there. Slots are handed over by hand, for two pretokens of one slot come
** up too seldom in texts.
*/
#include <string.h>

#include "check.h"

#include "tokens/merge/count_cache.h"

static void fill(char *bytes, size_t size) {
  for (size_t i = 0; i < size; i++) bytes[i] = (char)('a' + i % 26);
}

static void flip(char *byte) { *byte = (char)(*byte ^ 0x80); }

static void sets_tell_pretokens_apart(void **state) {
  (void)state;
  char bytes[CACHE_READS];
  fill(bytes, sizeof bytes);
  for (size_t size = 1; size <= CACHE_SMALL_BYTES; size++) {
    CacheSet set = {0};
    CacheSmall key = count_cache_small_key(bytes, size), other;
    assert_int_equal(count_cache_find_small(&set, &key), 0);
    count_cache_put_small(&set, &key, (uint32_t)size);
    assert_int_equal(count_cache_find_small(&set, &key), size);
    for (size_t i = 0; i < sizeof bytes; i++) {
      flip(&bytes[i]);
      other = count_cache_small_key(bytes, size);
      assert_int_equal(count_cache_find_small(&set, &other), i < size ? 0 : size);   /* later bytes do not matter */
      flip(&bytes[i]);
    }
    for (size_t less = 1; less < size; less++) {
      char cut[CACHE_READS] = {0};      /* zeros that belong to a pretoken, and zeros behind one */
      memcpy(cut, bytes, less);
      CacheSet zeros = {0};
      key = count_cache_small_key(cut, less), other = count_cache_small_key(cut, size);
      count_cache_put_small(&zeros, &key, 1);
      assert_int_equal(count_cache_find_small(&zeros, &other), 0);
    }
  }
}

static void lines_tell_pretokens_apart(void **state) {
  (void)state;
  char bytes[CACHE_READS];
  fill(bytes, sizeof bytes);
  for (size_t size = CACHE_SMALL_BYTES + 1; size <= CACHE_LINE_BYTES; size++) {
    CacheLine line = {0};
    CacheKey key = count_cache_line_key(bytes, size), other;
    assert_int_equal(count_cache_find_line(&line, &key), 0);
    count_cache_put_line(&line, &key, (uint32_t)size);
    assert_int_equal(count_cache_find_line(&line, &key), size);
    for (size_t i = 0; i < sizeof bytes; i++) {
      flip(&bytes[i]);
      other = count_cache_line_key(bytes, size);
      assert_int_equal(count_cache_find_line(&line, &other), i < size ? 0 : size);
      flip(&bytes[i]);
    }
    for (size_t less = CACHE_SMALL_BYTES + 1; less < size; less++) {
      char cut[CACHE_READS] = {0};
      memcpy(cut, bytes, less);
      CacheLine zeros = {0};
      key = count_cache_line_key(cut, less), other = count_cache_line_key(cut, size);
      count_cache_put_line(&zeros, &key, 1);
      assert_int_equal(count_cache_find_line(&zeros, &other), 0);
    }
  }
}

static void sets_keep_the_last_four(void **state) {
  (void)state;
  char bytes[CACHE_READS] = {0};
  CacheSmall keys[5];
  CacheSet set = {0};
  for (uint32_t i = 0; i < 5; i++) {
    bytes[0] = (char)('v' + i);
    keys[i] = count_cache_small_key(bytes, 5);
    count_cache_put_small(&set, &keys[i], i + 2);
    count_cache_put_small(&set, &keys[i], 9); /* is there already */
  }
  assert_int_equal(count_cache_find_small(&set, &keys[0]), 0);
  for (uint32_t i = 1; i < 5; i++) assert_int_equal(count_cache_find_small(&set, &keys[i]), i + 2);
}

/* Pretokens that only their later bytes tell apart hide each other: they are counted once more, but never wrongly. */
static void sets_find_no_other_pretoken_that_begins_alike(void **state) {
  (void)state;
  char bytes[CACHE_READS];
  CacheSmall keys[4];
  CacheSet set = {0};
  fill(bytes, sizeof bytes);
  for (uint32_t i = 0; i < 4; i++) {
    bytes[8] = (char)('0' + i);
    keys[i] = count_cache_small_key(bytes, 12);
    count_cache_put_small(&set, &keys[i], i + 1);
  }
  for (uint32_t i = 0; i < 4; i++) {
    uint32_t count = count_cache_find_small(&set, &keys[i]);
    assert_true(count == 0 || count == i + 1);
  }
}

static void lines_keep_the_last_two(void **state) {
  (void)state;
  char bytes[CACHE_READS] = {0};
  CacheKey keys[3];
  CacheLine line = {0};
  for (uint32_t i = 0; i < 3; i++) {
    bytes[0] = (char)('x' + i);
    keys[i] = count_cache_line_key(bytes, 20);
    count_cache_put_line(&line, &keys[i], i + 2);
    count_cache_put_line(&line, &keys[i], 9); /* is there already */
  }
  assert_int_equal(count_cache_find_line(&line, &keys[0]), 0);
  assert_int_equal(count_cache_find_line(&line, &keys[1]), 3);
  assert_int_equal(count_cache_find_line(&line, &keys[2]), 4);
}

static void shorts_tell_pretokens_apart(void **state) {
  (void)state;
  Memory memory = memory_system();
  CountCache *cache = count_cache_new(&memory);
  char bytes[8] = {0};
  assert_int_equal((uintptr_t)cache->sets % CACHE_ALIGN, 0);
  assert_int_equal((uintptr_t)cache->lines % CACHE_ALIGN, 0);
  for (size_t size = 1; size <= 40; size++) assert_int_equal(count_cache_find_short(cache, bytes, size), 0);
  for (size_t size = 1; size <= 8; size++) {   /* of zeros: only their sizes differ */
    count_cache_put_short(cache, 0, size, (uint32_t)size);
    for (size_t other = 1; other <= 40; other++) {
      assert_int_equal(count_cache_find_short(cache, bytes, other), other <= size ? other : 0);
    }
    for (size_t i = 0; i < 8; i++) {
      bytes[i] = 1;
      assert_int_equal(count_cache_find_short(cache, bytes, size), i < size ? 0 : size);
      bytes[i] = 0;
    }
  }
  count_cache_put_short(cache, 1, 1, 0);       /* nothing to keep */
  count_cache_put_short(cache, 1, 9, 1);
  bytes[0] = 1;
  for (size_t size = 1; size <= 40; size++) assert_int_equal(count_cache_find_short(cache, bytes, size), 0);
  count_cache_free(&memory, cache);
}

/* Eight bytes, no UTF-8, that look like fewer and their size: there is no count of either for the other. */
static void shorts_say_what_they_cannot_tell_apart(void **state) {
  (void)state;
  Memory memory = memory_system();
  for (size_t size = 1; size < 8; size++) {
    char eight[8] = "!", fewer[8] = "!";
    eight[7] = (char)(0xF7 + size);
    CountCache *cache = count_cache_new(&memory);
    count_cache_put_short(cache, load_word(fewer), size, 1);
    assert_int_not_equal(count_cache_find_short(cache, eight, 8) & CACHE_EIGHT, 0);
    count_cache_put_short(cache, load_word(eight), 8, 5);
    assert_int_equal(count_cache_find_short(cache, eight, 8), 5);
    assert_int_not_equal(count_cache_find_short(cache, fewer, size) & CACHE_EIGHT, 0);
    count_cache_free(&memory, cache);
  }
}

static void larges_tell_pretokens_apart(void **state) {
  (void)state;
  Memory memory = memory_system();
  CountCache *cache = count_cache_new(&memory);
  char bytes[CACHE_LARGE_BYTES];
  fill(bytes, sizeof bytes);
  for (size_t size = 1; size <= sizeof bytes; size++) {
    CacheLarge *slot = count_cache_large(cache, bytes, size);
    assert_false(count_cache_is_large(slot, bytes, size));
    count_cache_put_large(slot, bytes, size, 7);
    assert_true(count_cache_is_large(count_cache_large(cache, bytes, size), bytes, size));
    assert_false(count_cache_is_large(slot, bytes, size - 1));
    for (size_t i = 0; i < size; i++) {
      bytes[i] = (char)(bytes[i] ^ 0x80);
      assert_false(count_cache_is_large(slot, bytes, size));
      bytes[i] = (char)(bytes[i] ^ 0x80);
    }
  }
  count_cache_free(&memory, cache);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(sets_tell_pretokens_apart),
    cmocka_unit_test(sets_keep_the_last_four),
    cmocka_unit_test(sets_find_no_other_pretoken_that_begins_alike),
    cmocka_unit_test(lines_tell_pretokens_apart),
    cmocka_unit_test(lines_keep_the_last_two),
    cmocka_unit_test(shorts_tell_pretokens_apart),
    cmocka_unit_test(shorts_say_what_they_cannot_tell_apart),
    cmocka_unit_test(larges_tell_pretokens_apart),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
