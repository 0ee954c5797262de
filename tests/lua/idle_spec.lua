--- The option `idle`, and the policy: cuts are deep where the provider's prompt cache is cold.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb

local MINUTE = 60000
local START = 1700000000000

--- Exchanges a minute apart; the newest message comes `pause` ms after the newest answer.
local function conversation(pause, without)
  local chat = ebb.conversation { encoding = "bytes4" }
  for i = 1, 20 do
    chat:append { { role = "user", content = ("question %d "):format(i):rep(8), timestamp = START + i * MINUTE },
      { role = "assistant", content = ("answer %d "):format(i):rep(8),
        timestamp = without ~= "answer" and START + i * MINUTE + 1000 or nil } }
  end
  local at = START + 20 * MINUTE + 1000 + pause
  chat:append { role = "user", content = "and now?", timestamp = without ~= "newest" and at or nil }
  return chat
end

local POLICIES = { "keep_recent", "keep_turns", "stable_prefix", "digest", "trim_messages" }

for _, name in ipairs(POLICIES) do
  describe("idle of " .. name, function()
    local function share_left(chat, idle)
      local budget = chat:tokens() + 10
      assert(chat:trim { budget = budget, policy = { name, idle = idle } })
      return chat:tokens() / budget
    end

    it("cuts to half of the budget after a pause that is longer", function()
      local share = share_left(conversation(6 * MINUTE), 300)
      assert.is_true(share <= 0.5 and share > 0.3, share)
    end)

    it("cuts nothing where all fits: within the time, without the option, without timestamps", function()
      assert.is_true(share_left(conversation(4 * MINUTE), 300) > 0.9)
      assert.is_true(share_left(conversation(600 * MINUTE), nil) > 0.9)
      assert.is_true(share_left(conversation(600 * MINUTE, "newest"), 300) > 0.9)
      assert.is_true(share_left(conversation(600 * MINUTE, "answer"), 300) > 0.9)
    end)

    it("cuts once for one pause", function()
      local chat = conversation(6 * MINUTE)
      local budget = chat:tokens() + 10
      assert(chat:trim { budget = budget, policy = { name, idle = 300 } })
      local left = chat:json()
      assert(chat:trim { budget = budget, policy = { name, idle = 300 } })
      assert.equal(left, chat:json())
    end)
  end)
end

describe("The policy idle", function()
  it("cuts deep after five minutes, and before them as stable_prefix does", function()
    local function left(policy, minutes, share)
      local chat = conversation(minutes * MINUTE)
      assert(chat:trim { budget = math.floor(chat:tokens() * share), policy = policy })
      return chat:json()
    end

    assert.equal(left("stable_prefix", 4, 0.8), left("idle", 4, 0.8))
    assert.equal(left({ "stable_prefix", idle = 300 }, 6, 2), left("idle", 6, 2))
    assert.not_equal(left("stable_prefix", 6, 1.01), left("idle", 6, 1.01))
    assert.equal(left({ "stable_prefix", low = 0.2, idle = 60 }, 2, 1.01),
      left({ "idle", low = 0.2, idle = 60 }, 2, 1.01))
  end)

  it("checks its marks together", function()
    local chat = conversation(0)
    local problem = helper.refusal(chat.trim, chat, { budget = 10, policy = { "idle", low = 0.9, high = 0.5 } })
    assert.truthy(problem.message:find("low must be below high", 1, true))
  end)
end)

describe("idle of clear_tool_uses", function()
  it("clears above half of the budget after a pause", function()
    local chat = ebb.conversation { encoding = "bytes4" }
    for i = 1, 8 do
      local id = "c" .. i
      chat:append { { role = "assistant", content = "", timestamp = START, tool_calls = {
        { id = id, type = "function", ["function"] = { name = "read", arguments = "{}" } } } },
        { role = "tool", tool_call_id = id, content = ("line "):rep(40), timestamp = START } }
    end
    chat:append { role = "user", content = "and now?", timestamp = START + 10 * MINUTE }
    local budget = chat:tokens() + 10
    assert(chat:trim { budget = budget, policy = { "clear_tool_uses", idle = 3600 } })
    assert.is_nil(chat:json():find("[cleared]", 1, true))
    assert(chat:trim { budget = budget, policy = { "clear_tool_uses", idle = 300 } })
    assert.truthy(chat:json():find("[cleared]", 1, true))
  end)
end)

describe("idle of summarize", function()
  it("summarizes above half of the budget after a pause, and down to its share of that", function()
    local function run(pause, idle)
      local chat, asked = conversation(pause), 0
      local budget = chat:tokens() + 10
      assert(chat:trim { budget = budget, policy = { "summarize", idle = idle, max_tokens = 20 }, model = function()
        asked = asked + 1
        return "They asked and answered."
      end })
      return chat:tokens() / budget, asked
    end
    local share, asked = run(6 * MINUTE, 300)
    assert.equal(1, asked)
    assert.is_true(share <= 0.5 * 0.8 and share > 0.2, share)
    assert.equal(0, select(2, run(4 * MINUTE, 300)))
    assert.equal(0, select(2, run(600 * MINUTE)))
  end)
end)

describe("idle of quota", function()
  it("leaves half of each limit after a pause, and is then within it for a while", function()
    local function left(pause, idle)
      local chat = conversation(pause)
      assert(chat:trim { budget = 100000, policy = { "quota", messages = { assistant = 12 }, idle = idle } })
      return chat:count "assistant"
    end
    assert.equal(6, left(6 * MINUTE, 300))
    assert.equal(12, left(4 * MINUTE, 300))
    assert.equal(12, left(600 * MINUTE))
  end)

  it("leaves half of a limit in tokens", function()
    local chat = conversation(6 * MINUTE)
    local tokens = chat:where({ role = "assistant" }):tokens()
    assert(chat:trim { budget = 100000, policy = { "quota", tokens = { assistant = tokens }, idle = 300 } })
    local after = chat:where({ role = "assistant" }):tokens()
    assert.is_true(after <= tokens / 2 and after > tokens / 3, after)
  end)
end)

describe("idle of prune_messages", function()
  --- Runs the policy after a pause; true if the reasoning was pruned, and nothing else.
  local function run(pause, idle, share)
    local chat = conversation(pause)
    chat:insert(1, { role = "assistant", content = "", reasoning_content = ("hm "):rep(20) })
    assert(chat:trim { budget = math.floor(chat:tokens() * share),
      policy = { { "prune_messages", reasoning = "all", idle = idle }, "keep_recent" } })
    assert.equal(21, chat:count "user")
    return chat:json():find("hm hm", 1, true) == nil
  end

  it("prunes above half of the budget after a pause, and over the budget at any time", function()
    assert.is_true(run(6 * MINUTE, 300, 1.1))
    assert.is_false(run(4 * MINUTE, 300, 1.1))
    assert.is_false(run(6 * MINUTE, 300, 3))
    assert.is_true(run(4 * MINUTE, 300, 0.99))
  end)

  it("prunes whatever the budget without it", function() assert.is_true(run(MINUTE, nil, 3)) end)
end)
