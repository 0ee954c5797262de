--- chat:repaired: a fork that a provider will take, for sending it. The
--- conversation itself stays as it is.

local core = require "ebb.support.core"
local schema = require "ebb.support.schema"

local repair = {}

repair.OPTIONS = {
  dialect = { type = "string" },
  calls = { type = "choice", choices = { "drop", "synthesize" } },
  codes = { type = "list", items = { type = "string" }, expected = "a list of names of violations" },
}

---@param chat ebb.Conversation
---@param options? ebb.Repair
---@param fork? fun(chat: ebb.Conversation): ebb.Conversation     without items of windows; default: there are none
---@return ebb.Conversation copy
---@return ebb.RepairReport report
function repair.run(chat, options, fork)
  local values = schema.options(repair.OPTIONS, options, "repaired", 'chat:repaired { calls = "drop" }')
  local _, dialect = chat:check(values.dialect)   -- the copy may no longer show it
  local copy = (fork or chat.fork)(chat)
  local ledger = core.repair(copy, { dialect = dialect, calls = values.calls, codes = values.codes })
  return copy, { dialect = dialect, ledger = ledger, mended = ledger and #ledger or 0, left = copy:check(dialect) }
end

return repair
