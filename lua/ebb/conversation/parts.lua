--- Messages as plain tables, with some of their calls, results or parts taken out.
--
-- A call or result stands in a field of its own (`tool_calls`, `tool_call_id`), or
-- as a part of the content, flat or nested as in the seeds:
--
--     {type = "tool_use", id = "c1", name = "read", input = {}}
--     {type = "tool_use", tool_use = {id = "c1", name = "read", input = {}}}
--
-- The policies that prune and clear share what knows these forms.

local core = require "ebb.support.core"

local parts = {}

local array, null = core.json.array, core.json.null

--- What describes the call or result in a part, nested or not.
---@param part table       as in a message's content
---@return table
function parts.body(part)
  local nested = part[part.type]
  return type(nested) == "table" and nested or part
end

---@return string? id      of the call that a part makes
function parts.call_id(part)
  return type(part) == "table" and part.type == "tool_use" and parts.body(part).id or nil
end

---@return string? id      of the call that a part answers
function parts.result_id(part)
  return type(part) == "table" and part.type == "tool_result" and parts.body(part).tool_use_id or nil
end

--- The list in `content`, or an empty one.
---@param message table    as from message:totable()
---@return table[]
function parts.list(message)
  return type(message.content) == "table" and message.content or {}
end

--- The ids of the calls that a message makes.
---@param message table
---@return string[]
function parts.calls(message)
  local ids = {}
  local function add(id)
    if type(id) == "string" then ids[#ids + 1] = id end
  end
  for _, call in ipairs(type(message.tool_calls) == "table" and message.tool_calls or {}) do
    add(call.id)
  end
  if type(message.function_call) == "table" then add(message.function_call.name) end
  for _, part in ipairs(parts.list(message)) do
    add(parts.call_id(part))
  end
  return ids
end

--- The ids of the calls that a message answers.
---@param message table
---@return string[]
function parts.answers(message)
  local ids = { type(message.tool_call_id) == "string" and message.tool_call_id or nil }
  for _, part in ipairs(parts.list(message)) do
    ids[#ids + 1] = parts.result_id(part)
  end
  return ids
end

--- The items of a list for which `stays` answers true, as a list of its own.
---@param list table[]
---@param stays fun(item: table): boolean
---@return table[]
function parts.only(list, stays)
  local remaining = {}
  for _, item in ipairs(list) do
    if stays(item) then remaining[#remaining + 1] = item end
  end
  return array(remaining)
end

--- Neither text nor parts nor calls.
---@param message table
---@return boolean
function parts.is_empty(message)
  local content = message.content
  local nothing = content == nil or content == null or content == "" or type(content) == "table" and content[1] == nil
  return nothing and message.tool_calls == nil and message.function_call == nil and message.tool_call_id == nil
    and message.reasoning_content == nil
end

--- The content of a message with the results to `ids` cleared.
---@param message table
---@param ids table<string, boolean>
---@param placeholder string
---@return string|table[] content
function parts.cleared(message, ids, placeholder)
  if message.tool_call_id then return placeholder end
  local content = {}
  for i, part in ipairs(parts.list(message)) do
    if ids[parts.result_id(part)] then parts.body(part).content = placeholder end
    content[i] = part
  end
  return array(content)
end

--- The fields of a message whose calls `ids` have lost their arguments.
---@param message table
---@param ids table<string, boolean>
---@return table fields    for draft:replace
function parts.without_inputs(message, ids)
  local fields = {}
  for _, call in ipairs(message.tool_calls or {}) do
    if ids[call.id] and type(call["function"]) == "table" then
      call["function"].arguments, fields.tool_calls = "{}", message.tool_calls
    end
  end
  for _, part in ipairs(parts.list(message)) do
    if ids[parts.call_id(part)] then parts.body(part).input, fields.content = {}, message.content end
  end
  return fields
end

return parts
