--- Sessions of Gemini CLI: JSONL that is appended to, an older JSON file of the same messages, and checkpoints.
--
--     {"sessionId":..}                     metadata
--     {"id":"m1","type":"user",..}         a message; the same id again replaces it, in its place
--     {"$rewindTo":"m1"}                   removes that message and all behind it
--     {"$set":{"messages":[..]}}           replaces the list
--
-- One record of the model has its calls and their results: a turn of the model, and one of the user.

local core = require "ebb.support.core"
local fields = require "ebb.import.fields"
local refuse = require "ebb.support.refuse"

local gemini_cli = { name = "gemini_cli", title = "Gemini CLI session", kind = "jsonl" }

local function is_checkpoint(value)
  local history = fields.list(value, "history")
  return history ~= nil and (history[1] == nil or fields.list(history[1], "parts") ~= nil)
end

local function is_session(value)
  local messages = fields.list(value, "messages")
  return messages ~= nil and fields.text(value, "sessionId") ~= nil
    and (messages[1] == nil or fields.text(messages[1], "type") ~= nil)
end

function gemini_cli.recognise(sample)
  if fields.is_object(sample.value) and (is_checkpoint(sample.value) or is_session(sample.value)) then return true end
  local first = sample.records and sample.records[1]
  if fields.text(first, "sessionId") and fields.text(first, "projectHash") and fields.text(first, "startTime") then
    return true
  end
  for _, record in ipairs(sample.records or {}) do
    if fields.object(record, "$set") or fields.text(record, "$rewindTo") then return true end
  end
  return false
end

---- The list of records ----

---@class ebb.import.GeminiRecord
---@field value table
---@field raw string
---@field line integer

local function put(list, places, value, raw, line)
  local id = fields.text(value, "id")
  local place = id and places[id] or #list + 1
  list[place] = { value = value, raw = raw, line = line }
  if id then places[id] = place end
end

--- Removes a message and all behind it; an id that does not exist removes all.
local function rewind(list, places, id, report, line)
  local first = places[id] or 1
  report:add("retracted message", places[id] and "a rewind" or "a rewind to a message that does not exist", line,
    #list - first + 1)
  for i = #list, first, -1 do
    local removed = fields.text(list[i].value, "id")
    list[i] = nil
    if removed then places[removed] = nil end
  end
end

--- The list that a `$set` puts in place of the one before.
local function set_messages(raw, line)
  local list, places = {}, {}
  local inner = core.json.decode(raw, { raw = { ["$set"] = true } })["$set"][1]
  local messages = core.json.decode(inner, { raw = { messages = true } }).messages[1]
  for _, element in ipairs(fields.elements(messages)) do
    if fields.is_object(element.value) then put(list, places, element.value, element.raw, line) end
  end
  return list, places
end

--- The records of JSONL, after all that replaces and removes them.
local function read_lines(source)
  local list, places, report = {}, {}, source.report
  for number, record, raw in source:records() do
    local change, target = fields.object(record, "$set"), fields.text(record, "$rewindTo")
    if target then
      rewind(list, places, target, report, number)
    elseif change and fields.list(change, "messages") then
      report:add("retracted message", "the list was replaced", number, #list)
      list, places = set_messages(raw, number)
    elseif change or not fields.text(record, "id") or not fields.text(record, "type") then
      report:add("other line", change and "$set" or "metadata", number)
    else
      put(list, places, record, raw, number)
    end
  end
  return list
end

--- The records of a file that is one value.
local function read_value(source)
  local list, places = {}, {}
  local messages = core.json.decode(source.text, { raw = { messages = true } }).messages[1]
  for i, element in ipairs(fields.elements(messages)) do
    if fields.is_object(element.value) then put(list, places, element.value, element.raw, i)
    else source.report:add("other entry", "not an object") end
  end
  return list
end

---- Contents ----

---@class ebb.import.GeminiOut
---@field messages string[]
---@field lines integer[]
---@field report ebb.import.Report

local function add(out, role, parts, line)
  if not parts[1] then return out.report:add("empty message", "without parts", line) end
  out.messages[#out.messages + 1] = ('{"role":"%s","parts":[%s]}'):format(role, table.concat(parts, ","))
  out.lines[#out.lines + 1] = line
end

--- The parts of a content, as JSON: a text, a part or a list of either.
local function parts_of(record)
  local content = core.json.decode(record.raw, { raw = { content = true } }).content
  local raw, value, parts = content and content[1], record.value.content, {}
  if type(value) == "string" then
    if value ~= "" then parts[1] = ('{"text":%s}'):format(raw) end
  elseif fields.is_object(value) and next(value) ~= nil then
    parts[1] = raw
  elseif fields.is_list(value) then
    for _, element in ipairs(fields.elements(raw)) do
      if type(element.value) == "string" then parts[#parts + 1] = ('{"text":%s}'):format(element.raw)
      elseif fields.is_object(element.value) and next(element.value) ~= nil then parts[#parts + 1] = element.raw end
    end
  end
  return parts
end

--- Adds a call to the model's parts, and its result to those of the user.
local function add_call(calls, results, element, report, line)
  local call = element.value
  local name, id = fields.text(call, "name"), fields.text(call, "id")
  if not name then return report:add("dropped call", "without a name", line) end
  local raw = core.json.decode(element.raw, { raw = { args = true, result = true } })
  local args = fields.object(call, "args") and raw.args or {}
  calls[#calls + 1] = fields.json { functionCall = { id = id, name = name, args = args } }
  local result = fields.list(call, "result")
  if result and result[1] then
    for _, part in ipairs(fields.elements(raw.result[1])) do results[#results + 1] = part.raw end
  else
    report:add("call without result", "it gets one that says so", line)
    local response = { error = ("no result (%s)"):format(fields.text(call, "status") or "no status") }
    results[#results + 1] = fields.json { functionResponse = { id = id, name = name, response = response } }
  end
end

local function add_model(out, record)
  local parts, results = parts_of(record), {}
  local calls = fields.list(record.value, "toolCalls")
  if calls then
    local raw = core.json.decode(record.raw, { raw = { toolCalls = true } }).toolCalls[1]
    for _, element in ipairs(fields.elements(raw)) do add_call(parts, results, element, out.report, record.line) end
  end
  if fields.list(record.value, "thoughts") then
    out.report:add("thought", "a summary for display", record.line, #record.value.thoughts)
  end
  add(out, "model", parts, record.line)
  if results[1] then add(out, "user", results, record.line) end
end

local function add_record(out, record)
  local kind = fields.text(record.value, "type")
  if kind == "user" then add(out, "user", parts_of(record), record.line)
  elseif kind == "gemini" then add_model(out, record)
  else out.report:add("other line", kind or "without a type", record.line) end
end

--- A checkpoint has contents as they are sent.
local function read_checkpoint(source)
  local history = core.json.decode(source.text, { raw = { history = true } }).history[1]
  local messages = {}
  for _, element in ipairs(fields.elements(history)) do
    if not fields.list(element.value, "parts") then
      refuse("shape", ("history[%d]: expected a content with parts"):format(#messages))
    end
    messages[#messages + 1] = element.raw
  end
  return { dialect = "gemini", messages = messages, report = source.report }
end

local function model_of(list)
  for i = #list, 1, -1 do
    local model = fields.text(list[i].value, "model")
    if model then return model end
  end
end

function gemini_cli.read(source)
  if is_checkpoint(source.value) then return read_checkpoint(source) end
  local list = is_session(source.value) and read_value(source) or read_lines(source)
  local out = { messages = {}, lines = {}, report = source.report }
  for _, record in ipairs(list) do add_record(out, record) end
  return {
    dialect = "gemini", messages = out.messages, lines = not is_session(source.value) and out.lines or nil,
    model = model_of(list), report = source.report,
  }
end

return gemini_cli
