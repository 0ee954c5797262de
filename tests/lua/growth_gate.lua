--- Fails where four times the input takes more than five times as long.
--
-- Seconds are of the process's CPU, never of the clock on the wall. The collector rests
-- meanwhile: whether it begins a cycle in a run is chance.

local cpu_time = dofile "tests/lua/cpu_time.lua"

local gate = {}

local RATIO, ATTEMPTS, STEPS = 5, 4, 4
local HOPELESS = 12      -- n^1.8: larger ones only take longer; 8 times were seen where others filled the caches
local PATIENCE = 60      -- seconds, what is measured on being made included: larger ones only take longer
local SLACK = 0.010      -- seconds: growing tables, colder caches
local GARBAGE_MAX = 16384   -- KB that a run may leave behind for the next one

local kept = 0           -- KB of Lua's after the last collection

--- The seconds that `run` takes in this process.
---@param run fun()
---@return number
function gate.seconds(run)
  collectgarbage "stop"
  if collectgarbage "count" > kept + GARBAGE_MAX then
    collectgarbage()
    kept = collectgarbage "count"
  end
  local start = os.clock()
  run()
  local seconds = os.clock() - start
  collectgarbage "restart"
  return seconds
end

--- The seconds of a line of bash, and its exit status.
---@param line string
---@return number
---@return integer
function gate.seconds_of_line(line)
  local status, seconds = cpu_time.execute(line)
  return seconds, status
end

--- The least of some measurements.
local function least(seconds, n, best)
  for _ = 1, ATTEMPTS do
    best = math.min(best, seconds(n))
  end
  return best
end

local function exceeds(few, many) return many > RATIO * few + SLACK end

--- Compares `seconds(n)` with `seconds(4 * n)`; what exceeds there is compared at four times as many, and that once
--- more: a slow path exceeds everywhere. Caches that are full, and the load of other processes, do not.
---@param name string       the act and the shape, for the error
---@param n integer
---@param seconds fun(n: integer): number
function gate.check(name, n, seconds)
  local begun, words, few = os.clock(), {}, seconds(n)
  for step = 1, STEPS do
    local many = seconds(4 * n)
    if exceeds(few, many) then few, many = least(seconds, n, few), least(seconds, 4 * n, many) end
    if not exceeds(few, many) then return end
    words[step] = ("%.3f s for %d, %.3f s for %d: %.1f times as long"):format(few, n, many, 4 * n, many / few)
    if step > 1 and (many > HOPELESS * few or os.clock() - begun > PATIENCE) then break end
    n, few = 4 * n, many
  end
  error(name .. ": " .. table.concat(words, "; "), 0)
end

--- Names that are in one table only, as "name, name"; "" if both have the same.
---@param expected table<string, any>
---@param actual table<string, any>
---@return string
function gate.difference(expected, actual)
  local names = {}
  for name in pairs(expected) do
    if actual[name] == nil then names[#names + 1] = "no act: " .. name end
  end
  for name in pairs(actual) do
    if expected[name] == nil then names[#names + 1] = "no such function: " .. name end
  end
  table.sort(names)
  return table.concat(names, ", ")
end

return gate
