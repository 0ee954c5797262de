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

  it("refuse a list without nodes", function()
    local chat = conversation "u1"
    assert.matches("needs at least one node", refusal(nodes.run, chat, { nodes = {}, edges = {} }).message, 1, true)
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

describe("types of a workflow's own", function()
  local TAG = [[return {
    name = "tag", summary = "pins messages that have a word",
    fields = { word = { type = "string", required = true, help = "what to look for" },
      last = { type = "integer", default = 1, min = 1 } },
    check = function(options) if #options.word < options.last then return "word is shorter than last" end end,
    run = function(chat, options)
      local count = 0
      for i = 1, #chat do
        if chat[i].text:find(options.word, 1, true) then chat:mark(i, "pinned") count = count + 1 end
      end
      if count == 0 then return nil, "no message has '" .. options.word .. "'" end
    end,
  }]]

  local function pinned(chat)
    local list = {}
    for i, message in ipairs(chat:marked "pinned") do list[i] = message.text end
    return table.concat(list, " ")
  end

  it("come from tables and files, besides the built-in ones", function()
    finally(helper.clean)
    local tag = assert(load(TAG))()
    local list = "return {" .. TAG:gsub("^return", "") .. "}"
    for _, source in ipairs { tag, helper.lua_file(TAG), helper.lua_file(list) } do
      local chat = conversation "u1 a2 u3"
      assert(nodes.run(chat, { types = { source }, nodes = {
        { type = "tag", word = "a2" }, { operation = "truncate", truncate = { keepLast = 2 } },
      } }))
      assert.equal("a2", pinned(chat))
    end
    assert.equal("pins messages that have a word", nodes.types({ types = { tag } }).tag.summary)
    assert.is_nil(nodes.types().tag)
  end)

  local TYPE = assert(load(TAG))()
  local function with(fields)
    local copy = {}
    for key, value in pairs(TYPE) do copy[key] = value end
    for key, value in pairs(fields) do copy[key] = value end
    return copy
  end

  local refused = {
    -- what it is, types, node, words, hint
    { "a missing field", { TYPE }, { type = "tag" }, "word is missing" },
    { "an unknown field", { TYPE }, { type = "tag", wrod = "x" }, "no option 'wrod'",
      "did you mean 'word'?" },
    { "a wrong value", { TYPE }, { type = "tag", word = "x", last = 0 }, "last" },
    { "what check refuses", { TYPE }, { type = "tag", word = "x", last = 2 },
      "node 1 (tag): tag: word is shorter than last" },
    { "an unknown type", { TYPE }, { type = "sing" },  "unknown type 'sing'",
      "convert, filter, loop, model, parallel, pipeline, save, script, tag, tool," },
    { "no type", { TYPE }, { word = "x" }, "has no type",
      "convert, filter, loop, model, parallel, pipeline, save, script, tag, tool," },
    { "a near type", { TYPE }, { type = "tga" }, "unknown type",
      "did you mean 'tag'?" },
    { "a name that is used", { with { name = "trim" } }, { type = "trim" }, "is there already" },
    { "a type twice", { TYPE, TYPE }, { type = "tag" }, "is there already" },
    { "a name in camelCase", { with { name = "tagAll" } }, { type = "tagAll" }, "snake_case" },
    { "no run", { { name = "x" } }, { type = "x" }, "run is missing" },
    { "a field of a type", { with { summery = "x" } }, { type = "tag" }, "unknown field", "did you mean" },
    { "a wrong declaration", { with { fields = { a = { type = "text" } } } }, { type = "tag" },
      "type 'tag': fields.a: type" },
    { "a field of every node", { with { fields = { id = { type = "string" } } } }, { type = "tag" }, "fields.id" },
    { "a missing file", { "no/such.lua" }, { type = "tag" }, "no/such.lua" },
    { "types that are no list", "tag.lua", { type = "tag" }, "expected a list" },
  }
  for _, case in ipairs(refused) do
    it("are refused: " .. case[1], function()
      local problem = refusal(nodes.run, conversation "u1", { types = case[2], nodes = { case[3] } })
      assert.matches(case[4], problem.message, 1, true)
      if case[5] then assert.matches(case[5], problem.hint, 1, true) end
    end)
  end

  it("are refused: a misspelt field of the workflow, a file that returns something else", function()
    assert.equal("did you mean 'types'?", refusal(nodes.check, { tpyes = {}, nodes = { { type = "tag" } } }).hint)
    finally(helper.clean)
    local problem = refusal(nodes.check, { types = { helper.lua_file "return 5" }, nodes = { { type = "tag" } } })
    assert.matches("expected a type of nodes or a list of them, the file returned number", problem.message, 1, true)
  end)

  it("end the run where they return nil and a reason, and so does a script", function()
    local done, problem = nodes.run(conversation "u1", { types = { TYPE }, nodes = { { type = "tag", word = "x" } } })
    assert.is_nil(done)
    assert.equal("node 1 (tag): no message has 'x'", problem.message)
    assert.equal("script", problem.code)
    done, problem = nodes.run(conversation "u1", { { type = "script", run = function() return nil, "no good" end } })
    assert.is_nil(done)
    assert.equal("node 1 (script): no good", problem.message)
    done, problem = nodes.run(conversation "u1 a2", { { type = "script", run = function(chat)
      return chat:trim { budget = 0 }
    end } })
    assert.is_nil(done)
    assert.equal("cannot_fit", problem.code)
    assert.is_true(nodes.run(conversation "u1", { { type = "script", run = function() return nil end } }))
  end)
end)

describe("mistakes in nodes", function()
  local ROWS = {
    { { type = "truncate", keepLast = 3 }, "node 1: unknown type 'truncate'",
      'operation = "truncate", truncate = { ... }' },
    { { type = "replase" }, "node 1: unknown type 'replase'", 'operation = "replace"' },
    { { type = "trimm" }, "node 1: unknown type 'trimm'", "did you mean 'trim'?" },
    { { type = "zzz" }, "node 1: unknown type 'zzz'", "one of: branch, check" },
    { { type = "trim", budget = "many" }, "node 1 (trim): budget: expected a whole number of tokens" },
    { { type = "trim", budget = "8.5" }, "node 1 (trim): budget: expected a whole number" },
    { { type = "branch", when = { token_over = 3 }, nodes = {} }, "node 1 (branch): when.token_over: unknown condition",
      "did you mean 'tokens_over'?" },
    { { type = "trim", budgt = 5 }, "node 1 (trim): a trim node has no option 'budgt'", "did you mean 'budget'?" },
  }
  for _, row in ipairs(ROWS) do
    it("are said once: " .. row[2], function()
      local problem = refusal(nodes.check, { row[1] })
      assert.equal(row[2], problem.message:sub(1, #row[2]))
      if row[3] then assert.matches(row[3], problem.hint, 1, true) end
    end)
  end

  it("are not the numbers of tokens that the command line takes", function()
    nodes.check { { type = "trim", budget = "8k", reserve = "1K" }, { type = "trim", budget = "1.5M" },
      { type = "branch", when = { tokens_over = "8k" }, nodes = { { type = "trim", budget = "500",
        ask = { model = "m", max_tokens = "1k" } } } } }
    local chat = conversation "s10 u20 a30 u5"
    assert(nodes.run(chat, { { type = "trim", budget = "0.045k" } }))
    assert.equal(45, chat:tokens())
  end)
end)

describe("files that a workflow names", function()
  local command = dofile "tests/lua/command.lua"
  before_each(function()
    command.make_folder()
    os.execute("mkdir " .. command.path_of "deep")
    command.file("deep/step.lua", "return function(chat) chat:truncate { keep_last = 3 } end")
    command.file("deep/keep.lua", "return function(message) return message.role ~= 'assistant' end")
    command.file("deep/all.lua",
      "return function(draft) for unit in draft:units { droppable = true } do draft:drop(unit) end end")
    command.file("deep/hum.lua", "return { name = 'hum', fields = { n = { type = 'integer', required = true } },"
      .. " run = function(chat, options) chat:append { role = 'user', content = 'hum ' .. options.n } end }")
  end)
  after_each(command.remove_folder)

  local NODES = [=[[{"type":"script","file":"step.lua"},{"type":"filter","filter":"keep.lua"},
    {"type":"hum","n":7},{"type":"trim","budget":16,"policy":["all.lua","keep_recent"]}]]=]

  it("lie next to its own file, in JSON, in Lua and in both faces", function()
    local json = command.file("deep/flow.json", ('{"types":["hum.lua"],"nodes":%s}'):format(NODES))
    local lua = command.file("deep/flow.lua", [[return { types = { "hum.lua" }, nodes = {
      { type = "script", file = "step.lua" }, { type = "filter", filter = "keep.lua" }, { type = "hum", n = 7 },
      { type = "trim", budget = 16, policy = { "all.lua", "keep_recent" } } } }]])
    for _, path in ipairs { json, lua } do
      local out = command.does(("run %s --input %s"):format(path, command.path_of "small.json"))
      assert.equal('[{"role":"user","content":"hum 7"}]', (out:gsub("\n%s*", "")))
      local chat = assert(helper.ebb.load(command.path_of "small.json"))
      assert(nodes.run(chat, assert(nodes.load(path))))
      assert.equal("hum 7", chat[#chat].text)
      assert.equal(1, #chat)
    end
  end)

  it("lie in the current folder where they are not next to it", function()
    local flow = command.file("flow.lua",
      'return { { type = "filter", filter = "scripts/filters/drop_tool_noise.lua" } }')
    command.does(("run %s --input %s"):format(flow, command.path_of "small.json"))
  end)

  it("are named in errors, with JSON's place", function()
    local flow = command.file("deep/flow.json", '{"types":["none.lua"],"nodes":[{"type":"hum"}]}')
    command.contains("none.lua", command.fails(command.IO, "run " .. flow))
    local broken = command.file("deep/broken.json", '{"nodes":[}')
    command.contains("broken.json:1:", command.fails(command.REFUSED, "run " .. broken))
    local problem = select(2, nodes.load(broken))
    assert.equal("syntax", problem.code)
    local object = command.file("deep/object.json", '{"steps":[]}')
    command.contains("expected a list of nodes", command.fails(command.REFUSED, "run " .. object))
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

  for _, name in ipairs { "agent", "windows" } do
    it(("the workflow %s, from its recording"):format(name), function()
      local command = dofile "tests/lua/command.lua"
      command.make_folder()
      finally(command.remove_folder)
      local path = "scripts/workflows/" .. name
      assert.equal(helper.read(path .. ".out.json"),
        (command.does(("run %s.lua %s.in.json --replay-model %s.jsonl"):format(path, path, path))))
    end)
  end

  it("the workflow chat, which summarizes what does not fit", function()
    local chat, asked = ebb.conversation { encoding = "cjk" }, {}
    for i = 1, 40 do
      chat:append { { role = "user", content = ("question %d: %s"):format(i, ("word "):rep(60)) },
        { role = "assistant", content = ("answer %d: %s"):format(i, ("word "):rep(60)) } }
    end
    chat:append { role = "user", content = "last?" }
    assert(nodes.run(chat, assert(nodes.load "scripts/workflows/chat.lua"), { model = function(request)
      asked[#asked + 1] = request
      return #asked == 1 and "They talked." or "Last."
    end }))
    assert.same({ 2, "[Summary of earlier messages]\nThey talked.", "Last." },
      { #asked, chat[1].text, chat[#chat].text })
    assert.truthy(chat:tokens() < 5000)
    assert.equal("last?", asked[2].messages[#asked[2].messages].content)
    local size = #chat
    assert(nodes.run(chat, assert(nodes.load "scripts/workflows/chat.lua"), { model = error }))
    assert.equal(size, #chat)          -- the model has spoken last
  end)

  it("the workflow nightly", function()
    local chat = assert(ebb.load "scripts/policies/agent.json")
    assert(nodes.run(chat, assert(nodes.load "scripts/workflows/nightly.lua")))
    assert.truthy(#chat > 0 and chat:tokens() <= 8000)
  end)

  it("the workflow tidy", function()
    compare("workflows/tidy", function(chat)
      assert(nodes.run(chat, assert(nodes.load "scripts/workflows/tidy.lua")))
    end)
  end)
end)
