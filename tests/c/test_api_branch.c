/*
** Branches: what tasks and forks do stays apart from their chat until it comes back,
** whatever the host does meanwhile; and what a chat lets go of is given back.
*/
#define _GNU_SOURCE 1 /* memmem */
#include "api_kit.h"
#include "base/buffer.h"

/* A script that appends, asks the host and waits. */
static const char WAITS[] = "local chat = ... chat:append { role = 'assistant', content = 'thinking' } "
                            "return request {}";

static ebb_task *start_script(ebb_runtime *runtime, ebb_chat *chat, const char *source) {
  ebb_task *task;
  must(ebb_task_script(chat, "script", source, strlen(source), NULL, 0, &task));
  return task;
}

static ebb_event run_to(ebb_runtime *runtime, ebb_event_kind kind) {
  ebb_event event = {.size = sizeof event};
  must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
  must(ebb_next_event(runtime, &event));
  if (event.kind != kind) fail_msg("event %d: %s", (int)event.kind, event.json.bytes);
  return event;
}

static ebb_task *start_waiting(ebb_runtime *runtime, ebb_chat *chat, const char *source) {
  ebb_task *task = start_script(runtime, chat, source);
  run_to(runtime, EBB_EVENT_REQUEST);
  return task;
}

static ebb_chat *new_chat(ebb_runtime *runtime, int messages) {
  ebb_chat *chat;
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  for (int i = 0; i < messages; i++) {
    char json[64];
    snprintf(json, sizeof json, "{\"role\":\"user\",\"content\":\"message %d\"}", i);
    must(append(chat, json));
  }
  return chat;
}

static void assert_last(ebb_runtime *runtime, ebb_chat *chat, uint32_t seq, const char *text) {
  ebb_message message = {.size = sizeof message};
  must(ebb_chat_message(chat, ebb_chat_count(chat) - 1, &message));
  assert_int_equal(message.seq, seq);
  assert_string_equal(message.text.bytes, text);
}

/* What is saved loads, to an equal digest. */
static size_t assert_saves(ebb_runtime *runtime, ebb_chat *chat) {
  ebb_text saved;
  ebb_chat *loaded;
  char digest[65], again[65];
  must(ebb_chat_save(chat, &saved));
  char *copy = malloc(saved.size);
  size_t size = saved.size;
  memcpy(copy, saved.bytes, size);
  must(ebb_chat_load(runtime, copy, size, &loaded));
  must(ebb_chat_digest(chat, digest));
  must(ebb_chat_digest(loaded, again));
  assert_string_equal(digest, again);
  ebb_chat_free(loaded);
  free(copy);
  return size;
}

/* ---- tasks that overlap ---- */

static void tasks_that_end_in_any_order_lose_no_message(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  host_open(&host, &runtime);
  for (int order = 0; order < 2; order++) {
    ebb_chat *chat = new_chat(runtime, 2);
    ebb_task *a = start_waiting(runtime, chat, WAITS), *b;
    if (order == 0) ebb_task_free(a);
    b = start_waiting(runtime, chat, WAITS);
    must(append(chat, "{\"role\":\"user\",\"content\":\"THE WORDS\"}"));
    ebb_task_free(b);
    if (order == 1) ebb_task_free(a);
    assert_last(runtime, chat, 3, "THE WORDS");
    must(append(chat, "{\"role\":\"user\",\"content\":\"more\"}"));
    assert_last(runtime, chat, 4, "more");
    assert_saves(runtime, chat);
    ebb_chat_free(chat);
  }
  host_close(&host, runtime);
}

static void tasks_on_forks_lose_no_message(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *fork;
  host_open(&host, &runtime);
  ebb_chat *chat = new_chat(runtime, 2);
  must(ebb_chat_fork(chat, &fork));
  ebb_task *a = start_waiting(runtime, chat, WAITS), *b = start_waiting(runtime, fork, WAITS);
  ebb_task_free(a);
  must(append(chat, "{\"role\":\"user\",\"content\":\"here\"}"));
  must(append(fork, "{\"role\":\"user\",\"content\":\"there\"}"));
  ebb_task_free(b);
  assert_last(runtime, chat, 3, "here");
  assert_last(runtime, fork, 3, "there");
  assert_saves(runtime, chat);
  assert_saves(runtime, fork);
  host_close(&host, runtime);
}

/* ---- windows ---- */

static void a_window_changed_while_a_task_waits_saves_and_loads(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  host_open(&host, &runtime);
  for (int ending = 0; ending < 4; ending++) {
    ebb_chat *chat = new_chat(runtime, 1);
    must(ebb_window_open(chat, "todo", "{\"content\":\"tea\"}", 17));
    ebb_task *task = start_waiting(runtime, chat, ending == 2 ? "local chat = ... chat:append { role = 'user', "
                                   "content = 'x' } request {} error 'no'" : WAITS);
    if (ending == 1) must(ebb_window_close(chat, "todo", NULL));
    else must(ebb_window_update(chat, "todo", "{\"content\":\"milk\"}", 18));
    if (ending == 0) must(ebb_task_cancel(task));
    if (ending >= 2) must(ebb_answer(task, "1", 1));
    if (ending >= 2) run_to(runtime, ending == 2 ? EBB_EVENT_FAILED : EBB_EVENT_DONE);
    if (ending != 0) ebb_task_free(task);
    assert_saves(runtime, chat);
    ebb_chat_free(chat);
  }
  host_close(&host, runtime);
}

/* ---- forgetting and pruning ---- */

static const char *message_text(ebb_runtime *runtime, ebb_chat *chat, uint32_t index) {
  static char text[64];
  ebb_message message = {.size = sizeof message};
  must(ebb_chat_message(chat, index, &message));
  snprintf(text, sizeof text, "%s", message.text.bytes);
  return text;
}

static void what_a_task_forgets_is_forgotten_when_it_commits(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  static const char *const scripts[] = {
    "local chat = ... chat:forget(2) request {}", "local chat = ... chat:forget(2) request {} error 'x'",
    "local chat = ... chat:forget(2) chat:append { role = 'user', content = 'n' } request {}"};
  host_open(&host, &runtime);
  for (int i = 0; i < 3; i++) {
    for (int grows = 0; grows < 2; grows++) {
      ebb_chat *chat = new_chat(runtime, 3);
      ebb_task *task = start_waiting(runtime, chat, scripts[i]);
      assert_string_equal(message_text(runtime, chat, 1), "message 1");
      if (grows) must(append(chat, "{\"role\":\"user\",\"content\":\"later\"}"));
      must(ebb_answer(task, "1", 1));
      run_to(runtime, i == 1 ? EBB_EVENT_FAILED : EBB_EVENT_DONE);
      ebb_task_free(task);
      if (i == 1) assert_string_equal(message_text(runtime, chat, 1), "message 1");
      else assert_null(strstr(message_text(runtime, chat, 1), "message"));
      assert_int_equal(ebb_chat_count(chat), 3 + (i == 2) + grows);
      assert_saves(runtime, chat);
      ebb_chat_free(chat);
    }
  }
  host_close(&host, runtime);
}

static void what_a_task_prunes_goes_when_it_commits(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  host_open(&host, &runtime);
  for (int fails = 0; fails < 2; fails++) {
    ebb_chat *chat = new_chat(runtime, 200);
    must(apply(chat, "{\"operation\":\"truncate\",\"keepLast\":5}"));
    size_t before = assert_saves(runtime, chat);
    static const char *const scripts[] = {"local chat = ... local n = chat:prune { keep = 1 } request {} return n",
                                          "local chat = ... chat:prune { keep = 1 } request {} error 'x'"};
    ebb_task *task = start_waiting(runtime, chat, scripts[fails]);
    must(append(chat, "{\"role\":\"user\",\"content\":\"meanwhile\"}"));
    must(ebb_answer(task, "1", 1));
    run_to(runtime, fails ? EBB_EVENT_FAILED : EBB_EVENT_DONE);
    ebb_task_free(task);
    assert_last(runtime, chat, 201, "meanwhile");
    size_t after = assert_saves(runtime, chat);
    if (fails) assert_true(after > before);
    else assert_true(after < before / 4);
    ebb_chat_free(chat);
  }
  host_close(&host, runtime);
}

/* Nothing was there before the task, so that the chat takes over all that it left. */
static void a_task_prunes_what_it_added_to_an_empty_chat(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  host_open(&host, &runtime);
  ebb_chat *chat = new_chat(runtime, 0);
  ebb_task *task = start_script(runtime, chat, "local chat = ... chat:append { role = 'user', content = 'dropped' } "
                                               "chat:append { role = 'user', content = 'kept' } "
                                               "chat:truncate { keep_last = 1 } chat:prune { keep = 1 }");
  run_to(runtime, EBB_EVENT_DONE);
  ebb_task_free(task);
  assert_int_equal(ebb_chat_count(chat), 1);
  assert_last(runtime, chat, 2, "kept");
  must(append(chat, "{\"role\":\"user\",\"content\":\"next\"}"));
  assert_last(runtime, chat, 3, "next");
  assert_saves(runtime, chat);
  ebb_chat_free(chat);
  host_close(&host, runtime);
}

/* A task that prunes has copies of all texts. */
static void what_the_host_forgets_does_not_come_back_with_a_task(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  host_open(&host, &runtime);
  ebb_chat *chat = new_chat(runtime, 8);
  must(apply(chat, "{\"operation\":\"truncate\",\"keepLast\":5}"));
  ebb_task *task = start_waiting(runtime, chat, "local chat = ... chat:prune { keep = 1 } request {}");
  must(ebb_chat_forget(chat, 2));
  must(ebb_answer(task, "1", 1));
  run_to(runtime, EBB_EVENT_DONE);
  assert_null(strstr(message_text(runtime, chat, 2), "message"));
  assert_string_equal(message_text(runtime, chat, 3), "message 6");
  host_close(&host, runtime);
}

/* A host's journal: the last record alone. */
static ebb_status keep_record(void *user, const void *record, size_t size) {
  Buffer *buffer = user;
  buffer_reset(buffer);
  assert_int_equal(buffer_add(buffer, record, size), STATUS_OK);
  return EBB_OK;
}

static bool has_secret(const char *bytes, size_t size) { return memmem(bytes, size, "ZQX7", 4) != NULL; }

static bool saves_secret(ebb_runtime *runtime, ebb_chat *chat) {
  ebb_text saved;
  must(ebb_chat_save(chat, &saved));
  return has_secret(saved.bytes, saved.size);
}

/* A policy that keeps all that it drops, in its memory, its notes and reasons, and inserts it. */
static const char TALKATIVE[] =
    "return { name = 'talkative', trim = function(draft, budget)\n"
    "  local said = {}\n"
    "  for message in draft:messages { role = 'user', skip_last = 1 } do\n"
    "    said[#said + 1] = message.text draft.memory[#said] = message.text draft:note(message.text)\n"
    "    draft:drop(message, 'was ' .. message.text)\n"
    "  end\n"
    "  draft:insert(1, { role = 'user', content = table.concat(said, '; ') }, 'note')\n"
    "end }";

static void what_a_policy_kept_is_forgotten_with_the_message(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *fork;
  Buffer record;
  host_open(&host, &runtime);
  buffer_init(&record, memory_system());
  must(load_policy(runtime, "talkative", TALKATIVE));
  ebb_chat *chat = new_chat(runtime, 1);
  must(append(chat, "{\"role\":\"user\",\"content\":\"ZQX7-one\",\"name\":\"ZQX7\"}"));
  must(append(chat, "{\"role\":\"user\",\"content\":\"the last\"}"));
  must(trim(chat, "talkative", "{\"budget\":4000}", NULL));
  must(ebb_chat_fork(chat, &fork));
  must(ebb_chat_rollback(chat, 0));
  assert_true(saves_secret(runtime, chat) && saves_secret(runtime, fork));
  must(ebb_chat_journal(chat, keep_record, &record, 0));
  assert_true(has_secret(record.bytes, record.size));
  must(ebb_chat_forget(chat, 1));
  assert_false(has_secret(record.bytes, record.size));
  assert_false(saves_secret(runtime, chat) || saves_secret(runtime, fork));
  assert_saves(runtime, chat);
  buffer_free(&record);
  host_close(&host, runtime);
}

/* A trim that read the message before has texts of it in its memory, its notes and what it inserts. */
static void a_trim_that_runs_meanwhile_does_not_keep_what_is_forgotten(void **state) {
  (void)state;
  static const char before[] = "local chat = ... local done, why = chat:trim { budget = 4000, policy = ",
                    behind[] = " } chat:append { role = 'user', content = done and 'done' or why.code } ";
  char script[1500];
  Host host;
  ebb_runtime *runtime;
  host_open(&host, &runtime);
  must(load_policy(runtime, "talkative", TALKATIVE));
  ebb_chat *chat = new_chat(runtime, 1);
  must(append(chat, "{\"role\":\"user\",\"content\":\"ZQX7-one\"}"));
  must(append(chat, "{\"role\":\"user\",\"content\":\"the last\"}"));
  must(trim(chat, "talkative", "{\"budget\":4000}", NULL));      /* another policy than the one that runs */
  must(ebb_chat_rollback(chat, 0));
  int size = snprintf(script, sizeof script, "%s%s%s", before, TALKATIVE + strlen("return "), behind);
  char *end = strstr(script, "  draft:insert"), *slow = strstr(script, "'talkative'");
  memcpy(slow, "'slow     '", 11);
  memmove(end + 27, end, (size_t)(size - (end - script) + 1));
  memcpy(end, "  for _ = 1, 100000 do end\n", 27);
  ebb_task *task = start_script(runtime, chat, script);
  for (int i = 0; i < 10; i++) assert_int_equal(ebb_step(runtime, EBB_NO_LIMIT, 5000), EBB_MORE);
  must(ebb_chat_forget(chat, 1));
  run_to(runtime, EBB_EVENT_DONE);
  ebb_task_free(task);
  assert_false(saves_secret(runtime, chat));
  assert_last(runtime, chat, 5, "conflict");
  host_close(&host, runtime);
}

static void a_chat_gives_its_memory_back(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  uint32_t removed;
  ebb_text json;
  host_open(&host, &runtime);
  ebb_chat *chat = new_chat(runtime, 3000);
  size_t full = ebb_chat_memory(chat);
  must(ebb_chat_mark(chat, 2995, "pinned"));
  must(apply(chat, "{\"operation\":\"truncate\",\"keepLast\":10}"));
  must(append(chat, "{\"role\":\"user\",\"content\":\"newest\"}"));
  must(ebb_chat_checkpoint(chat, "here"));
  must(ebb_chat_compact(chat, 1, &removed));
  must(ebb_chat_batches(chat, &json));
  assert_non_null(strstr(json.bytes, "\"removed\":true"));
  assert_int_equal(removed, 2990);
  assert_true(ebb_chat_memory(chat) < full / 20);
  assert_last(runtime, chat, 3001, "newest");
  assert_true(assert_saves(runtime, chat) < 3000);
  refused(ebb_chat_rollback(chat, 0), EBB_OUT_OF_RANGE, "batch 0");
  must(ebb_chat_compact(chat, 1, &removed));
  assert_int_equal(removed, 0);
  must(append(chat, "{\"role\":\"user\",\"content\":\"next\"}"));
  assert_last(runtime, chat, 3002, "next");
  refused(ebb_chat_forget(chat, 12), EBB_OUT_OF_RANGE, "the chat has 12");
  must(ebb_chat_forget(chat, 11));
  assert_saves(runtime, chat);
  host_close(&host, runtime);
}

/* A chat at its limit takes appends again once it was compacted. */
static void a_full_chat_takes_messages_again(void **state) {
  (void)state;
  Host host = {.now = 1};
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_config config = host_config(&host);
  config.chat_memory = 1 << 20;
  assert_int_equal(ebb_runtime_new(&config, &runtime), EBB_OK);
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  while (append(chat, "{\"role\":\"user\",\"content\":\"how many of these does a chat hold?\"}") == EBB_OK) {}
  assert_int_equal(ebb_last_error(runtime)->status, EBB_MEMORY);
  must(apply(chat, "{\"operation\":\"truncate\",\"keepLast\":5}"));
  must(ebb_chat_compact(chat, 1, NULL));
  for (int i = 0; i < 100; i++) must(append(chat, "{\"role\":\"user\",\"content\":\"more\"}"));
  host_close(&host, runtime);
}

/* ---- forks ---- */

static void what_forks_add_is_not_in_their_parent(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  char before[65], after[65], kilobyte[1200];
  host_open(&host, &runtime);
  ebb_chat *chat = new_chat(runtime, 10), *forks[50];
  memset(kilobyte, 'x', sizeof kilobyte);
  memcpy(kilobyte, "{\"role\":\"user\",\"content\":\"", 26);
  memcpy(kilobyte + sizeof kilobyte - 3, "\"}", 3);
  must(ebb_chat_digest(chat, before));
  size_t saved = assert_saves(runtime, chat), held = ebb_chat_memory(chat);
  for (int i = 0; i < 500; i++) {
    must(ebb_chat_fork(chat, &forks[0]));
    must(append(forks[0], kilobyte));
    ebb_chat_free(forks[0]);
  }
  assert_true(ebb_chat_memory(chat) <= held + 64);
  for (int i = 0; i < 50; i++) {
    must(ebb_chat_fork(chat, &forks[i]));
    must(append(forks[i], kilobyte));
  }
  must(ebb_chat_digest(chat, after));
  assert_string_equal(before, after);
  assert_int_equal(assert_saves(runtime, chat), saved);
  assert_in_range(assert_saves(runtime, forks[49]), saved + sizeof kilobyte - 10, saved + sizeof kilobyte + 20);
  must(append(chat, "{\"role\":\"user\",\"content\":\"next\"}"));
  assert_last(runtime, chat, 11, "next");
  host_close(&host, runtime);
}

/* Each fork goes on where the last one was, which is freed: as many times as one likes. */
static void a_long_line_of_forks_costs_what_is_in_it(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  host_open(&host, &runtime);
  ebb_chat *chat = new_chat(runtime, 1), *next;
  for (int i = 0; i < 3000; i++) {
    must(ebb_chat_fork(chat, &next));
    ebb_chat_free(chat);
    chat = next;
    if (i % 3 == 0) must(append(chat, "{\"role\":\"user\",\"content\":\"and on\"}"));
  }
  assert_int_equal(ebb_chat_count(chat), 1001);
  assert_last(runtime, chat, 1001, "and on");
  assert_true(ebb_chat_memory(chat) < 1001 * 2000);
  host_close(&host, runtime);
}

/* ---- what makes no conflict ---- */

static void marks_and_checkpoints_of_both_are_kept(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  host_open(&host, &runtime);
  for (int grows = 0; grows < 2; grows++) {
    ebb_chat *chat = new_chat(runtime, 3);
    must(ebb_chat_mark(chat, 0, "old"));
    ebb_task *task = start_waiting(runtime, chat,
                                   "local chat = ... chat:unmark(1, 'old') chat:mark(2, 'theirs') chat:checkpoint 'one' "
                                   "chat:append { role = 'assistant', content = 'done' } chat:mark(4, 'theirs') "
                                   "chat:checkpoint 'two' request {}");
    must(ebb_chat_mark(chat, 2, "ours"));
    must(ebb_chat_checkpoint(chat, "before the fight"));
    if (grows) must(append(chat, "{\"role\":\"user\",\"content\":\"later\"}"));
    must(ebb_answer(task, "1", 1));
    run_to(runtime, EBB_EVENT_DONE);
    ebb_task_free(task);
    task = start_script(runtime, chat, "local chat = ... local function texts(name) local list = {} "
                        "for i, message in ipairs(chat:marked(name)) do list[i] = message.text end "
                        "return table.concat(list, ',') end "
                        "return texts 'old' .. ';' .. texts 'theirs' .. ';' .. texts 'ours'");
    assert_string_equal(run_to(runtime, EBB_EVENT_DONE).json.bytes, "\";message 1,done;message 2\"");
    ebb_task_free(task);
    must(ebb_chat_rollback_to(chat, "before the fight"));
    assert_int_equal(ebb_chat_count(chat), 3);
    must(ebb_chat_rollback_to(chat, "two"));
    assert_string_equal(message_text(runtime, chat, 3), "done");
    must(ebb_chat_rollback_to(chat, "one"));
    assert_int_equal(ebb_chat_count(chat), 3);
    refused(ebb_chat_rollback_to(chat, "nowhere"), EBB_UNKNOWN_NAME, "no checkpoint \"nowhere\"");
    assert_saves(runtime, chat);
    ebb_chat_free(chat);
  }
  host_close(&host, runtime);
}

/* A policy that drops nothing, and counts how often it ran. */
static void trim_by(ebb_runtime *runtime, ebb_chat *chat, const char *policy) {
  must(ebb_chat_trim(chat, policy, "{\"budget\":100000}", 17, NULL));
}

static const struct MemoryRow {
  const char *shows, *host, *task;
  const char *memory;        /* at the end, as a save says; NULL: a conflict */
  uint32_t count;
} memory_rows[] = {
  {"an append", "ours", "chat:append(said)", "{\"both\":{\"n\":1},\"ours\":{\"n\":1}}", 4},
  {"another name", "ours", "by 'theirs'", "{\"both\":{\"n\":1},\"ours\":{\"n\":1},\"theirs\":{\"n\":1}}", 3},
  {"a name of both that the task alone counts on", "ours", "by 'both' by 'both'",
   "{\"both\":{\"n\":3},\"ours\":{\"n\":1}}", 3},
  {"a name of both that the chat alone counts on", "both", "by 'theirs'",
   "{\"both\":{\"n\":2},\"theirs\":{\"n\":1}}", 3},
  {"a batch, and another name", "ours", "chat:truncate { keep_last = 2 } by 'theirs'",
   "{\"both\":{\"n\":1},\"ours\":{\"n\":1},\"theirs\":{\"n\":1}}", 2},
  {"both append", "ours append", "chat:append(said) by 'theirs'",
   "{\"both\":{\"n\":1},\"ours\":{\"n\":1},\"theirs\":{\"n\":1}}", 5},
  {"the chat appends", "ours append", "chat:truncate { keep_last = 2 } by 'theirs'",
   "{\"both\":{\"n\":1},\"ours\":{\"n\":1},\"theirs\":{\"n\":1}}", 3},
  {"the chat is cut", "ours truncate", "by 'theirs'",
   "{\"both\":{\"n\":1},\"ours\":{\"n\":1},\"theirs\":{\"n\":1}}", 1},
  {"both count on one name alike", "ours", "by 'ours'", "{\"both\":{\"n\":1},\"ours\":{\"n\":1}}", 3},
  {"both count on one name", "ours", "by 'ours' by 'ours'", NULL, 3},
  {"one that was there", "both", "chat:append(said) by 'both' by 'both'", NULL, 3},
  {"a chat that was rolled back", "rollback", "by 'theirs'", NULL, 5},
};

static void host_does(ebb_runtime *runtime, ebb_chat *chat, const char *words) {
  if (strstr(words, "ours") != NULL) trim_by(runtime, chat, "ours");
  if (strstr(words, "both") != NULL) trim_by(runtime, chat, "both");
  if (strstr(words, "append") != NULL) must(append(chat, "{\"role\":\"user\",\"content\":\"later\"}"));
  if (strstr(words, "truncate") != NULL) must(apply(chat, "{\"operation\":\"truncate\",\"keepLast\":1}"));
  if (strstr(words, "rollback") != NULL) must(ebb_chat_rollback(chat, 0));
}

/* The last memory that a save of the chat's current batch speaks of. */
static void assert_remembers(ebb_runtime *runtime, ebb_chat *chat, const struct MemoryRow *row) {
  ebb_text saved;
  ebb_chat *sole;
  must(ebb_chat_fork(chat, &sole));
  must(apply(sole, "{\"operation\":\"truncate\",\"keepLast\":0}"));
  must(ebb_chat_compact(sole, 1, NULL));
  must(ebb_chat_save(sole, &saved));
  const char *found = strstr(saved.bytes, "\"both\":{"), *wanted = row->memory + 1;
  if (strstr(saved.bytes, wanted) == NULL) fail_msg("%s: %s", row->shows, found == NULL ? saved.bytes : found);
  ebb_chat_free(sole);
}

static ebb_chat *chat_that_remembers(ebb_runtime *runtime) {
  ebb_chat *chat = new_chat(runtime, 5);
  must(apply(chat, "{\"operation\":\"truncate\",\"keepLast\":3}"));
  trim_by(runtime, chat, "both");
  return chat;
}

/* A batch that only remembers is in nobody's way. */
static void what_both_remember_is_kept(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  static const char counts[] = "return function(draft) draft.memory.n = (draft.memory.n or 0) + 1 end";
  host_open(&host, &runtime);
  must(load_policy(runtime, "ours", counts));
  must(load_policy(runtime, "both", counts));
  for (size_t i = 0; i < sizeof memory_rows / sizeof *memory_rows; i++) {
    const struct MemoryRow *row = &memory_rows[i];
    char source[600];
    ebb_event event = {.size = sizeof event};
    ebb_chat *chat = chat_that_remembers(runtime);
    snprintf(source, sizeof source, "local chat = ... local said = { role = 'assistant', content = 'done' } "
             "local function count(draft) draft.memory.n = (draft.memory.n or 0) + 1 end "
             "local function by(name) chat:trim { budget = 100000, policy = { name = name, trim = count } } end "
             "%s request {}", row->task);
    ebb_task *task = start_waiting(runtime, chat, source);
    host_does(runtime, chat, row->host);
    must(ebb_answer(task, "1", 1));
    must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
    must(ebb_next_event(runtime, &event));
    ebb_status wanted = row->memory == NULL ? EBB_CONFLICT : EBB_OK;
    if (event.status != wanted) fail_msg("%s: %d: %s", row->shows, (int)event.status, event.json.bytes);
    assert_int_equal(ebb_chat_count(chat), row->count);
    if (row->memory != NULL) assert_remembers(runtime, chat, row);
    assert_saves(runtime, chat);
    ebb_task_free(task);
    ebb_chat_free(chat);
  }
  host_close(&host, runtime);
}

static void a_task_that_reads_is_never_in_conflict(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  host_open(&host, &runtime);
  ebb_chat *chat = new_chat(runtime, 6);
  ebb_task *task = start_waiting(runtime, chat, "local chat = ... request {} return #chat");
  must(apply(chat, "{\"operation\":\"truncate\",\"keepLast\":2}"));
  must(ebb_chat_compact(chat, 1, NULL));
  must(ebb_answer(task, "1", 1));
  assert_string_equal(run_to(runtime, EBB_EVENT_DONE).json.bytes, "6");
  assert_int_equal(ebb_chat_count(chat), 2);
  host_close(&host, runtime);
}

static void checkpoints_lead_back(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_text json;
  host_open(&host, &runtime);
  ebb_chat *chat = new_chat(runtime, 3);
  must(ebb_chat_checkpoint(chat, "before the fight"));
  must(append(chat, "[{\"role\":\"user\",\"content\":\"hit\"},{\"role\":\"user\",\"content\":\"run\"}]"));
  must(ebb_chat_batches(chat, &json));
  assert_non_null(strstr(json.bytes, "\"name\":\"before the fight\",\"nameLength\":3"));
  must(ebb_chat_rollback_to(chat, "before the fight"));
  assert_int_equal(ebb_chat_count(chat), 3);
  must(ebb_chat_rollback(chat, 0));
  assert_int_equal(ebb_chat_count(chat), 5);
  must(apply(chat, "{\"operation\":\"rollback\",\"rollback\":{\"checkpoint\":\"before the fight\"}}"));
  assert_int_equal(ebb_chat_count(chat), 3);
  host_close(&host, runtime);
}

/* ---- older batches that grew ---- */

/* Two batches: 0 with "a", "b", and 1 with "b" alone. */
static void open_two_batches(Host *host, ebb_runtime **opened, ebb_chat **chat) {
  host_open(host, opened);
  ebb_runtime *runtime = *opened;
  must(ebb_chat_new(runtime, NULL, 0, chat));
  must(append(*chat, "[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"user\",\"content\":\"b\"}]"));
  must(apply(*chat, "{\"operation\":\"truncate\",\"keepLast\":1}"));
}

/* A task that goes back, appends there and returns has changed a list, whatever came behind the newest one. */
static void what_a_task_appends_to_an_older_batch_stays(void **state) {
  (void)state;
  static const char source[] = "local chat = ... request {} chat:rollback(0)\n"
                               "chat:append { role = 'user', content = 'back there' } chat:checkpoint 'back'\n"
                               "chat:rollback(1)";
  for (int meanwhile = 0; meanwhile <= 1; meanwhile++) {
    Host host;
    ebb_runtime *runtime;
    ebb_chat *chat;
    ebb_event event = {.size = sizeof event};
    ebb_message message = {.size = sizeof message};
    open_two_batches(&host, &runtime, &chat);
    ebb_task *task = start_waiting(runtime, chat, source);
    must(ebb_answer(task, "1", 1));
    if (meanwhile) must(append(chat, "{\"role\":\"user\",\"content\":\"c\"}"));
    must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
    must(ebb_next_event(runtime, &event));
    assert_int_equal(event.kind, EBB_EVENT_DONE);
    ebb_task_free(task);
    assert_int_equal(ebb_chat_batch(chat), 1);
    assert_int_equal(ebb_chat_count(chat), 1 + meanwhile);
    must(ebb_chat_rollback_to(chat, "back"));
    assert_int_equal(ebb_chat_batch(chat), 0);
    assert_int_equal(ebb_chat_count(chat), 3);
    must(ebb_chat_message(chat, 2, &message));
    assert_string_equal(message.text.bytes, "back there");
    host_close(&host, runtime);
  }
}

/* The same by the host, while a task edits a list: the task gives way. */
/* The task's truncate is undone in a batch that has all messages of both. */
static void what_a_task_appended_is_there_when_its_edit_is_undone(void **state) {
  (void)state;
  static const char script[] = "local chat = ... chat:append { role = 'user', content = 'task' } "
                               "chat:truncate { keep_last = 1 }";
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_task *task;
  ebb_text json;
  host_open(&host, &runtime);
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  must(append(chat, "[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"user\",\"content\":\"b\"}]"));
  must(ebb_task_script(chat, "s", script, sizeof script - 1, NULL, 0, &task));
  must(append(chat, "{\"role\":\"user\",\"content\":\"late\"}"));
  must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
  assert_int_equal(ebb_task_state(task), EBB_TASK_DONE);
  assert_int_equal(ebb_chat_batch(chat), 2);
  assert_int_equal(ebb_chat_count(chat), 2);
  must(ebb_chat_batches(chat, &json));
  assert_non_null(strstr(json.bytes, "\"parent\":1,\"parentLength\":4"));
  must(ebb_chat_rollback(chat, 1));
  assert_int_equal(ebb_chat_count(chat), 4);
  assert_last(runtime, chat, 3, "late");
  assert_saves(runtime, chat);
  host_close(&host, runtime);
}

static void what_a_host_appends_to_an_older_batch_stays(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_event event = {.size = sizeof event};
  open_two_batches(&host, &runtime, &chat);
  ebb_task *task = start_waiting(runtime, chat,
                                 "local chat = ... request {} chat:insert(1, { role = 'user', content = 'x' })");
  must(ebb_answer(task, "1", 1));
  must(ebb_chat_rollback(chat, 0));
  must(append(chat, "{\"role\":\"user\",\"content\":\"back there\"}"));
  must(ebb_chat_rollback(chat, 1));
  must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
  must(ebb_next_event(runtime, &event));
  assert_int_equal(event.status, EBB_CONFLICT);
  ebb_task_free(task);
  must(ebb_chat_rollback(chat, 0));
  assert_int_equal(ebb_chat_count(chat), 3);
  host_close(&host, runtime);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(tasks_that_end_in_any_order_lose_no_message),
    cmocka_unit_test(tasks_on_forks_lose_no_message),
    cmocka_unit_test(a_window_changed_while_a_task_waits_saves_and_loads),
    cmocka_unit_test(what_a_task_forgets_is_forgotten_when_it_commits),
    cmocka_unit_test(what_a_task_prunes_goes_when_it_commits),
    cmocka_unit_test(a_task_prunes_what_it_added_to_an_empty_chat),
    cmocka_unit_test(a_trim_that_runs_meanwhile_does_not_keep_what_is_forgotten),
    cmocka_unit_test(what_a_policy_kept_is_forgotten_with_the_message),
    cmocka_unit_test(what_the_host_forgets_does_not_come_back_with_a_task),
    cmocka_unit_test(a_chat_gives_its_memory_back),
    cmocka_unit_test(a_full_chat_takes_messages_again),
    cmocka_unit_test(what_forks_add_is_not_in_their_parent),
    cmocka_unit_test(a_long_line_of_forks_costs_what_is_in_it),
    cmocka_unit_test(marks_and_checkpoints_of_both_are_kept),
    cmocka_unit_test(what_both_remember_is_kept),
    cmocka_unit_test(a_task_that_reads_is_never_in_conflict),
    cmocka_unit_test(checkpoints_lead_back),
    cmocka_unit_test(what_a_task_appends_to_an_older_batch_stays),
    cmocka_unit_test(what_a_host_appends_to_an_older_batch_stays),
    cmocka_unit_test(what_a_task_appended_is_there_when_its_edit_is_undone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
