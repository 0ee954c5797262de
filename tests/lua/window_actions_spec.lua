--- Actions: what they declare, what a model gives, what becomes of a call.

local helper = dofile "tests/lua/helper.lua"
local cpu_time = dofile "tests/lua/cpu_time.lua"
local ebb, refusal = helper.ebb, helper.refusal
local log = require "ebb.support.log"
local parameters = require "ebb.windows.parameters"

local function call(name, arguments)
  return ("<tool_call>%s</tool_call>"):format(ebb.json.encode { name = name, arguments = arguments })
end

describe("the notation of parameters", function()
  local function written(text)
    local words = {}
    for i, parameter in ipairs(parameters.parse(text)) do
      words[i] = ("%s:%s%s"):format(parameter.name, parameter.written, parameter.optional and "?" or "")
    end
    return table.concat(words, ", ")
  end

  local cases = {
    { "text:string, n:int?", "text:string, n:int?" }, { "", "" }, { "  ", "" }, { nil, "" },
    { " a : bool ,b:number", "a:bool, b:number" }, { "a:integer,b:boolean", "a:integer, b:boolean" },
    { "k:enum(a|b c|d)?", "k:enum(a|b c|d)?" }, { "l:string[]", "l:string[]" }, { "m:int[][]?", "m:int[][]?" },
    { "e:enum(x|y)[]", "e:enum(x|y)[]" }, { "文本:string, a-b_2:int", "文本:string, a-b_2:int" },
  }
  for _, case in ipairs(cases) do
    it(("reads %q"):format(tostring(case[1])), function() assert.equal(case[2], written(case[1])) end)
  end

  local refused = {
    { "text", "byte 5: expected : and a type after 'text'" }, { "text:", "byte 6: expected a type" },
    { "text:strng", "byte 6: expected a type", "did you mean 'string'?" },
      { "a:int b:int", "byte 7: expected a comma" },
    { "a:int,", "byte 7: expected a parameter's name" }, { ",a:int", "byte 1: expected a parameter's name" },
    { "a:int, a:bool", "byte 8: expected a name other than 'a'" }, { "a?:int", "byte 2: expected :" },
    { "a:enum", "byte 7: expected (one|other)" }, { "a:enum()", "words that differ" },
      { "a:enum(x|)", "words that differ" },
    { "a:enum(x|x)", "words that differ" }, { "a:int??", "byte 7: expected a comma" }, { "a:int?[]", "byte 7" },
    { "a:int[][][][][]", "at most 4 lists" },
  }
  for _, case in ipairs(refused) do
    it(("refuses %q"):format(case[1]), function()
      local problem = refusal(parameters.parse, case[1])
      assert.truthy(problem.message:find(case[2], 1, true), problem.message)
      if case[3] then assert.equal(case[3], problem.hint) end
    end)
  end

  it("refuses more than 64", function()
    local list = {}
    for i = 1, 65 do
      list[i] = ("a%d:int"):format(i)
    end
    assert.equal("limit", refusal(parameters.parse, table.concat(list, ",")).code)
    assert.equal(64, #parameters.parse(table.concat(list, ",", 1, 64)))
  end)

  it("is checked when a window is made, and the action named", function()
    local chat = ebb.conversation()
    local actions = { { id = "add", params = "text:strng" } }
    local problem = refusal(chat.windows.open, chat.windows, { id = "w", actions = actions })
    assert.equal("action 'add': params, byte 6: expected a type", problem.message)
    assert.equal("did you mean 'string'?", problem.hint)
    assert.is_nil(chat.windows:get "w")

    local window = chat.windows:open { id = "w" }
    assert.equal("syntax", refusal(window.update, window, { actions = { { id = "a", params = ":" } } }).code)
  end)
end)

describe("what a model gives", function()
  local DECLARED = "text:string, n:int?, x:number?, on:bool?, kind:enum(red|green)?, tags:string[]?, grid:int[][]?"
  local declared = parameters.parse(DECLARED)

  local function check(json) return parameters.check(declared, (ebb.json.decode(json))) end

  local good = {
    { '{"text":"a"}', { text = "a" } }, { '{"text":"","n":3}', { text = "", n = 3 } },
    { '{"text":"a","n":3.0}', { text = "a", n = 3 } }, { '{"text":"a","n":null}', { text = "a" } },
    { '{"text":"a","x":1,"on":false}', { text = "a", x = 1, on = false } },
    { '{"text":"a","kind":"red"}', { text = "a", kind = "red" } },
    { '{"text":"a","tags":[]}', { text = "a", tags = {} } },
    { '{"text":"a","tags":["x","y"],"grid":[[1],[],[2,3]]}',
      { text = "a", tags = { "x", "y" }, grid = { { 1 }, {}, { 2, 3 } } } },
  }
  for _, case in ipairs(good) do
    it("is taken: " .. case[1], function() assert.same(case[2], (check(case[1]))) end)
  end

  it("an empty object is no list in JSON, and may be one in Lua", function()
    local function refused(json) return select(2, parameters.check(declared, (ebb.json.decode(json)), true)) end

    assert.equal("params.tags must be string[], not an object", refused '{"text":"a","tags":{}}')
    assert.equal("params.grid[1] must be int[], not an object", refused '{"text":"a","grid":[[],{},[1]]}')
    assert.is_nil(refused '{"text":"a","tags":[],"grid":[[]]}')
    assert.same({ text = "a", tags = {} }, parameters.check(declared, { text = "a", tags = {} }))
  end)

  it("3.0 has become an integer", function()
    assert.equal("integer", math.type(check('{"text":"a","n":3.0}').n))
  end)

  local bad = {
    { "{}", "params.text is required: expected string" },
      { '{"text":null}', "params.text is required: expected string" },
    { '{"text":7}', "params.text must be string, not 7" },
      { '{"text":{}}', "params.text must be string, not an object" },
    { '{"text":"a","n":"3"}', 'params.n must be int, not "3"' },
      { '{"text":"a","n":1.5}', "params.n must be int, not 1.5" },
    { '{"text":"a","n":12345678901234567890}', "params.n must be int, not a number too large" },
    { '{"text":"a","x":1e999}', "params.x must be number, not a number too large" },
    { '{"text":"a","on":"true"}', 'params.on must be bool, not "true"' },
    { '{"text":"a","on":0}', "params.on must be bool, not 0" },
    { '{"text":"a","kind":"blue"}', 'params.kind must be one of red, green, not "blue"' },
    { '{"text":"a","tags":"x"}', 'params.tags must be string[], not "x"' },
    { '{"text":"a","tags":{"a":1}}', "params.tags must be string[], not an object" },
    { '{"text":"a","tags":["x",1]}', "params.tags[1] must be string, not 1" },
    { '{"text":"a","tags":[null]}', "params.tags[0] must be string, not null" },
    { '{"text":"a","grid":[[1],[1,"x"]]}', 'params.grid[1][1] must be int, not "x"' },
    { '{"txt":"a"}', "params.text is required: expected string; params.txt is not allowed (did you mean 'text'?)" },
    { '{"text":"a","colour_of_it":1}',
      "params.colour_of_it is not allowed (one of: text, n, x, on, kind, tags, grid)" },
    { '[1]', "params must be an object, not a list" }, { "[]", nil },
    { '"x"', 'params must be an object, not "x"' }, { "7", "params must be an object, not 7" },
    { ('{"text":{"%s":1}}'):format(("x"):rep(99)), "params.text must be string, not an object" },
    { ('{"text":"a","n":"%s"}'):format(("x"):rep(99)), "params.n must be int, not a string of 99 bytes" },
  }
  for _, case in ipairs(bad) do
    it("is refused: " .. case[1], function()
      local values, message = check(case[1])
      assert.is_nil(values)
      if case[2] then assert.equal(case[2], message) end
    end)
  end

  it("is what Lua gives, too", function()
    for _, x in ipairs { 0 / 0, math.huge, -math.huge } do
      assert.is_nil((parameters.check(declared, { text = "a", x = x })))
    end
    assert.same({}, (parameters.check({}, ebb.null)))
    assert.same({}, (parameters.check({}, nil)))
  end)

  it("is looked at no further than a message goes", function()
    local list, unknown, steps = {}, {}, 0
    for i = 1, 20000 do
      list[i], unknown["x" .. i] = i, i
    end
    local function counted(...)
      debug.sethook(function() steps = steps + 1 end, "", 1000)
      local values = parameters.check(...)
      debug.sethook()
      assert.is_nil(values)
    end
    counted(declared, { tags = list })
    assert.is_true(steps < 10)
    local sorted_only = steps
    counted(declared, unknown)
    assert.is_true(steps - sorted_only < 2000, steps)
  end)

  it("is not repeated at length: a message has eight problems", function()
    local _, message = parameters.check(declared, { tags = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 } })
    assert.truthy(message:find("; and more$"))
    assert.is_true(#message < 500)
    local many = {}
    for i = 1, 1000 do
      many["unknown" .. i] = i
    end
    _, message = parameters.check({}, many)
    assert.truthy(message:find "there are no parameters")
    assert.is_true(#message < 800)
  end)
end)

--- A conversation with a list of things, and what its actions were called with.
local function todo_chat()
  local chat, seen = ebb.conversation(), {}
  local items = {}
  chat.windows:open {
    id = "todo", description = "Things to do",
    content = function()
      local list = {}
      for i, text in ipairs(items) do
        list[i] = { "item", id = i, text }
      end
      return list
    end,
    actions = {
      { id = "add", label = "Add", params = "text:string", run = function(params, window)
        seen[#seen + 1] = { params, window.id }
        items[#items + 1] = params.text
        return "added " .. params.text
      end },
      { id = "delete", params = "index:int", run = function(params)
        if not items[params.index] then return nil, "there is no item " .. params.index end
        table.remove(items, params.index)
      end },
      { id = "raise", run = function() error "boom" end },
      { id = "refuse", run = function() error(setmetatable({}, { __tostring = function() error "no" end })) end },
      { id = "loop", run = function() while true do items[1] = items[1] end end },
      { id = "fill", run = function() return ("x"):rep(100000000) end },
      { id = "loop_inside", run = function()
        while true do
          pcall(function() while true do items[1] = items[1] end end)
        end
      end },
      { id = "junk", run = function() return function() end end },
      { id = "table", run = function() return { n = 1 } end },
      { id = "bytes", run = function() return "a\xffb" end },
      { id = "huge", run = function() return "x" .. ("é"):rep(1 << 20) end },
      { id = "false", run = function() return false end },
      { id = "number", run = function() return 7 end },
      { id = "again", run = function() return chat.windows:act(call "todo.number") end },
      { id = "bare" },
    },
  }
  return chat, items, seen
end

describe("chat:act", function()
  local chat, items, seen
  before_each(function() chat, items, seen = todo_chat() end)

  it("runs an action with its parameters and its window", function()
    local results, quoted = chat.windows:act("Sure. " .. call("todo.add", { text = "tea" }))

    assert.same({ { { text = "tea" }, "todo" } }, seen)
    assert.same({ { ok = true, text = "todo.add: added tea", name = "todo.add", window = "todo", action = "add",
      params = { text = "tea" } }, text = "todo.add: added tea" }, results)
    assert.equal(0, quoted)
    assert.truthy(chat.windows:get("todo"):markup():find('<item id="1">tea</item>', 1, true))
  end)

  it("runs all calls in order, whatever is wrong with some", function()
    local results = chat.windows:act(call("add", { text = "a" }) .. call("nope") .. call("add", {})
      .. call("add", { text = "b" })
      .. '<action_call>{"calls":[{"window_id":"todo","action_id":"delete","params":{"index":1}}]}</action_call>')

    assert.same({ "b" }, items)
    assert.equal("todo.add: added a\nnope: error: action 'nope' does not exist\n"
      .. "todo.add: error: params.text is required: expected string\ntodo.add: added b\ntodo.delete: done",
        results.text)
  end)

  it("takes a list of calls, or one", function()
    local results = chat.windows:act { { name = "add", params = { text = "a" } },
      { window = "todo", action = "add", params = { text = "b" }, id = "c7" } }
    assert.same({ "a", "b" }, items)
    assert.equal("c7", results[2].id)

    chat.windows:act { window = "todo", action = "delete", params = { index = 1 } }
    assert.same({ "b" }, items)
    assert.equal(0, #chat.windows:act {})
  end)

  it("refuses values that are neither a text nor calls", function()
    for _, given in ipairs { 7, { 7 }, { {} }, { { name = "a", window = "w", action = "x" } }, { { window = "w" } } } do
      assert.equal("argument", refusal(chat.windows.act, chat.windows, given).code)
    end
    assert.equal("unknown_name", refusal(chat.windows.act, chat.windows, { { nam = "a" } }).code)
    assert.equal("unknown_name", refusal(chat.windows.act, chat.windows, "", { limit = 7 }).code)
    assert.equal("argument", refusal(chat.windows.act, chat.windows, "", { instructions = 0 }).code)
  end)

  it("counts quoted calls", function()
    local results, quoted = chat.windows:act("```\n" .. call("add", { text = "a" }) .. "\n```")
    assert.same({ 0, 1, "" }, { #results, quoted, results.text })
    assert.same({}, items)
  end)

  describe("answers with what the action gave back:", function()
    local cases = {
      { "todo.number", true, "7" }, { "todo.table", true, '{"n":1}' },
        { "todo.false", false, "the action refused", "refused" },
      { "todo.junk", true, "done; its result has no text form (function)" }, { "todo.bytes", true, "a\u{FFFD}b" },
      { "todo.bare", false, "action 'bare' has no function here", "absent" },
    }
    for _, case in ipairs(cases) do
      it(case[1], function()
        local result = chat.windows:act(call(case[1]))[1]
        assert.equal(case[1] .. (case[2] and ": " or ": error: ") .. case[3], result.text)
        assert.same({ case[2], case[4] }, { result.ok, result.code })
      end)
    end

    it("no and why", function()
      local result = chat.windows:act(call("todo.delete", { index = 3 }))[1]
      assert.same({ false, "refused", "todo.delete: error: there is no item 3" },
        { result.ok, result.code, result.text })
    end)

    it("a megabyte, cut at a character", function()
      local text = chat.windows:act(call "todo.huge")[1].text
      assert.is_true(#text < 66 * 1024)
      assert.truthy(utf8.len(text))
      assert.equal("é...", text:sub(-5))
    end)
  end)

  describe("stops what goes wrong:", function()
    it("an action that raises", function()
      local result = chat.windows:act(call "todo.raise")[1]
      assert.same({ false, "failed" }, { result.ok, result.code })
      assert.truthy(result.text:find "^todo%.raise: error: window_actions_spec%.lua:%d+: boom$", result.text)
    end)

    it("one that raises what cannot be read", function()
      local result = chat.windows:act(call "todo.refuse")[1]
      assert.equal("todo.refuse: error: an error that is not a string (table)", result.text)
    end)

    it("one that takes memory without end", function()
      local results = chat.windows:act(call "todo.fill" .. call "todo.number")
      assert.same({ false, "limit" }, { results[1].ok, results[1].code })
      assert.equal("todo.fill: error: it takes too much memory", results[1].text)
      assert.is_true(results[2].ok)   -- the others have memory of their own
    end)

    for _, name in ipairs { "todo.loop", "todo.loop_inside" } do
      it("one that loops: " .. name, function()
        local results = cpu_time.within(100, function()
          return chat.windows:act(call(name) .. call "todo.number", { instructions = 200000 })
        end)
        assert.same({ "limit", "limit" }, { results[1].code, results[2].code })
        assert.truthy(results[1].text:find "it takes too long", results[1].text)
        assert.equal("todo.number: error: earlier actions have used up the instructions", results[2].text)
        assert.is_true(chat.windows:act(call "todo.number")[1].ok)   -- each text has its own time
      end)
    end

    it("one that acts itself", function()
      local result = chat.windows:act(call "todo.again")[1]
      assert.same({ false, true }, { result.ok, result.text:find("an action cannot call act", 1, true) ~= nil })
    end)

    it("one that was saved without its function", function()
      local copy = assert(ebb.parse('[{"role":"user","content":"x"}]'))
      copy.windows:open { id = "w", actions = { { id = "x" } } }
      assert.equal("absent", copy.windows:act(call "w.x")[1].code)
    end)
  end)

  describe("finds the window:", function()
    before_each(function()
      chat.windows:open { id = "notes", actions = { { id = "add", run = function() return "noted" end } } }
      local inner = { id = "c", run = function() return "a.b c" end }
      local outer = { id = "b.c", run = function() return "a b.c" end }
      chat.windows:open { id = "a.b", closable = false, actions = { inner } }
      chat.windows:open { id = "a", closable = false, actions = { outer } }
      chat.windows:open { id = "old", actions = { { id = "past" } } }:close()
    end)

    local cases = {
      { "one of two", "add", "error: ambiguous action 'add'; candidates: todo.add, notes.add", "ambiguous" },
      { "by its name", "notes.add", "noted" },
      { "alone with such an action", "delete", "error: params.index is required: expected int", "argument" },
      { "with dots, two ways", "a.b.c", "error: ambiguous action 'a.b.c'; candidates: a.b.c, a.b.c", "ambiguous" },
      { "with a dot in the action", "b.c", "a b.c" },
      { "that is closed", "old.past", "error: window 'old' is closed", "closed" },
      { "none with such an action", "past", "error: action 'past' does not exist", "unknown_name" },
      { "but not the action", "notes.ad", "error: action 'ad' does not exist on window 'notes' (did you mean 'add'?)",
        "unknown_name" },
      { "none", "todoo.delete", "error: action 'todoo.delete' does not exist (did you mean 'todo.delete'?)",
        "unknown_name" },
      { "that cannot be closed", "a.close", "error: window 'a' cannot be closed", "refused" },
      { "of many that can be closed", "close", "error: ambiguous action 'close'; candidates: todo.close, notes.close",
        "ambiguous" },
      { "by a name without end", ("x."):rep(600), "error: a name of 1200 bytes", "unknown_name" },
    }
    for _, case in ipairs(cases) do
      it(case[1], function()
        local result = chat.windows:act(call(case[2]))[1]
        assert.equal(case[3], result.text:match ": (.*)$" and result.text:gsub("^.-: ", "", 1))
        assert.same({ case[4] == nil, case[4] }, { result.ok, result.code })
      end)
    end

    local function act(window, action, params)
      return chat.windows:act { window = window, action = action, params = params }[1]
    end

    it("by its id", function()
      assert.equal("a.b.c: a.b c", act("a.b", "c").text)
      assert.equal("a.b.c: a b.c", act("a", "b.c").text)
      assert.equal("todoo.add: error: window 'todoo' does not exist (did you mean 'todo'?)", act("todoo", "add").text)
      assert.equal("closed", act("old", "past").code)
    end)

    it("that is hidden", function()
      chat.windows:get("notes"):hide()
      assert.is_true(act("notes", "add").ok)
    end)

    it("within a name that a model made long", function()
      local text = act(("y"):rep(100000), "x\n\xff").text
      assert.is_true(#text < 500 and utf8.len(text) ~= nil)
    end)
  end)

  describe("closes", function()
    local function close(window, action, params)
      return chat.windows:act { window = window, action = action or "close", params = params }[1]
    end

    it("with a summary or without one", function()
      assert.equal("todo.close: closed", close("todo", nil, { summary = "all done" }).text)
      assert.same({ true, "all done" }, { chat.windows:get("todo").closed, chat.windows:get("todo").summary })
      assert.equal("closed", close("todo").code)
    end)

    it("by any spelling of close", function()
      for i, word in ipairs { "Close", "CLOSE", "system.close" } do
        chat.windows:open { id = "w" .. i }
        assert.is_true(close("w" .. i, word).ok)
        assert.is_true(chat.windows:get("w" .. i).closed)
      end
      chat.windows:get("todo"):close()
      chat.windows:open { id = "last" }
      assert.equal("last.close: closed", chat.windows:act(call "close")[1].text)
    end)

    it("not what the host keeps open, nor with wrong parameters", function()
      chat.windows:get("todo"):update { closable = false }
      assert.equal("todo.close: error: window 'todo' cannot be closed", close("todo").text)
      chat.windows:get("todo"):update { closable = true }
      assert.equal("todo.close: error: params.summary must be string, not 7", close("todo", nil, { summary = 7 }).text)
      assert.is_false(chat.windows:get("todo").closed)
    end)
  end)

  describe("refreshes the window", function()
    it("once, and not when the action did or failed", function()
      local window = chat.windows:open { id = "w", refresh = "append", actions = {
        { id = "nothing", run = function() end }, { id = "update", run = function(_, self) self:update() end },
        { id = "fail", run = function() return nil, "no" end },
          { id = "close_it", run = function(_, self) self:close() end },
      } }
      local function grown(name)
        local version, count = window.version, #chat
        assert.equal(name ~= "fail", chat.windows:act(call("w." .. name))[1].ok)
        return { window.version - version, #chat - count }
      end
      assert.same({ 1, 1 }, grown "nothing")
      assert.same({ 1, 1 }, grown "update")
      assert.same({ 0, 0 }, grown "fail")
      assert.same({ 1, 0 }, grown "close_it")
      assert.same({ false, true, true }, { chat.windows:get("todo").closed, chat[2].obsolete, chat[4].obsolete })
    end)
  end)
end)

describe("events", function()
  local chat, told
  before_each(function()
    chat = todo_chat()
    told = {}
    chat.windows:on(function(event)
      told[#told + 1] = ("%d %s %s%s"):format(event.seq, event.type,
        event.action and event.window .. "." .. event.action
        or event.window or event.name or "-", event.ok == false and " " .. event.code or "")
    end)
  end)

  it("tell what happened to windows and actions, in order", function()
    local notes = chat.windows:open { id = "notes" }
    notes:update { content = "x" }
    notes:hide()
    notes:hide()
    chat.windows:act(call("add", { text = "a" }) .. call("delete", { index = 9 }) .. call "nope" .. call("add", {})
      .. '<action_call>{"window_id":"notes","action_id":"close","params":{"summary":"s"}}</action_call>')

    assert.same({
      "2 opened notes", "2 updated notes", "2 updated notes", "2 updated todo", "2 action todo.add",
      "2 action todo.delete refused", "2 refused nope unknown_name", "2 refused todo.add argument",
      "2 closed notes", "2 action notes.close",
    }, told)
  end)

  it("tell of actions that raise, loop and give back junk", function()
    local calls = call "raise" .. call "junk" .. call "loop" .. "<tool_call>x</tool_call>"
    chat.windows:act(calls, { instructions = 100000 })
    assert.same({ "1 action todo.raise failed", "1 updated todo", "1 action todo.junk", "1 action todo.loop limit",
      "1 refused - syntax" }, told)
  end)

  it("carry what the host needs", function()
    local last
    chat.windows:on(function(event) last = event end)
    chat.windows:act(call("add", { text = "a" }))
    assert.same({ type = "action", seq = 1, window = "todo", action = "add", name = "add", params = { text = "a" },
      ok = true,
      text = "added a" }, last)
    chat.windows:get("todo"):close("why")
    assert.same({ type = "closed", seq = 1, window = "todo", summary = "why" }, last)
  end)

  it("end with nil, and are not those of a fork", function()
    local fork = chat:fork()
    fork.windows:open { id = "x" }
    chat.windows:on(nil)
    chat.windows:open { id = "y" }
    assert.same({}, told)
    assert.equal("argument", refusal(chat.windows.on, chat.windows, 7).code)
  end)

  it("of a listener that fails go to the log, and nothing else is lost", function()
    local lines = {}
    local before = log.to(function(line) lines[#lines + 1] = line end)
    chat.windows:on(function() error "listener" end)
    local results = chat.windows:act(call("add", { text = "a" }))
    log.to(before)

    assert.is_true(results[1].ok)
    assert.equal(2, #lines)
    assert.truthy(lines[1]:find "^ebb: the host's listener to windows failed: .*: listener$")
  end)

  it("that listeners cause are delivered afterwards, and end", function()
    local lines, count = {}, 0
    local before = log.to(function(line) lines[#lines + 1] = line end)
    chat.windows:on(function()
      count = count + 1
      chat.windows:get("todo"):update()
    end)
    chat.windows:open { id = "x" }
    log.to(before)

    assert.equal(100, count)
    assert.truthy(lines[1]:find "keep causing more")
    chat.windows:on(nil)
    assert.truthy(chat.windows:get("x"))
  end)
end)

describe("the label of close", function()
  local function opened(options)
    local chat = ebb.conversation()
    options.id = "todo"
    chat.windows:open(options)
    return chat
  end
  local DONE = { id = "close", label = "\u{5173}\u{95ED}" }

  it("is the window's own where its actions name one, in its place", function()
    local chat = opened { actions = { DONE, { id = "add", label = "Add" } } }
    local markup = chat.windows:get("todo"):markup()
    local actions = '<action id="close" params="summary:string?">\u{5173}\u{95ED}</action><action id="add">Add'
    assert.truthy(markup:find(actions, 1, true))
    local _, count = markup:gsub('id="close"', "")
    assert.equal(1, count)
    local tools = ebb.json.decode(chat.windows:tools { dialect = "anthropic" })
    assert.same({ "todo__close", "todo__add" }, { tools[1].name, tools[2].name })
    assert.truthy(tools[1].description:find("\u{5173}\u{95ED}", 1, true))
    assert.truthy(tools[1].input_schema.properties.summary)
  end)

  it("may be next to the parameters that it has, as in a view of markup", function()
    local action = { id = "close", label = DONE.label, params = "summary:string?" }
    assert.equal(opened({ actions = { DONE } }).windows:get("todo"):markup(),
      opened({ actions = { action } }).windows:get("todo"):markup())
  end)

  it("closes the window, keeps in saved files, and shows only where it can be closed", function()
    local chat = opened { actions = { DONE } }
    local copy = assert(ebb.parse(chat:write "ebb"))
    assert.equal(chat.windows:get("todo"):markup(), copy.windows:get("todo"):markup())
    chat.windows:get("todo"):update { closable = false }
    assert.is_nil(chat.windows:get("todo"):markup():find("close", 1, true))
    assert.is_false(chat.windows:act('<tool_call>{"name":"todo.close"}</tool_call>')[1].ok)
    chat.windows:get("todo"):update { closable = true }
    assert.is_true(chat.windows:act('<tool_call>{"name":"todo.close","arguments":{"summary":"s"}}</tool_call>')[1].ok)
    assert.is_true(chat.windows:get("todo").closed)
  end)

  it("is all that may be declared of it", function()
    for _, action in ipairs { { id = "close" }, { id = "Close", label = "x" },
      { id = "close", label = "x", params = "a:int" }, { id = "close", label = "x", run = print } } do
      local ok, problem = pcall(opened, { actions = { action } })
      assert.is_false(ok)
      assert.equal("argument", problem.code)
      assert.truthy(problem.message:find("is built in: it takes a label", 1, true))
    end
  end)
end)

describe("the activity log", function()
  local chat
  before_each(function() chat = todo_chat() end)

  local function text() return chat.windows:get("activity").content end

  it("lists what happened, in a compact window that no model closes", function()
    local window = chat.windows:log()
    chat.windows:open { id = "notes" }
    chat.windows:act(call("todo.add", { text = "tea" }) .. call("todo.delete", { index = 9 }) .. call "nope")
    chat.windows:get("notes"):close("done\nwith it")

    assert.equal("[3] opened notes\n[3] action todo.add -> ok (added tea)\n"
      .. "[3] action todo.delete -> failed (there is no item 9)\n[3] closed notes (done with it)", text())
    assert.same({ "compact", false, false }, { window.render, window.closable, window.important })
    assert.equal('<Window id="activity" compact="true">[3] opened', window:markup():sub(1, 47))
    assert.equal("activity", chat[2].window)
  end)

  it("keeps the newest lines, each cut to its length", function()
    chat.windows:log { lines = 2 }
    for i = 1, 4 do
      chat.windows:act(call("todo.add", { text = i .. ("é"):rep(200) }))
    end
    local first, second, more = text():match "^([^\n]*)\n([^\n]*)(.*)$"
    assert.equal("", more)
    assert.truthy(first:find("(added 3é", 1, true))
    assert.truthy(second:find("(added 4é", 1, true))
    assert.is_true(#second < 170 and utf8.len(second) ~= nil)
  end)

  it("goes on where it ended, and ends when it is closed", function()
    chat.windows:log { id = "activity", item = false }
    chat.windows:open { id = "a" }
    assert.equal(2, #chat)
    local again = chat.windows:log { lines = 5 }
    chat.windows:open { id = "b" }
    assert.equal("[2] opened a\n[3] opened b", text())

    local lines = {}
    local before = log.to(function(line) lines[#lines + 1] = line end)
    again:close()
    chat.windows:open { id = "c" }
    log.to(before)
    assert.same({}, lines)
    assert.equal("[2] opened a\n[3] opened b", text())
    chat.windows:log()
    chat.windows:open { id = "d" }
    assert.equal("[6] opened d", text())
  end)

  it("tells the host too", function()
    local types = {}
    chat.windows:log()
    chat.windows:on(function(event) types[#types + 1] = event.type .. " " .. event.window end)
    chat.windows:open { id = "a" }
    assert.same({ "opened a", "updated activity" }, types)
  end)

  it("refuses wrong options", function()
    for _, lines in ipairs { 0, 1001, "x", 1.5 } do
      assert.equal("argument", refusal(chat.windows.log, chat.windows, { lines = lines }).code)
    end
    assert.equal("unknown_name", refusal(chat.windows.log, chat.windows, { cap = 3 }).code)
    assert.equal("argument", refusal(chat.windows.log, chat.windows, { id = 7 }).code)
  end)
end)
