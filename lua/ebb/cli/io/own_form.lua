--- Writes a body in its own dialect: converts messages that were added in another one, and tells what that leaves out.

local core = require "ebb.support.core"
local losses = require "ebb.cli.io.losses"

local own_form = {}

--- The body in its own form, as a text, and what that leaves out; nil where the conversation is written unchanged.
---@param chat ebb.Conversation
---@return string?
---@return ebb.Loss[] losses
function own_form.written(chat)
  if chat.shape ~= "body" or not core.may_lack_form(chat) then return nil, {} end
  return require("ebb.request").in_own_form(chat, false)
end

--- Returns the body in its own form as `written` does, and prints what that leaves out.
---@param chat ebb.Conversation
---@return string?
function own_form.text(chat)
  local text, lost = own_form.written(chat)
  losses.tell(lost)
  return text
end

return own_form
