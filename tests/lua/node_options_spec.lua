--- Options of workflow nodes that the specs of their types do not touch: each changes what comes out.

local helper = dofile "tests/lua/helper.lua"
local core = require "ebb.support.core"
local ebb = helper.ebb
local nodes = require "ebb.workflow"

local conversation, texts = helper.conversation, helper.texts

--- Runs one node on a conversation; the conversation that comes out, or nil and the error.
local function run(node, chat, host)
  local done, result = nodes.run(chat, { node }, host)
  if done then return result end
  return nil, result
end

local function list(...) return assert(ebb.parse(core.json.encode { ... })) end

local USER, REPLY = { role = "user", content = "one" }, { role = "assistant", content = "two" }

describe("a check node", function()
  it("takes severity: what only some servers refuse", function()
    local function chat() return list(USER, { role = "assistant", content = "two" }, REPLY) end
    local node = { type = "check", dialect = "anthropic" }
    assert.truthy(run(node, chat()))
    node.severity = "changed"
    local result, problem = run(node, chat())
    assert.is_nil(result)
    assert.equal("refused", problem.code)
  end)
end)

describe("a convert node", function()
  it("takes keep_extra: members that requests do not have", function()
    local node = { type = "convert", to = "openai", shape = "body" }
    local chat = list({ role = "user", content = "one", id = "m1" }, REPLY)
    assert.is_nil(run(node, chat:fork())[1].id)
    node.keep_extra = true
    assert.equal("m1", run(node, chat)[1].id)
  end)
end)

describe("a filter node", function()
  it("takes trusted: all of Lua", function()
    local node = { type = "filter", filter = "return function(message) return io == nil or message.role ~= 'user' end" }
    assert.equal("u1 a2", texts(run(node, conversation "u1 a2")))
    node.trusted = true
    assert.equal("a2", texts(run(node, conversation "u1 a2")))
  end)
end)

describe("a trim node", function()
  local function trimmed(fields, words)
    local node = { type = "trim", budget = 40, policy = "keep_recent" }
    for name, value in pairs(fields) do node[name] = value end
    return texts((run(node, conversation(words or "s10 u20 a20 u5"))))
  end

  it("takes reserve: tokens that stay free", function()
    assert.not_equal(trimmed {}, trimmed { reserve = 20 })
  end)

  it("takes dry_run: nothing changes", function()
    assert.equal("s10 u20 a20 u5", trimmed { dry_run = true })
    assert.not_equal("s10 u20 a20 u5", trimmed {})
  end)

  it("takes guards: false lets system messages go", function()
    local drop_all = "return function(draft) for message in draft:messages {} do draft:drop(message, 'x') end end"
    assert.truthy(trimmed { policy = drop_all }:find "s10")
    assert.falsy(trimmed { policy = drop_all, guards = false }:find "s10")
  end)

  it("takes trusted: all of Lua", function()
    local policy = "return function(draft, budget) if io then draft:drop_oldest { to = 12 } else "
      .. "draft:drop_oldest { to = budget } end end"
    assert.not_equal(trimmed { policy = policy }, trimmed { policy = policy, trusted = true })
  end)
end)

describe("a model node", function()
  local function asked_of(fields)
    local asked
    local node = { type = "model", model = "gpt-4o" }
    for name, value in pairs(fields) do node[name] = value end
    local tool = { name = "add", description = "Adds.", parameters = "a:number", run = function() return 1 end }
    assert(nodes.run(list(USER), { tools = { tool }, nodes = { node } }, { model = function(request)
      asked = request
      return "done"
    end }))
    return asked
  end

  it("takes tool_choice", function()
    assert.is_nil(asked_of({}).tool_choice)
    assert.equal("required", asked_of({ tool_choice = "required" }).tool_choice)
    assert.equal("add", asked_of({ tool_choice = "add" }).tool_choice["function"].name)
  end)

  it("takes key_env: the variable with the key; and what the provider counted calibrates", function()
    local headers
    local host = { sleep = function() end, http = function(request)
      headers = core.json.encode(request)
      return 200, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n",
        '{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"two"}}],'
          .. '"usage":{"prompt_tokens":14,"completion_tokens":1}}'
    end }
    local chat = ebb.conversation { model = "gpt-4o", encoding = "cjk", messages = { USER } }
    local node = { type = "model", model = "gpt-4o", base_url = "http://127.0.0.1:1/v1", stream = false,
      key_env = "HOME" }
    local result = assert(run(node, chat, { host = host }))
    assert.equal("two", result[2].text)
    assert.truthy(headers:find(core.json.encode(os.getenv "HOME"):sub(2, -2), 1, true), headers)
    assert.equal("calibrated", result:trust())
    node.key_env = "EBB_NO_SUCH_VARIABLE"
    local none, problem = run(node, chat:fork(), { host = host })
    assert.truthy(none == nil and problem.message:find("EBB_NO_SUCH_VARIABLE", 1, true))
  end)
end)

describe("a pipeline node", function()
  local function request_of(fields)
    local node = { type = "pipeline", agent = { presets = { { role = "system", content = "{{user}} {{date}}" },
      { type = "chat_history" } } }, zone = 0, now = 0 }
    for name, value in pairs(fields) do node[name] = value end
    return run(node, list({ role = "user", content = "one", id = "m1" }, REPLY))
  end

  it("takes now, user_profile, model_config and keep_extra", function()
    local plain = request_of {}
    assert.not_equal(plain[1].text, request_of({ now = 86400000 * 400 })[1].text)
    assert.truthy(request_of({ user_profile = { name = "Kim" } })[1].text:find("Kim", 1, true))
    assert.equal("gpt-4o", request_of({ model_config = { model = "gpt-4o" } }):model())
    assert.same({ nil, "m1" }, { plain[2].id, request_of({ keep_extra = true })[2].id })
  end)
end)
