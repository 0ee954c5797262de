/*
** The C API in a program whose locale has a decimal comma: numbers in JSON, in
** scripts, options, saves and memories are what they are in the C locale, and the
** program's locale is as it was, in callbacks too.
*/
#define _XOPEN_SOURCE 700   /* mkdtemp, setenv, strdup */
#include "api_kit.h"
#include "locale_kit.h"

static void scripts_have_points_in_numbers(void **state) {
  (void)state;
  Fixture fixture;
  fixture_open(&fixture, 8);
  assert_string_equal(fixture_run(&fixture, "return {a = 0.1, b = 1.5, c = 2.0}"), "{\"a\":0.1,\"b\":1.5,\"c\":2.0}");
  assert_string_equal(fixture_run(&fixture, "local _, list = ... return {list[1] * 2, list[2]}"), "[1.5,0.001]");
  assert_string_equal(fixture_run(&fixture, "return {tostring(1.5), 0.5 .. '', ('%g'):format(0.25),\n"
                                       "('%.1f|%q'):format(1.5, 0.5)}"),
                      "[\"1.5\",\"0.5\",\"0.25\",\"1.5|0x1p-1\"]");
  assert_string_equal(fixture_run(&fixture, "return {tonumber '0.5', tonumber '0,5' == nil, '1.5' + 1,\n"
                                       "load 'return 0.5'()}"),
                      "[0.5,true,2.5,0.5]");
  fixture_close(&fixture);
}

static void options_of_policies_are_read(void **state) {
  (void)state;
  Fixture fixture;
  fixture_open(&fixture, 8);
  ebb_runtime *runtime = fixture.runtime;
  must(load_policy(runtime, "shared", "return { options = { share = { type = 'number', default = 0.5 } },\n"
                                      "trim = function(draft, budget, options)\n"
                                      "draft.memory.share = options.share draft:note('share ' .. options.share)\n"
                                      "draft:drop_oldest { to = budget } end }"));
  must(trim(fixture.chat, "shared", "{\"budget\":100,\"options\":{\"share\":0.75}}", NULL));
  ebb_text saved;
  must(ebb_chat_save(fixture.chat, &saved));
  assert_non_null(strstr(saved.bytes, "{\"share\":0.75}"));
  assert_non_null(strstr(saved.bytes, "share 0.75"));
  refused(trim(fixture.chat, "shared", "{\"budget\":100.5}", NULL), EBB_ARGUMENT, "budget");
  ebb_chat *copy;
  char digest[65], again[65];
  must(ebb_chat_digest(fixture.chat, digest));
  must(ebb_chat_save(fixture.chat, &saved));
  char *text = strdup(saved.bytes);
  must(ebb_chat_load(runtime, text, strlen(text), &copy));
  must(ebb_chat_digest(copy, again));
  assert_string_equal(digest, again);
  free(text);
  fixture_close(&fixture);
}

static ebb_status double_it(void *user, const char *arguments, size_t size, ebb_sink *result) {
  char *text = user;
  (void)size;
  snprintf(text, 100, "%s %.1f", arguments, 1.5);
  return ebb_sink_add(result, "0.5", 3);
}

static void callbacks_see_their_own_locale(void **state) {
  (void)state;
  Fixture fixture;
  char seen[100], number[10];
  fixture_open(&fixture, 8);
  ebb_runtime *runtime = fixture.runtime;
  must(ebb_register(runtime, "double_it", double_it, seen, 0));
  assert_string_equal(fixture_run(&fixture, "return {double_it(2.5) + 1, tostring(1.5)}"), "[1.5,\"1.5\"]");
  assert_string_equal(seen, "[2.5] 1,5");
  snprintf(number, sizeof number, "%.1f", 1.5);
  assert_string_equal(number, "1,5");
  fixture_close(&fixture);
}

int main(void) {
  use_comma_locale();
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(scripts_have_points_in_numbers),
    cmocka_unit_test(options_of_policies_are_read),
    cmocka_unit_test(callbacks_see_their_own_locale),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
