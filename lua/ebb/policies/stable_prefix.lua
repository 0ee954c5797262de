--- Trim policy: cuts seldom and deep, so that requests keep their beginning.
--
-- A provider serves the beginning that a request shares with the one before from
-- its cache, at a fraction of the price. A policy that drops a little every turn
-- changes that beginning every turn. This one lets a request grow up to the high
-- mark, and then cuts down to the low one:
--
--     tokens
--     high   ...../|..../|..../|       each slope: many requests, one beginning
--     low    ..../  |../  |../  |
--
-- The cut lies on a grid, counted in tokens from the beginning of what may go. So
-- it needs no memory of the last cut: a caller that trims the whole history again for
-- every request finds the same cut until a step further is due.

local idle = require "ebb.support.idle"

---@type ebb.Policy
return {
  name = "stable_prefix",
  summary = "cut seldom and deep, so that the provider's prompt cache stays warm",
  options = {
    high = { type = "number", default = 1, min = 0.01, max = 1, help = "share of the budget above which it cuts" },
    low = { type = "number", default = 0.5, min = 0, max = 1, help = "share of the budget to which it cuts" },
    grid = { type = "integer", default = 0, min = 0,
      help = "tokens between two cuts; 0: the distance between high and low" },
    idle = idle.OPTION,
  },
  check = function(options)
    if options.low >= options.high then return "low must be below high" end
  end,
  help = [[
Up to the high mark nothing is dropped; above it the oldest units go until the
request is near the low mark. Between two cuts every request begins like the one
before it. Works on a trimmed conversation that grows and on a whole history
trimmed anew for each request: both are cut at the same places. With `idle` it cuts
to the low mark where the provider's cache is cold anyway.

Kept whatever happens: guarded messages (system, pinned, a call without its
results, the last user message).]],
  example = [[ebb trim scripts/policies/agent.json --encoding cjk --budget 500 --policy stable_prefix:low=0.5]],

  ---@param draft ebb.Draft
  ---@param budget integer
  ---@param options { high: number, low: number, grid: integer, idle: integer }
  trim = function(draft, budget, options)
    local now, high, low = draft:tokens(), math.floor(budget * options.high), math.floor(budget * options.low)
    if idle.is_cold(draft, options.idle) then
      draft:drop_oldest { to = low, reason = "the cache is cold" }
      return
    end
    if now <= high then return end
    local step = options.grid > 0 and options.grid or math.max(1, high - low)
    local steps = (now - high + step - 1) // step
    draft:drop_oldest { to = math.max(0, now - steps * step), reason = "before the cut" }
  end,
}
