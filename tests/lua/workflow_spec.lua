-- luacheck: ignore 631 (rows and answers of providers stay whole)
--- Workflows: the types of nodes, graphs, and what is refused before anything runs.

local helper = dofile "tests/lua/helper.lua"
local conversation, texts, refusal = helper.conversation, helper.texts, helper.refusal
local core = require "ebb.support.core"
local ebb = helper.ebb
local nodes = require "ebb.workflow"

--- A script node that appends a text.
local function says(text)
  return { type = "script", run = function(chat) chat:append { role = "user", content = text } end }
end

local function plain()
  return ebb.conversation { encoding = "cjk", messages = { { role = "user", content = "u1" } } }
end

--- A model that answers from a list, and keeps what it was asked.
local function model(answers)
  local asked = {}
  return function(request)
    asked[#asked + 1] = request
    return answers[#asked]
  end, asked
end

local function call(id, name, arguments)
  return { choices = { { finish_reason = "tool_calls", message = { role = "assistant", content = core.json.null,
    tool_calls = { { id = id, type = "function", ["function"] = { name = name, arguments = arguments } } } } } } }
end

local ADD = { name = "add", description = "Adds numbers.", parameters = "a:number, b:number",
  run = function(arguments) return arguments.a + arguments.b end }

local LOOP = { type = "loop", stop_when = { answered = true }, at_most = 4,
  nodes = { { type = "model", model = "gpt-4o" }, { type = "tool" } } }

describe("a branch", function()
  local function run(node, words)
    local chat = conversation(words or "u1 a2 u3")
    assert(nodes.run(chat, { node }))
    return texts(chat)
  end

  it("runs one list or the other", function()
    local yes, no = { says "yes" }, { says "no" }
    assert.equal("u1 a2 u3 yes", run { type = "branch", when = { messages_over = 2 }, nodes = yes, otherwise = no })
    assert.equal("u1 a2 u3 no", run { type = "branch", when = { messages_over = 3 }, nodes = yes, otherwise = no })
    assert.equal("u1 a2 u3", run { type = "branch", when = { messages_over = 3 }, nodes = yes })
    assert.equal("u1 a2 u3 no", run { type = "branch", when = function() return nil end, otherwise = no })
    assert.equal("u1 a2 u3 yes", run { type = "branch", when = function(chat) return #chat == 3 end, nodes = says "yes" })
  end)

  local conditions = {
    -- condition, conversation, holds
    { { tokens_over = 1 }, "u3", true }, { { tokens_over = 10000 }, "u1", false },
    { { messages_over = 0 }, "u1", true }, { { last_role = "user" }, "a1 u2", true },
    { { last_role = "assistant" }, "a1 u2", false }, { { last_contains = "2" }, "a1 u2", true },
    { { last_contains = "1" }, "a1 u2", false }, { { calls = true }, "u1 c2(x)", true },
    { { calls = true }, "u1 c2(x) r3(x)", false }, { { calls = false }, "u1 c2(x) r3(x)", true },
    { { answered = true }, "u1 a2", true }, { { answered = true }, "u1 c2(x)", false },
    { { answered = true }, "u1", false }, { { answered = false }, "u1", true },
    { { messages_over = 0, last_role = "tool" }, "u1", false },
  }
  for i, case in ipairs(conditions) do
    it(("has condition %d"):format(i), function()
      local after = run({ type = "branch", when = case[1], nodes = { says "yes" } }, case[2])
      assert.equal(case[3], after:find "yes$" ~= nil)
    end)
  end
end)

describe("a loop", function()
  it("ends when its condition holds, or after a number of rounds", function()
    local chat = conversation "u1"
    assert(nodes.run(chat, { { type = "loop", stop_when = { messages_over = 3 }, nodes = { says "x" } } }))
    assert.equal("u1 x x x", texts(chat))
    chat = conversation "u1"
    assert(nodes.run(chat, { { type = "loop", at_most = 2, nodes = { says "x" } } }))
    assert.equal("u1 x x", texts(chat))
    chat = conversation "u1"
    local loop = { type = "loop", at_most = 2, stop_when = { messages_over = 9 }, nodes = { says "x" } }
    local done, problem = nodes.run(chat, { loop })
    assert.same({ nil, "limit" }, { done, problem.code })
    assert.matches("node 1 %(loop%): stop_when does not hold after 2 rounds", problem.message)
    done, problem = nodes.run(conversation "u1", { { type = "loop", stop_when = function() error "oops" end,
      nodes = { says "x" } } })
    assert.is_nil(done)
    assert.matches("node 1 %(loop%): .*workflow_spec.lua:%d+: oops", problem.message)
    loop.on_limit = "go_on"
    assert(nodes.run(conversation "u1", { loop }))
  end)
end)

describe("parallel nodes", function()
  it("work on copies, and what they append comes together in order", function()
    local chat = conversation "u1 a2"
    local cut = { operation = "truncate", truncate = { keepLast = 1 } }
    assert(nodes.run(chat, { { type = "parallel", branches = { { cut, says "one" }, { says "two", says "three" } } } }))
    assert.equal("u1 a2 one two three", texts(chat))
    local seen
    assert(nodes.run(chat, { { type = "parallel", branches = { { says "4" }, { says "5" } },
      join = function(_, lists) seen = lists end } }))
    assert.equal(5, #chat)
    assert.matches('"4"', seen[1])
    local done, problem = nodes.run(chat, { { type = "parallel",
      branches = { { says "6" }, { { type = "script", run = function() error "no" end } } } } })
    assert.is_nil(done)
    assert.matches("^node 1%.branches%[2%]%[1%] %(script%): ", problem.message)
    assert.equal(5, #chat)
  end)
end)

describe("check, convert, save, pipeline, workflow", function()
  local command = dofile "tests/lua/command.lua"
  before_each(command.make_folder)
  after_each(command.remove_folder)

  it("check ends the run where a provider refuses", function()
    assert(nodes.run(conversation "u1 c2(x) r3(x)", { { type = "check" } }))
    local done, problem = nodes.run(conversation "u1 c2(x) a3", { { type = "check", dialect = "openai" } })
    assert.same({ nil, "refused" }, { done, problem.code })
    assert.matches("openai refuses this: message 2", problem.message, 1, true)
    assert.truthy(problem.hint)
  end)

  it("convert goes on with another conversation, save writes it, and the next node sees it", function()
    local seen
    local chat = conversation "s9 u1 c2(x) r3(x)"
    local done, result = nodes.run(chat, {
      { type = "convert", to = "anthropic", shape = "body", model = "claude-sonnet-4-5" },
      { type = "save", file = command.path_of "step.json" },
      { type = "script", run = function(now) seen = now:dialect() end },
    })
    assert.is_true(done)
    assert.same({ "anthropic", "anthropic", "openai" }, { seen, result:dialect(), chat:dialect() })
    local saved = core.json.decode(command.read(command.path_of "step.json"))
    assert.equal("claude-sonnet-4-5", saved.model)
    assert.equal("tool_use", saved.messages[2].content[2].type)
  end)

  it("convert may refuse what would be left out", function()
    local chat = assert(ebb.parse('[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"YQ==",'
      .. '"format":"wav"}},{"type":"text","text":"x"}]}]'))
    assert(nodes.run(chat, { { type = "convert", to = "anthropic" } }))
    local done, problem = nodes.run(chat, { { type = "convert", to = "anthropic", strict = true } })
    assert.same({ nil, "refused" }, { done, problem.code })
  end)

  it("pipeline makes it the request of an agent", function()
    local done, result = nodes.run(plain(), { { type = "pipeline", agent = { name = "A",
      presets = { { role = "system", content = "Be A." }, { type = "chat_history" } } } } })
    assert.is_true(done)
    assert.equal("Be A. u1", texts(result))
  end)

  it("workflow runs another file, which may not name itself", function()
    command.file("inner.lua", "return { { operation = 'truncate', truncate = { keepLast = 1 } } }")
    local chat = conversation "u1 u2"
    assert(nodes.run(chat, { folder = command.folder, nodes = { { type = "workflow", file = "inner.lua" } } }))
    assert.equal("u2", texts(chat))
    command.file("self.lua", "return { { type = 'workflow', file = 'self.lua' } }")
    local problem = refusal(nodes.check, { folder = command.folder, nodes = { { type = "workflow", file = "self.lua" } } })
    assert.equal("limit", problem.code)
  end)
end)

describe("a model with tools", function()
  it("calls them until it answers", function()
    local ask, asked = model { call("c1", "add", '{"a":2,"b":3}'), "It is 5." }
    local chat = plain()
    assert(nodes.run(chat, { tools = { ADD }, nodes = { LOOP } }, { model = ask }))
    assert.same({ "add", "5", "It is 5.", 4 }, { chat[2].calls[1].name, chat[3].text, chat[4].text, #chat })
    assert.equal("add", asked[1].tools[1]["function"].name)
    assert.same({ "a", "b" }, asked[1].tools[1]["function"].parameters.required)
    assert.equal("gpt-4o", asked[1].model)
    assert.equal("c1", chat[3].answers[1])
    assert.same({}, (chat:check "openai"))
  end)

  local wrong = {
    -- name, arguments, what the model reads
    { "ad", "{}", "there is no tool 'ad' (did you mean 'add'?)" },
    { "add", "{", "its arguments are not JSON" },
    { "add", "[1]", "its arguments are no JSON object" },
    { "add", '{"a":"x","b":1}', 'params.a must be number, not "x"' },
    { "add", '{"a":1}', "params.b is required" },
    { "fails", "{}", "workflow_spec.lua" },
    { "refuses", "{}", "error: not today" },
    { "long", "{}", "bytes are left out" },
  }
  local MORE = { ADD, { name = "fails", run = function() error "oops" end },
    { name = "refuses", run = function() return nil, "not today" end },
    { name = "long", result_bytes = 100, run = function() return ("é"):rep(1000) end } }
  for _, case in ipairs(wrong) do
    it("reads what is wrong with " .. case[1] .. " " .. case[2], function()
      local chat = plain()
      assert(nodes.run(chat, { tools = MORE, nodes = { LOOP } }, { model = (model { call("c", case[1], case[2]), "ok" }) }))
      assert.matches(case[3], chat[3].text, 1, true)
      assert.equal("ok", chat[4].text)
      assert.truthy(utf8.len(chat[3].text))
    end)
  end

  it("may call a number of tools, and only some", function()
    local many = call("c1", "add", '{"a":1,"b":1}')
    local list = many.choices[1].message.tool_calls
    list[2] = { id = "c2", type = "function", ["function"] = { name = "add", arguments = '{"a":2,"b":2}' } }
    local chat = plain()
    assert(nodes.run(chat, { tools = { ADD }, nodes = { { type = "model", model = "gpt-4o" }, { type = "tool", at_most = 1 } } },
      { model = (model { many }) }))
    assert.equal("2", chat[3].text)
    assert.matches("at most 1 calls", chat[4].text)
    chat = plain()
    local done, problem = nodes.run(chat, { tools = { ADD }, nodes = { { type = "model", model = "gpt-4o" },
      { type = "tool", only = { "other" }, on_error = "fail" } } }, { model = (model { many }) })
    assert.same({ nil, "node 2 (tool): add: the tool 'add' cannot be called now" }, { done, problem.message })
  end)

  it("gets tools from a sandboxed file, which has no files and little fuel", function()
    finally(helper.clean)
    local file = helper.lua_file [[return {
      { name = "up", parameters = "text:string", run = function(arguments) return arguments.text:upper() end },
      { name = "peek", run = function() return tostring(io) end },
      { name = "loops", run = function() while true do end end } }]]
    local ask = model { call("1", "up", '{"text":"abc"}'), call("2", "peek", "{}"), call("3", "loops", "{}"), "done" }
    local chat = plain()
    assert(nodes.run(chat, { tools = { { file = file, limits = { fuel = 200000 } } }, nodes = { LOOP } }, { model = ask }))
    assert.equal("ABC", chat[3].text)
    assert.equal("nil", chat[5].text)
    assert.matches("error: .*stopped: it used up its fuel", chat[7].text)
  end)

  it("asks for what a trim has left out, by its handle", function()
    local chat, asked = plain(), {}
    for i = 1, 30 do
      chat:append { { role = "user", content = ("question %d "):format(i):rep(9) },
        { role = "assistant", content = ("the answer is %d "):format(i * 31):rep(9) } }
    end
    chat:append { role = "user", content = "What was the first answer?" }
    local function ask(request)
      asked[#asked + 1] = request
      if #asked > 1 then return "It was 31." end
      local name = ebb.json.encode(request.messages):match "recall (r%d+%-%d+)"
      return call("c1", "recall", ebb.json.encode { name = name })
    end
    local trim = { type = "trim", budget = 500, policy = { "digest", recall = true } }

    assert(nodes.run(chat, { tools = { { recall = true, tokens = 300 } }, nodes = { trim, LOOP } }, { model = ask }))

    assert.equal("recall", asked[1].tools[1]["function"].name)
    assert.same({ "name" }, asked[1].tools[1]["function"].parameters.required)
    assert.matches("the answer is 31 ", chat[#chat - 1].text, 1, true)
    assert.matches("tokens left out: recall r", chat[#chat - 1].text, 1, true)      -- of the rest
    assert.is_true(chat[#chat - 1].tokens <= 400, chat[#chat - 1].tokens)
    assert.equal("It was 31.", chat[#chat].text)
  end)

  it("reads what is wrong with a handle", function()
    for arguments, problem in pairs { ['{"name":"r9-8"}'] = "no handle has the name 'r9-8'", ["{}"] = 'expected {"name"',
      ['{"name":"r900"}'] = "nothing is stored under 'r900'" } do
      local chat = plain()
      assert(nodes.run(chat, { tools = { { recall = true } }, nodes = { LOOP } },
        { model = (model { call("c", "recall", arguments), "ok" }) }))
      assert.matches("error: " .. problem, chat[3].text, 1, true)
    end
    assert.matches("tokens does not go with run", refusal(nodes.check,
      { tools = { { name = "a", run = print, tokens = 5 } }, nodes = { LOOP } }).message, 1, true)
    assert.matches("run and recall do not go together", refusal(nodes.check,
      { tools = { { name = "a", run = print, recall = true } }, nodes = { LOOP } }).message, 1, true)
  end)

  it("answers in the conversation's own form, whatever the model speaks", function()
    local chat = assert(ebb.parse('{"model":"claude-sonnet-4-5","max_tokens":9,"system":"S","messages":[{"role":"user",'
      .. '"content":[{"type":"text","text":"u1"}]}]}'))
    assert(nodes.run(chat, { tools = { ADD }, nodes = { LOOP } },
      { model = (model { call("toolu_1", "add", '{"a":2,"b":3}'), "It is 5." }) }))
    local body = core.json.decode(chat:json())
    assert.equal("anthropic", chat:dialect())
    assert.same({ "tool_use", "tool_result" }, { body.messages[2].content[1].type, body.messages[3].content[1].type })
    assert.equal("5", body.messages[3].content[1].content)
    assert.same({}, (chat:check "anthropic"))
  end)

  it("has no answer: nothing is appended", function()
    for _, answer in ipairs { "", { choices = {} }, { error = { message = "no money" } }, 5 } do
      local chat = plain()
      local done, problem = nodes.run(chat, { { type = "model", model = "gpt-4o" } }, { model = (model { answer }) })
      assert.same({ nil, "model", 1 }, { done, problem.code, #chat })
    end
    local done, problem = nodes.run(plain(), { { type = "model", model = "gpt-4o" } })
    assert.is_nil(done)
    assert.matches("there is no model to ask", problem.message, 1, true)
  end)

  it("is sent what a pipeline makes, while the conversation stays", function()
    local ask, asked = model { "hello" }
    local chat = plain()
    assert(nodes.run(chat, { { type = "model", model = "gpt-4o", max_tokens = 7, temperature = 0.5, request = { seed = 3 },
      pipeline = { agent = { name = "A", presets = { { role = "system", content = "Be A." }, { type = "chat_history" } } } } } },
      { model = ask }))
    assert.equal("u1 hello", texts(chat))
    assert.equal("Be A.", asked[1].messages[1].content)
    assert.same({ 7, 0.5, 3 }, { asked[1].max_completion_tokens, asked[1].temperature, asked[1].seed })
  end)
end)

describe("a graph", function()
  it("follows its edges", function()
    local chat = conversation "u1"
    assert(nodes.run(chat, {
      nodes = {
        { id = "b", type = "script", run = says("b").run }, { id = "a", type = "script", run = says("a").run },
        { id = "more", type = "branch", when = { messages_over = 6 } }, { id = "last", type = "script", run = says("z").run },
      },
      edges = { { "a", "b" }, { "b", "more" }, { "more", "a", when = false }, { from = "more", to = "last", when = true } },
      start = "a",
    }))
    assert.equal("u1 a b a b a b z", texts(chat))
  end)

  it("follows the edge that a function names", function()
    local flow = {
      nodes = { { id = "pick", type = "branch", choose = function(chat) return chat[1].text end },
        { id = "one", type = "script", run = says("1").run } },
      edges = { { "pick", "one", when = "u1" }, { "pick", "end", when = "u2" } },
    }
    local chat = conversation "u1"
    assert(nodes.run(chat, flow))
    assert.equal("u1 1", texts(chat))
    assert(nodes.run(conversation "u2", flow))
    local done, problem = nodes.run(conversation "u3", flow)
    assert.is_nil(done)
    assert.equal("node 1 'pick' (branch): no edge leads on for 'u3'", problem.message)
    assert.equal("one of: u1, u2", problem.hint)
  end)

  it("that never ends is stopped", function()
    local flow = { nodes = { { id = "a", type = "branch", when = function() return true end } },
      edges = { { "a", "a", when = true }, { "a", "end", when = false } } }
    local done, problem = nodes.run(conversation "u1", flow)
    assert.same({ nil, "limit" }, { done, problem.code })
  end)
end)

describe("a step", function()
  it("is told with what changed", function()
    local steps = {}
    local chat = conversation "u1 a2 u3"
    assert(nodes.run(chat, { { type = "loop", at_most = 1, nodes = { says "x" } },
      { type = "trim", budget = chat:tokens() } }, { on_step = function(entry) steps[#steps + 1] = entry end }))
    assert.same({ "node 1.nodes[1] (script)", "node 1 (loop)", "node 2 (trim)" },
      { steps[1].node, steps[2].node, steps[3].node })
    assert.same({ 3, 4 }, steps[1].messages)
    assert.truthy(steps[3].ledger)
    assert.truthy(steps[3].tokens[2] < steps[3].tokens[1])
  end)
end)

describe("drawings", function()
  local FLOW = { name = 'a "flow"', nodes = { LOOP, { type = "branch", when = { calls = true }, nodes = says "x" },
    { type = "parallel", branches = { says "y", says "z" } } } }

  it("have every node and way", function()
    local dot = nodes.draw(FLOW)
    for _, piece in ipairs { 'digraph "a \\"flow\\""', 'label="loop"', 'label="model"', 'label="tool"', "shape=diamond",
      'label="again"', 'label="done"', 'label="yes"', 'label="no"', 'label="branch 2"', 'label="start"' } do
      assert.matches(piece, dot, 1, true)
    end
    local svg = nodes.draw(FLOW, "svg")
    local _, boxes = svg:gsub("<rect", "")
    local _, paths = svg:gsub('marker%-end', "")
    local _, vertices = dot:gsub("label=[^\n]*shape=", "")
    local _, edges = dot:gsub("%->", "")
    assert.same({ vertices, edges }, { boxes, paths })
    assert.matches("<title>a &quot;flow&quot;</title>", svg, 1, true)
  end)

  it("are of graphs, too", function()
    local dot = nodes.draw { nodes = { { id = "a", type = "tool" }, { id = "b", type = "branch", when = { calls = true } } },
      edges = { { "a", "b" }, { "b", "a", when = true }, { "b", "end", when = false } } }
    assert.matches('n3 -> n2 [label="true"]', dot, 1, true)
    assert.matches('n3 -> n4 [label="false"]', dot, 1, true)
  end)

  it("have two forms", function() assert.equal("argument", refusal(nodes.draw, FLOW, "png").code) end)
end)

---- What is refused before anything runs ----

local TRIM = '{"type":"trim","budget":9}'
local A, B = '{"id":"a","type":"tool"}', '{"id":"b","type":"tool"}'
local ROUTE = '{"id":"r","type":"branch","when":{"calls":true}}'

--- Rows: the mistake, the workflow, the place in its JSON, words of the message, and of the hint.
local WRONG = {
  { "an unknown type", '[{"type":"trimm"}]', "1:2", "node 1: unknown type 'trimm'", "did you mean 'trim'?" },
  { "a type that is no text", '[{"type":5}]', "1:2", "unknown type 5", "one of: " },
  { "no type", '[{"budget":5}]', "1:2", "node 1: it has no type", "one of: " },
  { "a node that is no object", "[[]]", "1:2", "it has no type", "one of: " },
  { "an unknown operation", '[{"operation":"trunkate"}]', "1:15", "trunkate", "did you mean 'truncate'?" },
  { "a field of an operation", '[{"operation":"truncate","truncate":{"keepLst":1}}]', "1:2", "keepLst", "'keepLast'" },
  { "a field of a trim", '[{"type":"trim","bugdet":5}]', "1:2", "no option 'bugdet'", "did you mean 'budget'?" },
  { "a wrong value", '[{"type":"trim","budget":-5}]', "1:2", "budget: expected a whole number of tokens", nil },
  { "a policy", '[{"type":"trim","policy":"keep_recnt"}]', "1:2", "keep_recnt", "keep_recent" },
  { "the second node", "[" .. TRIM .. ',\n  {"type":"save"}]', "2:3", "node 2 (save): ", 'file = "draft.json"' },
  { "no nodes", '{"nodes":[]}', "1:1", "at least one node", "trim" },
  { "a field of a workflow", '{"nodes":[' .. TRIM .. '],"edgse":[]}', "1:1", "no field 'edgse'", "did you mean 'edges'?" },
  { "start without edges", '{"nodes":[' .. TRIM .. '],"start":"a"}', "1:1", "only a graph has a start", "edges" },
  { "a folder in JSON", '{"nodes":[' .. TRIM .. '],"folder":"x"}', nil, "the folder is that of the file", nil },
  { "a branch without a condition", '[{"type":"branch","nodes":[]}]', "1:2", "a branch needs when", nil },
  { "a branch without nodes", '[{"type":"branch","when":{"calls":true}}]', "1:2", "needs nodes, otherwise", nil },
  { "an empty list of a branch", '[{"type":"branch","when":{"calls":true},"nodes":[]}]', "1:2", "nodes: a list of nodes", nil },
  { "a node of a branch", '[{"type":"branch","when":{"calls":true},"otherwise":[' .. TRIM .. ',{"type":"sav"}]}]', "1:81",
    "node 1.otherwise[2]: unknown type 'sav'", "did you mean 'save'?" },
  { "an empty condition", '[{"type":"branch","when":{},"nodes":[' .. TRIM .. "]}]", "1:2", "no condition is named", nil },
  { "an unknown condition", '[{"type":"branch","when":{"call":true},"nodes":[' .. TRIM .. "]}]", "1:2",
    "unknown condition", "did you mean 'calls'?" },
  { "a missing file of a condition", '[{"type":"branch","when":"no.lua","nodes":[' .. TRIM .. "]}]", "1:2", "no.lua", nil },
  { "choose in a list", '[{"type":"branch","choose":"x.lua","nodes":[' .. TRIM .. "]}]", "1:2", "choose is for graphs", nil },
  { "a loop without nodes", '[{"type":"loop"}]', "1:2", "nodes is missing", nil },
  { "a loop of no rounds", '[{"type":"loop","at_most":0,"nodes":[' .. TRIM .. "]}]", "1:2", "a whole number of rounds from 1 to 10000", nil },
  { "one branch in parallel", '[{"type":"parallel","branches":[[' .. TRIM .. "]]}]", "1:2", "two or more lists", nil },
  { "an unknown dialect", '[{"type":"check","dialect":"antropic"}]', "1:2", "antropic", "did you mean 'anthropic'?" },
  { "a conversion to nowhere", '[{"type":"convert"}]', "1:2", "to is missing", nil },
  { "a file elsewhere", '[{"type":"save","file":"../x.json"}]', "1:2", "in the current folder", "in Lua" },
  { "a command in JSON", '[{"type":"model","command":"curl"}]', "1:2", "command: a workflow in JSON starts no programs", nil },
  { "an address in JSON", '[{"type":"model","base_url":"http://x"}]', "1:2", "base_url: a workflow in JSON", nil },
  { "a field of a model", '[{"type":"model","temprature":1}]', "1:2", "no option 'temprature'", "'temperature'" },
  { "a profile", '[{"type":"model","profile":"mistrl"}]', "1:2", "unknown profile 'mistrl'", "mistral" },
  { "an agent of a pipeline", '[{"type":"pipeline","agent":{"presets":5}}]', "1:2", "presets", nil },
  { "a workflow without a file", '[{"type":"workflow"}]', "1:2", "file is missing", nil },
  { "a program as a tool", '{"tools":[{"name":"x","command":"ls"}],"nodes":[' .. TRIM .. "]}", "1:11",
    "starts no programs", "in Lua" },
  { "a tool without a way", '{"tools":[{"name":"x"}],"nodes":[' .. TRIM .. "]}", "1:11", "needs run, command, file, mcp or recall", nil },
  { "tools that are no list", '{"tools":{"name":"x"},"nodes":[' .. TRIM .. "]}", nil, "a list is expected", nil },
  { "a node without an id", '{"nodes":[{"type":"tool"}],"edges":[]}', "1:11", "in a graph every node has an id", nil },
  { "an id twice", '{"nodes":[' .. A .. "," .. A .. '],"edges":[]}', "1:36", "node 1 has this id, too", nil },
  { "the id of the end", '{"nodes":[{"id":"end","type":"tool"}],"edges":[]}', "1:11", "'end' is the end of a run", nil },
  { "an edge to nowhere", '{"nodes":[' .. A .. "," .. B .. '],"edges":[["a","bb"]]}', "1:71", "no node has the id 'bb'",
    "did you mean 'b'?" },
  { "an edge of one end", '{"nodes":[' .. A .. '],"edges":[["a"]]}', "1:46", "to is missing", nil },
  { "a field of an edge", '{"nodes":[' .. A .. '],"edges":[{"from":"a","to":"end","if":1}]}', "1:46", "unknown field of an edge", nil },
  { "two ways where nothing decides", '{"nodes":[' .. A .. "," .. B .. '],"edges":[["a","b"],["a","end"]]}', "1:81",
    "another edge leaves", "a branch decides" },
  { "a condition where nothing decides", '{"nodes":[' .. A .. '],"edges":[{"from":"a","to":"end","when":true}]}', "1:46",
    "only edges from a branch have when", nil },
  { "a way of a branch without a condition", '{"nodes":[' .. ROUTE .. '],"edges":[["r","end"]]}', nil, "the edge needs when", nil },
  { "an answer without an edge", '{"nodes":[' .. ROUTE .. '],"edges":[{"from":"r","to":"end","when":true}]}', "1:11",
    "no edge leads on for false", '{ "r", "end", when = false }' },
  { "a word for a condition's answer", '{"nodes":[' .. ROUTE .. '],"edges":[{"from":"r","to":"end","when":"x"}]}', nil,
    "when is true or false", nil },
  { "a node that no way leads to", '{"nodes":[' .. A .. "," .. B .. '],"edges":[]}', "1:36", "no way leads there from node 1 'a'", nil },
  { "a cycle", '{"nodes":[' .. A .. "," .. B .. '],"edges":[["a","b"],["b","a"]]}', "1:11", "a cycle that no way leaves", nil },
  { "a start", '{"nodes":[' .. A .. '],"edges":[],"start":"aa"}', nil, "start: no node has the id 'aa'", nil },
  { "what follows the end", '{"nodes":[' .. A .. '],"edges":[["end","a"]]}', "1:46", "nothing follows the end", nil },
}

describe("a wrong workflow", function()
  for _, case in ipairs(WRONG) do
    it("is refused with its place: " .. case[1], function()
      local path = os.tmpname()
      finally(function() os.remove(path) end)
      local file = assert(io.open(path, "w"))
      assert(file:write(case[2]))
      file:close()
      local workflow, problem = nodes.load(path)
      if workflow then problem = refusal(nodes.check, workflow) end
      assert.matches(case[4], problem.message, 1, true)
      if case[3] then assert.equal(("%s:%s"):format(path, case[3]), problem.message:match "^[^:]+:%d+:%d+") end
      if case[5] then assert.matches(case[5], problem.hint, 1, true) end
    end)
  end

  it("has forty and more forms", function() assert.is_true(#WRONG >= 40) end)

  it("in Lua is named by its node", function()
    local problem = refusal(nodes.check, { LOOP, { type = "loop", nodes = { { type = "model" }, { type = "tol" } } } })
    assert.equal("node 2.nodes[2]: unknown type 'tol'", problem.message)
    assert.equal("did you mean 'tool'?", problem.hint)
    problem = refusal(nodes.check, { tools = { ADD, ADD }, nodes = { LOOP } })
    assert.equal("tools[2]: a tool 'add' is there already", problem.message)
    problem = refusal(nodes.check, { tools = { { name = "x", parameters = "a:strin", run = print } }, nodes = { LOOP } })
    assert.equal("did you mean 'string'?", problem.hint)
  end)
end)
