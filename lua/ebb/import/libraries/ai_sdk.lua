--- Messages of the AI SDK, a list or JSONL of them: ModelMessage, which models get, and UIMessage, which chats keep.
--
--     {"role": "assistant", "content": [{"type": "tool-call", "toolCallId", "toolName", "input"}]}
--     {"role": "tool", "content": [{"type": "tool-result", "toolCallId", "toolName", "output"}]}
--     {"id", "role", "parts": [{"type": "tool-depth", "toolCallId", "state", "input", "output"}]}
--
-- A result of a tool that the provider ran is in the assistant's own message: it becomes a message after the call.

local core = require "ebb.support.core"
local fields = require "ebb.import.fields"
local neutral = require "ebb.import.neutral"
local parts = require "ebb.import.libraries.ai_sdk_parts"
local refuse = require "ebb.support.refuse"
local ui_messages = require "ebb.import.libraries.ui_messages"

local ai_sdk = { name = "ai_sdk", title = "AI SDK messages", kind = "jsonl" }

---- Recognition ----

local OWN_TYPES = {
  ["tool-call"] = true, ["tool-result"] = true, ["tool-approval-request"] = true, ["tool-approval-response"] = true,
  ["reasoning-file"] = true, ["redacted-reasoning"] = true,
}

--- True for a message with a part that only ModelMessage has.
local function is_model_message(message)
  for _, part in ipairs(fields.text(message, "role") and fields.list(message, "content") or {}) do
    local kind = fields.text(part, "type")
    if OWN_TYPES[kind or ""] then return true end
    local is_media = kind == "image" or kind == "file"
    if is_media and (fields.text(part, "mediaType") or fields.text(part, "image")) then return true end
  end
  return false
end

local function is_own(message) return is_model_message(message) or ui_messages.fits(message) end

--- The list of messages of a value: the value itself, or a member of a body, unless that is Roo's second form.
local function list_of(value)
  if fields.is_list(value) then return value end
  return fields.is_object(value) and value.version ~= 2 and fields.list(value, "messages") or nil
end

--- Messages of Mastra have the same parts, and a thread.
local function is_of_thread(message)
  return fields.text(message, "threadId") or fields.text(message, "thread_id") or fields.text(message, "resourceId")
end

function ai_sdk.recognise(sample)
  local first = (list_of(sample.value) or sample.value == nil and sample.records or {})[1]
  if first and is_of_thread(first) then return false end
  for _, message in ipairs(list_of(sample.value) or sample.value == nil and sample.records or {}) do
    if is_own(message) then return true end
  end
  return false
end

---- Approvals ----

--- The calls that a person denied: id -> why. Those that have a result in the list say so themselves.
local function denied_of(elements)
  local requests, results, denied = {}, {}, {}
  for _, element in ipairs(elements) do
    for _, part in ipairs(fields.list(element.value, "content") or {}) do
      local kind, id = fields.text(part, "type"), fields.text(part, "toolCallId")
      if kind == "tool-approval-request" then requests[fields.text(part, "approvalId") or ""] = id end
      if kind == "tool-result" and id then results[id] = true end
      local call = kind == "tool-approval-response" and requests[fields.text(part, "approvalId") or ""]
      if call and part.approved == false then denied[call] = fields.text(part, "reason") or parts.DENIED end
    end
  end
  for id in pairs(results) do denied[id] = nil end
  return denied, requests
end

--- The result of a call that the response to a request for approval denies; nil for others.
local function denial_of(state, part)
  local id = state.requests[fields.text(part, "approvalId") or ""]
  local why = id and state.denied[id]
  if not why then return nil end
  state.denied[id] = nil
  return { kind = "result", id = id, is_error = true, { kind = "text", text = why } }
end

---- Model messages ----

--- The neutral parts of a message.
local function read_parts(state, element)
  local content = element.value.content
  if type(content) == "string" then return { { kind = "text", text = content } } end
  local raw, list = core.json.decode(element.raw, { raw = { content = true } }).content, {}
  for _, part in ipairs(fields.is_list(content) and fields.elements(raw[1]) or {}) do
    local kind = fields.text(part.value, "type") or "without a type"
    local built
    if parts.knows(kind) then built = parts.read(part.value, part.raw, state.report)
    elseif kind == "tool-approval-response" then built = denial_of(state, part.value)
    elseif kind ~= "tool-approval-request" then state.report:add("other block", kind:sub(1, 40), element.line) end
    list[#list + 1] = built
  end
  return list
end

--- True if the calls among parts are all run by the provider.
local function are_all_provider(list)
  for _, part in ipairs(list) do
    if part.kind == "call" and not part.is_provider then return false end
  end
  return true
end

--- Adds a reply. Where the provider answers its own calls, what it says then is a message of its own.
local function add_reply(out, list, line)
  local reply, results = { role = "assistant", line = line }, { role = "user", line = line }
  local is_split = are_all_provider(list)
  local function finish()
    if reply[1] then out:add(reply) end
    if results[1] then out:add(results) end
    reply, results = { role = "assistant", line = line }, { role = "user", line = line }
  end
  for _, part in ipairs(list) do
    if part.kind == "result" then
      results[#results + 1] = part
    else
      if is_split and results[1] then finish() end
      reply[#reply + 1] = part
    end
  end
  finish()
end

local ROLES = { user = "user", assistant = "assistant", tool = "user", system = "system" }

local function add_model_message(state, element)
  local role = ROLES[fields.text(element.value, "role")]
  if not role then return state.report:add("other entry", "without a role", element.line) end
  local list = read_parts(state, element)
  if role == "assistant" then return add_reply(state.out, list, element.line) end
  local message = { role = role, line = element.line }
  table.move(list, 1, #list, 1, message)
  if list[1] then state.out:add(message) end
end

---- Reading ----

--- The messages of a file, each decoded and as its bytes.
local function elements_of(source)
  if source.value == nil then
    local list = {}
    for number, record, raw in source:records() do list[#list + 1] = { value = record, raw = raw, line = number } end
    return list
  end
  local raw = fields.is_list(source.value) and source.text
    or list_of(source.value) and core.json.decode(source.text, { raw = { messages = true } }).messages[1]
  if not raw then refuse("shape", "1:1: expected a list of messages") end
  local list = fields.elements(raw)
  for i, element in ipairs(list) do element.line = i end
  return list
end

--- True if a message has what Anthropic's models sign: in options of that name, or in details of reasoning.
local function is_signed(elements)
  local function has(element, word) return element.raw:find(word, 1, true) end
  for _, element in ipairs(elements) do
    local is_sealed = has(element, '"signature"') or has(element, '"redactedData"') or has(element, '"redacted"')
    if is_sealed and (has(element, '"anthropic"') or has(element, '"details"')) then return true end
  end
  return false
end

--- The messages of a list in the AI SDK's form, written in a provider's.
---@param elements { value: any, raw: string, line: integer }[]
---@param report ebb.import.Report
---@return ebb.import.Neutral
function ai_sdk.convert(elements, report)
  local state = { report = report, out = neutral.new(is_signed(elements) and "anthropic" or "openai", report) }
  state.denied, state.requests = denied_of(elements)
  local ui = ui_messages.new(state.out, report, elements)
  for _, element in ipairs(elements) do
    if not fields.is_object(element.value) then report:add("other entry", "not an object", element.line)
    elseif ui_messages.fits(element.value) then ui:add(element)
    else add_model_message(state, element) end
  end
  return state.out
end

local AROUND = { messages = true, system = true, instructions = true, model = true, id = true, trigger = true,
  messageId = true }

--- The system text and the model of a body around the messages; counts its other members.
local function around(value, report)
  if not fields.is_object(value) then return nil end
  local others = {}
  for name in pairs(value) do
    if not AROUND[name] then others[#others + 1] = name:sub(1, 40) end
  end
  table.sort(others)
  for _, name in ipairs(others) do report:add("other member", name) end
  return fields.text(value, "system") or fields.text(value, "instructions"), fields.text(value, "model")
end

function ai_sdk.read(source)
  local elements = elements_of(source)
  local out = ai_sdk.convert(elements, source.report)
  local messages, lines = out:finish()
  local system, model = around(source.value, source.report)
  return { dialect = out.dialect, messages = messages, lines = source.value == nil and lines or nil, system = system,
    model = model, report = source.report }
end

return ai_sdk
