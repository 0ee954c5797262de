--- Where something may be put between working messages without tearing a unit: an
--- assistant message with calls and the results that answer them stay together,
--- with all that stands between them.

local units = {}

--- The key under which a call waits for its result, added to `list`.
local function add(list, id)
  if type(id) == "string" then list[#list + 1] = id end
end

--- A part's own fields, which some write one level deeper.
local function part_of(part, kind)
  if type(part) ~= "table" or part.type ~= kind then return nil end
  return type(part[kind]) == "table" and part[kind] or part
end

local function calls_of(message)
  local calls = {}
  for _, call in ipairs(type(message.tool_calls) == "table" and message.tool_calls or {}) do
    add(calls, call.id)
  end
  if type(message.function_call) == "table" then add(calls, message.function_call.name) end
  for _, item in ipairs(type(message.content) == "table" and message.content or {}) do
    local part = part_of(item, "tool_use")
    if part then add(calls, part.id) end
  end
  return calls
end

local function results_of(message)
  local results = {}
  add(results, message.tool_call_id)
  if message.role == "function" then add(results, message.name) end
  for _, item in ipairs(type(message.content) == "table" and message.content or {}) do
    local part = part_of(item, "tool_result")
    if part then add(results, part.tool_use_id) end
  end
  return results
end

--- For each place (0: before the first message, n: behind the nth) the nearest one at
--- or before it that is inside of no unit.
---@param messages ebb.WorkingMessage[]
---@return integer[] places     from 0 to #messages
function units.places(messages)
  local waiting, until_ = {}, {}   -- call id -> stack of positions; position -> that of its last result
  for i, message in ipairs(messages) do
    for _, id in ipairs(results_of(message)) do
      local first = waiting[id] and table.remove(waiting[id])   -- the nearest call that is unanswered
      if first then until_[first] = i end
    end
    for _, id in ipairs(calls_of(message)) do
      waiting[id] = waiting[id] or {}
      table.insert(waiting[id], i)
    end
  end
  local places, inside, free = { [0] = 0 }, 0, 0
  for i = 1, #messages do
    inside = math.max(inside, until_[i] or 0)
    if i >= inside then free = i end
    places[i] = free
  end
  return places
end

return units
