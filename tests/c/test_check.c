/*
** What providers refuse, and how it is mended: cases with what is found in them
** and what they become, in both ways; then histories at random, in which nothing
** must be left to find. HISTORIES says how many, SEED repeats a run.
*/
#include "documents.h"
#include "dialect/check/check.h"
#include "dialect/repair/repair.h"

#define SPEC "{'role':'system','content':'s'}"
#define A(text) "{'role':'assistant','content':'" text "'}"
#define CALL(id) "{'id':'" id "','type':'function','function':{'name':'f','arguments':'{}'}}"
#define CALLS(list) "{'role':'assistant','content':null,'tool_calls':[" list "]}"
#define R(id) "{'role':'tool','tool_call_id':'" id "','content':'r'}"
#define ARGUED(key, value) "{'id':'a','type':'function','function':{'name':'f','" key "':" value "}}"
#define INPUT(id, value) "{'type':'tool_use','id':'" id "','name':'f','input':" value "}"
#define TOLD(id) "{'role':'tool','tool_call_id':'" id "','content':'told'}"
#define BARE(text) "{'role':'tool','content':'" text "'}"
#define IDLESS "{'type':'function','function':{'name':'f','arguments':'{}'}}"
#define NEWID(id) "{'type':'function','function':{'name':'f','arguments':'{}'},'id':'" id "'}"
#define NONE(id) "{'role':'tool','tool_call_id':'" id "','content':'Error: this call has no result.'}"

#define UP(parts) "{'role':'user','content':[" parts "]}"
#define AP(parts) "{'role':'assistant','content':[" parts "]}"
#define T(text) "{'type':'text','text':'" text "'}"
#define USE(id) "{'type':'tool_use','id':'" id "','name':'f','input':{}}"
#define RES(id) "{'type':'tool_result','tool_use_id':'" id "','content':'r'}"
#define ERR(id) "{'type':'tool_result','tool_use_id':'" id "','is_error':true,'content':'Error: this call has no result.'}"
#define THINK "{'type':'thinking','thinking':'m','signature':'s'}"
#define FIRST "{'role':'user','content':[" T("(The beginning of this conversation was left out.)") "]}"

#define FC(id) "{'type':'function_call','call_id':'" id "','name':'f','arguments':'{}'}"
#define FO(id, output) "{'type':'function_call_output','call_id':'" id "','output':'" output "'}"
#define RS(id) "{'type':'reasoning','id':'" id "','summary':[]}"
#define MSG(id) "{'type':'message'," id "'role':'assistant','content':[{'type':'output_text','text':'x','annotations':[]}]}"
#define APPROVAL(id)                                                                                                 \
  "{'type':'mcp_approval_request','id':'" id "','name':'f','arguments':'{}'},"                                       \
  "{'type':'mcp_approval_response','approve':true,'approval_request_id':'" id "'}"
#define NO_RESULT "Error: this call has no result."

#define GU(parts) "{'role':'user','parts':[" parts "]}"
#define GM(parts) "{'role':'model','parts':[" parts "]}"
#define GT(text) "{'text':'" text "'}"
#define GC(id) "{'functionCall':{'id':'" id "','name':'f','args':{}}}"
#define GR(id) "{'functionResponse':{'id':'" id "','name':'f','response':{}}}"
#define GE(id) "{'functionResponse':{'id':'" id "','name':'f','response':{'error':'" NO_RESULT "'}}}"
#define GFIRST GU(GT("(The beginning of this conversation was left out.)"))
#define NAMED(kind, name, more) "{'" kind "':{'name':'" name "','" more "':{}}}"

static const struct Case {
  const char *shows;
  Dialect dialect;
  const char *text, *found, *dropped, *synthesized;      /* lists without brackets; synthesized NULL: the same */
} cases[] = {
  {"openai: all is well", DIALECT_OPENAI, SPEC "," U "," CALLS(CALL("a") "," CALL("b")) "," R("b") "," R("a") "," A("x"), "",
   SPEC "," U "," CALLS(CALL("a") "," CALL("b")) "," R("b") "," R("a") "," A("x"), NULL},
  {"openai: an orphan", DIALECT_OPENAI, U "," R("a") "," A("x"), "1 orphan_result ", U "," A("x"), NULL},
  {"openai: a result twice", DIALECT_OPENAI, CALLS(CALL("a")) "," R("a") "," R("a"), "2 duplicate_result ",
   CALLS(CALL("a")) "," R("a"), NULL},
  {"openai: one of two is answered", DIALECT_OPENAI, CALLS(CALL("a") "," CALL("b")) "," R("b") "," U, "0 unanswered_call ",
   CALLS(CALL("b")) "," R("b") "," U, CALLS(CALL("a") "," CALL("b")) "," R("b") "," NONE("a") "," U},
  {"openai: nothing is answered", DIALECT_OPENAI, U "," CALLS(CALL("a")), "1 unanswered_call ", U,
   U "," CALLS(CALL("a")) "," NONE("a")},
  {"openai: a result behind a user", DIALECT_OPENAI, CALLS(CALL("a")) "," U "," R("a"), "0 unanswered_call 2 orphan_result ",
   CALLS(CALL("a")) "," R("a") "," U, NULL},
  {"openai: words outlive their calls", DIALECT_OPENAI,
   "{'role':'assistant','content':'I look','tool_calls':[" CALL("a") "],'x':1}", "0 unanswered_call ",
   "{'role':'assistant','content':'I look','x':1}",
   "{'role':'assistant','content':'I look','tool_calls':[" CALL("a") "],'x':1}," NONE("a")},
  {"openai: an id twice in a message", DIALECT_OPENAI, CALLS(CALL("a") "," CALL("a")) "," R("a") "," R("a"),
   "0 duplicate_call ", CALLS(CALL("a") "," CALL("a_1")) "," R("a") "," R("a_1"), NULL},
  {"openai: an id twice in the list", DIALECT_OPENAI, CALLS(CALL("a")) "," R("a") "," CALLS(CALL("a")) "," R("a"), "",
   CALLS(CALL("a")) "," R("a") "," CALLS(CALL("a")) "," R("a"), NULL},
  {"openai: no id", DIALECT_OPENAI, CALLS(CALL("")) "," R(""), "0 call_id ", CALLS(CALL("call_1")) "," R("call_1"), NULL},
  {"openai: a tool result without a call", DIALECT_OPENAI, CALLS(CALL("a")) "," R("a") ",{'role':'tool','content':'r'}",
   "2 orphan_result ", CALLS(CALL("a")) "," R("a"), NULL},
  {"openai: the legacy form", DIALECT_OPENAI,
   "{'role':'assistant','content':null,'function_call':{'name':'f','arguments':''}},{'role':'function','name':'f','content':'r'}",
   "", "{'role':'assistant','content':null,'function_call':{'name':'f','arguments':''}},{'role':'function','name':'f','content':'r'}",
   NULL},
  {"openai: the legacy form with words, unanswered", DIALECT_OPENAI,
   "{'role':'assistant','content':'w','function_call':{'name':'f','arguments':''}}", "0 unanswered_call ", A("w"),
   "{'role':'assistant','content':'w','function_call':{'name':'f','arguments':''}},"
   "{'role':'function','name':'f','content':'Error: this call has no result.'}"},
  {"openai: the legacy form, unanswered", DIALECT_OPENAI,
   "{'role':'assistant','content':null,'function_call':{'name':'f','arguments':''}}", "0 unanswered_call ", "",
   "{'role':'assistant','content':null,'function_call':{'name':'f','arguments':''}},"
   "{'role':'function','name':'f','content':'Error: this call has no result.'}"},
  {"openai: reasoning of others", DIALECT_OPENAI, AP("{'type':'thinking','thinking':'m'}," T("x")), "0 foreign_reasoning ",
   AP(T("x")), NULL},
  {"openai: parts of others stay", DIALECT_OPENAI, AP(T("x") "," USE("a")) "," UP(RES("a")), "0 foreign_part 1 foreign_part ",
   AP(T("x") "," USE("a")) "," UP(RES("a")), NULL},
  {"openai: calls of others are no calls", DIALECT_OPENAI, "{'role':'user','content':'x','tool_calls':[" CALL("a") "]}," R("a"),
   "1 orphan_result ", "{'role':'user','content':'x','tool_calls':[" CALL("a") "]}", NULL},
  {"openai: three calls without a result", DIALECT_OPENAI, CALLS(CALL("a") "," CALL("b") "," CALL("c")),
   "0 unanswered_call 0 unanswered_call 0 unanswered_call ", "",
   CALLS(CALL("a") "," CALL("b") "," CALL("c")) "," NONE("a") "," NONE("b") "," NONE("c")},
  {"openai: an item of Responses without an id, answered", DIALECT_OPENAI, FC("") "," FO("", "r"), "0 call_id ",
   FC("call_1") "," FO("call_1", "r"), NULL},
  {"openai: an item of Responses without an id, and unanswered", DIALECT_OPENAI, U "," FC(""),
   "1 call_id 1 unanswered_call ", U, U "," FC("call_2") "," NONE("call_2")},
  {"openai: no id, and unanswered", DIALECT_OPENAI, U "," CALLS(CALL("")), "1 call_id 1 unanswered_call ", U,
   U "," CALLS(CALL("call_2")) "," NONE("call_2")},
  {"openai: parts before and behind the calls", DIALECT_OPENAI,
   "{'role':'assistant','content':[" T("x") "],'tool_calls':[" CALL("a") "]},"
   "{'role':'assistant','tool_calls':[" CALL("b") "],'content':[" T("x") "]}",
   "0 unanswered_call 1 unanswered_call ", AP(T("x")) "," AP(T("x")),
   "{'role':'assistant','content':[" T("x") "],'tool_calls':[" CALL("a") "]}," NONE("a") ","
   "{'role':'assistant','tool_calls':[" CALL("b") "],'content':[" T("x") "]}," NONE("b")},
  {"openai: a refusal is words, null is none", DIALECT_OPENAI,
   "{'role':'assistant','refusal':'no','tool_calls':[" CALL("a") "]},"
   "{'role':'assistant','refusal':null,'tool_calls':[" CALL("b") "]},"
   "{'role':'assistant','tool_calls':[" CALL("c") "],'audio':{'id':'d'}}",
   "0 unanswered_call 1 unanswered_call 2 unanswered_call ",
   "{'role':'assistant','refusal':'no'},{'role':'assistant','audio':{'id':'d'}}",
   "{'role':'assistant','refusal':'no','tool_calls':[" CALL("a") "]}," NONE("a") ","
   "{'role':'assistant','refusal':null,'tool_calls':[" CALL("b") "]}," NONE("b") ","
   "{'role':'assistant','tool_calls':[" CALL("c") "],'audio':{'id':'d'}}," NONE("c")},
  {"openai: reasoning beside calls that go", DIALECT_OPENAI,
   "{'role':'assistant','content':[" THINK "," T("x") "," T("y") "],'tool_calls':[" CALL("a") "]}",
   "0 foreign_reasoning 0 unanswered_call ", AP(T("x") "," T("y")),
   "{'role':'assistant','content':[" T("x") "," T("y") "],'tool_calls':[" CALL("a") "]}," NONE("a")},
  {"openai: reasoning in a result", DIALECT_OPENAI,
   CALLS(CALL("a")) ",{'role':'tool','tool_call_id':'a','content':[" THINK "," T("r") "]}", "1 foreign_reasoning ",
   CALLS(CALL("a")) ",{'role':'tool','tool_call_id':'a','content':[" T("r") "]}", NULL},
  {"openai: reasoning in a result whose call gets an id", DIALECT_OPENAI,
   CALLS(CALL("")) ",{'role':'tool','tool_call_id':'','content':[" THINK "]}", "0 call_id 1 foreign_reasoning ",
   CALLS(CALL("call_1")) ",{'role':'tool','tool_call_id':'call_1','content':''}", NULL},
  {"gemini: responses that are no objects, and keys of the API", DIALECT_GEMINI,
   GU(GT("q")) "," GM("{'functionCall':{'name':'f','args':{}}},{'functionCall':{'name':'g','args':{}}},"
                      "{'functionCall':{'name':'h','args':{}}}") ","
   GU("{'functionResponse':{'name':'f','response':{'a':[{'$ref' :'x'}]},'x':1}},"
      "{'function_response':{'response':['b',{}],'name':'g'}},"
      "{'functionResponse':{'name':'h','response':{'error':{'$ref':'y'}}}}"),
   "2 reserved_key 2 result_form 2 reserved_key ",
   GU(GT("q")) "," GM("{'functionCall':{'name':'f','args':{}}},{'functionCall':{'name':'g','args':{}}},"
                      "{'functionCall':{'name':'h','args':{}}}") ","
   GU("{'functionResponse':{'name':'f','response':{'output':'{\\'a\\':[{\\'$ref\\' :\\'x\\'}]}'},'x':1}},"
      "{'function_response':{'response':{'output':'[\\'b\\',{}]'},'name':'g'}},"
      "{'functionResponse':{'name':'h','response':{'error':'{\\'error\\':{\\'$ref\\':\\'y\\'}}'}}}"), NULL},
  {"gemini: a response that is a text", DIALECT_GEMINI,
   GU(GT("q")) "," GM("{'functionCall':{'name':'f','args':{}}}") ","
   GU("{'functionResponse':{'name':'f','response':'r\\n'}}"), "2 result_form ",
   GU(GT("q")) "," GM("{'functionCall':{'name':'f','args':{}}}") ","
   GU("{'functionResponse':{'name':'f','response':{'output':'r\\n'}}}"), NULL},
  {"openai: parts without a type, and bare texts", DIALECT_OPENAI, UP("'x',{'text':'y'}"),
   "0 foreign_part 0 part_type ", UP("'x',{'text':'y'}"), NULL},
  {"openai: what stands in a result of others is its own", DIALECT_OPENAI,
   AP(THINK "," T("x")) "," UP("{'type':'tool_result','tool_use_id':'a','content':[" THINK "]}"),
   "0 foreign_reasoning 1 foreign_part ", AP(T("x")) ","
   UP("{'type':'tool_result','tool_use_id':'a','content':[" THINK "]}"), NULL},

  {"anthropic: all is well", DIALECT_ANTHROPIC, U "," AP(T("x") "," USE("a")) "," UP(RES("a") "," T("y")) "," A("z"), "",
   U "," AP(T("x") "," USE("a")) "," UP(RES("a") "," T("y")) "," A("z"), NULL},
  {"anthropic: no user first", DIALECT_ANTHROPIC, A("x") "," U, "0 user_first ", FIRST "," A("x") "," U, NULL},
  {"anthropic: roles twice", DIALECT_ANTHROPIC, U "," U "," AP(T("x")) "," A("y"), "1 alternation 3 alternation ",
   UP(T("x") "," T("x")) "," AP(T("x") "," T("y")), NULL},
  {"anthropic: an orphan", DIALECT_ANTHROPIC, U "," A("x") "," UP(RES("a") "," T("y")), "2 orphan_result ",
   U "," A("x") "," UP(T("y")), NULL},
  {"anthropic: an orphan alone between assistants", DIALECT_ANTHROPIC, U "," A("x") "," UP(RES("a")) "," A("y"),
   "2 orphan_result ", U "," AP(T("x") "," T("y")), NULL},
  {"anthropic: an unanswered call", DIALECT_ANTHROPIC, U "," AP(T("x") "," USE("a")) "," U, "1 unanswered_call ",
   U "," AP(T("x")) "," U, U "," AP(T("x") "," USE("a")) "," UP(ERR("a") "," T("x"))},
  {"anthropic: a pending call", DIALECT_ANTHROPIC, U "," AP(USE("a")), "1 unanswered_call ", U,
   U "," AP(USE("a")) "," UP(ERR("a"))},
  {"anthropic: a call between users", DIALECT_ANTHROPIC, U "," AP(USE("a")) "," U, "1 unanswered_call ", UP(T("x") "," T("x")),
   U "," AP(USE("a")) "," UP(ERR("a") "," T("x"))},
  {"anthropic: reasoning goes with its call", DIALECT_ANTHROPIC, U "," AP("{'type':'thinking','thinking':'m','signature':'s'}," USE("a")),
   "1 unanswered_call ", U,
   U "," AP("{'type':'thinking','thinking':'m','signature':'s'}," USE("a")) "," UP(ERR("a"))},
  {"anthropic: parallel calls in two messages", DIALECT_ANTHROPIC, U "," AP(USE("a")) "," AP(USE("b")) "," UP(RES("a")) "," UP(RES("b")),
   "2 alternation 4 alternation ",
   U "," AP(USE("a") "," USE("b")) "," UP(RES("a") "," RES("b")), NULL},
  {"anthropic: results late", DIALECT_ANTHROPIC, U "," AP(USE("a")) "," UP(T("y") "," RES("a")), "2 results_late ",
   U "," AP(USE("a")) "," UP(RES("a") "," T("y")), NULL},
  {"anthropic: empty texts", DIALECT_ANTHROPIC, "{'role':'user','content':''}," UP(T("y") "," T(" \\n")) "," AP(""),
   "0 empty_text 1 alternation 1 empty_text 2 empty_text ", UP(T("y")), NULL},
  {"anthropic: a trailing space", DIALECT_ANTHROPIC, U "," AP("{'type':'text','text':'x \\n','c':1}"), "1 trailing_space ",
   U "," AP("{'type':'text','text':'x','c':1}"), NULL},
  {"anthropic: bad ids", DIALECT_ANTHROPIC, U "," AP(USE("a.b") "," USE("")) "," UP(RES("") "," RES("a.b")), "1 call_id 1 call_id ",
   U "," AP(USE("a_b_2") "," USE("call_2")) "," UP(RES("call_2") "," RES("a_b_2")), NULL},
  {"anthropic: an id again", DIALECT_ANTHROPIC, U "," AP(USE("a")) "," UP(RES("a")) "," AP(USE("a")) "," UP(RES("a")), "3 duplicate_call ",
   U "," AP(USE("a")) "," UP(RES("a")) "," AP(USE("a_4")) "," UP(RES("a_4")), NULL},
  {"anthropic: a new id that others have", DIALECT_ANTHROPIC, U "," AP(USE("a") "," USE("a") "," USE("a_2")) "," UP(RES("a") "," RES("a") "," RES("a_2")),
   "1 duplicate_call ", U "," AP(USE("a") "," USE("a_2_2") "," USE("a_2")) "," UP(RES("a") "," RES("a_2_2") "," RES("a_2")), NULL},
  {"anthropic: ids of all letters, and of a character that is not one", DIALECT_ANTHROPIC,
   U "," AP(USE("aZ09_-b") "," USE("a~{[/:@`")) "," UP(RES("aZ09_-b") "," RES("a~{[/:@`")), "1 call_id ",
   U "," AP(USE("aZ09_-b") "," USE("a________2")) "," UP(RES("aZ09_-b") "," RES("a________2")), NULL},
  {"anthropic: the last type of a part counts, as for the reader", DIALECT_ANTHROPIC,
   UP("{'type':'image_url','type':'text','text':'x'}"), "",
   UP("{'type':'image_url','type':'text','text':'x'}"), NULL},
  {"anthropic: a call without an id", DIALECT_ANTHROPIC, U "," AP("{'type':'tool_use','name':'f','input':{}}"),
   "1 call_id 1 unanswered_call ", U,
   U "," AP("{'type':'tool_use','name':'f','input':{},'id':'call_2'}") "," UP(ERR("call_2"))},
  {"anthropic: ids in the nested form", DIALECT_ANTHROPIC,
   U "," AP("{'type':'tool_use','tool_use':{'id':'a.b','name':'f','input':{}}}") ","
   UP("{'type':'tool_result','tool_result':{'tool_use_id':'a.b','content':'r'}}"), "1 call_id ",
   U "," AP("{'type':'tool_use','id':'call_d8adf075c6f6f6be','name':'f','input':{}}") ","
   UP("{'type':'tool_result','tool_use_id':'call_d8adf075c6f6f6be','content':'r'}"), NULL},
  {"anthropic: a long id, and one that leaves no room for a suffix", DIALECT_ANTHROPIC,
   U "," AP(USE("a23456789.123456789.123456789.123456789") "," USE("a23456789.123456789.1234567890")) ","
   UP(RES("a23456789.123456789.123456789.123456789") "," RES("a23456789.123456789.1234567890")), "1 call_id 1 call_id ",
   U "," AP(USE("a23456789_123456789_123456789_12_2") "," USE("a23456789_123456789_1234567890_2")) ","
   UP(RES("a23456789_123456789_123456789_12_2") "," RES("a23456789_123456789_1234567890_2")), NULL},
  {"anthropic: an unanswered call before a tool's message", DIALECT_ANTHROPIC,
   U "," AP(USE("a")) "," R("a") "," A("x"), "1 unanswered_call 2 foreign_role ", U "," R("a") "," A("x"),
   U "," AP(USE("a")) "," UP(ERR("a")) "," R("a") "," A("x")},
  {"anthropic: a blank text with calls of others stays", DIALECT_ANTHROPIC,
   U ",{'role':'assistant','content':'','tool_calls':[" CALL("a") "]}", "1 empty_text 1 foreign_call ",
   U ",{'role':'assistant','content':'','tool_calls':[" CALL("a") "]}", NULL},
  {"anthropic: no words at the end are no end in space", DIALECT_ANTHROPIC,
   U "," AP("{'type':'image','source':{}}"), "", U "," AP("{'type':'image','source':{}}"), NULL},
  {"anthropic: blank messages before all others", DIALECT_ANTHROPIC,
   "{'role':'user','content':''},{'role':'user','content':' '}," U,
   "0 empty_text 1 alternation 1 empty_text 2 alternation ", U, NULL},
  {"anthropic: an image of openai stays", DIALECT_ANTHROPIC,
   UP("{'type':'image_url','image_url':{}}") "," AP(USE("a")), "0 foreign_part 1 unanswered_call ",
   UP("{'type':'image_url','image_url':{}}"),
   UP("{'type':'image_url','image_url':{}}") "," AP(USE("a")) "," UP(ERR("a"))},
  {"anthropic: parts where they do not belong", DIALECT_ANTHROPIC, UP(USE("a") "," T("x")) "," AP(RES("a") "," T("y")),
   "0 misplaced_part 1 misplaced_part ", UP(T("x")) "," AP(T("y")), NULL},
  {"anthropic: a system message between", DIALECT_ANTHROPIC, U "," AP(USE("a")) "," SPEC "," UP(RES("a")) "," U,
   "2 system_inside 4 alternation ", U "," AP(USE("a")) "," SPEC "," UP(RES("a") "," T("x")), NULL},
  {"anthropic: a system message first", DIALECT_ANTHROPIC, SPEC "," A("x") "," SPEC "," A("y"),
   "0 system_inside 1 user_first 2 system_inside 3 alternation ", SPEC "," FIRST "," AP(T("x") "," T("y")) "," SPEC, NULL},
  {"anthropic: what another dialect writes stays", DIALECT_ANTHROPIC, SPEC "," U "," CALLS(CALL("a")) "," R("a"),
   "0 system_inside 2 foreign_call 3 foreign_role ", SPEC "," U "," CALLS(CALL("a")) "," R("a"), NULL},
  {"anthropic: items of Responses are foreign, and not empty", DIALECT_ANTHROPIC,
   U "," RS("rs_1") "," FC("a") "," FO("a", "r") ",{'type':'item_reference','id':'msg_1'}",
   "1 foreign_part 2 alternation 2 foreign_call 3 foreign_role 4 foreign_part ",
   U "," RS("rs_1") "," FC("a") "," FO("a", "r") ",{'type':'item_reference','id':'msg_1'}", NULL},

  {"responses: all is well", DIALECT_RESPONSES, U "," RS("rs_1") "," FC("a") "," FC("b") "," FO("b", "r") "," FO("a", "r"), "",
   U "," RS("rs_1") "," FC("a") "," FC("b") "," FO("b", "r") "," FO("a", "r"), NULL},
  {"responses: an orphan", DIALECT_RESPONSES, U "," FO("a", "r") "," A("x"), "1 orphan_result ", U "," A("x"), NULL},
  {"responses: an output twice", DIALECT_RESPONSES, FC("a") "," FO("a", "r") "," FO("a", "s"), "2 duplicate_result ",
   FC("a") "," FO("a", "r"), NULL},
  {"responses: reasoning goes with its call", DIALECT_RESPONSES, U "," RS("rs_1") "," FC("a") "," U, "2 unanswered_call ",
   U "," U, U "," RS("rs_1") "," FC("a") "," FO("a", NO_RESULT) "," U},
  {"responses: answers stand behind the reply", DIALECT_RESPONSES, U "," FC("a") "," FC("b") "," FO("b", "r"),
   "1 unanswered_call ", U "," FC("b") "," FO("b", "r"),
   U "," FC("a") "," FC("b") "," FO("a", NO_RESULT) "," FO("b", "r")},
  {"responses: an id twice in a reply", DIALECT_RESPONSES, FC("a") "," FC("a") "," FO("a", "r") "," FO("a", "s"),
   "0 unanswered_call 1 duplicate_call 3 duplicate_result ",
   FC("a") "," FC("a_2") "," FO("a", "r") "," FO("a_2", "s"), NULL},
  {"responses: an id twice, of which one is answered", DIALECT_RESPONSES, FC("a") "," FC("a") "," FO("a", "r"),
   "0 unanswered_call 1 duplicate_call ", FC("a") "," FO("a", "r"),
   FC("a") "," FC("a_2") "," FO("a_2", NO_RESULT) "," FO("a", "r")},
  {"responses: an id twice in the list", DIALECT_RESPONSES, FC("a") "," FO("a", "r") "," FC("a") "," FO("a", "s"), "",
   FC("a") "," FO("a", "r") "," FC("a") "," FO("a", "s"), NULL},
  {"responses: no id", DIALECT_RESPONSES, FC("") "," FO("", "r"), "0 call_id ", FC("call_1") "," FO("call_1", "r"), NULL},
  {"responses: reasoning alone, and before another", DIALECT_RESPONSES, RS("rs_1") "," RS("rs_2") "," U,
   "1 reasoning_alone ", U, NULL},
  {"responses: an item twice", DIALECT_RESPONSES, "{'type':'item_reference','id':'msg_1'}," MSG("'id':'msg_1',"),
   "1 duplicate_item ", "{'type':'item_reference','id':'msg_1'}," MSG(""), NULL},
  {"responses: a reference twice", DIALECT_RESPONSES,
   "{'type':'item_reference','id':'msg_1'},{'type':'item_reference','id':'msg_1'}", "1 duplicate_item ",
   "{'type':'item_reference','id':'msg_1'}", NULL},
  {"responses: an id of another kind", DIALECT_RESPONSES,
   "{'type':'function_call','id':'call_1','call_id':'a','name':'f','arguments':'{}'}," FO("a", "r"), "0 item_id ",
   FC("a") "," FO("a", "r"), NULL},
  {"responses: free text is answered in its form", DIALECT_RESPONSES,
   "{'type':'custom_tool_call','call_id':'a','name':'f','input':'x'}", "0 unanswered_call ", "",
   "{'type':'custom_tool_call','call_id':'a','name':'f','input':'x'},"
   "{'type':'custom_tool_call_output','call_id':'a','output':'" NO_RESULT "'}"},
  {"responses: a call of a server's tool goes", DIALECT_RESPONSES, "{'type':'computer_call','call_id':'a'}," U,
   "0 unanswered_call ", U, NULL},

  {"gemini: all is well", DIALECT_GEMINI, GU(GT("x")) "," GM(GC("a") "," GC("b")) "," GU(GR("b") "," GR("a")) "," GM(GT("y")), "",
   GU(GT("x")) "," GM(GC("a") "," GC("b")) "," GU(GR("b") "," GR("a")) "," GM(GT("y")), NULL},
  {"gemini: an unanswered call", DIALECT_GEMINI, GU(GT("x")) "," GM(GT("y") "," GC("a")) "," GU(GT("z")), "1 unanswered_call ",
   GU(GT("x")) "," GM(GT("y")) "," GU(GT("z")),
   GU(GT("x")) "," GM(GT("y") "," GC("a")) "," GU(GE("a")) "," GU(GT("z"))},
  {"gemini: a pending call", DIALECT_GEMINI, GU(GT("x")) "," GM(GC("a")), "1 unanswered_call ", GU(GT("x")),
   GU(GT("x")) "," GM(GC("a")) "," GU(GE("a"))},
  {"gemini: one of two is answered", DIALECT_GEMINI, GU(GT("x")) "," GM(GC("a") "," GC("b")) "," GU(GR("b") "," GT("y")),
   "2 result_count ", GU(GT("x")) "," GM(GC("b")) "," GU(GR("b") "," GT("y")),
   GU(GT("x")) "," GM(GC("a") "," GC("b")) "," GU(GR("b") "," GE("a") "," GT("y"))},
  {"gemini: a response too many", DIALECT_GEMINI, GU(GT("x")) "," GM(GC("a")) "," GU(GR("a") "," GR("b")), "2 result_count ",
   GU(GT("x")) "," GM(GC("a")) "," GU(GR("a")), NULL},
  {"gemini: names, where there are no ids", DIALECT_GEMINI,
   GU(GT("x")) "," GM(NAMED("functionCall", "f", "args") "," NAMED("functionCall", "g", "args")) ","
   GU(NAMED("functionResponse", "g", "response")), "2 result_count ",
   GU(GT("x")) "," GM(NAMED("functionCall", "g", "args")) "," GU(NAMED("functionResponse", "g", "response")),
   GU(GT("x")) "," GM(NAMED("functionCall", "f", "args") "," NAMED("functionCall", "g", "args")) ","
   GU(NAMED("functionResponse", "g", "response") ","
      "{'functionResponse':{'name':'f','response':{'error':'" NO_RESULT "'}}}")},
  {"gemini: a name, where only the call has an id", DIALECT_GEMINI,
   GU(GT("x")) "," GM(GC("a")) ","
   GU(NAMED("functionResponse", "f", "response") "," NAMED("functionResponse", "g", "response")),
   "2 result_count ", GU(GT("x")) "," GM(GC("a")) "," GU(NAMED("functionResponse", "f", "response")), NULL},
  {"gemini: an orphan", DIALECT_GEMINI, GU(GT("x")) "," GM(GT("y")) "," GU(GR("a") "," GT("z")), "2 orphan_result ",
   GU(GT("x")) "," GM(GT("y")) "," GU(GT("z")), NULL},
  {"gemini: an orphan alone", DIALECT_GEMINI, GU(GT("x")) "," GU(GR("a")) "," GM(GT("y")), "1 orphan_result ",
   GU(GT("x")) "," GM(GT("y")), NULL},
  {"gemini: responses in two contents", DIALECT_GEMINI,
   GU(GT("x")) "," GM(GC("a") "," GC("b")) "," GU(GR("a")) "," GU(GR("b") "," GT("y")),
   "2 result_count 3 orphan_result ", GU(GT("x")) "," GM(GC("a") "," GC("b")) "," GU(GR("a") "," GR("b") "," GT("y")), NULL},
  {"gemini: a response behind a text", DIALECT_GEMINI, GU(GT("x")) "," GM(GC("a")) "," GU(GT("y") "," GR("a")), "2 results_late ",
   GU(GT("x")) "," GM(GC("a")) "," GU(GR("a") "," GT("y")), NULL},
  {"gemini: calls behind a text of the model", DIALECT_GEMINI, GU(GT("x")) "," GM(GT("y")) "," GM(GC("a")) "," GU(GR("a")),
   "2 call_place ", GU(GT("x")) "," GM(GT("y") "," GC("a")) "," GU(GR("a")), NULL},
  {"gemini: no user first", DIALECT_GEMINI, GM(GC("a")) "," GU(GR("a")), "0 user_first ",
   GFIRST "," GM(GC("a")) "," GU(GR("a")), NULL},
  {"gemini: a text that begins, and calls", DIALECT_GEMINI, GM(GT("y")) "," GM(GC("a")) "," GU(GR("a")), "1 call_place ",
   GFIRST "," GM(GT("y") "," GC("a")) "," GU(GR("a")), NULL},
  {"gemini: calls behind calls that go", DIALECT_GEMINI, GU(GT("x")) "," GM(GC("a")) "," GM(GC("b")) "," GU(GR("b")),
   "1 unanswered_call 2 call_place ", GU(GT("x")) "," GM(GC("b")) "," GU(GR("b")),
   GU(GT("x")) "," GM(GC("a") "," GC("b")) "," GU(GR("b") "," GE("a"))},
  {"gemini: empty parts and contents", DIALECT_GEMINI, GU("{}") "," GU("") "," GU("{}," GT("x")),
   "0 empty_content 1 empty_content 2 empty_content ", GU(GT("x")), NULL},

  {"openai: a user speaks between two results", DIALECT_OPENAI,
   U "," CALLS(CALL("a") "," CALL("b")) "," R("a") "," U "," R("b") "," A("x"), "1 unanswered_call 4 orphan_result ",
   U "," CALLS(CALL("a") "," CALL("b")) "," R("a") "," R("b") "," U "," A("x"), NULL},
  {"openai: parallel calls in two messages", DIALECT_OPENAI,
   U "," CALLS(CALL("a")) "," CALLS(CALL("b")) "," R("a") "," R("b") "," U,
   "1 unanswered_call 3 orphan_result ", U "," CALLS(CALL("a")) "," R("a") "," CALLS(CALL("b")) "," R("b") "," U, NULL},
  {"openai: parallel calls of one id in two messages", DIALECT_OPENAI,
   CALLS(CALL("a")) "," CALLS(CALL("a")) "," R("a") "," TOLD("a"),
   "0 unanswered_call 3 duplicate_result ", CALLS(CALL("a")) "," R("a") "," CALLS(CALL("a")) "," TOLD("a"), NULL},
  {"openai: a result before its call", DIALECT_OPENAI, U "," R("a") "," CALLS(CALL("a")) "," U,
   "1 orphan_result 2 unanswered_call ", U "," CALLS(CALL("a")) "," R("a") "," U, NULL},
  {"openai: the nearest of two results counts", DIALECT_OPENAI,
   CALLS(CALL("a")) "," U "," R("a") "," A("x") "," TOLD("a"),
   "0 unanswered_call 2 orphan_result 4 orphan_result ", CALLS(CALL("a")) "," R("a") "," U "," A("x"), NULL},
  {"openai: an id again, and its results late", DIALECT_OPENAI,
   CALLS(CALL("a")) "," U "," CALLS(CALL("a")) "," R("a") "," U "," TOLD("a"), "0 unanswered_call 5 orphan_result ",
   CALLS(CALL("a")) "," TOLD("a") "," U "," CALLS(CALL("a")) "," R("a") "," U, NULL},
  {"openai: results without ids belong to their calls by order", DIALECT_OPENAI,
   CALLS(CALL("a") "," CALL("b")) "," BARE("1") "," U "," BARE("2"),
   "0 unanswered_call 0 unanswered_call 1 orphan_result 3 orphan_result ",
   CALLS(CALL("a") "," CALL("b")) ",{'role':'tool','content':'1','tool_call_id':'a'},"
   "{'role':'tool','content':'2','tool_call_id':'b'}," U, NULL},
  {"openai: calls and results without ids", DIALECT_OPENAI,
   CALLS(IDLESS "," IDLESS) "," BARE("1") "," U "," R("") "," A("x"),
   "0 call_id 0 unanswered_call 0 call_id 0 unanswered_call 1 orphan_result 3 orphan_result ",
   CALLS(NEWID("call_1") "," NEWID("call_1_2")) ",{'role':'tool','content':'1','tool_call_id':'call_1'},"
   R("call_1_2") "," U "," A("x"), NULL},
  {"openai: results with ids that no call has, where the call has none", DIALECT_OPENAI, CALLS(CALL("")) "," R("a"),
   "0 call_id 0 unanswered_call 1 orphan_result ", CALLS(CALL("call_1")) "," R("call_1"), NULL},
  {"openai: a result of another id is no call's that has one", DIALECT_OPENAI, U "," CALLS(CALL("a")) "," R("b"),
   "1 unanswered_call 2 orphan_result ", U, U "," CALLS(CALL("a")) "," NONE("a")},
  {"openai: a late result of the legacy form", DIALECT_OPENAI,
   "{'role':'assistant','content':null,'function_call':{'name':'f','arguments':'{}'}}," U ","
   "{'role':'function','name':'f','content':'r'}", "0 unanswered_call 2 orphan_result ",
   "{'role':'assistant','content':null,'function_call':{'name':'f','arguments':'{}'}},"
   "{'role':'function','name':'f','content':'r'}," U, NULL},

  {"anthropic: results of two turns in one message", DIALECT_ANTHROPIC,
   U "," AP(USE("a")) "," U "," AP(USE("b")) "," UP(RES("a") "," RES("b") "," T("y")),
   "1 unanswered_call 4 orphan_result ",
   U "," AP(USE("a")) "," UP(RES("a") "," T("x")) "," AP(USE("b")) "," UP(RES("b") "," T("y")), NULL},
  {"anthropic: a signed thought, and its result late", DIALECT_ANTHROPIC,
   U "," AP(THINK "," USE("a")) "," U "," A("x") "," UP(RES("a")), "1 unanswered_call 4 orphan_result ",
   U "," AP(THINK "," USE("a")) "," UP(RES("a") "," T("x")) "," A("x"), NULL},
  {"anthropic: a result before its call", DIALECT_ANTHROPIC, UP(RES("a")) "," AP(USE("a")),
   "0 orphan_result 1 unanswered_call ", FIRST "," AP(USE("a")) "," UP(RES("a")), NULL},
  {"anthropic: empty ids of results", DIALECT_ANTHROPIC, U "," AP(USE("a") "," USE("b")) "," UP(RES("")) "," A("x") "," UP(RES("")),
   "1 unanswered_call 1 unanswered_call 2 orphan_result 4 orphan_result ",
   U "," AP(USE("a") "," USE("b")) "," UP(RES("a") "," RES("b")) "," A("x"), NULL},
  {"anthropic: the nearest of two results counts", DIALECT_ANTHROPIC,
   U "," AP(USE("a")) "," UP(RES("a")) "," A("x") "," UP(RES("a") "," T("y")), "4 orphan_result ",
   U "," AP(USE("a")) "," UP(RES("a")) "," A("x") "," UP(T("y")), NULL},

  {"responses: an output before its call", DIALECT_RESPONSES, FO("a", "r") "," U "," RS("rs_1") "," FC("a") "," MSG("") "," U,
   "0 orphan_result 3 unanswered_call ", U "," RS("rs_1") "," FC("a") "," MSG("") "," FO("a", "r") "," U, NULL},
  {"responses: empty ids of outputs", DIALECT_RESPONSES, FC("a") "," FC("b") "," FO("", "r") "," U "," FO("", "s"),
   "0 unanswered_call 1 unanswered_call 2 orphan_result 4 orphan_result ",
   FC("a") "," FC("b") "," FO("a", "r") "," U "," FO("b", "s"), NULL},
  {"responses: empty ids", DIALECT_RESPONSES, FC("") "," FC("") "," FO("", "r") "," U "," FO("", "s"),
   "0 call_id 0 unanswered_call 1 call_id 1 duplicate_call 4 duplicate_result ",
   FC("call_1") "," FC("call_2") "," FO("call_1", "r") "," U "," FO("call_2", "s"), NULL},
  {"responses: an output is of its kind", DIALECT_RESPONSES,
   U ",{'type':'computer_call','call_id':''},{'type':'function_call_output','call_id':'a','output':'r'}",
   "1 call_id 1 unanswered_call 2 orphan_result ", U, NULL},

  {"gemini: calls and responses apart, without ids", DIALECT_GEMINI,
   GU(GT("x")) "," GM("{'functionCall':{'name':'f','args':{'n':1}},'thoughtSignature':'c2ln'}") ","
   GM("{'functionCall':{'name':'f','args':{'n':2}}}") "," GU("{'functionResponse':{'name':'f','response':{'n':1}}}") ","
   GU("{'functionResponse':{'name':'f','response':{'n':2}}}"), "1 unanswered_call 2 call_place 4 orphan_result ",
   GU(GT("x")) "," GM("{'functionCall':{'name':'f','args':{'n':1}},'thoughtSignature':'c2ln'},"
                      "{'functionCall':{'name':'f','args':{'n':2}}}") ","
   GU("{'functionResponse':{'name':'f','response':{'n':1}}},"
      "{'functionResponse':{'name':'f','response':{'n':2}}}"), NULL},
  {"gemini: a user speaks between two responses", DIALECT_GEMINI,
   GU(GT("x")) "," GM(GC("a") "," GC("b")) "," GU(GR("a")) "," GU(GT("y")) "," GU(GR("b")),
   "2 result_count 4 orphan_result ",
   GU(GT("x")) "," GM(GC("a") "," GC("b")) "," GU(GR("a") "," GR("b")) "," GU(GT("y")), NULL},
  {"gemini: a response before its call", DIALECT_GEMINI, GU(GT("x")) "," GU(GR("a") "," GT("y")) "," GM(GC("a")),
   "1 orphan_result 2 unanswered_call ", GU(GT("x")) "," GU(GT("y")) "," GM(GC("a")) "," GU(GR("a")), NULL},
  {"gemini: a text of the model behind its call", DIALECT_GEMINI, GU(GT("x")) "," GM(GC("a")) "," GM(GT("y")) "," GU(GR("a")),
   "1 unanswered_call 3 orphan_result ", GU(GT("x")) "," GM(GC("a") "," GT("y")) "," GU(GR("a")), NULL},
  {"gemini: as many responses as calls, of other names", DIALECT_GEMINI,
   GU(GT("x")) "," GM(GC("a")) "," GU("{'functionResponse':{'name':'g','response':{}}}") "," GU(GR("b")),
   "3 orphan_result ", GU(GT("x")) "," GM(GC("a")) "," GU("{'functionResponse':{'name':'g','response':{}}}"), NULL},

  {"openai: arguments that are an object", DIALECT_OPENAI,
   CALLS(ARGUED("arguments", "{'n':[1,'x']}")) "," R("a"), "0 call_arguments_form ",
   CALLS(ARGUED("arguments", "'{\\'n\\':[1,\\'x\\']}'")) "," R("a"), NULL},
  {"openai: arguments that are null, and absent", DIALECT_OPENAI,
   CALLS(ARGUED("arguments", "null")) "," R("a") ","
   CALLS("{'id':'b','type':'function','function':{'name':'f'}}") "," R("b"),
   "0 call_arguments_form 2 call_arguments_form ",
   CALLS(ARGUED("arguments", "'{}'")) "," R("a") ","
   CALLS("{'id':'b','type':'function','function':{'name':'f','arguments':'{}'}}") "," R("b"), NULL},
  {"openai: arguments of the legacy form", DIALECT_OPENAI,
   "{'role':'assistant','content':null,'function_call':{'name':'f','arguments':{}}},{'role':'function','name':'f','content':'r'}",
   "0 call_arguments_form ",
   "{'role':'assistant','content':null,'function_call':{'name':'f','arguments':'{}'}},"
   "{'role':'function','name':'f','content':'r'}", NULL},
  {"responses: arguments and outputs that are no texts", DIALECT_RESPONSES,
   "{'type':'function_call','call_id':'a','name':'f','arguments':{'n':1}},"
   "{'type':'function_call_output','call_id':'a','output':{'n':1}},"
   "{'type':'function_call','call_id':'b','name':'f','arguments':null},"
   "{'type':'function_call_output','call_id':'b','output':null}",
   "0 call_arguments_form 1 result_form 2 call_arguments_form 3 result_form ",
   "{'type':'function_call','call_id':'a','name':'f','arguments':'{\\'n\\':1}'},"
   "{'type':'function_call_output','call_id':'a','output':'{\\'n\\':1}'},"
   FC("b") "," FO("b", ""), NULL},
  {"anthropic: inputs that are no objects", DIALECT_ANTHROPIC,
   U "," AP(INPUT("a", "'x'") "," INPUT("b", "'{}'") "," INPUT("c", "[1]") "," INPUT("d", "''")) ","
   UP(RES("a") "," RES("b") "," RES("c") "," RES("d")),
   "1 call_arguments 1 call_arguments 1 call_arguments 1 call_arguments ",
   U "," AP(INPUT("a", "{'input':'x'}") "," INPUT("b", "{}") "," INPUT("c", "{'input':[1]}") "," INPUT("d", "{}")) ","
   UP(RES("a") "," RES("b") "," RES("c") "," RES("d")), NULL},
  {"anthropic: a result that is an object", DIALECT_ANTHROPIC,
   U "," AP(USE("a")) "," UP("{'type':'tool_result','tool_use_id':'a','content':{'n':1}}"), "2 result_form ",
   U "," AP(USE("a")) "," UP("{'type':'tool_result','tool_use_id':'a','content':'{\\'n\\':1}'}"), NULL},
  {"anthropic: thinking without a signature", DIALECT_ANTHROPIC,
   U "," AP("{'type':'thinking','thinking':'m','signature':''}," T("x")) "," U ","
   AP("{'type':'thinking','thinking':'m'}") "," U, "1 unsigned_thinking 3 unsigned_thinking ",
   U "," AP(T("x")) "," UP(T("x") "," T("x")), NULL},
  {"gemini: args that are a list, and a response without a name", DIALECT_GEMINI,
   GU(GT("x")) "," GM("{'functionCall':{'name':'f','args':[1]}}") ","
   GU("{'functionResponse':{'name':'','response':{}}}"), "1 call_arguments 2 result_name ",
   GU(GT("x")) "," GM("{'functionCall':{'name':'f','args':{'input':[1]}}}") ","
   GU("{'functionResponse':{'name':'f','response':{}}}"), NULL},
};

/* ---- looking ---- */

#define BIT(code) (UINT64_C(1) << CHECK_##code)
#define ALL_CODES UINT64_MAX

/* The provider's own API, not a strict server. */
static bool is_lenient;
/* The newest Claude and Gemini, or a server whose template takes one system message, at the beginning. */
static bool places_system;

/* A strict server, which joins no messages itself. */
static CheckTarget strict(Dialect dialect) {
  CheckTarget target = {.dialect = dialect, .skips_members = true};
  static const CheckCode codes[] = {CHECK_SYSTEM_LATE, CHECK_DEVELOPER_ROLE, CHECK_NULL_CONTENT};
  for (size_t i = 0; i < sizeof codes / sizeof *codes && places_system; i++) {
    codes_add(&target.profile.refuses, codes[i]);
  }
  if (places_system) target.profile.traits = UINT32_C(1) << MODEL_SYSTEM_ROLE | UINT32_C(1) << MODEL_SIGNED_CALLS;
  if (places_system) target.profile.model_known = true;
  if (dialect != DIALECT_ANTHROPIC || is_lenient) return target;
  codes_add(&target.profile.refuses, CHECK_ALTERNATION);
  codes_add(&target.profile.refuses, CHECK_USER_FIRST);
  return target;
}

static void found_in(const Loaded *loaded, Dialect dialect, char out[4000]) {
  CheckReport report = {.memory = *conversation_memory(loaded->conversation), .least = SEVERITY_REFUSED};
  const Store *store = conversation_store(loaded->conversation);
  CheckTarget target = strict(dialect);
  assert_int_equal(check_list(&target, store, conversation_list(loaded->conversation), &report), STATUS_OK);
  size_t at = 0;
  out[0] = '\0';
  for (uint32_t i = 0; i < report.count && at < 3900; i++) {
    at += (size_t)sprintf(out + at, "%u %s ", (unsigned)report.list[i].index, check_code_name(report.list[i].code));
  }
  check_report_free(&report);
}

static void written_of(const Loaded *loaded, Buffer *out) {
  const Sequence *list = conversation_list(loaded->conversation);
  for (uint32_t i = 0; i < sequence_count(list); i++) {
    Text raw = message_raw(conversation_message(loaded->conversation, sequence_at(list, i)));
    if (i > 0) assert_int_equal(buffer_add_byte(out, ','), STATUS_OK);
    assert_int_equal(buffer_add(out, raw.bytes, raw.size), STATUS_OK);
  }
  assert_int_equal(buffer_add_byte(out, '\0'), STATUS_OK);
}

static void load_list(Loaded *loaded, const char *list, size_t fail_at) {
  static char text[1 << 16];
  sprintf(text, "[%s]", list);
  load_within(loaded, USUAL, text, strlen(text), fail_at);
  if (loaded->status != STATUS_OK) fail_msg("%s: %s", loaded->error.expected, text);
}

static Status repair(Loaded *loaded, Dialect dialect, uint64_t codes, bool synthesize) {
  RepairOptions options = {.target = strict(dialect), .codes = {{codes, 0}}, .synthesize = synthesize};
  uint64_t before = conversation_tokens(loaded->conversation);
  Ledger *ledger;
  ConvertReport losses;
  convert_report_init(&losses, *conversation_memory(loaded->conversation));
  Status status = repair_conversation(loaded->conversation, &options, &ledger, &losses);
  convert_report_free(&losses);
  if (status != STATUS_OK) return status;
  int64_t freed = 0;
  for (uint32_t i = 0; ledger != NULL && i < ledger_run_count(ledger); i++) freed += ledger_run(ledger, i).freed;
  assert_int_equal(freed, (int64_t)before - (int64_t)conversation_tokens(loaded->conversation));
  ledger_release(ledger);
  return status;
}

/* ---- cases ---- */

static void cases_are_found(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Loaded loaded;
    char found[4000];
    load_list(&loaded, quoted(cases[i].text), 0);
    found_in(&loaded, cases[i].dialect, found);
    if (strcmp(found, cases[i].found) != 0) fail_msg("%s: %s", cases[i].shows, found);
    unload(&loaded);
  }
}

static void assert_mended(const struct Case *test, bool synthesize) {
  Loaded loaded;
  Buffer out;
  const char *expected = synthesize && test->synthesized != NULL ? test->synthesized : test->dropped;
  load_list(&loaded, quoted(test->text), 0);
  assert_int_equal(repair(&loaded, test->dialect, ALL_CODES, synthesize), STATUS_OK);
  buffer_init(&out, memory_system());
  written_of(&loaded, &out);
  if (strcmp(out.bytes, quoted(expected)) != 0) fail_msg("%s: %s", test->shows, out.bytes);
  buffer_free(&out);
  unload(&loaded);
}

static void cases_are_mended(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_mended(&cases[i], false);
    assert_mended(&cases[i], true);
  }
}

static void pin_all(Loaded *loaded) {
  for (uint32_t i = 0; i < sequence_count(conversation_list(loaded->conversation)); i++) {
    MessageId id = sequence_at(conversation_list(loaded->conversation), i);
    assert_int_equal(conversation_mark(loaded->conversation, text_of(MARK_PINNED), id), STATUS_OK);
  }
}

/* The k-th allocation fails: nothing has changed, and the same call then succeeds. */
static bool repair_failing(const struct Case *test, bool synthesize, size_t k, bool once) {
  Loaded loaded;
  load_list(&loaded, quoted(test->text), 0);
  pin_all(&loaded);
  uint64_t marked = marks_edits(conversation_marks(loaded.conversation));
  uint32_t stored = store_count(conversation_store(loaded.conversation));
  loaded.fail.fail_at = loaded.fail.calls + k;
  loaded.fail.once = once;
  Status status = repair(&loaded, test->dialect, ALL_CODES, synthesize);
  loaded.fail.fail_at = 0;
  if (status != STATUS_OK) {
    assert_int_equal(status, STATUS_MEMORY);
    assert_int_equal(store_count(conversation_store(loaded.conversation)), stored);
    assert_int_equal(history_count(conversation_history(loaded.conversation)), 1);
    assert_int_equal(marks_edits(conversation_marks(loaded.conversation)), marked);
    assert_int_equal(repair(&loaded, test->dialect, ALL_CODES, synthesize), STATUS_OK);
  }
  unload(&loaded);
  return status != STATUS_OK;
}

static void out_of_memory_changes_nothing(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    for (int way = 0; way < 2; way++) {
      for (size_t k = 1; repair_failing(&cases[i], way, k, false); k++) repair_failing(&cases[i], way, k, true);
    }
  }
}

#define S(text) "{'role':'system','content':'" text "'}"
#define D(text) "{'role':'developer','content':'" text "'}"
#define SP(parts) "{'role':'system','content':[" parts "]}"

static const struct Case system_cases[] = {
  {"joined", DIALECT_OPENAI, D("a") "," U "," S("b") "," SP(T("c")) "," U, "",
   SP(T("a") "," T("b") "," T("c")) "," U "," U, NULL},
  {"joined at the beginning", DIALECT_OPENAI, U "," S("a") "," D("b") "," U, "", S("a\\n\\nb") "," U "," U, NULL},
  {"renamed", DIALECT_OPENAI, D("a") "," U, "", S("a") "," U, NULL},
  {"moved", DIALECT_ANTHROPIC, S("a") "," U "," A("x") "," S("b") "," SP(T("c")) "," U, "",
   U "," S("a") "," A("x") "," U "," S("b") "," SP(T("c")), NULL},
  {"signed", DIALECT_GEMINI, GU(GT("x")) "," GM(GC("a") "," GC("b")) "," GU(GR("b")), "",
   GU(GT("x")) "," GM("{'functionCall':{'id':'b','name':'f','args':{}},"
   "'thoughtSignature':'skip_thought_signature_validator'}") "," GU(GR("b")), NULL},
  {"a user's", DIALECT_ANTHROPIC, U "," A("x") "," S("b"), "", U "," A("x") ",{'role':'user','content':'b'}", NULL},
};

static void system_messages_are_placed(void **state) {
  (void)state;
  places_system = true;
  for (size_t i = 0; i < sizeof system_cases / sizeof *system_cases; i++) {
    assert_mended(&system_cases[i], false);
    for (size_t k = 1; repair_failing(&system_cases[i], false, k, false); k++) {
      repair_failing(&system_cases[i], false, k, true);
    }
  }
  places_system = false;
}

/* Checking fails as a whole, too. In most cases one violation is found, so that each rule is the one that fails. */
static bool finding_fails(const struct Case *test, Severity least, size_t k, bool once) {
  Loaded loaded;
  load_list(&loaded, quoted(test->text), 0);
  CheckTarget target = strict(test->dialect);
  const Store *store = conversation_store(loaded.conversation);
  CheckReport report = {.memory = *conversation_memory(loaded.conversation), .least = least};
  loaded.fail.fail_at = loaded.fail.calls + k;
  loaded.fail.once = once;
  Status status = check_list(&target, store, conversation_list(loaded.conversation), &report);
  loaded.fail.fail_at = 0;
  if (status != STATUS_OK) assert_int_equal(status, STATUS_MEMORY);
  check_report_free(&report);
  unload(&loaded);
  return status != STATUS_OK;
}

static void out_of_memory_finds_nothing(void **state) {
  static const Severity all[] = {SEVERITY_REFUSED, SEVERITY_STRICT, SEVERITY_CHANGED};
  size_t failures = 0;
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    for (size_t s = 0; s < sizeof all / sizeof *all; s++) {
      for (size_t k = 1; finding_fails(&cases[i], all[s], k, false); k++, failures++) {
        finding_fails(&cases[i], all[s], k, true);
      }
    }
  }
  assert_true(failures > sizeof cases / sizeof *cases);
}

/* Texts of every size up to a buffer's first block: at some size each of the writer's
   own steps is the one that needs more. */
static void out_of_memory_wherever_a_block_ends(void **state) {
  static const struct Case shapes[] = {
    {.dialect = DIALECT_OPENAI,
     .text = "{'role':'assistant','content':[" THINK "," T("%s") "," T("y") "],'tool_calls':["
             CALL("") "," CALL("%s") "," CALL("b") "," CALL("c") "]},"
             "{'role':'tool','tool_call_id':'','content':[" THINK "," T("%s") "," T("z") "]}"},
    {.dialect = DIALECT_ANTHROPIC,
     .text = U "," AP(T("%s") "," USE("a.%s") "," USE("b") "," USE("a.%s")) "," UP(T("y") "," RES("b"))},
  };
  (void)state;
  for (size_t size = 0; size < 64; size++) {
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
      char pad[65], text[2000];
      struct Case test = shapes[i];
      memset(pad, 'x', size);
      pad[size] = '\0';
      snprintf(text, sizeof text, shapes[i].text, pad, pad, pad);
      test.text = text;
      for (size_t k = 1; repair_failing(&test, true, k, false); k++) repair_failing(&test, true, k, true);
    }
  }
}

/* Servers that keep items refuse the first item of a reply without the reasoning that its id names. */
static void ids_go_with_their_reasoning(void **state) {
  static const char list[] = U "," MSG("'id':'msg_1',") "," MSG("'id':'msg_2',") "," U "," RS("rs_1") ","
                             MSG("'id':'msg_3',") "," U "," MSG("");
  static const char mended[] = U "," MSG("") "," MSG("'id':'msg_2',") "," U "," RS("rs_1") "," MSG("'id':'msg_3',") ","
                               U "," MSG("");
  (void)state;
  Loaded loaded;
  Buffer out;
  Ledger *ledger;
  load_list(&loaded, quoted(list), 0);
  RepairOptions options = {.target = strict(DIALECT_RESPONSES), .codes = CODES_ALL};
  codes_add(&options.target.profile.refuses, CHECK_REASONING_LOST);
  assert_int_equal(repair_conversation(loaded.conversation, &options, &ledger, NULL), STATUS_OK);
  ledger_release(ledger);
  buffer_init(&out, memory_system());
  written_of(&loaded, &out);
  assert_string_equal(out.bytes, quoted(mended));
  buffer_free(&out);
  unload(&loaded);
}

/* The ledger says why each message goes, changes or comes. */
static void reasons_are_told(void **state) {
  static const struct {
    Dialect dialect;
    const char *text, *reasons;
  } told[] = {
    {DIALECT_OPENAI, CALLS(CALL("a")) ",{'role':'tool','tool_call_id':'a','content':[" THINK "]}," R("a") "," R("b"),
     "foreign reasoning, duplicate result, orphan result, "},
    {DIALECT_OPENAI, CALLS(CALL("") "," CALL("b")) "," R(""), "id of a call, id of a call, unanswered call, "},
    {DIALECT_ANTHROPIC, A("") "," A("x ") "," SPEC "," U "," AP(USE("a")) "," U "," A("y "),
     "empty text, no user first, unanswered call, trailing space, "},
  };
  (void)state;
  for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
    Loaded loaded;
    Ledger *ledger;
    char reasons[500] = "";
    RepairOptions options = {.target = strict(told[i].dialect), .codes = CODES_ALL, .synthesize = true};
    load_list(&loaded, quoted(told[i].text), 0);
    assert_int_equal(repair_conversation(loaded.conversation, &options, &ledger, NULL), STATUS_OK);
    for (uint32_t run = 0; run < ledger_run_count(ledger); run++) {
      Text reason = ledger_text(ledger, ledger_run(ledger, run).cause.reason);
      sprintf(reasons + strlen(reasons), "%.*s, ", (int)reason.size, reason.bytes);
    }
    if (strcmp(reasons, told[i].reasons) != 0) fail_msg("%s: %s", told[i].text, reasons);
    ledger_release(ledger);
    unload(&loaded);
  }
}

/* What is not asked for stays, whatever stands beside it. */
static void only_what_is_asked_for_is_mended(void **state) {
  static const struct {
    Dialect dialect;
    uint64_t codes;
    const char *text, *expected;
  } asked[] = {
    {DIALECT_ANTHROPIC, BIT(ALTERNATION), U "," A("x ") "," A("y "), U "," AP(T("x ") "," T("y "))},
    {DIALECT_ANTHROPIC, BIT(TRAILING_SPACE) | BIT(USER_FIRST), A(" "), FIRST "," A(" ")},
    {DIALECT_ANTHROPIC, BIT(TRAILING_SPACE) | BIT(USER_FIRST), A("x "), FIRST "," AP(T("x"))},
    {DIALECT_ANTHROPIC, BIT(USER_FIRST), AP("{'type':'reasoning','text':'m'}," T("x")),
     FIRST "," AP("{'type':'reasoning','text':'m'}," T("x"))},
    {DIALECT_GEMINI, BIT(EMPTY_CONTENT), GU(GT("x")) "," GM(GT("y")) "," GU("{}," GR("a")),
     GU(GT("x")) "," GM(GT("y")) "," GU(GR("a"))},
    {DIALECT_GEMINI, BIT(EMPTY_CONTENT) | BIT(UNANSWERED_CALL),
     GU(GT("x")) "," GM(GC("a")) "," GU(GR("a") "," GR("b") ",{}"),
     GU(GT("x")) "," GM(GC("a")) "," GU(GR("a") "," GR("b"))},
    {DIALECT_RESPONSES, BIT(ITEM_ID), APPROVAL("a b"), APPROVAL("a_b_1")},
  };
  (void)state;
  for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
    Loaded loaded;
    Buffer out;
    load_list(&loaded, quoted(asked[i].text), 0);
    assert_int_equal(repair(&loaded, asked[i].dialect, asked[i].codes, false), STATUS_OK);
    buffer_init(&out, memory_system());
    written_of(&loaded, &out);
    if (strcmp(out.bytes, quoted(asked[i].expected)) != 0) fail_msg("%s: %s", asked[i].text, out.bytes);
    buffer_free(&out);
    unload(&loaded);
  }
}

static void dialects_show(void **state) {
  static const struct {
    const char *text;
    Dialect dialect;
  } shown[] = {
    {U "," A("x"), DIALECT_OPENAI},
    {U "," AP(T("x") "," USE("a")), DIALECT_ANTHROPIC},
    {U "," AP("{'type':'thinking','thinking':'m'}") "," A("x"), DIALECT_ANTHROPIC},
    {UP("{'type':'image','source':{}}"), DIALECT_ANTHROPIC},
    {AP("{'id':'x','type':'server_tool_use'}"), DIALECT_ANTHROPIC},
    {AP("{'type':'web_search_tool_result'}"), DIALECT_ANTHROPIC},
    {AP("{'type':'odd'}"), DIALECT_OPENAI},
    {AP("{'type':'some-tool_result'}"), DIALECT_OPENAI},
    {AP("{'type':'computer_use'}"), DIALECT_OPENAI},
    {AP("{'type':'some_tool_results'}"), DIALECT_OPENAI},
    {UP("{'type':'asset'}"), DIALECT_OPENAI},
    {UP("{'type':'tool_result','tool_use_id':'a','content':[{'type':'image_url','image_url':{}}]}"), DIALECT_ANTHROPIC},
    {UP("{'type':'image_url','image_url':{}}"), DIALECT_OPENAI},
    {U "," AP(USE("a")) "," R("a"), DIALECT_OPENAI},
    {AP(USE("a")) "," CALLS(CALL("b")), DIALECT_OPENAI},
    {"", DIALECT_OPENAI},
  };
  (void)state;
  for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
    Loaded loaded;
    load_list(&loaded, quoted(shown[i].text), 0);
    const Store *store = conversation_store(loaded.conversation);
    assert_int_equal(dialect_detect(store, conversation_list(loaded.conversation)), shown[i].dialect);
    unload(&loaded);
  }
}

/* ---- histories at random ---- */

typedef struct Page {
  char text[1 << 15];
  size_t size;
} Page;

static void add(Page *page, const char *piece) {
  const char *text = quoted(piece);
  assert_true(page->size + strlen(text) < sizeof page->text);
  strcpy(page->text + page->size, text);
  page->size += strlen(text);
}

static void add_with(Page *page, const char *before, const char *value, const char *after) {
  add(page, before);
  add(page, value);
  add(page, after);
}

static const char *random_id(void) {
  static const char *const ids[] = {"a", "b", "c", "a", "b", "c", "toolu_1", "x.y", "", "a_2",
                                    "0123456789012345678901234567890123456789012345678901234567890123456789"};
  return ids[below(sizeof ids / sizeof *ids)];
}

static const char *random_text(void) {
  static const char *const texts[] = {"hi", "ok ", " ", "", "a\\nb", "\\u00e9", "x\\n"};
  return texts[below(sizeof texts / sizeof *texts)];
}

static void add_openai_calls(Page *page) {
  if (below(6) == 0) {
    add(page, below(2) ? "{'role':'assistant','content':null,'function_call':{'name':'a','arguments':'{}'}}"
                       : "{'role':'assistant','content':'w','function_call':{'name':'a','arguments':'{}'},'n':1}");
    return;
  }
  add(page, below(2) ? "{'role':'assistant','content':null,'tool_calls':["
                     : "{'reasoning_content':'m','role':'assistant','content':'w','tool_calls': [ ");
  for (uint32_t i = 0, count = below(4); i <= count; i++) {
    add(page, i > 0 ? " , " : "");
    if (below(12) == 0) add(page, "{'type':'function','function':{'name':'f','arguments':'{}'}}");
    else add_with(page, "{'type':'function','id':'", random_id(), "','function':{'name':'f','arguments':'{}'}}");
  }
  add(page, "]}");
}

static void add_openai(Page *page) {
  switch (below(11)) {
  case 0: add(page, SPEC); break;
  case 1: add_with(page, "{'role':'user','content':'", random_text(), "'}"); break;
  case 2: add(page, UP(T("x") ",{'type':'image_url','image_url':{'url':'u'}}")); break;
  case 3: add_with(page, "{'role':'assistant','content':'", random_text(), "'}"); break;
  case 4: add(page, AP("{'type':'thinking','thinking':'m'}," T("x"))); break;
  case 5: add(page, "{'role':'assistant','content':[{'type':'redacted_thinking','data':'m'}]}"); break;
  case 6: add(page, below(2) ? "{'role':'function','name':'a','content':'r'}" : "{'role':'tool','content':'r'}"); break;
  case 7: case 8: add_openai_calls(page); break;
  default: add_with(page, "{'role':'tool','content':'r','tool_call_id':'", random_id(), "'}"); break;
  }
}

static void add_anthropic_part(Page *page, bool assistant) {
  bool swapped = below(20) == 0;
  switch (below(6)) {
  case 0: case 1: add_with(page, "{'type':'text','text':'", random_text(), "'}"); break;
  case 2: add(page, "{'type':'image','source':{'type':'base64','media_type':'image/png','data':'AAAA'}}"); break;
  case 3:
    if (assistant)
      add(page, below(3) ? "{'type':'thinking','thinking':'m','signature':'s'}" : "{'type':'reasoning','text':'m'}");
    else add(page, T("x"));
    break;
  default:
    if (assistant != swapped) add_with(page, "{'type':'tool_use','name':'f','input':{},'id':'", random_id(), "'}");
    else add_with(page, "{'type':'tool_result','content':[" T("r") "],'tool_use_id':'", random_id(), "'}");
  }
}

static void add_anthropic(Page *page) {
  bool assistant = below(2);
  if (below(4) == 0) {
    add(page, assistant ? "{'role':'assistant'" : "{'role':'user','id2':7");
    add_with(page, ",'content':'", random_text(), "'}");
    return;
  }
  add(page, assistant ? "{'role':'assistant','content':[" : "{'role':'user','content':[");
  for (uint32_t i = 0, count = below(5); i < count; i++) {
    add(page, i > 0 ? "," : "");
    add_anthropic_part(page, assistant);
  }
  add(page, "]}");
}

/* An item's own id, which no other item has; some are not valid. */
static const char *random_item_id(const char *prefix) {
  static char id[40];
  static uint32_t count;
  sprintf(id, "%s%u", below(4) == 0 ? "x." : prefix, (unsigned)count++);
  return id;
}

static void add_responses(Page *page) {
  switch (below(11)) {
  case 0: add(page, U); break;
  case 1: add_with(page, "{'type':'reasoning','summary':[],'id':'", random_item_id("rs_"), "'}"); break;
  case 2: add_with(page, "{'type':'item_reference','id':'", below(2) ? "msg_1" : "x.y", "'}"); break;
  case 3: add_with(page, "{'type':'computer_call','call_id':'", random_id(), "'}"); break;
  case 4:
    add_with(page, "{'type':'mcp_approval_request','name':'f','arguments':'{}','id':'", random_item_id("m"), "'}");
    break;
  case 5:
    add_with(page, "{'type':'mcp_approval_response','approve':true,'approval_request_id':'", random_id(), "'}");
    break;
  case 6: add_with(page, "{'type':'custom_tool_call','name':'f','input':'x','call_id':'", random_id(), "'}"); break;
  case 7: case 8:
    add_with(page, "{'type':'function_call','name':'f','arguments':'{}','id':'", random_item_id("fc_"), "'");
    add_with(page, ",'call_id':'", random_id(), "'}");
    break;
  default: add_with(page, "{'type':'function_call_output','output':'r','call_id':'", random_id(), "'}"); break;
  }
}

static void add_gemini_part(Page *page, bool model) {
  const char *name = below(2) ? "f" : "g";
  const char *begin = model ? "{'functionCall':{'args':{},'name':'" : "{'functionResponse':{'response':{},'name':'";
  switch (below(6)) {
  case 0: add_with(page, "{'text':'", below(2) ? "x" : "y", "'}"); break;
  case 1: add(page, "{}"); break;
  case 2: case 3:
    add_with(page, begin, name, "'}}");
    break;
  default:
    add_with(page, begin, name, "'");
    add_with(page, ",'id':'", below(2) ? "a" : "b", "'}}");
  }
}

static void add_gemini(Page *page) {
  bool model = below(2);
  add(page, model ? "{'role':'model','parts':[" : "{'role':'user','parts':[");
  for (uint32_t i = 0, count = below(5); i < count; i++) {
    add(page, i > 0 ? "," : "");
    add_gemini_part(page, model);
  }
  add(page, "]}");
}

static void make_history(Page *page, Dialect dialect) {
  static void (*const adds[])(Page *) = {add_openai, add_responses, add_anthropic, add_gemini};
  page->size = 0;
  page->text[0] = '\0';
  for (uint32_t i = 0, count = below(14); i < count; i++) {
    add(page, i > 0 ? "," : "");
    adds[dialect](page);
  }
}

/* Who stayed has the bytes he had, and stands where he stood. */
static void assert_others_stay(const Loaded *loaded, uint32_t stored) {
  const Sequence *list = conversation_list(loaded->conversation);
  const Store *store = conversation_store(loaded->conversation);
  MessageId last = 0;
  for (uint32_t i = 0; i < sequence_count(list); i++) {
    MessageId id = sequence_at(list, i), origin = store_origin(store, id);
    if (origin > stored) continue;
    assert_true(origin > last);
    last = origin;
  }
}

#define NEIGHBOURS (BIT(USER_FIRST) | BIT(ALTERNATION) | BIT(RESULTS_LATE) | \
                    BIT(EMPTY_TEXT) | BIT(TRAILING_SPACE))

/* What joining messages may turn into each other, where one of them was there. */
#define PAIRS (BIT(ORPHAN_RESULT) | BIT(DUPLICATE_RESULT) | BIT(UNANSWERED_CALL) | \
               BIT(DUPLICATE_CALL))

static uint64_t codes_in(const Loaded *loaded, Dialect dialect) {
  CheckReport report = {.memory = *conversation_memory(loaded->conversation), .least = SEVERITY_REFUSED};
  CheckTarget target = strict(dialect);
  uint64_t codes = 0;
  assert_int_equal(
      check_list(&target, conversation_store(loaded->conversation), conversation_list(loaded->conversation), &report),
      STATUS_OK);
  for (uint32_t i = 0; i < report.count; i++) {
    assert_true(report.list[i].code < 64);
    codes |= UINT64_C(1) << report.list[i].code;
  }
  check_report_free(&report);
  return codes;
}

static void mend_history(const Page *page, Dialect dialect, uint64_t codes, bool synthesize) {
  Loaded loaded;
  char found[4000];
  load_list(&loaded, page->text, 0);
  uint64_t before = codes_in(&loaded, dialect);
  uint32_t stored = store_count(conversation_store(loaded.conversation));
  assert_int_equal(repair(&loaded, dialect, codes, synthesize), STATUS_OK);
  found_in(&loaded, dialect, found);
  uint64_t after = codes_in(&loaded, dialect);
  bool fits = codes == ALL_CODES ? after == 0 : (after & (codes | ~before) & ~(before & PAIRS ? PAIRS : 0)) == 0;
  if (!fits) {
    Buffer out;
    buffer_init(&out, memory_system());
    written_of(&loaded, &out);
    print_error("from [%s]\nto   [%s]\n", page->text, out.bytes);
    fail_msg("%s, %s: found %s", dialect_name(dialect), synthesize ? "synthesize" : "drop", found);
  }
  assert_others_stay(&loaded, stored);
  uint32_t batches = history_count(conversation_history(loaded.conversation));
  assert_int_equal(repair(&loaded, dialect, codes, synthesize), STATUS_OK);
  assert_int_equal(history_count(conversation_history(loaded.conversation)), batches);
  unload(&loaded);
}

static void nothing_is_left_in_random_histories(void **state) {
  static Page page;
  const char *given = getenv("HISTORIES");
  uint32_t count = given != NULL ? (uint32_t)strtoul(given, NULL, 10) : 1500;
  (void)state;
  chance = test_seed();
  for (uint32_t i = 0; i < count; i++) {
    Dialect dialect = (Dialect)(i % DIALECT_COUNT);
    is_lenient = i / DIALECT_COUNT % 2 != 0;
    make_history(&page, dialect);
    mend_history(&page, dialect, ALL_CODES, false);
    mend_history(&page, dialect, ALL_CODES, true);
    if (dialect == DIALECT_ANTHROPIC) mend_history(&page, dialect, NEIGHBOURS, false);
  }
  is_lenient = false;
  printf("histories: %u\n", (unsigned)count);
}

/* Thousands of calls of two ids in one message, one result too many, and an orphan. */
static void many_calls_take_linear_time(void **state) {
  enum { MANY = 20000 };
  static char text[MANY * 160];
  size_t at = 0;
  (void)state;
  at += (size_t)sprintf(text + at, "[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[");
  for (int i = 0; i < MANY; i++) {
    at += (size_t)sprintf(text + at, "%s{\"id\":\"%s\",\"function\":{\"name\":\"f\",\"arguments\":\"\"}}",
                          i > 0 ? "," : "", i % 2 ? "a" : "b");
  }
  at += (size_t)sprintf(text + at, "]}");
  for (int i = 0; i < MANY + 1; i++) {
    at +=
        (size_t)sprintf(text + at, ",{\"role\":\"tool\",\"tool_call_id\":\"%s\",\"content\":\"\"}", i % 2 ? "a" : "b");
  }
  sprintf(text + at, ",{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"\"}]");
  Loaded loaded;
  load_within(&loaded, USUAL, text, strlen(text), 0);
  assert_int_equal(loaded.status, STATUS_OK);
  assert_int_equal(codes_in(&loaded, DIALECT_OPENAI),
                   BIT(DUPLICATE_CALL) | BIT(DUPLICATE_RESULT) | BIT(ORPHAN_RESULT));
  unload(&loaded);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(cases_are_found),
    cmocka_unit_test(cases_are_mended),
    cmocka_unit_test(out_of_memory_changes_nothing),
    cmocka_unit_test(system_messages_are_placed),
    cmocka_unit_test(out_of_memory_finds_nothing),
    cmocka_unit_test(out_of_memory_wherever_a_block_ends),
    cmocka_unit_test(ids_go_with_their_reasoning),
    cmocka_unit_test(reasons_are_told),
    cmocka_unit_test(only_what_is_asked_for_is_mended),
    cmocka_unit_test(dialects_show),
    cmocka_unit_test(nothing_is_left_in_random_histories),
    cmocka_unit_test(many_calls_take_linear_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
