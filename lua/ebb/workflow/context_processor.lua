--- Node `context_processor`: one operation, in the seeds' own configuration.
--
--     { operation = "truncate", truncate = { keepLast = 5 } }
--
-- camelCase and positions from 0, as in JSON: conversation/operations.lua reads it.

local operations = require "ebb.conversation.operations"

---@type ebb.NodeType
return {
  summary = "an operation; `type` may be left out",
  example = '{ operation = "truncate", truncate = { keepLast = 20 } }',
  prepare = function(operation)
    operations.read(operation)   -- refuses mistakes now, before any node runs
    return function(chat) return operations.apply(chat, operation) end
  end,
}
