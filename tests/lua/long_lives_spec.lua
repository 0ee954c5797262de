--- Conversations that had millions of messages before the ones that they have: they cost what they have, and are
--- trimmed as if they had never had more.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb

local function clock() return 1700000000000 end

local function after(count) return assert(ebb.parse(helper.saved_after(count), { clock = clock })) end

local MOST = 67108864      -- messages of a conversation, removed ones among them

--- Messages of conversations with tools, as tables: our own, and some of the shared data where it is.
local function recorded()
  local lists, paths = {}, helper.conversations()
  for i = 1, math.min(#paths, 8) do
    lists[i] = {}
    for k, message in ipairs(assert(ebb.load(paths[i]))) do lists[i][k] = ebb.json.decode(message.json) end
  end
  return lists
end

local function trims(chat, messages, policy, share)
  chat:append(messages)
  local result, problem = chat:trim { budget = chat:tokens() * share // 10, policy = policy }
  local said = { problem and problem.message, result and result.dropped, result and result.tokens, chat:json() }
  chat:append { role = "user", content = "And?" }
  chat:rollback(0)
  for at = 1, #chat do
    if chat[at].role == "user" then
      chat:replace(at, { role = "user", content = "else" })
      break
    end
  end
  result = chat:trim { budget = chat:tokens() * share // 10, policy = policy }
  said[#said + 1], said[#said + 2] = result and result.tokens or "refused", chat:json()
  return said
end

describe("a conversation of a long life", function()
  for _, policy in ipairs { "keep_recent", "keep_turns", "stable_prefix", "digest", "clear_tool_uses",
    "prune_messages", "trim_messages", "supersede", "fold_output", "shrink_results", "mask_results" } do
    it("is trimmed as a new one, by " .. policy, function()
      for _, messages in ipairs(recorded()) do
        for _, share in ipairs { 3, 5, 8 } do
          local new, old = ebb.conversation { clock = clock }, after(60000000)
          assert.same(trims(new, messages, policy, share), trims(old, messages, policy, share))
        end
      end
    end)
  end

  it("has room up to the limit, which is told", function()
    local chat = after(MOST - 2)
    chat:append { { role = "user", content = "a" }, { role = "user", content = "b" } }
    local problem = helper.refusal(function() chat:append { role = "user", content = "c" } end)
    assert.equal("limit", problem.code)
    assert.equal(2, #chat)
    assert.equal((chat:write "ebb"), (assert(ebb.parse(chat:write "ebb")):write "ebb"))
    local _, message, code = helper.outcome(ebb.parse(helper.saved_after(MOST + 1)))
    assert.equal("limit", code)
    assert.truthy(message:find "expected at most 67108864 messages, removed ones among them")
  end)

  it("shows all messages that it has", function()
    local chat = after(MOST - 9)
    chat:append { { role = "user", content = "a" }, { role = "user", content = "b" } }
    assert.equal(2, #chat:all())
    chat:truncate { keep_last = 1 }
    assert.equal(2, #chat:all())
    chat:prune { keep = 1 }
    assert.equal(1, #chat:all())
  end)
end)
