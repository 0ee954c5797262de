--- Sessions of opencode, as `opencode export` writes them: messages with parts.
--
-- A part of a tool is a call and its result. A message of the assistant has several steps: what it says after a
-- result is a message of its own here. The context begins at the last summary; since version 1.18 the messages from
-- `tail_start_id` on, which the compaction kept, come after it. A revert hides a message and all messages that follow.

local core = require "ebb.support.core"
local fields = require "ebb.import.fields"
local neutral = require "ebb.import.neutral"
local refuse = require "ebb.support.refuse"

local opencode = { name = "opencode", title = "opencode export", kind = "json" }

function opencode.recognise(sample)
  local info = fields.object(sample.value, "info")
  local messages = fields.list(sample.value, "messages")
  local id = fields.text(info, "id")
  return id ~= nil and id:sub(1, 4) == "ses_" and messages ~= nil
    and (messages[1] == nil or fields.object(messages[1], "info") ~= nil)
end

---- Parts ----

--- The output of a tool's state as the parts of a result.
local function result_of(part, state)
  local status, time = fields.text(state, "status"), fields.object(state, "time")
  local result = { kind = "result", id = fields.text(part, "callID") or "", is_error = status ~= "completed" }
  if status == "completed" and fields.integer(time, "compacted") then
    result[1] = { kind = "text", text = "[output cleared]" }
  elseif status == "completed" then
    result[1] = { kind = "text", text = fields.text(state, "output") or "" }
    for _, file in ipairs(fields.list(state, "attachments") or {}) do
      local mime, data = neutral.data_of(fields.text(file, "url") or "")
      if mime and mime:find "^image/" then result[#result + 1] = { kind = "image", mime = mime, data = data } end
    end
  else
    result[1] = { kind = "text", text = fields.text(state, "error") or "[no result: the tool was interrupted]" }
  end
  return result, status
end

local PARTS = {}

function PARTS.text(part, _, report)
  if part.ignored == true then return report:add("hidden part", "ignored text") end
  if part.synthetic == true then report:add("synthetic text", "put in by the program") end
  return { kind = "text", text = fields.text(part, "text") or "" }
end

function PARTS.reasoning(part)
  local metadata = fields.object(fields.object(part, "metadata"), "anthropic")
  return { kind = "thinking", text = fields.text(part, "text"), signature = fields.text(metadata, "signature"),
    data = fields.text(metadata, "redactedData") }
end

function PARTS.file(part, _, report)
  local mime, url = fields.text(part, "mime") or "", fields.text(part, "url") or ""
  local _, data = neutral.data_of(url)
  local kind = mime:find "^image/" and "image" or mime == "application/pdf" and "file" or nil
  if not kind or url == "" then return report:add("other part", "file " .. mime) end
  return { kind = kind, mime = mime, data = data, url = not data and url or nil, name = fields.text(part, "filename") }
end

function PARTS.tool(part, raw)
  local state = fields.object(part, "state")
  local input
  if fields.object(state, "input") then
    local inner = core.json.decode(raw, { raw = { state = true } }).state[1]
    input = core.json.decode(inner, { raw = { input = true } }).input
  end
  return { kind = "call", id = fields.text(part, "callID") or "", name = fields.text(part, "tool") or "tool",
    input = input or {}, state = state }
end

function PARTS.compaction(_, _, report)
  report:add("synthetic text", "stands for a request to sum up")
  return { kind = "text", text = "Sum up what was done until now." }
end

--- A step of the assistant: a message of what it says and calls, and one of the results.
---@class ebb.import.OpencodeStep
---@field reply ebb.import.NeutralMessage
---@field results ebb.import.NeutralMessage

local function new_step(number)
  return { reply = { role = "assistant", line = number }, results = { role = "user", line = number } }
end

local function finish_step(state, step)
  if step.reply[1] then state.out:add(step.reply) end
  if step.results[1] then state.out:add(step.results) end
end

local function add_call(state, step, part, number)
  local result, status = result_of(part.value, part.built.state)
  if status ~= "completed" and status ~= "error" then
    state.report:add("call without result", "it gets one that says so", number)
  end
  part.built.state = nil
  table.insert(step.reply, part.built)
  table.insert(step.results, result)
end

--- The parts of a message, which are raw in it.
local function elements_of(message)
  local text = message.parts
  return text and text[1]:sub(1, 1) == "[" and fields.elements(text[1]) or {}
end

--- The parts of a message that the model gets.
local function parts_of(message, report, first_hidden)
  local list = {}
  for _, element in ipairs(elements_of(message)) do
    local kind = fields.text(element.value, "type") or "without a type"
    if first_hidden and fields.text(element.value, "id") == first_hidden then
      report:add("hidden part", "a revert")
      break
    end
    local built = PARTS[kind] and PARTS[kind](element.value, element.raw, report)
    if built then list[#list + 1] = { value = element.value, built = built, kind = kind }
    elseif kind == "step-start" then list[#list + 1] = { kind = kind }
    elseif not PARTS[kind] then report:add("other part", kind) end
  end
  return list
end

local function add_reply(state, parts, number)
  local step = new_step(number)
  for _, part in ipairs(parts) do
    if step.results[1] and part.kind ~= "tool" then
      finish_step(state, step)
      step = new_step(number)
    end
    if part.kind == "tool" then add_call(state, step, part, number)
    elseif part.built then table.insert(step.reply, part.built) end
  end
  finish_step(state, step)
end

---- Messages ----

--- True for a reply that ended in an error, unless the user stopped it.
local function has_failed(info)
  local name = fields.text(fields.object(info, "error"), "name")
  return fields.object(info, "error") ~= nil and name ~= "MessageAbortedError"
end

local function add_message(state, element, number, first_hidden)
  local info = fields.object(element.value, "info")
  local role = fields.text(info, "role")
  if role ~= "user" and role ~= "assistant" then
    return state.report:add("other entry", "without the role of user or assistant", number)
  elseif has_failed(info) then
    return state.report:add("failed reply", "the model does not get it", number)
  end
  local parts = parts_of(element.value, state.report, first_hidden)
  if role == "assistant" then return add_reply(state, parts, number) end
  local message = { role = "user", line = number }
  for _, part in ipairs(parts) do message[#message + 1] = part.built end
  state.out:add(message)
end

--- The part of a message that asks for a summary.
local function compaction_of(message)
  for _, part in ipairs(fields.is_object(message) and elements_of(message) or {}) do
    if fields.text(part.value, "type") == "compaction" then return part.value end
  end
end

local function id_of(element) return fields.text(fields.object(element.value, "info"), "id") end

--- The numbers of the first and last message before a request for a summary that the compaction kept.
local function tail_of(elements, request)
  local compaction = compaction_of(elements[request].value)
  local first = fields.text(compaction, "tail_start_id")
  for i = 1, first and request - 1 or 0 do
    if id_of(elements[i]) == first then return i, request - 1 end
  end
  return 1, 0
end

--- The number of the request for a summary: the nearest message before it, but for summaries that failed.
local function request_of(elements, summary)
  for i = summary - 1, 1, -1 do
    if compaction_of(elements[i].value) then return i end
    if not has_failed(fields.object(elements[i].value, "info")) then return nil end
  end
end

--- The messages in the context, in its order: the last summary with the request for it, what the compaction kept, and
--- what came then.
local function context_of(elements, report)
  local summary = 1
  for i, element in ipairs(elements) do
    local info = fields.object(element.value, "info")
    local is_summary = fields.text(info, "role") == "assistant" and info.summary == true
    if is_summary and not has_failed(info) then summary = i end
  end
  local request = request_of(elements, summary)
  local first, from, to = request or summary, 1, 0
  if request then from, to = tail_of(elements, request) end
  local list = table.move(elements, first, summary, 1, {})
  table.move(elements, from, to, #list + 1, list)
  table.move(elements, summary + 1, #elements, #list + 1, list)
  report:add("compacted message", "a summary replaced it", nil, #elements - #list)
  return list
end

local function model_of(elements)
  for i = #elements, 1, -1 do
    local info = fields.object(elements[i].value, "info")
    local model = fields.text(info, "modelID") or fields.text(fields.object(info, "model"), "modelID")
    if model then return model end
  end
end

--- The elements that a revert leaves, and the part from which on the last one is hidden.
local function before_revert(elements, session, report)
  local revert = fields.object(session, "revert")
  local message, part = fields.text(revert, "messageID"), fields.text(revert, "partID")
  for i, element in ipairs(elements) do
    if message and fields.text(fields.object(element.value, "info"), "id") == message then
      local last = part and i or i - 1
      report:add("retracted message", "a revert", nil, #elements - last)
      return table.move(elements, 1, last, 1, {}), part
    end
  end
  return elements, nil
end

local RAW_PARTS = { raw = { parts = true } }

function opencode.read(source)
  local report = source.report
  if not fields.list(source.value, "messages") then
    refuse("shape", "1:1: expected an export with info and messages")
  end
  local info = fields.object(source.value, "info")
  source.value = nil         -- the collector need not walk it: all messages are read again, with their bytes
  local raw = core.json.decode(source.text, { raw = { messages = true } }).messages[1]
  local elements, hidden = before_revert(fields.elements(raw, RAW_PARTS), info, report)
  local model = model_of(elements)
  local state = { report = report, out = neutral.new(neutral.dialect(model), report) }
  for i, element in ipairs(elements) do element.number = i end
  for _, element in ipairs(context_of(elements, report)) do
    add_message(state, element, element.number, element.number == #elements and hidden or nil)
  end
  local messages = state.out:finish()
  return { dialect = state.out.dialect, messages = messages, model = model, report = report }
end

return opencode
