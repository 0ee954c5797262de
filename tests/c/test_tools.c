/*
** The small tools of the base layer: bit sets, tables of names, hexadecimal digits,
** copies, the smaller and the larger of two.
*/
#include "check.h"

#include <string.h>

#include "base/bitset.h"
#include "base/hex.h"
#include "base/minmax.h"
#include "base/names.h"

static void a_bit_set_has_what_was_added_and_no_more(void **state) {
  (void)state;
  static const size_t members[] = {0, 1, 62, 63, 64, 127, 128, 199};
  Fail fail = {0};
  Memory memory = fail_memory(&fail);
  uint64_t *bits = bitset_new(&memory, 200);
  for (size_t i = 0; i < 200; i++) assert_false(bitset_has(bits, i));
  for (size_t i = 0; i < COUNT_OF(members); i++) bitset_add(bits, members[i]);
  bitset_add(bits, 63);
  bitset_remove(bits, 127);
  bitset_remove(bits, 126);
  for (size_t i = 0, next = 0; i < 200; i++) {
    bool member = next < COUNT_OF(members) && members[next] == i;
    if (member) next++;
    assert_int_equal(bitset_has(bits, i), member && i != 127);
  }
  bitset_free(&memory, bits, 200);
  bitset_free(&memory, NULL, 200);
  assert_int_equal(fail.in_use, 0);
  fail.fail_at = fail.calls + 1;
  assert_null(bitset_new(&memory, 200));
  assert_int_equal(bitset_words(0), 1);
  assert_int_equal(bitset_words(64), 2);      /* also 64 itself has a bit */
}

static void names_are_found_however_they_are_spelled(void **state) {
  (void)state;
  static const char *const names[] = {"alpha", "beta", "", "alph"};
  Text escaped = {.bytes = "b\\u0065ta", .size = 9, .escaped = true};
  assert_int_equal(NAMES_FIND(names, text_of("alpha")), 0);
  assert_int_equal(NAMES_FIND(names, text_of("alph")), 3);
  assert_int_equal(NAMES_FIND(names, escaped), 1);
  assert_int_equal(NAMES_FIND(names, text_of("")), 2);
  assert_int_equal(NAMES_FIND(names, text_plain(NULL, 0)), 2);
  assert_int_equal(NAMES_FIND(names, text_of("alphas")), 4);
  assert_int_equal(names_find(names, 2, text_of("")), 2);
  assert_true(NAMES_HAVE(names, escaped) && !NAMES_HAVE(names, text_of("Beta")));
  assert_true(text_is(escaped, "beta") && !text_is(escaped, "bet") && !text_is(text_of("beta"), "betas"));
}

static void hexadecimal_digits_go_there_and_back(void **state) {
  (void)state;
  static const char good[] = "0123456789abcdefABCDEF";
  for (int c = 0; c < 256; c++) {
    const char *at = c == 0 ? NULL : strchr(good, c);
    int value = at == NULL ? -1 : at - good < 16 ? (int)(at - good) : (int)(at - good) - 6;
    assert_int_equal(hex_digit((char)c), value);
  }
  char out[9] = "........";
  hex_write(out, "\x00\x7f\xa5\xff", 4);
  assert_string_equal(out, "007fa5ff");
  assert_int_equal(hex_read(out, out + 8, 7), 0x007fa5f);
  const char *text = "d83D\"";
  assert_int_equal(hex_read(text, text + 5, 4), 0xD83D);
  assert_int_equal(hex_read(text, text + 5, 5), -1);
  assert_int_equal(hex_read(text, text + 3, 4), -1);      /* the last digit is behind the end */
}

static void copies_are_whole_or_not_made(void **state) {
  (void)state;
  Fail fail = {0};
  Memory memory = fail_memory(&fail);
  Text text = {.bytes = "a\\n\0b", .size = 5, .escaped = true};
  char *copy;
  assert_int_equal(text_copy(&memory, text, &copy), STATUS_OK);
  assert_memory_equal(copy, "a\\n\0b", 5);
  memory_free(&memory, copy, 5);
  assert_int_equal(text_copy(&memory, text_plain(NULL, 0), &copy), STATUS_OK);
  assert_null(copy);
  char *string = memory_copy_string(&memory, "word");
  assert_string_equal(string, "word");
  assert_int_equal(fail.in_use, 5);
  memory_free_string(&memory, string);
  memory_free_string(&memory, NULL);
  assert_int_equal(fail.in_use, 0);
  fail.fail_at = fail.calls + 1;
  assert_int_equal(text_copy(&memory, text, &copy), STATUS_MEMORY);
  assert_null(memory_copy_string(&memory, "word"));
}

static void texts_are_ordered_by_their_bytes(void **state) {
  (void)state;
  static const Text rising[] = {{.size = 0}, {"\0", 1, false}, {"a", 1, false}, {"a\0", 2, false}, {"ab", 2, false},
                                {"b", 1, false}, {"\xc3\xa9", 2, false}};
  for (size_t i = 0; i < COUNT_OF(rising); i++) {
    for (size_t k = 0; k < COUNT_OF(rising); k++) {
      int order = text_compare(rising[i], rising[k]);
      assert_int_equal((order > 0) - (order < 0), (i > k) - (i < k));
    }
  }
}

static void the_smaller_and_the_larger_are_told_apart(void **state) {
  (void)state;
  assert_true(min_u32(1, UINT32_MAX) == 1 && max_u32(UINT32_MAX, 1) == UINT32_MAX);
  assert_true(min_u64(UINT64_MAX, 2) == 2 && max_u64(2, UINT64_MAX) == UINT64_MAX);
  assert_true(min_size(SIZE_MAX, 3) == 3 && max_size(SIZE_MAX, 3) == SIZE_MAX);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_bit_set_has_what_was_added_and_no_more),
    cmocka_unit_test(names_are_found_however_they_are_spelled),
    cmocka_unit_test(hexadecimal_digits_go_there_and_back),
    cmocka_unit_test(copies_are_whole_or_not_made),
    cmocka_unit_test(texts_are_ordered_by_their_bytes),
    cmocka_unit_test(the_smaller_and_the_larger_are_told_apart),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
