--- list:check: finds the violations that the target of a request would refuse.

local core = require "ebb.support.core"
local profiles = require "ebb.models.profiles"
local schema = require "ebb.support.schema"
local target = require "ebb.models.target"
local traits = require "ebb.models.traits"

local violations = {}

--- The options that choose the target of a check or a repair.
violations.TARGET = {
  dialect = { type = "string" }, profile = { type = "string" }, model = { type = "string" },
  base_url = { type = "string" },
}

violations.OPTIONS = {
  severity = { type = "choice", choices = { "refused", "strict", "changed" }, default = "refused" },
  members = { type = "boolean", default = true },
}
for name, field in pairs(violations.TARGET) do violations.OPTIONS[name] = field end

--- A target as the core takes it.
---@param goal ebb.Target
---@return table core_options    {dialect, profile, traits, model_known}
function violations.rules(goal)
  local own = traits.of(goal.model)
  return {
    dialect = goal.dialect, profile = profiles.find(goal.profile),
    traits = own, model_known = own ~= nil,
  }
end

--- The rules for a list, as the core takes them.
---@param list ebb.List
---@param options? string|ebb.CheckOptions     a string is a dialect
---@param input? ebb.Dialect     the list's own form
---@return table rules
---@return string profile
function violations.rules_for(list, options, input)
  if type(options) == "string" then options = { dialect = options } end
  local values = schema.options(violations.OPTIONS, options, "check", 'chat:check { dialect = "anthropic" }')
  local goal = target.of_list(list, values, input, "check")
  local rules = violations.rules(goal)
  rules.severity, rules.members = values.severity, values.members
  return rules, goal.profile
end

---@param list ebb.List
---@param options? string|ebb.CheckOptions     a string is a dialect
---@param core_check fun(list: ebb.List, rules: table): ebb.Violation[], string
---@return ebb.Violation[] violations
---@return ebb.Dialect dialect
---@return string profile
function violations.check(list, options, core_check)
  local rules, profile = violations.rules_for(list, options)
  local listed, dialect = core_check(list, rules)
  return listed, dialect, profile
end

--- The rules of a code, one for each group of dialects; all of them without a code.
---@param code? string
---@return ebb.CheckRule[]
function violations.explain(code)
  local result = {}
  for _, rule in ipairs(core.rules()) do
    if not code or rule.code == code then result[#result + 1] = rule end
  end
  return result
end

return violations
