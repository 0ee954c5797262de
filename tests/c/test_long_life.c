/*
** Conversations whose messages stand behind millions of removed ones: they cost what they have, up to the most
** messages of a store. tests/lua/long_lives_spec.lua trims them beside new ones.
*/
#define _GNU_SOURCE /* open_memstream */
#include "edit_kit.h"
#include "draft_kit.h"

/* What a pointer for each 4096 seqs costs in the three arrays of a store and its forks, and then some: an array with
   a byte for each seq would be far above it. */
enum { MOST_BYTES = 4 << 20 };

static const char WORDS[] = "s u a(xy) t(x) t(y) u4 a(z) t(z) u a";

/* A chat that had `removed` messages before those of WORDS. */
static Conversation *aged_chat(Fail *fail, uint32_t removed) {
  Conversation *chat = chat_of(fail, "");
  assert_int_equal(store_skip(conversation_store(chat), removed), STATUS_OK);
  edits(chat, WORDS);
  return chat;
}

static void a_walk_gives_each_message_and_nothing_else(void **state) {
  (void)state;
  static const uint32_t gaps[] = {0, 1, 30, 31, 32, 33, 127, 4095, 4096, 4097, 1000000};
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "");
  Store *store = conversation_store(chat);
  MessageId expected[64], count = 0;
  for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++) {
    assert_int_equal(store_skip(store, gaps[i]), STATUS_OK);
    for (size_t k = 0; k <= i % 3; k++) {
      assert_int_equal(put(chat, WORDS_APPEND, 0, "u4"), STATUS_OK);
      expected[count++] = store_count(store);
    }
  }
  assert_int_equal(store_skip(store, 5000), STATUS_OK);
  MessageId id = 0;
  for (uint32_t i = 0; i < count; i++) {
    id = store_next(store, id);
    assert_int_equal(id, expected[i]);
  }
  assert_int_equal(store_next(store, id), 0);
  assert_int_equal(store_next(store, store_count(store)), 0);
  conversation_check(chat);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
}

/* What a fork stored under the same seqs, or a draft that was given up, is not there after a run of removed ones. */
static void a_run_hides_what_was_stored_there(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, WORDS), *fork;
  Store *store = conversation_store(chat);
  uint32_t count = store_count(store);
  MessageId made;
  Hold why;
  assert_int_equal(conversation_fork(chat, &fork), STATUS_OK);
  edits(fork, "u4 u5 u6");
  Draft *draft = numbered_draft(chat, true);
  assert_int_equal(draft_put(draft, false, 2, "u9", &made, &why), STATUS_OK);
  draft_free(draft);
  assert_int_equal(store_count(store), count);
  assert_int_equal(store_skip(store, 2), STATUS_OK);
  assert_int_equal(put(chat, WORDS_APPEND, 0, "u7"), STATUS_OK);
  assert_int_equal(store_next(store, count), count + 3);
  assert_int_equal(store_next(conversation_store(fork), count), count + 1);
  conversation_check(chat);
  conversation_check(fork);
  conversation_free(fork);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
}

/* Pages with what a draft left are a fork's, too, so that clearing them takes memory. */
static void without_memory_no_seq_is_skipped(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, WORDS), *fork;
  Store *store = conversation_store(chat);
  Counter counter = {.estimator = ESTIMATE_CJK};
  uint32_t count = store_count(store);
  TokenWeights *weights;
  MessageId made;
  Hold why;
  assert_int_equal(conversation_token_weights(chat, &counter, &weights), STATUS_OK);
  Draft *draft = numbered_draft(chat, true);
  assert_int_equal(draft_put(draft, false, 2, "u9", &made, &why), STATUS_OK);
  assert_int_equal(token_weights_fill(weights, store), STATUS_OK);
  draft_free(draft);
  assert_int_equal(conversation_fork(chat, &fork), STATUS_OK);
  fail.fail_at = fail.calls + 1;
  assert_int_equal(store_skip(store, 100), STATUS_MEMORY);
  assert_int_equal(store_count(store), count);
  fail.fail_at = 0;
  StoreMark mark = store_mark(store);
  assert_int_equal(store_skip(store, 100), STATUS_OK);
  fail.fail_at = fail.calls + 1;
  assert_int_equal(token_weights_fill(weights, store), STATUS_MEMORY);
  fail.fail_at = 0;
  assert_int_equal(token_weights_fill(weights, store), STATUS_OK);
  store_rewind(store, mark);
  edits(chat, "u4 a4");
  assert_int_equal(store_count(store), count + 2);
  assert_int_equal(token_weights_fill(weights, store), STATUS_OK);
  conversation_check(chat);
  conversation_check(fork);
  conversation_free(fork);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
}

static void without_memory_a_draft_is_not_numbered(void **state) {
  (void)state;
  Status status = STATUS_MEMORY;
  for (size_t k = 1; status != STATUS_OK; k++) {
    Fail fail = {0};
    Conversation *chat = aged_chat(&fail, 1000000);
    Draft *draft;
    assert_int_equal(draft_new(chat, true, &draft), STATUS_OK);
    fail.fail_at = fail.calls + k;
    status = draft_number_slots(draft);
    fail.fail_at = 0;
    if (status != STATUS_OK) {
      assert_int_equal(status, STATUS_MEMORY);
      assert_int_equal(draft_number_slots(draft), STATUS_OK);
    }
    assert_int_equal(draft_slot_count(draft), visible_count(chat));
    draft_free(draft);
    conversation_free(chat);
    assert_int_equal(fail.in_use, 0);
  }
}

static void a_store_has_room_up_to_its_limit(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "");
  Store *store = conversation_store(chat);
  assert_int_equal(store_skip(store, STORE_MESSAGES_MAX + 1), STATUS_LIMIT);
  assert_int_equal(store_skip(store, STORE_MESSAGES_MAX - 1), STATUS_OK);
  assert_int_equal(put(chat, WORDS_APPEND, 0, "u4"), STATUS_OK);
  assert_int_equal(store_count(store), STORE_MESSAGES_MAX);
  assert_int_equal(put(chat, WORDS_APPEND, 0, "u4"), STATUS_LIMIT);
  assert_int_equal(store_skip(store, 1), STATUS_LIMIT);
  assert_int_equal(visible_count(chat), 1);
  assert_true(fail.peak < MOST_BYTES);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
}

/* A draft with all that it does, and what is made of a conversation afterwards. */
static void removed_messages_cost_nothing(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = aged_chat(&fail, STORE_MESSAGES_MAX - 100), *fork;
  MessageId first = STORE_MESSAGES_MAX - 100, made;
  Hold why;
  uint32_t batch, messages;
  uint64_t freed;
  Draft *draft = numbered_draft(chat, true);
  assert_int_equal(draft_put(draft, true, first + 5, "t1(y)", &made, &why), STATUS_OK);
  assert_int_equal(draft_put(draft, false, 2, "u9", &made, &why), STATUS_OK);
  assert_int_equal(draft_put(draft, false, 2, "a9", &made, &why), STATUS_OK);
  assert_int_equal(draft_drop_oldest(draft, 0, 2, text_of("old"), &messages, &freed), STATUS_OK);
  assert_int_equal(draft_commit(draft, BATCH_TRIM, text_of("trim"), NULL, &batch), STATUS_OK);
  draft_free(draft);
  TokenWeights *weights;
  assert_int_equal(conversation_token_weights(chat, conversation_counter(chat), &weights), STATUS_OK);
  const Store *store = conversation_store(chat);
  for (MessageId id = store_next(store, 0); id != 0; id = store_next(store, id)) {
    assert_int_equal(token_weights_get(weights, store, id), message_tokens(store_message(store, id)));
  }
  assert_int_equal(conversation_fork(chat, &fork), STATUS_OK);
  edits(fork, "u4 a4(x) +t4(x)");
  conversation_check(fork);
  assert_true(fail.peak < MOST_BYTES);
  conversation_free(fork);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_walk_gives_each_message_and_nothing_else),
    cmocka_unit_test(a_run_hides_what_was_stored_there),
    cmocka_unit_test(without_memory_no_seq_is_skipped),
    cmocka_unit_test(without_memory_a_draft_is_not_numbered),
    cmocka_unit_test(a_store_has_room_up_to_its_limit),
    cmocka_unit_test(removed_messages_cost_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
