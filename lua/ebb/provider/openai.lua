--- Speaks Chat Completions, also of other servers: addresses of requests, texts and calls of answers.

local core = require "ebb.support.core"
local schema = require "ebb.support.schema"
local settings = require "ebb.request.settings"

local openai = {
  base = "https://api.openai.com/v1", base_names = { "OPENAI_BASE_URL" }, key_names = { "OPENAI_API_KEY" },
  cut = { length = true, content_filter = true }, role = "assistant",
}

openai.CALLS_MAX = 10000   -- of one answer

function openai.path() return "/chat/completions" end

function openai.headers(key) return key and { "Authorization: Bearer " .. key } or {} end

--- Members that a streamed request has besides `stream`.
openai.stream_members = { stream = "true", stream_options = '{"include_usage":true}' }

--- The number of a member, or nil.
local function number(table_or_nil, name)
  local value = type(table_or_nil) == "table" and table_or_nil[name]
  return math.type(value) == "integer" and value or nil
end

---@param text string          a response body, valid JSON
---@param body table           the same, decoded
---@return ebb.ProviderAnswer?
---@return string? why
function openai.read(text, body)
  local choice = type(body.choices) == "table" and body.choices[1]
  if type(choice) ~= "table" or type(choice.message) ~= "table" then return nil, "it has no choices[1].message" end
  local first = settings.elements(settings.members(text).choices)[1]
  local message, usage = settings.members(first).message, body.usage
  return {
    messages = "[" .. message .. "]", stop = choice.finish_reason, roles = { choice.message.role or "" },
    usage = { input = number(usage, "prompt_tokens"), output = number(usage, "completion_tokens"),
      cached = number(type(usage) == "table" and usage.prompt_tokens_details, "cached_tokens") },
  }
end

---- Streams ----

local function add_text(message, name, piece)
  if type(piece) == "string" and piece ~= "" then message[name] = (message[name] or "") .. piece end
end

--- The call that a piece is for: its index tells it from others, and the first one is any.
local function call_of(message, calls, index)
  if not calls[index] then
    calls[index] = { type = "function", ["function"] = { name = "", arguments = "" } }
    table.insert(message.tool_calls, calls[index])
  end
  return calls[index]
end

--- Adds pieces of calls; returns nil, or a complaint about one of them.
local function add_calls(message, calls, deltas)
  message.tool_calls = message.tool_calls or {}
  for i, delta in ipairs(deltas) do
    if type(delta) ~= "table" then return "a tool call is " .. schema.describe(delta) end
    local index = delta.index
    if index == nil or index == core.json.null then index = i - 1 end
    if math.type(index) ~= "integer" or index < 0 or index >= openai.CALLS_MAX then
      return "a tool call has the index " .. schema.describe(index)
    end
    local call = call_of(message, calls, index)
    local inner, piece = call["function"], type(delta["function"]) == "table" and delta["function"] or {}
    if type(delta.id) == "string" and delta.id ~= "" then call.id = delta.id end
    if type(piece.name) == "string" and piece.name ~= "" then inner.name = piece.name end
    if type(piece.arguments) == "string" then inner.arguments = inner.arguments .. piece.arguments end
    if delta.extra_content ~= nil then call.extra_content = delta.extra_content end   -- a signature of Gemini's
  end
end

--- Adds the signatures that belong to the message: in Gemini's own place and in OpenRouter's.
local function add_signatures(message, delta)
  if delta.extra_content ~= nil then message.extra_content = delta.extra_content end
  if type(delta.reasoning_details) ~= "table" then return end
  for _, detail in ipairs(delta.reasoning_details) do
    if type(detail) == "table" and detail.type == "reasoning.encrypted" then
      message.reasoning_details = message.reasoning_details or core.json.array {}
      table.insert(message.reasoning_details, detail)
    end
  end
end

---@class ebb.ProviderStream
---@field event fun(event: table): string?, string?   the text that an event adds, and what is wrong with it
---@field body fun(): table?                                 the whole body; nil: the stream is not over

---@return ebb.ProviderStream
function openai.stream()
  local message, calls, stop, usage, model = { role = "assistant", content = core.json.null }, {}, nil, nil, nil
  local stream = {}
  function stream.event(event)
    if type(event.usage) == "table" then usage = event.usage end
    model = model or event.model
    local choice = type(event.choices) == "table" and event.choices[1]
    if type(choice) ~= "table" then return nil end
    if type(choice.finish_reason) == "string" then stop = choice.finish_reason end
    local delta = type(choice.delta) == "table" and choice.delta or {}
    if type(delta.content) == "string" and message.content == core.json.null then message.content = "" end
    if type(delta.role) == "string" and delta.role ~= "" then message.role = delta.role end
    add_text(message, "content", delta.content)
    add_text(message, "reasoning_content", delta.reasoning_content)
    add_text(message, "reasoning", delta.reasoning)
    add_text(message, "refusal", delta.refusal)
    add_signatures(message, delta)
    local deltas = type(delta.tool_calls) == "table" and delta.tool_calls[1] and delta.tool_calls
    return delta.content, deltas and add_calls(message, calls, deltas) or nil
  end
  function stream.body()
    return stop and { model = model, usage = usage, choices = { { message = message, finish_reason = stop } } }
  end
  return stream
end

return openai
