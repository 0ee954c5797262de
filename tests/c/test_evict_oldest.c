/*
** Dropping the oldest by searching against dropping them unit by unit, which
** test_draft.c holds against the rule itself: the same list, the same ledger sum,
** at every budget. SEED=n repeats a run.
*/
#define _GNU_SOURCE /* open_memstream */
#include "draft_kit.h"

#include "core/draft/evict_oldest.h"

/* The next word of a history in which results stand behind their calls, often
   with others between; `open` holds the ids that wait. */
static Word next_word(char open[WORD_IDS * 4]) {
  Word word = {.kind = "suuaaaU"[below(7)], .size = below(40), .fill = 'x'};
  size_t waiting = strlen(open);
  if (waiting > 0 && below(3) != 0) {
    size_t which = below((uint32_t)waiting);
    word.kind = one_in(4) ? 'U' : 't';
    word.ids[0] = open[which];
    memmove(open + which, open + which + 1, waiting - which);
    return word;
  }
  if (word.kind == 'U') word.kind = 'u';
  if (word.kind == 's' && !one_in(6)) word.kind = 'u';
  if (word.kind == 'a' && one_in(2) && waiting < 8) {
    uint32_t calls = 1 + below(3);
    for (uint32_t i = 0; i < calls; i++) {
      word.ids[i] = (char)('a' + below(20));
      for (uint32_t j = 0; j < i; j++) {
        if (word.ids[j] == word.ids[i]) word.ids[i] = (char)('A' + below(20));
      }
    }
    if (!one_in(8)) strcat(open, word.ids);
  }
  return word;
}

static Conversation *random_chat(Fail *fail, uint32_t messages) {
  Conversation *chat = chat_of(fail, "");
  char open[WORD_IDS * 4] = "";
  while (visible_count(chat) < messages) {
    Words words = {0};
    for (uint32_t i = 0; i < 16; i++) words_add(&words, next_word(open));
    assert_int_equal(put_words(chat, WORDS_APPEND, 0, &words), STATUS_OK);
  }
  return chat;
}

/* Some cuts beforehand, so that seqs have gaps and calls have lost results. */
static void cut_some(Conversation *chat) {
  uint32_t cuts = below(3);
  for (uint32_t i = 0; i < cuts; i++) {
    uint32_t count = visible_count(chat), start = below(count / 4 + 1), end = count - below(count / 8 + 1);
    Truncate cut = {.has_range = true, .start = start, .end = end};
    assert_int_equal(operation_truncate(chat, &cut), STATUS_OK);
  }
}

/* Messages that come between others, replacements with and without the calls of
   what they replace, pinned ones: of all kinds, of calls and results too. */
static void edit_some(Conversation *chat) {
  for (uint32_t edits = one_in(2) ? 0 : below(12); edits > 0; edits--) {
    static const char *const words[] = {"u7", "a5", "a(b)", "t(b)", "a(cd)", "t(c)", "U(d)", "s3", "t(q)"};
    uint32_t at = below(visible_count(chat));
    const Message *there = conversation_message(chat, sequence_at(conversation_list(chat), at));
    bool plain = message_call_count(there) + message_result_count(there) == 0;
    WordsCall call = one_in(2) ? WORDS_INSERT : WORDS_REPLACE;
    assert_int_equal(put(chat, call, at, words[call == WORDS_REPLACE && plain ? below(2) : below(9)]), STATUS_OK);
    at = below(visible_count(chat));
    MessageId origin = store_origin(conversation_store(chat), sequence_at(conversation_list(chat), at));
    if (one_in(3)) assert_int_equal(conversation_mark(chat, text_of(MARK_PINNED), origin), STATUS_OK);
  }
}

/* Which messages a ledger names: a bit per id. */
static void ledger_ids(const Ledger *ledger, bool *named, uint32_t count) {
  memset(named, 0, count * sizeof *named);
  for (uint32_t entry = 0; entry < ledger_count(ledger); entry++) {
    uint32_t place;
    LedgerRun run = ledger_run_of(ledger, entry, &place);
    assert_true(run.first + place < count && !named[run.first + place]);
    named[run.first + place] = true;
  }
}

static void same_ledgers(Conversation *chat, const Ledger *a, const Ledger *b) {
  static bool in_a[4096], in_b[4096];
  uint32_t count = store_count(conversation_store(chat)) + 1;
  assert_true(count <= 4096);
  ledger_ids(a, in_a, count);
  ledger_ids(b, in_b, count);
  assert_memory_equal(in_a, in_b, count * sizeof *in_a);
}

static void compare(Conversation *chat, uint64_t to, uint32_t keep) {
  Draft *searching, *walking = numbered_draft(chat, true);
  const Sequence *one, *other;
  uint32_t messages, as_many;
  uint64_t freed, as_much;
  assert_int_equal(draft_new(chat, true, &searching), STATUS_OK);
  assert_int_equal(guarded_tokens(searching), guarded_tokens(walking));
  assert_int_equal(lasting_tokens(searching), lasting_tokens(walking));
  assert_int_equal(draft_drop_oldest(searching, to, keep, text_of("old"), &messages, &freed), STATUS_OK);
  assert_int_equal(draft_drop_oldest(walking, to, keep, text_of("old"), &as_many, &as_much), STATUS_OK);
  assert_int_equal(draft_list(searching, &one), STATUS_OK);
  assert_int_equal(draft_list(walking, &other), STATUS_OK);
  sequence_check(one);
  assert_int_equal(sequence_count(one), sequence_count(other));
  for (uint32_t i = 0; i < sequence_count(one); i++) assert_int_equal(sequence_at(one, i), sequence_at(other, i));
  assert_int_equal(messages, as_many);
  assert_int_equal(freed, as_much);
  assert_int_equal(draft_tokens(searching), draft_tokens(walking));
  assert_int_equal(draft_unchanged_count(searching), draft_unchanged_count(walking));
  assert_int_equal(ledger_freed(draft_ledger(searching)), freed);
  assert_int_equal(ledger_count(draft_ledger(searching)), messages);
  same_ledgers(chat, draft_ledger(searching), draft_ledger(walking));
  draft_free(searching);
  draft_free(walking);
}

static void both_ways_choose_the_same(void **state) {
  (void)state;
  uint32_t rounds = test_steps(24000) / 400 + 1, searched = 0;      /* a round is many steps */
  chance = test_seed();
  for (uint32_t round = 0; round < rounds; round++) {
    Fail fail = {0};
    Conversation *chat = random_chat(&fail, 40 + below(500));
    cut_some(chat);
    edit_some(chat);
    uint64_t total = conversation_tokens(chat);
    searched += evict_oldest_can_search(chat, conversation_list(chat));
    for (int i = 0; i < 20; i++) compare(chat, below((uint32_t)total + 1), one_in(3) ? below(30) : 0);
    compare(chat, 0, 0);
    compare(chat, total, 0);
    conversation_free(chat);
    assert_int_equal(fail.in_use, 0);
  }
  print_message("%u of %u histories were searched\n", (unsigned)searched, (unsigned)rounds);
  assert_true(searched > rounds / 2);
}

/* What is not as it should be takes the long way. */
static void only_plain_lists_are_searched(void **state) {
  (void)state;
  static const struct {
    const char *words;
    bool searched;
  } cases[] = {
    {"s u a(x) t(x) u", true},
    {"s a(x) t(x)", false},                    /* no user message */
    {"u a(x) U(x) u", true},
    {"u a(x) a(y) U(xy) u", false},            /* one message answers two */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Fail fail = {0};
    Conversation *chat = chat_of(&fail, cases[i].words);
    assert_int_equal(evict_oldest_can_search(chat, conversation_list(chat)), cases[i].searched);
    conversation_free(chat);
    assert_int_equal(fail.in_use, 0);
  }
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "s u a u");
  assert_int_equal(put(chat, WORDS_INSERT, 1, "u"), STATUS_OK);
  assert_int_equal(put(chat, WORDS_REPLACE, 2, "u"), STATUS_OK);
  assert_true(evict_oldest_can_search(chat, conversation_list(chat)));
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(both_ways_choose_the_same),
    cmocka_unit_test(only_plain_lists_are_searched),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
