--- The options of chat:trim, declared once: trim nodes, replays and libebb take theirs from here.

local loader = require "ebb.sandbox.loader"
local policies = require "ebb.trim.policies"

---@type table<string, ebb.Schema>
local options = {
  budget = { type = "integer", min = 0, unit = "tokens" },
  reserve = { type = "integer", min = 0, unit = "tokens", default = 0 },
  policy = policies.SPEC,
  guards = { type = "boolean", default = true },
  dry_run = { type = "boolean", default = false },
  model = {
    any_of = { { type = "string" }, { type = "function" } },
    expected = "a model's name, or a function that answers a request",
    hint = "model = function(request) return text end",
  },
  encoding = { type = "string" },
  limits = loader.LIMITS,
  trusted = { type = "boolean", default = false },
}

--- Some of the options, beside others.
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
