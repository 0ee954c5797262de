--- Results of calls, as messages in the form of a dialect.

local core = require "ebb.support.core"

local array = core.json.array

---@class ebb.CallResult
---@field id? string           of the call
---@field name string
---@field text string
---@field failed? boolean

local function openai(results)
  local list = {}
  for i, result in ipairs(results) do
    list[i] = { role = "tool", tool_call_id = result.id, name = not result.id and result.name or nil,
      content = result.text }
  end
  return list
end

local function responses(results)
  local list = {}
  for i, result in ipairs(results) do
    list[i] = { type = "function_call_output", call_id = result.id, output = result.text }
  end
  return list
end

local function anthropic(results)
  local blocks = array {}
  for i, result in ipairs(results) do
    blocks[i] = { type = "tool_result", tool_use_id = result.id, content = result.text,
      is_error = result.failed or nil }
  end
  return { { role = "user", content = blocks } }
end

local function gemini(results)
  local parts = array {}
  for i, result in ipairs(results) do
    local response = { [result.failed and "error" or "result"] = result.text }
    parts[i] = { functionResponse = { name = result.name, id = result.id, response = response } }
  end
  return { { role = "user", parts = parts } }
end

local FORMS = { openai = openai, responses = responses, anthropic = anthropic, gemini = gemini }

--- The messages that answer calls, in their order.
---@param dialect ebb.Dialect
---@param results ebb.CallResult[]
---@return table[] messages
return function(dialect, results)
  if #results == 0 then return {} end
  return FORMS[dialect](results)
end
