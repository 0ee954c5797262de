/*
** What forgetting changes in ledgers and in conversations that share messages, also without memory; and what else a
** merge takes over from a branch.
*/
#define _GNU_SOURCE /* open_memstream */
#include "edit_kit.h"

#include "core/merge_branch.h"
#include "state/policy_memory.h"

/* ---- ledgers ---- */

/* Message 2 is forgotten: it has nine x in a row, and nothing else that is overwritten. */
static const char MESSAGES[] = "u1 a9 u1 a1 u1";

/* Longer than what a ledger has room for at first. */
static const char LONG_REASON[] = "the last message of the user stays where it is, and all others may have to go, "
                                  "until a new one of the same role comes behind it and takes its place in the end";

/* Drops messages 1 and 3 and keeps messages 4 and 5; all texts but the last have `text` in them, each another one. */
static void trim_with(Conversation *chat, const char *text) {
  Draft *draft = numbered_draft(chat, false);
  const MessageId dropped[] = {1, 3};
  char third[64], kept[64];
  uint32_t batch;
  uint64_t freed;
  Hold hold;
  assert_int_equal(draft_set_author(draft, text_of("author")), STATUS_OK);
  snprintf(third, sizeof third, "3: %s", text);
  snprintf(kept, sizeof kept, "%s is kept", text);
  assert_int_equal(draft_drop(draft, &dropped[0], 1, text_of(text), &freed, &hold), STATUS_OK);
  assert_int_equal(draft_drop(draft, &dropped[1], 1, text_of(third), &freed, &hold), STATUS_OK);
  assert_int_equal(draft_keep(draft, 4, text_of(kept)), STATUS_OK);
  assert_int_equal(draft_keep(draft, 5, text_of(LONG_REASON)), STATUS_OK);
  assert_int_equal(ledger_note(draft_ledger(draft), text_of("author"), text_of(text)), STATUS_OK);
  assert_int_equal(draft_commit(draft, BATCH_TRIM, text_of(text), NULL, &batch), STATUS_OK);
  draft_free(draft);
}

/* `text` is what trim_with got; NULL: it is forgotten. */
static void assert_texts(const Conversation *chat, const char *text) {
  char third[64] = "[forgotten]", kept[64] = "[forgotten]";
  if (text != NULL) snprintf(third, sizeof third, "3: %s", text);
  if (text != NULL) snprintf(kept, sizeof kept, "%s is kept", text);
  if (text == NULL) text = "[forgotten]";
  const History *history = conversation_history(chat);
  const Ledger *ledger = history_ledger(history, 1);
  Text author, note, expected = text_of(text);
  assert_int_equal(ledger_run_count(ledger), 2);
  assert_int_equal(ledger_keep_count(ledger), 2);
  assert_int_equal(ledger_note_count(ledger), 1);
  LedgerRun run = ledger_run(ledger, 0);
  LedgerKeep keep = ledger_keep_at(ledger, 0);
  ledger_note_at(ledger, 0, &author, &note);
  assert_int_equal(run.action, ACTION_DROPPED);
  assert_int_equal(keep.id, 4);
  assert_true(text_equal(ledger_text(ledger, run.cause.reason), expected));
  assert_true(text_equal(ledger_text(ledger, run.cause.author), text_of("author")));
  assert_true(text_equal(ledger_text(ledger, ledger_run(ledger, 1).cause.reason), text_of(third)));
  assert_true(text_equal(ledger_text(ledger, keep.cause.reason), text_of(kept)));
  assert_true(text_equal(ledger_text(ledger, ledger_keep_at(ledger, 1).cause.reason), text_of(LONG_REASON)));
  assert_true(text_equal(ledger_text(ledger, keep.cause.author), text_of("author")));
  assert_true(text_equal(note, expected) && text_equal(author, text_of("author")));
  assert_true(text_equal(history_batch(history, 1).description, expected));
}

typedef struct LedgerRow {
  const char *text;
  bool quotes;
} LedgerRow;

/* A word counts whole; letters beyond ASCII belong to it. */
static const LedgerRow LEDGERS[] = {
  {"xxxx", true}, {"was xxxxx", true}, {"{xxxx}", true}, {"\xC3\xA9 xxxx", true}, {"|xxxx~", true},
  {"xxx", false}, {"xxxx\xC3\xA9", false}, {"\xC3\xA9xxxx", false}, {"xxxxy", false}, {"xxxx_", false}, {"old", false},
};

/* False once the call needs fewer than k allocations. `forked`: batches are shared. */
static bool forgets_texts(const LedgerRow *row, bool forked, size_t k, bool once) {
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, MESSAGES), *fork = NULL;
  trim_with(chat, row->text);
  if (forked) assert_int_equal(conversation_fork(chat, &fork), STATUS_OK);
  fail.fail_at = fail.calls + k;
  fail.once = once;
  Status status = edit(chat, "F2");
  fail.fail_at = 0;
  if (status != STATUS_OK) assert_int_equal(status, STATUS_MEMORY);
  const char *expected = status == STATUS_OK && row->quotes ? NULL : row->text;
  assert_texts(chat, expected);
  if (forked) assert_texts(fork, expected);
  conversation_check(chat);
  conversation_free(fork);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
  return status != STATUS_OK;
}

static void ledgers_forget_words_that_are_overwritten(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof LEDGERS / sizeof *LEDGERS; i++) {
    for (int forked = 0; forked <= 1; forked++) {
      size_t k = 1;
      while (forgets_texts(&LEDGERS[i], forked, k, true) && forgets_texts(&LEDGERS[i], forked, k, false)) k++;
      assert_true(k > 4);
    }
  }
}

/* A batch without a ledger has only its description, which forks share. */
static bool forgets_description(size_t k, bool once) {
  Fail fail = {0};
  Filter filter = {.roles = 1u << ROLE_USER, .description = text_of("not xxxx")};
  Conversation *chat = chat_of(&fail, MESSAGES), *fork;
  assert_int_equal(operation_filter(chat, &filter), STATUS_OK);
  assert_int_equal(conversation_fork(chat, &fork), STATUS_OK);
  fail.fail_at = fail.calls + k;
  fail.once = once;
  Status status = edit(chat, "F2");
  fail.fail_at = 0;
  Text expected = text_of(status == STATUS_OK ? "[forgotten]" : "not xxxx");
  assert_true(text_equal(history_batch(conversation_history(chat), 1).description, expected));
  assert_true(text_equal(history_batch(conversation_history(fork), 1).description, expected));
  conversation_free(fork);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
  return status != STATUS_OK;
}

static void descriptions_are_forgotten_without_a_ledger(void **state) {
  (void)state;
  size_t k = 1;
  while (forgets_description(k, true) && forgets_description(k, false)) k++;
  assert_true(k > 4);
}

/* What a draft inserted may quote what it trimmed or filtered; another one says only what its caller said. */
static void drafts_forget_what_they_inserted(void **state) {
  (void)state;
  static const BatchKind kinds[] = {BATCH_TRIM, BATCH_FILTER, BATCH_INSERT};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    Fail fail = {0};
    uint32_t batch;
    MessageId made;
    Hold hold;
    Conversation *chat = chat_of(&fail, MESSAGES);
    Draft *draft = numbered_draft(chat, false);
    assert_int_equal(draft_put(draft, false, 2, "u8", &made, &hold), STATUS_OK);
    assert_int_equal(draft_commit(draft, kinds[i], text_of(""), NULL, &batch), STATUS_OK);
    draft_free(draft);
    edits(chat, "F2");
    Text raw = message_raw(conversation_message(chat, made));
    assert_int_equal(memchr(raw.bytes, 'x', raw.size) != NULL, kinds[i] == BATCH_INSERT);
    conversation_free(chat);
    assert_int_equal(fail.in_use, 0);
  }
}

/* ---- conversations that share ---- */

static bool tells(const Conversation *chat, MessageId id) {
  Text raw = message_raw(store_message(conversation_store(chat), id));
  return memchr(raw.bytes, 'x', raw.size) != NULL;
}

static Conversation *begin_branch(Conversation *chat) {
  Conversation *branch;
  assert_int_equal(conversation_fork(chat, &branch), STATUS_OK);
  assert_int_equal(conversation_begin_branch(branch, chat, merge_memories_by_name), STATUS_OK);
  return branch;
}

/* A save that failed takes the forgetting back; a branch that was open merges as if nothing had been. */
static void what_is_taken_back_is_as_before(void **state) {
  (void)state;
  Fail fail = {0};
  Forgotten *forgotten;
  bool changed;
  Conversation *chat = chat_of(&fail, "");
  edits(chat, "u4 a9 m\"a\":\"xxxxx\"");
  Conversation *branch = begin_branch(chat);
  char *before = snapshot(chat, true);
  assert_int_equal(conversation_forget(chat, 2, text_plain("", 0), blacken, &forgotten), STATUS_OK);
  assert_false(tells(chat, 2) || tells(branch, 2));
  conversation_unforget(forgotten);
  forgotten_free(forgotten);
  assert_snapshot(chat, true, before);
  assert_true(tells(branch, 2));
  edits(chat, "m\"a\":1");
  assert_int_equal(conversation_merge_branch(chat, branch, &changed), STATUS_OK);
  assert_true(text_equal(history_policy_memory(conversation_history(chat), 0), text_of("{\"a\":1}")));
  assert_true(tells(chat, 2));
  free(before);
  conversation_free(branch);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
}

/* A fork that is older than the message, or has removed it, keeps its own. */
static void forks_without_the_message_stay(void **state) {
  (void)state;
  static const char *const does[] = {"", "<1 p0"};
  for (int i = 0; i < 2; i++) {
    Fail fail = {0};
    Conversation *chat = chat_of(&fail, "u4"), *fork;
    if (i == 1) edits(chat, "a9 u5");
    assert_int_equal(conversation_fork(chat, &fork), STATUS_OK);
    edits(fork, does[i]);
    if (i == 0) edits(chat, "a9");
    char *before = snapshot(fork, true);
    edits(chat, "F2");
    assert_false(tells(chat, 2));
    assert_snapshot(fork, true, before);
    free(before);
    conversation_free(fork);
    conversation_free(chat);
    assert_int_equal(fail.in_use, 0);
  }
}

/* A branch forgets a message of its own, or one that the conversation has removed meanwhile: the others keep theirs. */
static void branches_forget_what_others_do_not_have(void **state) {
  (void)state;
  static const char *const rows[][2] = {{"+a9 F4", ""}, {"F2", "<1 p0"}, {"+a9 F4", "+u5"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    Fail fail = {0};
    bool changed;
    Conversation *chat = chat_of(&fail, "u4 a9 u5"), *fork;
    assert_int_equal(conversation_fork(chat, &fork), STATUS_OK);
    Conversation *branch = begin_branch(chat);
    edits(branch, rows[i][0]);
    edits(chat, rows[i][1]);
    assert_int_equal(conversation_merge_branch(chat, branch, &changed), STATUS_OK);
    assert_true(tells(fork, 1) && tells(fork, 3) && tells(chat, 3));
    if (i != 1) assert_true(tells(fork, 2) && tells(chat, 2));
    if (i != 1) assert_false(tells(chat, store_count(conversation_store(chat))));
    conversation_check(chat);
    conversation_free(branch);
    conversation_free(fork);
    conversation_free(chat);
    assert_int_equal(fail.in_use, 0);
  }
}

/* The conversation has new messages, or none; the branch has a list of its own, or not. */
static bool merge_fails(const char *theirs, const char *ours, size_t k, bool once) {
  Fail fail = {0};
  bool changed;
  Conversation *chat = chat_of(&fail, MESSAGES), *fork;
  trim_with(chat, "was xxxx");
  assert_int_equal(conversation_fork(chat, &fork), STATUS_OK);
  Conversation *branch = begin_branch(chat);
  edits(branch, theirs);
  edits(chat, ours);
  char *before = snapshot(chat, true), *forked = snapshot(fork, true);
  fail.fail_at = fail.calls + k;
  fail.once = once;
  Status status = conversation_merge_branch(chat, branch, &changed);
  fail.fail_at = 0;
  if (status != STATUS_OK) {
    assert_int_equal(status, STATUS_MEMORY);
    assert_snapshot(chat, true, before);
    assert_snapshot(fork, true, forked);
    assert_true(tells(chat, 2) && tells(fork, 2));
    assert_texts(chat, "was xxxx");
    assert_texts(fork, "was xxxx");
    assert_int_equal(conversation_merge_branch(chat, branch, &changed), STATUS_OK);
  }
  assert_false(tells(chat, 2) || tells(fork, 2));
  assert_texts(chat, NULL);
  assert_texts(fork, NULL);
  free(before);
  free(forked);
  conversation_check(chat);
  conversation_free(branch);
  conversation_free(fork);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
  return status != STATUS_OK;
}

static void merges_forget_all_or_nothing(void **state) {
  (void)state;
  static const char *const theirs[] = {"F2", "F2 +u5", "F2 F4", "F2 <1"}, *const ours[] = {"", "+a5"};
  for (size_t i = 0; i < sizeof theirs / sizeof *theirs; i++) {
    for (size_t j = 0; j < sizeof ours / sizeof *ours; j++) {
      size_t k = 1;
      while (merge_fails(theirs[i], ours[j], k, true) && merge_fails(theirs[i], ours[j], k, false)) k++;
      assert_true(k > 4);
    }
  }
}

/* What a branch of a branch forgets, the conversation forgets with the outer merge. */
static void branches_of_branches_forget(void **state) {
  (void)state;
  Fail fail = {0};
  bool changed;
  Conversation *chat = chat_of(&fail, MESSAGES);
  Conversation *outer = begin_branch(chat), *inner = begin_branch(outer);
  edits(inner, "F2");
  assert_int_equal(conversation_merge_branch(outer, inner, &changed), STATUS_OK);
  assert_true(tells(chat, 2));
  assert_false(tells(outer, 2));
  assert_int_equal(conversation_merge_branch(chat, outer, &changed), STATUS_OK);
  assert_false(tells(chat, 2));
  conversation_check(chat);
  conversation_free(inner);
  conversation_free(outer);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
}

/* ---- windows ---- */

/* A window that is older than the branch keeps the time when it was put; that of its update moves with the messages. */
static void windows_keep_the_time_before_the_branch(void **state) {
  (void)state;
  Fail fail = {0};
  bool changed;
  Conversation *chat = chat_of(&fail, "u4 a4 u4");
  Conversation *branch = begin_branch(chat);
  edits(branch, "+a4");
  Window window = {.content = WINDOW_TEXT, .version = 1, .created = 2, .updated = 4};
  window.texts[WINDOW_ID] = text_of("x");
  window.texts[WINDOW_CONTENT] = text_of("now");
  assert_int_equal(conversation_put_window(branch, &window), STATUS_OK);
  edits(chat, "+u5 +u6");
  assert_int_equal(conversation_merge_branch(chat, branch, &changed), STATUS_OK);
  const Windows *windows = conversation_windows(chat);
  const Window *merged = windows_at(windows, windows_find(windows, text_of("x")));
  assert_int_equal(merged->created, 2);
  assert_int_equal(merged->updated, 6);
  conversation_free(branch);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(ledgers_forget_words_that_are_overwritten),
                                     cmocka_unit_test(descriptions_are_forgotten_without_a_ledger),
                                     cmocka_unit_test(drafts_forget_what_they_inserted),
                                     cmocka_unit_test(what_is_taken_back_is_as_before),
                                     cmocka_unit_test(forks_without_the_message_stay),
                                     cmocka_unit_test(branches_forget_what_others_do_not_have),
                                     cmocka_unit_test(merges_forget_all_or_nothing),
                                     cmocka_unit_test(branches_of_branches_forget),
                                     cmocka_unit_test(windows_keep_the_time_before_the_branch)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
