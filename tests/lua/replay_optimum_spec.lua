--- The optimum of a replay: held against all plans of cuts of small conversations, played as lists.

local helper = dofile "tests/lua/helper.lua"
local conversation = helper.conversation
local optimum = require "ebb.replay.optimum"
local core = require "ebb.support.core"

local function best_cuts(problem, weight)
  return core.best_cuts(problem.units, problem.requests, problem.base, problem.budget, weight)
end

local function is_fixed(message)
  local fixed = message.role == "system"
  for _, member in ipairs(message.unit.messages) do
    for _, mark in ipairs(member.marks) do fixed = fixed or mark == "pinned" end
  end
  return fixed
end

local function common_tokens(before, after)
  local tokens = 0
  for i, message in ipairs(after) do
    if before[i] ~= message then return tokens end
    tokens = tokens + message.tokens
  end
  return tokens
end

local function total(list)
  local tokens = 0
  for _, message in ipairs(list) do tokens = tokens + message.tokens end
  return tokens
end

--- Returns the messages of a request right after a cut: fixed ones, the last user message, and units after the cut.
local function list_after(messages, position, numbers, cut)
  local list, last_user = {}, nil
  for i = 1, position - 1 do
    if messages[i].role == "user" then last_user = i end
  end
  for i = 1, position - 1 do
    if is_fixed(messages[i]) or i == last_user or numbers[i] > cut then list[#list + 1] = messages[i] end
  end
  return list
end

--- Calls with tokens shared and sent of every plan. A request that no cut makes fit is left out.
local function each_plan(chat, budget, see)
  local messages, numbers, units = {}, {}, 0
  for i, message in ipairs(chat) do
    messages[i] = message
    if not is_fixed(message) and message.unit.first == i then units = units + 1 end
    numbers[i] = is_fixed(message) and 0 or units
  end
  local function go(position, list, cut, before, shared, sent)
    if position > #messages then return see(shared, sent) end
    local function follow(current, new_cut, previous, more_shared, more_sent)
      local grown = table.move(current, 1, #current, 1, {})
      grown[#grown + 1] = messages[position]
      go(position + 1, grown, new_cut, previous, shared + more_shared, sent + more_sent)
    end
    if messages[position].role ~= "assistant" or position == 1 then return follow(list, cut, before, 0, 0) end
    local fits = false
    local function try(current, new_cut)
      if total(current) > budget then return end
      fits = true
      follow(current, new_cut, current, before and common_tokens(before, current) or 0, total(current))
    end
    try(list, cut)
    local complete = 0   -- units whose messages are all there
    for i = 1, position - 1 do
      local unit = messages[i].unit
      if numbers[i] > 0 and unit.first + unit.count - 1 < position then complete = numbers[i] end
    end
    for new_cut = cut, complete do
      try(list_after(messages, position, numbers, new_cut), new_cut)
    end
    if not fits then follow(list, cut, before, 0, 0) end
  end
  go(1, {}, 0, nil, 0, 0)
end

--- By the tokens that some plan sends: the greatest share of all mixtures of two plans that send 99 % of them or more.
local function best_shares(plans)
  local best, result = {}, {}   -- by tokens sent: the most tokens shared
  for _, plan in ipairs(plans) do best[plan[2]] = math.max(best[plan[2]] or 0, plan[1]) end
  for at in pairs(best) do
    local least, most = 0.99 * at, 0
    for sent, shared in pairs(best) do
      if sent >= least then most = math.max(most, shared / sent) end
      for other_sent, other_shared in pairs(best) do
        if sent < least and other_sent > least then
          local mixed = shared + (other_shared - shared) * (least - sent) / (other_sent - sent)
          most = math.max(most, mixed / least)
        end
      end
    end
    result[at] = most
  end
  return result
end

local CASES = {
  "s3 u4 a3 u4 a3 u4 a3 u4 a3",
  "u4 a3 u9 a1 u2 a8 u5 a2",
  "s2 u4 c2(x) r9(x) a3 c2(y) r5(y) c1(z) r4(z) a2",     -- one user message, which every cut keeps
  "s2 u5 a4 u3! a2 u6 c1(x) r7(x) a3 u2 a1",              -- a pinned message between units
  "s1 u3 a4 a2! c1(x) r7(x) a3 u2 a5 u4 a6",              -- a pinned one behind the user message that a cut keeps
  "u2 a1 s4 u3 a6 u1 a2 u7 c1(x,y) r3(x) r2(y) a1",       -- a system message between units
  "a5 u3 a2 u2 u2 a4 a1 u6 a2",
}

describe("the optimum", function()
  for _, words in ipairs(CASES) do
    for _, budget in ipairs { 12, 16, 22 } do
      it(("is the best of all plans: %s, budget %d"):format(words, budget), function()
        local chat = conversation(words)
        local hull = optimum.hull(chat, budget, true)
        local problem = hull.problem
        local plans = {}
        each_plan(chat, budget, function(shared, sent) plans[#plans + 1] = { shared, sent } end)

        for _, weight in ipairs { -3, -0.9, -0.5, -0.2, 0, 0.3, 1, 4 } do
          local most = -math.huge
          for _, plan in ipairs(plans) do most = math.max(most, plan[1] + weight * plan[2]) end
          local shared, sent = best_cuts(problem, weight)
          assert(math.abs(most - (shared + weight * sent)) < 1e-6,
            ("weight %g: %g, all plans %g"):format(weight, shared + weight * sent, most))
        end
        for sent, share in pairs(best_shares(plans)) do
          assert(math.abs(share - optimum.share(hull, sent)) < 1e-9,
            ("%d tokens: %g, all plans %g"):format(sent, optimum.share(hull, sent), share))
        end
        assert.is_nil(optimum.share(hull, 10000))
      end)
    end
  end
end)
