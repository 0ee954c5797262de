--- Where something may be put between working messages without tearing a unit: an
--- assistant message with calls and the results that answer them stay together,
--- with all that stands between them.

local parts = require "ebb.conversation.parts"

local units = {}

--- Ids of the calls that a message answers; a call of the old form is answered under its name.
local function results_of(message)
  local ids = parts.answers(message)
  if message.role == "function" and type(message.name) == "string" then ids[#ids + 1] = message.name end
  return ids
end

--- May the message call something, or answer? Most messages are a text and nothing else.
local function may_call(message)
  return type(message.content) ~= "string" or message.tool_calls ~= nil or message.function_call ~= nil
    or message.tool_call_id ~= nil or message.role == "function"
end

--- Notes that the message at `i` answers a call: the nearest one that is unanswered.
local function note_result(id, i, waiting, until_)
  local positions = waiting[id]
  local first = positions and positions[#positions]
  if first then until_[first], positions[#positions] = i, nil end
end

--- Notes the calls of the message at `i`, and its results: which call each answers.
local function note(message, i, waiting, until_)
  local answer = message.tool_call_id
  if type(answer) == "string" and type(message.content) == "string" and not message.tool_calls
    and not message.function_call and message.role ~= "function" then     -- a result, as most of them are
    return note_result(answer, i, waiting, until_)
  end
  for _, id in ipairs(results_of(message)) do
    note_result(id, i, waiting, until_)
  end
  for _, id in ipairs(parts.calls(message)) do
    local positions = waiting[id] or {}
    waiting[id], positions[#positions + 1] = positions, i
  end
end

--- For each place (0: before the first message, n: behind the nth) the nearest one at
--- or before it that is inside of no unit.
---@param messages ebb.WorkingMessage[]
---@return integer[] places     from 0 to #messages
function units.places(messages)
  local waiting, until_ = {}, {}   -- call id -> stack of positions; position -> that of its last result
  for i, message in ipairs(messages) do
    if may_call(message) then note(message, i, waiting, until_) end
  end
  local places, inside, free = { [0] = 0 }, 0, 0
  for i = 1, #messages do
    inside = math.max(inside, until_[i] or 0)
    if i >= inside then free = i end
    places[i] = free
  end
  return places
end

return units
