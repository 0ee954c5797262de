--- Pipelines for models that bind thinking to all that comes before it: requests leave out what is after a change,
--- and the token limiter weighs what is sent.

local helper = dofile "tests/lua/helper.lua"
local ebb, json = helper.ebb, helper.ebb.json

local MODEL = "claude-opus-5-5"

local function words(n) return ("word "):rep(4 * n):sub(1, 4 * n) end

local function messages_of(n)
  local list = {}
  for i = 1, n do
    list[#list + 1] = { role = "user", content = words(5 + i) }
    list[#list + 1] = { role = "assistant", content = {
      { type = "thinking", thinking = words(40 + i), signature = "s" }, { type = "text", text = words(5) } } }
  end
  list[#list + 1] = { role = "user", content = "last" }
  return list
end

local function parsed(messages, model)
  local body = { model = model or MODEL, max_tokens = 10, stop_sequences = { "x" }, messages = messages }
  return assert(ebb.parse(json.encode(body), { encoding = "bytes4" }))
end

--- Marks the messages of a request that have thinking with T, the others with -.
local function thoughts(body)
  local marks = {}
  for i, message in ipairs(json.decode(body).messages) do
    marks[i] = json.encode(message):find('"thinking"', 1, true) and "T" or "-"
  end
  return table.concat(marks)
end

local function run(chat, options)
  options = options or {}
  options.encoding = "bytes4"
  return assert(ebb.pipeline(options):run(chat))
end

local function preset(strategy)
  return { id = "p", type = "message", role = "user", content = "A note.", isEnabled = true,
    injectionStrategy = strategy }
end

local function edits(edit)
  return { id = "edit", name = "edit", priority = 300, execute = function(context) edit(context.messages) end }
end

describe("a pipeline for a model that binds thinking", function()
  it("keeps all thinking where nothing has changed", function()
    assert.equal("-T-T-", thoughts(run(parsed(messages_of(2))).body))
  end)

  it("keeps it after presets at the head and before one at the end", function()
    local head = { presets = { { id = "s", type = "message", role = "system", content = "Be kind.", isEnabled = true },
      { id = "h", type = "chat_history", isEnabled = true }, preset { type = "depth", depth = 0 } } }
    assert.equal("-T-T--", thoughts(run(parsed(messages_of(2)), { agent = head }).body))
  end)

  it("leaves it out after a message that is put between", function()
    local agent = { presets = { preset { type = "depth", depth = 2 } } }
    local body = run(parsed(messages_of(3)), { agent = agent, set = { "merge-roles.enabled=false" } }).body
    assert.equal("-T-T----", thoughts(body))
  end)

  it("leaves it out after an edited message", function()
    local result = run(parsed(messages_of(3)), { processors = { edits(function(list) list[3].content = "new" end) } })
    assert.equal("-T-----", thoughts(result.body))
    assert.equal(0, #result.chat:check { dialect = "anthropic", model = MODEL })
  end)

  it("leaves it out where messages went, and says it", function()
    local result = run(parsed(messages_of(3)), { processors = { edits(function(list) table.remove(list, 1) end) } })
    assert.is_nil(result.body:find('"thinking"', 1, true))
    assert.equal("lost_bound_reasoning", result.losses[1].code)
  end)

  it("keeps what came since an earlier trim", function()
    local chat = parsed(messages_of(3))
    assert(chat:trim { budget = 10000, policy = function(draft) draft:drop(draft[1], "old") end })
    for _, message in ipairs { messages_of(1)[2], { role = "user", content = "newer" } } do chat:append(message) end
    assert.equal("------T-", thoughts(run(chat).body))
  end)

  it("keeps all thinking for models that do not bind it", function()
    local chat = parsed(messages_of(3), "claude-opus-4-5")
    local result = run(chat, { processors = { edits(function(list) table.remove(list, 1) end) } })
    assert.equal("T-T-T-", thoughts(result.body))
  end)

  it("cuts no more than a trim does, which weighs what is sent", function()
    for round = 1, 40 do
      math.randomseed(round)
      local chat = parsed(messages_of(math.random(3, 9)))
      if math.random(2) == 1 then chat:trim { budget = chat:tokens() - 1 } end
      local budget = math.random(chat:tokens() // 4, chat:tokens())
      local trimmed = chat:fork()
      local report = trimmed:trim { budget = budget }
      if report then
        local result = run(chat, { set = { "token-limiter.budget=" .. budget, "merge-roles.enabled=false" } })
        assert.equal(report.kept, #json.decode(result.body).messages, round)
        assert.is_true(result.tokens <= budget)
        assert.equal(result.tokens, assert(ebb.parse(result.body, { encoding = "bytes4" })):tokens())
      end
    end
  end)
end)
