/*
** Streamed answers: what is seen of them while they grow, what is not, and what they
** are when they are settled.
*/
#include "api_kit.h"

static ebb_runtime *open_fixture(Fixture *fixture) {
  host_open(&fixture->host, &fixture->runtime);
  ebb_runtime *runtime = fixture->runtime;
  fixture->host.still = true;
  must(ebb_chat_new(runtime, NULL, 0, &fixture->chat));
  must(append(fixture->chat, "{\"role\":\"user\",\"content\":\"Is there room?\"}"));
  return runtime;
}

static ebb_status begin(ebb_chat *chat, const char *json) { return ebb_chat_stream_begin(chat, json, strlen(json)); }
static ebb_status add(ebb_chat *chat, const char *text) { return ebb_chat_stream_add(chat, text, strlen(text)); }
static ebb_status settle(ebb_chat *chat, const char *json) {
  return ebb_chat_stream_settle(chat, json, json == NULL ? 0 : strlen(json));
}

static ebb_message last(ebb_runtime *runtime, ebb_chat *chat) {
  ebb_message message = {.size = sizeof message};
  must(ebb_chat_message(chat, ebb_chat_count(chat) - 1, &message));
  return message;
}

static ebb_message partial(ebb_runtime *runtime, ebb_chat *chat) {
  ebb_message message = {.size = sizeof message};
  must(ebb_chat_message(chat, ebb_chat_count(chat), &message));
  assert_true(message.partial == 1 && message.seq == 0 && message.tokens == 0 && message.origin == 0);
  return message;
}

static void an_answer_grows_and_is_settled(void **state) {
  (void)state;
  Fixture fixture;
  ebb_runtime *runtime = open_fixture(&fixture);
  ebb_message two[3] = {{.size = sizeof *two}};
  uint32_t count;
  must(begin(fixture.chat,
             "{\"role\":\"assistant\",\"id\":\"a\\u0031\",\"name\":\"Mara\",\"timestamp\":1700000000123}"));
  assert_string_equal(partial(runtime, fixture.chat).text.bytes, "");
  must(add(fixture.chat, "Up the \"stairs\"\n"));
  must(add(fixture.chat, ""));
  must(add(fixture.chat, "\xC3\xA0 gauche."));
  ebb_message message = partial(runtime, fixture.chat);
  assert_string_equal(message.text.bytes, "Up the \"stairs\"\n\xC3\xA0 gauche.");
  assert_string_equal(message.role, "assistant");
  assert_string_equal(message.id.bytes, "a1");
  assert_string_equal(message.name.bytes, "Mara");
  assert_string_equal(message.marks.bytes, "[]");
  assert_string_equal(message.calls.bytes, "[]");
  assert_true(message.has_timestamp && message.timestamp == 1700000000123);
  char json[300];
  snprintf(json, sizeof json, "%s", message.json.bytes);
  must(ebb_chat_messages(fixture.chat, 0, 3, two, &count));
  assert_true(count == 2 && two[0].partial == 0 && two[1].partial == 1);
  assert_int_equal(ebb_chat_count(fixture.chat), 1);
  must(settle(fixture.chat, NULL));
  assert_int_equal(ebb_chat_count(fixture.chat), 2);
  message = last(runtime, fixture.chat);
  assert_string_equal(message.json.bytes, json);    /* as it was read last */
  assert_true(message.partial == 0 && message.seq == 2 && message.tokens > 0);
  refused(ebb_chat_message(fixture.chat, 2, &message), EBB_OUT_OF_RANGE, "message 2: the chat has 2");
  refused(add(fixture.chat, "x"), EBB_ARGUMENT, "none is open");
  refused(settle(fixture.chat, NULL), EBB_ARGUMENT, "none is open");
  ebb_chat_stream_drop(fixture.chat);
  host_close(&fixture.host, runtime);
}

/* ---- the message around the text ---- */

static void the_text_takes_the_place_of_the_content(void **state) {
  (void)state;
  static const struct {
    const char *begin, *settled;
  } cases[] = {
    {"{\"role\":\"assistant\"}", "{\"role\":\"assistant\",\"content\":\"x\\ny\"}"},
    {" { \"role\" : \"assistant\" , \"x\" : {\"content\":1} } ",
     "{ \"role\" : \"assistant\" , \"x\" : {\"content\":1} ,\"content\":\"x\\ny\"}"},
    {"{\"content\": null, \"role\":\"assistant\"}", "{\"content\": \"x\\ny\", \"role\":\"assistant\"}"},
    {"{\"cont\\u0065nt\":\"So \\u00e9\\t\",\"role\":\"assistant\"}",
     "{\"cont\\u0065nt\":\"So \xC3\xA9\\tx\\ny\",\"role\":\"assistant\"}"},
    {"{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"\"}",
     "{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"x\\ny\"}"}};
  Fixture fixture;
  ebb_runtime *runtime = open_fixture(&fixture);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    must(begin(fixture.chat, cases[i].begin));
    must(add(fixture.chat, "x\ny"));
    must(settle(fixture.chat, NULL));
    assert_string_equal(last(runtime, fixture.chat).json.bytes, cases[i].settled);
  }
  must(begin(fixture.chat, "{\"role\":\"assistant\"}"));
  must(add(fixture.chat, "Let me look."));
  must(settle(fixture.chat, "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"c\",\"type\":\"function\",\"function\":"
                        "{\"name\":\"look\",\"arguments\":\"{}\"}}],\"content\":null}"));
  ebb_message message = last(runtime, fixture.chat);
  assert_string_equal(message.calls.bytes, "[{\"id\":\"c\",\"name\":\"look\",\"arguments\":\"{}\"}]");
  assert_string_equal(message.text.bytes, "Let me look.\n{}");
  host_close(&fixture.host, runtime);
}

static void what_is_wrong_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *json;
    ebb_status status;
    const char *says;
  } cases[] = {
    {"", EBB_SYNTAX, "stream: 1:1"}, {"[{\"role\":\"user\"}]", EBB_SHAPE, "stream: 1:1"}, {"{}", EBB_SHAPE, "role"},
    {"{\"role\":\"assistant\"", EBB_SYNTAX, "1:20"}, {"{\"role\":\"assistant\"} x", EBB_SYNTAX, "1:22"},
    {"{\"role\":\"wizard\"}", EBB_ROLE, "1:9"}, {"{\"role\":\"assistant\",\"content\":[]}", EBB_SHAPE, "1:31: expected a text or null at content"},
    {"{\"role\":\"assistant\",\"content\":\"\",\"content\":\"\"}", EBB_DUPLICATE, "content"},
    {"{\"type\":\"window\",\"window\":\"todo\"}", EBB_SHAPE, "stream"}};
  Fixture fixture;
  ebb_message message = {.size = sizeof message};
  ebb_runtime *runtime = open_fixture(&fixture);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    refused(begin(fixture.chat, cases[i].json), cases[i].status, cases[i].says);
    assert_int_equal(ebb_chat_message(fixture.chat, 1, &message), EBB_OUT_OF_RANGE);
  }
  assert_int_equal(begin(NULL, "{}"), EBB_ARGUMENT);
  assert_int_equal(ebb_chat_stream_begin(fixture.chat, NULL, 1), EBB_ARGUMENT);
  must(begin(fixture.chat, "{\"role\":\"assistant\"}"));
  must(add(fixture.chat, "So be it"));
  refused(begin(fixture.chat, "{\"role\":\"assistant\"}"), EBB_DUPLICATE, "open already");
  assert_int_equal(ebb_chat_stream_add(fixture.chat, NULL, 1), EBB_ARGUMENT);
  refused(settle(fixture.chat, "{\"role\":\"assistant\",\"content\":\"mine\"}"), EBB_SHAPE, "the stream's");
  refused(settle(fixture.chat, "{\"role\":\"wizard\"}"), EBB_ROLE, "settle: 1:9");
  refused(settle(fixture.chat, ""), EBB_SYNTAX, "settle: 1:1");
  assert_string_equal(partial(runtime, fixture.chat).text.bytes, "So be it");
  assert_int_equal(ebb_chat_count(fixture.chat), 1);
  host_close(&fixture.host, runtime);                   /* with the stream open */
}

/* ---- pieces ---- */

static void pieces_may_end_within_a_character(void **state) {
  (void)state;
  static const char text[] = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x8D\xBA" "z";
  static const char *const bad[] = {"\x80", "\xC0", "\xC3(", "\xE0\x80", "\xED\xA0", "\xF5", "\xE2\x82(", "\xFF"};
  Fixture fixture;
  ebb_runtime *runtime = open_fixture(&fixture);
  for (size_t cut = 0; cut < sizeof text; cut++) {
    must(begin(fixture.chat, "{\"role\":\"assistant\"}"));
    must(ebb_chat_stream_add(fixture.chat, text, cut));
    ebb_message message = partial(runtime, fixture.chat);
    assert_true(message.text.size <= cut && cut - message.text.size <= 3);
    assert_memory_equal(message.text.bytes, text, message.text.size);
    if (message.text.size < cut) refused(settle(fixture.chat, NULL), EBB_ENCODING, "within a character");
    must(add(fixture.chat, text + cut));
    must(settle(fixture.chat, NULL));
    assert_string_equal(last(runtime, fixture.chat).text.bytes, text);
  }
  must(begin(fixture.chat, "{\"role\":\"assistant\"}"));
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) refused(add(fixture.chat, bad[i]), EBB_ENCODING, "byte 1 ");
  must(add(fixture.chat, "ab\xE2"));
  refused(add(fixture.chat, "\x28"), EBB_ENCODING, "byte 3 ");
  must(add(fixture.chat, "\x82\xAC"));
  assert_string_equal(partial(runtime, fixture.chat).text.bytes, "ab\xE2\x82\xAC");
  host_close(&fixture.host, runtime);
}

static void streams_have_limits(void **state) {
  (void)state;
  Host host = {.now = 1};
  ebb_runtime *runtime;
  ebb_chat *chat;
  char *text = malloc(300000);
  memset(text, 'x', 300000);
  ebb_config config = host_config(&host);
  config.message_limit = 1000;
  config.chat_memory = 200000;
  assert_int_equal(ebb_runtime_new(&config, &runtime), EBB_OK);
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  must(begin(chat, "{\"role\":\"assistant\"}"));
  refused(ebb_chat_stream_add(chat, text, 1000), EBB_LIMIT, "1000 bytes");
  must(ebb_chat_stream_add(chat, text, 900));
  refused(ebb_chat_stream_add(chat, text, 900), EBB_LIMIT, "1000 bytes");
  must(settle(chat, NULL));
  memset(text, '\x01', 900);                        /* six bytes each, in JSON */
  must(begin(chat, "{\"role\":\"assistant\"}"));
  must(ebb_chat_stream_add(chat, text, 900));
  refused(settle(chat, NULL), EBB_LIMIT, "settle");
  ebb_chat_stream_drop(chat);
  host_close(&host, runtime);

  config.message_limit = 0;
  assert_int_equal(ebb_runtime_new(&config, &runtime), EBB_OK);
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  must(begin(chat, "{\"role\":\"assistant\"}"));
  size_t before = ebb_chat_memory(chat);
  refused(ebb_chat_stream_add(chat, text, 300000), EBB_MEMORY, "memory");
  must(ebb_chat_stream_add(chat, text, 50000));
  assert_true(ebb_chat_memory(chat) >= before + 50000);
  ebb_chat_stream_drop(chat);
  assert_true(ebb_chat_memory(chat) < before);
  free(text);
  host_close(&host, runtime);
}

/* ---- what happens meanwhile ---- */

static void nothing_else_knows_of_it(void **state) {
  (void)state;
  Fixture fixture;
  char before[65], after[65];
  ebb_text json;
  ebb_message message = {.size = sizeof message};
  ebb_chat *fork, *loaded;
  ebb_runtime *runtime = open_fixture(&fixture);
  must(ebb_chat_digest(fixture.chat, before));
  uint64_t tokens = ebb_chat_tokens(fixture.chat);
  must(begin(fixture.chat, "{\"role\":\"assistant\"}"));
  must(add(fixture.chat, "A room of gold"));
  must(ebb_chat_digest(fixture.chat, after));
  assert_string_equal(before, after);
  assert_int_equal(ebb_chat_tokens(fixture.chat), tokens);
  must(ebb_chat_json(fixture.chat, &json));
  assert_null(strstr(json.bytes, "gold"));
  must(ebb_chat_render(fixture.chat, NULL, 0, &json));
  assert_null(strstr(json.bytes, "gold"));
  must(ebb_chat_fork(fixture.chat, &fork));
  assert_int_equal(ebb_chat_message(fork, 1, &message), EBB_OUT_OF_RANGE);
  must(ebb_chat_save(fixture.chat, &json));
  must(ebb_chat_load(runtime, json.bytes, json.size, &loaded));
  assert_int_equal(ebb_chat_message(loaded, 1, &message), EBB_OUT_OF_RANGE);
  must(apply(fixture.chat, "{\"operation\":\"clear\"}"));
  assert_string_equal(partial(runtime, fixture.chat).text.bytes, "A room of gold");
  must(settle(fixture.chat, NULL));
  assert_int_equal(ebb_chat_count(fixture.chat), 1);
  assert_int_equal(last(runtime, fixture.chat).seq, 2);
  ebb_chat_free(fork);
  must(begin(fixture.chat, "{\"role\":\"assistant\"}"));
  ebb_chat_free(fixture.chat);
  host_close(&fixture.host, runtime);
}

/* What a task adds comes beneath what was settled while it worked, and above what was not. */
static void tasks_go_on(void **state) {
  (void)state;
  static const char script[] = "local chat = ... local before = #chat request 'x'\n"
                               "chat:append { role = 'user', content = 'task ' .. before .. ' ' .. #chat }";
  Fixture fixture;
  ebb_runtime *runtime = open_fixture(&fixture);
  ebb_event event = {.size = sizeof event};
  for (int early = 0; early <= 1; early++) {
    ebb_task *task;
    uint32_t count = ebb_chat_count(fixture.chat);
    char word[20];
    must(begin(fixture.chat, "{\"role\":\"assistant\"}"));
    must(add(fixture.chat, "Up the "));
    must(ebb_task_script(fixture.chat, "s", script, sizeof script - 1, NULL, 0, &task));
    must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
    must(ebb_next_event(runtime, &event));
    must(add(fixture.chat, "stairs"));
    if (early) must(settle(fixture.chat, NULL));
    must(ebb_answer(task, "1", 1));
    must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
    must(ebb_next_event(runtime, &event));
    assert_int_equal(event.kind, EBB_EVENT_DONE);
    if (!early) must(settle(fixture.chat, NULL));
    assert_int_equal(ebb_chat_count(fixture.chat), count + 2);
    assert_string_equal(last(runtime, fixture.chat).text.bytes, "Up the stairs");
    ebb_message message = {.size = sizeof message};
    must(ebb_chat_message(fixture.chat, count, &message));
    snprintf(word, sizeof word, "task %u %u", (unsigned)count, (unsigned)count);
    assert_string_equal(message.text.bytes, word);
    ebb_task_free(task);
  }
  host_close(&fixture.host, runtime);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(an_answer_grows_and_is_settled), cmocka_unit_test(the_text_takes_the_place_of_the_content),
    cmocka_unit_test(what_is_wrong_is_refused), cmocka_unit_test(pieces_may_end_within_a_character),
    cmocka_unit_test(streams_have_limits), cmocka_unit_test(nothing_else_knows_of_it), cmocka_unit_test(tasks_go_on)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
