/*
** Counting whole requests: what parts, images, tools and framing add up to, by
** hand; the same conversation by other counters; and what reports teach.
*/
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include <string.h>

#include "check.h"
#include "conversation_kit.h"

#include "core/draft/draft.h"
#include "document/document.h"

/* ---- requests ---- */

typedef struct Request {
  Fail fail;
  Conversation *chat;
  Document document;
} Request;

/* Tables write ' for ". */
static Status read_request(Request *request, const char *text, Counter counter, size_t fail_at) {
  static const DocumentLimits limits = {.message_bytes_max = MESSAGE_BYTES_MAX, .file_bytes_max = FILE_BYTES_MAX};
  *request = (Request){.fail = {.in_use = 0}};
  Memory memory = fail_memory(&request->fail);
  DocumentWarnings warnings = {.memory = memory};
  DocumentError error;
  size_t size = strlen(text);
  char *bytes = memory_new(&memory, size);
  for (size_t i = 0; i < size; i++) bytes[i] = text[i] == '\'' ? '"' : text[i];
  ConversationConfig config = {.memory = memory, .clock = clock_system(), .counter = counter};
  assert_int_equal(conversation_new(&config, &request->chat), STATUS_OK);
  request->fail.fail_at = fail_at > 0 ? request->fail.calls + fail_at : 0;
  Status status = document_load(request->chat, &limits, bytes, size, size, &request->document, &warnings, &error);
  request->fail.fail_at = 0;
  memory_free(&memory, warnings.list, warnings.room * sizeof *warnings.list);
  if (status != STATUS_OK) {
    conversation_free(request->chat);
    request->chat = NULL;
    memory_free(&memory, bytes, size);
  }
  return status;
}

static void end_request(Request *request) {
  conversation_free(request->chat);
  assert_int_equal(request->fail.in_use, 0);
}

static Cost cost_of_request(const char *text, Counter counter) {
  Request request;
  if (read_request(&request, text, counter, 0) != STATUS_OK) fail_msg("not read: %s", text);
  Trust trust = conversation_trust_by(request.chat, conversation_list(request.chat), &counter, false);
  bool guessed = store_guesses(conversation_store(request.chat)) > 0;
  assert_int_equal(trust, TRUST_ESTIMATED);
  Cost cost = {.tokens = (uint32_t)conversation_tokens(request.chat), .guessed = guessed};
  end_request(&request);
  return cost;
}

#define PNG "iVBORw0KGgoAAAANSUhEUgAAAyAAAAJYCAYAAAA="     /* 800 x 600: 765 by tiles, 638 by area */
#define GIF "R0lGODlhQAHIAPcAAA=="                         /* 320 x 200: 255, 96 */
#define USER "[{'role':'user','content':"

/* By bytes4; 3 for the reply and 4 for the message are in all of them. */
static const struct {
  const char *what, *request, *rule;
  uint32_t tokens;
  bool guessed;
} REQUESTS[] = {
  {"nothing but text", USER "'12345678'}]", "tiles_512", 7 + 2, false},
  {"a name is one and its text", "[{'role':'user','name':'abcd','content':'1234'}]", "tiles_512", 7 + 1 + 2, false},
  {"calls: name and arguments", "[{'role':'assistant','content':null,'tool_calls':[{'id':'a long id','type':'function',"
   "'function':{'name':'abcd','arguments':'{}{}'}},{'id':'b','type':'function','function':{'name':'abcd','arguments':'{}{}'}}]}]",
   "tiles_512", 7 + 4, false},
  {"reasoning and refusal", "[{'role':'assistant','content':'','reasoning_content':'12345678','refusal':'1234'}]", "tiles_512",
   7 + 3, false},
  {"image_url", USER "[{'type':'image_url','image_url':{'url':'data:image/png;base64," PNG "'}}]}]", "tiles_512", 7 + 765, false},
  {"image_url, high", USER "[{'type':'image_url','image_url':{'url':'data:image/png;base64," PNG "','detail':'high'}}]}]",
   "tiles_512", 7 + 765, false},
  {"image_url, low", USER "[{'type':'image_url','image_url':{'detail':'low','url':'data:image/png;base64," PNG "'}}]}]",
   "tiles_512", 7 + 85, false},
  {"input_image of Responses", USER "[{'detail':'low','type':'input_image','image_url':'data:image/png;base64," PNG "'}]}]",
   "tiles_512", 7 + 85, false},
  {"a source of Anthropic's", USER "[{'type':'image','source':{'type':'base64','media_type':'image/png','data':'" PNG "'}}]}]",
   "area", 7 + 638, false},
  {"the same in a tool result", USER "[{'type':'tool_result','tool_use_id':'c','content':[{'type':'text','text':'1234'},"
   "{'type':'image','source':{'type':'base64','media_type':'image/gif','data':'" GIF "'}}]}]}]", "area", 7 + 1 + 96, false},
  {"AIO Hub: imageBase64", USER "[{'type':'image','imageBase64':'" GIF "'}]}]", "tiles_512", 7 + 255, false},
  {"MCP: data", USER "[{'type':'image','mimeType':'image/gif','data':'" GIF "'}]}]", "tiles_258", 7 + 258, false},
  {"an image elsewhere: as of 1024 x 1024", USER "[{'type':'image_url','image_url':{'url':'https://x.org/a.png'}}]}]",
   "tiles_512", 7 + 765, true},
  {"the same by another rule", USER "[{'type':'image','source':{'type':'url','url':'https://x.org/a.png'}}]}]", "area",
   7 + 1369, true},
  {"a detail that is no text", USER "[{'type':'image','imageBase64':'" GIF "','detail':5}]}]", "tiles_512", 7 + 255, false},
  {"low detail costs the same whatever it is", USER "[{'type':'image_url','image_url':{'url':'http://x','detail':'low'}}]}]",
   "tiles_512", 7 + 85, false},
  {"an image that is not there", USER "[{'type':'image'}]}]", "tiles_512", 7 + 765, true},
  {"bad base64", USER "[{'type':'image_url','image_url':{'url':'data:image/png;base64,iVBOR?'}}]}]", "tiles_512", 7 + 765, true},
  {"an odd part counts as its text", USER "[{'type':'odd'}]}]", "tiles_512", 7 + 4, true},
  {"text beside images", USER "[{'type':'text','text':'1234'},{'type':'image','data':'" GIF "'},{'type':'text','text':'1234'}]}]",
   "tiles_512", 7 + 2 + 255, false},
};

static void requests_cost_what_their_parts_do(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof REQUESTS / sizeof *REQUESTS; i++) {
    Counter counter = counter_of(ESTIMATE_BYTES4);
    assert_true(image_rule_parse(REQUESTS[i].rule, &counter.image));
    Cost cost = cost_of_request(REQUESTS[i].request, counter);
    if (cost.tokens != REQUESTS[i].tokens || cost.guessed != REQUESTS[i].guessed) print_error("%s\n", REQUESTS[i].what);
    assert_int_equal(cost.tokens, REQUESTS[i].tokens);
    assert_int_equal(cost.guessed, REQUESTS[i].guessed);
  }
}

/* ---- tools ---- */

#define BYTES(n) (((n) + 3) / 4)
#define F(parameters) "{'type':'function','function':{'name':'abcd','description':'123.','parameters':" parameters "}}"
#define P(properties) "{'type':'object','properties':{" properties "}}"

/* By bytes4: 9, and the text of tool_text.h, of which 47 bytes stand around the declarations; that of F has 32 bytes
   and its properties. */
static const struct {
  const char *what, *tools;
  uint32_t tokens;
  bool guessed;
} TOOLS[] = {
  {"none", "[]", 0, false},
  {"no parameters", "[" F("{'type':'object','properties':{}}") "]", 9 + BYTES(47 + 32), false},
  {"two of them", "[" F("{}") "," F("{}") "]", 9 + BYTES(47 + 64), false},
  {"a function by itself, as in `functions`", "[{'name':'abcd','description':'123.'}]", 9 + BYTES(47 + 32), false},
  {"Anthropic's", "[{'name':'abcd','description':'123.','input_schema':" P("'n':{'type':'string'}") "}]",
   9 + BYTES(47 + 32 + 7 + 11), false},            /* n?: string, and 7 around the properties */
  {"what has no rule is text", "[" F(P("'n':{'type':'string','pattern':12}")) "]",
   9 + BYTES(47 + 32 + 7 + 11 + 10), true},        /* pattern 12 */
  {"a tool that is no function", "[{'type':'web_search'}]", 9 + BYTES(47 + 21), true},
  {"a tool that is no object", "['x']", 9 + BYTES(47 + 3), true},
};

static void tools_cost_the_text_that_a_model_reads(void **state) {
  (void)state;
  Memory memory = memory_system();
  Counter counter = counter_of(ESTIMATE_BYTES4);
  for (size_t i = 0; i < sizeof TOOLS / sizeof *TOOLS; i++) {
    char text[1000];
    size_t size = strlen(TOOLS[i].tools);
    for (size_t k = 0; k <= size; k++) text[k] = TOOLS[i].tools[k] == '\'' ? '"' : TOOLS[i].tools[k];
    JsonValue value = {.kind = JSON_ARRAY, .bytes = text, .size = size};
    Cost cost = {0};
    assert_int_equal(request_member_cost(&counter, &memory, REQUEST_TOOLS, &value, NULL, &cost), STATUS_OK);
    if (cost.tokens != TOOLS[i].tokens || cost.guessed != TOOLS[i].guessed) print_error("%s\n", TOOLS[i].what);
    assert_int_equal(cost.tokens, TOOLS[i].tokens);
    assert_int_equal(cost.guessed, TOOLS[i].guessed);
  }
}

/* Bodies of other dialects beside one that costs the same. */
static void members_of_all_dialects_cost_what_they_say(void **state) {
  (void)state;
  static const char *const pairs[][2] = {
    {"{'contents':[],'tools':[{'functionDeclarations':[{'name':'abcd','description':'123'},{'name':'e'}]}]}",
     "{'messages':[],'tools':[{'name':'abcd','description':'123'},{'name':'e'}]}"},
    {"{'contents':[],'tools':[{'function_declarations':[{'name':'a','parametersJsonSchema':{'properties':"
     "{'b':{'type':'string'}}}}]}]}",
     "{'messages':[],'tools':[{'name':'a','input_schema':{'properties':{'b':{'type':'string'}}}}]}"},
    {"{'contents':[],'systemInstruction':{'parts':[{'text':'be brief'}]}}", "{'messages':[],'system':'be brief'}"},
    {"{'contents':[],'system_instruction':{'parts':{'text':'be brief'}}}", "{'messages':[],'system':'be brief'}"},
    {"{'contents':[],'systemInstruction':12345678}", "{'messages':[],'system':'12345678'}"},
    {"{'input':[],'instructions':'be brief'}", "{'messages':[],'system':'be brief'}"},
    {"{'input':[],'text':{'format':{'type':'text'},'verbosity':'low'}}", "{'messages':[]}"},
    {"{'input':[],'text':{'format':{'type':'json_schema','schema':{'a':1}}}}", "{'messages':[],'response_format':{'a':1}}"},
    {"{'contents':[],'generationConfig':{'temperature':1}}", "{'messages':[]}"},
    {"{'contents':[],'generationConfig':{'responseSchema':{'a':1}}}", "{'messages':[],'response_format':{'a':1}}"},
  };
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    Request one, other;
    assert_int_equal(read_request(&one, pairs[i][0], counter_of(ESTIMATE_BYTES4), 0), STATUS_OK);
    assert_int_equal(read_request(&other, pairs[i][1], counter_of(ESTIMATE_BYTES4), 0), STATUS_OK);
    uint64_t cost = conversation_overhead(one.chat), expected = conversation_overhead(other.chat);
    if (cost != expected) fail_msg("%s: %u, not %u", pairs[i][0], (unsigned)cost, (unsigned)expected);
    end_request(&one);
    end_request(&other);
  }
}

/* ---- other counters ---- */

static const char BODY[] =
  "{'model':'m','tools':[{'name':'abcd','description':'123'}],'messages':[{'role':'system','content':'be brief'},"
  "{'role':'user','content':[{'type':'image_url','image_url':{'url':'http://x'}},{'type':'text','text':'look: 12'}]},"
  "{'role':'assistant','content':'hello, world'},{'role':'user','content':'more of it'}]}";

static uint64_t plain_sum(const Conversation *chat, const Sequence *list, const Counter *counter) {
  uint64_t total = 0;
  for (uint32_t i = 0; i < sequence_count(list); i++) {
    MessageId id = sequence_at(list, i);
    Cost cost;
    assert_int_equal(cost_of_message(counter, conversation_message(chat, id), id, &cost), STATUS_OK);
    total += cost.tokens;
    assert_int_equal(sequence_weight(list, id), cost.tokens);
  }
  Sum sum = sequence_sum(list);
  assert_int_equal(sum_measure(&sum, MEASURE_TOKENS), total);
  sequence_check(list);
  return total;
}

static uint64_t count_by(Request *request, Counter counter) {
  uint64_t tokens;
  assert_int_equal(conversation_count_by(request->chat, conversation_list(request->chat), &counter, &tokens),
                   STATUS_OK);
  return tokens;
}

static Status recount(Conversation *chat, const Document *document, Counter counter) {
  Cost cost;
  Status status = document_overhead(document, chat, &counter, &cost);
  return status == STATUS_OK ? conversation_recount(chat, &counter, cost) : status;
}

static void a_recounted_chat_is_as_if_it_had_been_read_so(void **state) {
  (void)state;
  Counter first = counter_of(ESTIMATE_BYTES4), other = counter_of(ESTIMATE_CJK);
  image_rule_parse("area", &other.image);
  Request request, fresh;
  Conversation *fork;
  assert_int_equal(read_request(&request, BODY, first, 0), STATUS_OK);
  assert_int_equal(read_request(&fresh, BODY, other, 0), STATUS_OK);
  uint64_t before = conversation_tokens(request.chat), after = conversation_tokens(fresh.chat);
  assert_int_not_equal(before, after);

  assert_int_equal(count_by(&request, other) + conversation_overhead(fresh.chat), after);
  assert_int_equal(conversation_tokens(request.chat), before);      /* only asked */
  assert_int_equal(conversation_fork(request.chat, &fork), STATUS_OK);
  uint64_t version = conversation_version(request.chat);
  assert_int_equal(recount(request.chat, &request.document, other), STATUS_OK);
  assert_int_equal(conversation_tokens(request.chat), after);
  assert_true(conversation_version(request.chat) > version);
  assert_int_equal(conversation_tokens(fork), before);              /* stays as it is */
  plain_sum(request.chat, conversation_list(request.chat), &other);
  plain_sum(fork, conversation_list(fork), &first);

  assert_int_equal(recount(request.chat, &request.document, first), STATUS_OK);
  assert_int_equal(conversation_tokens(request.chat), before);
  conversation_check(fork);
  conversation_free(fork);
  end_request(&request);
  end_request(&fresh);
}

/* Edits, batches and rollbacks on both sides of recounts, in a fork and its
   original: every list sums up what its messages cost by its counter. */
static void counters_change_amid_edits(void **state) {
  (void)state;
  Counter counters[] = {counter_of(ESTIMATE_BYTES4), counter_of(ESTIMATE_CJK), counter_of(ESTIMATE_UTF16_2_5)};
  uint64_t random = test_seed();
  for (int round = 0; round < 40; round++) {
    Fail fail = {0};
    Conversation *chats[2] = {chat_of(&fail, "s8 u4 a9 u12 a u")};
    assert_int_equal(conversation_fork(chats[0], &chats[1]), STATUS_OK);
    for (int step = 0; step < 60; step++) {
      Conversation *chat = chats[test_random(&random) % 2];
      uint32_t count = visible_count(chat), batches = history_count(conversation_history(chat));
      switch (test_random(&random) % 6) {
      case 0:
        assert_int_equal(conversation_recount(chat, &counters[test_random(&random) % 3], (Cost){0}), STATUS_OK);
        break;
      case 1: assert_int_equal(put(chat, WORDS_APPEND, 0, "u20 a31"), STATUS_OK); break;
      case 2: put(chat, WORDS_INSERT, (uint32_t)(test_random(&random) % (count + 1)), "u7"); break;
      case 3: operation_truncate(chat, &(Truncate){.has_remove_first = true, .remove_first = 1}); break;
      case 4:
        assert_int_equal(operation_rollback(chat, (uint32_t)(test_random(&random) % batches), false, 0), STATUS_OK);
        break;
      case 5: {
        uint32_t batch = (uint32_t)(test_random(&random) % batches);
        BatchInfo info = history_batch(conversation_history(chat), batch);
        assert_int_equal(operation_rollback(chat, batch, true, info.born + (info.count - info.born) / 2), STATUS_OK);
        break;
      }
      }
      for (int i = 0; i < 2; i++) plain_sum(chats[i], conversation_list(chats[i]), conversation_counter(chats[i]));
    }
    conversation_free(chats[0]);
    conversation_free(chats[1]);
    assert_int_equal(fail.in_use, 0);
  }
}

/* What a refused operation stored goes again, and its weights with it: those that
   come after take the same ids. */
static void weights_are_taken_back_with_their_messages(void **state) {
  (void)state;
  Counter other = counter_of(ESTIMATE_CJK);
  size_t failed = 0;
  for (size_t k = 1, hit = 1; hit; k++) {
    Fail fail = {0};
    Conversation *chat = chat_of(&fail, "s8 u4");
    assert_int_equal(conversation_recount(chat, &other, (Cost){0}), STATUS_OK);
    fail.fail_at = fail.calls + k;
    hit = put(chat, WORDS_APPEND, 0, "u400 a400 u300 a300 u200 a200 u100 a100 u90 a90 u80 a80") != STATUS_OK;
    fail.fail_at = 0;
    failed += hit;
    assert_int_equal(put(chat, WORDS_APPEND, 0, "u1 a80 u3"), STATUS_OK);
    plain_sum(chat, conversation_list(chat), &other);
    conversation_check(chat);
    conversation_free(chat);
    assert_int_equal(fail.in_use, 0);
  }
  assert_true(failed > 2);
}

/* A draft weighed by another counter: the guards, the drops and the ledger in its
   measure; the batch that it becomes in the conversation's. */
static void a_draft_may_be_weighed_by_another_counter(void **state) {
  (void)state;
  Fail fail = {0};
  Counter first = counter_of(ESTIMATE_BYTES4), other = counter_of(ESTIMATE_CJK);
  Conversation *chat = chat_of(&fail, "s8 u40 a90 u120 a50 u10 a5 u6");
  Draft *draft;
  uint64_t before = conversation_tokens(chat), freed, by_other;
  uint32_t messages, batch;
  assert_int_equal(draft_new(chat, true, &draft), STATUS_OK);
  assert_int_equal(draft_recount(draft, &other, (Cost){.tokens = 5}), STATUS_OK);
  assert_int_equal(conversation_count_by(chat, conversation_list(chat), &other, &by_other), STATUS_OK);
  assert_int_equal(draft_tokens(draft), by_other + 5 + 3);
  assert_int_equal(draft_drop_oldest(draft, 40, 0, text_of("old"), &messages, &freed), STATUS_OK);
  assert_true(messages > 0 && draft_tokens(draft) <= 40);
  assert_int_equal(draft_tokens_before(draft) - freed, draft_tokens(draft));
  assert_int_equal(conversation_tokens(chat), before);
  assert_int_equal(draft_commit(draft, BATCH_TRIM, text_of(""), NULL, &batch), STATUS_OK);
  draft_free(draft);
  assert_int_equal(plain_sum(chat, conversation_list(chat), &first) + conversation_overhead(chat),
                   conversation_tokens(chat));
  const Ledger *ledger = history_ledger(conversation_history(chat), batch);
  const Sequence *left = conversation_list(chat);
  uint64_t now;
  assert_int_equal(conversation_count_by(chat, left, &other, &now), STATUS_OK);
  assert_int_equal(by_other - now, freed);
  assert_ptr_not_equal(ledger_token_weights(ledger, conversation_store(chat)), NULL);
  conversation_check(chat);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
}

/* ---- counters ---- */

static void counters_are_equal_if_they_count_alike(void **state) {
  (void)state;
  enum { VARIANTS = 12 };
  Counter counters[VARIANTS];
  for (int i = 0; i < VARIANTS; i++) counters[i] = counter_of(ESTIMATE_CJK);
  counters[1].per_message++;
  counters[2].per_name++;
  counters[3].per_request++;
  counters[4].per_tools++;
  counters[5].image.method = IMAGE_AREA;
  counters[6].image.base++;
  counters[7].image.tile++;
  counters[8].image.hundredths++;
  counters[9].image.edge_max++;
  counters[10].image.tokens_max++;
  counters[11].estimator = ESTIMATE_BYTES4;
  for (int i = 0; i < VARIANTS; i++) {
    for (int k = 0; k < VARIANTS; k++) assert_int_equal(counter_equal(&counters[i], &counters[k]), i == k);
  }
}

static Status two_each(void *user, MessageId id, uint32_t *tokens) {
  (void)id;
  *tokens = 2;
  return *(Status *)user;
}

/* Of a counter that the host gives nothing is known but what it says. */
static void a_given_counter_is_asked(void **state) {
  (void)state;
  Fail fail = {0};
  Status answer = STATUS_OK, other = STATUS_HOST;
  Counter given = {.custom = two_each, .user = &answer}, failing = {.custom = two_each, .user = &other};
  Counter plain = counter_of(ESTIMATE_BYTES4);
  Conversation *chat = chat_of(&fail, "u8 a8 u4");
  uint64_t before = conversation_tokens(chat);
  assert_true(counter_equal(&given, &given));
  assert_false(counter_equal(&given, &failing));
  assert_false(counter_equal(&given, &plain) || counter_equal(&plain, &given));
  assert_int_equal(conversation_recount(chat, &failing, (Cost){0}), STATUS_HOST);
  assert_int_equal(conversation_tokens(chat), before);

  Draft *draft;
  assert_int_equal(draft_new(chat, true, &draft), STATUS_OK);
  assert_int_equal(draft_recount(draft, &failing, (Cost){0}), STATUS_HOST);
  assert_int_equal(draft_recount(draft, &given, (Cost){0}), STATUS_OK);
  assert_int_equal(draft_tokens(draft), 6);
  draft_free(draft);
  assert_int_equal(conversation_recount(chat, &given, (Cost){0}), STATUS_OK);
  assert_int_equal(conversation_tokens(chat), 6);
  assert_int_equal(conversation_trust(chat, conversation_list(chat)), TRUST_GIVEN);
  assert_int_equal(conversation_calibrate(chat, 9), STATUS_ARGUMENT);
  conversation_check(chat);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
}

/* ---- out of memory ---- */

/* A fork shares the batch whose weights change. */
static void without_memory_a_fork_is_not_recounted(void **state) {
  (void)state;
  Counter other = counter_of(ESTIMATE_CJK);
  Status status = STATUS_MEMORY;
  size_t failed = 0;
  for (size_t k = 1; status != STATUS_OK; k++) {
    Fail fail = {0};
    Conversation *chat = chat_of(&fail, "s8 u40 a90"), *fork;
    assert_int_equal(conversation_fork(chat, &fork), STATUS_OK);
    uint64_t before = conversation_tokens(chat);
    fail.fail_at = fail.calls + k;
    status = conversation_recount(fork, &other, (Cost){0});
    fail.fail_at = 0;
    failed += status != STATUS_OK;
    assert_true(status == STATUS_OK || status == STATUS_MEMORY);
    assert_int_equal(conversation_tokens(chat), before);
    if (status != STATUS_OK) assert_int_equal(conversation_tokens(fork), before);
    else assert_int_not_equal(conversation_tokens(fork), before);
    conversation_check(chat);
    conversation_free(chat);
    conversation_check(fork);
    conversation_free(fork);
    assert_int_equal(fail.in_use, 0);
  }
  assert_true(failed > 3);
}

/* Names of every size up to a line's first block, so that it is full at each step. */
static void without_memory_a_tool_costs_nothing(void **state) {
  (void)state;
  Counter counter = counter_of(ESTIMATE_BYTES4);
  for (int size = 1; size <= 64; size++) {
    char text[200];
    Status status = STATUS_MEMORY;
    sprintf(text, "[{\"name\":\"%0*d\",\"parameters\":{\"properties\":{\"a\":{\"type\":\"null\"}},"
                  "\"required\":[\"a\"]}}]", size, 0);
    Text system = text_of("be brief");
    JsonValue value = {.kind = JSON_ARRAY, .bytes = text, .size = strlen(text)};
    uint32_t whole = 9 - 4 + 1 + BYTES(47 + 20 + (uint32_t)size + 7 + 8);   /* a: null, */
    for (size_t k = 1; status != STATUS_OK; k++) {
      Fail fail = {.fail_at = k};
      Memory memory = fail_memory(&fail);
      Cost cost = {0};
      status = request_member_cost(&counter, &memory, REQUEST_TOOLS, &value, &system, &cost);
      assert_true(status == STATUS_OK || status == STATUS_MEMORY);
      assert_int_equal(cost.tokens, status == STATUS_OK ? whole : 0);
      assert_int_equal(fail.in_use, 0);
    }
  }
}

static void out_of_memory_changes_nothing(void **state) {
  (void)state;
  Counter first = counter_of(ESTIMATE_BYTES4), other = counter_of(ESTIMATE_CJK);
  for (int once = 0; once < 2; once++) {
    Status status = STATUS_MEMORY;
    for (size_t k = 1; status != STATUS_OK; k++) {      /* loading: tools and images are counted */
      Request request;
      status = read_request(&request, BODY, first, k);
      assert_true(status == STATUS_OK || status == STATUS_MEMORY);
      end_request(&request);
    }
    status = STATUS_MEMORY;
    for (size_t k = 1; status != STATUS_OK; k++) {      /* recounting */
      Request request;
      assert_int_equal(read_request(&request, BODY, first, 0), STATUS_OK);
      uint64_t before = conversation_tokens(request.chat), version = conversation_version(request.chat);
      request.fail.once = once;
      request.fail.fail_at = request.fail.calls + k;
      status = recount(request.chat, &request.document, other);
      request.fail.fail_at = 0;
      if (status != STATUS_OK) {
        assert_int_equal(status, STATUS_MEMORY);
        assert_int_equal(conversation_version(request.chat), version);
        assert_int_equal(conversation_tokens(request.chat), before);
        plain_sum(request.chat, conversation_list(request.chat), &first);
        assert_int_equal(recount(request.chat, &request.document, other), STATUS_OK);
      }
      plain_sum(request.chat, conversation_list(request.chat), &other);
      end_request(&request);
    }
  }
}

/* ---- members of a body ---- */

static void members_of_a_body_cost_their_texts(void **state) {
  static const struct {
    RequestMember part;
    JsonKind kind;
    const char *text;
    Cost before;
    Status status;
    uint32_t tokens;
    bool guessed;
  } members[] = {
    {REQUEST_SYSTEM, JSON_STRING, "\"12345678\"", {.tokens = 5}, STATUS_OK, 7, false},
    {REQUEST_SYSTEM, JSON_NULL, "null", {.tokens = 5}, STATUS_OK, 5, false},
    {REQUEST_RESPONSE_FORMAT, JSON_OBJECT, "{\"type\":5}", {.tokens = 5}, STATUS_OK, 8, true},
    {REQUEST_RESPONSE_FORMAT, JSON_ARRAY, "[]", {.tokens = 5, .guessed = true}, STATUS_OK, 6, true},
    {REQUEST_FUNCTIONS, JSON_ARRAY, "[{\"name\":\"abcd\"}]", {.tokens = 5}, STATUS_OK, 5 + 9 + BYTES(47 + 24), false},
    {REQUEST_TOOL_CHOICE, JSON_STRING, "\"none\"", {.tokens = 5}, STATUS_OK, 6, false},
    {REQUEST_TOOL_CHOICE, JSON_STRING, "\"auto\"", {.tokens = 5}, STATUS_OK, 5, false},
    {REQUEST_TOOL_CHOICE, JSON_OBJECT, "{\"type\":\"function\",\"function\":{\"name\":\"abcd\"}}", {.tokens = 5}, STATUS_OK, 10, false},
    {REQUEST_FUNCTION_CALL, JSON_OBJECT, "{\"name\":\"abcd\"}", {.tokens = 5}, STATUS_OK, 10, false},
    {REQUEST_TOOL_CHOICE, JSON_OBJECT, "{\"type\":\"any\"}", {.tokens = 5}, STATUS_OK, 5, false},
    {REQUEST_INSTRUCTIONS, JSON_ARRAY, "[1]", {.tokens = 5}, STATUS_OK, 6, true},
    {REQUEST_TOOLS, JSON_OBJECT, "{\"a\":1}", {.tokens = 0}, STATUS_OK, 2, true},
    {REQUEST_SYSTEM, JSON_STRING, "\"1234\"", {.tokens = UINT32_MAX}, STATUS_LIMIT, UINT32_MAX, false},
    {REQUEST_SYSTEM, JSON_STRING, "\"1234\"", {.tokens = UINT32_MAX - 1}, STATUS_OK, UINT32_MAX, false},
  };
  (void)state;
  Memory memory = memory_system();
  Counter counter = counter_of(ESTIMATE_BYTES4), given = {.custom = two_each};
  for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
    Cost cost = members[i].before;
    JsonValue value = {.kind = members[i].kind, .bytes = members[i].text, .size = strlen(members[i].text)};
    assert_int_equal(request_member_cost(&given, &memory, members[i].part, &value, NULL, &cost), STATUS_OK);
    assert_int_equal(cost.tokens, members[i].before.tokens);
    assert_int_equal(request_member_cost(&counter, &memory, members[i].part, &value, NULL, &cost), members[i].status);
    assert_int_equal(cost.tokens, members[i].tokens);
    assert_int_equal(cost.guessed, members[i].guessed);
  }
}

/* ---- calibration ---- */

/* Where nothing was counted there is no ratio. */
static void a_report_about_nothing_changes_nothing(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "");
  Counter bare = counter_of(ESTIMATE_UTF16_2_5);
  assert_int_equal(conversation_recount(chat, &bare, (Cost){0}), STATUS_OK);
  assert_int_equal(conversation_tokens(chat), 0);
  assert_int_equal(conversation_calibrate(chat, 5), STATUS_OK);
  assert_int_equal(calibration_apply(conversation_calibration(chat), 100), 100);
  conversation_check(chat);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
}

static void reports_raise_totals_and_never_lower_them(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "u388");      /* 97 + 4, and 3: 104 */
  assert_int_equal(conversation_tokens(chat), 104);
  assert_int_equal(conversation_trust(chat, conversation_list(chat)), TRUST_ESTIMATED);
  assert_int_equal(conversation_calibrate(chat, 0), STATUS_RANGE);
  assert_int_equal(conversation_calibrate(chat, CALIBRATION_REPORT_MAX + 1), STATUS_RANGE);
  assert_int_equal(conversation_calibrate(chat, 1050), STATUS_RANGE);
  assert_int_equal(conversation_calibration(chat).reported, 0);

  assert_int_equal(conversation_calibrate(chat, 52), STATUS_OK);      /* less than counted */
  assert_int_equal(conversation_trust(chat, conversation_list(chat)), TRUST_CALIBRATED);
  assert_int_equal(calibration_apply(conversation_calibration(chat), 104), 104);
  assert_int_equal(conversation_calibrate(chat, 130), STATUS_OK);     /* 1.25 */
  assert_int_equal(calibration_apply(conversation_calibration(chat), 104), 130);
  assert_int_equal(calibration_apply(conversation_calibration(chat), 1), 2);
  assert_int_equal(conversation_calibrate(chat, 110), STATUS_OK);
  assert_int_equal(calibration_apply(conversation_calibration(chat), 104), 130);
  Conversation *fork;
  assert_int_equal(conversation_fork(chat, &fork), STATUS_OK);
  assert_int_equal(calibration_apply(conversation_calibration(fork), 104), 130);
  conversation_check(fork);
  conversation_free(fork);

  Counter other = counter_of(ESTIMATE_CJK);
  assert_int_equal(conversation_recount(chat, &other, (Cost){0}), STATUS_OK);
  assert_int_equal(conversation_calibration(chat).reported, 0);       /* that was of another counter */
  conversation_check(chat);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
}

/* A total is within a budget if and only if the weight is within the plain one. */
static void budgets_are_the_other_way_round(void **state) {
  (void)state;
  uint64_t random = test_seed();
  for (int round = 0; round < 100000; round++) {
    uint64_t counted = test_random(&random) % ((uint64_t)1 << (1 + round % 29)) + 1;
    Calibration calibration = {.counted = counted, .reported = counted + test_random(&random) % (counted * 9)};
    if (calibration.reported > CALIBRATION_REPORT_MAX) continue;
    uint64_t budget = test_random(&random) >> (round % 63 + 1), plain = calibration_undo(calibration, budget);
    assert_true(plain <= budget);
    if (plain >= (uint64_t)1 << 34) continue;
    assert_true(calibration_apply(calibration, plain) <= budget);
    assert_true(calibration_apply(calibration, plain + 1) > budget);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(requests_cost_what_their_parts_do),
    cmocka_unit_test(tools_cost_the_text_that_a_model_reads),
    cmocka_unit_test(members_of_all_dialects_cost_what_they_say),
    cmocka_unit_test(a_recounted_chat_is_as_if_it_had_been_read_so),
    cmocka_unit_test(counters_change_amid_edits),
    cmocka_unit_test(weights_are_taken_back_with_their_messages),
    cmocka_unit_test(a_draft_may_be_weighed_by_another_counter),
    cmocka_unit_test(counters_are_equal_if_they_count_alike),
    cmocka_unit_test(a_given_counter_is_asked),
    cmocka_unit_test(members_of_a_body_cost_their_texts),
    cmocka_unit_test(without_memory_a_fork_is_not_recounted),
    cmocka_unit_test(without_memory_a_tool_costs_nothing),
    cmocka_unit_test(a_report_about_nothing_changes_nothing),
    cmocka_unit_test(out_of_memory_changes_nothing),
    cmocka_unit_test(reports_raise_totals_and_never_lower_them),
    cmocka_unit_test(budgets_are_the_other_way_round),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
