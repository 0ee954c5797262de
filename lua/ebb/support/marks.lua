--- The marks of policies that cut seldom and deep: tokens above which they cut, and to which. Marks are shares of what
--- may go, for a share of the whole budget could lie below what has to stay:
--
--     | tools, system, pinned |        what may go        |
--                             |...... low ......... high  budget
--
-- What stays for good is the same for many requests, so that cuts lie on one grid. The last user message counts only
-- where it is so large that hardly anything would stay beside it.

local core = require "ebb.support.core"

local marks = {}

local LARGE = 0.25     -- of what may go: from here on a last user message, with a pending unit, has to be counted
local LEAST = 0.2      -- of what the low mark leaves: newer units stay below it until they have as much
local FEW = 16         -- newest units that are looked at for that

--- Adds the marks to the options of a policy.
---@param low number           the default
---@param options table<string, ebb.Schema>
---@return table<string, ebb.Schema>
function marks.options(low, options)
  options.high = { type = "number", default = 1, min = 0.01, max = 1,
    help = "share of the budget, less tools and guarded messages, above which it cuts" }
  options.low = { type = "number", default = low, min = 0, max = 1, help = "share of the same to which it cuts" }
  return options
end

--- Checks a pair of marks: the complaint, or nil.
---@param options { high: number, low: number }
---@return string?
function marks.check(options)
  if options.low >= options.high then return "low must be below high" end
end

--- Tokens of a request that cannot go: guarded messages, tools, framing.
local function fixed_tokens(draft, budget)
  local info = core.draft.info(draft)
  local guarded, lasting = math.min(info.guarded_tokens, budget), math.min(info.lasting_tokens, budget)
  return guarded - lasting > LARGE * (budget - lasting) and guarded or lasting
end

--- Tokens at a share of what may go, and at a share of 0.
---@param draft ebb.Draft
---@param budget integer
---@param share number
---@return integer tokens
---@return integer fixed
function marks.at(draft, budget, share)
  local fixed = fixed_tokens(draft, budget)
  return fixed + math.floor((budget - fixed) * share), fixed
end

---@class ebb.Marks             tokens of a request
---@field fixed integer         that cannot go
---@field low integer
---@field high integer
---@field step integer          between two cuts on the grid

---@param draft ebb.Draft
---@param budget integer
---@param options { high: number, low: number }
---@return ebb.Marks
function marks.of(draft, budget, options)
  local high, fixed = marks.at(draft, budget, options.high)
  local low = marks.at(draft, budget, options.low)
  return { fixed = fixed, low = low, high = high, step = math.max(1, high - low) }
end

--- The target of a cut on the grid: the first one at which no more than `limit` is left.
---@param now integer
---@param limit integer
---@param step integer
---@return integer
function marks.target(now, limit, step)
  local steps = math.max(1, (now - limit + step - 1) // step)
  return math.max(0, now - steps * step)
end

--- True if the newest messages are small beside what a cut leaves, so that any cut leaves enough.
local function are_small(draft, tokens)
  for i = #draft, math.max(1, #draft - FEW), -1 do
    tokens = tokens - draft[i].tokens
  end
  return tokens > 0
end

--- How many of the newest units have to stay, so that a cut leaves more than what is guarded.
local function newest_units(draft, at)
  local guarded, sum, keep = core.draft.info(draft).guarded_tokens, 0, 0
  local least = LEAST * (at.low - guarded)
  if are_small(draft, least) then return 0 end
  for _, tokens, age in draft:units { from = "newest", droppable = true } do
    if age >= FEW or sum >= least or guarded + sum + tokens > at.high then break end
    sum, keep = sum + tokens, age + 1
  end
  return keep
end

--- Drops the oldest units down to a target; the newest `keep` stay where they fit below the high mark, and as many as
--- leave something of what may go.
---@param draft ebb.Draft
---@param target integer
---@param at ebb.Marks
---@param reason string
---@param keep? integer
function marks.drop(draft, target, at, reason, keep)
  local newest = math.max(keep or 0, newest_units(draft, at))
  draft:drop_oldest { to = target, keep = newest, reason = reason }
  draft:drop_oldest { to = at.high, keep = keep and 1, reason = reason }
end

return marks
