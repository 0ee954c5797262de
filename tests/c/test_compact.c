/*
** Compaction: the messages that no list has any more are removed, and links lead on to what is there.
** The edits are words of edit_kit.h.
*/
#define _GNU_SOURCE /* open_memstream */
#include "edit_kit.h"

/* A result that answers a call of a message which was replaced, more than once. */
typedef struct Moved {
  const char *shows, *edits;
  MessageId result;
  CallLink link;             /* of its first result, behind the compaction; it was message 3, call 0 */
} Moved;

/* Message 2 calls x, 3 and perhaps 4 replace it; "one" names the list with 2. */
static const Moved MOVED[] = {
  {"the caller is there", "u4 a4(x) #one =1:a5(x) +t4(x)", 4, {3, 0}},
  {"in its place stands a newer message than the result", "u4 a4(x) #one =1:a5(x) +t4(x) =1:a6(x)", 4, {2, 0}},
  {"in no list stands anything in its place but what it replaced", "u4 a4(x) #one =1:a5(x) +t4(x) <1", 4, {2, 0}},
  {"in a named list stands an older message than the result",
   "u4 a4(x) #one =1:a5(x) !0 =1:a6(x) #two !1 +t4(x) <1", 5, {4, 0}},
  {"nothing is there", "u4 a4(x) =1:a5(x) +t4(x) <1", 4, {0, 0}},
  {"what stands in its place has another call", "u4 a4(x) =1:a5(x) +t4(x) =1:a6(y)", 4, {0, 0}},
};

static void links_lead_to_what_is_kept(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof MOVED / sizeof *MOVED; i++) {
    const Moved *row = &MOVED[i];
    Fail fail = {0};
    Conversation *chat = chat_of(&fail, "");
    uint32_t pruned, removed;
    edits(chat, row->edits);
    assert_link(chat, row->result, 0, 3, 0);
    assert_int_equal(conversation_compact(chat, 0, &pruned, &removed), STATUS_OK);
    CallLink link = store_answers(conversation_store(chat), row->result, 0);
    if (link.message != row->link.message || link.call != row->link.call) {
      fail_msg("%s: message %u", row->shows, (unsigned)link.message);
    }
    conversation_check(chat);
    conversation_free(chat);
    assert_int_equal(fail.in_use, 0);
  }
}

/* It stored a message, and could not take it back: another one was stored behind it. */
static void what_a_draft_left_is_removed(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "u4 a4");
  Draft *draft;
  MessageId made;
  Hold hold;
  uint32_t pruned, removed;
  assert_int_equal(conversation_compact(chat, UINT32_MAX, &pruned, &removed), STATUS_OK);
  assert_false(conversation_is_compacted(chat));
  assert_int_equal(draft_new(chat, true, &draft), STATUS_OK);
  assert_int_equal(draft_put(draft, false, 1, "a9", &made, &hold), STATUS_OK);
  assert_int_equal(put(chat, WORDS_APPEND, 0, "u4"), STATUS_OK);
  draft_free(draft);
  assert_true(store_has(conversation_store(chat), made));
  assert_int_equal(conversation_compact(chat, UINT32_MAX, &pruned, &removed), STATUS_OK);
  assert_int_equal(pruned, 0);
  assert_int_equal(removed, 1);
  assert_true(conversation_is_compacted(chat));
  assert_false(store_has(conversation_store(chat), made));
  assert_int_equal(visible_count(chat), 3);
  conversation_check(chat);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
}

/* Of an inserted message only what replaced it is kept, which hands its place on. Before it stand texts of all sizes
   up to that of a block of the store, so that each allocation is the one for which a block has no room. */
static void without_memory_nothing_is_removed(void **state) {
  (void)state;
  for (uint32_t size = 0; size < 1000; size += 8) {
    char words[32];
    snprintf(words, sizeof words, "u%u u%u a4(x)", (unsigned)(size / 2), (unsigned)(size - size / 2));
    Status status = STATUS_MEMORY;
    for (size_t k = 1; status != STATUS_OK; k++) {
      Fail fail = {0};
      uint32_t pruned, removed;
      Conversation *chat = chat_of(&fail, words);
      edits(chat, "@1:a5 =1:a6 +t4(x)");
      char *before = snapshot(chat, true);
      fail.fail_at = fail.calls + k;
      fail.once = true;
      status = conversation_compact(chat, 0, &pruned, &removed);
      fail.fail_at = 0;
      if (status != STATUS_OK) {
        assert_int_equal(status, STATUS_MEMORY);
        assert_snapshot(chat, true, before);
        assert_int_equal(conversation_compact(chat, 0, &pruned, &removed), STATUS_OK);
      }
      assert_int_equal(removed, 1);
      assert_false(store_has(conversation_store(chat), 4));
      assert_int_equal(sequence_index_of(conversation_list(chat), 5, UINT32_MAX), 1);
      assert_true(sequence_is_ranked(conversation_list(chat)));
      free(before);
      conversation_check(chat);
      conversation_free(chat);
      assert_int_equal(fail.in_use, 0);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(links_lead_to_what_is_kept),
    cmocka_unit_test(what_a_draft_left_is_removed),
    cmocka_unit_test(without_memory_nothing_is_removed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
