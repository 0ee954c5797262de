--- Node `filter`: chat:filter with conditions, a function, a filter, or a file.
--
--     { type = "filter", filter = "my/filter.lua", options = { words = 20 } }
--     { type = "filter", filter = { roles = { "user", "assistant" } } }

local filter = require "ebb.trim.filter"
local refuse = require "ebb.support.refuse"
local schema = require "ebb.support.schema"
local trim_options = require "ebb.trim.options"

local ANY = { type = "any" }
local FIELDS = trim_options.with({ "limits", "trusted" }, {
  type = ANY, id = ANY, name = ANY, filter = ANY, options = { type = "table" },
})

---@param node table
---@return fun(chat: ebb.Conversation): any
return function(node)
  local values = schema.options(FIELDS, node, "a filter node")
  if node.filter == nil then refuse("argument", "a filter node needs filter = conditions, a function or a file") end
  local loading = { limits = values.limits, trusted = values.trusted }
  local found = filter.find(node.filter, loading)
  if found then schema.options(found.options, node.options, "filter " .. found.name) end
  return function(chat) return chat:filter(found or node.filter, node.options, loading) end
end
