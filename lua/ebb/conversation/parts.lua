--- Messages as plain tables, with some of their calls, results or parts taken out.
--
-- A call or result is in a field of its own (`tool_calls`, `tool_call_id`), or
-- as a part of the content, flat or nested as in the seeds:
--
--     {type = "tool_use", id = "c1", name = "read", input = {}}
--     {type = "tool_use", tool_use = {id = "c1", name = "read", input = {}}}
--
-- Parts may lack a type; then they are the `parts` of a message, and one member says what they
-- are:
--
--     {functionCall = {id = "c1", name = "read", args = {}}}
--     {functionResponse = {id = "c1", name = "read", response = {output = "text"}}}
--
-- The policies that prune and clear share what knows these forms.

local core = require "ebb.support.core"
local tables = require "ebb.support.tables"

local parts = {}

local array, null = core.json.array, core.json.null

--- Returns the table with the fields of the call or result in a part, which may be nested under the part's type.
---@param part table       as in a message's content
---@return table
function parts.body(part)
  local nested = part[part.type]
  return type(nested) == "table" and nested or part
end

--- The call, or the response, in a part without a type; nil for other parts.
local function untyped_call(part) return part.functionCall or part.function_call end
local function untyped_response(part) return part.functionResponse or part.function_response end

---@return string? id      of the call that a part makes; its name if it has none
function parts.call_id(part)
  if type(part) ~= "table" then return nil end
  local call = untyped_call(part)
  if call then return call.id or call.name end
  return part.type == "tool_use" and parts.body(part).id or nil
end

---@return string? id      of the call that a part answers; its name if it has none
function parts.result_id(part)
  if type(part) ~= "table" then return nil end
  local response = untyped_response(part)
  if response then return response.id or response.name end
  return part.type == "tool_result" and parts.body(part).tool_use_id or nil
end

--- Returns a result's content, a text or a list of parts, and true if it is an error.
---@param part table       for which parts.result_id gives an id
---@return string|table|nil, boolean
function parts.result(part)
  local response = untyped_response(part)
  if not response then
    local body = parts.body(part)
    return body.content, body.is_error == true
  end
  local said = response.response
  if type(said) ~= "table" then return said, false end
  if type(said.output) == "string" then return said.output, false end
  if type(said.error) == "string" then return said.error, true end
  return core.json.encode(said), said.error ~= nil
end

--- Sets what a result says.
---@param part table
---@param text string
function parts.set_result(part, text)
  local response = untyped_response(part)
  if not response then
    parts.body(part).content = text
  elseif type(response.response) == "table" and type(response.response.error) == "string" then
    response.response.error = text
  else
    response.response = { output = text }
  end
end

--- A copy of a result that says something else.
---@param part table       of type tool_result
---@param said string|table[]
---@return table
function parts.with_result(part, said)
  local nested, copy = parts.body(part) ~= part, tables.copy(part)
  if nested then copy[part.type] = tables.copy(copy[part.type]) end
  parts.body(copy).content = said
  return copy
end

--- The member of a message that has its content.
local function member_of(message)
  if message.content == nil and message.parts ~= nil then return "parts" end
  return message.role == nil and message.type ~= nil and message.output ~= nil and "output" or "content"
end

--- The content of a message, under whichever name it is.
---@param message table    as from message:totable()
---@return string|table[]|nil
function parts.content(message) return message[member_of(message)] end

--- The list in the message's content, or an empty one.
---@param message table    as from message:totable()
---@return table[]
function parts.list(message)
  local content = parts.content(message)
  return type(content) == "table" and content or {}
end

--- Sets the content of a message, as draft:replace does with `content`.
---@param message table    as from message:totable()
---@param content string|table[]
function parts.set_content(message, content)
  local member = member_of(message)
  if member ~= "parts" or type(content) ~= "string" then
    message[member] = content
    return
  end
  local list = {}
  for _, part in ipairs(parts.list(message)) do
    local response = untyped_response(part)
    if response then
      list[#list + 1] = { functionResponse = { id = response.id, name = response.name,
        response = { output = content } } }
    end
  end
  message.parts = array(#list > 0 and list or { { text = content } })
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

local REASONING = { reasoning = true, thinking = true, redacted_thinking = true }

---@param part table
---@return boolean
function parts.is_reasoning(part) return REASONING[part.type] or part.thought == true end

--- True for an item that is no message: of OpenAI's Responses, a call, a result, reasoning and others.
---@param message table
---@return boolean
function parts.is_item(message) return message.role == nil and message.type ~= nil and message.type ~= "message" end

--- Neither text nor parts nor calls.
---@param message table    no item
---@return boolean
function parts.is_empty(message)
  local content = parts.content(message)
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
  if message.tool_call_id or message.call_id then return placeholder end
  local content = {}
  for i, part in ipairs(parts.list(message)) do
    if ids[parts.result_id(part)] then parts.set_result(part, placeholder) end
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
    if ids[parts.call_id(part)] then
      local call = untyped_call(part)
      if call then call.args = {} else parts.body(part).input = {} end
      fields.content = array(parts.list(message))
    end
  end
  return fields
end

return parts
