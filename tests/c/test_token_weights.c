/*
** Tables of token weights without memory and beside each other, and a counter of the host that forks the conversation
** while it counts a message which no list has yet.
*/
#define _GNU_SOURCE /* open_memstream */
#include "draft_kit.h"

#include "core/message/token_weights.h"

/* ---- tables ---- */

static TokenWeights *opened(Conversation *chat, Estimator estimator) {
  Counter counter = counter_of(estimator);
  TokenWeights *weights;
  Store *store = conversation_store(chat);
  assert_int_equal(token_weights_open(store, conversation_memory(chat), &counter, &weights), STATUS_OK);
  return weights;
}

static void what_a_table_has_not_counted_has_its_own_weight(void **state) {
  (void)state;
  static const char image[] =
    "{\"role\":\"user\",\"content\":[{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:0123456789\"}}]}";
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "u40");
  const Store *store = conversation_store(chat);
  TokenWeights *weights = opened(chat, ESTIMATE_CLAUDE);
  assert_int_equal(put_json(chat, WORDS_APPEND, 0, image), STATUS_OK);
  for (MessageId id = 1; id <= 2; id++) {
    assert_int_equal(token_weights_get(weights, store, id), message_tokens(store_message(store, id)));
    assert_int_equal(token_weights_is_guess(weights, store, id), id == 2);
  }
  assert_int_equal(token_weights_guesses(weights, store), 0);
  assert_int_equal(token_weights_fill(weights, conversation_store(chat)), STATUS_OK);
  assert_int_not_equal(token_weights_get(weights, store, 1), message_tokens(store_message(store, 1)));
  assert_false(token_weights_is_guess(weights, store, 1));
  assert_true(token_weights_is_guess(weights, store, 2));
  assert_int_equal(token_weights_guesses(weights, store), 1);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
}

/* Messages 1 and 2 were there before; the other store's later ones follow 2 messages of this one. */
static void weights_are_copied_as_far_as_the_other_table_has_them(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *other = chat_of(&fail, "u10 u20 u30 u40 u60 u80 u99");
  Conversation *chat = chat_of(&fail, "u10 u20 a5 a6 u30 u40 u60 u80 u99 u50");
  TokenWeights *theirs = opened(other, ESTIMATE_CLAUDE), *ours = opened(chat, ESTIMATE_CLAUDE);
  Store *store = conversation_store(chat);
  assert_int_equal(token_weights_fill(theirs, conversation_store(other)), STATUS_OK);
  assert_int_equal(put(other, WORDS_APPEND, 0, "u50"), STATUS_OK);      /* which their table does not count */
  assert_int_equal(token_weights_fill_from(ours, store, theirs, 2, 2), STATUS_OK);
  const Counter counter = counter_of(ESTIMATE_CLAUDE);
  for (MessageId id = 1; id <= store_count(store); id++) {
    Cost cost;
    assert_int_equal(token_weights_count(store, &counter, id, &cost), STATUS_OK);
    assert_int_equal(token_weights_get(ours, store, id), cost.tokens);
  }
  conversation_free(other);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
}

static void tables_are_forked_all_or_none(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "u10 u20");
  for (int i = 0; i < 3; i++) {
    static const Estimator estimators[] = {ESTIMATE_CLAUDE, ESTIMATE_CJK, ESTIMATE_UTF16_2_5};
    assert_int_equal(token_weights_fill(opened(chat, estimators[i]), conversation_store(chat)), STATUS_OK);
  }
  size_t in_use = fail.in_use;
  Store *fork = NULL;
  for (size_t k = 1; fork == NULL; k++) {
    fail.fail_at = fail.calls + k;
    Status status = store_fork(conversation_store(chat), &fork);
    fail.fail_at = 0;
    if (status == STATUS_OK) break;
    assert_int_equal(status, STATUS_MEMORY);
    assert_int_equal(fail.in_use, in_use);
  }
  const Counter counter = counter_of(ESTIMATE_CJK);
  const TokenWeights *weights = token_weights_find(fork, &counter);
  assert_int_equal(token_weights_get(weights, fork, 2), token_weights_get(opened(chat, ESTIMATE_CJK), fork, 2));
  store_release(fork);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
}

/* ---- a counter that forks ---- */

typedef struct Host {
  Fail fail;
  Conversation *chat;
  Conversation *forks[64];
  uint32_t count;
} Host;

static Status count_and_fork(void *user, MessageId id, uint32_t *tokens) {
  Host *host = user;
  *tokens = id;
  if (host->chat == NULL) return STATUS_OK;
  assert_true(host->count < 64);
  Status status = conversation_fork(host->chat, &host->forks[host->count]);
  host->count += status == STATUS_OK;
  return status;
}

typedef struct Counted {
  const char *shows;
  bool first;                /* the first counter forks, else another one that is chosen later */
  WordsCall call;
  const char *words;
} Counted;

static const Counted COUNTED[] = {
  {"append", true, WORDS_APPEND, "a4(x)"},    {"append many", true, WORDS_APPEND, "a4(x) t4(x) u5"},
  {"insert", true, WORDS_INSERT, "u4"},       {"replace", true, WORDS_REPLACE, "a5(x)"},
  {"append, chosen later", false, WORDS_APPEND, "u4 u4"},
  {"insert, chosen later", false, WORDS_INSERT, "u4"},
  {"replace, chosen later", false, WORDS_REPLACE, "u4"},
};

static void open_host(Host *host, const Counted *row) {
  *host = (Host){0};
  Counter forking = {.custom = count_and_fork, .user = host};
  ConversationConfig config = {.memory = fail_memory(&host->fail), .clock = {.now_ms = no_time},
                               .counter = row->first ? forking : counter_of(ESTIMATE_BYTES4)};
  Conversation *chat;
  assert_int_equal(conversation_new(&config, &chat), STATUS_OK);
  assert_int_equal(put(chat, WORDS_APPEND, 0, "u4 u6 a4(y) t4(y)"), STATUS_OK);
  if (!row->first) assert_int_equal(conversation_recount(chat, &forking, (Cost){0}), STATUS_OK);
  host->chat = chat;
}

/* `k`: the allocation of the call that fails; 0: none. */
static Status count_with(Host *host, const Counted *row, size_t k) {
  host->fail.fail_at = k == 0 ? 0 : host->fail.calls + k;
  host->fail.once = true;
  Status status = put(host->chat, row->call, 1, row->words);
  host->fail.fail_at = 0;
  return status;
}

static void close_host(Host *host) {
  Conversation *chat = host->chat;
  host->chat = NULL;
  conversation_check(chat);
  conversation_free(chat);
  for (uint32_t i = 0; i < host->count; i++) {
    conversation_check(host->forks[i]);
    conversation_free(host->forks[i]);
  }
  assert_int_equal(host->fail.in_use, 0);
}

static void a_counter_may_fork_the_conversation(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof COUNTED / sizeof *COUNTED; i++) {
    const Counted *row = &COUNTED[i];
    Status status = STATUS_MEMORY;
    for (size_t k = 1; status != STATUS_OK; k++) {
      Host host;
      open_host(&host, row);
      char *before = snapshot(host.chat, false);
      uint64_t tokens = conversation_tokens(host.chat);
      status = count_with(&host, row, k);
      if (status != STATUS_OK) {
        assert_int_equal(status, STATUS_MEMORY);
        assert_snapshot(host.chat, false, before);
        assert_int_equal(store_count(conversation_store(host.chat)), 4);
        assert_int_equal(count_with(&host, row, 0), STATUS_OK);
      }
      assert_true(conversation_tokens(host.chat) >= tokens);
      for (uint32_t at = 0; at < visible_count(host.chat); at++) {
        MessageId id = visible(host.chat, at);
        uint32_t weight = token_weights_get(sequence_token_weights(conversation_list(host.chat)),
                                            conversation_store(host.chat), id);
        if (weight != id) fail_msg("%s, %zu: seq %u weighs %u", row->shows, k, (unsigned)id, (unsigned)weight);
      }
      for (uint32_t at = 0; at < host.count; at++) assert_snapshot(host.forks[at], false, before);
      free(before);
      close_host(&host);
    }
  }
}

/* A draft that another one outlives is given up behind a fork, which has its additions. */
static void a_draft_that_was_forked_may_be_given_up(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "u4 a4"), *fork;
  Draft *draft, *other;
  MessageId made;
  Hold hold;
  assert_int_equal(draft_new(chat, true, &draft), STATUS_OK);
  assert_int_equal(draft_put(draft, false, 1, "a9", &made, &hold), STATUS_OK);
  assert_int_equal(conversation_fork(chat, &fork), STATUS_OK);
  draft_free(draft);
  assert_int_equal(store_count(conversation_store(chat)), 2);
  assert_int_equal(put(chat, WORDS_APPEND, 0, "u40 a40(x)"), STATUS_OK);
  assert_int_equal(draft_new(chat, true, &other), STATUS_OK);
  conversation_free(chat);
  draft_free(other);
  assert_int_equal(put(fork, WORDS_APPEND, 0, "a5(x) t5(x)"), STATUS_OK);
  assert_link(fork, 5, 0, 4, 0);
  conversation_check(fork);
  conversation_free(fork);
  assert_int_equal(fail.in_use, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(what_a_table_has_not_counted_has_its_own_weight),
    cmocka_unit_test(weights_are_copied_as_far_as_the_other_table_has_them),
    cmocka_unit_test(tables_are_forked_all_or_none),
    cmocka_unit_test(a_counter_may_fork_the_conversation),
    cmocka_unit_test(a_draft_that_was_forked_may_be_given_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
