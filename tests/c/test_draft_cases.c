/*
** Drafts case by case: what guards hold and for how long, what may replace what,
** when a commit is refused, and every edit with each of its allocations failing
** in turn.
*/
#define _GNU_SOURCE /* open_memstream */
#include "draft_kit.h"

static Draft *draft_of(Conversation *chat, bool guarded) { return numbered_draft(chat, guarded); }

static Status drop(Draft *draft, MessageId id) {
  uint64_t freed;
  Hold why;
  return draft_drop(draft, &id, 1, text_of("old"), &freed, &why);
}

static void assert_holds(const Draft *draft, const Hold *expected) {
  for (uint32_t slot = 0; slot < draft_slot_count(draft); slot++) {
    assert_int_equal(draft_slot_hold(draft, slot), expected[slot]);
  }
}

static void end(Draft *draft, Conversation *chat, const Fail *fail) {
  draft_free(draft);
  conversation_free(chat);
  assert_int_equal(fail->in_use, 0);
}

/* ---- guards ---- */

static void guards_hold_whole_units_and_say_why(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "s u a(x) t(x) u a(z) u a(xy) t(y)");
  assert_int_equal(conversation_mark(chat, text_of(MARK_PINNED), 4), STATUS_OK);
  Draft *draft = draft_of(chat, true);
  static const Hold expected[] = {HOLD_SYSTEM, HOLD_NONE, HOLD_PINNED, HOLD_PINNED, HOLD_NONE,
                                  HOLD_NONE, HOLD_LAST_USER, HOLD_PENDING, HOLD_PENDING};
  char *before = snapshot(chat, true);
  assert_holds(draft, expected);
  for (MessageId id = 1; id <= 9; id++) {
    MessageId made, both[] = {2, id};
    uint64_t freed;
    Hold why = HOLD_NONE;
    if (expected[id - 1] == HOLD_NONE) continue;
    assert_int_equal(draft_drop(draft, both, 2, text_of("old"), &freed, &why), STATUS_GUARDED);
    assert_int_equal(why, expected[id - 1]);
    assert_false(draft_slot_is_dropped(draft, 1));        /* all or none */
    assert_int_equal(draft_put(draft, true, id, "s9", &made, &why), STATUS_GUARDED);
    assert_int_equal(why, expected[id - 1]);
  }
  assert_int_equal(draft_tokens(draft), draft_tokens_before(draft));
  assert_snapshot(chat, true, before);
  free(before);
  end(draft, chat, &fail);
}

static void without_guards_one_message_goes_alone(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "s u a(x) t(x) u");
  Draft *draft = draft_of(chat, false);
  assert_int_equal(guarded_tokens(draft), conversation_overhead(chat));
  assert_int_equal(drop(draft, 1), STATUS_OK);
  assert_int_equal(drop(draft, 3), STATUS_OK);
  assert_int_equal(drop(draft, 5), STATUS_OK);
  assert_int_equal(drop(draft, 5), STATUS_RANGE);
  assert_int_equal(draft_count(draft), 2);
  assert_int_equal(draft_keep(draft, 4, text_of("mine")), STATUS_OK);
  assert_int_equal(drop(draft, 4), STATUS_GUARDED);
  end(draft, chat, &fail);
}

static void an_insert_frees_nothing_that_was_held(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "u u a(x) a");
  Draft *draft = draft_of(chat, true);
  MessageId made;
  Hold why;
  assert_int_equal(draft_keep(draft, 4, text_of("mine")), STATUS_OK);
  assert_int_equal(drop(draft, 1), STATUS_OK);
  assert_int_equal(draft_put(draft, false, 3, "u", &made, &why), STATUS_OK);
  static const Hold expected[] = {HOLD_LAST_USER, HOLD_PENDING, HOLD_REQUESTED, HOLD_LAST_USER};
  assert_int_equal(draft_slot_count(draft), 4);
  assert_holds(draft, expected);
  assert_int_equal(drop(draft, 2), STATUS_GUARDED);
  assert_int_equal(drop(draft, 3), STATUS_GUARDED);
  assert_int_equal(drop(draft, 1), STATUS_RANGE);
  end(draft, chat, &fail);
}

/* ---- replacing ---- */

static void a_replacement_has_the_same_frame(void **state) {
  (void)state;
  static const struct {
    MessageId id;
    const char *word;
    Status status;
  } cases[] = {
    {1, "u9", STATUS_OK},      {1, "a9", STATUS_ARGUMENT},    {1, "U9(x)", STATUS_ARGUMENT},
    {2, "a9(xy)", STATUS_OK},  {2, "a9(yx)", STATUS_ARGUMENT}, {2, "a9(x)", STATUS_ARGUMENT},
    {2, "a9", STATUS_ARGUMENT}, {2, "f(x)", STATUS_ARGUMENT},  {3, "t9(x)", STATUS_OK},
    {3, "t9(y)", STATUS_ARGUMENT}, {3, "U9(x)", STATUS_ARGUMENT},
    {3, "g9(x)", STATUS_OK},         /* the role is the same for all that matters */
    {9, "u9", STATUS_RANGE},
  };
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "u a(xy) t(x) t(y) u a u");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Draft *draft = draft_of(chat, true);
    MessageId made;
    Hold why;
    assert_int_equal(draft_put(draft, true, cases[i].id, cases[i].word, &made, &why), cases[i].status);
    assert_int_equal(store_count(conversation_store(chat)), 7 + (cases[i].status == STATUS_OK));
    draft_free(draft);
    assert_int_equal(store_count(conversation_store(chat)), 7);
  }
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
}

static void a_wrong_frame_is_refused_when_the_list_is_short(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "u u u u u u a(x) t(x) u");
  Draft *draft = draft_of(chat, true);
  const Sequence *list;
  MessageId made;
  Hold why;
  for (MessageId id = 1; id <= 6; id++) assert_int_equal(drop(draft, id), STATUS_OK);
  assert_int_equal(draft_list(draft, &list), STATUS_OK);
  assert_int_equal(draft_put(draft, true, 8, "t9(y)", &made, &why), STATUS_ARGUMENT);
  assert_int_equal(draft_put(draft, true, 8, "t9(x)", &made, &why), STATUS_OK);
  assert_link(chat, made, 0, 7, 0);
  end(draft, chat, &fail);
}

/* However many are stored: at times what fails is the store's next block. */
static void a_replacement_that_cannot_be_stored_leaves_no_trace(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "s u a u");
  Draft *draft = draft_of(chat, true);
  const Store *store = conversation_store(chat);
  uint32_t failed = 0;
  for (int i = 0; i < 100; i++) {
    MessageId made;
    Hold why;
    uint32_t stored = store_count(store);
    uint64_t tokens = draft_tokens(draft);
    Status status = STATUS_MEMORY;
    for (size_t k = 1; status != STATUS_OK; k++) {
      fail.fail_at = fail.calls + k;
      status = draft_put(draft, true, 3, i % 2 ? "a400" : "a300", &made, &why);
      fail.fail_at = 0;
      if (status == STATUS_OK) break;
      assert_int_equal(status, STATUS_MEMORY);
      assert_int_equal(store_count(store), stored);
      assert_int_equal(draft_tokens(draft), tokens);
      failed++;
    }
    assert_int_equal(made, stored + 1);
  }
  assert_true(failed > 1);
  end(draft, chat, &fail);
}

static void a_handle_leads_to_what_stands_in_its_place(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "u a u u");
  Draft *draft = draft_of(chat, true);
  MessageId made, inserted;
  Hold why;
  assert_int_equal(draft_put(draft, true, 2, "a9", &made, &why), STATUS_OK);
  assert_int_equal(draft_put(draft, false, 0, "u", &inserted, &why), STATUS_OK);
  assert_int_equal(draft_slot_of(draft, 2), draft_slot_of(draft, made));
  assert_int_equal(draft_number_slots(draft), STATUS_OK);
  assert_int_equal(draft_slot_of(draft, 2), 2);
  assert_int_equal(draft_slot_of(draft, made), 2);
  assert_int_equal(drop(draft, 2), STATUS_OK);
  assert_true(draft_slot_is_dropped(draft, 2));
  assert_int_equal(drop(draft, made), STATUS_RANGE);
  end(draft, chat, &fail);
}

static void a_discarded_replacement_leaves_its_call_answered(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "u a(x) a(x) t(x) u");
  Draft *draft = draft_of(chat, true);
  MessageId made;
  Hold why;
  assert_int_equal(draft_put(draft, true, 4, "t9(x)", &made, &why), STATUS_OK);
  draft_free(draft);
  assert_int_equal(put(chat, WORDS_APPEND, 0, "t(x)"), STATUS_OK);
  assert_link(chat, 6, 0, 2, 0);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
}

/* ---- the end ---- */

static void a_commit_is_refused_once_the_conversation_was_edited(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "u u u");
  Draft *draft = draft_of(chat, true);
  uint32_t batch;
  MessageId made;
  Hold why;
  assert_int_equal(drop(draft, 1), STATUS_OK);
  assert_int_equal(draft_put(draft, false, 0, "u", &made, &why), STATUS_OK);
  assert_int_equal(put(chat, WORDS_APPEND, 0, "u9"), STATUS_OK);
  char *before = snapshot(chat, true);
  assert_int_equal(draft_commit(draft, BATCH_TRIM, text_of(""), NULL, &batch), STATUS_ARGUMENT);
  draft_free(draft);
  assert_snapshot(chat, true, before);      /* what was stored since stays, and so does what lies below it */
  free(before);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
}

static void drafts_may_end_in_any_order(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "u u u");
  Draft *first = draft_of(chat, true);
  MessageId made;
  Hold why;
  assert_int_equal(draft_put(first, false, 0, "u500", &made, &why), STATUS_OK);
  Draft *second = draft_of(chat, true);
  draft_free(first);
  assert_int_equal(draft_put(second, false, 0, "u500", &made, &why), STATUS_OK);
  assert_int_equal(put(chat, WORDS_APPEND, 0, "u500"), STATUS_OK);
  char *before = snapshot(chat, true);
  draft_free(second);
  assert_snapshot(chat, true, before);
  free(before);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
}

static void nothing_done_is_no_batch(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "u u u");
  Draft *draft = draft_of(chat, true);
  uint32_t batch = 9;
  assert_int_equal(ledger_note(draft_ledger(draft), text_of("me"), text_of("nothing to do")), STATUS_OK);
  assert_int_equal(draft_commit(draft, BATCH_TRIM, text_of(""), NULL, &batch), STATUS_OK);
  assert_int_equal(batch, 0);
  assert_int_equal(history_count(conversation_history(chat)), 1);
  end(draft, chat, &fail);
}

static void drops_in_a_row_are_one_run(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "u4 u8 u4 a a u");
  Draft *draft = draft_of(chat, true);
  uint32_t place;
  for (MessageId id = 1; id <= 3; id++) assert_int_equal(drop(draft, id), STATUS_OK);
  assert_int_equal(draft_set_author(draft, text_of("other")), STATUS_OK);
  assert_int_equal(drop(draft, 4), STATUS_OK);
  const Ledger *ledger = draft_ledger(draft);
  assert_int_equal(ledger_run_count(ledger), 2);
  assert_int_equal(ledger_count(ledger), 4);
  assert_int_equal(ledger_run_of(ledger, 2, &place).first + place, 3);
  assert_int_equal(ledger_run_of(ledger, 3, &place).first + place, 4);
  assert_int_equal(ledger_run(ledger, 0).freed, 5 + 6 + 5);
  assert_true(text_equal(ledger_text(ledger, ledger_run(ledger, 1).cause.author), text_of("other")));
  end(draft, chat, &fail);
}

/* ---- without memory ---- */

static Status edit_drop(Draft *draft) {
  static const MessageId ids[] = {4, 2, 12, 22, 14, 10, 16, 18, 20};      /* a run each */
  uint64_t freed;
  Hold why;
  return draft_drop(draft, ids, 9, text_of("a new reason"), &freed, &why);
}

/* The first of these makes the newest run longer, the last finds no room. */
static Status edit_drop_on(Draft *draft) {
  static const MessageId ids[] = {9, 11, 13, 15, 17, 19, 21, 4};
  uint64_t freed;
  Hold why;
  return draft_drop(draft, ids, 8, text_of("old"), &freed, &why);
}

static Status edit_drop_oldest(Draft *draft) {
  uint32_t messages;
  uint64_t freed;
  return draft_drop_oldest(draft, 0, 2, text_of("a new reason"), &messages, &freed);
}

static Status edit_replace(Draft *draft) {
  MessageId made;
  Hold why;
  return draft_put(draft, true, 5, "t500(y)", &made, &why);
}

static Status edit_insert(Draft *draft) {
  MessageId made;
  Hold why;
  return draft_put(draft, false, 2, "a500(xz)", &made, &why);
}

static Status edit_by(Draft *draft) { return draft_set_author(draft, text_of("somebody")); }
static Status edit_note(Draft *draft) { return ledger_note(draft_ledger(draft), text_of("me"), text_of("a note")); }

static Status edit_commit(Draft *draft) {
  uint32_t batch;
  return draft_commit(draft, BATCH_TRIM, text_of("trim"), NULL, &batch);
}

/* 30 messages: the second one that a draft adds needs a new page of its slots. */
static Conversation *long_chat(Fail *fail) {
  Conversation *chat = chat_of(fail, "s u a(xy) t(x) t(y) u a(z) t(z)");
  for (int i = 0; i < 11; i++) put(chat, WORDS_APPEND, 0, "u4 a9");
  return chat;
}

static char *draft_snapshot(const Draft *draft) {
  char *text;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  for (uint32_t slot = 0; slot < draft_slot_count(draft); slot++) {
    fprintf(out, "%u %u %d %d\n", (unsigned)slot, (unsigned)draft_slot_message(draft, slot),
            draft_slot_is_dropped(draft, slot), draft_slot_hold(draft, slot));
  }
  Text author = draft_author(draft);
  fprintf(out, "%u, %u unchanged, %llu tokens, by %.*s, %u notes\n", (unsigned)draft_count(draft),
          (unsigned)draft_unchanged_count(draft), (unsigned long long)draft_tokens(draft), (int)author.size,
          author.size == 0 ? "" : author.bytes, (unsigned)ledger_note_count(draft_ledger(draft)));
  write_ledger(out, draft_ledger(draft));
  fclose(out);
  return text;
}

/* False when the edit needs fewer than k allocations. */
static bool edit_fails(Status (*edit)(Draft *draft), size_t k, bool once) {
  Fail fail = {0};
  Conversation *chat = long_chat(&fail);
  char *before = snapshot(chat, true);
  Draft *draft = draft_of(chat, true);
  MessageId made;
  Hold why;
  assert_int_equal(draft_put(draft, true, 6, "u1", &made, &why), STATUS_OK);
  assert_int_equal(drop(draft, 7), STATUS_OK);
  char *draft_before = draft_snapshot(draft), *chat_before = snapshot(chat, true);
  fail.fail_at = fail.calls + k;
  fail.once = once;
  Status status = edit(draft);
  fail.fail_at = 0;
  if (status != STATUS_OK) {
    char *after = draft_snapshot(draft);
    assert_int_equal(status, STATUS_MEMORY);
    assert_string_equal(after, draft_before);
    assert_snapshot(chat, true, chat_before);
    free(after);
    assert_int_equal(edit(draft), STATUS_OK);
  }
  draft_free(draft);
  if (edit != edit_commit) assert_snapshot(chat, true, before);
  free(before);
  free(draft_before);
  free(chat_before);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
  return status != STATUS_OK;
}

static void without_memory_an_edit_of_a_draft_leaves_no_trace(void **state) {
  (void)state;
  static const struct {
    const char *name;
    Status (*edit)(Draft *draft);
  } edits[] = {
    {"draft drop", edit_drop},
    {"draft drop, run on", edit_drop_on},
    {"draft drop_oldest", edit_drop_oldest},
    {"draft replace", edit_replace},
    {"draft insert", edit_insert},
    {"draft set_by", edit_by},
    {"draft note", edit_note},
    {"draft commit", edit_commit},
  };
  for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
    size_t k = 1;
    while (edit_fails(edits[i].edit, k, true) && edit_fails(edits[i].edit, k, false)) k++;
    printf("%s: %zu allocations failed in turn\n", edits[i].name, k - 1);
    assert_true(k > 1);
  }
}

static Status call_trim(Conversation *chat) {
  Draft *draft;
  Status status = draft_new(chat, true, &draft);
  if (status != STATUS_OK) return status;
  const Sequence *list;
  status = edit_replace(draft);
  if (status == STATUS_OK) status = draft_list(draft, &list);
  if (status == STATUS_OK) status = edit_insert(draft);
  if (status == STATUS_OK) status = edit_drop_oldest(draft);
  if (status == STATUS_OK) status = edit_commit(draft);
  draft_free(draft);
  return status;
}

static void without_memory_a_whole_trim_leaves_no_trace(void **state) {
  (void)state;
  sweep_run(&(Sweep){"trim", long_chat, call_trim});
}

static void nothing_is_put_between_a_call_and_its_results(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "u a(xy) t(x) t(y) u");
  static const Status expected[] = {STATUS_OK, STATUS_OK, STATUS_GUARDED, STATUS_GUARDED, STATUS_OK, STATUS_OK};
  MessageId made;
  for (uint32_t position = 0; position <= 5; position++) {
    Draft *draft = draft_of(chat, true), *free_one = draft_of(chat, false);
    assert_int_equal(draft_put(draft, false, position, "u3", &made, NULL), expected[position]);
    draft_free(draft);
    assert_int_equal(draft_put(free_one, false, position, "u3", &made, NULL), STATUS_OK);
    draft_free(free_one);
  }
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
}

/* ---- what policies need beside the plain edits ---- */

static void an_inserted_call_is_free_once_it_is_answered(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "u a");
  Draft *draft = draft_of(chat, true);
  MessageId made;
  assert_int_equal(draft_put(draft, false, 2, "a(x)", &made, NULL), STATUS_OK);
  assert_int_equal(draft_slot_hold(draft, 2), HOLD_PENDING);
  assert_int_equal(draft_put(draft, false, 3, "t(x)", &made, NULL), STATUS_OK);
  assert_holds(draft, (const Hold[]){HOLD_LAST_USER, HOLD_NONE, HOLD_NONE, HOLD_NONE});
  end(draft, chat, &fail);
}

static void a_message_is_measured_without_a_trace(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "s u a");
  Draft *draft = draft_of(chat, true);
  const char *text = "u9";
  Word word = word_parse(&text);
  Reader reader;
  MessageShape shape;
  char room[JSON_ROOM];
  MessageId made;
  uint32_t tokens;
  char *before = snapshot(chat, true);
  reader_init(&reader, memory_system());
  Text raw = read_word(&reader, &word, room, &shape);
  assert_int_equal(draft_measure(draft, raw, &shape, &tokens), STATUS_OK);
  assert_snapshot(chat, true, before);
  uint64_t now = draft_tokens(draft);
  assert_int_equal(draft_insert(draft, 3, raw, &shape, text_of("told"), &made), STATUS_OK);
  assert_int_equal(draft_tokens(draft) - now, tokens);
  reader_free(&reader);
  free(before);
  end(draft, chat, &fail);
}

static Status insert_words(Draft *draft, const uint32_t *places, uint32_t count, const char *text, MessageId *made) {
  Words words;
  words_parse(&words, text);
  MessageSource source = {.next = words_next, .user = &words};
  Insertion insertion = {.count = count, .places = places, .source = &source, .ids = made};
  reader_init(&words.reader, memory_system());
  Status status = draft_insert_all(draft, &insertion, text_of("told"));
  reader_free(&words.reader);
  return status;
}

/* What comes before a message that cannot be read goes with it. */
static void a_source_that_fails_leaves_no_trace(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "u a u");
  Draft *draft = draft_of(chat, true);
  static const Status failures[] = {STATUS_SYNTAX, STATUS_OK};
  char *before = draft_snapshot(draft);
  uint32_t stored = store_count(conversation_store(chat));
  for (int i = 0; i < 2; i++) {
    Words words;
    MessageId made[3];
    words_parse(&words, "u7 a8");
    words.fail_with = failures[i];
    MessageSource source = {.next = words_next, .user = &words};
    Insertion insertion = {.count = 3, .places = (const uint32_t[]){0, 1, 3}, .source = &source, .ids = made};
    reader_init(&words.reader, memory_system());
    Status expected = failures[i] == STATUS_OK ? STATUS_ARGUMENT : failures[i];     /* two where three were said */
    assert_int_equal(draft_insert_all(draft, &insertion, text_of("told")), expected);
    reader_free(&words.reader);
    char *after = draft_snapshot(draft);
    assert_string_equal(after, before);
    assert_int_equal(store_count(conversation_store(chat)), stored);
    free(after);
  }
  free(before);
  end(draft, chat, &fail);
}

static void many_are_inserted_where_one_by_one_would_be(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "u a(x) t(x) u a u");
  Draft *all = draft_of(chat, true), *single = draft_of(chat, true);
  static const uint32_t places[] = {0, 3, 3, 6}, torn[] = {1, 2};
  MessageId made[4], one;
  const Sequence *list, *other;
  assert_int_equal(drop(all, 1), STATUS_OK);
  assert_int_equal(insert_words(all, torn, 2, "u5 u6", made), STATUS_GUARDED);
  assert_int_equal(insert_words(all, (const uint32_t[]){0, 2, 2, 5}, 4, "u7 a(y) t(y) a8", made), STATUS_OK);
  assert_int_equal(draft_list(all, &list), STATUS_OK);
  assert_int_equal(sequence_count(list), 9);
  assert_int_equal(sequence_at(list, 0), made[0]);
  assert_int_equal(sequence_at(list, 3), made[1]);
  assert_int_equal(sequence_at(list, 4), made[2]);
  assert_int_equal(sequence_at(list, 8), made[3]);
  assert_int_equal(draft_units(all)->unit_of[3], draft_units(all)->unit_of[4]);
  assert_int_equal(draft_slot_of(all, 6), 7);
  assert_int_equal(draft_slot_of(all, 1), UNIT_NONE);
  draft_free(all);
  for (uint32_t i = 0; i < 4; i++)
    assert_int_equal(draft_put(single, false, places[i] + i, "u5", &one, NULL), STATUS_OK);
  all = draft_of(chat, true);
  assert_int_equal(draft_list(single, &other), STATUS_OK);
  assert_int_equal(sequence_count(other), 10);
  assert_int_equal(insert_words(all, places, 4, "u5 u5", made), STATUS_ARGUMENT);     /* too few: no trace */
  assert_int_equal(draft_count(all), 6);
  assert_int_equal(ledger_count(draft_ledger(all)), 0);
  draft_free(all);
  end(single, chat, &fail);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(guards_hold_whole_units_and_say_why),
    cmocka_unit_test(without_guards_one_message_goes_alone),
    cmocka_unit_test(an_insert_frees_nothing_that_was_held),
    cmocka_unit_test(a_replacement_has_the_same_frame),
    cmocka_unit_test(a_wrong_frame_is_refused_when_the_list_is_short),
    cmocka_unit_test(a_replacement_that_cannot_be_stored_leaves_no_trace),
    cmocka_unit_test(a_handle_leads_to_what_stands_in_its_place),
    cmocka_unit_test(a_discarded_replacement_leaves_its_call_answered),
    cmocka_unit_test(a_commit_is_refused_once_the_conversation_was_edited),
    cmocka_unit_test(drafts_may_end_in_any_order),
    cmocka_unit_test(nothing_is_put_between_a_call_and_its_results),
    cmocka_unit_test(nothing_done_is_no_batch),
    cmocka_unit_test(an_inserted_call_is_free_once_it_is_answered),
    cmocka_unit_test(a_message_is_measured_without_a_trace),
    cmocka_unit_test(a_source_that_fails_leaves_no_trace),
    cmocka_unit_test(many_are_inserted_where_one_by_one_would_be),
    cmocka_unit_test(drops_in_a_row_are_one_run),
    cmocka_unit_test(without_memory_an_edit_of_a_draft_leaves_no_trace),
    cmocka_unit_test(without_memory_a_whole_trim_leaves_no_trace),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
