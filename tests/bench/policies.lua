--- Measures policies in Lua: loops over units, drops one by one, and the bulk verb.
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

--- A turn of four messages: a question, a call, its result, an answer.
local function turn(i)
  local id = "c" .. i
  return { role = "user", content = "question " .. i }, { role = "assistant", content = "", tool_calls = {
    { id = id, type = "function", ["function"] = { name = "search", arguments = "{}" } } } },
    { role = "tool", tool_call_id = id, content = "result of " .. i }, { role = "assistant", content = "answer " .. i }
end

--- Turns, appended a thousand at a time, so that the process has little memory to spare when it is measured.
local function conversation(count)
  local chat, list = ebb.conversation(), {}
  for i = 1, count, 4 do
    local at = #list
    list[at + 1], list[at + 2], list[at + 3], list[at + 4] = turn(i)
    if #list == 4000 or i + 4 > count then
      chat:append(list)
      list = {}
    end
  end
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

--- Resident memory of the process in MB; 0 where the system does not tell.
local function resident()
  local file = io.open "/proc/self/status"
  if not file then return 0 end
  local kilobytes = tonumber(file:read("a"):match "VmRSS:%s*(%d+)")
  file:close()
  return kilobytes / 1024
end

--- Policies that look at every message, and the milliseconds that they may take for 10,000.
local MESSAGE_POLICIES = {
  { "prune_messages, all calls", { "prune_messages", tool_calls = { "all" } }, 20 },
  { "clear_tool_uses", { "clear_tool_uses", trigger = { tool_uses = 0 } }, 20 },
  { "trim_messages to half", "trim_messages", 10 },
  { "keep_turns to half", "keep_turns", 10 },
}

--- To half of the tokens, where the policy uses a budget.
local function report_messages(chat, size)
  for _, row in ipairs(MESSAGE_POLICIES) do
    local name, policy = row[1], row[2]
    local budget = type(policy) == "string" and chat:tokens() // 2 or FITS
    report(("%s, %s messages"):format(name, size), median(chat, budget, policy), row[3])
  end
end

--- One real trim of a fork; its memory is what the process holds more than before.
local function report_million(chat)
  for _, row in ipairs(MESSAGE_POLICIES) do
    local name, policy = row[1], row[2]
    collectgarbage()
    collectgarbage()
    local before, start = resident(), os.clock()
    local fork = chat:fork()
    assert(fork:trim { budget = type(policy) == "string" and chat:tokens() // 2 or FITS, policy = policy })
    report(("%s, 1,000,000 messages"):format(name), (os.clock() - start) * 1000, 2000)
    print(("%-52s %8.0f MB   (to reach: 200)"):format("    memory", resident() - before))
  end
end

local chat = conversation(100000)
report("a policy that visits every unit of 100,000 messages", median(chat, FITS, visit), 25)
report("the same, asking a field of each", median(chat, FITS, visit_and_ask))
report("dropping half of them one by one", median(chat, FITS, drop_half))
report("keep_turns to half", median(chat, chat:tokens() // 2, "keep_turns"))
report("stable_prefix to half", median(chat, chat:tokens() // 2, "stable_prefix"))
report_messages(conversation(10000), "10,000")
local large = conversation(1000000)
report("keep_recent to half, 1,000,000 messages", median(large, large:tokens() // 2, "keep_recent"), 2)
report_million(large)
