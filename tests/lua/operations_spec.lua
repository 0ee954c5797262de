--- The operations, in Lua and in their JSON form: each rule and each refusal.

local helper = dofile "tests/lua/helper.lua"
local conversation, texts, refusal = helper.conversation, helper.texts, helper.refusal
local ebb, json = helper.ebb, helper.ebb.json

local function numbers(first, last)
  local words = {}
  for i = first, last do
    words[#words + 1] = "u" .. i
  end
  return table.concat(words, " ")
end

describe("truncate", function()
  local cases = {
    -- options                                        conversation               expected
    { '"keepFirst": 2',                               numbers(1, 6),             "u1 u2" },
    { '"keepLast": 2',                                numbers(1, 6),             "u5 u6" },
    { '"removeFirst": 2',                             numbers(1, 6),             "u3 u4 u5 u6" },
    { '"removeLast": 2',                              numbers(1, 6),             "u1 u2 u3 u4" },
    { '"range": {"start": 1, "end": 4}',              numbers(1, 6),             "u2 u3 u4" },
    { '"range": {"start": 2, "end": 2}',              numbers(1, 6),             "" },
    { '"range": {"start": 4, "end": 99}',             numbers(1, 6),             "u5 u6" },
    { '"keepFirst": 0',                               numbers(1, 6),             "" },
    { '"keepLast": 0',                                numbers(1, 6),             "" },
    { '"removeFirst": 0',                             numbers(1, 3),             "u1 u2 u3" },
    { '"removeLast": 0',                              numbers(1, 3),             "u1 u2 u3" },
    { '"keepLast": 99',                               numbers(1, 3),             "u1 u2 u3" },
    { '"removeLast": 99',                             numbers(1, 3),             "" },
    { '"keepFirst": 5, "keepLast": 3',                numbers(1, 6),             "u3 u4 u5" },
    { '"keepFirst": 5, "keepLast": 4, "removeFirst": 1, "removeLast": 1', numbers(1, 6), "u3 u4" },
    { '"removeFirst": 1, "range": {"start": 1, "end": 3}', numbers(1, 6),        "u3 u4" },
    { '"role": "user", "keepLast": 1',                "s1 u2 a3 u4 a5",          "u4" },
    { '"role": "user"',                               "s1 u2 a3 u4 a5",          "u2 u4" },
    { '"role": "user", "keepLast": 1, "scope": "only"', "s1 u2 a3 u4 a5",        "u4" },
    { '"role": "user", "keepLast": 1, "scope": "within"', "s1 u2 a3 u4 a5",      "s1 a3 u4 a5" },
    { '"role": "user", "keepLast": 0, "scope": "within"', "s1 u2 a3 u4 a5",      "s1 a3 a5" },
    { '"keepLast": 2',                                "u1 c2(x) r3(x) a4",       "r3(x) a4" },
    { '"keepLast": 2, "wholeUnits": true',            "u1 c2(x) r3(x) a4",       "c2(x) r3(x) a4" },
    { '"keepFirst": 2, "wholeUnits": true',           "u1 c2(x) r3(x) a4",       "u1 c2(x) r3(x)" },
  }
  for _, case in ipairs(cases) do
    it(case[1] .. " of " .. case[2], function()
      for _, form in ipairs { '{"operation": "TRUNCATE", %s}', '{"operation": "truncate", "truncate": {%s}}' } do
        local chat = conversation(case[2])

        local results = chat:apply(form:format(case[1]))

        assert.equal(case[3], texts(chat))
        assert.same({ { operation = "truncate", affected_batch_index = 1 } }, results)
        assert.equal(2, #chat:batches())
      end
    end)
  end

  it("in Lua counts from 1, inclusive", function()
    local chat = conversation(numbers(1, 6))
    chat:truncate { range = { 2, 5 } }
    assert.equal("u2 u3 u4 u5", texts(chat))
  end)
end)

describe("append, insert, replace", function()
  local one = '{"role": "user", "content": "u9"}'

  local cases = {
    -- operation                                                               expected          batches
    { '{"operation": "append", "messages": [%s]}',                             "u1 u2 u3 u9",    1 },
    { '{"operation": "APPEND", "append": {"messages": [%s]}}',                 "u1 u2 u3 u9",    1 },
    { '{"operation": "INSERT", "position": 0, "messages": [%s]}',              "u9 u1 u2 u3",    2 },
    { '{"operation": "INSERT", "position": 3, "messages": [%s]}',              "u1 u2 u3 u9",    2 },
    { '{"operation": "insert", "insert": {"position": 1, "messages": [%s]}}',  "u1 u9 u2 u3",    2 },
    { '{"operation": "insert", "insert": {"position": -1, "messages": [%s]}}', "u1 u2 u3 u9",    1 },
    { '{"operation": "replace", "index": 1, "message": %s}',                   "u1 u9 u3",       2 },
    { '{"operation": "replace", "replace": {"index": 2, "message": %s}}',      "u1 u2 u9",       2 },
  }
  for _, case in ipairs(cases) do
    it(case[1], function()
      local chat = conversation(numbers(1, 3))
      chat:apply(case[1]:format(one))
      assert.same({ case[2], case[3] }, { texts(chat), #chat:batches() })
    end)
  end

  it("keep the bytes of messages as they were written", function()
    local chat = conversation "u1"
    local raw = '{ "content":"\\u00e9\\/", "role" : "user", "score": 1.50, "big": 12345678901234567890 }'
    chat:apply(('[{"operation": "append", "messages": [%s, %s]}]'):format(raw, one))
    chat:apply(('{"operation": "replace", "index": 0, "message": %s}'):format(raw))
    assert.equal(raw, chat[2].json)
    assert.equal(raw, chat[1].json)
  end)

  it("replace keeps the old message in the store", function()
    local chat = conversation(numbers(1, 3))
    chat:replace(2, { role = "user", content = "u9" })
    assert.equal("u1 u2 u3 u9", texts(chat:all()))
    assert.same({ 4, 3, 2, 1 }, { chat:stats().total_messages, chat:stats().current_batch_messages,
      chat:stats().total_batches, chat:stats().current_batch_index })
  end)

  it("append gives all or none", function()
    local chat = conversation "u1"
    local before = helper.snapshot(chat)
    refusal(chat.append, chat, { { role = "user", content = "u2" }, { role = "nobody", content = "x" } })
    assert.equal(before, helper.snapshot(chat))
  end)
end)

describe("clear", function()
  it("keeps system messages unless told otherwise", function()
    for text, expected in pairs {
      ['{"operation": "clear"}'] = "s1 s3",
      ['{"operation": "CLEAR", "keepSystemMessage": true}'] = "s1 s3",
      ['{"operation": "clear", "clear": {"keepSystemMessage": false}}'] = "",
    } do
      local chat = conversation "s1 u2 s3 a4"
      chat:apply(text)
      assert.equal(expected, texts(chat))
    end
  end)

  it("brings the tool description back, once", function()
    local tools = { { name = "search", description = "finds" } }
    local chat = conversation("u1", { tools = tools, tools_heading = "Tools:" })
    assert.equal("Tools:\n- search: finds", chat[1].content)
    chat:clear { keep_system_message = false }
    chat:clear {}
    assert.equal("Tools:\n- search: finds", texts(chat))
  end)
end)

describe("the tool description of a new conversation", function()
  local tools = { { name = "查", description = "finds" } }
  local function first_texts(messages, heading)
    local chat = ebb.conversation { tools = tools, tools_heading = heading, messages = messages }
    chat:clear {}
    local list = {}
    for i, message in ipairs(chat) do list[i] = message.text end
    return table.concat(list, " ")
  end
  local user = { role = "user", content = "u" }

  it("is not added where a message has one, under either heading, in any form", function()
    local own = "可用工具:\n无"
    for _, message in ipairs {
      { role = "system", content = own }, { role = "system", content = { { type = "text", text = own } } },
      ebb.json.raw(('{"role":"system","content":%s}'):format(ebb.json.encode(own))),
    } do
      assert.equal(own, first_texts { message, user })
    end
    assert.equal("可用工具:\n无", first_texts { role = "system", content = "可用工具:\n无" })
    assert.equal("T:\nnone", first_texts({ user, { role = "system", content = "T:\nnone" } }, "T:"))
  end)

  it("is the first message where none has one", function()
    assert.equal("Available tools:\n- 查: finds s", first_texts { { role = "system", content = "s" }, user })
    local chat = ebb.conversation { tools = tools, messages = { { role = "user", content = "可用工具:\n无" } } }
    assert.equal(2, #chat)
    assert.equal("system", chat[1].role)
  end)
end)

describe("filter", function()
  local cases = {
    { '"roles": ["user", "tool"]',                            "u1 u5 r7(x) u8" },
    { '"roles": []',                                          nil },
    { '"contentContains": ["u1", "a3"]',                      "u1 a3" },
    { '"contentExcludes": ["u"]',                             "s2 a3 c6(x) r7(x)" },
    { '"contentContains": ["{}"]',                            "c6(x)" },
    { '"roles": ["user"], "contentExcludes": ["5"]',          "u1 u8" },
    { '"excludeToolCalls": true',                             "s2 u1 a3 u5 u8" },
    { '"excludeToolCalls": ["other"]',                        "s2 u1 a3 u5 c6(x) r7(x) u8" },
    { '"roles": ["tool"], "wholeUnits": true',                "c6(x) r7(x)" },
  }
  for _, case in ipairs(cases) do
    it(case[1], function()
      local chat = conversation "s2 u1 a3 u5 c6(x) r7(x) u8"
      local text = ('{"operation": "filter", "filter": {%s}}'):format(case[1])
      if case[2] then
        chat:apply(text)
        assert.equal(case[2], texts(chat))
      else
        assert.equal("argument", refusal(chat.apply, chat, text).code)
      end
    end)
  end
end)

describe("rollback", function()
  it("goes back and forth; batches stay", function()
    local chat = conversation(numbers(1, 4))
    chat:truncate { keep_last = 1 }
    chat:apply '{"operation": "ROLLBACK", "targetBatchIndex": 0}'
    assert.same({ numbers(1, 4), 2 }, { texts(chat), #chat:batches() })
    chat:apply '{"operation": "rollback", "rollback": {"targetBatchIndex": 1}}'
    assert.equal("u4", texts(chat))
  end)

  it("with a length gives the state of then", function()
    local chat = helper.ebb.conversation { counter = helper.tokens_of }
    for _, message in ipairs(helper.messages(numbers(1, 4))) do
      chat:append(message)
    end
    chat:apply '{"operation": "rollback", "targetBatchIndex": 0, "length": 2}'
    assert.equal("u1 u2", texts(chat))
    chat:rollback(0)
    assert.equal(numbers(1, 4), texts(chat))
  end)
end)

describe("refused", function()
  local cases = {
    -- operations, and words of the error and its hint
    { '{"operation": "TRUNKATE"}',                            "operations[0].operation", "did you mean 'truncate'?" },
    { '{"keepLast": 5}',                                      "operations[0].operation is missing",
      "one of: append, clear, filter, insert, replace, rollback, truncate" },
    { '{"operaton": "clear"}',                                "operations[0].operation is missing",
      "did you mean 'operation' by 'operaton'?" },
    { '[{"operation": "truncate", "keepLst": 5}]',
      "operations[0].keepLst: unknown field", "did you mean 'keepLast'?" },
    { '[{"operation": "truncate", "keep_last": 5}]',
      "operations[0].keep_last: unknown field", "did you mean 'keepLast'?" },
    { '[{"operation": "truncate", "truncate": {"keepLast": -1}}]', "operations[0].truncate.keepLast", nil },
    { '[{"operation": "truncate", "keepLast": "5"}]',         "operations[0].keepLast: expected a whole number", nil },
    { '[{"operation": "truncate", "keepLast": 1.5}]',         "operations[0].keepLast", nil },
    { '[{"operation": "truncate", "keepLast": null}]',        "operations[0].keepLast", nil },
    { '[{"operation": "truncate", "keepLast": 1e400}]',       "operations[0].keepLast", nil },
    { '[{"operation": "truncate", "range": {"start": 3, "end": 1}}]', "operations[0].range", nil },
    { '[{"operation": "truncate", "range": {"start": 3}}]',   "operations[0].range.end", nil },
    { '[{"operation": "truncate", "range": {"start": 0, "stop": 1}}]', "operations[0].range.stop: unknown field", nil },
    { '[{"operation": "truncate", "scope": "inside"}]',       "operations[0].scope", nil },
    { '[{"operation": "truncate", "keepLast": 1, "filter": {}}]', "operations[0].filter: unknown field", nil },
    { '[{"operation": "truncate"}]',                          "operations[0]: nothing is asked",
      "one of: role, keepFirst, keepLast, removeFirst, removeLast, range" },
    { '[{"operation": "truncate", "wholeUnits": true}]',      "operations[0]: nothing is asked", nil },
    { '[{"operation": "filter", "filter": {"roles": []}}]',   "operations[0].filter: nothing is asked", nil },
    { '[{"operation": "truncate", "role": "nobody"}]',        "operations[0]", nil },
    { '[{"operation": "insert", "messages": []}]',            "operations[0].position is missing", nil },
    { '[{"operation": "insert", "position": -1, "messages": [{"role": "user", "content": "x"}]}]', "-1", "use append" },
    { '[{"operation": "insert", "position": 9, "messages": [{"role": "user", "content": "x"}]}]',
      "operations[0].position", nil },
    { '[{"operation": "replace", "index": 3, "message": {"role": "user", "content": "x"}}]',
      "operations[0].index", nil },
    { '[{"operation": "replace", "index": -1, "message": {"role": "user", "content": "x"}}]',
      "operations[0].index", nil },
    { '[{"operation": "replace", "index": 0, "message": []}]', "operations[0].message", nil },
    { '[{"operation": "append", "messages": []}]',            "operations[0]", nil },
    { '[{"operation": "append", "messages": {}}]',
      "operations[0].messages: expected a list of messages, got an object", nil },
    { '[{"operation": "append", "messages": [{"role": "boss", "content": "x"}]}]', "operations[0]", nil },
    { '[{"operation": "filter"}]',                            "operations[0]", nil },
    { '[{"operation": "filter", "roles": "user"}]',           "operations[0].roles", nil },
    { '[{"operation": "filter", "roles": [1]}]',              "operations[0].roles[0]", nil },
    { '[{"operation": "clear", "keepSystemMessage": 1}]',     "operations[0].keepSystemMessage", nil },
    { '[{"operation": "rollback", "targetBatchIndex": 7}]',   "operations[0]", nil },
    { '[{"operation": "rollback"}]',                          "operations[0]: nothing is asked",
      "one of: targetBatchIndex, checkpoint" },
    { '[{"operation": "rollback", "checkpoint": "none"}]',    "operations[0]", nil },
    { '[{"operation": "rollback", "checkpoint": "a", "targetBatchIndex": 0}]', "not both", nil },
    { '[7]',                                                  "operations[0]", nil },
    { '7',                                                    "operations", nil },
    { '[{"operation": "clear"},]',                            "operations", nil },
  }
  for _, case in ipairs(cases) do
    it(case[1], function()
      local chat = conversation(numbers(1, 3))
      local before = helper.snapshot(chat)

      local problem = refusal(chat.apply, chat, case[1])

      assert.truthy(problem.message:find(case[2], 1, true), problem.message)
      if case[3] then assert.equal(case[3], problem.hint) end
      assert.equal(before, helper.snapshot(chat))
    end)
  end

  it("the first one stops all, and nothing remains of those before it", function()
    local chat = conversation(numbers(1, 3))
    local before = helper.snapshot(chat)
    local text = [[ [{"operation": "append", "messages": [{"role": "user", "content": "u4"}]},
      {"operation": "truncate", "keepLast": 2}, {"operation": "replace", "index": 2,
      "message": {"role": "user", "content": "u5"}}] ]]

    local problem = refusal(chat.apply, chat, text)

    assert.truthy(problem.message:find("operations[2].index", 1, true), problem.message)
    assert.equal(before, helper.snapshot(chat))
    chat:append { role = "user", content = "u4" }
    assert.equal(4, chat[4].seq)
  end)
end)

describe("operation files", function()
  it("warn of createNewBatch and ignore it", function()
    local log, lines = require "ebb.support.log", {}
    local before = log.to(function(line) lines[#lines + 1] = line end)
    local chat = conversation(numbers(1, 3))

    chat:apply '[{"operation": "truncate", "keepLast": 1, "createNewBatch": false}]'
    chat:apply '{"operation": "truncate", "truncate": {"keepLast": 1, "createNewBatch": true}}'

    log.to(before)
    assert.equal(2, #lines)
    assert.truthy(lines[1]:find "createNewBatch")
    assert.equal(3, #chat:batches())
  end)

  it("may be tables; several give several results", function()
    local chat = conversation(numbers(1, 3))
    local results = chat:apply {
      { operation = "append", messages = { { role = "user", content = "u4" } } },
      { operation = "TRUNCATE", keepLast = 2 },
      { operation = "rollback", targetBatchIndex = 0 },
    }
    assert.same({
      { operation = "append", affected_batch_index = 0 },
      { operation = "truncate", affected_batch_index = 1 },
      { operation = "rollback", affected_batch_index = 0 },
    }, results)
    assert.equal(3, #chat:state().results)
    assert.equal("u1 u2 u3 u4", texts(chat))
  end)

  it("lead to a state in the seeds' form", function()
    local chat = conversation "u1 u2"
    chat:apply '{"operation": "truncate", "keepLast": 1}'
    local state = chat:state()
    assert.equal("u2", state.messages[1].content)
    assert.equal(json.null, state.batches[1].parent)
    assert.same({ 0, 2, "truncate", 1, 1700000000000 }, { state.batches[2].parent, state.batches[2].parentLength,
      state.batches[2].operation, state.batches[2].messageCount, state.batches[2].timestamp })
    assert.same({ totalMessages = 2, currentBatchMessages = 1, totalBatches = 2, currentBatchIndex = 1 }, state.stats)
    assert.same({ { operation = "truncate", affectedBatchIndex = 1 } }, state.results)
    assert.equal(1, state.currentBatch)
    assert.truthy(json.encode(conversation(""):state()):find('"messages":[]', 1, true))
  end)
end)

describe("the caller's description of a batch", function()
  local MESSAGE = '{"role":"user","content":"m"}'
  local cases = {
    -- the JSON fields                                             the operation's own words
    { "insert", '"position": 0, "messages": [' .. MESSAGE .. "]",  "insert 1 at 0" },
    { "replace", '"index": 0, "message": ' .. MESSAGE,             "replace 0" },
    { "truncate", '"keepLast": 1',                                 "truncate keepLast 1" },
    { "truncate", '"role": "user", "keepLast": 1',                 "truncate only user keepLast 1" },
    { "clear", '"keepSystemMessage": false',                       "clear all" },
    { "filter", '"roles": ["user"]',                               "filter" },
  }
  for _, case in ipairs(cases) do
    it(("is in the place of %q"):format(case[3]), function()
      local forms = {
        '{"operation": "%s", %s%s}', '{"operation": "%s", "%1$s": {%s%s}}', '{"operation": "%s", "%1$s": {%s}%s}',
      }
      for _, form in ipairs(forms) do
        local node = form:find "%%1" ~= nil
        form = form:gsub("%%1%$s", case[1])
        local chat = conversation "u1 a2 u3"
        chat:apply(form:format(case[1], case[2], ""))
        chat:rollback(0)
        chat:apply(form:format(case[1], case[2], ', "description": "整理：第一次"'))
        local batches = chat:batches()
        assert.same({ case[3], "整理：第一次" }, { batches[2].description, batches[3].description }, node)
        assert.equal(case[1], batches[3].operation)
        assert.equal("整理：第一次", chat:state().batches[3].description)
        local saved = assert(helper.ebb.parse(chat:write "ebb"))
        assert.equal("整理：第一次", saved:batches()[3].description)
        assert.equal("整理：第一次", chat:fork():batches()[3].description)
      end
    end)
  end

  it("is an option of the calls in Lua, and of filters", function()
    local chat = conversation "s1 u2 a3 u4"
    local options = { description = "mine" }
    chat:insert(1, { role = "user", content = "x" }, options)
    chat:replace(1, { role = "user", content = "y" }, options)
    chat:truncate { remove_first = 1, description = "mine" }
    chat:filter { roles = { "system", "user" }, description = "mine" }
    chat:filter { function(message) return message.text ~= "u2" end, description = "mine" }
    chat:clear(options)
    local batches = chat:batches()
    for i = 2, #batches do assert.equal("mine", batches[i].description) end
    assert.equal(7, #batches)
    chat:checkpoint "here"
    assert.same({ "mine", "here" }, { chat:batches()[7].description, chat:batches()[7].name })
  end)

  it("is refused where no batch starts, and where it is no short text", function()
    local chat = conversation "u1 u2"
    for message, call in pairs {
      ["description: a string is expected"] = function() chat:truncate { keep_last = 1, description = 3 } end,
      ["at most 4096 bytes"] = function() chat:clear { description = ("x"):rep(4097) } end,
      ["expected UTF-8"] = function() chat:clear { description = "\xff" } end,
      ["unknown option 'desc'"] = function() chat:insert(1, { role = "user", content = "" }, { desc = "" }) end,
      ["operations[0].description: unknown field"] = function()
        chat:apply('{"operation": "append", "messages": [' .. MESSAGE .. '], "description": "x"}')
      end,
      ["operations[1].description: unknown field"] = function()
        chat:apply('[{"operation": "clear"}, {"operation": "rollback", "rollback": {"targetBatchIndex": 0}, '
          .. '"description": "x"}]')
      end,
      ["operations[0]: description occurs twice, in truncate too"] = function()
        chat:apply '{"operation": "truncate", "truncate": {"keepLast": 1, "description": "x"}, "description": "y"}'
      end,
      ["operations[0].insert.description: at position -1"] = function()
        chat:apply('{"operation": "insert", "insert": {"position": -1, "description": "x", "messages": [' .. MESSAGE
          .. "]}}")
      end,
    } do
      assert.matches(message, refusal(call).message, 1, true)
    end
    assert.equal(1, #chat:batches())
  end)
end)

describe("the positions of each role's messages", function()
  local cases = {
    -- conversation         system   user      assistant  tool
    { "",                   {},      {},       {},        {} },
    { "u1",                 {},      { 1 },    {},        {} },
    { "s1 u2 a3 u4 s5",     { 1, 5 }, { 2, 4 }, { 3 },    {} },
    { "u1 c2(x) r3(x) a4",  {},      { 1 },    { 2, 4 },  { 3 } },
  }
  for _, case in ipairs(cases) do
    it(("are answered in one call for %q"):format(case[1]), function()
      local chat = conversation(case[1])
      local expected = { system = case[2], user = case[3], assistant = case[4], tool = case[5] }

      assert.same(expected, chat:indices())

      chat:append { role = "user", content = "later" }
      assert.same(expected, chat:batch(0, #chat - 1):indices())
      for role, positions in pairs(expected) do
        local list = chat:batch(0, #chat - 1):where({ role = role })
        assert.same(positions, list:positions())
      end
    end)
  end

  it("are refused with arguments, as those of one role are asked for otherwise", function()
    local chat = conversation "s1 u2 a3 u4"
    for _, list in ipairs { chat, chat:batch(0) } do
      for _, argument in ipairs { "user", { role = "user" }, 1 } do
        local ok, problem = pcall(list.indices, list, argument)
        assert.is_false(ok)
        assert.equal("argument", problem.code)
        assert.match("takes no arguments", problem.message)
        assert.match("positions", problem.hint)
      end
    end
    assert.same({ 2, 4 }, chat:where { role = "user" }:positions())
  end)

  it("follow edits, rollbacks and windows", function()
    local chat = conversation "s1 u2 a3 u4"
    chat.windows:open { id = "w", content = "x" }
    chat:insert(1, { role = "assistant", content = "first" })
    assert.same({ system = { 2 }, user = { 3, 5 }, assistant = { 1, 4 }, tool = {} }, chat:indices())
    chat:rollback(0)
    assert.same({ 2, 4 }, chat:indices().user)
  end)
end)

describe("the report of operations", function()
  it("has the state, the batch and the figures next to a result for each, as they were then", function()
    local chat = conversation "s1 u2 a3 u4"
    local results = chat:apply { { operation = "truncate", removeFirst = 1 }, { operation = "append",
      messages = { { role = "user", content = "u5" } } } }
    chat:clear()

    assert.same({ { operation = "truncate", affected_batch_index = 1 }, { operation = "append",
      affected_batch_index = 1 } }, results)
    assert.equal(1, results.affected_batch_index)
    assert.same({ totalMessages = 5, currentBatchMessages = 4, totalBatches = 2, currentBatchIndex = 1 }, results.stats)
    assert.equal("u5", results.state.messages[4].content)
    assert.equal("u5", results.messages[4].content)
    assert.same({ 1, 0, 1, 3 }, { results.dropped, results.replaced, results.inserted, results.kept })
    assert.equal("truncate", results.ledger[1].reason)
    assert.equal(results.before - results.after, results.ledger[1].tokens + results.ledger[2].tokens)
    assert.same({ user = { 0, 2, 3 }, assistant = { 1 }, system = {}, tool = {} }, results.indices)
    assert.is_nil(results.nothing)
  end)

  it("has no batch without operations", function()
    local results = conversation("u1"):apply {}
    assert.is_nil(results.affected_batch_index)
    assert.same({ 0, 1 }, { results.dropped, results.stats.totalMessages })
  end)
end)

describe("the results of operations", function()
  it("go with a fork, and are its own after its next operation", function()
    local chat = conversation "u1 a1 u2"
    chat:apply '{"operation": "truncate", "keepLast": 2}'

    local fork = chat:fork()
    assert.same({ { operation = "truncate", affectedBatchIndex = 1 } }, fork:state().results)
    fork:apply '{"operation": "clear"}'

    assert.equal("clear", fork:state().results[1].operation)
    assert.equal("truncate", chat:state().results[1].operation)
  end)

  it("go with the markup of windows, which a fork need not make anew", function()
    local chat = conversation "u1"
    local window = chat.windows:open { id = "w", content = "one" }
    chat.windows:render()

    local fork = chat:fork()
    local core = require "ebb.support.core"
    assert.equal(core.state(chat).markup.w, core.state(fork).markup.w)
    window:update { content = "two" }
    assert.truthy(chat.windows:render()[2].content:find "two")
    assert.truthy(fork.windows:render()[2].content:find "one")
  end)
end)

describe("What is refused in a file is told at its value:", function()
  local operations = require "ebb.conversation.operations"
  local USER = '{"role":"user","content":"x"}'

  -- a file in which @ comes before the value at fault
  local rows = {
    '[{"operation":"CLEAR"},\n {"operation":\n@"DROPP"}]',
    '{"operation":\n @"FILTRE"}',
    '[{"operation":\n @7}]',
    '[{"operation":"APPEND","messages":[' .. USER .. ',\n{"role":@"robot","content":"x"}]}]',
    '{"operation":"append","messages":[{"content":"x","role":\n@"nobody"}]}',
    '[{"operation":"INSERT","position":0,"messages":[' .. USER .. ',\n{"role":"user","content":@4}]}]',
    '[{"operation":"APPEND","messages":[{"role":"assistant","tool_calls":[\n{"id":@1}]}]}]',
    '[{"operation":"REPLACE","index":0,"message":{"role":\n@"robot","content":"x"}}]',
    '[{"operation":"TRUNCATE","keepLast":1,\n"role":@"robot"}]',
    '[{"operation":"truncate","truncate":{"keepLast":1,\n"role":@"robot"}}]',
    '[{"operation":"TRUNCATE","keepLast":1,"scope":\n@"all"}]',
    '[{"operation":"TRUNCATE","keepLast":\n@-1}]',
    '[{"operation":"TRUNCATE","range":\n@{"start":3,"end":1}}]',
    '[{"operation":"FILTER","roles":["user",\n@"robot"]}]',
    '[{"operation":"FILTER","contentContains":["a",\n@5]}]',
    '[{"operation":"INSERT","position":\n@99,"messages":[' .. USER .. ']}]',
    '[{"operation":"REPLACE","index":\n@99,"message":' .. USER .. '}]',
    '[{"operation":"ROLLBACK","targetBatchIndex":\n@99}]',
    '[{"operation":"ROLLBACK","targetBatchIndex":0,"length":\n@77}]',
    '[{"operation":"ROLLBACK","checkpoint":\n@"before lunch"}]',
  }
  for _, row in ipairs(rows) do
    it((row:gsub("\n", " ")), function()
      local before, after = row:match "^(.*)@(.*)$"
      local _, breaks = before:gsub("\n", "")
      local chat = helper.conversation "u1 a1 u2 a2"

      local problem = helper.refusal(operations.apply, chat, before .. after, "o.json")

      assert.equal(("o.json:%d:%d: "):format(breaks + 1, #before:match "[^\n]*$" + 1),
        problem.message:match "^o%.json:%d+:%d+: ")
      assert.equal(4, #chat)
    end)
  end
end)
