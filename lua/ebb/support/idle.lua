--- When a provider's prompt cache is cold: then a cut costs nothing, for the next request is read afresh anyway.
--
--     assistant 12:00   user 12:03   the cache lives: cut as little as you can
--     assistant 12:00   user 15:40   it is gone: cut now, and deep
--
-- Providers count from the last request, which the newest message of the assistant answered.

local marks = require "ebb.support.marks"
local tables = require "ebb.support.tables"

local idle = {}

idle.OPTION = { type = "integer", default = 0, min = 0,
  help = "seconds between the last answer and the newest message after which it cuts deep at once; 0: never" }

idle.PAUSE = 300      -- seconds: the shortest lifetime of a provider's prompt cache

local DEPTH = 0.5     -- the mark of policies that have none of their own

--- The option with another default.
---@param seconds integer
---@return ebb.Schema
function idle.option(seconds)
  local option = tables.copy(idle.OPTION)
  option.default = seconds
  return option
end

--- True if more than `seconds` passed between the newest message of the assistant and the newest message. False if one
--- of them has no timestamp.
---@param draft ebb.Draft
---@param seconds integer      0: never
---@return boolean
function idle.is_cold(draft, seconds)
  if seconds == 0 or #draft == 0 then return false end
  local newest, answer = draft[#draft], draft:recent("assistant", 1):first(1)
  answer = #answer > 0 and answer[1] or nil
  if not (answer and answer.timestamp and newest.timestamp) then return false end
  return newest.timestamp - answer.timestamp > seconds * 1000
end

--- The budget of a policy that cuts to its budget: where the cache is cold, the mark at its half.
---@param draft ebb.Draft
---@param budget integer
---@param seconds integer
---@return integer
function idle.budget(draft, budget, seconds)
  return idle.is_cold(draft, seconds) and marks.at(draft, budget, DEPTH) or budget
end

--- A limit of something else than the request: half of it where the cache is cold.
---@param draft ebb.Draft
---@param limit integer
---@param seconds integer
---@return integer
function idle.limit(draft, limit, seconds)
  return idle.is_cold(draft, seconds) and math.floor(limit * DEPTH) or limit
end

return idle
