-- luacheck: ignore 631 (answers of providers stay whole)
--- Answers of providers that cannot be used: another role than the model's, odd members, heads and keys. Each is an
--- error of the model with the server's address; nothing is appended.

local core = require "ebb.support.core"
local helper = dofile "tests/lua/helper.lua"
local nodes = require "ebb.workflow"
local provider = require "ebb.provider"

local encode = core.json.encode
local ADDRESS = "http://h.example/v1"

--- A host that answers each request so: {status?, head?, body?, events?}; `said` gets its lines.
local function host_of(answer, said)
  local asked = 0
  return {
    say = function(line) said[#said + 1] = line end, sleep = function() end,
    show = answer.events and function() end or false,
    http = function(_, hear)
      asked = asked + 1
      said.asked = asked
      local kind = answer.events and "text/event-stream" or "application/json"
      local head = ("HTTP/1.1 %d\r\nContent-Type: %s\r\n%s\r\n"):format(answer.status or 200, kind, answer.head or "")
      for _, event in ipairs(answer.events or {}) do hear(200, head, "data: " .. event .. "\n\n") end
      return answer.status or 200, head, answer.body or ""
    end,
  }
end

--- Runs a model node: the last message, or the error's text and code; and what was said.
local function run(dialect, answer)
  local said = {}
  local chat = helper.ebb.conversation { encoding = "cjk", messages = { { role = "user", content = "u1" } } }
  local done, problem = nodes.run(chat, { { type = "model", model = "m", dialect = dialect, base_url = ADDRESS,
    back_off = 0.001 } }, { host = host_of(answer, said) })
  if done then return chat[#chat].text, nil, said, chat end
  assert.equal(1, #chat)
  return problem.message, problem.code, said, chat
end

--- The whole answer of a dialect, and its stream, with a role.
local MAKE = {
  openai = function(role)
    local delta = role and ('"role":%s,'):format(role) or ""
    return { ('{"choices":[{"message":{%s"content":"hi"},"finish_reason":"stop"}]}'):format(delta) },
      { ('{"choices":[{"delta":{%s"content":"h"}}]}'):format(delta),
        '{"choices":[{"delta":{"content":"i"},"finish_reason":"stop"}]}' }
  end,
  responses = function(role)
    local body = ('{"status":"completed","output":[{"type":"message","id":"m1",%s"content":[{"type":"output_text",'
      .. '"text":"hi","annotations":[]}]}]}'):format(role and ('"role":%s,'):format(role) or "")
    return { body }, { ('{"type":"response.completed","response":%s}'):format(body) }
  end,
  anthropic = function(role)
    role = role and ('"role":%s,'):format(role) or ""
    return { ('{"type":"message",%s"content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn"}'):format(role) },
      { ('{"type":"message_start","message":{"type":"message",%s"content":[]}}'):format(role),
        '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
        '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}',
        '{"type":"content_block_stop","index":0}', '{"type":"message_stop"}' }
  end,
  gemini = function(role)
    local body = ('{"candidates":[{"content":{%s"parts":[{"text":"hi"}]},"finishReason":"STOP"}]}'):format(
      role and ('"role":%s,'):format(role) or "")
    return { body }, { body }
  end,
}

describe("the role of an answer", function()
  local OWN = { openai = "assistant", responses = "assistant", anthropic = "assistant", gemini = "model" }
  local OTHERS = { '"system"', '"user"', '"tool"', '"developer"', '"function"', '"Assistant"', "{}", "[1]", "7", "true" }

  for dialect, make in pairs(MAKE) do
    it("is the model's: " .. dialect, function()
      local whole, stream = make(('"%s"'):format(OWN[dialect]))
      assert.equal("hi", (run(dialect, { body = whole[1] })))
      assert.equal("hi", (run(dialect, { events = stream })))
    end)

    it("is another, which cannot be used: " .. dialect, function()
      for _, role in ipairs(OTHERS) do
        local whole, stream = make(role)
        local texts = { whole = { run(dialect, { body = whole[1] }) } }
        -- pieces of Chat Completions repeat a role, and null or "" are none
        if dialect ~= "openai" or role:find '^"' then texts.stream = { run(dialect, { events = stream }) } end
        for _, result in pairs(texts) do
          local text, code, said = table.unpack(result)
          assert.equal("model", code, role)
          assert.matches("node 1 (model): " .. ADDRESS .. ": the answer cannot be used: its message has the role ", text,
            1, true)
          assert.is_nil(text:find "table: 0x")
          assert.equal(1, said.asked)
        end
      end
    end)
  end

  it("may be missing where a dialect has one place for it only", function()
    for _, dialect in ipairs { "anthropic", "gemini" } do
      local whole, stream = MAKE[dialect]()
      assert.equal("hi", (run(dialect, { body = whole[1] })))
      assert.equal("hi", (run(dialect, { events = stream })))
    end
    for _, dialect in ipairs { "openai", "responses" } do
      assert.matches("the answer cannot be used: its message has no role", (run(dialect, { body = MAKE[dialect]()[1] })))
    end
    assert.equal("hi", (run("openai", { events = select(2, MAKE.openai()) })))
    assert.equal("hi", (run("openai", { events = select(2, MAKE.openai '""') })))
    assert.equal("hi", (run("openai", { events = select(2, MAKE.openai "null") })))
  end)

  it("of results of tools is the user's", function()
    for dialect, body in pairs {
      anthropic = '{"role":"assistant","content":[{"type":"tool_result","tool_use_id":"x","content":"y"}]}',
      gemini = '{"candidates":[{"content":{"parts":[{"functionResponse":{"name":"f","response":{}}}]},'
        .. '"finishReason":"STOP"}]}',
      responses = '{"status":"completed","output":[{"type":"function_call_output","call_id":"x","output":"y"}]}',
    } do
      assert.matches("the answer cannot be used: it has a result", (run(dialect, { body = body })))
    end
  end)

  it("of the answer of a command, a function and a recording is checked, too", function()
    local chat = helper.ebb.conversation { encoding = "cjk", messages = { { role = "user", content = "u1" } } }
    local body = MAKE.openai '"system"'[1]
    for _, options in ipairs {
      { model = function() return (core.json.decode(body)) end }, { host = { replay = function() return body end } },
      { host = { converse = function() return body end, model_command = "x" } },
    } do
      local done, problem = nodes.run(chat, { { type = "model", model = "m" } }, options)
      assert.is_nil(done)
      assert.matches("the answer cannot be used: its message has the role 'system'", problem.message, 1, true)
      assert.equal(1, #chat)
    end
  end)
end)

describe("a stream", function()
  local function calls(...)
    local events = {}
    for i, index in ipairs { ... } do
      events[i] = ('{"choices":[{"delta":{"tool_calls":[{"index":%s,"id":"c%s","function":{"name":"f",'
        .. '"arguments":"%s"}}]}}]}'):format(index, (index:gsub('"', "")), i % 2 == 1 and '{' or '}')
    end
    events[#events + 1] = '{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}'
    return { events = events }
  end

  it("whose call has an odd index cannot be used", function()
    for _, index in ipairs { "9007199254740991", "-1", "1.5", '"0"', "{}", "9223372036854775807", "-9223372036854775808",
      "1e300", "10000", "true" } do
      local text, code, said = run("openai", calls(index))
      assert.equal("model", code, index)
      assert.matches(ADDRESS .. ": the answer cannot be used: a tool call has the index ", text, 1, true)
      assert.equal(1, said.asked)
    end
  end)

  it("tells calls by their index, wherever that begins", function()
    for first = 0, 9999, 3333 do
      local i, j = tostring(first), tostring(first + (first == 9999 and -1 or 1))
      local _, _, _, chat = run("openai", calls(i, i, j, j))
      local list = chat[#chat].calls
      assert.equal(2, #list)
      for k = 1, 2 do assert.same({ "c" .. (k == 1 and i or j), "{}" }, { list[k].id, list[k].arguments }) end
    end
    local _, _, _, chat = run("openai", calls("null", "null"))
    assert.equal(1, #chat[#chat].calls)
  end)

  it("whose block has an index with which none began cannot be used", function()
    local events = select(2, MAKE.anthropic '"assistant"')
    for _, index in ipairs { "1", "-1", "9007199254740991", '"a"', "{}" } do
      local odd = table.move(events, 1, #events, 1, {})
      odd[3] = odd[3]:gsub('"index":0', '"index":' .. index)
      local text, code = run("anthropic", { events = odd })
      assert.equal("model", code)
      assert.matches("the answer cannot be used: a piece has the index ", text, 1, true)
    end
  end)

  it("of odd values is an error of the model, not one of ebb", function()
    for dialect, list in pairs {
      openai = { '{"choices":[{"delta":{"tool_calls":[5]}}]}', '{"choices":[{"delta":{"tool_calls":["x"]}}]}' },
      anthropic = { '{"type":"message_start","message":[1,2]}',
        '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":{}}}' },
      gemini = { '{"candidates":[{"content":{"parts":[{"text":{}},{"text":{}}]}}]}' },
    } do
      for _, event in ipairs(list) do
        local _, stream = MAKE[dialect](dialect == "gemini" and '"model"' or '"assistant"')
        local odd = { event }
        table.move(stream, event:find "message_start" and 2 or 1, #stream, 2, odd)
        if event:find "content_block_start" then odd = { stream[1], event, stream[3], stream[4], stream[5] } end
        local text, code = run(dialect, { events = odd })
        assert.equal("model", code, text)
        assert.matches("the answer ", text, 1, true)
        assert.is_nil(text:find "%.lua:%d")
      end
    end
  end)

  it("or an answer whose end has no name has none", function()
    local text = run("openai", { body = '{"choices":[{"message":{"role":"assistant","content":null},"finish_reason":{}}]}' })
    assert.is_nil(text:find "table: 0x")
  end)
end)

describe("an answer that asks for patience", function()
  for _, value in ipairs { "1e308", "1e19", "9223372036854775808", "99999999999999999999999", "1e400", "100000000000000",
    "121" } do
    it("says how much: " .. value, function()
      local text, code, said = run("openai", { status = 429, head = "Retry-After: " .. value .. "\r\n", body = "{}" })
      assert.equal("model", code)
      assert.matches(ADDRESS .. ": HTTP 429", text, 1, true)
      assert.matches("it wants to be asked again in [%w+.]+ seconds", text)
      assert.equal(1, said.asked)
    end)
  end

  for _, value in ipairs { "-5", "nan", "inf", "soon", "-1e308", "" } do
    it("with no time is asked again, as usual: " .. value, function()
      local text, _, said = run("openai", { status = 429, head = "Retry-After: " .. value .. "\r\n", body = "{}" })
      assert.matches("HTTP 429: {} (asked 5 times)", text, 1, true)
      assert.equal(5, said.asked)
    end)
  end
end)

describe("a server that is busy", function()
  for _, retries in ipairs { 0, 1, 3 } do
    it(("is asked once, and %d times more at most"):format(retries), function()
      local said = {}
      local endpoint = { base = ADDRESS, dialect = "openai", model = "m", form = provider.form "openai" }
      local _, problem = provider.ask(endpoint, { retries = retries, back_off = 0.001 }, "{}",
        host_of({ status = 503 }, said))
      assert.equal("model", problem.code)
      assert.equal(retries + 1, said.asked)
      assert.equal(retries, #said)
    end)
  end
end)

describe("a key that a server echoes", function()
  local KEY = "sk-a.b%c+d-0123456789"

  --- The error of asking with this key, and what was said.
  local function ask(answer, dialect)
    local said = {}
    local endpoint = { base = "http://u:pw@h.example/v1", key = KEY, dialect = dialect or "openai", model = "m",
      form = provider.form(dialect or "openai") }
    local _, problem = provider.ask(endpoint, { retries = 1, back_off = 0.001 }, "{}", host_of(answer, said))
    return problem.message, table.concat(said, "\n")
  end

  local echo = ("bad header: Authorization: Bearer %s"):format(KEY)
  local ROWS = {
    { "in an error's words", { status = 400, body = encode { error = { message = echo } } } },
    { "in a body that is no JSON", { status = 400, body = "<p>" .. echo } },
    { "that an excerpt cuts", { status = 400, body = ("x"):rep(190) .. KEY .. ("y"):rep(50) } },
    { "with an error that is asked again", { status = 500, body = echo } },
    { "in an address", { status = 302, head = "Location: http://x/?k=" .. KEY .. "\r\n" } },
    { "in an answer with an error", { body = encode { error = { message = echo } } } },
    { "in an answer that cannot be used", { body = encode { echo = KEY } } },
    { "in an answer that is no JSON", { body = echo } },
    { "in a stream's error", { events = { encode { error = { message = echo } } } } },
    { "in an event that is no JSON", { events = { "{" .. KEY } } },
    { "in a type", { status = 200, head = "Content-Type: text/" .. KEY .. "\r\n", body = "x" } },
    { "twice", { status = 401, body = KEY .. KEY } },
  }
  for _, row in ipairs(ROWS) do
    it("is not shown: " .. row[1], function()
      for dialect in pairs(MAKE) do
        local text, said = ask(row[2], dialect)
        assert.is_nil((text .. said):find("sk-a", 1, true), text .. said)
        assert.is_nil((text .. said):find("pw", 1, true))
        assert.matches("[key]", text, 1, true)
      end
    end)
  end
end)
