--- Messages that Mastra stores, as its memory gives them and as rows of its tables, whose content is JSON text.
--
--     {"id", "role", "threadId", "content": {"format": 2, "parts": [..], "content": "the last text only"}}
--     {"id", "role", "thread_id", "resourceId", "type": "v2", "content": "{\"format\":2,\"parts\":[..]}"}
--
-- The parts are those of UIMessage: a tool's call and its result are one part of the assistant's message. Messages of
-- version 1 have the content of a ModelMessage.

local ai_sdk = require "ebb.import.libraries.ai_sdk"
local core = require "ebb.support.core"
local fields = require "ebb.import.fields"
local refuse = require "ebb.support.refuse"
local ui_messages = require "ebb.import.libraries.ui_messages"

local mastra = { name = "mastra", title = "Mastra messages", kind = "jsonl" }

--- The list of messages of a value: the value, or a member of what memory gives.
local function list_of(value)
  if fields.is_list(value) then return value end
  return fields.is_object(value) and (fields.list(value, "messages") or fields.list(value, "rows")) or nil
end

local THREADS = { "threadId", "thread_id", "resourceId", "resource_id" }

--- True for a message that belongs to a thread and has a content of Mastra's.
local function is_own(message)
  if not fields.text(message, "role") then return false end
  local content = fields.object(message, "content")
  if content and fields.list(content, "parts") and content.format ~= nil then return true end
  local text = fields.text(message, "content")
  for _, name in ipairs(THREADS) do
    if fields.text(message, name) and text then return text:find '^%s*{.*"parts"' ~= nil or message.type ~= nil end
  end
  return false
end

function mastra.recognise(sample)
  local list = list_of(sample.value) or sample.value == nil and sample.records or {}
  return fields.is_object(list[1]) and is_own(list[1])
end

---- Messages ----

--- A message in the AI SDK's form: a content of parts becomes a UIMessage.
local function converted(element)
  local message = element.value
  local content, raw = message.content, core.json.decode(element.raw, { raw = { content = true } }).content
  raw = raw and raw[1]
  if type(content) == "string" and content:find "^%s*[%[{]" then
    local value = core.json.decode(content)
    if fields.is_list(value) or fields.list(value, "parts") then content, raw = value, content end
  end
  local role = fields.json(message.role)
  if fields.is_object(content) then
    element.raw = ('{"role":%s,"parts":%s}'):format(role, ui_messages.parts(content, raw))
  else
    element.raw = ('{"role":%s,"content":%s}'):format(role, raw or '""')
  end
  element.value = core.json.decode(element.raw)
  return element
end

function mastra.read(source)
  if source.value ~= nil and not list_of(source.value) then refuse("shape", "1:1: expected a list of messages") end
  local list, elements = source.value == nil and {} or nil, {}
  if list then
    for number, record, raw in source:records() do list[#list + 1] = { value = record, raw = raw, line = number } end
  else
    local name = not fields.is_list(source.value) and (fields.list(source.value, "messages") and "messages" or "rows")
    list = fields.elements(name and core.json.decode(source.text, { raw = { [name] = true } })[name][1] or source.text)
  end
  for i, element in ipairs(list) do
    element.line = element.line or i
    if fields.text(element.value, "role") then elements[#elements + 1] = converted(element)
    else source.report:add("other entry", "without a role", element.line) end
  end
  local out = ai_sdk.convert(elements, source.report)
  local messages, lines = out:finish()
  lines = source.value == nil and lines or nil
  return { dialect = out.dialect, messages = messages, lines = lines, report = source.report }
end

return mastra
