--- Messages of programs that have a form of their own, written in Anthropic's form or as Chat Completions.
--
--     local out = neutral.new("anthropic", report)
--     out:add { role = "assistant", line = 3, { kind = "text", text = "hi" }, { kind = "call", id = "c", name = "f" } }
--     local messages, lines = out:finish()
--
-- Anthropic's form holds all of it, signatures of thinking among it, and is for Anthropic's models. In the other form
-- a result is a message, and images of results follow in a message of the user.

local core = require "ebb.support.core"
local fields = require "ebb.import.fields"

local neutral = {}

---@class ebb.import.Part
---@field kind "text"|"thinking"|"call"|"result"|"image"|"file"|"audio"
---@field text? string         of texts and thinking
---@field signature? string    of thinking
---@field data? string         of redacted thinking; in base64 of images and files
---@field id? string           of calls and results: the call's
---@field name? string         of calls; of files
---@field input? any           of calls: a value, or ebb.json.raw
---@field is_error? boolean    of results
---@field mime? string         of images, files and audio
---@field url? string          of images and files that are not in `data`; audio is always there

---@class ebb.import.NeutralMessage: { [integer]: ebb.import.Part }
---@field role "user"|"assistant"|"system"
---@field line integer

---@class ebb.import.Neutral
---@field dialect "anthropic"|"openai"
---@field messages string[]
---@field lines integer[]
---@field report ebb.import.Report
---@field waiting? { blocks: table[], line: integer }   results that more may follow
local Neutral = {}
Neutral.__index = Neutral

---@param dialect "anthropic"|"openai"
---@param report ebb.import.Report
---@return ebb.import.Neutral
function neutral.new(dialect, report)
  return setmetatable({ dialect = dialect, report = report, messages = {}, lines = {} }, Neutral)
end

--- The dialect that a model's messages are kept in.
---@param model? string
---@return "anthropic"|"openai"
function neutral.dialect(model)
  return model and model:lower():find("claude", 1, true) and "anthropic" or "openai"
end

--- The media type and data of a data URI in base64; nil for other URLs.
---@param url string
---@return string? mime
---@return string? data
function neutral.data_of(url)
  local mime, at = url:match "^data:([%w%.+-]+/[%w%.+-]+)[^,]-;base64,()"
  if mime then return mime, url:sub(at) end
end

--- The name that providers have for a format of audio: "wav" of "audio/x-wav", "mp3" of "audio/mpeg".
---@param mime? string
---@return string
function neutral.audio_format(mime)
  local name = (mime or ""):match "^audio/x?%-?([%w.+-]+)" or "wav"
  return name == "mpeg" and "mp3" or name == "wave" and "wav" or name
end

local function push(self, message, line)
  self.messages[#self.messages + 1], self.lines[#self.lines + 1] = fields.json(message), line
end

---- Anthropic's form ----

local function source_of(part)
  if part.data then return { type = "base64", media_type = part.mime, data = part.data } end
  return { type = "url", url = part.url }
end

local blocks_of

local ANTHROPIC = {
  text = function(part) return part.text ~= "" and { type = "text", text = part.text } or nil end,
  thinking = function(part)
    if part.data then return { type = "redacted_thinking", data = part.data } end
    return { type = "thinking", thinking = part.text or "", signature = part.signature or "" }
  end,
  call = function(part) return { type = "tool_use", id = part.id, name = part.name, input = part.input or {} } end,
  result = function(part)
    return { type = "tool_result", tool_use_id = part.id, content = blocks_of(part), is_error = part.is_error or nil }
  end,
  image = function(part) return { type = "image", source = source_of(part) } end,
  file = function(part) return { type = "document", source = source_of(part), title = part.name } end,
  audio = function() end,
}

function blocks_of(message)
  local list = core.json.array {}
  for _, part in ipairs(message) do list[#list + 1] = ANTHROPIC[part.kind](part) end
  return list
end

--- Counts the parts of a message that Anthropic's form cannot say.
local function report_audio(self, message)
  for _, part in ipairs(message) do
    if part.kind == "audio" then self.report:add("audio", "left out: no form for it here", message.line)
    elseif part.kind == "result" then report_audio(self, { line = message.line, table.unpack(part) }) end
  end
end

local function has_only_results(message)
  for _, part in ipairs(message) do
    if part.kind ~= "result" then return false end
  end
  return message[1] ~= nil
end

--- Writes the results that waited for more.
local function flush(self)
  local waiting = self.waiting
  self.waiting = nil
  if waiting then push(self, { role = "user", content = waiting.blocks }, waiting.line) end
end

--- Results of parallel calls are in one message.
local function add_anthropic(self, message)
  local blocks = blocks_of(message)
  report_audio(self, message)
  if has_only_results(message) then
    self.waiting = self.waiting or { blocks = core.json.array {}, line = message.line }
    return table.move(blocks, 1, #blocks, #self.waiting.blocks + 1, self.waiting.blocks)
  end
  flush(self)
  if not blocks[1] then return self.report:add("empty message", "without text or blocks", message.line) end
  push(self, { role = message.role, content = blocks }, message.line)
end

---- Chat Completions ----

local CHAT = {
  text = function(part) return part.text ~= "" and { type = "text", text = part.text } or nil end,
  image = function(part)
    local url = part.url or ("data:%s;base64,%s"):format(part.mime, part.data)
    return { type = "image_url", image_url = { url = url } }
  end,
  file = function(part)
    local url = part.url or ("data:%s;base64,%s"):format(part.mime, part.data)
    return { type = "file", file = { filename = part.name, file_data = url } }
  end,
  audio = function(part)
    return { type = "input_audio", input_audio = { data = part.data, format = neutral.audio_format(part.mime) } }
  end,
}

--- The text of a message that is nothing else, as most are; nil for others, and for an empty one.
local function lone_text(message)
  local part = message[1]
  if not part or message[2] or part.kind ~= "text" or part.text == "" then return nil end
  return part.text
end

--- Texts as one string; with other parts among them a list.
local function content_of(parts)
  local list, texts = core.json.array {}, {}
  for _, part in ipairs(parts) do
    list[#list + 1] = CHAT[part.kind](part)
    if part.kind == "text" then texts[#texts + 1] = part.text end
  end
  return #texts == #list and table.concat(texts, "\n") or list
end

--- The parts of the kinds that a set names.
local function select_parts(message, kinds)
  local list = {}
  for _, part in ipairs(message) do
    if kinds[part.kind] then list[#list + 1] = part end
  end
  return list
end

local WORDS = { text = true, image = true, file = true, audio = true }
local MEDIA = { image = true, file = true, audio = true }

local function calls_of(message)
  local calls = core.json.array {}
  for _, part in ipairs(select_parts(message, { call = true })) do
    calls[#calls + 1] = { id = part.id, type = "function",
      ["function"] = { name = part.name, arguments = fields.compact(part.input or {}) } }
  end
  return calls[1] and calls or nil
end

local function add_assistant(self, message)
  local thoughts = {}
  for _, part in ipairs(select_parts(message, { thinking = true })) do thoughts[#thoughts + 1] = part.text end
  local content, calls = content_of(select_parts(message, WORDS)), calls_of(message)
  if content == "" and calls then content = core.json.null end
  if content == "" and not thoughts[1] then
    return self.report:add("empty message", "without text or blocks", message.line)
  end
  push(self, { role = "assistant", content = content, tool_calls = calls,
    reasoning_content = thoughts[1] and table.concat(thoughts, "\n") or nil }, message.line)
end

local function add_results(self, message)
  local media = {}
  for _, part in ipairs(select_parts(message, { result = true })) do
    local inner = select_parts(part, MEDIA)
    table.move(inner, 1, #inner, #media + 1, media)
    push(self, { role = "tool", tool_call_id = part.id, content = content_of(select_parts(part, { text = true })) },
      message.line)
  end
  if media[1] then
    self.report:add("moved image", "a result cannot hold it; it follows in a message of the user", message.line, #media)
    push(self, { role = "user", content = content_of(media) }, message.line)
  end
end

local function add_chat(self, message)
  local text = lone_text(message)
  if text then return push(self, { role = message.role, content = text }, message.line) end
  if message.role == "assistant" then return add_assistant(self, message) end
  add_results(self, message)
  local words = select_parts(message, WORDS)
  local content = content_of(words)
  if content ~= "" then return push(self, { role = message.role, content = content }, message.line) end
  if not has_only_results(message) then
    self.report:add("empty message", "without text or blocks", message.line)
  end
end

--- Adds a message, in the form of the dialect.
---@param message ebb.import.NeutralMessage
function Neutral:add(message)
  if self.dialect == "anthropic" then add_anthropic(self, message) else add_chat(self, message) end
end

--- All messages, and the lines where they begin.
---@return string[] messages
---@return integer[] lines
function Neutral:finish()
  flush(self)
  return self.messages, self.lines
end

return neutral
