--- Fails where four times the input takes more than five times as long.
--
-- Seconds are of the process's CPU, never of the clock on the wall. The collector rests
-- meanwhile: whether it begins a cycle in a run is chance.

local cpu_time = dofile "tests/lua/cpu_time.lua"

local gate = {}

local RATIO, ATTEMPTS = 5, 4
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

--- Compares `seconds(n)` with `seconds(4 * n)`, and what exceeds there `seconds(4 * n)` with
--- `seconds(16 * n)`: a slow path exceeds there all the more, a machine with others to serve does not.
---@param name string       the act and the shape, for the error
---@param n integer
---@param seconds fun(n: integer): number
function gate.check(name, n, seconds)
  local few, many = seconds(n), seconds(4 * n)
  if not exceeds(few, many) then return end
  few, many = least(seconds, n, few), least(seconds, 4 * n, many)
  if not exceeds(few, many) then return end
  local most = seconds(16 * n)
  if exceeds(many, most) then most = least(seconds, 16 * n, most) end
  if not exceeds(many, most) then return end
  error(("%s: %.3f s for %d, %.3f s for %d, %.3f s for %d: %.1f and %.1f times as long"):format(name, few, n, many,
    4 * n, most, 16 * n, many / few, most / many), 0)
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
