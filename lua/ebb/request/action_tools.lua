--- The actions of a conversation and its windows as the list of tools of a request.

local act = require "ebb.windows.act"
local request = require "ebb.request"
local schema = require "ebb.support.schema"
local target = require "ebb.models.target"

local OPTIONS = { dialect = { type = "choice", choices = require "ebb.models.dialects" } }

---@param chat ebb.Conversation
---@param options? { dialect?: ebb.Dialect }     default: the one of the conversation's target
---@return string json
return function(chat, options)
  local values = schema.options(OPTIONS, options, "windows:tools", 'chat.windows:tools { dialect = "anthropic" }')
  return request.write_tools(act.tools(chat), values.dialect or target.of_list(chat).dialect)
end
