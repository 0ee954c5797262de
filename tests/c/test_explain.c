/*
** What became of a message, and how far two lists begin alike, while memory runs
** out; the figures themselves are tested through Lua.
*/
#define _DEFAULT_SOURCE 1 /* open_memstream */
#include "conversation_kit.h"

#include "core/explain.h"
#include "core/list/sequence_diff.h"

static Conversation *make(Fail *fail) {
  Conversation *chat = chat_of(fail, "s4 u4 a4(x) t4(x) u8 a4 u4");
  assert_int_equal(put(chat, WORDS_REPLACE, 4, "u4"), STATUS_OK);
  Truncate cut = {.has_keep_last = true, .keep_last = 2};
  assert_int_equal(operation_truncate(chat, &cut), STATUS_OK);
  return chat;
}

static void explanations_survive_failures(void **state) {
  (void)state;
  for (size_t k = 1, failed = 1; failed > 0; k++) {
    Fail fail = {0};
    Conversation *chat = make(&fail);
    failed = 0;
    for (MessageId id = 1; id <= 8; id++) {
      Explanation told = {.memory = fail_memory(&fail)};
      fail.fail_at = fail.calls + k;
      Status status = explain_message(chat, id, &told);
      fail.fail_at = 0;
      assert_true(status == STATUS_OK || status == STATUS_MEMORY);
      failed += status != STATUS_OK;
      if (status == STATUS_OK) assert_int_equal(told.visible, id == 6 || id == 7);
      if (status == STATUS_OK && id == 5) {
        assert_int_equal(told.count, 2);
        assert_int_equal(told.events[0].action, ACTION_REPLACED);
        assert_int_equal(told.events[1].id, 8);
      }
      explanation_free(&told);
    }
    Explanation none = {.memory = fail_memory(&fail)};
    assert_int_equal(explain_message(chat, 0, &none), STATUS_RANGE);
    assert_int_equal(explain_message(chat, 9, &none), STATUS_RANGE);
    conversation_check(chat);
    conversation_free(chat);
    assert_int_equal(fail.in_use, 0);
  }
}

/* Of batches that were pruned only what stands in ledgers is known: nothing is made up. */
static void what_was_pruned_is_not_compared(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "u1 a1 u2 a2 u3");
  Truncate first = {.has_remove_first = true, .remove_first = 1}, last = {.has_remove_last = true, .remove_last = 1};
  uint32_t pruned;
  assert_int_equal(operation_truncate(chat, &first), STATUS_OK);
  assert_int_equal(operation_truncate(chat, &last), STATUS_OK);
  assert_int_equal(put(chat, WORDS_APPEND, 0, "a3"), STATUS_OK);
  static const uint32_t told_before[] = {1, 0, 1}, told_after[] = {0, 0, 0};
  for (int after = 0; after < 2; after++) {
    static const MessageId ids[] = {1, 2, 5};
    for (int i = 0; i < 3; i++) {
      Explanation told = {.memory = fail_memory(&fail)};
      assert_int_equal(explain_message(chat, ids[i], &told), STATUS_OK);
      assert_int_equal(told.visible, ids[i] == 2);
      assert_int_equal(told.count, (after ? told_after : told_before)[i]);
      explanation_free(&told);
    }
    assert_int_equal(history_prune(conversation_history(chat), 1, &pruned), STATUS_OK);
  }
  conversation_check(chat);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
}

/* The same list, message by message. */
static uint32_t plain_common(const Conversation *chat, const Sequence *a, const Sequence *b) {
  uint32_t same = 0;
  while (same < sequence_count(a) && same < sequence_count(b)) {
    Text left = message_raw(conversation_message(chat, sequence_at(a, same)));
    Text right = message_raw(conversation_message(chat, sequence_at(b, same)));
    if (!text_equal(left, right)) break;
    same++;
  }
  return same;
}

static void random_edit(Conversation *chat) {
  static const char *const words[] = {"u4", "a4", "u5", "s4"};
  uint32_t count = visible_count(chat);
  const char *word = words[below(4)];
  Truncate cut = {.has_range = true, .start = below(3) % (count + 1), .end = count};
  switch (below(5)) {
  case 0: assert_int_equal(operation_truncate(chat, &cut), STATUS_OK); break;
  case 1: assert_int_equal(put(chat, WORDS_INSERT, below(count + 1), word), STATUS_OK); break;
  case 2:
    if (count > 0) assert_int_equal(put(chat, WORDS_REPLACE, below(count), word), STATUS_OK);
    break;
  default: assert_int_equal(put(chat, WORDS_APPEND, 0, word), STATUS_OK);
  }
}

static void common_beginnings_are_those_of_plain_lists(void **state) {
  (void)state;
  chance = test_seed();
  for (int round = 0; round < 300; round++) {
    Fail fail = {0};
    Conversation *chat = chat_of(&fail, "s4 u4 a4 u4 a4 u4 a4");
    Sequence *before = NULL;
    for (int step = 0; step < 12; step++) {
      const Sequence *now = conversation_list(chat);
      uint32_t messages = 0;
      if (before != NULL) {
        Memory memory = fail_memory(&fail);
        assert_int_equal(common_prefix_count(&memory, conversation_store(chat), before, now, &messages), STATUS_OK);
        assert_int_equal(messages, plain_common(chat, before, now));
      }
      sequence_release(before);
      assert_int_equal(sequence_share(now, &before), STATUS_OK);
      for (uint32_t i = below(3); i > 0; i--) random_edit(chat);
    }
    sequence_release(before);
    conversation_check(chat);
    conversation_free(chat);
    assert_int_equal(fail.in_use, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(explanations_survive_failures),
    cmocka_unit_test(what_was_pruned_is_not_compared),
    cmocka_unit_test(common_beginnings_are_those_of_plain_lists),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
