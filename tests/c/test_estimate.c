/*
** Estimators: known texts by hand, and any text cut and spelled in any way
** against a count character by character.
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#include "base/utf8.h"
#include "tokens/estimate.h"

static uint64_t estimate(Estimator estimator, Text text) {
  Estimate sum = estimate_start(estimator);
  estimate_add(&sum, text);
  return estimate_tokens(&sum);
}

static void known_texts(void **state) {
  (void)state;
  static const struct {
    const char *text;
    uint64_t bytes4, cjk, utf16, claude, claude_4_7;
  } cases[] = {
    {"", 0, 0, 0, 0, 0},
    {"a", 1, 1, 1, 1, 1},                       /* 7 / 40 */
    {"hello", 2, 1, 2, 1, 2},                   /* 35 / 40; 5 / 2.5 */
    {"hello world", 3, 3, 5, 3, 3},             /* 10 * 7 + 11 = 81 / 40; 11 / 2.5 = 4.4 */
    {"{\"n\": 12}", 3, 5, 4, 6, 7},             /* 5 * 26 + 7 + 11 + 2 * 21 = 190 / 40; 9 / 2.5 = 3.6 */
    {"\xc3\xa9t\xc3\xa9", 2, 2, 2, 2, 2},       /* 2 * 17 + 7 = 41 / 40; 3 / 2.5 = 1.2 */
    {"\xe4\xbd\xa0\xe5\xa5\xbd", 2, 2, 1, 2, 2},/* 68 / 40; 2 / 2.5 */
    {"\xf0\x9f\x98\x80", 1, 2, 1, 2, 2},        /* 70 / 40; 2 units / 2.5 */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Text text = text_of(cases[i].text);
    assert_int_equal(estimate(ESTIMATE_BYTES4, text), cases[i].bytes4);
    assert_int_equal(estimate(ESTIMATE_CJK, text), cases[i].cjk);
    assert_int_equal(estimate(ESTIMATE_UTF16_2_5, text), cases[i].utf16);
    assert_int_equal(estimate(ESTIMATE_CLAUDE, text), cases[i].claude);
    assert_int_equal(estimate(ESTIMATE_CLAUDE_4_7, text), cases[i].claude_4_7);
  }
}

static void escapes_count_as_what_they_stand_for(void **state) {
  (void)state;
  Text escaped = {.bytes = "a\\nb \\u4f60\\ud83d\\ude00\\\"", .size = 25, .escaped = true};
  Text plain = text_of("a\nb \xe4\xbd\xa0\xf0\x9f\x98\x80\"");
  escaped.size = strlen(escaped.bytes);
  for (Estimator estimator = ESTIMATE_BYTES4; estimator <= ESTIMATE_CLAUDE_4_7; estimator++) {
    assert_int_equal(estimate(estimator, escaped), estimate(estimator, plain));
  }
}

/* Long enough that a tenth of a token a piece would show, and that columns of
   counters overflow if they are not emptied in time. */
static void long_texts_count_to_the_last_piece(void **state) {
  (void)state;
  enum { PIECES = 20000 };
  static const struct {
    const char *escaped, *plain;
  } pieces[] = {
    {"\\n", "\n"}, {"\\\"", "\""}, {"\\\\", "\\"}, {"\\/", "/"}, {"\\b", "\b"}, {"\\f", "\f"}, {"\\r", "\r"}, {"\\t", "\t"},
    {"\\u0041", "A"}, {"\\u0020", " "}, {"\\u4F60", "\xe4\xbd\xa0"}, {"\\ud83d\\ude00", "\xf0\x9f\x98\x80"},
    {"a", "a"}, {"7", "7"}, {" ", " "}, {"\xc3\xa9", "\xc3\xa9"},
  };
  static char escaped[PIECES * 12], plain[PIECES * 4];
  for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
    size_t one = strlen(pieces[i].escaped), other = strlen(pieces[i].plain);
    for (size_t k = 0; k < PIECES; k++) memcpy(escaped + k * one, pieces[i].escaped, one);
    for (size_t k = 0; k < PIECES; k++) memcpy(plain + k * other, pieces[i].plain, other);
    Text spelled = {.bytes = escaped, .size = PIECES * one, .escaped = one != other || escaped[0] == '\\'};
    uint64_t single = estimate(ESTIMATE_CJK, (Text){.bytes = plain, .size = other * 40}),
             whole = single * (PIECES / 40);
    assert_int_equal(estimate(ESTIMATE_CJK, text_plain(plain, PIECES * other)), whole);
    assert_int_equal(estimate(ESTIMATE_CJK, spelled), whole);
  }
}

static uint64_t weight(uint32_t point) {
  if (point >= 0x10000) return 70;
  if (point >= 0x800) return 34;
  if (point >= 0x80) return 17;
  if ((point >= 'a' && point <= 'z') || (point >= 'A' && point <= 'Z')) return 7;
  return point == ' ' ? 11 : point >= '0' && point <= '9' ? 21 : 26;
}

/* Whatever the place of a character in a block of 16, it counts the same. */
static void agrees_with_a_count_by_characters(void **state) {
  (void)state;
  unsigned seed = getenv("SEED") != NULL ? (unsigned)atoi(getenv("SEED")) : 20261121u;
  print_message("SEED=%u\n", seed);
  srand(seed);
  for (int round = 0; round < 3000; round++) {
    char text[400];
    size_t size = 0;
    uint64_t fortieths = 0, units = 0;
    int characters = rand() % 90, wide = rand() % 4 == 0;
    for (int i = 0; i < characters; i++) {
      uint32_t point = (uint32_t)(rand() % 0x80);
      if (wide && rand() % 2) point = (uint32_t[]){0xe9, 0x416, 0x4f60, 0x1f600}[rand() % 4];
      size += utf8_encode(point, text + size);
      fortieths += weight(point);
      units += point >= 0x10000 ? 2 : 1;
    }
    Text whole = text_plain(text, size);
    assert_int_equal(estimate(ESTIMATE_CJK, whole), (fortieths + 39) / 40);
    assert_int_equal(estimate(ESTIMATE_UTF16_2_5, whole), (units * 2 + 4) / 5);
    assert_int_equal(estimate(ESTIMATE_BYTES4, whole), (size + 3) / 4);
  }
}

static void names_are_read_back(void **state) {
  (void)state;
  Estimator estimator;
  for (Estimator each = ESTIMATE_BYTES4; each <= ESTIMATE_UTF16_2_5; each++) {
    assert_true(estimator_parse(estimator_name(each), &estimator));
    assert_int_equal(estimator, each);
  }
  assert_false(estimator_parse("bytes5", &estimator));
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(known_texts),
    cmocka_unit_test(escapes_count_as_what_they_stand_for),
    cmocka_unit_test(long_texts_count_to_the_last_piece),
    cmocka_unit_test(agrees_with_a_count_by_characters),
    cmocka_unit_test(names_are_read_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
