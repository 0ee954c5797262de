/*
** Messages of so many calls that these are found by sorted keys (CALLS_FEW), and of more than a set of bits tells of
** (STORE_CALLS_MAX): which call a result answers, also once the message is replaced.
*/
#define _GNU_SOURCE /* open_memstream */
#include "conversation_kit.h"

#include "core/list/call_links.h"

#define MANY 9

/* Calls with ids "<id>0", "<id>1", ..., or without, of functions "<name>0", "<name>1", ...; `first`: the number of the
   first one, to which the others follow in a ring. The caller frees it. */
static char *calls(uint32_t count, uint32_t first, const char *id, const char *name) {
  char *json;
  size_t size;
  FILE *out = open_memstream(&json, &size);
  fprintf(out, "{\"role\":\"assistant\",\"tool_calls\":[");
  for (uint32_t i = 0; i < count; i++) {
    unsigned number = (unsigned)((i + first) % count);
    fprintf(out, "%s{", i == 0 ? "" : ",");
    if (id != NULL) fprintf(out, "\"id\":\"%s%u\",", id, number);
    fprintf(out, "\"type\":\"function\",\"function\":{\"name\":\"%s%u\",\"arguments\":\"{}\"}}", name, number);
  }
  fprintf(out, "]}");
  fclose(out);
  return json;
}

static void put_calls(Conversation *chat, uint32_t count, const char *id, const char *name) {
  char *json = calls(count, 0, id, name);
  assert_int_equal(put_json(chat, WORDS_APPEND, 0, json), STATUS_OK);
  free(json);
}

/* Replaces the message at position 1, whose calls are turned by one. */
static void replace_calls(Conversation *chat, uint32_t count, const char *id, const char *name) {
  char *json = calls(count, 1, id, name);
  assert_int_equal(put_json(chat, WORDS_REPLACE, 1, json), STATUS_OK);
  free(json);
}

/* The call of `caller` that result `result` of message `id` answers by its link; -1: none. */
static int answered(const Conversation *chat, MessageId id, uint32_t result, MessageId caller) {
  const Store *store = conversation_store(chat);
  uint32_t call;
  return store_call(store, caller, store_answers(store, id, result), id, result, &call) ? (int)call : -1;
}

/* ---- a replaced message ---- */

typedef struct Replaced {
  const char *shows;
  uint32_t count;            /* of the calls, before and afterwards */
  const char *before;        /* their ids before, of f0, f1, ... */
  const char *id, *name;     /* of the calls afterwards, turned by one */
  const char *result;
  int call;                  /* of the new message, that the result answers */
} Replaced;

#define BY_ID   "{\"role\":\"tool\",\"tool_call_id\":\"c5\",\"content\":\"x\"}"
#define BY_NAME "{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"name\":\"f5\",\"response\":{}}}]}"
#define BY_BOTH "{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"id\":\"c5\",\"name\":\"f5\",\"response\":{}}}]}"

static const Replaced REPLACED[] = {
  {"the same ids", MANY, "c", "c", "g", BY_ID, 4},
  {"other ids", MANY, "c", "d", "f", BY_ID, -1},
  {"no ids", MANY, "c", NULL, "f", BY_ID, -1},
  {"no ids, and a result with a name", MANY, "c", NULL, "f", BY_BOTH, 4},
  {"no ids, and a result of another name", MANY, "c", NULL, "g", BY_BOTH, -1},
  {"other ids, and a result without one", MANY, "c", "d", "f", BY_NAME, 4},
  {"other ids and names, and a result without an id", MANY, "c", "d", "g", BY_NAME, -1},
  {"more calls than are looked at one by one", STORE_CALLS_MAX + 1, NULL, "d", "f", BY_NAME, -1},
};

static void a_result_finds_its_call_in_a_replacement(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof REPLACED / sizeof *REPLACED; i++) {
    const Replaced *row = &REPLACED[i];
    Fail fail = {0};
    Conversation *chat = chat_of(&fail, "u");
    put_calls(chat, row->count, row->before, "f");
    assert_int_equal(put_json(chat, WORDS_APPEND, 0, row->result), STATUS_OK);
    assert_link(chat, 3, 0, 2, 5);
    replace_calls(chat, row->count, row->id, row->name);
    assert_int_equal(answered(chat, 3, 0, 2), 5);
    if (answered(chat, 3, 0, 4) != row->call) fail_msg("%s: call %d", row->shows, answered(chat, 3, 0, 4));
    conversation_check(chat);
    conversation_free(chat);
    assert_int_equal(fail.in_use, 0);
  }
}

/* Many results, so that keys before, between and behind all others are looked for. */
static void unknown_ids_are_not_found(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "u");
  put_calls(chat, 100, "c", "f");
  char json[120];
  for (int i = 0; i < 100; i++) {
    snprintf(json, sizeof json, "{\"role\":\"tool\",\"tool_call_id\":\"c%d\",\"content\":\"\"}", i);
    assert_int_equal(put_json(chat, WORDS_APPEND, 0, json), STATUS_OK);
    assert_link(chat, (MessageId)i + 3, 0, 2, (uint32_t)i);
  }
  replace_calls(chat, MANY, "other", "f");
  for (MessageId id = 3; id < 103; id++) assert_int_equal(answered(chat, id, 0, 103), -1);
  conversation_check(chat);
  conversation_free(chat);
}

typedef struct Hashed {
  uint32_t hash;
  int number;
} Hashed;

static int by_hash(const void *a, const void *b) {
  const Hashed *x = a, *y = b;
  return x->hash < y->hash ? -1 : x->hash > y->hash;
}

/* Two numbers that have equal hashes with a 0 behind each: of 400,000 there are some twenty such pairs. */
static void find_equal_hashes(const HashKey *key, int numbers[2]) {
  enum { TRIED = 400000 };
  Hashed *list = malloc(TRIED * sizeof *list);
  for (int i = 0; i < TRIED; i++) {
    char text[16];
    snprintf(text, sizeof text, "%d0", i);
    list[i] = (Hashed){.hash = (uint32_t)hash_text(text_of(text), key), .number = i};
  }
  qsort(list, TRIED, sizeof *list, by_hash);
  int at = 1;
  while (list[at].hash != list[at - 1].hash) assert_true(++at < TRIED);
  numbers[0] = list[at - 1].number;
  numbers[1] = list[at].number;
  free(list);
}

static void ids_with_equal_hashes_are_told_apart(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "u");
  char before[16], now[16], result[120];
  int numbers[2];
  find_equal_hashes(store_hash_key(conversation_store(chat)), numbers);
  snprintf(before, sizeof before, "%d", numbers[0]);
  snprintf(now, sizeof now, "%d", numbers[1]);
  snprintf(result, sizeof result, "{\"role\":\"tool\",\"tool_call_id\":\"%s0\",\"content\":\"\"}", before);
  put_calls(chat, MANY, before, "f");
  assert_int_equal(put_json(chat, WORDS_APPEND, 0, result), STATUS_OK);
  assert_link(chat, 3, 0, 2, 0);
  replace_calls(chat, MANY, now, "f");
  assert_int_equal(answered(chat, 3, 0, 4), -1);
  conversation_check(chat);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
}

/* Of calls with one id the first waits above the others; who looks below the message passes all of them. */
static void below_a_message_is_below_all_its_calls_of_the_id(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "u a(x)");
  char *json;
  size_t size;
  FILE *out = open_memstream(&json, &size);
  fprintf(out, "{\"role\":\"assistant\",\"tool_calls\":[");
  for (int i = 0; i < MANY; i++) {
    fprintf(out, "%s{\"id\":\"%s\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}",
            i == 0 ? "" : ",", i % 2 == 0 ? "x" : "y");
  }
  fprintf(out, "]}");
  fclose(out);
  assert_int_equal(put_json(chat, WORDS_APPEND, 0, json), STATUS_OK);
  free(json);
  const Store *store = conversation_store(chat);
  CallLink link = store_waiting(store, text_of("x"), UINT32_MAX);
  assert_int_equal(link.message, 3);
  assert_int_equal(link.call, 0);
  assert_int_equal(store_waiting(store, text_of("x"), 3).message, 2);
  assert_int_equal(store_waiting(store, text_of("y"), 3).message, 0);
  conversation_check(chat);
  conversation_free(chat);
}

/* ---- results without ids ---- */

typedef struct Named {
  const char *shows;
  uint32_t calls, between;   /* calls of f0, f1, ...; results of f0, f1, ... before that of f<last> */
  uint32_t results;          /* of the last message, of which the last one is looked at */
  bool has_call;
} Named;

/* Each message is looked for among those right before it: at most CALLS_NAMED_MAX, of at most STORE_CALLS_MAX calls
   and results each. Behind a limit the call is found by its name's hash instead. */
static const Named NAMED[] = {
  {"right behind", 3, 0, 1, true},
  {"behind results", 10, 9, 1, true},
  {"as many messages as are looked at", 40, CALLS_NAMED_MAX - 1, 1, true},
  {"one more", 40, CALLS_NAMED_MAX, 1, false},
  {"as many calls as are looked at", STORE_CALLS_MAX, 0, 1, true},
  {"one more", STORE_CALLS_MAX + 1, 0, 1, false},
  {"as many results as are looked at", STORE_CALLS_MAX, 0, STORE_CALLS_MAX, true},
  {"one more", STORE_CALLS_MAX, 0, STORE_CALLS_MAX + 1, false},
};

static MessageId put_results(Conversation *chat, uint32_t first, uint32_t count) {
  char *json;
  size_t size;
  FILE *out = open_memstream(&json, &size);
  fprintf(out, "{\"role\":\"user\",\"parts\":[");
  for (uint32_t i = 0; i < count; i++) {
    fprintf(out, "%s{\"functionResponse\":{\"name\":\"f%u\",\"response\":{}}}", i == 0 ? "" : ",",
            (unsigned)(first + i));
  }
  fprintf(out, "]}");
  fclose(out);
  assert_int_equal(put_json(chat, WORDS_APPEND, 0, json), STATUS_OK);
  free(json);
  return store_count(conversation_store(chat));
}

static void a_result_without_an_id_answers_a_call_right_before_it(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof NAMED / sizeof *NAMED; i++) {
    const Named *row = &NAMED[i];
    Fail fail = {0};
    Conversation *chat = chat_of(&fail, "u");
    put_calls(chat, row->calls, "c", "f");
    for (uint32_t k = 0; k < row->between; k++) put_results(chat, k, 1);
    uint32_t position = visible_count(chat);
    MessageId id = put_results(chat, row->between, row->results);
    CallLink link = call_links_named(conversation_store(chat), conversation_list(chat), position, id, row->results - 1);
    if (link.message != (row->has_call ? 2 : 0)) fail_msg("%s: message %u", row->shows, (unsigned)link.message);
    if (row->has_call) assert_int_equal(link.call, row->between + row->results - 1);
    conversation_check(chat);
    conversation_free(chat);
    assert_int_equal(fail.in_use, 0);
  }
}

static void results_too_many_hide_the_calls_before_them(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "u");
  put_calls(chat, 3, "c", "f");
  put_results(chat, 0, STORE_CALLS_MAX + 1);
  MessageId id = put_results(chat, 2, 1);
  CallLink link = call_links_named(conversation_store(chat), conversation_list(chat), 3, id, 0);
  assert_int_equal(link.message, 0);
  conversation_free(chat);
}

/* ---- open calls ---- */

static void calls_are_open_until_the_last_is_answered(void **state) {
  (void)state;
  static const uint32_t counts[] = {1, 2, MANY, STORE_CALLS_MAX - 1, STORE_CALLS_MAX};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    Fail fail = {0};
    Conversation *chat = chat_of(&fail, "u");
    put_calls(chat, counts[i], "c", "f");
    char json[120];
    for (uint32_t call = 0; call <= counts[i]; call++) {
      CallLinks links = call_links_of(conversation_store(chat), conversation_list(chat));
      assert_int_equal(call_links_is_open(&links, 1), call < counts[i]);
      snprintf(json, sizeof json, "{\"role\":\"tool\",\"tool_call_id\":\"c%u\",\"content\":\"\"}", (unsigned)call);
      assert_int_equal(put_json(chat, WORDS_APPEND, 0, json), STATUS_OK);
    }
    conversation_check(chat);
    conversation_free(chat);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_result_finds_its_call_in_a_replacement),
    cmocka_unit_test(unknown_ids_are_not_found),
    cmocka_unit_test(ids_with_equal_hashes_are_told_apart),
    cmocka_unit_test(below_a_message_is_below_all_its_calls_of_the_id),
    cmocka_unit_test(a_result_without_an_id_answers_a_call_right_before_it),
    cmocka_unit_test(results_too_many_hide_the_calls_before_them),
    cmocka_unit_test(calls_are_open_until_the_last_is_answered),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
