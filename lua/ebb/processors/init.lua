--- The processors that are built in, in the order of their registration.

local processors = {}

--- Loaded all at once: a pipeline needs most of them.
---@return ebb.Processor[]
function processors.built_in()
  return {
    require "ebb.processors.session_loader",
    require("ebb.processors.regex_processor").processor,
    require "ebb.processors.transcription_processor",
    require "ebb.processors.lorebook",
    require "ebb.processors.injection_assembler",
    require("ebb.processors.token_limiter").processor,
    require "ebb.processors.merge_system",
    require "ebb.processors.merge_roles",
    require "ebb.processors.convert_system",
    require "ebb.processors.alternate_roles",
    (require "ebb.processors.asset_resolver"),   -- alone: require has a second result
  }

end

return processors
