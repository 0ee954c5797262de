--- list:check: what the target of a request would refuse in it.

local schema = require "ebb.support.schema"
local target = require "ebb.models.target"

local violations = {}

violations.OPTIONS = {
  dialect = { type = "string" }, profile = { type = "string" }, model = { type = "string" },
  base_url = { type = "string" },
}

--- The dialects that the core has rules for.
local RULES = { openai = true, anthropic = true }

---@param list ebb.List
---@param options? string|ebb.CheckOptions     a string is a dialect
---@return ebb.Target
function violations.target(list, options)
  if type(options) == "string" then options = { dialect = options } end
  local values = schema.options(violations.OPTIONS, options, "check", 'chat:check { dialect = "anthropic" }')
  return target.of_list(list, values)
end

---@param list ebb.List
---@param options? string|ebb.CheckOptions
---@param core_check fun(list: ebb.List, dialect: string): ebb.Violation[], string
---@return ebb.Violation[] violations
---@return ebb.Dialect dialect
---@return string profile
function violations.run(list, options, core_check)
  local goal = violations.target(list, options)
  local list_of_violations, dialect = core_check(list, RULES[goal.dialect] and goal.dialect or list:dialect())
  return list_of_violations, dialect, goal.profile
end

return violations
