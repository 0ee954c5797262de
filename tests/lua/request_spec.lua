--- chat:write: conversations as requests of four dialects, and what that leaves out.

local command = dofile "tests/lua/command.lua"
local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb

local DIALECTS = { "openai", "responses", "anthropic", "gemini" }
local MEMBER = { openai = "messages", anthropic = "messages", responses = "input", gemini = "contents" }

local function body_of(chat, dialect, options)
  local text, losses = chat:write(dialect, options or { shape = "body" })
  return assert(ebb.json.decode(text)), losses, text
end

local function codes_of(losses)
  local codes = {}
  for i, loss in ipairs(losses) do
    codes[i] = loss.index and ("%s %d"):format(loss.code, loss.index) or loss.code
  end
  return table.concat(codes, ", ")
end

local function call(id, name, arguments)
  return { id = id, type = "function", ["function"] = { name = name, arguments = arguments } }
end

local PIXEL = "iVBORw0KGgo="

local function tool_chat()
  return ebb.conversation { messages = {
    { role = "system", content = "Be brief." },
    { role = "user", content = "Weather?" },
    { role = "assistant", content = "Looking.", tool_calls = { call("c1", "weather", '{"city":"Oslo"}'),
      call("c2", "weather", '{"city":"Rome"}') } },
    { role = "tool", tool_call_id = "c1", content = "rain" },
    { role = "tool", tool_call_id = "c2", content = "sun" },
    { role = "user", content = { { type = "text", text = "And this?" },
      { type = "image_url", image_url = { url = "data:image/png;base64," .. PIXEL } } } },
  } }
end

describe("a tool exchange", function()
  it("is written for anthropic", function()
    local body, losses = body_of(tool_chat(), "anthropic")
    assert.same({ { type = "text", text = "Be brief." } }, body.system)
    assert.same({
      { role = "user", content = { { type = "text", text = "Weather?" } } },
      { role = "assistant", content = { { type = "text", text = "Looking." },
        { type = "tool_use", id = "c1", name = "weather", input = { city = "Oslo" } },
        { type = "tool_use", id = "c2", name = "weather", input = { city = "Rome" } } } },
      { role = "user", content = { { type = "tool_result", tool_use_id = "c1", content = "rain" },
        { type = "tool_result", tool_use_id = "c2", content = "sun" }, { type = "text", text = "And this?" },
        { type = "image", source = { type = "base64", media_type = "image/png", data = PIXEL } } } },
    }, body.messages)
    assert.equal("", codes_of(losses))
    assert.equal(4096, body.max_tokens)
  end)

  it("has the limit of its answer that Anthropic demands, which is told where it is a request", function()
    local cases = { ["claude-opus-4-5"] = 16384, ["claude-nobody"] = 4096 }
    for model, limit in pairs(cases) do
      local foreign, own = { model = model, messages = { { role = "user", content = "x" } } }, { model = model,
        stop_sequences = { "x" }, messages = { { role = "user", content = "x" } } }
      for _, body in ipairs { foreign, own } do
        local text, losses = ebb.parse(ebb.json.encode(body)):write("anthropic", { shape = "body" })
        assert.equal(limit, ebb.json.decode(text).max_tokens)
        assert.equal("added_member", losses[1].code)
        assert.is_true(losses[1].changed)
        local again, more = ebb.parse(text):write("anthropic", { shape = "body" })
        assert.same({ text, {} }, { again, more })
      end
      local own_text = ebb.json.encode(own)
      assert.equal(own_text:sub(2), (ebb.parse(own_text):write("anthropic", { shape = "body" })
        :gsub('^{"max_tokens": %d+, ', "")))
    end
  end)

  it("is written for gemini", function()
    local body, losses = body_of(tool_chat(), "gemini")
    assert.same({ parts = { { text = "Be brief." } } }, body.systemInstruction)
    assert.same({
      { role = "user", parts = { { text = "Weather?" } } },
      { role = "model", parts = { { text = "Looking." },
        { functionCall = { id = "c1", name = "weather", args = { city = "Oslo" } } },
        { functionCall = { id = "c2", name = "weather", args = { city = "Rome" } } } } },
      { role = "user", parts = {
        { functionResponse = { id = "c1", name = "weather", response = { name = "weather", content = "rain" } } },
        { functionResponse = { id = "c2", name = "weather", response = { name = "weather", content = "sun" } } } } },
      { role = "user", parts = { { text = "And this?" }, { inlineData = { mimeType = "image/png", data = PIXEL } } } },
    }, body.contents)
    assert.equal("", codes_of(losses))
  end)

  it("has a signature on the first call of a step for Gemini 3, which wants one", function()
    local body = body_of(tool_chat(), "gemini", { shape = "body", model = "gemini-3-pro" })
    assert.equal("skip_thought_signature_validator", body.contents[2].parts[2].thoughtSignature)
    assert.is_nil(body.contents[2].parts[3].thoughtSignature)
    assert.same({}, ebb.parse(ebb.json.encode(body)):check { dialect = "gemini", model = "gemini-3-pro" })
  end)

  it("is written for responses", function()
    local body, losses = body_of(tool_chat(), "responses")
    assert.same({
      { role = "system", content = "Be brief." },
      { role = "user", content = { { type = "input_text", text = "Weather?" } } },
      { role = "assistant", content = "Looking." },
      { type = "function_call", call_id = "c1", name = "weather", arguments = '{"city":"Oslo"}' },
      { type = "function_call", call_id = "c2", name = "weather", arguments = '{"city":"Rome"}' },
      { type = "function_call_output", call_id = "c1", output = "rain" },
      { type = "function_call_output", call_id = "c2", output = "sun" },
      { role = "user", content = { { type = "input_text", text = "And this?" },
        { type = "input_image", image_url = "data:image/png;base64," .. PIXEL, detail = "auto" } } },
    }, body.input)
    assert.equal("", codes_of(losses))
  end)
end)

describe("what a dialect has no form for", function()
  local function from(messages, dialect)
    local body, losses = body_of(ebb.conversation { messages = messages }, dialect)
    return body[MEMBER[dialect]], codes_of(losses)
  end

  it("is moved: media of results, for openai", function()
    local messages, lost = from({
      { role = "assistant", content = { { type = "tool_use", id = "t", name = "shot", input = {} } } },
      { role = "user", content = { { type = "tool_result", tool_use_id = "t", is_error = true, content = {
        { type = "text", text = "here" },
        { type = "image", source = { type = "base64", media_type = "image/png", data = PIXEL } } } } } },
    }, "openai")
    assert.equal("tool", messages[2].role)
    assert.equal("here", messages[2].content)
    assert.equal("image_url", messages[3].content[1].type)
    assert.equal("lost_error 2, changed_result_media 2", lost)
  end)

  it("is left out and told: reasoning of another provider", function()
    local messages, lost = from({
      { role = "user", content = "q" },
      { role = "assistant", content = { { type = "thinking", thinking = "hm", signature = "s" },
        { type = "text", text = "a" } } },
    }, "openai")
    assert.same({ { role = "user", content = "q" }, { role = "assistant", content = "a" } }, messages)
    assert.equal("lost_reasoning 2", lost)
  end)

  it("becomes a user's: a system message in the middle", function()
    local messages, lost = from({ { role = "user", content = "a" }, { role = "assistant", content = "b" },
      { role = "system", content = "S" }, { role = "user", content = "c" } }, "anthropic")
    assert.same({ { type = "text", text = "S" }, { type = "text", text = "c" } }, messages[3].content)
    assert.equal("changed_system 3", lost)
  end)

  it("leaves out messages of which nothing is left", function()
    local messages, lost = from({ { role = "user", content = { { type = "input_audio",
      input_audio = { data = PIXEL, format = "wav" } } } }, { role = "user", content = "c" } }, "anthropic")
    assert.equal(1, #messages)
    assert.equal("lost_media 1, lost_message 1", lost)
  end)

  it("keeps arguments that are not an object in one", function()
    local messages, lost = from({ { role = "assistant", content = "", tool_calls = { call("c", "f", "oops"),
      call("d", "f", "") } } }, "anthropic")
    assert.same({ input = "oops" }, messages[1].content[1].input)
    assert.same({}, messages[1].content[2].input)
    assert.equal("changed_arguments 1", lost)
  end)
end)

describe("ids of calls", function()
  local function ids_for(dialect, ids)
    local messages = {}
    for i, id in ipairs(ids) do
      messages[2 * i - 1] = { role = "assistant", content = "", tool_calls = { call(id, "f", "{}") } }
      messages[2 * i] = { role = "tool", tool_call_id = id, content = tostring(i) }
    end
    local body = body_of(ebb.conversation { messages = messages }, dialect)
    local written = {}
    for i, message in ipairs(body.messages) do
      local part = message.content[1]
      if i % 2 == 1 then written[#written + 1] = part.id end
      if i % 2 == 0 then assert.equal(written[#written], part.tool_use_id) end
    end
    return written
  end

  it("are unique and valid for anthropic, the same each time", function()
    local first = ids_for("anthropic", { "call_0", "call_0", "a b", ("x"):rep(65), "a b" })
    local seen = {}
    for _, id in ipairs(first) do
      assert.truthy(id:find "^[%w_-]+$" and #id <= 64)
      assert.is_nil(seen[id])
      seen[id] = true
    end
    assert.equal("call_0", first[1])
    assert.same(first, ids_for("anthropic", { "call_0", "call_0", "a b", ("x"):rep(65), "a b" }))
  end)

  it("of more than 40 characters get others in a body of openai, whose bytes stay else", function()
    local long = ("y"):rep(41)
    local chat = ebb.parse(([[{"model": "gpt-4o", "messages": [{"role":"assistant","content":null,"tool_calls":[
{"id":"%s","type":"function","function":{"name":"f","arguments":"{}"}}]},
{"role":"tool","tool_call_id":"%s","content":"1"}]}]])
      :format(long, long))
    local body, losses, text = body_of(chat, "openai")
    assert.equal(body.messages[1].tool_calls[1].id, body.messages[2].tool_call_id)
    assert.is_true(#body.messages[2].tool_call_id <= 40)
    assert.equal("changed_id 1", codes_of(losses))
    assert.truthy(text:find('"model": "gpt-4o", "messages": ', 1, true))
  end)
end)

describe("a probe of a list", function()
  local core = require "ebb.support.core"
  local MESSAGES = {
    '{"role":"user","content":"bare"}', '{"content" : "two\\n", "role": "user"}', '{"role":"tool","content":"no id"}',
    '{"role":"tool","tool_call_id":"c1","content":"4"}', '{"role":"function","name":"f","content":"4"}',
    '{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function",'
      .. '"function":{"name":"f","arguments":"{}"}}]}',
    '{"role":"assistant","content":"","tool_calls":[{"id":"' .. ("c"):rep(41) .. '","type":"function",'
      .. '"function":{"name":"f","arguments":"{}"}}]}',
    '{"role":"assistant","content":"","tool_calls":[{"id":"c\\u0031","type":"function",'
      .. '"function":{"name":"f","arguments":"{}"}}]}',
    '{"role":"assistant","content":"a","reasoning_content":"why"}', '{"role":"user","content":"a","id":"m1"}',
    '{"role":"user","content":[{"type":"text","text":"a","more":1}]}', '{"role":"user","content":[]}',
    '{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"a"}]}',
    '{"type":"message","role":"user","content":"a"}', '{"role":"assistant","refusal":"no","content":null}',
    '{"role":"developer","content":"a"}', '{"role":"user","content":"a","\\u0069d":"m1"}',
  }

  --- Tells of a list by itself and of one that is converted whole.
  local function said(text, options)
    local chat = assert(ebb.parse(text, { lenient = true }))
    local values = { to = "openai", profile = {} }
    for name, value in pairs(options) do values[name] = value end
    local whole = { core.convert(chat, nil, values) }
    values.probe = true
    local probe = { core.convert(chat, nil, values) }
    return probe[4], whole[4], probe[3], whole[3]
  end

  it("is not made for a dialect that does not exist", function()
    local chat = assert(ebb.parse '[{"role":"user","content":"a"}]')
    local refused = helper.refusal(core.convert, chat, nil, { to = "openia" })
    assert.equal("unknown_name", refused.code)
    assert.truthy(refused.message:find("no dialect 'openia'", 1, true))
    assert.truthy(refused.hint:find("openai", 1, true))
  end)

  it("says of each list what writing it says", function()
    local same = 0
    local short, alphanumeric = { call_id = { max = 24 } }, { call_id = { max = 9, characters = "alphanumeric" } }
    local long = { call_id = { min = 16 } }
    for _, options in ipairs { {}, { keep_extra = true }, { foreign = true }, { profile = short }, { profile = long },
      { profile = alphanumeric }, { to = "responses" }, { to = "anthropic" } } do
      for i, first in ipairs(MESSAGES) do
        for _, second in ipairs { MESSAGES[1], MESSAGES[6], MESSAGES[8], MESSAGES[(i + 1) % #MESSAGES + 1] } do
          local text = ("[%s,%s]"):format(second, first)
          local probe, whole, probe_losses, losses = said(text, options)
          assert.equal(whole, probe, text)
          assert.same(losses, probe_losses, text)
          same = same + (whole and 0 or 1)
        end
      end
    end
    assert.is_true(same > 40, same)
  end)
end)

describe("members that requests do not have", function()
  local TEXT = [[{"model":"gpt-4o","messages":[
{"role":"user","content":"hi","id":"m1","timestamp":5,"metadata":{"a":1}}]}]]

  it("are left out of a request and told", function()
    local body, losses = body_of(ebb.parse(TEXT), "openai")
    assert.same({ { role = "user", content = "hi" } }, body.messages)
    assert.equal("lost_member 1, lost_member 1, lost_member 1", codes_of(losses))
  end)

  it("stay with keep_extra, byte for byte", function()
    local text, losses = ebb.parse(TEXT):write("openai", { keep_extra = true })
    assert.equal(TEXT, text)
    assert.equal(0, #losses)
  end)
end)

describe("a body that other members tell", function()
  it("has the dialect of its system text where its messages fit several", function()
    for text, dialect in pairs {
      ['{"system":"S","messages":[{"role":"user","content":"hi"}]}'] = "anthropic",
      ['{"messages":[{"role":"user","content":"hi"}]}'] = "openai",
      ['{"input":"hi"}'] = "responses", ['{"input":[{"role":"user","content":"hi"}]}'] = "responses",
      ['{"contents":[{"parts":[{"text":"a"}]}]}'] = "gemini",
      ['{"system":"S","messages":[{"role":"tool","tool_call_id":"c","content":"hi"}]}'] = "openai",
    } do
      assert.equal(dialect, ebb.parse(text):dialect(), text)
    end
  end)
end)

describe("messages that are written anew", function()
  it("tell the members that requests do not have, too", function()
    local chat = ebb.conversation { messages = { { role = "user", content = "hi", id = "m", mood = 7 } } }
    local _, losses = body_of(chat, "gemini")
    assert.equal("lost_member 1, lost_member 1", codes_of(losses))
  end)

  it("tell them with keep_extra too, which keeps members of messages that are not written anew", function()
    local message = { role = "user", content = "hi", id = "m" }
    for _, dialect in ipairs { "anthropic", "gemini", "responses" } do
      local _, losses = body_of(ebb.conversation { messages = { message, { role = "assistant", content = "yo" } } },
        dialect, { shape = "body", keep_extra = true })
      assert.equal("lost_member 1", codes_of(losses), dialect)
    end
    local text, losses = ebb.conversation { messages = { message } }:write("openai", { keep_extra = true })
    assert.same({ "m", "" }, { ebb.json.decode(text)[1].id, codes_of(losses) })
  end)
end)

describe("deep JSON", function()
  it("of arguments is written as text where it could not be read again", function()
    local deep = ("["):rep(250) .. ("]"):rep(250)
    local chat = ebb.conversation { messages = { { role = "assistant", content = "",
      tool_calls = { call("c", "f", '{"a":' .. deep .. "}") } } } }
    local text, losses = chat:write("anthropic", { shape = "body" })
    assert.equal("changed_arguments 1", codes_of(losses))
    assert(ebb.parse(text))
  end)

  it("of a message that a list would nest too deeply is refused, and nothing is written", function()
    local deep = ("["):rep(254) .. ("]"):rep(254)
    local chat = assert(ebb.parse('{"role":"user","content":"a","metadata":{"a":' .. deep .. "}}\n"))
    local ok, problem = pcall(chat.write, chat, "openai", { shape = "body", keep_extra = true })
    assert.is_false(ok)
    assert.equal("limit", problem.code)
  end)
end)

describe("positions of what is lost", function()
  it("are those of the list, also where a window is in a unit", function()
    local chat = ebb.conversation { messages = {
      { role = "user", content = "q" },
      { role = "assistant", content = "", tool_calls = { call("c", "f", "oops") } },
    } }
    chat.windows:open { id = "todo", content = "tea" }
    chat:append { role = "tool", tool_call_id = "c", content = "r", mood = 1 }
    local _, losses = body_of(chat, "anthropic")
    local by_code = {}
    for _, loss in ipairs(losses) do by_code[loss.code] = loss.index end
    assert.equal(2, by_code.changed_arguments)
    assert.equal(#chat, by_code.lost_member)
  end)
end)

describe("bound reasoning", function()
  local function chat()
    return ebb.conversation { messages = {
      { role = "user", content = "q" },
      { role = "assistant", content = { { type = "thinking", thinking = "one", signature = "s1" },
        { type = "text", text = "a" } } },
      { role = "user", content = "r" },
      { role = "assistant", content = { { type = "thinking", thinking = "two", signature = "s2" },
        { type = "text", text = "b" } } },
    } }
  end

  it("stays up to the first changed message", function()
    local body, losses = body_of(chat(), "anthropic", { shape = "body", unbound_from = 3 })
    assert.equal("thinking", body.messages[2].content[1].type)
    assert.same({ { type = "text", text = "b" } }, body.messages[4].content)
    assert.equal("lost_bound_reasoning 4", codes_of(losses))
  end)

  it("is kept whole where nothing changed", function()
    local body = body_of(chat(), "anthropic")
    assert.equal("s2", body.messages[4].content[1].signature)
  end)
end)

describe("settings of a body", function()
  local BODY = [[{"model":"m","max_completion_tokens":7,"temperature":0.10,"top_p":1,"stop":["X"],"stream":true,
"user":"u","reasoning_effort":"low","parallel_tool_calls":false,"tool_choice":{"type":"function","function":
{"name":"f"}},"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":
{"type":"object","properties":{"z":{"type":"integer"},"a":{}}}}}],"n":2,
"response_format":{"type":"json_schema","json_schema":{"name":"s","schema":{"type":"object"}}},
"messages":[{"role":"user","content":"hi"}]}]]

  it("are written for anthropic", function()
    local body, losses, text = body_of(ebb.parse(BODY), "anthropic")
    assert.equal(7, body.max_tokens)
    assert.same({ type = "tool", name = "f", disable_parallel_tool_use = true }, body.tool_choice)
    assert.same({ user_id = "u" }, body.metadata)
    assert.truthy(text:find('"temperature":0.10', 1, true))
    assert.truthy(text:find('"properties":{"z":{"type":"integer"},"a":{}}', 1, true), "a schema keeps its bytes")
    local subjects = {}
    for _, loss in ipairs(losses) do subjects[#subjects + 1] = loss.subject end
    assert.same({ "n", "reasoning effort", "schema of the answer" }, subjects)
  end)

  it("are written for gemini", function()
    local body = body_of(ebb.parse(BODY), "gemini")
    assert.equal(7, body.generationConfig.maxOutputTokens)
    assert.same({ functionCallingConfig = { mode = "ANY", allowedFunctionNames = { "f" } } }, body.toolConfig)
    assert.same({ type = "object" }, body.generationConfig.responseJsonSchema)
  end)

  it("are written for responses, tools flat", function()
    local body = body_of(ebb.parse(BODY), "responses")
    assert.equal("f", body.tools[1].name)
    assert.same({ type = "function", name = "f" }, body.tool_choice)
    assert.equal("json_schema", body.text.format.type)
    assert.same({ effort = "low" }, body.reasoning)
  end)
end)

describe("temperature", function()
  it("is left out and told where the model refuses it", function()
    local chat = ebb.parse [[{"model":"gpt-4o","temperature":0.5,"top_p":1,"messages":[{"role":"user","content":"q"}]}]]
    local body, losses = body_of(chat, "anthropic", { shape = "body", model = "claude-opus-5-5" })
    assert.is_nil(body.temperature)
    assert.is_nil(body.top_p)
    assert.equal("lost_member, lost_member, added_member", codes_of(losses))
    assert.equal("claude-opus-5-5 takes no temperature: left out", losses[1].text)
    assert.equal(0.5, body_of(chat, "anthropic", { shape = "body", model = "claude-sonnet-4-5" }).temperature)
  end)
end)

describe("wrong arguments", function()
  it("are refused with the name of the argument", function()
    local chat = tool_chat()
    for _, case in ipairs {
      { { "claude" }, "write: to: expected one of" }, { {}, "write" }, { { "openai", { shape = "yaml" } }, "shape" },
      { { "openai", { keep = true } }, "keep" }, { { "openai", 5 }, "write" },
      { { "openai", { unbound_from = 0 } }, "unbound_from" },
    } do
      local ok, problem = pcall(chat.write, chat, table.unpack(case[1]))
      assert.is_false(ok)
      assert.truthy(problem.message:find(case[2], 1, true), problem.message)
    end
  end)
end)

---- Random histories ----

--- One text alone and a list of that text say the same.
local function text_alone(content)
  local only = type(content) == "table" and #content == 1 and content[1]
  return only and only.type == "text" and only.text or content
end

describe("random histories", function()
  local WORDS = { "a", "é\"\\\n", "日本", "{\"x\":1}", "  ", "z" }
  local function word() return WORDS[math.random(#WORDS)] end

  local function history(n)
    local messages, id = {}, 0
    if math.random(2) == 1 then messages[1] = { role = "system", content = "S" .. word() } end
    for _ = 1, n do
      messages[#messages + 1] = { role = "user", content = "u" .. word() }
      if math.random(2) == 1 then
        local calls = {}
        for i = 1, math.random(3) do
          id = id + 1
          calls[i] = call(math.random(4) == 1 and "call 0" .. id or "c" .. id, "f" .. i, ebb.json.encode { k = word() })
        end
        messages[#messages + 1] = { role = "assistant", content = math.random(2) == 1 and "t" .. word() or ebb.null,
          tool_calls = calls }
        for _, each in ipairs(calls) do
          messages[#messages + 1] = { role = "tool", tool_call_id = each.id, content = "r" .. word() }
        end
      end
      messages[#messages + 1] = { role = "assistant", content = "a" .. word() }
    end
    return messages
  end

  for _, dialect in ipairs(DIALECTS) do
    it("come back from " .. dialect .. " with every text, call and result", function()
      math.randomseed(helper.seed())
      for round = 1, 40 do
        local messages = history(math.random(4))
        local chat = ebb.conversation { messages = messages }
        local there = chat:write(dialect, { shape = "body" })
        local back = assert(ebb.parse(there)):write("openai", { shape = "body" })
        local result = ebb.json.decode(back).messages
        assert.equal(#messages, #result, ("round %d: %s"):format(round, there))
        local ids = {}
        for i, message in ipairs(messages) do
          local other = result[i]
          assert.equal(message.role, other.role)
          assert.same(message.content, text_alone(other.content))
          for k, each in ipairs(message.tool_calls or {}) do
            assert.same(ebb.json.decode(each["function"].arguments),
              ebb.json.decode(other.tool_calls[k]["function"].arguments))
            ids[each.id] = other.tool_calls[k].id
          end
          if message.role == "tool" then assert.equal(ids[message.tool_call_id], other.tool_call_id) end
        end
      end
    end)
  end
end)

describe("a pipeline", function()
  local AGENT = { name = "A", model = "claude-sonnet-4-5",
    presets = { { role = "system", content = "Be A." }, { type = "chat_history" } } }

  it("puts a system preset where Claude has it, next to the body's own", function()
    local chat = ebb.parse [[{"model":"claude-sonnet-4-5","max_tokens":100,"system":"Old.","messages":[
{"role":"user","content":"hi"}]}]]
    local result = assert(ebb.pipeline({ agent = AGENT }):run(chat))
    local body = ebb.json.decode(result.body)
    assert.same({ { type = "text", text = "Old." }, { type = "text", text = "Be A." } }, body.system)
    assert.same({ { role = "user", content = "hi" } }, body.messages)
    assert.equal("anthropic", result.dialect)
  end)

  it("writes a chat of OpenAI's form for Claude, with the tokens of what is written", function()
    local result = assert(ebb.pipeline({ agent = AGENT }):run(tool_chat()))
    local body = ebb.json.decode(result.body)
    assert.equal("Be A.\n\n---\n\nBe brief.", body.system[1].text)
    assert.equal("tool_use", body.messages[2].content[2].type)
    assert.truthy(body.max_tokens)
    assert.equal(ebb.parse(result.body, { model = "claude-sonnet-4-5" }):tokens(), result.tokens)
  end)

  it("reads and writes Gemini's and Responses' forms", function()
    for _, dialect in ipairs { "gemini", "responses" } do
      local chat = ebb.parse((tool_chat():write(dialect, { shape = "body" })))
      local agent = { name = "A", presets = { { role = "system", content = "Be A." }, { type = "chat_history" } } }
      local body = ebb.json.decode(assert(ebb.pipeline({ agent = agent, to = dialect }):run(chat)).body)
      assert.truthy(body[MEMBER[dialect]][1])
    end
  end)

  it("takes no model that is not a text", function()
    for _, model in ipairs { "true", "5", "[]", "null" } do
      for _, body in ipairs { '{"model":%s,"messages":[{"role":"user","content":"q"}]}',
        '{"model":%s,"input":[{"role":"user","content":"q"}]}',
        '{"model":%s,"contents":[{"role":"user","parts":[{"text":"q"}]}]}' } do
        local chat = assert(ebb.parse(body:format(model)))
        for _, dialect in ipairs { "openai", "responses", "anthropic", "gemini" } do
          if dialect ~= chat:dialect() then
            assert.is_nil(chat:write(dialect, { shape = "body" }):find('"model":' .. model, 1, true))
          end
        end
      end
    end
  end)
end)

describe("chat:save with a provider's dialect", function()
  local path
  before_each(function()
    command.make_folder()
    path = command.path_of "request.json"
  end)
  after_each(command.remove_folder)

  it("writes what chat:write writes, and says what is left out", function()
    for _, dialect in ipairs(DIALECTS) do
      local chat = tool_chat()
      local done, problem, losses = chat:save(path, { dialect = dialect })
      assert.same({ true }, { done, problem })
      local text, said = chat:write(dialect, { keep_extra = true })
      assert.equal(text, command.read(path))
      assert.same(codes_of(said), codes_of(losses))
      assert.equal(dialect, assert(ebb.load(path)):dialect())
    end
  end)

  it("converts a body of another dialect to openai's, and keeps ids of messages that stay", function()
    local chat = assert(ebb.parse('{"system":"s","stop_sequences":["x"],"messages":[{"role":"user","content":'
      .. '[{"type":"text","text":"q"}]}]}'))
    assert(chat:save(path, { dialect = "openai" }))
    assert.same({}, (assert(ebb.load(path)):check "openai"))
    local text = '{"model":"gpt-4o","messages":[{"role":"user","content":"q","id":"m1","timestamp":5}]}'
    assert(assert(ebb.parse(text)):save(path, { dialect = "openai" }))
    assert.equal(text, command.read(path))
  end)

  it("refuses other names, and leaves a file that has changed as it is", function()
    local chat = tool_chat()
    local _, problem = pcall(chat.save, chat, path, { dialect = "anthrpic" })
    assert.equal("did you mean 'anthropic'?", problem.hint)
    _, problem = pcall(chat.save, chat, path, { dialect = "gemini", shap = "body" })
    assert.equal("did you mean 'shape'?", problem.hint)
    assert(chat:save(path, { dialect = "gemini" }))
    local before, identity = command.read(path), assert(ebb.file_identity(path))
    assert(chat:save(path, { dialect = "responses" }))
    local done, conflict = chat:save(path, { dialect = "gemini", unchanged = identity })
    assert.same({ nil, "conflict" }, { done, conflict.code })
    assert.not_equal(before, command.read(path))
  end)
end)
