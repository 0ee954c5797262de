/*
** Word search, by rows and against a search of each word at each place.
*/
#include "check.h"

#include <ctype.h>
#include <stdlib.h>

#include "core/message/store.h"
#include "core/message/word_search.h"
#include "dialect/read/reader.h"

static const HashKey KEY = {{1, 2}};

/* The naive rule: the bytes stand somewhere with no letter or digit right before or behind. */
static bool stands(const char *text, size_t size, Text word) {
  for (size_t at = 0; word.size > 0 && at + word.size <= size; at++) {
    size_t end = at + word.size;
    if (memcmp(text + at, word.bytes, word.size) != 0) continue;
    if (at > 0 && (unsigned char)text[at - 1] < 128 && isalnum((unsigned char)text[at - 1])) continue;
    if (end < size && (unsigned char)text[end] < 128 && isalnum((unsigned char)text[end])) continue;
    return true;
  }
  return false;
}

static void words_stand_by_themselves(void **state) {
  (void)state;
  static const struct {
    const char *text, *word;
    bool found;
  } rows[] = {
    {"order (4821) is late", "4821", true},
    {"order 14821 is late", "4821", false},
    {"order 48210 is late", "4821", false},
    {"{\"id\": \"gift_card_6847880\"}", "gift_card_6847880", true},
    {"{\"id\": \"my_gift_card_6847880\"}", "gift_card_6847880", true},
    {"on 2024-05-21 and 2024-05-22", "2024-05-22", true},
    {"on 2024-05-21 and 2024-05-22", "2024-05-2", false},
    {"see /srv/a.txt, please", "/srv/a.txt", true},
    {"see x/srv/a.txt, please", "/srv/a.txt", false},
    {"281 Spruce Street", "Spruce Street", true},
    {"我的订单号是W-2041，谢谢", "订单号", true},
    {"我的订单号是W-2041，谢谢", "订单号是W-2041", true},
    {"我的订单", "订单号", false},
    {"a --- b", "---", true},
    {"anything", "", false},
    {"", "word", false},
    {"word", "word", true},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    Text word = text_of(rows[i].word);
    WordSearch search;
    assert_int_equal(word_search_init(&search, memory_system(), KEY, &word, 1), STATUS_OK);
    assert_int_equal(word_search_text(&search, text_of(rows[i].text)), STATUS_OK);
    if (word_search_found(&search, 0) != rows[i].found) fail_msg("%s in %s", rows[i].word, rows[i].text);
    word_search_free(&search);
  }
}

static void escaped_texts_are_decoded(void **state) {
  (void)state;
  Text word = text_of("W-2041");
  WordSearch search;
  assert_int_equal(word_search_init(&search, memory_system(), KEY, &word, 1), STATUS_OK);
  assert_int_equal(word_search_text(&search, (Text){"line\\nW-2041", 12, true}), STATUS_OK);
  assert_true(word_search_found(&search, 0));
  word_search_free(&search);
}

/* Appends up to `most` random characters of few kinds, so that heads collide and words lie within each other. */
static size_t random_text(char *bytes, int most) {
  static const char *const letters[] = {"a", "b", "1", "-", "_", " ", "\xc3\xa9", "\xe5\x8f\xb7"};
  size_t size = 0;
  for (int n = rand() % (most + 1); n > 0; n--) {
    const char *letter = letters[rand() % 8];
    memcpy(bytes + size, letter, strlen(letter));
    size += strlen(letter);
  }
  return size;
}

static void random_texts_agree_with_a_plain_search(void **state) {
  (void)state;
  enum { WORDS = 40, WORD = 7, TEXT = 200 };
  char bytes[WORDS][3 * WORD], text[3 * TEXT];
  Text words[WORDS];
  srand(7);
  for (int round = 0; round < 2000; round++) {
    for (int i = 0; i < WORDS; i++) words[i] = text_plain(bytes[i], random_text(bytes[i], WORD));
    size_t size = random_text(text, TEXT);
    WordSearch search;
    assert_int_equal(word_search_init(&search, memory_system(), KEY, words, WORDS), STATUS_OK);
    assert_int_equal(word_search_text(&search, text_plain(text, size)), STATUS_OK);
    for (uint32_t i = 0; i < WORDS; i++) {
      assert_int_equal(word_search_found(&search, i), stands(text, size, words[i]));
    }
    word_search_free(&search);
  }
}

static void without_memory_nothing_is_owned(void **state) {
  (void)state;
  Text words[] = {text_of("one"), text_of("two"), text_of("three")};
  for (uint64_t at = 1;; at++) {
    Fail fail = {.fail_at = at};
    WordSearch search;
    Status status = word_search_init(&search, fail_memory(&fail), KEY, words, 3);
    if (status == STATUS_OK) status = word_search_text(&search, (Text){"\\n two", 6, true});
    bool done = status == STATUS_OK;
    if (done) assert_true(word_search_found(&search, 1));
    else assert_int_equal(status, STATUS_MEMORY);
    word_search_free(&search);
    assert_int_equal(fail.in_use, 0);
    if (done) break;
  }
}

/* The word stands in the second text; the first one needs memory to be decoded. */
static void without_memory_a_message_is_not_searched(void **state) {
  (void)state;
  static const char json[] = "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"line\\nline\"},"
                             "{\"type\":\"text\",\"text\":\"two\"}]}";
  Text words[] = {text_of("two"), text_of("three")}, raw;
  Fail fail = {0};
  Memory memory = memory_system();
  Reader reader;
  MessageShape shape;
  MessageId id;
  Json cursor;
  Store *store;
  WordSearch search;
  reader_init(&reader, memory);
  json_open(&cursor, json, sizeof json - 1);
  assert_true(reader_message(&reader, &cursor, &raw, &shape));
  assert_int_equal(store_new(&memory, KEY, &store), STATUS_OK);
  assert_int_equal(store_add(store, raw, true, &shape, &id), STATUS_OK);
  reader_free(&reader);
  assert_int_equal(word_search_init(&search, fail_memory(&fail), KEY, words, 2), STATUS_OK);
  fail.fail_at = 1;
  assert_int_equal(word_search_message(&search, store_message(store, id)), STATUS_MEMORY);
  assert_false(word_search_found(&search, 0));
  fail.fail_at = 0;
  assert_int_equal(word_search_message(&search, store_message(store, id)), STATUS_OK);
  assert_true(word_search_found(&search, 0));
  assert_false(word_search_found(&search, 1));
  word_search_free(&search);
  store_release(store);
  assert_int_equal(fail.in_use, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(words_stand_by_themselves),
    cmocka_unit_test(escaped_texts_are_decoded),
    cmocka_unit_test(random_texts_agree_with_a_plain_search),
    cmocka_unit_test(without_memory_nothing_is_owned),
    cmocka_unit_test(without_memory_a_message_is_not_searched),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
