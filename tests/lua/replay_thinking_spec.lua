--- Replays where thinking is bound to what came before it: what a trim has made worthless is not sent, and what that
--- costs and loses is counted.

local helper = dofile "tests/lua/helper.lua"
local ebb, json = helper.ebb, helper.ebb.json

local MODEL = "claude-opus-5-5"

--- The lengths of thoughts and texts are multiples of four, so that four bytes a token add up.
local function words(n) return ("word "):rep(4 * n):sub(1, 4 * n) end

local function reply(thought, ...)
  return { role = "assistant", content = { { type = "thinking", thinking = thought, signature = "s" }, ... } }
end

local function text(words_of) return { type = "text", text = words_of } end

local function recording(messages, model)
  local chat = ebb.conversation { encoding = "bytes4", model = model or MODEL }
  if messages[1] then chat:append(messages) end
  return chat
end

---- By hand ----

local ROOM = 30   -- tokens: two less than all have before the last reply

local LOST = {
  { role = "user", content = "Which of both?" }, reply("It may be ticket T-7001 or not.", text "The first."),
  { role = "user", content = "Open it." },
  { role = "assistant", content = { { type = "tool_use", id = "c", name = "open", input = { ticket = "T-7001" } } } } }

local function cut_first(draft)
  if #draft == 3 then draft:drop(1) end
end

local function play(messages, policy, budget, model)
  return assert(ebb.replay(recording(messages, model), { budget = budget, policies = { policy }, guards = false }))[2]
end

---- Random recordings ----

local function random_recording(n)
  local list = {}
  for i = 1, n do
    list[#list + 1] = { role = "user", content = words(math.random(9)) .. ("%04d"):format(i) }
    local has_call, has_thought = math.random(2) == 1, math.random(3) > 1
    local content = has_thought and reply(words(math.random(20)) .. "t" .. ("%03d"):format(i)).content or {}
    content[#content + 1] = text(words(math.random(9)) .. ("%04d"):format(i))
    if has_call then
      content[#content + 1] = { type = "tool_use", id = "c" .. i, name = "tool", input = { n = i } }
    end
    list[#list + 1] = { role = "assistant", content = content }
    if has_call then
      list[#list + 1] = { role = "user",
        content = { { type = "tool_result", tool_use_id = "c" .. i,
          content = words(math.random(30)) .. ("%04d"):format(i) } } }
      list[#list + 1] = { role = "assistant", content = { text(words(5) .. ("%04d"):format(-i)) } }
    end
  end
  return list
end

--- Returns a request as it is written: a list of messages as JSON texts, and their tokens.
local function written(chat)
  local body = assert(ebb.parse(chat:write("anthropic", { shape = "body", model = MODEL }), { encoding = "bytes4" }))
  local list = { tokens = {} }
  for i, message in ipairs(body) do
    list[i], list.tokens[i] = message.json, message.tokens
  end
  return list
end

--- Replays with the writer's own bodies; returns sums of tokens of messages sent, and of those shared.
local function live(messages, trim)
  local body = { model = MODEL, stop_sequences = { "x" }, messages = { messages[1] } }    -- no doubt about its dialect
  local chat = assert(ebb.parse(json.encode(body), { encoding = "bytes4" }))
  local sent, shared, last = 0, 0, {}
  for i = 2, #messages do
    local message = messages[i]
    if message.role == "assistant" then
      assert(chat:trim(trim))
      local list, is_same = written(chat), true
      for k, tokens in ipairs(list.tokens) do
        is_same = is_same and list[k] == last[k]
        sent, shared = sent + tokens, shared + (is_same and tokens or 0)
      end
      last = list
    end
    chat:append(message)
  end
  return sent, shared
end

local POLICIES = {
  { "keep_recent" }, { { "stable_prefix", low = 0.4 } }, { "keep_turns" }, { "mask_results", "keep_recent" },
  { "supersede", "stable_prefix" }, { { "prune_messages", reasoning = "before_last_message" }, "keep_recent" },
}

describe("a replay with bound thinking", function()
  it("loses what only thinking said, once something before it has changed", function()
    local cut = play(LOST, cut_first, ROOM)
    assert.equal(0, cut.recall_arguments)
    assert.equal(8, cut.thinking_lost)
    assert.same({ "T-7001", 2, false }, { cut.losses[1].value, cut.losses[1].message, cut.losses[1].present })
    local later = play(LOST, function(draft) if #draft == 3 then draft:drop(3) end end, ROOM)
    assert.equal(1, later.recall_arguments, "nothing before it has changed")
    assert.equal(0, later.thinking_lost)
  end)

  it("loses it at the server of Responses, too, which takes it out itself", function()
    local function item(role, words_of) return { role = role, content = words_of } end
    local input = {
      item("user", "Which of both?"),
      { type = "reasoning", id = "rs_1", encrypted_content = "AAAA",
        summary = { { type = "summary_text", text = "It may be ticket T-7001 or not." } } },
      item("assistant", "The first."), item("user", "Open it."),
      { type = "function_call", call_id = "c", name = "open", arguments = '{"ticket":"T-7001"}' },
    }
    local chat = assert(ebb.parse(json.encode { model = "gpt-5", input = input }, { encoding = "bytes4" }))
    local function losses_of(drop)
      return assert(ebb.replay(chat, { budget = 35, guards = false, policies = { drop } }))[2]
    end
    local cut = losses_of(function(draft) if #draft == 4 then draft:drop(1) end end)
    assert.same({ 0, "T-7001" }, { cut.recall_arguments, cut.losses[1].value })
    assert.is_true(cut.thinking_lost > 0)
    local later = losses_of(function(draft) if #draft == 4 then draft:drop(4) end end)
    assert.same({ 1, 0 }, { later.recall_arguments, later.thinking_lost })
  end)

  it("counts nothing of that for models that do not bind it", function()
    local cut = play(LOST, cut_first, ROOM, "claude-opus-4-5")
    assert.same({ 0, nil }, { cut.thinking_lost, cut.recall_arguments })
    assert.equal(0, cut.arguments.total)
  end)

  it("sends each thought until the first change before it", function()
    local list = { { role = "system", content = words(1) } }
    for i = 1, 3 do
      list[#list + 1] = { role = "user", content = words(i) }
      list[#list + 1] = reply(words(10 * i), text(words(1)))
    end
    local seen = {}
    assert(ebb.replay(recording(list), { budget = 1000, guards = false,
      policies = { function(draft) if #draft == 4 then draft:replace(2, { content = "changed!" }) end end },
      requests = function(request)
        if request.policy == "none" then return end
        local has = {}
        for i, line in ipairs(request.messages) do has[i] = line:find("thinking", 1, true) and i or nil end
        seen[#seen + 1] = has
      end }))
    assert.same({ {}, {}, { [5] = 5 } }, seen)
  end)

  it("has no best possible next to it, which would send that thinking", function()
    assert.is_nil(play(LOST, cut_first, ROOM).optimum)
    assert.is_number(play(LOST, "keep_recent", 1000).optimum)
  end)

  it("agrees with the bodies that are written", function()
    local lost = 0
    for round = 1, 6 do
      math.randomseed(round)
      local messages = random_recording(12)
      local budget = math.random(120, 300)
      for _, policy in ipairs(POLICIES) do
        local chat = recording(messages)
        local result = assert(ebb.replay(chat, { budget = budget, policies = { policy } }))[2]
        if result.refusals == 0 then
          local sent, shared = live(messages, { budget = budget, policy = policy })
          local overhead = recording({}):tokens() * result.requests
          assert.same({ sent, shared }, { result.sent - overhead, result.shared }, json.encode { round, result.policy })
          lost = lost + result.thinking_lost
        end
      end
    end
    assert.is_true(lost > 1000)
  end)
end)
