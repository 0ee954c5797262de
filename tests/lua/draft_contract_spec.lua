--- Checks the promises about a policy's draft, one test per promise.

local helper = dofile "tests/lua/helper.lua"
local conversation, texts, refusal = helper.conversation, helper.texts, helper.refusal
local core = require "ebb.support.core"
local ebb = helper.ebb

local overhead = conversation(""):tokens()
local PLENTY = 100000

--- Runs `policy` as a trim of the conversation that the words say; gives both.
local function trimmed(words, policy, given)
  local chat = type(words) == "string" and conversation(words) or words
  given = given or {}
  given.budget, given.policy = given.budget or PLENTY, policy
  return chat, assert(chat:trim(given))
end

--- The contents that a walk yields.
local function walked(iterator)
  local words = {}
  for item in iterator do
    words[#words + 1] = core.type(item) == "Message" and item.content or texts(item.messages):gsub(" ", "+")
  end
  return table.concat(words, " ")
end

--- Returns what `read(draft)` answers inside a trim.
local function seen(words, read)
  local result
  trimmed(words, function(draft) result = table.pack(read(draft)) end)
  return table.unpack(result, 1, result.n)
end

--- An edit of a draft that answered false and an error object with this message.
local function refused_edit(message, result, problem)
  assert.is_false(result)
  assert(core.is_error(problem), "expected an error object")
  assert.equal(message, problem.message)
  assert.truthy(problem.code == "guarded" or problem.code == "out_of_range" or problem.code == "argument", problem.code)
end

describe("a draft reads as a conversation does:", function()
  local words = "s1 u2 c3(x,y) r4(x) r5(y) a6 u7 a8"

  it("#draft, draft[i], ipairs", function()
    assert.same({ 8, "s1", "a8", 8 }, { seen(words, function(draft)
      local n = 0
      for i, message in ipairs(draft) do
        n = i
        assert.equal(i, message.index)
      end
      assert.is_nil(draft[0])
      assert.is_nil(draft[9])
      return #draft, draft[1].content, draft[8].content, n
    end) })
  end)

  it("draft:tokens() in the budget's measure, and at once after each edit", function()
    seen(words, function(draft)
      assert.equal(36 + overhead, draft:tokens())
      assert.equal("given", draft:trust())
      draft:drop(draft[2])
      assert.equal(34 + overhead, draft:tokens())
      draft:replace(draft[5], { content = "a1" })
      assert.equal(29 + overhead, draft:tokens())
      draft:insert(1, { role = "user", content = "u9" })
      assert.equal(38 + overhead, draft:tokens())
    end)
  end)

  it("where, recent, range, count, marked and what selections can do", function()
    local chat = conversation(words)
    chat:mark(2, "important")
    seen(chat, function(draft)
      assert.equal("u2 u7", texts(draft:where { role = "user" }))
      assert.equal("r5(y)", texts(draft:where { role = "tool", matches = "y" }:last(1)))
      assert.equal("a6 a8", texts(draft:recent("assistant", 2)))
      assert.equal("c3(x,y) a6", texts(draft:range("assistant", 1, 2)))
      assert.same({ 3, 8 }, { draft:count "assistant", draft:count() })
      assert.equal("u2", texts(draft:marked "important"))
      assert.equal(9, draft:where { role = "user" }:tokens())
      assert.same({ 2, 7 }, draft:where({ role = "user" }):positions())
      assert.equal("r4(x)", texts(draft:where { role = "tool" }:first(1)))
      assert.equal("a6", texts(draft:where { role = "assistant" }:slice(2, 2)))
    end)
  end)
end)

describe("walks", function()
  local words = "s1 u2 c3(x,y) r4(x) r5(y) a6! u7 c8(z)"
  local rows = {
    { "messages", {},                                   "s1 u2 c3(x,y) r4(x) r5(y) a6! u7 c8(z)" },
    { "messages", { from = "newest" },                  "c8(z) u7 a6! r5(y) r4(x) c3(x,y) u2 s1" },
    { "messages", { role = "user" },                    "u2 u7" },
    { "messages", { role = { "user", "tool" } },        "u2 r4(x) r5(y) u7" },
    { "messages", { marked = "pinned" },                "a6!" },
    { "messages", { matches = "^[ru]%d" },              "u2 r4(x) r5(y) u7" },
    { "messages", { has = "tool_result" },              "r4(x) r5(y)" },
    { "messages", { has = "tool_use" },                 "c3(x,y) c8(z)" },
    { "messages", { calls = "f_y" },                    "c3(x,y)" },
    { "messages", { droppable = true },                 "u2 c3(x,y) r4(x) r5(y)" },
    { "messages", { skip_last = 3 },                    "s1 u2 c3(x,y) r4(x) r5(y)" },
    { "messages", { role = "user", skip_last = 1 },     "u2" },
    { "messages", { droppable = true, from = "newest", skip_last = 2 }, "c3(x,y) u2" },
    { "units",    {},                                   "s1 u2 c3(x,y)+r4(x)+r5(y) a6! u7 c8(z)" },
    { "units",    { from = "newest", droppable = true }, "c3(x,y)+r4(x)+r5(y) u2" },
    { "units",    { role = "tool" },                    "c3(x,y)+r4(x)+r5(y)" },
    { "units",    { calls = "f_x" },                    "c3(x,y)+r4(x)+r5(y)" },
    { "units",    { skip_last = 4 },                    "s1 u2" },
    { "turns",    {},                                   "u2+c3(x,y)+r4(x)+r5(y)+a6! u7+c8(z)" },
    { "turns",    { from = "newest", skip_last = 1 },   "u2+c3(x,y)+r4(x)+r5(y)+a6!" },
    { "turns",    { calls = "f_z" },                    "u7+c8(z)" },
  }
  for _, row in ipairs(rows) do
    local kind, walk, expected = table.unpack(row)
    it(("%s %s"):format(kind, expected), function()
      assert.equal(expected, seen(words, function(draft) return walked(draft[kind](draft, walk)) end))
    end)
  end

  it("hand out tokens and ages with each step", function()
    seen(words, function(draft)
      local units, turns, messages = {}, {}, {}
      for unit, tokens, age in draft:units {} do
        assert.same({ unit.tokens, unit.age }, { tokens, age })
        units[#units + 1] = tokens
      end
      for turn, tokens, age in draft:turns {} do
        assert.same({ turn.tokens, turn.age }, { tokens, age })
        turns[#turns + 1] = tokens
      end
      for message, tokens in draft:messages {} do
        assert.equal(message.tokens, tokens)
        messages[#messages + 1] = tokens
      end
      assert.same({ 1, 2, 12, 6, 7, 8 }, units)
      assert.same({ 20, 15 }, turns)
      assert.same({ 1, 2, 3, 4, 5, 6, 7, 8 }, messages)
    end)
  end)

  it("cross the border to C once per unit", function()
    seen(words, function(draft)
      local calls, units, sum = 0, 0, 0
      local walk = draft:units {}
      debug.sethook(function() calls = calls + (debug.getinfo(2, "S").what == "C" and 1 or 0) end, "c")
      for _, tokens, age in walk do
        units, sum = units + 1, sum + tokens + age
      end
      debug.sethook()
      assert.same({ 6, 6 + 2 }, { units, calls })   -- the end of the loop, and the end of the hook
    end)
  end)

  it("give turns without what has gone, reaching to the next user message that is there", function()
    trimmed("u1 a2 u3 a4 u5", function(draft)
      draft:drop(draft[2])
      draft:drop(draft[2])
      local turns = {}
      for turn, tokens in draft:turns {} do
        turns[#turns + 1] = ("%s=%d"):format(texts(turn.messages), tokens)
      end
      assert.same({ "u1 a4=5", "u5=5" }, turns)
    end)
  end)

  it("draft:last{} is the newest that passes, or nil", function()
    seen(words, function(draft)
      assert.equal("r5(y)", draft:last({ role = "tool" }).content)
      assert.equal("c8(z)", draft:last().content)
      assert.equal("r4(x)", draft:last({ role = "tool", skip_last = 1 }).content)
      assert.is_nil(draft:last { calls = "nobody" })
    end)
  end)

  it("are not disturbed by edits on the way", function()
    local chat = trimmed("u1 u2 u3 u4 u5", function(draft)
      local visited = {}
      for message in draft:messages {} do
        visited[#visited + 1] = message.content
        draft:drop(message)
        if #visited == 1 then
          draft:drop(draft[2])
          draft:insert(1, { role = "user", content = "u6" })
        end
      end
      assert.equal("u1 u2 u4 u5", table.concat(visited, " "))
    end)
    assert.equal("u6 u5", texts(chat))
  end)

  it("go by the options as they were at the start", function()
    seen(words, function(draft)
      local options = { calls = ("f_"):rep(1) .. "z", matches = "c8" .. "", role = "assistant" }
      local walk = draft:messages(options)
      options.calls, options.matches, options.role = nil, nil, nil
      collectgarbage()
      assert.equal("c8(z)", walked(walk))
    end)
  end)

  it("refuse what they do not know, with a hint", function()
    seen(words, function(draft)
      assert.truthy(refusal(draft.messages, draft, { rol = "user" }).hint:find("role", 1, true))
      refusal(draft.messages, draft, { role = "robot" })
      refusal(draft.messages, draft, { has = "picture" })
    end)
  end)
end)

describe("a message of a draft", function()
  it("has all its fields", function()
    local chat = ebb.conversation { counter = function() return 4 end }
    chat:append {
      { role = "user", content = "go" },
      { role = "assistant", content = "look", reasoning_content = "hm", tool_calls = {
        { id = "c1", type = "function", ["function"] = { name = "read", arguments = '{"path":"a"}' } } } },
      { role = "tool", tool_call_id = "c1", content = "text of a" },
      { role = "user", content = { { type = "text", text = "see" }, { type = "image_url",
        image_url = { url = "x" } } } },
    }
    chat:mark(2, "important")
    seen(chat, function(draft)
      local caller, result, last = draft[2], draft[3], draft[4]
      assert.same({ 2, 2, "assistant", "look", 4 }, { caller.index, caller.seq, caller.role, caller.content,
        caller.tokens })
      assert.equal('look\n{"path":"a"}', caller.text)
      assert.same({ { id = "c1", name = "read", arguments = '{"path":"a"}' } }, caller.calls)
      assert.is_nil(caller.call)
      assert.same({ "c1", "read", '{"path":"a"}' }, { result.call.id, result.call.name, result.call.arguments })
      assert.same({ "text", "image" }, { last.parts[1].kind, last.parts[2].kind })
      assert.equal("see", last.text)
      assert.same({ messages = 2, units = 1, turns = 1 }, caller.age)
      assert.same({ messages = 0, units = 0, turns = 0 }, last.age)
      assert.same({ "important" }, caller.marks)
      assert.same({ 2, 2, 8, "assistant", false }, { caller.unit.first, caller.unit.count, caller.unit.tokens,
        caller.unit.role, caller.unit.guarded })
      assert.equal(1, #last:without("image").content)
      assert.is_nil(caller:without("reasoning").reasoning_content)
      assert.is_nil(caller:without("tool_use").tool_calls)
    end)
  end)

  it("keeps its age while others go, and has none once it is gone", function()
    trimmed("u1 a2 u3 a4 u5", function(draft)
      local first, second = draft[1], draft[2]
      draft:drop(draft[4])
      draft:replace(second, { content = "a1" })
      assert.same({ messages = 3, units = 3, turns = 2 }, draft[2].age)
      draft:drop(first)
      assert.is_nil(first.age)
      draft:insert(1, { role = "user", content = "u9" })
      assert.same({ messages = 2, units = 2, turns = 2 }, draft[2].age)
    end)
  end)

  it("may be kept: its place follows the edits, and is nil once it is gone", function()
    trimmed("u1 u2 u3 u4", function(draft)
      local second, third = draft[2], draft[3]
      draft:drop(draft[1])
      assert.same({ 1, 2 }, { second.index, third.index })
      draft:insert(1, { role = "user", content = "u9" })
      assert.same({ 2, 3 }, { second.index, third.index })
      draft:drop(second)
      assert.is_nil(second.index)
      assert.equal("u2", second.content)
      refused_edit("it is not in the draft", draft:drop(second))
    end)
  end)
end)

describe("an edit", function()
  --- Writes the ledger as text, an entry per edit.
  local function ledger(report)
    local words = {}
    for i = 1, #report.ledger do
      local entry = report.ledger[i]
      words[i] = ("%s %d %s %d"):format(entry.action, entry.seq, entry.reason, entry.tokens)
    end
    return table.concat(words, "; ")
  end

  local words = "s1 u2 c3(x) r4(x) a5 u6 a7 u8"
  local drops = {
    { "a message",                  function(draft) return draft[2] end,
                            "s1 c3(x) r4(x) a5 u6 a7 u8", 2 },
    { "a position",                 function() return 2 end,
                                        "s1 c3(x) r4(x) a5 u6 a7 u8", 2 },
    { "a message with its unit",    function(draft) return draft[4] end,                       "s1 u2 a5 u6 a7 u8", 7 },
    { "a unit",                     function(draft) return draft[3].unit end,                  "s1 u2 a5 u6 a7 u8", 7 },
    { "a turn",                     function(draft) return draft:turns {}() end,               "s1 u6 a7 u8", 14 },
    { "a selection",                function(draft) return draft:recent("assistant", 2) end,
        "s1 u2 c3(x) r4(x) u6 u8", 12 },
  }
  for _, row in ipairs(drops) do
    local name, what, expected, tokens = table.unpack(row)
    it("drops " .. name, function()
      local chat, report = trimmed(words, function(draft) assert.equal(tokens, draft:drop(what(draft), "why")) end)
      assert.equal(expected, texts(chat))
      assert.truthy(ledger(report):find("why", 1, true))
    end)
  end

  it("drops all of a selection or nothing", function()
    local chat = trimmed(words, function(draft)
      refused_edit("guarded: message 1 is a system message", draft:drop(draft:where { role = { "system", "user" } }))
    end)
    assert.equal(words, texts(chat))
  end)

  it("replaces the named fields only", function()
    local chat = ebb.conversation()
    chat:append { { role = "assistant", content = "long text", name = "n", extra = { 1 } }, { role = "user",
      content = "u" } }
    trimmed(chat, function(draft) assert.truthy(draft:replace(draft[1], { content = "short" }, "why")) end)
    assert.same({ role = "assistant", content = "short", name = "n", extra = { 1 } }, chat[1]:totable())
  end)

  it("hands on within its trim only", function()
    local kept
    trimmed("u1 u2", function(draft) kept = draft end)
    local _, why = pcall(kept.run, kept, "keep_recent")
    assert.matches("run works inside a trim only", tostring(why))
  end)

  it("writes new fields in the order of their names, and names the first option that is wrong", function()
    local chat = ebb.conversation {}
    chat:append { { role = "assistant", content = "a" }, { role = "user", content = "u" } }
    local fields, options = {}, { zz = 1 }
    for letter in ("qwertyuioplkjhgfdsazxcvbnm"):gmatch "." do
      fields["x" .. letter], options["x" .. letter] = 1, 1
    end
    trimmed(chat, function(draft)
      assert.truthy(draft:replace(draft[1], fields))
      local _, why = pcall(draft.messages, draft, options)
      assert.matches("unknown option 'xa'", tostring(why))
    end)
    local names = {}
    for name in chat[1].json:gmatch '"x(%a)"' do names[#names + 1] = name end
    assert.equal("abcdefghijklmnopqrstuvwxyz", table.concat(names))
  end)

  it("takes a message's own table back, and refuses a field that is a slip of the pen", function()
    local chat = ebb.conversation {}
    chat:append { role = "user", content = {
      { type = "text", text = "look" }, { type = "image_url", image_url = { url = "https://example.org/a.png" } },
    } }
    local draft = chat:draft { guards = false }

    assert.truthy(draft:replace(draft[1], draft[1]:without "image"))
    assert.equal("look", draft[1].text)
    assert.equal(1, #draft[1].parts)
    local slip = refusal(draft.replace, draft, draft[1], { contents = "x" })
    assert.same({ "replace: the message has no field 'contents'", "did you mean 'content'?" },
      { slip.message, slip.hint })
    assert.truthy(draft:replace(draft[1], { cache_control = { type = "ephemeral" } }))
    assert.truthy(draft:replace(draft[1], { cache_controls = 1 }))     -- like none that messages have
    for _, wrong in ipairs { false, "x", {} } do
      assert.equal("keep: what: a message or its position is expected, not " .. type(wrong),
        refusal(draft.keep, draft, wrong).message)
    end
  end)

  it("puts a text where Gemini's messages have theirs: in a part, or in each response", function()
    local chat = assert(ebb.parse [[{"contents":[{"role":"user","parts":[{"text":"hi"}]},
      {"role":"model","parts":[{"functionCall":{"id":"a","name":"f","args":{}}},
        {"functionCall":{"name":"g","args":{}}}]},
      {"role":"user","parts":[{"functionResponse":{"id":"a","name":"f","response":{"x":"long"}}},
        {"functionResponse":{"name":"g","response":{"x":"long"}}}]},
      {"role":"model","parts":[{"text":"long"}]}]}]])
    assert(chat:trim { budget = 100000, policy = function(draft)
      assert(draft:replace(draft[3], { content = "short" }))
      assert(draft:replace(draft[4], { content = "no" }))
    end })
    assert.equal('{"role":"user","parts":[{"functionResponse":{"id":"a","name":"f","response":{"output":"short"}}},' ..
      '{"functionResponse":{"name":"g","response":{"output":"short"}}}]}', chat[3].json)
    assert.equal('{"role":"model","parts":[{"text":"no"}]}', chat[4].json)
  end)

  it("never replaces role or ids, nor which calls there are", function()
    local chat = trimmed(words, function(draft)
      for _, field in ipairs { "role", "id", "tool_call_id" } do
        local problem = refusal(draft.replace, draft, draft[3], { [field] = "user" })
        assert.truthy(problem.message:find("never changes " .. field, 1, true), problem.message)
      end
      refused_edit("a replacement keeps role, calls and results", draft:replace(draft[3], { tool_calls = {
        { id = "z", type = "function", ["function"] = { name = "f_z", arguments = "{}" } } } }))
      assert.truthy(draft:replace(draft[3], { tool_calls = {
        { id = "x", type = "function", ["function"] = { name = "f_x", arguments = '{"shorter":1}' } } } }))
    end)
    assert.equal('{"shorter":1}', chat[3].calls[1].arguments)
  end)

  it("inserts, but not inside a unit", function()
    local chat, report = trimmed(words, function(draft)
      local made = draft:insert(2, { role = "system", content = "s9" }, "said")
      assert.same({ 2, "s9" }, { made.index, made.content })
      refused_edit("guarded: a call and its results stay together", draft:insert(5, { role = "user", content = "u0" }))
      refusal(draft.insert, draft, 99, { role = "user", content = "u0" })
    end)
    assert.equal("s1 s9 u2 c3(x) r4(x) a5 u6 a7 u8", texts(chat))
    assert.equal("inserted 9 said -9", ledger(report))
  end)

  it("keep holds a message for the rest of the trim, also for other policies", function()
    local chat = trimmed("u1 u2 u3", { { trim = function(draft) assert.truthy(draft:keep(draft[1], "mine")) end },
      "keep_recent" }, { budget = 4 + overhead })
    assert.equal("u1 u3", texts(chat))
    trimmed("u1 u2", function(draft)
      draft:keep(draft[1])
      refused_edit("guarded: message 1 is kept by the policy", draft:drop(draft[1]))
    end)
  end)

  it("drop_oldest goes down to a number of tokens, sparing the newest", function()
    local chat = trimmed("u1 u2 u3 u4 u5", function(draft)
      local messages, freed = draft:drop_oldest { to = 12 + overhead, reason = "old" }
      assert.same({ 2, 3 }, { messages, freed })
      assert.same({ 0, 0 }, { draft:drop_oldest { to = 0, keep = 3 } })
    end)
    assert.equal("u3 u4 u5", texts(chat))
  end)

  it("cost says what a message would weigh, and changes nothing", function()
    local chat = conversation "u1 u2"
    local before = helper.snapshot(chat)
    trimmed(chat, function(draft)
      assert.equal(40, draft:cost { role = "user", content = "u40" })
      refusal(draft.cost, draft, { role = "robot", content = "u40" })
      assert.equal(3 + overhead, draft:tokens())
    end)
    assert.equal(before, helper.snapshot(chat))
  end)

  it("run hands on the rest, with options", function()
    local chat = trimmed("u1 a2 u3 a4 u5", { name = "mine", trim = function(draft)
      draft:run("keep_recent", { keep = 2 })
      refusal(draft.run, draft, "keep_recent", { kep = 2 })
    end }, { budget = 9 + overhead })
    assert.equal("a4 u5", texts(chat))
  end)

  it("note goes to the report", function()
    local _, report = trimmed("u1", { name = "mine", trim = function(draft) draft:note "looked" end })
    assert.same({ { by = "mine", text = "looked" } }, report.ledger:notes())
  end)

  it("that is refused answers false and an error, with the number of the message", function()
    local rows = {
      { "s1 u2 u3",         1, "guarded: message 1 is a system message" },
      { "u1! u2",           1, "guarded: message 1 is pinned" },
      { "u1 c2(x)",         2, "guarded: message 2 waits for its results" },
      { "u1 u2",            2, "guarded: message 2 is the last user message" },
    }
    for _, row in ipairs(rows) do
      local _, report = trimmed(row[1], function(draft)
        refused_edit(row[3], draft:drop(draft[row[2]]))
        refused_edit(row[3], draft:replace(draft[row[2]], { content = "x" }))
      end)
      assert.equal(2, report.refused)
    end
  end)
end)

describe("summarize", function()
  local words = "s1 u100 a100 c100(x) r100(x) a100 u5"

  it("puts one message in the place of those that nothing holds", function()
    local asked
    local chat, report = trimmed(words, function(draft)
      assert.equal(499, draft:summarize(1, 6, { heading = "a1", max_tokens = 7 }))
    end, { model = function(request)
      asked = request
      return "They talked."
    end })
    assert.equal("s1 a1\nThey talked. u5", texts(chat))
    assert.same({ "summarize", 7, 500 }, { asked.purpose, asked.max_tokens, asked.tokens })
    assert.truthy(asked.messages[2].content:find("result of f_x: r100(x)", 1, true), asked.messages[2].content)
    assert.same({ 5, 1 }, { report.dropped, report.inserted })
  end)

  it("takes a text, a table or a provider's response", function()
    local answers = {
      "Said.", { text = "Said." }, { choices = { { message = { content = "Said." }, finish_reason = "stop" } } },
      { content = { { type = "text", text = "Said." } }, stop_reason = "end_turn" },
    }
    for _, answer in ipairs(answers) do
      local chat = trimmed(words, { "summarize", keep = 0 }, { budget = 300, model = function() return answer end })
      assert.truthy(texts(chat):find("Said.", 1, true))
    end
  end)

  local refused = {
    { "no answer",                function() return nil, "out of order" end,                        "out of order" },
    { "an empty one",             function() return "  \n" end,                                     "empty" },
    { "one that was cut off",     function() return { text = "x", finish_reason = "length" } end,   "cut off" },
    { "an answer without a text", function() return { choices = {} } end,                           "no text" },
    { "one that is not smaller",  function() return "x" end,                                        "not smaller",
      "u900" },
    { "no model at all",          nil,                                                       "model = function" },
  }
  for _, row in ipairs(refused) do
    it("refuses " .. row[1] .. ", and nothing has changed", function()
      local chat = conversation(words)
      local before = helper.snapshot(chat)
      local policy = { "summarize", keep = 0, heading = row[4] }
      local report, why, code = helper.outcome(chat:trim { budget = 300, policy = policy, model = row[2] })
      assert.is_nil(report)
      assert.equal("model", code)
      assert.truthy(why:find(row[3], 1, true), why)
      assert.equal(before, helper.snapshot(chat))
    end)
  end

  it("folds an earlier summary in and takes its place", function()
    local chat, seen_text = conversation(words), nil
    local function model(request)
      seen_text = request.messages[2].content
      return "Part " .. request.tokens
    end
    assert(chat:trim { budget = 300, policy = { "summarize", keep = 0 }, model = model })
    chat:append(helper.messages "a200 u6 a200 u7")
    assert(chat:trim { budget = 300, policy = { "summarize", keep = 0 }, model = model })
    assert.truthy(seen_text:find("Earlier summary:\nPart", 1, true), seen_text)
    assert.equal(1, #chat:where({ matches = "Summary of earlier" }))
    assert.equal(1, select(2, texts(chat):gsub("Part", "")))
  end)

  it("lets a host answer later: the model may yield", function()
    local chat = conversation(words)
    local task = coroutine.create(function()
      return chat:trim { budget = 300, policy = { "summarize", keep = 0 }, model = coroutine.yield }
    end)
    local _, request = coroutine.resume(task)
    assert.equal("summarize", request.purpose)
    local _, report = coroutine.resume(task, "Later.")
    assert.equal(1, report.inserted)
    assert.truthy(texts(chat):find("Later.", 1, true))
  end)

  it("does nothing where it would summarize a summary alone, or only what is guarded", function()
    trimmed("s1 u2", function(draft)
      refused_edit("nothing to summarize: all of it is guarded", draft:summarize(1, 2))
      refusal(draft.summarize, draft, 1, 9)
      refusal(draft.summarize, draft, 1, 2, { headnig = "x" })
    end, { model = function() return "x" end })
  end)
end)

describe("declared options", function()
  local function given(declared, value)
    local result
    trimmed("u1", { { name = "p", options = { o = declared }, trim = function(_, _,
      options) result = options.o end }, o = value })
    return result
  end

  it("of every type come checked, with their defaults", function()
    assert.equal(3, given({ type = "integer", default = 3 }, nil))
    assert.equal(4, given({ type = "integer", min = 1, max = 4 }, 4))
    assert.equal(0.5, given({ type = "number" }, 0.5))
    assert.equal("s", given({ type = "string", help = "h" }, "s"))
    assert.equal(false, given({ type = "boolean", default = true }, false))
    assert.equal("b", given({ type = "choice", choices = { "a", "b" } }, "b"))
    assert.same({ "x", "y" }, given({ type = "list" }, { "x", "y" }))
    assert.same({ "x" }, given({ type = "list" }, "x"))
    assert.same({ k = 1 }, given({ type = "table" }, { k = 1 }))
    assert.is_nil(given({ type = "string" }, nil))
  end)

  local wrong = {
    { { type = "integer" }, 1.5 }, { { type = "integer", min = 1 }, 0 }, { { type = "integer", max = 1 }, 2 },
    { { type = "number" }, 0 / 0 }, { { type = "string" }, 1 }, { { type = "boolean" }, "yes" },
    { { type = "choice", choices = { "a" } }, "b" }, { { type = "list" }, { k = 1 } }, { { type = "table" }, "x" },
    { { type = "integr" }, 1 }, { { type = "choice" }, "a" }, { { type = "integer", default = "x" }, 1 },
  }
  for i, row in ipairs(wrong) do
    it(("refuse what does not fit (%d)"):format(i), function() refusal(given, row[1], row[2]) end)
  end
end)

describe("policies come from", function()
  it("a text, by itself or as source, with print to the log", function()
    local lines = {}
    local log = require "ebb.support.log"
    local before = log.to(function(line) lines[#lines + 1] = line end)
    local text = "return function(draft, budget) print('at', budget) draft:drop(draft[1]) end"
    local chat = trimmed("u1 u2 u3", { { source = text }, text })
    trimmed(chat, text)
    log.to(before)
    assert.same({ "at\t100000", "at\t100000" }, lines)
    assert.equal("u3", texts(chat))
    trimmed("u1 u2",
      { { source = "return { options = { n = { type = 'integer' } }, trim = function(d, _, o) d:drop(d[o.n]) end }" },
      n = 1 })
  end)

  it("a folder, by name; what is built in comes first", function()
    local path = helper.lua_file "return function(draft) draft:drop(draft[1], 'found') end"
    local folder, name = path:match "^(.*)/([^/]+)%.lua$"
    table.insert(ebb.policy_path, 1, folder)
    local chat = trimmed("u1 u2", name)
    table.remove(ebb.policy_path, 1)
    helper.clean()
    assert.equal("u2", texts(chat))
    assert.equal("unknown_name", refusal(chat.trim, chat, { budget = 9, policy = name }).code)
  end)

  it("and filters as well", function()
    local chat = conversation "u1 a2 u3"
    chat:filter "return function(message) return message.role == 'user' end"
    assert.equal("u1 u3", texts(chat))
    chat:filter { source = "return { filter = function(message) return message.index > 1 end }" }
    assert.equal("u3", texts(chat))
    local path = helper.lua_file "return function() return false end"
    local folder, name = path:match "^(.*)/([^/]+)%.lua$"
    table.insert(ebb.filter_path, 1, folder)
    chat:filter(name)
    table.remove(ebb.filter_path, 1)
    helper.clean()
    assert.equal("", texts(chat))
  end)
end)

describe("a wrong policy changes nothing, and is told what it did:", function()
  --- A policy in a file of its own, so that file and line are known.
  local function fails(text, budget)
    local path = helper.lua_file(text)
    local chat = conversation "s1 u20! a30 c4(x) r40(x) u5"
    local before = helper.snapshot(chat)
    local report, why, code = helper.outcome(chat:trim { budget = budget or 40 + overhead, policy = path })
    helper.clean()
    assert.is_nil(report)
    assert.equal(before, helper.snapshot(chat))
    return why:gsub(path:gsub("%p", "%%%0"), "FILE"), code
  end

  local rows = {
    { "it raises", "return function(draft)\n  draft:drop(draft[3])\n  error 'no idea'\nend", "policy",
      "FILE:3: no idea" },
    { "it raises a table", "return function(draft)\n  error { 1 }\nend", "policy", "FILE:2: error value: [1]" },
    { "it indexes nil", "return function(draft)\n  local m = draft[99]\n  return m.role\nend", "policy",
      "FILE:3: attempt to index a nil value" },
    { "it misspells a method", "return function(draft)\n  draft:dropp(draft[3])\nend", "policy",
      "FILE:2: a Draft has no field 'dropp' (did you mean 'drop'?)" },
    { "it misspells a field", "return function(draft)\n  local r = draft[3].rol\nend", "policy",
      "FILE:2: a Message has no field 'rol' (did you mean 'role'?)" },
    { "it changes a role", "return function(draft)\n\n  draft:replace(draft[3], { role = 'user' })\nend", "policy",
      "FILE:3: replace: message 3: a draft never changes role" },
    { "it leaves too much", "return function(draft)\n  draft:drop(draft[3])\nend", "over_budget",
      "left 70 tokens, 30 more than the budget of 40" },
    { "it drops a pinned message", "return function(draft)\n  draft:drop(draft[3])\n  draft:drop(draft[2])\nend",
      "over_budget",
      "1 edit was refused, the first: FILE:3: guarded: message 2 is pinned" },
    { "it drops several that stay", "return function(draft)\n  draft:drop(draft[1])\n  draft:drop(draft[2])\nend",
      "over_budget",
      "2 edits were refused, the first: FILE:2: guarded: message 1 is a system message" },
    { "it tears a unit", "return function(draft)\n  draft:insert(5, { role = 'user', content = 'u1' })\nend",
      "over_budget",
      "the first: FILE:2: guarded: a call and its results stay together" },
    { "it has a wrong message", "return function(draft)\n  draft:insert(1, { role = 'robot', content = 'u1' })\nend",
      "policy",
      "FILE:2: insert: message 1" },
    { "it drops what is not there", "return function(draft)\n  draft:drop(99)\nend",
      "policy", "FILE:2: drop: position" },
  }
  for _, row in ipairs(rows) do
    it(row[1], function()
      local why, code = fails(row[2])
      assert.equal(row[3], code)
      assert.truthy(why:find(row[4], 1, true), why)
    end)
  end

  it("it has no room to begin with: cannot_fit says what is guarded", function()
    local why, code = fails("return function() end", 10)
    assert.equal("cannot_fit", code)
    assert.truthy(why:find(("3 messages (26 tokens) and %d for tools and framing; the budget is 10; "
      .. "the smallest that fits is %d"):format(overhead, 26 + overhead), 1, true), why)
  end)

  it("it keeps the draft, its messages and its loops after the trim", function()
    local draft, message, unit, walk
    local chat = trimmed("u1 u2 u3", function(given)
      draft, message, unit, walk = given, given[1], given[2].unit, given:messages {}
      walk()
    end)
    local before = helper.snapshot(chat)
    for _, use in ipairs {
      function() return draft:drop(1) end, function() return #draft end, function() return draft[1] end,
      function() return message.content end, function() return unit.tokens end, walk,
      function() return draft:insert(1, { role = "user", content = "u9" }) end,
      function() return draft:run "keep_recent" end, function() return draft:summarize(1, 1) end,
      function() return draft:cost { role = "user", content = "u9" } end,
    } do
      assert.equal("closed", refusal(use).code)
    end
    assert.equal(before, helper.snapshot(chat))
  end)

  it("it keeps handles of a conversation that then goes on", function()
    local made
    local chat = conversation "u1 u2"
    assert.is_nil((chat:trim { budget = 1, policy = function(draft) made = draft[1] end }))
    assert.is_nil(made)   -- cannot fit: nothing ran
  end)

  it("it drops a message of another conversation", function()
    local other = conversation "u1"
    local report, problem = conversation("u1 u2"):trim { budget = PLENTY,
      policy = function(draft) draft:drop(other[1]) end }
    assert.is_nil(report)
    assert.truthy(problem.message:find("another conversation", 1, true), problem.message)
  end)
end)

describe("the reserve", function()
  it("is taken off the budget that the policy sees", function()
    local got
    trimmed("u1", function(_, budget) got = budget end, { budget = 100, reserve = 30 })
    assert.equal(70, got)
  end)
end)

describe("core.draft", function()
  it("is not what policies get at", function()
    trimmed("u1", function(draft)
      assert.is_nil(rawget(core.methods.Draft, "commit"))
      refusal(function() return draft.commit end)
    end)
  end)
end)

describe("an edit of a draft", function()
  local SMALL, LARGE, EDITS = 2000, 64000, 300

  local function chat_of(n)
    local list, chat = {}, helper.ebb.conversation()
    for i = 1, n do
      list[i] = { role = i % 2 == 1 and "user" or "assistant", content = "m" .. i }
    end
    chat:append(list)
    return chat
  end

  local EDITS_OF = {
    insert = function(draft, i) assert(draft:insert(i * 7, { role = "assistant", content = "x" })) end,
    drop = function(draft, i) assert(draft:drop(draft[i * 3])) end,
    replace = function(draft, i) assert(draft:replace(draft[i * 3], { content = "y" .. i })) end,
    ["insert, drop and replace"] = function(draft, i)
      local message = assert(draft:insert(i * 3, { role = "user", content = "x" .. i }))
      assert(draft:replace(message, { content = "z" }))
      assert(draft:drop(draft[i * 3 + 1].unit))
    end,
  }

  local function seconds(chat, edit)
    local draft = chat:draft()
    edit(draft, 1)                       -- numbers the slots
    local start = os.clock()
    for i = 2, EDITS do
      edit(draft, i)
    end
    return os.clock() - start
  end

  for name, edit in pairs(EDITS_OF) do
    it("costs no more in a long list: " .. name, function()
      local small, large, ratio = chat_of(SMALL), chat_of(LARGE), nil
      for _ = 1, 10 do                   -- a moment's disturbance is no failure
        ratio = seconds(large, edit) / seconds(small, edit)
        if ratio < 5 then return end
      end
      error(("%d times the messages, %.1f times the time"):format(LARGE // SMALL, ratio))
    end)
  end

  it("is seen by walks over turns and units that are under way", function()
    local chat, counts = helper.conversation "u1 a2 u3 a4 u5", {}
    local draft = chat:draft()
    for turn in draft:turns() do
      if #counts == 0 then assert(draft:insert(2, { role = "assistant", content = "a9" })) end
      counts[#counts + 1] = turn.count
    end
    assert.same({ 2, 2, 1 }, counts)
    assert.equal("u1 a9 a2 u3 a4 u5", helper.texts(draft))
    local ages = {}
    for i, message in ipairs(draft) do
      ages[i] = message.unit.age
    end
    assert.same({ 5, 4, 3, 2, 1, 0 }, ages)
  end)
end)
