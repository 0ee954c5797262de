--- Every built-in policy on random histories: parallel, open and dead calls, repeated
--- ids, reasoning, images, pins, marks; budgets from 0 up. HISTORIES says how many,
--- SEED which ones; a failure names the one history to run again.

local helper = dofile "tests/lua/helper.lua"
local core = require "ebb.support.core"
local ebb = helper.ebb
local log = require "ebb.support.log"

local HISTORIES = math.tointeger(tonumber(os.getenv "HISTORIES" or "300"))
local SEED = helper.seed()
local PIXEL = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
  .. "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

---- Histories ----

local function random_text(longest)
  return ("word "):rep(math.random(0, longest)) .. math.random(1, 1000)
end

--- Makes a random result of a tool: words, lines again and again, JSON.
local function random_result()
  local kind, text = math.random(6), random_text(30)
  if kind == 1 then return ("line %d\n"):format(math.random(9)):rep(math.random(0, 20)) .. text end
  if kind == 2 then return ('[%s{"n": 1, "s": "x"}]'):format(('{"n": 1, "s": "x"}, '):rep(math.random(0, 30))) end
  return kind == 3 and text:rep(math.random(1, 20)) or text
end

local function random_content()
  if math.random(6) > 1 then return random_text(20) end
  local parts = { { type = "text", text = random_text(10) } }
  if math.random(2) == 1 then parts[2] = { type = "image_url", image_url = { url = PIXEL } } end
  return parts
end

--- An assistant message with calls; ids come from a few, so that they repeat.
local function random_calls()
  local message, used = { role = "assistant", tool_calls = {} }, {}
  local kind = math.random(4)      -- a text, null, or no key
  if kind <= 2 then message.content = random_text(5) elseif kind == 3 then message.content = ebb.null end
  if math.random(4) == 1 then message.reasoning_content = random_text(10) end
  for _ = 1, math.random(1, 3) do
    local id = "c" .. math.random(1, 6)
    if not used[id] then
      used[id] = true
      table.insert(message.tool_calls, { id = id, type = "function",
        ["function"] = { name = ("tool_%d"):format(math.random(1, 3)), arguments = '{"n": 1}' } })
    end
  end
  return message
end

--- Calls and most of their results, now and then with something between them.
local function add_exchange(list)
  local message = random_calls()
  list[#list + 1] = message
  if math.random(8) == 1 then list[#list + 1] = { role = "user", content = random_text(5) } end
  for _, call in ipairs(message.tool_calls) do
    if math.random(10) > 1 then
      list[#list + 1] = { role = "tool", tool_call_id = call.id, content = random_result() }
    end
  end
end

local function with_extras(message)
  if math.random(5) == 1 then message.metadata = { key = "k" .. math.random(1, 3) } end
  if message.role == "assistant" and math.random(5) == 1 then message.reasoning_content = random_text(10) end
  return message
end

local function random_messages(most)
  local list = {}
  if math.random(3) > 1 then list[1] = { role = "system", content = random_text(8) } end
  for _ = 1, math.random(0, most) do
    local kind = math.random(10)
    if kind <= 3 then
      list[#list + 1] = with_extras { role = "user", content = random_content() }
    elseif kind <= 6 then
      list[#list + 1] = with_extras { role = "assistant", content = random_content() }
    elseif kind == 7 and math.random(3) == 1 then
      list[#list + 1] = { role = "system", content = random_text(4) }
    elseif kind == 8 and math.random(4) == 1 then
      list[#list + 1] = { role = "tool", tool_call_id = "c" .. math.random(1, 6), content = random_text(5) }
    else
      add_exchange(list)
    end
  end
  return list
end

local MARKS = { "pinned", "important", "window", "obsolete" }

local function pick_mark() return MARKS[math.random(#MARKS)] end

local function random_chat(most)
  local chat, list = ebb.conversation { clock = function() return 1700000000000 end }, random_messages(most)
  if #list > 0 then chat:append(list) end
  for i = 1, #list do
    if math.random(8) == 1 then chat:mark(i, pick_mark()) end
  end
  return chat
end

---- Windows ----

--- Items of three windows and of one that does not exist, anywhere in a chat's messages.
local function with_items(list)
  for _ = 1, math.random(1, 8) do
    local id = math.random(12) == 1 and "absent" or "w" .. math.random(3)
    table.insert(list, math.random(#list + 1), { window = id })
  end
  return list
end

--- Windows as their lives may have left them: texts, elements, functions, one that fails.
local function random_window(chat, i)
  local text = random_text(15)
  local content = ({ text, { { "item", id = i, text } }, function() return text end, function() error "no" end })
    [math.random(4)]
  local window = chat.windows:open {
    id = "w" .. i, content = content, item = false, important = math.random(2) == 1, pinned = math.random(6) == 1,
    render = math.random(3) == 1 and "compact" or nil, refresh = math.random(3) == 1 and "append" or nil,
  }
  if math.random(5) == 1 then window:close() elseif math.random(6) == 1 then window:hide() end
end

local function chat_with_windows(most)
  local chat = ebb.conversation { clock = function() return 1700000000000 end }
  chat:append(with_items(random_messages(most)))
  for i = 1, #chat do
    if math.random(12) == 1 then chat:mark(i, pick_mark()) end
  end
  for i = 1, 3 do
    if math.random(8) > 1 then random_window(chat, i) end
  end
  return chat
end

--- Checks that the request shows each open window by its last item, once, and that no unit is torn.
local function check_rendered(chat, list)
  local last, seen = {}, {}
  for i = 1, #chat do
    if chat[i].window then last[chat[i].window] = i end
  end
  for _, message in ipairs(list or assert(chat.windows:render())) do
    local id = message.window
    local window = id and chat.windows:get(id)
    assert(not id or not seen[id], "a window is shown twice")
    assert(not id or last[id] and window and not window.closed and not window.hidden, "what is not there is shown")
    assert(not id or not chat[last[id]].obsolete, "an obsolete item is shown")
    if id then seen[id] = true end
  end
  for id in pairs(list and {} or last) do
    local window = chat.windows:get(id)
    assert(seen[id] or not window or window.closed or window.hidden, "a window is not shown")
  end
end

--- The list with its windows weighs what its messages weigh where they are only messages.
local function check_counted(chat)
  local plain, list = ebb.conversation {}, chat.windows:render()
  for _, message in ipairs(list) do message.window = nil end
  if #list > 0 then plain:append(list) end
  assert(plain:tokens() == chat:tokens(), ("%d tokens are counted as %d"):format(plain:tokens(), chat:tokens()))
end

---- Policies ----

local function model(request)
  local kind = math.random(6)
  if kind == 1 then return nil, "busy" end
  if kind == 2 then return { text = "cut", finish_reason = "length" } end
  return ("said %d"):format(request.tokens)
end

local function pick(list) return list[math.random(#list)] end

local POLICIES = {
  function() return { "keep_recent", keep = math.random(0, 3) } end,
  function() return { "keep_turns", turns = math.random(0, 4) } end,
  function() return { "stable_prefix", low = math.random() * 0.9, grid = pick { 0, 0, 20 } } end,
  function() return { "idle", low = math.random() * 0.9, idle = math.random(0, 9) } end,
  function() return { "agent", share = math.random() * 0.3, recall = math.random(2) == 1,
    idle = math.random(0, 9) } end,
  function() return { "digest", recall = math.random(2) == 1, low = math.random() * 0.9, share = math.random() * 0.5,
    keep = math.random(0, 3), role = pick { "user", "assistant" }, language = pick { "en", "zh" } } end,
  function() return { "summarize", keep = math.random(0, 4), max_tokens = math.random(1, 40) } end,
  function() return { "clear_tool_uses", keep = math.random(0, 3), clear_tool_inputs = math.random(2) == 1,
    exclude_tools = pick { {}, { "tool_1" } }, trigger = pick { { tool_uses = 0 }, { messages = 3 },
      { input_tokens = 9 } },
    clear_at_least = pick { 0, 20 } } end,
  function() return { "prune_messages", reasoning = pick { "none", "all", "before_last_message" },
    tool_calls = pick { "none", "all", "before_last_message", "before_last_3_messages", { { type = "all",
      tools = { "tool_1" } } } },
    empty_messages = pick { "remove", "keep" } } end,
  function()
    local strategy = pick { "first", "last" }
    return { "trim_messages", strategy = strategy, allow_partial = math.random(2) == 1, split_by = pick { "lines",
      "words" },
      include_system = strategy == "last" and math.random(2) == 1 or nil, end_on = pick { {}, { "human" }, { "ai",
        "tool" } },
      start_on = strategy == "last" and pick { {}, { "human" } } or nil }
  end,
  function() return { "quota", messages = { tool = math.random(0, 3), user = math.random(0, 3) },
    tokens = { assistant = 40 } } end,
  function() return { "supersede", by = pick { { "key" }, { "call", "path", "text" }, { "key", "call", "text" } } } end,
  function() return { "fold_output", users = math.random(2) == 1, similar = pick { 0, 4 } } end,
  function() return { "shrink_results", keep = math.random(0, 2), step = math.random(1, 3), head = math.random(0, 20),
    tail = math.random(0, 20), users = math.random(2) == 1 } end,
  function() return { "mask_results", keep = math.random(0, 2), step = math.random(1, 3) } end,
}

local function random_policy()
  local policy = pick(POLICIES)()
  if math.random(3) > 1 then return policy end
  return { policy, pick(POLICIES)(), "keep_recent" }
end

--- For people: {"quota", messages = ...}.
local function show(value)
  if type(value) ~= "table" then return type(value) == "string" and ("%q"):format(value) or tostring(value) end
  local words = {}
  for key, item in pairs(value) do
    words[#words + 1] = (type(key) == "number" and "" or key .. " = ") .. show(item)
  end
  table.sort(words)
  return "{ " .. table.concat(words, ", ") .. " }"
end

---- What must hold ----

--- By content and place in the store: the units, and which of their messages are there.
local function units_of(chat, guards)
  local draft, units, guarded = chat:draft { guards = guards }, {}, {}
  for unit in draft:units {} do
    local seqs = {}
    for _, message in ipairs(unit.messages) do
      seqs[#seqs + 1] = message.seq
      guarded[message.seq] = unit.guarded or nil
    end
    units[#units + 1] = seqs
  end
  core.draft.discard(draft)
  return units, guarded
end

--- Returns what became of each message: dropped, or the seq that replaced it.
local function fates_of(report)
  local gone, now = {}, {}
  for i = 1, #report.ledger do
    local entry = report.ledger[i]
    if entry.action == "dropped" then gone[entry.seq] = true end
    if entry.action == "replaced" then now[entry.seq] = entry.replacement end
  end
  return function(seq)
    while now[seq] do
      seq = now[seq]
    end
    return gone[seq], seq
  end
end

local function check_units(units, guarded, report)
  local fate = fates_of(report)
  for _, seqs in ipairs(units) do
    local first_gone = fate(seqs[1])
    for _, seq in ipairs(seqs) do
      local gone, now = fate(seq)
      assert(gone == first_gone, ("unit of message %d was torn at %d"):format(seqs[1], seq))
      assert(not guarded[seq] or not gone and now == seq, ("guarded message %d was changed"):format(seq))
    end
  end
end

--- Counts violations, not their names: a result that answers nothing gets another one once its neighbours have gone.
local function violations(chat)
  return #chat:check "openai"
end

local function check_sum(chat, report)
  local freed = 0
  for i = 1, #report.ledger do
    freed = freed + report.ledger[i].tokens
  end
  assert(freed == report.before - report.after, "the ledger does not add up")
  assert(report.after == chat:tokens(), "the report is wrong about what is left")
end

local REFUSALS = { cannot_fit = true, over_budget = true, model = true }

local function check_trim(chat, budget, policy)
  local before, broken = helper.snapshot(chat), violations(chat)
  local units, guarded = units_of(chat, true)
  local seed = math.random(1 << 30)
  local function trim(target, dry_run)
    math.randomseed(seed)   -- the same answers of the model
    return target:trim { budget = budget, policy = policy, dry_run = dry_run, model = model }
  end

  local dry, dry_why, dry_code = helper.outcome(trim(chat, true))
  assert(helper.snapshot(chat) == before, "a dry run changed something")
  local report, why, code = helper.outcome(trim(chat))
  if not report then
    assert(REFUSALS[code], ("%s: %s"):format(code, why))
    assert(code == dry_code and why == dry_why, "a dry run was refused otherwise")
    assert(helper.snapshot(chat) == before, "a refused trim changed something")
    return false
  end

  assert(report.after <= budget, "over the budget")
  assert(dry and dry.ledger:json() == report.ledger:json(), "a dry run has another ledger")
  check_units(units, guarded, report)
  check_sum(chat, report)
  local now = violations(chat)
  assert(now <= broken, ("%d violations where there were %d"):format(now, broken))
  local after, last = chat:json(), report.batch
  chat:rollback(0)
  local list = {}
  for i = 1, #chat do
    list[i] = chat[i].json
  end
  assert(helper.snapshot(chat):sub(1, 1) == "{" and before:find(table.concat(list), 1, true), "rollback lost something")
  chat:rollback(last)
  assert(chat:json() == after, "rolling forward again lost something")
  return true
end

---- By brute force ----

--- The droppable units in the order in which a policy may drop them must be dropped from its beginning, no
--- more than needed: `order(units)` says in which.
local function check_most(chat, budget, policy, order)
  local draft, units, tokens, before = chat:draft {}, {}, chat:tokens(), #chat
  local left = before
  for unit, weight in draft:units { droppable = true } do
    units[#units + 1] = { seq = unit.messages[1].seq, weight = weight, first = unit.first, message = unit.messages[1],
      count = unit.count }
  end
  local sorted = order(chat, units)
  local expected = {}
  for _, unit in ipairs(sorted) do
    if tokens <= budget then break end
    expected[unit.seq], tokens, left = true, tokens - unit.weight, left - unit.count
  end
  core.draft.discard(draft)

  local report = chat:trim { budget = budget, policy = policy }
  if tokens > budget or left == 0 and before > 0 then return assert(not report, "it fits what cannot fit") end
  local fate = fates_of(assert(report))
  for _, unit in ipairs(sorted) do
    assert((fate(unit.seq) or false) == (expected[unit.seq] or false), ("message %d"):format(unit.seq))
  end
end

local function oldest_first(_, units) return units end

local function by_turns(turns)
  return function(chat, units)
    local users, marks = {}, {}
    for i = 1, #chat do
      if chat[i].role == "user" then users[#users + 1] = i end
      for _, mark in ipairs(chat[i].marks) do
        marks[i .. mark] = true
      end
    end
    local border = turns == 0 and #chat + 1 or users[math.max(1, #users - turns + 1)] or 1
    local function has(unit, mark)
      for _, message in ipairs(chat[unit.first].unit.messages) do
        if marks[message.index .. mark] then return true end
      end
    end
    local rank = {}
    for i, unit in ipairs(units) do
      local is_recent, is_window = unit.first >= border, has(unit, "window")
      local class = has(unit, "obsolete") and 1 or not is_recent and (is_window and 3 or 2) or is_window and 4 or 5
      rank[unit] = class * 1000 + i
    end
    local sorted = table.move(units, 1, #units, 1, {})
    table.sort(sorted, function(a, b) return rank[a] < rank[b] end)
    return sorted
  end
end

---- The tests ----

describe("random histories", function()
  it("are neither torn nor broken by any policy", function()
    local fitted = 0
    for i = 1, HISTORIES do
      math.randomseed(SEED + i)
      local chat = random_chat(i % 3 == 0 and 60 or 14)
      local budget = math.random(0, math.max(1, chat:tokens() + 20))
      if math.random(20) == 1 then budget = 0 end
      local policy = random_policy()
      local ok, problem = pcall(check_trim, chat, budget, policy)
      if not ok then
        chat:rollback(0)
        error(("%s\nHISTORIES=1 SEED=%d, budget %d, policy %s\n%s"):format(tostring(problem), SEED + i - 1, budget,
          show(policy), chat:json()), 0)
      end
      fitted = fitted + (problem and 1 or 0)
    end
    assert(HISTORIES < 50 or fitted > HISTORIES // 10, "hardly anything was trimmed")
  end)

  it("with windows in them are trimmed, rendered, checked and mended", function()
    local before, fitted = log.to(function() end), 0
    for i = 1, HISTORIES do
      math.randomseed(SEED + i)
      local chat = chat_with_windows(i % 3 == 0 and 40 or 12)
      local budget, policy = math.random(0, math.max(1, chat:tokens() + 20)), random_policy()
      local ok, problem = pcall(function()
        check_rendered(chat)
        local list, _, code = helper.outcome(chat.windows:render { max_tokens = budget })
        assert(list or code == "cannot_fit", code)
        check_rendered(chat, list or {})
        local trimmed = check_trim(chat, budget, policy)
        check_rendered(chat)
        check_counted(chat)
        local mended = chat:repaired { dialect = "openai" }
        for _, violation in ipairs(mended:check "openai") do
          assert(violation.code == "media_place" and not violation.mendable, "it is not mended: " .. violation.code)
        end
        return trimmed
      end)
      if not ok then
        log.to(before)
        error(("%s\nHISTORIES=1 SEED=%d, budget %d, policy %s"):format(tostring(problem), SEED + i - 1, budget,
          show(policy)), 0)
      end
      fitted = fitted + (problem and 1 or 0)
    end
    log.to(before)
    assert(HISTORIES < 50 or fitted > HISTORIES // 10, "hardly anything was trimmed")
  end)

  it("are kept as far as the rule of keep_recent and keep_turns allows", function()
    for i = 1, HISTORIES do
      math.randomseed(SEED + i)
      local chat, turns = random_chat(12), math.random(0, 4)
      local budget = math.random(0, math.max(1, chat:tokens()))
      local ok, problem = pcall(check_most, chat:fork(), budget, "keep_recent", oldest_first)
      if ok then ok, problem = pcall(check_most, chat, budget, { "keep_turns", turns = turns }, by_turns(turns)) end
      if not ok then
        local text = "%s\nHISTORIES=1 SEED=%d, budget %d, turns %d"
        error(text:format(tostring(problem), SEED + i - 1, budget, turns), 0)
      end
    end
  end)
end)
