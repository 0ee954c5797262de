/*
** Saves that were changed by accident or by hand: a load refuses them, or all that
** follows works. MUTATIONS=n (3000) sets how many are tried, SEED=n repeats a run.
**
** A mutation changes bytes, or a value of the JSON for another one of the save or for
** one of a list of odd ones: that reaches further than bytes, which mostly end as
** syntax errors.
*/
#include "api_kit.h"

static uint32_t seed = 1;

static uint32_t any(uint32_t below) {
  seed = seed * 1664525u + 1013904223u;
  return (uint32_t)((uint64_t)seed * below >> 32);
}

/* ---- a chat with everything in it ---- */

static const char *const REMEMBERING =
  "return { options = { step = { type = 'integer', default = 2 } },\n"
  "trim = function(draft, budget, options)\n"
  "local m = draft.memory for i = #m, 1, -1 do m[i] = nil end m.runs = (math.tointeger(m.runs) or 0) + options.step m.list = { 1, 2.5, 'x', { deep = true } }\n"
  "draft:note('run ' .. m.runs) draft:drop_oldest { to = budget } end }";

static void talk_and_trim(ebb_runtime *runtime, ebb_chat *chat, const char *policy, int percent) {
  char options[60];
  talk(runtime, chat, 2);
  unsigned long long budget = 200 + ebb_chat_tokens(chat) * (unsigned)percent / 100;      /* windows weigh too */
  snprintf(options, sizeof options, "{\"budget\":%llu}", budget);
  must(trim(chat, policy, options, NULL));
}

static void edit_everything(ebb_runtime *runtime, ebb_chat *chat) {
  static const char window[] = "{\"description\":\"what to do\",\"content\":[\"list\",[\"item\",{\"id\":1},\"tea\"]],"
                               "\"actions\":[{\"id\":\"buy\",\"label\":\"Buy\",\"params\":\"n:int, what:string?\"}]}";
  static const char script[] = "local chat = ... chat:report_usage { prompt_tokens = 900 }";
  ebb_task *task;
  ebb_event event = {.size = sizeof event};
  talk(runtime, chat, 4);
  must(ebb_window_open(chat, "todo", window, strlen(window)));
  must(ebb_window_open(chat, "old", "{\"content\":\"gone\"}", 18));
  talk_and_trim(runtime, chat, "remembering", 90);
  must(apply(chat, "[{\"operation\":\"insert\",\"position\":1,\"messages\":[{\"role\":\"user\",\"content\":\"put\"}]},"
                   "{\"operation\":\"replace\",\"index\":2,\"message\":{\"role\":\"user\",\"content\":\"new\"}}]"));
  must(ebb_window_update(chat, "todo", "{\"content\":\"milk\"}", 18));
  must(ebb_window_close(chat, "old", "it was old"));
  must(ebb_chat_mark(chat, 1, "pinned"));
  must(ebb_chat_mark(chat, 2, "mine"));
  must(ebb_chat_checkpoint(chat, "here"));
  talk_and_trim(runtime, chat, "stable_prefix", 90);
  must(ebb_chat_rollback(chat, 1));
  must(ebb_task_script(chat, "usage", script, strlen(script), NULL, 0, &task));
  must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
  must(ebb_next_event(runtime, &event));
  assert_int_equal(event.kind, EBB_EVENT_DONE);
  ebb_task_free(task);
  talk_and_trim(runtime, chat, "stable_prefix", 90);
  talk_and_trim(runtime, chat, "[\"remembering\",\"stable_prefix\"]", 90);
  must(ebb_window_open(chat, "shop", window, strlen(window)));      /* its item is seen in the end */
}

static const char TOOLS_OPTIONS[] =
  "{\"encoding\":\"bytes4\",\"limit\":500,\"tools\":[{\"name\":\"rooms\",\"description\":\"free rooms\"}],"
  "\"toolsHeading\":\"Tools:\"}";

static char *save_of(ebb_runtime *runtime, const char *options, size_t *size) {
  ebb_chat *chat;
  ebb_text saved;
  must(ebb_chat_new(runtime, options, strlen(options), &chat));
  edit_everything(runtime, chat);
  must(ebb_chat_save(chat, &saved));
  char *copy = malloc(saved.size + 1);
  assert_non_null(copy);
  memcpy(copy, saved.bytes, saved.size + 1);
  *size = saved.size;
  ebb_chat_free(chat);
  return copy;
}

/* ---- mutations ---- */

typedef struct Span {
  size_t start, size;
} Span;

enum { VALUES = 4000, TEXT = 60000 };

typedef struct Mutant {
  const char *original;      /* a save, and where values begin and end in it */
  size_t original_size;
  Span values[VALUES];
  uint32_t value_count;
  char text[TEXT];
  size_t size;
} Mutant;

static size_t end_of_string(const char *text, size_t at) {
  for (at++; text[at] != '"'; at++) at += text[at] == '\\';
  return at + 1;
}

/* The end of the value at `at`; notes it, and the keys and values in it. */
static size_t find_values(Mutant *mutant, size_t at) {
  const char *text = mutant->original;
  size_t start = at;
  uint32_t slot = mutant->value_count++;
  assert_true(slot < VALUES);
  if (text[at] == '"') {
    at = end_of_string(text, at);
  } else if (text[at] == '{' || text[at] == '[') {
    for (at++; text[at] != '}' && text[at] != ']';) {
      if (strchr(",: \n", text[at]) != NULL) at++;
      else at = find_values(mutant, at);
    }
    at++;
  } else {
    while (strchr(",:]} \n", text[at]) == NULL) at++;
  }
  mutant->values[slot] = (Span){.start = start, .size = at - start};
  return at;
}

/* One in three of the last quarter, where windows, calibration and memories are. */
static Span any_value(const Mutant *mutant) {
  uint32_t count = mutant->value_count;
  return mutant->values[any(3) == 0 ? count - 1 - any(count / 4) : any(count)];
}

static void put(Mutant *mutant, size_t at, size_t removed, const char *bytes, size_t size) {
  assert_true(at + removed <= mutant->size && mutant->size - removed + size < TEXT);
  memmove(mutant->text + at + size, mutant->text + at + removed, mutant->size - at - removed);
  memcpy(mutant->text + at, bytes, size);
  mutant->size = mutant->size - removed + size;
}

static void change_value(Mutant *mutant) {
  static const char *const odd[] = {"0", "-1", "1", "2", "3", "7", "1.5", "1e3", "1e400", "4294967295", "4294967296",
                                    "9007199254740993", "99999999999999999999", "-0", "null", "true", "false", "\"\"",
                                    "\"1\"", "\"pinned\"", "\"\\u0000\"", "\"\\ud83d\\ude00\"", "[]", "{}", "[1]",
                                    "{\"1\":1}", "[[]]", "{\"a\":null}", "\"window\"", "[null]", "\"5\"",
                                    "\"null\"", "\"[1]\"", "\"{}\"", "\"[{\\\"id\\\":\\\"x\\\"}]\"",
                                    "\"[[null,{},[]]]\"", "\"[\\\"a\\\",{\\\"b\\\":1},2]\""};
  Span span = any_value(mutant);
  Span other = any_value(mutant);
  for (int i = 0; i < 8 && other.size > 200; i++) other = any_value(mutant);
  if (any(2) == 0 || other.size > 200) {
    const char *value = odd[any(sizeof odd / sizeof *odd)];
    put(mutant, span.start, span.size, value, strlen(value));
  } else {
    put(mutant, span.start, span.size, mutant->original + other.start, other.size);
  }
}

/* One value out of its list or object, with its comma, or twice. */
static void drop_or_double(Mutant *mutant) {
  Span span = any_value(mutant);
  const char *text = mutant->original;
  size_t end = span.start + span.size;
  bool is_key = text[end] == ':';
  if (is_key) {
    for (uint32_t i = 0; i < mutant->value_count; i++) {
      if (mutant->values[i].start == end + 1) end += 1 + mutant->values[i].size;
    }
  }
  if (any(2) == 0 && text[end] == ',') {
    put(mutant, span.start, end + 1 - span.start, "", 0);
  } else if (end - span.start < 2000) {
    put(mutant, end, 0, text + span.start, end - span.start);
    put(mutant, end, 0, ",", 1);
  }
}

/* Within a string that holds JSON: contents and actions of windows, arguments of calls. */
static void change_inside(Mutant *mutant) {
  static const char pieces[] = "0123456789[]{},: -e.ntfauxid";
  for (int i = 0; i < 500; i++) {
    Span span = any_value(mutant);
    const char *text = mutant->original + span.start;
    if (text[0] != '"' || span.size < 5 || memchr(text, '\\', span.size) == NULL) continue;
    size_t at = 1 + any((uint32_t)span.size - 2);
    if (text[at] == '\\' || text[at - 1] == '\\') continue;
    mutant->text[span.start + at] = pieces[any(sizeof pieces - 1)];
    return;
  }
}

static void change_bytes(Mutant *mutant) {
  static const char pieces[] = "0123456789[]{},:\"-e .ntfau\\\xff";
  for (uint32_t n = 1 + any(2); n > 0; n--) mutant->text[any((uint32_t)mutant->size)] = pieces[any(sizeof pieces - 1)];
}

static void mutate(Mutant *mutant) {
  memcpy(mutant->text, mutant->original, mutant->original_size);
  mutant->size = mutant->original_size;
  switch (any(6)) {
    case 0: change_bytes(mutant); break;
    case 1: drop_or_double(mutant); break;
    case 2: change_inside(mutant); break;
    default: change_value(mutant);
  }
}

/* ---- what follows ---- */

typedef struct Trial {
  ebb_runtime *runtime;
  const Mutant *mutant;
} Trial;

/* Ends the test with the mutation that was loaded. */
static void check(const Trial *trial, const char *what, ebb_status status) {
  if (status == EBB_OK) return;
  const Mutant *mutant = trial->mutant;
  size_t at = 0;
  while (at < mutant->size && mutant->text[at] == mutant->original[at]) at++;
  size_t from = at < 60 ? 0 : at - 60;
  fail_msg("%s: %s: %s\nafter %.*s\nwas   %.*s", what, ebb_status_name(status), ebb_last_error(trial->runtime)->message,
           (int)(mutant->size - from < 200 ? mutant->size - from : 200), mutant->text + from, 200,
           mutant->original + from);
}

/* A budget may be too small for what is pinned or system. */
static void check_trim(const Trial *trial, ebb_chat *chat, const char *policy, int percent) {
  char options[60];
  ebb_text report;
  snprintf(options, sizeof options, "{\"budget\":%llu}",
           (unsigned long long)(ebb_chat_tokens(chat) * (unsigned)percent / 100));
  ebb_status status = trim(chat, policy, options, &report);
  if (status != EBB_CANNOT_FIT && status != EBB_OVER_BUDGET) check(trial, policy, status);
}

static void check_reading(const Trial *trial, ebb_chat *chat) {
  ebb_text text;
  ebb_message message = {.size = sizeof message};
  check(trial, "json", ebb_chat_json(chat, &text));
  check(trial, "render", ebb_chat_render(chat, NULL, 0, &text));
  check(trial, "batches", ebb_chat_batches(chat, &text));
  check(trial, "windows", ebb_chat_windows(chat, &text));
  for (uint32_t i = 0; i < ebb_chat_count(chat); i++) check(trial, "message", ebb_chat_message(chat, i, &message));
}

static void check_rendering(const Trial *trial, ebb_chat *chat) {
  static const char options[] = "{\"maxTokens\":150,\"includeObsolete\":true}";
  ebb_text text;
  ebb_status status = ebb_chat_render(chat, options, strlen(options), &text);
  if (status != EBB_CANNOT_FIT) check(trial, "render", status);
}

/* All that Lua can ask of it. */
static void check_script(const Trial *trial, ebb_chat *chat) {
  static const char source[] =
    "local chat = ...\n"
    "local n = 0\n"
    "for _, message in ipairs(chat:all()) do n = n + message.tokens + #(message.text or '') end\n"
    "for _, batch in ipairs(chat:batches()) do\n"
    "  local list = chat:batch(batch.index) n = n + #list + list:tokens()\n"
    "  chat:diff(0, batch.index)\n"
    "  local ledger = chat:ledger(batch.index) if ledger then n = n + #ledger end\n"
    "end\n"
    "chat:check 'openai' chat:repaired() chat:state() chat:explain(1) chat.windows:listing() chat.windows:stats()\n"
    "chat:marked 'pinned' chat:count 'user' chat:recent('user', 2) chat:tokens() chat:calibration()\n"
    "chat:recount { encoding = 'cjk' }\n"
    "for _, window in ipairs(chat.windows:list()) do\n"
    "  if not window.closed then window:update { description = 'd' } end\n"
    "end\n"
    "chat:fork():append { role = 'user', content = 'x' }\n"
    "return n";
  ebb_task *task;
  ebb_event event = {.size = sizeof event};
  check(trial, "script", ebb_task_script(chat, "all", source, strlen(source), NULL, 0, &task));
  check(trial, "step", ebb_step(trial->runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
  check(trial, "event", ebb_next_event(trial->runtime, &event));
  if (event.kind != EBB_EVENT_DONE) check(trial, event.json.bytes, event.status);
  ebb_task_free(task);
}

static void check_saving(const Trial *trial, ebb_chat *chat) {
  char one[65], other[65];
  ebb_text saved;
  ebb_chat *loaded = NULL;
  check(trial, "save", ebb_chat_save(chat, &saved));
  char *copy = malloc(saved.size);
  assert_non_null(copy);
  size_t size = saved.size;
  memcpy(copy, saved.bytes, size);
  check(trial, "load again", ebb_chat_load(trial->runtime, copy, size, &loaded));
  check(trial, "digest", ebb_chat_digest(chat, one));
  check(trial, "digest", ebb_chat_digest(loaded, other));
  if (strcmp(one, other) != 0) check(trial, "another digest", EBB_DAMAGED);
  ebb_chat_free(loaded);
  free(copy);
}

static void check_all(const Trial *trial, ebb_chat *chat) {
  ebb_text results;
  static const char call[] = "<todo.buy n=\"2\"/> text";
  check_reading(trial, chat);
  check_rendering(trial, chat);
  check_saving(trial, chat);
  check_script(trial, chat);
  check_trim(trial, chat, "keep_recent", 90);
  check_trim(trial, chat, "remembering", 80);
  check_trim(trial, chat, "stable_prefix", 70);
  check(trial, "append", append(chat, "{\"role\":\"user\",\"content\":\"more\"}"));
  check(trial, "act", ebb_chat_act(chat, call, strlen(call), &results));
  for (uint32_t i = 0; i < ebb_chat_batch_count(chat) && i < 6; i++) {
    ebb_status status = ebb_chat_rollback(chat, i);
    if (status != EBB_RANGE) check(trial, "rollback", status);      /* it was pruned */
  }
  check_trim(trial, chat, "stable_prefix", 60);
  check_trim(trial, chat, "keep_turns", 60);
  check(trial, "clear", apply(chat, "{\"operation\":\"clear\"}"));
  check_reading(trial, chat);
  check_saving(trial, chat);
}

/* ---- the test ---- */

static void mutated_saves_are_refused_or_work(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  static Mutant mutant;
  static const char *const options[] = {"{}", TOOLS_OPTIONS, "{\"model\":\"gpt-4o\"}"};
  if (getenv("SEED") != NULL) seed = (uint32_t)atoi(getenv("SEED"));
  print_message("SEED=%u\n", (unsigned)seed);
  int count = getenv("MUTATIONS") != NULL ? atoi(getenv("MUTATIONS")) : 3000, loaded = 0;
  host_open(&host, &runtime);
  must(load_policy(runtime, "remembering", REMEMBERING));
  for (int i = 0; i < 3; i++) {
    char *original = save_of(runtime, options[i], &mutant.original_size);
    mutant.original = original;
    mutant.value_count = 0;
    find_values(&mutant, 0);
    for (int k = 0; k < count / 3; k++) {
      ebb_chat *chat;
      mutate(&mutant);
      if (ebb_chat_load(runtime, mutant.text, mutant.size, &chat) != EBB_OK) continue;
      loaded++;
      check_all(&(Trial){.runtime = runtime, .mutant = &mutant}, chat);
      ebb_chat_free(chat);
    }
    free(original);
  }
  print_message("%d of %d mutations were chats still\n", loaded, count);
  assert_true(loaded > count / 100);
  host_close(&host, runtime);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(mutated_saves_are_refused_or_work)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
