/*
** Whatever scripts, names and hosts bring, what comes out is UTF-8: events, errors,
** log, reports, saves. Bytes that are none become U+FFFD, and nothing is cut within
** a character.
*/
#include "api_kit.h"
#include "base/utf8.h"

#define BAD "\xEF\xBF\xBD"

static void check_utf8(const char *what, const char *text) {
  size_t size = strlen(text), valid = utf8_check(text, size);
  if (valid < size) fail_msg("%s: not UTF-8 at byte %zu: %s", what, valid, text);
}

/* The chat saves, and what it saved loads: names and reasons are in it. */
static void check_saves(Fixture *fixture) {
  ebb_runtime *runtime = fixture->runtime;
  ebb_text saved;
  ebb_chat *copy;
  must(ebb_chat_save(fixture->chat, &saved));
  check_utf8("a save", saved.bytes);
  char *text = malloc(saved.size);
  assert_non_null(text);
  memcpy(text, saved.bytes, saved.size);
  must(ebb_chat_load(runtime, text, saved.size, &copy));
  ebb_chat_free(copy);
  free(text);
}

/* Runs it to its end; the event that it ends with, whose texts are UTF-8. */
static ebb_event run_script(Fixture *fixture, const char *source) {
  ebb_runtime *runtime = fixture->runtime;
  ebb_task *task;
  ebb_event event = {.size = sizeof event};
  must(ebb_task_script(fixture->chat, "sc\xFFript", source, strlen(source), NULL, 0, &task));
  must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
  must(ebb_next_event(runtime, &event));
  check_utf8(source, event.json.bytes);
  return event;
}

static void events_are_utf8(void **state) {
  (void)state;
  Fixture fixture;
  fixture_open(&fixture, 4);
  static const struct {
    const char *source, *says;
  } cases[] = {
    {"error '\\xff'", "{\"code\":\"script\",\"message\":\"sc" BAD "ript:1: " BAD "\"}"},
    {"error { code = 'c\\xff', message = 'm\\xfe' }", "{\"code\":\"c" BAD "\",\"message\":\"m" BAD "\"}"},
    {"error(('\\xff'):rep(3000))", BAD},
    {"error(('\\u{1F600}'):rep(3000))", "\xF0\x9F\x98\x80"},
    {"return '\\xff'", "\"encoding\""},
    {"request '\\xff'", "\"encoding\""},
    {"local chat = ... chat:mark(1, '\\xff')", "mark: byte 1: expected UTF-8"},
    {"local chat = ... chat:checkpoint '\\xff'", "checkpoint: byte 1: expected UTF-8"},
    {"local chat = ... return chat['\\xff']", "no field '" BAD "'"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ebb_event event = run_script(&fixture, cases[i].source);
    assert_int_equal(event.kind, EBB_EVENT_FAILED);
    if (strstr(event.json.bytes, cases[i].says) == NULL) fail_msg("%s: %s", cases[i].source, event.json.bytes);
    ebb_task_free(event.task);
    check_saves(&fixture);
  }
  fixture_close(&fixture);
}

static void errors_are_utf8(void **state) {
  (void)state;
  Fixture fixture;
  char long_name[3000];
  fixture_open(&fixture, 4);
  ebb_runtime *runtime = fixture.runtime;
  for (size_t i = 0; i + 1 < sizeof long_name; i++) long_name[i] = i % 3 == 0 ? '\xE2' : i % 3 == 1 ? '\x82' : '\xAC';
  long_name[sizeof long_name - 1] = '\0';
  for (int i = 0; i < 6; i++) {
    const char *shifted = long_name + i % 3;
    ebb_status status = i < 3 ? ebb_chat_trim(fixture.chat, shifted, NULL, 0, NULL)
                              : ebb_window_open(fixture.chat, shifted, NULL, 0);
    assert_true(status != EBB_OK);
    check_utf8("a long name", ebb_last_error(runtime)->message);
  }
  refused(load_policy(runtime, "p", "\xFF\xFE"), EBB_SYNTAX, "p:1:");
  check_utf8("syntax", ebb_last_error(runtime)->message);
  refused(load_policy(runtime, "p", "error '\xFF'"), EBB_SCRIPT, "p:1: " BAD);
  refused(load_policy(runtime, "p\xFF", "return print"), EBB_ARGUMENT, "'p" BAD "'");
  refused(trim(fixture.chat, "\xFF", "", NULL), EBB_UNKNOWN_NAME, "'" BAD "'");
  must(load_policy(runtime, "p", "return function() error { code = 'c\xFF', message = 'm\xFF' } end"));
  assert_int_equal(trim(fixture.chat, "p", "{\"budget\":90}", NULL), EBB_POLICY);
  check_utf8("a code", ebb_last_error(runtime)->code);
  check_utf8("a policy's own error", ebb_last_error(runtime)->message);
  host_close(&fixture.host, runtime);
}

static void reports_and_log_are_utf8(void **state) {
  (void)state;
  Fixture fixture;
  ebb_text report;
  fixture_open(&fixture, 4);
  ebb_runtime *runtime = fixture.runtime;
  must(load_policy(runtime, "p", "return function(draft, budget)\n"
                                 "print 'a\\xffb' print(('\\xff'):rep(9000)) draft:note 'n\\xff'\n"
                                 "draft:drop_oldest { to = budget, reason = 'r\\xff' } end"));
  must(trim(fixture.chat, "p", "{\"budget\":90}", &report));
  check_utf8("a report", report.bytes);
  assert_non_null(strstr(report.bytes, "\"reason\":\"r" BAD "\""));
  assert_non_null(strstr(fixture.host.log, "a" BAD "b\n" BAD BAD));
  check_saves(&fixture);
  host_close(&fixture.host, runtime);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(events_are_utf8),
    cmocka_unit_test(errors_are_utf8),
    cmocka_unit_test(reports_and_log_are_utf8),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
