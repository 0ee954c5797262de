-- luacheck: ignore 631 (rows and answers of providers stay whole)
--- Models by HTTP: a provider on loopback speaks each dialect, fails in every way, and nothing is lost.

local command = dofile "tests/lua/command.lua"
local helper = dofile "tests/lua/helper.lua"
local core = require "ebb.support.core"
local answers = require "ebb.provider.answer"
local events = require "ebb.provider.events"
local json = core.json

local has_python = os.execute "python3 -c 'import http.server' 2>/dev/null" == true
local provider_it = has_python and it or function(title)
  pending(title .. " (python3, which plays the provider, is missing)")
end

local path_of, file = command.path_of, command.file
local last_server = 0

--- Starts a provider that gives these answers; its address, and what it was asked.
local function serve(list)
  last_server = last_server + 1
  local name = path_of("server" .. last_server)
  file("server" .. last_server .. ".script", json.encode(json.array(list)))
  os.execute(("python3 tests/lua/loopback.py %s.script %s.port %s.log </dev/null >%s.out 2>&1 &"):format(name, name, name,
    name))
  local port
  for _ = 1, 600 do
    port = command.read(name .. ".port")
    if port then break end
    os.execute "sleep 0.05"
  end
  assert(port, command.read(name .. ".out"))
  return "http://127.0.0.1:" .. port, function()
    local asked = {}
    for line in (command.read(name .. ".log") or ""):gmatch "[^\n]+" do asked[#asked + 1] = json.decode(line) end
    return asked
  end
end

local KEYS = "env -u EBB_API_KEY -u EBB_BASE_URL OPENAI_API_KEY=sk-test ANTHROPIC_API_KEY=ak-test GEMINI_API_KEY=gk-test "

local FLOW = [[return {
  tools = { { name = "add", description = "Adds.", parameters = "a:number, b:number",
    run = function(arguments) return arguments.a + arguments.b end } },
  nodes = { { type = "loop", stop_when = { answered = true }, nodes = {
    { type = "model", model = "%s", dialect = "%s", back_off = 0.01, timeout = 60, idle = 60 %s }, { type = "tool" } } } },
}]]

local CHAT = '[{"role":"system","content":"S"},{"role":"user","content":"2 and 3?"}]'

local function run(model, dialect, address, options, more)
  file("flow.lua", FLOW:format(model, dialect, options or ""))
  file("chat.json", CHAT)
  command.environment = KEYS
  local result = command.ebb(("run %s %s --base-url %s %s"):format(path_of "flow.lua", path_of "chat.json", address,
    more or ""))
  command.environment = nil
  return result
end

---- The same conversation in each dialect: a call, then an answer ----

local DIALECTS = {
  openai = {
    model = "gpt-4o", path = "/chat/completions", key = { "Authorization", "Bearer sk-test" },
    whole = {
      { body = { choices = { { finish_reason = "tool_calls", message = { role = "assistant", content = json.null,
        tool_calls = { { id = "call_1", type = "function", ["function"] = { name = "add", arguments = '{"a":2,"b":3}' } } } } } },
        usage = { prompt_tokens = 30, completion_tokens = 9 } } },
      { body = { choices = { { finish_reason = "stop", message = { role = "assistant", content = "It is 5." } } } } },
    },
    stream = {
      { events = {
        'data: {"choices":[{"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_1","type":"function",',
        '"function":{"name":"add","arguments":""}}]}}]}\n\ndata: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":',
        '{"arguments":"{\\"a\\":2,"}}]}}]}\r\n\r\n: a comment\n\ndata: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":',
        '{"arguments":"\\"b\\":3}"}}]},"finish_reason":null}]}\n\ndata: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}\n\n',
        "data: [DONE]\n\n" } },
      { events = { 'data: {"choices":[{"delta":{"content":"It "}}]}\n\n', 'data: {"choices":[{"delta":{"content":"is 5."}}]}\n\n',
        'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: {"choices":[],"usage":{"prompt_tokens":40}}\n\n',
        "data: [DONE]\n\n" } },
    },
  },
  responses = {
    model = "gpt-4o", path = "/responses", key = { "Authorization", "Bearer sk-test" },
    whole = {
      { body = { status = "completed", output = { { type = "function_call", id = "fc_1", call_id = "call_1", name = "add",
        arguments = '{"a":2,"b":3}', status = "completed" } } } },
      { body = { status = "completed", output = { { type = "message", id = "msg_1", role = "assistant", status = "completed",
        content = { { type = "output_text", text = "It is 5.", annotations = json.array {} } } } } } },
    },
    stream = {
      { events = { 'event: response.created\ndata: {"type":"response.created","response":{"output":[]}}\n\n',
        'event: response.completed\ndata: {"type":"response.completed","response":{"status":"completed","output":[{"type":'
        .. '"function_call","id":"fc_1","call_id":"call_1","name":"add","arguments":"{\\"a\\":2,\\"b\\":3}","status":"completed"}]}}\n\n' } },
      { events = { 'data: {"type":"response.output_text.delta","delta":"It is "}\n\n',
        'data: {"type":"response.output_text.delta","delta":"5."}\n\n',
        'data: {"type":"response.completed","response":{"status":"completed","output":[{"type":"message","id":"msg_1","role":'
        .. '"assistant","status":"completed","content":[{"type":"output_text","text":"It is 5.","annotations":[]}]}]}}\n\n' } },
    },
  },
  anthropic = {
    model = "claude-sonnet-4-5", path = "/v1/messages", key = { "X-Api-Key", "ak-test" },
    whole = {
      { body = { type = "message", role = "assistant", stop_reason = "tool_use", content = { { type = "tool_use",
        id = "toolu_1", name = "add", input = { a = 2, b = 3 } } }, usage = { input_tokens = 30, output_tokens = 9 } } },
      { body = { type = "message", role = "assistant", stop_reason = "end_turn",
        content = { { type = "text", text = "It is 5." } } } },
    },
    stream = {
      { events = { 'event: message_start\ndata: {"type":"message_start","message":{"type":"message","role":"assistant",'
        .. '"content":[],"usage":{"input_tokens":30}}}\n\n',
        'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use",'
        .. '"id":"toolu_1","name":"add","input":{}}}\n\n',
        'event: ping\ndata: {"type":"ping"}\n\n',
        'data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\\"a\\":2,"}}\n\n',
        'data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"\\"b\\":3}"}}\n\n',
        'data: {"type":"content_block_stop","index":0}\n\n',
        'data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}\n\n',
        'data: {"type":"message_stop"}\n\n' } },
      { events = { 'data: {"type":"message_start","message":{"type":"message","role":"assistant","content":[]}}\n\n',
        'data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n',
        'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"It is "}}\n\n',
        'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"5."}}\n\n',
        'data: {"type":"content_block_stop","index":0}\n\n',
        'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\ndata: {"type":"message_stop"}\n\n' } },
    },
  },
  gemini = {
    model = "gemini-2.5-flash", path = "/models/gemini-2.5-flash:generateContent", key = { "X-Goog-Api-Key", "gk-test" },
    stream_path = "/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
    whole = {
      { body = { candidates = { { finishReason = "STOP", content = { role = "model", parts = { { functionCall =
        { name = "add", args = { a = 2, b = 3 } } } } } } }, usageMetadata = { promptTokenCount = 30 } } },
      { body = { candidates = { { finishReason = "STOP", content = { role = "model", parts = { { text = "It is 5." } } } } } } },
    },
    stream = {
      { events = { 'data: {"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"add","args":'
        .. '{"a":2,"b":3}}}]}}]}\r\n\r\n', 'data: {"candidates":[{"content":{"parts":[{"text":""}]},"finishReason":"STOP"}]}\r\n\r\n' } },
      { events = { 'data: {"candidates":[{"content":{"role":"model","parts":[{"text":"It is "}]}}]}\r\n\r\n',
        'data: {"candidates":[{"content":{"role":"model","parts":[{"text":"5."}]},"finishReason":"STOP"}]}\r\n\r\n' } },
    },
  },
}

--- The end of a conversation as it was written: the call, its result, the answer.
local function check_outcome(result, label)
  assert.equal(0, result.status, label .. "\n" .. result.err)
  local chat = assert(helper.ebb.parse(result.out))
  assert.equal(5, #chat)
  assert.same({ "add", "5", "It is 5." }, { chat[3].calls[1].name, chat[4].text, chat[5].text })
  assert.equal(chat[3].calls[1].id, chat[4].answers[1])
  assert.same({}, (chat:check "openai"))
end

for _, dialect in ipairs { "openai", "responses", "anthropic", "gemini" } do
  describe("a provider of " .. dialect, function()
    local spoken = DIALECTS[dialect]
    before_each(command.make_folder)
    after_each(command.remove_folder)

    provider_it("plays a tool loop", function()
      local address, asked = serve(spoken.whole)
      check_outcome(run(spoken.model, dialect, address), dialect)
      local list = asked()
      assert.equal(2, #list)
      assert.equal(spoken.path, list[1].path)
      local name, value = table.unpack(spoken.key)
      for header, word in pairs(list[1].headers) do
        if header:lower() == name:lower() then assert.equal(value, word) value = nil end
      end
      assert.is_nil(value)
      assert.is_nil(list[1].body.stream)
      assert.equal(dialect ~= "gemini" and spoken.model or nil, list[1].body.model)
      assert.truthy(json.encode(list[1].body.tools):find("Adds.", 1, true))
      assert.truthy(json.encode(list[2].body):find("add", 1, true))
    end)

    provider_it("streams it", function()
      local address, asked = serve(spoken.stream)
      local result = run(spoken.model, dialect, address, nil, "--stream")
      check_outcome(result, dialect .. " streamed")
      command.contains("It is 5.\n", result.err)
      local first = asked()[1]
      assert.equal(spoken.stream_path or spoken.path, first.path)
      if dialect ~= "gemini" then assert.is_true(first.body.stream) end
    end)

    provider_it("is asked again when it is busy, broken, cut or slow", function()
      local last = spoken.whole[2]
      local address, asked = serve {
        { status = 429, headers = { ["Retry-After"] = "0" }, body = { error = { message = "slow down" } } },
        { status = 500, body = "oops" }, { status = 503, body = { error = { message = "overloaded", type = "x" } } },
        { status = 200, body = last.body, cut = 20 }, last,
      }
      local result = run(spoken.model, dialect, address)
      assert.equal(0, result.status, result.err)
      assert.equal(5, #asked())
      for _, words in ipairs { "HTTP 429: slow down", "HTTP 500: oops", "overloaded", "the connection broke" } do
        command.contains(words, result.err)
      end
      assert.equal("It is 5.", assert(helper.ebb.parse(result.out))[3].text)
    end)

    provider_it("is asked again when its stream is cut", function()
      local first = spoken.stream[2]
      local cut = { events = { first.events[1], first.events[2] }, headers = { ["Content-Length"] = "99999" } }
      if dialect == "gemini" then cut.events[2] = nil end
      local address = serve { cut, first }
      local result = run(spoken.model, dialect, address, nil, "--stream")
      assert.equal(0, result.status, result.err)
      assert.equal("It is 5.", assert(helper.ebb.parse(result.out))[3].text)
    end)
  end)
end

describe("a provider that fails", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  local OPENAI = DIALECTS.openai.whole
  local cases = {
    -- what it does, answers, options, words
    { "refuses", { { status = 401, body = { error = { message = "bad key", type = "auth" } } } }, "", "HTTP 401: auth: bad key" },
    { "is not JSON", { { body = "{]" }, { body = "{]" } }, ", retries = 1", "the answer is not JSON" },
    { "is a page", { { body = "<html>hello</html>", headers = { ["Content-Type"] = "text/html" } } }, "",
      "the answer is text/html, not JSON: <html>hello" },
    { "answers an error with 200", { { body = { error = { message = "no credit" } } } }, "", "no credit" },
    { "has no choices", { { body = { choices = json.array {} } } }, "", "it has no choices[1].message" },
    { "is empty", { { body = { choices = { { finish_reason = "length", message = { role = "assistant", content = "" } } } } } },
      ', on_cut = "fail"', "cut off (length)" },
    { "has moved", { { status = 302, headers = { Location = "http://elsewhere" }, body = "" } }, "",
      "the address has moved to http://elsewhere" },
    { "wants to be asked tomorrow", { { status = 429, headers = { ["Retry-After"] = "86400" }, body = "" } }, "",
      "it wants to be asked again in 86400 seconds" },
    { "hangs", { { body = "x", pause = 20 } }, ", retries = 0, timeout = 0.3", "no answer in time" },
    { "has a long head", { { raw = "HTTP/1.1 200 OK\r\n" .. ("X-Filler: " .. ("x"):rep(1000) .. "\r\n"):rep(400) } }, "",
      "too much: the head of its answer is longer than 256 KiB" },
    { "has an endless line in its head", { { raw = "HTTP/1.1 200 OK\r\nX-Endless: " .. ("x"):rep(1 << 20) } }, "",
      "too much: a line in the head of its answer is longer than libcurl takes (100 KiB)" },
    { "echoes the key", { { status = 400, body = { error = { message = "bad: Authorization: Bearer sk-test" } } } }, "",
      "HTTP 400: bad: Authorization: Bearer [key]" },
    { "speaks no HTTP", { { raw = "hello\r\n" } }, ", retries = 0", "connection broke" },
  }
  for _, case in ipairs(cases) do
    provider_it(case[1] .. ": exit code 7, nothing is written", function()
      file("flow.lua", FLOW:format("gpt-4o", "openai", case[3]))
      local chat = file("chat.json", CHAT)
      local address = serve(case[2])
      command.environment = KEYS
      local result = command.ebb(("run %s %s --base-url %s"):format(path_of "flow.lua", chat, address))
      command.environment = nil
      assert.same({ command.IO, "" }, { result.status, result.out })
      command.contains(case[4], result.err)
      assert.equal(case[1] == "is not JSON", result.err:find("; asked again in", 1, true) ~= nil, result.err)
      command.contains("flow.lua: node 1.nodes[1] (model): ", result.err)
    end)
  end

  it("does not exist, or there is no key", function()
    local flow = file("flow.lua", "return { type = 'model', model = 'gpt-4o', retries = 0 }")
    local chat = file("chat.json", CHAT)
    command.environment = KEYS
    command.contains("no connection", command.fails(command.IO, ("run %s %s --base-url http://127.0.0.1:1"):format(flow, chat)))
    command.environment = "env -u OPENAI_API_KEY -u EBB_API_KEY -u EBB_BASE_URL -u OPENAI_BASE_URL "
    local err = command.fails(command.IO, ("run %s %s"):format(flow, chat))
    command.contains("EBB_API_KEY or OPENAI_API_KEY is not set", err)
    command.contains("hint: export OPENAI_API_KEY=...", err)
    for _, key in ipairs { "sk\\nX-Other: 1", "sk\\t1", "sk\\r" } do
      command.environment = ('env -u EBB_API_KEY -u EBB_BASE_URL OPENAI_API_KEY="$(printf \'%sx\')" '):format(key)
      command.contains("the key in OPENAI_API_KEY has a control character",
        command.fails(command.IO, ("run %s %s --base-url http://127.0.0.1:1"):format(flow, chat)))
    end
    command.environment = nil
    command.contains("expected http:// or https://", command.fails(command.USAGE, ("run %s %s --base-url ftp://x"):format(flow, chat)))
  end)

  provider_it("is recorded and replayed, byte for byte", function()
    local address = serve(OPENAI)
    local result = run("gpt-4o", "openai", address, nil, "--record " .. path_of "tape.jsonl")
    check_outcome(result, "recorded")
    local tape = command.read(path_of "tape.jsonl")
    assert.is_nil(tape:find("sk-test", 1, true))
    local words = ("run %s %s --replay-model %s"):format(path_of "flow.lua", path_of "chat.json", path_of "tape.jsonl")
    assert.equal(result.out, (command.does(words)))
    command.contains("is there already", command.fails(command.USAGE, (words:gsub("replay%-model", "record"))))
    file("chat.json", (CHAT:gsub("2 and 3", "2 and 4")))
    local err = command.fails(command.IO, words)
    command.contains("tape.jsonl:1: another request: ", err)
    file("tape.jsonl", tape:match "^[^\n]*\n")
    file("chat.json", CHAT)
    command.contains("has 1 answers, and the run asks once more", command.fails(command.IO, words))
    file("tape.jsonl", "{}\n")
    command.contains("tape.jsonl:1: expected an object", command.fails(command.REFUSED, words))
  end)
end)

describe("a command as the model", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  it("reads the request, and answers a text or a response", function()
    local chat = file("chat.json", CHAT)
    file("flow.lua", "return { type = 'model', model = 'gpt-4o' }")
    local words = ("run %s %s --model-command "):format(path_of "flow.lua", chat)
    local out = command.does(words .. ("'cat >%s; echo hello'"):format(path_of "asked.json"))
    assert.equal("hello", assert(helper.ebb.parse(out))[3].text)
    assert.equal("gpt-4o", json.decode(command.read(path_of "asked.json")).model)
    out = command.does(words .. [['echo "{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"hi\"}}]}"']])
    assert.equal("hi", assert(helper.ebb.parse(out))[3].text)
    command.contains("the command failed: it failed with exit status 3", command.fails(command.IO, words .. "'exit 3'"))
    command.contains("the answer is empty", command.fails(command.IO, words .. "true"))
  end)
end)

describe("tools that are programs", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  local function flow(tool, arguments, name)
    file("model.sh", ([[if [ -e %s ]; then cat >/dev/null; echo done; else touch %s; cat >/dev/null
      cat <<'END'
{"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"%s","arguments":%s}}]}}]}
END
      fi]]):format(path_of "mark", path_of "mark", name or "echo", json.encode(arguments)))
    file("flow.lua", ([[return { tools = { %s }, nodes = { { type = "loop", stop_when = { answered = true }, nodes = {
      { type = "model", model = "gpt-4o" }, { type = "tool" } } } } }]]):format(tool))
    os.remove(path_of "mark")
    return ("run %s %s --model-command 'sh %s'"):format(path_of "flow.lua", file("chat.json", CHAT), path_of "model.sh")
  end

  local function result_of(...)
    return assert(helper.ebb.parse((command.does(flow(...)))))[4].text
  end

  it("read the call as JSON", function()
    assert.equal('{"arguments":{"x":1},"id":"c","name":"echo"}\n', result_of('{ name = "echo", command = "cat" }', '{"x":1}'))
    assert.equal("error: it failed with exit status 4", result_of('{ name = "echo", command = "exit 4" }', "{}"))
    assert.equal("error: it took too long", result_of('{ name = "echo", command = "sleep 20", timeout = 0.2 }', "{}"))
  end)

  local function server(way) return ("%s run tests/lua/mcp_server.lua %s"):format(command.EBB, way) end

  it("may be servers of the Model Context Protocol", function()
    local tool = ('{ mcp = "%s" }'):format(server "good")
    assert.equal("echo: hä", result_of(tool, '{"text":"hä"}'))
    assert.equal("error: it cannot", result_of(tool, "{}", "fails"))
    assert.equal("one\n[image, image/png, 3 bytes: not shown]\ntwo", result_of(tool, "{}", "parts"))
    assert.equal("echo: x", result_of(('{ mcp = "%s", only = { "echo" }, prefix = "my_" }'):format(server "good"),
      '{"text":"x"}', "my_echo"))
    assert.matches("there is no tool 'fails'", result_of(('{ mcp = "%s", only = { "echo" } }'):format(server "good"), "{}",
      "fails"))
  end)

  local ways = {
    { "hangs", "it took too long (tools/call)" }, { "dies", "it has ended (tools/call)" },
    { "floods", "none of them answers tools/call" }, { "lies", "it took too long (tools/call)" },
    { "refuses", "tools/call: not today" }, { "garbage", "its line is not JSON: byte 1: expected null (tools/call)" },
  }
  for _, case in ipairs(ways) do
    it("survive a server that " .. case[1], function()
      local result
      -- A busy machine starts the server late.
      for _, seconds in ipairs(case[2]:find "too long" and { 1, 10, 30 } or { 60 }) do
        result = command.ebb(flow(('{ mcp = "%s", timeout = %d }'):format(server(case[1]), seconds), '{"text":"x"}'))
        if result.status == 0 then break end
      end
      assert.equal(0, result.status, result.err)
      assert.matches(case[2], assert(helper.ebb.parse(result.out))[4].text, 1, true)
    end)
  end

  --- The reference server with every kind of tool: EBB_MCP_EVERYTHING is its program, or it lies in the PATH:
  --- npm install -g @modelcontextprotocol/server-everything
  it("may be the reference server of the protocol", function()
    local pipe = io.popen "command -v ${EBB_MCP_EVERYTHING:-mcp-server-everything}"
    local program = pipe:read "l"
    pipe:close()
    if not program then
      pending "no mcp-server-everything: npm install -g @modelcontextprotocol/server-everything"
      return
    end
    local tool = ('{ mcp = "%s stdio", timeout = 60 }'):format(program)
    assert.equal("Echo: hä", result_of(tool, '{"message":"hä"}'))
    assert.equal("The sum of 2 and 3 is 5.", result_of(tool, '{"a":2,"b":3}', "get-sum"))
    assert.matches("^error: .*expected string", result_of(tool, "{}"))
    assert.matches("%[image, image/png, %d+ bytes: not shown%]", result_of(tool, "{}", "get-tiny-image"))
    assert.matches("there is no tool 'ecko' (did you mean 'echo'?)", result_of(tool, "{}", "ecko"), 1, true)
  end)

  it("end the run where a server does not start", function()
    local err = command.fails(5, flow('{ mcp = "exit 1", timeout = 60 }', "{}"))
    command.contains("the MCP server `exit 1`: it has ended (initialize)", err)
    err = command.fails(command.REFUSED, flow(('{ mcp = "%s", only = { "ecko" } }'):format(server "good"), "{}"))
    command.contains("has no tool 'ecko'", err)
  end)
end)

describe("a stream", function()
  local HEAD = "HTTP/1.1 200\r\nContent-Type: text/event-stream\r\n"

  for dialect, spoken in pairs(DIALECTS) do
    it("of " .. dialect .. " has an end, or it was cut and is asked for again", function()
      local form = require("ebb.provider").form(dialect)
      local events_of_answer = spoken.stream[2].events
      local function read(last)
        local listener = answers.listen(form, function() end)
        for i = 1, last do listener.hear(200, HEAD, events_of_answer[i]) end
        return listener.close()
      end
      assert.truthy((read(#events_of_answer)))
      local answer, problem = read(1)
      assert.is_nil(answer)
      assert.same({ "the stream was cut: the answer has no end", true }, { problem.message, problem.again })
    end)
  end

  it("may end with the provider's error, or hold no JSON", function()
    local form = require("ebb.provider").form "anthropic"
    for event, words in pairs {
      ['data: {"type":"error","error":{"type":"overloaded_error","message":"busy"}}\n\n'] = "overloaded_error: busy",
      ["data: {]\n\n"] = "an event of the stream is not JSON",
    } do
      local listener = answers.listen(form, function() end)
      listener.hear(200, HEAD, event)
      local answer, problem = listener.close()
      assert.is_nil(answer)
      command.contains(words, problem.message)
    end
  end)
end)

describe("answers", function()
  local form = require "ebb.provider.openai"
  local function after(head, status)
    local _, problem = answers.of(form, { status = status or 429, head = head, body = "" }, nil, 1700000000)
    return problem.after
  end

  it("say when to ask again", function()
    assert.equal(7, after "HTTP/1.1 429\r\nRetry-After: 7\r\n")
    assert.equal(0.25, after "HTTP/1.1 429\r\nretry-after-ms: 250\r\nRetry-After: 7\r\n")
    assert.equal(60, after "HTTP/1.1 503\r\nRetry-After: Tue, 14 Nov 2023 22:14:20 GMT\r\n")
    assert.equal(0, after "HTTP/1.1 503\r\nRetry-After: Tue, 14 Nov 2023 20:14:20 GMT\r\n")
    assert.is_nil(after "HTTP/1.1 429\r\n")
    assert.is_nil(after("HTTP/1.1 400\r\nRetry-After: 7\r\n", 400))
  end)

  it("come in pieces of any length", function()
    local stream = 'event: a\ndata: 1\r\ndata: 2\n\n:x\ndata:3\n\nevent: b\n\ndata: é'
    for size = 1, #stream do
      local reader, list = events.new(), {}
      local function hear(data, name) list[#list + 1] = (name or "") .. "=" .. data end
      for at = 1, #stream, size do assert.is_true(reader:feed(stream:sub(at, at + size - 1), hear)) end
      reader:close(hear)
      assert.equal("a=1\n2 =3 =é", table.concat(list, " "))
    end
  end)
end)
