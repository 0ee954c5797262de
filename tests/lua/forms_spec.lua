--- Conversations whose messages have `parts`, or are items without a role: they are read, trimmed
-- and written like all others.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb

local BIG = ("word "):rep(200)

--- Calls without ids, two of one name; a call with an id.
local PARTS = {
  { role = "user", parts = { { text = "hi" } } },
  { role = "model", parts = { { functionCall = { name = "f", args = { a = 1 } }, thoughtSignature = "s" },
    { functionCall = { name = "f", args = { a = 2 } } } } },
  { role = "user", parts = { { functionResponse = { name = "f", response = { output = BIG } } },
    { functionResponse = { name = "f", response = { error = BIG } } } } },
  { role = "model", parts = { { text = BIG } } },
  { role = "user", parts = { { text = "again" } } },
  { role = "model", parts = { { functionCall = { name = "g", id = "x", args = { a = 1 } } } } },
  { role = "user", parts = { { functionResponse = { name = "g", id = "x", response = { k = BIG } } } } },
  { role = "model", parts = { { text = "done" } } },
  { role = "user", parts = { { text = "last" } } },
}

local ITEMS = {
  { role = "user", content = "hi" },
  { type = "reasoning", summary = { { type = "summary_text", text = "hm" } }, encrypted_content = "abc" },
  { type = "function_call", call_id = "a", name = "f", arguments = "{}" },
  { type = "function_call", call_id = "b", name = "f", arguments = "{}" },
  { type = "function_call_output", call_id = "a", output = BIG },
  { type = "function_call_output", call_id = "b", output = { { type = "input_text", text = BIG } } },
  { type = "message", role = "assistant", content = { { type = "output_text", text = BIG } } },
  { role = "user", content = "again" },
  { type = "function_call", call_id = "c", name = "f", arguments = "{}" },
  { type = "function_call_output", call_id = "c", output = BIG },
  { type = "message", role = "assistant", content = { { type = "output_text", text = "done" } } },
  { role = "user", content = "last" },
}

local function chat_of(messages) return assert(ebb.conversation { encoding = "cjk", messages = messages }) end

--- The numbers of open and of all units.
local function units_of(chat)
  local open, all = 0, 0
  for unit in chat:draft():units {} do
    all = all + 1
    if unit.open then open = open + 1 end
  end
  return open, all
end

describe("messages with parts", function()
  it("have texts, calls, answers and parts", function()
    local chat = chat_of(PARTS)
    assert.equal("assistant", chat[2].role)
    assert.equal("model", chat[2].spelling)
    assert.equal("f", chat[2].calls[1].name)
    assert.is_nil(chat[2].calls[1].id)
    assert.same({ "f", "f" }, chat[3].answers)
    assert.same({ "x" }, chat[7].answers)
    assert.equal("done", chat[8].text)
    assert.equal("tool_result", chat[3].parts[1].kind)
    assert.equal("gemini", chat:dialect())
    local open, all = units_of(chat)
    assert.same({ 0, 7 }, { open, all })
  end)

  it("keep calls and results when all results are masked", function()
    local chat = chat_of(PARTS)
    assert(chat:trim { budget = 500, policy = { "mask_results", keep = 0, step = 1 } })
    local response = chat[3]:totable().parts
    assert.truthy(response[1].functionResponse.response.output:find "left out")
    assert.truthy(response[2].functionResponse.response.error:find "left out")
    assert.truthy(chat[7]:totable().parts[1].functionResponse.response.output:find "left out")
    assert.equal("x", chat[7]:totable().parts[1].functionResponse.id)
    assert.equal("s", chat[2]:totable().parts[1].thoughtSignature)
    assert.same({ 0, 7 }, { units_of(chat) })
  end)
end)

describe("items", function()
  it("have texts, calls, answers and parts", function()
    local chat = chat_of(ITEMS)
    assert.equal("reasoning", chat[2].parts[1].kind)
    assert.equal("hm", chat[2].parts[1].text)
    assert.equal("a", chat[3].calls[1].id)
    assert.equal("tool", chat[5].role)
    assert.same({ "b" }, chat[6].answers)
    assert.equal("f", chat[6].call.name)
    assert.equal("responses", chat:dialect())
    assert.same({ 0, 7 }, { units_of(chat) })
    assert.equal(5, chat[2].unit.count)
  end)

  it("keep calls and results when all results are masked", function()
    local chat = chat_of(ITEMS)
    assert(chat:trim { budget = 500, policy = { "mask_results", keep = 0, step = 1 } })
    assert.truthy(chat[5]:totable().output:find "left out")
    assert.truthy(chat[6]:totable().output[1].text:find "left out")
    assert.same({ 0, 7 }, { units_of(chat) })
  end)

  it("have no content to replace, unless they are results", function()
    local chat = chat_of(ITEMS)
    local draft = chat:draft()
    local ok, problem = pcall(draft.replace, draft, chat[3], { content = "x" }, "test")
    assert.is_false(ok)
    assert.truthy(tostring(problem):find "no content")
    assert(draft:replace(chat[5], { content = "x" }, "test"))
  end)
end)

describe("every policy", function()
  for form, messages in pairs { parts = PARTS, items = ITEMS } do
    it("trims " .. form .. " and tears nothing", function()
      for policy in pairs(ebb.policies) do
        local chat = chat_of(messages)
        local options = { policy, max_tokens = policy == "summarize" and 20 or nil,
          messages = policy == "quota" and { tool = 0 } or nil }
        chat:trim { budget = 300, policy = options, model = function() return "short" end }
        assert.equal(0, (units_of(chat)), policy)
        local again = assert(ebb.parse(chat:json()))
        assert.equal(#chat, #again)
      end
    end)
  end
end)

describe("a body with one message and no list", function()
  for name, text in pairs {
    text = '{"model":"m","input":"a\\u0041 text","instructions":"brief"}\n',
    object = '{"contents" : {"parts":{"text":"a"}} , "tools":[]}',
  } do
    it("is written back as it came, and as a list when there are more: " .. name, function()
      local chat = assert(ebb.parse(text))
      assert.equal(1, #chat)
      assert.equal("user", chat[1].role)
      assert.equal(text, chat:json())
      local saved = assert(ebb.parse(chat:json { dialect = "ebb" }))
      assert.equal(text, saved:json())
      chat:append(chat[1]:totable())
      local again = assert(ebb.parse(chat:json()))
      assert.equal(2, #again)
      chat:truncate { keep_first = 1 }
      assert.equal(text, chat:json())
      chat:truncate { keep_first = 0 }
      assert.equal(0, #assert(ebb.parse(chat:json())))
    end)
  end
end)
