--- Speaks OpenAI's Responses: addresses of requests, texts and calls of answers.

local settings = require "ebb.request.settings"

local responses = {
  base = "https://api.openai.com/v1", base_names = { "OPENAI_BASE_URL" }, key_names = { "OPENAI_API_KEY" },
  cut = { max_output_tokens = true, content_filter = true }, role = "assistant",
}

function responses.path() return "/responses" end

responses.headers = require("ebb.provider.openai").headers
responses.stream_members = { stream = "true" }

local function integer(value) return math.type(value) == "integer" and value or nil end

--- Results of tools that the program performs, so no model can answer them.
local RESULTS = { function_call_output = true, custom_tool_call_output = true, computer_call_output = true,
  local_shell_call_output = true }

---@param text string
---@param body table
---@return ebb.ProviderAnswer?
---@return string? why
function responses.read(text, body)
  if type(body.output) ~= "table" then return nil, "it has no output" end
  local usage = type(body.usage) == "table" and body.usage or {}
  local details = type(usage.input_tokens_details) == "table" and usage.input_tokens_details or {}
  local roles = {}
  for _, item in ipairs(body.output) do
    local is_message = type(item) == "table" and (item.type == "message" or item.type == nil or item.role ~= nil)
    if is_message then roles[#roles + 1] = item.role or "" end
    if type(item) == "table" and RESULTS[item.type] then return nil, "it has a result, which is the user's" end
  end
  local incomplete = type(body.incomplete_details) == "table" and body.incomplete_details.reason
  return {
    messages = settings.members(text).output, stop = incomplete or body.status, roles = roles,
    usage = { input = integer(usage.input_tokens), output = integer(usage.output_tokens),
      cached = integer(details.cached_tokens) },
  }
end

local LAST = { ["response.completed"] = true, ["response.incomplete"] = true }

--- The last event has the whole response; the others are for those who watch.
---@return ebb.ProviderStream
function responses.stream()
  local body
  local stream = {}
  function stream.event(event)
    if LAST[event.type] and type(event.response) == "table" then body = event.response end
    return event.type == "response.output_text.delta" and event.delta or nil
  end
  function stream.body() return body end
  return stream
end

--- An error within a stream.
function responses.failure(event)
  if event.type ~= "response.failed" or type(event.response) ~= "table" then return nil end
  return event.response.error
end

return responses
