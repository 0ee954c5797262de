/*
** Texts of any length: written piece by piece to a function of the host's, and reports of
** trims that no block of a script could hold.
*/
#include "api_kit.h"

/* What came, and how many pieces it takes until the host has had enough. */
typedef struct Heap {
  ebb_runtime *runtime;
  ebb_chat *chat;
  char *bytes;
  size_t size, room, pieces, longest, stop_at;
  ebb_status inside;         /* what a call from the writer was answered */
} Heap;

static ebb_status keep(void *user, const void *bytes, size_t size) {
  Heap *heap = user;
  ebb_text json;
  heap->inside = ebb_chat_save(heap->chat, &json);
  if (++heap->pieces == heap->stop_at) return EBB_IO;
  if (size > heap->longest) heap->longest = size;
  if (heap->size + size + 1 > heap->room) heap->bytes = realloc(heap->bytes, heap->room = 2 * (heap->size + size + 1));
  memcpy(heap->bytes + heap->size, bytes, size);
  heap->size += size;
  heap->bytes[heap->size] = '\0';
  return EBB_OK;
}

static void empty(Heap *heap) { heap->size = heap->pieces = heap->longest = 0; }

/* Windows, marks, a ledger, what is remembered, long texts with escapes. */
static ebb_chat *rich_chat(ebb_runtime *runtime) {
  ebb_chat *chat;
  static const char window[] = "{\"content\":\"\\u00e4\\u00f6\\u00fc \\\"quoted\\\" \\\\ \\n\"}";
  must(load_policy(runtime, "notes", "return function(draft, budget) draft.memory.x = ('ä\"'):rep(3000)\n"
                                     "draft:note(('€\\n'):rep(5000)) draft:drop_oldest { to = budget } end"));
  must(ebb_chat_new(runtime, "{\"encoding\":\"bytes4\"}", 21, &chat));
  talk(runtime, chat, 30);
  must(ebb_chat_mark(chat, 7, "pin\"ned"));
  must(ebb_chat_checkpoint(chat, "a \"name\""));
  must(ebb_window_open(chat, "w", window, sizeof window - 1));
  must(trim(chat, "notes", "{\"budget\":600}", NULL));
  must(apply(chat, "{\"operation\":\"insert\",\"position\":3,\"messages\":[{\"role\":\"user\",\"content\":\"put\"}]}"));
  must(apply(chat, "{\"operation\":\"replace\",\"index\":2,\"message\":{\"role\":\"user\",\"content\":\"new\"}}"));
  must(apply(chat, "{\"operation\":\"truncate\",\"removeFirst\":2}"));
  return chat;
}

static void writers_get_what_texts_are(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_text text;
  host_open(&host, &runtime);
  Heap heap = {.runtime = runtime, .chat = rich_chat(runtime)};
  must(ebb_chat_save(heap.chat, &text));
  must(ebb_chat_save_to(heap.chat, keep, &heap));
  must(ebb_chat_save(heap.chat, &text));
  assert_string_equal(heap.bytes, text.bytes);
  assert_int_equal(heap.inside, EBB_BUSY);
  assert_true(heap.pieces > 2);
  empty(&heap);
  must(ebb_chat_json_to(heap.chat, keep, &heap));
  must(ebb_chat_json(heap.chat, &text));
  assert_string_equal(heap.bytes, text.bytes);
  empty(&heap);
  must(ebb_chat_trim_to(heap.chat, NULL, "{\"budget\":200,\"dryRun\":true}", 28, keep, &heap));
  must(trim(heap.chat, NULL, "{\"budget\":200,\"dryRun\":true}", &text));
  assert_string_equal(heap.bytes, text.bytes);
  static const char ledger[] =
      ",\"ledger\":[{\"action\":\"dropped\",\"by\":\"keep_recent\",\"reason\":\"oldest\",\"role\":";
  assert_non_null(strstr(text.bytes, ledger));
  free(heap.bytes);
  host_close(&host, runtime);
}

static void a_writer_that_fails_changes_nothing(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  char before[65], after[65];
  host_open(&host, &runtime);
  Heap heap = {.runtime = runtime, .chat = rich_chat(runtime), .stop_at = 1};
  must(ebb_chat_digest(heap.chat, before));
  refused(ebb_chat_save_to(heap.chat, keep, &heap), EBB_IO, "the host's writer answered io");
  empty(&heap);
  refused(ebb_chat_json_to(heap.chat, keep, &heap), EBB_IO, "the host's writer answered io");
  empty(&heap);
  refused(ebb_chat_trim_to(heap.chat, NULL, "{\"budget\":200}", 14, keep, &heap), EBB_IO,
          "the host's writer answered io");
  must(ebb_chat_digest(heap.chat, after));
  assert_string_equal(before, after);
  assert_int_equal(ebb_chat_save_to(heap.chat, NULL, NULL), EBB_ARGUMENT);
  free(heap.bytes);
  host_close(&host, runtime);
}

/* No allocation succeeds: what is written is the same. */
static void saving_needs_no_memory(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  char digest[65], again[65];
  ebb_text text;
  host_open(&host, &runtime);
  Heap heap = {.runtime = runtime, .chat = rich_chat(runtime)};
  must(ebb_chat_digest(heap.chat, digest));
  must(ebb_chat_save(heap.chat, &text));
  host.heap.calls = host.heap.failed = 0, host.heap.fail_at = 1;
  must(ebb_chat_save_to(heap.chat, keep, &heap));
  must(ebb_chat_digest(heap.chat, again));
  size_t failed = host.heap.failed;
  empty(&heap);
  must(ebb_chat_json_to(heap.chat, keep, &heap));
  host.heap.fail_at = 0;
  assert_true(failed >= 2);
  assert_string_equal(digest, again);
  empty(&heap);
  must(ebb_chat_save_to(heap.chat, keep, &heap));
  must(ebb_chat_save(heap.chat, &text));
  assert_string_equal(heap.bytes, text.bytes);
  assert_true(heap.longest <= 20000);
  free(heap.bytes);
  host_close(&host, runtime);
}

static ebb_status count(void *user, const void *bytes, size_t size) {
  (void)bytes;
  *(size_t *)user += size;
  return EBB_OK;
}

/* At `memory_limit` a chat is written, and trimmed. */
static void a_full_runtime_can_be_saved(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  char digest[65];
  size_t saved = 0;
  ebb_text text;
  host_open(&host, &runtime);
  ebb_runtime_free(runtime);
  ebb_config config = host_config(&host);
  config.memory_limit = 4 << 20;
  assert_int_equal(ebb_runtime_new(&config, &runtime), EBB_OK);
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  static const char one[] = "{\"role\":\"user\",\"content\":\"one more, while there is room for as much as this\"}";
  while (append(chat, one) == EBB_OK) continue;
  must(ebb_chat_save_to(chat, count, &saved));
  must(ebb_chat_digest(chat, digest));
  assert_true(saved > 1 << 20);
  assert_int_equal(ebb_chat_save(chat, &text), EBB_MEMORY);
  host_close(&host, runtime);
}

/* How often a text with quotes in front stands in a long one: strstr under ASan reads all of the rest each time. */
static uint32_t count_members(ebb_text json, const char *member) {
  uint32_t count = 0;
  for (const char *at = json.bytes; (at = strchr(at, '"')) != NULL; at++)
    count += strncmp(at, member, strlen(member)) == 0;
  return count;
}

/* Its report alone is longer than a block of the sandbox. */
static void long_chats_are_trimmed(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat, *fork;
  ebb_task *task;
  ebb_text report;
  ebb_event event = {.size = sizeof event};
  size_t size = 0, messages = 60000;
  static const char one[] = "{\"role\":\"user\",\"content\":\"hi\"},", options[] = "{\"budget\":100}";
  char *list = malloc(messages * sizeof one + 2);
  host_open(&host, &runtime);
  list[size++] = '[';
  for (size_t i = 0; i < messages; i++, size += sizeof one - 1) memcpy(list + size, one, sizeof one - 1);
  list[size - 1] = ']';
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  must(ebb_chat_append(chat, list, size));
  free(list);
  must(ebb_chat_fork(chat, &fork));
  must(trim(fork, NULL, options, NULL));
  assert_true(ebb_chat_count(fork) < 100);
  must(ebb_chat_fork(chat, &fork));
  must(ebb_task_trim(fork, NULL, options, strlen(options), &task));
  must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
  must(ebb_next_event(runtime, &event));
  assert_int_equal(event.kind, EBB_EVENT_DONE);
  assert_true(event.json.size > 5 << 20);
  must(trim(chat, NULL, options, &report));
  assert_int_equal(report.size, event.json.size);
  assert_memory_equal(report.bytes, event.json.bytes, report.size);
  assert_int_equal(ebb_chat_count(chat), ebb_chat_count(fork));
  assert_int_equal(count_members(report, "\"seq\":"), messages - ebb_chat_count(chat));
  host_close(&host, runtime);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(writers_get_what_texts_are), cmocka_unit_test(a_writer_that_fails_changes_nothing),
    cmocka_unit_test(saving_needs_no_memory), cmocka_unit_test(a_full_runtime_can_be_saved),
    cmocka_unit_test(long_chats_are_trimmed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
