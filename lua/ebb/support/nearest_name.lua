--- The name among `names` that is nearest to a wrong one; nil if none is near.
--
-- Names are compared folded (lower case, without _ and -), so that `keepLast`
-- finds `keep_last`; what is left is the edit distance, a swap of neighbours
-- counting as one. A name may be wrong in one letter of three, not more: a wild
-- guess helps nobody. A module of its own, so that only wrong names load it.

local FOLDED_MAX = 64   -- bytes: no known name is longer, and the table of distances stays small

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

---@param name string
---@param names string[]
---@return string?
return function(name, names)
  local folded = fold(name)
  local best, best_distance = nil, math.max(1, #folded // 3) + 1
  if #folded > FOLDED_MAX then return nil end
  for _, candidate in ipairs(names) do
    local d = distance(folded, fold(candidate))
    if d < best_distance then
      best, best_distance = candidate, d
    end
  end
  return best
end
