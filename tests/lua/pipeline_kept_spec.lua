--- Order, switches and values of a pipeline's processors are kept: what `settings` and `--show-config --json` give, an
--- agent takes.

local helper = dofile "tests/lua/helper.lua"
local command = dofile "tests/lua/command.lua"
local ebb = helper.ebb
local does, fails = command.does, command.fails

setup(command.make_folder)
teardown(command.remove_folder)

local PROBE = [[return {
  { id = "probe", name = "Probe", config_fields = {
    { key = "way", type = "select", default = "slow", options = { { label = "Fast", value = "fast" }, "slow" } },
    { key = "type", type = "text", default = "" }, { key = "size", type = "number", whole = true, default = 3 },
    { key = "loud", type = "boolean" } }, execute = function() end },
  { id = "second", name = "Second", execute = function() end } }]]

--- All that is kept, in order.
local function state(pipeline)
  local list = pipeline:settings()
  for _, entry in ipairs(list) do entry.origins = nil end
  return list
end

--- name, changes, processors of others, an agent
local CASES = {
  { "nothing changed", function() end },
  { "a processor off", function(p) p:enable("alternate-roles", false) p:enable("message-formatters", true) end },
  { "another order", function(p) p:reorder { "merge-roles", "regex-processor", "session-loader" } end },
  { "one setting", function(p) p:set "token-limiter.budget=4000" p:set "merge-roles.separator= | " end },
  { "all of them, with an agent", function(p)
    p:reorder { "token-limiter", "lorebook" }
    p:enable("token-limiter", false)
    p:set "merge-system.separator=#"
  end, false, { processors = { ["merge-roles"] = false, ["token-limiter"] = { budget = 70, reserve = 5 } } } },
  { "processors of others", function(p)
    p:set "probe.way=fast" p:set "probe.type=text" p:set "probe.size=-7" p:set "probe.loud=yes"
    p:reorder { "second", "merge-roles", "probe" }
    p:enable("second", false)
  end, true },
  { "priorities that are equal and no whole numbers", function(p)
    for _, id in ipairs { "probe", "merge-roles", "convert-system" } do p:set(id .. ".priority=12.5") end
  end, true },
}

describe("order, switches and values of processors", function()
  for _, case in ipairs(CASES) do
    local name, change, has_plugin, agent = table.unpack(case)

    it("are kept: " .. name, function()
      local plugins = has_plugin and { command.file("probe.lua", PROBE) } or {}
      local pipeline = ebb.pipeline { processors = plugins, agent = agent }
      change(pipeline)
      local before = state(pipeline)

      local again = ebb.pipeline { processors = plugins, agent = { processors = pipeline:settings() } }
      local text = ebb.json.encode { processors = pipeline:settings() }
      local file = ebb.pipeline { processors = plugins, agent = command.file("kept.json", text) }
      local camel = ebb.pipeline { processors = plugins,
        agent = text:gsub('"retained_characters"', '"retainedCharacters"') }

      for _, each in ipairs { again, file, camel } do assert.same(before, state(each)) end
    end)
  end

  it("are kept by the command, in the text of an agent's file", function()
    local plugin = command.file("probe.lua", PROBE)
    local chat = command.file("chat.json", '[{"role":"user","content":"one"}]')
    local words = ("pipeline %s --plugin %s --json --show-config "):format(chat, plugin)
    local shown = does(words .. "--set probe.size=9 --set merge-roles.priority=1 --set second.enabled=no")
    local agent = command.file("kept.json", '{"processors":' .. shown .. "}")

    local again = does(words .. "--agent " .. agent)

    assert.equal("merge-roles", ebb.json.decode(shown)[1].id)
    assert.same(ebb.json.decode((shown:gsub('"origins": ?%b{}', '"origins":{}'))),
      ebb.json.decode((again:gsub('"origins": ?%b{}', '"origins":{}'))))
    assert.equal("agent", ebb.json.decode(again)[1].origins.priority)
  end)

  it("in a list of all processors, it orders those of equal priority", function()
    local function make(id) return { id = id, name = id, execute = function() end } end
    local before = ebb.pipeline { processors = { make "a", make "b" } }
    local list = before:settings()

    local after = ebb.pipeline { processors = { make "b", make "a" }, agent = { processors = list } }
    local some = ebb.pipeline { processors = { make "b", make "a" }, agent = { processors = { "a", "b" } } }

    assert.same(state(before), state(after))
    local function place(pipeline, id)
      for i, each in ipairs(pipeline:order()) do if each.processor.id == id then return i end end
    end
    assert.is_true(place(some, "b") < place(some, "a"))
  end)

  it("stay what they are where the list is changed", function()
    local pipeline = ebb.pipeline { set = { "token-limiter.budget=50" } }
    local list = pipeline:settings()
    list[1].enabled, list[1].origins.enabled = false, "nobody"

    assert.is_true(pipeline:settings()[1].enabled)
    assert.equal("default", pipeline:settings()[1].origins.enabled)
  end)

  local wrong = {
    { '{"processors":[{"id":"lorebook","origins":7}]}', "origins" },
    { '{"processors":{"lorebook":{"origins":{"enabled":7}}}}', "origins.enabled" },
    { '{"processors":[{"id":"lorebook","origin":{}}]}', "no setting 'origin'" },
    { '{"processors":[{"id":7}]}', "processors[0].id: expected a string" },
  }
  for _, case in ipairs(wrong) do
    it("are refused: " .. case[1], function()
      local agent = command.file("wrong.json", case[1])
      local chat = command.file("chat.json", '[{"role":"user","content":"one"}]')
      assert.matches(case[2], fails(command.REFUSED, ("pipeline %s --agent %s"):format(chat, agent)), 1, true)
    end)
  end

  it("have no setting with the name of what else is there", function()
    for _, key in ipairs { "id", "origins", "enabled", "priority" } do
      local problem = helper.refusal(ebb.pipeline, { processors = { { id = "x", name = "X", execute = function() end,
        config_fields = { { key = key } } } } })
      assert.matches(("'%s' is there already"):format(key), problem.message, 1, true)
    end
  end)
end)
