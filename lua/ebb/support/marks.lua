--- The marks of policies that cut seldom and deep: tokens above which they cut, and to which. A mark is its share of
-- the budget; but where tools and guarded messages leave little room, a share of the budget could lie below them:
--
--     | tools, system, pinned |        what may go        |
--                             |...... low ......... high  budget
--
--     mark = max(share * budget, fixed + share * (budget - fixed) * fixed / budget)
--
-- `fixed` are the tokens that cannot go. The second term leaves a share of what may go; the more is fixed, the
-- nearer it is to the whole share. It is the larger one once `fixed` has 0.38 of the budget for a share of 0.5, 0.17
-- for one of 0.2. There both are equal, so that no mark jumps; with less that is fixed, lists are cut as if there
-- were no second term.
--
-- Tokens that stay for good are the same for many requests, so that cuts lie on one grid. So the last user message
-- counts only if it is large: not up to LARGE of what may go, and wholly from twice as much on.

local core = require "ebb.support.core"

local marks = {}

local LARGE = 0.25     -- of what may go: from here on a last user message, with a pending unit, counts
local LEAST = 0.2      -- of what the low mark leaves: newer units stay below it until they have as much
local FEW = 16         -- newest units that are looked at for that

--- Adds the marks to the options of a policy.
---@param low number           the default
---@param options table<string, ebb.Schema>
---@return table<string, ebb.Schema>
function marks.options(low, options)
  options.high = { type = "number", default = 1, min = 0.01, max = 1,
    help = "share of the budget above which it cuts" }
  options.low = { type = "number", default = low, min = 0, max = 1,
    help = "share of the budget to which it cuts; more where tools and guarded messages have much of it" }
  return options
end

--- Checks a pair of marks: the complaint, or nil.
---@param options { high: number, low: number }
---@return string?
function marks.check(options)
  if options.low >= options.high then return "low must be below high" end
end

--- Tokens of a request that cannot go: guarded messages, tools, framing; of the last user message what is large.
local function fixed_tokens(draft, budget)
  local info = core.draft.info(draft)
  local guarded, lasting = math.min(info.guarded_tokens, budget), math.min(info.lasting_tokens, budget)
  local last = guarded - lasting
  local large = 2 * (last - LARGE * (budget - lasting))
  return lasting + math.floor(math.max(0, math.min(last, large)))
end

--- Tokens at a share, and those that cannot go.
---@param draft ebb.Draft
---@param budget integer
---@param share number
---@return integer tokens
---@return integer fixed
function marks.at(draft, budget, share)
  local fixed = fixed_tokens(draft, budget)
  local rest = (budget - fixed) * share * fixed / math.max(1, budget)
  return math.max(math.floor(budget * share), fixed + math.floor(rest)), fixed
end

---@class ebb.Marks             tokens of a request
---@field fixed integer         that cannot go
---@field low integer
---@field lifted integer        of the low mark, tokens above its share of the budget
---@field high integer
---@field step integer          between two cuts on the grid

---@param draft ebb.Draft
---@param budget integer
---@param options { high: number, low: number }
---@return ebb.Marks
function marks.of(draft, budget, options)
  local high, fixed = marks.at(draft, budget, options.high)
  local low = marks.at(draft, budget, options.low)
  assert(fixed <= budget and low <= high, "marks are in order")
  return { fixed = fixed, low = low, lifted = low - math.floor(budget * options.low), high = high,
    step = math.max(1, high - low) }
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

--- True if the newest messages are small compared with what a cut leaves, so that any cut leaves enough.
local function are_small(draft, tokens)
  for i = #draft, math.max(1, #draft - FEW), -1 do
    tokens = tokens - draft[i].tokens
  end
  return tokens > 0
end

--- Returns how many of the newest units have to stay, so that a cut leaves more than what is guarded; 0 if the newest
--- messages are small.
local function newest_units(draft, at)
  local guarded, sum, keep = core.draft.info(draft).guarded_tokens, 0, 0
  local least = math.min(LEAST * (at.low - guarded), at.lifted)
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
