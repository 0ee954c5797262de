--- Items of the OpenAI Agents SDK for JavaScript, of a session or a result's history, as items of Responses.
--
--     {"type": "function_call", "callId", "name", "arguments"}
--     {"type": "function_call_result", "callId", "name", "output": {"type": "text", "text"}}
--     {"type": "reasoning", "content": [{"type": "input_text", "text"}]}
--
-- `providerData` has what the provider said besides: of tools that it ran, the item itself.

local core = require "ebb.support.core"
local fields = require "ebb.import.fields"
local refuse = require "ebb.support.refuse"

local openai_agents = { name = "openai_agents", title = "OpenAI Agents SDK items", kind = "json" }

---- Recognition ----

local OWN_TYPES = {
  function_call_result = true, hosted_tool_call = true, computer_call_result = true,
}

local function has_own_image(item)
  for _, part in ipairs(fields.list(item, "content") or {}) do
    if fields.text(part, "type") == "input_image" and part.image ~= nil then return true end
  end
  return false
end

local function is_own(item)
  local kind = fields.text(item, "type")
  if OWN_TYPES[kind or ""] or kind and fields.text(item, "callId") then return true end
  if kind == "reasoning" then
    local first = (fields.list(item, "content") or {})[1]
    return fields.list(item, "summary") == nil and fields.text(first, "type") == "input_text"
  end
  return fields.text(item, "role") ~= nil and (fields.object(item, "providerData") ~= nil or has_own_image(item))
end

--- The list of items: the value, or a member of a result or of a session. What names a model is a request.
local function list_of(value)
  if fields.is_list(value) then return value end
  if not fields.is_object(value) or value.model ~= nil then return nil end
  return fields.list(value, "history") or fields.list(value, "items") or fields.list(value, "input")
end

function openai_agents.recognise(sample)
  for _, item in ipairs(list_of(sample.value) or {}) do
    if is_own(item) then return true end
  end
  return false
end

---- Parts ----

--- A value that is a text, or an object with a member that tells where it is: text, URL, id.
local function place_of(value)
  if type(value) == "string" then return value end
  local data = fields.text(value, "data")
  local mime = fields.text(value, "mediaType") or "image/png"
  local id = fields.text(value, "id") or fields.text(value, "fileId")
  if data and not data:find "^data:" then data = ("data:%s;base64,%s"):format(mime, data) end
  return data or fields.text(value, "url"), id
end

local function read_image(part)
  local url, id = place_of(part.image)
  if not url and not id then return nil end
  return { type = "input_image", image_url = url, file_id = not url and id or nil,
    detail = fields.text(part, "detail") }
end

local function read_file(part)
  local value = part.file
  local url, id = place_of(value)
  if not url and not id then return nil end
  local is_link = url and url:find "^https?:"
  local name = fields.text(part, "filename") or fields.text(value, "filename")
  return { type = "input_file", file_url = is_link and url or nil, file_data = not is_link and url or nil,
    filename = name, file_id = not url and id or nil }
end

--- Audio that a message has: its bytes, or what was said in it.
local function read_audio(part)
  local data, transcript = fields.text(part, "audio"), fields.text(part, "transcript")
  if data then
    return { type = "input_audio", input_audio = { data = data, format = fields.text(part, "format") or "wav" } }
  end
  return transcript and { type = "input_text", text = transcript }
end

local function as_text(kind)
  return function(part) return { type = kind, text = fields.text(part, "text") or "" } end
end

local PARTS = {
  input_text = as_text "input_text", text = as_text "input_text", output_text = as_text "output_text",
  refusal = function(part) return { type = "refusal", refusal = fields.text(part, "refusal") or "" } end,
  input_image = read_image, image = read_image, input_file = read_file, file = read_file, audio = read_audio,
}

--- The parts of a list, as those of Responses.
local function parts_of(list, report)
  local parts = core.json.array {}
  for _, part in ipairs(list) do
    local kind = fields.text(part, "type") or "without a type"
    local built = PARTS[kind] and PARTS[kind](part)
    if built then parts[#parts + 1] = built
    else report:add("other part", kind:sub(1, 40)) end
  end
  return parts
end

---- Items ----

--- An object with its names as Responses writes them: callId is call_id.
local function snake(value)
  if type(value) ~= "table" then return value end
  local copy = fields.is_list(value) and core.json.array {} or {}
  for name, each in pairs(value) do
    if type(name) == "string" then name = name:gsub("%u", function(letter) return "_" .. letter:lower() end) end
    copy[name] = snake(each)
  end
  return copy
end

--- An item by its own names, without what only the SDK knows.
local function renamed(kind)
  return function(item)
    local copy, data = snake(item), fields.object(item, "providerData")
    copy.provider_data, copy.caller, copy.type = nil, nil, kind or item.type
    for name, each in pairs(data or {}) do
      if copy[name] == nil then copy[name] = each end
    end
    return copy
  end
end

local READ = {}

function READ.message(item, report)
  local content = item.content
  if fields.is_list(content) then content = parts_of(content, report) end
  if type(content) ~= "string" and not fields.is_list(content) then content = "" end
  return { type = "message", role = item.role, content = content, id = fields.text(item, "id"),
    status = fields.text(item, "status") }
end

function READ.reasoning(item)
  local data, summary = fields.object(item, "providerData"), core.json.array {}
  for _, part in ipairs(fields.list(item, "content") or {}) do
    local text = fields.text(part, "text")
    if text then summary[#summary + 1] = { type = "summary_text", text = text } end
  end
  local raw = fields.list(item, "rawContent")
  return { type = "reasoning", id = fields.text(item, "id"), summary = summary, content = raw,
    encrypted_content = fields.text(data, "encrypted_content") or fields.text(data, "encryptedContent") }
end

function READ.function_call(item)
  return { type = "function_call", id = fields.text(item, "id"), call_id = fields.text(item, "callId"),
    name = fields.text(item, "name"), arguments = fields.text(item, "arguments") or "{}",
    namespace = fields.text(item, "namespace"), status = fields.text(item, "status") }
end

function READ.function_call_result(item, report)
  local output = item.output
  local text = fields.text(output, "text")
  if fields.is_list(output) then output = parts_of(output, report)
  elseif fields.text(output, "type") == "text" and text then output = text
  elseif fields.text(output, "type") then output = parts_of({ output }, report)
  elseif type(output) ~= "string" then output = output ~= nil and fields.json(output) or "" end
  return { type = "function_call_output", id = fields.text(item, "id"), call_id = fields.text(item, "callId"),
    output = output, status = fields.text(item, "status") }
end

--- The item that the provider gave, of a tool that it ran itself or of an unknown kind.
local function provided(item, report)
  local data = fields.object(item, "providerData")
  if not fields.text(data, "type") then
    return report:add("other item", fields.text(item, "type") .. ": what the provider said of it is missing")
  end
  local copy = { id = fields.text(item, "id") }
  for name, each in pairs(data) do copy[name] = each end
  return copy
end

READ.hosted_tool_call, READ.unknown = provided, provided
READ.computer_call, READ.computer_call_result = renamed(), function(item)
  local copy, output = renamed "computer_call_output"(item), fields.object(item, "output")
  copy.output = { type = "computer_screenshot", image_url = fields.text(output, "data") }
  return copy
end
READ.shell_call, READ.shell_call_output = renamed(), renamed()
READ.apply_patch_call, READ.apply_patch_call_output = renamed(), renamed()
READ.tool_search_call, READ.tool_search_output = renamed(), renamed()

--- An item in the names of Responses.
local function read_item(item, report)
  local kind = fields.text(item, "type") or fields.text(item, "role") and "message" or "without a type"
  if READ[kind] then return READ[kind](item, report) end
  if fields.text(item, "callId") then return renamed()(item) end
  return item
end

function openai_agents.read(source)
  local list, messages, report = list_of(source.value), {}, source.report
  if not list then refuse("shape", "1:1: expected a list of items") end
  for i, item in ipairs(list) do
    local built
    if fields.is_object(item) then built = read_item(item, report)
    else report:add("other entry", "not an object", i) end
    messages[#messages + 1] = built
  end
  return { dialect = "responses", messages = messages, report = report,
    system = fields.is_object(source.value) and fields.text(source.value, "instructions") or nil }
end

return openai_agents
