--- chat:repaired: a fork that a provider will take, for sending it. The
--- conversation itself stays as it is.

local core = require "ebb.support.core"
local options = require "ebb.support.options"
local refuse = require "ebb.support.refuse"
local tables = require "ebb.support.tables"

local repair = {}

local NAMES = { "dialect", "calls", "codes" }
local WAYS = { "drop", "synthesize" }

local function check_options(given)
  if type(given) ~= "table" then refuse("argument", "repaired takes a table", 'chat:repaired { calls = "drop" }') end
  options.names(given, NAMES, "repaired")
  if given.calls ~= nil and not tables.contains(WAYS, given.calls) then
    refuse("argument", ("repaired: calls is 'drop' or 'synthesize', not %s"):format(tostring(given.calls)))
  end
  if given.codes ~= nil and type(given.codes) ~= "table" then
    refuse("argument", "repaired: codes is a list of names of violations")
  end
end

---@param chat ebb.Conversation
---@param given? ebb.Repair
---@param fork? fun(chat: ebb.Conversation): ebb.Conversation     without items of windows; default: there are none
---@return ebb.Conversation copy
---@return ebb.RepairReport report
function repair.run(chat, given, fork)
  given = given or {}
  check_options(given)
  local _, dialect = chat:check(given.dialect)   -- the copy may no longer show it
  local copy = (fork or chat.fork)(chat)
  local ledger = core.repair(copy, { dialect = dialect, calls = given.calls, codes = given.codes })
  return copy, { dialect = dialect, ledger = ledger, mended = ledger and #ledger or 0, left = copy:check(dialect) }
end

return repair
