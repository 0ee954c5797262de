--- Writes random agents and conversations into a folder, and prints what pipelines make of them: pipelines.c, a host
--- of libebb, prints the same.
---
---     ebb run tests/random/pipelines.lua SEED COUNT FOLDER
---
--- FOLDER/N.agent, N.options, N.chat: an agent, the options of a pipeline, a conversation in Ebb's own form.

local agents = dofile "tests/random/agents.lua"
local ebb = require "ebb"

local seed, count, folder = tonumber(arg[1]), tonumber(arg[2]), arg[3]

local function write(name, text)
  local file = assert(io.open(folder .. "/" .. name, "wb"))
  file:write(text)
  file:close()
end

local function print_run(pipeline, chat, options)
  local result, problem = pipeline:run(chat, options)
  if result then print(result.body) else print(problem.code, problem.message) end
end

--- A preview, a real run, and one more after two messages, when timers of the lorebook have begun.
local function print_runs(pipeline, chat)
  print_run(pipeline, chat, { preview = true, now = agents.NOW, seed = 1 })
  print_run(pipeline, chat, { now = agents.NOW, seed = 1 })
  chat:append { { role = "assistant", content = "The dragon sings." }, { role = "user", content = "And then?" } }
  print_run(pipeline, chat, { now = agents.NOW, seed = 2 })
end

for number = 1, count do
  local roll = agents.dice(seed * 1000003 + number)
  local agent, set, chat = ebb.json.encode(agents.agent(roll)), agents.settings(roll), agents.chat(ebb, roll)
  local whole = assert(ebb.pipeline({ agent = agent, set = set }):run(chat, { preview = true, now = agents.NOW }))
  set[#set + 1] = "token-limiter.budget=" .. whole.tokens * roll(30, 110) // 100
  write(number .. ".agent", agent)
  write(number .. ".options", ebb.json.encode { set = set })
  write(number .. ".chat", (chat:write "ebb"))
  print("agent " .. number)
  print_runs(ebb.pipeline { agent = agent, set = set }, chat)
end
