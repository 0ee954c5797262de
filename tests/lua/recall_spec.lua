--- Recall on demand: handles in the place of what a trim left out, chat:recall, and the tool for models.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb

local function trimmed()
  local chat = ebb.conversation { encoding = "bytes4" }
  chat:append { role = "system", content = "You help." }
  for i = 1, 30 do
    chat:append { { role = "user", content = ("question %d about order W-%d "):format(i, i * 31):rep(3) },
      { role = "assistant", content = ("answer %d "):format(i):rep(6) } }
  end
  local report = assert(chat:trim { budget = 500, policy = { "digest", recall = true } })
  return chat, report
end

--- The name in the last handle of a chat's note.
local function name_in(chat)
  return assert(chat[2].content:match "recall (r[%d%-]+)%]$")
end

describe("A handle", function()
  it("says how much was left out, and its name", function()
    assert.equal("[3,120 tokens left out: recall r17-42]", ebb.recall.handle(3120, 17, 42))
    assert.equal("[7 tokens left out: recall r17]", ebb.recall.handle(7, 17))
    assert.same({ 1203120, 17, 42 }, { ebb.recall.read_handle("a\n" .. ebb.recall.handle(1203120, 17, 42)) })
    assert.is_nil((ebb.recall.read_handle "[cleared]"))
  end)

  it("ends the note of a digest", function()
    local chat, report = trimmed()
    local tokens, first, last = ebb.recall.read_handle(chat[2].content)
    assert.equal(2, first)
    assert.equal(report.dropped, last - first + 1)
    assert.is_true(tokens > 100)
    assert.is_true(chat:tokens() <= 500)
  end)

  it("covers earlier cuts, too, and is there once", function()
    local chat = trimmed()
    local before = ebb.recall.read_handle(chat[2].content)
    for i = 1, 20 do chat:append { role = "user", content = ("more %d of W-%d "):format(i, i):rep(5) } end
    assert(chat:trim { budget = 500, policy = { "digest", recall = true } })
    local tokens, first = ebb.recall.read_handle(chat[2].content)
    assert.is_true(tokens > before)
    assert.equal(2, first)
    assert.is_nil(chat[2].content:find("left out.*left out"))
  end)

  it("is in a shortened result", function()
    local chat = ebb.conversation { encoding = "bytes4" }
    local rows = {}
    for i = 1, 60 do rows[i] = ('{"flight": "HA-%d", "price": %d}'):format(i * 13, 1000 + i) end
    local long = "[" .. table.concat(rows, ", ") .. "]"
    chat:append { { role = "user", content = "Flights?" }, { role = "assistant", content = "", tool_calls = {
      { id = "c1", type = "function", ["function"] = { name = "search", arguments = "{}" } } } },
      { role = "tool", tool_call_id = "c1", content = long } }
    assert(chat:trim { budget = 300, policy = { "digest", recall = true } })
    local text = assert(chat:recall(chat[3].content:match "recall (r%d+)%]$"))
    assert.equal("tool: search -> " .. long, text)
  end)
end)

describe("chat:recall", function()
  it("gives what was left out, in order, and nothing that is still shown", function()
    local chat, report = trimmed()
    local text, messages = chat:recall(name_in(chat))

    assert.equal(report.dropped, #messages)
    assert.equal("user", messages[1].role)
    assert.truthy(text:find("user: question 1 about order W%-31"))
    for _, message in ipairs(messages) do assert.is_nil(message.index) end
    assert.is_nil(text:find("You help", 1, true))
    assert.is_nil(text:find("question 30 ", 1, true))
  end)

  it("gives what was appended on the way here, not what edits or other branches put there", function()
    local chat = helper.conversation "u1 a2 u3 a4"
    local function seqs()
      local list = {}
      for i, message in ipairs(select(2, chat:recall "r1-99")) do
        list[i] = message.seq
      end
      return table.concat(list, " ")
    end
    chat:insert(2, { role = "user", content = "inserted" })      -- seq 5
    chat:truncate { keep_last = 1 }
    local first = chat:stats().current_batch_index
    assert.equal("1 2 3", seqs())
    chat:rollback(0)
    chat:append { role = "user", content = "appended" }          -- seq 6
    chat:truncate { keep_last = 1 }
    assert.equal("1 2 3 4", seqs())
    chat:rollback(first)
    assert.equal("1 2 3", seqs())
    chat:prune()
    assert.equal("4", seqs())
  end)

  it("leaves out the notes of earlier cuts", function()
    local chat = trimmed()
    for i = 1, 20 do chat:append { role = "user", content = ("more %d of W-%d "):format(i, i):rep(5) } end
    assert(chat:trim { budget = 500, policy = { "digest", recall = true } })
    local text = assert(chat:recall(name_in(chat)))
    assert.is_nil(text:find("From earlier messages", 1, true))
    assert.truthy(text:find("question 1 about", 1, true))
    assert.truthy(text:find("more 1 of W-1", 1, true))
  end)

  it("gives as many tokens as it may, and a handle for the rest", function()
    local chat = trimmed()
    local name = name_in(chat)
    local whole, seen = #select(2, chat:recall(name)), 0
    repeat
      local text = assert(chat:recall(name, { tokens = 60 }))
      local _, shown = text:gsub("question %d+ about", "")
      local _, answers = text:gsub("answer %d+ ", "")
      seen = seen + (shown > 0 and shown // 3 or 0) + (answers > 0 and answers // 6 or 0)
      name = text:match "recall (r[%d%-]+)%]$"
    until not name
    assert.equal(whole, seen)
  end)

  it("holds for the original file, whose messages have the same numbers", function()
    local chat = trimmed()
    local name = name_in(chat)
    local expected = chat:recall(name)
    chat:rollback(0)
    local original = assert(ebb.parse(chat:json(), { encoding = "bytes4" }))
    assert.equal(expected, (original:recall(name)))
  end)

  it("holds in forks, and does not see other branches", function()
    local chat = trimmed()
    local name = name_in(chat)
    assert.equal((chat:recall(name)), (chat:fork():recall(name)))
    chat:rollback(0, 10)
    local text = assert(chat:recall(name))
    assert.truthy(text:find("question 4 about", 1, true))
    assert.is_nil(text:find("question 6 about", 1, true))
  end)

  it("says which names there cannot be", function()
    local chat = trimmed()
    for _, row in ipairs { { "17", "unknown_name" }, { "r9-3", "unknown_name" }, { "r", "unknown_name" },
      { "r900-950", "absent" } } do
      local _, message, code = helper.outcome(chat:recall(row[1]))
      assert.equal(row[2], code)
      assert.truthy(message:find(row[1], 1, true))
    end
    assert.has_error(function() chat:recall(17) end)
    assert.has_error(function() chat:recall("r2", { token = 5 }) end)
  end)
end)

describe("The tool recall", function()
  it("is defined for each dialect", function()
    assert.equal("recall", ebb.recall.tool()["function"].name)
    assert.equal("recall", ebb.recall.tool("anthropic").name)
    assert.equal("string", ebb.recall.tool("anthropic").input_schema.properties.name.type)
    assert.equal("recall", ebb.recall.tool("responses").name)
    assert.equal("recall", ebb.recall.tool("gemini").name)
    assert.has_error(function() ebb.recall.tool "smalltalk" end)
  end)

  it("is answered, once, in the form of the call", function()
    local chat = trimmed()
    local name = name_in(chat)
    chat:append { role = "assistant", content = "", tool_calls = {
      { id = "c1", type = "function", ["function"] = { name = "recall", arguments = ('{"name": "%s"}'):format(name) } },
      { id = "c2", type = "function", ["function"] = { name = "recall", arguments = '{"name": "r999"}' } } } }

    assert.equal(2, ebb.recall.answer(chat, { tokens = 60 }))
    assert.truthy(chat[#chat - 1].content:find("question 1 about", 1, true))
    assert.truthy(chat[#chat].content:find("error: nothing is stored under 'r999'", 1, true))
    assert.same({}, chat:check "openai")
    assert.equal(0, ebb.recall.answer(chat))
  end)

  it("also in the form of Anthropic: all results in one message", function()
    local chat = trimmed()
    chat:append { role = "assistant", content = {
      { type = "tool_use", id = "c1", name = "recall", input = { name = name_in(chat) } },
      { type = "tool_use", id = "c2", name = "recall", input = { name = "r2" } } } }
    assert.equal(2, ebb.recall.answer(chat, { tokens = 60 }))
    assert.equal("user", chat[#chat].role)
    assert.truthy(chat[#chat].content[1].content:find("question 1 about", 1, true))
    assert.equal("c2", chat[#chat].content[2].tool_use_id)
    assert.equal(0, ebb.recall.answer(chat))
  end)

  it("leaves other calls alone", function()
    local chat = trimmed()
    assert.equal(0, ebb.recall.answer(chat))
    chat:append { role = "assistant", content = "", tool_calls = {
      { id = "c1", type = "function", ["function"] = { name = "search", arguments = "{}" } } } }
    assert.equal(0, ebb.recall.answer(chat))
  end)
end)
