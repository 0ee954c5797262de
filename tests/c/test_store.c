/*
** The store: addresses that stay, links between calls and results, and going
** back as if nothing had been added.
**
** The random test drives the store as conversations do, and finds every waiting
** call a second time by looking at all messages. SEED=n repeats a run, STEPS=n
** sets its length.
*/
#define _GNU_SOURCE /* open_memstream */
#include "conversation_kit.h"

static Fail fail;

static Store *store_made(void) {
  fail = (Fail){0};
  Memory memory = fail_memory(&fail);
  Store *store;
  assert_int_equal(store_new(&memory, (HashKey){0}, &store), STATUS_OK);
  return store;
}

static void store_gone(Store *store) {
  store_release(store);
  assert_int_equal(fail.in_use, 0);
}

static Status add_word(Store *store, Word word, MessageId *id) {
  Reader reader;
  MessageShape shape;
  char room[JSON_ROOM];
  reader_init(&reader, memory_system());
  Text raw = read_word(&reader, &word, room, &shape);
  Status status = store_add(store, raw, false, &shape, id);
  reader_free(&reader);
  return status;
}

static MessageId add(Store *store, const char *text) {
  MessageId id;
  assert_int_equal(add_word(store, word_parse(&text), &id), STATUS_OK);
  return id;
}

static CallLink waiting(const Store *store, char id) { return store_waiting(store, text_plain(&id, 1), UINT32_MAX); }

static void assert_waiting(const Store *store, char id, MessageId message, uint32_t call) {
  CallLink link = waiting(store, id);
  assert_int_equal(link.message, message);
  assert_int_equal(link.call, call);
}

/* Links each result to the call that waits, as the conversation does. */
static MessageId add_linked(Store *store, const char *text) {
  MessageId id = add(store, text);
  const Message *message = store_message(store, id);
  for (uint32_t i = 0; i < message_result_count(message); i++) {
    store_link(store, id, i, store_waiting(store, message_text(message, message_result(message, i).id), id));
  }
  return id;
}

/* ---- messages and their bytes ---- */

static void addresses_stay_while_the_store_grows(void **state) {
  (void)state;
  enum { MANY = 3000 };
  static const Message *seen[MANY];
  static const char *raw[MANY];
  Store *store = store_made();
  for (uint32_t i = 0; i < MANY; i++) {
    MessageId id = add(store, i % 3 == 0 ? "a9(xy)" : "u5");
    assert_int_equal(id, i + 1);
    seen[i] = store_message(store, id);
    raw[i] = message_raw(seen[i]).bytes;
  }
  for (uint32_t i = 0; i < MANY; i++) {
    assert_ptr_equal(store_message(store, i + 1), seen[i]);
    assert_ptr_equal(message_raw(seen[i]).bytes, raw[i]);
    assert_int_equal(message_content(seen[i]).size, i % 3 == 0 ? 9 : 5);
    assert_int_equal(message_call_count(seen[i]), i % 3 == 0 ? 2 : 0);
  }
  store_gone(store);
}

static void copies_are_the_stores_own_and_adopted_bytes_stay_where_they_are(void **state) {
  (void)state;
  static const char json[] = "{\"role\":\"user\",\"content\":\"x\"}";
  const MessageShape shape = {.role = ROLE_USER, .role_text = {.at = 9, .size = 4}, .content_kind = CONTENT_STRING,
                              .content = {.at = 26, .size = 1}};
  Memory memory = fail_memory(&fail);
  Store *store = store_made();
  size_t room = sizeof json + 100;
  char *block = memory_new(&memory, room);
  MessageId copied, adopted, later;
  memcpy(block, json, sizeof json);

  assert_int_equal(store_add(store, text_plain(json, sizeof json - 1), false, &shape, &copied), STATUS_OK);
  assert_int_equal(store_add(store, text_plain(block, sizeof json - 1), true, &shape, &adopted), STATUS_OK);
  assert_int_equal(store_adopt(store, block, sizeof json - 1, room), STATUS_OK);
  assert_int_equal(store_add(store, text_plain(json, sizeof json - 1), false, &shape, &later), STATUS_OK);

  assert_true(message_raw(store_message(store, copied)).bytes != json);
  assert_ptr_equal(message_raw(store_message(store, adopted)).bytes, block);
  assert_memory_equal(block, json, sizeof json);     /* nothing is cut from an adopted block */
  assert_true(text_equal(message_raw(store_message(store, later)), text_of(json)));
  assert_true(text_equal(message_content(store_message(store, adopted)), text_of("x")));
  store_gone(store);
}

static void a_rewind_frees_what_was_adopted_since(void **state) {
  (void)state;
  Memory memory = fail_memory(&fail);
  Store *store = store_made();
  add(store, "u5");
  size_t before = fail.in_use;
  StoreMark mark = store_mark(store);
  assert_int_equal(store_adopt(store, memory_new(&memory, 500), 400, 500), STATUS_OK);
  for (int i = 0; i < 40; i++) add(store, "a400(x)");
  store_rewind(store, mark);
  assert_int_equal(store_count(store), 1);
  assert_int_equal(add(store, "u5"), 2);
  assert_in_range(fail.in_use, before, before + 4096);      /* the map of waiting calls may stay */
  store_gone(store);
}

static void the_limits_of_one_message_are_refused(void **state) {
  (void)state;
  Store *store = store_made();
  MessageShape shape = {.role = ROLE_USER};
  MessageId id;
  assert_int_equal(store_add(store, text_plain("", (size_t)1 << 31), true, &shape, &id), STATUS_LIMIT);
  assert_int_equal(store_count(store), 0);
  store_gone(store);
}

/* ---- links ---- */

static void the_nearest_waiting_call_of_an_id_is_found(void **state) {
  (void)state;
  Store *store = store_made();
  add_linked(store, "a(x)");
  add_linked(store, "a(xy)");
  assert_waiting(store, 'x', 2, 0);
  assert_waiting(store, 'y', 2, 1);
  assert_waiting(store, 'z', 0, 0);
  assert_int_equal(store_waiting(store, text_of("x"), 2).message, 1);
  assert_int_equal(store_waiting(store, text_of("x"), 1).message, 0);

  MessageId first = add_linked(store, "t(x)"), second = add_linked(store, "t(x)"), third = add_linked(store, "t(x)");
  assert_int_equal(store_answers(store, first, 0).message, 2);
  assert_int_equal(store_answers(store, second, 0).message, 1);
  assert_int_equal(store_answers(store, third, 0).message, 0);
  store_gone(store);
}

static void one_message_may_answer_several_calls(void **state) {
  (void)state;
  Store *store = store_made();
  add_linked(store, "a(x)");
  add_linked(store, "a(yz)");
  MessageId id = add_linked(store, "U(zxyx)");
  const CallLink expected[] = {{2, 1}, {1, 0}, {2, 0}, {0, 0}};
  for (uint32_t i = 0; i < 4; i++) {
    assert_int_equal(store_answers(store, id, i).message, expected[i].message);
    assert_int_equal(store_answers(store, id, i).call, expected[i].call);
  }
  store_gone(store);
}

/* As k-th responses answer k-th calls of a name that have no ids. */
static void of_equal_calls_in_a_message_the_first_is_answered_first(void **state) {
  (void)state;
  Store *store = store_made();
  add_linked(store, "a(xyx)");
  StoreMark mark = store_mark(store);
  MessageId first = add_linked(store, "t(x)"), second = add_linked(store, "U(xy)");
  assert_int_equal(store_answers(store, first, 0).call, 0);
  assert_int_equal(store_answers(store, second, 0).call, 2);
  assert_int_equal(store_answers(store, second, 1).call, 1);
  store_rewind(store, mark);
  assert_waiting(store, 'x', 1, 0);
  store_check(store);
  store_gone(store);
}

static void a_legacy_call_is_found_by_its_name(void **state) {
  (void)state;
  Store *store = store_made();
  add_linked(store, "f(x)");
  MessageId answer = add_linked(store, "g(x)");
  assert_int_equal(store_answers(store, answer, 0).message, 1);
  assert_true(text_equal(message_role_text(store_message(store, answer)), text_of("function")));
  assert_waiting(store, 'x', 0, 0);
  store_gone(store);
}

static void a_replacement_has_the_origin_of_the_first(void **state) {
  (void)state;
  Store *store = store_made();
  for (int i = 0; i < 4; i++) add(store, i == 2 ? "a(x)" : "u3");
  assert_int_equal(store_origin(store, 1), 1);
  assert_int_equal(store_replace(store, 2, 1), STATUS_OK);
  assert_int_equal(store_replace(store, 3, 2), STATUS_OK);
  assert_int_equal(store_origin(store, 2), 1);
  assert_int_equal(store_origin(store, 3), 1);
  assert_int_equal(store_origin(store, 4), 4);
  assert_int_equal(message_call_count(store_message(store, 3)), 1);
  store_gone(store);
}

/* An inserted one has the anchor of the one before, and yet another rank. */
static void the_one_before_does_not_stand_in_for_an_inserted_one(void **state) {
  (void)state;
  Fail own = {0};
  Conversation *chat = chat_of(&own, "u1 a1");
  assert_int_equal(put(chat, WORDS_INSERT, 1, "u5"), STATUS_OK);
  assert_int_equal(store_rank(conversation_store(chat), 3).anchor, 1);
  Sequence *list;
  assert_int_equal(sequence_share(conversation_list(chat), &list), STATUS_OK);
  assert_true(sequence_is_ranked(list));
  assert_int_equal(sequence_replace(&list, 0, 3), STATUS_OK);      /* 3 3 2 */
  assert_false(sequence_is_ranked(list));
  sequence_check(list);
  sequence_release(list);
  conversation_free(chat);
  assert_int_equal(own.in_use, 0);
}

/* Each beside the last one inserted, before or behind it, or anywhere: however
   they come, ranks rise; only between the last two there is room for some forty. */
static void inserted_messages_rank_between_their_neighbours(void **state) {
  (void)state;
  enum { BESIDE = 3000, BETWEEN = 41 };
  for (int way = 0; way < 3; way++) {
    Store *store = store_made();
    add(store, "u1");
    add(store, "u2");
    Rank low = store_rank(store, 1), high = store_rank(store, 2);
    for (uint32_t i = 0; i < (way == 2 ? BETWEEN : BESIDE); i++) {
      MessageId id = add(store, "u3");
      assert_int_equal(store_insert(store, id, low, high), STATUS_OK);
      Rank rank = store_rank(store, id);
      assert_true(store_is_moved(store, id) && rank_below(low, rank) && rank_below(rank, high));
      if (way == 0 || (way == 2 && i % 2 == 0)) low = rank;
      else high = rank;
    }
    StoreMark mark = store_mark(store);
    MessageId id = add(store, "u4");
    assert_int_equal(store_insert(store, id, low, high), STATUS_OK);
    store_rewind(store, mark);
    assert_int_equal(add(store, "u4"), id);
    assert_false(store_is_moved(store, id));       /* what was taken back is forgotten */
    Rank same = {.anchor = 1, .step = 7}, next = {.anchor = 1, .step = 8};
    assert_int_equal(store_insert(store, id, same, next), STATUS_OK);
    assert_false(store_is_moved(store, id));       /* no room */
    assert_int_equal(store_rank(store, id).anchor, id);
    store_gone(store);
  }
}

static void times_are_kept_or_the_message_is_not(void **state) {
  (void)state;
  Store *store = store_made();
  MessageShape shape = {.role = ROLE_USER, .has_timestamp = true, .timestamp = -5};
  MessageId id;
  add(store, "u1");
  fail.fail_at = fail.calls + 1;         /* the times of the first segment */
  assert_int_equal(store_add(store, text_of("{}"), false, &shape, &id), STATUS_MEMORY);
  fail.fail_at = 0;
  assert_int_equal(store_count(store), 1);
  for (uint32_t i = 0; i < 200; i++) {   /* over several segments */
    shape.has_timestamp = i % 3 == 0;
    shape.timestamp = (int64_t)i << 40;
    assert_int_equal(store_add(store, text_of("{}"), false, &shape, &id), STATUS_OK);
    assert_int_equal(id, i + 2);
  }
  for (uint32_t i = 0; i < 200; i += 3) assert_int_equal(store_time(store, i + 2), (int64_t)i << 40);
  store_gone(store);
}

static void a_second_answer_that_goes_again_leaves_the_first(void **state) {
  (void)state;
  Store *store = store_made();
  add_linked(store, "a(x)");
  add_linked(store, "t(x)");
  StoreMark mark = store_mark(store);
  store_link(store, add(store, "t(x)"), 0, (CallLink){1, 0});     /* as a replacement does, or another fork */
  store_rewind(store, mark);
  assert_waiting(store, 'x', 0, 0);
  store_gone(store);
}

/* ---- against looking at everything ---- */

#define MARKS 40

typedef struct Run {
  Store *store;
  PlainStore plain;
  StoreMark marks[MARKS];
  uint32_t mark_count;
} Run;

static bool is_answered(const PlainStore *plain, MessageId caller, uint32_t call) {
  for (MessageId id = 1; id <= plain->count; id++) {
    if (plain_answers(plain, id, caller, call)) return true;
  }
  return false;
}

static CallLink plain_waiting(const PlainStore *plain, char key, MessageId before) {
  for (MessageId id = plain->count; id > 0; id--) {
    const char *calls = plain_calls(&plain->messages[id]);
    for (uint32_t call = 0; calls[call] != '\0'; call++) {
      if (id < before && calls[call] == key && !is_answered(plain, id, call)) return (CallLink){id, call};
    }
  }
  return (CallLink){0, 0};
}

static void check(const Run *run) {
  store_check(run->store);
  assert_int_equal(store_count(run->store), run->plain.count);
  for (const char *key = "xyz"; *key != '\0'; key++) {
    MessageId befores[] = {UINT32_MAX, 1 + below(run->plain.count + 1)};
    for (int i = 0; i < 2; i++) {
      CallLink expected = plain_waiting(&run->plain, *key, befores[i]);
      CallLink found = store_waiting(run->store, text_plain(key, 1), befores[i]);
      assert_int_equal(found.message, expected.message);
      assert_int_equal(found.call, expected.call);
    }
  }
}

/* Mostly the waiting call; now and then any call of the id, which another result
   may have answered: replacements and forks link so. */
static CallLink choose_link(const Run *run, char key, MessageId before) {
  if (!one_in(5)) return store_waiting(run->store, text_plain(&key, 1), before);
  MessageId id = 1 + below(before);
  if (id == before) return (CallLink){0, 0};
  const char *calls = plain_calls(&run->plain.messages[id]), *at = strchr(calls, key);
  return at == NULL ? (CallLink){0, 0} : (CallLink){id, (uint32_t)(at - calls)};
}

static void add_random(Run *run) {
  Word word = {.kind = "aaafttUug"[below(9)], .size = below(30), .fill = 'x'};
  uint32_t ids = word.kind == 'a' || word.kind == 'U' ? 1 + below(WORD_IDS) : word.kind != 'u';
  for (uint32_t i = 0; i < ids; i++) word.ids[i] = (char)('x' + below(3));
  MessageId id;
  assert_int_equal(add_word(run->store, word, &id), STATUS_OK);
  run->plain.count++;
  Plain *plain = &run->plain.messages[id];
  *plain = (Plain){.word = word, .origin = id};
  for (uint32_t i = 0; i < strlen(plain_results(plain)); i++) {
    CallLink link = choose_link(run, plain_results(plain)[i], id);
    store_link(run->store, id, i, link);
    plain->links[i] = link;
  }
}

static void rewind_random(Run *run) {
  run->mark_count -= 1 + below(run->mark_count);
  store_rewind(run->store, run->marks[run->mark_count]);
  run->plain.count = run->marks[run->mark_count].count;
}

static void waiting_calls_agree_with_looking_at_everything(void **state) {
  (void)state;
  uint32_t steps = test_steps(8000);
  static Run run;
  while (steps > 0) {
    run = (Run){.store = store_made()};
    for (uint32_t i = 0; i < 400 && steps > 0; i++, steps--) {
      uint32_t what = below(10);
      if (what == 0 && run.mark_count < MARKS) run.marks[run.mark_count++] = store_mark(run.store);
      else if (what == 1 && run.mark_count > 0) rewind_random(&run);
      else if (run.plain.count < 120) add_random(&run);
      check(&run);
    }
    store_gone(run.store);
  }
}

static void without_memory_nothing_is_added(void **state) {
  (void)state;
  static const char *const words[] = {"a20(xyzx)", "U100(xyz)", "u500", "f(y)"};
  for (size_t fill = 0; fill < 70; fill += 3) {
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
      Store *store = store_made();
      for (size_t i = 0; i < fill; i++) add(store, "a(y)");
      bool done = false;
      for (size_t k = 1; !done; k++) {
        const char *text = words[w];
        MessageId id;
        fail.fail_at = fail.calls + k;
        fail.once = true;
        Status status = add_word(store, word_parse(&text), &id);
        fail.fail_at = 0;
        done = status == STATUS_OK;
        if (done) break;
        assert_int_equal(status, STATUS_MEMORY);
        assert_int_equal(store_count(store), fill);
        assert_waiting(store, 'y', (MessageId)fill, 0);
        assert_waiting(store, 'x', 0, 0);
      }
      store_gone(store);
    }
  }
}

/* ---- messages that another store lends ---- */

/* A store without messages that shares the bytes of `lender`, and hashes by another key. */
static Store *borrower_of(const Store *lender) {
  Memory memory = fail_memory(&fail);
  Store *store;
  assert_int_equal(store_new(&memory, (HashKey){{7, 9}}, &store), STATUS_OK);
  store_share_bytes_of(store, lender);
  return store;
}

/* Adds a message with the calls a to j, which is more than are found without sorted keys. */
static MessageId add_ten_calls(Store *store) {
  char json[2048];
  MessageShape shape;
  MessageId id;
  Reader reader;
  Json cursor;
  Text raw;
  int size = snprintf(json, sizeof json, "{\"role\":\"assistant\",\"tool_calls\":[");
  for (char c = 'a'; c <= 'j'; c++) {
    size += snprintf(json + size, sizeof json - (size_t)size,
                     "%s{\"id\":\"%c\",\"function\":{\"name\":\"f\",\"arguments\":\"\"}}", c > 'a' ? "," : "", c);
  }
  size += snprintf(json + size, sizeof json - (size_t)size, "]}");
  reader_init(&reader, memory_system());
  json_open(&cursor, json, (size_t)size);
  assert_true(reader_message(&reader, &cursor, &raw, &shape));
  assert_int_equal(store_add(store, raw, false, &shape, &id), STATUS_OK);
  reader_free(&reader);
  return id;
}

static void a_borrowed_message_has_the_lenders_bytes_and_links_of_its_own(void **state) {
  (void)state;
  Store *lender = store_made();
  uint32_t call;
  MessageId id, caller = add_ten_calls(lender), answer = add_linked(lender, "t(i)");
  store_weigh(lender, caller, 12);
  assert_int_equal(store_replace(lender, add(lender, "u5"), caller), STATUS_OK);
  Store *store = borrower_of(lender);

  assert_int_equal(store_borrow(store, lender, 3, true, &id), STATUS_OK);
  assert_int_equal(store_origin(store, id), id);
  assert_int_equal(store_borrow(store, lender, answer, true, &id), STATUS_OK);
  assert_int_equal(store_answers(store, id, 0).message, 0);
  assert_int_equal(store_borrow(store, lender, caller, false, &id), STATUS_OK);
  assert_int_equal(message_tokens(store_message(store, id)), 0);
  assert_int_equal(store_borrow(store, lender, caller, true, &id), STATUS_OK);
  assert_int_equal(message_tokens(store_message(store, id)), 12);
  assert_ptr_equal(message_raw(store_message(store, id)).bytes, message_raw(store_message(lender, caller)).bytes);
  assert_waiting(store, 'i', 4, 8);
  assert_true(store_call(store, id, (CallLink){.message = id, .call = 0}, 2, 0, &call));   /* by the sorted keys */
  assert_int_equal(call, 8);
  assert_waiting(lender, 'i', 0, 0);
  store_check(store);

  store_release(lender);
  assert_int_equal(message_call_count(store_message(store, id)), 10);
  assert_true(text_equal(message_call_key(store_message(store, id), 9), text_of("j")));
  store_gone(store);
}

static void without_memory_nothing_is_borrowed(void **state) {
  (void)state;
  Store *lender = store_made();
  add_ten_calls(lender);
  bool done = false;
  for (size_t k = 1; !done; k++) {
    Store *store = borrower_of(lender);
    MessageId id;
    fail.fail_at = fail.calls + k;
    fail.once = true;
    Status status = store_borrow(store, lender, 1, true, &id);
    fail.fail_at = 0;
    done = status == STATUS_OK;
    if (!done) assert_int_equal(status, STATUS_MEMORY);
    assert_int_equal(store_count(store), done);
    store_check(store);
    store_release(store);
  }
  store_gone(lender);
}

static void a_store_without_messages_has_no_bytes_to_share(void **state) {
  (void)state;
  Store *store = store_made();
  assert_null(store_share_bytes(store));
  add(store, "u5");
  Arena *bytes = store_share_bytes(store);
  assert_non_null(bytes);
  store_release(store);
  assert_true(fail.in_use > 0);
  arena_release(bytes);
  assert_int_equal(fail.in_use, 0);
}

/* A host may make a message without the place of its role. */
static void a_role_without_a_place_has_its_usual_spelling(void **state) {
  (void)state;
  Store *store = store_made();
  MessageShape shape = {.role = ROLE_USER};
  MessageId id;
  Text spelling;
  assert_int_equal(store_add(store, text_of("{}"), false, &shape, &id), STATUS_OK);
  assert_false(message_field(store_message(store, id), FIELD_SPELLING, &spelling));
  assert_int_equal(message_role(store_message(store, id)), ROLE_USER);
  store_gone(store);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_store_without_messages_has_no_bytes_to_share),
    cmocka_unit_test(a_role_without_a_place_has_its_usual_spelling),
    cmocka_unit_test(a_borrowed_message_has_the_lenders_bytes_and_links_of_its_own),
    cmocka_unit_test(without_memory_nothing_is_borrowed),
    cmocka_unit_test(addresses_stay_while_the_store_grows),
    cmocka_unit_test(copies_are_the_stores_own_and_adopted_bytes_stay_where_they_are),
    cmocka_unit_test(a_rewind_frees_what_was_adopted_since),
    cmocka_unit_test(the_limits_of_one_message_are_refused),
    cmocka_unit_test(the_nearest_waiting_call_of_an_id_is_found),
    cmocka_unit_test(one_message_may_answer_several_calls),
    cmocka_unit_test(of_equal_calls_in_a_message_the_first_is_answered_first),
    cmocka_unit_test(a_legacy_call_is_found_by_its_name),
    cmocka_unit_test(a_replacement_has_the_origin_of_the_first),
    cmocka_unit_test(inserted_messages_rank_between_their_neighbours),
    cmocka_unit_test(the_one_before_does_not_stand_in_for_an_inserted_one),
    cmocka_unit_test(times_are_kept_or_the_message_is_not),
    cmocka_unit_test(a_second_answer_that_goes_again_leaves_the_first),
    cmocka_unit_test(waiting_calls_agree_with_looking_at_everything),
    cmocka_unit_test(without_memory_nothing_is_added),
  };
  chance = test_seed();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
