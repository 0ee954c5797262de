/*
** Patterns that are words, which are found without PCRE2: they match where the same patterns in a group match, and
** rules of them make of random texts what rules of groups make of them.
*/
#include "regex_world.h"

#include <string.h>

#include "regex/rule_set.h"
#include "regex/word.h"

/* ---- words ---- */

static uint32_t random_below(uint32_t *state, uint32_t count) {
  *state = *state * 1664525u + 1013904223u;
  return (*state >> 8) % count;
}

/* A text of few letters, so that words stand in it often; without a NUL. */
static size_t random_text(uint32_t *state, char *out, size_t room) {
  static const char *const letters[] = {"a", "b", "a", "_", " ", "-", "7", "\u00E9"};
  size_t size = 0;
  for (uint32_t count = random_below(state, (uint32_t)room / 2); count > 0; count--) {
    const char *letter = letters[random_below(state, 8)];
    memcpy(out + size, letter, strlen(letter));
    size += strlen(letter);
  }
  return size;
}

static const char *const words[] = {
  "a",   "\\ba\\b",     "ab",        "\\bab",           "ab\\b", "\\bab\\b", "-a", "\\b-\\b",
  "aba", "\\b\u00E9", "\u00E9a\\b", "abababababababab", " ",     "\\b",       "a_7",
};

/* A group makes PCRE2 search for the same. */
static void words_are_found_where_patterns_match(void **state) {
  World *world = *state;
  uint32_t random = 1;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    char group[64], text[240];
    RegexError error;
    Regex *word, *pattern;
    snprintf(group, sizeof group, "(?:%s)", words[i]);
    assert_int_equal(regex_new(world->engine, words[i], strlen(words[i]), 0, &word, &error), STATUS_OK);
    assert_int_equal(regex_new(world->engine, group, strlen(group), 0, &pattern, &error), STATUS_OK);
    for (int round = 0; round < 300; round++) {
      size_t size = random_text(&random, text, sizeof text);
      for (size_t from = 0; from <= size; from++) {
        if (from < size && (text[from] & 0xC0) == 0x80) continue;
        const size_t *ends, *other;
        assert_int_equal(regex_find(word, text, size, from, &ends), STATUS_OK);
        size_t at = ends == NULL ? SIZE_MAX : ends[0], end = ends == NULL ? SIZE_MAX : ends[1];
        regex_start(world->engine);
        assert_int_equal(regex_find(pattern, text, size, from, &other), STATUS_OK);
        if ((other == NULL ? SIZE_MAX : other[0]) != at || (other != NULL && other[1] != end)) {
          fail_msg("%s in '%.*s' from %zu: %zu", words[i], (int)size, text, from, at);
        }
      }
    }
    regex_free(word);
    regex_free(pattern);
  }
}

enum { RANDOM_RULES = 12 };

/* What the rules that stand before it put in is seen by each rule: with words as with groups, which are tried on
   every text. */
static void rules_that_are_skipped_match_nothing(void **state) {
  static const char *const replacements[] = {"ab", "", "-", "$&a", "_a7", "\u00E9"};
  World *world = *state;
  uint32_t random = 7;
  for (int round = 0; round < 400; round++) {
    RuleSet *sets[2];
    for (int i = 0; i < 2; i++) assert_int_equal(rule_set_new(world->engine, &sets[i]), STATUS_OK);
    for (int i = 0; i < RANDOM_RULES; i++) {
      const char *word = words[random_below(&random, sizeof words / sizeof *words)];
      const char *replacement = replacements[random_below(&random, 6)];
      char group[64];
      snprintf(group, sizeof group, "(?:%s)", word);
      RegexError error;
      for (int k = 0; k < 2; k++) {
        RuleSource rule = {.pattern = text_of(k == 0 ? word : group), .replacement = text_of(replacement),
                           .flags = i % 3 > 0 ? REGEX_GLOBAL : 0, .kinds = 1, .depth_last = UINT32_MAX};
        assert_int_equal(rule_set_add(sets[k], &rule, &error), STATUS_OK);
      }
    }
    char text[80];
    size_t size = random_text(&random, text, sizeof text);
    RuleResult results[2];
    for (int k = 0; k < 2; k++) {
      assert_int_equal(rule_set_apply(sets[k], text_plain(text, size), 1, 0, &results[k]), STATUS_OK);
    }
    if (!text_equal(results[0].text, results[1].text)) fail_msg("'%.*s' differs", (int)size, text);
    for (int k = 0; k < 2; k++) rule_set_free(sets[k]);
  }
}

static void what_is_a_word(void **state) {
  (void)state;
  static const struct {
    const char *pattern;
    unsigned size;
  } cases[] = {
    {"cat", 3}, {"\\bcat", 3}, {"cat\\b", 3}, {"\\bcat\\b", 3}, {"two words", 9}, {"\u00E9", 2}, {"<b>", 3},
    {"", 0}, {"\\b", 0}, {"\\b\\b", 0}, {"\\", 0}, {"b", 1}, {"\\\\b", 0}, {"a.b", 0}, {"a\\.b", 0},
    {"a|b", 0}, {"^a", 0}, {"a$", 0}, {"a?", 0}, {"a+", 0}, {"a*", 0}, {"a{2}", 0}, {"(a)", 0}, {"[a]", 0},
    {"#a", 0}, {"a\nb", 0},
    {"0123456789012345678901234567890-", 32}, {"0123456789012345678901234567890-1", 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    RegexWord word = regex_word(cases[i].pattern, strlen(cases[i].pattern));
    if (word.size != cases[i].size) fail_msg("'%s': %u", cases[i].pattern, word.size);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(what_is_a_word),
    cmocka_unit_test_setup_teardown(words_are_found_where_patterns_match, open_world, close_world),
    cmocka_unit_test_setup_teardown(rules_that_are_skipped_match_nothing, open_world, close_world),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
