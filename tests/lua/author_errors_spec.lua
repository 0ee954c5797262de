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
