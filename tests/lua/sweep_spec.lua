--- Trimming at budgets from 0 to the total, over real conversations and made-up
--- histories: no unit torn, nothing guarded dropped, within budget or
--- cannot_fit, and keep_recent is maximal: the unit dropped last, put back,
--- would exceed the budget. SEED=n repeats a run.

local helper = dofile "tests/lua/helper.lua"
local vocabularies = require "ebb.models.vocabularies"
local ebb = helper.ebb

local BUDGETS = 60
local HISTORIES = 300

---- What must hold ----

--- Units found in another way than the core does it: a list of {first = position,
--- seqs, tokens, guarded}, from the list of messages as tables.
local function model_units(chat)
  local units, waiting = {}, {}   -- waiting: call id -> stack of units whose call is open
  for i, message in ipairs(chat) do
    local data = message:totable()
    local stack = message.role == "tool" and waiting[data.tool_call_id]
    local unit = stack and table.remove(stack)
    if unit then
      unit.open = unit.open - 1
    else
      unit = { seqs = {}, tokens = 0, open = #message.calls, role = message.role, first = i }
      units[#units + 1] = unit
      for _, call in ipairs(message.calls) do
        waiting[call.id] = waiting[call.id] or {}
        table.insert(waiting[call.id], unit)
      end
    end
    table.insert(unit.seqs, message.seq)
    unit.tokens = unit.tokens + message.tokens
  end
  return units
end

--- Marks what the guards hold: system, the last user message, the pending units.
local function guard(units)
  local last_user
  for _, unit in ipairs(units) do
    unit.guarded = unit.role == "system"
    if unit.role == "user" then last_user = unit end
  end
  if last_user then last_user.guarded = true end
  for _, unit in ipairs(units) do
    if unit.open > 0 and (not last_user or last_user.first < unit.first) then unit.guarded = true end
  end
  return units
end

local function seqs_of(chat)
  local seqs = {}
  for _, message in ipairs(chat) do
    seqs[message.seq] = true
  end
  return seqs
end

--- Returns the first fault of a trimmed list, or nil.
local function fault(units, seqs, after, budget)
  if after > budget then return "over budget" end
  local newest_dropped
  for _, unit in ipairs(units) do
    local kept = 0
    for _, seq in ipairs(unit.seqs) do
      if seqs[seq] then kept = kept + 1 end
    end
    if kept ~= 0 and kept ~= #unit.seqs then return "a unit is torn at seq " .. unit.seqs[1] end
    if kept == 0 and unit.guarded then return "a guarded unit is gone, seq " .. unit.seqs[1] end
    if kept == 0 then newest_dropped = unit end
  end
  if newest_dropped and after + newest_dropped.tokens <= budget then
    return "not maximal: seq " .. newest_dropped.seqs[1] .. " would have fitted"
  end
end

--- The least that a request has: what is guarded, or else the newest unit, for none is empty.
local function least_tokens(units, overhead)
  local sum, is_guarded = overhead, false
  for _, unit in ipairs(units) do
    if unit.guarded then sum, is_guarded = sum + unit.tokens, true end
  end
  return is_guarded and sum or sum + (#units > 0 and units[#units].tokens or 0)
end

local function freed(ledger)
  local sum = 0
  for _, entry in ipairs(ledger) do
    sum = sum + entry.tokens
  end
  return sum
end

local function sweep(chat, budgets, name)
  local units, total, message_tokens = guard(model_units(chat)), chat:tokens(), 0
  for _, unit in ipairs(units) do
    message_tokens = message_tokens + unit.tokens
  end
  local least = least_tokens(units, total - message_tokens)
  for step = 0, budgets do
    local budget = total * step // budgets
    local fork = chat:fork()
    local report, why, code = helper.outcome(fork:trim { budget = budget })
    local where = ("%s, budget %d of %d: "):format(name, budget, total)
    if report then
      local wrong = fault(units, seqs_of(fork), report.after, budget)
      if wrong then error(where .. wrong, 0) end
      assert(report.after == fork:tokens(), where .. "the report is wrong")
      assert(freed(report.ledger) == report.before - report.after, where .. "the ledger does not add up")
      assert(budget >= least, where .. "fits although the guarded part does not")
    else
      assert(code == "cannot_fit", where .. tostring(why))
      assert(budget < least, where .. "cannot_fit although the guarded part fits")
    end
  end
end

---- Conversations ----

describe("conversations", function()
  local paths = helper.conversations()
  table.move({ "scripts/samples/support.json", "scripts/samples/chat.jsonl" }, 1, 2, #paths + 1, paths)
  for _, path in ipairs(paths) do
    it(path:match "[^/]+$", function()
      -- An estimator that the caller chose has no margin, which the model of guards does not know.
      local options = not vocabularies.find "o200k_base" and { encoding = "cjk" } or nil
      sweep(assert(ebb.load(path, options)), BUDGETS, path:match "[^/]+$")
    end)
  end
end)

---- Made-up histories ----

local seed = helper.seed()
local random   -- set before each history, so that one history repeats by its seed

local function pick(list) return list[random(#list)] end

--- An assistant message with one to four calls, some of them answered, in any order.
local function add_calls(words, results_of_few)
  local ids = {}
  for i = 1, random(4) do
    ids[i] = pick { "p", "q", "r", "s" }   -- few ids: they repeat, also within a message
  end
  local seen, unique = {}, {}
  for _, id in ipairs(ids) do
    if not seen[id] then unique[#unique + 1] = id end
    seen[id] = true
  end
  words[#words + 1] = ("c%d(%s)"):format(random(0, 9), table.concat(unique, ","))
  while #unique > 0 do
    local id = table.remove(unique, random(#unique))
    if random(10) > results_of_few then words[#words + 1] = ("r%d(%s)"):format(random(0, 30), id) end
  end
end

local function history()
  local words, results_of_few = {}, random(0, 4)
  if random(3) > 1 then words[1] = "s" .. random(0, 20) end
  for _ = 1, random(0, 25) do
    local kind = random(10)
    if kind <= 3 then
      words[#words + 1] = "u" .. random(0, 20)
    elseif kind <= 6 then
      words[#words + 1] = "a" .. random(0, 20)
    elseif kind <= 9 then
      add_calls(words, results_of_few)
    else
      words[#words + 1] = pick { "s4", "r7(nobody)", "u0" }
    end
  end
  return table.concat(words, " ")
end

--- A generator of its own, so that a run depends on nothing but its seed.
local function generator(state)
  return function(low, high)
    if not high then low, high = 1, low end
    state = (state * 6364136223846793005 + 1442695040888963407)
    return low + (state >> 33) % (high - low + 1)
  end
end

describe("made-up histories (SEED=" .. seed .. ")", function()
  it("with parallel and open calls and repeated ids", function()
    for i = 1, HISTORIES do
      random = generator(seed + i)
      local words = history()
      local chat = helper.conversation(words)
      local ok, problem = pcall(sweep, chat, 12, words)
      assert(ok, ("SEED=%d, history %d: %s"):format(seed, i, tostring(problem)))
    end
  end)

  it("the request that check accepts stays accepted", function()
    for i = 1, HISTORIES do
      random = generator(seed - i)
      local words = {}
      for _ = 1, random(1, 12) do
        add_calls(words, 0)
        words[#words + 1] = pick { "u5", "a5", "u9" }
      end
      local chat = helper.conversation(table.concat(words, " "))
      assert.same({}, chat:check "openai")
      if chat:trim { budget = chat:tokens() * random(1, 9) // 10 } then
        assert.same({}, chat:check "openai")
      end
    end
  end)
end)
