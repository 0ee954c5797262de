--- Node `context_processor`: one operation, in the seeds' own configuration.
--
--     { operation = "truncate", truncate = { keepLast = 5 } }
--
-- camelCase and positions from 0, as in JSON: conversation/operations.lua reads it.

local operations = require "ebb.conversation.operations"

---@param node table
---@return fun(chat: ebb.Conversation): any
return function(node)
  local config = {}
  for key, value in pairs(node) do
    if key ~= "type" and key ~= "id" and key ~= "name" then config[key] = value end
  end
  operations.read(config)   -- refuses mistakes now, before any node runs
  return function(chat) return operations.apply(chat, config) end
end
