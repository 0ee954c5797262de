--- Trims a conversation by each policy of a folder and prints what is left: messages, printed lines, notes, errors.
--
--     ebb run tests/random/trims.lua FOLDER COUNT BUDGET

local ebb = require "ebb"
local log = require "ebb.support.log"

local folder, count, budget = arg[1], tonumber(arg[2]), tonumber(arg[3])
log.to(function(line) io.write("  ", line, "\n") end)

local file = assert(io.open(folder .. "/chat.json"))
local text = file:read "a"
file:close()

for i = 1, count do
  print("policy " .. i)
  local chat = assert(ebb.parse(text))
  local done, problem = pcall(function()
    local ok, why = chat:trim { budget = budget, policy = ("%s/%d.lua"):format(folder, i), limits = { deadline = 0 } }
    if not ok then error(why, 0) end
  end)
  print(done and "trimmed" or "failed " .. problem.code)
  print(chat:json())
end
