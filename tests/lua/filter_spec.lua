--- chat:filter with conditions, functions and files.

local helper = dofile "tests/lua/helper.lua"
local cpu_time = dofile "tests/lua/cpu_time.lua"
local conversation, texts, refusal = helper.conversation, helper.texts, helper.refusal

describe("conditions", function()
  it("go to the core, Lua's own included", function()
    local chat = conversation "s1 u2 a3 u4!"
    chat:fork():filter { roles = { "user" } }
    local fork = chat:fork()
    fork:filter { where = function(message) return message.tokens > 2 end }
    assert.equal("a3 u4!", texts(fork))
    chat:filter { marked = "pinned" }
    assert.equal("u4!", texts(chat))
  end)

  it("refuse an unknown name with a hint", function()
    local chat = conversation "s1"
    assert.truthy(refusal(chat.filter, chat, { role = { "user" } }).hint:find "roles")
    assert.equal("argument", refusal(chat.filter, chat, {}).code)
  end)
end)

describe("functions", function()
  local cases = {
    { "nil keeps",                  function() end,                                       "s1 u2 a3 u4" },
    { "true keeps",                 function() return true end,                           "s1 u2 a3 u4" },
    { "false drops",                function(m) return m.role ~= "user" end,              "s1 a3" },
    { "guards do not hold",         function(m) return m.role ~= "system" end,            "u2 a3 u4" },
    { "a table replaces",           function(m)
      if m.role == "assistant" then return { role = "assistant", content = "a9" } end
    end,                                                                                  "s1 u2 a9 u4" },
    { "a table of another role",    function(m)
      if m.role == "assistant" then return { role = "user", content = "u9" } end
    end,                                                                                  "s1 u2 u9 u4" },
    { "a list puts several",        function(m)
      if m.role == "assistant" then
        return { { role = "user", content = "u8" }, { role = "assistant", content = "a9" } }
      end
    end,                                                                                  "s1 u2 u8 a9 u4" },
    { "the message may be among them", function(m)
      if m.role == "assistant" then
        return { { role = "user", content = "u8" }, m, { role = "user", content = "u9" } }
      end
    end,                                                                                  "s1 u2 u8 a3 u9 u4" },
    { "an empty list drops",        function(m) if m.role == "user" then return {} end end, "s1 a3" },
    { "the message itself keeps",   function(m) return m end,                             "s1 u2 a3 u4" },
  }
  for _, case in ipairs(cases) do
    it(case[1], function()
      local chat = conversation "s1 u2 a3 u4"
      local batch = chat:filter(case[2])
      assert.equal(case[3], texts(chat))
      assert.equal(case[3] == "s1 u2 a3 u4" and 0 or 1, batch)
    end)
  end

  it("take the whole unit along", function()
    local chat = conversation "u1 c2(x,y) r3(x) r4(y) u5"
    chat:filter(function(message) return message.content ~= "r3(x)" end)
    assert.equal("u1 u5", texts(chat))
  end)

  it("replace inside a unit, role, ids and calls as they were", function()
    local chat = conversation "u1 c2(x) r3(x) u5"
    chat:filter(function(message)
      if message.role == "tool" then
        local short = message:totable()
        short.content = "r1(x)"
        return short
      end
    end)
    assert.equal("u1 c2(x) r1(x) u5", texts(chat))
    assert.equal("x", chat[3].call.id)
  end)

  it("leave out fields that the table leaves out", function()
    local chat = conversation "u1"
    chat:append { role = "user", content = "u2", name = "eve", score = 3 }
    chat:filter(function(message) return { role = "user", content = message.content } end)
    assert.is_nil(chat[2]:totable().name)
    assert.is_nil(chat[2]:totable().score)
  end)

  it("that are exact drop just what they say", function()
    local chat = conversation "u1 c2(x) r3(x) u5"
    chat:filter { name = "cut", exact = true, filter = function(message) return message.role ~= "tool" end }
    assert.equal("u1 c2(x) u5", texts(chat))
    assert.equal(2, #chat:batches())
  end)

  it("leave one batch each, named", function()
    local chat = conversation "u1 u2 u3"
    chat:filter { name = "no_twos", filter = function(message) return message.tokens ~= 2 end }
    chat:filter(function(message) return message.tokens ~= 3 end)
    local batches = chat:batches()
    assert.same({ 3, "filter" }, { #batches, batches[2].operation })
    assert.truthy(batches[2].description:find "no_twos")
    chat:rollback(0)
    assert.equal("u1 u2 u3", texts(chat))
  end)
end)

describe("answers of many messages", function()
  local ebb = helper.ebb

  local function chat_of(n)
    local list = {}
    for i = 1, n do
      list[i] = { role = "user", content = "u" .. i }
    end
    local chat = ebb.conversation { counter = function() return 1 end }
    chat:append(list)
    return chat
  end

  local function contents(chat)
    local result = {}
    for i, message in ipairs(chat) do
      result[i] = message.content
    end
    return result
  end

  it("are what a list makes of them, whatever is dropped next to them", function()
    local seed = tonumber(os.getenv "SEED") or os.time()
    math.randomseed(seed)
    for _ = 1, 50 do
      local chat, expected = chat_of(math.random(12)), {}
      local function put(text) expected[#expected + 1] = text end
      chat:filter(function(message)
        local answer, stays = {}, math.random(3)
        for i = 1, math.random(0, 3) do
          local text = message.content .. "+" .. i
          if i == stays then put(message.content) answer[#answer + 1] = message end
          put(text)
          answer[#answer + 1] = { role = "assistant", content = text }
        end
        return answer
      end)
      assert.same(expected, contents(chat), "SEED=" .. seed)
    end
  end)

  it("are one edit: 60,000 messages for 20, and 20,000 dropped of 40,000", function()
    local chat, many = chat_of(20), {}
    for i = 1, 3000 do
      many[i] = { role = "user", content = "x" }
    end
    cpu_time.within(200, function() chat:fork():filter(function() return many end) end)

    local long = chat_of(40000)
    cpu_time.within(200, function()
      local fork = long:fork()
      fork:filter(function(message) return message.index % 2 == 0 end)
      assert.equal(20000, #fork)
    end)
  end)

  local REFUSED = {
    { "too many", "return function() local t = {} for i = 1, 60000 do t[i] = { role = 'user', content = '' } end "
      .. "return t end", "adds at most 100000 messages" },
    { "too big as JSON", "local s, t = ('\\1'):rep(1000000), {} for i = 1, 5 do t[i] = { role = 'user', content = s } "
      .. "end return function() return t end", "more than 16777216 bytes", 16 << 20 },
    { "too big to leave", "local s, t = ('x'):rep(1000000), {} for i = 1, 30 do t[i] = { role = 'user', content = s } "
      .. "end return function() return t end", "needs more memory", 16 << 20 },
  }

  for _, case in ipairs(REFUSED) do
    local name, text, words, memory = table.unpack(case)

    it("are refused if they are " .. name, function()
      finally(helper.clean)
      local chat = chat_of(2)
      local before = helper.snapshot(chat)

      local problem = refusal(chat.filter, chat, { helper.lua_file(text), limits = { memory = memory } })

      assert.matches("filter ", problem.message, 1, true)
      assert.matches(words, problem.message, 1, true)
      assert.equal(before, helper.snapshot(chat))
      chat:filter(helper.lua_file "return function(message) return message.index == 1 end")
      assert.equal(1, #chat)
    end)
  end
end)

describe("errors", function()
  local function fails(filter, options)
    local chat = conversation "u1 c2(x) r3(x) u5"
    local before = helper.snapshot(chat)
    local problem = refusal(chat.filter, chat, options and { filter, options = options } or filter)
    assert.equal(before, helper.snapshot(chat))
    return problem
  end

  local function at_three(answer)
    return { name = "odd", filter = function(message) if message.index == 3 then return answer(message) end end }
  end

  it("name the filter and the message", function()
    local problem = fails(at_three(function() return 7 end))
    assert.truthy(tostring(problem):find("filter odd, message 3: it returned a number", 1, true), tostring(problem))
    problem = fails(at_three(function() error "oops" end))
    assert.truthy(tostring(problem):find("filter odd, message 3: .*filter_spec.lua:%d+: oops"), tostring(problem))
    problem = fails(at_three(function() return { role = "assistant", content = "x" } end))
    assert.truthy(tostring(problem):find("filter odd, message 3: ", 1, true), tostring(problem))
    problem = fails(at_three(function(m) return { m, { role = "user", content = "x" } } end))
    assert.truthy(tostring(problem):find("filter odd, message 3: ", 1, true), tostring(problem))
  end)

  it("of several messages name the first one, whichever edit refuses it", function()
    local bad = { role = "boss", content = "x" }
    local function answers(list)
      return { name = "odd", filter = function(message) return list[message.index] end }
    end
    local problem = fails(answers { [1] = { { role = "user", content = "x" }, bad }, [4] = { bad, bad } })
    assert.matches("filter odd, message 1: ", problem.message, 1, true)
    problem = fails(answers { [1] = { { role = "user", content = "x" }, bad }, [3] = { role = "tool" } })
    assert.matches("filter odd, message 1: ", problem.message, 1, true)
    problem = fails(answers { [3] = { role = "tool" }, [4] = { bad, bad } })
    assert.matches("filter odd, message 3: ", problem.message, 1, true)
  end)

  it("of a message that cannot be", function()
    local chat = conversation "u1 a2"
    local before = helper.snapshot(chat)
    refusal(chat.filter, chat, function(m) if m.index == 1 then return { role = "boss", content = "x" } end end)
    assert.equal(before, helper.snapshot(chat))
  end)

  it("of options and files", function()
    local declared = { name = "f", options = { n = { type = "integer" } }, filter = function() end }
    assert.equal("did you mean 'n'?", fails(declared, { m = 1 }).hint)
    assert.equal("argument", fails(declared, { n = "1" }).code)
    assert.equal("absent", fails("no/such.lua").code)
    assert.equal("shape", fails({ filter = 5 }).code)
    assert.equal("shape", fails(helper.lua_file "return { trim = print }").code)
    local nodes = fails(helper.lua_file "return { { type = 'trim' } }")
    assert.truthy(nodes.message:find("expected a filter (a function, or a table that has one), got a list", 1, true))
    assert.truthy(nodes.hint:find "ebb run")
    assert.equal("argument", fails({ roles = { "user" } }, { n = 1 }).code)
    helper.clean()
  end)
end)

describe("files", function()
  it("return a function or a table", function()
    local chat = conversation "u1 u2 u3"
    chat:filter(helper.lua_file "return function(message) return message.tokens ~= 1 end")
    chat:filter { helper.lua_file [[
      return { options = { n = { type = "integer", default = 3 } },
        filter = function(message, options) return message.tokens ~= options.n end }]], options = { n = 2 } }
    helper.clean()
    assert.equal("u3", texts(chat))
  end)

  it("print to the log", function()
    local log, lines = require "ebb.support.log", {}
    local before = log.to(function(line) lines[#lines + 1] = line end)
    conversation("u1"):filter(helper.lua_file "return function(message) print(message.index, 'seen') end")
    log.to(before)
    helper.clean()
    assert.same({ "1\tseen" }, lines)
  end)
end)

describe("chat:filter and chat:trim", function()
  it("are called in one shape: the filter or policy first", function()
    finally(helper.clean)
    local file = helper.lua_file [[return { options = { least = { type = "integer", default = 3 } },
      filter = function(message, options) return message.tokens >= options.least end }]]
    local chat = conversation "u1 a2 u3 a4"
    chat:filter(file)
    assert.equal("u3 a4", texts(chat))
    chat:filter { file, options = { least = 4 }, limits = { deadline = 60000 } }
    assert.equal("a4", texts(chat))
    chat:rollback(0)
    chat:filter { { roles = { "user" } } }
    assert.equal("u1 u3", texts(chat))
    chat:rollback(0)
    local budget = chat:tokens() - 1
    for _, options in ipairs {
      { "keep_recent", budget = budget }, { { "keep_recent", keep = 2 }, budget = budget },
      { "keep_recent", options = { keep = 2 }, budget = budget }, { policy = "keep_recent", budget = budget },
    } do
      local fork = chat:fork()
      assert(fork:trim(options))
      assert.equal("a2 u3 a4", texts(fork))
    end
  end)

  it("say what is wrong with it", function()
    local chat = conversation "u1 a2 u3"
    for _, case in ipairs {
      { "trim", { "keep_recent", "keep_turns", budget = 5 }, "a list of policies is one element" },
      { "trim", { "keep_recent", policy = "keep_turns", budget = 5 }, "comes first" },
      { "trim", { "keep_recent", options = { kep = 2 }, budget = 5 }, "did you mean 'keep'?" },
      { "trim", { "keep_recent", bugdet = 5 }, "did you mean 'budget'?" },
      { "filter", { "a.lua", "b.lua" } },
      { "filter", { { roles = { "user" } }, options = { x = 1 } } },
      { "filter", { "a.lua", option = {} }, "did you mean 'options'?" },
    } do
      local problem = refusal(chat[case[1]], chat, case[2])
      assert.truthy(problem.code == "argument" or problem.code == "unknown_name", problem.code)
      if case[3] then assert.truthy(problem.hint:find(case[3], 1, true), problem.hint) end
    end
    assert.equal("argument", refusal(chat.filter, chat, "a.lua", { words = 20 }).code)
    assert.equal("u1 a2 u3", texts(chat))
  end)
end)
