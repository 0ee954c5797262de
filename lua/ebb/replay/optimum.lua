--- Measure: the most that any plan of cuts could have shared, knowing the future.
--
-- A plan says for each request how many of the oldest units are gone; guarded messages stay, as
-- core/draft/cut_plan.h shows. A policy is compared with plans that fill the budget as well: those that
-- send 99 % of its tokens, or more. The core finds the plan for which
--
--     shared tokens + weight x sent tokens
--
-- is greatest. Each weight gives a corner of the convex hull of all plans:
--
--     shared
--       |          __ B        The corner for the slope of A B lies above that line, or there is none
--       |     C .-             between them. No plan lies above the hull, so the optimum at a number of
--       |    . `               tokens sent is read off its edge.
--       |  A
--       +------------- sent
--
-- The last hundredth of the budget costs what all the rest shares, so at exactly the tokens of a policy that never
-- cuts more than needed there is but one plan: its own.
--
-- A policy that only cuts cannot be better; one that makes messages smaller may be.

local core = require "ebb.support.core"
local tables = require "ebb.support.tables"

local optimum = {}

---- What there is to cut ----

---@class ebb.replay.Problem
---@field units integer[]      flat, by number of units from 0: tokens gone, tokens of fixed messages before
---                            the next unit, the last of these units that is a user message or 0
---@field requests integer[]   flat: tokens of the whole history, units that may go, the last user message's unit or 0
---@field base integer         tokens of a request without messages
---@field budget integer

--- Guards hold a unit for ever if one of its messages is a system message or pinned.
local function is_fixed(unit)
  for _, message in ipairs(unit.messages) do
    if message.role == "system" or tables.contains(message.marks, "pinned") then return true end
  end
  return false
end

---@class ebb.replay.Unit
---@field tokens integer
---@field before integer       tokens of fixed messages before it
---@field last integer         position of its last message
---@field is_user boolean

--- The units that may go, and the tokens of the messages that stay.
---@return ebb.replay.Unit[] units
---@return integer fixed
local function cuttable_units(recording, guards)
  local units, fixed = {}, 0
  for position, message in ipairs(recording) do
    local unit = message.unit
    if unit.first == position then
      if guards and is_fixed(unit) then
        fixed = fixed + unit.tokens
      else
        local last = unit.messages[unit.count].index
        local is_user = guards and unit.role == "user"
        units[#units + 1] = { tokens = unit.tokens, before = fixed, last = last, is_user = is_user }
      end
    end
  end
  return units, fixed
end

--- Flat: for each number of units from 0 what core.best_cuts has to know.
local function flat_units(units, fixed)
  local flat, gone, user = {}, 0, 0
  for count = 0, #units do
    local unit, following = units[count], units[count + 1]
    if unit then gone = gone + unit.tokens end
    if unit and unit.is_user then user = count end
    table.move({ gone, following and following.before or fixed, user }, 1, 3, #flat + 1, flat)
  end
  return flat
end

--- Flat, for each request what core.best_cuts has to know. A request comes before each message of the assistant but
--- the first message.
local function flat_requests(recording, units, base, guards)
  local flat, total, complete, last_user = {}, base, 0, 0
  for position, message in ipairs(recording) do
    while units[complete + 1] and units[complete + 1].last < position do
      complete = complete + 1
      if units[complete].is_user then last_user = complete end
    end
    if message.role == "assistant" and position > 1 then
      table.move({ total, complete, last_user }, 1, 3, #flat + 1, flat)
    end
    total = total + message.tokens
    local is_pinned = guards and message.role == "user" and tables.contains(message.marks, "pinned")
    if is_pinned then last_user = 0 end   -- it is the last one, and fixed
  end
  return flat
end

---- The hull ----

local FULL_ENOUGH = 0.99   -- of a policy's tokens; the last hundredth costs plans most of what they share
local STEEP = 1e6   -- tokens shared for one sent: steeper than an edge of the hull

---@class ebb.replay.Corner
---@field shared integer
---@field total integer

---@class ebb.replay.Hull
---@field problem ebb.replay.Problem
---@field corners ebb.replay.Corner[]   those that are known, by tokens sent
---@field is_edge table<ebb.replay.Corner, boolean>   nothing lies between this corner and the next one
---@field best? ebb.replay.Corner       of the greatest share, once it is known
---@field best_share? number

local function corner_at(problem, weight)
  local shared, total = core.best_cuts(problem.units, problem.requests, problem.base, problem.budget, weight)
  return { shared = shared, total = total }
end

---@param recording ebb.Conversation
---@param budget integer
---@param guards boolean
---@return ebb.replay.Hull
function optimum.hull(recording, budget, guards)
  local base = core.like(recording):tokens()
  local units, fixed = cuttable_units(recording, guards)
  local problem = { units = flat_units(units, fixed), requests = flat_requests(recording, units, base, guards),
    base = base, budget = budget }
  local fullest, emptiest = corner_at(problem, STEEP), corner_at(problem, -STEEP)
  return { problem = problem, is_edge = {},
    corners = fullest.total > emptiest.total and { emptiest, fullest } or { fullest } }
end

--- Looks for a corner between the i-th and the next one; puts it there, or notes that they are an edge.
local function divide(hull, i)
  local a, b = hull.corners[i], hull.corners[i + 1]
  local slope = (b.shared - a.shared) / (b.total - a.total)
  local corner = corner_at(hull.problem, -slope)
  local is_between = corner.total > a.total and corner.total < b.total
  if is_between and corner.shared > a.shared + slope * (corner.total - a.total) then
    table.insert(hull.corners, i + 1, corner)
  else
    hull.is_edge[a] = true
  end
end

--- The most tokens that plans of so many can share.
---@param hull ebb.replay.Hull
---@param total number       at least that of the first corner, at most that of the last one
---@return number
local function shared_at(hull, total)
  local corners, i = hull.corners, 1
  while corners[i + 1] do
    local a, b = corners[i], corners[i + 1]
    if total > b.total then
      i = i + 1
    elseif hull.is_edge[a] then
      return a.shared + (b.shared - a.shared) * (total - a.total) / (b.total - a.total)
    else
      divide(hull, i)
    end
  end
  return corners[i].shared
end

--- The plan of the greatest share, however much it sends: a better share is a weight for which it shows.
local function best_share(problem)
  local best, share = nil, 0
  repeat
    local corner = corner_at(problem, -share)
    local before = share
    if corner.shared > share * corner.total then best, share = corner, corner.shared / corner.total end
  until share == before
  return best, share
end

--- The greatest share of plans that send as many tokens as a policy, or more.
---@param hull ebb.replay.Hull
---@param tokens integer     tokens that the policy sent
---@return number? share     nil: no plan within the budget sends so many
function optimum.share(hull, tokens)
  local corners, least = hull.corners, FULL_ENOUGH * tokens
  if tokens == 0 or least > corners[#corners].total then return nil end
  if not hull.best then hull.best, hull.best_share = best_share(hull.problem) end
  if not hull.best then return 0 end
  return hull.best.total >= least and hull.best_share or shared_at(hull, least) / least
end

---- The measure ----

---@param recording ebb.Conversation
---@param settings { available: integer, guards?: boolean }
function optimum.prepare(recording, settings)
  return optimum.hull(recording, settings.available, settings.guards ~= false)
end

local Observer = { request = function() end }
Observer.__index = Observer

function optimum.observe(hull)
  return setmetatable({ hull = hull }, Observer)
end

--- Sums that lack refused requests are compared with no plan, nor are those that lack thinking, which plans send.
function Observer:finish(result)
  result.optimum = result.refusals == 0 and result.thinking_lost == 0 and optimum.share(self.hull, result.sent) or nil
  result.distance = result.optimum and result.optimum - result.share
end

return optimum
