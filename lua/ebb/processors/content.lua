--- Helpers of the formatters: the content of working messages, and merging several.
--
-- Content is a text, or a list of parts; joined, parts stay what they are:
--
--     "a1"  +  { text "a2", image }  +  "a3"
--         =  { text "a1", text "\n\na2", image, text "a3" }        separator "\n\n"
--
-- so no part is lost or changed but for the separator, which comes at the
-- beginning of a text that follows a text. Texts alone become one text.

local core = require "ebb.support.core"
local parts = require "ebb.conversation.parts"

local content = {}

local array, null = core.json.array, core.json.null

---- Roles ----

local SYSTEM = { system = true, developer = true }

---@param message ebb.WorkingMessage
---@return boolean
function content.is_system(message) return SYSTEM[message.role] == true end

---- Parts of a message ----

--- Fields about a message rather than in it; of merged messages the
--- first that has such a field gives it.
local ABOUT = { id = true, timestamp = true, metadata = true, name = true }

--- Fields that a merge sets.
local MERGED = { role = true, content = true, attachments = true, source = true, source_id = true, sources = true,
  seq = true, origin = true, trusted = true }

--- Fields that a plain message may have.
local USUAL = {}
for _, fields in ipairs { ABOUT, MERGED } do
  for field in pairs(fields) do
    USUAL[field] = true
  end
end

local CALL_PARTS = { tool_use = true, tool_result = true, tool_call = true, function_call = true,
  function_response = true }
local REASONING_PARTS = { reasoning = true, thinking = true, redacted_thinking = true }

--- True if a field holds nothing: null or an empty list, as in a recorded `refusal: null, annotations: []`.
local function is_nothing(value)
  return value == nil or value == null or type(value) == "table" and next(value) == nil
end

--- True if the message calls a tool, or answers a call.
---@param message ebb.WorkingMessage
---@return boolean
function content.has_calls(message)
  if not (is_nothing(message.tool_calls) and is_nothing(message.function_call)) then return true end
  if message.role == "tool" or message.role == "function" or not is_nothing(message.tool_call_id) then return true end
  for _, part in ipairs(parts.list(message)) do
    if CALL_PARTS[part.type] then return true end
  end
  return false
end

--- True if the message answers a call, so that nothing may come between.
---@param message ebb.WorkingMessage
---@return boolean
function content.answers(message)
  if message.role == "tool" or message.role == "function" then return true end
  for _, part in ipairs(parts.list(message)) do
    if part.type == "tool_result" or part.type == "function_response" then return true end
  end
  return false
end

--- True if the message has nothing but its content, so that it may become a part of another
--- message? Calls, results, reasoning, refusals, audio and fields that nothing here
--- knows belong to the message that has them.
---@param message ebb.WorkingMessage
---@return boolean
function content.is_plain(message)
  for field, value in pairs(message) do
    if not USUAL[field] and not is_nothing(value) then return false end
  end
  if content.has_calls(message) then return false end
  for _, part in ipairs(parts.list(message)) do
    if REASONING_PARTS[part.type] then return false end
  end
  return true
end

--- A content with some parts replaced, of those in results too.
---@param value any            a content; anything but a list stays
---@param change fun(part: table): table?   what replaces a part, it itself too; nil: nothing
---@return any value           the same one where no part changes
function content.map_parts(value, change)
  if type(value) ~= "table" then return value end
  local list, changed = array {}, false
  for _, part in ipairs(value) do
    local said = part
    local body = type(part) == "table" and part.type == "tool_result" and parts.body(part)
    local inner = body and content.map_parts(body.content, change)
    if body and inner ~= body.content then said = parts.with_result(part, inner) end
    if not body then said = change(part) end
    list[#list + 1], changed = said, changed or said ~= part
  end
  return changed and list or value
end

---- Several as one ----

---@param part? table
---@return boolean
function content.is_text(part)
  return part ~= nil and part.type == "text" and type(part.text) == "string"
end

local function is_blank(value)
  return is_nothing(value) or value == ""
end

--- A copy of a part that says something else.
---@param part table
---@param text string
---@return table
function content.with_text(part, text)
  local copy = {}
  for key, value in next, part do
    copy[key] = value
  end
  copy.text = text
  return copy
end

--- Adds a part; a text after a text begins with the separator.
local function add_part(list, part, separator)
  if separator ~= "" and content.is_text(part) and content.is_text(list[#list]) then
    part = content.with_text(part, separator .. part.text)
  end
  list[#list + 1] = part
end

--- The parts of all; the separator is between messages, not within one.
local function joined_parts(messages, separator)
  local list = array {}
  for _, message in ipairs(messages) do
    local value = message.content
    if type(value) == "string" then value = value ~= "" and { { type = "text", text = value } } or {} end
    for i, part in ipairs(is_nothing(value) and {} or value) do
      add_part(list, part, i == 1 and separator or "")
    end
  end
  return list
end

--- The content of several messages; of those without any, nothing is seen.
---@param messages ebb.WorkingMessage[]
---@param separator string
---@return string|table[]
function content.joined(messages, separator)
  local texts = {}
  for _, message in ipairs(messages) do
    local value = message.content
    if type(value) == "table" and not is_nothing(value) then return joined_parts(messages, separator) end
    if not is_blank(value) then texts[#texts + 1] = value end
  end
  return table.concat(texts, separator)
end

---@class ebb.MergedSource       where a part of a merged message came from
---@field source string
---@field source_id? string|integer
---@field seq? integer           of the stored message
---@field role string
---@field bytes integer          of its texts: its share of the tokens
---@field id? string
---@field name? string
---@field metadata? table

--- Bytes of the texts of a message.
local function bytes_of(message)
  local value, bytes = message.content, 0
  if type(value) == "string" then return #value end
  for _, part in ipairs(is_nothing(value) and {} or value) do
    if content.is_text(part) then bytes = bytes + #part.text end
  end
  return bytes
end

local function add_sources(sources, message)
  if message.sources then
    table.move(message.sources, 1, #message.sources, #sources + 1, sources)
    return
  end
  sources[#sources + 1] = {
    source = message.source, source_id = message.source_id, seq = message.seq or message.origin, role = message.role,
    bytes = bytes_of(message), id = message.id, name = message.name, metadata = message.metadata,
  }
end

local function add_attachments(merged, message)
  if is_nothing(message.attachments) then return end
  local list = merged.attachments or {}
  table.move(message.attachments, 1, #message.attachments, #list + 1, list)
  merged.attachments = list
end

--- Takes the fields over that are not there yet. Returns those that are there with another value.
local function add_fields(merged, message)
  local lost
  for field, value in pairs(message) do
    if not MERGED[field] and not is_nothing(value) then
      if merged[field] == nil then
        merged[field] = value
      elseif merged[field] ~= value and not ABOUT[field] then
        lost = lost or {}
        lost[#lost + 1] = field
      end
    end
  end
  return lost
end

--- One message out of several, which stay as they are. Its role is that of the
--- first; `sources` says what it was made of.
---@param messages ebb.WorkingMessage[]    at least one
---@param separator string
---@return ebb.WorkingMessage merged
---@return string[]? lost     fields of which only the first one's value is left
function content.merged(messages, separator)
  local merged = { role = messages[1].role, content = content.joined(messages, separator), source = "merged",
    sources = {}, trusted = true }
  local lost
  for _, message in ipairs(messages) do
    add_sources(merged.sources, message)
    add_attachments(merged, message)
    lost = add_fields(merged, message) or lost
    merged.trusted = merged.trusted and message.trusted
  end
  return merged, lost
end

--- A copy of the message itself; its parts are shared.
---@param message ebb.WorkingMessage
---@param changes table         fields that are other there
---@return ebb.WorkingMessage
function content.changed(message, changes)
  local copy = {}
  for field, value in pairs(message) do
    copy[field] = value
  end
  for field, value in next, changes do
    copy[field] = value
  end
  copy.seq = nil   -- its bytes are no longer those of the stored message
  return copy
end

return content
