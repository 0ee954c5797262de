/*
** Counting texts, models of the host's, settings of chats, lists of policies, filters by name.
*/
#include "api_kit.h"

static ebb_status add_models(ebb_runtime *runtime, const char *json) {
  return ebb_models_add(runtime, json, strlen(json));
}
static ebb_status set(ebb_chat *chat, const char *json) { return ebb_chat_set(chat, json, strlen(json)); }
static ebb_status count(ebb_runtime *runtime, const char *counter, const char *text, uint64_t *tokens,
                        const char **trust) {
  return ebb_count_text(runtime, counter, text, strlen(text), tokens, trust);
}
static ebb_status load_filter(ebb_runtime *runtime, const char *name, const char *source) {
  return ebb_filter_load(runtime, name, source, strlen(source));
}
static ebb_status filter(ebb_chat *chat, const char *name, const char *options) {
  return ebb_chat_filter(chat, name, options, options == NULL ? 0 : strlen(options));
}

static void texts_are_counted(void **state) {
  Host host;
  ebb_runtime *runtime;
  uint64_t tokens = 7;
  size_t ids = 0;
  ebb_text bytes;
  const char *trust = "";
  (void)state;
  host_open(&host, &runtime);
  must(count(runtime, "bytes4", "12345678", &tokens, &trust));
  assert_int_equal(tokens, 2);
  assert_string_equal(trust, "estimated");
  must(count(runtime, "gpt-4o", "12345678", &tokens, NULL));       /* no vocabulary here */
  must(count(runtime, "cjk", "", &tokens, &trust));
  must(ebb_count_text(runtime, "cjk", NULL, 0, &tokens, &trust));
  assert_int_equal(tokens, 0);
  size_t size = (size_t)6 << 20;             /* larger than a string of Lua's */
  char *text = malloc(size + 1);
  memset(text, 'a', size);
  must(ebb_count_text(runtime, "bytes4", text, size, &tokens, &trust));
  assert_int_equal(tokens, size / 4);
  free(text);
  tokens = 7;
  refused(count(runtime, "o200k_base", "a", &tokens, &trust), EBB_UNKNOWN_NAME, "o200k_base");
  refused(count(runtime, "bytes5", "a", &tokens, &trust), EBB_UNKNOWN_NAME, "did you mean 'bytes4'");
  refused(count(runtime, "bytes4", "ab\xff", &tokens, &trust), EBB_ENCODING, "byte 3");
  refused(ebb_encode_text(runtime, "bytes4", "a", 1, NULL, 0, &ids), EBB_UNKNOWN_NAME, "bytes4");
  refused(ebb_decode_ids(runtime, "none", NULL, 0, &bytes), EBB_UNKNOWN_NAME, "none");
  assert_int_equal(count(runtime, "bytes4", "a", NULL, NULL), EBB_ARGUMENT);
  assert_int_equal(tokens, 7);
  host_close(&host, runtime);
}

static void models_are_added_or_not(void **state) {
  static const struct { const char *json; ebb_status status; const char *says; } bad[] = {
    {"{\"fine\":{\"encoding\":\"cjk\",\"window\":9},\"m\":{\"encoding\":\"cjk\"}}", EBB_ARGUMENT, "window"},
    {"{\"m\":{\"encoding\":\"cjk\",\"window\":9,\"output\":9}}", EBB_ARGUMENT, "less than the window"},
    {"{\"m\":{\"encoding\":\"cjk\",\"window\":9,\"widow\":9}}", EBB_UNKNOWN_NAME, "window"},
    {"{\"m\":{\"encoding\":\"cjk\",\"window\":9,\"prices\":{\"cachedinput\":9}}}", EBB_UNKNOWN_NAME, "cachedInput"},
    {"{\"m\":{\"encoding\":\"cjk\",\"window\":9,\"image\":\"tiles_513\"}}", EBB_UNKNOWN_NAME, "tiles_512"},
    {"{\"m\":{\"encoding\":\"cjk\",\"window\":9,\"image\":{\"rule\":7}}}", EBB_ARGUMENT, "rule"},
    {"{\"m\":7}", EBB_SHAPE, "object"}, {"[1]", EBB_SHAPE, "object"}, {"{", EBB_SYNTAX, "models"},
    {"{\"\":{\"encoding\":\"cjk\",\"window\":9}}", EBB_ARGUMENT, "name"},
  };
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_text json;
  (void)state;
  host_open(&host, &runtime);
  must(ebb_models(runtime, &json));
  size_t before = json.size;
  assert_non_null(strstr(json.bytes, "\"name\":\"gpt-4o\",\"output\":16384,\"window\":128000}"));
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    refused(add_models(runtime, bad[i].json), bad[i].status, bad[i].says);
    must(ebb_models(runtime, &json));
    assert_int_equal(json.size, before);
  }
  must(add_models(runtime, "{\"mine\":{\"encoding\":\"bytes4\",\"window\":100,\"output\":20,\"image\":{\"rule\":"
                           "\"tiles_512\",\"base\":1},\"prices\":{\"input\":1,\"cachedInput\":0.5,\"output\":2}},"
                           "\"gpt-4\":{\"window\":9000},\"o1\":null}"));
  must(ebb_models(runtime, &json));
  assert_non_null(strstr(json.bytes, "\"name\":\"mine\",\"output\":20,\"prices\":{\"cachedInput\":0.5,\"input\":1,"));
  assert_non_null(strstr(json.bytes, "\"name\":\"gpt-4\",\"output\":2048,\"window\":9000}"));
  assert_null(strstr(json.bytes, "\"o1\""));
  must(ebb_chat_new(runtime, "{\"model\":\"mine-2025-01-01\"}", 27, &chat));
  talk(runtime, chat, 5);
  must(trim(chat, NULL, "", &json));
  assert_non_null(strstr(json.bytes, "\"budget\":80,"));
  host_close(&host, runtime);
}

/* What is set holds after a save too. */
static void settings_change_a_chat(void **state) {
  static const char body[] = "{\"model\":\"gpt-4o\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],"
                             "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"look\"}}]}";
  static const char *const changes[] = {"{\"encoding\":\"bytes4\"}", "{\"limit\":3}", "{\"model\":\"gpt-4\"}",
                                        "{\"limit\":null}", "{}", "{\"model\":\"gpt-4o\",\"encoding\":\"utf16_2_5\"}"};
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chats[2], *again;
  ebb_text text, limits;
  char before[65], after[65], limit[100];
  (void)state;
  host_open(&host, &runtime);
  must(ebb_chat_new(runtime, NULL, 0, &chats[0]));
  talk(runtime, chats[0], 3);
  must(ebb_chat_read(runtime, body, sizeof body - 1, NULL, 0, &chats[1]));
  for (size_t c = 0; c < 2; c++) {
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
      must(set(chats[c], changes[i]));
      must(ebb_chat_query(chats[c], "{\"query\":\"limit\"}", 17, &limits));
      snprintf(limit, sizeof limit, "%s", limits.bytes);
      must(ebb_chat_save(chats[c], &text));
      must(ebb_chat_load(runtime, text.bytes, text.size, &again));
      must(ebb_chat_digest(chats[c], before));
      must(ebb_chat_digest(again, after));
      assert_string_equal(before, after);
      assert_int_equal(ebb_chat_tokens(chats[c]), ebb_chat_tokens(again));
      must(ebb_chat_query(again, "{\"query\":\"limit\"}", 17, &limits));
      assert_string_equal(limits.bytes, limit);
      if (i == 1) assert_non_null(strstr(limit, "\"limit\":3,\"over\":true"));
      if (i == 3) assert_non_null(strstr(limit, "\"limit\":8192,"));
      ebb_chat_free(again);
    }
    must(ebb_chat_digest(chats[c], before));
    refused(set(chats[c], "{\"limits\":3}"), EBB_UNKNOWN_NAME, "limit");
    refused(set(chats[c], "{\"limit\":-3}"), EBB_ARGUMENT, "limit");
    refused(set(chats[c], "{\"limit\":1,\"encoding\":\"none\"}"), EBB_UNKNOWN_NAME, "none");
    refused(set(chats[c], "{\"model\":\"none\"}"), EBB_UNKNOWN_NAME, "none");
    refused(set(chats[c], "{\"model\":null,\"encoding\":null}"), EBB_ARGUMENT, "count by");
    refused(set(chats[c], "[]"), EBB_SHAPE, "object");
    must(ebb_chat_digest(chats[c], after));
    assert_string_equal(before, after);
  }
  must(ebb_chat_write(chats[1], NULL, 0, &text));
  assert_string_equal(text.bytes, body);
  host_close(&host, runtime);
}

static void usage_calibrates(void **state) {
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  (void)state;
  open_talk(&host, &runtime, &chat, 3);
  uint64_t tokens = ebb_chat_tokens(chat);
  must(ebb_chat_report_usage(chat, 2 * tokens));
  assert_int_equal(ebb_chat_tokens(chat), 2 * tokens);
  refused(ebb_chat_report_usage(chat, 100 * tokens), EBB_ARGUMENT, "ten times");
  refused(ebb_chat_report_usage(chat, 0), EBB_OUT_OF_RANGE, "prompt_tokens");
  refused(ebb_chat_report_usage(chat, UINT64_MAX), EBB_OUT_OF_RANGE, "prompt_tokens");
  assert_int_equal(ebb_chat_tokens(chat), 2 * tokens);
  host_close(&host, runtime);
}

/* What the host sets while a task waits holds when that is done: whether the task reads or adds, alone or
   beside the host. */
static void settings_outlive_tasks(void **state) {
  static const char *const scripts[] = {
    "local chat = ... request {} return #chat",
    "local chat = ... chat:append { role = 'assistant', content = 'thinking of you' } request {}",
    "local chat = ... chat:truncate { keep_last = 3 } request {}",
  };
  Host host;
  ebb_runtime *runtime;
  (void)state;
  host_open(&host, &runtime);
  for (int i = 0; i < 6; i++) {
    ebb_chat *chat, *again;
    ebb_task *task;
    ebb_text text;
    ebb_event event = {.size = sizeof event};
    const char *script = scripts[i % 3];
    if (i == 5) continue;                    /* both change the list: a conflict */
    must(ebb_chat_new(runtime, "{\"encoding\":\"cjk\"}", 18, &chat));
    talk(runtime, chat, 3);
    must(ebb_task_script(chat, "s", script, strlen(script), NULL, 0, &task));
    must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
    must(ebb_next_event(runtime, &event));
    must(set(chat, "{\"encoding\":\"bytes4\"}"));
    must(ebb_chat_report_usage(chat, 3 * ebb_chat_tokens(chat)));
    if (i >= 3) must(append(chat, "{\"role\":\"user\",\"content\":\"meanwhile\"}"));
    must(ebb_answer(task, "1", 1));
    must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
    must(ebb_next_event(runtime, &event));
    if (event.kind != EBB_EVENT_DONE) fail_msg("%d: %s", i, event.json.bytes);
    must(ebb_chat_query(chat, "{\"query\":\"encoding\"}", 20, &text));
    assert_string_equal(text.bytes, "\"bytes4\"");
    must(ebb_chat_query(chat, "{\"query\":\"calibration\"}", 23, &text));
    assert_string_equal(text.bytes, "3.0");
    must(ebb_chat_save(chat, &text));
    must(ebb_chat_load(runtime, text.bytes, text.size, &again));
    assert_int_equal(ebb_chat_tokens(chat), ebb_chat_tokens(again));
    ebb_chat_free(chat);
    ebb_chat_free(again);
  }
  host_close(&host, runtime);
}

static void policies_are_listed_and_unloaded(void **state) {
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_text json;
  (void)state;
  open_talk(&host, &runtime, &chat, 9);
  must(load_policy(runtime, "mine", "local list = {}\n"
                                    "return { summary = 'drops',"
                                    "options = { n = { type = 'integer', default = 3, min = 1 },"
                                    "only = { type = 'list', default = list } },"
                                    "trim = function(draft, budget)"
                                    "  assert(getmetatable(list) == nil, 'listing changed the declaration')"
                                    "  draft:drop_oldest { to = budget } end }"));
  must(ebb_policies(runtime, &json));
  const char *begin = "[{\"builtIn\":false,\"name\":\"mine\",\"options\":{\"n\":{\"default\":3,\"min\":1,";
  assert_memory_equal(json.bytes, begin, strlen(begin));
  assert_non_null(strstr(json.bytes, "\"only\":{\"default\":[],\"type\":\"list\"}},\"summary\":\"drops\"}"));
  assert_non_null(strstr(json.bytes, "{\"builtIn\":true,\"name\":\"keep_recent\",\"options\":{\"idle\":{\"default\":"));
  must(trim(chat, "mine", "{\"budget\":300}", NULL));
  must(ebb_policy_unload(runtime, "mine"));
  refused(trim(chat, "mine", "{\"budget\":200}", NULL), EBB_UNKNOWN_NAME, "mine");
  refused(ebb_policy_unload(runtime, "mine"), EBB_UNKNOWN_NAME, "mine");
  refused(ebb_policy_unload(runtime, "keep_recent"), EBB_ARGUMENT, "built-in");
  must(ebb_policies(runtime, &json));
  assert_null(strstr(json.bytes, "mine"));
  host_close(&host, runtime);
}

static void filters_are_loaded_by_name(void **state) {
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  char before[65], after[65];
  (void)state;
  open_talk(&host, &runtime, &chat, 3);
  must(load_filter(runtime, "polite", "return { options = { word = { type = 'string', default = 'room 1' } },\n"
                                      "filter = function(message, options)\n"
                                      "  return not (message.role == 'user' and message.text:find(options.word)) end }"));
  must(filter(chat, "polite", NULL));
  assert_int_equal(ebb_chat_count(chat), 12);
  assert_int_equal(ebb_chat_batch_count(chat), 2);
  must(filter(chat, "polite", "{\"word\":\"stable\"}"));
  assert_int_equal(ebb_chat_count(chat), 10);
  must(ebb_chat_digest(chat, before));
  refused(filter(chat, "polite", "{\"words\":\"stable\"}"), EBB_UNKNOWN_NAME, "word");
  refused(filter(chat, "rude", NULL), EBB_UNKNOWN_NAME, "rude");
  refused(filter(chat, "polite", "[]"), EBB_SHAPE, "object");
  refused(filter(chat, "mods/none.lua", NULL), EBB_ABSENT, "none.lua");
  refused(load_filter(runtime, "polite", "return 7"), EBB_SHAPE, "number");
  refused(load_filter(runtime, "polite", "return { trim = function() end }"), EBB_SHAPE, "policy");
  refused(load_filter(runtime, "polite", "return function("), EBB_SYNTAX, "polite:1:");
  refused(load_filter(runtime, "so so", "return function() end"), EBB_ARGUMENT, "name");
  must(load_filter(runtime, "bad", "return function(message)"
                                   "if message.role == 'tool' then error 'oops' end return false end"));
  refused(filter(chat, "bad", NULL), EBB_SCRIPT, "bad:1: oops");
  must(load_filter(runtime, "slow", "return function() while true do end end"));
  refused(filter(chat, "slow", NULL), EBB_FUEL, "fuel");
  must(ebb_chat_digest(chat, after));
  assert_string_equal(before, after);
  must(ebb_filter_unload(runtime, "slow"));
  refused(ebb_filter_unload(runtime, "slow"), EBB_UNKNOWN_NAME, "slow");
  refused(filter(chat, "slow", NULL), EBB_UNKNOWN_NAME, "slow");
  must(filter(chat, "polite", NULL));
  host_close(&host, runtime);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(texts_are_counted),        cmocka_unit_test(models_are_added_or_not),
    cmocka_unit_test(settings_change_a_chat),   cmocka_unit_test(usage_calibrates),
    cmocka_unit_test(settings_outlive_tasks),
    cmocka_unit_test(policies_are_listed_and_unloaded), cmocka_unit_test(filters_are_loaded_by_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
