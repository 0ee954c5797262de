--- Sessions of Gemini CLI: JSONL that is appended to, an older JSON file of the same messages, and checkpoints.
--
--     {"sessionId":..}                     metadata
--     {"id":"m1","type":"user",..}         a message; the same id again replaces it, in its place
--     {"$rewindTo":"m1"}                   removes that message and all after it
--     {"$set":{"messages":[..]}}           replaces the list
--
-- One record of the model has its calls and their results: a turn of the model, and one of the user. Newer versions
-- store a result as a message of the user, too, and a resumed session as contents with results twice. Each counts once.

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

--- Removes a message and all after it; an id that does not exist removes all.
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

--- The list that a `$set` puts in place of the one before. Two messages of it may have one id.
local function set_messages(raw, line)
  local list, places = {}, {}
  local inner = core.json.decode(raw, { raw = { ["$set"] = true } })["$set"][1]
  local messages = core.json.decode(inner, { raw = { messages = true } }).messages[1]
  for _, element in ipairs(fields.elements(messages)) do
    local id = fields.text(element.value, "id")
    if fields.is_object(element.value) then
      list[#list + 1] = { value = element.value, raw = element.raw, line = line }
      if id then places[id] = #list end
    end
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

---@class ebb.import.GeminiPart
---@field raw string            JSON
---@field value table

---@class ebb.import.GeminiOut
---@field list { role: string, parts: ebb.import.GeminiPart[], line: integer }[]
---@field report ebb.import.Report
---@field open table<string, integer>    calls without a result, by what names them

--- Reads the key of a call, or of its response: its id, or its name where it has none.
local function key_of(value)
  return fields.text(value, "id") or "\0" .. (fields.text(value, "name") or "")
end

--- Adds parts; to the content before, if that is of the same role.
local function add(out, role, parts, line)
  if not parts[1] then return out.report:add("empty message", "without parts", line) end
  local last = out.list[#out.list]
  if last and last.role == role then
    table.move(parts, 1, #parts, #last.parts + 1, last.parts)
  else
    out.list[#out.list + 1] = { role = role, parts = parts, line = line }
  end
end

local function text_part(raw)
  return { raw = ('{"text":%s}'):format(raw), value = { text = core.json.decode(raw) } }
end

--- The parts of a content: a text, a part or a list of either.
---@return ebb.import.GeminiPart[]
local function parts_of(record)
  local content = core.json.decode(record.raw, { raw = { content = true } }).content
  local raw, value, parts = content and content[1], record.value.content, {}
  if type(value) == "string" then
    if value ~= "" then parts[1] = text_part(raw) end
  elseif fields.is_object(value) and next(value) ~= nil then
    parts[1] = { raw = raw, value = value }
  elseif fields.is_list(value) then
    for _, element in ipairs(fields.elements(raw)) do
      if type(element.value) == "string" then parts[#parts + 1] = text_part(element.raw)
      elseif fields.is_object(element.value) and next(element.value) ~= nil then parts[#parts + 1] = element end
    end
  end
  return parts
end

---- The user's ----

--- True for a response to a call that has one already.
local function is_repeated(out, part)
  local response = fields.object(part.value, "functionResponse")
  local open = response and out.open[key_of(response)]
  if open and open > 0 then out.open[key_of(response)] = open - 1 end
  return open == 0
end

--- The bytes of the parts of the content that is being written, if it is the user's: each part is looked at once.
local function bytes_before(out)
  local last = out.list[#out.list]
  if not last or last.role ~= "user" then return {} end
  last.bytes, last.looked_at = last.bytes or {}, last.looked_at or 0
  for i = last.looked_at + 1, #last.parts do last.bytes[last.parts[i].raw] = true end
  last.looked_at = #last.parts
  return last.bytes
end

--- Adds a message of the user, without responses that were stored before, or the text next to them, again.
local function add_user(out, parts, line)
  local kept, repeated = {}, 0
  for _, part in ipairs(parts) do
    if is_repeated(out, part) then repeated = repeated + 1 else kept[#kept + 1] = part end
  end
  if repeated > 0 then
    out.report:add("repeated result", "it is stored twice", line, repeated)
    local before = bytes_before(out)
    parts, kept = kept, {}
    for _, part in ipairs(parts) do
      if not before[part.raw] then kept[#kept + 1] = part end
    end
    if not kept[1] then return end
  end
  add(out, "user", kept, line)
end

---- The model's ----

--- The responses that messages of the user give before the next message of the model: how many, by what names them.
local function responses_after(list, index)
  local counts = {}
  for i = index + 1, #list do
    if fields.text(list[i].value, "type") == "gemini" then break end
    local content = list[i].value.content
    for _, part in ipairs(fields.is_list(content) and content or { content }) do
      local response = fields.object(part, "functionResponse")
      if response then counts[key_of(response)] = (counts[key_of(response)] or 0) + 1 end
    end
  end
  return counts
end

local function open_call(out, call)
  out.open[key_of(call)] = (out.open[key_of(call)] or 0) + 1
end

--- The parts of a record's result; one that says so, if there is none.
local function result_of(call, raw, report, line)
  local result, parts = fields.list(call, "result"), {}
  if result and result[1] then
    for _, part in ipairs(fields.elements(raw.result[1])) do parts[#parts + 1] = part end
    return parts
  end
  report:add("call without result", "it gets one that says so", line)
  local response = { error = ("no result (%s)"):format(fields.text(call, "status") or "no status") }
  local value = { functionResponse = { id = fields.text(call, "id"), name = fields.text(call, "name"),
    response = response } }
  return { { raw = fields.json(value), value = value } }
end

--- Adds a call to the model's parts, unless they have it, and its result to those of the user, unless a message has it.
local function add_call(out, calls, results, element, stored, line)
  local call = element.value
  local name, key = fields.text(call, "name"), key_of(call)
  if not name then return out.report:add("dropped call", "without a name", line) end
  local raw = core.json.decode(element.raw, { raw = { args = true, result = true } })
  if not calls.ids[key] then
    local args = fields.object(call, "args") and raw.args or {}
    local value = { functionCall = { id = fields.text(call, "id"), name = name, args = args } }
    calls[#calls + 1] = { raw = fields.json(value), value = value }
    open_call(out, call)
  end
  if (stored[key] or 0) > 0 then
    stored[key] = stored[key] - 1
  else
    local parts = result_of(call, raw, out.report, line)
    table.move(parts, 1, #parts, #results + 1, results)
  end
end

--- The parts of the model that are sent: thoughts are not.
local function spoken_parts(out, record)
  local parts, thoughts = { ids = {} }, 0
  for _, part in ipairs(parts_of(record)) do
    local call = fields.object(part.value, "functionCall")
    if call then
      parts.ids[key_of(call)] = true
      open_call(out, call)
    end
    if part.value.thought == true then thoughts = thoughts + 1 else parts[#parts + 1] = part end
  end
  thoughts = thoughts + #(fields.list(record.value, "thoughts") or {})
  out.report:add("thought", "a summary for display", record.line, thoughts)
  return parts
end

local function add_model(out, list, index)
  local record = list[index]
  local parts, results = spoken_parts(out, record), {}
  local calls = fields.list(record.value, "toolCalls")
  if calls and calls[1] then
    local raw = core.json.decode(record.raw, { raw = { toolCalls = true } }).toolCalls[1]
    local stored = responses_after(list, index)
    for _, element in ipairs(fields.elements(raw)) do
      add_call(out, parts, results, element, stored, record.line)
    end
  end
  parts.ids = nil
  add(out, "model", parts, record.line)
  if results[1] then add_user(out, results, record.line) end
end

local function add_record(out, list, index)
  local record = list[index]
  local kind = fields.text(record.value, "type")
  if kind == "user" then add_user(out, parts_of(record), record.line)
  elseif kind == "gemini" then add_model(out, list, index)
  else out.report:add("other line", kind or "without a type", record.line) end
end

--- The contents as JSON, and the lines where they begin.
local function contents_of(out)
  local messages, lines = {}, {}
  for i, content in ipairs(out.list) do
    local raws = {}
    for n, part in ipairs(content.parts) do raws[n] = part.raw end
    messages[i] = ('{"role":"%s","parts":[%s]}'):format(content.role, table.concat(raws, ","))
    lines[i] = content.line
  end
  return messages, lines
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
  local out = { list = {}, report = source.report, open = {} }
  for i in ipairs(list) do add_record(out, list, i) end
  local messages, lines = contents_of(out)
  return {
    dialect = "gemini", messages = messages, lines = not is_session(source.value) and lines or nil,
    model = model_of(list), report = source.report,
  }
end

return gemini_cli
