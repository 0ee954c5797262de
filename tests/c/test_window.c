/*
** Windows: random lists of messages and items against a plain model of which are
** obsolete, in which order they are sent, and what a draft of them weighs; the
** table of windows against an array; saved and read back; and all of it while
** memory runs out. SEED=n repeats a failed run, STEPS=n makes it longer.
*/
#define _GNU_SOURCE /* open_memstream */
#include "conversation_kit.h"

#include "core/draft/draft.h"
#include "core/list/request_order.h"
#include "core/list/sequence_node.h"
#include "state/state.h"

#define NAMES "abcdef"

static Window window_of(char name, unsigned flags, MessageId now) {
  static char ids[256][2];
  ids[(unsigned char)name][0] = name;
  Window window = {.flags = flags, .content = WINDOW_TEXT, .version = 1, .created = now, .updated = now};
  for (int i = 0; i < WINDOW_TEXTS; i++) window.texts[i] = text_plain("", 0);
  window.texts[WINDOW_ID] = text_plain(ids[(unsigned char)name], 1);
  window.texts[WINDOW_CONTENT] = text_of("content \xE2\x98\x83 \"quoted\"\n");
  return window;
}

/* ---- items ---- */

static char name_at(const Conversation *chat, uint32_t position) {
  const Message *message = conversation_message(chat, sequence_at(conversation_list(chat), position));
  return message_is_window(message) ? message_content(message).bytes[0] : '\0';
}

/* Asked in the plainest way: does a later item name it, or is it closed? */
static bool is_obsolete(const Conversation *chat, uint32_t position) {
  const Windows *windows = conversation_windows(chat);
  char name = name_at(chat, position);
  for (uint32_t i = position + 1; i < sequence_count(conversation_list(chat)); i++) {
    if (name_at(chat, i) == name) return true;
  }
  uint32_t index = windows_find(windows, text_plain(&name, 1));
  return index != WINDOW_NONE && windows_at(windows, index)->flags & WINDOW_CLOSED;
}

static void check_items(const Conversation *chat) {
  WindowItems items;
  Memory memory = memory_system();
  const Sequence *list = conversation_list(chat);
  sequence_check(list);
  const Store *store = conversation_store(chat);
  assert_int_equal(window_items(&memory, conversation_windows(chat), store, list, &items), STATUS_OK);
  uint32_t next = 0;
  for (uint32_t i = 0; i < sequence_count(list); i++) {
    char name = name_at(chat, i);
    if (name == '\0') continue;
    assert_int_equal(items.list[next].position, i);
    assert_int_equal(items.list[next].id, sequence_at(list, i));
    assert_int_equal(items.list[next].obsolete, is_obsolete(chat, i));
    assert_int_equal(items.list[next].window, windows_find(conversation_windows(chat), text_plain(&name, 1)));
    uint32_t newest = items.list[items.list[next].newest].position;
    assert_int_equal(name_at(chat, newest), name);
    next++;
  }
  assert_int_equal(next, items.count);
  assert_int_equal(next, sequence_sum(list).windows);
  window_items_free(&items);
}

/* All that is not obsolete, once; messages in their order, items in theirs; and no
   item between the messages of a unit. */
static void check_sent(const Conversation *chat) {
  RequestOrder sent;
  Units *units;
  Memory memory = memory_system();
  const Sequence *list = conversation_list(chat);
  const Store *store = conversation_store(chat);
  assert_int_equal(request_order_of(&memory, conversation_windows(chat), store, list, false, &sent), STATUS_OK);
  assert_int_equal(units_new(&memory, store, list, &units), STATUS_OK);
  uint32_t message = 0, item = 0, reach = 0;
  for (uint32_t i = 0; i < sent.count; i++) {
    bool window = message_is_window(store_message(store, sent.ids[i]));
    uint32_t *at = window ? &item : &message;
    while (*at < sequence_count(list) &&
           ((name_at(chat, *at) != '\0') != window || (window && is_obsolete(chat, *at)))) ++*at;
    assert_true(*at < sequence_count(list) && sequence_at(list, *at) == sent.ids[i]);
    for (uint32_t of = window ? UNIT_NONE : units->next[*at]; of != UNIT_NONE; of = units->next[of]) {
      if (of > reach) reach = of;
    }
    if (window) assert_true(reach == 0 || message > reach);
    ++*at;
  }
  units_free(units);
  request_order_free(&sent);
}

/* A draft weighs what is shown, and dropping anything keeps its sums true. */
static void check_draft(Conversation *chat) {
  Draft *draft;
  uint32_t tokens[16];
  for (uint32_t i = 0; i < 16; i++) tokens[i] = 10 + i;
  assert_int_equal(draft_new(chat, one_in(2), &draft), STATUS_OK);
  assert_int_equal(draft_set_window_tokens(draft, tokens), STATUS_OK);
  while (draft_count(draft) > 0 && !one_in(8)) {
    const Sequence *list;
    uint64_t freed, sum = draft_overhead(draft);
    Hold why;
    assert_int_equal(draft_list(draft, &list), STATUS_OK);
    for (uint32_t i = 0; i < sequence_count(list); i++) sum += draft_message_tokens(draft, sequence_at(list, i));
    assert_int_equal(sum, draft_tokens(draft));
    MessageId id = sequence_at(list, below(sequence_count(list)));
    const Message *message = conversation_message(chat, id);
    bool shown = message_is_window(message) && !draft_is_obsolete(draft, id);
    Status status = draft_drop(draft, &id, 1, text_of("test"), &freed, &why);
    assert_true(status == STATUS_OK || status == STATUS_GUARDED);
    assert_int_equal(draft_list(draft, &list), STATUS_OK);
    for (uint32_t i = 0; i < sequence_count(list) && shown && status == STATUS_OK; i++) {
      const Message *other = conversation_message(chat, sequence_at(list, i));
      assert_false(message_is_window(other) && text_equal(message_content(other), message_content(message)));
    }
  }
  draft_free(draft);
}

static void random_step(Conversation *chat) {
  static const char *const words[] = {"u4", "a4", "a4(x)", "t3(x)", "s2", "w0(a)", "w0(b)", "w0(c)", "w0(d)", "w0(e)"};
  uint32_t count = sequence_count(conversation_list(chat));
  Window window = window_of(NAMES[below(6)], below(WINDOW_FLAGS + 1), store_count(conversation_store(chat)));
  switch (below(8)) {
  case 0: assert_int_equal(conversation_put_window(chat, &window), STATUS_OK); return;
  case 1: assert_int_equal(put(chat, WORDS_INSERT, below(count + 1), words[below(10)]), STATUS_OK); return;
  case 2:
    if (count > 0) assert_int_equal(put(chat, WORDS_REPLACE, below(count), words[below(10)]), STATUS_OK);
    return;
  case 3: {
    Truncate cut = {.has_range = true, .start = below(3), .end = count + 4 - below(2)};
    if (one_in(4)) assert_int_equal(operation_truncate(chat, &cut), STATUS_OK);
    return;
  }
  case 4: {
    uint32_t batch = below(history_count(conversation_history(chat)));
    assert_int_equal(operation_rollback(chat, batch, false, 0), STATUS_OK);
    return;
  }
  default: assert_int_equal(put(chat, WORDS_APPEND, 0, words[below(10)]), STATUS_OK);
  }
}

static Status read_saved(Conversation *chat, const Buffer *saved, StateTrust trust) {
  State state;
  StateError error;
  Status status = state_open(&state, saved->bytes, saved->size, trust, &error);
  return status == STATUS_OK ? state_read(chat, &state, &error) : status;
}

/* Equal states, equal bytes. */
static void check_saved(Conversation *chat, Fail *fail) {
  Buffer saved, again;
  Conversation *loaded = chat_of(fail, "");
  buffer_init(&saved, memory_system());
  buffer_init(&again, memory_system());
  assert_int_equal(state_write(chat, text_of("{}"), sink_to_buffer(&saved)), STATUS_OK);
  assert_int_equal(read_saved(loaded, &saved, STATE_PROVEN), STATUS_OK);
  assert_int_equal(state_write(loaded, text_of("{}"), sink_to_buffer(&again)), STATUS_OK);
  assert_int_equal(saved.size, again.size);
  assert_memory_equal(saved.bytes, again.bytes, saved.size);
  check_items(loaded);
  for (uint32_t i = 0; i < windows_count(conversation_windows(chat)); i++) {
    const Window *a = windows_at(conversation_windows(chat), i), *b = windows_at(conversation_windows(loaded), i);
    assert_int_equal(a->flags, b->flags);
    assert_true(a->updated == b->updated && text_equal(a->texts[WINDOW_CONTENT], b->texts[WINDOW_CONTENT]));
  }
  for (int i = 0; i < 4; i++) {      /* a damaged one is refused, or salvaged as another state */
    Conversation *other = chat_of(fail, "");
    saved.bytes[below((uint32_t)saved.size)] ^= (char)(1 << below(8));
    bool same = memcmp(saved.bytes, again.bytes, saved.size) == 0;      /* a bit that was flipped twice */
    assert_int_equal(read_saved(other, &saved, STATE_PROVEN) == STATUS_OK, same);
    Status status = read_saved(other, &saved, STATE_SALVAGED);
    assert_true(status != STATUS_MEMORY);
    if (status == STATUS_OK) check_items(other);
    conversation_free(other);
  }
  buffer_free(&saved);
  buffer_free(&again);
  conversation_check(loaded);
  conversation_free(loaded);
}

static void random_lists_agree_with_a_plain_model(void **state) {
  (void)state;
  chance = test_seed();
  for (uint32_t round = 0, rounds = test_steps(2400) / 60; round < rounds; round++) {      /* a round is 60 steps */
    Fail fail = {0};
    Conversation *chat = chat_of(&fail, "");
    for (int step = 0; step < 60; step++) {
      random_step(chat);
      check_items(chat);
      check_sent(chat);
      if (one_in(6)) check_draft(chat);
    }
    check_saved(chat, &fail);
    conversation_check(chat);
    conversation_free(chat);
    assert_int_equal(fail.in_use, 0);
  }
}

/* ---- the table ---- */

static void forks_have_their_own(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "u4"), *fork;
  Window window = window_of('a', WINDOW_CLOSABLE, 1), other = window_of('b', 0, 1);
  assert_int_equal(conversation_put_window(chat, &window), STATUS_OK);
  assert_int_equal(conversation_fork(chat, &fork), STATUS_OK);
  assert_ptr_equal(conversation_windows(chat), conversation_windows(fork));
  assert_false(windows_is_sole(conversation_windows(chat), 0));
  window.flags = WINDOW_HIDDEN;
  assert_int_equal(conversation_put_window(fork, &window), STATUS_OK);
  assert_int_equal(conversation_put_window(fork, &other), STATUS_OK);
  assert_int_equal(windows_at(conversation_windows(chat), 0)->flags, WINDOW_CLOSABLE);
  assert_int_equal(windows_count(conversation_windows(chat)), 1);
  assert_int_equal(windows_count(conversation_windows(fork)), 2);
  assert_true(windows_is_sole(conversation_windows(chat), 0));
  assert_int_equal(windows_find(conversation_windows(fork), text_of("b")), 1);
  assert_int_equal(windows_find(conversation_windows(chat), text_of("b")), WINDOW_NONE);
  conversation_check(chat);
  conversation_free(chat);
  conversation_check(fork);
  conversation_free(fork);
  assert_int_equal(fail.in_use, 0);
}

/* ---- memory ---- */

/* One of each call that allocates; false at the first that fails. */
static Status use_windows(Conversation *chat) {
  WindowItems items;
  RequestOrder sent;
  Draft *draft;
  uint32_t tokens[8] = {5, 6, 7};
  const Memory *memory = conversation_memory(chat);
  const Store *store = conversation_store(chat);
  Window window = window_of('f', WINDOW_CLOSABLE, 1);
  Status status = window_items(memory, conversation_windows(chat), store, conversation_list(chat), &items);
  if (status != STATUS_OK) return status;
  window_items_free(&items);
  status = request_order_of(memory, conversation_windows(chat), store, conversation_list(chat), false, &sent);
  if (status != STATUS_OK) return status;
  request_order_free(&sent);
  status = draft_new(chat, true, &draft);
  if (status != STATUS_OK) return status;
  uint32_t messages;
  uint64_t freed;
  status = draft_set_window_tokens(draft, tokens);
  if (status == STATUS_OK) status = draft_drop_oldest(draft, 0, 0, text_of("oldest"), &messages, &freed);
  draft_free(draft);
  return status == STATUS_OK ? conversation_put_window(chat, &window) : status;
}

static bool use_fails(size_t k, bool once) {
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "s4 u4 w0(a) a4(x) w0(b) t4(x) w0(a) u4"), *fork;
  Window a = window_of('a', 0, 1), b = window_of('b', WINDOW_PINNED, 1);
  assert_int_equal(conversation_put_window(chat, &a), STATUS_OK);
  assert_int_equal(conversation_put_window(chat, &b), STATUS_OK);
  assert_int_equal(conversation_fork(chat, &fork), STATUS_OK);
  fail.fail_at = fail.calls + k;
  fail.once = once;
  Status status = use_windows(chat);
  fail.fail_at = 0;
  if (status != STATUS_OK) {
    assert_int_equal(status, STATUS_MEMORY);
    assert_int_equal(windows_count(conversation_windows(chat)), 2);
    check_items(chat);
    assert_int_equal(use_windows(chat), STATUS_OK);
  }
  assert_int_equal(windows_count(conversation_windows(chat)), 3);
  assert_int_equal(windows_count(conversation_windows(fork)), 2);
  conversation_check(chat);
  conversation_free(chat);
  conversation_check(fork);
  conversation_free(fork);
  assert_int_equal(fail.in_use, 0);
  return status != STATUS_OK;
}

static bool load_fails(const Buffer *saved, size_t k, bool once) {
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "");
  fail.fail_at = fail.calls + k;
  fail.once = once;
  Status status = read_saved(chat, saved, STATE_PROVEN);
  fail.fail_at = 0;
  assert_true(status == STATUS_OK || status == STATUS_MEMORY);
  conversation_check(chat);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
  return status != STATUS_OK;
}

static void all_or_nothing_without_memory(void **state) {
  (void)state;
  Fail fail = {0};
  size_t k = 1;
  while (use_fails(k, true) && use_fails(k, false)) k++;
  assert_true(k > 15);
  Conversation *chat = chat_of(&fail, "u4 w0(a)");
  Window window = window_of('a', WINDOW_CLOSABLE | WINDOW_APPEND, 1);
  Buffer saved;
  buffer_init(&saved, memory_system());
  assert_int_equal(conversation_put_window(chat, &window), STATUS_OK);
  assert_int_equal(state_write(chat, text_of("{}"), sink_to_buffer(&saved)), STATUS_OK);
  for (k = 1; load_fails(&saved, k, true) && load_fails(&saved, k, false);) k++;
  assert_true(k > 10);
  buffer_free(&saved);
  conversation_check(chat);
  conversation_free(chat);
}

/* Ids and tokens stand beside the role in a message of 32 bytes (core/message/message_data.h); what an
   item says of itself must not be lost there. */
static void an_item_is_no_role(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "u4 w0(a) s4");
  const Message *item = conversation_message(chat, 2);
  assert_int_equal(message_role(item), ROLE_NONE);
  assert_true(message_is_window(item));
  assert_false(message_starts_turn(item));
  assert_int_equal(message_tokens(item), 0);
  assert_true(text_equal(message_content(item), text_of("a")));
  Sum sum = sequence_sum(conversation_list(chat));
  assert_int_equal(sum.count[ROLE_SYSTEM], 1);
  assert_int_equal(sum_measure(&sum, MEASURE_COUNT), 3);
  assert_int_equal(sum_measure(&sum, MEASURE_WINDOWS), 1);
  assert_int_equal(sequence_find(conversation_list(chat), MEASURE_WINDOWS, 0), 1);
  assert_int_equal(sequence_find(conversation_list(chat), MEASURE_ROLE_COUNT + ROLE_SYSTEM, 0), 2);
  conversation_check(chat);
  conversation_free(chat);
}

/* ---- what it costs ---- */

/* Nodes of the tree that are visited to find k items among n messages, spread evenly. */
static uint64_t visits_of(uint32_t k, uint32_t n) {
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "");
  Window window = window_of('a', WINDOW_CLOSABLE, 0);
  assert_int_equal(conversation_put_window(chat, &window), STATUS_OK);
  for (uint32_t i = 0; i < n; i++) {
    assert_int_equal(put(chat, WORDS_APPEND, 0, i % (n / k) == 0 ? "w0(a)" : "u4"), STATUS_OK);
  }
  WindowItems items;
  Memory memory = memory_system();
  uint64_t before = sequence_visits;
  assert_int_equal(window_items(&memory, conversation_windows(chat), conversation_store(chat), conversation_list(chat),
                                &items), STATUS_OK);
  uint64_t visits = sequence_visits - before;
  assert_int_equal(items.count, k);
  window_items_free(&items);
  conversation_check(chat);
  conversation_free(chat);
  return visits;
}

/* Two paths per item, however long the list is; not a walk over it. */
static void items_are_found_along_paths(void **state) {
  (void)state;
  enum { K = 32 };
  for (uint32_t n = 640; n <= 40960; n *= 8) {
    uint32_t path = 1;                       /* nodes from the root to a leaf of a list that was appended */
    for (uint32_t nodes = n / SEQUENCE_LEAF; nodes > 1; nodes = (nodes - 1) / SEQUENCE_FANOUT + 1) path++;
    assert_in_range(visits_of(K, n), K, 2 * K * path);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_item_is_no_role),
      cmocka_unit_test(forks_have_their_own),
      cmocka_unit_test(items_are_found_along_paths),
      cmocka_unit_test(random_lists_agree_with_a_plain_model),
      cmocka_unit_test(all_or_nothing_without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
