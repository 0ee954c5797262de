--- The figures of several recordings as one: sums, and shares of these sums, so that each token, each request and
--- each value weighs the same wherever it is.

local together = {}

local SUMS = { "requests", "requests_over", "refusals", "refused_tokens", "sent", "shared", "thinking_lost", "cached",
  "written", "reply_tokens", "units_dropped", "messages_dropped", "messages_replaced", "messages_inserted" }
local COUNTS = { "total", "present", "labelled" }

local function add_counts(sum, counts)
  for _, name in ipairs(COUNTS) do
    sum[name] = (sum[name] or 0) + counts[name]
  end
end

--- The mean of a field, weighted by another field; nil if a result that has weight lacks it.
local function mean(results, field, weight)
  local sum, weights = 0, 0
  for _, result in ipairs(results) do
    if result[weight] > 0 then
      if not result[field] then return nil end
      sum, weights = sum + result[field] * result[weight], weights + result[weight]
    end
  end
  return weights > 0 and sum / weights or nil
end

--- The sum of a field that all results have; else nil.
local function sum_of(results, field)
  local sum = 0
  for _, result in ipairs(results) do
    if not result[field] then return nil end
    sum = sum + result[field]
  end
  return sum
end

--- The unit that all costs have; nil if some are money and some are tokens, which have no sum.
local function unit_of(results)
  for _, result in ipairs(results) do
    if result.cost_unit ~= results[1].cost_unit then return nil end
  end
  return results[1].cost_unit
end

local function share(part, whole)
  return whole > 0 and part / whole or nil
end

--- One policy over several recordings.
local function of_policy(results)
  local sum = { policy = results[1].policy, trust = results[1].trust, arguments = {}, values = {} }
  for _, name in ipairs(SUMS) do
    sum[name] = sum_of(results, name)
  end
  for _, result in ipairs(results) do
    sum.first_refusal = sum.first_refusal or result.first_refusal
    sum.trust = sum.trust or result.trust
    local smallest = result.smallest_budget
    if smallest then sum.smallest_budget = math.max(sum.smallest_budget or 0, smallest) end
    add_counts(sum.arguments, result.arguments)
    add_counts(sum.values, result.values)
  end
  sum.share, sum.fill = share(sum.shared, sum.sent) or 0, mean(results, "fill", "requests_over")
  sum.optimum = sum.refusals == 0 and mean(results, "optimum", "sent") or nil
  sum.distance = sum.optimum and sum.optimum - sum.share
  sum.cost_unit, sum.cache = unit_of(results), results[1].cache
  sum.cost = sum.cost_unit and sum_of(results, "cost")
  sum.reply_cost = sum.cost_unit and sum_of(results, "reply_cost")
  return sum
end

local function add_shares(sum, none)
  local arguments, values = sum.arguments, sum.values
  sum.relative_cost = sum.cost and none.cost > 0 and sum.cost / none.cost or nil
  sum.recall_arguments = share(arguments.present, arguments.total)
  sum.recall_values = share(values.present, values.total)
  sum.recall_labelled = share(arguments.labelled + values.labelled, arguments.total + values.total)
end

---@param replays ebb.ReplayResult[][]   of each recording, the same policies in the same order
---@return ebb.ReplayResult[]            `budget` is nil
function together.of(replays)
  local sums = {}
  for i in ipairs(replays[1]) do
    local results = {}
    for n, list in ipairs(replays) do
      results[n] = list[i]
    end
    sums[i] = of_policy(results)
    add_shares(sums[i], sums[1])
  end
  return sums
end

return together
