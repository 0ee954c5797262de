/*
** Messages of one dialect written for another: what each kind of part becomes, and what
** is told to be lost; then the same while memory runs out.
*/
#include "documents.h"
#include "document/convert_own.h"

#define USER(parts) "{'role':'user','content':[" parts "]}"
#define G(parts) "{'role':'user','parts':[" parts "]}"
#define RESULT(id)                                                                                                   \
  "{'type':'tool_result','tool_use_id':'" id "','content':[{'type':'image','source':{'type':'url',"                  \
  "'url':'https://a/b.png'}}]}"

static const struct Case {
  const char *shows;
  Dialect to;
  const char *list, *written, *told;      /* a list without brackets; ' for " but in what is told */
} cases[] = {
  {"audio in wav", DIALECT_OPENAI,
   G("{'inlineData':{'mimeType':'audio/wav','data':'aGk='}}"),
   "[{'role':'user','content':[{'type':'input_audio','input_audio':{'data':'aGk=','format':'wav'}}]}]",
   ""},
  {"audio in x-wav", DIALECT_OPENAI,
   G("{'inlineData':{'mimeType':'audio/x-wav','data':'aGk='}}"),
   "[{'role':'user','content':[{'type':'input_audio','input_audio':{'data':'aGk=','format':'wav'}}]}]",
   ""},
  {"audio in mpeg", DIALECT_OPENAI,
   G("{'inlineData':{'mimeType':'audio/mpeg','data':'aGk='}}"),
   "[{'role':'user','content':[{'type':'input_audio','input_audio':{'data':'aGk=','format':'mp3'}}]}]",
   ""},
  {"audio in mp3", DIALECT_OPENAI,
   G("{'inlineData':{'mimeType':'audio/mp3','data':'aGk='}}"),
   "[{'role':'user','content':[{'type':'input_audio','input_audio':{'data':'aGk=','format':'mp3'}}]}]",
   ""},
  {"audio in ogg", DIALECT_OPENAI,
   G("{'text':'x'},{'inlineData':{'mimeType':'audio/ogg','data':'aGk='}}"),
   "[{'role':'user','content':'x'}]",
   "['audio' has no form there: left out]"},
  {"audio elsewhere", DIALECT_OPENAI,
   G("{'text':'x'},{'fileData':{'mimeType':'audio/wav','fileUri':'gs://a/b'}}"),
   "[{'role':'user','content':'x'}]",
   "['audio' has no form there: left out]"},
  {"a file", DIALECT_OPENAI,
   USER("{'type':'document','title':'a.pdf','source':{'type':'base64','media_type':'application/pdf',"
   "'data':'aGk='}}"),
   "[{'role':'user','content':[{'type':'file','file':{'filename':'a.pdf',"
   "'file_data':'data:application/pdf;base64,aGk='}}]}]",
   ""},
  {"a file by id", DIALECT_OPENAI,
   USER("{'type':'document','source':{'type':'file','file_id':'f1'}}"),
   "[{'role':'user','content':[{'type':'file','file':{'file_id':'f1'}}]}]",
   ""},
  {"a file by url", DIALECT_OPENAI,
   USER("{'type':'text','text':'x'},{'type':'document','source':{'type':'url','url':'https://a/b.pdf'}}"),
   "[{'role':'user','content':'x'}]",
   "['file' has no form there: left out]"},
  {"an image", DIALECT_OPENAI,
   USER("{'type':'image','source':{'type':'base64','media_type':'image/png','data':'aGk='}}"),
   "[{'role':'user','content':[{'type':'image_url','image_url':{'url':'data:image/png;base64,aGk='}}]}]",
   ""},
  {"an image by id", DIALECT_OPENAI,
   USER("{'type':'text','text':'x'},{'type':'image','source':{'type':'file','file_id':'f1'}}"),
   "[{'role':'user','content':'x'}]",
   "['image' has no form there: left out]"},
  {"an image with a detail", DIALECT_OPENAI,
   "{'type':'message','role':'user','content':[{'type':'input_image','image_url':'https://a/b.png',"
   "'detail':'low'}]}",
   "[{'role':'user','content':[{'type':'image_url','image_url':{'url':'https://a/b.png','detail':'low'}}]}]",
   ""},
  {"a file with a name", DIALECT_OPENAI,
   "{'type':'message','role':'user','content':[{'type':'input_file','filename':'a.pdf',"
   "'file_data':'data:application/pdf;base64,aGk='}]}",
   "[{'role':'user','content':[{'type':'file','file':{'filename':'a.pdf',"
   "'file_data':'data:application/pdf;base64,aGk='}}]}]",
   ""},
  {"a file elsewhere", DIALECT_OPENAI,
   "{'type':'message','role':'user','content':[{'type':'input_text','text':'x'},{'type':'input_file',"
   "'file_url':'https://a/b.pdf'}]}",
   "[{'role':'user','content':'x'}]",
   "['file' has no form there: left out]"},
  {"cache marks", DIALECT_OPENAI,
   USER("{'type':'text','text':'x','cache_control':{'type':'ephemeral'}},{'type':'image','source':{'type':'url',"
   "'url':'https://a/b.png'},'cache_control':{'type':'ephemeral'}}"),
   "[{'role':'user','content':[{'type':'text','text':'x'},{'type':'image_url',"
   "'image_url':{'url':'https://a/b.png'}}]}]",
   "[a cache mark is left out][a cache mark is left out]"},
  {"reasoning", DIALECT_OPENAI,
   "{'role':'user','content':'x'},{'role':'assistant','content':[{'type':'thinking','thinking':'m',"
   "'signature':'s'},{'type':'redacted_thinking','data':'d'},{'type':'text','text':'y'}]}",
   "[{'role':'user','content':'x'},{'role':'assistant','content':'y'}]",
   "[another provider's reasoning is left out][another provider's reasoning is left out]"},
  {"a result with media", DIALECT_OPENAI,
   "{'role':'assistant','content':[{'type':'tool_use','id':'a','name':'f','input':{}}]},{'role':'user',"
   "'content':[{'type':'tool_result','tool_use_id':'a','is_error':true,'content':[{'type':'text','text':'r'},"
   "{'type':'image','source':{'type':'url','url':'https://a/b.png'}}]}]}",
   "[{'role':'assistant','content':null,'tool_calls':[{'id':'a','type':'function','function':{'name':'f',"
   "'arguments':'{}'}}]},{'role':'tool','tool_call_id':'a','content':'r'},{'role':'user',"
   "'content':[{'type':'image_url','image_url':{'url':'https://a/b.png'}}]}]",
   "[the result of call 'a' is no longer marked as failed]['image' of a result moves to a user message behind it]"},
  {"content beside parts", DIALECT_OPENAI,
   "{'role':'user','content':'x','parts':[{'text':'y'}]},{'role':'assistant','content':null,'parts':[{'text':'y'}],"
   "'tool_calls':[{'id':'a','type':'function','function':{'name':'f','arguments':'{}'}}]}",
   "[{'role':'user','content':'x'},{'role':'assistant','content':null,'tool_calls':[{'id':'a','type':'function',"
   "'function':{'name':'f','arguments':'{}'}}]}]",
   "[the member 'parts' is left out: requests do not have it]"
   "[the member 'parts' is left out: requests do not have it]"},

  {"texts of a reasoning that have no type", DIALECT_RESPONSES,
   "{'type':'reasoning','id':'rs_1','summary':[],'content':['m',{'type':'reasoning_text','text':'n'}],'timestamp':1}",
   "[{'type':'reasoning','id':'rs_1','summary':[],'content':['m',{'type':'reasoning_text','text':'n'}]}]",
   "[the member 'timestamp' is left out: requests do not have it]"},
  {"audio", DIALECT_RESPONSES,
   USER("{'type':'text','text':'x'},{'type':'input_audio','input_audio':{'data':'aGk=','format':'wav'}}"),
   "[{'role':'user','content':[{'type':'input_text','text':'x'}]}]",
   "['audio' has no form there: left out]"},
  {"an image by id", DIALECT_RESPONSES,
   USER("{'type':'image','source':{'type':'file','file_id':'f1'}}"),
   "[{'role':'user','content':[{'type':'input_image','file_id':'f1','detail':'auto'}]}]",
   ""},
  {"an image by url", DIALECT_RESPONSES,
   USER("{'type':'image_url','image_url':{'url':'https://a/b.png','detail':'high'}}"),
   "[{'role':'user','content':[{'type':'input_image','image_url':'https://a/b.png','detail':'high'}]}]",
   ""},
  {"a file with a name", DIALECT_RESPONSES,
   USER("{'type':'file','file':{'filename':'a.pdf','file_data':'data:application/pdf;base64,aGk='}}"),
   "[{'role':'user','content':[{'type':'input_file','filename':'a.pdf','file_data':'data:application/pdf;base64,"
   "aGk='}]}]",
   ""},
  {"a file by url", DIALECT_RESPONSES,
   USER("{'type':'document','source':{'type':'url','url':'https://a/b.pdf'}}"),
   "[{'role':'user','content':[{'type':'input_file','file_url':'https://a/b.pdf'}]}]",
   ""},
  {"a refusal", DIALECT_RESPONSES,
   "{'role':'assistant','content':[{'type':'refusal','refusal':'no'}]}",
   "[{'role':'assistant','content':[{'type':'refusal','refusal':'no'}]}]",
   ""},
  {"a custom call", DIALECT_RESPONSES,
   "{'role':'assistant','content':null,'tool_calls':[{'id':'a','type':'custom','custom':{'name':'f',"
   "'input':'i'}}]},{'role':'tool','tool_call_id':'a','content':'r'}",
   "[{'type':'custom_tool_call','call_id':'a','name':'f','input':'i'},{'type':'custom_tool_call_output',"
   "'call_id':'a','output':'r'}]",
   ""},
  {"a function call of old", DIALECT_RESPONSES,
   "{'role':'assistant','content':null,'function_call':{'name':'f','arguments':'{}'}},{'role':'function',"
   "'name':'f','content':'r'}",
   "[{'type':'function_call','call_id':'call_2d1720544b23b823','name':'f','arguments':'{}'},"
   "{'type':'function_call_output','call_id':'call_2d1720544b23b823','output':'r'}]",
   ""},
  {"a result with parts", DIALECT_RESPONSES,
   "{'role':'assistant','content':[{'type':'tool_use','id':'a','name':'f','input':{}}]},{'role':'user',"
   "'content':[{'type':'tool_result','tool_use_id':'a','content':[{'type':'text','text':'r'},"
   "{'type':'search_result','title':'t'},{'type':'image','source':{'type':'url','url':'https://a/b.png'}}]}]}",
   "[{'type':'function_call','call_id':'a','name':'f','arguments':'{}'},{'type':'function_call_output',"
   "'call_id':'a','output':[{'type':'input_text','text':'r'},{'type':'input_text','text':'t'},{'type':'input_image',"
   "'image_url':'https://a/b.png','detail':'auto'}]}]",
   "[a part of type 'search_result' becomes text]"},
  {"a system message of parts", DIALECT_RESPONSES,
   "{'role':'system','content':[{'type':'text','text':'a'},{'type':'text','text':'b'}]},{'role':'user',"
   "'content':'x'}",
   "[{'role':'system','content':[{'type':'input_text','text':'a'},{'type':'input_text','text':'b'}]},"
   "{'role':'user','content':'x'}]",
   ""},

  {"an image", DIALECT_ANTHROPIC,
   USER("{'type':'image_url','image_url':{'url':'data:image/png;base64,aGk='}}"),
   "[{'role':'user','content':[{'type':'image','source':{'type':'base64','media_type':'image/png',"
   "'data':'aGk='}}]}]",
   ""},
  {"an image by url", DIALECT_ANTHROPIC,
   USER("{'type':'image_url','image_url':{'url':'https://a/b.png'}}"),
   "[{'role':'user','content':[{'type':'image','source':{'type':'url','url':'https://a/b.png'}}]}]",
   ""},
  {"a file by id", DIALECT_ANTHROPIC,
   USER("{'type':'file','file':{'file_id':'f1'}}"),
   "[{'role':'user','content':[{'type':'document','source':{'type':'file','file_id':'f1'}}]}]",
   ""},
  {"a file with a name", DIALECT_ANTHROPIC,
   USER("{'type':'file','file':{'filename':'a.pdf','file_data':'data:application/pdf;base64,aGk='}}"),
   "[{'role':'user','content':[{'type':'document','source':{'type':'base64','media_type':'application/pdf',"
   "'data':'aGk='},'title':'a.pdf'}]}]",
   ""},
  {"audio", DIALECT_ANTHROPIC,
   USER("{'type':'text','text':'x'},{'type':'input_audio','input_audio':{'data':'aGk=','format':'wav'}}"),
   "[{'role':'user','content':[{'type':'text','text':'x'}]}]",
   "['audio' has no form there: left out]"},
  {"a refusal", DIALECT_ANTHROPIC,
   "{'role':'user','content':'x'},{'role':'assistant','content':[{'type':'refusal','refusal':'no'}]}",
   "[{'role':'user','content':'x'},{'role':'assistant','content':[{'type':'text','text':'no'}]}]",
   "[a refusal becomes text]"},
  {"signed thinking beside a refusal", DIALECT_ANTHROPIC,
   "{'role':'user','content':'x'},{'role':'assistant','content':[{'type':'thinking','thinking':'m','signature':'s'},"
   "{'type':'refusal','refusal':'no'}]}",
   "[{'role':'user','content':'x'},{'role':'assistant','content':[{'type':'thinking','thinking':'m','signature':'s'},"
   "{'type':'text','text':'no'}]}]",
   "[a refusal becomes text]"},
  {"a system message with an image", DIALECT_ANTHROPIC,
   "{'role':'system','content':[{'type':'text','text':'a'},{'type':'image_url',"
   "'image_url':{'url':'https://a/b.png'}}]},{'role':'user','content':'x'}",
   "[{'type':'text','text':'a'}][{'role':'user','content':'x'}]",
   "['image' has no form there: left out]"},
  {"a system message in the middle", DIALECT_ANTHROPIC,
   "{'role':'user','content':'x'},{'role':'system','content':'s'},{'role':'user','content':'y'}",
   "[{'role':'user','content':'x'},{'role':'user','content':[{'type':'text','text':'s'}]},{'role':'user',"
   "'content':'y'}]",
   "[a system message in the middle becomes a user's]"},
  {"a system message behind one of which nothing is left", DIALECT_ANTHROPIC,
   G("{'fileData':{'mimeType':'audio/wav','fileUri':'gs://a/b'}}") ",{'role':'system','content':'s'},"
   "{'role':'user','content':'x'}",
   "[{'type':'text','text':'s'}][{'role':'user','content':'x'}]",
   "['audio' has no form there: left out][nothing of the message is left: left out]"},
  {"an empty system message in the middle", DIALECT_ANTHROPIC,
   "{'role':'user','content':'x'},{'role':'system','content':''},{'role':'user','content':'y'}",
   "[{'role':'user','content':'x'},{'role':'user','content':'y'}]",
   "[a system message in the middle becomes a user's][nothing of the message is left: left out]"},
  {"arguments that are no object", DIALECT_ANTHROPIC,
   "{'role':'user','content':'x'},{'role':'assistant','content':null,'tool_calls':[{'id':'a','type':'function',"
   "'function':{'name':'f','arguments':'[1]'}}]},{'role':'tool','tool_call_id':'a','content':'r'}",
   "[{'role':'user','content':'x'},{'role':'assistant','content':[{'type':'tool_use','id':'a','name':'f',"
   "'input':{'input':'[1]'}}]},{'role':'user','content':[{'type':'tool_result','tool_use_id':'a','content':'r'}]}]",
   "[arguments of call 'a' are not an object: they become its member]"},

  {"an image", DIALECT_GEMINI,
   USER("{'type':'image_url','image_url':{'url':'data:image/png;base64,aGk='}}"),
   "[{'role':'user','parts':[{'inlineData':{'mimeType':'image/png','data':'aGk='}}]}]",
   ""},
  {"an image by url", DIALECT_GEMINI,
   USER("{'type':'image_url','image_url':{'url':'https://a/b.png'}}"),
   "[]",
   "['image' has no form there: left out][nothing of the message is left: left out]"},
  {"a result with a medium that stands in no list", DIALECT_ANTHROPIC,
   "{'role':'user','parts':[{'text':'x'}]},{'role':'model','parts':[{'functionCall':{'id':'a','name':'f',"
   "'args':{}}}]},{'role':'user','parts':[{'functionResponse':{'id':'a','name':'f','response':{'r':1},"
   "'parts':{'inlineData':{'mimeType':'image/png','data':'aGk='}}}}]}",
   "[{'role':'user','content':[{'type':'text','text':'x'}]},{'role':'assistant','content':[{'type':'tool_use',"
   "'id':'a','name':'f','input':{}}]},{'role':'user','content':[{'type':'tool_result','tool_use_id':'a','content':["
   "{'type':'text','text':'{\\'r\\':1}'},{'type':'image','source':{'type':'base64','media_type':'image/png',"
   "'data':'aGk='}}]}]}]",
   ""},
  {"a message with the type of an item", DIALECT_RESPONSES,
   "{'type':'function_call_output','role':'assistant','content':[{'type':'odd'}]}",
   "[{'role':'assistant','content':[{'type':'odd'}]}]",
   "[the member 'type' is left out: requests do not have it]"},
  {"a result with media, in Responses", DIALECT_RESPONSES,
   "{'role':'user','parts':[{'text':'x'}]},{'role':'model','parts':[{'functionCall':{'id':'a','name':'f',"
   "'args':{}}}]},{'role':'user','parts':[{'functionResponse':{'id':'a','name':'f','response':{'r':1},"
   "'parts':[{'inlineData':{'mimeType':'image/png','data':'aGk='}}]}}]}",
   "[{'role':'user','content':[{'type':'input_text','text':'x'}]},{'type':'function_call','call_id':'a','name':'f',"
   "'arguments':'{}'},{'type':'function_call_output','call_id':'a','output':[{'type':'input_text',"
   "'text':'{\\'r\\':1}'},{'type':'input_image','image_url':'data:image/png;base64,aGk=','detail':'auto'}]}]",
   ""},
  {"a result with media, in Chat Completions", DIALECT_OPENAI,
   "{'role':'user','parts':[{'text':'x'}]},{'role':'model','parts':[{'functionCall':{'id':'a','name':'f',"
   "'args':{}}}]},{'role':'user','parts':[{'functionResponse':{'id':'a','name':'f','response':{'r':1},"
   "'parts':[{'inlineData':{'mimeType':'image/png','data':'aGk='}}]}}]}",
   "[{'role':'user','content':'x'},{'role':'assistant','content':null,'tool_calls':[{'id':'a','type':'function',"
   "'function':{'name':'f','arguments':'{}'}}]},{'role':'tool','tool_call_id':'a','content':'{\\'r\\':1}'},"
   "{'role':'user','content':[{'type':'image_url','image_url':{'url':'data:image/png;base64,aGk='}}]}]",
   "['image' of a result moves to a user message behind it]"},
  {"a file by id", DIALECT_GEMINI,
   USER("{'type':'text','text':'x'},{'type':'file','file':{'file_id':'f1'}}"),
   "[{'role':'user','parts':[{'text':'x'}]}]",
   "['file' has no form there: left out]"},
  {"audio", DIALECT_GEMINI,
   USER("{'type':'input_audio','input_audio':{'data':'aGk=','format':'mp3'}}"),
   "[{'role':'user','parts':[{'inlineData':{'mimeType':'audio/mpeg','data':'aGk='}}]}]",
   ""},
  {"a system message with an image", DIALECT_GEMINI,
   "{'role':'system','content':[{'type':'text','text':'a'},{'type':'image_url',"
   "'image_url':{'url':'https://a/b.png'}}]},{'role':'user','content':'x'}",
   "[{'text':'a'}][{'role':'user','parts':[{'text':'x'}]}]",
   "['image' has no form there: left out]"},
  {"a call and its result, an object", DIALECT_GEMINI,
   "{'role':'user','content':'x'},{'role':'assistant','content':[{'type':'tool_use','id':'a','name':'f',"
   "'input':{}}]},{'role':'user','content':[{'type':'tool_result','tool_use_id':'a','content':{'r':1}}]}",
   "[{'role':'user','parts':[{'text':'x'}]},{'role':'model','parts':[{'functionCall':{'id':'a','name':'f',"
   "'args':{}}}]},{'role':'user','parts':[{'functionResponse':{'id':'a','name':'f','response':{'r':1}}}]}]",
   ""},
  {"a call and its failed result", DIALECT_GEMINI,
   "{'role':'user','content':'x'},{'role':'assistant','content':[{'type':'tool_use','id':'a','name':'f',"
   "'input':{}}]},{'role':'user','content':[{'type':'tool_result','tool_use_id':'a','is_error':true,"
   "'content':'r'}]}",
   "[{'role':'user','parts':[{'text':'x'}]},{'role':'model','parts':[{'functionCall':{'id':'a','name':'f',"
   "'args':{}}}]},{'role':'user','parts':[{'functionResponse':{'id':'a','name':'f','response':{'error':'r'}}}]}]",
   ""},
  {"signatures of a message that has no text", DIALECT_GEMINI,
   "{'role':'user','content':'x'},{'role':'assistant','content':null,'tool_calls':[{'id':'c','type':'function',"
   "'function':{'name':'f','arguments':'{}'}}],'extra_content':{'google':{'thought_signature':'a'}},"
   "'reasoning_details':[{'type':'reasoning.encrypted','data':'b','format':'google-gemini-v1'}]}",
   "[{'role':'user','parts':[{'text':'x'}]},{'role':'model','parts':[{'text':'','thoughtSignature':'a'},"
   "{'functionCall':{'id':'c','name':'f','args':{}},'thoughtSignature':'b'}]}]",
   ""},
  {"an image that is called what it is not", DIALECT_GEMINI,
   USER("{'type':'image_url','image_url':{'url':'data:image/jpeg;base64,iVBORw0KGgo='}}"),
   "[{'role':'user','parts':[{'inlineData':{'mimeType':'image/png','data':'iVBORw0KGgo='}}]}]",
   "[an image that is called 'image/jpeg' gets the type of its bytes]"},
};

#define PLAIN_COUNT (sizeof cases / sizeof *cases)

/* A case with options. */
typedef struct Special {
  struct Case test;
  bool late_system;
  SignaturePlace signatures;
} Special;

static const Special specials[] = {
  {{"system messages inside, behind the user's", DIALECT_ANTHROPIC,
   "{'role':'user','content':'x'},{'role':'assistant','content':'y'},{'role':'system','content':'s'},"
   "{'role':'system','content':[{'type':'refusal','refusal':'t'}]},{'role':'user','content':'z'}",
   "[{'role':'user','content':'x'},{'role':'assistant','content':'y'},{'role':'user','content':'z'},{'role':'system',"
   "'content':'s'},{'role':'system','content':[{'type':'text','text':'t'}]}]",
   "[a refusal becomes text]"}, true, SIGNATURE_NOWHERE},
  {{"a system message inside, without a user's", DIALECT_ANTHROPIC,
   "{'role':'user','content':'x'},{'role':'assistant','content':'y'},{'role':'system','content':'s'}",
   "[{'role':'user','content':'x'},{'role':'assistant','content':'y'},{'role':'user','content':[{'type':'text',"
   "'text':'s'}]}]",
   "[a system message in the middle becomes a user's]"}, true, SIGNATURE_NOWHERE},
  {{"signatures of gemini", DIALECT_OPENAI,
   "{'role':'model','parts':[{'text':'x','thoughtSignature':'a'},{'functionCall':{'id':'c','name':'f','args':{}},"
   "'thoughtSignature':'b'},{'thoughtSignature':'d'}]}",
   "[{'role':'assistant','content':'x','tool_calls':[{'id':'c','type':'function','function':{'name':'f',"
   "'arguments':'{}'},'extra_content':{'google':{'thought_signature':'b'}}}],"
   "'extra_content':{'google':{'thought_signature':'d'}}}]",
   "[a thought signature has no form there: left out]"}, false, SIGNATURE_IN_EXTRA_CONTENT},
  {{"signatures of gemini in a list", DIALECT_OPENAI,
   "{'role':'model','parts':[{'text':'x','thoughtSignature':'a'},{'functionCall':{'id':'c','name':'f','args':{}},"
   "'thoughtSignature':'b'}]}",
   "[{'role':'assistant','content':'x','tool_calls':[{'id':'c','type':'function','function':{'name':'f',"
   "'arguments':'{}'}}],'reasoning_details':[{'type':'reasoning.encrypted','data':'a','format':'google-gemini-v1',"
   "'index':0},{'type':'reasoning.encrypted','data':'b','id':'c','format':'google-gemini-v1','index':1}]}]",
   ""}, false, SIGNATURE_IN_DETAILS},
};

#define CASE_COUNT (PLAIN_COUNT + sizeof specials / sizeof *specials)

static Special case_at(size_t i) {
  assert_true(i < CASE_COUNT);
  return i < PLAIN_COUNT ? (Special){.test = cases[i]} : specials[i - PLAIN_COUNT];
}

static void load_list(Loaded *loaded, const struct Case *test) {
  static char text[1 << 12];
  int size = sprintf(text, "[%s]", quoted(test->list));
  must_load(loaded, test->shows, text, (size_t)size);
}

static ConvertOptions options_for(Dialect to) {
  return (ConvertOptions){.target = to, .unbound_from = CONVERT_NEVER, .unbound_end = CONVERT_NEVER};
}

/* The caller frees the report. */
static Status convert_all(Loaded *loaded, const ConvertOptions *options, Buffer *written, ConvertReport *report) {
  bool changed;
  const Conversation *chat = loaded->conversation;
  convert_report_init(report, *conversation_memory(chat));
  report->with_origins = options->target == DIALECT_OPENAI;
  ConvertSinks sinks = {.system = {add_bytes, written}, .messages = {add_bytes, written}};
  return convert_list(chat, conversation_list(chat), NULL, text_plain("", 0), options, sinks, report, &changed);
}

/* Writes the list for `to`; *told: what is lost or changed, each in brackets. */
static Status convert(Loaded *loaded, const Special *test, Dialect to, Buffer *written, Buffer *told) {
  ConvertOptions options = options_for(to);
  options.late_system = test->late_system;
  options.signatures = test->signatures;
  ConvertReport report;
  Status status = convert_all(loaded, &options, written, &report);
  if (status == STATUS_OK && to == DIALECT_OPENAI) assert_int_equal(report.origin_count > 0, written->size > 2);
  for (uint32_t i = 0; i < report.count && status == STATUS_OK; i++) {
    status = buffer_add_byte(told, '[');
    if (status == STATUS_OK) status = loss_describe(&report, i, told);
    if (status == STATUS_OK) status = buffer_add_byte(told, ']');
  }
  convert_report_free(&report);
  if (status == STATUS_OK) status = buffer_add_byte(written, '\0');
  return status == STATUS_OK ? buffer_add_byte(told, '\0') : status;
}

static void parts_become_those_of_the_dialect(void **state) {
  (void)state;
  for (size_t i = 0; i < CASE_COUNT; i++) {
    Loaded loaded;
    Buffer written, told;
    Special test = case_at(i);
    load_list(&loaded, &test.test);
    buffer_init(&written, memory_system());
    buffer_init(&told, memory_system());
    assert_int_equal(convert(&loaded, &test, test.test.to, &written, &told), STATUS_OK);
    if (strcmp(written.bytes, quoted(test.test.written)) != 0 || strcmp(told.bytes, test.test.told) != 0) {
      fail_msg("%s, for %s: %s %s", test.test.shows, dialect_name(test.test.to), written.bytes, told.bytes);
    }
    buffer_free(&written);
    buffer_free(&told);
    unload(&loaded);
  }
}

static void messages_tell_which_ones_they_are_made_of(void **state) {
  static const struct Case media = {
    .shows = "media of two results",
    .list = "{'role':'assistant','content':[{'type':'tool_use','id':'a','name':'f','input':{}},{'type':'tool_use',"
            "'id':'b','name':'f','input':{}}]}," USER(RESULT("a")) "," USER(RESULT("b")),
  };
  static const ConvertOrigin expected[] = {{0, 0}, {1, 1}, {2, 2}, {1, 2}};      /* the last one has all media */
  ConvertOptions options = options_for(DIALECT_OPENAI);
  ConvertReport report;
  Loaded loaded;
  Buffer written;
  (void)state;
  load_list(&loaded, &media);
  buffer_init(&written, memory_system());
  assert_int_equal(convert_all(&loaded, &options, &written, &report), STATUS_OK);
  assert_int_equal(report.origin_count, 4);
  for (uint32_t i = 0; i < 4; i++) {
    assert_int_equal(report.origins[i].first, expected[i].first);
    assert_int_equal(report.origins[i].last, expected[i].last);
  }
  convert_report_free(&report);
  buffer_free(&written);
  unload(&loaded);
}

/* In a conversation of another dialect thinking without a signature goes; a list of parts that is no content stays. */
static void unknown_members_are_kept_whole(void **state) {
  static const struct Case parts = {
    .shows = "content and parts",
    .list = "{'role':'assistant','content':[{'type':'thinking','thinking':'m'},{'type':'text','text':'x'}],"
            "'parts':[{'text':'u'}]}",
    .written = "[{'role':'assistant','content':[{'type':'text','text':'x'}],'parts':[{'text':'u'}]}]",
  };
  ConvertOptions options = options_for(DIALECT_ANTHROPIC);
  ConvertReport report;
  Loaded loaded;
  Buffer written;
  (void)state;
  options.keep_extra = options.is_foreign = true;
  load_list(&loaded, &parts);
  buffer_init(&written, memory_system());
  assert_int_equal(convert_all(&loaded, &options, &written, &report), STATUS_OK);
  assert_int_equal(buffer_add_byte(&written, '\0'), STATUS_OK);
  assert_string_equal(written.bytes, quoted(parts.written));
  assert_int_equal(report.count, 1);
  assert_int_equal(report.list[0].kind, LOSS_REASONING);
  convert_report_free(&report);
  buffer_free(&written);
  unload(&loaded);
}

/* The k-th allocation fails: nothing is left behind, and the same call then succeeds. */
static bool converting_fails(const Special *test, Dialect to, size_t k, bool once) {
  Loaded loaded;
  Buffer written, told;
  load_list(&loaded, &test->test);
  buffer_init(&written, memory_system());
  buffer_init(&told, memory_system());
  loaded.fail.fail_at = loaded.fail.calls + k;
  loaded.fail.once = once;
  Status status = convert(&loaded, test, to, &written, &told);
  loaded.fail.fail_at = 0;
  if (status != STATUS_OK) {
    assert_int_equal(status, STATUS_MEMORY);
    assert_int_equal(convert(&loaded, test, to, &written, &told), STATUS_OK);
  }
  buffer_free(&written);
  buffer_free(&told);
  unload(&loaded);
  return status != STATUS_OK;
}

static void out_of_memory_writes_nothing_wrong(void **state) {
  static const Dialect targets[] = {DIALECT_OPENAI, DIALECT_RESPONSES, DIALECT_ANTHROPIC, DIALECT_GEMINI};
  size_t failures = 0;
  (void)state;
  for (size_t i = 0; i < CASE_COUNT; i++) {
    Special test = case_at(i);
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
      for (size_t k = 1; converting_fails(&test, targets[t], k, false); k++, failures++) {
        converting_fails(&test, targets[t], k, true);
      }
    }
  }
  assert_true(failures > 4 * CASE_COUNT);
}

/* A body of Anthropic's in which three messages have other forms; what their places say, in a row. */
static const char OWN_BODY[] =
  "{'model':'claude-sonnet-4-5','max_tokens':9,'messages':[{'role':'user','content':'u'},"
  "{'role':'assistant','content':[{'type':'tool_use','id':'a','name':'f','input':{}}]},"
  "{'role':'tool','tool_call_id':'a','content':'r'},{'role':'user','parts':[{'text':'b'}]}]}";
static const char OWN_TEXTS[] =
  "{'role':'user','content':[{'type':'tool_result','tool_use_id':'a','content':'r'},{'type':'text','text':'b'}]}";

/* Writes the texts that stand for messages in another form. The k-th allocation fails; 0: none. */
static Status write_own_form(Loaded *loaded, size_t k, Buffer *texts) {
  ConvertOptions options = options_for(DIALECT_ANTHROPIC);
  const Conversation *chat = loaded->conversation;
  ConvertReport report;
  OwnForm form;
  MessageId id;
  Text text;
  size_t at = 0;
  convert_report_init(&report, *conversation_memory(chat));
  loaded->fail.fail_at = k == 0 ? 0 : loaded->fail.calls + k;
  Status status = own_form_of(&loaded->document, chat, conversation_list(chat), NULL, text_plain("", 0), &options, true,
                              &form, &report);
  loaded->fail.fail_at = 0;
  while (status == STATUS_OK && own_form_next(&form, &at, &id, &text)) {
    assert_int_equal(buffer_add(texts, text.bytes, text.size), STATUS_OK);
  }
  own_form_free(&form);
  convert_report_free(&report);
  return status;
}

/* The place of a message is written whole or not at all, and the same call then succeeds. */
static void out_of_memory_writes_no_own_form(void **state) {
  Loaded loaded;
  Status status = STATUS_MEMORY;
  size_t failures = 0;
  (void)state;
  static char body[1 << 10];
  int size = sprintf(body, "%s", quoted(OWN_BODY));
  must_load(&loaded, "own form", body, (size_t)size);
  for (size_t k = 1; status != STATUS_OK; k++, failures++) {
    Buffer texts;
    buffer_init(&texts, memory_system());
    status = write_own_form(&loaded, k, &texts);
    if (status != STATUS_OK) {
      assert_int_equal(status, STATUS_MEMORY);
      assert_int_equal(texts.size, 0);
      assert_int_equal(write_own_form(&loaded, 0, &texts), STATUS_OK);
    }
    assert_int_equal(buffer_add_byte(&texts, '\0'), STATUS_OK);
    assert_string_equal(texts.bytes, quoted(OWN_TEXTS));
    buffer_free(&texts);
  }
  assert_true(failures > 5);
  unload(&loaded);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(parts_become_those_of_the_dialect),
    cmocka_unit_test(messages_tell_which_ones_they_are_made_of),
    cmocka_unit_test(unknown_members_are_kept_whole),
    cmocka_unit_test(out_of_memory_writes_nothing_wrong),
    cmocka_unit_test(out_of_memory_writes_no_own_form),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
