/*
** Links and units of messages in every form: which result answers which call, and what no
** trim tears apart. ' is written for ".
*/
#include "documents.h"

#include "core/draft/draft.h"
#include "core/operation.h"

#define USER "{'role':'user','content':'x'}"
#define REASON "{'type':'reasoning','summary':[]}"
#define CALL(id) "{'type':'function_call','call_id':'" id "','name':'f','arguments':'{}'}"
#define OUTPUT(id) "{'type':'function_call_output','call_id':'" id "','output':'42'}"
#define REPLY "{'type':'message','role':'assistant','content':[{'type':'output_text','text':'y'}]}"
#define PLAIN "{'role':'assistant','content':'y'}"
#define MODEL(parts) "{'role':'model','parts':[" parts "]}"
#define ANSWER(parts) "{'role':'user','parts':[" parts "]}"
#define F(name) "{'functionCall':{'name':'" name "'}}"
#define FI(name, id) "{'functionCall':{'name':'" name "','id':'" id "'}}"
#define R(name) "{'functionResponse':{'name':'" name "','response':{}}}"
#define RI(name, id) "{'functionResponse':{'name':'" name "','id':'" id "','response':{}}}"

/* The answers of each result: "position.call" of its call, or "-"; and the unit of each message. */
static const struct Row {
  const char *shows, *text, *answers, *units;
} rows[] = {
  {"by name, in order", USER "," MODEL(F("f") "," F("g") "," F("f")) "," ANSWER(R("f") "," R("g") "," R("f")),
   "1.0 1.1 1.2", "0 1 1"},
  {"by id, in any order", MODEL(FI("f", "a") "," FI("f", "b")) "," ANSWER(RI("f", "b") "," RI("f", "a")),
   "0.1 0.0", "0 0"},
  {"a response without id, calls with", MODEL(FI("f", "a") "," FI("f", "b") "," FI("g", "c")) ","
   ANSWER(R("g") "," R("f") "," R("f") "," R("f")), "0.2 0.0 0.1 -", "0 0"},
  {"a response with id, a call without", MODEL(F("f") "," F("f")) "," ANSWER(RI("f", "a") "," RI("f", "b")),
   "0.0 0.1", "0 0"},
  {"an id names a call more than a name", MODEL(F("f") "," FI("f", "a")) "," ANSWER(RI("f", "a") "," R("f")),
   "0.1 0.0", "0 0"},
  {"ids that differ do not answer", MODEL(FI("f", "a")) "," ANSWER(RI("f", "b")), "-", "0 1"},
  {"the nearest call of a name", MODEL(F("f")) "," USER "," MODEL(FI("f", "a")) "," ANSWER(R("f")), "2.0", "0 1 2 2"},
  {"responses in two messages", MODEL(FI("f", "a") "," FI("f", "b")) "," ANSWER(R("f")) "," ANSWER(R("f")),
   "0.0 0.1", "0 0 0"},
  {"a text between calls and responses", MODEL(FI("f", "a")) "," USER "," ANSWER(R("f")), "-", "0 1 2"},
  {"many calls of one name with ids", MODEL(FI("f", "a") "," FI("f", "b") "," FI("f", "c") "," FI("f", "d") ","
   FI("f", "e") "," FI("f", "g") "," FI("f", "h") "," FI("f", "i") "," FI("f", "j")) ","
   ANSWER(R("f") "," RI("f", "j") "," R("f")), "0.0 0.8 0.1", "0 0"},

  {"a reply in fragments", USER "," REASON "," CALL("a") "," CALL("b") "," OUTPUT("b") "," OUTPUT("a") "," REASON ","
   REPLY "," USER, "3.0 2.0", "0 1 1 1 1 1 2 2 3"},
  {"steps of a reply are units", CALL("a") "," OUTPUT("a") "," CALL("b") "," OUTPUT("b") "," REPLY, "0.0 2.0",
   "0 0 1 1 2"},
  {"a message beside a call", USER "," REPLY "," CALL("a") "," OUTPUT("a"), "2.0", "0 1 1 1"},
  {"messages without fragments stay apart", PLAIN "," REPLY "," USER "," REASON, "", "0 1 2 3"},
  {"items of a provider's tools", "{'type':'web_search_call'}," REASON "," REPLY "," USER ","
   "{'type':'computer_call','call_id':'c','action':{}},{'type':'computer_call_output','call_id':'c','output':"
   "{'type':'computer_screenshot','image_url':'u'}}", "4.0", "0 0 0 1 2 2"},
  {"an approval", "{'type':'mcp_approval_request','id':'m','name':'f','arguments':'{}'},"
   "{'type':'mcp_approval_response','approval_request_id':'m','approve':true}", "0.0", "0 0"},
  {"calls of one reply before a call of another", CALL("a") "," CALL("b") "," OUTPUT("a") "," USER "," OUTPUT("b"),
   "0.0 1.0", "0 0 0 1 0"},
};

static void say_answers(const Loaded *loaded, char out[400]) {
  const Conversation *chat = loaded->conversation;
  const Sequence *list = conversation_list(chat);
  size_t at = 0;
  out[0] = '\0';
  for (uint32_t i = 0; i < sequence_count(list); i++) {
    MessageId id = sequence_at(list, i);
    for (uint32_t r = 0; r < message_result_count(conversation_message(chat, id)); r++) {
      CallLink link = store_answers(conversation_store(chat), id, r);
      const char *space = at == 0 ? "" : " ";
      if (link.message == 0) at += (size_t)sprintf(out + at, "%s-", space);
      else at += (size_t)sprintf(out + at, "%s%u.%u", space, (unsigned)(link.message - 1), (unsigned)link.call);
    }
  }
}

static void say_units(const Loaded *loaded, char out[400]) {
  const Units *units;
  size_t at = 0;
  assert_int_equal(conversation_units(loaded->conversation, &units), STATUS_OK);
  for (uint32_t i = 0; i < units->message_count; i++) {
    at += (size_t)sprintf(out + at, "%s%u", i == 0 ? "" : " ", (unsigned)units->unit_of[i]);
  }
}

static void answers_and_units_are_those_of_the_form(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[3000], answers[400], units[400];
    Loaded loaded;
    snprintf(text, sizeof text, "[%s]", rows[i].text);
    must_load(&loaded, rows[i].shows, quoted(text), strlen(text));
    say_answers(&loaded, answers);
    say_units(&loaded, units);
    const char *shows = rows[i].shows;
    if (strcmp(answers, rows[i].answers) != 0) fail_msg("%s: answers %s, not %s", shows, answers, rows[i].answers);
    if (strcmp(units, rows[i].units) != 0) fail_msg("%s: units %s, not %s", shows, units, rows[i].units);
    store_check(conversation_store(loaded.conversation));
    unload(&loaded);
  }
}

/* ---- random replies, and random trims of them ---- */

static size_t put_item(char *out, size_t at, const char *item) {
  return at + (size_t)sprintf(out + at, "%s%s", at > 1 ? "," : "", item);
}

/* Replies as the provider gives them: [reasoning] calls, their outputs, and so on, then [reasoning] a message. */
static size_t random_replies(char *out) {
  size_t at = (size_t)sprintf(out, "[");
  char item[200];
  unsigned calls = 0;
  for (uint32_t turn = 0, turns = 2 + below(6); turn < turns; turn++) {
    at = put_item(out, at, USER);
    for (uint32_t step = below(3); step-- > 0;) {
      unsigned count = 1 + below(3);
      if (one_in(2)) at = put_item(out, at, REASON);
      for (unsigned i = 0; i < count; i++) {
        sprintf(item, CALL("%u"), calls + i);
        at = put_item(out, at, item);
      }
      for (unsigned i = count; i-- > 0;) {
        sprintf(item, OUTPUT("%u"), calls + i);
        at = put_item(out, at, item);
      }
      calls += count;
    }
    if (one_in(2)) at = put_item(out, at, REASON);
    at = put_item(out, at, REPLY);
  }
  return at + (size_t)sprintf(out + at, "]");
}

/* True if both are in one fragmentary reply: neighbours in the file, too. */
static bool belong_together(const Store *store, MessageId one, MessageId next) {
  const Message *a = store_message(store, one), *b = store_message(store, next);
  if (message_role(a) != ROLE_ASSISTANT || message_role(b) != ROLE_ASSISTANT) return false;
  return message_is_fragment(a) || message_is_fragment(b);
}

/* Of each reply all fragments are visible or none, and of each call and its output both or none. */
static void assert_whole(const Conversation *chat) {
  const Sequence *list = conversation_list(chat);
  const Store *store = conversation_store(chat);
  uint32_t count = sequence_count(list);
  for (MessageId id = 1; id <= store_count(store); id++) {
    bool visible = sequence_index_of(list, id, 0) < count;
    if (id < store_count(store) && belong_together(store, id, id + 1)) {
      assert_int_equal(visible, sequence_index_of(list, id + 1, 0) < count);
    }
    if (message_result_count(store_message(store, id)) == 0) continue;
    assert_int_equal(visible, sequence_index_of(list, store_answers(store, id, 0).message, 0) < count);
  }
}

static void trim_randomly(Conversation *chat) {
  Draft *draft;
  uint32_t dropped;
  uint64_t freed;
  assert_int_equal(draft_new(chat, true, &draft), STATUS_OK);
  uint64_t tokens = conversation_tokens(chat);
  assert_int_equal(draft_drop_oldest(draft, below((uint32_t)tokens + 1), below(3), text_of("test"), &dropped, &freed),
                   STATUS_OK);
  uint32_t batch;
  if (dropped > 0) assert_int_equal(draft_commit(draft, BATCH_TRIM, text_of("test"), NULL, &batch), STATUS_OK);
  draft_free(draft);
}

static void no_trim_tears_a_reply(void **state) {
  (void)state;
  static char text[60000];
  for (int round = 0; round < 300; round++) {
    Loaded loaded;
    size_t size = random_replies(text);
    for (size_t i = 0; i < size; i++) text[i] = text[i] == '\'' ? '"' : text[i];
    must_load(&loaded, "random replies", text, size);
    assert_whole(loaded.conversation);
    trim_randomly(loaded.conversation);
    assert_whole(loaded.conversation);
    Truncate cut = {.has_keep_last = true, .keep_last = below(count_of(&loaded) + 1), .whole_units = true};
    if (one_in(2)) assert_int_equal(operation_truncate(loaded.conversation, &cut), STATUS_OK);
    assert_whole(loaded.conversation);
    store_check(conversation_store(loaded.conversation));
    unload(&loaded);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(answers_and_units_are_those_of_the_form),
    cmocka_unit_test(no_trim_tears_a_reply),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
