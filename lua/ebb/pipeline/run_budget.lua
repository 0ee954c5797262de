--- The time and the bytes that a run of a pipeline may spend on what others wrote: the rules, presets and
--- macros of an agent, processors from files.
--
-- Each of these has limits of its own. Here they are summed, so that a thousand rules, or a preset
-- at a thousand depths, take no more than one script. Time is the thread's, and counts between `enter` and
-- `leave`; what Ebb itself does with a long conversation is not counted. Bytes are those of texts that are
-- added to the request. They are in memory four times while it is written, so they get a quarter of it. Of
-- the memory of compiled rules a quarter counts.

local core = require "ebb.support.core"
local loader = require "ebb.sandbox.loader"

local run_budget = {}

---@class ebb.RunBudget
---@field deadline number        ms; 0: no limit
---@field bytes_max number
---@field spent number           seconds, without those since `entered`
---@field bytes integer
---@field depth integer          of enter
---@field entered? number
---@field place? string          the preset or rule whose macros are expanded, for errors
local RunBudget = {}
RunBudget.__index = RunBudget

run_budget.SHARE = 4

---@param loading ebb.Loading
---@param messages integer       of the conversation
---@return ebb.RunBudget
function run_budget.new(loading, messages)
  local function limit_of(name) return loading.trusted and 0 or loader.limit(loading.limits, name, messages) end
  local memory = limit_of "memory"
  return setmetatable({
    deadline = limit_of "deadline", bytes_max = memory == 0 and math.huge or memory // run_budget.SHARE | 0,
    spent = 0, bytes = 0, depth = 0,
  }, RunBudget)
end

--- Counts time until the value is closed; inner ones count once.
function RunBudget:enter()
  self.depth = self.depth + 1
  if self.depth == 1 then self.entered = core.cpu_seconds() end
  return setmetatable({}, { __close = function()
    self.depth = self.depth - 1
    if self.depth == 0 then self.spent = self.spent + core.cpu_seconds() - self.entered end
  end })
end

function RunBudget:_raise(what, where)
  if self.place then where = ("%s of %s"):format(where, self.place) end
  local text = ("stopped at %s: rules, presets, macros and processors from files %s"):format(where, what)
  error(core.error("limit", text, "--deadline and --memory, or limits = { deadline, memory }, allow more"), 0)
end

function RunBudget:_raise_time(where) self:_raise(("have %.1f ms in all"):format(self.deadline), where) end

function RunBudget:_raise_bytes(where) self:_raise(("add at most %d bytes in all"):format(self.bytes_max), where) end

--- Calls `read(value, check)` in a budget of its own; `check(where)` raises if its time is used up.
---@param loading? ebb.Loading    nil: without limits
---@return any ...
function run_budget.timed(loading, read, value)
  if not loading then return read(value) end
  local budget = run_budget.new(loading, 0)
  local _ <close> = budget:enter()
  return read(value, function(where) budget:check(where) end)
end

--- Microseconds that remain, at least 1; 0: no limit.
---@return integer
function RunBudget:microseconds()
  if self.deadline == 0 then return 0 end
  local used = self.spent + (self.depth > 0 and core.cpu_seconds() - self.entered or 0)
  return math.max(1, math.ceil(self.deadline * 1000 - used * 1e6))
end

--- Raises if the time is used up.
---@param where string         what runs, for the error
function RunBudget:check(where)
  if self.deadline ~= 0 and self:microseconds() == 1 then self:_raise_time(where) end
end

--- Counts bytes that are added; raises if they are too many.
---@param bytes integer
---@param where string
function RunBudget:add(bytes, where)
  self.bytes = self.bytes + bytes
  if self.bytes > self.bytes_max then self:_raise_bytes(where) end
end

--- Counts memory that the run takes besides, such as that of a compiled rule, and looks at the time that it took.
---@param bytes integer
---@param where string
function RunBudget:hold(bytes, where)
  self.bytes = self.bytes + bytes // run_budget.SHARE
  if self.bytes > self.bytes_max then
    self:_raise(("have %d bytes of memory in all"):format(self.bytes_max * run_budget.SHARE), where)
  end
  self:check(where)
end

--- Bytes that remain.
---@return integer
function RunBudget:left()
  return self.bytes_max == math.huge and math.maxinteger or math.max(0, self.bytes_max - self.bytes)
end

--- Raises the limit that a rule set stopped at.
---@param reason "time"|"growth"
---@param where string
function RunBudget:refuse(reason, where)
  if reason == "time" then self:_raise_time(where) end
  self:_raise_bytes(where)
end

return run_budget
