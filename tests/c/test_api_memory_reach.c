/*
** Memory that runs out (api_sweep.h): journals, pipelines, vocabularies, shared policies, models' texts, what writes
** in pieces; then the calls that need no memory at all. With test_api_memory.c and api_kit.h it has every function of
** ebb.h and ebb_lua.h (tests/lua/embedding_spec.lua).
*/
#include "api_sweep.h"
#include "vocab_kit.h"

/* ---- journals ---- */

/* Records that the host keeps, in memory of its own. */
static struct { char bytes[64000]; size_t size; } pages;

static ebb_status keep(void *user, const void *record, size_t size) {
  (void)user;
  assert_true(size <= sizeof pages.bytes - pages.size);
  memcpy(pages.bytes + pages.size, record, size);
  pages.size += size;
  return EBB_OK;
}

static void check_pages(World *w) {
  ebb_chat *read;
  size_t whole;
  char one[65], other[65];
  must_be(w, ebb_chat_read_journal(w->runtime, pages.bytes, pages.size, &whole, &read), "read");
  assert_int_equal(whole, pages.size);
  digest_of(w, one);
  must_be(w, ebb_chat_digest(read, other), "digest");
  assert_string_equal(one, other);
  ebb_chat_free(read);
}

static ebb_status call_journal(World *w) {
  pages.size = 0;
  return ebb_chat_journal(w->chat, keep, NULL, 0);
}
static void prepare_journal(World *w) { must_be(w, call_journal(w), "journal"); }

static ebb_status call_read_journal(World *w) {
  size_t whole;
  return ebb_chat_read_journal(w->runtime, pages.bytes, pages.size, &whole, &w->other);
}
static ebb_status call_journal_append(World *w) {
  return append(w->chat, "[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"z\",\"type\":"
                         "\"function\","
                         "\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":"
                         "\"z\",\"content\":\"two\"}]");
}
static ebb_status call_journal_apply(World *w) {
  return apply(w->chat, "[{\"operation\":\"insert\",\"position\":2,"
                        "\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]},"
                        "{\"operation\":\"truncate\",\"keepLast\":4}]");
}
static ebb_status call_journal_trim(World *w) { return trim(w->chat, "remembers", "{\"budget\":150}", NULL); }
static ebb_status call_journal_mark(World *w) { return ebb_chat_mark(w->chat, 1, "pinned"); }
static ebb_status call_journal_name(World *w) { return ebb_chat_checkpoint(w->chat, "here"); }
static ebb_status call_journal_set(World *w) {
  return ebb_chat_set(w->chat, "{\"limit\":5,\"encoding\":\"bytes4\"}", 31);
}
static ebb_status call_journal_usage(World *w) { return ebb_chat_report_usage(w->chat, 900); }
static ebb_status call_journal_compact(World *w) { return ebb_chat_compact(w->chat, 1, NULL); }
static ebb_status call_journal_forget(World *w) { return ebb_chat_forget(w->chat, 1); }
static ebb_status call_journal_rollback(World *w) { return ebb_chat_rollback(w->chat, 0); }
static ebb_status call_journal_window(World *w) {
  return ebb_window_open(w->chat, "w", "{\"content\":[\"item\",{\"id\":1},\"tea\"]}", 35);
}

/* ---- pipelines ---- */

static const char AGENT[] =
  "{\"name\":\"Mara\",\"presets\":[{\"role\":\"system\",\"content\":\"You are {{char}}.\"},{\"type\":\"chat_history\"},"
  "{\"id\":\"note\",\"role\":\"system\",\"content\":\"[{{getvar::mood}}{{setvar::mood::calm}}]\","
  "\"injectionStrategy\":{\"depth\":1}}],\"rules\":[{\"id\":\"p\",\"rules\":[{\"id\":\"r\",\"regex\":\"horses\","
  "\"replacement\":\"mules\",\"applyTo\":{\"request\":true}}]}],\"variables\":{\"mood\":\"loud\"}}";

static ebb_status call_pipeline_new(World *w) {
  static const char options[] = "{\"set\":[\"token-limiter.budget=300\"]}";
  return ebb_pipeline_new(w->runtime, AGENT, sizeof AGENT - 1, options, sizeof options - 1, &w->pipeline);
}
static void prepare_pipeline(World *w) { must_be(w, call_pipeline_new(w), "pipeline"); }

static ebb_status call_pipeline_run(World *w) {
  ebb_text body, report;
  ebb_status status = ebb_pipeline_run(w->pipeline, w->chat, NULL, 0, &body, &report);
  if (status == EBB_OK) tell_text(w, body), tell_text(w, report);
  return status;
}
static ebb_status call_task_pipeline(World *w) {
  return ebb_task_pipeline(w->pipeline, w->chat, NULL, 0, &w->task);
}
static void prepare_pipeline_task(World *w) {
  prepare_pipeline(w);
  must_be(w, call_task_pipeline(w), "task");
}

/* A task that runs out of memory has failed; a new one does its work. */
static ebb_status call_pipeline_steps(World *w) {
  ebb_event event = {.size = sizeof event};
  ebb_status status = ebb_step(w->runtime, EBB_NO_LIMIT, EBB_NO_LIMIT);
  if (status == EBB_OK) status = ebb_next_event(w->runtime, &event);
  if (status == EBB_OK && event.kind == EBB_EVENT_FAILED) status = event.status;
  if (status == EBB_OK) {
    tell_text(w, event.json);
    return EBB_OK;
  }
  ebb_task_free(w->task);
  w->task = NULL;
  w->host.heap.fail_at = 0;
  must_be(w, call_task_pipeline(w), "task");
  return status;
}

/* ---- vocabularies, policies, filters ---- */

static Buffer image;

static ebb_status add_vocab(World *w, const char *name) {
  ebb_vocab *vocab;
  ebb_config config = host_config(&w->host);
  ebb_status status = ebb_vocab_new(&config, image.bytes, image.size, NULL, &vocab);
  if (status != EBB_OK) return status;
  status = ebb_runtime_add_vocab(w->runtime, name, vocab);
  if (status == EBB_OK) tell_bytes(w, ebb_vocab_name(vocab), 1), status = ebb_vocab_verify(vocab);
  ebb_vocab_free(vocab);
  return status;
}

/* A runtime keeps what was added, so that each time has a name of its own. */
static ebb_status call_vocab(World *w) {
  static unsigned names;
  char name[20];
  snprintf(name, sizeof name, "tiny%u", names++);
  return add_vocab(w, name);
}
static void prepare_vocab(World *w) {
  ebb_status status = add_vocab(w, "tiny");
  if (status != EBB_DUPLICATE) must_be(w, status, "vocab");
}
static ebb_status call_encode(World *w) {
  uint32_t ids[64];
  uint64_t tokens;
  size_t count;
  ebb_text text;
  ebb_status status = ebb_encode_text(w->runtime, "tiny", "hello hello zz", 14, ids, 64, &count);
  if (status == EBB_OK) tell_bytes(w, ids, count * sizeof *ids);
  if (status == EBB_OK) status = ebb_decode_ids(w->runtime, "tiny", ids, count, &text);
  if (status == EBB_OK) tell_text(w, text), status = ebb_count_text(w->runtime, "tiny", "hello zz", 8, &tokens, NULL);
  if (status == EBB_OK) tell_bytes(w, &tokens, sizeof tokens);
  return status;
}

static ebb_status call_policy_new(World *w) {
  static const char source[] = "return function(draft, budget) draft:drop_oldest { to = budget } end";
  return ebb_policy_new(w->runtime, "mine", source, sizeof source - 1, &w->policy);
}
static void prepare_policy(World *w) { must_be(w, call_policy_new(w), "policy"); }
static ebb_status call_policy_add(World *w) { return ebb_policy_add(w->runtime, w->policy); }

static void prepare_loaded(World *w) {
  prepare_policy(w);
  must_be(w, call_policy_add(w), "add");
  must_be(w, ebb_filter_load(w->runtime, "mine", "return function() end", 21), "filter");
}
/* Made again, it finds what it had taken away already. */
static ebb_status call_unload(World *w) {
  ebb_status status = ebb_policy_unload(w->runtime, "mine");
  if (status != EBB_OK && status != EBB_UNKNOWN_NAME) return status;
  status = ebb_filter_unload(w->runtime, "mine");
  return status == EBB_UNKNOWN_NAME ? EBB_OK : status;
}

/* ---- chats ---- */

static ebb_status call_salvage(World *w) {
  return ebb_chat_salvage(w->runtime, w->saved, w->saved_size, &w->other);
}
static ebb_status call_json_to(World *w) { return ebb_chat_json_to(w->chat, tell_piece, w); }
static ebb_status call_write_to(World *w) {
  return ebb_chat_write_to(w->chat, "{\"shape\":\"jsonl\",\"repair\":true}", 31, tell_piece, w);
}

static void note_change(void *user, ebb_chat *chat, unsigned changes) {
  (void)chat;
  tell_bytes(user, &changes, sizeof changes);
}
static ebb_status call_listen(World *w) { return ebb_chat_listen(w->chat, note_change, w); }
static void prepare_listener(World *w) { must_be(w, call_listen(w), "listen"); }
/* The listener is told once, when the call has changed the chat. */
static ebb_status call_heard_trim(World *w) { return trim(w->chat, "keep_recent", "{\"budget\":150}", NULL); }
static ebb_status call_heard_append(World *w) { return append(w->chat, "{\"role\":\"user\",\"content\":\"heard\"}"); }

static void prepare_long_task(World *w) {
  static const char source[] = "local chat = ... for i = 1, 1e6 do end chat:append { role = 'user', content = 'x' }";
  must_be(w, ebb_task_script(w->chat, "s", source, sizeof source - 1, NULL, 0, &w->task), "script");
  ebb_status status = ebb_step(w->runtime, EBB_NO_LIMIT, 1000);
  if (status != EBB_MORE) must_be(w, status, "step");
}
static ebb_status call_stop(World *w) {
  ebb_event event = {.size = sizeof event};
  ebb_status status = ebb_task_limit(w->task, 1000000, EBB_NO_LIMIT);
  ebb_task_stop(w->task);
  if (status == EBB_OK || status == EBB_ARGUMENT) status = ebb_step(w->runtime, EBB_NO_LIMIT, EBB_NO_LIMIT);
  if (status == EBB_OK) status = ebb_next_event(w->runtime, &event);
  return status == EBB_NONE ? EBB_OK : status;
}

static const Call CALLS[] = {
  {.name = "journal", .run = call_journal, .check = check_pages},
  SWEPT(read_journal, prepare_journal),
  {.name = "journal_append", .run = call_journal_append, .prepare = prepare_journal, .check = check_pages},
  {.name = "journal_apply", .run = call_journal_apply, .prepare = prepare_journal, .check = check_pages},
  {.name = "journal_trim", .run = call_journal_trim, .prepare = prepare_journal, .check = check_pages},
  {.name = "journal_mark", .run = call_journal_mark, .prepare = prepare_journal, .check = check_pages},
  {.name = "journal_name", .run = call_journal_name, .prepare = prepare_journal, .check = check_pages},
  {.name = "journal_set", .run = call_journal_set, .prepare = prepare_journal, .check = check_pages},
  {.name = "journal_usage", .run = call_journal_usage, .prepare = prepare_journal, .check = check_pages},
  {.name = "journal_compact", .run = call_journal_compact, .prepare = prepare_journal, .check = check_pages},
  {.name = "journal_forget", .run = call_journal_forget, .prepare = prepare_journal, .check = check_pages},
  {.name = "journal_rollback", .run = call_journal_rollback, .prepare = prepare_journal, .check = check_pages},
  {.name = "journal_window", .run = call_journal_window, .prepare = prepare_journal, .check = check_pages},
  {.name = "pipeline_new", .run = call_pipeline_new, .stride = 7},
  {.name = "pipeline_run", .run = call_pipeline_run, .prepare = prepare_pipeline, .stride = 13},
  SWEPT(task_pipeline, prepare_pipeline),
  {.name = "pipeline_steps", .run = call_pipeline_steps, .prepare = prepare_pipeline_task, .stride = 13},
  SWEPT(vocab, NULL), SWEPT(encode, prepare_vocab), SWEPT(policy_new, NULL), SWEPT(policy_add, prepare_policy),
  SWEPT(unload, prepare_loaded), SWEPT(salvage, NULL), SWEPT(json_to, NULL), SWEPT(write_to, NULL),
  SWEPT(listen, NULL), SWEPT(heard_trim, prepare_listener), SWEPT(heard_append, prepare_listener),
  SWEPT(stop, prepare_long_task),
};

static void every_call_survives(void **state) {
  (void)state;
  build_tiny(&image);
  sweep_calls(CALLS, sizeof CALLS / sizeof *CALLS);
  buffer_free(&image);
}

/* ---- what needs no memory ---- */

static void look_at_chat(ebb_chat *chat) {
  ebb_chat_set_user(chat, chat);
  assert_ptr_equal(ebb_chat_user(chat), chat);
  assert_int_equal(ebb_chat_count(chat), 21);
  assert_true(ebb_chat_tokens(chat) > 0 && ebb_chat_memory(chat) > 0);
  assert_int_equal(ebb_chat_batch(chat) + 1, ebb_chat_batch_count(chat));
  ebb_chat_stream_drop(chat);
}

static void look_at_task(ebb_runtime *runtime, ebb_chat *chat, ebb_task *task) {
  int64_t at;
  ebb_event event = {.size = sizeof event};
  ebb_task_set_user(task, chat);
  assert_ptr_equal(ebb_task_user(task), chat);
  assert_ptr_equal(ebb_task_chat(task), chat);
  assert_ptr_equal(ebb_next_task(chat, NULL), task);
  assert_int_equal(ebb_task_state(task), EBB_TASK_READY);
  assert_int_equal(ebb_next_timer(runtime, &at), EBB_NONE);
  assert_int_equal(ebb_next_event(runtime, &event), EBB_NONE);
  must(ebb_task_limit(task, 5, 5));
  ebb_task_stop(task);
}

/* Each works while no allocation succeeds, and does not ask for one. */
static void some_calls_need_no_memory(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat, *fork;
  ebb_task *task;
  ebb_policy *policy;
  ebb_pipeline *pipeline;
  open_talk(&host, &runtime, &chat, 5);
  must(ebb_chat_fork(chat, &fork));
  must(ebb_task_script(chat, "s", "return 1", 8, NULL, 0, &task));
  must(ebb_policy_new(runtime, "mine", "return function() end", 21, &policy));
  must(ebb_pipeline_new(runtime, NULL, 0, NULL, 0, &pipeline));
  host.heap.calls = 0, host.heap.fail_at = 1;
  assert_int_equal(ebb_api_version(), EBB_API_VERSION);
  assert_string_equal(ebb_version(), EBB_VERSION);
  assert_string_equal(ebb_status_name(EBB_MEMORY), "memory");
  assert_int_equal(ebb_last_error(runtime)->status, EBB_OK);
  assert_true(ebb_runtime_memory(runtime) > 0);
  assert_ptr_equal(ebb_next_chat(runtime, chat), fork);
  look_at_chat(chat);
  look_at_task(runtime, chat, task);
  must(ebb_chat_listen(chat, NULL, NULL));
  ebb_cancel(runtime);
  ebb_uncancel(runtime);
  ebb_task_free(task);
  ebb_policy_free(policy);
  ebb_pipeline_free(pipeline);
  ebb_chat_free(fork);
  ebb_chat_free(chat);
  assert_int_equal(host.heap.calls, 0);
  must(ebb_collect(runtime, EBB_NO_LIMIT, NULL));      /* it may ask, but needs none */
  host_close(&host, runtime);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_call_survives),
                                     cmocka_unit_test(some_calls_need_no_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
