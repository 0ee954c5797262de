--- Salvage: what is left of a damaged database, session by session.

local core = require "ebb.support.core"
local session = require "ebb.session"

local salvage = {}

---@class ebb.Salvaged
---@field name string
---@field whole boolean          all of it is there: batches, marks, windows
---@field count integer          stored messages that can be read
---@field text string            these, by seq, as a JSON list
---@field chat? ebb.Conversation the session, or its messages alone
---@field problem? ebb.Error     why it is not whole

--- A conversation of messages alone.
local function parse(text)
  local ok, chat, problem = pcall(session.read, core.parse, text)
  if not ok then return nil, chat end
  return chat, problem
end

--- Reads one session.
---@param store ebb.Store     of ebb.sessions(path, { salvage = true })
---@param info ebb.SessionInfo
---@return ebb.Salvaged? result
---@return ebb.Error? problem
function salvage.session(store, info)
  local text, count = store.db:messages(info.id)
  if not text then return nil, count end
  local result = { name = info.name, whole = true, count = count, text = text }
  local opened, problem = session.of(store, info.name)
  if opened then
    result.chat = opened.chat
    return result
  end
  result.whole, result.problem = false, problem
  if count > 0 then
    local chat, why = parse(text)
    result.chat, result.problem = chat, chat and problem or why
  end
  return result
end

--- A name that the database does not have yet.
local function free_name(store, name)
  local result, n = name, 1
  while store:find(result) do
    n = n + 1
    result = ("%s (%d)"):format(name, n)
  end
  return result
end

--- Writes a salvaged session into another database, under its name or one like it.
---@param store ebb.Store
---@param salvaged ebb.Salvaged
---@return string? name
---@return ebb.Error? problem
function salvage.keep(store, salvaged)
  local name = free_name(store, salvaged.name)
  local target, problem = session.open(store.source, name)
  if not target then return nil, problem end
  if salvaged.chat then
    local done, why = target:adopt(salvaged.chat)
    if not done then return nil, why end
  end
  target:close()
  return name
end

return salvage
