--- Runs a processor of a stranger's file in its sandbox (processor_context.lua has the other end).
--
-- Copies go in, and copies come out when it has ended well; if it fails, or reaches
-- its limits, the context is as it was. What it logged until then stays in the log.

local bounds = require "ebb.sandbox.expand_bounds"
local context_fields = require "ebb.sandbox.context_fields"
local loader = require "ebb.sandbox.loader"

local sandboxed_processor = {}

--- A read-only view as a plain table, which a sandbox can copy.
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

local LOG_MAX = 1024 * 1024   -- bytes that one run of a processor may log
sandboxed_processor.LOG_MAX = LOG_MAX
local ENTRY_BYTES = 100       -- of an entry, besides its message and details

--- About how many bytes a copy from a sandbox takes; `seen` has the tables that are counted already.
local function size_of(value, seen)
  if type(value) == "string" then return #value end
  if type(value) ~= "table" or seen[value] then return 16 end
  seen[value] = true
  local size = 56
  for key, item in next, value do
    size = size + size_of(key, seen) + size_of(item, seen)
  end
  return size
end

--- context:log for a sandbox: up to LOG_MAX bytes; then an entry says so, and the rest is dropped.
local function bounded_log(context)
  local used = 0
  return function(level, message, details)
    if used > LOG_MAX then return end
    used = used + ENTRY_BYTES + size_of(message, {}) + size_of(details, {})
    if used > LOG_MAX then return context:log("warn", "log: more than 1 MiB; the rest is dropped") end
    return context:log(level, message, details)
  end
end

--- Methods for the sandbox. Conversations cannot enter: weigh answers the tokens alone.
local function calls_of(context)
  local calls = { logs = function() return context.logs end }
  for _, name in ipairs(context_fields.crossing) do
    calls[name] = function(...) return context[name](context, ...) end
  end
  calls.log = bounded_log(context)
  function calls.expand(text, ...) return context:expand(bounds.text(text), ...) end
  function calls.weigh(messages) return (context:weigh(messages)) end
  return calls
end

--- True for the proxy of a function in a sandbox.
---@param execute function
---@return boolean
function sandboxed_processor.holds(execute) return loader.holds(execute) end

--- Runs the function, and puts its messages and shared data into the context. Raises its errors.
---@param execute function     a proxy
---@param limits? ebb.Limits
---@param context ebb.Context
---@param config table
function sandboxed_processor.run(execute, limits, context, config)
  local fields = {}
  for _, list in ipairs { context_fields.own, context_fields.read } do
    for _, name in ipairs(list) do
      fields[name] = plain(context[name])
    end
  end
  loader.begin(execute, limits, #context.messages)
  local messages, shared_data = loader.use(execute, "ebb.sandbox.processor_context", "run", fields,
    calls_of(context), config)
  context.messages, context.shared_data = messages, shared_data
end

return sandboxed_processor
