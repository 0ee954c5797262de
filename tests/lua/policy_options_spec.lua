--- Every option of the policies and the filter that take after other projects' functions:
--- trim_messages, prune_messages, filter_messages. (tests/origins runs those projects' own cases.)

local helper = dofile "tests/lua/helper.lua"
local ebb, conversation, texts = helper.ebb, helper.conversation, helper.texts

local overhead = conversation(""):tokens()

--- Trims a conversation in the notation; guards are off, as in the originals.
local function trimmed(words, budget, options)
  local chat = conversation(words)
  options[1] = "trim_messages"
  local report, problem = chat:trim { budget = budget + overhead, policy = options, guards = false }
  return report and texts(chat) or problem
end

describe("trim_messages", function()
  local rows = {
    { "last: the longest end that fits",           30, {},                                     "a10 u10 a10" },
    { "first: the longest beginning that fits",    30, { strategy = "first" },                 "s10 u10 a10" },
    { "start_on: what stays begins with the role", 30, { start_on = "user" },                  "u10 a10" },
    { "start_on takes the names human and ai",     30, { start_on = { "human" } },             "u10 a10" },
    { "end_on: what stays ends with the role",     30, { end_on = "user" },                    "u10 a10 u10" },
    { "end_on and start_on together",              30, { end_on = "user", start_on = "ai" },   "a10 u10" },
    { "end_on with first",                         30, { strategy = "first", end_on = "user" }, "s10 u10" },
    { "include_system keeps the first message",    30, { include_system = true },              "s10 u10 a10" },
    { "all of it fits",                            50, { start_on = "user" },                  "u10 a10 u10 a10" },
    { "no unit fits",                               5, {},                                     "" },
    { "include_system with no room for others",    15, { include_system = true },              "s10" },
  }
  for _, row in ipairs(rows) do
    it(row[1], function()
      assert.equal(row[4], trimmed("s10 u10 a10 u10 a10", row[2], row[3]))
    end)
  end

  it("splits at lines, words or characters", function()
    local function count(message) return utf8.len(message.content) end
    local rows_of_split = {
      { "last",  "lines",      "three four\n" },
      { "last",  "words",      "two\nthree four\n" },
      { "last",  "characters", "e two\nthree four\n" },
      { "first", "lines",      "one two\n" },
      { "first", "words",      "one two\nthree " },
      { "first", "characters", "one two\nthree fou" },
    }
    for _, row in ipairs(rows_of_split) do
      local chat = ebb.conversation { counter = count }
      chat:append { { role = "user", content = "one two\nthree four\n" } }
      assert(chat:trim { budget = 17 + ebb.conversation { counter = count }:tokens(), guards = false,
        policy = { "trim_messages", strategy = row[1], split_by = row[2], allow_partial = true } })
      assert.equal(row[3], chat[1].content, row[1] .. ", " .. row[2])
    end
  end)

  it("keeps the parts of a message that fit", function()
    local function count(message) return type(message.content) == "table" and 4 * #message.content or #message.text end
    local part = function(text) return { type = "text", text = text } end
    local chat = ebb.conversation { counter = count }
    chat:append { { role = "user", content = { part "first", part "second", part "third" } } }
    assert(chat:trim { budget = 9 + ebb.conversation { counter = count }:tokens(), guards = false,
      policy = { "trim_messages", allow_partial = true } })
    assert.equal("second\nthird", chat[1].text)
  end)

  --- One message of two texts in each form, and the members that lead to its text.
  local forms = {
    { "openai", '{"messages":[{"role":"user","content":[{"type":"text","text":%q},{"type":"text","text":%q}]}]}' },
    { "anthropic", '{"system":"s","messages":[{"role":"user","content":[{"type":"text","text":%q},'
      .. '{"type":"text","text":%q}]}]}' },
    { "gemini", '{"contents":[{"role":"user","parts":[{"text":%q},{"text":%q}]}]}' },
    { "responses", '{"input":[{"role":"user","content":[{"type":"input_text","text":%q},'
      .. '{"type":"input_text","text":%q}]}]}' },
  }
  for _, row in ipairs(forms) do
    it("keeps a piece of a message of " .. row[1], function()
      local path = os.tmpname()
      local file <close> = assert(io.open(path, "w"))
      file:write((row[2]:format("a picture", ("one two "):rep(200))))
      file:close()
      local chat = assert(ebb.load(path))
      os.remove(path)
      for strategy, piece in pairs { first = "^a picture$", last = "two $" } do
        local fork = chat:fork()
        assert(fork:trim { budget = chat:tokens() // 2, guards = false,
          policy = { "trim_messages", strategy = strategy, split_by = "words", allow_partial = true } })
        assert.equal(#chat, #fork)
        assert.truthy(fork[#fork].text:find(piece))
      end
    end)
  end
end)

describe("prune_messages", function()
  --- Three turns; each calls a tool, the last also another one.
  local function three_turns()
    local chat = conversation "u1 c1(a) r1(a) a1 u2 c2(b) r2(b) a2 u3 c3(x,y) r3(x) r4(y) a3"
    return chat
  end

  local function prune(chat, options)
    options[1] = "prune_messages"
    assert(chat:trim { budget = 100000, policy = options, guards = false })
    return chat
  end

  -- The messages that called keep their words, for they have texts of their own.
  local rows = {
    { "none",                       "u1 c1(a) r1(a) a1 u2 c2(b) r2(b) a2 u3 c3(x,y) r3(x) r4(y) a3" },
    { "all",                        "u1 c1(a) a1 u2 c2(b) a2 u3 c3(x,y) a3" },
    { "before_last_message",        "u1 c1(a) a1 u2 c2(b) a2 u3 c3(x,y) a3" },
    { "before_last_3_messages",     "u1 c1(a) a1 u2 c2(b) a2 u3 c3(x,y) r3(x) r4(y) a3" },
    { "before_last_7_messages",     "u1 c1(a) a1 u2 c2(b) r2(b) a2 u3 c3(x,y) r3(x) r4(y) a3" },
    { "before_last_0_messages",     "u1 c1(a) r1(a) a1 u2 c2(b) r2(b) a2 u3 c3(x,y) r3(x) r4(y) a3" },
  }
  for _, row in ipairs(rows) do
    it("tool_calls = " .. row[1], function()
      local chat = three_turns()
      assert.equal(row[2], texts(prune(chat, { tool_calls = row[1] })))
      assert.same({}, chat:check "openai")
    end)
  end

  it("takes out the calls of some tools, and only their results", function()
    local chat = three_turns()
    assert.equal("u1 c1(a) r1(a) a1 u2 c2(b) r2(b) a2 u3 c3(x,y) r4(y) a3",
      texts(prune(chat, { tool_calls = { { type = "all", tools = { "f_x" } } } })))
    assert.equal(1, #chat[10].calls)
    assert.equal("y", chat[10].calls[1].id)
    assert.same({}, chat:check "openai")
  end)

  it("has several rules, each with its own tail", function()
    local chat = three_turns()
    assert.equal("u1 c1(a) a1 u2 c2(b) r2(b) a2 u3 c3(x,y) r4(y) a3", texts(prune(chat, { tool_calls = {
      { type = "all", tools = { "f_x" } }, { type = "before_last_9_messages", tools = { "f_a", "f_b" } } } })))
  end)

  --- Two answers, each with thoughts in parts and in a field.
  local function thinking()
    local chat = ebb.conversation()
    for i = 1, 2 do
      chat:append { { role = "user", content = "question " .. i },
        { role = "assistant", reasoning_content = "hm", content = {
          { type = "thinking", thinking = "let me see", signature = "s" },
          { type = "text", text = "answer " .. i } } } }
    end
    return chat
  end

  local function thoughts(chat)
    local positions = {}
    for i, message in ipairs(chat) do
      if message.json:find("let me see", 1, true) or message.json:find('"hm"', 1, true) then
        positions[#positions + 1] = i
      end
    end
    return positions
  end

  local reasoning = { { "none", { 2, 4 } }, { "before_last_message", { 4 } }, { "all", {} } }
  for _, row in ipairs(reasoning) do
    it("reasoning = " .. row[1], function()
      local chat = thinking()
      prune(chat, { reasoning = row[1] })
      assert.same(row[2], thoughts(chat))
      assert.equal("answer 1", chat[2].text)
    end)
  end

  it("empty_messages: messages in which nothing is left go, or stay", function()
    for word, count in pairs { remove = 2, keep = 3 } do
      local chat = ebb.conversation()
      chat:append { { role = "user", content = "q" },
        { role = "assistant", content = { { type = "thinking", thinking = "hm", signature = "s" } } },
        { role = "user", content = "r" } }
      prune(chat, { reasoning = "all", empty_messages = word })
      assert.equal(count, #chat, word)
    end
  end)
end)

describe("filter_messages", function()
  local function chat_of_names()
    local chat = ebb.conversation()
    chat:append {
      { role = "system", content = "rules", id = "1" },
      { role = "user", content = "hello", name = "ann", id = "2" },
      { role = "user", content = "hi", name = "bob", id = "3" },
      { role = "assistant", content = "look", id = "4", tool_calls = {
        { id = "a", type = "function", ["function"] = { name = "f", arguments = "{}" } },
        { id = "b", type = "function", ["function"] = { name = "g", arguments = "{}" } } } },
      { role = "tool", content = "A", tool_call_id = "a", id = "5" },
      { role = "tool", content = "B", tool_call_id = "b", id = "6" },
      { role = "assistant", content = "done", name = "ann", id = "7" },
    }
    return chat
  end

  local rows = {
    { "no condition",        {},                                                           "1234567" },
    { "include_names",       { include_names = "ann" },                                    "27" },
    { "include_types",       { include_types = { "human", "system" } },                    "123" },
    { "include_ids",         { include_ids = { "3", "7" } },                               "37" },
    { "included by any one", { include_names = "bob", include_types = "ai" },              "347" },
    { "exclude_names",       { exclude_names = "ann" },                                    "13456" },
    { "exclude_types",       { exclude_types = { "tool", "ai" } },                         "123" },
    { "exclude_ids",         { exclude_ids = { "1", "2" } },                               "34567" },
    { "excluded wins",       { include_types = "user", exclude_names = "bob" },            "2" },
    { "all tool calls",      { exclude_tool_calls = "all" },                               "1237" },
    { "a call by its id",    { exclude_tool_calls = "a" },                                 "123467" },
    { "both calls",          { exclude_tool_calls = { "a", "b" } },                        "1237" },
  }
  for _, row in ipairs(rows) do
    it(row[1], function()
      local chat, ids = chat_of_names(), {}
      chat:filter { "scripts/filters/filter_messages.lua", options = row[2] }
      for i, message in ipairs(chat) do
        ids[i] = message.id
      end
      assert.equal(row[3], table.concat(ids))
    end)
  end

  it("takes one call out of a message that makes two", function()
    local chat = chat_of_names()
    chat:filter { "scripts/filters/filter_messages.lua", options = { exclude_tool_calls = "a" } }
    assert.equal(1, #chat[4].calls)
    assert.equal("b", chat[4].calls[1].id)
    assert.same({}, chat:check "openai")
  end)
end)

describe("options that are right one by one", function()
  local RANGE = [[{ name = "range", options = { first = { type = "integer", required = true },
    last = { type = "integer", default = 5 } },
    check = function(options) if options.first > options.last then return "first is above last" end end,
    %s = function(subject) error "it ran" end }]]

  it("are refused together by the check of a policy or a filter, before anything runs", function()
    finally(helper.clean)
    local text = "return " .. RANGE:format "trim"
    for _, spec in ipairs { text, helper.lua_file(text), assert(load(text))() } do
      local chat = conversation "u1 a2 u3"
      local problem = helper.refusal(chat.trim, chat, { budget = 4, policy = { spec, first = 6 } })
      assert.equal("argument", problem.code)
      assert.matches("range: first is above last", problem.message, 1, true)
      problem = helper.refusal(chat.trim, chat, { budget = 4, policy = spec })
      assert.matches("first is missing", problem.message, 1, true)
      assert.matches("it ran", tostring(select(2, chat:trim { budget = 4, policy = { spec, first = 5 } })), 1, true)
    end
    local filter = assert(load("return " .. RANGE:format "filter"))()
    local chat = conversation "u1 a2 u3"
    assert.equal("filter range: first is above last",
      helper.refusal(chat.filter, chat, { filter, options = { first = 6 } }).message)
  end)

  it("need a function for the check", function()
    local _, problem = conversation("u1"):trim { budget = 4, policy = { name = "x", trim = print, check = true } }
    assert.equal("policy x: check is a function of the options", problem.message)
  end)

  it("are in a table in Lua", function()
    local chat = conversation "u1"
    local problem = helper.refusal(chat.trim, chat, { budget = 4, policy = "keep_recent:keep=3,fill=2" })
    assert.equal("policy 'keep_recent:keep=3,fill=2': options belong in a table", problem.message)
    assert.equal('policy = { "keep_recent", keep = 3, fill = 2 }, in JSON '
      .. '{"name": "keep_recent", "keep": 3, "fill": 2}', problem.hint)
  end)
end)

describe("options after a colon", function()
  local command = dofile "tests/lua/command.lua"
  before_each(command.make_folder)
  after_each(command.remove_folder)

  local rows = {
    { "keep_recent:keep=1,keep=2", "keep occurs twice" },
    { "keep_recent:keep",          "policy keep_recent: expected key=value after the colon, got 'keep'" },
    { "./own.lua:first",           "policy ./own.lua: expected key=value after the colon, got 'first'" },
    { "keep_recent:keep=1,",       "hint: key=value follows after a comma" },
    { "%s/own.lua:first=6",        "policy own: first is above last" },
    { "%s/own.lua:last=6",         "first is missing" },
  }
  for _, row in ipairs(rows) do
    it("are refused: " .. row[1], function()
      command.file("own.lua", [[return { options = { first = { type = "integer", required = true },
        last = { type = "integer", default = 5 } },
        check = function(options) if options.first > options.last then return "first is above last" end end,
        trim = function(draft) end }]])
      local policy = row[1]:gsub("%%s", command.folder)
      local words = ("trim %s --budget 5 --policy %s"):format(command.path_of "small.json", policy)
      command.contains(row[2], command.fails(command.USAGE, words))
    end)
  end

  it("of a filter are refused, too", function()
    local words = ("filter %s:keep --input %s"):format(command.path_of "keep_user.lua", command.path_of "small.json")
    command.contains("expected key=value after the colon, got 'keep'", command.fails(command.USAGE, words))
  end)

  it("and what a policy needs are shown by `ebb policies`, a user's example without a file of results", function()
    local own = command.file("own.lua", [[return { name = "keep_recent", example = "ebb trim --policy own.lua:n=1",
      options = { n = { type = "integer", required = true } }, trim = function(draft) end }]])
    local out = command.does("policies " .. own)
    command.contains("(required)", out)
    command.contains("Example\n  ebb trim --policy own.lua:n=1", out)
    assert.is_nil(out:find("out.json", 1, true))
    command.contains("scripts/policies/keep_recent.out.json", (command.does "policies keep_recent"))
  end)
end)

describe("what a policy remembers", function()
  it("is named where it cannot be kept, in a sandbox and outside", function()
    local text = "return { name = 'g', trim = function(draft) draft.memory.cut = { print } end }"
    for _, trusted in ipairs { false, true } do
      local _, problem = conversation("u1 a2"):trim { budget = 100, policy = text, trusted = trusted }
      assert.matches("^policy g: draft.memory.cut%[1%] cannot be kept", problem.message)
    end
  end)
end)
