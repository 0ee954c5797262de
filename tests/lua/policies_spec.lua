--- The built-in policies one by one. keep_turns: the table of the first design
--- document, step by step, and conversations that do not look like it.

local helper = dofile "tests/lua/helper.lua"
local conversation, texts = helper.conversation, helper.texts
local gate = dofile "tests/lua/growth_gate.lua"

local overhead = conversation(""):tokens()

--- A system message, ten turns, windows (w: a user message with the mark), of which
--- the older of each is obsolete. The second and the ninth turn show one.
local function ten_turns()
  local words = { "s10" }
  for turn = 1, 10 do
    words[#words + 1] = ("u%d"):format(10 + turn)
    if turn == 2 or turn == 5 or turn == 9 then words[#words + 1] = ("a%d"):format(100 + turn) end
    words[#words + 1] = ("a%d"):format(30 + turn)
  end
  local chat = conversation(table.concat(words, " "))
  for i, message in ipairs(chat) do
    if message.content == "a102" then chat:mark(i, "window"); chat:mark(i, "obsolete") end
    if message.content == "a105" or message.content == "a109" then chat:mark(i, "window") end
  end
  return chat
end

--- Trims the conversation to a budget; returns the texts that are left.
local function left(chat, budget, options)
  options = options or {}
  options[1] = "keep_turns"
  local fork = chat:fork()
  assert(fork:trim { budget = budget + overhead, policy = options })
  return " " .. texts(fork) .. " "
end

local function goes(chat, budget, gone, stays)
  local words = left(chat, budget)
  for word in gone:gmatch "%S+" do
    assert.is_nil(words:find(" " .. word .. " ", 1, true), word .. " is there: " .. words)
  end
  for word in stays:gmatch "%S+" do
    assert.truthy(words:find(" " .. word .. " ", 1, true), word .. " is gone: " .. words)
  end
end

describe("keep_turns on ten turns with windows", function()
  local chat = ten_turns()
  local all = chat:tokens() - overhead
  local old = 0   -- users and assistants of the first seven turns
  for turn = 1, 7 do
    old = old + 10 + turn + 30 + turn
  end

  local rows = {
    { "all fits: nothing goes",               all,                        "", "s10 u11 a31 a102 u20 a40" },
    { "obsolete items go first",              all - 1,                    "a102", "s10 u11 a31 u12 a105 a109 u20" },
    { "then old turns, the oldest first",     all - 102 - 1,              "a102 u11", "a31 u12 a105 u18 a38" },
    { "no more of them than needed",          all - 102 - 11 - 31,        "u11 a31", "u12 a32 a105" },
    { "active windows outlast old turns",     all - 102 - old,            "u11 a31 u17 a37",
      "s10 a105 u18 a38 a109 u20" },
    { "then windows of old turns",            all - 102 - old - 1,        "a105", "s10 u18 a38 u19 a109 a39 u20 a40" },
    { "then windows of the last turns",       all - 102 - old - 105 - 1,  "a109", "s10 u18 a38 u19 a39 u20 a40" },
    { "then the last turns, the oldest first", all - 102 - old - 105 - 109 - 1, "u18", "s10 a38 u19 a39 u20 a40" },
    { "at last all but the guarded",          30,                         "a38 u19 a109 a39 a40", "s10 u20" },
  }
  for _, row in ipairs(rows) do
    it(row[1], function() goes(chat, row[2], row[3], row[4]) end)
  end

  it("an obsolete item in a protected turn goes first too", function()
    local other = ten_turns()
    for i, message in ipairs(other) do
      if message.content == "a109" then other:mark(i, "obsolete") end
    end
    goes(other, all - 102 - 1, "a102 a109", "u11 a31 u12")
  end)

  it("the number of turns and the names of marks are options", function()
    assert.truthy(left(chat, 400, { turns = 9 }):find(" u12 ", 1, true) == nil)
    assert.truthy(left(chat, all - 102 - 1, { turns = 10 }):find(" a31 ", 1, true))
    assert.is_nil(left(chat, all - 1, { obsolete = "old", window = "pane" }):find(" u11 ", 1, true))
    assert.equal(" s10 u20 ", left(chat, 30, { turns = 0 }))
  end)

  it("what cannot fit is refused", function()
    local _, _, code = helper.outcome(chat:fork():trim { budget = 29 + overhead, policy = "keep_turns" })
    assert.equal("cannot_fit", code)
  end)
end)

describe("keep_turns on other conversations", function()
  local rows = {
    { "an agent's log with one user message", "s10 u20 c9(a) r50(a) c9(b) r50(b) c9(c) r50(c) a5",  100,
      "s10 u20 c9(c) r50(c) a5" },
    { "one that still waits for a result",    "s10 u20 c9(a) r50(a) c9(b)",                          40,
      "s10 u20 c9(b)" },
    { "one without a user message",           "s10 a20 a30 a40",                                     55, "s10 a40" },
    { "what stands before the first turn",    "s10 a20 u5 a5 u5",                                    25,
      "s10 u5 a5 u5" },
    { "an empty one",                         "",                                                     0, "" },
  }
  for _, row in ipairs(rows) do
    it(row[1], function()
      local chat = conversation(row[2])
      assert(chat:trim { budget = row[3] + overhead, policy = "keep_turns" })
      assert.equal(row[4], texts(chat))
    end)
  end
end)

describe("stable_prefix", function()
  --- Trims before every request, and counts how often the beginning changes.
  local function requests(trim_one)
    local chat, before, changes, fills = conversation "s10", "", 0, 0
    for turn = 1, 200 do
      chat:append(helper.messages(("u10 a%d"):format(10 + turn % 7)))
      local view = trim_one(chat, turn)
      local now, tokens = texts(view), view:tokens()
      assert.is_true(tokens <= 500 + overhead)
      if now:sub(1, #before) ~= before then changes = changes + 1 end
      before, fills = now, fills + tokens / 500
    end
    return changes, fills / 200
  end

  it("keeps the beginning for many requests, on a conversation that stays trimmed", function()
    local changes, fill = requests(function(chat)
      assert(chat:trim { budget = 500 + overhead, policy = "stable_prefix" })
      return chat
    end)
    assert.is_true(changes <= 22, tostring(changes))
    assert.is_true(fill >= 0.7, tostring(fill))
  end)

  it("and on the whole history, trimmed anew for each", function()
    local changes, fill = requests(function(chat)
      local view = chat:fork()
      assert(view:trim { budget = 500 + overhead, policy = "stable_prefix" })
      return view
    end)
    assert.is_true(changes <= 22, tostring(changes))
    assert.is_true(fill >= 0.7, tostring(fill))
  end)

  it("keep_recent does not", function()
    local changes = requests(function(chat)
      assert(chat:trim { budget = 500 + overhead })
      return chat
    end)
    assert.is_true(changes > 150, tostring(changes))
  end)

  it("marks and the grid are options", function()
    local chat = conversation "u100 u100 u100 u100 u100"
    assert(chat:fork():trim { budget = 500 + overhead, policy = { "stable_prefix", high = 0.9, low = 0.4 } })
    local rows = { { { high = 0.9, low = 0.4 }, 2 }, { { grid = 150 }, 5 }, { { high = 0.8, low = 0, grid = 150 }, 3 } }
    for _, row in ipairs(rows) do
      local fork = chat:fork()
      assert(fork:trim { budget = 500 + overhead, policy = { "stable_prefix", high = row[1].high, low = row[1].low,
        grid = row[1].grid } })
      assert.equal(row[2], #fork)
    end
  end)
end)

describe("quota", function()
  local words = "s1 u2 a2 c3(x) r20(x) u4 c3(y) r30(y) a2 u5"
  local rows = {
    { "the newest of a role stay",         { messages = { tool = 1 } },              "s1 u2 a2 u4 c3(y) r30(y) a2 u5" },
    { "tokens count too",                  { tokens = { tool = 40 } },               "s1 u2 a2 u4 c3(y) r30(y) a2 u5" },
    { "both at once",                      { messages = { user = 2 }, tokens = { tool = 0 } }, "s1 a2 u4 a2 u5" },
    { "the guarded stay over their quota", { messages = { user = 0, system = 0 } },
       "s1 a2 c3(x) r20(x) c3(y) r30(y) a2 u5" },
  }
  for _, row in ipairs(rows) do
    it(row[1], function()
      local chat = conversation(words)
      row[2][1] = "quota"
      assert(chat:trim { budget = 1000, policy = row[2] })
      assert.equal(row[3], texts(chat))
    end)
  end

end)

describe("options that do not go together are refused before anything runs:", function()
  local rows = {
    { "quota needs messages or tokens", { "quota" } },
    { "unknown role 'robot'", { "quota", messages = { robot = 1 } } },
    { "whole number from 0, not -1", { "quota", messages = { user = -1 } } },
    { "whole number from 0, not 1.5", { "quota", tokens = { user = 1.5 } } },
    { "low must be below high", { "stable_prefix", high = 0.5, low = 0.5 } },
    { "start_on goes with the strategy 'last' only", { "trim_messages", strategy = "first", start_on = { "user" } } },
    { "include_system goes with the strategy 'last' only",
      { "trim_messages", strategy = "first", include_system = true } },
    { "end_on: unknown role 'robot'", { "trim_messages", end_on = { "robot" } } },
    { "got minutes = 5", { "clear_tool_uses", trigger = { minutes = 5 } } },
    { "got minutes = 5", { "clear_tool_uses", trigger = { { messages = 1 }, { type = "minutes", value = 5 } } } },
    { "a number, got 3", { "clear_tool_uses", trigger = { 3 } } },
    { "got 'some'", { "prune_messages", tool_calls = { "some" } } },
    { "got 'some'", { "prune_messages", tool_calls = { { type = "some", tools = { "f" } } } } },
    { "expected a list of tools, got f", { "prune_messages", tool_calls = { { type = "all", tools = "f" } } } },
  }
  for _, row in ipairs(rows) do
    it(("%s: %s"):format(row[2][1], row[1]), function()
      local chat = conversation "u1 c1(x) r50(x) u1"
      local before = helper.snapshot(chat)
      local problem = helper.refusal(chat.trim, chat, { budget = 1000, policy = row[2] })
      assert.equal("argument", problem.code)
      assert.matches(row[1], problem.message, 1, true)
      assert.equal(before, helper.snapshot(chat))
    end)
  end
end)

describe("supersede", function()
  local function keyed(words, keys)
    local chat = helper.ebb.conversation { counter = helper.tokens_of }
    for i, message in ipairs(helper.messages(words)) do
      message.metadata = keys[i] and { key = keys[i] } or nil
      chat:append(message)
    end
    return chat
  end

  it("keeps the newest of a key, and what has none", function()
    local chat = keyed("u1 a2 u3 a4 u5 u6", { "todo", "note", "todo", false, "todo", false })
    assert(chat:trim { budget = 1000, policy = "supersede" })
    assert.equal("a2 a4 u5 u6", texts(chat))
  end)

  it("empties results and leaves them next to their calls", function()
    local chat = keyed("u1 c1(x,y) r9(x) r9(y) c1(z) r9(z) u2", { nil, nil, "file", "other", nil, "file", nil })
    assert(chat:trim { budget = 1000, policy = "supersede" })
    assert.equal("u1 c1(x,y) [superseded] r9(y) c1(z) r9(z) u2", texts(chat))
  end)

  it("leaves JSON valid, and what would not get smaller", function()
    local long = '{"text": "' .. ("word "):rep(50) .. '"}'
    local chat = helper.ebb.conversation()
    chat:append { role = "user", content = "q" }
    for i, text in ipairs { long, "x", long } do
      chat:append { { role = "assistant", tool_calls = { { id = "c" .. i, type = "function",
        ["function"] = { name = "f", arguments = "{}" } } } },
        { role = "tool", tool_call_id = "c" .. i, content = text, metadata = { key = "k" } } }
    end
    chat:append { role = "user", content = "z" }
    assert(chat:trim { budget = 1 << 20, policy = { "supersede", by = { "key" } } })
    assert.same({ '"[superseded]"', "x", long }, { chat[3].content, chat[5].content, chat[7].content })
  end)

  it("knows keys by other names, and none that is no text or number", function()
    local chat = helper.ebb.conversation()
    for _, path in ipairs { "a", "a", false, false, "b" } do
      chat:append { role = "assistant", content = "x", metadata = { file = path } }
    end
    assert(chat:trim { budget = 1000, policy = { "supersede", key = "file" } })
    assert.equal(4, #chat)
  end)
end)

describe("clear_tool_uses", function()
  it("acts only once the trigger is passed, by default the budget", function()
    local chat = conversation "u1 c1(x) r50(x) c1(y) r50(y) u1"
    local function cleared(trigger, budget)
      local report = chat:fork():trim { budget = budget or 1000, policy = { "clear_tool_uses", keep = 0,
        trigger = trigger } }
      return report and report.replaced
    end
    local total = chat:tokens()
    assert.same({ 0, 2 }, { cleared { input_tokens = total }, cleared { input_tokens = total - 1 } })
    assert.same({ 0, 2 }, { cleared { tool_uses = 2 }, cleared { type = "tool_uses", value = 1 } })
    assert.same({ 0, 2 }, { cleared(nil, total), cleared(nil, total - 1) })
  end)

  it("notes what it does not do for less than clear_at_least", function()
    local chat = conversation "u1 c1(x) r50(x) u1"
    local report = assert(chat:trim { budget = 1000, policy = { "clear_tool_uses", keep = 0, trigger = { messages = 1 },
      clear_at_least = 60 } })
    assert.equal(0, report.replaced)
    assert.equal(1, #report.ledger:notes())
  end)

  it("keeps the newest results of a message that has several", function()
    local calls, parts = helper.ebb.json.array {}, helper.ebb.json.array {}
    for i = 1, 4 do
      calls[i] = { type = "tool_use", id = "c" .. i, name = "read", input = { n = i } }
      parts[i] = { type = "tool_result", tool_use_id = "c" .. i, content = "result " .. i }
    end
    local chat = helper.ebb.conversation()
    chat:append { { role = "user", content = "q" }, { role = "assistant", content = calls },
      { role = "user", content = parts }, { role = "assistant", content = "a" }, { role = "user", content = "z" } }
    assert(chat:trim { budget = 1 << 20, policy = { "clear_tool_uses", keep = 3, trigger = { tool_uses = 1 },
      clear_tool_inputs = true } })
    local words = {}
    for i, part in ipairs(chat[3].content) do
      words[i] = part.content .. (next(chat[2].content[i].input) and "" or ", no input")
    end
    assert.same({ "[cleared], no input", "result 2", "result 3", "result 4" }, words)
  end)

  it("clears only once", function()
    local chat = conversation "u1 c1(x) r50(x) u1"
    for expected = 1, 0, -1 do
      local report = assert(chat:trim { budget = 1000, policy = { "clear_tool_uses", keep = 0,
        trigger = { messages = 1 } } })
      assert.equal(expected, report.replaced)
    end
  end)
end)

describe("trim_messages", function()
  it("passes over what is guarded, without trying it", function()
    local chat = conversation "s5 u20 a20! u20 a20 u5"
    local report = assert(chat:trim { budget = 40 + overhead, policy = { "trim_messages", start_on = "user",
      end_on = "tool" } })
    assert.equal("s5 a20! u5", texts(chat))
    assert.equal(0, report.refused)
  end)

  it("counts the system message of include_system apart from start_on", function()
    local rows = {
      { "s5 u10 a5 u5",  "last user message", "s5 u5", false },
      { "s5 a10 a5 u5",  "after it",          "s5 u5", false },
      { "s5 s4 a5 u5",   "a second one",      "s5 s4 a5 u5", true },
      { "s5 a5 a5",      "none",              "s5", false },
    }
    for _, row in ipairs(rows) do
      local chat = conversation(row[1])
      assert(chat:trim { budget = 12 + overhead + (row[4] and 10 or 0), guards = false, policy = { "trim_messages",
        include_system = true, start_on = { "system", "human" } } })
      assert.equal(row[3], texts(chat), row[2])
    end
  end)

  it("keeps calls and results together, and cuts neither them nor system messages", function()
    local rows = {
      { "u5 c20(x) r20(x) a5 u5", 30, "a5 u5" },
      { "s40 u5",                 20, "u5" },
    }
    for _, row in ipairs(rows) do
      local chat = conversation(row[1])
      assert(chat:trim { budget = row[2] + overhead, guards = false, policy = { "trim_messages", allow_partial = true,
        split_by = "characters" } })
      assert.equal(row[3], texts(chat))
    end
  end)

  it("cuts the text next to the border, and no message that start_on would drop", function()
    local function count(message)
      local text = type(message.content) == "string" and message.content or message.text
      return #text
    end
    local chat = helper.ebb.conversation { counter = count }
    chat:append { { role = "user", content = { { type = "text", text = "one two three" },
      { type = "text", text = "four five" } } }, { role = "user", content = "end" } }
    local small = chat:fork()
    assert(small:trim { budget = 8 + overhead, policy = { "trim_messages", allow_partial = true, split_by = "words" } })
    assert.same({ "five", "end" }, { small[1].content, small[2].content })
    local report = assert(chat:trim { budget = 8 + overhead, policy = { "trim_messages", allow_partial = true,
      split_by = "words", start_on = "assistant" } })
    assert.equal(0, report.replaced)
  end)
end)

describe("summarize", function()
  it("puts its message before a unit that lies around the place", function()
    local chat = conversation "c1(x) a50 r1(x) a50 u5"
    chat:mark(1, "pinned")
    assert(chat:trim { budget = 40 + overhead, policy = { "summarize", keep = 0, heading = "a1", max_tokens = 1 },
      model = function() return "said" end })
    assert.equal("a1\nsaid c1(x) r1(x) u5", texts(chat))
  end)
end)

describe("prune_messages", function()
  it("prunes units that lie within each other", function()
    local chat = conversation "u1 c2(x) c3(y) r4(y) r5(x) a6 u7"
    assert(chat:trim { budget = 1000, policy = { "prune_messages", tool_calls = "all" } })
    assert.equal(0, chat:count "tool")
    assert.same({}, chat:check "openai")
    assert.truthy(texts(chat):find("u1 c2(x)", 1, true))
  end)

  local function call(id, name, content)
    return { role = "assistant", content = content, tool_calls = { { id = id, type = "function",
      ["function"] = { name = name, arguments = "{}" } } } }
  end
  local null = helper.ebb.null

  --- Prunes a list; returns role and content of each message that is left.
  local function pruned(list, options)
    options[1] = "prune_messages"
    local chat = helper.ebb.conversation()
    chat:append(list)
    assert(chat:trim { budget = 1 << 20, policy = options })
    local words = {}
    for i, message in ipairs(chat) do
      words[i] = ("%s:%s%s"):format(message.role, message.content or "-", #message.calls > 0 and "+calls" or "")
    end
    return table.concat(words, " "), chat
  end

  it("keeps what it empties under empty_messages=keep, where the content was null or missing", function()
    for _, content in ipairs { null, false } do
      local list = { { role = "user", content = "q" }, call("x", "f", content or nil),
        { role = "tool", tool_call_id = "x", content = "r" }, { role = "assistant", content = "a" } }
      assert.equal("user:q assistant: assistant:a", (pruned(list, { tool_calls = { "all" }, empty_messages = "keep" })))
      assert.equal("user:q assistant:a", (pruned(list, { tool_calls = { "all" } })))
    end
  end)

  it("leaves messages alone that were empty before, under empty_messages=keep", function()
    local list = { { role = "user", content = "q" }, { role = "assistant", content = "" },
      { role = "user", content = "z" } }
    assert.equal("user:q assistant: user:z", (pruned(list, { tool_calls = { "all" },
      empty_messages = "keep" })))
    assert.equal("user:q user:z", (pruned(list, {})))
  end)

  it("prunes by tool what a unit of several calls holds, and keeps the rest of it", function()
    local both = call("x", "f", null)
    table.insert(both.tool_calls, call("y", "g").tool_calls[1])
    local list = { both, { role = "tool", tool_call_id = "x", content = "rx" },
      { role = "tool", tool_call_id = "y", content = "ry" }, { role = "user", content = "z" } }
    local rule = { { type = "all", tools = { "f" } } }
    local words, chat = pruned(list, { tool_calls = rule })
    assert.equal("assistant:-+calls tool:ry user:z", words)
    assert.equal("g", chat[1].calls[1].name)
    assert.same({ "y" }, chat[2].answers)
  end)

  it("protects the newest messages by each rule's own number", function()
    local function pair(id, name) return call(id, name, null), { role = "tool", tool_call_id = id, content = id } end
    local list = {}
    for id, name in ("ofogpfpg"):gmatch "(.)(.)" do table.move({ pair(id .. name, name) }, 1, 2, #list + 1, list) end
    list[#list + 1] = { role = "user", content = "z" }
    local rules = { { type = "before_last_3_messages", tools = { "f" } },
      { type = "before_last_7_messages", tools = { "g" } } }
    -- the result of pf is the fourth message from the end, the call of og the seventh
    assert.equal("assistant:-+calls tool:og assistant:-+calls tool:pg user:z",
      (pruned(list, { tool_calls = rules })))
  end)

  it("removes the key of reasoning that goes, and writes no null", function()
    local calling = call("x", "f", null)
    calling.reasoning_content = "think"
    local list = { { role = "user", content = "q" }, calling, { role = "tool", tool_call_id = "x", content = "r" },
      { role = "assistant", content = "a", reasoning_content = "hm" }, { role = "user", content = "z" } }
    local _, chat = pruned(list, { reasoning = "all" })
    assert.is_nil(chat:json():find("reasoning_content", 1, true))
    local other = helper.ebb.conversation()
    other:append(list)
    assert.is_nil(other[2]:without("reasoning").reasoning_content)
    other:filter(function(message) return message:without "reasoning" end)
    assert.is_nil(other:json():find("reasoning_content", 1, true))
    assert.equal(5, #other)
  end)
end)

describe("prune_messages in forms without `content`", function()
  --- Prunes a body under some options; returns the list that is left.
  local function pruned(body, options)
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write(body)
    file:close()
    local chat = assert(helper.ebb.load(path))
    os.remove(path)
    options[1] = "prune_messages"
    assert(chat:trim { budget = 10000, policy = options })
    local list = {}
    for i = 1, #chat do
      list[i] = chat[i]:totable()
    end
    return list
  end

  local GEMINI = [[{"contents": [{"role": "user", "parts": [{"text": "q"}]},
    {"role": "model", "parts": [{"text": "hm", "thought": true}, {"text": "I look."},
      {"functionCall": {"name": "f", "args": {}}}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "r"}}}]},
    {"role": "model", "parts": [{"text": "hm", "thought": true}, {"text": "So."}]},
    {"role": "user", "parts": [{"text": "end"}]}]}]]

  it("keeps the texts of Gemini's messages", function()
    local list = pruned(GEMINI, { reasoning = "all" })
    assert.equal(5, #list)
    assert.same({ { text = "So." } }, list[4].parts)
    assert.same({ "I look.", "f" }, { list[2].parts[1].text, list[2].parts[2].functionCall.name })
    list = pruned(GEMINI, { tool_calls = { "all" } })
    assert.equal(4, #list)
    assert.same({ { text = "hm", thought = true }, { text = "I look." } }, list[2].parts)
  end)

  local RESPONSES = [[{"input": [{"role": "user", "content": "q"}, {"type": "reasoning", "id": "rs_1", "summary": []},
    {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "a", "output": [{"type": "input_text", "text": "r"}]},
    {"type": "reasoning", "id": "rs_2", "summary": []},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "So."}]},
    {"type": "item_reference", "id": "z"}, {"role": "user", "content": "end"}]}]]

  --- The items that are left, each by one letter: c(all), o(utput), r(easoning), i(tem_reference), m(essage).
  local function kinds_left(options)
    local letters = {}
    for i, item in ipairs(pruned(RESPONSES, options)) do
      local kind = item.type or "message"
      letters[i] = kind == "function_call_output" and "o" or kind == "function_call" and "c" or kind:sub(1, 1)
    end
    return table.concat(letters)
  end

  it("prunes the items of Responses one by one", function()
    assert.equal("mcomim", kinds_left { reasoning = "all" })
    assert.equal("mrmim", kinds_left { tool_calls = { "all" } })
    assert.equal("mmim", kinds_left { reasoning = "all", tool_calls = { "all" } })
    assert.equal("mrcormim", kinds_left { tool_calls = { { type = "all", tools = { "g" } } } })
  end)
end)

describe("policies that see every message", function()
  --- Thousands of parallel calls in one message, and as many results.
  local function parallel_calls(count)
    local calling, list = { role = "assistant", content = helper.ebb.null, tool_calls = {} }, {}
    list[1], list[2] = { role = "user", content = "q" }, calling
    for i = 1, count do
      calling.tool_calls[i] = { id = "c" .. i, type = "function", ["function"] = { name = "f", arguments = "{}" } }
      list[i + 2] = { role = "tool", tool_call_id = "c" .. i, content = "result " .. i }
    end
    list[count + 3] = { role = "user", content = "z" }
    return list
  end

  --- Thousands of results that carry one id, each after a call of its own.
  local function one_id(count)
    local list = {}
    for i = 1, count do
      list[#list + 1] = { role = "assistant", tool_calls = { { id = "c", type = "function",
        ["function"] = { name = "f", arguments = "{}" } } } }
      list[#list + 1] = { role = "tool", tool_call_id = "c", content = "result " .. i }
    end
    list[#list + 1] = { role = "user", content = "z" }
    return list
  end

  local POLICIES = {
    { "clear_tool_uses", keep = 0, clear_tool_inputs = true, trigger = { tool_uses = 0 } },
    { "clear_tool_uses", keep = 0, exclude_tools = { "g" }, trigger = { tool_uses = 0 } },
    { "prune_messages", tool_calls = { "all" } },
    { "prune_messages", tool_calls = { { type = "before_last_message", tools = { "f" } } } },
    { "trim_messages", start_on = { "human" } }, { "keep_turns" },
  }

  it("take time by the number of results, not by its square", function()
    for _, list in ipairs { parallel_calls, one_id } do
      for _, policy in ipairs(POLICIES) do
        gate.check(policy[1], 500, function(count)
          local chat = helper.ebb.conversation()
          chat:append(list(count))
          return gate.seconds(function()
            assert(chat:trim { budget = 1 << 30, policy = policy, dry_run = true })
          end)
        end)
      end
    end
  end)
end)
