--- The options of chat:trim, declared once: trim nodes, replays and libebb take theirs from here.

local loader = require "ebb.sandbox.loader"
local policies = require "ebb.trim.policies"

local TOKENS_MAX = 1 << 53   -- sums of a few such figures are exact, in JSON too

---@type table<string, ebb.Schema>
local options = {
  budget = { type = "integer", min = 0, max = TOKENS_MAX, unit = "tokens",
    help = "of the whole request; default: the model's window less its output" },
  reserve = { type = "integer", min = 0, max = TOKENS_MAX, unit = "tokens", default = 0,
    help = "part of the budget that stays free" },
  policy = policies.SPEC,
  options = { type = "table", help = "of a single policy" },
  guards = { type = "boolean", default = true, help = "false lets policies drop guarded messages" },
  dry_run = { type = "boolean", default = false, help = "only report" },
  model = {
    any_of = { { type = "string" }, { type = "function" } },
    expected = "a model's name, or a function that answers a request",
    hint = "model = function(request) return text end",
    help = "a name: count as for this model; a function: answers the requests for summaries",
  },
  encoding = { type = "string", help = "count by this encoding, in this trim only" },
  limits = loader.LIMITS,
  trusted = { type = "boolean", default = false,
    help = "run files and texts outside of the sandbox, without limits" },
}

--- Some of the options, besides others.
---@param names string[]
---@param fields table<string, ebb.Schema>    the others
---@return table<string, ebb.Schema> fields
local function with(names, fields)
  for _, name in ipairs(names) do
    fields[name] = options[name]
  end
  return fields
end

return { fields = options, with = with }
