--- Several edits as one: all of them, or nothing at all.

local core = require "ebb.support.core"

--- Calls `run(copy)`, where `copy` is a private copy of the conversation, to be
--- edited as `run` likes. If it returns, `chat` has become the copy; if it
--- raises, nothing of it remains, and the error goes on.
---@param chat ebb.Conversation
---@param run fun(copy: ebb.Conversation): any
---@return any ...      what `run` returned
return function(chat, run)
  return core.transaction(chat, run)
end
