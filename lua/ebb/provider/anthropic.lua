--- Speaks Anthropic's Messages: addresses of requests, texts and calls of answers.

local core = require "ebb.support.core"
local schema = require "ebb.support.schema"
local settings = require "ebb.request.settings"

local anthropic = {
  base = "https://api.anthropic.com", base_names = { "ANTHROPIC_BASE_URL" }, key_names = { "ANTHROPIC_API_KEY" },
  cut = { max_tokens = true, refusal = true, model_context_window_exceeded = true }, role = "assistant",
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
  for _, block in ipairs(body.content) do
    local is_result = type(block) == "table" and block.type == "tool_result"
    if is_result then return nil, "it has a result, which is the user's" end
  end
  local content = settings.members(text).content
  local usage = type(body.usage) == "table" and body.usage or {}
  return {
    messages = body.content[1] and '[{"role":"assistant","content":' .. content .. "}]" or "[]",
    stop = body.stop_reason, roles = { body.role },
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

--- The block that an event is for: its index tells it from others; nil and why there is none. Without an index it is
--- the newest.
local function block_of(blocks, event, newest)
  local index = event.index
  if index == nil or index == core.json.null then return newest end
  if blocks[index] then return blocks[index] end
  return nil, ("a piece has the index %s, with which no block began"):format(schema.describe(index))
end

--- The input of a call came in pieces of JSON; one that is cut stays a text, which no tool takes.
local function finish_block(block)
  if not block.partial then return end
  local input = core.json.decode(block.partial)
  block.input, block.partial = type(input) == "table" and core.json.raw(block.partial) or block.input or {}, nil
end

---@return ebb.ProviderStream
function anthropic.stream()
  local body, blocks, over = { content = {} }, {}, false
  local stream = {}
  function stream.event(event)
    if event.type == "message_start" and type(event.message) == "table" then
      body = event.message
      body.content, body.usage = {}, type(body.usage) == "table" and body.usage or {}
    elseif event.type == "content_block_start" and type(event.content_block) == "table" then
      body.content[#body.content + 1] = event.content_block
      blocks[event.index or #body.content - 1] = event.content_block
    elseif event.type == "content_block_delta" and type(event.delta) == "table" then
      local block, wrong = block_of(blocks, event, body.content[#body.content])
      if block then return add_delta(block, event.delta) end
      return nil, wrong
    elseif event.type == "content_block_stop" then
      local block, wrong = block_of(blocks, event, body.content[#body.content])
      if not block then return nil, wrong end
      finish_block(block)
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
