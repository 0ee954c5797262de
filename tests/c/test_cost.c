/*
** What messages cost by their kinds of parts, under an estimator that counts bytes.
** Tables write ' for ".
*/
#include "documents.h"

#define BYTES(n) (((n) + 3) / 4)

static const struct Row {
  const char *shows, *content;
  uint32_t tokens;           /* besides what every message costs */
} rows[] = {
  {"a text", "'12345'", BYTES(5)},
  {"a text part", "[{'type':'text','text':'12345'}]", BYTES(5)},
  {"reasoning", "[{'type':'thinking','thinking':'123456789'}]", BYTES(9)},
  {"an image of unknown size: as of 1024 x 1024", "[{'type':'image_url','image_url':{'url':'data:0123456789'}}]", 765},
  {"a file, by its bytes", "[{'type':'file','file':{'a':1}}]", BYTES(30)},
  {"audio, by its bytes", "[{'type':'input_audio','a':'b'}]", BYTES(30)},
  {"an asset, by its bytes", "[{'type':'asset','id':'0123'}]", BYTES(28)},
  {"an unknown part, by its bytes", "[{'type':'odd','odd':[1,2]}]", BYTES(26)},
  {"a tool use: its name and input", "[{'type':'tool_use','id':'t','name':'look','input':{'a':1}}]", BYTES(4 + 7)},
  {"several, rounded once", "['1','2',{'type':'text','text':'3'}]", BYTES(3)},
};

/* A conversation of one message. */
static Conversation *loaded(Fail *fail, const char *content, Estimator estimator) {
  char text[300];
  Memory memory = fail_memory(fail);
  ConversationConfig config = {.memory = memory, .clock = clock_system(), .counter = counter_of(estimator)};
  DocumentWarnings warnings = {.memory = memory};
  DocumentError error;
  Document document;
  Conversation *conversation;
  int size = snprintf(text, sizeof text, "{\"role\":\"assistant\",\"content\":%s}", quoted(content));
  char *block = memory_new(&memory, (size_t)size);
  memcpy(block, text, (size_t)size);
  assert_int_equal(conversation_new(&config, &conversation), STATUS_OK);
  assert_int_equal(document_load(conversation, &USUAL, block, (size_t)size, (size_t)size, &document, &warnings, &error),
                   STATUS_OK);
  memory_free(&memory, warnings.list, warnings.room * sizeof *warnings.list);
  return conversation;
}

static uint32_t tokens_of(const char *content, Estimator estimator) {
  Fail fail = {0};
  Conversation *conversation = loaded(&fail, content, estimator);
  uint32_t tokens = message_tokens(conversation_message(conversation, 1));
  conversation_free(conversation);
  assert_int_equal(fail.in_use, 0);
  return tokens;
}

static void parts_cost_what_their_kind_says(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    uint32_t tokens = tokens_of(rows[i].content, ESTIMATE_BYTES4);
    if (tokens != 3 + 1 + rows[i].tokens) fail_msg("%s: %u tokens", rows[i].shows, (unsigned)tokens);
  }
}

/* The seed's rule counts text and nothing else. */
static void the_seeds_rule_has_no_framing(void **state) {
  (void)state;
  assert_int_equal(tokens_of("''", ESTIMATE_UTF16_2_5), 0);
  assert_int_equal(tokens_of("'12345'", ESTIMATE_UTF16_2_5), 2);
  assert_int_equal(tokens_of("''", ESTIMATE_BYTES4), 3 + 1);
}

/* What a provider leaves out with the reasoning: not what a tool's result says of its own. */
static void reasoning_is_that_of_the_message(void **state) {
  (void)state;
  static const struct {
    const char *content;
    uint32_t tokens;
  } cases[] = {
    {"'12345'", 0},
    {"[{'type':'thinking','thinking':'123456789'},{'type':'text','text':'1'}]", BYTES(9)},
    {"[{'type':'thinking','thinking':'123456789'}]", BYTES(9) + 3 + 1},
    {"[{'type':'tool_result','tool_use_id':'t','content':[{'type':'thinking','thinking':'123456789'}]}]", 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Fail fail = {0};
    Conversation *conversation = loaded(&fail, cases[i].content, ESTIMATE_BYTES4);
    Cost cost;
    const Message *message = conversation_message(conversation, 1);
    assert_int_equal(cost_of_reasoning(conversation_counter(conversation), message, &cost), STATUS_OK);
    if (cost.tokens != cases[i].tokens) fail_msg("%s: %u tokens", cases[i].content, (unsigned)cost.tokens);
    conversation_free(conversation);
    assert_int_equal(fail.in_use, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(parts_cost_what_their_kind_says),
    cmocka_unit_test(the_seeds_rule_has_no_framing),
    cmocka_unit_test(reasoning_is_that_of_the_message),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
