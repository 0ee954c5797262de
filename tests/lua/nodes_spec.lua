--- Lists of nodes: checked before any runs, run in order.

local helper = dofile "tests/lua/helper.lua"
local conversation, texts, refusal = helper.conversation, helper.texts, helper.refusal
local nodes = require "ebb.workflow"

describe("nodes", function()
  it("run in order, each its own batch", function()
    local chat = conversation "u1 c2(x) r3(x) a4 u5"
    assert(nodes.run(chat, {
      { operation = "insert", insert = { position = 0, messages = { { role = "system", content = "s1" } } } },
      { type = "context_processor", operation = "insert",
        insert = { position = -1, messages = { { role = "user", content = "u9" } } } },
      { type = "filter", filter = function(message) return message.content ~= "a4" end },
      { type = "script", run = function(c) c:mark(2, "pinned") end },
      { type = "trim", budget = chat:tokens() + 1 },
      { operation = "truncate", truncate = { keepFirst = 3 } },
    }))
    assert.equal("s1 u1 u5", texts(chat))
  end)

  it("may be a workflow, a single node, or conditions", function()
    local chat = conversation "u1 a2 u3"
    assert(nodes.run(chat, { name = "flow", nodes = { { operation = "truncate", truncate = { keepLast = 2 } } } }))
    assert(nodes.run(chat, { operation = "truncate", truncate = { keepLast = 2 } }))
    assert(nodes.run(chat, { { type = "filter", filter = { roles = { "user" } } } }))
    assert.equal("u3", texts(chat))
  end)

  local refused = {
    { "an unknown type",       { type = "trimm" },                                      "did you mean 'trim'?" },
    { "no type",               { budget = 5 },                                          nil },
    { "an unknown operation",  { operation = "trunkate" },                              "did you mean 'truncate'?" },
    { "a wrong field",         { operation = "truncate", truncate = { keepLst = 1 } },  "did you mean 'keepLast'?" },
    { "a trim's option",       { type = "trim", bugdet = 5 },                           "did you mean 'budget'?" },
    { "a policy's option",     { type = "trim", policy = { "keep_recent", kep = 1 } },  "did you mean 'keep'?" },
    { "a script without run",  { type = "script" },                                     nil },
    { "a filter without one",  { type = "filter" },                                     nil },
  }
  for _, case in ipairs(refused) do
    it("refuse " .. case[1] .. " before anything runs", function()
      local chat, ran = conversation "u1 a2 u3", false
      local list = { { type = "script", run = function() ran = true end }, case[2] }
      local problem = refusal(nodes.run, chat, list)
      assert.truthy(tostring(problem):find("node 2", 1, true), tostring(problem))
      if case[3] then assert.equal(case[3], problem.hint) end
      assert.is_false(ran)
    end)
  end

  it("refuse edges, and a list without nodes", function()
    local chat = conversation "u1"
    assert.truthy(tostring(refusal(nodes.run, chat, { nodes = {}, edges = {} })):find "not available yet")
    assert.equal("argument", refusal(nodes.run, chat, {}).code)
  end)

  it("that fail are named, with the code", function()
    local chat = conversation "s9 u1 a2 u3"
    local done, why, code = helper.outcome(nodes.run(chat, { { operation = "clear" }, { type = "trim", budget = 1 } }))
    assert.is_nil(done)
    assert.equal("cannot_fit", code)
    assert.truthy(why:find("node 2 (trim): ", 1, true))
    done, why, code = helper.outcome(nodes.run(chat, { { type = "script", run = function() error "oops" end } }))
    assert.is_nil(done)
    assert.truthy(why:find("node 1 %(script%): .*nodes_spec.lua:%d+: oops"), why)
    assert.equal("script", code)
    done, why, code = helper.outcome(nodes.run(chat, { { operation = "replace", replace = { index = 99,
      message = { role = "user", content = "x" } } } }))
    assert.is_nil(done)
    assert.equal("out_of_range", code)
    assert.truthy(why:find("node 1 (context_processor)", 1, true), why)
  end)
end)

describe("examples in scripts/", function()
  local ebb = helper.ebb

  local function compare(name, run)
    local chat = assert(ebb.load(("scripts/%s.in.json"):format(name)))
    run(chat)
    assert.equal(helper.read(("scripts/%s.out.json"):format(name)), chat:json())
  end

  it("the policy shrink_tools", function()
    compare("policies/shrink_tools", function(chat)
      assert(chat:trim { budget = 220, policy = { "scripts/policies/shrink_tools.lua", recent = 2 } })
    end)
  end)

  it("the filter drop_tool_noise", function()
    compare("filters/drop_tool_noise", function(chat) chat:filter "scripts/filters/drop_tool_noise.lua" end)
  end)

  it("the workflow tidy", function()
    compare("workflows/tidy", function(chat)
      assert(nodes.run(chat, assert(nodes.load "scripts/workflows/tidy.lua")))
    end)
  end)
end)
