/*
** Windows through the C API: their lives, what is rendered, contents that fail, and
** actions of a model.
*/
#include "api_kit.h"

static ebb_status open_window(ebb_chat *chat, const char *id, const char *options) {
  return ebb_window_open(chat, id, options, strlen(options));
}

static ebb_status update(ebb_chat *chat, const char *id, const char *fields) {
  return ebb_window_update(chat, id, fields, strlen(fields));
}

static const char *render(ebb_runtime *runtime, ebb_chat *chat, const char *options) {
  ebb_text json;
  must(ebb_chat_render(chat, options, strlen(options), &json));
  assert_int_equal(strlen(json.bytes), json.size);
  return json.bytes;
}

static const char *act(ebb_runtime *runtime, ebb_chat *chat, const char *text) {
  ebb_text json;
  must(ebb_chat_act(chat, text, strlen(text), &json));
  return json.bytes;
}

#define says(text, part) \
  do { \
    const char *text_ = (text); \
    if (strstr(text_, part) == NULL) fail_msg("%s\n  is not in %s", part, text_); \
  } while (0)

static void begin(Host *host, ebb_runtime **made, ebb_chat **chat) {
  host_open(host, made);
  ebb_runtime *runtime = *made;
  must(ebb_chat_new(runtime, "{\"encoding\":\"bytes4\"}", 21, chat));
  must(append(*chat, "[{\"role\":\"system\",\"content\":\"S\"},{\"role\":\"user\", \"content\":\"Hi\", \"mood\":7}]"));
}

static void a_window_is_shown_as_it_is_now(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_text text;
  ebb_message message = {.size = sizeof message};
  begin(&host, &runtime, &chat);
  must(open_window(chat, "todo", "{\"description\":\"d<\",\"content\":[[\"item\",{\"id\":1},\"buy\"],"
                   "[\"item\",[\"b\",{},{\"window\":\"in\"}]]],\"closable\":false,\"actions\":[{\"id\":\"add\","
                   "\"params\":\"text:string\",\"label\":\"Add\",\"run\":null}]}"));
  must(open_window(chat, "in", "{\"item\":false,\"render\":\"compact\",\"content\":\"x\",\"closable\":false}"));
  assert_string_equal(
      render(runtime, chat, ""),
      "[{\"role\":\"system\",\"content\":\"S\"},{\"role\":\"user\", \"content\":\"Hi\", \"mood\":7},{\"role\":\"user\","
      "\"content\":\"<Window id=\\\"todo\\\"><Description>d&lt;</Description><Content><item id=\\\"1\\\">buy</item>"
      "<item><b><Window id=\\\"in\\\" compact=\\\"true\\\">x</Window></b></item></Content><Actions><action id=\\\"add\\\" "
      "params=\\\"text:string\\\">Add</action></Actions></Window>\"}]");
  must(ebb_chat_message(chat, 2, &message));
  assert_string_equal(message.role, "window");
  assert_string_equal(message.json.bytes, "{\"type\":\"window\",\"window\":\"todo\"}");
  must(ebb_chat_json(chat, &text));
  assert_null(strstr(text.bytes, "todo"));
  must(update(chat, "todo", "{\"content\":\"new\",\"actions\":[]}"));
  must(append(chat, "{\"type\":\"window\",\"window\":\"todo\"}"));
  says(render(runtime, chat, "{\"includeSystem\":false}"),
       "[{\"role\":\"user\", \"content\":\"Hi\", \"mood\":7},{\"role\":\"user\",\"content\":\"<Window id=\\\"todo\\\">"
       "<Description>d&lt;</Description><Content>new</Content></Window>\"}]");
  must(update(chat, "todo", "{\"hidden\":true}"));
  assert_null(strstr(render(runtime, chat, ""), "todo"));
  must(update(chat, "todo", "{\"hidden\":false}"));
  must(ebb_window_close(chat, "todo", "done"));
  assert_null(strstr(render(runtime, chat, ""), "todo"));
  must(ebb_chat_windows(chat, &text));
  says(text.bytes, "\"closed\":true");
  says(text.bytes, "\"summary\":\"done\"");
  must(open_window(chat, "todo", "{\"content\":\"again\"}"));
  says(render(runtime, chat, ""), "again");
  host_close(&host, runtime);
}

static void what_is_no_window_is_refused(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_text json;
  char before[65], after[65];
  begin(&host, &runtime, &chat);
  must(open_window(chat, "w", ""));
  must(ebb_chat_digest(chat, before));
  refused(open_window(chat, "w", ""), EBB_ARGUMENT, "there is a window 'w'");
  refused(open_window(chat, "", ""), EBB_ARGUMENT, "1 to 256");
  refused(open_window(chat, "v", "{\"colour\":1}"), EBB_UNKNOWN_NAME, "colour");
  refused(open_window(chat, "v", "{"), EBB_SYNTAX, "a window");
  refused(open_window(chat, "v", "[1]"), EBB_SHAPE, "object");
  refused(open_window(chat, "v", "{\"content\":[\"a b\"]}"), EBB_ARGUMENT, "name of an element");
  refused(open_window(chat, "v", "{\"content\":[\"a\",[1,{\"x\":1}]]}"), EBB_ARGUMENT, "content");
  refused(open_window(chat, "v", "{\"actions\":{\"id\":\"a\"}}"), EBB_SHAPE, "actions");
  refused(open_window(chat, "v", "{\"actions\":[{\"id\":\"a\",\"run\":1}]}"), EBB_ARGUMENT, "run");
  refused(open_window(chat, "v", "{\"actions\":[{\"id\":\"close\"}]}"), EBB_ARGUMENT, "built in");
  refused(update(chat, "v", ""), EBB_UNKNOWN_NAME, "no window 'v'");
  refused(update(chat, "w", "{\"item\":false}"), EBB_UNKNOWN_NAME, "item");
  refused(ebb_chat_render(chat, "{\"maxTokens\":1}", 15, &json), EBB_CANNOT_FIT, "cannot fit");
  refused(ebb_chat_render(chat, "{\"maxTokens\":-1}", 16, &json), EBB_ARGUMENT, "maxTokens");
  refused(ebb_chat_render(chat, "{\"x\":1}", 7, &json), EBB_UNKNOWN_NAME, "x");
  must(ebb_chat_digest(chat, after));
  assert_string_equal(before, after);
  must(ebb_window_close(chat, "w", NULL));
  must(ebb_window_close(chat, "w", "late"));
  refused(update(chat, "w", ""), EBB_ARGUMENT, "closed");
  assert_int_equal(ebb_window_open(NULL, "x", "", 0), EBB_ARGUMENT);
  assert_int_equal(ebb_window_content(chat, "w", NULL, NULL), EBB_ARGUMENT);
  host_close(&host, runtime);
}

/* ---- contents ---- */

typedef struct Source {
  ebb_chat *chat;
  int calls;
  size_t size;
  ebb_status status, from_callback;
  const char *text;
} Source;

static ebb_status content(void *user, const char *id, ebb_sink *sink) {
  Source *source = user;
  ebb_text json;
  assert_string_equal(id, "live");
  source->calls++;
  source->from_callback = ebb_chat_save(source->chat, &json);
  for (size_t i = 0; i < source->size; i++) {
    if (ebb_sink_add(sink, source->text, strlen(source->text)) != EBB_OK) break;
  }
  return source->status;
}

static void contents_of_the_host(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_text json;
  begin(&host, &runtime, &chat);
  Source source = {.chat = chat, .size = 2, .text = "a<\xff"};
  must(open_window(chat, "live", "{\"closable\":false}"));
  must(ebb_window_content(chat, "live", content, &source));
  says(render(runtime, chat, ""), "<Content>a&lt;\xef\xbf\xbd" "a&lt;\xef\xbf\xbd</Content>");
  assert_int_equal(source.calls, 1);
  assert_int_equal(source.from_callback, EBB_BUSY);
  source = (Source){.chat = chat, .size = 1, .text = "the lamp is out", .status = EBB_IO};
  says(render(runtime, chat, ""), "<Failed>content failed: the lamp is out</Failed>");
  source = (Source){.chat = chat, .status = EBB_IO};
  says(render(runtime, chat, ""), "<Failed>content failed: io</Failed>");
  source = (Source){.chat = chat, .size = 1 << 20, .text = "0123456789abcdef"};
  says(render(runtime, chat, ""), "<Failed>content failed: more than 262144 bytes</Failed>");
  source = (Source){.chat = chat, .size = 60000, .text = "<<<<"};
  says(render(runtime, chat, ""), "more than the limit of 262144</Failed>");
  source = (Source){.chat = chat, .status = EBB_MEMORY};
  assert_int_equal(ebb_chat_render(chat, NULL, 0, &json), EBB_MEMORY);
  /* It grew a hundredfold since it was measured last. */
  source = (Source){.chat = chat, .size = 10, .text = "0123456789"};
  for (int i = 0; i < 5; i++) must(append(chat, "{\"role\":\"user\",\"content\":\"and so on, and so on\"}"));
  must(trim(chat, "keep_turns", "{\"budget\":120}", NULL));
  source.size *= 100;
  must(update(chat, "live", "{\"pinned\":true}"));
  refused(trim(chat, "keep_turns", "{\"budget\":120}", NULL), EBB_CANNOT_FIT, "cannot fit");
  refused(ebb_chat_render(chat, "{\"maxTokens\":120}", 17, &json), EBB_CANNOT_FIT, "cannot fit");
  must(update(chat, "live", "{\"pinned\":false}"));
  must(trim(chat, "keep_turns", "{\"budget\":120}", &json));
  says(json.bytes, "\"action\":\"dropped\"");
  assert_null(strstr(render(runtime, chat, ""), "0123456789"));
  host_close(&host, runtime);
}

/* ---- contents that are scripts ---- */

/* Runs a script on the chat to its end. */
static void run(ebb_runtime *runtime, ebb_chat *chat, const char *source, ebb_event *event) {
  ebb_task *task = NULL;
  *event = (ebb_event){.size = sizeof *event};
  must(ebb_task_script(chat, "s", source, strlen(source), NULL, 0, &task));
  must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
  must(ebb_next_event(runtime, event));
}

static void contents_of_scripts_are_stopped(void **state) {
  (void)state;
  static const struct { const char *content, *says; } cases[] = {
    {"return 'here'", "<Content>here</Content>"},
    {"error 'no'", "<Failed>content failed: s:1: no</Failed>"},
    {"while true do end", "it takes too long"},
    {"while true do pcall(function() while true do end end) end", "it takes too long"},
    {"return ('x'):rep(30):find(('x-'):rep(40) .. 'y')", "it takes too long"},
    {"for i = 1, 1e9 do local s = ('x'):rep(3e6) end", "it takes too long"},
    {"made() return 'never'", "<Failed>content failed"},
    {"local t = {} while true do t[#t + 1] = ('x'):rep(2e5) end", "it takes too much memory"},
    {"return ('x'):rep(5e6)", "it takes too much memory"},
    {"return ('x'):rep(1e6)", "more than the limit of 262144"},
    {"request 'x'", "<Failed>content failed"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Host host;
    ebb_runtime *runtime;
    ebb_chat *chat;
    ebb_event event;
    char source[500];
    begin(&host, &runtime, &chat);
    snprintf(source, sizeof source,
             "local made = coroutine.wrap(function() while true do end end) local chat = ... "
             "chat.windows:open { id = 'w', closable = false, content = function() %s end }", cases[i].content);
    run(runtime, chat, source, &event);
    if (event.kind != EBB_EVENT_DONE) fail_msg("%s: %s", source, event.json.bytes);
    must(open_window(chat, "next", "{\"content\":\"as ever\"}"));
    for (int again = 0; again < 2; again++) {
      const char *json = render(runtime, chat, "");
      if (strstr(json, cases[i].says) == NULL) fail_msg("%s\n  gave %s", cases[i].content, json);
      says(json, "<Content>as ever</Content>");
    }
    must(trim(chat, "keep_turns", "{\"budget\":100000}", NULL));
    host_close(&host, runtime);
  }
}

/* As many as use up all that one rendering has; where the runtime itself has less, it says so. */
static void all_contents_share_the_limits(void **state) {
  (void)state;
  Host host = {.now = 1};
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_event event;
  ebb_text json;
  static const char source[] = "local chat = ... for i = 1, 12 do "
                               "chat.windows:open { id = 'w' .. i, content = function() while true do end end } end";
  begin(&host, &runtime, &chat);
  run(runtime, chat, source, &event);
  says(render(runtime, chat, ""), "used up the instructions of this rendering");
  host_close(&host, runtime);
  host = (Host){.now = 1};
  ebb_config config = host_config(&host);
  config.fuel = 6000000;
  must(ebb_runtime_new(&config, &runtime));
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  run(runtime, chat, source, &event);
  refused(ebb_chat_render(chat, NULL, 0, &json), EBB_FUEL, "fuel of 6000000");
  must(ebb_window_close(chat, "w1", NULL));
  host_close(&host, runtime);
}

/* ---- actions ---- */

static ebb_status shop(void *user, const char *arguments, size_t size, ebb_sink *result) {
  char *got = user;
  snprintf(got, 100, "%.*s", (int)size, arguments);
  if (strstr(arguments, "poison") != NULL) {
    ebb_sink_add(result, "not for sale", 12);
    return EBB_CONFLICT;
  }
  return ebb_sink_add(result, "\"sold\"", 6);
}

static void actions_call_the_host(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_text json;
  char got[100] = "", before[65], after[65];
  begin(&host, &runtime, &chat);
  must(ebb_register(runtime, "shop.buy", shop, got, 0));
  must(open_window(chat, "shop", "{\"actions\":["
                   "{\"id\":\"buy\",\"params\":\"what:string, n:int?\",\"run\":\"shop.buy\"},"
                   "{\"id\":\"sell\",\"params\":\"what:string\"},{\"id\":\"lost\",\"run\":\"shop.lost\"}]}"));
  assert_string_equal(act(runtime, chat, "Nothing to be done."), "[]");
  assert_string_equal(
      act(runtime, chat, "So:\n<tool_call>{\"name\":\"shop.buy\",\"arguments\":{\"what\":\"</tool_call>\",\"n\":2}}"
          "</tool_call>"),
      "[{\"action\":\"buy\",\"name\":\"shop.buy\",\"ok\":true,\"params\":{\"n\":2,\"what\":\"</tool_call>\"},"
      "\"text\":\"shop.buy: sold\",\"window\":\"shop\"}]");
  assert_string_equal(got, "[{\"n\":2,\"what\":\"</tool_call>\"},\"shop\"]");
  must(ebb_chat_windows(chat, &json));
  says(json.bytes, "\"version\":2");
  says(act(runtime, chat, "<tool_call>{\"name\":\"buy\",\"arguments\":{\"what\":\"poison\"}}</tool_call>"),
       "\"text\":\"shop.buy: error: not for sale\"");
  says(act(runtime, chat, "<tool_call>{\"name\":\"buy\",\"arguments\":{}}</tool_call>"), "\"code\":\"argument\"");
  says(act(runtime, chat, "<tool_call>{\"name\":\"lost\",\"arguments\":{}}</tool_call>"), "no function 'shop.lost'");
  must(ebb_chat_digest(chat, before));
  const char *both = act(runtime, chat, "<tool_call>{\"name\":\"sell\",\"arguments\":{\"what\":\"hat\"}}</tool_call>"
                         "<tool_call>{\"name\":\"steal\",\"arguments\":{}}</tool_call>");
  says(both, "\"code\":\"absent\"");
  says(both, "\"params\":{\"what\":\"hat\"}");
  says(both, "},{");
  says(both, "\"code\":\"unknown_name\"");
  must(ebb_chat_digest(chat, after));
  assert_string_equal(before, after);
  says(act(runtime, chat, "<action_call>{\"calls\":[{\"window_id\":\"shop\",\"action_id\":\"close\",\"params\":"
           "{\"summary\":\"bye\"}}]}</action_call>"), "\"ok\":true");
  assert_null(strstr(render(runtime, chat, ""), "shop"));
  must(ebb_chat_windows(chat, &json));
  says(json.bytes, "\"summary\":\"bye\"");
  host_close(&host, runtime);
}

/* A loop in one action is told; the next runs. */
static void actions_of_scripts_are_stopped(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_event event;
  begin(&host, &runtime, &chat);
  run(runtime, chat, "local chat = ... chat.windows:open { id = 'w', actions = { { id = 'loop', run = function() "
      "while true do end end }, { id = 'count', run = function(_, window) window:update { content = 'counted' } "
      "return 7 end } } }", &event);
  const char *both = act(runtime, chat, "<tool_call>{\"name\":\"count\",\"arguments\":{}}</tool_call>"
                         "<tool_call>{\"name\":\"loop\",\"arguments\":{}}</tool_call>");
  says(both, "w.count: 7");
  says(both, "it takes too long");
  says(render(runtime, chat, ""), "counted");
  host_close(&host, runtime);
}

/* ---- beside tasks, batches, files ---- */

static void windows_go_beside_tasks_and_batches(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat, *fork, *loaded;
  ebb_event event = {.size = sizeof event};
  ebb_task *task;
  ebb_text saved;
  char digest[65], again[65];
  static const char asks[] = "request 'x' return 1",
                    opens[] = "request 'x' local chat = ... chat.windows:open { id = 'o' }";
  begin(&host, &runtime, &chat);
  must(open_window(chat, "w", "{\"content\":\"one\"}"));
  must(ebb_task_script(chat, "s", asks, strlen(asks), NULL, 0, &task));
  must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
  must(ebb_next_event(runtime, &event));
  must(update(chat, "w", "{\"content\":\"two\"}"));
  must(open_window(chat, "x", ""));
  must(ebb_answer(task, "1", 1));
  must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
  must(ebb_next_event(runtime, &event));
  assert_int_equal(event.kind, EBB_EVENT_DONE);
  says(render(runtime, chat, ""), "two");
  must(ebb_task_script(chat, "s", opens, strlen(opens), NULL, 0, &task));
  must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
  must(ebb_next_event(runtime, &event));
  must(update(chat, "w", "{\"content\":\"three\"}"));
  must(ebb_answer(task, "1", 1));
  must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
  must(ebb_next_event(runtime, &event));
  assert_int_equal(event.status, EBB_CONFLICT);
  must(ebb_chat_fork(chat, &fork));
  must(apply(chat, "{\"operation\":\"clear\"}"));
  must(ebb_window_close(chat, "w", NULL));
  must(ebb_chat_rollback(chat, 0));
  assert_null(strstr(render(runtime, chat, ""), "three"));
  says(render(runtime, fork, ""), "three");
  must(ebb_chat_digest(fork, digest));
  must(ebb_chat_save(fork, &saved));
  char *copy = malloc(saved.size);
  memcpy(copy, saved.bytes, saved.size);
  must(ebb_chat_load(runtime, copy, saved.size, &loaded));
  free(copy);
  must(ebb_chat_digest(loaded, again));
  assert_string_equal(digest, again);
  says(render(runtime, loaded, ""), "three");
  host_close(&host, runtime);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_window_is_shown_as_it_is_now), cmocka_unit_test(what_is_no_window_is_refused),
    cmocka_unit_test(contents_of_the_host), cmocka_unit_test(contents_of_scripts_are_stopped),
    cmocka_unit_test(all_contents_share_the_limits), cmocka_unit_test(actions_call_the_host),
    cmocka_unit_test(actions_of_scripts_are_stopped), cmocka_unit_test(windows_go_beside_tasks_and_batches),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
