--- "Did you mean": hints for wrong names.

local refuse = require "ebb.support.refuse"

local suggest = {}

--- Names under which scripts declare their options: policies and filters, nodes, processors.
local SAME = { options = true, fields = true, config_fields = true }

local LIST_MAX = 8   -- number of names that are listed if none is near

local function same_in(name, names)
  for _, candidate in ipairs(SAME[name] and names or {}) do
    if SAME[candidate] then return candidate end
  end
end

--- The known name that is nearest to a wrong one; nil if none is near.
---@param name string
---@param names string[]
---@return string?
function suggest.nearest(name, names)
  return require "ebb.support.nearest_name"(name, names) or same_in(name, names)
end

--- The hint for a wrong name.
---@param name any
---@param names string[]
---@return string?
function suggest.hint(name, names)
  local nearest = suggest.nearest(tostring(name), names)
  if nearest then return ("did you mean '%s'?"):format(nearest) end
  if #names > 0 and #names <= LIST_MAX then return "one of: " .. table.concat(names, ", ") end
end

--- Raises for a field that an object does not have; for __index.
---@param noun string           of the object
---@param name any
---@param names string[]
function suggest.refuse_field(noun, name, names)
  return refuse("unknown_name", ("%s has no field '%s'"):format(noun, tostring(name)), suggest.hint(name, names))
end

return suggest
