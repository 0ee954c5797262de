--- The context of processors: messages, the facts of the run, shared data, a log.
--
--     stored conversation --copies--> context.messages --processors--> request body
--
-- Messages are working copies, plain tables that processors change in place. The facts
-- of the run (session, agent, user, capabilities, time) can only be read. A processor
-- reaches the world through methods alone: macros (`expand`), weights (`weigh`), the
-- host (`call`). So a run with a fixed clock and seed always gives the same result.

local context_fields = require "ebb.sandbox.context_fields"
local core = require "ebb.support.core"
local refuse = require "ebb.support.refuse"
local schema = require "ebb.support.schema"
local tables = require "ebb.support.tables"
local text_form = require "ebb.support.text_form"

local Context = {}

local context = {}

local LEVELS = { info = true, warn = true, error = true }

--- A message as a text, which has no address: two runs log alike.
local function message_text(message)
  if type(message) == "table" then return text_form(message) or schema.describe(message) end
  if type(message) == "function" or type(message) == "thread" then return schema.describe(message) end
  return tostring(message)
end

--- Adds a line to the log, under the name of the processor that runs.
---@param level "info"|"warn"|"error"
---@param message string
---@param details? any
function Context:log(level, message, details)
  if not LEVELS[level] then
    refuse("argument", ("log: the level is info, warn or error, not %s"):format(tostring(level)),
      'context:log("info", "what happened")')
  end
  local run = self.run
  run.logs[#run.logs + 1] = { processor = run.current, level = level, message = message_text(message),
    details = details }
end

--- Expands macros in a text of the agent or the user. Their problems are logged.
---@param text string
---@param options? { values?: table }
---@param where? string        what the text is, for the log
---@return string
function Context:expand(text, options, where)
  return self.run.macros:expand(self, text, options, where)
end

--- Asks the host: `transcribe`, `asset`, `retrieve`. Within a run the same request has
--- one answer, so a stage that is tried twice asks once.
---@param service string
---@param request table
---@return any answer
---@return string? why        the reason for a nil
function Context:call(service, request)
  if type(service) ~= "string" or type(request) ~= "table" then
    refuse("argument", "call takes the name of a service and a table", 'context:call("retrieve", { query = "..." })')
  end
  local run = self.run
  local key = service .. " " .. core.json.encode(request)
  local answer = run.answers[key]
  if not answer then
    answer = table.pack(run.ask(service, request))
    run.answers[key] = answer
  end
  return tables.copy(answer[1]), answer[2]
end

--- Returns how to run a file that a setting of the current processor names.
---@param key string           of the setting
---@return ebb.Loading
function Context:loading(key)
  local run = self.run
  return { limits = run.loading.limits, trusted = run.loading.trusted, folder = run.steps[run.place].folders[key] }
end

--- Tokens of a request with these messages, framing and tools included.
---@param messages ebb.WorkingMessage[]
---@return integer tokens
---@return ebb.Conversation chat   the request as a conversation of its own
function Context:weigh(messages)
  local chat = self.run.request:chat(messages)
  return chat:tokens(), chat
end

--- The visible history as new working copies.
---@return ebb.WorkingMessage[]
function Context:history()
  return (self.run.request:history())
end

--- Ids the history refers to but that do not exist.
---@return string[]
function Context:missing_windows()
  return self.run.request.missing
end

--- Makes a conversation of these messages, with the marks of the stored ones, and items in place of windows'
--- markup: something to trim. Its seqs are places in the list.
---@param messages ebb.WorkingMessage[]
---@param counter? fun(message: ebb.Message): integer   in place of the request's counter
---@return ebb.Conversation
---@return table<string, string>? texts   markup of its windows, by id; nil where there are none
function Context:history_chat(messages, counter)
  return self.run.request:history_chat(messages, counter)
end

--- True if only built-in processors follow the one that runs.
---@return boolean
function Context:only_core_follows()
  return self.run.only_core_follows()
end

--- Tokens of the request if the later processors got these messages; nil if one of them
--- failed. They run on copies.
---@param messages ebb.WorkingMessage[]
---@return integer? tokens
function Context:forecast(messages)
  return self.run.forecast(self, messages)
end

---@class ebb.ContextFields
---@field messages? ebb.WorkingMessage[]
---@field shared_data? table
---@field run table              the engine's: logs, macros, answers, ask, request, forecast
---@field session table
---@field user_profile? table
---@field agent_config table
---@field capabilities table
---@field timestamp integer
---@field preview boolean

---@param fields ebb.ContextFields
---@return ebb.Context
function context.new(fields)
  local assignable = { messages = fields.messages or {}, shared_data = fields.shared_data or {} }
  local read = { run = fields.run }
  for _, name in ipairs(context_fields.read) do
    read[name] = fields[name]
  end
  return context_fields.context(assignable, read, Context, function() return fields.run.logs end)
end

context.methods = Context

return context
