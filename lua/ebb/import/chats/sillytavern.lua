--- SillyTavern's chats: JSONL with a header, then one message per line.
--
-- The model gets `mes`, not the swipe that `swipe_id` names. Lines with `is_system` are hidden, but for those
-- with `tool_invocations`, which are calls with their results. Messages have names where several speak in one role.

local content = require "ebb.import.content"
local fields = require "ebb.import.fields"
local turns = require "ebb.import.turns"

local sillytavern = { name = "sillytavern", title = "SillyTavern chat", kind = "jsonl" }

local function is_message(record)
  local mes = record.mes
  return (type(mes) == "string" or fields.is_object(mes)) and type(record.is_user) == "boolean"
end

local function is_header(record)
  if record.mes ~= nil then return false end
  return fields.text(record, "user_name") and fields.text(record, "character_name") and true
    or fields.object(record, "chat_metadata") ~= nil
end

function sillytavern.recognise(sample)
  for _, record in ipairs(sample.records or {}) do
    if is_message(record) then return true end
  end
  return sample.records ~= nil and is_header(sample.records[1])
end

--- The text of `mes` or a swipe; files of one site have {message = text}.
local function text_of(value)
  return type(value) == "string" and value or fields.text(value, "message") or ""
end

local function role_of(record, extra)
  if record.is_user == true then return "user" end
  return fields.text(extra, "type") == "narrator" and "system" or "assistant"
end

local function note_swipes(record, line, report)
  local swipes = fields.list(record, "swipes")
  if not swipes or #swipes == 0 then return end
  local id = fields.integer(record, "swipe_id") or 0
  if not swipes[id + 1] or text_of(swipes[id + 1]) ~= text_of(record.mes) then
    report:add("wrong swipe", "swipe_id does not name the message's text; the text stays", line)
  end
  if #swipes > 1 then report:add("swipe", "left out", line, #swipes - 1) end
end

--- The content with the images that the line has within itself; files next to it are reported.
local function content_of(record, extra, line, report)
  local parts = { content.text(text_of(record.mes)) }
  local image = fields.text(extra, "image")
  if image and image:find "^data:image/" then
    parts[2] = content.image(image)
  elseif image or fields.object(extra, "file") or fields.list(extra, "files") or fields.list(extra, "media") then
    report:add("attachment", "its file is not part of the chat", line)
  end
  return content.join(parts)
end

local function add_invocations(list, built, line)
  local calls = {}
  for i, invocation in ipairs(list) do
    calls[i] = built:call {
      id = fields.text(invocation, "id"), name = fields.text(invocation, "name"), line = line,
      arguments = content.arguments(fields.is_object(invocation) and invocation.parameters),
    }
  end
  for i, invocation in ipairs(list) do
    local result = fields.is_object(invocation) and invocation.result
    built:result { id = calls[i].id, content = type(result) == "string" and result or fields.json(result), line = line }
  end
end

--- Sets the names of messages whose role has several speakers.
local function set_names(speakers)
  local count = {}
  for _, each in ipairs(speakers) do
    local names = count[each.message.role] or { n = 0 }
    count[each.message.role] = names
    if each.name ~= "" and not names[":" .. each.name] then names[":" .. each.name], names.n = true, names.n + 1 end
  end
  for _, each in ipairs(speakers) do
    if each.name ~= "" and count[each.message.role].n > 1 then each.message.name = each.name end
  end
end

local function read_header(record, line, report)
  local metadata = fields.object(record, "chat_metadata")
  if (fields.text(metadata, "note_prompt") or "") ~= "" then
    report:add("author's note", "it is in the header; left out", line)
  end
end

local function add_message(record, line, built, speakers)
  local extra, report = fields.object(record, "extra"), built.report
  local invocations = fields.list(extra, "tool_invocations")
  if invocations and #invocations > 0 then return add_invocations(invocations, built, line) end
  if record.is_system == true then return report:add("hidden message", "not in the prompt", line) end
  note_swipes(record, line, report)
  local role = role_of(record, extra)
  local reasoning = fields.text(extra, "reasoning")
  if role == "assistant" and reasoning and reasoning ~= "" then built:reason(reasoning) end
  local message = { role = role, content = content_of(record, extra, line, report) }
  speakers[#speakers + 1] = { message = message, name = fields.text(record, "name") or "" }
  built:add(message)
end

function sillytavern.read(source)
  local built, speakers = turns.new(source.report), {}
  for line, record in source:records() do
    if is_message(record) then add_message(record, line, built, speakers)
    elseif is_header(record) then read_header(record, line, source.report)
    else source.report:add("other line", "not a message", line) end
  end
  set_names(speakers)
  return { dialect = "openai", messages = built:finish(), report = source.report, branches = 1 }
end

return sillytavern
