--- Checks the errors for mistakes of authors of policies, processors, macros, nodes and agents: the file, the
-- place, what was expected, and a hint.

local helper = dofile "tests/lua/helper.lua"
local command = dofile "tests/lua/command.lua"
local ebb = helper.ebb

local POLICY = "return { name = 'thin', trim = function() end }"
local PROCESSOR = "return { id = 'stamp', name = 'Stamp', execute = function() end }"
local MACRO = "return { name = 'bike', summary = 's', stability = 'stable', run = function() return '' end }"

--- The error that a call raises.
local function refusal(call, ...)
  finally(helper.clean)
  local ok, problem = pcall(call, ...)
  assert.is_false(ok)
  return problem
end

--- Returns a pipeline's error about a plugin or a macro, with FILE for the file's path.
local function said(option, source)
  local path = helper.lua_file(source)
  local problem = refusal(ebb.pipeline, { [option] = { path } })
  return (problem.message:gsub(path:gsub("%p", "%%%0"), "FILE")), problem
end

describe("a file that is no plugin of its kind", function()
  for _, case in ipairs {
    -- option        what it returns                        message
    { "processors", POLICY,                                "FILE is a policy, not a processor" },
    { "processors", "return { filter = print }",           "FILE is a filter, not a processor" },
    { "processors", MACRO,                                 "FILE is a macro, not a processor" },
    { "processors", "return { summary = 'x' }",
      "FILE: expected a processor or a list of them, the file returned a table without id and execute" },
    { "processors", "return {}",
      "FILE: expected a processor or a list of them, the file returned an empty table" },
    { "processors", "return { 5 }",                        "FILE: processor: expected a processor, got 5" },
    { "macros",     "return {}",
      "FILE: expected a macro or a list of them, the file returned an empty table" },
    { "macros",     POLICY,                                "FILE is a policy, not a macro" },
    { "macros",     PROCESSOR,                             "FILE is a processor, not a macro" },
  } do
    it(("is refused among %s: %s"):format(case[1], case[2]), function()
      local message, problem = said(case[1], case[2])
      assert.equal(case[3], message)
      assert.equal("shape", problem.code)
      assert.is_string(problem.hint)
    end)
  end

  it("is refused as a table, too", function()
    local message = "processor: expected a processor or a list of them, got a table without id and execute"
    assert.equal(message, refusal(ebb.pipeline, { processors = { { name = "x" } } }).message)
    assert.equal("the table is a policy, not a macro",
      refusal(ebb.pipeline, { macros = { { trim = print } } }).message)
  end)

  it("is refused by trim and filter", function()
    local chat, path = helper.conversation "u1 a2", helper.lua_file(PROCESSOR)
    local _, problem = chat:trim { policy = path, budget = 1 }
    assert.equal(path .. " is a processor, not a policy", problem.message)
    assert.equal(path .. " is a processor, not a filter", refusal(chat.filter, chat, path).message)
  end)
end)

describe("a declaration that is wrong", function()
  local HINT = '{ id = "my-step", name = "My step", execute = function(context, config) ... end }'
  for _, case in ipairs {
    -- option        what the file returns                  message, hint
    { "processors", "return { name = 'S', execute = print }", "FILE: processor: id is missing", HINT },
    { "processors", "return { id = 'stamp', name = 'S', exec = print }",
      "FILE: processor 'stamp': exec: unknown field", HINT },
    { "macros", "return { name = 'bike', summary = 's', run = print }",
      "FILE: macro bike: stability is missing", "one of stable, session, turn, volatile" },
    { "macros", "return { name = 'a', summary = 's', stability = 'stable', parameters = { 'x?', 'y' }, run = print }",
      "FILE: macro a: parameters: 'y' must come before 'x?', which may be left out",
      'parameters = { "name", "name?" }' },
  } do
    it("names file and field, and has a hint: " .. case[3], function()
      local message, problem = said(case[1], case[2])
      assert.equal(case[3], message)
      assert.equal(case[4], problem.hint)
    end)
  end
end)

describe("a check of options", function()
  local CHECK = "return { name = 'thin', options = { keep = { type = 'integer' } }, %s = function() end,\n check = %s }"
  local WRONG = "nil, or a text that says what is wrong"
  local FAILURES = {
    -- check                                             what it says               hint
    { "function() error 'boom' end",                       "%s: %s:2: boom" },
    { "function(o) return o.keep + o.older end",
      "%s: %s:2: attempt to perform arithmetic on a nil value (field 'older')" },
    { "function() while true do end end",                  "%s: %s:2: stopped: it used up its fuel of 100000" },
    { "function() return {} end",                          "%s: check returned a table", WRONG },
    { "function() return 5 end",                           "%s: check returned 5", WRONG },
    { "function() return '' end",                          "%s: check returned ''", WRONG },
  }

  local function answers(noun, verb, call)
    for _, case in ipairs(FAILURES) do
      it(("of a %s that fails is the %s's error: %s"):format(noun, noun, case[1]), function()
        local path = helper.lua_file(CHECK:format(verb, case[1]))
        local problem = call(path)
        assert.equal(case[2]:format(noun .. " thin", path), (problem.message:gsub(" %(limits.*", "")))
        assert.equal(noun, problem.code)
        assert.equal(case[3], problem.hint)
      end)
    end
  end
  answers("policy", "trim", function(path)
    local report, problem = helper.conversation("u1 a2"):trim {
      policy = { path, keep = 1 }, budget = 1, limits = { fuel = 100000 },
    }
    assert.is_nil(report)
    return problem
  end)
  answers("filter", "filter", function(path)
    local chat = helper.conversation "u1 a2"
    return refusal(chat.filter, chat, { path, options = { keep = 1 }, limits = { fuel = 100000 } })
  end)

  for _, case in ipairs {
    { "return nil, 'why'", "policy thin: why" }, { "return false, 'why'", "policy thin: why" },
    { "return 'why'", "policy thin: why" }, { "return" }, { "return nil" }, { "return false" }, { "return true" },
  } do
    it("may say: " .. case[1], function()
      local path = helper.lua_file(CHECK:format("trim", "function() " .. case[1] .. " end"))
      local chat = helper.conversation "u1 a2"
      if not case[2] then return assert.truthy(chat:trim { policy = path, budget = 10 }) end
      local problem = refusal(chat.trim, chat, { policy = path, budget = 10 })
      assert.equal(case[2], problem.message)
      assert.equal("argument", problem.code)
    end)
  end

  it("of a type of nodes that fails names the node, the type and the line", function()
    local types = { { name = "tag", run = function() end, check = function() error "boom" end } }
    local problem = refusal(ebb.workflow.check, { nodes = { { type = "tag" } }, types = types })
    assert.matches("^node 1 %(tag%): tag: .*author_errors_spec%.lua:%d+: boom$", problem.message)
    assert.equal("script", problem.code)
  end)

  it("of a text on the command line is not named twice", function()
    local chat = helper.conversation "u1 a2"
    local _, problem = chat:trim { policy = "return { trim = print, check = function() error 'boom' end }", budget = 1 }
    assert.equal("policy text:1: boom", problem.message)
  end)
end)

describe("a slip in a policy", function()
  local OPTIONS = "return { options = { keep = { type = 'integer', default = 2 }, note = { type = 'string' } }, "
  for _, case in ipairs {
    -- what the policy does              what it reads
    { OPTIONS .. "trim = function(_, _, o) return o.kepe + 1 end }",
      "an options table has no field 'kepe' (did you mean 'keep'?)" },
    { OPTIONS .. "trim = function(d, _, o) assert(o.note == nil and o.keep == 2) error(o.keep + #d, 0) end }", "5" },
    { "return function(_, _, o) error(tostring(o.any), 0) end", "nil" },
    { "return function(d) for k in pairs(d[1]) do print(k) end end",
      "pairs walks tables, and this is a Message (pairs(it:totable()) walks its fields)" },
    { "return function(d) for k in pairs(d) do print(k) end end",
      "pairs walks tables, and this is a Draft (for i = 1, #it do ... it[i] ... end walks what stands in it)" },
    { "return function(message) return message.role ~= 'tool' end", "a Draft has no field 'role'",
      "a message has it: draft[1].role; a function that is asked about each message is a filter" },
    { "return function(d) while true do d:drop(1) end end", "stopped: it used up its fuel",
      "edits were refused, the first: " },
    { "draft:drop_oldest { to = 9 }", "Lua instead of a policy's name begins with return",
      "'return function(...) ... end'" },
  } do
    for _, trusted in ipairs { false, true } do
      local endless = case[1]:find("while true", 1, true)
      it(("is told, %s: %s"):format(trusted and "trusted" or "in a sandbox", case[1]), function()
        if trusted and endless then return end
        local chat = helper.conversation "s1 u2 u3"
        local done, report, problem = pcall(chat.trim, chat, { budget = 5, policy = case[1], trusted = trusted,
          limits = not trusted and { fuel = 100000 } or nil })
        if not done then problem = report end
        command.contains(case[2], problem.message)
        if case[3] then command.contains(case[3], problem.hint) end
      end)
    end
  end
end)

describe("options of policies in a list of JSON", function()
  local function trimmed(policy)
    finally(helper.clean)
    local chat = helper.conversation "u1 a2 u3 a4 u5 a6"
    return ebb.workflow.run(chat, { { type = "trim", budget = 12, policy = policy } }), helper.texts(chat)
  end

  it("are next to the name", function()
    local source = "return { options = { keep = { type = 'integer', default = 9 } }, "
      .. "trim = function(draft, _, options) for i = 1, #draft - options.keep do draft:drop(draft[1]) end end }"
    local path = helper.lua_file(source)
    for _, policy in ipairs {
      { name = path, keep = 2 }, { { name = path, keep = 2 } }, { path, keep = 2 },
      { { path, keep = 2 }, "keep_recent" },
    } do
      local done, texts = trimmed(policy)
      assert.is_true(done)
      assert.equal("u5 a6", texts)
    end
  end)

  for _, case in ipairs {
    { { "keep_recent:keep=2" }, "options belong in a table" },
    { { { "keep_recent", { keep = 2 } } }, "a policy table has trim = function, or begins with a policy" },
  } do
    it("are refused elsewhere, with a hint for JSON: " .. case[2], function()
      local problem = refusal(trimmed, case[1])
      assert.matches(case[2], problem.message, 1, true)
      assert.matches('{"name": "keep_recent", "keep": %d}', problem.hint)
    end)
  end

  it("names a file next to the workflow's", function()
    command.make_folder()
    command.file("own.lua", "return { options = { keep = { type = 'integer' } }, trim = function(draft, _, options) "
      .. "draft:note('keeps ' .. options.keep) end }")
    local path = command.file("flow.json", '[{"type":"trim","budget":9,"policy":{"name":"./own.lua","keep":2}}]')
    local chat = helper.conversation "u1 a2"
    assert.is_true(ebb.workflow.run(chat, ebb.workflow.load(path)))
    command.remove_folder()
  end)
end)

describe("a wrong field of an agent's preset", function()
  local function agent(text)
    local path = helper.lua_file(text)
    os.rename(path, path .. ".json")
    local problem = refusal(ebb.pipeline, { agent = path .. ".json" })
    os.remove(path .. ".json")
    return (problem.message:gsub("^[^:]*", "FILE")), problem
  end

  for _, case in ipairs {
    { '{"rol":"system","content":"S"}', "FILE:2:9: presets[0].rol: unknown field", "did you mean 'role'?" },
    { '{"role":"sytem","content":"S"}',
      "FILE:2:10: presets[0].role: expected one of system, user, assistant, got 'sytem'", "did you mean 'system'?" },
    { '{"type":"chathistory"}', "FILE:2:10: presets[0].type: no anchor 'chathistory'",
      "did you mean 'chat_history'?" },
    { '{"role":"user","depth":4}', "FILE:2:25: presets[0].depth: unknown field",
      "did you mean 'injectionStrategy.depth'?" },
    { '{"content":"x","order":7}', "FILE:2:25: presets[0].order: unknown field",
      "did you mean 'injectionStrategy.order'?" },
    { '{"anchor_target":"chat_history"}', "FILE:2:19: presets[0].anchor_target: unknown field",
      "did you mean 'injectionStrategy.anchorTarget'?" },
    { '{"anchorPosition":"before"}', "FILE:2:20: presets[0].anchorPosition: unknown field",
      "did you mean 'injectionStrategy.anchorPosition'?" },
    { '{"injectionStrategy":{"type":"depth"}}',
      "FILE:2:23: presets[0].injectionStrategy.depth: type 'depth' needs it" },
  } do
    it("is refused with its line: " .. case[1], function()
      local message, problem = agent('{"name":"A","presets":[\n ' .. case[1] .. "]}")
      assert.equal(case[2], message)
      assert.equal(case[3], problem.hint)
    end)
  end

  it("is refused under the other name of the list, and in Lua", function()
    assert.matches("^FILE:2:%d+: presetMessages%[0%]%.rol: unknown field",
      (agent '{"presetMessages":[\n{"rol":"system"}]}'))
    local problem = refusal(ebb.pipeline, { agent = { presets = { { type = "chat_history" }, { rol = "system" } } } })
    assert.equal("agent: presets[1].rol: unknown field", problem.message)
  end)

  it("is fine where the agent declares the anchor", function()
    assert.truthy(ebb.pipeline { agent = { presets = { { type = "memory" } }, anchors = { memory = true } } })
  end)
end)

describe("a problem of a macro in a preset", function()
  local BIKE = [[return { name = "bike", summary = "s", stability = "stable", parameters = { "model", "size" },
    run = function(call, model, size)
      if size == "Q" then return nil, "no such size: Q" end
      while size == "loop" do end
      return model .. size
    end }]]

  local function warnings(content)
    finally(helper.clean)
    local result = assert(ebb.pipeline({
      agent = { presets = { { role = "system", content = content }, { type = "chat_history" } } },
      macros = { helper.lua_file(BIKE) }, counter = helper.tokens_of, limits = { fuel = 100000 },
    }):run(helper.conversation "u1"))
    local lines = {}
    for _, entry in ipairs(result.logs) do
      if entry.level == "warn" then lines[#lines + 1] = entry.message end
    end
    return lines
  end

  for _, case in ipairs {
    { "a {{bike::x::Q}}", "preset message 1: {{bike::x::Q}}: no such size: Q; it stays" },
    { "a {{bike::x}}", "preset message 1: {{bike::x}}: bike needs 2 arguments: bike::model::size; it stays" },
    { "a {{upper}}", "preset message 1: {{upper}}: upper needs 1 argument: upper::text; it stays" },
    { "a {{usr}}", "preset message 1: unknown macro {{usr}} stays as it is: did you mean 'user'?" },
  } do
    it("names the preset and the call: " .. case[1], function()
      assert.same({ case[2] }, warnings(case[1]))
    end)
  end

  it("that a limit stopped does not blame the library in the next call", function()
    local lines = warnings "{{bike::x::loop}} {{bike::a::b}}"
    assert.matches("^preset message 1: {{bike::x::loop}}: bike failed: .*lua:4: stopped: it used up its fuel", lines[1])
    assert.equal("preset message 1: {{bike::a::b}}: bike failed: a limit has stopped it before, in this run; it stays",
      lines[2])
  end)
end)

describe("a model that nearly has a known name", function()
  local function logs_of(name)
    local result = assert(ebb.pipeline({ agent = { model = name }, encoding = "bytes4" }):run(
      helper.conversation "u1"))
    local lines = {}
    for _, entry in ipairs(result.logs) do
      if entry.level == "warn" then lines[#lines + 1] = entry.processor .. ": " .. entry.message end
    end
    return lines
  end

  it("is a warning, unless the name is known or quite different", function()
    assert.same({ "request: model 'gpt-4oo' is unknown: did you mean 'gpt-4o'?" }, logs_of "gpt-4oo")
    assert.same({}, logs_of "gpt-4o")
    assert.same({}, logs_of "the-model-of-my-own-house")
  end)
end)

describe("a workflow", function()
  local function folder_of(files)
    command.make_folder()
    finally(command.remove_folder)
    for name, text in pairs(files) do
      command.file(name, text)
    end
  end

  it("names a slip in the name of its list", function()
    folder_of { ["w.json"] = '{"node":[{"type":"trim"}]}' }
    local workflow, problem = ebb.workflow.load(command.path_of "w.json")
    assert.is_nil(workflow)
    assert.matches("w.json: a workflow has no field 'node'", problem.message, 1, true)
    assert.equal("did you mean 'nodes'?", problem.hint)
    assert.equal("a workflow has no field 'node'", refusal(ebb.workflow.check, { node = {} }).message)
  end)

  it("is refused without nodes", function()
    folder_of { ["w.json"] = "[]" }
    assert.matches("w.json: expected a list of nodes, the file has none",
      select(2, ebb.workflow.load(command.path_of "w.json")).message, 1, true)
  end)

  it("may be a node alone", function()
    folder_of { ["w.json"] = '{"type":"trim","budget":400}', ["w.lua"] = "return { type = 'trim', budget = 400 }",
      ["in.json"] = '[{"role":"user","content":"u"}]' }
    for _, name in ipairs { "w.json", "w.lua" } do
      command.does(("run %s --input %s"):format(command.path_of(name), command.path_of "in.json"))
      assert.is_true(ebb.workflow.run(helper.conversation "u1", ebb.workflow.load(command.path_of(name))))
    end
  end)

  it("is not run on nothing", function()
    folder_of { ["w.json"] = '[{"type":"trim","budget":400}]', ["empty.json"] = "[]" }
    local path = command.path_of "w.json"
    local run = command.ebb("run " .. path)
    assert.equal(command.USAGE, run.status)
    command.contains("w.json returned nodes, but standard input is empty\nhint: ebb run " .. path, run.err)
    command.does(("run %s --input %s"):format(path, command.path_of "empty.json"))
  end)
end)

describe("hints for the user's own Lua", function()
  it("are the library's in a script of the command", function()
    command.make_folder()
    finally(command.remove_folder)
    local script = command.file("s.lua", "local chat = require 'ebb'.conversation {}\nchat:trim {}")
    local err = command.fails(command.SCRIPT, "run " .. script)
    command.contains("hint: chat:trim { budget = 8000 }", err)
    local input = command.file("in.json", '[{"role":"user","content":"u"}]')
    command.contains("hint: --budget 8000, or --model", command.fails(command.USAGE, "trim " .. input))
  end)

  for _, case in ipairs {
    { "windows.open {}", function(chat) chat.windows.open {} end,
      "expected a Windows, got a table", "call methods with a colon: chat.windows:open { ... }" },
    { "pipeline.run(chat)", function(chat) ebb.pipeline({}).run(chat) end,
      "run: expected a Pipeline, got a Conversation", "call methods with a colon: pipeline:run(chat)" },
    { "window.hidden = true", function(chat) chat.windows:open({ id = "x" }).hidden = true end,
      "the field 'hidden' of a window cannot be assigned", "window:update { ... }" },
  } do
    it("say what to write instead of " .. case[1], function()
      local problem = refusal(case[2], helper.conversation "u1")
      assert.equal(case[3], problem.message)
      assert.equal(case[4], problem.hint)
    end)
  end

  it("name a file next to the one that does not exist", function()
    local path = helper.lua_file(POLICY)
    finally(helper.clean)
    local wrong = path:gsub("%.lua$", "s.lua")
    local _, problem = helper.conversation("u1"):trim { policy = wrong, budget = 9 }
    assert.equal("absent", problem.code)
    assert.equal(("did you mean '%s'?"):format(path), problem.hint)
  end)
end)

describe("a processor that is wrong", function()
  local function run(execute, priority)
    local _, problem = ebb.pipeline({
      processors = { { id = "stamp", name = "S", priority = priority, execute = execute } }, counter = helper.tokens_of,
    }):run(helper.conversation "u1 a2")
    return problem.message
  end

  it("is named for the role that it gives a message of the history", function()
    local message = "processor 'stamp': it left messages[2]: role is usr: expected system, user, assistant or tool"
    for _, priority in ipairs { 150, 950 } do
      assert.equal(message, run(function(context) context.messages[2].role = "usr" end, priority))
    end
  end)

  local LEFT = {
    { "text that is not UTF-8", "messages[2]: a string is not UTF-8 at byte 1",
      function(context) context.messages[2].content = "\xff" end },
    { "a table that contains itself", "messages[2]: more than 256 levels", function(context)
      local list = {}
      list.list = list
      context.messages[2].extra = list
    end },
    { "a value without a JSON form", "messages[1]: a function has no JSON form",
      function(context) context.messages[1].extra = print end },
    { "a number without a JSON form", "messages[1]: JSON has no", function(context) context.messages[1].n = 1 / 0 end },
    { "calls that are no list", "messages[2]: expected a list of tool calls at tool_calls",
      function(context) context.messages[2].tool_calls = 5 end },
    { "a call without a function", "messages[2]: expected a function in the tool call at tool_calls[1]",
      function(context) context.messages[2].tool_calls = { { id = "x" } } end },
    { "attachments that are no list", "messages[1]: attachments is a list, not number",
      function(context) context.messages[1].attachments = 5 end },
    { "attachments that are numbers", "messages[1]: attachments[1] is a table, not number",
      function(context) context.messages[1].attachments = { 5 } end },
  }
  for _, case in ipairs(LEFT) do
    it("is named for what no request can be made of, and may be skipped: " .. case[1], function()
      for _, priority in ipairs { 150, 950 } do
        assert.matches("processor 'stamp': it left " .. case[2], run(case[3], priority), 1, true)
      end
      local chat = helper.conversation "u1 a2"
      local function pipe(processors)
        local options = { processors = processors, counter = helper.tokens_of, on_error = "skip" }
        return assert(ebb.pipeline(options):run(chat))
      end
      local result = pipe { { id = "stamp", name = "S", execute = case[3] } }
      assert.equal(pipe {}.body, result.body)
      local failures = {}
      for _, entry in ipairs(result.logs) do
        if entry.level == "error" then failures[#failures + 1] = entry.message end
      end
      assert.equal(1, #failures)
      assert.matches("it left " .. case[2], failures[1], 1, true)
    end)
  end

  it("is not blamed for what a counter of the caller's raises", function()
    local function execute(context) context.messages[1].content = "x" end
    local _, problem = pcall(function()
      return ebb.pipeline({
        processors = { { id = "stamp", name = "S", execute = execute } },
        counter = function(message) if message.content == "x" then error "cannot count" end return 1 end,
      }):run(helper.conversation "u1 a2")
    end)
    assert.is_nil(tostring(problem):find "it left")
  end)

  it("may keep the role that a role map allows", function()
    local chat = assert(ebb.parse('[{"role":"bot","content":"hi"},{"role":"user","content":"x"}]',
      { role_map = { bot = "assistant" }, encoding = "bytes4" }))
    local function execute(context) context.messages[1].content = "ho" end
    local pipe = ebb.pipeline { role_map = { bot = "assistant" }, encoding = "bytes4",
      processors = { { id = "stamp", name = "S", execute = execute } } }
    assert(pipe:run(chat))
  end)

  it("hears what messages are", function()
    local message = run(function(context) context.messages = nil end)
    assert.matches("context.messages: expected a table, got nil", message, 1, true)
  end)
end)

describe("what is told of a script", function()
  local function trim(source, limits)
    finally(helper.clean)
    local _, problem = helper.conversation("u1 a2 u3 a4"):trim { budget = 9, policy = source, limits = limits }
    return problem.message
  end

  it("that calls itself without end, is that", function()
    local path = helper.lua_file [[
      return { name = 'deep', trim = function() local function f() return 1 + f() end f() end }]]
    assert.matches("its calls are nested too deeply: does a function call itself without end?", trim(path), 1, true)
  end)

  it("whose string is too long, is that", function()
    local path = helper.lua_file [[
      return { name = 'long', trim = function() local x = ('x'):rep(3000000) return x .. x end }]]
    assert.matches("it needs a string or table of 60000%d%d bytes", trim(path))
  end)

  it("that is stopped within the library, has no place of the library's", function()
    local path = helper.lua_file "return { name = 'slow', trim = function() while true do end end }"
    for _, fuel in ipairs { 1000, 2000, 3000, 5000 } do
      assert.matches("^policy slow: stopped: it used up", trim(path, { fuel = fuel }))
    end
    assert.matches(path .. ":1: stopped", trim(path, { fuel = 50000 }), 1, true)
  end)

  it("that is a text, has its name once", function()
    local policy = { source = "return { trim = function(draft) draft.memory.x = '\\xff' end }" }
    assert.matches("^policy text: draft%.memory%.x cannot be kept", trim(policy))
    local chat, loop = helper.conversation "u1 a2", { source = "return function() while true do end end" }
    local problem = refusal(chat.filter, chat, { loop, limits = { fuel = 50000 } })
    assert.matches("^filter text:1: stopped", problem.message)
    problem = refusal(chat.filter, chat, { loop, limits = { fuel = 1000 } })
    assert.matches("^filter text: stopped", problem.message)
  end)

  it("that is a filter, names the message whose answer has no JSON form", function()
    local chat = helper.conversation "u1 a2"
    for answer, what in pairs {
      ["'\\xff'"] = "a string is not UTF-8 at byte 1", ["{ { type = 'text', text = 1 / 0 } }"] = "JSON has no",
    } do
      local source = ("return function(m) if m.index == 2 then return { role = 'assistant', content = %s } end end")
        :format(answer)
      local problem = refusal(chat.filter, chat, { source = source })
      assert.matches("filter text, message 2: " .. what, problem.message, 1, true)
    end
  end)
end)

it("an action that goes on is stopped at its own place", function()
  local chat = helper.conversation "u1"
  chat.windows:open { id = "w", content = "x", actions = { { id = "loop", label = "L", run = function()
    while true do end
  end } } }
  local line = debug.getinfo(1, "l").currentline - 2
  local text = chat.windows:act('<tool_call>{"name":"w.loop"}</tool_call>')[1].text
  assert.equal(("w.loop: error: author_errors_spec.lua:%d: it takes too long"):format(line), text)
end)

it("an argument that is missing is nil, and null is null", function()
  local chat = helper.conversation "u1"
  for _, call in ipairs {
    { chat.append }, { chat.insert, 1 }, { chat.replace, 1 }, { chat.append, ebb.null, null = true },
  } do
    local problem = refusal(call[1], chat, table.unpack(call, 2))
    assert.matches("is expected, not " .. (call.null and "null" or "nil"), problem.message)
  end
end)

it("a field of a conversation that is set hears where options are given", function()
  local problem = refusal(function() helper.conversation("u1").limit = 5 end)
  assert.matches("options are given where it is made", problem.hint)
end)

it("hints of methods name some that exist", function()
  local pipe = ebb.pipeline {}
  local problem = refusal(pipe.enable, pipe, "nobody")
  local method = problem.hint:match "^pipeline:(%w+)%(%) lists them$"
  assert.equal("function", type(pipe[method]))
end)

it("a content function that returns nothing fails in its window", function()
  local chat = helper.conversation "u1"
  chat.windows:open { id = "x", content = function() end }
  assert.matches("content failed: its function returned nothing", chat.windows:get("x"):markup(), 1, true)
end)

describe("options that a script declares", function()
  for _, case in ipairs {
    { "a policy", "return { trim = function() end, fields = {} }", "did you mean 'options'?",
      function(path) return select(2, helper.conversation("u1"):trim { policy = path, budget = 9 }) end },
    { "a type of nodes", "return { name = 'tag', run = function() end, options = {} }",
      "did you mean 'fields'?",
      function(path) return refusal(ebb.workflow.check, { nodes = { { type = "tag" } }, types = { path } }) end },
    { "a processor", "return { id = 'x', name = 'X', execute = print, options = {} }",
      "did you mean 'config_fields'?",
      function(path) return refusal(ebb.pipeline, { processors = { path } }) end },
  } do
    it(("of %s under another kind's name are told the right one"):format(case[1]), function()
      local path = helper.lua_file(case[2])
      finally(helper.clean)
      assert.equal(case[3], case[4](path).hint)
    end)
  end

  it("are either required or have a default", function()
    local path = helper.lua_file("return { trim = print, "
      .. "options = { n = { type = 'integer', required = true, default = 1 } } }")
    finally(helper.clean)
    local _, problem = helper.conversation("u1"):trim { policy = path, budget = 9 }
    assert.matches("options.n: a required option has no default", problem.message, 1, true)
  end)

  it("show in the example of a type of nodes, so that it can run", function()
    local type_of_nodes = { name = "redact", run = function() end, fields = {
      word = { type = "string", required = true }, n = { type = "integer" },
      role = { type = "choice", choices = { "user" }, required = true }, at = { type = "integer", required = true },
    } }
    local example = ebb.workflow.types({ nodes = {}, types = { type_of_nodes } }).redact.example
    assert.equal('{ type = "redact", at = 1, role = "user", word = "..." }', example)
    assert.truthy(ebb.workflow.check { nodes = { load("return " .. example)() }, types = { type_of_nodes } })
  end)
end)

describe("examples in help", function()
  local TOPICS = { "policies-in-lua", "filters-in-lua", "processors-in-lua", "macros-in-lua", "workflows", "operations",
    "environment" }

  before_each(command.make_folder)
  after_each(command.remove_folder)

  --- The lines of code and of lists in a help text.
  local function indented(words, columns, from)
    command.columns = columns
    local text = command.does(words)
    command.columns = nil
    local lines = {}
    for line in text:sub(from and text:find(from) or 1):gmatch "[^\n]+" do
      if line:find "^ " then lines[#lines + 1] = line end
    end
    return lines
  end

  for _, topic in ipairs(TOPICS) do
    it("are whole at 80 columns: " .. topic, function()
      assert.same(indented("help " .. topic, 200), indented("help " .. topic, 80))
    end)
  end

  for _, name in ipairs { "trim", "filter", "apply", "run", "pipeline", "rules", "count", "check", "inspect",
    "diff", "repl", "macros" } do
    it("are whole at 80 columns: " .. name, function()
      local lines = indented("help " .. name, 200, "\nExamples:")
      assert.truthy(lines[1])
      assert.same(lines, indented("help " .. name, 80, "\nExamples:"))
    end)
  end
end)
