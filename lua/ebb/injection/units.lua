--- Finds positions between working messages where an insertion tears no unit: an
--- assistant message with calls and the results that answer them stay together,
--- with all messages between them.

local parts = require "ebb.conversation.parts"

local units = {}

--- Ids of the calls that a message answers; a call of the old form is answered under its name.
local function results_of(message)
  local ids = parts.answers(message)
  if message.role == "function" and type(message.name) == "string" then ids[#ids + 1] = message.name end
  return ids
end

--- True if the message may call something, or answer. Most messages are a text and nothing else.
local function may_call(message)
  return type(message.content) ~= "string" or message.tool_calls ~= nil or message.function_call ~= nil
    or message.tool_call_id ~= nil or message.role == "function"
end

--- State of a walk over messages in order: `waiting`, a stack of the positions of unanswered calls by call id;
--- `until_`, the position of the last result by the position of its call; `has_orphan`, true if a result answers no
--- call of the walk.
---@class ebb.injection.Scan

--- Notes that the message at `i` answers a call: the nearest one that is unanswered.
local function note_result(scan, id, i)
  local positions = scan.waiting[id]
  local first = positions and positions[#positions]
  if not first then scan.has_orphan = true
  else scan.until_[first], positions[#positions] = i, nil end
end

--- Notes the calls of the message at `i`, and its results: which call each answers.
local function note(scan, message, i)
  local answer = message.tool_call_id
  if type(answer) == "string" and type(message.content) == "string" and not message.tool_calls
    and not message.function_call and message.role ~= "function" then     -- a result, as most of them are
    return note_result(scan, answer, i)
  end
  for _, id in ipairs(results_of(message)) do
    note_result(scan, id, i)
  end
  for _, id in ipairs(parts.calls(message)) do
    local positions = scan.waiting[id] or {}
    scan.waiting[id], positions[#positions + 1] = positions, i
  end
end

--- The last results by the positions of their calls, of the messages from `from` on; nil if one of them answers a
--- call before these.
local function last_results(messages, from)
  local scan = { waiting = {}, until_ = {}, has_orphan = false }
  for i = from, #messages do
    if may_call(messages[i]) then note(scan, messages[i], i) end
    if scan.has_orphan and from > 1 then return nil end
  end
  return scan.until_
end

--- For each place from `first` on (0: before the first message, n: after the nth) the nearest one at
--- or before it that is inside of no unit. Only the messages from there on are read, and before them what their
--- results answer.
---@param messages ebb.WorkingMessage[]
---@param first integer
---@return integer[] places     from `first` or less to #messages
function units.places(messages, first)
  local from = math.max(first, 1)
  local until_ = last_results(messages, from)
  while not until_ do
    from = math.max(1, from - (#messages - from + 1))   -- twice as many
    until_ = last_results(messages, from)
  end
  local inside, free = 0, from - 1
  local places = { [free] = free }
  for i = from, #messages do
    inside = math.max(inside, until_[i] or 0)
    if i >= inside then free = i end
    places[i] = free
  end
  return places
end

return units
