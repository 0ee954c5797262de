--- Pipelines of conversations that have no {role, content}: Gemini's contents and Responses' items. Processors see
--- a copy in openai's form; marks, windows, signatures and encrypted reasoning are not left behind in the original.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb
local json = ebb.json

local SIGNATURE = "c2lnbmF0dXJl"
local LONG = ("word "):rep(40)

local CONTENTS = {
  { role = "user", parts = { { text = "first " .. LONG } } },
  { role = "model", parts = { { text = "hm", thought = true },
    { functionCall = { name = "look", args = { x = 1 } }, thoughtSignature = SIGNATURE },
    { functionCall = { name = "look", args = { x = 2 } } } } },
  { role = "user", parts = { { functionResponse = { name = "look", response = { output = "r1" } } },
    { functionResponse = { name = "look", response = { output = "r2" } } } } },
  { role = "model", parts = { { text = "second", thoughtSignature = SIGNATURE .. "Mg==" } } },
  { role = "user", parts = { { text = "third" } } },
}

local ITEMS = {
  { role = "user", content = "first " .. LONG },
  { type = "reasoning", id = "rs_1", summary = json.array {}, encrypted_content = SIGNATURE },
  { type = "function_call", id = "fc_1", call_id = "c1", name = "look", arguments = "{}" },
  { type = "function_call_output", call_id = "c1", output = "r1" },
  { type = "web_search_call", id = "ws_1", status = "completed" },
  { type = "message", id = "msg_1", role = "assistant", status = "completed", phase = "final_answer",
    content = { { type = "output_text", text = "second", annotations = json.array {} } } },
  { role = "user", content = "third" },
}

local function gemini(messages, model)
  return assert(ebb.parse(json.encode { model = model or "gemini-2.5-pro", contents = messages or CONTENTS }))
end

local function responses(messages, model)
  return assert(ebb.parse(json.encode { model = model or "gpt-5", input = messages or ITEMS }))
end

local function run(chat, options)
  options = options or {}
  options.encoding = "bytes4"
  local result = assert(ebb.pipeline(options):run(chat))
  return json.decode(result.body), result
end

--- A processor that calls `edit` with the messages.
local function edits(edit)
  return { processors = { { id = "edit", name = "Edit", priority = 700, execute = function(context)
    edit(context.messages)
  end } }, trusted = true }
end

local function warned(result, words)
  for _, entry in ipairs(result.logs) do
    if entry.message:find(words, 1, true) then return true end
  end
  return false
end

describe("a pipeline of contents of Gemini", function()
  it("writes what no processor changed as it was, with its signatures", function()
    local body, result = run(gemini())
    assert.same(CONTENTS, body.contents)
    assert.equal("gemini", result.dialect)
    assert.is_false(warned(result, "reasoning"))
  end)

  it("keeps signatures next to an edited message and an added one", function()
    local body = run(gemini(), edits(function(messages)
      messages[#messages].content = "edited"
      table.insert(messages, 1, { role = "system", content = "be brief" })
    end))
    assert.same({ { text = "be brief" } }, body.systemInstruction.parts)
    assert.same(CONTENTS[2], body.contents[2])
    assert.same(CONTENTS[4], body.contents[4])
    assert.equal("edited", body.contents[5].parts[1].text)
  end)

  it("writes calls, signatures and results anew together where one was edited, and says what it loses", function()
    local body, result = run(gemini(), edits(function(messages) messages[3].content = "cut" end))
    local call = body.contents[2].parts[1]
    assert.same({ true, "c2lnbmF0dXJl" }, { call.functionCall ~= nil, call.thoughtSignature })
    assert.equal(#body.contents[2].parts, #body.contents[3].parts)
    assert.truthy(json.encode(body.contents[3]):find("cut", 1, true))
    assert.same(CONTENTS[4], body.contents[4])
    assert.is_true(warned(result, "reasoning"))
  end)

  it("writes a message that occurs twice anew the second time", function()
    local body = run(gemini(), edits(function(messages)
      messages[#messages + 1] = messages[1]
    end))
    assert.equal(CONTENTS[1].parts[1].text, body.contents[#body.contents].parts[1].text)
  end)

  it("trims around a pinned message", function()
    for _, name in ipairs { "contents", "items" } do
      local chat = name == "contents" and gemini() or responses()
      local options = { set = { "token-limiter.budget=60" } }
      local _, without = run(chat, options)
      assert.is_nil(without.body:find("first", 1, true), name)
      chat:mark(chat[1].seq, "pinned")
      local _, result = run(chat, { set = { "token-limiter.budget=75" } })
      assert.truthy(result.body:find("first", 1, true), name)
      assert.is_nil(result.body:find("r1", 1, true), name)
    end
  end)

  it("renders windows as they are when it runs, after the unit in which they are", function()
    for _, name in ipairs { "contents", "items" } do
      local chat = name == "contents" and gemini() or responses()
      local shown = "one"
      chat.windows:open { id = "todo", description = "d", content = function() return shown end }
      chat:append(name == "contents" and { role = "user", parts = { { text = "last" } } }
        or { role = "user", content = "last" })
      local seen
      local options = edits(function(messages)
        seen = {}
        for _, message in ipairs(messages) do
          if message.source == "window" then seen[#seen + 1] = message.source_id end
        end
      end)
      shown = "two"
      local _, result = run(chat, options)
      assert.same({ "todo" }, seen, name)
      assert.truthy(result.body:find("two", 1, true), name)
      assert.is_nil(result.body:find("one<", 1, true), name)
      assert.truthy(result.body:find(SIGNATURE, 1, true), name)
    end
  end)
end)

describe("a pipeline of messages with files", function()
  local NOTE = { { name = "note.txt", data = "data:text/plain;base64,VGhlIG5vdGUu" } }

  local function texts(body)
    return json.encode(body.contents or body.input)
  end

  it("sends the files of contents and of items, and reports none of them lost", function()
    for _, chat in ipairs {
      gemini { { role = "user", parts = { { text = "look" } }, attachments = NOTE } },
      responses { { role = "user", content = "look", attachments = NOTE } },
    } do
      local body, result = run(chat)
      assert.truthy(texts(body):find("The note.", 1, true), result.body)
      assert.is_false(warned(result, "lost_member"))
    end
  end)

  it("sends those of an input, whatever form the conversation has", function()
    for _, chat in ipairs { gemini(), responses() } do
      chat:input("and this", { NOTE[1] })
      local body, result = run(chat)
      assert.truthy(texts(body):find("The note.", 1, true), result.body)
      assert.same({}, (assert(ebb.parse(result.body)):check()))
    end
  end)
end)

describe("a pipeline of a body in its target's own form", function()
  local GEMINI = [[{"model":"gemini-2.5-pro","system_instruction":{"parts":[{"text":"Be brief."}]},
    "tools":[{"googleSearch":{}},{"functionDeclarations":[{"name":"f","parameters":{"type":"OBJECT"}}]}],
    "generationConfig":{"responseModalities":["TEXT"],"topK": 4},"safetySettings":[{"category":"C","threshold":"T"}],
    "labels":{"a":"b"},"contents":[{"role":"user","parts":[{"text":"hi"}]}]}]]
  local RESPONSES = [[{"model":"gpt-5","store":false,"include":["reasoning.encrypted_content"],"instructions":"Brief.",
    "reasoning":{"effort":"low","summary":"auto"},"text":{"verbosity":"low"},"tools":[{"type":"web_search"}],
    "input":[{"role":"user","content":"hi"}]}]]

  --- The members of a request that its source does not have, or has otherwise.
  local function changes(source, options)
    local chat = assert(ebb.parse(source, { encoding = "cjk" }))
    options.encoding = "cjk"
    local result = assert(ebb.pipeline(options):run(chat))
    local before, after, list = json.decode(source), json.decode(result.body), {}
    for name in pairs(before) do
      local is_same = after[name] ~= nil and json.encode(before[name]) == json.encode(after[name])
      if not is_same then list[name] = after[name] == nil and "gone" or after[name] end
    end
    for name, value in pairs(after) do
      if before[name] == nil then list[name] = value end
    end
    return list, result
  end

  it("keeps the settings that only that form has, and reports none of them lost", function()
    for _, source in ipairs { GEMINI, RESPONSES } do
      local list, result = changes(source, {})
      assert.same(source == GEMINI and {} or { input = list.input, instructions = "gone" }, list)
      assert.same({}, result.losses)
    end
  end)

  it("sets what the agent says next to them", function()
    local agent = { parameters = { temperature = 0.5, max_completion_tokens = 50 } }
    local list = changes(GEMINI, { agent = agent })
    assert.same({ responseModalities = { "TEXT" }, topK = 4, temperature = 0.5, maxOutputTokens = 50 },
      list.generationConfig)
    assert.equal(50, changes(RESPONSES, { agent = agent }).max_output_tokens)
  end)

  it("still reports what a form of others leaves out", function()
    local chat = assert(ebb.parse(GEMINI, { encoding = "cjk" }))
    local result, subjects = assert(ebb.pipeline { to = "anthropic", encoding = "cjk" }:run(chat)), {}
    for _, loss in ipairs(result.losses) do subjects[loss.subject] = loss.code end
    assert.same({ "lost_member", "lost_member" }, { subjects.safetySettings, subjects.labels })
  end)
end)

describe("a pipeline of items of Responses", function()
  it("writes what no processor changed as it was, with ids and encrypted reasoning", function()
    local body = run(responses())
    assert.same(ITEMS, body.input)
  end)

  it("keeps items next to an edited message", function()
    local body = run(responses(), edits(function(messages) messages[1].content = "edited" end))
    assert.equal("edited", body.input[1].content)
    assert.same({ table.unpack(ITEMS, 2) }, { table.unpack(body.input, 2) })
  end)

  it("leaves out reasoning whose call was edited", function()
    local body, result = run(responses(), edits(function(messages) messages[3].content = "cut" end))
    for _, item in ipairs(body.input) do assert.is_nil(item.encrypted_content) end
    assert.is_true(warned(result, "reasoning"))
  end)

  it("says what another dialect's form leaves out", function()
    local _, result = run(responses(), { to = "anthropic" })
    assert.equal("anthropic", result.dialect)
    assert.is_true(warned(result, "reasoning"))
  end)
end)
