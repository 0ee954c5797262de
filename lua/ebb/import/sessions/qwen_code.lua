--- Sessions of Qwen Code: JSONL whose lines name their parents, with contents in Gemini's form.
--
--     {"uuid", "parentUuid", "sessionId", "type": "user", "message": {"role": "user", "parts": [{"text"}]}}
--     {"uuid", "parentUuid", "sessionId", "type": "assistant", "model", "message": {"role": "model", "parts": [..]}}
--     {"uuid", "parentUuid", "sessionId", "type": "tool_result", "message": {"role": "user", "parts": [..]}}
--
-- The last line is the leaf. A line of type `system` with `compressedHistory` replaces what comes before it. The file
-- has neither the system prompt nor the tools, nor the two messages that the program puts before the first one.

local core = require "ebb.support.core"
local fields = require "ebb.import.fields"
local neutral = require "ebb.import.neutral"
local parts = require "ebb.import.libraries.ai_sdk_parts"
local tree = require "ebb.import.tree"

local qwen_code = { name = "qwen_code", title = "Qwen Code session", kind = "jsonl" }

--- The parts of a record's message; nil for records without.
local function parts_of(record)
  return fields.list(fields.object(record, "message"), "parts")
end

function qwen_code.recognise(sample)
  for _, record in ipairs(sample.records or {}) do
    if fields.text(record, "uuid") and fields.text(record, "sessionId") and parts_of(record) then return true end
  end
  return false
end

---- Lines ----

---@class ebb.import.QwenLine: ebb.import.Node
---@field record table
---@field raw string

--- The lines with uuids, in order: the last line of each uuid, at the place of its first line.
local function read_lines(source)
  local list, by_id = {}, {}
  for number, record, raw in source:records() do
    local id = fields.text(record, "uuid")
    if id then
      local line = by_id[id] or { order = #list + 1 }
      line.id, line.record, line.raw, line.line = id, record, raw, number
      line.parent = fields.text(record, "parentUuid")
      list[line.order], by_id[id] = line, line
    else
      source.report:add("other line", fields.text(record, "type") or "without a type", number)
    end
  end
  return list, by_id
end

---- Contents ----

local PARTS = {}

function PARTS.text(part)
  local text = fields.text(part, "text") or ""
  if part.thought == true then return { kind = "thinking", text = text } end
  return { kind = "text", text = text }
end

function PARTS.functionCall(part, raw)
  local args = core.json.decode(raw, { raw = { args = true } }).functionCall.args
  return parts.call(fields.text(part.functionCall, "id"), fields.text(part.functionCall, "name"), args)
end

--- A result: the text that the tool gave, or all of its response as JSON.
function PARTS.functionResponse(part, raw, report)
  local response = part.functionResponse
  local value = fields.object(response, "response")
  local failure = fields.text(value, "error")
  local result = { kind = "result", id = fields.text(response, "id") or "", is_error = failure ~= nil }
  local text = fields.text(value, "output") or failure
  local bytes = core.json.decode(raw, { raw = { response = true } }).functionResponse.response
  parts.add_value(result, text or response.response, bytes)
  for _, each in ipairs(fields.list(response, "parts") or {}) do
    result[#result + 1] = fields.object(each, "inlineData") and PARTS.inlineData(each, nil, report) or nil
  end
  return result
end

function PARTS.inlineData(part, _, report)
  return parts.file(part.inlineData.data, fields.text(part.inlineData, "mimeType"), nil, report)
end

function PARTS.fileData(part, _, report)
  return parts.file(part.fileData.fileUri, fields.text(part.fileData, "mimeType"), nil, report)
end

local KINDS = { "functionCall", "functionResponse", "inlineData", "fileData" }

local function kind_of(part)
  for _, kind in ipairs(KINDS) do
    if fields.object(part, kind) then return kind end
  end
  return fields.text(part, "text") and "text" or nil
end

--- A content of the API as a neutral message; nil without parts.
local function read_content(role, raw, line, report)
  local message = { role = role, line = line }
  for _, element in ipairs(fields.elements(raw)) do
    local kind = kind_of(element.value)
    if kind then message[#message + 1] = PARTS[kind](element.value, element.raw, report)
    else report:add("other part", "of a kind that is not known", line) end
  end
  return message[1] and message or nil
end

local ROLES = { user = "user", tool_result = "user", assistant = "assistant", model = "assistant" }

--- The messages by which a compression replaced the ones before.
local function compressed(line, report)
  local raw = core.json.decode(line.raw, { raw = { compressedHistory = true } }).systemPayload.compressedHistory
  local messages = {}
  for _, element in ipairs(fields.elements(raw[1])) do
    local role = ROLES[fields.text(element.value, "role") or ""]
    if role and fields.list(element.value, "parts") then
      local inner = core.json.decode(element.raw, { raw = { parts = true } }).parts[1]
      messages[#messages + 1] = read_content(role, inner, line.line, report)
    end
  end
  return messages
end

--- Adds a line of the path to the messages; the messages from then on.
local function add_line(messages, line, report)
  local record = line.record
  local kind = fields.text(record, "type") or "without a type"
  if fields.list(fields.object(record, "systemPayload"), "compressedHistory") then
    report:add("compacted message", "a compression replaced it", line.line, #messages)
    return compressed(line, report)
  elseif not ROLES[kind] or not parts_of(record) then
    report:add("other line", fields.text(record, "subtype") or kind, line.line)
    return messages
  end
  local raw = core.json.decode(line.raw, { raw = { parts = true } }).message.parts[1]
  local message = read_content(ROLES[kind], raw, line.line, report)
  if message then messages[#messages + 1] = message
  else report:add("empty message", "without parts", line.line) end
  return messages
end

local function model_of(path)
  for i = #path, 1, -1 do
    local model = fields.text(path[i].record, "model")
    if model then return model end
  end
end

function qwen_code.read(source, options)
  local list, by_id = read_lines(source)
  local report = source.report
  tree.mend(list, by_id, function() return "main" end, report)
  local branches = tree.leaves(list)
  local leaf = options.branch and tree.choose(branches, options.branch).leaf or list[#list]
  local path, contents = leaf and tree.path(by_id, leaf) or {}, {}
  for _, line in ipairs(path) do contents = add_line(contents, line, report) end
  report:add("inactive line", "another branch", nil, #list - #path)
  local model = model_of(path)
  local out = neutral.new(neutral.dialect(model), report)
  for _, message in ipairs(contents) do out:add(message) end
  local messages, lines = out:finish()
  return { dialect = out.dialect, messages = messages, lines = lines, model = model, report = report,
    branches = math.max(1, #branches) }
end

return qwen_code
