--- chat:repaired: a fork that a provider will take, for sending it. The
--- conversation itself stays as it is.

local core = require "ebb.support.core"
local schema = require "ebb.support.schema"

local repair = {}

local TARGET = {
  dialect = { type = "string" }, profile = { type = "string" }, model = { type = "string" },
  base_url = { type = "string" },
}

repair.OPTIONS = {
  calls = { type = "choice", choices = { "drop", "synthesize" } },
  codes = { type = "list", items = { type = "string" }, expected = "a list of names of violations" },
}

for name, field in pairs(TARGET) do repair.OPTIONS[name] = field end

---@param chat ebb.Conversation
---@param options? ebb.Repair
---@param fork? fun(chat: ebb.Conversation): ebb.Conversation     without items of windows; default: there are none
---@return ebb.Conversation copy
---@return ebb.RepairReport report
function repair.run(chat, options, fork)
  local values = schema.options(repair.OPTIONS, options, "repaired", 'chat:repaired { calls = "drop" }')
  local wanted = {}
  for name in pairs(TARGET) do wanted[name] = values[name] end
  local _, dialect, profile = chat:check(wanted)   -- the copy may no longer show it
  local copy = (fork or chat.fork)(chat)
  local ledger = core.repair(copy, { dialect = dialect, calls = values.calls, codes = values.codes })
  local left = copy:check { dialect = dialect, profile = profile }
  return copy, { dialect = dialect, ledger = ledger, mended = ledger and #ledger or 0, left = left }
end

return repair
