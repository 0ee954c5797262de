--- Tasks of Roo Code and Cline: a list of Anthropic's messages with members of their own, and Roo's second form,
--- an object whose messages have the AI SDK's parts.
--
-- Nothing is removed from these files: a summary or a marker has an id, and messages that it hides name it. If the
-- summary is gone, they are back.

local core = require "ebb.support.core"
local fields = require "ebb.import.fields"
local neutral = require "ebb.import.neutral"
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

local PARTS = {}

function PARTS.text(part) return { kind = "text", text = fields.text(part, "text") or "" } end

function PARTS.reasoning(part)
  local options = fields.object(fields.object(part, "providerOptions"), "anthropic")
  return { kind = "thinking", text = fields.text(part, "text"), signature = fields.text(options, "signature"),
    data = fields.text(options, "redactedData") }
end

--- An image or a file: a URL, a data URI or base64.
local function media(kind)
  return function(part)
    local value = fields.text(part, kind == "image" and "image" or "data") or ""
    local mime = fields.text(part, "mediaType") or fields.text(part, "mimeType")
    local uri_mime, data = neutral.data_of(value)
    local is_url = not data and value:find "^https?://" ~= nil
    mime = mime or uri_mime or (kind == "image" and "image/png" or "application/pdf")
    return { kind = mime:find "^image/" and "image" or "file", mime = mime, name = fields.text(part, "filename"),
      url = is_url and value or nil, data = not is_url and (data or value) or nil }
  end
end

PARTS.image, PARTS.file = media "image", media "file"

PARTS["tool-call"] = function(part, raw)
  local input = fields.object(part, "input") and core.json.decode(raw, { raw = { input = true } }).input
  return { kind = "call", id = fields.text(part, "toolCallId") or "", name = fields.text(part, "toolName") or "tool",
    input = input or {} }
end

--- The text of an output: a text, or {type, value}.
local function output_text(output)
  local value = fields.is_object(output) and output.value
  if type(output) == "string" then return output end
  if type(value) == "string" then return value end
  local texts = {}
  for _, part in ipairs(fields.is_list(value) and value or {}) do texts[#texts + 1] = fields.text(part, "text") end
  return texts[1] and table.concat(texts, "\n") or fields.json(value or output or "")
end

PARTS["tool-result"] = function(part)
  local text = output_text(part.output)
  local kind = fields.text(fields.object(part, "output"), "type") or ""
  return { kind = "result", id = fields.text(part, "toolCallId") or "",
    is_error = text:sub(1, 7) == "[ERROR]" or kind:find "^error" ~= nil, { kind = "text", text = text } }
end

--- A block of Anthropic's that was left in a message.
function PARTS.tool_result(part)
  local texts = {}
  for _, block in ipairs(fields.list(part, "content") or {}) do texts[#texts + 1] = fields.text(block, "text") end
  return { kind = "result", id = fields.text(part, "tool_use_id") or "", is_error = part.is_error == true,
    { kind = "text", text = fields.text(part, "content") or table.concat(texts, "\n") } }
end

local ROLES = { user = "user", assistant = "assistant", tool = "user", system = "system" }

local function add_parts(message, element, report)
  local content, first = content_of(element)
  if first == '"' then
    message[1] = { kind = "text", text = core.json.decode(content) }
    return
  end
  for _, part in ipairs(first == "[" and fields.elements(content) or {}) do
    local kind = fields.text(part.value, "type") or "without a type"
    if PARTS[kind] then message[#message + 1] = PARTS[kind](part.value, part.raw)
    else report:add("other block", kind, element.line) end
  end
end

--- True if one of the messages has reasoning with a signature, which only Anthropic's models give.
local function has_signature(elements)
  for _, element in ipairs(elements) do
    if element.raw:find('"signature"', 1, true) then return true end
  end
  return false
end

local function read_version_2(elements, report)
  local list = visible(elements, report)
  local out = neutral.new(has_signature(list) and "anthropic" or "openai", report)
  for _, element in ipairs(list) do
    local role = ROLES[fields.text(element.value, "role")]
    local message = { role = role, line = element.line }
    if role then
      add_parts(message, element, report)
      out:add(message)
    else
      report:add("other entry", fields.text(element.value, "type") or "without a role", element.line)
    end
  end
  return { dialect = out.dialect, messages = out:finish(), report = report }
end

function roo.read(source)
  local version_2, is_list = is_version_2(source.value), fields.is_list(source.value)
  source.value = nil         -- the collector need not walk it: all messages are read anew, with their bytes
  if version_2 then
    local raw = core.json.decode(source.text, { raw = { messages = true } }).messages[1]
    return read_version_2(fields.elements(raw, RAW_CONTENT), source.report)
  end
  if not is_list then refuse("shape", "1:1: expected a list of messages") end
  return read_legacy(fields.elements(source.text, RAW_CONTENT), source.report)
end

return roo
