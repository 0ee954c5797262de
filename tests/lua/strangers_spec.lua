--- Workflows in JSON, which may be a stranger's: what they may not name is refused wherever it is, before anything
--- runs; and to look at one runs nothing.

local helper = dofile "tests/lua/helper.lua"
local command = dofile "tests/lua/command.lua"
local nodes = require "ebb.workflow"

local file, path_of, contains = command.file, command.path_of, command.contains

--- Lua that leaves a trace where it has all rights, and fails where it has not.
local function mark() return ("os.execute('touch %s')"):format(path_of "RAN") end

local function has_run() return command.read(path_of "RAN") ~= nil end

--- A JSON text with RUN for source that leaves the trace.
local function flow(text) return file("w.json", (text:gsub("RUN", mark()))) end

before_each(function()
  command.make_folder()
  file("s.lua", mark() .. " return function(chat) " .. mark() .. " end")
  file("t.lua", mark() .. " return { name = 'evil', fields = { word = { type = 'string' } }, run = function() end }")
  file("tools.lua", mark() .. " return { name = 'x', run = function() end }")
  file("agent.json", '{"name": "A"}')
  file("p.lua", mark() .. " return { id = 'p', name = 'P', execute = function() end }")
end)
after_each(command.remove_folder)

--- Nodes that leave the sandbox, start a program, or send a secret away, and the field that is refused.
local NODES = {
  { '{"type":"filter","filter":"return function(m) RUN return true end","trusted":true}', "trusted" },
  { '{"type":"filter","filter":{"source":"RUN return function() return true end"},"trusted":true}', "trusted" },
  { '{"type":"filter","filter":"s.lua","trusted":true}', "trusted" },
  { '{"type":"trim","budget":1000,"policy":"return function(d) RUN end","trusted":true}', "trusted" },
  { '{"type":"trim","budget":9,"policy":["keep_recent",{"source":"RUN return function() end"}],"trusted":true}',
    "trusted" },
  { '{"type":"pipeline","processors":["p.lua"],"trusted":true}', "trusted" },
  { '{"type":"pipeline","agent":"agent.json","trusted":true}', "trusted" },
  { '{"type":"pipeline","agent":"agent.json","asset_root":"/etc"}', "asset_root" },
  { '{"type":"model","pipeline":{"processors":["p.lua"],"trusted":true}}', "pipeline.trusted" },
  { '{"type":"model","command":"touch RAN"}', "command" }, { '{"type":"model","base_url":"http://x"}', "base_url" },
  { '{"type":"model","key_env":"HOME"}', "key_env" },
  { '{"type":"trim","budget":9,"policy":"summarize","ask":{"command":"touch RAN"}}', "ask.command" },
  { '{"type":"trim","budget":9,"policy":"summarize","ask":{"base_url":"http://x"}}', "ask.base_url" },
  { '{"type":"trim","budget":9,"policy":"summarize","ask":{"pipeline":{"trusted":true}}}', "ask.pipeline.trusted" },
  { '{"type":"script","file":"s.lua","trusted":true}', "trusted" },
}

--- Places of a node. A script comes before it, which would have run.
local PLACES = {
  { "alone", "%s" }, { "in a list", '[{"type":"script","file":"s.lua"},%s]' },
  { "in a table with types", '{"types":["t.lua"],"nodes":[{"type":"evil"},%s]}' },
  { "in a loop", '[{"type":"loop","at_most":2,"nodes":[{"type":"script","file":"s.lua"},%s]}]' },
  { "in a branch", '[{"type":"branch","when":{"messages_over":0},"nodes":%s}]' },
  { "in the other part of a branch", '[{"type":"branch","when":"s.lua","otherwise":[%s]}]' },
  { "in parallel", '[{"type":"parallel","branches":[[{"type":"script","file":"s.lua"}],[%s]]}]' },
  { "in a loop of a branch", '[{"type":"branch","when":{"messages_over":0},"nodes":[{"type":"loop","nodes":[%s]}]}]' },
  { "in another file", '[{"type":"script","file":"s.lua"},{"type":"workflow","file":"inner.json"}]' },
}

describe("a workflow in JSON is refused before anything runs:", function()
  for _, place in ipairs(PLACES) do
    it("fields of nodes " .. place[1], function()
      for _, node in ipairs(NODES) do
        file("inner.json", "[" .. node[1]:gsub("RUN", mark()) .. "]")
        local path = flow(place[2]:format(node[1]))
        local problem = helper.refusal(nodes.run, helper.conversation "u1", assert(nodes.load(path)))
        assert.equal("forbidden", problem.code)
        contains(node[2] .. ": a workflow in JSON", problem.message)
        assert.is_false(has_run(), node[1])
      end
    end)
  end

  local TOOLS = {
    { '{"name":"x","command":"touch RAN"}', "tools[1].command" }, { '{"mcp":"touch RAN"}', "tools[1].mcp" },
    { '{"file":"tools.lua","trusted":true}', "tools[1].trusted" },
    { '{"name":"x","command":"true","env":["HOME"]}', "tools[1]." },
  }
  for _, row in ipairs(TOOLS) do
    it("tools, " .. row[2], function()
      local path = flow(('{"types":["t.lua"],"tools":[%s],"nodes":[{"type":"tool"}]}'):format(row[1]))
      contains(row[2], helper.refusal(nodes.run, helper.conversation "u1", assert(nodes.load(path))).message)
      assert.is_false(has_run())
    end)
  end

  it("by the commands run and each, and by looks", function()
    local path = flow(PLACES[4][2]:format(NODES[1][1]))
    local small = path_of "small.json"
    for _, words in ipairs { "run %s " .. small, "run %s --check", "run %s --graph svg",
      "each " .. small .. " --run %s --out " .. path_of "out" } do
      contains("w.json:1:", command.fails(command.REFUSED, words:format(path)))
      assert.is_false(has_run())
    end
  end)

  it("a file outside of its folder and the current one", function()
    file("secret.json", '{"name":"S"}')
    os.execute("mkdir " .. path_of "deep")
    os.execute(("ln -s ../secret.json %s"):format(path_of "deep/link.json"))
    os.execute(("ln -s .. %s"):format(path_of "deep/up"))
    for _, name in ipairs { "../secret.json", path_of "secret.json", "link.json", "up/secret.json" } do
      for _, node in ipairs { '{"type":"pipeline","agent":%q}', '{"type":"pipeline","model_config":%q}',
        '{"type":"pipeline","user_profile":%q}', '{"type":"model","pipeline":{"agent":%q}}',
        '{"type":"workflow","file":%q}' } do
        local path = file("deep/w.json", "[" .. node:format(name) .. "]")
        assert.equal("forbidden", helper.refusal(nodes.check, assert(nodes.load(path))).code, node .. name)
      end
    end
    for _, list in ipairs { '{"type":"pipeline","processors":["../p.lua"]}',
      '{"type":"pipeline","macros":["../p.lua"]}', '{"type":"pipeline","processors":["up"]}',
      '{"type":"pipeline","macros":[".."]}' } do
      local path = file("deep/w.json", "[" .. list .. "]")
      assert.equal("forbidden", helper.refusal(nodes.check, assert(nodes.load(path))).code, list)
    end
  end)
end)

describe("limits in a workflow in JSON", function()
  local MIB = 1024 * 1024
  local KEEP = "return function() return true end"

  --- Nodes with limits, and the field that has them.
  local LIMITED = {
    { '{"type":"trim","budget":100000,"policy":"return function(draft) end","limits":{%s}}', "" },
    { '{"type":"filter","filter":"' .. KEEP .. '","limits":{%s}}', "" },
    { '{"type":"pipeline","agent":"agent.json","limits":{%s}}', "" },
    { '{"type":"model","pipeline":{"agent":"agent.json","limits":{%s}}}', "pipeline" },
    { '{"type":"loop","at_most":1,"nodes":[{"type":"filter","filter":"' .. KEEP .. '","limits":{%s}}]}', "" },
    { '{"type":"branch","when":{"messages_over":0},"nodes":[{"type":"filter","filter":"' .. KEEP
      .. '","limits":{%s}}]}', "" },
    -- all else of this pipeline is checked when it is asked
    { '{"type":"trim","budget":9,"policy":"summarize","ask":{"pipeline":{"limits":{%s}}}}', "ask.pipeline" },
  }
  local VALUES = {
    -- limit      value                refusal; nil: it is taken
    { "fuel",     "0",                 "only lowers limits: expected more than 0 and at most 200000000, got 0" },
    { "fuel",     "0.0",               "only lowers limits" },
    { "fuel",     "-0.0",              "only lowers limits" },
    { "fuel",     "-1",                "expected a whole number" },
    { "fuel",     "0.5",               "expected a whole number" },
    { "fuel",     "200000001",         "at most 200000000, got 200000001" },
    { "fuel",     "1e300",             "only lowers limits" },
    { "fuel",     "null",              "expected a whole number" },
    { "fuel",     '"5"',               "expected a whole number" },
    { "fuel",     "200000000",         nil },
    { "deadline", "0",                 "only lowers limits: expected more than 0 and at most 2000, got 0" },
    { "deadline", "-1",                "expected a number of milliseconds" },
    { "deadline", "2000.5",            "at most 2000, got 2000.5" },
    { "deadline", "1e15",              "only lowers limits" },
    { "deadline", "2000",              nil },
    { "deadline", "1999.5",            nil },
    { "memory",   "0",                 "only lowers limits" },
    { "memory",   "-1",                "expected a whole number of bytes" },
    { "memory",   "1048576.5",         "expected a whole number of bytes" },
    { "memory",   tostring(MIB - 1),   "expected a whole number of bytes" },
    { "memory",   tostring(64 * MIB + 1), "at most 67108864" },
    { "memory",   tostring(64 * MIB),  nil },
  }

  for _, row in ipairs(VALUES) do
    local name, value, expected = table.unpack(row)
    it(("are %s: %s %s"):format(expected and "refused" or "taken", name, value), function()
      for i, node in ipairs(LIMITED) do
        if i == #LIMITED and expected and not expected:find "at most" and not expected:find "lowers" then return end
        local text = node[1]:format(('"%s":%s'):format(name, value))
        local path = flow('[{"type":"script","file":"s.lua"},' .. text .. "]")
        local run = command.ebb(("run %s --check"):format(path))
        assert.equal(expected and command.REFUSED or 0, run.status, node[1] .. run.err)
        if expected then
          contains("w.json:1:", run.err)
          contains(node[2], run.err)
          contains("limits." .. name .. ": ", run.err)
          contains(expected, run.err)
          assert.equal(command.REFUSED, command.ebb(("run %s %s"):format(path, path_of "small.json")).status)
          assert.is_false(has_run())
        end
      end
    end)
  end

  it("are refused of tools, too", function()
    file("good.lua", "return { name = 'x', description = 'd', run = function() return 'r' end }")
    for value, taken in pairs { ["0"] = false, ["300000000"] = false, ["1000"] = true } do
      local tools = '{"tools":[{"file":"good.lua","limits":{"fuel":%s}}],"nodes":[{"type":"tool"}]}'
      local path = flow(tools:format(value))
      local run = command.ebb(("run %s --check"):format(path))
      assert.equal(taken, run.status == 0, run.err)
      if not taken then contains("tools[1].limits.fuel: a workflow in JSON only lowers limits", run.err) end
    end
  end)

  it("stop a script for which 0 was asked", function()
    local endless = '[{"type":"filter","filter":"return function() while true do end end"%s}]'
    contains("only lowers limits", command.fails(command.REFUSED, ("run %s %s"):format(
      flow(endless:format ',"limits":{"fuel":0,"deadline":0}'), path_of "small.json")))
    contains("stopped: ", command.ebb(("run %s %s"):format(flow(endless:format ""), path_of "small.json")).err)
  end)

  it("may be none in Lua", function()
    local filter = { type = "filter", filter = KEEP, limits = { fuel = 0, deadline = 0 } }
    assert(nodes.run(helper.conversation "u1", { filter }))
  end)
end)

describe("a workflow in JSON", function()
  it("names files next to it, and false is no power", function()
    file("keep.lua", "return function() return true end")
    file("inner.json", '[{"type":"filter","filter":"keep.lua","trusted":false}]')
    local path = flow('[{"type":"workflow","file":"inner.json"},'
      .. '{"type":"pipeline","agent":"agent.json","model_config":{"model":"gpt-4o"}}]')
    command.does(("run %s %s"):format(path, path_of "small.json"))
  end)

  it("may give a type of its own any fields", function()
    file("t.lua", "return { name = 'own', fields = { command = { type = 'string' }, trusted = { type = 'boolean' } }, "
      .. "run = function() end }")
    local path = flow '{"types":["t.lua"],"nodes":[{"type":"own","command":"x","trusted":true}]}'
    command.does(("run %s %s"):format(path, path_of "small.json"))
  end)
end)

describe("a look at a workflow in JSON runs nothing:", function()
  local LOOKS = {
    { "a script", '[{"type":"script","file":"s.lua"}]' }, { "types", '{"types":["t.lua"],"nodes":[{"type":"evil"}]}' },
    { "conditions", '[{"type":"branch","when":"s.lua","nodes":[{"type":"check"}]}]' },
    { "a stop of a loop", '[{"type":"loop","stop_when":"s.lua","nodes":[{"type":"check"}]}]' },
    { "a choice", '{"nodes":[{"id":"a","type":"branch","choose":"s.lua"}],"edges":[["a","end"]]}', "when" },
    { "a workflow in Lua", '[{"type":"workflow","file":"s.lua"}]' },
    { "a script of another file", '[{"type":"workflow","file":"inner.json"}]' },
    { "a policy", '[{"type":"trim","budget":9,"policy":"return function() end"}]' },
    { "a policy that leaves traces", '[{"type":"trim","budget":9,"policy":"RUN return function() end"}]', "os" },
    { "a filter that leaves traces", '[{"type":"filter","filter":"s.lua"}]', "os" },
    { "tools", '{"tools":[{"file":"tools.lua"}],"nodes":[{"type":"tool"}]}', "os" },
    { "processors", '[{"type":"pipeline","processors":["p.lua"]}]', "os" },
    { "macros", '[{"type":"pipeline","macros":["p.lua"]}]', "os" },
  }
  for _, row in ipairs(LOOKS) do
    it(row[1], function()
      file("inner.json", '[{"type":"script","file":"s.lua"}]')
      local path = flow(row[2])
      for _, option in ipairs { "--check", "--graph dot", "--graph svg" } do
        local run = command.ebb(("run %s %s"):format(path, option))
        assert.equal(row[3] == nil, run.status == 0, run.err)
        if row[3] then contains(row[3], run.err) end
        assert.is_false(has_run())
      end
      for _, call in ipairs { nodes.check, nodes.draw } do
        pcall(call, assert(nodes.load(path)))
        assert.is_false(has_run())
      end
    end)
  end

  it("types that need no more than a sandbox are known, with their fields", function()
    file("t.lua", [[local words = { "a", "b" }
      return { { name = "own", run = function() end,
        fields = { word = { type = "choice", choices = words }, n = { type = "integer", min = 2 } },
        check = function(options) if options.word == "b" then return "b is not allowed" end end } }]])
    local function check(node)
      return command.ebb(("run %s --check"):format(flow(('{"types":["t.lua"],"nodes":[%s]}'):format(node))))
    end
    assert.equal(0, check '{"type":"own","word":"a","n":2}'.status)
    assert.equal("", check '{"type":"own","word":"a"}'.err)
    contains("n: ", check '{"type":"own","n":1}'.err)
    contains("word: ", check '{"type":"own","word":"c"}'.err)
    contains("b is not allowed", check '{"type":"own","word":"b"}'.err)
    contains("unknown type 'owm'", check '{"type":"owm"}'.err)
  end)

  it("what is not checked is said", function()
    local _, err = command.does(("run %s --check"):format(flow '{"types":["t.lua"],"nodes":[{"type":"evil","x":1}]}'))
    contains("warning: not checked: its types, for it needs more than a sandbox has: " .. path_of "t.lua:1:", err)
    _, err = command.does(("run %s --check"):format(flow '[{"type":"workflow","file":"s.lua"}]'))
    contains("s.lua: the nodes of a workflow in Lua", err)
  end)

  it("files that are no Lua, and those that do not exist, are found", function()
    file("s.lua", "return = 1")
    for _, node in ipairs { '{"type":"script","file":"s.lua"}', '{"type":"workflow","file":"s.lua"}',
      '{"type":"branch","when":"s.lua","nodes":[{"type":"check"}]}' } do
      contains("s.lua:1: unexpected symbol", command.ebb(("run %s --check"):format(flow("[" .. node .. "]"))).err)
      contains("there is no such file", command.ebb(("run %s --check"):format(flow("[" .. node:gsub("s.lua", "none.lua")
        .. "]"))).err)
    end
  end)

  it("and afterwards it runs as the user's own", function()
    command.does(("run %s %s"):format(flow '[{"type":"script","file":"s.lua"}]', path_of "small.json"))
    assert.is_true(has_run())
  end)
end)

describe("the loops of a workflow in JSON", function()
  local BOUND = "all loops of a workflow in JSON have taken 10000 rounds"

  local function loop(inner, at_most)
    return ('{"type":"loop","at_most":%d,"on_limit":"go_on","nodes":[%s]}'):format(at_most or 10000, inner)
  end
  local CHECK = '{"type":"check"}'

  local ROWS = {
    { "in one another", "[" .. loop(loop(loop(CHECK))) .. "]" },
    { "behind one another", "[" .. loop(CHECK, 6000) .. "," .. loop(CHECK, 6000) .. "]" },
    { "in another file", "[" .. loop('{"type":"workflow","file":"inner.json"}') .. "]" },
    { "with a graph in another file", "[" .. loop('{"type":"workflow","file":"graph.json"}') .. "]" },
    { "in parallel", ('[{"type":"parallel","branches":[[%s],[%s]]}]'):format(loop(CHECK, 6000), loop(CHECK, 6000)) },
    { "with parallel in them", "[" .. loop(('{"type":"parallel","branches":[[%s],[%s]]}'):format(loop(CHECK, 3000),
      loop(CHECK, 3000)), 3) .. "]" },
  }

  for _, row in ipairs(ROWS) do
    it("share one bound: " .. row[1], function()
      file("inner.json", "[" .. loop(CHECK, 300) .. "]")
      file("graph.json", '{"nodes":[{"id":"a","type":"check"},{"id":"b","type":"branch","when":{"messages_over":0}}],'
        .. '"edges":[["a","b"],{"from":"b","to":"a","when":false},{"from":"b","to":"end","when":true}]}')
      contains(BOUND, command.fails(command.REFUSED, ("run %s %s"):format(flow(row[2]), path_of "small.json")))
    end)
  end

  it("do so in Lua, too, where a program loads them, and not those of a workflow in Lua", function()
    local done, problem = nodes.run(helper.conversation "u1", assert(nodes.load(flow(ROWS[2][2]))))
    assert.is_nil(done)
    assert.equal("limit", problem.code)
    contains(BOUND, problem.message)
    local check = { type = "check" }
    assert(nodes.run(helper.conversation "u1", { { type = "loop", at_most = 200, nodes = {
      { type = "loop", at_most = 100, nodes = { check } } } } }))
  end)

  it("may be many that stay below it", function()
    command.does(("run %s %s"):format(flow("[" .. loop(loop(CHECK, 98), 100) .. "]"), path_of "small.json"))
  end)

  it("are named by ebb limits", function()
    contains("rounds of all loops and nodes of all graphs, in JSON", (command.does "limits"))
  end)
end)
