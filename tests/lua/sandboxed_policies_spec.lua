--- Policies and filters from files and texts: what they may do in their sandbox, what
--- stops them, and that the conversation never notices.

local helper = dofile "tests/lua/helper.lua"
local it_exact = dofile "tests/lua/it_exact.lua"(it, function(why) pending(why) end)
local cpu_time = dofile "tests/lua/cpu_time.lua"
local log = require "ebb.support.log"
local conversation, texts, snapshot = helper.conversation, helper.texts, helper.snapshot

local overhead = conversation("u1"):tokens() - 1

--- A folder with files; gives its path.
local function folder_of(files)
  local folder = os.tmpname()
  os.remove(folder)
  assert(os.execute("mkdir " .. folder))
  for name, text in pairs(files) do
    local file = assert(io.open(folder .. "/" .. name, "wb"))
    file:write(text)
    file:close()
  end
  finally(function() os.execute("rm -r " .. folder) end)
  return folder
end

local function logged(run)
  local lines = {}
  local before = log.to(function(line) lines[#lines + 1] = line end)
  finally(function() log.to(before) end)
  run()
  return lines
end

local function trim(chat, source, given)
  given = given or {}
  given.budget, given.policy = given.budget or 10 + overhead, { source = source }
  return chat:trim(given)
end

local CHAT = "u20 a20 u5 a5 u5"
local HOUR = 3600000   -- a deadline that another limit comes before, on any machine

describe("a policy in its sandbox", function()
  --- Each must be stopped, or refused what it reaches for.
  local runaways = {
    { "a loop", "while true do end", "ran longer" },
    { "a pcall loop", "while true do pcall(function() while true do end end) end", "ran longer" },
    { "a coroutine loop", "while true do coroutine.wrap(function() while true do end end)() end", "ran longer" },
    { "a coroutine bomb", "while true do coroutine.wrap(function() end)() end", "ran longer" },
    { "a pattern bomb", "local _ = ('a'):rep(20000):find('.-.-.-.-b')", "ran longer" },
    { "a matches bomb", "draft:replace(draft[2], { content = ('a'):rep(9000) }) "
      .. "for _ in draft:messages { matches = ('.-'):rep(9) .. 'b$' } do end", "ran longer" },
    { "a handler's loop",
      "xpcall(function() while true do end end, function() while true do end end)", "ran longer" },
    { "a loop of edits", "while true do draft:note('x') pcall(draft.drop, draft, 1) end", "" },
    { "a loop of inserts", "while true do draft:insert(1, { role = 'user', content = 'x' }) end", "" },
    { "a memory bomb", "local t = {} while true do t[#t + 1] = ('x'):rep(100000) .. #t end", "more memory than" },
    { "a bomb of inserts",
      "local s = ('x'):rep(1 << 20) while true do draft:insert(1, { role = 'user', content = s }) end",
      "more memory than the 8192 KiB" },
    { "a bomb of notes", "local s = ('x'):rep(1 << 20) while true do draft:note(s) end",
      "not enough memory: 8192 KiB" },
    { "a bomb of reasons", "local s = ('x'):rep(1 << 20) for i = 1, 1e9 do draft:keep(1, s .. i) end",
      "not enough memory: 8192 KiB" },
    { "files", "io.open('/etc/passwd')", "(global 'io'): a sandbox has no io" },
    { "files of Lua", "dofile('/etc/passwd')", "(global 'dofile'): a sandbox has no dofile" },
    { "the system", "os.execute('true')", "(global 'os'): a sandbox has no os" },
    { "its own nothing", "nothing.open('x')", "(global 'nothing')" },
    { "other modules", "require 'os'", "module 'os' not found" },
    { "the core", "require 'ebb.core'", "not found" },
    { "a path", "require '../secret'", "no module name" },
    { "a policy elsewhere", "draft:run('/etc/passwd.lua')", "neither next to" },
    { "bytecode", "error((select(2, load('\\27Lua'))))", "binary" },
    { "a metatable", "getmetatable(draft).__index = nil", "index a boolean" },
  }
  for _, case in ipairs(runaways) do
    it("is stopped by its limits: " .. case[1] .. " #time", function()
      local chat = conversation(CHAT)
      local before = snapshot(chat)
      local deadline = (case[3] == "" or case[3] == "ran longer") and 150 or HOUR
      local report, why, code = cpu_time.within(100, function()
        return helper.outcome(trim(chat, ("return function(draft, budget)\n%s\nend"):format(case[2]),
          { limits = { deadline = deadline, fuel = 0, memory = 8 << 20 } }))
      end, 0.15)
      assert.is_nil(report)
      assert.equal("policy", code)
      assert.truthy(why:find(case[3], 1, true), why)
      assert.truthy(why:find "^policy text:", why)
      assert.equal(before, snapshot(chat))
      assert(chat:trim { budget = 10 + overhead })
      assert.equal("a5 u5", texts(chat))
    end)
  end

  it("is stopped while it is loaded", function()
    local chat = conversation(CHAT)
    local report, why, code = helper.outcome(trim(chat, "return (function() while true do end end)()",
      { limits = { deadline = 50 } }))
    assert.is_nil(report)
    assert.equal("policy", code)
    assert.truthy(why:find("ran longer than 50.0 ms", 1, true), why)
  end)

  it("says which limit it reached, and how much was allowed #time", function()
    local function why_of(body, limits)
      local _, problem = trim(conversation(CHAT), "return function(draft)\n" .. body .. "\nend", { limits = limits })
      return problem.message
    end
    assert.truthy(why_of("while true do end", { fuel = 200000, deadline = HOUR })
      :find("policy text:2: stopped: it used up its fuel of 200000", 1, true))
    assert.truthy(why_of("while true do end", { deadline = 30 })
      :find("policy text:2: stopped: it ran longer than 30.0 ms", 1, true))
    assert.truthy(why_of("local t = {} while true do t[#t + 1] = {} end", { memory = 1 << 20, deadline = HOUR })
      :find("the 1024 KiB that are allowed", 1, true))
    local block = "local s = ('x'):rep(3 * 2^20) return s .. s"
    assert.truthy(why_of(block):find("bytes; 4194304 are allowed", 1, true))
    local keys = "local t = {} for i = 1, 40000 do t[i + 0.5] = i end"
    local why
    for _ = 1, 30 do   -- the deadline goes on while other programs run
      why = why_of(keys, { deadline = 100 })
      if not why:find("ran longer", 1, true) then break end
    end
    assert.truthy(why:find("a table needs more keys than its deadline allows", 1, true), why)
    assert.is_nil(why_of(keys):find("stopped", 1, true))
    assert.truthy(why_of("while true do end", { fuel = 200000 }):find("limits = {", 1, true))
  end)

  it("pays for the text of many parts", function()
    local parts = {}
    for i = 1, 10000 do
      parts[i] = { type = "text", text = "part" }
    end
    local chat = helper.ebb.conversation()
    chat:append { { role = "user", content = "u1" }, { role = "user", content = parts } }
    local source = "for _ = 1, 100 do local _ = draft[2].text end"
    local _, why = trim(chat, "return function(draft, budget) " .. source .. " end",
      { budget = 20, guards = false, limits = { fuel = 200000, deadline = HOUR } })
    assert.truthy(why.message:find("used up its fuel", 1, true), why.message)
  end)

  it("pays for JSON by what is written, a table that holds itself too", function()
    local _, problem = trim(conversation(CHAT), [[return function(draft)
      local ebb, t = require "ebb", {}
      t.t = t
      for _ = 1, 100 do assert(not pcall(ebb.json.encode, t)) end
    end]], { limits = { fuel = 200000, deadline = HOUR } })
    assert.truthy(problem.message:find("used up its fuel", 1, true), problem.message)
  end)

  it("repeats by its fuel", function()
    local function used_up(fuel)
      local chat = conversation(CHAT)
      return trim(chat, "return function(draft, budget) for i = 1, 100 do local _ = draft[1].content end "
        .. "draft:drop_oldest { to = budget } end", { limits = { fuel = fuel } }) == nil
    end
    local low, high = 100, 1000000
    while low < high do
      local middle = (low + high) // 2
      if used_up(middle) then low = middle + 1 else high = middle end
    end
    for _ = 1, 5 do
      assert.is_false(used_up(low))
      assert.is_true(used_up(low - 1))
    end
  end)

  it("is refused limits that are none", function()
    for _, limits in ipairs { 5, { fule = 1 }, { fuel = -1 }, { fuel = 1.5 }, { memory = 100 }, { deadline = "1" } } do
      local problem = helper.refusal(trim, conversation(CHAT), "return function() end", { limits = limits })
      assert.truthy(problem.code == "argument" or problem.code == "unknown_name", problem.code)
    end
  end)

  it("has the draft for the call only", function()
    local chat = conversation(CHAT)
    local policy = { source = [[
      local kept, message, unit, walk
      return function(draft, budget)
        if not kept then
          kept, message, walk = draft, draft[1], draft:units {}
          for found in draft:units {} do unit = found break end
          return draft:drop_oldest { to = budget }
        end
        for _, use in ipairs { function() return kept:tokens() end, function() return message.content end,
          function() return walk() end, function() return unit.tokens end, function() return kept:drop(1) end } do
          local ok, problem = pcall(use)
          assert(not ok and problem.code == "closed", tostring(problem))
        end
        draft:drop_oldest { to = budget }
      end]] }
    local found = require("ebb.trim.policies").find(policy)
    assert(chat:trim { budget = 10 + overhead, policy = found })
    chat:append(helper.messages "a20 u5")
    assert(chat:trim { budget = 10 + overhead, policy = found })
  end)

  it("cannot end the draft", function()
    -- what a script never gets hold of, tried from the library's side
    local chat = conversation(CHAT)
    assert(trim(chat, [[return function(draft, budget)
      for _, name in ipairs { "commit", "discard", "by", "info" } do
        assert(not pcall(function() return draft[name] end), name)
      end
      draft:drop_oldest { to = budget }
    end]]))
  end)

  it_exact("edits as a trusted one would: the same ledger, byte for byte", function()
    for _, name in ipairs { "tickets", "keep_ends", "shrink_tools", "answers_only" } do
      local path = ("scripts/policies/%s.lua"):format(name)
      local ledgers = {}
      for _, trusted in ipairs { true, false } do
        local chat = helper.ebb.load "scripts/samples/support.json"
        local report, why = chat:trim { budget = 3000, policy = path, trusted = trusted }
        ledgers[#ledgers + 1] = report and report.ledger:json() .. chat:json() or why
      end
      assert.equal(ledgers[1], ledgers[2])
    end
  end)

  it("calls the counter and the clock of the program, and hands on what they raise", function()
    local raising = false
    local chat = conversation(CHAT, { counter = function(message)
      if raising then error({ "no count" }) end
      return helper.tokens_of(message)
    end })
    local source = "return function(draft, budget) draft:replace(draft[1], { content = 'u3' }) "
      .. "draft:insert(2, { role = 'user', content = 'u2' }) draft:drop_oldest { to = budget } end"
    assert(trim(chat, source, { budget = 12 + overhead }))
    local before = snapshot(chat)
    raising = true
    local report, why, code = helper.outcome(trim(chat, source))
    assert.is_nil(report)
    assert.equal("policy", code)
    assert.truthy(why:find("error object is a table value", 1, true), why)
    assert.equal(before, snapshot(chat))
    local ticks = 0
    local ticking = conversation(CHAT, { clock = function()
      ticks = ticks + 1
      if raising == 1 and ticks > 1 then error("the clock stands still", 0) end
      return 1700000000000
    end })
    raising, ticks = 1, 0
    why = select(2, trim(ticking, source)).message
    assert.truthy(why:find "the clock stands still", why)
  end)

  it("tells refused edits with their place", function()
    local report = assert(trim(conversation "s5 u20 a20 u5", "return function(draft, budget)\n"
      .. " draft:drop(1)\n draft:drop(4)\n"
      .. "draft:drop_oldest { to = budget }\nend"))
    assert.equal(2, report.refused)
    assert.truthy(report.refusals:find "policy text:2: guarded: message 1 is a system message", report.refusals)
  end)

  it("runs others: built in, next to it, its own, and says what it may not", function()
    local folder = folder_of {
      ["outer.lua"] = "return function(draft, budget) draft:run('inner', { n = 1 }) draft:run('inner.lua') "
        .. "draft:run(function(d) d:note('own') end) draft:run('keep_recent') end",
      ["inner.lua"] = "helper = require 'lib.words' return { options = { n = { type = 'integer', default = 2 } }, "
        .. "trim = function(draft, _, options) draft:note(helper.word .. options.n) end }",
      ["given.lua"] = "return { options = { next = { type = 'table' } }, trim = function(draft, _, options) "
        .. "draft:run(options.next[1]) end }",
    }
    assert(os.execute("mkdir -p " .. folder .. "/lib/up"))
    local file = assert(io.open(folder .. "/lib/words.lua", "wb"))
    file:write "return { word = 'inner ' }"
    file:close()
    local chat = conversation(CHAT)
    local report = assert(chat:trim { budget = 10 + overhead, policy = folder .. "/outer.lua" })
    local notes = {}
    for i, note in ipairs(report.ledger:notes()) do
      notes[i] = ("%s: %s"):format(note.by, note.text)
    end
    assert.same({ "inner: inner 1", "inner: inner 2", "function: own" }, notes)
    assert.equal("a5 u5", texts(chat))
    chat = conversation(CHAT)
    local _, why = helper.outcome(chat:trim {
      budget = 5 + overhead, policy = { folder .. "/given.lua", next = { "other/inner.lua" } } })
    assert.truthy(why:find("neither next to the policy nor on its path", 1, true), why)
    assert(chat:trim { budget = 5 + overhead, policy = { folder .. "/given.lua", next = { function(draft, budget)
      assert(io.open)
      draft:drop_oldest { to = budget }
    end } } })
    assert.equal("u5", texts(chat))
    file = assert(io.open(folder .. "/lib/up.lua", "wb"))
    file:write "return function(draft) draft:run('up/../../inner.lua') end"
    file:close()
    why = select(2, conversation(CHAT):trim { budget = 5 + overhead, policy = folder .. "/lib/up.lua" }).message
    assert.truthy(why:find("neither next to the policy nor on its path", 1, true), why)
  end)

  it("is run by a trusted one, which may catch its failure", function()
    local chat = conversation(CHAT)
    assert(chat:trim { budget = 10 + overhead, limits = { fuel = 100000 }, policy = function(draft)
      local ok, problem = pcall(draft.run, draft, {
        source = "return function(draft) draft.memory.seen = 1 while true do end end" })
      assert(not ok and problem.code == "limit")
      draft:run { source = "return function(draft, budget) draft:drop_oldest { to = budget } end" }
    end })
    assert.equal("a5 u5", texts(chat))
  end)

  it("keeps plain data in its memory, and nothing else", function()
    local source = "return function(draft, budget) draft.memory.runs = (draft.memory.runs or 0) + 1 "
      .. "draft:note('run ' .. draft.memory.runs) draft:drop_oldest { to = budget } end"
    local chat = conversation(CHAT)
    for i = 1, 3 do
      local report = assert(trim(chat, source, { budget = 40 - 5 * i + overhead }))
      assert.equal("run " .. i, report.ledger:notes()[1].text)
      chat:append(helper.messages "u5")
    end
    local _, why, code = helper.outcome(trim(chat, "return function(draft) draft.memory.f = print end"))
    assert.equal("policy", code)
    assert.matches("draft.memory.f cannot be kept: a function", why, 1, true)
    _, why = helper.outcome(trim(chat, "return function(draft) draft.memory.loop = draft.memory end"))
    assert.truthy(why:find "draft.memory cannot be kept: more than 256 levels", why)
    _, why = helper.outcome(trim(chat, "return function(draft) local t = {} for i = 1, 22 do t = { t, t } end "
      .. "draft.memory.bomb = t end"))
    assert.truthy(why:find "draft.memory cannot be kept: more than 1048576 bytes", why)
  end)

  it("asks the model through the program", function()
    local asked
    local chat = conversation "u50 a50 u5"
    assert(trim(chat, "return function(draft) assert(draft:summarize(1, 2)) end", {
      budget = 60 + overhead, model = function(request) asked = request return "in short" end }))
    assert.equal("summarize", asked.purpose)
    assert.truthy(chat[1].content:find "in short$")
    local _, why, code = helper.outcome(trim(conversation "u50 a50 u5", "return function(draft) "
      .. "local _, why = draft:summarize(1, 2) error(why) end", {
      model = function() return nil, "it sleeps" end }))
    assert.equal("model", code)
    assert.truthy(why:find "it sleeps", why)
    _, why, code = helper.outcome(trim(conversation "u50 a50 u5", "return function(draft) draft:summarize(1, 2) end", {
      model = function() error("the line is dead", 0) end }))
    assert.equal("policy", code)
    assert.truthy(why:find "the line is dead", why)
  end)

  it("prints to the log", function()
    local lines = logged(function()
      assert(trim(conversation(CHAT), "return function(draft, budget) print('seen', #draft, nil) "
        .. "draft:drop_oldest { to = budget } end"))
    end)
    assert.same({ "seen\t5\tnil" }, lines)
  end)

  it("shares globals with no other file, nor with the program", function()
    _G.planted = "by the program"
    finally(function() _G.planted = nil end)
    local chat = conversation(CHAT)
    assert(chat:trim { budget = 10 + overhead, policy = {
      { source = "string.format, planted_here = nil, 1 return function() assert(planted == nil) end" },
      { source = "return function(draft, budget) assert(planted_here == nil and string.format) "
        .. "draft:drop_oldest { to = budget } end" } } })
    assert.truthy(string.format)
  end)

  it("may be trusted instead", function()
    local chat = conversation(CHAT)
    assert(trim(chat, "return function(draft, budget) assert(io.open and os.getenv) "
      .. "draft:drop_oldest { to = budget } end", { trusted = true }))
    assert.equal("a5 u5", texts(chat))
  end)
end)

describe("a filter in its sandbox", function()
  local function filter(chat, source, options, loading)
    loading = loading or {}
    return chat:filter { { source = source }, options = options, limits = loading.limits, trusted = loading.trusted }
  end

  it("does what a trusted one does", function()
    local source = [[local seen = 0
      return function(message)
        seen = seen + 1
        if message.role == "assistant" then return false end
        if message.content == "u3" then return { message, { role = "user", content = "u" .. seen } } end
        if message.content == "u4" then local fields = message:totable() fields.content = "u9" return fields end
      end]]
    local results = {}
    for i, trusted in ipairs { true, false } do
      local chat = conversation "s1 u2 a2 u3 c1(x) r1(x) u4"
      filter(chat, source, nil, { trusted = trusted })
      results[i] = texts(chat)
    end
    assert.equal("s1 u2 u3 u4 u9", results[2])
    assert.equal(results[1], results[2])
  end)

  local failures = {
    { "a loop", "return function() while true do end end", "filter text:1: .*ran longer" },
    { "a memory bomb", "return function() local t = {} while true do t[#t + 1] = {} end end", "more memory than" },
    { "an error", "return function(m) if m.index == 2 then error 'odd' end end", "message 2: filter text:1: odd" },
    { "a number", "return function() return 5 end", "message 1: it returned a number" },
    { "a function", "return function() return print end", "message 1: it returned a function" },
    { "files", "return function() io.open('x') end", "global 'io'" },
    { "a table with functions", "return function() return { role = 'user', content = print } end",
      "a function cannot leave" },
  }
  for _, case in ipairs(failures) do
    it("fails as a whole: " .. case[1] .. " #time", function()
      local chat = conversation "u1 a2 u3"
      local before = snapshot(chat)
      local deadline = case[3]:find "ran longer" and 100 or HOUR
      local problem = helper.refusal(filter, chat, case[2], nil, { limits = { deadline = deadline, memory = 8 << 20 } })
      assert.equal("filter", problem.code)
      assert.truthy(problem.message:find(case[3]), problem.message)
      assert.equal(before, snapshot(chat))
    end)
  end
end)

describe("any file in a sandbox", function()
  local loader = require "ebb.sandbox.loader"

  it("gives a table whose functions run there", function()
    local path = helper.lua_file [[
      local calls = 0
      local kept
      return { keep = function(f) if f then kept = f else return kept() end end,
        id = "upper", priority = 5, list = { 1, { "two" } }, execute = function(context, config)
        calls = calls + 1
        context.log("call " .. calls .. " of " .. config.name)
        for _, message in ipairs(context.messages) do message.content = message.content:upper() end
        context.added = context.null == require("ebb").null
        return calls, context.log
      end, fail = function() error({ code = "odd" }) end, refuse = function(f) return f() end }]]
    finally(helper.clean)
    local value = assert(loader.load(path))
    assert.same({ 1, { "two" } }, value.list)
    local lines = {}
    local function note(line) lines[#lines + 1] = line end
    local context = { messages = { { role = "user", content = "hello" } }, log = note, null = helper.ebb.null }
    local after, calls, same = loader.edit(value.execute, { deadline = HOUR }, context, { name = "x" })
    assert.equal("HELLO", after.messages[1].content)
    assert.equal("hello", context.messages[1].content)
    assert.is_true(after.added)
    assert.equal(note, after.log)
    assert.equal(note, same)
    assert.equal(1, calls)
    assert.equal(2, (value.execute(context, { name = "y" })))
    assert.same({ "call 1 of x", "call 2 of y" }, lines)
    value.keep(note)
    local over, late = pcall(value.keep)
    assert.is_false(over)
    assert.equal("closed", late.code)
    assert.is_false((pcall(value.fail)))
    local ok, problem = pcall(value.refuse, function() error("from outside", 0) end)
    assert.is_false(ok)
    assert.truthy(tostring(problem):find "from outside", tostring(problem))
    ok, problem = pcall(value.refuse, function() return value.refuse(print) end)
    assert.is_false(ok)
    assert.truthy(tostring(problem):find "is running", tostring(problem))
    assert.is_false((pcall(value.refuse, coroutine.create(print))))
  end)

  it("says why it gives nothing", function()
    local function refusal(text, deadline)
      local path = helper.lua_file(text)
      finally(helper.clean)
      local value, why, code = helper.outcome(loader.load(path, { deadline = deadline or HOUR }))
      assert.is_nil(value)
      assert.truthy(why:find "%.lua:%d+: ", why)
      return code
    end
    assert.equal("syntax", refusal "return =")
    assert.equal("script", refusal "error 'no'")
    assert.equal("script", refusal("while true do end", 50))
    assert.equal("absent", select(2, loader.load "no/such.lua").code)
  end)

  it("is gone with the last of its functions", function()
    local path = helper.lua_file "return { text = ('x'):rep(1 << 20), run = function() return 1 end }"
    finally(helper.clean)
    for _ = 1, 200 do assert.equal(1, loader.load(path).run()) end
    collectgarbage()
    assert.truthy(collectgarbage "count" < 100 * 1024)
  end)
end)
