--- Parts of the AI SDK's messages as parts of neutral ones: what ModelMessage has, and what its older versions wrote.
--
--     parts.read({ type = "tool-call", toolCallId = "c", .. }, raw, report)   -> { kind = "call", id = "c", .. }
--
-- A file's data is base64, a URL, a data URI, the JSON of a buffer, or (version 7) an object that says which:
-- {"type": "url", "url"}, {"type": "data", "data"}, {"type": "text", "text"}, {"type": "reference", ..}.

local core = require "ebb.support.core"
local fields = require "ebb.import.fields"
local media = require "ebb.support.media"
local neutral = require "ebb.import.neutral"

local parts = {}

parts.DENIED = "Tool call execution denied."    -- what the SDK itself says where no reason is given

---- Files ----

local BYTES_AT_ONCE = 4096

--- The base64 of a list of bytes, as JSON has buffers; nil for other lists.
local function encode_bytes(list)
  local pieces = {}
  for first = 1, #list, BYTES_AT_ONCE do
    local ok, piece = pcall(string.char, table.unpack(list, first, math.min(first + BYTES_AT_ONCE - 1, #list)))
    if not ok then return nil end
    pieces[#pieces + 1] = piece
  end
  return core.base64.encode(table.concat(pieces))
end

--- The bytes of an array of bytes, which JSON has as an object: {"0": 137, "1": 80}.
local function numbered(value)
  local list = {}
  while type(rawget(value, tostring(#list))) == "number" do list[#list + 1] = rawget(value, tostring(#list)) end
  return list
end

--- Reads the source of a file: a URL, base64 or a text; nil for a file that only its provider has.
---@param value any
---@return { url?: string, data?: string, mime?: string, text?: string }?
local function source_of(value)
  if type(value) == "string" then
    local mime, data = neutral.data_of(value)
    if data then return { data = data, mime = mime } end
    return value:find "^%a[%w+.-]*:" and { url = value } or { data = value }      -- base64 has no colon
  end
  local kind = fields.text(value, "type")
  if kind == "Buffer" then
    local data = encode_bytes(fields.list(value, "data") or {})
    return data and { data = data }
  elseif kind == "text" then
    return { text = fields.text(value, "text") or "" }
  elseif kind == "url" or kind == "data" then
    return source_of(value[kind])
  elseif fields.is_object(value) and value["0"] ~= nil then
    local data = encode_bytes(numbered(value))
    return data and { data = data }
  end
end

local BASE64_HEAD = 88     -- letters that hold what tells a type

--- A whole media type: the declared one, or where that is "image" or nothing, that of the bytes.
local function mime_of(declared, from, fallback)
  if declared and declared:find "^[^/]+/[^*]" then return declared end
  local bytes = from.data and core.base64.decode(from.data:sub(1, BASE64_HEAD))
  return from.mime or bytes and media.of_bytes(bytes) or fallback
end

local function kind_of(mime)
  return mime:find "^image/" and "image" or mime:find "^audio/" and "audio" or "file"
end

--- A file as a neutral part; nil for one that is counted as left out.
---@param value any            where its bytes are
---@param mime? string         its declared media type
---@param name? string
---@param report ebb.import.Report
---@param fallback? string     its type, if nothing tells it
---@return ebb.import.Part?
function parts.file(value, mime, name, report, fallback)
  local from = source_of(value)
  if not from then return report:add("file", "left out: only its provider has its bytes") end
  if from.text then return { kind = "text", text = from.text } end
  if mime and mime:find "^image" then fallback = "image/png" end
  mime = mime_of(mime, from, fallback or "application/pdf")
  local kind = kind_of(mime)
  if kind == "audio" and from.url then return report:add("audio", "left out: it is a link") end
  return { kind = kind, mime = mime, name = name, url = from.url, data = from.data }
end

local function name_of(part) return fields.text(part, "filename") or fields.text(part, "name") end
local function declared_mime(part) return fields.text(part, "mediaType") or fields.text(part, "mimeType") end

---- Results ----

--- Parts of an output of type "content".
local OUTPUT_PARTS = {}

function OUTPUT_PARTS.text(part) return { kind = "text", text = fields.text(part, "text") or "" } end

local function output_file(member)
  return function(part, report)
    return parts.file(part[member], declared_mime(part), name_of(part), report)
  end
end

OUTPUT_PARTS.file, OUTPUT_PARTS.media = output_file "data", output_file "data"
OUTPUT_PARTS["file-data"], OUTPUT_PARTS["file-url"] = output_file "data", output_file "url"

function OUTPUT_PARTS.image(part, report) return parts.file(part.data, declared_mime(part) or "image", nil, report) end

OUTPUT_PARTS["image-data"] = OUTPUT_PARTS.image
OUTPUT_PARTS["image-url"] = function(part, report) return parts.file(part.url, "image", nil, report) end

--- Adds the parts of a list to a result.
local function add_content(result, list, report)
  for _, part in ipairs(list) do
    local kind = fields.text(part, "type") or "without a type"
    local built = OUTPUT_PARTS[kind] and OUTPUT_PARTS[kind](part, report)
    if built then result[#result + 1] = built
    elseif not OUTPUT_PARTS[kind] then report:add("other block", "of a result: " .. kind:sub(1, 40)) end
  end
end

--- Fills a result with what a tool gave: a text unchanged, other values as JSON.
---@param result ebb.import.Part
---@param value any
---@param raw any              the same as bytes of JSON
function parts.add_value(result, value, raw)
  local text = type(value) == "string" and value or value ~= nil and fields.compact(raw) or ""
  result[#result + 1] = { kind = "text", text = text }
end

--- A result; `raw` is the part's bytes.
local function read_result(part, raw, report)
  local result = { kind = "result", id = fields.text(part, "toolCallId") or "", is_error = part.isError == true }
  local output = fields.object(part, "output")
  local kind = fields.text(output, "type") or ""
  result.is_error = result.is_error or kind:find "^error" ~= nil or kind == "execution-denied"
  if kind == "execution-denied" then
    result[1] = { kind = "text", text = fields.text(output, "reason") or parts.DENIED }
  elseif kind == "content" and fields.list(output, "value") then
    add_content(result, output.value, report)
  elseif output and output.value ~= nil then
    parts.add_value(result, output.value, core.json.decode(raw, { raw = { value = true } }).output.value)
  else                                       -- a text, and the result of older versions
    local inner = core.json.decode(raw, { raw = { output = true, result = true } })
    if part.output ~= nil then parts.add_value(result, part.output, inner.output)
    else parts.add_value(result, part.result, inner.result) end
  end
  local text = result[1] and result[1].text
  result.is_error = result.is_error or text ~= nil and text:sub(1, 7) == "[ERROR]"      -- as Roo marks it
  return result
end

--- A block of Anthropic's that Roo left in a message.
local function read_old_result(part)
  local texts = {}
  for _, block in ipairs(fields.list(part, "content") or {}) do texts[#texts + 1] = fields.text(block, "text") end
  return { kind = "result", id = fields.text(part, "tool_use_id") or "", is_error = part.is_error == true,
    { kind = "text", text = fields.text(part, "content") or table.concat(texts, "\n") } }
end

---- Parts ----

--- Signatures and encrypted texts of other providers than Anthropic have no place in the messages that are written.
local function report_sealed(part, report)
  local options = fields.object(part, "providerOptions") or fields.object(part, "providerMetadata")
  local openai, google = fields.object(options, "openai"), fields.object(options, "google")
  if fields.text(openai, "reasoningEncryptedContent") then report:add("encrypted reasoning", "left out") end
  if fields.text(google, "thoughtSignature") then report:add("thought signature", "left out") end
end

--- Reasoning; nil without any.
---@param part table
---@return ebb.import.Part?
function parts.reasoning(part, _, report)
  local options = fields.object(part, "providerOptions") or fields.object(part, "providerMetadata")
  local anthropic = fields.object(options, "anthropic")
  local text = fields.text(part, "text") or fields.text(part, "reasoning")
  local signature, data = fields.text(anthropic, "signature"), fields.text(anthropic, "redactedData")
  for _, detail in ipairs(fields.list(part, "details") or {}) do
    text = text or fields.text(detail, "text")
    signature = signature or fields.text(detail, "signature")
    data = data or fields.text(detail, "type") == "redacted" and fields.text(detail, "data") or nil
  end
  report_sealed(part, report)
  if (text or "") == "" and not signature and not data then return nil end
  return { kind = "thinking", text = text, signature = signature, data = data }
end

local PARTS = { reasoning = parts.reasoning, ["tool-result"] = read_result, tool_result = read_old_result }

PARTS["redacted-reasoning"] = function(part)
  return { kind = "thinking", data = fields.text(part, "data") or "" }
end

function PARTS.text(part, _, report)
  report_sealed(part, report)
  return { kind = "text", text = fields.text(part, "text") or "" }
end

function PARTS.image(part, _, report)
  return parts.file(part.image, declared_mime(part), name_of(part), report, "image/png")
end

function PARTS.file(part, _, report)
  return parts.file(part.data ~= nil and part.data or part.url, declared_mime(part), name_of(part), report)
end

--- A call of a tool, from its id, its name and its input as bytes.
---@return ebb.import.Part
function parts.call(id, name, input)
  return { kind = "call", id = id or "", name = name or "tool", input = input ~= nil and input or {} }
end

PARTS["tool-call"] = function(part, raw, report)
  local inner = core.json.decode(raw, { raw = { input = true, args = true } })
  local call = parts.call(fields.text(part, "toolCallId"), fields.text(part, "toolName"),
    inner.input ~= nil and inner.input or inner.args)
  report_sealed(part, report)
  call.is_provider = part.providerExecuted == true
  return call
end

--- True for the type of a part that is read.
---@param kind string
---@return boolean
function parts.knows(kind) return PARTS[kind] ~= nil end

--- A part as a neutral one; nil for one that is empty or counted.
---@param part table
---@param raw string           its bytes
---@param report ebb.import.Report
---@return ebb.import.Part?
function parts.read(part, raw, report)
  return PARTS[fields.text(part, "type")](part, raw, report)
end

return parts
