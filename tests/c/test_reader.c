/*
** One message: what is found in it and where, what is refused, where and why.
**
** A message that was read is described in one line, and the line compared:
**
**     assistant 'two words' id=m1 call(c1 f {'a':1}) result(-) text(hello) >text(nested)
**
** Texts are the bytes that the spans name; `~` stands before one with escapes,
** `-` for an absent one. In all the tables ' is written for ".
*/
#include "check.h"

#include <string.h>

#include "dialect/read/reader.h"

typedef struct Line {
  char text[2000];
  size_t size;
} Line;

static void say(Line *line, const char *bytes, size_t size) {
  assert_true(line->size + size < sizeof line->text);
  for (size_t i = 0; i < size; i++) line->text[line->size++] = bytes[i] == '"' ? '\'' : bytes[i];
  line->text[line->size] = '\0';
}

static void say_word(Line *line, const char *word) { say(line, word, strlen(word)); }

static void say_span(Line *line, Text raw, Span span) {
  if (span.at == 0) {
    say_word(line, "-");
    return;
  }
  assert_true(span.at < raw.size && span.size <= raw.size - span.at);
  if (span.escaped) say_word(line, "~");
  say(line, raw.bytes + span.at, span.size);
}

static void say_fields(Line *line, Text raw, const MessageShape *shape) {
  static const char *const names[FIELD_COUNT] = {
      " id=", " name=", " metadata=", " reasoning=", " refusal=", " spelling="};
  for (int i = 0; i < FIELD_COUNT; i++) {
    if (shape->fields[i].at == 0) continue;
    say_word(line, names[i]);
    say_span(line, raw, shape->fields[i]);
  }
  if (!shape->has_timestamp) return;
  char time[40];
  snprintf(time, sizeof time, " at=%lld", (long long)shape->timestamp);
  say_word(line, time);
}

static void say_part(Line *line, Text raw, Part part) {
  Json json;
  JsonValue value;
  json_open(&json, raw.bytes + part.value.at, part.value.size);
  assert_true(json_value(&json, &value) && json_end(&json));
  assert_int_equal(value.size, part.value.size);   /* the whole part, and no space around it */
  say_word(line, part.nested ? " >" : " ");
  say_word(line, part_kind_name((PartKind)part.kind));
  if (part.unknown) say_word(line, "?");
  if (part.sealed) say_word(line, "!");
  say_word(line, "(");
  say_span(line, raw, part.text);
  say_word(line, ")");
}

static void say_links(Line *line, Text raw, const MessageShape *shape) {
  for (uint32_t i = 0; i < shape->call_count; i++) {
    say_word(line, " call(");
    say_span(line, raw, shape->calls[i].id);
    say_word(line, " ");
    say_span(line, raw, shape->calls[i].name);
    say_word(line, " ");
    say_span(line, raw, shape->calls[i].arguments);
    say_word(line, ")");
  }
  for (uint32_t i = 0; i < shape->result_count; i++) {
    say_word(line, " result(");
    say_span(line, raw, shape->results[i].id);
    if (shape->results[i].name.at != 0) say_word(line, " ");
    if (shape->results[i].name.at != 0) say_span(line, raw, shape->results[i].name);
    say_word(line, ")");
  }
}

static void describe(Line *line, Text raw, const MessageShape *shape) {
  line->size = 0;
  say_word(line, role_name(shape->role));
  if (shape->content_kind == CONTENT_STRING) {
    say_word(line, " '");
    say_span(line, raw, shape->content);
    say_word(line, "'");
  } else if (shape->content_kind == CONTENT_PARTS) {
    const char *list = raw.bytes + shape->content.at;
    bool one = shape->form == FORM_PARTS && list[0] == '{';
    assert_true(one || (list[0] == '[' && list[shape->content.size - 1] == ']'));
  }
  if (shape->form != FORM_CONTENT) say_word(line, shape->form == FORM_PARTS ? " parts" : " item");
  say_fields(line, raw, shape);
  say_links(line, raw, shape);
  for (uint32_t i = 0; i < shape->part_count; i++) say_part(line, raw, shape->parts[i]);
}

static const struct Accepted {
  const char *json, *line;
} accepted[] = {
  /* roles */
  {"{'role':'system','content':'x'}", "system 'x'"},
  {"{'role':'developer','content':'x'}", "system 'x'"},
  {"{'role':'user','content':'x'}", "user 'x'"},
  {"{'role':'assistant','content':'x'}", "assistant 'x'"},
  {"{'role':'tool','content':'x'}", "tool 'x'"},
  {"{'role':'function','name':'f','content':'x'}", "tool 'x' name=f result(f)"},
  {"{'role':'functio\\u006e','name':'f','content':'x'}", "tool 'x' name=f result(f)"},
  {"{'role':'us\\u0065r','content':'x'}", "user 'x'"},

  /* content */
  {"  { 'content' : 'x' , 'role' : 'user' }  ", "user 'x'"},
  {"{'role':'user','content':''}", "user ''"},
  {"{'role':'user','content':'a\\n\\u0000b'}", "user '~a\\n\\u0000b'"},
  {"{'role':'user','content':[]}", "user"},
  {"{'role':'assistant','content':null,'refusal':'no'}", "assistant refusal=no"},
  {"{'role':'assistant','refusal':''}", "assistant refusal="},
  {"{'role':'assistant','content':null,'audio':{'id':'a'}}", "assistant"},
  {"{'role':'assistant','content':null,'function_call':{'name':'f','arguments':'{}'}}",
   "assistant call(- f {})"},
  {"{'role':'assistant','content':'x','function_call':null,'tool_calls':null,'refusal':null,'audio':null}",
   "assistant 'x'"},
  {"{'role':'assistant','content':'x','tool_calls':[]}", "assistant 'x'"},
  {"{'role':'assistant','content':[{'type':'tool_use','name':'f'}]}", "assistant call(- f -) tool_use(-)"},
  {"{'role':'assistant','content':[{'type':'tool_use','id':'t','name':'f','input':'{}'}]}", "assistant call(t f {}) tool_use(-)"},
  {"{'role':'user','content':[{'type':'tool_result','tool_use_id':'t','content':[{'type':'tool_use','name':'g'}]}]}",
   "user result(t) tool_result(-) >tool_use(-)"},

  /* calls */
  {"{'role':'assistant','content':null,'tool_calls':[{'id':'c1','type':'function','function':"
   "{'name':'f','arguments':'{\\'a\\':1}'}}]}", "assistant call(c1 f ~{\\'a\\':1})"},
  {"{'tool_calls':[{'function':{'arguments':{'a': [1]},'name':'f'},'id':'c1'},"
   "{'id':'c2','function':{'name':'g'}}],'role':'assistant'}", "assistant call(c1 f {'a': [1]}) call(c2 g -)"},
  {"{'role':'assistant','tool_calls':[{'function':{'name':'f','arguments':null}}]}", "assistant call(- f -)"},
  {"{'role':'assistant','tool_calls':[{'id':null,'function':{'name':'','arguments':''}}]}",
   "assistant call(-  )"},
  {"{'role':'assistant','tool_calls':[{'id':'c','type':'custom','custom':{'name':'n','input':'raw'}}]}",
   "assistant call(c n raw)"},
  {"{'role':'user','content':'x','tool_calls':[{'id':'c','function':{'name':'f'}}]}", "user 'x'"},

  /* results */
  {"{'role':'tool','tool_call_id':'c1','content':'42'}", "tool '42' result(c1)"},
  {"{'role':'tool','tool_call_id':'','content':'42'}", "tool '42' result()"},
  {"{'role':'tool','tool_call_id':null,'name':'f','content':'42'}", "tool '42' name=f"},
  {"{'role':'function','tool_call_id':'c1','name':'f','content':'42'}", "tool '42' name=f result(c1)"},
  {"{'role':'user','tool_call_id':'c1','content':'x'}", "user 'x'"},

  /* parts: OpenAI's */
  {"{'role':'user','content':[{'type':'text','text':'a'},{'text':'b','type':'input_text'}]}",
   "user text(a) text(b)"},
  {"{'role':'user','content':[ {'type':'image_url','image_url':{'url':'u'}} , {'type':'input_audio'},"
   "{'type':'file','file':{}}]}", "user image(u) audio(-) file(-)"},
  {"{'role':'assistant','content':[{'type':'refusal','refusal':'no'},{'type':'output_text','text':'\\t'}]}",
   "assistant text(no) text(~\\t)"},
  /* Anthropic's */
  {"{'role':'assistant','content':[{'type':'thinking','thinking':'hm','signature':'s'},"
   "{'type':'redacted_thinking','data':'d'},{'type':'tool_use','id':'t1','name':'f','input':{'a':1}}]}",
   "assistant call(t1 f {'a':1}) reasoning(hm) reasoning(-) tool_use(-)"},
  {"{'role':'user','content':[{'type':'tool_result','tool_use_id':'t1','content':'ok'},"
   "{'type':'tool_result','tool_use_id':'t2'},{'type':'document','source':{}}]}",
   "user result(t1) result(t2) tool_result(ok) tool_result(-) file(-)"},
  {"{'role':'user','content':[{'type':'tool_result','tool_use_id':'t1','content':[{'type':'text',"
   "'text':'a'},{'type':'image','source':{}},{'type':'tool_result','tool_use_id':'no'}]},"
   "{'type':'text','text':'b'}]}",
   "user result(t1) tool_result(-) >text(a) >image(-) >tool_result(-) text(b)"},
  {"{'role':'user','content':[{'type':'tool_result','tool_use_id':'t1','id':'own','content':''}]}",
   "user result(t1) tool_result()"},
  {"{'role':'assistant','content':[{'type':'tool_result','tool_use_id':'t1','content':'ok'}]}",
   "assistant tool_result(ok)"},
  /* the seed's */
  {"{'role':'assistant','content':[{'type':'tool_use','tool_use':{'id':'s1','name':'f','input':{}}}]}",
   "assistant call(s1 f {}) tool_use(-)"},
  {"{'role':'user','content':[{'tool_result':{'content':'ok','tool_use_id':'s1'},'type':'tool_result'}]}",
   "user result(s1) tool_result(ok)"},
  {"{'role':'tool','content':[{'type':'tool_result','tool_result':{'tool_use_id':'s1','content':"
   "[{'type':'text','text':'a'}]}}]}", "tool result(s1) tool_result(-) >text(a)"},
  /* others */
  {"{'role':'user','content':['bare',{'text':'no type'},{},{'type':'odd'},{'type':null,'x':1},"
   "{'type':'asset'},'\\u00e9']}", "user text(bare) text(no type) other?(-) other?(-) other?(-) asset(-) text(~\\u00e9)"},
  {"{'role':'user','content':[{'type':'te\\u0078t','te\\u0078t':'a'}]}", "user text(a)"},
  {"{'role':'user','content':[{'type':'text','text':7},{'type':'text'}]}", "user text(-) text(-)"},

  /* other fields */
  {"{'role':'user','content':'x','id':'m1','name':'Ann','timestamp':1700000000000,"
   "'metadata':{'k': [1]},'reasoning_content':'hm'}",
   "user 'x' id=m1 name=Ann metadata={'k': [1]} reasoning=hm at=1700000000000"},
  {"{'role':'user','content':'x','id':null,'name':null,'timestamp':null,'metadata':null,"
   "'reasoning_content':null}", "user 'x'"},
  {"{'role':'user','content':'x','timestamp':-9223372036854775808}", "user 'x' at=-9223372036854775808"},
  {"{'role':'user','content':'x','timestamp':'2024-01-01'}", "user 'x'"},
  {"{'role':'user','content':'x','n':1e400,'m':12345678901234567890123456789,'n':0,'':{}}", "user 'x'"},
  {"{'r\\u006fle':'user','\\u0063ontent':'x','\\u0069d':'m'}", "user 'x' id=m"},
  {"{'role':'user','content':'x','role\\u0000':1,'rol':2,'contents':3}", "user 'x'"},

  /* parts without types */
  {"{'role':'user','parts':[{'text':'a'},{'text':'b\\n'}]}", "user parts text(a) text(~b\\n)"},
  {"{'parts':[{'text':'a'}],'role':'model'}", "assistant parts spelling=model text(a)"},
  {"{'parts':{'text':'a'}}", "user parts text(a)"},
  {"{'role':'mod\\u0065l','parts':[]}", "assistant parts spelling=~mod\\u0065l"},
  {"{'role':'model','parts':[{'text':'hm','thought':true},{'text':'','thoughtSignature':'s'},{'thoughtSignature':'s'},"
   "{'text':'x','thought':false}]}", "assistant parts spelling=model reasoning(hm) text() other(-) text(x)"},
  {"{'role':'model','parts':[{'functionCall':{'name':'f','args':{'a':1}},'thoughtSignature':'s'},"
   "{'function_call':{'id':'c','name':'g'}},{'functionCall':{'args':null,'name':'h','id':null}}]}",
   "assistant parts spelling=model call(- f {'a':1}) call(c g -) call(- h -) tool_use(-) tool_use(-) tool_use(-)"},
  {"{'role':'user','parts':[{'functionResponse':{'name':'f','response':{'output':'42'}}},"
   "{'function_response':{'name':'g','id':'c','response':{'error':'no'}}},"
   "{'functionResponse':{'name':'h','response':{'output':{'n':1}}}},{'functionResponse':{'name':'i'}}]}",
   "user parts result(- f) result(c g) result(- h) result(- i) tool_result(42) tool_result(no) "
   "tool_result({'output':{'n':1}}) tool_result(-)"},
  {"{'role':'function','parts':[{'functionResponse':{'name':'f','response':'x','parts':[{'inlineData':"
   "{'mimeType':'image/png','data':'QQ=='}}]}},{'text':'b'}]}",
   "tool parts result(- f) tool_result(x) >image(QQ==) text(b)"},
  {"{'role':'user','parts':[{'functionResponse':{'name':'f','parts':{'inlineData':{'mimeType':'image/png',"
   "'data':'QQ=='}}}}]}", "user parts result(- f) tool_result(-) >image(QQ==)"},
  {"{'role':'user','parts':[{'functionResponse':{'name':'f','parts':[{'functionResponse':{'name':'g'}},"
   "{'functionCall':{'name':'h'}}]}}]}", "user parts result(- f) tool_result(-) >tool_result(-) >tool_use(-)"},
  {"{'role':'user','parts':[{'inline_data':{'mime_type':'image/png','data':'QQ=='}},{'inlineData':{'mimeType':'audio/wav',"
   "'data':'Qg=='}},{'fileData':{'mimeType':'application/pdf','fileUri':'u'}},{'file_data':{'file_uri':'v'}}]}",
   "user parts image(QQ==) audio(Qg==) file(u) file(v)"},
  {"{'role':'model','parts':[{'executableCode':{'language':'PYTHON','code':'1+1'}},{'codeExecutionResult':{'outcome':'OK',"
   "'output':'2'}},{'toolCall':{'id':'t'}},{'toolResponse':{}},{'later':{}}]}",
   "assistant parts spelling=model other(1+1) other(2) other(-) other(-) other?(-)"},
  {"{'role':'user','parts':[{'functionCall':{'name':'f'}}]}", "user parts tool_use(-)"},
  {"{'role':'model','parts':[{'functionResponse':{'name':'f'}}]}", "assistant parts spelling=model tool_result(-)"},
  {"{'role':'user','parts':[{'text':7},{'text':null,'inlineData':null}]}", "user parts text(-) other?(-)"},
  /* content and calls make parts an unknown member */
  {"{'role':'user','parts':[{'type':'text','text':'a'}],'content':'x'}", "user 'x'"},
  {"{'role':'user','content':'x','parts':[{'text':'a'}]}", "user 'x'"},
  {"{'role':'user','parts':[{'text':'a'}],'content':[{'type':'text','text':'b'}]}", "user text(b)"},
  {"{'role':'user','parts':[{'text':'a'}],'content':null}", "user parts text(a)"},
  {"{'role':'assistant','parts':[{'functionCall':{'name':'f'}}],'tool_calls':[{'id':'c','function':{'name':'g'}}]}",
   "assistant call(c g -)"},
  {"{'role':'assistant','tool_calls':[{'id':'c','function':{'name':'g'}}],'parts':[{'functionCall':{'name':'f'}}]}",
   "assistant call(c g -)"},
  {"{'role':'assistant','content':null,'refusal':'no','parts':7}", "assistant refusal=no"},

  /* items */
  {"{'type':'function_call','id':'fc_1','call_id':'c1','name':'f','arguments':'{\\'a\\':1}','status':'completed'}",
   "assistant item id=fc_1 call(c1 f ~{\\'a\\':1})"},
  {"{'type':'custom_tool_call','call_id':'c1','name':'f','input':'raw'}", "assistant item call(c1 f raw)"},
  {"{'type':'function_call_output','call_id':'c1','output':'42'}", "tool '42' item result(c1)"},
  {"{'type':'function_call_output','call_id':'c1','output':'42','window':'w'}", "tool '42' item result(c1)"},
  {"{'output':[{'type':'input_text','text':'a'},{'type':'input_image','image_url':'u'}],'call_id':'c1',"
   "'type':'custom_tool_call_output'}", "tool item result(c1) text(a) image(u)"},
  {"{'type':'reasoning','id':'rs_1','summary':[]}", "assistant item id=rs_1 reasoning(-)"},
  {"{'type':'reasoning','summary':[{'type':'summary_text','text':'a'},{'type':'summary_text','text':'b'}],"
   "'content':[{'type':'reasoning_text','text':'c'}],'encrypted_content':'e'}",
   "assistant item reasoning!(a) >reasoning(b) >reasoning(c)"},
  {"{'type':'reasoning','summary':[],'content':null,'encrypted_content':'e'}", "assistant item reasoning!(-)"},
  {"{'type':'item_reference','id':'rs_1'}", "assistant item other(-)"},
  {"{'type':'compaction','id':'cmp_1','encrypted_content':'e'}", "assistant item id=cmp_1 other(-)"},
  {"{'type':'web_search_call','id':'ws_1','status':'completed','action':{'type':'search'}}",
   "assistant item id=ws_1 other(-)"},
  {"{'type':'image_generation_call','id':'ig_1','result':'QQ=='}", "assistant item id=ig_1 image(QQ==)"},
  {"{'type':'computer_call','call_id':'c1','action':{}}", "assistant item call(c1 computer_call -) other(-)"},
  {"{'type':'computer_call_output','call_id':'c1','output':{'type':'computer_screenshot','image_url':'u'}}",
   "tool item result(c1) image(u)"},
  {"{'type':'shell_call_output','call_id':'c1','output':[{'stdout':'x'}]}", "tool item result(c1) other(-)"},
  {"{'type':'function_call_output','call_id':'c1','output':[{'later':'x'}]}", "tool item result(c1) other?(-)"},
  {"{'type':'mcp_approval_request','id':'m1','name':'f','arguments':'{}'}", "assistant item id=m1 call(m1 f -) other(-)"},
  {"{'type':'mcp_approval_response','approval_request_id':'m1','approve':true}", "tool item result(m1) other(-)"},
  {"{'type':'tool_search_call','call_id':null,'name':'x'}", "assistant item other(-)"},
  {"{'type':'compaction_trigger'}", "system item other(-)"},
  {"{'type':'additional_tools','role':'developer','tools':[]}", "system item other(-)"},
  {"{'type':'message','role':'assistant','content':[{'type':'output_text','text':'x','annotations':[]}]}",
   "assistant text(x)"},
  {"{'type':'reasoning','role':'user','content':'x'}", "user 'x'"},
};

/* Reads from a block of the text's very size, so that a sanitizer sees each read beyond it. */
typedef struct Read {
  char *block;
  Json json;
  Text raw;
  MessageShape shape;
  bool good;
} Read;

static Read read_one(Reader *reader, const char *text, size_t size) {
  Read read = {.block = malloc(size > 0 ? size : 1)};
  assert_non_null(read.block);
  for (size_t i = 0; i < size; i++) read.block[i] = text[i] == '\'' ? '"' : text[i];
  json_open(&read.json, read.block, size);
  read.good = reader_message(reader, &read.json, &read.raw, &read.shape);
  return read;
}

static void good_messages_are_found_whole(void **state) {
  (void)state;
  Fail fail = {0};
  Reader reader;
  reader_init(&reader, fail_memory(&fail));
  for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++) {
    const char *json = accepted[i].json;
    Line line;
    Read read = read_one(&reader, json, strlen(json));
    if (!read.good) fail_msg("%s: expected %s at %s", json, read.json.expected, json + (read.json.error - read.block));
    assert_true(read.raw.bytes[0] == '{' && read.raw.bytes[read.raw.size - 1] == '}');
    assert_true(json_end(&read.json));
    describe(&line, read.raw, &read.shape);
    if (strcmp(line.text, accepted[i].line) != 0) fail_msg("%s:\n  %s\n  %s", json, line.text, accepted[i].line);
    free(read.block);
  }
  reader_free(&reader);
  assert_int_equal(fail.in_use, 0);
}

static const char a_role[] = "a role: system", a_content[] = "content", a_string[] = ", a string";
static const char once[] = "each key once";

/* '@' stands where the error is, and is not part of the message. */
static const struct Refused {
  const char *json;
  Status status;
  const char *expected;   /* in what was expected */
} refused[] = {
  {"@", STATUS_SYNTAX, "a value"},
  {" @[]", STATUS_SHAPE, "a message, an object"},
  {"@'x'", STATUS_SHAPE, "a message, an object"},
  {" @{}", STATUS_SHAPE, "a role"},
  {"{'role':'user','content':'x'@", STATUS_SYNTAX, "or '}'"},
  {"{'role':'user','content':'x@", STATUS_SYNTAX, "to end the string"},
  {"{'role':'user',@}", STATUS_SYNTAX, "a key"},
  {"{'role':'user','content':'@\xff'}", STATUS_ENCODING, "UTF-8"},
  {"{'role':'user','content':'@\\udc00'}", STATUS_ENCODING, "surrogate"},

  {"@{'content':'x'}", STATUS_SHAPE, "a role in the message"},
  {"@{'type':'later_item'}", STATUS_SHAPE, "a role in the message"},
  {"@{'type':'message','content':'x'}", STATUS_SHAPE, "a role in the message"},
  {"@{'type':'function_call','name':'f'}", STATUS_SHAPE, "a call_id"},
  {"@{'type':'custom_tool_call','call_id':'c'}", STATUS_SHAPE, "a name"},
  {"@{'type':'function_call_output','output':'x'}", STATUS_SHAPE, "a call_id"},
  {"@{'type':'later','window':'w'}", STATUS_SHAPE, "a role in the message"},
  {"{'type':'function_call_output','call_id':'c','output':[@7]}", STATUS_SHAPE, "a content part"},
  {"{'role':@'model','content':'x'}", STATUS_ROLE, "parts beside the role model"},
  {"{'role':'user','parts':@7}", STATUS_SHAPE, "a part, an object"},
  {"{'role':'user','parts':[{},@'x']}", STATUS_SHAPE, "a part, an object"},
  {"{'role':'user','parts':[@{'type':'text','text':'x'}]}", STATUS_SHAPE, "a part without a type"},
  {"{'role':'model','parts':[{'functionCall':@7}]}", STATUS_SHAPE, "a function call"},
  {"{'role':'model','parts':[{'functionCall':@{'id':'c'}}]}", STATUS_SHAPE, "a name in the function call"},
  {"{'role':'user','parts':[{'functionResponse':@{'id':'c'}}]}", STATUS_SHAPE, "a name in the function response"},
  {"{'role':'user','parts':[{'functionResponse':{'name':'f','parts':[@7]}}]}", STATUS_SHAPE, "a part, an object"},
  {"{'role':'user','parts':[{'functionResponse':{'name':'f','parts':@'x'}}]}", STATUS_SHAPE, "a part, an object"},
  {"{'role':'user','parts':[{'inlineData':@[]}]}", STATUS_SHAPE, "inline data"},
  {"{'role':'user','parts':[],@'parts':[]}", STATUS_DUPLICATE, once},
  {"{'type':'reasoning',@'type':'reasoning'}", STATUS_DUPLICATE, once},
  {"{'role':@'bot','content':'x'}", STATUS_ROLE, a_role},
  {"{'role':@'User','content':'x'}", STATUS_ROLE, a_role},
  {"{'role':@'user ','content':'x'}", STATUS_ROLE, a_role},
  {"{'role':@'user\\u0000','content':'x'}", STATUS_ROLE, a_role},
  {"{'role':@'','content':'x'}", STATUS_ROLE, a_role},
  {"{'role':@null,'content':'x'}", STATUS_ROLE, a_role},
  {"{'role':@1,'content':'x'}", STATUS_ROLE, a_role},

  {"@{'role':'user'}", STATUS_SHAPE, a_content},
  {"@{'role':'user','content':null}", STATUS_SHAPE, a_content},
  {"@{'role':'assistant','content':null,'tool_calls':[]}", STATUS_SHAPE, a_content},
  {"@{'role':'assistant','content':null,'refusal':null,'audio':null,'function_call':null}", STATUS_SHAPE, a_content},
  {"@{'role':'user','tool_calls':[{'id':'c','function':{'name':'f'}}]}", STATUS_SHAPE, a_content},
  {"@{'role':'tool','tool_call_id':'c'}", STATUS_SHAPE, a_content},
  {"{'role':'user','content':@5}", STATUS_SHAPE, "content: a string"},
  {"{'role':'user','content':@{'text':'x'}}", STATUS_SHAPE, "content: a string"},
  {"{'role':'user','content':[@1]}", STATUS_SHAPE, "a content part"},
  {"{'role':'user','content':[{}, @null]}", STATUS_SHAPE, "a content part"},
  {"{'role':'user','content':[{'type':@1}]}", STATUS_SHAPE, "type, a string"},
  {"{'role':'user','content':[{},@]}", STATUS_SYNTAX, "a value"},

  {"{'role':'assistant','tool_calls':@{}}", STATUS_SHAPE, "a list of tool calls"},
  {"{'role':'assistant','tool_calls':[@'c']}", STATUS_SHAPE, "a tool call"},
  {"{'role':'assistant','tool_calls':[@{'id':'c'}]}", STATUS_SHAPE, "a function"},
  {"{'role':'assistant','tool_calls':[{'id':@1,'function':{'name':'f'}}]}", STATUS_SHAPE, "id, a string"},
  {"{'role':'assistant','tool_calls':[{'function':@'f'}]}", STATUS_SHAPE, "name and arguments"},
  {"{'role':'assistant','tool_calls':[{'function':@{'arguments':''}}]}", STATUS_SHAPE, "a name"},
  {"{'role':'assistant','tool_calls':[{'function':{'name':@[]}}]}", STATUS_SHAPE, a_string},
  {"{'role':'assistant','function_call':@{}}", STATUS_SHAPE, "a name"},
  {"{'role':'assistant','function_call':{'name':'f','strict':@}}", STATUS_SYNTAX, "a value"},
  {"{'role':'assistant','content':[@{'type':'tool_use','id':'t'}]}", STATUS_SHAPE, "a name in the tool use"},
  {"{'role':'assistant','content':[{'type':'tool_use','tool_use':@[]}]}", STATUS_SHAPE, "an object"},
  {"{'role':'user','content':[@{'type':'tool_result','content':'x'}]}", STATUS_SHAPE, "a tool_use_id"},
  {"{'role':'user','content':[@{'type':'tool_result','tool_use_id':7}]}", STATUS_SHAPE, "a tool_use_id"},
  {"{'role':'user','content':[{'type':'tool_result','tool_use_id':'t','content':[@5]}]}",
   STATUS_SHAPE, "a content part"},
  {"{'role':'user','content':[{'type':'tool_result','tool_result':{'tool_use_id':'t','content':[{'type':@5}]}}]}",
   STATUS_SHAPE, "type, a string"},

  {"{'role':'tool','content':'x','tool_call_id':@1}", STATUS_SHAPE, a_string},
  {"{'role':'user','content':'x','id':@1}", STATUS_SHAPE, a_string},
  {"{'role':'user','content':'x','name':@{}}", STATUS_SHAPE, a_string},
  {"{'role':'user','content':'x','reasoning_content':@[]}", STATUS_SHAPE, a_string},
  {"{'role':'user','content':'x','refusal':@true}", STATUS_SHAPE, a_string},
  {"{'role':'user','content':'x','metadata':@[]}", STATUS_SHAPE, "metadata, an object"},
  {"{'role':'user','content':'x','timestamp':@1.5}", STATUS_SHAPE, "whole milliseconds"},
  {"{'role':'user','content':'x','timestamp':@1e400}", STATUS_SHAPE, "whole milliseconds"},
  {"{'role':'user','content':'x','timestamp':@9223372036854775808}", STATUS_SHAPE, "whole milliseconds"},
  {"{'role':'user','content':'x','timestamp':@true}", STATUS_SHAPE, "whole milliseconds"},

  {"{'role':'user',@'role':'user','content':'x'}", STATUS_DUPLICATE, once},
  {"{'role':'user','content':'x',@'r\\u006fle':'user'}", STATUS_DUPLICATE, once},
  {"{'role':'user','content':'x', @'content':null}", STATUS_DUPLICATE, once},
  {"{'role':'user','content':'x','id':null,@'id':'m'}", STATUS_DUPLICATE, once},
  {"{'role':'user','content':'x','name':'',@'name':''}", STATUS_DUPLICATE, once},
  {"{'role':'user','content':'x','timestamp':1,@'timestamp':1}", STATUS_DUPLICATE, once},
  {"{'role':'user','content':'x','metadata':{},@'metadata':{}}", STATUS_DUPLICATE, once},
  {"{'role':'assistant','content':'x','tool_calls':[],@'tool_calls':[]}", STATUS_DUPLICATE, once},
  {"{'role':'assistant','content':'x','function_call':null,@'function_call':null}", STATUS_DUPLICATE, once},
  {"{'role':'tool','content':'x','tool_call_id':'a',@'tool_call_id':'a'}", STATUS_DUPLICATE, once},
  {"{'role':'user','content':'x','reasoning_content':'',@'reasoning_content':''}", STATUS_DUPLICATE, once},
  {"{'role':'user','content':'x','refusal':'',@'refusal':''}", STATUS_DUPLICATE, once},
  {"{'role':'user','content':'x','audio':{},@'audio':{}}", STATUS_DUPLICATE, once},
};

static void bad_messages_are_refused_where_they_are_bad(void **state) {
  (void)state;
  Fail fail = {0};
  Reader reader;
  reader_init(&reader, fail_memory(&fail));
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    char text[400];
    const char *mark = strchr(refused[i].json, '@');
    assert_non_null(mark);
    size_t offset = (size_t)(mark - refused[i].json), size = strlen(refused[i].json) - 1;
    memcpy(text, refused[i].json, offset);
    memcpy(text + offset, mark + 1, size - offset);
    Read read = read_one(&reader, text, size);
    if (read.good) fail_msg("accepted: %s", refused[i].json);
    size_t found = (size_t)(read.json.error - read.block);
    const char *expected = read.json.expected;
    if (read.json.status != refused[i].status || found != offset || strstr(expected, refused[i].expected) == NULL) {
      fail_msg("%s: %s at %zu: expected %s", refused[i].json, status_code(read.json.status), found, expected);
    }
    free(read.block);
  }
  reader_free(&reader);
  assert_int_equal(fail.in_use, 0);
}

static void the_cap_counts_the_messages_bytes(void **state) {
  (void)state;
  Fail fail = {0};
  Reader reader;
  reader_init(&reader, fail_memory(&fail));
  const char *text = " {'role':'user','content':'x'} ";
  for (size_t cap = strlen(text) - 3; cap <= strlen(text) - 2; cap++) {
    reader.message_bytes_max = cap;
    Read read = read_one(&reader, text, strlen(text));
    assert_int_equal(read.good, cap == strlen(text) - 2);
    if (!read.good) {
      assert_int_equal(read.json.status, STATUS_LIMIT);
      assert_int_equal(read.json.error - read.block, 1);
    }
    free(read.block);
  }
  reader_free(&reader);
}

/* A message over the cap that is nothing but parts takes no memory for them. */
static void what_is_over_the_cap_is_not_paid_for(void **state) {
  (void)state;
  static char text[200000] = "{'role':'user','content':[''";
  size_t size = strlen(text);
  for (; size + 5 < sizeof text; size += 3) memcpy(text + size, ",''", 3);
  memcpy(text + size, "]}", 2);
  Fail fail = {0};
  Reader reader;
  reader_init(&reader, fail_memory(&fail));
  reader.message_bytes_max = 1000;
  Read read = read_one(&reader, text, size + 2);
  assert_false(read.good);
  assert_int_equal(read.json.status, STATUS_LIMIT);
  assert_ptr_equal(read.json.error, read.block);
  assert_true(fail.in_use < 100000);
  free(read.block);
  reader_free(&reader);
  assert_int_equal(fail.in_use, 0);
}

/* Much follows the message, but its fault lies within the cap: it is named, not the cap. */
static void a_fault_within_the_cap_is_told_before_the_cap(void **state) {
  (void)state;
  char text[3000] = "{'role':'user','content':5,'x':'";
  size_t size = strlen(text);
  memset(text + size, 'x', sizeof text - size);
  memcpy(text + sizeof text - 2, "'}", 2);
  Fail fail = {0};
  Reader reader;
  reader_init(&reader, fail_memory(&fail));
  reader.message_bytes_max = 100;
  Read read = read_one(&reader, text, sizeof text);
  assert_false(read.good);
  assert_int_equal(read.json.status, STATUS_SHAPE);
  assert_int_equal(read.json.error - read.block, 25);
  free(read.block);
  reader_free(&reader);
}

static void a_reader_without_memory_says_so_and_goes_on_later(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++) {
    for (size_t at = 1;; at++) {
      Fail fail = {.fail_at = at};
      Reader reader;
      reader_init(&reader, fail_memory(&fail));
      Read read = read_one(&reader, accepted[i].json, strlen(accepted[i].json));
      bool done = read.good;
      if (!done) assert_int_equal(read.json.status, STATUS_MEMORY);
      free(read.block);
      fail.fail_at = 0;
      read = read_one(&reader, accepted[i].json, strlen(accepted[i].json));
      assert_true(read.good);
      free(read.block);
      reader_free(&reader);
      assert_int_equal(fail.in_use, 0);
      if (done) break;
    }
  }
}

static void items_of_unknown_types_are_read_where_all_are(void **state) {
  (void)state;
  Fail fail = {0};
  Reader reader;
  Line line;
  reader_init(&reader, fail_memory(&fail));
  reader.all_items = true;
  const char *item = "{'type':'later_item','name':7}", *window = "{'type':'window','window':'todo'}";
  Read read = read_one(&reader, item, strlen(item));
  assert_false(read.good);
  free(read.block);
  item = "{'type':'later_item','x':7}";
  read = read_one(&reader, item, strlen(item));
  assert_true(read.good);
  describe(&line, read.raw, &read.shape);
  assert_string_equal(line.text, "assistant item other?(-)");
  free(read.block);
  read = read_one(&reader, window, strlen(window));
  assert_true(read.good && read.shape.content_kind == CONTENT_WINDOW);
  free(read.block);
  reader_free(&reader);
  assert_int_equal(fail.in_use, 0);
}

/* Nothing of one message is left when the next is read. */
static void messages_come_one_after_the_other(void **state) {
  (void)state;
  Fail fail = {0};
  Reader reader;
  Line line;
  reader_init(&reader, fail_memory(&fail));
  const char *both = "{'role':'assistant','content':[{'type':'odd'}],'tool_calls':[{'id':'c','function':"
                     "{'name':'f'}}],'id':'m','timestamp':1}{'role':'tool','content':'x'}";
  Read read = read_one(&reader, both, strlen(both));
  assert_true(read.good);
  assert_true(reader_message(&reader, &read.json, &read.raw, &read.shape) && json_end(&read.json));
  describe(&line, read.raw, &read.shape);
  assert_string_equal(line.text, "tool 'x'");
  free(read.block);
  reader_free(&reader);
  assert_int_equal(fail.in_use, 0);
}

/* Messages that are a role and a text need not be read: their shape is known. */
static void bare_messages_have_a_known_shape(void **state) {
  (void)state;
  static const struct {
    const char *role, *content;
    Role expected;
    bool escaped;
  } rows[] = {
    {"user", "two words", ROLE_USER, false},   {"assistant", "", ROLE_ASSISTANT, false},
    {"system", "a\\nb", ROLE_SYSTEM, true},    {"developer", "\\u00e9", ROLE_SYSTEM, true},
  };
  Fail fail = {0};
  Reader reader;
  reader_init(&reader, fail_memory(&fail));
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char json[100];
    Line by_reading, by_sizes;
    snprintf(json, sizeof json, "{'role':'%s','content':'%s'}", rows[i].role, rows[i].content);
    Read read = read_one(&reader, json, strlen(json));
    assert_true(read.good);
    MessageShape shape =
      reader_bare_shape(rows[i].expected, strlen(rows[i].role), strlen(rows[i].content), rows[i].escaped);
    describe(&by_reading, read.raw, &read.shape);
    describe(&by_sizes, read.raw, &shape);
    assert_string_equal(by_sizes.text, by_reading.text);
    assert_int_equal(shape.role, read.shape.role);
    assert_int_equal(shape.form, read.shape.form);
    assert_int_equal(shape.content_kind, read.shape.content_kind);
    assert_memory_equal(&shape.role_text, &read.shape.role_text, sizeof shape.role_text);
    assert_memory_equal(&shape.content, &read.shape.content, sizeof shape.content);
    free(read.block);
  }
  reader_free(&reader);
  assert_int_equal(fail.in_use, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(good_messages_are_found_whole),
    cmocka_unit_test(bad_messages_are_refused_where_they_are_bad),
    cmocka_unit_test(the_cap_counts_the_messages_bytes),
    cmocka_unit_test(what_is_over_the_cap_is_not_paid_for),
    cmocka_unit_test(a_fault_within_the_cap_is_told_before_the_cap),
    cmocka_unit_test(a_reader_without_memory_says_so_and_goes_on_later),
    cmocka_unit_test(items_of_unknown_types_are_read_where_all_are),
    cmocka_unit_test(messages_come_one_after_the_other),
    cmocka_unit_test(bare_messages_have_a_known_shape),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
