--- Measures one turn of a chat (two appends and a trim) as its batches grow
--- (turns.c: the same through libebb).
--
--     lua5.4 tests/bench/turns.lua
--
-- EBB_BUILD  the build whose module is measured (build/release)
-- TURNS      of a chat (10000)

local build = os.getenv "EBB_BUILD" or "build/release"
package.path = ("%s/lua/?.lua;%s/lua/?/init.lua;"):format(build, build) .. package.path
package.cpath = ("%s/lua/?.so;"):format(build) .. package.cpath

local ebb = require "ebb"

local TURNS = math.tointeger(tonumber(os.getenv "TURNS" or "10000"))
local TENTH = TURNS // 10

--- Remembers something else after each turn.
local function counts(draft, budget)
  draft.memory.turns = (draft.memory.turns or 0) + 1
  draft:drop_oldest { to = budget }
end

local function turn(chat, policy, i)
  chat:append { { role = "user", content = "question " .. i }, { role = "assistant", content = "answer" } }
  assert(chat:trim { budget = 400, policy = policy })
end

print(("%-28s %10s %10s %8s"):format("us per turn, CPU", "first 10%", "last 10%", "ratio"))
for _, row in ipairs { { "keep_recent", "keep_recent" }, { "a policy that remembers", counts } } do
  local chat, times = ebb.conversation(), {}
  for i = 1, 100 do turn(chat, row[2], i) end   -- loads what is loaded on first use
  collectgarbage()
  for tenth = 1, 10 do
    local start = os.clock()
    for i = 1, TENTH do turn(chat, row[2], i) end
    times[tenth] = (os.clock() - start) * 1e6 / TENTH
  end
  print(("%-28s %10.1f %10.1f %8.2f"):format(row[1], times[1], times[10], times[10] / times[1]))
end
