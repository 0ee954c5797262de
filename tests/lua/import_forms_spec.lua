-- luacheck: ignore 631 (inputs stay whole)
--- Checks the import of each form: a row has an input as its program writes it, and the messages in words.

local kit = dofile "tests/lua/import_kit.lua"
local command = dofile "tests/lua/command.lua"
local helper = dofile "tests/lua/helper.lua"

local ebb, json = helper.ebb, helper.ebb.json

--- JSONL of a session of Claude Code: each line hangs on the one before.
local function claude(...)
  local lines, parent = {}, json.null
  for i, record in ipairs { ... } do
    if type(record) == "string" then
      lines[i] = record
    else
      local id = ("u%d"):format(i)
      record.uuid, record.parentUuid, record.sessionId = id, parent, "s"
      parent = id
      lines[i] = json.encode(record)
    end
  end
  return table.concat(lines, "\n") .. "\n"
end

local function says(role, content, more)
  local record, id = more or {}, role == "assistant" and "m" .. tostring(content):sub(-6) or nil
  record.type, record.message = role, { role = role, content = content, id = id, model = id and "claude-x" }
  return record
end

local function attached(value, more)
  local record = more or {}
  record.type, record.attachment = "attachment", value
  return record
end

local function rendered(role, ...)
  local list = {}
  for i, text in ipairs { ... } do list[i] = { content = text } end
  return attached({ type = "note" }, { rendered = list, renderedRole = role })
end

local USE, ANSWER = { { type = "tool_use", id = "k", name = "Skill", input = {} } },
  { { type = "tool_result", tool_use_id = "k", content = "Launching" } }

--- Rows: the subject, the form, the input, the messages in words; then what is counted, if that is to be told.
local ROWS = {
  { "ModelMessage: call and result, reasoning, JSON as it was", "ai_sdk",
    [[ [{"role":"system","content":"Be brief."},{"role":"user","content":"Is lock 2 open?"},
    {"role":"assistant","content":[{"type":"reasoning","text":"Ask."},{"type":"text","text":"One moment."},
      {"type":"tool-call","toolCallId":"k1","toolName":"lock","input":{"no": 2, "at":"now"}},
      {"type":"tool-call","toolCallId":"k2","toolName":"lock","input":{"no":3}}]},
    {"role":"tool","content":[
      {"type":"tool-result","toolCallId":"k1","toolName":"lock","output":{"type":"json","value":{"z": 1, "a": "x  y"}}},
      {"type":"tool-result","toolCallId":"k2","toolName":"lock","output":{"type":"error-text","value":"no such lock"}}]},
    {"role":"assistant","content":"It is."}] ]],
    [[s:Be brief. | u:Is lock 2 open? | a:<Ask.>One moment.+lock(k1){"no":2,"at":"now"}+lock(k2){"no":3} | ]] ..
    [[t(k1):{"z":1,"a":"x  y"} | t(k2):no such lock | a:It is.]], {} },
  { "ModelMessage: a list that begins with a call, and one in JSONL", "ai_sdk",
    '{"role":"user","content":"q"}\n{"role":"assistant","content":[{"type":"tool-call","toolCallId":"k","toolName":"f","input":{}}]}\n' ..
    '{"role":"tool","content":[{"type":"tool-result","toolCallId":"k","toolName":"f","output":{"type":"text","value":"r"}}]}\n',
    "u:q | a:f(k){} | t(k):r", {} },
  { "ModelMessage within a body", "ai_sdk",
    '{"model":"m","system":"S","tools":{"f":{}},"messages":[{"role":"assistant","content":[{"type":"tool-call","toolCallId":"k","toolName":"f","input":{}}]}]}',
    "a:f(k){}", { "1 other member: tools" } },
  { "ModelMessage of version 4: args and result", "ai_sdk",
    [[ [{"role":"assistant","content":[{"type":"tool-call","toolCallId":"k","toolName":"f","args":{"a":1}}]},
    {"role":"tool","content":[{"type":"tool-result","toolCallId":"k","toolName":"f","result":{"b":2},"isError":true}]}] ]],
    'a:f(k){"a":1} | t(k):{"b":2}', {} },
  { "ModelMessage: a denied call gets a result that says so, an approved one keeps its own", "ai_sdk",
    [[ [{"role":"assistant","content":[{"type":"tool-call","toolCallId":"k1","toolName":"f","input":{}},
      {"type":"tool-approval-request","approvalId":"p1","toolCallId":"k1"},
      {"type":"tool-call","toolCallId":"k2","toolName":"f","input":{}},
      {"type":"tool-approval-request","approvalId":"p2","toolCallId":"k2"}]},
    {"role":"tool","content":[{"type":"tool-approval-response","approvalId":"p1","approved":false,"reason":"not now"},
      {"type":"tool-approval-response","approvalId":"p2","approved":true}]},
    {"role":"tool","content":[{"type":"tool-result","toolCallId":"k2","toolName":"f","output":{"type":"text","value":"r"}}]}] ]],
    "a:f(k1){}+f(k2){} | t(k1):not now | t(k2):r", {} },
  { "ModelMessage: execution-denied without a reason", "ai_sdk",
    [[ [{"role":"assistant","content":[{"type":"tool-call","toolCallId":"k","toolName":"f","input":{}}]},
    {"role":"tool","content":[{"type":"tool-result","toolCallId":"k","toolName":"f","output":{"type":"execution-denied"}}]}] ]],
    "a:f(k){} | t(k):Tool call execution denied.", {} },
  { "ModelMessage: the provider answers one of two calls", "ai_sdk",
    [[ [{"role":"assistant","content":[{"type":"tool-call","toolCallId":"k1","toolName":"f","input":{}},
      {"type":"tool-call","toolCallId":"k2","toolName":"g","input":{},"providerExecuted":true},
      {"type":"tool-result","toolCallId":"k2","toolName":"g","output":{"type":"text","value":"two"}}]},
    {"role":"tool","content":[{"type":"tool-result","toolCallId":"k1","toolName":"f","output":{"type":"text","value":"one"}}]}] ]],
    "a:f(k1){}+g(k2){} | t(k2):two | t(k1):one", {} },
  { "ModelMessage: media in every spelling", "ai_sdk",
    [[ [{"role":"user","content":[{"type":"text","text":"see"},{"type":"image","image":"https://a.example/x.png"},
      {"type":"file","mediaType":"image/png","data":{"type":"data","data":"iVBORw0KGgo="}},
      {"type":"file","mediaType":"image","data":{"type":"Buffer","data":[137,80,78,71,13,10,26,10]}},
      {"type":"file","mediaType":"image/png","data":{"0":137,"1":80}},
      {"type":"file","mediaType":"application/pdf","filename":"a.pdf","data":"JVBERi0="},
      {"type":"file","mediaType":"audio/mpeg","data":"SUQz"},
      {"type":"file","mediaType":"text/plain","data":{"type":"text","text":"plain"}},
      {"type":"file","mediaType":"application/pdf","data":{"type":"reference","reference":{"openai":"file-1"}}}]}] ]],
    "u:see+image_url+image_url+image_url+image_url+file+input_audio+plain",
    { "1 file: left out: only its provider has its bytes" } },
  { "ModelMessage: a result of several parts", "ai_sdk",
    [[ [{"role":"assistant","content":[{"type":"tool-call","toolCallId":"k","toolName":"f","input":{}}]},
    {"role":"tool","content":[{"type":"tool-result","toolCallId":"k","toolName":"f","output":{"type":"content","value":[
      {"type":"text","text":"a"},{"type":"image-data","data":"iVBORw0KGgo=","mediaType":"image/png"},
      {"type":"media","data":"iVBORw0KGgo=","mediaType":"image/png"},{"type":"custom"}]}}]}] ]],
    "a:f(k){} | t(k):a | u:image_url+image_url",
    { "1 other block: of a result: custom", "2 moved image: a result cannot hold it; it follows in a message of the user" } },
  { "UIMessage: steps, tools in every state, files, sources", "ai_sdk",
    [[ [{"id":"1","role":"user","parts":[{"type":"text","text":"q"},{"type":"file","mediaType":"image/png","url":"data:image/png;base64,iVBORw0KGgo="}]},
    {"id":"2","role":"assistant","parts":[{"type":"step-start"},{"type":"text","text":"I look."},
      {"type":"tool-lock","toolCallId":"k1","state":"output-available","input":{"no":2},"output":{"open":true}},
      {"type":"tool-lock","toolCallId":"k2","state":"output-error","input":{"no":9},"errorText":"none"},
      {"type":"dynamic-tool","toolName":"tide","toolCallId":"k3","state":"output-denied","input":{},"approval":{"id":"p","approved":false,"reason":"no"}},
      {"type":"tool-lock","toolCallId":"k4","state":"input-streaming","input":{}},
      {"type":"tool-lock","toolCallId":"k5","state":"input-available","input":{}},
      {"type":"step-start"},{"type":"source-url","sourceId":"s","url":"u"},{"type":"data-note","data":{}},{"type":"text","text":"Open."}]},
    {"id":"3","role":"user","parts":[{"type":"text","text":"r"}]}] ]],
    [[u:q+image_url | a:I look.+lock(k1){"no":2}+lock(k2){"no":9}+tide(k3){}+lock(k5){} | t(k1):{"open":true} | t(k2):none | ]] ..
    [[t(k3):no | t(k5):[no result: the tool was interrupted] | a:Open. | u:r]],
    { "1 unfinished call: left out: its input is not all there", "1 call without result: it gets one that says so",
      "1 other part: source-url", "1 other part: data-note" } },
  { "UIMessage: a call at the end stays open; words of the user between", "ai_sdk",
    [[ {"id":"chat","messages":[{"id":"1","role":"system","parts":[{"type":"text","text":"S1"},{"type":"text","text":"S2"}]},
    {"id":"2","role":"assistant","parts":[{"type":"text","text":"a"},{"type":"steering-message","id":"s","parts":[{"type":"text","text":"wait"}]},
      {"type":"tool-f","toolCallId":"k","state":"input-available","input":{}}]}],"trigger":"submit-message"} ]],
    "s:S1S2 | a:a | u:wait | a:f(k){}", { "1 open call: it has no result" } },
  { "UIMessage of version 4: the text behind a tool is a message of its own", "ai_sdk",
    [[ [{"id":"1","role":"assistant","content":"b","parts":[{"type":"text","text":"a"},
      {"type":"tool-invocation","toolInvocation":{"state":"result","step":0,"toolCallId":"k","toolName":"f","args":{"x":1},"result":"r"}},
      {"type":"text","text":"b"}]}] ]],
    'a:a+f(k){"x":1} | t(k):r | a:b', {} },
  { "UIMessage without parts: calls and files beside the text", "ai_sdk",
    [[ [{"id":"1","role":"user","content":"q","experimental_attachments":[{"name":"a.png","contentType":"image/png","url":"data:image/png;base64,iVBORw0KGgo="}]},
    {"id":"2","role":"assistant","content":"a","toolInvocations":[{"state":"result","step":0,"toolCallId":"k","toolName":"f","args":{"x": 1},"result":{"y": 2}}]}] ]],
    'u:q+image_url | a:f(k){"x":1} | t(k):{"y":2} | a:a', {} },
  { "LangChain: blocks in the place of the content, which repeat calls", "langchain",
    [[ [{"type":"human","data":{"content_blocks":[{"type":"text","text":"Is lock 2 open?"}],"response_metadata":{"output_version":"v1"}}},
    {"lc":1,"type":"constructor","id":["langchain_core","messages","AIMessage"],"kwargs":{"content_blocks":[
      {"type":"reasoning","reasoning":"hm"},{"type":"text","text":"I look."},{"type":"tool_call","id":"k1","name":"lock","args":{"no":2}},
      {"type":"tool_call","id":"k2","name":"lock","args":{"no":3}},{"type":"invalid_tool_call","id":"k3","name":"lock","args":"{no"}],
      "tool_calls":[{"type":"tool_call","id":"k1","name":"lock","args":{"no":2}},{"type":"tool_call","id":"k2","name":"lock","args":{"no":3}}]}},
    {"type":"tool","data":{"tool_call_id":"k1","content_blocks":[{"type":"text","text":"yes"}]}},
    {"type":"tool","data":{"tool_call_id":"k2","content":"no","content_blocks":[{"type":"text","text":"no"}]}},
    {"type":"tool","data":{"tool_call_id":"k3","content":"what?"}}] ]],
    [[u:Is lock 2 open? | a:<hm>I look.+lock(k1){"no":2}+lock(k2){"no":3}+lock(k3){no | t(k1):yes | t(k2):no | t(k3):what?]], {} },
  { "LangChain: media in both spellings, links and names", "langchain",
    [[ [{"type":"human","data":{"content":[{"type":"text","text":"see"},{"type":"image","mimeType":"image/png","data":"iVBORw0KGgo="},
      {"type":"image","source_type":"base64","mime_type":"image/png","data":"iVBORw0KGgo="},{"type":"image","source_type":"url","url":"https://a.example/x"},
      {"type":"image_url","image_url":"https://a.example/y"},{"type":"audio","mime_type":"audio/mpeg","data":"SUQz"},
      {"type":"file","mime_type":"application/pdf","data":"JVBERi0=","metadata":{"filename":"a.pdf"}},
      {"type":"file","file":{"file_data":"data:application/pdf;base64,JVBERi0=","filename":"b.pdf"}},
      {"type":"text-plain","mimeType":"text/plain","data":"aGk="},{"type":"file","source_type":"text","text":"own"},
      {"type":"image","fileId":"f"},{"type":"video","url":"u"}]}}] ]],
    "u:see+image_url+image_url+image_url+image_url+input_audio+file+file+hi+own",
    { "1 other block: image, left out", "1 other block: video, left out" } },
  { "LangChain: a summary of reasoning", "langchain",
    [[ [{"type":"ai","data":{"content":[{"type":"text","text":"a"},{"type":"reasoning","summary":[{"type":"summary_text","text":"s0"}]}],
    "additional_kwargs":{"reasoning":{"id":"rs","summary":[{"type":"summary_text","text":"s1"},{"type":"summary_text","text":"s2"}],"encrypted_content":"x"}}}}] ]],
    "a:<s0\n\ns1\ns2>a", { "1 encrypted reasoning: left out" } },
  { "LangChain: pieces of a reply with two calls, then another reply", "langchain",
    [[ [{"type":"human","data":{"content":"q"}},
    {"type":"ai","data":{"id":"m","content":"I lo","tool_calls":[],"tool_call_chunks":[]}},
    {"type":"ai","data":{"id":"m","content":"ok.","tool_call_chunks":[{"index":0,"id":"k1","name":"lock","args":"{\"n"}],"tool_calls":[{"id":"k1","name":"lock","args":{}}]}},
    {"type":"ai","data":{"id":"m","content":"","tool_call_chunks":[{"index":1,"id":"k2","name":"tide","args":""}],"tool_calls":[{"id":"k2","name":"tide","args":{}}]}},
    {"type":"ai","data":{"id":"m","content":"","tool_call_chunks":[{"index":0,"args":"o\":2}"}],"invalid_tool_calls":[{"name":"","args":"o\":2}"}]}},
    {"type":"ai","data":{"id":"m","content":"","tool_call_chunks":[],"usage_metadata":{"input_tokens":1}}},
    {"type":"tool","data":{"tool_call_id":"k1","content":"yes"}},{"type":"tool","data":{"tool_call_id":"k2","content":"low"}},
    {"lc":1,"type":"constructor","id":["langchain_core","messages","AIMessageChunk"],"kwargs":{"id":"n","content":[{"index":0,"type":"text","text":"It "}]}},
    {"lc":1,"type":"constructor","id":["langchain_core","messages","AIMessageChunk"],"kwargs":{"id":"n","content":[{"index":0,"type":"text","text":"is."}]}},
    {"lc":1,"type":"constructor","id":["langchain_core","messages","AIMessageChunk"],"kwargs":{"id":"o","content":"Done"}}] ]],
    [[u:q | a:I look.+lock(k1){"no":2}+tide(k2){} | t(k1):yes | t(k2):low | a:It is. | a:Done]], {} },
  { "LangChain: pieces with OpenAI's own chunks", "langchain",
    [[ [{"type":"ai","data":{"type":"AIMessageChunk","id":"m","content":"","additional_kwargs":{"tool_calls":[{"index":0,"id":"k","function":{"name":"f","arguments":"{"}}]}}},
    {"type":"ai","data":{"type":"AIMessageChunk","id":"m","content":"","additional_kwargs":{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]}}}] ]],
    "a:f(k){}", { "1 open call: it has no result" } },
  { "Claude Code: the text of a skill stands behind the result, in one message", "claude_code",
    claude(says("user", "q"), says("assistant", USE), says("user", ANSWER),
      says("user", { { type = "text", text = "Two doors count twice." } }, { isMeta = true, sourceToolUseID = "k" }),
      says("assistant", "done")),
    "u:q | a:Skill(k) | u:r(k):Launching+Two doors count twice. | a:done", {} },
  { "Claude Code: words of the program join those of the user, before and behind", "claude_code",
    claude(says("user", "note", { isMeta = true }), says("user", "q"), says("user", "more", { isMeta = true }), says("user", "r")),
    "u:note+q+more | u:r", {} },
  { "Claude Code: attachments of older versions", "claude_code",
    claude(says("user", "see @list.txt"),
      attached { type = "file", filename = "/h/list.txt", displayPath = "list.txt", content = { type = "text", file = { content = "oars" } } },
      attached { type = "file", filename = "/h/a.png", content = { type = "image", file = { base64 = "aGk=", type = "image/png" } } },
      attached { type = "skill_listing", content = "- count", skillCount = 1 }, attached { type = "note" },
      says("assistant", USE), says("user", ANSWER), attached { type = "queued_command", prompt = "hurry" }, says("assistant", "done")),
    "u:The file list.txt was attached:\noars+image+see @list.txt | a:Skill(k) | u:r(k):Launching+hurry | a:done",
    { "2 attachment in other words: file", "1 attachment: skill_listing", "1 other line: attachment note",
      "1 attachment in other words: queued_command" } },
  { "Claude Code: attachments as they were rendered, for the user and for the system", "claude_code",
    claude(says("user", "q"), rendered("system", "env"), rendered("user", "one", "two"), rendered("system", "date"),
      says("assistant", USE), says("user", ANSWER), rendered("user", "beside"), says("assistant", "done")),
    "u:one+two+q | s:env+date | a:Skill(k) | u:r(k):Launching+beside | a:done", {} },
  { "Claude Code: a prompt without an answer keeps what is attached to it", "claude_code",
    claude(says("user", "q"), rendered("user", "one"), rendered("system", "env")), "u:one+q | s:env", {} },
  { "Claude Code: the system prompt and the tools of the requests", "claude_code",
    claude('{"type":"api-request-shape","sessionId":"s","shape":{"system":[{"type":"text","text":"You help."}],"tools":[{"name":"Skill","input_schema":{"type":"object"}}]}}',
      '{"type":"api-request-shape","sessionId":"s","shape":{"system":"Make a title.","tools":[]}}', says("user", "q"), says("assistant", "a")),
    "u:q | a:a", { "2 other line: api-request-shape" },
    function(result)
      assert.equal("You help.", result.system[1].text)
      assert.equal("Skill", result.tools[1].name)
    end },
  { "opencode: what a compaction kept comes after its summary, then the new words", "opencode",
    [[ {"info":{"id":"ses_9"},"messages":[{"info":{"id":"m1","role":"user"},"parts":[{"type":"text","text":"first"}]},
    {"info":{"id":"m2","role":"assistant"},"parts":[{"type":"text","text":"old"}]},
    {"info":{"id":"m3","role":"assistant"},"parts":[{"type":"text","text":"kept"},{"type":"tool","callID":"k","tool":"ls","state":{"status":"completed","input":{"p": "a"},"output":"x"}}]},
    {"info":{"id":"m4","role":"user"},"parts":[{"type":"compaction","auto":true,"tail_start_id":"m3"}]},
    {"info":{"id":"m5","role":"assistant","summary":true},"parts":[{"type":"text","text":"SUM"}]},
    {"info":{"id":"m6","role":"user"},"parts":[{"type":"text","text":"go on"}]}]} ]],
    [[u:Sum up what was done until now. | a:SUM | a:kept+ls(k){"p":"a"} | t(k):x | u:go on]],
    { "2 compacted message: a summary replaced it", "1 synthetic text: stands for a request to sum up" } },
  { "opencode: of two compactions the newest counts, and it may keep the older summary", "opencode",
    [[ {"info":{"id":"ses_9"},"messages":[{"info":{"id":"m1","role":"user"},"parts":[{"type":"text","text":"first"}]},
    {"info":{"id":"m2","role":"user"},"parts":[{"type":"compaction","tail_start_id":"m1"}]},
    {"info":{"id":"m3","role":"assistant","summary":true},"parts":[{"type":"text","text":"SUM1"}]},
    {"info":{"id":"m4","role":"assistant"},"parts":[{"type":"text","text":"work"}]},
    {"info":{"id":"m5","role":"user"},"parts":[{"type":"compaction","tail_start_id":"m3"}]},
    {"info":{"id":"m6","role":"assistant","summary":true},"parts":[{"type":"text","text":"SUM2"}]}]} ]],
    "u:Sum up what was done until now. | a:SUM2 | a:SUM1 | a:work" },
  { "opencode: a summary that failed stands between the request and the summary", "opencode",
    [[ {"info":{"id":"ses_9"},"messages":[{"info":{"id":"m1","role":"user"},"parts":[{"type":"text","text":"first"}]},
    {"info":{"id":"m2","role":"assistant"},"parts":[{"type":"text","text":"kept"}]},
    {"info":{"id":"m3","role":"user"},"parts":[{"type":"compaction","tail_start_id":"m2"}]},
    {"info":{"id":"m4","role":"assistant","summary":true,"error":{"name":"APIError"}},"parts":[]},
    {"info":{"id":"m5","role":"assistant","summary":true},"parts":[{"type":"text","text":"SUM"}]}]} ]],
    "u:Sum up what was done until now. | a:SUM | a:kept" },
  { "opencode: a tail that is not there", "opencode",
    [[ {"info":{"id":"ses_9"},"messages":[{"info":{"id":"m1","role":"user"},"parts":[{"type":"text","text":"first"}]},
    {"info":{"id":"m2","role":"user"},"parts":[{"type":"compaction","tail_start_id":"zz"}]},
    {"info":{"id":"m3","role":"assistant","summary":true},"parts":[{"type":"text","text":"SUM"}]}]} ]],
    "u:Sum up what was done until now. | a:SUM" },
  { "Cline 3: what tools gave is JSON text, words are bare, the system prompt stands first", "cline",
    [[ {"version":1,"agent":"lead","sessionId":"1_x","system_prompt":"You row.","messages":[
    {"id":"a","role":"user","content":[{"type":"text","text":"<user_input mode=\"plan\">How many oars?</user_input>"}],"ts":1},
    {"id":"b","role":"assistant","content":[{"type":"thinking","thinking":"count"},{"type":"text","text":"I count."},
      {"type":"tool_use","id":"k1","name":"run","input":{"z": 1,"a":[2]}},{"type":"tool_use","id":"k2","name":"run","input":{}}],"modelInfo":{"id":"gpt-x"}},
    {"id":"c","role":"user","content":[{"type":"tool_result","tool_use_id":"k1","content":[{"query": "ls", "result":"4", "success":true}]},
      {"type":"tool_result","tool_use_id":"k2","is_error":true,"content":"none"}]},
    {"id":"d","role":"user","content":[{"type":"tool_result","tool_use_id":"k3","content":[{"type":"text","text":"t"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]}]}]} ]],
    [[u:How many oars? | a:<count>I count.+run(k1){"z":1,"a":[2]}+run(k2){} | t(k1):[{"query":"ls","result":"4","success":true}] | ]] ..
    "t(k2):none | t(k3):t | u:image_url", nil, function(result) assert.equal("You row.", result.system) end },
  { "Cline 3: a session of a Claude model keeps Anthropic's form", "cline",
    [[ {"version":1,"agent":"lead","sessionId":"1_x","messages":[{"id":"a","role":"user","content":[{"type":"text","text":"q"}]},
    {"id":"b","role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"tool_use","id":"k","name":"run","input":{}}],"modelInfo":{"id":"claude-sonnet-4-6"}},
    {"id":"c","role":"user","content":[{"type":"tool_result","tool_use_id":"k","content":{"any":1}}]}]} ]],
    'u:q | a:<t>+run(k) | u:r(k):{"any":1}' },
  { "Gemini CLI: a result that is stored with its call and as a message counts once", "gemini_cli",
    '{"sessionId":"s","projectHash":"p","startTime":"t"}\n{"id":"1","type":"user","content":[{"text":"q"}]}\n' ..
    '{"id":"2","type":"gemini","content":"go","toolCalls":[{"id":"a","name":"ls","args":{},"result":[{"functionResponse":{"id":"a","name":"ls","response":{"output":"A"}}}]},' ..
    '{"id":"b","name":"ls","args":{"x":1},"result":[{"functionResponse":{"id":"b","name":"ls","response":{"output":"B"}}}]}]}\n' ..
    '{"id":"i","type":"info","content":"-"}\n{"id":"3","type":"user","content":[{"functionResponse":{"id":"b","name":"ls","response":{"output":"B"}}}]}\n' ..
    '{"id":"4","type":"user","content":[{"functionResponse":{"id":"b","name":"ls","response":{"output":"B"}}},{"text":"next"}]}\n{"id":"5","type":"gemini","content":"done"}\n',
    "u:q | m:go+ls(a)+ls(b) | u:r(a):A+r(b):B+next | m:done",
    { "1 other line: metadata", "1 other line: info", "1 repeated result: it is stored twice" } },
  { "Gemini CLI: calls without ids", "gemini_cli",
    '{"sessionId":"s","messages":[{"id":"2","type":"gemini","content":"","toolCalls":[{"name":"ls","args":{},"result":[{"functionResponse":{"name":"ls","response":{"output":"A"}}}]}]},' ..
    '{"id":"3","type":"user","content":[{"functionResponse":{"name":"ls","response":{"output":"A"}}}]}]}',
    "m:ls(nil) | u:r(nil):A" },
  { "Gemini CLI: a resumed session holds contents, thoughts, and results with their images twice", "gemini_cli",
    '{"sessionId":"s","projectHash":"p","startTime":"t"}\n{"$set":{"messages":[{"id":"1","type":"user","content":[{"text":"ctx"}]},{"id":"2","type":"user","content":[{"text":"q"}]},' ..
    '{"id":"3","type":"gemini","content":[{"text":"plan","thought":true},{"text":"go"},{"functionCall":{"id":"a","name":"see","args":{}}}]},' ..
    '{"id":"3","type":"user","content":[{"functionResponse":{"id":"a","name":"see","response":{"output":"A"}}},{"inlineData":{"mimeType":"image/png","data":"aGk="}}]},' ..
    '{"id":"4","type":"user","content":[{"functionResponse":{"id":"a","name":"see","response":{"output":"A"}}},{"inlineData":{"mimeType":"image/png","data":"aGk="}}]},' ..
    '{"id":"5","type":"gemini","content":[{"text":"done"}]}]}}\n',
    "u:ctx+q | m:go+see(a) | u:r(a):A+inlineData | m:done" },
  { "llama.cpp's page: an export of one chat is its current branch", "web_ui",
    [[ {"conv":{"id":"c","currNode":"n4"},"messages":[{"id":"n0","convId":"c","type":"root","role":"system","content":"","parent":null},
    {"id":"n1","convId":"c","type":"text","role":"user","content":"q","parent":"n0"},{"id":"n2","convId":"c","type":"text","role":"assistant","content":"old","parent":"n1"},
    {"id":"n3","convId":"c","type":"text","role":"assistant","content":"new","parent":"n1"},{"id":"n4","convId":"c","type":"text","role":"user","content":"r","parent":"n3"}]} ]],
    "u:q | a:new | u:r" },
  { "OpenAI Agents SDK: items as those of Responses", "openai_agents",
    [[ [{"type":"message","role":"user","content":"q"},{"type":"reasoning","id":"rs_1","content":[{"type":"input_text","text":"hm"}]},
    {"type":"function_call","callId":"k1","name":"lock","status":"completed","arguments":"{\"no\": 2}"},
    {"type":"function_call","callId":"k2","name":"tide","status":"completed","arguments":"{}"},
    {"type":"function_call_result","callId":"k1","name":"lock","status":"completed","output":{"type":"text","text":"open"}},
    {"type":"function_call_result","callId":"k2","name":"tide","status":"completed","output":"low"},
    {"role":"assistant","type":"message","status":"completed","content":[{"type":"output_text","text":"a"}]}] ]],
    "u:q | reasoning | lock(k1) | tide(k2) | r(k1):open | r(k2):low | a:a", {} },
  { "OpenAI Agents SDK: no calls, and reasoning in its own form", "openai_agents",
    [[ [{"role":"user","content":"q"},{"type":"reasoning","content":[{"type":"input_text","text":"hm"}]},{"role":"assistant","content":[{"type":"output_text","text":"a"}]}] ]],
    "u:q | reasoning | a:a", {}, function(result) assert.equal("hm", result.messages[2].summary[1].text) end },
  { "Mastra: rows in JSONL", "mastra",
    '{"id":"1","thread_id":"t","role":"user","type":"v2","content":"{\\"format\\":2,\\"parts\\":[{\\"type\\":\\"text\\",\\"text\\":\\"q\\"}]}"}\n' ..
    '{"id":"2","thread_id":"t","role":"assistant","type":"v2","content":"{\\"format\\":2,\\"parts\\":[{\\"type\\":\\"text\\",\\"text\\":\\"a\\"}]}"}\n',
    "u:q | a:a", {} },
  { "OpenAI Agents SDK: images and files, results of parts, tools of the provider", "openai_agents",
    [[ {"history":[{"role":"user","content":[{"type":"input_image","image":"https://a.example/x"},{"type":"input_image","image":{"id":"f1"}},
      {"type":"input_file","file":{"url":"https://a.example/y"},"filename":"y"},{"type":"audio","audio":"UklGRg==","format":"wav"}]},
    {"type":"function_call","callId":"k","name":"see","arguments":"{}"},
    {"type":"function_call_result","callId":"k","name":"see","status":"completed","output":[{"type":"input_text","text":"r"},{"type":"input_image","image":"data:image/png;base64,aGk="}]},
    {"type":"hosted_tool_call","id":"ws_1","name":"web_search_call","providerData":{"type":"web_search_call","action":{"type":"search","query":"x"}}},
    {"type":"hosted_tool_call","name":"gone"},
    {"type":"shell_call","callId":"s","action":{"commands":["ls"],"timeoutMs":5}}]} ]],
    nil, { "1 other item: hosted_tool_call: what the provider said of it is missing" },
    function(result)
      local list = result.messages
      assert.same({ image_url = "https://a.example/x", type = "input_image" }, list[1].content[1])
      assert.same({ file_id = "f1", type = "input_image" }, list[1].content[2])
      assert.same({ file_url = "https://a.example/y", filename = "y", type = "input_file" }, list[1].content[3])
      assert.equal("data:image/png;base64,aGk=", list[3].output[2].image_url)
      assert.equal("web_search_call", list[4].type)
      assert.equal(5, list[5].action.timeout_ms)
    end },
  { "Mastra: a tool's call and result, steps, a failed and a denied call", "mastra",
    [[ [{"id":"1","role":"user","threadId":"t","resourceId":"r","content":{"format":2,"content":"q","parts":[{"type":"text","text":"q"}],
      "experimental_attachments":[{"name":"x.png","contentType":"image/png","url":"data:image/png;base64,iVBORw0KGgo="}]}},
    {"id":"2","role":"assistant","threadId":"t","resourceId":"r","content":{"format":2,"content":"last","parts":[{"type":"reasoning","reasoning":"hm","details":[{"type":"text","text":"hm"}]},
      {"type":"text","text":"I look."},{"type":"tool-invocation","toolInvocation":{"state":"result","toolCallId":"k1","toolName":"lock","args":{"no": 2},"result":{"open": true}}},
      {"type":"tool-invocation","toolInvocation":{"state":"output-error","toolCallId":"k2","toolName":"lock","args":{},"errorText":"jammed"}},
      {"type":"tool-invocation","toolInvocation":{"state":"approval-responded","toolCallId":"k3","toolName":"tide","args":{},"approval":{"id":"p","approved":false,"reason":"no"}}},
      {"type":"text","text":"last"}]}},
    {"id":"3","role":"user","threadId":"t","resourceId":"r","content":{"format":2,"content":"only this","parts":[]}}] ]],
    [[u:q+image_url | a:<hm>I look.+lock(k1){"no":2}+lock(k2){}+tide(k3){} | t(k1):{"open":true} | t(k2):jammed | t(k3):no | a:last | u:only this]], {} },
  { "Mastra: calls of two steps without a mark between them", "mastra",
    [[ {"messages":[{"id":"2","role":"assistant","threadId":"t","content":{"format":2,"parts":[
      {"type":"tool-invocation","toolInvocation":{"state":"result","step":0,"toolCallId":"k1","toolName":"f","args":{},"result":"1"}},
      {"type":"tool-invocation","toolInvocation":{"state":"result","step":1,"toolCallId":"k2","toolName":"f","args":{},"result":"2"}}]}}]} ]],
    "a:f(k1){} | t(k1):1 | a:f(k2){} | t(k2):2", {} },
  { "Mastra: rows of its table, of both versions", "mastra",
    [[ [{"id":"1","thread_id":"t","role":"user","type":"v2","resourceId":"r","content":"{\"format\":2,\"parts\":[{\"type\":\"text\",\"text\":\"q\"}]}"},
    {"id":"2","thread_id":"t","role":"assistant","type":"v2","resourceId":"r","content":"{\"format\":2,\"content\":\"b\",\"parts\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"tool-invocation\",\"toolInvocation\":{\"state\":\"result\",\"toolCallId\":\"k\",\"toolName\":\"f\",\"args\":{},\"result\":[1, 2]}},{\"type\":\"text\",\"text\":\"b\"}]}"},
    {"id":"3","thread_id":"t","role":"assistant","type":"tool-call","content":"[{\"type\":\"tool-call\",\"toolCallId\":\"j\",\"toolName\":\"f\",\"args\":{}}]"},
    {"id":"4","thread_id":"t","role":"tool","type":"tool-result","content":"[{\"type\":\"tool-result\",\"toolCallId\":\"j\",\"toolName\":\"f\",\"result\":\"o\"}]"},
    {"id":"5","thread_id":"t","role":"user","type":"text","content":"plain"}] ]],
    "u:q | a:a+f(k){} | t(k):[1,2] | a:b | a:f(j){} | t(j):o | u:plain", {} },
  { "Qwen Code: contents, results of parallel calls, another branch", "qwen_code",
    '{"uuid":"a","parentUuid":null,"sessionId":"s","type":"user","message":{"role":"user","parts":[{"text":"q"}]}}\n' ..
    '{"uuid":"t","parentUuid":"a","sessionId":"s","type":"system","subtype":"ui_telemetry","systemPayload":{}}\n' ..
    '{"uuid":"b","parentUuid":"t","sessionId":"s","type":"assistant","model":"m","message":{"role":"model","parts":[{"text":"go"},{"functionCall":{"id":"k1","name":"ls","args":{}}},{"functionCall":{"id":"k2","name":"ls","args":{}}}]}}\n' ..
    '{"uuid":"x","parentUuid":"a","sessionId":"s","type":"assistant","message":{"role":"model","parts":[{"text":"other"}]}}\n' ..
    '{"uuid":"c","parentUuid":"b","sessionId":"s","type":"tool_result","message":{"role":"user","parts":[{"functionResponse":{"id":"k1","name":"ls","response":{"output":"A"}}}]}}\n' ..
    '{"uuid":"d","parentUuid":"c","sessionId":"s","type":"tool_result","message":{"role":"user","parts":[{"functionResponse":{"id":"k2","name":"ls","response":{"output":"B"}}}]}}\n' ..
    '{"uuid":"e","parentUuid":"d","sessionId":"s","type":"assistant","message":{"role":"model","parts":[{"text":"done"}]}}\n',
    "u:q | a:go+ls(k1){}+ls(k2){} | t(k1):A | t(k2):B | a:done",
    { "1 other line: ui_telemetry", "1 inactive line: another branch" } },
  { "Qwen Code: a compression replaces what stands before it", "qwen_code",
    '{"uuid":"a","parentUuid":null,"sessionId":"s","type":"user","message":{"role":"user","parts":[{"text":"old"}]}}\n' ..
    '{"uuid":"b","parentUuid":"a","sessionId":"s","type":"system","subtype":"chat_compression","systemPayload":{"compressedHistory":[{"role":"user","parts":[{"text":"SUM"}]},{"role":"model","parts":[{"text":"ok"}]}]}}\n' ..
    '{"uuid":"c","parentUuid":"b","sessionId":"s","type":"user","message":{"role":"user","parts":[{"text":"new"}]}}\n',
    "u:SUM | a:ok | u:new", { "1 compacted message: a compression replaced it" } },
  { "Copilot: events, the text that the model got, a failed tool, a subagent", "copilot",
    '{"type":"session.start","data":{"sessionId":"s","selectedModel":"m1"},"id":"1"}\n' ..
    '{"type":"user.message","data":{"content":"q","transformedContent":"<now>t</now> q","attachments":[{"type":"file","path":"x"}]},"id":"2"}\n' ..
    '{"type":"system.message","data":{"role":"system","content":"You row."},"id":"3"}\n' ..
    '{"type":"assistant.message","data":{"content":"go","toolRequests":[{"toolCallId":"k1","name":"ls","arguments":{"z": 1,"a":2}},{"toolCallId":"k2","name":"rm","arguments":{}}]},"id":"4"}\n' ..
    '{"type":"assistant.message","data":{"content":"inner","toolRequests":[],"parentToolCallId":"k1"},"id":"5"}\n' ..
    '{"type":"tool.execution_complete","data":{"toolCallId":"k2","success":false,"error":{"message":"denied","code":"x"}},"id":"6"}\n' ..
    '{"type":"tool.execution_complete","data":{"toolCallId":"k1","success":true,"result":{"content":"A","detailedContent":"long"}},"id":"7"}\n' ..
    '{"type":"assistant.message","data":{"content":"wrong","toolRequests":[]},"id":"8"}\n{"type":"session.snapshot_rewind","data":{"upToEventId":"8","eventsRemoved":1},"id":"9"}\n' ..
    '{"type":"assistant.message","data":{"content":"done"},"id":"10"}\n',
    [[u:<now>t</now> q | a:go+ls(k1){"z":1,"a":2}+rm(k2){} | t(k2):denied | t(k1):A | a:done]],
    { "1 sidechain line: of a subagent", "1 retracted event: a rewind", "1 attachment: file: its text is not in the event" },
    function(result) assert.equal("You row.", result.system) end },
  { "Copilot: tool requests that are no objects", "copilot",
    '{"type":"session.start","data":{"sessionId":"s","selectedModel":"m1"},"id":"1"}\n' ..
    '{"type":"user.message","data":{"content":"q"},"id":"2"}\n' ..
    '{"type":"assistant.message","data":{"content":"","toolRequests":[null,5]},"id":"3"}\n' ..
    '{"type":"assistant.message","data":{"content":"","toolRequests":["x",{"toolCallId":"k","name":"ls","arguments":"{}"}]},"id":"4"}\n',
    "u:q | a:ls(k){}", { "3 other tool request: not an object", "1 empty message: without text or calls",
      "1 open call: it has no result" } },
  { "Codex: custom tools, and members that are its own", "codex",
    '{"timestamp":"t","type":"session_meta","payload":{"id":"s","dynamic_tools":[{"type":"custom","name":"patch","format":{"type":"grammar","syntax":"lark","definition":"x"}},{"name":"f","inputSchema":{"type":"object"}}]}}\n' ..
    '{"timestamp":"t","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"q"}],"internal_chat_message_metadata_passthrough":{"turn_id":"1"}}}\n' ..
    '{"timestamp":"t","type":"response_item","payload":{"type":"custom_tool_call","call_id":"c","name":"patch","input":"*** Begin","internal_chat_message_metadata_passthrough":{"a":[1]}}}\n' ..
    '{"timestamp":"t","type":"response_item","payload":{"type":"custom_tool_call_output","call_id":"c","output":"ok"}}\n',
    "u:q | custom_tool_call | custom_tool_call_output", nil,
    function(result)
      assert.is_nil(kit.import.body(result):find("internal_chat", 1, true))
      assert.equal("grammar", result.tools[1].format.type)
      assert.equal("function", result.tools[2].type)
    end },
  { "pi: summaries stand in a frame that says what they are", "pi",
    '{"type":"session","version":3,"id":"s","cwd":"p"}\n{"type":"message","id":"1","parentId":null,"message":{"role":"user","content":"q"}}\n' ..
    '{"type":"compaction","id":"2","parentId":"1","summary":"A list.","firstKeptEntryId":"2"}\n{"type":"branch_summary","id":"3","parentId":"2","summary":"A try."}\n',
    "u:What was said before, as a summary:\n\n<summary>\nA list.\n</summary> | " ..
    "u:What was tried on another branch of this conversation, as a summary:\n\n<summary>\nA try.\n</summary>" },
}

local WORDS = { openai = kit.openai, anthropic = kit.anthropic, gemini = kit.gemini, responses = kit.responses }

describe("a file of another program:", function()
  for _, row in ipairs(ROWS) do
    it(row[1], function()
      local name, input, expected, report = row[2], row[3], row[4], row[5]
      local result = kit.read(name, input)

      if expected then assert.equal(expected, WORDS[result.dialect](result)) end
      if report then assert.same(report, kit.report(result)) end
      if row[6] then row[6](result) end
      assert(ebb.parse(kit.import.body(result)))
    end)
  end
end)

describe("commands read such files without being asked to:", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  for _, row in ipairs(ROWS) do
    it(row[1], function()
      local path = command.file("file", row[3])
      local run = command.ebb("inspect " .. path)

      assert.equal(0, run.status, run.err)
      command.contains("read as ", run.err)
    end)
  end
end)

---- What is lost ----

describe("what an import leaves out", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  it("is named, and refused by --strict where a model got it", function()
    local path = command.file("list.json", '[{"role":"user","content":[{"type":"file","mediaType":"application/pdf",' ..
      '"data":{"type":"reference","reference":{"a":"b"}}},{"type":"text","text":"q"},{"type":"custom","kind":"k"}]}]')

    local _, told = command.does(("convert %s --to openai"):format(path))
    command.contains("1 message, 1 file, 1 other block (custom)", told)
    local run = command.ebb(("convert %s --to openai --strict"):format(path))
    assert.equal(command.REFUSED, run.status)
    assert.equal("", run.out)
    command.contains("the import leaves out 1 file, 1 other block (custom)", run.err)
  end)

  it("is no loss where the program itself does not send it", function()
    local path = command.file("s.jsonl", claude('{"type":"mode","mode":"x"}', '{"type":"tag"}', says("user", "q")))

    local _, told = command.does(("convert %s --to anthropic --strict"):format(path))
    command.contains("1 message, 2 other lines (mode, tag)", told)
  end)

  it("is refused where it is all", function()
    local path = command.file("s.jsonl", claude(says("user", { { odd = 1 } }), says("assistant", json.array {})))
    local problem = command.fails(command.REFUSED, ("convert %s --to openai"):format(path))
    assert.truthy(problem:find("expected a type", 1, true) or problem:find("no message is understood", 1, true), problem)

    path = command.file("t.jsonl", '{"uuid":"a","parentUuid":null,"sessionId":"s","type":"user","message":{"role":"user","text":"q"}}\n')
    command.contains("no message is understood as one of a Claude Code session (1 empty message: without text or blocks)",
      command.fails(command.REFUSED, ("convert %s --to openai"):format(path)))
  end)
end)

---- Unknown forms ----

--- A list that is in no form of a provider's, and in none that is known: refused, whatever the command.
local UNKNOWN = {
  ["a call of another library"] =
    '[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_call","id":"c","name":"f","args":{}}]}]',
  ["parts without a type"] =
    '[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"c","name":"f","input":{}}}]}]',
  ["a result that names its call in another way"] =
    '[{"role":"user","content":"q"},{"role":"tool","content":[{"type":"answer","callId":"c","value":"r"}]}]',
  ["JSONL of such messages"] =
    '{"role":"user","content":"q"}\n{"role":"assistant","content":[{"type":"functionCall","name":"f"}]}\n',
  ["a body of such messages"] =
    '{"model":"gpt-4o","messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"toolResult","id":"c"}]}]}',
  ["parts without a type in a result"] =
    '{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]},' ..
    '{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"query":"x","result":"y"}]}]}]}',
}

describe("a list in no known form", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  for name, input in pairs(UNKNOWN) do
    it("is refused, with its place and what it looks like: " .. name, function()
      local path = command.file("chat.json", input)

      for _, words in ipairs { "convert --to openai", "trim --budget 100", "inspect", "check", "count" } do
        local problem = command.fails(command.REFUSED, words .. " " .. path)
        assert.truthy(problem:find("expected a", 1, true), problem)
        assert.truthy(problem:find("fits no known form", 1, true), problem)
        assert.is_nil(problem:find("--lenient", 1, true))
      end
      assert.is_nil((ebb.parse(input)))
    end)
  end

  it("is none where reasoning is in a request's own form", function()
    for _, body in ipairs {
      '{"model":"gpt-oss","input":[{"role":"user","content":"q"},{"type":"reasoning","content":[{"type":"reasoning_text","text":"h"}]}]}',
      '[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"reasoning","text":"h"},{"type":"text","text":"a"}]}]',
    } do
      local _, told = command.does("inspect " .. command.file("body.json", body))
      assert.is_nil(told:find("read as", 1, true), told)
    end
  end)

  it("is none where a part is only unknown: such parts are kept", function()
    local body = '[{"role":"user","content":[{"type":"video_url","video_url":{"url":"https://a.example"}},' ..
      '{"type":"tool_reference","tool_name":"f"},{"type":"tool-approval-note","toolCallId":"c"}]},{"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"w","input":{}},' ..
      '{"type":"web_search_tool_result","tool_use_id":"s","content":[]}]}]'

    assert.equal(body, (assert(ebb.parse(body)):json()))
  end)
end)
