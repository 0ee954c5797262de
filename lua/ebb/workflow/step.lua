--- Calls a function of the user's that a node runs.

local core = require "ebb.support.core"
local traceback = require "ebb.support.traceback"

local step = {}

--- Makes an error of the reason that a function returned with nil: a text, or an error object.
local function failure(reason)
  if core.is_error(reason) then return reason end
  return core.error("script", traceback.text(reason))
end

--- Runs a step. It has failed if it raises, or returns nil and a reason.
---@param run function
---@param ... any
---@return true? done
---@return ebb.Error? problem   with file:line of an error that was raised
function step.call(run, ...)
  local results = table.pack(traceback.call(run, run, ...))
  if not results[1] then return nil, core.error(results[3] or "script", results[2]) end
  if results[2] == nil and results[3] ~= nil then return nil, failure(results[3]) end
  return true
end

return step
