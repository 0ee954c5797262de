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
  local ledger, lost = core.repair(copy, rules)
  local left = copy:check { dialect = rules.dialect, profile = goal.profile, model = goal.model, members = false }
  return copy, {
    dialect = rules.dialect, profile = goal.profile, ledger = ledger, mended = ledger and #ledger or 0, left = left,
    lost = lost,
  }
end

--- A request as it is sent: the conversation itself where its target takes it, else a repaired copy.
---@param chat ebb.Conversation      without items of windows
---@param by ebb.Repair
---@return ebb.Conversation
---@return ebb.RepairReport? report
function repair.outgoing(chat, by)
  if #chat:check(by) == 0 then return chat end
  return repair.run(chat, by)
end

local function describe_place(problem)
  return problem.index and ("message %d"):format(problem.index) or "the request"
end

--- Describes a repair for a log, a line each: its edits, its losses, and what the target would still refuse.
---@param report ebb.RepairReport
---@return string[]
function repair.lines(report)
  local lines = {}
  for _, each in ipairs(report.ledger and report.ledger:runs() or {}) do
    lines[#lines + 1] = ("repaired for %s: %s %d: %s"):format(report.dialect, each.action, each.count, each.reason)
  end
  for _, loss in ipairs(report.lost) do
    lines[#lines + 1] = ("%s: %s: %s"):format(describe_place(loss), loss.code, loss.text)
  end
  for _, violation in ipairs(report.left) do
    lines[#lines + 1] = ("%s would refuse %s: %s: %s"):format(report.dialect, describe_place(violation), violation.code,
      violation.text)
  end
  return lines
end

return repair
