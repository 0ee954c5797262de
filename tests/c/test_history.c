/*
** Batches that were pruned, and names of their kinds.
*/
#define _GNU_SOURCE /* open_memstream */
#include "conversation_kit.h"

/* Batches 0 to 4; 1 has a checkpoint, 2 is current. */
static Conversation *chat_of_batches(Fail *fail) {
  Conversation *chat = chat_of(fail, "u1 a1 u2 a2");
  assert_int_equal(put(chat, WORDS_INSERT, 1, "u5"), STATUS_OK);
  assert_int_equal(history_name(conversation_history(chat), text_of("here")), STATUS_OK);
  for (int i = 0; i < 3; i++) assert_int_equal(put(chat, WORDS_INSERT, 0, "u6"), STATUS_OK);
  assert_int_equal(operation_rollback(chat, 2, false, 0), STATUS_OK);
  return chat;
}

/* The batch that is current, its list, how many there are. */
static char *snapshot_of_present(const Conversation *chat) {
  char *text;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  const History *history = conversation_history(chat);
  fprintf(out, "%u of %u:", (unsigned)history_current(history), (unsigned)history_count(history));
  write_list(out, conversation_list(chat));
  fclose(out);
  return text;
}

static uint32_t prune(History *history, uint32_t keep) {
  uint32_t pruned;
  assert_int_equal(history_prune(history, keep, &pruned), STATUS_OK);
  return pruned;
}

static void pruning_spares_what_is_named_or_current(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of_batches(&fail);
  History *history = conversation_history(chat);

  assert_int_equal(prune(history, 1), 2);
  assert_int_equal(prune(history, 1), 0);

  static const bool pruned[] = {true, false, false, true, false};
  for (uint32_t batch = 0; batch < 5; batch++) {
    BatchInfo info = history_batch(history, batch);
    assert_int_equal(info.pruned, pruned[batch]);
    assert_int_equal(info.count, 4 + batch);            /* known still */
  }
  conversation_check(chat);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
}

/* batch -> what is remembered there; "-" for nothing. */
static void check_memories(const History *history, const char *const expected[]) {
  for (uint32_t batch = 0; batch < history_count(history); batch++) {
    Text memory = history_policy_memory(history, batch);
    assert_true(text_equal(memory.size == 0 ? text_of("-") : memory, text_of(expected[batch])));
  }
}

static void a_batch_remembers_what_its_parent_did(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "u1 a1 u2 a2"), *fork;
  History *history = conversation_history(chat);
  uint64_t version = conversation_version(chat);
  assert_int_equal(conversation_remember(chat, text_of("")), STATUS_OK);
  assert_true(conversation_version(chat) == version);             /* nothing new: no edit */
  assert_int_equal(conversation_remember(chat, text_of("A")), STATUS_OK);
  assert_true(conversation_version(chat) > version);
  assert_int_equal(put(chat, WORDS_INSERT, 0, "u5"), STATUS_OK);
  assert_int_equal(put(chat, WORDS_INSERT, 0, "u6"), STATUS_OK);
  assert_true(history_policy_memory(history, 2).bytes == history_policy_memory(history, 0).bytes);   /* shared */
  assert_int_equal(conversation_fork(chat, &fork), STATUS_OK);
  assert_int_equal(conversation_remember(chat, text_of("B")), STATUS_OK);
  assert_int_equal(put(chat, WORDS_INSERT, 0, "u7"), STATUS_OK);
  assert_int_equal(operation_rollback(chat, 1, false, 0), STATUS_OK);
  assert_int_equal(put(chat, WORDS_INSERT, 0, "u8"), STATUS_OK);
  assert_int_equal(conversation_remember(chat, text_of("")), STATUS_OK);
  check_memories(history, (const char *const[]){"A", "A", "B", "B", "-"});
  check_memories(conversation_history(fork), (const char *const[]){"A", "A", "A"});
  assert_int_equal(conversation_remember(fork, text_plain("", POLICY_MEMORY_MAX + 1)), STATUS_LIMIT);
  assert_int_equal(prune(history, 1), 4);
  check_memories(history, (const char *const[]){"-", "-", "-", "-", "-"});
  check_memories(conversation_history(fork), (const char *const[]){"A", "A", "A"});
  conversation_check(chat);
  conversation_free(chat);
  conversation_check(fork);
  conversation_free(fork);
  assert_int_equal(fail.in_use, 0);
}

/* Bytes of all policy memories: each batch of this test has its own. */
static size_t kept(const History *history) {
  size_t size = 0;
  for (uint32_t i = 0; i < history_count(history); i++) size += history_policy_memory(history, i).size;
  return size;
}

/* The largest policy memory there may be, in the current batch. */
static void remember_much(Conversation *chat, char letter) {
  char *text = malloc(POLICY_MEMORY_MAX);
  memset(text, letter, POLICY_MEMORY_MAX);
  assert_int_equal(conversation_remember(chat, text_plain(text, POLICY_MEMORY_MAX)), STATUS_OK);
  free(text);
}

static void roll_back_and_remember(Conversation *chat, uint32_t batch) {
  const History *history = conversation_history(chat);
  assert_int_equal(operation_rollback(chat, batch, false, 0), STATUS_OK);
  remember_much(chat, (char)('0' + batch));
  assert_int_equal(history_policy_memory(history, batch).size, POLICY_MEMORY_MAX);
  if (kept(history) > POLICY_MEMORY_KEPT) fail_msg("batch %u: %zu bytes are kept", (unsigned)batch, kept(history));
  conversation_check(chat);
}

/* The current batch is spared, but only while it is the current one. */
static void the_oldest_batches_forget(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "u1 a1");
  History *history = conversation_history(chat);
  uint32_t most = POLICY_MEMORY_KEPT / POLICY_MEMORY_MAX;
  for (uint32_t i = 0; i < 3 * most; i++) {
    assert_int_equal(conversation_remember(chat, text_plain((const char[]){(char)('a' + i % 26)}, 1)), STATUS_OK);
    assert_int_equal(put(chat, WORDS_INSERT, 0, "u5"), STATUS_OK);
  }
  for (uint32_t i = 2 * most; i < 3 * most; i++) roll_back_and_remember(chat, i);
  for (uint32_t i = 0; i < 2 * most; i++) roll_back_and_remember(chat, i);
  assert_int_equal(history_policy_memory(history, 0).size, 0);
  assert_int_equal(put(chat, WORDS_INSERT, 0, "u5"), STATUS_OK);
  remember_much(chat, 'z');
  assert_true(kept(history) <= POLICY_MEMORY_KEPT);
  conversation_check(chat);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
}

static void what_was_pruned_is_out_of_reach(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of_batches(&fail), *fork;
  Sequence *list;
  prune(conversation_history(chat), 0);
  char *before = snapshot_of_present(chat);

  assert_int_equal(operation_rollback(chat, 0, false, 0), STATUS_RANGE);
  assert_int_equal(operation_rollback(chat, 0, true, 4), STATUS_RANGE);
  assert_int_equal(operation_rollback(chat, 0, true, 3), STATUS_RANGE);
  assert_int_equal(operation_rollback(chat, 5, false, 0), STATUS_RANGE);
  assert_int_equal(history_state(conversation_history(chat), 0, 4, &list), STATUS_RANGE);
  assert_int_equal(history_state(conversation_history(chat), 5, 0, &list), STATUS_RANGE);
  assert_int_equal(history_rollback(conversation_history(chat), 5), STATUS_RANGE);

  char *after = snapshot_of_present(chat);
  assert_string_equal(before, after);
  assert_int_equal(conversation_fork(chat, &fork), STATUS_OK);
  assert_true(history_batch(conversation_history(fork), 0).pruned);
  assert_int_equal(operation_rollback(fork, 1, false, 0), STATUS_OK);
  assert_int_equal(visible_count(fork), 5);
  conversation_check(fork);
  conversation_free(fork);
  conversation_check(chat);
  conversation_free(chat);
  free(before);
  free(after);
  assert_int_equal(fail.in_use, 0);
}

static void kinds_have_names(void **state) {
  (void)state;
  BatchKind kind;
  for (int i = BATCH_CREATE; i <= BATCH_VARIABLES; i++) {
    assert_true(batch_kind_parse(batch_kind_name((BatchKind)i), &kind));
    assert_int_equal(kind, i);
  }
  assert_false(batch_kind_parse("", &kind));
  assert_false(batch_kind_parse("Trim", &kind));
}

static void marks_go_only_where_they_are(void **state) {
  (void)state;
  Fail fail = {0};
  Memory memory = fail_memory(&fail);
  Marks *marks;
  assert_int_equal(marks_new(&memory, &marks), STATUS_OK);
  assert_false(marks_remove(marks, text_of("old"), 1));
  assert_int_equal(marks_add(marks, text_of("old"), 1), STATUS_OK);
  assert_false(marks_remove(marks, text_of("ol"), 1));
  assert_false(marks_remove(marks, text_of("old"), 2));
  assert_true(marks_remove(marks, text_of("old"), 1));
  assert_false(marks_has(marks, text_of("old"), 1));
  marks_release(marks);
  assert_int_equal(fail.in_use, 0);
}

/* Every batch of both, as text. */
static char *snapshot_of_all(const Conversation *chat) {
  char *text;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  const History *history = conversation_history(chat);
  for (uint32_t batch = 0; batch < history_count(history); batch++) {
    fprintf(out, "%u:", (unsigned)batch);
    if (history_list(history, batch) != NULL) write_list(out, history_list(history, batch));
  }
  fclose(out);
  return text;
}

static void assert_unchanged(const Conversation *chat, char *before) {
  char *now = snapshot_of_all(chat);
  assert_string_equal(now, before);
  free(now);
}

/* A fork puts its list into its own history: a batch with its description, and a node
   per level of the tree of batches. What either does then, the other does not see. */
static void a_fork_costs_a_node_per_level_of_what_is_behind_it(void **state) {
  (void)state;
  enum { BATCHES = 700 };
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "s u a u"), *fork;
  size_t calls = fail.calls;
  assert_int_equal(conversation_fork(chat, &fork), STATUS_OK);
  size_t few = fail.calls - calls;
  conversation_check(fork);
  conversation_free(fork);
  for (int i = 0; i < BATCHES; i++) assert_int_equal(put(chat, WORDS_REPLACE, 1, "u"), STATUS_OK);
  calls = fail.calls;
  assert_int_equal(conversation_fork(chat, &fork), STATUS_OK);
  assert_in_range(fail.calls - calls, few, few + 3);

  char *before = snapshot_of_all(chat);
  assert_int_equal(put(fork, WORDS_APPEND, 0, "a u"), STATUS_OK);
  assert_int_equal(operation_rollback(fork, 300, false, 0), STATUS_OK);
  assert_int_equal(put(fork, WORDS_APPEND, 0, "a"), STATUS_OK);
  assert_int_equal(put(fork, WORDS_INSERT, 0, "u"), STATUS_OK);
  assert_int_equal(prune(conversation_history(fork), 5), BATCHES + 2 - 5);
  assert_unchanged(chat, before);
  free(before);
  before = snapshot_of_all(fork);
  assert_int_equal(operation_rollback(chat, 699, false, 0), STATUS_OK);
  assert_int_equal(put(chat, WORDS_APPEND, 0, "a"), STATUS_OK);
  assert_int_equal(put(chat, WORDS_INSERT, 0, "s"), STATUS_OK);
  assert_unchanged(fork, before);
  free(before);
  conversation_check(chat);
  conversation_free(chat);
  conversation_check(fork);
  conversation_free(fork);
  assert_int_equal(fail.in_use, 0);
}

/* An append, a new batch and a prune copy what a fork shares, or change nothing. */
static void without_memory_nothing_shared_changes(void **state) {
  (void)state;
  for (int what = 0; what < 3; what++) {
    Fail fail = {0};
    Conversation *chat = chat_of(&fail, "s u a u"), *fork;
    for (int i = 0; i < 40; i++) assert_int_equal(put(chat, WORDS_REPLACE, 1, "u"), STATUS_OK);
    assert_int_equal(conversation_fork(chat, &fork), STATUS_OK);
    char *before = snapshot_of_all(chat);
    Status status = STATUS_MEMORY;
    uint32_t failed = 0, pruned;
    for (size_t k = 1; status != STATUS_OK; k++) {
      fail.fail_at = fail.calls + k;
      if (what == 0) status = put(fork, WORDS_APPEND, 0, "u");
      else if (what == 1) status = put(fork, WORDS_REPLACE, 1, "u");
      else status = history_prune(conversation_history(fork), 0, &pruned);
      fail.fail_at = 0;
      if (status == STATUS_OK) break;
      assert_int_equal(status, STATUS_MEMORY);
      failed++;
      assert_unchanged(fork, before);
      assert_unchanged(chat, before);
    }
    assert_true(failed >= 2);
    assert_unchanged(chat, before);
    free(before);
    conversation_check(chat);
    conversation_free(chat);
    conversation_check(fork);
    conversation_free(fork);
    assert_int_equal(fail.in_use, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(pruning_spares_what_is_named_or_current),
    cmocka_unit_test(a_fork_costs_a_node_per_level_of_what_is_behind_it),
    cmocka_unit_test(without_memory_nothing_shared_changes),
    cmocka_unit_test(the_oldest_batches_forget),
    cmocka_unit_test(what_was_pruned_is_out_of_reach),
    cmocka_unit_test(a_batch_remembers_what_its_parent_did),
    cmocka_unit_test(kinds_have_names),
    cmocka_unit_test(marks_go_only_where_they_are),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
