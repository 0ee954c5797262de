--- Trim policy: obsolete items go first, the last turns go last.
--
--     goes first   obsolete items                          the oldest first
--          |       units before the last `turns` turns, and
--          |       unimportant windows among them          the oldest first
--          |       active windows before them              the oldest first
--     goes last    the last turns                          the oldest first
--     never        what is guarded

---@class ebb.TurnShelf       Units in the order in which they may go
---@field obsolete ebb.Unit[]
---@field old ebb.Unit[]
---@field windows ebb.Unit[]
---@field recent ebb.Unit[]

--- Where the last `count` turns begin.
local function border_of(draft, count)
  local border = count == 0 and #draft + 1 or 1
  for turn, _, age in draft:turns { from = "newest" } do
    if age >= count then break end
    border = turn.first
  end
  return border
end

--- The positions of units that pass one walk or the other, as a set.
local function places_of(draft, walk, other)
  local set = {}
  for unit in draft:units(walk) do
    set[unit.first] = true
  end
  for unit in draft:units(other) do
    set[unit.first] = true
  end
  return set
end

--- Positions hold until the first drop, so all is sorted before it.
local function sort_units(draft, options)
  local border = border_of(draft, options.turns)
  local obsolete = places_of(draft, { obsolete = true }, { marked = options.obsolete })
  local windows = places_of(draft, { important = true }, { marked = options.window })
  local shelf = { obsolete = {}, old = {}, windows = {}, recent = {} }
  for unit in draft:units { droppable = true } do
    local at = unit.first
    local place = obsolete[at] and shelf.obsolete or at >= border and shelf.recent or windows[at] and shelf.windows
      or shelf.old
    place[#place + 1] = unit
  end
  return shelf
end

local function drop_until(draft, budget, units, reason)
  for _, unit in ipairs(units) do
    if draft:tokens() <= budget then return end
    draft:drop(unit, reason)
  end
end

---@type ebb.Policy
return {
  name = "keep_turns",
  summary = "drop obsolete items, then old turns; the newest turns go last",
  options = {
    turns = { type = "integer", default = 3, min = 0, help = "newest turns that are protected" },
    window = { type = "string", default = "window", help = "mark of messages that count as windows" },
    obsolete = { type = "string", default = "obsolete", help = "mark of messages that count as obsolete" },
  },
  help = [[
A turn runs from a user message to the next. What goes, in this order and no more
than needed: obsolete items of windows, wherever they stand; units before the last
`turns` turns, with windows that are not important; active windows among those; and
only then units of the last turns, so that a conversation with one user message (an
agent at work) is trimmed too.

Kept whatever happens: guarded messages (system, pinned, a call without its
results, the last user message).]],
  example = [[ebb trim scripts/policies/agent.json --encoding cjk --budget 250 --policy keep_turns:turns=2]],

  ---@param draft ebb.Draft
  ---@param budget integer
  ---@param options { turns: integer, window: string, obsolete: string }
  trim = function(draft, budget, options)
    if draft:tokens() <= budget then return end
    local shelf = sort_units(draft, options)
    drop_until(draft, budget, shelf.obsolete, "obsolete")
    drop_until(draft, budget, shelf.old, "old turn")
    drop_until(draft, budget, shelf.windows, "window of an old turn")
    drop_until(draft, budget, shelf.recent, "recent turn")
  end,
}
