--- The Lua face, call by call, and around it.

local helper = dofile "tests/lua/helper.lua"
local core = require "ebb.support.core"
local ebb, conversation, texts, refusal = helper.ebb, helper.conversation, helper.texts, helper.refusal

describe("at a glance", function()
  it("a conversation for a model", function()
    local chat = ebb.conversation { model = "gpt-4o" }
    assert.equal(0, chat:append { role = "user", content = "Hello" })
    chat:append { { role = "assistant", content = "Hi" }, { role = "user", content = "Bye" } }
    local tokens, trust = chat:tokens(), chat:trust()
    assert.same({ 3, "user", "Hello" }, { #chat, chat[1].role, chat[1].content })
    assert.equal("integer", math.type(tokens))
    assert.is_true(trust == "derived" or trust == "estimated", trust)   -- whether its vocabulary is installed
    assert.is_nil(chat[4])
    assert.is_nil(chat[0])
    assert.equal(128000, chat.limit)
  end)

  it("a conversation begins with messages, and names its model", function()
    local messages = helper.messages "s1 u2 a3"
    local chat = ebb.conversation { messages = messages, model = "gpt-4o" }
    assert.same({ "s1 u2 a3", "gpt-4o", 1, 0 },
      { texts(chat), chat:model(), chat:stats().total_batches, chat:stats().current_batch_index })
    assert.equal("gpt-4o", chat:fork():fork():model())
    chat:recount { model = "gpt-4" }
    assert.equal("gpt-4", chat:model())
    assert.is_nil(ebb.conversation { messages = {} }:model())
    local body = '{"model":"mine","messages":[]}'
    assert.equal("mine", ebb.parse(body):model())
    assert.equal("gpt-4o", ebb.parse(body, { model = "gpt-4o" }):model())
    assert.equal("argument", refusal(ebb.conversation, { messages = "hello" }).code)
    assert.equal("role", refusal(ebb.conversation, { messages = { { role = "boss", content = "x" } } }).code)
    assert.equal("unknown_name", refusal(ebb.parse, "[]", { messages = messages }).code)
  end)

  it("every type says what it is", function()
    local chat = conversation "u1 a2 c4(x) r5(x) u3!"
    local draft_text
    chat:trim { budget = 10000, policy = function(draft) draft_text = tostring(draft) draft:drop(1) end }
    local total = chat:tokens()
    assert.equal(("Conversation of 4 messages, %d tokens (given)"):format(total), tostring(chat))
    assert.equal(("Draft of 5 messages, %d tokens"):format(total + 1), draft_text)
    assert.same({ "Batch of 5 messages", "Selection of 2 messages", "Unit of 2 messages, 9 tokens", "Ledger of 1 entry",
      "0 windows", "Pipeline of 9 processors" }, { tostring(chat:batch(0)), tostring(chat:recent(2)),
      tostring(chat[2].unit), tostring(chat:ledger()), tostring(chat.windows), tostring(ebb.pipeline {}) })
    chat.windows:open { id = "todo" }
    assert.same({ "1 window", "window 'todo'" }, { tostring(chat.windows), tostring(chat.windows:get "todo") })
    local copy
    core.transaction(chat, function(inner) copy = inner end)
    assert.matches("^Conversation: ", tostring(copy))         -- closed
  end)

  it("a unit that has left the list still has a text", function()
    local chat = conversation "u1 a2 u3"
    local unit = chat[2].unit
    chat:truncate { keep_last = 1 }

    assert.matches("^Unit: ", tostring(unit))
    assert.equal("out_of_range", refusal(function() return unit.count end).code)
  end)

  it("edits answer the current batch, those that make none too", function()
    local chat = conversation "u1 a2 u3"
    assert.equal(1, chat:truncate { keep_last = 2 })
    assert.same({ 1, 1, 1, 1 }, { chat:mark(1, "m"), chat:unmark(1, "m"), chat:checkpoint "c", chat:forget(1) })
    assert.equal(2, chat:stats().total_batches)
  end)

  local words = "s1 u2 a3 c4(x) r5(x) u6 a7 u8! a9 a10"

  it("recent(n) has a list's last messages, items of windows among them", function()
    local chat = conversation "u1"
    chat.windows:open { id = "w", content = "x" }
    chat:append { role = "user", content = "u3" }
    local lists = {}
    for n = 0, 4 do
      local roles = {}
      for i, message in ipairs(chat:recent(n)) do
        roles[i] = message.window or message.role
      end
      lists[n] = table.concat(roles, " ")
    end
    assert.same({ [0] = "", "user", "w user", "user w user", "user w user" }, lists)
  end)

  it("queries", function()
    local chat = conversation(words)
    assert.equal("u2 u6 u8!", texts(chat:recent("user", 3)))
    assert.equal("u8! a9 a10", texts(chat:recent({ "user", "assistant" }, 3)))
    assert.equal("u8! a9 a10", texts(chat:recent(3)))
    assert.same({ "", words }, { texts(chat:recent(0)), texts(chat:recent(99)) })
    assert.equal("a9", texts(chat:batch(0, 9):recent(1)))
    assert.equal("out_of_range", refusal(chat.recent, chat, -1).code)
    assert.equal("c4(x) a7 a9 a10", texts(chat:range("assistant", 2, 5)))
    for _, range in ipairs { { 1, 2 }, { 2, 4 }, { 3, 99 }, { 4, 3 }, { 99, 99 }, { 1, 0 } } do
      assert.equal(texts(chat:where {}:slice(range[1], range[2])), texts(chat:range(range[1], range[2])))
    end
    assert.equal(texts(chat:where {}:slice(8, 9)), texts(chat:batch(0, 9):range(8, 10)))
    assert.equal("out_of_range", refusal(chat.range, chat, 3, 1).code)
    assert.equal("role", refusal(chat.range, chat, "1", 2).code)
    assert.same({ 1, 3, 10 }, { chat:count "tool", chat:count "user", chat:count() })
    assert.equal("u8!", texts(chat:where { role = "user", marked = "pinned" }:last(3)))
    assert.equal("u8!", texts(chat:marked "pinned"))
    chat:mark(2, "pinned")
    chat:replace(2, { role = "user", content = "u2" })
    assert.equal("u2 u8!", texts(chat:marked "pinned"))       -- in the list's order, replaced or not
    assert.same({ { 2, 8 }, { chat[2].seq, 8 } }, { chat:marked "pinned":positions(), chat:marked "pinned":seqs() })
    chat:unmark(2, "pinned")
    chat:rollback(0)
    assert.equal("u6", texts(chat:where { matches = "^u%d$" }:slice(2, 2)))
    local selection = chat:where { role = { "user", "tool" } }
    assert.same({ 4, 21, { 2, 5, 6, 8 } }, { selection:count(), selection:tokens(), selection:positions() })
    assert.equal("u2 r5(x)", texts(selection:first(2)))
    local seen = {}
    for i, message in ipairs(chat) do
      seen[i] = message.seq
    end
    assert.same({ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, seen)
  end)

  it("since and before never match without a timestamp", function()
    local chat = conversation "u1"
    chat:append { role = "user", content = "u2", timestamp = 100 }
    chat:append { role = "user", content = "u3", timestamp = 200 }
    assert.equal("u2 u3", texts(chat:where { since = 0 }))
    assert.equal("u2", texts(chat:where { before = 200 }))
    assert.equal("u3", texts(chat:where { since = 200 }))
    chat:append { role = "user", content = "u4", timestamp = math.maxinteger }
    assert.equal("u4", texts(chat:where { since = math.maxinteger }))
    assert.equal("", texts(chat:where { before = math.mininteger }))
    assert.equal("u2 u3", texts(chat:where { role = "user", since = 100, before = math.maxinteger }))
  end)

  it("edits", function()
    local chat = conversation "s1 u2 a3 u4 a5 u6"
    assert.equal(1, chat:truncate { keep_last = 5 })
    assert.equal(2, chat:insert(1, { role = "user", content = "u9" }))
    assert.equal(3, chat:replace(2, { role = "user", content = "u8" }))
    assert.equal("u9 u8 a3 u4 a5 u6", texts(chat))
    assert.equal(4, chat:filter { roles = { "user" } })
    assert.equal(5, chat:clear {})
    assert.equal(0, #chat)
  end)

  it("history", function()
    local chat = conversation "u1 u2"
    chat:checkpoint "start"
    chat:truncate { keep_last = 1 }
    chat:append { role = "user", content = "u3" }
    assert.equal("u2 u3", texts(chat))
    assert.equal("u1 u2", texts(chat:batch(0)))
    assert.equal("u2", texts(chat:batch(1, 1)))
    local difference = chat:diff(0, 1)
    assert.same({ "u3", "u1", 0 }, { texts(difference.added), texts(difference.removed), #difference.replaced })
    assert.equal(0, chat:rollback "start")
    assert.equal("u1 u2", texts(chat))
    local batches = chat:batches()
    assert.same({ 2, "start", 0, 2 }, { #batches, batches[1].name, batches[2].parent, batches[2].message_count })
    assert.same({ total_messages = 3, current_batch_messages = 2, total_batches = 2, current_batch_index = 0 },
      chat:stats())
  end)

  it("forks are independent", function()
    local chat = conversation "u1 u2"
    local fork = chat:fork()
    fork:append { role = "user", content = "u3" }
    chat:truncate { keep_last = 1 }
    assert.same({ "u2", "u1 u2 u3" }, { texts(chat), texts(fork) })
  end)

  it("operations and checks", function()
    local chat = conversation "u1 c2(x) u3"
    chat:apply { { operation = "APPEND", messages = { { role = "user", content = "u4" } } } }
    assert.equal("u1 c2(x) u3 u4", texts(chat))
    assert.equal("unanswered_call", chat:check("openai")[1].code)
  end)

  it("trimming", function()
    local chat = conversation "u10 a10 u10 a10 u10"
    local report, why, code = helper.outcome(chat:trim { budget = 35, policy = { "keep_recent", keep = 1 } })
    assert.same({}, { why, code })
    local lines = {}
    for _, entry in ipairs(report.ledger) do
      lines[#lines + 1] = ("%s %d %s %d"):format(entry.action, entry.seq, entry.reason, entry.tokens)
    end
    assert.equal("dropped 1 oldest 10", lines[1])
  end)

  it("files", function()
    local path = os.tmpname()
    local chat = conversation "u1 a2"
    assert(chat:save(path))
    local loaded = assert(ebb.load(path))
    os.remove(path)
    assert.same({ "u1 a2", "array", 0 }, { texts(loaded), loaded.shape, #loaded:warnings() })
    local none, why, code = helper.outcome(ebb.load "no/such/file.json")
    assert.is_nil(none)
    assert.equal("absent", code)
    assert.truthy(why:find "no/such/file.json")
    none, why, code = helper.outcome(chat:save "no/such/folder/file.json")
    assert.is_nil(none)
    assert.equal("string", type(why))
    assert.equal("string", type(code))
  end)
end)

describe("round trips", function()
  local messages = '{"role":"user","content":"a\\/b"}'
  local cases = {
    { "array", ('[\n %s ,{"content":"x","role":"assistant"}\n]\n'):format(messages) },
    { "jsonl", messages .. "\n" .. messages .. "\n" },
    { "jsonl", messages .. "\r\n\r\n" .. messages },
    { "body", ('{"model": "m", "messages": [%s ], "temperature": 1.0}'):format(messages) },
    { "array", "[]" },
  }
  for _, case in ipairs(cases) do
    it(case[1] .. " keeps its bytes: " .. case[2]:gsub("%c", " "), function()
      local chat = assert(ebb.parse(case[2]))
      assert.same({ case[1], case[2] }, { chat.shape, chat:json() })
    end)
  end

  it("of conversations, as array, JSONL and body", function()
    for _, path in ipairs(helper.conversations()) do
      local text = helper.read(path)
      local chat = assert(ebb.parse(text))
      assert(text == chat:json(), path)
      local lines = {}
      for i, message in ipairs(chat) do
        lines[i] = ebb.json.encode(message:totable())
      end
      local jsonl = table.concat(lines, "\n") .. "\n"
      assert(jsonl == assert(ebb.parse(jsonl)):json(), path)
      local body = ('{"n": 1.0, "messages" :%s, "tools": [ ]}'):format(text)
      assert(body == assert(ebb.parse(body)):json(), path)
    end
  end)
end)

describe("refusals", function()
  it("name a wrong pattern", function()
    local chat = conversation "u1 a2"
    local wrong = { ["[a"] = "malformed pattern (missing ']')", ["%"] = "malformed pattern (ends with '%')",
      ["(u"] = "unfinished capture", ["%1"] = "invalid capture index %1", ["%f"] = "missing '[' after '%f'" }
    for pattern, what in pairs(wrong) do
      local problem = refusal(chat.where, chat, { matches = pattern })
      assert.equal("argument", problem.code)
      assert.matches("where: matches: " .. what, problem.message, 1, true)
      for _, walk in ipairs { "messages", "units", "turns", "last", "where" } do
        local _, trimmed = chat:trim { budget = 1, policy = function(draft)
          local found = draft[walk](draft, { matches = pattern })
          if type(found) == "function" then found() end
        end }
        assert.matches("matches: " .. what, trimmed.message, 1, true)
      end
      local _, boxed = chat:trim { budget = 1, policy = helper.lua_file(
        ("return { name = 'p', trim = function(draft) draft:where { matches = %q } end }"):format(pattern)) }
      assert.matches("matches: " .. what, boxed.message, 1, true)
    end
    helper.clean()
  end)

  it("are objects with code, message, hint, and can be read", function()
    local chat = conversation "u1"
    local problem = refusal(chat.truncate, chat, { keep_lst = 1 })
    assert.same({ "unknown_name", "did you mean 'keep_last'?" }, { problem.code, problem.hint })
    assert.truthy(tostring(problem):find("did you mean 'keep_last'?", 1, true))
    assert.equal("out_of_range", refusal(chat.insert, chat, 5, { role = "user", content = "x" }).code)
    assert.equal("out_of_range", refusal(chat.rollback, chat, 9).code)
  end)

  it("assignments to fields, with what edits instead", function()
    local chat = conversation "u1 a2"
    local function set(value, key) value[key] = 5 end
    for _, case in ipairs { { chat, "limit", "the field 'limit' of a Conversation cannot be assigned", "chat:append" },
      { chat, 1, "what stands in a Conversation cannot be assigned", "chat:replace(i, { ... })" },
      { chat[1], "content", "the field 'content' of a Message cannot be assigned", "draft:replace" },
      { chat:batch(0), "index", "the field 'index' of a Batch cannot be assigned" },
      { chat:recent(2), 1, "what stands in a Selection cannot be assigned" } } do
      local problem = refusal(set, case[1], case[2])
      assert.same({ "argument", case[3] }, { problem.code, problem.message })
      assert.truthy(not case[4] and not problem.hint or problem.hint:find(case[4], 1, true), problem.hint)
    end
    chat:trim { budget = 100, policy = function(draft)
      assert.equal("draft.memory is the one field that may be set", refusal(set, draft, "memo").hint)
    end }
    assert.equal("u1 a2", texts(chat))
  end)

  it("unknown options of a conversation", function()
    assert.equal("did you mean 'limit'?", refusal(ebb.conversation, { limt = 1 }).hint)
    assert.equal("did you mean 'model'?", refusal(ebb.conversation, { modl = "gpt-4o" }).hint)
  end)

  it("unknown models, with a hint", function()
    assert.equal("did you mean 'gpt-4o'?", refusal(ebb.conversation, { model = "gpt4o" }).hint)
    assert.equal("unknown_name", refusal(ebb.load, "x.json", { model = "gpt-40-32k" }).code)
    assert.equal("argument", refusal(ebb.conversation, { model = 4 }).code)
  end)

  it("unknown models, dialects and profiles by the name of the function", function()
    local chat, model = ebb.conversation { messages = { role = "user", content = "x" } }, { model = "gtp-4o" }
    local calls = {
      conversation = { ebb.conversation, model }, load = { ebb.load, "x.json", model },
      parse = { ebb.parse, "[]", model }, recount = { chat.recount, chat, model },
      tokens = { chat.tokens, chat, model },
      trim = { chat.trim, chat, { budget = 5, model = "gtp-4o" } }, check = { chat.check, chat, "opnai" },
      repaired = { chat.repaired, chat, { dialect = "opnai" } },
      write = { chat.write, chat, "openai", { profile = "mistrl" } },
    }
    for name, call in pairs(calls) do
      local problem = refusal(table.unpack(call))
      assert.equal("unknown_name", problem.code)
      assert.truthy(problem.message:find("^" .. name .. ": unknown "), problem.message)
    end
  end)

  it("vocabularies that are not installed", function()
    local problem = refusal(ebb.conversation, { encoding = "o100k_bass" })
    assert.equal("there is no encoding 'o100k_bass' here", problem.message)
    problem = refusal(ebb.conversation, { encoding = "klingon" })
    assert.truthy(problem.hint:find "cjk")
    assert.equal("unknown_name", refusal(ebb.conversation, { encoding = "morse" }).code)
  end)
end)

describe("models", function()
  it("are found by dated names", function()
    local models = require "ebb.models"
    assert.equal(ebb.models["gpt-4o"], models.find "gpt-4o-2024-08-06")
    assert.equal(ebb.models["gpt-4o-mini"], models.find "gpt-4o-mini-2024-07-18")
    assert.equal(ebb.models["claude-sonnet-4-5"], models.find "claude-sonnet-4-5-20250929")
    assert.equal("unknown_name", refusal(models.find, "gpt-4all-realtime").code)
  end)

  it("each say what is needed", function()
    for name, model in pairs(ebb.models) do
      assert(model.window > model.output and model.encoding and model.dialect, name)
      assert.equal(model.window, ebb.conversation { model = name }.limit)
    end
  end)
end)

describe("limit", function()
  it("calls on_limit once when an append exceeds it", function()
    local calls = {}
    local chat = conversation("", { limit = 50, on_limit = function(c, tokens, limit)
      calls[#calls + 1] = { #c, tokens, limit }
    end })
    chat:append { role = "user", content = "u30" }
    assert.is_false(chat:over_limit())
    chat:append { role = "user", content = "u30" }
    chat:append { role = "user", content = "u30" }
    assert.is_true(chat:over_limit())
    assert.equal(1, #calls)
    assert.same({ 2, 50 }, { calls[1][1], calls[1][3] })
  end)
end)

describe("marks", function()
  it("wait until a draft's own message is the conversation's", function()
    local chat = conversation "u3 u4"
    do
      local draft = chat:draft {}
      local made = draft:insert(1, { role = "user", content = "new" })
      local problem = refusal(chat.mark, chat, made, "pinned")
      assert.equal("out_of_range", problem.code)
      chat:mark(draft[2], "pinned")
      require("ebb.support.core").draft.discard(draft)
    end

    chat:append { role = "user", content = "another" }
    assert.same({}, chat[3].marks)
    assert.same({ "pinned" }, chat[1].marks)
  end)

  it("are outside the batches", function()
    local chat = conversation "u1 u2"
    chat:mark(2, "important")
    chat:truncate { keep_last = 1 }
    assert.same({ "important" }, chat[1].marks)
    chat:unmark(chat[1], "important")
    assert.same({}, chat[1].marks)
  end)
end)

describe("check", function()
  local cases = {
    { "u1 c2(x) r3(x) a4",           {} },
    { "u1 c2(x,y) r3(y) r4(x)",      {} },
    { "u1 c2(x,y) r3(y) u4",         { "2 unanswered_call" } },
    { "u1 c2(x)",                    { "2 unanswered_call" } },
    { "u1 r2(x)",                    { "2 orphan_result" } },
    { "c1(x) u2 r3(x)",              { "1 unanswered_call", "3 orphan_result" } },
    { "c1(x) r2(x) r3(x)",           { "3 duplicate_result" } },
    { "c1(x,x) r2(x)",               { "1 duplicate_call", "1 unanswered_call" } },
    { "c1(x) r2(x) c3(x) r4(x)",     {} },
  }
  for _, case in ipairs(cases) do
    it(case[1], function()
      local found = {}
      for i, violation in ipairs(conversation(case[1]):check "openai") do
        found[i] = ("%d %s"):format(violation.index, violation.code)
        assert.equal("string", type(violation.text))
        assert.equal("string", type(violation.hint))
        assert.equal(violation.index, violation.seq)
      end
      assert.same(case[2], found)
    end)
  end

  it("knows its dialects", function()
    local chat = conversation "u1"
    assert.truthy(refusal(chat.check, chat, "openia").hint:find "openai")
  end)
end)

describe("policies", function()
  it("are listed by name", function()
    local names = {}
    for name, policy in pairs(ebb.policies) do
      names[#names + 1] = name
      assert.same({ name, "function", "string" }, { policy.name, type(policy.trim), type(policy.summary) })
    end
    assert.same(require("ebb.trim.policies").names, names)
    assert.is_nil(ebb.policies.nothing)
  end)
end)
