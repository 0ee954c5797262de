--- Measures a pipeline: 10,000 messages, 50 rules, 30 presets; and a lorebook of 10,000 entries, compared with the
--- same pipeline without one.
--
--     lua5.4 tests/bench/pipeline.lua
--
-- EBB_BUILD  the build whose module is measured (build/release)
-- ROUNDS     runs per figure (11); the figure is their median

local build = os.getenv "EBB_BUILD" or "build/release"
package.path = ("%s/lua/?.lua;%s/lua/?/init.lua;"):format(build, build) .. package.path
package.cpath = ("%s/lua/?.so;"):format(build) .. package.cpath

local ebb = require "ebb"

local ROUNDS = math.tointeger(tonumber(os.getenv "ROUNDS" or "11"))
local MESSAGES, RULES, PRESETS, ENTRIES = 10000, 50, 30, 10000

--- Turns of four messages, of about 300 bytes each.
local function conversation()
  local chat, list = ebb.conversation { encoding = "cjk" }, {}
  for i = 1, MESSAGES, 4 do
    local id = "c" .. i
    list[i] = { role = "user", content = ("a question about word%d and more "):format(i % 90):rep(10) }
    list[i + 1] = { role = "assistant", content = "I look.", tool_calls = {
      { id = id, type = "function", ["function"] = { name = "search", arguments = "{}" } } } }
    list[i + 2] = { role = "tool", tool_call_id = id, content = ("result %d, "):format(i):rep(30) }
    list[i + 3] = { role = "assistant", content = ("an answer with word%d in it "):format(i % 70):rep(12) }
  end
  chat:append(list)
  return chat
end

local function agent()
  local rules, presets = {}, { { type = "chat_history" } }
  for i = 1, RULES do
    rules[i] = { id = "r" .. i, regex = ("word%d\\b"):format(i), flags = "g", replacement = "W",
      applyTo = { request = true } }
  end
  for i = 2, PRESETS do
    local strategy = i > PRESETS // 2 and { type = "depth", depth = i } or nil
    presets[i] = { role = "system", content = "Preset of {{char}} number " .. i, injectionStrategy = strategy }
  end
  return { name = "Bench", presets = presets, rules = { { id = "p", rules = rules } } }
end

--- A lorebook whose keys are none of the rules'.
local function lorebook(depth)
  local entries = {}
  for i = 1, ENTRIES do
    entries[i] = { keys = { "place" .. i, "result " .. i }, content = "Facts of place " .. i, scanDepth = depth }
  end
  return { { entries = entries } }
end

local function median(set, books)
  local pipeline, chat, times = ebb.pipeline { agent = agent(), set = set, lorebooks = books }, conversation(), {}
  if books then assert(pipeline:run(chat)) end   -- its keys are compiled once
  for round = 1, ROUNDS do
    collectgarbage()
    local start = os.clock()
    assert(pipeline:run(chat))
    times[round] = (os.clock() - start) * 1000
  end
  table.sort(times)
  return times[ROUNDS // 2 + 1]
end

print(("pipeline: %d messages, %d rules, %d presets"):format(MESSAGES, RULES, PRESETS))
for _, case in ipairs {
  { "trimmed to 100,000 tokens (to reach: 60 ms)", { "token-limiter.budget=100000" } },
  { "all of it fits", { "token-limiter.budget=10000000" } },
  { "all of it fits, without rules", { "token-limiter.budget=10000000", "regex-processor.enabled=false" } },
  { "the same, with a lorebook", { "token-limiter.budget=10000000", "regex-processor.enabled=false" }, lorebook(20) },
} do
  print(("  %-46s %7.1f ms"):format(case[1], median(case[2], case[3])))
end

--- Least milliseconds of a run after a new message.
local function renewed(books)
  local set = { "token-limiter.budget=10000000", "regex-processor.enabled=false" }
  local pipeline = ebb.pipeline { agent = agent(), set = set, lorebooks = books }
  local chat, least = conversation(), math.huge
  assert(pipeline:run(chat))
  for round = 1, 4 * ROUNDS do
    chat:append { role = "user", content = ("message %d of place%d"):format(round, round * 13) }
    local start = os.clock()
    assert(pipeline:run(chat))
    least = math.min(least, (os.clock() - start) * 1000)
  end
  return least
end

local without = renewed()
for _, case in ipairs {
  { "a new message, its last 20 searched (to reach: 2 ms)", 20 },
  { "a new message, its last 1,000 searched", 1000 },
  { "a new message, all 10,000 searched", MESSAGES * 2 },
} do
  print(("  %-52s %4.1f ms more"):format(case[1], renewed(lorebook(case[2])) - without))
end
