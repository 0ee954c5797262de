/*
** Units against their definition: two messages belong together if one answers a
** call of the other, or both belong with a third. The random test edits lists in
** every raw way, so that units are torn, spread, joined by one message, replaced
** and open, and compares all units after each edit. SEED=n repeats a run,
** STEPS=n sets its length.
*/
#define _GNU_SOURCE /* open_memstream */
#include "conversation_kit.h"

static Fail fail;

static uint32_t length_of(const Units *units, uint32_t unit) {
  uint32_t length = 0;
  for (uint32_t at = units->units[unit].first; at != UNIT_NONE; at = units->next[at]) length++;
  return length;
}

static int no_fail(void **state) {
  (void)state;
  fail = (Fail){0};
  return 0;
}

static int nothing_left(void **state) {
  (void)state;
  return fail.in_use == 0 ? 0 : -1;
}

/* "2 2 1*": messages per unit in order; '+' open, '*' pending. */
static void assert_units(Conversation *chat, const char *expected) {
  char found[256] = "";
  size_t at = 0;
  const Units *units;
  assert_int_equal(conversation_units(chat, &units), STATUS_OK);
  for (uint32_t i = 0; i < units->count; i++) {
    const Unit *unit = &units->units[i];
    at += (size_t)snprintf(found + at, sizeof found - at, "%s%u%s", i == 0 ? "" : " ", (unsigned)length_of(units, i),
                           unit->pending ? "*" : unit->open ? "+" : "");
  }
  assert_string_equal(found, expected);
}

static void units_of_plain_cases(void **state) {
  (void)state;
  static const struct {
    const char *words, *units;
  } cases[] = {
    {"", ""},
    {"s u a", "1 1 1"},
    {"u a(xy) t(x) t(y) a", "1 3 1"},
    {"u a(xy) t(y) t(x) u", "1 3 1"},
    {"u a(xy) t(x)", "1 2*"},
    {"u a(xy) t(x) u", "1 2+ 1"},
    {"a(x)", "1*"},
    {"u a(x) U(x)", "1 2"},                    /* an answer by the user starts no turn: */
    {"u a(xy) U(x)", "1 2*"},
    {"u a(x) u t(x)", "1 2 1"},                /* an answer far away */
    {"t(x) u t(y)", "1 1 1"},                  /* answers to nothing */
    {"a(x) a(y) U(xy)", "3"},                  /* one answer joins two callers */
    {"a(x) a(x) t(x) t(x)", "2 2"},            /* ids are reused: nearest first */
    {"a(x) t(x) a(x) t(x) t(x)", "2 2 1"},
    {"a(xx) t(x) t(x)", "3"},                  /* twice in one message: each its own */
    {"a(xx) t(x)", "2*"},
    {"u f(x) g(x) u f(y)", "1 2 1 1*"},
    {"a(x) u a(y)", "1+ 1 1*"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Conversation *chat = chat_of(&fail, cases[i].words);
    assert_units(chat, cases[i].units);
    conversation_free(chat);
  }
}

static void a_replacement_that_lost_its_call_lets_the_result_go(void **state) {
  (void)state;
  Conversation *chat = chat_of(&fail, "u a(xy) t(x) t(y)");
  assert_int_equal(put(chat, WORDS_REPLACE, 1, "a(y)"), STATUS_OK);
  assert_units(chat, "1 2 1");
  assert_int_equal(put(chat, WORDS_REPLACE, 1, "a9"), STATUS_OK);
  assert_units(chat, "1 1 1 1");
  assert_int_equal(put(chat, WORDS_REPLACE, 1, "a(yx)"), STATUS_OK);
  assert_units(chat, "1 3");
  assert_int_equal(put(chat, WORDS_REPLACE, 3, "t9(y)"), STATUS_OK);
  assert_units(chat, "1 3");
  conversation_free(chat);
}

/* ---- against the definition ---- */

#define LONGEST 64

typedef struct Naive {
  const Store *store;
  uint32_t count;
  MessageId ids[LONGEST];
  uint32_t group[LONGEST];             /* a position of the same unit */
  bool answered[LONGEST][WORD_IDS];
} Naive;

/* The call at `caller` that a result answers: that of its link, or where a
   replacement moved it, the next of the same id. */
static bool answers(const Naive *naive, uint32_t position, uint32_t result, uint32_t caller, uint32_t *call) {
  const Message *message = store_message(naive->store, naive->ids[position]);
  const Message *other = store_message(naive->store, naive->ids[caller]);
  CallLink link = store_answers(naive->store, naive->ids[position], result);
  uint32_t calls = message_call_count(other);
  if (link.message == 0) return false;
  if (store_origin(naive->store, link.message) != store_origin(naive->store, naive->ids[caller])) return false;
  for (uint32_t i = 0; i < calls; i++) {
    *call = (link.call + i) % calls;
    Text key = message_text(message, message_result(message, result).id);
    if (text_equal(message_call_key(other, *call), key)) return true;
  }
  return false;
}

static void regroup(Naive *naive, uint32_t from, uint32_t to) {
  for (uint32_t i = 0; i < naive->count; i++) {
    if (naive->group[i] == from) naive->group[i] = to;
  }
}

static void group_all(Naive *naive) {
  for (uint32_t i = 0; i < naive->count; i++) naive->group[i] = i;
  memset(naive->answered, 0, sizeof naive->answered);
  for (uint32_t i = 0; i < naive->count; i++) {
    uint32_t results = message_result_count(store_message(naive->store, naive->ids[i]));
    for (uint32_t result = 0; result < results; result++) {
      for (uint32_t caller = 0; caller < naive->count; caller++) {
        uint32_t call;
        if (!answers(naive, i, result, caller, &call)) continue;
        naive->answered[caller][call] = true;
        regroup(naive, naive->group[i], naive->group[caller]);
      }
    }
  }
}

static Unit unit_of(const Naive *naive, uint32_t group) {
  Unit unit = {.first = UNIT_NONE};
  for (uint32_t i = 0; i < naive->count; i++) {
    if (naive->group[i] != group) continue;
    const Message *message = store_message(naive->store, naive->ids[i]);
    if (unit.first == UNIT_NONE) unit.first = i;
    for (uint32_t call = 0; call < message_call_count(message); call++) unit.open |= !naive->answered[i][call];
  }
  unit.pending = unit.open;
  for (uint32_t i = unit.first + 1; i < naive->count; i++) {
    if (message_starts_turn(store_message(naive->store, naive->ids[i]))) unit.pending = false;
  }
  return unit;
}

static void check_chain(const Naive *naive, const Units *units, uint32_t number) {
  uint32_t at = units->units[number].first;
  for (uint32_t i = at; i < naive->count; i++) {
    if (naive->group[i] != naive->group[units->units[number].first]) continue;
    assert_int_equal(at, i);
    assert_int_equal(units->unit_of[i], number);
    at = units->next[at];
  }
  assert_int_equal(at, UNIT_NONE);
}

static void check(Conversation *chat) {
  static Naive naive;
  const Units *units;
  naive.store = conversation_store(chat);
  naive.count = visible_count(chat);
  for (uint32_t i = 0; i < naive.count; i++) naive.ids[i] = visible(chat, i);
  group_all(&naive);
  assert_int_equal(conversation_units(chat, &units), STATUS_OK);
  assert_int_equal(units->message_count, naive.count);
  uint32_t number = 0, covered = 0;
  for (uint32_t i = 0; i < naive.count; i++) {
    Unit expected = unit_of(&naive, naive.group[i]);
    if (expected.first != i) continue;
    const Unit *found = &units->units[number];
    assert_int_equal(found->first, expected.first);
    assert_int_equal(found->open, expected.open);
    assert_int_equal(found->pending, expected.pending);
    covered += length_of(units, number);
    check_chain(&naive, units, number++);
  }
  assert_int_equal(units->count, number);
  assert_int_equal(covered, naive.count);
}

static Word random_word(void) {
  Word word = {.kind = "suuaaafftttUUg"[below(14)], .size = below(20), .fill = 'x'};
  uint32_t ids = word.kind == 'a' ? below(4) : word.kind == 'U' ? 1 + below(3) : strchr("ftg", word.kind) != NULL;
  for (uint32_t i = 0; i < ids; i++) word.ids[i] = (char)('x' + below(3));
  return word;
}

static Status drop_some(void *user, uint32_t position, MessageId id, bool *keep) {
  (void)user;
  (void)position;
  (void)id;
  *keep = !one_in(4);
  return STATUS_OK;
}

static void edit(Conversation *chat) {
  uint32_t count = visible_count(chat), what = below(12);
  Words words = {0};
  uint32_t some = 1 + below(3);
  for (uint32_t i = 0; i < some; i++) words_add(&words, random_word());
  if (what == 0 || count + 4 > LONGEST) {
    Filter filter = {.where = drop_some};
    assert_int_equal(operation_filter(chat, &filter), STATUS_OK);
  } else if (what < 3) {
    assert_int_equal(put_words(chat, WORDS_INSERT, below(count + 1), &words), STATUS_OK);
  } else if (what < 5 && count > 0) {
    assert_int_equal(put_words(chat, WORDS_REPLACE, below(count), &words), STATUS_OK);
  } else if (what == 5) {
    uint32_t batch = below(history_count(conversation_history(chat)));
    assert_int_equal(operation_rollback(chat, batch, false, 0), STATUS_OK);
  } else {
    assert_int_equal(put_words(chat, WORDS_APPEND, 0, &words), STATUS_OK);
  }
}

static void units_agree_with_their_definition(void **state) {
  (void)state;
  uint32_t steps = test_steps(4000);
  while (steps > 0) {
    Conversation *chat = chat_of(&fail, "");
    for (uint32_t i = 0; i < 200 && steps > 0; i++, steps--) {
      edit(chat);
      check(chat);
    }
    conversation_free(chat);
  }
}

static void without_memory_there_are_no_units_until_there_is(void **state) {
  (void)state;
  Conversation *chat = chat_of(&fail, "s u a(xy) t(x) t(y) a(z) t(z) f(x) g(x) u a(xyz) U(xyz) a(x) u a(y)");
  char *before = snapshot(chat, true);
  size_t in_use = fail.in_use, k = 0;
  Status status;
  do {
    const Units *units = NULL;
    fail.fail_at = fail.calls + ++k;
    fail.once = k % 2 == 0;
    status = conversation_units(chat, &units);
    fail.fail_at = 0;
    if (status != STATUS_OK) {
      assert_int_equal(status, STATUS_MEMORY);
      assert_int_equal(fail.in_use, in_use);
    }
  } while (status != STATUS_OK);
  assert_true(k > 4);
  assert_units(chat, "1 1 3 2 2 1 2 1+ 1 1*");
  assert_snapshot(chat, true, before);
  free(before);
  conversation_free(chat);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(units_of_plain_cases, no_fail, nothing_left),
    cmocka_unit_test_setup_teardown(a_replacement_that_lost_its_call_lets_the_result_go, no_fail, nothing_left),
    cmocka_unit_test_setup_teardown(units_agree_with_their_definition, no_fail, nothing_left),
    cmocka_unit_test_setup_teardown(without_memory_there_are_no_units_until_there_is, no_fail, nothing_left),
  };
  chance = test_seed();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
