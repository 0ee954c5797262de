--- Blocks of LangChain's contents as parts of Chat Completions: its own (version 1 and the one before), those of
--- Anthropic, of OpenAI's Responses and of Google, which its replies keep as they came.
--
-- Own ones of media: {"type": "image", "mimeType" or "mime_type", "data" or "base64" or "url"}.

local content = require "ebb.import.content"
local core = require "ebb.support.core"
local fields = require "ebb.import.fields"
local neutral = require "ebb.import.neutral"

local blocks = {}

---@class ebb.import.BlockReader
---@field built ebb.ImportTurns
---@field calls ebb.ImportCall[]      of the message; blocks add those that it lacks
---@field known table<string, true>   their ids
---@field parts table[]               what was read

---- Media ----

local function first_text(block, ...)
  for _, name in ipairs { ... } do
    if fields.text(block, name) then return fields.text(block, name) end
  end
end

local FORMS = {}

function FORMS.image(url) return content.image(url) end

function FORMS.audio(_, mime, data)
  return data and { type = "input_audio", input_audio = { data = data, format = neutral.audio_format(mime) } }
end

function FORMS.file(url, _, _, name)
  return { type = "file", file = { filename = name, file_data = url } }
end

--- Finds the kind of a block of media, by its media type or else by its own type.
local function form_of(kind, mime)
  local major = (mime or ""):match "^(%a+)/"
  if major == "image" or major == "audio" then return FORMS[major] end
  return FORMS[kind == "image" and not major and "image" or kind == "audio" and not major and "audio" or "file"]
end

local DEFAULTS = { image = "image/png", audio = "audio/wav" }     -- types, where a block names none

--- A block of media as a part; nil for one whose bytes are elsewhere.
local function media_of(block, kind)
  local from = fields.object(block, "source") or block
  local data = first_text(from, "data", "base64")
  local mime = first_text(from, "media_type", "mime_type", "mimeType")
  local uri_mime, uri_data = neutral.data_of(first_text(from, "url") or "")
  if uri_data then data, mime = uri_data, mime or uri_mime end
  mime = mime or DEFAULTS[kind] or "application/pdf"
  local url = data and ("data:%s;base64,%s"):format(mime, data) or first_text(from, "url")
  local metadata = fields.object(block, "metadata")
  local name = first_text(metadata, "filename", "name", "title") or first_text(block, "filename", "title")
  return url and form_of(kind, mime)(url, mime, data, name)
end

--- The text of a block that is a plain text, whatever it is called.
local function plain_text(block)
  local from = fields.object(block, "source") or block
  if fields.text(from, "text") then return from.text end
  local data = first_text(from, "data")
  return data and core.base64.decode(data)
end

---- Kinds ----

local KINDS = {}

function KINDS.text(reader, block)
  local text = fields.text(block, "text") or ""
  if text ~= "" then reader.parts[#reader.parts + 1] = content.text(text) end
  return true
end

KINDS.output_text, KINDS.input_text = KINDS.text, KINDS.text

local function add_call(reader, id, name, arguments)
  if not reader.known[id or ""] then
    reader.calls[#reader.calls + 1] = { id = id, name = name, arguments = content.arguments(arguments) }
    if id then reader.known[id] = true end
  end
  return true
end

function KINDS.tool_use(reader, block)
  return add_call(reader, fields.text(block, "id"), fields.text(block, "name"), block.input)
end

function KINDS.tool_call(reader, block)
  return add_call(reader, fields.text(block, "id"), fields.text(block, "name"), block.args)
end

KINDS.invalid_tool_call = KINDS.tool_call

function KINDS.function_call(reader, block)
  return add_call(reader, first_text(block, "call_id", "id"), fields.text(block, "name"), block.arguments)
end

--- The texts of a list of {"text"}, a line each.
local function texts_of(list)
  local texts = {}
  for _, each in ipairs(list or {}) do texts[#texts + 1] = fields.text(each, "text") end
  return texts[1] and table.concat(texts, "\n")
end

--- Keeps what a value says of reasoning: a block, or the item of Responses.
---@param built ebb.ImportTurns
---@param value table
function blocks.reason(built, value)
  local text = first_text(value, "thinking", "reasoning") or texts_of(fields.list(value, "summary"))
    or texts_of(fields.list(value, "content"))
  if text and text ~= "" then built:reason(text) end
  if value.signature ~= nil then built.report:add("signature of reasoning", "left out") end
  if fields.text(value, "encrypted_content") then built.report:add("encrypted reasoning", "left out") end
end

function KINDS.reasoning(reader, block)
  blocks.reason(reader.built, block)
  return true
end

KINDS.thinking = KINDS.reasoning

--- A part in OpenAI's form stays as it is; its own form has the media next to the type.
local function native_or_media(member)
  return function(reader, block, kind)
    local part = fields.object(block, member) and block or media_of(block, kind)
    reader.parts[#reader.parts + 1] = part
    return part ~= nil and part ~= false
  end
end

KINDS.image, KINDS.media, KINDS.document = native_or_media "", native_or_media "", native_or_media ""
KINDS.audio, KINDS.input_audio, KINDS.file = native_or_media "", native_or_media "input_audio", native_or_media "file"

function KINDS.image_url(reader, block)
  local url = fields.text(block, "image_url")
  reader.parts[#reader.parts + 1] = url and content.image(url) or block
  return true
end

KINDS["text-plain"] = function(reader, block)
  local text = plain_text(block)
  if text then reader.parts[#reader.parts + 1] = content.text(text) end
  return text ~= nil
end

--- A block that only its provider knows, in one of LangChain's.
function KINDS.non_standard(reader, block)
  local value = fields.object(block, "value")
  local kind = fields.text(value, "type")
  return kind ~= "non_standard" and KINDS[kind] ~= nil and KINDS[kind](reader, value, kind)
end

local function is_plain(block, kind)
  return (kind == "file" or kind == "document") and (fields.text(block, "source_type") == "text"
    or fields.text(fields.object(block, "source"), "type") == "text")
end

--- Reads blocks: parts for the content, reasoning, and calls that the message's own list lacks.
---@param list any[]
---@param built ebb.ImportTurns
---@param calls ebb.ImportCall[]
---@return string|table[]
function blocks.read(list, built, calls)
  local reader = { built = built, calls = calls, known = {}, parts = {} }
  for _, call in ipairs(calls) do reader.known[call.id or ""] = true end
  for _, block in ipairs(list) do
    local kind = type(block) == "string" and "text" or fields.text(block, "type") or "without a type"
    if type(block) == "string" then block = { text = block } end
    if is_plain(block, kind) then kind = "text-plain" end
    local read = KINDS[kind]
    if not (read and read(reader, block, kind)) then
      built.report:add("other block", kind:sub(1, 40) .. ", left out")
    end
  end
  return content.join(reader.parts)
end

return blocks
