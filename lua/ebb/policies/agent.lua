--- Trim policy: the recipe that we recommend for agents: results are folded as they come, then digest cuts.
--
--     each result, once     fold_output     escapes, repetitions and middles of listings go, nothing that is named
--     above the high mark   digest          the oldest units go, a note keeps what they named
--     after a long pause    digest          down to the low mark: the cache is cold anyway
--
-- Folding looks at one result alone, and cuts are rare, so that requests keep their beginning.

local digest = require "ebb.policies.digest"
local idle = require "ebb.support.idle"
local tables = require "ebb.support.tables"

--- The options of digest, with a pause of its own.
local OPTIONS = tables.copy(digest.options)
OPTIONS.idle = idle.option(idle.PAUSE)

---@type ebb.Policy
return {
  name = "agent",
  summary = "fold results, then cut seldom and keep a note of names and values: for agents",
  options = OPTIONS,
  check = digest.check,
  help = [[
Runs fold_output on each result, without its tables, which would part values from
their names; then digest with the options above. So it costs what stable_prefix
costs, and requests still hold nearly all that the next call needs.

Kept whatever happens: guarded messages (system, pinned, a call without its
results, the last user message). No model is asked.]],
  example = [[ebb trim scripts/policies/agent.json --encoding cjk --budget 500 --policy agent:share=0.2]],

  ---@param draft ebb.Draft
  ---@param options ebb.DigestOptions
  trim = function(draft, _, options)
    draft:run("fold_output", { tables = 0 })
    draft:run("digest", options)
  end,
}
