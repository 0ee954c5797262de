--- ebb.replay: figures held against a plain replay that keeps every request as a list.

local helper = dofile "tests/lua/helper.lua"
local it_exact = dofile "tests/lua/it_exact.lua"(it, function(why) pending(why) end)
local ebb, conversation, refusal = helper.ebb, helper.conversation, helper.refusal

--- Replays by trimming and copying whole lists, request by request.
local function plain(recording, spec, budget)
  local chat = recording:fork()
  chat:truncate { keep_last = 0 }
  local result = { requests = 0, refusals = 0, sent = 0, shared = 0, dropped = 0, full = 0, filled = 0 }
  local before, whole = {}, chat:tokens()
  local function send()
    local report = chat:trim { budget = budget, policy = spec }
    if not report then result.refusals = result.refusals + 1 return end
    local now, same = {}, true
    for i, message in ipairs(chat) do
      now[i] = message.json
      same = same and before[i] == now[i]
      if same then result.shared = result.shared + message.tokens end
    end
    before = now
    result.requests, result.sent = result.requests + 1, result.sent + chat:tokens()
    result.dropped = result.dropped + report.dropped
    if whole > budget then result.full, result.filled = result.full + 1, result.filled + chat:tokens() / budget end
  end
  for _, message in ipairs(recording) do
    if message.role == "assistant" and #chat > 0 then send() end
    chat:append(ebb.json.raw(message.json))
    for _, mark in ipairs(message.marks) do chat:mark(#chat, mark) end
    whole = whole + message.tokens
  end
  return result
end

local function assert_like_plain(recording, spec, budget)
  local expected = plain(recording, spec, budget)
  local result = assert(ebb.replay(recording, { policies = { spec }, budget = budget }))[2]
  assert.same({ expected.requests, expected.refusals, expected.sent, expected.shared, expected.dropped },
    { result.requests, result.refusals, result.sent, result.shared, result.messages_dropped })
  local fill = expected.full > 0 and expected.filled / expected.full or nil
  assert(fill == result.fill or math.abs(fill - result.fill) < 1e-9)
  return result
end

--- Cuts to half when it is over, and replaces what it finds in the tools.
local function deep(draft, budget)
  if draft:tokens() > budget then draft:drop_oldest { to = budget // 2 } end
end

local function rewriting(draft, budget)
  for message in draft:messages { role = "tool" } do
    if message.content ~= "r1" then draft:replace(message, { content = "r1" }) end
  end
  draft:drop_oldest { to = budget }
end

--- A policy that inserts the same words each time, in a new message: only equal bytes count.
local function repeating(draft, budget)
  local first = draft[1]
  if first.content == "u3" then draft:drop(first) end
  draft:insert(1, { role = "user", content = "u3" })
  draft:drop_oldest { to = budget }
end

local MADE_UP = {
  "s5 u4 a3 u4 a3 u4 a3 u4 a3 u4 a3",
  "u4 c9(x) r8(x) a3 u4 c2(x,y) r5(y) r4(x) a2 u1! a1 u8 a1 u9 a9 u2 a4 u1 c1(z)",
  "a4 u2 a2", "u4", "",
}

describe("a replay", function()
  for _, words in ipairs(MADE_UP) do
    it("of " .. words, function()
      local chat = conversation(words)
      local before = helper.snapshot(chat)
      for budget = 0, 40, 5 do
        assert(ebb.replay(chat, { policies = { "keep_recent", repeating }, budget = budget }))
      end
      assert.equal(before, helper.snapshot(chat))

      for budget = 0, 40, 5 do
        for _, spec in ipairs { "keep_recent", deep, rewriting, { { "keep_recent", keep = 2 }, deep } } do
          assert_like_plain(chat, spec, budget)
        end
      end
    end)
  end

  it("counts what is equal byte by byte, not what is the same message", function()
    local chat = conversation "u4 a3 u4 a3 u4 a3"
    local result = assert_like_plain(chat, repeating, 100)
    assert.is_true(result.shared > 0)
  end)

  it("lets a policy remember, and each policy live by itself", function()
    local seen = {}
    local function counting(draft)
      draft.memory.times = (draft.memory.times or 0) + 1
      seen[#seen + 1] = draft.memory.times
    end
    local chat = conversation "u4 a3 u4 a3 u4 a3"
    local specs = { counting, counting, { counting, "keep_recent" } }
    local results = assert(ebb.replay(chat, { policies = specs, budget = 50 }))
    assert.same({ 1, 2, 3, 1, 2, 3, 1, 2, 3 }, seen)
    assert.same({ "function", "function, keep_recent" }, { results[2].policy, results[4].policy })
  end)

  it("counts units, not messages", function()
    local chat = conversation "u1 c2(x,y) r3(x) r4(y) a5 u6 a7 u8 a9"
    local result = ebb.replay(chat, { policies = { deep }, budget = 20 })[2]
    assert.equal(5, result.messages_dropped - result.units_dropped + 3)
  end)

  it("counts refusals and goes on", function()
    local chat = conversation "u1 a1 u50 a1 u2 a1"
    local result = ebb.replay(chat, { budget = 20 })[2]
    assert.same({ 2, 1 }, { result.requests, result.refusals })
    assert.truthy(result.first_refusal:find "cannot fit")
  end)

  it("begins with no trimming, which is never refused", function()
    local chat = conversation "u1 a1 u50 a1 u2 a1"
    local none = ebb.replay(chat, { budget = 20 })[1]
    local sent = 0
    for n = 1, #chat - 1, 2 do
      local history = chat:fork()
      history:truncate { keep_first = n }
      sent = sent + history:tokens()
    end
    assert.same({ "none", 3, 0, sent, 0 }, { none.policy, none.requests, none.refusals, none.sent, none.units_dropped })
    assert.is_true(none.fill > 1)
  end)

  it("ends when a policy fails", function()
    local chat = conversation "u1 a1"
    local options = { policies = { function() error "boom" end }, budget = 5 }
    local result, why, code = helper.outcome(ebb.replay(chat, options))
    assert.is_nil(result)
    assert.truthy(why:find "boom")
    assert.equal("policy", code)
  end)

  it("refuses what it does not know", function()
    local chat = conversation "u1 a1"
    assert.truthy(refusal(ebb.replay, chat, { budgets = 5 }).hint:find "budget")
    assert.equal("argument", refusal(ebb.replay, chat).code)
    assert.equal("argument", refusal(ebb.replay, {}, { budget = 5 }).code)
    assert.equal("argument", refusal(ebb.replay, chat, { budget = 5, policies = "keep_recent" }).code)
    assert.equal("unknown_name", refusal(ebb.replay, chat, { budget = 5, policies = { "keep_recen" } }).code)
  end)
end)

describe("a replay of a real conversation", function()
  local shared = helper.shared and ebb.load(helper.shared .. "/data/conversations/composite-long-tau-airline.json")
  local chat = shared or ebb.load "scripts/samples/support.json"

  it_exact("agrees with the plain one", function()
    assert_like_plain(chat, "keep_recent", chat:tokens() // 3)
  end)

  it("shows a stable prefix", function()
    if not shared then return pending "skipped: EBB_SHARED has no long conversation" end
    if not ebb.policies.stable_prefix then
      pending "there is no stable_prefix"
      return
    end
    local results = ebb.replay(chat, { policies = { "stable_prefix", "keep_recent" }, budget = chat:tokens() // 3 })
    local stable, recent = results[2], results[3]
    assert.is_true(stable.share >= 0.9)
    assert.is_true(stable.fill >= 0.7)
    assert.is_true(recent.share < stable.share)
  end)
end)
