--- Puts ebb.session and ebb.sessions into the face, when one of them is first used.

local session = require "ebb.session"
local store = require "ebb.session.store"

---@param ebb table            the face
---@param read function        reads a conversation, as ebb.load does
---@param inherit function     gives a fork what the library knows of its original
return function(ebb, read, inherit)
  session.read, session.new, session.inherit = read, ebb.conversation, inherit
  ebb.session, ebb.sessions = session.open, store.open
end
