/*
** require "ebb" in scripts and policies, the same as in the command and the module;
** and dates, which are the host's.
*/
#include "api_kit.h"

static void scripts_have_json_and_null(void **state) {
  (void)state;
  Fixture fixture;
  static const struct {
    const char *source, *result;
  } cases[] = {
    {"local ebb = require 'ebb' return { a = ebb.null, b = ebb.json.array {}, c = {} }", "{\"a\":null,\"b\":[],\"c\":{}}"},
    {"return require 'ebb'.json.array {}", "[]"},
    {"return require 'ebb'.json.encode { 1.5, 'a' }", "\"[1.5,\\\"a\\\"]\""},
    {"local json = require 'ebb'.json return json.decode '{\"a\":[null]}'", "{\"a\":[null]}"},
    {"return require 'ebb'.version == nil", "false"},
    {"return require 'ebb' == require 'ebb'", "true"},
    {"return type(require 'ebb.conversation.parts'.call_id)", "\"function\""},
    {"return getmetatable(require 'ebb'.json.array {})", "\"json.array\""},
    {"return pcall(setmetatable, require 'ebb'.json.array {}, {})", "false"},
  };
  fixture_open(&fixture, 8);
  fixture.host.still = true;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_string_equal(fixture_run(&fixture, cases[i].source), cases[i].result);
  }
  fixture_close(&fixture);
}

static void scripts_change_it_for_themselves_only(void **state) {
  (void)state;
  Fixture fixture;
  fixture_open(&fixture, 8);
  fixture.host.still = true;
  assert_string_equal(fixture_run(&fixture, "local ebb = require 'ebb' ebb.json.array, ebb.null = nil, 5\n"
                                       "require 'ebb.conversation.parts'.call_id = 5 return ebb.json.array == nil"), "true");
  assert_string_equal(fixture_run(&fixture, "local ebb = require 'ebb' return { ebb.json.array {}, ebb.null }"),
                      "[[],null]");
  assert_string_equal(fixture_run(&fixture, "return type(require 'ebb.conversation.parts'.call_id)"), "\"function\"");
  fixture_close(&fixture);
}

static void policies_have_it(void **state) {
  (void)state;
  Fixture fixture;
  ebb_text saved;
  fixture_open(&fixture, 8);
  fixture.host.still = true;
  ebb_runtime *runtime = fixture.runtime;
  must(load_policy(runtime, "p", "local ebb = require 'ebb'\n"
                                 "return function(draft, budget) draft.memory.list = { ebb.null }\n"
                                 "draft:note(ebb.json.encode { budget }) draft:drop_oldest { to = budget } end"));
  must(trim(fixture.chat, "p", "{\"budget\":100}", NULL));
  must(ebb_chat_save(fixture.chat, &saved));
  assert_non_null(strstr(saved.bytes, "{\"list\":[null]}"));
  assert_non_null(strstr(saved.bytes, "[100]"));
  host_close(&fixture.host, runtime);
}

static void what_scripts_hold_has_a_json_form(void **state) {
  (void)state;
  Fixture fixture;
  fixture_open(&fixture, 8);
  fixture.host.still = true;
  ebb_runtime *runtime = fixture.runtime;
#define SHORT "local chat = ... chat:truncate { keep_last = 0 } chat:append {\n" \
  "{ role = 'user', content = 'a' }, { role = 'assistant', content = 'b' } }\n"
  static const struct {
    const char *source, *result;
  } cases[] = {
    {SHORT "return chat[1]", "{\"role\":\"user\",\"content\":\"a\"}"},
    {SHORT "return { first = chat[1], n = 1 }", "{\"first\":{\"role\":\"user\",\"content\":\"a\"},\"n\":1}"},
    {SHORT "return chat:recent('user', 2)", "[{\"role\":\"user\",\"content\":\"a\"}]"},
    {SHORT "return #chat:where { role = 'tool' }", "0"},
    {SHORT "return chat:where { role = 'tool' }", "[]"},
    {SHORT "return chat", "[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":\"b\"}]"},
    {SHORT "return chat:batch(chat:stats().current_batch_index)",
     "[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":\"b\"}]"},
    {SHORT "local before = chat:stats().current_batch_index chat:truncate { keep_first = 1 }\n"
           "return chat:diff(before, before + 1)",
     "{\"added\":[],\"removed\":[{\"role\":\"assistant\",\"content\":\"b\"}],\"replaced\":[]}"},
    {SHORT "local unit = chat[1].unit return { unit.tokens > 0, unit }",
     "\"first\":0,\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]"},
    {SHORT "return chat.windows:open { id = 'w', description = 'd' }", "\"description\":\"d\",\"hidden\":false,\"id\":\"w\""},
    {SHORT "return { chat:draft() }", "[[{\"role\":\"user\""},
    {SHORT "chat:trim { budget = 10 } return chat:ledger(chat:stats().current_batch_index)", "[{\"action\":\"dropped\""},
    {"return print", "a function has no JSON form"},
    {"local chat = ... return { chat[1], print }", "a function has no JSON form"},
    {"local chat, t = ... t = { chat[1] } t[2] = t return t", "levels"},
    {SHORT "return request(chat[1]) == nil", "{\"role\":\"user\",\"content\":\"a\"}"},
  };
#undef SHORT
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *result = fixture_run(&fixture, cases[i].source);
    if (strstr(result, cases[i].result) == NULL) fail_msg("%s: %s", cases[i].source, result);
    must(ebb_chat_rollback(fixture.chat, 0));
  }
  host_close(&fixture.host, runtime);
}

static void dates_are_by_the_hosts_clock(void **state) {
  (void)state;
  Fixture fixture;
  fixture_open(&fixture, 8);
  fixture.host.still = true;
  fixture.host.now = 1700000000123;
  assert_string_equal(fixture_run(&fixture, "local chat = ... chat:input 'On {{isotime}}, a {{weekday}}: {{date}}'\n"
                                       "return chat[#chat].content"),
                      "\"On 2023-11-14T22:13:20.123Z, a Tuesday: November 14, 2023\"");
  fixture.host.now += 86400000;
  assert_string_equal(fixture_run(&fixture, "local chat = ... chat:input '{{date_ymd}}' return chat[#chat].content"),
                      "\"2023-11-15\"");
  fixture_close(&fixture);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(scripts_have_json_and_null),
    cmocka_unit_test(scripts_change_it_for_themselves_only),
    cmocka_unit_test(policies_have_it),
    cmocka_unit_test(what_scripts_hold_has_a_json_form),
    cmocka_unit_test(dates_are_by_the_hosts_clock),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
