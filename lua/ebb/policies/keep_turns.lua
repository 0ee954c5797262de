--- Trim policy: drops obsolete items first, the last turns last.
--
--     drops first  obsolete items                          the oldest first
--          |       units before the last `turns` turns, and
--          |       unimportant windows among them          the oldest first
--          |       important windows before them           the oldest first
--          |       windows in the last turns               the oldest first
--     drops last   the last turns                          the oldest first
--     never        what is guarded

-- Units are told apart by their ages, which stay as they are while units are dropped.

--- The age of the oldest unit in the last `count` turns; -1: none of them.
local function border_of(draft, count)
  local border = count == 0 and -1 or math.huge
  for turn, _, age in draft:turns { from = "newest" } do
    if age >= count then break end
    border = turn.messages[1].unit.age
  end
  return border
end

--- The ages of units that pass one walk or the other, as a set.
local function ages_of(draft, walk, other)
  local set = {}
  for _, _, age in draft:units(walk) do
    set[age] = true
  end
  for _, _, age in draft:units(other) do
    set[age] = true
  end
  return set
end

--- Drops the units whose age `may_go`, the oldest first, until the draft fits; true if it does.
local function drop_until(draft, budget, reason, may_go)
  if draft:tokens() <= budget then return true end
  for unit, _, age in draft:units { droppable = true } do
    if may_go(age) then
      draft:drop(unit, reason)
      if draft:tokens() <= budget then return true end
    end
  end
  return false
end

local idle = require "ebb.support.idle"

---@type ebb.Policy
return {
  name = "keep_turns",
  summary = "drop obsolete items, then old turns; the newest turns go last",
  options = {
    turns = { type = "integer", default = 3, min = 0, help = "newest turns that are protected" },
    window = { type = "string", default = "window", help = "mark of messages that count as windows" },
    obsolete = { type = "string", default = "obsolete", help = "mark of messages that count as obsolete" },
    idle = idle.OPTION,
  },
  help = [[
A turn runs from a user message to the next. The policy drops, in this order
and no more than needed: obsolete items of windows, wherever they are; units before the last
`turns` turns, with windows that are not important; important windows among those;
windows in the last turns; and only then units of the last turns, so that a
conversation with one user message (an agent at work) is trimmed too. With `idle`
it cuts to half of the budget (more with large tools) where the provider's cache
is cold anyway.

Kept whatever happens: guarded messages (system, pinned, a call without its
results, the last user message).]],
  example = [[ebb trim scripts/policies/agent.json --encoding cjk --budget 250 --policy keep_turns:turns=2]],

  ---@param draft ebb.Draft
  ---@param budget integer
  ---@param options { turns: integer, idle: integer, window: string, obsolete: string }
  trim = function(draft, budget, options)
    budget = idle.budget(draft, budget, options.idle)
    if draft:tokens() <= budget then return end
    local border = border_of(draft, options.turns)
    local obsolete = ages_of(draft, { obsolete = true }, { marked = options.obsolete })
    local marked = { marked = options.window }
    local important = ages_of(draft, { important = true }, marked)
    local windows = ages_of(draft, { window = true }, marked)
    local function is_old(age) return age > border and not important[age] end
    local function is_window(age) return windows[age] end
    local function is_old_window(age) return age > border and important[age] end
    local _ = next(obsolete) and drop_until(draft, budget, "obsolete", function(age) return obsolete[age] end)
      or drop_until(draft, budget, "old turn", is_old)
      or next(important) and drop_until(draft, budget, "window of an old turn", is_old_window)
      or next(windows) and drop_until(draft, budget, "window of a recent turn", is_window)
      or drop_until(draft, budget, "recent turn", function() return true end)
  end,
}
