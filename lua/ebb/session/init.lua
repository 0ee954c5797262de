--- Sessions: conversations that are on disk when a call returns.
--
--     local session = ebb.session("chats.db", "support")
--     session:append { role = "user", content = "Hello" }      on disk
--     session:trim { budget = 4000 }
--     session:rollback(0)                                      tomorrow, too
--     print(#session, session:tokens())
--
-- A session has all methods of a conversation. Those that edit it commit what they changed, in one transaction, before
-- they return; `edit` makes several edits one commit. A commit names the version that it follows: if another process
-- was faster, the call returns nil and an error with the code conflict, and `session:refresh()` reads what it wrote.
-- Nothing has changed in memory after a refused commit.
--
--     session.chat     what is on disk, at session.version; edits go to a branch of it,
--     branch           which the commit writes to disk, and then is merged into session.chat

local core = require "ebb.support.core"
local quantity = require "ebb.support.quantity"
local refuse = require "ebb.support.refuse"
local saved_options = require "ebb.conversation.saved_options"
local schema = require "ebb.support.schema"
local store = require "ebb.session.store"
local tail = require "ebb.session.tail"

local Session = {}      -- lua/ebb/meta/session.lua describes its methods

local session = { methods = Session }

local OPTIONS = {
  create = { type = "boolean", default = true, help = "begin the session if it does not exist" },
  relaxed = { type = "boolean", default = false, help = "do not wait for the disk" },
  wait = { type = "integer", min = 0, default = 10000, unit = "ms", help = "for locks of other programs" },
  conversation = { type = "table", help = "options of the conversation: model, limit ..." },
}

local OF_STORE = { create = OPTIONS.create, conversation = OPTIONS.conversation }

--- Methods of conversations that change them.
local EDITS = {}
for name in ([[append insert replace truncate clear filter rollback checkpoint trim apply input forget prune mark unmark
  report_usage recount set_variables]]):gmatch "%S+" do
  EDITS[name] = true
end

--- The C module, which loads on first use.
local function storage() return require "ebb.support.storage" end

---- Reading ----

--- True if the session has no commits. The version alone does not tell: taking over a lease raises it, too. A salvaged
--- part of a damaged database may lack the number of batches.
local function is_empty(self, info)
  return info.version == 0 or info.batches == 0 and not self.store.options.salvage
end

--- Reads the session's rows; one without commits is a new conversation. `past`: in the version of a tail.
local function read(self, info, past)
  if is_empty(self, info) then return session.new(self.options or nil), info end
  local state
  local chat, why = session.read(function(_, options, resolve)
    local loaded, result = self.store.db:load(info.id, options, resolve, past)
    if loaded then state = result end
    return loaded, result
  end, nil, self.options or nil)
  if not chat then return nil, why end
  return chat, state
end

--- The options on disk; false where the caller's differ, which the next commit writes: a session keeps the model that
--- it is counted for.
local function options_on_disk(self, chat)
  if self.options and not core.state(chat).options_text then return false end
  return saved_options.text(chat)
end

--- Takes all that is on disk.
local function take_whole(self, info, past)
  local chat, state = read(self, info, past)
  if not chat then return nil, state end
  self.state = storage().state(chat)
  self.chat, self.tail, self.version, self.id, self.is_stale = chat, false, state.version, state.id, false
  self.is_empty = is_empty(self, state)
  self.saved_options = not self.is_empty and options_on_disk(self, chat)
  return true
end

--- Takes the state on disk; of a long session the tail.
local function take(self)
  local info, problem = self.store.db:find(self.name)
  if not info then return nil, problem end
  local is_short = info.stored < tail.from
  if is_short or is_empty(self, info) or self.store.options.salvage then return take_whole(self, info) end
  local result, why = tail.read(self, session.read, info.id, tail.count)
  if result == nil then return nil, why end
  if not result then return take_whole(self, info) end
  self.chat, self.tail, self.version, self.id, self.is_stale = nil, result, result.info.version, info.id, false
  self.is_empty, self.saved_options = false, options_on_disk(self, result.chat)
  return true
end

--- Reads all of a session of which the tail was read, in the same version: what others commit may add to it, and not
--- replace what was not read.
local function complete(self)
  if rawget(self, "chat") then return true end
  if self.closed then refuse("closed", "the session is closed, and not all of it was read") end
  if self.is_stale then return take(self) end
  local ok, problem = take_whole(self, { id = self.id, version = self.version }, self.tail.past)
  if not ok and problem.code == "conflict" then problem.hint = "session:refresh() reads what others wrote" end
  return ok, problem
end

---- Writing ----

--- Returns the batch and the figures at which a branch of the tail begins in the session.
local function place_of(of)
  local place = of.place
  return { batch = place.batch, batches = place.batches, hidden = place.hidden, tokens = of.tokens,
    past = of.past }
end

--- True if a failed commit may still be on disk: not if others had locked the database.
local function may_be_there(version, problem)
  return version == nil and problem.code == "io" and not problem.message:find("has locked it for longer", 1, true)
end

--- The error if only some sessions of a group have forgotten a message: the group is rolled back.
local UNFINISHED = core.error("io", "a message was not forgotten by all sessions that share it, and nothing is kept")

--- Writes a commit in a group, and makes the other sessions of the database forget what it forgets. Where one cannot,
--- the group is not kept.
local function write_all(self, change, lost)
  local db, group = self.store.db, self.store.group
  local claimed, refused = db:claim()
  if not claimed then return nil, refused end
  local infos, why = db:list()      -- before the commit, with which a pruned session may share no more
  if not infos then return nil, why end
  local version, repeated, tokens = db:commit(change)
  if not version then return version, repeated, tokens end
  local earlier = group.problem
  group.problem = earlier or UNFINISHED      -- where the next call raises
  local done, problem = require("ebb.session.siblings").forget(self, session.of, infos, lost)
  group.problem = earlier or not done and problem
  if not done then return nil, problem end
  return version, repeated, tokens
end

--- Writes as `write_all`, in a group of its own if none is open: all sessions forget, or none does.
local function write_together(self, change, lost)
  local opened, db = self.store, self.store.db
  if opened.group then return write_all(self, change, lost) end
  local group = { names = {}, problem = false }
  local begun, problem = db:begin_group()
  if not begun then return nil, problem end
  opened.group = group
  local ok, version, repeated, tokens = pcall(write_all, self, change, lost)
  opened.group = false
  local done, why = db:end_group(ok and math.type(version) == "integer")
  if not ok then error(version, 0) end
  if version and not done then return nil, why end
  return version, repeated, tokens
end

local COLLISIONS = 20      -- of transactions in PostgreSQL, of which nothing is there

local function write_alone(self, change) return self.store.db:commit(change) end

--- Writes a commit once, whatever the answers to it. `lost`: the messages that it forgets.
local function write(self, change, lost)
  local run = lost[1] and write_together or write_alone
  local version, repeated, tokens = run(self, change, lost)
  if self.store.group then return version, repeated, tokens end
  for _ = 1, COLLISIONS do
    if version ~= nil or not repeated.message:find("it collided with", 1, true) then break end
    version, repeated, tokens = run(self, change, lost)
  end
  if may_be_there(version, repeated) and self.store:reopen() then return run(self, change, lost) end
  return version, repeated, tokens
end

--- Commits the branch, which is one of the tail if that is given; with the same operation a second time nothing is done
--- twice. Returns the version, whether the operation was committed before, and the tokens; or nil and an error; or
--- false where the tail is not enough.
local function commit(self, branch, operation, of, replaces)
  local group = self.store.group
  if group then group[#group + 1] = self end      -- before it is there: nothing may fail afterwards
  local options = saved_options.text(branch)
  local before = not self.is_empty and not replaces and (of or self).chat or nil
  local is_new = not before or options ~= self.saved_options or core.state(branch).is_enclosed
  local change = {
    session = self.id, expected = self.version, before = before, after = branch,
    operation = operation, options = options, new_options = is_new, now = core.now(), tail = of and place_of(of),
  }
  local lost = before and not of and not self.is_sibling and storage().forgotten(before, branch) or {}
  local version, repeated, tokens = write(self, change, lost)
  if not version then return version, repeated end
  self.is_empty, self.saved_options = false, options
  return version, repeated, tokens
end

local function pack(...) return { n = select("#", ...), ... } end

--- Reloads the session if this operation id was committed earlier; otherwise merges the branch in memory.
local function join(self, branch, repeated)
  if repeated or core.state(branch).is_enclosed then
    assert(take(self))
  else
    session.inherit(self.chat, branch)
    storage().merge(self.chat, branch)
    self.state = storage().state(self.chat)
  end
end

--- Makes a session forget what it has in memory, but for the version of the commit: the caller is told it though the
--- disk cannot be read.
local function doubt(self, version)
  store.doubt(self)
  self.version = version
end

--- Merges a branch that is on disk. Where that fails, as without memory, the edit is done all the same: the next use
--- reads the disk.
local function merge(self, branch, version, repeated)
  self.version = version
  if not pcall(join, self, branch, repeated) then doubt(self, version) end
end

--- Runs an edit on the tail, where that was read and is enough. Nothing: it is not.
local function attempt_on_tail(self, method, operation, ...)
  if not method or not self.tail then return nil end
  local calls = { commit = commit, inherit = session.inherit }
  local results, problem, is_unknown = tail.edit(self, calls, method, operation, ...)
  if is_unknown then doubt(self, self.version) end
  return results, problem
end

--- Runs the edits on a branch, commits it and merges it.
local function attempt(self, run, method, operation, ...)
  local done, refused = attempt_on_tail(self, method, operation, ...)
  if done or refused then return done, refused end
  local ok, problem = complete(self)
  if not ok then return nil, problem end
  local branch = self:begin()
  local results = pack(run(branch, ...))
  local version, repeated = commit(self, branch, operation)
  if not version then return nil, repeated end
  merge(self, branch, version, repeated)
  return results
end

local EDIT = {
  retries = { type = "integer", min = 0, default = 0, help = "after a conflict: read the session and edit it again" },
  operation = { type = "string", help = "an id of this edit, for a retry after a lost answer" },
}

--- Reads the commits of others, for another try. A session that had a lease goes on only if it gets it again.
local function regain(self)
  if self.lease_ms then
    local left, problem = self.store.db:lease(self.id, self.owner, self.lease_ms)
    if not left then return nil, problem end
    if left > 0 then
      self.lease_ms = false
      return nil, core.error("conflict", ("the lease has run out, and another writer has the session for %d ms")
        :format(left), "session:lease(ms) asks for it again")
    end
  end
  return take(self)
end

--- `method`: what `run` calls, where it is one method.
local function edit(self, run, method, values, ...)
  if self.closed then refuse("closed", "the session is closed") end
  if self.is_stale then
    local ok, problem = take(self)
    if not ok then return nil, problem end
  end
  for try = 0, values.retries do
    if try > 0 then
      local ok, why = regain(self)
      if not ok then return nil, why end
    end
    local operation = values.operation or storage().operation()
    local results, problem = attempt(self, run, method, operation, ...)
    if results then return table.unpack(results, 1, results.n) end
    if problem.code ~= "conflict" or try == values.retries then return nil, problem end
  end
end

--- Makes all edits of a function one commit: all or none. What the function returns is the result. If it raises,
--- nothing is written.
---@param run fun(chat: ebb.Conversation): ...
---@param options? { retries?: integer, operation?: string }
---@return any ...     of the function; or nil and an error
function Session:edit(run, options)
  if type(run) ~= "function" then
    refuse("argument", "edit: a function is expected", "session:edit(function(chat) chat:append(message) end)")
  end
  return edit(self, run, nil, schema.options(EDIT, options, "edit", "session:edit(run, { retries = 5 })"))
end

--- Begins an edit that `commit` ends: the branch is a conversation of its own until then.
---@return ebb.Conversation branch
function Session:begin()
  if storage().state(self.chat) ~= self.state then
    refuse("argument", "the session's conversation was edited outside of the session, and is not on disk",
      "session:edit(function(chat) ... end)")
  end
  local branch = storage().begin(self.chat)
  session.inherit(branch, self.chat)
  return branch
end

--- Commits a branch of `begin`.
---@param branch ebb.Conversation
---@param options? { operation?: string }
---@return integer? version
---@return ebb.Error? problem
function Session:commit(branch, options)
  local values = schema.options(EDIT, options, "commit")
  local version, repeated = commit(self, branch, values.operation or storage().operation())
  if not version then return nil, repeated end
  merge(self, branch, version, repeated)
  return version
end

--- Makes a list show the messages of another one. Equal messages at both ends stay, with their marks.
local function show(branch, chat)
  local front, back = core.common_ends(branch, chat)
  local last, removed, added = #branch - back, {}, {}
  for i = front + 1, last do removed[branch[i].seq] = true end
  for i = front + 1, #chat - back do added[#added + 1] = chat[i] end
  if next(removed) then branch:filter { where = function(message) return not removed[message.seq] end } end
  if added[1] and back > 0 then
    branch:insert(front + 1, added)
  elseif added[1] then
    branch:append(added)
  end
end

--- Goes on with another conversation in a branch of `begin`: its visible messages take the place of those that the
--- branch shows, in new batches, and what is around them in its file that of the session's. Earlier batches stay.
---@param branch ebb.Conversation
---@param chat ebb.Conversation
function Session:put(branch, chat)
  if self.closed then refuse("closed", "the session is closed") end
  show(branch, chat)
  storage().enclose(branch, chat)
  core.state(branch).is_enclosed = true
end

--- Replaces all that the session has by a conversation: its messages, batches, marks and windows.
---@param chat ebb.Conversation
---@return true? done
---@return ebb.Error? problem
function Session:adopt(chat)
  local version, problem = commit(self, chat, storage().operation(), nil, true)
  if not version then return nil, problem end
  merge(self, chat, version, true)
  return true
end

---- The session ----

--- Reads the commits of other processes.
---@return boolean? changed
---@return ebb.Error? problem
function Session:refresh()
  local info, problem = self.store.db:find(self.name)
  if not info then return nil, problem end
  if not self.is_stale and info.version == self.version then return false end
  local ok, why = take(self)
  if not ok then return nil, why end
  return true
end

--- Waits until another process has committed to the session, and reads its commits.
---@param ms integer           at most
---@return boolean? changed    false: the time is over
---@return ebb.Error? problem
function Session:wait(ms)
  if math.type(ms) ~= "integer" or ms < 0 or ms > 0x7fffffff then
    refuse("argument", "wait: a number of milliseconds is expected", "session:wait(1000)")
  end
  local version, problem = self.store.db:wait(self.id, self.version, ms)
  if not version then return nil, problem end
  return self:refresh()
end

--- Asks to be the only writer for a time, and reads what others wrote. PostgreSQL only. Writers that ask take turns and
--- do not work in vain; those that do not ask are not hindered. A writer that slept for longer than its lease gets a
--- conflict once another one has taken the session over.
---@param ms integer           from now; asking again before the end makes it longer
---@return boolean? has_it     false: another writer has it
---@return integer|ebb.Error|nil left   false: for so many ms still; nil: why not
function Session:lease(ms)
  if math.type(ms) ~= "integer" or ms < 1 or ms > 0x7fffffff then
    refuse("argument", "lease: a number of milliseconds from 1 on is expected", "session:lease(5000)")
  end
  if self.closed then refuse("closed", "the session is closed") end
  self.owner = self.owner or storage().operation()
  local left, problem = self.store.db:lease(self.id, self.owner, ms)
  if not left then return nil, problem end
  self.lease_ms = left == 0 and ms
  if left > 0 then return false, left end
  local changed, why = self:refresh()
  if changed == nil then return nil, why end
  return true
end

--- Gives up the lease before its end.
---@return true? done
---@return ebb.Error? problem
function Session:release()
  self.lease_ms = false
  if not self.owner then return true end
  return self.store.db:release(self.id, self.owner)
end

--- A new session with all that this one has on disk; they share their messages there.
---@param name string
---@return ebb.Session? branch
---@return ebb.Error? problem
function Session:branch(name)
  local info, problem = self.store.db:branch(self.id, name, core.now())
  if not info then return nil, problem end
  if self.is_shared or self.store.group then return session.of(self.store, name, self.options or nil) end
  return session.open(self.store.source, name, {
    create = false, relaxed = self.store.options.relaxed, wait = self.store.options.wait,
    conversation = self.options or nil,
  })
end

---@param name string
---@return true? done
---@return ebb.Error? problem
function Session:rename(name)
  local group = self.store.group
  if group then
    group[#group + 1] = self
    group.names[self] = group.names[self] or self.name
  end
  local ok, problem = self.store.db:rename(self.id, name)
  if not ok then return nil, problem end
  self.name = name
  return true
end

--- Closes the database, where the session opened it. Nothing is lost by leaving it out: every edit is on disk.
function Session:close()
  self.closed = true
  if not self.is_shared then self.store:close() end
end

---- Looking like a conversation ----

--- session.windows: each call is an edit.
local function windows_of(self)
  return setmetatable({}, { __index = function(_, name)
    return function(_, ...)
      local function run(branch, ...) return branch.windows[name](branch.windows, ...) end
      return edit(self, run, nil, { retries = 0 }, ...)
    end
  end })
end

local Meta = { __name = "Session" }

--- Returns the whole conversation of the session; raises the error that keeps it from being read.
local function whole(self)
  local ok, problem = complete(self)
  if not ok then error(problem, 0) end
  return rawget(self, "chat")
end

--- A field or method of the conversation.
local function member(self, key)
  if math.type(key) == "integer" and self.tail then
    local message = tail.at(self, session.read, key)
    if message ~= false then return message end
  end
  local value = (self.tail and self.tail.chat or whole(self))[key]
  if type(value) ~= "function" then return whole(self)[key] end
  return function(caller, ...)
    if caller ~= self then return value(caller, ...) end
    if self.tail then
      local done, result = tail.answer(self, session.read, key, ...)
      if done then return result end
    end
    return value(whole(self), ...)
  end
end

function Meta.__index(self, key)
  if Session[key] then return Session[key] end
  if key == "chat" or key == "version" then      -- forgotten: store.doubt
    whole(self)
    return rawget(self, key)
  end
  if EDITS[key] then
    return function(caller, ...)
      if caller ~= self then refuse("argument", key .. ": expected the session", ("session:%s()"):format(key)) end
      return edit(self, function(branch, ...) return branch[key](branch, ...) end, key, { retries = 0 }, ...)
    end
  end
  if key == "windows" then return windows_of(self) end
  return member(self, key)
end

function Meta.__len(self) return self.tail and tail.length(self) or #self.chat end
function Meta.__tostring(self)
  local what = self.tail and quantity(#self, "message") or tostring(self.chat)
  return ("Session %s, version %d: %s"):format(self.name, self.version, what)
end
Meta.__close = function(self) self:close() end

--- A session of an open store.
---@param opened ebb.Store
---@param name string
---@param options? ebb.ConversationOptions
---@return ebb.Session? result
---@return ebb.Error? problem
function session.of(opened, name, options)
  local self = setmetatable({
    store = opened, name = name, options = options or false, closed = false, is_stale = false, saved_options = false,
    owner = false, lease_ms = false, is_sibling = false, tail = false, id = false,
    version = false, state = false, is_shared = true,
  }, Meta)
  local ok, problem = take(self)
  if not ok then return nil, problem end
  return self
end

--- Finds a session of a store, or begins it.
local function find_or_begin(opened, name, values)
  name = name or "main"
  local info, why = opened:find(name)
  if not info and why.code == "absent" and values.create then
    info, why = opened.db:create(name, core.now())
    if not info and why.code == "duplicate" then info, why = opened:find(name) end
  end
  if not info then return nil, why end
  return session.of(opened, name, values.conversation)
end

local EXAMPLE = 'ebb.session("chats.db", "support")'

--- The arguments of `open` from a name and options that have the place of the database.
local function by_options(name, values, more)
  if more ~= nil or type(values.db) ~= "string" then
    refuse("argument", "session: expected the path or URL of a database, and a name", EXAMPLE)
  end
  local options = {}
  for key, value in pairs(values) do options[key] = value end
  options.db = nil
  return values.db, name, options
end

--- Opens a session, and begins it where there is none; also as `session.open(name, { db = place })`.
---@param place string        of the database
---@param name? string        default: "main"
---@param options? { create?: boolean, relaxed?: boolean, wait?: integer, conversation?: ebb.ConversationOptions }
---@return ebb.Session? result
---@return ebb.Error? problem
function session.open(place, name, options)
  if type(name) == "table" then place, name, options = by_options(place, name, options) end
  if name ~= nil and type(name) ~= "string" then
    refuse("argument", "session: name: expected a string, got " .. schema.describe(name), EXAMPLE)
  end
  local values = schema.options(OPTIONS, options, "session", EXAMPLE)
  local opened, problem = store.open(place, { create = values.create, relaxed = values.relaxed, wait = values.wait })
  if not opened then return nil, problem end
  local result, why = find_or_begin(opened, name, values)
  if not result then return nil, why end
  result.is_shared = false
  return result
end

--- A session of an open store, which does not close it.
---@param name string
---@param options? { create?: boolean, conversation?: ebb.ConversationOptions }
---@return ebb.Session? result
---@return ebb.Error? problem
function store.methods.session(self, name, options)
  local values = schema.options(OF_STORE, options, "session", 'store:session("support", { create = false })')
  if type(name) ~= "string" then refuse("argument", "session: a name is expected", 'store:session "support"') end
  return find_or_begin(self, name, values)
end

return session
