/*
** Hosts compiled with another version of ebb.h: structs of the first version, of this
** one, and of one that is to come. (tests/embed/first_header.c is a whole such host.)
*/
#include "api_kit.h"

enum { CONFIG_FIRST_SIZE = 104, MESSAGE_FIRST_SIZE = 72, EVENT_FIRST_SIZE = 56, LATER = 40 };

/* A struct of a later version: what this one has, and more. */
#define LATER_OF(type) \
  struct { \
    type known; \
    unsigned char added[LATER]; \
  }

static bool all_are(const void *bytes, size_t size, unsigned char byte) {
  for (size_t i = 0; i < size; i++) {
    if (((const unsigned char *)bytes)[i] != byte) return false;
  }
  return true;
}

static void the_version_is_one(void **state) {
  (void)state;
  char text[40];
  snprintf(text, sizeof text, "%d.%d.%d", EBB_VERSION_MAJOR, EBB_VERSION_MINOR, EBB_VERSION_PATCH);
  assert_string_equal(text, EBB_VERSION);
  assert_string_equal(ebb_version(), EBB_VERSION);
  assert_int_equal(EBB_VERSION_NUMBER,
                   1000000 * EBB_VERSION_MAJOR + 1000 * EBB_VERSION_MINOR + EBB_VERSION_PATCH);
  assert_int_equal(ebb_api_version(), EBB_API_VERSION);
}

/* ---- configs ---- */

static ebb_status open_with(const void *config) {
  ebb_runtime *runtime = NULL;
  ebb_status status = ebb_runtime_new(config, &runtime);
  assert_true((status == EBB_OK) == (runtime != NULL));
  ebb_runtime_free(runtime);
  return status;
}

static void configs_of_every_size_are_read(void **state) {
  (void)state;
  char error[200] = "";
  LATER_OF(ebb_config) later = {.known = {.size = sizeof later, .error = error, .error_size = sizeof error}};
  assert_int_equal(open_with(&later), EBB_OK);
  later.added[LATER - 1] = 1;
  assert_int_equal(open_with(&later), EBB_UNKNOWN_VERSION);
  assert_non_null(strstr(error, "does not know"));

  ebb_config first = {.size = CONFIG_FIRST_SIZE, .error = (char *)1, .error_size = 100};   /* beyond its size */
  first.deterministic = 1;
  assert_int_equal(open_with(&first), EBB_ARGUMENT);
  first.deterministic = 0;
  assert_int_equal(open_with(&first), EBB_OK);
  static const size_t strange[] = {0, 4, CONFIG_FIRST_SIZE - 8, CONFIG_FIRST_SIZE - 1, 5000, SIZE_MAX};
  for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
    first.size = strange[i];
    assert_int_equal(open_with(&first), EBB_UNKNOWN_VERSION);
  }
}

static void what_makes_no_runtime_is_said(void **state) {
  (void)state;
  char error[200] = "as it was";
  Host host = {.heap = {.fail_at = 1}};
  ebb_config config = {.size = sizeof config, .error = error, .error_size = sizeof error};
  assert_int_equal(open_with(&config), EBB_OK);
  assert_string_equal(error, "as it was");
  assert_int_equal(ebb_runtime_new(&config, NULL), EBB_ARGUMENT);
  assert_non_null(strstr(error, "NULL"));
  config.deterministic = 1;
  assert_int_equal(open_with(&config), EBB_ARGUMENT);
  assert_non_null(strstr(error, "clock_ms"));
  error[7] = '#';
  config.error_size = 5;
  assert_int_equal(open_with(&config), EBB_ARGUMENT);
  assert_string_equal(error, "ebb_");
  assert_int_equal(error[7], '#');
  config = host_config(&host);
  config.error = error;
  config.error_size = sizeof error;
  assert_int_equal(open_with(&config), EBB_MEMORY);
  assert_non_null(strstr(error, "memory"));
  host = (Host){0};
  config.memory_limit = 20000;
  error[0] = '\0';
  assert_int_equal(open_with(&config), EBB_MEMORY);
  assert_non_null(strstr(error, "memory"));
  assert_int_equal(host.heap.in_use, 0);
  ebb_vocab *vocab;
  static const uint64_t image[8];
  config.memory_limit = 0;
  assert_int_equal(ebb_vocab_new(&config, (const char *)image + 1, 8, NULL, &vocab), EBB_ARGUMENT);
  assert_non_null(strstr(error, "aligned"));
  assert_int_equal(ebb_vocab_new(&config, image, sizeof image, NULL, &vocab), EBB_SYNTAX);
  assert_non_null(strstr(error, "syntax"));
}

/* ---- results ---- */

static void messages_of_every_size_are_filled(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  host_open(&host, &runtime);
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  must(append(chat, "{\"role\":\"user\",\"content\":\"a\"}"));

  LATER_OF(ebb_message) later;
  memset(&later, 0xAA, sizeof later);
  later.known.size = sizeof later;
  must(ebb_chat_message(chat, 0, &later.known));
  assert_int_equal(later.known.size, sizeof later);
  assert_string_equal(later.known.text.bytes, "a");
  assert_true(all_are(later.added, LATER, 0));

  memset(&later, 0xAA, sizeof later);
  later.known.size = MESSAGE_FIRST_SIZE;
  must(ebb_chat_message(chat, 0, &later.known));
  assert_int_equal(later.known.size, MESSAGE_FIRST_SIZE);
  assert_int_equal(later.known.seq, 1);
  assert_string_equal(later.known.json.bytes, "{\"role\":\"user\",\"content\":\"a\"}");
  assert_true(all_are((char *)&later + MESSAGE_FIRST_SIZE, sizeof later - MESSAGE_FIRST_SIZE, 0xAA));

  memset(&later, 0xAA, sizeof later);
  static const size_t strange[] = {0, MESSAGE_FIRST_SIZE - 1, 5000};
  for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
    later.known.size = strange[i];
    refused(ebb_chat_message(chat, 0, &later.known), EBB_UNKNOWN_VERSION, "ebb_message.size");
  }
  later.known.size = sizeof later;
  refused(ebb_chat_message(chat, 9, &later.known), EBB_OUT_OF_RANGE, "message 9");
  assert_true(all_are((char *)&later + sizeof(size_t), sizeof later - sizeof(size_t), 0xAA));
  host_close(&host, runtime);
}

static void events_of_every_size_are_filled(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_task *task;
  host_open(&host, &runtime);
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  for (int i = 0; i < 2; i++) must(ebb_task_script(chat, "s", "return 1", 8, NULL, 0, &task));
  must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));

  LATER_OF(ebb_event) later;
  memset(&later, 0xAA, sizeof later);
  later.known.size = EVENT_FIRST_SIZE - 1;
  refused(ebb_next_event(runtime, &later.known), EBB_UNKNOWN_VERSION, "ebb_event.size");
  later.known.size = sizeof later;
  must(ebb_next_event(runtime, &later.known));
  assert_int_equal(later.known.kind, EBB_EVENT_DONE);
  assert_true(all_are(later.added, LATER, 0));
  memset(&later, 0xAA, sizeof later);
  later.known.size = EVENT_FIRST_SIZE;
  must(ebb_next_event(runtime, &later.known));
  assert_ptr_equal(later.known.task, task);
  assert_string_equal(later.known.json.bytes, "1");
  assert_true(all_are((char *)&later + EVENT_FIRST_SIZE, sizeof later - EVENT_FIRST_SIZE, 0xAA));
  assert_int_equal(ebb_next_event(runtime, &later.known), EBB_NONE);
  host_close(&host, runtime);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_version_is_one), cmocka_unit_test(configs_of_every_size_are_read),
    cmocka_unit_test(what_makes_no_runtime_is_said), cmocka_unit_test(messages_of_every_size_are_filled),
    cmocka_unit_test(events_of_every_size_are_filled)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
