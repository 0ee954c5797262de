/*
** Queries through the C API: each of them, what it answers, and what it refuses.
*/
#include "api_kit.h"

static ebb_status query(ebb_chat *chat, const char *json, ebb_text *answer) {
  return ebb_chat_query(chat, json, strlen(json), answer);
}

/* Tables write ' for ". */
static const char *quoted(const char *text) {
  static char out[2][4000];
  static int turn;
  turn = !turn;
  assert_true(strlen(text) < sizeof out[0]);
  strcpy(out[turn], text);
  for (char *at = out[turn]; *at != '\0'; at++) {
    if (*at == '\'') *at = '"';
  }
  return out[turn];
}

typedef struct Row {
  const char *query, *answer;
} Row;

static void check_rows(ebb_runtime *runtime, ebb_chat *chat, const Row *rows, size_t count) {
  for (size_t i = 0; i < count; i++) {
    ebb_text answer;
    must(query(chat, quoted(rows[i].query), &answer));
    const char *wanted = quoted(rows[i].answer);
    if (strcmp(answer.bytes, wanted) != 0) fail_msg("%s:\n%s, not\n%s", rows[i].query, answer.bytes, wanted);
    assert_int_equal(answer.size, strlen(wanted));
  }
}

#define U0 "{'role':'user','content':'a','id':'u0','timestamp':5}"
#define A0 "{'role':'assistant','content':'b','name':'bo'}"
#define U1 "{'role':'user','content':'c4','timestamp':9}"
#define A1 "{'role':'assistant','content':'d'}"

static void make_chat(ebb_runtime *runtime, ebb_chat **chat) {
  must(ebb_chat_new(runtime, "{\"encoding\":\"bytes4\",\"limit\":9}", 31, chat));
  must(append(*chat, quoted("[" U0 "," A0 "," U1 "," A1 "]")));
  must(ebb_chat_mark(*chat, 2, "pinned"));
  must(ebb_chat_checkpoint(*chat, "first"));
}

static void messages_are_found(void **state) {
  static const Row rows[] = {
    {"{'query':'messages'}", "[" U0 "," A0 "," U1 "," A1 "]"},
    {"{'query':'messages','slice':{'start':1,'end':3},'answer':'seqs'}", "[2,3]"},
    {"{'query':'messages','slice':{'start':1,'end':9},'last':2,'first':3,'answer':'positions'}", "[2,3]"},
    {"{'query':'messages','first':0}", "[]"},
    {"{'query':'messages','first':0,'answer':'positions'}", "[]"},
    {"{'query':'messages','answer':'count'}", "4"},
    {"{'query':'where','role':'user'}", "[" U0 "," U1 "]"},
    {"{'query':'where','role':['user','assistant'],'since':6,'before':10}", "[" U1 "]"},
    {"{'query':'where','matches':'^c%d$','answer':'positions'}", "[2]"},
    {"{'query':'where','name':'bo'}", "[" A0 "]"},
    {"{'query':'where','id':['u0','none']}", "[" U0 "]"},
    {"{'query':'where','marked':'pinned','answer':'positions'}", "[2]"},
    {"{'query':'where','window':true}", "[]"},
    {"{'query':'where','role':null,'answer':'count'}", "4"},
    {"{'query':'recent','role':'user'}", "[" U1 "]"},
    {"{'query':'recent','role':'user','n':9,'answer':'positions'}", "[0,2]"},
    {"{'query':'recent','n':2,'answer':'positions'}", "[2,3]"},
    {"{'query':'range','role':'user','start':1,'end':2,'answer':'positions'}", "[2]"},
    {"{'query':'range','role':['user','assistant'],'start':1,'end':3,'answer':'positions'}", "[1,2]"},
    {"{'query':'range','role':'user','start':1,'end':1}", "[]"},
    {"{'query':'range','start':1,'end':3,'answer':'positions'}", "[1,2]"},
    {"{'query':'range','start':0,'end':99,'slice':{'start':1,'end':2},'answer':'positions'}", "[1]"},
    {"{'query':'marked','name':'pinned'}", "[" U1 "]"},
    {"{'query':'marked','name':'none'}", "[]"},
    {"{'query':'active','answer':'count'}", "4"},
    {"{'query':'all','answer':'seqs'}", "[1,2,3,4]"},
    {"{'query':'count'}", "4"},
    {"{'query':'count','role':'user'}", "2"},
    {"{'query':'count','role':['user','tool']}", "2"},
    {"{'query':'indices'}", "{'assistant':[1,3],'system':[],'tool':[],'user':[0,2]}"},
    {"{'query':'indices','batch':0,'length':1}", "{'assistant':[],'system':[],'tool':[],'user':[0]}"},
    {"{'query':'turns'}", "[{'age':1,'count':2,'first':0,'tokens':11},{'age':0,'count':2,'first':2,'tokens':10}]"},
    {"{'query':'limit'}", "{'limit':9,'over':true,'tokens':24}"},
    {"{'query':'tokens'}", "{'tokens':24,'trust':'estimated'}"},
    {"{'query':'encoding'}", "'bytes4'"},
    {"{'query':'model'}", "null"},
    {"{'query':'shape'}", "null"},
    {"{'query':'warnings'}", "[]"},
    {"{'query':'dialect'}", "'openai'"},
    {"{'query':'ledger'}", "null"},
    {"{'query':'calibration'}", "1.0"},
    {"{'query':'windows'}", "{'active':4,'estimatedTokens':24,'obsolete':0,'total':4,'windows':0}"},
    {"{'query':'stats'}",
     "{'currentBatchIndex':0,'currentBatchMessages':4,'totalBatches':1,'totalMessages':4}"},
  };
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_text answer;
  char before[65], after[65];
  (void)state;
  host_open(&host, &runtime);
  make_chat(runtime, &chat);
  must(ebb_chat_digest(chat, before));
  check_rows(runtime, chat, rows, sizeof rows / sizeof *rows);
  must(query(chat, "{\"query\":\"units\"}", &answer));
  assert_non_null(strstr(answer.bytes, "{\"age\":3,\"count\":1,\"first\":0,\"guarded\":"));
  must(query(chat, "{\"query\":\"listing\"}", &answer));
  assert_non_null(strstr(answer.bytes, "User: c4\\n"));
  must(query(chat, "{\"query\":\"tokens\",\"encoding\":\"utf16_2_5\"}", &answer));
  assert_non_null(strstr(answer.bytes, "\"trust\":\"estimated\""));
  must(ebb_chat_digest(chat, after));
  assert_string_equal(before, after);
  host_close(&host, runtime);
}

static void batches_are_told_apart(void **state) {
  static const Row rows[] = {
    {"{'query':'messages'}", "[{'role':'user','content':'x'}]"},
    {"{'query':'messages','batch':0,'answer':'seqs'}", "[1,2,3,4]"},
    {"{'query':'messages','batch':0,'length':2,'answer':'seqs'}", "[1,2]"},
    {"{'query':'where','batch':'first','role':'user','answer':'positions'}", "[0,2]"},
    {"{'query':'recent','batch':1,'role':'assistant'}", "[" A1 "]"},
    {"{'query':'count','batch':1}", "1"},
    {"{'query':'tokens','batch':1}", "{'tokens':8,'trust':'estimated'}"},
    {"{'query':'dialect','batch':0}", "'openai'"},
    {"{'query':'all','answer':'count'}", "5"},
    {"{'query':'diff','from':'first','to':1}", "{'added':[],'removed':[" U0 "," A0 "," U1 "],'replaced':[]}"},
    {"{'query':'diff','from':1}",
     "{'added':[],'removed':[],'replaced':[{'before':" A1 ",'after':{'role':'user','content':'x'}}]}"},
    {"{'query':'recall','name':'r1-2'}", "{'text':'user: a\\n\\nassistant: b','messages':[" U0 "," A0 "]}"},
    {"{'query':'recall','name':'r1-3','tokens':1}",
     "{'text':'user: a\\n\\n[11 tokens left out: recall r2-3]','messages':[" U0 "," A0 "," U1 "]}"},
    {"{'query':'explain','seq':1}",
     "{'action':'dropped','after':0,'batch':1,'before':5,'by':'truncate','events':[{'action':'dropped','after':0,"
     "'batch':1,'before':5,'by':'truncate','reason':'truncate keepLast 1','seq':1}],'reason':"
     "'truncate keepLast 1','seq':1,'visible':false}"},
    {"{'query':'stats'}",
     "{'currentBatchIndex':2,'currentBatchMessages':1,'totalBatches':3,'totalMessages':5}"},
  };
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_text answer;
  (void)state;
  host_open(&host, &runtime);
  make_chat(runtime, &chat);
  must(apply(chat, quoted("[{'operation':'truncate','keepLast':1},"
                          "{'operation':'replace','index':0,'message':{'role':'user','content':'x'}}]")));
  check_rows(runtime, chat, rows, sizeof rows / sizeof *rows);
  must(query(chat, "{\"query\":\"explain\",\"index\":0}", &answer));
  assert_non_null(strstr(answer.bytes, "\"visible\":true"));
  must(query(chat, "{\"query\":\"state\"}", &answer));
  const char *begin = "{\"currentBatch\":2,\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"batches\":[{";
  assert_memory_equal(answer.bytes, begin, strlen(begin));
  assert_non_null(strstr(answer.bytes, "\"results\":["));
  host_close(&host, runtime);
}

static void ledgers_of_old_batches_are_read(void **state) {
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_text answer;
  (void)state;
  open_talk(&host, &runtime, &chat, 9);
  must(trim(chat, NULL, "{\"budget\":200}", NULL));
  must(append(chat, "{\"role\":\"user\",\"content\":\"x\"}"));
  must(apply(chat, "{\"operation\":\"clear\"}"));
  must(query(chat, "{\"query\":\"ledger\",\"batch\":1}", &answer));
  assert_memory_equal(answer.bytes, "[{\"action\":\"dropped\",\"by\":\"keep_recent\"", 39);
  must(query(chat, "{\"query\":\"ledger\",\"batch\":1,\"runs\":true}", &answer));
  assert_non_null(strstr(answer.bytes, "\"count\":"));
  must(query(chat, "{\"query\":\"explain\",\"seq\":2}", &answer));
  assert_non_null(strstr(answer.bytes, "\"by\":\"keep_recent\""));
  must(query(chat, "{\"query\":\"units\"}", &answer));
  host_close(&host, runtime);
}

static void what_is_no_query_is_refused(void **state) {
  static const struct { const char *query; ebb_status status; const char *says; } rows[] = {
    {"", EBB_ARGUMENT, "name"},
    {"[]", EBB_SHAPE, "object"},
    {"{'query':'where'", EBB_SYNTAX, "1:17"},
    {"{'query':7}", EBB_ARGUMENT, "name"},
    {"{'query':'wher'}", EBB_UNKNOWN_NAME, "did you mean 'where'"},
    {"{'query':'where','rolle':'user'}", EBB_UNKNOWN_NAME, "did you mean 'role'"},
    {"{'query':'where','role':'pirate'}", EBB_UNKNOWN_NAME, "pirate"},
    {"{'query':'count','role':['user','pirate']}", EBB_UNKNOWN_NAME, "pirate"},
    {"{'query':'recent','role':'pirate'}", EBB_UNKNOWN_NAME, "pirate"},
    {"{'query':'where','role':7}", EBB_ARGUMENT, "role: expected a text or a list of texts"},
    {"{'query':'where','since':1.5}", EBB_ARGUMENT, "since: expected a whole number"},
    {"{'query':'where','matches':'[a'}", EBB_ARGUMENT, "matches: malformed"},
    {"{'query':'where','answer':'rows'}", EBB_ARGUMENT, "answer: expected one of"},
    {"{'query':'where','slice':{'start':2,'end':1}}", EBB_ARGUMENT, "slice.start 2 is greater than slice.end 1"},
    {"{'query':'where','slice':{'start':2}}", EBB_ARGUMENT, "slice.end"},
    {"{'query':'where','slice':{'begin':2}}", EBB_UNKNOWN_NAME, "slice.begin"},
    {"{'query':'where','first':-1}", EBB_ARGUMENT, "first: expected a whole number, 0 or more"},
    {"{'query':'where','length':1}", EBB_ARGUMENT, "length is for a batch"},
    {"{'query':'where','batch':9}", EBB_OUT_OF_RANGE, "batch"},
    {"{'query':'where','batch':'second'}", EBB_UNKNOWN_NAME, "second"},
    {"{'query':'where','batch':0,'length':99}", EBB_OUT_OF_RANGE, "never had 99"},
    {"{'query':'recent','n':-1}", EBB_ARGUMENT, "n: expected a whole number, 0 or more"},
    {"{'query':'recent','role':'user','n':99999999999}", EBB_OUT_OF_RANGE, "n"},
    {"{'query':'range','role':'user'}", EBB_ARGUMENT, "start"},
    {"{'query':'range','role':'user','start':3,'end':1}", EBB_ARGUMENT, "half-open"},
    {"{'query':'marked'}", EBB_ARGUMENT, "name is needed"},
    {"{'query':'all','batch':0}", EBB_ARGUMENT, "all batches"},
    {"{'query':'all','answer':'positions'}", EBB_ARGUMENT, "seqs"},
    {"{'query':'tokens','encoding':'none'}", EBB_UNKNOWN_NAME, "none"},
    {"{'query':'tokens','model':'none'}", EBB_UNKNOWN_NAME, "none"},
    {"{'query':'diff'}", EBB_ARGUMENT, "from is needed"},
    {"{'query':'diff','from':8}", EBB_OUT_OF_RANGE, "8"},
    {"{'query':'recall'}", EBB_ARGUMENT, "name is needed"},
    {"{'query':'recall','name':'17'}", EBB_UNKNOWN_NAME, "no handle has the name '17'"},
    {"{'query':'recall','name':'r99'}", EBB_ABSENT, "nothing is stored under 'r99'"},
    {"{'query':'explain'}", EBB_ARGUMENT, "index or seq"},
    {"{'query':'explain','index':4}", EBB_OUT_OF_RANGE, "message 4: the chat has 4"},
    {"{'query':'explain','seq':99}", EBB_OUT_OF_RANGE, "99"},
    {"{'query':'ledger','batch':3}", EBB_OUT_OF_RANGE, "batch"},
    {"{'query':'stats','role':'user'}", EBB_UNKNOWN_NAME, "role"},
    {"{'query':'stats','query':'tokens'}", EBB_SYNTAX, "query: 1:18: expected each name once"},
  };
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_text answer;
  (void)state;
  host_open(&host, &runtime);
  make_chat(runtime, &chat);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    refused(query(chat, quoted(rows[i].query), &answer), rows[i].status, rows[i].says);
  }
  assert_int_equal(ebb_chat_query(chat, NULL, 0, &answer), EBB_ARGUMENT);
  assert_int_equal(ebb_chat_query(NULL, "{}", 2, &answer), EBB_ARGUMENT);
  host_close(&host, runtime);
}

/* Patterns are a stranger's: they stop within the limits. Lists have no size that is too large. */
static void queries_run_within_limits(void **state) {
  Host host = {.now = 1};
  ebb_config config = host_config(&host);
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_text answer;
  (void)state;
  config.fuel = 20000000;
  assert_int_equal(ebb_runtime_new(&config, &runtime), EBB_OK);
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  char message[400], text[301] = "";
  memset(text, 'a', 300);
  snprintf(message, sizeof message, "{\"role\":\"user\",\"content\":\"%s\"}", text);
  must(append(chat, message));
  refused(query(chat, "{\"query\":\"where\",\"matches\":\".-.-.-.-.-.-b\"}", &answer), EBB_FUEL, "fuel");
  for (int i = 0; i < 14; i++) {                /* 16,384 messages: more than 5 MB */
    ebb_text json;
    must(ebb_chat_json(chat, &json));
    char *copy = malloc(json.size + 1);
    memcpy(copy, json.bytes, json.size + 1);
    must(append(chat, copy));
    free(copy);
  }
  must(query(chat, "{\"query\":\"messages\"}", &answer));
  assert_true(answer.size > 5000000);
  must(query(chat, "{\"query\":\"messages\",\"answer\":\"positions\"}", &answer));
  assert_string_equal(answer.bytes + answer.size - 13, ",16382,16383]");
  must(query(chat, "{\"query\":\"messages\",\"answer\":\"count\"}", &answer));
  assert_string_equal(answer.bytes, "16384");
  host_close(&host, runtime);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(messages_are_found),
    cmocka_unit_test(batches_are_told_apart),
    cmocka_unit_test(ledgers_of_old_batches_are_read),
    cmocka_unit_test(what_is_no_query_is_refused),
    cmocka_unit_test(queries_run_within_limits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
