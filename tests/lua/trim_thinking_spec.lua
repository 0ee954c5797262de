--- Trims for models that bind thinking to all that comes before it: what the request will leave out weighs nothing,
--- so that no more goes than must.

local helper = dofile "tests/lua/helper.lua"
local ebb, json = helper.ebb, helper.ebb.json

local core = require "ebb.support.core"

local MODEL, FREE = "claude-opus-5-5", "claude-opus-4-5"

local function words(n) return ("word "):rep(4 * n):sub(1, 4 * n) end

local function reply(thought, ...)
  return { role = "assistant", content = { { type = "thinking", thinking = thought, signature = "s" }, ... } }
end

local function text(content) return { type = "text", text = content } end

local function parsed(messages, model)
  local body = { model = model or MODEL, max_tokens = 10, stop_sequences = { "x" }, messages = messages }
  return assert(ebb.parse(json.encode(body), { encoding = "bytes4" }))
end

--- Tokens of the request as it is written.
local function sent(chat)
  local body = chat:write("anthropic", { shape = "body" })
  return assert(ebb.parse(body, { encoding = "bytes4" })):tokens(), body
end

local function random_messages(n)
  local list = {}
  for i = 1, n do
    list[#list + 1] = { role = "user", content = words(math.random(9)) .. ("%04d"):format(i) }
    local content = math.random(4) > 1 and reply(words(math.random(20)) .. ("%04d"):format(i)).content or {}
    content[#content + 1] = text(words(math.random(9)) .. ("%04d"):format(i))
    local calls = math.random(3) == 1
    if calls then content[#content + 1] = { type = "tool_use", id = "c" .. i, name = "tool", input = { n = i } } end
    list[#list + 1] = { role = "assistant", content = content }
    if calls then
      list[#list + 1] = { role = "user",
        content = { { type = "tool_result", tool_use_id = "c" .. i, content = words(math.random(30)) } } }
      list[#list + 1] = { role = "assistant", content = { text(words(5)) } }
    end
  end
  list[#list + 1] = { role = "user", content = "and now?" }
  return list
end

--- True if a chat without its oldest units but `kept` fits, by what is really sent.
local function fits_with(chat, dropped, budget)
  local copy = chat:fork()
  local report = copy:trim { budget = 1000000, guards = true, policy = function(draft)
    local list = {}
    for unit in draft:units { droppable = true } do list[#list + 1] = unit end
    for i = 1, dropped do draft:drop(list[i], "test") end
  end }
  return report and (sent(copy)) <= budget
end

--- Counts the units that a policy may drop.
local function droppable(chat)
  local draft, count = chat:draft {}, 0
  for _ in draft:units { droppable = true } do count = count + 1 end
  core.draft.discard(draft)
  return count
end

local POLICIES = { "keep_recent", "trim_messages", "keep_turns",
  { "stable_prefix", high = 1, low = 0.999999, grid = 1 } }

describe("a trim with bound thinking", function()
  local CHAT = { { role = "user", content = words(10) }, reply(words(100), text(words(10))),
    { role = "user", content = words(10) }, reply(words(100), text(words(10))), { role = "user", content = words(1) } }

  it("drops no more than must, as thinking after the first cut is not sent", function()
    local chat, free = parsed(CHAT), parsed(CHAT, FREE)
    local report = assert(chat:trim { budget = 120 })
    assert.same({ 1, 4 }, { report.dropped, report.kept })
    assert.equal(sent(chat), report.after)
    assert.equal(200, report.thinking_left)
    assert.equal(4, assert(free:trim { budget = 120 }).dropped)
  end)

  it("lets the ledger and the thinking left out add up to before minus after", function()
    local chat = parsed(CHAT)
    local report, freed = assert(chat:trim { budget = 120 }), 0
    for _, entry in ipairs(report.ledger) do freed = freed + entry.tokens end
    assert.equal(report.before - report.after, freed + report.thinking_left)
  end)

  it("weighs messages in a draft as they will be sent, and says what an edit really frees", function()
    local chat = parsed(CHAT)
    assert(chat:trim { budget = 1000, policy = function(draft)
      local before, thought = draft:tokens(), draft[2].tokens
      local freed = draft:drop(draft[1], "first")
      assert.equal(before - draft:tokens(), freed)
      assert.equal(thought - 100, draft[1].tokens)
      assert.equal(draft[1].tokens, draft[1].unit.tokens)
    end })
  end)

  it("leaves thinking before the first cut, and what came since an earlier one", function()
    local chat = parsed(CHAT)
    assert(chat:trim { budget = 10000, policy = function(draft) draft:drop(draft[3], "middle") end })
    assert.equal(1, select(2, chat:write("anthropic", { shape = "body" }):gsub('"type":"thinking"', "")))
    chat:append(reply(words(50), text(words(1))))
    chat:append { role = "user", content = words(1) }
    local report = assert(chat:trim { budget = 10000 })
    assert.same({ 100, 0 }, { report.thinking_left, report.dropped })
    assert.equal(sent(chat), report.after)
    report = assert(chat:trim { budget = report.after - 1 })
    assert.equal(sent(chat), report.after)
  end)

  it("counts guarded messages without thinking that cannot be sent once the others are gone", function()
    local chat = parsed(CHAT)
    chat:mark(4, "pinned")
    local all = assert(chat:trim { budget = 60, policy = "keep_recent" })
    assert.equal(sent(chat), all.after)
  end)

  it("takes back what edits that undo each other left out", function()
    local chat = parsed(CHAT)
    local report = assert(chat:trim { budget = 10000, policy = function(draft)
      assert(draft:insert(1, { role = "user", content = "note" }, "note"))
      draft:drop(draft[1], "undone")
    end })
    assert.equal(0, report.thinking_left)
    assert.equal(sent(chat), report.after)
  end)

  it("counts the thinking of what a policy writes in the place of a message", function()
    local chat = parsed(CHAT)
    local report = assert(chat:trim { budget = 10000, policy = function(draft)
      assert(draft:replace(draft[4], { content = reply(words(30), text "short").content }, "shorter"))
      assert(draft:replace(draft[2], { content = { text "short" } }, "shorter"))
    end })
    assert.equal(30, report.thinking_left)
    assert.equal(sent(chat), report.after)
  end)

  it("keeps as much as really fits, in random histories", function()
    local shared, seed = 0, tonumber(os.getenv "SEED") or os.time()
    for round = 1, 60 do
      math.randomseed(seed + round)
      local messages = random_messages(math.random(4, 14))
      for number, policy in ipairs(POLICIES) do
        local chat = parsed(messages)
        if math.random(3) == 1 then chat:trim { budget = chat:tokens() - math.random(30) } end
        local before, count = chat:fork(), droppable(chat)
        local budget = math.random(chat:tokens() // 3, chat:tokens())
        local report, problem = chat:trim { budget = budget, policy = policy }
        local where = json.encode { seed, round, number, budget }
        if report then
          assert.equal(sent(chat), report.after, where)
          assert.is_true(report.after <= budget, where)
          local went = count - droppable(chat)
          if went > 0 then assert.is_false(fits_with(before, went - 1, budget), where) end
          shared = shared + report.thinking_left
        else
          assert.equal("cannot_fit", problem.code, where)
          assert.is_false(fits_with(before, count, budget), where)
        end
      end
    end
    assert.is_true(shared > 1000)
  end)

  it("leaves sound sums after random edits that may be refused", function()
    local seed = tonumber(os.getenv "SEED") or os.time()
    for round = 1, 60 do
      math.randomseed(seed + round)
      local chat = parsed(random_messages(math.random(3, 8)))
      local report = assert(chat:trim { budget = 1000000, guards = math.random(2) == 1, policy = function(draft)
        for _ = 1, math.random(8) do
          local message, way = draft[math.random(#draft)], math.random(5)
          if way == 1 then draft:drop(message, "x")
          elseif way == 2 then draft:insert(math.random(#draft + 1), { role = "user", content = words(3) }, "x")
          elseif way == 3 and #message.calls == 0 and #message.answers == 0 then
            draft:replace(message, { content = { text(words(2)) } }, "x")
          elseif way == 4 then draft:drop_oldest { to = math.max(0, draft:tokens() - math.random(40)), reason = "x" }
          elseif way == 5 and message.role == "assistant" and #message.calls == 0 then
            draft:replace(message, { content = reply(words(math.random(9)), text "y").content }, "x")
          end
          if #draft == 0 then return end
        end
      end })
      if #chat > 0 then assert.equal(sent(chat), report.after, json.encode { seed, round }) end
    end
  end)
end)
