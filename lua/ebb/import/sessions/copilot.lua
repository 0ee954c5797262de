--- Sessions of GitHub Copilot's command: `events.jsonl`, an event in each line.
--
--     {"type": "user.message", "data": {"content", "transformedContent"}, "id", "timestamp", "parentId"}
--     {"type": "assistant.message", "data": {"content", "toolRequests": [{"toolCallId", "name", "arguments"}]}}
--     {"type": "tool.execution_complete", "data": {"toolCallId", "success", "result": {"content"}, "error"}}
--     {"type": "system.message", "data": {"role", "content"}}
--
-- The user's text is what the model got, `transformedContent`. Tools are not in the file. What a subagent said is
-- in events that name the call of the subagent, and is no part of the conversation.

local content = require "ebb.import.content"
local core = require "ebb.support.core"
local fields = require "ebb.import.fields"
local turns = require "ebb.import.turns"

local copilot = { name = "copilot", title = "Copilot session", kind = "jsonl" }

local MESSAGES = { ["user.message"] = true, ["assistant.message"] = true, ["session.start"] = true }

function copilot.recognise(sample)
  for _, record in ipairs(sample.records or {}) do
    if MESSAGES[fields.text(record, "type") or ""] and fields.object(record, "data") then return true end
  end
  return false
end

---@class ebb.import.CopilotState
---@field built ebb.ImportTurns
---@field system? string
---@field model? string

local READ = {}

READ["user.message"] = function(state, data)
  local text = fields.text(data, "transformedContent") or fields.text(data, "content") or ""
  local parts = { content.text(text) }
  for _, file in ipairs(fields.list(data, "attachments") or {}) do
    local bytes, mime = fields.text(file, "data"), fields.text(file, "mimeType") or "image/png"
    if bytes and mime:find "^image/" then
      parts[#parts + 1] = content.image(("data:%s;base64,%s"):format(mime, bytes))
    else
      state.built.report:add("attachment", (fields.text(file, "type") or "file") .. ": its text is not in the event")
    end
  end
  state.built:add { role = "user", content = content.join(parts) }
end

--- The requests of an event that are objects, with their arguments as JSON text.
---@return { toolCallId: any, name: any, arguments: any }[]
local function tool_requests(state, data, raw)
  local inner = core.json.decode(raw, { raw = { arguments = true } }).data.toolRequests
  local result = {}
  for i, request in ipairs(fields.list(data, "toolRequests") or {}) do
    if not fields.is_object(request) then
      state.built.report:add("other tool request", "not an object")
    else
      if type(request.arguments) ~= "string" then request.arguments = inner[i].arguments end
      result[#result + 1] = request
    end
  end
  return result
end

READ["assistant.message"] = function(state, data, raw)
  local text, requests = fields.text(data, "content") or "", tool_requests(state, data, raw)
  local reasoning = fields.text(data, "reasoningText")
  if reasoning and reasoning ~= "" then state.built:reason(reasoning) end
  if fields.text(data, "reasoningOpaque") or fields.text(data, "encryptedContent") then
    state.built.report:add("encrypted reasoning", "left out")
  end
  state.model = fields.text(data, "model") or state.model
  if text == "" and not requests[1] then return state.built.report:add("empty message", "without text or calls") end
  local message = state.built:add { role = "assistant", content = text ~= "" and text or core.json.null }
  for _, request in ipairs(requests) do
    local arguments = request.arguments
    state.built:call({ id = fields.text(request, "toolCallId"), name = fields.text(request, "name"),
      arguments = type(arguments) == "string" and content.arguments(arguments)
        or arguments and fields.compact(arguments) or "{}" }, message)
  end
end

READ["tool.execution_complete"] = function(state, data)
  local result, failure = fields.object(data, "result"), fields.object(data, "error")
  local text = fields.text(result, "content") or fields.text(data, "result")
  if not text and failure then text = fields.text(failure, "message") end
  for _, part in ipairs(fields.list(result, "contents") or {}) do
    local kind = fields.text(part, "type") or "without a type"
    if kind ~= "text" then state.built.report:add("other block", "of a result: " .. kind:sub(1, 40)) end
  end
  state.built:result { id = fields.text(data, "toolCallId"), content = text or "" }
end

READ["system.message"] = function(state, data) state.system = fields.text(data, "content") or state.system end

READ["session.start"] = function(state, data) state.model = fields.text(data, "selectedModel") or state.model end

---- Reading ----

---@class ebb.import.CopilotEvent
---@field kind string
---@field id? string
---@field data table
---@field raw string
---@field line integer

--- Removes the events from one on, as the program did when it went back.
local function rewind(events, places, data, report, line)
  local first = places[fields.text(data, "upToEventId") or ""]
  if not first then return report:add("missing event", "a rewind names it", line) end
  report:add("retracted event", "a rewind", line, #events - first + 1)
  for i = #events, first, -1 do events[i] = nil end
end

--- The events that hold, in order.
local function read_events(source)
  local events, places, report = {}, {}, source.report
  for number, record, raw in source:records() do
    local kind, data = fields.text(record, "type") or "without a type", fields.object(record, "data")
    if kind == "session.snapshot_rewind" then
      rewind(events, places, data, report, number)
    elseif not data or not READ[kind] then
      report:add("other line", kind, number)
    elseif fields.text(data, "parentToolCallId") or fields.text(record, "agentId") then
      report:add("sidechain line", "of a subagent", number)
    else
      events[#events + 1] = { kind = kind, data = data, raw = raw, line = number }
      local id = fields.text(record, "id")
      if id then places[id] = #events end
    end
    if kind == "session.compaction_complete" then
      report:add("compaction", "its summary is left out, and the messages before it are kept", number)
    end
  end
  return events
end

function copilot.read(source)
  local state = { built = turns.new(source.report) }
  for _, event in ipairs(read_events(source)) do READ[event.kind](state, event.data, event.raw) end
  return { dialect = "openai", messages = state.built:finish(), system = state.system, model = state.model,
    report = source.report }
end

return copilot
