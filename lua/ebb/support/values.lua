--- Plain values: copies in depth, equality in depth, tables that can be read only.

local core = require "ebb.support.core"
local refuse = require "ebb.support.refuse"

local values = {}

--- Gives a copy the metatable of its original. That of JSON's lists and raw values is
--- locked: its name stands for it.
local function mark_like(result, from)
  local meta = getmetatable(from)
  if meta == "json.array" then return core.json.array(result) end
  if meta == "json.raw" then return core.json.raw(result[1]) end
  return setmetatable(result, meta)
end

local function copy_table(from, seen)
  local known = seen[from]
  if known then return known end
  local result = {}
  seen[from] = result
  for key, item in next, from do
    result[key] = type(item) == "table" and copy_table(item, seen) or item
  end
  return mark_like(result, from)
end

--- Metatables, which mark lists and raw JSON, are shared.
---@generic T
---@param value T
---@return T
function values.copy(value)
  if type(value) ~= "table" then return value end
  return copy_table(value, {})
end

--- Do two values without cycles say the same?
---@param a any
---@param b any
---@return boolean
local function same(a, b)
  if a == b then return true end
  if type(a) ~= "table" or type(b) ~= "table" then return false end
  for key, item in next, a do
    if not same(item, b[key]) then return false end
  end
  for key in next, b do
    if a[key] == nil then return false end
  end
  return true
end

values.same = same

--- A view of a table through which it can be read only, in depth.
---@param value any
---@param name string       for the refusal
---@return any
function values.read_only(value, name)
  if type(value) ~= "table" then return value end
  local seen = {}
  return setmetatable({}, {
    __index = function(_, key)
      local item = value[key]
      if type(item) ~= "table" then return item end
      seen[item] = seen[item] or values.read_only(item, ("%s.%s"):format(name, key))
      return seen[item]
    end,
    __newindex = function(_, key) refuse("argument", ("%s.%s can be read only"):format(name, tostring(key))) end,
    __len = function() return #value end,
    __pairs = function(view)
      return function(_, key)
        local following = next(value, key)
        if following ~= nil then return following, view[following] end
      end, view, nil
    end,
  })
end

return values
