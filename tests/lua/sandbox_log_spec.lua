--- Checks what scripts in sandboxes print and log: no byte of it commands a terminal, and its amount is bounded.

local helper = dofile "tests/lua/helper.lua"
local log = require "ebb.support.log"
local ebb = helper.ebb

local MIB = 1024 * 1024
local FLOOD = "for i = 1, 200000 do print(('x'):rep(50)) end"
local REST = "print: more than 1 MiB; the rest is dropped"

local function logged(run)
  local lines = {}
  local before = log.to(function(line) lines[#lines + 1] = line end)
  finally(function() log.to(before) end)
  run()
  return lines
end

local function pipeline(source)
  finally(helper.clean)
  local text = ("return { id = 'mine', name = 'Mine', execute = function(context, config)\n%s\nend }"):format(source)
  local options = { processors = { helper.lua_file(text) }, counter = helper.tokens_of }
  return assert(ebb.pipeline(options):run(helper.conversation("u1 a2", { counter = helper.tokens_of })))
end

--- Places in which a stranger's script may run; each runs this body.
local places = {
  { "a policy", function(body)
    local source = ("return function(draft, budget)\n%s\ndraft:drop_oldest { to = budget } end"):format(body)
    assert(helper.conversation("u20 a20 u5"):trim { budget = 20, policy = { source = source } })
  end },
  { "a policy while it is loaded", function(body)
    local source = body .. " return function(draft, budget) draft:drop_oldest { to = budget } end"
    assert(helper.conversation("u20 a20 u5"):trim { budget = 20, policy = { source = source } })
  end },
  { "a filter", function(body)
    assert(helper.conversation("u20"):filter { source = ("return function(message)\n%s\nend"):format(body) })
  end },
  { "a processor", pipeline },
}

describe("print of a sandboxed script", function()
  local cases = {
    { "the clipboard", [[print "\27]52;c;QQ\7"]], [[\e]52;c;QQ\u{7}]] },
    { "the screen, by a control of one byte", [[print "\u{9B}2J"]], [[\u{9B}2J]] },
    { "lines that are overwritten", [[print "good\rbad\8"]], [[good\rbad\u{8}]] },
    { "the direction of a line", [[print "\u{202E}txt"]], [[\u{202E}txt]] },
    { "tags that nothing draws", [[print "a\u{E0041}"]], [[a\u{E0041}]] },
    { "a value that is asked for its text", [[print(setmetatable({}, { __tostring = function() return "\27c" end }))]],
      [[\ec]] },
    { "bytes that are no UTF-8", [[print "\x9B2J"]], "\u{FFFD}2J" },
    { "tabs and newlines, which stay", [[print("a", "b\nc")]], "a\tb\nc" },
    { "a backslash, which stays", [[print "\\n"]], [[\n]] },
  }
  for _, place in ipairs(places) do
    for _, case in ipairs(cases) do
      it(("is written out in %s: %s"):format(place[1], case[1]), function()
        assert.same({ case[3] }, logged(function() place[2](case[2]) end))
      end)
    end

    it("ends at 1 MiB, and says so: " .. place[1], function()
      local lines = logged(function() place[2](FLOOD) end)
      assert.equal(REST, lines[#lines])
      assert.equal(REST, lines[MIB // 51 + 1])
      assert.equal(MIB // 51 + 1, #lines)
    end)
  end

  it("shows labels in the place of addresses", function()
    local lines = logged(function()
      places[1][2] "for unit in draft:units {} do print(unit) end print(print) print({})"
    end)
    assert.same({ "Unit: 1", "Unit: 2", "Unit: 3", "function: 4", "table: 5" }, lines)
  end)

  it("begins anew with each call", function()
    local chat = helper.conversation "u20 a20 u5"
    local policy = { source = "return function(draft, budget) " .. FLOOD .. " draft:drop_oldest { to = budget } end" }
    for _ = 1, 2 do
      local lines = logged(function() assert(chat:fork():trim { budget = 20, policy = policy }) end)
      assert.equal(MIB // 51 + 1, #lines)
    end
  end)

  it("leaves a script of the user's own as it is", function()
    local lines = logged(function()
      finally(helper.clean)
      local path = helper.lua_file "return function(draft, budget) print '\27[1m' draft:drop_oldest { to = budget } end"
      assert(helper.conversation("u20 a20 u5"):trim { budget = 20, policy = path, trusted = true })
    end)
    assert.same({ "\27[1m" }, lines)
  end)
end)

describe("context:log of a sandboxed processor", function()
  local floods = {
    { "messages", "context:log('info', ('x'):rep(1000))" },
    { "details", "context:log('info', '', { list = { ('x'):rep(1000) } })" },
    { "many that are small", "context:log('info', '')" },
    { "values without texts", "local t = {} for n = 1, 100 do t[n] = n end context:log('info', '', t)" },
  }
  for _, case in ipairs(floods) do
    it("ends at 1 MiB, and says so: " .. case[1], function()
      local result = pipeline(("for i = 1, 12000 do %s end"):format(case[2]))
      local entries, bytes = {}, 0
      for _, entry in ipairs(result.logs) do
        if entry.processor == "mine" then entries[#entries + 1] = entry end
      end
      for _, entry in ipairs(entries) do bytes = bytes + #entry.message end
      assert.same({ processor = "mine", level = "warn", message = "log: more than 1 MiB; the rest is dropped" },
        entries[#entries])
      assert.is_true(#entries > 300 and #entries < MIB // 100 + 2 and bytes <= MIB)
    end)
  end
end)

describe("a message of context:log that is no text", function()
  local function said_by_mine(result)
    for _, entry in ipairs(result.logs) do
      if entry.processor == "mine" then return entry.message end
    end
  end

  it("has no address", function()
    for value, said in pairs { ["{}"] = "{}", ["{ a = 1, b = { 2 } }"] = '{"a":1,"b":[2]}', ["nil"] = "nil",
      ["1.5"] = "1.5", ["true"] = "true" } do
      for _, trusted in ipairs { false, true } do
        finally(helper.clean)
        local file = helper.lua_file(("return { id = 'mine', name = 'Mine', execute = function(context) "
          .. "context:log('error', %s) end }"):format(value))
        local result = assert(ebb.pipeline({ processors = { file }, counter = helper.tokens_of, trusted = trusted })
          :run(helper.conversation("u1", { counter = helper.tokens_of })))
        assert.equal(said, said_by_mine(result))
      end
    end
    local own = { id = "mine", name = "Mine", execute = function(context) context:log("info", print) end }
    assert.equal("a function", said_by_mine(assert(ebb.pipeline({ processors = { own }, counter = helper.tokens_of })
      :run(helper.conversation("u1", { counter = helper.tokens_of })))))
  end)
end)

describe("a script that the parser cannot take", function()
  it("is named, with the line", function()
    for _, deep in ipairs { ("("):rep(300) .. "1" .. (")"):rep(300), ("{"):rep(3000) .. ("}"):rep(3000),
      ("(-"):rep(300) .. "1" .. (")"):rep(300) } do
      for _, front in ipairs { "", "\n\n", "local a = 1\n-- a line\n" .. ("-- more\n"):rep(100) } do
        local line = select(2, front:gsub("\n", "")) + 1
        for _, trusted in ipairs { false, true } do
          finally(helper.clean)
          local file = helper.lua_file(front .. "return " .. deep)
          local words = (":%d: too many parts in one another (C stack overflow)"):format(line)
          local chat = helper.conversation "u20 a20 u5"
          local _, problem = chat:trim { budget = 20, policy = file, trusted = trusted }
          assert.equal(file .. words, problem.message)
          problem = helper.refusal(chat.filter, chat, { file, trusted = trusted })
          assert.equal(file .. words, problem.message)
          problem = select(2, chat:trim { budget = 20, trusted = trusted,
            policy = { source = front .. "return " .. deep } })
          assert.equal("policy text" .. words, problem.message)
        end
      end
    end
  end)
end)
