/*
** Sets of keywords against a plain search for each keyword, on random texts of few letters, so that keywords overlap;
** case, whole words, prefixes; small letters; and memory that runs out. SEED=n repeats a failed run.
*/
#include <string.h>

#include "base/lower.h"
#include "check.h"
#include "regex/keyword_set.h"

/* ---- small letters ---- */

static void lowers_to(const char *text, const char *expected) {
  Buffer out;
  buffer_init(&out, memory_system());
  assert_int_equal(lower_text(text_of(text), &out), STATUS_OK);
  assert_int_equal(out.size, strlen(expected));
  assert_memory_equal(out.bytes, expected, out.size);
  buffer_free(&out);
}

static void letters_of_many_scripts_become_small(void **state) {
  (void)state;
  lowers_to("Hello, WORLD_1 [@`{]", "hello, world_1 [@`{]");
  lowers_to("ÄÖÜ ẞ ÉÀ Ÿ", "äöü ß éà ÿ");
  lowers_to("ΟΔΟΣ οδος", "οδοσ οδοσ");       /* both sigmas become one */
  lowers_to("ЖЁЪ Ԑ", "жёъ ԑ");
  lowers_to("İI", "i̇i");
  lowers_to("Ⱥ K Å", "ⱥ k å");               /* U+023A grows, U+212A and U+212B shrink */
  lowers_to("龙 かな 한글", "龙 かな 한글");
  lowers_to("𐐀", "𐐨");
}

static void invalid_bytes_stay(void **state) {
  (void)state;
  lowers_to("A\xFF\xC3 B\xE2\x82", "a\xFF\xC3 b\xE2\x82");
}

/* ---- a plain search ---- */

static bool is_word(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') || byte == '_';
}

static char small(char byte) { return byte >= 'A' && byte <= 'Z' ? (char)(byte + 32) : byte; }

static bool stands_at(const char *at, const Keyword *keyword) {
  for (size_t i = 0; i < keyword->text.size; i++) {
    char a = at[i], b = keyword->text.bytes[i];
    if (keyword->flags & KEYWORD_CASE ? a != b : small(a) != small(b)) return false;
  }
  return true;
}

static bool occurs(const char *text, size_t size, const Keyword *keyword) {
  for (size_t i = 0; i + keyword->text.size <= size; i++) {
    size_t end = i + keyword->text.size;
    if (!stands_at(text + i, keyword)) continue;
    if (!(keyword->flags & KEYWORD_WHOLE)) return true;
    if ((i == 0 || !is_word(text[i - 1])) && (end == size || !is_word(text[end]))) return true;
  }
  return false;
}

/* ---- random sets ---- */

enum { KEYWORDS_MAX = 24, KEYWORD_SIZE = 5, TEXT_SIZE = 60 };

static void random_text(char *out, size_t size) {
  static const char letters[] = "aabB c-";
  for (size_t i = 0; i < size; i++) out[i] = letters[below(sizeof letters - 1)];
}

static void compare(KeywordSet *set, const Keyword *keywords, uint32_t count, const char *text, size_t size,
                    size_t prefix) {
  const uint32_t *hits;
  uint32_t found = 0, expected = 0;
  bool met[KEYWORDS_MAX] = {false};
  assert_int_equal(keyword_set_find(set, text_plain(text, prefix), text_plain(text + prefix, size - prefix), &hits,
                                    &found), STATUS_OK);
  for (uint32_t i = 0; i < found; i++) {
    assert_in_range(hits[i], 0, count - 1);
    assert_false(met[hits[i]]);
    met[hits[i]] = true;
  }
  for (uint32_t i = 0; i < count; i++) {
    bool stands = occurs(text, size, &keywords[i]);
    Text word = keywords[i].text;
    if (stands != met[i]) fail_msg("'%.*s' in '%.*s'", (int)word.size, word.bytes, (int)size, text);
    expected += stands;
  }
  assert_int_equal(found, expected);
}

static void random_sets_agree_with_a_plain_search(void **state) {
  (void)state;
  char bytes[KEYWORDS_MAX][KEYWORD_SIZE], text[TEXT_SIZE];
  for (int round = 0; round < 400; round++) {
    Keyword keywords[KEYWORDS_MAX];
    uint32_t count = 1 + below(KEYWORDS_MAX);
    for (uint32_t i = 0; i < count; i++) {
      size_t size = 1 + below(KEYWORD_SIZE);
      random_text(bytes[i], size);
      keywords[i] = (Keyword){.text = text_plain(bytes[i], size), .flags = below(4)};
    }
    Memory memory = memory_system();
    KeywordSet *set;
    assert_int_equal(keyword_set_new(&memory, keywords, count, &set), STATUS_OK);
    assert_int_equal(keyword_set_size(set), count);
    for (int i = 0; i < 20; i++) {
      size_t size = below(TEXT_SIZE);
      random_text(text, size);
      compare(set, keywords, count, text, size, size == 0 ? 0 : below((uint32_t)size));
    }
    keyword_set_free(set);
  }
}

static void an_empty_set_finds_nothing_and_an_empty_keyword_is_refused(void **state) {
  (void)state;
  Memory memory = memory_system();
  KeywordSet *set;
  const uint32_t *hits;
  uint32_t count = 7;
  assert_int_equal(keyword_set_new(&memory, NULL, 0, &set), STATUS_OK);
  assert_int_equal(keyword_set_find(set, text_of(""), text_of("text"), &hits, &count), STATUS_OK);
  assert_int_equal(count, 0);
  keyword_set_free(set);
  Keyword empty = {.text = text_of("")};
  assert_int_equal(keyword_set_new(&memory, &empty, 1, &set), STATUS_ARGUMENT);
}

/* ---- memory ---- */

static void no_allocation_that_fails_loses_memory(void **state) {
  (void)state;
  Keyword keywords[] = {{.text = text_of("dragon")}, {.text = text_of("Drake"), .flags = KEYWORD_CASE},
                        {.text = text_of("drag"), .flags = KEYWORD_WHOLE}};
  for (size_t k = 1;; k++) {
    Fail fail = {.fail_at = k};
    Memory memory = fail_memory(&fail);
    KeywordSet *set;
    const uint32_t *hits;
    uint32_t count = 0;
    Status status = keyword_set_new(&memory, keywords, 3, &set);
    if (status == STATUS_OK) {
      status = keyword_set_find(set, text_of("A: "), text_of("a Drake, a DRAGON"), &hits, &count);
      if (status == STATUS_OK) assert_int_equal(count, 2);
      keyword_set_free(set);
    }
    assert_int_equal(fail.in_use, 0);
    assert_int_equal(status, fail.failed > 0 ? STATUS_MEMORY : STATUS_OK);
    if (fail.failed == 0) break;
  }
}

int main(void) {
  chance = test_seed();
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(letters_of_many_scripts_become_small),
    cmocka_unit_test(invalid_bytes_stay),
    cmocka_unit_test(random_sets_agree_with_a_plain_search),
    cmocka_unit_test(an_empty_set_finds_nothing_and_an_empty_keyword_is_refused),
    cmocka_unit_test(no_allocation_that_fails_loses_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
