--- What authors of policies, processors, macros, nodes and agents read when they make a mistake: the file, the
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

--- What a pipeline says of a plugin or a macro, the file's path as FILE.
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
      "FILE: macro a: parameters: 'y' must stand before 'x?', which may be left out",
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

describe("options of policies in a list of JSON", function()
  local function trimmed(policy)
    finally(helper.clean)
    local chat = helper.conversation "u1 a2 u3 a4 u5 a6"
    return ebb.workflow.run(chat, { { type = "trim", budget = 12, policy = policy } }), helper.texts(chat)
  end

  it("stand beside the name", function()
    local source = "return { options = { keep = { type = 'integer', default = 9 } }, "
      .. "trim = function(draft, _, options) for i = 1, #draft - options.keep do draft:drop(draft[1]) end end }"
    local path = helper.lua_file(source)
    for _, policy in ipairs {
      { name = path, keep = 2 }, { { name = path, keep = 2 } }, { path, keep = 2 }, { { path, keep = 2 }, "keep_recent" },
    } do
      local done, texts = trimmed(policy)
      assert.is_true(done)
      assert.equal("u5 a6", texts)
    end
  end)

  for _, case in ipairs {
    { { "keep_recent:keep=2" }, "options stand in a table" },
    { { { "keep_recent", { keep = 2 } } }, "a policy table has trim = function, or begins with a policy" },
  } do
    it("are refused elsewhere, with a hint for JSON: " .. case[2], function()
      local problem = refusal(trimmed, case[1])
      assert.matches(case[2], problem.message, 1, true)
      assert.matches('{"name": "keep_recent", "keep": %d}', problem.hint)
    end)
  end

  it("names a file beside the workflow's", function()
    command.folder = os.tmpname()
    os.remove(command.folder)
    os.execute("mkdir -p " .. command.folder)
    command.file("own.lua", "return { options = { keep = { type = 'integer' } }, trim = function(draft, _, options) "
      .. "draft:note('keeps ' .. options.keep) end }")
    local path = command.file("flow.json", '[{"type":"trim","budget":9,"policy":{"name":"./own.lua","keep":2}}]')
    local chat = helper.conversation "u1 a2"
    assert.is_true(ebb.workflow.run(chat, ebb.workflow.load(path)))
    os.execute("rm -r " .. command.folder)
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
    { '{"injectionStrategy":{"type":"depth"}}', "FILE:2:23: presets[0].injectionStrategy.depth: type 'depth' needs it" },
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
