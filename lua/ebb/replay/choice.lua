--- Chooses a policy after a replay: the cheapest of those that refuse the fewest requests and keep nearly as much of
--- the values that replies used as the best one (SLACK).

local choice = {}

local SLACK = 0.01   -- of recall

--- Returns the share of the values that replies used which the requests had, 0 to 1; 1 if they used none.
---@param result ebb.ReplayResult
---@return number
function choice.recall(result)
  local total = result.arguments.total + result.values.total
  return total > 0 and (result.arguments.present + result.values.present) / total or 1
end

--- The positions of the results but the first, which refuse as few requests as any.
local function least_refusals(results)
  local least, list = math.huge, {}
  for i = 2, #results do
    if results[i].refusals < least then least, list = results[i].refusals, {} end
    if results[i].refusals == least then list[#list + 1] = i end
  end
  return list
end

--- The position of the result to take.
---@param results ebb.ReplayResult[]   that of no trimming, and one or more
---@return integer
function choice.position(results)
  local list, best, cheapest = least_refusals(results), 0, nil
  for _, i in ipairs(list) do
    best = math.max(best, choice.recall(results[i]))
  end
  for _, i in ipairs(list) do
    local is_close = choice.recall(results[i]) >= best - SLACK
    if is_close and (not cheapest or results[i].cost < results[cheapest].cost) then cheapest = i end
  end
  return cheapest
end

return choice
