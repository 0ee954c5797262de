--- What policies cost through Lua: loops over units, drops one by one, and the bulk verb.
--
--     lua5.4 tests/bench/policies.lua
--
-- EBB_BUILD  the build whose module is measured (build/release)
-- ROUNDS     trims per figure (21); the figure is their median
--
-- All trims are dry runs, so that each begins with the same conversation.

local build = os.getenv "EBB_BUILD" or "build/release"
package.path = ("%s/lua/?.lua;%s/lua/?/init.lua;"):format(build, build) .. package.path
package.cpath = ("%s/lua/?.so;"):format(build) .. package.cpath

local ebb = require "ebb"

local ROUNDS = math.tointeger(tonumber(os.getenv "ROUNDS" or "21"))
local FITS = 1 << 40

--- Turns of four messages: a question, a call, its result, an answer.
local function conversation(count)
  local chat, list = ebb.conversation(), {}
  for i = 1, count, 4 do
    local id = "c" .. i
    list[i] = { role = "user", content = "question " .. i }
    list[i + 1] = { role = "assistant", content = "", tool_calls = {
      { id = id, type = "function", ["function"] = { name = "search", arguments = "{}" } } } }
    list[i + 2] = { role = "tool", tool_call_id = id, content = "result of " .. i }
    list[i + 3] = { role = "assistant", content = "answer " .. i }
  end
  chat:append(list)
  return chat
end

local function median(chat, budget, policy)
  local times = {}
  collectgarbage()
  for round = 1, ROUNDS do
    local start = os.clock()
    assert(chat:trim { budget = budget, policy = policy, dry_run = true })
    times[round] = (os.clock() - start) * 1000
  end
  table.sort(times)
  return times[ROUNDS // 2 + 1]
end

local function visit(draft)
  local sum = 0
  for _, tokens in draft:units {} do
    sum = sum + tokens
  end
  return sum
end

local function visit_and_ask(draft)
  local sum = 0
  for unit, tokens in draft:units {} do
    if not unit.guarded then sum = sum + tokens end
  end
  return sum
end

local function drop_half(draft)
  local target = draft:tokens() // 2
  for unit in draft:units { droppable = true } do
    if draft:tokens() <= target then return end
    draft:drop(unit, "old")
  end
end

local function report(name, milliseconds, figure)
  print(("%-52s %8.2f ms   %s"):format(name, milliseconds, figure and ("(to reach: %g)"):format(figure) or ""))
end

local chat = conversation(100000)
report("a policy that visits every unit of 100,000 messages", median(chat, FITS, visit), 25)
report("the same, asking a field of each", median(chat, FITS, visit_and_ask))
report("dropping half of them one by one", median(chat, FITS, drop_half))
report("keep_turns to half", median(chat, chat:tokens() // 2, "keep_turns"))
report("stable_prefix to half", median(chat, chat:tokens() // 2, "stable_prefix"))
local large = conversation(1000000)
report("keep_recent to half, 1,000,000 messages", median(large, large:tokens() // 2, "keep_recent"), 2)
