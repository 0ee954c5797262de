--- The processors that are built in, in the order of their registration.

local processors = {}

--- Loaded all at once: a pipeline needs most of them.
---@return ebb.Processor[]
function processors.built_in()
  return {
    require "ebb.processors.session_loader",
    require("ebb.processors.token_limiter").processor,
  }
end

return processors
