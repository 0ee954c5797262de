--- Figures as people read and write them.

local core = require "ebb.support.core"

local figures = {}

--- 3120 as "3,120"; places after a point stay as they are.
---@param number number      0 or more
---@return string
function figures.grouped(number)
  return (core.tostring(number):gsub("^%d+", function(digits)
    return (digits:reverse():gsub("%d%d%d", "%0,"):reverse():gsub("^,", ""))
  end))
end

--- 0.333 as "33.3 %"; "" for nil.
---@param share? number
---@return string
function figures.percent(share)
  return share and ("%.1f %%"):format(100 * share) or ""
end

local THOUSANDS = { [""] = 1, k = 1e3, m = 1e6 }   -- floats: integers would wrap

--- The whole number that a word such as 8000, 8k or 1.5M says; nil for other words.
---@param word string
---@return integer?
function figures.whole(word)
  local digits, unit = word:match "^(%d+%.?%d*)([kKmM]?)$"
  if not digits or unit == "" and digits:find(".", 1, true) then return nil end
  return math.tointeger(core.tonumber(digits) * THOUSANDS[unit:lower()])
end

return figures
