--- Messages in the form of Chat Completions, built one after the other: calls get ids, results find their calls.
--
--     local turns = Turns.new(report)
--     turns:add { role = "user", content = "hi" }
--     turns:call { name = "ls", arguments = "{}" }      an assistant message; parallel calls share it
--     turns:result { content = "a.txt" }                answers the first call that is open
--     local messages = turns:finish()
--
-- Formats without ids answer calls by name, or in their order. A user's message ends the wait for results.

local core = require "ebb.support.core"

local turns = {}

local NAME_MAX = 64   -- bytes of a function's name

---@class ebb.ImportCall
---@field id? string           nil or "": one is made
---@field name? string
---@field arguments string     JSON text
---@field line? integer

---@class ebb.ImportTurns
---@field messages table[]
---@field report ebb.import.Report
local Turns = {}
Turns.__index = Turns

---@param report ebb.import.Report
---@return ebb.ImportTurns
function turns.new(report)
  return setmetatable({
    messages = {}, report = report, calls_made = 0, open = 0, waiting = { first = 1 }, by_name = {}, by_id = {},
  }, Turns)
end

--- Takes the first call of a queue that has no result yet.
local function take(queue)
  while queue and queue[queue.first] do
    local call = queue[queue.first]
    queue.first = queue.first + 1
    if not call.answered then return call end
  end
end

--- A name that providers accept as that of a function.
function Turns:function_name(name, line)
  local valid = (name or ""):gsub("[^%w_%-]", "_"):sub(1, NAME_MAX)
  if valid == "" then valid = "tool" end
  if name and valid ~= name then
    self.report:add("renamed function", "its name has characters that providers refuse; _ replaces them", line)
  end
  return valid
end

--- Keeps the text of reasoning for the next message of the assistant.
---@param text string
function Turns:reason(text)
  self.reasoning = self.reasoning and self.reasoning .. "\n\n" .. text or text
end

local function take_reasoning(self, message)
  message.reasoning_content, self.reasoning = self.reasoning or message.reasoning_content, nil
end

--- Appends a message that is no result.
---@param message table
---@return table message        for calls that belong to it
function Turns:add(message)
  if message.role == "assistant" then take_reasoning(self, message)
  elseif message.role == "user" then self.waiting, self.by_name = { first = 1 }, {} end
  self.messages[#self.messages + 1] = message
  return message
end

--- The message whose calls have no result yet, if it is the last one; else a new one.
local function message_of_calls(self)
  local last = self.messages[#self.messages]
  if last and last.tool_calls and not self.reasoning then return last end
  return self:add { role = "assistant", content = core.json.null, tool_calls = core.json.array {} }
end

--- Appends a call: to the message of the call before it, if no result is between them.
---@param call ebb.ImportCall
---@param message? table       of the assistant, the last one: where the call goes
---@return { id: string, name: string, answered?: boolean }
function Turns:call(call, message)
  message = message or message_of_calls(self)
  self.calls_made = self.calls_made + 1
  local id = call.id ~= "" and call.id or ("call_%d"):format(self.calls_made)
  local name = self:function_name(call.name, call.line)
  message.tool_calls = message.tool_calls or core.json.array {}
  table.insert(message.tool_calls,
    { id = id, type = "function", ["function"] = { name = name, arguments = call.arguments } })
  local waits = { id = id, name = name }
  self.open = self.open + 1
  self.by_name[name] = self.by_name[name] or { first = 1 }
  self.by_id[id] = self.by_id[id] or { first = 1 }
  for _, queue in ipairs { self.waiting, self.by_name[name], self.by_id[id] } do
    queue[#queue + 1] = waits
  end
  return waits
end

local function call_of(self, result, name)
  if result.id and result.id ~= "" then return take(self.by_id[result.id]) end
  return result.name and take(self.by_name[name]) or take(self.waiting)
end

---@class ebb.ImportResult
---@field id? string           of its call
---@field name? string         of its function
---@field content string|table[]
---@field line? integer

--- Appends a result. If no call waits for it, a call without arguments is added before it, and reported.
---@param result ebb.ImportResult
function Turns:result(result)
  local name = result.name and self:function_name(result.name, result.line)
  local call = call_of(self, result, name)
  if not call then
    self.report:add("result without call", "a call without arguments was added before it", result.line)
    call = self:call { id = result.id, name = result.name, arguments = "{}", line = result.line }
  end
  call.answered = true
  self.open = self.open - 1
  self.messages[#self.messages + 1] = { role = "tool", tool_call_id = call.id, content = result.content }
end

--- The messages; says in the report what stayed open.
---@return table[]
function Turns:finish()
  if self.open > 0 then
    self.report:add("open call", "it has no result", nil, self.open)
  end
  if self.reasoning then
    self.report:add("lost reasoning", "no message of the assistant follows it")
    self.reasoning = nil
  end
  return self.messages
end

return turns
