--- Tasks of Roo Code and Cline: a list of Anthropic's messages with members of their own, and Roo's second form,
--- an object whose messages have the AI SDK's parts.
--
-- Nothing is removed from these files: a summary or a marker has an id, and messages that it hides name it. If the
-- summary is gone, they are back.

local core = require "ebb.support.core"
local fields = require "ebb.import.fields"
local refuse = require "ebb.support.refuse"

local roo = { name = "roo", title = "Roo Code or Cline task", kind = "json" }

--- Members that name these programs.
local OWN = {
  "condenseParent", "condenseId", "truncationParent", "truncationId", "isSummary", "isTruncationMarker",
  "reasoning_details",
}

local function has_own(message)
  for _, name in ipairs(OWN) do
    if message[name] ~= nil then return true end
  end
  return false
end

--- The text of a message's beginning.
local function first_text(message)
  local content = fields.list(message, "content")
  return fields.text(message, "content") or content and fields.text(content[1], "text") or ""
end

local LOOKED_AT = 50

--- True for messages of which one has a member or a beginning that only these programs write.
local function is_task(messages)
  if not fields.is_object(messages[1]) then return false end
  local own = false
  for i = 1, math.min(#messages, LOOKED_AT) do
    local message = messages[i]
    local is_item = fields.text(message, "type") == "reasoning" and fields.text(message, "encrypted_content")
    local role = fields.text(message, "role")
    if not is_item and (role ~= "user" and role ~= "assistant" or message.tool_calls ~= nil) then return false end
    own = own or is_item or has_own(message) or i == 1 and first_text(message):find "^%s*<task>" ~= nil
  end
  return own
end

local function is_version_2(value)
  return fields.is_object(value) and value.version == 2 and fields.list(value, "messages") ~= nil
end

function roo.recognise(sample)
  return is_version_2(sample.value) or fields.is_list(sample.value) and is_task(sample.value)
end

---- What is hidden ----

--- Ids of summaries and markers that exist.
local function hiders_of(elements)
  local summaries, markers = {}, {}
  for _, element in ipairs(elements) do
    local message = element.value
    local summary, marker = fields.text(message, "condenseId"), fields.text(message, "truncationId")
    if summary and message.isSummary == true then summaries[summary] = true end
    if marker and message.isTruncationMarker == true then markers[marker] = true end
  end
  return summaries, markers
end

--- The messages that no summary or marker hides.
local function visible(elements, report)
  local summaries, markers = hiders_of(elements)
  local list = {}
  for i, element in ipairs(elements) do
    local message = element.value
    if summaries[fields.text(message, "condenseParent")] then report:add("hidden message", "a summary replaced it", i)
    elseif markers[fields.text(message, "truncationParent")] then report:add("hidden message", "truncated", i)
    elseif not fields.is_object(message) then report:add("other entry", "not an object", i)
    else
      element.line = i
      list[#list + 1] = element
    end
  end
  return list
end

---- Anthropic's messages ----

local RAW_CONTENT = { raw = { content = true } }

--- The content of a message, JSON, and its first byte.
local function content_of(element)
  local content = element.value.content
  return content and content[1], content and content[1]:sub(1, 1)
end

--- The blocks of a content that stay: without results whose calls are hidden, and reasoning without a signature.
local function kept_blocks(content, calls, report, number)
  local list = {}
  for _, block in ipairs(fields.elements(content)) do
    local kind = fields.text(block.value, "type")
    if kind == "tool_use" then calls[fields.text(block.value, "id") or ""] = true end
    if kind == "tool_result" and not calls[fields.text(block.value, "tool_use_id") or ""] then
      report:add("result without call", "its call is hidden", number)
    elseif kind == "reasoning" or kind == "thoughtSignature" then
      report:add("other block", kind, number)
    else
      list[#list + 1] = block.raw
    end
  end
  return list
end

local function read_legacy(elements, report)
  local messages, calls = {}, {}
  for _, element in ipairs(visible(elements, report)) do
    local role = fields.text(element.value, "role")
    local content, first = content_of(element)
    if not role then
      report:add("other entry", fields.text(element.value, "type") or "without a role", element.line)
    elseif first == "[" then
      local blocks = kept_blocks(content, calls, report, element.line)
      if blocks[1] then
        messages[#messages + 1] = ('{"role":%s,"content":[%s]}'):format(fields.json(role), table.concat(blocks, ","))
      else
        report:add("empty message", "nothing of it is left", element.line)
      end
    elseif first == '"' then
      messages[#messages + 1] = ('{"role":%s,"content":%s}'):format(fields.json(role), content)
    else
      report:add("empty message", "without content", element.line)
    end
  end
  return { dialect = "anthropic", messages = messages, report = report }
end

---- The AI SDK's messages ----

local function read_version_2(elements, report)
  local list = visible(elements, report)
  for _, element in ipairs(list) do element.value = core.json.decode(element.raw) end
  local out = require("ebb.import.libraries.ai_sdk").convert(list, report)
  return { dialect = out.dialect, messages = out:finish(), report = report }
end

function roo.read(source)
  local version_2, is_list = is_version_2(source.value), fields.is_list(source.value)
  source.value = nil         -- the collector need not walk it: all messages are read again, with their bytes
  if version_2 then
    local raw = core.json.decode(source.text, { raw = { messages = true } }).messages[1]
    return read_version_2(fields.elements(raw, RAW_CONTENT), source.report)
  end
  if not is_list then refuse("shape", "1:1: expected a list of messages") end
  return read_legacy(fields.elements(source.text, RAW_CONTENT), source.report)
end

return roo
