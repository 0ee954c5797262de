--- Node `context_processor`: one operation, in the seeds' own configuration.
--
--     { operation = "truncate", truncate = { keepLast = 5 } }
--
-- camelCase and positions from 0, as in JSON: conversation/operations.lua reads it.

local operations = require "ebb.conversation.operations"
local refuse = require "ebb.support.refuse"

local EXAMPLE = '{ operation = "truncate", truncate = { keepLast = 20 } }'

---@type ebb.NodeType
return {
  summary = "an operation; `type` may be left out",
  example = EXAMPLE,
  prepare = function(operation)
    local steps = operations.read(operation)   -- refuses mistakes now, before any node runs
    if not steps[1] then refuse("argument", "a context_processor node needs operation", EXAMPLE) end
    return function(chat) return operations.apply(chat, operation) end
  end,
}
