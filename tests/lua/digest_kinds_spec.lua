--- Measures what requests under digest and agent hold of the values that replies use, over kinds of conversations for
--- which neither was made; and what that costs compared with stable_prefix.

local helper = dofile "tests/lua/helper.lua"
local kinds = dofile "tests/lua/kinds.lua"
local ebb = helper.ebb

local GOALS = { { 1 / 2, 0.97, 0.97, 0.93 }, { 1 / 3, 0.95, 0.93, 0.88 } }   -- share, arguments, values, labelled
local POLICIES = { "digest", "agent", "keep_recent", "stable_prefix" }

local function add(sums, result)
  for _, use in ipairs { "arguments", "values" } do
    for name, count in pairs(result[use]) do
      sums[use][name] = (sums[use][name] or 0) + count
    end
  end
  sums.refusals = sums.refusals + result.refusals
  sums.price = sums.price + result.sent - 0.9 * result.shared
end

--- Plays all kinds at a share of their tokens; sums by policy.
local function measure(share)
  local sums = {}
  for _, policy in ipairs(POLICIES) do
    sums[policy] = { arguments = {}, values = {}, refusals = 0, price = 0 }
  end
  for _, kind in ipairs(kinds.all()) do
    local recording = ebb.conversation { encoding = "cjk" }
    recording:append(kind.messages)
    local budget = math.floor(recording:tokens() * share)
    local results = assert(ebb.replay(recording, { budget = budget, policies = POLICIES, cache = "general" }))
    for i, policy in ipairs(POLICIES) do
      add(sums[policy], results[i + 1])
    end
  end
  return sums
end

local function recall(sums)
  local arguments, values = sums.arguments, sums.values
  return arguments.present / arguments.total, values.present / values.total,
    (arguments.labelled + values.labelled) / (arguments.total + values.total)
end

describe("Ten kinds of conversations", function()
  for _, goal in ipairs(GOALS) do
    local sums = measure(goal[1])

    for i = 1, 2 do
      it(("keep what replies use under %s at %.2f of their size"):format(POLICIES[i], goal[1]), function()
        local arguments, values, labelled = recall(sums[POLICIES[i]])
        assert.is_true(sums[POLICIES[i]].arguments.total > 200)
        assert.equal(0, sums[POLICIES[i]].refusals)
        assert.is_true(arguments >= goal[2], arguments)
        assert.is_true(values >= goal[3], values)
        assert.is_true(labelled >= goal[4], labelled)
      end)

      it(("cost little more under %s than under stable_prefix at %.2f"):format(POLICIES[i], goal[1]), function()
        local ratio = sums[POLICIES[i]].price / sums.stable_prefix.price
        assert.is_true(ratio <= 1.15, ratio)
      end)
    end

    it(("lose more under policies that keep no note at %.2f"):format(goal[1]), function()
      for i = 3, 4 do
        local arguments, values = recall(sums[POLICIES[i]])
        assert.is_true(arguments < goal[2] and values < goal[2], POLICIES[i])
      end
    end)
  end
end)
