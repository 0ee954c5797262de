--- "Did you mean": the known name that is nearest to a wrong one.
--
-- Names are compared folded (lower case, without _ and -), so that `keepLast`
-- finds `keep_last`; what is left is the edit distance, a swap of neighbours
-- counting as one. A name may be wrong in one letter of three, not more: a wild
-- guess helps nobody.

local refuse = require "ebb.support.refuse"

local suggest = {}

--- Names under which scripts declare their options: policies and filters, nodes, processors.
local SAME = { options = true, fields = true, config_fields = true }

local LIST_MAX = 8   -- where nothing is near, so many names are still listed

local function fold(name)
  return (name:lower():gsub("[_%-]", ""))
end

--- One row of the distance table; `before` is the row above, `older` the one above that.
local function next_row(a, b, i, before, older)
  local row = { [0] = i }
  for j = 1, #b do
    local same = a:byte(i) == b:byte(j)
    local cost = math.min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (same and 0 or 1))
    if i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
      cost = math.min(cost, older[j - 2] + 1)
    end
    row[j] = cost
  end
  return row
end

local function distance(a, b)
  local older, before = nil, {}
  for j = 0, #b do
    before[j] = j
  end
  for i = 1, #a do
    older, before = before, next_row(a, b, i, before, older)
  end
  return before[#b]
end

local function same_in(name, names)
  for _, candidate in ipairs(SAME[name] and names or {}) do
    if SAME[candidate] then return candidate end
  end
end

---@param name string
---@param names string[]
---@return string?
function suggest.nearest(name, names)
  local folded = fold(name)
  local best, best_distance = nil, math.max(1, #folded // 3) + 1
  if #folded > 64 then return nil end   -- no known name is near; keeps the table small
  for _, candidate in ipairs(names) do
    local d = distance(folded, fold(candidate))
    if d < best_distance then
      best, best_distance = candidate, d
    end
  end
  return best or same_in(name, names)
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
