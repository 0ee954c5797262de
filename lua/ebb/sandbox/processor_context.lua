--- The context of a processor that runs in a sandbox (processor.lua has the other end).
--
--     program                           sandbox
--     messages, session, ...  --copies-->  context.messages, context.session, ...
--     log, expand, call, ...  <--calls---  context:log(...), context:expand(...)
--     messages, shared_data   <--copies--  as the processor left them
--
-- Methods call the program without the context, which would be copied each time. Read-only
-- fields raise on assignment: here a change would be lost without a word.

local context_fields = require "ebb.sandbox.context_fields"
local tables = require "ebb.support.tables"
local traceback = require "ebb.support.traceback"
local hints = require "ebb.support.hints"
local refuse = require "ebb.support.refuse"

local processor_context = {}

--- Methods that call the program, without the context.
local function methods_of(calls)
  local methods = {}
  for _, name in ipairs(context_fields.crossing) do
    methods[name] = function(_, ...) return calls[name](...) end
  end
  function methods.history_chat()
    refuse("argument", "context:history_chat gives a conversation, which cannot enter a sandbox",
      "context:history() gives its messages; " .. hints.trusted_processor)
  end
  return methods
end

local function context_of(assignable, fields, calls)
  local read, methods = {}, methods_of(calls)
  for _, name in ipairs(context_fields.read) do
    read[name] = tables.read_only(fields[name], name)
  end
  return context_fields.context(assignable, read, methods, calls.logs)
end

--- Runs a processor; an entry of the sandbox: true and results, or false, message, code.
---@param execute function
---@param fields table        copies of the context's fields
---@param calls table<string, function>   methods of the program, and `logs`
---@param config table
---@return boolean ok
---@return any messages       or the message of the error
---@return any shared_data    or its code
function processor_context.run(execute, fields, calls, config)
  local assignable = { messages = fields.messages, shared_data = fields.shared_data }
  local results = table.pack(traceback.call(execute, execute, context_of(assignable, fields, calls), config))
  if not results[1] then return table.unpack(results, 1, results.n) end
  return true, assignable.messages, assignable.shared_data
end

return processor_context
