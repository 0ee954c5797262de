--- Node `filter`: chat:filter with conditions, a function, a filter, or a file.
--
--     { type = "filter", filter = "my/filter.lua", options = { words = 20 } }
--     { type = "filter", filter = { roles = { "user", "assistant" } } }

local filter = require "ebb.trim.filter"
local options = require "ebb.support.options"
local refuse = require "ebb.support.refuse"

local NAMES = { "type", "id", "name", "filter", "options", "limits", "trusted" }

---@param node table
---@return fun(chat: ebb.Conversation): any
return function(node)
  options.names(node, NAMES, "a filter node")
  if node.filter == nil then refuse("argument", "a filter node needs filter = conditions, a function or a file") end
  local loading = { limits = node.limits, trusted = node.trusted }
  local found = filter.find(node.filter, loading)
  if found then options.check(found.options, node.options, "filter " .. found.name) end
  return function(chat) return chat:filter(found or node.filter, node.options, loading) end
end
