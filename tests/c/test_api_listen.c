/*
** Listeners: what they are told, when, and what they may do.
*/
#include "api_kit.h"

typedef struct Ear {
  ebb_chat *chat;
  unsigned changes, count;
  uint32_t messages;         /* count that the listener saw */
  ebb_status appended;       /* what an edit answered */
} Ear;

static void hear(void *user, ebb_chat *chat, unsigned changes) {
  Ear *ear = user;
  ebb_message message = {.size = sizeof message};
  assert_ptr_equal(chat, ear->chat);
  ear->changes = changes;
  ear->count++;
  ear->messages = ebb_chat_count(chat);
  ear->appended = append(chat, "{\"role\":\"user\",\"content\":\"no\"}");
  ebb_chat_free(chat);
  if (ear->messages > 0) assert_int_equal(ebb_chat_message(chat, 0, &message), EBB_OK);
}

static void hears(const char *file, int line, Ear *ear, unsigned changes) {
  if (ear->changes != changes || ear->count != (changes != 0))
    fail_msg("%s:%d: %u changes %u times, not %u", file, line, ear->changes, ear->count, changes);
  if (changes != 0) assert_int_equal(ear->appended, EBB_BUSY);
  ear->changes = ear->count = 0;
}

#define told(expected) hears(__FILE__, __LINE__, &ear, expected)

enum { LIST = EBB_CHANGED_MESSAGES, BATCH = EBB_CHANGED_BATCH, WINDOWS = EBB_CHANGED_WINDOWS,
       OVER = EBB_CHANGED_OVER_LIMIT };

static void changes_are_told(void **state) {
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat, *fork;
  ebb_text json;
  (void)state;
  host_open(&host, &runtime);
  must(ebb_chat_new(runtime, "{\"limit\":40}", 12, &chat));
  Ear ear = {.chat = chat};
  must(ebb_chat_listen(chat, hear, &ear));
  told(0);
  must(append(chat, "{\"role\":\"user\",\"content\":\"a\"}"));
  told(LIST);
  assert_int_equal(ear.messages, 1);
  refused(append(chat, "{\"role\":\"pirate\"}"), EBB_ROLE, "role");
  must(ebb_chat_json(chat, &json));
  told(0);
  talk(runtime, chat, 1);                    /* two calls: the second is over the limit */
  assert_int_equal(ear.count, 2);
  ear.count = 1;
  told(LIST | OVER);
  must(append(chat, "{\"role\":\"user\",\"content\":\"b\"}"));
  told(LIST);
  must(apply(chat, "{\"operation\":\"truncate\",\"keepLast\":1}"));
  told(LIST | BATCH);
  must(ebb_chat_rollback(chat, 0));
  told(LIST | BATCH | OVER);
  must(ebb_window_open(chat, "w", "{\"content\":\"x\",\"item\":false}", 28));
  told(WINDOWS);
  must(ebb_window_update(chat, "w", "{\"content\":\"y\"}", 15));
  told(WINDOWS);
  must(trim(chat, NULL, "{\"budget\":45}", NULL));
  told(LIST | BATCH);
  must(ebb_chat_fork(chat, &fork));
  must(append(fork, "{\"role\":\"user\",\"content\":\"b\"}"));
  told(0);
  must(ebb_chat_listen(chat, NULL, NULL));
  must(append(chat, "{\"role\":\"user\",\"content\":\"b\"}"));
  told(0);
  must(ebb_chat_listen(chat, hear, &ear));
  ebb_chat_free(chat);
  must(append(fork, "{\"role\":\"user\",\"content\":\"c\"}"));
  told(0);
  assert_int_equal(ebb_chat_listen(NULL, hear, &ear), EBB_ARGUMENT);
  host_close(&host, runtime);
}

static void tasks_are_told_when_they_are_done(void **state) {
  static const char script[] = "local chat = ... chat:append { role = 'assistant', content = 'x' } request {}";
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_task *task;
  ebb_event event = {.size = sizeof event};
  (void)state;
  host_open(&host, &runtime);
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  Ear ear = {.chat = chat};
  must(ebb_chat_listen(chat, hear, &ear));
  must(ebb_task_script(chat, "s", script, sizeof script - 1, NULL, 0, &task));
  must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
  must(ebb_next_event(runtime, &event));
  told(0);
  must(ebb_answer(task, "1", 1));
  told(0);
  must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
  told(LIST);
  assert_int_equal(ear.messages, 1);
  must(ebb_next_event(runtime, &event));
  assert_int_equal(event.kind, EBB_EVENT_DONE);
  told(0);
  host_close(&host, runtime);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(changes_are_told),
                                     cmocka_unit_test(tasks_are_told_when_they_are_done)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
