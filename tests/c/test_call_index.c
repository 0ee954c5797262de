/*
** The call index against its definition: a series of insertions, replacements and removals
** at places that do not fall, in random lists whose ids repeat; after each, every link is
** that of a search that looks at everything. SEED=n repeats a run, STEPS=n sets its length.
*/
#define _GNU_SOURCE /* open_memstream */
#include "conversation_kit.h"

#define LONGEST 128

typedef struct Series {
  Conversation *chat;
  Sequence *list;
  CallIndex calls;
  uint32_t position;
} Series;

static Word random_word(void) {
  static const char kinds[] = "uaaaatttUU";
  Word word = {.kind = kinds[below(sizeof kinds - 1)], .size = 1, .fill = 'x'};
  uint32_t ids = word.kind == 'u' ? 0 : word.kind == 't' ? 1 : 1 + below(WORD_IDS);
  for (uint32_t i = 0; i < ids; i++) word.ids[i] = (char)('a' + below(3));
  return word;
}

/* ---- the definition ---- */

static bool answers(const Store *store, MessageId id, uint32_t result, MessageId caller, uint32_t call) {
  CallLink link = store_answers(store, id, result);
  uint32_t place;
  if (link.message == 0 || store_origin(store, link.message) != store_origin(store, caller)) return false;
  return store_call(store, caller, link, id, result, &place) && place == call;
}

static bool is_answered(const Series *series, const Place *place, MessageId self, uint32_t result, uint32_t caller,
                        uint32_t call) {
  const Store *store = conversation_store(series->chat);
  MessageId id = sequence_at(series->list, caller);
  for (uint32_t at = 0; at < sequence_count(series->list); at++) {
    MessageId other = sequence_at(series->list, at);
    for (uint32_t i = 0; other != place->replaced && i < message_result_count(store_message(store, other)); i++) {
      if (answers(store, other, i, id, call)) return true;
    }
  }
  for (uint32_t i = 0; i < result; i++) {
    if (answers(store, self, i, id, call)) return true;
  }
  return false;
}

static CallLink find_plainly(const Series *series, const Place *place, MessageId self, uint32_t result) {
  const Store *store = conversation_store(series->chat);
  const Message *message = store_message(store, self);
  Text key = message_text(message, message_result(message, result).id);
  for (uint32_t at = place->position; at-- > 0;) {
    CallLink link = {.message = sequence_at(series->list, at)};
    const Message *caller = store_message(store, link.message);
    for (; link.call < message_call_count(caller); link.call++) {
      if (!text_equal(message_call_key(caller, link.call), key)) continue;
      if (!is_answered(series, place, self, result, at, link.call)) return link;
    }
  }
  return (CallLink){0, 0};
}

static void assert_links(const Series *series, const Place *place, MessageId id) {
  const Store *store = conversation_store(series->chat);
  const Message *message = store_message(store, id), *before = NULL;
  uint32_t count = message_result_count(message);
  if (place->replaced != 0) before = store_message(store, place->replaced);
  bool inherits = before != NULL && count == message_result_count(before);
  for (uint32_t i = 0; i < count && inherits; i++) {
    inherits = text_equal(message_text(message, message_result(message, i).id),
                          message_text(before, message_result(before, i).id));
  }
  for (uint32_t i = 0; i < count; i++) {
    CallLink link = inherits ? store_answers(store, place->replaced, i) : find_plainly(series, place, id, i);
    assert_link(series->chat, id, i, link.message, link.call);
  }
}

/* ---- the steps ---- */

static void put_word(Series *series, MessageId replaced) {
  char room[JSON_ROOM];
  Reader reader;
  MessageShape shape;
  MessageId id;
  Word word = random_word();
  reader_init(&reader, memory_system());
  Text raw = read_word(&reader, &word, room, &shape);
  Place place = {.list = series->list, .position = series->position, .replaced = replaced, .calls = &series->calls};
  assert_int_equal(conversation_store_one(series->chat, &place, raw, false, &shape, &id), STATUS_OK);
  assert_links(series, &place, id);
  assert_int_equal(replaced != 0 ? sequence_replace(&series->list, series->position, id)
                                 : sequence_insert(&series->list, series->position, id), STATUS_OK);
  series->position++;
  reader_free(&reader);
}

static void step(Series *series) {
  uint32_t kind = below(8), count = sequence_count(series->list);
  if (kind == 0 && series->position < count) {
    assert_int_equal(call_index_leave(&series->calls, series->list, series->position), STATUS_OK);
    assert_int_equal(sequence_remove(&series->list, series->position, series->position + 1), STATUS_OK);
  } else if (kind < 3) {
    series->position += below(count - series->position + 1) / 4;
  } else if (kind < 5 && series->position < count) {
    put_word(series, sequence_at(series->list, series->position));
  } else if (count < LONGEST) {
    put_word(series, 0);
  }
}

/* A new chat every few series: its list loses messages between them. */
static void run_series(Fail *fail) {
  Series series = {.chat = chat_of(fail, "u a(abc) t(a)")};
  for (int round = 0; round < 6; round++) {
    assert_int_equal(sequence_share(conversation_list(series.chat), &series.list), STATUS_OK);
    call_index_init(&series.calls, fail_memory(fail));
    series.position = below(sequence_count(series.list) + 1);
    for (uint32_t steps = below(60); steps > 0; steps--) step(&series);
    call_index_free(&series.calls);
    store_check(conversation_store(series.chat));
    uint32_t count = sequence_count(series.list), gone = below(count / 4 + 1);
    assert_int_equal(sequence_remove(&series.list, count / 3, count / 3 + gone), STATUS_OK);
    Status status = conversation_commit(series.chat, series.list, BATCH_REPLACE, text_of("series"), NULL);
    assert_int_equal(status, STATUS_OK);
  }
  conversation_check(series.chat);
  conversation_free(series.chat);
}

static void links_are_those_of_a_plain_search(void **state) {
  (void)state;
  chance = test_seed();
  Fail fail = {0};
  for (uint64_t i = test_setting("STEPS", 6000) / 100; i > 0; i--) run_series(&fail);
  assert_int_equal(fail.in_use, 0);
}

/* Calls of one id before results of another: every search reaches the front of the list. */
static void a_series_of_searches_is_one_walk(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "u");
  for (int i = 0; i < 500; i++) assert_int_equal(put(chat, WORDS_APPEND, 0, "a(x)"), STATUS_OK);
  for (int i = 0; i < 500; i++) assert_int_equal(put(chat, WORDS_APPEND, 0, "t(y)"), STATUS_OK);
  uint32_t count = visible_count(chat);
  CallIndex calls;
  CallLink link;
  call_index_init(&calls, fail_memory(&fail));
  for (int i = 0; i < 500; i++) {
    MessageId result = visible(chat, count - 1);
    Status status = call_index_find(&calls, conversation_list(chat), count, false, result, 0, text_of("y"), &link);
    assert_int_equal(status, STATUS_OK);
    assert_int_equal(link.message, 0);
  }
  assert_int_equal(calls.call_count, 500);
  call_index_free(&calls);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
}

/* ---- without memory ---- */

/* One edit of a series: a word, or a message in JSON, is inserted or replaces the message at a position. */
typedef struct Put {
  uint32_t position;
  bool replaces;
  const char *word;
} Put;

/* The first of these results finds its call by name, without the index, the second one by id. */
#define BY_NAME_AND_ID "{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"name\":\"tool_z\",\"response\":{}}}," \
                       "{\"functionResponse\":{\"id\":\"z\",\"name\":\"f\",\"response\":{}}}]}"

/* In a list of calls and results by turns, far apart, so that the window moves and results ahead are looked at. */
static const Put PUTS[] = {
  {6, false, BY_NAME_AND_ID}, {10, false, "t(z)"}, {40, false, "U(zy)"},
  {62, true, "U(ab)"},        {66, true, "U(ab)"}, {70, true, "U(ab)"},  {74, true, "U(ab)"}, {78, true, "U(ab)"},
  {82, true, "U(ab)"},        {86, true, "U(ba)"}, {90, false, "a(z)"},  {91, true, "t(c)"},  {120, false, "t(z)"},
  {121, true, "u"},
};

static Conversation *chat_of_calls(Fail *fail) {
  Conversation *chat = chat_of(fail, "u");
  for (int i = 0; i < 40; i++) assert_int_equal(put(chat, WORDS_APPEND, 0, "a(abc) U(ab) a(z) t(c)"), STATUS_OK);
  assert_int_equal(put(chat, WORDS_INSERT, 0, "a(y)"), STATUS_OK);      /* so that places are looked for by rank */
  return chat;
}

static Status put_one(Conversation *chat, Sequence **list, CallIndex *calls, const Put *row, MessageId *id) {
  const char *text = row->word;
  char room[JSON_ROOM];
  Reader reader;
  MessageShape shape;
  Text raw;
  reader_init(&reader, memory_system());
  if (*text == '{') {
    assert_true(read_json(&reader, text, &raw, &shape));
  } else {
    Word word = word_parse(&text);
    raw = read_word(&reader, &word, room, &shape);
  }
  Place place = {.list = *list, .position = row->position, .calls = calls,
                 .replaced = row->replaces ? sequence_at(*list, row->position) : 0};
  Status status = conversation_store_one(chat, &place, raw, false, &shape, id);
  reader_free(&reader);
  if (status != STATUS_OK) return status;
  return row->replaces ? sequence_replace(list, row->position, *id) : sequence_insert(list, row->position, *id);
}

/* Writes what the results of the new messages answer. */
static Status put_series(Conversation *chat, char links[1000]) {
  CallIndex calls;
  Sequence *list;
  Status status = sequence_share(conversation_list(chat), &list);
  if (status != STATUS_OK) return status;
  size_t size = 0;
  call_index_init(&calls, *conversation_memory(chat));
  for (size_t i = 0; i < sizeof PUTS / sizeof *PUTS && status == STATUS_OK; i++) {
    MessageId id;
    status = put_one(chat, &list, &calls, &PUTS[i], &id);
    if (status != STATUS_OK) break;
    uint32_t count = message_result_count(conversation_message(chat, id));
    for (uint32_t k = 0; k < count; k++) {
      CallLink link = store_answers(conversation_store(chat), id, k);
      size += (size_t)snprintf(links + size, 1000 - size, "%u.%u: %u.%u\n", (unsigned)id, (unsigned)k,
                               (unsigned)link.message, (unsigned)link.call);
    }
  }
  call_index_free(&calls);
  sequence_release(list);
  return status;
}

static void a_series_fails_without_memory_and_then_succeeds(void **state) {
  (void)state;
  Fail fail = {0};
  char expected[1000] = "", links[1000];
  Conversation *chat = chat_of_calls(&fail);
  assert_int_equal(put_series(chat, expected), STATUS_OK);
  assert_non_null(strstr(expected, ".1: "));
  conversation_free(chat);
  Status status = STATUS_MEMORY;
  for (size_t k = 1; status != STATUS_OK; k++) {
    chat = chat_of_calls(&fail);
    Store *store = conversation_store(chat);
    StoreMark mark = store_mark(store);
    fail.fail_at = fail.calls + k;
    fail.once = true;
    status = put_series(chat, links);
    fail.fail_at = 0;
    if (status != STATUS_OK) {
      assert_int_equal(status, STATUS_MEMORY);
      store_rewind(store, mark);
      store_check(store);
      assert_int_equal(put_series(chat, links), STATUS_OK);
    }
    assert_string_equal(links, expected);
    store_rewind(store, mark);
    conversation_check(chat);
    conversation_free(chat);
  }
  assert_int_equal(fail.in_use, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(links_are_those_of_a_plain_search),
    cmocka_unit_test(a_series_fails_without_memory_and_then_succeeds),
    cmocka_unit_test(a_series_of_searches_is_one_walk),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
