--- Sessions of one database that share messages: branches, and what they branched from.
--
-- A message that one of them forgets is one row, which all of them show. What their policies remembered of it, and
-- notes, reasons and descriptions that quote it, are in batches of their own: so each of them forgets it, too, in a
-- commit of its own. All these commits are one transaction.

local core = require "ebb.support.core"

local siblings = {}

local RETRIES = 20

--- The session whose row a message is, for one that shares it.
local function owner(by_id, info, seq)
  while info and info.origin and seq <= info.shared do info = by_id[info.origin] end
  return info and info.id
end

--- Messages of another session that are these; nil if there are none.
local function shared(by_id, mine, other, messages)
  local list = {}
  for _, message in ipairs(messages) do
    local id = owner(by_id, mine, message.seq)
    if id and id == owner(by_id, other, message.seq) then list[#list + 1] = message end
  end
  return list[1] and list
end

--- Writes all of a conversation, as text.
local function whole(chat) return (chat:fork():write "ebb") end

--- Makes a session forget messages whose rows are overwritten already. One that kept nothing of them stays at its
--- version, for others may have read but its tail.
---@return any done
---@return ebb.Error? problem
local function forget(other, messages)
  local storage = require "ebb.support.storage"
  local branch = other:begin()
  local before = whole(branch)
  for _, message in ipairs(messages) do storage.forget(branch, message.seq, message.raw) end
  if whole(branch) == before then return true end
  return other:commit(branch)
end

--- Forgets messages in another session, again after conflicts.
---@return ebb.Error? problem
local function forget_in(other, messages)
  other.is_sibling = true      -- its commits look for no others
  for try = 0, RETRIES do
    local done, problem = forget(other, messages)
    if done then return nil end
    if problem.code ~= "conflict" or try == RETRIES then return problem end
    local _, why = other:refresh()
    if why then return why end
  end
end

--- Makes all sessions that share the messages forget them.
---@param self ebb.Session          whose commit, in the same transaction, has forgotten them
---@param open fun(store: ebb.Store, name: string): ebb.Session?, ebb.Error?
---@param infos ebb.SessionInfo[]   all sessions, as they were before that commit
---@param messages { seq: integer, raw: string }[]
---@return true? done
---@return ebb.Error? problem       another session cannot: the transaction must not be kept
function siblings.forget(self, open, infos, messages)
  local by_id = {}
  for _, info in ipairs(infos) do by_id[info.id] = info end
  for _, info in ipairs(infos) do
    local list = info.id ~= self.id and by_id[self.id] and shared(by_id, by_id[self.id], info, messages)
    if list then
      local other, why = open(self.store, info.name)
      if other then why = forget_in(other, list) end
      if why and why.code ~= "absent" then
        return nil, core.error(why.code, ("nothing was forgotten, for session '%s' shares the message: %s")
          :format(info.name, why.message), why.hint)
      end
    end
  end
  return true
end

return siblings
