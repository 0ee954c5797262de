--- Tables: sorted keys, membership, copies in depth, views that can only be read.

local core = require "ebb.support.core"
local refuse = require "ebb.support.refuse"
local suggest = require "ebb.support.suggest"

local tables = {}

--- The keys of a table as strings, sorted.
---@param set table<any, any>
---@return string[]
function tables.keys(set)
  local keys = {}
  for key in pairs(set) do
    keys[#keys + 1] = tostring(key)
  end
  table.sort(keys)
  return keys
end

---@param list any[]
---@param value any
---@return boolean
function tables.contains(list, value)
  for _, item in ipairs(list) do
    if item == value then return true end
  end
  return false
end

--- Gives a copy the metatable of its original. The metatables of JSON lists and raw values
--- are locked; getmetatable returns their name.
local function mark_like(result, from)
  local meta = getmetatable(from)
  if meta == "json.array" then return core.json.array(result) end
  if meta == "json.raw" then return core.json.raw(result[1]) end
  return setmetatable(result, meta)
end

local function copy_table(from, seen)
  if seen[from] then return seen[from] end
  local result = {}
  seen[from] = result
  for key, item in next, from do
    result[key] = type(item) == "table" and copy_table(item, seen) or item
  end
  return mark_like(result, from)
end

--- A copy in depth. Metatables, which mark lists and raw JSON, are shared.
---@generic T
---@param value T
---@return T
function tables.copy(value)
  if type(value) ~= "table" then return value end
  return copy_table(value, {})
end

--- A read-only view of a table, in depth; other values as they are.
---@param value any
---@param name string       for the refusal
---@return any
function tables.read_only(value, name)
  if type(value) ~= "table" then return value end
  local seen = {}
  return setmetatable({}, {
    __index = function(_, key)
      local item = value[key]
      if type(item) ~= "table" then return item end
      seen[item] = seen[item] or tables.read_only(item, ("%s.%s"):format(name, key))
      return seen[item]
    end,
    __newindex = function(_, key) refuse("argument", ("%s.%s can only be read"):format(name, tostring(key))) end,
    __len = function() return #value end,
    __pairs = function(view)
      return function(_, key)
        local following = next(value, key)
        if following ~= nil then return following, view[following] end
      end, view, nil
    end,
  })
end

--- Makes reads of fields that the table does not have raise, with the name that is nearest.
---@generic T: table
---@param value T
---@param noun string           of the table, for the refusal
---@param optional? string[]    fields that may be absent
---@return T value              the same table
function tables.strict(value, noun, optional)
  return setmetatable(value, { __index = function(_, name)
    if tables.contains(optional or {}, name) then return nil end
    local names = tables.keys(value)
    table.move(optional or {}, 1, #(optional or {}), #names + 1, names)
    return suggest.refuse_field(noun, name, names)
  end })
end

return tables
