/*
** The C API as hosts use it: chats, policies, errors, limits.
*/
#include <ctype.h>

#include "api_kit.h"

static void chats_keep_what_is_appended(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_text json;
  ebb_message message = {.size = sizeof message};
  host_open(&host, &runtime);
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  assert_int_equal(ebb_chat_count(chat), 0);
  must(append(chat, "{\"role\":\"user\", \"content\":\"Gr\\u00fc\\u00df Gott\", \"mood\":7}"));
  must(append(chat,
              "[{\"role\":\"assistant\",\"content\":\"Hello\"},{\"role\":\"user\",\"content\":\"\",\"timestamp\":5}]"));
  assert_int_equal(ebb_chat_count(chat), 3);
  must(ebb_chat_message(chat, 0, &message));
  assert_string_equal(message.role, "user");
  assert_string_equal(message.text.bytes, "Gr\xc3\xbc\xc3\x9f Gott");
  assert_string_equal(message.json.bytes, "{\"role\":\"user\", \"content\":\"Gr\\u00fc\\u00df Gott\", \"mood\":7}");
  assert_int_equal(message.seq, 1);
  assert_true(message.tokens > 0 && !message.has_timestamp);
  must(ebb_chat_message(chat, 2, &message));
  assert_true(message.has_timestamp && message.timestamp == 5 && message.text.size == 0);
  must(ebb_chat_json(chat, &json));
  assert_non_null(strstr(json.bytes, "\"mood\":7}"));
  assert_true(ebb_chat_tokens(chat) > 9);
  refused(ebb_chat_message(chat, 3, &message), EBB_RANGE, "the chat has 3");
  host_close(&host, runtime);
}

static void what_is_wrong_is_refused_and_named(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  host_open(&host, &runtime);
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  refused(append(chat, "[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"pirate\",\"content\":\"b\"}]"), EBB_ROLE,
          "[1].role");
  refused(append(chat, "{\"role\":\"user\""), EBB_SYNTAX, "1:15");
  refused(append(chat, "{\"role\":\"user\",\"content\":\"a\"} x"), EBB_SYNTAX, "append");
  refused(append(chat, "[]"), EBB_ARGUMENT, "no messages");
  refused(append(chat, "{\"role\":\"user\",\"content\":\"\xff\"}"), EBB_ENCODING, "append");
  refused(apply(chat, "{\"operation\":\"trunkate\"}"), EBB_UNKNOWN_NAME, "trunkate");
  refused(ebb_chat_new(runtime, "{\"modell\":1}", 12, &chat), EBB_UNKNOWN_NAME, "modell");
  refused(ebb_chat_new(runtime, "[1", 2, &chat), EBB_SYNTAX, "options");
  refused(ebb_chat_rollback(chat, 4), EBB_RANGE, "there are 1");
  refused(ebb_chat_mark(chat, 0, "pinned"), EBB_RANGE, "mark");
  assert_int_equal(ebb_chat_count(chat), 0);
  assert_int_equal(ebb_chat_append(NULL, "", 0), EBB_ARGUMENT);
  assert_int_equal(ebb_runtime_new(&(ebb_config){.size = 4}, &runtime), EBB_UNKNOWN_VERSION);
  host_close(&host, runtime);
}

static void edits_make_batches(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat, *fork;
  ebb_text text;
  open_talk(&host, &runtime, &chat, 3);
  must(ebb_chat_checkpoint(chat, "start"));
  must(ebb_chat_fork(chat, &fork));
  const char *operations = "[{\"operation\":\"TRUNCATE\",\"keepLast\":5},{\"operation\":\"clear\"}]";
  must(ebb_chat_apply(chat, operations, strlen(operations), &text));
  assert_string_equal(
      text.bytes,
      "[{\"affectedBatchIndex\":1,\"operation\":\"truncate\"},{\"affectedBatchIndex\":2,\"operation\":\"clear\"}]");
  assert_int_equal(ebb_chat_batch(chat), 2);
  assert_int_equal(ebb_chat_batch_count(chat), 3);
  must(ebb_chat_batches(chat, &text));
  assert_non_null(strstr(text.bytes, "\"operation\":\"truncate\",\"parent\":0"));
  must(ebb_chat_rollback(chat, 0));
  assert_int_equal(ebb_chat_count(chat), 13);
  assert_int_equal(ebb_chat_count(fork), 13);
  assert_int_equal(ebb_chat_batch_count(fork), 1);
  ebb_chat_free(chat);
  must(append(fork, "{\"role\":\"user\",\"content\":\"still here\"}"));
  host_close(&host, runtime);
}

static void policies_trim(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_text report;
  char digest[65], after[65];
  host_open(&host, &runtime);
  must(ebb_chat_new(runtime, "{\"encoding\":\"bytes4\"}", 21, &chat));
  talk(runtime, chat, 20);
  must(ebb_chat_digest(chat, digest));
  must(trim(chat, NULL, "{\"budget\":300,\"dryRun\":true}", &report));
  assert_non_null(strstr(report.bytes, "\"action\":\"dropped\""));
  must(ebb_chat_digest(chat, after));
  assert_string_equal(digest, after);
  must(trim(chat, "keep_turns", "{\"budget\":300,\"options\":{\"turns\":2}}", NULL));
  assert_true(ebb_chat_tokens(chat) <= 300);
  must(ebb_chat_rollback(chat, 0));
  must(trim(chat, "[\"clear_tool_uses\",{\"name\":\"keep_recent\",\"keep\":1}]", "{\"budget\":300}", NULL));
  must(trim(chat, "mods/oldest.lua", "{\"budget\":200}", NULL));
  ebb_chat *known;
  must(ebb_chat_new(runtime, "{\"model\":\"gpt-4o\"}", 18, &known));      /* no vocabulary here: estimated */
  must(append(known, "{\"role\":\"user\",\"content\":\"a\"}"));
  must(trim(known, NULL, "", &report));
  assert_non_null(strstr(report.bytes, "\"budget\":111616"));
  refused(ebb_chat_new(runtime, "{\"encoding\":\"o200k_base\"}", 25, &known), EBB_UNKNOWN_NAME, "o200k_base");
  refused(trim(chat, NULL, "{\"budget\":5}", NULL), EBB_CANNOT_FIT, "cannot fit");
  refused(trim(chat, "keep_recend", "{\"budget\":5}", NULL), EBB_UNKNOWN_NAME, "keep_recend");
  refused(trim(chat, NULL, "{\"budgett\":5}", NULL), EBB_UNKNOWN_NAME, "budgett");
  refused(trim(chat, NULL, "", NULL), EBB_ARGUMENT, "budget");
  refused(trim(chat, "mods/none.lua", "{\"budget\":5}", NULL), EBB_ABSENT, "mods/none.lua");
  refused(trim(chat, "../x.lua", "{\"budget\":5}", NULL), EBB_ABSENT, "x.lua");
  host_close(&host, runtime);
}

static void loaded_policies_are_swapped_when_they_are_good(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  open_talk(&host, &runtime, &chat, 9);
  must(load_policy(runtime, "frugal",
                   "return function(draft, budget) print('first') draft:drop_oldest { to = budget } end"));
  must(trim(chat, "frugal", "{\"budget\":200}", NULL));
  refused(load_policy(runtime, "frugal", "return function("), EBB_SYNTAX, "frugal:1:");
  refused(load_policy(runtime, "frugal", "return 7"), EBB_SHAPE, "number");
  refused(load_policy(runtime, "frugal", "return { name = 'x', optoins = {}, trim = function() end }"), EBB_SHAPE,
          "options");
  refused(load_policy(runtime, "frugal", "error 'no'"), EBB_SCRIPT, "frugal:1: no");
  refused(load_policy(runtime, "frugal", "while true do end"), EBB_FUEL, "fuel of 10000000");
  refused(load_policy(runtime, "keep_recent", "return function() end"), EBB_ARGUMENT, "built-in");
  must(ebb_chat_rollback(chat, 0));
  must(trim(chat, "frugal", "{\"budget\":200}", NULL));
  must(load_policy(runtime, "frugal",
                   "local tools = require 'my.tools'\nreturn { name = 'other', trim = function(draft, budget)\n"
                   "print('second', tools.limit()) draft:drop_oldest { to = budget } end }"));
  must(ebb_chat_rollback(chat, 0));
  must(trim(chat, "frugal", "{\"budget\":200}", NULL));
  assert_string_equal(host.log, "first\nfirst\nsecond\t3\n");
  host_close(&host, runtime);
}

/* What a policy may try; how it ends; the chat is as before, and the next one runs. */
static void bad_policies_change_nothing(void **state) {
  (void)state;
  static const struct { const char *source; ebb_status status; const char *says; } bad[] = {
    {"return function(draft) draft:drop(2) while true do end end", EBB_FUEL, "fuel"},
    {"return function(draft) draft:insert(3, {role='user', content='x'}) while true do end end", EBB_FUEL, "fuel"},
    {"return function(draft) pcall(function() while true do end end) end", EBB_FUEL, "fuel"},
    {"return function(draft) draft:drop(2) error 'oops' end", EBB_POLICY, "bad:1: oops"},
    {"return function(draft) draft.nothing() end", EBB_POLICY, "bad:1:"},
    {"return function(draft) io.open('x') end", EBB_POLICY, "io"},
    {"return function(draft) local t = {} while true do t[#t+1] = ('x'):rep(1e5) .. #t end end", EBB_MEMORY, "memory"},
    {"return function(draft) draft:drop(2) end", EBB_OVER_BUDGET, "over budget"},
    {"return function(draft) request { type = 'x' } end", EBB_POLICY, "nobody answers"},
  };
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  char before[65], after[65];
  host = (Host){.now = 1};
  ebb_config config = host_config(&host);
  config.fuel = 3000000;
  config.script_memory = 4 << 20;
  assert_int_equal(ebb_runtime_new(&config, &runtime), EBB_OK);
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  talk(runtime, chat, 9);
  must(ebb_chat_digest(chat, before));
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    must(load_policy(runtime, "bad", bad[i].source));
    refused(trim(chat, "bad", "{\"budget\":100}", NULL), bad[i].status, bad[i].says);
    must(ebb_chat_digest(chat, after));
    assert_string_equal(before, after);
    must(trim(chat, NULL, "{\"budget\":150,\"dryRun\":true}", NULL));
  }
  host_close(&host, runtime);
}

static void limits_of_memory_hold(void **state) {
  (void)state;
  Host host = {.now = 1};
  ebb_runtime *runtime;
  ebb_chat *chat, *other;
  ebb_config config = host_config(&host);
  config.chat_memory = 30000;
  assert_int_equal(ebb_runtime_new(&config, &runtime), EBB_OK);
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  must(ebb_chat_new(runtime, NULL, 0, &other));
  ebb_status status = EBB_OK;
  uint32_t count = 0;
  for (int i = 0; i < 10000 && status == EBB_OK; i++, count = ebb_chat_count(chat)) {
    status =
        append(chat, "{\"role\":\"user\",\"content\":\"a message of a hundred bytes, more or less, that fills it\"}");
  }
  assert_int_equal(status, EBB_MEMORY);
  assert_true(count > 50 && count < 400);
  must(append(other, "{\"role\":\"user\",\"content\":\"there is room here\"}"));
  ebb_runtime_free(runtime);
  assert_int_equal(host.heap.in_use, 0);
  config.memory_limit = 20000;
  assert_int_equal(ebb_runtime_new(&config, &runtime), EBB_MEMORY);
  assert_int_equal(host.heap.in_use, 0);
  config.memory_limit = 100000;              /* there is room for the runtime, but not for what a chat needs */
  assert_int_equal(ebb_runtime_new(&config, &runtime), EBB_OK);
  for (int i = 0; i < 2; i++) refused(ebb_chat_new(runtime, NULL, 0, &chat), EBB_MEMORY, "memory");
  host_close(&host, runtime);
}

static void a_runtime_is_small(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  host_open(&host, &runtime);
  must(ebb_collect(runtime, EBB_NO_LIMIT, NULL));
  size_t unused = ebb_runtime_memory(runtime);
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  must(ebb_collect(runtime, EBB_NO_LIMIT, NULL));
  size_t idle = ebb_runtime_memory(runtime);
  for (int i = 0; i < 100; i++) must(ebb_chat_new(runtime, NULL, 0, &chat));
  must(ebb_collect(runtime, EBB_NO_LIMIT, NULL));
  size_t per_chat = (ebb_runtime_memory(runtime) - idle) / 100;
  print_message("a new runtime: %zu bytes, with a chat: %zu, an idle chat: %zu\n", unused, idle, per_chat);
  assert_true(unused <= 40 * 1024);
  assert_true(idle <= 220 * 1024);
  assert_true(per_chat <= 4096);
  assert_int_equal(host.heap.in_use, ebb_runtime_memory(runtime));
  host_close(&host, runtime);
}

static ebb_runtime *in_callback;
static ebb_status from_callback;
static ebb_task *waiting;

static void log_that_calls(void *user, ebb_log_level level, const char *line, size_t size) {
  ebb_text saved;
  (void)level, (void)line, (void)size;
  from_callback = ebb_chat_save(*(ebb_chat **)user, &saved);
  ebb_chat_free(*(ebb_chat **)user);
  ebb_task_free(waiting);
  ebb_runtime_free(in_callback);
}

static void callbacks_do_not_come_back(void **state) {
  (void)state;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_config config = {.size = sizeof config, .user = &chat, .log = log_that_calls};
  ebb_event event = {.size = sizeof event};
  assert_int_equal(ebb_runtime_new(&config, &runtime), EBB_OK);
  in_callback = runtime;
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  must(append(chat, "{\"role\":\"user\",\"content\":\"a\"}"));
  must(load_policy(runtime, "loud", "return function() print 'x' end"));
  must(ebb_task_script(chat, "waits", "return request 'x'", 18, NULL, 0, &waiting));
  must(trim(chat, "loud", "{\"budget\":100}", NULL));
  assert_int_equal(from_callback, EBB_BUSY);
  assert_int_equal(ebb_last_error(runtime)->status, EBB_BUSY);
  assert_int_equal(ebb_chat_count(chat), 1);
  must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
  must(ebb_next_event(runtime, &event));
  must(ebb_answer(waiting, "1", 1));
  ebb_runtime_free(runtime);
}

/* What is said of a call that failed is never of an older one. */
static void what_is_missing_is_said(void **state) {
  (void)state;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_task *task;
  ebb_event event = {.size = sizeof event};
  must(ebb_runtime_new(NULL, &runtime));
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  assert_int_equal(ebb_chat_rollback(chat, 7), EBB_RANGE);
  const ebb_error *error = ebb_last_error(runtime);
  assert_int_equal(ebb_chat_append(chat, NULL, 0), EBB_SYNTAX);      /* an empty text */
  assert_int_equal(ebb_chat_append(chat, NULL, 1), EBB_ARGUMENT);
  assert_int_equal(error->status, EBB_ARGUMENT);
  assert_string_equal(error->message, "NULL where there must be a value");
  assert_int_equal(ebb_chat_rollback(chat, 7), EBB_RANGE);
  assert_int_equal(ebb_next_event(runtime, NULL), EBB_ARGUMENT);
  assert_int_equal(error->status, EBB_ARGUMENT);
  must(ebb_task_script(chat, "ends", "return 1", 8, NULL, 0, &task));
  must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
  must(ebb_next_event(runtime, &event));
  assert_int_equal(ebb_chat_rollback(chat, 7), EBB_RANGE);
  assert_int_equal(ebb_task_cancel(task), EBB_ARGUMENT);
  assert_string_equal(error->message, "the task has ended");
  ebb_runtime_free(runtime);
}

/* What a script that ends at once answers. */
static void run_script(ebb_runtime *runtime, ebb_chat *chat, const char *source, char *answer, size_t room) {
  ebb_task *task;
  ebb_event event = {.size = sizeof event};
  must(ebb_task_script(chat, "script", source, strlen(source), NULL, 0, &task));
  must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
  must(ebb_next_event(runtime, &event));
  if (event.kind != EBB_EVENT_DONE) fail_msg("%s", event.json.bytes);
  snprintf(answer, room, "%s", event.json.bytes);
  ebb_task_free(task);
}

static void what_scripts_see_is_what_hosts_see(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_text json;
  char answer[4000];
  open_talk(&host, &runtime, &chat, 3);
  must(ebb_chat_checkpoint(chat, "the \"first\" \\ one"));
  must(apply(chat, "{\"operation\":\"truncate\",\"keepLast\":4}"));
  must(trim(chat, NULL, "{\"budget\":60}", NULL));
  must(ebb_chat_rollback(chat, 0));
  must(ebb_chat_checkpoint(chat, "again"));
  must(apply(chat, "{\"operation\":\"clear\"}"));
  run_script(runtime, chat, "local chat = ... return chat:state().batches", answer, sizeof answer);
  must(ebb_chat_batches(chat, &json));
  assert_string_equal(json.bytes, answer);

  must(ebb_chat_rollback(chat, 0));
  run_script(runtime, chat, "local chat = ... chat:report_usage { prompt_tokens = 2 * chat:tokens() } "
                            "return chat:tokens()", answer, sizeof answer);
  assert_int_equal(ebb_chat_tokens(chat), atoi(answer));
  must(trim(chat, NULL, "{\"budget\":100000,\"dryRun\":true}", &json));
  assert_non_null(strstr(json.bytes, "\"before\":"));
  assert_int_equal(ebb_chat_tokens(chat), atoi(strstr(json.bytes, "\"before\":") + 9));
  host_close(&host, runtime);
}

/* A status is called as its constant is, in small letters. */
static void statuses_are_named_alike(void **state) {
  (void)state;
#define NAMED(name) {EBB_##name, #name}
  static const struct {
    ebb_status status;
    const char *name;
  } cases[] = {
    NAMED(OK), NAMED(MORE), NAMED(NONE), NAMED(MEMORY), NAMED(ARGUMENT), NAMED(UNKNOWN_NAME), NAMED(OUT_OF_RANGE),
    NAMED(LIMIT), NAMED(SYNTAX), NAMED(ENCODING), NAMED(SHAPE), NAMED(ROLE), NAMED(DUPLICATE), NAMED(ABSENT), NAMED(IO),
    NAMED(CANNOT_FIT), NAMED(OVER_BUDGET), NAMED(POLICY), NAMED(SCRIPT), NAMED(MODEL), NAMED(FUEL), NAMED(DEADLINE),
    NAMED(CANCELLED), NAMED(CONFLICT), NAMED(BUSY), NAMED(UNKNOWN_VERSION), NAMED(DAMAGED)};
#undef NAMED
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *name = ebb_status_name(cases[i].status);
    assert_int_equal(cases[i].status, i);
    assert_int_equal(strlen(name), strlen(cases[i].name));
    for (size_t k = 0; name[k] != '\0'; k++) assert_int_equal(name[k], tolower(cases[i].name[k]));
  }
  assert_int_equal(EBB_RANGE, EBB_OUT_OF_RANGE);
  assert_string_equal(ebb_status_name((ebb_status)99), "unknown");
}

/* What went wrong is said in the words of ebb.h: no Lua, no options of the command, no places within the library. */
static void errors_speak_the_hosts_words(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat, *other;
  static const char start[] = "{\"role\":\"user\",\"content\":\"";
  char *large = malloc((17 << 20) + 100);
  assert_non_null(large);
  open_talk(&host, &runtime, &chat, 4);
  must(ebb_window_open(chat, "open", NULL, 0));
  must(ebb_window_open(chat, "closed", NULL, 0));
  must(ebb_window_close(chat, "closed", NULL));
  memset(large, 'x', (17 << 20) + 100);
  memcpy(large, start, sizeof start - 1);
  memcpy(large + (17 << 20), "\"}", 3);
  for (int i = 0; i < 15; i++) {
    ebb_status status = EBB_OK;
    const char *says = "";
    switch (i) {
      case 0: status = trim(chat, NULL, "", NULL), says = "\"budget\""; break;
      case 1: status = ebb_chat_new(runtime, "{\"model\":\"nonsense-9\"}", 22, &other), says = "\"encoding\""; break;
      case 2: status = ebb_chat_new(runtime, "{\"encoding\":\"qwv\"}", 18, &other), says = "no encoding"; break;
      case 3: status = ebb_window_open(chat, "open", NULL, 0), says = "ebb_window_update"; break;
      case 4: status = ebb_window_update(chat, "closed", "{}", 2), says = "ebb_window_open"; break;
      case 5: status = trim(chat, "zzzzzzzz", "", NULL), says = "ebb_policy_load"; break;
      case 6: status = load_policy(runtime, "f", "return { filter = function() end }"), says = "no trim"; break;
      case 7: status = append(chat, large), says = "16 MiB"; break;
      case 8: status = trim(chat, "summarize", "{\"budget\":90}", NULL), says = "ebb_task_trim"; break;
      case 9: status = ebb_chat_rollback(chat, 99), says = "batch 99"; break;
      case 10: status = trim(chat, NULL, "{\"budget\":-1}", NULL), says = "budget"; break;
      case 11: status = ebb_chat_apply(chat, "{\"operation\":\"trunc\"}", 21, NULL), says = "trunc"; break;
      case 12: status = ebb_chat_new(runtime, "{\"limit\":5,\"limit\":6}", 21, &other), says = "options: 1:12: "; break;
      case 13: status = trim(chat, NULL, "{\"budget\":9,\"budget\":8}", NULL), says = "each name once"; break;
      case 14:
        status = ebb_chat_apply(chat, "{\"operation\":\"clear\",\"operation\":\"clear\"}", 41, NULL);
        says = "each name once";
        break;
    }
    const char *message = ebb_last_error(runtime)->message;
    static const char *const foreign[] = {"chat:", " --", "(--", "`ebb ", "window:", "?:-1", "limits ="};
    if (status == EBB_OK || strstr(message, says) == NULL) fail_msg("%d: %s", i, message);
    for (size_t k = 0; k < sizeof foreign / sizeof *foreign; k++) {
      if (strstr(message, foreign[k]) != NULL) fail_msg("%d: %s", i, message);
    }
  }
  free(large);
  host_close(&host, runtime);
}

/* A message may be larger than what a script holds: it is kept, counted, dropped, and its text refused. */
static void texts_beyond_a_scripts_strings_are_refused_to_it(void **state) {
  (void)state;
  static const char start[] = "{\"role\":\"user\",\"content\":\"";
  static const struct {
    const char *source, *says;
  } cases[] = {
    {"local chat = ... return chat[1].role .. ' ' .. #chat", "\"user 2\""},
    {"local chat = ... return chat[1].tokens > 1000000", "true"},
    {"local chat = ... return #chat[1].text", "bytes; 4194304 are allowed"},
    {"return #('x'):rep(5 << 20)", "bytes; 4194304 are allowed"},
    {"local chat = ... chat:truncate { keep_last = 1 } return #chat", "1"}};
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  size_t size = 5 << 20;
  char *large = malloc(size + 1);
  assert_non_null(large);
  memset(large, 'x', size);
  memcpy(large, start, sizeof start - 1);
  memcpy(large + size - 2, "\"}", 3);
  host_open(&host, &runtime);
  must(ebb_chat_new(runtime, "{\"encoding\":\"bytes4\"}", 21, &chat));
  must(append(chat, large));
  must(append(chat, "{\"role\":\"user\",\"content\":\"short\"}"));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ebb_task *task;
    ebb_event event = {.size = sizeof event};
    must(ebb_task_script(chat, "script", cases[i].source, strlen(cases[i].source), NULL, 0, &task));
    must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
    must(ebb_next_event(runtime, &event));
    if (strstr(event.json.bytes, cases[i].says) == NULL) fail_msg("%s: %s", cases[i].source, event.json.bytes);
    ebb_task_free(task);
  }
  free(large);
  host_close(&host, runtime);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(statuses_are_named_alike), cmocka_unit_test(errors_speak_the_hosts_words),
    cmocka_unit_test(texts_beyond_a_scripts_strings_are_refused_to_it),
    cmocka_unit_test(chats_keep_what_is_appended), cmocka_unit_test(what_is_wrong_is_refused_and_named),
    cmocka_unit_test(edits_make_batches), cmocka_unit_test(policies_trim),
    cmocka_unit_test(loaded_policies_are_swapped_when_they_are_good), cmocka_unit_test(bad_policies_change_nothing),
    cmocka_unit_test(limits_of_memory_hold), cmocka_unit_test(a_runtime_is_small),
    cmocka_unit_test(callbacks_do_not_come_back), cmocka_unit_test(what_is_missing_is_said),
    cmocka_unit_test(what_scripts_see_is_what_hosts_see),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
