--- Node `trim`: chat:trim with the node's own fields.
--
--     { type = "trim", budget = 8000, policy = { "keep_recent", keep = 4 } }

local policies = require "ebb.trim.policies"
local schema = require "ebb.support.schema"
local trim_options = require "ebb.trim.options"

local ANY = { type = "any" }
local FIELDS = { type = ANY, id = ANY, name = ANY }
for name, field in pairs(trim_options.fields) do
  FIELDS[name] = field
end

---@param node table
---@return fun(chat: ebb.Conversation): any, ebb.Error?
return function(node)
  local options = schema.options(FIELDS, node, "a trim node")
  policies.resolve(options.policy, nil, options)   -- a wrong name or option is found before any node runs
  options.type, options.id, options.name = nil, nil, nil
  return function(chat) return chat:trim(options) end
end
