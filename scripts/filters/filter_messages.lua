--- Filter: LangChain's filter_messages: messages by name, type and id.
--
-- A message stays if one of the include conditions names it (or none is set) and no
-- exclude condition does. Messages are taken one by one, as there: what you exclude
-- may leave a call without its result, except by `exclude_tool_calls`, which takes
-- out calls with their results, and messages of which nothing else is left.
--
-- Run:   ebb filter scripts/filters/filter_messages.lua:exclude_types=system,exclude_tool_calls=c1 \
--          --input scripts/filters/filter_messages.in.json
-- gives scripts/filters/filter_messages.out.json

local TYPES = { human = "user", ai = "assistant" }

local function has(list, value)
  for _, item in ipairs(list) do
    if item == value then return true end
  end
  return false
end

local function is_of_type(list, role)
  for _, name in ipairs(list) do
    if (TYPES[name] or name) == role then return true end
  end
  return false
end

local function is_included(message, options)
  local names, types, ids = options.include_names, options.include_types, options.include_ids
  if #names + #types + #ids == 0 then return true end
  return has(names, message.name) or has(ids, message.id) or is_of_type(types, message.role)
end

local function is_excluded(message, options)
  return has(options.exclude_names, message.name) or has(options.exclude_ids, message.id)
    or is_of_type(options.exclude_types, message.role)
end

--- The items of a list whose id is not among `ids`; nil if none is left.
local function without(list, ids)
  local kept = {}
  for _, item in ipairs(list) do
    if item.type == "text" or not has(ids, item.id) then kept[#kept + 1] = item end
  end
  return kept[1] and kept
end

--- The message without some calls: true if it makes none of them, false if it makes no others.
local function without_calls(message, ids)
  if message.role == "tool" then return not has(ids, message.call and message.call.id) end
  local left = 0
  for _, call in ipairs(message.calls) do
    if not has(ids, call.id) then left = left + 1 end
  end
  if left == #message.calls then return true end
  if left == 0 then return false end
  local rest = message:totable()
  rest.tool_calls = rest.tool_calls and without(rest.tool_calls, ids)
  if type(rest.content) == "table" then rest.content = without(rest.content, ids) or "" end
  return rest
end

---@type ebb.FilterFile
return {
  name = "filter_messages",
  summary = "keep messages by name, type and id (as LangChain's filter_messages does)",
  exact = true,
  options = {
    include_names = { type = "list", default = {} }, exclude_names = { type = "list", default = {} },
    include_types = { type = "list", default = {}, help = "human, ai, user, assistant, system, tool" },
    exclude_types = { type = "list", default = {} },
    include_ids = { type = "list", default = {} }, exclude_ids = { type = "list", default = {} },
    exclude_tool_calls = { type = "list", default = {}, help = "ids of calls, or `all`" },
  },

  filter = function(message, options)
    if is_excluded(message, options) or not is_included(message, options) then return false end
    local calls = options.exclude_tool_calls
    if has(calls, "all") then return #message.calls == 0 and message.role ~= "tool" end
    return #calls == 0 or without_calls(message, calls)
  end,
}
