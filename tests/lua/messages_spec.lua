--- Messages: roles, content, parts, calls, units, turns.

local helper = dofile "tests/lua/helper.lua"
local ebb, conversation, texts, refusal = helper.ebb, helper.conversation, helper.texts, helper.refusal

local function with(...)
  local chat = ebb.conversation { encoding = "bytes4" }
  chat:append { ... }
  return chat
end

describe("roles", function()
  it("have spellings, which are kept", function()
    local chat = with({ role = "developer", content = "x" }, { role = "function", name = "f", content = "y" })
    assert.same({ "system", "developer" }, { chat[1].role, chat[1].spelling })
    assert.same({ "tool", "function" }, { chat[2].role, chat[2].spelling })
    assert.equal("developer", chat[1]:totable().role)
  end)

  it("that are unknown are refused", function()
    for _, role in ipairs { "boss", "", "User", "window" } do
      local chat = with({ role = "user", content = "x" })
      assert.equal("role", refusal(chat.append, chat, { role = role, content = "x" }).code)
      local none, why, code = helper.outcome(ebb.parse(ebb.json.encode { { role = role, content = "x" } }))
      assert.is_nil(none)
      assert.equal("role", code)
      assert.equal("string", type(why))
    end
  end)
end)

describe("content", function()
  local calls = { { id = "c1", type = "function", ["function"] = { name = "f", arguments = '{"a": 1}' } } }

  it("may be an empty string", function() assert.equal("", with({ role = "user", content = "" })[1].content) end)

  it("may be absent or null next to calls, function_call, refusal, audio", function()
    for _, message in ipairs {
      { role = "assistant", tool_calls = calls },
      { role = "assistant", tool_calls = calls, content = ebb.null },
      { role = "assistant", content = ebb.null, function_call = { name = "f", arguments = "{}" } },
      { role = "assistant", content = ebb.null, refusal = "no" },
      { role = "assistant", audio = { id = "a1" } },
    } do
      assert.is_nil(with(message)[1].content)
    end
  end)

  it("is missed elsewhere", function()
    local chat = with({ role = "user", content = "x" })
    for _, message in ipairs { { role = "user" }, { role = "user", content = ebb.null }, { role = "user", content = 5 },
      { content = "x" }, { role = "assistant", tool_calls = ebb.json.array {} } } do
      assert.truthy(refusal(chat.append, chat, message).code, ebb.json.encode(message))
    end
  end)

  it("has parts of all kinds; unknown ones are kept", function()
    local chat = with({ role = "user", content = {
      { type = "text", text = "see" },
      { type = "image_url", image_url = { url = "https://example.org/a.png" } },
      { type = "input_audio", input_audio = { data = "", format = "wav" } },
      { type = "hologram", depth = 3 },
      { type = "text", text = "this" },
    } })
    local kinds = {}
    for i, part in ipairs(chat[1].parts) do
      kinds[i] = part.kind
    end
    assert.same({ "text", "image", "audio", "other", "text" }, kinds)
    assert.equal("see\nthis", chat[1].text)
    assert.equal("hologram", chat[1]:totable().content[4].type)
    assert.equal(4, #chat[1]:without("image").content)
  end)

  it("the text joins all parts, escaped, empty and long ones", function()
    local parts, texts_of_parts = {}, {}
    for i = 1, 3000 do
      texts_of_parts[i] = i % 3 == 0 and "" or ("\n\"é😀" .. i):rep(i % 7)
      parts[i] = { type = "text", text = texts_of_parts[i] }
    end
    local chat = ebb.conversation()
    chat:append { { role = "user", content = parts }, { role = "user", content = ebb.json.array {} } }
    assert.equal(table.concat(texts_of_parts, "\n"), chat[1].text)
    assert.equal("", chat[2].text)
  end)

  it("a string is one text part; arguments count as text", function()
    local chat = with({ role = "assistant", content = "look", tool_calls = calls })
    assert.same({ "text", "look" }, { chat[1].parts[1].kind, chat[1].parts[1].text })
    assert.equal('look\n{"a": 1}', chat[1].text)
  end)

  it("arguments stay byte-exact", function()
    local raw = '[{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":'
      .. '{"name":"f","arguments":"{\\"a\\":\\u0031,  \\"b\\":1.0}"}}]}]'
    local chat = assert(ebb.parse(raw))
    assert.equal('{"a":1,  "b":1.0}', chat[1].calls[1].arguments)
    assert.equal(raw, chat:json())
  end)
end)

describe("optional fields", function()
  it("survive, unknown ones included", function()
    local chat = with({ role = "user", content = "x", id = "m1", name = "eve", timestamp = 5, metadata = { key = "k" },
      score = { 1, 2 } })
    local message = chat[1]
    assert.same({ "m1", "eve", 5, "k" }, { message.id, message.name, message.timestamp, message.metadata.key })
    assert.same({ 1, 2 }, message:totable().score)
  end)

  it("seq is given by the conversation", function()
    local chat = with({ role = "user", content = "x", seq = 99 }, { role = "user", content = "y" })
    assert.same({ 1, 2 }, { chat[1].seq, chat[2].seq })
  end)

  it("a timestamp is a whole number", function()
    local chat = with({ role = "user", content = "x" })
    assert.truthy(refusal(chat.append, chat, { role = "user", content = "x", timestamp = 1.5 }).code)
  end)
end)

describe("units", function()
  --- The units as "[u1][c2(x) r3(x)]", open ones with ?, pending ones with ??.
  local function units(words)
    local found = {}
    local chat = conversation(words)
    local policy = function(draft)
      for unit in draft:units {} do
        local mark = unit.pending and "??" or unit.open and "?" or ""
        found[#found + 1] = ("[%s]%s"):format(texts(unit.messages), mark)
      end
    end
    assert(chat:trim { budget = 10000, policy = policy, dry_run = true })
    return table.concat(found)
  end

  local cases = {
    { "u1 a2",                              "[u1][a2]" },
    { "u1 c2(x) r3(x) a4",                  "[u1][c2(x) r3(x)][a4]" },
    { "c1(x,y) r2(y) r3(x)",                "[c1(x,y) r2(y) r3(x)]" },
    { "c1(x) r2(x) c3(x) r4(x)",            "[c1(x) r2(x)][c3(x) r4(x)]" },
    { "u1 c2(x,y) r3(x)",                   "[u1][c2(x,y) r3(x)]??" },
    { "c1(x) u2",                           "[c1(x)]?[u2]" },
    { "r1(x) u2",                           "[r1(x)][u2]" },
    { "c1(x) c2(x) r3(x) u4",               "[c1(x)]?[c2(x) r3(x)][u4]" },
  }
  for _, case in ipairs(cases) do
    it(case[1], function() assert.equal(case[2], units(case[1])) end)
  end

  it("follow the visible list", function()
    local chat = conversation "u1 c2(x) r3(x) u4"
    assert.equal(2, chat[2].unit.count)
    chat:filter { roles = { "user", "assistant" } }
    assert.same({ 1, true }, { chat[2].unit.count, chat[2].unit.open })
  end)

  it("a replacement takes over links and marks", function()
    local chat = conversation "u1 c2(x) r3(x)! u4"
    chat:replace(3, { role = "tool", tool_call_id = "x", content = "r9(x)" })
    assert.equal("c2(x) r9(x)", texts(chat[2].unit.messages))
    assert.equal("f_x", chat[3].call.name)
    assert.same({ "pinned" }, chat[3].marks)
  end)
end)

describe("turns and ages", function()
  it("begin with user messages", function()
    local chat, turns = conversation "s1 u2 a3 u4 a5 a6", {}
    assert(chat:trim { budget = 1000, dry_run = true, policy = function(draft)
      for turn in draft:turns {} do
        turns[#turns + 1] = texts(turn.messages)
      end
    end })
    assert.same({ "u2 a3", "u4 a5 a6" }, { turns[#turns - 1], turns[#turns] })
    assert.same({ 0, 0, 0 }, { chat[6].age.messages, chat[6].age.units, chat[6].age.turns })
    assert.same({ 4, 4, 1 }, { chat[2].age.messages, chat[2].age.units, chat[2].age.turns })
  end)
end)

describe("handles", function()
  it("may be kept: index is where the message is now", function()
    local chat = conversation "u1 u2 u3"
    local second = chat[2]
    chat:truncate { remove_first = 1 }
    assert.equal(1, second.index)
    chat:truncate { remove_first = 1 }
    assert.is_nil(second.index)
    assert.equal("u2", second.content)
  end)
end)

describe("bad input", function()
  local cases = {
    -- text                                                            code
    { '[{"role":"user","content":"x"}',                                "syntax" },
    { '[{"role":"user","content":"x"},]',                              "syntax" },
    { '[{"role":"user","content":"\xff"}]',                            "encoding" },
    { '[{"role":"user","role":"user","content":"x"}]',                 "duplicate" },
    { '[{"role":"user","content":"x","id":"a"},{"role":"user","content":"y","id":"a"}]', "duplicate" },
    { '[5]',                                                           "shape" },
    { '{"role":"user"',                                                "syntax" },
  }
  for _, case in ipairs(cases) do
    it(("%q"):format(case[1]), function()
      local chat, why, code = helper.outcome(ebb.parse(case[1]))
      assert.is_nil(chat)
      assert.equal(case[2], code)
      assert.truthy(why:find ":%d+:%d+", why)
    end)
  end

  it("caps are refusals", function()
    local long = ('[{"role":"user","content":"%s"}]'):format(("x"):rep(1000))
    local _, _, code = helper.outcome(ebb.parse(long, { max_message = 500 }))
    assert.equal("limit", code)
    _, _, code = helper.outcome(ebb.parse(long, { max_file = 500 }))
    assert.equal("limit", code)
  end)
end)
