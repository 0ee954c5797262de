/*
** Regular expressions: matching, time, replacements, sets of rules; and all of it
** while memory runs out.
*/
#include "regex_world.h"

#include <string.h>

#include "regex/pattern.h"
#include "regex/rule_set.h"

static Regex *made(World *world, const char *pattern, unsigned flags) {
  Regex *regex = NULL;
  RegexError error;
  if (regex_new(world->engine, pattern, strlen(pattern), flags, &regex, &error) != STATUS_OK) {
    fail_msg("%s: %s at %zu", pattern, error.message, error.offset);
  }
  return regex;
}

/* The start of the first match, or -1; -2: a limit. */
static long find(World *world, const char *pattern, unsigned flags, const char *text) {
  Regex *regex = made(world, pattern, flags);
  const size_t *ends;
  regex_start(world->engine);
  Status status = regex_find(regex, text, strlen(text), 0, &ends);
  long at = status == STATUS_LIMIT ? -2 : ends == NULL ? -1 : (long)ends[0];
  regex_free(regex);
  return at;
}

/* ---- flags and errors ---- */

static void flags_are_letters_each_once(void **state) {
  (void)state;
  unsigned flags;
  char bad;
  assert_true(regex_flags("gimsuy", 6, &flags, &bad));
  assert_int_equal(flags, 63);
  assert_true(regex_flags("", 0, &flags, &bad));
  assert_int_equal(flags, 0);
  assert_false(regex_flags("gx", 2, &flags, &bad));
  assert_int_equal(bad, 'x');
  assert_false(regex_flags("gg", 2, &flags, &bad));
  assert_false(regex_flags("\0", 1, &flags, &bad));
}

static void errors_stand_where_the_given_pattern_is_wrong(void **state) {
  World *world = *state;
  static const struct {
    const char *pattern;
    size_t offset;
  } cases[] = {{"(a", 2}, {"\\s\\s(a", 6}, {"[\\s]\\S\\v(", 9}, {"\\ud83d\\ude00(", 13}, {"a**", 2}, {"[a", 2}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Regex *regex = NULL;
    RegexError error;
    Status status = regex_new(world->engine, cases[i].pattern, strlen(cases[i].pattern), 0, &regex, &error);
    assert_int_equal(status, STATUS_ARGUMENT);
    assert_null(regex);
    assert_true(strlen(error.message) > 5);
    if (error.offset != cases[i].offset) fail_msg("%s: at %zu", cases[i].pattern, error.offset);
  }
  Regex *regex;
  RegexError error;
  assert_int_equal(regex_new(world->engine, "a\xFF", 2, 0, &regex, &error), STATUS_ENCODING);
  assert_int_equal(error.offset, 1);
  char *large = calloc(1, REGEX_PATTERN_MAX + 1);
  memset(large, 'a', REGEX_PATTERN_MAX + 1);
  assert_int_equal(regex_new(world->engine, large, REGEX_PATTERN_MAX + 1, 0, &regex, &error), STATUS_LIMIT);
  /* Fits by itself, but not with callbacks. */
  assert_int_equal(regex_new(world->engine, large, 20000, 0, &regex, &error), STATUS_ARGUMENT);
  free(large);
}

/* Each of these would take PCRE2 seconds to compile. */
static void wide_ranges_without_case_are_refused(void **state) {
  World *world = *state;
  static const char *const ranges[] = {"\\u{1}-\\u{10ffff}", "\x01-\xF4\x8F\xBF\xBF", "\\u0001-\\uffff",
                                       "\\x01-\\N{U+10ffff}",
                                       "\\S"};
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
    char pattern[8192] = "(?i)[";
    for (int k = 0; k < 200; k++) strcat(pattern, ranges[i]);
    strcat(pattern, "]");
    Regex *regex = NULL;
    RegexError error;
    assert_int_equal(regex_new(world->engine, pattern, strlen(pattern), 0, &regex, &error), STATUS_LIMIT);
    assert_int_equal(regex_new(world->engine, pattern + 4, strlen(pattern) - 4, REGEX_CASELESS, &regex, &error),
                     STATUS_LIMIT);
    assert_non_null(strstr(error.message, "without case"));
    assert_int_equal(regex_new(world->engine, pattern + 4, strlen(pattern) - 4, 0, &regex, &error), STATUS_OK);
    regex_free(regex);
  }
  assert_int_equal(find(world, "[\\u4e00-\\u9fff\\u3400-\\u4dbf]+[^\\S\\n]\\d-\\d", REGEX_CASELESS, "x"), -1);
  assert_int_equal(find(world, "(?:[\\S]-){9}", 0, "x"), -1);
}

static void groups_have_numbers_and_names(void **state) {
  World *world = *state;
  Regex *regex = made(world, "(?<year>\\d+)-(?<month>\\d+)(x)?", 0);
  assert_int_equal(regex_groups(regex), 3);
  assert_true(regex_has_names(regex));
  assert_int_equal(regex_group(regex, "month", 5), 2);
  assert_int_equal(regex_group(regex, "year", 4), 1);
  assert_int_equal(regex_group(regex, "yea", 3), 0);
  const size_t *ends;
  assert_int_equal(regex_find(regex, "in 2025-11", 10, 0, &ends), STATUS_OK);
  assert_int_equal(ends[0], 3);
  assert_int_equal(ends[5], 10);
  assert_true(ends[6] == REGEX_UNSET && ends[7] == REGEX_UNSET);
  regex_free(regex);
}

static void all_of_unicodes_spaces_are_spaces(void **state) {
  World *world = *state;
  static const char *const spaces[] = {" ", "\t", "\n", "\v", "\f", "\r", "\xC2\xA0", "\u1680", "\u2000", "\u200a",
                                       "\u2028",
                                       "\u2029", "\u202f", "\u205f", "\u3000", "\ufeff"};
  static const char *const others[] = {"a", "\u180e", "\u200b", "\xC2\x85", "\U0001f600", "!", "\x01", "\x1f"};
  for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
    assert_int_equal(find(world, "^\\s$", 0, spaces[i]), 0);
    assert_int_equal(find(world, "^[\\s]$", 0, spaces[i]), 0);
    assert_int_equal(find(world, "\\S", 0, spaces[i]), -1);
    assert_int_equal(find(world, "[\\S]", 0, spaces[i]), -1);
  }
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    assert_int_equal(find(world, "\\s", 0, others[i]), -1);
    assert_int_equal(find(world, "[\\s]", 0, others[i]), -1);
    assert_int_equal(find(world, "^\\S$", 0, others[i]), 0);
    assert_int_equal(find(world, "^[\\S]$", 0, others[i]), 0);
  }
  assert_int_equal(find(world, "[[:alpha:]\\s]", 0, "1\u3000"), 1);
}

/* ---- time ---- */

typedef struct Ticking {
  uint64_t wall, spent, step;        /* step: of the thread, each time that it is asked */
  unsigned asked;
} Ticking;

static uint64_t tick_wall(void *user) { return ((Ticking *)user)->wall += 60 * 1000000ull; }

static uint64_t tick_spent(void *user) {
  Ticking *ticking = user;
  ticking->asked++;
  return ticking->spent += ticking->step;
}

static const char SLOW[] = "(?:a|b|ab)*[cd]";

/* Many starts, so that the clock is looked at; few steps from each. */
static char *slow_text(size_t size) {
  char *text = malloc(size + 1);
  for (size_t i = 0; i < size; i++) text[i] = "ab x"[i % 4];
  text[size] = '\0';
  return text;
}

static void a_busy_machine_makes_no_rule_slow(void **state) {
  World *world = *state;
  Ticking ticking = {.step = 1};
  char *text = slow_text(50000);
  regex_engine_time(world->engine, (RegexTime){tick_wall, tick_spent, &ticking});
  assert_int_equal(find(world, SLOW, 0, text), -1);
  assert_true(ticking.asked > 10);           /* each time that the wall said "over" */
  ticking.step = 1000000;                    /* a millisecond at each look */
  assert_int_equal(find(world, SLOW, 0, text), -2);
  assert_int_equal(regex_engine_reason(world->engine), REGEX_TIME);
  free(text);
}

static void limits_say_why(void **state) {
  World *world = *state;
  char text[4001];
  memset(text, 'a', sizeof text - 1);
  memcpy(text + sizeof text - 2, "!", 2);
  uint64_t before = regex_engine_work(world->engine);
  assert_int_equal(find(world, "(a+)+$", 0, text), -2);
  RegexReason reason = regex_engine_reason(world->engine);
  assert_true(reason == REGEX_STEPS || reason == REGEX_TIME || reason == REGEX_DEPTH);
  assert_true(regex_engine_work(world->engine) > before + 4000);
  for (int i = REGEX_NO_REASON; i <= REGEX_GROWTH; i++) assert_true(strlen(regex_reason_words((RegexReason)i)) > 5);
}

static void deep_recursion_ends(void **state) {
  World *world = *state;
  char text[20001];
  memset(text, '(', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  assert_int_not_equal(find(world, "\\((?:[^()]|(?R))*\\)", 0, text), 0);
  assert_int_equal(find(world, "(?:.|\\n)*$", 0, text), 0);      /* more than the stack of machine code holds */
}

/* ---- what a text must contain ---- */

/* Pairs of a whole text are those of its neighbours two by two, wherever they stand. */
static void pairs_of_long_texts_are_those_of_their_neighbours(void **state) {
  (void)state;
  static RegexPairs whole, single;
  char text[80];
  uint64_t random = test_seed();
  for (int round = 0; round < 2000; round++) {
    size_t size = test_random(&random) % (sizeof text + 1);
    for (size_t i = 0; i < size; i++) text[i] = (char)test_random(&random);
    regex_pairs_of(&whole, text, size);
    regex_pairs_of(&single, text, 0);
    for (size_t i = 1; i < size; i++) regex_pairs_add(&single, text + i - 1, 2);
    for (size_t i = 0; i < sizeof whole.has; i++) {
      assert_int_equal(whole.has[i] == whole.text, single.has[i] == single.text);
    }
  }
}

static void literals_never_lose_a_match(void **state) {
  World *world = *state;
  static const struct {
    const char *pattern;
    unsigned flags;
    const char *text;
    unsigned pairs;
  } cases[] = {
    {"<think>.*?</think>", REGEX_DOTALL, "a<think>x</think>", 7},
    {"foo", REGEX_CASELESS, "FOO", 2},
    {"FOO", 0, "FOO", 2},
    {"skill", REGEX_CASELESS, "\u017F\u212Aill", 2},     /* the long s, the Kelvin sign */
    {"abc?d", 0, "abd", 1},
    {"abc*", 0, "ab", 1},
    {"abc{0}d", 0, "abd", 1},
    {"abc{2,3}d", 0, "abccd", 1},
    {"abc+d", 0, "abccd", 2},
    {"ab|cd", 0, "cd", 0},
    {"(ab|cd)ef", 0, "cdef", 1},
    {"a{b|cd", 0, "cd", 0},
    {"\\x41bc", 0, "Abc", 2},
    {"\\u0041bc", 0, "Abc", 0},
    {"a\\.b\\/c", 0, "a.b/c", 4},
    {"a\\nb", 0, "a\nb", 2},
    {"(?i)abc", 0, "ABC", 0},
    {"a(?i)bc", 0, "aBC", 0},
    {"[abc]de[^f]gh", 0, "adexgh", 1},
    {"a[\\]]bc", 0, "a]bc", 1},
    {"你好", 0, "你好", 5},
    {"你好?x", 0, "你x", 2},
    {"\\bfoo\\b", 0, "foo", 2},
    {"\\Qab\\E", 0, "QabE", 0},
    {"x(?=abc)abc", 0, "xabc", 2},
    {"x(?!y\\)z)abc", 0, "xabc", 2},
    {"(?:a[)]b)cd", 0, "a)bcd", 1},
    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", 0, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", 15},
    {"a", 0, "a", 0},
    {"", 0, "", 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    RegexLiteral literal =
      regex_literal(cases[i].pattern, strlen(cases[i].pattern), (cases[i].flags & REGEX_CASELESS) != 0);
    static RegexPairs pairs;
    regex_pairs_of(&pairs, cases[i].text, strlen(cases[i].text));
    long at = find(world, cases[i].pattern, cases[i].flags, cases[i].text);
    if (at < 0) fail_msg("%s does not match", cases[i].pattern);
    if (!regex_may_match(&pairs, &literal)) fail_msg("%s: the match is lost", cases[i].pattern);
    if (literal.count != cases[i].pairs) fail_msg("%s: %u pairs", cases[i].pattern, literal.count);
    regex_pairs_of(&pairs, "zq", 2);
    assert_int_equal(regex_may_match(&pairs, &literal), cases[i].pairs == 0);
  }
}

/* ---- sets ---- */

static RuleSource rule_of(const char *pattern, const char *replacement, unsigned flags) {
  return (RuleSource){.pattern = text_of(pattern), .replacement = text_of(replacement), .flags = flags, .kinds = 1,
                     .depth_last = UINT32_MAX};
}

/* Each replacement brings new pairs: inside of it, and with its neighbours. */
static void rules_see_the_edges_of_each_replacement(void **state) {
  World *world = *state;
  static const struct {
    const char *from, *to, *text, *pattern, *result;
  } rows[] = {
    {"a", "xy", "1a1 2a2 3a3", "1xy1", "! 2xy2 3xy3"}, {"a", "xy", "1a1 2a2 3a3", "2x", "1xy1 !y2 3xy3"},
    {"a", "xy", "1a1 2a2 3a3", "y2", "1xy1 2x! 3xy3"}, {"a", "xy", "1a1 2a2 3a3", "3x", "1xy1 2xy2 !y3"},
    {"a", "xy", "1a1 2a2 3a3", "y3", "1xy1 2xy2 3x!"}, {"a", "xy", "a", "xy", "!"},
    {"a", "", "1a1 2a2 3a3", "22", "11 ! 33"},         {"a", "", "1a1 2a2 3a3", "33", "11 22 !"},
    {"a", "z", "1a1 2a2 3a3", "z3", "1z1 2z2 3!"},     {"(\\d)a", "$1-", "1a1 2a2 3a3", "3-", "1-1 2-2 !3"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    RuleSet *set;
    RegexError error;
    RuleResult result;
    assert_int_equal(rule_set_new(world->engine, &set), STATUS_OK);
    RuleSource rules[] = {rule_of("zz", "", REGEX_GLOBAL), rule_of(rows[i].from, rows[i].to, REGEX_GLOBAL),
                         rule_of(rows[i].pattern, "!", REGEX_GLOBAL)};
    for (int k = 0; k < 3; k++) assert_int_equal(rule_set_add(set, &rules[k], &error), STATUS_OK);
    assert_int_equal(rule_set_apply(set, text_of(rows[i].text), 1, 0, &result), STATUS_OK);
    assert_true(text_equal(result.text, text_of(rows[i].result)));
    rule_set_free(set);
  }
}

static void rules_see_what_those_before_made(void **state) {
  World *world = *state;
  RuleSet *set;
  RegexError error;
  RuleResult result;
  assert_int_equal(rule_set_new(world->engine, &set), STATUS_OK);
  RuleSource rules[] = {rule_of("cat", "dog", REGEX_GLOBAL), rule_of("dog", "bird", REGEX_GLOBAL),
                       rule_of("^", "", 0), rule_of("bird", "", REGEX_GLOBAL)};
  rules[3].depth_first = 1;
  rules[3].depth_last = 2;
  for (int i = 0; i < 4; i++) assert_int_equal(rule_set_add(set, &rules[i], &error), STATUS_OK);
  RuleSource bad = rule_of("(", "", 0);
  assert_int_equal(rule_set_add(set, &bad, &error), STATUS_ARGUMENT);
  bad = rule_of("a", "\xFF", 0);
  assert_int_equal(rule_set_add(set, &bad, &error), STATUS_ENCODING);
  assert_int_equal(rule_set_size(set), 4);

  Text text = text_of("cat cat");
  assert_int_equal(rule_set_apply(set, text, 1, 0, &result), STATUS_OK);
  assert_true(result.changed);
  assert_true(text_equal(result.text, text_of("bird bird")));
  assert_int_equal(rule_set_apply(set, text, 1, 2, &result), STATUS_OK);
  assert_true(text_equal(result.text, text_of(" ")));
  assert_int_equal(rule_set_apply(set, text, 1, 3, &result), STATUS_OK);
  assert_true(text_equal(result.text, text_of("bird bird")));
  assert_int_equal(rule_set_apply(set, text, 2, 0, &result), STATUS_OK);
  assert_true(!result.changed && result.text.bytes == text.bytes);
  assert_int_equal(rule_set_apply(set, text_plain("\xC3", 1), 1, 0, &result), STATUS_ENCODING);
  RuleCounts count = rule_set_counts(set, 0);
  assert_int_equal(count.texts, 3);
  assert_int_equal(count.replacements, 6);
  rule_set_begin(set);
  assert_int_equal(rule_set_counts(set, 0).texts, 0);
  rule_set_free(set);
}

/* ---- out of memory ---- */

/* Everything once, with whatever fails first; a text that needs the clock too. */
static Status do_all(const Memory *memory, const char *text, size_t size) {
  RegexEngine *engine = NULL;
  RuleSet *set = NULL;
  RegexError error;
  RuleResult result;
  Status status = regex_engine_new(memory, &engine);
  if (status == STATUS_OK) status = rule_set_new(engine, &set);
  RuleSource rules[] = {rule_of("(a+)(b)?(?<x>c)?\\s", "<$1$2$<x>$&$'>", REGEX_GLOBAL),
                       rule_of("(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)", "$10", 0),
                       rule_of("(?:a|b|ab)*[cd]$", "", REGEX_GLOBAL)};
  Text trims[] = {text_of("a"), text_of("")};
  rules[1].trims = trims;
  rules[1].trim_count = 2;
  for (int i = 0; i < 3 && status == STATUS_OK; i++) status = rule_set_add(set, &rules[i], &error);
  if (status == STATUS_OK) status = rule_set_apply(set, text_plain(text, size), 1, 0, &result);
  if (status == STATUS_OK) assert_true(result.changed);
  rule_set_free(set);
  regex_engine_free(engine);
  return status;
}

static void running_out_of_memory_is_a_status(void **state) {
  (void)state;
  char *text = slow_text(6000);
  for (int once = 0; once < 2; once++) {
    size_t failed = 0;
    for (size_t k = 1;; k++) {
      Fail fail = {.fail_at = k, .once = once == 1};
      Memory memory = fail_memory(&fail);
      Status status = do_all(&memory, text, 6000);
      assert_int_equal(fail.in_use, 0);
      if (fail.calls < k) break;               /* nothing was refused */
      /* Without machine code the interpreter does it: that failure is none. */
      assert_true(status == STATUS_MEMORY || (status == STATUS_OK && once == 1));
      failed += status == STATUS_MEMORY;
    }
    assert_true(failed > 20);
  }
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(flags_are_letters_each_once),
    cmocka_unit_test_setup_teardown(errors_stand_where_the_given_pattern_is_wrong, open_world, close_world),
    cmocka_unit_test_setup_teardown(wide_ranges_without_case_are_refused, open_world, close_world),
    cmocka_unit_test_setup_teardown(groups_have_numbers_and_names, open_world, close_world),
    cmocka_unit_test_setup_teardown(all_of_unicodes_spaces_are_spaces, open_world, close_world),
    cmocka_unit_test_setup_teardown(a_busy_machine_makes_no_rule_slow, open_world, close_world),
    cmocka_unit_test_setup_teardown(limits_say_why, open_world, close_world),
    cmocka_unit_test_setup_teardown(deep_recursion_ends, open_world, close_world),
    cmocka_unit_test(pairs_of_long_texts_are_those_of_their_neighbours),
    cmocka_unit_test_setup_teardown(literals_never_lose_a_match, open_world, close_world),
    cmocka_unit_test_setup_teardown(rules_see_the_edges_of_each_replacement, open_world, close_world),
    cmocka_unit_test_setup_teardown(rules_see_what_those_before_made, open_world, close_world),
    cmocka_unit_test(running_out_of_memory_is_a_status),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
