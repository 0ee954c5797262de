--- The end of a long session: queries and edits that need not read all of it.
--
--     session.tail   the last messages as a conversation, with the session's windows, marks and options;
--                    `place` is where they are: the number of the current batch, and how many are hidden before them
--
-- All other uses of the session read all of it first (session.chat). Appending, and edits of a list of which all is in
-- the tail, write the same rows as they would there.

local core = require "ebb.support.core"

local tail = {
  from = 4096,          -- stored messages of sessions that are opened by their tail
  count = 256,          -- messages of the tail at first
  most = 65536,         -- and later
}

--- The session's number of a batch of the tail.
local function batch_number(place, batch)
  return batch == 0 and place.batch or place.batches + batch - 1
end

--- Messages that come before the tail.
---@param self ebb.Session
---@return integer
function tail.hidden(self)
  local chat, place = self.tail.chat, self.tail.place
  return chat:stats().current_batch_index == 0 and place.hidden or 0
end

---- Reading ----

--- The first message of the tail whose unit is whole for sure: where a turn begins.
local function first_turn(chat)
  for i = 1, #chat do
    local message = chat[i]
    if message.role == "user" and #message.answers == 0 then return i end
  end
  return #chat + 1
end

--- Reads the tail of a session. false: it has to be read whole; nil, problem: it cannot be read.
---@param self ebb.Session
---@param read function      reads a conversation, as ebb.load does
---@param id integer
---@param count integer      messages at least
---@return table|false|nil result   { chat, place, info, first, tokens, past: what reads all of the same version }
---@return ebb.Error? problem
function tail.read(self, read, id, count)
  local info, place, past, is_whole
  local chat, problem = read(function(_, options, resolve)
    local loaded, result, where, noted = self.store.db:tail(id, count, options, resolve)
    is_whole = loaded == false
    if loaded then info, place, past = result, where, noted end
    return loaded, result
  end, nil, self.options or nil)
  if is_whole then return false end
  if not chat then return nil, problem end
  local first = place.hidden > 0 and first_turn(chat) or 1
  return { chat = chat, place = place, info = info, first = first, tokens = info.tokens, count = count, past = past }
end

--- Makes the tail so long that the last `n` messages can be given. Returns whether it is.
---@param self ebb.Session
---@param read function
---@param n integer
---@return boolean
local function reach(self, read, n)
  local current = self.tail
  if tail.hidden(self) == 0 or #current.chat - current.first + 1 >= n then return true end
  if self.closed or n > tail.most then return false end
  local longer = tail.read(self, read, self.id, 2 * n)
  if not longer or longer.info.version ~= self.version then return false end
  self.tail = longer
  return longer.place.hidden == 0 or #longer.chat - longer.first + 1 >= n
end

---@param self ebb.Session
---@return integer
function tail.length(self) return #self.tail.chat + tail.hidden(self) end

--- The message at a position. false: it is not in the tail.
function tail.at(self, read, position)
  local length = tail.length(self)
  if position < 1 or position > length then return nil end
  if not reach(self, read, length - position + 1) then return false end
  return self.tail.chat[position - tail.hidden(self)]
end

---- Methods ----

local READS = {}

--- The last n, of any role or of some, if the tail has that many.
function READS.recent(self, read, role, n)
  local is_any = math.type(role) == "integer" and n == nil
  local wanted = is_any and role or n
  if math.type(wanted) ~= "integer" or wanted < 0 then return nil end
  if not reach(self, read, is_any and wanted or 1) then return nil end
  local current = self.tail
  if is_any then return current.chat:recent(math.min(wanted, #current.chat)) end
  if tail.hidden(self) == 0 then return current.chat:recent(role, n) end
  local selection = current.chat:recent(role, n)
  if #selection < n or n > 0 and selection[1].index < current.first + tail.hidden(self) then return nil end
  return selection
end

function READS.stats(self)
  local stats, place = self.tail.chat:stats(), self.tail.place
  stats.current_batch_messages = tail.length(self)
  stats.current_batch_index = batch_number(place, stats.current_batch_index)
  stats.total_batches = place.batches + stats.total_batches - 1
  return stats
end

--- Queries that need only the visible messages.
for name in ("tokens trust count range where marked shows check dialect"):gmatch "%S+" do
  READS[name] = function(self, _, ...)
    if tail.hidden(self) > 0 then return nil end
    return self.tail.chat[name](self.tail.chat, ...)
  end
end

--- Answers a method by the tail. False: it needs all of the session.
---@return boolean done
---@return any ...
function tail.answer(self, read, method, ...)
  local run = READS[method]
  if not run then return false end
  local result = run(self, read, ...)
  if result == nil then return false end
  return true, result
end

---- Edits ----

--- Edits that look at the visible messages alone.
local OF_THE_LIST = { append = true, truncate = true, insert = true, replace = true, clear = true }

--- Options of trims that look at the list alone.
local OF_TRIMS = { budget = true, reserve = true, guards = true, policy = true }

--- True if a trim needs the list alone: other policies may remember what they did in earlier batches, and thinking is
--- bound to what they showed.
local function fits_trim(self, options)
  local chat = self.tail.chat
  if tail.hidden(self) > 0 or type(options) ~= "table" then return false end
  for name in pairs(options) do
    if not OF_TRIMS[name] then return false end
  end
  if options.policy ~= nil and options.policy ~= "keep_recent" then return false end
  return core.window.count(chat) == 0 and not require("ebb.models.bound_thinking").of_chat(chat)
end

--- True if an edit needs no message before the tail. The caller's on_limit is told of all tokens.
local function fits(self, method, first, ...)
  if self.options and self.options.on_limit then return false end
  if method == "trim" then return select("#", ...) == 0 and fits_trim(self, first) end
  if not OF_THE_LIST[method] then return false end
  if method == "append" or tail.hidden(self) == 0 then return true end
  if method ~= "truncate" or type(first) ~= "table" or select("#", ...) > 0 then return false end
  for name in pairs(first) do
    if name ~= "keep_last" then return false end
  end
  local n = first.keep_last
  return math.type(n) == "integer" and n >= 0 and n <= #self.tail.chat
end

--- Merges a branch that is on disk.
local function join(calls, chat, branch)
  calls.inherit(chat, branch)
  require("ebb.support.storage").merge(chat, branch)
end

--- Runs an edit on a branch of the tail and commits it. Nothing: it has to be run on all of the session.
---@param self ebb.Session
---@param calls { commit: function, inherit: function }
---@param method string
---@param operation string
---@return table? results
---@return ebb.Error? problem
---@return boolean? is_unknown   it is on disk, and what is in memory may differ
function tail.edit(self, calls, method, operation, ...)
  if not fits(self, method, ...) then return nil end
  local storage, current = require "ebb.support.storage", self.tail
  local branch = storage.begin(current.chat)
  calls.inherit(branch, current.chat)
  local results = table.pack(branch[method](branch, ...))
  local first = results[1]
  if math.type(first) == "integer" then results[1] = batch_number(current.place, first) end
  if method == "trim" and first then first.batch = batch_number(current.place, first.batch) end
  local version, repeated, tokens = calls.commit(self, branch, operation, current)
  if version == false then return nil end
  if not version then return nil, repeated end
  self.version, current.tokens = version, tokens
  return results, nil, repeated or not pcall(join, calls, current.chat, branch)
end

return tail
