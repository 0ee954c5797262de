--- The policy agent: results folded as they come, then a digest.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb

local function exchange(chat, i, text, timestamp)
  chat:append { { role = "assistant", content = "", timestamp = timestamp, tool_calls = {
    { id = "c" .. i, type = "function", ["function"] = { name = "run",
      arguments = ('{"file": "t_%d.lua"}'):format(i) } } } },
    { role = "tool", tool_call_id = "c" .. i, content = text, timestamp = timestamp } }
end

local function conversation()
  local chat = ebb.conversation { encoding = "bytes4" }
  chat:append { { role = "system", content = "You mend code." }, { role = "user", content = "Mend the tests." } }
  return chat
end

describe("agent", function()
  it("folds a result although all fits, and cuts nothing then", function()
    local chat = conversation()
    exchange(chat, 1, ("warning: slow\n"):rep(50) .. "done")
    assert(chat:trim { budget = 10000, policy = "agent" })
    assert.equal(4, #chat)
    assert.truthy(chat[4].content:find("done", 1, true))
    assert.is_true(#chat[4].content < 200)
  end)

  it("cuts above the budget, and keeps what went by name", function()
    local chat = conversation()
    for i = 1, 30 do exchange(chat, i, ("case %d of suite_%d took %d ms"):format(i, i, i * 7)) end
    assert(chat:trim { budget = 400, policy = "agent" })
    assert.is_true(chat:tokens() <= 400)
    assert.equal("Mend the tests.", chat[2].content)
    assert.truthy(chat[3].content:find("file: t_", 1, true))
    assert.same({}, chat:check "openai")
  end)

  it("leaves a list as it is when it is trimmed again", function()
    local chat = conversation()
    for i = 1, 30 do exchange(chat, i, ("case %d of suite_%d took %d ms\n"):format(i, i, i * 7):rep(3)) end
    assert(chat:trim { budget = 400, policy = "agent" })
    local before = chat:json()
    assert(chat:trim { budget = 400, policy = "agent" })
    assert.equal(before, chat:json())
  end)

  it("cuts deep after five minutes without a message", function()
    local chat = conversation()
    for i = 1, 10 do exchange(chat, i, ("suite_%d "):format(i):rep(10), 1700000000000) end
    local budget = chat:tokens() + 20
    chat:append { role = "user", content = "Go on.", timestamp = 1700000000000 + 299000 }
    local fork = chat:fork()
    assert(fork:trim { budget = budget, policy = "agent" })
    assert.equal(#chat, #fork)
    fork:append { role = "user", content = "Go on!", timestamp = 1700000000000 + 301000 }
    assert(fork:trim { budget = budget, policy = "agent" })
    assert.is_true(fork:tokens() <= budget / 2)
  end)

  it("takes the options of digest", function()
    local chat = conversation()
    for i = 1, 30 do exchange(chat, i, ("case %d of suite_%d"):format(i, i)) end
    assert(chat:trim { budget = 400, policy = { "agent", recall = true, language = "zh" } })
    assert.truthy(chat[3].content:find("较早的消息", 1, true))
    assert.truthy(chat:recall(chat[3].content:match "recall (r[%d%-]+)%]$"))
    local problem = helper.refusal(chat.trim, chat, { budget = 9, policy = { "agent", low = 0.9, high = 0.5 } })
    assert.truthy(problem.message:find("low must be below high", 1, true))
  end)
end)
