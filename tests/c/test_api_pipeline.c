/*
** Pipelines through the C API: agents in JSON, the request and its report, in one call and in slices, what
** the host is asked, and that a chat keeps its messages, and the variables of macros.
*/
#include "api_kit.h"

static const char AGENT[] =
  "{\"name\":\"Mara\",\"presets\":["
  "{\"role\":\"system\",\"content\":\"You are {{char}}.\"},"
  "{\"type\":\"chat_history\"},"
  "{\"id\":\"note\",\"role\":\"system\",\"content\":\"[Rain. {{getvar::mood}}{{setvar::mood::calm}}]\","
  "\"injectionStrategy\":{\"depth\":1}}],"
  "\"rules\":[{\"id\":\"p\",\"rules\":[{\"id\":\"r\",\"regex\":\"horses\",\"replacement\":\"mules\","
  "\"applyTo\":{\"request\":true}}]}],"
  "\"variables\":{\"mood\":\"loud\"}}";

static ebb_status open_agent(ebb_runtime *runtime, const char *agent, const char *options, ebb_pipeline **pipeline) {
  return ebb_pipeline_new(runtime, agent, agent == NULL ? 0 : strlen(agent), options,
                          options == NULL ? 0 : strlen(options), pipeline);
}

static ebb_status run(const ebb_pipeline *pipeline, ebb_chat *chat, const char *options, ebb_text *body,
                      ebb_text *report) {
  return ebb_pipeline_run(pipeline, chat, options, options == NULL ? 0 : strlen(options), body, report);
}

static void assert_has(const char *text, const char *words) {
  if (strstr(text, words) == NULL) fail_msg("no %s in\n%s", words, text);
}

static void assert_lacks(const char *text, const char *words) {
  if (strstr(text, words) != NULL) fail_msg("%s in\n%s", words, text);
}

/* The JSON of a task's first event, copied. */
static const char *step_to_event(ebb_runtime *runtime, ebb_event_kind kind) {
  static char json[20000];
  ebb_event event = {.size = sizeof event};
  int steps = 0;
  ebb_status status;
  while ((status = ebb_step(runtime, EBB_NO_LIMIT, 20000)) == EBB_MORE && steps < 100000) steps++;
  assert_int_equal(status, EBB_OK);
  must(ebb_next_event(runtime, &event));
  if (event.kind != kind) fail_msg("%s", event.json.bytes);
  assert_true(event.json.size < sizeof json);
  memcpy(json, event.json.bytes, event.json.size + 1);
  return json;
}

static void an_agent_makes_a_request(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_pipeline *pipeline;
  ebb_text body, report;
  char before[65], after[65];
  open_talk(&host, &runtime, &chat, 2);
  must(open_agent(runtime, AGENT, "{\"set\":[\"merge-roles.enabled=false\"]}", &pipeline));

  must(run(pipeline, chat, NULL, &body, &report));
  assert_has(body.bytes, "\"content\":\"You are Mara.\\n\\n---\\n\\nYou keep an inn.\"");
  assert_has(body.bytes, "a stable for three mules?");
  assert_has(body.bytes, "[Rain. loud]\"},\n  {\"role\":\"assistant\",\"content\":\"Room 1, up the stairs.\"}\n]");
  assert_has(report.bytes, "\"variables\":{\"global\":{},\"local\":{\"mood\":\"calm\"}}");
  assert_has(report.bytes, "\"source\":\"depth\",\"sourceId\":\"note\"");
  assert_has(report.bytes, "\"ledger\":[]");

  char first[4000];
  snprintf(first, sizeof first, "%s", body.bytes);
  must(ebb_chat_digest(chat, before));
  must(run(pipeline, chat, NULL, &body, NULL));                    /* it finds the variable, and changes nothing more */
  assert_has(body.bytes, "[Rain. calm]");
  must(ebb_chat_digest(chat, after));
  assert_string_equal(before, after);
  must(ebb_chat_rollback(chat, 0));
  must(run(pipeline, chat, "{\"preview\":true}", &body, NULL));
  assert_string_equal(first, body.bytes);
  assert_int_equal(ebb_chat_batch_count(chat), 2);
  must(run(pipeline, chat, "{\"session\":{\"variables\":{\"local\":{\"mood\":\"wet\"},\"global\":{}}}}", &body, NULL));
  assert_has(body.bytes, "[Rain. wet]");
  ebb_pipeline_free(pipeline);
  host_close(&host, runtime);
}

static void a_budget_is_kept_and_told(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_pipeline *pipeline;
  ebb_text body, report;
  open_talk(&host, &runtime, &chat, 6);
  must(open_agent(runtime, NULL, "{\"set\":[\"token-limiter.budget=150\"]}", &pipeline));
  must(run(pipeline, chat, "", &body, &report));
  assert_has(report.bytes, "\"ledger\":[{\"action\":\"dropped\",\"by\":\"keep_recent\"");
  assert_lacks(body.bytes, "room 0");
  assert_has(body.bytes, "room 5");
  ebb_pipeline_free(pipeline);

  must(open_agent(runtime, NULL, "{\"set\":[\"token-limiter.budget=5\"]}", &pipeline));
  refused(run(pipeline, chat, NULL, &body, &report), EBB_CANNOT_FIT, "token-limiter");
  host_close(&host, runtime);                /* frees the pipeline, too */
}

static void a_task_does_the_same_in_slices(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_pipeline *pipeline;
  ebb_task *task;
  ebb_text body, report;
  open_talk(&host, &runtime, &chat, 4);
  must(open_agent(runtime, AGENT, "{\"set\":[\"token-limiter.budget=200\"]}", &pipeline));
  must(run(pipeline, chat, NULL, &body, &report));
  char wanted[20000];
  while (body.size > 0 && body.bytes[body.size - 1] == '\n') body.size--;
  snprintf(wanted, sizeof wanted, "{\"request\":%.*s,\"report\":%s}", (int)body.size, body.bytes, report.bytes);
  must(ebb_chat_rollback(chat, 0));          /* what the macros changed is not there */
  must(ebb_task_pipeline(pipeline, chat, NULL, 0, &task));
  must(append(chat, "{\"role\":\"user\",\"content\":\"And supper?\"}"));       /* not in the task's copy */
  assert_string_equal(step_to_event(runtime, EBB_EVENT_DONE), wanted);
  assert_int_equal(ebb_chat_count(chat), 18);
  ebb_task_free(task);
  must(run(pipeline, chat, NULL, &body, &report));
  assert_has(body.bytes, "[Rain. calm]");    /* the task's variables are the chat's */
  must(ebb_task_pipeline(pipeline, chat, NULL, 0, &task));
  ebb_pipeline_free(pipeline);               /* the task goes on */
  step_to_event(runtime, EBB_EVENT_DONE);
  ebb_task_free(task);
  host_close(&host, runtime);
}

static ebb_status retrieve(void *user, const char *arguments, size_t size, ebb_sink *result) {
  (void)size;
  snprintf(user, 200, "%s", arguments);
  static const char answer[] = "{\"data\":\"data:text/plain,a%20map\"}";
  return ebb_sink_add(result, answer, sizeof answer - 1);
}

static const char PICTURE[] =
  "{\"role\":\"user\",\"content\":\"look\",\"attachments\":[{\"id\":\"map\",\"kind\":\"text\"}]}";

static void the_host_is_asked(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_pipeline *pipeline;
  ebb_task *task;
  ebb_text body;
  char asked[200] = "";
  host_open(&host, &runtime);
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  must(append(chat, PICTURE));
  must(open_agent(runtime, NULL, NULL, &pipeline));

  refused(run(pipeline, chat, NULL, &body, NULL), EBB_ABSENT, "map");       /* nobody waits for an answer here */
  must(ebb_task_pipeline(pipeline, chat, NULL, 0, &task));
  assert_string_equal(step_to_event(runtime, EBB_EVENT_REQUEST), "{\"request\":{\"id\":\"map\"},\"type\":\"asset\"}");
  must(ebb_answer(task, "{\"data\":\"data:text/plain,a%20map\"}", 34));
  assert_has(step_to_event(runtime, EBB_EVENT_DONE), "a map");
  ebb_task_free(task);

  must(ebb_task_pipeline(pipeline, chat, NULL, 0, &task));
  step_to_event(runtime, EBB_EVENT_REQUEST);
  refused(open_agent(runtime, "mods/agent.json", NULL, &pipeline), EBB_SYNTAX, "agent");
  ebb_pipeline *none;
  refused(open_agent(runtime, NULL, "{\"to\":\"nope\"}", &none), EBB_UNKNOWN_NAME, "unknown dialect 'nope'");
  refused(open_agent(runtime, NULL, "{\"encoding\":\"nope\"}", &none), EBB_UNKNOWN_NAME, "'nope'");
  refused(open_agent(runtime, "[]", NULL, &pipeline), EBB_SHAPE, "agent: expected a JSON object");
  must(ebb_refuse(task, "it is lost"));
  assert_has(step_to_event(runtime, EBB_EVENT_FAILED), "it is lost");
  ebb_task_free(task);

  must(ebb_register(runtime, "asset", retrieve, asked, 0));
  must(run(pipeline, chat, NULL, &body, NULL));
  assert_has(body.bytes, "a map");
  assert_has(asked, "\"id\":\"map\"");
  host_close(&host, runtime);
}

static void windows_and_policies_are_the_chat_s(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_pipeline *pipeline;
  ebb_text body, report;
  open_talk(&host, &runtime, &chat, 6);
  must(ebb_window_open(chat, "ledger", "{\"content\":\"twelve guests\",\"pinned\":true}", 41));
  must(load_policy(runtime, "mine", "return function(draft, budget) draft:drop_oldest { to = budget } end"));
  must(open_agent(runtime, NULL, "{\"set\":[\"token-limiter.budget=150\",\"token-limiter.policy=mods/oldest.lua\"]}",
                  &pipeline));
  must(run(pipeline, chat, NULL, &body, &report));
  assert_has(body.bytes, "twelve guests");
  assert_has(report.bytes, "\"by\":\"oldest\"");
  host_close(&host, runtime);
}

static void a_lorebook_is_read_and_its_timers_are_kept(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_pipeline *pipeline;
  ebb_text body;
  static const char agent[] =
    "{\"lorebooks\":[{\"entries\":[{\"keys\":[\"horses\"],\"content\":\"The stable is full.\",\"sticky\":1}]}]}";
  open_talk(&host, &runtime, &chat, 1);
  must(open_agent(runtime, agent, NULL, &pipeline));
  char before[65], after[65];
  must(ebb_chat_digest(chat, before));
  must(run(pipeline, chat, "{\"preview\":true}", &body, NULL));
  assert_has(body.bytes, "The stable is full.");
  must(ebb_chat_digest(chat, after));
  assert_string_equal(before, after);
  must(run(pipeline, chat, NULL, &body, NULL));
  assert_has(body.bytes, "The stable is full.");
  must(ebb_chat_digest(chat, after));
  assert_string_not_equal(before, after);    /* the timer */
  assert_int_equal(ebb_chat_count(chat), 5);
  host_close(&host, runtime);
}

static void what_is_wrong_is_refused(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime, *other;
  ebb_chat *chat;
  ebb_pipeline *pipeline = NULL, *strange;
  ebb_text body = {0};
  Host other_host;
  static const struct {
    const char *agent, *options;
    ebb_status status;
    const char *words;
  } rows[] = {
    {"{\"name\":", NULL, EBB_SYNTAX, "agent:1:9"},
    {"{\"name\":3}", NULL, EBB_ARGUMENT, "agent:1:9: name: expected a string, got 3"},
    {"{\"presets\":[{\"role\":\"tool\"}]}", NULL, EBB_ARGUMENT, "presets[0].role"},
    {"{\"processors\":{\"nobody\":{}}}", NULL, EBB_UNKNOWN_NAME, "nobody"},
    {NULL, "{\"set\":[\"token-limiter.policy=keep_recnt\"]}", EBB_UNKNOWN_NAME, "keep_recnt"},
    {NULL, "{\"modle\":\"x\"}", EBB_UNKNOWN_NAME, "a pipeline has no option 'modle'"},
    {NULL, "[]", EBB_SHAPE, "expected a JSON object"},
    {"{\"name\":\"a\",\"name\":\"b\"}", NULL, EBB_SYNTAX, "agent:1:13: expected each name once"},
    {NULL, "{\"model\":\"gpt-4o\",\"model\":\"gpt-4\"}", EBB_SYNTAX, "options: 1:19: expected each name once"},
  };
  open_talk(&host, &runtime, &chat, 1);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    refused(open_agent(runtime, rows[i].agent, rows[i].options, &pipeline), rows[i].status, rows[i].words);
    assert_null(pipeline);
  }
  assert_int_equal(ebb_pipeline_new(runtime, NULL, 5, NULL, 0, &pipeline), EBB_ARGUMENT);
  assert_int_equal(ebb_pipeline_new(runtime, NULL, 0, NULL, 0, NULL), EBB_ARGUMENT);
  must(open_agent(runtime, NULL, NULL, &pipeline));
  refused(run(pipeline, chat, "{\"sed\":3}", &body, NULL), EBB_UNKNOWN_NAME, "a run has no option 'sed'");
  refused(run(pipeline, chat, "{\"seed\":3,\"seed\":4}", &body, NULL), EBB_SYNTAX, "1:11: expected each name once");
  assert_int_equal(run(NULL, chat, NULL, &body, NULL), EBB_ARGUMENT);
  assert_int_equal(run(pipeline, NULL, NULL, &body, NULL), EBB_ARGUMENT);
  assert_int_equal(run(pipeline, chat, NULL, NULL, NULL), EBB_ARGUMENT);
  assert_int_equal(ebb_task_pipeline(pipeline, chat, NULL, 0, NULL), EBB_ARGUMENT);
  host_open(&other_host, &other);
  assert_int_equal(open_agent(other, NULL, NULL, &strange), EBB_OK);
  refused(run(strange, chat, NULL, &body, NULL), EBB_ARGUMENT, "another runtime");
  assert_null(body.bytes);
  ebb_pipeline_free(NULL);
  host_close(&other_host, other);
  host_close(&host, runtime);
}

static ebb_status work(Host *host) {
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_pipeline *pipeline;
  ebb_text body, report;
  ebb_config config = host_config(host);
  ebb_status status = ebb_runtime_new(&config, &runtime);
  if (status != EBB_OK) return status;
  status = ebb_chat_new(runtime, NULL, 0, &chat);
  if (status == EBB_OK) status = append(chat, "{\"role\":\"user\",\"content\":\"hello\"}");
  if (status == EBB_OK) status = open_agent(runtime, AGENT, NULL, &pipeline);
  if (status == EBB_OK) status = run(pipeline, chat, NULL, &body, &report);
  ebb_runtime_free(runtime);
  return status;
}

/* The allocation that fails is one of about 120, so that this takes a second, not minutes. */
static void memory_may_run_out_at_any_time(void **state) {
  (void)state;
  Host host = {.now = 1};
  assert_int_equal(work(&host), EBB_OK);
  size_t all = host.heap.calls, stride = all / 120 + 1;
  for (size_t k = 1; k < all; k += stride) {
    host = (Host){.now = 1};
    host.heap.fail_at = k;
    assert_int_equal(work(&host), EBB_MEMORY);
    assert_int_equal(host.heap.in_use, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(an_agent_makes_a_request),    cmocka_unit_test(a_budget_is_kept_and_told),
    cmocka_unit_test(a_task_does_the_same_in_slices), cmocka_unit_test(the_host_is_asked),
    cmocka_unit_test(windows_and_policies_are_the_chat_s), cmocka_unit_test(what_is_wrong_is_refused),
    cmocka_unit_test(a_lorebook_is_read_and_its_timers_are_kept),
    cmocka_unit_test(memory_may_run_out_at_any_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
