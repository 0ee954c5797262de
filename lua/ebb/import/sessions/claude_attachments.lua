--- Reads what sessions of Claude Code keep besides the messages: attachments, system prompt and tools of requests.
--
-- Since version 2.1.332 a line of type `attachment` has in `rendered` the very texts that the model got, and in
-- `renderedRole` in whose name. Lines of older versions have what was attached, such as a file's text; it is written
-- in words of its own here.

local core = require "ebb.support.core"
local fields = require "ebb.import.fields"

local attachments = {}

---@class ebb.import.ClaudeAttached
---@field role "user"|"system"
---@field blocks string[]        JSON of each
---@field is_behind boolean      it follows the results of its message; else it comes before the user's words

local function text_block(text) return fields.json { type = "text", text = text } end

---- Rendered texts ----

--- The blocks of a rendered entry, whose content is raw JSON: a text, or a list of blocks.
local function add_rendered(blocks, entry)
  local content = fields.is_object(entry) and entry.content
  local raw = content and content[1] or ""
  if raw:sub(1, 1) == '"' then
    if raw ~= '""' then blocks[#blocks + 1] = ('{"type":"text","text":%s}'):format(raw) end
  elseif raw:sub(1, 1) == "[" then
    for _, element in ipairs(fields.elements(raw)) do blocks[#blocks + 1] = element.raw end
  end
end

---- What older versions attached ----

local function named(value)
  return fields.text(value, "displayPath") or fields.text(value, "filename") or fields.text(value, "path") or ""
end

local WORDS = {}

--- A file: its text, or an image or a document in base64.
function WORDS.file(value)
  local inner = fields.object(value, "content")
  local file, kind = fields.object(inner, "file"), fields.text(inner, "type")
  local text, data = fields.text(file, "content"), fields.text(file, "base64")
  if data then
    local form = kind == "image" and "image" or "document"
    local mime = fields.text(file, "type") or form == "image" and "image/png" or "application/pdf"
    return { fields.json { type = form, source = { type = "base64", media_type = mime, data = data } } }
  end
  text = text or fields.text(value, "content")
  return text and { text_block(("The file %s was attached:\n%s"):format(named(value), text)) }
end

function WORDS.directory(value)
  local text = fields.text(value, "content")
  return text and { text_block(("The folder %s was attached:\n%s"):format(named(value), text)) }
end

--- Words of the user that came while the model worked.
function WORDS.queued_command(value)
  local prompt = fields.text(value, "prompt")
  if prompt then return { text_block(prompt) } end
  local blocks = {}
  for i, block in ipairs(fields.list(value, "prompt") or {}) do blocks[i] = fields.json(block) end
  return blocks[1] and blocks
end

function WORDS.edited_text_file(value)
  local text = fields.text(value, "snippet")
  return text and { text_block(("The file %s was changed:\n%s"):format(named(value), text)) }
end

function WORDS.selected_lines_in_ide(value)
  local text = fields.text(value, "content")
  return text and { text_block(("Lines of %s were selected:\n%s"):format(named(value), text)) }
end

function WORDS.nested_memory(value)
  local text = fields.text(fields.object(value, "content"), "content") or fields.text(value, "content")
  return text and { text_block(("Contents of %s:\n%s"):format(named(value), text)) }
end

--- Counts an attachment that the model does not get here: one of the program's notes, or one whose text is lost.
local function count_lost(value, kind, report, line)
  local is_note = not fields.is_object(value) or next(value) == nil or next(value, (next(value))) == nil
  report:add(is_note and "other line" or "attachment", is_note and "attachment " .. kind or kind, line)
end

--- Reads the text that a line of type `attachment` gives to the model; nil for one that is counted.
---@param record table          whose contents and attachment are raw JSON
---@param report ebb.import.Report
---@param line integer
---@return ebb.import.ClaudeAttached?
function attachments.read(record, report, line)
  local value = record.attachment and core.json.decode(record.attachment[1])
  local kind = fields.text(value, "type") or "without a type"
  local blocks = {}
  for _, entry in ipairs(fields.list(record, "rendered") or {}) do add_rendered(blocks, entry) end
  if blocks[1] then
    local role = fields.text(record, "renderedRole") == "system" and "system" or "user"
    return { role = role, blocks = blocks, is_behind = false }
  end
  local words = WORDS[kind] and WORDS[kind](value)
  if not words then return count_lost(value, kind, report, line) end
  report:add("attachment in other words", kind, line)
  return { role = "user", blocks = words, is_behind = kind == "queued_command" or kind == "edited_text_file" }
end

---- Requests ----

--- Keeps the system prompt and the tools of a line of type `api-request-shape`: of the newest request with tools.
---@param state { shape?: table }
---@param raw string            the line
function attachments.keep_shape(state, raw)
  local shape = fields.object(core.json.decode(raw), "shape")
  local tools = fields.list(shape, "tools")
  if shape and (not state.shape or tools and tools[1]) then state.shape = shape end
end

--- The system prompt that was kept, a text or blocks of text, and the tools.
---@param state { shape?: table }
---@return string|table[]|nil system
---@return table[]? tools
function attachments.shape(state)
  local system, tools = fields.list(state.shape, "system"), fields.list(state.shape, "tools")
  if system and system[1] == nil then system = nil end
  if tools and tools[1] == nil then tools = nil end
  return system or fields.text(state.shape, "system"), tools
end

return attachments
