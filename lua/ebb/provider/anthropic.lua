--- Anthropic's Messages: where requests go, what answers say.

local core = require "ebb.support.core"
local settings = require "ebb.request.settings"

local anthropic = {
  base = "https://api.anthropic.com", base_names = { "ANTHROPIC_BASE_URL" }, key_names = { "ANTHROPIC_API_KEY" },
  cut = { max_tokens = true, refusal = true, model_context_window_exceeded = true },
}

--- The address of a base URL with or without its version.
function anthropic.path(_, _, base) return base:find "/v1$" and "/messages" or "/v1/messages" end

function anthropic.headers(key)
  return { "anthropic-version: 2023-06-01", key and "x-api-key: " .. key or nil }
end

anthropic.stream_members = { stream = "true" }

local function sum(usage, ...)
  local total
  for _, name in ipairs { ... } do
    local value = usage[name]
    if math.type(value) == "integer" then total = (total or 0) + value end
  end
  return total
end

---@param text string
---@param body table
---@return ebb.ProviderAnswer?
---@return string? why
function anthropic.read(text, body)
  if type(body.content) ~= "table" then return nil, "it has no content" end
  local content = settings.members(text).content
  local usage = type(body.usage) == "table" and body.usage or {}
  return {
    messages = body.content[1] and '[{"role":"assistant","content":' .. content .. "}]" or "[]",
    stop = body.stop_reason,
    usage = { input = sum(usage, "input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"),
      output = sum(usage, "output_tokens"), cached = sum(usage, "cache_read_input_tokens") },
  }
end

---- Streams ----

--- The member of a block that a delta adds to.
local ADDS = { text_delta = "text", thinking_delta = "thinking", signature_delta = "signature" }

local function add_delta(block, delta)
  local name = ADDS[delta.type]
  if name and type(delta[name]) == "string" then block[name] = (block[name] or "") .. delta[name] end
  if delta.type == "input_json_delta" and type(delta.partial_json) == "string" then
    block.partial = (block.partial or "") .. delta.partial_json
  end
  if delta.type == "citations_delta" then
    block.citations = block.citations or {}
    block.citations[#block.citations + 1] = delta.citation
  end
  return delta.type == "text_delta" and delta.text or nil
end

--- The input of a call came in pieces of JSON; one that is cut stays a text, which no tool takes.
local function finish_block(block)
  if not block.partial then return end
  local input = core.json.decode(block.partial)
  block.input, block.partial = type(input) == "table" and core.json.raw(block.partial) or block.input or {}, nil
end

---@return ebb.ProviderStream
function anthropic.stream()
  local body, over = { content = {} }, false
  local stream = {}
  function stream.event(event)
    if event.type == "message_start" and type(event.message) == "table" then
      body = event.message
      body.content, body.usage = {}, type(body.usage) == "table" and body.usage or {}
    elseif event.type == "content_block_start" and type(event.content_block) == "table" then
      body.content[#body.content + 1] = event.content_block
    elseif event.type == "content_block_delta" and type(event.delta) == "table" and body.content[1] then
      return add_delta(body.content[#body.content], event.delta)
    elseif event.type == "content_block_stop" and body.content[1] then
      finish_block(body.content[#body.content])
    elseif event.type == "message_delta" then
      body.stop_reason = type(event.delta) == "table" and event.delta.stop_reason or body.stop_reason
      for name, value in pairs(type(event.usage) == "table" and event.usage or {}) do
        body.usage = body.usage or {}
        body.usage[name] = value
      end
    elseif event.type == "message_stop" then
      over = true
    end
  end
  function stream.body() return over and body or nil end
  return stream
end

return anthropic
