/*
** Memory that runs out, through the public C API: a runtime, its first calls, chats, tasks, streams, windows
** (api_sweep.h). Journals, pipelines, vocabularies and the calls that need no memory: test_api_memory_reach.c.
*/
#include "api_sweep.h"
#include "include/ebb_lua.h"

/* ---- the calls ---- */

static ebb_status call_new(World *w) { return ebb_chat_new(w->runtime, "{\"limit\":100}", 13, &w->other); }
static ebb_status call_fork(World *w) { return ebb_chat_fork(w->chat, &w->other); }
static ebb_status call_load(World *w) { return ebb_chat_load(w->runtime, w->saved, w->saved_size, &w->other); }
static ebb_status call_append(World *w) {
  return append(w->chat, "[{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"one\"}],\"tool_calls\":[{"
                         "\"id\":\"z\",\"type\":"
                         "\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"tool_"
                         "call_id\":\"z\",\"content\":\"two\"}]");
}
static ebb_status call_apply(World *w) {
  return apply(w->chat,
               "[{\"operation\":\"insert\",\"position\":2,\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]},"
               "{\"operation\":\"truncate\",\"keepLast\":7}]");
}
static ebb_status call_rollback(World *w) { return ebb_chat_rollback(w->chat, 0); }
static ebb_status call_checkpoint(World *w) { return ebb_chat_checkpoint(w->chat, "here"); }
static ebb_status call_mark(World *w) { return ebb_chat_mark(w->chat, 1, "pinned"); }
static ebb_status trim_and_tell(World *w, const char *policy) {
  ebb_text report;
  ebb_status status = trim(w->chat, policy, "{\"budget\":150}", &report);
  if (status == EBB_OK) tell_text(w, report);
  return status;
}
static ebb_status call_trim(World *w) { return trim_and_tell(w, "remembers"); }
static ebb_status call_built_in(World *w) { return trim_and_tell(w, "stable_prefix"); }
static ebb_status call_policy(World *w) {
  return load_policy(w->runtime, "fresh",
                     "local tools = require 'my.tools'\nreturn { options = { n = { type = 'integer', default = 1 } },"
                     "trim = function(draft, budget) draft:drop_oldest { to = budget } end }");
}
static ebb_status call_task(World *w) {
  return ebb_task_trim(w->chat, "remembers", "{\"budget\":150}", 14, &w->task);
}
static ebb_status call_script(World *w) {
  const char *source = "local chat, n = ... return #chat + n";
  return ebb_task_script(w->chat, "s", source, strlen(source), "3", 1, &w->task);
}
static void tell_message(World *w, const ebb_message *message) {
  const ebb_text texts[] = {message->text, message->json, message->id, message->name, message->marks, message->calls};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) tell_text(w, texts[i]);
}
static ebb_status call_json(World *w) {
  ebb_text text;
  ebb_message message = {.size = sizeof message}, several[8] = {{.size = sizeof message}};
  uint32_t count;
  ebb_status status = ebb_chat_json(w->chat, &text);
  if (status == EBB_OK) tell_text(w, text), status = ebb_chat_batches(w->chat, &text);
  if (status == EBB_OK) tell_text(w, text), status = ebb_chat_message(w->chat, 2, &message);
  if (status == EBB_OK) tell_message(w, &message), status = ebb_chat_messages(w->chat, 0, 8, several, &count);
  for (uint32_t i = 0; status == EBB_OK && i < count; i++) tell_message(w, &several[i]);
  return status;
}
/* Answers have no room left from before. */
static void prepare_cold(World *w) { assert_int_equal(ebb_collect(w->runtime, EBB_NO_LIMIT, NULL), EBB_OK); }
static ebb_status call_save(World *w) {
  ebb_text text;
  char digest[65];
  ebb_status status = ebb_chat_save(w->chat, &text);
  if (status == EBB_OK) tell_text(w, text), status = ebb_chat_digest(w->chat, digest);
  if (status == EBB_OK) tell_bytes(w, digest, sizeof digest);
  return status;
}

static void prepare_task(World *w) { assert_int_equal(call_task(w), EBB_OK); }

static void prepare_request(World *w) {
  ebb_event event = {.size = sizeof event};
  const char *source =
      "local chat = ... local answer = request { what = 'word' } chat:append { role = 'user', content = answer[1] }";
  assert_int_equal(ebb_task_script(w->chat, "s", source, strlen(source), NULL, 0, &w->task), EBB_OK);
  assert_int_equal(ebb_step(w->runtime, EBB_NO_LIMIT, EBB_NO_LIMIT), EBB_OK);
  assert_int_equal(ebb_next_event(w->runtime, &event), EBB_OK);
}

/* A task that runs out of memory has failed; a new one does its work. */
static ebb_status finish(World *w) {
  ebb_event event = {.size = sizeof event};
  ebb_status status = ebb_step(w->runtime, EBB_NO_LIMIT, EBB_NO_LIMIT);
  if (status == EBB_OK) status = ebb_next_event(w->runtime, &event);
  if (status == EBB_MEMORY) return status;
  if (status != EBB_OK) fail_msg("step: %s", ebb_status_name(status));
  if (event.kind != EBB_EVENT_FAILED) tell_text(w, event.json);
  return event.kind == EBB_EVENT_FAILED ? event.status : EBB_OK;
}

static ebb_status call_step(World *w) {
  ebb_status status = finish(w);
  if (status != EBB_OK) {
    ebb_task_free(w->task);
    w->host.heap.fail_at = 0;
    prepare_task(w);
  }
  return status;
}

/* Asleep, and its time has come. */
static void prepare_timer(World *w) {
  static const char source[] = "local chat = ... local now = request { timer = 5 }\n"
                               "chat:append { role = 'user', content = 'at ' .. now }";
  w->host.now = 1700000000000;
  assert_int_equal(ebb_task_script(w->chat, "s", source, sizeof source - 1, NULL, 0, &w->task), EBB_OK);
  assert_int_equal(ebb_step(w->runtime, EBB_NO_LIMIT, EBB_NO_LIMIT), EBB_OK);
  assert_int_equal(ebb_task_state(w->task), EBB_TASK_SLEEPING);
  w->host.now += 5;
}

static ebb_status call_timer(World *w) {
  ebb_status status = finish(w);
  if (status != EBB_OK) {
    ebb_task_free(w->task);
    w->host.heap.fail_at = 0;
    prepare_timer(w);
  }
  return status;
}

static ebb_status call_replay(World *w) { return ebb_task_replay(w->chat, "{\"budget\":150}", 14, &w->task); }
static void prepare_replay(World *w) { assert_int_equal(call_replay(w), EBB_OK); }

static ebb_status call_replays(World *w) {
  ebb_status status = finish(w);
  if (status != EBB_OK) {
    ebb_task_free(w->task);
    w->host.heap.fail_at = 0;
    prepare_replay(w);
  }
  return status;
}

static ebb_status call_answer(World *w) { return ebb_answer(w->task, "[\"word\"]", 8); }

static ebb_status call_refuse(World *w) { return ebb_refuse(w->task, "nobody answers"); }

/* ---- joins: a task comes back, with what was appended meanwhile or without ---- */

static void start_join(World *w) {
  static const char source[] =
    "local chat = ... chat:append { role = 'assistant', content = 'done' } chat:mark(#chat, 'theirs')\n"
    "chat:checkpoint 'one' chat:forget(2) chat:insert(2, { role = 'user', content = 'put' })\n"
    "chat.windows:open { id = 'log', content = 'x', item = false }\n"
    "chat:trim { budget = 200, policy = 'stable_prefix' } chat:prune { keep = 2 } request {}";
  ebb_event event = {.size = sizeof event};
  must_be(w, ebb_chat_mark(w->chat, 1, "ours"), "mark");
  must_be(w, ebb_task_script(w->chat, "s", source, sizeof source - 1, NULL, 0, &w->task), "script");
  must_be(w, ebb_step(w->runtime, EBB_NO_LIMIT, EBB_NO_LIMIT), "step");
  must_be(w, ebb_next_event(w->runtime, &event), "event");
  if (event.kind != EBB_EVENT_REQUEST) fail_msg("%s", event.json.bytes);
  must_be(w, ebb_chat_mark(w->chat, 3, "ours"), "mark");
}

static void prepare_join(World *w) {
  start_join(w);
  must_be(w, ebb_answer(w->task, "1", 1), "answer");
}

static void prepare_join_behind(World *w) {
  start_join(w);
  must_be(w, append(w->chat, "{\"role\":\"user\",\"content\":\"meanwhile\"}"), "append");
  must_be(w, ebb_answer(w->task, "1", 1), "answer");
}

/* A task that could not come back has changed nothing; another one, on the same chat, can. */
static ebb_status join(World *w, void (*prepare)(World *w)) {
  char before[65], after[65];
  size_t fail_at = w->host.heap.fail_at, calls = w->host.heap.calls;
  w->host.heap.fail_at = 0;
  digest_of(w, before);
  w->host.heap.fail_at = fail_at;
  w->host.heap.calls = calls;
  ebb_status status = finish(w);
  if (status == EBB_OK) return status;
  w->host.heap.fail_at = 0;
  digest_of(w, after);
  if (strcmp(before, after) != 0) fail_msg("a join failed, and the chat has changed");
  make_subject(w);
  prepare(w);
  return status;
}

static ebb_status call_join(World *w) { return join(w, prepare_join); }
static ebb_status call_join_behind(World *w) { return join(w, prepare_join_behind); }

static void prepare_truncated(World *w) {
  must_be(w, apply(w->chat, "{\"operation\":\"truncate\",\"keepLast\":3}"), "truncate");
  must_be(w, ebb_chat_checkpoint(w->chat, "here"), "checkpoint");
  must_be(w, append(w->chat, "{\"role\":\"user\",\"content\":\"last\"}"), "append");
}
static ebb_status call_compact(World *w) { return ebb_chat_compact(w->chat, 1, NULL); }
static ebb_status call_rollback_to(World *w) { return ebb_chat_rollback_to(w->chat, "here"); }
static ebb_status call_forget(World *w) { return ebb_chat_forget(w->chat, 1); }
static ebb_status call_unmark(World *w) { return ebb_chat_unmark(w->chat, 1, "pinned"); }
static ebb_status call_cancel(World *w) {
  ebb_event event = {.size = sizeof event};
  ebb_status status = ebb_task_cancel(w->task);
  if (status == EBB_ARGUMENT) status = EBB_OK;      /* it was cancelled, and the event could not be told */
  return status == EBB_OK ? ebb_next_event(w->runtime, &event) : status;
}

/* ---- streams ---- */

static const char ANSWER[] = "{\"role\":\"assistant\",\"id\":\"m1\",\"content\":\"Well, \"}";

static ebb_status call_stream_begin(World *w) { return ebb_chat_stream_begin(w->chat, ANSWER, sizeof ANSWER - 1); }
static void prepare_stream(World *w) { assert_int_equal(call_stream_begin(w), EBB_OK); }

static ebb_status call_stream_add(World *w) {
  ebb_message message = {.size = sizeof message};
  ebb_status status = EBB_OK;
  for (int i = 0; i < 20 && status == EBB_OK; i++) status = ebb_chat_stream_add(w->chat, "up the stairs \n", 15);
  if (status == EBB_OK) status = ebb_chat_message(w->chat, ebb_chat_count(w->chat), &message);
  return status;
}
static void prepare_settle(World *w) {
  prepare_stream(w);
  assert_int_equal(call_stream_add(w), EBB_OK);
}
static ebb_status call_settle(World *w) { return ebb_chat_stream_settle(w->chat, NULL, 0); }
static ebb_status call_settle_as(World *w) {
  static const char end[] = "{\"role\":\"assistant\",\"name\":\"Mara\",\"tool_calls\":[{\"id\":\"z\","
                            "\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}";
  return ebb_chat_stream_settle(w->chat, end, sizeof end - 1);
}

/* ---- functions of the host's ---- */

static ebb_status tell(void *user, const char *arguments, size_t size, ebb_sink *result) {
  (void)user;
  return ebb_sink_add(result, arguments, size);
}

typedef struct Lamp {
  int lit;
} Lamp;

static int light(const ebb_lua *lua, ebb_lua_state *L, void *user);
static const ebb_lua_method LAMP_METHODS[] = {{"light", light, 0}, {NULL, NULL, 0}};
static const ebb_lua_type LAMP = {"lamp", LAMP_METHODS, NULL, NULL};

static int light(const ebb_lua *lua, ebb_lua_state *L, void *user) {
  Lamp *lamp = lua->checkobject(L, 1, &LAMP);
  (void)user;
  lua->pushinteger(L, ++lamp->lit);
  return 1;
}

static int new_lamp(const ebb_lua *lua, ebb_lua_state *L, void *user) {
  (void)user;
  lua->newobject(L, sizeof(Lamp), &LAMP);
  return 1;
}

static int keep_and_make(const ebb_lua *lua, ebb_lua_state *L, void *user) {
  (void)user;
  lua->createtable(L, 3, 3);
  lua->pushlstring(L, "a lamp for the stairs", 21);
  lua->setfield(L, -2, "name");
  lua->unref(L, lua->ref(L));
  return 0;
}

static ebb_status call_register(World *w) { return ebb_register(w->runtime, "fresh.tell", tell, NULL, 0); }
static ebb_status call_lua_register(World *w) { return ebb_lua_register(w->runtime, "fresh_lamp", new_lamp, NULL, 0); }
static ebb_status call_lua_run(World *w) { return ebb_lua_run(w->runtime, keep_and_make, NULL); }
static ebb_status call_functions(World *w) { return trim(w->chat, "tells", "{\"budget\":150}", NULL); }

static void prepare_functions(World *w) {
  assert_int_equal(ebb_register(w->runtime, "world.tell", tell, NULL, 0), EBB_OK);
  assert_int_equal(ebb_lua_register(w->runtime, "world.lamp", new_lamp, NULL, 0), EBB_OK);
  assert_int_equal(load_policy(w->runtime, "tells",
                               "return function(draft, budget)\n"
                               "  assert(world.tell('a', { 1, 2 })[2][2] == 2 and world.lamp():light() == 1)\n"
                               "  draft:drop_oldest { to = budget }\n"
                               "end"), EBB_OK);
}

static ebb_status made_up(void *user, const char *id, ebb_sink *sink) {
  (void)user, (void)id;
  return ebb_sink_add(sink, "so it is", 8);
}

static ebb_status call_window_open(World *w) {
  const char *options =
      "{\"content\":[[\"a\",{\"id\":1},\"x\"]],\"actions\":[{\"id\":\"tell\",\"run\":\"world.tell\"}]}";
  return ebb_window_open(w->chat, "w", options, strlen(options));
}
static ebb_status call_window_update(World *w) { return ebb_window_update(w->chat, "w", "{\"content\":\"y\"}", 15); }
static ebb_status call_window_close(World *w) { return ebb_window_close(w->chat, "w", "done"); }
static ebb_status call_window_content(World *w) { return ebb_window_content(w->chat, "w", made_up, NULL); }
static ebb_status call_windows(World *w) {
  ebb_text json;
  ebb_status status = ebb_chat_windows(w->chat, &json);
  if (status == EBB_OK) tell_text(w, json);
  return status;
}
static ebb_status call_render(World *w) {
  ebb_text json;
  ebb_status status = ebb_chat_render(w->chat, NULL, 0, &json);
  if (status == EBB_OK) tell_text(w, json), status = ebb_chat_render(w->chat, "{\"maxTokens\":200}", 17, &json);
  if (status == EBB_OK) tell_text(w, json);
  return status;
}
static ebb_status call_act(World *w) {
  static const char text[] = "<tool_call>{\"name\":\"w.tell\",\"arguments\":{}}</tool_call>"
                             "<tool_call>{\"name\":\"w.close\",\"arguments\":{}}</tool_call>";
  ebb_text json;
  ebb_status status = ebb_chat_act(w->chat, text, sizeof text - 1, &json);
  if (status == EBB_OK) tell_text(w, json);
  return status;
}

static void prepare_window(World *w) {
  assert_int_equal(ebb_register(w->runtime, "world.tell", tell, NULL, 0), EBB_OK);
  assert_int_equal(call_window_open(w), EBB_OK);
  assert_int_equal(call_window_content(w), EBB_OK);
}

/* Windows of a save are checked by the Lua library. */
static char windows_saved[8000];

static void prepare_load_windows(World *w) {
  ebb_text saved;
  static const char options[] = "{\"content\":[\"list\",[\"item\",{\"id\":1},\"tea\"]],"
                                "\"actions\":[{\"id\":\"buy\",\"params\":\"n:int\"}]}";
  assert_int_equal(ebb_window_open(w->chat, "shop", options, strlen(options)), EBB_OK);
  assert_int_equal(ebb_chat_save(w->chat, &saved), EBB_OK);
  assert_true(saved.size < sizeof windows_saved);
  memcpy(windows_saved, saved.bytes, saved.size + 1);
}

static ebb_status call_load_windows(World *w) {
  return ebb_chat_load(w->runtime, windows_saved, strlen(windows_saved), &w->other);
}

/* What a script returns is more than plain values. */
static void prepare_values(World *w) {
  static const char source[] = "local chat = ... local ebb = require 'ebb'\n"
                               "return { chat[1], chat:diff(0, 0), chat:recent('user', 2), ebb.null, 0.5 }";
  assert_int_equal(ebb_task_script(w->chat, "s", source, strlen(source), NULL, 0, &w->task), EBB_OK);
}

static ebb_status call_values(World *w) {
  ebb_status status = finish(w);
  if (status != EBB_OK) {
    ebb_task_free(w->task);
    w->host.heap.fail_at = 0;
    prepare_values(w);
  }
  return status;
}

/* What is wrong is said, or that there was no memory to say it. */
static ebb_status call_log(World *w) {
  static const char source[] = "print(('\\xff'):rep(2000)) return function() end";
  return load_policy(w->runtime, "prints", source);
}

static ebb_status call_save_to(World *w) { return ebb_chat_save_to(w->chat, tell_piece, w); }

static ebb_status call_trim_to(World *w) {
  return ebb_chat_trim_to(w->chat, "remembers", "{\"budget\":200}", 14, tell_piece, w);
}

/* ---- texts in and out ---- */

#define BROKEN                                                                                                  \
  "{\"model\":\"gpt-4o\",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\"}}],\"messages\":["           \
  "{\"role\":\"pirate\",\"content\":[{\"type\":\"odd\",\"text\":\"a\"}]}, {\"role\":\"tool\",\"tool_call_id\":\"z\",\"content\":\"b\"}]}"
#define READING "{\"roleMap\":{\"pirate\":\"user\"},\"lenient\":true}"

static ebb_status call_read(World *w) {
  return ebb_chat_read(w->runtime, BROKEN, strlen(BROKEN), READING, strlen(READING), &w->other);
}
static void prepare_read(World *w) {
  ebb_text saved;
  ebb_chat_free(w->chat);
  w->chat = NULL;
  assert_int_equal(ebb_chat_read(w->runtime, BROKEN, strlen(BROKEN), READING, strlen(READING), &w->chat), EBB_OK);
  assert_int_equal(ebb_chat_save(w->chat, &saved), EBB_OK);
  free(w->read);
  w->read = malloc(saved.size + 1);
  memcpy(w->read, saved.bytes, saved.size + 1);
}
static ebb_status call_load_read(World *w) { return ebb_chat_load(w->runtime, w->read, strlen(w->read), &w->other); }
static ebb_status call_write(World *w) {
  ebb_text text;
  ebb_status status = ebb_chat_write(w->chat, NULL, 0, &text);
  if (status == EBB_OK) tell_text(w, text), status = ebb_chat_write(w->chat, "{\"repair\":true}", 15, &text);
  if (status == EBB_OK) tell_text(w, text), status = ebb_chat_write_to(w->chat, NULL, 0, tell_piece, w);
  return status;
}
static ebb_status call_request(World *w) {
  ebb_text body, report;
  ebb_status status = ebb_chat_request(w->chat, "anthropic", NULL, 0, &body, &report);
  if (status == EBB_OK) tell_text(w, body), tell_text(w, report);
  return status;
}
static ebb_status call_check(World *w) {
  ebb_text json;
  ebb_status status = ebb_chat_check(w->chat, NULL, &json);
  if (status == EBB_OK) tell_text(w, json);
  return status;
}
static ebb_status call_query(World *w) {
  static const char *const queries[] = {
    "{\"query\":\"where\",\"matches\":\"room\",\"answer\":\"positions\"}", "{\"query\":\"state\"}", "{\"query\":\"units\"}",
    "{\"query\":\"diff\",\"from\":0}", "{\"query\":\"ledger\",\"batch\":1}", "{\"query\":\"explain\",\"seq\":2}",
    "{\"query\":\"listing\"}", "{\"query\":\"tokens\",\"encoding\":\"bytes4\"}",
  };
  ebb_text json;
  ebb_status status = EBB_OK;
  for (size_t i = 0; i < sizeof queries / sizeof *queries && status == EBB_OK; i++) {
    status = ebb_chat_query(w->chat, queries[i], strlen(queries[i]), &json);
    if (status == EBB_OK) tell_text(w, json);
  }
  return status;
}
static ebb_status call_settings(World *w) {
  uint64_t tokens;
  ebb_text json;
  ebb_status status = ebb_count_text(w->runtime, "bytes4", "some text", 9, &tokens, NULL);
  if (status == EBB_OK) status = ebb_models_add(w->runtime, "{\"m\":{\"encoding\":\"cjk\",\"window\":9}}", 35);
  if (status == EBB_OK) status = ebb_models(w->runtime, &json);
  if (status == EBB_OK) tell_text(w, json), status = ebb_policies(w->runtime, &json);
  if (status == EBB_OK) tell_text(w, json);
  return status;
}
static ebb_status call_set(World *w) { return ebb_chat_set(w->chat, "{\"limit\":5,\"encoding\":\"bytes4\"}", 31); }
static void start_adding(World *w) {
  const char *source = "local chat = ... chat:append { role = 'assistant', content = 'added' }";
  assert_int_equal(ebb_task_script(w->chat, "s", source, strlen(source), NULL, 0, &w->task), EBB_OK);
}
/* The chat counts otherwise when the task is done than when it began. */
static void prepare_set(World *w) {
  start_adding(w);
  assert_int_equal(call_set(w), EBB_OK);
}
static ebb_status call_step_set(World *w) {
  ebb_status status = finish(w);
  if (status != EBB_OK) {
    ebb_task_free(w->task);
    w->host.heap.fail_at = 0;
    start_adding(w);
  }
  return status;
}
static ebb_status call_usage(World *w) { return ebb_chat_report_usage(w->chat, 2000); }
static ebb_status call_filter_load(World *w) {
  const char *source = "return function(message) return message.role ~= 'tool' end";
  return ebb_filter_load(w->runtime, "fresh", source, strlen(source));
}
static void prepare_filter(World *w) { assert_int_equal(call_filter_load(w), EBB_OK); }
static ebb_status call_filter(World *w) { return ebb_chat_filter(w->chat, "fresh", NULL, 0); }
static ebb_status call_repair(World *w) {
  ebb_text report;
  ebb_status status = ebb_chat_repair(w->chat, NULL, 0, &w->other, &report);
  if (status == EBB_OK) tell_text(w, report);
  return status;
}

/* A task that replays allocates 6,000 times. */
static const Call CALLS[] = {
  SWEPT(new, NULL), SWEPT(fork, NULL), SWEPT(load, NULL), SWEPT(request, NULL), SWEPT(append, NULL),
  SWEPT(apply, NULL), SWEPT(rollback, NULL), SWEPT(checkpoint, NULL), SWEPT(mark, NULL), SWEPT(trim, NULL),
  SWEPT(built_in, NULL), SWEPT(policy, NULL), SWEPT(task, NULL), SWEPT(script, NULL), SWEPT(json, prepare_cold),
  SWEPT(save, NULL), SWEPT(step, prepare_task), SWEPT(timer, prepare_timer), SWEPT(replay, NULL),
  {.name = "replays", .run = call_replays, .prepare = prepare_replay, .stride = 13}, SWEPT(answer, prepare_request),
  SWEPT(refuse, prepare_request), SWEPT(cancel, prepare_task), SWEPT(unmark, NULL), SWEPT(register, NULL),
  SWEPT(lua_register, NULL), SWEPT(lua_run, NULL), SWEPT(functions, prepare_functions), SWEPT(window_open, NULL),
  SWEPT(window_update, prepare_window), SWEPT(window_close, prepare_window), SWEPT(window_content, prepare_window),
  SWEPT(windows, prepare_window), SWEPT(render, prepare_window), SWEPT(act, prepare_window),
  SWEPT(load_windows, prepare_load_windows), SWEPT(stream_begin, NULL), SWEPT(stream_add, prepare_stream),
  SWEPT(settle, prepare_settle), SWEPT(settle_as, prepare_settle), SWEPT(values, prepare_values), SWEPT(log, NULL),
  SWEPT(save_to, NULL), SWEPT(trim_to, NULL), SWEPT(read, NULL), SWEPT(load_read, prepare_read),
  SWEPT(write, prepare_read), SWEPT(check, prepare_read), SWEPT(repair, prepare_read), SWEPT(query, NULL),
  SWEPT(settings, NULL), SWEPT(set, NULL), SWEPT(usage, NULL),
  {.name = "set_read", .run = call_set, .prepare = prepare_read}, SWEPT(filter_load, NULL),
  SWEPT(filter, prepare_filter), SWEPT(step_set, prepare_set), SWEPT(join, prepare_join),
  SWEPT(join_behind, prepare_join_behind), SWEPT(compact, prepare_truncated), SWEPT(rollback_to, prepare_truncated),
  SWEPT(forget, NULL),
};

static void every_call_survives(void **state) {
  (void)state;
  sweep_calls(CALLS, sizeof CALLS / sizeof *CALLS);
}

static void a_runtime_is_made_or_not(void **state) {
  (void)state;
  if (getenv("CALL") != NULL) return;
  size_t failed = 0, stride = test_stride(1);
  for (int once = 0; once <= 1; once++) {
    for (size_t k = test_start(stride);; k += stride) {
      Host host = {.now = 1, .heap = {.fail_at = k, .once = once}};
      ebb_runtime *runtime = NULL;
      ebb_config config = host_config(&host);
      ebb_status status = ebb_runtime_new(&config, &runtime);
      if (status != EBB_OK) assert_int_equal(status, EBB_MEMORY);
      host.heap.fail_at = 0;
      if (status == EBB_OK) ebb_runtime_free(runtime);
      if (host.heap.in_use != 0) fail_msg("allocation %zu failed, and %zu bytes were never freed", k, host.heap.in_use);
      if (host.heap.failed == 0) break;
      failed++;
    }
  }
  print_message("swept: runtime_new, %zu failures\n", failed);
}

/* ---- a runtime's first calls ---- */

/* They load what they need of the Lua library: one that fails leaves nothing half loaded behind, and the same call
   succeeds when it is made again. */
#define again(call)                                                             \
  do {                                                                          \
    status = (call);                                                            \
    if (status != EBB_OK) {                                                     \
      if (status != EBB_MEMORY) must(call);                                     \
      host.heap.fail_at = 0;                                                         \
      must(call);                                                               \
    }                                                                           \
  } while (0)

static void check_life(ebb_runtime *runtime, ebb_chat *chat, const char *digest) {
  char own[65];
  must(ebb_chat_digest(chat, own));
  assert_string_equal(own, digest);
}

/* One allocation fails; *digest is what the chat ends with when none does. */
static bool first_calls(size_t k, bool once, char digest[65]) {
  static const char policy[] =
      "return function(draft, budget) draft.memory.n = 1 draft:drop_oldest { to = budget } end";
  static const char script[] = "local chat = ... return #chat:state().messages";
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_text text;
  ebb_task *task;
  ebb_status status;
  host_open(&host, &runtime);
  host.still = true;
  host.heap.once = once;
  host.heap.calls = 0;
  host.heap.fail_at = k;
  again(ebb_register(runtime, "tell", tell, NULL, 0));
  again(ebb_chat_new(runtime, "{\"model\":\"gpt-4o\"}", 18, &chat));
  again(append(chat, "{\"role\":\"user\",\"content\":\"Is there room?\"}"));
  again(append(chat, "{\"role\":\"user\",\"content\":\"Well?\"}"));
  again(load_policy(runtime, "mine", policy));
  again(trim(chat, "mine", "{\"budget\":12}", NULL));
  again(trim(chat, "[\"stable_prefix\"]", "{\"budget\":12}", NULL));
  again(apply(chat, "[{\"operation\":\"truncate\",\"keepLast\":1}]"));
  again(ebb_window_open(chat, "w", "{\"content\":\"tea\"}", 17));
  again(ebb_chat_render(chat, NULL, 0, &text));
  again(ebb_chat_batches(chat, &text));
  again(ebb_task_script(chat, "s", script, sizeof script - 1, NULL, 0, &task));
  again(ebb_chat_save(chat, &text));
  bool hit = host.heap.failed > 0;
  host.heap.fail_at = 0;
  if (k == 0) must(ebb_chat_digest(chat, digest));
  else check_life(runtime, chat, digest);
  host_close(&host, runtime);
  return hit;
}

/* A life takes 5,000 allocations and 10 ms: one of 17 fails, which SEED decides; with DENSER each. */
static void what_loads_on_first_use_survives(void **state) {
  (void)state;
  if (getenv("CALL") != NULL) return;
  char digest[65];
  size_t stride = test_stride(17);
  first_calls(0, false, digest);
  for (int once = 0; once <= 1; once++) {
    size_t count = 0;
    for (size_t k = test_start(stride); first_calls(k, once, digest); k += stride) count++;
    print_message("swept: first calls, %zu allocations %s\n", count, once ? "once" : "for good");
  }
}

/* LPeg compiles a pattern when it is first matched: none stays half compiled. */
static bool first_act(size_t k, bool once) {
  static const char window[] = "{\"content\":\"tea\",\"actions\":[{\"id\":\"tell\",\"run\":\"world.tell\"}]}";
  static const char calls[] = "~~~\n<w.tell/>\n~~~\n<tool_call>{\"name\":\"w.tell\"}</tool_call>";
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_text text;
  ebb_status status;
  host_open(&host, &runtime);
  host.still = true;
  must(ebb_register(runtime, "world.tell", tell, NULL, 0));
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  must(ebb_window_open(chat, "w", window, sizeof window - 1));
  host.heap.once = once;
  host.heap.calls = 0;
  host.heap.fail_at = k;
  again(ebb_chat_act(chat, calls, sizeof calls - 1, &text));
  assert_non_null(strstr(text.bytes, "\"ok\":true"));
  bool hit = host.heap.failed > 0;
  host_close(&host, runtime);
  return hit;
}

static bool first_pipeline(size_t k, bool once) {
  static const char agent[] = "{\"presets\":[{\"content\":\"{{char}} {{date::YYYY}} {{substr::x::0::1}}\"},"
                              "{\"type\":\"chat_history\"}]}";
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_pipeline *pipeline;
  ebb_text body, report;
  ebb_status status;
  host_open(&host, &runtime);
  host.still = true;
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  host.heap.once = once;
  host.heap.calls = 0;
  host.heap.fail_at = k;
  again(ebb_pipeline_new(runtime, agent, sizeof agent - 1, NULL, 0, &pipeline));
  again(ebb_pipeline_run(pipeline, chat, NULL, 0, &body, &report));
  bool hit = host.heap.failed > 0;
  host_close(&host, runtime);
  return hit;
}

static void sweep_first(const char *name, bool (*life)(size_t k, bool once), size_t stride) {
  const char *only = getenv("CALL");
  if (only != NULL && strcmp(only, name) != 0) return;
  stride = test_stride(stride);
  for (int once = 0; once <= 1; once++) {
    size_t count = 0;
    for (size_t k = test_start(stride); life(k, once); k += stride) count++;
    print_message("swept: %s, %zu allocations %s\n", name, count, once ? "once" : "for good");
  }
}

static void patterns_survive(void **state) {
  (void)state;
  sweep_first("first_act", first_act, 2);
  sweep_first("first_pipeline", first_pipeline, 97);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_call_survives), cmocka_unit_test(a_runtime_is_made_or_not),
                                     cmocka_unit_test(what_loads_on_first_use_survives),
                                     cmocka_unit_test(patterns_survive)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
