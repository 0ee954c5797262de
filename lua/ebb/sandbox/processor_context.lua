--- The context of a processor that runs in a sandbox (processor.lua has the other end).
--
--     program                           sandbox
--     messages, session, ...  --copies-->  context.messages, context.session, ...
--     log, expand, call, ...  <--calls---  context:log(...), context:expand(...)
--     messages, shared_data   <--copies--  what the processor has made of them
--
-- The methods call back without the context, which would be copied each time. What can
-- be read only outside can be read only here: a change that nobody sees is a mistake
-- that somebody should hear of.

local tables = require "ebb.support.tables"
local traceback = require "ebb.support.traceback"
local hints = require "ebb.support.hints"
local refuse = require "ebb.support.refuse"

local processor_context = {}

local READ_ONLY = { "session", "user_profile", "agent_config", "capabilities", "timestamp", "preview" }

--- Methods that hand on what they got, without the context.
local function methods_of(calls)
  local methods = {}
  for name, call in pairs(calls) do
    methods[name] = function(_, ...) return call(...) end
  end
  function methods.history_chat()
    refuse("argument", "context:history_chat gives a conversation, which cannot enter a sandbox",
      "context:history() gives its messages; " .. hints.trusted_processor)
  end
  return methods
end

local function write(own, name, value)
  if own[name] == nil then
    refuse("argument", ("context.%s can be read only"):format(tostring(name)),
      "processors change messages and shared_data")
  end
  if type(value) ~= "table" then refuse("shape", ("context.%s is a table"):format(name)) end
  own[name] = value
end

local function context_of(own, given, calls)
  local read, methods, logs = {}, methods_of(calls), calls.logs
  methods.logs = nil
  for _, name in ipairs(READ_ONLY) do
    read[name] = tables.read_only(given[name], name)
  end
  return setmetatable({}, {
    __index = function(_, name)
      if name == "logs" then return logs() end
      local value = own[name]
      if value == nil then value = read[name] end
      if value == nil then value = methods[name] end
      return value
    end,
    __newindex = function(_, name, value) write(own, name, value) end,
    __name = "Context",
  })
end

--- Runs a processor; an entry of the sandbox: true and results, or false, message, code.
---@param execute function
---@param given table         copies of the context's fields
---@param calls table<string, function>
---@param config table
---@return boolean ok
---@return any messages       or what went wrong
---@return any shared_data    or its code
function processor_context.run(execute, given, calls, config)
  local own = { messages = given.messages, shared_data = given.shared_data }
  local results = table.pack(traceback.call(execute, execute, context_of(own, given, calls), config))
  if not results[1] then return table.unpack(results, 1, results.n) end
  return true, own.messages, own.shared_data
end

return processor_context
