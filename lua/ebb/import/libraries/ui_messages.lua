--- UIMessage of the AI SDK, which a chat keeps on its own side, and what Mastra stores, as neutral messages.
--
--     {"role": "assistant", "parts": [{"type": "step-start"}, {"type": "text", "text"},
--       {"type": "tool-depth", "toolCallId", "state": "output-available", "input", "output"}]}
--
-- A part of a tool is a call and its result; `step-start` begins a message. Version 4, and Mastra, write
-- {"type": "tool-invocation", "toolInvocation": {state, toolCallId, toolName, args, result}} instead; then what the
-- model says after it is a message of its own.

local core = require "ebb.support.core"
local fields = require "ebb.import.fields"
local parts = require "ebb.import.libraries.ai_sdk_parts"

local ui_messages = {}

---@class ebb.import.UiMessages
---@field out ebb.import.Neutral
---@field report ebb.import.Report
---@field last_user integer      the place of the user's last message
local Ui = {}
Ui.__index = Ui

local ROLES = { user = true, assistant = true, system = true }

--- True for a message of this form. Older ones have a text as content, and tools and files next to it.
---@param message any
---@return boolean
function ui_messages.fits(message)
  if not ROLES[fields.text(message, "role") or ""] then return false end
  local list = fields.list(message, "parts")
  if list then return list[1] == nil or fields.text(list[1], "type") ~= nil end
  return fields.list(message, "toolInvocations") ~= nil or fields.list(message, "experimental_attachments") ~= nil
end

---- Parts that are elsewhere ----

--- Files that are next to the parts, as parts, in JSON; none where the parts have files.
local function attachments_of(message)
  local raws = {}
  for _, part in ipairs(fields.list(message, "parts") or {}) do
    if fields.text(part, "type") == "file" then return raws end
  end
  for _, each in ipairs(fields.list(message, "experimental_attachments") or {}) do
    local url, mime = fields.text(each, "url"), fields.text(each, "contentType")
    if url then
      raws[#raws + 1] = fields.json { type = "file", url = url, mediaType = mime, filename = fields.text(each, "name") }
    end
  end
  return raws
end

--- The calls of a message without parts, as parts, and then its text.
local function older_parts(message, raw)
  local raws = {}
  local calls = fields.list(message, "toolInvocations") and core.json.decode(raw, { raw = { toolInvocations = true } })
  for _, call in ipairs(calls and fields.elements(calls.toolInvocations[1]) or {}) do
    raws[#raws + 1] = ('{"type":"tool-invocation","toolInvocation":%s}'):format(call.raw)
  end
  local text = fields.text(message, "content") or ""
  if text ~= "" then raws[#raws + 1] = fields.json { type = "text", text = text } end
  return raws
end

--- All parts of a message, as a list in JSON.
---@param message table        or what Mastra has as its content
---@param raw string           its bytes
---@return string
function ui_messages.parts(message, raw)
  local inner = core.json.decode(raw, { raw = { parts = true } }).parts
  local list = inner and inner[1]:match "^%s*%[(.*)%]%s*$" or ""
  local raws = list:find "%S" and { list } or older_parts(message, raw)
  for _, file in ipairs(attachments_of(message)) do raws[#raws + 1] = file end
  return ("[%s]"):format(table.concat(raws, ","))
end

--- A reader of a list of messages, which writes into `out`.
---@param out ebb.import.Neutral
---@param report ebb.import.Report
---@param elements { value: any, line: integer }[]
---@return ebb.import.UiMessages
function ui_messages.new(out, report, elements)
  local last = 0
  for i, element in ipairs(elements) do
    if fields.text(element.value, "role") == "user" then last = i end
  end
  return setmetatable({ out = out, report = report, last_user = last, place = 0 }, Ui)
end

---- Tools ----

---@class ebb.import.UiTool
---@field call ebb.import.Part
---@field result? ebb.import.Part

--- The name of a part's tool; nil for parts of other kinds.
local function tool_name(part, kind)
  local invocation = kind == "tool-invocation" and fields.object(part, "toolInvocation")
  if invocation then return fields.text(invocation, "toolName") or "tool", invocation end
  if kind == "dynamic-tool" then return fields.text(part, "toolName") or "tool", part end
  local name = kind:match "^tool%-(.+)$"
  return name, name and part
end

local HALF = { ["input-streaming"] = true, ["partial-call"] = true }      -- the input is not all there

--- Returns why a call was not run, if a person or the program denied it.
local function denial_of(tool, state)
  local approval = fields.object(tool, "approval")
  local is_denied = state == "output-denied"
    or state == "approval-responded" and approval and approval.approved == false
  return is_denied and (fields.text(approval, "reason") or parts.DENIED) or nil
end

local function text_result(id, text)
  return { kind = "result", id = id, is_error = true, { kind = "text", text = text } }
end

--- The result of a part of a tool, by its state; nil while there is none.
local function result_of(tool, state, id, raw)
  local denial = denial_of(tool, state)
  if denial then return text_result(id, denial) end
  if state == "output-error" then return text_result(id, fields.text(tool, "errorText") or "") end
  if state ~= "output-available" and state ~= "result" then return nil end
  local result = { kind = "result", id = id, is_error = tool.isError == true }
  if tool.output ~= nil then parts.add_value(result, tool.output, raw.output)
  else parts.add_value(result, tool.result, raw.result) end
  return result
end

local RAW_VALUES = { raw = { input = true, args = true, rawInput = true, output = true, result = true } }

--- The call and the result that a part of a tool stands for; nil for one that is counted as left out.
---@return ebb.import.UiTool?
local function read_tool(self, name, tool, raw, line, is_provider)
  local state, id = fields.text(tool, "state") or "", fields.text(tool, "toolCallId") or ""
  if HALF[state] then return self.report:add("unfinished call", "left out: its input is not all there", line) end
  local inner = core.json.decode(raw, RAW_VALUES)
  inner = fields.object(inner, "toolInvocation") or inner
  local input = inner.input
  if input == nil then input = inner.args end
  if input == nil then input = inner.rawInput end
  local call = parts.call(id, name, input)
  call.is_provider = is_provider
  local result = result_of(tool, state, id, inner)
  if not result and self.place < self.last_user then
    self.report:add("call without result", "it gets one that says so", line)
    result = text_result(id, "[no result: the tool was interrupted]")
  elseif not result then
    self.report:add("open call", "it has no result", line)
  end
  return { call = call, result = result }
end

---- Messages ----

--- A message of the assistant and one of the results of its calls.
local function new_step(line)
  return { reply = { role = "assistant", line = line }, results = { role = "user", line = line } }
end

local function finish_step(self, step)
  if step.reply[1] then self.out:add(step.reply) end
  if step.results[1] then self.out:add(step.results) end
end

local READ = {}

function READ.text(part) return { kind = "text", text = fields.text(part, "text") or "" } end

READ.reasoning = parts.reasoning

function READ.file(part, _, report)
  local mime = fields.text(part, "mediaType") or fields.text(part, "mimeType")
  return parts.file(part.url ~= nil and part.url or part.data, mime, fields.text(part, "filename"), report)
end

--- A part of words or media; nil for others, which are counted.
local function read_part(self, element, kind, line)
  if READ[kind] then return READ[kind](element.value, element.raw, self.report) end
  if kind ~= "step-start" then self.report:add("other part", kind:sub(1, 40), line) end
end

--- Adds what was said while the assistant worked, as a message of the user.
local function add_steering(self, element, line)
  local message = { role = "user", line = line }
  local raw = core.json.decode(element.raw, { raw = { parts = true } }).parts
  for _, each in ipairs(raw and raw[1]:sub(1, 1) == "[" and fields.elements(raw[1]) or {}) do
    message[#message + 1] = read_part(self, each, fields.text(each.value, "type") or "without a type", line)
  end
  if message[1] then self.out:add(message) end
end

--- True if what is said after the calls of a step begins another one.
local function ends_step(step)
  return step.results[1] ~= nil and (step.is_old or step.is_provider)
end

--- True for a call of version 4 that says that it belongs to another step.
local function is_other_step(step, part)
  local number = fields.integer(fields.object(part, "toolInvocation"), "step")
  local is_other = step.number and number and step.number ~= number
  step.number = number or step.number
  return is_other or false
end

local function add_tool(self, step, element, kind, line)
  local name, tool = tool_name(element.value, kind)
  local pair = read_tool(self, name, tool, element.raw, line, element.value.providerExecuted == true)
  if not pair then return end
  step.is_old = step.is_old or kind == "tool-invocation"
  step.is_provider = step.is_provider ~= false and pair.call.is_provider
  table.insert(step.reply, pair.call)
  if pair.result then table.insert(step.results, pair.result) end
end

local function add_reply(self, elements, line)
  local step = new_step(line)
  for _, element in ipairs(elements) do
    local kind = fields.text(element.value, "type") or "without a type"
    local is_tool = tool_name(element.value, kind) ~= nil
    local is_next = is_tool and is_other_step(step, element.value) or not is_tool and READ[kind] and ends_step(step)
    if kind == "step-start" or kind == "steering-message" or is_next then
      finish_step(self, step)
      step = new_step(line)
    end
    if kind == "steering-message" then add_steering(self, element, line)
    elseif is_tool then add_tool(self, step, element, kind, line)
    else table.insert(step.reply, (read_part(self, element, kind, line))) end
  end
  finish_step(self, step)
end

--- Makes one text of a system message, whose texts are pieces of one prompt.
local function join_texts(message)
  local texts = {}
  for i, part in ipairs(message) do
    texts[i], message[i] = part.text or "", nil
  end
  message[1] = texts[1] and { kind = "text", text = table.concat(texts) } or nil
end

--- Adds a message; `raw` has its parts as a list of JSON.
---@param role string
---@param raw string
---@param line integer
function Ui:add_parts(role, raw, line)
  self.place = self.place + 1
  local elements = fields.elements(raw)
  if role == "assistant" then return add_reply(self, elements, line) end
  local message = { role = role, line = line }
  for _, element in ipairs(elements) do
    local kind = fields.text(element.value, "type") or "without a type"
    message[#message + 1] = read_part(self, element, kind, line)
  end
  if role == "system" then join_texts(message) end
  if message[1] then self.out:add(message) end
end

--- Adds an element of a list.
---@param element { value: table, raw: string, line: integer }
function Ui:add(element)
  self:add_parts(element.value.role, ui_messages.parts(element.value, element.raw), element.line)
end

return ui_messages
