--- Node `trim`: chat:trim with the node's own fields.
--
--     { type = "trim", budget = 8000, policy = { "keep_recent", keep = 4 } }
--     { type = "trim", budget = 8000, policy = "summarize", ask = { model = "gpt-4o-mini" } }

local locate = require "ebb.workflow.locate"
local model = require "ebb.workflow.nodes.model"
local models = require "ebb.models"
local policies = require "ebb.trim.policies"
local refuse = require "ebb.support.refuse"
local schema = require "ebb.support.schema"
local tables = require "ebb.support.tables"
local trim_options = require "ebb.trim.options"

local fields = trim_options.with(tables.keys(trim_options.fields), {
  ask = { type = "table", help = "fields of a model node, which answers the requests of policies" },
})

--- Refuses a node without a budget where no model has a window.
local function check_budget(chat, options)
  if options.budget or type(options.model) == "string" or models.of_chat(chat) then return end
  refuse("argument", "it needs a budget: neither the node nor the conversation has a model",
    "give the node a budget, such as 8000")
end

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
      check_budget(chat, options)
      local asker = options.model == nil and model.asker(chat, ask, run) or nil
      if asker then
        call = tables.copy(options)
        call.model = asker
      end
      return chat:trim(call)
    end
  end,
}
