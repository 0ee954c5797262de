--- Measures what the sandbox costs a policy: the same text, trusted and sandboxed, in turns.
--
--     lua5.4 tests/bench/sandbox.lua
--
-- EBB_BUILD  the build whose module is measured (build/release)
-- ROUNDS     trims per figure (21); the figure is their median
--
-- Policies that people write (scripts/policies), over 10,000 units of which half must
-- go. All trims are dry runs, so that each begins with the same conversation; loading
-- the text, and making its sandbox, is part of each.

local build = os.getenv "EBB_BUILD" or "build/release"
package.path = ("%s/lua/?.lua;%s/lua/?/init.lua;"):format(build, build) .. package.path
package.cpath = ("%s/lua/?.so;"):format(build) .. package.cpath

local ebb = require "ebb"

local ROUNDS = math.tointeger(tonumber(os.getenv "ROUNDS" or "21"))
local UNITS = 10000
local TO_REACH = 2

--- A question, a call with its result, an answer: three units of four messages.
local function conversation(units)
  local chat, list = ebb.conversation(), {}
  for i = 1, units // 3 do
    local id = "c" .. i
    list[#list + 1] = { role = "user", content = ("question %d about ABC-%d"):format(i, i % 97) }
    list[#list + 1] = { role = "assistant", content = "", tool_calls = {
      { id = id, type = "function", ["function"] = { name = "search", arguments = '{"q":"x"}' } } } }
    list[#list + 1] = { role = "tool", tool_call_id = id, content = ("line %d of a result\n"):format(i):rep(8) }
    list[#list + 1] = { role = "assistant", content = ("answer %d"):format(i) }
  end
  chat:append(list)
  return chat
end

local function once(chat, budget, policy, trusted)
  local start = os.clock()
  assert(chat:trim { budget = budget, policy = policy, trusted = trusted, dry_run = true })
  return (os.clock() - start) * 1000
end

local function median(times)
  table.sort(times)
  return times[#times // 2 + 1]
end

local NOTHING = "return function() end"   -- costs what starting does

--- In turns, so that a noisy moment hits both.
local function compare(name, chat, budget, policy)
  local trusted, sandboxed = {}, {}
  collectgarbage()
  for round = 1, ROUNDS do
    trusted[round] = once(chat, budget, policy, true)
    sandboxed[round] = once(chat, budget, policy, false)
  end
  local plain, guarded = median(trusted), median(sandboxed)
  local goal = policy == NOTHING and "" or (" (to reach: %g)"):format(TO_REACH)
  print(("%-40s %8.2f ms trusted %8.2f ms sandboxed   %.2f times%s"):format(name, plain, guarded, guarded / plain,
    goal))
end

local chat = conversation(UNITS)
local half = chat:tokens() // 2
for _, name in ipairs { "keep_ends", "shrink_tools", "answers_only" } do
  compare(name, chat, half, ("scripts/policies/%s.lua"):format(name))
end
compare("tickets", chat, half, { "scripts/policies/tickets.lua", ticket = "ABC%-1%d$" })
compare("each unit asked for three fields", chat, half, [[return function(draft, budget)
  local sum = 0
  for unit, tokens in draft:units {} do
    if not unit.guarded and unit.role ~= "tool" then sum = sum + tokens + unit.count end
  end
  draft:drop_oldest { to = budget }
end]])
compare("starting alone (20 messages)", conversation(15), 1 << 30, NOTHING)
