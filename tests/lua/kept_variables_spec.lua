--- Macro variables that a conversation keeps: later runs see them, a rollback takes them back.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb

local NOW = 1700000000000

local function user(content) return { role = "user", content = content } end

local function chat_of(...) return ebb.conversation { messages = { ... } } end

--- A pipeline whose one preset is this text.
local function pipeline_of(text, fields)
  local agent = fields and fields.agent or {}
  agent.presets = { { role = "system", content = text } }
  return ebb.pipeline { agent = agent, session = fields and fields.session, now = NOW, zone = 0 }
end

--- The text of the preset in a run on the conversation.
local function said(chat, text, fields)
  return assert(pipeline_of(text, fields):run(chat)).chat[1].text
end

local function kept(chat) return ebb.json.encode(chat:variables()) end

--- All of a conversation, as bytes.
local function whole(chat) return (chat:fork():write "ebb") end

describe("macro variables", function()
  it("that a run or an input changed are seen by later ones", function()
    local chat = chat_of(user "one")
    assert.equal("glad 1", said(chat, "{{setvar::mood::glad}}{{getvar::mood}} {{incvar::n}}{{getvar::n}}"))
    assert.equal("glad 2", said(chat, "{{getvar::mood}} {{incvar::n}}{{getvar::n}}"))
    chat:input("{{setglobalvar::place::inn}}I am {{getvar::mood}}, {{getvar::n}}", { now = NOW })
    assert.equal("I am glad, 2", chat[2].text)
    assert.equal("inn", said(chat, "{{getglobalvar::place}}"))
    assert.equal('{"global":{"place":"inn"},"local":{"mood":"glad","n":2}}', kept(chat))
  end)

  it("come back with a rollback, go with a fork, and are saved", function()
    local chat = chat_of(user "one")
    chat:input("{{setvar::n::1}}two", { now = NOW })
    chat:append(user "three")
    chat:input("{{setvar::n::2}}four", { now = NOW })
    local fork, copy = chat:fork(), assert(ebb.parse((chat:write "ebb")))
    assert.same({ kept(chat), kept(chat) }, { kept(fork), kept(copy) })
    assert.equal(whole(chat), whole(copy))
    chat:rollback(1, 2)
    assert.same({ 1, 2 }, { chat:variables()["local"].n, #chat })
    chat:rollback(0)
    assert.same({ '{"global":{},"local":{}}', 1 }, { kept(chat), #chat })
    assert.equal(2, fork:variables()["local"].n)
  end)

  it("begin a batch that says what changed, and none where nothing did", function()
    local chat = chat_of(user "one")
    said(chat, "{{setvar::b::1}}{{setvar::a::x}}{{setvar::odd name::1}}")
    assert.equal("variables: a, b and 1 more", chat:batches()[2].description)
    assert.equal("variables", chat:batches()[2].operation)
    assert.equal(1, #chat)
    local state = whole(chat)
    said(chat, "{{setvar::b::1}}{{getvar::a}}")
    assert.equal(state, whole(chat))
    assert.equal(2, #chat:batches())
  end)

  it("hide the agent's and the user's, and a caller's hide them", function()
    local agent = { variables = { mood = "calm", n = 5 } }
    local chat = chat_of(user "one")
    assert.equal("6", said(chat, "{{incvar::n}}{{getvar::n}}{{deletevar::mood}}", { agent = agent }))
    assert.equal('{"global":{},"local":{"n":6}}', kept(chat))
    assert.equal("6 false", said(chat, "{{getvar::n}} {{hasvar::mood}}", { agent = agent }))
    local session = { variables = { ["local"] = { n = 9 } } }
    assert.equal("9", said(chat, "{{getvar::n}}", { agent = agent, session = session }))
    assert.equal(6, chat:variables()["local"].n)
  end)

  it("are not kept of previews, of runs that fail and of texts that are only expanded", function()
    local chat = chat_of(user "one")
    local state, pipe = whole(chat), pipeline_of "{{setvar::n::1}}x"
    assert(pipe:preview(chat))
    local _, variables, before = pipe:expand(chat, "{{setvar::n::2}}")
    assert.same({ 2, nil }, { variables["local"].n, before["local"].n })
    local failing = { id = "failing", name = "failing", execute = function() error "no" end }
    pipe:add(failing)
    assert.is_nil((pipe:run(chat)))
    assert.equal(state, whole(chat))
  end)

  it("and their message are kept both or not at all", function()
    local chat = chat_of(user "one")
    local state = whole(chat)
    assert.has_error(function() chat:input("{{setvar::n::1}}x", { attachments = { { id = "\xff" } }, now = NOW }) end)
    assert.equal(state, whole(chat))
    local ok, problem = pcall(chat.input, chat, "{{setvar::n::" .. ("x"):rep(1 << 20) .. "}}text", { now = NOW })
    assert.same({ false, "limit", 1 }, { ok, problem.code, #chat })
    ok, problem = pcall(chat.set_variables, chat, { ["local"] = { n = ("x"):rep(1 << 18) } })
    assert.same({ false, "limit" }, { ok, problem.code })
    assert.truthy(problem.message:find("262144 are the most", 1, true))
    assert(chat:set_variables { ["local"] = { n = ("x"):rep((1 << 18) - 100) } })
  end)

  it("that cannot be kept are said in the log of a run", function()
    local odd = { name = "odd", summary = "sets a function", stability = "turn", run = function(call)
      call.environment:set("local", "f", print)
      return "x"
    end }
    local chat = chat_of(user "one")
    local result = assert(ebb.pipeline({ agent = { presets = { { role = "system", content = "{{odd}}" } } },
      macros = { odd }, now = NOW }):run(chat))
    assert.truthy(result.logs[#result.logs].message:find("the macro variables are not kept", 1, true))
    assert.equal(1, #chat:batches())
  end)

  it("are read and set by Lua", function()
    local chat = chat_of(user "one")
    assert.equal(1, chat:set_variables { ["local"] = { a = 1, b = "x" }, global = { c = { 1, 2 } } })
    assert.equal(1, chat:set_variables(chat:variables()))
    local environment = ebb.macros.environment { variables = chat:variables() }
    ebb.macros.expand("{{incvar::a}}{{deletevar::b}}", environment)
    assert.equal(2, chat:set_variables(environment.variables))
    assert.equal('{"global":{"c":[1,2]},"local":{"a":2}}', kept(chat))
    assert.equal("2 []", said(chat, "{{getvar::a}} []"))
    for _, wrong in ipairs { 3, { here = {} }, { ["local"] = 3 }, { global = { 1 } } } do
      assert.has_error(function() chat:set_variables(wrong) end)
    end
  end)
end)
