--- A store: a database of sessions, by their names.
--
--     local store = ebb.sessions "chats.db"
--     for _, info in ipairs(store:list()) do print(info.name, info.messages, info.tokens) end
--
-- Calls that the disk or the database refuses return nil and an error: {code, message, hint}, with the codes absent,
-- duplicate, conflict (which has `actual`, a version), damaged, unknown_version, read_only, io, limit.

local core = require "ebb.support.core"
local refuse = require "ebb.support.refuse"
local schema = require "ebb.support.schema"

local Store = {}        -- lua/ebb/meta/session.lua describes its methods

local store = { methods = Store }
Store.__index = Store
Store.__name = "Store"

local OPTIONS = {
  create = { type = "boolean", default = true, help = "make the database if it does not exist" },
  relaxed = { type = "boolean", default = false,
    help = "a commit survives the end of the process, and a power cut only later" },
  salvage = { type = "boolean", default = false,
    help = "read what is left of a damaged file; nothing is written, and `create` is ignored" },
  wait = { type = "integer", min = 0, default = 10000, unit = "ms", help = "for locks of other programs" },
}

--- The place as errors show it: a URL without user, password and options.
local function shown(place)
  if not place:find "^postgres%a*://" then return place end
  return (place:gsub("^(%a+://)[^/?]*@", "%1"):gsub("%?.*", ""))
end

--- Opens a database.
---@param place string
---@param options? { create?: boolean, relaxed?: boolean, wait?: integer }
---@return ebb.Store? opened
---@return ebb.Error? problem
function store.open(place, options)
  if type(place) ~= "string" or place == "" then
    refuse("argument", "sessions: the path or URL of a database is expected", 'ebb.sessions "chats.db"')
  end
  local values = schema.options(OPTIONS, options, "sessions", 'ebb.sessions("chats.db", { create = false })')
  local db, problem = require("ebb.support.storage").open(place, values)
  if not db then return nil, problem end
  return setmetatable({ source = place, place = shown(place), db = db, options = values, group = false }, Store)
end

Store.__tostring = function(self) return ("Store %s"):format(self.place) end

--- Lists all sessions, by name.
---@return ebb.SessionInfo[]? infos
---@return ebb.Error? problem
function Store:list() return self.db:list() end

---@param name string
---@return ebb.SessionInfo? info
---@return ebb.Error? problem
function Store:find(name)
  local info, problem = self.db:find(name)
  if info or problem.code ~= "absent" then return info, problem end
  return nil, core.error("absent", ("%s: no session '%s'"):format(self.place, name), "`ebb session ls` lists them")
end

---@param from string
---@param to string
---@return true? done
---@return ebb.Error? problem
function Store:rename(from, to)
  local info, problem = self:find(from)
  if not info then return nil, problem end
  return self.db:rename(info.id, to)
end

--- Removes a session for good; its branches keep what they share with it.
---@param name string
---@return true? done
---@return ebb.Error? problem
function Store:remove(name)
  local info, problem = self:find(name)
  if not info then return nil, problem end
  return self.db:remove(info.id)
end

--- A new session with everything that another one has; they share their messages in the database.
---@param from string
---@param to string
---@return ebb.SessionInfo? info
---@return ebb.Error? problem
function Store:branch(from, to)
  local info, problem = self:find(from)
  if not info then return nil, problem end
  return self.db:branch(info.id, to, core.now())
end

--- Makes a session forget what it has in memory: the disk has another state, which its next use reads. It needs no
--- memory.
---@param session ebb.Session
function store.doubt(session)
  session.chat, session.version, session.tail, session.is_stale = nil, nil, false, true
end

---- Groups ----

--- Sessions that were edited in a group that is not on disk.
local Group = { __close = function(group)
  group.store.group = false
  if group.is_kept then return end
  for i = 1, #group do      -- store.doubt: no call, for there may be no memory
    local session = group[i]
    session.chat, session.version, session.tail, session.is_stale = nil, nil, false, true
    session.name = group.names[session] or session.name
  end
end }

local function run_in_group(group, run, opened)
  local results = table.pack(run(opened))
  if group.problem then results = table.pack(nil, group.problem) end
  group.keeps = not (results[1] == nil and core.is_error(results[2]))
  return results
end

--- Makes all that a function writes to sessions of this store one transaction, with one sync of the disk: all is on
--- disk when it returns, or nothing is. The results of the function are the result. If it raises, or returns nil and
--- an error, nothing is written.
---@param run fun(store: ebb.Store): ...
---@return any ...     of the function; or nil and an error
function Store:together(run)
  if type(run) ~= "function" then
    refuse("argument", "together: a function is expected", "store:together(function() a:append(x) b:append(y) end)")
  end
  local db = self.db
  local new = setmetatable({ store = self, keeps = false, is_kept = false, problem = false, names = {} }, Group)
  local begun, problem = db:begin_group()
  if not begun then return nil, problem end
  local group <close> = new      -- from here on nothing that needs memory, but in the function
  self.group = group
  local ok, results = pcall(run_in_group, group, run, self)
  local keeps = ok and group.keeps
  local done, why = db:end_group(keeps)
  if not ok then error(results, 0) end
  if keeps and not done then return nil, why end
  group.is_kept = keeps
  return table.unpack(results, 1, results.n)
end

---- Upkeep ----

--- Checks the database. Returns a text for each fault; an empty list if there is none.
---@return string[]? faults
---@return ebb.Error? problem
function Store:check() return self.db:check() end

--- Writes the log into the database's main file; with `vacuum` free room goes back to the system.
---@param options? { vacuum?: boolean }
---@return true? done
---@return ebb.Error? problem
function Store:settle(options)
  local values = schema.options({ vacuum = { type = "boolean", default = false } }, options, "settle")
  return self.db:settle(values.vacuum)
end

--- A consistent copy in a new file, while others go on.
---@param path string
---@return true? done
---@return ebb.Error? problem
function Store:backup(path) return self.db:backup(path) end

--- The library and its version, and what to know about that version; "" for nothing.
---@return string what
---@return string warning
function Store:describe() return self.db:describe() end

--- Stands for a database that could not be opened again: its next use tries once more.
local function lost(self)
  return setmetatable({ close = function() end }, { __index = function(_, name)
    return function(_, ...)
      local done, problem = self:reopen()
      if not done then return nil, problem end
      return self.db[name](self.db, ...)
    end
  end })
end

--- Opens the database again: after a failure of the disk its descriptors cannot be trusted. Where that fails, the
--- next use of the store tries it once more.
---@return true? done
---@return ebb.Error? problem
function Store:reopen()
  pcall(self.db.close, self.db)
  local db, problem = require("ebb.support.storage").open(self.source, self.options)
  if not db then
    self.db = lost(self)
    return nil, problem
  end
  self.db = db
  return true
end

function Store:close() self.db:close() end

Store.__close = function(self) pcall(self.db.close, self.db) end

return store
