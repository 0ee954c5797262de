/*
** The core while memory runs out, where other tests do not come: the k-th
** allocation fails, once and from then on; all is as before, and the same call
** succeeds afterwards.
*/
#define _GNU_SOURCE /* open_memstream */
#include "draft_kit.h"

#include "core/list/sequence_diff.h"
#include "state/state.h"

static const char HISTORY[] = "s4 u9 a9(xy) t9(x) t8(y) u3 a7(z) t2(z) a5 u6 a8(abc) t1(a) t2(b) t3(c) a4 u2 a3 u4 a6";

static Conversation *long_chat(Fail *fail) {
  Conversation *chat = chat_of(fail, HISTORY);
  for (int i = 0; i < 5; i++) assert_int_equal(put(chat, WORDS_APPEND, 0, HISTORY), STATUS_OK);
  return chat;
}

/* Seqs rise with gaps, so that a cut is recorded in pieces. */
static Conversation *chat_with_gaps(Fail *fail) {
  Conversation *chat = long_chat(fail);
  Truncate cut = {
      .has_role = true, .role = ROLE_ASSISTANT, .keep_others = true, .has_remove_first = true, .remove_first = 1};
  assert_int_equal(operation_truncate(chat, &cut), STATUS_OK);
  Filter filter = {.exclude_calls = true};
  assert_int_equal(operation_filter(chat, &filter), STATUS_OK);
  return chat;
}

/* ---- a draft that drops the oldest ---- */

static Status drop_half(Draft *draft) {
  uint32_t messages;
  uint64_t freed;
  return draft_drop_oldest(draft, draft_tokens_before(draft) / 2, 2, text_of("oldest"), &messages, &freed);
}

static char *dropped(Draft *draft) {
  const Sequence *list;
  char *text;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  assert_int_equal(draft_list(draft, &list), STATUS_OK);
  fprintf(out, "%u messages, %llu tokens:", (unsigned)draft_count(draft), (unsigned long long)draft_tokens(draft));
  write_list(out, list);
  write_ledger(out, draft_ledger(draft));
  fclose(out);
  return text;
}

static bool drop_fails(bool guarded, size_t k, bool once, const char *before, const char *after) {
  Fail fail = {0};
  Conversation *chat = chat_with_gaps(&fail);
  Draft *draft;
  assert_int_equal(draft_new(chat, guarded, &draft), STATUS_OK);
  fail.fail_at = fail.calls + k;
  fail.once = once;
  Status status = drop_half(draft);
  fail.fail_at = 0;
  if (status != STATUS_OK) {
    char *now = dropped(draft);
    assert_int_equal(status, STATUS_MEMORY);
    assert_string_equal(now, before);
    free(now);
    assert_int_equal(drop_half(draft), STATUS_OK);
  }
  char *now = dropped(draft);
  assert_string_equal(now, after);
  free(now);
  draft_free(draft);
  conversation_check(chat);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
  return status != STATUS_OK;
}

static void drop_all_or_none(bool guarded) {
  Fail fail = {0};
  Conversation *chat = chat_with_gaps(&fail);
  Draft *draft;
  assert_int_equal(draft_new(chat, guarded, &draft), STATUS_OK);
  char *before = dropped(draft);
  assert_int_equal(drop_half(draft), STATUS_OK);
  char *after = dropped(draft);
  assert_true(ledger_run_count(draft_ledger(draft)) > 3);
  draft_free(draft);
  conversation_check(chat);
  conversation_free(chat);
  size_t k = 1;
  while (drop_fails(guarded, k, true, before, after) && drop_fails(guarded, k, false, before, after)) k++;
  assert_true(k > 5);
  free(before);
  free(after);
}

/* Guarded, the list is searched; else the units are walked. */
static void the_oldest_go_all_or_none(void **state) {
  (void)state;
  drop_all_or_none(true);
  drop_all_or_none(false);
}

static void a_draft_keeps_once_there_is_memory(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = long_chat(&fail);
  Draft *draft;
  assert_int_equal(draft_new(chat, true, &draft), STATUS_OK);
  fail.fail_at = fail.calls + 1;
  assert_int_equal(draft_keep(draft, 2, text_of("mine")), STATUS_MEMORY);
  fail.fail_at = 0;
  assert_int_equal(draft_keep(draft, 2, text_of("mine")), STATUS_OK);
  assert_int_equal(draft_slot_hold(draft, draft_slot_of(draft, 2)), HOLD_REQUESTED);
  draft_free(draft);
  conversation_check(chat);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
}

/* How many turns begin behind each slot; nothing to count is nothing to allocate. */
static void turns_are_counted_once_there_is_memory(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "s u a u a"), *none = chat_of(&fail, "");
  const uint32_t *turns;
  Draft *draft = numbered_draft(chat, true), *empty = numbered_draft(none, true);
  fail.fail_at = fail.calls + 1;
  assert_int_equal(draft_turns_after(empty, &turns), STATUS_OK);
  assert_int_equal(draft_turns_after(draft, &turns), STATUS_MEMORY);
  fail.fail_at = 0;
  assert_int_equal(draft_turns_after(draft, &turns), STATUS_OK);
  static const uint32_t expected[] = {2, 1, 1, 0, 0};
  assert_memory_equal(turns, expected, sizeof expected);
  draft_free(draft);
  draft_free(empty);
  conversation_check(chat);
  conversation_free(chat);
  conversation_free(none);
  assert_int_equal(fail.in_use, 0);
}

/* ---- differences ---- */

static void differences_are_whole_or_none(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = long_chat(&fail);
  Filter filter = {.roles = 1u << ROLE_USER | 1u << ROLE_TOOL};
  assert_int_equal(operation_filter(chat, &filter), STATUS_OK);
  assert_int_equal(put(chat, WORDS_INSERT, 3, HISTORY), STATUS_OK);
  const Sequence *before = history_list(conversation_history(chat), 0), *after = conversation_list(chat);
  size_t k = 1, in_use = fail.in_use;
  for (bool failed = true; failed; k++) {
    SequenceDiff diff;
    fail.fail_at = fail.calls + k;
    Status status = sequence_diff(before, after, &diff);
    fail.fail_at = 0;
    failed = status != STATUS_OK;
    if (failed) assert_int_equal(status, STATUS_MEMORY);
    else assert_true(diff.removed_count > 0 && diff.added_count == 19);
    sequence_diff_free(&diff);
    assert_int_equal(fail.in_use, in_use);
  }
  assert_true(k > 10);
  conversation_check(chat);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
}

/* ---- forks, units, replacing ---- */

static Conversation *marked_chat(Fail *fail) {
  Conversation *chat = long_chat(fail);
  static const char *const names[] = {"pinned", "old", "kept", "seen"};
  for (MessageId id = 1; id <= 40; id++) {
    assert_int_equal(conversation_mark(chat, text_of(names[id % 4]), id), STATUS_OK);
  }
  return chat;
}

static Status fork_and_free(Conversation *chat) {
  Conversation *fork;
  Status status = conversation_fork(chat, &fork);
  if (status != STATUS_OK) return status;
  char *one = snapshot(chat, false), *other = snapshot(fork, false);
  assert_string_equal(one, other);
  free(one);
  free(other);
  conversation_check(fork);
  conversation_free(fork);
  return STATUS_OK;
}

static Status find_units(Conversation *chat) {
  const Units *units;
  Status status = conversation_units(chat, &units);
  if (status == STATUS_OK) assert_true(units->count > 0 && units->message_count == visible_count(chat));
  return status;
}

/* As many batches as one node holds. */
static Conversation *chat_of_a_node(Fail *fail) {
  Conversation *chat = long_chat(fail);
  History *history = conversation_history(chat);
  while (history_count(history) < 16) assert_int_equal(put(chat, WORDS_INSERT, 0, "s1"), STATUS_OK);
  return chat;
}

static Status begin_a_batch(Conversation *chat) { return put(chat, WORDS_INSERT, 0, "s2"); }

static Conversation *named_chat(Fail *fail) {
  static const char *const names[] = {"one", "", "three"};
  Conversation *chat = long_chat(fail);
  for (int i = 0; i < 3; i++) {
    uint32_t batch, length;
    assert_int_equal(history_name(conversation_history(chat), text_of(names[i])), STATUS_OK);
    assert_true(history_find(conversation_history(chat), text_of(names[i]), &batch, &length));
    assert_int_equal(batch, history_current(conversation_history(chat)));
    assert_int_equal(put(chat, WORDS_INSERT, 0, "s1"), STATUS_OK);
  }
  return chat;
}

static void forks_and_units_are_whole_or_none(void **state) {
  (void)state;
  static const Sweep sweeps[] = {{"fork of marked messages", marked_chat, fork_and_free},
                                 {"fork of checkpoints", named_chat, fork_and_free},
                                 {"a batch behind a full node", chat_of_a_node, begin_a_batch},
                                 {"units of parallel calls", long_chat, find_units}};
  for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++) sweep_run(&sweeps[i]);
}

/* The store cuts from blocks: at some size each of its own steps is the one that
   needs a new block. */
static uint32_t first_size;

static Conversation *chat_of_a_size(Fail *fail) {
  Word word = {.kind = 'u', .size = first_size, .fill = 'x'};
  Words words = {0};
  Conversation *chat = chat_of(fail, "u1");
  words_add(&words, word);
  words_add(&words, word);
  assert_int_equal(put_words(chat, WORDS_APPEND, 0, &words), STATUS_OK);
  return chat;
}

static Status replace_first(Conversation *chat) { return put(chat, WORDS_REPLACE, 0, "u90"); }

static void replacing_fails_as_a_whole_wherever_a_block_ends(void **state) {
  (void)state;
  for (first_size = 0; first_size < 450; first_size += 4) {
    Sweep sweep = {"replace", chat_of_a_size, replace_first};
    sweep_run(&sweep);
  }
}

/* ---- filters over texts with escapes ---- */

static Status next_escaped(void *user, bool *more, Text *raw, MessageShape *shape) {
  uint32_t *left = user;
  static const char text[] = "{\"role\":\"user\",\"content\":\"a\\nb\\u00e9 and more of it\"}";
  *more = *left > 0;
  if (!*more) return STATUS_OK;
  --*left;
  *raw = text_of(text);
  *shape = (MessageShape){.role = ROLE_USER, .role_text = {.at = 9, .size = 4}, .content_kind = CONTENT_STRING,
                          .content = {.at = 26, .size = (uint32_t)sizeof text - 1 - 26 - 2, .escaped = true}};
  return STATUS_OK;
}

static Conversation *escaped_chat(Fail *fail) {
  uint32_t left = 3;
  Conversation *chat = chat_of(fail, "u5");
  MessageSource source = {.next = next_escaped, .user = &left};
  assert_int_equal(operation_append(chat, &source), STATUS_OK);
  return chat;
}

static Status filter_contains(Conversation *chat) {
  const Text needles[] = {text_of("nowhere"), text_of("b\xc3\xa9 and")};
  Filter filter = {.contains = {needles, 2}};
  Status status = operation_filter(chat, &filter);
  if (status == STATUS_OK) assert_int_equal(visible_count(chat), 3);
  return status;
}

static Status filter_excludes(Conversation *chat) {
  const Text needle = text_of("a\nb");
  Filter filter = {.excludes = {&needle, 1}};
  Status status = operation_filter(chat, &filter);
  if (status == STATUS_OK) assert_int_equal(visible_count(chat), 1);
  return status;
}

static void filters_read_escapes_or_change_nothing(void **state) {
  (void)state;
  static const Sweep sweeps[] = {{"filter, contains", escaped_chat, filter_contains},
                                 {"filter, excludes", escaped_chat, filter_excludes}};
  for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++) sweep_run(&sweeps[i]);
}

/* ---- saving ---- */

static char *saved(const Conversation *chat) {
  Fail own = {0};
  Buffer out;
  buffer_init(&out, fail_memory(&own));
  assert_int_equal(state_write(chat, text_of("{}"), (Sink){sink_add_to_buffer, &out}), STATUS_OK);
  assert_int_equal(buffer_add_byte(&out, 0), STATUS_OK);
  char *copy = strdup(out.bytes);
  buffer_free(&out);
  return copy;
}

/* What is sorted or searched in memory is found without, too. */
static void a_save_needs_no_memory_of_the_conversation(void **state) {
  (void)state;
  static const char *const names[] = {"pinned", "draft", "b", "a", "zebra"};
  Fail fail = {0};
  Conversation *chat = chat_with_gaps(&fail);
  for (MessageId id = 9; id > 0; id--) {
    for (uint32_t i = 0; i < 5; i++) {
      if (id % (i + 1) == 0) assert_int_equal(conversation_mark(chat, text_of(names[i]), id), STATUS_OK);
    }
  }
  char *expected = saved(chat);
  assert_non_null(strstr(expected, "{\"a\":[4,8],\"b\":[3,6,9],\"draft\":[2,4,6,8],\"pinned\":["));
  size_t before = fail.calls;
  for (size_t k = 1; k <= 6; k++) {
    for (int once = 0; once <= 1; once++) {
      fail.fail_at = fail.calls + k;
      fail.once = once == 1;
      char *now = saved(chat);
      fail.fail_at = 0;
      assert_string_equal(now, expected);
      free(now);
    }
  }
  assert_true(fail.calls > before);
  free(expected);
  conversation_free(chat);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_save_needs_no_memory_of_the_conversation),
    cmocka_unit_test(the_oldest_go_all_or_none),
    cmocka_unit_test(a_draft_keeps_once_there_is_memory),
    cmocka_unit_test(turns_are_counted_once_there_is_memory),
    cmocka_unit_test(differences_are_whole_or_none),
    cmocka_unit_test(forks_and_units_are_whole_or_none),
    cmocka_unit_test(replacing_fails_as_a_whole_wherever_a_block_ends),
    cmocka_unit_test(filters_read_escapes_or_change_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
