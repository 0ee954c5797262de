--- What flows through a pipeline: the messages, what they are made for, a blackboard, a log.
--
--     stored conversation --copies--> context.messages --processors--> request body
--
-- Messages are working copies, plain tables that processors change in place. What
-- the run is made for (session, agent, user, abilities, time) can be read only.
-- Whatever a processor needs of the world it asks for here: macros (`expand`),
-- weights (`weigh`), the host (`call`); so a run under a fixed clock and seed is
-- the same run every time.

local context_fields = require "ebb.sandbox.context_fields"
local core = require "ebb.support.core"
local refuse = require "ebb.support.refuse"
local tables = require "ebb.support.tables"

local Context = {}

local context = {}

local LEVELS = { info = true, warn = true, error = true }

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
  run.logs[#run.logs + 1] = { processor = run.current, level = level, message = tostring(message), details = details }
end

--- Expands macros in text of the agent's or the user's own. What was reported lands in the log.
---@param text string
---@param options? { values?: table }
---@return string
function Context:expand(text, options)
  return self.run.macros:expand(self, text, options)
end

--- Asks the host: `transcribe`, `asset`, `retrieve`. Within a run the same question
--- has one answer, so that a stage that is tried twice does not ask twice.
---@param service string
---@param request table
---@return any answer
---@return string? why        there is none
function Context:call(service, request)
  if type(service) ~= "string" or type(request) ~= "table" then
    refuse("argument", "call takes the name of a service and a table", 'context:call("retrieve", { query = "..." })')
  end
  local run = self.run
  local key = service .. " " .. core.json.encode(request)
  local known = run.answers[key]
  if not known then
    known = table.pack(run.ask(service, request))
    run.answers[key] = known
  end
  return tables.copy(known[1]), known[2]
end

--- How files that settings name are run: policies.
---@return ebb.Loading
function Context:loading()
  return self.run.loading
end

--- Tokens of a request with these messages, framing and tools included.
---@param messages ebb.WorkingMessage[]
---@return integer tokens
---@return ebb.Conversation chat   the request as a conversation of its own
function Context:weigh(messages)
  local chat = self.run.request:chat(messages)
  return chat:tokens(), chat
end

--- The visible history as working copies, freshly made.
---@return ebb.WorkingMessage[]
function Context:history()
  return self.run.request:history()
end

--- Windows that the history names and that there are not.
---@return string[]
function Context:missing_windows()
  return self.run.request.missing
end

--- These messages as a conversation of its own, with the marks of the stored ones:
--- something to trim. Its seqs are their places in the list.
---@param messages ebb.WorkingMessage[]
---@param counter? fun(message: ebb.Message): integer   weighs them, in the place of the request's own counter
---@return ebb.Conversation
function Context:history_chat(messages, counter)
  return self.run.request:history_chat(messages, counter)
end

--- Do only built-in processors follow the one that runs?
---@return boolean
function Context:only_core_follows()
  return self.run.only_core_follows()
end

--- What the request would weigh if the processors after this one had these messages; nil
--- if one of them failed. They work on copies.
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
  local own = { messages = fields.messages or {}, shared_data = fields.shared_data or {} }
  local read = { run = fields.run }
  for _, name in ipairs(context_fields.read) do
    read[name] = fields[name]
  end
  return context_fields.context(own, read, Context, function() return fields.run.logs end)
end

context.methods = Context

return context
