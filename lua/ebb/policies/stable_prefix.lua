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
local marks = require "ebb.support.marks"

local OPTIONS = marks.options(0.5, {
  grid = { type = "integer", default = 0, min = 0,
    help = "tokens between two cuts; 0: the distance between high and low" },
  idle = idle.OPTION,
})

---@type ebb.Policy
return {
  name = "stable_prefix",
  summary = "cut seldom and deep, so that the provider's prompt cache stays warm",
  options = OPTIONS,
  check = marks.check,
  help = [[
Up to the high mark nothing is dropped; above it the oldest units go until the
request is near the low mark. Marks are shares of the budget; where tools and
guarded messages have much of it, the low mark leaves a share of the rest, and units
so large that a cut leaves hardly anything stay where they fit. Between two cuts
every request begins like the one before it. Works on a trimmed conversation that
grows and on a whole history trimmed again for each request: both are cut at the same
places. With `idle` it cuts to the low mark where the provider's cache is cold anyway.

Kept whatever happens: guarded messages (system, pinned, a call without its
results, the last user message).]],
  example = [[ebb trim scripts/policies/agent.json --encoding cjk --budget 500 --policy stable_prefix:low=0.5]],

  ---@param draft ebb.Draft
  ---@param budget integer
  ---@param options { high: number, low: number, grid: integer, idle: integer }
  trim = function(draft, budget, options)
    local now, at = draft:tokens(), marks.of(draft, budget, options)
    if idle.is_cold(draft, options.idle) then return marks.drop(draft, at.low, at, "the cache is cold") end
    if now <= at.high then return end
    local step = options.grid > 0 and options.grid or at.step
    marks.drop(draft, marks.target(now, at.high, step), at, "before the cut")
  end,
}
