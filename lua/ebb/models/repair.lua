--- chat:repaired: a fork that the target of a request will take, for sending it. The
--- conversation itself stays as it is.

local core = require "ebb.support.core"
local schema = require "ebb.support.schema"
local target = require "ebb.models.target"
local violations = require "ebb.models.violations"

local repair = {}

repair.OPTIONS = {
  calls = { type = "choice", choices = { "drop", "synthesize" } },
  codes = { type = "list", items = { type = "string" }, expected = "a list of names of violations" },
}
for name, field in pairs(violations.TARGET) do repair.OPTIONS[name] = field end

---@param chat ebb.Conversation
---@param options? ebb.Repair
---@param fork? fun(chat: ebb.Conversation): ebb.Conversation     without items of windows; default: there are none
---@return ebb.Conversation copy
---@return ebb.RepairReport report
function repair.run(chat, options, fork)
  local values = schema.options(repair.OPTIONS, options, "repaired", 'chat:repaired { calls = "drop" }')
  local goal = target.of_list(chat, values, nil, "repaired")
  local rules = violations.rules(goal)
  local copy = (fork or chat.fork)(chat)
  rules.calls, rules.codes = values.calls, values.codes
  local ledger = core.repair(copy, rules)
  local left = copy:check { dialect = rules.dialect, profile = goal.profile, model = goal.model, members = false }
  return copy, {
    dialect = rules.dialect, profile = goal.profile, ledger = ledger, mended = ledger and #ledger or 0, left = left,
  }
end

return repair
