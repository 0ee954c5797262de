--- Reasons of estimated counts: which part is assumed, and what would make the count better.

local core = require "ebb.support.core"
local ebb = require "ebb"
local models = require "ebb.models"

local trust = {}

local NAMES_SHOWN = 3
local REPORT = "what the provider counted goes to chat:report_usage"

local function is_assumed(list)
  return list:trust() == "estimated"
end

--- The first message of which a part is assumed, by bisection: once a message is assumed, so is every list with it.
local function first_assumed(chat)
  local first, last = 1, #chat
  while first < last do
    local middle = (first + last) // 2
    local part = chat:fork()
    part:truncate { keep_first = middle }
    if is_assumed(part) then last = middle else first = middle + 1 end
  end
  return first
end

--- What is in a message besides its text, by the type of its first such part.
local function part_of(message)
  for i, part in ipairs(type(message.content) == "table" and message.content or {}) do
    if type(part) == "table" and part.type and part.type ~= "text" then return ("part %d, %s"):format(i, part.type) end
  end
  return "a part that is not text"
end

local function message_reason(chat)
  local place = first_assumed(chat)
  local message = chat[place]
  return ("message %d (%s): what %s costs is assumed; images count by their size where their bytes are in the "
    .. "request; %s"):format(place, message.role, part_of(message), REPORT)
end

--- The names of the tools whose schemas have no published rule.
local function assumed_tools(chat, empty)
  local names, body = {}, core.json.decode(empty:json())
  for _, tool in ipairs(type(body) == "table" and type(body.tools) == "table" and body.tools or {}) do
    local one = ebb.parse(core.json.encode { messages = core.json.array {}, tools = { tool } },
      { encoding = chat:encoding() })
    local called = type(tool) == "table" and (type(tool["function"]) == "table" and tool["function"].name or tool.name)
    if one and is_assumed(one) then names[#names + 1] = type(called) == "string" and called or "one without a name" end
  end
  return names
end

local function tools_reason(chat, empty)
  local names = assumed_tools(chat, empty)
  local more = #names > NAMES_SHOWN and (" and %d more"):format(#names - NAMES_SHOWN) or ""
  local which = names[1] and (" (%s%s)"):format(table.concat(names, ", ", 1, math.min(#names, NAMES_SHOWN)), more) or ""
  return ("how the provider frames its tools is assumed%s: their schemas have no published rule; %s"):format(which,
    REPORT)
end

--- The part of a conversation that is counted by an assumption; nil for counts that are not estimated.
---@param chat ebb.Conversation
---@return string? reason
function trust.reason(chat)
  if not is_assumed(chat) then return nil end
  local encoding = chat:encoding()
  if encoding and models.is_estimator(encoding) then
    local missing = models.missing(chat)
    if missing then return ("%s is not installed, so %s counts"):format(missing, encoding) end
    return ("%s counts; --model or --encoding names a vocabulary"):format(encoding)
  end
  local empty = chat:fork()
  empty:truncate { keep_last = 0 }
  return is_assumed(empty) and tools_reason(chat, empty) or message_reason(chat)
end

return trust
