--- The option `idle`: policies cut deep where the provider's prompt cache is cold.

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

local POLICIES = { "keep_recent", "keep_turns", "stable_prefix", "digest" }

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
