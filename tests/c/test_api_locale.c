/*
** The C API in a program whose locale has a decimal comma: numbers in JSON, in
** scripts, options, saves and memories are what they are in the C locale, and the
** program's locale is as it was, in callbacks too.
*/
#define _XOPEN_SOURCE 700   /* mkdtemp, setenv, strdup */
#include "api_kit.h"
#include "locale_kit.h"

typedef struct Inn {
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
} Inn;

static void open_inn(Inn *inn) {
  host_open(&inn->host, &inn->runtime);
  ebb_runtime *runtime = inn->runtime;
  must(ebb_chat_new(runtime, NULL, 0, &inn->chat));
  talk(runtime, inn->chat, 8);
}

static void close_inn(Inn *inn) { host_close(&inn->host, inn->runtime); }

/* The JSON of the event with which the script ends. */
static const char *run_script(Inn *inn, const char *source) {
  static char result[1000];
  ebb_runtime *runtime = inn->runtime;
  ebb_task *task;
  ebb_event event = {.size = sizeof event};
  must(ebb_task_script(inn->chat, "script", source, strlen(source), "[0.75,1e-3]", 11, &task));
  must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
  must(ebb_next_event(runtime, &event));
  snprintf(result, sizeof result, "%s", event.json.bytes);
  ebb_task_free(task);
  return result;
}

static void scripts_have_points_in_numbers(void **state) {
  (void)state;
  Inn inn;
  open_inn(&inn);
  assert_string_equal(run_script(&inn, "return {a = 0.1, b = 1.5, c = 2.0}"), "{\"a\":0.1,\"b\":1.5,\"c\":2.0}");
  assert_string_equal(run_script(&inn, "local _, list = ... return {list[1] * 2, list[2]}"), "[1.5,0.001]");
  assert_string_equal(run_script(&inn, "return {tostring(1.5), 0.5 .. '', ('%g'):format(0.25),\n"
                                       "('%.1f|%q'):format(1.5, 0.5)}"),
                      "[\"1.5\",\"0.5\",\"0.25\",\"1.5|0x1p-1\"]");
  assert_string_equal(run_script(&inn, "return {tonumber '0.5', tonumber '0,5' == nil, '1.5' + 1,\n"
                                       "load 'return 0.5'()}"),
                      "[0.5,true,2.5,0.5]");
  close_inn(&inn);
}

static void options_of_policies_are_read(void **state) {
  (void)state;
  Inn inn;
  open_inn(&inn);
  ebb_runtime *runtime = inn.runtime;
  must(load_policy(runtime, "shared", "return { options = { share = { type = 'number', default = 0.5 } },\n"
                                      "trim = function(draft, budget, options)\n"
                                      "draft.memory.share = options.share draft:note('share ' .. options.share)\n"
                                      "draft:drop_oldest { to = budget } end }"));
  must(trim(inn.chat, "shared", "{\"budget\":100,\"options\":{\"share\":0.75}}", NULL));
  ebb_text saved;
  must(ebb_chat_save(inn.chat, &saved));
  assert_non_null(strstr(saved.bytes, "{\"share\":0.75}"));
  assert_non_null(strstr(saved.bytes, "share 0.75"));
  refused(trim(inn.chat, "shared", "{\"budget\":100.5}", NULL), EBB_ARGUMENT, "budget");
  ebb_chat *copy;
  char digest[65], again[65];
  must(ebb_chat_digest(inn.chat, digest));
  must(ebb_chat_save(inn.chat, &saved));
  char *text = strdup(saved.bytes);
  must(ebb_chat_load(runtime, text, strlen(text), &copy));
  must(ebb_chat_digest(copy, again));
  assert_string_equal(digest, again);
  free(text);
  close_inn(&inn);
}

static ebb_status double_it(void *user, const char *arguments, size_t size, ebb_sink *result) {
  char *text = user;
  (void)size;
  snprintf(text, 100, "%s %.1f", arguments, 1.5);
  return ebb_sink_add(result, "0.5", 3);
}

static void callbacks_see_their_own_locale(void **state) {
  (void)state;
  Inn inn;
  char seen[100], number[10];
  open_inn(&inn);
  ebb_runtime *runtime = inn.runtime;
  must(ebb_register(runtime, "double_it", double_it, seen, 0));
  assert_string_equal(run_script(&inn, "return {double_it(2.5) + 1, tostring(1.5)}"), "[1.5,\"1.5\"]");
  assert_string_equal(seen, "[2.5] 1,5");
  snprintf(number, sizeof number, "%.1f", 1.5);
  assert_string_equal(number, "1,5");
  close_inn(&inn);
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
