--- Trim policy: the oldest units go first, no more of them than needed.
--
-- Kept whatever happens: what the guards hold (system messages, pinned ones, the
-- pending unit and the last user message), and the newest `keep` units.

local idle = require "ebb.support.idle"

---@type ebb.Policy
return {
  name = "keep_recent",
  summary = "drop the oldest units, no more than needed",
  options = {
    keep = { type = "integer", default = 0, min = 0, help = "newest units that stay whatever happens" },
    idle = idle.OPTION,
  },

  help = [[
Kept whatever happens: guarded messages (system, pinned, a call without its
results, the last user message), and the newest `keep` units. A call and its
results are one unit, and so is any other message, an item of a window, too: keep_turns
lets obsolete items go first and keeps open windows longer than old turns. With `idle` it cuts to half of
the budget (more with large tools) where the provider's cache is cold anyway.]],
  example = [[ebb trim scripts/policies/agent.json --encoding cjk --budget 300 --policy keep_recent:keep=4]],

  ---@param draft ebb.Draft
  ---@param budget integer
  ---@param options { keep: integer, idle: integer }
  trim = function(draft, budget, options)
    draft:drop_oldest { to = idle.budget(draft, budget, options.idle), keep = options.keep, reason = "oldest" }
  end,
}
