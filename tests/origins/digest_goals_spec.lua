--- Measures what requests still hold of the values that the next reply used, over the shared tool conversations at a
--- half and a third of their size, as recall.py does; and what digest costs compared with stable_prefix.
--
-- Counted by cjk a recording is left out of which the guarded part alone exceeds the budget at some request: no policy
-- can send that. Counted by o200k_base all recordings are played, and such requests are left out.

local helper = dofile "tests/lua/helper.lua"
local played = dofile "tests/origins/played.lua"
local vocabularies = require "ebb.models.vocabularies"
local ebb = helper.ebb

local folder = helper.shared and helper.shared .. "/data/conversations"

local function has_python()
  return os.execute "python3 --version >/dev/null 2>&1" == true
end

local LONGEST = "composite-long-tau-airline.json"

--- Shared prefix and cost with cached input at a tenth of the price.
local function cost_of(requests)
  local sent, shared = 0, 0
  for _, request in ipairs(requests) do sent, shared = sent + request.tokens, shared + request.shared end
  return { share = shared / sent, price = sent - 0.9 * shared }
end

--- Plays a recording. Its requests, and whether all of them were sent.
local function play(path, share, policy, encoding)
  local recording = played.load(path, encoding)
  local budget = math.floor(recording:tokens() * share)
  local requests, all_sent = played.requests(recording, budget, policy), true
  for _, request in ipairs(requests) do
    all_sent = all_sent and request.messages ~= nil
    assert.is_true((request.tokens or 0) <= budget, path)
  end
  return requests, recording, all_sent
end

--- Plays all recordings. What recall.py says of them, and the cost of the longest one.
local function measure(share, policy, encoding)
  local path = os.tmpname()
  local file, longest = assert(io.open(path, "w")), nil
  for _, recorded in ipairs(helper.recordings()) do
    local name = recorded:match "[^/]*$"
    local requests, recording, all_sent = play(recorded, share, policy, encoding)
    if all_sent or encoding then file:write(played.lines(name, recording, requests)) end
    if name == LONGEST then longest = cost_of(requests) end
  end
  file:close()
  local pipe = io.popen(("python3 tests/origins/recall.py %s --json %s"):format(encoding and "--sent" or "", path))
  local figures = ebb.json.decode(pipe:read "a").together
  pipe:close()
  os.remove(path)
  figures.cost = longest
  return figures
end

--- Memoizes a function by share and policy.
local function once(run)
  local known = {}
  return function(share, policy)
    local key = share .. policy
    known[key] = known[key] or run(share, policy)
    return known[key]
  end
end

local measured = once(measure)
local cost = once(function(share, policy) return cost_of((play(folder .. "/" .. LONGEST, share, policy))) end)

local there = #helper.recordings() > 0 and has_python()
local case = there and it or pending
local counted = there and vocabularies.find "o200k_base" and it or pending

for _, policy in ipairs { "digest", "agent" } do
  describe("Recall under " .. policy, function()
    for _, goal in ipairs { { 1 / 2, 0.97, 0.97, 0.93 }, { 1 / 3, 0.95, 0.93, 0.88 } } do
      case(("reaches its goals at %.2f of the size"):format(goal[1]), function()
        local figures = measured(goal[1], policy)
        print(("%s %.2f: arguments %.3f of %d, values %.3f of %d, labelled %.3f"):format(policy, goal[1],
          figures.argument_recall, figures.arguments, figures.value_recall, figures.values, figures.labelled_share))
        assert.is_true(figures.arguments > 500)
        assert.is_true(figures.argument_recall >= goal[2])
        assert.is_true(figures.value_recall >= goal[3])
        assert.is_true(figures.labelled_share >= goal[4])
      end)

      case(("costs as much as stable_prefix at %.2f of the size"):format(goal[1]), function()
        local own, stable = measured(goal[1], policy).cost, cost(goal[1], "stable_prefix")
        assert.is_true(own.share >= 0.95, own.share)
        assert.is_true(own.price <= 1.1 * stable.price, own.price / stable.price)
      end)
    end

    counted("reaches its goals at a third over all requests that were sent, by o200k_base", function()
      local figures = measure(1 / 3, policy, "o200k_base")
      assert.is_true(figures.arguments > 1000)
      assert.is_true(figures.argument_recall >= 0.95, figures.argument_recall)
      assert.is_true(figures.value_recall >= 0.93, figures.value_recall)
      assert.is_true(figures.labelled_share >= 0.88, figures.labelled_share)
    end)

    case("is what keep_recent does not reach", function()
      assert.is_true(measured(1 / 3, "keep_recent").value_recall < 0.9)
    end)
  end)
end
