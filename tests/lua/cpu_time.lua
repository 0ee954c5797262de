--- Limits of time that hold on any machine, however loaded: processor time, counted in
--- runs of a loop that is timed in the same process a moment before.
--
-- The loop takes about 10 ms of a usual processor. It does what the tests do, in Lua and
-- in the library, so that sanitizers and slow machines lengthen it as they lengthen them.

local helper = dofile "tests/lua/helper.lua"
local json = helper.ebb.json

local cpu_time = {}

local TEXT = json.encode { { role = "user", content = ("a word or two "):rep(20) }, { 1, 2, 3, { a = true } } }

local function seconds_of_loop()
  local start = os.clock()
  local words = {}
  for i = 1, 1000 do
    words[i % 100 + 1] = json.encode(json.decode(TEXT))
    for _ = 1, 100 do words[1] = i end
  end
  assert(#words == 100)
  return os.clock() - start
end

--- The factor by which processes are slower than this one: under valgrind.
local SLOWER = tonumber(os.getenv "SLOWER" or "1")

local usual   -- seconds of the loop, as first timed

--- Runs once more if the time was exceeded, and times the loop anew: a moment's disturbance is no failure.
---@param limit number       loops of processor time; SLOWER times as many
---@param run function       returns the seconds that it took
---@param fixed? number      seconds on top that no machine changes: a deadline of the product's
local function check(limit, run, fixed)
  limit = limit * SLOWER
  usual = usual or seconds_of_loop()
  local allowed = limit * usual + (fixed or 0)
  local seconds = run()
  if seconds <= allowed then return end
  allowed = limit * math.max(seconds_of_loop(), seconds_of_loop()) + (fixed or 0)
  seconds = run()
  if seconds <= allowed then return end
  error(("it took %.3f s of processor time, %.3f s are allowed (%g loops)"):format(seconds, allowed, limit), 3)
end

--- Calls `run`, and again if it took too long; returns what it returned last.
---@param limit number
---@param run fun(): ...
---@param fixed? number
function cpu_time.within(limit, run, fixed)
  local results
  check(limit, function()
    local start = os.clock()
    results = table.pack(run())
    return os.clock() - start
  end, fixed)
  return table.unpack(results, 1, results.n)
end

--- Fails if so many seconds were too many; what took them cannot be run again.
---@param limit number
---@param seconds number
function cpu_time.allows(limit, seconds)
  check(limit, function() return seconds end)
end

--- Calls `run`, and again if it took too long: for what it starts by `cpu_time.execute`, whose seconds it returns.
---@param limit number
---@param run fun(): number
---@param fixed? number
function cpu_time.processes_within(limit, run, fixed)
  check(limit, run, fixed)
end

--- Runs a line of bash. Its exit status, and the seconds of processor time that it and its children took.
---@param line string
---@return integer status
---@return number seconds
function cpu_time.execute(line)
  local path = os.tmpname()
  local file = assert(io.open(path, "wb"))
  file:write(line, "\n")
  file:close()
  local timed = "bash -c 'TIMEFORMAT=\"%%U %%S\"; { time bash %s 2>&3; } 3>&2 2>%s.time'"
  local _, _, status = os.execute(timed:format(path, path))
  local user, system = helper.read(path .. ".time"):match "(%d+%.%d+) (%d+%.%d+)%s*$"
  os.remove(path)
  os.remove(path .. ".time")
  return status, tonumber(user) + tonumber(system)
end

return cpu_time
