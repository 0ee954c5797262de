--- Trim policy: cuts deep where the provider's prompt cache is cold, and else seldom, when it must.
--
-- It is stable_prefix with a pause. The option `idle` of all policies that cut says the same of each of them.

local idle = require "ebb.support.idle"
local stable_prefix = require "ebb.policies.stable_prefix"
local tables = require "ebb.support.tables"

local OPTIONS = tables.copy(stable_prefix.options)
OPTIONS.idle = idle.option(idle.PAUSE)

---@type ebb.Policy
return {
  name = "idle",
  summary = "cut deep where the provider's prompt cache is cold, else as stable_prefix does",
  options = OPTIONS,
  check = stable_prefix.check,
  help = [[
Where more than `idle` seconds lie between the last answer and the newest message, the
cache is gone and a cut costs nothing: then it cuts to the low mark at once. Else it
is stable_prefix: up to the high mark nothing is dropped. Messages need timestamps.
Other policies that cut do the same with their option, such as digest:idle=300.

Kept whatever happens: guarded messages (system, pinned, a call without its
results, the last user message).]],
  example = [[ebb trim scripts/policies/agent.json --encoding cjk --budget 500 --policy idle:low=0.4]],

  ---@param draft ebb.Draft
  ---@param options { high: number, low: number, grid: integer, idle: integer }
  trim = function(draft, _, options)
    draft:run("stable_prefix", options)
  end,
}
