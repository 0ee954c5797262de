/*
** A request's other members: what each dialect's rules find in them, and the same while
** memory runs out.
*/
#include "documents.h"
#include "dialect/check/check.h"

#define LONG_64 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define LONG_512 LONG_64 LONG_64 LONG_64 LONG_64 LONG_64 LONG_64 LONG_64 LONG_64
#define PAIR(key) "'" key "':'x'"
#define PAIRS_8(head) PAIR(head "1") "," PAIR(head "2") "," PAIR(head "3") "," PAIR(head "4") "," \
                      PAIR(head "5") "," PAIR(head "6") "," PAIR(head "7") "," PAIR(head "8")
#define CALLED "{'role':'user','content':'x'},{'role':'assistant','content':[{'type':'tool_use','id':'a','name':'f'," \
               "'input':{}}]},{'role':'user','content':[{'type':'tool_result','tool_use_id':'a','content':'r'}]}"
#define MARK "'cache_control':{'type':'ephemeral'}"
#define MARK_1H "'cache_control':{'type':'ephemeral','ttl':'1h'}"

#define ALL_TRAITS UINT32_MAX

static const struct Case {
  const char *shows;
  Dialect dialect;
  const char *list, *body, *found;        /* found: codes of the body's violations, each with its subject in brackets */
} cases[] = {
  {"nothing", DIALECT_OPENAI, U, "{}", ""},
  {"no object", DIALECT_OPENAI, U, "[]", ""},
  {"null", DIALECT_OPENAI, U, "{'tools':null,'tool_choice':null,'metadata':null}", ""},
  {"no messages", DIALECT_OPENAI, "", "{'model':'m'}", "no_messages"},
  {"a tool's name", DIALECT_OPENAI, U,
   "{'tools':[1,{},{'type':'custom'},{'type':'function','function':{'name':'a b'}}]}",
   "tool_name(a b)"},
  {"a tool's description", DIALECT_OPENAI, U,
   "{'tools':[{'type':'function','function':{'name':'f','description':'" LONG_512 LONG_512 "x'}}]}",
   "tool_description(f)"},
  {"empty names", DIALECT_OPENAI, U,
   "{'tools':[{'type':'custom','custom':{'name':''}},{'type':'function','function':{}}],'functions':[{'name':''}]}",
   "tool_name tool_name tool_name"},
  {"schemas", DIALECT_OPENAI, U,
   "{'tools':[{'type':'function','function':{'name':'a','parameters':{}}},"
   "{'type':'function','function':{'name':'b','parameters':{'type':'object','not':{}}}},"
   "{'type':'function','function':{'name':'c','parameters':{'type':'object','properties':{'x':{'anyOf':[]}}}}}],"
   "'functions':[{'name':'d','parameters':null},{'name':'e'}]}", "tool_schema(a) tool_schema(b) tool_schema(d)"},
  {"no tools", DIALECT_OPENAI, U, "{'tools':[]}", "empty_tools"},
  {"tools and effort", DIALECT_OPENAI, U,
   "{'tools':[{'type':'function','function':{'name':'f'}}],'reasoning_effort':'low'}", "tools_with_effort"},
  {"tools without effort", DIALECT_OPENAI, U,
   "{'tools':[{'type':'function','function':{'name':'f'}}],'reasoning_effort':'none'}", ""},
  {"a choice without tools", DIALECT_OPENAI, U, "{'tool_choice':'auto'}", "tool_choice(tool_choice)"},
  {"calls side by side without tools", DIALECT_OPENAI, U, "{'parallel_tool_calls':true}",
   "tool_choice(parallel_tool_calls)"},
  {"a named choice", DIALECT_OPENAI, U,
   "{'tools':[{'type':'function','function':{'name':'f'}}],'tool_choice':{'type':'function','function':{'name':'f'}}}",
   "named_tool_choice forced_tool"},
  {"a forced choice", DIALECT_OPENAI, U,
   "{'tools':[{'type':'function','function':{'name':'f'}}],'tool_choice':'required'}", "forced_tool"},
  {"sampling", DIALECT_OPENAI, U, "{'temperature':0.5,'top_p':1,'top_k':3}", "sampling(temperature) sampling(top_k)"},
  {"16 pairs", DIALECT_OPENAI, U, "{'metadata':{" PAIRS_8("a") "," PAIRS_8("b") "}}", ""},
  {"17 pairs", DIALECT_OPENAI, U, "{'metadata':{" PAIRS_8("a") "," PAIRS_8("b") ",'c':'x'}}",
   "metadata_size(more than 16 pairs)"},
  {"a long key", DIALECT_OPENAI, U, "{'metadata':{'" LONG_64 "x':'x'}}", "metadata_size(a text is too long)"},
  {"a long value", DIALECT_OPENAI, U, "{'metadata':{'n':1,'a':'" LONG_512 "x'}}", "metadata_size(a text is too long)"},
  {"metadata that is no object", DIALECT_OPENAI, U, "{'metadata':[1]}", ""},

  {"a tool's name", DIALECT_RESPONSES, U, "{'tools':[{'type':'web_search'},{'type':'function','name':'a b'}]}",
   "tool_name(a b)"},
  {"empty names", DIALECT_RESPONSES, U,
   "{'tools':[{'type':'custom','name':''},{'type':'namespace','name':'n','tools':[{'type':'function','name':''}]}]}",
   "tool_name tool_name"},
  {"a schema", DIALECT_RESPONSES, U,
   "{'tools':[{'type':'function','name':'a','parameters':{'type':'object','enum':[]}},{'type':'web_search'}]}",
   "tool_schema(a)"},
  {"members that exclude each other", DIALECT_RESPONSES, U, "{'previous_response_id':'r','conversation':'c'}",
   "exclusive_members(both members)"},
  {"too little output", DIALECT_RESPONSES, U, "{'max_output_tokens':15}", "output_limit"},
  {"enough output", DIALECT_RESPONSES, U, "{'max_output_tokens':16}", ""},
  {"sampling", DIALECT_RESPONSES, U, "{'top_p':0.1}", "sampling(top_p)"},
  {"a long key", DIALECT_RESPONSES, U, "{'metadata':{'" LONG_64 "x':'x'}}", "metadata_size(a text is too long)"},

  {"a tool's name", DIALECT_ANTHROPIC, U,
   "{'tools':[{'type':'web_search_20250305','name':'web_search'},{'name':'a b','input_schema':{'type':'object'}}]}",
   "tool_name(a b)"},
  {"an empty name", DIALECT_ANTHROPIC, U, "{'tools':[{'type':'custom','name':'','input_schema':{'type':'object'}}]}",
   "tool_name"},
  {"schemas", DIALECT_ANTHROPIC, U,
   "{'tools':[{'name':'a','input_schema':{}},{'name':'b','input_schema':{'type':'object','allOf':[]}},{'name':'c'},"
   "{'name':'d','input_schema':{'type':'object','enum':[]}},"
   "{'name':'e','type':'custom','input_schema':{'type':'array'}}]}",
   "tool_schema(a) tool_schema(b) tool_schema(c) tool_schema(e)"},
  {"a set of tools", DIALECT_ANTHROPIC, U, "{'tools':[{'type':'mcp_toolset'}]}", ""},
  {"a tool twice", DIALECT_ANTHROPIC, U,
   "{'tools':[{'type':'bash_20250124','name':'f'},{'type':'bash_20250124','name':'f'}]}",
   "duplicate_tool(f)"},
  {"a system part whose text is a number", DIALECT_ANTHROPIC, U,
   "{'system':[{'type':'text','text':1},{'type':'text'},{'type':'x'}]}",
   "part_text part_text"},
  {"no limit of output", DIALECT_ANTHROPIC, U, "{'model':'m'}", "missing_member(max_tokens)"},
  {"a forced choice", DIALECT_ANTHROPIC, U, "{'tool_choice':{'type':'any'}}", "forced_tool"},
  {"a forced tool", DIALECT_ANTHROPIC, U, "{'tool_choice':{'type':'tool','name':'f'}}", "forced_tool"},
  {"calls without tools", DIALECT_ANTHROPIC, CALLED, "{}", "tools_missing"},
  {"five marks", DIALECT_ANTHROPIC, U,
   "{'tools':[{'type':'x_1','name':'f'," MARK "},{'type':'x_1','name':'g'," MARK "}],'system':[1,"
   "{'type':'text','text':'a'," MARK "},"
   "{'type':'text','text':'b'," MARK "}]," MARK "}", "cache_marks"},
  {"a long mark behind a short one", DIALECT_ANTHROPIC, U,
   "{'tools':[{'type':'x_1','name':'f'," MARK "}],'system':[{'type':'text','text':'a'," MARK_1H "}]}", "cache_order"},
  {"thinking by hand", DIALECT_ANTHROPIC, U, "{'thinking':{'type':'enabled','budget_tokens':1024}}",
   "thinking_mode(enabled)"},
  {"adaptive thinking", DIALECT_ANTHROPIC, U, "{'thinking':{'type':'adaptive'}}", "thinking_mode(adaptive)"},
  {"no thinking", DIALECT_ANTHROPIC, U, "{'thinking':{'type':'disabled'}}", "thinking_mode(disabled)"},
  {"sampling", DIALECT_ANTHROPIC, U, "{'top_k':3}", "sampling(top_k)"},
  {"a member of others", DIALECT_ANTHROPIC, U, "{'reasoning_effort':'low'}", "extra_member(reasoning_effort)"},

  {"a function's name", DIALECT_GEMINI, U, "{'tools':[{'functionDeclarations':[{'name':'a b'}]}]}", "tool_name(a b)"},
  {"a function's name, of the other spelling", DIALECT_GEMINI, U,
   "{'tools':[{'function_declarations':[{'name':'1'}]}]}", "tool_name(1)"},
  {"a system part whose text is a number", DIALECT_GEMINI, U, "{'systemInstruction':{'parts':[{'text':1},{'text':'x'}]}}",
   "part_text"},
  {"a system text without parts", DIALECT_GEMINI, U, "{'systemInstruction':{}}", ""},
  {"a system instruction beside a cache", DIALECT_GEMINI, U, "{'cachedContent':'c','systemInstruction':{}}",
   "exclusive_members(systemInstruction)"},
  {"tools beside a cache", DIALECT_GEMINI, U, "{'cachedContent':'c','tools':[],'toolConfig':{}}",
   "exclusive_members(tools) exclusive_members(toolConfig)"},
  {"tools of both kinds", DIALECT_GEMINI, U, "{'tools':[{'googleSearch':{}},{'functionDeclarations':[]},1]}",
   "mixed_tools"},
};

#define CASE_COUNT (sizeof cases / sizeof *cases)

static void load_case(Loaded *loaded, const struct Case *test) {
  char text[1000];
  int size = snprintf(text, sizeof text, "[%s]", quoted(test->list));
  must_load(loaded, test->shows, text, (size_t)size);
}

/* Finds what is wrong, for a model with all traits; `body` must outlive the report. */
static Status find(const Loaded *loaded, const struct Case *test, const char *body, CheckReport *report) {
  CheckTarget target = {.dialect = test->dialect, .body = text_of(body),
                        .profile = {.model_known = true, .traits = ALL_TRAITS}};
  codes_add(&target.profile.refuses, CHECK_TOOL_DESCRIPTION);      /* of some servers only */
  codes_add(&target.profile.refuses, CHECK_TOOL_SCHEMA);
  *report = (CheckReport){.memory = *conversation_memory(loaded->conversation), .least = SEVERITY_CHANGED};
  const Conversation *chat = loaded->conversation;
  return check_list(&target, conversation_store(chat), conversation_list(chat), report);
}

static void describe(const CheckReport *report, char out[4000]) {
  size_t at = 0;
  out[0] = '\0';
  for (uint32_t i = 0; i < report->count; i++) {
    const Violation *violation = &report->list[i];
    if (violation->index != CHECK_BODY) continue;
    at += (size_t)snprintf(out + at, 4000 - at, "%s%s", at > 0 ? " " : "", check_code_name(violation->code));
    if (violation->subject.size == 0) continue;
    at += (size_t)snprintf(out + at, 4000 - at, "(%.*s)", (int)violation->subject.size, violation->subject.bytes);
  }
}

static void members_are_checked(void **state) {
  (void)state;
  for (size_t i = 0; i < CASE_COUNT; i++) {
    Loaded loaded;
    CheckReport report;
    char found[4000];
    load_case(&loaded, &cases[i]);
    assert_int_equal(find(&loaded, &cases[i], quoted(cases[i].body), &report), STATUS_OK);
    describe(&report, found);
    if (strcmp(found, cases[i].found) != 0) {
      fail_msg("%s: %s: %s", dialect_name(cases[i].dialect), cases[i].shows, found);
    }
    check_report_free(&report);
    unload(&loaded);
  }
}

static bool finding_fails(const struct Case *test, size_t k, bool once) {
  Loaded loaded;
  CheckReport report;
  load_case(&loaded, test);
  const char *body = quoted(test->body);
  loaded.fail.fail_at = loaded.fail.calls + k;
  loaded.fail.once = once;
  Status status = find(&loaded, test, body, &report);
  loaded.fail.fail_at = 0;
  if (status != STATUS_OK) assert_int_equal(status, STATUS_MEMORY);
  check_report_free(&report);
  unload(&loaded);
  return status != STATUS_OK;
}

static void out_of_memory_finds_nothing(void **state) {
  size_t failures = 0;
  (void)state;
  for (size_t i = 0; i < CASE_COUNT; i++) {
    for (size_t k = 1; finding_fails(&cases[i], k, false); k++, failures++) finding_fails(&cases[i], k, true);
  }
  assert_true(failures > CASE_COUNT / 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(members_are_checked),
    cmocka_unit_test(out_of_memory_finds_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
