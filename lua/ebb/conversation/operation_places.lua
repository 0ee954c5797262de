--- Finds the place in an operation that a refusal is about. Operations are run by calls that know their arguments, not
--- the file; their messages name the value:
--
--     message 2, tool_calls[0].id: expected ...      messages, 2, tool_calls, 1, id
--     operations[0].position: 99 is beyond ...       position
--     unknown role 'bot', length: 77 is out of range the field that has this value

local core = require "ebb.support.core"
local tables = require "ebb.support.tables"

local operation_places = {}

--- The steps of a path such as "tool_calls[0].id", positions from 1.
local function add_steps(path, words)
  for word in words:gmatch "[^%.]+" do
    path[#path + 1] = word:match "^[^%[]+"
    for position in word:gmatch "%[(%d+)%]" do
      path[#path + 1] = math.tointeger(position) + 1
    end
  end
  return path
end

--- The path of what is wrong in a message, of those that the operation has.
local function place_in_message(entry, text)
  local number, words = text:match "message (%d+), ([%w_%.%[%]]+):"
  if not number then return nil end
  if entry.message ~= nil then return add_steps({ "message" }, words) end
  return entry.messages ~= nil and add_steps({ "messages", math.tointeger(number) }, words) or nil
end

--- The path of the field that a text begins with, which `prefix` leads to.
local function place_of_field(entry, text, prefix)
  local field = text:sub(1, #prefix + 1) == prefix .. "." and text:match("^%w+", #prefix + 2)
  return field and entry[field] ~= nil and { field } or nil
end

--- The path of the first value that equals `wanted`, in fields by name; messages are no fields.
local function place_of_value(entry, wanted)
  for _, name in ipairs(tables.keys(entry)) do
    local value = entry[name]
    local is_plain = type(value) == "table" and getmetatable(value) ~= "json.raw"
    if name ~= "operation" and value == wanted then return { name } end
    for _, key in ipairs(is_plain and tables.keys(value) or {}) do
      key = math.tointeger(tonumber(key)) or key
      if value[key] == wanted then return { name, key } end
    end
  end
end

--- The path of the value that a refusal speaks of; empty: it speaks of the operation.
---@param entry table         the fields as they are in the file, messages as raw JSON
---@param problem ebb.Error
---@param prefix string       under which a refusal names fields, such as "operations[0]"
---@return (string|integer)[]
function operation_places.find(entry, problem, prefix)
  local text = problem.message
  local quoted, number = text:match "'(.-)'", math.tointeger(tonumber(text:match ": (%-?%d+) is "))
  return place_in_message(entry, text) or place_of_field(entry, text, prefix)
    or quoted and place_of_value(entry, quoted) or number and place_of_value(entry, number) or {}
end

--- The problem with a path after the one that it has.
---@param problem any
---@param path (string|integer)[]
---@return any problem
function operation_places.with_path(problem, path)
  if not core.is_error(problem) or problem.path and problem.path[1] or not path[1] then return problem end
  local placed = core.error(problem.code, problem.message, problem.hint)
  placed.path = path
  return placed
end

return operation_places
