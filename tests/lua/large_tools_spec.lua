--- Checks policies if tools and guarded messages take most of the budget: marks leave a share of what may go.

local helper = dofile "tests/lua/helper.lua"
local large_tools = dofile "tests/lua/large_tools.lua"
local ebb = helper.ebb
local core = require "ebb.support.core"

local function load(body)
  local path = os.tmpname()
  assert(core.write_file(path, core.json.encode(body)))
  local chat = assert(ebb.load(path, { encoding = "bytes4" }))
  os.remove(path)
  return chat
end

--- Tokens of tools and guarded messages.
local function guarded_tokens(chat)
  local draft = chat:draft()
  local tokens = core.draft.guarded(draft)
  core.draft.discard(draft)
  return tokens
end

--- Counts the calls that a list shows, and its tokens of what may go.
local function left(chat, guarded)
  local calls = 0
  for _, message in ipairs(chat) do
    calls = calls + #message.calls
  end
  return calls, chat:tokens() - guarded
end

local POLICIES = { "stable_prefix", "idle", "digest", "agent", { "clear_tool_uses", "stable_prefix" },
  { "stable_prefix", high = 0.9, low = 0.2 }, { "digest", low = 0.3 } }

local function label_of(policy)
  if type(policy) == "string" then return policy end
  local words = { table.concat(policy, ",") }
  for _, name in ipairs { "high", "low" } do
    if policy[name] then words[#words + 1] = name .. "=" .. policy[name] end
  end
  return table.concat(words, " ")
end

-- what it shows, the body, tokens of the budget that guarded messages leave, share of what keep_recent keeps
local rows = {
  { "large tools",                        {},                                             1200, 0.25 },
  { "a question at the end",              { ending = "user" },                            1200, 0.25 },
  { "a large system message",             { tools = 100, system = 4000 },                 1200, 0.25 },
  { "system messages between the steps",  { tools = 3000, note = 400 },                   1200, 0.25 },
  { "a large task",                       { tools = 100, task = 4000 },                   1200, 0.25 },
  { "a large task behind large tools",    { tools = 3000, task = 3000 },                  1200, 0.25 },
  { "results that fill most of the rest", { result = 500 },                               1300, 0.25 },
  { "results as large as the rest",       { result = 500, ending = "user" },              800,  0.25 },
  { "small results",                      { result = 30, steps = 40 },                    1000, 0.2 },
  { "a very large list of tools",         { tools = 60000 },                              1500, 0.25 },
}

describe("Where guarded messages and tools take most of the budget", function()
  for _, row in ipairs(rows) do
    for _, policy in ipairs(POLICIES) do
      it(("%s leaves calls with their results: %s"):format(label_of(policy), row[1]), function()
        local chat = load(large_tools.body(row[2]))
        local guarded = guarded_tokens(chat)
        local budget = guarded + row[3]
        assert.is_true(chat:tokens() > budget + 100, "nothing has to go")
        local recent = chat:fork()
        assert(recent:trim { budget = budget, policy = "keep_recent" })
        local most_calls, most = left(recent, guarded)

        assert(chat:trim { budget = budget, policy = policy })

        local calls, tokens = left(chat, guarded)
        assert.is_true(calls >= math.min(1, most_calls), ("%d of %d calls"):format(calls, most_calls))
        assert.is_true(tokens >= row[4] * most, ("%d of %d tokens"):format(tokens, most))
      end)
    end
  end
end)

describe("A mark", function()
  local marks = require "ebb.support.marks"

  --- The marks of a request whose system message has a share of the budget, and that share.
  local function marks_at(share, options, budget)
    local chat = helper.conversation(("s%d u5 a5 u5"):format(math.floor(share * budget)))
    local draft = chat:draft()
    local at = marks.of(draft, budget, options)
    core.draft.discard(draft)
    return at
  end

  for _, pair in ipairs { { 1, 0.5 }, { 0.9, 0.2 }, { 0.8, 0.4 }, { 1, 0.8 }, { 1, 0 } } do
    local options = { high = pair[1], low = pair[2] }

    it(("is its share of the budget where little is fixed: high=%g low=%g"):format(pair[1], pair[2]), function()
      for fixed = 0, 0.8, 0.05 do
        local at = marks_at(fixed * options.low, options, 10000)
        assert.equal(math.floor(10000 * options.high), at.high)
        if options.low > 0 then assert.equal(math.floor(10000 * options.low), at.low) end
      end
    end)

    it(("leaves a share of what may go where much is fixed: high=%g low=%g"):format(pair[1], pair[2]), function()
      for fixed = 0.5, 0.95, 0.05 do
        local at = marks_at(fixed, options, 10000)
        assert.is_true(at.low - at.fixed >= 0.5 * options.low * (10000 - at.fixed) - 1)
        assert.is_true(at.low < at.high and at.high <= 10000)
      end
    end)

    it(("does not jump: high=%g low=%g"):format(pair[1], pair[2]), function()
      local before = marks_at(0, options, 10000)
      for fixed = 0.01, 1, 0.01 do
        local at = marks_at(fixed, options, 10000)
        for _, name in ipairs { "fixed", "low", "high" } do
          local step = at[name] - before[name]
          assert.is_true(step >= 0 and step <= 220, ("%s at %g: %d"):format(name, fixed, step))
        end
        before = at
      end
    end)
  end

  it("does not jump where the last user message grows", function()
    local before
    for tokens = 10, 590, 10 do
      local draft = helper.conversation(("s400 u%d"):format(tokens)):draft()
      local at = marks.of(draft, 1000, { high = 1, low = 0.5 })
      core.draft.discard(draft)
      assert.is_true(not before or at.low >= before and at.low - before <= 40)
      before = at.low
    end
  end)
end)

describe("A cut where the cache is cold", function()
  for _, policy in ipairs { "keep_recent", "keep_turns", "trim_messages", "stable_prefix", "digest", "agent" } do
    it("leaves calls with large tools: " .. policy, function()
      local body = large_tools.body {}
      for i, message in ipairs(body.messages) do message.timestamp = 1700000000000 + i * 1000 end
      body.messages[#body.messages].timestamp = 1700009000000
      local chat = load(body)
      local guarded = guarded_tokens(chat)

      assert(chat:trim { budget = guarded + 1200, policy = { policy, idle = 300 } })

      local calls, tokens = left(chat, guarded)
      assert.is_true(calls >= 1, calls)
      assert.is_true(tokens <= 700, tokens)
    end)
  end
end)

it("A summary takes a share of what may go, not of the tools", function()
  local chat = load(large_tools.body {})
  local guarded = guarded_tokens(chat)
  assert(chat:trim { budget = guarded + 1200, policy = { "summarize", keep = 1, to = 0.8, max_tokens = 50 },
    model = function() return "The ledger was followed." end })
  local _, tokens = left(chat, guarded)
  assert.is_true(tokens > 500, tokens)
end)

describe("A replay of an agent with large tools", function()
  local chat = load(large_tools.recording())
  local results = assert(ebb.replay(chat, { budget = guarded_tokens(chat) + 1500, cache = "general",
    policies = { "keep_recent", "stable_prefix", "idle", "digest", "agent" } }))

  it("finds what the next call needs in the requests of each policy", function()
    for i = 2, #results do
      local result = results[i]
      assert.equal(0, result.refusals)
      assert.is_true(result.arguments.total > 10)
      assert.is_true(result.recall_arguments > 0.95, result.policy .. " " .. result.recall_arguments)
    end
  end)

  it("costs less under those that cut seldom", function()
    for i = 3, #results do
      assert.is_true(results[i].cost < results[2].cost, results[i].policy)
    end
  end)
end)
