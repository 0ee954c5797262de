--- Figures as people read them.

local core = require "ebb.support.core"

local figures = {}

--- 3120 as "3,120"; places behind a point stay as they are.
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

return figures
