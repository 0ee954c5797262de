--- Node `trim`: chat:trim with the node's own fields.
--
--     { type = "trim", budget = 8000, policy = { "keep_recent", keep = 4 } }

local options = require "ebb.support.options"
local policies = require "ebb.trim.policies"

local NAMES = { "type", "id", "name", "budget", "policy", "reserve", "guards", "limits", "trusted" }

---@param node table
---@return fun(chat: ebb.Conversation): any, ebb.Error?
return function(node)
  options.names(node, NAMES, "a trim node")
  policies.resolve(node.policy, nil, node)   -- a wrong name or option is found before any node runs
  local asked = { budget = node.budget, policy = node.policy, reserve = node.reserve, guards = node.guards,
    limits = node.limits, trusted = node.trusted }
  return function(chat) return chat:trim(asked) end
end
