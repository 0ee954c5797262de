--- Node `trim`: chat:trim with the node's own fields.
--
--     { type = "trim", budget = 8000, policy = { "keep_recent", keep = 4 } }

local locate = require "ebb.workflow.locate"
local policies = require "ebb.trim.policies"
local trim_options = require "ebb.trim.options"

---@type ebb.NodeType
return {
  summary = "cuts the conversation to a budget, as chat:trim does",
  example = '{ type = "trim", budget = 8000, policy = { "keep_recent", keep = 4 } }',
  fields = trim_options.fields,
  prepare = function(options, place)
    options.policy = locate.policy(options.policy, place, options)
    policies.resolve(options.policy, nil, options)   -- a wrong name or option is found before any node runs
    return function(chat) return chat:trim(options) end
  end,
}
