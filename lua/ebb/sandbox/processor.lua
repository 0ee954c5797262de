--- Runs a processor of a stranger's file in its sandbox (processor_context.lua has the other end).
--
-- Copies go in, and copies come out when it has ended well; if it fails, or reaches
-- its limits, the context is as it was. What it logged until then stays in the log.

local loader = require "ebb.sandbox.loader"
local tables = require "ebb.support.tables"

local sandboxed_processor = {}

local FIELDS = { "messages", "shared_data", "session", "user_profile", "agent_config", "capabilities", "timestamp",
  "preview" }

--- What a view shows that can be read only; a sandbox copies the fields themselves.
local function plain(value)
  if type(value) ~= "table" then return value end
  local meta = getmetatable(value)
  if type(meta) ~= "table" or not meta.__pairs then return value end
  local result = {}
  for key, item in pairs(value) do
    result[key] = plain(item)
  end
  return result
end

--- Methods that may be called back. Of what they answer only plain data enters.
local function calls_of(context)
  local calls = { logs = function() return tables.copy(context.logs) end }
  for _, name in ipairs { "log", "expand", "call", "history", "only_core_follows", "forecast" } do
    calls[name] = function(...) return context[name](context, ...) end
  end
  function calls.weigh(messages) return (context:weigh(messages)) end
  return calls
end

--- Is this a function in a sandbox?
---@param execute function
---@return boolean
function sandboxed_processor.holds(execute) return loader.holds(execute) end

--- Runs it, and puts what it has made into the context. Raises what went wrong.
---@param execute function     a proxy
---@param limits? ebb.Limits
---@param context ebb.Context
---@param config table
function sandboxed_processor.run(execute, limits, context, config)
  local given = {}
  for _, name in ipairs(FIELDS) do
    given[name] = plain(context[name])
  end
  loader.begin(execute, limits, #context.messages)
  local messages, shared_data = loader.use(execute, "ebb.sandbox.processor_context", "run", given,
    calls_of(context), config)
  context.messages, context.shared_data = messages, shared_data
end

return sandboxed_processor
