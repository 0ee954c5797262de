--- Node `trim`: chat:trim with the node's own fields.
--
--     { type = "trim", budget = 8000, policy = { "keep_recent", keep = 4 } }
--     { type = "trim", budget = 8000, policy = "summarize", ask = { model = "gpt-4o-mini" } }

local locate = require "ebb.workflow.locate"
local model = require "ebb.workflow.model"
local policies = require "ebb.trim.policies"
local schema = require "ebb.support.schema"
local tables = require "ebb.support.tables"
local trim_options = require "ebb.trim.options"

local fields = trim_options.with(tables.keys(trim_options.fields), {
  ask = { type = "table", help = "fields of a model node, which answers the requests of policies" },
})

---@type ebb.NodeType
return {
  summary = "cuts the conversation to a budget, as chat:trim does",
  example = '{ type = "trim", budget = 8000, policy = { "keep_recent", keep = 4 } }',
  fields = fields,
  prepare = function(options, place)
    options.policy = locate.policy(options.policy, place, options)
    policies.resolve(options.policy, nil, options)   -- a wrong name or option is found before any node runs
    local ask = options.ask
    options.ask = nil
    if ask then schema.options(model.fields, ask, "ask") end
    return function(chat, run)
      local call = options
      local asker = options.model == nil and model.asker(chat, ask, place, run) or nil
      if asker then
        call = tables.copy(options)
        call.model = asker
      end
      return chat:trim(call)
    end
  end,
}
