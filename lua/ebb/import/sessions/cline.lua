--- Sessions of Cline 3: {"version": 1, "sessionId", "agent", "messages", "system_prompt"}.
--
-- Messages have Anthropic's blocks; what a tool gave may be any value, such as a list of {query, result, success}, and
-- is JSON text for models. The user's words are in <user_input mode="act">, which models do not get.

local core = require "ebb.support.core"
local fields = require "ebb.import.fields"
local neutral = require "ebb.import.neutral"
local parts = require "ebb.import.libraries.ai_sdk_parts"
local refuse = require "ebb.support.refuse"

local cline = { name = "cline", title = "Cline session", kind = "json" }

function cline.recognise(sample)
  local value = sample.value
  local messages = fields.list(value, "messages")
  return messages ~= nil and fields.integer(value, "version") ~= nil and fields.text(value, "sessionId") ~= nil
    and fields.text(value, "agent") ~= nil and (messages[1] == nil or fields.text(messages[1], "role") ~= nil)
end

---- Blocks ----

--- The words within the mark that the program puts around them.
local function bare(text)
  return text:match "^%s*<user_input[^>]*>(.*)</user_input>%s*$" or text
end

--- An image or a document of Anthropic's form, or one with its bytes next to the type.
local function read_media(block, report)
  local from = fields.object(block, "source") or block
  local mime = fields.text(from, "media_type") or fields.text(from, "mediaType") or fields.text(from, "mimeType")
  local value = from.data
  if value == nil then value = from.url end
  if value == nil then value = from.image end
  if value == nil then return report:add("file", "left out: it has no bytes") end
  return parts.file(value, mime or fields.text(block, "type"), fields.text(block, "title"), report)
end

local READ = {}

function READ.text(block, _, _, role)
  local text = fields.text(block, "text") or ""
  return { kind = "text", text = role == "user" and bare(text) or text }
end

function READ.thinking(block)
  return { kind = "thinking", text = fields.text(block, "thinking"), signature = fields.text(block, "signature") }
end

function READ.redacted_thinking(block) return { kind = "thinking", data = fields.text(block, "data") or "" } end

function READ.tool_use(block, raw)
  return parts.call(fields.text(block, "id"), fields.text(block, "name"),
    core.json.decode(raw, { raw = { input = true } }).input)
end

function READ.image(block, _, report) return read_media(block, report) end

READ.document, READ.file = READ.image, READ.image

--- True for a list of blocks that a provider knows: each has a type of those that are read.
local function are_blocks(list)
  for _, block in ipairs(list) do
    local kind = fields.text(block, "type")
    if kind ~= "text" and kind ~= "image" and kind ~= "document" then return false end
  end
  return list[1] ~= nil
end

function READ.tool_result(block, raw, report)
  local result = { kind = "result", id = fields.text(block, "tool_use_id") or "", is_error = block.is_error == true }
  local written = core.json.decode(raw, { raw = { content = true } }).content
  if fields.is_list(block.content) and are_blocks(block.content) then
    for _, each in ipairs(fields.elements(written[1])) do
      result[#result + 1] = READ[fields.text(each.value, "type")](each.value, each.raw, report)
    end
  else
    parts.add_value(result, block.content, written)
  end
  return result
end

---- Messages ----

local ROLES = { user = "user", assistant = "assistant", system = "system" }

local function add_message(out, element, number)
  local role = ROLES[fields.text(element.value, "role") or ""]
  if not role then return out.report:add("other entry", "without a role", number) end
  local message, content = { role = role, line = number }, element.value.content
  if type(content) == "string" then message[1] = READ.text({ text = content }, nil, nil, role) end
  local raw = fields.is_list(content) and core.json.decode(element.raw, { raw = { content = true } }).content[1]
  for _, block in ipairs(raw and fields.elements(raw) or {}) do
    local kind = fields.text(block.value, "type") or "without a type"
    if READ[kind] then message[#message + 1] = READ[kind](block.value, block.raw, out.report, role)
    else out.report:add("other block", kind:sub(1, 40), number) end
  end
  out:add(message)
end

local function model_of(messages)
  for i = #messages, 1, -1 do
    local model = fields.text(fields.object(messages[i], "modelInfo"), "id")
    if model then return model end
  end
end

function cline.read(source)
  local list = fields.list(source.value, "messages")
  if not list then refuse("shape", "1:1: expected a session with messages") end
  local model = model_of(list)
  local out = neutral.new(neutral.dialect(model), source.report)
  local raw = core.json.decode(source.text, { raw = { messages = true } }).messages[1]
  for i, element in ipairs(fields.elements(raw)) do
    if fields.is_object(element.value) then add_message(out, element, i)
    else source.report:add("other entry", "not an object", i) end
  end
  return { dialect = out.dialect, messages = out:finish(), model = model, report = source.report,
    system = fields.text(source.value, "system_prompt"), id = fields.text(source.value, "sessionId") }
end

return cline
