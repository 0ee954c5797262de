--- Reads the rest of a damaged database, session by session.

local core = require "ebb.support.core"
local session = require "ebb.session"

local salvage = {}

---@class ebb.Salvaged
---@field name string
---@field whole boolean          all of it is there: batches, marks, windows
---@field count integer          stored messages that can be read
---@field stored? integer        messages that it had ever stored, windows' places too; nil: not known
---@field lost? integer[]        how many of these are lost, at least and at most; nil: not known
---@field rows? integer[]        rows that can be read, and those that it and its origins wrote; nil: not known
---@field text string            these, by seq, as a JSON list
---@field chat? ebb.Conversation the session, or its messages alone
---@field problem? ebb.Error     why it is not whole

--- A conversation of messages alone.
local function parse(text)
  local ok, chat, problem = pcall(session.read, core.parse, text)
  if not ok then return nil, chat end
  return chat, problem
end

--- Sessions of stores by their ids, read once: the files do not change.
local by_store = setmetatable({}, { __mode = "k" })

--- The session of an id; nil where its row is lost.
local function info_of(store, id)
  local by_id = by_store[store]
  if not by_id then
    by_id = {}
    for _, info in ipairs(store:list() or {}) do by_id[info.id] = info end
    by_store[store] = by_id
  end
  return by_id[id]
end

--- The rows of a session and its origins that are there, and those that they wrote; nil where one does not know.
---@return integer[]? rows
local function rows_of(store, info)
  local present, written, seen = 0, 0, {}
  while info and not seen[info.id] do      -- a damaged file may have a circle of origins
    seen[info.id] = true
    local here, wrote = store.db:rows(info.id)
    if not here or here > wrote then return nil end      -- its own row is lost, or older than the others
    present, written = present + here, written + wrote
    if not info.origin then return { present, written } end
    info = info_of(store, info.origin)
  end
end

--- Returns how many messages are lost, at least and at most. Pruned messages have no row either: so no more are lost
--- than rows are missing, and no fewer than the visible list lacks.
local function losses(info, seqs, rows)
  local missing = math.max(0, info.stored - seqs)
  local most = rows[2] > rows[1] and math.min(missing, rows[2] - rows[1]) or missing
  return { math.min(most, math.max(0, info.messages - seqs)), most }
end

--- Reads one session.
---@param store ebb.Store     of ebb.sessions(path, { salvage = true })
---@param info ebb.SessionInfo
---@return ebb.Salvaged? result
---@return ebb.Error? problem
function salvage.session(store, info)
  local text, count, seqs = store.db:messages(info.id)
  if not text then return nil, count end
  local result = { name = info.name, whole = true, count = count, text = text }
  local opened, problem = session.of(store, info.name)
  if opened then
    result.chat = opened.chat
    return result
  end
  result.whole, result.problem, result.rows = false, problem, rows_of(store, info)
  if result.rows then result.stored, result.lost = info.stored, losses(info, seqs, result.rows) end
  if count > 0 then
    local chat, why = parse(text)
    result.chat, result.problem = chat, chat and problem or why
  end
  return result
end

--- The next numbers to be tried for names, by store: of many sessions of one name each asks for one.
local next_numbers = setmetatable({}, { __mode = "k" })

--- A name that the database does not have yet.
local function free_name(store, name)
  local numbers = next_numbers[store] or {}
  local n = numbers[name] or 1
  local result
  repeat
    result = n == 1 and name or ("%s (%d)"):format(name, n)
    n = n + 1
  until not store:find(result)
  next_numbers[store], numbers[name] = numbers, n
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
